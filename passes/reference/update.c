// Update: appends to the train step what happens once all gradients are there.
//
//   norm     `norm_embedding`, `norm_block` (in a loop over layers), `norm_head` add the squares of
//            every trainable tensor's gradient to the scalar `norm2`; layers that have tensors of their
//            own have a unit and a loop of their own
//   finish   the step's scalars: gradient norm, clip factor, learning rates, mean loss
//   update   `update_embedding`, `update_block`, `update_head`: each trainable tensor and its
//            moments, in place, by the optimizer of the longest selector that matches it. Where
//            optimizers differ between layers, or the layers have tensors of their own, a unit and a
//            loop for each range of layers in which they do not, and buffers of moments that have these
//            layers
//
// The formulas are PyTorch's (AdamW, Adam, SGD, clip_grad_norm_) and Lion's authors'. What is said of all parameters decays
// matrices and tables only: PyTorch's users leave out what has fewer than two dimensions, which are
// the biases and the gains. Ours of the heads have three, so they are told apart by what they are.
// What is said of a part by a selector is meant of all that it selects.
#include <string.h>

#include "ir/check.h"
#include "ir/diagnostic.h"
#include "passes/passes.h"
#include "passes/reference/adafactor.h"
#include "passes/reference/muon.h"
#include "passes/reference/select.h"
#include "passes/reference/tensors.h"
#include "passes/reference/writer.h"

// Tensors that are updated by one unit.
enum group { GROUP_EMBEDDING, GROUP_BLOCK, GROUP_HEAD, N_GROUPS };
static const char *const group_names[N_GROUPS] = {"embedding", "block", "head"};

struct rate {
    struct learning_rate of;
    buffer_id buffer;
};

// How an optimizer is written: as which op, with which states beside the parameter, and with which of
// the op's attributes, in the order of the op's row.
enum { MAX_STATES = 2, MAX_UPDATE_ATTRIBUTES = 4 };
struct update_row {
    enum op_kind op;
    unsigned n_states, n_attributes;
    enum buffer_class states[MAX_STATES];
    enum attribute_name attributes[MAX_UPDATE_ATTRIBUTES];
};
static const struct update_row update_rows[N_OPTIMIZERS] = {
    [OPTIMIZER_ADAMW] = {OP_ADAMW,
                         2,
                         4,
                         {CLASS_MOMENT1, CLASS_MOMENT2},
                         {ATTRIBUTE_BETA1, ATTRIBUTE_BETA2, ATTRIBUTE_EPS, ATTRIBUTE_WEIGHT_DECAY}},
    [OPTIMIZER_ADAM] = {OP_ADAM,
                        2,
                        4,
                        {CLASS_MOMENT1, CLASS_MOMENT2},
                        {ATTRIBUTE_BETA1, ATTRIBUTE_BETA2, ATTRIBUTE_EPS, ATTRIBUTE_WEIGHT_DECAY}},
    [OPTIMIZER_LION] = {OP_LION,
                        1,
                        3,
                        {CLASS_MOMENTUM},
                        {ATTRIBUTE_BETA1, ATTRIBUTE_BETA2, ATTRIBUTE_WEIGHT_DECAY}},
    [OPTIMIZER_MUON] = {.n_states = 1, .states = {CLASS_MOMENTUM}},     // several ops: muon.h
    [OPTIMIZER_ADAFACTOR] = {.n_states = 1, .states = {CLASS_MOMENT2}}, // adafactor.h
    [OPTIMIZER_SGD] = {OP_SGD, 0, 1, {0}, {ATTRIBUTE_WEIGHT_DECAY}},
};
static const struct update_row with_momentum = {
    OP_SGD_MOMENTUM,
    1,
    3,
    {CLASS_MOMENTUM},
    {ATTRIBUTE_MOMENTUM, ATTRIBUTE_WEIGHT_DECAY, ATTRIBUTE_NESTEROV}};

static const struct update_row factored = {.n_states = 2,
                                           .states = {CLASS_MOMENT2_ROWS, CLASS_MOMENT2_COLUMNS}};

static const struct update_row *update_row_of(const struct optimizer_config *optimizer,
                                              const struct tensor *tensor) {
    if (optimizer->kind == OPTIMIZER_SGD && optimizer->momentum != 0)
        return &with_momentum;
    if (optimizer->kind == OPTIMIZER_ADAFACTOR && is_factored(tensor))
        return &factored;
    return &update_rows[optimizer->kind];
}

bool optimizer_keeps_moments(const struct optimizer_config *optimizer,
                             const struct tensor *tensor) {
    return update_row_of(optimizer, tensor)->n_states > 0;
}

