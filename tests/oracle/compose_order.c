// Orders of a pipeline's tasks, drawn at random and written to a file, as strategies name one.
//
// A task is appended to its rank's row as soon as what it needs stands in some row, in no other order:
// so each row can be followed, and all together.
#include <stdlib.h>
#include <unistd.h>

#include "tests/oracle/compose_parts.h"

enum { FORWARD, BACKWARD, INPUTS, WEIGHTS, N_KINDS };

struct order {
    struct composer *c;
    int64_t stages;
    bool splits;         // backward, in two
    bool ascends;        // microbatches one after the other
    bool *done;          // [(kind * stages + stage) * microbatches + microbatch]
    const char *rows[8]; // by rank
};

static bool *task_of(const struct order *o, int kind, int64_t stage, int64_t microbatch) {
    return &o->done[(kind * o->stages + stage) * o->c->microbatches + microbatch];
}

static bool is_ready(const struct order *o, int kind, int64_t stage, int64_t microbatch) {
    int back = o->splits ? INPUTS : BACKWARD;
    bool turn = microbatch == 0 || !o->ascends || *task_of(o, kind, stage, microbatch - 1);
    if (*task_of(o, kind, stage, microbatch) || !turn)
        return false;
    if (kind == FORWARD)
        return stage == 0 || *task_of(o, FORWARD, stage - 1, microbatch);
    if (kind == WEIGHTS)
        return o->splits && *task_of(o, INPUTS, stage, microbatch);
    return kind == back && *task_of(o, FORWARD, stage, microbatch) &&
           (stage == o->stages - 1 || *task_of(o, back, stage + 1, microbatch));
}

// Any of those that are ready, of one kind more likely.
static bool append_task(struct order *o, const int64_t *rank_of, int prefers) {
    static const char letters[N_KINDS] = {'F', 'B', 'I', 'W'};
    int64_t chosen[3] = {0}, n = 0;
    for (int kind = 0; kind < N_KINDS; kind++)
        for (int64_t s = 0; s < o->stages; s++)
            for (int64_t m = 0; m < o->c->microbatches; m++)
                if (is_ready(o, kind, s, m)) {
                    n += kind == prefers ? 3 : 1;
                    if (pick(o->c, n) < (kind == prefers ? 3 : 1)) {
                        chosen[0] = kind;
                        chosen[1] = s;
                        chosen[2] = m;
                    }
                }
    if (n == 0)
        return false;
    const char **row = &o->rows[rank_of[chosen[1]]];
    *task_of(o, (int)chosen[0], chosen[1], chosen[2]) = true;
    *row = arena_format(o->c->arena, "%s%s%d%c%d", *row ? *row : "", *row ? "," : "",
                        (int)chosen[1], letters[chosen[0]], (int)chosen[2]);
    return true;
}

// Round and round, or there and back, or either from another rank on.
static void place_stages(struct composer *c, int64_t stages, int64_t *rank_of) {
    bool back = stages == 2 * c->ranks && chance(c, 400);
    int64_t first = chance(c, 300) ? pick(c, c->ranks) : 0;
    for (int64_t s = 0; s < stages; s++) {
        int64_t rank = back && s >= c->ranks ? stages - 1 - s : s % c->ranks;
        rank_of[s] = (rank + first) % c->ranks;
    }
}

// In one step, so that nobody else reads half of it.
static const char *write_rows(const struct order *o, uint64_t name) {
    const char *folder = getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp";
    const char *path =
        arena_format(o->c->arena, "%s/place_order_%llx.csv", folder, (unsigned long long)name);
    const char *made = arena_format(o->c->arena, "%s.%d", path, (int)getpid());
    FILE *to = fopen(made, "w");
    if (!to)
        abort();
    for (int64_t rank = 0; rank < o->c->ranks; rank++)
        fprintf(to, "%s\n", o->rows[rank]);
    if (fclose(to) != 0 || rename(made, path) != 0)
        abort();
    return path;
}

const char *compose_order(struct composer *c, int64_t stages) {
    struct order order = {
        .c = c, .stages = stages, .splits = chance(c, 350), .ascends = chance(c, 400)};
    uint64_t name = c->random;
    int64_t rank_of[16];
    order.done = ARENA_ARRAY(c->arena, bool, N_KINDS *stages * c->microbatches);
    place_stages(c, stages, rank_of);
    int prefers = (int)pick(c, N_KINDS);
    while (append_task(&order, rank_of, prefers))
        continue;
    return write_rows(&order, name);
}
