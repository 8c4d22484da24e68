// memory: where every byte is.
//
// Input: a partitioned and fused program. Output: an offset in the arena of its tier for every
// buffer, an offset in its unit's frame (or another value's place) for every value; arena_bytes. Two things
// share bytes only if no statement finds both alive; the verifier proves that again, from the
// offsets.
//
// Placing: what persists, or has owners, first, in order of declaration; then the rest by first_fit.h.
#include "passes/schedule/memory.h"

#include "ir/check.h"
#include "passes/passes.h"
#include "passes/schedule/first_fit.h"

// ---- frames of units --------------------------------------------------------------------------

// Each value that has bytes of its own lives from the op that writes it to the last that reads it,
// directly, in place, or as a leaf of an inline op.
struct frame_plan {
    struct unit *unit;
    int64_t *first, *last; // ops; of roots
    uint32_t *producer;    // the op of each value
};

// Inline values have no bytes: others are read in their place.
static void extend(struct frame_plan *plan, value_id value, int64_t at) {
    const struct unit *unit = plan->unit;
    if (unit->values[value].storage == STORAGE_INLINE) { // its operands are read here
        const struct op *op = &unit->ops[plan->producer[value]];
        for (unsigned k = 0; k < op->n_operands; k++)
            extend(plan, op->operands[k], at);
        return;
    }
    value_id root = value_root(unit, value);
    if (plan->last[root] < at)
        plan->last[root] = at;
}

// Called twice: sharing places joins lives, and the frame is laid out by the joined ones.
static void find_lives(struct frame_plan *plan) {
    const struct unit *unit = plan->unit;
    for (uint32_t i = 0; i < unit->n_values; i++)
        plan->first[i] = plan->last[i] = -1;
    for (uint32_t i = 0; i < unit->n_ops; i++) {
        const struct op *op = &unit->ops[i];
        bool runs = false; // an op whose results are all inline runs where they are used
        for (unsigned k = 0; k < op->n_results; k++)
            runs |= unit->values[op->results[k]].storage != STORAGE_INLINE;
        bool accumulates = op_rows[op->kind].kernel != KERNEL_ELEMENTWISE;
        for (unsigned k = 0; (runs || accumulates) && k < op->n_operands; k++)
            extend(plan, op->operands[k], i);
        for (unsigned k = 0; k < op->n_results; k++) {
            value_id root = value_root(unit, op->results[k]);
            if (plan->first[root] < 0)
                plan->first[root] = i;
            if (plan->last[root] < (int64_t)i)
                plan->last[root] = i;
        }
        // What an in-flight collective reads is busy until its wait, which reads the result.
        if (op->kind == OP_WAIT)
            extend(plan, unit->ops[plan->producer[op->operands[0]]].operands[0], i);
    }
}

static bool is_result_root(const struct unit *unit, value_id root) {
    for (uint32_t i = 0; i < unit->n_results; i++)
        if (value_root(unit, unit->results[i].value) == root)
            return true;
    return false;
}

// May `result` be written where the operand is? The operand must own bytes that die here.
static bool may_overwrite(const struct frame_plan *plan, value_id operand, value_id result,
                          uint32_t at) {
    const struct unit *unit = plan->unit;
    if (unit->values[operand].storage == STORAGE_INLINE)
        return false;
    value_id root = value_root(unit, operand);
    if (root < unit->n_parameters ? !unit->consumed[root] : is_result_root(unit, root))
        return false;
    return plan->last[root] == (int64_t)at &&
           type_bytes(&unit->values[root].type) == type_bytes(&unit->values[result].type);
}

// Does the loop of the op read these bytes at other elements than it writes, through values that
// are computed inside it?
static bool reads_moved(const struct frame_plan *plan, const struct op *op, value_id root,
                        bool moved) {
    const struct unit *unit = plan->unit;
    moved |= op_moves_elements(op->kind);
    for (unsigned i = 0; i < op->n_operands; i++) {
        value_id operand = op->operands[i];
        if (unit->values[operand].storage == STORAGE_INLINE
                ? reads_moved(plan, &unit->ops[plan->producer[operand]], root, moved)
                : moved && value_root(unit, operand) == root)
            return true;
    }
    return false;
}

// The first operand that the op's row allows result `k` to overwrite, and that dies here.
static value_id find_place(const struct frame_plan *plan, const struct op *op, uint32_t at,
                           unsigned k) {
    for (const char *c = op_rows[op->kind].in_place; *c; c++)
        if (c[1] == ':' && c[0] == (char)('0' + k)) {
            value_id operand = op->operands[c[2] - '0'];
            bool once = true; // an operand that stands twice is read again beside its place
            for (unsigned i = 0; i < op->n_operands; i++)
                once &= op->operands[i] != operand || i == (unsigned)(c[2] - '0');
            if (once && may_overwrite(plan, operand, op->results[k], at) &&
                !reads_moved(plan, op, value_root(plan->unit, operand), false))
                return operand;
        }
    return NO_ID;
}

