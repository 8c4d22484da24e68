// Reports of what does not fit, and questions about shapes.
#include "equal/graph/checker.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool check_failed_at(const struct checked *c, const char *format, ...) {
    va_list args;
    char *message = NULL;
    size_t length = 0;
    FILE *to = memory_given(open_memstream(&message, &length));
    va_start(args, format);
    vfprintf(to, format, args);
    va_end(args);
    memory_written(to);
    struct diagnostic *d = report(c->diagnostics, E905, c->by->span, "`%s`: %s",
                                  primitive_rows[c->by->primitive].word, message);
    free(message);
    enum { SHOWN = 3 };
    for (uint32_t i = 0; i < c->by->n_operands && i < SHOWN; i++) {
        const struct instruction *operand = graph_operand(c->computation, c->by, i);
        diagnostic_label(d, operand->span, "operand %u: %s", i,
                         shape_text(operand->shape, c->diagnostics->arena));
    }
    return false;
}

bool have_same_sizes(const struct array_shape *a, const struct array_shape *b) {
    return a->rank == b->rank && memcmp(a->sizes, b->sizes, a->rank * sizeof *a->sizes) == 0;
}

bool have_alike_elements(const struct array_shape *a, const struct array_shape *b) {
    return a->element == b->element || (kind_of(a) == NUMBER_REAL && kind_of(b) == NUMBER_REAL);
}

bool are_alike(const struct array_shape *a, const struct array_shape *b) {
    if (a == b)
        return true;
    if (a->is_tuple != b->is_tuple || a->n_members != b->n_members)
        return false;
    for (uint32_t i = 0; i < a->n_members; i++)
        if (!are_alike(a->members[i], b->members[i]))
            return false;
    return a->is_tuple || (have_same_sizes(a, b) && have_alike_elements(a, b));
}

bool check_operands_are_arrays(const struct checked *c) {
    for (uint32_t i = 0; i < c->by->n_operands; i++)
        if (shape_of(c, i)->is_tuple)
            return check_failed_at(c, "operand %u is a tuple", i);
    return true;
}

bool check_arrays(const struct checked *c) {
    return check_operands_are_arrays(c) &&
           (!c->by->shape->is_tuple || check_failed_at(c, "the result is no tuple"));
}

bool check_result_sizes(const struct checked *c, const int64_t *sizes, uint32_t rank) {
    const struct array_shape expected = {
        .element = c->by->shape->element, .rank = rank, .sizes = sizes};
    if (have_same_sizes(&expected, c->by->shape))
        return true;
    struct arena *arena = c->diagnostics->arena;
    return check_failed_at(c, "the result is %s, not %s", shape_text(&expected, arena),
                           shape_text(c->by->shape, arena));
}

const struct array_shape *result_of(const struct checked *c, uint32_t i, uint32_t n) {
    return n == 1 ? c->by->shape : c->by->shape->members[i];
}

bool check_results(const struct checked *c, uint32_t n) {
    const struct array_shape *shape = c->by->shape;
    if (n == 0)
        return check_failed_at(c, "there is no operand");
    if (n == 1)
        return !shape->is_tuple || check_failed_at(c, "the result of one operand is no tuple");
    if (!shape->is_tuple || shape->n_members != n)
        return check_failed_at(c, "the result of %u operands is a tuple of as many", n);
    for (uint32_t i = 0; i < n; i++)
        if (shape->members[i]->is_tuple)
            return check_failed_at(c, "result %u is no tuple", i);
    return true;
}

bool check_dimensions(const struct checked *c, const struct number_list *list, uint32_t rank,
                      bool in_order, const char *what) {
    uint32_t seen = 0;
    for (uint32_t i = 0; i < list->n; i++) {
        int64_t d = list->of[i];
        if (d < 0 || d >= rank)
            return check_failed_at(c, "%s has no dimension %lld", what, (long long)d);
        if (seen >> d & 1)
            return check_failed_at(c, "dimension %lld of %s is named twice", (long long)d, what);
        if (in_order && seen >> d)
            return check_failed_at(c, "the dimensions of %s are named in their order", what);
        seen |= UINT32_C(1) << d;
    }
    return true;
}

const struct computation *called_by(const struct checked *c, uint32_t i) {
    return &c->graph->computations[c->by->attributes->called[i]];
}

// What a region takes and gives for one operand: scalars of its type.
static bool is_scalar_of(const struct array_shape *shape, const struct array_shape *operand) {
    return is_scalar(shape) && have_alike_elements(shape, operand);
}

bool check_region(const struct checked *c, uint32_t n) {
    if (c->by->attributes->n_called != 1)
        return check_failed_at(c, "one computation is applied, not %u",
                               c->by->attributes->n_called);
    const struct computation *region = called_by(c, 0);
    const struct array_shape *root = root_shape(region);
    if (region->n_parameters != 2 * (uint64_t)n)
        return check_failed_at(c, "`%s` has %u parameters, not %u", region->name,
                               region->n_parameters, 2 * n);
    if (root->is_tuple ? root->n_members != n : n != 1)
        return check_failed_at(c, "`%s` does not give %u number%s", region->name, n, plural_s(n));
    for (uint32_t i = 0; i < n; i++) {
        const struct array_shape *operand = shape_of(c, i);
        if (!is_scalar_of(parameter_shape(region, i), operand) ||
            !is_scalar_of(parameter_shape(region, n + i), operand) ||
            !is_scalar_of(root->is_tuple ? root->members[i] : root, operand))
            return check_failed_at(c, "`%s` is not of numbers of operand %u's type", region->name,
                                   i);
    }
    return true;
}
