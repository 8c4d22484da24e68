// Joining: pieces of coordinates are parted until those of all operands are the same or apart (atoms); atoms that
// follow each other wherever one of them stands are one dimension again. So a dimension is as long as it can be, and
// the same values cut in different ways come to one space.
//
// What changes places is put into an order by colours: an operand's is made of its term and of the colours of the
// dimensions that it has, a dimension's of its size and of the operands that have it, in turn until that tells apart
// what can be told apart.
#include "equal/values/join.h"

#include <string.h>

#include "equal/values/turns.h"
#include "ir/check.h"

enum { MAX_ATOMS = 40, ROUNDS_OF_COLOURS = 3 };

struct use { // of an atom, in a dimension of the terms that have the view
    uint32_t view, dimension;
    int64_t coefficient, shift;
};
struct atom {
    int64_t size;
    bool folded;
    struct affine from; // over coordinates
    struct use *uses;
    uint32_t n_uses;
};
struct member { // an operand
    struct term of;
    scale_id scale;
    uint32_t view;
};
// What is joined. Of the many summands of one sum most have one of few views, and what is found of a view is found once.
struct joining { // its arrays are long, and set as far as they are used
    struct calculus *c;
    struct member *members;
    uint32_t n;
    struct view **views;
    uint32_t n_views;
    struct atom atoms[MAX_ATOMS];
    uint32_t n_atoms;
    uint64_t *colours; // of members
    uint64_t of_atoms[MAX_ATOMS];
};

void operand_copy(struct operand *to, const struct operand *from) {
    to->of = from->of;
    to->scale = from->scale;
    view_copy(&to->view, &from->view);
}

struct operand *operand_room(struct calculus *c, uint32_t n) {
    if (n > c->cap_room) {
        c->cap_room = 2 * n;
        c->room = ARENA_ARRAY(c->arena, struct operand, c->cap_room);
    }
    return c->room;
}

bool operand_has(const struct operand *operand, uint32_t coordinate) {
    for (uint32_t k = 0; k < operand->view.n; k++)
        if (affine_has(&operand->view.of[k], coordinate))
            return true;
    return false;
}

// ---- atoms ------------------------------------------------------------------------------------

// Where pieces of a coordinate begin and end.
struct bounds_of {
    int64_t *at;
    uint32_t n, cap;
};

static bool add_bound(struct arena *arena, struct bounds_of *bounds, int64_t at) {
    for (uint32_t i = 0; i < bounds->n; i++)
        if (bounds->at[i] == at)
            return true;
    if (bounds->n == 2 * MAX_ATOMS)
        return false;
    ARENA_PUSH(arena, bounds->at, bounds->n, bounds->cap, at);
    return true;
}

static bool find_bounds(const struct joining *j, struct bounds_of bounds[MAX_COORDINATES]) {
    for (uint32_t v = 0; v < j->n_views; v++)
        for (uint32_t k = 0; k < j->views[v]->n; k++) {
            const struct affine *index = &j->views[v]->of[k];
            for (uint32_t p = 0; p < index->n; p++) {
                const struct piece *piece = &index->pieces[p];
                struct bounds_of *of = &bounds[piece->coordinate];
                if (!add_bound(&j->c->scratch, of, piece->stride) ||
                    !add_bound(&j->c->scratch, of, piece->stride * piece->extent))
                    return false;
            }
        }
    return true;
}

// The least bound behind the piece's stride.
static int64_t next_bound(const struct bounds_of *bounds, const struct piece *piece) {
    int64_t end = piece->stride * piece->extent;
    for (uint32_t i = 0; i < bounds->n; i++)
        if (bounds->at[i] > piece->stride && bounds->at[i] < end)
            end = bounds->at[i];
    return end;
}

static struct atom *find_atom(struct joining *j, const struct piece *piece, uint64_t folded) {
    for (uint32_t i = 0; i < j->n_atoms; i++) {
        const struct piece *of = &j->atoms[i].from.pieces[0];
        if (of->coordinate == piece->coordinate && of->stride == piece->stride)
            return of->extent == piece->extent ? &j->atoms[i] : NULL;
    }
    if (j->n_atoms == MAX_ATOMS)
        return NULL;
    struct atom *atom = &j->atoms[j->n_atoms++];
    *atom = (struct atom){.size = piece->extent, .folded = folded >> piece->coordinate & 1};
    struct piece whole = *piece;
    whole.coefficient = 1;
    whole.shift = 0;
    affine_push(&atom->from, whole);
    atom->uses = ARENA_ARRAY(&j->c->scratch, struct use, 4);
    return atom;
}

