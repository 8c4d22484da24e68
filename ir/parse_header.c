// What stands in a step's text beside its schedules: the mesh, the sizes and the policy, the
// tensors of the model and the buffers of a device.
#include "ir/parse.h"

// An axis and a product share one space of names: both may stand wherever an axis may.
static void check_new_axis(struct parser *p, uint32_t begin, const char *name) {
    const struct mesh *mesh = &p->job->mesh;
    if (mesh_find_axis(mesh, name) >= 0 || mesh_find_product(mesh, name))
        text_fail_at(p, begin, p->last_end, "axis `%s` is declared twice", name);
}

// `axis dp = 4 link 1e+10 1e-06`
static void parse_axis(struct parser *p) {
    struct mesh *mesh = &p->job->mesh;
    uint32_t begin = p->token.begin;
    struct mesh_axis axis = {.name = text_name(p, "an axis")};
    check_new_axis(p, begin, axis.name);
    if (mesh->n_axes == MAX_AXES)
        text_fail_at(p, begin, p->last_end, "a mesh has at most %d axes", MAX_AXES);
    text_expect(p, '=');
    axis.size = text_integer(p);
    if (axis.size < 1)
        text_fail_at(p, begin, p->last_end, "an axis has at least one device");
    if (text_accept_word(p, "link")) {
        axis.link_bytes_per_s = text_real(p);
        axis.link_latency_s = text_real(p);
    }
    axis.span = text_span(p, begin);
    axis.size_span = span_nowhere();
    if (!text_failed(p) && axis.size > LIMIT_DEVICES / mesh_devices(mesh))
        text_fail_at(p, begin, p->last_end, "a mesh has at most %d devices", (int)LIMIT_DEVICES);
    if (!text_failed(p))
        mesh->axes[mesh->n_axes++] = axis;
}

// `product dp = replica*shard`, of axes and products that stand above it.
static void parse_product(struct parser *p) {
    struct mesh *mesh = &p->job->mesh;
    uint32_t begin = p->token.begin;
    struct mesh_product product = {.name = text_name(p, "a product")};
    check_new_axis(p, begin, product.name);
    text_expect(p, '=');
    product.axes = text_axes(p);
    product.span = text_span(p, begin);
    if (mesh->n_products == MAX_AXES)
        text_fail_at(p, begin, p->last_end, "too many products");
    if (!text_failed(p))
        mesh->products[mesh->n_products++] = product;
}

static void expect_field(struct parser *p, const char *name) {
    text_expect_word(p, name);
    text_expect(p, '=');
}

static int64_t parse_field(struct parser *p, const char *name) {
    expect_field(p, name);
    return text_integer(p);
}

// All fields, in one order: a text has no defaults that a reader would have to know.
static void parse_sizes(struct parser *p) {
    uint32_t begin = p->token.begin;
    struct sizes *sizes = &p->job->sizes;
    sizes->batch = parse_field(p, "batch");
    sizes->sequence = parse_field(p, "sequence");
    sizes->microbatches = parse_field(p, "microbatches");
    sizes->layers = parse_field(p, "layers");
    sizes->vocab = parse_field(p, "vocab");
    p->job->sizes_span = text_span(p, begin);
}

static enum dtype parse_dtype_field(struct parser *p, const char *name) {
    expect_field(p, name);
    return text_dtype(p);
}

// `way = topk kept = 3`
static struct wire parse_wire(struct parser *p) {
    expect_field(p, "way");
    int way = text_choice(p, wire_way_names + 1, N_WIRE_WAYS - 1, "a way to compress");
    struct wire wire = {.way = (enum wire_way)(way + 1)};
    if (wire.way == WIRE_TOPK)
        wire.kept = parse_field(p, "kept");
    return wire;
}

// `of batch, heads`
static uint32_t parse_dimensions(struct parser *p) {
    uint32_t dimensions = 0;
    text_expect_word(p, "of");
    do {
        struct token at = p->token;
        uint32_t dimension = 1u << text_choice(p, dimension_names, N_DIMENSIONS, "a dimension");
        if (dimensions & dimension)
            text_fail_at(p, at.begin, at.end, "`%s` is given twice", at.text);
        dimensions |= dimension;
    } while (text_accept(p, ','));
    return dimensions;
}

