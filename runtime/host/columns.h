/* Lines for people, as wide as their terminal. */
#pragma once
#include <stdio.h>

enum { USUAL_COLUMNS = 80 };

/* The columns of the terminal behind a descriptor; USUAL_COLUMNS where it does not say. */
int terminal_columns(int descriptor);

/* Words from a column on, which the line has reached; where they would reach beyond the usual
 * columns, on further lines from the same column on. Ends the line. */
void print_words(FILE *to, const char *text, int column);
