// The one transfer rule: what an op makes of the judgements of its operands, derived from the
// semantic signature in ops.def (labels, linear, whole, index) and nothing else. For every axis:
//
//   1. An axis that owns a digit of a label owns the same digit of that label in every operand that
//      has it, and mostly of one label only. What is mixed nonlinearly (`whole`) must be local. A
//      label that the result has passes its digits on; a contracted one makes the result a summand,
//      or one of the numbers of which the greatest is meant, as the op's monoid says. Where the
//      axis owns digits of two labels, a device has pairs of the same part of both: of a contracted
//      one and one of the result it makes a part of the contraction (coverage.c).
//   2. A summand may enter only where the op is linear: in a product with copies, in a sum
//      beside summands. A copy that is added to summands counts once on each of N devices, so N
//      times.
//   3. Otherwise all are copies, and their bits are as equal as the operands'.
//
// Anything else has no meaning and is a fault. The result's term is made in value.c.
#include "verify/rules/rule.h"

#include <string.h>

#include "ir/check.h"

static const char *result_name(const struct context *c, unsigned i) {
    return c->unit->values[c->op->results[i]].name;
}

// ---- labels -----------------------------------------------------------------------------------

// The only one that is cut in its way, of operands of which a label is cut in two ways;
// MAX_OPERANDS: there are two of each.
static unsigned odd_one(const struct context *c, unsigned char label, dim_id dim) {
    unsigned n[2] = {0, 0}, last[2] = {0, 0};
    for (unsigned i = 0; i < c->op->n_operands; i++) {
        const char *at = strchr(c->labels.operands[i], label);
        if (!at || c->operands[i].form == FORM_ANY)
            continue;
        const struct form_key *form = form_get(&c->proof->world->digits, c->operands[i].form)->key;
        bool same = form->dims[at - c->labels.operands[i]] == dim;
        n[same]++;
        last[same] = i;
    }
    if (n[0] > 1 && n[1] == 1)
        return last[1];
    return n[1] > 1 && n[0] == 1 ? last[0] : MAX_OPERANDS;
}

static void bind_label(struct context *c, unsigned char label, dim_id dim, unsigned operand) {
    if (c->dims[label] == NO_DIM) {
        c->dims[label] = dim;
        c->first[label] = (uint8_t)operand;
        c->bound[c->n_bound++] = label;
        return;
    }
    if (c->dims[label] == dim || c->fault)
        return;
    struct proof *p = c->proof;
    unsigned other = c->first[label];
    struct fault *fault =
        fault_make(p, E510, c->op->span, NULL,
                   "`%s` meets parts that are cut differently: `%s` is %s, `%s` is %s",
                   c->row->text, operand_name(c, other),
                   form_text(&p->world->digits, p->world->arena, c->operands[other].form),
                   operand_name(c, operand),
                   form_text(&p->world->digits, p->world->arena, c->operands[operand].form));
    fault->odd = odd_one(c, label, dim);
    fault->has_odd = fault->odd < MAX_OPERANDS;
    c->fault = fault;
}

static void bind_labels(struct context *c) {
    struct proof *p = c->proof;
    memset(c->dims, 0xff, sizeof c->dims);
    for (unsigned i = 0; i < c->op->n_operands; i++) {
        const struct judgement *operand = &c->operands[i];
        if (operand->form == FORM_ANY)
            continue;
        const struct form_key *form = form_get(&p->world->digits, operand->form)->key;
        CHECK(strlen(c->labels.operands[i]) == form->rank);
        for (unsigned k = 0; k < form->rank; k++)
            bind_label(c, (unsigned char)c->labels.operands[i][k], form->dims[k], i);
    }
}

