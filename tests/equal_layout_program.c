// Makes programs of which only the parameters and results are there.
#include "equal_layout_program.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ir/check.h"

enum { MAX_LINES = 600 };

struct maker {
    struct arena *arena;
    uint32_t source;
    struct graph *graph;
    struct computation *entry;
    uint32_t *parameters, *results;
    uint32_t n_results;
    const char *root_sharding;
    bool is_tuple;
};

static const struct array_shape *make_shape(struct arena *arena, const char *text) {
    struct array_shape *shape = ARENA_NEW(arena, struct array_shape);
    int64_t *sizes = ARENA_ARRAY(arena, int64_t, MAX_GRAPH_RANK);
    size_t length = strcspn(text, "[");
    while (shape->element < N_ELEMENT_TYPES &&
           (strlen(element_rows[shape->element].text) != length ||
            strncmp(element_rows[shape->element].text, text, length) != 0))
        shape->element++;
    CHECK(shape->element < N_ELEMENT_TYPES);
    shape->sizes = sizes;
    shape->n_elements = 1;
    for (char *at = (char *)text + length + 1; *at && *at != ']'; at += *at == ',') {
        sizes[shape->rank] = strtoll(at, &at, 10);
        shape->n_elements *= sizes[shape->rank++];
    }
    return shape;
}

static struct instruction_attributes *add(struct maker *m, enum primitive primitive,
                                          const struct array_shape *shape, const char *path,
                                          struct span span) {
    struct instruction_attributes *with = ARENA_NEW(m->arena, struct instruction_attributes);
    const char *word = primitive == PRIM_PARAMETER ? "param" : primitive_rows[primitive].word;
    m->entry->instructions[m->entry->n] =
        (struct instruction){.primitive = primitive,
                             .shape = shape,
                             .attributes = with,
                             .name = arena_format(m->arena, "%s.%u", word, m->entry->n),
                             .path = path,
                             .span = span};
    m->entry->root = m->entry->n++;
    return with;
}

static void add_parameter(struct maker *m, char *rest, struct span span) {
    char name[256], type[256];
    int length = 0;
    CHECK(sscanf(rest, "%255s %255s %n", name, type, &length) >= 2);
    bool has_path = strcmp(name, "-") != 0;
    m->parameters[m->entry->n_parameters] = m->entry->n;
    struct instruction_attributes *with =
        add(m, PRIM_PARAMETER, make_shape(m->arena, type),
            has_path ? arena_string(m->arena, name, strlen(name)) : NULL, span);
    with->index = m->entry->n_parameters++;
    with->sharding = rest[length] ? rest + length : NULL;
}

static void add_result(struct maker *m, char *rest, struct span span) {
    char type[256];
    int length = 0;
    CHECK(sscanf(rest, "%255s %n", type, &length) >= 1);
    m->results[m->n_results++] = m->entry->n;
    add(m, PRIM_IOTA, make_shape(m->arena, type), NULL, span);
    m->root_sharding = rest[length] ? rest + length : NULL;
}

static void add_groups(struct maker *m, char *rest, struct span span) {
    struct device_groups *groups = ARENA_NEW(m->arena, struct device_groups);
    uint32_t *devices = ARENA_ARRAY(m->arena, uint32_t, m->graph->n_devices);
    groups->size = (uint32_t)strtoul(rest, &rest, 10);
    groups->n_groups = m->graph->n_devices / groups->size;
    for (uint32_t i = 0; i < m->graph->n_devices; i++)
        devices[i] = (uint32_t)strtoul(rest, &rest, 10);
    groups->devices = devices;
    add(m, PRIM_ALL_REDUCE, make_shape(m->arena, "f32[]"), NULL, span)->groups = groups;
}

static void add_axes(struct maker *m, char *rest) {
    struct device_axis *axes = ARENA_ARRAY(m->arena, struct device_axis, 16);
    int length;
    char name[64];
    long long size;
    for (; sscanf(rest, " %63[^=]=%lld%n", name, &size, &length) == 2; rest += length)
        axes[m->graph->n_axes++] =
            (struct device_axis){arena_string(m->arena, name, strlen(name)), size};
    m->graph->axes = axes;
}

static void add_line(struct maker *m, char *line, struct span span) {
    char *rest = strchr(line, ' ');
    rest = rest ? rest + 1 : line + strlen(line);
    if (strncmp(line, "devices ", 8) == 0)
        m->graph->n_devices = (uint32_t)strtoul(rest, NULL, 10);
    else if (strncmp(line, "partitioned", 11) == 0)
        m->graph->is_partitioned = true;
    else if (strncmp(line, "axes ", 5) == 0)
        add_axes(m, rest);
    else if (strncmp(line, "groups ", 7) == 0)
        add_groups(m, rest, span);
    else if (strncmp(line, "parameter ", 10) == 0)
        add_parameter(m, rest, span);
    else if (strncmp(line, "result ", 7) == 0)
        add_result(m, rest, span);
    else if (strncmp(line, "tuple", 5) == 0)
        m->is_tuple = true;
    else
        CHECK(!*line);
}

// The root: the only result, or a tuple of all.
static void add_root(struct maker *m) {
    struct instruction_attributes *with = NULL;
    if (m->n_results == 1 && !m->is_tuple) {
        m->entry->root = m->results[0];
        with = (struct instruction_attributes *)m->entry->instructions[m->results[0]].attributes;
    } else {
        struct array_shape *shape = ARENA_NEW(m->arena, struct array_shape);
        const struct array_shape **members =
            ARENA_ARRAY(m->arena, const struct array_shape *, m->n_results);
        for (uint32_t i = 0; i < m->n_results; i++)
            members[i] = m->entry->instructions[m->results[i]].shape;
        *shape = (struct array_shape){.is_tuple = true, .n_members = m->n_results};
        shape->members = members;
        with = add(m, PRIM_TUPLE, shape, NULL, span_of(m->source, 0, 1));
        m->entry->instructions[m->entry->root].operands = m->results;
        m->entry->instructions[m->entry->root].n_operands = m->n_results;
    }
    with->sharding = m->root_sharding;
}

struct graph *layout_program(const char *name, const char *text, struct arena *arena,
                             struct diagnostics *diagnostics) {
    struct maker m = {.arena = arena,
                      .source = source_add(diagnostics->sources, arena, name, text, strlen(text)),
                      .graph = ARENA_NEW(arena, struct graph),
                      .entry = ARENA_NEW(arena, struct computation),
                      .parameters = ARENA_ARRAY(arena, uint32_t, MAX_LINES),
                      .results = ARENA_ARRAY(arena, uint32_t, MAX_LINES)};
    m.graph->n_devices = 1;
    m.graph->computations = m.entry;
    m.graph->n_computations = 1;
    m.entry->instructions = ARENA_ARRAY(arena, struct instruction, MAX_LINES);
    m.entry->parameters = m.parameters;
    for (const char *at = text; *at;) {
        size_t length = strcspn(at, "\n");
        uint32_t begin = (uint32_t)(at - text);
        CHECK(m.entry->n < MAX_LINES - 1);
        add_line(&m, arena_string(arena, at, length),
                 span_of(m.source, begin, begin + (uint32_t)length));
        at += length + (at[length] == '\n');
    }
    add_root(&m);
    return m.graph;
}
