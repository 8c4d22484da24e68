// Build: from the resolved configuration to the logical program of the forward pass.
//
// One device, the whole batch, logical shapes. The units are the parts that repeat or stand alone
// (embedding, block, head); the step calls them, the block in a loop over layers. Two steps are
// made: `train`, to which differentiate and update append, and `evaluate`, the same forward pass
// followed by the mean loss. Both leave the logits in the buffer `logits`.
//
// Kinds of models differ in options only (norms, positions, activation, biases, tied head), so
// there is one builder and no table of models. Residual sums and biases are ops of their own here;
// fusing them is a later pass's concern.
#include <math.h>
#include <string.h>

#include "ir/check.h"
#include "passes/passes.h"
#include "passes/reference/islands.h"
#include "passes/reference/parameters.h"
#include "passes/reference/select.h"
#include "passes/reference/tensors.h"
#include "passes/reference/writer.h"

struct builder {
    struct program *program;
    const struct config *config;
    const struct model_config *model;
    buffer_id parameters[N_PARAMETERS]; // NO_ID: this model has no such parameter
    buffer_id hidden;
    buffer_id samples, layer, draw_key; // of a model with dropout
    // The unit being written:
    struct writer writer;
    value_id values[N_PARAMETERS];
    struct {
        value_id samples, positions, columns, layer, key;
    } draw;
};

// ---- other buffers ----------------------------------------------------------------------------

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

// ---- writing a unit ---------------------------------------------------------------------------

// Makes a model's parameter one of the unit's; nothing if this model has none.
static void bind_parameter(struct builder *b, enum parameter id) {
    if (b->parameters[id] == NO_ID)
        return;
    const char *name = name_in_unit(parameter_name(id));
    b->values[id] = bind_operand(&b->writer, name, item_of_layer(b->program, b->parameters[id]));
}

static void bind_parameters(struct builder *b, enum role role) {
    for (int i = 0; i < N_PARAMETERS; i++)
        if (parameter_roles((enum parameter)i)[0] == role)
            bind_parameter(b, (enum parameter)i);
}

// A parameter's value in this unit, or NO_ID. The ops that follow get its roles: an op belongs
// where its parameter belongs.
static value_id parameter(struct builder *b, enum parameter id) {
    const enum role *roles = parameter_roles(id);
    if (b->parameters[id] == NO_ID)
        return NO_ID;
    emit_roles(&b->writer.emitter, roles[0], roles[1], roles[2], roles[3]);
    return b->values[id];
}

static value_id add_rms_norm(struct builder *b, const char *name, value_id x, enum parameter gain) {
    struct attribute eps = {.name = ATTRIBUTE_EPS, .real = b->model->norm_eps};
    value_id g = parameter(b, gain);
    return emit_with(&b->writer.emitter, OP_RMS_NORM, name, OPERANDS(x, g), &eps, 1)->results[0];
}

static value_id add_norm(struct builder *b, const char *name, value_id x, enum parameter gain,
                         enum parameter bias) {
    if (b->model->norm == NORM_RMS)
        return add_rms_norm(b, name, x, gain);
    struct attribute eps = {.name = ATTRIBUTE_EPS, .real = b->model->norm_eps};
    value_id g = parameter(b, gain);
    value_id c = parameter(b, bias);
    return emit_with(&b->writer.emitter, OP_LAYER_NORM, name, OPERANDS(x, g, c), &eps, 1)
        ->results[0];
}

// Places of a layer where something is dropped, as in GPT-2; the embedding has a number of its own.
enum dropout_site { SITE_EMBEDDING, SITE_ATTENTION, SITE_MLP };

// What a unit needs to draw: one reference for all of its sites. `layer`: whose it is.
static void bind_draws(struct builder *b, struct index layer) {
    if (b->model->dropout == 0)
        return;
    b->draw.samples = bind_operand(&b->writer, "samples", reference_to(b->samples));
    b->draw.layer = bind_operand(&b->writer, "layer", reference_at(b->layer, layer));
    b->draw.key = bind_operand(&b->writer, "draw_key", reference_to(b->draw_key));
    b->draw.positions = b->draw.columns = NO_ID;
}

