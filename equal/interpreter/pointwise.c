// Primitives that work element by element: a row for each that is a function of numbers, and those that mix kinds of
// them (comparisons, choices, casts). What integers do where mathematics says nothing is what XLA does.
#include "equal/interpreter/pointwise.h"

#include <math.h>

typedef double real_unary(double);
typedef double real_binary(double, double);
typedef int64_t integer_unary(int64_t, enum element);
typedef int64_t integer_binary(int64_t, int64_t, enum element);

static bool is_unsigned(enum element element) {
    return element_rows[element].kind == NUMBER_UNSIGNED;
}

int64_t wrap_integer(enum element element, int64_t x) {
    const struct element_row *row = &element_rows[element];
    if (row->kind == NUMBER_TRUTH)
        return x != 0;
    if (row->bits == 0 || row->bits >= 64)
        return x;
    uint64_t cut = (uint64_t)x << (64 - row->bits);
    return is_unsigned(element) ? (int64_t)(cut >> (64 - row->bits))
                                : (int64_t)cut >> (64 - row->bits);
}

// ---- reals ----

static double add(double a, double b) {
    return a + b;
}
static double subtract(double a, double b) {
    return a - b;
}
static double multiply(double a, double b) {
    return a * b;
}
static double divide(double a, double b) {
    return a / b;
}
static double negate(double x) {
    return -x;
}
static double sign(double x) {
    return x > 0 ? 1 : x < 0 ? -1 : x;
}
static double logistic(double x) {
    return 1 / (1 + exp(-x));
}
static double reciprocal_root(double x) {
    return 1 / sqrt(x);
}
// What is no number stays so, unlike with fmax and fmin.
static double maximum(double a, double b) {
    return isnan(a) || a > b ? a : b;
}
static double minimum(double a, double b) {
    return isnan(a) || a < b ? a : b;
}

// ---- integers: the result is wrapped by who calls ----

static int64_t integer_add(int64_t a, int64_t b, enum element element) {
    (void)element;
    return (int64_t)((uint64_t)a + (uint64_t)b);
}

static int64_t integer_subtract(int64_t a, int64_t b, enum element element) {
    (void)element;
    return (int64_t)((uint64_t)a - (uint64_t)b);
}

static int64_t integer_multiply(int64_t a, int64_t b, enum element element) {
    (void)element;
    return (int64_t)((uint64_t)a * (uint64_t)b);
}

static int64_t integer_negate(int64_t x, enum element element) {
    return integer_subtract(0, x, element);
}

static int64_t integer_abs(int64_t x, enum element element) {
    return is_unsigned(element) || x >= 0 ? x : integer_negate(x, element);
}

static int64_t integer_sign(int64_t x, enum element element) {
    return is_unsigned(element) ? x != 0 : (x > 0) - (x < 0);
}

// By zero: all bits are set.
static int64_t integer_divide(int64_t a, int64_t b, enum element element) {
    if (b == 0)
        return -1;
    if (is_unsigned(element))
        return (int64_t)((uint64_t)a / (uint64_t)b);
    return b == -1 ? integer_negate(a, element) : a / b;
}

// By zero: the dividend.
static int64_t integer_remainder(int64_t a, int64_t b, enum element element) {
    if (b == 0)
        return a;
    if (is_unsigned(element))
        return (int64_t)((uint64_t)a % (uint64_t)b);
    return b == -1 ? 0 : a % b;
}

static bool integer_less(int64_t a, int64_t b, enum element element) {
    return is_unsigned(element) ? (uint64_t)a < (uint64_t)b : a < b;
}

static int64_t integer_maximum(int64_t a, int64_t b, enum element element) {
    return integer_less(a, b, element) ? b : a;
}

static int64_t integer_minimum(int64_t a, int64_t b, enum element element) {
    return integer_less(b, a, element) ? b : a;
}

