// account: memory and communication of one training step, from the final program.
//
// Memory: at every position of the step the buffers alive are known (lifetimes.h); the moment that
// is reported is the one whose highest byte is the end of the arena, and of those the fullest.
// What the plan leaves unused between buffers counts as transient, so that the parts sum to the
// peak. Beside it, what is alive at once when the step is executed item by item (uses.h), which a
// run counts too. Communication: every start, and every collective op of a called unit, times the
// trips of the loops around it (communication.c), and so of copies (copies.c).
#include "passes/account/account.h"

#include <stdlib.h>

#include "ir/check.h"
#include "passes/schedule/held.h"
#include "passes/schedule/lifetimes.h"
#include "passes/schedule/memory.h"

// ---- memory -----------------------------------------------------------------------------------

struct moment {
    int64_t position, live_bytes, end_bytes;
    enum step_kind step;
};

static bool alive_at(const struct lifetime *lives, int64_t position) {
    for (uint32_t i = 0; i < lives->n; i++)
        if (lives->list[i].first <= position && position <= lives->list[i].last)
            return true;
    return false;
}

// Buffers in the order in which they lie in the arena.
static int by_offset(const void *left, const void *right) {
    const struct buffer *a = *(const struct buffer *const *)left;
    const struct buffer *b = *(const struct buffer *const *)right;
    return (a->offset_bytes > b->offset_bytes) - (a->offset_bytes < b->offset_bytes);
}

// What the moments of all steps are found from, in one arena.
struct plan {
    const struct program *program;
    enum tier tier;
    const struct buffer **buffers; // by offset, without windows
    uint32_t n_buffers;
    int64_t *bytes; // of every buffer, by its number
};

static struct plan plan_of(const struct program *program, enum tier tier, struct arena *arena) {
    struct plan plan = {.program = program,
                        .tier = tier,
                        .buffers =
                            ARENA_ARRAY(arena, const struct buffer *, program->n_buffers + 1),
                        .bytes = ARENA_ARRAY(arena, int64_t, program->n_buffers + 1)};
    for (uint32_t i = 0; i < program->n_buffers; i++) {
        plan.bytes[i] = buffer_bytes(program, &program->buffers[i]);
        if (program->buffers[i].window_of == NO_ID && program->buffers[i].tier == tier)
            plan.buffers[plan.n_buffers++] = &program->buffers[i];
    }
    if (plan.n_buffers)
        qsort(plan.buffers, plan.n_buffers, sizeof *plan.buffers, by_offset);
    return plan;
}

// How many bytes of the arena hold something there of the states up to `last`. A byte that buffers
// share, as a person's plan may let those do whose items take turns, counts once.
static int64_t bytes_held(const struct plan *plan, const struct lifetime *lives, int64_t position,
                          enum state last) {
    int64_t held = 0, end = 0;
    for (uint32_t i = 0; i < plan->n_buffers; i++) {
        const struct buffer *buffer = plan->buffers[i];
        ptrdiff_t id = buffer - plan->program->buffers;
        int64_t begin = buffer->offset_bytes, after = begin + plan->bytes[id];
        if (class_states[buffer->class] > last || !alive_at(&lives[id], position) || after <= end)
            continue;
        held += after - (begin > end ? begin : end);
        end = after;
    }
    return held;
}

// A loop has a position before its body and one behind it, as in lifetimes.h.
static const struct statement *statement_at(const struct block *block, int64_t position) {
    for (uint32_t i = 0; i < block->n; i++) {
        const struct statement *statement = &block->statements[i];
        if (statement->kind != STATEMENT_LOOP) {
            if (position-- == 0)
                return statement;
            continue;
        }
        int64_t length = 2 + count_positions(&statement->loop.body);
        if (position == 0 || position == length - 1)
            return statement;
        if (position < length)
            return statement_at(&statement->loop.body, position - 1);
        position -= length;
    }
    return NULL;
}

// Bytes by state at the moment. What two states share is of the first of them, and all that is of none
// is transient.
static struct account_arena states_at(const struct plan *plan, const struct lifetime *lives,
                                      int64_t position) {
    struct account_arena arena = {.peak = plan->program->arena_bytes[plan->tier]};
    int64_t counted = 0;
    for (enum state state = 0; state < N_STATES; state++) {
        int64_t held = bytes_held(plan, lives, position, state);
        arena.states[state] = held - counted;
        counted = held;
    }
    arena.transient = arena.peak - counted;
    return arena;
}

// What is held whatever the moment.
static void count_held(const struct program *program, struct account *account) {
    for (uint32_t i = 0; i < program->n_buffers; i++) {
        enum state state = class_states[program->buffers[i].class];
        if (state != N_STATES)
            account->held[state] += buffer_bytes(program, &program->buffers[i]);
    }
}

struct event { // at a position of a step: a buffer comes to life (by = 1) or is dead (by = -1)
    int64_t position;
    struct held_range bytes;
    int by;
};

static int by_position(const void *left, const void *right) {
    const struct event *a = left, *b = right;
    return (a->position > b->position) - (a->position < b->position);
}

struct events {
    struct event *list;
    uint32_t n;
    int64_t highest; // where the highest buffer ends
};

