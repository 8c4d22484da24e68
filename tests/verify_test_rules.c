// The transfer rule against execution (one axis of three devices, and two axes of two and three):
// for every op, the operands are spread over the devices in all ways (copies, parts of each
// dimension, summands), every device executes the op naively on what it has, and what comes out is
// compared with what the rule claims of it. Where the rule says that the result has no meaning, no
// way of spreading it, with any factor, may describe what came out, on three draws of random data.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ir/interpreter/interpreter.h"
#include "tests/random.h"
#include "verify/engine.h"

enum { SIZE = 6, MAX_DEVICES = 6, DRAWS = 3, MAX_COMBINATIONS = 4000 };
enum spread { COPY = -2, SUMMAND = -1 }; // else the dimension that is cut

struct spreading { // of one tensor: for each axis
    int of[2];
    bool swapped; // where both cut one dimension, the second axis is the outer one
};

struct bench {
    struct arena arena;
    struct engine engine;
    struct program program;
    struct diagnostics *diagnostics;
    struct source_files sources;
    struct unit unit; // of one op, on one device
    struct op op;
    char labels[MAX_OPERANDS + MAX_RESULTS][MAX_RANK + 1];
    struct spreading spread[MAX_OPERANDS];
    struct array whole[DRAWS][MAX_OPERANDS + MAX_RESULTS];
    struct array part[DRAWS][MAX_DEVICES][MAX_OPERANDS + MAX_RESULTS];
    struct judgement judged[MAX_RESULTS];
    uint64_t random;
    int n_axes, n_devices;
    unsigned n_claimed, n_refused, n_shapes;
};

// ---- meshes and parts -------------------------------------------------------------------------

static int axis_size(const struct bench *b, int axis) {
    return (int)b->program.mesh.axes[axis].size;
}

static int coordinate(const struct bench *b, int device, int axis) {
    for (int i = b->n_axes - 1; i > axis; i--)
        device /= axis_size(b, i);
    return device % axis_size(b, axis);
}

// Which part of dimension `dim` a device has, of how many.
static int share_of(const struct bench *b, const struct spreading *s, int dim, int device,
                    int *parts) {
    int part = 0;
    *parts = 1;
    for (int i = 0; i < b->n_axes; i++) {
        int a = s->swapped ? b->n_axes - 1 - i : i;
        if (s->of[a] == dim) {
            part = part * axis_size(b, a) + coordinate(b, device, a);
            *parts *= axis_size(b, a);
        }
    }
    return part;
}

static struct tensor_type part_type(const struct bench *b, const struct tensor_type *whole,
                                    const struct spreading *s) {
    struct tensor_type type = *whole;
    for (unsigned d = 0; d < type.rank; d++) {
        int parts;
        share_of(b, s, (int)d, 0, &parts);
        type.dims[d].size /= parts;
    }
    return type;
}

// Copies the device's part of `whole` into `part`.
static void take_part(const struct bench *b, const struct array *whole, const struct spreading *s,
                      int device, struct array *part) {
    int64_t index[MAX_RANK] = {0}, n = type_elements(&part->type);
    for (int64_t e = 0; e < n; e++) {
        int64_t at = 0;
        for (unsigned d = 0; d < whole->type.rank; d++) {
            int parts;
            int begin = share_of(b, s, (int)d, device, &parts) * (int)part->type.dims[d].size;
            at = at * whole->type.dims[d].size + begin + index[d];
        }
        part->data[e] = whole->data[at];
        for (unsigned d = whole->type.rank; d-- > 0 && ++index[d] == part->type.dims[d].size;)
            index[d] = 0;
    }
}

// Devices that agree with `device` on all axes where the value is no summand.
static bool adds_up(const struct bench *b, const struct spreading *s, int device, int other) {
    for (int a = 0; a < b->n_axes; a++)
        if (s->of[a] != SUMMAND && coordinate(b, device, a) != coordinate(b, other, a))
            return false;
    return true;
}

// The number of a device among those that add up with it.
static int summand_of(const struct bench *b, const struct spreading *s, int device) {
    int n = 0;
    for (int other = 0; other < device; other++)
        n += adds_up(b, s, device, other);
    return n;
}

static int summands(const struct bench *b, const struct spreading *s) {
    int n = 0;
    for (int other = 0; other < b->n_devices; other++)
        n += adds_up(b, s, 0, other);
    return n;
}

static double random_between(struct bench *b, double low, double high) {
    return low + (high - low) * (random_real(&b->random) + 1) / 2;
}

// Gives every device its share of the whole.
static void spread_array(struct bench *b, unsigned draw, unsigned operand) {
    const struct spreading *s = &b->spread[operand];
    const struct array *whole = &b->whole[draw][operand];
    int n = summands(b, s);
    struct array share[MAX_DEVICES];
    for (int i = 0; i < n; i++)
        share[i] = array_new(&b->arena, whole->type);
    for (int64_t e = 0; e < type_elements(&whole->type); e++) {
        double rest = whole->data[e];
        for (int i = 0; i + 1 < n; i++)
            rest -= share[i].data[e] = random_between(b, 0.1, 0.4);
        share[n - 1].data[e] = rest;
    }
    for (int d = 0; d < b->n_devices; d++) {
        struct array *part = &b->part[draw][d][operand];
        *part = array_new(&b->arena, part_type(b, &whole->type, s));
        take_part(b, &share[summand_of(b, s, d)], s, d, part);
    }
}

