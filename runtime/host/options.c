/* The command line of a running program: a table of options, from which parsing and help are made.
 */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "runtime/place.h"

/* Below 256: the letter that stands for it too, as for `placec run`. */
enum option_key {
    OPTION_HELP = 'h',
    OPTION_QUIET = 'q',
    OPTION_DATA = 256,
    OPTION_STEPS,
    OPTION_SEED,
    OPTION_EVAL,
    OPTION_SAVE,
    OPTION_DUMP,
    OPTION_LOG,
    OPTION_MEMORY,
    OPTION_PROFILE,
    OPTION_TRACE,
    OPTION_SAMPLE,
    OPTION_THREADS,
};

static const struct run_option {
    const char *name, *argument; /* argument null: a flag */
    enum option_key key;
    const char *help;
} run_options[] = {
    {"data", "FILE", OPTION_DATA, "text, or little-endian tokens in a .u16 or .u32 file"},
    {"steps", "N", OPTION_STEPS, "optimizer steps"},
    {"seed", "N", OPTION_SEED, "of initial values, data order and sampling"},
    {"eval", "FILE", OPTION_EVAL, "report the loss on this data at the end"},
    {"save", "FILE", OPTION_SAVE, "write the parameters (safetensors), also after Ctrl-C"},
    {"dump", "FILE", OPTION_DUMP,
     "write parameters and optimizer states in logical form, if copies agree"},
    {"log", "FILE", OPTION_LOG, "write a line of JSON per step; a log that is there begins anew"},
    {"memory", "FILE", OPTION_MEMORY, "write what is alive at every statement of the first step"},
    {"profile", NULL, OPTION_PROFILE, "print where the time of a step goes"},
    {"trace", "FILE", OPTION_TRACE,
     "write what every thread did when, for Perfetto or chrome://tracing"},
    {"sample", "N", OPTION_SAMPLE, "print N sampled tokens after the last step"},
    {"threads", "N", OPTION_THREADS, "threads of each rank (default: cores / ranks)"},
    {"quiet", NULL, OPTION_QUIET, "print results and errors only"},
    {"help", NULL, OPTION_HELP, "print this"},
};
enum { N_OPTIONS = sizeof run_options / sizeof run_options[0] };

static void print_help(const char *program) {
    printf("usage: %s --data FILE --steps N [options]\n", program);
    for (int i = 0; i < N_OPTIONS; i++) {
        const struct run_option *option = &run_options[i];
        char left[40], letter[5] = "    ";
        if (option->key < 256)
            snprintf(letter, sizeof letter, "-%c, ", (char)option->key);
        snprintf(left, sizeof left, "--%s %s", option->name,
                 option->argument ? option->argument : "");
        printf("  %s%-16s %s\n", letter, left, option->help);
    }
}

/* A whole number from `least` to `most`; false, with a message, for anything else. */
static bool parse_number(const char *program, const char *name, const char *text, uint64_t least,
                         uint64_t most, uint64_t *number) {
    char *end;
    errno = 0;
    unsigned long long value = strtoull(text, &end, 10);
    if (*text >= '0' && *text <= '9' && !*end && !errno && value >= least && value <= most) {
        *number = value;
        return true;
    }
    fprintf(stderr, "%s: --%s takes a whole number from %" PRIu64 " to %" PRIu64 ", not '%s'\n",
            program, name, least, most, text);
    return false;
}

/* Which of two values was meant is not ours to guess. */
static bool is_repeated(const char *program, int key, bool *given) {
    for (int i = 0; i < N_OPTIONS; i++) {
        if (run_options[i].key != (enum option_key)key || !run_options[i].argument)
            continue;
        if (given[i])
            fprintf(stderr, "%s: --%s is given twice; give it once\n", program,
                    run_options[i].name);
        bool repeated = given[i];
        given[i] = true;
        return repeated;
    }
    return false;
}

static bool take_option(const char *program, int key, const char *argument,
                        struct place_run_options *options) {
    uint64_t number = 0;
    switch (key) {
    case OPTION_DATA:
        options->data = argument;
        return true;
    case OPTION_EVAL:
        options->eval = argument;
        return true;
    case OPTION_SAVE:
        options->save = argument;
        return true;
    case OPTION_DUMP:
        options->dump = argument;
        return true;
    case OPTION_LOG:
        options->log = argument;
        return true;
    case OPTION_MEMORY:
        options->memory = argument;
        return true;
    case OPTION_TRACE:
        options->trace = argument;
        return true;
    case OPTION_PROFILE:
        options->profile = 1;
        return true;
    case OPTION_QUIET:
        options->quiet = 1;
        return true;
    case OPTION_STEPS:
        if (!parse_number(program, "steps", argument, 0, PLACE_MOST_STEPS, &number))
            return false;
        options->steps = (int64_t)number;
        return true;
    case OPTION_SAMPLE:
        if (!parse_number(program, "sample", argument, 0, PLACE_MOST_SAMPLED, &number))
            return false;
        options->sample = (int64_t)number;
        return true;
    case OPTION_THREADS:
        if (!parse_number(program, "threads", argument, 1, PLACE_MOST_THREADS, &number))
            return false;
        options->threads = (int32_t)number;
        return true;
    case OPTION_SEED:
        options->has_seed = 1;
        return parse_number(program, "seed", argument, 0, UINT64_MAX, &options->seed);
    default:
        return false;
    }
}

int place_options_parse(int argc, char **argv, struct place_run_options *options) {
    struct option table[N_OPTIONS + 1] = {{0}};
    char letters[N_OPTIONS + 1] = "";
    for (int i = 0, n = 0; i < N_OPTIONS; i++) {
        table[i] = (struct option){run_options[i].name,
                                   run_options[i].argument ? required_argument : no_argument, NULL,
                                   (int)run_options[i].key};
        if (run_options[i].key < 256)
            letters[n++] = (char)run_options[i].key;
    }
    *options = (struct place_run_options){0};
    if (argc < 2) {
        fprintf(stderr, "%s: there is nothing to do\n", argv[0]);
        fprintf(stderr, "  train with --data FILE --steps N; --help lists the options\n");
        return 2;
    }
    bool given[N_OPTIONS] = {false};
    optind = 1;
    int key;
    while ((key = getopt_long(argc, argv, letters, table, NULL)) != -1) {
        if (key == OPTION_HELP) {
            print_help(argv[0]);
            return fflush(stdout) ? 1 : 0;
        }
        if (key == '?') /* getopt_long has said what is wrong */
            fprintf(stderr, "%s: --help lists the options\n", argv[0]);
        if (key == '?' || is_repeated(argv[0], key, given) ||
            !take_option(argv[0], key, optarg, options))
            return 2;
    }
    if (optind < argc) {
        fprintf(stderr, "%s: '%s' is not an option; --help lists them\n", argv[0], argv[optind]);
        return 2;
    }
    if (options->steps > 0 && !options->data) {
        fprintf(stderr, "%s: --steps needs --data FILE\n", argv[0]);
        return 2;
    }
    if (options->steps == 0 && options->data && !options->sample) {
        fprintf(stderr, "%s: --data needs --steps N\n", argv[0]);
        return 2;
    }
    return -1;
}
