// W830: what is said and has a meaning, but changes nothing here. A statement of another strategy
// may be overruled by one's own, that is what `use` is for; what the file itself says is meant to
// hold.
#include "ir/diagnostic.h"
#include "passes/place.h"

void report_decides_nothing(struct placing *p, const struct mode_statement *mode,
                            const struct mode_statement *instead) {
    struct diagnostic *d = report(p->diagnostics, W830, origin_span(&mode->origin),
                                  "this places no `%s`", state_names[mode->state]);
    if (!instead) {
        diagnostic_say(d, "all that it selects is frozen");
        diagnostic_help(d, "leave it out, or give these parameters an optimizer in `train`");
        return;
    }
    diagnostic_say(d, "others hold for all that it selects");
    diagnostic_label(d, origin_span(&instead->origin), "this one, among them");
    diagnostic_help(d, "leave it out, or give it a longer selector");
}

// Gradients whose sum every device gets whole; the others are reduced to the owners of parts, or
// gathered as codes.
static bool is_all_reduced(const struct placing *p, const struct placed_tensor *placed) {
    struct gradient_sums sums = gradient_sums(p->placement, placed);
    struct axis_list each = axes_without(&sums.reduce_each, &placed->wire);
    struct axis_list last = axes_without(&sums.reduce_last, &placed->wire);
    return each.n + last.n > 0;
}

static bool buckets_something(const struct placing *p, const struct mode_statement *mode) {
    const struct placement *placement = p->placement;
    for (uint32_t t = 0; t < placement->n_ranges * placement->n_tensors; t++) {
        const struct placed_tensor *placed = &placement->tensors[t];
        for (unsigned axis = 0; axis < p->config->mesh.n_axes; axis++)
            if (placed->extents[STATE_GRADIENTS][axis].mode == mode && is_all_reduced(p, placed))
                return true;
    }
    return false;
}

static void check_bucket(struct placing *p, const struct mode_statement *mode) {
    if (!mode->bucket_bytes || effective_axes(p, &mode->axes).n == 0 || buckets_something(p, mode))
        return;
    struct diagnostic *d = report(p->diagnostics, W830, origin_span(&mode->origin),
                                  "`bucket` changes nothing: none of these gradients is sent by an "
                                  "all_reduce");
    diagnostic_say(
        d, "%s", mode->wire.way ? "they travel as codes" : "each device gets its part of the sum");
    diagnostic_origin(d, &mode->origin);
    diagnostic_help(d, "leave `bucket` out");
}

void check_heard(struct placing *p) {
    const struct strategy_config *strategy = &p->config->strategy;
    for (uint32_t m = 0; m < strategy->n_modes; m++)
        check_bucket(p, &strategy->modes[m]);
}