// ---- ops --------------------------------------------------------------------------------------

static const char *const einsums[] = {"bk,kn->bn", "bk,bn->kn", "a,a->", "ab,ab->ab", "bk,k->b"};

static bool is_integer(const struct op *op, unsigned operand) {
    const char *index = op_rows[op->kind].index;
    bool counts = index[0] && (index[0] - '0' == (int)operand ||
                               (strlen(index) > 4 && index[4] - '0' == (int)operand));
    bool ids = (op->kind == OP_EMBEDDING || op->kind == OP_EMBEDDING_BACKWARD) && operand == 0;
    bool targets =
        ((op->kind == OP_CROSS_ENTROPY || op->kind == OP_CROSS_ENTROPY_BACKWARD) && operand == 1) ||
        op->kind == OP_COUNT_TOKENS;
    return counts || ids || targets;
}

static bool is_index(const struct op *op, unsigned operand) {
    return is_integer(op, operand) &&
           !((op->kind == OP_EMBEDDING || op->kind == OP_EMBEDDING_BACKWARD) && operand == 0) &&
           op->kind != OP_COUNT_TOKENS &&
           !((op->kind == OP_CROSS_ENTROPY || op->kind == OP_CROSS_ENTROPY_BACKWARD) &&
             operand == 1);
}

static void set_attributes(struct bench *b, const char *labels) {
    static const struct {
        enum attribute_name name;
        double real;
        int64_t integer;
        const char *word;
    } all[] = {
        {ATTRIBUTE_EPS, 0.1, 0, NULL},          {ATTRIBUTE_SCALE, 0.3, 0, NULL},
        {ATTRIBUTE_THETA, 10, 0, NULL},         {ATTRIBUTE_APPROXIMATE, 0, 0, "tanh"},
        {ATTRIBUTE_BETA1, 0.9, 0, NULL},        {ATTRIBUTE_BETA2, 0.8, 0, NULL},
        {ATTRIBUTE_WEIGHT_DECAY, 0.1, 0, NULL}, {ATTRIBUTE_MOMENTUM, 0.9, 0, NULL},
        {ATTRIBUTE_RATE, 0, 0, "cosine"},       {ATTRIBUTE_BASE, 0.1, 0, NULL},
        {ATTRIBUTE_MINIMUM, 0.01, 0, NULL},     {ATTRIBUTE_WARMUP, 0, 2, NULL},
        {ATTRIBUTE_STEPS, 0, 30, NULL},         {ATTRIBUTE_MAX_NORM, 0.1, 0, NULL},
        {ATTRIBUTE_KEEP, 0, 1, NULL},
    };
    char words[256];
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        snprintf(words, sizeof words, " %s ", op_rows[b->op.kind].attributes);
        for (char *c = words; *c; c++)
            *c = *c == '?' ? ' ' : *c;
        char word[64];
        snprintf(word, sizeof word, " %s ", attribute_names[all[i].name]);
        if (strstr(words, word))
            op_set(&b->program, &b->op,
                   (struct attribute){.name = all[i].name,
                                      .real = all[i].real,
                                      .integer = all[i].integer,
                                      .word = all[i].word});
    }
    if (b->op.kind == OP_EINSUM)
        op_set_word(&b->program, &b->op, ATTRIBUTE_LABELS, labels);
}

// Splits a signature into label lists; capitals stand for one dimension each.
static void set_labels(struct bench *b, const char *signature) {
    unsigned list = 0, n = 0;
    for (const char *c = signature; *c; c++) {
        if (*c == ',' || *c == '>') {
            list++;
            n = 0;
        } else if (*c != '-') {
            b->labels[list][n++] = (char)tolower((unsigned char)*c);
        }
        b->labels[list][n] = 0;
    }
}

static struct tensor_type whole_type(const struct bench *b, unsigned list, bool integer) {
    struct tensor_type type = {.dtype = integer ? DTYPE_I32 : DTYPE_F64};
    for (const char *label = b->labels[list]; *label; label++)
        type.dims[type.rank++] = (struct dim){DIM_HIDDEN, SIZE};
    return type;
}

static void begin_op(struct bench *b, enum op_kind kind, const char *signature) {
    b->op = (struct op){.kind = kind,
                        .n_operands = (uint8_t)op_operand_count(kind),
                        .n_results = (uint8_t)op_result_count(kind),
                        .span = span_nowhere()};
    memset(b->labels, 0, sizeof b->labels);
    set_labels(b, signature);
    set_attributes(b, signature);
    unsigned n = b->op.n_operands + b->op.n_results;
    b->unit = (struct unit){.name = "u", .n_values = n, .n_parameters = b->op.n_operands};
    b->unit.values = ARENA_ARRAY(&b->arena, struct value, n);
    for (unsigned i = 0; i < n; i++) {
        b->unit.values[i].name = arena_format(&b->arena, "v%u", i);
        if (i < b->op.n_operands)
            b->op.operands[i] = i;
        else
            b->op.results[i - b->op.n_operands] = i;
    }
}

