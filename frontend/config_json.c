// A model from the config.json that Hugging Face's libraries write. A table says of every field
// whether it is used, harmless or must have one value; a field that the table does not have is an
// error that names it, since what is not understood may change the model.
#include "frontend/config_json.h"

#include <stdlib.h>
#include <string.h>

#include "frontend/read.h"

const struct config_row config_rows[] = {
#define CONFIG_FIELD(kinds, key, use, argument) {KIND_OF_##kinds, key, CONFIG_##use, argument},
#define CONFIG_DEFAULT(...)
#define CONFIG_WRITTEN(...)
#include "frontend/config_json.def"
#undef CONFIG_WRITTEN
#undef CONFIG_DEFAULT
#undef CONFIG_FIELD
};
const int n_config_rows = sizeof config_rows / sizeof *config_rows;

static const struct config_text default_rows[] = {
#define CONFIG_FIELD(...)
#define CONFIG_DEFAULT(kinds, key, text) {KIND_OF_##kinds, key, text},
#define CONFIG_WRITTEN(...)
#include "frontend/config_json.def"
#undef CONFIG_WRITTEN
#undef CONFIG_DEFAULT
#undef CONFIG_FIELD
};
enum { N_DEFAULT_ROWS = sizeof default_rows / sizeof *default_rows };

// The words of activation functions; of several for one function the first is written.
const struct config_word config_words[] = {
    {"gelu_new", ACTIVATION_GELU_TANH},
    {"gelu_pytorch_tanh", ACTIVATION_GELU_TANH},
    {"gelu", ACTIVATION_GELU_ERF},
};
const int n_config_words = sizeof config_words / sizeof *config_words;

// ---- fields of one meaning --------------------------------------------------------------------

static struct config_place own(const char *key) {
    return (struct config_place){NULL, key};
}

// Names of activation functions are the other library's, not the language's.
static void take_word(const struct config_reader *reader, const char *key, const json_t *value) {
    const char *word = json_is_string(value) ? json_string_value(value) : "";
    for (int i = 0; i < n_config_words; i++)
        if (strcmp(word, config_words[i].word) == 0) {
            reader->draft->config->activation = config_words[i].activation;
            say_field(reader, own(key),
                      find_field(model_field_rows, n_model_field_rows, "activation"));
            return;
        }
    report_config_value(reader, own(key), "\"gelu_new\", \"gelu_pytorch_tanh\" or \"gelu\"");
}

static void check_fixed(const struct config_reader *reader, const struct config_row *row,
                        const json_t *value) {
    if (!is_config_value(value, row->argument))
        report_config_value(
            reader, own(row->key),
            arena_format(reader->r->arena, "%s; nothing else is understood", row->argument));
}

// A second name for what another field says.
static void check_same(const struct config_reader *reader, const struct config_row *row,
                       const json_t *value) {
    const json_t *other = json_object_get(reader->root, row->argument);
    if (other && !json_is_null(other) && !json_equal(other, value))
        report_config_value(reader, own(row->key),
                            arena_format(reader->r->arena, "what `%s` is", row->argument));
}

// Rows of other kinds do not count: `n_layer` in a llama's file is not understood.
const struct config_row *find_config_row(enum model_kind kind, const char *key) {
    for (int i = 0; i < n_config_rows; i++)
        if (config_rows[i].kinds >> kind & 1 && strcmp(config_rows[i].key, key) == 0)
            return &config_rows[i];
    return NULL;
}

// The narrower part leaves the other parts as they are.
static void take_biases(const struct config_reader *reader, const struct config_row *row,
                        const json_t *value) {
    enum biases *biases = &reader->draft->config->biases;
    enum biases part = biases_sets[table_find(biases_words, N_BIASES_WORDS, row->argument)];
    if (!json_is_boolean(value)) {
        report_config_value(reader, own(row->key), "true or false");
        return;
    }
    *biases = (enum biases)(json_is_true(value) ? *biases | part : *biases & ~part);
    say_field(reader, own(row->key), find_field(model_field_rows, n_model_field_rows, "biases"));
}

