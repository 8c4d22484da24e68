// The tree over microbatches, and over blocks inside one, where training is reproducible
// (ordered.c): collectives sum the digits that axes own, `carry` and `accumulate_pair` those
// of time, the least significant first.
#include <inttypes.h>
#include <stdlib.h>

#include "verify/rules/rule.h"

static const struct fault *sum_axis(struct proof *p, const char *what, unsigned axis,
                                    struct judgement *value, struct span span) {
    const char *name = p->program->job->mesh.axes[axis].name;
    if (!leaves_is_incomplete(p->world, value->leaves))
        return fault_make(p, E416, span, NULL,
                          "%s over `%s` adds what is no sum over microbatches, nor over parts of "
                          "a tensor: how many are added depends on the mesh",
                          what, name);
    struct leaves leaves = *leaves_get(p->world, value->leaves);
    const struct digit *next = leaves_next(&leaves);
    if (leaves.exact ? !(leaves.exact >> axis & 1) : next->owner != OWNER_AXIS + (int32_t)axis)
        return fault_make(p, E416, span, NULL,
                          "%s over `%s` sums in another order: what it is given is %s, and next "
                          "come %s",
                          what, name, leaves_text(p->world, value->leaves),
                          leaves_next_text(p->world, &leaves));
    if (leaves.exact)
        leaves.exact &= ~(1u << axis);
    else
        leaves_sum(p->world, &leaves, next->size);
    value->leaves = leaves_intern(p->world, &leaves);
    return NULL;
}

const struct fault *ordered_sum_over(struct proof *p, const struct exchange *exchange,
                                     struct judgement *value, struct span span) {
    const struct fault *fault = NULL;
    if (!p->ordered || term_kind(p->world->terms, value->value.of) == NODE_ZERO ||
        exchange->operation == OPERATION_MAX)
        return NULL;
    for (unsigned i = exchange->axes.n; i-- > 0 && !fault;)
        if (p->program->job->mesh.axes[exchange->axes.axes[i]].size > 1)
            fault =
                sum_axis(p, collective_names[exchange->kind], exchange->axes.axes[i], value, span);
    return fault;
}

// Blocks of as many microbatches side by side, whichever comes first: the two summands of an
// addition commute. Where a tree is complete, and only then has it all digits of time, each begins
// at a multiple of its size, as the first one does.
static bool are_siblings(const struct judgement *a, const struct judgement *b,
                         const struct leaves *leaves) {
    return term_equal(a->value.of, b->value.of) && a->leaves == b->leaves &&
           llabs((long long)a->microbatch - b->microbatch) == leaves->microbatches;
}

const struct fault *ordered_join(struct proof *p, const char *what, const struct judgement *kept,
                                 struct judgement *sum, struct span span) {
    struct leaves leaves = sum->leaves ? *leaves_get(p->world, sum->leaves) : leaves_none();
    const struct digit *next = leaves_next(&leaves);
    if (leaves_is_part(p->world, sum->leaves))
        return fault_make(p, E416, span, NULL, "`%s` adds microbatches of %s: %s come first", what,
                          leaves_text(p->world, sum->leaves), leaves_next_text(p->world, &leaves));
    if (!next || next->owner != OWNER_TIME || !are_siblings(kept, sum, &leaves))
        return fault_make(p, E416, span, NULL,
                          "`%s` adds what are not the two halves of a block of microbatches: %s "
                          "to %s",
                          what, leaves_text(p->world, sum->leaves),
                          leaves_text(p->world, kept->leaves));
    leaves_sum(p->world, &leaves, 2);
    leaves.microbatches *= 2;
    sum->leaves = leaves_intern(p->world, &leaves);
    if (kept->microbatch < sum->microbatch)
        sum->microbatch = kept->microbatch;
    return NULL;
}