static void add_use(struct joining *j, struct atom *atom, struct use use) {
    if (atom->n_uses >= 4 && (atom->n_uses & (atom->n_uses - 1)) == 0)
        atom->uses = arena_grow(&j->c->scratch, atom->uses, atom->n_uses * sizeof use,
                                2 * atom->n_uses * sizeof use);
    atom->uses[atom->n_uses++] = use;
}

// Parts a piece at all bounds inside it, from its lowest digit on.
static bool use_piece(struct joining *j, const struct bounds_of *bounds, struct piece rest,
                      struct use use, uint64_t folded) {
    for (;;) {
        int64_t end = next_bound(bounds, &rest);
        bool last = end == rest.stride * rest.extent;
        struct piece low = rest;
        if (!last) {
            int64_t extent = end / rest.stride;
            if (end % rest.stride != 0 || rest.extent % extent != 0 || rest.shift % extent != 0)
                return false;
            low.extent = extent;
            low.shift = 0;
        }
        struct atom *atom = find_atom(j, &low, folded);
        if (!atom)
            return false;
        use.coefficient = low.coefficient;
        use.shift = low.shift;
        add_use(j, atom, use);
        if (last)
            return true;
        rest.stride = end;
        rest.coefficient *= low.extent;
        rest.extent /= low.extent;
        rest.shift /= low.extent;
    }
}

static bool find_atoms(struct joining *j, uint64_t folded) {
    struct bounds_of bounds[MAX_COORDINATES] = {{0}};
    if (!find_bounds(j, bounds))
        return false;
    for (uint32_t v = 0; v < j->n_views; v++)
        for (uint32_t k = 0; k < j->views[v]->n; k++) {
            const struct affine *index = &j->views[v]->of[k];
            for (uint32_t p = 0; p < index->n; p++)
                if (!use_piece(j, &bounds[index->pieces[p].coordinate], index->pieces[p],
                               (struct use){.view = v, .dimension = k}, folded))
                    return false;
        }
    return true;
}

// ---- dimensions -------------------------------------------------------------------------------

// Whether wherever one of them stands the other follows.
static bool follow(const struct atom *high, const struct atom *low) {
    if (high->folded != low->folded || high->n_uses != low->n_uses ||
        high->from.n + low->from.n > MAX_PIECES)
        return false;
    for (uint32_t i = 0; i < high->n_uses; i++) { // both in the order of views
        const struct use *a = &high->uses[i], *b = &low->uses[i];
        if (a->view != b->view || a->dimension != b->dimension || b->shift != 0 ||
            a->coefficient != b->coefficient * low->size)
            return false;
    }
    return true;
}

static void join_atoms(struct joining *j, uint32_t at, uint32_t with) {
    struct atom *high = &j->atoms[at];
    const struct atom *low = &j->atoms[with];
    struct affine from = low->from;
    affine_add(&from, &high->from, low->size);
    for (uint32_t i = 0; i < high->n_uses; i++) {
        high->uses[i].coefficient = low->uses[i].coefficient;
        high->uses[i].shift *= low->size;
    }
    high->from = from;
    high->size *= low->size;
    j->atoms[with] = j->atoms[--j->n_atoms];
}

static bool join_any(struct joining *j) {
    for (uint32_t a = 0; a < j->n_atoms; a++)
        for (uint32_t b = 0; b < j->n_atoms; b++)
            if (a != b && follow(&j->atoms[a], &j->atoms[b])) {
                join_atoms(j, a, b);
                return true;
            }
    return false;
}

// ---- order ------------------------------------------------------------------------------------

static uint64_t mix(uint64_t a, uint64_t b) {
    uint64_t hash = (a ^ b * UINT64_C(0x9e3779b97f4a7c15)) * UINT64_C(0xd6e8feb86659fd93);
    return hash ^ hash >> 32;
}

static uint64_t colour_of_use(const struct use *use, uint64_t colour) {
    return mix(mix(colour, use->dimension), mix((uint64_t)use->coefficient, (uint64_t)use->shift));
}

static uint64_t colour_of_member(const struct joining *j, const struct member *member,
                                 uint64_t place) {
    const struct view *view = j->views[member->view];
    uint64_t colour = mix(member->of.node, place);
    for (uint32_t k = 0; k < view->n; k++)
        colour = mix(colour, (uint64_t)view->of[k].base);
    return colour;
}

