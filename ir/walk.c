// Walking over schedules: every statement of a block with those inside its loops, in the order of
// the text, and every place that a statement names. Who asks a question of a schedule asks it of
// each; only who rewrites one has to know how blocks nest.
#include "ir/ir.h"

#include "ir/check.h"

struct statement_walk walk_statements(const struct block *block) {
    return (struct statement_walk){.open = {{.block = block}}};
}

// Goes into the loop that it stands on, else on in the innermost block that has not ended.
bool walk_next(struct statement_walk *walk) {
    if (walk->statement && walk->statement->kind == STATEMENT_LOOP) {
        CHECK(walk->depth < LIMIT_LOOP_DEPTH);
        walk->open[++walk->depth] = (struct open_block){.block = &walk->statement->loop.body};
    }
    while (walk->open[walk->depth].next == walk->open[walk->depth].block->n)
        if (walk->depth-- == 0)
            return false;
    struct open_block *open = &walk->open[walk->depth];
    walk->statement = &open->block->statements[open->next++];
    return true;
}

struct call *walk_next_call(struct statement_walk *walk) {
    while (walk_next(walk))
        if (walk->statement->kind == STATEMENT_CALL)
            return &walk->statement->call;
    return NULL;
}

const struct loop *walk_loop(const struct statement_walk *walk, int variable) {
    if (variable < 0 || variable >= walk->depth)
        return NULL;
    const struct open_block *outer = &walk->open[variable];
    return &outer->block->statements[outer->next - 1].loop;
}

int64_t walk_trips(const struct statement_walk *walk) {
    int64_t trips = 1;
    for (int i = 0; i < walk->depth; i++)
        trips = size_times(trips, walk_loop(walk, i)->end - walk_loop(walk, i)->begin);
    return trips;
}

bool statement_calls(const struct job *job, const struct statement *s, enum phase phase) {
    const struct block one = {(struct statement *)s, 1, 1};
    struct statement_walk walk = walk_statements(&one);
    for (const struct call *call; (call = walk_next_call(&walk));)
        if (job->units[call->unit].phase == phase)
            return true;
    return false;
}

bool statement_only_frees(const struct statement *s) {
    if (s->kind != STATEMENT_LOOP)
        return s->kind == STATEMENT_FREE;
    for (uint32_t i = 0; i < s->loop.body.n; i++)
        if (!statement_only_frees(&s->loop.body.statements[i]))
            return false;
    return s->loop.body.n > 0;
}

const struct started **starts_by_handle(const struct step *step, struct arena *arena) {
    const struct started **first = ARENA_ARRAY(arena, const struct started *, step->n_handles + 1);
    struct started **last = ARENA_ARRAY(arena, struct started *, step->n_handles + 1);
    struct statement_walk walk = walk_statements(&step->body);
    while (walk_next(&walk)) {
        if (walk.statement->kind != STATEMENT_START)
            continue;
        uint32_t handle = walk.statement->start.handle;
        struct started *here = ARENA_NEW(arena, struct started);
        here->start = walk.statement;
        if (last[handle])
            last[handle]->next = here;
        else
            first[handle] = here;
        last[handle] = here;
    }
    return first;
}

int64_t loop_variable(const struct loop *loop, int variable, int64_t iteration,
                      const int64_t *variables) {
    int64_t base = loop->stride ? loop->stride * variables[variable - 1] : 0;
    return base + (loop->descending ? loop->end - 1 - iteration : loop->begin + iteration);
}

static bool names_microbatch(const struct program *program, const struct reference *at,
                             int variable) {
    const struct stacks *stacks = &program->buffers[at->buffer].stacks;
    for (unsigned i = 0; i < stacks->n; i++)
        if (stacks->list[i].kind == STACK_MICROBATCHES && at->indices[i].variable == variable)
            return true;
    return false;
}

bool loop_counts_microbatches(const struct program *program, const struct loop *loop,
                              int variable) {
    struct statement_walk walk = walk_statements(&loop->body);
    while (walk_next(&walk)) {
        struct access access;
        for (uint32_t i = 0; (access = statement_access(program, walk.statement, i)).at; i++)
            if (names_microbatch(program, access.at, variable))
                return true;
    }
    return false;
}

bool loop_has_tasks(const struct loop *loop) {
    struct statement_walk walk = walk_statements(&loop->body);
    while (walk_next(&walk))
        if (walk.statement->kind == STATEMENT_TASK)
            return true;
    return false;
}

static struct access access_of_call(const struct unit *unit, const struct call *call, uint32_t i) {
    if (i < unit->n_parameters)
        return (struct access){&call->operands[i], false};
    i -= unit->n_parameters;
    return (struct access){i < unit->n_results ? &call->results[i] : NULL, true};
}

static struct access access_of_start(const struct transfer *start, uint32_t i) {
    uint32_t ends = exchange_is_message(&start->exchange) ? 1 : 2;
    if (i / ends == start->n_pieces)
        return (struct access){NULL, false};
    bool written = ends == 2 ? i % 2 : start->exchange.kind == COLLECTIVE_RECEIVE;
    struct transfer_piece *piece = &start->pieces[i / ends];
    return (struct access){written ? &piece->to : &piece->from, written};
}

void message_join_ends(struct statement *statement) {
    struct transfer *start = &statement->start;
    if (statement->kind != STATEMENT_START || !exchange_is_message(&start->exchange))
        return;
    for (uint32_t i = 0; i < start->n_pieces; i++) {
        struct reference at = *access_of_start(start, i).at;
        start->pieces[i] = (struct transfer_piece){at, at};
    }
}

// Accesses stand in the order of the text; of each piece of a transfer the source comes first.
struct access statement_access(const struct program *program, const struct statement *statement,
                               uint32_t i) {
    const struct access none = {NULL, false};
    switch (statement->kind) {
    case STATEMENT_CALL:
        return access_of_call(&program->job->units[statement->call.unit], &statement->call, i);
    case STATEMENT_START:
        return access_of_start(&statement->start, i);
    case STATEMENT_ZERO:
        return i == 0 ? (struct access){(struct reference *)&statement->zero, true} : none;
    case STATEMENT_FREE:
        return i < statement->free.n_items ? (struct access){&statement->free.items[i], false}
                                           : none;
    case STATEMENT_LOOP:
    case STATEMENT_WAIT:
    case STATEMENT_TASK:
        break;
    }
    return none;
}
