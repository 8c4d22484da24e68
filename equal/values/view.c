// Views, in normal form; see view.h.
#include "equal/values/view.h"

#include <string.h>

#include "ir/check.h"

// ---- interning --------------------------------------------------------------------------------

struct view_key { // then the affines: base, number of pieces, pieces
    uint64_t n;
    int64_t words[];
};

enum { MOST_WORDS = 1 + MAX_DIMENSIONS * (2 + MAX_PIECES * 5) };

void views_init(struct views *views, struct arena *arena) {
    *views = (struct views){.keys = {.arena = arena}};
    struct view scalar = {.n = 0};
    CHECK(view_intern(views, &scalar) == VIEW_SCALAR);
}

view_id view_intern(struct views *views, const struct view *view) {
    int64_t words[MOST_WORDS];
    uint32_t n = 0;
    words[n++] = view->n;
    for (uint32_t i = 0; i < view->n; i++) {
        const struct affine *of = &view->of[i];
        words[n++] = of->base;
        words[n++] = of->n;
        memcpy(&words[n], of->pieces, of->n * sizeof *of->pieces);
        n += of->n * (uint32_t)(sizeof *of->pieces / sizeof *words);
    }
    return intern(&views->keys, words, n * (uint32_t)sizeof *words, NULL);
}

void view_get(const struct views *views, view_id id, struct view *view) {
    const int64_t *words = interned(&views->keys, id);
    view->n = (uint32_t)*words++;
    for (uint32_t i = 0; i < view->n; i++) {
        struct affine *of = &view->of[i];
        of->base = *words++;
        of->n = (uint32_t)*words++;
        memcpy(of->pieces, words, of->n * sizeof *of->pieces);
        words += of->n * (sizeof *of->pieces / sizeof *words);
    }
}

static void copy_affine(struct affine *to, const struct affine *from) {
    to->base = from->base;
    to->n = from->n;
    memcpy(to->pieces, from->pieces, from->n * sizeof *from->pieces);
}

void view_copy(struct view *to, const struct view *from) {
    to->n = from->n;
    for (uint32_t i = 0; i < from->n; i++)
        copy_affine(&to->of[i], &from->of[i]);
}

// ---- affine indices ---------------------------------------------------------------------------

struct affine affine_constant(int64_t base) {
    return (struct affine){.base = base};
}

struct affine affine_coordinate(uint32_t coordinate, int64_t extent) {
    struct affine index = {.base = 0};
    if (extent > 1)
        index.pieces[index.n++] = (struct piece){1, 1, extent, 0, coordinate};
    return index;
}

bool affine_push(struct affine *index, struct piece piece) {
    if (piece.extent <= 1 || piece.coefficient == 0) // of no place, too: nobody reads it there
        return true;
    if (index->n == MAX_PIECES)
        return false;
    index->pieces[index->n++] = piece;
    return true;
}

int64_t affine_least(const struct affine *index) {
    int64_t least = index->base;
    for (uint32_t i = 0; i < index->n; i++)
        if (index->pieces[i].coefficient < 0)
            least += index->pieces[i].coefficient * (index->pieces[i].extent - 1);
    return least;
}

int64_t affine_largest(const struct affine *index) {
    int64_t largest = index->base;
    for (uint32_t i = 0; i < index->n; i++)
        if (index->pieces[i].coefficient > 0)
            largest += index->pieces[i].coefficient * (index->pieces[i].extent - 1);
    return largest;
}

bool affine_has(const struct affine *index, uint32_t coordinate) {
    for (uint32_t i = 0; i < index->n; i++)
        if (index->pieces[i].coordinate == coordinate)
            return true;
    return false;
}

// Parts a piece in two, the lower one of `extent` places. False: it does not fall on digits of it.
static bool part_piece(struct piece piece, int64_t extent, struct piece *high, struct piece *low) {
    if (extent <= 1 || piece.extent % extent != 0 || piece.shift % extent != 0)
        return false;
    *low = piece;
    low->extent = extent;
    low->shift = 0;
    *high = piece;
    high->extent = piece.extent / extent;
    high->stride = piece.stride * extent;
    high->shift = piece.shift / extent;
    return !__builtin_mul_overflow(piece.coefficient, extent, &high->coefficient);
}

