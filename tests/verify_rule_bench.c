// See verify_rule_bench.h.
#include "tests/verify_rule_bench.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <ctype.h>
#include <math.h>
#include <string.h>

#include "tests/random.h"

// ---- meshes and parts -------------------------------------------------------------------------

int axis_size(const struct bench *b, int axis) {
    return (int)b->program->job->mesh.axes[axis].size;
}

int coordinate(const struct bench *b, int device, int axis) {
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
            int size = axis_size(b, a);
            part = part * size + (coordinate(b, device, a) - s->shift[a] + size) % size;
            *parts *= axis_size(b, a);
        }
    }
    return part;
}

struct tensor_type part_type(const struct bench *b, const struct tensor_type *whole,
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

bool combines(int spread) {
    return spread == SUMMAND || spread == MAXIMUM;
}

// Devices that agree with `device` on all axes along which the value is not combined.
bool combine_with(const struct bench *b, const struct spreading *s, int device, int other) {
    for (int a = 0; a < b->n_axes; a++)
        if (!combines(s->of[a]) && coordinate(b, device, a) != coordinate(b, other, a))
            return false;
    return true;
}

// The number of a device among those that combine with it.
static int share_number(const struct bench *b, const struct spreading *s, int device) {
    int n = 0;
    for (int other = 0; other < device; other++)
        n += combine_with(b, s, device, other);
    return n;
}

static int shares(const struct bench *b, const struct spreading *s) {
    int n = 0;
    for (int other = 0; other < b->n_devices; other++)
        n += combine_with(b, s, 0, other);
    return n;
}

bool takes_maximum(const struct bench *b, const struct spreading *s) {
    for (int a = 0; a < b->n_axes; a++)
        if (s->of[a] == MAXIMUM)
            return true;
    return false;
}

double random_between(struct bench *b, double low, double high) {
    return low + (high - low) * (random_real(&b->random) + 1) / 2;
}

// Numbers that add up to the whole, or of which it is the greatest.
static void draw_shares(struct bench *b, double whole, bool maximum, double *shares, int n) {
    double rest = whole;
    for (int i = 0; i + 1 < n; i++)
        rest -= shares[i] = random_between(b, 0.1, 0.4);
    shares[n - 1] = rest;
    int holder = (int)(random_bits(&b->random) % (uint64_t)n);
    for (int i = 0; maximum && i < n; i++)
        shares[i] = whole - (i == holder ? 0 : random_between(b, 0.1, 0.4));
}

// Gives every device its share of the whole.
void spread_array(struct bench *b, unsigned draw, unsigned operand) {
    const struct spreading *s = &b->spread[operand];
    const struct array *whole = &b->whole[draw][operand];
    int n = shares(b, s);
    struct array share[MAX_DEVICES];
    for (int i = 0; i < n; i++)
        share[i] = array_new(&b->arena, whole->type);
    for (int64_t e = 0; e < type_elements(&whole->type); e++) {
        double drawn[MAX_DEVICES];
        draw_shares(b, whole->data[e], takes_maximum(b, s), drawn, n);
        for (int i = 0; i < n; i++)
            share[i].data[e] = drawn[i];
    }
    for (int d = 0; d < b->n_devices; d++) {
        struct array *part = &b->part[draw][d][operand];
        *part = array_new(&b->arena, part_type(b, &whole->type, s));
        take_part(b, &share[share_number(b, s, d)], s, d, part);
    }
}

bool is_index(const struct op *op, unsigned operand) {
    const char *index = op_rows[op->kind].index;
    for (; *index; index++)
        if (index[1] == ':' && index[0] - '0' == (int)operand)
            return true;
    return false;
}

struct tensor_type whole_type(const struct bench *b, unsigned list, bool integer) {
    struct tensor_type type = {.dtype = integer ? DTYPE_I32 : DTYPE_F64};
    for (const char *label = b->labels[list]; *label; label++)
        type.dims[type.rank++] = (struct dim){DIM_HIDDEN, SIZE};
    return type;
}

// ---- what the rules are given ------------------------------------------------------------------

struct judgement judge_operand(struct bench *b, unsigned operand) {
    struct world *w = &b->world;
    const struct spreading *s = &b->spread[operand];
    struct tensor_type whole = b->whole[0][operand].type;
    dim_id dims[MAX_RANK];
    for (unsigned d = 0; d < whole.rank; d++) {
        struct digit list[3];
        uint32_t n = 0;
        int64_t left = whole.dims[d].size;
        for (int a = 0; a < b->n_axes; a++)
            if (s->of[a] == (int)d) {
                list[n++] = (struct digit){
                    .size = axis_size(b, a), .owner = OWNER_AXIS + a, .shift = s->shift[a]};
                left /= axis_size(b, a);
            }
        list[n++] = (struct digit){.size = left};
        dims[d] = dim_make(&w->digits, list, n, (struct order){0});
    }
    int kind = is_index(&b->op, operand) ? OP_IOTA : NODE_INPUT;
    const char text[] = {'I', 'v', (char)('0' + operand), 0}; // a byte for the kind, then the name
    uint32_t name = intern(&w->terms->attributes, text, sizeof text, NULL);
    struct scaled value = {term_leaf(BUILDER(w->terms), kind, name, false, 0), SCALE_ONE};
    struct judgement judged =
        judgement_of(w, value, form_make(&w->digits, dims, whole.rank), whole.dtype);
    for (int a = 0; a < b->n_axes; a++)
        if (s->of[a] == SUMMAND)
            judged.partial |= 1u << a;
        else if (s->of[a] == MAXIMUM)
            judged.partial_max |= 1u << a;
    return judged;
}

void begin_bench(struct bench *b, int first, int second) {
    static const char *const names[] = {"a", "b"};
    *b = (struct bench){.random = 11, .n_axes = second ? 2 : 1};
    b->n_devices = first * (second ? second : 1);
    b->program = program_new(&b->arena, "bench");
    b->program->job->sizes.microbatches = 1;
    for (int a = 0; a < b->n_axes; a++)
        b->program->job->mesh.axes[b->program->job->mesh.n_axes++] =
            (struct mesh_axis){.name = names[a], .size = a ? second : first};
    struct terms *terms = ARENA_NEW(&b->arena, struct terms);
    terms_init(terms, &b->arena, 1);
    world_init(&b->world, terms, &b->program->job->mesh, &b->arena);
    static const struct statement nothing;
    b->cursor.statement = &nothing;
    b->proof = (struct proof){.world = &b->world,
                              .cursor = &b->cursor,
                              .program = b->program,
                              .diagnostics = diagnostics_new(&b->arena, &b->sources),
                              .readings = ARENA_NEW(&b->arena, struct readings)};
    readings_init(b->proof.readings, &b->arena);
}

// ---- comparing --------------------------------------------------------------------------------

// The sum, or the greatest, of the shares of the devices that combine with `device`, of array `at`.
static struct array combined(struct bench *b, unsigned draw, unsigned at, const struct spreading *s,
                             int device) {
    const struct array *own = &b->part[draw][device][at];
    struct array all = array_new(&b->arena, own->type);
    bool maximum = takes_maximum(b, s);
    for (int64_t e = 0; maximum && e < type_elements(&all.type); e++)
        all.data[e] = own->data[e];
    for (int other = 0; other < b->n_devices; other++)
        for (int64_t e = 0; combine_with(b, s, device, other) && e < type_elements(&all.type);
             e++) {
            double share = b->part[draw][other][at].data[e];
            all.data[e] = maximum ? fmax(all.data[e], share) : all.data[e] + share;
        }
    return all;
}

// The part of the whole that the digits of a form select on a device: dimension by dimension, the
// local index is taken apart into the local digits and put together with the coordinates.
static void take_form(const struct bench *b, const struct array *whole, form_id id, int device,
                      struct array *part) {
    const struct form_key *form = form_get(&b->world.digits, id)->key;
    for (int64_t e = 0; e < type_elements(&part->type); e++) {
        int64_t rest = e, at = 0, stride = 1;
        for (unsigned d = form->rank; d-- > 0;) {
            const struct dim_key *dim = dim_get(&b->world.digits, form->dims[d])->key;
            int64_t local = rest % part->type.dims[d].size;
            rest /= part->type.dims[d].size;
            for (uint32_t i = dim->n_digits; i-- > 0;) {
                const struct digit *digit = &dim->digits[i];
                bool owned = digit->owner != OWNER_LOCAL;
                int64_t value = local % digit->size;
                if (owned)
                    value = (coordinate(b, device, (int)digit->owner - OWNER_AXIS) - digit->shift +
                             digit->size) %
                            digit->size;
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
        if (isnan(*factor) && fabs(expected->data[e]) > 1e-3 && isfinite(expected->data[e]))
            *factor = found->data[e] / expected->data[e];
        double wanted = isnan(*factor) ? 0 : *factor * expected->data[e];
        bool same = found->data[e] == wanted; // -inf, the lse of a query that sees no key
        if (!same && !(fabs(found->data[e] - wanted) <= 1e-9 * (1 + fabs(wanted))))
            return false;
    }
    return true;
}

// Along these axes devices have the same.
static bool copies_agree(struct bench *b, unsigned draw, unsigned at, uint32_t copied) {
    for (int d = 0; d < b->n_devices; d++)
        for (int other = 0; other < d; other++) {
            bool copies = true;
            double one = 1;
            for (int a = 0; a < b->n_axes; a++)
                copies &= copied >> a & 1 || coordinate(b, d, a) == coordinate(b, other, a);
            if (copies && !same_numbers(&b->part[draw][d][at], &b->part[draw][other][at], &one))
                return false;
        }
    return true;
}

// Whether what the devices have is `factor` times the one-device results, spread as s says, with
// one factor for all draws.
static bool describes(struct bench *b, unsigned at, const struct spreading *s) {
    double factor = NAN;
    uint32_t copied = 0;
    for (int a = 0; a < b->n_axes; a++)
        copied |= s->of[a] == COPY ? 1u << a : 0;
    for (unsigned draw = 0; draw < DRAWS; draw++) {
        if (!copies_agree(b, draw, at, copied))
            return false;
        for (int d = 0; d < b->n_devices; d++) {
            const struct array *whole = &b->whole[draw][at];
            struct array expected = array_new(&b->arena, part_type(b, &whole->type, s));
            struct array found = combined(b, draw, at, s, d);
            if (!type_equal(&expected.type, &found.type))
                return false;
            take_part(b, whole, s, d, &expected);
            if (!same_numbers(&found, &expected, &factor))
                return false;
        }
    }
    return isnan(factor) || fabs(factor) > 1e-9;
}

// On which axes devices combine, by a claim alone.
static struct spreading shares_of(const struct bench *b, const struct judgement *judged) {
    struct spreading s = {0};
    assert_true(!judged->partial || !judged->partial_max);
    for (int a = 0; a < b->n_axes; a++)
        s.of[a] = judged->partial >> a & 1       ? SUMMAND
                  : judged->partial_max >> a & 1 ? MAXIMUM
                                                 : COPY;
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
    const struct terms *terms = b->world.terms;
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

const char *combination_text(struct bench *b) {
    char *text = arena_format(&b->arena, "%s:", op_rows[b->op.kind].text);
    for (unsigned i = 0; i < b->op.n_operands; i++) {
        text = arena_format(&b->arena, "%s %s", text, b->labels[i][0] ? b->labels[i] : "scalar");
        for (int a = 0; a < b->n_axes; a++) {
            int of = b->spread[i].of[a];
            text = arena_format(
                &b->arena, "%s %s", text,
                of == COPY      ? "R"
                : of == SUMMAND ? "P"
                : of == MAXIMUM ? "Pmax"
                : b->spread[i].shift[a]
                    ? arena_format(&b->arena, "S(%c)-%d", b->labels[i][of], b->spread[i].shift[a])
                    : arena_format(&b->arena, "S(%c)", b->labels[i][of]));
        }
    }
    return text;
}

// The parts of a dimension that the device has seen, one behind the other.
static struct array take_seen(struct bench *b, const struct coverage *coverage, int device,
                              const struct array *whole, unsigned dim) {
    struct tensor_type type = whole->type;
    const struct dim_key *key = dim_get(&b->world.digits, coverage->dim)->key;
    int64_t inner = 1, n = 0, run = 1; // elements of the dimension in one part, side by side
    for (unsigned d = dim + 1; d < type.rank; d++)
        inner *= type.dims[d].size;
    for (uint32_t i = key->n_digits; key->digits[--i].owner != OWNER_AXIS + (int)coverage->axis;)
        run *= key->digits[i].size;
    for (uint32_t k = 0; k < coverage->n_parts; k++)
        n += coverage_has(coverage, k);
    type.dims[dim].size = type.dims[dim].size / coverage->n_parts * n;
    struct array seen = array_new(&b->arena, type);
    for (int64_t e = 0, to = 0; e < type_elements(&whole->type); e++) {
        int64_t of = e / inner % whole->type.dims[dim].size / run % coverage->n_parts;
        int64_t k = of - coordinate(b, device, (int)coverage->axis) + coverage->n_parts;
        if (coverage_has(coverage, (uint32_t)(k % coverage->n_parts)))
            seen.data[to++] = whole->data[e];
    }
    return seen;
}

// What one device computes that has all, but of the contracted label only what this device saw.
static struct array seen_whole(struct bench *b, unsigned draw, const struct judgement *claim,
                               unsigned result, int device) {
    const struct coverage *coverage = coverage_get(&b->world, claim->coverage);
    struct array operands[MAX_OPERANDS], results[MAX_RESULTS];
    // Labels of capitals are characters of their own; here each is one dimension, a small letter.
    bool small = coverage->label < 128;
    int letter = small ? (int)coverage->label : 'x' + ((int)coverage->label - 128) / MAX_RANK;
    for (unsigned i = 0; i < b->op.n_operands; i++) {
        operands[i] = b->whole[draw][i];
        const char *label = strchr(b->labels[i], letter);
        if (label)
            operands[i] =
                take_seen(b, coverage, device, &operands[i], (unsigned)(label - b->labels[i]));
        b->unit.values[i].type = operands[i].type;
    }
    const char *why;
    assert_true(op_infer_types(b->program->arena, &b->unit, &b->op, &why));
    for (unsigned i = 0; i < b->op.n_results; i++)
        results[i] = array_new(&b->arena, b->unit.values[b->op.n_operands + i].type);
    interpret_op(&b->op, operands, results);
    return results[result];
}

// An axis selects along one dimension only, or devices would hold blocks of a diagonal.
static bool owns_once(const struct bench *b, form_id id) {
    const struct form_key *form = form_get(&b->world.digits, id)->key;
    uint32_t owners = 0;
    for (unsigned d = 0; d < form->rank; d++) {
        const struct dim_info *dim = dim_get(&b->world.digits, form->dims[d]);
        if (dim->owners & owners)
            return false;
        owners |= dim->owners;
    }
    return true;
}

void check_claim(struct bench *b, unsigned result, const struct judgement *plain) {
    unsigned at = b->op.n_operands + result;
    const struct judgement *claim = &b->judged[result];
    uint32_t copied =
        ~(claim->partial | claim->partial_max | form_get(&b->world.digits, claim->form)->owners |
          coverage_axes(&b->world, claim->coverage)); // there each device has other parts
    for (unsigned draw = 0; draw < DRAWS; draw++)
        if (!copies_agree(b, draw, at, copied))
            fail_msg("%s: copies of result %u differ", combination_text(b), result);
    int kind = term_kind(b->world.terms, claim->value.of);
    if (kind == NODE_UNKNOWN || kind == NODE_MAXIMA)
        return; // nothing more is said of it
    struct spreading s = shares_of(b, claim);
    b->n_claimed++;
    if (!owns_once(b, claim->form))
        fail_msg("%s: an axis cuts two dimensions", combination_text(b));
    for (unsigned draw = 0; draw < DRAWS; draw++) {
        struct array whole = claimed_whole(b, draw, claim, plain, &b->whole[draw][at]);
        for (int d = 0; d < b->n_devices; d++) {
            if (claim->coverage)
                whole = seen_whole(b, draw, claim, result, d);
            struct array found = combined(b, draw, at, &s, d);
            struct array expected = array_new(&b->arena, found.type);
            double one = 1;
            bool fits = form_fits(&b->world.digits, claim->form, &found.type);
            if (fits)
                take_form(b, &whole, claim->form, d, &expected);
            if (!fits || !same_numbers(&found, &expected, &one))
                fail_msg("%s: result %u is not what the rule claims", combination_text(b), result);
        }
    }
}

static bool describes_rotated(struct bench *b, unsigned at, struct spreading *s) {
    int first = s->of[0] >= 0 ? axis_size(b, 0) : 1;
    int second = b->n_axes > 1 && s->of[1] >= 0 ? axis_size(b, 1) : 1;
    for (s->shift[0] = 0; s->shift[0] < first; s->shift[0]++)
        for (s->shift[1] = 0; s->shift[1] < second; s->shift[1]++)
            if (describes(b, at, s))
                return true;
    return false;
}

// Any way of spreading the one-device result, with any factor.
static bool has_meaning(struct bench *b, unsigned result) {
    unsigned at = b->op.n_operands + result;
    int rank = (int)strlen(b->labels[at]);
    int least = op_rows[b->op.kind].combine == MONOID_MAX ? MAXIMUM : COPY;
    int seconds = b->n_axes > 1 ? rank : COPY + 1; // on one axis there is no second
    for (int first = least; first < rank; first++)
        for (int second = b->n_axes > 1 ? least : COPY; second < seconds; second++)
            for (int swapped = 0; swapped < b->n_axes; swapped++) {
                struct spreading s = {.of = {first, second}, .swapped = swapped};
                bool mixed = takes_maximum(b, &s) && (first == SUMMAND || second == SUMMAND);
                if (!mixed && describes_rotated(b, at, &s))
                    return true;
            }
    return false;
}

void check_refusals(struct bench *b, bool excused) {
    bool all = true;
    unsigned n = 0;
    for (unsigned i = 0; i < b->op.n_results; i++)
        if (b->judged[i].fault) {
            n++;
            all = all && has_meaning(b, i);
        }
    b->n_refused += n > 0;
    if (n > 0 && all && !excused)
        fail_msg("%s: the rule says that this has no meaning (%s), but it has", combination_text(b),
                 b->judged[0].fault ? b->judged[0].fault->message : "");
}