static double random_number(struct bench *b, unsigned operand, int64_t element, unsigned draw) {
    const struct op *op = &b->op;
    if (is_index(op, operand))
        return (double)element;
    if (is_integer(op, operand))
        return floor(random_between(
            b, op->kind == OP_EMBEDDING || op->kind == OP_EMBEDDING_BACKWARD ? 0 : -2, SIZE));
    bool step = (op->kind == OP_LEARNING_RATE && operand == 0) ||
                (op->kind == OP_ADAMW && operand == 6) ||
                (op->kind == OP_SGD_MOMENTUM && operand == 5);
    return step ? 1 + draw : random_between(b, 0.2, 1.2); // momentum is different at step 1
}

// The whole operands, and what one device with all of them computes.
static void draw_wholes(struct bench *b) {
    for (unsigned draw = 0; draw < DRAWS; draw++) {
        unsigned n = b->op.n_operands;
        for (unsigned i = 0; i < n; i++) {
            struct array *whole = &b->whole[draw][i];
            *whole = array_new(&b->arena, whole_type(b, i, is_integer(&b->op, i)));
            for (int64_t e = 0; e < type_elements(&whole->type); e++)
                whole->data[e] = random_number(b, i, e, draw);
        }
        for (unsigned i = 0; i < b->op.n_results; i++)
            b->whole[draw][n + i] = array_new(&b->arena, whole_type(b, n + i, false));
        interpret_op(&b->op, b->whole[draw], b->whole[draw] + n);
    }
}

// ---- what the rule says -----------------------------------------------------------------------

static struct judgement judge_operand(struct bench *b, unsigned operand) {
    struct engine *e = &b->engine;
    const struct spreading *s = &b->spread[operand];
    struct tensor_type whole = b->whole[0][operand].type;
    dim_id dims[MAX_RANK];
    for (unsigned d = 0; d < whole.rank; d++) {
        struct digit list[3];
        uint32_t n = 0;
        int64_t left = whole.dims[d].size;
        for (int a = 0; a < b->n_axes; a++)
            if (s->of[a] == (int)d) {
                list[n++] = (struct digit){axis_size(b, a), OWNER_AXIS + a};
                left /= axis_size(b, a);
            }
        list[n++] = (struct digit){left, OWNER_LOCAL};
        dims[d] = dim_make(&e->digits, list, n);
    }
    int kind = is_index(&b->op, operand) ? OP_IOTA : NODE_INPUT;
    uint32_t name = intern(&e->terms->attributes, &(uint64_t[2]){operand, 7}, 16, NULL);
    struct scaled value = {term_leaf(e->terms, kind, name + 1, false, 0), SCALE_ONE};
    struct judgement judged =
        judgement_of(e, value, form_make(&e->digits, dims, whole.rank), whole.dtype);
    for (int a = 0; a < b->n_axes; a++)
        if (s->of[a] == SUMMAND)
            judged.partial |= 1u << a;
    return judged;
}

static void judge(struct bench *b, struct judgement *results) {
    struct judgement operands[MAX_OPERANDS];
    for (unsigned i = 0; i < b->op.n_operands; i++)
        operands[i] = judge_operand(b, i);
    rule_apply(&b->engine, &b->unit, &b->op, operands, results);
}

// The types of one device's operands and results. False: they do not fit the op.
static bool set_types(struct bench *b) {
    for (unsigned i = 0; i < b->op.n_operands; i++)
        b->unit.values[i].type = part_type(b, &b->whole[0][i].type, &b->spread[i]);
    const char *why;
    return op_infer_types(&b->program, &b->unit, &b->op, &why);
}

static void execute(struct bench *b) {
    unsigned n = b->op.n_operands;
    for (unsigned draw = 0; draw < DRAWS; draw++) {
        for (unsigned i = 0; i < n; i++)
            spread_array(b, draw, i);
        for (int d = 0; d < b->n_devices; d++) {
            for (unsigned i = 0; i < b->op.n_results; i++)
                b->part[draw][d][n + i] = array_new(&b->arena, b->unit.values[n + i].type);
            interpret_op(&b->op, b->part[draw][d], b->part[draw][d] + n);
        }
    }
}

// ---- comparing --------------------------------------------------------------------------------

// The sum over the devices that add up with `device`, of result array `at`.
static struct array add_up(struct bench *b, unsigned draw, unsigned at, const struct spreading *s,
                           int device) {
    struct array sum = array_new(&b->arena, b->part[draw][device][at].type);
    for (int other = 0; other < b->n_devices; other++)
        for (int64_t e = 0; adds_up(b, s, device, other) && e < type_elements(&sum.type); e++)
            sum.data[e] += b->part[draw][other][at].data[e];
    return sum;
}

