// What the storage that was found amounts to: rows of tensors that lie alike, and their letters.
//
// The letters are the verifier's findings about the final program, never the strategy's words: what
// is printed as sharded is sharded. Tensors of one role that lie alike are one row, so the table is
// as long as the model has kinds of parts, not tensors.
#include "driver/report.h"

#include <inttypes.h>
#include <string.h>

const char *const residency_names[N_RESIDENCIES] = {
    [RESIDENCY_STORED] = "stored",
    [RESIDENCY_MATERIALIZED] = "materialized",
    [RESIDENCY_OFFLOADED] = "offloaded",
};

const char *role_path(struct arena *arena, const uint8_t *roles, unsigned n) {
    const char *path = "";
    for (unsigned i = 0; i < n; i++)
        path = name_with(arena, i ? name_with(arena, path, ".") : path, role_names[roles[i]]);
    return path;
}

// The layers over which a statement in a loop goes, with the loop around that one if the two go
// together.
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
// writes the next. Where that is a transient, what is kept of it stands for it: a copy, or a part. Of
// every buffer, in which layers it is handed on.
struct handed_on {
    bool found;
    bool elsewhere; // what is kept of it is another buffer's
    struct layers in;
};

static void add_handed_on(struct handed_on *handed, struct layers here) {
    if (handed->found) {
        here.begin = handed->in.begin < here.begin ? handed->in.begin : here.begin;
        here.end = handed->in.end > here.end ? handed->in.end : here.end;
    }
    handed->found = true;
    handed->in = here;
}

static void add_kept(const struct program *program, struct handed_on *all, buffer_id from,
                     buffer_id to) {
    const struct buffer *buffer = &program->buffers[from];
    bool passes = buffer->class == CLASS_TRANSIENT || buffer_stack(buffer, STACK_SLOTS);
    if (!all[from].found || !passes || (all[to].found && buffer->class != CLASS_TRANSIENT))
        return;
    add_handed_on(&all[to], all[from].in);
    all[from].elsewhere = true;
}

// Copies in units of their own, and those to another tier.
static void find_kept(const struct program *program, struct handed_on *all) {
    struct statement_walk walk = walk_statements(&program->steps[STEP_TRAIN].body);
    while (walk_next(&walk)) {
        const struct statement *s = walk.statement;
        for (uint32_t i = 0;
             s->kind == STATEMENT_START && is_copy(&s->start) && i < s->start.n_pieces; i++)
            add_kept(program, all, s->start.pieces[i].from.buffer, s->start.pieces[i].to.buffer);
        if (s->kind != STATEMENT_CALL)
            continue;
        const struct unit *unit = &program->job->units[s->call.unit];
        if (unit->phase == PHASE_FORWARD && unit->n_parameters == 1 && unit->n_results == 1)
            add_kept(program, all, s->call.operands[0].buffer, s->call.results[0].buffer);
    }
}

static const struct handed_on *find_handed_on(struct compilation *c,
                                              const struct program *program) {
    struct handed_on *all = ARENA_ARRAY(&c->arena, struct handed_on, program->n_buffers + 1);
    struct statement_walk walk = walk_statements(&program->steps[STEP_TRAIN].body);
    for (const struct call *call; (call = walk_next_call(&walk));) {
        const struct unit *unit = &program->job->units[call->unit];
        for (uint32_t i = 0; unit->phase == PHASE_FORWARD && i < unit->n_results; i++)
            for (uint32_t k = 0; k < unit->n_parameters; k++)
                if (call->operands[k].buffer == call->results[i].buffer)
                    add_handed_on(&all[call->results[i].buffer], layers_of(&walk));
    }
    find_kept(program, all);
    return all;
}

// Whether a unit makes the norm of all gradients, of the sum of their squares: a root, and nothing but numbers.
static bool makes_norm(const struct unit *unit) {
    bool root = false, numbers = true;
    for (uint32_t i = 0; i < unit->n_ops; i++)
        root |= unit->ops[i].kind == OP_SQUARE_ROOT;
    for (uint32_t i = 0; i < unit->n_results; i++)
        numbers &= unit->values[unit->results[i].value].type.rank == 0;
    return root && numbers;
}

