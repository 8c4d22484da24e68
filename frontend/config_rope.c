// Rotary positions in a config.json. Older writers have `rope_theta` beside a table `rope_scaling`;
// newer ones have one table, `rope_parameters`, with the theta in it, and some files have both. So
// each fact may be said more than once, and must then be the same: which of two a reader would have
// taken depends on its version.
#include "frontend/config_json.h"

#include <string.h>

static bool is_said(struct config_place place) {
    return place.key != NULL;
}

void take_rope_theta(struct config_reader *reader, struct config_place place, const json_t *value) {
    double before = reader->draft->config->rope_theta;
    if (!take_config_value(reader, place, value, "rope_theta"))
        return;
    if (!is_said(reader->theta))
        reader->theta = place;
    else if (reader->draft->config->rope_theta != before)
        report_config_value(reader, place,
                            arena_format(reader->r->arena, "%g, as %s says", before,
                                         config_place_text(reader, reader->theta)));
}

// ---- the table --------------------------------------------------------------------------------

enum rope_type { ROPE_DEFAULT, ROPE_LLAMA3, ROPE_LINEAR, N_ROPE_TYPES };
static const char *const rope_types[N_ROPE_TYPES] = {
    [ROPE_DEFAULT] = "default", [ROPE_LLAMA3] = "llama3", [ROPE_LINEAR] = "linear"};

// Numbers of a table, all of Llama 3.1's scaling. `idle`: at which it changes nothing by itself.
enum rope_number { ROPE_FACTOR, ROPE_LOW, ROPE_HIGH, ROPE_ORIGINAL, N_ROPE_NUMBERS };
static const char *const rope_numbers[N_ROPE_NUMBERS] = {[ROPE_FACTOR] = "factor",
                                                         [ROPE_LOW] = "low_freq_factor",
                                                         [ROPE_HIGH] = "high_freq_factor",
                                                         [ROPE_ORIGINAL] =
                                                             "original_max_position_embeddings"};

// Two spellings of the key are in use, and files that have both. Without any it is the default.
static int find_rope_type(const struct config_reader *reader, const char *name,
                          const json_t *table) {
    static const char *const keys[] = {"rope_type", "type"};
    const char *first = NULL;
    int found = ROPE_DEFAULT;
    for (int i = 0; i < 2; i++) {
        const json_t *value = json_object_get(table, keys[i]);
        if (!value || json_is_null(value))
            continue;
        struct config_place place = {name, keys[i]};
        const char *word = json_string_value(value);
        int type = word ? table_find(rope_types, N_ROPE_TYPES, word) : -1;
        if (type < 0) {
            struct diagnostic *d =
                word ? report(reader->r->diagnostics, E112, config_span(reader, place),
                              "rotary positions of the type `%.64s` are not built", word)
                     : report_config_value(reader, place, "a word");
            diagnostic_help(d, "`default` and `llama3` are");
            return -1;
        }
        if (first && type != found) {
            report_config_value(
                reader, place,
                arena_format(reader->r->arena, "\"%s\", as `%s` says", rope_types[found], first));
            return -1;
        }
        first = keys[i];
        found = type;
    }
    return found;
}

// All four are needed, none may be zero or negative.
static bool read_factor(const struct config_reader *reader, const char *name, const json_t *table,
                        enum rope_number which, double *out) {
    const json_t *value = json_object_get(table, rope_numbers[which]);
    double number = json_number_value(value);
    if (!json_is_number(value) || !(number > 0) || number > 1e15) {
        report_config_value(reader, (struct config_place){name, rope_numbers[which]},
                            "a number above 0");
        return false;
    }
    *out = number;
    return true;
}

static bool read_scaling(const struct config_reader *reader, const char *name, const json_t *table,
                         struct rope_scaling *out) {
    double positions;
    if (!read_factor(reader, name, table, ROPE_FACTOR, &out->factor) ||
        !read_factor(reader, name, table, ROPE_LOW, &out->low_frequency_factor) ||
        !read_factor(reader, name, table, ROPE_HIGH, &out->high_frequency_factor) ||
        !read_factor(reader, name, table, ROPE_ORIGINAL, &positions))
        return false;
    out->original_positions = (int64_t)positions;
    if (out->high_frequency_factor > out->low_frequency_factor)
        return true;
    report_config_value(reader, (struct config_place){name, rope_numbers[ROPE_HIGH]},
                        "above `low_freq_factor`");
    return false;
}

