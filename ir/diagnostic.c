// Collecting diagnostics. Beyond the limit they are counted but not kept, so that a hostile input
// cannot fill the memory with complaints; reporters need not know, they get an object either way.
#include "ir/diagnostic.h"
#include "ir/check.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

const struct diagnostic_row diagnostic_rows[N_DIAGNOSTIC_CODES] = {
#define DIAGNOSTIC(code, severity, title) {#code, SEVERITY_##severity, title},
#include "ir/diagnostics.def"
#undef DIAGNOSTIC
};

int diagnostic_find(const char *text) {
    for (int i = 0; i < N_DIAGNOSTIC_CODES; i++)
        if (strcasecmp(diagnostic_rows[i].text, text) == 0 ||
            strcmp(diagnostic_rows[i].text + 1, text) == 0)
            return i;
    return -1;
}

// The sources are the caller's; they grow while files are read.
struct diagnostics *diagnostics_new(struct arena *arena, struct source_files *sources) {
    struct diagnostics *set = ARENA_NEW(arena, struct diagnostics);
    set->arena = arena;
    set->sources = sources;
    set->limit = DEFAULT_ERROR_LIMIT;
    return set;
}

static char *format_text(struct arena *arena, const char *format, va_list args) {
    va_list again;
    va_copy(again, args);
    int length = vsnprintf(NULL, 0, format, args);
    CHECK(length >= 0);
    char *text = arena_alloc(arena, (size_t)length + 1);
    vsnprintf(text, (size_t)length + 1, format, again);
    va_end(again);
    return text;
}

// A message may hold what a text says by an escape, as JSON can: nothing that a terminal would obey
// stays, the controls above ASCII (U+0080 to U+009F) included.
static char *without_controls(char *text) {
    for (unsigned char *at = (unsigned char *)text; *at; at++)
        if (*at < 0x20 || *at == 0x7F)
            *at = '?';
        else if (at[0] == 0xC2 && at[1] >= 0x80 && at[1] < 0xA0)
            at[0] = at[1] = '?';
    return text;
}

const char *text_shortened(struct arena *arena, const char *text) {
    const char *shortened = "";
    const char *at = text, *kept = text; // what is behind `kept` has not been taken over
    while (*at) {
        at += strspn(at, " ");
        size_t word = strcspn(at, " "), head = SHOWN_BYTES - SHOWN_BEFORE, tail = SHOWN_BEFORE;
        if (word > SHOWN_BYTES) {
            while (continues_character(at[head]))
                head++;
            while (continues_character(at[word - tail]))
                tail--;
            shortened = arena_format(arena, "%s%.*s...", shortened, (int)(at + head - kept), kept);
            kept = at + word - tail;
        }
        at += word;
    }
    return kept == text ? text : arena_format(arena, "%s%s", shortened, kept);
}

// What a variadic caller, whose last named parameter is `format`, has to say.
#define FORMATTED(result, arena, format)                                                           \
    do {                                                                                           \
        va_list args_;                                                                             \
        va_start(args_, format);                                                                   \
        (result) =                                                                                 \
            text_shortened((arena), without_controls(format_text((arena), (format), args_)));      \
        va_end(args_);                                                                             \
    } while (0)

// Counts it; true if there is room to keep it.
static bool count(struct diagnostics *set, enum severity severity) {
    uint32_t *n = severity == SEVERITY_ERROR ? &set->n_errors : &set->n_warnings;
    bool fits = !set->limit || *n < set->limit;
    *n += 1;
    set->n_dropped += !fits;
    return fits;
}

// Whether it is reported already, to the letter: the same said of the same place in other words may
// be another mistake.
static bool is_reported(const struct diagnostics *set, const struct diagnostic *d) {
    for (uint32_t i = 0; i < set->n_items; i++) {
        const struct diagnostic *old = set->items[i];
        if (old->code == d->code && memcmp(&old->span, &d->span, sizeof d->span) == 0 &&
            strcmp(old->message, d->message) == 0)
            return true;
    }
    return false;
}

// Beyond the limit reports are counted and dropped. A dropped one is returned too, so that callers
// need not ask; what they add to it is forgotten.
struct diagnostic *report(struct diagnostics *set, enum diagnostic_code code, struct span span,
                          const char *format, ...) {
    struct diagnostic *d = ARENA_NEW(set->arena, struct diagnostic);
    d->set = set;
    d->code = code;
    d->severity = diagnostic_rows[code].severity;
    d->span = span;
    FORMATTED(d->message, set->arena, format);
    // A text that is read twice, as a library strategy under two `use`s, is wrong once.
    d->dropped = is_reported(set, d) || !count(set, d->severity);
    if (d->dropped)
        return d;
    ARENA_PUSH(set->arena, set->items, set->n_items, set->capacity, d);
    return d;
}

