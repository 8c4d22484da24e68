// Reads the body of a unit: parameters, operations, results.
#include "ir/parse.h"

#include <string.h>

// Only what stands above: the order of the text is the order of computation.
static value_id parse_value_use(struct parser *p, const struct unit *unit) {
    value_id value = p->token.kind == TOKEN_VALUE ? unit_find_value(unit, p->token.text) : NO_ID;
    if (value == NO_ID) {
        if (p->token.kind == TOKEN_VALUE)
            text_meant(p, &p->token, COLUMN(unit->values, unit->n_values, name));
        FAIL(p, "`%s` is not a value defined above", p->token.text);
        return 0;
    }
    text_advance(p);
    return value;
}

// `name=value`, the value's form as attributes.def says of the name. Whether the op takes it, and
// all that it needs, job_check asks.
static void parse_attribute(struct parser *p, struct op *op) {
    struct token at = p->token;
    struct attribute attribute = {
        .name = text_choice(p, attribute_names, N_ATTRIBUTES, "an attribute")};
    text_expect(p, '=');
    switch (attribute_kinds[attribute.name]) {
    case KIND_INTEGER:
        attribute.integer = text_integer(p);
        break;
    case KIND_REAL:
        attribute.real = text_real(p);
        break;
    case KIND_WORD:
        if (p->token.kind == TOKEN_STRING && strlen(p->token.text) > 64)
            FAIL(p, "a word of an attribute has at most 64 characters");
        attribute.word = text_string(p);
        break;
    case KIND_AXES:
        attribute.axes = text_axes(p);
        break;
    case KIND_DIMENSION:
        attribute.integer = text_choice(p, dimension_names, N_DIMENSIONS, "a dimension");
        break;
    }
    if (op_attribute(op, attribute.name))
        text_fail_at(p, at.begin, at.end, "attribute `%s` is given twice", at.text);
    if (!text_failed(p) && op->n_attributes < UINT8_MAX)
        op_set(p->program->arena, op, attribute);
}

// Where a plan puts the value; none of the words: not planned yet.
static void parse_storage(struct parser *p, const struct unit *unit, struct value *value) {
    if (text_accept_word(p, "out")) {
        value->storage = STORAGE_RESULT;
    } else if (text_accept_word(p, "inline")) {
        value->storage = STORAGE_INLINE;
    } else if (text_accept_word(p, "at")) {
        value->storage = STORAGE_FRAME;
        value->offset_bytes = text_bytes(p);
    } else if (text_accept_word(p, "in")) {
        value->storage = STORAGE_IN_PLACE;
        value->base = parse_value_use(p, unit);
    }
}

// `%a, %b = ...`: names are new, and belong to values only when the op is complete.
static unsigned parse_result_names(struct parser *p, const struct unit *unit,
                                   const char *names[MAX_RESULTS]) {
    unsigned n = 0;
    do {
        if (n == MAX_RESULTS || p->token.kind != TOKEN_VALUE || !*p->token.text) {
            static const char *const words[] = {"parameter", "result", "phase", "frame"};
            text_meant(p, &p->token, TABLE(words, sizeof words / sizeof *words));
            FAIL(p, "expected `%%name = op(...)` here");
            return 0;
        }
        if (unit_find_value(unit, p->token.text) != NO_ID)
            FAIL(p, "value `%%%s` is defined twice", p->token.text);
        names[n++] = p->token.text;
        text_advance(p);
    } while (text_accept(p, ','));
    return n;
}

// `%y = op(%a, %b) {attributes} : type storage, ... role ROLE`. Operands and results are as many as
// the row of the op has. Types are read, not inferred: a text that says the wrong one is to be told
// so.
static void parse_op(struct parser *p, struct unit *unit) {
    uint32_t begin = p->token.begin;
    const char *names[MAX_RESULTS];
    unsigned n_names = parse_result_names(p, unit, names);
    text_expect(p, '=');
    struct op op = {0};
    int kind = p->token.kind == TOKEN_WORD ? op_find(p->token.text) : -1;
    if (kind < 0) {
        text_meant(p, &p->token, COLUMN(op_rows, (size_t)N_OPS, text));
        FAIL(p, "`%s` is not an op", p->token.text);
        return;
    }
    op.kind = kind;
    if (n_names != op_result_count(kind))
        FAIL(p, "`%s` has %u results", op_rows[kind].text, op_result_count(kind));
    text_advance(p);
    text_expect(p, '(');
    while (!text_failed(p) && !text_at(p, ')')) {
        if (op.n_operands == op_operand_count(kind)) {
            FAIL(p, "`%s` has %u operands", op_rows[kind].text, op_operand_count(kind));
            return;
        }
        op.operands[op.n_operands++] = parse_value_use(p, unit);
        if (!text_accept(p, ','))
            break;
    }
    if (!text_failed(p) && op.n_operands != op_operand_count(kind))
        FAIL(p, "`%s` has %u operands", op_rows[kind].text, op_operand_count(kind));
    text_expect(p, ')');
    if (text_accept(p, '{')) {
        do
            parse_attribute(p, &op);
        while (!text_failed(p) && text_accept(p, ','));
        text_expect(p, '}');
    }
    text_expect(p, ':');
    struct value results[MAX_RESULTS];
    for (unsigned i = 0; i < n_names && !text_failed(p); i++) {
        if (i)
            text_expect(p, ',');
        results[i] = (struct value){.name = names[i], .type = text_type(p), .base = NO_ID};
        parse_storage(p, unit, &results[i]);
    }
    if (text_accept_word(p, "role"))
        op.n_roles = (uint8_t)text_roles(p, op.roles);
    op.span = text_span(p, begin);
    if (unit->n_ops == LIMIT_UNIT_OPS)
        text_fail_at(p, begin, p->last_end, "a unit has at most %d ops", LIMIT_UNIT_OPS);
    if (text_failed(p))
        return;
    op.n_results = (uint8_t)n_names;
    for (unsigned i = 0; i < n_names; i++)
        op.results[i] = unit_add_value(p->program->arena, unit, results[i]);
    ARENA_PUSH(p->arena, unit->ops, unit->n_ops, unit->cap_ops, op);
}

