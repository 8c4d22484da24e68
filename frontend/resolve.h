// What the parts of resolution share: the files read, the items found in them, settings of the
// command line, and readers of values. Private to frontend/.
#ifndef PLACE_FRONTEND_RESOLVE_H
#define PLACE_FRONTEND_RESOLVE_H

#include "frontend/frontend.h"
#include "frontend/parser.h"
#include "ir/limits.h"
#include "ir/names.h"

struct loaded_file {
    const char *path;     // as messages show it
    const char *identity; // the same for all ways to write it
    struct ast_file ast;
};

// An item with where it was found; the user's own file is number 0.
struct found_item {
    const struct ast_item *item;
    uint32_t file;
};

struct setting { // -D, parsed
    const char *argument;
    struct ast_field field;
    bool used;
};

// What is understood and not built.
enum unsupported {
#define UNSUPPORTED(name, what, instead) UNSUPPORTED_##name,
#include "frontend/unsupported.def"
#undef UNSUPPORTED
    N_UNSUPPORTED
};

// A device and settings may each say all of them.
enum { MAX_HOST_FIELDS = 4 };

struct resolver {
    struct arena *arena;
    struct diagnostics *diagnostics;
    const struct frontend_options *options;
    struct config *config;

    struct loaded_file *files;
    uint32_t n_files, files_capacity;
    struct found_item *items; // of all files, in the order of reading
    uint32_t n_items, items_capacity;
    struct names declared;  // `items`, as messages call them
    bool has_syntax_errors; // what is missing may have been written and not understood
    bool import_failed;     // some items are not there for a reason that has been said
    struct setting *settings;
    uint32_t n_settings;
    struct span mesh_span; // of the mesh's item
    struct host_field {    // what the device says of the host
        const char *name;
        struct span span;
    } host_fields[MAX_HOST_FIELDS];
    unsigned n_host_fields;
    const struct ast_parameters *parameters; // of the chosen strategy; NULL: none is
    struct diagnostic *counts_microbatches;  // a field that is none, and means that; NULL: none
    const struct ast_field *microbatches;

    uint32_t n_statements;                         // expanded so far
    struct diagnostic *unsupported[N_UNSUPPORTED]; // where it was told; NULL: it was not
};

// ---- imports.c --------------------------------------------------------------------------------
// Takes in the file and all that it imports; reports what is declared twice.
void load_items(struct resolver *r, const struct ast_file *file);
// The item of a kind that is meant: by name, or (without text in the name, whose span is then where
// errors are shown) the only one there is. NULL: reported.
const struct found_item *find_item(struct resolver *r, enum ast_item_kind kind,
                                   struct ast_name name);
// The path of a file named in another: beside it.
char *path_beside(struct arena *arena, const char *path, const char *name);
// False, once reported: the text at the span names none.
bool names_file(struct resolver *, const char *name, struct span);

// ---- values.c ---------------------------------------------------------------------------------
// Readers of values. False: reported. Nothing is written then.
bool read_integer(struct resolver *r, const struct ast_value *value, const char *what,
                  int64_t minimum, int64_t maximum, int64_t *out);
// The same with a help for what is too large; NULL: none.
bool read_bounded(struct resolver *r, const struct ast_value *value, const char *what,
                  int64_t minimum, int64_t maximum, const char *remedy, int64_t *out);
bool read_real(struct resolver *r, const struct ast_value *value, const char *what, double minimum,
               double maximum, double *out);
bool read_flag(struct resolver *r, const struct ast_value *value, const char *what, bool *out);
bool read_quantity(struct resolver *r, const struct ast_value *value, const char *what,
                   enum measure measure, double *out);
bool read_bytes_quantity(struct resolver *r, const struct ast_value *value, const char *what,
                         int64_t *out);
// One of the names; their order is the result.
bool read_choice(struct resolver *r, const struct ast_value *value, const char *what,
                 const char *const *names, int n, int *out);
struct diagnostic *report_wrong_kind(struct resolver *r, const struct ast_value *value,
                                     const char *what, const char *wanted);