// The part of the whole that the digits of a form select on a device: dimension by dimension, the
// local index is taken apart into the local digits and put together with the coordinates.
static void take_form(const struct bench *b, const struct array *whole, form_id id, int device,
                      struct array *part) {
    const struct form_key *form = form_get(&b->engine.digits, id)->key;
    for (int64_t e = 0; e < type_elements(&part->type); e++) {
        int64_t rest = e, at = 0, stride = 1;
        for (unsigned d = form->rank; d-- > 0;) {
            const struct dim_key *dim = dim_get(&b->engine.digits, form->dims[d])->key;
            int64_t local = rest % part->type.dims[d].size;
            rest /= part->type.dims[d].size;
            for (uint32_t i = dim->n_digits; i-- > 0;) {
                const struct digit *digit = &dim->digits[i];
                bool owned = digit->owner != OWNER_LOCAL;
                int64_t value = owned ? coordinate(b, device, (int)digit->owner - OWNER_AXIS)
                                      : local % digit->size;
                local /= owned ? 1 : digit->size;
                at += value * stride;
                stride *= digit->size;
            }
        }
        part->data[e] = whole->data[at];
    }
}

static bool same_numbers(const struct array *found, const struct array *expected, double *factor) {
    for (int64_t e = 0; e < type_elements(&found->type); e++) {
        if (isnan(*factor) && fabs(expected->data[e]) > 1e-3)
            *factor = found->data[e] / expected->data[e];
        double wanted = isnan(*factor) ? 0 : *factor * expected->data[e];
        if (!(fabs(found->data[e] - wanted) <= 1e-9 * (1 + fabs(wanted))))
            return false;
    }
    return true;
}

// Whether what the devices have is `factor` times the one-device results, spread as s says, with
// one factor for all draws.
static bool describes(struct bench *b, unsigned at, const struct spreading *s) {
    double factor = NAN;
    for (unsigned draw = 0; draw < DRAWS; draw++)
        for (int d = 0; d < b->n_devices; d++) {
            const struct array *whole = &b->whole[draw][at];
            struct array expected = array_new(&b->arena, part_type(b, &whole->type, s));
            struct array found = add_up(b, draw, at, s, d);
            if (!type_equal(&expected.type, &found.type))
                return false;
            take_part(b, whole, s, d, &expected);
            if (!same_numbers(&found, &expected, &factor))
                return false;
        }
    return isnan(factor) || fabs(factor) > 1e-9;
}

// Of a claim only: on which axes devices add up.
static struct spreading summands_of(const struct bench *b, const struct judgement *judged) {
    struct spreading s = {0};
    for (int a = 0; a < b->n_axes; a++)
        s.of[a] = judged->partial >> a & 1 ? SUMMAND : COPY;
    return s;
}

static double scale_value(const struct terms *terms, scale_id scale, scale_id than) {
    const struct scale *a = scale_get(terms, scale), *c = scale_get(terms, than);
    assert_int_equal(a->n_factors, c->n_factors);
    return (double)a->numerator / (double)a->denominator * (double)c->denominator /
           (double)c->numerator;
}

// The whole that the claimed term stands for: the one-device result's, or for sums of operands with
// coefficients, which only the rule for sums makes, that sum.
static struct array claimed_whole(struct bench *b, unsigned draw, const struct judgement *claim,
                                  const struct judgement *plain, const struct array *one_device) {
    const struct terms *terms = b->engine.terms;
    struct array whole = array_new(&b->arena, one_device->type);
    int64_t n = type_elements(&whole.type);
    if (term_equal(claim->value.of, plain->value.of)) {
        double factor = scale_value(terms, claim->value.scale, plain->value.scale);
        for (int64_t e = 0; e < n; e++)
            whole.data[e] = factor * one_device->data[e];
        return whole;
    }
    assert_int_equal(term_kind(terms, claim->value.of), NODE_SUM);
    for (unsigned i = 0; i < b->op.n_operands; i++) {
        struct scaled leaf = judge_operand(b, i).value;
        const struct node *sum = &terms->nodes[claim->value.of.node];
        for (uint32_t k = 0; k < sum->n_parts; k++) {
            const struct part *part = &sum->key->parts[k];
            uint32_t node = part->node;
            if (terms->nodes[node].key->kind == NODE_BROADCAST)
                node = terms->nodes[node].key->parts[0].node;
            if (node != leaf.of.node)
                continue;
            double factor = scale_value(terms, part->scale, SCALE_ONE) *
                            scale_value(terms, claim->value.scale, SCALE_ONE);
            const struct array *operand = &b->whole[draw][i];
            for (int64_t e = 0; e < n; e++)
                whole.data[e] += factor * operand->data[e % type_elements(&operand->type)];
        }
    }
    return whole;
}

static const char *combination_text(struct bench *b) {
    char *text = arena_format(&b->arena, "%s:", op_rows[b->op.kind].text);
    for (unsigned i = 0; i < b->op.n_operands; i++) {
        text = arena_format(&b->arena, "%s %s", text, b->labels[i][0] ? b->labels[i] : "scalar");
        for (int a = 0; a < b->n_axes; a++) {
            int of = b->spread[i].of[a];
            text =
                arena_format(&b->arena, "%s %s", text,
                             of == COPY      ? "R"
                             : of == SUMMAND ? "P"
                                             : arena_format(&b->arena, "S(%c)", b->labels[i][of]));
        }
    }
    return text;
}

