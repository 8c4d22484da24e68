// Reads specs in JSON. What stands there is heard, or is for people only, or is refused at its place.
#include "equal/layout/spec.h"

#include <ctype.h>
#include <inttypes.h>
#include <jansson.h>
#include <string.h>

#include "equal/layout/json_places.h"

struct spec_reader {
    uint32_t source;
    struct arena *arena;
    struct diagnostics *diagnostics;
    struct layout_spec *spec;
};

// A value and its place; a member that is not there has the place of its object.
struct item {
    json_t *json; // NULL: it is not there
    const struct json_place *at;
};

// ---- what is refused --------------------------------------------------------------------------

// False, for those who return it. `form` is how it is written.
static bool refuse(const struct spec_reader *r, struct item item, const char *form,
                   const char *what) {
    struct diagnostic *d = report(r->diagnostics, E911, item.at->value, "%s", what);
    diagnostic_help(d, "write %s; `placec explain E911` shows a spec", form);
    return false;
}

// ---- tables -----------------------------------------------------------------------------------

static const char *const spec_keys[] = {"mesh", "groups", "parameters", "results"};
static const char *const array_keys[] = {"name", "dtype", "shape", "sharding"};
static const char *const segment_keys[] = {"size", "axes"};
// What files that hold a spec say besides, to people: of a pair of programs how it was made, and what is known of it.
static const char *const told_keys[] = {"bug",   "check_vma", "dist", "expected", "hand_written",
                                        "jax",   "numeric",   "ops",  "single",   "stage",
                                        "title", "written",   "wrong"};
// It may stand in every table, with anything in it.
static const char notes_key[] = "notes";

struct known_keys {
    const char *of;
    const char *const *heard;
    size_t n_heard;
    const char *const *told;
    size_t n_told;
};
#define HEARD(keys) (keys), sizeof(keys) / sizeof *(keys)
static const struct known_keys keys_of_spec = {"a spec", HEARD(spec_keys), HEARD(told_keys)};
static const struct known_keys keys_of_array = {"an array", HEARD(array_keys), NULL, 0};
static const struct known_keys keys_of_segment = {"a segment", HEARD(segment_keys), NULL, 0};

static bool is_among(const char *key, const char *const *keys, size_t n) {
    size_t i = 0;
    while (i < n && strcmp(keys[i], key) != 0)
        i++;
    return i < n;
}

static bool refuse_key(const struct spec_reader *r, struct span span, const char *key,
                       const struct known_keys *known) {
    struct diagnostic *d =
        report(r->diagnostics, E911, span, "`%s` is no key of %s", key, known->of);
    const char *list = "";
    for (size_t i = 0; i < known->n_heard; i++)
        list = arena_format(r->arena, "%s%s`%s`", list, i ? ", " : "", known->heard[i]);
    if (!diagnostic_meant(d, span, key, known->heard, known->n_heard))
        diagnostic_help(d, "its keys are %s; what is for people stands in `%s`", list, notes_key);
    return false;
}

// A misspelt key would be a layout that is not heard.
static bool check_keys(const struct spec_reader *r, struct item table,
                       const struct known_keys *known) {
    const struct json_place *place = table.at->first;
    const char *key;
    json_t *value;
    json_object_foreach(table.json, key, value) {
        if (!is_among(key, known->heard, known->n_heard) &&
            !is_among(key, known->told, known->n_told) && strcmp(key, notes_key) != 0)
            return refuse_key(r, place->key, key, known);
        place = place->next;
    }
    return true;
}

// jansson keeps members in the order of the text.
static struct item member(struct item table, const char *wanted) {
    const struct json_place *place = table.at->first;
    const char *key;
    json_t *value;
    json_object_foreach(table.json, key, value) {
        if (strcmp(key, wanted) == 0)
            return (struct item){value, place};
        place = place->next;
    }
    return (struct item){NULL, table.at};
}

// The members of a list, one after the other: begins with `at` as the first place.
static struct item listed(struct item list, size_t i, const struct json_place **at) {
    struct item item = {json_array_get(list.json, i), *at};
    *at = (*at)->next;
    return item;
}

// ---- entries ----------------------------------------------------------------------------------

static const char axes_form[] = "the axes that cut a dimension as a list of names, "
                                "`[\"dp\", \"tp\"]`, or `[]`";

