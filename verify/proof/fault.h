// Why values have no meaning.
#ifndef PLACE_VERIFY_PROOF_FAULT_H
#define PLACE_VERIFY_PROOF_FAULT_H

#include "ir/diagnostic.h"
#include "verify/algebra/term.h"

// A fault is the reason why a value has no meaning. It is not reported where it arises but when the
// value matters: dead wrong code is no error, and of all that is wrong the first cause is told.
struct fault_note { // another place of many
    struct span at;
    const char *said;
    struct fault_note *next;
};
struct fault {
    enum diagnostic_code code;
    struct span span;
    const char *message;
    const char *said;  // beside the carets; NULL: nothing
    struct span other; // a second place, where `other_said` is not NULL
    const char *other_said;
    struct fault_note *beside; // more of them; NULL: none
    const char *effect;        // what it spoils, where the message does not say
    const char *help;          // what to do about it; NULL: what the message says is wrong
    const char *when;          // the loops' variables; NULL: they are the first, or there are none
    const struct span
        *by;        // the statement that is the cause: it is told once, where it first does harm
    bool has_terms; // the two that differ, and of what:
    const char *what;
    struct scaled found, expected;
    bool has_given; // of what an op reads: what it is given, and what it should be
    struct scaled given, wanted;
    const struct op
        *reader; // an op that reads a part of a sum: its operands, of which `share` is it
    const struct scaled *operands;
    unsigned share;
    uint32_t order; // of creation: the smallest is the first cause; next_order
    uint32_t made;  // what was being made, where that is kept (history.h); else 0
    bool has_odd;   // operand `odd` lies in another way than all others do
    unsigned odd;
    bool is_never; // nobody has written the buffer `never` of the program
    buffer_id never;
    const struct program *program;
    bool told; // where its cause is, if that is known
};

struct proof;

struct fault *fault_make(struct proof *, enum diagnostic_code, struct span, const char *said,
                         const char *format, ...) __attribute__((format(printf, 5, 6)));
void fault_also(struct fault *, struct span other, const char *said); // a second place
void fault_beside(struct proof *, struct fault *fault, struct span at,
                  const char *said); // and more
uint32_t next_order(struct proof *); // of faults and of what is made
// Told behind all others: about what a transfer leaves behind that nobody ever waits for. Who
// should have is missing, and that shows elsewhere.
void fault_last(struct fault *);
// Says of the transfer that was started there and never waited for: it is told once, where it first
// does harm. Returns the fault.
struct fault *fault_caused_by(struct fault *, const struct span *start);
struct fault_list { // each place and code once
    const struct fault **items;
    uint32_t n, cap;
};
void fault_keep(struct proof *, struct fault_list *, const struct fault *);
// Wrong whatever becomes of it: a transfer that nobody waits for.
void fault_insist(struct proof *, const struct fault *);
// The same at the same place; they may be of different layers or microbatches.
bool fault_alike(const struct fault *, const struct fault *);
// The same, or about the same transfer that nothing waits for.
bool fault_same_cause(const struct fault *, const struct fault *);
const struct fault *fault_first(const struct fault *, const struct fault *); // NULL: none
struct diagnostic *fault_report(struct proof *, const struct fault *);
// Which iterations of the loops around are executed, in words; NULL: the first, or there are none.
const char *iteration_text(const struct proof *);

#endif
