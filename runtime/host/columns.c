/* See columns.h. */
#include "runtime/host/columns.h"

#include <string.h>
#include <sys/ioctl.h>

int terminal_columns(int descriptor) {
    struct winsize size;
    return ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col
                                                                        : USUAL_COLUMNS;
}

void print_words(FILE *to, const char *text, int column) {
    int at = column;
    while (*text) {
        int length = (int)strcspn(text, " ");
        if (at > column && at + 1 + length > USUAL_COLUMNS) {
            fprintf(to, "\n%*s", column, "");
            at = column;
        }
        at += fprintf(to, "%s%.*s", at > column ? " " : "", length, text);
        text += length + (text[length] == ' ');
    }
    fputc('\n', to);
}
