// A value of the many stands for one of the one device if its numbers are among those: where they are cut, and in which
// order they lie, is not asked. So both programs are followed backwards side by side, from what differs to where its
// operands do not.
#include "equal/diagnosis/reference.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "equal/interpreter/walk.h"

enum { OF_ONE, OF_MANY };
enum { SAME_LINE = 4, SAME_ROUTE = 10, SAME_TURN = 13 };
enum { MOST_STEPS = 64, MOST_LOOKED_FOR = 16, MOST_ALIKE = 24 };

static const struct traced *of_many(const struct counterparts *r, uint32_t i) {
    return &r->numbers->many->arrays[i];
}

static const struct traced *of_one(const struct counterparts *r, uint32_t i) {
    return &r->numbers->one->arrays[i];
}

// Means of functions of the elements: the same however they are cut, moved or repeated.
struct element_mean {
    double sine, cosine;
    bool known;
};

// Where an array is made: by the calls that lead there, and by the primitive. `turn`: of as many.
struct array_place {
    uint32_t line, route, of, turn, n_turns; // numbers, of no line and no route 0
};

static const struct trace *trace_of(const struct counterparts *r, int of) {
    return of == OF_ONE ? r->numbers->one : r->numbers->many;
}

// ---- the same numbers -------------------------------------------------------------------------

static const double *sorted_of(struct counterparts *r, uint32_t i) {
    if (r->sorted[i])
        return r->sorted[i];
    const struct array *array = of_one(r, i)->values[0];
    r->sorted[i] = ARENA_ARRAY(r->arena, double, array->shape->n_elements + 1);
    for (int64_t k = 0; array->reals && k < array->shape->n_elements; k++)
        if (numbers_tell(r->numbers, array->reals[k]))
            r->sorted[i][r->n_sorted[i]++] = array->reals[k];
    qsort(r->sorted[i], r->n_sorted[i], sizeof(double), compare_numbers);
    return r->sorted[i];
}

static bool has_number(struct counterparts *r, uint32_t i, double number) {
    const double *sorted = sorted_of(r, i);
    uint32_t low = 0, high = r->n_sorted[i];
    double margin = 1e-9 * fabs(number);
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (sorted[middle] < number - margin)
            low = middle + 1;
        else
            high = middle;
    }
    return low < r->n_sorted[i] && sorted[low] <= number + margin;
}

static double finite_number(double number) {
    return isfinite(number) ? number : number > 0 ? 1e6 : -1e6;
}

static struct element_mean mean_of(struct counterparts *r, int of, uint32_t i) {
    struct element_mean *mean = &r->means[of][i];
    const struct trace *trace = trace_of(r, of);
    const struct array *const *values = trace->arrays[i].values;
    int64_t n = 0;
    for (uint32_t d = 0; !mean->known && values && d < trace->graph->n_devices; d++)
        for (int64_t k = 0; values[d] && k < values[d]->shape->n_elements; k++, n++) {
            double number = finite_number(values[d]->reals ? values[d]->reals[k]
                                                           : (double)values[d]->integers[k]);
            mean->sine += sin(37.1 * number + 1);
            mean->cosine += cos(11.3 * number);
        }
    if (n) {
        mean->sine /= (double)n;
        mean->cosine /= (double)n;
    }
    mean->known = true;
    return *mean;
}

// The same of all that the instruction makes, which in turns of a loop may make parts of one array.
static struct element_mean mean_of_turns(struct counterparts *r, int of, uint32_t i) {
    struct element_mean *mean = &r->turns[of][i];
    double n = 0;
    if (mean->known)
        return *mean;
    uint32_t k = i;
    do {
        struct element_mean one = mean_of(r, of, k);
        mean->sine += one.sine;
        mean->cosine += one.cosine;
        n++;
        k = r->next[of][k];
    } while (k != i);
    mean->sine /= n;
    mean->cosine /= n;
    mean->known = true;
    return *mean;
}

