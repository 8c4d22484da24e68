// Selectors against tensors: which parameters a statement of the `.place` file is about.
#ifndef PLACE_PASSES_SELECT_H
#define PLACE_PASSES_SELECT_H

#include <stdbool.h>

#include "ir/config.h"
#include "ir/diagnostic.h"
#include "ir/ir.h"
#include "passes/reference/by_layer.h"

// Is there a layer that both cover?
bool selectors_overlap(const struct selector *a, const struct selector *b);

// Does the selector's slice leave out some of `layers` layers?
bool selector_is_partial(const struct selector *selector, int64_t layers);

// E119: no part of what the model has, in these `words` ("no tensor of"), is selected. `of`: what
// stands in front of the selector at `at`, where that is the user's to change; else NULL.
struct diagnostic *report_selects_no(const char *words, struct diagnostics *,
                                     const struct model_config *, const struct selector *,
                                     struct span at, const char *of);

// The optimizer rule that holds for a tensor in a layer (0 for what is in none): the longest selector
// that matches. Rule 0 matches everything. Of what a rule of Muon selects it holds for matrices of
// layers alone.
const struct optimizer_rule *optimizer_rule_of(const struct train_config *train,
                                               const struct tensor *tensor, int64_t layer);
// Whether all tensors have optimizers in one layer that do what those in another do.
bool optimizers_alike(const struct train_config *, const struct job *, int64_t a, int64_t b);
// Whether it goes on with moments, or a momentum, of what it updates (update.c).
bool optimizer_keeps_moments(const struct optimizer_config *, const struct tensor *);
// The first layer behind this one in which another rule may hold; INT64_MAX: none.
int64_t optimizer_next(const struct train_config *, int64_t layer);
// The layers, in ranges which have the same tensors and in which none of these has different optimizers, or
// of which `precision` says the same: at least one range.
struct layer_ranges {
    struct layer_range *list;
    uint32_t n;
};
struct layer_ranges optimizer_ranges(struct arena *, const struct train_config *,
                                     const struct job *);
struct layer_ranges precision_ranges(struct arena *, const struct precision_config *,
                                     int64_t layers);
// E199: of more of these ranges than are compiled other types (`use`) are said, last at `origin`.
void report_layer_ranges(struct diagnostics *, struct arena *, const char *use,
                         const struct origin *origin);

// Which of two statements about the same wins: > 0 `a`, < 0 `b`, 0 neither. The longer selector
// comes first, then the strategy's own text over what `use` or a tuple brought. A slice makes no
// selector longer.
int compare_statements(const struct mode_statement *a, const struct mode_statement *b);
// Whether neither wins, and it matters: one mode that is said of both their selectors is the same.
bool is_tie(const struct mode_statement *a, const struct mode_statement *b);

// A strategy's modes, found by layer.
struct modes_by_layer {
    const struct strategy_config *strategy;
    struct by_layer index; // of their selectors
};
struct modes_by_layer modes_by_layer(struct arena *, const struct strategy_config *);

// The statement that says where a state lives for a role path in a layer (0 for what is in none):
// the longest selector that matches, of equally long ones the strategy's own. NULL: stored on the
// device, as nothing says otherwise.
const struct mode_statement *residency_of(const struct modes_by_layer *, enum state,
                                          const uint8_t *roles, unsigned n_roles, int64_t layer);

// The statement that keeps on the host or on disk what forward leaves for backward of these roles in a
// layer; NULL: it stays on the device.
const struct mode_statement *offloads_activations(const struct modes_by_layer *,
                                                  const uint8_t *roles, unsigned n_roles,
                                                  int64_t layer);
// The same of a layer as a whole, of which its input is.
const struct mode_statement *offloads_input(const struct modes_by_layer *, int64_t layer);
// Whether two such statements, or none, keep what they say in one place and copy it alike.
bool offload_alike(const struct mode_statement *, const struct mode_statement *);

// How many layers the statement's `unit` takes at once: INT64_MAX is all that there are.
int64_t layers_of_unit(const struct mode_statement *);

// The statement by which the layer is recomputed as a whole; NULL: none.
const struct mode_statement *recomputes_layer(const struct modes_by_layer *, int64_t layer);
// How many layers are recomputed at once, around this one: the input of every so many is kept. 1:
// of each, or nothing is recomputed.
int64_t layers_recomputed_at_once(const struct modes_by_layer *, int64_t layer);

// ---- optimizer_rules.c ------------------------------------------------------------------------
// What the optimizers of the `train` block say of the tensors that are there. False: reported.
bool check_optimizers(const struct program *, const struct config *, struct diagnostics *);

// How two of equal length that both select something are set apart other than by a longer one; NULL: by that.
const char *settles_slices(const struct selector *, const struct selector *);
// The steps of a tensor's path that one of two selectors names, behind `text`: a longer selector than
// both, which wins over them where they meet.
const char *selectors_joined(struct arena *, const char *text, const struct tensor *,
                             const struct selector *, const struct selector *);

// ---- precision_rules.c ------------------------------------------------------------------------
// Whether there are as many ranges of layers with types of their own as are compiled, or fewer. False:
// reported. Asked before there are tensors and units for each.
bool check_precision_ranges(struct arena *, const struct config *, struct diagnostics *);
// What `precision` says of the tensors and ops of the forward program. False: reported.
bool check_precision(const struct program *, const struct config *, struct diagnostics *);

#endif