// What the verifier holds every statement to; the file that takes the text in compares it with its
// own.
static void parse_policy(struct parser *p) {
    uint32_t begin = p->token.begin;
    struct policy *policy = &p->job->policy;
    *policy = (struct policy){0};
    policy->parameters = parse_dtype_field(p, "parameters");
    policy->master = parse_dtype_field(p, "master");
    policy->moments = parse_dtype_field(p, "moments");
    policy->gradients = parse_dtype_field(p, "gradients");
    policy->compute = parse_dtype_field(p, "compute");
    policy->accumulate = parse_dtype_field(p, "accumulate");
    policy->gather = parse_dtype_field(p, "gather");
    policy->reduce = parse_dtype_field(p, "reduce");
    if (text_accept_word(p, "types"))
        policy->types = text_string(p);
    policy->reproducible = parse_field(p, "reproducible");
    if (policy->reproducible) {
        policy->reproducible_of = parse_dimensions(p);
        policy->microbatch = parse_field(p, "microbatch");
    }
    if (text_accept_word(p, "relax")) {
        text_expect_word(p, "over");
        policy->islands = text_axes(p);
        policy->average_every = parse_field(p, "every");
    }
    if (text_accept_word(p, "wire")) {
        text_expect_word(p, "over");
        policy->wire_axes = text_axes(p);
        policy->wire = parse_wire(p);
    }
    p->job->policy_span = text_span(p, begin);
}

// `parts NAME N, NAME N`
static void parse_parts(struct parser *p, struct tensor *tensor) {
    do {
        if (tensor->n_parts == MAX_TENSOR_PARTS) {
            FAIL(p, "a tensor is made of at most %d parts", MAX_TENSOR_PARTS);
            return;
        }
        const char *name = text_name(p, "a part");
        tensor->parts[tensor->n_parts++] = (struct tensor_part){name, text_integer(p)};
    } while (text_accept(p, ','));
}

// `layers N from N of NAME`
static void parse_layers(struct parser *p, struct tensor *tensor) {
    tensor->layers = text_integer(p);
    if (text_accept_word(p, "from"))
        tensor->first_layer = text_integer(p);
    if (text_accept_word(p, "of"))
        tensor->model_name = text_name(p, "a tensor of the model");
}

// `tensor NAME [dims] role ROLE layers N from N of NAME init KIND parts NAME N, ... frozen stored TYPE master TYPE
// moments TYPE gradients TYPE gather TYPE reduce TYPE saved "NAME" columns A N transposed`; what follows
// the dimensions may be left out, but for the way to initialise.
static void parse_tensor(struct parser *p) {
    uint32_t begin = p->token.begin;
    struct tensor tensor = {.name = text_name(p, "a tensor"), .trainable = true};
    if (job_find_tensor(p->job, tensor.name) != NO_ID)
        text_fail_at(p, begin, p->last_end, "tensor `%s` is declared twice", tensor.name);
    tensor.rank = (uint8_t)text_dims(p, tensor.dims, NULL);
    if (text_accept_word(p, "role"))
        tensor.n_roles = (uint8_t)text_roles(p, tensor.roles);
    if (text_accept_word(p, "layers"))
        parse_layers(p, &tensor);
    text_expect_word(p, "init");
    tensor.init = text_choice(p, init_names, N_INITS, "a way to initialise");
    if (tensor.init == INIT_NORMAL)
        tensor.init_std = text_real(p);
    if (text_accept_word(p, "parts"))
        parse_parts(p, &tensor);
    if (text_accept_word(p, "frozen"))
        tensor.trainable = false;
    if (text_accept_word(p, "stored"))
        tensor.parameters = text_element_type(p);
    if (text_accept_word(p, "master"))
        tensor.master = text_element_type(p);
    if (text_accept_word(p, "moments"))
        tensor.moments = text_element_type(p);
    if (text_accept_word(p, "gradients"))
        tensor.gradients = text_element_type(p);
    if (text_accept_word(p, "gather"))
        tensor.gather = text_element_type(p);
    if (text_accept_word(p, "reduce"))
        tensor.reduce = text_element_type(p);
    if (text_accept_word(p, "saved"))
        tensor.saved_name = text_string(p);
    if (text_accept_word(p, "columns")) {
        tensor.saved_columns_begin = text_integer(p);
        tensor.saved_columns = text_integer(p);
    }
    if (text_accept_word(p, "transposed"))
        tensor.saved_transposed = true;
    tensor.span = text_span(p, begin);
    if (!text_failed(p))
        job_add_tensor(p->job, tensor);
}

// `around AXES`: the innermost of those that cut the batch, so that their number says which.
static void parse_inner(struct parser *p, struct buffer *buffer) {
    struct token at = p->token;
    struct axis_list inner = text_axes(p);
    buffer->layout.n_inner = inner.n;
    struct axis_list innermost = {0};
    for (unsigned i = 0; i < buffer->rank; i++)
        if (buffer->dims[i].dimension == DIM_BATCH && inner.n <= buffer->layout.cuts[i].n)
            innermost = buffer_inner_axes(buffer);
    if (!axis_list_equal(&inner, &innermost))
        text_fail_at(p, at.begin, p->last_end,
                     "microbatches stand around the innermost of the axes that cut the batch");
}

