// Causes. Each value on the way to a wrong result is sound, or would be if it were folded over axes of the mesh, or
// neither. What is neither spreads to all that is made of it, so one mistake lies on the way to every wrong result; the
// first value that does, and is made of sound ones, is the cause. A value of which something sound is made is no mistake,
// though the one device has none like it: programs go other ways to the same results.
#include "equal/diagnosis/cause.h"

#include "equal/diagnosis/witness.h"
#include "ir/check.h"

enum { MOST_RESULTS = 64 }; // wrong ones that are looked at

struct search {
    const struct finding *f;
    struct seen *seen; // by array of the trace
    bool *healed;      // something sound is made of it
    uint64_t *reaches; // which of the wrong results, without being healed on the way
    uint32_t results[MOST_RESULTS];
    uint32_t n_results;
    struct counterparts reference; // where numbers are known
};

static const struct traced *array_at(const struct search *s, uint32_t i) {
    return &s->f->many->arrays[i];
}

// ---- soundness --------------------------------------------------------------------------------

static struct seen say(const struct search *s, const struct traced *traced) {
    const struct terms_known *terms = s->f->terms;
    struct seen seen = {STATE_OPEN, 0};
    if (traced->by->primitive == PRIM_PARAMETER)
        return (struct seen){STATE_KNOWN, 0};
    if (s->f->numbers)
        seen = numbers_say(s->f->numbers, traced);
    if (seen.state != STATE_OPEN || !traced->meaning || traced->meaning->members)
        return seen;
    struct coordinates all = coordinates_of(traced->by->shape, terms->mesh->n_devices);
    struct seen by_terms = terms_say(terms, traced->meaning->value, &all);
    arena_reuse(&terms->c->scratch);
    return by_terms.state == STATE_WRONG && s->f->numbers ? seen : by_terms;
}

// Whether it is none of the arrays, nor a part of one, that one device makes at the same place of the user's program, even
// if all its numbers are: integers and masks say nothing else, and what is moved or masked has the right numbers.
static bool is_misplaced(const struct search *s, uint32_t i) {
    return s->f->numbers && array_at(s, i)->by->primitive != PRIM_PARAMETER &&
           reference_lacks(&s->reference, i);
}

static bool has_factor(const struct search *s, uint32_t at, struct cause *cause) {
    return numbers_factor(s->f->numbers, array_at(s, at), &cause->numerator, &cause->denominator);
}

// Whether it is so many times what one device makes at the same place of the user's program, as an operand is of what it
// should be: that it is also another value of the one device is a chance, as where a factor of 2 meets the 1/2 of a gelu.
static bool stays_multiple(struct search *s, uint32_t i) {
    struct cause of;
    for (uint32_t k = 0; k < array_at(s, i)->n_operands; k++) {
        uint32_t operand = array_at(s, i)->operands[k];
        if (numbers_say(s->f->numbers, array_at(s, operand)).state == STATE_WRONG &&
            has_factor(s, operand, &of) &&
            reference_makes_multiple(&s->reference, i,
                                     (double)of.numerator / (double)of.denominator))
            return true;
    }
    return false;
}

static struct seen see(struct search *s, uint32_t i) {
    if (s->seen[i].state != STATE_UNSEEN)
        return s->seen[i];
    struct seen seen = say(s, array_at(s, i));
    if ((seen.state == STATE_OPEN || seen.state == STATE_KNOWN) && is_misplaced(s, i))
        seen.state = STATE_WRONG;
    if (seen.state == STATE_KNOWN && s->f->numbers && stays_multiple(s, i))
        seen.state = STATE_WRONG;
    s->seen[i] = seen;
    return seen;
}

static bool is_wrong(struct search *s, uint32_t i) {
    return see(s, i).state == STATE_WRONG && !s->healed[i];
}

// Whether it tells of few elements of its operands what they are: the largest stays where others change.
static bool is_extreme(const struct search *s, const struct traced *traced) {
    const struct instruction_attributes *attributes = traced->by->attributes;
    if (attributes->n_called == 0 ||
        (traced->by->primitive != PRIM_REDUCE && traced->by->primitive != PRIM_ALL_REDUCE))
        return false;
    const struct computation *region = &s->f->many->graph->computations[attributes->called[0]];
    enum primitive by = region->instructions[region->root].primitive;
    return by == PRIM_MAXIMUM || by == PRIM_MINIMUM;
}

