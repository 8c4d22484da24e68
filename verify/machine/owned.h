// Calls that the owner of what they name executes alone (owned.c).
#ifndef PLACE_VERIFY_MACHINE_OWNED_H
#define PLACE_VERIFY_MACHINE_OWNED_H

#include "verify/machine/machine.h"

// The axes along which the items of a buffer have owners, by their bits; 0: it has none.
uint32_t owners_of(const struct abstract_machine *, buffer_id);
// An operand of a call that owners along the axes execute, as the owner reads it.
struct judgement owned_operand(struct abstract_machine *, const struct call *, uint32_t axes,
                               uint32_t parameter, struct judgement, struct span);
// What a result is where it goes, on all devices, of operands that were read so.
struct judgement owned_result(struct abstract_machine *, const struct call *, uint32_t axes,
                              uint32_t result, const struct judgement *operands, struct judgement,
                              struct span);

#endif
