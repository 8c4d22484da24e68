// Gradients that travel as codes, where `relax` lets them. A code holds less than what it was made
// of, so nothing about numbers can be proved of it; what is proved is that nothing else goes wrong.
//
//   compress    makes, of what a device has of a sum over exactly the axes of the wire, a code that
//               stands for that, and the residual, which is for the next step. It is given this
//               step's residual of the same gradient: the device's own, for codes are of what each
//               device has and not of the sum, which is the same whoever has what; and once, since
//               the new one takes its place and what is copied is not its own.
//   all_gather  over exactly these axes, and no other collective, brings the codes of all together.
//   decompress  of all of them stands for the sum, equal in all bits wherever it is computed.
//
// So a code has the term of what compress made, in a form that nothing but these takes, and what
// decompress makes of all of them is called the gradient as it arrives: of this gradient, coded
// with this residual. What is relaxed is that the reference, which sends nothing, is taken to
// update with that as well, for each gradient with its own residual, where the final program keeps
// one. So no other code serves, nor this one beside what was not coded. That residuals are what
// these codes lack is checked when the step has ended.
#include <string.h>

#include "verify/rules/rule.h"

#include "verify/algebra/laws.h"

uint32_t wire_mask(const struct proof *p) {
    return (uint32_t)axis_list_mask(&p->program->job->policy.wire_axes);
}

static const char *wire_axes_text(struct proof *p) {
    return mesh_axes_text(&p->program->job->mesh, &p->program->job->policy.wire_axes,
                          p->world->arena);
}

static int64_t members(const struct program *program) {
    return mesh_group_size(&program->job->mesh, &program->job->policy.wire_axes);
}

// Zeros are coded as zeros, but for signs, of which there are two.
static bool keeps_zeros(const struct op *op) {
    return op_wire(op).way != WIRE_SIGN;
}

// ---- compress ---------------------------------------------------------------------------------

static const struct fault *check_permitted(struct proof *p, const struct op *op) {
    const struct policy *policy = &p->program->job->policy;
    const char *text = op_rows[op->kind].text;
    if (policy->wire_axes.n == 0)
        return fault_make(p, E516, op->span, "what it loses changes the result of training",
                          "`%s` stands where the policy has no `wire over`", text);
    if (!wire_equal(op_wire(op), policy->wire))
        return fault_make(p, E516, op->span, NULL, "`%s` goes the way %s, but the policy says %s",
                          text, wire_text(op_wire(op), p->world->arena),
                          wire_text(policy->wire, p->world->arena));
    return NULL;
}

// What is wrong otherwise, as a sum that lacks parts, still is when it has been put together again.
static const struct fault *check_gradient(struct proof *p, const struct op *op,
                                          const struct judgement *g) {
    uint32_t wire = wire_mask(p);
    const char *axes = wire_axes_text(p);
    if (!(g->partial & wire))
        return fault_make(p, E516, op->span, "there is nothing to send",
                          "`compress` is given what is no summand over `%s`", axes);
    if (g->partial != wire)
        return fault_make(p, E516, op->span, NULL,
                          "`compress` is given a summand over %s, but codes are of summands over "
                          "exactly %s",
                          mask_text(p->world, g->partial), mask_text(p->world, wire));
    if (term_is_collected(p->world->terms, g->value.of))
        return fault_make(p, E516, op->span, NULL,
                          "`compress` is given what is not yet collected from all microbatches");
    return NULL;
}

static bool is_residual(const struct world *w, struct scaled value) {
    return term_kind(w->terms, value.of) == NODE_STATE && value.scale == SCALE_ONE &&
           given_class(w->terms, value.of) == CLASS_RESIDUAL;
}

// The new residual must be where the old one was, so that nothing is coded with it again. What a
// device has of its own and the step has found is a parameter of the unit: there is no other copy
// of it.
static bool takes_its_place(const struct unit *unit, const struct op *op) {
    return value_root(unit, op->results[1]) == value_root(unit, op->operands[1]);
}

static const struct fault *check_old_residual(struct proof *p, const struct unit *unit,
                                              const struct op *op, const struct judgement *g,
                                              const struct judgement *r) {
    if (!is_residual(p->world, r->value))
        return fault_make(p, E516, op->span, NULL,
                          "`compress` is given %s, which is no residual as the step found it",
                          term_text(p->world, r->value, 2));
    if (r->form != g->form)
        return fault_make(p, E510, op->span, NULL,
                          "`compress` meets parts that are cut differently: the gradient is %s, "
                          "the residual %s",
                          form_text(&p->world->digits, p->world->arena, g->form),
                          form_text(&p->world->digits, p->world->arena, r->form));
    if (wire_mask(p) & ~r->own)
        return fault_make(p, E516, op->span, "codes are of what each device has",
                          "`compress` is given a residual that is no longer known to be the "
                          "device's own: others of `%s` sent it, or it was computed or copied",
                          wire_axes_text(p));
    if (!takes_its_place(unit, op))
        return fault_make(p, E516, op->span, "what a code lacks is coded once",
                          "`compress` leaves the old residual: the new one, `%s`, must take the "
                          "place of the unit's parameter that holds it",
                          unit->values[op->results[1]].name);
    return NULL;
}

