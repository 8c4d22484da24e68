// All terms that claims are made of, once each, in the order in which they were made, field by field.
#include <string.h>

#include "equal/residues/contraction.h"
#include "equal/residues/elements.h"
#include "equal/residues/reader.h"
#include "equal/residues/residues.h"
#include "equal/values/together.h"

enum { MOST_STEPS = 20 * 1000 * 1000 };

struct evaluation {
    const struct calculus *c;
    const struct field *field;
    uint32_t n_nodes;
    bool *is_needed, *is_concrete; // by node
    uint8_t *levels;               // how many exponentials stand inside of each other
    uint64_t **values;             // in this field
    uint64_t **exponents;          // of an exponential, in the field before
    uint64_t **decided;            // tests of what is concrete, the same in all fields
    uint64_t **squares;            // of a root
    struct arena lasting, passing; // of all fields; of one term
};

// ---- spaces -----------------------------------------------------------------------------------

static int64_t n_places(const struct space *space) {
    int64_t n = 1;
    for (uint32_t d = 0; d < space->n; d++)
        if (__builtin_mul_overflow(n, space->sizes[d], &n))
            return INT64_MAX;
    return n;
}

static bool is_folding(int kind) {
    return kind >= KIND_PRODUCT && kind <= KIND_ANY;
}

// What is walked through to make the term: its space, with dimensions that are folded.
static void walked_of(const struct evaluation *e, struct term term, struct walked *walked,
                      struct space *whole) {
    int kind = term_kind(&e->c->terms, term);
    *whole = *value_space(e->c, term);
    if (is_folding(kind) || kind == KIND_OPAQUE) {
        const int64_t *words = value_attributes(e->c, term);
        bool opaque = kind == KIND_OPAQUE;
        whole->n = (uint32_t)words[opaque];
        for (uint32_t d = 0; d < whole->n; d++)
            whole->sizes[d] = opaque ? words[2 + 3 * d + 2] : words[1 + whole->n + d];
    }
    walked->n = whole->n;
    for (uint32_t d = 0; d < whole->n; d++) {
        walked->sizes[d] = whole->sizes[d];
        walked->coordinates[d] = d;
    }
}

static struct view whole_view(const struct space *space) {
    struct view view = {.n = space->n};
    for (uint32_t d = 0; d < space->n; d++)
        view.of[d] = affine_coordinate(d, space->sizes[d]);
    return view;
}

// ---- scales -----------------------------------------------------------------------------------

static uint64_t signed_power(const struct field *field, uint64_t value, int64_t power) {
    if (!is_element(value) || (value == 0 && power < 0))
        return UNDEFINED;
    if (power < 0)
        value = field_inverse(field, value);
    return field_power(field, value, (uint64_t)(power < 0 ? -power : power));
}

static uint64_t scale_value(const struct evaluation *e, scale_id id) {
    const struct scale *scale = scale_get(&e->c->terms, id);
    uint32_t n;
    const struct prime_power *primes = scale_primes(&e->c->terms, scale, &n);
    if (id == SCALE_ONE)
        return 1;
    if (scale->serial)
        return field_draw(e->field, mixed(UINT64_MAX, scale->serial));
    uint64_t value =
        field_multiply(e->field, field_of_integer(e->field, scale->numerator),
                       field_inverse(e->field, field_of_integer(e->field, scale->denominator)));
    for (uint32_t i = 0; i < n; i++)
        value = element_product(
            e->field, value,
            signed_power(e->field, field_of_integer(e->field, primes[i].prime), primes[i].power));
    for (uint32_t i = 0; i < scale->n_factors; i++)
        value = element_product(e->field, value,
                                signed_power(e->field, e->values[scale->factors[i].of.node][0],
                                             scale->factors[i].power));
    return value;
}

// ---- readers ----------------------------------------------------------------------------------

static struct reader reader_of(const struct evaluation *e, struct scaled of) {
    const struct scale *scale = scale_get(&e->c->terms, of.scale);
    return (struct reader){.values = e->values[of.of.node],
                           .n_values = n_places(value_space(e->c, of.of)),
                           .scale = scale_value(e, of.scale),
                           .sign = scale->n_factors || scale->serial ? 0
                                   : scale->numerator > 0            ? 1
                                                                     : -1};
}

