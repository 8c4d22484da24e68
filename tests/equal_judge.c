// Judges pairs of HLO texts by execution (equal/pairs.py makes them): whether the program of many devices computes, on
// random inputs, what the program of one does. Its word is the truth that verdicts of `placec equal` are held against.
//
// usage: equal_judge FOLDER ...
// A folder holds dist.hlo, meta.json (a spec of where arrays lie), single.hlo, and `assume`: a bound of integer inputs
// a line. NAME__wrong_I has a mistake planted, and the single.hlo of the folder NAME beside it. A line for each folder
// says equal, different (by how much, and in which result) or why it cannot be executed; some mistakes do not bite.
// Status 1: a pair that is not wrong is not equal, or one cannot be executed.
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "equal/hlo/read.h"
#include "equal/interpreter/compare.h"
#include "equal/layout/assumptions.h"
#include "random.h"

// Draws of inputs, each of which must be equal; and how far results may lie apart, relative to the largest number: fp64
// loses nothing like it, and a mistake makes more.
enum { N_DRAWS = 2 };
static const double LEAST_DIFFERENCE = 1e-10;

enum verdict { VERDICT_EQUAL, VERDICT_DIFFERENT, VERDICT_UNKNOWN, N_VERDICTS };

struct judged {
    struct arena arena;
    struct source_files sources;
    struct diagnostics *diagnostics;
    const struct graph *one, *many;
    const struct pairing *pairing;
    struct assumptions assumptions;
};

// The text of a file, with a NUL behind it. NULL: it cannot be read.
static char *text_of(const char *path, size_t *length, struct arena *arena) {
    FILE *file = fopen(path, "rb");
    if (!file)
        return NULL;
    fseek(file, 0, SEEK_END);
    long size = ftell(file);
    rewind(file);
    char *text = arena_alloc(arena, (size_t)size + 1);
    *length = fread(text, 1, (size_t)size, file);
    fclose(file);
    return text;
}

static uint32_t source_of(struct judged *judged, const char *path) {
    size_t length;
    char *text = text_of(path, &length, &judged->arena);
    if (!text)
        return NO_SOURCE;
    return source_add(&judged->sources, &judged->arena, path, text, length);
}

static const struct graph *graph_of(struct judged *judged, const char *path) {
    uint32_t source = source_of(judged, path);
    return source == NO_SOURCE ? NULL : hlo_read(source, &judged->arena, judged->diagnostics);
}

static bool assume(struct judged *judged, const char *path) {
    size_t length;
    char *text = text_of(path, &length, &judged->arena), *rest = NULL;
    if (!text)
        return true;
    for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
        if (!assumptions_add(&judged->assumptions, line, judged->pairing, &judged->arena,
                             judged->diagnostics))
            return false;
    return true;
}

// Where the folder's single.hlo lies: that of a wrong variant in the folder of the right one.
static const char *single_path(const char *folder, struct arena *arena) {
    const char *wrong = strstr(folder, "__wrong");
    size_t length = wrong ? (size_t)(wrong - folder) : strlen(folder);
    return arena_format(arena, "%.*s/single.hlo", (int)length, folder);
}

static bool read_pair(struct judged *judged, const char *folder) {
    struct arena *arena = &judged->arena;
    judged->diagnostics = diagnostics_new(arena, &judged->sources);
    judged->one = graph_of(judged, single_path(folder, arena));
    judged->many = graph_of(judged, arena_format(arena, "%s/dist.hlo", folder));
    uint32_t spec = source_of(judged, arena_format(arena, "%s/meta.json", folder));
    if (!judged->one || !judged->many || spec == NO_SOURCE)
        return false;
    struct pairing_question question = {judged->one, judged->many, spec, NULL};
    judged->pairing = pair_programs(&question, arena, judged->diagnostics);
    return judged->pairing && assume(judged, arena_format(arena, "%s/assume", folder));
}

// ---- inputs ----

// Bounds of a parameter's integers. Where no least one is assumed negative ones are drawn too: they are masked.
static struct assumption bounds_of(const struct judged *judged, uint32_t parameter) {
    struct assumption bounds = {parameter, NULL, -1, 3};
    for (uint32_t i = 0; i < judged->assumptions.n; i++)
        if (judged->assumptions.of[i].parameter == parameter)
            bounds = judged->assumptions.of[i];
    if (bounds.least == INT64_MIN)
        bounds.least = -1;
    return bounds;
}

