// See tensors.h.
#include "passes/reference/tensors.h"

#include <string.h>

#include "ir/check.h"
#include "passes/reference/islands.h"

int64_t dimension_size(const struct config *config, enum dimension dimension) {
    const struct model_config *model = &config->model;
    switch (dimension) {
    case DIM_BATCH:
        return island_batch(config);
    case DIM_SEQUENCE:
        return config->train.sequence;
    case DIM_HIDDEN:
        return model->hidden;
    case DIM_HEADS:
    case DIM_KV_HEADS:
        return model->kv_heads;
    case DIM_GROUP:
        return model->heads / model->kv_heads;
    case DIM_HEAD_DIM:
        return model->head_dim;
    case DIM_FFN:
        return model->ffn;
    case DIM_VOCAB:
        return model->vocab;
    case DIM_POSITIONS:
        return model->sequence_limit;
    case DIM_PART:
        return 0;
    default:
        CHECK(false);
    }
}

const char *name_in_unit(const char *name) {
    static const char prefix[] = "block.";
    bool has_prefix = strncmp(name, prefix, sizeof prefix - 1) == 0;
    return has_prefix ? name + sizeof prefix - 1 : name;
}
