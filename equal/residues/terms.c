// What each kind of term is in a field: value.h says what terms are made of, and who makes them which attributes they have.
#include <string.h>

#include "equal/residues/contraction.h"
#include "equal/residues/elements.h"
#include "equal/residues/evaluation.h"
#include "equal/values/together.h"

// ---- spaces -----------------------------------------------------------------------------------

int64_t space_places(const struct space *space) {
    int64_t n = 1;
    for (uint32_t d = 0; d < space->n; d++)
        if (__builtin_mul_overflow(n, space->sizes[d], &n))
            return INT64_MAX;
    return n;
}

static bool is_folding(int kind) {
    return kind >= KIND_PRODUCT && kind <= KIND_ANY;
}

void walked_of(const struct evaluation *e, struct term term, struct walked *walked) {
    const struct space *space = value_space(e->c, term);
    const int64_t *words = NULL;
    int kind = term_kind(&e->c->terms, term);
    if (is_folding(kind) || kind == KIND_OPAQUE)
        words = value_attributes(e->c, term);
    walked->n = words ? (uint32_t)words[kind == KIND_OPAQUE] : space->n;
    for (uint32_t d = 0; d < walked->n; d++) {
        walked->coordinates[d] = d;
        walked->sizes[d] = kind == KIND_OPAQUE ? words[2 + 3 * d + 2]
                           : words             ? words[1 + walked->n + d]
                                               : space->sizes[d];
    }
}

static struct view whole_view(const struct space *space) {
    struct view view = {.n = space->n};
    for (uint32_t d = 0; d < space->n; d++)
        view.of[d] = affine_coordinate(d, space->sizes[d]);
    return view;
}

// ---- scales -----------------------------------------------------------------------------------

// A scalar's power: of a root the square is what it is the root of.
static uint64_t factor_value(const struct evaluation *e, const struct factor *factor) {
    uint64_t value = e->values[factor->of.node][0];
    const uint64_t *square = e->squares[factor->of.node];
    if (!square)
        return element_power(e->field, value, factor->power);
    int32_t odd = factor->power & 1;
    return element_product(e->field, odd ? value : 1,
                           element_power(e->field, *square, (factor->power - odd) / 2));
}

static uint64_t scale_value(const struct evaluation *e, scale_id id) {
    const struct scale *scale = scale_get(&e->c->terms, id);
    uint32_t n;
    const struct prime_power *primes = scale_primes(&e->c->terms, scale, &n);
    if (id == SCALE_ONE)
        return 1;
    if (scale->serial)
        return field_draw(e->field, mixed(UINT64_MAX, scale->serial));
    uint64_t value = element_product(
        e->field, field_of_integer(e->field, scale->numerator),
        element_power(e->field, field_of_integer(e->field, scale->denominator), -1));
    for (uint32_t i = 0; i < n; i++)
        value = element_product(
            e->field, value,
            element_power(e->field, field_of_integer(e->field, primes[i].prime), primes[i].power));
    for (uint32_t i = 0; i < scale->n_factors; i++)
        value = element_product(e->field, value, factor_value(e, &scale->factors[i]));
    return value;
}

// ---- readers ----------------------------------------------------------------------------------

struct reader reader_of(const struct evaluation *e, struct scaled of) {
    const struct scale *scale = scale_get(&e->c->terms, of.scale);
    return (struct reader){.values = e->values[of.of.node],
                           .n_values = space_places(value_space(e->c, of.of)),
                           .scale = scale_value(e, of.scale),
                           .sign = scale->n_factors || scale->serial ? 0
                                   : scale->numerator > 0            ? 1
                                                                     : -1};
}

// What a part reads of which term.
struct opened_part {
    struct scaled of;
    struct view view; // over the space that is walked through
};

static void open_view(const struct evaluation *e, struct term term, struct opened_part *part) {
    const int64_t *words = value_attributes(e->c, term);
    view_get(&e->c->views, (view_id)words[1 + words[0]], &part->view);
    part->of.of = term_part(&e->c->terms, term, 0).of;
}

static void open_term_part(const struct evaluation *e, struct term term, uint32_t i,
                           struct opened_part *part) {
    part->of = term_part(&e->c->terms, term, i);
    if (term_kind(&e->c->terms, part->of.of) == KIND_VIEW)
        open_view(e, part->of.of, part);
    else
        part->view = whole_view(value_space(e->c, part->of.of));
}