// A collective is reduced in place where its source dies, and a wait is always in place.
static void share_places(struct frame_plan *plan) {
    struct unit *unit = plan->unit;
    for (uint32_t i = 0; i < unit->n_ops; i++) {
        const struct op *op = &unit->ops[i];
        for (unsigned k = 0; k < op->n_results; k++) {
            struct value *value = &unit->values[op->results[k]];
            if (value->storage != STORAGE_UNPLANNED)
                continue;
            value_id operand = op->kind == OP_WAIT ? op->operands[0] : find_place(plan, op, i, k);
            if (operand == NO_ID)
                continue;
            value->storage = STORAGE_IN_PLACE;
            value->base = operand;
            find_lives(plan);
        }
    }
}

// Results that have a parameter's place, and results that have one of their own. A result that is
// waited for has the place of what was started.
static void place_results(struct frame_plan *plan) {
    struct unit *unit = plan->unit;
    for (uint32_t i = 0; i < unit->n_results; i++) {
        value_id value = unit->results[i].value;
        while (value >= unit->n_parameters && unit->ops[plan->producer[value]].kind == OP_WAIT)
            value = unit->ops[plan->producer[value]].operands[0];
        CHECK(value >= unit->n_parameters);
        struct value *place = &unit->values[value];
        CHECK(place->storage == STORAGE_UNPLANNED);
        place->storage = unit->results[i].in_parameter == NO_ID ? STORAGE_RESULT : STORAGE_IN_PLACE;
        place->base = unit->results[i].in_parameter;
    }
}

// First what costs nothing (results, places of dead operands), then the frame for the rest.
static void plan_frame(struct unit *unit, struct arena *scratch) {
    struct frame_plan plan = {unit, ARENA_ARRAY(scratch, int64_t, unit->n_values + 1),
                              ARENA_ARRAY(scratch, int64_t, unit->n_values + 1),
                              ARENA_ARRAY(scratch, uint32_t, unit->n_values + 1)};
    for (uint32_t i = 0; i < unit->n_ops; i++)
        for (unsigned k = 0; k < unit->ops[i].n_results; k++)
            plan.producer[unit->ops[i].results[k]] = i;
    place_results(&plan);
    find_lives(&plan);
    share_places(&plan);
    find_lives(&plan);
    struct placed_item *items = ARENA_ARRAY(scratch, struct placed_item, unit->n_values + 1);
    uint32_t n = 0;
    for (uint32_t i = unit->n_parameters; i < unit->n_values; i++) {
        struct value *value = &unit->values[i];
        if (value->storage != STORAGE_UNPLANNED || plan.first[i] < 0)
            continue;
        value->storage = STORAGE_FRAME;
        struct placed_item *item = &items[n++];
        *item = (struct placed_item){.bytes = type_bytes(&value->type), .id = i};
        struct interval lives = {plan.first[i], plan.last[i]}; // the unit stands for a step
        item->lives[0] = (struct lifetime){arena_copy(scratch, &lives, sizeof lives), 1};
    }
    unit->frame_bytes = first_fit(scratch, items, n, 0);
    for (uint32_t i = 0; i < n; i++)
        unit->values[items[i].id].offset_bytes = items[i].offset;
}

// The frame is a buffer like others: alive while the unit runs, where it does.
static void add_frame_buffer(struct program *program, struct names *names, uint32_t id,
                             enum tier tier) {
    const struct unit *unit = &program->job->units[id];
    if (unit->frame_bytes == 0)
        return;
    int64_t word = dtype_bytes[DTYPE_F32], words = (unit->frame_bytes + word - 1) / word;
    const char *name = arena_format(program->arena, "frame.%s", unit->name);
    struct buffer frame = {.name = name,
                           .class =
                               unit->phase == PHASE_UPDATE ? CLASS_TRANSIENT : CLASS_ACTIVATIONS,
                           .tensor = NO_ID,
                           .dtype = DTYPE_F32,
                           .rank = 1,
                           .dims = {{DIM_FLAT, words}},
                           .window_of = NO_ID,
                           .tier = tier,
                           .offset_bytes = -1,
                           .span = unit->span};
    // A program that is planned again has the buffer already, of another size.
    buffer_id buffer = names_find(names, name);
    if (buffer == NOT_NAMED)
        names_add(names, name, buffer = program_add_buffer(program, frame));
    else
        program->buffers[buffer] = frame;
    program_set_frame(program, id, buffer);
}

// Where each unit that the program calls runs, which all its calls agree on.
static enum tier *find_tiers(const struct program *program, struct arena *scratch) {
    enum tier *found = ARENA_ARRAY(scratch, enum tier, program->job->n_units + 1);
    for (int s = 0; s < N_STEPS; s++) {
        struct statement_walk walk = walk_statements(&program->steps[s].body);
        for (const struct call *call; (call = walk_next_call(&walk));)
            found[call->unit] = call_tier(program, call);
    }
    return found;
}

