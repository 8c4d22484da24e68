// A witness that a program computes something else: the term that was found and the one that the
// reference has are evaluated by the interpreter of ops, on random numbers and tiny tensors, with
// two seeds. Where they differ the refusal is a refutation; where they agree, or cannot be
// evaluated, nothing was proved and nothing was refuted.
//
// Every logical dimension has one small size here, whatever its size in the model: terms are about
// whole tensors, so nothing depends on the sizes but time. Parts, of which terms give numbers, are
// few as they are.
#include "verify/diagnosis/diagnosis.h"

#include <math.h>
#include <string.h>

#include "ir/interpreter/interpreter.h"
#include "verify/algebra/attributes.h"
#include "verify/algebra/facts.h"
#include "verify/algebra/given.h"

static const double different = 1e-6; // relative to the larger; what rounding leaves is below 1e-12

static const int64_t tiny[N_DIMENSIONS] = {
    [DIM_BATCH] = 2,  [DIM_SEQUENCE] = 3,  [DIM_HEADS] = 2, [DIM_KV_HEADS] = 2,
    [DIM_FFN] = 5,    [DIM_VOCAB] = 7,     [DIM_GROUP] = 2, [DIM_HEAD_DIM] = 2,
    [DIM_HIDDEN] = 4, [DIM_POSITIONS] = 5,
};

// A value is made of those of all layers, and layers may be many: so many terms are evaluated, so
// many in one another, and of what depends on more nothing is computed.
enum { MAX_EVALUATED = 4000, MAX_DEPTH = 1500, SEEDS = 4 };

struct evaluator {
    struct world *world;
    const struct program *reference;
    uint64_t seed;
    bool whole;           // a sum over some microbatches stands for the sum over all
    double magnitude;     // of parameters and moments
    struct intern keys;   // terms that were evaluated
    struct array *values; // of each
    uint32_t n_values, cap_values, depth;
    bool failed;
};
struct witness {
    struct evaluator seeds[SEEDS];
};

static struct array evaluate(struct evaluator *v, struct term term);

// A number in [-1, 1) that depends on all its arguments (splitmix64's mixing).
static double random_number(uint64_t seed, uint64_t term, uint64_t element) {
    uint64_t z = seed * UINT64_C(0x9e3779b97f4a7c15) + term * UINT64_C(0xbf58476d1ce4e5b9) +
                 element * UINT64_C(0x94d049bb133111eb);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return (double)((z ^ (z >> 31)) >> 11) * 0x1p-52 - 1;
}

static struct array fail(struct evaluator *v) {
    v->failed = true;
    return array_new(v->world->arena, (struct tensor_type){.dtype = DTYPE_F64});
}

static struct tensor_type tiny_type(struct evaluator *v, const struct dim *dims, unsigned rank,
                                    enum dtype dtype) {
    struct tensor_type type = {.dtype = dtype, .rank = (uint8_t)rank};
    for (unsigned i = 0; i < rank; i++) {
        int64_t size = dims[i].dimension == DIM_PART ? dims[i].size : tiny[dims[i].dimension];
        type.dims[i] = (struct dim){dims[i].dimension, size};
        v->failed = v->failed || type.dims[i].size == 0;
    }
    return type;
}

// ---- leaves -----------------------------------------------------------------------------------

static struct array state_leaf(struct evaluator *v, struct term term, const char *name) {
    uint32_t id = job_find_tensor(v->reference->job, name + 1);
    if (id == NO_ID)
        return fail(v);
    const struct tensor *tensor = &v->reference->job->tensors[id];
    enum buffer_class class = given_class(v->world->terms, term);
    struct side side = class_side(class, tensor->dims, tensor->rank);
    struct array array = array_new(
        v->world->arena, tiny_type(v, &tensor->dims[side.begin], side.end - side.begin, DTYPE_F64));
    for (int64_t i = 0; i < type_elements(&array.type); i++) {
        array.data[i] = v->magnitude *
                        random_number(v->seed, term.node * 1000u + (uint32_t)term.at, (uint64_t)i);
        if (class >= CLASS_MOMENT2 && class <= CLASS_MOMENT2_COLUMNS) // a mean of squares
            array.data[i] = 0.1 + array.data[i] * array.data[i];
    }
    return array;
}

