// Parameters of the unit that is written, and the ops that several parts of a model are made of; see
// builder.h.
#include "passes/reference/builder.h"

#include <string.h>

#include "passes/reference/tensors.h"

void bind_parameter(struct builder *b, enum parameter id) {
    if (b->parameters[b->range][id] == NO_ID)
        return;
    const char *name = name_in_unit(parameter_name(id));
    b->values[id] =
        bind_operand(&b->writer, name, item_of_layer(b->program, b->parameters[b->range][id]));
}

void bind_parameters(struct builder *b, enum role role) {
    for (int i = 0; i < N_PARAMETERS; i++)
        if (parameter_roles((enum parameter)i)[0] == role)
            bind_parameter(b, (enum parameter)i);
}

value_id value_of_parameter(struct builder *b, enum parameter id) {
    const enum role *roles = parameter_roles(id);
    if (b->parameters[b->range][id] == NO_ID)
        return NO_ID;
    emit_roles(&b->writer.emitter, roles[0], roles[1], roles[2], roles[3]);
    return emit_to(&b->writer.emitter, b->values[id], work_type(b));
}

enum dtype work_type(const struct builder *b) {
    const struct emitter *e = &b->writer.emitter;
    return precision_of_work(&b->config->train.precision, e->roles, e->n_roles,
                             b->layers.list[b->range].begin);
}

enum dtype unrounded_type(const struct builder *b) {
    return dtype_added_up_in(work_type(b));
}

enum dtype stream_type(const struct builder *b) {
    return precision_type(&b->config->train.precision, PRECISION_ACTIVATIONS, NULL, 0, 0);
}

value_id value_as(struct builder *b, value_id x, enum dtype type) {
    struct emitter *e = &b->writer.emitter, at = *e;
    const struct op *maker = unit_producer(e->unit, x);
    if (maker) {
        e->n_roles = maker->n_roles;
        memcpy(e->roles, maker->roles, sizeof e->roles);
    }
    value_id made = emit_to(e, x, type);
    *e = at;
    return made;
}

value_id add_rms_norm(struct builder *b, const char *name, value_id x, enum parameter gain) {
    struct attribute eps = {.name = ATTRIBUTE_EPS, .real = b->model->norm_eps};
    value_id g = value_of_parameter(b, gain);
    x = value_as(b, x, work_type(b));
    return emit_with(&b->writer.emitter, OP_RMS_NORM, name, OPERANDS(x, g), &eps, 1)->results[0];
}

value_id add_norm(struct builder *b, const char *name, value_id x, enum parameter gain,
                  enum parameter bias) {
    if (b->model->norm == NORM_RMS)
        return add_rms_norm(b, name, x, gain);
    struct attribute eps = {.name = ATTRIBUTE_EPS, .real = b->model->norm_eps};
    value_id g = value_of_parameter(b, gain);
    value_id c = value_of_parameter(b, bias);
    x = value_as(b, x, work_type(b));
    return emit_with(&b->writer.emitter, OP_LAYER_NORM, name, OPERANDS(x, g, c), &eps, 1)
        ->results[0];
}

void bind_draws(struct builder *b, struct index layer) {
    if (b->model->dropout == 0)
        return;
    b->draw.samples = bind_operand(&b->writer, "samples", reference_to(b->samples));
    b->draw.layer = bind_operand(&b->writer, "layer", reference_at(b->layer, layer));
    b->draw.key = bind_operand(&b->writer, "draw_key", reference_to(b->draw_key));
    b->draw.positions = b->draw.columns = NO_ID;
}

value_id add_dropout(struct builder *b, const char *name, value_id x, enum dropout_site site,
                     enum dtype type) {
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
    return emit_typed(e, OP_DROPOUT, name,
                      OPERANDS(x, b->draw.samples, b->draw.positions, b->draw.columns,
                               b->draw.layer, b->draw.key),
                      attributes, 2, &type)
        ->results[0];
}

value_id add_linear(struct builder *b, const char *name, const char *labels, value_id x,
                    enum parameter weight, enum parameter bias) {
    value_id w = value_of_parameter(b, weight);
    enum dtype type = work_type(b);
    x = value_as(b, x, type);
    if (b->parameters[b->range][bias] == NO_ID)
        return emit_einsum(&b->writer.emitter, name, labels, x, w, type);
    const char *product = arena_format(b->program->arena, "%s.product", name);
    value_id y = emit_einsum(&b->writer.emitter, product, labels, x, w, type);
    return emit(&b->writer.emitter, OP_ADD_BIAS, name, OPERANDS(y, value_of_parameter(b, bias)));
}
