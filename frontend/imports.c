// The items of a file and of all that it imports, in one list. An import is sought beside the file
// that names it, then in the installed library. A file that two others import is read once; one
// that leads back to itself is refused.
//
// The list is flat: a name means the same in every file, so a library's strategy and the user's
// cannot be confused. Only which file an item came from is kept, because a strategy to compile must
// be the user's own. What could not be read is remembered too: nothing that it might have declared
// is reported as missing.
#include "frontend/read.h"
#include "frontend/resolve.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// Both ways to write a model are models to whoever looks one up.
static const char *item_kind_word(enum ast_item_kind kind) {
    switch (kind) {
    case ITEM_IMPORT:
        return "import";
    case ITEM_MODEL_FILE:
    case ITEM_MODEL_FAMILY:
        return "model";
    case ITEM_DEVICE:
        return "device";
    case ITEM_MESH:
        return "mesh";
    case ITEM_TRAIN:
        return "train";
    case ITEM_STRATEGY:
        return "strategy";
    case ITEM_STEP:
        return "step";
    case ITEM_UNIT:
        return "unit";
    }
    return "item";
}

// Relative paths are relative to the file that says them, not to where the command runs.
char *path_beside(struct arena *arena, const char *path, const char *name) {
    const char *slash = strrchr(path, '/');
    if (name[0] == '/' || !slash)
        return arena_string(arena, name, strlen(name));
    return arena_format(arena, "%.*s/%s", (int)(slash - path), path, name);
}

bool names_file(struct resolver *r, const char *name, struct span span) {
    if (*name)
        return true;
    diagnostic_help(report(r->diagnostics, E100, span, "no file is named here"),
                    "name a file; its path is taken from the file that names it");
    return false;
}

// ---- duplicates -------------------------------------------------------------------------------

// Names are per kind: a mesh and a model may share one. There is one `train`, which has none.
static const char *declaration_text(struct resolver *r, const struct ast_item *item) {
    if (item->kind == ITEM_TRAIN)
        return "`train`";
    if (item->kind == ITEM_UNIT)
        return arena_format(r->arena, "unit `%s.%s`", item->name.text, item->program.unit.text);
    return arena_format(r->arena, "%s `%s`", item_kind_word(item->kind), item->name.text);
}

// The first declaration counts; that of a second is reported with the first beside it.
static void add_item(struct resolver *r, const struct ast_item *item, uint32_t file) {
    const char *name = declaration_text(r, item);
    uint32_t first = names_find(&r->declared, name);
    if (first != NOT_NAMED) {
        report_twice(r, item->name.span, r->items[first].item->name.span, name);
        return;
    }
    names_add(&r->declared, name, r->n_items);
    ARENA_PUSH(r->arena, r->items, r->n_items, r->items_capacity, (struct found_item){item, file});
}

// ---- files ------------------------------------------------------------------------------------

// One file on the way from the user's to the one being read.
struct import_chain {
    const struct import_chain *outer;
    uint32_t file;
    unsigned depth;
};

static void load_file(struct resolver *r, uint32_t file, const struct import_chain *outer);

// Whether the file is one of those that are being read: importing it again would never end.
static bool is_open(const struct resolver *r, const struct import_chain *chain,
                    const char *identity) {
    for (; chain; chain = chain->outer)
        if (strcmp(r->files[chain->file].identity, identity) == 0)
            return true;
    return false;
}

// One name per file, however its path is written; what is no file (stdin) is its own.
static const char *identity_of(struct arena *arena, const char *path) {
    char *real = realpath(path, NULL);
    const char *identity = real ? arena_string(arena, real, strlen(real)) : path;
    free(real);
    return identity;
}

// NULL: at neither place. What stands beside the importing file hides what is installed.
static const char *find_import(struct resolver *r, const char *importer, const char *name) {
    const char *beside = path_beside(r->arena, importer, name);
    if (access(beside, F_OK) == 0 || !r->options->library_directory)
        return access(beside, F_OK) == 0 ? beside : NULL;
    const char *installed = arena_format(r->arena, "%s/%s", r->options->library_directory, name);
    return access(installed, F_OK) == 0 ? installed : NULL;
}

// The installed files of strategies, as an import names them.
static const char *const library_files[] = {"lib/strategies.place"};

