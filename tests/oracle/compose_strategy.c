// The strategies of compositions: parts.def, one function each.
#include "tests/oracle/compose_parts.h"

#include <string.h>

// ---- work -------------------------------------------------------------------------------------

static void split_batch(struct composer *c) {
    const char *axes = axes_of(c, AXIS_DATA);
    if (axes)
        fprintf(c->to, "  split batch over %s\n", axes);
}

// Most often all that tensor parallelism splits, in one statement; else some of it.
static void split_tensor(struct composer *c) {
    const char *axis = axes_of(c, AXIS_TENSOR);
    if (!axis)
        return;
    switch (pick(c, 10)) {
    case 0:
        fprintf(c->to, "  split ffn over %s\n", axis);
        break;
    case 3:
        fprintf(c->to, "  in %s { split ffn over %s }\n", chance(c, 500) ? "mlp" : "layers[1:]",
                axis);
        break;
    case 4:
        fprintf(c->to, "  in attention { split heads, kv_heads over %s }\n", axis);
        break;
    case 1:
        fprintf(c->to, "  split heads, kv_heads over %s\n", axis);
        break;
    case 2: // apart from one another, where there are two axes
        fprintf(c->to, "  split heads, kv_heads over %s\n  split ffn over %s\n",
                one_axis_of(c, AXIS_TENSOR), one_axis_of(c, AXIS_TENSOR));
        break;
    default:
        fprintf(c->to, "  split heads, kv_heads, ffn over %s\n", axis);
    }
}

static void split_vocabulary(struct composer *c) {
    const char *axis = one_axis_of(c, AXIS_TENSOR);
    if (axis)
        fprintf(c->to, "  split vocab over %s\n", axis);
}

static const char *innermost_of(const char *axes) {
    const char *star = strrchr(axes, '*');
    return star ? star + 2 : axes;
}

// Keys and values are gathered, or heads take the axes inside attention, or they travel. Of several
// axes the innermost alone may do the first two, and they travel over the outer one.
static void split_sequence(struct composer *c) {
    const char *axes = axes_of(c, AXIS_CONTEXT);
    if (!axes)
        return;
    const char *some = chance(c, 500) ? innermost_of(axes) : axes;
    fprintf(c->to, "  split sequence over %s\n", axes);
    if (chance(c, 350))
        fprintf(c->to, "  activations.attention.kv : gathered(%s by sequence)\n", some);
    else if (chance(c, 500))
        fprintf(c->to, "  in attention.core { split heads, kv_heads over %s }\n", some);
}

// A table of tokens, which the head reads too where it is tied, divided in one of the two or in
// both, also over axes that divide tokens elsewhere.
static void split_vocabulary_of_table(struct composer *c) {
    static const char *const tables[] = {"head", "embedding"};
    int both = chance(c, 250), which = chance(c, 700) ? 0 : 1;
    for (int table = 0; table < 2; table++) {
        const char *axes = chance(c, 600) ? one_axis_of(c, AXIS_ALL) : axes_of(c, AXIS_TOKENS);
        if (axes && (both || table == which))
            fprintf(c->to, "  in %s { split vocab over %s }\n", tables[table], axes);
    }
}

// ---- pipelines --------------------------------------------------------------------------------

// Some layers for every stage: any number that leaves each inner stage one; the first and the last may
// have none.
static void write_stages(struct composer *c, int64_t stages) {
    int64_t left = c->dims->layers;
    fprintf(c->to, "stages = [");
    for (int64_t i = 0; i < stages; i++) {
        bool first = i == 0, last = i == stages - 1;
        int64_t least = !first && !last, behind = stages - i - 2;
        int64_t most = left - (behind > 0 ? behind : 0);
        int64_t layers = last ? left : most <= least ? least : least + pick(c, most - least + 1);
        if (!last && layers > 2 && chance(c, 600)) // mostly nearly even
            layers = 2;
        left -= layers;
        fprintf(c->to, "%s%s", first ? "embedding" : last ? "" : ", ", last ? ", " : "");
        if (layers)
            fprintf(c->to, "%s%d", first ? " + " : "", (int)layers);
        if (last)
            fprintf(c->to, "%shead", layers ? " + " : "");
    }
    fprintf(c->to, "]");
}

// What a rank has at most, so that every inner stage has a layer.
static int64_t some_chunks(struct composer *c) {
    int64_t most = (c->dims->layers + 2) / c->ranks;
    return most <= 1 ? 1 : 2 + pick(c, most > 3 ? 2 : most - 1);
}

