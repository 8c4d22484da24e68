// Element types: how many of its digits a value has left, and how many it must have.
//
// Terms are equal over the reals, so a cast makes the term that it is given. What it takes away is
// noted with the value: its `width` is what all types have that it has been in since an op made it.
// An op rounds its results once, to their types, and rounds no digits of its operands; so a result of
// a term of its own is as wide as its type, whatever it is made of. No op gives back digits: ops that
// hand on what they are given (casts, scales, parts of a dimension, collectives, slices) hand on its
// width, and so does any op whose result is the value that it is given, as x + x is 2 x and x + 0 is
// x, and a sum that puts parts together, which could be taken from it again. A scale takes digits
// where its result is narrower than what it computes in: a third has others than the whole.
//
//   needed    A value must be as wide, where an op reads it, as what the reference's op reads there
//             (proof/readings.h), and where the step ends as what the reference has left there, and
//             as the buffer is in which the next step finds it (obligations.c). More is no mistake:
//             over the reals it is equal.
//   own       Of a value that the reference does not make nobody knows what it needs. So what was taken
//             from it since it was made is lacking in whatever is made of it, until that is a value
//             of the reference's, and read.
//   blamed    is the statement that rounded the value last, and only if somebody reads the value who
//             needs more. A value that nobody rounded, as a parameter that is read in the place of
//             its master copy, is told at the reader.
//   sent      A sum of gradients may be sent in the type `reduce`, a parameter be gathered in the
//             type `gather`, though what reads them needs more. So what a value was `before` it was
//             rounded is kept, and counts once a collective has sent it so that summed summands,
//             joined parts, or gave others what one has: not one that only moves it, or a sum that
//             is there already. It counts neither for what the step leaves behind nor for what
//             makes that of a state: a parameter that is gathered narrower is no state. And over an
//             axis a summand is rounded once: a sum that is added to what it was made of, and sent
//             again, would lose what it gained, as one that grows with each microbatch.
//
// Where sums do not commute (ordered.c) rounding is an op: of what is made, where the result's type
// is narrower than what the op computes in, and of casts that take digits. It commutes with whatever
// moves elements, since elements are rounded one by one, and not with sums: what is still to be summed
// must not be rounded, unless all but one of the summands are zeros.
#include "ir/check.h"
#include "verify/rules/rule.h"

static bool is_handed_on(const struct context *c, unsigned i) {
    return i == 0 && op_has(c->op->kind, HANDS_ON);
}

static enum dtype result_type(const struct context *c, unsigned result) {
    return (enum dtype)c->unit->values[c->op->results[result]].type.dtype;
}

static bool is_state(const struct proof *p, struct term term) {
    return term_kind(p->world->terms, term) == NODE_STATE;
}

static struct in_layers layers_of(const struct context *c, struct term of) {
    return in_layers_around(c->proof->cursor, of);
}

// ---- what is needed ---------------------------------------------------------------------------

static unsigned reader_kind(const struct context *c) {
    return op_is_sum(c->op->kind) ? OP_ADD : c->op->kind;
}

// Each part of what is collected from microbatches needs what the widest of its readers needs.
static struct width least_of(const struct context *c, struct term maker, unsigned i) {
    const struct readings *readings = c->proof->readings;
    struct term term = c->operands[i].value.of;
    struct width least = WIDTH_NONE;
    if (!is_collected(c, i))
        return readings_least(readings, c->builder, maker, reader_kind(c), term);
    for (uint32_t k = 0; k < term_node(c->builder->terms, term)->n_parts; k++)
        least = width_join(
            least, readings_widest(readings, c->builder, term_part(c->builder->terms, term, k).of));
    return least;
}

// Part k of what is collected from some microbatches, or the value itself.
static struct term summed_part(const struct terms *terms, struct term of, uint32_t k) {
    return term_is_collected(terms, of) ? term_part(terms, of, k).of : of;
}

static uint32_t n_summed(const struct terms *terms, struct term of) {
    return term_is_collected(terms, of) ? term_node(terms, of)->n_parts : 1;
}