// Whether it is a part of its first operand, of the rest of which it tells nothing.
static bool reads_part(const struct traced *traced) {
    return traced->by->primitive == PRIM_DYNAMIC_SLICE;
}

// Marks of what something sound is made. Terms are not asked for it, of which there may be very many.
static void mark_healed(struct search *s) {
    for (uint32_t i = s->f->many->n; s->f->numbers && i-- > 0;) {
        const struct traced *traced = array_at(s, i);
        enum soundness state = numbers_say(s->f->numbers, traced).state;
        bool is_sound = state == STATE_KNOWN || state == STATE_SUMMAND || state == STATE_TURN;
        is_sound = is_sound && !is_misplaced(s, i) && !stays_multiple(s, i);
        bool heals = (s->healed[i] || is_sound) && !is_extreme(s, traced);
        for (uint32_t k = reads_part(traced) ? 1 : 0; heals && k < traced->n_operands; k++)
            s->healed[traced->operands[k]] = true;
    }
}

// ---- the way to wrong results -----------------------------------------------------------------

// A share is no end of the way: what is made with a factor may be one by chance.
static uint64_t mark_reaching(struct search *s) {
    uint64_t all = 0;
    for (uint32_t r = 0; r < s->n_results; r++) {
        uint32_t at = trace_result(s->f->many, s->results[r]);
        if (is_wrong(s, at)) {
            s->reaches[at] |= UINT64_C(1) << r;
            all |= UINT64_C(1) << r;
        }
    }
    for (uint32_t i = s->f->many->n; i-- > 0;) {
        const struct traced *traced = array_at(s, i);
        bool is_open = see(s, i).state == STATE_OPEN && !s->healed[i] && s->f->numbers;
        if (!s->reaches[i] || (!is_wrong(s, i) && !is_open && see(s, i).state != STATE_SHARE))
            continue;
        for (uint32_t k = 0; k < traced->n_operands; k++)
            s->reaches[traced->operands[k]] |= s->reaches[i];
    }
    return all;
}

// Whether it is a value of the one device times a number, as an operand is that was healed: then it is no mistake
// either, unless another one is made of it.
static bool stays_scaled(struct search *s, uint32_t at) {
    struct cause own, of;
    if (!s->f->numbers ||
        !numbers_factor(s->f->numbers, array_at(s, at), &own.numerator, &own.denominator))
        return false;
    for (uint32_t k = 0; k < array_at(s, at)->n_operands; k++) {
        uint32_t operand = array_at(s, at)->operands[k];
        if (see(s, operand).state == STATE_WRONG &&
            numbers_factor(s->f->numbers, array_at(s, operand), &of.numerator, &of.denominator) &&
            of.numerator == own.numerator && of.denominator == own.denominator)
            return true;
    }
    return false;
}

static int count(uint64_t results) {
    int n = 0;
    for (; results; results &= results - 1)
        n++;
    return n;
}

// Why an instruction is not followed; NULL: it is, or numbers say more.
static const char *find_unread(const struct finding *f, const struct instruction *by) {
    const struct reading *reading = f->many->reading;
    for (uint32_t i = 0; !f->numbers && i < reading->n_unread; i++)
        if (reading->unread[i].instruction == by)
            return reading->unread[i].why;
    return NULL;
}

// The first that reaches as many of the wrong results as any does. There is one. Where numbers say nothing that is what is not followed, if
// there is such: values of which only the writing is another one come before it.
static uint32_t find_first(struct search *s) {
    uint32_t best = s->f->many->n;
    int most = 0;
    for (uint32_t i = 0; i < s->f->many->n; i++)
        if (s->reaches[i] && is_wrong(s, i) && find_unread(s->f, array_at(s, i)->by))
            return i;
    for (int scaled = 0; scaled < 2 && most == 0; scaled++)
        for (uint32_t i = 0; i < s->f->many->n; i++) {
            int n = count(s->reaches[i]);
            if (n <= most || !is_wrong(s, i) || (!scaled && stays_scaled(s, i)))
                continue;
            best = i;
            most = n;
        }
    CHECK(most > 0);
    return best;
}

