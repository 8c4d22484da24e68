// See writer.h.
#include "passes/reference/writer.h"

struct writer writer_in(struct program *program, struct span span) {
    return (struct writer){.program = program, .emitter = {.arena = program->arena, .span = span}};
}

void begin_unit(struct writer *w, const char *name, enum phase phase) {
    struct job *job = w->program->job;
    struct span span = w->emitter.span;
    uint32_t id = job_add_unit(job, name, span);
    job->units[id].phase = phase;
    w->emitter =
        (struct emitter){.arena = w->program->arena, .unit = &job->units[id], .span = span};
    w->call = (struct statement){.kind = STATEMENT_CALL, .span = span, .call = {.unit = id}};
    w->cap_operands = w->cap_results = 0;
}

value_id bind_operand(struct writer *w, const char *name, struct reference from) {
    struct unit *unit = w->emitter.unit;
    uint32_t n = unit->n_parameters;
    ARENA_PUSH(w->program->arena, w->call.call.operands, n, w->cap_operands, from);
    struct tensor_type type = buffer_type(w->program, &w->program->buffers[from.buffer]);
    return unit_add_parameter(w->program->arena, unit, name, type, false);
}

static void add_result(struct writer *w, value_id value, uint32_t parameter, struct reference to) {
    struct unit *unit = w->emitter.unit;
    uint32_t n = unit->n_results;
    ARENA_PUSH(w->program->arena, w->call.call.results, n, w->cap_results, to);
    unit_add_result(w->program->arena, unit, value, parameter);
}

void bind_result(struct writer *w, value_id value, struct reference to) {
    add_result(w, value, NO_ID, to);
}

void bind_in_place(struct writer *w, value_id value, value_id parameter) {
    add_result(w, value, parameter, w->call.call.operands[parameter]);
}

struct reference item_of_layer(const struct program *program, buffer_id buffer) {
    const struct stack *layers = buffer_stack(&program->buffers[buffer], STACK_LAYERS);
    return layers ? reference_at(buffer, index_variable(0, -layers->first_layer, 0))
                  : reference_to(buffer);
}

struct layer_range all_layers(const struct program *program) {
    return (struct layer_range){0, program->job->sizes.layers, 1};
}

struct statement loop_over_layers(const struct layer_range *layers, struct span span) {
    return (struct statement){.kind = STATEMENT_LOOP,
                              .span = span,
                              .loop = {.name = "l", .begin = layers->begin, .end = layers->end}};
}
