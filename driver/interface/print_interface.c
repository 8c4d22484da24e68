// place_print_interface KIND: prints one of the files that are installed for shells, `man` and
// editors. A program of the build, not of the command.
#include <string.h>

#include "driver/interface/interface.h"

static const struct {
    const char *name;
    void (*print)(void);
} kinds[] = {
    {"bash", print_bash}, {"zsh", print_zsh}, {"fish", print_fish},
    {"man", print_man},   {"vim", print_vim}, {"textmate", print_textmate},
};

int main(int argc, char **argv) {
    for (size_t i = 0; argc == 2 && i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(kinds[i].name, argv[1]) == 0) {
            kinds[i].print();
            return fflush(stdout) == 0 ? 0 : 1;
        }
    fprintf(stderr, "usage: place_print_interface bash|zsh|fish|man|vim|textmate\n");
    return 2;
}
