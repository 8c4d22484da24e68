// Reads specs in JSON.
#include "equal/layout/spec.h"

#include <jansson.h>
#include <string.h>

struct spec_reader {
    uint32_t source;
    struct arena *arena;
    struct diagnostics *diagnostics;
    struct layout_spec *spec;
    struct span entry; // where the one that is read stands
};

// ---- places -----------------------------------------------------------------------------------

// jansson does not say where a value stands. A text that it has read is sound, so brackets and strings are all that
// must be known of it here.
struct place_scan {
    const char *text;
    uint32_t at, depth;
};

// Passes a string, whose opening quote is here.
static void pass_string(struct place_scan *scan) {
    for (scan->at++; scan->text[scan->at] != '"'; scan->at++)
        if (scan->text[scan->at] == '\\')
            scan->at++;
    scan->at++;
}

// Passes what is here, and notes the depth.
static void pass(struct place_scan *scan) {
    char c = scan->text[scan->at];
    if (c == '"') {
        pass_string(scan);
        return;
    }
    scan->depth += c == '{' || c == '[';
    scan->depth -= c == '}' || c == ']';
    scan->at++;
}

static void pass_blanks(struct place_scan *scan) {
    scan->at += (uint32_t)strspn(scan->text + scan->at, " \t\r\n");
}

// Goes to the value of a key of the object that is open, `depth` deep; false: it has none of that name.
static bool find_value(struct place_scan *scan, const char *key, uint32_t depth) {
    size_t length = strlen(key);
    while (scan->text[scan->at] && scan->depth >= depth) {
        uint32_t begin = scan->at + 1;
        bool is_string = scan->depth == depth && scan->text[scan->at] == '"';
        pass(scan);
        if (!is_string)
            continue;
        bool is_named =
            scan->at - begin == length + 1 && strncmp(scan->text + begin, key, length) == 0;
        pass_blanks(scan);
        if (is_named && scan->text[scan->at] == ':') {
            scan->at++;
            pass_blanks(scan);
            return true;
        }
    }
    return false;
}

// Begins before the value of a key of the spec.
static struct place_scan scan_of(const struct spec_reader *r, const char *key) {
    struct place_scan scan = {.text = r->diagnostics->sources->items[r->source].text};
    while (scan.text[scan.at] && !scan.depth)
        pass(&scan);
    find_value(&scan, key, 1);
    return scan;
}

// The name of the next entry of a list, or its brace; behind it the scan goes on.
static struct span next_place(const struct spec_reader *r, struct place_scan *scan) {
    while (scan->text[scan->at] && !(scan->depth == 2 && scan->text[scan->at] == '{'))
        pass(scan);
    struct span place = span_of(r->source, scan->at, scan->at + 1);
    pass(scan);
    struct place_scan inside = *scan;
    if (find_value(&inside, "name", 3) && inside.text[inside.at] == '"') {
        place.begin = inside.at + 1;
        pass(&inside);
        place.end = inside.at - 1;
    }
    return place;
}

// ---- entries ----------------------------------------------------------------------------------

static bool refuse(const struct spec_reader *r, const char *what) {
    struct diagnostic *d = report(r->diagnostics, E911, r->entry, "%s", what);
    diagnostic_help(d, "`placec explain E911` shows a spec");
    return false;
}

static bool read_axes(const struct spec_reader *r, const json_t *list,
                      struct spec_segment *segment) {
    segment->n_axes = (uint32_t)json_array_size(list);
    struct spec_axis *axes = ARENA_ARRAY(r->arena, struct spec_axis, segment->n_axes);
    for (uint32_t i = 0; i < segment->n_axes; i++) {
        const char *name = json_string_value(json_array_get(list, i));
        if (!name)
            return refuse(r, "an axis is no name");
        axes[i] = (struct spec_axis){arena_string(r->arena, name, strlen(name)), r->entry};
    }
    segment->axes = axes;
    return true;
}

