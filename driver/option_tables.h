// The command line as tables: verbs.def, options.def and choices.def as arrays. Also what is made
// of them when the tree is built (driver/interface/).
#ifndef PLACE_DRIVER_OPTION_TABLES_H
#define PLACE_DRIVER_OPTION_TABLES_H

#include "driver/options.h"

struct option_row {
    const char *name, *argument, *help;
    char letter; // 0: none
    int verbs;   // bits 1 << enum verb
    bool repeated;
};
extern const struct option_row option_rows[N_OPTIONS];

struct verb_row {
    const char *name, *operand, *help;
};
extern const struct verb_row verb_rows[N_VERBS];

struct choice_row {
    enum option_id option;
    const char *word;
};
extern const struct choice_row choice_rows[N_CHOICES];

bool option_is_of(enum option_id option, enum verb verb);
bool option_is_flag(
    enum option_id option);           // may stand alone; its value, if it takes one, behind `=`
bool verb_takes_file(enum verb verb); // or several
int verb_operands(enum verb verb); // how many it takes; 0: any number

#endif