// An axis selects along one dimension only, or devices would hold blocks of a diagonal.
static bool owns_once(const struct bench *b, form_id id) {
    const struct form_key *form = form_get(&b->engine.digits, id)->key;
    uint32_t owners = 0;
    for (unsigned d = 0; d < form->rank; d++) {
        const struct dim_info *dim = dim_get(&b->engine.digits, form->dims[d]);
        if (dim->owners & owners)
            return false;
        owners |= dim->owners;
    }
    return true;
}

static void check_claim(struct bench *b, unsigned result, const struct judgement *plain) {
    unsigned at = b->op.n_operands + result;
    const struct judgement *claim = &b->judged[result];
    struct spreading s = summands_of(b, claim);
    b->n_claimed++;
    if (!owns_once(b, claim->form))
        fail_msg("%s: an axis cuts two dimensions", combination_text(b));
    for (unsigned draw = 0; draw < DRAWS; draw++) {
        struct array whole = claimed_whole(b, draw, claim, plain, &b->whole[draw][at]);
        for (int d = 0; d < b->n_devices; d++) {
            struct array found = add_up(b, draw, at, &s, d);
            struct array expected = array_new(&b->arena, found.type);
            double one = 1;
            bool fits = form_fits(&b->engine.digits, claim->form, &found.type);
            if (fits)
                take_form(b, &whole, claim->form, d, &expected);
            if (!fits || !same_numbers(&found, &expected, &one))
                fail_msg("%s: result %u is not what the rule claims", combination_text(b), result);
        }
    }
}

// Any way of spreading the one-device result, with any factor.
static bool has_meaning(struct bench *b, unsigned result) {
    unsigned at = b->op.n_operands + result;
    int rank = (int)strlen(b->labels[at]);
    int seconds = b->n_axes > 1 ? rank : COPY + 1; // on one axis there is no second
    for (int first = COPY; first < rank; first++)
        for (int second = COPY; second < seconds; second++)
            for (int swapped = 0; swapped < b->n_axes; swapped++)
                if (describes(b, at, &(struct spreading){{first, second}, swapped}))
                    return true;
    return false;
}

// Rows that say less than is true, and so refuse what has a meaning: `linear` leaves out operands
// in which the op is linear beside, or jointly with, another; `whole` holds labels that need be
// whole only because no strategy cuts them yet (with lse given, backward works on parts of the keys
// and of the vocabulary). A row that is made more precise leaves this list.
static bool is_excused(const struct bench *b) {
    static const struct {
        enum op_kind kind;
        const char *summands; // operands
        const char *cut;      // labels
    } rows[] = {
        {OP_LAYER_NORM, "12", ""},
        {OP_RMS_NORM, "1", ""},
        {OP_LAYER_NORM_BACKWARD, "1", ""},
        {OP_RMS_NORM_BACKWARD, "1", ""},
        {OP_SGD, "01", ""},
        {OP_SGD_MOMENTUM, "012", ""},
        {OP_ATTENTION_BACKWARD, "", "t"},
        {OP_CROSS_ENTROPY_BACKWARD, "", "v"},
    };
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++)
        for (unsigned i = 0; i < b->op.n_operands && rows[r].kind == b->op.kind; i++)
            for (int a = 0; a < b->n_axes; a++) {
                int of = b->spread[i].of[a];
                if (of == SUMMAND && strchr(rows[r].summands, (char)('0' + i)))
                    return true;
                if (of >= 0 && strchr(rows[r].cut, b->labels[i][of]))
                    return true;
            }
    return false;
}

static void check_refusals(struct bench *b) {
    bool all = true;
    unsigned n = 0;
    for (unsigned i = 0; i < b->op.n_results; i++)
        if (b->judged[i].fault) {
            n++;
            all = all && has_meaning(b, i);
        }
    b->n_refused += n > 0;
    if (n > 0 && all && !is_excused(b))
        fail_msg("%s: the rule says that this has no meaning (%s), but it has", combination_text(b),
                 b->judged[0].fault ? b->judged[0].fault->message : "");
}

// ---- all combinations -------------------------------------------------------------------------

static void try_combination(struct bench *b, const struct judgement *plain) {
    bool fits = set_types(b);
    if (!fits) { // result types as on one device: only their number is read
        for (unsigned i = 0; i < b->op.n_results; i++)
            b->unit.values[b->op.n_operands + i].type = whole_type(b, b->op.n_operands + i, false);
    }
    judge(b, b->judged);
    if (!fits) {
        b->n_shapes++;
        for (unsigned i = 0; i < b->op.n_results; i++)
            if (!b->judged[i].fault)
                fail_msg("%s: shapes do not fit, but the rule claims a result",
                         combination_text(b));
        return;
    }
    execute(b);
    for (unsigned i = 0; i < b->op.n_results; i++)
        if (!b->judged[i].fault)
            check_claim(b, i, &plain[i]);
    check_refusals(b);
}

static int spreads_of(const struct bench *b, unsigned operand) {
    int rank = (int)strlen(b->labels[operand]);
    return is_integer(&b->op, operand) ? 1 + rank : 2 + rank;
}

