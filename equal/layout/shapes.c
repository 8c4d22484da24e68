// Finds which axes cut dimensions by the quotients of their sizes.
#include "equal/layout/shapes.h"

#include <string.h>

// A set of axes is a number with a bit for each. Axes of one device cut nothing and are in no set.
static int64_t set_size(const struct device_mesh *mesh, uint32_t set) {
    int64_t size = 1;
    for (uint32_t i = 0; i < mesh->n_axes; i++)
        if (set >> i & 1)
            size *= mesh->axes[i].size;
    return size;
}

static uint32_t all_axes(const struct device_mesh *mesh) {
    uint32_t set = 0;
    for (uint32_t i = 0; i < mesh->n_axes; i++)
        if (mesh->axes[i].size > 1)
            set |= 1u << i;
    return set;
}

static struct cut cut_of_set(uint32_t set) {
    struct cut cut = {.n = 0};
    for (uint8_t i = 0; i < MAX_MESH_AXES; i++)
        if (set >> i & 1)
            cut.axes[cut.n++] = i;
    return cut;
}

// Ways in which the first dimensions can be cut by exactly the axes of a set.
struct ways {
    uint8_t n;      // 2: two or more
    uint32_t taken; // by the last of these dimensions, in a way
};

// The ways of one dimension more.
static void cut_one_more(const struct device_mesh *mesh, int64_t quotient, uint32_t axes,
                         const struct ways *before, struct ways *after) {
    for (uint32_t used = axes;; used = (used - 1) & axes) {
        uint32_t free = axes & ~used;
        for (uint32_t set = before[used].n && quotient > 1 ? free : 0;; set = (set - 1) & free) {
            if (before[used].n && set_size(mesh, set) == quotient) {
                struct ways *ways = &after[used | set];
                ways->n = ways->n || before[used].n > 1 ? 2 : 1;
                ways->taken = set;
            }
            if (!set)
                break;
        }
        if (!used)
            return;
    }
}

enum fit fit_cuts(const struct device_mesh *mesh, const int64_t *quotients, uint32_t rank,
                  struct cut *cuts) {
    struct arena scratch = {.blocks = NULL};
    uint32_t axes = all_axes(mesh), n_sets = axes + 1, used = 0, n_ways = 0;
    struct ways *ways = ARENA_ARRAY(&scratch, struct ways, (size_t)(rank + 1) * n_sets);
    ways[0].n = 1;
    for (uint32_t i = 0; i < rank; i++)
        cut_one_more(mesh, quotients[i], axes, ways + (size_t)i * n_sets,
                     ways + (size_t)(i + 1) * n_sets);
    for (uint32_t set = 0; set < n_sets; set++)
        if (ways[(size_t)rank * n_sets + set].n) {
            n_ways += ways[(size_t)rank * n_sets + set].n;
            used = set;
        }
    for (uint32_t i = rank; n_ways == 1 && i-- > 0;) {
        uint32_t taken = ways[(size_t)(i + 1) * n_sets + used].taken;
        cuts[i] = cut_of_set(taken);
        used &= ~taken;
    }
    arena_free(&scratch);
    return n_ways == 0 ? FITS_NOT : n_ways == 1 ? FITS_ONCE : FITS_OFTEN;
}

const char *cut_text(const struct device_mesh *mesh, const struct cut *cut, struct arena *arena) {
    const char *text = "-";
    for (uint32_t i = 0; i < cut->n; i++)
        text = arena_format(arena, "%s%s%s", i ? text : "", i ? "*" : "",
                            mesh->axes[cut->axes[i]].name);
    return text;
}

enum { MAX_ALTERNATIVES = 6 };

const char *fitting_axes(const struct device_mesh *mesh, int64_t quotient, struct arena *arena) {
    uint32_t axes = all_axes(mesh);
    const char *text = "";
    uint32_t n = 0;
    for (uint32_t set = 0; set <= axes && n < MAX_ALTERNATIVES; set++) {
        if ((set & ~axes) || set_size(mesh, set) != quotient)
            continue;
        struct cut cut = cut_of_set(set);
        text = arena_format(arena, "%s%s%s", text, n++ ? "|" : "", cut_text(mesh, &cut, arena));
    }
    return text;
}