// Tokens, or targets of which one is masked, or the number of the step.
static struct array input_leaf(struct evaluator *v, struct term term, const char *name) {
    int role = table_find(host_role_names, N_HOST_ROLES, name + 1);
    buffer_id id = role < 0 ? NO_ID : program_host_buffer(v->reference, (enum host_role)role);
    if (id == NO_ID || name[0] != 'i')
        return fail(v);
    const struct buffer *buffer = &v->reference->buffers[id];
    struct array array =
        array_new(v->world->arena, tiny_type(v, buffer->dims, buffer->rank, buffer->dtype));
    for (int64_t i = 0; i < type_elements(&array.type); i++) {
        double unit = (random_number(v->seed, term.node, (uint64_t)i) + 1) / 2;
        array.data[i] = floor(unit * (double)tiny[DIM_VOCAB]);
    }
    if (buffer->rank == 0)
        array.data[0] = 2 + (double)v->seed;
    else if (role == HOST_TARGETS)
        array.data[0] = -1;
    return array;
}

static struct array iota_leaf(struct evaluator *v, const struct node *node) {
    struct term iota = {(uint32_t)(node - v->world->terms->nodes), 0};
    struct dim dim = {iota_dimension(v->world->terms, iota), iota_count(v->world->terms, iota)};
    struct array array = array_new(v->world->arena, tiny_type(v, &dim, 1, DTYPE_I32));
    for (int64_t i = 0; i < type_elements(&array.type); i++)
        array.data[i] = (double)i;
    return array;
}

static struct array scalar(struct evaluator *v, double value) {
    struct array array = array_new(v->world->arena, (struct tensor_type){.dtype = DTYPE_F64});
    array.data[0] = value;
    return array;
}

// A result of a loop of the reference, from the term that it names.
static struct array result_leaf(struct evaluator *v, struct term term) {
    struct builder builder = {.terms = v->world->terms};
    struct term named = term_unnamed(&builder, term);
    return term_equal(named, term) ? fail(v) : evaluate(v, named);
}

// ---- nodes ------------------------------------------------------------------------------------

static double scale_value(struct evaluator *v, scale_id id) {
    const struct scale *scale = scale_get(v->world->terms, id);
    double value = scale_number_value(v->world->terms, scale);
    v->failed = v->failed || scale->serial;
    for (uint32_t i = 0; i < scale->n_factors; i++)
        value *= pow(evaluate(v, scale->factors[i].of).data[0], scale->factors[i].power);
    return value;
}

static struct term part_term(const struct evaluator *v, struct term of, const struct part *part,
                             int32_t layer) {
    bool indexed = v->world->terms->nodes[part->node].key->indexed;
    return (struct term){part->node, layer + (indexed ? of.at : 0)};
}

// Adds factor * from to the sum, which takes its type from the first.
static void add_scaled(struct evaluator *v, struct array *sum, const struct array *from,
                       double factor) {
    if (!sum->data)
        *sum = array_new(v->world->arena, from->type);
    int64_t n = type_elements(&sum->type), m = type_elements(&from->type);
    // A bias stands for its copies along the leading dimensions: it is the shorter one.
    if (m > n) {
        struct array longer = array_new(v->world->arena, from->type);
        for (int64_t i = 0; i < m; i++)
            longer.data[i] = sum->data[i % n];
        *sum = longer;
        n = m;
    }
    for (int64_t i = 0; i < n; i++)
        sum->data[i] += factor * from->data[i % m];
}

