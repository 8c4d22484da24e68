// What every op computes, as plain loops in fp64. Formulas stand beside the rows of ir/ops.def;
// here they are written out once more, with no more thought for speed than whole models need.
#include "ir/interpreter/interpreter.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ir/check.h"
#include "ir/interpreter/compress.h"
#include "ir/interpreter/draws.h"

typedef void (*evaluator)(const struct op *, const struct array *, struct array *);

struct array array_new(struct arena *arena, struct tensor_type type) {
    return (struct array){type, ARENA_ARRAY(arena, double, type_elements(&type))};
}

static int64_t elements(const struct array *array) {
    return type_elements(&array->type);
}

// The product of the dimensions from `from` on: how far apart neighbours in dimension from - 1 lie.
static int64_t inner_elements(const struct array *array, unsigned from) {
    int64_t n = 1;
    for (unsigned i = from; i < array->type.rank; i++)
        n *= array->type.dims[i].size;
    return n;
}

static void clear(struct array *array) {
    memset(array->data, 0, (size_t)elements(array) * sizeof(double));
}

static double dot(const double *a, const double *b, int64_t n) {
    double sum = 0;
    for (int64_t i = 0; i < n; i++)
        sum += a[i] * b[i];
    return sum;
}

static void add_scaled(double *to, double factor, const double *from, int64_t n) {
    for (int64_t i = 0; i < n; i++)
        to[i] += factor * from[i];
}

// ---- products ---------------------------------------------------------------------------------

// One loop over every distinct label: where it steps in each of the three tensors.
struct einsum_loop {
    int64_t size, strides[3];
};

// Collects the loops from "ab,bc->ac": a label that stands in several tensors steps in each of
// them, one that is missing in a tensor has stride 0 there. Returns how many there are.
static unsigned einsum_loops(const char *labels, const struct array *const tensors[3],
                             struct einsum_loop *loops) {
    char seen[3 * MAX_RANK + 1] = {0};
    unsigned n = 0;
    const char *at = labels;
    for (unsigned t = 0; t < 3; t++) {
        for (unsigned d = 0; *at && !strchr(",->", *at); at++, d++) {
            CHECK(d < tensors[t]->type.rank);
            const char *old = strchr(seen, *at);
            unsigned loop = old ? (unsigned)(old - seen) : n++;
            seen[loop] = *at;
            loops[loop].size = tensors[t]->type.dims[d].size;
            loops[loop].strides[t] = inner_elements(tensors[t], d + 1);
        }
        at += *at == ',' ? 1 : *at == '-' ? 2 : 0; // a scalar has no labels
    }
    return n;
}

// The longest strides outermost, so that neighbours are read one after the other.
static int by_strides(const void *left, const void *right) {
    const struct einsum_loop *a = left, *b = right;
    int64_t x = a->strides[0] + a->strides[1] + a->strides[2];
    int64_t y = b->strides[0] + b->strides[1] + b->strides[2];
    return (x < y) - (x > y);
}

// Whether `outer` goes on where `inner` ends, in all three tensors: then both are one loop.
static bool continues(const struct einsum_loop *outer, const struct einsum_loop *inner) {
    for (unsigned t = 0; t < 3; t++)
        if (outer->strides[t] != inner->size * inner->strides[t])
            return false;
    return true;
}

// Makes one loop of those that are: rows of a head's few elements become rows of all heads. The
// order of the sums stays. Returns how many are left.
static unsigned merge_loops(struct einsum_loop *loops, unsigned n) {
    unsigned kept = 0;
    for (unsigned i = 1; i < n; i++) {
        if (continues(&loops[kept], &loops[i]))
            loops[i].size *= loops[kept].size;
        else
            kept++;
        loops[kept] = loops[i];
    }
    return n ? kept + 1 : 0;
}

static void einsum_row(const struct einsum_loop *loop, const double *a, const double *b,
                       double *c) {
    int64_t size = loop->size, i_a = loop->strides[0], i_b = loop->strides[1];
    int64_t i_c = loop->strides[2];
    if (i_a == 0 && i_b == 1 && i_c == 1)
        add_scaled(c, *a, b, size);
    else if (i_a == 1 && i_b == 0 && i_c == 1)
        add_scaled(c, *b, a, size);
    else if (i_c == 0) {
        double sum = *c;
        for (int64_t i = 0; i < size; i++)
            sum += a[i * i_a] * b[i * i_b];
        *c = sum;
    } else
        for (int64_t i = 0; i < size; i++)
            c[i * i_c] += a[i * i_a] * b[i * i_b];
}

// c += a b over all labels. Those that the result has not are summed because c stands still.
static void einsum_add(const struct einsum_loop *loops, unsigned n, const double *a,
                       const double *b, double *c) {
    if (n == 1) {
        einsum_row(loops, a, b, c);
        return;
    }
    for (int64_t i = 0; i < loops->size; i++)
        einsum_add(loops + 1, n - 1, a + i * loops->strides[0], b + i * loops->strides[1],
                   c + i * loops->strides[2]);
}

