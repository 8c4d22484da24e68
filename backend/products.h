// Who makes a product.
#ifndef PLACE_BACKEND_PRODUCTS_H
#define PLACE_BACKEND_PRODUCTS_H

#include "ir/ir.h"

// Whether an einsum's sums may be made in any order: not where they have a promised one, which only
// our own kernel keeps.
static inline bool is_unordered_product(const struct job *job, const struct op *op) {
    return op->kind == OP_EINSUM && !job->policy.reproducible &&
           !op_attribute(op, ATTRIBUTE_BLOCKS);
}

// Whether it is the product library that makes it: it has products of one type, of 32 bits or more.
static inline bool is_library_product(const struct job *job, const struct unit *unit,
                                      const struct op *op) {
    if (!is_unordered_product(job, op))
        return false;
    enum dtype operands = unit->values[op->operands[0]].type.dtype;
    return !dtype_is_narrow(operands) && operands == unit->values[op->results[0]].type.dtype;
}

// Whether it multiplies bf16, for which some CPUs have an instruction.
static inline bool is_bf16_product(const struct job *job, const struct unit *unit,
                                   const struct op *op) {
    return is_unordered_product(job, op) &&
           unit->values[op->operands[0]].type.dtype == DTYPE_BF16 &&
           op_computes_in(unit, op) == DTYPE_F32;
}

#endif
