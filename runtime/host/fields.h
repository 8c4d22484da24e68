/* Texts of fields, "heads 4; norm rmsnorm": what the compiler says of a model and of its training,
 * so that a checkpoint or weights can be held against it in words. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

/* A field of such a text: its name, a blank, its value. */
struct field {
    const char *name, *value;
    size_t name_bytes, value_bytes;
};
/* The field that begins at `*at`, and where the next does. False: the text ends. */
bool field_next(const char *text, size_t *at, struct field *field);

/* The next field, from `*at` = 0 on, that has another value in two texts, or is in one alone: its
 * name and both values ("none" where it is not). False: there is none. */
enum { FIELD_BYTES = 4096 };
struct field_difference {
    char name[256], there[FIELD_BYTES], here[FIELD_BYTES];
};
bool field_difference_next(const char *there, const char *here, size_t *at,
                           struct field_difference *difference);
