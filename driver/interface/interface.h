// What surrounds the command where people type: completions of shells, the manual's page, colours
// of editors. All of it is printed from the tables of the command line and of the language by one
// program, when the tree is built. Private to driver/interface/.
#ifndef PLACE_DRIVER_INTERFACE_H
#define PLACE_DRIVER_INTERFACE_H

#include <stdio.h>

#include "driver/option_tables.h"

// ---- the command line (command_line.c) --------------------------------------------------------

// What stands behind an option.
enum value_kind {
    VALUE_NONE,      // it is a flag
    VALUE_MAYBE,     // the same, or a file behind `=`
    VALUE_CHOICE,    // one of its rows of choices.def
    VALUE_PASSES,    // names of passes, with commas between
    VALUE_SETTING,   // of -D
    VALUE_FILE,      // or a folder
    VALUE_DIRECTORY, // a folder alone
    VALUE_OTHER,     // a number, a name in the file
};
enum value_kind option_value_kind(enum option_id option);

// Where `value_kind` is a list: its words, with the separator between. Nothing for others.
void print_option_words(enum option_id option, const char *separator);
// The names of what -D sets by where it stands, each with this behind.
void print_settings(const char *behind, const char *separator);
// Codes and topics.
void print_explained(const char *separator);

// A text with a string in front of each of these characters; backquotes of help texts become
// `quote`.
struct escapes {
    const char *characters, *with, *quote;
};
void print_escaped(const char *text, const struct escapes *escapes);

// ---- the language (vocabulary.c) --------------------------------------------------------------

// Words of one kind, as editors colour them.
struct word_class {
    const char *name;  // in CamelCase, as vim's groups are
    const char *group; // vim's, which it looks like
    const char *scope; // TextMate's
    const char *const *words;
    int n;
};
enum { N_WORD_CLASSES = 12 };
extern const struct word_class word_classes[N_WORD_CLASSES];
extern const char *const unit_words[];
extern const int n_unit_words;

// Whether the word stands for the first time here: a word has the colour of the first class that
// has it, whatever it means where it stands.
bool is_first_of(const struct word_class *word_class, int index);

// ---- what is printed --------------------------------------------------------------------------
void print_bash(void);
void print_zsh(void);
void print_fish(void);
void print_man(void);
void print_vim(void);
void print_textmate(void);

#endif
