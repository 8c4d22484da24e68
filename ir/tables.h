// The words of the representation: enums and tables of what its .def files list. Part of ir.h, which
// everybody includes.
#ifndef PLACE_IR_TABLES_H
#define PLACE_IR_TABLES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ir/arena.h"

enum dtype {
#define DTYPE(name, text, bytes, significand, exponent) DTYPE_##name,
#include "ir/dtypes.def"
#undef DTYPE
    N_DTYPES
};

enum dimension {
#define DIMENSION(name, text, splittable) DIM_##name,
#include "ir/dimensions.def"
#undef DIMENSION
    N_DIMENSIONS
};

enum role {
#define ROLE(name, text, parent, owns) ROLE_##name,
#include "ir/roles.def"
#undef ROLE
    N_ROLES
};

// The four training states, in the order of placement semantics (ARCHITECTURE.md).
enum state { STATE_PARAMETERS, STATE_OPTIMIZER, STATE_GRADIENTS, STATE_ACTIVATIONS, N_STATES };

// What equality with one device rests on; `relax` may give it up on some axes.
enum condition { CONDITION_GRADIENT_INTEGRITY, CONDITION_STATE_CONSISTENCY, N_CONDITIONS };

enum buffer_class {
#define CLASS(name, text, state, persistent, dimensions) CLASS_##name,
#include "ir/classes.def"
#undef CLASS
    N_CLASSES
};

enum tier {
#define TIER(name, text, what, limit) TIER_##name,
#include "ir/tiers.def"
#undef TIER
    N_TIERS
};

enum host_role {
    HOST_NONE, // the host does not know it
#define HOST_ROLE(name, text, class, dtype, stack, d0, d1, d2, what) HOST_##name,
#include "ir/host_roles.def"
#undef HOST_ROLE
    N_HOST_ROLES
};

enum attribute_name {
#define ATTRIBUTE(name, text, kind) ATTRIBUTE_##name,
#include "ir/attributes.def"
#undef ATTRIBUTE
    N_ATTRIBUTES
};
enum attribute_kind { KIND_INTEGER, KIND_REAL, KIND_WORD, KIND_AXES, KIND_DIMENSION };

enum op_kind {
#define OP(NAME, text, operands, results, signature, linear, whole, combine, index, elements,      \
           in_place, attributes, partition, cost, kernel)                                          \
    OP_##NAME,
#include "ir/ops.def"
#undef OP
    N_OPS
};
enum monoid { MONOID_SUM, MONOID_MAX, MONOID_ATTENTION };
enum partition_strategy { PARTITION_FOLLOW, PARTITION_REDUCE, PARTITION_COLLECTIVE };
enum op_kernel {
    KERNEL_ELEMENTWISE,
    KERNEL_PRODUCT,
    KERNEL_CALL,
    KERNEL_SCALAR,
    KERNEL_COLLECTIVE,
    KERNEL_NONE,
};

enum { MAX_RANK = 6, MAX_AXES = 16, MAX_OPERANDS = 8, MAX_RESULTS = 3, MAX_ROLES = 4 };

// A row of ops.def. `cost` is the FLOP per element, or one of the negative kinds.
enum { COST_EINSUM = -1, COST_ATTENTION = -2, COST_ATTENTION_BACKWARD = -3 };
struct op_row {
    const char *text, *operands, *results, *signature, *linear, *whole;
    enum monoid combine;
    const char *index, *elements, *in_place, *attributes;
    enum partition_strategy partition;
    int cost;
    enum op_kernel kernel;
};
extern const struct op_row op_rows[N_OPS];
unsigned op_operand_count(enum op_kind kind);
unsigned op_result_count(enum op_kind kind);
const char *op_operand_name(struct arena *arena, enum op_kind kind, unsigned i);
// The letter of the column `elements` for an operand or, counted on behind these, a result.
enum {
    ELEMENT_INTEGER = 'i',
    ELEMENT_DOUBLE = 'd',
    ELEMENT_COMPUTED = 'w', // in what the op computes in
    ELEMENT_ANY = 'n',      // integers, too
    ELEMENT_ANY_RESULT = 'm',
    ELEMENT_SCALAR = '.',
};
char op_element(enum op_kind kind, unsigned item);
// Whether the result has the type that its maker says.
bool op_frees_result(enum op_kind kind, unsigned result);
const char *op_result_name(struct arena *arena, enum op_kind kind, unsigned i);
// Whether the op adds its second operand to its first, which the kernel of the op that makes the
// second can do in its place.
bool op_adds_term(enum op_kind kind);
// Whether the op's kernel can add this result to what is there already (a product with beta = 1),
// so that adding it needs no memory in between.
bool op_result_accumulates(enum op_kind kind, unsigned result);
// Whether it is elementwise, but reads its first operand at other elements than it writes.
bool op_moves_elements(enum op_kind kind);
int op_find(const char *text);                                     // -1: no op of that name
int table_find(const char *const *names, int n, const char *text); // -1: not among the names

extern const char *const dtype_names[N_DTYPES];
extern const uint8_t dtype_bytes[N_DTYPES];
bool dtype_is_floating(enum dtype);
bool dtype_is_narrow(enum dtype); // floating, of fewer bits than anything is computed in
double dtype_epsilon(enum dtype); // from one to the next number
// Whether it has every value that the other has.
bool dtype_holds(enum dtype, enum dtype other);
extern const char *const dimension_names[N_DIMENSIONS];
extern const bool dimension_splittable[N_DIMENSIONS];
extern const char *const role_names[N_ROLES];
extern const enum role role_parents[N_ROLES];
extern const char *const role_owns[N_ROLES];
extern const char *const state_names[N_STATES];
extern const char *const condition_names[N_CONDITIONS];
extern const char *const class_names[N_CLASSES];
extern const enum state class_states[N_CLASSES]; // N_STATES: counted as transient
extern const bool class_persistent[N_CLASSES];
struct tier_row {
    const char *text, *what;
    const char *limit; // field of `device`; "": none
};
extern const struct tier_row tier_rows[N_TIERS];
extern const char *const tier_names[N_TIERS];
enum stack_kind {
    STACK_NONE,
    STACK_LAYERS,
    STACK_MICROBATCHES,
    STACK_SLOTS,
    STACK_IN_FLIGHT, // slots, of the microbatches between a stage's forward and its backward
    N_STACK_KINDS
};
extern const char *const stack_names[N_STACK_KINDS]; // "" of NONE
// A row of host_roles.def; that of HOST_NONE is empty.
struct host_role_row {
    const char *text;
    enum buffer_class class;
    enum dtype dtype;      // NONE: any that is floating
    enum stack_kind stack; // by what it may be stacked; NONE: it is one item
    enum dimension dims[3];
};
extern const struct host_role_row host_role_rows[N_HOST_ROLES];
extern const char *const host_role_names[N_HOST_ROLES]; // "" of HOST_NONE
extern const char *const attribute_names[N_ATTRIBUTES];
bool op_takes(enum op_kind kind, enum attribute_name name); // by its row
extern const enum attribute_kind attribute_kinds[N_ATTRIBUTES];

#endif