static const struct fault *narrow_fault(const struct context *c, unsigned i, struct width has,
                                        struct width least) {
    struct proof *p = c->proof;
    const struct judgement *value = &c->operands[i];
    const char *name = operand_name(c, i);
    struct fault *fault;
    if (value->narrowed)
        fault = fault_make(p, E415, *value->narrowed, NULL,
                           "this rounds to %s what is read in %s on one device", width_text(has),
                           width_text(least));
    else
        fault =
            fault_make(p, E415, c->op->span, NULL, "`%s` is given `%s` in %s, on one device in %s",
                       c->row->text, name, width_text(has), width_text(least));
    if (value->narrowed)
        fault_also(
            fault, c->op->span,
            arena_format(p->world->arena, "`%s` reads it here, as `%s`", c->row->text, name));
    fault->told = true;
    return fault;
}

// GI-5 of what products are declared to read and to add up in, beside what the reference has. What
// accumulates reads as many digits as the reference adds up.
static void check_declared(const struct context *c) {
    const struct policy *policy = &c->proof->program->job->policy;
    enum dtype computed = op_computes_in(c->unit, c->op), least = policy->accumulate;
    if (c->op->kind != OP_EINSUM)
        return;
    for (unsigned i = 0; i < c->op->n_operands; i++)
        if (dtype_bytes[c->operands[i].dtype] < dtype_bytes[policy->compute]) {
            computed = c->operands[i].dtype;
            least = policy->compute;
        }
    if (dtype_bytes[computed] < dtype_bytes[least])
        fault_insist(c->proof,
                     fault_make(c->proof, E415, c->op->span, NULL,
                                "`%s` computes in %s, narrower than %s, which is declared",
                                c->row->text, dtype_names[computed], dtype_names[least]));
}

// Whether the op makes a state's next value, or a summand of it, of the state: the maker is what an update
// of the reference makes, or a sum of nothing but the state and of such.
static bool updates_state(const struct context *c, struct term made, struct term state) {
    const struct readings *readings = c->proof->readings;
    const struct terms *terms = c->builder->terms;
    if (readings_is_of_update(readings, made.node))
        return true;
    if (term_kind(terms, made) != NODE_SUM)
        return false;
    for (uint32_t k = 0; k < term_node(terms, made)->n_parts; k++) {
        uint32_t node = term_part(terms, made, k).of.node;
        if (node != state.node && !readings_is_of_update(readings, node))
            return false;
    }
    return true;
}

// How wide the operand is to the op. What was sent narrower counts as before, but not to what updates it.
static struct width width_to(const struct context *c, struct term maker, unsigned i) {
    const struct judgement *value = &c->operands[i];
    bool is_updated =
        is_state(c->proof, value->value.of) && updates_state(c, maker, value->value.of);
    return value->sent && !is_updated ? value->before : value->width;
}

static void check_operand(struct context *c, struct term maker, unsigned i) {
    if (term_kind(c->builder->terms, c->operands[i].value.of) == NODE_ZERO) // every type has it
        return;
    struct width least = least_of(c, maker, i), has = width_to(c, maker, i);
    if (!width_holds(has, least) && !c->fault)
        c->fault = narrow_fault(c, i, has, least);
}

void precision_read(struct context *c, unsigned result, struct scaled made) {
    struct proof *p = c->proof;
    bool is_new = c->op->n_operands == 0 || !term_equal(made.of, c->operands[0].value.of);
    if (p->is_reference && c->unit->phase == PHASE_UPDATE && is_new)
        readings_of_update(p->readings, made.of.node);
    for (unsigned i = 0; i < c->op->n_operands; i++) {
        const struct judgement *value = &c->operands[i];
        if (p->ordered || !op_reads(c->op->kind, result, i) || is_handed_on(c, i) ||
            !dtype_is_floating(value->dtype))
            continue;
        if (p->is_reference)
            readings_read(p->readings, made.of.node, layers_of(c, made.of), reader_kind(c),
                          value->value.of.node, layers_of(c, value->value.of), value->width);
        else
            check_operand(c, made.of, i);
    }
    if (!p->ordered && !p->is_reference && result == 0)
        check_declared(c);
}

// ---- what is left -----------------------------------------------------------------------------