static void einsum(const struct op *op, const struct array *in, struct array *out) {
    struct einsum_loop loops[3 * MAX_RANK + 1] = {0};
    const struct array *const tensors[3] = {&in[0], &in[1], &out[0]};
    unsigned n = einsum_loops(op_attribute(op, ATTRIBUTE_LABELS)->word, tensors, loops);
    qsort(loops, n, sizeof *loops, by_strides);
    n = merge_loops(loops, n);
    if (n == 0) // of scalars
        loops[n++].size = 1;
    clear(&out[0]);
    einsum_add(loops, n, in[0].data, in[1].data, out[0].data);
}

// ---- elementwise ------------------------------------------------------------------------------

static void add(const struct op *op, const struct array *in, struct array *out) {
    for (int64_t i = 0, n = elements(out); i < n; i++)
        out->data[i] = in[0].data[i] + in[1].data[i];
}

static void mul(const struct op *op, const struct array *in, struct array *out) {
    for (int64_t i = 0, n = elements(out); i < n; i++)
        out->data[i] = in[0].data[i] * in[1].data[i];
}

// The bias is repeated over the leading dimensions of x, sum_rows sums over them: both see a tensor
// as rows of as many elements as the smaller one has.
static void add_bias(const struct op *op, const struct array *in, struct array *out) {
    int64_t n = elements(out), row = elements(&in[1]);
    for (int64_t i = 0; i < n; i++)
        out->data[i] = in[0].data[i] + in[1].data[i % row];
}

static void sum_rows(const struct op *op, const struct array *in, struct array *out) {
    int64_t n = elements(&in[0]), row = elements(out);
    clear(out);
    for (int64_t i = 0; i < n; i++)
        out->data[i % row] += in[0].data[i];
}

static void scale(const struct op *op, const struct array *in, struct array *out) {
    for (int64_t i = 0, n = elements(out); i < n; i++)
        out->data[i] = in[0].data[i] * in[1].data[0];
}

static void divide(const struct op *op, const struct array *in, struct array *out) {
    double divisor = (double)op_integer(op, ATTRIBUTE_DIVISOR, 1);
    for (int64_t i = 0, n = elements(out); i < n; i++)
        out->data[i] = in[0].data[i] / divisor;
}

static void weighted_sum(const struct op *op, const struct array *in, struct array *out) {
    double a = op_real(op, ATTRIBUTE_WEIGHT_A, 0), b = op_real(op, ATTRIBUTE_WEIGHT_B, 0);
    for (int64_t i = 0, n = elements(out); i < n; i++)
        out->data[i] = a * in[0].data[i] + b * in[1].data[i];
}

static void sum_columns(const struct op *op, const struct array *in, struct array *out) {
    int64_t rows = elements(out), columns = elements(in) / rows;
    for (int64_t row = 0; row < rows; row++) {
        out->data[row] = 0;
        for (int64_t i = 0; i < columns; i++)
            out->data[row] += in->data[row * columns + i];
    }
}

static void over_root(const struct op *op, const struct array *in, struct array *out) {
    double minimum = op_real(op, ATTRIBUTE_MINIMUM, 0);
    for (int64_t i = 0; i < elements(out); i++)
        out->data[i] = in[0].data[i] / sqrt(fmax(in[1].data[i], minimum));
}

static void unless_skipped(const struct op *op, const struct array *in, struct array *out) {
    const struct array *kept = isnan(in[2].data[0]) ? &in[0] : &in[1];
    memcpy(out->data, kept->data, (size_t)elements(out) * sizeof(double));
}

static void copy(const struct op *op, const struct array *in, struct array *out) {
    memcpy(out->data, in->data, (size_t)elements(out) * sizeof(double));
}

static bool is_tanh(const struct op *op) {
    return strcmp(op_attribute(op, ATTRIBUTE_APPROXIMATE)->word, "tanh") == 0;
}

static const double gelu_cubic = 0.044715; // Hendrycks and Gimpel 2016

// gelu(x) = x * phi(x); phi is the normal distribution, or its approximation by tanh.
static double gelu_phi(double x, bool approximate) {
    if (approximate)
        return 0.5 * (1 + tanh(sqrt(2 / M_PI) * (x + gelu_cubic * x * x * x)));
    return 0.5 * (1 + erf(x / sqrt(2)));
}

// d phi / d x
static double gelu_phi_slope(double x, bool approximate) {
    if (!approximate)
        return exp(-x * x / 2) / sqrt(2 * M_PI);
    double phi = gelu_phi(x, true);
    return 2 * phi * (1 - phi) * sqrt(2 / M_PI) * (1 + 3 * gelu_cubic * x * x);
}

static void gelu(const struct op *op, const struct array *in, struct array *out) {
    for (int64_t i = 0, n = elements(out); i < n; i++)
        out->data[i] = in->data[i] * gelu_phi(in->data[i], is_tanh(op));
}

static void gelu_backward(const struct op *op, const struct array *in, struct array *out) {
    for (int64_t i = 0, n = elements(out); i < n; i++) {
        double x = in[0].data[i];
        out->data[i] =
            in[1].data[i] * (gelu_phi(x, is_tanh(op)) + x * gelu_phi_slope(x, is_tanh(op)));
    }
}

static void silu(const struct op *op, const struct array *in, struct array *out) {
    for (int64_t i = 0, n = elements(out); i < n; i++)
        out->data[i] = in->data[i] / (1 + exp(-in->data[i]));
}

