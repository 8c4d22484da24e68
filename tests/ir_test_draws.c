// The numbers that dropout draws: equally distributed, and two elements that differ in any one
// coordinate, the key or the site have nothing to do with one another. Every coordinate is tried in
// the steps in which programs take it, so that one which is forgotten, or does too little, shows.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>

#include "ir/interpreter/draws.h"

// By how many standard deviations the share of n draws, which should be p, may be off. All draws
// are fixed, so what is below the limit once is so always.
static const double most_deviations = 4.5;

static void check_share(const char *what, int64_t hits, int64_t n, double p) {
    double deviations = fabs((double)hits - (double)n * p) / sqrt((double)n * p * (1 - p));
    if (!(deviations < most_deviations))
        fail_msg("%s: %lld of %lld where %g of them are expected", what, (long long)hits,
                 (long long)n, p);
}

static struct draw draw_at(int64_t i) { // elements of a small model, the column fastest
    return (struct draw){.key = 1234567890123,
                         .column = (uint32_t)(i % 96),
                         .position = (uint32_t)(i / 96 % 32),
                         .sample = (uint32_t)(i / 96 / 32 % 8),
                         .layer = (uint32_t)(i / 96 / 32 / 8)};
}
enum { ELEMENTS = 96 * 32 * 8 * 4 };

static void drops_as_often_as_it_should(void **state) {
    static const double probabilities[] = {0.01, 0.1, 0.3, 0.5, 0.9};
    for (int k = 0; k < 5; k++) {
        int64_t hits = 0;
        for (int64_t i = 0; i < ELEMENTS; i++) {
            struct draw draw = draw_at(i);
            hits += draw_drops(&draw, probabilities[k]);
        }
        check_share("dropped", hits, ELEMENTS, probabilities[k]);
    }
    struct draw draw = draw_at(0);
    assert_false(draw_drops(&draw, 0));
}

static void every_bit_is_set_half_the_time(void **state) {
    for (int bit = 0; bit < 32; bit++) {
        int64_t hits = 0;
        for (int64_t i = 0; i < ELEMENTS; i++) {
            struct draw draw = draw_at(i);
            hits += draw_number(&draw) >> bit & 1;
        }
        check_share("bit", hits, ELEMENTS, 0.5);
    }
}

// How often two elements are dropped together, and that they are not just equal in all bits.
static void check_pair(const char *what, struct draw by) {
    int64_t together = 0, equal = 0;
    for (int64_t i = 0; i < ELEMENTS; i++) {
        struct draw a = draw_at(i), b = a;
        b.key += by.key;
        b.sample += by.sample;
        b.position += by.position;
        b.layer += by.layer;
        b.site += by.site;
        b.column += by.column;
        together += draw_drops(&a, 0.3) && draw_drops(&b, 0.3);
        equal += draw_number(&a) == draw_number(&b);
    }
    check_share(what, together, ELEMENTS, 0.3 * 0.3);
    assert_true(equal < 3);
}

static void neighbours_are_independent(void **state) {
    for (uint32_t step = 1; step <= 64; step *= 2) {
        check_pair("keys", (struct draw){.key = step});
        check_pair("keys, high bits", (struct draw){.key = (uint64_t)step << 40});
        check_pair("samples", (struct draw){.sample = step});
        check_pair("positions", (struct draw){.position = step});
        check_pair("layers", (struct draw){.layer = step});
        check_pair("sites", (struct draw){.site = step});
        check_pair("columns", (struct draw){.column = step});
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(drops_as_often_as_it_should),
        cmocka_unit_test(every_bit_is_set_half_the_time),
        cmocka_unit_test(neighbours_are_independent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
