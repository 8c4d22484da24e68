// place, promised: where training is `reproducible = W of DIMENSIONS`, a strategy divides these and
// no others. What is not named is not worked on in blocks, and a part of it would have bits of its
// own.
#include <inttypes.h>

#include "ir/diagnostic.h"
#include "passes/placement/place.h"
#include "passes/placement/work.h"

// What one statement divides, or any (NULL), and is not promised. `group` goes with `heads`.
static uint32_t unpromised(const struct placing *p, const struct origin *of) {
    uint32_t divided = 0;
    for (uint32_t i = 0; i < p->placement->n_rules; i++) {
        const struct work_rule *rule = &p->placement->rules[i];
        const struct origin *origin = rule_origin(rule);
        if (origin && (!of || origin == of) && dimension_splittable[rule->dimension])
            divided |= 1u << rule->dimension;
    }
    return divided & ~p->config->train.reproducible_of;
}

static void report_unpromised(struct placing *p, const struct origin *origin) {
    const struct train_config *train = &p->config->train;
    const char *promised = dimensions_text(train->reproducible_of, p->arena);
    const char *needed =
        arena_format(p->arena, "reproducible = %" PRId64 " of %s", train->reproducible,
                     dimensions_text(train->reproducible_of | unpromised(p, NULL), p->arena));
    struct diagnostic *d = report(p->diagnostics, E313, origin_span(origin),
                                  "this divides %s, but training is `reproducible` of %s",
                                  dimensions_text(unpromised(p, origin), p->arena), promised);
    diagnostic_label(d, origin_span(&train->reproducible_origin), "what may be divided");
    diagnostic_origin(d, origin);
    diagnostic_help(d, "say `%s`, which gives other bits", needed);
    if (train->reproducible_origin.kind == ORIGIN_STATEMENT)
        diagnostic_edit(d, train->reproducible_origin.span, "%s", needed);
}

void check_promised(struct placing *p) {
    for (uint32_t i = 0; i < p->placement->n_rules; i++) {
        const struct origin *origin = rule_origin(&p->placement->rules[i]);
        if (origin && unpromised(p, origin)) {
            report_unpromised(p, origin);
            return;
        }
    }
}
