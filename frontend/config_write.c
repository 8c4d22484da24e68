// The config.json of a model, for whoever reads the parameters that training leaves. The table that
// says how a field is read says how it is written, too; and what was written is read back: if that
// is another model, the kind cannot say this one, and the next is tried.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "frontend/config_json.h"

struct config_writer {
    struct arena *arena;
    const struct model_config *model;
    enum model_kind kind;
    const json_t *kept; // of the file that the model came from; NULL: nothing
    const char *text;
};

static const char *const architectures[N_MODEL_KINDS] = {
#define MODEL_KIND(ID, text, architecture, ...) [KIND_##ID] = (architecture),
#define OTHER_KIND(...)
#include "frontend/model_kinds.def"
#undef OTHER_KIND
#undef MODEL_KIND
};

static const struct config_text written_rows[] = {
#define CONFIG_FIELD(...)
#define CONFIG_DEFAULT(...)
#define CONFIG_WRITTEN(kinds, key, text) {KIND_OF_##kinds, key, text},
#include "frontend/config_json.def"
#undef CONFIG_WRITTEN
#undef CONFIG_DEFAULT
#undef CONFIG_FIELD
};
enum { N_WRITTEN_ROWS = sizeof written_rows / sizeof *written_rows };

// ---- values -----------------------------------------------------------------------------------

const char *real_json(struct arena *arena, double value) {
    char digits[REAL_TEXT_BYTES];
    real_text(value, digits);
    bool whole = value == floor(value) && fabs(value) < 1e15;
    return whole ? arena_format(arena, "%.1f", value) : arena_format(arena, "%s", digits);
}

static const char *flag_json(bool flag) {
    return flag ? "true" : "false";
}

// A size that is 0 is one that the model does not have.
static const char *field_json(const struct config_writer *writer, const char *field) {
    const struct field_row *row =
        &model_field_rows[find_field(model_field_rows, n_model_field_rows, field)];
    const void *member = (const char *)writer->model + row->offset;
    switch (row->kind) {
    case FIELD_FLAG:
        return flag_json(*(const bool *)member);
    case FIELD_POSITIVE:
    case FIELD_SHARE:
        return real_json(writer->arena, *(const double *)member);
    default: {
        int64_t size = *(const int64_t *)member;
        return size ? arena_format(writer->arena, "%lld", (long long)size) : "null";
    }
    }
}

static const char *word_json(const struct config_writer *writer) {
    for (int i = 0; i < n_config_words; i++)
        if (config_words[i].activation == writer->model->activation)
            return arena_format(writer->arena, "\"%s\"", config_words[i].word);
    return "null";
}

static const char *biases_json(const struct config_writer *writer, const char *part) {
    enum biases set = biases_sets[table_find(biases_words, N_BIASES_WORDS, part)];
    return flag_json((writer->model->biases & set) == set);
}

// NULL: the row is of what is read alone.
static const char *row_json(const struct config_writer *writer, const struct config_row *row) {
    switch (row->use) {
    case CONFIG_USED:
    case CONFIG_DROPOUT:
    case CONFIG_THETA:
    case CONFIG_WINDOW:
        return field_json(writer, row->argument);
    case CONFIG_CHOSEN:
        return word_json(writer);
    case CONFIG_BIASES:
        return biases_json(writer, row->argument);
    case CONFIG_FLAG: // of a window, whether there is one
        return flag_json(writer->model->window != 0);
    case CONFIG_UNAPPLIED:
        return "0.0";
    case CONFIG_SCALING:
        return rope_scaling_json(writer->arena, &writer->model->rope_scaling);
    default:
        return NULL;
    }
}

// ---- the file ---------------------------------------------------------------------------------

static void write_entry(struct config_writer *writer, const char *key, const char *value) {
    writer->text = arena_format(writer->arena, "%s%s\n  \"%s\": %s", writer->text,
                                *writer->text ? "," : "{", key, value);
}

static bool is_of_kind(const struct config_writer *writer, unsigned kinds) {
    return kinds >> writer->kind & 1;
}

static void write_kept(struct config_writer *writer) {
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)writer->kept, key, value) {
        char *text = json_dumps(value, JSON_ENCODE_ANY);
        if (text)
            write_entry(writer, key, text);
        free(text);
    }
}

static void write_all(struct config_writer *writer, enum dtype parameters) {
    struct arena *arena = writer->arena;
    write_entry(writer, "architectures",
                arena_format(arena, "[\"%s\"]", architectures[writer->kind]));
    write_entry(writer, "model_type",
                arena_format(arena, "\"%s\"", model_kind_words[writer->kind]));
    for (int i = 0; i < n_config_rows; i++) {
        const char *value =
            is_of_kind(writer, config_rows[i].kinds) ? row_json(writer, &config_rows[i]) : NULL;
        if (value)
            write_entry(writer, config_rows[i].key, value);
    }
    for (int i = 0; i < N_WRITTEN_ROWS; i++)
        if (is_of_kind(writer, written_rows[i].kinds) &&
            !json_object_get(writer->kept, written_rows[i].key))
            write_entry(writer, written_rows[i].key, written_rows[i].text);
    write_kept(writer);
    // The name that transformers 4 has for it, which 5 reads, too.
    write_entry(writer, "torch_dtype", parameters == DTYPE_F64 ? "\"float64\"" : "\"float32\"");
    writer->text = arena_format(arena, "%s\n}\n", writer->text);
}