// Adds the frames of the units that the program calls.
static void add_frame_buffers(struct program *program, struct arena *scratch) {
    struct names names = {.arena = scratch};
    const bool *called = program_called_units(program, scratch);
    const enum tier *tiers = find_tiers(program, scratch);
    for (buffer_id id = 0; id < program->n_buffers; id++)
        if (names_find(&names, program->buffers[id].name) == NOT_NAMED)
            names_add(&names, program->buffers[id].name, id);
    for (uint32_t i = 0; i < program->job->n_units; i++)
        if (called[i])
            add_frame_buffer(program, &names, i, tiers[i]);
}

// ---- the arena ----------------------------------------------------------------------------------

// What persists lies at the bottom, side by side, in the order of the buffers; above it is laid out
// by size what lives for a part of a step, where all steps use the same bytes. What has owners lies
// with the former: when which of its bytes are in use differs from device to device.
struct arena_plan {
    struct placed_item *items; // what shares bytes
    uint32_t n;
    int64_t bytes;
};

static bool lives_in_any(const struct lifetime *const lives[N_STEPS], buffer_id id) {
    for (int s = 0; s < N_STEPS; s++)
        if (lives[s] && lives[s][id].n)
            return true;
    return false;
}

// A place is found by the lives of every step; NULL: nothing lives in it. `apart`: where those lie
// that share no bytes; others are left out.
static struct arena_plan plan_arena(const struct program *program, enum tier tier,
                                    const struct lifetime *const lives[N_STEPS], int64_t *apart,
                                    struct arena *scratch) {
    struct arena_plan plan = {.items =
                                  ARENA_ARRAY(scratch, struct placed_item, program->n_buffers + 1)};
    int64_t base = 0, end = 0;
    for (uint32_t i = 0; i < program->n_buffers; i++) {
        const struct buffer *buffer = &program->buffers[i];
        int64_t bytes = buffer_bytes(program, buffer);
        if (buffer->window_of != NO_ID || buffer->tier != tier)
            continue;
        if (buffer_is_persistent(buffer) || (buffer->layout.owners.n && lives_in_any(lives, i))) {
            apart[i] = base;
            end = base + bytes;
            base += aligned_bytes(bytes);
            continue;
        }
        struct placed_item *item = &plan.items[plan.n++];
        *item = (struct placed_item){.bytes = bytes, .id = i};
        for (int s = 0; s < N_STEPS; s++)
            if (lives[s])
                item->lives[s] = lives[s][i];
    }
    plan.bytes = first_fit(scratch, plan.items, plan.n, base);
    if (plan.bytes == base)
        plan.bytes = end; // nothing lies above what lies apart, and nothing behind the last of that
    return plan;
}

static void plan_program(struct program *program) {
    struct arena scratch = {0};
    add_frame_buffers(program, &scratch);
    int64_t *apart = ARENA_ARRAY(&scratch, int64_t, program->n_buffers + 1);
    const struct lifetime *lives[N_STEPS];
    for (uint32_t i = 0; i < program->n_buffers; i++)
        apart[i] = -1;
    for (int s = 0; s < N_STEPS; s++)
        lives[s] = step_lifetimes(program, s, &scratch);
    for (enum tier tier = 0; tier < N_TIERS; tier++) {
        struct arena_plan plan = plan_arena(program, tier, lives, apart, &scratch);
        for (uint32_t i = 0; i < plan.n; i++)
            program->buffers[plan.items[i].id].offset_bytes = plan.items[i].offset;
        program->arena_bytes[tier] = plan.bytes;
    }
    for (uint32_t i = 0; i < program->n_buffers; i++)
        if (apart[i] >= 0)
            program->buffers[i].offset_bytes = apart[i];
    arena_free(&scratch);
}

// Frames first, which are laid out once for all programs.
bool plan_memory(struct job *job, const struct pass_context *context) {
    struct arena scratch = {0};
    for (uint32_t i = 0; i < job->n_units; i++)
        plan_frame(&job->units[i], &scratch);
    arena_free(&scratch);
    for (uint32_t i = 0; i < job->n_programs; i++)
        plan_program(job->programs[i]);
    return true;
}

int64_t memory_of_step(const struct program *program, enum step_kind step,
                       const struct lifetime *lives) {
    const struct lifetime *of_steps[N_STEPS] = {NULL};
    struct arena scratch = {0};
    int64_t *apart = ARENA_ARRAY(&scratch, int64_t, program->n_buffers + 1);
    of_steps[step] = lives;
    int64_t bytes = plan_arena(program, TIER_DEVICE, of_steps, apart, &scratch).bytes;
    arena_free(&scratch);
    return bytes;
}
