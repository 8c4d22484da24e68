// What the items of buffers stand for, and how statements name them: stacks, and the indices of
// references.
#include <string.h>

#include "ir/check.h"
#include "ir/ir.h"

// ---- stacks -----------------------------------------------------------------------------------

struct stacks stacked(enum stack_kind kind, int64_t count) {
    return (struct stacks){1, {{.kind = kind, .count = count}}};
}

struct stacks stacked_in_slots(int64_t count) {
    return count > 1 ? stacked(STACK_SLOTS, count) : (struct stacks){0};
}

static int64_t layer_step(const struct stack *stack) {
    return stack->layer_step > 1 ? stack->layer_step : 1;
}

bool stacks_equal(const struct stacks *a, const struct stacks *b) {
    bool equal = a->n == b->n;
    for (unsigned i = 0; equal && i < a->n; i++) {
        const struct stack *x = &a->list[i], *y = &b->list[i];
        equal = x->kind == y->kind && x->count == y->count && x->first_layer == y->first_layer &&
                layer_step(x) == layer_step(y);
    }
    return equal;
}

int buffer_find_stack(const struct buffer *buffer, enum stack_kind kind) {
    for (int i = 0; i < buffer->stacks.n; i++)
        if (buffer->stacks.list[i].kind == kind)
            return i;
    return -1;
}

const struct stack *buffer_stack(const struct buffer *buffer, enum stack_kind kind) {
    int found = buffer_find_stack(buffer, kind);
    return found < 0 ? NULL : &buffer->stacks.list[found];
}

int64_t buffer_items(const struct buffer *buffer) {
    int64_t items = 1;
    for (unsigned i = 0; i < buffer->stacks.n; i++)
        items = size_times(items, buffer->stacks.list[i].count);
    return items;
}

int64_t buffer_microbatches(const struct buffer *buffer) {
    const struct stack *microbatches = buffer_stack(buffer, STACK_MICROBATCHES);
    return microbatches ? microbatches->count : 1;
}

void buffer_places(const struct buffer *buffer, int64_t item, int64_t places[MAX_STACKS]) {
    memset(places, 0, MAX_STACKS * sizeof *places);
    for (unsigned i = buffer->stacks.n; i-- > 0;) {
        places[i] = item % buffer->stacks.list[i].count;
        item /= buffer->stacks.list[i].count;
    }
}

int64_t buffer_item_at(const struct buffer *buffer, const int64_t places[MAX_STACKS]) {
    int64_t item = 0;
    for (unsigned i = 0; i < buffer->stacks.n; i++)
        item = item * buffer->stacks.list[i].count + places[i];
    return item;
}

// ---- layers -----------------------------------------------------------------------------------

int64_t buffer_first_layer(const struct buffer *buffer) {
    const struct stack *layers = buffer_stack(buffer, STACK_LAYERS);
    return layers ? layers->first_layer : 0;
}

int64_t buffer_layer_step(const struct buffer *buffer) {
    const struct stack *layers = buffer_stack(buffer, STACK_LAYERS);
    return layers ? layer_step(layers) : 1;
}

int64_t buffer_layer(const struct buffer *buffer, int64_t item) {
    int layers = buffer_find_stack(buffer, STACK_LAYERS);
    int64_t places[MAX_STACKS];
    if (layers < 0)
        return 0;
    buffer_places(buffer, item, places);
    return buffer_first_layer(buffer) + places[layers] * buffer_layer_step(buffer);
}

int64_t buffer_item_of_layer(const struct buffer *buffer, int64_t layer) {
    int64_t distance = layer - buffer_first_layer(buffer), step = buffer_layer_step(buffer);
    bool held = buffer->stacks.n <= 1 && distance >= 0 && distance % step == 0 &&
                distance / step < buffer_items(buffer);
    return held ? distance / step : -1;
}

// ---- indices ----------------------------------------------------------------------------------

struct index index_constant(int64_t value) {
    return index_variable(-1, value, 0);
}

