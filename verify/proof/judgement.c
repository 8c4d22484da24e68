// Judgements as values: made, and compared.
#include "verify/proof/proof.h"

struct judgement judgement_of(const struct world *w, struct scaled value, form_id form,
                              enum dtype dtype) {
    struct width width = term_is_constant(w->terms, value.of) ? WIDTH_ALL : width_of(dtype);
    return (struct judgement){.value = value,
                              .form = form,
                              .bits = w->all_axes,
                              .dtype = (uint8_t)dtype,
                              .width = width,
                              .fills = width,
                              .before = width};
}

struct judgement judgement_fault(const struct fault *fault) {
    return (struct judgement){.fault = fault, .form = FORM_ANY};
}

bool judgement_alike(const struct judgement *a, const struct judgement *b) {
    if (a->fault || b->fault)
        return a->fault && b->fault && fault_alike(a->fault, b->fault);
    return a->value.scale == b->value.scale && a->form == b->form && a->partial == b->partial &&
           a->own == b->own && a->partial_max == b->partial_max && a->bits == b->bits &&
           a->coverage == b->coverage && a->leaves == b->leaves && a->dtype == b->dtype &&
           a->padding == b->padding && a->sent == b->sent && a->rounded == b->rounded &&
           width_equal(a->width, b->width) && width_equal(a->fills, b->fills) &&
           width_equal(a->before, b->before);
}

bool judgement_of_time(const struct world *w, const struct judgement *value) {
    return (value->form != FORM_ANY && form_get(&w->digits, value->form)->time) ||
           leaves_of_time(w, value->leaves);
}

struct judgement_key judgement_key(const struct judgement *value) {
    return (struct judgement_key){
        .scale = value->value.scale,
        .form = value->form,
        .partial = value->partial,
        .own = value->own,
        .partial_max = value->partial_max,
        .bits = value->bits,
        .coverage = value->coverage,
        .leaves = value->leaves,
        .fault = value->fault ? value->fault->order : 0,
        .rest = value->dtype | (uint32_t)value->sent << 8,
        .padding = value->padding,
        .widths = value->width.types | (uint32_t)value->before.types << 8 |
                  (uint32_t)value->fills.types << 16,
        .narrowed = value->narrowed ? (uint32_t)value->narrowed->begin + 1 : 0, // for messages
        .rounded = value->rounded,
    };
}
