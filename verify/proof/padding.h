// Padding of flat shards. A sum over a shard adds what stands behind its elements, too, so that must be
// zeros. Collectives and slices put zeros there, ops that make zeros of zeros keep them, and the host fills
// states with zeros behind their elements before the first step. That every step leaves them zeros is an
// obligation for those tensors of whose states some sum made use of it.
#ifndef PLACE_VERIFY_PROOF_PADDING_H
#define PLACE_VERIFY_PROOF_PADDING_H

#include <stdbool.h>
#include <stdint.h>

struct arena;
struct fault;

// What the bytes behind or between the elements of a value are that are padding: anything, zeros, or zeros
// if the step found zeros in the padding of all states of a tensor.
typedef uint32_t padding_id;
enum { PADDING_ANY, PADDING_ZEROS, PADDING_OF_STATES /* + the tensor's number */ };
// Where zeros are made of zeros of both.
padding_id padding_both(padding_id, padding_id);

struct paddings { // of all steps; by tensor
    uint32_t n;
    bool *needed;                // some sum took zeros in the padding of its states for granted
    const struct fault **spoilt; // why a step may leave something else there; NULL: none does
};
struct paddings *paddings_new(struct arena *, uint32_t n_tensors);
// Whether it is zeros, for who makes use of it.
bool padding_is_zeros(struct paddings *, padding_id);
// A state that begins a step with the padding of its tensor's states ends it with `found`.
bool padding_is_kept(padding_id began, padding_id found);

#endif
