// Average: appends the step that makes one model again of the parameters of several islands
// (islands.h). To one device, as which the reference program computes, each parameter then holds
// the sum of what the islands have; it is divided by their number. That the sum is taken over
// devices is seen by `partition`, from the type: a summand over the axes between islands.
//
// An outer optimizer takes it from there. It steps from the `anchor`, where the islands began, and
// its gradient is what they have moved away from it, so a rate of one takes the average. What it
// arrives at are the parameters and the next anchor. The anchor is equal on all islands, as its
// momentum is.
//
// Only what is trained differs between islands. The optimizer's states stay each island's own.
#include <string.h>

#include "ir/config.h"
#include "ir/diagnostic.h"
#include "passes/passes.h"
#include "passes/reference/islands.h"
#include "passes/reference/select.h"
#include "passes/reference/writer.h"

// The buffer of a class that holds the tensor of another buffer; NO_ID: there is none.
static buffer_id of_tensor(const struct program *program, enum buffer_class class, buffer_id like) {
    for (buffer_id i = 0; i < program->n_buffers; i++)
        if (program->buffers[i].class == class &&
            program->buffers[i].tensor == program->buffers[like].tensor)
            return i;
    return NO_ID;
}

// Where parameters have a master, that is what is averaged.
static bool is_averaged(const struct program *program, buffer_id id,
                        const struct layer_range *layers) {
    const struct buffer *buffer = &program->buffers[id];
    const struct stack *stack = buffer_stack(buffer, STACK_LAYERS);
    bool are_these = layers && stack && stack->first_layer == layers->begin;
    bool is_updated =
        buffer->class == CLASS_MASTER ||
        (buffer->class == CLASS_PARAMETERS && of_tensor(program, CLASS_MASTER, id) == NO_ID);
    return is_updated && program->job->tensors[buffer->tensor].trainable &&
           (stack ? are_these : !layers);
}

// The statement that asks for it: what averages over several axes says the same over each.
static const struct mode_statement *mode_of_average(const struct config *config) {
    const struct strategy_config *strategy = &config->strategy;
    for (uint32_t m = 0; m < strategy->n_modes; m++)
        if (strategy->modes[m].average_every)
            return &strategy->modes[m];
    return NULL;
}

// Units for what a range of layers has, or for what none has.
struct averager {
    struct program *program;
    const struct config *config;
    const struct mode_statement *mode;
    const struct layer_range *layers; // NULL: none
    struct writer writer;
};

static void begin(struct averager *a, const char *name) {
    bool all = a->layers && range_layers(a->layers) == a->program->job->sizes.layers;
    if (a->layers)
        name = name_of_unit(a->program->arena, name,
                            all ? "block" : range_name(a->program->arena, "block", a->layers));
    begin_unit(&a->writer, name, PHASE_UPDATE);
}

static value_id bind_buffer(struct averager *a, buffer_id from) {
    return bind_operand(&a->writer, a->program->buffers[from].name,
                        item_of_layer(a->program, from));
}

// The call just written, in a loop over layers if it is theirs.
static void push_call(struct averager *a) {
    struct program *program = a->program;
    struct block *step = &program->steps[STEP_AVERAGE].body;
    if (!a->layers) {
        block_push(program->arena, step, a->writer.call);
        return;
    }
    struct statement loop = loop_over_layers(a->layers, a->writer.call.span);
    block_push(program->arena, &loop.loop.body, a->writer.call);
    block_push(program->arena, step, loop);
}

static const char *inherit(struct averager *a, buffer_id parameter, const char *suffix) {
    const struct tensor *tensor = &a->program->job->tensors[a->program->buffers[parameter].tensor];
    a->writer.emitter.n_roles = tensor->n_roles;
    memcpy(a->writer.emitter.roles, tensor->roles, sizeof a->writer.emitter.roles);
    return arena_format(a->program->arena, "%s.%s", tensor->name, suffix);
}

// What a master leaves of itself in the parameter's type.
static void round_master(struct averager *a, buffer_id from, value_id made) {
    struct program *program = a->program;
    if (program->buffers[from].class != CLASS_MASTER)
        return;
    buffer_id parameter = of_tensor(program, CLASS_PARAMETERS, from);
    value_id rounded = emit_as(&a->writer.emitter, program->buffers[parameter].dtype, OP_CAST,
                               inherit(a, from, "rounded"), OPERANDS(made));
    bind_result(&a->writer, rounded, item_of_layer(program, parameter));
}

static void append_division(struct averager *a, const buffer_id *parameters, uint32_t n) {
    struct axis_list islands = islands_of(a->config);
    struct attribute divisor = {.name = ATTRIBUTE_DIVISOR,
                                .integer = mesh_group_size(&a->config->mesh, &islands)};
    begin(a, "average");
    for (uint32_t i = 0; i < n; i++)
        bind_buffer(a, parameters[i]);
    for (uint32_t i = 0; i < n; i++) {
        const char *name = inherit(a, parameters[i], "average");
        value_id mean =
            emit_with(&a->writer.emitter, OP_DIVIDE, name, OPERANDS(i), &divisor, 1)->results[0];
        bind_in_place(&a->writer, mean, i);
        round_master(a, parameters[i], mean);
    }
    push_call(a);
}

