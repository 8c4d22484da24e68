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

// What the file from which the schedule is calls a kind.
static const char *kind_word(struct arena *arena, const struct schedule *s, enum task_kind kind) {
    static const char *const of_2024[N_TASK_KINDS] = {[TASK_BACKWARD] = "BW", [TASK_INPUTS] = "B"};
    return s->is_of_2024 && of_2024[kind] ? of_2024[kind]
                                          : arena_format(arena, "%c", task_letters[kind]);
}

const char *task_text(struct arena *arena, const struct schedule *s, const struct task *task) {
    return arena_format(arena, "%u%s%u", task->stage, kind_word(arena, s, task->kind),
                        task->microbatch);
}

// False: it is as it should be, and done.
static bool is_task_wrong(struct arena *arena, const struct schedule *s, uint32_t rank,
                          const struct task *task, uint8_t *done, struct schedule_fault *out) {
    const char *word = kind_word(arena, s, task->kind);
    if (task->stage >= s->n_stages || task->microbatch >= s->n_microbatches) {
        out->what =
            arena_format(arena, "rank %u has %s of stage %u and microbatch %u, which do not exist",
                         rank, word, task->stage, task->microbatch);
        out->help = "leave it out";
        return true;
    }
    if (s->rank_of[task->stage] != rank) {
        out->what = arena_format(arena, "rank %u has %s of stage %u, which is rank %u's", rank,
                                 word, task->stage, s->rank_of[task->stage]);
        out->help = arena_format(arena, "leave it to rank %u", s->rank_of[task->stage]);
        return true;
    }
    uint8_t *of = &done[(size_t)task->stage * s->n_microbatches + task->microbatch];
    if (*of & excluded[task->kind]) {
        out->what =
            arena_format(arena, "rank %u does %s of stage %u and microbatch %u a second time", rank,
                         word, task->stage, task->microbatch);
        out->help = "leave one of the two out";
        return true;
    }
    if (before[task->kind] & ~*of) {
        struct task read = *task;
        read.kind = task->kind == TASK_WEIGHTS ? TASK_INPUTS : TASK_FORWARD;
        out->what =
            arena_format(arena, "rank %u does %s of stage %u and microbatch %u before %s", rank,
                         word, task->stage, task->microbatch, kind_word(arena, s, read.kind));
        out->help = arena_format(arena, "let it come behind `%s`", task_text(arena, s, &read));
        return true;
    }
    *of |= (uint8_t)(1 << task->kind);
    return false;
}

// Where something is never done.
static bool lacks_task(struct arena *arena, const struct schedule *s, uint32_t stage,
                       uint32_t microbatch, unsigned done, struct schedule_fault *out) {
    if (done & 1 << TASK_BACKWARD || done & 1 << TASK_WEIGHTS)
        return false;
    struct task task = {.kind = !done                     ? TASK_FORWARD
                                : done & 1 << TASK_INPUTS ? TASK_WEIGHTS
                                                          : TASK_BACKWARD,
                        .stage = stage,
                        .microbatch = microbatch};
    uint32_t rank = s->rank_of[stage];
    out->what = arena_format(arena, "rank %u never does %s of stage %u and microbatch %u", rank,
                             kind_word(arena, s, task.kind), stage, microbatch);
    out->help = arena_format(arena, "add `%s`", task_text(arena, s, &task));
    out->place = (struct task_place){rank, s->ranks[rank].n};
    return true;
}

// What is wrong with what is there comes before what is not.
bool schedule_is_wrong(struct arena *arena, const struct schedule *s, struct schedule_fault *out) {
    struct schedule_fault unasked;
    uint8_t *done = ARENA_ARRAY(arena, uint8_t, (size_t)s->n_stages * s->n_microbatches);
    out = out ? out : &unasked;
    for (uint32_t rank = 0; rank < s->n_ranks; rank++)
        for (uint32_t i = 0; i < s->ranks[rank].n; i++) {
            out->place = (struct task_place){rank, i};
            if (is_task_wrong(arena, s, rank, &s->ranks[rank].tasks[i], done, out))
                return true;
        }
    for (uint32_t stage = 0; stage < s->n_stages; stage++)
        for (uint32_t m = 0; m < s->n_microbatches; m++)
            if (lacks_task(arena, s, stage, m, done[(size_t)stage * s->n_microbatches + m], out))
                return true;
    return false;
}