static void split_layers(struct composer *c) {
    enum { ANY = 0 };
    static const struct {
        const char *name;
        int64_t chunks;
    } methods[] = {{"one_f_one_b", 1},   {"one_f_one_b", 1},
                   {"gpipe", 1},         {"eager", 1},
                   {"zb_h1", 1},         {"zb_h2", 1},
                   {"interleaved", ANY}, {"interleaved", ANY},
                   {"looped_bfs", ANY},  {"interleaved_zb", ANY},
                   {"zbv", 2},           {"v_half", 2},
                   {"v_min", 2},         {"dualpipe_v", 2}};
    int64_t method = pick(c, sizeof methods / sizeof *methods);
    int64_t chunks = methods[method].chunks == ANY ? some_chunks(c) : methods[method].chunks;
    if (chunks == 1 || chunks * c->ranks > c->dims->layers + 2)
        method = pick(c, 6);
    chunks = method < 6 ? 1 : chunks;
    const char *axes = axes_of(c, AXIS_PIPELINE);
    if (chance(c, 250)) {
        chunks = chance(c, 500) ? chunks : 1;
        fprintf(c->to, "  split layers over %s schedule from \"%s\"(", axes,
                compose_order(c, chunks * c->ranks));
        write_stages(c, chunks * c->ranks);
        fprintf(c->to, ")\n");
        return;
    }
    fprintf(c->to, "  split layers over %s schedule %s", axes, methods[method].name);
    if (chance(c, 600)) {
        fprintf(c->to, "(");
        write_stages(c, chunks * c->ranks);
        fprintf(c->to, ")");
    } else if (methods[method].chunks == ANY) {
        fprintf(c->to, "(chunks = %d)", (int)chunks);
    }
    fprintf(c->to, "\n");
}

// ---- storage ----------------------------------------------------------------------------------

static const char *const states[] = {"parameters", "optimizer", "gradients"};
enum { REPLICATED, SHARDED, GATHERED };
// Parameters, optimizer, gradients: what has a meaning.
static const int consistent[][3] = {
    {REPLICATED, REPLICATED, REPLICATED}, {REPLICATED, SHARDED, REPLICATED},
    {REPLICATED, SHARDED, SHARDED},       {GATHERED, SHARDED, SHARDED},
    {GATHERED, SHARDED, REPLICATED},
};

static void write_gather_options(struct composer *c) {
    static const char *const units[] = {"", "", ", unit = tensor", ", unit = layer",
                                        ", unit = layers(2)"};
    fprintf(c->to, "%s", units[pick(c, 5)]);
    if (chance(c, 500))
        fprintf(c->to, ", prefetch = %d", (int)pick(c, 4));
    if (chance(c, 300))
        fprintf(c->to, ", after_forward = kept%s", chance(c, 400) ? ", after_backward = kept" : "");
}

// Shards are never reduced after the last microbatch.
static void write_reduce_options(struct composer *c, bool whole) {
    static const char *const when[] = {"", ", reduce = last", ", reduce = each"};
    int64_t picked = pick(c, 3);
    fprintf(c->to, "%s", when[!whole && picked == 1 ? 0 : picked]);
    if (whole && chance(c, 300))
        fprintf(c->to, ", bucket = %d KiB", 1 + (int)pick(c, 8));
}

static void write_mode(struct composer *c, int state, const char *selector, int extent,
                       const char *axes) {
    static const char *const names[] = {"replicated", "sharded", "gathered"};
    fprintf(c->to, "  %s%s : %s(%s%s", states[state], selector, names[extent], axes,
            c->by_tensor && extent != REPLICATED ? " by tensor" : "");
    if (state == 0 && extent == GATHERED)
        write_gather_options(c);
    if (state == 2)
        write_reduce_options(c, extent == REPLICATED);
    fprintf(c->to, ")\n");
}

static const int *write_triple(struct composer *c, const char *selector, const char *axes) {
    const int *triple = consistent[pick(c, 5)];
    for (int state = 0; state < 3; state++) {
        int extent = chance(c, 40) ? (int)pick(c, state == 0 ? 3 : 2) : triple[state];
        if (!chance(c, 50))
            write_mode(c, state, selector, extent, axes);
    }
    return triple;
}

// Owners along all axes that divide tokens: over others there are none yet.
static void write_triple_by_tensor(struct composer *c, const char *selector) {
    c->by_tensor = c->has_owners = true;
    write_triple(c, selector, c->tokens);
    c->by_tensor = false;
}

