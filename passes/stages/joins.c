// Stages, joins: sums over microbatches that have an order, as where training is `reproducible`. They are a binary tree
// over the numbers of microbatches, whatever the order of tasks.
//
// On one device a counter adds them up, level by level: a sum is kept until the one beside it is there, which the
// microbatch's number says (ir/ops.def, `carry`). Where a stage's tasks come in another order, each is given a number
// that has it join as many levels as it makes whole, and a level keeps as many sums as wait there at once, in slots in
// turn.
//
//   order       0  3  1  2      0 keeps its sum; 3 keeps its own, in another slot; 1 joins that of 0, which is kept; 2
//   levels      0  0  1  2      joins that of 3, and both that of 0 and 1
#include <string.h>

#include "ir/limits.h"
#include "passes/stages/stages.h"

_Static_assert(1 << MAX_LEVELS == LIMIT_REPRODUCIBLE_MICROBATCHES, "each level halves them");

// ---- what is joined ---------------------------------------------------------------------------

struct join_walk {
    const struct splitter *s;
    struct block block; // the task's statements, to which their walk refers
    struct statement_walk statements;
    const struct call *call; // whose op it is
    uint32_t next;           // of its unit's ops
};

static void join_walk_begin(struct join_walk *walk, const struct splitter *s,
                            const struct task_block *task) {
    *walk = (struct join_walk){
        .s = s,
        .block = {(struct statement *)task->statements, task->n, task->n},
        .statements = walk_statements(&walk->block),
    };
}

// The next op of a block's calls that joins sums; NULL: there are no more.
static const struct op *next_join(struct join_walk *walk) {
    for (;;) {
        const struct unit *unit = walk->call ? &walk->s->whole->job->units[walk->call->unit] : NULL;
        while (unit && walk->next < unit->n_ops) {
            const struct op *op = &unit->ops[walk->next++];
            if (op->kind == OP_CARRY || op->kind == OP_ACCUMULATE_PAIR)
                return op;
        }
        if (!walk_next(&walk->statements))
            return NULL;
        const struct statement *at = walk->statements.statement;
        walk->call = at->kind == STATEMENT_CALL ? &at->call : NULL;
        walk->next = 0;
    }
}

static void note_kept(struct splitter *s, const struct task_block *task) {
    struct join_walk walk;
    const struct op *op;
    join_walk_begin(&walk, s, task);
    while ((op = next_join(&walk))) {
        if (op->kind != OP_CARRY)
            continue;
        struct split_buffer *split = &s->buffers[walk.call->operands[op->operands[0]].buffer];
        split->level = (unsigned)op_integer(op, ATTRIBUTE_LEVEL, 0);
        split->waits = true;
    }
}

// ---- how --------------------------------------------------------------------------------------

static unsigned levels_by_number(int64_t microbatch) {
    unsigned levels = 0;
    while (microbatch >> levels & 1)
        levels++;
    return levels;
}

// Joins of one level, in the tasks' order: which tasks join two sums there, and in how many slots sums wait. `whole`:
// by half, from 1 on, the position of the task that has made it whole; of the next level's when it returns.
static int64_t join_level(const struct task_loop *loop, const struct splitter *s,
                          const struct task_block *task, unsigned level, uint32_t *whole,
                          struct lives *lives) {
    const uint32_t *order = order_of(s, loop, task);
    lives->n = (uint32_t)s->microbatches >> (level + 1);
    for (uint32_t i = 0; i < s->microbatches; i++) {
        uint32_t half = order[i] >> level, at = position_of(s, loop, task, order[i]);
        if (task->joins->levels[order[i]] < level)
            continue;
        whole[half] = at + 1;
        if (!whole[half ^ 1])
            continue;
        lives->of[half >> 1] = (struct lifetime){whole[half ^ 1] - 1, at};
        task->joins->levels[order[i]] = (uint8_t)(level + 1);
    }
    memset(whole, 0, (size_t)s->microbatches * sizeof *whole);
    return slots_of(lives);
}

void find_joins(struct splitter *s, struct task_loop *loop) {
    if (!s->whole->job->policy.reproducible || s->microbatches == 1)
        return;
    struct lives lives = lives_of(s->scratch, (uint32_t)s->microbatches);
    uint32_t *whole = ARENA_ARRAY(s->scratch, uint32_t, (size_t)s->microbatches);
    for (uint32_t i = 0; i < loop->n; i++) {
        struct task_block *task = &loop->tasks[i];
        struct join_walk walk;
        join_walk_begin(&walk, s, task);
        if (!next_join(&walk))
            continue;
        task->joins = ARENA_NEW(s->scratch, struct joins);
        task->joins->levels = ARENA_ARRAY(s->scratch, uint8_t, (size_t)s->microbatches);
        task->joins->as_numbered = true;
        for (unsigned level = 0; INT64_C(1) << level < s->microbatches; level++) {
            task->joins->slots[level] = join_level(loop, s, task, level, whole, &lives);
            task->joins->as_numbered &= task->joins->slots[level] == 1;
        }
        for (int64_t m = 0; m < s->microbatches; m++)
            task->joins->as_numbered &= task->joins->levels[m] == levels_by_number(m);
        note_kept(s, task);
    }
}

struct joining joining_of(const struct splitter *s, const struct task_block *task,
                          uint32_t microbatch) {
    const struct joins *joins = task->joins;
    struct joining made = {0};
    if (joins->as_numbered)
        return made;
    made.number = 1u << joins->levels[microbatch];
    for (unsigned level = 0; INT64_C(1) << level < s->microbatches; level++)
        made.slots[level] = (uint8_t)((microbatch >> (level + 1)) % joins->slots[level]);
    return made;
}