// ---- layers that see a part of what is before them --------------------------------------------

// Some kinds have a size of the window in any case, and a switch.
static bool is_switched_on(const struct config_reader *reader, const struct config_row *row) {
    return row->use != CONFIG_WINDOW ||
           json_is_true(json_object_get(reader->root, "use_sliding_window"));
}

static bool has_default(const struct config_reader *reader, const char *key) {
    for (int i = 0; i < N_DEFAULT_ROWS; i++)
        if (default_rows[i].kinds >> reader->kind & 1 && strcmp(default_rows[i].key, key) == 0)
            return true;
    return false;
}

// Whether attention has a window, by what the file says or by what it leaves out.
static bool has_window(const struct config_reader *reader) {
    const struct config_row *row = find_config_row(reader->kind, "sliding_window");
    const json_t *said = row ? json_object_get(reader->root, row->key) : NULL;
    return row && is_switched_on(reader, row) &&
           (said ? json_is_integer(said) : has_default(reader, row->key));
}

// One word for each layer.
static void check_layer_types(const struct config_reader *reader, const char *key,
                              const json_t *types) {
    if (!json_is_array(types)) {
        report_config_value(reader, own(key), "a list");
        return;
    }
    for (size_t i = 0; i < json_array_size(types); i++) {
        const char *word = json_string_value(json_array_get(types, i));
        if (word && (strcmp(word, "full_attention") == 0 ||
                     (strcmp(word, "sliding_attention") == 0 && has_window(reader))))
            continue;
        struct diagnostic *d =
            word ? report(reader->r->diagnostics, E112, config_span(reader, own(key)),
                          "layers of the type `%.64s` are not built", word)
                 : report_config_value(reader, own(key), "a list of words");
        diagnostic_help(d, "`full_attention` is");
        return;
    }
    const json_t *layers = json_object_get(reader->root, "num_hidden_layers");
    if (json_is_integer(layers) && json_integer_value(layers) != (json_int_t)json_array_size(types))
        report_config_value(reader, own(key), "as long as `num_hidden_layers` says");
}

// Takes the rate for what the embedding gives, or for what attention and the feed-forward part add
// to the stream: one rate holds for all, as published files have it.
static void take_dropout(const struct config_reader *reader, const struct config_row *config_row,
                         const json_t *value) {
    int i = find_field(model_field_rows, n_model_field_rows, config_row->argument);
    struct field_said before = reader->draft->said[i];
    double rate = reader->draft->config->dropout;
    if (take_config_value(reader, own(config_row->key), value, config_row->argument) &&
        before.said && reader->draft->config->dropout != rate)
        report_config_value(reader, own(config_row->key),
                            arena_format(reader->r->arena, "%g, as %s: one rate holds for all",
                                         rate, before.origin.text));
}

// The published files of gpt2 drop attention's probabilities too; refusing them would help nobody,
// hiding it neither.
static void warn_unapplied(const struct config_reader *reader, const char *key,
                           const json_t *value) {
    if (json_is_number(value) && json_number_value(value) == 0)
        return;
    report(reader->r->diagnostics, W810, config_span(reader, own(key)),
           "`%s` is not applied: probabilities of attention are never dropped", key);
}

// ---- the whole file ---------------------------------------------------------------------------