// What is mixed nonlinearly must be local.
static void check_owners(struct context *c) {
    struct proof *p = c->proof;
    uint32_t taken = 0;
    for (unsigned i = 0; i < c->n_bound && !c->fault; i++) {
        unsigned char label = c->bound[i];
        const struct dim_info *dim = dim_get(&p->world->digits, c->dims[label]);
        for (unsigned axis = 0; axis < p->program->job->mesh.n_axes && !c->fault; axis++)
            if ((dim->owners & taken) >> axis & 1)
                pair_labels(c, axis, label);
        taken |= dim->owners;
        if (strchr(c->row->whole, (int)label) && (dim->owners || dim->time || dim->flat))
            c->fault =
                fault_make(p, E510, c->op->span, NULL,
                           "`%s` needs whole rows of `%s`, of which a device has a part only",
                           c->row->text, operand_name(c, c->first[label]));
    }
}

// A flat tensor has one dimension where an op sees it and all of its own in its term. What is said
// of whatever a capital stands for is true of both; a small letter, or `keep`, counts dimensions.
static void check_flat(struct context *c) {
    struct digits *digits = &c->proof->world->digits;
    bool counts = op_attribute(c->op, ATTRIBUTE_KEEP) != NULL;
    for (unsigned i = 0; i < c->n_bound && !c->fault; i++) {
        unsigned char label = c->bound[i];
        const struct dim_info *dim = dim_get(digits, c->dims[label]);
        if (!dim->flat || (label > 'z' && !counts) ||
            form_get(digits, dim->key->whole)->key->rank == 1)
            continue;
        c->fault =
            fault_make(c->proof, E510, c->op->span, NULL,
                       "`%s` needs the dimensions of `%s`, of which a device has a flat part",
                       c->row->text, operand_name(c, c->first[label]));
    }
}

// "2:v": operand 2 must count the positions that label v's digits select.
static void check_index_operands(struct context *c) {
    struct proof *p = c->proof;
    for (const char *at = c->row->index; *at; at += strcspn(at, " "), at += strspn(at, " ")) {
        unsigned operand = (unsigned)(at[0] - '0');
        struct scaled value = c->operands[operand].value;
        if (c->fault ||
            (term_kind(p->world->terms, value.of) == OP_IOTA && value.scale == SCALE_ONE))
            continue;
        c->fault =
            fault_make(p, E512, c->op->span, NULL,
                       "`%s` needs the positions of its rows in `%s`, which holds %s", c->row->text,
                       operand_name(c, operand), term_text(p->world, value, 2));
    }
}

static uint32_t owners_of_operand(const struct context *c, unsigned i) {
    form_id form = c->operands[i].form;
    return form == FORM_ANY ? 0 : form_get(&c->proof->world->digits, form)->owners;
}

static bool time_of_operand(const struct context *c, unsigned i) {
    form_id form = c->operands[i].form;
    return form != FORM_ANY && form_get(&c->proof->world->digits, form)->time;
}

// No unit chooses microbatches: its caller has.
static const struct fault *microbatches_fault(struct context *c, unsigned one, unsigned other) {
    struct fault *fault = fault_make(c->proof, E512, c->proof->cursor->statement->span, NULL,
                                     "`%s` and `%s` are of different microbatches",
                                     operand_name(c, one), operand_name(c, other));
    fault_also(fault, c->op->span, "here they meet");
    return fault;
}

// All operands that are cut by time must be of one microbatch.
static void check_microbatches(struct context *c) {
    int first = -1;
    for (unsigned i = 0; i < c->op->n_operands && !c->fault; i++) {
        if (!time_of_operand(c, i))
            continue;
        if (first < 0)
            first = (int)i;
        if (!number_equal(&c->builder->terms->symbols, c->operands[i].microbatch,
                          c->operands[first].microbatch))
            c->fault = microbatches_fault(c, (unsigned)first, i);
    }
}

// ---- summands ---------------------------------------------------------------------------------

static const struct fault *summand_fault(struct context *c, unsigned i, uint32_t axes) {
    struct proof *p = c->proof;
    const char *text = mask_text(p->world, axes);
    struct fault *fault =
        fault_make(p, E410, c->op->span, "here the sum is needed",
                   "`%s` is still a summand over %s where `%s` needs the whole sum: no reduction "
                   "over %s comes before",
                   operand_name(c, i), text, c->row->text, text);
    return with_reader(c, fault, i);
}