// One trainable tensor and all that is kept for it; NO_ID where there is no such thing.
struct trained {
    const struct tensor *tensor;
    const struct optimizer_config *optimizer;
    buffer_id parameter, master, gradient, moments[MAX_STATES];
    buffer_id rate;
    enum group group;
    uint32_t range; // of the updater's: in these layers; 0 of what is in none
};

struct updater {
    struct program *program;
    const struct config *config;
    struct trained *states;
    uint32_t n_states;
    struct layer_ranges ranges;
    struct rate *rates; // at most one for each rule
    uint32_t n_rates;
    buffer_id norm2, clip, step;
    buffer_id
        updates; // how many have been made, this one included: what optimizers take as the step
    struct writer writer;
};

// ---- buffers -----------------------------------------------------------------------------------

static const struct tensor *tensor_of(const struct updater *u, buffer_id of) {
    return &u->program->job->tensors[u->program->buffers[of].tensor];
}

static buffer_id add_scalar(struct updater *u, const char *name, enum buffer_class class) {
    struct buffer buffer = {.name = name,
                            .class = class,
                            .tensor = NO_ID,
                            .dtype = DTYPE_F64,
                            .window_of = NO_ID,
                            .offset_bytes = -1,
                            .span = u->config->train.origin.span};
    return program_add_buffer(u->program, buffer);
}

// A scalar that the host writes or reads, named as what it is to the host.
static buffer_id add_host_scalar(struct updater *u, enum host_role role) {
    buffer_id buffer = add_scalar(u, host_role_names[role], host_role_rows[role].class);
    u->program->buffers[buffer].host = role;
    return buffer;
}

// A state of the optimizer lies as its parameter lies, with the dimensions that its class has; the partition pass decides how much of it a
// device keeps. `layers`: which of them it is of; NULL: all that the parameter has.
static buffer_id add_state(struct updater *u, buffer_id parameter, enum buffer_class class,
                           enum precision_use use, const struct layer_range *layers) {
    const struct tensor *tensor = tensor_of(u, parameter);
    struct buffer buffer = u->program->buffers[parameter];
    buffer.name = name_with(u->program->arena, name_with(u->program->arena, buffer.name, "."),
                            class_names[class]);
    if (layers) {
        buffer.name = range_name(u->program->arena, buffer.name, layers);
        buffer.stacks = stacked_by_layers(layers);
    }
    struct side side = class_side(class, tensor->dims, tensor->rank);
    memmove(buffer.dims, &buffer.dims[side.begin], (side.end - side.begin) * sizeof *buffer.dims);
    buffer.rank = (uint8_t)(side.end - side.begin);
    buffer.class = class;
    buffer.dtype = precision_type(&u->config->train.precision, use, tensor->roles, tensor->n_roles,
                                  tensor->first_layer);
    return program_add_buffer(u->program, buffer);
}

// The buffer of a learning rate; the first one, of rule 0, is the one that is reported.
static buffer_id rate_buffer(struct updater *u, const struct learning_rate *rate) {
    for (uint32_t i = 0; i < u->n_rates; i++)
        if (learning_rate_equal(&u->rates[i].of, rate))
            return u->rates[i].buffer;
    CHECK(u->n_rates < u->config->train.n_optimizers);
    buffer_id buffer =
        u->n_rates == 0
            ? add_host_scalar(u, HOST_LEARNING_RATE)
            : add_scalar(u, arena_format(u->program->arena, "learning_rate.%u", u->n_rates + 1),
                         CLASS_TRANSIENT);
    u->rates[u->n_rates++] = (struct rate){.of = *rate, .buffer = buffer};
    return buffer;
}

// ---- what is updated, and by which rule --------------------------------------------------------

// Tied or not, the token table belongs to the embedding: it is updated once.
static enum group group_of(const struct tensor *tensor) {
    switch (tensor->roles[0]) {
    case ROLE_EMBEDDING:
        return GROUP_EMBEDDING;
    case ROLE_LAYERS:
        return GROUP_BLOCK;
    default:
        return GROUP_HEAD;
    }
}

static struct trained begin_state(const struct updater *u, buffer_id parameter) {
    struct program *program = u->program;
    const struct tensor *tensor = tensor_of(u, parameter);
    const char *name = name_with(program->arena, tensor->name, ".gradient");
    struct trained state = {.tensor = tensor,
                            .parameter = parameter,
                            .gradient = program_find_buffer(program, name),
                            .master = NO_ID,
                            .group = group_of(tensor)};
    CHECK(state.gradient != NO_ID);
    return state;
}

