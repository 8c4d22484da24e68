// Completion for bash. It uses nothing but bash itself: the package bash-completion, if it is
// there, only loads the file.
#include "driver/interface/interface.h"

static const char head[] =
    "# Completion of placec for bash, made from the tables of its command line.\n"
    "\n"
    "# The operand or value is one of these words.\n"
    "_placec_words() {\n"
    "    mapfile -t COMPREPLY < <(compgen -W \"$1\" -- \"$current\")\n"
    "}\n"
    "\n"
    "# A file whose name ends so (\"\": any), or a folder on the way to one.\n"
    "_placec_files() {\n"
    "    compopt -o filenames 2>/dev/null\n"
    "    mapfile -t COMPREPLY < <(compgen -d -- \"$current\"; compgen -f -X \"!*$1\" -- "
    "\"$current\" |\n"
    "        while IFS= read -r file; do [[ -d $file ]] || printf '%s\\n' \"$file\"; done)\n"
    "}\n"
    "\n"
    "# The last of several words with commas between.\n"
    "_placec_list() {\n"
    "    local before=${current%\"${current##*,}\"}\n"
    "    mapfile -t COMPREPLY < <(compgen -P \"$before\" -W \"$1\" -- \"${current##*,}\")\n"
    "}\n"
    "\n"
    "# What goes on behind its `=`.\n"
    "_placec_settings() {\n"
    "    compopt -o nospace 2>/dev/null\n"
    "    _placec_words \"$1\"\n"
    "}\n"
    "\n";

static void print_forms(enum option_id option) {
    const struct option_row *row = &option_rows[option];
    if (row->letter)
        printf("-%c | ", row->letter);
    printf("--%s) ", row->name);
}

// What stands behind an option, in a `case` of the option's forms.
static void print_value(enum option_id option) {
    static const char *const functions[] = {
        [VALUE_CHOICE] = "words", [VALUE_PASSES] = "list", [VALUE_SETTING] = "settings"};
    enum value_kind kind = option_value_kind(option);
    if (kind == VALUE_NONE)
        return;
    printf("    ");
    print_forms(option);
    switch (kind) {
    case VALUE_NONE:
    case VALUE_OTHER:
        break;
    case VALUE_MAYBE:
        printf("[[ ${COMP_WORDS[COMP_CWORD]} == = || ${COMP_WORDS[COMP_CWORD - 1]} == = ]] || "
               "return 1; _placec_files '' ");
        break;
    case VALUE_CHOICE:
    case VALUE_PASSES:
    case VALUE_SETTING:
        printf("_placec_%s '", functions[kind]);
        if (kind == VALUE_SETTING)
            print_settings("=", " ");
        else
            print_option_words(option, " ");
        printf("' ");
        break;
    case VALUE_FILE:
        printf("_placec_files '' ");
        break;
    case VALUE_DIRECTORY:
        printf("_placec_files / ");
        break;
    }
    printf(";;\n");
}

// The options of one verb.
static void print_verb(enum verb verb) {
    printf("        %s) _placec_words '", verb_rows[verb].name);
    for (int i = 0, n = 0; i < N_OPTIONS; i++)
        if (option_is_of(i, verb))
            printf("%s--%s", n++ ? " " : "", option_rows[i].name);
    printf("' ;;\n");
}

static void print_verbs(void) {
    for (int i = 0; i < N_VERBS; i++)
        printf("%s%s", i ? " " : "", verb_rows[i].name);
}

// An operand: of `explain` what it knows, else a file.
static void print_operands(void) {
    for (int i = 0; i < N_VERBS; i++) {
        if (verb_takes_file(i))
            continue;
        printf("        %s) _placec_words '", verb_rows[i].name);
        print_explained(" ");
        printf("' ;;\n");
    }
    printf("        help) _placec_words '");
    print_verbs();
    printf("' ;;\n        *) _placec_files .place ;;\n");
}

void print_bash(void) {
    fputs(head, stdout);
    printf("# True: what is completed is the value of an option. To readline `=` is a word.\n"
           "_placec_value() {\n"
           "    local option=${COMP_WORDS[COMP_CWORD - 1]}\n"
           "    if [[ $current == = ]]; then\n"
           "        current=\n"
           "    elif [[ $option == = ]]; then\n"
           "        option=${COMP_WORDS[COMP_CWORD - 2]}\n"
           "    fi\n"
           "    case $option in\n");
    for (int i = 0; i < N_OPTIONS; i++)
        print_value(i);
    printf(
        "    [!-]*) [[ ${COMP_WORDS[COMP_CWORD]} == = || ${COMP_WORDS[COMP_CWORD - 1]} == = ]] ;; "
        "# of -D\n"
        "    *) return 1 ;;\n"
        "    esac\n"
        "}\n"
        "\n"
        "_placec() {\n"
        "    local current=${COMP_WORDS[COMP_CWORD]}\n"
        "    COMPREPLY=()\n"
        "    if ((COMP_CWORD == 1)); then\n"
        "        _placec_words '");
    print_verbs();
    printf(" help --help --version'\n"
           "    elif _placec_value; then\n"
           "        return\n"
           "    elif [[ $current == -* ]]; then\n"
           "        case ${COMP_WORDS[1]} in\n");
    for (int i = 0; i < N_VERBS; i++)
        print_verb(i);
    printf("        esac\n"
           "    else\n"
           "        case ${COMP_WORDS[1]} in\n");
    print_operands();
    printf("        esac\n"
           "    fi\n"
           "}\n"
           "\n"
           "complete -F _placec placec\n");
}
