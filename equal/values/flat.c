// A value along coordinates that it reads by digits, as an array along whole ones (KIND_FLAT): so a range of it can be said
// that falls on none of these digits, as the half of 12 columns is that are 3 heads of 4.
//
// The term's space begins with the coordinates, in the order in which the view has them; behind them are the dimensions that
// lie along no such. Attributes and part are those of KIND_VIEW. Where it is read on digits of what it is of, it is that.
#include <string.h>

#include "equal/values/make.h"
#include "ir/check.h"

// ---- reads ------------------------------------------------------------------------------------

struct scaled open_flat(const struct calculus *c, struct term term, const struct view *view,
                        struct view *inner, struct substitution *by) {
    const int64_t *words = value_attributes(c, term);
    uint32_t n = (uint32_t)words[0];
    CHECK(n == view->n);
    for (uint32_t d = 0; d < n; d++) {
        by->of[d] = &view->of[d];
        by->sizes[d] = words[1 + d];
    }
    view_get(&c->views, (view_id)words[1 + n], inner);
    return term_part(&c->terms, term, 0);
}

bool read_flat(struct calculus *c, struct scaled of, const struct view *view, struct viewed *made) {
    struct substitution by = {0};
    struct view inner, inside;
    struct scaled part = open_flat(c, of.of, view, &inner, &by);
    if (!view_substitute(&inner, &by, &inside))
        return false;
    *made = value_of_term(c, (struct scaled){part.of, of.scale}, &inside);
    return true;
}

// Whether the view has all places of the dimension, by more digits than one.
static bool has_all_digits(const struct view *view, uint32_t dimension, int64_t size) {
    int64_t at = 1, digits = 0;
    for (bool grows = true; grows;) {
        grows = false;
        for (uint32_t d = 0; d < view->n; d++)
            for (uint32_t p = 0; p < view->of[d].n; p++) {
                const struct piece *piece = &view->of[d].pieces[p];
                bool next =
                    piece->coordinate == dimension && piece->stride == at && piece->shift == 0;
                at = next ? at * piece->extent : at;
                digits += next;
                grows |= next;
            }
    }
    return at == size && digits > 1;
}

bool is_told_by_digits(const struct calculus *c, struct term term) {
    const int64_t *words = value_attributes(c, term);
    struct view inner;
    view_get(&c->views, (view_id)words[1 + words[0]], &inner);
    for (uint32_t d = 0; d < (uint32_t)words[0]; d++)
        if (has_all_digits(&inner, d, words[1 + d]))
            return true;
    return false;
}

// What is made of dissolved operands may have to be flattened again, and is then left so.
enum { MOST_DISSOLVING = 4 };

bool made_of_dissolved(struct calculus *c, const struct element_function *function,
                       const struct operand *operands, uint32_t n, const struct joined *joined,
                       struct viewed *made) {
    bool any = false;
    for (uint32_t i = 0; i < n && !any; i++)
        any = term_kind(&c->terms, operands[i].of) == KIND_FLAT;
    if (!any)
        return false;
    struct viewed *values = ARENA_ARRAY(&c->scratch, struct viewed, n + 1);
    any = false;
    for (uint32_t i = 0; i < n; i++) // before their room is used again
        values[i] = value_of_operand(c, &operands[i]);
    for (uint32_t i = 0; i < n; i++) {
        struct view view;
        struct viewed read;
        view_get(&c->views, values[i].view, &view);
        if (term_kind(&c->terms, values[i].of.of) != KIND_FLAT ||
            !read_flat(c, values[i].of, &view, &read))
            continue;
        values[i] = read;
        any = true;
    }
    if (!any || c->dissolving == MOST_DISSOLVING)
        return false;
    struct joined_space space;
    joined_coordinates(joined, &space);
    c->dissolving++;
    struct viewed all = function->make(c, function, values, n, &space.all);
    c->dissolving--;
    return value_move(c, all, &space.back, made);
}

// ---- the term ---------------------------------------------------------------------------------

// Dimensions of a term's view that a substitution cannot say, and their coordinates.
struct flattening {
    const struct view *view;
    const struct substitution *by;
    struct coordinates all; // of the view
    uint64_t failing;       // dimensions
    uint32_t coordinates[MAX_DIMENSIONS], n;
};

static bool add_coordinates(struct flattening *f, const struct affine *index) {
    for (uint32_t i = 0; i < index->n; i++) {
        uint32_t coordinate = (uint32_t)index->pieces[i].coordinate, at = 0;
        while (at < f->n && f->coordinates[at] != coordinate)
            at++;
        if (at == MAX_DIMENSIONS)
            return false;
        f->coordinates[at] = coordinate;
        f->n += at == f->n;
    }
    return true;
}

static bool find_failing(struct flattening *f) {
    for (uint32_t d = 0; d < f->view->n; d++) {
        struct affine made;
        if (affine_substitute(&f->view->of[d], f->by, &made))
            continue;
        f->failing |= UINT64_C(1) << d;
        if (!add_coordinates(f, &f->view->of[d]))
            return false;
    }
    return f->failing;
}

static int64_t flat_size(const struct flattening *f, uint32_t i) {
    uint32_t k = f->coordinates[i];
    return f->by->of[k] && f->by->sizes[k] > f->all.sizes[k] ? f->by->sizes[k] : f->all.sizes[k];
}

