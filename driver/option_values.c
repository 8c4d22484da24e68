// What options were given: the words and numbers that they take, refused or read.
#include "driver/option_tables.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "runtime/place.h"

// -1 if all is well, else the exit status: as of every check here.
static int check_integer(const struct options *options, enum option_id option, int64_t least,
                         int64_t most) {
    int64_t value;
    const char *text = options->values[option];
    if (!text || (place_number(text, &value) && value >= least && value <= most))
        return -1;
    return usage_error(options, NULL, "--%s takes a whole number from %lld to %lld, not `%s`",
                       option_rows[option].name, (long long)least, (long long)most, text);
}

// The word of this option, or N_CHOICES.
static enum choice find_choice(enum option_id option, const char *word) {
    int i = 0;
    while (i < N_CHOICES &&
           (choice_rows[i].option != option || strcmp(choice_rows[i].word, word) != 0))
        i++;
    return (enum choice)i;
}

// A value that is none of the option's words.
static int report_choices(const struct options *options, enum option_id option) {
    struct arena arena = {0};
    const char *list = "";
    for (int i = 0, n = 0; i < N_CHOICES; i++) {
        if (choice_rows[i].option != option)
            continue;
        bool last = i + 1 == N_CHOICES || choice_rows[i + 1].option != option;
        list = arena_format(&arena, "%s%s %s", list,
                            n == 0 ? ""
                            : last ? " or"
                                   : ",",
                            choice_rows[i].word);
        n++;
    }
    int status = usage_error(options, NULL, "--%s takes%s, not `%s`", option_rows[option].name,
                             list, options->values[option]);
    arena_free(&arena);
    return status;
}

static int check_choices(const struct options *options) {
    for (int i = 0; i < N_CHOICES; i++) {
        enum option_id option = choice_rows[i].option;
        const char *given = options->values[option];
        if (given && find_choice(option, given) == N_CHOICES)
            return report_choices(options, option);
    }
    return -1;
}

// A picture is of one kind, which others know by the end of its name.
static int check_picture(const struct options *options) {
    static const char end[] = ".svg";
    const char *name = options->values[OPTION_TIMELINE];
    size_t length = name ? strlen(name) : 0;
    if (length == 0 ||
        (length > sizeof end - 1 && strcasecmp(name + length - (sizeof end - 1), end) == 0))
        return -1;
    return usage_error(options, NULL, "--timeline takes a file whose name ends in %s, not `%s`",
                       end, name);
}

enum choice option_choice(const struct options *options, enum option_id option,
                          enum choice otherwise) {
    const char *given = options->values[option];
    return given ? find_choice(option, given) : otherwise;
}

// Options that take a number, with the least and the most that make sense; the verbs then read them
// unchecked.
static bool has_empty_name(const char *list) {
    size_t length = strlen(list);
    return length == 0 || list[0] == ',' || list[length - 1] == ',' || strstr(list, ",,");
}

// One strategy, or of `compare` several.
static int check_strategy(const struct options *options) {
    const char *given = options->values[OPTION_STRATEGY];
    if (!given || (!strchr(given, ',') && *given))
        return -1;
    if (options->verb != VERB_COMPARE)
        return usage_error(options, "`placec compare` puts several side by side",
                           "--strategy takes the name of one strategy, not `%s`", given);
    return has_empty_name(given)
               ? usage_error(options, "leave it out to compare all that need no arguments",
                             "--strategy takes names with a comma between them, not `%s`", given)
               : -1;
}

int options_check_values(const struct options *options) {
    static const struct {
        enum option_id option;
        int64_t least, most;
    } integers[] = {
#define RUN_TEXT(ID, member, name, argument, help)
#define RUN_LIST(ID, member, name, argument, help)
#define RUN_NUMBER(ID, member, name, argument, least, most, help) {OPTION_##ID, least, most},
#define RUN_FLAG(ID, member, name, letter, help)
#include "runtime/options.def"
#undef RUN_TEXT
#undef RUN_LIST
#undef RUN_NUMBER
#undef RUN_FLAG
        {OPTION_RANKS, 1, INT64_MAX}, {OPTION_ERROR_LIMIT, 0, INT64_MAX}};
    for (size_t i = 0; i < sizeof integers / sizeof *integers; i++) {
        int status =
            check_integer(options, integers[i].option, integers[i].least, integers[i].most);
        if (status >= 0)
            return status;
    }
    int status = check_choices(options);
    status = status >= 0 ? status : check_strategy(options);
    return status >= 0 ? status : check_picture(options);
}

const char *option_name(enum option_id option) {
    return option_rows[option].name;
}

bool option_given(const struct options *options, enum option_id option) {
    return options->values[option] != NULL;
}

int64_t option_integer(const struct options *options, enum option_id option, int64_t otherwise) {
    int64_t value;
    if (!options->values[option] || !place_number(options->values[option], &value))
        return otherwise;
    return value;
}

bool option_colour(const struct options *options, int descriptor) {
    enum choice when = option_choice(options, OPTION_COLOR, COLOR_AUTO);
    return when == COLOR_AUTO ? isatty(descriptor) && !getenv("NO_COLOR") : when == COLOR_ALWAYS;
}
