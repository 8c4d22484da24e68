// Bounded rewriting, as those who evaluate units ask for it.
#ifndef PLACE_VERIFY_REWRITING_REWRITE_H
#define PLACE_VERIFY_REWRITING_REWRITE_H

#include "verify/proof/proof.h"

// Results of a unit that the reference has under another term, by laws that would cost too much to
// be normal forms of all terms.
void rewrite_results(struct proof *, struct builder *, const struct unit *,
                     struct judgement *results);
// What a unit of the reference makes outside of loops, where results have no names.
void note_outcome(struct proof *, const struct judgement *result);

#endif
