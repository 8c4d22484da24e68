// Placement, between its files; placement_derive is declared in passes/passes.h.
//
//   place.c         matches and weighs the statements, tensor by tensor
//   divide.c    the rules by which work is divided, and what they cut of the tensors
//   splits.c  which divisions of work have a meaning together
//   ranges.c  which layers are placed alike
//   ring.c    the axis round which keys travel, and what it asks of the rest
//   rules.c   which modes have a meaning, alone and together
//   nesting.c whose shards lie in whose
//   islands.c which local steps have a meaning
//   wire.c    which gradients travel compressed
//   order.c   the order of sums, where training is reproducible
//   sums.c    whether all gradients have it
//   promised.c  which dimensions it lets a strategy divide
//   sizes.c   which sizes divide
//   heard.c   what is said without effect
//   remedies.c  the edits that helps propose
#ifndef PLACE_PASSES_PLACE_H
#define PLACE_PASSES_PLACE_H

#include "passes/passes.h"
#include "passes/reference/select.h"
#include "passes/routes/routes.h"

struct placing {
    const struct config *config;
    const struct program *program;
    struct arena *arena;
    struct diagnostics *diagnostics;
    struct placement *placement;
    struct modes_by_layer modes;
    // As is known: of how work is divided nothing is checked, and nothing is told of what is without
    // effect.
    bool work_is_right;
};

// The name of a list of axes as the user knows it: a product's name where there is one.
const char *axes_text(struct placing *, const struct axis_list *);
int64_t axis_size(const struct placing *, unsigned axis);
const char *axis_name(const struct placing *, unsigned axis);
// The axes of a statement that change anything: those larger than one.
struct axis_list effective_axes(const struct placing *, const struct axis_list *);
// Those of the axes that are wanted, in their own order.
struct axis_list those_in(const struct axis_list *axes, const struct axis_list *wanted);
// E305: neither of the statements wins.
void report_tie(struct placing *, const struct mode_statement *first,
                const struct mode_statement *second, unsigned axis);
// Whether a state is kept over an axis as one, of another tensor say, over another: its extent, and
// when gradients are summed.
bool stored_alike(const struct placed_tensor *a, unsigned axis, const struct placed_tensor *b,
                  unsigned other, enum state state);
// E119: no part of what the model has, in these words, is one that the statement selects. At its
// selector, where nothing brought it.
void report_selects_nothing(struct placing *, const struct mode_statement *, const char *words);
// W830: the statement decides about nothing, `instead` does; NULL: as there is no such state.
void report_decides_nothing(struct placing *, const struct mode_statement *,
                            const struct mode_statement *instead);
// E199: understood, but not compiled yet.
struct diagnostic *not_yet(struct placing *, const struct origin *origin, const char *what,
                           const char *instead);

// ---- remedies ---------------------------------------------------------------------------------
// Edits of a help. `state` with another extent: in place of the strategy's own text that said
// otherwise, or (its own text wins over what `use` brought) as a new statement behind `behind`.
void propose_extent(struct placing *, struct diagnostic *, const struct placed_tensor *,
                    enum state state, enum extent extent, const struct axis_list *axes,
                    struct span behind);
// A state of `odd` kept over the axes as that of `like`, where one statement says so.
void propose_alike(struct placing *, struct diagnostic *, const struct placed_tensor *odd,
                   const struct placed_tensor *like, enum state state,
                   const struct axis_list *axes);
struct axis_list axes_without(const struct axis_list *axes, const struct axis_list *others);
// A split with its axes in this order, if these are all.
void propose_split(struct placing *, struct diagnostic *, const struct split_statement *,
                   const struct axis_list *axes);
// Other microbatches, since the result of training is the same whatever they are; where the batch
// does not divide over its devices, other batches. Where training is reproducible a power of two of
// microbatches.
void propose_microbatches(struct placing *, struct diagnostic *);
// `reproducible` of so many devices, where the file says it.
void propose_reproducible(struct placing *, struct diagnostic *, int64_t most);
// What is said over these axes instead; over none, not at all.
void propose_axes(struct placing *, struct diagnostic *, const struct mode_statement *,
                  const struct axis_list *axes);
// The first of two statements, if the second says no more.
void propose_first(struct placing *, struct diagnostic *, const struct mode_statement *first,
                   const struct mode_statement *second);
// A statement behind one inside `relax`, which needs this condition relaxed, too.
void propose_relaxed(struct placing *, struct diagnostic *, const struct mode_statement *,
                     enum condition condition, const char *statement);
// The `relax` around a mode and the mode over these axes instead.
void propose_relaxed_axes(struct placing *, struct diagnostic *, const struct mode_statement *,
                          const struct axis_list *axes);

// The ranges of layers that statements tell apart; then, when tensors are placed, those that are
// placed differently, each of whole groups of layers.
void find_ranges(struct placing *);
void settle_ranges(struct placing *);

// The rules by which work is divided, of any strategy; then, of one that has a meaning, what they
// cut of the tensors.
void make_rules(struct placing *);
void place_work(struct placing *);
// The split, or where activations are stored; NULL: microbatches, an axis in time, have neither.
const struct origin *rule_origin(const struct work_rule *);
// Which axis, if any, keys and values travel round: where a split divides them and nothing gathers
// them. Then the rules that this needs, once the statements are known to have a meaning, and sizes.
void find_ring(struct placing *);
void check_ring(struct placing *);
// Into how many chunks of equal length a sequence must divide for the ring; 1: there is none.
// False, once reported: it does not.
int64_t ring_chunks(const struct placing *);
bool check_chunks(struct placing *);
// Of what a sequence's length must be a multiple. The help proposes the nearest such length that
// the model has positions for.
int64_t sequence_parts(const struct placing *);
void propose_sequence(struct placing *, struct diagnostic *);

// The rules that need the statements only, before tensors are weighed; those about sizes, and those
// about the placement that came out.
void check_splits(struct placing *);
void check_microbatch_splits(struct placing *); // once the microbatches are known
void check_modes(struct placing *);
void check_sizes(struct placing *);
void check_gathers(struct placing *);
// Local steps: the statements by themselves, then how the tensors came to be placed.
void check_islands(struct placing *);
void check_island_states(struct placing *);
// Compressed gradients: the statements by themselves, which say how; then of every tensor whether.
void find_wire(struct placing *);
void place_wire(struct placing *, struct placed_tensor *);
void check_wires(struct placing *);
// Where training is reproducible: what it asks of a strategy; of that, which dimensions may be
// divided, and that sums over the batch have one order, which is noted.
void check_order(struct placing *);
void check_promised(struct placing *);
void check_sums(struct placing *);
// E313, so far without what to do.
struct diagnostic *report_no_order(struct placing *, const struct origin *origin,
                                   const char *message);
void check_states(struct placing *);
void check_nesting(struct placing *, const struct placed_tensor *);
// Of a strategy that is right: what it says without effect.
void check_heard(struct placing *);

#endif
