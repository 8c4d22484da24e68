// The tree over microbatches, and over blocks inside one, where training is reproducible
// (ordered.c): collectives sum the digits that axes own, `carry` and `accumulate_pair` those
// of time, the least significant first.
#include <inttypes.h>

#include "verify/algebra/leaves.h"

static const struct fault *sum_axis(struct engine *e, const char *what, unsigned axis,
                                    struct judgement *value, struct span span) {
    const char *name = e->program->mesh.axes[axis].name;
    if (!is_incomplete(e, value))
        return fault_make(e, E416, span, NULL,
                          "%s over `%s` adds what is no sum over microbatches, nor over parts of "
                          "a tensor: how many are added depends on the mesh",
                          what, name);
    struct leaves leaves = *leaves_get(e, value->leaves);
    const struct digit *next = leaves_next(&leaves);
    if (leaves.exact ? !(leaves.exact >> axis & 1) : next->owner != OWNER_AXIS + (int32_t)axis)
        return fault_make(e, E416, span, NULL,
                          "%s over `%s` sums in another order: what it is given is %s, and next "
                          "come %s",
                          what, name, leaves_text(e, value), leaves_next_text(e, &leaves));
    if (leaves.exact)
        leaves.exact &= ~(1u << axis);
    else
        leaves_sum(e, &leaves, next->size);
    value->leaves = leaves_intern(e, &leaves);
    return NULL;
}

const struct fault *ordered_sum_over(struct engine *e, const struct exchange *exchange,
                                     struct judgement *value, struct span span) {
    const struct fault *fault = NULL;
    if (!e->terms->ordered || term_kind(e->terms, value->value.of) == NODE_ZERO ||
        exchange->operation == OPERATION_MAX)
        return NULL;
    for (unsigned i = exchange->axes.n; i-- > 0 && !fault;)
        if (e->program->mesh.axes[exchange->axes.axes[i]].size > 1)
            fault =
                sum_axis(e, collective_names[exchange->kind], exchange->axes.axes[i], value, span);
    return fault;
}

// Blocks of as many microbatches side by side. Where a tree is complete, and only then has it all
// digits of time, each begins at a multiple of its size, as the first one does.
static bool are_siblings(const struct judgement *left, const struct judgement *right,
                         const struct leaves *leaves) {
    int64_t n = leaves->microbatches;
    return term_equal(left->value.of, right->value.of) && left->leaves == right->leaves &&
           left->microbatch + n == right->microbatch;
}

const struct fault *ordered_join(struct engine *e, const char *what, const struct judgement *kept,
                                 struct judgement *sum, struct span span) {
    struct leaves leaves = sum->leaves ? *leaves_get(e, sum->leaves) : leaves_none();
    const struct digit *next = leaves_next(&leaves);
    if (is_part(e, sum))
        return fault_make(e, E416, span, NULL, "`%s` adds microbatches of %s: %s come first", what,
                          leaves_text(e, sum), leaves_next_text(e, &leaves));
    if (!next || next->owner != OWNER_TIME || !are_siblings(kept, sum, &leaves))
        return fault_make(e, E416, span, NULL,
                          "`%s` adds what are not the two halves of a block of microbatches: %s "
                          "to %s",
                          what, leaves_text(e, sum), leaves_text(e, kept));
    leaves_sum(e, &leaves, 2);
    leaves.microbatches *= 2;
    sum->leaves = leaves_intern(e, &leaves);
    sum->microbatch = kept->microbatch;
    return NULL;
}