// The events at the first n positions of a step.
static struct events find_events(const struct plan *plan, const struct lifetime *lives, int64_t n,
                                 struct arena *arena) {
    struct events events = {0};
    uint32_t cap = 0;
    for (uint32_t i = 0; i < plan->n_buffers; i++) {
        ptrdiff_t id = plan->buffers[i] - plan->program->buffers;
        int64_t begin = plan->buffers[i]->offset_bytes, end = begin + plan->bytes[id];
        for (uint32_t k = 0; k < lives[id].n && lives[id].list[k].first < n; k++) {
            const struct interval *one = &lives[id].list[k];
            struct event born = {one->first < 0 ? 0 : one->first, {begin, end}, 1};
            struct event dead = {one->last + 1, {begin, end}, -1};
            ARENA_PUSH(arena, events.list, events.n, cap, born);
            ARENA_PUSH(arena, events.list, events.n, cap, dead);
            events.highest = end > events.highest ? end : events.highest;
        }
    }
    if (events.n)
        qsort(events.list, events.n, sizeof *events.list, by_position);
    return events;
}

// The fullest moment of those that reach highest, or `best` if that one is better.
static struct moment best_moment(const struct events *events, enum step_kind step,
                                 struct arena *arena, struct moment best) {
    int64_t *borders = ARENA_ARRAY(arena, int64_t, 2 * events->n + 1);
    uint32_t n_borders = 0, n_highest = 0;
    for (uint32_t i = 0; i < events->n; i++) {
        borders[n_borders++] = events->list[i].bytes.begin;
        borders[n_borders++] = events->list[i].bytes.end;
    }
    struct held_bytes held = held_new(arena, borders, n_borders);
    for (uint32_t i = 0; i < events->n; i++) {
        const struct event *event = &events->list[i];
        held_change(&held, event->bytes, event->by);
        if (event->bytes.end == events->highest)
            n_highest += (uint32_t)event->by;
        bool more = i + 1 < events->n && event[1].position == event->position;
        struct moment now = {event->position, held_in_all(&held), events->highest, step};
        if (!more && n_highest > 0 &&
            (now.end_bytes > best.end_bytes ||
             (now.end_bytes == best.end_bytes && now.live_bytes > best.live_bytes)))
            best = now;
    }
    return best;
}

// All steps are looked through: an evaluation may need more than a step of training.
static struct moment fullest_moment(const struct plan *plan,
                                    struct lifetime *const lives[N_STEPS]) {
    struct moment best = {.position = -1};
    for (int s = 0; s < N_STEPS; s++) {
        struct arena scratch = {0};
        int64_t n = count_positions(&plan->program->steps[s].body);
        struct events events = find_events(plan, lives[s], n, &scratch);
        best = best_moment(&events, s, &scratch, best);
        arena_free(&scratch);
    }
    return best;
}

static void account_memory(const struct program *program, struct arena *arena,
                           struct account *account) {
    struct moment best = {.position = -1};
    struct lifetime *lives[N_STEPS] = {NULL};
    for (int s = 0; s < N_STEPS; s++) {
        lives[s] = step_lifetimes(program, s, arena);
        if (program->steps[s].present)
            account->alone[s] = memory_of_step(program, s, lives[s]);
    }
    for (enum tier t = N_TIERS; t-- > 0;) { // the device's moment is the one that stays
        if (program->arena_bytes[t] == 0 && t != TIER_DEVICE)
            continue;
        struct plan plan = plan_of(program, t, arena);
        best = fullest_moment(&plan, lives);
        account->arenas[t] = states_at(&plan, lives[best.step], best.position);
    }
    count_held(program, account);
    account->peak_step = best.step;
    const struct statement *statement =
        statement_at(&program->steps[best.step].body, best.position);
    if (statement) {
        account->peak_statement = statement->id;
        account->peak_span = statement->span;
    }
}

// ---- the whole --------------------------------------------------------------------------------

// Communication is that of `train` and of `average`; memory is of all steps.
struct account *account_followed(const struct program *program, const struct followed *followed,
                                 struct arena *arena) {
    CHECK(program->arena_bytes[TIER_DEVICE] >= 0);
    struct account *result = ARENA_NEW(arena, struct account);
    result->sent = ARENA_ARRAY(arena, int64_t, program->job->n_ids + 1);
    struct counting counting = {
        .program = program, .rows.arena = arena, .sent = result->sent, .phase = PHASE_FORWARD};
    account_memory(program, arena, result);
    for (enum tier t = N_TIERS; t-- > 0;)
        if (program->arena_bytes[t] > 0 || t == TIER_DEVICE)
            result->live[t] = account_most_alive(program, followed, t, &result->too_long);
    account_copies(program, arena, result);
    account_communication(&counting, STEP_TRAIN);
    account_communication(&counting, STEP_AVERAGE);
    result->transfers = counting.rows.items;
    result->n_transfers = counting.rows.n;
    for (uint32_t i = 0; i < result->n_transfers; i++)
        result->total_bytes = size_plus(result->total_bytes, result->transfers[i].bytes);
    return result;
}

struct account *account(const struct program *program, struct arena *arena) {
    return account_followed(program, NULL, arena);
}
