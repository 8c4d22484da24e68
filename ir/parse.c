// Reads the text form of programs that print.c prints (docs/program.md), by recursive descent.
//
// The first error is kept and turns every later token into the end of the text, so that the
// functions below need not test for failure after each step: they wind down, and the caller looks
// once.
#include "ir/ir.h"

#include <inttypes.h>
#include <string.h>

#include "ir/check.h"
#include "ir/limits.h"
#include "ir/parse_tokens.h"

static bool failed(const struct parser *p) {
    return p->error->message != NULL;
}

// ---- small pieces -----------------------------------------------------------------------------

static bool at_punctuation(const struct parser *p, char c) {
    return p->token.kind == TOKEN_PUNCTUATION && p->token.punctuation == c;
}

static bool accept(struct parser *p, char c) {
    if (!at_punctuation(p, c))
        return false;
    text_advance(p);
    return true;
}

static void expect(struct parser *p, char c) {
    if (accept(p, c))
        return;
    if (c == ARROW)
        FAIL(p, "expected `->` here");
    else if (c == RANGE)
        FAIL(p, "expected `..` here");
    else
        FAIL(p, "expected `%c` here", c);
}

static bool at_word(const struct parser *p, const char *word) {
    return p->token.kind == TOKEN_WORD && strcmp(p->token.text, word) == 0;
}

static bool accept_word(struct parser *p, const char *word) {
    if (!at_word(p, word))
        return false;
    text_advance(p);
    return true;
}

static void expect_word(struct parser *p, const char *word) {
    if (!accept_word(p, word))
        FAIL(p, "expected `%s` here", word);
}

static const char *parse_word(struct parser *p, const char *what) {
    const char *text = p->token.text;
    if (p->token.kind != TOKEN_WORD)
        FAIL(p, "expected the name of %s here", what);
    else
        text_advance(p);
    return text;
}

static int64_t parse_integer(struct parser *p) {
    int64_t value = p->token.integer;
    if (p->token.kind != TOKEN_NUMBER || strpbrk(p->token.text, ".eE")) {
        FAIL(p, "expected a whole number here");
        return 0;
    }
    if (value > INT64_MAX / 4096 || value < INT64_MIN / 4096) {
        FAIL(p, "`%s` is too large", p->token.text);
        return 0;
    }
    text_advance(p);
    return value;
}

static double parse_real(struct parser *p) {
    double value = p->token.real;
    if (p->token.kind != TOKEN_NUMBER)
        FAIL(p, "expected a number here");
    else
        text_advance(p);
    return value;
}

static const char *parse_string(struct parser *p) {
    const char *text = p->token.text;
    if (p->token.kind != TOKEN_STRING)
        FAIL(p, "expected a string here");
    else
        text_advance(p);
    return text;
}

// A name from one of the closed tables.
static int parse_choice(struct parser *p, const char *const *names, int n, const char *what) {
    int found = p->token.kind == TOKEN_WORD ? table_find(names, n, p->token.text) : -1;
    if (found < 0) {
        FAIL(p, "`%s` is not %s", p->token.text, what);
        return 0;
    }
    text_advance(p);
    return found;
}

static enum dtype parse_dtype(struct parser *p) {
    return parse_choice(p, dtype_names, N_DTYPES, "an element type");
}

static struct axis_list parse_axes(struct parser *p) {
    struct axis_list axes = {0};
    do {
        int axis =
            p->token.kind == TOKEN_WORD ? mesh_find_axis(&p->program->mesh, p->token.text) : -1;
        if (axis < 0)
            FAIL(p, "`%s` is not an axis of this mesh", p->token.text);
        else if (axis_list_mask(&axes) >> axis & 1)
            FAIL(p, "axis `%s` stands twice in this product", p->token.text);
        else
            axes.axes[axes.n++] = (uint8_t)axis;
        text_advance(p);
    } while (!failed(p) && accept(p, '*'));
    return axes;
}

// [hidden=128, heads=4/tp]; cuts only where `layout` is given.
static unsigned parse_dims(struct parser *p, struct dim dims[MAX_RANK], struct layout *layout) {
    unsigned rank = 0;
    expect(p, '[');
    while (!failed(p) && !at_punctuation(p, ']')) {
        if (rank == MAX_RANK) {
            FAIL(p, "a tensor has at most %d dimensions", MAX_RANK);
            break;
        }
        dims[rank].dimension = parse_choice(p, dimension_names, N_DIMENSIONS, "a dimension");
        expect(p, '=');
        if (p->token.kind == TOKEN_NUMBER && p->token.integer <= 0)
            FAIL(p, "a dimension has at least one element");
        dims[rank].size = parse_integer(p);
        if (layout && accept(p, '/')) {
            uint32_t begin = p->token.begin;
            layout->cuts[rank] = parse_axes(p);
            if (!failed(p) &&
                dims[rank].size % mesh_group_size(&p->program->mesh, &layout->cuts[rank]))
                text_fail_at(p, begin, p->last_end, "these axes do not divide %" PRId64,
                             dims[rank].size);
        }
        rank++;
        if (!accept(p, ','))
            break;
    }
    expect(p, ']');
    return rank;
}

