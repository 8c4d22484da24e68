// Reads XLA's texts of shardings.
#include "equal/layout/sharding.h"

#include <ctype.h>
#include <string.h>

#include "ir/sizes.h"

static const char not_read[] = "is of no form that is known";
static const char other_devices[] = "is of another number of devices";

struct sharding_reader {
    const char *at;
    uint32_t n_devices;
    struct arena *arena;
    struct sharding *into;
};

// Passes blanks and comments, which number the members of long tuples.
static void skip(struct sharding_reader *r) {
    for (;;) {
        while (isspace((unsigned char)*r->at))
            r->at++;
        const char *end = strncmp(r->at, "/*", 2) == 0 ? strstr(r->at + 2, "*/") : NULL;
        if (!end)
            return;
        r->at = end + 2;
    }
}

static bool accept(struct sharding_reader *r, const char *text) {
    skip(r);
    size_t length = strlen(text);
    if (strncmp(r->at, text, length) != 0)
        return false;
    r->at += length;
    return true;
}

// Passes what stands before the brace that closes this one.
static bool skip_to_close(struct sharding_reader *r) {
    for (int depth = 0; *r->at; r->at++) {
        depth += (*r->at == '{') - (*r->at == '}');
        if (depth < 0) {
            r->at++;
            return true;
        }
    }
    return false;
}

static bool accept_number(struct sharding_reader *r, int64_t *number) {
    skip(r);
    if (!isdigit((unsigned char)*r->at))
        return false;
    for (*number = 0; isdigit((unsigned char)*r->at); r->at++)
        *number = size_plus(size_times(*number, 10), *r->at - '0');
    return true;
}

// Numbers between two brackets.
struct side_list {
    int64_t of[MAX_DEVICE_DIGITS];
    uint32_t n;
};
static bool accept_sides(struct sharding_reader *r, const char *open, const char *close,
                         struct side_list *list) {
    list->n = 0;
    if (!accept(r, open))
        return false;
    do {
        if (list->n == MAX_DEVICE_DIGITS || !accept_number(r, &list->of[list->n++]))
            return false;
    } while (accept(r, ","));
    return accept(r, close);
}

static int64_t product(const struct side_list *list) {
    int64_t of_all = 1;
    for (uint32_t i = 0; i < list->n; i++)
        of_all = size_times(of_all, list->of[i]);
    return of_all;
}

// ---- boxes of tiles ---------------------------------------------------------------------------

static bool is_permutation(const struct side_list *list, uint32_t n) {
    uint64_t seen = 0;
    for (uint32_t i = 0; i < list->n; i++)
        if (list->of[i] < n)
            seen |= (uint64_t)1 << list->of[i];
    return list->n == n && seen == ((uint64_t)1 << n) - 1;
}

// `<=[4]`, `<=[2,2]T(1,0)`: the devices in order, in a box whose sides are exchanged.
static const char *read_box(struct sharding_reader *r, struct digit_list *digits) {
    struct side_list sides, permutation = {.n = 0};
    if (!accept_sides(r, "[", "]", &sides))
        return not_read;
    for (; permutation.n < sides.n; permutation.n++)
        permutation.of[permutation.n] = permutation.n;
    if (accept(r, "T") &&
        (!accept_sides(r, "(", ")", &permutation) || !is_permutation(&permutation, sides.n)))
        return not_read;
    if (product(&sides) != r->n_devices)
        return other_devices;
    return digits_of_box(sides.of, permutation.of, sides.n, digits) ? NULL : not_read;
}

// `0,2,1,3`: the devices, tile by tile.
static const char *read_list(struct sharding_reader *r, struct digit_list *digits) {
    uint32_t *devices = NULL, n = 0, capacity = 0;
    struct arena scratch = {.blocks = NULL};
    int64_t device = 0;
    do {
        if (!accept_number(r, &device) || device >= r->n_devices || n == r->n_devices)
            break;
        ARENA_PUSH(&scratch, devices, n, capacity, (uint32_t)device);
    } while (accept(r, ","));
    const char *why = n != r->n_devices                    ? other_devices
                      : digits_of_list(devices, n, digits) ? NULL
                                                           : "has its devices in no regular order";
    arena_free(&scratch);
    return why;
}

// The number of tile sides that are not dimensions: what they part has copies.
static const char *read_copies(struct sharding_reader *r, uint32_t *n) {
    *n = 0;
    if (accept(r, "last_tile_dim_replicate")) {
        *n = 1;
        return NULL;
    }
    if (!accept(r, "last_tile_dims={"))
        return NULL;
    do {
        if (!accept(r, "replicated"))
            return "is partly manual, which says nothing of the whole array";
        ++*n;
    } while (accept(r, ","));
    return accept(r, "}") ? NULL : not_read;
}

static const char *read_tiles(struct sharding_reader *r) {
    struct side_list tiles;
    struct digit_list digits;
    if (!accept_sides(r, "[", "]", &tiles))
        return not_read;
    if (product(&tiles) != r->n_devices)
        return other_devices;
    const char *why = accept(r, "<=") ? read_box(r, &digits) : read_list(r, &digits);
    uint32_t n_copies = 0;
    if (!why)
        why = read_copies(r, &n_copies);
    if (why)
        return why;
    if (n_copies > tiles.n || tiles.n - n_copies > MAX_GRAPH_RANK)
        return not_read;
    uint32_t rank = tiles.n - n_copies;
    struct digit_list *dimensions = ARENA_ARRAY(r->arena, struct digit_list, rank);
    for (uint32_t i = 0; i < rank; i++)
        if (!digits_take(&digits, tiles.of[i], &dimensions[i]))
            return "has tiles that are cut across the order of its devices";
    r->into->rank = rank;
    r->into->dimensions = dimensions;
    return NULL;
}

