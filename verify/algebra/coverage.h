// Which parts of a contracted label a value combines on a device (coverage.c).
#ifndef PLACE_VERIFY_ALGEBRA_COVERAGE_H
#define PLACE_VERIFY_ALGEBRA_COVERAGE_H

#include "ir/limits.h"
#include "verify/algebra/digits.h"

typedef uint32_t coverage_id;
enum { COVERAGE_COMPLETE = 0 };
#define COVERAGE_UNKNOWN UINT32_MAX // of a ring that is too long to follow
struct coverage {                   // no padding
    uint32_t axis;
    dim_id dim; // of the contracted label, not shifted
    uint32_t label, n_parts;
    uint32_t monoid, none;          // by which parts are put together
    uint64_t seen[LIMIT_RING / 64]; // bit k: on the device at i, part i + k
};

struct world;

coverage_id coverage_of(struct world *, enum monoid, unsigned axis, unsigned char label, dim_id);
const struct coverage *coverage_get(const struct world *, coverage_id); // not of the two above
bool coverage_has(const struct coverage *, uint32_t part);
uint32_t coverage_axes(const struct world *, coverage_id); // mask of the axis it is about
// Every device has what the one `by` before it on the axis had, counted round.
coverage_id coverage_shift(struct world *, coverage_id, unsigned axis, int64_t by);
struct coverage_join {
    coverage_id both;
    int64_t twice; // a part that both have, on device 0 of the axis; -1: none
};
// False: they are not parts of one contraction, or of one by another monoid.
bool coverage_join(struct world *, enum monoid, coverage_id, coverage_id, struct coverage_join *);
const char *coverage_part_text(const struct world *, coverage_id,
                               int64_t part);                         // "keys of chunk 3"
const char *coverage_missing_text(const struct world *, coverage_id); // the first of them

#endif
