// Groups of devices. A text is resolved once, and equal groups of different texts are one. The short forms may name
// many devices in few bytes, so what they make in all is bounded.
#include "equal/hlo/groups.h"

#include <string.h>

enum {
    MAX_DIGITS = 4 * MAX_GRAPH_RANK,
    GROUP_NUMBERS = 1 << 22, // made of all texts of a module, beside one for each of its bytes
};

struct groups groups_new(const struct scanner *s, struct devices devices) {
    return (struct groups){
        .devices = devices,
        .texts = {.arena = s->scratch},
        .contents = {.arena = s->scratch},
        .left = GROUP_NUMBERS + (uint64_t)(s->end - s->begin),
    };
}

bool skip_groups(struct scanner *s, struct word *text) {
    scan_blanks(s);
    const char *begin = s->at;
    if (*s->at == 'm') { // mesh[...], device_ids=(...) {...}
        while (*s->at != '{' && *s->at != '\n' && *s->at)
            s->at++;
        if (!scan_balanced(s))
            return false;
    } else if (!scan_value(s)) {
        return false;
    }
    *text = scan_from(s, begin);
    return true;
}

// The numbers 0 to the product of some sizes, as an array of these dimensions in another order.
struct transposed {
    int64_t sizes[MAX_DIGITS];
    uint32_t n, order[MAX_DIGITS];
};

static int64_t product_of(const struct transposed *t) {
    int64_t product = 1;
    for (uint32_t i = 0; i < t->n; i++)
        product *= t->sizes[i];
    return product;
}

static bool fail_number(struct scanner *s, const char *begin) {
    return scan_fail(s, E906, scan_from(s, begin),
                     "sizes of groups are 1 to %d, and so is their product", MAX_GRAPH_DEVICES);
}

// A size of devices, and the product of all so far.
static bool read_size(struct scanner *s, int64_t *size, int64_t *product) {
    scan_blanks(s);
    const char *begin = s->at;
    if (!scan_number(s, size))
        return false;
    if (*size < 1 || *size > MAX_GRAPH_DEVICES || *size * *product > MAX_GRAPH_DEVICES)
        return fail_number(s, begin);
    *product *= *size;
    return true;
}

static bool read_sizes(struct scanner *s, int64_t *sizes, uint32_t *n, int64_t *product) {
    *product = 1;
    if (!scan_need(s, '['))
        return false;
    do {
        if (*n == MAX_GRAPH_RANK)
            return scan_fail(s, E907, (struct word){s->at, 1}, "groups of more than %d dimensions",
                             MAX_GRAPH_RANK);
        if (!read_size(s, &sizes[(*n)++], product))
            return false;
    } while (scan_take(s, ','));
    return scan_need(s, ']');
}

// The numbers of a transposed array, in its order; of a mesh with `ids` the devices that have these numbers there.
static uint32_t *numbers_of(struct scanner *s, const struct transposed *t, const uint32_t *ids) {
    int64_t n = product_of(t), stride[MAX_DIGITS], at[MAX_DIGITS] = {0}, number = 0;
    uint32_t *numbers = ARENA_ARRAY(s->arena, uint32_t, n);
    for (int64_t i = t->n, product = 1; i-- > 0; product *= t->sizes[i])
        stride[i] = product;
    for (int64_t i = 0; i < n; i++) {
        numbers[i] = ids ? ids[number] : (uint32_t)number;
        for (uint32_t d = t->n; d-- > 0;) {
            uint32_t digit = t->order[d];
            number += stride[digit];
            if (++at[d] < t->sizes[digit])
                break;
            number -= at[d] * stride[digit];
            at[d] = 0;
        }
    }
    return numbers;
}

static bool takes_numbers(struct scanner *s, struct groups *g, struct word text, int64_t n) {
    if (g->left < (uint64_t)n)
        return scan_fail(s, E907, text, "more groups of devices than are read in one text");
    g->left -= (uint64_t)n;
    return true;
}