static int nth_spread(const struct bench *b, unsigned operand, int n) {
    bool integer = is_integer(&b->op, operand);
    return n == 0 ? COPY : integer ? n - 1 : n - 2; // COPY, SUMMAND, 0, 1, ...
}

// Cuts one label in all operands that have it, and changes one operand in half of the cases: what
// is right, and what is nearly right.
static void random_combination(struct bench *b) {
    for (int a = 0; a < b->n_axes; a++) {
        unsigned chosen = (unsigned)random_bits(&b->random) % b->op.n_operands;
        size_t rank = strlen(b->labels[chosen]);
        char label = rank ? b->labels[chosen][random_bits(&b->random) % rank] : 0;
        bool cut = label && random_bits(&b->random) % 4;
        for (unsigned i = 0; i < b->op.n_operands; i++) {
            const char *found = cut ? strchr(b->labels[i], label) : NULL;
            b->spread[i].of[a] = found ? (int)(found - b->labels[i]) : COPY;
        }
        for (int changes = (int)(random_bits(&b->random) % 3); changes > 0; changes--) {
            unsigned i = (unsigned)random_bits(&b->random) % b->op.n_operands;
            int n = (int)(random_bits(&b->random) % (uint64_t)spreads_of(b, i));
            b->spread[i].of[a] = nth_spread(b, i, n);
        }
    }
}

static void all_copies(struct bench *b) {
    for (unsigned i = 0; i < MAX_OPERANDS; i++)
        b->spread[i] = (struct spreading){{COPY, COPY}, false};
}

static void begin_bench(struct bench *b, int first, int second) {
    static const char *const names[] = {"a", "b"};
    *b = (struct bench){.random = 11, .n_axes = second ? 2 : 1};
    b->n_devices = first * (second ? second : 1);
    b->program.arena = &b->arena;
    b->program.sizes.microbatches = 1;
    for (int a = 0; a < b->n_axes; a++)
        b->program.mesh.axes[b->program.mesh.n_axes++] =
            (struct mesh_axis){.name = names[a], .size = a ? second : first};
    struct engine *e = &b->engine;
    *e = (struct engine){.arena = &b->arena, .program = &b->program};
    e->diagnostics = diagnostics_new(&b->arena, &b->sources);
    e->terms = ARENA_NEW(&b->arena, struct terms);
    terms_init(e->terms, &b->arena, 1);
    digits_init(&e->digits, &b->arena, &b->program.mesh);
    e->all_axes = (1u << b->n_axes) - 1;
    static const struct statement nothing;
    e->statement = &nothing;
}

static void check_op(enum op_kind kind, const char *signature, int first, int second) {
    struct bench *b = malloc(sizeof *b);
    assert_non_null(b);
    begin_bench(b, first, second);
    begin_op(b, kind, signature);
    draw_wholes(b);
    all_copies(b);
    set_types(b);
    struct judgement plain[MAX_RESULTS];
    judge(b, plain);
    int64_t combinations = 1;
    for (unsigned i = 0; i < b->op.n_operands && combinations <= MAX_COMBINATIONS; i++)
        combinations *= spreads_of(b, i);
    bool all = combinations <= MAX_COMBINATIONS && !second;
    bool heavy = kind == OP_ATTENTION || kind == OP_ATTENTION_BACKWARD;
    int64_t n = all ? combinations : heavy ? 150 : 600;
    for (int64_t c = 0; c < n; c++) {
        int64_t rest = c;
        for (unsigned i = 0; all && i < b->op.n_operands; i++) {
            b->spread[i].of[0] = nth_spread(b, i, (int)(rest % spreads_of(b, i)));
            rest /= spreads_of(b, i);
        }
        if (!all)
            random_combination(b);
        try_combination(b, plain);
    }
    print_message("%-24s %-28s %4u claims hold, %4u refusals right, %5u shapes do not fit\n",
                  op_rows[kind].text, signature, b->n_claimed, b->n_refused, b->n_shapes);
    assert_true(b->n_claimed > 0);
    arena_free(&b->arena);
    free(b);
}

// What is said to count rows must be known to count them.
static void index_operands_must_count(void **state) {
    for (enum op_kind kind = 0; kind < N_OPS; kind++)
        for (unsigned index = 0; index < MAX_OPERANDS; index++) {
            struct bench *b = malloc(sizeof *b);
            assert_non_null(b);
            begin_bench(b, 3, 0);
            if (op_rows[kind].index[0] && index < op_operand_count(kind)) {
                begin_op(b, kind, op_rows[kind].signature);
                draw_wholes(b);
                all_copies(b);
                set_types(b);
                struct judgement operands[MAX_OPERANDS];
                for (unsigned i = 0; i < b->op.n_operands; i++)
                    operands[i] = judge_operand(b, i);
                operands[index].value.of = judge_operand(b, 0).value.of;
                rule_apply(&b->engine, &b->unit, &b->op, operands, b->judged);
                assert_int_equal(b->judged[0].fault != NULL, is_index(&b->op, index));
            }
            arena_free(&b->arena);
            free(b);
        }
}