// Where the exponent is negative only 1 and -1 have powers that are integers; others' are 0.
static int64_t integer_power(int64_t base, int64_t exponent, enum element element) {
    if (exponent < 0 && !is_unsigned(element))
        return base == 1 ? 1 : base == -1 ? exponent % 2 ? -1 : 1 : 0;
    int64_t power = 1;
    for (uint64_t left = (uint64_t)exponent; left; left /= 2) {
        if (left % 2)
            power = integer_multiply(power, base, element);
        base = integer_multiply(base, base, element);
    }
    return power;
}

static int64_t integer_and(int64_t a, int64_t b, enum element element) {
    (void)element;
    return a & b;
}

static int64_t integer_or(int64_t a, int64_t b, enum element element) {
    (void)element;
    return a | b;
}

static int64_t integer_xor(int64_t a, int64_t b, enum element element) {
    (void)element;
    return a ^ b;
}

static int64_t integer_not(int64_t x, enum element element) {
    return element == ELEMENT_TYPE_PRED ? !x : ~x;
}

static int64_t count_bits(int64_t x, enum element element) {
    int64_t n = 0;
    for (uint64_t left = (uint64_t)x << (64 - element_rows[element].bits); left; left &= left - 1)
        n++;
    return n;
}

// What is shifted by as many bits as there are, or more, is gone but for its sign.
static bool is_beyond(int64_t shift, enum element element) {
    return shift < 0 || shift >= element_rows[element].bits;
}

static int64_t shift_left(int64_t x, int64_t by, enum element element) {
    return is_beyond(by, element) ? 0 : (int64_t)((uint64_t)x << by);
}

static int64_t shift_right_arithmetic(int64_t x, int64_t by, enum element element) {
    uint8_t bits = element_rows[element].bits;
    int64_t wide = (int64_t)((uint64_t)x << (64 - bits)) >> (64 - bits);
    return wide >> (is_beyond(by, element) ? bits - 1 : by);
}

static int64_t shift_right_logical(int64_t x, int64_t by, enum element element) {
    uint8_t bits = element_rows[element].bits;
    uint64_t narrow = (uint64_t)x << (64 - bits) >> (64 - bits);
    return is_beyond(by, element) ? 0 : (int64_t)(narrow >> by);
}

// ---- the table ----

static const struct pointwise_row {
    real_unary *real_unary;
    real_binary *real_binary;
    integer_unary *integer_unary;
    integer_binary *integer_binary;
} pointwise_rows[N_PRIMITIVES] = {
    [PRIM_ABS] = {.real_unary = fabs, .integer_unary = integer_abs},
    [PRIM_ADD] = {.real_binary = add, .integer_binary = integer_add},
    [PRIM_AND] = {.integer_binary = integer_and},
    [PRIM_ATAN2] = {.real_binary = atan2},
    [PRIM_CBRT] = {.real_unary = cbrt},
    [PRIM_CEIL] = {.real_unary = ceil},
    [PRIM_COSINE] = {.real_unary = cos},
    [PRIM_DIVIDE] = {.real_binary = divide, .integer_binary = integer_divide},
    [PRIM_ERF] = {.real_unary = erf},
    [PRIM_EXPONENTIAL] = {.real_unary = exp},
    [PRIM_EXPONENTIAL_MINUS_ONE] = {.real_unary = expm1},
    [PRIM_FLOOR] = {.real_unary = floor},
    [PRIM_LOG] = {.real_unary = log},
    [PRIM_LOG_PLUS_ONE] = {.real_unary = log1p},
    [PRIM_LOGISTIC] = {.real_unary = logistic},
    [PRIM_MAXIMUM] = {.real_binary = maximum, .integer_binary = integer_maximum},
    [PRIM_MINIMUM] = {.real_binary = minimum, .integer_binary = integer_minimum},
    [PRIM_MULTIPLY] = {.real_binary = multiply, .integer_binary = integer_multiply},
    [PRIM_NEGATE] = {.real_unary = negate, .integer_unary = integer_negate},
    [PRIM_NOT] = {.integer_unary = integer_not},
    [PRIM_OR] = {.integer_binary = integer_or},
    [PRIM_POPCNT] = {.integer_unary = count_bits},
    [PRIM_POWER] = {.real_binary = pow, .integer_binary = integer_power},
    [PRIM_REMAINDER] = {.real_binary = fmod, .integer_binary = integer_remainder},
    [PRIM_ROUND_NEAREST_AFZ] = {.real_unary = round},
    [PRIM_ROUND_NEAREST_EVEN] = {.real_unary = rint},
    [PRIM_RSQRT] = {.real_unary = reciprocal_root},
    [PRIM_SHIFT_LEFT] = {.integer_binary = shift_left},
    [PRIM_SHIFT_RIGHT_ARITHMETIC] = {.integer_binary = shift_right_arithmetic},
    [PRIM_SHIFT_RIGHT_LOGICAL] = {.integer_binary = shift_right_logical},
    [PRIM_SIGN] = {.real_unary = sign, .integer_unary = integer_sign},
    [PRIM_SINE] = {.real_unary = sin},
    [PRIM_SQRT] = {.real_unary = sqrt},
    [PRIM_SUBTRACT] = {.real_binary = subtract, .integer_binary = integer_subtract},
    [PRIM_TAN] = {.real_unary = tan},
    [PRIM_TANH] = {.real_unary = tanh},
    [PRIM_XOR] = {.integer_binary = integer_xor},
};

