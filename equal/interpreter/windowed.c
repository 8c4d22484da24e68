// Reduce-window: folds of what a window shows at each of its places. The window is text that the reader left, and no
// reader has checked what follows from it, so what does not fit is refused here.
#include "equal/interpreter/operations.h"
#include "equal/interpreter/region.h"
#include "equal/interpreter/window.h"

static const struct array *member_of(const struct array *array, uint32_t i) {
    return array->shape->is_tuple ? array->members[i] : array;
}

static bool has_places(const struct window *window, const struct array_shape *of,
                       const struct array_shape *result) {
    if (window->rank != of->rank || result->rank != of->rank)
        return false;
    for (uint32_t d = 0; d < of->rank; d++)
        if (result->sizes[d] != window_places(&window->dimensions[d], of->sizes[d]))
            return false;
    return true;
}

static bool are_alike(const struct array *a, const struct array *b) {
    return !a->shape->is_tuple && !b->shape->is_tuple && !a->reals == !b->reals;
}

// What all places have in common: arrays, then a start for each.
struct windowed_fold {
    const struct region *region;
    const struct window *window;
    const struct array *const *in;
    uint32_t n;
};

// Where the element lies to which the walks over places and window have come; -1: there is none.
static int64_t element_shown(const struct windowed_fold *by, const struct walk *places,
                             const struct walk *elements) {
    const struct array_shape *shape = by->in[0]->shape;
    int64_t at = 0;
    for (uint32_t d = 0; d < shape->rank; d++) {
        int64_t index;
        if (!window_index(&by->window->dimensions[d], places->index[d], elements->index[d],
                          shape->sizes[d], &index))
            return -1;
        at = at * shape->sizes[d] + index;
    }
    return at;
}

static void fold_window(struct machine *machine, const struct windowed_fold *by,
                        const struct walk *places, struct array *out) {
    struct array *const *parameters = by->region->parameters;
    for (uint32_t i = 0; i < by->n; i++)
        array_set(parameters[i], 0, by->in[by->n + i], 0);
    struct walk elements = window_walk(by->window);
    for (bool on = walk_begin(&elements); on; on = walk_step(&elements)) {
        int64_t at = element_shown(by, places, &elements);
        if (at < 0)
            continue;
        for (uint32_t i = 0; i < by->n; i++)
            array_set(parameters[by->n + i], 0, by->in[i], at);
        region_execute(machine, by->region, 1);
        for (uint32_t i = 0; i < by->n; i++)
            array_set(parameters[i], 0, by->region->results[i], 0);
    }
    for (uint32_t i = 0; i < by->n; i++)
        array_set(out->shape->is_tuple ? out->members[i] : out, places->at[0], parameters[i], 0);
}

// Whether arrays, starts, region and results are of the same numbers, and in the places that the window has.
static bool fits(const struct windowed_fold *by, const struct instruction *instruction,
                 const struct array *out) {
    uint32_t n_results = out->shape->is_tuple ? out->shape->n_members : 1;
    if (instruction->n_operands != 2 * by->n || n_results != by->n ||
        by->region->n_parameters != 2 * by->n || by->region->n_results != by->n)
        return false;
    for (uint32_t i = 0; i < by->n; i++) {
        const struct array *of = by->in[i], *result = member_of(out, i);
        if (!are_alike(of, result) || !are_alike(of, by->in[by->n + i]) ||
            by->in[by->n + i]->shape->n_elements != 1 ||
            !are_alike(of, by->region->parameters[i]) ||
            !are_alike(of, by->region->parameters[by->n + i]) ||
            !are_alike(of, by->region->results[i]) ||
            of->shape->n_elements != by->in[0]->shape->n_elements ||
            !has_places(by->window, by->in[0]->shape, result->shape))
            return false;
    }
    return true;
}

static bool spend(struct machine *machine, const struct window *window, int64_t places) {
    int64_t n;
    if (__builtin_mul_overflow(window_elements(window), places, &n))
        n = INT64_MAX;
    return machine_spend(machine, n);
}

void execute_reduce_window(struct machine *machine, const struct instruction *instruction,
                           const struct array *const *in, struct array *out) {
    struct window window;
    const struct instruction_attributes *attributes = instruction->attributes;
    if (!instruction->n_operands || attributes->n_called != 1 ||
        !window_read(attributes->others, &window)) {
        machine_refuse(machine, "the window of reduce-window");
        return;
    }
    struct windowed_fold by = {region_of(machine, attributes->called[0]), &window, in,
                               instruction->n_operands / 2};
    if (!by.region)
        return;
    if (!fits(&by, instruction, out)) {
        machine_refuse(machine, "the shape of reduce-window");
        return;
    }
    const struct array_shape *places_of = member_of(out, 0)->shape;
    if (!spend(machine, &window, places_of->n_elements))
        return;
    struct walk places = walk_over(places_of);
    for (bool on = walk_begin(&places); on && !machine->why; on = walk_step(&places))
        fold_window(machine, &by, &places, out);
}