static struct tensor_type parse_type(struct parser *p) {
    struct tensor_type type = {.dtype = parse_dtype(p)};
    type.rank = (uint8_t)parse_dims(p, type.dims, NULL);
    int64_t elements = 1;
    for (unsigned i = 0; i < type.rank; i++)
        if (__builtin_mul_overflow(elements, type.dims[i].size, &elements) ||
            elements > INT64_MAX / 4096)
            FAIL(p, "this tensor is too large");
    return type;
}

static unsigned parse_roles(struct parser *p, uint8_t roles[MAX_ROLES]) {
    unsigned n = 0;
    const char *path = p->token.text;
    if (p->token.kind != TOKEN_WORD) {
        FAIL(p, "expected a role here");
        return 0;
    }
    while (*path && !failed(p)) {
        size_t length = strcspn(path, ".");
        const char *name = arena_string(p->arena, path, length);
        int role = table_find(role_names, N_ROLES, name);
        if (role <= 0 || n == MAX_ROLES)
            FAIL(p, "`%s` is not a role", name);
        else
            roles[n++] = (uint8_t)role;
        path += length + (path[length] == '.');
    }
    text_advance(p);
    return n;
}

static struct span span_from(const struct parser *p, uint32_t begin) {
    return (struct span){p->source, begin, p->last_end > begin ? p->last_end : begin + 1};
}

// ---- header -----------------------------------------------------------------------------------

static void parse_axis(struct parser *p) {
    struct mesh *mesh = &p->program->mesh;
    uint32_t begin = p->token.begin;
    struct mesh_axis axis = {.name = parse_word(p, "an axis")};
    if (mesh->n_axes == MAX_AXES || mesh_find_axis(mesh, axis.name) >= 0)
        text_fail_at(p, begin, p->last_end, "axis `%s` is declared twice, or is one too many",
                     axis.name);
    expect(p, '=');
    axis.size = parse_integer(p);
    if (axis.size < 1 || axis.size > INT32_MAX)
        text_fail_at(p, begin, p->last_end, "an axis has at least one device");
    if (accept_word(p, "link")) {
        axis.link_bytes_per_s = parse_real(p);
        axis.link_latency_s = parse_real(p);
    }
    axis.span = span_from(p, begin);
    if (!failed(p))
        mesh->axes[mesh->n_axes++] = axis;
    if (mesh_devices(mesh) > INT32_MAX)
        text_fail_at(p, begin, p->last_end, "this mesh has too many devices");
}

static void parse_product(struct parser *p) {
    struct mesh *mesh = &p->program->mesh;
    uint32_t begin = p->token.begin;
    struct mesh_product product = {.name = parse_word(p, "a product")};
    expect(p, '=');
    product.axes = parse_axes(p);
    product.span = span_from(p, begin);
    if (mesh->n_products == MAX_AXES)
        text_fail_at(p, begin, p->last_end, "too many products");
    if (!failed(p))
        mesh->products[mesh->n_products++] = product;
}

static int64_t parse_field(struct parser *p, const char *name) {
    expect_word(p, name);
    expect(p, '=');
    return parse_integer(p);
}

static void parse_sizes(struct parser *p) {
    uint32_t begin = p->token.begin;
    struct sizes *sizes = &p->program->sizes;
    sizes->batch = parse_field(p, "batch");
    sizes->sequence = parse_field(p, "sequence");
    sizes->microbatches = parse_field(p, "microbatches");
    sizes->layers = parse_field(p, "layers");
    sizes->vocab = parse_field(p, "vocab");
    p->program->sizes_span = span_from(p, begin);
}

static enum dtype parse_dtype_field(struct parser *p, const char *name) {
    expect_word(p, name);
    expect(p, '=');
    return parse_dtype(p);
}

