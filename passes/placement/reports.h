// Diagnostics that several checks of a strategy report.
#ifndef PLACE_PASSES_REPORTS_H
#define PLACE_PASSES_REPORTS_H

#include "passes/placement/placing.h"

// E199: understood, but not compiled yet.
struct diagnostic *not_yet(struct placing *, const struct origin *origin, const char *what,
                           const char *instead);
// E119: no part of what the model has, in these words, is one that the statement selects. At its
// selector, where nothing brought it.
void report_selects_nothing(struct placing *, const struct mode_statement *, const char *words);
// E305: neither of the statements wins.
void report_tie(struct placing *, const struct mode_statement *first,
                const struct mode_statement *second, unsigned axis);
// E313, so far without what to do.
struct diagnostic *report_no_order(struct placing *, const struct origin *origin,
                                   const char *message);

#endif
