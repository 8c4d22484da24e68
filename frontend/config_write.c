// The config.json of a model, for whoever reads the parameters that training leaves. The table that
// says how a field is read says how it is written, too; and what was written is read back: if that
// is another model, the kind cannot say this one, and the next is tried.
#include <stdlib.h>
#include <string.h>

#include "frontend/config_json.h"

struct config_writer {
    struct arena *arena;
    const struct model_config *model;
    enum dtype parameters;
    const json_t *kept;  // of the file that the model came from; NULL: nothing
    const char *without; // a field that is left out; NULL: none
    enum model_kind kind;
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
    if (!writer->without || strcmp(key, writer->without) != 0)
        writer->text = arena_format(writer->arena, "%s%s\"%s\": %s", writer->text,
                                    *writer->text ? ",\n  " : "{ ", key, value);
}

static bool is_of_kind(const struct config_writer *writer, unsigned kinds) {
    return kinds >> writer->kind & 1;
}

// A token by number, or some.
static bool is_in_vocabulary(const struct config_writer *writer, const json_t *value) {
    size_t i;
    json_t *item;
    json_array_foreach((json_t *)value, i, item) if (!is_in_vocabulary(writer, item)) return false;
    return !json_is_integer(value) ||
           (json_integer_value(value) >= 0 && json_integer_value(value) < writer->model->vocab);
}

static bool ends_with(const char *text, const char *end) {
    size_t n = strlen(text), m = strlen(end);
    return n >= m && strcmp(text + n - m, end) == 0;
}

// Whether it still holds of a model that may have been changed since.
static bool still_holds(const struct config_writer *writer, const char *key, const json_t *value) {
    const struct config_row *row = find_config_row(writer->kind, key);
    if (!row)
        return false;
    if (row->use == CONFIG_LAYER_TYPES)
        return json_is_null(value) ||
               (json_int_t)json_array_size(value) == (json_int_t)writer->model->layers;
    return !ends_with(key, "token_id") || is_in_vocabulary(writer, value);
}

static const json_t *kept_value(const struct config_writer *writer, const char *key) {
    const json_t *value = json_object_get(writer->kept, key);
    return value && still_holds(writer, key, value) ? value : NULL;
}

static void write_kept(struct config_writer *writer) {
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)writer->kept, key, value) {
        char *text = still_holds(writer, key, value) ? json_dumps(value, JSON_ENCODE_ANY) : NULL;
        if (text)
            write_entry(writer, key, text);
        free(text);
    }
}

static void write_all(struct config_writer *writer) {
    struct arena *arena = writer->arena;
    writer->text = "";
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
        if (is_of_kind(writer, written_rows[i].kinds) && !kept_value(writer, written_rows[i].key))
            write_entry(writer, written_rows[i].key, written_rows[i].text);
    write_kept(writer);
    // The name that transformers 4 has for it, which 5 reads, too.
    static const char *const torch_names[] = {[DTYPE_F32] = "\"float32\"",
                                              [DTYPE_F64] = "\"float64\"",
                                              [DTYPE_BF16] = "\"bfloat16\"",
                                              [DTYPE_F16] = "\"float16\""};
    write_entry(writer, "torch_dtype", torch_names[writer->parameters]);
    writer->text = arena_format(arena, "%s\n}\n", writer->text);
}

// Whether the text says the function that the model is, of sequences that its window holds. Of how
// it is trained (dropout, initial values, how long sequences may be) a file says what its kind has
// words for.
static bool says(const struct config_writer *writer, struct model_config *config) {
    struct source_files sources = {0};
    struct model_draft draft = {.config = config};
    struct resolver r = {.arena = writer->arena,
                         .diagnostics = diagnostics_new(writer->arena, &sources)};
    uint32_t source =
        source_add(&sources, writer->arena, "config.json", writer->text, strlen(writer->text));
    if (!read_config_source(&r, source, &draft) || !config->hidden || !config->heads)
        return false;
    derive_sizes(&r, &draft);
    // This family saves queries, keys and values as one tensor, however they are computed.
    if (config->family == FAMILY_GPT2)
        config->fused_qkv = writer->model->fused_qkv;
    return strcmp(model_text(writer->arena, config), model_text(writer->arena, writer->model)) == 0;
}

static bool can_say(struct config_writer *writer, enum model_kind kind,
                    struct model_config *config) {
    writer->kind = kind;
    write_all(writer);
    return says(writer, config);
}

// ---- what shapes do not show ------------------------------------------------------------------

struct unseen {
    const struct config_writer *writer;
    const char *fields;
};

static void add_unseen(struct unseen *unseen, const char *name, const char *value) {
    unseen->fields = arena_format(unseen->writer->arena, "%s%s%s %s", unseen->fields,
                                  *unseen->fields ? "; " : "", name, value);
}

// The words of all kinds whose files can say the model.
static void add_kinds(struct unseen *unseen) {
    struct config_writer other = *unseen->writer;
    struct model_config unused;
    const char *words = "";
    for (int kind = 0; kind < N_MODEL_KINDS; kind++)
        if (can_say(&other, (enum model_kind)kind, &unused))
            words = arena_format(other.arena, "%s%s%s", words, *words ? "|" : "",
                                 model_kind_words[kind]);
    add_unseen(unseen, "model_type", words);
}

static const char *words_of_activation(const struct config_writer *writer) {
    const char *words = "";
    for (int i = 0; i < n_config_words; i++)
        if (config_words[i].activation == writer->model->activation)
            words = arena_format(writer->arena, "%s%s%s", words, *words ? "|" : "",
                                 config_words[i].word);
    return words;
}

