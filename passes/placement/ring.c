// place, ring: the axis round which keys and values travel. Where a split divides the positions of
// queries and keys alike, and nothing gathers the keys or splits heads there instead, each device
// meets the keys of the others one part after the other (ring attention).
//
// A causal mask leaves the first queries little to do and the last ones much, so the devices' parts
// of the sequence are no blocks: of 2c chunks device i of c has chunks i and 2c-1-i. That order is
// one for the whole model, so nothing else may be done with the axis.
#include <inttypes.h>

#include "ir/diagnostic.h"
#include "ir/limits.h"
#include "passes/placement/place.h"
#include "passes/placement/reports.h"
#include "passes/placement/sequence.h"
#include "passes/placement/work.h"
#include "passes/reference/select.h"

// ---- which axis -------------------------------------------------------------------------------

// The strongest of the modes that say how keys and values are kept comes last (work.c).
static bool is_gathering(const struct placing *p, unsigned axis, int64_t layer) {
    static const uint8_t keys[] = {ROLE_LAYERS, ROLE_ATTENTION, ROLE_QKV, ROLE_KV};
    const struct mode_statement *mode = NULL;
    for (uint32_t i = 0; i < p->placement->n_rules; i++) {
        const struct work_rule *rule = &p->placement->rules[i];
        if (rule->axis == axis && rule->mode && selector_covers(rule->scope, layer) &&
            selector_matches(rule->scope, keys, sizeof keys))
            mode = rule->mode;
    }
    return mode && mode->extent == EXTENT_GATHERED;
}

// The cuts of queries' positions in attention's core, in a layer; and of every axis the rule that
// decides.
static struct axis_list core_cuts(const struct placing *p, int64_t layer,
                                  const struct work_rule *by[MAX_AXES]) {
    static const uint8_t core[] = {ROLE_LAYERS, ROLE_ATTENTION, ROLE_CORE};
    const struct work_label labels[] = {
        {.dimensions = UINT32_C(1) << DIM_SEQUENCE},
        {.dimensions = UINT32_C(1) << DIM_HEADS | UINT32_C(1) << DIM_KV_HEADS}};
    struct axis_list cuts[2];
    work_cuts(p->placement, (struct part){core, sizeof core, layer}, labels, 2, cuts, by);
    return cuts[0];
}

// The axes round which keys travel in a layer.
static struct axis_list ring_of_layer(const struct placing *p, int64_t layer) {
    const struct work_rule *by[MAX_AXES];
    struct axis_list cuts = core_cuts(p, layer, by), ring = {0};
    for (unsigned i = 0; i < cuts.n; i++) {
        unsigned axis = cuts.axes[i];
        if (axis < p->config->mesh.n_axes && by[axis]->split && !is_gathering(p, axis, layer))
            axis_list_add(&ring, axis);
    }
    return ring;
}

// The next layer in which something else may hold: where a scope begins or has ended.
static int64_t next_border(const struct placing *p, int64_t layer) {
    int64_t next = p->config->model.layers;
    for (uint32_t i = 0; i < p->placement->n_rules; i++) {
        const struct selector *scope = p->placement->rules[i].scope;
        const int64_t borders[] = {scope->slice_begin, scope->slice_end};
        for (unsigned k = 0; k < 2 && scope->has_slice; k++)
            if (borders[k] > layer && borders[k] < next)
                next = borders[k];
    }
    return next;
}

// The first layer that has a ring says which, where layers differ; check_ring refuses them. There
// is none where sums are ordered: a device would add up parts of the keys in an order of its own,
// so all are gathered.
void find_ring(struct placing *p) {
    struct axis_list *ring = &p->placement->ring;
    for (int64_t layer = 0; layer < p->config->model.layers && !ring->n && !p->placement->ordered;
         layer = next_border(p, layer))
        *ring = ring_of_layer(p, layer);
}

// ---- what has a meaning beside it -------------------------------------------------------------

static const struct split_statement *sequence_split(const struct placing *p, unsigned axis) {
    for (uint32_t i = 0; i < p->placement->n_rules; i++) {
        const struct work_rule *rule = &p->placement->rules[i];
        if (rule->axis == axis && rule->split && rule->dimension == DIM_SEQUENCE)
            return rule->split;
    }
    return NULL;
}

