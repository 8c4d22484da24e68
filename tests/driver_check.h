// What `placec check` does with a file, done with a text in memory: everything is compiled, judged,
// accounted for and reported, in words and in JSON, and what is printed is thrown away.
#ifndef PLACE_TESTS_DRIVER_CHECK_H
#define PLACE_TESTS_DRIVER_CHECK_H

#include <stdbool.h>
#include <stddef.h>

#include "ir/arena.h"

// True: it was accepted. Code is made of that, too, if `generates`, and thrown away.
bool driver_check(const char *text, size_t length, bool generates);
// The text with the program that is derived from it written out behind, as people paste it.
// `*written`: where that begins. NULL: it is refused.
char *driver_paste(struct arena *, const char *text, size_t *written);

#endif
