// What reports in JSON share: texts, and diagnostics.
#ifndef PLACE_DRIVER_REPORT_DIAGNOSTICS_H
#define PLACE_DRIVER_REPORT_DIAGNOSTICS_H

#include <jansson.h>

#include "driver/options.h"
#include "ir/diagnostic.h"

// Whether the verb prints a report, if it is asked for JSON.
bool has_report(enum verb);
// The verb's report, with its keys in the contract's order: the schema, and null for all that is not known yet.
json_t *report_new(enum verb);

// Paths and quoted source need not be UTF-8: what is not becomes question marks.
json_t *text_json(const char *);
json_t *text_or_null(const char *);
json_t *diagnostics_json(const struct diagnostics *);
// What is wrong with the command line, as a diagnostic without a code and a place; the remedy may be NULL.
json_t *usage_json(const char *message, const char *remedy);
// Prints it with keys in the contract's order, in ASCII: what a path or a name holds is escaped.
void print_report(const json_t *, FILE *to);

#endif