// What an update writes: what is trained, or what a copy puts there, where it is kept elsewhere.
static const bool *find_updated(struct arena *arena, const struct program *program) {
    bool *updated = ARENA_ARRAY(arena, bool, program->n_buffers + 1);
    for (buffer_id id = 0; id < program->n_buffers; id++)
        updated[id] = program->buffers[id].class == CLASS_PARAMETERS ||
                      program->buffers[id].class == CLASS_MASTER;
    struct statement_walk walk = walk_statements(&program->steps[STEP_TRAIN].body);
    while (walk_next(&walk)) {
        const struct statement *s = walk.statement;
        for (uint32_t i = 0;
             s->kind == STATEMENT_START && is_copy(&s->start) && i < s->start.n_pieces; i++)
            updated[buffer_whole(program, s->start.pieces[i].from.buffer)] |=
                updated[s->start.pieces[i].to.buffer];
    }
    return updated;
}

const bool *consumed_gradients(struct arena *arena, const struct program *program) {
    bool *consumed = ARENA_ARRAY(arena, bool, program->n_buffers + 1);
    const bool *updated = find_updated(arena, program);
    struct statement_walk walk = walk_statements(&program->steps[STEP_TRAIN].body);
    for (const struct call *call; (call = walk_next_call(&walk));) {
        const struct unit *unit = &program->job->units[call->unit];
        bool updates = false;
        if (makes_norm(unit))
            break;
        for (uint32_t i = 0; i < unit->n_results; i++)
            updates |= updated[buffer_whole(program, call->results[i].buffer)];
        for (uint32_t i = 0; i < unit->n_parameters && updates; i++) {
            buffer_id whole = buffer_whole(program, call->operands[i].buffer);
            consumed[whole] |= program->buffers[whole].class == CLASS_GRADIENTS;
        }
    }
    return consumed;
}

static uint32_t role_number(struct compilation *c, struct placement_table *table,
                            const uint8_t *roles, unsigned n_roles) {
    struct placement_role role = {.path = role_path(&c->arena, roles, n_roles)};
    uint32_t at = names_find(&table->role_of, role.path);
    if (at == NOT_NAMED) {
        names_add(&table->role_of, role.path, at = table->n_roles);
        ARENA_PUSH(&c->arena, table->roles, table->n_roles, table->cap_roles, role);
    }
    return at;
}

// Adds to the row that says the same of storage, or makes a new one; the work that a row is cut by
// follows from its role.
static void add_row(struct compilation *c, struct placement_table *table, struct placement_row row,
                    struct row_tensor of) {
    const struct layers *in = &row.layers;
    const char *says = arena_format(
        &c->arena, "%d %d %u %" PRId64 ":%" PRId64 ":%" PRId64 " %x %x %x %d", (int)row.state,
        (int)row.residency, row.role, in->begin, in->end, in->step, (unsigned)row.found->sharded,
        (unsigned)row.found->gathered, (unsigned)row.found->data, (int)row.buffer->dtype);
    uint32_t at = names_find(&table->row_of, says);
    if (at == NOT_NAMED) {
        names_add(&table->row_of, says, at = table->n);
        layer_index_add(&c->arena, &table->roles[row.role].rows[row.state], row.layers, at);
        ARENA_PUSH(&c->arena, table->rows, table->n, table->cap, row);
    } else {
        table->rows[at].bytes += row.bytes;
        table->rows[at].stored_bytes += row.stored_bytes;
    }
    struct placement_row *in_table = &table->rows[at];
    if (of.tensor != NO_ID)
        ARENA_PUSH(&c->arena, in_table->tensors, in_table->n_tensors, in_table->cap_tensors, of);
}

static struct layers layers_held(const struct buffer *buffer) {
    if (!buffer_stack(buffer, STACK_LAYERS))
        return (struct layers){0, 0, 1, 1};
    return (struct layers){buffer_first_layer(buffer),
                           buffer_layer(buffer, buffer_items(buffer) - 1) + 1,
                           buffer_layer_step(buffer), 1};
}

