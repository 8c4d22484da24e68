// Pieces of collectives as the runtime is given them (see pieces.c).
#ifndef PLACE_BACKEND_PIECES_H
#define PLACE_BACKEND_PIECES_H

#include "ir/ir.h"

// How many runs a cut along the dimension makes.
int64_t elements_before(const struct tensor_type *, int dim);
struct piece_shape { // elements, as in struct place_piece
    int64_t outer, chunk, valid, dst_outer;
};
struct piece_shape piece_shape_of(const struct exchange *, const struct mesh *,
                                  const struct tensor_type *from, const struct tensor_type *to);

// Bytes, as place_program.message_bytes: of the collective of the job's steps and units that takes most.
int64_t message_room(struct arena *, const struct job *);

#endif
