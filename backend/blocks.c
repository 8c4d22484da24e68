// How dimensions lie that an op works on in blocks: [parts][blocks][elements of one]. From the
// innermost dimension out: what is in no blocks inside those that are belongs to each block, what
// is outside them says of which part a block is. A block of more than one element cannot have
// others inside it.
#include "backend/emitter.h"

bool add_to_cut(struct cut *cut, const struct op *op, const struct dim *dim) {
    int64_t length = op_block(op, dim->dimension);
    if (!length) {
        cut->parts *= cut->blocks ? dim->size : 1;
        return true;
    }
    if (cut->blocks && (length > 1 || cut->parts > 1))
        return false;
    cut->blocks = (cut->blocks ? cut->blocks : 1) * (dim->size / length);
    return true;
}

unsigned row_dimensions(const struct unit *unit, const struct op *op) {
    switch (op->kind) {
    case OP_SUM_ROWS:
        return unit->values[op->operands[0]].type.rank -
               (unsigned)op_integer(op, ATTRIBUTE_KEEP, 0);
    case OP_LAYER_NORM_BACKWARD:
    case OP_RMS_NORM_BACKWARD:
        return unit->values[op->operands[0]].type.rank - 1u;
    case OP_EMBEDDING_BACKWARD:
    case OP_TOKEN_LOSS:
        return unit->values[op->operands[0]].type.rank;
    default:
        return 0;
    }
}

// The dimensions over which elements are summed side by side: of rows, or of what a row has.
static struct side summed_dimensions(const struct unit *unit, const struct op *op) {
    const struct tensor_type *summed = &unit->values[op->operands[0]].type;
    if (op->kind == OP_SUM_COLUMNS)
        return (struct side){unit->values[op->results[0]].type.rank, summed->rank};
    return (struct side){0, row_dimensions(unit, op)};
}

bool cut_of_rows(const struct unit *unit, const struct op *op, struct cut *cut) {
    const struct side summed = summed_dimensions(unit, op);
    *cut = (struct cut){.parts = 1};
    for (unsigned i = summed.end; i-- > summed.begin;)
        if (!add_to_cut(cut, op, &unit->values[op->operands[0]].type.dims[i]))
            return false;
    return true;
}
