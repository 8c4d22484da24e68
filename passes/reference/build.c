// Build: from the resolved configuration to the logical program of the forward pass.
//
// One device, the whole batch, logical shapes. The units are the parts that repeat or stand alone
// (embedding, block, head); the step calls them, the block in a loop over layers. Where layers work in
// different element types, each range of them has a block and a loop of its own: what they hand on has
// one type, so they meet in it. Two steps are made: `train`, to which differentiate and update append,
// and `evaluate`, the same forward pass followed by the mean loss. Both leave the logits in the buffer
// `logits`.
//
// Kinds of models differ in options only (norms, positions, activation, biases, tied head), so
// there is one builder and no table of models. What a layer computes is layer.c's.
#include "ir/check.h"
#include "passes/passes.h"
#include "passes/reference/builder.h"
#include "passes/reference/islands.h"
#include "passes/reference/select.h"
#include "passes/reference/tensors.h"

// ---- buffers ----------------------------------------------------------------------------------

// One item, not stacked; nothing here has an offset before the memory plan.
static buffer_id add_buffer(struct builder *b, const char *name, enum buffer_class class,
                            enum dtype dtype, const enum dimension *dims, unsigned rank) {
    struct buffer buffer = {
        .name = name,
        .class = class,
        .tensor = NO_ID,
        .dtype = dtype,
        .rank = (uint8_t)rank,
        .window_of = NO_ID,
        .offset_bytes = -1,
        .span = b->config->train.origin.span,
    };
    for (unsigned i = 0; i < rank; i++)
        buffer.dims[i] = (struct dim){dims[i], dimension_size(b->config, dims[i])};
    return program_add_buffer(b->program, buffer);
}

static buffer_id add_scalar(struct builder *b, const char *name, enum buffer_class class) {
    return add_buffer(b, name, class, DTYPE_F64, NULL, 0);
}

// A buffer that the host writes or reads, named as what it is to the host.
static buffer_id add_host_buffer(struct builder *b, enum host_role role, enum dtype dtype) {
    const struct host_role_row *row = &host_role_rows[role];
    unsigned rank = 0;
    while (rank < 3 && row->dims[rank] != DIM_NONE)
        rank++;
    buffer_id buffer = add_buffer(b, row->text, row->class, dtype, row->dims, rank);
    b->program->buffers[buffer].host = role;
    return buffer;
}

// What dropout draws from, but for positions, which a unit counts itself. Models without it have
// none.
static void add_draw_inputs(struct builder *b) {
    if (b->model->dropout == 0)
        return;
    b->samples = add_host_buffer(b, HOST_SAMPLES, DTYPE_I32);
    b->layer = add_host_buffer(b, HOST_LAYER, DTYPE_F64);
    b->draw_key = add_host_buffer(b, HOST_DRAW_KEY, DTYPE_F64);
    b->program->buffers[b->layer].stacks = stacked(STACK_LAYERS, b->model->layers);
}

// ---- the units --------------------------------------------------------------------------------

// A unit of the head that makes one scalar of one value.
struct scalar_unit {
    const char *name, *operand;
    enum op_kind op;
    const char *result;
};

// Counting and dividing are two units, so that a mesh can sum the counts in between. The divisor
// is data: it depends on how many targets the whole step leaves unmasked.
static const struct scalar_unit counting = {"count_tokens", "targets", OP_COUNT_TOKENS,
                                            "token_count"};
static const struct scalar_unit dividing = {"divisor", "token_count", OP_RECIPROCAL,
                                            "inverse_count"};

// What the loss is multiplied by where gradients begin, and nowhere else: one over the count of targets,
// and the loss scale, which `finish` takes out of all gradients at once.
static struct statement build_loss_scale(struct builder *b, buffer_id inverse) {
    struct emitter *e = &b->writer.emitter;
    struct attribute initial = {.name = ATTRIBUTE_INITIAL,
                                .real = b->config->train.loss_scale.initial};
    begin_unit(&b->writer, "loss_scale", PHASE_FORWARD);
    emit_roles(e, ROLE_HEAD, ROLE_NONE, ROLE_NONE, ROLE_NONE);
    value_id left = bind_operand(&b->writer, "left",
                                 reference_to(add_host_buffer(b, HOST_LOSS_SCALE, DTYPE_F64)));
    value_id t = bind_operand(&b->writer, "inverse_count", reference_to(inverse));
    value_id scale = emit_with(e, OP_LOSS_SCALE, "scale", OPERANDS(left), &initial, 1)->results[0];
    bind_result(&b->writer, scale, reference_to(add_host_buffer(b, HOST_SCALE, DTYPE_F64)));
    bind_result(&b->writer, emit(e, OP_MUL, "scaled", OPERANDS(t, scale)),
                reference_to(add_scalar(b, "loss_gradient", CLASS_TRANSIENT)));
    return b->writer.call;
}

