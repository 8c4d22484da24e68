// Stages, outside: what stands around the tasks of a step goes to the ranks that have what it names. A call that
// updates several tensors, of which a rank has some, does what is about these there.
#include "ir/check.h"
#include "passes/reference/emit.h"
#include "passes/stages/stages.h"

// ---- whose -----------------------------------------------------------------------------------

static bool has_all(struct splitter *s, const struct statement *from, uint32_t rank) {
    struct access access;
    for (uint32_t i = 0; (access = statement_access(s->whole, from, i)).at; i++)
        if (!rank_set_has(ranks_of_buffer(s, access.at->buffer), rank))
            return false;
    return true;
}

// Whether a call makes something that is of no part of the model, of something that is.
static bool adds_up(struct splitter *s, const struct statement *from) {
    bool makes = false, of_part = false;
    struct access access;
    for (uint32_t i = 0; (access = statement_access(s->whole, from, i)).at; i++) {
        const struct rank_set *set = ranks_of_buffer(s, access.at->buffer);
        makes |= set->all && access.written;
        of_part |= set->n > 0;
    }
    return from->kind == STATEMENT_CALL && makes && of_part;
}

static void add_ranks_of(struct splitter *s, const struct statement *from, struct rank_set *set) {
    struct access access;
    bool once = adds_up(s, from);
    for (uint32_t i = 0; (access = statement_access(s->whole, from, i)).at; i++) {
        const struct rank_set *of = ranks_of_buffer(s, access.at->buffer);
        for (uint32_t k = 0; k < of->n; k++)
            if (!once || has_all(s, from, of->ranks[k]))
                rank_set_add(s, set, of->ranks[k]);
        if (once && set->n > 0) { // it counts once
            set->n = 1;
            return;
        }
    }
    for (uint32_t i = 0; from->kind == STATEMENT_LOOP && i < from->loop.body.n; i++)
        add_ranks_of(s, &from->loop.body.statements[i], set);
}

// ---- parts of a call --------------------------------------------------------------------------

static bool is_made(const struct op *op, const bool *needed) {
    for (unsigned k = 0; k < op->n_results; k++)
        if (needed[op->results[k]])
            return true;
    return false;
}

// A unit that makes those of another's results that are marked; parameters that it does without are left out.
static uint32_t unit_with(struct making_part *m, uint32_t of, const bool *needed,
                          const bool *kept) {
    struct job *job = m->part->job;
    const char *name = arena_format(m->s->arena, "%s_rank%u", job->units[of].name, m->rank);
    uint32_t found = job_find_unit(job, name);
    if (found != NO_ID)
        return found;
    found = job_add_unit(job, name, job->units[of].span);
    const struct unit *from = &job->units[of];
    struct emitter to = {.arena = m->s->arena, .unit = &job->units[found]};
    value_id *here = ARENA_ARRAY(m->s->scratch, value_id, from->n_values + 1);
    uint32_t *parameters = ARENA_ARRAY(m->s->scratch, uint32_t, from->n_parameters + 1), n = 0;
    to.unit->phase = from->phase;
    for (uint32_t i = 0; i < from->n_parameters; i++)
        if (needed[i]) {
            parameters[i] = n++;
            here[i] = unit_add_parameter(m->s->arena, to.unit, from->values[i].name,
                                         from->values[i].type, from->consumed[i]);
        }
    for (uint32_t i = 0; i < from->n_ops; i++) {
        const struct op *op = &from->ops[i];
        value_id operands[MAX_OPERANDS];
        if (!is_made(op, needed))
            continue;
        for (unsigned k = 0; k < op->n_operands; k++)
            operands[k] = here[op->operands[k]];
        const struct op *copy = emit_copy(&to, from, op, operands);
        for (unsigned k = 0; k < op->n_results; k++)
            here[op->results[k]] = copy->results[k];
    }
    for (uint32_t i = 0; i < from->n_results; i++) {
        uint32_t in = from->results[i].in_parameter;
        if (kept[i])
            unit_add_result(m->s->arena, to.unit, here[from->results[i].value],
                            in == NO_ID ? NO_ID : parameters[in]);
    }
    return found;
}

// Whether what is made has it.
static bool is_here(struct making_part *m, struct reference r) {
    return rank_set_has(ranks_of_buffer(m->s, r.buffer), m->rank) &&
           (!m->alone || m->s->whole->buffers[r.buffer].tensor == m->alone - 1);
}

static bool is_all_here(struct making_part *m, const struct statement *from) {
    struct access access;
    for (uint32_t i = 0; (access = statement_access(m->s->whole, from, i)).at; i++)
        if (!is_here(m, *access.at))
            return false;
    return true;
}

