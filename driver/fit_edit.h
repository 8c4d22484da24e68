// An edit of a file by which its program takes less memory: how it is written, and said.
#ifndef PLACE_DRIVER_FIT_EDIT_H
#define PLACE_DRIVER_FIT_EDIT_H

#include "driver/compile.h"

enum { STAGES = 4, AWAY = 13 };

// Bits of `pieces`: two for each state that is kept away, and two for parameters that are gathered.
enum { PIECE_BITS = 2 * (N_STATES + 1), ALL_PIECES = (1 << PIECE_BITS) - 1 };

// All zero: none.
struct edit {
    const char *method; // of the pipeline; NULL: as it is
    unsigned inner;     // how many of the data axes, from the outermost on, cut nothing
    int64_t microbatch; // 0: as it is
    bool recomputed;
    int stage; // of ZeRO; 0: as it is
    bool freed;
    int away;        // how far states leave the device: below AWAY; 0: as it is
    unsigned pieces; // what is gathered or copied tensor by tensor, and what not ahead of its use
};

struct editable {
    struct compilation *c;
    struct axis_list data; // axes over which devices have parts of the batch or of sequences
    struct span end;       // where a statement may be added; nowhere: it has no such place
};
struct editable editable(struct compilation *);

// What the file says already, of which no edit is tried. The stage is that which states of the whole
// model have over all of the axes.
bool says_where_activations_live(const struct strategy_config *);
int stage_said(const struct strategy_config *, const struct axis_list *axes);
bool keeps_anything(const struct strategy_config *);      // of what is gathered
bool keeps_nearer(const struct editable *file, int away); // some state than with this
struct axis_list without_outer(const struct axis_list *, unsigned n);

// False: the file leaves no place for it.
bool write_edit(const struct editable *file, const struct edit *edit, struct diagnostic *d);
// "`A`, `B` and `C`", in the compilation's arena.
const char *edit_words(const struct editable *file, const struct edit *edit);

#endif