static bool read_axes(const struct spec_reader *r, struct item list, struct spec_segment *segment) {
    const struct json_place *at = list.at->first;
    segment->n_axes = (uint32_t)json_array_size(list.json);
    struct spec_axis *axes = ARENA_ARRAY(r->arena, struct spec_axis, segment->n_axes);
    for (uint32_t i = 0; i < segment->n_axes; i++) {
        struct item item = listed(list, i, &at);
        const char *name = json_string_value(item.json);
        if (!name)
            return refuse(r, item, axes_form, "an axis is no name");
        axes[i] = (struct spec_axis){arena_string(r->arena, name, strlen(name)), item.at->value};
    }
    segment->axes = axes;
    return true;
}

static bool read_segment(const struct spec_reader *r, struct item item,
                         struct spec_segment *segment) {
    static const char form[] = "a segment as `{\"size\": 32, \"axes\": [\"tp\"]}`";
    struct item size = member(item, "size"), axes = member(item, "axes");
    if (!json_is_object(item.json))
        return refuse(r, item, form, "beside segments a dimension has segments only");
    if (!check_keys(r, item, &keys_of_segment))
        return false;
    segment->size = json_integer_value(size.json);
    if (segment->size < 1)
        return refuse(r, size, form, "a segment has no size");
    if (!json_is_array(axes.json))
        return refuse(r, axes, form, "a segment has no list of axes");
    return read_axes(r, axes, segment);
}

static bool read_segments(const struct spec_reader *r, struct item list,
                          struct spec_dimension *dimension) {
    const struct json_place *at = list.at->first;
    dimension->n_segments = (uint32_t)json_array_size(list.json);
    struct spec_segment *segments =
        ARENA_ARRAY(r->arena, struct spec_segment, dimension->n_segments);
    for (uint32_t i = 0; i < dimension->n_segments; i++)
        if (!read_segment(r, listed(list, i, &at), &segments[i]))
            return false;
    dimension->segments = segments;
    return true;
}

// A list of axes, or of segments.
static bool read_dimension(const struct spec_reader *r, struct item list,
                           struct spec_dimension *dimension) {
    if (!json_is_array(list.json))
        return refuse(r, list, axes_form, "what cuts a dimension is no list");
    if (json_is_object(json_array_get(list.json, 0)))
        return read_segments(r, list, dimension);
    struct spec_segment *segment = ARENA_NEW(r->arena, struct spec_segment);
    *dimension = (struct spec_dimension){segment, 1};
    return read_axes(r, list, segment);
}

static bool read_sizes(const struct spec_reader *r, struct item shape, struct spec_entry *entry) {
    const struct json_place *at = shape.at->first;
    entry->rank = (uint32_t)json_array_size(shape.json);
    int64_t *sizes = ARENA_ARRAY(r->arena, int64_t, entry->rank);
    for (uint32_t i = 0; i < entry->rank; i++) {
        struct item size = listed(shape, i, &at);
        if (!json_is_integer(size.json) || json_integer_value(size.json) < 0)
            return refuse(r, size, "`\"shape\": [28, 32]`", "`shape` is no list of sizes");
        sizes[i] = json_integer_value(size.json);
    }
    entry->sizes = sizes;
    return true;
}

// The kind of a type's name, NumPy's (by how it begins: float32, bool) or HLO's. False: it is none of these.
static bool find_kind(const char *name, enum number_kind *kind) {
    static const struct {
        const char *begin;
        enum number_kind kind;
    } rows[] = {{"float", NUMBER_REAL},
                {"bfloat", NUMBER_REAL},
                {"int", NUMBER_INTEGER},
                {"uint", NUMBER_UNSIGNED}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        size_t length = strlen(rows[i].begin);
        *kind = rows[i].kind;
        if (strncmp(name, rows[i].begin, length) == 0 && isdigit((unsigned char)name[length]))
            return true;
    }
    for (int i = 0; i < N_ELEMENT_TYPES; i++) {
        *kind = element_rows[i].kind;
        if (strcmp(name, element_rows[i].text) == 0)
            return true;
    }
    *kind = NUMBER_TRUTH;
    return strcmp(name, "bool") == 0;
}

static bool read_type(const struct spec_reader *r, struct item type, struct spec_entry *entry) {
    const char *name = json_string_value(type.json);
    if (!type.json)
        return true;
    entry->has_kind = name && find_kind(name, &entry->kind);
    return entry->has_kind || refuse(r, type, "a type as NumPy names it, `\"dtype\": \"float32\"`",
                                     "`dtype` is no type that is known");
}

