// Who makes a product.
#ifndef PLACE_BACKEND_PRODUCTS_H
#define PLACE_BACKEND_PRODUCTS_H

#include "ir/ir.h"

// Whether the product library computes it: not where sums have a promised order, which only our own
// kernel keeps.
static inline bool is_library_product(const struct job *job, const struct op *op) {
    return op->kind == OP_EINSUM && !job->policy.reproducible &&
           !op_attribute(op, ATTRIBUTE_BLOCKS);
}

#endif
