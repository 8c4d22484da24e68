// How long a training step takes at least: no device computes faster than its peak, moves what its
// calls read and write through its memory faster than its bandwidth, or sends faster than its
// links. What really takes longer, by how much, a run says.
//
// Collectives send what ring algorithms do, which is the least (account.c), and wait for one
// latency after the other: N - 1 of them among N devices, an all_reduce twice as many; what goes
// straight to where it is needed waits for one, and a small all_reduce among many devices for one
// in each of log2 N rounds. Over a product of axes rings go axis by axis, as hierarchical
// algorithms do: along the slowest link first, while parts are small. Each link then carries the
// least that it can, and all of them together as much as one ring would; a ring through all devices
// would send everything over the slowest.
#include <math.h>
#include <string.h>

#include "passes/account/account.h"

static double seconds_for(double amount, double per_second) {
    return per_second > 0 ? amount / per_second : -1;
}

// ---- work of a device -------------------------------------------------------------------------

static bool same_work(const struct unit *a, const struct op *left, const struct unit *b,
                      const struct op *right) {
    if (left->kind != right->kind || left->n_roles != right->n_roles ||
        memcmp(left->roles, right->roles, left->n_roles) != 0 || !op_attributes_equal(left, right))
        return false;
    for (unsigned i = 0; i < left->n_operands; i++)
        if (!type_equal(&a->values[left->operands[i]].type, &b->values[right->operands[i]].type))
            return false;
    return true;
}

// Does some unit of the forward pass do the same? Only of what costs more than a pass over its
// values; cheaper ops stand in both passes for reasons of their own.
static bool is_done_again(const struct job *job, const struct unit *unit, const struct op *op) {
    enum op_kernel kernel = op_rows[op->kind].kernel;
    if (unit->phase != PHASE_BACKWARD || (kernel != KERNEL_PRODUCT && kernel != KERNEL_CALL))
        return false;
    for (uint32_t u = 0; u < job->n_units; u++) {
        const struct unit *other = &job->units[u];
        for (uint32_t i = 0; other->phase == PHASE_FORWARD && i < other->n_ops; i++)
            if (same_work(unit, op, other, &other->ops[i]))
                return true;
    }
    return false;
}

// Bytes that a unit reads of a parameter: of a table whose rows are looked up these rows, else all.
static double bytes_read(const struct unit *unit, value_id parameter) {
    double bytes = 0, all = (double)type_bytes(&unit->values[parameter].type);
    for (uint32_t i = 0; i < unit->n_ops; i++) {
        const struct op *op = &unit->ops[i];
        bool looks_up = op->kind == OP_EMBEDDING;
        for (unsigned k = 0; k < op->n_operands; k++)
            if (op->operands[k] == parameter)
                bytes += looks_up && k == 1 ? (double)type_bytes(&unit->values[op->results[0]].type)
                                            : all;
    }
    return fmin(bytes, all);
}

struct step_work account_work_of_unit(const struct job *job, const struct unit *unit) {
    struct step_work work = {0};
    for (uint32_t i = 0; i < unit->n_ops; i++) {
        double flops = op_flops(unit, &unit->ops[i]);
        work.flops += flops;
        if (flops > 0 && is_done_again(job, unit, &unit->ops[i]))
            work.again_flops += flops;
    }
    for (uint32_t i = 0; i < unit->n_parameters; i++)
        work.moved_bytes += bytes_read(unit, i);
    for (uint32_t i = 0; i < unit->n_results; i++)
        work.moved_bytes += (double)type_bytes(&unit->values[unit->results[i].value].type);
    return work;
}

void account_add_work(struct step_work *sum, const struct step_work *work, double times) {
    sum->flops += times * work->flops;
    sum->again_flops += times * work->again_flops;
    sum->moved_bytes += times * work->moved_bytes;
}

struct step_work account_work_of(const struct program *program, const bool *units) {
    struct step_work sum = {0};
    struct statement_walk walk = walk_statements(&program->steps[STEP_TRAIN].body);
    while (walk_next(&walk)) {
        if (walk.statement->kind != STATEMENT_CALL || (units && !units[walk.statement->call.unit]))
            continue;
        struct step_work work =
            account_work_of_unit(program->job, &program->job->units[walk.statement->call.unit]);
        account_add_work(&sum, &work, (double)account_trips(program, &walk));
    }
    return sum;
}

