// Ops without rules that are functions of their operands alone: what they are is their primitive with all that it has
// beside operands, and the computations that it calls, instruction by instruction.
#include "equal/values/opaque.h"

#include <string.h>

#include "equal/meaning/read.h"
#include "equal/values/make.h"

struct spelling {
    struct calculus *c;
    const struct graph *graph;
    int64_t *words;
    uint32_t n, cap;
};

static void spell(struct spelling *s, int64_t word) {
    ARENA_PUSH(&s->c->scratch, s->words, s->n, s->cap, word);
}

static void spell_list(struct spelling *s, const struct number_list *list) {
    spell(s, list->n);
    for (uint32_t i = 0; i < list->n; i++)
        spell(s, list->of[i]);
}

static void spell_text(struct spelling *s, const char *text) {
    spell(s, text ? (int64_t)intern(&s->c->terms.attributes, text, (uint32_t)strlen(text) + 1, NULL)
                  : -1);
}

// Without the sizes of dimensions in the mask.
static void spell_shape(struct spelling *s, const struct array_shape *shape, uint64_t mapped) {
    spell(s, shape->is_tuple ? -1 : (int64_t)shape->element);
    spell(s, shape->rank);
    for (uint32_t k = 0; k < shape->rank; k++)
        spell(s, mapped >> k & 1 ? -1 : shape->sizes[k]);
    for (uint32_t i = 0; i < shape->n_members; i++)
        spell_shape(s, shape->members[i], mapped);
}

static void spell_literal(struct spelling *s, const struct literal *literal) {
    const void *bytes = literal->reals ? (const void *)literal->reals : literal->integers;
    spell(s, literal->reals != NULL);
    spell(s, intern(&s->c->terms.attributes, bytes, (uint32_t)literal->n * 8, NULL));
}

static void spell_indices(struct spelling *s, const struct index_numbers *numbers) {
    spell_list(s, &numbers->offset);
    spell_list(s, &numbers->collapsed);
    spell_list(s, &numbers->map);
    spell_list(s, &numbers->operand_batching);
    spell_list(s, &numbers->indices_batching);
    spell_list(s, &numbers->slice_sizes);
    spell(s, numbers->index_vector);
}

static bool spell_instruction(struct spelling *s, const struct instruction *by, uint64_t mapped,
                              int depth);

static bool spell_called(struct spelling *s, uint32_t computation, int depth) {
    const struct computation *of = &s->graph->computations[computation];
    spell(s, of->n);
    spell(s, of->root);
    for (uint32_t i = 0; i < of->n; i++) {
        const struct instruction *by = &of->instructions[i];
        spell(s, by->n_operands);
        for (uint32_t k = 0; k < by->n_operands; k++)
            spell(s, by->operands[k]);
        if (!spell_instruction(s, by, 0, depth + 1))
            return false;
    }
    return true;
}

// Whether what it makes depends on its operands alone.
static bool is_function(enum primitive primitive) {
    switch (primitive) {
    case PRIM_OPAQUE:
    case PRIM_CUSTOM_CALL:
    case PRIM_AFTER_ALL:
    case PRIM_RNG:
    case PRIM_PARTITION_ID:
    case PRIM_REPLICA_ID:
        return false;
    default:
        return primitive_rows[primitive].class != PRIMITIVE_COLLECTIVE;
    }
}

static bool spell_instruction(struct spelling *s, const struct instruction *by, uint64_t mapped,
                              int depth) {
    const struct instruction_attributes *a = by->attributes;
    if (!is_function(by->primitive) || depth > MAX_CALL_DEPTH)
        return false;
    spell(s, by->primitive);
    spell_shape(s, by->shape, mapped);
    const struct number_list *const lists[] = {&a->dimensions,        &a->left_batch,
                                               &a->right_batch,       &a->left_contracting,
                                               &a->right_contracting, &a->slice_sizes};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        spell_list(s, lists[i]);
    for (uint32_t k = 0; a->slices && k < by->shape->rank; k++) {
        spell(s, a->slices[k].start);
        spell(s, a->slices[k].stride);
    }
    for (uint32_t k = 0; a->padding && k < by->shape->rank; k++) {
        spell(s, a->padding[k].low);
        spell(s, a->padding[k].high);
        spell(s, a->padding[k].interior);
    }
    if (a->indices)
        spell_indices(s, a->indices);
    if (a->literal)
        spell_literal(s, a->literal);
    spell(s, a->direction);
    spell(s, a->index);
    spell(s, a->exponent_bits);
    spell(s, a->mantissa_bits);
    spell_text(s, a->others);
    for (uint32_t i = 0; i < a->n_called; i++)
        if (!spell_called(s, a->called[i], depth))
            return false;
    return true;
}

// The places of the dimension over which is summed.
static int64_t summed_size(const struct opaque_operand *operands, uint32_t n, uint32_t dimension) {
    int64_t size = 1;
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t k = 0; k < operands[i].rank; k++)
            if (operands[i].mapped[k] == (int)dimension)
                size = operands[i].sizes[k];
    return size;
}

// Whether there are as many coordinates as operands need. It is asked for each member of the result, of which a sort has
// as many as operands: so of too many it looks at few.
static bool has_room(const struct at *at) {
    uint32_t n_own = 0;
    for (uint32_t i = 0; i < at->by->n_operands; i++) {
        const struct array_shape *shape = operand_shape(at, i);
        for (uint32_t k = 0; !shape->is_tuple && k < shape->rank; k++)
            n_own += mapped_dimension(at, i, k) == NOT_MAPPED;
        if (n_own > MAX_COORDINATES - COORDINATE_FREE)
            return false;
    }
    return true;
}

bool read_opaque(const struct at *at, uint32_t member, const struct array_shape *result,
                 struct viewed *made) {
    struct spelling s = {.c = at->r->c, .graph = at->r->graph};
    uint64_t mapped = 0; // of the result's dimensions
    uint32_t n = at->by->n_operands;
    if (!has_room(at)) {
        s.c->reached = BOUND_OPERANDS;
        return false;
    }
    struct opaque_operand *operands = ARENA_ARRAY(&s.c->scratch, struct opaque_operand, n + 1);
    for (uint32_t i = 0; i < n; i++) {
        const struct array_shape *shape = operand_shape(at, i);
        if (shape->is_tuple)
            return false;
        operands[i] = (struct opaque_operand){operand_value(at, i), shape->sizes, shape->rank, {0}};
        uint64_t of_operand = 0;
        for (uint32_t k = 0; k < shape->rank; k++) {
            int to = mapped_dimension(at, i, k);
            operands[i].mapped[k] = (int8_t)to;
            spell(&s, to);
            if (to == NOT_MAPPED)
                continue;
            of_operand |= UINT64_C(1) << k;
            mapped |= UINT64_C(1) << to;
        }
        spell_shape(&s, shape, of_operand);
    }
    spell(&s, member);
    if (result->is_tuple || !spell_instruction(&s, at->by, mapped, 0))
        return false;
    struct coordinates all = coordinates_of(result, at->r->graph->n_devices);
    *made = value_opaque(s.c, value_words(s.c, s.words, s.n), operands, n, &all);
    uint64_t summed = mapped & UINT64_C(1) << result->rank;
    if (summed) {
        all.sizes[result->rank] = summed_size(operands, n, result->rank);
        *made = value_product(s.c, made, 1, summed, &all);
    }
    return true;
}
