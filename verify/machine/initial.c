// What the store holds when a step begins: what the host writes before, and what the step before
// left.
#include "verify/machine/machine.h"

#include "ir/check.h"
#include "verify/algebra/given.h"
#include "verify/rules/rules.h"

static const struct buffer *buffer_of(const struct program *program, buffer_id id) {
    return &program->buffers[id];
}

static const struct tensor *tensor_of(const struct program *program, const struct buffer *buffer) {
    return &program->job->tensors[buffer->tensor];
}

// A buffer lies by its declared layout where the host or the initialisation filled it.
form_id form_declared(struct abstract_machine *m, const struct buffer *buffer) {
    struct digits *digits = &m->world->digits;
    dim_id dims[MAX_RANK];
    for (unsigned i = 0; i < buffer->rank; i++) {
        const struct axis_list *cuts = &buffer->layout.cuts[i];
        bool stacked =
            buffer_stack(buffer, STACK_MICROBATCHES) && buffer->dims[i].dimension == DIM_BATCH;
        int64_t time = stacked ? buffer_microbatches(buffer) : 1;
        int64_t left = buffer->dims[i].size / mesh_group_size(digits->mesh, cuts) / time;
        dims[i] = dim_cut_around(digits, cuts, buffer->layout.zigzag[i] - 1, time,
                                 stacked ? buffer->layout.n_inner : 0, left);
        if (m->proof->ordered && !m->proof->is_reference && buffer->dims[i].dimension == DIM_BATCH)
            dims[i] = dim_of_batch(digits, dims[i]);
    }
    form_id form = form_make(digits, dims, buffer->rank);
    if (buffer->layout.flat.n == 0)
        return form;
    struct tensor_type type = buffer_type(m->program, buffer);
    CHECK(!form_cut_flat(digits, &form, &buffer->layout.flat, type.dims[0].size));
    return form;
}

// Whether flat shards lie in it, the last of which may reach beyond its elements.
static bool has_flat_windows(const struct program *program, const struct buffer *whole) {
    for (buffer_id id = 0; id < program->n_buffers; id++) {
        const struct buffer *buffer = buffer_of(program, id);
        if (buffer->window_of != NO_ID && buffer_of(program, buffer->window_of) == whole &&
            buffer->layout.flat.n)
            return true;
    }
    return false;
}

// Residuals end each step with zeros there (residuals.c).
static padding_id padding_before(const struct abstract_machine *m, const struct buffer *buffer,
                                 form_id form) {
    if (!class_persistent[buffer->class] ||
        (!form_is_flat(&m->world->digits, form) && !has_flat_windows(m->program, buffer)))
        return PADDING_ANY;
    return buffer->class == CLASS_RESIDUAL ? PADDING_ZEROS : PADDING_OF_STATES + buffer->tensor;
}

// Where sums do not commute a parameter that has a wider master copy is that, rounded.
static struct term rounded_master(struct abstract_machine *m, const struct buffer *parameter,
                                  struct term master) {
    struct builder builder = {.terms = m->world->terms};
    for (buffer_id id = 0; id < m->program->n_buffers; id++) {
        const struct buffer *buffer = buffer_of(m->program, id);
        if (buffer->class == CLASS_MASTER && buffer->tensor == parameter->tensor &&
            !dtype_holds(parameter->dtype, buffer->dtype))
            return rounded_term(&builder, master, parameter->dtype);
    }
    return master;
}

// The judgement of item 0.
static struct judgement first_judgement(struct abstract_machine *m, buffer_id id) {
    const struct buffer *buffer = buffer_of(m->program, id);
    struct scaled value = {{0, 0}, SCALE_ONE};
    if (buffer->class == CLASS_INPUT && buffer->host == HOST_NONE)
        return judgement_fault(fault_make(m->proof, E514, buffer->span, "the host does not know it",
                                          "nobody writes the input `%s`: it lacks its host role, "
                                          "as in `host tokens`",
                                          buffer->name));
    if (buffer->class == CLASS_INPUT) {
        value.of =
            given_by_host(m->world->terms, buffer->host, (int32_t)buffer_first_layer(buffer));
    } else {
        enum buffer_class class = buffer->class;
        if (class == CLASS_MASTER)
            class = CLASS_PARAMETERS; // one value, kept in two types
        value.of = given_state(m->world->terms, class, tensor_of(m->program, buffer),
                               (int32_t)buffer_first_layer(buffer));
        if (m->proof->ordered && buffer->class == CLASS_PARAMETERS)
            value.of = rounded_master(m, buffer, value.of);
    }
    form_id form = form_declared(m, buffer);
    const struct fault *fault = ordered_check_filled(m->proof, buffer, form);
    if (fault)
        return judgement_fault(fault);
    struct judgement made = judgement_of(m->world, value, form, buffer->dtype);
    made.padding = padding_before(m, buffer, form);
    if (buffer->class == CLASS_RESIDUAL) // each device has its own
        made.own = made.partial = wire_mask(m->proof);
    if (m->proof->is_reference)
        readings_made(m->proof->readings, value.of.node, ALL_LAYERS, made.width);
    return made;
}