// Operand i is a sum over some microbatches only, and the op is not a sum itself.
static const struct fault *collected_fault(struct context *c, unsigned i) {
    struct proof *p = c->proof;
    bool inside = false;
    for (int k = 0; k < p->cursor->depth; k++)
        inside |= p->cursor->time_loop[k];
    struct fault *fault =
        fault_make(p, inside ? E414 : E412, c->op->span, NULL,
                   "`%s` holds %s when `%s` uses it, and not each of the %d microbatches once",
                   operand_name(c, i), microbatches_text(p->world, c->operands[i].value.of),
                   c->row->text, p->world->terms->microbatches);
    fault_keep(p, &p->unfinished, with_reader(c, fault, i));
    return fault;
}

// Whether the sum over microbatches can be taken behind the op just as well: sums and scales keep
// their normal form; any other linear op is applied to each summand (collected_term).
static bool passes_collected(const struct context *c, unsigned i) {
    if (op_is_sum(c->op->kind) || (c->op->kind == OP_SCALE && i == 0))
        return true;
    if (!op_is_linear(c->op->kind, i) || c->op->kind == OP_SCALE)
        return false;
    for (unsigned k = 0; k < c->op->n_operands; k++)
        if (k != i && (is_collected(c, k) || time_of_operand(c, k)))
            return false;
    return true;
}

static void check_collected(struct context *c, unsigned result) {
    for (unsigned i = 0; i < c->op->n_operands && !c->fault; i++)
        if (op_reads(c->op->kind, result, i) && is_collected(c, i) && !passes_collected(c, i))
            c->fault = collected_fault(c, i);
}

// Devices have numbers of which the greatest is meant. Only another maximum may be taken of them.
static void check_maxima(struct context *c, unsigned result) {
    for (unsigned i = 0; i < c->op->n_operands && !c->fault; i++) {
        uint32_t mine = c->operands[i].partial_max;
        if (!mine || !op_reads(c->op->kind, result, i) || c->row->combine == MONOID_MAX)
            continue;
        const char *text = mask_text(c->proof->world, mine);
        c->fault = fault_make(c->proof, E410, c->op->span, "here the greatest of all is needed",
                              "`%s` is the greatest of one device's own part over %s where `%s` "
                              "needs the greatest of all: no all_reduce of maxima over %s comes "
                              "before",
                              operand_name(c, i), text, c->row->text, text);
    }
}

static uint32_t maxima_of_operands(const struct context *c) {
    uint32_t all = 0;
    for (unsigned i = 0; i < c->op->n_operands; i++)
        all |= c->operands[i].partial_max;
    return all;
}

// Rule 2 for one result: the axes on which it is a summand because operands are.
static uint32_t partial_of_operands(struct context *c, unsigned result) {
    uint32_t all = 0;
    for (unsigned i = 0; i < c->op->n_operands && !c->fault; i++) {
        uint32_t mine = c->operands[i].partial;
        if (!mine || !op_reads(c->op->kind, result, i))
            continue;
        all |= mine;
        if (!op_is_linear(c->op->kind, i))
            c->fault = summand_fault(c, i, mine);
        for (unsigned k = 0; k < c->op->n_operands && !c->fault; k++) {
            if (!op_reads(c->op->kind, result, k))
                continue;
            if (mine & owners_of_operand(c, k))
                c->fault = summand_fault(c, i, mine & owners_of_operand(c, k));
            else if (k != i && !op_is_sum(c->op->kind) && mine & c->operands[k].partial)
                c->fault = summand_fault(c, i, mine & c->operands[k].partial);
        }
    }
    return all;
}

// What stands behind the elements of a part takes part, too.
static const struct fault *padding_fault(struct context *c, unsigned i) {
    bool harmless = op_is_silent(c->op->kind, i);
    if (harmless && padding_is_zeros(c->proof->paddings, c->operands[i].padding))
        return NULL;
    return fault_make(c->proof, E412, c->op->span, NULL,
                      harmless ? "`%s` sums `%s` with its padding, which is not known to be zeros"
                               : "`%s` takes the padding of `%s` for elements",
                      c->row->text, operand_name(c, i));
}