struct step_work account_work(const struct program *program) {
    return account_work_of(program, NULL);
}

// ---- links ------------------------------------------------------------------------------------

// Slowest first, of equal ones the outer one; what the file does not say is the slowest.
static void sort_by_link(const struct mesh *mesh, struct axis_list *axes) {
    for (unsigned i = 1; i < axes->n; i++)
        for (unsigned k = i; k; k--) {
            uint8_t here = axes->axes[k], before = axes->axes[k - 1];
            if (mesh->axes[here].link_bytes_per_s >= mesh->axes[before].link_bytes_per_s)
                break;
            axes->axes[k] = before;
            axes->axes[k - 1] = here;
        }
}

// What a transfer sends over one of its axes.
struct share {
    double bytes, hops;
};

// In round r of recursive doubling members meet whose places differ in bit r. Their coordinates
// along an axis differ too, for some pair at least, unless both of every pair are among the `inner`
// members that have the same, or are whole turns of the axis apart. (Where N is no power of two,
// some members meet others that are half the tree further on, over links that may be slower still.)
static bool crosses(int64_t inner, int64_t size, int round) {
    int64_t apart = INT64_C(1) << round;
    return size > 1 && inner % (2 * apart) != 0 && apart % (inner * size) != 0;
}

// The axis of a group for whose link a round waits: the slowest of those that the round crosses.
static unsigned slowest_crossed(const struct mesh *mesh, const struct axis_list *group, int round,
                                const struct axis_list *slowest_first) {
    for (unsigned k = 0; k < slowest_first->n; k++) {
        int64_t inner = 1;
        for (unsigned i = group->n; i-- > 0 && group->axes[i] != slowest_first->axes[k];)
            inner *= mesh->axes[group->axes[i]].size;
        unsigned axis = slowest_first->axes[k];
        if (crosses(inner, mesh->axes[axis].size, round))
            return axis;
    }
    return slowest_first->axes[0];
}

// What recursive doubling sends over an axis: as much in each round.
static struct share doubling_share(const struct mesh *mesh, const struct account_transfer *t,
                                   unsigned axis, const struct axis_list *slowest_first) {
    int all = t->doubling_bytes ? exchange_rounds(t->group) : 0, here = 0;
    for (int round = 0; round < all; round++)
        here += slowest_crossed(mesh, &t->axes, round, slowest_first) == axis;
    return (struct share){all ? (double)t->doubling_bytes * here / all : 0,
                          (double)t->n_doubling * here};
}

// `before`: into how many parts the axes with slower links have divided the group. In a ring each
// member passes on what it has of them: (n - 1) * before parts of the whole's N. What goes straight
// takes this link if the member has the same place on slower ones: (n - 1) / (before * n) of it.
static struct share share_of(const struct account_transfer *t, double before, double n) {
    double group = (double)t->group, passes = t->kind == COLLECTIVE_ALL_REDUCE ? 2 : 1;
    double round = (double)(t->bytes - t->direct_bytes - t->doubling_bytes);
    double direct = (double)t->direct_bytes;
    double of_ring = (n - 1) * before / (group - 1);
    double of_direct = (n - 1) / (before * n) * group / (group - 1);
    // A permute waits for the member that has the slowest link to the next.
    if (t->kind == COLLECTIVE_PERMUTE)
        of_direct = n > 1 && before == 1;
    return (struct share){round * of_ring + direct * of_direct,
                          (double)t->n_rings * passes * (n - 1) +
                              (double)t->n_direct * (of_direct > 0)};
}

static double share_seconds(const struct mesh_axis *axis, struct share share) {
    double sent = seconds_for(share.bytes, axis->link_bytes_per_s);
    return sent < 0 ? -1 : sent + share.hops * axis->link_latency_s;
}

// An average that is executed behind some steps counts its part of each.
static struct share share_of_step(const struct account_transfer *t, int64_t average_every,
                                  struct share share) {
    double every = t->step == STEP_AVERAGE ? (double)average_every : 1;
    return (struct share){share.bytes / every, share.hops / every};
}