static value_id add_dropout(struct builder *b, const char *name, value_id x,
                            enum dropout_site site) {
    struct emitter *e = &b->writer.emitter;
    if (b->model->dropout == 0)
        return x;
    if (b->draw.columns == NO_ID) {
        b->draw.positions =
            emit_iota(e, "drawn_positions", DIM_SEQUENCE, b->config->train.sequence);
        b->draw.columns = emit_iota(e, "drawn_columns", DIM_HIDDEN, b->model->hidden);
    }
    struct attribute attributes[] = {
        {.name = ATTRIBUTE_PROBABILITY, .real = b->model->dropout},
        {.name = ATTRIBUTE_SITE, .integer = site},
    };
    return emit_with(e, OP_DROPOUT, name,
                     OPERANDS(x, b->draw.samples, b->draw.positions, b->draw.columns, b->draw.layer,
                              b->draw.key),
                     attributes, 2)
        ->results[0];
}

// Labels of the products: b batch, s sequence, h hidden, g groups of heads, r heads in a group,
// d head_dim, p parts of what is fused, f ffn, v vocab. A bias is as wide as all dimensions of the
// output but b and s.
static value_id add_linear(struct builder *b, const char *name, const char *labels, value_id x,
                           enum parameter weight, enum parameter bias) {
    value_id w = parameter(b, weight);
    if (b->parameters[bias] == NO_ID)
        return emit_einsum(&b->writer.emitter, name, labels, x, w);
    const char *product = arena_format(b->program->arena, "%s.product", name);
    value_id y = emit_einsum(&b->writer.emitter, product, labels, x, w);
    return emit(&b->writer.emitter, OP_ADD_BIAS, name, OPERANDS(y, parameter(b, bias)));
}

// ---- the units --------------------------------------------------------------------------------

// Counting and dividing are two units, so that a mesh can sum the counts in between. The divisor
// is data: it depends on how many targets the whole step leaves unmasked.
static struct statement build_count(struct builder *b, buffer_id targets, buffer_id count) {
    begin_unit(&b->writer, "count_tokens", PHASE_FORWARD);
    emit_roles(&b->writer.emitter, ROLE_HEAD, ROLE_NONE, ROLE_NONE, ROLE_NONE);
    value_id ids = bind_operand(&b->writer, "targets", reference_to(targets));
    bind_result(&b->writer, emit(&b->writer.emitter, OP_COUNT_TOKENS, "token_count", OPERANDS(ids)),
                reference_to(count));
    return b->writer.call;
}

static struct statement build_divisor(struct builder *b, buffer_id count, buffer_id inverse) {
    begin_unit(&b->writer, "divisor", PHASE_FORWARD);
    emit_roles(&b->writer.emitter, ROLE_HEAD, ROLE_NONE, ROLE_NONE, ROLE_NONE);
    value_id t = bind_operand(&b->writer, "token_count", reference_to(count));
    bind_result(&b->writer, emit(&b->writer.emitter, OP_RECIPROCAL, "inverse_count", OPERANDS(t)),
                reference_to(inverse));
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
    value_id table = parameter(b, PARAMETER_TOKEN_TABLE);
    value_id positions = parameter(b, PARAMETER_POSITION_TABLE);
    value_id rows = emit_iota(e, "rows", DIM_VOCAB, b->model->vocab);
    value_id y = emit(e, OP_EMBEDDING, "token", OPERANDS(ids, table, rows));
    if (positions != NO_ID) {
        value_id at_rows = emit_iota(e, "position_rows", DIM_POSITIONS, b->model->sequence_limit);
        value_id steps = emit_iota(e, "positions", DIM_SEQUENCE, b->config->train.sequence);
        value_id position = emit(e, OP_EMBEDDING, "position", OPERANDS(steps, positions, at_rows));
        const char *name = b->model->dropout > 0 ? "sum" : "y";
        y = emit(e, OP_ADD_BIAS, name, OPERANDS(y, position));
    }
    y = add_dropout(b, "y", y, SITE_EMBEDDING);
    bind_result(&b->writer, y, reference_to(b->hidden));
    return b->writer.call;
}

