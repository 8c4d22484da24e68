// Which element type holds for what, by what a file says and leaves open (docs/language.md, "Element
// types"). What is said of a part by a selector holds over what is said of all, the longer selector over
// the shorter; what is left open follows what it is made of. A slice says it of some layers, which then have
// tensors of their own, so that all layers of a tensor have its types.
#include <string.h>

#include "ir/config.h"

const char *const precision_names[N_PRECISION_USES] = {
#define PRECISION_FIELD(NAME, text) text,
#define EXPERT_FIELD(text)
#include "ir/precision_fields.def"
#undef PRECISION_FIELD
#undef EXPERT_FIELD
};

// A norm works in what layers hand on unless that is said of norms: of a part around one, `compute` is
// said of its products.
bool precision_rule_selects(const struct precision_rule *rule, const uint8_t *roles,
                            unsigned n_roles, int64_t layer) {
    const struct selector *selector = &rule->selector;
    bool is_norm = n_roles > 0 && roles[n_roles - 1] == ROLE_NORM;
    if (rule->use == PRECISION_COMPUTE && is_norm &&
        selector->roles[selector->n_roles - 1] != ROLE_NORM)
        return false;
    return selector_matches(selector, roles, n_roles) && selector_covers(selector, layer);
}

const struct precision_rule *precision_rule_of(const struct precision_config *precision,
                                               enum precision_use use, const uint8_t *roles,
                                               unsigned n_roles, int64_t layer) {
    const struct precision_rule *best = NULL;
    for (uint32_t i = 0; i < precision->n_rules; i++) {
        const struct precision_rule *rule = &precision->rules[i];
        if (rule->use == use && precision_rule_selects(rule, roles, n_roles, layer) &&
            (!best || rule->selector.n_roles > best->selector.n_roles))
            best = rule;
    }
    return best;
}

enum dtype dtype_narrower(enum dtype a, enum dtype b) {
    return dtype_holds(b, a) ? a : b;
}

enum dtype dtype_wider(enum dtype a, enum dtype b) {
    return dtype_holds(a, b) ? a : b;
}

enum dtype dtype_added_up_in(enum dtype of) {
    return of == DTYPE_F64 ? DTYPE_F64 : DTYPE_F32;
}

enum precision_use precision_work_use(const struct precision_config *precision,
                                      const uint8_t *roles, unsigned n_roles, int64_t layer) {
    bool is_norm = n_roles > 0 && roles[n_roles - 1] == ROLE_NORM;
    return is_norm && !precision_rule_of(precision, PRECISION_COMPUTE, roles, n_roles, layer)
               ? PRECISION_ACTIVATIONS
               : PRECISION_COMPUTE;
}

enum dtype precision_of_work(const struct precision_config *precision, const uint8_t *roles,
                             unsigned n_roles, int64_t layer) {
    enum precision_use use = precision_work_use(precision, roles, n_roles, layer);
    return precision_type(precision, use, roles, n_roles, layer);
}

// What nothing is said of.
static enum dtype open_type(const struct precision_config *precision, enum precision_use use,
                            const uint8_t *roles, unsigned n_roles, int64_t layer) {
    switch (use) {
    case PRECISION_MASTER:
        return DTYPE_NONE;
    case PRECISION_ACTIVATIONS:
        return precision_type(precision, PRECISION_COMPUTE, NULL, 0, layer);
    case PRECISION_ACCUMULATE:
        return dtype_added_up_in(precision_of_work(precision, roles, n_roles, layer));
    case PRECISION_GATHER:
        return precision_of_work(precision, roles, n_roles, layer);
    case PRECISION_REDUCE:
        return precision_type(precision, PRECISION_GRADIENTS, roles, n_roles, layer);
    default:
        return precision->all;
    }
}

static enum dtype said_or_open(const struct precision_config *precision, enum precision_use use,
                               const uint8_t *roles, unsigned n_roles, int64_t layer) {
    const struct precision_rule *rule = precision_rule_of(precision, use, roles, n_roles, layer);
    enum dtype type = rule ? rule->type : precision->of_all[use];
    return type == DTYPE_NONE && !(rule && use == PRECISION_MASTER)
               ? open_type(precision, use, roles, n_roles, layer)
               : type;
}

// More digits than parameters have would be zeros where they are gathered.
enum dtype precision_type(const struct precision_config *precision, enum precision_use use,
                          const uint8_t *roles, unsigned n_roles, int64_t layer) {
    enum dtype type = said_or_open(precision, use, roles, n_roles, layer);
    if (use != PRECISION_MASTER && use != PRECISION_GATHER)
        return type;
    enum dtype kept = precision_type(precision, PRECISION_PARAMETERS, roles, n_roles, layer);
    if (use == PRECISION_GATHER)
        return dtype_narrower(type, kept);
    return type == kept ? DTYPE_NONE : type;
}