static const char *last_part(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

// A file of the library in another folder, or misspelt; else what there is to look at.
static void help_import_path(struct resolver *r, struct diagnostic *d, struct span span,
                             const char *given) {
    for (size_t i = 0; i < sizeof library_files / sizeof *library_files; i++) {
        const char *name = last_part(library_files[i]);
        if (nearest_name(last_part(given), &name, 1) &&
            find_import(r, r->files[0].path, library_files[i])) {
            diagnostic_help(d, "did you mean `%s`?", library_files[i]);
            diagnostic_edit(d, span, "\"%s\"", library_files[i]);
            return;
        }
    }
    for (size_t i = 0; i < sizeof library_files / sizeof *library_files; i++)
        if (strcmp(library_files[i], given) == 0) {
            diagnostic_help(d,
                            "set PLACE_LIBRARY to the folder that has `%s`: of an installation "
                            "the one named share/place",
                            given);
            return;
        }
    diagnostic_help(d, "check the path; it is taken from the file that names it");
}

// A cycle is looked for before "already read": a file that is still open is both.
static void load_import(struct resolver *r, const struct ast_item *item,
                        const struct import_chain *chain) {
    struct span span = item->import.span;
    if (!names_file(r, item->import.text, span)) {
        r->import_failed = true;
        return;
    }
    const char *path = find_import(r, r->files[chain->file].path, item->import.text);
    if (!path) {
        r->import_failed = true;
        struct diagnostic *d =
            report(r->diagnostics, E110, span, "no file `%s`", item->import.text);
        diagnostic_note(d, "sought beside the importing file%s%s",
                        r->options->library_directory ? " and in " : "",
                        r->options->library_directory ? r->options->library_directory : "");
        help_import_path(r, d, span, item->import.text);
        return;
    }
    const char *identity = identity_of(r->arena, path);
    if (is_open(r, chain, identity)) {
        struct diagnostic *d =
            report(r->diagnostics, E111, span, "`%s` imports itself, by way of this import",
                   item->import.text);
        diagnostic_help(
            d, "take out one import of this circle, or move what both files need into a third");
        return;
    }
    for (uint32_t i = 0; i < r->n_files; i++)
        if (strcmp(r->files[i].identity, identity) == 0)
            return;
    if (chain->depth == LIMIT_IMPORT_DEPTH || r->n_files == LIMIT_IMPORTS) {
        struct diagnostic *d =
            report(r->diagnostics, E110, span, "more than %d files import each other",
                   chain->depth == LIMIT_IMPORT_DEPTH ? LIMIT_IMPORT_DEPTH : LIMIT_IMPORTS);
        diagnostic_help(d, "put what is needed into fewer files");
        return;
    }
    uint32_t source;
    if (!read_source(r->arena, r->diagnostics, path, span, &source)) {
        r->import_failed = true;
        return;
    }
    struct loaded_file file = {.path = path, .identity = identity};
    uint32_t errors_before = r->diagnostics->n_errors;
    parse_source(r->arena, r->diagnostics, source, &file.ast);
    r->has_syntax_errors |= r->diagnostics->n_errors != errors_before;
    ARENA_PUSH(r->arena, r->files, r->n_files, r->files_capacity, file);
    load_file(r, r->n_files - 1, chain);
}

// Loads items in the order of the text, imports where they stand, so that of two declarations the
// one that is read first is the one that a person meets first.
static void load_file(struct resolver *r, uint32_t file, const struct import_chain *outer) {
    struct import_chain chain = {outer, file, outer ? outer->depth + 1 : 0};
    const struct ast_file ast = r->files[file].ast; // a copy: `files` grows
    for (uint32_t i = 0; i < ast.n; i++) {
        if (ast.items[i].kind == ITEM_IMPORT)
            load_import(r, &ast.items[i], &chain);
        else
            add_item(r, &ast.items[i], file);
    }
}

// The user's file is number 0, by which its strategies are told from imported ones.
void load_items(struct resolver *r, const struct ast_file *file) {
    const char *path = r->diagnostics->sources->items[file->source].name;
    struct loaded_file first = {path, identity_of(r->arena, path), *file};
    r->declared.arena = r->arena;
    ARENA_PUSH(r->arena, r->files, r->n_files, r->files_capacity, first);
    load_file(r, 0, NULL);
}

// ---- finding ----------------------------------------------------------------------------------

static bool is_kind(const struct ast_item *item, enum ast_item_kind kind) {
    return strcmp(item_kind_word(item->kind), item_kind_word(kind)) == 0;
}

// Where there is none of a kind to choose from: what one looks like.
static void help_declare(struct diagnostic *d, enum ast_item_kind kind) {
    const char *example =
        kind == ITEM_DEVICE  ? "device core { memory = 1 GiB }"
        : kind == ITEM_MESH  ? "mesh ranks of core { dp = 4  link(10 GB/s, 1 us) }"
        : kind == ITEM_TRAIN ? "train { batch = 16  sequence = 64  optimizer = adamw(lr = 1e-3) }"
        : kind == ITEM_STRATEGY
            ? "strategy main { split batch over dp }"
            : "model tiny : gpt2 { layers = 4  hidden = 128  heads = 4  ffn = 512  vocab = 256  "
              "sequence_limit = 64 }";
    diagnostic_help(d, "declare one, as in `%s`, or import the file that does", example);
}

// True if the file declares such an item. It is read beside everything: what it says is not taken,
// and what is wrong in it is told to those who import it.
static bool declares(struct resolver *r, const char *path, enum ast_item_kind kind,
                     const char *name) {
    struct source_files sources = {0};
    struct diagnostics *diagnostics = diagnostics_new(r->arena, &sources);
    struct ast_file file;
    uint32_t source;
    if (!read_source(r->arena, diagnostics, path, span_nowhere(), &source))
        return false;
    parse_source(r->arena, diagnostics, source, &file);
    for (uint32_t i = 0; i < file.n; i++)
        if (is_kind(&file.items[i], kind) && strcmp(file.items[i].name.text, name) == 0)
            return true;
    return false;
}

// The import that would bring the name; NULL: none.
static const char *missing_import(struct resolver *r, enum ast_item_kind kind, const char *name) {
    for (size_t i = 0; i < sizeof library_files / sizeof *library_files; i++) {
        const char *path = find_import(r, r->files[0].path, library_files[i]);
        if (path && declares(r, path, kind, name))
            return arena_format(r->arena, "import \"%s\"", library_files[i]);
    }
    return NULL;
}

// Proposes an import before the first item of the user's file, behind what comments say of the
// whole.
static void help_import(struct resolver *r, struct diagnostic *d, const char *import) {
    const struct ast_file *file = &r->files[0].ast;
    uint32_t begin = file->n ? file->items[0].span.begin : 0;
    diagnostic_help(d, "the library has it: `%s`", import);
    diagnostic_edit(d, span_of(file->source, begin, begin), "%s\n", import);
}

// Looks among all files, and gathers the names of the kind for the help on the way.
static const struct found_item *find_named(struct resolver *r, enum ast_item_kind kind,
                                           struct ast_name name) {
    const char **names = ARENA_ARRAY(r->arena, const char *, r->n_items);
    size_t n = 0;
    for (uint32_t i = 0; i < r->n_items; i++) {
        if (!is_kind(r->items[i].item, kind))
            continue;
        if (strcmp(r->items[i].item->name.text, name.text) == 0)
            return &r->items[i];
        names[n++] = r->items[i].item->name.text;
    }
    // What an import or an item that failed would have brought is not missed again.
    if (!r->import_failed && !r->has_syntax_errors) {
        bool in_users_file = name.span.source == r->files[0].ast.source;
        const char *import = in_users_file ? missing_import(r, kind, name.text) : NULL;
        struct diagnostic *d =
            report_unknown(r, E103, name, item_kind_word(kind), names, import ? 0 : n);
        if (import)
            help_import(r, d, import);
        else if (n == 0)
            help_declare(d, kind);
    }
    return NULL;
}

// Without a name there must be exactly one of the kind; several are told with how to choose.
const struct found_item *find_item(struct resolver *r, enum ast_item_kind kind,
                                   struct ast_name name) {
    if (name.text)
        return find_named(r, kind, name);
    const struct found_item *only = NULL;
    for (uint32_t i = 0; i < r->n_items; i++) {
        const struct found_item *found = &r->items[i];
        if (!is_kind(found->item, kind))
            continue;
        if (only) {
            struct diagnostic *d = report(r->diagnostics, E117, name.span,
                                          "which %s? the file has several", item_kind_word(kind));
            diagnostic_label(d, only->item->name.span, "this one");
            diagnostic_label(d, found->item->name.span, "or this one");
            if (kind == ITEM_MODEL_FAMILY || kind == ITEM_MESH)
                diagnostic_help(d, "say it behind the strategy's name: `%s %s`",
                                kind == ITEM_MESH ? "on" : "of", only->item->name.text);
            return NULL;
        }
        only = found;
    }
    if (!only && !r->import_failed && !r->has_syntax_errors)
        help_declare(
            report(r->diagnostics, E109, name.span, "the file has no `%s`", item_kind_word(kind)),
            kind);
    return only;
}
