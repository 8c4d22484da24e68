// factor: an axis over which heads are split, but that has more devices than there are key and
// value heads, becomes two. Over the outer factor keys and values are split, over the inner one
// their devices hold copies and split the query heads of each key and value head among themselves:
//
//   tp = 8, 4 key and value heads    =>    tp = tp.0 * tp.1, tp.0 = 4, tp.1 = 2
//   split heads, kv_heads over tp    =>    split heads, kv_heads over tp.0, group over tp.1
//
// Types, groups and collectives are about factors; `tp` stays the name of their product, and the
// ranks keep their numbers.
#include <string.h>

#include "ir/check.h"
#include "passes/passes.h"
#include "passes/reference/select.h"

static bool has_dimension(const struct split_statement *split, enum dimension dimension) {
    for (uint32_t i = 0; i < split->n_dimensions; i++)
        if (split->dimensions[i] == dimension)
            return true;
    return false;
}

static bool splits_heads(const struct split_statement *split) {
    return has_dimension(split, DIM_HEADS) || has_dimension(split, DIM_KV_HEADS);
}

// ---- where key and value heads end ------------------------------------------------------------

// The axes over which heads are split where a statement's scope is, by those outside it.
static struct axis_list outer_axes(const struct config *config,
                                   const struct split_statement *inner) {
    struct axis_list axes = {0};
    for (uint32_t s = 0; s < config->strategy.n_splits; s++) {
        const struct split_statement *outer = &config->strategy.splits[s];
        if (!splits_heads(outer) || outer->scope_depth >= inner->scope_depth ||
            !selector_matches(&outer->scope, inner->scope.roles, inner->scope.n_roles))
            continue;
        axis_list_add_all(&axes, &outer->axes);
    }
    return axes;
}

// Takes the axes' share of the key and value heads, as far as there are any. False: no share.
static bool take(const struct config *config, unsigned axis, int64_t *left) {
    int64_t size = config->mesh.axes[axis].size;
    if (*left % size != 0)
        return false;
    *left /= size;
    return true;
}

// How many of a statement's axes, outermost first, split key and value heads; the others hold
// copies. `outer`: the size of the outer factor of the next axis, if it does both; else 1. Where
// query heads do not divide, all of them: that is said elsewhere.
static unsigned splitting_axes(const struct config *config, const struct split_statement *split,
                               int64_t *outer) {
    struct axis_list outside = outer_axes(config, split);
    int64_t parts = mesh_group_size(&config->mesh, &outside), left = config->model.kv_heads;
    *outer = 1;
    if (config->model.heads % size_times(parts, mesh_group_size(&config->mesh, &split->axes)) != 0)
        return split->axes.n;
    for (unsigned i = 0; i < outside.n; i++)
        if (!take(config, outside.axes[i], &left))
            left = 1; // factored already, or copies
    for (unsigned i = 0; i < split->axes.n; i++) {
        unsigned axis = split->axes.axes[i];
        if (take(config, axis, &left))
            continue;
        if (config->mesh.axes[axis].size % left != 0)
            return split->axes.n;
        *outer = left;
        return i;
    }
    return split->axes.n;
}

// ---- one axis becomes two ---------------------------------------------------------------------

static struct axis_list factored_list(const struct axis_list *axes, unsigned axis) {
    struct axis_list made = {0};
    for (unsigned i = 0; i < axes->n; i++) {
        unsigned old = axes->axes[i];
        axis_list_add(&made, old + (old > axis));
        if (old == axis)
            axis_list_add(&made, axis + 1);
    }
    return made;
}

static void factor_lists(struct config *config, unsigned axis) {
    struct strategy_config *strategy = &config->strategy;
    for (uint32_t i = 0; i < config->mesh.n_products; i++)
        config->mesh.products[i].axes = factored_list(&config->mesh.products[i].axes, axis);
    for (uint32_t i = 0; i < strategy->n_splits; i++)
        strategy->splits[i].axes = factored_list(&strategy->splits[i].axes, axis);
    for (uint32_t i = 0; i < strategy->n_modes; i++) {
        struct mode_statement *mode = &strategy->modes[i];
        mode->axes = factored_list(&mode->axes, axis);
        mode->kept_axes = factored_list(&mode->kept_axes, axis);
    }
    strategy->pipeline.axes = factored_list(&strategy->pipeline.axes, axis);
    for (uint32_t i = 0; i < strategy->n_relaxations; i++)
        strategy->relaxations[i].axes = factored_list(&strategy->relaxations[i].axes, axis);
}

