// What the compiler says to the user. Diagnostics are collected objects, not prints: passes report
// them, the driver sorts out how they are shown (text with carets, or JSON), tests look at them.
//
// A diagnostic has a code (diagnostics.def), a message, a primary span, labelled ranges, notes, the
// chain of where the fact came from, and a help that may propose edits.
//
//     struct diagnostic *d = report(ds, E402, span, "gradients are sharded over `%s`, but ...",
//     axis); diagnostic_say(d, "each device keeps 1/%d of the gradient", n);     // beside the
//     carets diagnostic_label(d, other, "each device updates the whole parameter");
//     diagnostic_origin(d, statement->origin);                             // `use`, -D, default
//     diagnostic_help(d, "shard the optimizer too");
//     diagnostic_edit(d, other, "sharded(dp)");                            // part of the help
#ifndef PLACE_IR_DIAGNOSTIC_H
#define PLACE_IR_DIAGNOSTIC_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "ir/arena.h"
#include "ir/source.h"
#include "ir/span.h"

struct origin; // ir/config.h

// What a word has behind so many of what it names.
static inline const char *plural_s(int64_t n) {
    return n == 1 ? "" : "s";
}

enum severity { SEVERITY_ERROR, SEVERITY_WARNING };

enum diagnostic_code {
#define DIAGNOSTIC(code, severity, title) code,
#include "ir/diagnostics.def"
#undef DIAGNOSTIC
    N_DIAGNOSTIC_CODES
};

struct diagnostic_row {
    const char *text; // "E402"
    enum severity severity;
    const char *title;
};
extern const struct diagnostic_row diagnostic_rows[N_DIAGNOSTIC_CODES];
int diagnostic_find(const char *text); // -1: no such code; "e402" and "402" are found too

// The page of a code (docs/errors/CODE.md, embedded): NULL when nobody has written it.
const char *diagnostic_page(enum diagnostic_code code);

// A range with what is to be said about it. As a note, `span` may be nowhere.
struct diagnostic_label {
    struct span span;
    const char *text;
};

struct diagnostic_edit { // replace what stands at `span`; an empty span inserts
    struct span span;
    const char *text;
};

struct diagnostic {
    enum diagnostic_code code;
    enum severity severity;
    const char *message;
    struct span span; // primary; may be nowhere (an unreadable file, a default)
    const char *said; // beside the primary carets; NULL: nothing
    struct diagnostic_label *labels, *notes;
    uint32_t n_labels, n_notes, labels_capacity, notes_capacity;
    const char *origin; // the chain in words, innermost first; NULL: said where the span is
    const char *help;   // NULL: none
    struct diagnostic_edit *edits;
    uint32_t n_edits, edits_capacity;
    bool help_checked; // the driver has compiled the edited text and found it accepted
    bool dropped;      // beyond the limit: what is added to it is forgotten
    struct diagnostics *set;
};

struct diagnostics {
    struct arena *arena;
    struct source_files *sources;
    struct diagnostic **items; // in the order of reporting
    uint32_t n_items, capacity;
    uint32_t n_errors, n_warnings; // all that were reported
    uint32_t n_dropped;            // of these, not kept
    uint32_t limit;                // of each severity kept; 0: no limit. --error-limit
};

enum { DEFAULT_ERROR_LIMIT = 20 };

struct diagnostics *diagnostics_new(struct arena *arena, struct source_files *sources);

// ---- reporting --------------------------------------------------------------------------------
// Never NULL. The severity is the row's.
struct diagnostic *report(struct diagnostics *set, enum diagnostic_code code, struct span span,
                          const char *format, ...) __attribute__((format(printf, 4, 5)));
void diagnostic_say(struct diagnostic *d, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void diagnostic_label(struct diagnostic *d, struct span span, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void diagnostic_note(struct diagnostic *d, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void diagnostic_note_at(struct diagnostic *d, struct span span, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
// Sets the chain and adds a note for every link that is not the primary span (ir/origin.c).
void diagnostic_origin(struct diagnostic *d, const struct origin *origin);
// E199 at a statement that has a meaning and is not built, with what to write instead.
struct diagnostic *report_not_built(struct diagnostics *set, const struct origin *origin,
                                    const char *what, const char *instead);
void diagnostic_help(struct diagnostic *d, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void diagnostic_edit(struct diagnostic *d, struct span span, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
// An edit that leaves out what stands at `span`: with its line, if nothing else is there, or with the
// blanks that parted it from what is.
void diagnostic_delete(struct diagnostic *d, struct span span);

// A help that proposes the name that was meant at `span`, if some are near enough: with an edit, if
// it is one.
bool diagnostic_meant(struct diagnostic *d, struct span span, const char *given,
                      const char *const *names, size_t n);

// Where an error about this fact is shown: the statement, or the `use` that brought it.
struct span origin_span(const struct origin *origin);
// The chain in words, as in JSON's "origin"; NULL for a plain statement.
const char *origin_words(struct arena *arena, const struct source_files *sources,
                         const struct origin *origin);

// How many bytes are shown of a line of a source, or of a word of a message, that is longer; and
// how many of these stand before the place in question, or at the word's end.
enum { SHOWN_BYTES = 160, SHOWN_BEFORE = 40 };
// A word of a message may be a name of the source, and so as long as the source: the text with the
// beginning and the end of every word that is too long, and dots between.
const char *text_shortened(struct arena *arena, const char *text);

// ---- showing ----------------------------------------------------------------------------------
// All diagnostics, and a line for those that the limit dropped. Colour is ANSI escapes.
void diagnostics_print(const struct diagnostics *set, FILE *out, bool colour);

// The text of a source after the diagnostic's edits to it, or NULL where they overlap. In the
// arena.
char *diagnostic_apply_edits(const struct diagnostic *d, struct arena *arena, uint32_t source,
                             size_t *length);

const char *bytes_text(struct arena *, double bytes); // "12.30 MiB"
// The same, beside that of another number: to the byte, where the two would read alike.
const char *bytes_text_beside(struct arena *, int64_t bytes, int64_t other);

// The candidates nearest to `text` by edit distance, equally near, if they are near enough to be
// meant, in their order. Returns how many.
enum { MAX_NEAREST = 4 };
size_t nearest_names(const char *text, const char *const *candidates, size_t n,
                     const char *nearest[MAX_NEAREST]);
// The first of them; NULL: none.
const char *nearest_name(const char *text, const char *const *candidates, size_t n);

#endif
