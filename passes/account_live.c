// What is alive while the training step is executed, item by item: from the lives that the uses of
// items give them (uses.h), whatever the schedule says of frees. A run counts the same from what
// its statements write and free, so that a free that is missing, late or early shows as a
// difference.
#include "passes/passes.h"

#include "passes/uses.h"

static void add_bytes(struct account_live *live, const struct buffer *buffer, int64_t bytes) {
    enum state state = class_states[buffer->class];
    if (state == N_STATES)
        live->transient += bytes;
    else
        live->states[state] += bytes;
    live->sum += bytes;
}

// What persists, and what the host fills and reads.
static struct account_live always_alive(const struct program *program) {
    struct account_live live = {0};
    for (uint32_t i = 0; i < program->n_buffers; i++) {
        const struct buffer *buffer = &program->buffers[i];
        if (buffer_is_persistent(buffer) || buffer->class == CLASS_INPUT ||
            buffer->class == CLASS_OUTPUT)
            add_bytes(&live, buffer, buffer_bytes(program, buffer));
    }
    return live;
}

static void add_lives(const struct program *program, const struct uses *uses,
                      struct account_live *changes) {
    for (buffer_id id = 0; id < program->n_buffers; id++) {
        const struct buffer *buffer = &program->buffers[id];
        int64_t bytes = buffer_item_bytes(program, buffer);
        for (uint32_t i = uses->first_life[id]; i < uses->first_life[id + 1]; i++) {
            add_bytes(&changes[uses->lives[i].first], buffer, bytes);
            add_bytes(&changes[uses->lives[i].last + 1], buffer, -bytes);
        }
    }
}

// A unit's frame lives while the unit runs.
static void add_frames(const struct program *program, const struct uses *uses,
                       struct account_live *changes) {
    for (uint32_t i = 0; i < uses->n; i++) {
        const struct statement *s = uses->executions[i].statement;
        if (s->kind != STATEMENT_CALL || program->units[s->call.unit].frame == NO_ID)
            continue;
        const struct buffer *frame = &program->buffers[program->units[s->call.unit].frame];
        add_bytes(&changes[i], frame, buffer_bytes(program, frame));
        add_bytes(&changes[i + 1], frame, -buffer_bytes(program, frame));
    }
}

static void add_changes(struct account_live *now, const struct account_live *change) {
    for (int state = 0; state < N_STATES; state++)
        now->states[state] += change->states[state];
    now->transient += change->transient;
    now->sum += change->sum;
}

struct account_live *account_moments(const struct program *program, struct arena *arena,
                                     uint32_t *n) {
    struct uses uses = uses_of(program, STEP_TRAIN, arena);
    struct account_live *moments = ARENA_ARRAY(arena, struct account_live, uses.n + 2);
    struct account_live now = always_alive(program);
    add_lives(program, &uses, moments);
    add_frames(program, &uses, moments);
    for (uint32_t i = 0; i < uses.n; i++) {
        add_changes(&now, &moments[i]);
        moments[i] = now;
        moments[i].statement = uses.executions[i].statement->id;
        moments[i].span = uses.executions[i].statement->span;
    }
    *n = uses.n;
    return moments;
}

struct account_live account_most_alive(const struct program *program) {
    struct arena arena = {0};
    struct account_live most = always_alive(program);
    uint32_t n;
    const struct account_live *moments = account_moments(program, &arena, &n);
    for (uint32_t i = 0; i < n; i++)
        if (moments[i].sum > most.sum)
            most = moments[i];
    arena_free(&arena);
    return most;
}