static bool means_equal(struct element_mean a, struct element_mean b) {
    return fabs(a.sine - b.sine) < 1e-9 && fabs(a.cosine - b.cosine) < 1e-9;
}

static bool has_same_mean(struct counterparts *r, uint32_t many, uint32_t one) {
    struct element_mean mean = mean_of(r, OF_ONE, one);
    if (means_equal(mean_of(r, OF_MANY, many), mean))
        return true;
    struct element_mean turns = mean_of_turns(r, OF_MANY, many);
    return means_equal(turns, mean) || means_equal(turns, mean_of_turns(r, OF_ONE, one));
}

static uint32_t n_different(const double *sorted, uint32_t n) {
    uint32_t different = n > 0;
    for (uint32_t i = 1; i < n; i++)
        different += !numbers_alike(sorted[i], sorted[i - 1]);
    return different;
}

// Whether all of an array's numbers tell and are different.
static bool has_no_repeats(struct counterparts *r, const struct array *array) {
    int64_t n = array->shape->n_elements;
    double *numbers = ARENA_ARRAY(&r->scratch, double, n + 1);
    bool tell = array->reals;
    for (int64_t i = 0; tell && i < n; i++) {
        tell = numbers_tell(r->numbers, array->reals[i]);
        numbers[i] = array->reals[i];
    }
    qsort(numbers, tell ? (size_t)n : 0, sizeof(double), compare_numbers);
    bool no_repeats = tell && n_different(numbers, (uint32_t)n) == n;
    arena_reuse(&r->scratch);
    return no_repeats;
}

// Whether a device has numbers more often than one device, of which all are different.
static bool repeats(struct counterparts *r, uint32_t many, uint32_t one) {
    const struct array *whole = of_one(r, one)->values[0];
    if (!has_no_repeats(r, whole))
        return false;
    for (uint32_t d = 0; d < r->numbers->mesh->n_devices; d++) {
        const struct array *array = of_many(r, many)->values[d];
        if (array && array->shape->n_elements <= whole->shape->n_elements &&
            !has_no_repeats(r, array))
            return true;
    }
    return false;
}

struct place_asked {
    struct counterparts *r;
    uint32_t one;
};

static bool is_there(void *with, double number) {
    const struct place_asked *place = with;
    return has_number(place->r, place->one, number);
}

// How far the many's array, or its sum where it is a summand, is the one's.
enum likeness {
    LIKE_NOTHING,
    LIKE_NONE,   // its numbers are none of the one device's: programs go other ways
    LIKE_PART,   // its numbers are of it
    LIKE_WHOLE,  // and all devices' together have them as often
    LIKE_COMMON, // the same, of numbers that tell nothing
};

static enum likeness likeness_of(struct counterparts *r, uint32_t many, uint32_t one) {
    const struct traced *traced = of_many(r, many);
    struct place_asked place = {r, one};
    if (!traced->values || !of_one(r, one)->values)
        return LIKE_NOTHING;
    if (r->seen[many].state == STATE_UNSEEN)
        r->seen[many] = numbers_say(r->numbers, traced);
    if (r->seen[many].state == STATE_WRONG)
        return LIKE_NONE;
    uint64_t axes = r->seen[many].axes;
    enum soundness state = numbers_ask(r->numbers, traced, axes, is_there, &place);
    if (state == STATE_OPEN)
        return has_same_mean(r, many, one) ? LIKE_COMMON : LIKE_NOTHING;
    if (state != STATE_KNOWN || repeats(r, many, one))
        return LIKE_NOTHING;
    return axes || has_same_mean(r, many, one) ? LIKE_WHOLE : LIKE_PART;
}

static bool has_on_a_device(const struct counterparts *r, const struct traced *traced,
                            double number) {
    for (uint32_t d = 0; d < r->numbers->mesh->n_devices; d++) {
        const struct array *array = traced->values[d];
        for (int64_t i = 0; array && array->reals && i < array->shape->n_elements; i++)
            if (numbers_alike(number, array->reals[i]))
                return true;
    }
    return false;
}