static void parse_policy(struct parser *p) {
    uint32_t begin = p->token.begin;
    struct policy *policy = &p->program->policy;
    policy->parameters = parse_dtype_field(p, "parameters");
    policy->master = parse_dtype_field(p, "master");
    policy->moments = parse_dtype_field(p, "moments");
    policy->gradients = parse_dtype_field(p, "gradients");
    policy->compute = parse_dtype_field(p, "compute");
    policy->accumulate = parse_dtype_field(p, "accumulate");
    policy->gather = parse_dtype_field(p, "gather");
    policy->reduce = parse_dtype_field(p, "reduce");
    policy->reproducible = parse_field(p, "reproducible");
    p->program->policy_span = span_from(p, begin);
}

static void parse_tensor(struct parser *p) {
    uint32_t begin = p->token.begin;
    struct tensor tensor = {.name = parse_word(p, "a tensor"), .trainable = true};
    if (program_find_tensor(p->program, tensor.name) != NO_ID)
        text_fail_at(p, begin, p->last_end, "tensor `%s` is declared twice", tensor.name);
    tensor.rank = (uint8_t)parse_dims(p, tensor.dims, NULL);
    if (accept_word(p, "role"))
        tensor.n_roles = (uint8_t)parse_roles(p, tensor.roles);
    if (accept_word(p, "layers"))
        tensor.layers = parse_integer(p);
    expect_word(p, "init");
    tensor.init = parse_choice(p, init_names, N_INITS, "a way to initialise");
    if (tensor.init == INIT_NORMAL)
        tensor.init_std = parse_real(p);
    if (accept_word(p, "frozen"))
        tensor.trainable = false;
    if (accept_word(p, "saved"))
        tensor.saved_name = parse_string(p);
    if (accept_word(p, "columns")) {
        tensor.saved_columns_begin = parse_integer(p);
        tensor.saved_columns = parse_integer(p);
    }
    if (accept_word(p, "transposed"))
        tensor.saved_transposed = true;
    tensor.span = span_from(p, begin);
    if (!failed(p))
        program_add_tensor(p->program, tensor);
}

static void parse_stack(struct parser *p, struct buffer *buffer) {
    static const char *const names[] = {"layers", "microbatches", "slots"};
    buffer->count = 1;
    for (int i = 0; i < 3; i++)
        if (accept_word(p, names[i])) {
            buffer->stack = STACK_LAYERS + i;
            buffer->count = parse_integer(p);
            if (buffer->count < 1)
                FAIL(p, "a buffer has at least one item");
        }
}

static void parse_buffer(struct parser *p) {
    uint32_t begin = p->token.begin;
    struct buffer buffer = {
        .name = parse_word(p, "a buffer"), .tensor = NO_ID, .window_of = NO_ID, .offset_bytes = -1};
    if (program_find_buffer(p->program, buffer.name) != NO_ID)
        text_fail_at(p, begin, p->last_end, "buffer `%s` is declared twice", buffer.name);
    expect(p, ':');
    buffer.class = parse_choice(p, class_names, N_CLASSES, "a class of buffers");
    buffer.dtype = parse_dtype(p);
    buffer.rank = (uint8_t)parse_dims(p, buffer.dims, &buffer.layout);
    if (accept_word(p, "flat")) {
        expect(p, '/');
        buffer.layout.flat = parse_axes(p);
    }
    if (accept_word(p, "of")) {
        uint32_t at = p->token.begin;
        buffer.tensor = program_find_tensor(p->program, parse_word(p, "a tensor"));
        if (buffer.tensor == NO_ID)
            text_fail_at(p, at, p->last_end, "there is no tensor of this name");
    }
    parse_stack(p, &buffer);
    if (accept_word(p, "pad"))
        buffer.pad_elements = parse_integer(p);
    if (accept_word(p, "window")) {
        expect_word(p, "of");
        uint32_t at = p->token.begin;
        buffer.window_of = program_find_buffer(p->program, parse_word(p, "a buffer"));
        if (buffer.window_of == NO_ID)
            text_fail_at(p, at, p->last_end, "there is no buffer of this name above");
    }
    if (accept_word(p, "at"))
        buffer.offset_bytes = parse_integer(p);
    buffer.span = span_from(p, begin);
    if (!failed(p))
        program_add_buffer(p->program, buffer);
}

// ---- units ------------------------------------------------------------------------------------

static value_id parse_value_use(struct parser *p, const struct unit *unit) {
    value_id value = p->token.kind == TOKEN_VALUE ? unit_find_value(unit, p->token.text) : NO_ID;
    if (value == NO_ID) {
        FAIL(p, "`%s` is not a value defined above", p->token.text);
        return 0;
    }
    text_advance(p);
    return value;
}