static void take_row(struct config_reader *reader, const struct config_row *row,
                     const json_t *value) {
    switch (row->use) {
    case CONFIG_USED:
        take_config_value(reader, own(row->key), value, row->argument);
        break;
    case CONFIG_CHOSEN:
        take_word(reader, row->key, value);
        break;
    case CONFIG_HARMLESS:
    case CONFIG_KEPT: // take_kept's, of a whole file
        break;
    case CONFIG_DROPOUT:
        take_dropout(reader, row, value);
        break;
    case CONFIG_UNAPPLIED:
        warn_unapplied(reader, row->key, value);
        break;
    case CONFIG_MUST_BE:
        check_fixed(reader, row, value);
        break;
    case CONFIG_BIASES:
        take_biases(reader, row, value);
        break;
    case CONFIG_FLAG:
        if (!json_is_boolean(value))
            report_config_value(reader, own(row->key), "true or false");
        break;
    case CONFIG_WINDOW:
        if (is_switched_on(reader, row))
            take_config_value(reader, own(row->key), value, row->argument);
        break;
    case CONFIG_SAME:
        check_same(reader, row, value);
        break;
    case CONFIG_LAYER_TYPES:
        check_layer_types(reader, row->key, value);
        break;
    case CONFIG_THETA:
        take_rope_theta(reader, own(row->key), value);
        break;
    case CONFIG_SCALING:
    case CONFIG_ROPE:
        take_rope_table(reader, row->key, value);
        break;
    }
}

// What the table says of the field. `null` is how these files leave a field out, whatever its kind.
static void take_entry(struct config_reader *reader, const char *key, const json_t *value) {
    if (json_is_null(value))
        return;
    const struct config_row *row = find_config_row(reader->kind, key);
    if (row)
        take_row(reader, row, value);
    else
        report_config_key(reader, own(key));
}

// What the library that wrote the file takes where the file says nothing.
static void take_defaults(struct config_reader *reader) {
    for (int i = 0; i < N_DEFAULT_ROWS; i++) {
        const struct config_text *row = &default_rows[i];
        if (!(row->kinds & 1u << reader->kind) || json_object_get(reader->root, row->key))
            continue;
        json_t *value = json_loads(row->text, JSON_DECODE_ANY, NULL);
        take_entry(reader, row->key, value);
        json_decref(value);
    }
}

// What is nothing to training, and something to whoever reads a file that is written beside what
// was trained: which tokens end a text.
static const char *take_kept(const struct config_reader *reader) {
    json_t *kept = json_object();
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)reader->root, key, value) {
        const struct config_row *row = find_config_row(reader->kind, key);
        if (row && (row->use == CONFIG_KEPT || row->use == CONFIG_LAYER_TYPES))
            json_object_set(kept, key, value);
    }
    char *text = json_object_size(kept) ? json_dumps(kept, JSON_COMPACT) : NULL;
    const char *copy = text ? arena_string(reader->r->arena, text, strlen(text)) : NULL;
    free(text);
    json_decref(kept);
    return copy;
}

// Every field in the order of the file, so that messages come in it.
static void take_entries(struct config_reader *reader) {
    const char *key;
    json_t *value;
    *reader->draft->config = *kind_defaults(reader->kind);
    take_defaults(reader);
    json_object_foreach((json_t *)reader->root, key, value) take_entry(reader, key, value);
}

// Whether all that the file says is what a file of the kind could say.
static bool reads_as(const struct config_reader *reader, enum model_kind kind) {
    struct resolver scratch = *reader->r;
    struct model_config config;
    struct model_draft draft = {.config = &config};
    struct config_reader other = {.r = &scratch,
                                  .source = reader->source,
                                  .root = reader->root,
                                  .draft = &draft,
                                  .kind = kind};
    scratch.diagnostics = diagnostics_new(scratch.arena, reader->r->diagnostics->sources);
    take_entries(&other);
    return scratch.diagnostics->n_errors == 0 && config.layers && config.hidden && config.heads;
}

static const struct {
    const char *text, *why;
} other_kinds[] = {
#define MODEL_KIND(...)
#define OTHER_KIND(text, why) {text, why},
#include "frontend/model_kinds.def"
#undef OTHER_KIND
#undef MODEL_KIND
};

