// Layers that are taken several at a time (recomputed, gathered, copied): the loop over them becomes one
// over groups, with a loop over one group's layers in it, whose bounds go with the group.
//
//   for l = 1 .. 5 { BODY }
// becomes, in groups of two,
//   for g = 0 .. 2 { for l = 2*g+1 .. 2*g+3 { BODY } }
//
// Every group is whole: `place` has cut ranges of layers such that their number is a multiple. So
// may groups be taken several at a time, and become groups of groups. Of what is recomputed and
// gathered at once the greater number need not be a multiple of the smaller: a group of the one is
// cut in pieces for the other, the last of which is shorter. In three with pieces of two:
//
//   for g = 0 .. 2 { for l = 3*g .. 3*g+2 { BODY }  for l = 3*g+2 .. 3*g+3 { BODY } }
#ifndef PLACE_PASSES_LAYER_GROUPS_H
#define PLACE_PASSES_LAYER_GROUPS_H

#include "ir/ir.h"
#include "ir/placement.h"
#include "passes/passes.h"

// The loop over layers, or over groups of them, in groups of `n`; `name`: of the groups' variable.
// Statements of the body are the same ones, changed.
struct statement cut_in_groups(struct program *, const struct statement *loop, int64_t n,
                               const char *name);
// A loop over the layers of a group, in pieces of `n` layers as counted from the group's first one,
// at the end of the block. In the order in which the loop goes.
void push_in_pieces(struct program *, struct block *, const struct statement *loop, int64_t first,
                    int64_t n);
// A loop to stand beside that of a group's layers: over the `from`th to before the `to`th of them,
// in ascending order. Its body is empty.
struct statement loop_in_group(const struct statement *loop, int64_t n, int64_t from, int64_t to);
// The layers of which something that calls in a block use or make is gathered or copied at once: in a loop
// over layers that begins with `layer`, or in loops over those of a group.
int64_t layers_taken_at_once(const struct program *, const struct placement *, const struct block *,
                             int64_t layer);
// The layers over which a statement goes: of the innermost loop around it or, where layers take
// turns, of the turns. False: it stands in no loop.
bool layers_around(const struct statement_walk *, struct layer_range *);
// Makes the variables that a statement names one deeper, since it comes to stand in one loop more.
void deepen_variables(const struct program *, struct statement *);

#endif