// "no field `x`" with what was probably meant; `code` is E103 or E104.
struct diagnostic *report_unknown(struct resolver *r, enum diagnostic_code code,
                                  struct ast_name name, const char *kind, const char *const *names,
                                  size_t n);
// The same of a name that is given a value, which may say more of what was meant.
struct diagnostic *report_unknown_of(struct resolver *r, enum diagnostic_code code,
                                     struct ast_name name, const struct ast_value *of,
                                     const char *kind, const char *const *names, size_t n);
struct diagnostic *report_twice(struct resolver *r, struct span span, struct span first,
                                const char *what);
// The feature's row in unsupported.def, refused here: told once, with all places where it is said.
struct diagnostic *report_unsupported(struct resolver *r, struct span span,
                                      enum unsupported feature);

// ---- words of other systems (coming_from.c) -----------------------------------------------------
// Which of the names another system's word is for; NULL: none.
const char *translated(const char *word, const char *const *names, size_t n);
// How it is said here, as a help; `value`: what it is given there, NULL: nothing. False: no such
// word.
bool help_said_here(struct diagnostic *d, const char *word, const char *value);
// Remembers, for help_microbatches, where it is told how many microbatches a step has, which is
// said by the size of one.
void note_microbatches(struct resolver *r, struct diagnostic *d, const struct ast_field *field);

// What to do about fields that are too large, wherever they are said.
#define LAYERS_REMEDY   "the deepest models have some hundreds; is a digit too many?"
#define HEAD_DIM_REMEDY "use more heads; attention keeps a tile of this width for each thread"

// ---- tables of fields (fields.c) --------------------------------------------------------------
enum field_kind {
    FIELD_SIZE,        // int64_t, 1 to LIMIT_SIZE
    FIELD_LAYERS,      // int64_t, 1 to LIMIT_LAYERS
    FIELD_HEAD_DIM,    // int64_t, 1 to LIMIT_HEAD_DIM
    FIELD_COUNT,       // int64_t, from 0
    FIELD_REAL,        // double, from 0
    FIELD_POSITIVE,    // double, above 0
    FIELD_SHARE,       // double, from 0 to below 1
    FIELD_FLAG,        // bool
    FIELD_BYTES,       // int64_t
    FIELD_BYTES_PER_S, // double
    FIELD_FLOPS_PER_S, // double
    FIELD_BIASES,      // enums of ir/config.h
    FIELD_NORM,
    FIELD_ACTIVATION,
    FIELD_POSITION,
};
struct field_row {
    const char *name;
    enum field_kind kind;
    size_t offset; // in the struct that the table is about
};
// Which fields of a table have been said, and where.
struct field_said {
    bool said;
    struct origin origin;
};
int find_field(const struct field_row *rows, int n, const char *name);
// Reads one plain field (`name = value`) of a block into its member; reports unknown fields and
// those said twice. Returns the row, -1: reported.
int take_field(struct resolver *r, const struct field_row *rows, int n, const char *what,
               const struct ast_field *field, const struct origin *origin, void *target,
               struct field_said *said);

// ---- settings (settings.c) --------------------------------------------------------------------
void load_settings(struct resolver *r);
// The next setting after `*at` whose first step is `head` and that has more steps; its field
// without that step. False: none.
bool next_setting(struct resolver *r, const char *head, uint32_t *at, struct ast_field *field,
                  struct origin *origin);
// The setting that is the name alone, or NULL.
struct setting *find_setting(struct resolver *r, const char *name);
// The setting of a parameter of the strategy, `NAME=` or `strategy.NAME=`, or NULL.
struct setting *find_parameter_setting(struct resolver *r, const char *name);
void report_unused_settings(struct resolver *r);

// ---- microbatches.c ---------------------------------------------------------------------------
// When the batch and the axes that split it are known: completes what was told of a number of
// microbatches; gives the microbatch its size where the file does not.
void help_microbatches(struct resolver *r);
void default_microbatch(struct config *config);