// A view's colour is the sum of those of its members.
static void refine_colours(struct joining *j) {
    uint64_t *of_views = ARENA_ARRAY(&j->c->scratch, uint64_t, j->n_views + 1);
    uint64_t *next = ARENA_ARRAY(&j->c->scratch, uint64_t, j->n_views + 1);
    for (int round = 0; round < ROUNDS_OF_COLOURS; round++) {
        memset(of_views, 0, j->n_views * sizeof *of_views);
        memset(next, 0, j->n_views * sizeof *next);
        for (uint32_t m = 0; m < j->n; m++)
            of_views[j->members[m].view] += j->colours[m];
        for (uint32_t a = 0; a < j->n_atoms; a++) {
            uint64_t sum = 0;
            for (uint32_t i = 0; i < j->atoms[a].n_uses; i++)
                sum += colour_of_use(&j->atoms[a].uses[i], of_views[j->atoms[a].uses[i].view]);
            j->of_atoms[a] = mix(j->of_atoms[a], sum);
        }
        for (uint32_t a = 0; a < j->n_atoms; a++)
            for (uint32_t i = 0; i < j->atoms[a].n_uses; i++)
                next[j->atoms[a].uses[i].view] +=
                    colour_of_use(&j->atoms[a].uses[i], j->of_atoms[a]);
        for (uint32_t m = 0; m < j->n; m++)
            j->colours[m] = mix(j->colours[m], next[j->members[m].view]);
    }
}

// Scales tell operands apart by what they are relative to that of one which is found without them, so that a sum and
// twice that sum have one order.
static void colour_scales(struct joining *j) {
    uint32_t first = 0;
    bool any = false;
    for (uint32_t m = 1; m < j->n; m++) {
        first = j->colours[m] < j->colours[first] ? m : first;
        any |= j->members[m].scale != j->members[0].scale;
    }
    if (!any)
        return;
    scale_id inverse = scale_invert(&j->c->terms, j->members[first].scale);
    for (uint32_t m = 0; m < j->n; m++)
        j->colours[m] =
            mix(j->colours[m], scale_multiply(&j->c->terms, j->members[m].scale, inverse));
    refine_colours(j);
}

static void find_colours(struct joining *j, bool order) {
    j->colours = ARENA_ARRAY(&j->c->scratch, uint64_t, j->n + 1);
    for (uint32_t m = 0; m < j->n; m++)
        j->colours[m] = colour_of_member(j, &j->members[m], order ? 0 : m + 1);
    for (uint32_t a = 0; a < j->n_atoms; a++)
        j->of_atoms[a] = mix((uint64_t)j->atoms[a].size, j->atoms[a].folded);
    refine_colours(j);
    if (order)
        colour_scales(j);
}

// The first member of each view: in the order of colours, or in their own.
static uint32_t *find_first(const struct joining *j, bool order) {
    uint32_t *first = ARENA_ARRAY(&j->c->scratch, uint32_t, j->n_views + 1);
    for (uint32_t m = j->n; m-- > 0;)
        first[j->members[m].view] = m;
    for (uint32_t m = 0; order && m < j->n; m++) {
        uint32_t *of = &first[j->members[m].view];
        *of = j->colours[m] < j->colours[*of] ? m : *of;
    }
    return first;
}

static bool member_before(const struct joining *j, bool order, uint32_t a, uint32_t b) {
    return order && j->colours[a] != j->colours[b] ? j->colours[a] < j->colours[b] : a < b;
}

struct ordering {
    const struct joining *j;
    bool order;
    const uint32_t *first; // by view
};

static const struct use *first_use(const struct ordering *o, const struct atom *atom) {
    const struct use *first = &atom->uses[0];
    for (uint32_t k = 1; k < atom->n_uses; k++)
        if (member_before(o->j, o->order, o->first[atom->uses[k].view], o->first[first->view]))
            first = &atom->uses[k];
    return first;
}

// Whether a is the earlier of two atoms in the first member in order which has one of them.
static bool atom_before(const struct ordering *o, const struct atom *a, const struct atom *b) {
    const struct use *x = first_use(o, a), *y = first_use(o, b);
    if (x->view != y->view)
        return member_before(o->j, o->order, o->first[x->view], o->first[y->view]);
    if (x->dimension != y->dimension)
        return x->dimension < y->dimension;
    if (x->coefficient != y->coefficient)
        return x->coefficient > y->coefficient;
    return o->j->of_atoms[a - o->j->atoms] < o->j->of_atoms[b - o->j->atoms];
}