// Whether the range of the updater's is the first of those that the tensor's layers lie in.
static bool begins_tensor(const struct updater *u, const struct tensor *tensor, uint32_t range) {
    return tensor->layers ? u->ranges.list[range].begin == tensor->first_layer : range == 0;
}

// Adds what the optimizer of a range of layers keeps. A master copy is the same whatever the
// optimizer, so all ranges of a tensor share one.
static void add_states(struct updater *u, struct trained *state, uint32_t range) {
    const struct tensor *tensor = state->tensor;
    const struct layer_range *layers = &u->ranges.list[range];
    bool partial = range_layers(layers) < tensor->layers;
    state->range = range;
    state->optimizer = &optimizer_rule_of(&u->config->train, tensor, layers->begin)->optimizer;
    state->rate = rate_buffer(u, &state->optimizer->rate);
    if (begins_tensor(u, tensor, range) &&
        precision_type(&u->config->train.precision, PRECISION_MASTER, tensor->roles,
                       tensor->n_roles, tensor->first_layer))
        state->master = add_state(u, state->parameter, CLASS_MASTER, PRECISION_MASTER, NULL);
    const struct update_row *row = update_row_of(state->optimizer, tensor);
    for (unsigned i = 0; i < MAX_STATES; i++)
        state->moments[i] = i < row->n_states
                                ? add_state(u, state->parameter, row->states[i], PRECISION_MOMENTS,
                                            partial ? layers : NULL)
                                : NO_ID;
    u->states[u->n_states++] = *state;
}

// States stand in the order of the parameters' buffers, which is also the order of summing the
// norm.
static void collect_states(struct updater *u) {
    struct program *program = u->program;
    uint32_t n = program->n_buffers;
    u->states = ARENA_ARRAY(program->arena, struct trained, (size_t)n * u->ranges.n);
    for (buffer_id i = 0; i < n; i++) {
        const struct buffer *buffer = &program->buffers[i];
        if (buffer->class != CLASS_PARAMETERS || !program->job->tensors[buffer->tensor].trainable)
            continue;
        struct trained state = begin_state(u, i);
        uint32_t n_ranges = state.tensor->layers ? u->ranges.n : 1;
        for (uint32_t range = 0; range < n_ranges; range++)
            if (tensor_has_layer(state.tensor, u->ranges.list[range].begin))
                add_states(u, &state, range);
    }
}

// ---- writing units and their calls -------------------------------------------------------------

static value_id bind_buffer(struct updater *u, const char *name, buffer_id from) {
    return bind_operand(&u->writer, name, item_of_layer(u->program, from));
}

// Calls one behind the other, in a loop over layers if they are the block's.
static void push_group_calls(struct updater *u, enum group group, const struct layer_range *layers,
                             const struct statement *calls, uint32_t n) {
    struct block *step = &u->program->steps[STEP_TRAIN].body;
    struct statement loop = loop_over_layers(layers, calls[0].span);
    struct block *body = group == GROUP_BLOCK ? &loop.loop.body : step;
    for (uint32_t i = 0; i < n; i++)
        block_push(u->program->arena, body, calls[i]);
    if (group == GROUP_BLOCK)
        block_push(u->program->arena, step, loop);
}

// The call just written.
static void push_group_call(struct updater *u, enum group group, const struct layer_range *layers) {
    push_group_calls(u, group, layers, &u->writer.call, 1);
}

// Is it a state of the group's in this range of layers?
static bool is_of(const struct trained *state, enum group group, uint32_t range) {
    return state->group == group && state->range == range;
}

// One of the group's in this range; NULL: there is none.
static const struct trained *first_of(const struct updater *u, enum group group, uint32_t range) {
    for (uint32_t i = 0; i < u->n_states; i++)
        if (is_of(&u->states[i], group, range))
            return &u->states[i];
    return NULL;
}

static uint32_t ranges_of(const struct updater *u, enum group group) {
    return group == GROUP_BLOCK ? u->ranges.n : 1;
}

// A tensor's name inside its unit, as in forward.
static const char *short_name(const struct updater *u, const struct trained *state,
                              const char *suffix) {
    return name_with(u->program->arena, name_in_unit(tensor_model_name(state->tensor)), suffix);
}

static void inherit_roles(struct updater *u, const struct trained *state) {
    u->writer.emitter.n_roles = state->tensor->n_roles;
    memcpy(u->writer.emitter.roles, state->tensor->roles, sizeof u->writer.emitter.roles);
}

// ---- norm --------------------------------------------------------------------------------------

// Clipping needs the norm of all gradients of a group, so each is read once before it.