// `parameter consumed %x : type`
static void parse_parameter(struct parser *p, struct unit *unit) {
    bool consumed = text_accept_word(p, "consumed");
    const char *name = p->token.text;
    if (p->token.kind != TOKEN_VALUE || unit_find_value(unit, name) != NO_ID)
        FAIL(p, "expected a new `%%name` here");
    text_advance(p);
    text_expect(p, ':');
    struct tensor_type type = text_type(p);
    if (!text_failed(p))
        unit_add_parameter(p->program->arena, unit, name, type, consumed);
}

// Results are named before their values are defined, so they are resolved at the end of the unit.
struct pending_result {
    struct token value, parameter;
};

static void resolve_result(struct parser *p, struct unit *unit,
                           const struct pending_result *pending) {
    value_id value = unit_find_value(unit, pending->value.text);
    uint32_t parameter = NO_ID;
    if (value == NO_ID) {
        text_meant(p, &pending->value, COLUMN(unit->values, unit->n_values, name));
        text_fail_at(p, pending->value.begin, pending->value.end,
                     "`%%%s` is not a value of this unit", pending->value.text);
    }
    for (uint32_t i = 0; i < unit->n_results && value != NO_ID; i++)
        if (unit->results[i].value == value)
            text_fail_at(p, pending->value.begin, pending->value.end,
                         "result `%%%s` is given twice", pending->value.text);
    if (pending->parameter.kind == TOKEN_VALUE) {
        parameter = unit_find_value(unit, pending->parameter.text);
        if (parameter == NO_ID || parameter >= unit->n_parameters) {
            text_meant(p, &pending->parameter, COLUMN(unit->values, unit->n_parameters, name));
            text_fail_at(p, pending->parameter.begin, pending->parameter.end,
                         "`%%%s` is not a parameter of this unit", pending->parameter.text);
        }
    }
    if (!text_failed(p))
        unit_add_result(p->program->arena, unit, value, parameter);
}

// The bytes that a plan gives the unit for its values, and the buffer that they are in: one of this
// name, in every part that has it.
static void parse_frame(struct parser *p, struct unit *unit, uint32_t id) {
    unit->frame_bytes = text_bytes(p);
    if (!text_accept_word(p, "of"))
        return;
    struct token at = p->token;
    const char *name = text_name(p, "a buffer");
    bool found = false;
    for (uint32_t i = 0; i < p->job->n_programs; i++) {
        buffer_id frame = text_find_buffer(p, p->job->programs[i], name);
        program_set_frame(p->job->programs[i], id, frame);
        found |= frame != NO_ID;
    }
    if (!found) {
        text_meant(p, &at, COLUMN(p->program->buffers, p->program->n_buffers, name));
        text_fail_at(p, at.begin, at.end, "there is no buffer of this name");
    }
}

// One of the lines that stand once.
static bool accept_once(struct parser *p, const char *word, bool *given) {
    if (!text_at_word(p, word))
        return false;
    if (*given)
        FAIL(p, "`%s` is given twice", word);
    *given = true;
    text_advance(p);
    return true;
}

static struct token value_here(struct parser *p) {
    struct token token = p->token;
    if (token.kind != TOKEN_VALUE)
        FAIL(p, "expected a `%%name` here");
    text_advance(p);
    return token;
}

// `result %y in %x`
static struct pending_result parse_result(struct parser *p) {
    struct pending_result result = {.value = value_here(p)};
    if (text_accept_word(p, "in"))
        result.parameter = value_here(p);
    return result;
}

void parse_unit_body(struct parser *p, struct unit *unit, uint32_t id) {
    struct pending_result *pending = NULL;
    uint32_t n_pending = 0, cap_pending = 0;
    bool phase = false, frame = false;
    text_expect(p, '{');
    while (!text_failed(p) && !text_at(p, '}')) {
        if (text_accept_word(p, "parameter")) {
            if (unit->n_ops)
                FAIL(p, "parameters stand before the ops");
            parse_parameter(p, unit);
        } else if (text_accept_word(p, "result")) {
            ARENA_PUSH(p->arena, pending, n_pending, cap_pending, parse_result(p));
        } else if (accept_once(p, "phase", &phase)) {
            unit->phase = text_choice(p, phase_names, N_PHASES, "a phase of training");
        } else if (accept_once(p, "frame", &frame)) {
            parse_frame(p, unit, id);
        } else {
            parse_op(p, unit);
        }
    }
    text_expect(p, '}');
    for (uint32_t i = 0; i < n_pending && !text_failed(p); i++)
        resolve_result(p, unit, &pending[i]);
}