// A program whose buffers are put into rows. Along the axes of a pipeline's parts each layer is at one device.
struct part_rows {
    const struct program *program;
    const struct found *found;
    const struct handed_on *handed;
    const bool *consumed;
};

static struct part_rows rows_of_part(struct compilation *c, uint32_t number) {
    const struct program *program = c->final->job->programs[number];
    struct found *found = arena_copy(&c->arena, c->verdict.buffers[number],
                                     program->n_buffers * sizeof *c->verdict.buffers[number]);
    for (buffer_id id = 0; id < program->n_buffers; id++)
        found[id].sharded |= (uint32_t)axis_list_mask(&program->part.axes);
    return (struct part_rows){program, found, find_handed_on(c, program),
                              consumed_gradients(&c->arena, program)};
}

// A device's part of what has a buffer is in no row.
static void add_buffer(struct compilation *c, struct placement_table *table,
                       const struct part_rows *part, buffer_id id) {
    const struct program *program = part->program;
    const struct handed_on *handed = part->handed;
    const struct buffer *buffer = &program->buffers[id];
    enum state state = class_states[buffer->class];
    bool activation =
        buffer->class == CLASS_ACTIVATIONS && handed[id].found && !handed[id].elsewhere;
    bool residual = buffer->class == CLASS_RESIDUAL;
    if (state == N_STATES || buffer_is_part(program, id) ||
        (buffer->tensor == NO_ID && !activation))
        return;
    static const uint8_t whole_layer[] = {ROLE_LAYERS};
    const struct tensor *tensor = activation ? NULL : &program->job->tensors[buffer->tensor];
    struct layers layers = activation
                               ? (struct layers){handed[id].in.begin, handed[id].in.end, 1, 1}
                               : layers_held(buffer);
    add_row(
        c, table,
        (struct placement_row){.state = state,
                               .role = activation
                                           ? role_number(c, table, whole_layer, 1)
                                           : role_number(c, table, tensor->roles, tensor->n_roles),
                               .layers = layers,
                               .residency = part->consumed[id]            ? RESIDENCY_MATERIALIZED
                                            : buffer->tier != TIER_DEVICE ? RESIDENCY_OFFLOADED
                                                                          : RESIDENCY_STORED,
                               .buffer = buffer,
                               .found = &part->found[id],
                               .bytes = buffer_bytes(program, buffer),
                               .stored_bytes = residual ? 0 : buffer_bytes(program, buffer)},
        (struct row_tensor){residual ? NO_ID : buffer->tensor, buffer_item_bytes(program, buffer)});
}

// What is not kept has a row without bytes; its letters weigh what it would be.
static void add_made(struct compilation *c, struct placement_table *table, enum state state,
                     struct buffer like, const struct found *found) {
    const struct tensor *tensor = &c->final->job->tensors[like.tensor];
    like.dtype = tensor_parameters(c->final->job, tensor);
    const struct buffer *buffer = arena_copy(&c->arena, &like, sizeof like);
    add_row(c, table,
            (struct placement_row){.state = state,
                                   .role = role_number(c, table, tensor->roles, tensor->n_roles),
                                   .layers = layers_held(buffer),
                                   .residency = RESIDENCY_MATERIALIZED,
                                   .buffer = buffer,
                                   .found = found,
                                   .stored_bytes = buffer_bytes(c->final, buffer)},
            (struct row_tensor){like.tensor, buffer_item_bytes(c->final, buffer)});
}

bool is_made_of_master(const struct program *program, buffer_id master) {
    const struct buffer *buffer = &program->buffers[master];
    if (buffer->class != CLASS_MASTER || buffer->window_of != NO_ID)
        return false;
    for (buffer_id id = 0; id < program->n_buffers; id++) {
        const struct buffer *other = &program->buffers[id];
        if (other->class == CLASS_PARAMETERS && other->tensor == buffer->tensor &&
            buffer_item_of_layer(other, buffer_layer(buffer, 0)) >= 0)
            return false;
    }
    return true;
}

