// Looks at all of a graph.
#include "tests/fuzz_graph.h"

#include <stdio.h>

#include "ir/check.h"

// What a text may take, beside so many bytes for each of its own: device groups are written in few bytes.
enum { BYTES_BESIDE = 96 << 20, BYTES_A_BYTE = 1024 };

static void hold_shape(const struct array_shape *shape, int depth) {
    CHECK(depth <= 65);
    if (shape->is_tuple) {
        for (uint32_t i = 0; i < shape->n_members; i++)
            hold_shape(shape->members[i], depth + 1);
        return;
    }
    int64_t n = 1;
    CHECK(shape->rank <= MAX_GRAPH_RANK && shape->element < N_ELEMENT_TYPES);
    for (uint32_t i = 0; i < shape->rank; i++)
        n = shape->sizes[i] == 0 ? 0 : n;
    for (uint32_t i = 0; n && i < shape->rank; i++)
        CHECK(!__builtin_mul_overflow(n, shape->sizes[i], &n));
    CHECK(n == shape->n_elements);
}

static void hold_groups(const struct graph *graph, const struct device_groups *groups) {
    CHECK(groups && groups->n_groups * groups->size == graph->n_devices);
    for (uint32_t i = 0; i < graph->n_devices; i++)
        CHECK(groups->devices[i] < graph->n_devices);
}

static void hold_literal(const struct array_shape *shape, const struct literal *literal) {
    bool is_real = element_rows[shape->element].kind == NUMBER_REAL;
    CHECK(literal && (literal->n == 1 || literal->n == shape->n_elements));
    CHECK(is_real ? literal->reals && !literal->integers : literal->integers && !literal->reals);
    for (int64_t i = 0; !is_real && i < literal->n; i++)
        CHECK(shape->element != ELEMENT_TYPE_PRED || (literal->integers[i] | 1) == 1);
}

static void hold_instruction(const struct graph *graph, uint32_t computation, uint32_t number) {
    const struct computation *of = &graph->computations[computation];
    const struct instruction *by = &of->instructions[number];
    const struct instruction_attributes *a = by->attributes;
    CHECK(by->primitive < N_PRIMITIVES && by->name && *by->name && by->frame < graph->n_frames);
    hold_shape(by->shape, 0);
    for (uint32_t i = 0; i < by->n_operands; i++)
        CHECK(by->operands[i] < number);
    for (uint32_t i = 0; i < a->n_called; i++)
        CHECK(a->called[i] < computation);
    if (by->primitive == PRIM_CONSTANT)
        hold_literal(by->shape, a->literal);
    if (by->primitive == PRIM_OPAQUE || by->primitive == PRIM_CUSTOM_CALL)
        CHECK(a->target);
    if (primitive_rows[by->primitive].class == PRIMITIVE_COLLECTIVE &&
        by->primitive != PRIM_COLLECTIVE_PERMUTE)
        hold_groups(graph, a->groups);
}

static void hold_graph(const struct graph *graph) {
    CHECK(graph->n_devices >= 1 && graph->n_devices <= MAX_GRAPH_DEVICES);
    CHECK(graph->entry < graph->n_computations);
    for (uint32_t i = 1; i < graph->n_frames; i++)
        CHECK(graph->frames[i].file && graph->frames[i].parent < i);
    for (uint32_t c = 0; c < graph->n_computations; c++) {
        const struct computation *of = &graph->computations[c];
        CHECK(of->root < of->n);
        for (uint32_t i = 0; i < of->n_parameters; i++)
            CHECK(of->parameters[i] < of->n &&
                  of->instructions[of->parameters[i]].attributes->index == i);
        for (uint32_t i = 0; i < of->n; i++)
            hold_instruction(graph, c, i);
    }
}

void hold_reading(const struct graph *graph, const struct diagnostics *diagnostics,
                  const struct arena *kept, size_t bytes) {
    CHECK(diagnostics->n_errors == (graph ? 0 : 1));
    CHECK(arena_used_bytes(kept) <= BYTES_BESIDE + bytes * BYTES_A_BYTE);
    if (graph)
        hold_graph(graph);
    FILE *nowhere = fopen("/dev/null", "w");
    diagnostics_print(diagnostics, nowhere, false);
    fclose(nowhere);
}