// False: nothing of the call is the rank's.
static bool cut_call(struct making_part *m, const struct statement *from, struct statement *made) {
    const struct unit *unit = &m->part->job->units[from->call.unit];
    bool *needed = ARENA_ARRAY(m->s->scratch, bool, unit->n_values + 1);
    bool *kept = ARENA_ARRAY(m->s->scratch, bool, unit->n_results + 1), any = false;
    for (uint32_t i = 0; i < unit->n_results; i++) {
        const struct unit_result *result = &unit->results[i];
        kept[i] = is_here(m, from->call.results[i]);
        needed[result->value] |= kept[i];
        if (kept[i] && result->in_parameter != NO_ID)
            needed[result->in_parameter] = true;
        any |= kept[i];
    }
    if (!any)
        return false;
    unit_mark_needed(unit, needed);
    *made = statement_clone(m->s->arena, m->s->whole, from);
    uint32_t n = 0, n_results = 0;
    for (uint32_t i = 0; i < unit->n_parameters; i++)
        if (needed[i])
            made->call.operands[n++] = made->call.operands[i];
    for (uint32_t i = 0; i < unit->n_results; i++)
        if (kept[i])
            made->call.results[n_results++] = made->call.results[i];
    made->call.unit = unit_with(m, from->call.unit, needed, kept);
    return true;
}

// ---- parts of other statements ----------------------------------------------------------------

static bool cut_start(struct making_part *m, struct statement *made) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < made->start.n_pieces; i++)
        if (is_here(m, made->start.pieces[i].from) && is_here(m, made->start.pieces[i].to))
            made->start.pieces[n++] = made->start.pieces[i];
    made->start.n_pieces = n;
    return n > 0;
}

static bool cut_free(struct making_part *m, struct statement *made) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < made->free.n_items; i++)
        if (is_here(m, made->free.items[i]))
            made->free.items[n++] = made->free.items[i];
    made->free.n_items = n;
    return n > 0;
}

static bool is_written(const struct making_part *m, buffer_id buffer) {
    struct statement_walk walk = walk_statements(&m->step->body);
    while (walk_next(&walk)) {
        struct access access;
        for (uint32_t i = 0; (access = statement_access(m->part, walk.statement, i)).at; i++)
            if (access.written && access.at->buffer == buffer)
                return true;
    }
    return false;
}

// A rank whose own layers add nothing to a sum over the pipeline gives zero.
static void zero_unwritten(struct making_part *m, const struct statement *start, struct block *to) {
    if (start->kind != STATEMENT_START ||
        !axis_list_within(&start->start.exchange.axes, &m->s->pipeline->axes).n)
        return;
    for (uint32_t i = 0; i < start->start.n_pieces; i++) {
        struct reference item = start->start.pieces[i].from;
        struct statement zero = {.kind = STATEMENT_ZERO, .span = start->span, .zero = item};
        if (!is_written(m, item.buffer))
            block_push(m->s->arena, to, zero);
    }
}

static void push_on_rank(struct making_part *m, const struct block *from, struct block *to);

// `started`: of the start before, whether it is the rank's.
static bool cut_statement(struct making_part *m, const struct statement *from, bool started,
                          struct statement *made) {
    *made = statement_clone(m->s->arena, m->s->whole, from);
    switch (from->kind) {
    case STATEMENT_CALL:
        return is_all_here(m, from) || cut_call(m, from, made);
    case STATEMENT_START:
        return cut_start(m, made);
    case STATEMENT_WAIT:
        return started;
    case STATEMENT_ZERO:
        return is_here(m, from->zero);
    case STATEMENT_FREE:
        return cut_free(m, made);
    case STATEMENT_LOOP:
    case STATEMENT_TASK:
        break;
    }
    CHECK(false);
    return false;
}

static void push_cut(struct making_part *m, const struct statement *from, struct block *to,
                     bool *started) {
    struct statement made;
    if (from->kind == STATEMENT_LOOP) {
        made = *from;
        made.loop.body = (struct block){0};
        push_on_rank(m, &from->loop.body, &made.loop.body);
        if (made.loop.body.n)
            block_push(m->s->arena, to, made);
        return;
    }
    bool once = adds_up(m->s, from);
    struct rank_set set = {0};
    if (once)
        add_ranks_of(m->s, from, &set);
    bool here = (!once || rank_set_has(&set, m->rank)) && cut_statement(m, from, *started, &made);
    if (from->kind == STATEMENT_START)
        *started = here;
    if (!here)
        return;
    made = statement_outside(m, &made);
    zero_unwritten(m, &made, to);
    block_push(m->s->arena, to, made);
}

static void push_on_rank(struct making_part *m, const struct block *from, struct block *to) {
    bool started = false;
    for (uint32_t i = 0; i < from->n; i++)
        push_cut(m, &from->statements[i], to, &started);
}

