// Partition, transfers: collectives that go side by side.
#include "passes/partition/partition.h"

// The newest collective of a kind, axes and type that has room for `bytes` more; else a new one.
static struct filled_transfer *transfer_with_room(struct draft *draft, struct transfers *transfers,
                                                  const struct exchange *wanted, enum dtype dtype,
                                                  struct span span, int64_t bytes,
                                                  int64_t bucket_bytes) {
    for (uint32_t i = transfers->n; i-- > 0;) {
        struct filled_transfer *filled = &transfers->items[i];
        const struct exchange *exchange = &filled->transfer.exchange;
        if (exchange->kind != wanted->kind || !axis_list_equal(&exchange->axes, &wanted->axes) ||
            exchange->dim != wanted->dim || filled->dtype != dtype)
            continue;
        if (bucket_has_room(bucket_bytes, filled->bytes, bytes))
            return filled;
        break; // the newest is full: pieces stay in the order in which they were added
    }
    struct filled_transfer made = {.transfer.exchange = *wanted, .dtype = dtype, .span = span};
    ARENA_PUSH(draft->arena, transfers->items, transfers->n, transfers->cap, made);
    return &transfers->items[transfers->n - 1];
}

int dimension_between(const struct buffer *from, const struct buffer *to) {
    for (unsigned d = 0; d < from->rank && from->rank == to->rank; d++)
        if (!axis_list_equal(&from->layout.cuts[d], &to->layout.cuts[d]))
            return (int)d;
    return -1;
}

void add_piece(struct draft *draft, struct transfers *transfers, enum collective_kind kind,
               const struct axis_list *axes, struct reference from, struct reference to,
               struct span span, int64_t bucket_bytes) {
    if (axes->n == 0 && kind != COLLECTIVE_COPY)
        return;
    bool gather = kind == COLLECTIVE_ALL_GATHER;
    const struct buffer *whole = &draft->program->buffers[gather ? to.buffer : from.buffer];
    int64_t bytes = buffer_item_bytes(draft->program, whole);
    struct exchange exchange = exchange_flat(kind, axes);
    exchange.dim = dimension_between(&draft->program->buffers[from.buffer],
                                     &draft->program->buffers[to.buffer]);
    struct filled_transfer *filled =
        transfer_with_room(draft, transfers, &exchange, whole->dtype, span, bytes, bucket_bytes);
    struct transfer *transfer = &filled->transfer;
    struct transfer_piece piece = {.from = from, .to = to};
    ARENA_PUSH(draft->arena, transfer->pieces, transfer->n_pieces, filled->capacity, piece);
    filled->bytes += bytes;
}

// Every collective has a handle of its own, so that overlap can move starts and waits freely.
void emit_transfers(struct draft *draft, struct cursor at, struct transfers *transfers,
                    const char *name) {
    for (uint32_t i = 0; i < transfers->n; i++) {
        struct transfer *transfer = &transfers->items[i].transfer;
        struct span span = transfers->items[i].span;
        transfer->handle = step_add_handle(draft->program->arena, at.step,
                                           names_fresh(&at.step->handle_names, name, '.'), 1);
        transfer->handle_index = index_constant(0);
        push_statement(
            draft, at,
            (struct statement){.kind = STATEMENT_START, .span = span, .start = *transfer});
        push_statement(
            draft, at,
            (struct statement){.kind = STATEMENT_WAIT,
                               .span = span,
                               .wait = {.handle = transfer->handle, .index = index_constant(0)}});
    }
    transfers->n = 0;
}