// Frequencies follow from the attributes, angles from the positions: nothing is stored.
static value_id add_rope(struct builder *b, const char *name, value_id x, value_id positions) {
    const struct rope_scaling *scaling = &b->model->rope_scaling;
    struct attribute attributes[] = {
        {.name = ATTRIBUTE_THETA, .real = b->model->rope_theta},
        {.name = ATTRIBUTE_ROPE_FACTOR, .real = scaling->factor},
        {.name = ATTRIBUTE_ROPE_LOW, .real = scaling->low_frequency_factor},
        {.name = ATTRIBUTE_ROPE_HIGH, .real = scaling->high_frequency_factor},
        {.name = ATTRIBUTE_ROPE_ORIGINAL, .integer = scaling->original_positions},
    };
    unsigned n = scaling->factor != 0 ? 5 : 1;
    return emit_with(&b->writer.emitter, OP_ROPE, name, OPERANDS(x, positions), attributes, n)
        ->results[0];
}

static value_id add_take(struct builder *b, const char *name, value_id x, value_id parts,
                         int64_t index) {
    struct attribute attributes[] = {{.name = ATTRIBUTE_INDEX, .integer = index},
                                     {.name = ATTRIBUTE_KEEP, .integer = 1}};
    return emit_with(&b->writer.emitter, OP_TAKE, name, OPERANDS(x, parts), attributes, 2)
        ->results[0];
}

struct qkv {
    value_id q, k, v;
};

// One product; then each group of query heads, its key and its value are parts of one dimension,
// which no axis cuts. A cut of heads so leaves every device all three of each of its groups.
static struct qkv build_fused_qkv(struct builder *b, value_id n) {
    struct emitter *e = &b->writer.emitter;
    int64_t group = dimension_size(b->config, DIM_GROUP);
    value_id all = add_linear(b, "attention.qkv", "bsh,hgpd->bsgpd", n, PARAMETER_QKV_WEIGHT,
                              PARAMETER_QKV_BIAS);
    struct attribute attributes[] = {{.name = ATTRIBUTE_SHIFT, .integer = 0},
                                     {.name = ATTRIBUTE_KEEP, .integer = 1}};
    struct qkv made;
    value_id parts = emit_iota(e, "attention.parts", DIM_PART, group + 2);
    emit_roles(e, ROLE_LAYERS, ROLE_ATTENTION, ROLE_QKV, ROLE_UP);
    value_id queries = emit_iota(e, "attention.queries", DIM_GROUP, group);
    made.q = emit_with(e, OP_MOVE, "attention.q", OPERANDS(all, parts, queries), attributes, 2)
                 ->results[0];
    emit_roles(e, ROLE_LAYERS, ROLE_ATTENTION, ROLE_QKV, ROLE_KV);
    made.k = add_take(b, "attention.k", all, parts, group);
    made.v = add_take(b, "attention.v", all, parts, group + 1);
    return made;
}

static struct qkv build_qkv(struct builder *b, value_id n) {
    if (b->model->fused_qkv)
        return build_fused_qkv(b, n);
    struct qkv made;
    made.q = add_linear(b, "attention.q", "bsh,hgrd->bsgrd", n, PARAMETER_QUERY_WEIGHT,
                        PARAMETER_QUERY_BIAS);
    made.k =
        add_linear(b, "attention.k", "bsh,hgd->bsgd", n, PARAMETER_KEY_WEIGHT, PARAMETER_KEY_BIAS);
    made.v = add_linear(b, "attention.v", "bsh,hgd->bsgd", n, PARAMETER_VALUE_WEIGHT,
                        PARAMETER_VALUE_BIAS);
    return made;
}

// Each head by itself, all with one gain.
static void norm_heads(struct builder *b, struct qkv *of) {
    if (!b->model->qk_norm)
        return;
    of->q = add_rms_norm(b, "attention.q.norm", of->q, PARAMETER_QUERY_NORM_GAIN);
    of->k = add_rms_norm(b, "attention.k.norm", of->k, PARAMETER_KEY_NORM_GAIN);
}

