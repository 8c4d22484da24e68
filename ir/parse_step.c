// Reads the schedules of a step, `train` and `evaluate`: loops, calls, transfers. Buffers and units
// that they name are known by then.
#include "ir/parse.h"

#include <string.h>

// The variable of a loop around, the innermost of its name. -1: there is none, which is told.
static int parse_variable(struct parser *p) {
    int variable = -1;
    for (int i = 0; i < p->depth; i++)
        if (strcmp(p->variables[i], p->token.text) == 0)
            variable = i;
    if (variable < 0) {
        text_meant(p, &p->token, TABLE(p->variables, (size_t)p->depth));
        FAIL(p, "`%s` is not the variable of a loop around this", p->token.text);
    } else {
        text_advance(p);
    }
    return variable;
}

// What is counted, either way.
static int64_t parse_counted(struct parser *p) {
    struct token at = p->token;
    int64_t value = text_integer(p);
    if (value >= -LIMIT_COUNTED && value <= LIMIT_COUNTED)
        return value;
    text_fail_at(p, at.begin, at.end, "an index has numbers up to %d", LIMIT_COUNTED);
    return 0;
}

// `3`, `l`, `l+1`, `l-1 mod 2`.
static struct index parse_index(struct parser *p) {
    int variable = p->token.kind == TOKEN_WORD ? parse_variable(p) : -1;
    if (text_failed(p))
        return index_constant(0);
    int64_t offset = 0, modulus = 0;
    bool negative = p->token.kind == TOKEN_NUMBER && p->token.text[0] == '-';
    if (variable < 0 || text_accept(p, '+') || negative)
        offset = parse_counted(p);
    if (text_accept_word(p, "mod")) {
        modulus = parse_counted(p);
        if (modulus < 1)
            FAIL(p, "a modulus is at least 1");
    }
    return index_variable(variable, offset, modulus);
}

// `[l]`, or `[m mod 2][l]`: one for each stack of the buffer. False: they are not as many.
static bool parse_indices(struct parser *p, struct reference *reference) {
    unsigned n = p->program->buffers[reference->buffer].stacks.n;
    for (unsigned i = 0; i < n; i++) {
        if (!text_accept(p, '['))
            return false;
        reference->indices[i] = parse_index(p);
        text_expect(p, ']');
    }
    return !text_at(p, '[');
}

// What is wrong, by the number of the buffer's stacks.
static const char *const wrong_indices[MAX_STACKS + 1] = {
    "buffer `%s` has one item and takes no index",
    "buffer `%s` has several items: say which by one index, as in `%s[l]`",
    "buffer `%s` is stacked twice: say which item by two indices, as in `%s[m][l]`",
};

// `buffer`, with indices where it has several items.
static struct reference parse_reference(struct parser *p) {
    struct token at = p->token;
    const char *name = text_name(p, "a buffer");
    struct reference reference = reference_to(text_find_buffer(p, p->program, name));
    if (reference.buffer == NO_ID) {
        text_meant(p, &at, COLUMN(p->program->buffers, p->program->n_buffers, name));
        text_fail_at(p, at.begin, at.end, "there is no buffer `%s`", name);
        reference.buffer = 0;
        return reference;
    }
    if (!parse_indices(p, &reference))
        text_fail_at(p, at.begin, at.end,
                     wrong_indices[p->program->buffers[reference.buffer].stacks.n], name, name);
    return reference;
}

static void parse_argument_name(struct parser *p, const char *name) {
    if (!text_at_word(p, name)) {
        text_meant(p, &p->token, &name, 1, 0);
        FAIL(p, "expected `%s = ...` here: arguments stand in the order of the unit", name);
    }
    text_advance(p);
    text_expect(p, '=');
}

// Arguments by name and in order: a text that is edited says what it gives to what, and a forgotten
// one is found at its place. Results that take a parameter's place are not written.
static void parse_call(struct parser *p, struct statement *statement) {
    struct token at = p->token;
    uint32_t id = job_find_unit(p->job, text_name(p, "a unit"));
    if (id == NO_ID) {
        text_meant(p, &at, COLUMN(p->job->units, p->job->n_units, name));
        text_fail_at(p, at.begin, at.end, "there is no unit `%s`", at.text);
        return;
    }
    const struct unit *unit = &p->job->units[id];
    struct call *call = &statement->call;
    call->unit = id;
    call->operands = ARENA_ARRAY(p->arena, struct reference, unit->n_parameters);
    call->results = ARENA_ARRAY(p->arena, struct reference, unit->n_results);
    text_expect(p, '(');
    for (uint32_t i = 0; i < unit->n_parameters && !text_failed(p); i++) {
        if (i)
            text_expect(p, ',');
        parse_argument_name(p, unit->values[i].name);
        call->operands[i] = parse_reference(p);
    }
    text_expect(p, ')');
    bool first = true;
    for (uint32_t i = 0; i < unit->n_results && !text_failed(p); i++) {
        const struct unit_result *result = &unit->results[i];
        if (result->in_parameter != NO_ID) {
            call->results[i] = call->operands[result->in_parameter];
            continue;
        }
        text_expect(p, first ? ARROW : ',');
        if (first)
            text_expect(p, '(');
        first = false;
        parse_argument_name(p, unit->values[result->value].name);
        call->results[i] = parse_reference(p);
    }
    if (!first)
        text_expect(p, ')');
}

