// Ranges of layers: where a strategy places some layers differently from others, the reference
// program is cut before anything else is made of it. Each loop over layers becomes one loop after
// the other, one for each range, and what is stacked by layers becomes a buffer for each: so
// everything behind finds, as ever, that all items of a buffer are placed alike and that a loop's
// body is one text.
//
//   for l = 0 .. 8 { call block(x = hidden[l], w = w[l]) -> (y = hidden[l+1]) }
// becomes, cut before layer 3,
//   for l = 0 .. 3 { call block(x = hidden[l], w = w.0_3[l]) -> (y = hidden[l+1]) }
//   for l = 3 .. 8 { call block(x = hidden[l], w = w.3_8[l-3]) -> (y = hidden[l+1]) }
//
// What layers hand on to one another (`hidden`) is the only kind whose items a loop names by
// another number than its own layer's. It stays one buffer as long as the ranges divide it alike
// and keep it of every layer: then the border between two of them is an item that one writes and
// the other reads. Where they do not, each side has a buffer of its own, and a call between the
// loops takes the item at the border from one to the other; partition finds what that costs.
// What the host writes stays one buffer too: it knows one.
#include <inttypes.h>
#include <string.h>

#include "ir/check.h"
#include "passes/emit.h"
#include "passes/passes.h"
#include "passes/select.h"
#include "passes/work.h"

struct cutter {
    struct program *program;
    const struct strategy_config *strategy;
    const struct placement *placement;
    const struct buffer *old;
    bool *handed_on;        // of the old buffers: layers name one another's items
    bool **borders;         // of what is handed on: before which ranges it changes; NULL: nowhere
    uint32_t *border_units; // that take it across; NO_ID: not made yet
    buffer_id *first_piece; // of the old buffers: what has become of it, or of its first range
};

static bool is_cut(const struct cutter *c, buffer_id id) {
    return c->old[id].stack == STACK_LAYERS && !c->handed_on[id] && c->old[id].class != CLASS_INPUT;
}

// ---- which buffers ----------------------------------------------------------------------------

static void note_handed_on(struct cutter *c, const struct step *step) {
    struct statement_walk walk = walk_statements(&step->body);
    while (walk_next(&walk)) {
        struct access access;
        for (uint32_t i = 0; (access = statement_access(c->program, walk.statement, i)).at; i++)
            if (access.at->index.variable >= 0 && access.at->index.offset != 0)
                c->handed_on[access.at->buffer] = true;
    }
}

// ---- borders ----------------------------------------------------------------------------------

static bool is_kept(const struct cutter *c, buffer_id id) {
    struct statement_walk walk = walk_statements(&c->program->steps[STEP_TRAIN].body);
    while (walk_next(&walk)) {
        const struct call *call = &walk.statement->call;
        if (walk.statement->kind != STATEMENT_CALL)
            continue;
        const struct unit *unit = &c->program->units[call->unit];
        for (uint32_t i = 0; unit->phase == PHASE_BACKWARD && i < unit->n_parameters; i++)
            if (call->operands[i].buffer == id)
                return true;
    }
    return false;
}

// Which unit's result layers hand on in it; false: a step has none.
static bool find_writer(const struct cutter *c, const struct step *step, buffer_id id,
                        uint32_t *unit, uint32_t *result) {
    struct statement_walk walk = walk_statements(&step->body);
    while (walk_next(&walk)) {
        const struct call *call = &walk.statement->call;
        if (walk.statement->kind != STATEMENT_CALL || walk.depth == 0)
            continue;
        for (uint32_t i = 0; i < c->program->units[call->unit].n_results; i++)
            if (call->results[i].buffer == id) {
                *unit = call->unit;
                *result = i;
                return true;
            }
    }
    return false;
}

static bool divided_alike(const struct cutter *c, const struct unit *unit, uint32_t result,
                          bool kept, uint32_t range) {
    struct axis_list before[MAX_RANK], here[MAX_RANK];
    const int64_t *starts = c->placement->starts;
    if (!work_cuts_of_result(c->placement, unit, result, starts[range - 1], kept, before) ||
        !work_cuts_of_result(c->placement, unit, result, starts[range], kept, here))
        return true;
    for (unsigned d = 0; d < unit->values[unit->results[result].value].type.rank; d++)
        if (!axis_list_equal(&before[d], &here[d]))
            return false;
    return true;
}

// Groups of layers that are recomputed at once have slots for what their layers hand on.
static bool has_groups(const struct cutter *c, uint32_t range) {
    int64_t begin = c->placement->starts[range], end = c->placement->starts[range + 1];
    return end - begin > 1 && layers_recomputed_at_once(c->strategy, begin) > 1;
}

