// Diagnostics as text for people: a headline, the lines concerned with what is said about their
// parts below them, notes, and the help with the lines as they would be.
//
// Lines are shown in order, those of the primary span's file first. Bytes that a terminal cannot
// show become '?', tabs one space, and of a very long line only the part around the label is shown.
#include "ir/diagnostic.h"
#include "ir/check.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

struct style {
    const char *error, *warning, *label, *quiet, *bold, *end;
};
static const struct style plain = {"", "", "", "", "", ""};
static const struct style coloured = {"\033[1;31m", "\033[1;33m", "\033[1;34m",
                                      "\033[2m",    "\033[1m",    "\033[0m"};

struct printer {
    const struct source_files *sources;
    FILE *out;
    struct style style;
    int columns; // of the terminal; 0: it is none, and lines are as long as they are
};

// One underlined range, while a diagnostic is being printed.
struct mark {
    struct span span;
    struct source_place place;
    const char *text;
    bool primary;
};

// ---- source lines -----------------------------------------------------------------------------

// How many bytes of a line are shown: so many that on a terminal what points at them stays below them.
static uint32_t shown_bytes(const struct printer *p) {
    enum { AROUND = 14, LEAST = 40 }; // columns of the gutter and of dots
    int fit = p->columns - AROUND;
    return p->columns == 0 || fit > SHOWN_BYTES ? SHOWN_BYTES : fit < LEAST ? LEAST : (uint32_t)fit;
}

// What is seen of one line: bytes [begin, end) of the file.
struct window {
    uint32_t begin, end;
    bool cut_before, cut_after;
};

// The part of a line in which bytes [focus, end) are, where the line is longer than what is shown.
static struct window line_window(const struct printer *p, const struct source_file *file,
                                 uint32_t line, uint32_t focus, uint32_t end) {
    struct window w = {.begin = file->lines[line - 1]};
    uint32_t shown = shown_bytes(p), before = shown / 4;
    w.end = line < file->n_lines ? file->lines[line] - 1 : file->length;
    if (w.end > w.begin && file->text[w.end - 1] == '\r')
        w.end--;
    end = end < w.end ? end : w.end;
    if (end > w.begin + shown || focus >= w.begin + shown) {
        uint32_t begin = focus > w.begin + before ? focus - before : w.begin;
        w.cut_before = begin > w.begin;
        w.begin = begin;
    }
    if (w.end - w.begin > shown) {
        w.end = w.begin + shown;
        w.cut_after = true;
    }
    while (w.cut_before && w.begin < focus && continues_character(file->text[w.begin]))
        w.begin++;
    while (w.cut_after && w.end > w.begin && continues_character(file->text[w.end]))
        w.end--;
    return w;
}

// Nothing from a source may reach the terminal that the terminal would obey.
static void print_bytes(FILE *out, const char *text, size_t n) {
    for (size_t i = 0; i < n; i++) {
        unsigned char byte = (unsigned char)text[i];
        fputc(byte == '\t' ? ' ' : byte < 0x20 || byte == 0x7F ? '?' : byte, out);
    }
}

static void print_gutter(const struct printer *p, uint32_t line) {
    if (line)
        fprintf(p->out, "%s%5u |%s ", p->style.quiet, line, p->style.end);
    else
        fprintf(p->out, "%s      |%s ", p->style.quiet, p->style.end);
}

// Prints a line, with dots where the window leaves something out.
static void print_line(const struct printer *p, uint32_t line, const struct source_file *file,
                       struct window w) {
    print_gutter(p, line);
    fputs(w.cut_before ? "..." : "", p->out);
    print_bytes(p->out, file->text + w.begin, w.end - w.begin);
    fputs(w.cut_after ? "...\n" : "\n", p->out);
}

// Columns that bytes [begin, end) take: characters, not bytes.
static uint32_t columns(const struct source_file *file, uint32_t begin, uint32_t end) {
    uint32_t n = 0;
    for (uint32_t i = begin; i < end; i++)
        n += !continues_character(file->text[i]);
    return n;
}

// An empty range (a missing word, the end of the file) still gets one caret.
static void print_underline(const struct printer *p, const struct source_file *file,
                            struct window w, const struct mark *mark, const char *colour) {
    uint32_t begin = mark->span.begin < w.begin ? w.begin : mark->span.begin;
    uint32_t end = mark->span.end > w.end ? w.end : mark->span.end;
    if (begin > w.end)
        begin = w.end;
    uint32_t width = end > begin ? columns(file, begin, end) : 1;
    print_gutter(p, 0);
    fprintf(p->out, "%*s%s", (int)(columns(file, w.begin, begin) + (w.cut_before ? 3 : 0)), "",
            colour);
    for (uint32_t i = 0; i < width; i++)
        fputc(mark->primary ? '^' : '-', p->out);
    fputs(*mark->text ? " " : "", p->out);
    fputs(mark->text, p->out);
    fprintf(p->out, "%s\n", p->style.end);
}

// ---- sentences --------------------------------------------------------------------------------

