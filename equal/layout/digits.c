// Digits of devices' numbers: found in lists, made of boxes, split.
#include "equal/layout/digits.h"

#include <string.h>

#include "ir/sizes.h"

static bool prepend(struct digit_list *list, struct device_digit digit) {
    if (list->n == MAX_DEVICE_DIGITS)
        return false;
    memmove(list->of + 1, list->of, list->n * sizeof *list->of);
    list->of[0] = digit;
    list->n++;
    return true;
}

static bool append(struct digit_list *list, struct device_digit digit) {
    if (list->n == MAX_DEVICE_DIGITS)
        return false;
    list->of[list->n++] = digit;
    return true;
}

// Whether every device stands in the list once: a digit's stride is the product of the sizes of all smaller ones.
static bool is_complete(const struct digit_list *list) {
    for (uint32_t i = 0; i < list->n; i++) {
        int64_t below = 1;
        for (uint32_t j = 0; j < list->n; j++)
            if (j != i && list->of[j].stride <= list->of[i].stride)
                below = size_times(below, list->of[j].size);
        if (below != list->of[i].stride)
            return false;
    }
    return true;
}

static int64_t device_at(const struct digit_list *list, int64_t place) {
    int64_t device = 0;
    for (uint32_t i = list->n; i-- > 0; place /= list->of[i].size)
        device += place % list->of[i].size * list->of[i].stride;
    return device;
}

bool digits_of_list(const uint32_t *devices, uint32_t n, struct digit_list *list) {
    *list = (struct digit_list){.n = 0};
    for (int64_t explained = 1; explained < n;) {
        struct device_digit digit = {.size = 1, .stride = devices[explained]};
        while (digit.size * explained < n &&
               devices[digit.size * explained] == digit.size * digit.stride)
            digit.size++;
        if (digit.size == 1 || !digit.stride || !prepend(list, digit))
            return false;
        explained *= digit.size;
    }
    for (uint32_t i = 0; i < n; i++)
        if (devices[i] != device_at(list, i))
            return false;
    return is_complete(list);
}

bool digits_of_box(const int64_t *sides, const int64_t *permutation, uint32_t n,
                   struct digit_list *list) {
    *list = (struct digit_list){.n = 0};
    for (uint32_t i = 0; i < n; i++) {
        struct device_digit digit = {.size = sides[permutation[i]], .stride = 1};
        for (uint32_t j = (uint32_t)permutation[i] + 1; j < n; j++)
            digit.stride = size_times(digit.stride, sides[j]);
        if (digit.size > 1 && !append(list, digit))
            return false;
    }
    return true;
}

bool digits_take(struct digit_list *from, int64_t size, struct digit_list *taken) {
    taken->n = 0;
    while (size > 1) {
        if (!from->n)
            return false;
        struct device_digit *outer = &from->of[0];
        if (size % outer->size == 0) {
            size /= outer->size;
            taken->of[taken->n++] = *outer;
            memmove(from->of, from->of + 1, --from->n * sizeof *from->of);
        } else if (outer->size % size == 0) {
            outer->size /= size;
            taken->of[taken->n++] =
                (struct device_digit){.size = size, .stride = outer->stride * outer->size};
            size = 1;
        } else {
            return false;
        }
    }
    return true;
}
