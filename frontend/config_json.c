// A model from the config.json that Hugging Face's libraries write. A table says of every field
// whether it is used, harmless or must have one value; a field that the table does not have is an
// error that names it, since what is not understood may change the model.
#include "frontend/read.h"
#include "frontend/resolve.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum config_kind { KIND_OF_ANY, KIND_OF_GPT2, KIND_OF_LLAMA };
enum config_use {
    CONFIG_USED,
    CONFIG_CHOSEN,
    CONFIG_HARMLESS,
    CONFIG_DROPOUT,
    CONFIG_UNAPPLIED,
    CONFIG_MUST_BE,
    CONFIG_ROPE
};
static const struct config_row {
    enum config_kind kind;
    const char *key;
    enum config_use use;
    const char *argument;
} config_rows[] = {
#define CONFIG_FIELD(kind, key, use, argument) {KIND_OF_##kind, key, CONFIG_##use, argument},
#include "frontend/config_json.def"
#undef CONFIG_FIELD
};
enum { N_CONFIG_ROWS = sizeof config_rows / sizeof *config_rows };

// Words of activation_function.
static const struct {
    const char *word;
    enum activation_kind activation;
} config_words[] = {
    {"gelu_new", ACTIVATION_GELU_TANH},
    {"gelu_pytorch_tanh", ACTIVATION_GELU_TANH},
    {"gelu", ACTIVATION_GELU_ERF},
};

struct config_reader {
    struct resolver *r;
    uint32_t source; // the config.json itself
    struct model_draft *draft;
    enum config_kind kind;
};

// Where a key stands, for messages: its first appearance in quotes with a colon behind.
static struct span key_span(const struct config_reader *reader, const char *key) {
    const struct source_file *file = &reader->r->diagnostics->sources->items[reader->source];
    size_t length = strlen(key);
    // A key may be empty, so that a step of its length would be none.
    for (const char *at = file->text; *at && (at = strstr(at, key)); at++) {
        uint32_t begin = (uint32_t)(at - file->text), end = begin + (uint32_t)length;
        if (begin == 0 || at[-1] != '"' || at[length] != '"')
            continue;
        if (at[length + 1 + strspn(at + length + 1, " \t\r\n")] == ':')
            return span_of(reader->source, begin - 1, end + 1);
    }
    return span_of(reader->source, 0, 1);
}

// One form for every value that cannot be used, at its key.
static void report_value(const struct config_reader *reader, const char *key, const char *wanted) {
    report(reader->r->diagnostics, E112, key_span(reader, key), "`%s` must be %s", key, wanted);
}

// ---- values -----------------------------------------------------------------------------------

static bool is_whole(enum field_kind kind) {
    return kind == FIELD_SIZE || kind == FIELD_LAYERS || kind == FIELD_HEAD_DIM ||
           kind == FIELD_COUNT;
}

// Writes the value into the model's member by the kind of the model's own field. JSON's integers
// are exact; a number with a fraction is none, even 4.0: no writer of such files prints sizes so.
static bool take_number(const struct config_reader *reader, const char *key, const json_t *value,
                        const struct field_row *row) {
    void *member = (char *)reader->draft->config + row->offset;
    if (row->kind == FIELD_FLAG) {
        if (json_is_boolean(value))
            *(bool *)member = json_is_true(value);
        else
            report_value(reader, key, "true or false");
        return json_is_boolean(value);
    }
    if (is_whole(row->kind)) {
        json_int_t number = json_integer_value(value);
        bool good = json_is_integer(value) && number >= 1 && number <= (json_int_t)LIMIT_SIZE;
        if (good)
            *(int64_t *)member = number;
        else
            report_value(reader, key,
                         arena_format(reader->r->arena, "a whole number from 1 to 2^%d",
                                      (int)log2((double)LIMIT_SIZE)));
        return good;
    }
    double number = json_number_value(value), end = row->kind == FIELD_SHARE ? 1 : 1e30;
    bool good = json_is_number(value) && number >= 0 && number < end;
    if (good)
        *(double *)member = number;
    else
        report_value(reader, key,
                     row->kind == FIELD_SHARE ? "a number from 0 to below 1"
                                              : "a number that is not negative");
    return good;
}

