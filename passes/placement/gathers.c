// place, gathers: what is gathered at once. It must fit a device whole, and layers that are gathered
// together must lie so that loops can be made of them.
#include <inttypes.h>

#include "ir/diagnostic.h"
#include "passes/placement/place.h"
#include "passes/placement/remedies.h"
#include "passes/placement/reports.h"
#include "passes/routes/routes.h"

// Bytes of a parameter that a device holds while it is gathered: what the splits leave it.
static int64_t gathered_bytes(const struct placing *p, const struct tensor *tensor,
                              const struct placed_tensor *placed) {
    return divided_elements(p, tensor, placed) * dtype_bytes[placed->storage->types.gathered];
}

static const struct origin *gather_origin(const struct storage *storage) {
    return moved_origin(storage, STATE_PARAMETERS, storage->shards[STATE_PARAMETERS].axes[0]);
}

// What is gathered for one use, of tensors with one outermost role.
struct gathered {
    int64_t unit_bytes, layer_bytes; // of tensors that are whole together
    int64_t alone_bytes;             // of the largest that is gathered by itself
    int64_t tensor_bytes;            // of the largest of all
    const struct storage *largest;   // of those that are gathered most layers at once
    const struct tensor *alone;
    const struct storage *alone_storage;
};

// What a unit is to the user, in the plural.
static const char *unit_text(const struct placing *p, const struct gathered *gathered,
                             enum role role) {
    if (gathered->alone_bytes > gathered->unit_bytes)
        return arena_format(p->arena, "the elements of `%s`", tensor_model_name(gathered->alone));
    if (role != ROLE_LAYERS)
        return arena_format(p->arena, "the parameters of `%s`", role_names[role]);
    if (gathered->largest->gather_layers == 1)
        return "the parameters of one layer";
    return arena_format(p->arena, "the parameters of %" PRId64 " layers",
                        gathered->largest->gather_layers);
}

// What the whole of a role's parameters does not leave room for, each of them alone may.
static bool helps_to_gather_alone(const struct placing *p, const struct gathered *gathered) {
    int64_t memory = p->config->device.memory_bytes;
    return gathered->unit_bytes > memory && gathered->tensor_bytes <= memory &&
           !gathered->largest->kept_after_forward;
}

static void help_gather(struct placing *p, struct diagnostic *d, const struct gathered *gathered) {
    const struct storage *storage = gathered->largest;
    int64_t memory = p->config->device.memory_bytes;
    bool several = gathered->unit_bytes > memory && storage->gather_layers > 1;
    int64_t layers = several ? memory / gathered->layer_bytes : 0;
    if (layers == 0) {
        diagnostic_help(d,
                        "no number of devices on these axes makes this smaller: split the work, "
                        "`heads`, `ffn` or `vocab`, over another axis%s",
                        helps_to_gather_alone(p, gathered)
                            ? ", or gather each tensor by itself, `unit = tensor`"
                            : "");
        return;
    }
    if (layers == 1)
        diagnostic_help(d, "gather each layer by itself: `unit = layer`");
    else
        diagnostic_help(d,
                        "gather at most %" PRId64 " layers at once: `unit = layers(%" PRId64 ")`",
                        layers, layers);
    const struct axis_list *shards = &storage->shards[STATE_PARAMETERS];
    propose_unit(p, d, storage->modes[STATE_PARAMETERS][shards->axes[0]], layers);
}

static int64_t most_at_once(const struct gathered *gathered) {
    return gathered->alone_bytes > gathered->unit_bytes ? gathered->alone_bytes
                                                        : gathered->unit_bytes;
}

static void report_gather(struct placing *p, const struct gathered *gathered, enum role role) {
    bool alone = gathered->alone_bytes > gathered->unit_bytes;
    const struct origin *origin =
        gather_origin(alone ? gathered->alone_storage : gathered->largest);
    const struct device_config *device = &p->config->device;
    int64_t bytes = most_at_once(gathered);
    struct diagnostic *d = report(
        p->diagnostics, E702, origin_span(origin), "%s gathered for one use take %s; `%s` has %s",
        unit_text(p, gathered, role), bytes_text_beside(p->arena, bytes, device->memory_bytes),
        device->name, bytes_text_beside(p->arena, device->memory_bytes, bytes));
    diagnostic_say(d, "whole on every device while they are used");
    diagnostic_label(d, device->origin.span, "the device");
    diagnostic_origin(d, origin);
    help_gather(p, d, gathered);
}