static struct reader opened_reader(struct evaluation *e, const struct opened_part *part,
                                   const struct walked *walked) {
    struct reader reader = reader_of(e, part->of);
    reader_places(&reader, walked, value_space(e->c, part->of.of), &part->view, &e->passing);
    return reader;
}

static struct reader part_reader(struct evaluation *e, struct term term, uint32_t i,
                                 const struct walked *walked) {
    struct opened_part part;
    open_term_part(e, term, i, &part);
    return opened_reader(e, &part, walked);
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
                           struct places_read *at) {
    uint32_t n = term_node(&e->c->terms, term)->n_parts;
    struct reader *readers = ARENA_ARRAY(&e->passing, struct reader, n + 1);
    walked_of(e, term, walked);
    readers[0] = own_reader(e, term, walked);
    for (uint32_t i = 0; i < n; i++)
        readers[i + 1] = part_reader(e, term, i, walked);
    places_begin(at, walked, readers, n + 1, &e->passing);
    return n;
}

// ---- terms ------------------------------------------------------------------------------------

static void make_given(struct evaluation *e, struct term term, uint64_t *made) {
    const struct node_key *key = term_node(&e->c->terms, term)->key;
    int64_t n = space_places(value_space(e->c, term));
    for (int64_t i = 0; i < n; i++)
        made[i] = field_draw(e->field, mixed(mixed(key->kind, key->attributes), (uint64_t)i));
}

static void make_constants(struct evaluation *e, struct term term, uint64_t *made) {
    const int64_t *words = value_attributes(e->c, term);
    const void *numbers = interned(&e->c->terms.attributes, (uint32_t)words[1]);
    int64_t n = space_places(value_space(e->c, term));
    for (int64_t i = 0; i < n; i++)
        made[i] = words[0] ? element_of_real(e->field, ((const double *)numbers)[i])
                           : field_of_integer(e->field, ((const int64_t *)numbers)[i]);
}

static void make_sum(struct evaluation *e, struct term term, uint64_t *made) {
    struct walked walked;
    struct places_read at;
    uint32_t n = begin_term(e, term, &walked, &at);
    do {
        uint64_t sum = 0;
        for (uint32_t i = 1; i <= n; i++)
            sum = element_sum(e->field, sum, places_value(&at, e->field, i));
        made[places_at(&at, 0)] = sum;
    } while (places_next(&at));
}

// Which dimensions of those walked through a part has.
static uint64_t part_dimensions(const struct evaluation *e, struct term term, uint32_t i) {
    struct opened_part part;
    uint64_t dimensions = 0;
    open_term_part(e, term, i, &part);
    for (uint32_t d = 0; d < part.view.n; d++)
        for (uint32_t k = 0; k < part.view.of[d].n; k++)
            dimensions |= UINT64_C(1) << part.view.of[d].pieces[k].coordinate;
    return dimensions;
}

struct contraction contraction_of(const struct evaluation *e, struct term term,
                                  const struct walked *walked, struct arena *arena) {
    uint32_t n = term_node(&e->c->terms, term)->n_parts;
    const int64_t *flags = value_attributes(e->c, term) + 1;
    struct contraction x = {.walked = walked, .has = ARENA_ARRAY(arena, uint64_t, n + 1), .n = n};
    for (uint32_t d = 0; d < walked->n; d++)
        x.folded |= (uint64_t)(flags[d] != 0) << d;
    for (uint32_t i = 0; i < n; i++)
        x.has[i] = part_dimensions(e, term, i);
    return x;
}

static bool are_one_part(const struct evaluation *e, struct term term, uint32_t i, uint32_t k) {
    struct scaled a = term_part(&e->c->terms, term, i), b = term_part(&e->c->terms, term, k);
    return scaled_equal(a, b) && a.scale == SCALE_ONE;
}

// A root that is a factor twice is what it is the root of, once.
static void take_square(const struct evaluation *e, struct term term, uint32_t i, bool *taken,
                        struct reader *reader) {
    struct opened_part part;
    open_term_part(e, term, i, &part);
    uint64_t *squares = e->squares[part.of.of.node];
    for (uint32_t k = i + 1; squares && k < term_node(&e->c->terms, term)->n_parts; k++)
        if (!taken[k] && are_one_part(e, term, i, k)) {
            taken[k] = true;
            reader->values = squares;
            return;
        }
}