// Where it is shown what is wrong with the array as a whole: at its name, if it has one.
static bool read_name(const struct spec_reader *r, struct item object, struct spec_entry *entry) {
    struct item name = member(object, "name");
    const char *text = json_string_value(name.json);
    if (name.json && !text)
        return refuse(r, name, "`\"name\": \"layers.wq\"`", "`name` is no text");
    entry->name = text ? arena_string(r->arena, text, strlen(text)) : "";
    entry->span = *entry->name ? name.at->value : object.at->value;
    return true;
}

static bool read_entry(const struct spec_reader *r, struct item object, struct spec_entry *entry) {
    static const char form[] = "`{\"name\": \"wq\", \"shape\": [28, 32], \"sharding\": [[], "
                               "[\"tp\"]]}`";
    struct item shape = member(object, "shape"), sharding = member(object, "sharding");
    if (!json_is_object(object.json))
        return refuse(r, object, form, "an array is a table with `name`, `shape` and `sharding`");
    if (!check_keys(r, object, &keys_of_array) || !read_name(r, object, entry))
        return false;
    if (!json_is_array(shape.json))
        return refuse(r, shape, form, "an array has `shape`, a list of sizes");
    if (!json_is_array(sharding.json))
        return refuse(r, sharding, form, "an array has `sharding`, a list for each dimension");
    if (!read_type(r, member(object, "dtype"), entry) || !read_sizes(r, shape, entry))
        return false;
    if (json_array_size(sharding.json) != entry->rank)
        return refuse(r, sharding, "a list for each dimension, as `[[], [\"tp\"]]`",
                      "`sharding` has not as many lists as `shape` has sizes");
    struct spec_dimension *dimensions = ARENA_ARRAY(r->arena, struct spec_dimension, entry->rank);
    const struct json_place *at = sharding.at->first;
    for (uint32_t i = 0; i < entry->rank; i++)
        if (!read_dimension(r, listed(sharding, i, &at), &dimensions[i]))
            return false;
    entry->dimensions = dimensions;
    return true;
}

static bool read_list(struct spec_reader *r, struct item list, const char *key,
                      struct spec_list *into) {
    const struct json_place *at = list.at->first;
    if (list.json && !json_is_array(list.json))
        return refuse(r, list, arena_format(r->arena, "`\"%s\": [...]`", key),
                      arena_format(r->arena, "`%s` is no list of arrays", key));
    for (size_t i = 0; i < json_array_size(list.json); i++) {
        struct spec_entry entry = {.number = (uint32_t)i};
        if (!read_entry(r, listed(list, i, &at), &entry))
            return false;
        ARENA_PUSH(r->arena, into->of, into->n, into->capacity, entry);
    }
    return true;
}

// ---- the whole --------------------------------------------------------------------------------

static bool read_mesh(struct spec_reader *r, struct item axes) {
    static const char form[] = "`\"mesh\": {\"dp\": 2, \"tp\": 3}`";
    const struct json_place *at = axes.at->first;
    const char *name;
    json_t *size;
    if (!axes.json)
        return true;
    if (!json_object_size(axes.json))
        return refuse(r, axes, form, "`mesh` is no table of axes and sizes");
    r->spec->mesh_span = axes.at->value;
    r->spec->has_mesh = true;
    r->spec->mesh.n_devices = 1;
    json_object_foreach(axes.json, name, size) {
        const char *axis = arena_string(r->arena, name, strlen(name));
        const char *why = json_is_integer(size)
                              ? device_mesh_add(&r->spec->mesh, axis, json_integer_value(size))
                              : "has no size";
        if (why) {
            report(r->diagnostics, E910, at->key, "`%s` %s", axis, why);
            return false;
        }
        at = at->next;
    }
    return true;
}

static const char devices_form[] = "lists of devices as `[[0, 1], [2, 3]]`";

