// Units that are cut in pieces, each of which becomes a unit: at the ops that begin a new one. What
// one piece makes and another reads gets a buffer, unless the whole unit has one for it.
//
// Who cuts says to which piece each op belongs, in the order of the text, and makes the pieces one
// by one, all of it or (a ring's, what owners update) in parts. Positions are counted anew in every
// piece that reads them, and casts of what the unit is given are made anew, since it may come in
// their type; so are numbers that are made of numbers alone, since a piece may run where its owner
// is, or on the host.
#ifndef PLACE_PASSES_CUT_UNIT_H
#define PLACE_PASSES_CUT_UNIT_H

#include "ir/placement.h"
#include "passes/reference/emit.h"

// A piece; its parameters and results by their values in the whole.
struct unit_piece {
    uint32_t unit;
    value_id *parameters, *results;
    uint32_t n_parameters, n_results;
};

struct unit_cutter {
    struct program *program;
    struct unit whole; // a copy: the program's units move
    const uint32_t *piece_of;
    const bool *is_repeated; // by op: made anew in every piece that reads it
    // The pieces that make each value, and read it last; NO_ID: none.
    uint32_t *made_in, *last_in;
    // The piece being made:
    struct emitter to;
    value_id *here; // of values of the whole; NO_ID: not there
};

// `piece_of`: by the unit's ops.
struct unit_cutter begin_cutting(struct program *, uint32_t unit, const uint32_t *piece_of);

// ---- a piece at once --------------------------------------------------------------------------
struct unit_piece make_piece(struct unit_cutter *, uint32_t number, const char *name);
// The call that stands for one of the whole unit. `range`: of the layers for which values that
// cross have places of their own; NULL: all have the same.
struct statement call_of_piece(const struct unit_cutter *, const struct statement *whole,
                               const struct unit_piece *, const struct layer_range *range);

// Units that have been cut. Ranges of layers that are placed differently may cut one differently.
struct unit_cut {
    uint32_t unit;
    struct unit_cutter cutter;
    struct unit_piece *pieces;
    uint32_t n_pieces;
};
struct unit_cuts {
    struct unit_cut *items;
    uint32_t n, cap;
};
// The one of the unit by which its ops belong to these pieces, with room for `most` pieces; of
// a new one none are made yet.
struct unit_cut *unit_cut_by(struct unit_cuts *, struct program *, uint32_t unit,
                             const uint32_t *piece_of, uint32_t most);

// Replaces the calls of a block, and of loops in it, by calls of what `cut` makes of their units; NULL: it
// leaves the call as it is.
typedef const struct unit_cut *cut_of_call(void *data, const struct call *);
void cut_calls(struct program *, const struct placement *, struct block *, cut_of_call *cut,
               void *data);

// ---- a piece in parts -------------------------------------------------------------------------
void begin_piece(struct unit_cutter *, const char *name);
uint32_t piece_unit(const struct unit_cutter *);
// A parameter of the type of a value of the whole.
value_id add_piece_parameter(struct unit_cutter *, value_id like, const char *name, bool consumed);
// All that the ops of a piece read and others make. A repeated one leaves what it reads as it is.
void add_piece_parameters(struct unit_cutter *, struct unit_piece *, uint32_t number,
                          bool repeated);
void add_piece_result(struct unit_cutter *, struct unit_piece *, value_id, value_id in_parameter);
// The op that counts positions, if the value is made so.
const struct op *count_of(const struct unit_cutter *, value_id);
value_id value_in_piece(struct unit_cutter *, value_id);
void copy_to_piece(struct unit_cutter *, const struct op *);

#endif
