/* Recursive doubling: seats, rounds, and what is joined in them (doubling.h). */
#include <string.h>
#include "runtime/transport/doubling.h"

bool doubling_serves(const struct place_program *program, const struct collective *collective,
                     int32_t members) {
    return members > program->direct_members && members > 1 && collective_is_small(collective);
}

/* ---- seats ---------------------------------------------------------------------------------- */

int32_t doubling_rounds(int32_t members) {
    int32_t rounds = 0;
    while ((int64_t)1 << rounds < members)
        rounds++;
    return rounds;
}

/* How far the seat beside a member's own is from it. */
static int64_t half_of(int32_t members) {
    return ((int64_t)1 << doubling_rounds(members)) / 2;
}

int32_t doubling_seats(int32_t members, int32_t place) {
    int64_t half = half_of(members);
    return place < half && place + half >= members ? 2 : 1;
}

/* Whether the node of 2^level leaves around this one has a member. */
static bool has_member(int32_t members, int64_t leaf, int32_t level) {
    return leaf >> level << level < members;
}

struct doubling_turn doubling_turn_of(int32_t members, int32_t place, int32_t seat, int32_t round) {
    int64_t half = half_of(members), leaf = place + seat * half;
    int64_t other = leaf ^ ((int64_t)1 << round);
    int32_t beside = other >= members;
    return (struct doubling_turn){.gives = has_member(members, leaf, round),
                                  .gets = has_member(members, other, round),
                                  .is_left = leaf < other,
                                  .partner = (int32_t)(other - beside * half),
                                  .seat = beside};
}

/* ---- partials ------------------------------------------------------------------------------- */

static int64_t elements_of(const struct collective *collective) {
    int64_t elements = 0;
    for (int32_t i = 0; i < collective->n_pieces; i++)
        elements += collective->pieces[i].valid;
    return elements;
}

int64_t doubling_partial_bytes(const struct collective *collective) {
    return elements_of(collective) * dtype_size(dtype_added_as(collective->dtype));
}

void doubling_take_leaf(const struct collective *collective, char *partial) {
    for (int32_t i = 0; i < collective->n_pieces; i++) {
        const struct place_piece *piece = &collective->pieces[i];
        int64_t bytes = piece->valid * dtype_size(dtype_added_as(collective->dtype));
        if (dtype_added_as(collective->dtype) != collective->dtype)
            widen_elements(collective->dtype, partial, piece->src, piece->valid);
        else
            memcpy(partial, piece->src, (size_t)bytes);
        partial += bytes;
    }
}

void doubling_give_root(const struct collective *collective, const char *partial) {
    for (int32_t i = 0; i < collective->n_pieces; i++) {
        const struct place_piece *piece = &collective->pieces[i];
        int64_t bytes = piece->valid * dtype_size(dtype_added_as(collective->dtype));
        if (dtype_added_as(collective->dtype) != collective->dtype)
            round_elements(collective->dtype, piece->dst, partial, piece->valid);
        else
            memcpy(piece->dst, partial, (size_t)bytes);
        partial += bytes;
    }
}

void doubling_join(const struct collective *collective, const struct doubling_turn *turn, char *to,
                   const char *had, const char *came) {
    size_t bytes = (size_t)doubling_partial_bytes(collective);
    if (turn->gives && turn->gets) {
        struct collective wide = {.dtype = dtype_added_as(collective->dtype),
                                  .operation = collective->operation};
        const void *both[] = {turn->is_left ? had : came, turn->is_left ? came : had};
        collective_reduce(&wide, to, both, 2, 0, elements_of(collective), false);
    } else if (turn->gives != turn->gets && to != (turn->gives ? had : came)) {
        memcpy(to, turn->gives ? had : came, bytes);
    }
}