static void silu_backward(const struct op *op, const struct array *in, struct array *out) {
    for (int64_t i = 0, n = elements(out); i < n; i++) {
        double x = in[0].data[i], sigmoid = 1 / (1 + exp(-x));
        out->data[i] = in[1].data[i] * sigmoid * (1 + x * (1 - sigmoid));
    }
}

static void dropout(const struct op *op, const struct array *in, struct array *out) {
    double probability = op_real(op, ATTRIBUTE_PROBABILITY, 0);
    int64_t sequence = elements(&in[2]), hidden = elements(&in[3]);
    struct draw draw = {.key = (uint64_t)in[5].data[0],
                        .layer = (uint32_t)in[4].data[0],
                        .site = (uint32_t)op_integer(op, ATTRIBUTE_SITE, 0)};
    for (int64_t i = 0, n = elements(out); i < n; i++) {
        int64_t row = i / hidden;
        draw.sample = (uint32_t)(int64_t)in[1].data[row / sequence];
        draw.position = (uint32_t)(int64_t)in[2].data[row % sequence];
        draw.column = (uint32_t)(int64_t)in[3].data[i % hidden];
        if (in[5].data[0] == 0)
            out->data[i] = in[0].data[i];
        else
            out->data[i] = draw_drops(&draw, probability) ? 0 : in[0].data[i] / (1 - probability);
    }
}

// ---- parts of a dimension ---------------------------------------------------------------------

// Tensors as planes [outer, places, inner], of which the middle is the dimension with parts.
struct places {
    int64_t outer, from, to, inner;
};

// Adds to each place of y what stands at the places of x whose number is the same, from[a] = to[b]
// + shift: a one-hot product.
static void move_places(const struct places *n, const double *from, const double *to, double shift,
                        const struct array *x, struct array *y) {
    clear(y);
    for (int64_t i = 0; i < n->outer * n->from * n->to; i++) {
        int64_t a = i / n->to % n->from, b = i % n->to, outer = i / n->to / n->from;
        if (from[a] == to[b] + shift)
            add_scaled(y->data + (outer * n->to + b) * n->inner, 1,
                       x->data + (outer * n->from + a) * n->inner, n->inner);
    }
}

static int64_t kept_elements(const struct op *op, const struct array *x) {
    return inner_elements(x, x->type.rank - (unsigned)op_integer(op, ATTRIBUTE_KEEP, 0));
}

static void take(const struct op *op, const struct array *in, struct array *out) {
    double index = (double)op_integer(op, ATTRIBUTE_INDEX, 0);
    struct places n = {.from = elements(&in[1]), .to = 1, .inner = kept_elements(op, out)};
    n.outer = elements(out) / n.inner;
    move_places(&n, in[1].data, &index, 0, &in[0], out);
}

static void put(const struct op *op, const struct array *in, struct array *out) {
    double index = (double)op_integer(op, ATTRIBUTE_INDEX, 0);
    struct places n = {.from = 1, .to = elements(&in[1]), .inner = kept_elements(op, &in[0])};
    n.outer = elements(&in[0]) / n.inner;
    move_places(&n, &index, in[1].data, 0, &in[0], out);
}

static void move(const struct op *op, const struct array *in, struct array *out) {
    struct places n = {
        .from = elements(&in[1]), .to = elements(&in[2]), .inner = kept_elements(op, out)};
    n.outer = elements(out) / n.to / n.inner;
    move_places(&n, in[1].data, in[2].data, (double)op_integer(op, ATTRIBUTE_SHIFT, 0), &in[0],
                out);
}

// ---- normalisation ----------------------------------------------------------------------------

static void layer_norm(const struct op *op, const struct array *in, struct array *out) {
    int64_t h = elements(&in[1]), rows = elements(&in[0]) / h;
    for (int64_t r = 0; r < rows; r++) {
        const double *x = in[0].data + r * h;
        double sum = 0, squares = 0;
        for (int64_t i = 0; i < h; i++)
            sum += x[i];
        double mean = sum / (double)h;
        for (int64_t i = 0; i < h; i++)
            squares += (x[i] - mean) * (x[i] - mean);
        double rstd = 1 / sqrt(squares / (double)h + op_real(op, ATTRIBUTE_EPS, 0));
        for (int64_t i = 0; i < h; i++)
            out[0].data[r * h + i] = (x[i] - mean) * rstd * in[1].data[i] + in[2].data[i];
        out[1].data[r] = mean;
        out[2].data[r] = rstd;
    }
}

// One row of both norms: dx = rstd * (g - mean(g) - xhat * mean(g * xhat)) with g = dy * gain,
// where a norm that subtracts no mean has no second term.
static void norm_row_backward(int64_t h, const double *x, const double *gain, double mean,
                              double rstd, const double *dy, bool centred, double *dx) {
    double g_mean = 0, gx_mean = 0;
    for (int64_t i = 0; i < h; i++) {
        g_mean += dy[i] * gain[i] / (double)h;
        gx_mean += dy[i] * gain[i] * (x[i] - mean) * rstd / (double)h;
    }
    for (int64_t i = 0; i < h; i++)
        dx[i] = rstd * (dy[i] * gain[i] - (centred ? g_mean : 0) - (x[i] - mean) * rstd * gx_mean);
}