// ---- the parts --------------------------------------------------------------------------------
void resolve_model(struct resolver *r, const struct found_item *found);
void resolve_device(struct resolver *r, const struct found_item *found);
// What it says of the host is for what is offloaded (W830).
void check_host_fields(struct resolver *r);
// Sizes are as written; mesh_finish takes them from the command line and checks the total.
void resolve_mesh(struct resolver *r, const struct found_item *found);
void finish_mesh(struct resolver *r, const struct found_item *found);
void resolve_train(struct resolver *r, const struct found_item *found);
void finish_train(struct resolver *r);
// What `reproducible` names behind `of`, as bits 1 << dimension; all, where it names nothing.
uint32_t read_dimensions(struct resolver *r, const struct ast_names *of);
void check_reproducible(struct resolver *r, const struct train_config *train);
void resolve_strategy(struct resolver *r, const struct found_item *found);
bool is_divisible(enum dimension dimension); // of ops, by a `split` that is compiled
// The atomic axes of a product, outermost first. False: reported.
bool resolve_axes(struct resolver *r, const struct ast_names *names, struct axis_list *list);
// A file of strategies with parameters: each is expanded on a mesh made of its parameters.
void check_strategy_alone(struct resolver *r, const struct found_item *found);

// ---- optimizers (resolve_optimizer.c) ---------------------------------------------------------
// On top of what `optimizer` is, of which it keeps what it does not say. `selects`: it is about a
// part of the model. False: reported, and it is none.
bool read_optimizer(struct resolver *r, const struct ast_value *value, bool selects,
                    struct optimizer_config *optimizer);
// What takes an average of parameters for a step of its own.
void read_outer_optimizer(struct resolver *r, const struct ast_value *value,
                          struct optimizer_config *out);
// `65536`, or `dynamic(initial = 65536, ...)`.
void read_loss_scale(struct resolver *r, const struct ast_value *value,
                     struct loss_scale_config *out);
// Something that stands among the arguments of an optimizer, be it in another system's words.
bool is_optimizer_argument(const char *name);
// False: no optimizer has such an argument, and that is reported.
bool check_optimizer_argument(struct resolver *r, struct ast_name name);

// ---- precision (resolve_precision.c) ----------------------------------------------------------
// What `precision` says while it is read. `said`: as a whole, at `span`.
struct precision_draft {
    struct precision_config *config;
    uint32_t cap_rules;
    bool said;
    struct span span;
};
// Nothing is said; `span` is where that is shown.
void begin_precision(struct precision_draft *, struct span span);
// A word for all uses, a block with a field for each, or one field by its path.
void take_precision(struct resolver *r, struct precision_draft *, const struct ast_field *field,
                    const struct origin *origin);

static inline struct origin origin_statement(struct span span) {
    return (struct origin){.kind = ORIGIN_STATEMENT, .span = span};
}

// ---- selectors (resolve_selector.c) -----------------------------------------------------------
// Roles from step number `first` of the path on, appended to `outer`. False: reported.
bool resolve_selector(struct resolver *r, const struct ast_path *path, uint32_t first,
                      const struct selector *outer, struct selector *out);

// ---- models (model_kinds.c) -------------------------------------------------------------------
enum { MODEL_FIELD_KINDS = 32 };
struct model_draft {
    struct model_config *config;
    struct field_said said[MODEL_FIELD_KINDS];
};
extern const struct field_row model_field_rows[];
extern const int n_model_field_rows;
enum model_kind {
#define MODEL_KIND(ID, ...) KIND_##ID,
#define OTHER_KIND(...)
#include "frontend/model_kinds.def"
#undef OTHER_KIND
#undef MODEL_KIND
    N_MODEL_KINDS
};
extern const char *const model_kind_words[N_MODEL_KINDS];
const struct model_config *kind_defaults(enum model_kind kind);
// What the draft leaves to be computed from its other sizes (resolve_model.c).
void derive_sizes(struct resolver *r, const struct model_draft *draft);

// ---- config.json (config_json.c) --------------------------------------------------------------
// Reads a Hugging Face configuration into the draft on top of its kind's defaults. False: reported.
bool read_config_json(struct resolver *r, const char *path, struct span from,
                      struct model_draft *draft);
// The same of a text that is a source already.
bool read_config_source(struct resolver *r, uint32_t source, struct model_draft *draft);

#endif
