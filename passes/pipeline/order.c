// Schedules of the methods of ir/methods.def: in which order each rank does its tasks.
//
// ROUNDS and WHOLE are the orders of Megatron-LM and of PyTorch's pipelining: a rank goes forward
// through a round of q microbatches, chunk after chunk, then through the next one, and backward
// through the same with the chunks in reverse. It does
//     w = (v - 1) q + lead (p - r - 1) + 1
// forwards before the first backward, then one of each in turns. Where backward is split, the
// weights lag lead * r tasks behind the inputs, so that all ranks hold equally much: ZB-H1 (lead 1)
// and ZB-H2 (lead 2) of "Zero Bubble Pipeline Parallelism". Rounds are of p microbatches or some
// more: m / p rounds that differ by one at most, the longer ones first, so that any number of
// microbatches does.
//
// BLOCK are the schedules of "Pipeline Parallelism with Controllable Memory": every microbatch goes
// through the stages as the one before it, six units later. The distances between stages, and at
// the three turns, say how long activations live, and are such that on no rank two tasks are due at
// once. Weights are not in the block: they fill what would be idle, or make room where a rank holds
// its most.
//
// STEPS are the eight of DualPipeV, as DeepSeek's program has them.
#include "passes/pipeline/order.h"

#include "ir/check.h"

enum map { MAP_LOOP, MAP_V };
enum order { ORDER_ROUNDS, ORDER_WHOLE, ORDER_BLOCK, ORDER_STEPS };