static struct statement build_scalar(struct builder *b, const struct scalar_unit *unit,
                                     buffer_id from, buffer_id to) {
    begin_unit(&b->writer, unit->name, PHASE_FORWARD);
    emit_roles(&b->writer.emitter, ROLE_HEAD, ROLE_NONE, ROLE_NONE, ROLE_NONE);
    value_id x = bind_operand(&b->writer, unit->operand, reference_to(from));
    bind_result(&b->writer, emit(&b->writer.emitter, unit->op, unit->result, OPERANDS(x)),
                reference_to(to));
    return b->writer.call;
}

// A learned position is a row of a table like a token, but its id is the position itself; it is
// the same for all samples, so the sum with the tokens is that of a bias over [sequence, hidden].
static struct statement build_embedding(struct builder *b, buffer_id tokens) {
    struct emitter *e = &b->writer.emitter;
    begin_unit(&b->writer, "embedding_forward", PHASE_FORWARD);
    value_id ids = bind_operand(&b->writer, "tokens", reference_to(tokens));
    bind_parameters(b, ROLE_EMBEDDING);
    bind_draws(b, index_constant(0));
    value_id table = value_of_parameter(b, PARAMETER_TOKEN_TABLE);
    value_id positions = value_of_parameter(b, PARAMETER_POSITION_TABLE);
    value_id rows = emit_iota(e, "rows", DIM_VOCAB, b->model->vocab);
    value_id y = emit(e, OP_EMBEDDING, "token", OPERANDS(ids, table, rows));
    if (positions != NO_ID) {
        value_id at_rows = emit_iota(e, "position_rows", DIM_POSITIONS, b->model->sequence_limit);
        value_id steps = emit_iota(e, "positions", DIM_SEQUENCE, b->config->train.sequence);
        value_id position = emit(e, OP_EMBEDDING, "position", OPERANDS(steps, positions, at_rows));
        bool is_last = b->model->dropout == 0;
        y = emit_as(e, is_last ? stream_type(b) : unrounded_type(b), OP_ADD_BIAS,
                    is_last ? "y" : "sum", OPERANDS(y, position));
    }
    y = add_dropout(b, "y", y, SITE_EMBEDDING, stream_type(b));
    bind_result(&b->writer, value_as(b, y, stream_type(b)), reference_to(b->hidden));
    return b->writer.call;
}

static const char *block_name(const struct builder *b, const struct layer_range *layers) {
    struct arena *arena = b->program->arena;
    return range_layers(layers) == b->model->layers
               ? "block_forward"
               : name_of_unit(arena, range_name(arena, "block", layers), "forward");
}

// One layer, for all layers in which the element types are the same: it reads item l of the residual
// stream and writes item l + 1.
static struct statement build_block(struct builder *b, uint32_t range) {
    b->range = range;
    begin_unit(&b->writer, block_name(b, &b->layers.list[range]), PHASE_FORWARD);
    value_id x = bind_operand(&b->writer, "x", reference_at(b->hidden, index_variable(0, 0, 0)));
    bind_parameters(b, ROLE_LAYERS);
    bind_draws(b, index_variable(0, 0, 0));
    value_id y = add_mlp(b, add_attention(b, x));
    bind_result(&b->writer, y, reference_at(b->hidden, index_variable(0, 1, 0)));
    b->range = 0;
    return b->writer.call;
}

