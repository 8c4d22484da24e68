// Programs that a file writes out: `step S { ... }` and `unit S.U { ... }` in place of what the
// compiler derives for strategy S.
#ifndef PLACE_DRIVER_EDITED_H
#define PLACE_DRIVER_EDITED_H

#include "driver/compile.h"

// Puts the file's step and units, if it has any for this strategy, in place of the derived ones in
// `final`. False, with diagnostics: the text is no program, or not one for this file's mesh, sizes,
// types and tensors.
bool edited_replace(struct compilation *);

// E600: where a program's text cannot be read, and the name that was perhaps meant.
void report_text_error(struct diagnostics *, const struct text_error *);

// Compares a text that was accepted with what the strategy says beside it (E621, W830).
void edited_check(struct compilation *);

#endif
