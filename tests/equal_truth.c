// Reads the pair of a folder and executes it on random inputs.
#include "equal_truth.h"

#include <stdio.h>
#include <string.h>

#include "equal/hlo/read.h"
#include "random.h"

// Draws of inputs, each of which must be equal; and how far results may lie apart, relative to the largest number: fp64
// loses nothing like it, and a mistake makes more.
enum { N_DRAWS = 8 };
static const double LEAST_DIFFERENCE = 1e-10;

static const char WRONG[] = "__wrong";

bool is_wrong_variant(const char *folder) {
    return strstr(folder, WRONG) != NULL;
}

// ---- files ----

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

static uint32_t source_of(const char *path, struct source_files *sources, struct arena *arena) {
    size_t length;
    char *text = text_of(path, &length, arena);
    return text ? source_add(sources, arena, path, text, length) : NO_SOURCE;
}

static void read_assumed(struct pair_sources *pair, const char *path, struct arena *arena) {
    size_t length;
    uint32_t capacity = 0;
    const char **lines = NULL;
    char *text = text_of(path, &length, arena), *rest = NULL;
    char *line = text ? strtok_r(text, "\n", &rest) : NULL;
    for (; line; line = strtok_r(NULL, "\n", &rest))
        ARENA_PUSH(arena, lines, pair->n_assumed, capacity, line);
    pair->assumed = lines;
}

// Where the folder's single.hlo lies: that of a wrong variant in the folder of the right one.
static const char *single_path(const char *folder, struct arena *arena) {
    const char *wrong = strstr(folder, WRONG);
    size_t length = wrong ? (size_t)(wrong - folder) : strlen(folder);
    return arena_format(arena, "%.*s/single.hlo", (int)length, folder);
}

struct pair_sources pair_sources_read(const char *folder, struct source_files *sources,
                                      struct arena *arena) {
    struct pair_sources pair = {
        .one = source_of(single_path(folder, arena), sources, arena),
        .many = source_of(arena_format(arena, "%s/dist.hlo", folder), sources, arena),
        .spec = source_of(arena_format(arena, "%s/meta.json", folder), sources, arena)};
    read_assumed(&pair, arena_format(arena, "%s/assume", folder), arena);
    return pair;
}

// ---- inputs ----

struct input_draw {
    const struct pairing *pairing;
    struct assumptions assumptions;
    uint64_t state;
    uint32_t number; // of draws before it
    struct arena *arena;
};

// Bounds of a parameter's integers. Where no least one is assumed negative ones are drawn too: they are masked.
static struct assumption bounds_of(const struct input_draw *draw, uint32_t parameter) {
    struct assumption bounds = {parameter, NULL, -1, 3};
    for (uint32_t i = 0; i < draw->assumptions.n; i++)
        if (draw->assumptions.of[i].parameter == parameter)
            bounds = draw->assumptions.of[i];
    if (bounds.least == INT64_MIN)
        bounds.least = -1;
    return bounds;
}

// Second moments of optimizers, which are sums of squares: none is negative.
static bool is_square(const struct array_layout *layout) {
    return layout->name && strncmp(layout->name, "second", strlen("second")) == 0;
}

// An integer in its bounds, which are drawn more often than what is between, where mistakes lie, too: at ends of parts.
static int64_t draw_integer(const struct assumption *bounds, bool uniform, uint64_t *state) {
    uint64_t n = (uint64_t)(bounds->most - bounds->least) + 1, drawn = random_bits(state);
    switch (uniform ? 2 : drawn & 3) {
    case 0:
        return bounds->least;
    case 1:
        return bounds->most;
    default:
        return bounds->least + (int64_t)((drawn >> 2) % n);
    }
}

// Norms that clip and such that do not, by the number of the draw.
static const double sizes_of_reals[] = {1.5, 0.5, 1.5, 1};

static struct array *draw_input(struct input_draw *draw, uint32_t parameter) {
    const struct array_layout *layout = &draw->pairing->parameters[parameter];
    const struct array_shape *shape = layout->shape;
    struct array *array = ARENA_NEW(draw->arena, struct array);
    array->shape = shape;
    if (element_rows[shape->element].kind == NUMBER_REAL) {
        array->reals = ARENA_ARRAY(draw->arena, double, shape->n_elements);
        for (int64_t i = 0; i < shape->n_elements; i++) {
            double drawn = sizes_of_reals[draw->number % 4] * random_real(&draw->state);
            array->reals[i] = is_square(layout) ? drawn * drawn : drawn;
        }
        return array;
    }
    struct assumption bounds = bounds_of(draw, parameter);
    array->integers = ARENA_ARRAY(draw->arena, int64_t, shape->n_elements);
    for (int64_t i = 0; i < shape->n_elements; i++)
        array->integers[i] = draw_integer(&bounds, draw->number % 2, &draw->state);
    return array;
}

// ---- execution ----

static struct executed_pair refused(const struct comparison *comparison, struct arena *arena) {
    const char *name = comparison->at ? comparison->at->name : "";
    const char *why = arena_format(arena, "%s %s", comparison->why, name);
    return (struct executed_pair){.truth = TRUTH_UNKNOWN, .why = why};
}

static struct executed_pair execute_draw(struct input_draw *draw, const struct graph *one,
                                         const struct graph *many) {
    uint32_t n = draw->pairing->n_parameters;
    const struct array **wholes = ARENA_ARRAY(draw->arena, const struct array *, n);
    for (uint32_t i = 0; i < n; i++)
        wholes[i] = draw_input(draw, i);
    struct comparison comparison = {0};
    if (!compare_programs(draw->pairing, one, many, wholes, NULL, draw->arena, &comparison))
        return refused(&comparison, draw->arena);
    struct executed_pair executed = {.difference = comparison.greatest};
    if (comparison.greatest.relative >= LEAST_DIFFERENCE) {
        executed.truth = TRUTH_DIFFERENT;
        executed.result = draw->pairing->results[comparison.greatest.result].name;
    }
    return executed;
}

static bool assume_all(struct input_draw *draw, const struct pair_sources *pair,
                       struct diagnostics *diagnostics) {
    for (uint32_t i = 0; i < pair->n_assumed; i++)
        if (!assumptions_add(&draw->assumptions, pair->assumed[i], draw->pairing, draw->arena,
                             diagnostics))
            return false;
    return true;
}

struct executed_pair pair_execute(const struct pair_sources *pair, struct arena *arena,
                                  struct diagnostics *diagnostics) {
    struct executed_pair executed = {.truth = TRUTH_UNKNOWN, .why = "it cannot be read"};
    if (pair->one == NO_SOURCE || pair->many == NO_SOURCE)
        return executed;
    const struct graph *one = hlo_read(pair->one, arena, diagnostics);
    const struct graph *many = hlo_read(pair->many, arena, diagnostics);
    if (!one || !many)
        return executed;
    struct layout_given given;
    if (!layout_given_read(&given, pair->spec, NULL, arena, diagnostics))
        return executed;
    struct pairing_question question = {one, many, &given};
    struct input_draw draw = {
        .pairing = pair_programs(&question, arena, diagnostics), .state = 1, .arena = arena};
    if (!draw.pairing || !assume_all(&draw, pair, diagnostics))
        return executed;
    executed.truth = TRUTH_EQUAL;
    for (; draw.number < N_DRAWS && executed.truth == TRUTH_EQUAL; draw.number++)
        executed = execute_draw(&draw, one, many);
    return executed;
}