static void make_product(struct evaluation *e, struct term term, uint64_t *made) {
    struct walked walked;
    walked_of(e, term, &walked);
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
    struct places_read at;
    int64_t n = space_places(value_space(e->c, term)), n_all = 1;
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
    struct places_read at;
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
    int64_t n = space_places(value_space(e->c, term)), whole[] = {exponent[0], 1};
    struct element_kind of = {KIND_POWER, 0, whole, false};
    struct places_read at;
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

// In the first field it is any function, then one of what its exponents were in the field before, which are kept for the next.
static void make_exponential(struct evaluation *e, struct term term, uint64_t *made) {
    int64_t n = space_places(value_space(e->c, term));
    uint64_t *exponents = e->exponents[term.node];
    struct walked walked;
    struct places_read at;
    if (!exponents)
        exponents = e->exponents[term.node] = ARENA_ARRAY(&e->lasting, uint64_t, (size_t)n);
    begin_term(e, term, &walked, &at);
    do {
        int64_t place = places_at(&at, 0);
        uint64_t exponent = places_value(&at, e->field, 1), before = exponents[place];
        exponents[place] = exponent;
        if (!is_element(exponent))
            made[place] = exponent == BELOW_ALL ? 0 : UNDEFINED;
        else if (e->field == fields)
            made[place] = field_draw(e->field, mixed(KIND_EXPONENTIAL, exponent));
        else
            made[place] =
                is_element(before) ? field_power(e->field, e->field->base, before) : UNDEFINED;
    } while (places_next(&at));
}

// All numbers of whole operands, mixed: of dimensions over which an op without rules maps, for each place there.
struct mixed_operands {
    uint64_t *so_far;
    bool *is_known;
    int64_t n; // places
};

static struct mixed_operands mix_operands(struct evaluation *e, struct term term) {
    const struct node_key *key = term_node(&e->c->terms, term)->key;
    const int64_t *words = value_attributes(e->c, term);
    struct mixed_operands m = {.n = 1};
    struct walked walked;
    struct places_read at;
    uint32_t n = begin_term(e, term, &walked, &at);
    for (uint32_t d = 0; d < walked.n; d++)
        m.n *= words[2 + 3 * d] < 0 ? walked.sizes[d] : 1;
    m.so_far = ARENA_ARRAY(&e->passing, uint64_t, (size_t)m.n);
    m.is_known = ARENA_ARRAY(&e->passing, bool, (size_t)m.n);
    for (int64_t i = 0; i < m.n; i++) {
        m.so_far[i] = mixed(key->kind, key->attributes);
        m.is_known[i] = true;
    }
    do {
        int64_t place = 0;
        for (uint32_t d = 0; d < walked.n; d++)
            if (words[2 + 3 * d] < 0)
                place = place * walked.sizes[d] + at.at[d];
        for (uint32_t i = 1; i <= n; i++) {
            uint64_t value = places_value(&at, e->field, i);
            m.is_known[place] &= value != UNDEFINED;
            m.so_far[place] = mixed(m.so_far[place], value);
        }
    } while (places_next(&at));
    return m;
}

// Dimensions over which it maps are the last of its space.
static void make_opaque(struct evaluation *e, struct term term, uint64_t *made) {
    struct mixed_operands m = mix_operands(e, term);
    int64_t n = space_places(value_space(e->c, term));
    for (int64_t i = 0; i < n; i++) {
        uint64_t so_far = mixed(m.so_far[i % m.n], (uint64_t)(i / m.n));
        made[i] = m.is_known[i % m.n] ? field_draw(e->field, so_far) : UNDEFINED;
    }
}

static void make_flat(struct evaluation *e, struct term term, uint64_t *made) {
    struct opened_part part = {.of = term_part(&e->c->terms, term, 0)};
    struct walked walked;
    struct places_read at;
    open_view(e, term, &part);
    walked_of(e, term, &walked);
    struct reader readers[] = {own_reader(e, term, &walked), opened_reader(e, &part, &walked)};
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
    struct places_read at;
    for (uint32_t d = 0; d < n; d++) {
        joined.sizes[d] = words[1 + 2 * n + d];
        joined.coordinates[d] = d;
    }
    struct reader *parts = ARENA_ARRAY(&e->passing, struct reader, n_parts);
    for (uint32_t i = 0; i < n_parts; i++)
        parts[i] = part_reader(e, term, i, &joined);
    walked_of(e, term, &walked);
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
    int64_t n = space_places(value_space(e->c, term));
    for (int64_t i = 0; i < n; i++)
        made[i] = UNDEFINED;
}

void make_term(struct evaluation *e, struct term term, uint64_t *made) {
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
