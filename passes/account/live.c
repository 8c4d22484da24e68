// What is alive while the training step is executed, item by item: from the lives that the uses of
// items give them (uses.h), whatever the schedule says of frees. A run counts the same from what
// its statements write and free, so that a free that is missing, late or early shows as a
// difference. The most that is alive is found in the step made short, where some items stand for
// several.
#include "passes/passes.h"

#include "passes/schedule/followed.h"

// What is alive in the arena of one tier, on a device.
struct living {
    const struct program *program;
    enum tier tier;
    int64_t rank;
};

static void add_bytes(const struct living *l, struct account_live *live,
                      const struct buffer *buffer, int64_t bytes) {
    if (buffer->tier != l->tier)
        return;
    enum state state = class_states[buffer->class];
    if (state == N_STATES)
        live->transient += bytes;
    else
        live->states[state] += bytes;
    live->sum += bytes;
}

// What persists, and what the host fills and reads.
static struct account_live always_alive(const struct living *l) {
    const struct program *program = l->program;
    struct account_live live = {0};
    for (uint32_t i = 0; i < program->n_buffers; i++) {
        const struct buffer *buffer = &program->buffers[i];
        if (buffer_outlives_step(buffer))
            add_bytes(l, &live, buffer, buffer_bytes(program, buffer));
    }
    return live;
}

// In the short step items have the owners that they have in the whole.
static bool has_item(const struct living *l, const struct buffer *buffer, int64_t item) {
    const struct axis_list *owners = &buffer->layout.owners;
    const struct mesh *mesh = &l->program->job->mesh;
    return item % mesh_group_size(mesh, owners) == mesh_place(mesh, l->rank, owners);
}

static void add_lives(const struct living *l, const struct shortened *shortened,
                      const struct uses *uses, struct account_live *changes) {
    const struct program *program = shortened->program;
    for (buffer_id id = 0; id < uses->n_buffers; id++) {
        const struct buffer *buffer = &program->buffers[id];
        if (uses->first_life[id] == uses->first_life[id + 1])
            continue;
        int64_t item_bytes = buffer_item_bytes(program, buffer);
        for (uint32_t i = uses->first_life[id]; i < uses->first_life[id + 1]; i++) {
            const struct life *life = &uses->lives[i];
            if (!has_item(l, buffer, life->item))
                continue;
            int64_t bytes = item_bytes * items_stood_for(shortened, id, life->item);
            add_bytes(l, &changes[life->first], buffer, bytes);
            add_bytes(l, &changes[life->last + 1], buffer, -bytes);
        }
    }
}

// A unit's frame lives while the unit runs.
static void add_frames(const struct living *l, const struct uses *uses,
                       struct account_live *changes) {
    const struct program *program = l->program;
    for (uint32_t i = 0; i < uses->n; i++) {
        const struct statement *s = uses->executions[i].statement;
        buffer_id id =
            s->kind == STATEMENT_CALL ? program_frame(program, s->call.unit) : (buffer_id)NO_ID;
        if (id == NO_ID)
            continue;
        const struct buffer *frame = &program->buffers[id];
        add_bytes(l, &changes[i], frame, buffer_bytes(program, frame));
        add_bytes(l, &changes[i + 1], frame, -buffer_bytes(program, frame));
    }
}

static void add_changes(struct account_live *now, const struct account_live *change) {
    for (int state = 0; state < N_STATES; state++)
        now->states[state] += change->states[state];
    now->transient += change->transient;
    now->sum += change->sum;
}

// What is alive at every statement that is executed. In the middle of the short step's loops it is
// no count of anything: see stands_for_several.
static struct account_live *find_moments(const struct living *l, const struct followed *followed,
                                         struct arena *arena) {
    const struct uses *uses = &followed->uses;
    const uint32_t *ids = numbered_ids(&l->program->steps[STEP_TRAIN], arena);
    struct account_live *moments = ARENA_ARRAY(arena, struct account_live, uses->n + 2);
    struct account_live now = always_alive(l);
    add_lives(l, &followed->shortened, uses, moments);
    add_frames(l, uses, moments);
    for (uint32_t i = 0; i < uses->n; i++) {
        add_changes(&now, &moments[i]);
        moments[i] = now;
        moments[i].statement = ids[followed->numbers[uses->executions[i].place]];
        moments[i].span = uses->executions[i].statement->span;
    }
    return moments;
}

struct account_live *account_moments(const struct program *program, int64_t rank,
                                     struct arena *arena, uint32_t *n) {
    struct followed *whole = follow_whole_step(program, STEP_TRAIN);
    const struct living l = {program, TIER_DEVICE, rank};
    struct account_live *moments = find_moments(&l, whole, arena);
    *n = whole->uses.n;
    followed_free(whole);
    return moments;
}

// Is it in an iteration of some loop that stands for several? What is alive then is no count of
// what is alive in the whole step; nor is it looked for, since it is never more than before the
// middle or behind it: while what is named repeats, it grows or falls by as much each time.
static bool stands_for_several(const struct shortened *shortened,
                               const struct execution *execution) {
    int depth = 0;
    if (!shortened->around)
        return false;
    uint32_t first = shortened->around[execution->place];
    for (uint32_t loop = first; loop != NO_ID; loop = shortened->around[loop])
        depth++;
    for (uint32_t loop = first; loop != NO_ID; loop = shortened->around[loop])
        if (is_in_middle(shortened, loop, execution->variables[--depth]))
            return true;
    return false;
}

// The axes along which devices own what is made in a step, not all at one time, outermost first.
static struct axis_list owning_axes(const struct program *program) {
    struct axis_list owning = {0}, axes = {0};
    for (uint32_t i = 0; i < program->n_buffers; i++)
        if (!buffer_outlives_step(&program->buffers[i]))
            axis_list_add_all(&owning, &program->buffers[i].layout.owners);
    for (unsigned axis = 0; axis < program->job->mesh.n_axes; axis++)
        if (axis_list_has(&owning, axis))
            axis_list_add(&axes, axis);
    return axes;
}

// The first device of those that have this place along the axes.
static int64_t first_at(const struct mesh *mesh, const struct axis_list *axes, int64_t place) {
    int64_t rank = 0;
    for (unsigned i = axes->n; i-- > 0;) {
        int64_t size = mesh->axes[axes->axes[i]].size;
        rank += place % size * mesh_stride_of(mesh, axes->axes[i]);
        place /= size;
    }
    return rank;
}

static void find_most(const struct living *l, const struct followed *followed,
                      struct account_live *most) {
    struct arena arena = {0};
    const struct account_live *moments = find_moments(l, followed, &arena);
    for (uint32_t i = 0; i < followed->uses.n; i++)
        if (moments[i].sum > most->sum &&
            !stands_for_several(&followed->shortened, &followed->uses.executions[i]))
            *most = moments[i];
    arena_free(&arena);
}

struct account_live account_most_alive(const struct program *program,
                                       const struct followed *followed, enum tier tier,
                                       struct too_long *too_long) {
    const struct mesh *mesh = &program->job->mesh;
    const struct axis_list axes = owning_axes(program);
    struct living l = {program, tier, 0};
    struct followed *own = followed ? NULL : follow_step(program, STEP_TRAIN);
    struct account_live most = always_alive(&l);
    followed = followed ? followed : own;
    *too_long = followed->uses.too_long;
    for (int64_t place = 0; place < mesh_group_size(mesh, &axes); place++) {
        l.rank = first_at(mesh, &axes, place);
        find_most(&l, followed, &most);
    }
    followed_free(own);
    return most;
}