static void add_gathered(const struct placing *p, struct gathered *sum, const struct tensor *tensor,
                         const struct placed_tensor *placed) {
    const struct storage *storage = placed->storage;
    int64_t bytes = gathered_bytes(p, tensor, placed);
    sum->tensor_bytes = bytes > sum->tensor_bytes ? bytes : sum->tensor_bytes;
    if (is_gathered_alone(storage)) {
        if (bytes <= sum->alone_bytes)
            return;
        sum->alone_bytes = bytes;
        sum->alone = tensor;
        sum->alone_storage = storage;
        return;
    }
    sum->layer_bytes += bytes;
    sum->unit_bytes += bytes * storage->gather_layers;
    if (!sum->largest || sum->largest->gather_layers < storage->gather_layers)
        sum->largest = storage;
}

// E702. A unit of the model computes with its parameters whole, so they must fit, whatever is
// stored; said before a plan is made, because more devices would not help.
static void check_gathers_fit(struct placing *p, uint32_t range) {
    struct placement *placement = p->placement;
    struct gathered gathered[N_ROLES] = {0};
    for (uint32_t t = 0; t < p->program->job->n_tensors; t++) {
        const struct tensor *tensor = &p->program->job->tensors[t];
        const struct placed_tensor *placed = &placement->tensors[range * placement->n_tensors + t];
        if (placed->storage->shards[STATE_PARAMETERS].n &&
            placement_has(placement, p->program->job, range * placement->n_tensors + t))
            add_gathered(p, &gathered[tensor->roles[0]], tensor, placed);
    }
    for (int role = 0; role < N_ROLES; role++)
        if (most_at_once(&gathered[role]) > p->config->device.memory_bytes) {
            report_gather(p, &gathered[role], (enum role)role);
            return;
        }
}

// What is done with several layers at once, in its forms.
struct taking {
    const char *infinitive, *participle, *gerund;
};
static const struct taking gathering = {"gather", "gathered", "gathering"};
static const struct taking copying = {"copy", "copied", "copying"};

// Layers of which something is taken at once, as a statement says; 0: none does.
struct taken {
    int64_t layers;
    const struct mode_statement *mode;
    const struct taking *how;
};

// Groups are of layers that follow one another.
static void check_turns(struct placing *p, uint32_t range, const struct taken *taken) {
    if (p->placement->ranges[range].step == 1)
        return;
    struct diagnostic *d = not_yet(
        p, &taken->mode->origin,
        arena_format(p->arena, "%s several layers at once where every n-th is placed differently",
                     taken->how->gerund),
        arena_format(p->arena, "%s one layer at once, `unit = layer`", taken->how->infinitive));
    propose_unit(p, d, taken->mode, 1);
}

// Where the layers that are taken at once are no multiple of those that are recomputed at once the
// text has loops for each piece of the greater number that is as long as the smaller.
static void check_pieces(struct placing *p, uint32_t range, const struct taken *taken) {
    const struct layer_range *of = &p->placement->ranges[range];
    int64_t layers = range_layers(of);
    int64_t again = layers_recomputed_at_once(&p->modes, of->begin);
    again = again < layers ? again : layers;
    int64_t most = taken->layers > again ? taken->layers : again;
    int64_t least = taken->layers < again ? taken->layers : again;
    if (taken->layers % again == 0 || most <= least * LIMIT_GROUP_PIECES)
        return;
    bool few = taken->layers < again;
    int64_t enough =
        few ? (again + LIMIT_GROUP_PIECES - 1) / LIMIT_GROUP_PIECES : taken->layers / again * again;
    const char *instead =
        few ? arena_format(p->arena, "%s at least %" PRId64 " layers at once",
                           taken->how->infinitive, enough)
            : arena_format(p->arena, "%s a multiple of %" PRId64, taken->how->infinitive, again);
    struct diagnostic *d =
        not_yet(p, &taken->mode->origin,
                arena_format(p->arena,
                             "%s %" PRId64 " layers at once where %" PRId64
                             " are recomputed at once, in more than %d pieces,",
                             taken->how->gerund, taken->layers, again, LIMIT_GROUP_PIECES),
                instead);
    propose_unit(p, d, taken->mode, enough);
}

