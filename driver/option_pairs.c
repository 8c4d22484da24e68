// Options that change nothing for what else is given, from the table option_pairs.def. What is said
// in vain was mostly meant for another command line, so none of it is done.
#include <string.h>

#include "driver/options.h"

static const struct void_pair {
    enum option_id option, other;
    const char *value;
    const char *why;
} void_pairs[] = {
#define VOID(option, other, value, why) {OPTION_##option, OPTION_##other, value, why},
#include "driver/option_pairs.def"
#undef VOID
};

static bool is_void(const struct options *options, const struct void_pair *pair) {
    const char *other = options->values[pair->other];
    return other && strcmp(other, pair->value) == 0 && option_given(options, pair->option);
}

static int report_void(const struct options *options, const struct void_pair *pair) {
    const char *name = option_name(pair->option), *other = option_name(pair->other);
    const char *value = options->values[pair->other];
    return usage_error(options, "leave one of the two out",
                       "--%s changes nothing beside --%s%s%s: %s", name, other, *value ? " " : "",
                       value, pair->why);
}

int options_check_pairs(const struct options *options) {
    for (size_t i = 0; i < sizeof void_pairs / sizeof *void_pairs; i++)
        if (is_void(options, &void_pairs[i]))
            return report_void(options, &void_pairs[i]);
    return -1;
}