// Into the draft, by the row of the model's own field that the table names: a config.json and a
// block write the same members with the same bounds.
static void take_used(const struct config_reader *reader, const struct config_row *config_row,
                      const json_t *value) {
    int i = find_field(model_field_rows, n_model_field_rows, config_row->argument);
    if (!take_number(reader, config_row->key, value, &model_field_rows[i]))
        return;
    reader->draft->said[i].said = true;
    // Kept apart from what the file itself says, which overrides it.
    reader->draft->said[i].origin = (struct origin){
        .kind = ORIGIN_DEFAULT,
        .span = key_span(reader, config_row->key),
        .text = arena_format(reader->r->arena, "`%s` of the config.json", config_row->key)};
}

// Names of activation functions are the other library's, not the language's.
static void take_word(const struct config_reader *reader, const char *key, const json_t *value) {
    const char *word = json_is_string(value) ? json_string_value(value) : "";
    for (size_t i = 0; i < sizeof config_words / sizeof *config_words; i++)
        if (strcmp(word, config_words[i].word) == 0) {
            reader->draft->config->activation = config_words[i].activation;
            int row = find_field(model_field_rows, n_model_field_rows, "activation");
            reader->draft->said[row].said = true;
            reader->draft->said[row].origin =
                (struct origin){.kind = ORIGIN_DEFAULT, .span = key_span(reader, key), .text = key};
            return;
        }
    report_value(reader, key, "\"gelu_new\", \"gelu_pytorch_tanh\" or \"gelu\"");
}

// Compared as JSON text, so that `1` and `true` are different values.
static void check_fixed(const struct config_reader *reader, const struct config_row *row,
                        const json_t *value) {
    char *text = json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT);
    if (!text || strcmp(text, row->argument) != 0)
        report_value(
            reader, row->key,
            arena_format(reader->r->arena, "%s; nothing else is understood", row->argument));
    free(text);
}

// Of what the embedding gives, and of what attention and the feed-forward part add to the stream:
// one rate for all, as published files have it.
static void take_dropout(const struct config_reader *reader, const struct config_row *config_row,
                         const json_t *value) {
    int i = find_field(model_field_rows, n_model_field_rows, config_row->argument);
    struct field_said before = reader->draft->said[i];
    double rate = reader->draft->config->dropout;
    take_used(reader, config_row, value);
    if (before.said && reader->draft->config->dropout != rate)
        report_value(reader, config_row->key,
                     arena_format(reader->r->arena, "%g, as %s: one rate holds for all", rate,
                                  before.origin.text));
}

// The published files of gpt2 drop attention's probabilities too; refusing them would help nobody,
// hiding it neither.
static void warn_unapplied(const struct config_reader *reader, const char *key,
                           const json_t *value) {
    if (json_is_number(value) && json_number_value(value) == 0)
        return;
    report(reader->r->diagnostics, W810, key_span(reader, key),
           "`%s` is not applied: probabilities of attention are never dropped", key);
}

// ---- rope_scaling -----------------------------------------------------------------------------

// The four numbers of Llama 3.1's scaling, all needed, none negative.
static bool read_factor(const struct config_reader *reader, const json_t *table, const char *key,
                        double *out) {
    const json_t *value = json_object_get(table, key);
    double number = json_number_value(value);
    if (!json_is_number(value) || !(number > 0) || number > 1e15) {
        report_value(reader, key, "a number above 0 in `rope_scaling`");
        return false;
    }
    *out = number;
    return true;
}

// Two spellings of the type's key are in use. Other kinds of scaling change the model in ways that
// nothing here computes.
static void take_rope(const struct config_reader *reader, const json_t *table) {
    if (!json_is_object(table)) {
        report_value(reader, "rope_scaling", "a table or null");
        return;
    }
    const json_t *type = json_object_get(table, "rope_type");
    const char *word = json_string_value(type ? type : json_object_get(table, "type"));
    if (word && strcmp(word, "default") == 0)
        return;
    if (!word || strcmp(word, "llama3") != 0) {
        report_value(reader, "rope_scaling", "of the type \"llama3\" or \"default\"");
        return;
    }
    static const char *const keys[] = {"rope_type",        "type",
                                       "factor",           "low_freq_factor",
                                       "high_freq_factor", "original_max_position_embeddings"};
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)table, key, value) {
        bool known = false;
        for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
            known |= strcmp(key, keys[i]) == 0;
        if (!known)
            report(reader->r->diagnostics, E113, key_span(reader, key),
                   "`%s` of `rope_scaling` is not understood", key);
    }
    struct rope_scaling scaling = {0};
    double positions = 0;
    if (read_factor(reader, table, keys[2], &scaling.factor) &&
        read_factor(reader, table, keys[3], &scaling.low_frequency_factor) &&
        read_factor(reader, table, keys[4], &scaling.high_frequency_factor) &&
        read_factor(reader, table, keys[5], &positions)) {
        scaling.original_positions = (int64_t)positions;
        if (scaling.high_frequency_factor <= scaling.low_frequency_factor)
            report_value(reader, keys[4], "above `low_freq_factor`");
        reader->draft->config->rope_scaling = scaling;
    }
}

