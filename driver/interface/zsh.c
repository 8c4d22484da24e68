// Completion for zsh: what `_arguments` takes, a specification for each option.
#include "driver/interface/interface.h"

// What is escaped in single quotes, between brackets.
static const struct escapes in_brackets = {"[]\\", "\\", NULL};

// A single quote ends the shell's, is escaped, and begins them anew.
static void print_help_text(const char *help) {
    for (; *help; help++)
        if (*help == '\'')
            fputs("'\\''", stdout);
        else
            print_escaped((const char[]){*help, 0}, &in_brackets);
}

static void print_action(enum option_id option) {
    switch (option_value_kind(option)) {
    case VALUE_NONE:
    case VALUE_OTHER:
        putchar(' ');
        break;
    case VALUE_CHOICE:
        putchar('(');
        print_option_words(option, " ");
        putchar(')');
        break;
    case VALUE_PASSES:
        printf("_sequence compadd - ");
        print_option_words(option, " ");
        break;
    case VALUE_SETTING:
        printf("_placec_settings");
        break;
    case VALUE_MAYBE:
    case VALUE_FILE:
        printf("_files");
        break;
    case VALUE_DIRECTORY:
        printf("_files -/");
        break;
    }
}

static void print_option(enum option_id option) {
    const struct option_row *row = &option_rows[option];
    bool flag = option_value_kind(option) == VALUE_NONE;
    bool maybe = option_value_kind(option) == VALUE_MAYBE;
    const char *again = row->repeated ? "*" : "";
    for (int is_long = !row->letter; is_long < 2; is_long++) {
        printf("            '%s", again);
        if (row->letter && !*again)
            printf("(-%c --%s)", row->letter, row->name);
        if (is_long)
            printf("--%s%s[", row->name, flag ? "" : maybe ? "=-" : "=");
        else
            printf("-%c%s[", row->letter, flag ? "" : "+");
        print_help_text(row->help);
        putchar(']');
        if (!flag) {
            printf(maybe ? "::FILE:" : ":%s:", row->argument);
            print_action(option);
        }
        printf("' \\\n");
    }
}

static void print_verb(enum verb verb) {
    printf("        (%s)\n"
           "        _arguments -s -S \\\n",
           verb_rows[verb].name);
    for (int i = 0; i < N_OPTIONS; i++)
        if (option_is_of(i, verb))
            print_option(i);
    if (verb_takes_file(verb)) {
        printf("            '*:%s:_files -g \"*.place\"'\n", verb_rows[verb].operand);
    } else {
        printf("            '*:%s:(", verb_rows[verb].operand);
        print_explained(" ");
        printf(")'\n");
    }
    printf("        ;;\n");
}

static void print_verbs(void) {
    printf("    local -a verbs=(\n");
    for (int i = 0; i < N_VERBS; i++) {
        printf("        '%s:", verb_rows[i].name);
        print_help_text(verb_rows[i].help);
        printf("'\n");
    }
    printf("        'help:what a verb does, and its options'\n"
           "    )\n");
}

void print_zsh(void) {
    printf("#compdef placec\n"
           "# Completion of placec for zsh, made from the tables of its command line.\n"
           "\n"
           "# What goes on behind its `=`.\n"
           "_placec_settings() {\n"
           "    compadd -S '' -- ");
    print_settings("=", " ");
    printf("\n"
           "}\n"
           "\n"
           "_placec() {\n");
    print_verbs();
    printf("    if ((CURRENT == 2)); then\n"
           "        _describe verb verbs\n"
           "        return\n"
           "    fi\n"
           "    shift words\n"
           "    ((CURRENT--))\n"
           "    case $words[1] in\n"
           "        (help) _describe verb verbs ;;\n");
    for (int i = 0; i < N_VERBS; i++)
        print_verb(i);
    printf("    esac\n"
           "}\n"
           "\n"
           "_placec \"$@\"\n");
}
