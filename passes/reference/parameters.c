// The table of parameters (parameters.def) read for one model; see parameters.h.
#include "passes/reference/parameters.h"

#include <math.h>
#include <string.h>

#include "ir/check.h"
#include "passes/passes.h"
#include "passes/reference/emit.h"
#include "passes/reference/select.h"
#include "passes/reference/tensors.h"

// Which options of a model a parameter needs, all of them.
enum presence {
    ALWAYS = 0,
    LEARNED_POSITIONS = 1 << 0,
    LAYER_NORMS = 1 << 1,
    QKV_BIASES = 1 << 2,
    GATED = 1 << 3,
    UNTIED = 1 << 4,
    FUSED_QKV = 1 << 5, // queries, keys and values are one parameter, or not
    APART_QKV = 1 << 6,
    FUSED_GATE_UP = 1 << 7,
    APART_GATE_UP = 1 << 8,
    OUT_BIASES = 1 << 9,
    MLP_BIASES = 1 << 10,
    QK_NORMS = 1 << 11,
};
enum start { START_NORMAL, START_RESIDUAL, START_ONES, START_ZEROS };

struct parameter_row {
    const char *name;
    enum role roles[MAX_ROLES];
    enum dimension dims[4];
    enum start start;
    unsigned when;              // enum presence
    const char *saved_names[2]; // by enum model_family
};

