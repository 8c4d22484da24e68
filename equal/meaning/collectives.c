// Collectives: devices' elements. The number of a device is a coordinate, of which a group's devices are digits, so a
// collective says these digits by other coordinates: by one that is summed over, or by a dimension's.
#include "equal/meaning/read.h"

// A group's devices: pieces of the place in the group, with what each adds to the device's number.
struct group_digits {
    struct affine places; // over COORDINATE_FREE: the device's number less the first one's
    int64_t size;
};

// ---- groups -----------------------------------------------------------------------------------

static bool find_places(struct calculus *c, const struct device_groups *groups,
                        struct affine *places) {
    int64_t *numbers = ARENA_ARRAY(&c->scratch, int64_t, (size_t)groups->size + 1);
    for (uint32_t i = 0; i < groups->size; i++)
        numbers[i] = groups->devices[i];
    *places = affine_constant(0);
    if (!affine_add_numbers(places, numbers, 1, groups->size, COORDINATE_FREE))
        return false;
    for (uint32_t i = 0; i < places->n; i++)
        if (places->pieces[i].coefficient < 0 || places->pieces[i].shift)
            return false;
    return true;
}

static int64_t place_at(const struct affine *places, int64_t at) {
    int64_t by_coordinate[MAX_COORDINATES] = {[COORDINATE_FREE] = at};
    return affine_at(places, by_coordinate);
}

// False: the groups' devices are no digits of their numbers.
static bool find_digits(struct calculus *c, const struct device_groups *groups,
                        struct group_digits *digits) {
    digits->size = groups->size;
    if (!find_places(c, groups, &digits->places))
        return false;
    for (uint32_t g = 0; g < groups->n_groups; g++) {
        const uint32_t *of = groups->devices + (size_t)g * groups->size;
        for (uint32_t i = 0; i < digits->places.n; i++) {
            const struct piece *piece = &digits->places.pieces[i];
            if (of[0] / piece->coefficient % piece->extent != 0)
                return false;
        }
        for (uint32_t i = 0; i < groups->size; i++)
            if ((int64_t)of[i] - of[0] != place_at(&digits->places, i))
                return false;
    }
    return true;
}

// A device's place in its group.
static struct affine own_place(const struct group_digits *digits) {
    struct affine place = affine_constant(0);
    for (uint32_t i = 0; i < digits->places.n; i++) {
        const struct piece *piece = &digits->places.pieces[i];
        affine_push(&place, (struct piece){piece->stride, piece->coefficient, piece->extent, 0,
                                           COORDINATE_DEVICE});
    }
    return place;
}

// The device's number where its place in the group is another one: `place`, over whatever coordinates.
static bool device_at(const struct group_digits *digits, const struct affine *place,
                      int64_t n_devices, struct affine *device) {
    struct affine in_order = digits->places;
    int64_t at = 1;
    *device = affine_constant(0);
    if (!affine_normal(&in_order))
        return false;
    for (uint32_t i = in_order.n; i-- > 0;) { // from the least on
        const struct piece *piece = &in_order.pieces[i];
        struct affine digit;
        if (piece->coefficient % at != 0 ||
            !affine_push(device,
                         (struct piece){at, at, piece->coefficient / at, 0, COORDINATE_DEVICE}) ||
            !affine_piece(place, digits->size, piece->stride, piece->extent, &digit) ||
            !affine_add(device, &digit, piece->coefficient))
            return false;
        at = piece->coefficient * piece->extent;
    }
    return n_devices % at == 0 &&
           affine_push(device, (struct piece){at, at, n_devices / at, 0, COORDINATE_DEVICE}) &&
           affine_normal(device);
}

// ---- those of groups --------------------------------------------------------------------------

struct collecting {
    const struct at *at;
    struct viewed value;
    const struct array_shape *from, *to;
    struct group_digits digits;
    int64_t n_devices;
};

// The sum over a coordinate, place by place.
static bool add_places(struct calculus *c, struct viewed value, uint32_t k, int64_t size,
                       const struct coordinates *all, struct viewed *made) {
    struct viewed *summands = ARENA_ARRAY(&c->scratch, struct viewed, (size_t)size);
    struct coordinates left = *all;
    for (int64_t i = 0; i < size; i++) {
        struct affine place = affine_constant(i);
        struct substitution by = {0};
        by.of[k] = &place;
        by.sizes[k] = size;
        if (!value_move(c, value, &by, &summands[i]))
            return false;
    }
    left.sizes[k] = 0;
    *made = value_sum(c, summands, (uint32_t)size, &left);
    return true;
}