// ---- meshes with names ------------------------------------------------------------------------

// A name, with or without quotes, up to what can follow one.
static const char *accept_name(struct sharding_reader *r) {
    skip(r);
    char quote = *r->at == '\'' || *r->at == '"' ? *r->at++ : 0;
    size_t length = quote ? strcspn(r->at, (char[]){quote, 0}) : strcspn(r->at, "=,:[](){} ");
    const char *name = length ? arena_string(r->arena, r->at, length) : NULL;
    r->at += length;
    if (quote && *r->at == quote)
        r->at++;
    return name;
}

static const char *read_mesh(struct sharding_reader *r, struct device_mesh *mesh) {
    do {
        int64_t size;
        const char *name = accept_name(r);
        if (!name || !accept(r, "=") || !accept_number(r, &size))
            return not_read;
        const char *why = device_mesh_add(mesh, name, size);
        if (why)
            return arena_format(r->arena, "has a mesh in which `%s` %s", name, why);
    } while (accept(r, ","));
    if (!accept(r, "]"))
        return not_read;
    if (accept(r, ", device_ids="))
        return "has a mesh whose devices are in an order of their own";
    return mesh->n_devices == r->n_devices ? NULL : other_devices;
}

// `'tp'`, or a part of it, `'tp':(2)4`: 4 of its places, 2 of which are outside of them.
static bool accept_axis(struct sharding_reader *r, const struct device_mesh *mesh,
                        struct digit_list *digits) {
    const char *name = accept_name(r);
    int axis = name ? device_mesh_find(mesh, name) : -1;
    if (axis < 0 || digits->n == MAX_DEVICE_DIGITS)
        return false;
    struct device_digit digit = {mesh->axes[axis].size, 1};
    for (uint32_t i = (uint32_t)axis + 1; i < mesh->n_axes; i++)
        digit.stride *= mesh->axes[i].size;
    int64_t outside, size;
    if (accept(r, ":(")) {
        if (!accept_number(r, &outside) || !accept(r, ")") || !accept_number(r, &size))
            return false;
        int64_t taken = size_times(outside, size);
        if (taken < 1 || digit.size % taken)
            return false;
        digit = (struct device_digit){size, digit.stride * (digit.size / taken)};
    }
    if (digit.size > 1)
        digits->of[digits->n++] = digit;
    return true;
}

// `{'dp', 'tp'}`, `{}`, `{'dp', ?}`: what may be added to is not.
static bool accept_dimension(struct sharding_reader *r, const struct device_mesh *mesh,
                             struct digit_list *digits) {
    digits->n = 0;
    if (!accept(r, "{"))
        return false;
    if (accept(r, "}"))
        return true;
    do {
        if (!accept(r, "?") && !accept_axis(r, mesh, digits))
            return false;
    } while (accept(r, ","));
    return accept(r, "}");
}

static const char *read_named(struct sharding_reader *r) {
    struct device_mesh mesh = {.n_devices = 1};
    const char *why = read_mesh(r, &mesh);
    if (why)
        return why;
    r->into->axes = arena_copy(r->arena, mesh.axes, mesh.n_axes * sizeof *mesh.axes);
    r->into->n_axes = mesh.n_axes;
    if (accept(r, ", replicated"))
        return NULL;
    if (accept(r, ", manual")) {
        r->into->is_silent = true;
        return NULL;
    }
    if (!accept(r, ", ["))
        return not_read;
    struct digit_list *dimensions = ARENA_ARRAY(r->arena, struct digit_list, MAX_GRAPH_RANK);
    r->into->dimensions = dimensions;
    if (accept(r, "]"))
        return NULL;
    do {
        if (r->into->rank == MAX_GRAPH_RANK ||
            !accept_dimension(r, &mesh, &dimensions[r->into->rank++]))
            return not_read;
    } while (accept(r, ","));
    if (!accept(r, "]"))
        return not_read;
    if (accept(r, ", replicated={") && !skip_to_close(r))
        return not_read;
    return accept(r, ", unreduced") || accept(r, ", manual")
               ? "has axes over which the array is no part of a whole"
               : NULL;
}

// ---- all forms --------------------------------------------------------------------------------

static const char *read_one(struct sharding_reader *r) {
    if (accept(r, "replicated"))
        return NULL;
    if (accept(r, "manual") || accept(r, "unknown")) {
        r->into->is_silent = true;
        return NULL;
    }
    if (accept(r, "maximal"))
        return "puts the whole array on one device";
    if (accept(r, "devices="))
        return read_tiles(r);
    if (accept(r, "mesh["))
        return read_named(r);
    return not_read;
}

const char *sharding_read(struct sharding *into, const char *text, uint32_t member,
                          uint32_t n_devices, struct arena *arena) {
    struct sharding_reader r = {text, n_devices, arena, into};
    *into = (struct sharding){.rank = 0};
    if (!accept(&r, "{"))
        return not_read;
    if (!accept(&r, "{"))
        return read_one(&r);
    for (uint32_t i = 0; i < member; i++)
        if (!skip_to_close(&r) || !accept(&r, ",") || !accept(&r, "{"))
            return "is of fewer arrays";
    return read_one(&r);
}
