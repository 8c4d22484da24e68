// See cut_op.h.
#include "tests/cut_op.h"

#include <string.h>

#include "ir/limits.h"

enum { MAX_ELEMENTS = 1024 }; // of a result

// ---- its dimensions ---------------------------------------------------------------------------

const struct cut_dimension cut_dimensions[CUT_DIMENSIONS] = {
    {'b', "layers", 1}, {'e', "experts", 2},  {'s', "sequence", 8}, {'t', "sequence", 8},
    {'h', "hidden", 4}, {'f', "ffn", 8},      {'v', "vocab", 8},    {'g', "kv_heads", 2},
    {'r', "group", 2},  {'d', "head_dim", 1},
};

int cut_dimension(char label) {
    int i = 0;
    while (cut_dimensions[i].label != label)
        i++;
    return i;
}

static bool is_iota(const char *operand) {
    return operand[0] == '#';
}

static const char *labels_of(const char *operand) {
    return operand + is_iota(operand);
}

static bool has(const char *labels, int dimension) {
    return strchr(labels, cut_dimensions[dimension].label);
}

// ---- its program ------------------------------------------------------------------------------

int cut_op_parts(const struct cut_op *c, int dimension) {
    int n = 1;
    for (int i = 0; i < CUT_AXES && !c->one; i++)
        n *= c->cut_by[dimension][i] >= 0 ? 2 : 1;
    return n;
}

static int local(const struct cut_op *c, int dimension) {
    return cut_dimensions[dimension].size / cut_op_parts(c, dimension);
}

static int first_on(const struct cut_op *c, int dimension, int device) {
    int part = 0;
    for (int i = 0; i < CUT_AXES && !c->one; i++)
        if (c->cut_by[dimension][i] >= 0)
            part = 2 * part + (device >> (CUT_AXES - 1 - c->cut_by[dimension][i]) & 1);
    return part * local(c, dimension);
}

static const char *axes_text(struct arena *arena, const struct cut_op *c, int dimension,
                             const char *before) {
    const int *axes = c->cut_by[dimension];
    if (c->one || axes[0] < 0)
        return "";
    return axes[1] < 0 ? arena_format(arena, "%s%c", before, "tu"[axes[0]])
                       : arena_format(arena, "%s%c*%c", before, "tu"[axes[0]], "tu"[axes[1]]);
}

static const char *type_text(struct arena *arena, const struct cut_op *c, const char *of,
                             bool whole, bool cuts) {
    const char *text = "";
    for (; *of; of++) {
        int d = cut_dimension(*of);
        text = arena_format(
            arena, "%s%s%s=%d%s", text, *text ? ", " : "", cut_dimensions[d].dimension,
            whole ? cut_dimensions[d].size : local(c, d), cuts ? axes_text(arena, c, d, "/") : "");
    }
    return text;
}

static const char *blocks_text(struct arena *arena, const struct cut_op *c) {
    const char *text = "";
    for (int d = 0; d < CUT_DIMENSIONS; d++)
        if (c->block[d])
            text = arena_format(arena, "%s%s%s=%d", text, *text ? " " : "",
                                cut_dimensions[d].dimension, c->block[d]);
    return *text ? arena_format(arena, "blocks=\"%s\"", text) : "";
}

static const char *attributes_text(struct arena *arena, const struct cut_op *c) {
    const char *blocks = blocks_text(arena, c), *own = c->example->attributes;
    const char *comma = *blocks && *own ? ", " : "";
    return *blocks || *own ? arena_format(arena, " {%s%s%s}", own, comma, blocks) : "";
}