static void find_borders(struct cutter *c, buffer_id id) {
    uint32_t unit, result, n = c->placement->n_ranges;
    bool *borders = ARENA_ARRAY(c->program->arena, bool, n + 1), any = false;
    if (!c->handed_on[id] || !find_writer(c, &c->program->steps[STEP_TRAIN], id, &unit, &result))
        return;
    bool kept = is_kept(c, id);
    for (uint32_t r = 1; r < n; r++)
        any |= borders[r] =
            !divided_alike(c, &c->program->units[unit], result, kept, r) ||
            (c->old[id].stack == STACK_LAYERS && (has_groups(c, r - 1) || has_groups(c, r)));
    if (any)
        c->borders[id] = borders;
}

// The number of its piece, and the range in which that begins.
static uint32_t piece_of(const struct cutter *c, buffer_id id, uint32_t range, uint32_t *first) {
    uint32_t piece = 0;
    *first = 0;
    for (uint32_t r = 1; r <= range; r++)
        if (c->borders[id][r]) {
            piece++;
            *first = r;
        }
    return piece;
}

// ---- buffers ----------------------------------------------------------------------------------

// Of what is handed on: the layers from one border to the next, with what one layer more is handed.
static void add_handed_on(struct cutter *c, buffer_id id) {
    const struct buffer *whole = &c->old[id];
    const int64_t *starts = c->placement->starts;
    for (uint32_t begin = 0, end; begin < c->placement->n_ranges; begin = end) {
        for (end = begin + 1; end < c->placement->n_ranges && !c->borders[id][end];)
            end++;
        struct buffer piece = *whole;
        piece.name = arena_format(c->program->arena, "%s.%" PRId64 "_%" PRId64, whole->name,
                                  starts[begin], starts[end]);
        if (whole->stack == STACK_LAYERS) {
            piece.first_layer = starts[begin];
            piece.count -= starts[c->placement->n_ranges] - (starts[end] - starts[begin]);
        }
        program_add_buffer(c->program, piece);
    }
}

static void add_piece(struct cutter *c, const struct buffer *whole, uint32_t range) {
    int64_t begin = c->placement->starts[range], end = c->placement->starts[range + 1];
    struct buffer piece = *whole;
    piece.name =
        arena_format(c->program->arena, "%s.%" PRId64 "_%" PRId64, whole->name, begin, end);
    piece.first_layer = begin;
    piece.count = end - begin;
    program_add_buffer(c->program, piece);
}

static void cut_buffers(struct cutter *c, uint32_t n) {
    c->program->buffers = NULL;
    c->program->n_buffers = c->program->cap_buffers = 0;
    for (buffer_id id = 0; id < n; id++) {
        c->first_piece[id] = c->program->n_buffers;
        if (c->borders[id])
            add_handed_on(c, id);
        else if (!is_cut(c, id))
            program_add_buffer(c->program, c->old[id]);
        for (uint32_t range = 0; is_cut(c, id) && range < c->placement->n_ranges; range++)
            add_piece(c, &c->old[id], range);
    }
}

// ---- statements -------------------------------------------------------------------------------

// An item of what is handed on: layer l reads item l and writes the next one.
static void move_handed_on(const struct cutter *c, struct reference *reference, uint32_t range) {
    buffer_id id = reference->buffer;
    bool stacked = c->old[id].stack == STACK_LAYERS;
    int64_t item = reference->index.offset;
    uint32_t first;
    if (stacked && reference->index.variable < 0)
        range = placement_range(c->placement, item > 0 ? item - 1 : 0);
    reference->buffer = c->first_piece[id] + piece_of(c, id, range, &first);
    if (stacked)
        reference->index.offset -= c->placement->starts[first];
}

// `range`: of the loop that the reference stands in, or of the nearest that uses the buffer.
static void move_reference(const struct cutter *c, struct reference *reference, uint32_t range) {
    buffer_id id = reference->buffer;
    if (c->borders[id]) {
        move_handed_on(c, reference, range);
        return;
    }
    reference->buffer = c->first_piece[id];
    if (!is_cut(c, id))
        return;
    if (reference->index.variable < 0)
        range = placement_range(c->placement, reference->index.offset);
    reference->buffer += range;
    reference->index.offset -= c->placement->starts[range];
}

static void push_moved(const struct cutter *c, struct block *to, const struct statement *from,
                       uint32_t range) {
    struct statement made = statement_clone(c->program->arena, c->program, from);
    struct access access;
    for (uint32_t i = 0; (access = statement_access(c->program, &made, i)).at; i++)
        move_reference(c, access.at, range);
    block_push(c->program, to, made);
}

static void push_range(const struct cutter *c, struct block *to, const struct statement *loop,
                       uint32_t range) {
    struct statement made = *loop;
    made.loop.begin = c->placement->starts[range];
    made.loop.end = c->placement->starts[range + 1];
    made.loop.body = (struct block){0};
    for (uint32_t i = 0; i < loop->loop.body.n; i++)
        push_moved(c, &made.loop.body, &loop->loop.body.statements[i], range);
    block_push(c->program, to, made);
}