// 6 elements in chunks of 3 on three devices: the third has only padding.
static void padding_must_be_zeros(void **state) {
    struct bench *b = malloc(sizeof *b);
    assert_non_null(b);
    begin_bench(b, 3, 0);
    begin_op(b, OP_SQUARE_SUM, "X->");
    draw_wholes(b);
    all_copies(b);
    struct judgement flat = judge_operand(b, 0);
    assert_null(form_cut_flat(&b->engine.digits, &flat.form, &(struct axis_list){1, {0}}, 3));
    b->unit.values[0].type = (struct tensor_type){DTYPE_F64, 1, {{DIM_FLAT, 3}}};
    rule_apply(&b->engine, &b->unit, &b->op, &flat, b->judged);
    assert_non_null(b->judged[0].fault);
    flat.clean = true;
    rule_apply(&b->engine, &b->unit, &b->op, &flat, b->judged);
    assert_null(b->judged[0].fault);
    assert_int_equal(b->judged[0].partial, 1);
    arena_free(&b->arena);
    free(b);
}

static void flat_shards_join_in_order(void **state) {
    struct bench *b = malloc(sizeof *b);
    assert_non_null(b);
    begin_bench(b, 2, 3);
    struct digits *digits = &b->engine.digits;
    const struct axis_list ab = {2, {0, 1}}, ba = {2, {1, 0}}, a_only = {1, {0}}, b_only = {1, {1}};
    form_id whole = form_local(digits, &(struct dim){DIM_HIDDEN, 10}, 1), form = whole;
    assert_non_null(form_cut_flat(digits, &form, &ab, 1)); // 6 elements do not hold 10
    assert_null(form_cut_flat(digits, &form, &ab, 2));
    form_id cut = form, other = whole;
    assert_null(form_cut_flat(digits, &other, &ba, 2));
    assert_int_not_equal(cut, other);
    assert_non_null(form_join_flat(digits, &form, &ba, 2));
    form = cut;
    assert_non_null(form_join_flat(digits, &form, &a_only, 2));
    form = cut;
    assert_non_null(form_join_flat(digits, &form, &ab, 3));
    form = cut;
    assert_null(form_join_flat(digits, &form, &b_only, 2));
    assert_int_not_equal(form, whole);
    assert_null(form_join_flat(digits, &form, &a_only, 6));
    assert_int_equal(form, whole);
    form = cut;
    assert_null(form_join_flat(digits, &form, &ab, 2));
    assert_int_equal(form, whole);
    arena_free(&b->arena);
    free(b);
}

static bool has_rule(enum op_kind kind) {
    return op_operand_count(kind) > 0 && op_rows[kind].signature[0] && kind != OP_CAST;
}

static void check_all(int first, int second) {
    for (enum op_kind kind = 0; kind < N_OPS; kind++) {
        if (kind == OP_EINSUM)
            for (size_t i = 0; i < sizeof einsums / sizeof *einsums; i++)
                check_op(kind, einsums[i], first, second);
        else if (has_rule(kind))
            check_op(kind, op_rows[kind].signature, first, second);
    }
}

static void rules_hold_on_one_axis(void **state) {
    check_all(3, 0);
}

static void rules_hold_on_two_axes(void **state) {
    check_all(2, 3);
}

// ---- collectives ------------------------------------------------------------------------------

enum move { MOVE_ALL_REDUCE, MOVE_REDUCE_SCATTER, MOVE_ALL_GATHER, MOVE_SLICE, N_MOVES };
static const char *const move_names[N_MOVES] = {"all_reduce", "reduce_scatter", "all_gather",
                                                "slice"};

struct group {
    int members[MAX_DEVICES], n, own; // in the order of the axes, and the device's own place
};

static struct group group_of(const struct bench *b, const struct axis_list *axes, int device) {
    struct group group = {.n = 1};
    struct spreading along = {{COPY, COPY}, false};
    for (unsigned i = 0; i < axes->n; i++)
        along.of[axes->axes[i]] = SUMMAND;
    for (unsigned i = 0; i < axes->n; i++) {
        group.n *= axis_size(b, axes->axes[i]);
        group.own = group.own * axis_size(b, axes->axes[i]) + coordinate(b, device, axes->axes[i]);
    }
    for (int other = 0; other < b->n_devices; other++) {
        int place = 0;
        for (unsigned i = 0; i < axes->n; i++)
            place = place * axis_size(b, axes->axes[i]) + coordinate(b, other, axes->axes[i]);
        if (adds_up(b, &along, device, other))
            group.members[place] = other;
    }
    return group;
}

// Copies rows (dimension 0) or columns (dimension 1) [begin, begin + n) of a matrix to those of
// another from `to` on, adding.
static void add_lines(const struct array *from, int64_t begin, struct array *target, int64_t to,
                      int64_t n, int dim) {
    int64_t rows = dim ? from->type.dims[0].size : n;
    int64_t columns = dim ? n : from->type.dims[1].size;
    for (int64_t r = 0; r < rows; r++)
        for (int64_t c = 0; c < columns; c++)
            target->data[(r + (dim ? 0 : to)) * target->type.dims[1].size + c + (dim ? to : 0)] +=
                from->data[(r + (dim ? 0 : begin)) * from->type.dims[1].size + c +
                           (dim ? begin : 0)];
}

