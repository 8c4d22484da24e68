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

struct use { // of an atom, in a dimension of an operand's term
    uint32_t operand, dimension;
    int64_t coefficient, shift;
};
struct atom {
    int64_t size;
    bool folded;
    struct affine from; // over coordinates
    struct use *uses;
    uint32_t n_uses;
};
struct joining { // its arrays are long, and set as far as they are used
    struct calculus *c;
    struct operand *operands;
    uint32_t n;
    struct atom atoms[MAX_ATOMS];
    uint32_t n_atoms;
    uint64_t *colours; // of operands
    uint64_t of_atoms[MAX_ATOMS];
    uint32_t *in_order; // operands
};

void operand_copy(struct operand *to, const struct operand *from) {
    to->of = from->of;
    to->scale = from->scale;
    view_copy(&to->view, &from->view);
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
    int64_t *at; // NULL: it has no pieces yet
    uint32_t n;
};

static bool add_bound(struct arena *arena, struct bounds_of *bounds, int64_t at) {
    if (!bounds->at)
        bounds->at = ARENA_ARRAY(arena, int64_t, 2 * MAX_ATOMS);
    for (uint32_t i = 0; i < bounds->n; i++)
        if (bounds->at[i] == at)
            return true;
    if (bounds->n == 2 * MAX_ATOMS)
        return false;
    bounds->at[bounds->n++] = at;
    return true;
}

