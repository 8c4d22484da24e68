// Edits of a program's text, as a person or a mistake would make them: statements are found by a
// piece of their text and deleted, doubled, moved or changed. And the program that a text is.
#ifndef PLACE_TESTS_PROGRAM_EDIT_H
#define PLACE_TESTS_PROGRAM_EDIT_H

#include "ir/ir.h"

enum edit_kind {
    EDIT_END, // of a list of edits
    EDIT_DELETE,
    EDIT_DOUBLE,      // the statement again, directly behind
    EDIT_MOVE_BEFORE, // of the statement that `to` finds
    EDIT_MOVE_BEHIND,
    EDIT_INSERT_BEFORE, // the text `to`
    EDIT_INSERT_BEHIND,
    EDIT_REPLACE, // `what`, at its n-th place, by `to`
    EDIT_REPLACE_ALL,
};
struct edit {
    enum edit_kind kind;
    const char *what;
    const char *to;
    int nth, to_nth; // which of several, from 0; `to_nth` is counted in the text without the moved
};

// Rows of tables of edits.
#define DELETE(what)                                                                               \
    { EDIT_DELETE, what, NULL, 0, 0 }
#define DOUBLE(what)                                                                               \
    { EDIT_DOUBLE, what, NULL, 0, 0 }
#define BEFORE(what, to)                                                                           \
    { EDIT_MOVE_BEFORE, what, to, 0, 0 }
#define BEHIND(what, to)                                                                           \
    { EDIT_MOVE_BEHIND, what, to, 0, 0 }
#define INSERT(to, what)                                                                           \
    { EDIT_INSERT_BEFORE, what, to, 0, 0 }
#define REPLACE(what, to)                                                                          \
    { EDIT_REPLACE, what, to, 0, 0 }
#define REPLACE_ALL(what, to)                                                                      \
    { EDIT_REPLACE_ALL, what, to, 0, 0 }

// The text with the edits made one after the other; NULL where one finds nothing.
char *program_try_edit(struct arena *arena, const char *text, const struct edit *edits);
// The same; ends the process where one finds nothing.
char *program_edit(struct arena *arena, const char *text, const struct edit *edits);

// Mistakes in the plan of a derived TINY_DDP llama: buffers that are put where another one still
// is.
struct overlap {
    const char *moved, *to;
};
extern const struct overlap overlaps[];
extern const size_t n_overlaps;
void overlap_buffers(struct program *program, const struct overlap *overlap);
// In the frame of `block_forward`: the keys end where the queries begin, and have their last
// number.
void overlap_keys_and_queries(struct program *program);

// Units that programs written by hand as texts call; `main` is their step.
#define UNIT_COPY                                                                                  \
    "unit main.copy {\n"                                                                           \
    "  phase forward\n"                                                                            \
    "  parameter %a : f64[hidden=4]\n"                                                             \
    "  result %b\n"                                                                                \
    "  %b = add(%a, %a) : f64[hidden=4]\n"                                                         \
    "}\n"
#define UNIT_ADD                                                                                   \
    "unit main.add {\n"                                                                            \
    "  phase forward\n"                                                                            \
    "  parameter %a : f64[hidden=4]\n"                                                             \
    "  parameter %b : f64[hidden=4]\n"                                                             \
    "  result %c in %b\n"                                                                          \
    "  %c = accumulate(%b, %a) : f64[hidden=4]\n"                                                  \
    "}\n"

// The program of a text, numbered; ends the process, and says why, where it is none.
struct program *program_read(struct arena *arena, const char *text, uint32_t source);

#endif
