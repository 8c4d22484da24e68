// Sums by hand: what each device has of a sum goes round by `permute`, and every device adds up
// what comes by. With w(i) what device i has, a value that comes of this is on device i the sum of
// w(i - k) over some k, which are counted here; when it has each k once, it is the whole sum on
// every device.
//
// The rule of `add` knows terms only: of two summands with one term it makes twice the term, still
// a summand, which is as true. But whose summands were added decides: those of the values that are
// permuted and added here are a unit's own values, so it is enough to follow them by name. Nothing
// is known of what goes round from one call to the next.
//
// Every device adds in an order of its own, so copies may differ in their last bits. They do not
// where the addition is symmetric: u(i) + u(i - k) is on device i - k the same with its operands
// swapped, if u itself repeats every 2k devices. So sums of pairs, of pairs of pairs and so on have
// equal bits.
#include "verify/rules/rounds.h"

#include <string.h>

enum { MOST_DEVICES = 64 };

struct round { // all zero where nothing is known
    unsigned axis;
    value_id summand; // w, a value of the unit
    uint64_t seen;    // a bit for each k
    value_id moved;   // the last sum of which this is `by` devices further
    int64_t by;
    int64_t period; // devices so far apart have equal bits
};

struct rounds {
    struct proof *proof;
    const struct unit *unit;
    struct round *of; // each value
};

struct rounds *rounds_new(struct proof *p, const struct unit *unit) {
    uint32_t i = p->ordered ? unit->n_ops : 0;
    while (i < unit->n_ops && unit->ops[i].kind != OP_PERMUTE)
        i++;
    if (i == unit->n_ops) // this saves time: of values that no permute moved no two join
        return NULL;
    struct rounds *rounds = arena_alloc(p->world->arena, sizeof *rounds);
    *rounds = (struct rounds){p, unit,
                              arena_alloc(p->world->arena, unit->n_values * sizeof(struct round))};
    memset(rounds->of, 0, unit->n_values * sizeof(struct round));
    return rounds;
}

static int64_t devices(const struct rounds *r, unsigned axis) {
    return r->proof->program->job->mesh.axes[axis].size;
}

static uint64_t all_of(int64_t n) {
    return n >= MOST_DEVICES ? UINT64_MAX : (UINT64_C(1) << n) - 1;
}

// A value that no permute and no sum has made is its own.
static struct round round_of(const struct rounds *r, value_id id, unsigned axis) {
    if (r->of[id].seen)
        return r->of[id];
    return (struct round){axis, id, 1, id, 0, devices(r, axis)};
}

static void follow_permute(struct rounds *r, const struct op *op) {
    struct axis_list axes = op_axes(op);
    int64_t n = devices(r, axes.axes[0]);
    struct round made = round_of(r, op->operands[0], axes.axes[0]);
    if (axes.n != 1 || n > MOST_DEVICES || made.axis != axes.axes[0])
        return;
    int64_t shift = (op_integer(op, ATTRIBUTE_SHIFT, 0) % n + n) % n;
    uint64_t seen = 0;
    for (int64_t k = 0; k < n; k++)
        if (made.seen >> k & 1)
            seen |= UINT64_C(1) << (k + shift) % n;
    made.seen = seen;
    made.by = (made.by + shift) % n;
    r->of[op->results[0]] = made;
}

// The period of a sum whose operands are one value, moved, is half as long where that swaps them.
static int64_t period_of_sum(const struct rounds *r, const struct round *a, const struct round *b) {
    int64_t n = devices(r, a->axis), apart = ((b->by - a->by) % n + n) % n;
    bool swaps = a->moved == b->moved && 2 * apart % a->period == 0;
    return swaps ? a->period / 2 : n;
}

static void follow_sum(struct rounds *r, const struct op *op) {
    const struct round *left = &r->of[op->operands[0]], *right = &r->of[op->operands[1]];
    unsigned axis = left->seen ? left->axis : right->axis;
    struct round a = round_of(r, op->operands[0], axis), b = round_of(r, op->operands[1], axis);
    if (a.axis != b.axis || a.summand != b.summand || a.seen & b.seen)
        return;
    r->of[op->results[0]] = (struct round){axis,           a.summand, a.seen | b.seen,
                                           op->results[0], 0,         period_of_sum(r, &a, &b)};
}

static bool is_wide(const struct rounds *r, const struct judgement *value) {
    return dtype_holds((enum dtype)value->dtype, r->proof->program->job->policy.reduce);
}

// What every device has of the sum is there once, so all have the sum.
static void finish_sum(const struct round *sum, const struct judgement *summand,
                       struct judgement *made) {
    uint32_t axis = UINT32_C(1) << sum->axis;
    made->value = summand->value;
    made->partial &= ~axis;
    if (sum->period > 1)
        made->bits &= ~axis;
}

void rounds_behind(struct rounds *r, const struct op *op, struct judgement *values) {
    if (!r)
        return;
    if (op->kind == OP_PERMUTE)
        follow_permute(r, op);
    else if (op->kind == OP_WAIT)
        r->of[op->results[0]] = r->of[op->operands[0]];
    else if (op->kind == OP_ADD)
        follow_sum(r, op);
    else
        return;
    struct round *sum = &r->of[op->results[0]];
    struct judgement *made = &values[op->results[0]];
    if (!is_wide(r, made))
        *sum = (struct round){0};
    if (sum->seen != all_of(devices(r, sum->axis)) ||
        !(values[sum->summand].partial >> sum->axis & 1))
        return;
    finish_sum(sum, &values[sum->summand], made);
    *sum = (struct round){0};
}
