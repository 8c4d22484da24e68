// The command line, from its tables (driver/option_tables.h). getopt_long does the syntax; what an
// option may be given to, its help and its kind of argument stand in its row.
//
// What is wrong is told with its remedy (driver/usage.c), and ends with status 2.
// Values of options are looked at here as far as they can be without a file (numbers, words of a
// list); what depends on the file is a diagnostic like any other (E118).
#include "driver/option_tables.h"

#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "frontend/frontend.h"
#include "ir/diagnostic.h"
#include "runtime/host/columns.h"

// ---- help -------------------------------------------------------------------------------------

// All verbs on one page; their options are a page each.
static void print_usage(FILE *to) {
    fprintf(to, "placec " PLACE_VERSION ": trains models by strategies that are proved first\n\n");
    for (int i = 0; i < N_VERBS; i++)
        print_words(to, verb_rows[i].help,
                    fprintf(to, "  placec %-8s %-7s ", verb_rows[i].name, verb_rows[i].operand));
    fprintf(to, "\n  placec VERB --help lists a verb's options; placec --version\n"
                "  FILE may be `-`: standard input\n");
}

// The options that this verb takes, from their rows.
static void print_verb_usage(FILE *to, enum verb verb) {
    fprintf(to, "placec %s %s [options]\n  ", verb_rows[verb].name, verb_rows[verb].operand);
    print_words(to, verb_rows[verb].help, 2);
    fprintf(to, "\n");
    for (int i = 0; i < N_OPTIONS; i++) {
        const struct option_row *row = &option_rows[i];
        if (!option_is_of(i, verb))
            continue;
        char left[64];
        snprintf(left, sizeof left, "%c%c%s --%s%s%s", row->letter ? '-' : ' ',
                 row->letter ? row->letter : ' ', row->letter ? "," : " ", row->name,
                 *row->argument && !option_is_flag(i) ? " " : "", row->argument);
        print_words(to, row->help, fprintf(to, "  %-26s ", left));
    }
}

// ---- parsing ----------------------------------------------------------------------------------

// What getopt gives for an option of long form is its id above all letters.
enum { LONG_OPTION = 256 };

// The long and short options of a verb, in getopt's form.
static void options_of_verb(enum verb verb, struct option *longs, char *shorts) {
    int n = 0, s = 0;
    shorts[s++] = ':'; // an option without its value is told from an unknown one
    for (int i = 0; i < N_OPTIONS; i++) {
        const struct option_row *row = &option_rows[i];
        if (!option_is_of(i, verb))
            continue;
        longs[n++] = (struct option){row->name,
                                     !*row->argument     ? no_argument
                                     : option_is_flag(i) ? optional_argument
                                                         : required_argument,
                                     NULL, LONG_OPTION + i};
        if (row->letter) {
            shorts[s++] = row->letter;
            if (!option_is_flag(i))
                shorts[s++] = ':';
        }
    }
    longs[n] = (struct option){0};
    shorts[s] = 0;
}

static int option_of_letter(int letter) {
    for (int i = 0; i < N_OPTIONS; i++)
        if (option_rows[i].letter == letter)
            return i;
    return -1;
}

// The last word of the command line is an option that takes a value: getopt says so by ':', and
// which one by its letter or, of a long one, the value of its row.
static int lacks_value(struct arena *arena, const struct options *options, const char *given,
                       int code) {
    const struct option_row *row =
        &option_rows[code >= LONG_OPTION ? code - LONG_OPTION : option_of_letter(code)];
    return usage_error(
        options, arena_format(arena, "give it behind the option: `%s %s`", given, row->argument),
        "`%s` lacks its value", given);
}

// Whether the word is one of the verb's options, maybe with its value.
static bool is_option(const struct options *options, const char *word) {
    size_t dashes = strspn(word, "-"), length = strcspn(word + dashes, "=");
    bool is = false;
    for (int i = 0; i < N_OPTIONS && dashes > 0; i++) {
        const char *name = dashes == 1 ? (char[]){option_rows[i].letter, 0} : option_rows[i].name;
        is = is || (dashes <= 2 && length > 0 && option_is_of(i, options->verb) &&
                    strlen(name) == length && strncmp(word + dashes, name, length) == 0);
    }
    return is;
}

// `given` is followed by another option where it must have a value, and getopt took that for it.
static int option_for_value(struct arena *arena, const struct options *options, const char *given,
                            int id, const char *value) {
    return usage_error(
        options,
        arena_format(arena, "give it behind the option: `%s %s`", given, option_rows[id].argument),
        "`%s` lacks its value: `%s` behind it is an option", given, value);
}