// Part i of a term, over the space that is walked through.
static struct reader part_reader(struct evaluation *e, struct term term, uint32_t i,
                                 const struct walked *walked) {
    struct scaled part = term_part(&e->c->terms, term, i);
    struct view view;
    if (term_kind(&e->c->terms, part.of) == KIND_VIEW) {
        const int64_t *words = value_attributes(e->c, part.of);
        view_get(&e->c->views, (view_id)words[1 + words[0]], &view);
        part.of = term_part(&e->c->terms, part.of, 0).of;
    } else {
        view = whole_view(value_space(e->c, part.of));
    }
    struct reader reader = reader_of(e, part);
    reader_places(&reader, walked, value_space(e->c, part.of), &view, &e->passing);
    return reader;
}

// The place of what is made, of which folded dimensions are none.
static struct reader own_reader(struct evaluation *e, struct term term,
                                const struct walked *walked) {
    const struct space *space = value_space(e->c, term);
    const int64_t *flags =
        is_folding(term_kind(&e->c->terms, term)) ? value_attributes(e->c, term) + 1 : NULL;
    struct view view = {.n = space->n};
    struct reader reader = {.scale = 1, .sign = 1};
    for (uint32_t d = 0, at = 0; d < walked->n; d++)
        if (!flags || !flags[d])
            view.of[at++] = affine_coordinate(d, walked->sizes[d]);
    reader_places(&reader, walked, space, &view, &e->passing);
    return reader;
}

// Begins to walk through all places of a term: its own is that of reader 0, part i is reader i + 1.
static uint32_t begin_term(struct evaluation *e, struct term term, struct walked *walked,
                           struct places *at) {
    struct space whole;
    uint32_t n = term_node(&e->c->terms, term)->n_parts;
    struct reader *readers = ARENA_ARRAY(&e->passing, struct reader, n + 1);
    walked_of(e, term, walked, &whole);
    readers[0] = own_reader(e, term, walked);
    for (uint32_t i = 0; i < n; i++)
        readers[i + 1] = part_reader(e, term, i, walked);
    places_begin(at, walked, readers, n + 1, &e->passing);
    return n;
}

// ---- terms ------------------------------------------------------------------------------------

static void make_given(struct evaluation *e, struct term term, uint64_t *made) {
    const struct node_key *key = term_node(&e->c->terms, term)->key;
    int64_t n = n_places(value_space(e->c, term));
    for (int64_t i = 0; i < n; i++)
        made[i] = field_draw(e->field, mixed(mixed(key->kind, key->attributes), (uint64_t)i));
}

static void make_constants(struct evaluation *e, struct term term, uint64_t *made) {
    const int64_t *words = value_attributes(e->c, term);
    const void *numbers = interned(&e->c->terms.attributes, (uint32_t)words[1]);
    int64_t n = n_places(value_space(e->c, term));
    for (int64_t i = 0; i < n; i++)
        made[i] = words[0] ? element_of_real(e->field, ((const double *)numbers)[i])
                           : field_of_integer(e->field, ((const int64_t *)numbers)[i]);
}

static void make_sum(struct evaluation *e, struct term term, uint64_t *made) {
    struct walked walked;
    struct places at;
    uint32_t n = begin_term(e, term, &walked, &at);
    do {
        uint64_t sum = 0;
        for (uint32_t i = 1; i <= n; i++)
            sum = element_sum(e->field, sum, places_value(&at, e->field, i));
        made[places_at(&at, 0)] = sum;
    } while (places_next(&at));
}

// Which dimensions of those walked through a part has.
static uint64_t part_dimensions(const struct evaluation *e, struct term term, uint32_t i,
                                const struct walked *walked) {
    struct term part = term_part(&e->c->terms, term, i).of;
    uint64_t dimensions = 0;
    struct view view;
    if (term_kind(&e->c->terms, part) != KIND_VIEW)
        return value_space(e->c, part)->n ? (UINT64_C(1) << walked->n) - 1 : 0;
    const int64_t *words = value_attributes(e->c, part);
    view_get(&e->c->views, (view_id)words[1 + words[0]], &view);
    for (uint32_t d = 0; d < view.n; d++)
        for (uint32_t k = 0; k < view.of[d].n; k++)
            dimensions |= UINT64_C(1) << view.of[d].pieces[k].coordinate;
    return dimensions;
}

