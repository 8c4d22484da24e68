// Islands: groups of devices that `relax` lets take steps of their own. The policy of the final
// program names the axes between them. What is proved of such a program:
//
//   train, evaluate  Every island does what one device does with the island's part of the batch.
//                    Nothing crosses the axes between islands, so the program of one island is the
//                    final program with buffers that they do not cut, and it is judged as any
//                    other.
//   average          What the islands have of a state are the summands of one value over the axes
//                    between them. Where the reference divides that value by their number, every
//                    device must end with the whole; any other state must stay each island's own.
//
// Both rest on the policy alone; the verifier is not told what was declared.
#ifndef PLACE_VERIFY_OBLIGATIONS_ISLANDS_H
#define PLACE_VERIFY_OBLIGATIONS_ISLANDS_H

#include "verify/machine/machine.h"

// The program of one island; where there is only one, the program. What crosses the axes between
// islands, or is not dealt out to all of them, is left in it and told by the check.
const struct program *island_program(const struct program *, struct arena *);
// Insists (E515) that islands are apart in the steps of `program`, of which the machine's is that
// of one island.
void islands_check(struct abstract_machine *, const struct program *program);
// Makes every state at the beginning of a step a summand over the axes between islands.
void islands_begin_average(struct abstract_machine *);
// What an item that the average leaves alone must be at the end. NULL: it is.
const struct fault *islands_check_kept(struct abstract_machine *, buffer_id, int64_t item,
                                       const char *what);

#endif