// The columns of the terminal. 0: it is none, and whoever reads it should not have to take words of
// two lines together again.
static int columns_of(FILE *out) {
    struct winsize size;
    bool terminal = isatty(fileno(out)) && ioctl(fileno(out), TIOCGWINSZ, &size) == 0;
    return terminal ? size.ws_col : 0;
}

// The length up to the next blank that may become the end of a line: not inside of what is quoted.
static size_t word_length(const char *text) {
    bool quoted = false;
    size_t n = 0;
    for (; text[n] && (quoted || text[n] != ' '); n++)
        quoted ^= text[n] == '`' && strchr(text + n + !quoted, '`') != NULL;
    return n;
}

// Prints from the column that the line has reached; further lines begin two columns behind a note.
static void print_sentence(const struct printer *p, const char *text, int column) {
    enum { INDENT = 4 };
    for (bool first = true; *text; first = false) {
        size_t length = word_length(text);
        int width = 0;
        for (size_t i = 0; i < length; i++)
            width += !continues_character(text[i]);
        if (p->columns && !first && column + 1 + width > p->columns) {
            fprintf(p->out, "\n%*s", INDENT, "");
            column = INDENT;
        } else if (!first) {
            fputc(' ', p->out);
            column++;
        }
        fwrite(text, 1, length, p->out);
        column += width;
        text += length + (text[length] == ' ');
    }
}

// ---- marks ------------------------------------------------------------------------------------

// Marks come in order of line and column, of one file after the other, the primary's first.
static bool comes_before(const struct mark *a, const struct mark *b, uint32_t first_source) {
    if (a->span.source != b->span.source)
        return a->span.source == first_source ||
               (b->span.source != first_source && a->span.source < b->span.source);
    return a->span.begin < b->span.begin;
}

static void sort_marks(struct mark *marks, uint32_t n) {
    uint32_t first_source = marks[0].span.source;
    for (uint32_t i = 1; i < n; i++)
        for (uint32_t j = i; j && comes_before(&marks[j], &marks[j - 1], first_source); j--) {
            struct mark swapped = marks[j];
            marks[j] = marks[j - 1];
            marks[j - 1] = swapped;
        }
}

static const char *severity_words(enum severity severity) {
    return severity == SEVERITY_ERROR ? "error" : "warning";
}

// A line is printed once, with all that is said about it below; lines that are far apart are
// separated by dots, files by their names.
static void print_marks(const struct printer *p, const struct mark *marks, uint32_t n,
                        enum severity severity) {
    const char *strong = severity == SEVERITY_ERROR ? p->style.error : p->style.warning;
    struct window shown = {0};
    for (uint32_t i = 0; i < n; i++) {
        const struct mark *mark = &marks[i];
        const struct source_file *file = &p->sources->items[mark->span.source];
        const struct mark *above = i ? &marks[i - 1] : NULL;
        bool same_file = above && above->span.source == mark->span.source;
        if (above && !same_file)
            fprintf(p->out, "  in %s:\n", mark->place.file);
        struct window w = line_window(p, file, mark->place.line, mark->span.begin, mark->span.end);
        if (same_file && mark->place.line > above->place.line + 1)
            fprintf(p->out, "  ...\n");
        if (!same_file || mark->place.line != above->place.line || w.begin != shown.begin)
            print_line(p, mark->place.line, file, w);
        shown = w;
        print_underline(p, file, w, mark, mark->primary ? strong : p->style.label);
    }
}

static struct mark mark_of(const struct printer *p, struct span span, const char *text,
                           bool primary) {
    return (struct mark){span, source_place(p->sources, span), text ? text : "", primary};
}

// A file without text (one that could not be read) has nothing to show.
static bool is_shown(const struct printer *p, const struct mark *mark) {
    return mark->place.file && p->sources->items[mark->span.source].length > 0;
}

static void print_excerpts(const struct printer *p, const struct diagnostic *d) {
    struct mark *marks = memory_given(calloc(d->n_labels + 1, sizeof *marks));
    uint32_t n = 0;
    struct mark primary = mark_of(p, d->span, d->said, true);
    if (is_shown(p, &primary))
        marks[n++] = primary;
    for (uint32_t i = 0; i < d->n_labels; i++) {
        struct mark mark = mark_of(p, d->labels[i].span, d->labels[i].text, false);
        if (is_shown(p, &mark))
            marks[n++] = mark;
    }
    if (n) {
        sort_marks(marks, n);
        print_marks(p, marks, n, d->severity);
    }
    free(marks);
}

// ---- notes and help ---------------------------------------------------------------------------

// Notes with a place are shown like labels, but on their own: they explain, they do not point.
static void print_note(const struct printer *p, const struct diagnostic_label *note,
                       enum severity severity) {
    struct mark mark = mark_of(p, note->span, "", false);
    int column = (int)strlen("  note: ");
    fprintf(p->out, "  %snote%s: ", p->style.bold, p->style.end);
    if (mark.place.file)
        column +=
            fprintf(p->out, "%s:%u:%u: ", mark.place.file, mark.place.line, mark.place.column);
    print_sentence(p, note->text, column);
    fputc('\n', p->out);
    if (mark.place.file)
        print_marks(p, &mark, 1, severity);
}

