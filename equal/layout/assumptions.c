// Reads and writes assumptions of integer parameters.
#include "equal/layout/assumptions.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "equal/layout/match.h"

struct assumption_reader {
    const char *text;
    uint32_t source, end;
    const struct pairing *pairing;
    struct arena *arena;
    struct diagnostics *diagnostics;
};

static bool refuse(const struct assumption_reader *r, struct span span, const char *what) {
    struct diagnostic *d = report(r->diagnostics, E919, span, "%s", what);
    diagnostic_help(d, "write bounds of an integer parameter, as in `--assume '0<=tokens<66'`");
    return false;
}

static struct span whole(const struct assumption_reader *r) {
    return span_of(r->source, 0, r->end);
}

// ---- parts of the text ------------------------------------------------------------------------

// What stands before, between and behind the signs.
struct parts {
    struct span of[3];
    bool is_less[2], is_strict[2]; // of the sign behind each
    uint32_t n;
};

static struct span trimmed(const char *text, struct span span) {
    while (span.begin < span.end && isspace((unsigned char)text[span.begin]))
        span.begin++;
    while (span.begin < span.end && isspace((unsigned char)text[span.end - 1]))
        span.end--;
    return span;
}

static bool split(const struct assumption_reader *r, struct parts *parts) {
    uint32_t begin = 0;
    parts->n = 0;
    for (uint32_t i = 0; i < r->end; i++) {
        if (r->text[i] != '<' && r->text[i] != '>')
            continue;
        if (parts->n == 2)
            return false;
        parts->is_less[parts->n] = r->text[i] == '<';
        parts->is_strict[parts->n] = r->text[i + 1] != '=';
        parts->of[parts->n++] = trimmed(r->text, span_of(r->source, begin, i));
        i += r->text[i + 1] == '=';
        begin = i + 1;
    }
    parts->of[parts->n++] = trimmed(r->text, span_of(r->source, begin, r->end));
    return parts->n > 1;
}

static bool read_number(const struct assumption_reader *r, struct span span, int64_t *number) {
    char *end;
    if (span.begin == span.end)
        return false;
    errno = 0;
    *number = strtoll(r->text + span.begin, &end, 10);
    return end == r->text + span.end && !errno;
}

// ---- bounds -----------------------------------------------------------------------------------

struct bounds {
    int64_t least, most;
};

// Takes `number < it`, or `number > it`, in. Beyond the numbers there are, none is so.
static void bound(struct bounds *bounds, int64_t number, bool is_below_it, bool is_strict) {
    if (is_strict && number == (is_below_it ? INT64_MAX : INT64_MIN))
        *bounds = (struct bounds){INT64_MAX, INT64_MIN};
    if (is_below_it && number <= INT64_MAX - is_strict && number + is_strict > bounds->least)
        bounds->least = number + is_strict;
    if (!is_below_it && number >= INT64_MIN + is_strict && number - is_strict < bounds->most)
        bounds->most = number - is_strict;
}

// The bounds and the place of the name.
static bool read_bounds(const struct assumption_reader *r, struct bounds *bounds,
                        struct span *name) {
    struct parts parts;
    int64_t number;
    *bounds = (struct bounds){INT64_MIN, INT64_MAX};
    if (!split(r, &parts))
        return refuse(r, whole(r), "this bounds nothing");
    bool is_first = parts.n == 2 && !read_number(r, parts.of[0], &number);
    uint32_t at = is_first ? 0 : 1;
    *name = parts.of[at];
    for (uint32_t i = 0; i < parts.n; i++) {
        if (i == at)
            continue;
        if (!read_number(r, parts.of[i], &number))
            return refuse(r, parts.of[i].begin < parts.of[i].end ? parts.of[i] : whole(r),
                          "a bound is a whole number");
        uint32_t sign = i < at ? i : i - 1;
        bound(bounds, number, i < at ? parts.is_less[sign] : !parts.is_less[sign],
              parts.is_strict[sign]);
    }
    return true;
}

// ---- parameters -------------------------------------------------------------------------------

