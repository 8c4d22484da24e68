// Tasks that were executed before, repeated.
//
// What a task does depends on what it finds: in the cells that it names, in the messages that it
// receives, in what it has in flight. If that is the same as it once was, but for the microbatch, so is
// what it leaves, and nothing of it is executed again. A task of which that is known is done at once,
// when all that it waits for is there; till then its part waits in front of it. What cells hold meanwhile
// is a token of each, which goes into the store as soon as anything else is executed.
//
// Nothing that a statement does depends on the number of a microbatch but by what it is given, and by
// which of a buffer's rows it names. A sum that is being collected gets the task's microbatch beside those
// that it has, whatever they are, if all sums that the task names have the same and lack that one. Where
// they differ, or have it, or are all of them then, the task is executed; so it is where all microbatches
// that the sum has then are such as something else that it reads is of, too, so that what it does with the
// sum could not be told from them. Where sums do not commute (ordered.c), a history is kept, or the program
// is refused already, each task is.
#ifndef PLACE_VERIFY_MACHINE_REPEAT_H
#define PLACE_VERIFY_MACHINE_REPEAT_H

#include "verify/machine/tasks.h"

struct repetition; // of a part, in a step

// For the step that begins; NULL: all of it is executed.
struct repetition *repetition_new(struct abstract_machine *);

enum repeated {
    REPEATED,   // the task is done, and what is behind it comes next
    TO_EXECUTE, // its statements are
    TO_COME,    // others have not done yet what it waits for
};
// A label is come by, in the frame.
enum repeated repetition_come_by(struct abstract_machine *, struct frame *);
// Whatever statement of the frame comes next: a task that was watched may have ended before it.
void repetition_look(struct abstract_machine *, const struct frame *);
// A statement reads this from the store.
void repetition_note_read(struct abstract_machine *, const struct judgement *);
// Something is executed that is no task, or the step has ended: the store says all again.
void repetition_leave(struct abstract_machine *);
// The part may not wait in front of its task any more: nobody can go on. False: it does not.
bool repetition_urge(struct abstract_machine *);

#endif
