// What the file of a schedule says beside its tasks: which messages go from rank to rank, and when parameters are there.
// Programs take it from the tasks, so it is held against them and left out.
//
//   0F0,0SEND_F0      behind stage 0's forward pass of microbatch 0, its result goes to stage 1
//   1RECV_F0,1F0      where it is received, from the rank of stage 0
//
// Messages from one rank to another are received in the order in which they are sent: what a receive gets is said by
// how many came before it, not by its name. So the names must agree in that order, or a stage would compute with
// another's activations.
#include "frontend/schedule_file.h"

struct seen {
    uint32_t *numbers;  // of sends, from 1 on, among those from their rank to another; 0: not sent
    struct span *sends; // by what makes the message
    bool *made, *received;  // likewise: so far
    uint32_t *counts;       // by the other rank
    bool *unsharded, *says; // by stage: parameters are there; whether the file speaks of that
    uint32_t *backward;     // likewise: tasks that are still to add to its gradients
};

static bool is_forward(enum cell_kind kind) {
    return kind == CELL_F || kind == CELL_SEND_F || kind == CELL_RECV_F ||
           kind == CELL_WAIT_SEND_F || kind == CELL_WAIT_RECV_F;
}

// The stage that makes what a task or a receive gets; false: it gets nothing.
static bool maker_of(const struct schedule_reader *reader, const struct cell *cell,
                     uint32_t *stage) {
    bool forward = is_forward(cell->kind);
    *stage = forward ? cell->stage - 1 : cell->stage + 1;
    return cell->stage != (forward ? 0 : reader->n_stages - 1);
}

// The stage that gets what a task makes, or a send sends.
static bool reader_of(const struct schedule_reader *reader, const struct cell *cell,
                      uint32_t *stage) {
    bool forward = is_forward(cell->kind);
    *stage = forward ? cell->stage + 1 : cell->stage - 1;
    return cell->stage != (forward ? reader->n_stages - 1 : 0);
}

static size_t slot_of(const struct schedule_reader *reader, bool forward, uint32_t stage,
                      uint32_t microbatch) {
    return ((size_t)!forward * reader->n_stages + stage) * reader->n_microbatches + microbatch;
}

// False, once reported.
static bool refuse(const struct schedule_reader *reader, const struct cell *cell,
                   const char *message) {
    report_cell(reader, cell->span, message);
    return false;
}

// ---- sends and receives -----------------------------------------------------------------------

static bool take_send(const struct schedule_reader *reader, struct seen *e,
                      const struct cell *cell) {
    uint32_t to;
    size_t slot = slot_of(reader, is_forward(cell->kind), cell->stage, cell->microbatch);
    if (!reader_of(reader, cell, &to) || reader->rank_of[to] == reader->rank_of[cell->stage])
        return refuse(reader, cell, "no other rank needs this");
    if (!e->made[slot])
        return refuse(reader, cell, "what is sent has not been made yet");
    if (e->numbers[slot])
        return refuse(reader, cell, "this is sent a second time");
    e->numbers[slot] = ++e->counts[reader->rank_of[to]];
    e->sends[slot] = cell->span;
    return true;
}

static bool take_receive(const struct schedule_reader *reader, struct seen *e,
                         const struct cell *cell) {
    uint32_t from;
    if (!maker_of(reader, cell, &from) || reader->rank_of[from] == reader->rank_of[cell->stage])
        return refuse(reader, cell, "no other rank has this");
    size_t slot = slot_of(reader, is_forward(cell->kind), from, cell->microbatch);
    if (e->received[slot])
        return refuse(reader, cell, "this is received a second time");
    e->received[slot] = true;
    return true;
}

// What waits for a send stands behind it: a wait for none would not end.
static bool take_wait(const struct schedule_reader *reader, const struct seen *e,
                      const struct cell *cell) {
    size_t slot = slot_of(reader, is_forward(cell->kind), cell->stage, cell->microbatch);
    return e->numbers[slot] || refuse(reader, cell, "what this waits for has not been sent");
}

static bool is_backward(enum cell_kind kind) {
    return kind == CELL_B || kind == CELL_I || kind == CELL_W || kind == CELL_BW;
}

static bool take_task(const struct schedule_reader *reader, struct seen *e, const struct cell *cell,
                      bool exchanges) {
    uint32_t from;
    bool forward = is_forward(cell->kind);
    e->backward[cell->stage] -= is_backward(cell->kind);
    if (e->says[cell->stage] && !e->unsharded[cell->stage])
        return refuse(reader, cell, "the stage's parameters are not gathered here");
    if (cell->kind == CELL_W)
        return true;
    if (exchanges && maker_of(reader, cell, &from) &&
        reader->rank_of[from] != reader->rank_of[cell->stage] &&
        !e->received[slot_of(reader, forward, from, cell->microbatch)])
        return refuse(reader, cell, "what this needs has not been received");
    e->made[slot_of(reader, forward, cell->stage, cell->microbatch)] = true;
    return true;
}