static struct contraction contraction_of(const struct evaluation *e, struct term term,
                                         const struct walked *walked, struct arena *arena) {
    uint32_t n = term_node(&e->c->terms, term)->n_parts;
    const int64_t *flags = value_attributes(e->c, term) + 1;
    struct contraction x = {.walked = walked, .has = ARENA_ARRAY(arena, uint64_t, n + 1), .n = n};
    for (uint32_t d = 0; d < walked->n; d++)
        x.folded |= (uint64_t)(flags[d] != 0) << d;
    for (uint32_t i = 0; i < n; i++)
        x.has[i] = part_dimensions(e, term, i, walked);
    return x;
}

// The term that a part reads.
static struct term part_inside(const struct evaluation *e, struct term term, uint32_t i) {
    struct term part = term_part(&e->c->terms, term, i).of;
    return term_kind(&e->c->terms, part) == KIND_VIEW ? term_part(&e->c->terms, part, 0).of : part;
}

static bool are_one_part(const struct evaluation *e, struct term term, uint32_t i, uint32_t k) {
    struct scaled a = term_part(&e->c->terms, term, i), b = term_part(&e->c->terms, term, k);
    return scaled_equal(a, b) && a.scale == SCALE_ONE;
}

// A root that is a factor twice is what it is the root of, once: half of all elements have only their opposite's.
static void take_square(const struct evaluation *e, struct term term, uint32_t i, bool *taken,
                        struct reader *reader) {
    uint64_t *squares = e->squares[part_inside(e, term, i).node];
    for (uint32_t k = i + 1; squares && k < term_node(&e->c->terms, term)->n_parts; k++)
        if (!taken[k] && are_one_part(e, term, i, k)) {
            taken[k] = true;
            reader->values = squares;
            return;
        }
}

static void make_product(struct evaluation *e, struct term term, uint64_t *made) {
    struct walked walked;
    struct space whole;
    walked_of(e, term, &walked, &whole);
    struct contraction x = contraction_of(e, term, &walked, &e->passing);
    struct reader *readers = ARENA_ARRAY(&e->passing, struct reader, x.n + 1);
    bool *taken = ARENA_ARRAY(&e->passing, bool, x.n + 1);
    uint32_t n = 0;
    for (uint32_t i = 0; i < x.n; i++) {
        if (taken[i])
            continue;
        readers[n] = part_reader(e, term, i, &walked);
        take_square(e, term, i, taken, &readers[n]);
        x.has[n++] = x.has[i];
    }
    x.n = n;
    contract_factors(&x, e->field, readers, made, &e->passing);
}

static void make_fold(struct evaluation *e, struct term term, uint64_t *made) {
    struct walked walked;
    struct places at;
    int64_t n = n_places(value_space(e->c, term)), n_all = 1;
    begin_term(e, term, &walked, &at);
    for (uint32_t d = 0; d < walked.n; d++)
        n_all *= walked.sizes[d];
    int64_t n_folded = n_all / n;
    uint64_t *all = ARENA_ARRAY(&e->passing, uint64_t, (size_t)n_all);
    int64_t *n_read = ARENA_ARRAY(&e->passing, int64_t, (size_t)n);
    do {
        int64_t place = places_at(&at, 0);
        all[place * n_folded + n_read[place]++] = places_value(&at, e->field, 1);
    } while (places_next(&at));
    for (int64_t i = 0; i < n; i++)
        made[i] =
            element_folded(e->field, term_kind(&e->c->terms, term), &all[i * n_folded], n_folded);
}

static void make_elements(struct evaluation *e, struct term term, uint64_t *made) {
    const struct node_key *key = term_node(&e->c->terms, term)->key;
    struct walked walked;
    struct places at;
    uint32_t n = begin_term(e, term, &walked, &at);
    uint64_t *values = ARENA_ARRAY(&e->passing, uint64_t, n + 1);
    struct element_kind of = {
        .kind = key->kind, .attributes = key->attributes, .is_concrete = e->is_concrete[term.node]};
    if (of.kind == KIND_POWER)
        of.words = value_attributes(e->c, term);
    do {
        for (uint32_t i = 0; i < n; i++)
            values[i] = places_value(&at, e->field, i + 1);
        made[places_at(&at, 0)] = element_of(e->field, &of, values, n);
    } while (places_next(&at));
}