void diagnostic_say(struct diagnostic *d, const char *format, ...) {
    if (!d->dropped)
        FORMATTED(d->said, d->set->arena, format);
}

void diagnostic_label(struct diagnostic *d, struct span span, const char *format, ...) {
    if (d->dropped)
        return;
    const char *text;
    FORMATTED(text, d->set->arena, format);
    ARENA_PUSH(d->set->arena, d->labels, d->n_labels, d->labels_capacity,
               (struct diagnostic_label){span, text});
}

void diagnostic_note(struct diagnostic *d, const char *format, ...) {
    if (d->dropped)
        return;
    const char *text;
    FORMATTED(text, d->set->arena, format);
    ARENA_PUSH(d->set->arena, d->notes, d->n_notes, d->notes_capacity,
               (struct diagnostic_label){span_nowhere(), text});
}

void diagnostic_note_at(struct diagnostic *d, struct span span, const char *format, ...) {
    if (d->dropped)
        return;
    const char *text;
    FORMATTED(text, d->set->arena, format);
    ARENA_PUSH(d->set->arena, d->notes, d->n_notes, d->notes_capacity,
               (struct diagnostic_label){span, text});
}

void diagnostic_help(struct diagnostic *d, const char *format, ...) {
    if (!d->dropped)
        FORMATTED(d->help, d->set->arena, format);
}

void diagnostic_edit(struct diagnostic *d, struct span span, const char *format, ...) {
    if (d->dropped)
        return;
    va_list args;
    va_start(args, format);
    const char *text = format_text(d->set->arena, format, args); // whole: it may be applied
    va_end(args);
    ARENA_PUSH(d->set->arena, d->edits, d->n_edits, d->edits_capacity,
               (struct diagnostic_edit){span, text});
}

static bool is_blank(char byte) {
    return byte == ' ' || byte == '\t';
}

void diagnostic_delete(struct diagnostic *d, struct span span) {
    const struct source_files *sources = d->set->sources;
    if (span.source >= sources->n_items) // of no text
        return;
    const struct source_file *file = &sources->items[span.source];
    uint32_t begin = span.begin, end = span.end;
    while (begin > 0 && is_blank(file->text[begin - 1]))
        begin--;
    while (end < file->length && is_blank(file->text[end]))
        end++;
    bool first = begin == 0 || file->text[begin - 1] == '\n';
    bool last = end < file->length && file->text[end] == '\n';
    if (first && last)
        diagnostic_edit(d, span_of(span.source, begin, end + 1), "%s", "");
    else if (first)
        diagnostic_edit(d, span_of(span.source, span.begin, end), "%s", "");
    else
        diagnostic_edit(d, span_of(span.source, begin, span.end), "%s", "");
}

// The first edit of the source that begins at or after `from` and has not been taken; NULL: none.
static const struct diagnostic_edit *next_edit(const struct diagnostic *d, uint32_t source,
                                               uint64_t from, const struct diagnostic_edit *last) {
    const struct diagnostic_edit *best = NULL;
    for (uint32_t i = 0; i < d->n_edits; i++) {
        const struct diagnostic_edit *edit = &d->edits[i];
        bool behind = edit->span.begin < from ||
                      (last && edit <= last && edit->span.begin <= last->span.begin);
        if (edit->span.source == source && !behind &&
            (!best || edit->span.begin < best->span.begin))
            best = edit;
    }
    return best;
}

// Edits are made in the order of the text, whatever their own; those of other sources are left
// alone.
char *diagnostic_apply_edits(const struct diagnostic *d, struct arena *arena, uint32_t source,
                             size_t *length) {
    const struct source_file *file = &d->set->sources->items[source];
    size_t capacity = file->length, used = 0;
    for (uint32_t i = 0; i < d->n_edits; i++)
        capacity += strlen(d->edits[i].text);
    char *result = arena_alloc(arena, capacity + 1);
    uint32_t at = 0, applied = 0, wanted = 0;
    for (uint32_t i = 0; i < d->n_edits; i++)
        wanted += d->edits[i].span.source == source;
    const struct diagnostic_edit *edit = NULL;
    while ((edit = next_edit(d, source, at, edit))) {
        memcpy(result + used, file->text + at, edit->span.begin - at);
        used += edit->span.begin - at;
        memcpy(result + used, edit->text, strlen(edit->text));
        used += strlen(edit->text);
        at = edit->span.end;
        applied++;
    }
    memcpy(result + used, file->text + at, file->length - at);
    *length = used + file->length - at;
    return applied == wanted ? result : NULL; // an edit that overlaps another was passed over
}

