// Average: appends the step that makes one model again of the parameters of several islands
// (islands.h). To one device, as which the reference program computes, each parameter then holds
// the sum of what the islands have; it is divided by their number. That the sum is taken over
// devices is seen by `partition`, from the type: a summand over the axes between islands.
//
// Only what is trained differs between islands. The optimizer's states stay each island's own.
#include <string.h>

#include "ir/config.h"
#include "ir/diagnostic.h"
#include "passes/emit.h"
#include "passes/islands.h"
#include "passes/passes.h"

static bool is_averaged(const struct program *program, const struct buffer *buffer, bool layers) {
    return buffer->class == CLASS_PARAMETERS && program->tensors[buffer->tensor].trainable &&
           layers == (buffer->stack == STACK_LAYERS);
}

static uint32_t count_averaged(const struct program *program, bool layers) {
    uint32_t n = 0;
    for (buffer_id i = 0; i < program->n_buffers; i++)
        n += is_averaged(program, &program->buffers[i], layers);
    return n;
}

// The statement that asks for it.
static struct span span_of_average(const struct config *config) {
    const struct strategy_config *strategy = &config->strategy;
    for (uint32_t m = 0; m < strategy->n_modes; m++)
        if (strategy->modes[m].average_every)
            return origin_span(&strategy->modes[m].origin);
    return strategy->name_span;
}

// Parameters come before all ops of a unit, so they are bound first.
static struct call bind_parameters(struct emitter *e, bool layers) {
    struct program *program = e->program;
    uint32_t n = count_averaged(program, layers);
    struct call call = {.unit = (uint32_t)(e->unit - program->units),
                        .operands = ARENA_ARRAY(program->arena, struct reference, n)};
    for (buffer_id i = 0; i < program->n_buffers; i++) {
        const struct buffer *buffer = &program->buffers[i];
        if (!is_averaged(program, buffer, layers))
            continue;
        call.operands[e->unit->n_parameters] = (struct reference){
            .buffer = i, .index = layers ? index_variable(0, 0, 0) : index_constant(0)};
        unit_add_parameter(program, e->unit, program->tensors[buffer->tensor].name,
                           buffer_type(program, buffer), false);
    }
    call.results = call.operands; // each in its place
    return call;
}

static void divide_parameters(struct emitter *e, const struct call *call, int64_t islands) {
    struct program *program = e->program;
    struct attribute divisor = {.name = ATTRIBUTE_DIVISOR, .integer = islands};
    for (uint32_t i = 0; i < e->unit->n_parameters; i++) {
        const struct tensor *tensor =
            &program->tensors[program->buffers[call->operands[i].buffer].tensor];
        e->n_roles = tensor->n_roles;
        memcpy(e->roles, tensor->roles, sizeof e->roles);
        const char *name = arena_format(program->arena, "%s.average", tensor->name);
        value_id average = emit_with(e, OP_DIVIDE, name, OPERANDS(i), &divisor, 1)->results[0];
        unit_add_result(program, e->unit, average, i);
    }
}

// What layers have, in a loop over them; or what they have not.
static void append_averages(struct program *program, const struct config *config, bool layers) {
    struct axis_list islands = islands_of(config);
    struct span span = span_of_average(config);
    struct block *body = &program->steps[STEP_AVERAGE].body;
    if (count_averaged(program, layers) == 0)
        return;
    uint32_t id = program_add_unit(program, layers ? "average_block" : "average", span);
    struct emitter e = {.program = program, .unit = &program->units[id], .span = span};
    e.unit->phase = PHASE_UPDATE;
    struct statement statement = {
        .kind = STATEMENT_CALL, .span = span, .call = bind_parameters(&e, layers)};
    divide_parameters(&e, &statement.call, mesh_group_size(&config->mesh, &islands));
    if (layers) {
        struct statement loop = {.kind = STATEMENT_LOOP,
                                 .span = span,
                                 .loop = {.name = "l", .end = program->sizes.layers}};
        block_push(program, &loop.loop.body, statement);
        statement = loop;
    }
    block_push(program, body, statement);
}

bool append_average(struct program *program, const struct pass_context *context) {
    const struct config *config = context->config;
    if (islands_of(config).n == 0)
        return true;
    program->steps[STEP_AVERAGE] = (struct step){.present = true, .span = span_of_average(config)};
    append_averages(program, config, false);
    append_averages(program, config, true);
    program_number(program);
    return true;
}
