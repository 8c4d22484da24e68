// The verifier: does this job train as one device would?
//
// It recomputes, from the ops and statements of the job's programs alone, what every value is about
// and how it is spread over the devices, and compares what the step leaves behind with what the
// reference program leaves behind. It never reads the placement that was declared, nor what passes
// intended; the layouts of persistent and input buffers it takes as facts about who fills them.
// How it does that is in folders that are floors, of which none knows a higher one:
//
//   algebra      what values are about (term.h), and how they are spread (digits.h)
//   proof        judgements of values, faults, how values were made
//   rules        what ops and collectives do
//   rewriting    what is written differently
//   machine      what units and statements do, loops by induction
//   diagnosis    why a program is refused, and where the mistake is
//   obligations  what steps must leave behind
#ifndef PLACE_VERIFY_VERIFY_H
#define PLACE_VERIFY_VERIFY_H

#include "ir/ir.h"

enum verdict_kind {
    VERDICT_ACCEPTED,
    VERDICT_REFUTED,  // a difference was computed
    VERDICT_UNPROVED, // no proof was found; reasons are in the diagnostics
};

// What the storage of a buffer was found to be in the train step, or if that has nothing there in
// the one that averages, as masks over mesh axes.
struct found {
    bool seen;         // something was ever there: stored, or from the step before
    uint32_t sharded;  // axes that own a digit of what it holds
    uint32_t data;     // of these, axes that cut the batch
    uint32_t gathered; // parameters: axes on which all_gathers of it were found
};

// A summing collective that stands at `span`: over `axis` it was given equal copies each time it
// was executed. Something divides by their number, or the program were refused.
struct copies_summed {
    struct span span;
    unsigned axis;
    bool summands; // it was given summands, too, and then is not among the verdict's
};

struct verdict {
    enum verdict_kind kind;
    struct found **buffers; // of every part: one for each buffer, in its order
    struct copies_summed *copies;
    uint32_t n_copies;
    uint32_t n_terms;     // for reports
    int64_t n_statements; // that were executed, in both programs: it does not grow with the layers
};

// Both programs must have passed job_check, and have been numbered. Everything that stays is
// allocated in `arena`. Whatever keeps the program from being accepted is reported.
struct verdict verify(const struct program *reference, const struct job *final, struct arena *arena,
                      struct diagnostics *diagnostics);
// The same with every iteration of every loop executed and every call evaluated. Tests hold the
// proof by induction, and what is remembered of calls, against it.
struct verdict verify_one_by_one(const struct program *reference, const struct job *final,
                                 struct arena *arena, struct diagnostics *diagnostics);
// The same with every task of a pipeline executed, where `verify` repeats what it knows of tasks that
// did the same before. Tests hold that against this.
struct verdict verify_every_task(const struct program *reference, const struct job *final,
                                 struct arena *arena, struct diagnostics *diagnostics);

#endif