static void parse_attribute(struct parser *p, struct op *op) {
    struct attribute attribute = {
        .name = parse_choice(p, attribute_names, N_ATTRIBUTES, "an attribute")};
    expect(p, '=');
    switch (attribute_kinds[attribute.name]) {
    case KIND_INTEGER:
        attribute.integer = parse_integer(p);
        break;
    case KIND_REAL:
        attribute.real = parse_real(p);
        break;
    case KIND_WORD:
        if (p->token.kind == TOKEN_STRING && strlen(p->token.text) > 64)
            FAIL(p, "a word of an attribute has at most 64 characters");
        attribute.word = parse_string(p);
        break;
    case KIND_AXES:
        attribute.axes = parse_axes(p);
        break;
    case KIND_DIMENSION:
        attribute.integer = parse_choice(p, dimension_names, N_DIMENSIONS, "a dimension");
        break;
    }
    if (!failed(p) && op->n_attributes < UINT8_MAX)
        op_set(p->program, op, attribute);
}

static void parse_storage(struct parser *p, const struct unit *unit, struct value *value) {
    if (accept_word(p, "out")) {
        value->storage = STORAGE_RESULT;
    } else if (accept_word(p, "inline")) {
        value->storage = STORAGE_INLINE;
    } else if (accept_word(p, "at")) {
        value->storage = STORAGE_FRAME;
        value->offset_bytes = parse_integer(p);
    } else if (accept_word(p, "in")) {
        value->storage = STORAGE_IN_PLACE;
        value->base = parse_value_use(p, unit);
    }
}

static unsigned parse_result_names(struct parser *p, const struct unit *unit,
                                   const char *names[MAX_RESULTS]) {
    unsigned n = 0;
    do {
        if (n == MAX_RESULTS || p->token.kind != TOKEN_VALUE || !*p->token.text) {
            FAIL(p, "expected `%%name = op(...)` here");
            return 0;
        }
        if (unit_find_value(unit, p->token.text) != NO_ID)
            FAIL(p, "value `%%%s` is defined twice", p->token.text);
        names[n++] = p->token.text;
        text_advance(p);
    } while (accept(p, ','));
    return n;
}

static void parse_op(struct parser *p, struct unit *unit) {
    uint32_t begin = p->token.begin;
    const char *names[MAX_RESULTS];
    unsigned n_names = parse_result_names(p, unit, names);
    expect(p, '=');
    struct op op = {0};
    int kind = p->token.kind == TOKEN_WORD ? op_find(p->token.text) : -1;
    if (kind < 0) {
        FAIL(p, "`%s` is not an op", p->token.text);
        return;
    }
    op.kind = kind;
    if (n_names != op_result_count(kind))
        FAIL(p, "`%s` has %u results", op_rows[kind].text, op_result_count(kind));
    text_advance(p);
    expect(p, '(');
    while (!failed(p) && !at_punctuation(p, ')')) {
        if (op.n_operands == op_operand_count(kind)) {
            FAIL(p, "`%s` has %u operands", op_rows[kind].text, op_operand_count(kind));
            return;
        }
        op.operands[op.n_operands++] = parse_value_use(p, unit);
        if (!accept(p, ','))
            break;
    }
    if (!failed(p) && op.n_operands != op_operand_count(kind))
        FAIL(p, "`%s` has %u operands", op_rows[kind].text, op_operand_count(kind));
    expect(p, ')');
    if (accept(p, '{')) {
        do
            parse_attribute(p, &op);
        while (!failed(p) && accept(p, ','));
        expect(p, '}');
    }
    expect(p, ':');
    struct value results[MAX_RESULTS];
    for (unsigned i = 0; i < n_names && !failed(p); i++) {
        if (i)
            expect(p, ',');
        results[i] = (struct value){.name = names[i], .type = parse_type(p), .base = NO_ID};
        parse_storage(p, unit, &results[i]);
    }
    if (accept_word(p, "role"))
        op.n_roles = (uint8_t)parse_roles(p, op.roles);
    op.span = span_from(p, begin);
    if (failed(p))
        return;
    op.n_results = (uint8_t)n_names;
    for (unsigned i = 0; i < n_names; i++)
        op.results[i] = unit_add_value(p->program, unit, results[i]);
    ARENA_PUSH(p->arena, unit->ops, unit->n_ops, unit->cap_ops, op);
}

static void parse_parameter(struct parser *p, struct unit *unit) {
    bool consumed = accept_word(p, "consumed");
    const char *name = p->token.text;
    if (p->token.kind != TOKEN_VALUE || unit_find_value(unit, name) != NO_ID)
        FAIL(p, "expected a new `%%name` here");
    text_advance(p);
    expect(p, ':');
    struct tensor_type type = parse_type(p);
    if (!failed(p))
        unit_add_parameter(p->program, unit, name, type, consumed);
}