// Whether the many's array has what the one's has.
static bool has_numbers_of(struct counterparts *r, uint32_t many, uint32_t one) {
    const double *sorted = sorted_of(r, one);
    uint32_t n = r->n_sorted[one], step = n / MOST_LOOKED_FOR + 1;
    if (!of_many(r, many)->values || n == 0)
        return false;
    for (uint32_t i = 0; i < n; i += step)
        if (!has_on_a_device(r, of_many(r, many), sorted[i]))
            return false;
    return true;
}

// ---- what changes nothing --------------------------------------------------------------------

static bool changes_nothing(const struct traced *traced) {
    switch (traced->by->primitive) {
    case PRIM_RESHAPE:
    case PRIM_BITCAST:
    case PRIM_BROADCAST:
    case PRIM_TRANSPOSE:
    case PRIM_COPY:
    case PRIM_CONVERT:
        return traced->n_operands == 1;
    default:
        return false;
    }
}

static uint32_t skip(const struct trace *trace, uint32_t at) {
    while (changes_nothing(&trace->arrays[at]))
        at = trace->arrays[at].operands[0];
    return at;
}

// ---- instructions that do the same ------------------------------------------------------------

static bool is_commutative(enum primitive primitive) {
    switch (primitive) {
    case PRIM_ADD:
    case PRIM_MULTIPLY:
    case PRIM_MAXIMUM:
    case PRIM_MINIMUM:
    case PRIM_AND:
    case PRIM_OR:
    case PRIM_DOT:
        return true;
    default:
        return false;
    }
}

static bool does_same(const struct traced *a, const struct traced *b) {
    const struct instruction_attributes *x = a->by->attributes, *y = b->by->attributes;
    return a->by->primitive == b->by->primitive && a->n_operands == b->n_operands &&
           x->direction == y->direction;
}

// The numbers of the calls that lead to each frame, those of its callers included; a caller's frame stands before it.
static const uint32_t *find_routes(struct counterparts *r, const struct graph *graph) {
    uint32_t *routes = ARENA_ARRAY(r->arena, uint32_t, graph->n_frames + 1);
    for (uint32_t i = 1; i < graph->n_frames; i++) {
        const struct source_frame *at = &graph->frames[i];
        const char *text = arena_format(&r->scratch, "%s:%u:%s:%u", at->file, at->line,
                                        at->function ? at->function : "", routes[at->parent]);
        routes[i] = 1 + intern(&r->routes, text, (uint32_t)strlen(text), NULL);
        arena_reuse(&r->scratch);
    }
    return routes;
}

static void find_places(struct counterparts *r, int of) {
    const struct trace *trace = trace_of(r, of);
    struct intern places = {.arena = r->arena};
    const uint32_t *routes = find_routes(r, trace->graph);
    uint32_t *counts = ARENA_ARRAY(r->arena, uint32_t, trace->n + 1);
    for (uint32_t i = 0; i < trace->n; i++) {
        const struct traced *traced = &trace->arrays[i];
        struct array_place *place = &r->places[of][i];
        const char *line = graph_place(trace->graph, traced->by, &r->scratch);
        place->line = line ? 1 + intern(&r->lines, line, (uint32_t)strlen(line), NULL) : 0;
        place->route = routes[traced->by->frame];
        arena_reuse(&r->scratch);
        uint32_t key[] = {place->route, traced->by->primitive};
        place->of = intern(&places, key, sizeof key, NULL);
        place->turn = counts[place->of]++;
    }
    for (uint32_t i = 0; i < trace->n; i++)
        r->places[of][i].n_turns = counts[r->places[of][i].of];
}

// How much speaks for it that the two stand at the same place: the line, the calls that lead there, and, where there
// are as many, the turn.
static int place_weight(struct counterparts *r, uint32_t many, uint32_t one) {
    const struct array_place *a = &r->places[OF_MANY][many], *b = &r->places[OF_ONE][one];
    if (a->route && a->route == b->route)
        return a->n_turns == b->n_turns && a->turn == b->turn ? SAME_TURN : SAME_ROUTE;
    return a->line && a->line == b->line ? SAME_LINE : 0;
}