// ---- what is wrong ----------------------------------------------------------------------------

// What is linear in an operand makes a summand of a summand, as long as all that it adds are such.
static bool reads_summands(struct search *s, const struct traced *traced, uint32_t summand) {
    switch (traced->by->primitive) {
    case PRIM_ADD:
    case PRIM_SUBTRACT:
    case PRIM_SELECT:
    case PRIM_CONCATENATE:
    case PRIM_DYNAMIC_UPDATE_SLICE:
    case PRIM_PAD:
        for (uint32_t k = 0; k < traced->n_operands; k++)
            if (see(s, traced->operands[k]).state == STATE_KNOWN &&
                array_at(s, traced->operands[k])->by->shape->rank > 0)
                return false;
        return true;
    case PRIM_DIVIDE:
        return summand == 0;
    case PRIM_MULTIPLY:
    case PRIM_DOT:
        return see(s, traced->operands[1 - summand]).state == STATE_KNOWN;
    case PRIM_NEGATE:
    case PRIM_CONVERT:
    case PRIM_COPY:
    case PRIM_REDUCE:
        return true;
    default:
        return primitive_rows[traced->by->primitive].class == PRIMITIVE_MOVE ||
               primitive_rows[traced->by->primitive].class == PRIMITIVE_COLLECTIVE;
    }
}

static bool find_summand(struct search *s, const struct traced *traced, uint32_t *summand) {
    for (uint32_t k = 0; k < traced->n_operands; k++) {
        enum soundness state = see(s, traced->operands[k]).state;
        *summand = traced->operands[k];
        bool is_summand = state == STATE_SUMMAND || state == STATE_SHARE;
        if ((is_summand && !reads_summands(s, traced, k)) || state == STATE_PART)
            return true;
    }
    return false;
}

// Whether a mask, or what has one number, is the one's times a number: where it first is, for it may have been moved.
static bool find_multiple(const struct search *s, uint32_t at, uint32_t expected,
                          struct cause *cause) {
    const struct traced *one = &s->f->numbers->one->arrays[expected];
    struct cause own = *cause, of = *cause;
    if (!numbers_factor_of(s->f->numbers, array_at(s, at), one, &own.numerator, &own.denominator))
        return false;
    for (uint32_t k = 0; k < array_at(s, at)->n_operands; k++) {
        uint32_t operand = array_at(s, at)->operands[k];
        if (array_at(s, operand)->by->primitive == PRIM_CONSTANT ||
            (array_at(s, at)->by->frame && !array_at(s, operand)->by->frame) ||
            !numbers_factor_of(s->f->numbers, array_at(s, operand), one, &of.numerator,
                               &of.denominator) ||
            of.numerator != own.numerator || of.denominator != own.denominator)
            continue;
        at = operand;
        k = UINT32_MAX;
    }
    own.kind = CAUSE_FACTOR;
    own.at = array_at(s, at)->by;
    *cause = own;
    return true;
}

// Whether one device reads other values there, or the same elsewhere.
static bool find_mismatch(struct search *s, struct mismatch mismatch, struct cause *cause) {
    static const enum cause_kind kinds[] = {CAUSE_OTHER, CAUSE_OTHER, CAUSE_MOVED, CAUSE_READ};
    if (mismatch.kind == MISMATCH_NONE)
        return false;
    bool has_line =
        array_at(s, mismatch.instead)->by->frame || !array_at(s, mismatch.at)->by->frame;
    if (mismatch.kind == MISMATCH_READ && mismatch.expected != NOWHERE && has_line &&
        find_multiple(s, mismatch.instead, mismatch.expected, cause))
        return true;
    cause->kind = kinds[mismatch.kind];
    if (mismatch.kind == MISMATCH_MADE && has_factor(s, mismatch.at, cause))
        cause->kind = CAUSE_FACTOR;
    cause->at = array_at(s, mismatch.at)->by;
    cause->operand = array_at(s, mismatch.instead)->by;
    if (mismatch.expected != NOWHERE)
        cause->expected = s->f->numbers->one->arrays[mismatch.expected].by;
    return true;
}

