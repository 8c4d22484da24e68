// Ops of elements at their own places: what they are given meets in one type and in one shape, as PyTorch says.
#include "equal/fx/pointwise.h"

#include "equal/fx/meet.h"

// The array that an op of reals is given, as reals.
static uint32_t real_array(struct call *c, uint32_t i) {
    uint32_t array = fx_array(c, i);
    if (array == NOT_BUILT || fx_kind(fx_element(c, array)) == NUMBER_OTHER)
        return NOT_BUILT;
    return fx_kind(fx_element(c, array)) == NUMBER_REAL ? array
                                                        : fx_convert(c, array, ELEMENT_TYPE_F32);
}

uint32_t fx_build_function(struct call *c) {
    return fx_unary(c, (enum primitive)c->which, real_array(c, 0));
}

uint32_t fx_build_one(struct call *c) {
    return fx_unary(c, (enum primitive)c->which, fx_array(c, 0));
}

static bool two(struct call *c, enum element *element, uint32_t *a, uint32_t *b) {
    struct sizes sizes;
    if (!fx_meet(c, 0, 2, element, &sizes))
        return false;
    *a = fx_fitted(c, 0, *element, &sizes);
    *b = fx_fitted(c, 1, *element, &sizes);
    return *a != NOT_BUILT && *b != NOT_BUILT;
}

uint32_t fx_build_two(struct call *c) {
    enum element element;
    uint32_t a, b;
    return two(c, &element, &a, &b) ? fx_binary(c, (enum primitive)c->which, a, b) : NOT_BUILT;
}

uint32_t fx_build_scaled(struct call *c) {
    enum element element;
    uint32_t a, b;
    double alpha;
    if (!two(c, &element, &a, &b) || !fx_real(c, 2, 1, &alpha))
        return NOT_BUILT;
    if (alpha != 1)
        b = fx_binary_number(c, PRIM_MULTIPLY, b, alpha);
    return fx_binary(c, (enum primitive)c->which, a, b);
}

uint32_t fx_build_rsub(struct call *c) {
    const struct argument *given = c->of[0];
    c->of[0] = c->of[1];
    c->of[1] = given;
    return c->of[2] ? NOT_BUILT : fx_build_two(c);
}

uint32_t fx_build_divide(struct call *c) {
    struct sizes sizes;
    enum element element;
    if (c->of[2] || !fx_meet(c, 0, 2, &element, &sizes)) // a rounding mode
        return NOT_BUILT;
    if (fx_kind(element) != NUMBER_REAL)
        element = ELEMENT_TYPE_F32;
    uint32_t a = fx_fitted(c, 0, element, &sizes), b = fx_fitted(c, 1, element, &sizes);
    return fx_binary(c, PRIM_DIVIDE, a, b);
}

uint32_t fx_build_logical(struct call *c) {
    struct sizes sizes;
    enum element element;
    bool is_of_one = c->which == PRIM_NOT;
    if (!fx_meet(c, 0, is_of_one ? 1 : 2, &element, &sizes))
        return NOT_BUILT;
    uint32_t a = fx_fitted(c, 0, ELEMENT_TYPE_PRED, &sizes);
    return is_of_one ? fx_unary(c, PRIM_NOT, a)
                     : fx_binary(c, (enum primitive)c->which, a,
                                 fx_fitted(c, 1, ELEMENT_TYPE_PRED, &sizes));
}

uint32_t fx_build_compare(struct call *c) {
    enum element element;
    uint32_t a, b;
    return two(c, &element, &a, &b) ? fx_compare(c, (enum direction)c->which, a, b) : NOT_BUILT;
}

uint32_t fx_build_power(struct call *c) {
    enum element element;
    uint32_t a, b;
    return two(c, &element, &a, &b) ? fx_binary(c, PRIM_POWER, a, b) : NOT_BUILT;
}

uint32_t fx_build_square(struct call *c) {
    uint32_t a = fx_array(c, 0);
    return fx_binary(c, PRIM_MULTIPLY, a, a);
}

uint32_t fx_build_reciprocal(struct call *c) {
    uint32_t a = real_array(c, 0);
    return fx_binary(c, PRIM_DIVIDE, fx_like(c, a, 1), a);
}

static uint32_t chosen(struct call *c, uint32_t truth, uint32_t yes, uint32_t no) {
    struct sizes sizes;
    enum element element, ignored;
    const struct argument *given[] = {c->of[truth], c->of[yes], c->of[no]};
    for (int i = 0; i < 3; i++)
        c->of[i] = given[i];
    if (!fx_meet(c, 0, 3, &ignored, &sizes))
        return NOT_BUILT;
    struct sizes of_two;
    if (!fx_meet(c, 1, 3, &element, &of_two) || !fx_is_array(c, 0))
        return NOT_BUILT;
    return fx_select(c, fx_fitted(c, 0, ELEMENT_TYPE_PRED, &sizes),
                     fx_fitted(c, 1, element, &sizes), fx_fitted(c, 2, element, &sizes));
}