// What does nothing in a table of its type: a factor of one, all parts of a head rotated, and how
// long sequences once were where nothing depends on it.
static bool is_idle(enum rope_type type, const char *key, const json_t *value) {
    if (strcmp(key, "partial_rotary_factor") == 0)
        return is_config_value(value, "1");
    if (type == ROPE_LLAMA3)
        return table_find(rope_numbers, N_ROPE_NUMBERS, key) >= 0; // read as its own
    return (strcmp(key, "factor") == 0 && is_config_value(value, "1")) ||
           strcmp(key, "original_max_position_embeddings") == 0;
}

static void take_rope_entry(struct config_reader *reader, enum rope_type type,
                            struct config_place place, const json_t *value) {
    if (json_is_null(value) || strcmp(place.key, "rope_type") == 0 ||
        strcmp(place.key, "type") == 0)
        return;
    if (strcmp(place.key, "rope_theta") == 0)
        take_rope_theta(reader, place, value);
    else if (strcmp(place.key, "partial_rotary_factor") == 0 && !is_idle(type, place.key, value))
        report_config_value(reader, place, "1: heads that are rotated in part are not built");
    else if (!is_idle(type, place.key, value) &&
             table_find(rope_numbers, N_ROPE_NUMBERS, place.key) >= 0)
        report(reader->r->diagnostics, E112, config_span(reader, place),
               "%s is not built for rotary positions of the type `%s`",
               config_place_text(reader, place), rope_types[type]);
    else if (!is_idle(type, place.key, value))
        report_config_key(reader, place);
}

static bool same_scaling(const struct rope_scaling *a, const struct rope_scaling *b) {
    return a->factor == b->factor && a->low_frequency_factor == b->low_frequency_factor &&
           a->high_frequency_factor == b->high_frequency_factor &&
           a->original_positions == b->original_positions;
}

void take_rope_table(struct config_reader *reader, const char *name, const json_t *table) {
    struct config_place place = {NULL, name};
    if (!json_is_object(table)) {
        report_config_value(reader, place, "a table or null");
        return;
    }
    uint32_t errors_before = reader->r->diagnostics->n_errors;
    int type = find_rope_type(reader, name, table);
    if (type < 0)
        return;
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)table, key, value)
        take_rope_entry(reader, (enum rope_type)type, (struct config_place){name, key}, value);
    struct rope_scaling scaling = {0}, *known = &reader->draft->config->rope_scaling;
    if (reader->r->diagnostics->n_errors != errors_before ||
        (type == ROPE_LLAMA3 && !read_scaling(reader, name, table, &scaling)))
        return;
    if (is_said(reader->scaling) && !same_scaling(&scaling, known))
        report_config_value(reader, place,
                            arena_format(reader->r->arena, "the same scaling as that of %s",
                                         config_place_text(reader, reader->scaling)));
    reader->scaling = place;
    *known = scaling;
}

// ---- writing ----------------------------------------------------------------------------------

const char *rope_scaling_json(struct arena *arena, const struct rope_scaling *scaling) {
    if (scaling->factor == 0)
        return "null";
    return arena_format(
        arena, "{\"rope_type\": \"%s\", \"%s\": %s, \"%s\": %s, \"%s\": %s, \"%s\": %lld}",
        rope_types[ROPE_LLAMA3], rope_numbers[ROPE_FACTOR], real_json(arena, scaling->factor),
        rope_numbers[ROPE_LOW], real_json(arena, scaling->low_frequency_factor),
        rope_numbers[ROPE_HIGH], real_json(arena, scaling->high_frequency_factor),
        rope_numbers[ROPE_ORIGINAL], (long long)scaling->original_positions);
}
