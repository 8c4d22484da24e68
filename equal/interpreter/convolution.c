// Convolution: sums of products over a window and the features of its group. Which dimension is which is text that the
// reader left ("dim_labels=b01f_01io->b01f"), and no reader has checked what follows from it, so what does not fit is
// refused here.
#include <stdlib.h>
#include <string.h>

#include "equal/interpreter/operations.h"
#include "equal/interpreter/pointwise.h"
#include "equal/interpreter/window.h"

enum role { INPUT, KERNEL, RESULT, N_ROLES };

// Two dimensions that the labels name by letters (batch and feature; of the kernel, features in and out), and those
// along which the window moves.
struct labels {
    uint32_t first, second, spatial[MAX_GRAPH_RANK];
};
struct convolution {
    struct window window;
    struct labels labels[N_ROLES];
    int64_t feature_groups, batch_groups;
    const struct array_shape *shapes[N_ROLES];
    int64_t strides[N_ROLES][MAX_GRAPH_RANK];
};

// The labels of an array of so many dimensions, each once.
static bool read_labels(const char **at, const char *letters, uint32_t rank,
                        struct labels *labels) {
    uint32_t seen = 0;
    for (uint32_t d = 0; d < rank; d++) {
        char label = *(*at)++;
        uint32_t number = label == letters[0]   ? 0
                          : label == letters[1] ? 1
                          : label >= '0' && label < '0' + (int)rank - 2
                              ? 2 + (uint32_t)(label - '0')
                              : MAX_GRAPH_RANK + 2;
        if (number > MAX_GRAPH_RANK + 1 || seen >> number & 1)
            return false;
        seen |= UINT32_C(1) << number;
        *(number == 0   ? &labels->first
          : number == 1 ? &labels->second
                        : &labels->spatial[number - 2]) = d;
    }
    return true;
}

static bool read_all_labels(const char *others, struct convolution *by) {
    const char *at = others ? strstr(others, "dim_labels=") : NULL;
    uint32_t rank = by->window.rank + 2;
    if (!at || rank > MAX_GRAPH_RANK)
        return false;
    at += strlen("dim_labels=");
    return read_labels(&at, "bf", rank, &by->labels[INPUT]) && *at++ == '_' &&
           read_labels(&at, "io", rank, &by->labels[KERNEL]) && *at++ == '-' && *at++ == '>' &&
           read_labels(&at, "bf", rank, &by->labels[RESULT]);
}

static int64_t number_of(const char *others, const char *name) {
    const char *at = strstr(others, name);
    return at ? strtoll(at + strlen(name), NULL, 10) : 1;
}

static int64_t first_size(const struct convolution *by, enum role role) {
    return by->shapes[role]->sizes[by->labels[role].first];
}

static int64_t second_size(const struct convolution *by, enum role role) {
    return by->shapes[role]->sizes[by->labels[role].second];
}

static int64_t spatial_size(const struct convolution *by, enum role role, uint32_t d) {
    return by->shapes[role]->sizes[by->labels[role].spatial[d]];
}

static bool sizes_fit(const struct convolution *by) {
    for (uint32_t d = 0; d < by->window.rank; d++)
        if (spatial_size(by, KERNEL, d) != by->window.dimensions[d].size ||
            spatial_size(by, RESULT, d) !=
                window_places(&by->window.dimensions[d], spatial_size(by, INPUT, d)))
            return false;
    int64_t features = second_size(by, KERNEL), each;
    return by->feature_groups > 0 && by->batch_groups > 0 &&
           !__builtin_mul_overflow(first_size(by, KERNEL), by->feature_groups, &each) &&
           second_size(by, INPUT) == each && features % by->feature_groups == 0 &&
           features % by->batch_groups == 0 && second_size(by, RESULT) == features &&
           !__builtin_mul_overflow(first_size(by, RESULT), by->batch_groups, &each) &&
           first_size(by, INPUT) == each;
}