// Whether `high` and `low` are the digits of one piece, which is `*both` then.
static bool join_pieces(const struct piece *high, const struct piece *low, struct piece *both) {
    if (high->coordinate != low->coordinate || low->shift != 0 ||
        high->stride != low->stride * low->extent ||
        high->coefficient != low->coefficient * low->extent)
        return false;
    *both = *low;
    both->extent = high->extent * low->extent;
    both->shift = high->shift * low->extent;
    return true;
}

static void remove_piece(struct affine *index, uint32_t at) {
    index->n--;
    memmove(&index->pieces[at], &index->pieces[at + 1], (index->n - at) * sizeof *index->pieces);
}

static bool overlap(const struct piece *a, const struct piece *b) {
    return a->coordinate == b->coordinate && a->stride < b->stride * b->extent &&
           b->stride < a->stride * a->extent;
}

// Parts pieces `a` and `b`, which overlap, where one of them begins or ends inside of the other. False: there is no
// such place, and they are one, or it is none of their digits (`*stuck`).
static bool part_overlap(struct affine *index, uint32_t a, uint32_t b, bool *stuck) {
    for (int turn = 0; turn < 4; turn++) {
        uint32_t inner = turn & 1 ? a : b, outer = turn & 1 ? b : a;
        const struct piece *in = &index->pieces[inner], *out = &index->pieces[outer];
        int64_t at = turn & 2 ? in->stride * in->extent : in->stride;
        if (at <= out->stride || at >= out->stride * out->extent)
            continue;
        struct piece high, low;
        *stuck = at % out->stride != 0 || index->n == MAX_PIECES ||
                 !part_piece(*out, at / out->stride, &high, &low);
        if (*stuck)
            return false;
        index->pieces[outer] = high;
        index->pieces[index->n++] = low;
        return true;
    }
    return false;
}

// One step to where no two pieces overlap.
static bool settle_overlap(struct affine *index, bool *stuck) {
    for (uint32_t a = 0; a < index->n; a++)
        for (uint32_t b = a + 1; b < index->n; b++) {
            struct piece *one = &index->pieces[a], *other = &index->pieces[b];
            if (!overlap(one, other))
                continue;
            if (part_overlap(index, a, b, stuck))
                return true;
            if (*stuck || one->stride != other->stride || one->extent != other->extent)
                return false;
            if (one->shift != other->shift) // digits of a ring's turns stay beside each other
                continue;
            one->coefficient += other->coefficient;
            remove_piece(index, b);
            if (one->coefficient == 0)
                remove_piece(index, a);
            return true;
        }
    return false;
}

static bool join_any(struct affine *index) {
    for (uint32_t a = 0; a < index->n; a++)
        for (uint32_t b = 0; b < index->n; b++) {
            struct piece both;
            if (a == b || !join_pieces(&index->pieces[a], &index->pieces[b], &both))
                continue;
            index->pieces[a] = both;
            remove_piece(index, b);
            return true;
        }
    return false;
}

static bool piece_before(const struct piece *a, const struct piece *b) {
    if (a->coefficient != b->coefficient)
        return a->coefficient > b->coefficient;
    if (a->coordinate != b->coordinate)
        return a->coordinate < b->coordinate;
    if (a->stride != b->stride)
        return a->stride > b->stride;
    return a->shift < b->shift;
}

bool affine_normal(struct affine *index) {
    bool stuck = false;
    for (uint32_t i = 0; i < index->n;) {
        if (index->pieces[i].extent == 1 || index->pieces[i].coefficient == 0)
            remove_piece(index, i);
        else
            i++;
    }
    while (settle_overlap(index, &stuck))
        continue;
    if (stuck)
        return false;
    while (join_any(index))
        continue;
    for (uint32_t i = 1; i < index->n; i++) {
        struct piece piece = index->pieces[i];
        uint32_t at = i;
        for (; at > 0 && piece_before(&piece, &index->pieces[at - 1]); at--)
            index->pieces[at] = index->pieces[at - 1];
        index->pieces[at] = piece;
    }
    return true;
}

bool affine_add(struct affine *index, const struct affine *other, int64_t factor) {
    int64_t base;
    if (__builtin_mul_overflow(other->base, factor, &base) ||
        __builtin_add_overflow(index->base, base, &index->base))
        return false;
    for (uint32_t i = 0; i < other->n; i++) {
        struct piece piece = other->pieces[i];
        if (__builtin_mul_overflow(piece.coefficient, factor, &piece.coefficient) ||
            !affine_push(index, piece))
            return false;
    }
    return true;
}

