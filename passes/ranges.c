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
// What layers hand on to one another (`hidden`) stays one buffer: the border between two ranges is
// an item that one writes and the other reads. It is the only kind whose items a loop names by
// another number than its own layer's.
#include <inttypes.h>

#include "ir/check.h"
#include "passes/passes.h"

struct cutter {
    struct program *program;
    const struct placement *placement;
    const struct buffer *old;
    bool *handed_on;        // of the old buffers: layers name one another's items
    buffer_id *first_piece; // of the old buffers: what has become of it, or of its first range
};

static bool is_cut(const struct cutter *c, buffer_id id) {
    return c->old[id].stack == STACK_LAYERS && !c->handed_on[id];
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

// ---- buffers ----------------------------------------------------------------------------------

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
        if (!is_cut(c, id))
            program_add_buffer(c->program, c->old[id]);
        for (uint32_t range = 0; is_cut(c, id) && range < c->placement->n_ranges; range++)
            add_piece(c, &c->old[id], range);
    }
}

// ---- statements -------------------------------------------------------------------------------

// `range`: of the loop that the reference stands in.
static void move_reference(const struct cutter *c, struct reference *reference, uint32_t range) {
    buffer_id id = reference->buffer;
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

static void cut_step(const struct cutter *c, struct step *step) {
    uint32_t n = c->placement->n_ranges;
    struct block made = {0};
    for (uint32_t i = 0; i < step->body.n; i++) {
        const struct statement *statement = &step->body.statements[i];
        if (statement->kind != STATEMENT_LOOP) {
            push_moved(c, &made, statement, 0);
            continue;
        }
        // The reference program's loops are those over layers.
        CHECK(statement->loop.begin == 0 && statement->loop.end == c->placement->starts[n]);
        for (uint32_t k = 0; k < n; k++)
            push_range(c, &made, statement, statement->loop.descending ? n - 1 - k : k);
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
                       .placement = &placement,
                       .old = program->buffers,
                       .handed_on = ARENA_ARRAY(arena, bool, n + 1),
                       .first_piece = ARENA_ARRAY(arena, buffer_id, n + 1)};
    for (int s = 0; s < N_STEPS; s++)
        note_handed_on(&c, &program->steps[s]);
    cut_buffers(&c, n);
    for (int s = 0; s < N_STEPS; s++)
        cut_step(&c, &program->steps[s]);
    program_number(program);
    return true;
}
