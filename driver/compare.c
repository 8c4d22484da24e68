// placec compare FILE... [--strategy A,B]: strategies side by side, a column for each: the verdict,
// what a device holds and sends, how long a step takes at least, and the modes that differ. A file
// with a program of its own is compared with what would be derived in its place.
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "driver/compile.h"
#include "driver/quantity.h"
#include "driver/report.h"
#include "driver/strategies.h"
#include "driver/trying.h"
#include "runtime/host/columns.h"

struct column {
    const char *name;
    struct options options;
    const struct column *derived; // what stands in place of its own program; NULL: it has none
    struct compilation c;
    bool right; // it has a program, be it too large for the device; with it:
    struct step_time time;
    struct mode_lines modes;
};
struct columns {
    struct arena arena;
    const struct options *options;
    struct column **items;
    uint32_t n, cap;
};

// ---- columns ----------------------------------------------------------------------------------

static void add_column(struct columns *all, const char *name, const char *path,
                       const char *strategy, const char *text, size_t length) {
    struct column *column = ARENA_NEW(&all->arena, struct column);
    column->options = options_of_strategy(all->options, strategy);
    column->options.operand = path;
    if (text)
        compile_text(&column->c, &column->options, path, text, length, STAGE_JUDGED);
    else
        compile(&column->c, &column->options, STAGE_JUDGED);
    column->name = name;
    column->right = is_right_but_for_memory(&column->c);
    if (column->right) {
        struct placement_table table = placement_rows(&column->c);
        column->modes = find_mode_lines(&column->c, &table);
        column->time = compilation_time(&column->c);
    }
    ARENA_PUSH(&all->arena, all->items, all->n, all->cap, column);
}

// The text without the programs that it writes out: blanks in their place.
static char *without_programs(struct columns *all, struct compilation *c) {
    const struct source_file *file = &c->sources.items[c->file.source];
    char *text = arena_copy(&all->arena, file->text, file->length + 1);
    for (uint32_t i = 0; i < c->file.n; i++) {
        const struct ast_item *item = &c->file.items[i];
        for (uint32_t at = item->span.begin; at < item->span.end; at++)
            if ((item->kind == ITEM_STEP || item->kind == ITEM_UNIT) && text[at] != '\n')
                text[at] = ' ';
    }
    return text;
}

struct words {
    const char **items;
    uint32_t n, cap;
};

static void add_word(struct arena *arena, struct words *words, const char *begin, size_t length) {
    const char *word = arena_format(arena, "%.*s", (int)length, begin);
    ARENA_PUSH(arena, words->items, words->n, words->cap, word);
}

// What --strategy names, else all that stand alone; none: the file says what is wrong.
static struct words strategies_of(struct columns *all, const char *path) {
    struct words words = {0};
    const char *given = all->options->values[OPTION_STRATEGY];
    for (const char *at = given; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL)
        add_word(&all->arena, &words, at, strcspn(at, ","));
    if (given)
        return words;
    struct options options = *all->options;
    struct compilation c;
    options.operand = path;
    compile(&c, &options, STAGE_PARSED);
    struct strategy_names names = lone_strategies(&all->arena, &c.file);
    for (uint32_t i = 0; i < names.n; i++)
        add_word(&all->arena, &words, names.items[i], strlen(names.items[i]));
    compilation_free(&c);
    return words;
}

// The file's name without what stands behind its first dot.
static const char *stem(struct arena *arena, const char *path) {
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    return arena_format(arena, "%.*s", (int)strcspn(name, "."), name);
}

// With its folder, where another file has the same.
static const char *file_name(struct columns *all, const char *path) {
    const char *name = stem(&all->arena, path), *slash = strrchr(path, '/'), *folder = slash;
    int n = 0;
    for (int i = 0; i < all->options->n_operands; i++)
        n += strcmp(stem(&all->arena, all->options->operands[i]), name) == 0;
    if (n < 2 || !slash)
        return name;
    while (folder > path && folder[-1] != '/')
        folder--;
    return arena_format(&all->arena, "%.*s/%s", (int)(slash - folder), folder, name);
}

