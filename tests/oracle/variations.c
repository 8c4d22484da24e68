// See variations.h: the statements are chosen one from each list, as the digits of a number.
#include "tests/oracle/variations.h"

#include "ir/check.h"

#define LIST(...) ((const char *const[]){__VA_ARGS__, NULL})

// Storage first, so that strategies that divide work alike follow one another.
static const char *const *const lists[] = {
    // What an optimizer's shards leave of parameters and gradients to be cut.
    LIST(
        "", "optimizer : sharded(dp)", "optimizer : sharded(dp by tensor)",
        "optimizer : sharded(dp)  optimizer.mlp : sharded(dp by tensor)",
        "optimizer, gradients : sharded(dp by tensor)",
        "optimizer, gradients : sharded(dp by tensor)  parameters : gathered(dp by tensor)",
        "optimizer : sharded(dp by tensor)  parameters : gathered(dp by tensor, unit = layers(2))",
        "optimizer : sharded(inner by tensor)  parameters : gathered(inner by tensor)",
        "optimizer, gradients : sharded(dp by tensor)"
        "  parameters : gathered(dp by tensor, after_forward = kept, prefetch = 0)",
        "optimizer, gradients : sharded(dp by tensor)"
        "  parameters : gathered(dp by tensor), materialized",
        "optimizer : sharded(inner)", "optimizer : sharded(tp * dp)",
        "optimizer : sharded(dp * tp)  gradients : sharded(dp)",
        "optimizer : sharded(dp * tp)  gradients : sharded(dp * tp)  parameters : gathered(dp)",
        "in mlp { optimizer : sharded(dp) }", "optimizer : sharded(dp)  gradients : sharded(dp)",
        "optimizer : sharded(dp)  gradients : sharded(dp, reduce = each)",
        "optimizer : sharded(dp)  gradients : replicated(dp, reduce = each)",
        "optimizer : sharded(inner)  gradients : sharded(inner)",
        "optimizer : sharded(dp)  parameters : gathered(dp)",
        "optimizer : sharded(dp)  gradients : sharded(dp)  parameters : gathered(dp)",
        "optimizer : sharded(dp by hidden)", "optimizer : sharded(tp * dp by hidden)",
        "optimizer : sharded(dp by ffn)  gradients : sharded(inner)",
        "optimizer : sharded(dp)  gradients : sharded(dp)"
        "  parameters : gathered(outer * inner by hidden, after_forward = sharded(inner))",
        "optimizer : sharded(dp)  gradients : sharded(dp)  parameters : gathered(dp, prefetch = 0)",
        "optimizer : sharded(dp)  gradients : sharded(dp)  parameters : gathered(dp, unit = "
        "tensor)",
        "optimizer : sharded(dp)  gradients : sharded(dp)"
        "  parameters : gathered(dp, unit = tensor, after_forward = kept)",
        "optimizer : sharded(dp)  in mlp { parameters : gathered(dp, unit = tensor) }",
        "optimizer : sharded(dp)"
        "  parameters : gathered(outer * inner, unit = tensor, after_forward = sharded(outer))",
        "optimizer : sharded(dp)  gradients : sharded(dp)"
        "  parameters : gathered(dp, after_forward = kept)",
        "optimizer : sharded(dp)  gradients : sharded(dp)"
        "  parameters : gathered(outer * inner, after_forward = sharded(inner))",
        "optimizer : sharded(dp)  parameters : gathered(dp, after_forward = kept, after_backward = "
        "kept)",
        "optimizer : sharded(dp)  parameters : gathered(dp, after_forward = kept), offloaded",
        "optimizer : sharded(dp)  parameters : gathered(dp, after_forward = kept, after_backward = "
        "kept), offloaded",
        "optimizer : sharded(dp)  gradients : sharded(inner)  parameters : gathered(inner)",
        "optimizer : sharded(inner)  gradients : sharded(inner)  parameters : gathered(inner)",
        "optimizer : sharded(dp)  gradients : sharded(dp)"
        "  parameters : gathered(dp, unit = layers(2))",
        "optimizer : sharded(dp)  gradients : sharded(dp)"
        "  parameters : gathered(dp, unit = layers(3))",
        "optimizer : sharded(dp)  in layers[1:] { gradients : sharded(dp) }",
        "optimizer : sharded(dp)  in layers[1:] { parameters : gathered(dp) }",
        "optimizer : sharded(dp)  in attention { parameters : gathered(dp) }",
        "optimizer : sharded(dp)  in layers[:3:2] { gradients : sharded(dp) }",
        "in layers[2:] { optimizer : sharded(inner) }",
        "relax gradient_integrity over dp { gradients : replicated(dp, wire = int8) }",
        "optimizer : sharded(dp)"
        "  relax gradient_integrity over dp { gradients : replicated(dp, wire = int8) }",
        "optimizer : sharded(dp)"
        "  relax gradient_integrity over dp { gradients : sharded(dp, wire = int8) }",
        "optimizer : sharded(dp)  gradients : sharded(inner)"
        "  relax gradient_integrity over outer { gradients : sharded(outer, wire = int8) }",
        "optimizer : sharded(inner)  parameters : gathered(inner, unit = layers(2))"
        "  relax gradient_integrity over inner { gradients : sharded(inner, wire = topk(0.1)) }",
        "optimizer : sharded(dp)"
        "  relax gradient_integrity over outer { gradients : replicated(outer, wire = int8) }",
        "optimizer : sharded(inner)"
        "  relax gradient_integrity over inner { gradients : replicated(inner, wire = int8) }",
        "relax gradient_integrity, state_consistency over outer {"
        " gradients : replicated(outer, reduce = never)"
        "  parameters : replicated(outer, average = every(5)) }",
        "optimizer : sharded(inner)  gradients : sharded(inner)  parameters : gathered(inner)"
        "  relax gradient_integrity, state_consistency over outer {"
        " gradients : replicated(outer, reduce = never)"
        "  parameters : replicated(outer, average = every(5), outer = sgd(lr = 0.7)) }"),
    LIST("", "gradients : replicated(bucket = 4 KiB)",
         "in mlp { gradients : replicated(reduce = each) }"),
    LIST("", "split heads, kv_heads, ffn over tp", "split heads, kv_heads, ffn, vocab over tp"),
    LIST("", "activations : sharded(tp by sequence)",
         "activations.layers : gathered(tp by sequence)"),
    LIST("", "activations : recomputed", "activations : recomputed(unit = layers(2))",
         "activations : recomputed(unit = layers(3))", "activations.mlp : recomputed"),
};
enum { N_LISTS = sizeof lists / sizeof *lists };

