// placec: the command. Which verb, with which options; everything else is in the verb's file.
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "driver/options.h"

// Ctrl-C while compiling, and what launchers, batch systems and terminals that go send; a run has
// handlers of its own. What is being written keeps signals off until it is whole or gone
// (backend/file.c), so there is nothing to clear away here.
static void on_interrupt(int signal_number) {
    static const char text[] = "placec: interrupted\n";
    (void)signal_number;
    (void)!write(STDERR_FILENO, text, sizeof text - 1);
    _exit(STATUS_INTERRUPTED);
}

// A full disk or a closed pipe shows when what was printed is flushed. An earlier flush may have
// failed, and its reason be lost; a run has said it then.
static int flush_output(int status) {
    errno = 0;
    if (fflush(stdout) == 0 && !ferror(stdout))
        return status;
    if (status == STATUS_OK || errno)
        fprintf(stderr, "placec: cannot write to standard output%s%s\n", errno ? ": " : "",
                errno ? strerror(errno) : "; is the disk full, or the pipe closed?");
    return STATUS_REFUSED;
}

// What goes beyond `ulimit -f` is an error of the write, which says so, and no end of the process.
static void ignore_file_limit(void) {
    signal(SIGXFSZ, SIG_IGN);
}

static void catch_interrupts(void) {
    static const int interrupts[] = {SIGINT, SIGTERM, SIGHUP, SIGXCPU, SIGUSR2, SIGALRM, SIGPWR};
    for (size_t i = 0; i < sizeof interrupts / sizeof *interrupts; i++) {
        struct sigaction before;
        sigaction(interrupts[i], &(struct sigaction){.sa_handler = on_interrupt}, &before);
        if (interrupts[i] == SIGHUP && before.sa_handler == SIG_IGN) // nohup
            sigaction(SIGHUP, &before, NULL);
    }
}

static int (*const verb_functions[N_VERBS])(const struct options *) = {
#define VERB(ID, name, operand, function, help) function,
#include "driver/verbs.def"
#undef VERB
};

int main(int argc, char **argv) {
    struct arena arena = {0};
    struct options options;
    catch_interrupts();
    ignore_file_limit();
    int status = options_parse(&arena, argc, argv, &options);
    if (status < 0)
        status = verb_functions[options.verb](&options);
    arena_free(&arena);
    return flush_output(status);
}
