/* The command line of a running program, made from the table of its options (runtime/options.def).
 */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "runtime/host/columns.h"
#include "runtime/place.h"

enum option_id {
#define RUN_TEXT(ID, member, name, argument, help)                OPTION_##ID,
#define RUN_LIST(ID, member, name, argument, help)                OPTION_##ID,
#define RUN_NUMBER(ID, member, name, argument, least, most, help) OPTION_##ID,
#define RUN_FLAG(ID, member, name, letter, help)                  OPTION_##ID,
#include "runtime/options.def"
#undef RUN_TEXT
#undef RUN_LIST
#undef RUN_NUMBER
#undef RUN_FLAG
    OPTION_HELP,
    N_OPTIONS
};

static const struct run_option {
    const char *name, *argument; /* argument null: a flag */
    char letter;                 /* that stands for it too; 0: none */
    bool repeated;
    const char *help;
} run_options[N_OPTIONS] = {
#define RUN_TEXT(ID, member, name, argument, help)                {name, argument, 0, false, help},
#define RUN_LIST(ID, member, name, argument, help)                {name, argument, 0, true, help},
#define RUN_NUMBER(ID, member, name, argument, least, most, help) {name, argument, 0, false, help},
#define RUN_FLAG(ID, member, name, letter, help)                  {name, NULL, letter, true, help},
#include "runtime/options.def"
#undef RUN_TEXT
#undef RUN_LIST
#undef RUN_NUMBER
#undef RUN_FLAG
    {"help", NULL, 'h', true, "print this"},
};

static void print_help(const char *program) {
    printf("usage: %s --data FILE --steps N [options]\n", program);
    for (int i = 0; i < N_OPTIONS; i++) {
        const struct run_option *option = &run_options[i];
        char left[40], letter[5] = "    ";
        if (option->letter)
            snprintf(letter, sizeof letter, "-%c, ", option->letter);
        snprintf(left, sizeof left, "--%s %s", option->name,
                 option->argument ? option->argument : "");
        print_words(stdout, option->help, printf("  %s%-20s ", letter, left));
    }
}

int place_number(const char *text, int64_t *number) {
    char *end;
    errno = 0;
    *number = strtoll(text, &end, 10);
    return *text >= '0' && *text <= '9' && !*end && !errno;
}

/* A whole number from `least` to `most`; false, with a message, for anything else. */
static bool parse_number(const char *program, const char *name, const char *text, int64_t least,
                         int64_t most, int64_t *number) {
    if (place_number(text, number) && *number >= least && *number <= most)
        return true;
    fprintf(stderr, "%s: --%s takes a whole number from %" PRId64 " to %" PRId64 ", not '%s'\n",
            program, name, least, most, text);
    return false;
}

/* Which of two values was meant is not ours to guess. */
static bool is_repeated(const char *program, int id, bool *given) {
    bool repeated = given[id] && !run_options[id].repeated;
    if (repeated)
        fprintf(stderr, "%s: --%s is given twice; give it once\n", program, run_options[id].name);
    given[id] = true;
    return repeated;
}

/* One more. */
static bool list_add(const char *program, struct place_list *list, const char *item) {
    const char **items = realloc(list->items, (size_t)(list->n + 1) * sizeof *items);
    if (!items) {
        fprintf(stderr, "%s: no memory for '%s'\n", program, item);
        return false;
    }
    items[list->n] = item;
    *list = (struct place_list){items, list->n + 1};
    return true;
}