// Levenshtein distance with transpositions of neighbours, on names of at most MAX_NAME bytes.
enum { MAX_NAME = 48 };

// Letters in another case are equal: units and names are often wrong in nothing else.
static unsigned edit_distance(const char *a, const char *b) {
    size_t n = strlen(a), m = strlen(b);
    if (n > MAX_NAME || m > MAX_NAME)
        return MAX_NAME;
    unsigned d[MAX_NAME + 1][MAX_NAME + 1];
    for (size_t i = 0; i <= n; i++)
        for (size_t j = 0; j <= m; j++) {
            if (!i || !j) {
                d[i][j] = (unsigned)(i + j);
                continue;
            }
            unsigned best = d[i - 1][j - 1] +
                            (tolower((unsigned char)a[i - 1]) != tolower((unsigned char)b[j - 1]));
            if (d[i - 1][j] + 1 < best)
                best = d[i - 1][j] + 1;
            if (d[i][j - 1] + 1 < best)
                best = d[i][j - 1] + 1;
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
                d[i - 2][j - 2] + 1 < best)
                best = d[i - 2][j - 2] + 1;
            d[i][j] = best;
        }
    return d[n][m];
}

// A beginning of a name counts as one mistake, `shard` is near `sharded`, and so does a name that
// goes on, `training` is near `train`.
static unsigned nearness(const char *text, const char *candidate) {
    size_t n = strlen(text), m = strlen(candidate);
    size_t both = n < m ? n : m;
    bool begins =
        n != m && (both == n ? both >= 3 : both >= 5) && strncmp(text, candidate, both) == 0;
    return begins ? 1 : edit_distance(text, candidate);
}

size_t nearest_names(const char *text, const char *const *candidates, size_t n,
                     const char *nearest[MAX_NEAREST]) {
    // A third of the letters may be wrong; of a name of one or two letters none.
    size_t length = strlen(text), found = 0;
    unsigned least = length > MAX_NAME ? 0 : (unsigned)length / 3;
    for (size_t i = 0; i < n; i++) {
        unsigned distance = nearness(text, candidates[i]);
        if (distance > least)
            continue;
        if (distance < least)
            found = 0;
        least = distance;
        if (found < MAX_NEAREST)
            nearest[found++] = candidates[i];
    }
    return found;
}

const char *nearest_name(const char *text, const char *const *candidates, size_t n) {
    const char *nearest[MAX_NEAREST];
    return nearest_names(text, candidates, n, nearest) ? nearest[0] : NULL;
}

bool diagnostic_meant(struct diagnostic *d, struct span span, const char *given,
                      const char *const *names, size_t n) {
    const char *nearest[MAX_NEAREST], *list = "";
    size_t found = nearest_names(given, names, n, nearest);
    for (size_t i = 0; i < found; i++)
        list = arena_format(d->set->arena, "%s%s`%s`", list,
                            i == 0           ? ""
                            : i == found - 1 ? " or "
                                             : ", ",
                            nearest[i]);
    if (found)
        diagnostic_help(d, "did you mean %s?", list);
    if (found == 1) // of several one is a guess
        diagnostic_edit(d, span, "%s", nearest[0]);
    return found > 0;
}

// Binary units, two decimals: the figures of memory and of links that people compare with.
const char *bytes_text(struct arena *arena, double bytes) {
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
    int unit = 0;
    while (bytes >= 1024 && unit < 5) {
        bytes /= 1024;
        unit++;
    }
    return arena_format(arena, unit ? "%.2f %s" : "%.0f %s", bytes, units[unit]);
}

const char *bytes_text_beside(struct arena *arena, int64_t bytes, int64_t other) {
    const char *text = bytes_text(arena, (double)bytes);
    bool alike = bytes != other && strcmp(text, bytes_text(arena, (double)other)) == 0;
    return alike ? arena_format(arena, "%" PRId64 " B", bytes) : text;
}
