/* Texts of fields (see fields.h). */
#include <stdio.h>
#include <string.h>
#include "runtime/host/fields.h"

static const char separator[] = "; ";
enum { SEPARATOR = sizeof separator - 1 };

bool field_next(const char *text, size_t *at, struct field *field) {
    const char *begin = text + *at;
    if (!*begin)
        return false;
    const char *end = strstr(begin, separator);
    size_t bytes = end ? (size_t)(end - begin) : strlen(begin);
    const char *blank = memchr(begin, ' ', bytes);
    size_t name_bytes = blank ? (size_t)(blank - begin) : bytes;
    size_t value_at = blank ? name_bytes + 1 : bytes;
    *field = (struct field){begin, begin + value_at, name_bytes, bytes - value_at};
    *at += bytes + (end ? SEPARATOR : 0);
    return true;
}

static bool field_find(const char *text, const struct field *named, struct field *field) {
    size_t at = 0;
    while (field_next(text, &at, field))
        if (field->name_bytes == named->name_bytes &&
            memcmp(field->name, named->name, named->name_bytes) == 0)
            return true;
    return false;
}

static void copy(char *to, size_t bytes, const char *from, size_t n) {
    snprintf(to, bytes, "%.*s", (int)n, from);
}

/* `value` null: none. */
static void copy_value(char *to, const struct field *field) {
    if (field)
        copy(to, FIELD_BYTES, field->value, field->value_bytes);
    else
        copy(to, FIELD_BYTES, "none", 4);
}

bool field_difference_next(const char *there, const char *here, size_t *at,
                           struct field_difference *difference) {
    size_t end = strlen(there), in_here = *at > end ? *at - end - 1 : 0;
    struct field a, b;
    while (*at < end && field_next(there, at, &a)) {
        bool found = field_find(here, &a, &b);
        if (found && a.value_bytes == b.value_bytes && !memcmp(a.value, b.value, a.value_bytes))
            continue;
        copy(difference->name, sizeof difference->name, a.name, a.name_bytes);
        copy_value(difference->there, &a);
        copy_value(difference->here, found ? &b : NULL);
        return true;
    }
    while (field_next(here, &in_here, &b)) {
        *at = end + 1 + in_here;
        if (field_find(there, &b, &a))
            continue;
        copy(difference->name, sizeof difference->name, b.name, b.name_bytes);
        copy_value(difference->there, NULL);
        copy_value(difference->here, &b);
        return true;
    }
    return false;
}
