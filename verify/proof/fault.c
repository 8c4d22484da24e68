// Faults: why values have no meaning, and how that is told.
#include "verify/proof/proof.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

// "m = 0, l = 11". A fault in the first iteration of all loops is one of the loop as a whole.
const char *iteration_text(const struct proof *p) {
    const char *text = "", *between = "";
    int64_t values[LIMIT_LOOP_DEPTH];
    bool first = true;
    for (int i = 0; i < p->cursor->depth; i++) {
        const struct loop *loop = &p->cursor->loops[i]->loop;
        int64_t value = number_first(&p->world->terms->symbols, p->cursor->variables[i]);
        values[i] = value;
        first = first && value == loop_variable(loop, i, 0, values);
        text = arena_format(p->world->arena, "%s%s%s = %" PRId64, text, between, loop->name, value);
        between = ", ";
    }
    return first ? NULL : text;
}

enum { LAST = 1 << 30 };

uint32_t next_order(struct proof *p) {
    return ++p->n_faults;
}

void fault_last(struct fault *fault) {
    fault->order += LAST;
}

struct fault *fault_make(struct proof *p, enum diagnostic_code code, struct span span,
                         const char *said, const char *format, ...) {
    char message[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    struct fault *fault = ARENA_NEW(p->world->arena, struct fault);
    *fault = (struct fault){.code = code,
                            .span = span,
                            .message = arena_string(p->world->arena, message, strlen(message)),
                            .said = said,
                            .when = iteration_text(p),
                            .order = next_order(p),
                            .made = p->history ? p->history->open : 0};
    return fault;
}

void fault_also(struct fault *fault, struct span other, const char *said) {
    fault->other = other;
    fault->other_said = said;
}

void fault_beside(struct proof *p, struct fault *fault, struct span at, const char *said) {
    struct fault_note **last = &fault->beside;
    while (*last)
        last = &(*last)->next;
    *last = ARENA_NEW(p->world->arena, struct fault_note);
    **last = (struct fault_note){.at = at, .said = said};
}

struct fault *fault_caused_by(struct fault *fault, const struct span *start) {
    fault->by = start;
    return fault;
}

// Loops come by again.
void fault_keep(struct proof *p, struct fault_list *list, const struct fault *fault) {
    for (uint32_t i = 0; i < list->n; i++)
        if (fault_same_cause(list->items[i], fault))
            return;
    ARENA_PUSH(p->world->arena, list->items, list->n, list->cap, fault);
}

void fault_insist(struct proof *p, const struct fault *fault) {
    fault_keep(p, &p->insisted, fault);
}

static bool same_place(const struct fault *a, const struct fault *b) {
    return a->code == b->code && a->span.source == b->span.source && a->span.begin == b->span.begin;
}

bool fault_alike(const struct fault *a, const struct fault *b) {
    return same_place(a, b) && a->by == b->by;
}

bool fault_same_cause(const struct fault *a, const struct fault *b) {
    return same_place(a, b) || (a->by && a->by == b->by);
}

const struct fault *fault_first(const struct fault *a, const struct fault *b) {
    if (!a || !b)
        return a ? a : b;
    return a->order < b->order ? a : b;
}

struct diagnostic *fault_report(struct proof *p, const struct fault *fault) {
    struct diagnostic *d = report(p->diagnostics, fault->code, fault->span, "%s", fault->message);
    if (fault->said)
        diagnostic_say(d, "%s", fault->said);
    if (fault->other_said)
        diagnostic_note_at(d, fault->other, "%s", fault->other_said);
    for (const struct fault_note *note = fault->beside; note; note = note->next)
        diagnostic_note_at(d, note->at, "%s", note->said);
    if (fault->when)
        diagnostic_note(d, "first so in the iteration with %s", fault->when);
    if (fault->effect)
        diagnostic_note(d, "%s", fault->effect);
    if (fault->help)
        diagnostic_help(d, "%s", fault->help);
    return d;
}
