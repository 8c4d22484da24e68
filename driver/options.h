// The command line, parsed once: which verb, on what, with which options.
#ifndef PLACE_DRIVER_OPTIONS_H
#define PLACE_DRIVER_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "ir/arena.h"

enum verb {
#define VERB(ID, name, operand, function, help) VERB_##ID,
#include "driver/verbs.def"
#undef VERB
    N_VERBS
};

enum option_id {
#define OPTION(ID, name, letter, argument, verbs, help) OPTION_##ID,
#include "driver/options.def"
#undef OPTION
    N_OPTIONS
};

// Words of options that take one of a few: AS_STEP, COLOR_AUTO.
enum choice {
#define CHOICE(option, ID, word) option##_##ID,
#include "driver/choices.def"
#undef CHOICE
    N_CHOICES
};

enum status {
#define STATUS(ID, number, meaning) STATUS_##ID = number,
#include "driver/statuses.def"
#undef STATUS
};

struct options {
    enum verb verb;
    const char *operand;   // FILE ("-": stdin), or the first CODE
    char *const *operands; // all, of `explain` and `fmt` several
    int n_operands;
    bool one_of_several;           // this strategy of the file is compiled beside others
    bool wants_json;               // of a verb that has a report: what is wrong is told there, too
    const char *values[N_OPTIONS]; // NULL: not given; "" for flags; the last of several
    struct option_list {
        const char **items;
        uint32_t n, cap;
    } lists[N_OPTIONS]; // of those that may be given several times: all, in order
};

// Parses and, for --help and --version, answers. Returns -1 to go on, else the exit status; what is
// wrong is told with the remedy. Strings are argv's or the arena's.
int options_parse(struct arena *arena, int argc, char **argv, struct options *options);

// -1 if options that take a number or one of a few words were given such, else the exit status.
int options_check_values(const struct options *options);
// -1 if each option that is given may change something beside the others, else the exit status:
// what is in vain is told.
int options_check_pairs(const struct options *options);

const char *option_name(enum option_id option); // its long form, without dashes
bool option_given(const struct options *options, enum option_id option);
// A whole number of at least `minimum`, or `otherwise` when the option is not given. A value that
// is not one is refused by options_parse.
int64_t option_integer(const struct options *options, enum option_id option, int64_t otherwise);
// Which of its words the option's value is, or `otherwise` when it is not given. A value that is
// none of them is refused by options_parse.
enum choice option_choice(const struct options *options, enum option_id option,
                          enum choice otherwise);

// Tells what is wrong with the command line, and the remedy, if it is not told with it (NULL): on stderr, or in the
// object that is asked for. Returns the exit status.
int usage_error(const struct options *options, const char *remedy, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
// The same: `what` (as in "there is no code") does not have the name given; with which of the names was perhaps meant.
int usage_unknown(const struct options *options, const char *what, const char *given,
                  const char *const *names, size_t n, const char *remedy);
// Whether the words behind a verb ask it for JSON, whatever is wrong with them.
bool asks_for_json(enum verb verb, int argc, char **argv);

// Colour on this file descriptor: --color, else whether it is a terminal and NO_COLOR is not set.
bool option_colour(const struct options *options, int descriptor);

#define VERB(ID, name, operand, function, help) int function(const struct options *options);
#include "driver/verbs.def"
#undef VERB

#endif