static void make_power(struct evaluation *e, struct term term, uint64_t *made) {
    const int64_t *exponent = value_attributes(e->c, term);
    int64_t n = n_places(value_space(e->c, term)), whole[] = {exponent[0], 1};
    struct element_kind of = {KIND_POWER, 0, whole, false};
    struct places at;
    struct walked walked;
    make_elements(e, term, made);
    if (exponent[1] != 2)
        return;
    if (!e->squares[term.node])
        e->squares[term.node] = ARENA_ARRAY(&e->lasting, uint64_t, (size_t)n);
    begin_term(e, term, &walked, &at);
    do {
        uint64_t value = places_value(&at, e->field, 1);
        e->squares[term.node][places_at(&at, 0)] = element_of(e->field, &of, &value, 1);
    } while (places_next(&at));
}

// In the first field it is any function; then one of what its exponents were before.
static void make_exponential(struct evaluation *e, struct term term, uint64_t *made) {
    int64_t n = n_places(value_space(e->c, term));
    uint64_t *before = e->exponents[term.node];
    struct walked walked;
    struct places at;
    begin_term(e, term, &walked, &at);
    e->exponents[term.node] = ARENA_ARRAY(&e->lasting, uint64_t, (size_t)n);
    do {
        int64_t place = places_at(&at, 0);
        uint64_t exponent = places_value(&at, e->field, 1);
        e->exponents[term.node][place] = exponent;
        if (!is_element(exponent))
            made[place] = exponent == UNDEFINED ? UNDEFINED : 0;
        else if (before)
            made[place] = field_power(e->field, e->field->base, before[place]);
        else
            made[place] = field_draw(e->field, mixed(KIND_EXPONENTIAL, exponent));
    } while (places_next(&at));
}

// What an op without rules makes of whole operands, whose dimensions that are not folded are the last of its space.
static void make_opaque(struct evaluation *e, struct term term, uint64_t *made) {
    const struct node_key *key = term_node(&e->c->terms, term)->key;
    const int64_t *words = value_attributes(e->c, term);
    struct walked walked;
    struct places at;
    uint32_t n = begin_term(e, term, &walked, &at);
    int64_t n_apart = 1, n_made = n_places(value_space(e->c, term));
    for (uint32_t d = 0; d < walked.n; d++)
        n_apart *= words[2 + 3 * d] < 0 ? walked.sizes[d] : 1;
    uint64_t *so_far = ARENA_ARRAY(&e->passing, uint64_t, (size_t)n_apart);
    bool *is_known = ARENA_ARRAY(&e->passing, bool, (size_t)n_apart);
    for (int64_t i = 0; i < n_apart; i++) {
        so_far[i] = mixed(key->kind, key->attributes);
        is_known[i] = true;
    }
    do {
        int64_t apart = 0;
        for (uint32_t d = 0; d < walked.n; d++)
            if (words[2 + 3 * d] < 0)
                apart = apart * walked.sizes[d] + at.at[d];
        for (uint32_t i = 1; i <= n; i++) {
            uint64_t value = places_value(&at, e->field, i);
            is_known[apart] &= value != UNDEFINED;
            so_far[apart] = mixed(so_far[apart], value);
        }
    } while (places_next(&at));
    for (int64_t i = 0; i < n_made; i++)
        made[i] = is_known[i % n_apart]
                      ? field_draw(e->field, mixed(so_far[i % n_apart], (uint64_t)(i / n_apart)))
                      : UNDEFINED;
}