// The last item that a loop hands on at the end of a range, as the range behind it finds it.
static struct reference at_border(const struct cutter *c, const struct reference *written,
                                  int64_t layer, uint32_t range) {
    struct reference item = {.buffer = written->buffer,
                             .index = index_constant(index_at(written->index, &layer))};
    uint32_t first;
    item.buffer = c->first_piece[written->buffer] + piece_of(c, written->buffer, range, &first);
    if (c->old[written->buffer].stack == STACK_LAYERS)
        item.index.offset -= c->placement->starts[first];
    return item;
}

// The unit that takes result `i` of another, as it is, from one side to the other.
static uint32_t border_unit(struct cutter *c, buffer_id id, uint32_t of, uint32_t i) {
    struct program *program = c->program;
    if (c->border_units[id] != NO_ID)
        return c->border_units[id];
    const struct unit *unit = &program->units[of];
    const struct op *made_by = unit_producer(unit, unit->results[i].value);
    CHECK(made_by);
    const char *name = arena_format(program->arena, "border_%s", c->old[id].name);
    return c->border_units[id] = add_copying_unit(program, name, &c->old[id], made_by, unit->phase);
}

// What the loop hands on, between its ranges.
static void push_borders(struct cutter *c, struct block *to, const struct statement *loop,
                         uint32_t from_range, uint32_t to_range) {
    const int64_t *starts = c->placement->starts;
    uint32_t border = from_range > to_range ? from_range : to_range;
    int64_t last = loop->loop.descending ? starts[from_range] : starts[from_range + 1] - 1;
    for (uint32_t i = 0; i < loop->loop.body.n; i++) {
        const struct statement *s = &loop->loop.body.statements[i];
        for (uint32_t k = 0; k < c->program->units[s->call.unit].n_results; k++) {
            const struct reference *at = &s->call.results[k];
            if (!c->borders[at->buffer] || !c->borders[at->buffer][border])
                continue;
            struct reference items[2] = {at_border(c, at, last, from_range),
                                         at_border(c, at, last, to_range)};
            struct call call = {.unit = border_unit(c, at->buffer, s->call.unit, k),
                                .operands = arena_copy(c->program->arena, &items[0], sizeof *items),
                                .results = arena_copy(c->program->arena, &items[1], sizeof *items)};
            block_push(c->program, to,
                       (struct statement){.kind = STATEMENT_CALL, .span = s->span, .call = call});
        }
    }
}

// Of a statement outside of loops: the range in which the loop behind it begins, else that in which
// the loop before it has ended.
static uint32_t nearest_range(const struct cutter *c, const struct step *step, uint32_t at) {
    uint32_t last = c->placement->n_ranges - 1;
    const struct statement *s = &step->body.statements[at];
    bool forward =
        s->kind == STATEMENT_CALL && c->program->units[s->call.unit].phase == PHASE_FORWARD;
    for (uint32_t i = at + 1; i < step->body.n && !forward; i++)
        if (step->body.statements[i].kind == STATEMENT_LOOP)
            return step->body.statements[i].loop.descending ? last : 0;
    return 0;
}

static void cut_step(struct cutter *c, struct step *step) {
    uint32_t n = c->placement->n_ranges;
    struct block made = {0};
    for (uint32_t i = 0; i < step->body.n; i++) {
        const struct statement *statement = &step->body.statements[i];
        if (statement->kind != STATEMENT_LOOP) {
            push_moved(c, &made, statement, nearest_range(c, step, i));
            continue;
        }
        // The reference program's loops are those over layers.
        CHECK(statement->loop.begin == 0 && statement->loop.end == c->placement->starts[n]);
        for (uint32_t k = 0; k < n; k++) {
            uint32_t range = statement->loop.descending ? n - 1 - k : k;
            push_range(c, &made, statement, range);
            if (k + 1 < n)
                push_borders(c, &made, statement, range,
                             statement->loop.descending ? range - 1 : range + 1);
        }
    }
    step->body = made;
}

bool cut_ranges(struct program *program, const struct pass_context *context) {
    struct arena *arena = program->arena;
    struct placement placement;
    uint32_t n = program->n_buffers;
    if (!placement_derive(context->config, program, arena, context->diagnostics, &placement))
        return false;
    if (placement.n_ranges == 1)
        return true;
    struct cutter c = {.program = program,
                       .strategy = &context->config->strategy,
                       .placement = &placement,
                       .old = program->buffers,
                       .handed_on = ARENA_ARRAY(arena, bool, n + 1),
                       .borders = ARENA_ARRAY(arena, bool *, n + 1),
                       .border_units = ARENA_ARRAY(arena, uint32_t, n + 1),
                       .first_piece = ARENA_ARRAY(arena, buffer_id, n + 1)};
    for (int s = 0; s < N_STEPS; s++)
        note_handed_on(&c, &program->steps[s]);
    for (buffer_id id = 0; id < n; id++) {
        c.border_units[id] = NO_ID;
        find_borders(&c, id);
    }
    cut_buffers(&c, n);
    for (int s = 0; s < N_STEPS; s++)
        cut_step(&c, &program->steps[s]);
    program_number(program);
    return true;
}