static void layer_norm_backward(const struct op *op, const struct array *in, struct array *out) {
    int64_t h = elements(&in[1]), rows = elements(&in[0]) / h;
    clear(&out[1]);
    clear(&out[2]);
    for (int64_t r = 0; r < rows; r++) {
        const double *x = in[0].data + r * h, *dy = in[4].data + r * h;
        double mean = in[2].data[r], rstd = in[3].data[r];
        norm_row_backward(h, x, in[1].data, mean, rstd, dy, true, out[0].data + r * h);
        for (int64_t i = 0; i < h; i++) {
            out[1].data[i] += dy[i] * (x[i] - mean) * rstd;
            out[2].data[i] += dy[i];
        }
    }
}

static void rms_norm(const struct op *op, const struct array *in, struct array *out) {
    int64_t h = elements(&in[1]), rows = elements(&in[0]) / h;
    for (int64_t r = 0; r < rows; r++) {
        const double *x = in[0].data + r * h;
        double squares = 0;
        for (int64_t i = 0; i < h; i++)
            squares += x[i] * x[i];
        double rstd = 1 / sqrt(squares / (double)h + op_real(op, ATTRIBUTE_EPS, 0));
        for (int64_t i = 0; i < h; i++)
            out[0].data[r * h + i] = x[i] * rstd * in[1].data[i];
        out[1].data[r] = rstd;
    }
}

static void rms_norm_backward(const struct op *op, const struct array *in, struct array *out) {
    int64_t h = elements(&in[1]), rows = elements(&in[0]) / h;
    clear(&out[1]);
    for (int64_t r = 0; r < rows; r++) {
        const double *x = in[0].data + r * h, *dy = in[3].data + r * h;
        double rstd = in[2].data[r];
        norm_row_backward(h, x, in[1].data, 0, rstd, dy, false, out[0].data + r * h);
        for (int64_t i = 0; i < h; i++)
            out[1].data[i] += dy[i] * x[i] * rstd;
    }
}

// ---- positions and attention ------------------------------------------------------------------

// The whole dimension, from 0. A device's slice of it is the caller's business.
static void iota(const struct op *op, const struct array *in, struct array *out) {
    for (int64_t i = 0; i < elements(out); i++)
        out->data[i] = (double)i;
}

// Radians per position of pair i of d / 2; with Llama 3.1's scaling (Hugging Face's
// `_compute_llama3_parameters`) long wavelengths are stretched, short ones kept, and those between
// interpolated.
static double rope_frequency(const struct op *op, int64_t i, int64_t d) {
    double frequency = pow(op_real(op, ATTRIBUTE_THETA, 0), -2.0 * (double)i / (double)d);
    double factor = op_real(op, ATTRIBUTE_ROPE_FACTOR, 0);
    if (factor == 0)
        return frequency;
    double low = op_real(op, ATTRIBUTE_ROPE_LOW, 0), high = op_real(op, ATTRIBUTE_ROPE_HIGH, 0);
    double turns = (double)op_integer(op, ATTRIBUTE_ROPE_ORIGINAL, 0) * frequency / (2 * M_PI);
    if (turns < low)
        return frequency / factor;
    if (turns > high)
        return frequency;
    double smooth = (turns - low) / (high - low);
    return (1 - smooth) * frequency / factor + smooth * frequency;
}

// The pairs of a head are (i, i + d / 2), as in Hugging Face's rotate_half; every dimension between
// the sequence and the last is heads.
static void rotate(const struct op *op, const struct array *in, struct array *out, double sign) {
    unsigned rank = in[0].type.rank;
    int64_t d = in[0].type.dims[rank - 1].size, s = in[0].type.dims[1].size;
    int64_t per_position = inner_elements(&in[0], 2); // heads * d
    for (int64_t row = 0; row < elements(&in[0]) / d; row++) {
        double position = in[1].data[row * d / per_position % s];
        const double *x = in[0].data + row * d;
        double *y = out->data + row * d;
        for (int64_t i = 0; i < d / 2; i++) {
            double angle = sign * position * rope_frequency(op, i, d);
            y[i] = x[i] * cos(angle) - x[i + d / 2] * sin(angle);
            y[i + d / 2] = x[i + d / 2] * cos(angle) + x[i] * sin(angle);
        }
    }
}

static void rope(const struct op *op, const struct array *in, struct array *out) {
    rotate(op, in, out, 1);
}

static void rope_backward(const struct op *op, const struct array *in, struct array *out) {
    rotate(op, in, out, -1);
}

// The rows of an attention: query (b, s, g, r) and key (b, t, g) are numbered as they lie.
struct attention_rows {
    int64_t b, s, g, r, t, d;
};

static struct attention_rows attention_rows(const struct array *q, const struct array *k) {
    return (struct attention_rows){q->type.dims[0].size, q->type.dims[1].size,
                                   q->type.dims[2].size, q->type.dims[3].size,
                                   k->type.dims[1].size, q->type.dims[4].size};
}

static int64_t query_position(const struct attention_rows *n, int64_t row) {
    return row / (n->g * n->r) % n->s;
}

// The offset of key or value `t` that query row `row` meets.
static int64_t key_offset(const struct attention_rows *n, int64_t row, int64_t t) {
    int64_t head = row / n->r % n->g, sample = row / (n->g * n->r * n->s);
    return ((sample * n->t + t) * n->g + head) * n->d;
}