static void make_flat(struct evaluation *e, struct term term, uint64_t *made) {
    const int64_t *words = value_attributes(e->c, term);
    struct scaled part = term_part(&e->c->terms, term, 0);
    struct walked walked;
    struct space whole;
    struct places at;
    struct view view;
    walked_of(e, term, &walked, &whole);
    view_get(&e->c->views, (view_id)words[1 + words[0]], &view);
    struct reader readers[] = {own_reader(e, term, &walked), reader_of(e, part)};
    reader_places(&readers[1], &walked, value_space(e->c, part.of), &view, &e->passing);
    places_begin(&at, &walked, readers, 2, &e->passing);
    do
        made[places_at(&at, 0)] = places_value(&at, e->field, 1);
    while (places_next(&at));
}

// The dimensions over which a part of what stands together is joined, at a place of the whole (together.c).
static int64_t standing_place(const struct reader *part, const struct walked *joined,
                              const int64_t *words, uint32_t i, int64_t index,
                              const int64_t *rest) {
    uint32_t n = joined->n;
    int64_t place = part->base;
    for (uint32_t d = 0; d < n; d++) {
        int64_t owner = words[1 + d], digit = 0;
        if (owner == 0)
            digit = *rest++;
        else if (owner == (int64_t)i + 1)
            digit = index / words[1 + n + d] % joined->sizes[d];
        place += part->added[d] ? part->added[d][digit] : 0;
    }
    return place;
}

static void make_standing(struct evaluation *e, struct term term, uint64_t *made) {
    const int64_t *words = value_attributes(e->c, term), *sizes;
    uint32_t n = (uint32_t)words[0], n_parts = standing_sizes(e->c, term, &sizes);
    struct walked joined = {.n = n}, walked;
    struct space whole;
    struct places at;
    for (uint32_t d = 0; d < n; d++) {
        joined.sizes[d] = words[1 + 2 * n + d];
        joined.coordinates[d] = d;
    }
    struct reader *parts = ARENA_ARRAY(&e->passing, struct reader, n_parts);
    for (uint32_t i = 0; i < n_parts; i++)
        parts[i] = part_reader(e, term, i, &joined);
    walked_of(e, term, &walked, &whole);
    struct reader own = own_reader(e, term, &walked);
    places_begin(&at, &walked, &own, 1, &e->passing);
    do {
        int64_t index = at.at[0];
        uint32_t i = 0;
        for (; index >= sizes[i]; i++)
            index -= sizes[i];
        int64_t place = standing_place(&parts[i], &joined, words, i, index, &at.at[1]);
        made[places_at(&at, 0)] = reader_value(&parts[i], e->field, place);
    } while (places_next(&at));
}

static void make_nothing(struct evaluation *e, struct term term, uint64_t *made) {
    int64_t n = n_places(value_space(e->c, term));
    for (int64_t i = 0; i < n; i++)
        made[i] = UNDEFINED;
}

static void make_term(struct evaluation *e, struct term term, uint64_t *made) {
    int kind = term_kind(&e->c->terms, term);
    double number;
    switch (kind) {
    case NODE_ZERO:
    case NODE_ONE:
        made[0] = kind == NODE_ONE;
        break;
    case KIND_NUMBER:
        memcpy(&number, value_attributes(e->c, term), sizeof number);
        made[0] = element_of_real(e->field, number);
        break;
    case KIND_INPUT:
    case KIND_UNKNOWN:
        make_given(e, term, made);
        break;
    case KIND_ARRAY:
        make_constants(e, term, made);
        break;
    case NODE_SUM:
        make_sum(e, term, made);
        break;
    case KIND_PRODUCT:
        make_product(e, term, made);
        break;
    case KIND_LARGEST:
    case KIND_LEAST:
    case KIND_ALL:
    case KIND_ANY:
        make_fold(e, term, made);
        break;
    case KIND_JOINED:
        make_standing(e, term, made);
        break;
    case KIND_FLAT:
        make_flat(e, term, made);
        break;
    case KIND_OPAQUE:
        make_opaque(e, term, made);
        break;
    case KIND_POWER:
        make_power(e, term, made);
        break;
    case KIND_EXPONENTIAL:
        make_exponential(e, term, made);
        break;
    default:
        if (kind >= KIND_POWER)
            make_elements(e, term, made);
        else
            make_nothing(e, term, made);
    }
}

// ---- what is needed ---------------------------------------------------------------------------

static void need_scale(struct evaluation *e, scale_id id) {
    const struct scale *scale = scale_get(&e->c->terms, id);
    for (uint32_t i = 0; i < scale->n_factors; i++)
        e->is_needed[scale->factors[i].of.node] = true;
}

