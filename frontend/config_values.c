// Values of a config.json: where each stands, how it is taken or refused, and how a number is written.
#include "frontend/config_json.h"

#include <math.h>
#include <string.h>

// ---- where it stands --------------------------------------------------------------------------

// The next key of a text that is JSON: its quotes, and how many brackets are open around it.
struct key_scan {
    const char *text;
    uint32_t at, begin, end;
    int depth;
};

static bool next_key(struct key_scan *scan) {
    for (; scan->text[scan->at]; scan->at++) {
        char c = scan->text[scan->at];
        scan->depth += c == '{' || c == '[' ? 1 : c == '}' || c == ']' ? -1 : 0;
        if (c != '"')
            continue;
        scan->begin = scan->at++;
        while (scan->text[scan->at] && scan->text[scan->at] != '"')
            scan->at += scan->text[scan->at] == '\\' && scan->text[scan->at + 1] ? 2 : 1;
        if (!scan->text[scan->at])
            return false;
        scan->end = scan->at + 1;
        if (scan->text[scan->end + strspn(scan->text + scan->end, " \t\r\n")] == ':') {
            scan->at++;
            return true;
        }
    }
    return false;
}

static bool is_key(const struct key_scan *scan, const char *key) {
    size_t length = scan->end - scan->begin - 2;
    return strlen(key) == length && strncmp(scan->text + scan->begin + 1, key, length) == 0;
}

// A key that the file writes with escapes is not found; then the file's beginning stands for it.
struct span config_span(const struct config_reader *reader, struct config_place place) {
    struct key_scan scan = {.text = reader->r->diagnostics->sources->items[reader->source].text};
    bool inside = false; // the table that is meant
    while (next_key(&scan)) {
        if (place.table && scan.depth == 1)
            inside = is_key(&scan, place.table);
        if (scan.depth == (place.table ? 2 : 1) && (!place.table || inside) &&
            is_key(&scan, place.key))
            return span_of(reader->source, scan.begin, scan.end);
    }
    return span_of(reader->source, 0, 1);
}

const char *config_place_text(const struct config_reader *reader, struct config_place place) {
    struct arena *arena = reader->r->arena;
    return place.table ? arena_format(arena, "`%s` of `%s`", place.key, place.table)
                       : arena_format(arena, "`%s`", place.key);
}

struct diagnostic *report_config_value(const struct config_reader *reader,
                                       struct config_place place, const char *wanted) {
    return report(reader->r->diagnostics, E112, config_span(reader, place), "%s must be %s",
                  config_place_text(reader, place), wanted);
}

void report_config_key(const struct config_reader *reader, struct config_place place) {
    struct diagnostic *d =
        report(reader->r->diagnostics, E113, config_span(reader, place),
               "the field %s is not understood", config_place_text(reader, place));
    diagnostic_say(d, "may change the model");
}

// ---- values -----------------------------------------------------------------------------------

static bool is_whole(enum field_kind kind) {
    return kind == FIELD_SIZE || kind == FIELD_LAYERS || kind == FIELD_HEAD_DIM ||
           kind == FIELD_COUNT;
}

// Writes the value into the model's member by the kind of the model's own field. JSON's integers
// are exact; a number with a fraction is none, even 4.0: no writer of such files prints sizes so.
static bool take_number(const struct config_reader *reader, struct config_place place,
                        const json_t *value, const struct field_row *row) {
    void *member = (char *)reader->draft->config + row->offset;
    if (row->kind == FIELD_FLAG) {
        if (json_is_boolean(value))
            *(bool *)member = json_is_true(value);
        else
            report_config_value(reader, place, "true or false");
        return json_is_boolean(value);
    }
    if (is_whole(row->kind)) {
        json_int_t number = json_integer_value(value);
        bool good = json_is_integer(value) && number >= 1 && number <= (json_int_t)LIMIT_SIZE;
        if (good)
            *(int64_t *)member = number;
        else
            report_config_value(reader, place,
                                arena_format(reader->r->arena, "a whole number from 1 to 2^%d",
                                             (int)log2((double)LIMIT_SIZE)));
        return good;
    }
    double number = json_number_value(value), end = row->kind == FIELD_SHARE ? 1 : 1e30;
    bool good = json_is_number(value) && number < end &&
                (row->kind == FIELD_POSITIVE ? number > 0 : number >= 0);
    if (good)
        *(double *)member = number;
    else
        report_config_value(reader, place,
                            row->kind == FIELD_SHARE ? "a number from 0 to below 1"
                                                     : "a number above 0");
    return good;
}

// Kept apart from what the file itself says, which overrides it.
void say_field(const struct config_reader *reader, struct config_place place, int field) {
    reader->draft->said[field] =
        (struct field_said){true,
                            {.kind = ORIGIN_DEFAULT,
                             .span = config_span(reader, place),
                             .text = arena_format(reader->r->arena, "%s of the config.json",
                                                  config_place_text(reader, place))}};
}

// A value goes into the draft by the row of the model's own field: a config.json and a block write
// the same members with the same bounds.
bool take_config_value(const struct config_reader *reader, struct config_place place,
                       const json_t *value, const char *field) {
    int i = find_field(model_field_rows, n_model_field_rows, field);
    if (!take_number(reader, place, value, &model_field_rows[i]))
        return false;
    say_field(reader, place, i);
    return true;
}

bool is_config_value(const json_t *value, const char *text) {
    json_t *wanted = json_loads(text, JSON_DECODE_ANY, NULL);
    bool same = json_is_number(wanted) && json_is_number(value)
                    ? json_number_value(wanted) == json_number_value(value)
                    : json_equal(wanted, value);
    json_decref(wanted);
    return same;
}

const char *real_json(struct arena *arena, double value) {
    char digits[REAL_TEXT_BYTES];
    real_text(value, digits);
    bool whole = value == floor(value) && fabs(value) < 1e15;
    return whole ? arena_format(arena, "%.1f", value) : arena_format(arena, "%s", digits);
}
