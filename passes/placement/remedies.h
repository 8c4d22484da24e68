// Edits of a help, that remedy what a strategy says.
#ifndef PLACE_PASSES_REMEDIES_H
#define PLACE_PASSES_REMEDIES_H

#include "passes/placement/placing.h"

// Whether there is an edit of what begins there: one text may say something of several states.
bool is_edited(const struct diagnostic *, struct span);
// The state and the selector of `like`, as a statement beside it says them.
const char *subject_text(struct placing *, enum state state, const struct mode_statement *like);
// `state` with another extent: in place of the strategy's own text that said otherwise, or (its own
// text wins over what `use` brought) as a new statement of what `beside` selects, behind it. NULL:
// behind the one that said otherwise. What that says of other axes stays.
void propose_extent(struct placing *, struct diagnostic *, const struct storage *, enum state state,
                    enum extent extent, const struct axis_list *axes,
                    const struct mode_statement *beside);
// The same in flat shards, in place of what was said or behind it.
void propose_flat_extent(struct placing *, struct diagnostic *, const struct storage *,
                         enum state state, enum extent extent, const struct axis_list *axes);
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
// What a statement says that makes the state anew: kept in place of that.
void propose_stored(struct placing *, struct diagnostic *, const struct mode_statement *);
// Flat shards, in every statement that says this way to cut states.
void propose_flat(struct placing *, struct diagnostic *, enum cut_by by);
// Another unit in which a statement takes layers, where its text says one.
void propose_unit(struct placing *, struct diagnostic *, const struct mode_statement *,
                  int64_t layers);
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