static value_id bind_gradient(struct updater *u, const struct trained *state) {
    return bind_buffer(u, short_name(u, state, ".gradient"), state->gradient);
}

// Sums that are to have an order are rounded to the gradient's type once, when they are whole.
static value_id rounded_gradient(struct updater *u, const struct trained *state, value_id sum) {
    const struct tensor *tensor = state->tensor;
    enum dtype type = precision_type(&u->config->train.precision, PRECISION_GRADIENTS,
                                     tensor->roles, tensor->n_roles, tensor->first_layer);
    if (type == u->program->buffers[state->gradient].dtype)
        return sum;
    return emit_as(&u->writer.emitter, type, OP_CAST, short_name(u, state, ".gradient.rounded"),
                   OPERANDS(sum));
}

// All layers that the group's tensors of a range have.
static struct layer_range layers_of_tensors(const struct updater *u, enum group group,
                                            uint32_t range) {
    const struct tensor *tensor = first_of(u, group, range)->tensor;
    return (struct layer_range){tensor->first_layer, tensor->first_layer + tensor->layers, 1};
}

// `norm_block`, `norm_block_0_2`
static const char *norm_name(const struct updater *u, const char *verb, enum group group,
                             uint32_t range) {
    const struct layer_range layers = layers_of_tensors(u, group, range);
    const char *name = group_names[group];
    if (first_of(u, group, range)->tensor->model_name)
        name = range_name(u->program->arena, name, &layers);
    return name_of_unit(u->program->arena, verb, name);
}

// The square of every gradient goes to the sum one after the other, so its order is fixed by the
// program's text.
static void append_norm(struct updater *u, enum group group, uint32_t range) {
    begin_unit(&u->writer, norm_name(u, "norm", group, range), PHASE_UPDATE);
    value_id sum = bind_buffer(u, "norm2", u->norm2), old = sum;
    value_id *gradients = ARENA_ARRAY(u->program->arena, value_id, u->n_states);
    for (uint32_t i = 0; i < u->n_states; i++)
        if (is_of(&u->states[i], group, range))
            gradients[i] = bind_gradient(u, &u->states[i]);
    for (uint32_t i = 0; i < u->n_states; i++) {
        if (!is_of(&u->states[i], group, range))
            continue;
        inherit_roles(u, &u->states[i]);
        value_id square = emit(&u->writer.emitter, OP_SQUARE_SUM,
                               short_name(u, &u->states[i], ".square"), OPERANDS(gradients[i]));
        sum = emit(&u->writer.emitter, OP_ACCUMULATE, "sum", OPERANDS(sum, square));
    }
    bind_in_place(&u->writer, sum, old);
    const struct layer_range layers = layers_of_tensors(u, group, range);
    push_group_call(u, group, &layers);
}

// Sums of squares that need no order, so that however the gradient is cut they are the same.
static buffer_id add_bins(struct updater *u, const struct trained *state) {
    const char *name = name_with(u->program->arena, state->tensor->name, ".square");
    buffer_id bins = add_scalar(u, name, CLASS_TRANSIENT);
    struct buffer *buffer = &u->program->buffers[bins];
    buffer->rank = 1;
    buffer->dims[0] = (struct dim){DIM_FLAT, LIMIT_SQUARE_BINS};
    return bins;
}

// Where training is `reproducible`, in two units: between them, what devices have of a gradient's
// squares becomes the sum of all of them.
static void append_ordered_norm(struct updater *u, enum group group, uint32_t range) {
    struct program *program = u->program;
    struct emitter *e = &u->writer.emitter;
    buffer_id *squares = ARENA_ARRAY(program->arena, buffer_id, u->n_states);
    begin_unit(&u->writer, norm_name(u, "square", group, range), PHASE_UPDATE);
    value_id *gradients = ARENA_ARRAY(program->arena, value_id, u->n_states);
    for (uint32_t i = 0; i < u->n_states; i++)
        if (is_of(&u->states[i], group, range))
            gradients[i] = bind_gradient(u, &u->states[i]);
    value_id bins = emit_iota(e, "bins", DIM_FLAT, LIMIT_SQUARE_BINS);
    for (uint32_t i = 0; i < u->n_states; i++) {
        const struct trained *state = &u->states[i];
        if (!is_of(state, group, range))
            continue;
        squares[i] = add_bins(u, state);
        inherit_roles(u, state);
        value_id gradient = rounded_gradient(u, state, gradients[i]);
        bind_result(
            &u->writer,
            emit(e, OP_SQUARE_BINS, short_name(u, state, ".square"), OPERANDS(gradient, bins)),
            reference_to(squares[i]));
    }
    struct statement square = u->writer.call;
    begin_unit(&u->writer, norm_name(u, "norm", group, range), PHASE_UPDATE);
    value_id sum = bind_buffer(u, "norm2", u->norm2), old = sum;
    for (uint32_t i = 0; i < u->n_states; i++)
        if (is_of(&u->states[i], group, range))
            gradients[i] = bind_buffer(u, short_name(u, &u->states[i], ".square"), squares[i]);
    for (uint32_t i = 0; i < u->n_states; i++) {
        if (!is_of(&u->states[i], group, range))
            continue;
        value_id square_sum =
            emit(e, OP_BIN_SUM, short_name(u, &u->states[i], ".sum"), OPERANDS(gradients[i]));
        sum = emit(e, OP_ACCUMULATE, "sum", OPERANDS(sum, square_sum));
    }
    bind_in_place(&u->writer, sum, old);
    const struct layer_range layers = layers_of_tensors(u, group, range);
    push_group_calls(u, group, &layers, (struct statement[]){square, u->writer.call}, 2);
}

