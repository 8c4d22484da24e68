// The command line as completions need it: what may stand behind an option, by the words of its
// row.
#include <string.h>

#include "driver/interface/interface.h"
#include "ir/diagnostic.h"

static bool has_choices(enum option_id option) {
    for (int i = 0; i < N_CHOICES; i++)
        if (choice_rows[i].option == option)
            return true;
    return false;
}

enum value_kind option_value_kind(enum option_id option) {
    const char *argument = option_rows[option].argument;
    if (!*argument)
        return VALUE_NONE;
    if (option_is_flag(option))
        return VALUE_MAYBE;
    if (has_choices(option))
        return VALUE_CHOICE;
    if (option == OPTION_PASSES)
        return VALUE_PASSES;
    if (option == OPTION_DEFINE)
        return VALUE_SETTING;
    if (strstr(argument, "FILE"))
        return VALUE_FILE;
    return strstr(argument, "DIR") ? VALUE_DIRECTORY : VALUE_OTHER;
}

static void print_words(const char *const *words, int n, const char *separator) {
    for (int i = 0; i < n; i++)
        printf("%s%s", i ? separator : "", words[i]);
}

static const char *const pass_words[] = {
#define PASS(NAME, name, ...) name,
#include "passes/passes.def"
#undef PASS
};

void print_option_words(enum option_id option, const char *separator) {
    if (option_value_kind(option) == VALUE_PASSES)
        print_words(pass_words, sizeof pass_words / sizeof *pass_words, separator);
    for (int i = 0, n = 0; i < N_CHOICES; i++)
        if (choice_rows[i].option == option)
            printf("%s%s", n++ ? separator : "", choice_rows[i].word);
}

static const struct setting_row {
    const char *head, *name;
} settings[] = {
#define SETTABLE(head, name) {head, name},
#include "frontend/settable.def"
#undef SETTABLE
};

// Whether the row is the first of those for an argument that several optimizers take.
static bool is_first(const struct setting_row *row) {
    for (const struct setting_row *before = settings; before < row; before++)
        if (strcmp(before->head, row->head) == 0 && strcmp(before->name, row->name) == 0)
            return false;
    return true;
}

void print_settings(const char *behind, const char *separator) {
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++)
        if (is_first(&settings[i]))
            printf("%s%s.%s%s", i ? separator : "", settings[i].head, settings[i].name, behind);
}

void print_explained(const char *separator) {
    static const char *const topics[] = {
#define TOPIC(name, function) name,
#include "driver/topics.def"
#undef TOPIC
    };
    print_words(topics, sizeof topics / sizeof *topics, separator);
    for (int i = 0; i < N_DIAGNOSTIC_CODES; i++)
        printf("%s%s", separator, diagnostic_rows[i].text);
}

void print_escaped(const char *text, const struct escapes *escapes) {
    for (; *text; text++) {
        if (*text == '`' && escapes->quote) {
            fputs(escapes->quote, stdout);
            continue;
        }
        if (strchr(escapes->characters, *text))
            fputs(escapes->with, stdout);
        putchar(*text);
    }
}