static const struct parameter_row parameter_rows[N_PARAMETERS] = {
#define PARAMETER(ID, name, r0, r1, r2, r3, d0, d1, d2, d3, init, when, gpt2, llama)               \
    {name,                                                                                         \
     {ROLE_##r0, ROLE_##r1, ROLE_##r2, ROLE_##r3},                                                 \
     {DIM_##d0, DIM_##d1, DIM_##d2, DIM_##d3},                                                     \
     START_##init,                                                                                 \
     when,                                                                                         \
     {[FAMILY_GPT2] = gpt2, [FAMILY_LLAMA] = llama}},
#define PART(...)
#include "passes/reference/parameters.def"
#undef PART
#undef PARAMETER
};

static const struct part_row {
    enum parameter fused, apart;
    enum dimension dimension;
} part_rows[] = {
#define PARAMETER(...)
#define PART(fused, apart, dimension) {PARAMETER_##fused, PARAMETER_##apart, DIM_##dimension},
#include "passes/reference/parameters.def"
#undef PART
#undef PARAMETER
};
enum { N_PARTS = sizeof part_rows / sizeof *part_rows };

const char *parameter_name(enum parameter id) {
    return parameter_rows[id].name;
}

const enum role *parameter_roles(enum parameter id) {
    return parameter_rows[id].roles;
}

// ---- tensors ----------------------------------------------------------------------------------

// The column `when` of parameters.def.
static bool model_has(const struct model_config *model, unsigned when) {
    unsigned has = (model->position == POSITION_LEARNED ? LEARNED_POSITIONS : 0) |
                   (model->norm == NORM_LAYER ? LAYER_NORMS : 0) |
                   (model->biases & BIASES_QKV ? QKV_BIASES : 0) |
                   (model->biases & BIASES_OUT ? OUT_BIASES : 0) |
                   (model->biases & BIASES_MLP ? MLP_BIASES : 0) | (model->qk_norm ? QK_NORMS : 0) |
                   (model->activation == ACTIVATION_SWIGLU ? GATED : 0) |
                   (model->tied ? 0 : UNTIED) | (model->fused_qkv ? FUSED_QKV : APART_QKV) |
                   (model->fused_gate_up ? FUSED_GATE_UP : APART_GATE_UP);
    return (when & ~has) == 0;
}

// What a fused parameter is in place of. The dimension that counts the parts is as long as all of
// them.
static void add_parts(const struct config *config, enum parameter id, struct tensor *tensor) {
    struct dim *dim = tensor->dims;
    while (dim < tensor->dims + tensor->rank && dim->dimension != DIM_PART)
        dim++;
    for (unsigned i = 0; i < N_PARTS; i++) {
        const struct part_row *row = &part_rows[i];
        if (row->fused != id)
            continue;
        CHECK(tensor->n_parts < MAX_TENSOR_PARTS && dim < tensor->dims + tensor->rank);
        int64_t size = row->dimension == DIM_NONE ? 1 : dimension_size(config, row->dimension);
        tensor->parts[tensor->n_parts++] =
            (struct tensor_part){parameter_rows[row->apart].name, size};
        dim->size += size;
    }
}

// GPT-2 starts what feeds the residual stream smaller, as the stream adds 2 * layers of them
// (Radford et al. 2019, 2.3); Hugging Face's Llama starts all weights alike.
static double start_std(const struct model_config *model, enum start start) {
    if (start == START_RESIDUAL && model->family == FAMILY_GPT2)
        return model->init_std / sqrt(2.0 * (double)model->layers);
    return model->init_std;
}

// The logical tensor of a row, of all its layers.
static struct tensor tensor_of(const struct config *config, enum parameter id) {
    const struct parameter_row *row = &parameter_rows[id];
    const struct model_config *model = &config->model;
    struct tensor tensor = {.name = row->name, .span = model->origin.span};
    while (tensor.n_roles < MAX_ROLES && row->roles[tensor.n_roles] != ROLE_NONE) {
        tensor.roles[tensor.n_roles] = (uint8_t)row->roles[tensor.n_roles];
        tensor.n_roles++;
    }
    for (; tensor.rank < 4 && row->dims[tensor.rank] != DIM_NONE; tensor.rank++)
        tensor.dims[tensor.rank] =
            (struct dim){row->dims[tensor.rank], dimension_size(config, row->dims[tensor.rank])};
    add_parts(config, id, &tensor);
    bool in_layers = row->roles[0] == ROLE_LAYERS;
    bool is_weight = row->start == START_NORMAL || row->start == START_RESIDUAL;
    tensor.layers = in_layers ? model->layers : 0;
    tensor.init = is_weight ? INIT_NORMAL : row->start == START_ONES ? INIT_ONES : INIT_ZEROS;
    tensor.init_std = is_weight ? start_std(model, row->start) : 0;
    tensor.saved_name = row->saved_names[model->family];
    // Llama's linear layers are saved as [out, in]; tables are [rows, hidden] everywhere.
    tensor.saved_transposed = model->family == FAMILY_LLAMA && in_layers && is_weight;
    // Known from the start, so that no gradient is ever derived for what is frozen: in all layers or in
    // none (check_optimizers).
    tensor.trainable =
        optimizer_rule_of(&config->train, &tensor, 0)->optimizer.kind != OPTIMIZER_NONE;
    return tensor;
}

// Element types are said of a tensor where they are not the policy's.
static enum dtype own_type(enum dtype type, enum dtype shared) {
    return type == shared ? DTYPE_NONE : type;
}

// A tied table is gathered for the embedding and the head alike.
static void set_types(const struct program *program, const struct config *config,
                      struct tensor *tensor) {
    const struct precision_config *precision = &config->train.precision;
    const struct policy *policy = &program->job->policy;
    const uint8_t *roles = tensor->roles;
    unsigned n = tensor->n_roles;
    int64_t layer = tensor->first_layer;
    bool tied =
        config->model.tied && roles[0] == ROLE_EMBEDDING && tensor->dims[0].dimension == DIM_VOCAB;
    tensor->gather = own_type(tied ? precision_of_tied(precision, roles, n)
                                   : precision_type(precision, PRECISION_GATHER, roles, n, layer),
                              policy->gather);
    tensor->parameters = own_type(precision_type(precision, PRECISION_PARAMETERS, roles, n, layer),
                                  policy->parameters);
    if (!tensor->trainable) // there is nothing else of it (precision_rules.c)
        return;
    tensor->master =
        own_type(precision_type(precision, PRECISION_MASTER, roles, n, layer), policy->master);
    tensor->moments =
        own_type(precision_type(precision, PRECISION_MOMENTS, roles, n, layer), policy->moments);
    tensor->gradients =
        own_type(precision_of_sums(&config->train, roles, n, layer), policy->gradients);
    tensor->reduce =
        own_type(precision_of_reduction(&config->train, roles, n, layer), policy->reduce);
}

// Tensors of one saved name share the saved tensor's last dimension, in the order of the table:
// GPT-2 saves queries, keys and values as one matrix [hidden, q | k | v]. We hold them apart, since
// a mesh may cut them differently.
static void set_saved_columns(struct program *program) {
    for (uint32_t i = 0; i < program->job->n_tensors; i++) {
        struct tensor *tensor = &program->job->tensors[i];
        int64_t begin = 0;
        bool shared = false;
        for (uint32_t k = 0; k < program->job->n_tensors; k++) {
            const struct tensor *other = &program->job->tensors[k];
            if (k == i || strcmp(other->saved_name, tensor->saved_name) != 0 ||
                other->first_layer != tensor->first_layer)
                continue;
            shared = true;
            if (k < i)
                begin = other->saved_columns_begin + other->saved_columns;
        }
        if (!shared)
            continue;
        // All but the input dimension, which a bias has not.
        tensor->saved_columns = 1;
        for (unsigned k = 0; k < tensor->rank; k++)
            if (tensor->dims[k].dimension != DIM_HIDDEN)
                tensor->saved_columns *= tensor->dims[k].size;
        tensor->saved_columns_begin = begin;
    }
}

static buffer_id add_buffer(struct program *program, const struct tensor *tensor,
                            enum dtype dtype) {
    struct buffer buffer = {
        .name = tensor->name,
        .class = CLASS_PARAMETERS,
        .tensor = job_add_tensor(program->job, *tensor),
        .dtype = dtype,
        .rank = tensor->rank,
        .window_of = NO_ID,
        .offset_bytes = -1,
        .span = tensor->span,
    };
    memcpy(buffer.dims, tensor->dims, sizeof buffer.dims);
    if (tensor->layers)
        buffer.stacks = stacked_by_layers(
            &(struct layer_range){tensor->first_layer, tensor->first_layer + tensor->layers, 1});
    return program_add_buffer(program, buffer);
}

// The part of a tensor that has these layers.
static void cut_tensor(const struct program *program, struct tensor *tensor,
                       const struct layer_range *layers) {
    tensor->model_name = tensor->name;
    tensor->name = range_name(program->arena, tensor->name, layers);
    tensor->first_layer = layers->begin;
    tensor->layers = range_layers(layers);
}

// What no layer has is of all ranges.
void add_parameters(struct program *program, const struct config *config,
                    const struct layer_ranges *ranges, parameter_buffers *buffers) {
    for (int i = 0; i < N_PARAMETERS; i++)
        for (uint32_t r = 0; r < ranges->n; r++) {
            struct tensor tensor = tensor_of(config, (enum parameter)i);
            bool has = model_has(&config->model, parameter_rows[i].when);
            bool first = r == 0 || tensor.layers;
            buffers[r][i] = first ? NO_ID : buffers[0][i];
            if (!has || !first)
                continue;
            if (tensor.layers && ranges->n > 1)
                cut_tensor(program, &tensor, &ranges->list[r]);
            set_types(program, config, &tensor);
            buffers[r][i] = add_buffer(program, &tensor, tensor_parameters(program->job, &tensor));
        }
    set_saved_columns(program);
}