struct index index_variable(int variable, int64_t offset, int64_t modulus) {
    struct index index = {
        .offset = (int32_t)offset, .modulus = (int32_t)modulus, .variable = variable};
    CHECK(index.offset == offset && index.modulus == modulus && index.variable == variable);
    return index;
}

struct index index_moved(struct index index, int64_t by) {
    return index_variable(index.variable, index.offset + by, index.modulus);
}

struct index index_in_slots(struct index index, int64_t slots) {
    if (slots <= 1)
        return index_constant(0);
    if (index.variable < 0)
        return index_constant(index.offset % slots);
    return index_variable(index.variable, index.offset, slots);
}

// The remainder is never negative: descending loops count slots below zero.
int64_t index_at(struct index index, const int64_t *variables) {
    int64_t value = index.offset + (index.variable >= 0 ? variables[index.variable] : 0);
    if (!index.modulus)
        return value;
    value %= index.modulus;
    return value < 0 ? value + index.modulus : value;
}

bool index_equal(struct index a, struct index b) {
    return a.variable == b.variable && a.offset == b.offset && a.modulus == b.modulus;
}

struct reference reference_at(buffer_id buffer, struct index index) {
    struct reference reference = {.buffer = buffer, .indices = {index}};
    for (unsigned i = 1; i < MAX_STACKS; i++)
        reference.indices[i] = index_constant(0);
    return reference;
}

struct reference reference_to(buffer_id buffer) {
    return reference_at(buffer, index_constant(0));
}

bool reference_equal(const struct reference *a, const struct reference *b) {
    bool equal = a->buffer == b->buffer;
    for (unsigned i = 0; equal && i < MAX_STACKS; i++)
        equal = index_equal(a->indices[i], b->indices[i]);
    return equal;
}

uint32_t reference_variables(const struct reference *reference) {
    uint32_t variables = 0;
    for (unsigned i = 0; i < MAX_STACKS; i++)
        if (reference->indices[i].variable >= 0)
            variables |= UINT32_C(1) << reference->indices[i].variable;
    return variables;
}

struct ownership reference_ownership(const struct program *program, const struct reference *at) {
    return (struct ownership){program->buffers[at->buffer].layout.owners, at->indices[0]};
}

struct ownership statement_ownership(const struct program *program,
                                     const struct statement *statement) {
    struct access access;
    for (uint32_t i = 0; (access = statement_access(program, statement, i)).at; i++) {
        struct ownership owner = reference_ownership(program, access.at);
        if (owner.axes.n)
            return owner;
    }
    return (struct ownership){.item = index_constant(0)};
}

// How many values of the variable, of those that the loops around give it, name an item of the member's:
// loops that go with the one around them are counted out, the others each by itself.
static int64_t owned_values(const struct owner_trips *trips, int variable, int64_t first,
                            int64_t member) {
    const struct loop *loop = &trips->loops[variable];
    struct index item = trips->item;
    int64_t n = 0;
    for (int64_t k = loop->begin; k < loop->end; k++) {
        int64_t value = first + k;
        if (variable < item.variable)
            n += owned_values(trips, variable + 1, loop[1].stride * value, member);
        else
            n += index_at(index_variable(-1, item.offset + value, item.modulus), NULL) %
                     trips->members ==
                 member;
    }
    return n;
}

int64_t owner_trips(const struct owner_trips *trips, int64_t member) {
    int outermost = trips->item.variable;
    int64_t others = 1;
    while (outermost > 0 && trips->loops[outermost].stride)
        outermost--;
    for (int i = 0; i < trips->depth; i++)
        if (outermost < 0 || i < outermost || i > trips->item.variable)
            others = size_times(others, trips->loops[i].end - trips->loops[i].begin);
    if (outermost < 0)
        return index_at(trips->item, NULL) % trips->members == member ? others : 0;
    return size_times(others, owned_values(trips, outermost, 0, member));
}

int64_t reference_item(const struct program *program, const struct reference *reference,
                       const int64_t *variables) {
    int64_t places[MAX_STACKS];
    for (unsigned i = 0; i < MAX_STACKS; i++)
        places[i] = index_at(reference->indices[i], variables);
    return buffer_item_at(&program->buffers[reference->buffer], places);
}