static void factor_axis(struct config *config, struct arena *arena, unsigned axis, int64_t outer) {
    struct mesh *mesh = &config->mesh;
    struct mesh_axis *at = &mesh->axes[axis];
    memmove(at + 1, at, (mesh->n_axes - axis) * sizeof *at);
    mesh->n_axes++;
    factor_lists(config, axis);
    mesh->products[mesh->n_products++] =
        (struct mesh_product){.name = at->name,
                              .axes = {.n = 2, .axes = {(uint8_t)axis, (uint8_t)(axis + 1)}},
                              .span = at->span,
                              .factored = true};
    at[0].size = outer;
    at[1].size /= outer;
    at[1].name = arena_format(arena, "%s.1", at->name);
    at[0].name = arena_format(arena, "%s.0", at->name);
}

// False: there is none.
static bool factor_one(struct config *config, struct arena *arena) {
    if (config->mesh.n_axes + 2 > MAX_AXES || config->mesh.n_products == MAX_AXES)
        return false; // room for the factor, and for an axis in time
    for (uint32_t s = 0; s < config->strategy.n_splits; s++) {
        const struct split_statement *split = &config->strategy.splits[s];
        int64_t outer = 1;
        unsigned n = splits_heads(split) ? splitting_axes(config, split, &outer) : 0;
        if (outer == 1)
            continue;
        factor_axis(config, arena, split->axes.axes[n], outer);
        return true;
    }
    return false;
}

// ---- what the splits say of factors -----------------------------------------------------------

// Adds another part of what the split says, at the place where it names the dimension.
static void push_split(struct strategy_config *strategy, struct arena *arena,
                       struct split_statement split, enum dimension named,
                       enum dimension dimension) {
    uint32_t at = 0;
    while (split.dimensions[at] != named)
        at++;
    strategy->splits = arena_grow(arena, strategy->splits, strategy->n_splits * sizeof split,
                                  (strategy->n_splits + 1) * sizeof split);
    split.dimensions = ARENA_NEW(arena, enum dimension);
    split.dimensions[0] = dimension;
    split.dimension_spans += at;
    split.n_dimensions = 1;
    strategy->splits[strategy->n_splits++] = split;
}

static void drop_dimension(struct split_statement *split, enum dimension dimension) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < split->n_dimensions; i++)
        if (split->dimensions[i] != dimension) {
            split->dimensions[n] = split->dimensions[i];
            split->dimension_spans[n++] = split->dimension_spans[i];
        }
    split->n_dimensions = n;
}

// Heads over the first `n` axes, and over the others the query heads of a group; keys and values
// are copies there.
static void say_of_factors(struct strategy_config *strategy, struct arena *arena, uint32_t s,
                           unsigned n) {
    strategy->splits[s].said = strategy->splits[s].axes;
    struct split_statement split = strategy->splits[s], heads = split, groups = split;
    heads.axes.n = (uint8_t)n;
    groups.axes = (struct axis_list){0};
    for (unsigned i = n; i < split.axes.n; i++)
        axis_list_add(&groups.axes, split.axes.axes[i]);
    if (has_dimension(&split, DIM_HEADS)) {
        push_split(strategy, arena, heads, DIM_HEADS, DIM_HEADS);
        push_split(strategy, arena, groups, DIM_HEADS, DIM_GROUP);
    }
    if (has_dimension(&split, DIM_KV_HEADS)) {
        heads.copies = groups.axes;
        push_split(strategy, arena, heads, DIM_KV_HEADS, DIM_KV_HEADS);
    }
    drop_dimension(&strategy->splits[s], DIM_HEADS);
    drop_dimension(&strategy->splits[s], DIM_KV_HEADS);
}

void factor_axes(struct config *config, struct arena *arena) {
    if (config->model.kv_heads == config->model.heads)
        return; // nothing is grouped
    while (factor_one(config, arena))
        ;
    uint32_t n = config->strategy.n_splits;
    unsigned *splitting = ARENA_ARRAY(arena, unsigned, n + 1);
    int64_t outer;
    for (uint32_t s = 0; s < n; s++)
        splitting[s] = splitting_axes(config, &config->strategy.splits[s], &outer);
    for (uint32_t s = 0; s < n; s++)
        if (splits_heads(&config->strategy.splits[s]) &&
            splitting[s] < config->strategy.splits[s].axes.n)
            say_of_factors(&config->strategy, arena, s, splitting[s]);
}