// How far apart an operand's elements are that go with neighbours of the result.
static int64_t step_of(const struct array *operand, const struct array *out) {
    return operand->shape->n_elements == out->shape->n_elements ? 1 : 0;
}

static bool apply_reals(const struct pointwise_row *row, const struct array *const *in,
                        struct array *out, int64_t n) {
    if (!row->real_unary && !row->real_binary)
        return false;
    int64_t step = step_of(in[0], out);
    if (row->real_unary) {
        for (int64_t i = 0; i < n; i++)
            out->reals[i] = row->real_unary(in[0]->reals[i * step]);
        return true;
    }
    int64_t other = step_of(in[1], out);
    for (int64_t i = 0; i < n; i++)
        out->reals[i] = row->real_binary(in[0]->reals[i * step], in[1]->reals[i * other]);
    return true;
}

static bool apply_integers(const struct pointwise_row *row, const struct array *const *in,
                           struct array *out, int64_t n) {
    enum element element = out->shape->element;
    if (!row->integer_unary && !row->integer_binary)
        return false;
    int64_t step = step_of(in[0], out);
    if (row->integer_unary) {
        for (int64_t i = 0; i < n; i++)
            out->integers[i] =
                wrap_integer(element, row->integer_unary(in[0]->integers[i * step], element));
        return true;
    }
    int64_t other = step_of(in[1], out);
    for (int64_t i = 0; i < n; i++) {
        int64_t a = in[0]->integers[i * step], b = in[1]->integers[i * other];
        out->integers[i] = wrap_integer(element, row->integer_binary(a, b, element));
    }
    return true;
}

// ---- primitives that mix kinds of numbers ----

// What is no number is not equal to anything.
static bool is_so(enum direction direction, bool is_less, bool is_equal, bool is_greater) {
    switch (direction) {
    case DIRECTION_EQ:
        return is_equal;
    case DIRECTION_NE:
        return !is_equal;
    case DIRECTION_GE:
        return is_greater || is_equal;
    case DIRECTION_GT:
        return is_greater;
    case DIRECTION_LE:
        return is_less || is_equal;
    case DIRECTION_LT:
        return is_less;
    }
    return false;
}

static void compare(enum direction direction, const struct array *const *in, struct array *out,
                    int64_t n) {
    int64_t step = step_of(in[0], out), other = step_of(in[1], out);
    enum element element = in[0]->shape->element;
    for (int64_t i = 0; i < n; i++) {
        if (in[0]->reals) {
            double a = in[0]->reals[i * step], b = in[1]->reals[i * other];
            out->integers[i] = is_so(direction, a<b, a == b, a> b);
        } else {
            int64_t a = in[0]->integers[i * step], b = in[1]->integers[i * other];
            out->integers[i] =
                is_so(direction, integer_less(a, b, element), a == b, integer_less(b, a, element));
        }
    }
}