// Results are named before their values are defined, so they are resolved at the end of the unit.
struct pending_result {
    struct token value, parameter;
};

static void resolve_result(struct parser *p, struct unit *unit,
                           const struct pending_result *pending) {
    value_id value = unit_find_value(unit, pending->value.text);
    uint32_t parameter = NO_ID;
    if (value == NO_ID)
        text_fail_at(p, pending->value.begin, pending->value.end,
                     "`%%%s` is not a value of this unit", pending->value.text);
    if (pending->parameter.kind == TOKEN_VALUE) {
        parameter = unit_find_value(unit, pending->parameter.text);
        if (parameter == NO_ID || parameter >= unit->n_parameters)
            text_fail_at(p, pending->parameter.begin, pending->parameter.end,
                         "`%%%s` is not a parameter of this unit", pending->parameter.text);
    }
    if (!failed(p))
        unit_add_result(p->program, unit, value, parameter);
}

static void parse_frame(struct parser *p, struct unit *unit) {
    unit->frame_bytes = parse_integer(p);
    if (accept_word(p, "of")) {
        uint32_t begin = p->token.begin;
        unit->frame = program_find_buffer(p->program, parse_word(p, "a buffer"));
        if (unit->frame == NO_ID)
            text_fail_at(p, begin, p->last_end, "there is no buffer of this name");
    }
}

// From `{` to behind `}`. Buffers must be known, for the frame.
static void parse_unit_body(struct parser *p, struct unit *unit) {
    struct pending_result *pending = NULL;
    uint32_t n_pending = 0, cap_pending = 0;
    expect(p, '{');
    while (!failed(p) && !at_punctuation(p, '}')) {
        if (accept_word(p, "parameter")) {
            if (unit->n_ops)
                FAIL(p, "parameters stand before the ops");
            parse_parameter(p, unit);
        } else if (accept_word(p, "result")) {
            struct pending_result result = {.value = p->token};
            text_advance(p);
            if (accept_word(p, "in")) {
                result.parameter = p->token;
                text_advance(p);
            }
            ARENA_PUSH(p->arena, pending, n_pending, cap_pending, result);
        } else if (accept_word(p, "phase")) {
            unit->phase = parse_choice(p, phase_names, N_PHASES, "a phase of training");
        } else if (accept_word(p, "frame")) {
            parse_frame(p, unit);
        } else {
            parse_op(p, unit);
        }
    }
    expect(p, '}');
    for (uint32_t i = 0; i < n_pending && !failed(p); i++)
        resolve_result(p, unit, &pending[i]);
}

// ---- steps ------------------------------------------------------------------------------------

static struct index parse_index(struct parser *p) {
    struct index index = index_constant(0);
    if (p->token.kind == TOKEN_WORD) {
        index.variable = -1;
        for (int i = 0; i < p->depth; i++)
            if (strcmp(p->variables[i], p->token.text) == 0)
                index.variable = (int8_t)i;
        if (index.variable < 0) {
            FAIL(p, "`%s` is not the variable of a loop around this", p->token.text);
            return index;
        }
        text_advance(p);
        if (accept(p, '+'))
            index.offset = parse_integer(p);
        else if (p->token.kind == TOKEN_NUMBER && p->token.text[0] == '-')
            index.offset = parse_integer(p);
    } else {
        index.offset = parse_integer(p);
    }
    if (accept_word(p, "mod")) {
        index.modulus = parse_integer(p);
        if (index.modulus < 1)
            FAIL(p, "a modulus is at least 1");
    }
    return index;
}

static struct reference parse_reference(struct parser *p) {
    uint32_t begin = p->token.begin, end = p->token.end;
    const char *name = parse_word(p, "a buffer");
    struct reference reference = {.buffer = program_find_buffer(p->program, name),
                                  .index = index_constant(0)};
    if (reference.buffer == NO_ID) {
        text_fail_at(p, begin, end, "there is no buffer `%s`", name);
        reference.buffer = 0;
        return reference;
    }
    bool stacked = p->program->buffers[reference.buffer].stack != STACK_NONE;
    if (stacked != at_punctuation(p, '['))
        text_fail_at(p, begin, end,
                     stacked ? "buffer `%s` has several items: say which, as in `%s[l]`"
                             : "buffer `%s` has one item and takes no index",
                     name, name);
    if (accept(p, '[')) {
        reference.index = parse_index(p);
        expect(p, ']');
    }
    return reference;
}

static void parse_argument_name(struct parser *p, const char *name) {
    if (!at_word(p, name))
        FAIL(p, "expected `%s = ...` here: arguments stand in the order of the unit", name);
    text_advance(p);
    expect(p, '=');
}