static bool reduced(const struct collecting *x, struct viewed *made) {
    struct calculus *c = x->at->r->c;
    struct coordinates all = coordinates_of(x->from, x->at->r->graph->n_devices);
    uint32_t k = add_coordinate(&all, x->digits.size);
    struct affine place = affine_coordinate(k, x->digits.size), device;
    struct substitution by = {0};
    struct viewed value;
    if (!device_at(&x->digits, &place, x->n_devices, &device))
        return false;
    by.of[COORDINATE_DEVICE] = &device;
    by.sizes[COORDINATE_DEVICE] = x->n_devices;
    enum primitive primitive = region_primitive(x->at->r->graph, x->at->by->attributes->called[0]);
    if (!value_move(c, x->value, &by, &value))
        return false;
    if (c->devices_apart && primitive == PRIM_ADD && shape_kind(x->from) == NUMBER_REAL)
        return add_places(c, value, k, x->digits.size, &all, made);
    return fold_values(x->at->r->c, primitive, shape_kind(x->from), value, UINT64_C(1) << k, &all,
                       made);
}

static bool gathered(const struct collecting *x, struct viewed *made) {
    uint32_t k = (uint32_t)x->at->by->attributes->dimensions.of[0];
    int64_t size = x->from->sizes[k];
    struct affine own = affine_constant(0), place = affine_constant(0), device;
    struct substitution by = {0};
    affine_push(&own, (struct piece){1, 1, size, 0, k});
    affine_push(&place, (struct piece){1, size, x->digits.size, 0, k});
    if (!device_at(&x->digits, &place, x->n_devices, &device))
        return false;
    by.of[k] = &own;
    by.sizes[k] = size;
    by.of[COORDINATE_DEVICE] = &device;
    by.sizes[COORDINATE_DEVICE] = x->n_devices;
    return value_move(x->at->r->c, x->value, &by, made);
}

static bool scattered(const struct collecting *x, struct viewed *made) {
    uint32_t k = (uint32_t)x->at->by->attributes->dimensions.of[0];
    int64_t size = x->to->sizes[k];
    struct affine own = own_place(&x->digits), index = affine_constant(0);
    struct substitution by = {0};
    struct viewed sum;
    if (!reduced(x, &sum) || !affine_add(&index, &own, size) ||
        !affine_push(&index, (struct piece){1, 1, size, 0, k}) || !affine_normal(&index))
        return false;
    by.of[k] = &index;
    by.sizes[k] = x->from->sizes[k];
    return value_move(x->at->r->c, sum, &by, made);
}

static bool exchanged(const struct collecting *x, struct viewed *made) {
    uint32_t k = (uint32_t)x->at->by->attributes->dimensions.of[0];
    int64_t block = x->from->sizes[k] / x->digits.size;
    struct affine own = own_place(&x->digits), index = affine_constant(0), device;
    struct affine place = affine_constant(0);
    struct substitution by = {0};
    affine_push(&place, (struct piece){1, block, x->digits.size, 0, k});
    if (!affine_add(&index, &own, block) ||
        !affine_push(&index, (struct piece){1, 1, block, 0, k}) || !affine_normal(&index) ||
        !device_at(&x->digits, &place, x->n_devices, &device))
        return false;
    by.of[k] = &index;
    by.sizes[k] = x->from->sizes[k];
    by.of[COORDINATE_DEVICE] = &device;
    by.sizes[COORDINATE_DEVICE] = x->n_devices;
    return value_move(x->at->r->c, x->value, &by, made);
}

bool read_collective(const struct at *at, uint32_t operand, const struct array_shape *result,
                     struct viewed *made) {
    struct collecting x = {.at = at,
                           .value = operand_value(at, operand),
                           .from = operand_shape(at, operand),
                           .to = result,
                           .n_devices = at->r->graph->n_devices};
    if (at->by->attributes->counts_replicas || x.n_devices == 1) {
        *made = x.value;
        return true;
    }
    if (at->by->primitive == PRIM_COLLECTIVE_PERMUTE)
        return read_permutation(at, x.value, made);
    if (!find_digits(at->r->c, at->by->attributes->groups, &x.digits))
        return false;
    switch (at->by->primitive) {
    case PRIM_ALL_REDUCE:
        return reduced(&x, made);
    case PRIM_ALL_GATHER:
        return gathered(&x, made);
    case PRIM_REDUCE_SCATTER:
        return scattered(&x, made);
    case PRIM_ALL_TO_ALL:
        return !at->by->shape->is_tuple && exchanged(&x, made);
    default:
        return false;
    }
}