static void write_tuple(struct composer *c, const char *axes) {
    static const char *const letters[] = {"R", "S", "S*"};
    const int *triple = consistent[pick(c, 5)];
    fprintf(c->to, "  states : (%s, %s, %s, R) on %s\n", letters[triple[0]], letters[triple[1]],
            letters[triple[2]], axes);
    if (triple[0] == GATHERED && chance(c, 400))
        write_mode(c, 0, "", GATHERED, axes);
}

// Gives tensors of layers owners, of all or of a part.
static void give_owners(struct composer *c) {
    static const char *const of[] = {".layers", ".layers", ".attention", ".mlp"};
    const char *selector = of[pick(c, 4)];
    if (!c->tokens || c->has_owners)
        return;
    if (chance(c, 100)) { // its other states may lie elsewhere
        fprintf(c->to, "  optimizer%s : sharded(%s by tensor)\n", selector, c->tokens);
        c->has_owners = true;
    } else {
        write_triple_by_tensor(c, selector);
    }
}

// On all these axes together, on one of them, or on each in another way.
static void keep_states(struct composer *c) {
    if (!c->tokens)
        return;
    if (chance(c, 120)) {
        write_triple_by_tensor(c, "");
        return;
    }
    const char *axes = chance(c, 600) ? c->tokens : one_axis_of(c, AXIS_TOKENS);
    if (chance(c, 400))
        write_tuple(c, axes);
    else
        write_triple(c, "", axes);
    const char *other = one_axis_of(c, AXIS_TOKENS);
    if (axes != c->tokens && strcmp(axes, other) != 0 && chance(c, 700))
        write_triple(c, "", other);
}

static const char *some_selector(struct composer *c) {
    static const char *const selectors[] = {".norm",      ".embedding",     ".mlp",
                                            ".attention", ".attention.qkv", ".head"};
    if (chance(c, 100))
        return arena_format(c->arena, ".layers[%d:]", 1 + (int)pick(c, c->dims->layers - 1));
    return selectors[pick(c, 6)];
}

static const char *some_axes(struct composer *c) {
    return chance(c, 700) ? c->tokens : one_axis_of(c, AXIS_TOKENS);
}

static void keep_states_of_some(struct composer *c) {
    if (c->tokens)
        write_triple(c, some_selector(c), some_axes(c));
}

static void keep_states_of_layers(struct composer *c) {
    if (!c->tokens)
        return;
    if (chance(c, 300))
        fprintf(c->to, "  in layers[%d::2] {\n", (int)pick(c, c->dims->layers));
    else
        fprintf(c->to, "  in layers[%d:] {\n", 1 + (int)pick(c, c->dims->layers - 1));
    write_tuple(c, some_axes(c));
    fprintf(c->to, "  }\n");
}

// Norms and tables, which tensor parallelism leaves whole.
static void keep_states_on_tensor_axis(struct composer *c) {
    const char *axis = one_axis_of(c, AXIS_TENSOR);
    if (axis)
        write_triple(c, chance(c, 500) ? ".norm" : ".embedding", axis);
}

// What one state says of a dimension holds for the others.
static void cut_along(struct composer *c) {
    static const char *const selectors[] = {".layers", ".layers", ".mlp", ".attention",
                                            ".embedding"};
    static const char *const dimensions[] = {"hidden", "hidden", "ffn", "heads", "vocab"};
    if (c->tokens)
        fprintf(c->to, "  optimizer%s : sharded(%s by %s)\n", selectors[pick(c, 5)], c->tokens,
                dimensions[pick(c, 5)]);
}

// ---- activations ------------------------------------------------------------------------------

static void recompute(struct composer *c) {
    static const char *const which[] = {
        "",     "", ".attention", ".attention.core", ".attention.qkv", ".mlp", ".mlp.activation",
        ".norm"};
    if (chance(c, 150))
        fprintf(c->to, "  activations.layers[%d:%s] : recomputed\n", (int)pick(c, c->dims->layers),
                chance(c, 400) ? ":2" : "");
    else if (chance(c, 250))
        fprintf(c->to, "  activations : recomputed(unit = layers(%d))\n  activations%s : stored\n",
                2 + (int)pick(c, c->dims->layers - 1), which[2 + pick(c, 6)]);
    else
        fprintf(c->to, "  activations%s : recomputed\n", which[pick(c, 8)]);
}

