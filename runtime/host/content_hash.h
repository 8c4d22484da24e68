/* A hash of content, of a file or a text, whose parts can be hashed in any order, by any thread: a
 * sum over its pairs of 8-byte words, of the 128-bit product of the two, each first added to a
 * number of its place, with the halves of the product folded into one. Files that differ have the
 * same one with a chance of about 2^-64, unless somebody makes them so: it finds mistakes, not
 * forgeries. (The product that is folded is from Wang's wyhash.) */
#pragma once
#include <stdint.h>

enum { CONTENT_HASH_BYTES = 16 }; /* of a pair of words */

/* The part of so many bytes that begins at byte `at`, a multiple of a pair's: to be added to those
 * of the other parts. Only the last part of a file may end inside a pair. */
uint64_t content_hash_part(const unsigned char *part, int64_t at, int64_t bytes);

/* The file's hash, from the sum of all its parts and its length. */
uint64_t content_hash_whole(uint64_t sum, int64_t bytes);
/* The hash of one part that is all. */
uint64_t content_hash(const unsigned char *content, int64_t bytes);