static bool at_stack(const struct parser *p) {
    return p->token.kind == TOKEN_WORD &&
           table_find(stack_names + 1, N_STACK_KINDS - 1, p->token.text) >= 0;
}

// `layers 3 from 1 by 2`, `microbatches 2 around dp`, `slots 4`
static void parse_stack(struct parser *p, struct buffer *buffer) {
    struct stack stack = {
        .kind = (enum stack_kind)(
            1 + text_choice(p, stack_names + 1, N_STACK_KINDS - 1, "what items stand for"))};
    struct token at = p->token;
    stack.count = text_integer(p);
    if (stack.count < 1)
        text_fail_at(p, at.begin, p->last_end, "a buffer has at least one item");
    if (stack.kind == STACK_MICROBATCHES && text_accept_word(p, "around"))
        parse_inner(p, buffer);
    if (stack.kind == STACK_LAYERS && text_accept_word(p, "from"))
        stack.first_layer = text_integer(p);
    if (stack.kind == STACK_LAYERS && text_accept_word(p, "by")) {
        stack.layer_step = text_integer(p);
        if (stack.layer_step < 1)
            FAIL(p, "layers go on by at least 1");
    }
    buffer->stacks.list[buffer->stacks.n++] = stack;
}

// The stacks, `slots 4, layers 8`, outermost first; no word of one: the buffer is one item.
static void parse_stacks(struct parser *p, struct buffer *buffer) {
    if (!at_stack(p))
        return;
    parse_stack(p, buffer);
    while (!text_failed(p) && text_accept(p, ',')) {
        if (buffer->stacks.n < MAX_STACKS)
            parse_stack(p, buffer);
        else
            FAIL(p, "the items of a buffer are counted by at most %d kinds of number", MAX_STACKS);
    }
    if (at_stack(p))
        FAIL(p, "a comma stands between what the items of a buffer stand for");
}

static enum tier parse_tier(struct parser *p) {
    return (enum tier)text_choice(p, tier_names, N_TIERS, "where bytes may be");
}

// `buffer NAME : CLASS TYPE[dims/cuts] flat/AXES owner/AXES of TENSOR host ROLE STACKS pad N window of BUFFER
// on TIER at OFFSET`. Tensors and wholes stand above what refers to them.
static void parse_buffer(struct parser *p) {
    uint32_t begin = p->token.begin;
    struct buffer buffer = {
        .name = text_name(p, "a buffer"), .tensor = NO_ID, .window_of = NO_ID, .offset_bytes = -1};
    if (text_find_buffer(p, p->program, buffer.name) != NO_ID)
        text_fail_at(p, begin, p->last_end, "buffer `%s` is declared twice", buffer.name);
    text_expect(p, ':');
    buffer.class = text_choice(p, class_names, N_CLASSES, "a class of buffers");
    buffer.dtype = text_element_type(p);
    buffer.rank = (uint8_t)text_dims(p, buffer.dims, &buffer.layout);
    if (text_accept_word(p, "flat")) {
        text_expect(p, '/');
        buffer.layout.flat = text_axes(p);
    }
    if (text_accept_word(p, "owner")) {
        text_expect(p, '/');
        buffer.layout.owners = text_axes(p);
    }
    if (text_accept_word(p, "of")) {
        struct token at = p->token;
        buffer.tensor = job_find_tensor(p->job, text_name(p, "a tensor"));
        if (buffer.tensor == NO_ID) {
            text_meant(p, &at, COLUMN(p->job->tensors, p->job->n_tensors, name));
            text_fail_at(p, at.begin, at.end, "there is no tensor of this name");
        }
    }
    if (text_accept_word(p, "host"))
        buffer.host = (enum host_role)(
            1 + text_choice(p, host_role_names + 1, N_HOST_ROLES - 1, "what the host knows"));
    parse_stacks(p, &buffer);
    if (text_accept_word(p, "pad")) {
        struct token at = p->token;
        buffer.pad_elements = text_integer(p);
        if (buffer.pad_elements < 1)
            text_fail_at(p, at.begin, p->last_end, "an item is padded to a multiple of at least 1");
    }
    if (text_accept_word(p, "window")) {
        text_expect_word(p, "of");
        struct token at = p->token;
        buffer.window_of = text_find_buffer(p, p->program, text_name(p, "a buffer"));
        if (buffer.window_of == NO_ID) {
            text_meant(p, &at, COLUMN(p->program->buffers, p->program->n_buffers, name));
            text_fail_at(p, at.begin, at.end, "there is no buffer of this name above");
        } else {
            buffer.tier = p->program->buffers[buffer.window_of].tier;
        }
    }
    if (text_accept_word(p, "on"))
        buffer.tier = parse_tier(p);
    if (text_accept_word(p, "at"))
        buffer.offset_bytes = text_bytes(p);
    buffer.span = text_span(p, begin);
    if (!text_failed(p))
        program_add_buffer(p->program, buffer);
}