// What was sent narrower counts as before, and so loses there what is taken from it since. `twice`: of what is
// left no type has all digits.
static void lose_digits(struct judgement *value, enum dtype to, bool twice, const struct span *by) {
    struct width left = width_of(twice ? DTYPE_NONE : to);
    value->width = width_meet(value->width, left);
    if (value->sent)
        value->before = width_meet(value->before, left);
    value->fills = width_meet(value->fills, width_of(to));
    value->narrowed = by;
}

// Whether what is rounded so has no more digits than that; then it has others, as it was scaled.
static bool is_as_narrow(const struct judgement *value, enum dtype to) {
    return width_holds(width_of(to), value->sent ? value->before : value->width);
}

static void round_to(const struct proof *p, struct judgement *value, enum dtype to,
                     const struct span *by) {
    struct width left = width_of(to);
    uint32_t node = value->value.of.node;
    bool is_scaled = !p->ordered && !width_equal(value->fills, value->width);
    if (width_holds(left, is_scaled ? value->fills : value->width))
        return;
    if (p->is_reference && is_scaled)
        readings_rounded(p->readings, node, left);
    bool so_on_one_device =
        readings_is_scaled(p->readings, node, left) || readings_is_rounded(p->readings, node, left);
    lose_digits(value, to, is_scaled && is_as_narrow(value, to) && !so_on_one_device, by);
}

// Elements of a part in their place among zeros, or a sum of such.
static bool is_of_parts(const struct terms *terms, struct term term) {
    int kind = term_kind(terms, term);
    for (uint32_t i = 0; kind == NODE_SUM && i < term_node(terms, term)->n_parts; i++)
        if (is_of_parts(terms, term_part(terms, term, i).of))
            return true;
    return kind == OP_PUT || kind == OP_MOVE;
}

// Whether the result has the operand's digits and no others: it is the same value, maybe some times over,
// or of more parts of a contraction; or the operand is put together with other parts.
static bool keeps_digits(const struct context *c, unsigned i, const struct judgement *made) {
    const struct judgement *operand = &c->operands[i];
    return term_equal(operand->value.of, made->value.of) ||
           (op_is_sum(c->op->kind) && is_of_parts(c->builder->terms, operand->value.of));
}

static void take_digits(struct judgement *made, const struct judgement *of) {
    made->width = of->width;
    made->before = of->before;
    made->fills = of->fills;
    made->sent = of->sent;
    made->narrowed = of->narrowed;
}

// A sum is of what its summands are of.
static uint32_t rounded_over(const struct context *c, const struct judgement *made) {
    uint32_t axes = 0;
    for (unsigned i = 0; i < c->op->n_operands; i++)
        if (is_handed_on(c, i) || op_is_sum(c->op->kind) || keeps_digits(c, i, made))
            axes |= c->operands[i].rounded;
    return axes;
}

// The digits that all have of whom it has them.
static void meet_digits(struct context *c, struct judgement *made) {
    bool is_first = true;
    for (unsigned i = 0; i < c->op->n_operands; i++) {
        const struct judgement *operand = &c->operands[i];
        if (!keeps_digits(c, i, made))
            continue;
        struct judgement before = *made;
        if (is_first || !width_holds(operand->width, before.width))
            take_digits(made, operand);
        made->width = width_meet(before.width, operand->width);
        made->before = width_meet(before.before, operand->before);
        made->fills = is_first ? operand->fills : width_join(before.fills, operand->fills);
        made->sent = operand->sent && (is_first || before.sent);
        is_first = false;
    }
}

// Whether the result is some times an operand, by a scale or as x + x.
static bool is_scaled(const struct context *c, const struct judgement *made) {
    bool scaled = op_has(c->op->kind, SCALES);
    for (unsigned i = 0; i < c->op->n_operands; i++)
        scaled = scaled || (term_equal(c->operands[i].value.of, made->value.of) &&
                            c->operands[i].value.scale != made->value.scale);
    return scaled;
}