// `T(1,0)`, behind the sizes.
static bool read_order(struct scanner *s, struct transposed *t) {
    uint32_t seen = 0;
    for (uint32_t i = 0; i < t->n; i++)
        t->order[i] = i;
    if (!scan_take(s, 'T'))
        return true;
    const char *begin = s->at;
    if (!scan_need(s, '('))
        return false;
    for (uint32_t i = 0; i < t->n; i++) {
        int64_t d;
        if ((i && !scan_need(s, ',')) || !scan_number(s, &d))
            return false;
        if (d < 0 || d >= t->n || seen >> d & 1)
            return scan_fail(s, E906, scan_from(s, begin), "no order of %u dimensions", t->n);
        seen |= UINT32_C(1) << d;
        t->order[i] = (uint32_t)d;
    }
    return scan_need(s, ')');
}

static bool read_iota(struct scanner *s, struct groups *g, struct word text,
                      struct device_groups *to) {
    int64_t rows[MAX_GRAPH_RANK], n, product;
    struct transposed t = {.n = 0};
    uint32_t n_rows = 0;
    if (!read_sizes(s, rows, &n_rows, &n) || !scan_need(s, '<') || !scan_need(s, '=') ||
        !read_sizes(s, t.sizes, &t.n, &product) || !read_order(s, &t))
        return false;
    if (n_rows != 2 || n != product)
        return scan_fail(s, E906, text, "%d numbers in two dimensions are expected", (int)product);
    if (!takes_numbers(s, g, text, n))
        return false;
    *to = (struct device_groups){(uint32_t)rows[0], (uint32_t)rows[1], numbers_of(s, &t, NULL)};
    return true;
}

// ---- axes of a mesh -----------------------------------------------------------------------------
// A part of an axis: all digits of it from `before` on, up to a factor of `size`.
struct axis_part {
    uint32_t axis;
    int64_t before, size;
};
struct mesh {
    struct device_axis axes[MAX_GRAPH_RANK];
    uint32_t n_axes;
    int64_t n_devices;
    const uint32_t *ids; // NULL: device i has number i
    struct axis_part parts[MAX_GRAPH_RANK];
    uint32_t n_parts;
};

// A name with or without quotes.
static bool read_axis_name(struct scanner *s, struct word *name) {
    bool quoted = scan_take(s, '\'');
    scan_blanks(s);
    const char *begin = s->at;
    while (quoted ? *s->at != '\'' && *s->at != '\n' && *s->at
                  : *s->at != '=' && *s->at != ':' && *s->at != ',' && *s->at != '}' &&
                        *s->at != ' ' && *s->at != '\n' && *s->at)
        s->at++;
    *name = scan_from(s, begin);
    return (name->length || scan_expected(s, "an axis")) && (!quoted || scan_need(s, '\''));
}

static uint32_t find_axis(const struct mesh *mesh, struct word name) {
    uint32_t i = 0;
    while (i < mesh->n_axes && !word_is(name, mesh->axes[i].name))
        i++;
    return i;
}

static bool read_axes(struct scanner *s, struct mesh *mesh) {
    if (!scan_need(s, '['))
        return false;
    mesh->n_devices = 1;
    do {
        struct word name;
        if (!read_axis_name(s, &name))
            return false;
        if (mesh->n_axes == MAX_GRAPH_RANK || find_axis(mesh, name) < mesh->n_axes)
            return scan_fail(s, E906, name, "an axis that is named twice, or the %dth",
                             MAX_GRAPH_RANK + 1);
        struct device_axis *axis = &mesh->axes[mesh->n_axes];
        if (!scan_need(s, '=') || !read_size(s, &axis->size, &mesh->n_devices))
            return false;
        axis->name = arena_string(s->arena, name.text, name.length);
        mesh->n_axes++;
    } while (scan_take(s, ','));
    return scan_need(s, ']');
}

// `3,1,0,2`
static bool read_id_list(struct scanner *s, struct mesh *mesh, struct word name) {
    uint32_t *ids = ARENA_ARRAY(s->arena, uint32_t, mesh->n_devices);
    for (int64_t i = 0; i < mesh->n_devices; i++) {
        int64_t id;
        if ((i && !scan_need(s, ',')) || !scan_number(s, &id))
            return false;
        if (id < 0 || id >= mesh->n_devices)
            return scan_fail(s, E906, name, "a device that the mesh does not have");
        ids[i] = (uint32_t)id;
    }
    mesh->ids = ids;
    return true;
}