static void parse_call(struct parser *p, struct statement *statement) {
    struct token at = p->token;
    uint32_t id = program_find_unit(p->program, parse_word(p, "a unit"));
    if (id == NO_ID) {
        text_fail_at(p, at.begin, at.end, "there is no unit `%s`", at.text);
        return;
    }
    const struct unit *unit = &p->program->units[id];
    struct call *call = &statement->call;
    call->unit = id;
    call->operands = ARENA_ARRAY(p->arena, struct reference, unit->n_parameters);
    call->results = ARENA_ARRAY(p->arena, struct reference, unit->n_results);
    expect(p, '(');
    for (uint32_t i = 0; i < unit->n_parameters && !failed(p); i++) {
        if (i)
            expect(p, ',');
        parse_argument_name(p, unit->values[i].name);
        call->operands[i] = parse_reference(p);
    }
    expect(p, ')');
    bool first = true;
    for (uint32_t i = 0; i < unit->n_results && !failed(p); i++) {
        const struct unit_result *result = &unit->results[i];
        if (result->in_parameter != NO_ID) {
            call->results[i] = call->operands[result->in_parameter];
            continue;
        }
        expect(p, first ? ARROW : ',');
        if (first)
            expect(p, '(');
        first = false;
        parse_argument_name(p, unit->values[result->value].name);
        call->results[i] = parse_reference(p);
    }
    if (!first)
        expect(p, ')');
}

// gather[l+1 mod 2]: the step's handle of that name, with at least as many slots as the index
// needs; what every layer starts may all be in flight at once.
static uint32_t parse_handle(struct parser *p, struct step *step, struct index *index) {
    const char *name = parse_word(p, "a transfer");
    expect(p, '[');
    *index = parse_index(p);
    expect(p, ']');
    int64_t slots = index->modulus ? index->modulus : index->offset + 1;
    if (!failed(p) && (slots < 1 || slots > LIMIT_LAYERS || (index->variable >= 0 && !index->modulus)))
        FAIL(p, "the slot of a transfer is a number, or a loop variable modulo one");
    uint32_t handle = step_find_handle(step, name);
    if (handle == NO_ID)
        handle = step_add_handle(p->program, step, name, slots);
    if (step->handles[handle].slots < slots)
        step->handles[handle].slots = slots;
    return handle;
}

static void parse_start(struct parser *p, struct step *step, struct transfer *start) {
    start->kind = parse_choice(p, collective_names, N_COLLECTIVES, "a collective");
    expect_word(p, "over");
    start->axes = parse_axes(p);
    start->dim = -1;
    if (accept_word(p, "dim"))
        start->dim = (int)parse_integer(p);
    expect_word(p, "as");
    start->handle = parse_handle(p, step, &start->handle_index);
    expect(p, '{');
    uint32_t cap = 0;
    do {
        struct transfer_piece piece = {.from = parse_reference(p)};
        expect(p, ARROW);
        piece.to = parse_reference(p);
        ARENA_PUSH(p->arena, start->pieces, start->n_pieces, cap, piece);
    } while (!failed(p) && accept(p, ','));
    expect(p, '}');
}

static void parse_block(struct parser *p, struct step *step, struct block *block);

static void parse_loop(struct parser *p, struct step *step, struct loop *loop) {
    loop->name = parse_word(p, "a loop variable");
    expect(p, '=');
    loop->begin = parse_integer(p);
    expect(p, RANGE);
    loop->end = parse_integer(p);
    loop->descending = accept_word(p, "descending");
    if (loop->begin < 0 || loop->end < loop->begin)
        FAIL(p,
             loop->begin < 0 ? "a loop begins at 0 or above" : "this loop ends before it begins");
    if (p->depth == 8) {
        FAIL(p, "loops are nested too deeply");
        return;
    }
    p->variables[p->depth++] = loop->name;
    expect(p, '{');
    parse_block(p, step, &loop->body);
    expect(p, '}');
    p->depth--;
}

static void parse_block(struct parser *p, struct step *step, struct block *block) {
    while (!failed(p) && !at_punctuation(p, '}') && p->token.kind != TOKEN_END) {
        uint32_t begin = p->token.begin;
        struct statement statement = {0};
        if (accept_word(p, "for")) {
            statement.kind = STATEMENT_LOOP;
            parse_loop(p, step, &statement.loop);
        } else if (accept_word(p, "call")) {
            statement.kind = STATEMENT_CALL;
            parse_call(p, &statement);
        } else if (accept_word(p, "start")) {
            statement.kind = STATEMENT_START;
            parse_start(p, step, &statement.start);
        } else if (accept_word(p, "wait")) {
            statement.kind = STATEMENT_WAIT;
            statement.wait.handle = parse_handle(p, step, &statement.wait.index);
        } else if (accept_word(p, "zero")) {
            statement.kind = STATEMENT_ZERO;
            statement.zero = parse_reference(p);
        } else if (accept_word(p, "free")) {
            statement.kind = STATEMENT_FREE;
            statement.free = parse_reference(p);
        } else {
            FAIL(p, "expected a statement here: for, call, start, wait, zero or free");
        }
        statement.span = span_from(p, begin);
        if (!failed(p))
            block_push(p->program, block, statement);
    }
}