uint32_t fx_build_where(struct call *c) {
    return chosen(c, 0, 1, 2);
}

// masked_fill(self, mask, value), which has self's type.
uint32_t fx_build_masked_fill(struct call *c) {
    uint32_t self = fx_array(c, 0), made;
    if (self == NOT_BUILT)
        return NOT_BUILT;
    enum element element = fx_element(c, self);
    made = chosen(c, 1, 2, 0);
    return fx_convert(c, made, element);
}

// Whether a bound is of the array's sort of numbers: else PyTorch clamps numbers of another type.
static bool keeps_type(struct call *c, uint32_t array, uint32_t bound) {
    enum element element = fx_element(c, array);
    if (fx_is_array(c, bound))
        return element == fx_element(c, fx_array(c, bound));
    return fx_kind(element) == NUMBER_REAL ||
           (fx_kind(element) != NUMBER_TRUTH && c->of[bound]->kind != ARGUMENT_REAL);
}

uint32_t fx_build_clamp(struct call *c) {
    uint32_t made = fx_array(c, 0);
    static const enum primitive against[] = {PRIM_MAXIMUM, PRIM_MINIMUM};
    for (uint32_t i = 0; i < 2 && made != NOT_BUILT; i++) {
        struct sizes sizes = fx_sizes(c, made);
        if (!c->of[i + 1])
            continue;
        if (!keeps_type(c, made, i + 1))
            return NOT_BUILT;
        made = fx_binary(c, against[i], made, fx_fitted(c, i + 1, fx_element(c, made), &sizes));
    }
    return made;
}

// What changes how an array lies in memory, or nothing.
uint32_t fx_build_same(struct call *c) {
    return fx_array(c, 0);
}

// The type may stand at either of two places: _to_copy(x, dtype = ...), to.dtype(x, dtype).
uint32_t fx_build_cast(struct call *c) {
    uint32_t array = fx_array(c, 0);
    if (array == NOT_BUILT)
        return NOT_BUILT;
    enum element element = fx_element(c, array);
    return fx_element_given(c, 1, &element) ? fx_convert(c, array, element) : NOT_BUILT;
}

uint32_t fx_build_type_as(struct call *c) {
    uint32_t array = fx_array(c, 0), other = fx_array(c, 1);
    return array == NOT_BUILT || other == NOT_BUILT ? NOT_BUILT
                                                    : fx_convert(c, array, fx_element(c, other));
}

uint32_t fx_build_opaque(struct call *c) {
    (void)c;
    return NOT_BUILT;
}

// dropout(x, p, train): what draws random numbers is not followed.
uint32_t fx_build_dropout(struct call *c) {
    double p;
    bool train;
    if (!fx_real(c, 1, 0.5, &p) || !fx_truth(c, 2, false, &train))
        return NOT_BUILT;
    return p == 0 || !train ? fx_array(c, 0) : NOT_BUILT;
}

// self + value * a * b, or / b
uint32_t fx_build_addcmul(struct call *c) {
    struct sizes sizes;
    enum element element;
    double value;
    if (!fx_meet(c, 0, 3, &element, &sizes) || !fx_real(c, 3, 1, &value))
        return NOT_BUILT;
    uint32_t a = fx_fitted(c, 1, element, &sizes), b = fx_fitted(c, 2, element, &sizes);
    uint32_t term = fx_binary(c, (enum primitive)c->which, a, b);
    return fx_binary(c, PRIM_ADD, fx_fitted(c, 0, element, &sizes),
                     fx_binary_number(c, PRIM_MULTIPLY, term, value));
}

// self + weight * (end - self)
uint32_t fx_build_lerp(struct call *c) {
    struct sizes sizes;
    enum element element;
    if (!fx_meet(c, 0, 3, &element, &sizes))
        return NOT_BUILT;
    uint32_t self = fx_fitted(c, 0, element, &sizes);
    uint32_t way = fx_binary(c, PRIM_SUBTRACT, fx_fitted(c, 1, element, &sizes), self);
    uint32_t weight = fx_fitted(c, 2, element, &sizes);
    return fx_binary(c, PRIM_ADD, self, fx_binary(c, PRIM_MULTIPLY, weight, way));
}

// ---- activations ------------------------------------------------------------------------------

static uint32_t plus(struct call *c, uint32_t a, uint32_t b) {
    return fx_binary(c, PRIM_ADD, a, b);
}
static uint32_t times(struct call *c, uint32_t a, uint32_t b) {
    return fx_binary(c, PRIM_MULTIPLY, a, b);
}
static uint32_t more(struct call *c, uint32_t a, double number) {
    return fx_binary_number(c, PRIM_ADD, a, number);
}
static uint32_t scaled(struct call *c, uint32_t a, double number) {
    return fx_binary_number(c, PRIM_MULTIPLY, a, number);
}
static uint32_t less_from_one(struct call *c, uint32_t a) {
    return fx_binary(c, PRIM_SUBTRACT, fx_like(c, a, 1), a);
}

