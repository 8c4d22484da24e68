// Parts of a contraction. Where one axis cuts two labels of an op, as a ring of devices does with
// the queries and the keys of attention, each device combines what the pairs of its own parts give:
// the result is over some parts of the contracted label only. Coverage says which: with the
// coordinate i on the axis, the parts i + k of the label, for all k that were seen. All devices do
// the same, so one set of k serves for all of them.
//
// Such a value has the term of the whole. It is complete when every k was seen once; before that
// only what adds further parts may read it.
#include "verify/algebra/world.h"

#include <inttypes.h>
#include <string.h>

enum { WORD = 64 };

const struct coverage *coverage_get(const struct world *w, coverage_id id) {
    return interned(&w->coverages, id - 1);
}

bool coverage_has(const struct coverage *coverage, uint32_t part) {
    return coverage->seen[part / WORD] >> part % WORD & 1;
}

static coverage_id coverage_intern(struct world *w, const struct coverage *key) {
    uint32_t n = 0;
    for (uint32_t part = 0; part < key->n_parts; part++)
        n += coverage_has(key, part);
    return n == key->n_parts ? COVERAGE_COMPLETE
                             : intern(&w->coverages, key, sizeof *key, NULL) + 1;
}

coverage_id coverage_of(struct world *w, enum monoid monoid, unsigned axis, unsigned char label,
                        dim_id dim) {
    int64_t size = w->mesh->axes[axis].size, shift;
    struct coverage key;
    memset(&key, 0, sizeof key);
    key.axis = axis;
    key.monoid = monoid;
    key.label = label;
    key.n_parts = (uint32_t)size;
    key.dim = dim_unshifted(&w->digits, dim, axis, &shift);
    if (size > LIMIT_RING)
        return COVERAGE_UNKNOWN;
    int64_t part = (size - shift) % size;
    key.seen[part / WORD] = UINT64_C(1) << part % WORD;
    return coverage_intern(w, &key);
}

uint32_t coverage_axes(const struct world *w, coverage_id id) {
    if (id == COVERAGE_COMPLETE)
        return 0;
    return id == COVERAGE_UNKNOWN ? w->all_axes : 1u << coverage_get(w, id)->axis;
}

coverage_id coverage_shift(struct world *w, coverage_id id, unsigned axis, int64_t by) {
    if (!(coverage_axes(w, id) >> axis & 1) || id == COVERAGE_UNKNOWN)
        return id;
    const struct coverage *old = coverage_get(w, id);
    struct coverage key = *old;
    int64_t n = key.n_parts;
    memset(key.seen, 0, sizeof key.seen);
    for (int64_t part = 0; part < n; part++)
        if (coverage_has(old, (uint32_t)part)) {
            int64_t to = ((part - by) % n + n) % n;
            key.seen[to / WORD] |= UINT64_C(1) << to % WORD;
        }
    return coverage_intern(w, &key);
}

bool coverage_join(struct world *w, enum monoid monoid, coverage_id a, coverage_id b,
                   struct coverage_join *join) {
    if (a == COVERAGE_UNKNOWN || b == COVERAGE_UNKNOWN || !a || !b)
        return false;
    const struct coverage *left = coverage_get(w, a), *right = coverage_get(w, b);
    struct coverage key = *left;
    if (left->monoid != monoid || right->monoid != monoid || left->axis != right->axis ||
        left->dim != right->dim || left->label != right->label)
        return false;
    join->twice = -1;
    for (uint32_t part = 0; part < key.n_parts; part++)
        if (coverage_has(left, part) && coverage_has(right, part) && join->twice < 0)
            join->twice = part;
    for (uint32_t i = 0; i < LIMIT_RING / WORD; i++)
        key.seen[i] |= right->seen[i];
    join->both = coverage_intern(w, &key);
    return true;
}

// ---- words ------------------------------------------------------------------------------------

const char *coverage_part_text(const struct world *w, coverage_id id, int64_t part) {
    const struct coverage *key = coverage_get(w, id);
    const char *what = key->label == 't' ? "keys" : key->label == 's' ? "queries" : "parts";
    const struct dim_key *dim = dim_get(&w->digits, key->dim)->key;
    if (dim->order.chunks)
        return arena_format(w->arena, "%s of chunks %" PRId64 " and %" PRId64, what, part,
                            dim->order.chunks - 1 - part);
    return arena_format(w->arena, "%s of chunk %" PRId64, what, part);
}

const char *coverage_missing_text(const struct world *w, coverage_id id) {
    if (id == COVERAGE_UNKNOWN)
        return "some of its parts";
    const struct coverage *key = coverage_get(w, id);
    uint32_t part = 0;
    while (coverage_has(key, part))
        part++;
    return arena_format(w->arena, "%s on the first device of `%s`", coverage_part_text(w, id, part),
                        w->mesh->axes[key->axis].name);
}