// o = softmax(scale q k') v over the keys at or before the query's position. Scores are taken
// relative to their largest, so that no exponential overflows.
static void attention(const struct op *op, const struct array *in, struct array *out) {
    struct attention_rows n = attention_rows(&in[0], &in[1]);
    double scale = op_real(op, ATTRIBUTE_SCALE, 1);
    clear(&out[0]);
    for (int64_t row = 0; row < n.b * n.s * n.g * n.r; row++) {
        const double *q = in[0].data + row * n.d;
        double *o = out[0].data + row * n.d;
        double position = in[3].data[query_position(&n, row)];
        double largest = -INFINITY, sum = 0;
        for (int64_t t = 0; t < n.t; t++)
            if (in[4].data[t] <= position)
                largest = fmax(largest, scale * dot(q, in[1].data + key_offset(&n, row, t), n.d));
        for (int64_t t = 0; t < n.t; t++) {
            if (in[4].data[t] > position)
                continue;
            int64_t at = key_offset(&n, row, t);
            double weight = exp(scale * dot(q, in[1].data + at, n.d) - largest);
            sum += weight;
            add_scaled(o, weight, in[2].data + at, n.d);
        }
        for (int64_t i = 0; i < n.d && sum > 0; i++) // where no key is seen, o is 0
            o[i] /= sum;
        out[1].data[row] = largest + log(sum);
    }
}

// Weights of the two parts; of parts in which nothing is seen, none.
static void attention_merge(const struct op *op, const struct array *in, struct array *out) {
    int64_t d = in[0].type.dims[4].size;
    for (int64_t row = 0; row < elements(&in[1]); row++) {
        double a = in[1].data[row], b = in[3].data[row], largest = fmax(a, b);
        bool any = largest > -INFINITY;
        double lse = any ? largest + log(exp(a - largest) + exp(b - largest)) : -INFINITY;
        for (int64_t i = row * d; i < (row + 1) * d; i++)
            out[0].data[i] = any ? exp(a - lse) * in[0].data[i] + exp(b - lse) * in[2].data[i] : 0;
        out[1].data[row] = lse;
    }
}

// With weights w = exp(score - lse): dv += w do, d score = w (do v - do o), where do o stands for
// the sum over keys of w do v.
static void attention_backward(const struct op *op, const struct array *in, struct array *out) {
    struct attention_rows n = attention_rows(&in[0], &in[1]);
    double scale = op_real(op, ATTRIBUTE_SCALE, 1);
    for (int i = 0; i < 3; i++)
        clear(&out[i]);
    for (int64_t row = 0; row < n.b * n.s * n.g * n.r; row++) {
        const double *q = in[0].data + row * n.d, *o = in[3].data + row * n.d;
        const double *d_o = in[5].data + row * n.d;
        double d_o_o = dot(d_o, o, n.d);
        double position = in[6].data[query_position(&n, row)];
        for (int64_t t = 0; t < n.t; t++) {
            if (in[7].data[t] > position)
                continue;
            int64_t at = key_offset(&n, row, t);
            const double *k = in[1].data + at, *v = in[2].data + at;
            double weight = exp(scale * dot(q, k, n.d) - in[4].data[row]);
            double d_score = weight * (dot(d_o, v, n.d) - d_o_o) * scale;
            add_scaled(out[0].data + row * n.d, d_score, k, n.d);
            add_scaled(out[1].data + at, d_score, q, n.d);
            add_scaled(out[2].data + at, weight, d_o, n.d);
        }
    }
}

// ---- ends of the model ------------------------------------------------------------------------

// A one-hot product: an id that no row has gives zero.
static void embedding(const struct op *op, const struct array *in, struct array *out) {
    int64_t h = in[1].type.dims[1].size;
    clear(out);
    for (int64_t i = 0; i < elements(&in[0]); i++)
        for (int64_t v = 0; v < elements(&in[2]); v++)
            if (in[2].data[v] == in[0].data[i])
                add_scaled(out->data + i * h, 1, in[1].data + v * h, h);
}

static void embedding_backward(const struct op *op, const struct array *in, struct array *out) {
    int64_t h = out->type.dims[1].size;
    clear(out);
    for (int64_t i = 0; i < elements(&in[0]); i++)
        for (int64_t v = 0; v < elements(&in[2]); v++)
            if (in[2].data[v] == in[0].data[i])
                add_scaled(out->data + v * h, 1, in[1].data + i * h, h);
}

// A target below zero is masked. Its row has statistics, but no loss.
static void cross_entropy(const struct op *op, const struct array *in, struct array *out) {
    int64_t n = elements(&in[2]);
    double loss = 0;
    for (int64_t row = 0; row < elements(&in[1]); row++) {
        const double *logits = in[0].data + row * n;
        double largest = -INFINITY, sum = 0, picked = 0;
        for (int64_t v = 0; v < n; v++)
            largest = fmax(largest, logits[v]);
        for (int64_t v = 0; v < n; v++) {
            sum += exp(logits[v] - largest);
            picked += in[2].data[v] == in[1].data[row] ? logits[v] : 0;
        }
        out[1].data[row] = largest + log(sum);
        if (in[1].data[row] >= 0)
            loss += out[1].data[row] - picked;
    }
    out[0].data[0] = loss;
}

