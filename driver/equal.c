// placec equal: whether another framework's program for each device of a mesh computes what that for one device does.
#include "equal/equal.h"

#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "driver/options.h"
#include "frontend/frontend.h"
#include "ir/limits.h"
#include "runtime/host/columns.h"
#include "runtime/place.h"

struct asking {
    struct arena arena;
    struct source_files sources;
    struct diagnostics *diagnostics;
    struct equal_question question;
};

static bool read_texts(struct asking *a, const struct options *options) {
    static const char remedy[] = "give the dump of one module";
    bool good = frontend_read_within(&a->arena, a->diagnostics, options->operands[0],
                                     LIMIT_HLO_BYTES, remedy, &a->question.one);
    good &= frontend_read_within(&a->arena, a->diagnostics, options->operands[1], LIMIT_HLO_BYTES,
                                 remedy, &a->question.many);
    if (option_given(options, OPTION_SPEC))
        good &= frontend_read(&a->arena, a->diagnostics, options->values[OPTION_SPEC],
                              &a->question.spec);
    return good;
}

static double seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void print_answer(const struct equal_answer *answer, double took) {
    static const char *const words[] = {"equal", "different", "unproved"};
    char line[1024];
    snprintf(line, sizeof line, "%s: %u of %u result%s over %s; %u and %u instructions; %.2f s%s%s",
             words[answer->verdict], answer->n_proved, answer->n_results,
             plural_s(answer->n_results), answer->mesh, answer->n_one, answer->n_many, took,
             answer->assuming ? "; assuming " : "", answer->assuming ? answer->assuming : "");
    print_words(stdout, line, 0);
}

int verb_equal(const struct options *options) {
    struct asking a = {.question = {.spec = NO_SOURCE}};
    const struct option_list *assumptions = &options->lists[OPTION_ASSUME];
    const struct equal_answer *answer = NULL;
    a.diagnostics = diagnostics_new(&a.arena, &a.sources);
    a.diagnostics->limit =
        (uint32_t)option_integer(options, OPTION_ERROR_LIMIT, DEFAULT_ERROR_LIMIT);
    a.question.mesh_text = options->values[OPTION_MESH];
    a.question.assumptions = assumptions->items;
    a.question.n_assumptions = assumptions->n;
    double before = seconds();
    if (read_texts(&a, options))
        answer = equal_judge(&a.question, &a.arena, a.diagnostics);
    if (answer)
        print_answer(answer, seconds() - before);
    fflush(stdout);
    if (a.diagnostics->n_items && place_speaks(a.diagnostics->n_errors > 0))
        diagnostics_print(a.diagnostics, stderr, option_colour(options, STDERR_FILENO));
    int status = !answer                           ? STATUS_USAGE
                 : answer->verdict == EQUAL_PROVED ? STATUS_OK
                                                   : STATUS_REFUSED;
    arena_free(&a.arena);
    return status;
}
