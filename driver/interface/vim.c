// Colours for vim. Words have one colour wherever they stand: the parser, not the editor, knows
// what a name means in its place.
#include <string.h>

#include "driver/interface/interface.h"

static void print_class(const struct word_class *word_class) {
    printf("syntax keyword place%s", word_class->name);
    for (int i = 0; i < word_class->n; i++)
        if (is_first_of(word_class, i))
            printf(" %s", word_class->words[i]);
    printf("\nhighlight default link place%s %s\n", word_class->name, word_class->group);
}

// Longer units first: vim takes the first that fits.
static void print_units(void) {
    printf("syntax match placeNumber "
           "\"\\<\\d\\+\\%%(\\.\\d\\+\\)\\=\\%%([eE][+-]\\=\\d\\+\\)\\=\\%%(\\s*\\%%(");
    for (int i = 0; i < n_unit_words; i++) {
        printf("%s", i ? "\\|" : "");
        print_escaped(unit_words[i], &(struct escapes){"/", "\\", NULL});
    }
    printf("\\)\\>\\%%(\\/\\)\\@!\\)\\=\"\n"
           "highlight default link placeNumber Number\n");
}

void print_vim(void) {
    printf("\" Vim syntax file of .place files, made from the tables of the language.\n"
           "if exists(\"b:current_syntax\")\n"
           "  finish\n"
           "endif\n"
           "\n"
           "syntax case match\n");
    for (int i = 0; i < N_WORD_CLASSES; i++)
        print_class(&word_classes[i]);
    print_units();
    printf("syntax region placeString start=+\"+ end=+\"+ oneline\n"
           "highlight default link placeString String\n"
           "syntax match placeComment \"//.*$\" contains=@Spell\n"
           "highlight default link placeComment Comment\n"
           "\n"
           "let b:current_syntax = \"place\"\n");
}