struct matching_operands {
    bool turned;     // the two operands stand the other way around
    int weight;      // of those that are the same
    uint32_t n_same; // of these so many
    uint32_t open;   // the first of which nothing can be said; NOWHERE: there is none
    uint32_t
        other;    // that is least the same, of several the one that is made first; NOWHERE: all are
    bool in_part; // in part it is
};

static uint32_t operand_of(const struct traced *traced, uint32_t k, bool turned) {
    return traced->operands[turned ? 1 - k : k];
}

static struct matching_operands match_in_order(struct counterparts *r, const struct traced *many,
                                               const struct traced *one, bool turned) {
    static const int weights[] = {0, 0, 6, 8, 1};
    struct matching_operands m = {.turned = turned, .other = NOWHERE, .open = NOWHERE};
    for (uint32_t k = 0; k < many->n_operands; k++) {
        enum likeness like = likeness_of(r, many->operands[k], operand_of(one, k, turned));
        m.weight += weights[like];
        m.n_same += like > LIKE_NONE;
        if (like == LIKE_NONE && (m.open == NOWHERE || many->operands[k] < many->operands[m.open]))
            m.open = k;
        if (like != LIKE_NOTHING && like != LIKE_PART)
            continue;
        bool is_less = m.other == NOWHERE || (like == LIKE_NOTHING && m.in_part);
        bool is_as_little = m.other != NOWHERE && (like == LIKE_PART) == m.in_part;
        if (!is_less && (!is_as_little || many->operands[k] > many->operands[m.other]))
            continue;
        m.other = k;
        m.in_part = like == LIKE_PART;
    }
    return m;
}

// Whether a device has other numbers than one device where both have whole arrays of one shape: of integers and truths
// there are few, so arrays of which nothing else is known may have them as often.
static bool differs_in_place(const struct counterparts *r, uint32_t many, uint32_t one) {
    const struct array *const *found = of_many(r, many)->values;
    const struct array *const *expected = of_one(r, one)->values;
    if (!found || !found[0] || !expected || found[0]->reals || expected[0]->reals ||
        found[0]->shape->rank != expected[0]->shape->rank)
        return false;
    for (uint32_t k = 0; k < found[0]->shape->rank; k++)
        if (found[0]->shape->sizes[k] != expected[0]->shape->sizes[k])
            return false;
    return memcmp(found[0]->integers, expected[0]->integers,
                  (size_t)found[0]->shape->n_elements * sizeof *found[0]->integers) != 0;
}

// Where all operands are the same as far as their numbers tell: the one that has them elsewhere.
static uint32_t find_misplaced(const struct counterparts *r, const struct traced *many,
                               const struct traced *one, bool turned) {
    for (uint32_t k = 0; k < many->n_operands; k++)
        if (differs_in_place(r, skip(r->numbers->many, many->operands[k]),
                             skip(r->numbers->one, operand_of(one, k, turned))))
            return k;
    return NOWHERE;
}

static struct matching_operands match(struct counterparts *r, const struct traced *many,
                                      const struct traced *one) {
    struct matching_operands straight = match_in_order(r, many, one, false);
    if (straight.other == NOWHERE || many->n_operands != 2 || !is_commutative(many->by->primitive))
        return straight;
    struct matching_operands turned = match_in_order(r, many, one, true);
    return turned.weight > straight.weight ? turned : straight;
}

// The instruction of the one device that reads most of the same values; NOWHERE: none does.
static uint32_t find_partner(struct counterparts *r, uint32_t at, struct matching_operands *how) {
    const struct traced *traced = of_many(r, at);
    uint32_t best = NOWHERE;
    int most = 0;
    for (uint32_t i = 0; i < r->numbers->one->n; i++) {
        if (!does_same(traced, of_one(r, i)))
            continue;
        struct matching_operands m = match(r, traced, of_one(r, i));
        int weight = m.weight;
        weight += place_weight(r, at, i);
        if (weight <= most)
            continue;
        most = weight;
        best = i;
        *how = m;
    }
    return best;
}

