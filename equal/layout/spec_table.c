// Reads specs that are tables.
#include "equal/layout/spec.h"

#include <ctype.h>
#include <string.h>

#include "ir/sizes.h"

struct table_reader {
    const char *text;
    uint32_t source;
    struct arena *arena;
    struct diagnostics *diagnostics;
    struct layout_spec *spec;
    struct span line; // without the blanks around it
};

static bool refuse(const struct table_reader *r, struct span span, const char *what) {
    struct diagnostic *d = report(r->diagnostics, E911, span, "%s", what);
    diagnostic_help(d, "a line is `parameter NAME [SHAPE] : AXES, ...`, as in "
                       "`parameter wq [28,32] : -, tp`; or `result NUMBER` and the same; or "
                       "`mesh dp=2,tp=3`");
    return false;
}

static struct span trimmed(const struct table_reader *r, struct span span) {
    while (span.begin < span.end && isspace((unsigned char)r->text[span.begin]))
        span.begin++;
    while (span.begin < span.end && isspace((unsigned char)r->text[span.end - 1]))
        span.end--;
    return span;
}

static char *text_at(const struct table_reader *r, struct span span) {
    return arena_string(r->arena, r->text + span.begin, span.end - span.begin);
}

static bool is_sign(char c, char sign) {
    return sign == ' ' ? isspace((unsigned char)c) != 0 : c == sign;
}

// Cuts off what stands before the next sign (any blank, for ' '), or all, and goes behind it. False: nothing was left.
static bool next_part(const struct table_reader *r, struct span *rest, char sign,
                      struct span *part) {
    if (rest->begin > rest->end)
        return false;
    *part = *rest;
    while (rest->begin < rest->end && !is_sign(r->text[rest->begin], sign))
        rest->begin++;
    part->end = rest->begin++;
    *part = trimmed(r, *part);
    return true;
}

static bool read_number(const struct table_reader *r, struct span span, int64_t *number) {
    *number = 0;
    for (uint32_t i = span.begin; i < span.end; i++) {
        if (!isdigit((unsigned char)r->text[i]))
            return false;
        *number = size_plus(size_times(*number, 10), r->text[i] - '0');
    }
    return span.begin < span.end;
}

// ---- what cuts a dimension --------------------------------------------------------------------

// `dp*tp`, or `-`.
static bool read_axes(const struct table_reader *r, struct span span,
                      struct spec_segment *segment) {
    struct span part;
    struct spec_axis *axes = NULL;
    uint32_t capacity = 0;
    if (span.end - span.begin == 1 && r->text[span.begin] == '-')
        return true;
    while (next_part(r, &span, '*', &part)) {
        if (part.begin == part.end)
            return refuse(r, r->line, "an axis has no name");
        ARENA_PUSH(r->arena, axes, segment->n_axes, capacity,
                   (struct spec_axis){text_at(r, part), part});
    }
    segment->axes = axes;
    return true;
}

// `32/tp 8/tp 8/-`
static bool read_segments(const struct table_reader *r, struct span span,
                          struct spec_dimension *dimension) {
    struct span part, size;
    struct spec_segment *segments = NULL;
    uint32_t capacity = 0;
    while (next_part(r, &span, ' ', &part)) {
        if (part.begin == part.end)
            continue;
        struct spec_segment segment = {.size = 0};
        next_part(r, &part, '/', &size);
        if (!read_number(r, size, &segment.size) || segment.size == 0 || part.begin >= part.end)
            return refuse(r, size, "a segment is SIZE/AXES, as in `32/tp 8/tp`");
        if (!read_axes(r, part, &segment))
            return false;
        ARENA_PUSH(r->arena, segments, dimension->n_segments, capacity, segment);
    }
    dimension->segments = segments;
    return true;
}

static bool read_dimension(const struct table_reader *r, struct span span,
                           struct spec_dimension *dimension) {
    if (memchr(r->text + span.begin, '/', span.end - span.begin))
        return read_segments(r, span, dimension);
    struct spec_segment *segment = ARENA_NEW(r->arena, struct spec_segment);
    *dimension = (struct spec_dimension){segment, 1};
    return read_axes(r, span, segment);
}

static bool read_dimensions(const struct table_reader *r, struct span span,
                            struct spec_entry *entry) {
    struct span part;
    struct spec_dimension *dimensions = ARENA_ARRAY(r->arena, struct spec_dimension, entry->rank);
    uint32_t n = 0;
    span = trimmed(r, span);
    bool is_empty = span.begin == span.end;
    while (!is_empty && next_part(r, &span, ',', &part)) {
        if (n == entry->rank)
            return refuse(r, part, "this is more than the shape has dimensions");
        if (!read_dimension(r, part, &dimensions[n++]))
            return false;
    }
    if (n < entry->rank)
        return refuse(r, r->line, "the shape has more dimensions than are said to be cut or not");
    entry->dimensions = dimensions;
    return true;
}

// ---- lines ------------------------------------------------------------------------------------

// The last place of a sign in a range; its end: there is none.
static uint32_t last_of(const struct table_reader *r, struct span span, char sign) {
    for (uint32_t i = span.end; i-- > span.begin;)
        if (r->text[i] == sign)
            return i;
    return span.end;
}

static bool read_shape(const struct table_reader *r, struct span span, struct spec_entry *entry) {
    struct span part;
    int64_t *sizes = NULL, size;
    uint32_t capacity = 0;
    span = trimmed(r, span);
    bool is_empty = span.begin == span.end;
    while (!is_empty && next_part(r, &span, ',', &part)) {
        if (!read_number(r, part, &size))
            return refuse(r, part, "a shape is a list of sizes, as in `[28,32]`");
        ARENA_PUSH(r->arena, sizes, entry->rank, capacity, size);
    }
    entry->sizes = sizes;
    return true;
}