static void need(struct evaluation *e, struct scaled of) {
    e->is_needed[of.of.node] = true;
    need_scale(e, of.scale);
}

// Parts of a term were made before it.
static void need_parts(struct evaluation *e) {
    for (uint32_t node = e->n_nodes; node-- > 0;)
        for (uint32_t i = 0; e->is_needed[node] && i < e->c->terms.nodes[node].n_parts; i++)
            need(e, term_part(&e->c->terms, (struct term){node, 0}, i));
}

static bool makes_concrete(int kind) {
    return kind == NODE_ZERO || kind == NODE_ONE || kind == NODE_SUM || kind == KIND_INDEX ||
           kind == KIND_ARRAY || kind == KIND_VIEW || kind == KIND_PRODUCT || kind == KIND_JOINED ||
           kind == KIND_FLAT || is_test_kind(kind) || kind == KIND_POINTWISE + PRIM_SELECT;
}

// Whether it is made of numbers alone, and how many exponentials stand inside of each other.
static void look_inside(struct evaluation *e, struct term term) {
    int kind = term_kind(&e->c->terms, term);
    bool concrete = makes_concrete(kind);
    uint8_t level = 0;
    for (uint32_t i = 0; i < term_node(&e->c->terms, term)->n_parts; i++) {
        struct scaled part = term_part(&e->c->terms, term, i);
        const struct scale *scale = scale_get(&e->c->terms, part.scale);
        concrete &= e->is_concrete[part.of.node] && scale_is_fraction(scale);
        level = e->levels[part.of.node] > level ? e->levels[part.of.node] : level;
        for (uint32_t k = 0; k < scale->n_factors; k++)
            if (e->levels[scale->factors[k].of.node] > level)
                level = e->levels[scale->factors[k].of.node];
    }
    e->is_concrete[term.node] = concrete;
    e->levels[term.node] = level + (kind == KIND_EXPONENTIAL && level < N_FIELDS);
}

static bool is_read_through(int kind) {
    return kind == KIND_VIEW || kind == KIND_INDEX;
}

// Adds the steps that it takes to read so many at each place. False: they are too many.
static bool add_steps(int64_t *steps, int64_t places, int64_t n_read) {
    int64_t n;
    return !__builtin_mul_overflow(places, n_read, &n) &&
           !__builtin_add_overflow(*steps, n, steps) && *steps <= MOST_STEPS;
}

static bool add_term_steps(struct evaluation *e, struct term term, int64_t *steps) {
    struct walked walked;
    struct space whole;
    walked_of(e, term, &walked, &whole);
    if (term_kind(&e->c->terms, term) != KIND_PRODUCT)
        return add_steps(steps, n_places(&whole), term_node(&e->c->terms, term)->n_parts + 1);
    struct contraction x = contraction_of(e, term, &walked, &e->passing);
    int64_t n = contraction_steps(&x, &e->passing);
    arena_reuse(&e->passing);
    return add_steps(steps, n, 1);
}

static int64_t n_claimed(const struct claim *claim) {
    int64_t n = 1;
    for (uint32_t k = 0; k < MAX_COORDINATES; k++)
        if (claim->all.sizes[k] > 1 && __builtin_mul_overflow(n, claim->all.sizes[k], &n))
            return INT64_MAX;
    return n;
}

// ---- claims -----------------------------------------------------------------------------------

static void walked_of_claim(const struct claim *claim, struct walked *walked) {
    *walked = (struct walked){0};
    for (uint32_t k = 0; k < MAX_COORDINATES; k++)
        if (claim->all.sizes[k] > 1 && walked->n < MAX_DIMENSIONS) {
            walked->sizes[walked->n] = claim->all.sizes[k];
            walked->coordinates[walked->n++] = k;
        }
}

static struct reader side_reader(struct evaluation *e, const struct viewed *side,
                                 const struct walked *walked) {
    struct reader reader = reader_of(e, side->of);
    struct view view;
    view_get(&e->c->views, side->view, &view);
    reader_places(&reader, walked, value_space(e->c, side->of.of), &view, &e->passing);
    return reader;
}

