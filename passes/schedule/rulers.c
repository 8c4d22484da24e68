// What is laid beside a ruler, and what is taken out of it; see rulers.h.
#include "passes/schedule/rulers.h"

#include <stdlib.h>

// Nothing is taken out of what is beyond these; sums and products of both fit 63 bits.
static const int64_t max_unit = INT64_C(1) << 10, max_place = INT64_C(1) << 40;

int64_t common_multiple(int64_t a, int64_t b) {
    if (a == 0 || b == 0 || a / greatest_common_divisor(a, b) > max_place / b)
        return 0;
    return least_common_multiple(a, b);
}

// ---- ties -------------------------------------------------------------------------------------

void tie_lines(struct rulers *r, struct tie tie) {
    ARENA_PUSH(r->arena, r->ties, r->n_ties, r->cap_ties, tie);
}

// Backwards, so that each line's list is in the order of the text; and that it is known of a loop
// that goes with another whether it names anything. If not it is tied to nothing.
static void list_ties(struct rulers *r) {
    uint32_t first = r->n_ties;
    for (uint32_t i = r->n_ties; i-- > 0;) {
        struct tie *tie = &r->ties[i];
        if (r->lines[tie->to].is_loop && !r->lines[tie->to].names) {
            r->lines[tie->to].stride = 0;
            continue;
        }
        r->lines[tie->from].names = true;
        r->ties[--first] = *tie;
    }
    r->ties += first;
    r->n_ties -= first;
    for (uint32_t i = r->n_ties; i-- > 0;) {
        struct tie *tie = &r->ties[i];
        tie->next_from = r->lines[tie->from].from;
        tie->next_to = r->lines[tie->to].to;
        r->lines[tie->from].from = r->lines[tie->to].to = tie;
    }
}

// ---- rulers -----------------------------------------------------------------------------------

static bool is_countable(const struct line *line, const struct tie *tie) {
    return line->unit <= max_unit && tie->ratio <= max_unit && -max_place <= line->origin &&
           line->origin <= max_place && -max_place <= tie->first && tie->last <= max_place;
}

static void use_smaller_units(struct rulers *r, uint32_t first, uint32_t end, int64_t ratio) {
    for (uint32_t i = first; i < end; i++) {
        r->lines[r->queue[i]].unit *= ratio;
        r->lines[r->queue[i]].origin *= ratio;
    }
}

// Lays the other line of a tie beside the same ruler. `n`: lines in the queue.
static void lay_line(struct rulers *r, const struct tie *tie, bool forward, uint32_t *n) {
    uint32_t id = forward ? tie->to : tie->from;
    const struct line *known = &r->lines[forward ? tie->from : tie->to];
    struct line *line = &r->lines[id];
    if (line->ruler)
        return;
    line->ruler = known->ruler;
    line->unit = forward ? known->unit / tie->ratio : known->unit * tie->ratio;
    line->origin = forward ? known->origin - line->unit * tie->first
                           : known->origin + known->unit * tie->first;
    r->queue[(*n)++] = id;
}

// Everything that is tied to a line, directly or not. Returns how many lines the queue then has.
static uint32_t lay_lines(struct rulers *r, uint32_t first) {
    uint32_t n = first + 1;
    for (uint32_t i = first; i < n; i++) {
        const struct line *line = &r->lines[r->queue[i]];
        for (const struct tie *tie = line->from; tie && is_countable(line, tie);
             tie = tie->next_from) {
            if (line->unit % tie->ratio)
                use_smaller_units(r, first, n, tie->ratio);
            lay_line(r, tie, true, &n);
        }
        for (const struct tie *tie = line->to; tie && is_countable(line, tie); tie = tie->next_to)
            lay_line(r, tie, false, &n);
    }
    return n;
}

void lay_rulers(struct rulers *r) {
    uint32_t n = 0;
    list_ties(r);
    r->queue = ARENA_ARRAY(r->arena, uint32_t, r->n_lines);
    for (uint32_t i = 0; i < r->n_lines; i++) {
        struct line *line = &r->lines[i];
        if (!line->is_loop || line->ruler)
            continue;
        line->ruler = ARENA_NEW(r->arena, struct ruler);
        line->ruler->period = 1;
        line->unit = 1;
        r->queue[n] = i;
        n = lay_lines(r, n);
    }
}

static int64_t distance(const struct line *from, const struct line *to, int64_t offset) {
    int64_t d = to->origin + to->unit * offset - from->origin;
    return d < 0 ? -d : d;
}

// How far apart is what lies beside each other? Loops that go with another come before what they
// name, so their distance from it is known then.
static void measure_ties(struct rulers *r) {
    for (uint32_t i = 0; i < r->n_ties; i++) {
        const struct tie *tie = &r->ties[i];
        struct line *from = &r->lines[tie->from], *to = &r->lines[tie->to];
        struct ruler *ruler = from->ruler;
        if (!is_countable(from, tie) || to->ruler != ruler || to->unit * tie->ratio != from->unit) {
            ruler->is_rigid = true;
            if (to->ruler)
                to->ruler->is_rigid = true;
            continue;
        }
        int64_t first = distance(from, to, tie->first), last = distance(from, to, tie->last);
        int64_t spread = from->spread + (first > last ? first : last);
        if (to->is_loop)
            to->spread = spread;
        if (ruler->slack < spread)
            ruler->slack = spread;
        ruler->has_items |= to->is_stack;
    }
}