// Only sums are put together of every microbatch's own result.
static const struct fault *microbatch_fault(struct context *c, unsigned i) {
    if (c->row->combine == MONOID_SUM)
        return NULL;
    return fault_make(c->proof, E412, c->op->span, NULL,
                      "`%s` is given one microbatch of `%s`, and is no sum that could be collected "
                      "from all",
                      c->row->text, operand_name(c, i));
}

// The axes, and time, of the labels that are contracted.
static uint32_t contracted_owners(struct context *c, unsigned result, bool *time, int32_t *m) {
    struct proof *p = c->proof;
    uint32_t owners = 0;
    for (unsigned i = 0; i < c->op->n_operands; i++) {
        if (!op_reads(c->op->kind, result, i) || c->operands[i].form == FORM_ANY)
            continue;
        for (const char *label = c->labels.operands[i]; *label; label++) {
            if (strchr(c->labels.results[result], *label))
                continue;
            const struct dim_info *dim = dim_get(&p->world->digits, c->dims[(unsigned char)*label]);
            owners |= dim->owners;
            if (dim->time) {
                *time = true;
                *m = c->operands[i].microbatch;
            }
            if (dim->time && !c->fault)
                c->fault = microbatch_fault(c, i);
            if (dim->padded && !c->fault)
                c->fault = padding_fault(c, i);
        }
    }
    return owners;
}

// ---- results ----------------------------------------------------------------------------------

// A product with zeros is zeros; so is a sum of zeros.
static bool result_is_zero(const struct context *c, unsigned result) {
    bool all = true;
    for (unsigned i = 0; i < c->op->n_operands; i++) {
        if (!op_reads(c->op->kind, result, i))
            continue;
        if (is_zero(c, i) && op_is_linear(c->op->kind, i) && !op_is_sum(c->op->kind))
            return true;
        all = all && is_zero(c, i);
    }
    return all && op_is_sum(c->op->kind);
}

static form_id result_form(struct context *c, unsigned result) {
    dim_id dims[MAX_RANK];
    uint32_t n = 0;
    for (const char *label = c->labels.results[result]; *label; label++) {
        dims[n] = c->dims[(unsigned char)*label];
        bool flat = dims[n] != NO_DIM && dim_get(&c->proof->world->digits, dims[n])->flat;
        if (dims[n] == NO_DIM || (flat && strlen(c->labels.results[result]) > 1)) {
            c->fault = fault_make(c->proof, E490, c->op->span, NULL,
                                  "`%s` is made of zeros or flat shards only, of which nothing is "
                                  "known here",
                                  result_name(c, result));
            return FORM_ANY;
        }
        n++;
    }
    return form_make(&c->proof->world->digits, dims, n);
}

// Padding of flat shards stays zero in ops that make zeros of zeros.
static padding_id padding_of_operands(const struct context *c) {
    padding_id all = op_has(c->op->kind, KEEPS_ZEROS) ? PADDING_ZEROS : PADDING_ANY;
    for (unsigned i = 0; i < c->op->n_operands; i++)
        if (c->labels.operands[i][0])
            all = padding_both(all, c->operands[i].padding);
    return all;
}

static padding_id result_padding(const struct context *c, form_id form) {
    const struct digits *digits = &c->proof->world->digits;
    if (!form_is_flat(digits, form))
        return PADDING_ANY;
    return form_get(digits, form)->padded ? padding_of_operands(c) : PADDING_ZEROS;
}

// Operands that are cut by time are of one microbatch (check_microbatches).
static int32_t result_microbatch(const struct context *c, unsigned result, form_id form) {
    int32_t microbatch = 0;
    for (unsigned i = 0; i < c->op->n_operands && form_get(&c->proof->world->digits, form)->time;
         i++)
        if (op_reads(c->op->kind, result, i) && time_of_operand(c, i))
            microbatch = c->operands[i].microbatch;
    return microbatch;
}