// NAME [SHAPE] : DIMENSIONS. Names may have any signs, so the others are sought from the end.
static bool read_array(const struct table_reader *r, struct span rest, struct spec_entry *entry) {
    uint32_t colon = last_of(r, rest, ':');
    struct span head = trimmed(r, span_of(r->source, rest.begin, colon));
    uint32_t open = last_of(r, head, '[');
    if (colon == rest.end || open == head.end || r->text[head.end - 1] != ']')
        return refuse(r, r->line, "this is no line of a spec");
    struct span name = trimmed(r, span_of(r->source, head.begin, open));
    entry->name = text_at(r, name);
    entry->span = name;
    if (name.begin == name.end)
        return refuse(r, r->line, "this line names no array");
    return read_shape(r, span_of(r->source, open + 1, head.end - 1), entry) &&
           read_dimensions(r, span_of(r->source, colon + 1, rest.end), entry);
}

static bool read_parameter(const struct table_reader *r, struct span rest) {
    struct spec_list *list = &r->spec->parameters;
    struct spec_entry entry = {.number = list->n};
    if (!read_array(r, rest, &entry))
        return false;
    ARENA_PUSH(r->arena, list->of, list->n, list->capacity, entry);
    return true;
}

static bool read_result(const struct table_reader *r, struct span rest) {
    struct spec_list *list = &r->spec->results;
    struct spec_entry entry = {.number = 0};
    int64_t number;
    if (!read_array(r, rest, &entry))
        return false;
    if (!read_number(r, entry.span, &number))
        return refuse(r, entry.span, "a result is named by its number, from 0 on");
    entry.number = number < UINT32_MAX ? (uint32_t)number : UINT32_MAX;
    entry.name = "";
    ARENA_PUSH(r->arena, list->of, list->n, list->capacity, entry);
    return true;
}

static bool read_mesh(const struct table_reader *r, struct span rest) {
    if (r->spec->has_mesh)
        return refuse(r, r->line, "the spec has a mesh already");
    r->spec->has_mesh = true;
    r->spec->mesh_span = rest;
    return device_mesh_read(&r->spec->mesh, rest, r->arena, r->diagnostics);
}

// `{0,1} {2,3}`: lists of equal length.
static bool read_devices(const struct table_reader *r, struct span span, struct spec_group *group) {
    struct span list, part, before;
    int64_t *devices = NULL, device;
    uint32_t n = 0, capacity = 0;
    while (next_part(r, &span, '}', &list) && list.begin < list.end) {
        uint32_t first = n;
        if (!next_part(r, &list, '{', &before) || before.begin < before.end ||
            list.begin > list.end)
            return refuse(r, r->line, "devices are listed as in `{0,1} {2,3}`");
        while (next_part(r, &list, ',', &part)) {
            if (!read_number(r, part, &device))
                return refuse(r, r->line, "a device is no number");
            ARENA_PUSH(r->arena, devices, n, capacity, device);
        }
        if (group->n_lists++ && n - first != group->size)
            return refuse(r, r->line, "a group's lists of devices are not of equal length");
        group->size = n - first;
    }
    group->devices = devices;
    return true;
}

// `5 : tp`
static bool read_group(const struct table_reader *r, struct span rest) {
    struct layout_spec *spec = r->spec;
    struct span name;
    struct spec_segment axes = {.size = 0};
    next_part(r, &rest, ':', &name);
    if (name.begin == name.end || rest.begin >= rest.end)
        return refuse(r, r->line, "a group is `group NAME : AXES`, as in `group 5 : dp*tp`");
    rest = trimmed(r, rest);
    struct spec_group group = {.name = text_at(r, name), .span = name};
    bool is_listed = r->text[rest.begin] == '{';
    if (is_listed ? !read_devices(r, rest, &group) : !read_axes(r, rest, &axes))
        return false;
    group.axes = axes.axes;
    group.n_axes = axes.n_axes;
    if (!group.n_axes && !group.n_lists)
        return refuse(r, r->line, "a group is of axes, or of lists of devices");
    ARENA_PUSH(r->arena, spec->groups, spec->n_groups, spec->groups_capacity, group);
    return true;
}

static bool read_line(const struct table_reader *r) {
    struct span rest = r->line, word;
    next_part(r, &rest, ' ', &word);
    if (rest.begin > rest.end)
        return refuse(r, r->line, "this is no line of a spec");
    rest = trimmed(r, rest);
    static const struct {
        const char *word;
        bool (*read)(const struct table_reader *, struct span);
    } rows[] = {{"mesh", read_mesh},
                {"group", read_group},
                {"parameter", read_parameter},
                {"result", read_result}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (strcmp(text_at(r, word), rows[i].word) == 0)
            return rows[i].read(r, rest);
    return refuse(r, word, "this is no line of a spec");
}

const struct layout_spec *spec_read_table(uint32_t source, struct arena *arena,
                                          struct diagnostics *diagnostics) {
    const struct source_file *file = &diagnostics->sources->items[source];
    struct table_reader r = {.text = file->text,
                             .source = source,
                             .arena = arena,
                             .diagnostics = diagnostics,
                             .spec = ARENA_NEW(arena, struct layout_spec)};
    uint32_t begin = text_begin(file->text, file->length);
    struct span rest = span_of(source, begin, file->length);
    bool says = false;
    while (next_part(&r, &rest, '\n', &r.line)) {
        bool is_said = r.line.begin < r.line.end && r.text[r.line.begin] != '#';
        if (is_said && !read_line(&r))
            return NULL;
        says |= is_said;
    }
    if (!says)
        refuse(&r, span_of(source, begin, begin), "the spec has no line");
    return says ? r.spec : NULL;
}