static void measure_periods(struct rulers *r) {
    for (uint32_t i = 0; i < r->n_lines; i++) {
        const struct line *line = &r->lines[i];
        struct ruler *ruler = line->ruler;
        if (!ruler || ruler->is_rigid)
            continue;
        int64_t rounds = line->is_loop ? line->period : 1; // up to max_place
        ruler->period = common_multiple(ruler->period, line->unit * rounds);
        ruler->is_rigid = ruler->period == 0;
        ruler->carries |= line->carries;
    }
}

// Are loops in one another beside one ruler, that do not go with each other? What the inner one
// makes in an iteration of the outer one may be used in the next.
static bool is_crossed(const struct rulers *r, const struct line *line) {
    if (!line->is_loop || line->stride)
        return false;
    for (uint32_t outer = line->outer; outer != NO_ID; outer = r->lines[outer].outer)
        if (r->lines[outer].ruler == line->ruler)
            return true;
    return false;
}

// What is carried is in use until a wait that may stand in the next iteration, or the next that has
// the same slot, or as far from the slot's place as its start is from it.
static void widen_slack(struct rulers *r) {
    for (uint32_t i = 0; i < r->n_lines; i++)
        if (is_crossed(r, &r->lines[i]))
            r->lines[i].ruler->carries = true;
    for (uint32_t i = 0; i < r->n_lines; i++) {
        struct ruler *ruler = r->lines[i].ruler;
        if (ruler && ruler->carries)
            ruler->slack = 3 * ruler->slack + ruler->period;
        if (ruler)
            ruler->carries = false;
    }
}

void measure_rulers(struct rulers *r) {
    measure_ties(r);
    measure_periods(r);
    widen_slack(r);
}

// ---- marks, and what is taken out between them ------------------------------------------------

void mark_place(struct rulers *r, uint32_t id, int64_t x) {
    const struct line *line = &r->lines[id];
    if (line->ruler && !line->ruler->is_rigid)
        ARENA_PUSH(r->arena, r->marks, r->n_marks, r->cap_marks,
                   (struct mark){line->ruler, line->origin + line->unit * x});
}

static void mark_ends(struct rulers *r) {
    for (uint32_t i = 0; i < r->n_lines; i++) {
        const struct line *line = &r->lines[i];
        if (line->stride)
            continue;
        mark_place(r, i, line->begin);
        mark_place(r, i, line->end);
    }
}

static int by_ruler_and_place(const void *a, const void *b) {
    const struct mark *x = a, *y = b;
    if (x->ruler != y->ruler)
        return x->ruler < y->ruler ? -1 : 1;
    return (x->at > y->at) - (x->at < y->at);
}

static bool stays(const struct rulers *r, const struct ruler *ruler, int64_t at) {
    for (uint32_t i = 0; i < r->n_lines; i++) {
        const struct line *line = &r->lines[i];
        if (line->ruler == ruler && line->stays && line->origin + line->unit * line->begin <= at &&
            at < line->origin + line->unit * line->end)
            return true;
    }
    return false;
}

// How much is kept on both sides; see rulers.h.
static int64_t kept_before(const struct ruler *ruler) {
    int64_t start = ruler->slack + 2 * ruler->period;
    return ruler->has_items ? start + ruler->period + ruler->slack : start;
}

static int64_t kept_behind(const struct ruler *ruler) {
    int64_t end = ruler->slack + ruler->period;
    return ruler->has_items ? end + ruler->period + ruler->slack : end;
}

bool cut_rulers(struct rulers *r) {
    bool any = false;
    mark_ends(r);
    if (r->n_marks)
        qsort(r->marks, r->n_marks, sizeof *r->marks, by_ruler_and_place);
    for (uint32_t i = 1; i < r->n_marks; i++) {
        const struct mark *from = &r->marks[i - 1], *to = &r->marks[i];
        struct ruler *ruler = from->ruler;
        if (ruler != to->ruler)
            continue;
        int64_t left_out = to->at - from->at - kept_before(ruler) - kept_behind(ruler);
        if (left_out < ruler->period || stays(r, ruler, from->at))
            continue;
        struct cut cut = {from->at + kept_before(ruler), left_out / ruler->period * ruler->period};
        ARENA_PUSH(r->arena, ruler->cuts, ruler->n_cuts, ruler->cap_cuts, cut);
        any = true;
    }
    return any;
}

static int64_t taken_before(const struct ruler *ruler, int64_t at) {
    int64_t taken = 0;
    for (uint32_t i = 0; i < ruler->n_cuts && ruler->cuts[i].at < at; i++)
        taken += ruler->cuts[i].taken;
    return taken;
}

// ---- and back ---------------------------------------------------------------------------------

int64_t lost_before(const struct line *line, int64_t x) {
    return line->ruler ? taken_before(line->ruler, line->origin + line->unit * x) / line->unit : 0;
}

int64_t whole_of(const struct line *line, int64_t x) {
    if (!line->ruler)
        return x;
    int64_t at = line->short_origin + line->unit * x;
    for (uint32_t i = 0; i < line->ruler->n_cuts && line->ruler->cuts[i].at <= at; i++)
        at += line->ruler->cuts[i].taken;
    return (at - line->origin) / line->unit;
}

const struct cut *cut_at(const struct line *line, int64_t x, int64_t slack) {
    const struct ruler *ruler = line->ruler;
    int64_t at = line->short_origin + line->unit * x;
    for (uint32_t i = 0; ruler && i < ruler->n_cuts; i++) {
        const struct cut *cut = &ruler->cuts[i];
        if (at < cut->at + slack)
            return cut->at - ruler->period - slack <= at ? cut : NULL;
        at += cut->taken;
    }
    return NULL;
}