static struct array sum_node(struct evaluator *v, struct term term, const struct node *node) {
    struct array sum = {.data = NULL};
    for (uint32_t i = 0; i < node->n_parts && !v->failed; i++) {
        const struct part *part = &node->key->parts[i];
        if (part->m_begin != ALL_MICROBATCHES && !v->whole)
            return fail(v);
        double factor = scale_value(v, part->scale);
        for (int32_t layer = part->at; layer < part->end && !v->failed; layer++) {
            struct array value = evaluate(v, part_term(v, term, part, layer));
            add_scaled(v, &sum, &value, factor);
        }
    }
    return sum.data ? sum : fail(v);
}

static void read_attributes(struct evaluator *v, struct arena *arena, struct op *op,
                            const struct node *node) {
    const struct terms *terms = v->world->terms;
    if (op->kind == OP_EINSUM) {
        const char *labels = interned(&terms->attributes, node->key->attributes - 1);
        const char *last = strrchr(labels, ','); // "ab,bc,ac" is "ab,bc->ac"
        op_set_word(arena, op, ATTRIBUTE_LABELS,
                    arena_format(arena, "%.*s->%s", (int)(last - labels), labels, last + 1));
        return;
    }
    struct attribute attribute;
    for (uint32_t at = 0; attributes_next(terms, node->key->attributes, &at, &attribute);)
        op_set(arena, op, attribute);
}

// An op of the interpreter on given operands; its result `result`.
static struct array run_op(struct evaluator *v, struct op *op, struct arena *arena,
                           struct array *operands, unsigned result) {
    struct unit unit = {.name = "", .n_values = op->n_operands + op->n_results};
    unit.values = ARENA_ARRAY(arena, struct value, unit.n_values);
    struct array *results = ARENA_ARRAY(arena, struct array, op->n_results);
    for (unsigned i = 0; i < op->n_operands; i++) {
        op->operands[i] = i;
        unit.values[i].type = operands[i].type;
    }
    for (unsigned i = 0; i < op->n_results; i++)
        op->results[i] = op->n_operands + i;
    const char *why;
    if (v->failed || !op_infer_types(arena, &unit, op, &why))
        return fail(v);
    for (unsigned i = 0; i < op->n_results; i++)
        results[i] = array_new(arena, unit.values[op->n_operands + i].type);
    interpret_op(op, operands, results);
    struct array kept = results[result];
    kept.data = arena_copy(v->world->arena, kept.data,
                           (size_t)type_elements(&kept.type) * sizeof *kept.data);
    return kept;
}

// The dimensions that letters stand for in the operands of one op; capitals for several.
struct letters {
    struct dim dims[128][MAX_RANK];
    int n[128]; // -1: not known
};

// Matches an operand's list of letters with its dimensions; at most one capital is new.
static void learn(struct letters *letters, const char *list, size_t length,
                  const struct tensor_type *type) {
    int rest = type->rank;
    for (size_t i = 0; i < length; i++)
        rest -= letters->n[(int)list[i]] >= 0 ? letters->n[(int)list[i]]
                                              : (list[i] >= 'a' && list[i] <= 'z');
    for (size_t i = 0, at = 0; i < length; i++) {
        int letter = list[i];
        if (letters->n[letter] < 0) {
            letters->n[letter] = letter >= 'a' && letter <= 'z' ? 1 : rest;
            for (int k = 0; k < letters->n[letter]; k++)
                letters->dims[letter][k] = type->dims[at + (size_t)k];
        }
        at += (size_t)letters->n[letter];
    }
}

// What the result does not read is not in the term: an operand of the right shape stands for it.
static void fill_unread(struct arena *arena, const struct op *op, struct array *operands) {
    struct letters *letters = ARENA_NEW(arena, struct letters);
    memset(letters->n, 0xff, sizeof letters->n);
    for (int pass = 0; pass < 2; pass++) {
        const char *list = op_rows[op->kind].signature;
        for (unsigned i = 0; i < op->n_operands; i++) {
            size_t length = strcspn(list, ",-");
            if (operands[i].data && pass == 0)
                learn(letters, list, length, &operands[i].type);
            if (!operands[i].data && pass == 1) {
                struct tensor_type type = {.dtype = DTYPE_F64};
                for (size_t k = 0; k < length; k++)
                    for (int d = 0; d < letters->n[(int)list[k]]; d++)
                        type.dims[type.rank++] = letters->dims[(int)list[k]][d];
                operands[i] = array_new(arena, type);
            }
            list += length + 1;
        }
    }
}