static const char *unit_text(struct arena *arena, const struct cut_op *c) {
    const struct op_example *x = c->example;
    const char *text = "unit main.f { phase forward\n", *operands = "", *results = "", *types = "";
    for (int i = 0; i < MAX_OPERANDS && x->operands[i]; i++)
        if (!is_iota(x->operands[i]))
            text = arena_format(arena, "%sparameter %%a%d : f32[%s]\n", text, i,
                                type_text(arena, c, x->operands[i], false, false));
    text = arena_format(arena, "%sresult %%r%u\n", text, c->result);
    for (int i = 0; i < MAX_OPERANDS && x->operands[i]; i++) {
        const char *of = labels_of(x->operands[i]);
        operands = arena_format(arena, "%s%s%%a%d", operands, i ? ", " : "", i);
        if (is_iota(x->operands[i]))
            text = arena_format(arena, "%s%%a%d = iota() {dimension=%s%s} : i32[%s] inline\n", text,
                                i, cut_dimensions[cut_dimension(*of)].dimension,
                                axes_text(arena, c, cut_dimension(*of), ", axes="),
                                type_text(arena, c, of, false, false));
    }
    for (unsigned i = 0; i < MAX_RESULTS && x->results[i]; i++) {
        results = arena_format(arena, "%s%s%%r%u", results, i ? ", " : "", i);
        types = arena_format(
            arena, "%s%s%s[%s]%s", types, i ? ", " : "", *x->results[i] ? "f32" : "f64",
            type_text(arena, c, x->results[i], false, false), i == c->result ? " out" : "");
    }
    return arena_format(arena, "%s%s = %s(%s)%s : %s }\n", text, results, x->op, operands,
                        attributes_text(arena, c), types);
}

const char *cut_op_program(struct arena *arena, const struct cut_op *c) {
    const struct op_example *x = c->example;
    const char *result = x->results[c->result], *call = "", *sums = "", *tensors = "",
               *buffers = "";
    for (int i = 0; i <= MAX_OPERANDS; i++) {
        const char *of = i < MAX_OPERANDS ? x->operands[i] : result;
        const char *name = i < MAX_OPERANDS ? arena_format(arena, "a%d", i) : "y";
        if (!of || !*of || is_iota(of))
            continue;
        tensors = arena_format(arena, "%stensor %s [%s] role embedding init ones saved \"%s\"\n",
                               tensors, name, type_text(arena, c, of, true, false), name);
        buffers = arena_format(arena, "%sbuffer %s : parameters f32[%s] of %s at %d\n", buffers,
                               name, type_text(arena, c, of, true, true), name, 8192 * (i + 1));
        if (i < MAX_OPERANDS)
            call = arena_format(arena, "%s%s%s = %s", call, *call ? ", " : "", name, name);
    }
    for (int i = 0; i < CUT_AXES && c->sums[i] && !c->one; i++)
        sums =
            arena_format(arena, "%sstart all_reduce over %s%s as sum[0] { y -> y }\nwait sum[0]\n",
                         sums, c->sums[i], x->sum == SUM_GREATEST ? " operation max" : "");
    return arena_format(
        arena,
        "step main {\n%ssizes batch = 8 sequence = 8 microbatches = 1 layers = 1 vocab = 8\n"
        "policy parameters = f32 master = none moments = f32 gradients = f32 compute = f32\n"
        "  accumulate = f32 gather = f32 reduce = f32 reproducible = 8 of batch, sequence "
        "microbatch = 8\n"
        "arena 200000\n%s%s%strain {\ncall f(%s) -> (r%u = y)\n%s}\n}\n%s",
        c->one ? "" : "axis t = 2\naxis u = 2\n", tensors, buffers,
        *result ? "" : "buffer y : output f64[] host loss at 0\n", call, c->result, sums,
        unit_text(arena, c));
}

const char *cut_op_name(struct arena *arena, const struct cut_op *c) {
    const char *text =
        arena_format(arena, "%s, result %u, %s:", c->example->op, c->result, blocks_text(arena, c));
    for (int d = 0; d < CUT_DIMENSIONS; d++)
        if (*axes_text(arena, c, d, ""))
            text = arena_format(arena, "%s %c%s", text, cut_dimensions[d].label,
                                axes_text(arena, c, d, "/"));
    for (int i = 0; i < CUT_AXES && c->sums[i]; i++)
        text = arena_format(arena, "%s, sum over %s", text, c->sums[i]);
    return text;
}

// ---- its execution ----------------------------------------------------------------------------