static bool read_segments(const struct spec_reader *r, const json_t *list,
                          struct spec_dimension *dimension) {
    dimension->n_segments = (uint32_t)json_array_size(list);
    struct spec_segment *segments =
        ARENA_ARRAY(r->arena, struct spec_segment, dimension->n_segments);
    for (uint32_t i = 0; i < dimension->n_segments; i++) {
        const json_t *item = json_array_get(list, i);
        segments[i].size = json_integer_value(json_object_get(item, "size"));
        if (segments[i].size < 1)
            return refuse(r, "a segment has no size");
        if (!read_axes(r, json_object_get(item, "axes"), &segments[i]))
            return false;
    }
    dimension->segments = segments;
    return true;
}

// A list of axes, or of segments.
static bool read_dimension(const struct spec_reader *r, const json_t *list,
                           struct spec_dimension *dimension) {
    if (!json_is_array(list))
        return refuse(r, "what cuts a dimension is no list");
    if (json_is_object(json_array_get(list, 0)))
        return read_segments(r, list, dimension);
    struct spec_segment *segment = ARENA_NEW(r->arena, struct spec_segment);
    *dimension = (struct spec_dimension){segment, 1};
    return read_axes(r, list, segment);
}

static bool read_sizes(const struct spec_reader *r, const json_t *shape, struct spec_entry *entry) {
    entry->rank = (uint32_t)json_array_size(shape);
    int64_t *sizes = ARENA_ARRAY(r->arena, int64_t, entry->rank);
    for (uint32_t i = 0; i < entry->rank; i++) {
        const json_t *size = json_array_get(shape, i);
        if (!json_is_integer(size) || json_integer_value(size) < 0)
            return refuse(r, "`shape` is no list of sizes");
        sizes[i] = json_integer_value(size);
    }
    entry->sizes = sizes;
    return true;
}

// The kinds of NumPy's names of types, by how these begin; of others nothing is known.
static void read_kind(const char *dtype, struct spec_entry *entry) {
    static const struct {
        const char *begin;
        enum number_kind kind;
    } rows[] = {{"float", NUMBER_REAL},
                {"bfloat", NUMBER_REAL},
                {"int", NUMBER_INTEGER},
                {"uint", NUMBER_UNSIGNED},
                {"bool", NUMBER_TRUTH}};
    for (size_t i = 0; dtype && i < sizeof rows / sizeof *rows; i++)
        if (strncmp(dtype, rows[i].begin, strlen(rows[i].begin)) == 0) {
            entry->has_kind = true;
            entry->kind = rows[i].kind;
        }
}

static bool read_entry(const struct spec_reader *r, const json_t *object,
                       struct spec_entry *entry) {
    const json_t *shape = json_object_get(object, "shape");
    const json_t *sharding = json_object_get(object, "sharding");
    const char *name = json_string_value(json_object_get(object, "name"));
    if (!json_is_array(shape) || !json_is_array(sharding))
        return refuse(r, "an array has `name`, `shape` and `sharding`");
    entry->name = name ? arena_string(r->arena, name, strlen(name)) : "";
    entry->span = r->entry;
    read_kind(json_string_value(json_object_get(object, "dtype")), entry);
    if (!read_sizes(r, shape, entry))
        return false;
    if (json_array_size(sharding) != entry->rank)
        return refuse(r, "`sharding` has not as many lists as `shape` has sizes");
    struct spec_dimension *dimensions = ARENA_ARRAY(r->arena, struct spec_dimension, entry->rank);
    for (uint32_t i = 0; i < entry->rank; i++)
        if (!read_dimension(r, json_array_get(sharding, i), &dimensions[i]))
            return false;
    entry->dimensions = dimensions;
    return true;
}

static bool read_list(struct spec_reader *r, const json_t *root, const char *key,
                      struct spec_list *list) {
    const json_t *items = json_object_get(root, key);
    struct place_scan scan = scan_of(r, key);
    for (size_t i = 0; i < json_array_size(items); i++) {
        struct spec_entry entry = {.number = (uint32_t)i};
        r->entry = next_place(r, &scan);
        if (!read_entry(r, json_array_get(items, i), &entry))
            return false;
        ARENA_PUSH(r->arena, list->of, list->n, list->capacity, entry);
    }
    return true;
}

// ---- the whole --------------------------------------------------------------------------------

