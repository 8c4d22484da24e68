/* An all_reduce of few bytes among many members, by recursive doubling: rounds of pairs, in which
 * each side gives the other what it has. A transport moves the bytes; who meets whom, and what is
 * joined with what, is decided here.
 *
 * The rounds climb the tree of collective_reduce, so the bits are those of a sum in one place, except
 * which of several NaNs it is that a sum has: compilers decide that in both. It
 * has 2^rounds leaves, the smallest power of two that is not below the members, and a *seat* for
 * each. In round r the seats of a node of 2^r leaves meet those of its sibling, the ones whose
 * numbers differ in bit r alone, and all of them then have the parent. Leaves without a member are
 * empty, and a node of such leaves alone gives nothing. Seat s >= n is taken by the member at
 * s - 2^(rounds-1), beside its own, which meets it in the last round: so there are ceil(log2 n)
 * rounds whatever n is, and no member meets more than two others in one. Two members meet in one
 * round at most.
 *
 * Inner nodes of a tree over elements of 16 bits are singles: what travels is a *partial*, of all pieces one
 * behind the other, in the type in which they are added. */
#pragma once
#include "runtime/transport/collective.h"

enum { DOUBLING_SEATS = 2, DOUBLING_PARTIAL_BYTES = 2 * COLLECTIVE_SMALL_BYTES };

/* Whether a small all_reduce goes this way, among so many members. */
bool doubling_serves(const struct place_program *program, const struct collective *collective,
                     int32_t members);

/* One seat in one round. */
struct doubling_turn {
    bool gives;      /* its node is not empty */
    bool gets;       /* nor is the sibling */
    bool is_left;    /* of the two */
    int32_t partner; /* the place of who has the other seat; may be its own */
    int32_t seat;    /* 0: the partner's own; 1: the one beside it */
};

int32_t doubling_rounds(int32_t members);
/* Seats of the member at a place: one, or the one beside it, too. */
int32_t doubling_seats(int32_t members, int32_t place);
struct doubling_turn doubling_turn_of(int32_t members, int32_t place, int32_t seat, int32_t round);

int64_t doubling_partial_bytes(const struct collective *collective);
/* A member's leaf, from the sources of all pieces; and the root, rounded, into their results. */
void doubling_take_leaf(const struct collective *collective, char *partial);
void doubling_give_root(const struct collective *collective, const char *partial);
/* What a seat has after a round, of what it had and what came: `to` may be either. */
void doubling_join(const struct collective *collective, const struct doubling_turn *turn, char *to,
                   const char *had, const char *came);
