// What reports in JSON share: texts, and diagnostics.
#ifndef PLACE_DRIVER_REPORT_DIAGNOSTICS_H
#define PLACE_DRIVER_REPORT_DIAGNOSTICS_H

#include <jansson.h>

#include "ir/diagnostic.h"

// Paths and quoted source need not be UTF-8: what is not becomes question marks.
json_t *text_json(const char *);
json_t *text_or_null(const char *);
json_t *diagnostics_json(const struct diagnostics *);
// Prints it with keys in the contract's order, in ASCII: what a path or a name holds is escaped.
void print_report(const json_t *, FILE *to);

#endif
