// Mistakes, planted into programs: mutations.def.
#ifndef PLACE_TESTS_ORACLE_MUTATE_H
#define PLACE_TESTS_ORACLE_MUTATE_H

#include "ir/ir.h"

enum mutation {
#define MUTATION(NAME, text, function) MUTATION_##NAME,
#define ROUNDING(NAME, text, function)
#define PIPELINE(NAME, text, function)
#include "tests/oracle/mutations.def"
#undef MUTATION
#undef ROUNDING
#undef PIPELINE
    N_MUTATIONS,
    BEFORE_ROUNDINGS = N_MUTATIONS - 1,
#define MUTATION(NAME, text, function)
#define ROUNDING(NAME, text, function) MUTATION_##NAME,
#define PIPELINE(NAME, text, function)
#include "tests/oracle/mutations.def"
#undef MUTATION
#undef ROUNDING
#undef PIPELINE
    END_OF_ROUNDINGS,
    BEFORE_PIPELINES = END_OF_ROUNDINGS - 1,
#define MUTATION(NAME, text, function)
#define ROUNDING(NAME, text, function)
#define PIPELINE(NAME, text, function) MUTATION_##NAME,
#include "tests/oracle/mutations.def"
#undef MUTATION
#undef ROUNDING
#undef PIPELINE
    N_ALL_MUTATIONS,
    N_ROUNDINGS = END_OF_ROUNDINGS - N_MUTATIONS,
    N_OF_PIPELINES = N_ALL_MUTATIONS - END_OF_ROUNDINGS
};
extern const char *const mutation_names[N_ALL_MUTATIONS];

// COPIES: of transfers those between tiers; of COMPUTED, activations and gradients only. MADE: what makes
// states that are materialized, and takes them; OWNED: what is said of owners (mutate_among.c).
enum among { ALL_STATEMENTS, COPIES, COPIES_OF_COMPUTED, MADE, OWNED };

enum { MAX_TOUCHED = 256 }; // statements of two tasks
struct mutant {
    struct job *job;                  // a clone of the one that was spoilt
    struct program *program;          // of the part in which the mistake is, if it is in one alone
    const char *what;                 // was done, in words
    struct span touched[MAX_TOUCHED]; // the statements, ops and buffers that were changed
    unsigned n_touched;
    uint64_t random;
    enum among among; // which statements it is planted in
    bool *made;       // by buffers, with MADE: of states that are materialized
};

// Plants a mistake of that kind into a clone, which then still has the form of a program that code
// can be made of (job_check, job_check_plan). False: there is nothing that it could be
// planted in.
bool mutate(struct arena *, const struct job *, enum mutation, uint64_t seed, struct mutant *);

#endif
