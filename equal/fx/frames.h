// Where lines come from in the user's program, which comments before them say.
#ifndef PLACE_EQUAL_FX_FRAMES_H
#define PLACE_EQUAL_FX_FRAMES_H

#include "equal/fx/reader.h"

// Reads comments up to what is none of them:
//
//     # File: /home/me/train.py:12 in forward, code: return x + h
//     # Backward of forward node: File: ...
//     # No stacktrace found for following nodes
//
// Others change nothing.
void fx_read_comments(struct reader *);

#endif