// ---- the outer optimizer ----------------------------------------------------------------------

// A state that lies as its parameter lies.
static buffer_id add_state(struct averager *a, buffer_id parameter, enum buffer_class class,
                           enum dtype dtype) {
    struct buffer buffer = a->program->buffers[parameter];
    buffer.name = arena_format(a->program->arena, "%s.%s", buffer.name, class_names[class]);
    buffer.class = class;
    buffer.dtype = dtype;
    return program_add_buffer(a->program, buffer);
}

static enum dtype moment_type(const struct averager *a, buffer_id parameter) {
    const struct tensor *tensor = &a->program->job->tensors[a->program->buffers[parameter].tensor];
    return precision_type(&a->config->train.precision, PRECISION_MOMENTS, tensor->roles,
                          tensor->n_roles, tensor->first_layer);
}

static value_id weighted_sum(struct averager *a, const char *name, value_id x, double weight_x,
                             value_id y, double weight_y) {
    const struct attribute weights[] = {{.name = ATTRIBUTE_WEIGHT_A, .real = weight_x},
                                        {.name = ATTRIBUTE_WEIGHT_B, .real = weight_y}};
    return emit_with(&a->writer.emitter, OP_WEIGHTED_SUM, name, OPERANDS(x, y), weights, 2)
        ->results[0];
}

// One parameter's values in the unit.
struct stepped {
    value_id mean, anchor, momentum;
};

// PyTorch's SGD, whose gradient is what the islands have moved away from where they began.
static void emit_outer(struct averager *a, buffer_id parameter, const struct stepped *at) {
    const struct optimizer_config *o = &a->mode->outer;
    value_id mean = at->mean, anchor = at->anchor, step;
    step = weighted_sum(a, inherit(a, parameter, "moved"), anchor, 1, mean, -1);
    if (o->momentum != 0) {
        value_id gradient = step, old = at->momentum;
        step = weighted_sum(a, inherit(a, parameter, "momentum"), old, o->momentum, gradient, 1);
        bind_in_place(&a->writer, step, old);
        if (o->nesterov)
            step = weighted_sum(a, inherit(a, parameter, "step"), gradient, 1, step, o->momentum);
    }
    value_id made =
        weighted_sum(a, inherit(a, parameter, "stepped"), anchor, 1, step, -o->rate.base);
    bind_in_place(&a->writer, made, mean);
    bind_in_place(
        &a->writer,
        emit(&a->writer.emitter, OP_CAST, inherit(a, parameter, "anchored"), OPERANDS(made)),
        anchor);
    round_master(a, parameter, made);
}

static void append_outer(struct averager *a, const buffer_id *parameters, uint32_t n) {
    struct stepped *at = ARENA_ARRAY(a->program->arena, struct stepped, n);
    begin(a, "outer");
    for (uint32_t i = 0; i < n; i++) {
        at[i].mean = bind_buffer(a, parameters[i]);
        at[i].anchor = bind_buffer(
            a, add_state(a, parameters[i], CLASS_ANCHOR, a->program->buffers[parameters[i]].dtype));
        if (a->mode->outer.momentum != 0)
            at[i].momentum = bind_buffer(a, add_state(a, parameters[i], CLASS_OUTER_MOMENTUM,
                                                      moment_type(a, parameters[i])));
    }
    for (uint32_t i = 0; i < n; i++)
        emit_outer(a, parameters[i], &at[i]);
    push_call(a);
}

// ---- the step ---------------------------------------------------------------------------------

static void append_averages(struct averager *a) {
    struct program *program = a->program;
    buffer_id *parameters = ARENA_ARRAY(program->arena, buffer_id, program->n_buffers);
    uint32_t n = 0;
    for (buffer_id i = 0; i < program->n_buffers; i++)
        if (is_averaged(program, i, a->layers))
            parameters[n++] = i;
    if (n == 0)
        return;
    append_division(a, parameters, n);
    if (a->mode->outer.kind != OPTIMIZER_NONE)
        append_outer(a, parameters, n);
}

bool append_average(struct job *job, const struct pass_context *context) {
    struct program *program = job_only(job);
    const struct config *config = context->config;
    const struct mode_statement *mode = mode_of_average(config);
    if (islands_of(config).n == 0 || !mode) // of islands that nothing averages `place` tells
        return true;
    program->steps[STEP_AVERAGE] =
        (struct step){.present = true, .span = origin_span(&mode->origin)};
    struct averager a = {.program = program,
                         .config = config,
                         .mode = mode,
                         .writer = writer_in(program, origin_span(&mode->origin))};
    append_averages(&a);
    const struct layer_ranges ranges =
        precision_ranges(program->arena, &config->train.precision, config->model.layers);
    for (uint32_t i = 0; i < ranges.n; i++) {
        a.layers = &ranges.list[i];
        append_averages(&a);
    }
    job_number(program->job);
    return true;
}
