// What the storage that was found amounts to: rows of tensors that lie alike, and their letters.
//
// The letters are the verifier's findings about the final program, never the strategy's words: what
// is printed as sharded is sharded. Tensors of one role that lie alike are one row, so the table is
// as long as the model has kinds of parts, not tensors.
#include "driver/report.h"

#include <string.h>

static const char *role_path(struct arena *arena, const uint8_t *roles, unsigned n) {
    const char *path = "";
    for (unsigned i = 0; i < n; i++)
        path = name_with(arena, i ? name_with(arena, path, ".") : path, role_names[roles[i]]);
    return path;
}

static bool is_path_of(const char *path, const uint8_t *roles, unsigned n) {
    for (unsigned i = 0; i < n; i++) {
        size_t length = strlen(role_names[roles[i]]);
        if (i && *path++ != '.')
            return false;
        if (strncmp(path, role_names[roles[i]], length) != 0)
            return false;
        path += length;
    }
    return *path == 0;
}

// In storage; the work that a row is cut by follows from its role.
static bool lie_alike(const struct placement_row *row, const struct buffer *buffer,
                      const struct found *found) {
    return row->found->sharded == found->sharded && row->found->gathered == found->gathered &&
           row->found->data == found->data && row->buffer->dtype == buffer->dtype;
}

// The layers over which a statement in a loop goes, with the loop around that one if the two go
// together.
struct layers {
    int64_t begin, end;  // both 0: it stands in no loop
    int64_t step, width; // of every `step` layers the first `width`
};

static struct layers layers_of(const struct statement_walk *walk) {
    const struct loop *loop = walk_loop(walk, walk->depth - 1);
    if (!loop)
        return (struct layers){0, 0, 1, 1};
    const struct loop *outer = loop->stride ? walk_loop(walk, walk->depth - 2) : NULL;
    if (!outer)
        return (struct layers){loop->begin, loop->end, 1, 1};
    return (struct layers){loop->begin + loop->stride * outer->begin,
                           loop->end + loop->stride * (outer->end - 1), loop->stride,
                           loop->end - loop->begin};
}

// Activations have no tensor; what blocks hand on stands for them: a block reads one item of it and
// writes the next. Of every buffer, in which layers it is handed on.
struct handed_on {
    bool found;
    struct layers in;
};

static void add_handed_on(struct handed_on *handed, struct layers here) {
    if (handed->found) {
        here.begin = handed->in.begin < here.begin ? handed->in.begin : here.begin;
        here.end = handed->in.end > here.end ? handed->in.end : here.end;
    }
    *handed = (struct handed_on){true, here};
}

static const struct handed_on *find_handed_on(struct compilation *c) {
    const struct program *program = c->final;
    struct handed_on *all = ARENA_ARRAY(&c->arena, struct handed_on, program->n_buffers + 1);
    struct statement_walk walk = walk_statements(&program->steps[STEP_TRAIN].body);
    while (walk_next(&walk)) {
        const struct call *call = &walk.statement->call;
        if (walk.statement->kind != STATEMENT_CALL)
            continue;
        const struct unit *unit = &program->units[call->unit];
        for (uint32_t i = 0; unit->phase == PHASE_FORWARD && i < unit->n_results; i++)
            for (uint32_t k = 0; k < unit->n_parameters; k++)
                if (call->operands[k].buffer == call->results[i].buffer)
                    add_handed_on(&all[call->results[i].buffer], layers_of(&walk));
    }
    return all;
}

// Into the row of its kind, or as a new one. A window has no bytes of its own and is no row.
static void add_buffer(struct compilation *c, struct placement_table *table,
                       const struct handed_on *handed, buffer_id id) {
    const struct buffer *buffer = &c->final->buffers[id];
    const struct found *found = &c->verdict.buffers[id];
    enum state state = class_states[buffer->class];
    bool activation = buffer->class == CLASS_ACTIVATIONS && handed[id].found;
    struct layers layers = {buffer->first_layer, buffer_layer(buffer, buffer->count - 1) + 1,
                            buffer_layer_step(buffer), 1};
    if (activation)
        layers = handed[id].in;
    if (state == N_STATES || buffer->window_of != NO_ID || (buffer->tensor == NO_ID && !activation))
        return;
    static const uint8_t whole_layer[] = {ROLE_LAYERS};
    const struct tensor *tensor = activation ? NULL : &c->final->tensors[buffer->tensor];
    const uint8_t *roles = activation ? whole_layer : tensor->roles;
    unsigned n_roles = activation ? 1 : tensor->n_roles;
    int64_t bytes = buffer_bytes(c->final, buffer), begin = layers.begin;
    int64_t end = activation || buffer->stack == STACK_LAYERS ? layers.end : 0;
    int64_t step = end && !activation ? layers.step : end ? 1 : 0;
    for (uint32_t i = 0; i < table->n; i++) {
        struct placement_row *row = &table->rows[i];
        if (row->state == state && row->begin == begin && row->end == end && row->step == step &&
            lie_alike(row, buffer, found) && is_path_of(row->role, roles, n_roles)) {
            row->bytes += bytes;
            return;
        }
    }
    struct placement_row row = {.state = state,
                                .role = role_path(&c->arena, roles, n_roles),
                                .begin = begin,
                                .end = end,
                                .step = step,
                                .buffer = buffer,
                                .found = found,
                                .bytes = bytes};
    ARENA_PUSH(&c->arena, table->rows, table->n, table->cap, row);
}