static struct array op_node(struct evaluator *v, struct term term, const struct node *node) {
    struct op op = {.kind = (enum op_kind)node->key->kind,
                    .n_operands = (uint8_t)op_operand_count(node->key->kind),
                    .n_results = (uint8_t)op_result_count(node->key->kind)};
    struct array *operands = ARENA_ARRAY(v->world->arena, struct array, op.n_operands);
    unsigned next = 0;
    for (unsigned i = 0; i < op.n_operands; i++) {
        if (!op_reads(op.kind, node->key->result, i))
            continue;
        if (next == node->n_parts)
            return fail(v);
        const struct part *part = &node->key->parts[next++];
        operands[i] = evaluate(v, part_term(v, term, part, part->at));
    }
    if (v->failed)
        return fail(v);
    struct arena arena = {0};
    read_attributes(v, &arena, &op, node);
    if (next < op.n_operands)
        fill_unread(&arena, &op, operands);
    struct array made = run_op(v, &op, &arena, operands, node->key->result);
    arena_free(&arena);
    return made;
}

static struct array scaled_node(struct evaluator *v, struct term term, const struct node *node) {
    const struct part *part = &node->key->parts[0];
    struct array inner = evaluate(v, part_term(v, term, part, part->at)), made = {.data = NULL};
    add_scaled(v, &made, &inner, scale_value(v, part->scale));
    return made;
}

static struct array evaluate_node(struct evaluator *v, struct term term) {
    const struct node *node = &v->world->terms->nodes[term.node];
    const struct intern *names = &v->world->terms->attributes;
    switch (node->key->kind) {
    case NODE_STATE:
        return state_leaf(v, term, interned(names, node->key->attributes));
    case NODE_INPUT:
        return input_leaf(v, term, interned(names, node->key->attributes));
    case NODE_RESULT:
        return result_leaf(v, term);
    case NODE_SUM:
        return sum_node(v, term, node);
    case NODE_SCALED:
    case NODE_BROADCAST:
    case NODE_ARRIVED: // as if codes lacked nothing
        return scaled_node(v, term, node);
    case NODE_ONE:
        return scalar(v, 1);
    case NODE_ZERO:
        return scalar(v, 0);
    case OP_IOTA:
        return iota_leaf(v, node);
    default:
        return node->key->kind < N_OPS ? op_node(v, term, node) : fail(v);
    }
}

static struct array evaluate(struct evaluator *v, struct term term) {
    if (v->failed)
        return fail(v);
    struct term key = term;
    bool added;
    uint32_t id = intern(&v->keys, &key, sizeof key, &added);
    if (added) {
        struct array none = {.data = NULL};
        ARENA_PUSH(v->world->arena, v->values, v->n_values, v->cap_values, none);
        bool few = v->n_values < MAX_EVALUATED && v->depth < MAX_DEPTH;
        v->depth++;
        struct array value = few ? evaluate_node(v, term) : fail(v);
        v->depth--;
        v->values[id] = v->failed ? none : value;
    }
    return v->values[id].data ? v->values[id] : fail(v);
}

// ---- the witness ------------------------------------------------------------------------------

// The element in which two tensors differ most, or that they do not. Zeros, of which a term says no
// shape, are one number that stands for all.
static bool differ(const struct array *a, const struct array *b, double scale_a, double scale_b,
                   double numbers[2]) {
    double largest = 0, most = 0;
    int64_t n_a = type_elements(&a->type), n_b = type_elements(&b->type);
    if (n_a != n_b && n_a != 1 && n_b != 1)
        return false;
    for (int64_t i = 0; i < n_a || i < n_b; i++) {
        double x = scale_a * a->data[n_a == 1 ? 0 : i], y = scale_b * b->data[n_b == 1 ? 0 : i];
        largest = fmax(largest, fmax(fabs(x), fabs(y)));
        if (fabs(x - y) > most) {
            most = fabs(x - y);
            numbers[0] = x;
            numbers[1] = y;
        }
    }
    return most > different * largest;
}

