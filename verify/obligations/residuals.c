// Residuals when a step has ended: what the codes of gradients lack (codes.c) is kept for the next.
#include "verify/algebra/attributes.h"
#include "verify/algebra/facts.h"
#include "verify/algebra/given.h"
#include "verify/machine/engine.h"

// In the form that it began with, so that the next step finds what this one assumed.
static bool lies_as_before(const struct engine *e, const struct judgement *found,
                           const struct judgement *before) {
    return found->form == before->form && found->partial == before->partial &&
           found->own == before->own && found->bits == e->all_axes && found->clean >= before->clean;
}

// What compress makes, beside the code, of the gradient and of the residual that the step found.
static struct scaled lacking(struct engine *e, struct scaled gradient, struct scaled before) {
    struct op op = {.kind = OP_COMPRESS};
    struct program scratch = {.arena = e->arena};
    struct wire wire = e->program->policy.wire;
    op_set_word(&scratch, &op, ATTRIBUTE_WAY, wire_way_names[wire.way]);
    if (wire.kept)
        op_set_integer(&scratch, &op, ATTRIBUTE_KEPT, wire.kept);
    return codes_made(e, &op, 1, gradient, before);
}

static const struct fault *check_end(struct engine *e, buffer_id id, int64_t item,
                                     struct scaled expected, const char *what, const char *but) {
    struct judgement found = store_at_end(e, id, item, what);
    struct judgement before = initial_judgement(e, id, item);
    if (found.fault)
        return found.fault;
    if (scaled_same(e->terms, found.value, expected) && lies_as_before(e, &found, &before))
        return NULL;
    return fault_make(e, E516, e->program->buffers[id].span, NULL, "%s %s", what, but);
}

const struct fault *codes_check_residual(struct engine *e, buffer_id id, int64_t item,
                                         struct scaled gradient, const char *what) {
    return check_end(e, id, item, lacking(e, gradient, initial_judgement(e, id, item).value), what,
                     "does not end the step as what the code of its own gradient lacks");
}

const struct fault *codes_check_kept(struct engine *e, buffer_id id, int64_t item,
                                     const char *what) {
    return check_end(e, id, item, initial_judgement(e, id, item).value, what,
                     "is changed by a step that sends no gradients");
}