// A third of what bf16 holds has other digits, which bf16 holds no more. So what is scaled in a type in
// which the op does not compute is rounded, however narrow it was; twice, if it was as narrow, of
// which no type has all digits, unless one device scales it in such a type, too. What is scaled in a
// wider type fills that, and is rounded so by whoever makes it as narrow again.
static void round_scaled(const struct context *c, struct judgement *made) {
    struct width computed = width_of(op_computes_in(c->unit, c->op));
    enum dtype to = (enum dtype)made->dtype;
    if (!is_scaled(c, made))
        return;
    made->fills = computed;
    if (width_holds(width_of(to), computed))
        return;
    if (c->proof->is_reference)
        readings_scaled(c->proof->readings, made->value.of.node, width_of(to));
    bool so_on_one_device =
        readings_is_scaled(c->proof->readings, made->value.of.node, width_of(to));
    lose_digits(made, to, is_as_narrow(made, to) && !so_on_one_device, &c->op->span);
}

// What the op makes the value, or each part of it, as wide as, unless somebody rounds it.
static struct width made_width(const struct context *c, unsigned result) {
    bool as_said = !op_frees_result(c->op->kind, result) && !op_is_sum(c->op->kind);
    return width_of(as_said ? result_type(c, result) : op_computes_in(c->unit, c->op));
}

// What the reference does not make is entered as its op makes it, or adds it up.
static void note_own(const struct context *c, unsigned result, struct term made) {
    struct readings *readings = c->proof->readings;
    const struct terms *terms = c->builder->terms;
    for (uint32_t k = 0; k < n_summed(terms, made); k++) {
        uint32_t node = summed_part(terms, made, k).node;
        if (readings_is_own(readings, node))
            readings_own(readings, node, made_width(c, result));
    }
}

// Whether something has been taken from the operand since it was made, of which the reference says nothing.
static bool lacks_own_digits(const struct context *c, unsigned i) {
    const struct readings *readings = c->proof->readings;
    const struct terms *terms = c->builder->terms;
    struct term of = c->operands[i].value.of;
    for (uint32_t k = 0; k < n_summed(terms, of); k++) {
        uint32_t node = summed_part(terms, of, k).node;
        if (readings_is_own(readings, node) &&
            !width_holds(c->operands[i].width, readings_own_width(readings, node)))
            return true;
    }
    return false;
}

// Nobody knows how wide what is the final program's own must be; so what it lacks is lacking in whatever
// is made of it, until that is something that the reference makes, too, and reads.
static void lack_digits(const struct context *c, unsigned result, struct judgement *made) {
    for (unsigned i = 0; i < c->op->n_operands; i++) {
        const struct judgement *operand = &c->operands[i];
        if (!op_reads(c->op->kind, result, i) || !dtype_is_floating(operand->dtype) ||
            is_zero(c, i) || !lacks_own_digits(c, i))
            continue;
        made->sent &= operand->sent;
        if (width_holds(operand->width, made->width))
            continue;
        made->width = width_meet(made->width, operand->width);
        made->before = width_meet(made->before, operand->width);
        made->fills = width_meet(made->fills, operand->width);
        made->sent = false;
        made->narrowed = operand->narrowed;
    }
}

void precision_made(struct context *c, unsigned result, struct judgement *made) {
    struct readings *readings = c->proof->readings;
    made->width = made->before = made->fills = width_of(op_computes_in(c->unit, c->op));
    if (op_element(c->op->kind, c->op->n_operands + result) == ELEMENT_SCALAR)
        made->width = made->before = made->fills = width_of(made->dtype);
    if (is_handed_on(c, 0) && !(c->proof->ordered && op_has(c->op->kind, SCALES)))
        take_digits(made, &c->operands[0]);
    else if (!c->proof->ordered)
        meet_digits(c, made);
    if (!c->proof->ordered) {
        round_scaled(c, made);
        lack_digits(c, result, made);
    }
    made->rounded = rounded_over(c, made);
    round_to(c->proof, made, made->dtype, &c->op->span);
    if (c->proof->ordered) // this saves time: nothing is read there
        return;
    if (c->proof->is_reference)
        readings_made(readings, made->value.of.node, layers_of(c, made->value.of), made->width);
    else
        note_own(c, result, made->value.of);
}

// ---- casts ------------------------------------------------------------------------------------

// The same value in another type, but for its last digits: integers cut it off, and of what the
// host gives every digit counts.
static bool cast_keeps(const struct world *w, const struct judgement *from, enum dtype to) {
    if ((from->dtype == DTYPE_I32) != (to == DTYPE_I32))
        return false;
    return term_kind(w->terms, from->value.of) != NODE_INPUT ||
           width_holds(width_of(to), from->width);
}