// Where what is a summand, or a share, has first become one.
static uint32_t first_like(struct search *s, uint32_t at) {
    struct seen seen = see(s, at);
    for (uint32_t k = 0; k < array_at(s, at)->n_operands; k++) {
        struct seen of = see(s, array_at(s, at)->operands[k]);
        if (of.state == seen.state && (of.axes & seen.axes) == seen.axes) {
            at = array_at(s, at)->operands[k];
            k = UINT32_MAX;
        }
    }
    return at;
}

// A share of a value is made with a factor, where it first is one: no sum is missing.
static bool explain_share(struct search *s, uint32_t share, struct cause *cause) {
    if (!numbers_factor(s->f->numbers, array_at(s, share), &cause->numerator, &cause->denominator))
        return false;
    cause->kind = CAUSE_FACTOR;
    cause->at = array_at(s, first_like(s, share))->by;
    return true;
}

static void explain_summand(struct search *s, uint32_t summand, struct cause *cause) {
    struct seen seen = see(s, summand);
    if (seen.state == STATE_SHARE && explain_share(s, summand, cause))
        return;
    cause->kind = seen.state == STATE_PART ? CAUSE_PART : CAUSE_SUMMAND;
    cause->axes = seen.axes;
    cause->operand = array_at(s, first_like(s, summand))->by;
}

// What is made of a share, with the same factor.
static bool find_share(struct search *s, const struct traced *traced, struct cause *cause) {
    struct cause own = {0};
    if (!numbers_factor(s->f->numbers, traced, &own.numerator, &own.denominator))
        return false;
    for (uint32_t k = 0; k < traced->n_operands; k++)
        if (see(s, traced->operands[k]).state == STATE_SHARE &&
            explain_share(s, traced->operands[k], cause))
            return true;
    return false;
}

// An operand that is a value of the one device times a number, and was healed where the number did not matter: where
// it was first made so.
static bool find_scaled(struct search *s, const struct traced *traced, struct cause *cause) {
    struct cause own = *cause, of = {0};
    uint32_t scaled = UINT32_MAX;
    for (uint32_t k = 0; k < traced->n_operands; k++) {
        uint32_t operand = traced->operands[k];
        if (see(s, operand).state != STATE_WRONG || !has_factor(s, operand, &of) ||
            (scaled != UINT32_MAX &&
             (of.numerator != own.numerator || of.denominator != own.denominator)))
            continue;
        own.numerator = of.numerator;
        own.denominator = of.denominator;
        scaled = operand;
        traced = array_at(s, operand);
        k = UINT32_MAX;
    }
    if (scaled == UINT32_MAX)
        return false;
    own.kind = CAUSE_FACTOR;
    own.at = traced->by;
    *cause = own;
    return true;
}

static void explain_by_numbers(struct search *s, uint32_t at, struct cause *cause) {
    const struct traced *traced = array_at(s, at);
    if (find_share(s, traced, cause) ||
        find_mismatch(s, reference_operands(&s->reference, at), cause) ||
        find_scaled(s, traced, cause))
        return;
    if (has_factor(s, at, cause))
        cause->kind = CAUSE_FACTOR;
}

static void explain_wrong(struct search *s, uint32_t at, struct cause *cause) {
    const struct traced *traced = array_at(s, at);
    uint32_t summand;
    cause->at = traced->by;
    cause->kind = CAUSE_OTHER;
    cause->why = find_unread(s->f, traced->by);
    if (cause->why)
        cause->kind = CAUSE_UNREAD;
    else if (find_summand(s, traced, &summand))
        explain_summand(s, summand, cause);
    else if (s->f->numbers)
        explain_by_numbers(s, at, cause);
}

