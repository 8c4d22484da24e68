// What begins and ends a calculus, and the makers of the normal forms that are made of each other.
#include "equal/values/make.h"

static const struct normal_forms forms = {
    .move = normal_move,
    .read = normal_read,
    .sum = normal_sum,
    .product = normal_product,
    .of_kind = normal_of_kind,
    .exponential = normal_exponential,
};

void calculus_init(struct calculus *c, struct arena *arena) {
    *c = (struct calculus){.forms = &forms, .arena = arena};
    terms_init(&c->terms, arena, 1);
    c->pushed_keys.arena = arena;
    c->builder = (struct builder){.terms = &c->terms, .names = NAMES_LEFT};
    views_init(&c->views, arena);
}

void calculus_free(struct calculus *c) {
    arena_free(&c->scratch);
}
