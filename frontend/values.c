// Reading values: the right kind, the right unit, within range; or one message that says which.
//
// Every reader is given `what`, the name of the thing in the words of a sentence ("`batch`", "the
// size of axis `dp`"), so that its messages need no second half from the caller. It writes its
// result only where it returns true: a default that stands there survives a mistake, and what
// follows reports nothing that comes of it.
#include "frontend/resolve.h"

#include <float.h>
#include <math.h>
#include <string.h>

static const struct {
    const char *what, *instead;
} unsupported_rows[N_UNSUPPORTED] = {
#define UNSUPPORTED(name, what, instead) {what, instead},
#include "frontend/unsupported.def"
#undef UNSUPPORTED
};

struct diagnostic *report_unsupported(struct resolver *r, struct span span,
                                      enum unsupported feature) {
    struct diagnostic **told = &r->unsupported[feature];
    if (*told) {
        diagnostic_label(*told, span, "and here");
        return *told;
    }
    *told = report(r->diagnostics, E199, span, "%s is understood, but not compiled yet",
                   unsupported_rows[feature].what);
    diagnostic_help(*told, "%s", unsupported_rows[feature].instead);
    return *told;
}

// Another system's word and a misspelt name get a help; else the choices are listed if they are
// few.
struct diagnostic *report_unknown(struct resolver *r, enum diagnostic_code code,
                                  struct ast_name name, const char *kind, const char *const *names,
                                  size_t n) {
    return report_unknown_of(r, code, name, NULL, kind, names, n);
}

struct diagnostic *report_unknown_of(struct resolver *r, enum diagnostic_code code,
                                     struct ast_name name, const struct ast_value *of,
                                     const char *kind, const char *const *names, size_t n) {
    const char *value = of ? ast_value_text(r->arena, of) : NULL;
    struct diagnostic *d =
        report(r->diagnostics, code, name.span, "no %s is called `%s`", kind, name.text);
    const char *ours = translated(name.text, names, n);
    if (ours) {
        diagnostic_help(d, "here it is called `%s`", ours);
        diagnostic_edit(d, name.span, "%s", ours);
    } else if (!help_said_here(d, name.text, value) &&
               !diagnostic_meant(d, name.span, name.text, names, n) && n && n <= 16) {
        const char *list = "";
        for (size_t i = 0; i < n; i++)
            list = arena_format(r->arena, "%s%s`%s`", list, i ? ", " : "", names[i]);
        diagnostic_help(d, "there %s %s", n == 1 ? "is" : "are", list);
    }
    return d;
}

// Reports at the second, with the first labelled: the second is the one that a person added.
struct diagnostic *report_twice(struct resolver *r, struct span span, struct span first,
                                const char *what) {
    struct diagnostic *d = report(r->diagnostics, E108, span, "%s is given twice", what);
    diagnostic_label(d, first, "first here");
    diagnostic_help(d, "remove one of the two");
    return d;
}

// `wanted` with its article: "a number", "two numbers, `(0.9, 0.95)`".
struct diagnostic *report_wrong_kind(struct resolver *r, const struct ast_value *value,
                                     const char *what, const char *wanted) {
    return report(r->diagnostics, E105, value->span, "%s takes %s, not `%s`", what, wanted,
                  ast_value_text(r->arena, value));
}

// A number without a unit. A word that is no unit has been reported by the lexer.
static const struct ast_number *plain_number(struct resolver *r, const struct ast_value *value,
                                             const char *what, const char *wanted) {
    if (value->kind == AST_NUMBER)
        return &value->number;
    if (value->kind != AST_QUANTITY) {
        report_wrong_kind(r, value, what, wanted);
        return NULL;
    }
    if (value->quantity.unit != N_MEASURING_UNITS) {
        struct diagnostic *d =
            report(r->diagnostics, E106, value->span, "%s takes a number without a unit", what);
        diagnostic_help(d, "leave `%s` away", measuring_unit_rows[value->quantity.unit].text);
        diagnostic_edit(d, value->span, "%s", value->quantity.number.text);
    } else if (value->quantity.unknown) {
        diagnostic_help(value->quantity.unknown, "%s takes a number without a unit", what);
    }
    return NULL;
}

// A number that no integer holds is too large, one with a fraction is of the wrong kind.
bool read_integer(struct resolver *r, const struct ast_value *value, const char *what,
                  int64_t minimum, int64_t maximum, int64_t *out) {
    return read_bounded(r, value, what, minimum, maximum, NULL, out);
}

bool read_bounded(struct resolver *r, const struct ast_value *value, const char *what,
                  int64_t minimum, int64_t maximum, const char *remedy, int64_t *out) {
    const struct ast_number *number = plain_number(r, value, what, "a whole number");
    if (!number)
        return false;
    if (!number->is_integer && fabs(number->value) < 0x1p53) {
        report_wrong_kind(r, value, what, "a whole number");
        return false;
    }
    if (!number->is_integer || number->integer < minimum || number->integer > maximum) {
        bool large = !number->is_integer || number->integer > maximum;
        struct diagnostic *d =
            report(r->diagnostics, E107, value->span, "%s must be at %s %lld, not %s", what,
                   large ? "most" : "least", (long long)(large ? maximum : minimum), number->text);
        if (large && remedy)
            diagnostic_help(d, "%s", remedy);
        return false;
    }
    *out = number->integer;
    return true;
}