// Whether the text says the model. Of how it is trained (dropout, initial values, how long
// sequences may be) a file says what its kind has words for.
static bool says(const struct config_writer *writer) {
    struct source_files sources = {0};
    struct model_config config;
    struct model_draft draft = {.config = &config};
    struct resolver r = {.arena = writer->arena,
                         .diagnostics = diagnostics_new(writer->arena, &sources)};
    uint32_t source =
        source_add(&sources, writer->arena, "config.json", writer->text, strlen(writer->text));
    if (!read_config_source(&r, source, &draft))
        return false;
    derive_sizes(&r, &draft);
    // This family saves queries, keys and values as one tensor, however they are computed.
    if (config.family == FAMILY_GPT2)
        config.fused_qkv = writer->model->fused_qkv;
    return strcmp(model_text(writer->arena, &config), model_text(writer->arena, writer->model)) ==
           0;
}

// ---- what shapes do not show ------------------------------------------------------------------

static void add_unseen(struct config_writer *writer, const char *key, const char *value) {
    writer->text = arena_format(writer->arena, "%s%s%s %s", writer->text, *writer->text ? "; " : "",
                                key, value);
}

static const char *words_of_activation(const struct config_writer *writer) {
    const char *words = "";
    for (int i = 0; i < n_config_words; i++)
        if (config_words[i].activation == writer->model->activation)
            words = arena_format(writer->arena, "%s%s%s", words, *words ? "|" : "",
                                 config_words[i].word);
    return words;
}

static bool is_unseen(const struct config_row *row) {
    static const char *const fields[] = {"heads",    "kv_heads",   "head_dim",
                                         "norm_eps", "rope_theta", "activation"};
    bool names_field =
        row->use == CONFIG_USED || row->use == CONFIG_CHOSEN || row->use == CONFIG_THETA;
    return names_field && table_find(fields, sizeof fields / sizeof *fields, row->argument) >= 0;
}

// Rotary positions as a table has them, whatever the name of the table.
static void add_rotation(struct config_writer *writer) {
    json_t *table = json_loads(rope_scaling_json(writer->arena, &writer->model->rope_scaling),
                               JSON_DECODE_ANY, NULL);
    const char *type = json_string_value(json_object_get(table, "rope_type")), *key;
    json_t *value;
    add_unseen(writer, "rope.rope_theta", real_json(writer->arena, writer->model->rope_theta));
    add_unseen(writer, "rope.rope_type", type ? type : "default");
    add_unseen(writer, "rope.type", type ? type : "default");
    json_object_foreach(table, key, value) {
        if (json_is_number(value))
            add_unseen(writer, arena_format(writer->arena, "rope.%s", key),
                       real_json(writer->arena, json_number_value(value)));
    }
    json_decref(table);
}

static const char *unseen_of(struct config_writer writer) {
    writer.text = "";
    for (int i = 0; i < n_config_rows; i++) {
        const struct config_row *row = &config_rows[i];
        if (!is_of_kind(&writer, row->kinds) || !is_unseen(row))
            continue;
        add_unseen(&writer, row->key,
                   row->use == CONFIG_CHOSEN ? words_of_activation(&writer)
                                             : row_json(&writer, row));
    }
    if (writer.model->position == POSITION_ROPE)
        add_rotation(&writer);
    return writer.text;
}

// ---- of which kind ----------------------------------------------------------------------------

static struct config_json try_kind(struct config_writer writer, enum model_kind kind,
                                   enum dtype parameters) {
    writer.kind = kind;
    writer.text = "";
    write_all(&writer, parameters);
    if (!says(&writer))
        return (struct config_json){NULL, NULL};
    return (struct config_json){writer.text, unseen_of(writer)};
}

struct config_json frontend_config_json(struct arena *arena, const struct config *config) {
    struct model_config model = config->model;
    json_t *kept = model.kept_json ? json_loads(model.kept_json, 0, NULL) : NULL;
    const struct config_writer writer = {.arena = arena, .model = &model, .kept = kept};
    enum dtype parameters = config->train.precision.parameters;
    int own = table_find(model_kind_words, N_MODEL_KINDS, model.kind);
    // Where nothing bounds how long sequences may be, as long as they were.
    if (!model.sequence_limit)
        model.sequence_limit = config->train.sequence;
    struct config_json json = try_kind(writer, (enum model_kind)own, parameters);
    for (int kind = 0; kind < N_MODEL_KINDS && !json.text; kind++)
        json = try_kind(writer, (enum model_kind)kind, parameters);
    json_decref(kept);
    return json;
}