// ---- backwards, side by side ------------------------------------------------------------------

static bool moves(const struct traced *traced) {
    enum primitive_class class = primitive_rows[traced->by->primitive].class;
    return (class == PRIMITIVE_MOVE || class == PRIMITIVE_COLLECTIVE) && traced->n_operands > 0;
}

// Whether elements may come to lie elsewhere than they should: on other devices, or at a place that is computed.
static bool may_misplace(const struct counterparts *r, const struct traced *traced) {
    switch (traced->by->primitive) {
    case PRIM_ALL_GATHER:
    case PRIM_ALL_TO_ALL:
    case PRIM_COLLECTIVE_PERMUTE:
    case PRIM_REDUCE_SCATTER:
    case PRIM_CONCATENATE:
    case PRIM_SLICE:
    case PRIM_GATHER:
        return true;
    case PRIM_DYNAMIC_SLICE:
    case PRIM_DYNAMIC_UPDATE_SLICE:
        for (uint32_t k = 1; k < traced->n_operands; k++)
            if (of_many(r, traced->operands[k])->by->primitive != PRIM_CONSTANT &&
                of_many(r, traced->operands[k])->by->shape->rank == 0)
                return true;
        return false;
    default:
        return false;
    }
}

// Whether it repeats numbers on a device that its operand has once.
static bool makes_repeats(struct counterparts *r, const struct traced *traced) {
    const struct traced *operand = of_many(r, traced->operands[0]);
    if (!traced->values || !operand->values ||
        (traced->by->primitive != PRIM_CONCATENATE && traced->by->primitive != PRIM_GATHER &&
         traced->by->primitive != PRIM_DYNAMIC_UPDATE_SLICE))
        return false;
    for (uint32_t d = 0; d < r->numbers->mesh->n_devices; d++)
        if (traced->values[d] && operand->values[d] && has_no_repeats(r, operand->values[d]) &&
            !has_no_repeats(r, traced->values[d]))
            return true;
    return false;
}

// The last instruction before one that may have misplaced elements of it, or the last that repeats them; NOWHERE: none.
static uint32_t find_mover(struct counterparts *r, uint32_t at) {
    uint32_t last = NOWHERE;
    for (int step = 0; step < MOST_STEPS; step++) {
        const struct traced *traced = of_many(r, at);
        if (traced->n_operands == 0)
            return last;
        if (makes_repeats(r, traced))
            return at;
        if (last == NOWHERE && may_misplace(r, traced))
            last = at;
        at = traced->operands[0];
        for (uint32_t k = 1; k < traced->n_operands; k++)
            if (traced->operands[k] > at)
                at = traced->operands[k];
    }
    return last;
}

static bool is_pointwise(const struct traced *traced) {
    return primitive_rows[traced->by->primitive].class == PRIMITIVE_POINTWISE;
}

// Whether both make something of as many operands, so that these can be compared.
static bool is_comparable(const struct traced *many, const struct traced *one) {
    return many->n_operands > 0 && many->n_operands == one->n_operands &&
           (many->by->primitive == one->by->primitive || (is_pointwise(many) && is_pointwise(one)));
}

// The nearest, among what an array is made of, that is made as the one's is and at the same place of the user's program.
static uint32_t find_alike(struct counterparts *r, uint32_t from, uint32_t one) {
    uint32_t queue[MOST_ALIKE], n = 0;
    queue[n++] = from;
    for (uint32_t i = 0; i < n; i++) {
        const struct traced *traced = of_many(r, queue[i]);
        if (i > 0 && does_same(traced, of_one(r, one)) && place_weight(r, queue[i], one))
            return queue[i];
        for (uint32_t k = 0; k < traced->n_operands && n < MOST_ALIKE; k++)
            queue[n++] = traced->operands[k];
    }
    return NOWHERE;
}

// One step backwards of what is followed. False: it is over.
struct following {
    struct mismatch mismatch;
    uint32_t reader, found, expected;
};