static void append_norms(struct updater *u) {
    struct statement zero = {.kind = STATEMENT_ZERO,
                             .span = u->config->train.origin.span,
                             .zero = reference_to(u->norm2)};
    block_push(u->program->arena, &u->program->steps[STEP_TRAIN].body, zero);
    bool ordered = u->config->train.reproducible > 0;
    for (enum group group = 0; group < N_GROUPS; group++)
        for (uint32_t range = 0; range < ranges_of(u, group); range++) {
            const struct trained *first = first_of(u, group, range);
            if (first && begins_tensor(u, first->tensor, range))
                (ordered ? append_ordered_norm : append_norm)(u, group, range);
        }
}

// ---- finish ------------------------------------------------------------------------------------

// Absent means not used, or, of `decay`, all steps behind the warm-up.
static value_id emit_rate(struct updater *u, const struct learning_rate *rate, value_id step) {
    struct attribute attributes[6] = {{.name = ATTRIBUTE_RATE, .word = rate_names[rate->curve]},
                                      {.name = ATTRIBUTE_BASE, .real = rate->base}};
    uint32_t n = 2;
    bool falls = rate->curve != RATE_CONSTANT;
    if (falls)
        attributes[n++] = (struct attribute){.name = ATTRIBUTE_MINIMUM, .real = rate->minimum};
    if (falls || rate->warmup_steps > 0)
        attributes[n++] =
            (struct attribute){.name = ATTRIBUTE_WARMUP, .integer = rate->warmup_steps};
    if (falls)
        attributes[n++] = (struct attribute){.name = ATTRIBUTE_STEPS, .integer = rate->steps};
    if (falls && rate->decay_steps != rate->steps - rate->warmup_steps)
        attributes[n++] = (struct attribute){.name = ATTRIBUTE_DECAY, .integer = rate->decay_steps};
    return emit_with(&u->writer.emitter, OP_LEARNING_RATE, "learning_rate", OPERANDS(step),
                     attributes, n)
        ->results[0];
}

// All scalars of the step in one small unit: everything before it is sums over devices, everything
// after it is the same on all of them. Without a limit the factor is one.
static value_id multiply(struct updater *u, const char *name, value_id a, value_id b) {
    return emit(&u->writer.emitter, OP_MUL, name, OPERANDS(a, b));
}

// Scalars of a step whose loss is scaled.
struct scaling {
    value_id scale, good_steps, updates; // as the step finds them
    value_id inverse;                    // one over the scale
};

static struct scaling bind_scaling(struct updater *u) {
    struct scaling at = {.scale =
                             bind_buffer(u, "scale", program_host_buffer(u->program, HOST_SCALE)),
                         .updates = bind_buffer(u, "updates", add_host_scalar(u, HOST_UPDATES))};
    if (u->config->train.loss_scale.dynamic)
        at.good_steps = bind_buffer(u, "good_steps", add_host_scalar(u, HOST_GOOD_STEPS));
    return at;
}

static void bind_output(struct updater *u, value_id value, enum host_role role) {
    bind_result(&u->writer, value, reference_to(add_host_scalar(u, role)));
}

