// Completion for fish: a line for each verb, option and operand.
#include "driver/interface/interface.h"

static const struct escapes in_quotes = {"'\\", "\\", NULL};

static void print_description(const char *help) {
    printf(" -d '");
    print_escaped(help, &in_quotes);
    printf("'\n");
}

// The verbs that take an option, as a condition.
static void print_condition(enum option_id option) {
    printf("complete -c placec -n '__fish_seen_subcommand_from");
    for (int i = 0; i < N_VERBS; i++)
        if (option_is_of(option, i))
            printf(" %s", verb_rows[i].name);
    printf("'");
}

static void print_value(enum option_id option) {
    switch (option_value_kind(option)) {
    case VALUE_NONE:
    case VALUE_MAYBE:
        break;
    case VALUE_OTHER:
        printf(" -x");
        break;
    case VALUE_CHOICE:
        printf(" -x -a '");
        print_option_words(option, " ");
        printf("'");
        break;
    case VALUE_PASSES: // the shell's function for words with commas between
        printf(" -x -a '(__fish_append , ");
        print_option_words(option, " ");
        printf(")'");
        break;
    case VALUE_SETTING:
        printf(" -x -a '");
        print_settings("=", " ");
        printf("'");
        break;
    case VALUE_FILE:
        printf(" -r -F");
        break;
    case VALUE_DIRECTORY:
        printf(" -x -a '(__fish_complete_directories)'");
        break;
    }
}

static void print_option(enum option_id option) {
    const struct option_row *row = &option_rows[option];
    print_condition(option);
    printf(" -l %s", row->name);
    if (row->letter)
        printf(" -s %c", row->letter);
    print_value(option);
    print_description(row->help);
}

static void print_operand(enum verb verb) {
    printf("complete -c placec -n '__fish_seen_subcommand_from %s' -a '", verb_rows[verb].name);
    if (verb_takes_file(verb))
        printf("(__fish_complete_suffix .place)");
    else
        print_explained(" ");
    printf("'\n");
}

void print_fish(void) {
    printf("# Completion of placec for fish, made from the tables of its command line.\n"
           "complete -c placec -f\n");
    for (int i = 0; i < N_VERBS; i++) {
        printf("complete -c placec -n __fish_use_subcommand -a %s", verb_rows[i].name);
        print_description(verb_rows[i].help);
    }
    printf("complete -c placec -n __fish_use_subcommand -a help -d 'what a verb does, and its "
           "options'\n"
           "complete -c placec -n __fish_use_subcommand -l version\n");
    for (int i = 0; i < N_OPTIONS; i++)
        print_option(i);
    printf("complete -c placec -n '__fish_seen_subcommand_from help' -a '");
    for (int i = 0; i < N_VERBS; i++)
        printf("%s%s", i ? " " : "", verb_rows[i].name);
    printf("'\n");
    for (int i = 0; i < N_VERBS; i++)
        print_operand(i);
}