static bool take_option(const char *program, int id, const char *argument,
                        struct place_run_options *options) {
    int64_t number = 0;
    switch (id) {
#define RUN_TEXT(ID, member, name, argument_name, help)                                            \
    case OPTION_##ID:                                                                              \
        options->member = argument;                                                                \
        return true;
#define RUN_LIST(ID, member, name, argument_name, help)                                            \
    case OPTION_##ID:                                                                              \
        return list_add(program, &options->member, argument);
#define RUN_NUMBER(ID, member, name, argument_name, least, most, help)                             \
    case OPTION_##ID:                                                                              \
        if (!parse_number(program, name, argument, least, most, &number))                          \
            return false;                                                                          \
        options->member = number;                                                                  \
        return true;
#define RUN_FLAG(ID, member, name, letter, help)                                                   \
    case OPTION_##ID:                                                                              \
        options->member = 1;                                                                       \
        return true;
#include "runtime/options.def"
#undef RUN_TEXT
#undef RUN_LIST
#undef RUN_NUMBER
#undef RUN_FLAG
    default:
        return false;
    }
}

/* What getopt gives for an option of long form is its id above all letters. */
enum { LONG_OPTION = 256 };

/* Both forms of every option, as getopt_long takes them. */
static void getopt_tables(struct option *longs, char *letters) {
    for (int i = 0; i < N_OPTIONS; i++) {
        longs[i] = (struct option){run_options[i].name,
                                   run_options[i].argument ? required_argument : no_argument, NULL,
                                   LONG_OPTION + i};
        if (run_options[i].letter)
            *letters++ = run_options[i].letter;
    }
    longs[N_OPTIONS] = (struct option){0};
    *letters = 0;
}

static int option_of(int code) {
    for (int i = 0; i < N_OPTIONS; i++)
        if (code == LONG_OPTION + i || code == run_options[i].letter)
            return i;
    return -1;
}

/* ---- what is asked for ---------------------------------------------------------------------- */

/* The number of an option, or how often it is given; 0 of one that is not. */
static int64_t option_amount(const struct place_run_options *options, enum option_id id) {
    switch (id) {
#define RUN_TEXT(ID, member, name, argument, help)                                                 \
    case OPTION_##ID:                                                                              \
        return options->member != NULL;
#define RUN_LIST(ID, member, name, argument, help)                                                 \
    case OPTION_##ID:                                                                              \
        return options->member.n;
#define RUN_NUMBER(ID, member, name, argument, least, most, help)                                  \
    case OPTION_##ID:                                                                              \
        return options->member;
#define RUN_FLAG(ID, member, name, letter, help)                                                   \
    case OPTION_##ID:                                                                              \
        return options->member;
#include "runtime/options.def"
#undef RUN_TEXT
#undef RUN_LIST
#undef RUN_NUMBER
#undef RUN_FLAG
    default:
        return 0;
    }
}

static const struct option_pair {
    enum option_id option, other;
    bool beyond; /* its number, the other's; else it needs one */
    const char *why;
} option_pairs[] = {
#define NEEDS(option, other, why)  {OPTION_##option, OPTION_##other, false, why},
#define BEYOND(option, other, why) {OPTION_##option, OPTION_##other, true, why},
#define REQUEST(option)
#include "runtime/option_pairs.def"
#undef NEEDS
#undef BEYOND
#undef REQUEST
};

static bool asks_for_something(const struct place_run_options *options) {
    static const enum option_id requests[] = {
        OPTION_STEPS,
#define NEEDS(option, other, why)
#define BEYOND(option, other, why)
#define REQUEST(option) OPTION_##option,
#include "runtime/option_pairs.def"
#undef NEEDS
#undef BEYOND
#undef REQUEST
    };
    for (size_t i = 0; i < sizeof requests / sizeof *requests; i++)
        if (option_amount(options, requests[i]) > 0)
            return true;
    return false;
}

/* True: refused, and told. A warning is of all processes of a launcher alike. */
static bool check_pair(const char *program, const struct place_run_options *options,
                       const struct option_pair *pair) {
    const char *name = run_options[pair->option].name, *other = run_options[pair->other].name;
    int64_t amount = option_amount(options, pair->option),
            others = option_amount(options, pair->other);
    bool needed = !pair->beyond && amount > 0 && others == 0;
    if (needed)
        fprintf(stderr,
                "%s: --%s changes nothing without --%s: %s\n  give --%s, or leave --%s out\n",
                program, name, other, pair->why, other, name);
    if (pair->beyond && amount > others && place_speaks(0))
        fprintf(stderr, "warning: --%s %" PRId64 " changes nothing beside --%s %" PRId64 ": %s\n",
                name, amount, other, others, pair->why);
    return needed;
}