static bool find_bounds(const struct joining *j, struct bounds_of bounds[MAX_COORDINATES]) {
    for (uint32_t o = 0; o < j->n; o++)
        for (uint32_t k = 0; k < j->operands[o].view.n; k++) {
            const struct affine *index = &j->operands[o].view.of[k];
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
    for (uint32_t o = 0; o < j->n; o++)
        for (uint32_t k = 0; k < j->operands[o].view.n; k++) {
            const struct affine *index = &j->operands[o].view.of[k];
            for (uint32_t p = 0; p < index->n; p++)
                if (!use_piece(j, &bounds[index->pieces[p].coordinate], index->pieces[p],
                               (struct use){.operand = o, .dimension = k}, folded))
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
    for (uint32_t i = 0; i < high->n_uses; i++) { // both in the order of operands
        const struct use *a = &high->uses[i], *b = &low->uses[i];
        if (a->operand != b->operand || a->dimension != b->dimension || b->shift != 0 ||
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

static uint64_t colour_of_operand(const struct operand *operand, uint64_t place) {
    uint64_t colour = mix(operand->of.node, place);
    for (uint32_t k = 0; k < operand->view.n; k++)
        colour = mix(colour, (uint64_t)operand->view.of[k].base);
    return colour;
}

static void refine_colours(struct joining *j) {
    uint64_t *next = ARENA_ARRAY(&j->c->scratch, uint64_t, j->n + 1);
    for (int round = 0; round < ROUNDS_OF_COLOURS; round++) {
        for (uint32_t a = 0; a < j->n_atoms; a++) {
            uint64_t sum = 0;
            for (uint32_t i = 0; i < j->atoms[a].n_uses; i++)
                sum += colour_of_use(&j->atoms[a].uses[i], j->colours[j->atoms[a].uses[i].operand]);
            j->of_atoms[a] = mix(j->of_atoms[a], sum);
        }
        memset(next, 0, j->n * sizeof *next);
        for (uint32_t a = 0; a < j->n_atoms; a++)
            for (uint32_t i = 0; i < j->atoms[a].n_uses; i++)
                next[j->atoms[a].uses[i].operand] +=
                    colour_of_use(&j->atoms[a].uses[i], j->of_atoms[a]);
        for (uint32_t o = 0; o < j->n; o++)
            j->colours[o] = mix(j->colours[o], next[o]);
    }
}

// Scales tell operands apart by what they are relative to that of one which is found without them, so that a sum and
// twice that sum have one order.
static void colour_scales(struct joining *j) {
    uint32_t first = 0;
    bool any = false;
    for (uint32_t o = 1; o < j->n; o++) {
        first = j->colours[o] < j->colours[first] ? o : first;
        any |= j->operands[o].scale != j->operands[0].scale;
    }
    if (!any)
        return;
    scale_id inverse = scale_invert(&j->c->terms, j->operands[first].scale);
    for (uint32_t o = 0; o < j->n; o++)
        j->colours[o] =
            mix(j->colours[o], scale_multiply(&j->c->terms, j->operands[o].scale, inverse));
    refine_colours(j);
}

static void find_colours(struct joining *j, bool order) {
    j->colours = ARENA_ARRAY(&j->c->scratch, uint64_t, j->n + 1);
    for (uint32_t o = 0; o < j->n; o++)
        j->colours[o] = colour_of_operand(&j->operands[o], order ? 0 : o + 1);
    for (uint32_t a = 0; a < j->n_atoms; a++)
        j->of_atoms[a] = mix((uint64_t)j->atoms[a].size, j->atoms[a].folded);
    refine_colours(j);
    if (order)
        colour_scales(j);
}

static void sort_operands(struct joining *j, bool order) {
    j->in_order = ARENA_ARRAY(&j->c->scratch, uint32_t, j->n + 1);
    for (uint32_t i = 0; i < j->n; i++) {
        uint32_t at = i;
        for (; order && at > 0 && j->colours[i] < j->colours[j->in_order[at - 1]]; at--)
            j->in_order[at] = j->in_order[at - 1];
        j->in_order[at] = i;
    }
}

// Whether a is the earlier of two atoms in the first operand in order which has one of them.
static bool atom_before(const struct joining *j, const uint32_t *rank, const struct atom *a,
                        const struct atom *b) {
    const struct use *first[2] = {0};
    const struct atom *of[2] = {a, b};
    for (int i = 0; i < 2; i++)
        for (uint32_t k = 0; k < of[i]->n_uses; k++) {
            const struct use *use = &of[i]->uses[k];
            if (!first[i] || rank[use->operand] < rank[first[i]->operand])
                first[i] = use;
        }
    const struct use *x = first[0], *y = first[1];
    if (x->operand != y->operand)
        return rank[x->operand] < rank[y->operand];
    if (x->dimension != y->dimension)
        return x->dimension < y->dimension;
    if (x->coefficient != y->coefficient)
        return x->coefficient > y->coefficient;
    return j->of_atoms[a - j->atoms] < j->of_atoms[b - j->atoms];
}

static void sort_atoms(const struct joining *j, uint32_t *atoms) {
    uint32_t *rank = ARENA_ARRAY(&j->c->scratch, uint32_t, j->n + 1);
    for (uint32_t i = 0; i < j->n; i++)
        rank[j->in_order[i]] = i;
    for (uint32_t i = 0; i < j->n_atoms; i++) {
        uint32_t at = i;
        for (; at > 0 && atom_before(j, rank, &j->atoms[i], &j->atoms[atoms[at - 1]]); at--)
            atoms[at] = atoms[at - 1];
        atoms[at] = i;
    }
}

static void put_in_order(struct joining *j) {
    for (uint32_t i = 0; i < j->n; i++) {
        if (j->in_order[i] == i)
            continue;
        struct operand first;
        operand_copy(&first, &j->operands[i]);
        uint32_t at = i;
        for (uint32_t from = j->in_order[i]; from != i; from = j->in_order[at]) {
            operand_copy(&j->operands[at], &j->operands[from]);
            j->in_order[at] = at;
            at = from;
        }
        operand_copy(&j->operands[at], &first);
        j->in_order[at] = at;
    }
}

// ---- the space --------------------------------------------------------------------------------

// False: an index has too many pieces.
static bool rewrite_views(struct joining *j, const uint32_t *atoms) {
    for (uint32_t o = 0; o < j->n; o++)
        for (uint32_t k = 0; k < j->operands[o].view.n; k++)
            j->operands[o].view.of[k].n = 0;
    for (uint32_t d = 0; d < j->n_atoms; d++) {
        const struct atom *atom = &j->atoms[atoms[d]];
        for (uint32_t i = 0; i < atom->n_uses; i++) {
            const struct use *use = &atom->uses[i];
            struct affine *index = &j->operands[use->operand].view.of[use->dimension];
            if (!affine_push(index, (struct piece){use->coefficient, 1, atom->size, use->shift, d}))
                return false;
        }
    }
    for (uint32_t o = 0; o < j->n; o++)
        for (uint32_t k = 0; k < j->operands[o].view.n; k++)
            if (!affine_normal(&j->operands[o].view.of[k]))
                return false;
    return true;
}

// A dimension that says a digit of an operand's dimension has the turns of that digit.
static void take_turns(const struct joining *j, struct space *space) {
    struct turn_list *turns = j->c->turns;
    for (uint32_t o = 0; o < j->n; o++) {
        const struct space *own = value_space(j->c, j->operands[o].of);
        for (uint32_t k = 0; k < own->n; k++) {
            const struct affine *index = &j->operands[o].view.of[k];
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

bool join_operands(struct calculus *c, struct operand *operands, uint32_t n, uint64_t folded,
                   bool order, struct joined *joined) {
    struct joining joining, *j = &joining;
    j->c = c;
    j->operands = operands;
    j->n = n;
    j->n_atoms = 0;
    if (!find_atoms(j, folded))
        return false;
    while (join_any(j))
        continue;
    if (j->n_atoms > MAX_DIMENSIONS)
        return false;
    uint32_t atoms[MAX_ATOMS];
    find_colours(j, order);
    sort_operands(j, order);
    sort_atoms(j, atoms);
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
    if (c->turns)
        take_turns(j, &joined->space);
    put_in_order(j);
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

static bool is_whole(const struct calculus *c, const struct operand *operand,
                     const struct space *space) {
    const struct space *own = value_space(c, operand->of);
    if (own->n == 0)
        return true;
    if (own->n != space->n || own->sizes[0] == 0)
        return false;
    for (uint32_t k = 0; k < own->n; k++) {
        struct affine whole = affine_coordinate(k, space->sizes[k]);
        const struct affine *index = &operand->view.of[k];
        if (own->sizes[k] != space->sizes[k] || index->base != 0 || index->n != 1 ||
            memcmp(index->pieces, whole.pieces, sizeof *whole.pieces) != 0)
            return false;
    }
    return true;
}

// KIND_VIEW's attributes: the number of dimensions of the space, their sizes, and the view's number.
struct part joined_part(struct calculus *c, const struct operand *operand,
                        const struct space *space) {
    struct term of = operand->of;
    if (!is_whole(c, operand, space)) {
        int64_t words[MAX_DIMENSIONS + 2];
        uint32_t n = 0;
        words[n++] = space->n;
        for (uint32_t d = 0; d < space->n; d++)
            words[n++] = space->sizes[d];
        words[n++] = view_intern(&c->views, &operand->view);
        uint32_t attributes =
            intern(&c->terms.attributes, words, n * (uint32_t)sizeof *words, NULL) + 1;
        struct part inner = part_of(of);
        of = term_make(&c->builder, KIND_VIEW, 0, attributes, &inner, 1);
    }
    struct part part = part_of(of);
    part.scale = operand->scale;
    return part;
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