// Transfers of which one and the same thing is said, whatever the phase.
struct kinds_of_transfer {
    struct slowest_transfer items[N_COLLECTIVES * (N_STATES + 1) * N_ROLES];
    unsigned n;
};

static void add_kind(struct kinds_of_transfer *kinds, const struct account_transfer *t,
                     double seconds) {
    for (unsigned i = 0; i < kinds->n; i++) {
        struct slowest_transfer *old = &kinds->items[i];
        if (old->kind == t->kind && old->state == t->state && old->role == t->role) {
            old->seconds += seconds;
            return;
        }
    }
    kinds->items[kinds->n++] = (struct slowest_transfer){t->kind, t->state, t->role, seconds};
}

struct axis_time account_axis_time(const struct mesh *mesh, int64_t average_every,
                                   const struct account_transfer *transfers, uint32_t n_transfers,
                                   unsigned axis) {
    struct axis_time time = {0};
    struct kinds_of_transfer kinds;
    kinds.n = 0; // the rest is written before it is read
    for (uint32_t i = 0; i < n_transfers; i++) {
        const struct account_transfer *t = &transfers[i];
        struct axis_list axes = t->axes;
        sort_by_link(mesh, &axes);
        double before = 1;
        for (unsigned k = 0; k < axes.n; k++) {
            double n = (double)mesh->axes[axes.axes[k]].size;
            if (axes.axes[k] == axis) {
                struct share share = share_of(t, before, n);
                struct share rounds = doubling_share(mesh, t, axis, &axes);
                share = share_of_step(
                    t, average_every,
                    (struct share){share.bytes + rounds.bytes, share.hops + rounds.hops});
                time.bytes += share.bytes;
                time.hops += share.hops;
                add_kind(&kinds, t, share_seconds(&mesh->axes[axis], share));
            }
            before *= n;
        }
    }
    time.seconds = share_seconds(&mesh->axes[axis], (struct share){time.bytes, time.hops});
    for (unsigned i = 0; i < kinds.n; i++)
        if (kinds.items[i].seconds > time.slowest.seconds)
            time.slowest = kinds.items[i];
    return time;
}

// ---- the whole --------------------------------------------------------------------------------

static void add_part(struct step_time *time, double seconds) {
    if (seconds < 0)
        return;
    time->best_s = fmax(time->best_s, seconds);
    time->worst_s = fmax(time->worst_s, 0) + seconds;
}

// What the device gives and gets passes the link to its host, be it on its way to or from a disk.
static double host_link_bytes(const struct account *account, int64_t average_every) {
    double bytes = 0;
    for (uint32_t i = 0; i < account->n_copies; i++) {
        const struct account_copy *copy = &account->copies[i];
        double every = copy->step == STEP_AVERAGE ? (double)average_every : 1;
        if (copy->from == TIER_DEVICE || copy->to == TIER_DEVICE)
            bytes += (double)copy->bytes / every;
    }
    return bytes;
}

struct step_time account_time_of(const struct job *job, const struct demand *demand,
                                 const struct device_config *device) {
    struct step_time time = {.work = demand->work, .best_s = -1, .worst_s = -1};
    time.compute_s = seconds_for(time.work.flops, device->flops_per_s);
    time.memory_s = seconds_for(time.work.moved_bytes, device->bandwidth_bytes_per_s);
    add_part(&time, time.compute_s);
    add_part(&time, time.memory_s);
    time.host_link_bytes = demand->host_link_bytes;
    time.host_link_s = seconds_for(time.host_link_bytes, device->host_link_bytes_per_s);
    if (time.host_link_bytes > 0)
        add_part(&time, time.host_link_s);
    for (uint32_t axis = 0; axis < job->mesh.n_axes; axis++) {
        time.axes[axis] = account_axis_time(&job->mesh, job->policy.average_every,
                                            demand->transfers.items, demand->transfers.n, axis);
        if (time.axes[axis].bytes > 0)
            add_part(&time, time.axes[axis].seconds);
    }
    return time;
}

struct step_time account_time(const struct program *program, const struct account *account,
                              const struct device_config *device) {
    const struct demand demand = {
        .work = account_work(program),
        .host_link_bytes = host_link_bytes(account, program->job->policy.average_every),
        .transfers = {.items = account->transfers, .n = account->n_transfers}};
    return account_time_of(program->job, &demand, device);
}
