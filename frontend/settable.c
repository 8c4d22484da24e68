// What -D sets, told by the last word of its name alone (settable.def).
#include "frontend/resolve.h"

#include <string.h>

// What a name stands in, where the name alone was given.
static const struct {
    const char *head, *name;
} settable[] = {
#define SETTABLE(head, name) {head, name},
#include "frontend/settable.def"
#undef SETTABLE
};
enum { N_SETTABLE = sizeof settable / sizeof *settable };

const char *setting_of(struct arena *arena, const char *word, const char *value) {
    for (int i = 0; i < N_SETTABLE; i++)
        if (strcmp(settable[i].name, word) == 0 || translated(word, &settable[i].name, 1))
            return arena_format(arena, "%s.%s=%s", settable[i].head, settable[i].name,
                                strchr(value, ' ') ? arena_format(arena, "'%s'", value) : value);
    return NULL;
}