static void sort_atoms(const struct joining *j, bool order, uint32_t *atoms) {
    struct ordering ordering = {j, order, find_first(j, order)};
    for (uint32_t i = 0; i < j->n_atoms; i++) {
        uint32_t at = i;
        for (; at > 0 && atom_before(&ordering, &j->atoms[i], &j->atoms[atoms[at - 1]]); at--)
            atoms[at] = atoms[at - 1];
        atoms[at] = i;
    }
}

// ---- the space --------------------------------------------------------------------------------

// False: an index has too many pieces.
static bool rewrite_views(struct joining *j, const uint32_t *atoms) {
    for (uint32_t v = 0; v < j->n_views; v++)
        for (uint32_t k = 0; k < j->views[v]->n; k++)
            j->views[v]->of[k].n = 0;
    for (uint32_t d = 0; d < j->n_atoms; d++) {
        const struct atom *atom = &j->atoms[atoms[d]];
        for (uint32_t i = 0; i < atom->n_uses; i++) {
            const struct use *use = &atom->uses[i];
            struct affine *index = &j->views[use->view]->of[use->dimension];
            if (!affine_push(index, (struct piece){use->coefficient, 1, atom->size, use->shift, d}))
                return false;
        }
    }
    for (uint32_t v = 0; v < j->n_views; v++)
        for (uint32_t k = 0; k < j->views[v]->n; k++)
            if (!affine_normal(&j->views[v]->of[k]))
                return false;
    return true;
}

// A dimension that says a digit of a member's dimension has the turns of that digit.
static void take_turns(const struct joining *j, struct space *space) {
    struct turn_list *turns = j->c->turns;
    for (uint32_t m = 0; m < j->n; m++) {
        const struct space *own = value_space(j->c, j->members[m].of);
        for (uint32_t k = 0; k < own->n; k++) {
            const struct affine *index = &j->views[j->members[m].view]->of[k];
            for (uint32_t i = 0; own->turns[k] && i < index->n; i++) {
                const struct piece *piece = &index->pieces[i];
                int64_t size = space->sizes[piece->coordinate], end = piece->coefficient * size;
                if (piece->coefficient < 1 || piece->extent != size || piece->shift ||
                    index->base < 0 || index->base % end >= piece->coefficient)
                    continue;
                uint8_t shown = turns_of_piece(turns, own->turns[k], piece->coefficient, size);
                uint8_t *of = &space->turns[piece->coordinate];
                *of = *of ? turns_of_both(turns, *of, shown, size) : shown;
            }
        }
    }
}

// Brings the views to the space; members stay where they are.
static bool join_members(struct joining *j, uint64_t folded, bool order, struct joined *joined) {
    j->n_atoms = 0;
    if (!find_atoms(j, folded))
        return false;
    while (join_any(j))
        continue;
    if (j->n_atoms > MAX_DIMENSIONS)
        return false;
    uint32_t atoms[MAX_ATOMS];
    find_colours(j, order);
    sort_atoms(j, order, atoms);
    joined->space.n = j->n_atoms;
    for (uint32_t d = 0; d < j->n_atoms; d++) {
        joined->space.sizes[d] = j->atoms[atoms[d]].size;
        joined->folded[d] = j->atoms[atoms[d]].folded;
        joined->from[d] = j->atoms[atoms[d]].from;
        if (!affine_normal(&joined->from[d]))
            return false;
    }
    if (!rewrite_views(j, atoms))
        return false;
    memset(joined->space.turns, 0, sizeof joined->space.turns);
    if (j->c->turns)
        take_turns(j, &joined->space);
    return true;
}

// ---- operands ---------------------------------------------------------------------------------

// Puts operands into the order of their colours.
static void sort_operands(const struct joining *j, struct operand *operands) {
    uint32_t *in_order = ARENA_ARRAY(&j->c->scratch, uint32_t, j->n + 1);
    for (uint32_t i = 0; i < j->n; i++) {
        uint32_t at = i;
        for (; at > 0 && j->colours[i] < j->colours[in_order[at - 1]]; at--)
            in_order[at] = in_order[at - 1];
        in_order[at] = i;
    }
    for (uint32_t i = 0; i < j->n; i++) {
        if (in_order[i] == i)
            continue;
        struct operand first;
        operand_copy(&first, &operands[i]);
        uint32_t at = i;
        for (uint32_t from = in_order[i]; from != i; from = in_order[at]) {
            operand_copy(&operands[at], &operands[from]);
            in_order[at] = at;
            at = from;
        }
        operand_copy(&operands[at], &first);
        in_order[at] = at;
    }
}

