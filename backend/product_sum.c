// A product that is one term of a sum: y = x + bias + a b. The product library can add to what is
// in a matrix; where it may not, it fills the matrix with zeros first. So the rest of the sum is
// written to y's place in front of the product, by the loop that would stand behind it, and the
// product is added to it. That saves a pass over y, and one over a b.
//
// Not where sums have a fixed order (`reproducible`): which of them are made like this depends on
// what stands beside the product, and on the memory plan.
#include "backend/emitter.h"

static uint32_t index_of(const struct unit *unit, const struct op *op) {
    return (uint32_t)(op - unit->ops);
}

// The first op behind it that is not computed elsewhere.
static const struct op *next_emitted(const struct emitter *e, const struct op *op) {
    for (uint32_t i = index_of(e->unit, op) + 1; i < e->unit->n_ops; i++) {
        const struct op *next = &e->unit->ops[i];
        if (op_rows[next->kind].kernel != KERNEL_ELEMENTWISE || !is_inline(e, next->results[0]))
            return next;
    }
    return NULL;
}

static bool read_once(const struct unit *unit, value_id value) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < unit->n_ops; i++)
        for (unsigned k = 0; k < unit->ops[i].n_operands; k++)
            n += unit->ops[i].operands[k] == value;
    for (uint32_t i = 0; i < unit->n_results; i++)
        n += 2 * (unit->results[i].value == value);
    return n == 1;
}

// Is the value added, element by element, be it inside inline sums? Each sum on the way has all
// digits that it is computed with: what is added later is added to what it would be in memory.
static bool has_term(const struct emitter *e, const struct op *sum, value_id value) {
    if (sum->kind != OP_ADD && sum->kind != OP_ADD_BIAS)
        return false;
    const struct tensor_type *type = value_type(e, sum->results[0]);
    if (op_computes_in(e->unit, sum) != type->dtype)
        return false;
    for (unsigned i = 0; i < sum->n_operands; i++) {
        value_id term = sum->operands[i];
        const struct tensor_type *of_term = value_type(e, term);
        if (of_term->dtype != type->dtype || type_elements(of_term) != type_elements(type))
            continue;
        if (term == value)
            return true;
        if (is_inline(e, term) && has_term(e, &e->unit->ops[e->producers[term]], value))
            return true;
    }
    return false;
}

const struct op *sum_around(const struct emitter *e, const struct op *product) {
    const struct op *sum = next_emitted(e, product);
    value_id term = product->results[0];
    if (e->job->policy.reproducible || !sum || is_inline(e, term) || !read_once(e->unit, term) ||
        !has_term(e, sum, term))
        return NULL;
    for (unsigned i = 0; i < product->n_operands; i++)
        if (share_bytes(e, product->operands[i], sum->results[0]))
            return NULL;
    return sum;
}