static const char *all_kinds(struct arena *arena) {
    const char *words = "";
    for (int i = 0; i < N_MODEL_KINDS; i++)
        words = arena_format(arena, "%s%s`%s`", words,
                             i == 0                   ? ""
                             : i + 1 == N_MODEL_KINDS ? " and "
                                                      : ", ",
                             model_kind_words[i]);
    return words;
}

// Reports a kind that is not built. Where nothing else is known of it, its fields tell whether it
// could be a llama.
static void report_kind(const struct config_reader *reader, const char *type) {
    struct diagnostics *diagnostics = reader->r->diagnostics;
    struct span span = config_span(reader, own("model_type"));
    const char *kinds = all_kinds(reader->r->arena);
    if (!type) {
        struct diagnostic *d =
            report(diagnostics, E112, span, "the config.json has no `model_type`");
        diagnostic_help(d, "%s are understood", kinds);
        return;
    }
    struct diagnostic *d =
        report(diagnostics, E112, span, "models of the type `%.64s` are not built", type);
    for (size_t i = 0; i < sizeof other_kinds / sizeof *other_kinds; i++)
        if (strcmp(type, other_kinds[i].text) == 0) {
            diagnostic_say(d, "%s", other_kinds[i].why);
            diagnostic_help(d, "%s are", kinds);
            return;
        }
    if (reads_as(reader, KIND_LLAMA))
        diagnostic_help(d, "all its fields are a llama's: if it computes what a llama does, write "
                           "`\"model_type\": \"llama\"`");
    else
        diagnostic_help(d, "%s are", kinds);
}

// First of all, since it decides which fields there are and what the others default to.
static bool find_kind(struct config_reader *reader) {
    const char *type = json_string_value(json_object_get(reader->root, "model_type"));
    int kind = type ? table_find(model_kind_words, N_MODEL_KINDS, type) : -1;
    if (kind >= 0) {
        reader->kind = (enum model_kind)kind;
        return true;
    }
    report_kind(reader, type);
    return false;
}

static bool read_object(struct config_reader *reader) {
    uint32_t errors_before = reader->r->diagnostics->n_errors;
    if (!json_is_object(reader->root)) {
        report(reader->r->diagnostics, E112, span_of(reader->source, 0, 1),
               "the config.json is not a table of fields");
        return false;
    }
    if (!find_kind(reader))
        return false;
    take_entries(reader);
    reader->draft->config->kept_json = take_kept(reader);
    return reader->r->diagnostics->n_errors == errors_before;
}

bool read_config_source(struct resolver *r, uint32_t source, struct model_draft *draft) {
    const struct source_file *file = &r->diagnostics->sources->items[source];
    json_error_t error;
    json_t *root = json_loadb(file->text, file->length, JSON_REJECT_DUPLICATES, &error);
    if (!root) {
        uint32_t at = error.position < 0 ? 0 : (uint32_t)error.position;
        at = at > file->length ? file->length : at;
        report(r->diagnostics, E112, span_of(source, at ? at - 1 : 0, at), "this is not JSON: %s",
               error.text);
        return false;
    }
    struct config_reader reader = {.r = r, .source = source, .root = root, .draft = draft};
    bool good = read_object(&reader);
    json_decref(root);
    return good;
}

// The file becomes a source, so that messages point into it. jansson bounds its own nesting.
bool read_config_json(struct resolver *r, const char *path, struct span from,
                      struct model_draft *draft) {
    size_t length;
    char *bytes = read_path(r->arena, r->diagnostics, path, LIMIT_CONFIG_JSON_BYTES, from, &length);
    if (!bytes)
        return false;
    if (length > LIMIT_CONFIG_JSON_BYTES) {
        report(r->diagnostics, E112, from, "`%s` is larger than %d kiB", path,
               LIMIT_CONFIG_JSON_BYTES >> 10);
        free(bytes);
        return false;
    }
    uint32_t source;
    bool good = read_text(r->arena, r->diagnostics, path, bytes, length, from, &source);
    free(bytes);
    return good && read_config_source(r, source, draft);
}