bool join_operands(struct calculus *c, struct operand *operands, uint32_t n, uint64_t folded,
                   bool order, struct joined *joined) {
    struct joining joining, *j = &joining;
    j->c = c;
    j->n = j->n_views = n;
    j->members = ARENA_ARRAY(&c->scratch, struct member, n + 1);
    j->views = ARENA_ARRAY(&c->scratch, struct view *, n + 1);
    for (uint32_t i = 0; i < n; i++) {
        j->members[i] = (struct member){operands[i].of, operands[i].scale, i};
        j->views[i] = &operands[i].view;
    }
    if (!join_members(j, folded, order, joined))
        return false;
    if (order)
        sort_operands(j, operands);
    return true;
}

// The number of the view among those that are known, of which the last one is the likeliest.
static uint32_t find_view(const view_id *known, uint32_t n, view_id view) {
    for (uint32_t i = n; i-- > 0;)
        if (known[i] == view)
            return i;
    return n;
}

bool join_values(struct calculus *c, struct viewed *values, uint32_t n, struct joined *joined) {
    struct joining joining, *j = &joining;
    view_id *views = ARENA_ARRAY(&c->scratch, view_id, n + 1);
    j->c = c;
    j->n = n;
    j->n_views = 0;
    j->members = ARENA_ARRAY(&c->scratch, struct member, n + 1);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t view = find_view(views, j->n_views, values[i].view);
        j->members[i] = (struct member){values[i].of.of, values[i].of.scale, view};
        views[view] = values[i].view;
        j->n_views += view == j->n_views;
    }
    struct operand *room = operand_room(c, j->n_views);
    j->views = ARENA_ARRAY(&c->scratch, struct view *, j->n_views + 1);
    for (uint32_t v = 0; v < j->n_views; v++) {
        j->views[v] = &room[v].view;
        view_get(&c->views, views[v], j->views[v]);
    }
    if (!join_members(j, 0, true, joined))
        return false;
    for (uint32_t v = 0; v < j->n_views; v++)
        views[v] = view_intern(&c->views, j->views[v]);
    for (uint32_t i = 0; i < n; i++)
        values[i].view = views[j->members[i].view];
    return true;
}

void joined_coordinates(const struct joined *joined, struct joined_space *space) {
    memset(space->all.sizes, 0, sizeof space->all.sizes);
    memset(space->back.of, 0, sizeof space->back.of);
    space->folded = 0;
    for (uint32_t d = 0; d < joined->space.n; d++) {
        space->all.sizes[d] = space->back.sizes[d] = joined->space.sizes[d];
        space->back.of[d] = &joined->from[d];
        space->folded |= (uint64_t)joined->folded[d] << d;
    }
}

// ---- parts ------------------------------------------------------------------------------------

// Whether the view over the space says the space as it is.
static bool is_space_itself(const struct view *view, const struct space *space) {
    if (view->n != space->n)
        return false;
    for (uint32_t k = 0; k < view->n; k++) {
        struct piece whole = {1, 1, space->sizes[k], 0, k};
        const struct affine *index = &view->of[k];
        if (index->base != 0 || index->n != 1 || memcmp(index->pieces, &whole, sizeof whole) != 0)
            return false;
    }
    return true;
}

// Whether the term, with a view that says the space itself or with another one, needs no such.
static bool is_whole(const struct calculus *c, struct term of, bool itself,
                     const struct space *space) {
    const struct space *own = value_space(c, of);
    if (own->n == 0)
        return true;
    return itself && own->n == space->n && own->sizes[0] != 0 &&
           memcmp(own->sizes, space->sizes, own->n * sizeof *own->sizes) == 0;
}

// KIND_VIEW's attributes: the number of dimensions of the space, their sizes, and the view's number.
static uint32_t view_attributes(struct calculus *c, const struct space *space, view_id view) {
    int64_t words[MAX_DIMENSIONS + 2];
    uint32_t n = 0;
    words[n++] = space->n;
    for (uint32_t d = 0; d < space->n; d++)
        words[n++] = space->sizes[d];
    words[n++] = view;
    return intern(&c->terms.attributes, words, n * (uint32_t)sizeof *words, NULL) + 1;
}

