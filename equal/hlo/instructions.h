// One instruction: `ROOT %add.3 = f32[4]{0} add(%a, %b), metadata={...}`.
#ifndef PLACE_EQUAL_HLO_INSTRUCTIONS_H
#define PLACE_EQUAL_HLO_INSTRUCTIONS_H

#include "equal/hlo/reader.h"

struct words opcode_words(struct arena *scratch);
// The instruction at the place becomes the last of the computation that is read, after those that take out of tuples
// what it is given (`%while.8#1`).
bool read_instruction(struct reader *, bool *is_root);

#endif
