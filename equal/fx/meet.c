// Arrays and numbers that meet in one op.
#include "equal/fx/meet.h"

// Types of arrays give way to each other; then those of arrays of one number, and of numbers, if they are of another
// sort of numbers.
struct met_types {
    bool has[3];
    enum element of[3]; // of arrays, of arrays of one number, of numbers
};

static void meet_type(struct met_types *met, int level, enum element element) {
    met->of[level] = met->has[level] ? fx_promoted(met->of[level], element) : element;
    met->has[level] = true;
}

static int sort_of(enum element element) {
    enum number_kind kind = fx_kind(element);
    return kind == NUMBER_UNSIGNED ? NUMBER_INTEGER : (int)kind;
}

static enum element met_type(const struct met_types *met) {
    enum element element = ELEMENT_TYPE_PRED;
    for (int level = 0; level < 3; level++)
        if (met->has[level] && sort_of(met->of[level]) > sort_of(element))
            element = met->of[level];
    return element;
}

bool fx_meet_sizes(struct call *c, uint32_t array, struct sizes *sizes) {
    const struct sizes with = fx_sizes(c, array);
    struct sizes both = with.rank > sizes->rank ? with : *sizes;
    for (uint32_t k = 1; k <= with.rank && k <= sizes->rank; k++) {
        int64_t a = with.of[with.rank - k], b = sizes->of[sizes->rank - k];
        if (a != b && a != 1 && b != 1) {
            fx_fail(c, "%lld elements meet %lld", (long long)a, (long long)b);
            return false;
        }
        both.of[both.rank - k] = a == 1 ? b : a;
    }
    *sizes = both;
    return true;
}

bool fx_meet(struct call *c, uint32_t first, uint32_t end, enum element *element,
             struct sizes *sizes) {
    struct met_types met = {.has = {false}};
    *sizes = (struct sizes){.rank = 0};
    for (uint32_t i = first; i < end; i++) {
        const struct argument *a = c->of[i];
        bool is_by_rank = a && a->kind == ARGUMENT_BY_RANK;
        if (a && (a->kind == ARGUMENT_REAL || fx_is_integer(a) || is_by_rank)) {
            meet_type(&met, 2,
                      a->kind == ARGUMENT_REAL    ? ELEMENT_TYPE_F32
                      : a->kind == ARGUMENT_TRUTH ? ELEMENT_TYPE_PRED
                                                  : ELEMENT_TYPE_S64);
            continue;
        }
        uint32_t array = fx_array(c, i);
        if (array == NOT_BUILT)
            return false;
        meet_type(&met, fx_shape(c, array)->rank == 0, fx_element(c, array));
        if (!fx_meet_sizes(c, array, sizes))
            return false;
    }
    *element = met_type(&met);
    return true;
}

uint32_t fx_fitted(struct call *c, uint32_t i, enum element element, const struct sizes *sizes) {
    double number;
    if (fx_is_array(c, i))
        return fx_expand(c, fx_convert(c, fx_array(c, i), element), sizes);
    if (c->of[i] && c->of[i]->kind == ARGUMENT_BY_RANK)
        return fx_expand(c, fx_convert(c, fx_by_rank(c, c->of[i]->by_rank), element), sizes);
    return fx_real(c, i, 0, &number) ? fx_full(c, element, number, sizes) : NOT_BUILT;
}
