// From a file to a judged program: the stages that every verb shares, each run at most once.
#ifndef PLACE_DRIVER_COMPILE_H
#define PLACE_DRIVER_COMPILE_H

#include "driver/options.h"
#include "frontend/frontend.h"
#include "ir/diagnostic.h"
#include "passes/passes.h"
#include "verify/verify.h"

// How far to go. Each stage needs those before it.
enum stage {
    STAGE_PARSED,    // the syntax tree
    STAGE_RESOLVED,  // the configuration
    STAGE_REFERENCE, // what one device would do
    STAGE_FINAL,     // what each device does, planned; a text of the file's in place of the derived
    STAGE_ACCOUNTED, // what that holds and sends is known
    STAGE_JUDGED,    // verified
};

// Why a file is refused, as reports say it.
enum reason {
    REASON_NONE,
    REASON_SYNTAX,
    REASON_RULES,
    REASON_REFUTED,
    REASON_UNPROVED,
    REASON_UNSUPPORTED,
};
extern const char *const reason_names[];

struct compilation {
    struct arena arena;
    struct source_files sources;
    struct diagnostics *diagnostics;
    const char *path;
    const char *text; // compiled in place of the file; NULL: the file
    size_t text_length;
    enum stage reached; // the last stage that went well
    enum stage entered; // the last one that was begun
    struct ast_file file;
    struct config config;
    bool trial;     // of a fix: its own fixes are not tried
    bool resolved;  // config is complete
    bool library;   // a file of strategies with parameters: nothing to compile
    bool edited;    // the file holds a step or units of this strategy
    bool reordered; // and ranks of a pipeline do their tasks in another order than it says
    // Where the ranks of a pipeline have a program each, `final` is the one that holds most, and `whole` is of all
    // ranks together, before each had its own; else that is NULL.
    struct program *reference, *final, *whole;
    // By which `final`, or `derived`, was made of the reference; but its schedule is `final`'s.
    struct placement placement;
    struct routes routes;      // of its training step
    struct program *derived;   // with `edited`: what `final` would be without the text
    struct followed *followed; // until the account is taken
    struct account *account;   // of `final`
    struct account **accounts; // of the job's programs
    struct verdict verdict;
};

// Compiles `options->operand`. True if the stage was reached without errors (a library is at the
// end of its way once it is resolved). The compilation must be freed in either case.
bool compile(struct compilation *, const struct options *options, enum stage stage);
// The same for a text in place of the file's, to try a fix.
bool compile_text(struct compilation *, const struct options *options, const char *path,
                  const char *text, size_t length, enum stage stage);
// Goes on from where compile() succeeded.
bool compile_further(struct compilation *, const struct options *options, enum stage stage);
void compilation_free(struct compilation *);

enum reason compilation_reason(const struct compilation *);
const struct diagnostic *first_error(const struct compilation *); // NULL: nothing is wrong

// Whether there is a pipeline of several ranks, which have a program each.
static inline bool is_pipelined(const struct compilation *c) {
    return c->placement.pipeline.schedule;
}

// How long a step takes at least.
struct step_time compilation_time(const struct compilation *);

// The program that has all of the strategy's states: `final`, or of a pipeline `whole`.
static inline const struct program *whole_program(const struct compilation *c) {
    return c->whole ? c->whole : c->final;
}

// ---- most.c -----------------------------------------------------------------------------------

// Ranks of a pipeline hold, send and copy differently: what is said of all of them is of the one that has most of it,
// which need not be `final`. By number, where the job's programs have accounts:
uint32_t holds_most(const struct compilation *, enum tier);
uint32_t sends_most(const struct compilation *);
uint32_t copies_most(const struct compilation *, enum step_kind);
// Bytes that are copied to and from the tier in one such step.
int64_t most_copied(const struct compilation *, enum step_kind, enum tier);
// The first of their steps that could not be followed; NULL: all could.
const struct too_long *find_too_long(const struct compilation *);

// ---- fix.c ------------------------------------------------------------------------------------

// Tries every help that proposes edits: compiles the edited text, and takes the edits back where
// that leaves as many errors. What is printed as a fix has thus been accepted.
void check_fixes(struct compilation *, const struct options *options);
// Writes what they propose into the file, and to stdout what that is; where there is nothing to
// propose, the file stays as it is. Returns an exit status: a file that is still refused is not its
// concern.
int fix_file(const struct options *options);

// ---- finish.c ---------------------------------------------------------------------------------

// False, with a message to stderr, for a file that holds only strategies with parameters.
bool compilation_has_program(const struct compilation *);
// Tries the fixes, prints what was reported to stderr, and returns the exit status that follows
// from it.
int compilation_finish(struct compilation *, const struct options *options);

// What most verbs are: compiles the operand up to the stage, prints what was reported, and goes on
// with `then` if all is well and, behind STAGE_RESOLVED, there is a program. Returns the exit
// status.
typedef int (*compilation_use)(struct compilation *, const struct options *);
int compile_then(const struct options *options, enum stage stage, compilation_use then);

#endif
