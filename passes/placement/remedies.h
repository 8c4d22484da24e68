// Edits of a help, that remedy what a strategy says.
#ifndef PLACE_PASSES_REMEDIES_H
#define PLACE_PASSES_REMEDIES_H

#include "passes/placement/placing.h"

// `state` with another extent: in place of the strategy's own text that said otherwise, or (its own
// text wins over what `use` brought) as a new statement behind `behind`.
void propose_extent(struct placing *, struct diagnostic *, const struct storage *, enum state state,
                    enum extent extent, const struct axis_list *axes, struct span behind);
// A state cut by whole tensors, likewise.
void propose_owners(struct placing *, struct diagnostic *, const struct storage *, enum state state,
                    const struct axis_list *axes, struct span behind);
// A state of `odd` kept over the axes as that of `like`, where one statement says so.
void propose_alike(struct placing *, struct diagnostic *, const struct storage *odd,
                   const struct storage *like, enum state state, const struct axis_list *axes);
// A split with its axes in this order, if these are all.
void propose_split(struct placing *, struct diagnostic *, const struct split_statement *,
                   const struct axis_list *axes);
// `reproducible` of so many devices, where the file says it.
void propose_reproducible(struct placing *, struct diagnostic *, int64_t most);
// What is said over these axes instead; over none, not at all.
void propose_axes(struct placing *, struct diagnostic *, const struct mode_statement *,
                  const struct axis_list *axes);
// The first of two statements, if the second says no more.
void propose_first(struct placing *, struct diagnostic *, const struct mode_statement *first,
                   const struct mode_statement *second);
// A statement behind the strategy's own one.
void propose_statement(struct placing *, struct diagnostic *, const struct mode_statement *behind,
                       const char *statement);
// A statement behind one inside `relax`, which needs this condition relaxed, too.
void propose_relaxed(struct placing *, struct diagnostic *, const struct mode_statement *,
                     enum condition condition, const char *statement);
// The `relax` around a mode and the mode over these axes instead.
void propose_relaxed_axes(struct placing *, struct diagnostic *, const struct mode_statement *,
                          const struct axis_list *axes);

#endif
