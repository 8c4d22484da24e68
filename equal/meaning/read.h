// Between the files that read instructions.
//
//   meaning.c     computations, what is called, loops with known counts
//   branches.c    choices of branches
//   elements.c    functions of elements
//   wrapping.c    integers of few bits
//   moves.c       elements at other places
//   folds.c       products and sums over dimensions
//   indexed.c     gather and scatter
//   opaque.c      ops without rules
//   mapped.c      dimensions over which these map
//   collectives.c elements of groups of devices
//   permutations.c those of other devices
//   numbers.c     what the device's number decides
#ifndef PLACE_EQUAL_MEANING_READ_H
#define PLACE_EQUAL_MEANING_READ_H

#include "equal/meaning/meaning.h"

// An instruction that is being read, and its operands' meanings.
struct at {
    struct reading *r;
    const struct computation *of;
    const struct instruction *by;
    const struct meaning *meanings; // of the computation's instructions
    struct coordinates all;         // those of its result
};

static inline struct viewed operand_value(const struct at *at, uint32_t i) {
    return at->meanings[at->by->operands[i]].value;
}
static inline const struct array_shape *operand_shape(const struct at *at, uint32_t i) {
    return graph_operand(at->of, at->by, i)->shape;
}
static inline enum number_kind shape_kind(const struct array_shape *shape) {
    return element_rows[shape->element].kind;
}
// A value that equals nothing, and why.
struct viewed unread_value(const struct at *, const char *why);
// The primitive that a computation does with its two parameters, in whichever order; OPAQUE: another one.
enum primitive region_primitive(const struct graph *, uint32_t computation);
// What the primitive folds to over the coordinates in the mask. False: it does not fold.
bool fold_values(struct calculus *, enum primitive, enum number_kind, struct viewed, uint64_t mask,
                 const struct coordinates *, struct viewed *);

// Whether a branch can be chosen of which it is not known which one it is: devices that take different ones must not meet
// others there.
bool can_choose_branches(const struct at *);
struct meaning choose_branches(const struct at *, const struct meaning *branches);
bool read_elements(const struct at *, struct viewed *);
// Whether numbers of the second type are in the first what they are in their own: reals are, integers if it has them all.
bool element_holds(enum element, enum element of);
// A cast to integers, of integers or truths and of reals, which become the largest where they are too large.
struct viewed cast_integer(const struct at *, struct viewed);
struct viewed cast_real(const struct at *, struct viewed);
// The result of that shape, or member of it, in its type, where what was made of numbers may be none of it.
struct viewed wrapped_around(const struct at *, const struct array_shape *, struct viewed);
bool read_move(const struct at *, struct viewed *);
bool read_fold(const struct at *, struct viewed *);
bool read_indexed(const struct at *, struct viewed *);
enum { NOT_MAPPED = -1 };
// The dimension of the result, or of each of its members, that the operand's is, over which the op maps; or NOT_MAPPED. One
// behind the result's last is the dimension over which is summed what the op makes at each place of it.
int mapped_dimension(const struct at *, uint32_t operand, uint32_t dimension);
// The result, or member of it, of an op that has no rule. False: it may depend on more than its operands.
bool read_opaque(const struct at *, uint32_t member, const struct array_shape *, struct viewed *);
bool read_collective(const struct at *, uint32_t operand, const struct array_shape *result,
                     struct viewed *);
// What each device has of a collective-permute of the value.
bool read_permutation(const struct at *, struct viewed, struct viewed *);
// The value of an array of integers that depends on the device's number alone as digits of that, if it is such.
struct viewed in_device_digits(const struct at *, struct viewed);
// Such a value that is made to stay between zero and the largest, as starts of slices are. False: it is none.
bool clamped_on_devices(const struct at *, struct viewed, int64_t most, struct affine *);

#endif