static void add_file(struct columns *all, const char *path) {
    struct words strategies = strategies_of(all, path);
    const char *file = file_name(all, path);
    bool one_file = all->options->n_operands == 1;
    if (strategies.n == 0)
        add_column(all, file, path, NULL, NULL, 0);
    for (uint32_t i = 0; i < strategies.n; i++) {
        const char *strategy = strategies.items[i];
        const char *name = one_file            ? strategy
                           : strategies.n == 1 ? file
                                               : arena_format(&all->arena, "%s:%s", file, strategy);
        add_column(all, name, path, strategy, NULL, 0);
        struct column *own = all->items[all->n - 1];
        if (own->c.edited) {
            char *text = without_programs(all, &own->c);
            add_column(all, arena_format(&all->arena, "%s, derived", name), path, strategy, text,
                       strlen(text));
            own->derived = all->items[all->n - 1];
        }
    }
}

// ---- the table --------------------------------------------------------------------------------

enum {
    LABEL_COLUMNS = 23,
    CELL_COLUMNS = 19,
    CELLS = (USUAL_COLUMNS - LABEL_COLUMNS) / CELL_COLUMNS
};

// What a row says of a column; NULL: nothing.
typedef const char *(*cell_text)(struct columns *, const struct column *, const void *what);

struct printing {
    struct columns *all;
    uint32_t first, end; // columns, before end
};

static void print_row(const struct printing *p, const char *label, cell_text text,
                      const void *what) {
    printf("  %-*s", LABEL_COLUMNS - 2, label);
    for (uint32_t i = p->first; i < p->end; i++) {
        const char *cell = text(p->all, p->all->items[i], what);
        bool last = i + 1 == p->end;
        printf("%-*.*s", last ? 0 : CELL_COLUMNS, CELL_COLUMNS - 1, cell ? cell : "-");
    }
    printf("\n");
}

// The begin and the end of a name for which there is no room: names that are alike mostly differ there.
static const char *name_cell(struct columns *all, const struct column *column, const void *what) {
    enum { ROOM = CELL_COLUMNS - 1, BEGIN = (ROOM - 2) / 2, END = ROOM - 2 - BEGIN };
    size_t length = strlen(column->name);
    return length <= ROOM ? column->name
                          : arena_format(&all->arena, "%.*s..%s", BEGIN, column->name,
                                         column->name + length - END);
}

static const char *verdict_cell(struct columns *all, const struct column *column,
                                const void *what) {
    const struct diagnostic *error = first_error(&column->c);
    return error ? arena_format(&all->arena, "refused, %s", diagnostic_rows[error->code].text)
                 : "accepted";
}

static const char *peak_cell(struct columns *all, const struct column *column, const void *what) {
    return column->right
               ? bytes_text(&all->arena, (double)column->c.account->arenas[TIER_DEVICE].peak)
               : NULL;
}

// What a state takes of that.
static const char *state_cell(struct columns *all, const struct column *column, const void *what) {
    const enum state *state = what;
    return column->right ? bytes_text(&all->arena,
                                      (double)column->c.account->arenas[TIER_DEVICE].states[*state])
                         : NULL;
}

static int64_t most_kept(const struct column *column, enum tier tier) {
    return column->c.accounts[holds_most(&column->c, tier)]->arenas[tier].peak;
}

static const char *tier_cell(struct columns *all, const struct column *column, const void *what) {
    const int *tier = what;
    return column->right ? bytes_text(&all->arena, (double)most_kept(column, *tier)) : NULL;
}

static const char *transient_cell(struct columns *all, const struct column *column,
                                  const void *what) {
    return column->right
               ? bytes_text(&all->arena, (double)column->c.account->arenas[TIER_DEVICE].transient)
               : NULL;
}

static const char *axes_text(const struct columns *all, const struct column *column,
                             const struct account_transfer *t) {
    return mesh_axes_text(&column->c.final->job->mesh, &t->axes, (struct arena *)&all->arena);
}

// The account of the rank that sends most.
static const struct account *sender_of(const struct column *column) {
    return column->c.accounts[sends_most(&column->c)];
}

// What a column sends over these axes, or over all.
static const char *sent_cell(struct columns *all, const struct column *column, const void *what) {
    const char *axes = what;
    int64_t bytes = 0;
    bool any = !axes;
    for (uint32_t i = 0; column->right && i < sender_of(column)->n_transfers; i++) {
        const struct account_transfer *t = &sender_of(column)->transfers[i];
        if (t->step != STEP_TRAIN || (axes && strcmp(axes_text(all, column, t), axes) != 0))
            continue;
        bytes += t->bytes;
        any = true;
    }
    return column->right && any ? bytes_text(&all->arena, (double)bytes) : NULL;
}

static const char *seconds_cell(struct columns *all, const struct column *column, double seconds) {
    return column->right && seconds >= 0 ? quantity_text(&all->arena, seconds, SECONDS) : NULL;
}