// `part first over pp 0 .. 2`: the devices whose number along the axes is 0 or 1.
struct mesh_part parse_part_head(struct parser *p) {
    uint32_t begin = p->token.begin;
    struct mesh_part part = {0};
    text_expect_word(p, "part");
    part.name = text_name(p, "a part");
    text_expect_word(p, "over");
    part.axes = text_axes(p);
    part.begin = text_integer(p);
    text_expect(p, RANGE);
    part.end = text_integer(p);
    part.span = text_span(p, begin);
    return part;
}

// `arena 4096, 512 on host, 64 on disk`
static void parse_arena(struct parser *p) {
    int64_t *bytes = p->program->arena_bytes;
    bytes[TIER_DEVICE] = text_bytes(p);
    for (int i = TIER_DEVICE + 1; i < N_TIERS; i++)
        bytes[i] = 0;
    while (!text_failed(p) && text_accept(p, ',')) {
        struct token at = p->token;
        int64_t more = text_bytes(p);
        text_expect_word(p, "on");
        enum tier tier = parse_tier(p);
        if (!text_failed(p) && bytes[tier])
            text_fail_at(p, at.begin, p->last_end, "the arena on %s is given twice",
                         tier_names[tier]);
        bytes[tier] = more;
    }
}

// The lines of a step, but for its schedules, by the word that each begins with; those of a part
// stand in the step itself where it has no parts.
static const struct {
    const char *word;
    void (*parse)(struct parser *);
    bool once, of_part;
} lines[] = {
    {"axis", parse_axis, false, false},     {"product", parse_product, false, false},
    {"sizes", parse_sizes, true, false},    {"policy", parse_policy, true, false},
    {"tensor", parse_tensor, false, false}, {"arena", parse_arena, true, true},
    {"buffer", parse_buffer, false, true},
};
enum { N_LINES = sizeof lines / sizeof *lines };

// Words of a line that is not at its end stand in one order, each once.
static void fail_no_line(struct parser *p) {
    static const char *const inner[] = {"flat",   "of",     "host",   "layers",     "microbatches",
                                        "around", "from",   "by",     "slots",      "pad",
                                        "window", "on",     "at",     "role",       "init",
                                        "parts",  "frozen", "saved",  "columns",    "link",
                                        "relax",  "wire",   "zigzag", "transposed", "owner"};
    const char *names[N_LINES + N_STEPS + 1] = {"part"};
    size_t n = 1;
    if (text_at_word(p, "part"))
        FAIL(p, "a part stands inside no other");
    for (int i = 0; i < N_LINES; i++)
        names[n++] = lines[i].word;
    for (int i = 0; i < N_STEPS; i++)
        names[n++] = step_names[i];
    text_meant(p, &p->token, TABLE(names, n));
    if (p->token.kind == TOKEN_WORD &&
        table_find(inner, sizeof inner / sizeof *inner, p->token.text) >= 0)
        FAIL(p, "`%s` stands twice on this line, or out of its order", p->token.text);
    FAIL(p,
         "expected axis, product, sizes, policy, arena, tensor, buffer, part, train, evaluate or "
         "average");
}

// All that a line declares is in the job when it ends.
void parse_header(struct parser *p, bool in_part) {
    uint32_t *had = in_part ? &p->part_lines : &p->lines;
    for (int i = 0; i < N_LINES; i++) {
        if (!text_at_word(p, lines[i].word))
            continue;
        if (lines[i].once && *had >> i & 1)
            FAIL(p, "`%s` is given twice", lines[i].word);
        if (in_part && !lines[i].of_part)
            FAIL(p, "`%s` is about all parts, and stands outside of them", lines[i].word);
        if (!in_part && lines[i].of_part && p->program->part.name)
            FAIL(p, "`%s` stands inside a part, where there are parts", lines[i].word);
        *had |= 1u << i;
        text_advance(p);
        lines[i].parse(p);
        return;
    }
    fail_no_line(p);
}