void initials_init(struct abstract_machine *m) {
    uint32_t n = m->program->n_buffers;
    m->initials = ARENA_ARRAY(m->world->arena, struct held, n + 1);
    m->item_bytes = ARENA_ARRAY(m->world->arena, int64_t, n + 1);
    m->types = ARENA_ARRAY(m->world->arena, struct tensor_type, n + 1);
    for (buffer_id id = 0; id < n; id++) {
        const struct buffer *buffer = buffer_of(m->program, id);
        m->item_bytes[id] = buffer_item_bytes(m->program, buffer);
        m->types[id] = buffer_type(m->program, buffer);
        if (!is_filled(buffer))
            continue;
        struct held *held = &m->initials[id];
        held->value = first_judgement(m, id);
        if (held->value.fault)
            continue;
        bool layers = term_indexed(m->world->terms, held->value.value.of);
        bool microbatches = form_get(&m->world->digits, held->value.form)->time;
        held->moves = (uint8_t)(layers << HELD_LAYER | microbatches << HELD_MICROBATCH);
    }
    regions_init(m);
}

// A layer's number may grow from one item to the next by more than the items' do.
static int32_t layers_skipped(const struct buffer *buffer) {
    return (int32_t)buffer_layer_step(buffer) - 1;
}

struct run initial_run(const struct abstract_machine *m, buffer_id id) {
    const struct buffer *buffer = buffer_of(m->program, id);
    return (struct run){.end = (int32_t)buffer_items(buffer),
                        .state = ITEM_READY,
                        .held = &m->initials[id],
                        .n_held = 1,
                        .skipped = layers_skipped(buffer)};
}

struct term store_leaf(struct abstract_machine *m, struct reference from, enum buffer_class class) {
    const struct buffer *buffer = buffer_of(m->program, from.buffer);
    int32_t distance = number_times(&m->world->terms->symbols, item_of(m, &from),
                                    (int32_t)buffer_layer_step(buffer));
    return given_state(m->world->terms, class, tensor_of(m->program, buffer),
                       (int32_t)buffer_first_layer(buffer) + distance);
}

struct judgement initial_judgement(struct abstract_machine *m, buffer_id id, int64_t item) {
    struct run run = initial_run(m, id);
    return run_held(m->world, &run, 0, (int32_t)item).value;
}

// Another one that is filled too and has some of the bytes. Nothing says which was last.
static const struct buffer *filled_with(const struct abstract_machine *m, buffer_id id) {
    if (m->region_of[id] == NO_ID) // this saves time: it shares none
        return NULL;
    for (buffer_id i = 0; i < m->program->n_buffers; i++)
        if (i != id && is_filled(buffer_of(m->program, i)) && buffers_meet(m, i, id))
            return buffer_of(m->program, i);
    return NULL;
}

static void fill(struct abstract_machine *m, buffer_id id) {
    struct series *series = &m->store.items[id];
    int32_t count = (int32_t)buffer_items(buffer_of(m->program, id));
    const struct buffer *other = filled_with(m, id);
    if (other) {
        series->runs[0] = (struct run){.end = count, .state = ITEM_OVERWRITTEN, .by = &other->span};
        return;
    }
    series->runs[0] = initial_run(m, id);
    bytes_take(m, id, 0, count, &buffer_of(m->program, id)->span);
    note_found(m, id, &m->initials[id].value); // what is frozen is never written
}

static struct series *series_new(struct world *w, uint32_t n) {
    struct series *all = ARENA_ARRAY(w->states, struct series, n + 1);
    struct run *runs = ARENA_ARRAY(w->states, struct run, n + 1);
    for (uint32_t i = 0; i < n; i++)
        all[i] = (struct series){.runs = &runs[i], .n = 1, .cap = 1};
    return all;
}

void store_init(struct abstract_machine *m, const struct step *step) {
    uint32_t n = m->program->n_buffers;
    m->store = (struct store){.items = series_new(m->world, n),
                              .flights = series_new(m->world, step->n_handles),
                              .n_handles = step->n_handles};
    flights_init(m, step);
    regions_clear(m);
    for (buffer_id id = 0; id < n; id++) {
        m->store.items[id].runs[0] = (struct run){
            .end = (int32_t)buffer_items(buffer_of(m->program, id)), .state = ITEM_EMPTY};
    }
    for (buffer_id id = 0; id < n; id++)
        if (is_filled(buffer_of(m->program, id)))
            fill(m, id);
    for (uint32_t i = 0; i < step->n_handles; i++)
        m->store.flights[i].runs[0] =
            (struct run){.end = (int32_t)step->handles[i].slots, .state = ITEM_EMPTY};
}
