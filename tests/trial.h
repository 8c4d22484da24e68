// A program under test: derived from a configuration, printed, edited, read back and judged.
#ifndef PLACE_TESTS_TRIAL_H
#define PLACE_TESTS_TRIAL_H

#include "ir/config.h"
#include "ir/diagnostic.h"
#include "passes/passes.h"
#include "tests/program_edit.h"
#include "verify/verify.h"

struct trial { // all zero but for the configuration, whose arena is the trial's
    struct arena arena;
    struct config config;
    struct source_files sources;
    struct diagnostics *diagnostics; // of the last judgement
    struct program *reference, *program;
    const char *text; // of the program, where it was read
    struct verdict verdict;
};

// The reference, and the program as it is after the pass. False: the strategy has none.
bool trial_derive(struct trial *, enum pass last);
// The program printed, edited and read back, so that its statements have places. False: an edit
// finds nothing, or they change nothing, or what comes out is no program.
bool trial_edit(struct trial *, const struct edit *edits);
void trial_read(struct trial *, const char *text); // in the arena; a program
void trial_judge(struct trial *);
void trial_judge_one_by_one(struct trial *); // without induction and memo
// The text where the first diagnostic is.
const char *trial_place(const struct trial *);

// What a judgement should be.
struct expected_verdict {
    const char *code; // of the first diagnostic; NULL: accepted
    const char *at;   // what the text where it is begins with; NULL: anything
    const char *says; // a piece of its message; NULL: anything
};
bool trial_is_as_expected(const struct trial *, struct expected_verdict);
// Ends a trial: whether it was right. If not, or if PRINT is in the environment, it says what was
// expected and what was found.
bool trial_end(struct trial *, bool right, const char *name, struct expected_verdict);

#endif