int place_options_check(const char *program, const struct place_run_options *options) {
    const char *wrong = NULL;
    for (size_t i = 0; i < sizeof option_pairs / sizeof *option_pairs; i++)
        if (check_pair(program, options, &option_pairs[i]))
            return 2;
    if (options->steps > 0 && options->data.n == 0)
        wrong = "--steps needs --data FILE\n  give a file of text or tokens";
    else if (!asks_for_something(options))
        wrong = "there is nothing to do: no steps, no --eval, --save or --sample\n"
                "  train with --data FILE --steps N; --help lists the options";
    else if (options->steps == 0 && options->data.n > 0 && !options->sample && place_speaks(0))
        fprintf(stderr, "warning: --data changes nothing: no step is taken\n");
    if (wrong)
        fprintf(stderr, "%s: %s\n", program, wrong);
    return wrong ? 2 : -1;
}

/* Whether the word is one of the options, maybe with its value. */
static bool is_option(const char *word) {
    size_t length = strcspn(word, "=");
    bool is = false;
    for (int i = 0; i < N_OPTIONS; i++)
        is = is || (length > 2 && strncmp(word, "--", 2) == 0 &&
                    strlen(run_options[i].name) == length - 2 &&
                    strncmp(word + 2, run_options[i].name, length - 2) == 0);
    return is;
}

int place_options_parse(int argc, char **argv, struct place_run_options *options) {
    struct option longs[N_OPTIONS + 1];
    char letters[N_OPTIONS + 1];
    getopt_tables(longs, letters);
    *options = (struct place_run_options){0};
    bool given[N_OPTIONS] = {false};
    optind = 1;
    int code;
    while ((code = getopt_long(argc, argv, letters, longs, NULL)) != -1) {
        if (code == '?') { /* getopt_long has said what is wrong */
            fprintf(stderr, "%s: --help lists the options\n", argv[0]);
            return 2;
        }
        int id = option_of(code);
        if (id == OPTION_HELP) {
            print_help(argv[0]);
            return fflush(stdout) ? 1 : 0;
        }
        if (optarg && optarg == argv[optind - 1] && is_option(optarg)) {
            fprintf(stderr,
                    "%s: `--%s` lacks its value: `%s` behind it is an option\n"
                    "  give it behind the option: `--%s %s`\n",
                    argv[0], run_options[id].name, optarg, run_options[id].name,
                    run_options[id].argument);
            return 2;
        }
        if (is_repeated(argv[0], id, given) || !take_option(argv[0], id, optarg, options))
            return 2;
    }
    options->has_seed = given[OPTION_SEED];
    if (optind < argc) {
        fprintf(stderr, "%s: '%s' is not an option; %s\n", argv[0], argv[optind],
                options->data.n > 0 ? "files of data: a pattern in quotes, as --data "
                                      "'train_*.bin', or --data before each"
                                    : "--help lists them");
        return 2;
    }
    return place_options_check(argv[0], options);
}

void place_options_free(struct place_run_options *options) {
#define RUN_TEXT(ID, member, name, argument, help)
#define RUN_LIST(ID, member, name, argument, help)                                                 \
    free((void *)options->member.items);                                                           \
    options->member = (struct place_list){0};
#define RUN_NUMBER(ID, member, name, argument, least, most, help)
#define RUN_FLAG(ID, member, name, letter, help)
#include "runtime/options.def"
#undef RUN_TEXT
#undef RUN_LIST
#undef RUN_NUMBER
#undef RUN_FLAG
}
