// What ops and collectives make of judgements: the rules, as those who execute units and statements
// ask for them.
#ifndef PLACE_VERIFY_RULES_RULES_H
#define PLACE_VERIFY_RULES_RULES_H

#include "verify/proof/proof.h"

// What an op of a unit makes; whoever makes terms says as whose (term.h). Collectives and slices
// are below.
void op_apply(struct proof *, struct builder *, const struct unit *, const struct op *,
              const struct judgement *operands, struct judgement *results);
// What the value is behind the collective. `chunk`: elements of the smaller side's local part, for
// flat ones.
struct judgement collective_apply(struct proof *, struct builder *, const struct exchange *,
                                  int64_t chunk, const struct judgement *, struct span span);
// What arrives of a message: the same, at another device that has the same numbers along all other
// axes.
struct judgement message_apply(struct proof *, const struct exchange *, const struct judgement *,
                               struct span span);
// meeting.c: what is behind a collective that goes over the axes of parts, too: of each it is given
// what that has made of its own, which so many of its devices give.
struct judgement meeting_apply(struct proof *, struct builder *, const struct exchange *,
                               uint32_t parts_axes, const struct judgement *given,
                               const int64_t *devices, uint32_t n, struct span span);
// What it is in another tier of its device: the same.
struct judgement copy_apply(const struct world *, const struct judgement *);
struct judgement slice_apply(struct proof *, const struct axis_list *, int dim, int64_t chunk,
                             const struct judgement *, struct span span);

// Where sums do not commute: the term in fewer digits (precision.c).
struct term rounded_term(struct builder *, struct term, enum dtype to);

// Gradients that travel as codes (codes.c), where `relax` lets them.
uint32_t wire_mask(const struct proof *); // axes over which they do
// What compress makes: result 0 is the code, 1 the new residual.
struct scaled codes_made(struct builder *, const struct op *, unsigned result,
                         struct scaled gradient, struct scaled residual);
struct scaled codes_arrived(struct builder *, struct scaled gradient, struct term residual);

// A check for programs whose sums do not commute (cuts.c): whether what the host or the
// initialisation filled is cut into the leaves' parts. NULL: it is.
const struct fault *ordered_check_filled(struct proof *, const struct buffer *, form_id);

#endif