// What the next step finds. Devices agree on all of it, as they do on the norm.
static void finish_scaling(struct updater *u, const struct scaling *at, value_id norm2) {
    const struct loss_scale_config *scale = &u->config->train.loss_scale;
    struct emitter *e = &u->writer.emitter;
    value_id finite = emit(e, OP_IS_FINITE, "is_finite", OPERANDS(norm2));
    value_id made = emit(e, OP_ACCUMULATE, "next_updates", OPERANDS(at->updates, finite));
    u->updates = add_host_scalar(u, HOST_NEXT_UPDATES);
    bind_result(&u->writer, made, reference_to(u->updates));
    if (!scale->dynamic)
        return;
    struct attribute attributes[] = {
        {.name = ATTRIBUTE_GROWTH, .real = scale->growth},
        {.name = ATTRIBUTE_BACKOFF, .real = scale->backoff},
        {.name = ATTRIBUTE_INTERVAL, .integer = scale->interval},
    };
    struct op next = *emit_with(e, OP_NEXT_LOSS_SCALE, "next",
                                OPERANDS(at->scale, at->good_steps, finite), attributes, 3);
    bind_output(u, next.results[0], HOST_NEXT_LOSS_SCALE);
    bind_output(u, next.results[1], HOST_NEXT_GOOD_STEPS);
}

// The factor of all gradients: the clip, and the loss scale out again, whose square is in the sum of
// squares. Where that is not finite the step is skipped, which is one value for all devices.
static value_id unscaled_factor(struct updater *u, const struct scaling *at, value_id clip,
                                value_id norm2) {
    value_id factor = multiply(u, "factor", clip, at->inverse);
    return emit(&u->writer.emitter, OP_UPDATE_FACTOR, "update_factor", OPERANDS(factor, norm2));
}

static void append_finish(struct updater *u) {
    struct program *program = u->program;
    double max_norm = u->config->train.clip;
    buffer_id grad_norm = add_host_scalar(u, HOST_GRAD_NORM);
    begin_unit(&u->writer, "finish", PHASE_UPDATE);
    struct emitter *e = &u->writer.emitter;
    value_id norm2 = bind_buffer(u, "norm2", u->norm2);
    value_id sum = bind_buffer(u, "loss_sum", program_find_buffer(program, "loss_sum"));
    value_id inverse =
        bind_buffer(u, "inverse_count", program_find_buffer(program, "inverse_count"));
    value_id step = bind_buffer(u, "step", u->step);
    bool scaled = u->config->train.loss_scale.initial != 0;
    struct scaling scaling = {0};
    if (scaled)
        scaling = bind_scaling(u);
    bind_result(&u->writer, emit(e, OP_MUL, "loss", OPERANDS(sum, inverse)),
                reference_to(program_host_buffer(program, HOST_LOSS)));
    value_id summed = norm2;
    if (scaled) {
        scaling.inverse = emit(e, OP_RECIPROCAL, "inverse_scale", OPERANDS(scaling.scale));
        norm2 = multiply(u, "norm2.once", norm2, scaling.inverse);
        norm2 = multiply(u, "norm2.unscaled", norm2, scaling.inverse);
    }
    bind_result(&u->writer, emit(e, OP_SQUARE_ROOT, "grad_norm", OPERANDS(norm2)),
                reference_to(grad_norm));
    struct attribute limit = {.name = ATTRIBUTE_MAX_NORM, .real = max_norm};
    struct op *clip = emit_with(e, OP_CLIP_FACTOR, "clip", OPERANDS(norm2), &limit, max_norm > 0);
    value_id factor = clip->results[0];
    if (scaled)
        factor = unscaled_factor(u, &scaling, factor, summed);
    bind_result(&u->writer, factor, reference_to(u->clip));
    if (scaled)
        finish_scaling(u, &scaling, summed);
    for (uint32_t i = 0; i < u->n_rates; i++)
        bind_result(&u->writer, emit_rate(u, &u->rates[i].of, step),
                    reference_to(u->rates[i].buffer));
    block_push(program->arena, &program->steps[STEP_TRAIN].body, u->writer.call);
}

// ---- update ------------------------------------------------------------------------------------

static double decay_of(const struct trained *state) {
    bool decays = state->tensor->init == INIT_NORMAL || state->optimizer->decays_all;
    return decays ? state->optimizer->weight_decay : 0;
}

struct
    bound { // one tensor's values in its update unit; `updated`: the parameter's, or its master's
    value_id updated, gradient, moments[MAX_STATES];
};

// Binds what is updated, moments, gradient, in this order, which keeps one tensor's rows together in
// the text.
static struct bound bind_state(struct updater *u, const struct trained *state) {
    bool has_master = state->master != NO_ID;
    struct bound bound = {.updated =
                              bind_buffer(u, short_name(u, state, has_master ? ".master" : ""),
                                          has_master ? state->master : state->parameter)};
    for (int i = 0; i < MAX_STATES; i++)
        if (state->moments[i] != NO_ID) {
            enum buffer_class class = u->program->buffers[state->moments[i]].class;
            const char *suffix = arena_format(u->program->arena, ".%s", class_names[class]);
            bound.moments[i] = bind_buffer(u, short_name(u, state, suffix), state->moments[i]);
        }
    bound.gradient = bind_buffer(u, short_name(u, state, ".gradient"), state->gradient);
    return bound;
}

