// Microbatches, where the file does not say their size: they follow from the batch and from the axes
// that split it, so they are known behind the mesh and the strategy.
#include "frontend/resolve.h"

// The number of devices among which splits, outside of scopes, divide the batch.
static int64_t devices_of_batch(const struct config *config) {
    int64_t devices = 1;
    for (uint32_t i = 0; i < config->strategy.n_splits; i++) {
        const struct split_statement *split = &config->strategy.splits[i];
        for (uint32_t d = 0; d < split->n_dimensions && !split->scope_depth; d++)
            if (split->dimensions[d] == DIM_BATCH)
                devices = size_times(devices, mesh_group_size(&config->mesh, &split->axes));
    }
    return devices;
}

// Without `microbatch` a step is one microbatch: as much as the axes that split the batch leave.
void default_microbatch(struct config *config) {
    int64_t parts = devices_of_batch(config);
    struct train_config *train = &config->train;
    // Where it does not divide, `place` says so of the batch.
    train->microbatch = train->batch % parts == 0 ? train->batch / parts : 1;
    train->microbatch_origin = (struct origin){
        .kind = ORIGIN_DEFAULT,
        .span = config->train.origin.span,
        .text = "without `microbatch` each device takes its sequences at once",
    };
}

// The formula with the file's numbers, where it has them and they divide.
void help_microbatches(struct resolver *r) {
    if (!r->counts_microbatches)
        return;
    const struct train_config *train = &r->config->train;
    int64_t devices = devices_of_batch(r->config), n = r->microbatches->value->number.integer;
    int64_t parts = size_times(devices, n);
    if (!train->batch || n < 1 || train->batch % parts != 0)
        return;
    long long size = (long long)(train->batch / parts);
    bool agrees = train->microbatch == size;
    diagnostic_help(r->counts_microbatches,
                    "%s`microbatch = %lld`: %lld sequences are %lld microbatches * %lld device%s * "
                    "%lld",
                    agrees ? "leave it out, it follows from " : "say ", size,
                    (long long)train->batch, (long long)n, (long long)devices, plural_s(devices),
                    size);
    if (agrees)
        diagnostic_delete(r->counts_microbatches, r->microbatches->span);
    else if (!train->microbatch)
        diagnostic_edit(r->counts_microbatches, r->microbatches->span, "microbatch = %lld", size);
}
