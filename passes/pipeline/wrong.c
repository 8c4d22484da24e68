// What is wrong with a schedule, rank by rank: every stage does every microbatch forward once, and
// backward once, whole or in its two parts, on its own rank and in this order.
#include "ir/arena.h"
#include "passes/pipeline/order.h"

// The kinds that must have been done before, and those that must not, by kind.
static const unsigned before[N_TASK_KINDS] = {
    [TASK_FORWARD] = 0,
    [TASK_BACKWARD] = 1 << TASK_FORWARD,
    [TASK_INPUTS] = 1 << TASK_FORWARD,
    [TASK_WEIGHTS] = 1 << TASK_INPUTS,
};
static const unsigned excluded[N_TASK_KINDS] = {
    [TASK_FORWARD] = 1 << TASK_FORWARD,
    [TASK_BACKWARD] = 1 << TASK_BACKWARD | 1 << TASK_INPUTS,
    [TASK_INPUTS] = 1 << TASK_BACKWARD | 1 << TASK_INPUTS,
    [TASK_WEIGHTS] = 1 << TASK_WEIGHTS,
};

static const char *task_wrong(struct arena *arena, const struct schedule *s, uint32_t rank,
                              const struct task *task, uint8_t *done) {
    char letter = task_letters[task->kind];
    if (task->stage >= s->n_stages || task->microbatch >= s->n_microbatches)
        return arena_format(arena,
                            "rank %u has %c of stage %u and microbatch %u, which do not exist",
                            rank, letter, task->stage, task->microbatch);
    if (s->rank_of[task->stage] != rank)
        return arena_format(arena, "rank %u has %c of stage %u, which is rank %u's", rank, letter,
                            task->stage, s->rank_of[task->stage]);
    uint8_t *of = &done[(size_t)task->stage * s->n_microbatches + task->microbatch];
    if (*of & excluded[task->kind])
        return arena_format(arena, "rank %u does %c of stage %u and microbatch %u a second time",
                            rank, letter, task->stage, task->microbatch);
    if (before[task->kind] & ~*of)
        return arena_format(arena, "rank %u does %c of stage %u and microbatch %u before %c", rank,
                            letter, task->stage, task->microbatch,
                            task_letters[task->kind == TASK_WEIGHTS ? TASK_INPUTS : TASK_FORWARD]);
    *of |= (uint8_t)(1 << task->kind);
    return NULL;
}

// What is wrong with what is there, else with what is not; `place` is where.
static const char *find_wrong(struct arena *arena, const struct schedule *s,
                              struct task_place *place) {
    uint8_t *done = ARENA_ARRAY(arena, uint8_t, (size_t)s->n_stages * s->n_microbatches);
    for (uint32_t rank = 0; rank < s->n_ranks; rank++)
        for (uint32_t i = 0; i < s->ranks[rank].n; i++) {
            const char *wrong = task_wrong(arena, s, rank, &s->ranks[rank].tasks[i], done);
            *place = (struct task_place){rank, i};
            if (wrong)
                return wrong;
        }
    for (uint32_t stage = 0; stage < s->n_stages; stage++)
        for (uint32_t m = 0; m < s->n_microbatches; m++) {
            unsigned of = done[(size_t)stage * s->n_microbatches + m];
            uint32_t rank = s->rank_of[stage];
            *place = (struct task_place){rank, s->ranks[rank].n};
            if (!(of & 1 << TASK_BACKWARD) && !(of & 1 << TASK_WEIGHTS))
                return arena_format(arena, "rank %u never does %s of stage %u and microbatch %u",
                                    rank,
                                    !of                     ? "F"
                                    : of & 1 << TASK_INPUTS ? "W"
                                                            : "B",
                                    stage, m);
        }
    return NULL;
}

const char *schedule_wrong(struct arena *arena, const struct schedule *s,
                           struct task_place *place) {
    struct task_place somewhere;
    return find_wrong(arena, s, place ? place : &somewhere);
}
