// What stands behind an instruction's operands: `, dimensions={0}, to_apply=%add, metadata={op_name="psum"}`.
#ifndef PLACE_EQUAL_HLO_ATTRIBUTES_H
#define PLACE_EQUAL_HLO_ATTRIBUTES_H

#include "equal/hlo/reader.h"

enum attribute {
#define ATTRIBUTE(name, text, form, field) ATTRIBUTE_##name,
#include "equal/hlo/attributes.def"
    N_ATTRIBUTES
};

struct called_by {
    enum attribute attribute;
    uint32_t computation;
};
struct called_list {
    struct called_by *of;
    uint32_t n, cap;
};

// An instruction's attributes while they are read.
struct draft {
    struct instruction_attributes to;
    struct index_numbers indices;
    uint64_t seen; // attributes, as bits
    uint32_t n_slices, n_padding;
    int64_t channel;
    bool uses_global_ids, is_for_partitioner;
    struct word groups, target, sharding, path;
    uint32_t frame;
    struct called_list called;
    bool keeps_others; // what has no field is kept as text
    struct word *others;
    uint32_t n_others, others_cap;
};

// Whether front ends say there what the pass that partitions does away with.
bool mentions_partitioner(struct word value);
struct words attribute_words(struct arena *scratch);
bool read_attributes(struct reader *, enum primitive, struct draft *);
static inline bool has_attribute(const struct draft *draft, enum attribute attribute) {
    return draft->seen >> attribute & 1;
}
// Fails at `name` where an attribute is missing that the primitive cannot be without.
bool need_attributes(struct reader *, enum primitive, const struct draft *, struct word name);

#endif
