// Rulers: what can be left out of lines of whole numbers that are tied to one another, if all that
// matters are the places that are marked and remainders by known periods.
//
// A tie of two lines lays them beside one *ruler*, so that what is named together lies together, but
// for a small *slack*. Between two *marks* on the ruler that are far apart nothing distinguishes one
// place from another but the remainders by which slots are used in turn, whose common multiple is
// the ruler's *period*. So periods can be taken out there, with all that lies beside them on all
// lines: before and behind what is taken out everything is as it was.
//
// What is kept between two marks may differ from the rest as far as the slack goes from each, and so
// do the first period, where slots still hold what was there before, and the last, which leaves
// nothing to a next one. Between them are a period in which all is steady; the middle: the items, a
// period of them, that stand for those that are left out, with the slack on both sides where their
// lives begin and end; and a steady period again. Where no items are named nothing has to stand for
// others: three periods do.
#ifndef PLACE_PASSES_RULERS_H
#define PLACE_PASSES_RULERS_H

#include "ir/ir.h"

struct cut {
    int64_t at, taken; // these are the first that are left out, and so many
};

struct ruler {
    int64_t period, slack;
    bool has_items, carries;
    bool is_rigid;    // its ties contradict each other
    struct cut *cuts; // in order
    uint32_t n_cuts, cap_cuts;
};

// x lies at origin + unit * x of the ruler; in the short step at short_origin + unit * x, since
// items are counted from 0 again, but variables go on from where they are.
struct line {
    struct ruler *ruler; // NULL: it has none, nothing is taken out
    int64_t unit, origin, short_origin;
    int64_t begin, end;     // of a loop that goes with another not its values: see struct loop
    struct tie *from, *to;  // of which it is that end
    bool used_in_turn;      // items that are named by a remainder
    bool is_stack, is_loop; // of a loop:
    bool stays;             // none of its iterations can be taken out
    bool names, carries;    // carries: what is named in one of them is in use until another
    int64_t stride;         // of a loop, as the following
    uint32_t top;           // of loops that go with each other the outermost, a line
    uint32_t outer;         // the line of the loop right around; NO_ID: there is none
    int64_t first, last;    // values of the variable
    int64_t period, spread; // of indices by it; how far it may be from `top`
};

// Beside x of line `from` lies ratio * x + first, or what follows to ratio * x + last, of `to`.
struct tie {
    uint32_t from, to;
    int64_t ratio, first, last;
    struct tie *next_from, *next_to;
};

struct mark {
    struct ruler *ruler;
    int64_t at;
};

struct rulers {
    struct arena *arena;
    struct line *lines;
    uint32_t n_lines;
    struct tie *ties;
    uint32_t n_ties, cap_ties;
    struct mark *marks;
    uint32_t n_marks, cap_marks;
    uint32_t *queue; // of lines
};

// The least common one. 0: it is beyond counting, as what it is of may be already.
int64_t common_multiple(int64_t a, int64_t b);

// In this order: the lines and their ties; a ruler for what is tied to a loop; how far apart what
// lies beside it is, and its period; the marks, to which those of the lines' ends are added; and
// what is taken out between them. False: nothing is.
void tie_lines(struct rulers *, struct tie);
void lay_rulers(struct rulers *);
void measure_rulers(struct rulers *);
void mark_place(struct rulers *, uint32_t line, int64_t x);
bool cut_rulers(struct rulers *);

// How much less x of the line is in the short step, before items are counted from 0 again.
int64_t lost_before(const struct line *, int64_t x);
// What x of the short step's line is in the whole.
int64_t whole_of(const struct line *, int64_t x);
// The cut beside whose middle, or less than `slack` from it, x of the line lies. NULL: none.
const struct cut *cut_at(const struct line *, int64_t x, int64_t slack);

#endif