static void choose(const struct array *const *in, struct array *out, int64_t n) {
    int64_t step = step_of(in[0], out);
    for (int64_t i = 0; i < n; i++) {
        const struct array *chosen = in[0]->integers[i * step] ? in[1] : in[2];
        array_set(out, i, chosen, i * step_of(chosen, out));
    }
}

static void clamp(const struct array *const *in, struct array *out, int64_t n) {
    int64_t low = step_of(in[0], out), step = step_of(in[1], out), high = step_of(in[2], out);
    enum element element = out->shape->element;
    for (int64_t i = 0; i < n; i++) {
        if (out->reals) {
            double least = maximum(in[1]->reals[i * step], in[0]->reals[i * low]);
            out->reals[i] = minimum(least, in[2]->reals[i * high]);
        } else {
            int64_t least =
                integer_maximum(in[1]->integers[i * step], in[0]->integers[i * low], element);
            out->integers[i] = integer_minimum(least, in[2]->integers[i * high], element);
        }
    }
}

static void test_finite(const struct array *in, struct array *out, int64_t n) {
    for (int64_t i = 0; i < n; i++)
        out->integers[i] = isfinite(in->reals[i * step_of(in, out)]) != 0;
}

// The integer towards zero; beyond the type's range the nearest in it, and zero for what is no number.
static int64_t truncated(double x, enum element element) {
    const struct element_row *row = &element_rows[element];
    if (row->kind == NUMBER_TRUTH)
        return x != 0;
    if (isnan(x))
        return 0;
    bool has_sign = row->kind == NUMBER_INTEGER;
    double end = ldexp(1, row->bits - has_sign); // the first beyond
    if (x >= end)
        return has_sign ? (int64_t)((UINT64_C(1) << (row->bits - 1)) - 1)
                        : wrap_integer(element, -1);
    if (!has_sign)
        return x <= 0 ? 0 : (int64_t)(uint64_t)x;
    return x <= -end ? (int64_t)(UINT64_MAX << (row->bits - 1)) : (int64_t)x;
}

static void convert(const struct array *in, struct array *out, int64_t n) {
    enum element element = out->shape->element;
    bool from_unsigned = shape_is_unsigned(in->shape);
    for (int64_t i = 0; i < n; i++) {
        int64_t at = i * step_of(in, out);
        if (out->reals)
            out->reals[i] =
                from_unsigned ? (double)(uint64_t)in->integers[at] : (double)in->integers[at];
        else if (in->reals)
            out->integers[i] = truncated(in->reals[at], element);
        else
            out->integers[i] = wrap_integer(element, in->integers[at]);
    }
}

bool pointwise_computes(const struct instruction *instruction, const struct array_shape *operand) {
    if (instruction->primitive == PRIM_CONVERT)
        return !shape_is_real(operand) || !shape_is_real(instruction->shape);
    return instruction->primitive != PRIM_COPY && instruction->primitive != PRIM_REDUCE_PRECISION;
}

void execute_pointwise(struct machine *machine, const struct instruction *instruction,
                       const struct array *const *in, struct array *out, int64_t n) {
    const struct pointwise_row *row = &pointwise_rows[instruction->primitive];
    switch (instruction->primitive) {
    case PRIM_COMPARE:
        return compare(instruction->attributes->direction, in, out, n);
    case PRIM_SELECT:
        return choose(in, out, n);
    case PRIM_CLAMP:
        return clamp(in, out, n);
    case PRIM_IS_FINITE:
        return test_finite(in[0], out, n);
    case PRIM_CONVERT:
        return convert(in[0], out, n);
    default:
        if (!(out->reals ? apply_reals(row, in, out, n) : apply_integers(row, in, out, n)))
            machine_refuse(machine, arena_format(machine->answers, "%s of %s",
                                                 primitive_rows[instruction->primitive].word,
                                                 element_rows[out->shape->element].text));
    }
}
