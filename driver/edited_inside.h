// Programs that a file writes out, between its files; what others use is in driver/edited.h. The
// verifier judges a text as it judges any program, and reads no declaration; so what the file says
// beside it is compared with it here.
//
//   edited.c           the parts of a text are found, read and put in the place of what is derived
//   edited_agrees.c    the text was printed for this mesh, these sizes, types and tensors
//   edited_plan.c      places in memory that it writes out
//   edited_order.c     in which order ranks of a pipeline do their tasks
//   edited_storage.c   states are kept as the strategy declares
//   edited_heard.c     what the file says of how the step goes, and the text does not do
//   edited_travel.c    of parameters and gradients: when, how often and with how much
//   edited_division.c  of work and activations: what is divided, kept and recomputed
#ifndef PLACE_DRIVER_EDITED_INSIDE_H
#define PLACE_DRIVER_EDITED_INSIDE_H

#include "driver/compile.h"

// Is the text one for what is compiled? If not, the first thing that differs is reported.
bool edited_agrees(struct compilation *, const struct program *edited);
// Makes the plan of the text whole. False: reported.
bool edited_settle_plan(struct compilation *, struct program *edited);

// Reads in which order the text has a pipeline's tasks: its schedule, in place of the one that is said.
void edited_read_order(struct compilation *);

// Compares the storage that the verifier found in a text that was accepted with what the strategy
// declares: order, buckets and prefetch are the step's affair, the letter of a state is not.
void edited_check_storage(struct compilation *, const struct placement *);
// What the file says of these affairs and the text does not do: it is warned about.
void edited_check_order(struct compilation *);
void edited_check_travel(struct compilation *, const struct placement *);
void edited_check_division(struct compilation *);

// Does the file itself say it, and where? Not by a default, nor in a file that it imports.
bool file_says(const struct compilation *, const struct origin *, struct span *at);
// W830 at what is not followed.
struct diagnostic *report_unheard(struct compilation *, const struct origin *, struct span at,
                                  const char *what);
void help_unheard(struct diagnostic *, const char *what);

#endif
