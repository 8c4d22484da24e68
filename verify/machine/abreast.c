// Executes a step of all parts of a job side by side. A part goes on until it has to wait for
// another, then the next one does. Ends of messages have one partner each and what can go on once can
// go on later, so whoever goes first, all come to the same end, or to the same standstill
// (VERIFIER: one greedy execution decides for all).
//
// A standstill is told by its causes: who waits for a part that has ended waits for what is not in
// the text. If there is no such, parts wait for each other in a circle. Then it is looked at how far
// they would come if a send were over when the receive is started: a receive that nothing waits for,
// or not where it should, shows where what it brings is read.
#include "verify/machine/induction.h"
#include "verify/machine/repeat.h"
#include "verify/machine/sides.h"

// ---- standstill -------------------------------------------------------------------------------

static const struct statement *next_statement(const struct abstract_machine *m) {
    const struct frame *frame = &m->cursor->frames[m->cursor->n_frames - 1];
    return &frame->block->statements[frame->next];
}

// What a part that waits has in flight there, and the part that has to come.
static struct end *awaited_end(struct abstract_machine *m) {
    const struct statement *wait = next_statement(m);
    return sides_end(m, wait->wait.handle, number_of(m, wait->wait.index));
}

static uint32_t awaited_by(struct sides *sides, uint32_t side) {
    struct abstract_machine *m = &sides->machines[side];
    return sides_awaited(m, awaited_end(m));
}

static const char *name_of(const struct sides *sides, uint32_t side) {
    return sides->machines[side].program->part.name;
}

// "to send what this receives"
static const char *wanted_text(const struct sides *sides, const struct end *end) {
    if (end->meeting)
        return end->meeting->n_started < sides->n ? "to come to the same collective"
                                                  : "to wait for the same collective";
    return end->start->start.exchange.kind == COLLECTIVE_SEND ? "to receive it" : "to send it";
}

static void tell_missing(struct sides *sides, uint32_t side) {
    struct abstract_machine *m = &sides->machines[side];
    const struct end *end = awaited_end(m);
    bool started = end->meeting && end->meeting->n_started == sides->n;
    const char *lacks = started                                              ? "waiting for this"
                        : end->meeting                                       ? "coming to this"
                        : end->start->start.exchange.kind == COLLECTIVE_SEND ? "receiving this"
                                                                             : "sending this";
    abstract_machine_take_turn(m);
    struct fault *fault =
        fault_make(m->proof, E518, end->start->span, NULL, "part `%s` ends its step without %s",
                   name_of(sides, sides_awaited(m, end)), lacks);
    fault_also(fault, next_statement(m)->span, "this waits for it");
    fault_insist(m->proof, fault);
}

// The parts of the circle, from the first on: each waits for the next.
static void tell_circle(struct sides *sides, uint32_t first) {
    struct abstract_machine *m = &sides->machines[first];
    abstract_machine_take_turn(m);
    struct fault *fault = fault_make(
        m->proof, E517, next_statement(m)->span, NULL,
        "no part can go on: here part `%s` waits for part `%s` %s", name_of(sides, first),
        name_of(sides, awaited_by(sides, first)), wanted_text(sides, awaited_end(m)));
    for (uint32_t side = awaited_by(sides, first); side != first; side = awaited_by(sides, side)) {
        struct abstract_machine *other = &sides->machines[side];
        fault_beside(m->proof, fault, next_statement(other)->span,
                     arena_format(m->world->arena, "here part `%s` waits for part `%s` %s",
                                  name_of(sides, side), name_of(sides, awaited_by(sides, side)),
                                  wanted_text(sides, awaited_end(other))));
    }
    fault_last(fault);
    fault_insist(m->proof, fault);
}

static void tell_standstill(struct sides *sides) {
    bool missing = false;
    uint32_t side = 0;
    while (!sides->machines[side].waits)
        side++;
    for (uint32_t i = side; i < sides->n; i++)
        if (sides->machines[i].waits && !sides->machines[awaited_by(sides, i)].waits) {
            tell_missing(sides, i);
            missing = true;
        }
    if (missing || sides->lenient)
        return;
    for (uint32_t i = 0; i < sides->n; i++) // behind so many it is one of the circle
        side = awaited_by(sides, side);
    tell_circle(sides, side);
}

// ---- execution --------------------------------------------------------------------------------

enum { MOST_STATES_BYTES = 16 << 20 };

// Where a part waits no snapshot is kept: what goes on in loops around is followed one by one.
static void tidy(struct sides *sides) {
    struct arena *from = &sides->states[sides->in_use], *to = &sides->states[!sides->in_use];
    // This saves time: what is left may be moved at any time. Of one part nothing is there.
    if (arena_used_bytes(from) < MOST_STATES_BYTES + 8 * sides->kept_bytes)
        return;
    for (uint32_t i = 0; i < sides->n; i++)
        store_move(&sides->machines[i], to);
    sides->machines[0].world->states = to;
    sides->in_use = !sides->in_use;
    sides->kept_bytes = arena_used_bytes(to);
    arena_reuse(from);
}

// Whether the part did anything. Who waits may not have to any more.
static bool go_on(struct abstract_machine *m) {
    bool went = false;
    abstract_machine_take_turn(m);
    while (step_advance(m))
        went = true;
    return went;
}

// Parts that wait in front of a task go into it, as far as they come. False: none does.
static bool urge(struct sides *sides) {
    bool urged = false;
    for (uint32_t i = 0; i < sides->n; i++)
        urged = repetition_urge(&sides->machines[i]) || urged;
    return urged;
}

// All parts, until none can go on. False: they have not all ended.
static bool go_on_together(struct sides *sides) {
    bool went, waits, back = false; // messages go both ways
    do {
        went = waits = false;
        for (uint32_t i = 0; i < sides->n; i++) {
            struct abstract_machine *m = &sides->machines[back ? sides->n - 1 - i : i];
            went = go_on(m) || went;
            tidy(sides);
            waits = waits || m->waits;
            if (m->overrun)
                return false;
        }
        back = !back;
    } while (went || urge(sides));
    return !waits;
}

static bool has_overrun(const struct sides *sides) {
    bool overrun = false;
    for (uint32_t i = 0; i < sides->n; i++)
        overrun = overrun || sides->machines[i].overrun;
    return overrun;
}

static bool go_to_the_end(struct sides *sides) {
    bool ended = go_on_together(sides);
    while (!ended && !has_overrun(sides)) {
        tell_standstill(sides);
        if (sides->lenient)
            return false;
        sides->lenient = true;
        ended = go_on_together(sides);
    }
    return ended;
}

bool sides_execute(struct sides *sides, enum step_kind kind) {
    sides_begin(sides);
    for (uint32_t i = 0; i < sides->n; i++) {
        abstract_machine_take_turn(&sides->machines[i]);
        step_begin(&sides->machines[i], kind);
    }
    bool ended = go_to_the_end(sides);
    for (uint32_t i = 0; i < sides->n; i++)
        courses_free(&sides->machines[i]);
    if (!ended)
        return false;
    for (uint32_t i = 0; i < sides->n; i++) {
        abstract_machine_take_turn(&sides->machines[i]);
        step_end(&sides->machines[i]);
    }
    return true;
}
