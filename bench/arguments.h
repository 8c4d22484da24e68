/* Numbers that the programs here take from their command lines. False where a word is none. */
#pragma once
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

/* Above 0, and not for ever. */
static inline bool read_seconds(const char *word, double *seconds) {
    char *end;
    *seconds = strtod(word, &end);
    return end != word && *end == '\0' && *seconds > 0 && isfinite(*seconds);
}

/* Reads a count from 1 to `most`. */
static inline bool read_count(const char *word, int most, int *count) {
    char *end;
    long number = strtol(word, &end, 10);
    *count = (int)number;
    return end != word && *end == '\0' && number >= 1 && number <= most;
}