// The summed loss, not the mean: the divisor is applied once, to its gradient. The logits are a
// result, because the host samples from them after `evaluate` and because backward writes its own
// gradient over them.
static struct statement build_head(struct builder *b, buffer_id targets, buffer_id loss_sum) {
    struct emitter *e = &b->writer.emitter;
    begin_unit(&b->writer, "head_forward", PHASE_FORWARD);
    enum parameter table = b->model->tied ? PARAMETER_TOKEN_TABLE : PARAMETER_HEAD_WEIGHT;
    value_id x =
        bind_operand(&b->writer, "x", reference_at(b->hidden, index_constant(b->model->layers)));
    value_id ids = bind_operand(&b->writer, "targets", reference_to(targets));
    bind_parameters(b, ROLE_NORM);
    bind_parameter(b, table);
    value_id n = add_norm(b, "norm", x, PARAMETER_NORM_GAIN, PARAMETER_NORM_BIAS);
    emit_roles(e, ROLE_HEAD, ROLE_NONE, ROLE_NONE, ROLE_NONE);
    enum dtype type = work_type(b);
    n = value_as(b, n, type);
    value_id weight = emit_to(e, b->values[table], type);
    value_id logits = emit_einsum(e, "logits", "bsh,vh->bsv", n, weight, type);
    value_id rows = emit_iota(e, "rows", DIM_VOCAB, b->model->vocab);
    value_id loss = emit(e, OP_CROSS_ENTROPY, "loss", OPERANDS(logits, ids, rows));
    bind_result(&b->writer, loss, reference_to(loss_sum));
    buffer_id to = add_host_buffer(b, HOST_LOGITS, type);
    bind_result(&b->writer, logits, reference_to(to));
    return b->writer.call;
}

// Only of `evaluate`: the train step computes the mean with its other scalars, at its end, where a
// mesh sums them together.
static struct statement build_mean_loss(struct builder *b, buffer_id loss_sum, buffer_id inverse,
                                        buffer_id loss) {
    begin_unit(&b->writer, "mean_loss", PHASE_FORWARD);
    emit_roles(&b->writer.emitter, ROLE_HEAD, ROLE_NONE, ROLE_NONE, ROLE_NONE);
    value_id sum = bind_operand(&b->writer, "loss_sum", reference_to(loss_sum));
    value_id t = bind_operand(&b->writer, "inverse_count", reference_to(inverse));
    bind_result(&b->writer, emit(&b->writer.emitter, OP_MUL, "loss", OPERANDS(sum, t)),
                reference_to(loss));
    return b->writer.call;
}

// ---- the steps --------------------------------------------------------------------------------

// Both steps call the same forward units on the same buffers. References are copied: passes edit
// the calls of one step without touching the other's.
static void push_call(struct builder *b, struct block *block, const struct statement *call) {
    struct arena *arena = b->program->arena;
    block_push(arena, block, statement_clone(arena, b->program, call));
}

struct forward_calls {
    struct statement count, divisor, embedding, head;
    struct statement scale;   // of training, where there is a loss scale
    struct statement *blocks; // of each range of layers
};

static void push_forward(struct builder *b, enum step_kind kind, const struct forward_calls *calls,
                         struct span span) {
    struct step *step = &b->program->steps[kind];
    *step = (struct step){.present = true, .span = span};
    push_call(b, &step->body, &calls->count);
    push_call(b, &step->body, &calls->divisor);
    if (kind == STEP_TRAIN && b->config->train.loss_scale.initial != 0)
        push_call(b, &step->body, &calls->scale);
    push_call(b, &step->body, &calls->embedding);
    for (uint32_t i = 0; i < b->layers.n; i++) {
        struct statement loop = loop_over_layers(&b->layers.list[i], span);
        push_call(b, &loop.loop.body, &calls->blocks[i]);
        block_push(b->program->arena, &step->body, loop);
    }
    push_call(b, &step->body, &calls->head);
}

static bool is_of_products(const struct precision_rule *rule) {
    const struct selector *of = &rule->selector;
    return rule->use == PRECISION_COMPUTE && of->roles[of->n_roles - 1] != ROLE_NORM;
}

// The policy has the least that any product reads and adds up in, where parts compute in different
// types; which it is of a part the program of one device says.
static void make_narrower(enum dtype *types, enum dtype computed) {
    enum dtype added = dtype_added_up_in(computed);
    types[PRECISION_COMPUTE] = dtype_narrower(types[PRECISION_COMPUTE], computed);
    types[PRECISION_ACCUMULATE] = dtype_narrower(types[PRECISION_ACCUMULATE], added);
}