static void parse_step(struct parser *p, enum step_kind kind) {
    struct step *step = &p->program->steps[kind];
    uint32_t begin = p->token.begin;
    text_advance(p);
    if (step->present)
        FAIL(p, "step `%s` stands twice", step_names[kind]);
    step->present = true;
    expect(p, '{');
    parse_block(p, step, &step->body);
    expect(p, '}');
    step->span = span_from(p, begin);
}

// Units may refer to buffers and the steps to units: buffers first, then units, then steps. This is
// the first round: all of a step's text but the schedules, which are skipped.
static void parse_header(struct parser *p) {
    if (accept_word(p, "axis"))
        parse_axis(p);
    else if (accept_word(p, "product"))
        parse_product(p);
    else if (accept_word(p, "sizes"))
        parse_sizes(p);
    else if (accept_word(p, "policy"))
        parse_policy(p);
    else if (accept_word(p, "arena"))
        p->program->arena_bytes = parse_integer(p);
    else if (accept_word(p, "tensor"))
        parse_tensor(p);
    else if (accept_word(p, "buffer"))
        parse_buffer(p);
    else
        FAIL(p, "expected axis, product, sizes, policy, arena, tensor, buffer, train or evaluate");
}

static void skip_braces(struct parser *p) {
    int depth = 0;
    do {
        depth += at_punctuation(p, '{');
        depth -= at_punctuation(p, '}');
        if (p->token.kind == TOKEN_END) {
            FAIL(p, "a `}` is missing");
            return;
        }
        text_advance(p);
    } while (depth > 0 && !failed(p));
}

static int step_here(const struct parser *p) {
    return p->token.kind == TOKEN_WORD ? table_find(step_names, N_STEPS, p->token.text) : -1;
}

enum round { ROUND_HEADER, ROUND_SCHEDULE };

static void parse_step_body(struct parser *p, enum round round) {
    expect(p, '{');
    while (!failed(p) && !at_punctuation(p, '}')) {
        int kind = step_here(p);
        if (kind >= 0 && round == ROUND_SCHEDULE) {
            parse_step(p, kind);
        } else if (kind >= 0) {
            text_advance(p);
            skip_braces(p);
        } else if (round == ROUND_HEADER) {
            parse_header(p);
        } else {
            text_advance(p);
        }
    }
    expect(p, '}');
}

// ---- whole texts ------------------------------------------------------------------------------

static void move_to(struct parser *p, uint32_t at) {
    if (failed(p))
        return;
    p->at = at;
    p->token = (struct token){.begin = at, .end = at, .text = ""};
    text_advance(p);
}

static bool same_signature(const struct unit *a, const struct unit *b) {
    if (a->n_parameters != b->n_parameters || a->n_results != b->n_results)
        return false;
    for (uint32_t i = 0; i < a->n_parameters; i++)
        if (strcmp(a->values[i].name, b->values[i].name) != 0)
            return false;
    for (uint32_t i = 0; i < a->n_results; i++)
        if (a->results[i].in_parameter != b->results[i].in_parameter)
            return false;
    return true;
}

// A unit that replaces a derived one while the derived step, which calls it, stays.
static void check_signature_kept(struct parser *p, const struct unit *unit,
                                 const struct unit *derived, uint32_t at) {
    if (!failed(p) && !same_signature(unit, derived))
        text_fail_at(
            p, at, at + 1,
            "unit `%s` has other parameters or results than the derived step calls it with: "
            "give the step too",
            unit->name);
}

static void parse_unit_at(struct parser *p, uint32_t at, const char *name, bool step_given) {
    move_to(p, at);
    uint32_t id = program_find_unit(p->program, name);
    struct unit old = id == NO_ID ? (struct unit){0} : p->program->units[id];
    if (id == NO_ID)
        id = program_add_unit(p->program, name, (struct span){p->source, at, at + 1});
    else
        p->program->units[id] = (struct unit){
            .name = name, .frame_bytes = -1, .frame = NO_ID, .span = {p->source, at, at + 1}};
    struct unit unit = p->program->units[id];
    parse_unit_body(p, &unit);
    if (old.name && !step_given)
        check_signature_kept(p, &unit, &old, at);
    p->program->units[id] = unit;
}

