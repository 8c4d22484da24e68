// Options that change nothing for what else is given, from the table option_pairs.def. What is said
// in vain was mostly meant for another command line, so none of it is done.
#include <stdio.h>
#include <string.h>

#include "driver/options.h"
#include "runtime/place.h"

static const struct void_pair {
    enum option_id option, other;
    const char *value;
    const char *why;
} void_pairs[] = {
#define VOID(option, other, value, why) {OPTION_##option, OPTION_##other, value, why},
#define BEYOND(option, other, why)
#include "driver/option_pairs.def"
#undef VOID
#undef BEYOND
};

static const struct beyond_pair {
    enum option_id option, other;
    const char *why;
} beyond_pairs[] = {
#define VOID(option, other, value, why)
#define BEYOND(option, other, why) {OPTION_##option, OPTION_##other, why},
#include "driver/option_pairs.def"
#undef VOID
#undef BEYOND
};

static bool is_void(const struct options *options, const struct void_pair *pair) {
    const char *other = options->values[pair->other];
    bool holds = strcmp(pair->value, "0") == 0 ? option_integer(options, pair->other, 0) == 0
                                               : other && strcmp(other, pair->value) == 0;
    return holds && option_given(options, pair->option);
}

static int report_void(const struct options *options, const struct void_pair *pair) {
    const char *name = option_name(pair->option), *other = option_name(pair->other);
    const char *value = options->values[pair->other];
    if (value)
        fprintf(stderr,
                "placec: --%s changes nothing beside --%s%s%s: %s\n  leave one of the two out\n",
                name, other, *value ? " " : "", value, pair->why);
    else
        fprintf(stderr,
                "placec: --%s changes nothing without --%s: %s\n  give --%s, or leave --%s out\n",
                name, other, pair->why, other, name);
    return STATUS_USAGE;
}

static void warn_beyond(const struct options *options, const struct beyond_pair *pair) {
    if (place_speaks(0))
        fprintf(stderr, "warning: --%s %s changes nothing beside --%s %s: %s\n",
                option_name(pair->option), options->values[pair->option], option_name(pair->other),
                options->values[pair->other], pair->why);
}

int options_check_pairs(const struct options *options) {
    for (size_t i = 0; i < sizeof void_pairs / sizeof *void_pairs; i++)
        if (is_void(options, &void_pairs[i]))
            return report_void(options, &void_pairs[i]);
    for (size_t i = 0; i < sizeof beyond_pairs / sizeof *beyond_pairs; i++) {
        const struct beyond_pair *pair = &beyond_pairs[i];
        if (option_integer(options, pair->option, 0) > option_integer(options, pair->other, 0))
            warn_beyond(options, pair);
    }
    return -1;
}
