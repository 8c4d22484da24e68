// The tables of the representation, from their .def files.
#include "ir/ir.h"

#include <math.h>
#include <string.h>

const char *const dtype_names[N_DTYPES] = {
#define DTYPE(name, text, bytes, significand, exponent) text,
#include "ir/dtypes.def"
#undef DTYPE
};

const uint8_t dtype_bytes[N_DTYPES] = {
#define DTYPE(name, text, bytes, significand, exponent) bytes,
#include "ir/dtypes.def"
#undef DTYPE
};

static const struct {
    uint8_t significand, exponent;
} dtype_bits[N_DTYPES] = {
#define DTYPE(name, text, bytes, significand, exponent) {significand, exponent},
#include "ir/dtypes.def"
#undef DTYPE
};

bool dtype_is_floating(enum dtype dtype) {
    return dtype_bits[dtype].exponent > 0;
}

bool dtype_is_narrow(enum dtype dtype) {
    return dtype_is_floating(dtype) && dtype_bytes[dtype] < dtype_bytes[DTYPE_F32];
}

bool dtype_holds(enum dtype dtype, enum dtype other) {
    return dtype_bits[dtype].significand >= dtype_bits[other].significand &&
           dtype_bits[dtype].exponent >= dtype_bits[other].exponent;
}

double dtype_epsilon(enum dtype dtype) {
    return ldexp(1, 1 - dtype_bits[dtype].significand);
}

const char *const dimension_names[N_DIMENSIONS] = {
#define DIMENSION(name, text, splittable) text,
#include "ir/dimensions.def"
#undef DIMENSION
};

const bool dimension_splittable[N_DIMENSIONS] = {
#define DIMENSION(name, text, splittable) splittable,
#include "ir/dimensions.def"
#undef DIMENSION
};

const char *const role_names[N_ROLES] = {
#define ROLE(name, text, parent, owns) text,
#include "ir/roles.def"
#undef ROLE
};

const enum role role_parents[N_ROLES] = {
#define ROLE(name, text, parent, owns) ROLE_##parent,
#include "ir/roles.def"
#undef ROLE
};

const char *const role_owns[N_ROLES] = {
#define ROLE(name, text, parent, owns) owns,
#include "ir/roles.def"
#undef ROLE
};

const char *const state_names[N_STATES] = {"parameters", "optimizer", "gradients", "activations"};
const char *const condition_names[N_CONDITIONS] = {"gradient_integrity", "state_consistency"};

const char *const class_names[N_CLASSES] = {
#define CLASS(name, text, state, persistent, dimensions) text,
#include "ir/classes.def"
#undef CLASS
};

const enum state class_states[N_CLASSES] = {
#define CLASS(name, text, state, persistent, dimensions) state,
#include "ir/classes.def"
#undef CLASS
};

const bool class_persistent[N_CLASSES] = {
#define CLASS(name, text, state, persistent, dimensions) persistent,
#include "ir/classes.def"
#undef CLASS
};