// Whether a statement names states of tensors and nothing else.
static bool is_of_tensors(const struct splitter *s, const struct statement *from) {
    struct access access;
    for (uint32_t i = 0; (access = statement_access(s->whole, from, i)).at; i++)
        if (s->whole->buffers[access.at->buffer].tensor == NO_ID)
            return false;
    return from->kind != STATEMENT_LOOP;
}

void push_tail(struct making_part *m, struct block *to, uint32_t stage, const struct moment *at,
               const struct task_block *of, uint32_t tensor) {
    bool started = false;
    m->alone = tensor + 1;
    for (uint32_t i = 0; i < of->n; i++) {
        const struct statement *from = &of->statements[i];
        struct statement made;
        bool here = is_of_tensors(m->s, from) && cut_statement(m, from, started, &made);
        if (from->kind == STATEMENT_START)
            started = here;
        if (here)
            block_push(m->s->arena, to, statement_in_task(m, stage, at, &made));
    }
    m->alone = 0;
}

// ---- sums in order ----------------------------------------------------------------------------

void push_message(struct making_part *m, enum collective_kind kind, const char *name, uint32_t peer,
                  buffer_id buffer) {
    struct reference item = reference_to(buffer);
    const struct transfer_piece piece = {item, item};
    struct statement start = {.kind = STATEMENT_START, .span = m->s->span};
    start.start = (struct transfer){.exchange = exchange_flat(kind, &m->s->pipeline->axes),
                                    .handle = handle_in_part(m, name, 1),
                                    .handle_index = index_constant(0),
                                    .pieces = arena_copy(m->s->arena, &piece, sizeof piece),
                                    .n_pieces = 1};
    start.start.exchange.peer = peer;
    block_push(m->s->arena, &m->step->body, start);
}

void push_message_wait(struct making_part *m, const char *name) {
    struct statement wait = {.kind = STATEMENT_WAIT, .span = m->s->span};
    wait.wait.handle = handle_in_part(m, name, 1);
    wait.wait.index = index_constant(0);
    block_push(m->s->arena, &m->step->body, wait);
}

// What one rank has added up goes to the next that adds to it, and of the first there is nothing left.
static void pass_sum_on(struct splitter *s, enum step_kind kind, buffer_id sum, uint32_t from,
                        uint32_t to) {
    struct making_part giver = part_of_rank(s, from, kind), getter = part_of_rank(s, to, kind);
    const char *name = s->whole->buffers[sum].name;
    const char *sent = arena_format(s->arena, "%s.to%u", name, to);
    const char *got = arena_format(s->arena, "%s.from%u", name, from);
    buffer_id given = copy_on_rank(&giver, sum);
    push_message(&giver, COLLECTIVE_SEND, sent, to, given);
    push_message_wait(&giver, sent);
    block_push(
        s->arena, &giver.step->body,
        (struct statement){.kind = STATEMENT_ZERO, .span = s->span, .zero = reference_to(given)});
    push_message(&getter, COLLECTIVE_RECEIVE, got, from, copy_on_rank(&getter, sum));
    push_message_wait(&getter, got);
}

// Where sums have an order, a rank goes on with what the ranks before it have added up.
static void pass_sums_on(struct splitter *s, enum step_kind kind, const struct statement *from,
                         uint32_t rank) {
    const struct block one = {(struct statement *)from, 1, 1};
    struct statement_walk walk = walk_statements(&one);
    while (walk_next(&walk)) {
        const struct call *call = &walk.statement->call;
        if (walk.statement->kind != STATEMENT_CALL)
            continue;
        const struct unit *unit = &s->whole->job->units[call->unit];
        for (uint32_t i = 0; i < unit->n_results; i++) {
            buffer_id sum = call->results[i].buffer;
            if (unit->results[i].in_parameter == NO_ID || !ranks_of_buffer(s, sum)->all)
                continue;
            if (s->holders[sum] && s->holders[sum] != rank + 1)
                pass_sum_on(s, kind, sum, s->holders[sum] - 1, rank);
            s->holders[sum] = rank + 1;
        }
    }
}

// A wait goes where its start, which stands in front of it, has gone.
void push_outside(struct splitter *s, enum step_kind kind, const struct statement *from) {
    struct rank_set set = {0};
    const struct statement *of = from->kind == STATEMENT_WAIT ? from - 1 : from;
    CHECK(from->kind != STATEMENT_WAIT || of->kind == STATEMENT_START);
    add_ranks_of(s, of, &set);
    uint32_t n = set.n ? set.n : s->pipeline->schedule->n_ranks;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t rank = set.n ? set.ranks[i] : i;
        struct making_part m = part_of_rank(s, rank, kind);
        bool started = true;
        if (s->holders && set.n == 1)
            pass_sums_on(s, kind, from, rank);
        push_cut(&m, from, &m.step->body, &started);
    }
}