static const char *best_cell(struct columns *all, const struct column *column, const void *what) {
    return seconds_cell(all, column, column->time.best_s);
}

static const char *worst_cell(struct columns *all, const struct column *column, const void *what) {
    return seconds_cell(all, column, column->time.worst_s);
}

static const char *idle_cell(struct columns *all, const struct column *column, const void *what) {
    return column->right && is_pipelined(&column->c) && column->time.best_s >= 0
               ? seconds_cell(all, column, column->time.idle_s)
               : NULL;
}

static const char *compute_cell(struct columns *all, const struct column *column,
                                const void *what) {
    return seconds_cell(all, column, column->time.compute_s);
}

static const char *memory_cell(struct columns *all, const struct column *column, const void *what) {
    return seconds_cell(all, column, column->time.memory_s);
}

static int64_t copied_by(const struct column *column) {
    int64_t bytes = 0;
    for (int tier = 0; column->right && tier < N_TIERS; tier++)
        bytes += most_copied(&column->c, STEP_TRAIN, (enum tier)tier);
    return bytes;
}

static const char *copied_cell(struct columns *all, const struct column *column, const void *what) {
    return column->right ? bytes_text(&all->arena, (double)copied_by(column)) : NULL;
}

static const char *host_link_cell(struct columns *all, const struct column *column,
                                  const void *what) {
    return copied_by(column) ? seconds_cell(all, column, column->time.host_link_s) : NULL;
}

static uint32_t find_axis(const struct column *column, const char *name) {
    const struct mesh *mesh = column->right ? &column->c.final->job->mesh : NULL;
    for (uint32_t i = 0; mesh && i < mesh->n_axes; i++)
        if (strcmp(mesh->axes[i].name, name) == 0)
            return i;
    return NO_ID;
}

static const char *link_cell(struct columns *all, const struct column *column, const void *what) {
    uint32_t axis = find_axis(column, what);
    return axis == NO_ID || column->time.axes[axis].bytes == 0
               ? NULL
               : seconds_cell(all, column, column->time.axes[axis].seconds);
}

// ---- programs of one's own ----------------------------------------------------------------------

