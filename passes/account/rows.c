// The rows of an account; see rows.h.
#include "passes/account/rows.h"

#include "ir/limits.h"

// ---- one collective ---------------------------------------------------------------------------

// Bytes that one device sends in one collective among N, as ring algorithms do, which send the
// least (Patarasuk and Yuan, 2009): (N-1)/N of the whole, an all_reduce twice that. A small
// all_reduce sends all to everybody, since latency counts there. `whole`: the whole, or what a
// device gives, padded to a multiple of the group; `unpadded` without padding.
static int64_t sent_bytes(const struct exchange *exchange, int64_t group, int64_t whole,
                          int64_t unpadded, bool small) {
    int64_t others = whole / group * (group - 1);
    switch (exchange->kind) {
    case COLLECTIVE_ALL_REDUCE:
        return small ? size_times(unpadded, group - 1) : size_times(2, others);
    case COLLECTIVE_PERMUTE:
        return exchange->shift % group ? unpadded : 0;
    default:
        return others;
    }
}

static bool is_small(const struct exchange *exchange, int64_t unpadded) {
    return exchange->kind == COLLECTIVE_ALL_REDUCE && unpadded <= LIMIT_SMALL_ALL_REDUCE_BYTES;
}

// Does everything go straight to where it is needed, in place of round a ring?
static bool is_direct(enum collective_kind kind, bool small) {
    return small || kind == COLLECTIVE_ALL_TO_ALL || kind == COLLECTIVE_PERMUTE;
}

struct carriage carriage_new(const struct mesh *mesh, const struct exchange *exchange,
                             enum dtype dtype) {
    return (struct carriage){
        .exchange = *exchange, .group = mesh_group_size(mesh, &exchange->axes), .dtype = dtype};
}

static void add_bytes(struct carriage *carriage, enum role role, enum state state, int64_t whole,
                      int64_t unpadded) {
    carriage->of[role].state = state;
    carriage->of[role].whole_bytes = size_plus(carriage->of[role].whole_bytes, whole);
    carriage->of[role].unpadded_bytes = size_plus(carriage->of[role].unpadded_bytes, unpadded);
    carriage->unpadded_bytes = size_plus(carriage->unpadded_bytes, unpadded);
}

void carriage_add(struct carriage *carriage, enum role role, enum state state, enum dtype dtype,
                  int64_t from, int64_t to) {
    bool gather = carriage->exchange.kind == COLLECTIVE_ALL_GATHER;
    if (!gather && carriage->exchange.kind != COLLECTIVE_REDUCE_SCATTER) {
        carriage_add_whole(carriage, role, state, dtype, from);
        return;
    }
    int64_t whole = size_times(gather ? from : to, carriage->group);
    add_bytes(carriage, role, state, size_times(whole, dtype_bytes[dtype]),
              size_times(gather ? to : from, dtype_bytes[dtype]));
}

void carriage_add_whole(struct carriage *carriage, enum role role, enum state state,
                        enum dtype dtype, int64_t whole) {
    int64_t padded = round_up(whole, carriage->group);
    add_bytes(carriage, role, state, size_times(padded, dtype_bytes[dtype]),
              size_times(whole, dtype_bytes[dtype]));
}

// ---- rows -------------------------------------------------------------------------------------

static bool same_row(const struct account_transfer *a, const struct account_transfer *b) {
    return a->kind == b->kind && a->state == b->state && a->role == b->role && a->step == b->step &&
           a->phase == b->phase && a->dtype == b->dtype && axis_list_equal(&a->axes, &b->axes);
}

void rows_add(struct transfer_rows *rows, const struct account_transfer *transfer) {
    for (uint32_t i = 0; i < rows->n; i++) {
        struct account_transfer *old = &rows->items[i];
        if (same_row(old, transfer)) {
            old->count = size_plus(old->count, transfer->count);
            old->bytes = size_plus(old->bytes, transfer->bytes);
            old->direct_bytes = size_plus(old->direct_bytes, transfer->direct_bytes);
            old->n_rings = size_plus(old->n_rings, transfer->n_rings);
            old->n_direct = size_plus(old->n_direct, transfer->n_direct);
            return;
        }
    }
    ARENA_PUSH(rows->arena, rows->items, rows->n, rows->cap, *transfer);
}

// How often a collective starts, in a row of the account; the row of another role that it carries
// has no starts of its own.
static void count_starts(struct account_transfer *transfer, bool direct, bool first) {
    if (direct)
        transfer->direct_bytes = transfer->bytes;
    if (first)
        *(direct ? &transfer->n_direct : &transfer->n_rings) = transfer->count;
}

int64_t rows_add_carriage(struct transfer_rows *rows, const struct carriage *carriage,
                          const struct occurrence *occurrence) {
    const struct exchange *exchange = &carriage->exchange;
    bool small = is_small(exchange, carriage->unpadded_bytes), first = true;
    int64_t sum = 0;
    for (int role = 0; role < N_ROLES && carriage->group > 1; role++) {
        int64_t whole = carriage->of[role].whole_bytes;
        int64_t unpadded = carriage->of[role].unpadded_bytes;
        if (unpadded == 0)
            continue;
        int64_t bytes = sent_bytes(exchange, carriage->group, whole, unpadded, small);
        struct account_transfer transfer = {.axes = exchange->axes,
                                            .kind = exchange->kind,
                                            .state = carriage->of[role].state,
                                            .role = (enum role)role,
                                            .phase = occurrence->phase,
                                            .dtype = carriage->dtype,
                                            .group = carriage->group,
                                            .count = occurrence->times,
                                            .bytes = size_times(occurrence->times, bytes),
                                            .step = occurrence->step,
                                            .statement = occurrence->statement,
                                            .span = occurrence->span};
        count_starts(&transfer, is_direct(exchange->kind, small), first);
        first = false;
        sum = size_plus(sum, transfer.bytes);
        rows_add(rows, &transfer);
    }
    return sum;
}
