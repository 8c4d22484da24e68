// Residuals when a step has ended: what the codes of gradients lack (codes.c) is kept for the next.
#include "verify/machine/machine.h"

#include "verify/obligations/obligations.h"
#include "verify/rules/rules.h"

// A residual lies in the form that it began with, so that the next step finds what this one
// assumed.
static bool lies_as_before(const struct world *w, const struct judgement *found,
                           const struct judgement *before) {
    return found->form == before->form && found->partial == before->partial &&
           found->own == before->own && found->bits == w->all_axes &&
           (before->padding == PADDING_ANY || found->padding == before->padding);
}

// What compress makes, beside the code, of the gradient and of the residual that the step found.
static struct scaled lacking(struct abstract_machine *m, struct scaled gradient,
                             struct scaled before) {
    struct op op = {.kind = OP_COMPRESS};
    struct builder builder = {.terms = m->world->terms};
    struct wire wire = m->program->job->policy.wire;
    op_set_word(m->world->arena, &op, ATTRIBUTE_WAY, wire_way_names[wire.way]);
    if (wire.kept)
        op_set_integer(m->world->arena, &op, ATTRIBUTE_KEPT, wire.kept);
    return codes_made(&builder, &op, 1, gradient, before);
}

static const struct fault *check_end(struct abstract_machine *m, buffer_id id, int64_t item,
                                     struct scaled expected, const char *what, const char *but) {
    struct judgement found = store_at_end(m, id, item, what);
    struct judgement before = initial_judgement(m, id, item);
    if (found.fault)
        return found.fault;
    if (scaled_same(m->world->terms, found.value, expected) &&
        lies_as_before(m->world, &found, &before))
        return NULL;
    return fault_make(m->proof, E516, m->program->buffers[id].span, NULL, "%s %s", what, but);
}

const struct fault *codes_check_residual(struct abstract_machine *m, buffer_id id, int64_t item,
                                         struct scaled gradient, const char *what) {
    return check_end(m, id, item, lacking(m, gradient, initial_judgement(m, id, item).value), what,
                     "does not end the step as what the code of its own gradient lacks");
}

const struct fault *codes_check_kept(struct abstract_machine *m, buffer_id id, int64_t item,
                                     const char *what) {
    return check_end(m, id, item, initial_judgement(m, id, item).value, what,
                     "is changed by a step that sends no gradients");
}
