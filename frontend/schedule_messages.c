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
    // By what makes the message: the number of its send, from 1 on, among those from its rank to another (0: it is not
    // sent), where that is, and whether so far it was made, received, and either was waited for.
    uint32_t *numbers;
    struct span *sends;
    bool *made, *received, *waited_send, *waited_receive;
    uint32_t *counts; // by the other rank
    // By stage: whether the file says when its parameters are gathered, and they are; how many tasks are still to add
    // to its gradients; whether they are reduced, and that was waited for.
    bool *says_gathers, *gathered;
    uint32_t *backward;
    bool *summed, *waited_sum;
};

// What can be done about any of it, since programs take it from the tasks.
static const char no_messages[] = "leave the messages out: they follow from the tasks";
static const char no_gathers[] =
    "leave UNSHARD and RESHARD out: the strategy says when parameters are gathered";
static const char no_sums[] = "leave REDUCE_GRAD and WAIT_REDUCE_GRAD out: the strategy says when "
                              "gradients are reduced";

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
                   const char *message, const char *help) {
    report_cell(reader, cell->span, message, help);
    return false;
}

// ---- sends and receives -----------------------------------------------------------------------

static bool take_send(const struct schedule_reader *reader, struct seen *e,
                      const struct cell *cell) {
    uint32_t to;
    size_t slot = slot_of(reader, is_forward(cell->kind), cell->stage, cell->microbatch);
    if (!reader_of(reader, cell, &to) || reader->rank_of[to] == reader->rank_of[cell->stage])
        return refuse(reader, cell, "no other rank needs this", no_messages);
    if (!e->made[slot])
        return refuse(reader, cell, "what is sent has not been made yet", no_messages);
    if (e->numbers[slot])
        return refuse(reader, cell, "this is sent a second time", no_messages);
    e->numbers[slot] = ++e->counts[reader->rank_of[to]];
    e->sends[slot] = cell->span;
    return true;
}

static bool take_receive(const struct schedule_reader *reader, struct seen *e,
                         const struct cell *cell) {
    uint32_t from;
    if (!maker_of(reader, cell, &from) || reader->rank_of[from] == reader->rank_of[cell->stage])
        return refuse(reader, cell, "no other rank has this", no_messages);
    size_t slot = slot_of(reader, is_forward(cell->kind), from, cell->microbatch);
    if (e->received[slot])
        return refuse(reader, cell, "this is received a second time", no_messages);
    e->received[slot] = true;
    return true;
}

// What waits stands behind what it waits for, of which there is one: a wait for nothing would not end.
static bool take_wait(const struct schedule_reader *reader, const struct cell *cell, bool begun,
                      bool *done, const char *not_begun, const char *help) {
    if (!begun)
        return refuse(reader, cell, not_begun, help);
    if (*done)
        return refuse(reader, cell, "this is waited for a second time", help);
    *done = true;
    return true;
}

static bool take_wait_send(const struct schedule_reader *reader, struct seen *e,
                           const struct cell *cell) {
    size_t slot = slot_of(reader, is_forward(cell->kind), cell->stage, cell->microbatch);
    return take_wait(reader, cell, e->numbers[slot], &e->waited_send[slot],
                     "what this waits for has not been sent", no_messages);
}

// It stands in front of what needs it, too, which has waited else.
static bool take_wait_receive(const struct schedule_reader *reader, struct seen *e,
                              const struct cell *cell) {
    uint32_t from;
    bool forward = is_forward(cell->kind), any = maker_of(reader, cell, &from);
    size_t slot = any ? slot_of(reader, forward, from, cell->microbatch) : 0;
    if (e->made[slot_of(reader, forward, cell->stage, cell->microbatch)])
        return refuse(reader, cell, "what needs this stands in front of it", no_messages);
    return take_wait(reader, cell, any && e->received[slot], &e->waited_receive[slot],
                     "what this waits for has not been received", no_messages);
}

static bool is_backward(enum cell_kind kind) {
    return kind == CELL_B || kind == CELL_I || kind == CELL_W || kind == CELL_BW;
}

static bool take_task(const struct schedule_reader *reader, struct seen *e, const struct cell *cell,
                      bool exchanges) {
    uint32_t from;
    bool forward = is_forward(cell->kind);
    e->backward[cell->stage] -= is_backward(cell->kind);
    if (e->says_gathers[cell->stage] && !e->gathered[cell->stage])
        return refuse(reader, cell, "the stage's parameters are not gathered here", no_gathers);
    if (cell->kind == CELL_W)
        return true;
    if (exchanges && maker_of(reader, cell, &from) &&
        reader->rank_of[from] != reader->rank_of[cell->stage] &&
        !e->received[slot_of(reader, forward, from, cell->microbatch)])
        return refuse(reader, cell, "what this needs has not been received", no_messages);
    e->made[slot_of(reader, forward, cell->stage, cell->microbatch)] = true;
    return true;
}