// Optimizers that are declared to keep nothing; the placement has refused those that do.
static void add_stateless(struct compilation *c, struct placement_table *table,
                          const struct program *program, buffer_id id) {
    const struct buffer *buffer = &program->buffers[id];
    if (buffer->class != CLASS_PARAMETERS || buffer->window_of != NO_ID || !c->placement.tensors)
        return;
    const struct storage *storage = storage_of(&c->placement, buffer);
    if (!storage->trained || stored_residency(storage, STATE_OPTIMIZER) != RESIDENCY_MATERIALIZED)
        return;
    struct found *found = ARENA_NEW(&c->arena, struct found);
    found->sharded = (uint32_t)(storage->cut | axis_list_mask(&storage->shards[STATE_OPTIMIZER]) |
                                axis_list_mask(&program->part.axes));
    add_made(c, table, STATE_OPTIMIZER, *buffer, found);
}

// ---- letters ----------------------------------------------------------------------------------

// A letter says an extent and, joined to it, where else than on the device the state lives. What is
// said alone is of what is whole.
enum letter { LETTER_R, LETTER_S, LETTER_GATHERED, N_EXTENT_LETTERS };
enum { N_LETTERS = N_EXTENT_LETTERS * N_RESIDENCIES };
static const char *const letter_texts[N_RESIDENCIES][N_EXTENT_LETTERS] = {
    [RESIDENCY_STORED] = {"R", "S", "S*"},
    [RESIDENCY_MATERIALIZED] = {"M", "S+M", "S*+M"},
    [RESIDENCY_OFFLOADED] = {"O", "S+O", "S*+O"},
};

static enum letter letter_of(const struct placement_row *row, unsigned axis) {
    uint32_t bit = UINT32_C(1) << axis;
    // An activation cut by the batch is kept whole by the device that computed it.
    if (row->state == STATE_ACTIVATIONS && row->found->data & bit)
        return LETTER_R;
    if (!(row->found->sharded & bit))
        return LETTER_R;
    return row->state == STATE_PARAMETERS && row->found->gathered & bit ? LETTER_GATHERED
                                                                        : LETTER_S;
}

const char *mode_letter(const struct placement_row *row, unsigned axis) {
    return letter_texts[row->residency][letter_of(row, axis)];
}

static unsigned letter_number(const struct placement_row *row, unsigned axis) {
    return row->residency * N_EXTENT_LETTERS + letter_of(row, axis);
}

// How many bytes have each letter.
struct letter_bytes {
    int64_t of[N_LETTERS];
};

static const char *letter_of_most(const struct letter_bytes *bytes) {
    unsigned most = 0;
    for (unsigned letter = 1; letter < N_LETTERS; letter++)
        if (bytes->of[letter] > bytes->of[most])
            most = letter;
    return letter_texts[most / N_EXTENT_LETTERS][most % N_EXTENT_LETTERS];
}

static const char *state_letter(const struct placement_table *table, enum state state,
                                unsigned axis) {
    struct letter_bytes bytes = {{0}};
    for (uint32_t i = 0; i < table->n; i++)
        if (table->rows[i].state == state)
            bytes.of[letter_number(&table->rows[i], axis)] += table->rows[i].stored_bytes;
    return letter_of_most(&bytes);
}

// A state may have several buffers of a tensor, as an optimizer's has.
const char *tensor_letter(const struct placement_table *table, uint32_t role, enum state state,
                          int64_t layer, uint32_t tensor, unsigned axis) {
    struct layer_search search = search_layer(&table->roles[role].rows[state], layer);
    struct letter_bytes bytes = {{0}};
    bool kept = false;
    uint32_t at;
    while (search_next(&search, &at)) {
        const struct placement_row *row = &table->rows[at];
        for (uint32_t i = 0; i < row->n_tensors; i++)
            if (row->tensors[i].tensor == tensor) {
                bytes.of[letter_number(row, axis)] += row->tensors[i].bytes;
                kept = true;
            }
    }
    return kept ? letter_of_most(&bytes) : "-";
}