static int by_text(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

// The program's lines, sorted, without where buffers lie: a plan moves everything that comes
// behind.
static struct words sorted_lines(struct arena *arena, const struct program *program) {
    struct words lines = {0};
    for (const char *at = job_text(program->job, arena); *at; at += strcspn(at, "\n") + 1) {
        size_t length = strcspn(at, "\n"), end = length;
        while (end && strchr("0123456789", at[end - 1]))
            end--;
        bool placed = end < length && end >= 4 && strncmp(at + end - 4, " at ", 4) == 0;
        size_t indent = strspn(at, " ");
        add_word(arena, &lines, at + indent, (placed ? end - 4 : length) - indent);
        if (at[length] == 0)
            break;
    }
    if (lines.n)
        qsort(lines.items, lines.n, sizeof *lines.items, by_text);
    return lines;
}

// Lines that only its own program has, and that only the derived one has.
static const char *changed_cell(struct columns *all, const struct column *column,
                                const void *what) {
    const struct column *derived = column->derived;
    if (!derived || !derived->right || !column->right)
        return NULL;
    struct words own = sorted_lines(&all->arena, column->c.final);
    struct words other = sorted_lines(&all->arena, derived->c.final);
    uint32_t i = 0, k = 0, more = 0, fewer = 0;
    while (i < own.n || k < other.n) {
        int order = i == own.n ? 1 : k == other.n ? -1 : strcmp(own.items[i], other.items[k]);
        more += order < 0;
        fewer += order > 0;
        i += order <= 0;
        k += order >= 0;
    }
    return arena_format(&all->arena, "+%u -%u", more, fewer);
}

static bool any_keeps(const struct columns *all, int tier) {
    for (uint32_t i = 0; i < all->n; i++)
        if (all->items[i]->right && most_kept(all->items[i], tier))
            return true;
    return false;
}

static bool any_pipeline(const struct columns *all) {
    for (uint32_t i = 0; i < all->n; i++)
        if (all->items[i]->right && is_pipelined(&all->items[i]->c))
            return true;
    return false;
}

static bool any_copies(const struct columns *all) {
    for (uint32_t i = 0; i < all->n; i++)
        if (copied_by(all->items[i]))
            return true;
    return false;
}

static bool has_own_programs(const struct columns *all) {
    for (uint32_t i = 0; i < all->n; i++)
        if (all->items[i]->derived)
            return true;
    return false;
}

// ---- modes ------------------------------------------------------------------------------------

static const char *line_text(struct columns *all, const struct mode_line *line) {
    return line->apart ? arena_format(&all->arena, "%s %s", line->role, line->apart) : line->role;
}

// Without its blanks, where there is no room for them.
static const char *short_tuple(struct columns *all, const char *tuple) {
    size_t n = strlen(tuple);
    if (n < CELL_COLUMNS)
        return tuple;
    char *text = ARENA_ARRAY(&all->arena, char, n + 1);
    for (size_t i = 0, at = 0; i < n; i++)
        if (tuple[i] != ' ')
            text[at++] = tuple[i];
    return text;
}

struct mode_of {
    const char *axis, *line;
};

// Tensors that elsewhere lie otherwise than their role lie as it does here, where nothing is said.
static const char *mode_cell(struct columns *all, const struct column *column, const void *what) {
    const struct mode_of *of = what;
    uint32_t axis = find_axis(column, of->axis);
    size_t role = strcspn(of->line, " ");
    const char *found = NULL;
    for (uint32_t i = 0; axis != NO_ID && i < column->modes.n; i++) {
        const struct mode_line *line = &column->modes.items[i];
        if (strcmp(line_text(all, line), of->line) == 0)
            return short_tuple(all, line->tuples[axis]);
        if (!line->apart && strncmp(line->role, of->line, role) == 0 && line->role[role] == 0)
            found = short_tuple(all, line->tuples[axis]);
    }
    return found;
}

// All cells of a row, as one text; empty: they are equal.
static const char *differing(struct columns *all, const struct mode_of *of) {
    const char *text = "", *first = NULL;
    bool differ = false;
    for (uint32_t i = 0; i < all->n; i++) {
        const char *cell = mode_cell(all, all->items[i], of);
        cell = cell ? cell : "-";
        if (!all->items[i]->right)
            continue;
        differ |= first && strcmp(cell, first) != 0;
        first = first ? first : cell;
        text = arena_format(&all->arena, "%s %s", text, cell);
    }
    return differ ? text : "";
}

static void add_new_word(struct arena *arena, struct words *words, const char *word) {
    for (uint32_t i = 0; i < words->n; i++)
        if (strcmp(words->items[i], word) == 0)
            return;
    ARENA_PUSH(arena, words->items, words->n, words->cap, word);
}

// What some column has, in the order of the first that does.
static struct words all_axes(struct columns *all) {
    struct words words = {0};
    for (uint32_t i = 0; i < all->n; i++)
        for (uint32_t k = 0; all->items[i]->right && k < all->items[i]->c.final->job->mesh.n_axes;
             k++)
            add_new_word(&all->arena, &words, all->items[i]->c.final->job->mesh.axes[k].name);
    return words;
}

static struct words all_lines(struct columns *all) {
    struct words words = {0};
    for (uint32_t i = 0; i < all->n; i++)
        for (uint32_t k = 0; k < all->items[i]->modes.n; k++)
            add_new_word(&all->arena, &words, line_text(all, &all->items[i]->modes.items[k]));
    return words;
}

static struct words all_products(struct columns *all) {
    struct words words = {0};
    for (uint32_t i = 0; i < all->n; i++) {
        const struct column *column = all->items[i];
        for (uint32_t k = 0; column->right && k < sender_of(column)->n_transfers; k++)
            if (sender_of(column)->transfers[k].step == STEP_TRAIN)
                add_new_word(&all->arena, &words,
                             axes_text(all, column, &sender_of(column)->transfers[k]));
    }
    return words;
}

// Roles that differ alike on an axis have one row, below their names.
static void print_modes_of(const struct printing *p, const char *axis, const struct words *lines) {
    struct words told = {0};
    for (uint32_t i = 0; i < lines->n; i++) {
        struct mode_of of = {axis, lines->items[i]};
        const char *text = differing(p->all, &of), *names = "";
        uint32_t before = told.n, same = 0;
        add_new_word(&p->all->arena, &told, text);
        if (!*text || told.n == before)
            continue;
        for (uint32_t k = i; k < lines->n; k++) {
            struct mode_of other = {axis, lines->items[k]};
            if (strcmp(differing(p->all, &other), text) != 0)
                continue;
            names =
                arena_format(&p->all->arena, "%s%s%s", names, same++ ? ", " : "", lines->items[k]);
        }
        printf("    ");
        print_words(stdout, same == lines->n ? "all" : names, 4);
        print_row(p, arena_format(&p->all->arena, "    on %s", axis), mode_cell, &of);
    }
}

static bool modes_differ(const struct printing *p, const struct words *axes,
                         const struct words *lines) {
    bool right = false;
    for (uint32_t i = p->first; i < p->end; i++)
        right |= p->all->items[i]->right;
    for (uint32_t a = 0; a < axes->n && right; a++)
        for (uint32_t i = 0; i < lines->n; i++)
            if (*differing(p->all, &(struct mode_of){axes->items[a], lines->items[i]}))
                return true;
    return false;
}

static void print_columns(const struct printing *p) {
    struct columns *all = p->all;
    struct words axes = all_axes(all), lines = all_lines(all), products = all_products(all);
    print_row(p, "", name_cell, NULL);
    print_row(p, "verdict", verdict_cell, NULL);
    if (has_own_programs(all))
        print_row(p, "lines of the program", changed_cell, NULL);
    print_row(p, "memory, at its peak", peak_cell, NULL);
    for (enum state state = 0; state < N_STATES; state++)
        print_row(p, arena_format(&all->arena, "  %s", state_names[state]), state_cell, &state);
    print_row(p, "  transient", transient_cell, NULL);
    for (int tier = TIER_DEVICE + 1; tier < N_TIERS; tier++)
        if (any_keeps(all, tier))
            print_row(p, arena_format(&all->arena, "on %s", tier_names[tier]), tier_cell, &tier);
    print_row(p, "sent in a step", sent_cell, NULL);
    for (uint32_t i = 0; i < products.n; i++)
        print_row(p, arena_format(&all->arena, "  %s", products.items[i]), sent_cell,
                  products.items[i]);
    if (any_copies(all))
        print_row(p, "copied in a step", copied_cell, NULL);
    print_row(p, "a step, at best", best_cell, NULL);
    print_row(p, "  compute", compute_cell, NULL);
    print_row(p, "  memory", memory_cell, NULL);
    if (any_copies(all))
        print_row(p, "  host_link", host_link_cell, NULL);
    for (uint32_t i = 0; i < axes.n; i++)
        print_row(p, arena_format(&all->arena, "  %s", axes.items[i]), link_cell, axes.items[i]);
    if (any_pipeline(all))
        print_row(p, "  idle", idle_cell, NULL);
    print_row(p, "  without overlap", worst_cell, NULL);
    if (!modes_differ(p, &axes, &lines))
        return;
    printf("  modes that differ\n");
    for (uint32_t i = 0; i < axes.n; i++)
        print_modes_of(p, axes.items[i], &lines);
}

// ---- the whole --------------------------------------------------------------------------------

static bool same_error(const struct column *a, const struct column *b) {
    const struct diagnostic *x = first_error(&a->c), *y = first_error(&b->c);
    return x && y && x->code == y->code && strcmp(a->options.operand, b->options.operand) == 0 &&
           span_equal(x->span, y->span) && strcmp(x->message, y->message) == 0;
}

// What is wrong with a column, as `check` says it; what is wrong with the file as a whole, once.
static void print_errors(const struct columns *all) {
    for (uint32_t i = 0; i < all->n; i++) {
        struct column *column = all->items[i];
        bool told = !first_error(&column->c);
        for (uint32_t k = 0; k < i && !told; k++)
            told = same_error(column, all->items[k]);
        if (told)
            continue;
        fprintf(stderr, "%s:\n", column->name);
        compilation_finish(&column->c, &column->options);
    }
}

// Columns for which there is no room follow below.
int verb_compare(const struct options *options) {
    struct columns all = {.options = options};
    int status = STATUS_OK;
    for (int i = 0; i < options->n_operands; i++)
        if (strcmp(options->operands[i], "-") == 0) {
            fprintf(stderr, "placec: compare reads a file once for each strategy, and `-` can be "
                            "read once\n  name a file\n");
            return STATUS_USAGE;
        }
    for (int i = 0; i < options->n_operands; i++)
        add_file(&all, options->operands[i]);
    for (uint32_t first = 0; first < all.n; first += CELLS) {
        uint32_t end = first + CELLS < all.n ? first + CELLS : all.n;
        print_columns(&(struct printing){&all, first, end});
        if (end < all.n)
            printf("\n");
    }
    fflush(stdout);
    print_errors(&all);
    for (uint32_t i = 0; i < all.n; i++) {
        status = all.items[i]->c.diagnostics->n_errors ? STATUS_REFUSED : status;
        compilation_free(&all.items[i]->c);
    }
    arena_free(&all.arena);
    return status;
}