// Rule 3, and where there are no copies: on axes that cut it, or on which it is a summand. Parts of
// a contraction were put together in another order on every device, so their copies may differ.
static uint32_t result_bits(const struct context *c, unsigned result,
                            const struct judgement *made) {
    struct proof *p = c->proof;
    uint32_t bits = p->world->all_axes;
    bool parts = has_parts(c, result) || made->coverage != COVERAGE_COMPLETE;
    for (unsigned i = 0; i < c->op->n_operands; i++) {
        if (op_reads(c->op->kind, result, i))
            bits &= c->operands[i].bits;
        if (parts)
            bits &= ~coverage_axes(p->world, c->operands[i].coverage);
    }
    bits &= ~coverage_axes(p->world, made->coverage);
    return bits | made->partial | made->partial_max |
           form_get(&p->world->digits, made->form)->owners;
}

// A scalar that the host gives is a number of which every digit counts, such as the key that is
// drawn from. Three times it, divided by three, has others.
static const struct fault *rounded_fault(const struct context *c, unsigned result,
                                         const struct judgement *made) {
    bool scalar = c->unit->values[c->op->results[result]].type.rank == 0;
    if (!scalar || term_kind(c->builder->terms, made->value.of) != NODE_INPUT)
        return NULL;
    return fault_make(c->proof, E415, c->op->span, NULL,
                      "`%s` computes anew what the host gives, and may round it", c->row->text);
}

static struct judgement result_of(struct context *c, unsigned result) {
    struct proof *p = c->proof;
    struct judgement made = {.dtype = c->unit->values[c->op->results[result]].type.dtype};
    if (result_is_zero(c, result)) {
        made.bits = p->world->all_axes;
        made.value = (struct scaled){term_constant(c->builder, NODE_ZERO), SCALE_ONE};
        made.form = FORM_ANY; // and so not known to fill the padding of its place
        made.width = made.fills = made.before = WIDTH_ALL;
        return made;
    }
    bool time = false;
    int32_t m = 0;
    made.partial = partial_of_operands(c, result);
    check_maxima(c, result);
    uint32_t contracted = contracted_owners(c, result, &time, &m);
    check_complete(c, result);
    made.coverage = c->fault ? COVERAGE_COMPLETE : coverage_of_result(c, result, contracted);
    contracted &= ~coverage_axes(c->proof->world, made.coverage);
    if (c->row->combine == MONOID_MAX)
        made.partial_max = contracted | maxima_of_operands(c);
    else
        made.partial |= contracted;
    check_collected(c, result);
    made.form = c->fault ? FORM_ANY : result_form(c, result);
    if (c->fault)
        return judgement_fault(c->fault);
    if (has_parts(c, result))
        join_parts(c, result, &made);
    else
        made.value = value_of_result(c, result);
    c->fault = c->fault ? c->fault : rounded_fault(c, result, &made);
    if (c->fault)
        return judgement_fault(c->fault);
    precision_read(c, result, made.value);
    if (time && !p->ordered)
        made.value = sum_microbatch(c->builder, made.value, m);
    made.microbatch = result_microbatch(c, result, made.form);
    precision_made(c, result, &made);
    if (p->ordered) {
        ordered_leaves(c, result, &made);
        ordered_round(c, result, &made);
    }
    if (c->fault)
        return judgement_fault(c->fault);
    made.bits = result_bits(c, result, &made);
    made.padding = result_padding(c, made.form);
    return made;
}

static bool insists_on(const struct proof *p, enum diagnostic_code code) {
    for (uint32_t i = 0; i < p->insisted.n; i++)
        if (p->insisted.items[i]->code == code)
            return true;
    return false;
}

// SC-3. Devices may update different shards, of which there are no copies that could differ; they are
// of one model all the same. All updates read the same numbers, so one is told of.
static void check_scalars(const struct context *c) {
    struct proof *p = c->proof;
    if (!op_has(c->op->kind, AGREES) || insists_on(p, E513))
        return;
    for (unsigned i = 0; i < c->op->n_operands; i++) {
        uint32_t lacking = p->world->all_axes & ~c->operands[i].bits;
        if (op_element(c->op->kind, i) == ELEMENT_SCALAR && lacking)
            fault_insist(
                p, fault_make(p, E513, c->op->span, NULL,
                              "`%s` is given copies of `%s` that over %s may differ in their "
                              "last bits",
                              c->row->text, operand_name(c, i), mask_text(p->world, lacking)));
    }
}

