// Who computes what: of an op, a value or a tensor with given roles and dimensions, which axes cut
// which dimension. One answer for all of them, so that a weight is cut as the ops that read it.
#ifndef PLACE_PASSES_WORK_H
#define PLACE_PASSES_WORK_H

#include "ir/ir.h"
#include "ir/placement.h"

// A dimension as an op sees it: a label of its signature.
struct work_label {
    uint32_t dimensions; // the bit of every dimension that operands with this label give it: query
                         // and key/value heads are one label
    bool whole;          // a device needs all of it
};

// A part of the model: a path of roles, in a layer. All layers of a range are divided alike; what
// belongs to none has 0.
struct part {
    const uint8_t *roles;
    unsigned n_roles;
    int64_t layer;
};
// What a scope selects, in the first of its layers.
struct part part_of_scope(const struct selector *scope);
// The split, or where activations are stored; NULL: microbatches, an axis in time, have neither.
const struct origin *rule_origin(const struct work_rule *);
// Are two layers divided alike, whatever the part?
bool work_is_alike(const struct placement *, int64_t a, int64_t b);

// Is a flat shard as good to an op as a tensor? To one that works on elements, each by itself or summed over
// all, of which the signature says: an operand has at most one label. Any other mixes rows and columns, which
// a flat shard has not.
bool op_works_on_shards(const struct op *);

// The labels of an op's operands, each once: their letters, closed by 0, and what they are. None of
// collectives, which have no signature.
enum { MAX_LABELS = MAX_OPERANDS * MAX_RANK };
unsigned work_labels(const struct unit *, const struct op *, char letters[MAX_LABELS + 1],
                     struct work_label labels[MAX_LABELS]);

// The axes that cut each label, outermost first, into `cuts`. An axis cuts one label at most: that
// of the innermost split in whose scope the roles are, else that by which activations are stored
// there; a label that must be whole is passed over. The ring's axis cuts queries and keys. `by`: of
// every axis the rule that decided, or NULL.
void work_cuts(const struct placement *, struct part, const struct work_label *labels,
               unsigned n_labels, struct axis_list *cuts, const struct work_rule *by[MAX_AXES]);
// The axes that cut two labels: the device pairs its part of one with parts of the other that
// travel.
uint64_t paired_axes(const struct axis_list *cuts, unsigned n_labels);
// The same for a value as it is kept between forward and backward: cut also where activations are
// stored as parts that are gathered for every use.
void work_cuts_of_kept(const struct placement *, struct part, const struct dim *dims, unsigned rank,
                       struct axis_list cuts[MAX_RANK]);
// How result `i` of a unit is divided where it is handed on, in a layer; `kept`: backward reads it.
// False: the result is no op's.
bool work_cuts_of_result(const struct placement *, const struct unit *, uint32_t i, int64_t layer,
                         bool kept, struct axis_list cuts[MAX_RANK]);
// The axes that cut a dimension where a scope selects, if nothing else is there to be cut.
struct axis_list work_cuts_in_scope(const struct placement *, const struct selector *scope,
                                    enum dimension dimension);
// The same of what is kept between forward and backward.
struct axis_list work_cuts_of_kept_in_scope(const struct placement *, const struct selector *scope,
                                            enum dimension dimension);
// The same for a tensor's or a value's own dimensions.
void work_cuts_of_dims(const struct placement *, struct part, const struct dim *dims, unsigned rank,
                       struct axis_list cuts[MAX_RANK], const struct work_rule *by[MAX_AXES]);

#endif