static bool assume(const struct assumption_reader *r, struct assumptions *all, uint32_t parameter,
                   struct bounds bounds, struct span name) {
    const struct array_layout *array = &r->pairing->parameters[parameter];
    const struct element_row *row = &element_rows[array->shape->element];
    if (!element_is_integer(array->shape->element))
        return refuse(
            r, name, arena_format(r->arena, "`%s` is %s, not of integers", array->name, row->text));
    struct bounds type;
    element_range(array->shape->element, &type.least, &type.most);
    if (bounds.least > type.most || bounds.most < type.least)
        return refuse(r, whole(r),
                      arena_format(r->arena,
                                   "no number of type %s is so: there are %" PRId64 " to %" PRId64,
                                   row->text, type.least, type.most));
    if (bounds.least == INT64_MIN && bounds.most == INT64_MAX) // it says nothing
        return true;
    struct assumption *found = NULL;
    for (uint32_t i = 0; i < all->n && !found; i++)
        if (all->of[i].parameter == parameter)
            found = &all->of[i];
    if (!found) {
        ARENA_PUSH(r->arena, all->of, all->n, all->capacity,
                   (struct assumption){parameter, array->name, INT64_MIN, INT64_MAX});
        found = &all->of[all->n - 1];
    }
    found->least = bounds.least > found->least ? bounds.least : found->least;
    found->most = bounds.most < found->most ? bounds.most : found->most;
    return found->least <= found->most ||
           refuse(r, whole(r),
                  arena_format(r->arena,
                               "no number is so: `%s` would be at least %" PRId64
                               " and at most %" PRId64,
                               array->name, found->least, found->most));
}

// The number of `parameter 12`; -1: it is another name.
static int64_t numbered(const struct assumption_reader *r, struct span name) {
    static const char word[] = "parameter ";
    size_t length = strlen(word);
    int64_t number;
    if (name.end - name.begin <= length || strncmp(r->text + name.begin, word, length) != 0)
        return -1;
    struct span digits =
        trimmed(r->text, span_of(r->source, name.begin + (uint32_t)length, name.end));
    return read_number(r, digits, &number) && number >= 0 ? number : -1;
}

static bool report_unknown(const struct assumption_reader *r, struct span span, const char *name) {
    const char **names = ARENA_ARRAY(r->arena, const char *, r->pairing->n_parameters);
    for (uint32_t i = 0; i < r->pairing->n_parameters; i++)
        names[i] = r->pairing->parameters[i].name;
    struct diagnostic *d =
        report(r->diagnostics, E919, span, "the programs have no parameter `%s`", name);
    if (!propose_names(d, span, name, names, r->pairing->n_parameters, r->arena))
        diagnostic_help(d, "a parameter's name is its path or the end of it; `parameter 0` is the "
                           "first");
    return false;
}

bool assumptions_add(struct assumptions *all, const char *text, const struct pairing *pairing,
                     struct arena *arena, struct diagnostics *diagnostics) {
    uint32_t length = (uint32_t)strlen(text), n_parameters = pairing->n_parameters;
    uint32_t source = source_add(diagnostics->sources, arena, "--assume", text, length);
    struct assumption_reader r = {
        diagnostics->sources->items[source].text, source, length, pairing, arena, diagnostics};
    struct bounds bounds;
    struct span name;
    if (!read_bounds(&r, &bounds, &name))
        return false;
    int64_t number = numbered(&r, name);
    if (number >= 0 && number < n_parameters)
        return assume(&r, all, (uint32_t)number, bounds, name);
    const char **keys = ARENA_ARRAY(arena, const char *, n_parameters);
    uint32_t *found = ARENA_ARRAY(arena, uint32_t, n_parameters);
    for (uint32_t i = 0; i < n_parameters; i++)
        keys[i] = name_key(pairing->parameters[i].name, arena);
    const char *said = arena_string(arena, r.text + name.begin, name.end - name.begin);
    uint32_t n = find_by_name(said, keys, n_parameters, found, arena);
    if (!n)
        return report_unknown(&r, name, said);
    for (uint32_t i = 0; i < n; i++)
        if (!assume(&r, all, found[i], bounds, name))
            return false;
    return true;
}

const char *assumption_text(const struct assumption *of, struct arena *arena) {
    const char *text = of->name;
    if (of->least > INT64_MIN)
        text = arena_format(arena, "%" PRId64 " <= %s", of->least, text);
    if (of->most < INT64_MAX)
        text = arena_format(arena, "%s < %" PRId64, text, of->most + 1);
    return text;
}
