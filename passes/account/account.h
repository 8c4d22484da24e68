// The account, between its files. What others may use of it is in passes/passes.h.
//
//   account.c  memory and communication of a step
//   time.c     what it takes of time, at least
//   traffic.c  how one state of each tensor travels
#ifndef PLACE_PASSES_ACCOUNT_H
#define PLACE_PASSES_ACCOUNT_H

#include "passes/passes.h"

// Of which state what a collective carries is; N_STATES: of none, a scalar. Transients are parts or
// wholes of the state that is gathered or reduced there: of that at the other end, where one is no
// transient.
enum state state_of_piece(const struct exchange *, const struct buffer *from,
                          const struct buffer *to);

#endif
