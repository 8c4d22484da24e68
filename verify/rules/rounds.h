// What rounds.c and unit.c share.
#ifndef PLACE_VERIFY_RULES_ROUNDS_H
#define PLACE_VERIFY_RULES_ROUNDS_H

#include "verify/algebra/attributes.h"
#include "verify/algebra/facts.h"
#include "verify/algebra/given.h"
#include "verify/proof/proof.h"

struct rounds;

// For one evaluation of a unit; NULL where nothing goes round in it.
struct rounds *rounds_new(struct proof *, const struct unit *);

// What follows an op, when its result has been judged: `values` are the unit's. Of a sum that is
// complete now it changes the result's judgement.
void rounds_behind(struct rounds *, const struct op *, struct judgement *values);

#endif
