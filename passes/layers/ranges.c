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
// Where every n-th layer is placed differently, layers take turns: with n = 2,
//   for g = 0 .. 4 {
//     for l = 2*g .. 2*g+1 { call block(x = hidden[l], w = w.0_8_2[g]) -> (y = hidden[l+1]) }
//     for l = 2*g+1 .. 2*g+2 { call block(x = hidden[l], w = w.1_8_2[g]) -> (y = hidden[l+1]) }
//   }
//
// What layers hand on to one another (`hidden`) is the only kind whose items a loop names by
// another number than its own layer's. It stays one buffer as long as the ranges divide it alike
// and keep it of every layer, in one tier: then the border between two of them is an item that one
// writes and the other reads. Where they do not, each side has a buffer of its own, and a call between the
// loops takes the item at the border from one to the other; partition finds what that costs.
// Where layers that take turns are kept in different tiers each of a turn has a buffer of its own for what it
// is given, with an item for each turn:
//
//     for l = 2*g .. 2*g+1 { call block(x = hidden.0_8_2[g]) -> (y = hidden.1_8_2[g]) }
//     for l = 2*g+1 .. 2*g+2 { call block(x = hidden.1_8_2[g]) -> (y = hidden.0_8_2[g+1]) }
//
// What the host writes stays one buffer too: it knows one.
#include <string.h>

#include "ir/check.h"
#include "passes/passes.h"
#include "passes/placement/work.h"
#include "passes/reference/emit.h"
#include "passes/reference/select.h"

struct cutter {
    struct program *program;
    struct modes_by_layer modes;
    const struct placement *placement;
    const struct buffer *old;
    bool *handed_on;        // of the old buffers: layers name one another's items
    bool **borders;         // of what is handed on: before which ranges it changes; NULL: nowhere
    bool **by_turns;        // and in which each of a turn has its own
    uint32_t *border_units; // that take it across; NO_ID: not made yet
    buffer_id *first_piece; // of the old buffers: what has become of it, or of its first range
    uint32_t *first_range;  // of the old buffers that are cut: the first range of which they are
};

static bool is_of_layers(const struct cutter *c, buffer_id id) {
    return buffer_stack(&c->old[id], STACK_LAYERS);
}

static bool is_cut(const struct cutter *c, buffer_id id) {
    return is_of_layers(c, id) && !c->handed_on[id] && c->old[id].class != CLASS_INPUT;
}

// ---- which buffers ----------------------------------------------------------------------------

static void note_handed_on(struct cutter *c, const struct step *step) {
    struct statement_walk walk = walk_statements(&step->body);
    while (walk_next(&walk)) {
        struct access access;
        for (uint32_t i = 0; (access = statement_access(c->program, walk.statement, i)).at; i++)
            if (access.at->indices[0].variable >= 0 &&
                access.at->indices[0].offset + buffer_first_layer(&c->old[access.at->buffer]) != 0)
                c->handed_on[access.at->buffer] = true;
    }
}

// ---- borders ----------------------------------------------------------------------------------

