// A config.json, between the files that read and write one. What the rest of the frontend calls is
// in frontend/resolve.h.
//
//   config_values.c  what is done with any value
//   config_json.c    the file, what is said of every field
//   config_rope.c    rotary positions, which such files say in several places
//   config_write.c   the file of a model, for who reads its weights
#ifndef PLACE_FRONTEND_CONFIG_JSON_H
#define PLACE_FRONTEND_CONFIG_JSON_H

#include <jansson.h>

#include "frontend/resolve.h"

// ---- the table (config_json.def) --------------------------------------------------------------

// Kinds of models whose files have a field.
enum config_kinds {
#define MODEL_KIND(ID, ...) KIND_OF_##ID = 1 << KIND_##ID,
#define OTHER_KIND(...)
#include "frontend/model_kinds.def"
#undef OTHER_KIND
#undef MODEL_KIND
    KIND_OF_ANY = (1 << N_MODEL_KINDS) - 1,
    KIND_OF_LLAMAS = KIND_OF_ANY & ~KIND_OF_GPT2,
    KIND_OF_SIBLINGS = KIND_OF_LLAMAS & ~KIND_OF_LLAMA,
    KIND_OF_BIASED = KIND_OF_LLAMA | KIND_OF_QWEN3, // where the file says so
    KIND_OF_QWENS = KIND_OF_QWEN2 | KIND_OF_QWEN3,
    KIND_OF_UNSWITCHED = KIND_OF_LLAMAS & ~KIND_OF_QWENS,
    KIND_OF_SCALED = KIND_OF_LLAMAS & ~KIND_OF_PHI3,
    KIND_OF_WINDOWED = KIND_OF_MISTRAL | KIND_OF_PHI3,
};
enum config_use {
    CONFIG_USED,
    CONFIG_CHOSEN,
    CONFIG_HARMLESS,
    CONFIG_KEPT,
    CONFIG_DROPOUT,
    CONFIG_UNAPPLIED,
    CONFIG_MUST_BE,
    CONFIG_BIASES,
    CONFIG_FLAG,
    CONFIG_WINDOW,
    CONFIG_SAME,
    CONFIG_LAYER_TYPES,
    CONFIG_THETA,
    CONFIG_SCALING,
    CONFIG_ROPE
};
struct config_row {
    unsigned kinds;
    const char *key;
    enum config_use use;
    const char *argument;
};
extern const struct config_row config_rows[];
extern const int n_config_rows;
// NULL: files of the kind have no such field.
const struct config_row *find_config_row(enum model_kind kind, const char *key);

struct config_text { // of some kinds, JSON
    unsigned kinds;
    const char *key, *text;
};
struct config_word { // of activation_function
    const char *word;
    enum activation_kind activation;
};
extern const struct config_word config_words[];
extern const int n_config_words;

// ---- reading ----------------------------------------------------------------------------------

// Where a file says a thing: `key`, or `key` of the table `table`.
struct config_place {
    const char *table; // NULL: the file's own
    const char *key;   // NULL: nowhere yet
};

struct config_reader {
    struct resolver *r;
    uint32_t source; // the config.json itself
    const json_t *root;
    struct model_draft *draft;
    enum model_kind kind;
    // Who has said what rotary positions are: a second one must say the same.
    struct config_place theta, scaling;
};

// ---- config_values.c --------------------------------------------------------------------------
// For messages. "`rope_theta` of `rope_parameters`"
struct span config_span(const struct config_reader *, struct config_place);
const char *config_place_text(const struct config_reader *, struct config_place);
// One form for every value that cannot be used, at its key: "`KEY` must be WANTED".
struct diagnostic *report_config_value(const struct config_reader *, struct config_place,
                                       const char *wanted);
// What is not known may change the model: it is told, and nothing is proposed that passes it over.
void report_config_key(const struct config_reader *, struct config_place);
// Takes the value into the model's field of that name, with the bounds of the field's own kind.
// False: reported.
bool take_config_value(const struct config_reader *, struct config_place, const json_t *value,
                       const char *field);
// Notes who says the model's field of that number.
void say_field(const struct config_reader *, struct config_place, int field);
// JSON's text of a value; numbers are compared by what they are, so 1.0 is 1.
bool is_config_value(const json_t *value, const char *text);
// A float as Python prints it, "10000.0": other readers would take "10000" for a whole number.
const char *real_json(struct arena *, double value);

// ---- config_rope.c ----------------------------------------------------------------------------
// The file's own `rope_theta`.
void take_rope_theta(struct config_reader *, struct config_place, const json_t *value);
// `rope_scaling`, or the `rope_parameters` of newer writers, with everything in it.
void take_rope_table(struct config_reader *, const char *name, const json_t *table);
// The table of a scaling, as JSON; "null": there is none.
const char *rope_scaling_json(struct arena *, const struct rope_scaling *);

#endif