static bool step_to_operand(struct counterparts *r, struct following *f) {
    const struct traced *many = of_many(r, f->found), *one = of_one(r, f->expected);
    struct matching_operands m = match(r, many, one);
    if (m.other == NOWHERE)
        m.other = find_misplaced(r, many, one, m.turned);
    if (m.other == NOWHERE)
        m.other = m.open;
    if (m.other == NOWHERE) {
        f->mismatch = (struct mismatch){MISMATCH_MADE, f->found, f->found, f->expected};
        return false;
    }
    if (!does_same(many, one) ||
        (m.n_same == 0 && many->n_operands > 1 && !place_weight(r, f->found, f->expected)))
        return false;
    f->reader = f->found;
    f->found = many->operands[m.other];
    f->expected = operand_of(one, m.other, m.turned);
    return true;
}

static bool step_over_move(struct counterparts *r, struct following *f) {
    const struct traced *many = of_many(r, f->found);
    if (!moves(many))
        return false;
    if (makes_repeats(r, many) || has_numbers_of(r, many->operands[0], f->expected)) {
        f->mismatch = (struct mismatch){MISMATCH_MOVED, f->found, f->found, f->expected};
        return false;
    }
    f->found = many->operands[0];
    return true;
}

static bool step_to_alike(struct counterparts *r, struct following *f) {
    uint32_t alike = find_alike(r, f->found, f->expected);
    if (alike == NOWHERE)
        return false;
    enum likeness like = likeness_of(r, alike, f->expected);
    f->found = alike;
    return like == LIKE_NOTHING || like == LIKE_PART;
}

// Whether it is what the one device makes the expected of: then that was not made.
static bool is_unfinished(struct counterparts *r, uint32_t found, uint32_t expected) {
    const struct traced *one = of_one(r, expected);
    if (moves(one))
        return false;
    for (uint32_t k = 0; k < one->n_operands; k++)
        if (likeness_of(r, found, skip(r->numbers->one, one->operands[k])) == LIKE_WHOLE)
            return true;
    return false;
}

struct mismatch reference_instead(struct counterparts *r, uint32_t reader, uint32_t found,
                                  uint32_t expected) {
    struct following f = {.reader = reader, .found = found, .expected = expected};
    for (int step = 0; step < MOST_STEPS; step++) {
        f.found = skip(r->numbers->many, f.found);
        f.expected = skip(r->numbers->one, f.expected);
        f.mismatch = (struct mismatch){MISMATCH_READ, f.reader, f.found, f.expected};
        if (is_unfinished(r, f.found, f.expected))
            break;
        bool goes_on = is_comparable(of_many(r, f.found), of_one(r, f.expected))
                           ? step_to_operand(r, &f)
                           : step_over_move(r, &f);
        if (!goes_on && (f.mismatch.kind != MISMATCH_READ || !step_to_alike(r, &f)))
            break;
    }
    return f.mismatch;
}

static bool reads_the_same(struct counterparts *r, const struct traced *many,
                           const struct traced *one, bool turned) {
    struct matching_operands m = match_in_order(r, many, one, turned);
    return m.other == NOWHERE && m.n_same == many->n_operands;
}

// What one device makes of the same operands by the same line, but by another function, or with the two the other way
// around; NOWHERE: nothing.
static uint32_t find_made_otherwise(struct counterparts *r, uint32_t at) {
    const struct traced *many = of_many(r, at);
    uint32_t line = r->places[OF_MANY][at].line;
    if (line == 0 || !is_pointwise(many))
        return NOWHERE;
    for (uint32_t i = r->first_on_line[line]; i != NOWHERE; i = r->next_on_line[i]) {
        const struct traced *one = of_one(r, i);
        if (!is_comparable(many, one))
            continue;
        bool turns = many->n_operands == 2 && !is_commutative(many->by->primitive);
        if (does_same(many, one) ? turns && reads_the_same(r, many, one, true)
                                 : reads_the_same(r, many, one, false))
            return i;
    }
    return NOWHERE;
}