uint32_t fx_build_relu(struct call *c) {
    return fx_binary_number(c, PRIM_MAXIMUM, fx_array(c, 0), 0);
}

uint32_t fx_sigmoid(struct call *c, uint32_t x) {
    return fx_unary(c, PRIM_LOGISTIC, x);
}

uint32_t fx_build_sigmoid(struct call *c) {
    return fx_sigmoid(c, real_array(c, 0));
}

uint32_t fx_build_silu(struct call *c) {
    uint32_t x = fx_array(c, 0);
    return times(c, x, fx_sigmoid(c, x));
}

// log(1 + exp(beta x)) / beta; beyond a threshold PyTorch takes x, which is the same but for rounding.
uint32_t fx_build_softplus(struct call *c) {
    double beta;
    if (!fx_real(c, 1, 1, &beta) || c->of[2])
        return NOT_BUILT;
    uint32_t power = fx_unary(c, PRIM_EXPONENTIAL, scaled(c, fx_array(c, 0), beta));
    return scaled(c, fx_unary(c, PRIM_LOG_PLUS_ONE, power), 1 / beta);
}

static const double root_half = 0.70710678118654752440;        // sqrt(1/2)
static const double root_two_over_pi = 0.79788456080286535588; // sqrt(2/pi)
static const double over_root_two_pi = 0.39894228040143267794; // 1/sqrt(2 pi)
static const double cubed = 0.044715;                          // of the form with tanh

// What tanh is of in that form.
static uint32_t tanh_inside(struct call *c, uint32_t x) {
    uint32_t cube = times(c, x, times(c, x, x));
    return scaled(c, plus(c, x, scaled(c, cube, cubed)), root_two_over_pi);
}

// False: the form is none of the two.
static bool is_with_tanh(struct call *c, uint32_t i, bool *is) {
    *is = c->of[i] && word_is(c->of[i]->at, "tanh");
    return !c->of[i] || *is || word_is(c->of[i]->at, "none");
}

// (1 + erf(x / sqrt 2)) / 2, or (1 + tanh(...)) / 2
static uint32_t gelu_part(struct call *c, uint32_t x, bool with_tanh) {
    uint32_t odd = with_tanh ? fx_unary(c, PRIM_TANH, tanh_inside(c, x))
                             : fx_unary(c, PRIM_ERF, scaled(c, x, root_half));
    return scaled(c, more(c, odd, 1), 0.5);
}

uint32_t fx_build_gelu(struct call *c) {
    bool with_tanh;
    uint32_t x = fx_array(c, 0);
    return is_with_tanh(c, 1, &with_tanh) ? times(c, x, gelu_part(c, x, with_tanh)) : NOT_BUILT;
}

// The slope of gelu_part.
static uint32_t gelu_slope(struct call *c, uint32_t x, bool with_tanh) {
    uint32_t square = times(c, x, x);
    if (!with_tanh)
        return scaled(c, fx_unary(c, PRIM_EXPONENTIAL, scaled(c, square, -0.5)), over_root_two_pi);
    uint32_t t = fx_unary(c, PRIM_TANH, tanh_inside(c, x));
    uint32_t inside = scaled(c, more(c, scaled(c, square, 3 * cubed), 1), root_two_over_pi);
    return scaled(c, times(c, less_from_one(c, times(c, t, t)), inside), 0.5);
}

uint32_t fx_build_gelu_backward(struct call *c) {
    bool with_tanh;
    uint32_t gradient = fx_array(c, 0), x = fx_array(c, 1);
    if (!is_with_tanh(c, 2, &with_tanh))
        return NOT_BUILT;
    uint32_t slope = times(c, x, gelu_slope(c, x, with_tanh));
    return times(c, gradient, plus(c, gelu_part(c, x, with_tanh), slope));
}

uint32_t fx_build_silu_backward(struct call *c) {
    uint32_t gradient = fx_array(c, 0), x = fx_array(c, 1), s = fx_sigmoid(c, x);
    uint32_t slope = more(c, times(c, x, less_from_one(c, s)), 1);
    return times(c, gradient, times(c, s, slope));
}

uint32_t fx_build_sigmoid_backward(struct call *c) {
    uint32_t y = fx_array(c, 1);
    return times(c, fx_array(c, 0), times(c, y, less_from_one(c, y)));
}

uint32_t fx_build_tanh_backward(struct call *c) {
    uint32_t y = fx_array(c, 1);
    return times(c, fx_array(c, 0), less_from_one(c, times(c, y, y)));
}

// Where x is at most the threshold the gradient is zero.
uint32_t fx_build_threshold_backward(struct call *c) {
    double threshold;
    uint32_t gradient = fx_array(c, 0), x = fx_array(c, 1);
    if (!fx_real(c, 2, 0, &threshold))
        return NOT_BUILT;
    uint32_t is_below = fx_compare(c, DIRECTION_LE, x, fx_like(c, x, threshold));
    return fx_select(c, is_below, fx_like(c, gradient, 0), gradient);
}
