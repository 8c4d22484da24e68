// Values modulo primes: what no normal form shows to be equal is evaluated, term by term, at random points of fields.
//
// Sums, products and quotients are those of the field. Whatever is not made of them, roots among them, is any function of
// its operands' values: drawn as if at random, the same for the same values. Then two sides that are no identity are equal
// at a point with a chance of at most their degree over the prime (Schwartz 1980, Zippel 1979), which is below one in a
// thousand million here, at each element of a result. Points are no others from one run to the next: parameters have
// numbers that their own number and the place decide.
//
// Exponentials turn sums into products; in no field are they functions of its own numbers. So there is a chain of fields,
// each element has a value in each of them, and
//
//   exp(x) = base ^ x        in the field i, of the value x in the field i - 1, whose prime is the order of the base
//
// as Mirage does for programs in which none is inside of another (Wu et al., "Mirage: A Multi-Level Superoptimizer for
// Tensor Programs", OSDI 2025). In the first field, and so inside of as many exponentials as there are fields, they are
// any function: a law that is not known there shows less, and nothing wrong. A claim holds that holds in two fields, one
// behind the other, as a number of a text may be a multiple of a prime.
//
// What is infinite is none of a field: what stands for minus infinity has zero as its exponential, and with numbers sums,
// and that is all. What is divided by is taken not to be zero, and what roots are taken of not to be negative.
#ifndef PLACE_EQUAL_RESIDUES_RESIDUES_H
#define PLACE_EQUAL_RESIDUES_RESIDUES_H

#include "equal/values/value.h"

// Two values over the same coordinates.
struct claim {
    struct viewed expected, found;
    struct coordinates all;
    bool holds;
};

// Sets `holds` of those that are equal at every place. Those that take more than what is left of a bounded number of steps
// are not looked at.
void claims_evaluate(const struct calculus *, struct claim *, uint32_t n);

#endif
