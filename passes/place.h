// Placement: from a strategy's statements to where every tensor's work and storage lie. place.c
// matches and weighs the statements, place_rules.c says which compositions have a meaning.
#ifndef PLACE_PASSES_PLACE_H
#define PLACE_PASSES_PLACE_H

#include <stdbool.h>

#include "ir/config.h"
#include "ir/placement.h"

struct diagnostics;

// Places every tensor of the reference program and checks the composition rules. False, with
// diagnostics, when the strategy has no meaning or is not compiled yet. Allocates in `arena`.
bool placement_derive(const struct config *, const struct program *, struct arena *,
                      struct diagnostics *, struct placement *out);

// ---- between place.c and place_rules.c --------------------------------------------------------

struct placing {
    const struct config *config;
    const struct program *program;
    struct arena *arena;
    struct diagnostics *diagnostics;
    struct placement *placement;
};

// The name of a list of axes as the user knows it: a product's name where there is one.
const char *axes_text(struct placing *, const struct axis_list *);
int64_t axis_size(const struct placing *, unsigned axis);
bool axis_list_has(const struct axis_list *, unsigned axis);
void axis_list_add(struct axis_list *, unsigned axis);

// The rules that need the statements only, before tensors are weighed; those about sizes, and those
// about the placement that came out.
void check_splits(struct placing *);
void check_modes(struct placing *);
void check_sizes(struct placing *);
void check_states(struct placing *);

#endif