static uint64_t mix(uint64_t a, uint64_t b) {
    uint64_t z = (a ^ (b + UINT64_C(0x9e3779b97f4a7c15) + (a << 6) + (a >> 2)));
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

static uint64_t added(enum op_sum sum, uint64_t a, uint64_t b) {
    uint64_t low = a < b ? a : b, high = a < b ? b : a;
    return sum == SUM_ORDERED ? mix(mix(1, low), high) : sum == SUM_EXACT ? a + b : high;
}

struct range {
    int begin, end;
};

// Where an element is on a device: one coordinate of what the result has, a range of what is
// summed.
struct position {
    const struct cut_op *c;
    int device;
    struct range at[CUT_DIMENSIONS];
};

static bool is_kept(const struct cut_op *c, int dimension) {
    return has(c->example->results[c->result], dimension);
}

bool cut_op_sums(const struct cut_op *c, int dimension) {
    for (int i = 0; i < MAX_OPERANDS && c->example->operands[i]; i++)
        if (has(labels_of(c->example->operands[i]), dimension))
            return !is_kept(c, dimension);
    return false;
}

bool cut_op_fits(const struct cut_op *c) {
    int joined = 1;
    for (int d = 0; d < CUT_DIMENSIONS; d++) {
        int length =
            c->block[cut_dimension(cut_dimensions[d].label == 't' ? 's' : cut_dimensions[d].label)];
        if (length && local(c, d) < length)
            return false;
        joined *= c->block[d] && cut_op_sums(c, d) ? local(c, d) / c->block[d] : 1;
    }
    return joined <= LIMIT_BLOCKS;
}

// Length of the blocks in which the kernel works; 0: in none.
static int block(const struct cut_op *c, int dimension) {
    return has(c->example->blocks, dimension) ? c->block[dimension] : 0;
}

static uint64_t operand_element(const struct position *p, int operand, const int *at) {
    const char *of = p->c->example->operands[operand];
    uint64_t made = is_iota(of) ? 0 : (uint64_t)operand + 2;
    for (const char *label = labels_of(of); *label; label++) {
        int d = cut_dimension(*label), whole = first_on(p->c, d, p->device) + at[d];
        made = is_iota(of) ? (uint64_t)whole : mix(made, (uint64_t)whole);
    }
    return made;
}

// What one element of each operand gives to a sum that is exact: numbers that are equal select it.
static uint64_t selected(const struct position *p, const int *at) {
    uint64_t element = 1, numbers[MAX_OPERANDS];
    int n = 0;
    for (int i = 0; i < MAX_OPERANDS && p->c->example->operands[i]; i++)
        if (is_iota(p->c->example->operands[i]))
            numbers[n++] = operand_element(p, i, at);
        else
            element = operand_element(p, i, at);
    return n == 2 && numbers[0] != numbers[1] ? 0 : element;
}

// In one go, element by element, from dimension `d` on.
static uint64_t sum_in_one(const struct position *p, int d, int *at, uint64_t sum) {
    if (d == CUT_DIMENSIONS) {
        const struct op_example *x = p->c->example;
        if (x->sum == SUM_EXACT)
            return sum + selected(p, at);
        uint64_t made = x->sum == SUM_GREATEST ? 3 : sum;
        for (int i = 0; i < MAX_OPERANDS && x->operands[i]; i++)
            made = mix(made, operand_element(p, i, at));
        return x->sum == SUM_GREATEST ? added(SUM_GREATEST, sum, made) : made;
    }
    for (at[d] = p->at[d].begin; at[d] < p->at[d].end; at[d]++)
        sum = sum_in_one(p, d + 1, at, sum);
    return sum;
}

// The shape of what is computed at once, and where in it this element is.
static uint64_t shape_of(const struct position *p) {
    uint64_t shape = 0;
    for (int d = 0; d < CUT_DIMENSIONS && p->c->example->sum == SUM_ORDERED; d++) {
        int length = block(p->c, d) ? block(p->c, d) : local(p->c, d);
        if (is_kept(p->c, d) && has(p->c->example->together, d))
            shape = mix(mix(shape, (uint64_t)length), (uint64_t)(p->at[d].begin % length));
    }
    return shape;
}

static uint64_t sum_by_blocks(struct position *p, const char *order);

static uint64_t sum_tree(struct position *p, const char *order, int first, int n) {
    int d = cut_dimension(*order), length = block(p->c, d);
    if (n > 1)
        return added(p->c->example->sum, sum_tree(p, order, first, n / 2),
                     sum_tree(p, order, first + n / 2, n / 2));
    p->at[d] = (struct range){first * length, (first + 1) * length};
    return sum_by_blocks(p, order + 1);
}

// Blocks of the last of these labels are added first.
static uint64_t sum_by_blocks(struct position *p, const char *order) {
    int at[CUT_DIMENSIONS];
    if (!*order)
        return sum_in_one(p, 0, at, shape_of(p));
    int d = cut_dimension(*order);
    return sum_tree(p, order, 0, local(p->c, d) / block(p->c, d));
}

// What is summed in blocks, in the order of the operands.
static void order_of_blocks(const struct cut_op *c, char *order) {
    *order = 0;
    for (int i = 0; i < MAX_OPERANDS && c->example->operands[i]; i++)
        for (const char *label = labels_of(c->example->operands[i]); *label; label++) {
            int d = cut_dimension(*label);
            if (block(c, d) && cut_op_sums(c, d) && !strchr(order, *label))
                strncat(order, label, 1);
        }
}

static uint64_t execute_element(const struct cut_op *c, int device, const int *kept) {
    struct position p = {.c = c, .device = device};
    char order[CUT_DIMENSIONS + 1];
    for (int d = 0; d < CUT_DIMENSIONS; d++)
        p.at[d] = cut_op_sums(c, d) ? (struct range){0, local(c, d)}
                  : is_kept(c, d)   ? (struct range){kept[d], kept[d] + 1}
                                    : (struct range){0, 1};
    order_of_blocks(c, order);
    return sum_by_blocks(&p, order);
}

// Goes on to the next element of the result on a device; false: there is none.
static bool next_element(const struct cut_op *c, int *kept) {
    for (int d = CUT_DIMENSIONS; d-- > 0; kept[d] = 0)
        if (is_kept(c, d) && ++kept[d] < local(c, d))
            return true;
    return false;
}

static int execute(const struct cut_op *c, int device, uint64_t *results) {
    int kept[CUT_DIMENSIONS] = {0}, n = 0;
    do
        results[n++] = execute_element(c, device, kept);
    while (next_element(c, kept));
    return n;
}

// Members stand in the order of the axes, and their results are added as a tree.
static void sum_over(enum op_sum sum, const char *axes, uint64_t results[CUT_DEVICES][MAX_ELEMENTS],
                     int n) {
    uint64_t made[CUT_DEVICES][MAX_ELEMENTS];
    for (size_t last = strlen(axes) + 1; last >= 2; last -= 2) {
        int bit = axes[last - 2] == 't' ? 2 : 1;
        for (int device = 0; device < CUT_DEVICES; device++)
            for (int i = 0; i < n; i++)
                made[device][i] = added(sum, results[device][i], results[device ^ bit][i]);
        memcpy(results, made, sizeof made);
    }
}

bool cut_op_has_bits_of(const struct cut_op *many, const struct cut_op *one) {
    uint64_t results[CUT_DEVICES][MAX_ELEMENTS];
    int n = 0;
    for (int device = 0; device < CUT_DEVICES; device++)
        n = execute(many, device, results[device]);
    for (int i = 0; i < CUT_AXES && many->sums[i]; i++)
        sum_over(many->example->sum, many->sums[i], results, n);
    for (int device = 0; device < CUT_DEVICES; device++) {
        int kept[CUT_DIMENSIONS] = {0}, whole[CUT_DIMENSIONS], i = 0;
        do {
            for (int d = 0; d < CUT_DIMENSIONS; d++)
                whole[d] = first_on(many, d, device) + kept[d];
            if (results[device][i++] != execute_element(one, 0, whole))
                return false;
        } while (next_element(many, kept));
    }
    return true;
}
