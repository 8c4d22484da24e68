// E600: a plan that a text writes out, places in memory and values that have none.
#include "driver/edited_inside.h"

// An unlike value of two programs that are one but for their plans: inline in only one of them.
// NULL: none.
static const struct op *find_unlike(const struct program *a, const struct program *b,
                                    const struct value **value) {
    for (uint32_t u = 0; u < a->job->n_units; u++)
        for (uint32_t i = 0; i < a->job->units[u].n_ops; i++) {
            const struct op *op = &a->job->units[u].ops[i];
            for (unsigned k = 0; k < op->n_results; k++) {
                *value = &a->job->units[u].values[op->results[k]];
                const struct value *other = &b->job->units[u].values[op->results[k]];
                if (((*value)->storage == STORAGE_INLINE) != (other->storage == STORAGE_INLINE))
                    return op;
            }
        }
    return NULL;
}

// Which values are computed inside others follows from the ops, and generated code relies on it.
static bool inline_as_fused(struct compilation *c, const struct program *edited) {
    const struct pass_context context = {.config = &c->config, .diagnostics = c->diagnostics};
    struct program *fused = job_clone(&c->arena, edited->job)->programs[0];
    job_drop_plan(fused->job);
    passes_run(fused->job, &context, PASS_FUSE, PASS_FUSE);
    const struct value *value;
    const struct op *op = find_unlike(edited, fused, &value);
    if (!op)
        return true;
    struct diagnostic *d =
        report(c->diagnostics, E600, op->span,
               value->storage == STORAGE_INLINE
                   ? "`%%%s` cannot be `inline`: no op can compute it where it is used"
                   : "`%%%s` must be `inline`: the op that uses it computes it",
               value->name);
    diagnostic_help(d, "leave out where this value is, and all memory is planned anew");
    return false;
}

// A plan that is written out is kept if code can be generated from it; what is missing of one is
// missing of all.
bool edited_settle_plan(struct compilation *c, struct program *edited) {
    const struct pass_context context = {.config = &c->config, .diagnostics = c->diagnostics};
    if (job_needs_plan(edited->job)) {
        job_drop_plan(edited->job);
        return passes_run(edited->job, &context, PASS_FUSE, PASS_MEMORY);
    }
    struct span at;
    const char *wrong = job_check_plan(edited->job, &c->arena, &at);
    if (wrong)
        report(c->diagnostics, E600, at, "%s", wrong);
    return !wrong && inline_as_fused(c, edited);
}