// `[2,4]T(1,0)`: all of them in order, as an array whose dimensions are exchanged.
static bool read_id_box(struct scanner *s, struct mesh *mesh, struct word name) {
    struct transposed t = {.n = 0};
    int64_t product;
    if (!read_sizes(s, t.sizes, &t.n, &product) || !read_order(s, &t))
        return false;
    if (product != mesh->n_devices)
        return scan_fail(s, E906, name, "the ids of %d devices, of which the mesh has %d",
                         (int)product, (int)mesh->n_devices);
    mesh->ids = numbers_of(s, &t, NULL);
    return true;
}

// `, device_ids=(3,1,0,2)`, or as a transposed array: which device is where in the mesh.
static bool read_device_ids(struct scanner *s, struct mesh *mesh) {
    if (!scan_take(s, ','))
        return true;
    struct word name = scan_word(s);
    if (!word_is(name, "device_ids"))
        return scan_expected(s, "`device_ids`");
    if (!scan_need(s, '=') || !scan_need(s, '('))
        return false;
    scan_blanks(s);
    return (*s->at == '[' ? read_id_box(s, mesh, name) : read_id_list(s, mesh, name)) &&
           scan_need(s, ')');
}

static bool read_part(struct scanner *s, struct mesh *mesh) {
    struct word name;
    if (!read_axis_name(s, &name))
        return false;
    uint32_t axis = find_axis(mesh, name);
    if (axis == mesh->n_axes || mesh->n_parts == MAX_GRAPH_RANK)
        return scan_fail(s, E906, name, "no axis of this mesh");
    struct axis_part part = {axis, 1, mesh->axes[axis].size};
    if (scan_take(s, ':')) {
        int64_t before = 1;
        if (!scan_need(s, '(') || !read_size(s, &part.before, &before) || !scan_need(s, ')') ||
            !read_size(s, &part.size, &before))
            return false;
        if (part.size == 1 || mesh->axes[axis].size % before != 0)
            return scan_fail(s, E906, name, "a part that the axis does not divide into");
    }
    mesh->parts[mesh->n_parts++] = part;
    return true;
}

// A mesh as digits: each axis in one, or in those that its parts cut it into; first those along which groups differ,
// then those along which the devices of one do.
struct mesh_digits {
    struct transposed t;
    bool is_grouped[MAX_DIGITS];
};

// The digits of an axis, which begin where one of its parts begins or ends.
static bool split_axis(const struct mesh *mesh, uint32_t axis, struct mesh_digits *digits,
                       uint32_t first_of_part[MAX_GRAPH_RANK]) {
    int64_t size = mesh->axes[axis].size, at = 1;
    do {
        int64_t next = size;
        uint32_t part = mesh->n_parts;
        for (uint32_t i = 0; i < mesh->n_parts; i++) {
            const struct axis_part *p = &mesh->parts[i];
            if (p->axis != axis)
                continue;
            if (p->before == at && part < mesh->n_parts)
                return false; // two that overlap
            if (p->before == at) {
                part = i;
                next = at * p->size;
            } else if (part == mesh->n_parts && p->before > at && p->before < next) {
                next = p->before;
            }
        }
        if (next % at != 0)
            return false;
        if (part < mesh->n_parts) {
            first_of_part[part] = digits->t.n;
            digits->is_grouped[digits->t.n] = true;
        }
        digits->t.sizes[digits->t.n++] = next / at;
        if (next == at)
            break; // an axis of size 1
        at = next;
    } while (at < size);
    return true;
}

static bool split_mesh(const struct mesh *mesh, struct mesh_digits *digits) {
    uint32_t of_part[MAX_GRAPH_RANK], n = 0;
    memset(of_part, 0xff, sizeof of_part);
    for (uint32_t axis = 0; axis < mesh->n_axes; axis++)
        if (!split_axis(mesh, axis, digits, of_part))
            return false;
    for (uint32_t d = 0; d < digits->t.n; d++)
        if (!digits->is_grouped[d])
            digits->t.order[n++] = d;
    for (uint32_t i = 0; i < mesh->n_parts; i++) {
        if (of_part[i] == UINT32_MAX)
            return false; // inside of another part
        digits->t.order[n++] = of_part[i];
    }
    return n == digits->t.n;
}