static bool differ_with_seed(struct evaluator *v, struct scaled found, struct scaled expected,
                             double numbers[2]) {
    v->failed = false;
    struct array a = evaluate(v, found.of), b = evaluate(v, expected.of);
    double scale_a = scale_value(v, found.scale), scale_b = scale_value(v, expected.scale);
    return !v->failed && differ(&a, &b, scale_a, scale_b, numbers);
}

bool witness_value(struct world *w, const struct program *reference, uint64_t seed,
                   struct scaled of, struct array *value) {
    struct evaluator v = {.world = w, .reference = reference, .seed = seed, .magnitude = 1};
    v.keys.arena = w->arena;
    struct array plain = evaluate(&v, of.of);
    double scale = scale_value(&v, of.scale);
    if (v.failed)
        return false;
    *value = (struct array){.data = NULL};
    add_scaled(&v, value, &plain, scale);
    return true;
}

struct witness *witness_new(struct world *w, const struct program *reference) {
    struct witness *witness = ARENA_NEW(w->arena, struct witness);
    for (unsigned i = 0; i < SEEDS; i++) {
        // Small numbers first; some things, as a clip, act on large ones only.
        witness->seeds[i] = (struct evaluator){
            .world = w, .reference = reference, .seed = i + 1, .magnitude = i < 2 ? 1 : 10};
        witness->seeds[i].keys.arena = w->arena;
    }
    return witness;
}

const char *witness_difference(struct witness *witness, struct scaled found,
                               struct scaled expected) {
    double first[2], second[2];
    for (unsigned i = 0; i < SEEDS; i += 2) {
        if (!differ_with_seed(&witness->seeds[i], found, expected, first) ||
            !differ_with_seed(&witness->seeds[i + 1], found, expected, second))
            continue;
        return arena_format(witness->seeds[i].world->arena,
                            "on random numbers it becomes %.9g where one device computes %.9g, and "
                            "on others %.9g for %.9g",
                            first[0], first[1], second[0], second[1]);
    }
    return NULL;
}

// The op's results on its operands, of which one is multiplied element by element with numbers
// between 0.1 and 0.6: a part of the sum as one device may hold it.
static struct array run_on_share(struct evaluator *v, const struct fault *fault, bool share) {
    struct op op = *fault->reader;
    struct array *operands = ARENA_ARRAY(v->world->arena, struct array, MAX_OPERANDS);
    for (unsigned i = 0; i < op.n_operands && !v->failed; i++) {
        struct array value = evaluate(v, fault->operands[i].of);
        add_scaled(v, &operands[i], &value, scale_value(v, fault->operands[i].scale));
        for (int64_t e = 0; share && i == fault->share && e < type_elements(&value.type); e++)
            operands[i].data[e] *= 0.35 + 0.25 * random_number(v->seed, 12345, (uint64_t)e);
    }
    return run_op(v, &op, v->world->arena, operands, 0);
}

const char *witness_share(struct world *w, const struct program *reference,
                          const struct fault *fault) {
    double numbers[2][2];
    for (uint64_t seed = 1; seed <= 2; seed++) {
        struct evaluator v = {
            .world = w, .reference = reference, .seed = seed, .magnitude = 1, .whole = true};
        v.keys.arena = w->arena;
        struct array part = run_on_share(&v, fault, true), whole = run_on_share(&v, fault, false);
        if (v.failed || !differ(&part, &whole, 1, 1, numbers[seed - 1]))
            return NULL;
    }
    return arena_format(w->arena,
                        "on random numbers `%s` makes %.9g of one part of the sum, and %.9g of the "
                        "sum; on others %.9g and %.9g",
                        op_rows[fault->reader->kind].text, numbers[0][0], numbers[0][1],
                        numbers[1][0], numbers[1][1]);
}