static struct judgement iota_of(struct proof *p, struct builder *builder, const struct unit *unit,
                                const struct op *op) {
    const struct tensor_type *type = &unit->values[op->results[0]].type;
    struct axis_list axes = op_axes(op);
    int64_t total = size_times(type->dims[0].size, mesh_group_size(&p->program->job->mesh, &axes));
    dim_id dim = dim_cut(&p->world->digits, &axes, op_zigzag(op), 1, type->dims[0].size);
    const struct fault *fault = ordered_check_positions(p, dim, op->span);
    if (fault)
        return judgement_fault(fault);
    struct scaled value = iota_term(builder, op_integer(op, ATTRIBUTE_DIMENSION, 0), total);
    return judgement_of(p->world, value, form_make(&p->world->digits, &dim, 1), type->dtype);
}

// The dimension that the label is of, as another operand's type says; -1: none has it.
static int dimension_of_label(const struct context *c, unsigned besides, char label) {
    for (unsigned i = 0; i < c->op->n_operands; i++) {
        const char *at = strchr(c->labels.operands[i], label);
        const struct value *value = &c->unit->values[c->op->operands[i]];
        if (i != besides && at)
            return (int)value->type.dims[at - c->labels.operands[i]].dimension;
    }
    return -1;
}

// Dimensions of as many elements are counted alike, so what counts another one is called by the
// name of the one that it is used for.
static void name_positions(struct context *c, struct judgement *operands) {
    struct terms *terms = c->builder->terms;
    for (const char *at = c->row->index; *at; at += strcspn(at, " "), at += strspn(at, " ")) {
        unsigned i = (unsigned)(at[0] - '0');
        struct scaled *value = &operands[i].value;
        int dimension = dimension_of_label(c, i, at[2]);
        if (dimension >= 0 && term_kind(terms, value->of) == OP_IOTA && value->scale == SCALE_ONE)
            *value = iota_term(c->builder, dimension, iota_count(terms, value->of));
    }
}

void rule_apply(struct proof *p, struct builder *builder, const struct unit *unit,
                const struct op *op, const struct judgement *operands, struct judgement *results) {
    const struct fault *first = NULL;
    for (unsigned i = 0; i < op->n_operands; i++)
        if (!operands[i].fault &&
            is_given_by_host(p->world->terms, operands[i].value.of, HOST_MICROBATCH))
            builder->fixed = true; // what is made of the number moves with no layer (memo.c)
    for (unsigned i = 0; i < op->n_operands; i++)
        first = fault_first(first, operands[i].fault);
    for (unsigned i = 0; first && i < op->n_results; i++)
        results[i] = judgement_fault(first);
    if (first)
        return;
    first = codes_check_operands(p, op, operands);
    for (unsigned i = 0; first && i < op->n_results; i++)
        results[i] = judgement_fault(first);
    if (first)
        return;
    if (op->kind == OP_IOTA) {
        results[0] = iota_of(p, builder, unit, op);
        return;
    }
    if (op->kind == OP_CAST) {
        results[0] = precision_cast(p, builder, unit, op, &operands[0]);
        return;
    }
    if (codes_apply(p, builder, unit, op, operands, results))
        return;
    struct context c = {.proof = p,
                        .builder = builder,
                        .unit = unit,
                        .op = op,
                        .row = &op_rows[op->kind],
                        .operands = operands};
    CHECK(op_labels_of(unit, op, &c.labels));
    struct judgement named[MAX_OPERANDS];
    memcpy(named, operands, op->n_operands * sizeof *named);
    name_positions(&c, named);
    c.operands = named;
    bind_labels(&c);
    check_owners(&c);
    check_flat(&c);
    check_index_operands(&c);
    check_microbatches(&c);
    check_scalars(&c);
    for (unsigned i = 0; i < op->n_results; i++) {
        const struct fault *common = c.fault;
        results[i] = c.fault ? judgement_fault(c.fault) : result_of(&c, i);
        c.fault = common;
    }
}
