// The cases that the table is made of. A case is known by its part and number; what it is about is
// drawn at random with the number as seed, so that it can be done at any time, in any process.
#ifndef PLACE_TESTS_ORACLE_CASES_H
#define PLACE_TESTS_ORACLE_CASES_H

#include "tests/oracle/compiled.h"
#include "tests/oracle/mutate.h"
#include "tests/oracle/truth.h"

// Mutants are of all mistakes but those of precision, which are a part of their own, as are
// pipelines and what is spoilt of them.
enum part {
    PART_TUPLES,
    PART_COMPOSITIONS,
    PART_PIPELINES,
    PART_MUTANTS,
    PART_PRECISION,
    PART_PIPELINE_MUTANTS,
    N_PARTS
};
static inline bool part_is_spoilt(enum part part) {
    return part >= PART_MUTANTS;
}
extern const char *const part_names[N_PARTS];
// Consecutive numbers of one chunk share work: a model and its training, or a program to spoil.
uint32_t part_chunk(enum part);

enum { OUTCOME_NO_PROGRAM = N_OUTCOMES, N_TABLE_OUTCOMES };
// The place that the diagnosis names, against the mistake's: it is there, it names it beside,
// neither.
enum place { PLACE_NONE, PLACE_FOUND, PLACE_NAMED, PLACE_MISSED };

struct result {
    enum part part;
    uint32_t number;
    enum judgement_kind judgement;
    int outcome;      // enum outcome, or NO_PROGRAM
    int mutation;     // spoilt: enum mutation; NO_PROGRAM: it could not be planted
    unsigned traits;  // bits 1 << enum trait; of what ran
    enum place place; // spoilt ones that are refused and wrong
    char code[8];     // of the first error
    char text[400];   // what is to be said about it, on one line; may be empty
};

struct cases; // what is kept from one case for the next
struct cases *cases_new(void);
void cases_free(struct cases *);
struct result case_run(struct cases *, enum part, uint32_t number);
// What a case has (bits 1 << enum trait), without executing it. Without a program, or where the mistake
// cannot be planted: nothing. Cases of which this is asked are not run too.
unsigned case_traits(struct cases *, enum part part, uint32_t number);
// The text of the file; of a mutant the spoilt program and what was said about it too.
void case_print(enum part, uint32_t number);

#endif