// A bound in a message: the least and the greatest numbers that exclude 0 and 1 are not shown.
static const char *bound_words(struct resolver *r, bool upper, double bound) {
    if (!upper && bound == DBL_MIN)
        return "above 0";
    if (upper && bound == 1 - DBL_EPSILON)
        return "below 1";
    return arena_format(r->arena, "at %s %g", upper ? "most" : "least", bound);
}

// The bounds are inclusive; DBL_MIN as the lower one means "above 0".
bool read_real(struct resolver *r, const struct ast_value *value, const char *what, double minimum,
               double maximum, double *out) {
    const struct ast_number *number = plain_number(r, value, what, "a number");
    if (!number)
        return false;
    if (!(number->value >= minimum && number->value <= maximum)) {
        bool large = number->value > maximum;
        report(r->diagnostics, E107, value->span, "%s must be %s, not %s", what,
               bound_words(r, large, large ? maximum : minimum), number->text);
        return false;
    }
    *out = number->value;
    return true;
}

// Words of the language, not numbers: 0 and 1 are of the wrong kind.
bool read_flag(struct resolver *r, const struct ast_value *value, const char *what, bool *out) {
    static const char *const names[] = {
#define FLAG_WORD(text) text,
#include "frontend/words.def"
    };
    int choice;
    if (!read_choice(r, value, what, names, 2, &choice))
        return false;
    *out = choice == 1;
    return true;
}

// Words of a closed list; only the command and the passes know what they mean.
bool read_choice(struct resolver *r, const struct ast_value *value, const char *what,
                 const char *const *names, int n, int *out) {
    if (value->kind == AST_NAME)
        for (int i = 0; i < n; i++)
            if (strcmp(names[i], value->name) == 0) {
                *out = i;
                return true;
            }
    const char *list = "";
    for (int i = 0; i < n; i++)
        list = arena_format(r->arena, "%s%s`%s`", list,
                            !i           ? ""
                            : i == n - 1 ? " or "
                                         : ", ",
                            names[i]);
    struct diagnostic *d = report(r->diagnostics, E105, value->span, "%s is %s, not `%s`", what,
                                  list, ast_value_text(r->arena, value));
    if (value->kind == AST_NAME)
        diagnostic_meant(d, value->span, value->name, names, (size_t)n);
    return false;
}

// What a help shows of each measure: a value that somebody might have meant.
static const char *const measure_examples[] = {
    [MEASURE_BYTES] = "80 GiB",
    [MEASURE_BYTES_PER_S] = "50 GB/s",
    [MEASURE_SECONDS] = "10 us",
    [MEASURE_FLOPS_PER_S] = "989 TFLOP/s",
};

// What units there are of the measure, largest last.
static const char *unit_words(struct resolver *r, enum measure measure) {
    const char *words = "", *last = NULL;
    for (int i = 0; i < N_MEASURING_UNITS; i++) {
        if (measuring_unit_rows[i].measure != measure)
            continue;
        if (last)
            words = arena_format(r->arena, "%s%s%s", words, *words ? ", " : "", last);
        last = measuring_unit_rows[i].text;
    }
    return arena_format(r->arena, "%s or %s", words, last);
}

// Reads a quantity in base units: bytes, bytes per second, seconds, operations per second.
bool read_quantity(struct resolver *r, const struct ast_value *value, const char *what,
                   enum measure measure, double *out) {
    const char *example = measure_examples[measure];
    if (value->kind == AST_NUMBER) {
        struct diagnostic *d = report(r->diagnostics, E106, value->span, "%s needs a unit", what);
        diagnostic_help(d, "write it as in `%s`", example);
        return false;
    }
    if (value->kind != AST_QUANTITY) {
        report_wrong_kind(r, value, what,
                          arena_format(r->arena, "a quantity such as `%s`", example));
        return false;
    }
    // A unit that is none has been reported with its token.
    if (value->quantity.unit == N_MEASURING_UNITS) {
        diagnostic_help(value->quantity.unknown, "%s is given in %s", what, unit_words(r, measure));
        return false;
    }
    const struct measuring_unit_row *unit = &measuring_unit_rows[value->quantity.unit];
    if (unit->measure != measure) {
        struct diagnostic *d =
            report(r->diagnostics, E106, value->span, "%s cannot be given in %s", what, unit->text);
        diagnostic_help(d, "write it as in `%s`", example);
        return false;
    }
    double result = value->quantity.number.value * unit->factor;
    if (!(result > 0) || result > 1e24) {
        report(r->diagnostics, E107, value->span, "%s must be above 0 and below 1e24 in %s", what,
               "base units");
        return false;
    }
    *out = result;
    return true;
}

// Memory is counted in whole bytes from here on; the bound leaves room to add sizes.
bool read_bytes_quantity(struct resolver *r, const struct ast_value *value, const char *what,
                         int64_t *out) {
    double bytes;
    if (!read_quantity(r, value, what, MEASURE_BYTES, &bytes))
        return false;
    if (bytes < 1 || bytes > 0x1p60) {
        report(r->diagnostics, E107, value->span, "%s must be between 1 B and 2^60 B", what);
        return false;
    }
    *out = llround(bytes);
    return true;
}