// Words by which other commands read a file. Who asks for that is led to what reads one here, not
// to an option that writes one, however near it is: `--load` is near `--log`.
static const char *const reading_words[] = {
    "continue", "finetune", "import",     "init", "initial", "input",   "load",  "model",
    "open",     "params",   "pretrained", "read", "restart", "restore", "start", "weights",
};

static bool is_for_reading(const char *given) {
    const char *word = given + strspn(given, "-");
    return nearest_name(word, reading_words, sizeof reading_words / sizeof *reading_words);
}

// Where the option, or what it means, is to be had: with another verb, as a setting, or as another
// system's word says; NULL: nobody knows it.
static const char *said_elsewhere(struct arena *arena, const char *name, const char *given) {
    const char *word = name + strspn(name, "-");
    const char *value = given[strlen(name)] ? given + strlen(name) + 1 : "N";
    for (int i = 0; i < N_OPTIONS; i++)
        for (int verb = 0; verb < N_VERBS && strcmp(option_rows[i].name, word) == 0; verb++)
            if (option_is_of(i, verb))
                return arena_format(arena, "`placec %s` has it", verb_rows[verb].name);
    const char *setting = setting_of(arena, word, value);
    return setting ? arena_format(arena, "it is set by `-D %s`", setting)
                   : said_here(arena, name, value);
}

// Compared with what this verb takes: an option of another verb is as wrong as a misspelt one.
static int unknown_option(struct arena *arena, const struct options *options, const char *given) {
    enum verb verb = options->verb;
    const char *names[N_OPTIONS], *verb_name = verb_rows[verb].name;
    const char *name = arena_string(arena, given, strcspn(given, "="));
    size_t n = 0;
    for (int i = 0; i < N_OPTIONS; i++) {
        if (!option_is_of(i, verb))
            continue;
        names[n++] = arena_format(arena, "--%s", option_rows[i].name);
        if (strcmp(names[n - 1], name) == 0) { // known: then it is the value that is wrong
            return usage_error(
                options, arena_format(arena, "write it alone, without `%s`", given + strlen(name)),
                "`%s` takes no value", name);
        }
    }
    const char *elsewhere = said_elsewhere(arena, name, given);
    if (elsewhere) // nothing of ours is near it
        return usage_error(options, elsewhere, "`placec %s` has no option `%s`", verb_name, name);
    bool reads = is_for_reading(name) && option_is_of(OPTION_FROM, verb);
    return usage_unknown(options, arena_format(arena, "`placec %s` has no option", verb_name), name,
                         names, is_for_reading(name) ? 0 : n,
                         arena_format(arena, "%splacec %s --help lists them",
                                      reads ? "--from PATH starts from weights, --resume DIR goes "
                                              "on from a checkpoint; "
                                            : "",
                                      verb_name));
}

// Which of two values was meant is not ours to guess. A flag says the same twice.
static int given_twice(const struct options *options, int option, const char *second) {
    return usage_error(options, "give it once", "--%s is given twice: `%s` and `%s`",
                       option_rows[option].name, options->values[option], second);
}

// getopt permutes: the operand may stand anywhere between the options.
static int take_options(struct arena *arena, int argc, char **argv, struct options *options) {
    struct option longs[N_OPTIONS + 1];
    char shorts[2 * N_OPTIONS + 2];
    options_of_verb(options->verb, longs, shorts);
    opterr = 0;
    optind = 1;
    for (;;) {
        int code = getopt_long(argc, argv, shorts, longs, NULL);
        if (code == -1)
            return -1;
        if (code == ':')
            return lacks_value(arena, options, argv[optind - 1], optopt);
        if (code == '?')
            return unknown_option(arena, options,
                                  optopt > 0 && optopt < LONG_OPTION
                                      ? (char[]){'-', (char)optopt, 0}
                                      : argv[optind - 1]);
        int id = code >= LONG_OPTION ? code - LONG_OPTION : option_of_letter(code);
        if (optarg && optarg == argv[optind - 1] && is_option(options, optarg))
            return option_for_value(arena, options, argv[optind - 2], id, optarg);
        struct option_list *list = &options->lists[id];
        if (option_rows[id].repeated)
            ARENA_PUSH(arena, list->items, list->n, list->cap, optarg);
        else if (optarg && options->values[id])
            return given_twice(options, id, optarg);
        options->values[id] = optarg ? optarg : "";
    }
}

static int find_verb(const char *name) {
    for (int i = 0; i < N_VERBS; i++)
        if (strcmp(verb_rows[i].name, name) == 0)
            return i;
    return -1;
}

