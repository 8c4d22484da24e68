// placec equal: whether another framework's program for each device of a mesh computes what that for one device does.
#include "equal/equal.h"

#include <jansson.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "driver/options.h"
#include "driver/report_diagnostics.h"
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
        good &= frontend_read_within(
            &a->arena, a->diagnostics, options->values[OPTION_SPEC], LIMIT_SOURCE_BYTES,
            "a spec says of each array where it lies; is this the right file?", &a->question.spec);
    return good;
}

static double seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static const char *const verdicts[] = {"equal", "different", "unproved"};

static void print_answer(struct asking *a, const struct equal_answer *answer, double took) {
    const char *over = "", *assuming = "", *evaluated = "";
    // XLA gives its own meshes axes of one device, over which nothing is shared.
    for (uint32_t i = 0; i < answer->n_axes; i++)
        if (answer->axes[i].size > 1)
            over = arena_format(&a->arena, "%s%s%s", over, *over ? ", " : "", answer->axes[i].name);
    for (uint32_t i = 0; i < answer->n_assumptions; i++)
        assuming = arena_format(&a->arena, "%s%s%s", assuming, i ? ", " : "; assuming ",
                                answer->assumptions[i]);
    if (answer->n_evaluated)
        evaluated = arena_format(&a->arena, ", %u of them in finite fields", answer->n_evaluated);
    const char *line = arena_format(
        &a->arena, "%s: %u of %u result%s over %s%s; %u and %u instructions; %.2f s%s%s%s",
        verdicts[answer->verdict], answer->n_proved, answer->n_results, plural_s(answer->n_results),
        *over ? over : "one device", evaluated, answer->n_one, answer->n_many, took,
        answer->by_order ? "; parameters by order" : "",
        answer->by_shape ? "; layouts by shape" : "", assuming);
    print_words(stdout, line, 0);
}

// ---- JSON -------------------------------------------------------------------------------------

static json_t *mesh_json(const struct equal_answer *answer) {
    json_t *array = json_array();
    for (uint32_t i = 0; i < answer->n_axes; i++)
        json_array_append_new(array,
                              json_pack("{s:o, s:I}", "axis", text_json(answer->axes[i].name),
                                        "size", (json_int_t)answer->axes[i].size));
    return array;
}

static json_t *results_json(const struct equal_answer *answer) {
    json_t *array = json_array();
    for (uint32_t i = 0; i < answer->n_results; i++)
        json_array_append_new(array, json_pack("{s:o, s:b, s:b}", "name",
                                               text_json(answer->results[i].name), "proved",
                                               answer->results[i].is_proved, "evaluated",
                                               answer->results[i].is_evaluated));
    return array;
}

static json_t *assuming_json(const struct equal_answer *answer) {
    json_t *array = json_array();
    for (uint32_t i = 0; i < answer->n_assumptions; i++)
        json_array_append_new(array, text_json(answer->assumptions[i]));
    return array;
}

static void set_answer(json_t *root, const struct equal_answer *answer) {
    json_object_set_new(root, "verdict", json_string(verdicts[answer->verdict]));
    json_object_set_new(root, "mesh", mesh_json(answer));
    json_object_set_new(root, "results", results_json(answer));
    json_object_set_new(root, "by_order", json_boolean(answer->by_order));
    json_object_set_new(root, "by_shape", json_boolean(answer->by_shape));
    json_object_set_new(root, "assuming", assuming_json(answer));
    json_object_set_new(root, "instructions",
                        json_pack("{s:I, s:I}", "one", (json_int_t)answer->n_one, "many",
                                  (json_int_t)answer->n_many));
}

// One object, whatever the outcome (docs/json.md).
static void print_json(const struct asking *a, const struct options *options,
                       const struct equal_answer *answer) {
    json_t *root = report_new(VERB_EQUAL);
    json_object_set_new(root, "one", text_json(options->operands[0]));
    json_object_set_new(root, "many", text_json(options->operands[1]));
    if (answer)
        set_answer(root, answer);
    json_object_set_new(root, "diagnostics", diagnostics_json(a->diagnostics));
    print_report(root, stdout);
    json_decref(root);
}

// With --json everything is in the one object, as of `check`.
static void print_outcome(struct asking *a, const struct options *options,
                          const struct equal_answer *answer, double took) {
    if (option_given(options, OPTION_JSON)) {
        print_json(a, options, answer);
        return;
    }
    if (answer)
        print_answer(a, answer, took);
    fflush(stdout);
    if (a->diagnostics->n_items && place_speaks(a->diagnostics->n_errors > 0))
        diagnostics_print(a->diagnostics, stderr, option_colour(options, STDERR_FILENO));
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
    print_outcome(&a, options, answer, seconds() - before);
    int status = !answer                           ? STATUS_USAGE
                 : answer->verdict == EQUAL_PROVED ? STATUS_OK
                                                   : STATUS_REFUSED;
    arena_free(&a.arena);
    return status;
}
