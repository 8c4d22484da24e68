// Laws of log-sum-exp as normal forms of terms. Each op has one term whatever it is made of, so
// that a loss over a whole vocabulary and the same over parts of it meet without a list of
// programs:
//
//   log_shift(q sum_exp(x, c), d) = lse(x) - c + d + log q    but c and d cancel where both are the
//                                                             greatest of x
//
//   cross_entropy(x, t)           = token_loss(lse(x), pick(x, t), t)
//
// In real numbers any c does, but the exponentials of what is far below it are zeros, and of what
// is far above it are infinite. Maxima that were added up serve, and are told (collective.c).
// lse(x) is the second result of cross_entropy, which reads x alone. Attention over parts of the
// keys has the term of the whole, and says beside it which parts (coverage.c).
#include "verify/algebra/laws.h"

static struct term lse_term(struct builder *builder, struct part x) {
    return term_make(builder, OP_CROSS_ENTROPY, 1, 0, &x, 1);
}

struct scaled term_operand(const struct terms *terms, struct term term, unsigned i) {
    struct scaled operand = term_part(terms, term, i);
    return term_kind(terms, operand.of) == NODE_SCALED ? term_part(terms, operand.of, 0) : operand;
}

static struct term log_shift_term(struct builder *builder, struct scaled sum, struct scaled shift) {
    struct part parts[2] = {part_of(term_with_scale(builder, sum)),
                            part_of(term_with_scale(builder, shift))};
    return term_make(builder, OP_LOG_SHIFT, 0, 0, parts, 2);
}

static struct scaled log_of_scale(struct builder *builder, scale_id scale) {
    struct scaled one = {term_constant(builder, NODE_ONE), scale};
    struct scaled zero = {term_constant(builder, NODE_ZERO), SCALE_ONE};
    return scale == SCALE_ONE ? zero
                              : (struct scaled){log_shift_term(builder, one, zero), SCALE_ONE};
}

static bool is_greatest(struct builder *builder, struct scaled shift, struct scaled x) {
    struct part part = part_of(term_with_scale(builder, x));
    bool added = term_kind(builder->terms, shift.of) == NODE_MAXIMA;
    return shift.scale == SCALE_ONE &&
           (added || term_equal(shift.of, term_make(builder, OP_ROW_MAX, 0, 0, &part, 1)));
}

struct scaled law_log_shift(struct builder *builder, struct scaled sum, struct scaled shift) {
    struct terms *terms = builder->terms;
    if (term_kind(terms, sum.of) != OP_SUM_EXP)
        return (struct scaled){log_shift_term(builder, sum, shift), SCALE_ONE};
    struct scaled x = term_operand(terms, sum.of, 0), taken = term_operand(terms, sum.of, 1);
    struct scaled lse = {lse_term(builder, part_of(term_with_scale(builder, x))), SCALE_ONE};
    struct sum all = {0};
    sum_add(builder, &all, lse, SCALE_ONE);
    if (!scaled_equal(taken, shift) || !is_greatest(builder, shift, x)) {
        sum_add(builder, &all, taken, scale_rational(terms, -1, 1));
        sum_add(builder, &all, shift, SCALE_ONE);
    }
    sum_add(builder, &all, log_of_scale(builder, sum.scale), SCALE_ONE);
    return sum_finish(builder, &all);
}

struct scaled law_cross_entropy(struct builder *builder, struct scaled logits, struct term targets,
                                struct term rows) {
    struct part picks[3] = {part_of(logits.of), part_of(targets), part_of(rows)};
    struct scaled picked = {term_make(builder, OP_PICK, 0, 0, picks, 3), logits.scale};
    struct part losses[3] = {part_of(lse_term(builder, part_of(term_with_scale(builder, logits)))),
                             part_of(term_with_scale(builder, picked)), part_of(targets)};
    return (struct scaled){term_make(builder, OP_TOKEN_LOSS, 0, 0, losses, 3), SCALE_ONE};
}

// lse reads the operands of the attention but its third, the values.
bool law_is_statistic(struct builder *builder, struct scaled o, struct scaled lse) {
    struct terms *terms = builder->terms;
    static const unsigned read[] = {0, 1, 3, 4};
    struct term of_o = term_unnamed(builder, o.of), of_lse = term_unnamed(builder, lse.of);
    const struct node_key *a = terms->nodes[of_o.node].key, *b = terms->nodes[of_lse.node].key;
    if (a->kind != OP_ATTENTION || b->kind != OP_ATTENTION || a->result != 0 || b->result != 1 ||
        a->attributes != b->attributes || lse.scale != SCALE_ONE)
        return false;
    for (unsigned i = 0; i < 4; i++)
        if (!scaled_same(terms, term_operand(terms, of_o, read[i]), term_operand(terms, of_lse, i)))
            return false;
    return true;
}
