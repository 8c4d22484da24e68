// What numbers say of the arrays of the many devices, when both programs are executed on the same inputs: on inputs drawn
// at random a number that one device has made, too, is that value, whatever its term is. Numbers that many values have
// (zeros, small integers, constants of the text) say nothing.
#ifndef PLACE_EQUAL_DIAGNOSIS_NUMBERS_H
#define PLACE_EQUAL_DIAGNOSIS_NUMBERS_H

#include <math.h>

#include "equal/diagnosis/soundness.h"
#include "equal/diagnosis/trace.h"
#include "equal/layout/layout.h"

// Where one device has made a number first.
struct origin {
    uint32_t array; // of its trace; NOWHERE: it has not
    int64_t element;
};
enum { NOWHERE = UINT32_MAX };

struct numbers {
    const struct trace *one, *many;
    const struct device_mesh *mesh;
    struct number_slot *slots; // of what one device has made, by number; open addressing
    uint64_t n_slots, n;       // a power of two; of these are taken
    double *common;            // the constants of both texts, in order
    uint32_t n_common;
    bool has_none;     // one device has made something that is no number
    uint32_t *devices; // room for those of a group
    uint32_t *turns;   // by array of the many's trace the next that the instruction makes, round
    struct arena *arena;
};

// False: one device has made more numbers than are to be kept.
bool numbers_init(struct numbers *, const struct trace *one, const struct trace *many,
                  const struct device_mesh *, struct arena *);
// Asks of all numbers of an array that tell, or of its sums over axes: STATE_KNOWN where the answer is always true,
// STATE_WRONG where it is not, and STATE_OPEN where no number tells.
typedef bool number_asked(void *, double number);
enum soundness numbers_ask(const struct numbers *, const struct traced *of_many, uint64_t axes,
                           number_asked *, void *);
struct seen numbers_say(const struct numbers *, const struct traced *of_many);
// Whether so large a number tells where it comes from.
bool numbers_tell(const struct numbers *, double number);
// Whether they are equal but for how sums were ordered.
static inline bool numbers_alike(double a, double b) {
    return fabs(a - b) <= 1e-9 * fabs(a);
}
// Arrays that one instruction makes, as a ring: for each the next.
uint32_t *turns_of(const struct trace *, struct arena *);
int compare_numbers(const void *, const void *); // of doubles, for qsort
struct origin numbers_origin(const struct numbers *, double number);
// Whether the array is one of the one device times a number.
bool numbers_factor(const struct numbers *, const struct traced *of_many, int64_t *numerator,
                    int64_t *denominator);
// The same of masks and constants, whose numbers do not tell: whether those of the many's array are those of this array
// of the one device, times a number other than one.
bool numbers_factor_of(const struct numbers *, const struct traced *of_many,
                       const struct traced *of_one, int64_t *numerator, int64_t *denominator);

#endif