// ---- pieces of an index -----------------------------------------------------------------------

// Parts the pieces of the index in which the place `at` falls. False: it falls on no digit of them.
static bool part_at(struct affine *index, int64_t at) {
    for (uint32_t i = 0; i < index->n; i++) {
        struct piece piece = index->pieces[i], high, low;
        if (piece.coefficient >= at || piece.coefficient * (piece.extent - 1) < at)
            continue;
        if (at % piece.coefficient != 0 || index->n == MAX_PIECES ||
            !part_piece(piece, at / piece.coefficient, &high, &low))
            return false;
        index->pieces[i] = high;
        index->pieces[index->n++] = low;
    }
    return true;
}

// index / at, and what is left, of an index that is not negative. False: it is not said by pieces.
static bool divide(const struct affine *index, int64_t at, struct affine *quotient,
                   struct affine *rest) {
    struct affine parted = *index;
    if (!part_at(&parted, at))
        return false;
    *quotient = affine_constant(parted.base / at);
    *rest = affine_constant(parted.base % at);
    for (uint32_t i = 0; i < parted.n; i++) {
        struct piece piece = parted.pieces[i];
        bool low = piece.coefficient < at;
        if (!low && piece.coefficient % at != 0)
            return false;
        if (!low)
            piece.coefficient /= at;
        affine_push(low ? rest : quotient, piece);
    }
    return affine_largest(rest) < at;
}

bool affine_piece(const struct affine *index, int64_t size, int64_t stride, int64_t extent,
                  struct affine *piece) {
    struct affine quotient, rest;
    if (stride == 1 && extent >= size) {
        *piece = *index;
        return true;
    }
    if (affine_least(index) < 0)
        return false;
    for (uint32_t i = 0; i < index->n; i++)
        if (index->pieces[i].coefficient < 0)
            return false;
    quotient = *index;
    if (stride > 1 && !divide(index, stride, &quotient, &rest))
        return false;
    *piece = quotient;
    return affine_largest(&quotient) < extent || divide(&quotient, extent, &rest, piece);
}

// ---- substitution -----------------------------------------------------------------------------

// The index turned round by `shift` in `extent` places. False: it is not a digit of these.
static bool turn(struct affine *index, int64_t shift, int64_t extent) {
    if (shift == 0)
        return true;
    if (index->n == 0) {
        index->base = (index->base + shift) % extent;
        return true;
    }
    if (!affine_normal(index) || index->base != 0)
        return false;
    struct piece *top = &index->pieces[0];
    if (shift % top->coefficient != 0 || top->coefficient * top->extent != extent)
        return false;
    top->shift = (top->shift + shift / top->coefficient) % top->extent;
    return true;
}

bool affine_turned(const struct affine *index, int64_t extent, struct affine *turned) {
    int64_t shift = (index->base % extent + extent) % extent;
    *turned = affine_constant(0);
    for (uint32_t i = 0; i < index->n; i++)
        if (index->pieces[i].coefficient % extent != 0 && !affine_push(turned, index->pieces[i]))
            return false;
    return affine_least(turned) == 0 && affine_largest(turned) == extent - 1 &&
           turn(turned, shift, extent);
}

bool affine_substitute(const struct affine *index, const struct substitution *by,
                       struct affine *made) {
    *made = affine_constant(index->base);
    for (uint32_t i = 0; i < index->n; i++) {
        const struct piece *piece = &index->pieces[i];
        const struct affine *of = by->of[piece->coordinate];
        if (!of) {
            if (!affine_push(made, *piece))
                return false;
            continue;
        }
        struct affine part;
        if (!affine_piece(of, by->sizes[piece->coordinate], piece->stride, piece->extent, &part) ||
            !turn(&part, piece->shift, piece->extent) ||
            !affine_add(made, &part, piece->coefficient))
            return false;
    }
    return affine_normal(made);
}

bool view_substitute(const struct view *view, const struct substitution *by, struct view *made) {
    made->n = view->n;
    for (uint32_t i = 0; i < view->n; i++)
        if (!affine_substitute(&view->of[i], by, &made->of[i]))
            return false;
    return true;
}
