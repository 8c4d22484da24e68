// Each prime is a multiple of the one before, plus one, so that it has exponentials of the field before. Bases were drawn at
// random of the elements of that order: no number that programs write is a power of them.
#include "equal/residues/field.h"

const struct field fields[N_FIELDS] = {
    {UINT64_C(651808504387), 0},
    {UINT64_C(3910851026323), UINT64_C(3287286783547)},
    {UINT64_C(23465106157939), UINT64_C(6033389102100)},
    {UINT64_C(516232335474659), UINT64_C(116879770555580)},
    {UINT64_C(1032464670949319), UINT64_C(479621091969579)},
    {UINT64_C(2064929341898639), UINT64_C(531363476141684)},
    {UINT64_C(37168728154175503), UINT64_C(20805317381438778)},
    {UINT64_C(371687281541755031), UINT64_C(103756346337569538)},
};

uint64_t field_power(const struct field *field, uint64_t value, uint64_t exponent) {
    uint64_t power = 1;
    for (; exponent; exponent >>= 1) {
        if (exponent & 1)
            power = field_multiply(field, power, value);
        value = field_multiply(field, value, value);
    }
    return power;
}

uint64_t field_inverse(const struct field *field, uint64_t value) {
    return field_power(field, value, field->prime - 2);
}

uint64_t field_of_integer(const struct field *field, int64_t integer) {
    uint64_t magnitude = integer < 0 ? -(uint64_t)integer : (uint64_t)integer;
    magnitude %= field->prime;
    return integer < 0 ? field_negate(field, magnitude) : magnitude;
}

// Two fractions of such integers are different elements, and of what is none hardly any element is taken for one: of the
// largest field one of some millions.
enum { MOST_OF_DENOMINATOR = 64 };
static const uint64_t most_of_numerator = UINT64_C(1) << 31;

bool field_as_fraction(const struct field *field, uint64_t value, int64_t *numerator,
                       int64_t *denominator) {
    uint64_t multiple = 0;
    for (*denominator = 1; *denominator <= MOST_OF_DENOMINATOR; ++*denominator) {
        multiple = field_add(field, multiple, value);
        bool negative = multiple > field->prime / 2;
        uint64_t magnitude = negative ? field->prime - multiple : multiple;
        if (magnitude >= most_of_numerator)
            continue;
        *numerator = negative ? -(int64_t)magnitude : (int64_t)magnitude;
        return true;
    }
    return false;
}

// The finalizer of SplitMix64 (Steele, Lea and Flood, "Fast Splittable Pseudorandom Number Generators", 2014).
static uint64_t finished(uint64_t word) {
    word = (word ^ word >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    word = (word ^ word >> 27) * UINT64_C(0x94d049bb133111eb);
    return word ^ word >> 31;
}

uint64_t mixed(uint64_t so_far, uint64_t word) {
    return finished(finished(so_far + UINT64_C(0x9e3779b97f4a7c15)) ^ word);
}

uint64_t field_draw(const struct field *field, uint64_t so_far) {
    return mixed(so_far, field->prime) % field->prime;
}
