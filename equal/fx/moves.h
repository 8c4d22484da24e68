// Elements at other places.
#ifndef PLACE_EQUAL_FX_MOVES_H
#define PLACE_EQUAL_FX_MOVES_H

#include "equal/fx/build.h"

fx_build fx_build_view, fx_build_flatten, fx_build_unflatten;
fx_build fx_build_squeeze, fx_build_unsqueeze;
fx_build fx_build_t, fx_build_permute, fx_build_transpose;
fx_build fx_build_expand, fx_build_repeat, fx_build_broadcast_tensors;
fx_build fx_build_slice, fx_build_select, fx_build_narrow;
fx_build fx_build_cat, fx_build_stack;
fx_build fx_build_split, fx_build_split_with_sizes, fx_build_chunk, fx_build_unbind;
fx_build fx_build_flip, fx_build_roll, fx_build_pad;
// What is zero, or the array, but for a slice.
fx_build fx_build_slice_backward, fx_build_select_backward, fx_build_slice_scatter,
    fx_build_select_scatter;

// Part `i` of an array, made when it is asked for: there may be more of them than the text has bytes.
uint32_t fx_part_by_rank(struct call *, const struct array_parts *, const int64_t *numbers);
uint32_t fx_part(struct call *, const struct array_parts *, int64_t i);
// The array with its `n` parts along dimension `from` one behind the other along `to`.
uint32_t fx_regroup(struct call *, uint32_t, uint32_t from, int64_t n, uint32_t to);
// Another order in which dimension `from` stands at `to`, and the others as before.
uint32_t fx_move_dimension(struct call *, uint32_t, uint32_t from, uint32_t to);

#endif