// From its definition, on whatever the devices have. The result stands behind the operand.
static void execute_move(struct bench *b, enum move move, const struct axis_list *axes, int dim) {
    for (unsigned draw = 0; draw < DRAWS; draw++)
        for (int d = 0; d < b->n_devices; d++) {
            struct group group = group_of(b, axes, d);
            struct tensor_type type = b->part[draw][d][0].type;
            int64_t size = type.dims[dim].size;
            if (move == MOVE_ALL_GATHER)
                type.dims[dim].size = size * group.n;
            else if (move != MOVE_ALL_REDUCE)
                type.dims[dim].size = size = size / group.n;
            struct array *made = &b->part[draw][d][1];
            *made = array_new(&b->arena, type);
            for (int i = 0; i < group.n; i++) {
                const struct array *from = &b->part[draw][group.members[i]][0];
                if (move == MOVE_ALL_GATHER)
                    add_lines(from, 0, made, i * size, size, dim);
                else if (move == MOVE_ALL_REDUCE)
                    add_lines(from, 0, made, 0, size, dim);
                else if (move == MOVE_REDUCE_SCATTER || i == group.own)
                    add_lines(from, group.own * size, made, 0, size, dim);
            }
        }
}

static struct judgement judge_move(struct bench *b, enum move move, const struct axis_list *axes,
                                   int dim) {
    static const enum collective_kind kinds[] = {COLLECTIVE_ALL_REDUCE, COLLECTIVE_REDUCE_SCATTER,
                                                 COLLECTIVE_ALL_GATHER};
    struct judgement from = judge_operand(b, 0);
    if (move == MOVE_SLICE)
        return slice_apply(&b->engine, axes, dim, 0, &from, span_nowhere());
    struct exchange exchange = {
        .kind = kinds[move], .axes = *axes, .dim = move == MOVE_ALL_REDUCE ? -1 : dim};
    return collective_apply(&b->engine, &exchange, 0, &from, span_nowhere());
}

static void try_move(struct bench *b, enum move move, const struct axis_list *axes, int dim) {
    struct judgement plain = judge_operand(b, 0);
    int64_t members = mesh_group_size(&b->program.mesh, axes);
    int64_t local = part_type(b, &b->whole[0][0].type, &b->spread[0]).dims[dim].size;
    b->judged[0] = judge_move(b, move, axes, dim);
    bool cuts = move == MOVE_REDUCE_SCATTER || move == MOVE_SLICE;
    if (cuts && local % members) {
        b->n_shapes++;
        assert_non_null(b->judged[0].fault);
        return;
    }
    for (unsigned draw = 0; draw < DRAWS; draw++)
        spread_array(b, draw, 0);
    execute_move(b, move, axes, dim);
    if (!b->judged[0].fault)
        check_claim(b, 0, &plain);
    check_refusals(b);
}

static void begin_moves(struct bench *b, int first, int second) {
    begin_bench(b, first, second);
    // An op of no kind, with one operand and one result of the same labels.
    b->op = (struct op){.kind = OP_CAST, .n_operands = 1, .n_results = 1};
    strcpy(b->labels[0], "xy");
    strcpy(b->labels[1], "xy");
    for (unsigned draw = 0; draw < DRAWS; draw++)
        for (unsigned i = 0; i < 2; i++)
            b->whole[draw][i] = array_new(&b->arena, whole_type(b, 0, false));
    for (unsigned draw = 0; draw < DRAWS; draw++)
        for (int64_t e = 0; e < SIZE * SIZE; e++)
            b->whole[draw][1].data[e] = b->whole[draw][0].data[e] = random_between(b, 0.2, 1.2);
}

static void check_move(enum move move, int first, int second) {
    static const struct axis_list lists[] = {{1, {0}}, {1, {1}}, {2, {0, 1}}, {2, {1, 0}}};
    struct bench *b = malloc(sizeof *b);
    assert_non_null(b);
    begin_moves(b, first, second);
    for (int own = COPY; own < 2; own++)
        for (int other = COPY; other < (second ? 2 : COPY + 1); other++)
            for (int list = 0; list < (second ? 4 : 1); list++)
                for (int dim = 0; dim < (move == MOVE_ALL_REDUCE ? 1 : 2); dim++) {
                    b->spread[0] = (struct spreading){{own, other}, false};
                    try_move(b, move, &lists[list], dim);
                }
    print_message("%-24s %4u claims hold, %4u refusals right, %5u shapes do not fit\n",
                  move_names[move], b->n_claimed, b->n_refused, b->n_shapes);
    assert_true(b->n_claimed > 0);
    arena_free(&b->arena);
    free(b);
}

static void moves_hold(void **state) {
    for (enum move move = 0; move < N_MOVES; move++) {
        check_move(move, 3, 0);
        check_move(move, 2, 3);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rules_hold_on_one_axis),    cmocka_unit_test(rules_hold_on_two_axes),
        cmocka_unit_test(index_operands_must_count), cmocka_unit_test(padding_must_be_zeros),
        cmocka_unit_test(flat_shards_join_in_order), cmocka_unit_test(moves_hold),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