// gather[l+1 mod 2]: the step's handle of that name, with at least as many slots as the index
// needs.
static uint32_t parse_handle(struct parser *p, struct step *step, struct index *index) {
    const char *name = text_name(p, "a transfer");
    text_expect(p, '[');
    *index = parse_index(p);
    text_expect(p, ']');
    int64_t slots = index->modulus ? index->modulus : index->offset + 1;
    if (!text_failed(p) &&
        (slots < 1 || slots > LIMIT_SLOTS || (index->variable >= 0 && !index->modulus)))
        FAIL(p, "the slot of a transfer is a number, or a loop variable modulo one");
    uint32_t handle = step_find_handle(step, name);
    if (handle == NO_ID)
        handle = step_add_handle(p->program->arena, step, name, slots);
    if (step->handles[handle].slots < slots)
        step->handles[handle].slots = slots;
    return handle;
}

// Handles are declared by their first use, with as many slots as any use of them needs.
// Which of a tensor's dimensions.
static int parse_place(struct parser *p) {
    uint32_t begin = p->token.begin;
    int64_t place = text_integer(p);
    if (place < 0 || place >= MAX_RANK)
        text_fail_at(p, begin, p->last_end, "a dimension is one of 0 .. %d", MAX_RANK - 1);
    return text_failed(p) ? 0 : (int)place;
}

// A message has one end here: `x`; what else travels goes from one place to another: `x -> y`.
static struct transfer_piece parse_piece(struct parser *p, const struct exchange *exchange) {
    struct reference from = parse_reference(p);
    if (exchange_is_message(exchange))
        return (struct transfer_piece){from, from};
    text_expect(p, ARROW);
    return (struct transfer_piece){from, parse_reference(p)};
}

static void parse_start(struct parser *p, struct step *step, struct transfer *start) {
    struct exchange *exchange = &start->exchange;
    exchange->kind =
        text_choice(p, collective_names, N_COLLECTIVES, "a collective, a message or a copy");
    if (!is_copy(start)) {
        text_expect_word(p, "over");
        exchange->axes = text_axes(p);
    }
    exchange->dim = exchange->concat_dim = -1;
    exchange->peer = -1;
    if (exchange_is_message(exchange)) {
        text_expect_word(p, exchange->kind == COLLECTIVE_SEND ? "to" : "from");
        exchange->peer = text_integer(p);
    }
    if (text_accept_word(p, "dim"))
        exchange->dim = parse_place(p);
    if (text_accept_word(p, "concat_dim"))
        exchange->concat_dim = parse_place(p);
    if (text_accept_word(p, "shift"))
        exchange->shift = text_integer(p);
    if (text_accept_word(p, "operation"))
        exchange->operation =
            (enum operation)text_choice(p, operation_names, N_OPERATIONS, "an operation");
    text_expect_word(p, "as");
    start->handle = parse_handle(p, step, &start->handle_index);
    text_expect(p, '{');
    uint32_t cap = 0;
    do
        ARENA_PUSH(p->arena, start->pieces, start->n_pieces, cap, parse_piece(p, exchange));
    while (!text_failed(p) && text_accept(p, ','));
    text_expect(p, '}');
}

static void parse_free(struct parser *p, struct statement *statement) {
    uint32_t cap = 0;
    do
        ARENA_PUSH(p->arena, statement->free.items, statement->free.n_items, cap,
                   parse_reference(p));
    while (!text_failed(p) && text_accept(p, ','));
}

// `F 3 m`: what it is, of which stage and which microbatch; `end`.
static void parse_task(struct parser *p, struct task_label *task) {
    int kind = 0;
    if (text_accept_word(p, "end")) {
        *task = (struct task_label){.kind = N_TASK_KINDS, .microbatch = index_constant(0)};
        return;
    }
    while (kind < N_TASK_KINDS && (p->token.kind != TOKEN_WORD || strlen(p->token.text) != 1 ||
                                   p->token.text[0] != task_letters[kind]))
        kind++;
    if (kind == N_TASK_KINDS) {
        FAIL(p, "expected what a task is here: F, B, I or W; or `end`");
        return;
    }
    text_advance(p);
    uint32_t begin = p->token.begin;
    int64_t stage = text_integer(p);
    if (stage < 0 || stage > LIMIT_COUNTED)
        text_fail_at(p, begin, p->last_end, "stages are numbered from 0 to %d", LIMIT_COUNTED);
    *task = (struct task_label){(enum task_kind)kind, (uint32_t)stage, parse_index(p)};
}

