// Chains of provenance in words and in notes: which statement, brought by which `use`, set by which
// argument of the command line.
#include "ir/config.h"
#include "ir/diagnostic.h"

#include <string.h>

struct span origin_span(const struct origin *origin) {
    return origin->span; // of a USE: the `use` in the user's file
}

// " at FILE:LINE:COLUMN", or nothing for what stands nowhere.
static const char *place_words(struct arena *arena, const struct source_files *sources,
                               struct span span) {
    struct source_place place = source_place(sources, span);
    return place.file ? arena_format(arena, " at %s:%u:%u", place.file, place.line, place.column)
                      : "";
}

// From the fact to what the user wrote, which stands last.
const char *origin_words(struct arena *arena, const struct source_files *sources,
                         const struct origin *origin) {
    const char *words = NULL;
    for (; origin; origin = origin->inner) {
        const char *link = NULL;
        switch (origin->kind) {
        case ORIGIN_STATEMENT:
            break;
        case ORIGIN_USE:
            link = arena_format(arena, "use%s", place_words(arena, sources, origin->span));
            break;
        case ORIGIN_COMMAND_LINE:
            link = arena_format(arena, "<command line> %s", origin->text);
            break;
        case ORIGIN_SCHEDULE:
            link = arena_format(arena, "schedule%s", place_words(arena, sources, origin->span));
            break;
        case ORIGIN_DEFAULT:
            link = arena_format(arena, "default: %s", origin->text);
            break;
        }
        // The innermost link is the statement itself; it is named when something brought it.
        if (!link && words)
            link = arena_format(arena, "statement%s", place_words(arena, sources, origin->span));
        if (link)
            words = words ? arena_format(arena, "%s, from %s", link, words) : link;
    }
    return words;
}

// The primary span is not repeated as a note.
// What is shown already: the statement, or a part of it.
static bool is_around(struct span whole, struct span part) {
    return whole.source == part.source && whole.begin <= part.begin && part.end <= whole.end;
}

// The links that stand in a text become notes there; the whole chain becomes JSON's `origin`.
void diagnostic_origin(struct diagnostic *d, const struct origin *origin) {
    if (d->dropped)
        return;
    const char *words = origin_words(d->set->arena, d->set->sources, origin);
    d->origin = words ? text_shortened(d->set->arena, words) : NULL;
    for (; origin; origin = origin->inner)
        switch (origin->kind) {
        case ORIGIN_STATEMENT:
            if (!is_around(origin->span, d->span))
                diagnostic_note_at(d, origin->span, "the statement itself");
            break;
        case ORIGIN_USE:
            if (!is_around(origin->span, d->span))
                diagnostic_note_at(d, origin->span, "brought by this `use`");
            break;
        case ORIGIN_COMMAND_LINE:
            diagnostic_note(d, "set by <command line>: %s", origin->text);
            break;
        case ORIGIN_SCHEDULE:
            diagnostic_note_at(d, origin->span, "follows from this schedule");
            break;
        case ORIGIN_DEFAULT:
            diagnostic_note(d, "by default: %s", origin->text);
            break;
        }
}

struct diagnostic *report_not_built(struct diagnostics *set, const struct origin *origin,
                                    const char *what, const char *instead) {
    struct diagnostic *d =
        report(set, E199, origin_span(origin), "%s is understood, but not compiled yet", what);
    diagnostic_origin(d, origin);
    diagnostic_help(d, "%s", instead);
    return d;
}
