// What an op is given, by the places of its row.
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "equal/fx/calls.h"

uint32_t fx_fail(struct call *c, const char *format, ...) {
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    int length = vsnprintf(NULL, 0, format, args);
    char *text = arena_alloc(c->r->s.scratch, (size_t)length + 1);
    vsnprintf(text, (size_t)length + 1, format, again);
    va_end(again);
    va_end(args);
    scan_fail(&c->r->s, E905, c->name, "`%.*s`: %s", WORD(c->op), text);
    return NOT_BUILT;
}

struct sizes fx_sizes(const struct call *c, uint32_t array) {
    struct sizes sizes = {.rank = 0};
    if (array == NOT_BUILT)
        return sizes;
    sizes.rank = fx_shape(c, array)->rank;
    memcpy(sizes.of, fx_shape(c, array)->sizes, sizes.rank * sizeof *sizes.of);
    return sizes;
}

static bool fail_argument(struct call *c, uint32_t i, const char *what) {
    const struct argument *a = c->of[i];
    if (a && a->kind == ARGUMENT_BY_RANK)
        return scan_fail(&c->r->s, E908, a->at, "each rank has its own number here");
    struct word at = a && a->at.length ? a->at : c->name;
    return scan_fail(&c->r->s, E905, at, "`%.*s` is given %s as its operand %u", WORD(c->op), what,
                     i);
}

static uint32_t array_of(struct call *c, const struct argument *a, uint32_t i) {
    struct diagnostic *d;
    if (a && a->kind == ARGUMENT_NAMED && a->named->kind == NAMED_ARRAY &&
        !fx_shape(c, a->named->instruction)->is_tuple)
        return a->named->instruction;
    if (a && a->kind == ARGUMENT_NAMED && a->named->kind == NAMED_UNTOLD) {
        d = scan_report(&c->r->s, E905, a->at, "`%.*s` is of `%s`, and has no shape", WORD(a->at),
                        a->named->op);
        if (d)
            diagnostic_help(d, "print the graph with shapes, as `gm.print_readable()` does");
        return NOT_BUILT;
    }
    fail_argument(c, i, a ? "what is no array" : "nothing");
    return NOT_BUILT;
}

uint32_t fx_array(struct call *c, uint32_t i) {
    return array_of(c, c->of[i], i);
}

bool fx_is_array(const struct call *c, uint32_t i) {
    return c->of[i] && c->of[i]->kind == ARGUMENT_NAMED && c->of[i]->named->kind != NAMED_OTHER;
}

bool fx_integer(struct call *c, uint32_t i, int64_t otherwise, int64_t *number) {
    *number = otherwise;
    if (!c->of[i])
        return true;
    if (!fx_is_integer(c->of[i]))
        return fail_argument(c, i, "no whole number");
    *number = c->of[i]->integer;
    return true;
}

bool fx_real(struct call *c, uint32_t i, double otherwise, double *number) {
    *number = otherwise;
    if (!c->of[i])
        return true;
    if (c->of[i]->kind == ARGUMENT_REAL)
        *number = c->of[i]->real;
    else if (fx_is_integer(c->of[i]))
        *number = (double)c->of[i]->integer;
    else
        return fail_argument(c, i, "no number");
    return true;
}

bool fx_truth(struct call *c, uint32_t i, bool otherwise, bool *truth) {
    int64_t number;
    bool good = fx_integer(c, i, otherwise, &number);
    *truth = number != 0;
    return good;
}

bool fx_integers(struct call *c, uint32_t i, struct sizes *numbers) {
    const struct argument *a = c->of[i];
    numbers->rank = 0;
    if (a && fx_is_integer(a)) {
        numbers->of[numbers->rank++] = a->integer;
        return true;
    }
    if (a && a->kind != ARGUMENT_LIST)
        return fail_argument(c, i, "no list of numbers");
    if (a && a->list.n > MAX_GRAPH_RANK)
        return scan_fail(&c->r->s, E907, c->name, "more than %d dimensions", MAX_GRAPH_RANK);
    for (uint32_t k = 0; a && k < a->list.n; k++) {
        if (!fx_is_integer(&a->list.of[k]))
            return fail_argument(c, i, "a list of what are no numbers");
        numbers->of[numbers->rank++] = a->list.of[k].integer;
    }
    return true;
}

bool fx_dimension(struct call *c, int64_t given, uint32_t rank, uint32_t *dimension) {
    int64_t at = given < 0 ? given + rank : given;
    if (at >= 0 && at < rank) {
        *dimension = (uint32_t)at;
        return true;
    }
    fx_fail(c, "no dimension %lld of %u", (long long)given, rank);
    return false;
}

bool fx_element_given(struct call *c, uint32_t i, enum element *element) {
    return !c->of[i] ||
           (c->of[i]->kind == ARGUMENT_WORD && fx_element_of_word(c->of[i]->at, element)) ||
           fail_argument(c, i, "no type of elements");
}
