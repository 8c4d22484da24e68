// `reproducible = 8 of batch, heads` in the `train` block: how many devices train to the same bits,
// and which dimensions these may divide. Work in blocks of a dimension costs time on every mesh, so
// it is only done for those that are promised.
#include "frontend/resolve.h"

#include <inttypes.h>
#include <string.h>

// Microbatches are dealt out to devices whatever else is divided.
static void report_no_batch(struct resolver *r, const struct ast_names *names, uint32_t named) {
    const char *with = dimensions_text(named | 1u << DIM_BATCH, r->arena);
    struct diagnostic *d = report(r->diagnostics, E109, names->span,
                                  "`batch` is missing: what the same bits are promised of is the "
                                  "batch, at least");
    diagnostic_help(d, "name it, too: `of %s`", with);
    diagnostic_edit(d, names->span, "%s", with);
}

static uint32_t read_dimension(struct resolver *r, const struct ast_names *names, uint32_t i,
                               uint32_t all) {
    const struct ast_name *name = &names->items[i];
    const char *known[N_DIMENSIONS];
    size_t n = 0;
    for (int dimension = 0; dimension < N_DIMENSIONS; dimension++)
        if (all >> dimension & 1)
            known[n++] = dimension_names[dimension];
    for (uint32_t k = 0; k < i; k++)
        if (strcmp(names->items[k].text, name->text) == 0) {
            report_twice(r, name->span, names->items[k].span,
                         arena_format(r->arena, "`%s`", name->text));
            return 0;
        }
    int found = table_find(dimension_names, N_DIMENSIONS, name->text);
    if (found >= 0 && all >> found & 1)
        return 1u << found;
    report_unknown(r, E103, *name, "dimension of `reproducible`", known, n);
    return 0;
}

uint32_t read_dimensions(struct resolver *r, const struct ast_names *names) {
    uint32_t all = 0, named = 0, errors_before = r->diagnostics->n_errors;
    for (int i = 0; i < N_DIMENSIONS; i++)
        all |= (uint32_t)is_divisible((enum dimension)i) << i;
    for (uint32_t i = 0; names && i < names->n; i++)
        named |= read_dimension(r, names, i, all);
    if (names && r->diagnostics->n_errors == errors_before && !(named >> DIM_BATCH & 1))
        report_no_batch(r, names, named);
    return names ? named : all;
}

// Sums are then binary trees, of as many leaves as devices; the least one is over a microbatch,
// which must be the same whatever the mesh.
void check_reproducible(struct resolver *r, const struct train_config *train) {
    int64_t most = train->reproducible;
    struct span span = origin_span(&train->reproducible_origin);
    if (most && (!is_power_of_two(most) || most > LIMIT_REPRODUCIBLE)) {
        struct diagnostic *d =
            report(r->diagnostics, E107, span, "`reproducible` is a power of two, at most %d",
                   (int)LIMIT_REPRODUCIBLE);
        diagnostic_origin(d, &train->reproducible_origin);
        diagnostic_help(d, "say the most devices that are to train to these bits");
        if (most <= LIMIT_REPRODUCIBLE && train->reproducible_origin.kind == ORIGIN_STATEMENT)
            diagnostic_edit(d, train->reproducible_span, "%" PRId64, power_of_two_from(most));
    }
    if (most && !train->microbatch) {
        struct diagnostic *d =
            report(r->diagnostics, E109, span,
                   "training is `reproducible`, but `train` does not say `microbatch`");
        diagnostic_origin(d, &train->reproducible_origin);
        diagnostic_help(d, "say it, as its default depends on how many devices there are");
    }
}