// In the order of its row; whether both ends of messages agree is seen when all rows are known.
static bool take_cell(const struct schedule_reader *reader, struct seen *e, const struct cell *cell,
                      bool exchanges) {
    switch (cell->kind) {
    case CELL_F:
    case CELL_B:
    case CELL_I:
    case CELL_W:
    case CELL_BW:
        return take_task(reader, e, cell, exchanges);
    case CELL_SEND_F:
    case CELL_SEND_B:
        return take_send(reader, e, cell);
    case CELL_RECV_F:
    case CELL_RECV_B:
        return take_receive(reader, e, cell);
    case CELL_UNSHARD:
    case CELL_RESHARD:
        e->unsharded[cell->stage] = cell->kind == CELL_UNSHARD;
        return true;
    case CELL_WAIT_SEND_F:
    case CELL_WAIT_SEND_B:
        return take_wait(reader, e, cell);
    case CELL_REDUCE_GRAD:
        return !e->backward[cell->stage] ||
               refuse(reader, cell, "behind this the stage still adds to its gradients");
    default: // waits for what the row itself does not begin
        return true;
    }
}

// ---- both ends --------------------------------------------------------------------------------

static bool check_receive(const struct schedule_reader *reader, struct seen *e,
                          const struct cell *cell) {
    uint32_t from;
    maker_of(reader, cell, &from);
    size_t slot = slot_of(reader, is_forward(cell->kind), from, cell->microbatch);
    uint32_t number = ++e->counts[reader->rank_of[from]];
    if (e->numbers[slot] == 0)
        return refuse(reader, cell, "nobody sends what is received here");
    if (e->numbers[slot] == number)
        return true;
    struct diagnostic *d = report_cell(
        reader, cell->span,
        arena_format(reader->r->arena,
                     "message %u from rank %u is received here, and this one is sent as number %u",
                     number, reader->rank_of[from], e->numbers[slot]));
    diagnostic_say(d, "it would get another one");
    diagnostic_note_at(d, e->sends[slot], "it is sent here");
    return false;
}

static bool check_send(const struct schedule_reader *reader, const struct seen *e,
                       const struct cell *cell) {
    size_t slot = slot_of(reader, is_forward(cell->kind), cell->stage, cell->microbatch);
    return e->received[slot] || refuse(reader, cell, "nobody receives what is sent here");
}

static bool is_receive(enum cell_kind kind) {
    return kind == CELL_RECV_F || kind == CELL_RECV_B;
}

static bool is_send(enum cell_kind kind) {
    return kind == CELL_SEND_F || kind == CELL_SEND_B;
}

// Counts are of one row's messages; those that it has counted are taken back.
static void forget_counts(const struct schedule_reader *reader, struct seen *e,
                          const struct row *row) {
    uint32_t other;
    for (uint32_t i = 0; i < row->n; i++) {
        if (is_send(row->cells[i].kind) && reader_of(reader, &row->cells[i], &other))
            e->counts[reader->rank_of[other]] = 0;
        if (is_receive(row->cells[i].kind) && maker_of(reader, &row->cells[i], &other))
            e->counts[reader->rank_of[other]] = 0;
    }
}

static bool check_ends(const struct schedule_reader *reader, struct seen *e) {
    for (uint32_t rank = 0; rank < reader->n_rows; rank++) {
        const struct row *row = &reader->rows[rank];
        for (uint32_t i = 0; i < row->n; i++) {
            const struct cell *cell = &row->cells[i];
            if (is_receive(cell->kind) && !check_receive(reader, e, cell))
                return false;
            if (is_send(cell->kind) && !check_send(reader, e, cell))
                return false;
        }
        forget_counts(reader, e, row);
    }
    return true;
}

// ---- the whole --------------------------------------------------------------------------------

static bool has_any(const struct schedule_reader *reader, enum cell_kind first,
                    enum cell_kind last) {
    for (int kind = (int)first; kind <= (int)last; kind++)
        if (reader->n_of[kind])
            return true;
    return false;
}

bool check_messages(const struct schedule_reader *reader) {
    struct arena *arena = reader->r->arena;
    bool exchanges = has_any(reader, CELL_SEND_F, CELL_WAIT_RECV_B);
    if (!exchanges && !has_any(reader, CELL_UNSHARD, CELL_WAIT_REDUCE_GRAD))
        return true;
    uint64_t n = 2 * (uint64_t)reader->n_stages * reader->n_microbatches;
    if (n > LIMIT_TASKS) {
        report_cell(reader, reader->rows[0].span,
                    arena_format(arena,
                                 "%u stages of %u microbatches; at most %d tasks are put in order",
                                 reader->n_stages, reader->n_microbatches, (int)LIMIT_TASKS));
        return false;
    }
    struct seen e = {.numbers = ARENA_ARRAY(arena, uint32_t, n),
                     .sends = ARENA_ARRAY(arena, struct span, n),
                     .made = ARENA_ARRAY(arena, bool, n),
                     .received = ARENA_ARRAY(arena, bool, n),
                     .counts = ARENA_ARRAY(arena, uint32_t, reader->n_rows),
                     .unsharded = ARENA_ARRAY(arena, bool, reader->n_stages),
                     .says = ARENA_ARRAY(arena, bool, reader->n_stages),
                     .backward = ARENA_ARRAY(arena, uint32_t, reader->n_stages)};
    for (uint32_t rank = 0; rank < reader->n_rows; rank++) {
        const struct row *row = &reader->rows[rank];
        for (uint32_t i = 0; i < row->n; i++) {
            e.says[row->cells[i].stage] |= row->cells[i].kind == CELL_UNSHARD;
            e.backward[row->cells[i].stage] += is_backward(row->cells[i].kind);
        }
        for (uint32_t i = 0; i < row->n; i++)
            if (!take_cell(reader, &e, &row->cells[i], exchanges))
                return false;
        forget_counts(reader, &e, row);
    }
    return check_ends(reader, &e);
}
