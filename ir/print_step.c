// Schedules: loops, calls, transfers; parse_step.c reads them.
#include <string.h>

#include "ir/check.h"
#include "ir/print.h"

static const char *index_text(struct printer *p, struct index index) {
    CHECK(index.variable < p->depth);
    const char *text = index.variable < 0 ? "" : p->variables[(int)index.variable];
    if (index.offset || index.variable < 0)
        text = arena_format(&p->scratch, *text && index.offset > 0 ? "%s+%d" : "%s%d", text,
                            index.offset);
    return index.modulus ? arena_format(&p->scratch, "%s mod %d", text, index.modulus) : text;
}

static const char *reference_text(struct printer *p, struct reference reference) {
    const struct buffer *buffer = &p->program->buffers[reference.buffer];
    const char *text = buffer->name;
    for (unsigned i = 0; i < buffer->stacks.n; i++)
        text = arena_format(&p->scratch, "%s[%s]", text, index_text(p, reference.indices[i]));
    return text;
}

static void put_argument(struct printer *p, const char *name, struct reference reference,
                         bool first) {
    const char *text = reference_text(p, reference);
    put(p, first ? "" : ",");
    break_before(p, (int)(strlen(name) + strlen(text)) + 6);
    put(p, "%s%s = %s", first ? "" : " ", name, text);
}

// Every argument by the unit's name for it. Results in a parameter's place are not said twice.
static void print_call(struct printer *p, const struct call *call) {
    const struct unit *unit = &p->job->units[call->unit];
    put(p, "call %s(", unit->name);
    for (uint32_t i = 0; i < unit->n_parameters; i++)
        put_argument(p, unit->values[i].name, call->operands[i], i == 0);
    put(p, ")");
    bool first = true;
    for (uint32_t i = 0; i < unit->n_results; i++) {
        if (unit->results[i].in_parameter != NO_ID)
            continue;
        if (first)
            put(p, " -> (");
        put_argument(p, unit->values[unit->results[i].value].name, call->results[i], first);
        first = false;
    }
    if (!first)
        put(p, ")");
}

// All pieces, since each may be edited away; `dim` only where the whole is not cut flat.
static void print_start(struct printer *p, const struct step *step, const struct transfer *start) {
    const struct exchange *exchange = &start->exchange;
    put(p, "start %s", collective_names[exchange->kind]);
    put(p, is_copy(start) ? "" : " over ");
    put_axes(p, &exchange->axes);
    if (exchange_is_message(exchange))
        put(p, " %s %" PRId64, exchange->kind == COLLECTIVE_SEND ? "to" : "from", exchange->peer);
    if (exchange->dim >= 0)
        put(p, " dim %d", exchange->dim);
    if (exchange->concat_dim >= 0)
        put(p, " concat_dim %d", exchange->concat_dim);
    if (exchange->kind == COLLECTIVE_PERMUTE)
        put(p, " shift %" PRId64, exchange->shift);
    if (exchange->operation)
        put(p, " operation %s", operation_names[exchange->operation]);
    put(p, " as %s[%s] {", step->handles[start->handle].name, index_text(p, start->handle_index));
    for (uint32_t i = 0; i < start->n_pieces; i++) {
        const char *from = reference_text(p, start->pieces[i].from);
        const char *to = reference_text(p, start->pieces[i].to);
        put(p, i ? "," : "");
        if (exchange_is_message(exchange)) {
            break_before(p, (int)strlen(from) + 4);
            put(p, " %s", from);
            continue;
        }
        break_before(p, (int)(strlen(from) + strlen(to)) + 8);
        put(p, " %s -> %s", from, to);
    }
    put(p, " }");
}

static void print_block(struct printer *p, const struct step *step, const struct block *block);

// `3`, or of a loop that goes with the one around it `2*g+3`.
static const char *bound_text(struct printer *p, const struct loop *loop, int64_t bound) {
    if (!loop->stride)
        return arena_format(&p->scratch, "%" PRId64, bound);
    CHECK(p->depth > 0);
    const char *base =
        arena_format(&p->scratch, "%" PRId64 "*%s", loop->stride, p->variables[p->depth - 1]);
    return bound ? arena_format(&p->scratch, "%s+%" PRId64, base, bound) : base;
}

static void print_loop(struct printer *p, const struct step *step, const struct loop *loop,
                       struct span span) {
    put(p, "for %s = %s .. %s%s {", loop->name, bound_text(p, loop, loop->begin),
        bound_text(p, loop, loop->end), loop->descending ? " descending" : "");
    put_spanned_end(p, span);
    CHECK(p->depth < LIMIT_LOOP_DEPTH);
    p->variables[p->depth++] = loop->name;
    p->indent++;
    print_block(p, step, &loop->body);
    p->indent--;
    p->depth--;
    put(p, "}");
    end_line(p);
}

static void print_free(struct printer *p, const struct statement *statement) {
    put(p, "free");
    for (uint32_t i = 0; i < statement->free.n_items; i++) {
        const char *text = reference_text(p, statement->free.items[i]);
        put(p, i ? "," : "");
        break_before(p, (int)strlen(text) + 2);
        put(p, " %s", text);
    }
}

static void print_statement(struct printer *p, const struct step *step,
                            const struct statement *statement) {
    switch (statement->kind) {
    case STATEMENT_LOOP:
        print_loop(p, step, &statement->loop, statement->span);
        return;
    case STATEMENT_CALL:
        print_call(p, &statement->call);
        break;
    case STATEMENT_START:
        print_start(p, step, &statement->start);
        break;
    case STATEMENT_WAIT:
        put(p, "wait %s[%s]", step->handles[statement->wait.handle].name,
            index_text(p, statement->wait.index));
        break;
    case STATEMENT_ZERO:
        put(p, "zero %s", reference_text(p, statement->zero));
        break;
    case STATEMENT_FREE:
        print_free(p, statement);
        break;
    case STATEMENT_TASK:
        if (statement->task.kind == N_TASK_KINDS)
            put(p, "task end");
        else
            put(p, "task %c %" PRIu32 " %s", task_letters[statement->task.kind],
                statement->task.stage, index_text(p, statement->task.microbatch));
        break;
    }
    put_spanned_end(p, statement->span);
}

static void print_block(struct printer *p, const struct step *step, const struct block *block) {
    for (uint32_t i = 0; i < block->n; i++)
        print_statement(p, step, &block->statements[i]);
}

void print_step(struct printer *p, enum step_kind kind) {
    const struct step *step = &p->program->steps[kind];
    put(p, "%s {", step_names[kind]);
    put_spanned_end(p, step->span);
    p->indent++;
    print_block(p, step, &step->body);
    p->indent--;
    put(p, "}");
    end_line(p);
}