static void cut_activations(struct composer *c) {
    const char *axes = chance(c, 700) ? axes_of(c, AXIS_TENSOR) : one_axis_of(c, AXIS_TENSOR);
    if (axes)
        fprintf(c->to, "  activations : sharded(%s by sequence)\n", axes);
}

// ---- what is not built yet --------------------------------------------------------------------

static void gather_activations(struct composer *c) {
    const char *axis = one_axis_of(c, AXIS_TENSOR);
    if (axis)
        fprintf(c->to, "  activations : gathered(%s by sequence)\n", axis);
}

static const char *const offloaded_so[] = {"",
                                           "(prefetch = 0)",
                                           "(to = disk)",
                                           "(unit = tensor)",
                                           "(to = disk, prefetch = 2)",
                                           "(unit = layers(2))"};
enum { N_OFFLOADED_SO = sizeof offloaded_so / sizeof *offloaded_so };

static void offload_activations(struct composer *c) {
    static const char *const selectors[] = {"",     ".layers",    ".attention.core",
                                            ".mlp", ".attention", ""};
    const char *of = selectors[pick(c, 6)];
    if (chance(c, 300))
        of = arena_format(c->arena, ".layers[%d:%s]%s", 1 + (int)pick(c, c->dims->layers - 1),
                          chance(c, 300) ? ":2" : "", strcmp(of, ".layers") == 0 ? "" : of);
    fprintf(c->to, "  activations%s : offloaded%s\n", of, offloaded_so[pick(c, N_OFFLOADED_SO)]);
}

static void offload_gradients(struct composer *c) {
    static const char *const selectors[] = {"", "", "", ".layers", ".mlp", ".embedding"};
    fprintf(c->to, "  gradients%s : offloaded%s\n", selectors[pick(c, 6)],
            offloaded_so[pick(c, N_OFFLOADED_SO)]);
}

// What has owners is seldom kept elsewhere, or not kept: that is not built yet.
static bool avoids_owned(struct composer *c) {
    return c->has_owners && !chance(c, 100);
}

static void offload(struct composer *c) {
    static const char *const states[] = {"optimizer", "parameters", "optimizer, parameters"};
    if (avoids_owned(c)) {
        offload_activations(c);
        return;
    }
    bool host = chance(c, 400);
    if (host)
        fprintf(c->to, "  optimizer%s : offloaded(update = host%s)\n",
                chance(c, 300) ? some_selector(c) : "", chance(c, 300) ? ", to = disk" : "");
    if (!host || chance(c, 500))
        fprintf(c->to, "  %s : offloaded%s\n", host ? "parameters" : states[pick(c, 3)],
                offloaded_so[pick(c, N_OFFLOADED_SO)]);
    if (chance(c, 500))
        offload_activations(c);
    if (chance(c, 500))
        offload_gradients(c);
}

static void gather_optimizer(struct composer *c) {
    if (c->tokens)
        fprintf(c->to, "  optimizer.head : gathered(%s)\n", c->tokens);
}

static void cut_by_other(struct composer *c) {
    if (c->tokens)
        fprintf(c->to, "  optimizer.head : sharded(%s by tensor)\n", c->tokens);
}

// ---- what is made when it is needed -----------------------------------------------------------

// Parameters of a master copy, gradients that the update takes at once, an optimizer without states.
// Where a composition has not what this needs it has no meaning, which is seldom tried.
static void make_when_needed(struct composer *c) {
    static const char *const of_parameters[] = {"", ".layers", ".attention", ".embedding"};
    static const char *const of_gradients[] = {"", ".layers", ".layers", ".mlp"};
    if (chance(c, c->has_master ? 700 : 30))
        fprintf(c->to, "  parameters%s : materialized\n", of_parameters[pick(c, 4)]);
    if (avoids_owned(c))
        return;
    if (chance(c, c->takes_at_once ? 700 : 30))
        fprintf(c->to, "  gradients%s : materialized\n", of_gradients[pick(c, 4)]);
    if (chance(c, c->keeps_nothing ? 700 : 30))
        fprintf(c->to, "  optimizer : materialized\n");
}

// ---- the strategy -----------------------------------------------------------------------------

void write_strategy(struct composer *c) {
    static const struct {
        int per_thousand;
        void (*write)(struct composer *);
    } parts[] = {
#define PART(per_thousand, function) {per_thousand, function},
#include "tests/oracle/parts.def"
#undef PART
    };
    fprintf(c->to, "\nstrategy main {\n");
    if (c->ranks)
        split_layers(c);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (chance(c, parts[i].per_thousand))
            parts[i].write(c);
    fprintf(c->to, "}\n");
}
