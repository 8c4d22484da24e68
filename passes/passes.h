// The passes: each one file, one function, runnable alone. passes.def is the pipeline, in order.
//
// A pass edits the program in place and leaves a program that program_check accepts; in debug
// builds passes_run asks it after each. What the user did wrong is a diagnostic and the result
// false; what we did wrong is a CHECK.
#ifndef PLACE_PASSES_PASSES_H
#define PLACE_PASSES_PASSES_H

#include <stdbool.h>

#include "ir/config.h"
#include "ir/ir.h"
#include "passes/account.h"

struct pass_context {
    const struct config *config; // may be NULL for passes that only read the program
    struct diagnostics *diagnostics;
};

typedef bool (*pass_function)(struct program *, const struct pass_context *);

struct pass_row {
    const char *name;
    pass_function run;
    bool reads_config; // the configuration, besides the program
    const char *help;
};

enum pass {
#define PASS(NAME, name, function, input, help) PASS_##NAME,
#include "passes/passes.def"
#undef PASS
    N_PASSES
};
extern const struct pass_row pass_rows[N_PASSES];
int pass_find(const char *name); // -1: no pass of that name

// Runs passes `first` to `last`, both included, and checks the program after each in debug builds.
bool passes_run(struct program *, const struct pass_context *, enum pass first, enum pass last);

#define PASS(NAME, name, function, input, help)                                                    \
    bool function(struct program *, const struct pass_context *);
#include "passes/passes.def"
#undef PASS

#endif