static bool is_unseen_field(const char *field) {
    static const char *const fields[] = {"heads",    "kv_heads",   "head_dim",
                                         "norm_eps", "rope_theta", "activation"};
    return table_find(fields, sizeof fields / sizeof *fields, field) >= 0;
}

// Where a file that leaves the field out says another model, its name ends in a sign.
static void add_said(struct unseen *unseen, const char *key, const char *name, const char *value) {
    struct config_writer other = *unseen->writer;
    struct model_config unused;
    other.without = key;
    bool may_lack = can_say(&other, other.kind, &unused);
    add_unseen(unseen, arena_format(other.arena, "%s%s", name, may_lack ? "" : "!"), value);
}

// A word or a number that nothing else may be; null: it is a table.
static const char *fixed_value(const struct config_writer *writer, const char *json) {
    size_t n = strlen(json);
    return json[0] == '{'   ? NULL
           : json[0] == '"' ? arena_format(writer->arena, "%.*s", (int)n - 2, json + 1)
                            : json;
}

static void add_row(struct unseen *unseen, const struct config_row *row) {
    const struct config_writer *writer = unseen->writer;
    const char *value = row->use == CONFIG_MUST_BE ? fixed_value(writer, row->argument) : NULL;
    if (value)
        add_unseen(unseen, row->key, value);
    else if (row->use == CONFIG_CHOSEN)
        add_said(unseen, row->key, row->key, words_of_activation(writer));
    else if ((row->use == CONFIG_USED || row->use == CONFIG_THETA) &&
             is_unseen_field(row->argument))
        add_said(unseen, row->key, row->key, row_json(writer, row));
}

// Adds what a file says of rotary positions in a table, whatever its name; a theta may stand in it,
// or beside.
static void add_rotation(struct unseen *unseen) {
    const struct config_writer *writer = unseen->writer;
    const struct rope_scaling *scaling = &writer->model->rope_scaling;
    json_t *table = json_loads(rope_scaling_json(writer->arena, scaling), JSON_DECODE_ANY, NULL);
    const char *type = json_string_value(json_object_get(table, "rope_type")), *key;
    json_t *value;
    add_said(unseen, "rope_scaling", "rope.rope_type", type ? type : "default|linear");
    add_unseen(unseen, "rope.partial_rotary_factor", "1");
    if (!type)
        add_unseen(unseen, "rope.factor", "1");
    json_object_foreach(table, key, value) {
        if (json_is_number(value))
            add_unseen(unseen, arena_format(writer->arena, "rope.%s", key),
                       real_json(writer->arena, json_number_value(value)));
    }
    json_decref(table);
}

static const char *unseen_of(const struct config_writer *writer) {
    struct unseen unseen = {writer, ""};
    add_kinds(&unseen);
    for (int i = 0; i < n_config_rows; i++)
        if (is_of_kind(writer, config_rows[i].kinds))
            add_row(&unseen, &config_rows[i]);
    if (writer->model->position == POSITION_ROPE)
        add_rotation(&unseen);
    return unseen.fields;
}

// ---- of which kind ----------------------------------------------------------------------------

// The model's own kind, or the first that can say it; with its window, where a query's sight of
// longer sequences counts. False: none can.
static bool find_kind(struct config_writer *writer, bool window_counts) {
    int own = table_find(model_kind_words, N_MODEL_KINDS, writer->model->kind);
    struct model_config config;
    for (int i = -1; i < N_MODEL_KINDS; i++)
        if (can_say(writer, (enum model_kind)(i < 0 ? own : i), &config) &&
            (!window_counts || config.window == writer->model->window))
            return true;
    return false;
}

// What the model has and files of its own kind cannot say, by the field's name; NULL: unknown.
static const char *lacking_field(struct config_writer *writer) {
    struct arena *arena = writer->arena;
    struct model_config config = {0};
    writer->kind =
        (enum model_kind)table_find(model_kind_words, N_MODEL_KINDS, writer->model->kind);
    write_all(writer);
    if (says(writer, &config))
        return "window";
    const char *said = arena_format(arena, "; %s; ", model_text(arena, &config));
    for (const char *at = model_text(arena, writer->model); *at;) {
        size_t n = strcspn(at, ";");
        if (!strstr(said, arena_format(arena, "; %.*s; ", (int)n, at)))
            return arena_format(arena, "%.*s", (int)strcspn(at, " "), at);
        at += n + strspn(at + n, "; ");
    }
    return NULL;
}

// The type in which a reader loses nothing of any parameter: there is one for all.
static enum dtype type_of_all(const struct precision_config *precision) {
    enum dtype all = precision_type(precision, PRECISION_PARAMETERS, NULL, 0, 0);
    for (uint32_t i = 0; i < precision->n_rules; i++) {
        enum dtype type = precision->rules[i].type;
        if (precision->rules[i].use == PRECISION_PARAMETERS && !dtype_holds(all, type))
            all = dtype_holds(type, all) ? type : DTYPE_F32; // of bf16 and fp16
    }
    return all;
}

struct config_json frontend_config_json(struct arena *arena, const struct config *config) {
    json_t *kept = config->model.kept_json ? json_loads(config->model.kept_json, 0, NULL) : NULL;
    struct config_writer writer = {.arena = arena,
                                   .model = &config->model,
                                   .parameters = type_of_all(&config->train.precision),
                                   .kept = kept};
    struct config_json json = {.text = find_kind(&writer, true) ? writer.text : NULL};
    json.unseen = find_kind(&writer, false) ? unseen_of(&writer) : NULL;
    json.lacks = json.text ? NULL : lacking_field(&writer);
    json_decref(kept);
    return json;
}
