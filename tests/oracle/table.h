// The table of verdicts against outcomes.
#ifndef PLACE_TESTS_ORACLE_TABLE_H
#define PLACE_TESTS_ORACLE_TABLE_H

#include <stdio.h>

#include "tests/oracle/cases.h"

struct table; // made of results, each case once
struct table *table_new(void);
void table_free(struct table *);
void table_add(struct table *, const struct result *);
// Prints it. True: nothing is accepted and wrong, nothing unclear, no derived program refused, and
// of the mutants that are refused and wrong at least so many in a hundred are refused at the right
// place.
bool table_print(const struct table *, FILE *to);

#endif