static void parse_block(struct parser *p, struct step *step, struct block *block);

static int64_t parse_count(struct parser *p) {
    struct token at = p->token;
    int64_t count = text_integer(p);
    if (count > LIMIT_COUNTED)
        text_fail_at(p, at.begin, at.end, "a loop is followed up to %d at most", LIMIT_COUNTED);
    return count;
}

// `3`, or `2*g`, `2*g+3` where g is the variable of the loop right around: what stands before it is
// the stride.
static int64_t parse_bound(struct parser *p, int64_t *stride) {
    int64_t bound = parse_count(p);
    *stride = 0;
    if (!text_accept(p, '*'))
        return bound;
    *stride = bound;
    if (p->depth == 0 || p->token.kind != TOKEN_WORD ||
        strcmp(p->variables[p->depth - 1], p->token.text) != 0 || bound < 1) {
        FAIL(p, "a loop goes with the variable of the loop right around it, by a stride of at "
                "least 1");
        return 0;
    }
    text_advance(p);
    return text_accept(p, '+') ? parse_count(p) : 0;
}

// Variables are numbered by depth, so a name is needed while its loop is open only.
static void parse_loop(struct parser *p, struct step *step, struct loop *loop) {
    loop->name = text_name(p, "a loop variable");
    text_expect(p, '=');
    int64_t stride;
    loop->begin = parse_bound(p, &loop->stride);
    text_expect(p, RANGE);
    loop->end = parse_bound(p, &stride);
    loop->descending = text_accept_word(p, "descending");
    if (!text_failed(p) && stride != loop->stride)
        FAIL(p, "a loop begins and ends by the same stride");
    if (loop->begin < 0 || loop->end < loop->begin)
        FAIL(p,
             loop->begin < 0 ? "a loop begins at 0 or above" : "this loop ends before it begins");
    if (p->depth == LIMIT_LOOP_DEPTH) {
        FAIL(p, "loops are nested too deeply");
        return;
    }
    p->variables[p->depth++] = loop->name;
    text_expect(p, '{');
    parse_block(p, step, &loop->body);
    text_expect(p, '}');
    p->depth--;
}

static void expect_statement(struct parser *p) {
    static const char *const words[] = {"for", "call", "start", "wait", "zero", "free", "task"};
    text_meant(p, &p->token, TABLE(words, sizeof words / sizeof *words));
    FAIL(p, "expected a statement here: for, call, start, wait, zero, free or task");
}

// Parses up to the block's brace. A statement has the span of its text, a loop with its body.
static void parse_block(struct parser *p, struct step *step, struct block *block) {
    while (!text_failed(p) && !text_at(p, '}') && p->token.kind != TOKEN_END) {
        uint32_t begin = p->token.begin;
        struct statement statement = {0};
        if (text_accept_word(p, "for")) {
            statement.kind = STATEMENT_LOOP;
            parse_loop(p, step, &statement.loop);
        } else if (text_accept_word(p, "call")) {
            statement.kind = STATEMENT_CALL;
            parse_call(p, &statement);
        } else if (text_accept_word(p, "start")) {
            statement.kind = STATEMENT_START;
            parse_start(p, step, &statement.start);
        } else if (text_accept_word(p, "wait")) {
            statement.kind = STATEMENT_WAIT;
            statement.wait.handle = parse_handle(p, step, &statement.wait.index);
        } else if (text_accept_word(p, "zero")) {
            statement.kind = STATEMENT_ZERO;
            statement.zero = parse_reference(p);
        } else if (text_accept_word(p, "free")) {
            statement.kind = STATEMENT_FREE;
            parse_free(p, &statement);
        } else if (text_accept_word(p, "task")) {
            statement.kind = STATEMENT_TASK;
            parse_task(p, &statement.task);
        } else {
            expect_statement(p);
        }
        statement.span = text_span(p, begin);
        if (!text_failed(p))
            block_push(p->program->arena, block, statement);
    }
}

// `train` and `evaluate`, each at most once.
void parse_step(struct parser *p, enum step_kind kind) {
    struct step *step = &p->program->steps[kind];
    uint32_t begin = p->token.begin;
    text_advance(p);
    if (step->present)
        text_fail_at(p, begin, p->last_end, "`%s` is given twice", step_names[kind]);
    step->present = true;
    text_expect(p, '{');
    parse_block(p, step, &step->body);
    text_expect(p, '}');
    step->span = text_span(p, begin);
}