static void cross_entropy_backward(const struct op *op, const struct array *in, struct array *out) {
    int64_t n = elements(&in[3]);
    for (int64_t row = 0; row < elements(&in[1]); row++)
        for (int64_t v = 0; v < n; v++) {
            double target = in[1].data[row],
                   probability = exp(in[0].data[row * n + v] - in[2].data[row]);
            double difference = probability - (in[3].data[v] == target);
            out->data[row * n + v] = target < 0 ? 0 : difference * in[4].data[0];
        }
}

static void row_max(const struct op *op, const struct array *in, struct array *out) {
    int64_t n = elements(&in[0]) / elements(out);
    for (int64_t row = 0; row < elements(out); row++) {
        out->data[row] = -INFINITY;
        for (int64_t v = 0; v < n; v++)
            out->data[row] = fmax(out->data[row], in[0].data[row * n + v]);
    }
}

static void sum_exp(const struct op *op, const struct array *in, struct array *out) {
    int64_t n = elements(&in[0]) / elements(out);
    clear(out);
    for (int64_t i = 0; i < elements(&in[0]); i++)
        out->data[i / n] += exp(in[0].data[i] - in[1].data[i / n]);
}

static void log_shift(const struct op *op, const struct array *in, struct array *out) {
    for (int64_t i = 0; i < elements(out); i++)
        out->data[i] = log(in[0].data[i]) + in[1].data[i];
}

static void pick(const struct op *op, const struct array *in, struct array *out) {
    int64_t n = elements(&in[2]);
    clear(out);
    for (int64_t i = 0; i < elements(&in[0]); i++)
        if (in[1].data[i / n] >= 0 && in[2].data[i % n] == in[1].data[i / n])
            out->data[i / n] += in[0].data[i];
}

static void token_loss(const struct op *op, const struct array *in, struct array *out) {
    out->data[0] = 0;
    for (int64_t i = 0; i < elements(&in[0]); i++)
        out->data[0] += in[2].data[i] >= 0 ? in[0].data[i] - in[1].data[i] : 0;
}

static void count_tokens(const struct op *op, const struct array *in, struct array *out) {
    out->data[0] = 0;
    for (int64_t i = 0; i < elements(in); i++)
        out->data[0] += in->data[i] >= 0;
}

// ---- scalars ----------------------------------------------------------------------------------

static void square_sum(const struct op *op, const struct array *in, struct array *out) {
    out->data[0] = dot(in->data, in->data, elements(in));
}

// What no bin has room for is infinite; that, and what is no number, goes to the first.
static void square_bins(const struct op *op, const struct array *in, struct array *out) {
    clear(out);
    for (int64_t i = 0; i < elements(&in[0]); i++) {
        double rest = in[0].data[i] * in[0].data[i];
        if (!(rest < ldexp(1, 960))) {
            out->data[0] += rest * ldexp(1, 64);
            continue;
        }
        for (int64_t j = 0; j < elements(&in[1]); j++) {
            double unit = ldexp(1, 940 - 20 * (int)in[1].data[j]);
            double part = nearbyint(rest / unit) * unit;
            out->data[j] += part;
            rest -= part;
        }
    }
}

static void bin_sum(const struct op *op, const struct array *in, struct array *out) {
    int64_t first = 0, n = elements(in);
    while (first < n && in->data[first] == 0)
        first++;
    out->data[0] = 0;
    for (int64_t j = first + 4 < n ? first + 4 : n; j-- > first;)
        out->data[0] += in->data[j];
}

// The second of two microbatches is added to what the first has left.
static void accumulate_pair(const struct op *op, const struct array *in, struct array *out) {
    bool is_second = (int64_t)in[2].data[0] % 2 == 1;
    for (int64_t i = 0, n = elements(&in[0]); i < n; i++)
        out[0].data[i] = is_second ? in[0].data[i] + in[1].data[i] : in[1].data[i];
}

// A place of a binary counter, whose digits are sums.
static void carry(const struct op *op, const struct array *in, struct array *out) {
    int64_t level = op_integer(op, ATTRIBUTE_LEVEL, 0), j = (int64_t)in[2].data[0];
    bool lower_are_ones = (j + 1) % (INT64_C(1) << level) == 0, is_one = j >> level & 1;
    for (int64_t i = 0, n = elements(&in[0]); i < n; i++) {
        double kept = in[0].data[i], sum = in[1].data[i];
        out[0].data[i] = lower_are_ones && !is_one ? sum : kept;
        out[1].data[i] = lower_are_ones && is_one ? kept + sum : sum;
    }
}

// The reciprocal of zero is zero, so that a step in which every token is masked has a loss and
// gradients of zero.
static void reciprocal(const struct op *op, const struct array *in, struct array *out) {
    out->data[0] = in->data[0] != 0 ? 1 / in->data[0] : 0;
}

static void at_least(const struct op *op, const struct array *in, struct array *out) {
    out->data[0] = fmax(in[0].data[0], op_real(op, ATTRIBUTE_MINIMUM, 0));
}

static void lesser(const struct op *op, const struct array *in, struct array *out) {
    out->data[0] = fmin(in[0].data[0], in[1].data[0]);
}

static void power(const struct op *op, const struct array *in, struct array *out) {
    out->data[0] = pow(in->data[0], op_real(op, ATTRIBUTE_EXPONENT, 1));
}