// An index over the coordinates as one over the term's dimensions.
static bool over_dimensions(const struct flattening *f, const struct affine *index,
                            struct affine *made) {
    *made = affine_constant(index->base);
    for (uint32_t p = 0; p < index->n; p++) {
        struct piece piece = index->pieces[p];
        uint32_t i = 0;
        while (f->coordinates[i] != piece.coordinate)
            i++;
        piece.coordinate = i;
        if (!affine_push(made, piece))
            return false;
    }
    return affine_normal(made);
}

// The term, not yet read where it may be on digits of what it is of.
static bool make_flat(struct calculus *c, struct flattening *f, struct term of,
                      struct operand *made) {
    const struct space *own = value_space(c, of);
    struct space space = {.n = f->n};
    struct view inner = {.n = f->view->n}, outer = {.n = f->n};
    for (uint32_t i = 0; i < f->n; i++) {
        uint32_t k = f->coordinates[i];
        space.sizes[i] = flat_size(f, i);
        outer.of[i] = f->by->of[k] ? *f->by->of[k] : affine_coordinate(k, space.sizes[i]);
        if (!affine_normal(&outer.of[i]))
            return false;
    }
    for (uint32_t d = 0; d < f->view->n; d++) {
        if (f->failing >> d & 1) {
            if (!over_dimensions(f, &f->view->of[d], &inner.of[d]))
                return false;
            continue;
        }
        if (space.n == MAX_DIMENSIONS ||
            !affine_substitute(&f->view->of[d], f->by, &outer.of[outer.n]))
            return false;
        inner.of[d] = affine_coordinate(space.n, own->sizes[d]);
        space.sizes[space.n++] = own->sizes[d];
        outer.n++;
    }
    int64_t words[MAX_DIMENSIONS + 2] = {space.n};
    memcpy(words + 1, space.sizes, space.n * sizeof *words);
    words[1 + space.n] = view_intern(&c->views, &inner);
    struct part part = part_of(of);
    struct term term =
        term_make(&c->builder, KIND_FLAT, 0, value_words(c, words, space.n + 2), &part, 1);
    value_set_space(c, term, &space);
    made->of = term;
    view_copy(&made->view, &outer);
    return true;
}

// ---- operands ---------------------------------------------------------------------------------

static struct coordinates coordinates_of_operands(const struct operand *operands, uint32_t n) {
    struct coordinates all = {{0}};
    for (uint32_t i = 0; i < n; i++) {
        struct coordinates own = coordinates_of_view(&operands[i].view);
        for (uint32_t k = 0; k < MAX_COORDINATES; k++)
            if (own.sizes[k] > all.sizes[k])
                all.sizes[k] = own.sizes[k];
    }
    return all;
}

static bool has_digit(const struct affine *index, const struct coordinates *all) {
    for (uint32_t i = 0; i < index->n; i++)
        if (index->pieces[i].extent < all->sizes[index->pieces[i].coordinate])
            return true;
    return false;
}

// The operand along whole coordinates, if it reads one by digits.
static bool flatten(struct calculus *c, struct operand *operand, const struct coordinates *all) {
    static const struct substitution stays;
    struct view view;
    view_copy(&view, &operand->view);
    struct flattening f = {.view = &view, .by = &stays, .all = *all};
    for (uint32_t d = 0; d < view.n; d++)
        if (has_digit(&view.of[d], all)) {
            f.failing |= UINT64_C(1) << d;
            if (!add_coordinates(&f, &view.of[d]))
                return false;
        }
    return f.failing && make_flat(c, &f, operand->of, operand);
}

// Tests stay as they are as long as that suffices: laws read them.
bool join_flat(struct calculus *c, struct operand *operands, uint32_t n, uint64_t folded,
               bool order, struct joined *joined) {
    if (join_operands(c, operands, n, folded, order, joined))
        return true;
    struct coordinates all = coordinates_of_operands(operands, n);
    for (int tests = 0; tests < 2; tests++) {
        bool any = false;
        for (uint32_t i = 0; i < n; i++)
            if (is_test_kind(term_kind(&c->terms, operands[i].of)) == tests)
                any |= flatten(c, &operands[i], &all);
        if (any && join_operands(c, operands, n, folded, order, joined))
            return true;
    }
    return false;
}

// ---- moves ------------------------------------------------------------------------------------

static bool move_flat(struct calculus *c, struct viewed value, const struct view *view,
                      const struct substitution *by, struct viewed *moved) {
    struct flattening f = {.view = view, .by = by, .all = coordinates_of_view(view)};
    struct operand flat;
    if (!find_failing(&f) || !make_flat(c, &f, value.of.of, &flat))
        return false;
    *moved = value_of_term(c, (struct scaled){flat.of, value.of.scale}, &flat.view);
    return true;
}

bool normal_move(struct calculus *c, struct viewed value, const struct substitution *by,
                 struct viewed *moved) {
    struct view view, made;
    view_get(&c->views, value.view, &view);
    if (!view_substitute(&view, by, &made))
        return move_flat(c, value, &view, by, moved);
    *moved = value_of_term(c, value.of, &made);
    return true;
}
