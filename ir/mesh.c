// Meshes and lists of their axes: sizes, strides, names, lists as sets, and orders of what they cut.
#include "ir/ir.h"

#include <string.h>

int64_t mesh_devices(const struct mesh *mesh) {
    int64_t devices = 1;
    for (uint32_t i = 0; i < mesh->n_axes; i++)
        devices *= mesh->axes[i].size;
    return devices;
}

int64_t mesh_stride_of(const struct mesh *mesh, unsigned axis) {
    int64_t stride = 1;
    for (uint32_t i = axis + 1; i < mesh->n_axes; i++)
        stride *= mesh->axes[i].size;
    return stride;
}

int64_t mesh_place(const struct mesh *mesh, int64_t rank, const struct axis_list *axes) {
    int64_t place = 0;
    for (unsigned i = 0; i < axes->n; i++) {
        int64_t size = mesh->axes[axes->axes[i]].size;
        place = place * size + rank / mesh_stride_of(mesh, axes->axes[i]) % size;
    }
    return place;
}

int64_t mesh_group_size(const struct mesh *mesh, const struct axis_list *axes) {
    int64_t size = 1;
    for (unsigned i = 0; i < axes->n; i++)
        size *= mesh->axes[axes->axes[i]].size;
    return size;
}

int mesh_find_axis(const struct mesh *mesh, const char *name) {
    for (uint32_t i = 0; i < mesh->n_axes; i++)
        if (strcmp(mesh->axes[i].name, name) == 0)
            return (int)i;
    return -1;
}

const struct mesh_product *mesh_find_product(const struct mesh *mesh, const char *name) {
    for (uint32_t i = 0; i < mesh->n_products; i++)
        if (strcmp(mesh->products[i].name, name) == 0)
            return &mesh->products[i];
    return NULL;
}

size_t mesh_names(const struct mesh *mesh, const char *names[2 * MAX_AXES]) {
    size_t n = 0;
    for (uint32_t i = 0; i < mesh->n_axes; i++)
        names[n++] = mesh->axes[i].name;
    for (uint32_t i = 0; i < mesh->n_products; i++)
        names[n++] = mesh->products[i].name;
    return n;
}

// The longest product whose axes stand in the list from `at` on; NULL: none.
static const struct mesh_product *longest_product(const struct mesh *mesh,
                                                  const struct axis_list *axes, unsigned at) {
    const struct mesh_product *longest = NULL;
    for (uint32_t i = 0; i < mesh->n_products; i++) {
        const struct mesh_product *product = &mesh->products[i];
        if (product->axes.n > 1 && at + product->axes.n <= axes->n &&
            memcmp(product->axes.axes, axes->axes + at, product->axes.n) == 0 &&
            (!longest || product->axes.n > longest->axes.n))
            longest = product;
    }
    return longest;
}

const char *dimensions_text(uint32_t dimensions, struct arena *arena) {
    const char *text = "";
    for (int i = 0; i < N_DIMENSIONS; i++)
        if (dimensions >> i & 1)
            text = arena_format(arena, "%s%s%s", text, *text ? ", " : "", dimension_names[i]);
    return text;
}

const char *mesh_axes_text(const struct mesh *mesh, const struct axis_list *axes,
                           struct arena *arena) {
    const char *text = "";
    for (unsigned i = 0; i < axes->n;) {
        const struct mesh_product *product = longest_product(mesh, axes, i);
        const char *name = product ? product->name : mesh->axes[axes->axes[i]].name;
        text = arena_format(arena, "%s%s%s", text, i ? " * " : "", name);
        i += product ? product->axes.n : 1;
    }
    return text;
}

bool axis_list_equal(const struct axis_list *a, const struct axis_list *b) {
    return a->n == b->n && memcmp(a->axes, b->axes, a->n) == 0;
}

bool axis_list_begins(const struct axis_list *axes, const struct axis_list *with) {
    return with->n <= axes->n && memcmp(axes->axes, with->axes, with->n) == 0;
}

void axis_list_add_all(struct axis_list *axes, const struct axis_list *more) {
    for (unsigned i = 0; i < more->n; i++)
        axis_list_add(axes, more->axes[i]);
}

struct axis_list axis_list_of(const struct axis_list *axes, uint64_t mask) {
    struct axis_list some = {0};
    for (unsigned i = 0; i < axes->n; i++)
        if (mask >> axes->axes[i] & 1)
            some.axes[some.n++] = axes->axes[i];
    return some;
}

struct axis_list axis_list_without(const struct axis_list *axes, const struct axis_list *others) {
    return axis_list_of(axes, ~axis_list_mask(others));
}

struct axis_list axis_list_within(const struct axis_list *axes, const struct axis_list *others) {
    return axis_list_of(axes, axis_list_mask(others));
}

// ---- orders -----------------------------------------------------------------------------------

struct order order_of_cuts(const struct mesh *mesh, const struct axis_list *cuts, int zigzag) {
    struct order order = {.outer = 1};
    for (unsigned i = 0; i < cuts->n && order.chunks == 0; i++) {
        int64_t size = mesh->axes[cuts->axes[i]].size;
        if (cuts->axes[i] == zigzag)
            order.chunks = 2 * size;
        else
            order.outer *= size;
    }
    return order.chunks > 2 ? order : (struct order){0}; // one device has both ends in order
}

bool order_fits(struct order order, int64_t size) {
    return order.chunks == 0 || size % (order.outer * order.chunks) == 0;
}

int64_t order_element(struct order order, int64_t size, int64_t place) {
    if (order.chunks == 0)
        return place;
    int64_t chunk = size / (order.outer * order.chunks);
    int64_t number = place / chunk % order.chunks;
    int64_t from = number % 2 ? order.chunks - 1 - number / 2 : number / 2;
    return place + (from - number) * chunk;
}