static void square_root(const struct op *op, const struct array *in, struct array *out) {
    out->data[0] = sqrt(in->data[0]);
}

// torch.nn.utils.clip_grad_norm_
static void clip_factor(const struct op *op, const struct array *in, struct array *out) {
    double max_norm = op_real(op, ATTRIBUTE_MAX_NORM, INFINITY);
    out->data[0] = fmin(1, max_norm / (sqrt(in->data[0]) + 1e-6));
}

static void loss_scale(const struct op *op, const struct array *in, struct array *out) {
    double left = in->data[0];
    out->data[0] = left != 0 ? left : op_real(op, ATTRIBUTE_INITIAL, 1);
}

static void is_finite(const struct op *op, const struct array *in, struct array *out) {
    out->data[0] = isfinite(in->data[0]) ? 1 : 0;
}

static void update_factor(const struct op *op, const struct array *in, struct array *out) {
    out->data[0] = isfinite(in[1].data[0]) ? in[0].data[0] : NAN;
}

// torch.amp.GradScaler.update
static void next_loss_scale(const struct op *op, const struct array *in, struct array *out) {
    double scale = in[0].data[0], good = in[1].data[0] + 1;
    double grown = scale * op_real(op, ATTRIBUTE_GROWTH, 1);
    bool grows = good >= (double)op_integer(op, ATTRIBUTE_INTERVAL, 0);
    if (in[2].data[0] == 0) {
        out[0].data[0] = scale * op_real(op, ATTRIBUTE_BACKOFF, 1);
        out[1].data[0] = 0;
        return;
    }
    out[0].data[0] = grows && isfinite(grown) ? grown : scale;
    out[1].data[0] = grows ? 0 : good;
}

// Where the gradients' factor is not a number, what is updated, the first operands, is left as it is.
static bool skips(double clip, const struct array *in, struct array *out, unsigned n) {
    for (unsigned k = 0; isnan(clip) && k < n; k++)
        for (int64_t i = 0; i < elements(&in[k]); i++)
            out[k].data[i] = in[k].data[i];
    return isnan(clip);
}

// Steps count from 1. The warm-up reaches the base at its last step; the decay its minimum at
// `steps`.
static void learning_rate(const struct op *op, const struct array *in, struct array *out) {
    double t = in->data[0], base = op_real(op, ATTRIBUTE_BASE, 0);
    double minimum = op_real(op, ATTRIBUTE_MINIMUM, 0);
    double warmup = (double)op_integer(op, ATTRIBUTE_WARMUP, 0);
    double decay = (double)op_rate_decay(op);
    double begin = (double)op_integer(op, ATTRIBUTE_STEPS, 0) - decay;
    double x = decay > 0 ? fmin(1, fmax(0, (t - begin) / decay)) : 1, left = 1;
    switch (op_rate(op)) {
    case RATE_LINEAR:
        left = 1 - x;
        break;
    case RATE_COSINE:
        left = 0.5 * (1 + cos(M_PI * x));
        break;
    case RATE_SQRT:
        left = 1 - sqrt(x);
        break;
    default:
        break;
    }
    out->data[0] = t < warmup  ? base * t / warmup
                   : left == 1 ? base
                               : minimum + (base - minimum) * left;
}

// ---- updates ----------------------------------------------------------------------------------

// torch.optim.AdamW and Adam: decay is apart from the gradient, or added to it; both moments are
// corrected for starting at zero, eps is added outside the root.
static void adam(const struct op *op, const struct array *in, struct array *out) {
    bool is_apart = op->kind == OP_ADAMW;
    double lr = in[4].data[0], clip = in[5].data[0], t = in[6].data[0];
    if (skips(clip, in, out, 3))
        return;
    double beta1 = op_real(op, ATTRIBUTE_BETA1, 0), beta2 = op_real(op, ATTRIBUTE_BETA2, 0);
    double eps = op_real(op, ATTRIBUTE_EPS, 0), decay = op_real(op, ATTRIBUTE_WEIGHT_DECAY, 0);
    for (int64_t i = 0, n = elements(&in[0]); i < n; i++) {
        double g = in[3].data[i] * clip + (is_apart ? 0 : decay * in[0].data[i]);
        double m = beta1 * in[1].data[i] + (1 - beta1) * g;
        double v = beta2 * in[2].data[i] + (1 - beta2) * g * g;
        double denominator = sqrt(v / (1 - pow(beta2, t))) + eps;
        double p = in[0].data[i] * (is_apart ? 1 - lr * decay : 1);
        out[0].data[i] = p - lr * (m / (1 - pow(beta1, t))) / denominator;
        out[1].data[i] = m;
        out[2].data[i] = v;
    }
}

// Chen et al. 2023, Algorithm 2: the step has the sign of one average, another one is kept.
static void lion(const struct op *op, const struct array *in, struct array *out) {
    double lr = in[3].data[0], clip = in[4].data[0];
    if (skips(clip, in, out, 2))
        return;
    double beta1 = op_real(op, ATTRIBUTE_BETA1, 0), beta2 = op_real(op, ATTRIBUTE_BETA2, 0);
    double decay = op_real(op, ATTRIBUTE_WEIGHT_DECAY, 0);
    for (int64_t i = 0; i < elements(&in[0]); i++) {
        double g = in[2].data[i] * clip, m = in[1].data[i];
        double average = beta1 * m + (1 - beta1) * g;
        double sign = (average > 0) - (average < 0);
        out[0].data[i] = in[0].data[i] * (1 - lr * decay) - lr * sign;
        out[1].data[i] = beta2 * m + (1 - beta2) * g;
    }
}