// ---- the whole file ---------------------------------------------------------------------------

// Rows of the other kind do not count: `n_layer` in a llama's file is not understood.
static const struct config_row *find_row(const struct config_reader *reader, const char *key) {
    for (int i = 0; i < N_CONFIG_ROWS; i++)
        if ((config_rows[i].kind == KIND_OF_ANY || config_rows[i].kind == reader->kind) &&
            strcmp(config_rows[i].key, key) == 0)
            return &config_rows[i];
    return NULL;
}

// What the table says of the field. `null` is how these files leave a field out, whatever its kind.
static void take_entry(const struct config_reader *reader, const char *key, const json_t *value) {
    const struct config_row *row = find_row(reader, key);
    if (json_is_null(value))
        return;
    if (!row) {
        struct diagnostic *d = report(reader->r->diagnostics, E113, key_span(reader, key),
                                      "the field `%s` is not understood", key);
        diagnostic_help(d, "if the model does not depend on it, remove it from the config.json");
        return;
    }
    switch (row->use) {
    case CONFIG_USED:
        take_used(reader, row, value);
        break;
    case CONFIG_CHOSEN:
        take_word(reader, key, value);
        break;
    case CONFIG_HARMLESS:
        break;
    case CONFIG_DROPOUT:
        take_dropout(reader, row, value);
        break;
    case CONFIG_UNAPPLIED:
        warn_unapplied(reader, key, value);
        break;
    case CONFIG_MUST_BE:
        check_fixed(reader, row, value);
        break;
    case CONFIG_ROPE:
        take_rope(reader, value);
        break;
    }
}

// First of all, since it decides which fields there are and what the others default to.
static bool find_kind(struct config_reader *reader, const json_t *root) {
    const char *type = json_string_value(json_object_get(root, "model_type"));
    if (type && strcmp(type, "gpt2") == 0) {
        reader->kind = KIND_OF_GPT2;
        *reader->draft->config = *family_defaults(FAMILY_GPT2);
        return true;
    }
    if (type && strcmp(type, "llama") == 0) {
        reader->kind = KIND_OF_LLAMA;
        *reader->draft->config = *family_defaults(FAMILY_LLAMA);
        return true;
    }
    struct span span = key_span(reader, "model_type");
    struct diagnostics *diagnostics = reader->r->diagnostics;
    struct diagnostic *d =
        type
            ? report(diagnostics, E112, span, "models of the type `%.64s` are not understood", type)
            : report(diagnostics, E112, span, "the config.json has no `model_type`");
    diagnostic_help(d, "`gpt2` and `llama` are understood");
    return false;
}

// The kind of model first, then every field in the order of the file, so that messages come in it.
static bool read_object(struct config_reader *reader, const json_t *root) {
    uint32_t errors_before = reader->r->diagnostics->n_errors;
    if (!json_is_object(root)) {
        report(reader->r->diagnostics, E112, span_of(reader->source, 0, 1),
               "the config.json is not a table of fields");
        return false;
    }
    if (!find_kind(reader, root))
        return false;
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)root, key, value) take_entry(reader, key, value);
    return reader->r->diagnostics->n_errors == errors_before;
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
    struct config_reader reader = {.r = r, .draft = draft};
    bool good = read_text(r->arena, r->diagnostics, path, bytes, length, from, &reader.source);
    free(bytes);
    if (!good)
        return false;
    const struct source_file *file = &r->diagnostics->sources->items[reader.source];
    json_error_t error;
    json_t *root = json_loadb(file->text, file->length, JSON_REJECT_DUPLICATES, &error);
    if (!root) {
        uint32_t at = error.position < 0 ? 0 : (uint32_t)error.position;
        at = at > file->length ? file->length : at;
        report(r->diagnostics, E112, span_of(reader.source, at ? at - 1 : 0, at),
               "this is not JSON: %s", error.text);
        return false;
    }
    good = read_object(&reader, root);
    json_decref(root);
    return good;
}