// Second moments of optimizers, which are sums of squares: none is negative.
static bool is_square(const struct array_layout *layout) {
    return layout->name && strncmp(layout->name, "second", strlen("second")) == 0;
}

static struct array *draw_input(struct judged *judged, uint32_t parameter, uint64_t *state) {
    const struct array_layout *layout = &judged->pairing->parameters[parameter];
    const struct array_shape *shape = layout->shape;
    struct array *array = ARENA_NEW(&judged->arena, struct array);
    array->shape = shape;
    if (element_rows[shape->element].kind == NUMBER_REAL) {
        array->reals = ARENA_ARRAY(&judged->arena, double, shape->n_elements);
        for (int64_t i = 0; i < shape->n_elements; i++) {
            double drawn = 1.5 * random_real(state);
            array->reals[i] = is_square(layout) ? drawn * drawn : drawn;
        }
        return array;
    }
    struct assumption bounds = bounds_of(judged, parameter);
    uint64_t n = (uint64_t)(bounds.most - bounds.least) + 1;
    array->integers = ARENA_ARRAY(&judged->arena, int64_t, shape->n_elements);
    for (int64_t i = 0; i < shape->n_elements; i++)
        array->integers[i] = bounds.least + (int64_t)(random_bits(state) % n);
    return array;
}

// ---- the verdict ----

static enum verdict compare_on_draw(struct judged *judged, uint64_t *state,
                                    struct comparison *comparison) {
    uint32_t n = judged->pairing->n_parameters;
    const struct array **wholes = ARENA_ARRAY(&judged->arena, const struct array *, n);
    for (uint32_t i = 0; i < n; i++)
        wholes[i] = draw_input(judged, i, state);
    if (!compare_programs(judged->pairing, judged->one, judged->many, wholes, &judged->arena,
                          comparison))
        return VERDICT_UNKNOWN;
    bool equal = comparison->greatest.relative < LEAST_DIFFERENCE;
    return equal ? VERDICT_EQUAL : VERDICT_DIFFERENT;
}

static void print_refusal(const struct comparison *comparison) {
    const char *name = comparison->at ? comparison->at->name : "";
    printf("cannot be executed: %s %s\n", comparison->why, name);
}

static void print_difference(const struct judged *judged, const struct difference *greatest) {
    printf("different by %.3g in result %" PRIu32 " (%s) on device %" PRIu32 "\n",
           greatest->relative, greatest->result, judged->pairing->results[greatest->result].name,
           greatest->device);
}

static enum verdict judge_draws(struct judged *judged) {
    uint64_t state = 1;
    for (int i = 0; i < N_DRAWS; i++) {
        struct comparison comparison = {0};
        enum verdict verdict = compare_on_draw(judged, &state, &comparison);
        if (verdict == VERDICT_UNKNOWN)
            print_refusal(&comparison);
        else if (verdict == VERDICT_DIFFERENT)
            print_difference(judged, &comparison.greatest);
        if (verdict != VERDICT_EQUAL)
            return verdict;
    }
    printf("equal\n");
    return VERDICT_EQUAL;
}

static enum verdict judge(const char *folder) {
    struct judged judged = {0};
    enum verdict verdict = VERDICT_UNKNOWN;
    printf("%s ", folder);
    if (read_pair(&judged, folder))
        verdict = judge_draws(&judged);
    else
        printf("cannot be read\n");
    diagnostics_print(judged.diagnostics, stdout, false);
    arena_free(&judged.arena);
    return verdict;
}

int main(int n_arguments, char **arguments) {
    uint32_t counts[2][N_VERDICTS] = {0}; // of right pairs, and of wrong ones
    for (int i = 1; i < n_arguments; i++)
        counts[strstr(arguments[i], "__wrong") != NULL][judge(arguments[i])]++;
    const uint32_t *right = counts[0], *wrong = counts[1];
    printf("right: %" PRIu32 " equal, %" PRIu32 " different; wrong: %" PRIu32 " different, %" PRIu32
           " do not bite; %" PRIu32 " cannot be executed\n",
           right[VERDICT_EQUAL], right[VERDICT_DIFFERENT], wrong[VERDICT_DIFFERENT],
           wrong[VERDICT_EQUAL], right[VERDICT_UNKNOWN] + wrong[VERDICT_UNKNOWN]);
    return right[VERDICT_DIFFERENT] + right[VERDICT_UNKNOWN] + wrong[VERDICT_UNKNOWN] > 0;
}
