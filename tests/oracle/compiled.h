// From the text of a `.place` file to the verdict about it, as the command goes, without its
// output.
#ifndef PLACE_TESTS_ORACLE_COMPILED_H
#define PLACE_TESTS_ORACLE_COMPILED_H

#include "ir/config.h"
#include "ir/diagnostic.h"
#include "verify/verify.h"

// What is said about a file, or about a program, as reports say it.
enum judgement_kind {
    JUDGED_ACCEPTED,
    JUDGED_RULES,
    JUDGED_REFUTED,
    JUDGED_UNPROVED,
    JUDGED_UNSUPPORTED,
    N_JUDGEMENTS,
};
extern const char *const judgement_names[N_JUDGEMENTS];

struct compiled {
    struct arena arena;
    struct source_files sources;
    struct diagnostics *diagnostics;
    struct config config;
    struct program *reference; // NULL: it did not come to that
    struct job *final;
    enum judgement_kind judgement;
};

// Everything lives in the arena, which the caller frees. Up to the programs: nothing is judged.
void derive_text(struct compiled *, const char *text);
void derive_file(struct compiled *, const char *path, const char *library_directory);
// And the verdict. A text that is not in the language ends the process: its writer is to be mended.
void compile_text(struct compiled *, const char *text);
// The verifier's word alone, about another final job for the same reference.
enum judgement_kind judge_job(const struct program *reference, const struct job *final,
                              struct arena *, struct diagnostics *);
// The code of the first error, "E410"; "" if there is none.
const char *first_code(const struct diagnostics *);

#endif