// What the text form says of the configuration. One microbatch: the partition pass cuts the batch.
static void set_sizes(struct program *program, const struct config *config) {
    const struct precision_config *precision = &config->train.precision;
    bool ordered = config->train.reproducible > 0;
    program->job->sizes = (struct sizes){.batch = island_batch(config),
                                         .sequence = config->train.sequence,
                                         .microbatches = 1,
                                         .layers = config->model.layers,
                                         .vocab = config->model.vocab};
    enum dtype types[N_PRECISION_USES];
    for (int i = 0; i < N_PRECISION_USES; i++)
        types[i] = precision_type(precision, (enum precision_use)i, NULL, 0, 0);
    for (uint32_t i = 0; i < precision->n_rules; i++) // ops do not say which part they are of
        if (is_of_products(&precision->rules[i]))
            make_narrower(types, precision->rules[i].type);
    types[PRECISION_REDUCE] = precision_of_reduction(&config->train, NULL, 0, 0);
    types[PRECISION_GRADIENTS] = precision_of_sums(&config->train, NULL, 0, 0);
    program->job->policy = (struct policy){.parameters = types[PRECISION_PARAMETERS],
                                           .master = types[PRECISION_MASTER],
                                           .moments = types[PRECISION_MOMENTS],
                                           .gradients = types[PRECISION_GRADIENTS],
                                           .compute = types[PRECISION_COMPUTE],
                                           .accumulate = types[PRECISION_ACCUMULATE],
                                           .gather = types[PRECISION_GATHER],
                                           .reduce = types[PRECISION_REDUCE],
                                           .types = precision_parts_text(program->arena, precision),
                                           .reproducible = config->train.reproducible,
                                           .reproducible_of = config->train.reproducible_of,
                                           .microbatch = ordered ? config->train.microbatch : 0};
}

bool build(struct job *job, const struct pass_context *context) {
    struct program *program = job_only(job);
    const struct config *config = context->config;
    struct span model_span = config->model.origin.span, train_span = config->train.origin.span;
    struct builder b = {.program = program, .config = config, .model = &config->model};
    CHECK(config->model.heads % config->model.kv_heads == 0);
    if (!check_precision_ranges(program->arena, config, context->diagnostics))
        return false;
    set_sizes(program, config);

    const enum dimension stream[] = {DIM_BATCH, DIM_SEQUENCE, DIM_HIDDEN};
    buffer_id tokens = add_host_buffer(&b, HOST_TOKENS, DTYPE_I32);
    buffer_id targets = add_host_buffer(&b, HOST_TARGETS, DTYPE_I32);
    add_draw_inputs(&b);
    b.layers = precision_ranges(program->arena, &config->train.precision, config->model.layers);
    b.parameters = ARENA_ARRAY(program->arena, parameter_buffers, b.layers.n);
    add_parameters(program, config, &b.layers, b.parameters);
    buffer_id count = add_host_buffer(&b, HOST_TOKEN_COUNT, DTYPE_F64);
    buffer_id inverse = add_scalar(&b, "inverse_count", CLASS_TRANSIENT);
    buffer_id loss_sum = add_scalar(&b, "loss_sum", CLASS_TRANSIENT);
    buffer_id loss = add_host_buffer(&b, HOST_LOSS, DTYPE_F64);
    b.hidden = add_buffer(&b, "hidden", CLASS_ACTIVATIONS, stream_type(&b), stream, 3);
    program->buffers[b.hidden].stacks = stacked(STACK_LAYERS, config->model.layers + 1);

    struct forward_calls calls;
    b.writer = writer_in(program, train_span);
    calls.count = build_scalar(&b, &counting, targets, count);
    calls.divisor = build_scalar(&b, &dividing, count, inverse);
    if (config->train.loss_scale.initial != 0)
        calls.scale = build_loss_scale(&b, inverse);
    b.writer.emitter.span = model_span;
    calls.embedding = build_embedding(&b, tokens);
    calls.blocks = ARENA_ARRAY(program->arena, struct statement, b.layers.n);
    for (uint32_t i = 0; i < b.layers.n; i++)
        calls.blocks[i] = build_block(&b, i);
    calls.head = build_head(&b, targets, loss_sum);
    struct statement mean = build_mean_loss(&b, loss_sum, inverse, loss);

    push_forward(&b, STEP_TRAIN, &calls, train_span);
    push_forward(&b, STEP_EVALUATE, &calls, train_span);
    push_call(&b, &program->steps[STEP_EVALUATE].body, &mean);
    job_number(program->job);
    bool optimizers = check_optimizers(program, config, context->diagnostics);
    return check_precision(program, config, context->diagnostics) && optimizers;
}
