// Hops, between the files that put them into a step.
//
//   load.c   what goes side by side
//   hops.c   which happen when; collectives, zeroes, frees
//   joins.c  units that add to a sum, carry it, or keep a part
//   codes.c  units that compress and decompress
#ifndef PLACE_PASSES_PARTITION_HOPS_H
#define PLACE_PASSES_PARTITION_HOPS_H

#include "passes/partition/partition.h"

// Hops of one kind that are made side by side at a call of the reference program.
struct cargo {
    struct way *way;
    const struct hop *hop; // of its route
    struct reference of;   // the reference program's operand or result
};
struct load {
    const struct statement *call;
    enum hop_kind kind;
    struct cargo *items;
    uint32_t n; // one at least
};

// `reduce.block_backward`: by what its kind says, and the call's unit.
const char *load_name(const struct plan *, const struct load *, char between);
// The item of cargo `i` at a station of its route.
struct reference cargo_item(struct draft *, struct cursor, const struct load *, uint32_t i,
                            int station);

void emit_keep(struct draft *, struct cursor, const struct load *);
void emit_add(struct draft *, struct cursor, const struct load *);
void emit_carry(struct draft *, struct cursor, const struct load *);
void emit_encode(struct draft *, struct cursor, const struct load *);
void emit_decode(struct draft *, struct cursor, const struct load *);

#endif
