// Blocks: where training is `reproducible`, dimensions that a mesh may cut are worked on in blocks
// of one length on every mesh. A product of a part of a dimension is another call of the library
// than that of the whole, and its sum has another order; so every product is made of calls for
// blocks, and a contraction joins them as a binary tree, of which a device's part is a node. The
// loss is taken by the parts in which it can be cut.
//
// Input: the program of one device, forward and backward. Output: `blocks` on its products and sums
// of exponentials, as many as the greatest power of two that divides a dimension, at most
// `reproducible`. One block needs no mark: then no mesh cuts the dimension, either.
#include <inttypes.h>
#include <string.h>

#include "ir/check.h"
#include "ir/limits.h"
#include "passes/loss_parts.h"
#include "passes/passes.h"

bool has_blocks(enum dimension dimension) {
    return dimension == DIM_HEADS || dimension == DIM_KV_HEADS || dimension == DIM_FFN ||
           dimension == DIM_VOCAB;
}

int64_t blocks_of(const struct policy *policy, enum dimension dimension, int64_t size) {
    int64_t most = policy->reproducible, blocks = 1;
    bool may_be_divided = has_blocks(dimension) && policy->reproducible_of >> dimension & 1;
    most = most < LIMIT_BLOCKS ? most : LIMIT_BLOCKS;
    while (may_be_divided && blocks < most && size % (2 * blocks) == 0)
        blocks *= 2;
    return blocks;
}

// ---- losses -----------------------------------------------------------------------------------

static bool has_vocabulary_in_blocks(const void *chooser, const struct unit *unit,
                                     const struct op *op) {
    const struct program *program = chooser;
    const struct tensor_type *logits = &unit->values[op->operands[0]].type;
    const struct dim *vocab = &logits->dims[logits->rank - 1];
    return blocks_of(&program->policy, vocab->dimension, vocab->size) > 1;
}

// ---- marks ------------------------------------------------------------------------------------

// " ffn=11", behind what is there, for every dimension once.
static void mark(struct program *program, const struct unit *unit, struct op *op) {
    const char *blocks = "";
    uint32_t seen = 0;
    for (unsigned i = 0; i < op->n_operands; i++) {
        const struct tensor_type *type = &unit->values[op->operands[i]].type;
        for (unsigned d = 0; d < type->rank; d++) {
            const struct dim *dim = &type->dims[d];
            int64_t n = blocks_of(&program->policy, dim->dimension, dim->size);
            if (n == 1 || seen >> dim->dimension & 1)
                continue;
            seen |= 1u << dim->dimension;
            blocks = arena_format(program->arena, "%s%s%s=%" PRId64, blocks, *blocks ? " " : "",
                                  dimension_names[dim->dimension], dim->size / n);
        }
    }
    if (*blocks)
        op_set_word(program, op, ATTRIBUTE_BLOCKS, blocks);
}

bool mark_blocks(struct program *program, const struct pass_context *context) {
    if (!program->policy.reproducible)
        return true;
    for (uint32_t u = 0; u < program->n_units; u++) {
        struct unit *unit = &program->units[u];
        *unit = *unit_by_loss_parts(program, unit, has_vocabulary_in_blocks, program);
        for (uint32_t i = 0; i < unit->n_ops; i++)
            if (unit->ops[i].kind == OP_EINSUM || unit->ops[i].kind == OP_SUM_EXP)
                mark(program, unit, &unit->ops[i]);
    }
    program_number(program);
    return true;
}