static struct part scaled_part(struct term of, scale_id scale) {
    struct part part = part_of(of);
    part.scale = scale;
    return part;
}

static struct part viewed_part(struct calculus *c, struct term of, scale_id scale,
                               uint32_t attributes) {
    struct part inner = part_of(of);
    return scaled_part(term_make(&c->builder, KIND_VIEW, 0, attributes, &inner, 1), scale);
}

struct part joined_part(struct calculus *c, const struct operand *operand,
                        const struct space *space) {
    if (is_whole(c, operand->of, is_space_itself(&operand->view, space), space))
        return scaled_part(operand->of, operand->scale);
    view_id view = view_intern(&c->views, &operand->view);
    return viewed_part(c, operand->of, operand->scale, view_attributes(c, space, view));
}

void joined_parts(struct calculus *c, const struct viewed *values, uint32_t n,
                  const struct space *space, struct part *parts) {
    bool itself = false;
    uint32_t attributes = 0;
    for (uint32_t i = 0; i < n; i++) {
        if (i == 0 || values[i].view != values[i - 1].view) {
            struct view view;
            view_get(&c->views, values[i].view, &view);
            itself = is_space_itself(&view, space);
            attributes = 0;
        }
        struct scaled of = values[i].of;
        if (is_whole(c, of.of, itself, space)) {
            parts[i] = scaled_part(of.of, of.scale);
            continue;
        }
        if (!attributes)
            attributes = view_attributes(c, space, values[i].view);
        parts[i] = viewed_part(c, of.of, of.scale, attributes);
    }
}

bool open_part(struct calculus *c, struct scaled of, const struct view *view, uint32_t i,
               struct operand *operand) {
    struct scaled part = term_part(&c->terms, of.of, i);
    operand->of = part.of;
    operand->scale = part.scale;
    operand->view.n = 0;
    if (term_kind(&c->terms, part.of) != KIND_VIEW) { // it is the whole, or a number
        if (value_space(c, part.of)->n > 0)
            view_copy(&operand->view, view);
        return true;
    }
    const int64_t *words =
        interned(&c->terms.attributes, term_node(&c->terms, part.of)->key->attributes - 1);
    struct substitution by = {0};
    uint32_t n = (uint32_t)words[0];
    CHECK(n == view->n);
    for (uint32_t d = 0; d < n; d++) {
        by.of[d] = &view->of[d];
        by.sizes[d] = words[1 + d];
    }
    struct view inner;
    view_get(&c->views, (view_id)words[1 + n], &inner);
    operand->of = term_part(&c->terms, part.of, 0).of;
    return view_substitute(&inner, &by, &operand->view);
}

// Parts of one term often have one view, and so have those of terms that are made of each other, as sums are that grow
// from layer to layer. So the last answers are kept, each where its question's hash says.
struct opened {
    uint32_t attributes; // of the part; 0: there is no answer here
    view_id outer, made;
};
enum { N_OPENED = 2048 };

static struct opened *opened_slot(struct calculus *c, uint32_t attributes, view_id outer) {
    if (!c->opened)
        c->opened = ARENA_ARRAY(c->arena, struct opened, N_OPENED);
    return &c->opened[mix(attributes, outer) % N_OPENED];
}

bool part_value(struct calculus *c, struct viewed of, uint32_t i, struct viewed *part) {
    struct scaled own = term_part(&c->terms, of.of.of, i);
    if (term_kind(&c->terms, own.of) != KIND_VIEW) {
        *part = (struct viewed){own, value_space(c, own.of)->n > 0 ? of.view : VIEW_SCALAR};
        return true;
    }
    uint32_t attributes = term_node(&c->terms, own.of)->key->attributes;
    struct opened *known = opened_slot(c, attributes, of.view);
    if (known->attributes != attributes || known->outer != of.view) {
        struct view view;
        struct operand operand;
        view_get(&c->views, of.view, &view);
        if (!open_part(c, of.of, &view, i, &operand))
            return false;
        *known = (struct opened){attributes, of.view, view_intern(&c->views, &operand.view)};
    }
    struct term inner = term_part(&c->terms, own.of, 0).of;
    *part = (struct viewed){{inner, own.scale}, known->made};
    return true;
}
