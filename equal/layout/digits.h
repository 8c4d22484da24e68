// Digits of devices' numbers. Device lists of shardings and groups are mostly the numbers 0, 1, ... laid out in a box
// whose sides were exchanged and regrouped; then a place in such a list is made of the digits of the device's number.
#ifndef PLACE_EQUAL_LAYOUT_DIGITS_H
#define PLACE_EQUAL_LAYOUT_DIGITS_H

#include <stdbool.h>
#include <stdint.h>

enum { MAX_DEVICE_DIGITS = 32 };

struct device_digit { // a device's number / stride % size
    int64_t size, stride;
};
struct digit_list { // outermost first
    struct device_digit of[MAX_DEVICE_DIGITS];
    uint32_t n;
};

// The digits that a place in the list is made of: place 0 has device 0, and so on. Neighbours that are one digit are
// one. False: the list is no such list.
bool digits_of_list(const uint32_t *devices, uint32_t n, struct digit_list *);
// The digits of the numbers 0, 1, ... in a box of these sides, whose side i then becomes the one that was
// `permutation[i]`. False: more digits than there may be.
bool digits_of_box(const int64_t *sides, const int64_t *permutation, uint32_t n,
                   struct digit_list *);
// Moves the outermost digits of `from` whose sizes multiply to `size` to `taken`, of the last of which it may be an
// outer part. False: no digits do.
bool digits_take(struct digit_list *from, int64_t size, struct digit_list *taken);

#endif
