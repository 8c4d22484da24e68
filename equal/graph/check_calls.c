// Computations that are called take what they are given, and give what the caller says.
#include "equal/graph/checker.h"

// Whether they are alike. A call is written in few bytes, and its shapes, which stand elsewhere, may be tuples of many:
// two that are not one are compared once.
static bool fit(const struct checked *c, const struct array_shape *a, const struct array_shape *b) {
    const struct array_shape *const pair[] = {a, b};
    if (a == b || intern_has(c->alike, pair, sizeof pair))
        return true;
    if (!are_alike(a, b))
        return false;
    intern(c->alike, pair, sizeof pair, NULL);
    return true;
}

static bool check_gives(const struct checked *c, const struct computation *called,
                        const struct array_shape *shape) {
    return fit(c, root_shape(called), shape) ||
           check_failed_at(c, "`%s` gives %s", called->name,
                           shape_text(root_shape(called), c->diagnostics->arena));
}

// The called takes n operands from `first` on.
static bool check_given(const struct checked *c, const struct computation *called, uint32_t first,
                        uint32_t n) {
    if (called->n_parameters != n)
        return check_failed_at(c, "`%s` has %u parameter%s, not %u", called->name,
                               called->n_parameters, plural_s(called->n_parameters), n);
    for (uint32_t i = 0; i < n; i++)
        if (!fit(c, parameter_shape(called, i), shape_of(c, first + i)))
            return check_failed_at(c, "`%s` takes %s as parameter %u", called->name,
                                   shape_text(parameter_shape(called, i), c->diagnostics->arena),
                                   i);
    return true;
}

static bool check_calls_one(const struct checked *c) {
    return attributes_of(c)->n_called == 1 || check_failed_at(c, "one computation is called");
}

bool check_call(const struct checked *c) {
    return check_calls_one(c) && check_given(c, called_by(c, 0), 0, c->by->n_operands) &&
           check_gives(c, called_by(c, 0), c->by->shape);
}

// A branch for each value of the first operand, each of which has an operand of its own.
bool check_conditional(const struct checked *c) {
    uint32_t n = attributes_of(c)->n_called;
    if (n == 0 || c->by->n_operands != (uint64_t)n + 1)
        return check_failed_at(c, "a choice, branches and as many operands are expected");
    const struct array_shape *choice = shape_of(c, 0);
    bool is_truth = is_scalar(choice) && kind_of(choice) == NUMBER_TRUTH;
    if (!is_truth && !(is_scalar(choice) && is_whole_number(choice)))
        return check_failed_at(c, "the choice is a pred[] or s32[]");
    if (is_truth && n != 2)
        return check_failed_at(c, "a pred[] chooses of two branches");
    for (uint32_t i = 0; i < n; i++)
        if (!check_given(c, called_by(c, i), 1 + i, 1) ||
            !check_gives(c, called_by(c, i), c->by->shape))
            return false;
    return true;
}

// The computation takes an element of each operand, and gives one.
bool check_map(const struct checked *c) {
    if (!check_arrays(c) || !check_calls_one(c))
        return false;
    const struct computation *called = called_by(c, 0);
    if (called->n_parameters != c->by->n_operands)
        return check_failed_at(c, "`%s` has %u parameters", called->name, called->n_parameters);
    for (uint32_t i = 0; i < c->by->n_operands; i++)
        if (!have_same_sizes(shape_of(c, i), c->by->shape) ||
            !is_scalar(parameter_shape(called, i)) ||
            !have_alike_elements(parameter_shape(called, i), shape_of(c, i)))
            return check_failed_at(c, "operand %u does not fit `%s` and the result", i,
                                   called->name);
    return (is_scalar(root_shape(called)) &&
            have_alike_elements(root_shape(called), c->by->shape)) ||
           check_failed_at(c, "`%s` does not give one element", called->name);
}

bool check_while(const struct checked *c) {
    if (attributes_of(c)->n_called != 2)
        return check_failed_at(c, "a condition and a body are called");
    const struct computation *condition = called_by(c, 0), *body = called_by(c, 1);
    if (!check_given(c, condition, 0, 1) || !check_given(c, body, 0, 1))
        return false;
    if (!is_scalar(root_shape(condition)) || kind_of(root_shape(condition)) != NUMBER_TRUTH)
        return check_failed_at(c, "`%s` gives no pred[]", condition->name);
    return check_gives(c, body, shape_of(c, 0)) && check_gives(c, body, c->by->shape);
}