// Keeps the axes of a mesh with more of them than the one that is known. Of one whose devices are in an order of their
// own the last does not vary fastest in their numbers, so that its axes say nothing of these.
static void keep_axes(struct scanner *s, struct groups *g, const struct mesh *mesh) {
    if (mesh->n_axes <= g->n_axes || mesh->ids)
        return;
    g->axes = arena_copy(s->arena, mesh->axes, mesh->n_axes * sizeof *mesh->axes);
    g->n_axes = mesh->n_axes;
}

static bool read_mesh(struct scanner *s, struct groups *g, struct word text,
                      struct device_groups *to) {
    struct mesh mesh = {.n_axes = 0};
    struct mesh_digits digits = {.t = {.n = 0}};
    if (!word_is(scan_word(s), "mesh"))
        return scan_expected(s, "groups of devices");
    if (!read_axes(s, &mesh) || !takes_numbers(s, g, text, 2 * mesh.n_devices) ||
        !read_device_ids(s, &mesh) || !scan_need(s, '{'))
        return false;
    while (!scan_take(s, '}'))
        if ((mesh.n_parts && !scan_need(s, ',')) || !read_part(s, &mesh))
            return false;
    if (!split_mesh(&mesh, &digits))
        return scan_fail(s, E906, text, "parts of an axis that overlap");
    int64_t size = 1;
    for (uint32_t i = 0; i < mesh.n_parts; i++)
        size *= mesh.parts[i].size;
    *to = (struct device_groups){(uint32_t)(mesh.n_devices / size), (uint32_t)size,
                                 numbers_of(s, &digits.t, mesh.ids)};
    keep_axes(s, g, &mesh);
    return true;
}

// ---- lists --------------------------------------------------------------------------------------
static bool read_id(struct scanner *s, uint32_t *id) {
    scan_blanks(s);
    const char *begin = s->at;
    int64_t number;
    if (!scan_number(s, &number))
        return false;
    if (number < 0 || number >= MAX_GRAPH_DEVICES)
        return scan_fail(s, E906, scan_from(s, begin), "devices have numbers below %d",
                         MAX_GRAPH_DEVICES);
    *id = (uint32_t)number;
    return true;
}

static bool read_lists(struct scanner *s, struct word text, struct device_groups *to) {
    uint32_t *ids = NULL, n = 0, cap = 0, n_groups = 0, size = 0;
    if (!scan_need(s, '{'))
        return false;
    while (!scan_take(s, '}')) {
        uint32_t before = n;
        if ((n_groups && !scan_need(s, ',')) || !scan_need(s, '{'))
            return false;
        do {
            uint32_t id = 0;
            if (!read_id(s, &id))
                return false;
            ARENA_PUSH(s->scratch, ids, n, cap, id);
        } while (scan_take(s, ','));
        if (!scan_need(s, '}'))
            return false;
        if (n_groups++ && n - before != size)
            return scan_fail(s, E906, text, "groups of different sizes");
        size = n - before;
    }
    *to = (struct device_groups){n_groups, size, arena_copy(s->arena, ids, n * sizeof *ids)};
    return true;
}

bool read_pairs(struct scanner *s, struct device_pair **pairs, uint32_t *n) {
    uint32_t cap = 0;
    *n = 0;
    if (!scan_need(s, '{'))
        return false;
    while (!scan_take(s, '}')) {
        struct device_pair pair;
        if ((*n && !scan_need(s, ',')) || !scan_need(s, '{') || !read_id(s, &pair.from) ||
            !scan_need(s, ',') || !read_id(s, &pair.to) || !scan_need(s, '}'))
            return false;
        ARENA_PUSH(s->scratch, *pairs, *n, cap, pair);
    }
    *pairs = arena_copy(s->arena, *pairs, *n * sizeof **pairs);
    return true;
}

// ---- what they mean -----------------------------------------------------------------------------
// All devices in one group, or each in one of its own.
static struct device_groups *of_all(struct scanner *s, const struct groups *g, bool apart) {
    uint32_t *ids = ARENA_ARRAY(s->arena, uint32_t, g->devices.n);
    for (uint32_t i = 0; i < g->devices.n; i++)
        ids[i] = i;
    struct device_groups *all = ARENA_NEW(s->arena, struct device_groups);
    *all = (struct device_groups){apart ? g->devices.n : 1, apart ? 1 : g->devices.n, ids};
    return all;
}