static bool is_kept(const struct cutter *c, buffer_id id) {
    struct statement_walk walk = walk_statements(&c->program->steps[STEP_TRAIN].body);
    for (const struct call *call; (call = walk_next_call(&walk));) {
        const struct unit *unit = &c->program->job->units[call->unit];
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
    for (const struct call *call; (call = walk_next_call(&walk));) {
        if (walk.depth == 0)
            continue;
        for (uint32_t i = 0; i < c->program->job->units[call->unit].n_results; i++)
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
    const struct layer_range *ranges = c->placement->ranges;
    if (!work_cuts_of_result(c->placement, unit, result, ranges[range - 1].begin, kept, before) ||
        !work_cuts_of_result(c->placement, unit, result, ranges[range].begin, kept, here))
        return true;
    for (unsigned d = 0; d < unit->values[unit->results[result].value].type.rank; d++)
        if (!axis_list_equal(&before[d], &here[d]))
            return false;
    return true;
}

// What layers are given lies in one tier.
static bool offloaded_alike(const struct cutter *c, uint32_t range) {
    const struct layer_range *ranges = c->placement->ranges;
    return offload_alike(offloads_input(&c->modes, ranges[range - 1].begin),
                         offloads_input(&c->modes, ranges[range].begin));
}

// Groups of layers that are recomputed at once have slots for what their layers hand on.
static bool has_groups(const struct cutter *c, uint32_t range) {
    const struct layer_range *of = &c->placement->ranges[range];
    return range_layers(of) > 1 && layers_recomputed_at_once(&c->modes, of->begin) > 1;
}

// The ranges from `first` on whose layers take turns, or one: how many.
static uint32_t turns_from(const struct cutter *c, uint32_t first) {
    return (uint32_t)c->placement->ranges[first].step;
}

static uint32_t first_of_turn(const struct cutter *c, uint32_t range) {
    while (range > 0 && c->placement->ranges[range].step > 1 &&
           c->placement->ranges[range - 1].end == c->placement->ranges[range].end)
        range--;
    return range;
}

// Marks the ranges of a turn between which it changes, with the borders around them.
static bool find_turns(const struct cutter *c, uint32_t first, bool *borders, bool *by_turns) {
    uint32_t n = turns_from(c, first);
    bool apart = false;
    for (uint32_t r = first + 1; r < first + n; r++)
        apart |= !offloaded_alike(c, r);
    for (uint32_t r = first; r < first + n && apart; r++)
        borders[r] = by_turns[r] = true;
    borders[first + n] |= apart;
    return apart;
}

static void find_borders(struct cutter *c, buffer_id id) {
    uint32_t unit, result, n = c->placement->n_ranges;
    bool *borders = ARENA_ARRAY(c->program->arena, bool, n + 1), any = false;
    bool *by_turns = ARENA_ARRAY(c->program->arena, bool, n + 1);
    if (!c->handed_on[id] || !find_writer(c, &c->program->steps[STEP_TRAIN], id, &unit, &result))
        return;
    bool kept = is_kept(c, id);
    for (uint32_t r = 1; r < n; r++)
        any |= borders[r] = !divided_alike(c, &c->program->job->units[unit], result, kept, r) ||
                            (is_of_layers(c, id) &&
                             (has_groups(c, r - 1) || has_groups(c, r) || !offloaded_alike(c, r)));
    for (uint32_t r = 0; r < n && is_of_layers(c, id); r += turns_from(c, r))
        any |= find_turns(c, r, borders, by_turns);
    if (any)
        c->borders[id] = borders;
    c->by_turns[id] = by_turns;
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

// Adds the pieces of a buffer that layers hand on: each has the layers from one border to the next,
// and an item more, which the last of them hands on.
static void add_handed_on(struct cutter *c, buffer_id id) {
    const struct buffer *whole = &c->old[id];
    const struct layer_range *ranges = c->placement->ranges;
    for (uint32_t begin = 0, end; begin < c->placement->n_ranges; begin = end) {
        for (end = begin + 1; end < c->placement->n_ranges && !c->borders[id][end];)
            end++;
        struct layer_range layers = {ranges[begin].begin, ranges[end - 1].end, 1};
        struct buffer piece = *whole;
        if (c->by_turns[id][begin])
            layers = ranges[begin];
        piece.name = range_name(c->program->arena, whole->name, &layers);
        if (is_of_layers(c, id)) {
            int64_t count = whole->stacks.list[0].count - c->program->job->sizes.layers;
            piece.stacks = stacked_by_layers(&layers);
            piece.stacks.list[0].count += first_of_turn(c, begin) == begin ? count : 0;
        }
        program_add_buffer(c->program, piece);
    }
}

// What the reference has of a range alone is named after it already.
static bool is_whole(const struct buffer *buffer, const struct layer_range *layers) {
    const struct stack *stack = buffer_stack(buffer, STACK_LAYERS);
    return stack->first_layer == layers->begin && stack->count == range_layers(layers) &&
           layers->step == 1;
}

static void add_piece(struct cutter *c, const struct buffer *whole, uint32_t range) {
    const struct layer_range *layers = &c->placement->ranges[range];
    struct buffer piece = *whole;
    if (!is_whole(whole, layers))
        piece.name = range_name(c->program->arena, whole->name, layers);
    piece.stacks = stacked_by_layers(layers);
    program_add_buffer(c->program, piece);
}

// What some layers have, as states of an optimizer or what blocks of other element types leave behind, is
// of the ranges of these.
static bool is_of_range(const struct cutter *c, buffer_id id, uint32_t range) {
    return buffer_item_of_layer(&c->old[id], c->placement->ranges[range].begin) >= 0;
}

static void add_pieces(struct cutter *c, buffer_id id) {
    for (uint32_t range = c->placement->n_ranges; range-- > 0;)
        if (is_of_range(c, id, range))
            c->first_range[id] = range;
    for (uint32_t range = 0; range < c->placement->n_ranges; range++)
        if (is_of_range(c, id, range))
            add_piece(c, &c->old[id], range);
}

static void cut_buffers(struct cutter *c, uint32_t n) {
    c->program->buffers = NULL;
    c->program->n_buffers = c->program->cap_buffers = 0;
    program_reserve_buffers(c->program, n * c->placement->n_ranges);
    for (buffer_id id = 0; id < n; id++) {
        c->first_piece[id] = c->program->n_buffers;
        if (c->borders[id])
            add_handed_on(c, id);
        else if (!is_cut(c, id))
            program_add_buffer(c->program, c->old[id]);
        else
            add_pieces(c, id);
    }
}

// ---- statements -------------------------------------------------------------------------------

// The item of what is handed on where each of a turn has a buffer, counted from the layer of the loop that
// it stands in, or from the first of all.
static void move_to_turn(const struct cutter *c, struct reference *reference, uint32_t range) {
    uint32_t first = first_of_turn(c, range), unused;
    int64_t n = turns_from(c, first), item = reference->indices[0].offset;
    bool inside = reference->indices[0].variable >= 0;
    item += inside ? range - first : -c->placement->ranges[first].begin;
    reference->buffer = c->first_piece[reference->buffer] +
                        piece_of(c, reference->buffer, first + (uint32_t)(item % n), &unused);
    reference->indices[0] = inside ? index_variable(0, item / n, 0) : index_constant(item / n);
}

// An item of what is handed on: layer l reads item l and writes the next one.
static void move_handed_on(const struct cutter *c, struct reference *reference, uint32_t range) {
    buffer_id id = reference->buffer;
    bool stacked = is_of_layers(c, id);
    int64_t item = reference->indices[0].offset;
    uint32_t first;
    if (stacked && reference->indices[0].variable < 0)
        range = placement_range(c->placement, item > 0 ? item - 1 : 0);
    if (c->by_turns[id][range]) {
        move_to_turn(c, reference, range);
        return;
    }
    reference->buffer = c->first_piece[id] + piece_of(c, id, range, &first);
    if (stacked)
        reference->indices[0] =
            index_moved(reference->indices[0], -c->placement->ranges[first].begin);
}

// `range`: of the loop that the reference stands in, or nearest_range.
static void move_reference(const struct cutter *c, struct reference *reference, uint32_t range) {
    buffer_id id = reference->buffer;
    bool inside = reference->indices[0].variable >= 0;
    bool takes_turns = inside && c->placement->ranges[range].step > 1;
    if (c->borders[id])
        move_handed_on(c, reference, range);
    else
        reference->buffer = c->first_piece[id];
    if (!is_cut(c, id)) {
        if (!c->borders[id] || !c->by_turns[id][range])
            reference->indices[0].variable += takes_turns; // the loop over turns is around it
        return;
    }
    struct index layer = index_moved(reference->indices[0], buffer_first_layer(&c->old[id]));
    if (!inside)
        range = placement_range(c->placement, layer.offset);
    reference->buffer += range - c->first_range[id];
    struct index moved = index_moved(layer, -c->placement->ranges[range].begin);
    if (takes_turns)
        moved = index_variable(0, 0, 0); // an item for each turn
    else if (!inside)
        moved = index_constant(moved.offset / c->placement->ranges[range].step);
    reference->indices[0] = moved;
}

static void push_moved(const struct cutter *c, struct block *to, const struct statement *from,
                       uint32_t range) {
    struct statement made = statement_clone(c->program->arena, c->program, from);
    struct access access;
    for (uint32_t i = 0; (access = statement_access(c->program, &made, i)).at; i++)
        move_reference(c, access.at, range);
    block_push(c->program->arena, to, made);
}

// The loop over a range. Where layers take turns it goes over the one layer of a turn, inside the
// loop over turns.
static struct statement loop_over_range(const struct cutter *c, const struct statement *loop,
                                        uint32_t range) {
    const struct layer_range *layers = &c->placement->ranges[range];
    struct statement made = *loop;
    made.loop.begin = layers->begin;
    made.loop.end = layers->step > 1 ? layers->begin + 1 : layers->end;
    made.loop.stride = layers->step > 1 ? layers->step : 0;
    made.loop.body = (struct block){0};
    for (uint32_t i = 0; i < loop->loop.body.n; i++)
        push_moved(c, &made.loop.body, &loop->loop.body.statements[i], range);
    return made;
}

static void push_ranges(const struct cutter *c, struct block *to, const struct statement *loop,
                        uint32_t first) {
    uint32_t n = turns_from(c, first);
    if (n == 1) {
        block_push(c->program->arena, to, loop_over_range(c, loop, first));
        return;
    }
    struct statement turns = *loop;
    turns.loop = (struct loop){.name = "g",
                               .end = range_layers(&c->placement->ranges[first]),
                               .descending = loop->loop.descending};
    for (uint32_t i = 0; i < n; i++) {
        uint32_t range = loop->loop.descending ? first + n - 1 - i : first + i;
        block_push(c->program->arena, &turns.loop.body, loop_over_range(c, loop, range));
    }
    block_push(c->program->arena, to, turns);
}

// The last item that a loop hands on at the end of a range, as the range behind it finds it.
static struct reference at_border(const struct cutter *c, const struct reference *written,
                                  int64_t layer, uint32_t range) {
    int64_t item = index_at(written->indices[0], &layer);
    uint32_t first;
    if (c->by_turns[written->buffer][range]) {
        struct reference moved = reference_at(written->buffer, index_constant(item));
        move_to_turn(c, &moved, range);
        return moved;
    }
    buffer_id piece = c->first_piece[written->buffer] + piece_of(c, written->buffer, range, &first);
    if (is_of_layers(c, written->buffer))
        item -= c->placement->ranges[first].begin;
    return reference_at(piece, index_constant(item));
}

// The unit that takes result `i` of another, as it is, from one side to the other.
static uint32_t border_unit(struct cutter *c, buffer_id id, uint32_t of, uint32_t i) {
    struct program *program = c->program;
    if (c->border_units[id] != NO_ID)
        return c->border_units[id];
    const struct unit *unit = &program->job->units[of];
    const struct op *made_by = unit_producer(unit, unit->results[i].value);
    CHECK(made_by);
    return c->border_units[id] =
               add_copying_unit(program, "border", &c->old[id], made_by, unit->phase);
}

// What the loop hands on, between its ranges.
static void push_borders(struct cutter *c, struct block *to, const struct statement *loop,
                         uint32_t from_range, uint32_t to_range) {
    const struct layer_range *from = &c->placement->ranges[from_range];
    uint32_t border = from_range > to_range ? from_range : to_range;
    int64_t last = loop->loop.descending ? from->begin : from->end - 1;
    for (uint32_t i = 0; i < loop->loop.body.n; i++) {
        const struct statement *s = &loop->loop.body.statements[i];
        for (uint32_t k = 0; k < c->program->job->units[s->call.unit].n_results; k++) {
            const struct reference *at = &s->call.results[k];
            if (!c->borders[at->buffer] || !c->borders[at->buffer][border])
                continue;
            struct reference items[2] = {at_border(c, at, last, from_range),
                                         at_border(c, at, last, to_range)};
            struct call call = {.unit = border_unit(c, at->buffer, s->call.unit, k),
                                .operands = arena_copy(c->program->arena, &items[0], sizeof *items),
                                .results = arena_copy(c->program->arena, &items[1], sizeof *items)};
            block_push(c->program->arena, to,
                       (struct statement){.kind = STATEMENT_CALL, .span = s->span, .call = call});
        }
    }
}

// A loop goes over all layers, or those that are updated alike, which are whole ranges.
static bool loops_over(const struct cutter *c, const struct statement *loop, uint32_t range) {
    const struct layer_range *of = &c->placement->ranges[range];
    return of->begin >= loop->loop.begin && of->begin < loop->loop.end;
}

static void push_upwards(struct cutter *c, struct block *to, const struct statement *loop) {
    for (uint32_t first = 0, next; first < c->placement->n_ranges; first = next) {
        next = first + turns_from(c, first);
        if (!loops_over(c, loop, first))
            continue;
        push_ranges(c, to, loop, first);
        if (next < c->placement->n_ranges)
            push_borders(c, to, loop, next - 1, next);
    }
}

static void push_downwards(struct cutter *c, struct block *to, const struct statement *loop) {
    for (uint32_t end = c->placement->n_ranges, first; end > 0; end = first) {
        first = first_of_turn(c, end - 1);
        if (!loops_over(c, loop, first))
            continue;
        push_ranges(c, to, loop, first);
        if (first > 0)
            push_borders(c, to, loop, first, first - 1);
    }
}

// The range whose piece a statement outside of loops means, of what layers hand on in one item, as
// they do with gradients: the one in which the descending loop behind it begins; behind that loop
// range 0, in which it ends. All else says its layer.
static uint32_t nearest_range(const struct cutter *c, const struct step *step, uint32_t at) {
    for (uint32_t i = at + 1; i < step->body.n; i++) {
        const struct statement *s = &step->body.statements[i];
        if (s->kind == STATEMENT_LOOP && s->loop.descending)
            return c->placement->n_ranges - 1;
    }
    return 0;
}

static void cut_step(struct cutter *c, struct step *step) {
    struct block made = {0};
    for (uint32_t i = 0; i < step->body.n; i++) {
        const struct statement *statement = &step->body.statements[i];
        if (statement->kind != STATEMENT_LOOP) {
            push_moved(c, &made, statement, nearest_range(c, step, i));
            continue;
        }
        if (statement->loop.descending)
            push_downwards(c, &made, statement);
        else
            push_upwards(c, &made, statement);
    }
    step->body = made;
}

bool cut_ranges(struct job *job, const struct pass_context *context) {
    struct program *program = job_only(job);
    struct arena *arena = program->arena;
    struct placement placement;
    uint32_t n = program->n_buffers;
    if (!placement_for(program, context, &placement))
        return false;
    if (placement.n_ranges == 1)
        return true;
    struct cutter c = {.program = program,
                       .modes = modes_by_layer(arena, &context->config->strategy),
                       .placement = &placement,
                       .old = program->buffers,
                       .handed_on = ARENA_ARRAY(arena, bool, n + 1),
                       .borders = ARENA_ARRAY(arena, bool *, n + 1),
                       .by_turns = ARENA_ARRAY(arena, bool *, n + 1),
                       .border_units = ARENA_ARRAY(arena, uint32_t, n + 1),
                       .first_piece = ARENA_ARRAY(arena, buffer_id, n + 1),
                       .first_range = ARENA_ARRAY(arena, uint32_t, n + 1)};
    for (int s = 0; s < N_STEPS; s++)
        note_handed_on(&c, &program->steps[s]);
    for (buffer_id id = 0; id < n; id++) {
        c.border_units[id] = NO_ID;
        find_borders(&c, id);
    }
    cut_buffers(&c, n);
    for (int s = 0; s < N_STEPS; s++)
        cut_step(&c, &program->steps[s]);
    job_number(program->job);
    return true;
}
