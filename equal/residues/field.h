// Arithmetic modulo primes, and functions that are drawn at random.
#ifndef PLACE_EQUAL_RESIDUES_FIELD_H
#define PLACE_EQUAL_RESIDUES_FIELD_H

#include <stdbool.h>
#include <stdint.h>

struct field {
    uint64_t prime,
        base; // of exponentials: its order is the prime of the field before; of the first 0
};
enum { N_FIELDS = 8 };
extern const struct field fields[N_FIELDS];

// Elements are below the prime. These are none of a field.
#define UNDEFINED UINT64_MAX // nothing is known of it
#define ABOVE_ALL (UINT64_MAX - 1)
#define BELOW_ALL (UINT64_MAX - 2)

static inline bool is_element(uint64_t value) {
    return value < BELOW_ALL;
}
static inline uint64_t field_add(const struct field *field, uint64_t a, uint64_t b) {
    uint64_t sum = a + b;
    return sum >= field->prime ? sum - field->prime : sum;
}
static inline uint64_t field_negate(const struct field *field, uint64_t a) {
    return a ? field->prime - a : 0;
}
static inline uint64_t field_multiply(const struct field *field, uint64_t a, uint64_t b) {
    return (uint64_t)((unsigned __int128)a * b % field->prime);
}
uint64_t field_power(const struct field *, uint64_t, uint64_t exponent);
uint64_t field_inverse(const struct field *, uint64_t); // not of zero
uint64_t field_of_integer(const struct field *, int64_t);
// Finds the integers of which it is the quotient, if there are small ones: the first has its sign. Of the last field.
bool field_as_fraction(const struct field *, uint64_t, int64_t *numerator, int64_t *denominator);

// Mixes a word into what was mixed so far.
uint64_t mixed(uint64_t so_far, uint64_t word);
// An element that what was mixed says.
uint64_t field_draw(const struct field *, uint64_t mixed);

#endif