// Prints new text, which may hold line ends; lines that it adds are numbered on.
static uint32_t print_inserted(const struct printer *p, const char *text, uint32_t line) {
    for (const char *end; (end = strchr(text, '\n')); text = end + 1) {
        print_bytes(p->out, text, (size_t)(end - text));
        fputc('\n', p->out);
        print_gutter(p, ++line);
    }
    print_bytes(p->out, text, strlen(text));
    return line;
}

static bool deletes_lines(const struct source_file *file, const struct mark *edit) {
    uint32_t begin = edit->span.begin, end = edit->span.end;
    return !*edit->text && end > begin && file->text[end - 1] == '\n' &&
           (begin == 0 || file->text[begin - 1] == '\n');
}

// Lines that an edit leaves out, each behind a sign that says so.
static void print_deleted(const struct printer *p, const struct source_file *file,
                          const struct mark *edit) {
    for (uint32_t line = edit->place.line; line < edit->place.end_line; line++) {
        struct window w = line_window(p, file, line, file->lines[line - 1], 0);
        fprintf(p->out, "%s%5u -%s ", p->style.quiet, line, p->style.end);
        print_bytes(p->out, file->text + w.begin, w.end - w.begin);
        fputs(w.cut_after ? "...\n" : "\n", p->out);
    }
}

// The lines that the edits from number `first` on touch, as they would be: those up to the first
// edit that begins on a later line than this one ends. Returns the number of the edit after them.
static uint32_t print_edited(const struct printer *p, const struct mark *edits, uint32_t first,
                             uint32_t n) {
    const struct source_file *file = &p->sources->items[edits[first].span.source];
    if (deletes_lines(file, &edits[first])) {
        print_deleted(p, file, &edits[first]);
        return first + 1;
    }
    struct window start = line_window(p, file, edits[first].place.line, edits[first].span.begin, 0);
    uint32_t at = start.begin, i = first;
    print_gutter(p, edits[first].place.line);
    fputs(start.cut_before ? "..." : "", p->out);
    uint32_t line = edits[first].place.line;
    do {
        if (edits[i].span.begin > at)
            print_bytes(p->out, file->text + at, edits[i].span.begin - at);
        line = print_inserted(p, edits[i].text, line);
        at = edits[i].span.end;
        i++;
    } while (i < n && edits[i].span.source == edits[first].span.source &&
             edits[i].place.line == edits[i - 1].place.end_line);
    struct window rest = line_window(p, file, edits[i - 1].place.end_line, at, 0);
    if (rest.end > at)
        print_bytes(p->out, file->text + at, rest.end - at);
    fputs(rest.cut_after ? "...\n" : "\n", p->out);
    return i;
}

// Edits by line, in order, whatever order they were reported in.
static void print_help(const struct printer *p, const struct diagnostic *d) {
    fprintf(p->out, "  %shelp%s: ", p->style.bold, p->style.end);
    print_sentence(p, d->help, (int)strlen("  help: "));
    fputc('\n', p->out);
    if (!d->n_edits)
        return;
    struct mark *edits = memory_given(calloc(d->n_edits, sizeof *edits));
    for (uint32_t i = 0; i < d->n_edits; i++)
        edits[i] = mark_of(p, d->edits[i].span, d->edits[i].text, false);
    sort_marks(edits, d->n_edits);
    for (uint32_t i = 0; i < d->n_edits;)
        i = print_edited(p, edits, i, d->n_edits);
    free(edits);
}

// ---- whole diagnostics ------------------------------------------------------------------------

static void diagnostic_print(const struct diagnostic *d, FILE *out, bool colour) {
    struct printer p = {d->set->sources, out, colour ? coloured : plain, columns_of(out)};
    struct source_place place = source_place(p.sources, d->span);
    const char *strong = d->severity == SEVERITY_ERROR ? p.style.error : p.style.warning;
    int column = (int)(strlen(severity_words(d->severity)) + strlen("[E000]: "));
    fputs(place.file ? p.style.bold : "", out);
    if (place.file)
        column += fprintf(out, "%s:%u:%u: ", place.file, place.line, place.column);
    fprintf(out, "%s%s[%s]%s: %s", strong, severity_words(d->severity),
            diagnostic_rows[d->code].text, p.style.end, p.style.bold);
    print_sentence(&p, d->message, column);
    fprintf(out, "%s\n", p.style.end);
    print_excerpts(&p, d);
    for (uint32_t i = 0; i < d->n_notes; i++)
        print_note(&p, &d->notes[i], d->severity);
    if (d->help)
        print_help(&p, d);
}

void diagnostics_print(const struct diagnostics *set, FILE *out, bool colour) {
    for (uint32_t i = 0; i < set->n_items; i++)
        diagnostic_print(set->items[i], out, colour);
    if (set->n_dropped)
        fprintf(out, "%u more not shown; --error-limit=0 shows all\n", set->n_dropped);
}
