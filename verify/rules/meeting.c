// Collectives over the axes of parts, which do different things: of each it is known what its devices
// give, and what they all get is made of that. Only sums and maxima are: what parts hold side by side
// would be put together of values that lie on no one's axes.
//
//   sum      The sum of what the parts give, term by term, each as often as devices of it give it. So
//            sums of what parts have of the model's layers join, and copies count as often as they
//            are there. Zeros add nothing, and are of any form.
//   maximum  What all give, if that is one value.
#include "verify/rules/rule.h"

static bool is_zero_value(const struct proof *p, const struct judgement *value) {
    return term_kind(p->world->terms, value->value.of) == NODE_ZERO;
}

// What a sum of summands needs of each: it is one along all other axes, or all are summands there.
static bool lie_alike(const struct judgement *a, const struct judgement *b) {
    return a->form == b->form && a->partial == b->partial && a->microbatch == b->microbatch &&
           a->leaves == b->leaves;
}

static const struct fault *given_fault(struct proof *p, const struct exchange *exchange,
                                       const struct judgement *given, uint32_t n,
                                       struct span span) {
    const struct fault *fault = NULL;
    if (exchange->kind != COLLECTIVE_ALL_REDUCE)
        return fault_make(p, E490, span, NULL,
                          "what %s makes of what parts hold is not proved: only an all_reduce goes "
                          "over their axes",
                          collective_names[exchange->kind]);
    for (uint32_t i = 0; i < n; i++)
        fault = fault_first(fault, given[i].fault);
    for (uint32_t i = 0; i < n && !fault; i++)
        if (given[i].coverage != COVERAGE_COMPLETE || given[i].partial_max ||
            form_is_code(&p->world->digits, given[i].form))
            fault = fault_make(p, E411, span, NULL,
                               "an all_reduce over the axes of parts is given parts of a "
                               "contraction, or maxima of parts, or codes");
    return fault;
}

// Digits, and what is known of padding and of copies, are those that all have.
static void join(struct judgement *made, const struct judgement *other) {
    made->bits &= other->bits;
    made->width = width_meet(made->width, other->width);
    made->fills = width_meet(made->fills, other->fills);
    made->before = width_meet(made->before, other->before);
    made->rounded |= other->rounded;
    made->sent = made->sent || other->sent;
    made->narrowed = made->narrowed ? made->narrowed : other->narrowed;
    made->padding = padding_both(made->padding, other->padding);
}

static struct judgement sum_of(struct proof *p, struct builder *builder,
                               const struct judgement *given, const int64_t *devices, uint32_t n,
                               struct span span) {
    const struct judgement *first = NULL;
    struct judgement made = {0};
    struct sum sum = {0};
    bool several = false;
    for (uint32_t i = 0; i < n; i++) {
        if (devices[i] == 0 || is_zero_value(p, &given[i]))
            continue;
        if (first && !lie_alike(first, &given[i]))
            return judgement_fault(
                fault_make(p, E510, span, NULL,
                           "parts give what lies differently on their devices, or is of different "
                           "microbatches: %s, and %s",
                           form_text(&p->world->digits, p->world->arena, first->form),
                           form_text(&p->world->digits, p->world->arena, given[i].form)));
        several = first || devices[i] > 1;
        if (first)
            join(&made, &given[i]);
        else
            made = given[i];
        first = first ? first : &given[i];
        sum_add(builder, &sum, given[i].value, scale_rational(p->world->terms, devices[i], 1));
    }
    if (!first)
        return given[0];
    if (p->ordered && several)
        return judgement_fault(fault_make(p, E416, span, NULL,
                                          "several parts give what is added here: in which order "
                                          "depends on the mesh"));
    if (several)
        made.value = sum_finish(builder, &sum);
    return made;
}

static struct judgement greatest_of(struct proof *p, const struct judgement *given,
                                    const int64_t *devices, uint32_t n, struct span span) {
    uint32_t first = 0;
    while (devices[first] == 0)
        first++;
    struct judgement made = given[first];
    for (uint32_t i = first + 1; i < n; i++) {
        if (devices[i] == 0)
            continue;
        if (!scaled_equal(given[i].value, made.value) || !lie_alike(&given[i], &made) ||
            made.partial)
            return judgement_fault(fault_make(p, E490, span, NULL,
                                              "the greatest of what parts give is not proved to be "
                                              "any of the values of training on one device"));
        join(&made, &given[i]);
    }
    return made;
}

struct judgement meeting_apply(struct proof *p, struct builder *builder,
                               const struct exchange *exchange, uint32_t parts_axes,
                               const struct judgement *given, const int64_t *devices, uint32_t n,
                               struct span span) {
    const struct fault *fault = given_fault(p, exchange, given, n, span);
    if (fault)
        return judgement_fault(fault);
    struct judgement made = exchange->operation == OPERATION_MAX
                                ? greatest_of(p, given, devices, n, span)
                                : sum_of(p, builder, given, devices, n, span);
    made.bits |= parts_axes;
    return made;
}
