// When a buffer's bytes are in use: what lifetimes.h promises.
//
// Each question walks the step's text anew for one buffer. That is quadratic in the size of the
// text, which does not grow with the model or the mesh (about a hundred statements), and keeps no
// state.
#include "passes/lifetimes.h"

#include <string.h>

struct liveness {
    const struct program *program;
    const struct step *step;
    buffer_id buffer; // the one that is asked about
    int64_t position;
    bool found, written_first, variable_used;
    bool left; // to the host: what the last iteration wrote, but all write it to the same place
    struct interval whole;
    int variable; // of the loop that is asked about; -1: none
};

static bool concerns(const struct liveness *live, buffer_id buffer) {
    return buffer == live->buffer || live->program->buffers[buffer].window_of == live->buffer;
}

// The first touch says whether a value is needed from before, or made here.
static void touch(struct liveness *live, struct reference reference, bool write) {
    if (!concerns(live, reference.buffer))
        return;
    if (!live->found)
        live->written_first = write;
    live->found = true;
    live->variable_used |= live->variable >= 0 && reference.index.variable == live->variable;
}

static void touch_places(struct liveness *live, const struct statement *statement) {
    struct access access;
    for (uint32_t i = 0; (access = statement_access(live->program, statement, i)).at; i++)
        touch(live, *access.at, access.written);
}

// A wait ends what the starts of its handle began: source and target are busy until then.
static void touch_starts_of(struct liveness *live, uint32_t handle) {
    struct statement_walk walk = walk_statements(&live->step->body);
    while (walk_next(&walk))
        if (walk.statement->kind == STATEMENT_START && walk.statement->start.handle == handle)
            touch_places(live, walk.statement);
}

static void touch_block(struct liveness *live, const struct block *block);

// A wait stands for what its starts touch, a call for its unit's frame too.
static void touch_statement(struct liveness *live, const struct statement *statement) {
    touch_places(live, statement);
    if (statement->kind == STATEMENT_LOOP) {
        touch_block(live, &statement->loop.body);
    } else if (statement->kind == STATEMENT_WAIT) {
        touch_starts_of(live, statement->wait.handle);
    } else if (statement->kind == STATEMENT_CALL) {
        buffer_id frame = live->program->units[statement->call.unit].frame;
        if (frame != NO_ID)
            touch(live, (struct reference){frame, index_constant(0)}, true);
    }
}

static void touch_block(struct liveness *live, const struct block *block) {
    for (uint32_t i = 0; i < block->n; i++)
        touch_statement(live, &block->statements[i]);
}

int64_t count_positions(const struct block *block) {
    int64_t n = 0;
    struct statement_walk walk = walk_statements(block);
    while (walk_next(&walk))
        n += walk.statement->kind == STATEMENT_LOOP ? 2 : 1;
    return n;
}

// Does a value of the buffer cross iterations of this loop, which is at depth `variable`?
static bool crosses(struct liveness *live, const struct loop *loop, int variable) {
    struct liveness inside = *live;
    inside.found = inside.variable_used = false;
    inside.variable = variable;
    touch_block(&inside, &loop->body);
    return inside.variable_used || inside.left || !inside.written_first;
}

// The hull of the statements of the block that touch the buffer; a loop among them counts whole,
// unless it is the only one and nothing crosses its iterations.
static struct interval hull(struct liveness *live, const struct block *block, int64_t position,
                            int depth) {
    struct interval result = {1, 0};
    const struct statement *only = NULL;
    int64_t only_position = 0;
    uint32_t n = 0;
    for (uint32_t i = 0; i < block->n; i++) {
        const struct statement *statement = &block->statements[i];
        bool loop = statement->kind == STATEMENT_LOOP;
        int64_t length = loop ? 2 + count_positions(&statement->loop.body) : 1;
        struct liveness probe = *live;
        probe.found = false;
        touch_statement(&probe, statement);
        if (probe.found) {
            if (n++ == 0)
                result.first = position;
            result.last = position + length - 1;
            only = statement;
            only_position = position;
        }
        position += length;
    }
    if (n == 1 && only->kind == STATEMENT_LOOP && !crosses(live, &only->loop, depth))
        return hull(live, &only->loop.body, only_position + 1, depth + 1);
    return result;
}

bool is_left_to_host(const struct program *program, buffer_id buffer, enum step_kind step) {
    return step == STEP_EVALUATE && program->buffers[buffer].host == HOST_LOGITS;
}

struct interval buffer_lives(const struct program *program, buffer_id buffer, enum step_kind step) {
    const struct buffer *b = &program->buffers[buffer];
    int64_t all = count_positions(&program->steps[step].body);
    if (buffer_is_persistent(b) || b->class == CLASS_INPUT || b->class == CLASS_OUTPUT)
        return (struct interval){-1, all}; // the host writes before the step and reads after it
    struct liveness live = {
        .program = program, .step = &program->steps[step], .buffer = buffer, .variable = -1};
    live.left = is_left_to_host(program, buffer, step);
    struct interval lives = hull(&live, &program->steps[step].body, 0, 0);
    if (live.left && lives.first <= lives.last)
        lives.last = all;
    return lives;
}