// Splits a text into its parts: the name of the program, and where the braces of step and units
// are.
static void find_parts(struct parser *p, struct program_part **parts, uint32_t *n_parts) {
    uint32_t cap = 0;
    text_advance(p);
    while (!failed(p) && p->token.kind != TOKEN_END) {
        struct program_part part = {0};
        bool step = accept_word(p, "step");
        if (!step)
            expect_word(p, "unit");
        const char *name = parse_word(p, "a strategy");
        const char *dot = strchr(name, '.');
        if (!step && dot) {
            part.unit = dot + 1;
        } else if (!step) {
            FAIL(p, "expected `unit STRATEGY.UNIT {` here");
        } else if (dot || p->program->name[0]) {
            FAIL(p, dot ? "a step has the name of a strategy, without a dot"
                        : "a text holds one step");
        } else {
            p->program->name = name;
        }
        uint32_t begin = p->token.begin;
        skip_braces(p);
        part.braces = span_from(p, begin);
        ARENA_PUSH(p->arena, *parts, *n_parts, cap, part);
    }
}

static void parse_parts(struct parser *p, const struct program_part *parts, uint32_t n_parts) {
    bool step_given = false;
    for (uint32_t i = 0; i < n_parts; i++)
        step_given |= !parts[i].unit;
    for (int round = ROUND_HEADER; round <= ROUND_SCHEDULE; round++) {
        for (uint32_t i = 0; i < n_parts && !failed(p); i++) {
            if (parts[i].unit)
                continue;
            if (round == ROUND_HEADER) // what a derived program had is replaced as a whole
                p->program->n_tensors = p->program->n_buffers = 0;
            move_to(p, parts[i].braces.begin);
            if (round == ROUND_HEADER) {
                p->program->mesh = (struct mesh){.name = p->program->mesh.name};
                p->program->arena_bytes = -1;
            } else {
                memset(p->program->steps, 0, sizeof p->program->steps);
            }
            parse_step_body(p, round);
        }
        for (uint32_t i = 0; i < n_parts && round == ROUND_HEADER && !failed(p); i++)
            if (parts[i].unit)
                parse_unit_at(p, parts[i].braces.begin, parts[i].unit, step_given);
    }
}

// What is wrong with the structure is shown where it stands; at the first part where a statement
// that was derived does not fit what was written.
static struct program *finish(struct parser *p, const struct program_part *parts,
                              uint32_t n_parts) {
    if (failed(p))
        return NULL;
    program_number(p->program);
    struct span at;
    const char *wrong = program_check(p->program, p->arena, &at);
    if (!wrong)
        return p->program;
    for (uint32_t i = 0; i < n_parts; i++)
        if (at.source == p->source && at.begin >= parts[i].braces.begin &&
            at.end <= parts[i].braces.end)
            text_fail_at(p, at.begin, at.end, "%s", wrong);
    text_fail_at(p, parts[0].braces.begin, parts[0].braces.begin + 1, "%s", wrong);
    return NULL;
}

struct program *program_parse(struct arena *arena, const char *text, size_t length, uint32_t source,
                              struct text_error *error) {
    *error = (struct text_error){0};
    struct parser p = {.arena = arena,
                       .text = text,
                       .length = (uint32_t)length,
                       .source = source,
                       .program = program_new(arena, ""),
                       .error = error};
    if (length > UINT32_MAX / 2) {
        text_fail_at(&p, 0, 1, "this text is too large");
        return NULL;
    }
    struct program_part *parts = NULL;
    uint32_t n_parts = 0;
    find_parts(&p, &parts, &n_parts);
    if (!failed(&p) && n_parts == 0)
        text_fail_at(&p, 0, 1, "there is no `step NAME { ... }` in this text");
    parse_parts(&p, parts, n_parts);
    return finish(&p, parts, n_parts);
}

struct program *program_parse_parts(struct arena *arena, const struct program *derived,
                                    const char *text, const struct program_part *parts,
                                    uint32_t n_parts, struct text_error *error) {
    *error = (struct text_error){0};
    struct parser p = {.arena = arena,
                       .text = text,
                       .source = n_parts ? parts[0].braces.source : 0,
                       .program = program_clone(arena, derived),
                       .error = error};
    for (uint32_t i = 0; i < n_parts; i++)
        if (parts[i].braces.end > p.length)
            p.length = parts[i].braces.end;
    parse_parts(&p, parts, n_parts);
    return finish(&p, parts, n_parts);
}