// Queries and keys get their positions as an operand. With the sequence cut, a device's slice of
// iota still says where its rows stand, for the rotation and for the causal mask alike.
static value_id build_attention(struct builder *b, value_id x) {
    struct emitter *e = &b->writer.emitter;
    value_id n = add_norm(b, "attention.norm", x, PARAMETER_ATTENTION_NORM_GAIN,
                          PARAMETER_ATTENTION_NORM_BIAS);
    struct qkv of = build_qkv(b, n);
    norm_heads(b, &of);
    emit_roles(e, ROLE_LAYERS, ROLE_ATTENTION, ROLE_CORE, ROLE_NONE);
    value_id positions = emit_iota(e, "positions", DIM_SEQUENCE, b->config->train.sequence);
    if (b->model->position == POSITION_ROPE) {
        of.q = add_rope(b, "attention.q.rotated", of.q, positions);
        of.k = add_rope(b, "attention.k.rotated", of.k, positions);
    }
    struct attribute scale = {.name = ATTRIBUTE_SCALE,
                              .real = 1 / sqrt((double)b->model->head_dim)};
    value_id o = emit_with(e, OP_ATTENTION, "attention.core",
                           OPERANDS(of.q, of.k, of.v, positions, positions), &scale, 1)
                     ->results[0];
    value_id out = add_linear(b, "attention.out", "bsgrd,grdh->bsh", o, PARAMETER_OUT_WEIGHT,
                              PARAMETER_OUT_BIAS);
    emit_roles(e, ROLE_LAYERS, ROLE_ATTENTION, ROLE_NONE, ROLE_NONE);
    out = add_dropout(b, "attention.kept", out, SITE_ATTENTION);
    return emit(e, OP_ADD, "attention.y", OPERANDS(x, out));
}

// The gate opens what goes up; both are projections of the same, and may be one product.
static value_id add_gated(struct builder *b, value_id n) {
    struct emitter *e = &b->writer.emitter;
    value_id gate, up;
    if (b->model->fused_gate_up) {
        value_id both = add_linear(b, "mlp.gate_up", "bsh,hpf->bspf", n, PARAMETER_GATE_UP_WEIGHT,
                                   PARAMETER_GATE_UP_BIAS);
        value_id parts = emit_iota(e, "mlp.parts", DIM_PART, 2);
        gate = add_take(b, "mlp.gate", both, parts, 0);
        up = add_take(b, "mlp.up", both, parts, 1);
    } else {
        gate =
            add_linear(b, "mlp.gate", "bsh,hf->bsf", n, PARAMETER_GATE_WEIGHT, PARAMETER_GATE_BIAS);
        up = add_linear(b, "mlp.up", "bsh,hf->bsf", n, PARAMETER_UP_WEIGHT, PARAMETER_UP_BIAS);
    }
    emit_roles(e, ROLE_LAYERS, ROLE_MLP, ROLE_ACTIVATION, ROLE_NONE);
    value_id opened = emit(e, OP_SILU, "mlp.silu", OPERANDS(gate));
    return emit(e, OP_MUL, "mlp.activation", OPERANDS(opened, up));
}

static value_id add_activation(struct builder *b, value_id n) {
    struct emitter *e = &b->writer.emitter;
    if (b->model->activation == ACTIVATION_SWIGLU)
        return add_gated(b, n);
    value_id up = add_linear(b, "mlp.up", "bsh,hf->bsf", n, PARAMETER_UP_WEIGHT, PARAMETER_UP_BIAS);
    emit_roles(e, ROLE_LAYERS, ROLE_MLP, ROLE_ACTIVATION, ROLE_NONE);
    struct attribute approximate = {.name = ATTRIBUTE_APPROXIMATE,
                                    .word = b->model->activation == ACTIVATION_GELU_TANH ? "tanh"
                                                                                         : "erf"};
    return emit_with(e, OP_GELU, "mlp.activation", OPERANDS(up), &approximate, 1)->results[0];
}