struct mismatch reference_operands(struct counterparts *r, uint32_t at) {
    struct matching_operands m;
    struct mismatch none = {MISMATCH_NONE, at, at, NOWHERE};
    uint32_t partner = find_partner(r, at, &m);
    if (partner == NOWHERE || m.other != NOWHERE) {
        uint32_t otherwise = find_made_otherwise(r, at);
        if (otherwise != NOWHERE)
            return (struct mismatch){MISMATCH_MADE, at, at, otherwise};
    }
    if (partner == NOWHERE || (m.n_same == 0 && !place_weight(r, at, partner)))
        return none;
    const struct traced *many = of_many(r, at), *one = of_one(r, partner);
    if (m.other == NOWHERE)
        m.other = find_misplaced(r, many, one, m.turned);
    if (m.other != NOWHERE)
        return reference_instead(r, at, many->operands[m.other],
                                 operand_of(one, m.other, m.turned));
    uint32_t last = NOWHERE, of = 0;
    for (uint32_t k = 0; k < many->n_operands; k++) {
        uint32_t mover = find_mover(r, many->operands[k]);
        if (mover == NOWHERE || (last != NOWHERE && mover < last))
            continue;
        last = mover;
        of = k;
    }
    if (last == NOWHERE)
        return none;
    return (struct mismatch){MISMATCH_MOVED, last, last, operand_of(one, of, m.turned)};
}

// ---- the same place ---------------------------------------------------------------------------

static bool is_alike_at(const struct array *a, int64_t i, const struct array *b, int64_t k) {
    if (a->integers)
        return a->integers[i] == b->integers[k];
    double x = a->reals[i], y = b->reals[k];
    return x == y || (isnan(x) && isnan(y)) || fabs(x - y) <= 1e-9 * fabs(x) + 1e-14;
}

// Whether the part lies in the whole from there on, in units of its own sizes.
static bool is_block_at(const struct array *part, const struct array *whole, const int64_t *begin) {
    struct walk walk = walk_over(part->shape);
    for (bool on = walk_begin(&walk); on; on = walk_step(&walk)) {
        int64_t at = 0;
        for (uint32_t k = 0; k < walk.rank; k++)
            at = at * whole->shape->sizes[k] + begin[k] * part->shape->sizes[k] + walk.index[k];
        if (!is_alike_at(part, walk.at[0], whole, at))
            return false;
    }
    return true;
}

// The next block in row-major order. False: that was the last.
static bool next_block(const struct array *part, const struct array *whole, int64_t *begin) {
    for (uint32_t k = part->shape->rank; k-- > 0;) {
        if (++begin[k] < whole->shape->sizes[k] / part->shape->sizes[k])
            return true;
        begin[k] = 0;
    }
    return false;
}

static bool is_block(const struct array *part, const struct array *whole) {
    int64_t begin[MAX_GRAPH_RANK] = {0};
    do
        if (is_block_at(part, whole, begin))
            return true;
    while (next_block(part, whole, begin));
    return false;
}

static bool is_divisible(const struct array *part, const struct array *whole) {
    if (part->shape->rank != whole->shape->rank || part->shape->n_elements == 0 ||
        !part->integers != !whole->integers)
        return false;
    for (uint32_t k = 0; k < part->shape->rank; k++)
        if (whole->shape->sizes[k] % part->shape->sizes[k] != 0)
            return false;
    return true;
}

static bool has_array(const struct traced *traced, uint32_t device) {
    return traced->values && traced->values[device] && !traced->values[device]->shape->is_tuple;
}

// One real number everywhere: where other devices have several nothing has come yet to this one, a stage of a pipeline.
static bool is_one_number(const struct array *array) {
    for (int64_t i = 1; array->reals && i < array->shape->n_elements; i++)
        if (array->reals[i] != array->reals[0])
            return false;
    return array->reals;
}