// Lists of devices, each as long as the first.
static bool read_devices(const struct spec_reader *r, struct item lists, struct spec_group *group) {
    const struct json_place *at = lists.at->first;
    group->n_lists = (uint32_t)json_array_size(lists.json);
    group->size = (uint32_t)json_array_size(json_array_get(lists.json, 0));
    if ((int64_t)group->n_lists * group->size > MAX_GRAPH_DEVICES)
        return refuse(r, lists, devices_form, "a group has more devices than there may be");
    int64_t *devices = ARENA_ARRAY(r->arena, int64_t, (size_t)group->n_lists * group->size);
    for (uint32_t i = 0; i < group->n_lists; i++) {
        struct item list = listed(lists, i, &at);
        const struct json_place *of = list.at->first;
        if (!json_is_array(list.json) || json_array_size(list.json) != group->size || !group->size)
            return refuse(r, list, devices_form,
                          "a group's lists of devices are not of equal length");
        for (uint32_t k = 0; k < group->size; k++) {
            struct item device = listed(list, k, &of);
            if (!json_is_integer(device.json))
                return refuse(r, device, devices_form, "a device is no number");
            devices[(size_t)i * group->size + k] = json_integer_value(device.json);
        }
    }
    group->devices = devices;
    return true;
}

static bool read_group(struct spec_reader *r, const char *name, struct item value) {
    struct spec_group group = {.name = arena_string(r->arena, name, strlen(name)),
                               .span = value.at->key};
    struct spec_segment axes = {.size = 0};
    if (!json_array_size(value.json))
        return refuse(r, value,
                      "the axes along which they meet, as `[\"tp\"]`, or `[[0, 1], "
                      "[2, 3]]`",
                      "a group has a list of axes, or lists of devices");
    bool is_listed = json_is_array(json_array_get(value.json, 0));
    if (is_listed ? !read_devices(r, value, &group) : !read_axes(r, value, &axes))
        return false;
    group.axes = axes.axes;
    group.n_axes = axes.n_axes;
    ARENA_PUSH(r->arena, r->spec->groups, r->spec->n_groups, r->spec->groups_capacity, group);
    return true;
}

static bool read_groups(struct spec_reader *r, struct item groups) {
    const struct json_place *at = groups.at->first;
    const char *name;
    json_t *value;
    if (groups.json && !json_is_object(groups.json))
        return refuse(r, groups, "`\"groups\": {\"5\": [\"tp\"]}`",
                      "`groups` is no table of groups and axes");
    json_object_foreach(groups.json, name, value) {
        if (!read_group(r, name, (struct item){value, at}))
            return false;
        at = at->next;
    }
    return true;
}

static bool read_root(struct spec_reader *r, struct item root) {
    bool says = false;
    r->spec->has_all_results = true;
    if (!check_keys(r, root, &keys_of_spec))
        return false;
    for (size_t i = 0; i < sizeof spec_keys / sizeof *spec_keys; i++)
        says |= member(root, spec_keys[i]).json != NULL;
    if (!says)
        return refuse(r, root, "one of them, or give no spec",
                      "the spec has neither `mesh` nor `groups` nor `parameters` nor `results`");
    return read_mesh(r, member(root, "mesh")) && read_groups(r, member(root, "groups")) &&
           read_list(r, member(root, "parameters"), "parameters", &r->spec->parameters) &&
           read_list(r, member(root, "results"), "results", &r->spec->results);
}

// jansson reads up to `position`, from `begin` on.
static void report_no_json(const struct spec_reader *r, const json_error_t *error, uint32_t begin) {
    uint32_t length = r->diagnostics->sources->items[r->source].length;
    uint32_t at = begin + (error->position < 0 ? 0 : (uint32_t)error->position);
    at = at > length ? length : at;
    struct span span = span_of(r->source, at > begin ? at - 1 : begin, at);
    bool is_twice = json_error_code(error) == json_error_duplicate_key;
    struct diagnostic *d =
        report(r->diagnostics, E911, span,
               is_twice ? "a key stands twice: %s" : "this is not JSON: %s", error->text);
    diagnostic_help(d, is_twice ? "leave one of the two out"
                                : "JSON has keys and texts in double quotes, no comments, and no "
                                  "comma behind the last of a list");
}

const struct layout_spec *spec_read_json(uint32_t source, struct arena *arena,
                                         struct diagnostics *diagnostics) {
    const struct source_file *file = &diagnostics->sources->items[source];
    struct spec_reader r = {source, arena, diagnostics, ARENA_NEW(arena, struct layout_spec)};
    uint32_t begin = text_begin(file->text, file->length);
    json_error_t error;
    json_t *root =
        json_loadb(file->text + begin, file->length - begin, JSON_REJECT_DUPLICATES, &error);
    if (!root) {
        report_no_json(&r, &error, begin);
        return NULL;
    }
    struct item whole = {root, json_places(source, begin, diagnostics->sources, arena)};
    bool is_read = read_root(&r, whole);
    json_decref(root);
    return is_read ? r.spec : NULL;
}
