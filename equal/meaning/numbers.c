// Integers that depend on the device's number alone, as the place of a part that is found by rests, choices and signs: they
// are evaluated for every device, and are digits of its number if these numbers are.
#include "equal/meaning/read.h"

enum { MOST_DEVICES_EVALUATED = 4096 };

static bool depends_on_device_alone(const struct calculus *c, struct viewed value) {
    struct view view;
    bool any = false;
    view_get(&c->views, value.view, &view);
    for (uint32_t d = 0; d < view.n; d++)
        for (uint32_t i = 0; i < view.of[d].n; i++) {
            if (view.of[d].pieces[i].coordinate != COORDINATE_DEVICE)
                return false;
            any = true;
        }
    return any;
}

static bool number_on(struct calculus *c, struct viewed value, int64_t device, int64_t n_devices,
                      int64_t *number) {
    struct affine place = affine_constant(device);
    struct substitution by = {0};
    struct viewed there;
    int64_t denominator;
    by.of[COORDINATE_DEVICE] = &place;
    by.sizes[COORDINATE_DEVICE] = n_devices;
    return value_move(c, value, &by, &there) && value_number(c, there, number, &denominator) &&
           denominator == 1;
}

// What an integer that depends on the device's number alone is on each device. NULL: it is none, or not known.
static int64_t *numbers_on_devices(const struct at *at, struct viewed value) {
    struct calculus *c = at->r->c;
    int64_t n = at->r->graph->n_devices;
    if (n == 1 || n > MOST_DEVICES_EVALUATED || !depends_on_device_alone(c, value))
        return NULL;
    int64_t *numbers = ARENA_ARRAY(&c->scratch, int64_t, (size_t)n);
    for (int64_t d = 0; d < n; d++)
        if (!number_on(c, value, d, n, &numbers[d]))
            return NULL;
    return numbers;
}

static bool as_digits(const struct at *at, const int64_t *numbers, struct affine *index) {
    *index = affine_constant(numbers[0]);
    return affine_add_numbers(index, numbers, 1, at->r->graph->n_devices, COORDINATE_DEVICE) &&
           affine_normal(index);
}

struct viewed in_device_digits(const struct at *at, struct viewed value) {
    struct calculus *c = at->r->c;
    struct affine index;
    int64_t denominator;
    enum number_kind kind = at->by->shape->is_tuple ? NUMBER_OTHER : shape_kind(at->by->shape);
    if ((kind != NUMBER_INTEGER && kind != NUMBER_UNSIGNED) ||
        value_as_index(c, value, &index, &denominator))
        return value;
    const int64_t *numbers = numbers_on_devices(at, value);
    return numbers && as_digits(at, numbers, &index) ? value_index(c, &index) : value;
}

bool clamped_on_devices(const struct at *at, struct viewed value, int64_t most,
                        struct affine *index) {
    int64_t *numbers = numbers_on_devices(at, value);
    for (int64_t d = 0; numbers && d < at->r->graph->n_devices; d++)
        numbers[d] = numbers[d] < 0 ? 0 : numbers[d] > most ? most : numbers[d];
    return numbers && as_digits(at, numbers, index);
}
