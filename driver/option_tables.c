// The rows of the command line's tables.
#include "driver/option_tables.h"

#include <string.h>

enum {
    ON_CHECK = 1 << VERB_CHECK,
    ON_COMPARE = 1 << VERB_COMPARE,
    ON_RUN = 1 << VERB_RUN,
    ON_BUILD = 1 << VERB_BUILD,
    ON_EMIT = 1 << VERB_EMIT,
    ON_OPT = 1 << VERB_OPT,
    ON_FMT = 1 << VERB_FMT,
    ON_EQUAL = 1 << VERB_EQUAL,
    ON_EXPLAIN = 1 << VERB_EXPLAIN,
    ON_FILE = ON_CHECK | ON_COMPARE | ON_RUN | ON_BUILD | ON_EMIT | ON_OPT,
    ON_ANY = ON_FILE | ON_FMT | ON_EQUAL | ON_EXPLAIN,
};

const struct option_row option_rows[N_OPTIONS] = {
#define OPTION(ID, name, letter, argument, verbs, help)                                            \
    {name, argument, help, letter, verbs, false},
#define REPEATED(ID, name, letter, argument, verbs, help)                                          \
    {name, argument, help, letter, verbs, true},
#include "driver/options.def"
#undef OPTION
};

const struct verb_row verb_rows[N_VERBS] = {
#define VERB(ID, name, operand, function, help) {name, operand, help},
#include "driver/verbs.def"
#undef VERB
};

const struct choice_row choice_rows[N_CHOICES] = {
#define CHOICE(option, ID, word) {OPTION_##option, word},
#include "driver/choices.def"
#undef CHOICE
};

bool option_is_of(enum option_id option, enum verb verb) {
    return option_rows[option].verbs >> verb & 1;
}

bool option_is_flag(enum option_id option) {
    return *option_rows[option].argument == 0 || *option_rows[option].argument == '[';
}

bool verb_takes_file(enum verb verb) {
    return verb == VERB_EQUAL || strncmp(verb_rows[verb].operand, "FILE", 4) == 0;
}

int verb_operands(enum verb verb) {
    return verb == VERB_EQUAL ? 2 : strcmp(verb_rows[verb].operand, "FILE") == 0;
}
