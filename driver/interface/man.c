// The manual's page placec(1), for `man`.
#include <string.h>

#include "driver/interface/interface.h"

// A minus is no hyphen, a backslash is itself, and no line is a request.
static void print_text(const char *text) {
    if (*text == '.' || *text == '\'')
        fputs("\\&", stdout);
    for (bool bold = false; *text; text++)
        switch (*text) {
        case '`':
            fputs((bold = !bold) ? "\\fB" : "\\fR", stdout);
            break;
        case '-':
            fputs("\\-", stdout);
            break;
        case '~':
            fputs("\\(ti", stdout);
            break;
        case '\\':
            fputs("\\e", stdout);
            break;
        default:
            putchar(*text);
        }
}

static void print_section(const char *title) {
    printf(".SH %s\n", title);
}

static void print_option(enum option_id option) {
    const struct option_row *row = &option_rows[option];
    printf(".TP\n");
    if (row->letter)
        printf("\\fB\\-%c\\fR, ", row->letter);
    printf("\\fB\\-\\-");
    print_text(row->name);
    printf("\\fR");
    if (*row->argument)
        printf("%s\\fI%s\\fR", option_is_flag(option) ? "" : " ", row->argument);
    putchar('\n');
    print_text(row->help);
    putchar('\n');
    if (option_value_kind(option) != VALUE_CHOICE && option_value_kind(option) != VALUE_PASSES)
        return;
    printf(".br\n\\fI%s\\fR: ", row->argument);
    print_option_words(option, ", ");
    putchar('\n');
}

static void print_verb(enum verb verb) {
    printf(".SS placec %s %s\n", verb_rows[verb].name, verb_rows[verb].operand);
    print_text(verb_rows[verb].help);
    putchar('\n');
    for (int i = 0; i < N_OPTIONS; i++)
        if (option_is_of(i, verb))
            print_option(i);
}

static void print_synopsis(void) {
    print_section("SYNOPSIS");
    for (int i = 0; i < N_VERBS; i++)
        printf("%s\\fBplacec %s\\fR \\fI%s\\fR [\\fIoptions\\fR]\n", i ? ".br\n" : "",
               verb_rows[i].name, verb_rows[i].operand);
    printf(".br\n\\fBplacec help\\fR [\\fIVERB\\fR]\n"
           ".br\n\\fBplacec \\-\\-version\\fR\n");
}

static void print_settings_list(void) {
    print_section("SETTINGS");
    printf("What \\fB\\-D\\fR sets, beside the sizes of axes and \\fBstrategy.\\fIPARAMETER\\fR:\n"
           ".PP\n.ad l\n");
    print_settings("", ", ");
    printf("\n.ad b\n.hy\n");
}

static void print_entry(const char *term, const char *text) {
    printf(".TP\n\\fB%s\\fR\n", term);
    print_text(text);
    putchar('\n');
}

static void print_environment(void) {
    print_section("ENVIRONMENT");
#define ENVIRONMENT(name, help) print_entry(name, help);
#include "driver/environment.def"
#undef ENVIRONMENT
}

static void print_statuses(void) {
    print_section("EXIT STATUS");
#define STATUS(ID, number, meaning) print_entry(#number, meaning);
#include "driver/statuses.def"
#undef STATUS
}

static void print_example(const char *says, const char *command) {
    print_text(says);
    printf("\n.PP\n.nf\n.RS\n");
    print_text(command);
    printf("\n.RE\n.fi\n.PP\n");
}

static void print_examples(void) {
    print_section("EXAMPLES");
    print_example("What a strategy holds and sends, on eight devices:",
                  "placec check train.place -D dp=8");
    print_example("Two hundred steps here, a rank for each device of the mesh:",
                  "placec run train.place --data text.txt --steps 200");
    print_example("An executable for other machines, and a run of it on four processes:",
                  "placec build train.place --cpu v3 -o train\n"
                  "mpirun -n 4 ./train --data text.txt --steps 200");
    print_example("What the message in brackets means:", "placec explain E402");
}

void print_man(void) {
    printf(".\\\" Made from the tables of the command line.\n"
           ".TH PLACEC 1 \"\" \"placec " PLACE_VERSION "\" \"User Commands\"\n");
    print_section("NAME");
    printf("placec \\- trains models by strategies that are proved first\n");
    print_synopsis();
    print_section("DESCRIPTION");
    print_text("A `.place` file says where the training states of a model live on a mesh of "
               "devices. placec proves that training that way gives what one device would, says "
               "what every device holds and sends, and makes the program that does it. FILE may "
               "be `-`: standard input.\n");
    print_section("VERBS");
    for (int i = 0; i < N_VERBS; i++)
        print_verb(i);
    print_settings_list();
    print_environment();
    print_statuses();
    print_examples();
    print_section("SEE ALSO");
    printf(".BR mpirun (1)\n.PP\n"
           "\\fBplacec explain roles\\fR lists the parts of a model, \\fBplacec explain "
           "coming\\-from\\fR what settings of other systems are here.\n");
}