// A text that JAX prints before partitioning does not say how many devices there are.
static bool fail_device(struct scanner *s, const struct groups *g, struct word text, uint32_t id) {
    struct diagnostic *d = scan_report(s, E906, text, "device %u of a program of %u device%s", id,
                                       g->devices.n, plural_s(g->devices.n));
    if (d && g->devices.n == 1)
        diagnostic_help(d, "the text has no `num_partitions=`: take the dump behind the pass "
                           "spmd-partitioning");
    return false;
}

static bool check_members(struct scanner *s, struct groups *g, struct word text,
                          const struct device_groups *groups) {
    uint32_t n = groups->n_groups * groups->size;
    if (!g->seen_in)
        g->seen_in = ARENA_ARRAY(s->scratch, uint32_t, g->devices.n);
    g->n_checks++;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t id = groups->devices[i];
        if (id >= g->devices.n)
            return fail_device(s, g, text, id);
        if (g->seen_in[id] == g->n_checks)
            return scan_fail(s, E906, text, "device %u is named twice", id);
        g->seen_in[id] = g->n_checks;
    }
    return n == g->devices.n ||
           scan_fail(s, E906, text, "groups of %u of %u devices", n, g->devices.n);
}

// One pointer for all that are equal.
static const struct device_groups *distinct(struct groups *g, struct arena *scratch,
                                            const struct device_groups *groups) {
    uint32_t n = groups->n_groups * groups->size;
    uint32_t *key = ARENA_ARRAY(scratch, uint32_t, n + 1);
    key[0] = groups->size;
    memcpy(key + 1, groups->devices, n * sizeof *key);
    bool added;
    uint32_t number = intern(&g->contents, key, (n + 1) * (uint32_t)sizeof *key, &added);
    if (added)
        ARENA_PUSH(scratch, g->distinct, g->n_distinct, g->distinct_cap, groups);
    return g->distinct[number];
}

static const struct device_groups *read_text(struct scanner *s, struct groups *g,
                                             struct word text) {
    uint32_t number = words_number(&g->texts, text);
    if (number < g->n)
        return g->known[number];
    struct device_groups *groups = ARENA_NEW(s->arena, struct device_groups);
    const char *behind = s->at;
    s->at = text.text;
    bool good = text.length == 0    ? true
                : *text.text == '{' ? read_lists(s, text, groups)
                : *text.text == '[' ? read_iota(s, g, text, groups)
                                    : read_mesh(s, g, text, groups);
    if (!good || (groups->size && !check_members(s, g, text, groups)))
        return NULL;
    s->at = behind;
    const struct device_groups *kept =
        distinct(g, s->scratch, groups->size ? groups : of_all(s, g, false));
    ARENA_PUSH(s->scratch, g->known, g->n, g->cap, kept);
    return kept;
}

// Groups of the one replica that there is: its devices together, or each on its own.
static const struct device_groups *of_replica(struct scanner *s, struct groups *g, struct word text,
                                              bool apart) {
    if (text.length && !word_is(text, "{}") && !word_is(text, "{{0}}")) {
        struct diagnostic *d = scan_report(
            s, E906, text, "these groups are of replicas, and the program has one replica");
        if (d)
            diagnostic_help(d, "groups of devices have `channel_id=` and "
                               "`use_global_device_ids=true` beside them");
        return NULL;
    }
    const struct device_groups **known = &g->of_replica[apart];
    if (!*known)
        *known = distinct(g, s->scratch, of_all(s, g, apart));
    return *known;
}

const struct device_groups *read_groups(struct scanner *s, struct groups *g, struct word text,
                                        enum group_members members) {
    if (!text.length)
        text = (struct word){s->at, 0};
    if (members == GROUPS_OF_DEVICES || g->devices.are_replicas)
        return read_text(s, g, text);
    return of_replica(s, g, text, members == GROUPS_OF_REPLICAS);
}

const struct device_pair *pairs_to_self(struct scanner *s, struct groups *g) {
    if (g->to_self)
        return g->to_self;
    struct device_pair *pairs = ARENA_ARRAY(s->arena, struct device_pair, g->devices.n);
    for (uint32_t i = 0; i < g->devices.n; i++)
        pairs[i] = (struct device_pair){i, i};
    return g->to_self = pairs;
}
