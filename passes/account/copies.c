// account, copies: what a step copies between tiers, and an average behind it. A run counts the same in the loops that
// copy: elements, without padding behind an item.
#include "passes/account/account.h"

static struct account_copy copy_of(const struct program *program,
                                   const struct transfer_piece *piece) {
    const struct buffer *from = &program->buffers[piece->from.buffer];
    struct tensor_type type = buffer_type(program, from);
    return (struct account_copy){.from = from->tier,
                                 .to = program->buffers[piece->to.buffer].tier,
                                 .state = state_of_copy(program, piece),
                                 .bytes = type_bytes(&type)};
}

int64_t account_copied(const struct program *program, const struct transfer *start,
                       uint32_t piece) {
    return copy_of(program, &start->pieces[piece]).bytes;
}

static bool same_copy(const struct account_copy *a, const struct account_copy *b) {
    return a->step == b->step && a->from == b->from && a->to == b->to && a->state == b->state &&
           a->phase == b->phase;
}

static void add_copy(struct account *account, struct arena *arena, uint32_t *cap,
                     const struct account_copy *copy) {
    for (uint32_t i = 0; i < account->n_copies; i++) {
        struct account_copy *row = &account->copies[i];
        if (!same_copy(row, copy))
            continue;
        row->count = size_plus(row->count, copy->count);
        row->bytes = size_plus(row->bytes, copy->bytes);
        return;
    }
    ARENA_PUSH(arena, account->copies, account->n_copies, *cap, *copy);
}

// What comes in is for the next call in the text, what goes out was made by the last; sums of gradients
// are of backward, also those that begin as zeros in front of forward.
static enum phase phase_of(const struct program *program, struct statement_walk walk,
                           enum phase last, const struct account_copy *copy) {
    bool comes_in = copy->to < copy->from;
    while (comes_in && walk_next(&walk))
        if (walk.statement->kind == STATEMENT_CALL)
            return program->job->units[walk.statement->call.unit].phase;
    return copy->state == STATE_GRADIENTS && last == PHASE_FORWARD ? PHASE_BACKWARD : last;
}

static void count_step(const struct program *program, enum step_kind step, struct arena *arena,
                       uint32_t *cap, struct account *account) {
    struct statement_walk walk = walk_statements(&program->steps[step].body);
    enum phase last = step == STEP_TRAIN ? PHASE_FORWARD : PHASE_UPDATE;
    int64_t *copied = step == STEP_TRAIN ? account->copied : account->copied_to_average;
    while (walk_next(&walk)) {
        const struct statement *s = walk.statement;
        if (s->kind == STATEMENT_CALL)
            last = program->job->units[s->call.unit].phase;
        for (uint32_t i = 0;
             s->kind == STATEMENT_START && is_copy(&s->start) && i < s->start.n_pieces; i++) {
            struct account_copy copy = copy_of(program, &s->start.pieces[i]);
            copy.step = step;
            copy.phase = phase_of(program, walk, last, &copy);
            copy.count = account_trips_of_copy(program, &walk, &s->start.pieces[i]);
            copy.bytes = size_times(copy.bytes, copy.count);
            copy.span = s->span;
            enum tier away = copy.from > copy.to ? copy.from : copy.to;
            copied[away] = size_plus(copied[away], copy.bytes);
            add_copy(account, arena, cap, &copy);
        }
    }
}

void account_copies(const struct program *program, struct arena *arena, struct account *account) {
    uint32_t cap = 0;
    count_step(program, STEP_TRAIN, arena, &cap, account);
    count_step(program, STEP_AVERAGE, arena, &cap, account);
}
