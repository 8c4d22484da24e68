// Recompute, between its files. The pass itself is declared in passes/passes.h.
//
//   recompute.c         the pass: what is dropped, ranges of layers
//   recompute_said.c    which ops a strategy says to recompute
//   recompute_unit.c    units that compute forward's values again
//   recompute_groups.c  several layers at once: loops over groups of layers
#ifndef PLACE_PASSES_RECOMPUTE_H
#define PLACE_PASSES_RECOMPUTE_H

#include "passes/passes.h"
#include "passes/reference/select.h"

// A loop over layers of which only every n-th one's input is kept: n layers are recomputed, then
// run backwards, then the n before them.
struct layer_group {
    int64_t begin, end, n;
    int64_t cut; // layers of which groups are cut, the last shorter: n, or gathered at once
    const struct call *forward; // of the one unit that the loop calls
    const struct loop *loop;    // around it
    buffer_id hidden;           // which a layer reads, and writes for the next
    // Compute what was dropped; operands and results as forward has them. What the last layer of a
    // group hands on nobody reads again. Of no unit: it has nothing to compute.
    struct call again, last_again;
};

struct recomputing {
    struct program *program;
    struct modes_by_layer modes;
    struct placement placement;
    uint32_t n_buffers;                // of the arrays; those that are added later have greater ids
    const struct statement **writer;   // of buffers: the forward call that leaves it; NULL: none
    const struct layer_range **layers; // of buffers: over which their writer goes; NULL: none
    bool *feeds_forward;               // of buffers: a forward call reads it
    bool *dropped;                     // of buffers: forward leaves it no more
    bool *heard;                       // of the strategy's modes: it was asked for what it decides
    struct layer_group *groups;
    uint32_t n_groups, cap_groups;
};

// ---- what is said (recompute_said.c) ----------------------------------------------------------
bool recomputes_anything(const struct strategy_config *);
// Does the strategy say to recompute the op in these layers (NULL: in none)? Notes which statements
// it heard.
bool is_recomputed(const struct recomputing *, const struct op *, const struct layer_range *);
// W830: of the strategy's own statements, those that were never heard.
void report_recomputes_nothing(const struct recomputing *, struct diagnostics *);

// ---- units (recompute_unit.c) -----------------------------------------------------------------
// The backward unit of `call` computes again what it read from the dropped buffers that a forward
// call has left, of which `left` is one.
void remake_backward(struct recomputing *, buffer_id left, struct call *call);
// A new unit that computes these values of forward's unit, from what forward read and from what is
// kept. The call of it has no results' places yet.
struct call make_recomputing(struct recomputing *, const struct call *forward,
                             const struct layer_range *, const char *suffix, const value_id *wanted,
                             uint32_t n);

// ---- groups (recompute_groups.c) --------------------------------------------------------------
void find_groups(struct recomputing *);
// The group to whose layers a forward call belongs; NULL: none.
const struct layer_group *layer_group_of(const struct recomputing *, const struct call *forward);
// Makes the units that compute again what was dropped; then, when forward leaves it no more, loops
// over groups of the loops over their layers, and of what was dropped slots for one group.
void recompute_in_groups(struct recomputing *);
void cut_groups(struct recomputing *);

#endif