const char *mode_letter(const struct placement_row *row, unsigned axis) {
    uint32_t bit = UINT32_C(1) << axis;
    // An activation cut by the batch is kept whole by the device that computed it.
    if (row->state == STATE_ACTIVATIONS && row->found->data & bit)
        return "R";
    if (!(row->found->sharded & bit))
        return "R";
    return row->state == STATE_PARAMETERS && row->found->gathered & bit ? "S*" : "S";
}

// One letter for a state of many tensors: what most of its bytes are.
const char *mode_of_state(const struct placement_table *table, enum state state, unsigned axis) {
    static const char *const letters[] = {"R", "S", "S*"};
    int64_t bytes[3] = {0};
    for (uint32_t i = 0; i < table->n; i++)
        for (int k = 0; k < 3; k++)
            if (table->rows[i].state == state &&
                strcmp(mode_letter(&table->rows[i], axis), letters[k]) == 0)
                bytes[k] += table->rows[i].bytes;
    int most = 0;
    for (int k = 1; k < 3; k++)
        if (bytes[k] > bytes[most])
            most = k;
    return letters[most];
}

// ---- what is recomputed -----------------------------------------------------------------------

// An op that costs more than a pass over its values; backward computes others again by itself.
struct work {
    const struct op *op;
    enum phase phase;
    struct layers in;
};
struct role_work { // of ops of one role
    struct work *items;
    uint32_t n, cap;
};

static bool has_layer(struct layers layers, int64_t layer) {
    return layers.end == 0 || (layers.begin <= layer && layer < layers.end &&
                               (layer - layers.begin) % layers.step < layers.width);
}

static void add_work(struct compilation *c, struct placement_table *table, struct work work) {
    const char *role = role_path(&c->arena, work.op->roles, work.op->n_roles);
    uint32_t at = names_find(&table->worked, role);
    if (at == NOT_NAMED) {
        struct role_work none = {0};
        names_add(&table->worked, role, at = table->n_work);
        ARENA_PUSH(&c->arena, table->work, table->n_work, table->cap_work, none);
    }
    struct role_work *all = &table->work[at];
    ARENA_PUSH(&c->arena, all->items, all->n, all->cap, work);
}

// There may be as many calls of a role as layers, and what is asked of each is asked of all.
static void find_work(struct compilation *c, struct placement_table *table) {
    table->worked.arena = &c->arena;
    struct statement_walk walk = walk_statements(&c->final->steps[STEP_TRAIN].body);
    while (walk_next(&walk)) {
        if (walk.statement->kind != STATEMENT_CALL)
            continue;
        const struct unit *unit = &c->final->units[walk.statement->call.unit];
        for (uint32_t i = 0; i < unit->n_ops; i++) {
            enum op_kernel kernel = op_rows[unit->ops[i].kind].kernel;
            if (kernel == KERNEL_PRODUCT || kernel == KERNEL_CALL)
                add_work(c, table, (struct work){&unit->ops[i], unit->phase, layers_of(&walk)});
        }
    }
}

// Does a call of the backward pass over this layer do the same?
static bool is_done_again(const struct role_work *all, const struct op *op, int64_t layer) {
    for (uint32_t i = 0; i < all->n; i++)
        if (all->items[i].phase == PHASE_BACKWARD && has_layer(all->items[i].in, layer) &&
            all->items[i].op->kind == op->kind && op_attributes_equal(all->items[i].op, op))
            return true;
    return false;
}

bool role_is_recomputed(const struct placement_table *table, const char *role, int64_t layer) {
    bool any = false;
    uint32_t at = names_find(&table->worked, role);
    const struct role_work *all = at == NOT_NAMED ? NULL : &table->work[at];
    for (uint32_t i = 0; all && i < all->n; i++) {
        if (all->items[i].phase != PHASE_FORWARD || !has_layer(all->items[i].in, layer))
            continue;
        if (!is_done_again(all, all->items[i].op, layer))
            return false;
        any = true;
    }
    return any;
}

// ---- the whole --------------------------------------------------------------------------------

struct placement_table placement_rows(struct compilation *c) {
    struct placement_table table = {0};
    const struct handed_on *handed = find_handed_on(c);
    for (int state = 0; state < N_STATES; state++)
        for (buffer_id id = 0; id < c->final->n_buffers; id++)
            if (class_states[c->final->buffers[id].class] == (enum state)state)
                add_buffer(c, &table, handed, id);
    find_work(c, &table);
    return table;
}