// What the optimizer made takes its place; where that is a master, the parameter is what is left of it
// in the parameter's type.
static void bind_updated(struct updater *u, const struct trained *state, const struct bound *at,
                         value_id made) {
    bind_in_place(&u->writer, made, at->updated);
    if (state->master == NO_ID)
        return;
    enum dtype type = u->program->buffers[state->parameter].dtype;
    value_id rounded = emit_as(&u->writer.emitter, type, OP_CAST, short_name(u, state, ".rounded"),
                               OPERANDS(made));
    bind_result(&u->writer, rounded, item_of_layer(u->program, state->parameter));
}

static struct attribute attribute_of(const struct trained *state, enum attribute_name name) {
    const struct optimizer_config *o = state->optimizer;
    struct attribute attribute = {.name = name};
    switch (name) {
    case ATTRIBUTE_BETA1:
        attribute.real = o->beta1;
        break;
    case ATTRIBUTE_BETA2:
        attribute.real = o->beta2;
        break;
    case ATTRIBUTE_EPS:
        attribute.real = o->eps;
        break;
    case ATTRIBUTE_MOMENTUM:
        attribute.real = o->momentum;
        break;
    case ATTRIBUTE_NESTEROV:
        attribute.integer = o->nesterov;
        break;
    default:
        CHECK(name == ATTRIBUTE_WEIGHT_DECAY);
        attribute.real = decay_of(state);
    }
    return attribute;
}

// An optimizer's op takes what it updates, its states, the gradient, rate and clip factor, and some the
// number of the step; it gives what it updates and the states anew.
static void emit_update(struct updater *u, const struct trained *state, const struct bound *at,
                        value_id rate, value_id clip, value_id step) {
    const struct update_row *row = update_row_of(state->optimizer, state->tensor);
    value_id operands[MAX_OPERANDS] = {at->updated};
    unsigned n = 1;
    for (unsigned i = 0; i < row->n_states; i++)
        operands[n++] = at->moments[i];
    operands[n++] = at->gradient;
    operands[n++] = rate;
    operands[n++] = clip;
    if (n < op_operand_count(row->op))
        operands[n++] = step;
    struct attribute attributes[MAX_UPDATE_ATTRIBUTES];
    for (unsigned i = 0; i < row->n_attributes; i++)
        attributes[i] = attribute_of(state, row->attributes[i]);
    struct op made = *emit_with(&u->writer.emitter, row->op, short_name(u, state, ".updated"),
                                operands, n, attributes, row->n_attributes);
    bind_updated(u, state, at, made.results[0]);
    for (unsigned i = 1; i < made.n_results; i++)
        bind_in_place(&u->writer, made.results[i], operands[i]);
}

static void emit_matrix_update(struct updater *u, const struct trained *state,
                               const struct bound *at, value_id rate, value_id clip) {
    struct muon_state made = {at->updated,
                              at->moments[0],
                              at->gradient,
                              rate,
                              clip,
                              .may_skip = u->config->train.loss_scale.initial != 0,
                              .ordered = u->config->train.reproducible > 0};
    emit_muon(&u->writer.emitter, short_name(u, state, ""), state->optimizer, decay_of(state),
              &made);
    bind_updated(u, state, at, made.parameter);
    bind_in_place(&u->writer, made.momentum, at->moments[0]);
}

static void emit_adafactor_update(struct updater *u, const struct trained *state,
                                  const struct bound *at, value_id rate, value_id clip,
                                  value_id step) {
    struct adafactor_state made = {at->updated,
                                   {at->moments[0], at->moments[1]},
                                   at->gradient,
                                   rate,
                                   clip,
                                   step,
                                   .may_skip = u->config->train.loss_scale.initial != 0,
                                   .ordered = u->config->train.reproducible > 0};
    emit_adafactor(&u->writer.emitter, short_name(u, state, ""), state->tensor, state->optimizer,
                   decay_of(state), &made);
    bind_updated(u, state, at, made.parameter);
    for (int i = 0; i < MAX_STATES; i++)
        if (state->moments[i] != NO_ID)
            bind_in_place(&u->writer, made.moments[i], at->moments[i]);
}

// The rate's value among `values`, which stand in the order of the updater's rates.
static value_id rate_value(const struct updater *u, const struct trained *state,
                           const value_id *values) {
    for (uint32_t i = 0; i < u->n_rates; i++)
        if (u->rates[i].buffer == state->rate)
            return values[i];
    CHECK(false);
}