static bool is_alike_in_all_layers(const struct placing *p) {
    for (int64_t layer = 0; layer < p->config->model.layers; layer = next_border(p, layer)) {
        struct axis_list ring = ring_of_layer(p, layer);
        if (!axis_list_equal(&ring, &p->placement->ring))
            return false;
    }
    return true;
}

static const struct split_statement *other_use(const struct placing *p, unsigned axis,
                                               const struct split_statement *split) {
    for (uint32_t i = 0; i < p->placement->n_rules; i++) {
        const struct work_rule *rule = &p->placement->rules[i];
        if (rule->axis == axis && rule->split && rule->split != split)
            return rule->split;
    }
    return NULL;
}

// What attention reads and makes is read in every round: it cannot be gathered for each.
static const struct mode_statement *kept_apart(const struct placing *p) {
    for (int64_t layer = 0; layer < p->config->model.layers; layer = next_border(p, layer)) {
        const struct work_rule *by[MAX_AXES];
        core_cuts(p, layer, by);
        for (unsigned axis = 0; axis < p->config->mesh.n_axes; axis++)
            if (by[axis] && by[axis]->mode && by[axis]->mode->extent == EXTENT_GATHERED)
                return by[axis]->mode;
    }
    return NULL;
}

// Only whole layers lie around a ring, cut by it alone; gathered keys and values have no such rule.
static void refuse(struct placing *p, const struct origin *origin, const char *what,
                   const char *why) {
    const struct axis_list *ring = &p->placement->ring;
    struct axis_list cuts = effective_axes(p, &sequence_split(p, ring->axes[0])->axes);
    not_yet(p, origin,
            arena_format(p->arena, "%s `%s`, round which keys and values travel%s,", what,
                         axes_text(p, ring), why),
            arena_format(p->arena,
                         "gather keys and values: `activations.attention.kv : gathered(%s by "
                         "sequence)`",
                         axes_text(p, &cuts)));
}

void check_ring(struct placing *p) {
    const struct axis_list *ring = &p->placement->ring;
    if (ring->n == 0)
        return;
    const struct split_statement *split = sequence_split(p, ring->axes[0]);
    const struct split_statement *other = other_use(p, ring->axes[0], split);
    const struct mode_statement *kept = kept_apart(p);
    if (ring->n > 1)
        refuse(p, &split->origin, "splitting `sequence` over the axes", "");
    else if (split->scope.n_roles > 0)
        refuse(p, &split->origin, "splitting a part of the model only over", "");
    else if (other)
        refuse(p, &other->origin, "splitting anything else over", "");
    else if (effective_axes(p, &split->axes).axes[0] != ring->axes[0])
        refuse(p, &split->origin, "splitting `sequence` over another axis outside", "");
    else if (kept)
        refuse(p, &kept->origin, "keeping what attention reads as parts, beside", "");
    else if (!is_alike_in_all_layers(p))
        refuse(p, &split->origin, "splitting `sequence` over", " in some layers only");
    else if (axis_size(p, ring->axes[0]) > LIMIT_RING)
        refuse(p, &split->origin, "a ring as long as", "");
}

// ---- sizes ------------------------------------------------------------------------------------

// E203.
bool check_chunks(struct placing *p) {
    const struct axis_list *ring = &p->placement->ring;
    int64_t size = p->config->train.sequence, chunks = ring_chunks(p);
    if (size % chunks == 0)
        return true;
    const struct split_statement *split = sequence_split(p, ring->axes[0]);
    struct diagnostic *d =
        report(p->diagnostics, E203, origin_span(&split->origin),
               "a sequence of %" PRId64 " token%s does not divide into the %" PRId64
               " chunks of the ring over `%s`",
               size, plural_s(size), chunks, axes_text(p, ring));
    diagnostic_say(d, "%" PRId64 " is not a multiple of %" PRId64, size, chunks);
    diagnostic_label(d, origin_span(&p->config->train.sequence_origin), "its length");
    diagnostic_origin(d, &split->origin);
    diagnostic_note(d, "each device has two chunks, one from each end of the sequence, so that all "
                       "have as much of a causal attention to do");
    diagnostic_help(d,
                    "make the sequence a multiple of %" PRId64 ", or bring all keys to every "
                    "device: `activations.attention.kv : gathered(%s by sequence)`",
                    sequence_parts(p), axes_text(p, ring));
    propose_sequence(p, d);
    return false;
}
