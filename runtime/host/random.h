/* Random numbers as a function of a counter: no generator has a state, so a number does not depend
 * on who asks for it, nor in what order. */
#pragma once
#include <stdint.h>

/* Philox4x32-10 (Salmon et al., SC 2011): four words from a 128-bit counter and a 64-bit key. */
void philox(const uint32_t counter[4], uint64_t key, uint32_t words[4]);

/* FNV-1a, for keys made of names; `seed` is mixed in. */
uint64_t random_key(uint64_t seed, const char *name);

/* A number in [0, 1), 53 bits. */
double random_uniform(uint64_t key, uint64_t index);

/* dst[i] = deviation * normal number `index + i` of (key, layer): Box-Muller, two numbers per
 * counter. */
void random_normal(uint64_t key, uint32_t layer, int64_t index, double deviation, double *dst,
                   int64_t count);

/* Place `index` of a permutation of 0 .. n-1 that the key chooses: four Feistel rounds on the
 * smallest even number of bits that holds n, repeated until the result is below n. */
uint64_t random_permute(uint64_t key, uint64_t index, uint64_t n);