// As PyTorch's runtime has it: parameters that are there are not gathered, and others not let go.
static bool take_gather(const struct schedule_reader *reader, struct seen *e,
                        const struct cell *cell) {
    bool gathers = cell->kind == CELL_UNSHARD;
    if (e->gathered[cell->stage] == gathers)
        return refuse(reader, cell,
                      gathers ? "the stage's parameters are gathered already"
                              : "the stage's parameters are not gathered here",
                      no_gathers);
    e->gathered[cell->stage] = gathers;
    return true;
}

static bool take_sum(const struct schedule_reader *reader, struct seen *e,
                     const struct cell *cell) {
    uint32_t stage = cell->stage;
    if (e->backward[stage])
        return refuse(reader, cell, "behind this the stage still adds to its gradients", no_sums);
    if (cell->kind == CELL_WAIT_REDUCE_GRAD)
        return take_wait(reader, cell, e->summed[stage], &e->waited_sum[stage],
                         "what this waits for has not begun", no_sums);
    if (e->summed[stage])
        return refuse(reader, cell, "the stage's gradients are reduced already", no_sums);
    e->summed[stage] = true;
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
    case CELL_WAIT_SEND_F:
    case CELL_WAIT_SEND_B:
        return take_wait_send(reader, e, cell);
    case CELL_WAIT_RECV_F:
    case CELL_WAIT_RECV_B:
        return take_wait_receive(reader, e, cell);
    case CELL_UNSHARD:
    case CELL_RESHARD:
        return take_gather(reader, e, cell);
    default:
        return take_sum(reader, e, cell);
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
        return refuse(reader, cell, "nobody sends what is received here", no_messages);
    if (e->numbers[slot] == number)
        return true;
    struct diagnostic *d = report_cell(
        reader, cell->span,
        arena_format(reader->r->arena,
                     "message %u from rank %u is received here, and this one is sent as number %u",
                     number, reader->rank_of[from], e->numbers[slot]),
        no_messages);
    diagnostic_say(d, "it would get another one");
    diagnostic_note_at(d, e->sends[slot], "it is sent here");
    return false;
}

static bool check_send(const struct schedule_reader *reader, const struct seen *e,
                       const struct cell *cell) {
    size_t slot = slot_of(reader, is_forward(cell->kind), cell->stage, cell->microbatch);
    return e->received[slot] ||
           refuse(reader, cell, "nobody receives what is sent here", no_messages);
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
                                 reader->n_stages, reader->n_microbatches, (int)LIMIT_TASKS),
                    "cut a batch into fewer microbatches");
        return false;
    }
    struct seen e = {.numbers = ARENA_ARRAY(arena, uint32_t, n),
                     .sends = ARENA_ARRAY(arena, struct span, n),
                     .made = ARENA_ARRAY(arena, bool, n),
                     .waited_send = ARENA_ARRAY(arena, bool, n),
                     .received = ARENA_ARRAY(arena, bool, n),
                     .waited_receive = ARENA_ARRAY(arena, bool, n),
                     .counts = ARENA_ARRAY(arena, uint32_t, reader->n_rows),
                     .gathered = ARENA_ARRAY(arena, bool, reader->n_stages),
                     .says_gathers = ARENA_ARRAY(arena, bool, reader->n_stages),
                     .backward = ARENA_ARRAY(arena, uint32_t, reader->n_stages),
                     .summed = ARENA_ARRAY(arena, bool, reader->n_stages),
                     .waited_sum = ARENA_ARRAY(arena, bool, reader->n_stages)};
    for (uint32_t rank = 0; rank < reader->n_rows; rank++) {
        const struct row *row = &reader->rows[rank];
        for (uint32_t i = 0; i < row->n; i++) {
            e.says_gathers[row->cells[i].stage] |= row->cells[i].kind == CELL_UNSHARD;
            e.backward[row->cells[i].stage] += is_backward(row->cells[i].kind);
        }
        for (uint32_t i = 0; i < row->n; i++)
            if (!take_cell(reader, &e, &row->cells[i], exchanges))
                return false;
        forget_counts(reader, &e, row);
    }
    return check_ends(reader, &e);
}
