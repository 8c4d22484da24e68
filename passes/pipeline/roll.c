// Loops of a list of tasks. Twice the same is done, to tasks and then to what came of them: where a
// few neighbours are repeated, with other microbatches that all advance by one constant, they are
// the body of a loop. Among the lengths that a body may have that one is taken whose loop covers
// most, of equal ones the shortest. The first time finds turns like F B, the second one rounds.
#include "passes/pipeline/roll.h"

enum { MOST_TURN = 6 }; // F, I and W of two stages

// Whether both are the same but for microbatches, which are `stride` later in b.
static bool same_later(const struct rolled *a, const struct rolled *b, int64_t stride) {
    if (a->n_body != b->n_body || a->count != b->count || a->stride != b->stride)
        return false;
    for (uint32_t i = 0; i < a->n_body; i++)
        if (!same_later(&a->body[i], &b->body[i], stride))
            return false;
    return a->n_body > 0 ||
           (a->task.kind == b->task.kind && a->task.overlapped == b->task.overlapped &&
            a->task.stage == b->task.stage && a->task.beside == b->task.beside &&
            (int64_t)a->task.microbatch + stride == b->task.microbatch);
}

// How many neighbours repeat the ones `length` before them, all with the same stride.
static uint32_t repeated(const struct rolled *items, uint32_t n, uint32_t length, int64_t *stride) {
    uint32_t same = 0;
    if (2 * length > n)
        return 0;
    *stride = (int64_t)items[length].task.microbatch - items[0].task.microbatch;
    while (length + same < n && same_later(&items[same], &items[length + same], *stride))
        same++;
    return same;
}

static struct rolled *roll(struct arena *arena, struct rolled *items, uint32_t *n,
                           uint32_t most_length) {
    struct rolled *out = ARENA_ARRAY(arena, struct rolled, *n);
    uint32_t n_out = 0;
    for (uint32_t at = 0; at < *n;) {
        struct rolled best = {.count = 1};
        uint32_t covered = 1;
        for (uint32_t length = 1; length <= most_length; length++) {
            int64_t stride;
            uint32_t count = repeated(items + at, *n - at, length, &stride) / length + 1;
            if (count > 1 && count * length > covered) {
                covered = count * length;
                best = (struct rolled){items[at].task, count, stride, &items[at], length};
            }
        }
        out[n_out++] = best.count > 1 ? best : items[at];
        at += covered;
    }
    *n = n_out;
    return out;
}

struct rolled *roll_tasks(struct arena *arena, const struct rank_tasks *list, uint32_t n_chunks,
                          uint32_t *n) {
    struct rolled *items = ARENA_ARRAY(arena, struct rolled, list->n);
    for (uint32_t i = 0; i < list->n; i++)
        items[i] = (struct rolled){.task = list->tasks[i], .count = 1};
    *n = list->n;
    items = roll(arena, items, n, MOST_TURN);
    return roll(arena, items, n, MOST_TURN * n_chunks);
}

static void unroll(struct arena *arena, const struct rolled *item, int64_t later,
                   struct rank_tasks *out) {
    for (uint32_t i = 0; i < item->count && item->n_body > 0; i++)
        for (uint32_t k = 0; k < item->n_body; k++)
            unroll(arena, &item->body[k], later + i * item->stride, out);
    if (item->n_body > 0)
        return;
    struct task task = item->task;
    task.microbatch = (uint32_t)(task.microbatch + later);
    ARENA_PUSH(arena, out->tasks, out->n, out->cap, task);
}

struct rank_tasks unroll_tasks(struct arena *arena, const struct rolled *items, uint32_t n) {
    struct rank_tasks out = {0};
    for (uint32_t i = 0; i < n; i++)
        unroll(arena, &items[i], 0, &out);
    return out;
}
