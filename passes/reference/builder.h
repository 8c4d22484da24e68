// What the files that write the forward pass share: its units' parameters (builder.c), and what a
// layer computes (layer.c). The units and the steps are build.c's.
#ifndef PLACE_PASSES_BUILDER_H
#define PLACE_PASSES_BUILDER_H

#include "ir/config.h"
#include "passes/reference/parameters.h"
#include "passes/reference/writer.h"

struct builder {
    struct program *program;
    const struct config *config;
    const struct model_config *model;
    struct layer_ranges layers;    // those of which `precision` says the same, at least one range
    parameter_buffers *parameters; // by range of layers
    buffer_id hidden;
    buffer_id samples, layer, draw_key; // of a model with dropout
    // The unit being written:
    uint32_t range; // of the layers that it is of; 0: it is of none
    struct writer writer;
    value_id values[N_PARAMETERS];
    struct {
        value_id samples, positions, columns, layer, key;
    } draw;
};

// Makes a model's parameter, or all of a role, the unit's; nothing if this model has none.
void bind_parameter(struct builder *, enum parameter);
void bind_parameters(struct builder *, enum role);
// A parameter's value in this unit, in the element type that its part of the model works in, or
// NO_ID. The ops that follow get its roles: an op belongs where its parameter belongs.
value_id value_of_parameter(struct builder *, enum parameter);

// The element type that ops with the present roles work in, in the unit's layers.
enum dtype work_type(const struct builder *);
// What the op that follows makes where only elementwise ops read it and backward does not: it is not
// rounded.
enum dtype unrounded_type(const struct builder *);
// A value in an element type; a cast has the roles of what made the value, so that it stays there.
value_id value_as(struct builder *, value_id, enum dtype);
// What layers hand on has one type.
enum dtype stream_type(const struct builder *);

// A norm of all positions as the model has it, and the one of root mean squares alone.
value_id add_norm(struct builder *, const char *name, value_id x, enum parameter gain,
                  enum parameter bias);
value_id add_rms_norm(struct builder *, const char *name, value_id x, enum parameter gain);
// Labels of the products: b batch, s sequence, h hidden, g groups of heads, r heads in a group,
// d head_dim, p parts of what is fused, f ffn, v vocab. A bias is as wide as all dimensions of the
// output but b and s.
value_id add_linear(struct builder *, const char *name, const char *labels, value_id x,
                    enum parameter weight, enum parameter bias);

// Places of a layer where something is dropped, as in GPT-2; the embedding has a number of its own.
enum dropout_site { SITE_EMBEDDING, SITE_ATTENTION, SITE_MLP };

// What a unit needs to draw: one reference for all of its sites. `layer`: whose it is.
void bind_draws(struct builder *, struct index layer);
// `type`: of the result. Without dropout x itself, as it is.
value_id add_dropout(struct builder *, const char *name, value_id x, enum dropout_site,
                     enum dtype type);

// The two halves of a layer, each with its residual sum.
value_id add_attention(struct builder *, value_id x);
value_id add_mlp(struct builder *, value_id x);

#endif