enum dtype precision_of_tied(const struct precision_config *precision, const uint8_t *roles,
                             unsigned n_roles) {
    static const uint8_t head[] = {ROLE_HEAD};
    const uint8_t *of[] = {roles, head};
    const unsigned n[] = {n_roles, 1};
    enum dtype kept = precision_type(precision, PRECISION_PARAMETERS, roles, n_roles, 0);
    enum dtype types[2];
    for (int i = 0; i < 2; i++) {
        types[i] = said_or_open(precision, PRECISION_GATHER, of[i], n[i], 0);
        types[i] = dtype_narrower(types[i], kept);
    }
    enum dtype wider = dtype_wider(types[0], types[1]);
    return dtype_holds(wider, types[0]) ? wider : kept; // of bf16 and fp16 neither has the other's
}

int64_t precision_next(const struct precision_config *precision, int64_t layer) {
    int64_t next = INT64_MAX;
    for (uint32_t i = 0; i < precision->n_rules; i++) {
        int64_t of_rule = selector_next(&precision->rules[i].selector, layer);
        next = of_rule < next ? of_rule : next;
    }
    return next;
}

static bool is_said_of(const struct precision_config *precision, const struct precision_rule *rule,
                       int64_t layer) {
    for (uint32_t i = 0; i < precision->n_rules; i++) {
        const struct precision_rule *other = &precision->rules[i];
        const struct selector *a = &rule->selector, *b = &other->selector;
        if (other->use == rule->use && other->type == rule->type && a->n_roles == b->n_roles &&
            memcmp(a->roles, b->roles, a->n_roles) == 0 && selector_covers(b, layer))
            return true;
    }
    return false;
}

bool precision_alike(const struct precision_config *precision, int64_t a, int64_t b) {
    for (uint32_t i = 0; i < precision->n_rules; i++) {
        const struct precision_rule *rule = &precision->rules[i];
        if ((selector_covers(&rule->selector, a) && !is_said_of(precision, rule, b)) ||
            (selector_covers(&rule->selector, b) && !is_said_of(precision, rule, a)))
            return false;
    }
    return true;
}

enum dtype precision_of_sums(const struct train_config *train, const uint8_t *roles,
                             unsigned n_roles, int64_t layer) {
    const struct precision_config *precision = &train->precision;
    enum dtype gradients = precision_type(precision, PRECISION_GRADIENTS, roles, n_roles, layer);
    bool doubles = precision_of_work(precision, roles, n_roles, layer) == DTYPE_F64;
    enum dtype added_up = doubles ? DTYPE_F64 : dtype_added_up_in(gradients);
    return train->reproducible ? added_up : gradients;
}

enum dtype precision_of_reduction(const struct train_config *train, const uint8_t *roles,
                                  unsigned n_roles, int64_t layer) {
    return train->reproducible
               ? precision_of_sums(train, roles, n_roles, layer)
               : precision_type(&train->precision, PRECISION_REDUCE, roles, n_roles, layer);
}

bool precision_says(const struct precision_config *precision, enum precision_use use,
                    const uint8_t *roles, unsigned n_roles, int64_t layer) {
    return precision->of_all[use] || precision_rule_of(precision, use, roles, n_roles, layer);
}

const struct origin *precision_origin(const struct precision_config *precision,
                                      enum precision_use use, const uint8_t *roles,
                                      unsigned n_roles, int64_t layer) {
    const struct precision_rule *rule = precision_rule_of(precision, use, roles, n_roles, layer);
    if (rule)
        return &rule->origin;
    return precision->of_all[use] ? &precision->origins[use] : &precision->origin;
}

struct span precision_type_span(const struct precision_config *precision, enum precision_use use,
                                const uint8_t *roles, unsigned n_roles, int64_t layer) {
    const struct precision_rule *rule = precision_rule_of(precision, use, roles, n_roles, layer);
    return rule ? rule->type_span : precision->type_spans[use];
}

bool precision_is_uniform(const struct precision_config *precision) {
    enum dtype type = precision_type(precision, PRECISION_PARAMETERS, NULL, 0, 0);
    bool uniform = type == DTYPE_F32 || type == DTYPE_F64;
    for (int i = 0; i < N_PRECISION_USES; i++)
        uniform &= precision_type(precision, (enum precision_use)i, NULL, 0, 0) ==
                   (i == PRECISION_MASTER ? DTYPE_NONE : type);
    for (uint32_t i = 0; i < precision->n_rules; i++)
        uniform &= precision->rules[i].type == type || precision->rules[i].type == DTYPE_NONE;
    return uniform;
}

const char *dtype_word(enum dtype dtype) {
    static const char *const words[N_DTYPES] = {[DTYPE_NONE] = "none",
                                                [DTYPE_F32] = "fp32",
                                                [DTYPE_F64] = "fp64",
                                                [DTYPE_BF16] = "bf16",
                                                [DTYPE_F16] = "fp16"};
    return words[dtype];
}
