// The rows of an account; see rows.h.
#include "passes/account/rows.h"

// ---- one collective ---------------------------------------------------------------------------

struct carriage carriage_new(const struct mesh *mesh, const struct exchange *exchange,
                             enum dtype dtype) {
    return (struct carriage){
        .exchange = *exchange, .group = mesh_group_size(mesh, &exchange->axes), .dtype = dtype};
}

static struct carried *carried_of(struct carriage *carriage, enum role role) {
    unsigned at = carriage->n;
    while (at > 0 && carriage->of[at - 1].role > role)
        at--;
    if (at > 0 && carriage->of[at - 1].role == role)
        return &carriage->of[at - 1];
    for (unsigned i = carriage->n++; i > at; i--)
        carriage->of[i] = carriage->of[i - 1];
    carriage->of[at] = (struct carried){.role = role};
    return &carriage->of[at];
}

static void add_bytes(struct carriage *carriage, enum role role, enum state state, int64_t whole,
                      int64_t unpadded) {
    struct carried *carried = carried_of(carriage, role);
    carried->state = state;
    carried->whole_bytes = size_plus(carried->whole_bytes, whole);
    carried->unpadded_bytes = size_plus(carried->unpadded_bytes, unpadded);
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

enum algorithm carriage_algorithm(const struct carriage *carriage) {
    return exchange_algorithm(&carriage->exchange, carriage->group, carriage->unpadded_bytes);
}

int64_t carriage_sent(const struct carriage *carriage, enum algorithm algorithm,
                      const struct carried *carried) {
    return exchange_sent_bytes(&carriage->exchange, algorithm, carriage->dtype, carriage->group,
                               carried->whole_bytes, carried->unpadded_bytes);
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
            old->doubling_bytes = size_plus(old->doubling_bytes, transfer->doubling_bytes);
            old->n_rings = size_plus(old->n_rings, transfer->n_rings);
            old->n_direct = size_plus(old->n_direct, transfer->n_direct);
            old->n_doubling = size_plus(old->n_doubling, transfer->n_doubling);
            return;
        }
    }
    ARENA_PUSH(rows->arena, rows->items, rows->n, rows->cap, *transfer);
}

// How often a collective starts, in a row of the account; the row of another role that it carries
// has no starts of its own.
static void count_starts(struct account_transfer *transfer, enum algorithm algorithm, bool first) {
    int64_t count = first ? transfer->count : 0;
    switch (algorithm) {
    case ALGORITHM_RING:
        transfer->n_rings = count;
        break;
    case ALGORITHM_DIRECT:
        transfer->n_direct = count;
        transfer->direct_bytes = transfer->bytes;
        break;
    case ALGORITHM_DOUBLING:
        transfer->n_doubling = count;
        transfer->doubling_bytes = transfer->bytes;
        break;
    }
}

int64_t rows_add_carriage(struct transfer_rows *rows, const struct carriage *carriage,
                          const struct occurrence *occurrence) {
    const struct exchange *exchange = &carriage->exchange;
    enum algorithm algorithm = carriage_algorithm(carriage);
    bool first = true;
    int64_t sum = 0;
    for (unsigned i = 0; i < carriage->n && carriage->group > 1; i++) {
        const struct carried *carried = &carriage->of[i];
        if (carried->unpadded_bytes == 0)
            continue;
        int64_t bytes = carriage_sent(carriage, algorithm, carried);
        struct account_transfer transfer = {.axes = exchange->axes,
                                            .kind = exchange->kind,
                                            .state = carried->state,
                                            .role = carried->role,
                                            .phase = occurrence->phase,
                                            .dtype = carriage->dtype,
                                            .group = carriage->group,
                                            .count = occurrence->times,
                                            .bytes = size_times(occurrence->sending, bytes),
                                            .step = occurrence->step,
                                            .statement = occurrence->statement,
                                            .span = occurrence->span};
        count_starts(&transfer, algorithm, first);
        first = false;
        sum = size_plus(sum, transfer.bytes);
        rows_add(rows, &transfer);
    }
    return sum;
}