const struct host_role_row host_role_rows[N_HOST_ROLES] = {
    {0},
#define HOST_ROLE(name, text, class, dtype, stack, d0, d1, d2, what)                               \
    {text, CLASS_##class, DTYPE_##dtype, STACK_##stack, {DIM_##d0, DIM_##d1, DIM_##d2}},
#include "ir/host_roles.def"
#undef HOST_ROLE
};

const char *const host_role_names[N_HOST_ROLES] = {
    "",
#define HOST_ROLE(name, text, class, dtype, stack, d0, d1, d2, what) text,
#include "ir/host_roles.def"
#undef HOST_ROLE
};

const char *const attribute_names[N_ATTRIBUTES] = {
#define ATTRIBUTE(name, text, kind) text,
#include "ir/attributes.def"
#undef ATTRIBUTE
};

const enum attribute_kind attribute_kinds[N_ATTRIBUTES] = {
#define ATTRIBUTE(name, text, kind) KIND_##kind,
#include "ir/attributes.def"
#undef ATTRIBUTE
};

const char *const operation_names[N_OPERATIONS] = {"sum", "max"};

const char *const wire_way_names[N_WIRE_WAYS] = {
    "",
#define WAY(name, text, what) text,
#include "ir/ways.def"
#undef WAY
};

const char *const rate_names[N_RATES] = {
#define RATE(name, text, what) text,
#include "ir/rates.def"
#undef RATE
};

const char *const collective_names[N_COLLECTIVES] = {
#define COLLECTIVE(name, text, does, op) text,
#include "ir/collectives.def"
#undef COLLECTIVE
};

enum collective_effect { EFFECT_SUM, EFFECT_GATHER, EFFECT_MOVE };

static enum collective_effect effect_of(enum collective_kind kind) {
    static const enum collective_effect effects[N_COLLECTIVES] = {
#define COLLECTIVE(name, text, does, op) EFFECT_##does,
#include "ir/collectives.def"
#undef COLLECTIVE
    };
    return effects[kind];
}

bool collective_sums(enum collective_kind kind) {
    return effect_of(kind) == EFFECT_SUM;
}

bool collective_gathers(enum collective_kind kind) {
    return effect_of(kind) == EFFECT_GATHER;
}

const struct tier_row tier_rows[N_TIERS] = {
#define TIER(name, text, what, limit) {text, what, limit},
#include "ir/tiers.def"
#undef TIER
};
const char *const tier_names[N_TIERS] = {
#define TIER(name, text, what, limit) text,
#include "ir/tiers.def"
#undef TIER
};
const char *const phase_names[N_PHASES] = {"forward", "backward", "update"};
const char *const step_names[N_STEPS] = {"train", "evaluate", "average"};
const char *const stack_names[N_STACK_KINDS] = {"", "layers", "microbatches", "slots", "in_flight"};
const char *const init_names[N_INITS] = {"normal", "ones", "zeros"};

// Words of the column `cost`.
enum {
    EINSUM = COST_EINSUM,
    ATTENTION = COST_ATTENTION,
    ATTENTION_BACKWARD = COST_ATTENTION_BACKWARD
};

const struct op_row op_rows[N_OPS] = {
#define OP(NAME, text, operands, results, signature, linear, whole, combine, index, elements,      \
           in_place, attributes, partition, cost, kernel)                                          \
    {text,     operands,       results,          signature,                                        \
     linear,   whole,          MONOID_##combine, index,                                            \
     elements, in_place,       attributes,       PARTITION_##partition,                            \
     cost,     KERNEL_##kernel},
#include "ir/ops.def"
#undef OP
};

static unsigned words_in(const char *text) {
    unsigned n = *text != 0;
    for (; *text; text++)
        n += *text == ' ';
    return n;
}

bool op_takes(enum op_kind kind, enum attribute_name name) {
    size_t length = strlen(attribute_names[name]);
    for (const char *at = op_rows[kind].attributes; *at; at += strspn(at, " ?")) {
        size_t word = strcspn(at, " ?");
        if (word == length && memcmp(at, attribute_names[name], word) == 0)
            return true;
        at += word;
    }
    return false;
}

unsigned op_operand_count(enum op_kind kind) {
    return words_in(op_rows[kind].operands);
}

unsigned op_result_count(enum op_kind kind) {
    return words_in(op_rows[kind].results);
}

char op_element(enum op_kind kind, unsigned item) {
    const char *elements = op_rows[kind].elements;
    unsigned operands = (unsigned)strcspn(elements, "-");
    return elements[item < operands ? item : item + 2];
}

bool op_frees_result(enum op_kind kind, unsigned result) {
    unsigned operands = op_operand_count(kind);
    char letter = op_element(kind, operands + result);
    return letter >= 'a' && letter != ELEMENT_INTEGER && letter != ELEMENT_DOUBLE &&
           letter != ELEMENT_COMPUTED && !memchr(op_rows[kind].elements, letter, operands);
}

bool op_moves_elements(enum op_kind kind) {
    const char *operand = op_rows[kind].signature, *result = strstr(operand, "->");
    size_t length = strcspn(operand, ",-");
    bool alike = result && strncmp(operand, result + 2, length) == 0 && !result[2 + length];
    return op_rows[kind].kernel == KERNEL_ELEMENTWISE && op_rows[kind].index[0] && !alike;
}

bool op_adds_term(enum op_kind kind) {
    return kind == OP_ACCUMULATE || kind == OP_ACCUMULATE_PAIR;
}

bool op_result_accumulates(enum op_kind kind, unsigned result) {
    switch (kind) {
    case OP_EINSUM:
    case OP_SUM_ROWS:
    case OP_EMBEDDING_BACKWARD:
        return true;
    case OP_LAYER_NORM_BACKWARD: // the gradients of gain and bias
    case OP_RMS_NORM_BACKWARD:
        return result > 0;
    default:
        return false;
    }
}

// The n-th word of a space-separated list, copied; "" behind the last.
static const char *nth_word(struct arena *arena, const char *text, unsigned n) {
    for (; n > 0 && *text; n--) {
        text += strcspn(text, " ");
        text += *text == ' ';
    }
    return arena_string(arena, text, strcspn(text, " "));
}

const char *op_result_name(struct arena *arena, enum op_kind kind, unsigned i) {
    return nth_word(arena, op_rows[kind].results, i);
}

const char *op_operand_name(struct arena *arena, enum op_kind kind, unsigned i) {
    return nth_word(arena, op_rows[kind].operands, i);
}

int table_find(const char *const *names, int n, const char *text) {
    for (int i = 0; i < n; i++)
        if (strcmp(names[i], text) == 0)
            return i;
    return -1;
}

int op_find(const char *text) {
    for (int i = 0; i < N_OPS; i++)
        if (strcmp(op_rows[i].text, text) == 0)
            return i;
    return -1;
}