static bool is_met(struct evaluation *e, const struct claim *claim) {
    struct walked walked;
    struct places at;
    bool meets = true;
    walked_of_claim(claim, &walked);
    struct reader sides[] = {side_reader(e, &claim->expected, &walked),
                             side_reader(e, &claim->found, &walked)};
    places_begin(&at, &walked, sides, 2, &e->passing);
    do {
        uint64_t expected = places_value(&at, e->field, 0);
        meets = expected != UNDEFINED && expected == places_value(&at, e->field, 1);
    } while (meets && places_next(&at));
    arena_reuse(&e->passing);
    return meets;
}

static void evaluate_in_field(struct evaluation *e, bool concrete) {
    for (uint32_t node = 0; node < e->n_nodes; node++) {
        struct term term = {node, 0};
        if (!e->is_needed[node] || is_read_through(term_kind(&e->c->terms, term)) ||
            (concrete && !e->is_concrete[node]))
            continue;
        int64_t n = n_places(value_space(e->c, term));
        if (!e->values[node])
            e->values[node] = ARENA_ARRAY(&e->lasting, uint64_t, (size_t)n);
        if (e->decided[node]) {
            memcpy(e->values[node], e->decided[node], (size_t)n * sizeof *e->values[node]);
            continue;
        }
        memset(e->values[node], 0, (size_t)n * sizeof *e->values[node]);
        make_term(e, term, e->values[node]);
        arena_reuse(&e->passing);
    }
}

// In the largest field, in which numbers are told from each other best.
static void decide_tests(struct evaluation *e) {
    e->field = &fields[N_FIELDS - 1];
    evaluate_in_field(e, true);
    for (uint32_t node = 0; node < e->n_nodes; node++)
        if (e->values[node] && is_test_kind(term_kind(&e->c->terms, (struct term){node, 0}))) {
            e->decided[node] = e->values[node];
            e->values[node] = NULL;
        }
}

static bool begin_evaluation(struct evaluation *e, const struct claim *claims, uint32_t n) {
    int64_t steps = 0;
    e->n_nodes = e->c->terms.n_nodes;
    e->is_needed = ARENA_ARRAY(&e->lasting, bool, e->n_nodes + 1);
    e->is_concrete = ARENA_ARRAY(&e->lasting, bool, e->n_nodes + 1);
    e->levels = ARENA_ARRAY(&e->lasting, uint8_t, e->n_nodes + 1);
    e->values = ARENA_ARRAY(&e->lasting, uint64_t *, e->n_nodes + 1);
    e->exponents = ARENA_ARRAY(&e->lasting, uint64_t *, e->n_nodes + 1);
    e->decided = ARENA_ARRAY(&e->lasting, uint64_t *, e->n_nodes + 1);
    e->squares = ARENA_ARRAY(&e->lasting, uint64_t *, e->n_nodes + 1);
    for (uint32_t i = 0; i < n; i++) {
        need(e, claims[i].expected.of);
        need(e, claims[i].found.of);
        if (!add_steps(&steps, n_claimed(&claims[i]), 2))
            return false;
    }
    need_parts(e);
    for (uint32_t node = 0; node < e->n_nodes; node++) {
        struct term term = {node, 0};
        if (!e->is_needed[node])
            continue;
        look_inside(e, term);
        if (!is_read_through(term_kind(&e->c->terms, term)) && !add_term_steps(e, term, &steps))
            return false;
    }
    return true;
}

void claims_evaluate(const struct calculus *c, struct claim *claims, uint32_t n) {
    struct evaluation e = {.c = c};
    bool all = !begin_evaluation(&e, claims, n);
    if (!all)
        decide_tests(&e);
    for (uint32_t level = 0; level < N_FIELDS && !all; level++) {
        all = true;
        e.field = &fields[level];
        evaluate_in_field(&e, false);
        for (uint32_t i = 0; i < n; i++) {
            uint8_t deepest = e.levels[claims[i].found.of.of.node];
            claims[i].holds = claims[i].holds || is_met(&e, &claims[i]);
            all &= claims[i].holds || deepest <= level;
        }
    }
    arena_free(&e.lasting);
    arena_free(&e.passing);
}
