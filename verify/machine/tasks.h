// The tasks of a step, as its text has them: which cells each names, what it sends and receives, and
// which of them are one but for the microbatch and the rows that go with it. Found once, from the
// text alone.
#ifndef PLACE_VERIFY_MACHINE_TASKS_H
#define PLACE_VERIFY_MACHINE_TASKS_H

#include "verify/machine/contents.h"

enum task_end_kind {
    END_SENDS, // starts it
    END_SENT,  // waits for one that an earlier task started
    END_RECEIVES,
    END_RECEIVED,
};
enum { MAX_PIECES = 4 }; // of a message that is followed
struct task_end {        // of a message
    enum task_end_kind kind;
    const struct statement *statement;
    int32_t ahead; // of a receive: so many before it in the task are from the same device
};

struct task_row {        // of a table, or all of it
    uint32_t first_cell; // of the first row
    struct index row;
    int32_t count;   // of rows
    uint32_t before; // another row of the table that the task names; NO_ID: none
    bool whole;
};
struct task_slot { // of a handle, for messages
    uint32_t handle;
    struct index index;
};
struct task_text {
    const struct statement *label;
    const struct block *block;
    int depth;           // loops around it
    uint32_t begin, end; // its statements there
    uint32_t form; // equal of texts that are one but for what follows; NO_ID: it must be executed
    struct task_row *rows; // cells, each once
    uint32_t n_rows, cap_rows;
    struct index *numbers; // others that loops around it count
    uint32_t n_numbers, cap_numbers;
    struct task_slot *slots; // each once
    uint32_t n_slots, cap_slots;
    struct task_end *ends; // in order
    uint32_t n_ends, cap_ends;
    uint32_t *handles; // of transfers that begin and end in it
    uint32_t n_handles, cap_handles;
};

struct task_at { // one that is come by
    const struct task_text *text;
    uint32_t *cells;  // of its rows
    int32_t *numbers; // those of its text
    int32_t *slots;   // of its ends, in their handles
};

struct task_texts {
    struct task_text *list;
    uint32_t n, cap;
    uint32_t *behind; // labels, from the first one's id on; NO_ID: another statement
    uint32_t first_id, n_ids;
    uint32_t n_forms;
    struct cell *cells;
    uint32_t n_cells, cap_cells;
    uint32_t *first_cell; // of every buffer; NO_ID: no task names it
    bool *whole;          // all of a buffer's items are in one cell
};

struct task_texts *task_texts_of(struct abstract_machine *);
// The text behind the label; NULL: it begins none that could be repeated.
const struct task_text *task_text_find(const struct task_texts *, const struct statement *label);
// The cell in which the place lies, which is of a buffer that tasks name.
uint32_t task_cell_of(const struct abstract_machine *, const struct task_texts *, struct place);

#endif