static uint32_t length_of(const char *const *list) {
    uint32_t n = 0;
    while (list[n])
        n++;
    return n;
}

uint32_t n_variations(void) {
    uint32_t n = 1;
    for (unsigned i = 0; i < N_LISTS; i++)
        n *= length_of(lists[i]);
    return n;
}

uint32_t n_storages(void) {
    return length_of(lists[0]);
}

const char *variation(struct arena *arena, uint32_t i) {
    const char *text = "strategy main {\n  split batch over dp\n";
    CHECK(i < n_variations());
    for (unsigned k = 0; k < N_LISTS; k++) {
        uint32_t n = length_of(lists[k]);
        text = arena_format(arena, "%s  %s\n", text, lists[k][i % n]);
        i /= n;
    }
    return arena_format(arena, "%s}\n", text);
}

// ---- groups of layers -------------------------------------------------------------------------

enum { N_GROUPED_LAYERS = 7, MOST_AHEAD = 2 };
static const char *const behind_forward[] = {"freed", "kept", "sharded(inner)"};
enum { N_BEHIND_FORWARD = sizeof behind_forward / sizeof *behind_forward };

uint32_t n_grouped(void) {
    return N_GROUPED_LAYERS * N_GROUPED_LAYERS * (MOST_AHEAD + 1) * N_BEHIND_FORWARD;
}

bool grouped_keeps(uint32_t i) {
    return i % N_BEHIND_FORWARD != 0;
}

const char *grouped(struct arena *arena, uint32_t i) {
    CHECK(i < n_grouped());
    uint32_t behind = i % N_BEHIND_FORWARD, ahead = i / N_BEHIND_FORWARD % (MOST_AHEAD + 1);
    uint32_t sizes = i / (N_BEHIND_FORWARD * (MOST_AHEAD + 1));
    return arena_format(
        arena,
        "model tiny : gpt2 { layers = %d  hidden = 32  heads = 4  ffn = 64  vocab = 256"
        "  sequence_limit = 16 }\n"
        "device core { memory = 1 GiB  compute = 100 GFLOP/s  bandwidth = 20 GB/s }\n"
        "mesh ranks of core { outer = 2 link(1 GB/s, 10 us)  inner = 2 link(10 GB/s, 1 us) }\n"
        "train { batch = 16  sequence = 16  microbatch = 2  optimizer = sgd(lr = 0.05) }\n"
        "strategy main {\n"
        "  split batch over outer * inner\n"
        "  optimizer : sharded(outer * inner)  gradients : sharded(outer * inner)\n"
        "  parameters : gathered(outer * inner, unit = layers(%u), prefetch = %u,"
        " after_forward = %s)\n"
        "  activations : recomputed(unit = layers(%u))\n"
        "}\n",
        N_GROUPED_LAYERS, sizes % N_GROUPED_LAYERS + 1, ahead, behind_forward[behind],
        sizes / N_GROUPED_LAYERS + 1);
}
