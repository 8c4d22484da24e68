// The parts of `place`, which placement_derive (passes/passes.h) calls one after the other; what
// the parts share stands in headers of their own (placing.h, work.h, reports.h, remedies.h).
//
//   place.c     matches and weighs the statements, tensor by tensor
//   divide.c    the rules by which work is divided, and what they cut of the tensors
//   splits.c    which divisions of work have a meaning together
//   ranges.c    which layers are placed alike
//   pipeline.c  which layers a pipeline's stages have, and when they are computed
//   said_schedule.c  whether what a file says of that is an order of its tasks
//   ring.c      the axis round which keys travel, and what it asks of the rest
//   rules.c     which modes have a meaning, alone and together
//   dimensions.c  which states are cut along which dimension
//   nesting.c   whose shards lie in whose
//   islands.c   which local steps have a meaning
//   wire.c      which gradients travel compressed
//   owners.c    which states are cut by whole tensors
//   whole.c     what an update needs whole
//   order.c     the order of sums, where training is reproducible
//   sums.c      whether all gradients have it
//   promised.c  which dimensions it lets a strategy divide
//   batch.c     which batches divide
//   sizes.c     which other sizes divide
//   gathers.c   which layers are gathered together, and whether they fit
//   residencies.c which states can be made when they are needed
//   offloading.c which can be kept on the host or on disk
//   heard.c     what is said without effect
#ifndef PLACE_PASSES_PLACE_H
#define PLACE_PASSES_PLACE_H

#include "passes/placement/placing.h"

// The ranges of layers that statements tell apart; then, when tensors are placed, those that are
// placed differently, each of whole groups of layers.
void find_ranges(struct placing *);
void settle_ranges(struct placing *);

// The statements that keep what forward leaves for backward of a layer of the range elsewhere, of the
// layer's input, then op by op; NULL: none does.
struct kept_walk {
    bool begun;
    uint32_t unit, op;
};
bool next_kept(const struct placing *, uint32_t range, struct kept_walk *,
               const struct mode_statement **);

// The stages of a pipeline; then, once the microbatches are known, its schedule.
void find_pipeline(struct placing *);
void check_pipeline(struct placing *);
// Whether a stage begins with the layer; the first behind it with which one does, INT64_MAX: none.
bool begins_stage(const struct placement *, int64_t layer);
int64_t next_stage(const struct placement *, int64_t layer);

// The rules by which work is divided, of any strategy; then, of one that has a meaning, what they
// cut of the tensors.
void make_rules(struct placing *);
void place_work(struct placing *);
// Which axis, if any, keys and values travel round: where a split divides them and nothing gathers
// them. Then the rules that this needs, once the statements are known to have a meaning; and
// whether the sequence divides into the ring's chunks: false, once reported, it does not.
void find_ring(struct placing *);
void check_ring(struct placing *);
bool check_chunks(struct placing *);

// The rules that need the statements only, before tensors are weighed; those about sizes, and those
// about the placement that came out.
void check_splits(struct placing *);
void check_microbatch_splits(struct placing *); // once the microbatches are known
void check_modes(struct placing *);
void check_sizes(struct placing *);
void check_gathers(struct placing *);
bool divides_batch(const struct placing *); // a step is whole microbatches
void check_batch(struct placing *);
// Other microbatches, since the result of training is the same whatever they are; where the batch
// does not divide over its devices, other batches. Where training is reproducible a power of two of
// microbatches.
void propose_microbatches(struct placing *, struct diagnostic *);
// A size of which there are so many, as few of these as the batch divides into, where it divides over its devices;
// else a batch of so many.
void propose_number_of_microbatches(struct placing *, struct diagnostic *, int64_t least,
                                    int64_t most);
// Local steps: the statements by themselves, then how the tensors came to be placed.
void check_islands(struct placing *);
void check_island_states(struct placing *);
// Compressed gradients: the statements by themselves, which say how; then of every tensor whether.
void find_wire(struct placing *);
void place_wire(struct placing *, struct storage *);
void check_wires(struct placing *);
// Where training is reproducible: what it asks of a strategy; of that, which dimensions may be
// divided, and that sums over the batch have one order, which is noted.
void check_order(struct placing *);
void check_promised(struct placing *);
void check_sums(struct placing *);
void check_states(struct placing *);
void check_residencies(struct placing *); // what is made when it is needed can be
void check_offloading(struct placing *);  // what is kept elsewhere can be
// Along which dimension of a tensor a statement cuts its shards, plus one; 0: along none. Then of what is
// stored alike, with the first of its tensors, and what that asks.
uint8_t dimension_along(const struct mode_statement *, const struct tensor *);
void place_along(const struct placing *, struct storage *, uint32_t tensor);
void check_along(struct placing *);
// Whether layers' tensors have owners; then which strategies that say so have a meaning.
void place_owners(struct storage *, bool layered);
void check_owners(struct placing *);
void check_whole(struct placing *); // what an update needs whole is
// The order of the axes that cut a tensor's states; then whether it is the one that products say.
void order_shards(struct placing *, struct storage *);
void check_nesting(struct placing *, const struct storage *);
// What a strategy that is right says without effect. W830: the statement decides about
// nothing, `instead` does; NULL: as there is no such state.
void check_heard(struct placing *);
void report_decides_nothing(struct placing *, const struct mode_statement *,
                            const struct mode_statement *instead);

#endif