struct term rounded_term(struct builder *builder, struct term of, enum dtype to) {
    int64_t type = to;
    uint32_t attributes =
        intern(&builder->terms->attributes, &type, (uint32_t)sizeof type, NULL) + 1;
    struct part part = part_of(of);
    return term_make(builder, OP_CAST, 0, attributes, &part, 1);
}

// A part of what devices select one of, of all others zeros: rounded as the whole is.
static bool is_selected(const struct proof *p, const struct judgement *value) {
    const struct terms *terms = p->world->terms;
    struct term of = value->value.of;
    while (term_kind(terms, of) == OP_CAST)
        of = term_part(terms, of, 0).of;
    int kind = term_kind(terms, of);
    return leaves_get(p->world, value->leaves)->n == 0 &&
           op_has(kind < N_OPS ? (enum op_kind)kind : N_OPS, SELECTS);
}

// Where sums do not commute, digits are taken from what is whole.
static const struct fault *rounded(struct proof *p, struct builder *builder, const char *what,
                                   struct judgement *value, enum dtype to, struct span span) {
    if (leaves_is_incomplete(p->world, value->leaves) && !is_selected(p, value))
        return fault_make(
            p, E416, span, NULL,
            "`%s` rounds to %s what is %s here: the sum of what is rounded is another "
            "one, so %s come first",
            what, dtype_names[to], leaves_text(p->world, value->leaves),
            leaves_next_text(p->world, leaves_get(p->world, value->leaves)));
    value->value = (struct scaled){
        rounded_term(builder, term_with_scale(builder, value->value), to), SCALE_ONE};
    return NULL;
}

struct judgement precision_cast(struct proof *p, struct builder *builder, const struct unit *unit,
                                const struct op *op, const struct judgement *from) {
    struct judgement value = *from;
    const struct fault *fault = NULL;
    enum dtype to = unit->values[op->results[0]].type.dtype;
    if (!cast_keeps(p->world, from, to))
        fault = fault_make(p, E415, op->span, NULL, "`cast` from %s to %s may change the value",
                           dtype_names[from->dtype], dtype_names[to]);
    else if (p->ordered && !width_holds(width_of(to), from->width))
        fault = rounded(p, builder, "cast", &value, to, op->span);
    if (fault)
        return judgement_fault(fault);
    round_to(p, &value, to, &op->span);
    value.dtype = (uint8_t)to;
    value.own = 0; // a copy
    // Elements only: what stands behind them in another place is unknown.
    if (from->form == FORM_ANY || !form_is_flat(&p->world->digits, from->form))
        value.padding = PADDING_ANY;
    return value;
}

struct judgement precision_passed(struct proof *p, struct builder *builder, const struct op *op,
                                  enum dtype to, const struct judgement *from) {
    struct judgement value = *from;
    const struct fault *fault = NULL;
    if (value.fault || !dtype_is_floating(to))
        return value;
    if (p->ordered && !width_holds(width_of(to), from->width))
        fault = rounded(p, builder, op_rows[op->kind].text, &value, to, op->span);
    if (fault)
        return judgement_fault(fault);
    round_to(p, &value, to, &op->span);
    value.dtype = (uint8_t)to;
    return value;
}

void ordered_round(struct context *c, unsigned result, struct judgement *made) {
    enum dtype to = result_type(c, result);
    struct width exact = is_handed_on(c, 0) && !op_has(c->op->kind, SCALES) // moves of elements
                             ? c->operands[0].width
                             : width_of(op_computes_in(c->unit, c->op));
    if (c->fault || !dtype_is_floating(to) || !c->labels.results[result][0] ||
        width_holds(width_of(to), exact))
        return;
    c->fault = rounded(c->proof, c->builder, c->row->text, made, to, c->op->span);
}

// ---- collectives ------------------------------------------------------------------------------

// The reference's tensor of which it is the gradient, or a summand of that; NULL: none.
static const struct tensor *gradient_of(const struct proof *p, struct term term) {
    const struct terms *terms = p->world->terms;
    if (term_kind(terms, term) != NODE_SUM)
        return readings_gradient_of(p->readings, term.node);
    const struct tensor *of = readings_gradient_of(p->readings, term_part(terms, term, 0).of.node);
    for (uint32_t i = 1; i < term_node(terms, term)->n_parts; i++)
        if (readings_gradient_of(p->readings, term_part(terms, term, i).of.node) != of)
            return NULL;
    return of;
}

