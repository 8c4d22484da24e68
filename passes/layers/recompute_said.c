// Recompute, what is said: which ops a strategy says to recompute, and which of its statements were
// asked for that; see recompute.h.
#include "ir/diagnostic.h"
#include "passes/layers/recompute.h"

bool recomputes_anything(const struct strategy_config *strategy) {
    for (uint32_t m = 0; m < strategy->n_modes; m++)
        if (strategy->modes[m].state == STATE_ACTIVATIONS && strategy->modes[m].sets_residency &&
            strategy->modes[m].residency == RESIDENCY_MATERIALIZED)
            return true;
    return false;
}

static const struct mode_statement *residency_of_op(const struct recomputing *r,
                                                    const struct op *op, int64_t layer) {
    return residency_of(&r->modes, STATE_ACTIVATIONS, op->roles, op->n_roles, layer);
}

static void hear_mode(const struct recomputing *r, const struct op *op, uint32_t m,
                      const struct layer_range *layers) {
    const struct mode_statement *mode = &r->modes.strategy->modes[m];
    if (mode->state != STATE_ACTIVATIONS || !mode->sets_residency)
        return;
    for (int64_t i = layers->begin; i < layers->end && !r->heard[m]; i += layers->step)
        r->heard[m] = selector_covers(&mode->selector, i) && residency_of_op(r, op, i) == mode;
}

// Layers that are treated alike may be so by several statements. Of a stretch of them the same are
// asked, each until it is heard.
static void hear(const struct recomputing *r, const struct op *op,
                 const struct layer_range *layers) {
    static const struct layer_range no_layer = {0, 1, 1};
    layers = layers ? layers : &no_layer;
    for (int64_t begin = layers->begin, end; begin < layers->end; begin = end) {
        const struct stretch *stretch = stretch_at(&r->modes.index, begin);
        end = stretch_end(&r->modes.index, stretch);
        end = end < layers->end ? begin + round_up(end - begin, layers->step) : layers->end;
        for (uint32_t k = 0; k < stretch->n; k++)
            hear_mode(r, op, stretch->numbers[k], &(struct layer_range){begin, end, layers->step});
    }
}

bool is_recomputed(const struct recomputing *r, const struct op *op,
                   const struct layer_range *layers) {
    const struct mode_statement *mode = residency_of_op(r, op, layers ? layers->begin : 0);
    hear(r, op, layers);
    return mode && mode->residency == RESIDENCY_MATERIALIZED;
}

// Everything of the head, and of the embedding, is there when backward comes; and nothing is kept
// anyway of what no backward reads.
void report_recomputes_nothing(const struct recomputing *r, struct diagnostics *diagnostics) {
    for (uint32_t m = 0; m < r->modes.strategy->n_modes; m++) {
        const struct mode_statement *mode = &r->modes.strategy->modes[m];
        if (r->heard[m] || !mode->own_text || mode->state != STATE_ACTIVATIONS ||
            !mode->sets_residency || mode->residency != RESIDENCY_MATERIALIZED)
            continue;
        struct diagnostic *d =
            report(diagnostics, W830, origin_span(&mode->origin), "this recomputes nothing");
        diagnostic_say(d, "nothing is kept of it from forward to backward, or others say what is");
        diagnostic_help(d, "leave it out, or select a part of `layers`");
    }
}
