// The schedule that labels say: what a person's step does in which order. Labels do nothing, so they may say what is
// no schedule, and nobody is told; but what they say is followed no further than a schedule goes.
#include "ir/ir.h"
#include "passes/passes.h"
#include "passes/pipeline/order.h"

struct reading {
    struct arena *arena;
    struct rank_tasks *list;
    uint64_t left; // labels and iterations that may still come
    int64_t variables[LIMIT_LOOP_DEPTH];
};

static void read_block(struct reading *r, const struct block *block, int depth);

static void read_loop(struct reading *r, const struct loop *loop, int depth) {
    if (!loop_has_tasks(loop))
        return;
    for (int64_t i = 0; i < loop->end - loop->begin && r->left > 0; i++) {
        r->left--;
        r->variables[depth] = loop_variable(loop, depth, i, r->variables);
        read_block(r, &loop->body, depth + 1);
    }
}

static void read_label(struct reading *r, const struct task_label *label) {
    if (label->kind == N_TASK_KINDS || r->left == 0)
        return;
    struct task task = {.kind = label->kind,
                        .stage = label->stage,
                        .microbatch = (uint32_t)index_at(label->microbatch, r->variables)};
    r->left--;
    ARENA_PUSH(r->arena, r->list->tasks, r->list->n, r->list->cap, task);
}

static void read_block(struct reading *r, const struct block *block, int depth) {
    for (uint32_t i = 0; i < block->n; i++)
        if (block->statements[i].kind == STATEMENT_LOOP)
            read_loop(r, &block->statements[i].loop, depth);
        else if (block->statements[i].kind == STATEMENT_TASK)
            read_label(r, &block->statements[i].task);
}

const struct schedule *schedule_of_labels(struct arena *arena, const struct job *job,
                                          const struct schedule *said) {
    enum { TASKS = 3 }; // F, I and W of a stage, each at most in a loop of its own in another
    struct simulation simulation;
    struct schedule *s = arena_copy(arena, said, sizeof *said);
    s->ranks = ARENA_ARRAY(arena, struct rank_tasks, s->n_ranks);
    s->splits_backward = false;
    for (uint32_t rank = 0; rank < s->n_ranks; rank++) {
        struct reading r = {.arena = arena,
                            .list = &s->ranks[rank],
                            .left = (uint64_t)TASKS * TASKS * s->n_stages * s->n_microbatches};
        read_block(&r, &job->programs[rank]->steps[STEP_TRAIN].body, 0);
        for (uint32_t i = 0; i < r.list->n; i++)
            s->splits_backward |= r.list->tasks[i].kind == TASK_INPUTS;
    }
    return schedule_is_wrong(arena, s, NULL) || !schedule_simulate(arena, s, NULL, &simulation)
               ? NULL
               : s;
}
