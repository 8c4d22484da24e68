/* Collectives where every member sees the memory of all, cut into portions: what comes from one
 * member is its portion. No byte of a result is in two, so they may be worked off by anybody, at
 * once, and tile by tile in any order.
 *
 *   all_reduce        the member's chunk of every piece, summed, to all
 *   reduce_scatter    the same, to itself
 *   all_gather        its part, to all
 *   all_to_all        its chunks, one to each
 *   permute           what it gives, to the member `shift` places behind
 *   reduce            its chunk of every piece, as if all had one, summed, to the owner
 *   broadcast         the same of what the owner gives, to all
 *
 * So what goes to all is read, or summed, once. Bytes are counted where they are moved: what leaves
 * one member's memory, for another's or for a sum that another member would do, was sent by it. */
#pragma once
#include <stdatomic.h>
#include "runtime/transport/collective.h"

struct portions {
    const struct collective *collective; /* of any member: they differ in addresses only */
    int32_t n;
    const void **sources;        /* [piece * n + place] */
    void **results;              /* the same; an all_reduce may have its sources there */
    _Atomic int64_t *sent_bytes; /* by place */
    bool streams;                /* past the caches */
};

/* Sources and results of all members together; and how many of such bytes may go through the
 * caches, so that what a member reads next is still there: beyond, what would push out other things
 * should not come in. */
int64_t portions_bytes(const struct collective *collective, int32_t n);
int64_t portions_cached_bytes(void);

/* The tiles of each portion. */
int64_t portion_tiles(const struct collective *collective, int32_t n);

/* Does one tile of the portion of the member at this place. */
void portion_do_tile(const struct portions *portions, int32_t place, int64_t tile);