static const struct method_row {
    enum map map;
    uint32_t chunks; // 0: any number
    enum order order;
    uint32_t lead;
    bool splits;
} rows[N_METHODS] = {
#define METHOD(ID, name, map, chunks, order, lead, splits)                                         \
    {MAP_##map, chunks, ORDER_##order, lead, splits},
#include "ir/methods.def"
#undef METHOD
};

uint32_t method_chunks(enum pipeline_method method) {
    return rows[method].chunks;
}

enum pipeline_method method_of_chunks(enum pipeline_method method) {
    for (int i = 0; i < N_METHODS; i++)
        if (rows[i].chunks == 0 && rows[i].map == rows[method].map &&
            rows[i].order == rows[method].order && rows[i].splits == rows[method].splits)
            return (enum pipeline_method)i;
    return method;
}

uint32_t least_microbatches(enum pipeline_method method, uint32_t n_ranks) {
    return rows[method].order == ORDER_STEPS ? 2 * n_ranks : 1;
}

const char *chunks_unfit(struct arena *arena, enum pipeline_method method, uint32_t n_chunks) {
    uint32_t chunks = rows[method].chunks;
    return chunks == 0 || n_chunks == chunks
               ? NULL
               : arena_format(arena, "`%s` has %u stage%s on each device, not %u",
                              method_names[method], chunks, chunks > 1 ? "s" : "", n_chunks);
}

const char *shape_unfit(struct arena *arena, const struct pipeline_shape *shape) {
    uint32_t least = least_microbatches(shape->method, shape->n_ranks);
    if (shape->n_microbatches < least)
        return arena_format(arena,
                            "`%s` needs %u microbatches, two for each of %u devices; there %s %u",
                            method_names[shape->method], least, shape->n_ranks,
                            shape->n_microbatches == 1 ? "is" : "are", shape->n_microbatches);
    return chunks_unfit(arena, shape->method, shape->n_chunks);
}

static uint32_t stage_of(const struct schedule *s, enum map map, uint32_t rank, uint32_t chunk) {
    return map == MAP_LOOP ? chunk * s->n_ranks + rank : chunk == 0 ? rank : s->n_stages - 1 - rank;
}

static void add(struct schedule *s, uint32_t rank, enum task_kind kind, uint32_t stage,
                uint32_t microbatch) {
    struct rank_tasks *list = &s->ranks[rank];
    CHECK(list->n < list->cap);
    list->tasks[list->n++] = (struct task){.kind = kind, .stage = stage, .microbatch = microbatch};
}

// ---- rounds ------------------------------------------------------------------------------------

struct turn { // the chunk counts from the end of the model in backward
    uint32_t chunk, microbatch;
};

// The order in which a rank goes through its chunks; `first`: the length of the first round.
static struct turn *turns_of(struct arena *arena, const struct pipeline_shape *shape,
                             uint32_t *first) {
    uint32_t m = shape->n_microbatches, n_rounds = 1, n = 0, begin = 0;
    if (rows[shape->method].order == ORDER_ROUNDS && m > shape->n_ranks)
        n_rounds = m / shape->n_ranks;
    struct turn *turns = ARENA_ARRAY(arena, struct turn, (size_t)m * shape->n_chunks);
    for (uint32_t round = 0; round < n_rounds; round++) {
        uint32_t length = m / n_rounds + (round < m % n_rounds);
        if (round == 0)
            *first = length;
        for (uint32_t chunk = 0; chunk < shape->n_chunks; chunk++)
            for (uint32_t i = 0; i < length; i++)
                turns[n++] = (struct turn){chunk, begin + i};
        begin += length;
    }
    return turns;
}

static void add_turn(struct schedule *s, uint32_t rank, enum task_kind kind, struct turn turn) {
    uint32_t last = s->n_stages / s->n_ranks - 1;
    uint32_t chunk = kind == TASK_FORWARD ? turn.chunk : last - turn.chunk;
    add(s, rank, kind, stage_of(s, MAP_LOOP, rank, chunk), turn.microbatch);
}

static void order_in_rounds(struct arena *arena, struct schedule *s,
                            const struct pipeline_shape *shape) {
    const struct method_row *row = &rows[shape->method];
    uint32_t p = shape->n_ranks, v = shape->n_chunks, total = v * shape->n_microbatches, q = 0;
    const struct turn *turns = turns_of(arena, shape, &q);
    for (uint32_t rank = 0; rank < p; rank++) {
        uint64_t lead = (uint64_t)(v - 1) * q + (uint64_t)row->lead * (p - rank - 1) + 1;
        uint32_t warm = row->order == ORDER_WHOLE || lead > total ? total : (uint32_t)lead;
        uint32_t lag = row->lead * rank;
        enum task_kind backward = row->splits ? TASK_INPUTS : TASK_BACKWARD;
        for (uint32_t i = 0; i < warm; i++)
            add_turn(s, rank, TASK_FORWARD, turns[i]);
        for (uint32_t i = 0; i < total; i++) {
            add_turn(s, rank, backward, turns[i]);
            if (row->splits && i >= lag)
                add_turn(s, rank, TASK_WEIGHTS, turns[i - lag]);
            if (warm + i < total)
                add_turn(s, rank, TASK_FORWARD, turns[warm + i]);
        }
        for (uint32_t i = total > lag ? total - lag : 0; row->splits && i < total; i++)
            add_turn(s, rank, TASK_WEIGHTS, turns[i]);
    }
}

// ---- blocks ------------------------------------------------------------------------------------

enum { PASSES = 4, PERIOD = 6 }; // F and I of two chunks; with W a microbatch takes six units

struct block {
    uint32_t distances[PASSES]; // between stages: forward of chunk 0, of 1, backward of 1, of 0
    uint32_t turns[PASSES - 1]; // between two of these
    uint32_t most;              // chunks that a rank holds before weights go first
    bool early;                 // a microbatch begins early where nothing is due
};

// The blocks of the paper. What a rank may hold leaves room for some weights that wait, beside what
// the block itself holds.
static struct block block_of(enum pipeline_method method, uint32_t p) {
    switch (method) {
    case METHOD_V_MIN:
        return p % 3 == 0 ? (struct block){{1, 1, 1, 1}, {3, 1, 3}, 2 * p / 3 + 2, false}
                          : (struct block){{1, 1, 1, 1}, {1, 1, 1}, (2 * p + 2) / 3 + 2, false};
    case METHOD_V_HALF:
        return p % 2 == 0 ? (struct block){{1, 2, 1, 2}, {4, 2, 2}, p + 3, false}
                          : (struct block){{1, 2, 1, 2}, {2, 1, 4}, p + 3, false};
    default:
        return (struct block){{3, 3, 3, 3}, {1, 1, 1}, 2 * p, true};
    }
}

struct lane { // a rank's tasks of one pass, in the order of microbatches
    enum task_kind kind;
    uint32_t stage, next;
    uint64_t due; // of the next one
};

struct worker { // a rank while its tasks are put in order
    struct lane lanes[PASSES];
    uint32_t held;              // chunks whose weights are not done
    struct task *waiting;       // weights that can be done, oldest first
    uint32_t n_waiting, n_done; // of these
};

// The times at which a stage is due, of a block that begins at 0.
static void block_due(const struct block *block, uint32_t p, uint32_t rank, uint64_t due[PASSES]) {
    uint64_t begin = 0;
    for (unsigned pass = 0; pass < PASSES; pass++) {
        bool outward = pass % 2 == 0; // from the first rank to the last
        due[pass] = begin + (uint64_t)block->distances[pass] * (outward ? rank : p - 1 - rank);
        begin += (uint64_t)block->distances[pass] * (p - 1);
        if (pass + 1 < PASSES)
            begin += block->turns[pass];
    }
}

static struct lane *first_due(struct worker *worker, uint32_t m) {
    struct lane *first = NULL;
    for (unsigned i = 0; i < PASSES; i++) {
        struct lane *lane = &worker->lanes[i];
        if (lane->next < m && (!first || lane->due < first->due))
            first = lane;
    }
    return first;
}

// Is what the lane's next task reads there? `ends` has when it was done by (forward or backward,
// stage, microbatch), 0: not yet.
static bool ready_by(const struct schedule *s, const uint64_t *ends, const struct lane *lane,
                     uint64_t now) {
    size_t m = s->n_microbatches, backward = (size_t)s->n_stages * m, read;
    if (lane->next == m)
        return false;
    if (lane->kind == TASK_FORWARD && lane->stage == 0)
        return true;
    if (lane->kind == TASK_FORWARD)
        read = (lane->stage - 1) * m;
    else
        read = lane->stage == s->n_stages - 1 ? lane->stage * m : backward + (lane->stage + 1) * m;
    return ends[read + lane->next] > 0 && ends[read + lane->next] <= now;
}

static void order_in_blocks(struct arena *arena, struct schedule *s, enum pipeline_method method) {
    uint32_t p = s->n_ranks, m = s->n_microbatches;
    struct block block = block_of(method, p);
    struct worker *workers = ARENA_ARRAY(arena, struct worker, p);
    uint64_t *ends = ARENA_ARRAY(arena, uint64_t, (size_t)2 * s->n_stages * m), left = 0;
    for (uint32_t rank = 0; rank < p; rank++) {
        uint64_t due[PASSES];
        block_due(&block, p, rank, due);
        for (unsigned pass = 0; pass < PASSES; pass++) {
            bool forward = pass < 2, first = pass == 0 || pass == PASSES - 1;
            workers[rank].lanes[pass] =
                (struct lane){forward ? TASK_FORWARD : TASK_INPUTS,
                              stage_of(s, MAP_V, rank, !first), 0, due[pass]};
        }
        workers[rank].waiting = ARENA_ARRAY(arena, struct task, (size_t)2 * m);
        left += s->ranks[rank].cap;
    }
    for (uint64_t now = 1; left > 0; now++)
        for (uint32_t rank = 0; rank < p; rank++) {
            struct worker *worker = &workers[rank];
            struct lane *lane = first_due(worker, m);
            bool full = worker->held >= block.most, weights = worker->n_done < worker->n_waiting;
            bool can = lane && ready_by(s, ends, lane, now);
            if (block.early && !can && !weights && !full &&
                ready_by(s, ends, &worker->lanes[0], now)) {
                lane = &worker->lanes[0]; // nothing is due: what starts anew may come early
                can = true;
            }
            if (can && !(full && weights && lane->kind == TASK_FORWARD)) {
                bool forward = lane->kind == TASK_FORWARD;
                add(s, rank, lane->kind, lane->stage, lane->next);
                ends[((size_t)!forward * s->n_stages + lane->stage) * m + lane->next] = now + 1;
                worker->held += forward;
                if (!forward)
                    worker->waiting[worker->n_waiting++] = (struct task){
                        .kind = TASK_WEIGHTS, .stage = lane->stage, .microbatch = lane->next};
                lane->next++;
                lane->due += PERIOD;
                left--;
            } else if (weights) {
                struct task task = worker->waiting[worker->n_done++];
                add(s, rank, task.kind, task.stage, task.microbatch);
                worker->held--;
                left--;
            }
        }
}

// ---- the steps of DualPipeV --------------------------------------------------------------------

struct steps { // of one rank
    struct schedule *s;
    uint32_t rank, forward[2], backward[2]; // next microbatch of each chunk
    struct task *waiting;                   // weights
    uint32_t n_waiting, n_done;
};

static void step_forward(struct steps *steps, uint32_t chunk) {
    add(steps->s, steps->rank, TASK_FORWARD, stage_of(steps->s, MAP_V, steps->rank, chunk),
        steps->forward[chunk]++);
}

static void step_backward(struct steps *steps, uint32_t chunk, bool split) {
    uint32_t stage = stage_of(steps->s, MAP_V, steps->rank, chunk);
    uint32_t microbatch = steps->backward[chunk]++;
    add(steps->s, steps->rank, split ? TASK_INPUTS : TASK_BACKWARD, stage, microbatch);
    if (split)
        steps->waiting[steps->n_waiting++] =
            (struct task){.kind = TASK_WEIGHTS, .stage = stage, .microbatch = microbatch};
}

static void step_weights(struct steps *steps) {
    CHECK(steps->n_done < steps->n_waiting);
    struct task task = steps->waiting[steps->n_done++];
    add(steps->s, steps->rank, task.kind, task.stage, task.microbatch);
}

static void step_both(struct steps *steps, uint32_t chunk) {
    step_forward(steps, chunk);
    struct rank_tasks *list = &steps->s->ranks[steps->rank];
    list->tasks[list->n - 1].overlapped = true;
    step_backward(steps, 1 - chunk, false);
}

static void order_in_steps(struct arena *arena, struct schedule *s) {
    uint32_t p = s->n_ranks, m = s->n_microbatches;
    for (uint32_t rank = 0; rank < p; rank++) {
        uint32_t behind = p - rank - 1, before = rank + 1;
        struct steps steps = {.s = s, .rank = rank};
        steps.waiting = ARENA_ARRAY(arena, struct task, (size_t)2 * m);
        for (uint32_t i = 0; i < 2 * behind; i++)
            step_forward(&steps, 0);
        for (uint32_t i = 0; i < before; i++) {
            step_forward(&steps, 0);
            step_forward(&steps, 1);
        }
        for (uint32_t i = 0; i < behind; i++) {
            step_backward(&steps, 1, true);
            step_weights(&steps);
            step_forward(&steps, 1);
        }
        for (uint32_t i = 0; i < m - 2 * p + before; i++) {
            if (i == 0 && behind == 0) { // the turn: backward waits for this forward
                step_forward(&steps, 0);
                step_backward(&steps, 1, false);
            } else {
                step_both(&steps, 0);
            }
            step_both(&steps, 1);
        }
        for (uint32_t i = 0; i < behind; i++) {
            step_backward(&steps, 1, false);
            step_both(&steps, 1);
        }
        bool split = false;
        for (uint32_t i = 0; i < before; i++) {
            split |= i == before / 2 && rank % 2 == 1;
            step_backward(&steps, 1, split);
            split |= i == before / 2 && rank % 2 == 0;
            step_backward(&steps, 0, split);
        }
        for (uint32_t i = 0; i < behind; i++) {
            step_weights(&steps);
            step_backward(&steps, 0, true);
        }
        while (steps.n_done < steps.n_waiting)
            step_weights(&steps);
    }
}

// ---- any ---------------------------------------------------------------------------------------

struct schedule *schedule_of_shape(struct arena *arena, const struct pipeline_shape *shape) {
    const struct method_row *row = &rows[shape->method];
    struct schedule *s = ARENA_NEW(arena, struct schedule);
    uint32_t p = shape->n_ranks, v = shape->n_chunks;
    *s = (struct schedule){p, p * v, shape->n_microbatches, .splits_backward = row->splits};
    s->rank_of = ARENA_ARRAY(arena, uint32_t, s->n_stages);
    s->ranks = ARENA_ARRAY(arena, struct rank_tasks, p);
    for (uint32_t rank = 0; rank < p; rank++) {
        for (uint32_t chunk = 0; chunk < v; chunk++)
            s->rank_of[stage_of(s, row->map, rank, chunk)] = rank;
        s->ranks[rank].cap = (row->splits ? 3 : 2) * v * shape->n_microbatches;
        s->ranks[rank].tasks = ARENA_ARRAY(arena, struct task, s->ranks[rank].cap);
    }
    switch (row->order) {
    case ORDER_ROUNDS:
    case ORDER_WHOLE:
        order_in_rounds(arena, s, shape);
        break;
    case ORDER_BLOCK:
        order_in_blocks(arena, s, shape->method);
        break;
    case ORDER_STEPS:
        order_in_steps(arena, s);
        break;
    }
    return s;
}
