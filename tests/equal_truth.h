// The truth about pairs of HLO texts (equal/pairs.py makes them), by execution: whether the program of many devices
// computes, on random inputs, what the program of one does. Verdicts of `placec equal` are held against it.
//
// A folder holds dist.hlo, meta.json (a spec of where arrays lie), single.hlo, and `assume`: a bound of integer inputs
// a line. NAME__wrong_I has a mistake planted, and the single.hlo of the folder NAME beside it.
#ifndef PLACE_TESTS_EQUAL_TRUTH_H
#define PLACE_TESTS_EQUAL_TRUTH_H

#include "equal/interpreter/compare.h"
#include "equal/layout/assumptions.h"

enum truth { TRUTH_EQUAL, TRUTH_DIFFERENT, TRUTH_UNKNOWN, N_TRUTHS };

struct executed_pair {
    enum truth truth;
    struct difference difference; // where it is TRUTH_DIFFERENT
    const char *result;           // the name of the one that differs most
    const char *why;              // TRUTH_UNKNOWN: what could not be done
};

// The texts of a folder in the diagnostics' set of sources, NO_SOURCE where there is none.
struct pair_sources {
    uint32_t one, many, spec;
    const char *const *assumed; // bounds of integers, in words
    uint32_t n_assumed;
};

bool is_wrong_variant(const char *folder);
struct pair_sources pair_sources_read(const char *folder, struct source_files *, struct arena *);
struct executed_pair pair_execute(const struct pair_sources *, struct arena *,
                                  struct diagnostics *);

#endif