static int unknown_verb(const struct options *options, const char *given) {
    const char *names[N_VERBS];
    for (int i = 0; i < N_VERBS; i++)
        names[i] = verb_rows[i].name;
    return usage_unknown(options, "there is no verb", given, names, N_VERBS,
                         "placec --help lists them");
}

// `-D dp 8` leaves the value behind as an operand.
static const char *definition_without_value(const struct options *options) {
    const struct option_list *all = &options->lists[OPTION_DEFINE];
    for (uint32_t i = 0; i < all->n; i++)
        if (!strchr(all->items[i], '='))
            return all->items[i];
    return NULL;
}

// `--timeline FILE.svg` leaves the picture behind as an operand. NULL: none of the two is one.
static const char *picture_among(char **operands) {
    for (int i = 0; i < 2; i++) {
        const char *ending = strrchr(operands[i], '.');
        if (ending && strcmp(ending, ".svg") == 0)
            return operands[i];
    }
    return NULL;
}

static int too_many_operands(struct arena *arena, const struct options *options, char **operands) {
    const char *defined = definition_without_value(options), *operand = operands[1];
    const char *picture = picture_among(operands);
    const char *remedy = "one file at a time; put names with spaces into quotes";
    if (defined)
        remedy = arena_format(arena,
                              "the value of a setting stands behind `=`: "
                              "`-D %s=%s`",
                              defined, operand);
    else if (picture && option_given(options, OPTION_TIMELINE))
        remedy = arena_format(arena, "the picture stands behind `=`: `--timeline=%s`", picture);
    else if (options->verb == VERB_RUN && option_given(options, OPTION_DATA))
        remedy = "files of data: a pattern in quotes, as --data 'train_*.bin', or --data before "
                 "each";
    else if (options->verb == VERB_EQUAL)
        remedy = "two texts at a time; put names with spaces into quotes";
    return usage_error(options, remedy, "`%s` is one operand too many", operand);
}

// As many as the verb takes: `placec opt a.place b.place` would otherwise do half of what it seems to.
// Codes are looked up one by one.
static int take_operand(struct arena *arena, int argc, char **argv, struct options *options) {
    const struct verb_row *row = &verb_rows[options->verb];
    bool file = verb_takes_file(options->verb);
    static const char texts[] = "name the text of one device, then that of each device of the mesh";
    if (optind >= argc)
        return usage_error(options,
                           options->verb == VERB_EQUAL ? texts
                           : file                      ? "name a .place file, or `-`"
                                  : "name a code such as E402, or a topic: `roles`, `coming-from`",
                           "`placec %s` needs an operand", row->name);
    int n = verb_operands(options->verb);
    if (n && optind + n < argc)
        return too_many_operands(arena, options, argv + optind + n - 1);
    if (optind + n > argc)
        return usage_error(options, texts, "`placec %s` needs another operand", row->name);
    options->operands = argv + optind;
    options->n_operands = argc - optind;
    options->operand = argv[optind];
    int status = options_check_values(options);
    return status >= 0 ? status : options_check_pairs(options);
}

// `placec help`, `placec help check`: of what exists.
static int print_help(const struct options *options, int argc, char **argv) {
    if (argc > 1)
        return usage_error(options, "placec help VERB, of one verb", "`%s` is one operand too many",
                           argv[1]);
    int verb = argc ? find_verb(argv[0]) : -1;
    if (argc && verb < 0)
        return unknown_verb(options, argv[0]);
    if (argc)
        print_verb_usage(stdout, verb);
    else
        print_usage(stdout);
    return STATUS_OK;
}

// --help and --version are answered before anything else is judged: who asks for help may be wrong.
int options_parse(struct arena *arena, int argc, char **argv, struct options *options) {
    *options = (struct options){0};
    if (argc < 2) {
        print_usage(stderr);
        return STATUS_USAGE;
    }
    if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h") || !strcmp(argv[1], "help"))
        return print_help(options, argc - 2, argv + 2);
    if (!strcmp(argv[1], "--version")) {
        printf("placec " PLACE_VERSION "\n");
        return STATUS_OK;
    }
    int verb = find_verb(argv[1]);
    if (verb < 0)
        return unknown_verb(options, argv[1]);
    options->verb = verb;
    options->wants_json = asks_for_json(verb, argc - 2, argv + 2);
    int status = take_options(arena, argc - 1, argv + 1, options);
    if (status >= 0)
        return status;
    if (option_given(options, OPTION_HELP)) {
        print_verb_usage(stdout, options->verb);
        return STATUS_OK;
    }
    return take_operand(arena, argc - 1, argv + 1, options);
}