// E121. All of which several layers are taken at once comes, or goes, with the same layers. `apart`: what is
// taken by itself cannot go with them.
static bool goes_with(struct placing *p, struct taken *first, struct taken taken, bool apart) {
    if (taken.layers == 0 || (taken.layers == 1 && !apart))
        return true;
    if (first->layers == 0)
        *first = taken;
    if (first->layers == taken.layers)
        return true;
    struct diagnostic *d =
        report(p->diagnostics, E121, origin_span(&taken.mode->origin),
               "of the same layers %" PRId64 " are %s at once here, and %" PRId64 " elsewhere",
               taken.layers, taken.how->participle, first->layers);
    diagnostic_label(d, origin_span(&first->mode->origin), "%" PRId64 " at once", first->layers);
    diagnostic_origin(d, &taken.mode->origin);
    diagnostic_help(d, "give both statements one `unit`, or one of them `unit = layer`");
    propose_unit(p, d, taken.mode, first->layers);
    return false;
}

static struct taken taken_by(const struct placing *p, uint32_t range,
                             const struct mode_statement *mode, const struct taking *how) {
    int64_t most = range_layers(&p->placement->ranges[range]), layers = layers_of_unit(mode);
    return (struct taken){layers < most ? layers : most, mode, how};
}

static struct taken gathered_by(const struct placing *p, uint32_t range,
                                const struct storage *storage) {
    for (unsigned axis = 0; axis < p->config->mesh.n_axes; axis++)
        if (stored_extent(storage, STATE_PARAMETERS, axis) == EXTENT_GATHERED)
            return taken_by(p, range, storage->modes[STATE_PARAMETERS][axis], &gathering);
    return (struct taken){0};
}

static bool states_go_with(struct placing *p, uint32_t range, const struct storage *storage,
                           struct taken *first) {
    for (enum state state = 0; state < STATE_ACTIVATIONS; state++)
        if (stored_tier(storage, state) != TIER_DEVICE &&
            !goes_with(p, first, taken_by(p, range, storage->lives[state], &copying), false))
            return false;
    bool apart = storage->gather_unit == UNIT_TENSOR && storage->gather_layers > 1;
    return goes_with(p, first, gathered_by(p, range, storage), apart);
}

// Activations that are copied by the groups in which they are recomputed do so whatever else is taken.
static bool activations_go_with(struct placing *p, uint32_t range, struct taken *first) {
    const int64_t again = layers_recomputed_at_once(&p->modes, p->placement->ranges[range].begin);
    const struct mode_statement *mode;
    struct kept_walk walk = {0};
    while (next_kept(p, range, &walk, &mode)) {
        struct taken copied = mode ? taken_by(p, range, mode, &copying) : (struct taken){0};
        if ((again == 1 || copied.layers < again) && !goes_with(p, first, copied, false))
            return false;
    }
    return true;
}

static bool check_units(struct placing *p, uint32_t range) {
    const struct placement *placement = p->placement;
    struct taken first = {0};
    for (uint32_t t = 0; t < placement->n_tensors; t++)
        if (p->program->job->tensors[t].layers &&
            placement_has(placement, p->program->job, range * placement->n_tensors + t) &&
            !states_go_with(p, range, placement->tensors[range * placement->n_tensors + t].storage,
                            &first))
            return false;
    if (placement->kept_at_once[range] > 1 && !activations_go_with(p, range, &first))
        return false;
    if (first.layers > 0) {
        check_turns(p, range, &first);
        check_pieces(p, range, &first);
    }
    return true;
}

void check_gathers(struct placing *p) {
    uint32_t errors = p->diagnostics->n_errors;
    for (uint32_t r = 0; r < p->placement->n_ranges && p->diagnostics->n_errors == errors; r++) {
        if (check_units(p, r) && p->config->device.memory_bytes)
            check_gathers_fit(p, r);
    }
}