// In which type the tensor of a state is gathered.
static enum dtype gather_type(const struct proof *p, struct term state) {
    const struct job *job = p->program->job;
    uint32_t tensor = job_find_tensor(job, given_name(p->world->terms, state));
    return tensor == NO_ID ? job->policy.gather : tensor_gather(job, &job->tensors[tensor]);
}

// The type in which the gradient of a tensor is sent where it is not summed on the way: as it is kept, or
// would be summed, whichever is narrower.
static enum dtype moved_type(const struct job *job, const struct tensor *tensor) {
    enum dtype kept = tensor_gradients(job, tensor), summed = tensor_reduce(job, tensor);
    return dtype_holds(summed, kept) ? kept : summed;
}

// The least type that is declared for what is sent so; DTYPE_NONE: none, as of activations, which
// are sent in their own.
static enum dtype declared_type(const struct proof *p, const struct exchange *exchange,
                                const struct judgement *value) {
    const struct job *job = p->program->job;
    const struct tensor *gradient = gradient_of(p, value->value.of);
    if (gradient)
        return collective_sums(exchange->kind) ? tensor_reduce(job, gradient)
                                               : moved_type(job, gradient);
    if (!is_state(p, value->value.of))
        return DTYPE_NONE;
    return collective_sums(exchange->kind) ? job->policy.reduce : gather_type(p, value->value.of);
}

// The digits that it must have: a gradient those that are kept of it, if fewer than it is summed in.
static struct width declared_width(const struct proof *p, const struct judgement *value,
                                   enum dtype least) {
    const struct tensor *gradient = gradient_of(p, value->value.of);
    return gradient
               ? width_meet(width_of(least), width_of(tensor_gradients(p->program->job, gradient)))
               : width_of(least);
}

static void insist_wider(struct proof *p, const struct judgement *value, enum dtype least,
                         struct span span) {
    struct fault *fault = fault_make(p, E415, value->narrowed ? *value->narrowed : span, NULL,
                                     "this %s %s, narrower than %s, which is declared",
                                     value->narrowed ? "is sent rounded to" : "collective sends",
                                     width_text(value->width), dtype_names[least]);
    if (value->narrowed)
        fault_also(fault, span, "here it is sent");
    fault_insist(p, fault);
}

// Whether the exchange does more than pass on what it sends: it sums summands, joins parts, or gives to
// others what one has. What some microbatches gave is no gradient yet, which could be joined. No summand
// is rounded twice over an axis.
static bool is_licensed(const struct proof *p, const struct exchange *exchange,
                        const struct judgement *value) {
    uint32_t axes = (uint32_t)axis_list_mask(&exchange->axes);
    uint32_t cuts = value->form == FORM_ANY ? 0 : form_get(&p->world->digits, value->form)->owners;
    if (collective_sums(exchange->kind))
        return value->partial & axes && !(value->rounded & axes);
    if (exchange->kind == COLLECTIVE_ALL_GATHER)
        return cuts & axes && !term_is_collected(p->world->terms, value->value.of);
    return exchange->kind == COLLECTIVE_BROADCAST &&
           mesh_group_size(&p->program->job->mesh, &exchange->axes) > 1;
}

void precision_sent(struct proof *p, const struct exchange *exchange, struct judgement *value,
                    struct span span) {
    enum dtype least = declared_type(p, exchange, value);
    if (p->ordered || least == DTYPE_NONE || value->dtype == DTYPE_I32)
        return;
    if (!width_holds(value->width, declared_width(p, value, least)) ||
        !dtype_holds((enum dtype)value->dtype, least))
        insist_wider(p, value, least, span);
    else if ((gradient_of(p, value->value.of) || // else it is a state
              given_class(p->world->terms, value->value.of) == CLASS_PARAMETERS) &&
             is_licensed(p, exchange, value)) {
        value->sent = true;
        if (collective_sums(exchange->kind) && !width_holds(value->width, value->before))
            value->rounded |= (uint32_t)axis_list_mask(&exchange->axes);
    }
}