static bool group_has_rate(const struct updater *u, enum group group, uint32_t range,
                           buffer_id rate) {
    for (uint32_t i = 0; i < u->n_states; i++)
        if (is_of(&u->states[i], group, range) && u->states[i].rate == rate)
            return true;
    return false;
}

static const char *update_name(const struct updater *u, enum group group, uint32_t range) {
    struct arena *arena = u->program->arena;
    const char *name = group_names[group];
    if (group == GROUP_BLOCK && u->ranges.n > 1)
        name = range_name(arena, name, &u->ranges.list[range]);
    return name_of_unit(arena, "update", name);
}

// The gradient is multiplied by the clip factor inside the optimizer's op: no clipped copy exists.
static void append_update(struct updater *u, enum group group, uint32_t range) {
    if (!first_of(u, group, range))
        return;
    begin_unit(&u->writer, update_name(u, group, range), PHASE_UPDATE);
    value_id *rates = ARENA_ARRAY(u->program->arena, value_id, u->n_rates);
    for (uint32_t i = 0; i < u->n_rates; i++)
        if (group_has_rate(u, group, range, u->rates[i].buffer))
            rates[i] =
                bind_buffer(u, u->program->buffers[u->rates[i].buffer].name, u->rates[i].buffer);
    value_id clip = bind_buffer(u, "clip", u->clip), step = bind_buffer(u, "step", u->updates);
    struct bound *bound = ARENA_ARRAY(u->program->arena, struct bound, u->n_states);
    for (uint32_t i = 0; i < u->n_states; i++)
        if (is_of(&u->states[i], group, range))
            bound[i] = bind_state(u, &u->states[i]);
    for (uint32_t i = 0; i < u->n_states; i++) {
        const struct trained *state = &u->states[i];
        if (!is_of(state, group, range))
            continue;
        inherit_roles(u, state);
        bound[i].gradient = rounded_gradient(u, state, bound[i].gradient);
        if (state->optimizer->kind == OPTIMIZER_MUON)
            emit_matrix_update(u, state, &bound[i], rate_value(u, state, rates), clip);
        else if (state->optimizer->kind == OPTIMIZER_ADAFACTOR)
            emit_adafactor_update(u, state, &bound[i], rate_value(u, state, rates), clip, step);
        else
            emit_update(u, state, &bound[i], rate_value(u, state, rates), clip, step);
    }
    push_group_call(u, group, &u->ranges.list[range]);
}

// Products of updates are products, too, which read and add up in what states and gradients are kept in:
// the policy has no more than any has.
static void lower_policy(struct job *job) {
    struct policy *policy = &job->policy;
    for (uint32_t u = 0; u < job->n_units; u++) {
        const struct unit *unit = &job->units[u];
        for (uint32_t i = 0; i < unit->n_ops && unit->phase == PHASE_UPDATE; i++) {
            const struct op *op = &unit->ops[i];
            if (op->kind != OP_EINSUM)
                continue;
            for (unsigned k = 0; k < op->n_operands; k++)
                policy->compute = dtype_narrower(
                    policy->compute, (enum dtype)unit->values[op->operands[k]].type.dtype);
            policy->accumulate = dtype_narrower(policy->accumulate, op_computes_in(unit, op));
        }
    }
}

bool append_updates(struct job *job, const struct pass_context *context) {
    struct program *program = job_only(job);
    struct updater u = {.program = program, .config = context->config};
    u.writer = writer_in(program, context->config->train.origin.span);
    u.ranges = optimizer_ranges(program->arena, &context->config->train, program->job);
    u.rates = ARENA_ARRAY(program->arena, struct rate, context->config->train.n_optimizers);
    u.step = add_host_scalar(&u, HOST_STEP);
    u.updates = u.step; // unless some steps are skipped
    u.norm2 = add_scalar(&u, "norm2", CLASS_TRANSIENT);
    u.clip = add_scalar(&u, "clip", CLASS_TRANSIENT);
    const struct optimizer_config *first = &context->config->train.optimizers[0].optimizer;
    if (first->kind != OPTIMIZER_NONE)
        rate_buffer(&u, &first->rate); // the one that is reported
    collect_states(&u);
    append_norms(&u);
    append_finish(&u);
    for (int group = 0; group < N_GROUPS; group++)
        for (uint32_t range = 0; range < ranges_of(&u, (enum group)group); range++)
            append_update(&u, (enum group)group, range);
    lower_policy(program->job);
    job_number(program->job);
    return true;
}