static void explain_result(struct search *s, struct cause *cause) {
    uint32_t at = trace_result(s->f->many, cause->result);
    struct seen seen = see(s, at);
    cause->at = array_at(s, at)->by;
    cause->kind = CAUSE_RESULT;
    if (seen.state != STATE_SUMMAND && seen.state != STATE_SHARE && seen.state != STATE_PART) {
        if (s->f->numbers)
            find_mismatch(s,
                          reference_instead(&s->reference, at, at,
                                            trace_result(s->f->numbers->one, cause->result)),
                          cause);
        return;
    }
    explain_summand(s, at, cause);
}

// ---- by terms alone ---------------------------------------------------------------------------

static bool by_factor(struct calculus *c, const struct unproved *of, struct cause *cause) {
    if (!term_equal(of->expected.of.of, of->found.of.of) || of->expected.view != of->found.view)
        return false;
    scale_id inverse = scale_invert(&c->terms, of->expected.of.scale);
    const struct scale *factor =
        scale_get(&c->terms, scale_multiply(&c->terms, of->found.of.scale, inverse));
    if (!scale_is_fraction(factor))
        return false;
    cause->kind = CAUSE_FACTOR;
    cause->numerator = factor->numerator;
    cause->denominator = factor->denominator;
    return true;
}

// The only operand that is more than one number for all places, where elements are made of elements or moved.
static bool step_back(const struct search *s, uint32_t *at) {
    const struct traced *traced = array_at(s, *at);
    enum primitive_class class = primitive_rows[traced->by->primitive].class;
    uint32_t n = 0, only = 0;
    for (uint32_t k = 0; k < traced->n_operands; k++) {
        const struct traced *operand = array_at(s, traced->operands[k]);
        while (operand->n_operands == 1 && operand->by->primitive == PRIM_BROADCAST)
            operand = array_at(s, operand->operands[0]);
        if (operand->by->shape->rank > 0 || traced->n_operands == 1) {
            only = traced->operands[k];
            n++;
        }
    }
    *at = only;
    return n == 1 && (class == PRIMITIVE_POINTWISE || class == PRIMITIVE_MOVE);
}

// The last collective on the way, which should have made the result right, else the result itself.
static const struct instruction *last_collective(const struct search *s, uint32_t result) {
    uint32_t at = result;
    do {
        const struct instruction *by = array_at(s, at)->by;
        if (primitive_rows[by->primitive].class == PRIMITIVE_COLLECTIVE)
            return by;
    } while (step_back(s, &at));
    return array_at(s, result)->by;
}

// ---- all of it --------------------------------------------------------------------------------

static void list_results(struct search *s, const struct unproved *of, const double *relative,
                         uint32_t n) {
    for (uint32_t i = 0; s->f->numbers && i < n && s->n_results < MOST_RESULTS; i++)
        if (relative[i] > LEAST_DIFFERENCE)
            s->results[s->n_results++] = i;
    if (s->n_results == 0)
        s->results[s->n_results++] = of->result;
}

static void find(struct search *s, const struct unproved *of, struct cause *cause) {
    if (!s->f->numbers && by_factor(s->f->terms->c, of, cause)) {
        cause->at = last_collective(s, trace_result(s->f->many, of->result));
        return;
    }
    mark_healed(s);
    if (!mark_reaching(s)) {
        explain_result(s, cause);
        return;
    }
    uint32_t first = find_first(s);
    cause->result = s->results[__builtin_ctzll(s->reaches[first])];
    explain_wrong(s, first, cause);
}

struct cause find_cause(const struct finding *f, const struct unproved *of, const double *relative,
                        uint32_t n_results, struct arena *arena) {
    uint32_t n = f->many->n;
    struct search s = {.f = f,
                       .seen = ARENA_ARRAY(arena, struct seen, n + 1),
                       .healed = ARENA_ARRAY(arena, bool, n + 1),
                       .reaches = ARENA_ARRAY(arena, uint64_t, n + 1)};
    if (f->numbers)
        s.reference = reference_new(f->numbers, arena);
    list_results(&s, of, relative, n_results);
    struct cause cause = {.result = s.results[0]};
    find(&s, of, &cause);
    reference_free(&s.reference);
    return cause;
}
