// Blocks: where training is `reproducible`, dimensions that a mesh may cut are worked on in blocks
// of one length on every mesh. A product library gives an element of a part other bits than in the
// product of the whole, so products in blocks are a kernel's of their own; and a sum over a part
// has another order, so sums of blocks are joined as a binary tree, of which a device's part is a
// node. Sums over rows are, too, and tiles of attention lie inside blocks of the queries. Where
// logits are in blocks the loss is taken by its parts, of which each is made row by row or by such
// a sum.
//
// Input: the program of one device, forward and backward. Output: `blocks` on what takes them, as
// many as the greatest power of two that divides a dimension, at most `reproducible`. One block
// needs no mark: then no mesh cuts the dimension, either.
#include <inttypes.h>
#include <string.h>

#include "ir/check.h"
#include "ir/diagnostic.h"
#include "ir/limits.h"
#include "passes/passes.h"
#include "passes/reference/loss_parts.h"

int64_t blocks_of(const struct policy *policy, enum dimension dimension, int64_t size) {
    int64_t most = policy->reproducible, blocks = 1;
    bool has_blocks = dimension != DIM_BATCH && policy->reproducible_of >> dimension & 1;
    most = most < LIMIT_BLOCKS ? most : LIMIT_BLOCKS;
    while (has_blocks && blocks < most && size % (2 * blocks) == 0)
        blocks *= 2;
    return blocks;
}

// ---- losses -----------------------------------------------------------------------------------

static bool has_logits_in_blocks(const void *chooser, const struct unit *unit,
                                 const struct op *op) {
    const struct program *program = chooser;
    const struct tensor_type *logits = &unit->values[op->operands[0]].type;
    int64_t blocks = 1;
    for (unsigned i = 0; i < logits->rank; i++)
        blocks *= blocks_of(&program->job->policy, logits->dims[i].dimension, logits->dims[i].size);
    return blocks > 1;
}

// ---- marks ------------------------------------------------------------------------------------

// Is the dimension, of this label, worked on in blocks? In a product it is, whatever becomes of it.
// Else blocks are what a sum over it is made of, and an attention's tiles.
static bool works_in_blocks(const struct op *op, const struct op_labels *labels, char label) {
    bool summed = false;
    for (unsigned i = 0; i < op->n_results; i++)
        summed |= !strchr(labels->results[i], label);
    return op->kind == OP_EINSUM || summed;
}

// " ffn=11", behind what is there, for every dimension once.
static void mark(struct program *program, const struct unit *unit, struct op *op) {
    struct op_labels labels;
    const char *blocks = "";
    uint32_t seen = 0;
    CHECK(op_labels_of(unit, op, &labels));
    for (unsigned i = 0; i < op->n_operands; i++) {
        const struct tensor_type *type = &unit->values[op->operands[i]].type;
        for (unsigned d = 0; d < type->rank; d++) {
            const struct dim *dim = &type->dims[d];
            int64_t n = blocks_of(&program->job->policy, dim->dimension, dim->size);
            if (n == 1 || seen >> dim->dimension & 1 ||
                !works_in_blocks(op, &labels, labels.operands[i][d]))
                continue;
            seen |= 1u << dim->dimension;
            blocks = arena_format(program->arena, "%s%s%s=%" PRId64, blocks, *blocks ? " " : "",
                                  dimension_names[dim->dimension], dim->size / n);
        }
    }
    if (*blocks)
        op_set_word(program->arena, op, ATTRIBUTE_BLOCKS, blocks);
}

// ---- what is not built ------------------------------------------------------------------------

// Kernels add up rows that lie side by side. Blocks with others inside them do not lie so (norms of
// heads, where sequences and heads are in blocks); where each is one row, only one device has them so.
static bool has_blocks_inside(const struct unit *unit, const struct op *op) {
    const struct tensor_type *rows = &unit->values[op->operands[0]].type;
    bool inside = false;
    for (unsigned i = rows->rank; op_rows[op->kind].kernel == KERNEL_CALL && i-- > 0;) {
        bool in_blocks = op_block(op, rows->dims[i].dimension) > 0;
        if (inside && in_blocks)
            return true;
        inside |= in_blocks;
    }
    return false;
}

static bool report_blocks_inside(const struct program *program, const struct op *op,
                                 const struct pass_context *context) {
    const struct policy *policy = &program->job->policy;
    uint32_t fewer = policy->reproducible_of & ~(UINT32_C(1) << DIM_SEQUENCE);
    struct diagnostic *d =
        report(context->diagnostics, E199, op->span,
               "norms of heads, where training is `reproducible` of heads and of sequences, are "
               "understood, but not compiled yet");
    diagnostic_help(d,
                    "where no strategy divides sequences, promise it of less: "
                    "`reproducible = %" PRId64 " of %s`",
                    policy->reproducible, dimensions_text(fewer, program->arena));
    return false;
}

// The first one is enough: what follows has the same reason.
static bool check_rows(const struct program *program, const struct unit *unit,
                       const struct pass_context *context) {
    for (uint32_t i = 0; i < unit->n_ops; i++)
        if (has_blocks_inside(unit, &unit->ops[i]))
            return report_blocks_inside(program, &unit->ops[i], context);
    return true;
}

bool mark_blocks(struct job *job, const struct pass_context *context) {
    struct program *program = job_only(job);
    if (!program->job->policy.reproducible)
        return true;
    for (uint32_t u = 0; u < program->job->n_units; u++) {
        struct unit *unit = &program->job->units[u];
        *unit = *unit_by_loss_parts(program, unit, has_logits_in_blocks, program);
        for (uint32_t i = 0; i < unit->n_ops; i++)
            if (op_takes(unit->ops[i].kind, ATTRIBUTE_BLOCKS))
                mark(program, unit, &unit->ops[i]);
        if (!check_rows(program, unit, context))
            return false;
    }
    job_number(program->job);
    return true;
}