static bool read_convolution(const struct instruction *instruction, const struct array *const *in,
                             const struct array *out, struct convolution *by) {
    const char *others = instruction->attributes->others;
    const struct array *arrays[N_ROLES] = {in[0], in[1], out};
    if (!window_read(others, &by->window) || !read_all_labels(others, by))
        return false;
    by->feature_groups = number_of(others, "feature_group_count=");
    by->batch_groups = number_of(others, "batch_group_count=");
    for (int role = 0; role < N_ROLES; role++) {
        by->shapes[role] = arrays[role]->shape;
        if (by->shapes[role]->is_tuple || by->shapes[role]->rank != by->window.rank + 2 ||
            !arrays[role]->reals != !out->reals)
            return false;
        shape_strides(by->shapes[role], by->strides[role]);
    }
    return sizes_fit(by);
}

static int64_t place_of(const struct convolution *by, enum role role, int64_t first,
                        int64_t second) {
    return first * by->strides[role][by->labels[role].first] +
           second * by->strides[role][by->labels[role].second];
}

// Moves to the factors that an element of the window has at a place of the result. False: there is nothing to multiply.
static bool find_factors(const struct convolution *by, const struct walk *places,
                         const struct walk *elements, int64_t at[2]) {
    for (uint32_t d = 0; d < by->window.rank; d++) {
        const struct window_dimension *of = &by->window.dimensions[d];
        int64_t element = elements->index[d], index;
        if (!window_index(of, places->index[by->labels[RESULT].spatial[d]], element,
                          spatial_size(by, INPUT, d), &index))
            return false;
        at[INPUT] += index * by->strides[INPUT][by->labels[INPUT].spatial[d]];
        at[KERNEL] += (of->reversal ? of->size - 1 - element : element) *
                      by->strides[KERNEL][by->labels[KERNEL].spatial[d]];
    }
    return true;
}

// The sum at the place of the result to which the walk has come.
static void convolve(const struct convolution *by, const struct walk *places,
                     const struct array *const *in, struct array *out) {
    int64_t feature = places->index[by->labels[RESULT].second], features = second_size(by, KERNEL);
    int64_t depth = first_size(by, KERNEL);
    int64_t first_feature = feature / (features / by->feature_groups) * depth;
    int64_t batch = places->index[by->labels[RESULT].first] +
                    feature / (features / by->batch_groups) * first_size(by, RESULT);
    int64_t steps[2] = {by->strides[INPUT][by->labels[INPUT].second],
                        by->strides[KERNEL][by->labels[KERNEL].first]};
    double sum = 0;
    uint64_t whole = 0;
    struct walk elements = window_walk(&by->window);
    for (bool on = walk_begin(&elements); on; on = walk_step(&elements)) {
        int64_t at[2] = {place_of(by, INPUT, batch, first_feature),
                         place_of(by, KERNEL, 0, feature)};
        if (!find_factors(by, places, &elements, at))
            continue;
        for (int64_t i = 0; i < depth; i++) {
            int64_t left = at[INPUT] + i * steps[INPUT], right = at[KERNEL] + i * steps[KERNEL];
            if (out->reals)
                sum += in[0]->reals[left] * in[1]->reals[right];
            else
                whole += (uint64_t)in[0]->integers[left] * (uint64_t)in[1]->integers[right];
        }
    }
    if (out->reals)
        out->reals[places->at[0]] = sum;
    else
        out->integers[places->at[0]] = wrap_integer(out->shape->element, (int64_t)whole);
}

void execute_convolution(struct machine *machine, const struct instruction *instruction,
                         const struct array *const *in, struct array *out) {
    struct convolution by = {0};
    if (!read_convolution(instruction, in, out, &by)) {
        machine_refuse(machine, "the shape of convolution");
        return;
    }
    int64_t products = window_elements(&by.window);
    if (__builtin_mul_overflow(products, first_size(&by, KERNEL), &products) ||
        __builtin_mul_overflow(products, out->shape->n_elements, &products))
        products = INT64_MAX;
    if (!machine_spend(machine, products))
        return;
    struct walk places = walk_over(out->shape);
    for (bool on = walk_begin(&places); on; on = walk_step(&places))
        convolve(&by, &places, in, out);
}