// torch.optim.SGD: weight decay is added to the gradient.
static void sgd(const struct op *op, const struct array *in, struct array *out) {
    double lr = in[2].data[0], clip = in[3].data[0];
    if (skips(clip, in, out, 1))
        return;
    double decay = op_real(op, ATTRIBUTE_WEIGHT_DECAY, 0);
    for (int64_t i = 0; i < elements(&in[0]); i++)
        out->data[i] = in[0].data[i] - lr * (in[1].data[i] * clip + decay * in[0].data[i]);
}

// The momentum's buffer starts at zero, which makes the first step PyTorch's: b = g.
static void sgd_momentum(const struct op *op, const struct array *in, struct array *out) {
    double lr = in[3].data[0], clip = in[4].data[0];
    if (skips(clip, in, out, 2))
        return;
    double momentum = op_real(op, ATTRIBUTE_MOMENTUM, 0);
    double decay = op_real(op, ATTRIBUTE_WEIGHT_DECAY, 0);
    bool nesterov = op_integer(op, ATTRIBUTE_NESTEROV, 0) != 0;
    for (int64_t i = 0, n = elements(&in[0]); i < n; i++) {
        double g = in[2].data[i] * clip + decay * in[0].data[i];
        double b = momentum * in[1].data[i] + g;
        out[0].data[i] = in[0].data[i] - lr * (nesterov ? g + momentum * b : b);
        out[1].data[i] = b;
    }
}

// ---- the table --------------------------------------------------------------------------------

static const evaluator evaluators[N_OPS] = {
    [OP_EINSUM] = einsum,
    [OP_ADD] = add,
    [OP_MUL] = mul,
    [OP_ADD_BIAS] = add_bias,
    [OP_SUM_ROWS] = sum_rows,
    [OP_SUM_COLUMNS] = sum_columns,
    [OP_SCALE] = scale,
    [OP_DIVIDE] = divide,
    [OP_WEIGHTED_SUM] = weighted_sum,
    [OP_UNLESS_SKIPPED] = unless_skipped,
    [OP_OVER_ROOT] = over_root,
    [OP_GELU] = gelu,
    [OP_GELU_BACKWARD] = gelu_backward,
    [OP_SILU] = silu,
    [OP_SILU_BACKWARD] = silu_backward,
    [OP_DROPOUT] = dropout,
    [OP_CAST] = copy,
    [OP_TAKE] = take,
    [OP_PUT] = put,
    [OP_MOVE] = move,
    [OP_LAYER_NORM] = layer_norm,
    [OP_LAYER_NORM_BACKWARD] = layer_norm_backward,
    [OP_RMS_NORM] = rms_norm,
    [OP_RMS_NORM_BACKWARD] = rms_norm_backward,
    [OP_IOTA] = iota,
    [OP_ROPE] = rope,
    [OP_ROPE_BACKWARD] = rope_backward,
    [OP_ATTENTION] = attention,
    [OP_ATTENTION_MERGE] = attention_merge,
    [OP_ATTENTION_BACKWARD] = attention_backward,
    [OP_EMBEDDING] = embedding,
    [OP_EMBEDDING_BACKWARD] = embedding_backward,
    [OP_CROSS_ENTROPY] = cross_entropy,
    [OP_CROSS_ENTROPY_BACKWARD] = cross_entropy_backward,
    [OP_ROW_MAX] = row_max,
    [OP_SUM_EXP] = sum_exp,
    [OP_LOG_SHIFT] = log_shift,
    [OP_PICK] = pick,
    [OP_TOKEN_LOSS] = token_loss,
    [OP_COUNT_TOKENS] = count_tokens,
    [OP_ACCUMULATE] = add,
    [OP_ACCUMULATE_PAIR] = accumulate_pair,
    [OP_CARRY] = carry,
    [OP_SQUARE_SUM] = square_sum,
    [OP_SQUARE_BINS] = square_bins,
    [OP_BIN_SUM] = bin_sum,
    [OP_RECIPROCAL] = reciprocal,
    [OP_AT_LEAST] = at_least,
    [OP_LESSER] = lesser,
    [OP_POWER] = power,
    [OP_SQUARE_ROOT] = square_root,
    [OP_CLIP_FACTOR] = clip_factor,
    [OP_LOSS_SCALE] = loss_scale,
    [OP_IS_FINITE] = is_finite,
    [OP_UPDATE_FACTOR] = update_factor,
    [OP_NEXT_LOSS_SCALE] = next_loss_scale,
    [OP_LEARNING_RATE] = learning_rate,
    [OP_ADAMW] = adam,
    [OP_ADAM] = adam,
    [OP_LION] = lion,
    [OP_SGD] = sgd,
    [OP_SGD_MOMENTUM] = sgd_momentum,
    [OP_COMPRESS] = interpret_compress,
    [OP_DECOMPRESS] = interpret_decompress,
};

void interpret_op(const struct op *op, const struct array *operands, struct array *results) {
    CHECK(evaluators[op->kind]);
    evaluators[op->kind](op, operands, results);
}