// ---- what is recomputed -----------------------------------------------------------------------

// Ops that cost more than a pass over their values; backward computes others again by itself.
static void add_work(struct compilation *c, struct placement_table *table, const struct op *op,
                     enum phase phase, struct layers in) {
    if (phase != PHASE_FORWARD && phase != PHASE_BACKWARD)
        return;
    uint32_t number = role_number(c, table, op->roles, op->n_roles); // which may move the roles
    struct placement_role *role = &table->roles[number];
    layer_index_add(&c->arena, phase == PHASE_FORWARD ? &role->forward : &role->backward, in,
                    table->n_work);
    ARENA_PUSH(&c->arena, table->work, table->n_work, table->cap_work, op);
}

static void find_work(struct compilation *c, struct placement_table *table) {
    const struct program *program = whole_program(c);
    struct statement_walk walk = walk_statements(&program->steps[STEP_TRAIN].body);
    while (walk_next(&walk)) {
        if (walk.statement->kind != STATEMENT_CALL)
            continue;
        const struct unit *unit = &program->job->units[walk.statement->call.unit];
        for (uint32_t i = 0; i < unit->n_ops; i++) {
            enum op_kernel kernel = op_rows[unit->ops[i].kind].kernel;
            if (kernel == KERNEL_PRODUCT || kernel == KERNEL_CALL)
                add_work(c, table, &unit->ops[i], unit->phase, layers_of(&walk));
        }
    }
}

// Does a call of the backward pass over this layer do the same?
static bool is_done_again(const struct placement_table *table, const struct placement_role *role,
                          const struct op *op, int64_t layer) {
    struct layer_search search = search_layer(&role->backward, layer);
    uint32_t at;
    while (search_next(&search, &at))
        if (table->work[at]->kind == op->kind && op_attributes_equal(table->work[at], op))
            return true;
    return false;
}

bool role_is_recomputed(const struct placement_table *table, uint32_t role, int64_t layer) {
    struct layer_search search = search_layer(&table->roles[role].forward, layer);
    bool any = false;
    uint32_t at;
    while (search_next(&search, &at)) {
        if (!is_done_again(table, &table->roles[role], table->work[at], layer))
            return false;
        any = true;
    }
    return any;
}

// ---- the whole --------------------------------------------------------------------------------

static void sort_roles(struct placement_table *table) {
    for (uint32_t i = 0; i < table->n_roles; i++) {
        for (int state = 0; state < N_STATES; state++)
            layer_index_sort(&table->roles[i].rows[state]);
        layer_index_sort(&table->roles[i].forward);
        layer_index_sort(&table->roles[i].backward);
    }
}

static void add_state(struct compilation *c, struct placement_table *table,
                      const struct part_rows *part, enum state state) {
    const struct program *program = part->program;
    for (buffer_id id = 0; id < program->n_buffers; id++) {
        if (class_states[program->buffers[id].class] == state)
            add_buffer(c, table, part, id);
        if (state == STATE_PARAMETERS && is_made_of_master(program, id))
            add_made(c, table, STATE_PARAMETERS, program->buffers[id], &part->found[id]);
        if (state == STATE_OPTIMIZER)
            add_stateless(c, table, program, id);
    }
}

struct placement_table placement_rows(struct compilation *c) {
    struct placement_table table = {.row_of.arena = &c->arena, .role_of.arena = &c->arena};
    struct part_rows *parts = ARENA_ARRAY(&c->arena, struct part_rows, c->final->job->n_programs);
    for (uint32_t i = 0; i < c->final->job->n_programs; i++)
        parts[i] = rows_of_part(c, i);
    for (int state = 0; state < N_STATES; state++)
        for (uint32_t i = 0; i < c->final->job->n_programs; i++)
            add_state(c, &table, &parts[i], (enum state)state);
    find_work(c, &table);
    sort_roles(&table);
    for (int state = 0; state < N_STATES; state++)
        for (unsigned axis = 0; axis < c->final->job->mesh.n_axes; axis++)
            table.most_bytes[state][axis] = state_letter(&table, (enum state)state, axis);
    return table;
}