// Whether one device makes arrays of the rank at this place, and the device's is a part of none.
static bool lacks_on(const struct counterparts *r, uint32_t at, uint32_t device) {
    const struct array *part = of_many(r, at)->values[device];
    uint32_t line = r->places[OF_MANY][at].line;
    bool any = false;
    for (uint32_t i = r->first_on_line[line]; i != NOWHERE; i = r->next_on_line[i]) {
        const struct traced *one = of_one(r, i);
        if (one->by->primitive != of_many(r, at)->by->primitive || !has_array(one, 0) ||
            !is_divisible(part, one->values[0]))
            continue;
        any = true;
        if (is_block(part, one->values[0]))
            return false;
    }
    return any;
}

bool reference_lacks(const struct counterparts *r, uint32_t at) {
    const struct traced *many = of_many(r, at);
    bool lacks = false, is_varied = false;
    if (r->places[OF_MANY][at].line == 0)
        return false;
    for (uint32_t d = 0; d < r->numbers->mesh->n_devices; d++)
        is_varied |= has_array(many, d) && !is_one_number(many->values[d]);
    for (uint32_t d = 0; d < r->numbers->mesh->n_devices && !lacks; d++)
        lacks = has_array(many, d) && !(is_varied && is_one_number(many->values[d])) &&
                lacks_on(r, at, d);
    return lacks;
}

// A number of an array of the one device, times a factor.
struct multiple_asked {
    struct place_asked of;
    double factor;
};

static bool is_multiple_there(void *with, double number) {
    const struct multiple_asked *multiple = with;
    return has_number(multiple->of.r, multiple->of.one, number / multiple->factor);
}

bool reference_makes_multiple(struct counterparts *r, uint32_t at, double factor) {
    uint32_t line = r->places[OF_MANY][at].line;
    if (line == 0)
        return false;
    for (uint32_t i = r->first_on_line[line]; i != NOWHERE; i = r->next_on_line[i]) {
        struct multiple_asked multiple = {{r, i}, factor};
        if (does_same(of_many(r, at), of_one(r, i)) && has_array(of_one(r, i), 0) &&
            numbers_ask(r->numbers, of_many(r, at), 0, is_multiple_there, &multiple) == STATE_KNOWN)
            return true;
    }
    return false;
}

// ---- all of it --------------------------------------------------------------------------------

// Lists what one device makes by lines of the user's program.
static void list_lines(struct counterparts *r) {
    uint32_t n_one = r->numbers->one->n;
    r->first_on_line = ARENA_ARRAY(r->arena, uint32_t, r->lines.n + 1);
    r->next_on_line = ARENA_ARRAY(r->arena, uint32_t, n_one + 1);
    for (uint32_t line = 0; line <= r->lines.n; line++)
        r->first_on_line[line] = NOWHERE;
    for (uint32_t i = n_one; i-- > 0;) {
        uint32_t *first = &r->first_on_line[r->places[OF_ONE][i].line];
        r->next_on_line[i] = *first;
        *first = i;
    }
}

struct counterparts reference_new(const struct numbers *numbers, struct arena *arena) {
    const struct trace *const traces[] = {numbers->one, numbers->many};
    struct counterparts r = {.numbers = numbers,
                             .seen = ARENA_ARRAY(arena, struct seen, numbers->many->n + 1),
                             .sorted = ARENA_ARRAY(arena, double *, numbers->one->n + 1),
                             .n_sorted = ARENA_ARRAY(arena, uint32_t, numbers->one->n + 1),
                             .arena = arena};
    for (int t = 0; t < 2; t++) {
        r.means[t] = ARENA_ARRAY(arena, struct element_mean, traces[t]->n + 1);
        r.turns[t] = ARENA_ARRAY(arena, struct element_mean, traces[t]->n + 1);
        r.next[t] = turns_of(traces[t], arena);
        r.places[t] = ARENA_ARRAY(arena, struct array_place, traces[t]->n + 1);
    }
    r.routes.arena = r.lines.arena = arena;
    find_places(&r, OF_ONE);
    find_places(&r, OF_MANY);
    list_lines(&r);
    return r;
}

void reference_free(struct counterparts *r) {
    arena_free(&r->scratch);
}