static bool read_mesh(struct spec_reader *r, const json_t *root) {
    const json_t *axes = json_object_get(root, "mesh");
    const char *name;
    json_t *size;
    if (!axes)
        return true;
    uint32_t at = scan_of(r, "mesh").at;
    r->entry = r->spec->mesh_span = span_of(r->source, at, at + 1);
    r->spec->has_mesh = true;
    r->spec->mesh.n_devices = 1;
    json_object_foreach((json_t *)axes, name, size) {
        const char *axis = arena_string(r->arena, name, strlen(name));
        const char *why = json_is_integer(size)
                              ? device_mesh_add(&r->spec->mesh, axis, json_integer_value(size))
                              : "has no size";
        if (why) {
            report(r->diagnostics, E910, r->entry, "`%s` %s", axis, why);
            return false;
        }
    }
    return json_is_object(axes) || refuse(r, "`mesh` is no table of axes and sizes");
}

// Lists of devices, each as long as the first.
static bool read_devices(const struct spec_reader *r, const json_t *lists,
                         struct spec_group *group) {
    group->n_lists = (uint32_t)json_array_size(lists);
    group->size = (uint32_t)json_array_size(json_array_get(lists, 0));
    int64_t *devices = ARENA_ARRAY(r->arena, int64_t, (size_t)group->n_lists * group->size);
    for (uint32_t i = 0; i < group->n_lists; i++) {
        const json_t *list = json_array_get(lists, i);
        if (!json_is_array(list) || json_array_size(list) != group->size || !group->size)
            return refuse(r, "a group's lists of devices are not of equal length");
        for (uint32_t k = 0; k < group->size; k++) {
            const json_t *device = json_array_get(list, k);
            if (!json_is_integer(device))
                return refuse(r, "a device is no number");
            devices[(size_t)i * group->size + k] = json_integer_value(device);
        }
    }
    group->devices = devices;
    return true;
}

static bool read_groups(struct spec_reader *r, const json_t *root) {
    const json_t *groups = json_object_get(root, "groups");
    const char *name;
    json_t *value;
    if (!groups)
        return true;
    uint32_t at = scan_of(r, "groups").at;
    r->entry = span_of(r->source, at, at + 1);
    if (!json_is_object(groups))
        return refuse(r, "`groups` is no table of groups and axes");
    json_object_foreach((json_t *)groups, name, value) {
        struct spec_group group = {.name = arena_string(r->arena, name, strlen(name)),
                                   .span = r->entry};
        struct spec_segment axes = {.size = 0};
        if (!json_is_array(value) || !json_array_size(value))
            return refuse(r, "a group has a list of axes, or lists of devices");
        bool is_listed = json_is_array(json_array_get(value, 0));
        if (is_listed ? !read_devices(r, value, &group) : !read_axes(r, value, &axes))
            return false;
        group.axes = axes.axes;
        group.n_axes = axes.n_axes;
        ARENA_PUSH(r->arena, r->spec->groups, r->spec->n_groups, r->spec->groups_capacity, group);
    }
    return true;
}

static bool read_root(struct spec_reader *r, const json_t *root) {
    r->spec->has_all_results = true;
    if (!json_is_object(json_object_get(root, "mesh")) &&
        !json_is_object(json_object_get(root, "groups")) &&
        !json_is_array(json_object_get(root, "parameters")) &&
        !json_is_array(json_object_get(root, "results")))
        return refuse(r, "the spec has neither `mesh` nor `groups` nor `parameters` nor `results`");
    return read_mesh(r, root) && read_groups(r, root) &&
           read_list(r, root, "parameters", &r->spec->parameters) &&
           read_list(r, root, "results", &r->spec->results);
}

const struct layout_spec *spec_read_json(uint32_t source, struct arena *arena,
                                         struct diagnostics *diagnostics) {
    const struct source_file *file = &diagnostics->sources->items[source];
    struct spec_reader r = {source, arena, diagnostics, ARENA_NEW(arena, struct layout_spec),
                            span_of(source, 0, 1)};
    json_error_t error;
    json_t *root = json_loadb(file->text, file->length, JSON_REJECT_DUPLICATES, &error);
    if (!root) {
        uint32_t at = error.position < 0 ? 0 : (uint32_t)error.position;
        at = at > file->length ? file->length : at;
        report(diagnostics, E911, span_of(source, at ? at - 1 : 0, at), "this is not JSON: %s",
               error.text);
        return NULL;
    }
    bool is_read = read_root(&r, root);
    json_decref(root);
    return is_read ? r.spec : NULL;
}