struct scaled codes_made(struct builder *builder, const struct op *op, unsigned result,
                         struct scaled gradient, struct scaled residual) {
    struct part parts[2] = {part_of(term_with_scale(builder, gradient)), part_of(residual.of)};
    uint32_t attributes = attributes_of(builder->terms, op);
    struct term of = term_make(builder, OP_COMPRESS, result, attributes, parts, 2);
    return (struct scaled){of, SCALE_ONE};
}

static void compress(struct proof *p, struct builder *builder, const struct unit *unit,
                     const struct op *op, const struct judgement *operands,
                     struct judgement *results) {
    const struct judgement *g = &operands[0], *r = &operands[1];
    const struct fault *fault = check_permitted(p, op);
    if (!fault)
        fault = check_gradient(p, op, g);
    if (!fault)
        fault = check_old_residual(p, unit, op, g, r);
    for (unsigned i = 0; i < 2; i++) {
        if (fault) {
            results[i] = judgement_fault(fault);
            continue;
        }
        results[i] = *g;
        results[i].value = codes_made(builder, op, i, g->value, r->value);
        results[i].padding = keeps_zeros(op) ? padding_both(g->padding, r->padding) : PADDING_ANY;
        results[i].own = i ? r->own : 0;
    }
    if (fault)
        return;
    int64_t words = wire_words(op_wire(op), form_get(&p->world->digits, g->form)->elements);
    results[0].form = form_of_codes(&p->world->digits, g->form, words, 1, results[0].padding);
    results[0].dtype = DTYPE_I32;
}

// ---- codes ------------------------------------------------------------------------------------

const struct fault *codes_check_operands(struct proof *p, const struct op *op,
                                         const struct judgement *operands) {
    for (unsigned i = 0; i < op->n_operands; i++)
        if (form_is_code(&p->world->digits, operands[i].form) &&
            (op->kind != OP_DECOMPRESS || i > 0))
            return fault_make(p, E516, op->span, NULL, "`%s` takes a code for numbers",
                              op_rows[op->kind].text);
    return NULL;
}

const struct fault *codes_cut(struct proof *p, struct span span) {
    return fault_make(p, E516, span, NULL, "a part of a code means nothing");
}

const struct fault *codes_gather(struct proof *p, const struct exchange *exchange,
                                 struct judgement *value, struct span span) {
    const struct form_key *key = form_get(&p->world->digits, value->form)->key;
    uint32_t axes = (uint32_t)axis_list_mask(&exchange->axes);
    if (exchange->kind != COLLECTIVE_ALL_GATHER)
        return fault_make(p, E516, span, NULL,
                          "%s is given codes: what brings them together is an all_gather",
                          collective_names[exchange->kind]);
    if (axes != value->partial)
        return fault_make(p, E516, span, NULL,
                          "codes of summands over %s are brought together over %s",
                          mask_text(p->world, value->partial), mask_text(p->world, axes));
    int64_t words = form_get(&p->world->digits, value->form)->elements;
    value->form =
        form_of_codes(&p->world->digits, key->of, words, members(p->program), key->padding);
    value->partial = 0;
    value->bits |= axes;
    return NULL;
}

// ---- decompress -------------------------------------------------------------------------------

struct scaled codes_arrived(struct builder *builder, struct scaled gradient, struct term residual) {
    struct part parts[2] = {part_of(term_with_scale(builder, gradient)), part_of(residual)};
    return (struct scaled){term_make(builder, NODE_ARRIVED, 0, 0, parts, 2), SCALE_ONE};
}

static const struct fault *check_codes(struct proof *p, const struct op *op,
                                       const struct judgement *codes) {
    if (!form_is_code(&p->world->digits, codes->form))
        return fault_make(p, E516, op->span, NULL, "`decompress` is given what is no code");
    if (codes->partial)
        return fault_make(p, E516, op->span, "nothing gathers those of the others before",
                          "`decompress` is given the code of one device of `%s` only",
                          wire_axes_text(p));
    return NULL;
}

static void decompress(struct proof *p, struct builder *builder, const struct op *op,
                       const struct judgement *operands, struct judgement *result) {
    const struct judgement *codes = &operands[0];
    const struct fault *fault = check_permitted(p, op);
    if (!fault)
        fault = check_codes(p, op, codes);
    if (fault) {
        *result = judgement_fault(fault);
        return;
    }
    const struct form_key *key = form_get(&p->world->digits, codes->form)->key;
    struct scaled gradient = term_operand(p->world->terms, codes->value.of, 0);
    *result = *codes;
    result->value =
        codes_arrived(builder, gradient, term_operand(p->world->terms, codes->value.of, 1).of);
    result->form = key->of;
    result->dtype = operands[1].dtype;
    result->width = result->fills = result->before =
        width_meet(codes->width, width_of(result->dtype));
    result->padding = key->padding;
}

bool codes_apply(struct proof *p, struct builder *builder, const struct unit *unit,
                 const struct op *op, const struct judgement *operands, struct judgement *results) {
    if (op->kind == OP_COMPRESS)
        compress(p, builder, unit, op, operands, results);
    else if (op->kind == OP_DECOMPRESS)
        decompress(p, builder, op, operands, results);
    return op->kind == OP_COMPRESS || op->kind == OP_DECOMPRESS;
}