// One layer, for all layers: it reads item l of the residual stream and writes item l + 1.
static struct statement build_block(struct builder *b) {
    struct emitter *e = &b->writer.emitter;
    begin_unit(&b->writer, "block_forward", PHASE_FORWARD);
    value_id x = bind_operand(&b->writer, "x", reference_at(b->hidden, index_variable(0, 0, 0)));
    bind_parameters(b, ROLE_LAYERS);
    bind_draws(b, index_variable(0, 0, 0));
    x = build_attention(b, x);
    value_id n = add_norm(b, "mlp.norm", x, PARAMETER_MLP_NORM_GAIN, PARAMETER_MLP_NORM_BIAS);
    value_id activation = add_activation(b, n);
    value_id down = add_linear(b, "mlp.down", "bsf,fh->bsh", activation, PARAMETER_DOWN_WEIGHT,
                               PARAMETER_DOWN_BIAS);
    emit_roles(e, ROLE_LAYERS, ROLE_MLP, ROLE_NONE, ROLE_NONE);
    down = add_dropout(b, "mlp.kept", down, SITE_MLP);
    value_id y = emit(e, OP_ADD, "y", OPERANDS(x, down));
    bind_result(&b->writer, y, reference_at(b->hidden, index_variable(0, 1, 0)));
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
    value_id logits = emit_einsum(e, "logits", "bsh,vh->bsv", n, b->values[table]);
    value_id rows = emit_iota(e, "rows", DIM_VOCAB, b->model->vocab);
    value_id loss = emit(e, OP_CROSS_ENTROPY, "loss", OPERANDS(logits, ids, rows));
    bind_result(&b->writer, loss, reference_to(loss_sum));
    buffer_id to = add_host_buffer(b, HOST_LOGITS, b->config->train.precision.activations);
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
    struct statement count, divisor, embedding, block, head;
};

static void push_forward(struct builder *b, enum step_kind kind, const struct forward_calls *calls,
                         struct span span) {
    struct step *step = &b->program->steps[kind];
    *step = (struct step){.present = true, .span = span};
    push_call(b, &step->body, &calls->count);
    push_call(b, &step->body, &calls->divisor);
    push_call(b, &step->body, &calls->embedding);
    struct statement loop = loop_over_layers(b->program, span);
    push_call(b, &loop.loop.body, &calls->block);
    block_push(b->program->arena, &step->body, loop);
    push_call(b, &step->body, &calls->head);
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
    program->job->policy = (struct policy){.parameters = precision->parameters,
                                           .master = precision->master,
                                           .moments = precision->moments,
                                           .gradients = precision->gradients,
                                           .compute = precision->compute,
                                           .accumulate = precision->accumulate,
                                           .gather = precision->gather,
                                           .reduce = precision->reduce,
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
    set_sizes(program, config);

    const enum dimension stream[] = {DIM_BATCH, DIM_SEQUENCE, DIM_HIDDEN};
    buffer_id tokens = add_host_buffer(&b, HOST_TOKENS, DTYPE_I32);
    buffer_id targets = add_host_buffer(&b, HOST_TARGETS, DTYPE_I32);
    add_draw_inputs(&b);
    add_parameters(program, config, b.parameters);
    buffer_id count = add_host_buffer(&b, HOST_TOKEN_COUNT, DTYPE_F64);
    buffer_id inverse = add_scalar(&b, "inverse_count", CLASS_TRANSIENT);
    buffer_id loss_sum = add_scalar(&b, "loss_sum", CLASS_TRANSIENT);
    buffer_id loss = add_host_buffer(&b, HOST_LOSS, DTYPE_F64);
    b.hidden =
        add_buffer(&b, "hidden", CLASS_ACTIVATIONS, config->train.precision.activations, stream, 3);
    program->buffers[b.hidden].stacks = stacked(STACK_LAYERS, config->model.layers + 1);

    struct forward_calls calls;
    b.writer = writer_in(program, train_span);
    calls.count = build_count(&b, targets, count);
    calls.divisor = build_divisor(&b, count, inverse);
    b.writer.emitter.span = model_span;
    calls.embedding = build_embedding(&b, tokens);
    calls.block = build_block(&b);
    calls.head = build_head(&b, targets, loss_sum);
    struct statement mean = build_mean_loss(&b, loss_sum, inverse, loss);

    push_forward(&b, STEP_TRAIN, &calls, train_span);
    push_forward(&b, STEP_EVALUATE, &calls, train_span);
    push_call(&b, &program->steps[STEP_EVALUATE].body, &mean);
    job_number(program->job);
    return check_optimizers(program, config, context->diagnostics);
}
