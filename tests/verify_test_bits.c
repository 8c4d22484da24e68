// The order of sums against execution (cut_op.h): of ops of every kind, dimensions are cut over two
// axes in all ways, in blocks of several lengths, and what devices have is summed in all orders.
// Each such program is executed, and judged against the program of one device: it must be accepted
// exactly where all devices have what one device has there.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "tests/cut_op.h"
#include "tests/sample.h"

static const struct op_example examples[] = {
    {"einsum", "labels=\"sh,hf->sf\"", {"sh", "hf"}, {"sf"}, "shf", "shf", "shf", SUM_ORDERED},
    {"einsum", "labels=\"sh,sf->hf\"", {"sh", "sf"}, {"hf"}, "shf", "shf", "shf", SUM_ORDERED},
    {"einsum", "labels=\"esf,fseh->h\"", {"esf", "fseh"}, {"h"}, "esf", "esf", "h", SUM_ORDERED},
    {"sum_rows", "keep=1", {"sh"}, {"h"}, "sh", "sh", "", SUM_ORDERED},
    {"sum_columns", "keep=1", {"hs"}, {"h"}, "s", "s", "", SUM_ORDERED},
    {"sum_columns", "keep=2", {"hes"}, {"h"}, "es", "es", "", SUM_ORDERED},
    {"sum_rows", "keep=1", {"esh"}, {"h"}, "es", "es", "", SUM_ORDERED},
    {"silu", "", {"sf"}, {"sf"}, "sf", "sf", "", SUM_ORDERED},
    {"add_bias", "", {"sf", "f"}, {"sf"}, "sf", "sf", "", SUM_ORDERED},
    {"rope", "theta=10000", {"esgd", "#s"}, {"esgd"}, "esg", "esg", "", SUM_ORDERED},
    {"layer_norm", "eps=1", {"sh", "h", "h"}, {"sh", "s", "s"}, "s", "s", "", SUM_ORDERED},
    {"layer_norm_backward",
     "",
     {"sh", "h", "s", "s", "sh"},
     {"sh", "h", "h"},
     "s",
     "s",
     "",
     SUM_ORDERED},
    {"rms_norm", "eps=1", {"sh", "h"}, {"sh", "s"}, "s", "s", "", SUM_ORDERED},
    {"rms_norm_backward", "", {"esh", "h", "es", "esh"}, {"esh", "h"}, "es", "es", "", SUM_ORDERED},
    {"attention",
     "scale=1",
     {"bsgrd", "btgd", "btgd", "#s", "#t"},
     {"bsgrd", "bsgr"},
     "stgr",
     "s",
     "st",
     SUM_ORDERED},
    {"attention_backward",
     "scale=1",
     {"bsgrd", "btgd", "btgd", "bsgrd", "bsgr", "bsgrd", "#s", "#t"},
     {"bsgrd", "btgd", "btgd"},
     "stgr",
     "s",
     "st",
     SUM_ORDERED},
    {"embedding", "", {"#s", "vh", "#v"}, {"sh"}, "sv", "sv", "", SUM_EXACT},
    {"embedding_backward", "", {"#s", "sh", "#v"}, {"vh"}, "sv", "sv", "", SUM_ORDERED},
    {"row_max", "", {"sv"}, {"s"}, "sv", "sv", "", SUM_GREATEST},
    {"sum_exp", "", {"sv", "s"}, {"s"}, "sv", "sv", "", SUM_ORDERED},
    {"pick", "", {"sv", "#s", "#v"}, {"s"}, "sv", "sv", "", SUM_EXACT},
    {"token_loss", "", {"s", "s", "#s"}, {""}, "s", "s", "", SUM_ORDERED},
    {"count_tokens", "", {"#s"}, {""}, "s", "s", "", SUM_EXACT},
};

struct counts {
    unsigned n_programs, n_equal, n_refused, n_wrong;
};

// Judges an op on many devices against one device with the same blocks, or with others: then it
// need not be accepted.
static void judge(struct cut_op *many, const struct cut_op *one, struct counts *counts) {
    struct trial t = {0};
    t.diagnostics = diagnostics_new(&t.arena, &t.sources);
    trial_read(&t, cut_op_program(&t.arena, one));
    t.reference = t.program;
    trial_read(&t, cut_op_program(&t.arena, many));
    trial_judge(&t);
    bool accepted = t.verdict.kind == VERDICT_ACCEPTED;
    bool ordered = accepted || t.diagnostics->items[0]->code == E416;
    bool same_blocks = memcmp(many->block, one->block, sizeof one->block) == 0;
    bool equal = ordered && cut_op_has_bits_of(many, one);
    counts->n_equal += accepted;
    counts->n_refused += ordered && !accepted;
    if (ordered && (accepted ? !equal : equal && same_blocks)) {
        counts->n_wrong++;
        fprintf(stderr, "%s: %s, though bits %s\n", cut_op_name(&t.arena, many),
                accepted ? "accepted" : "refused", equal ? "are the same" : "differ");
        if (counts->n_wrong < 4)
            diagnostics_print(t.diagnostics, stderr, false);
    }
    arena_free(&t.arena);
}

// A sample takes every fifth program of an example.
static void try_blocks(struct cut_op *many, struct counts *counts) {
    struct cut_op one = *many;
    one.one = true;
    if (!cut_op_fits(many) || !cut_op_fits(&one) ||
        counts->n_programs++ % (sample_every() > 1 ? 5 : 1))
        return;
    judge(many, &one, counts);
    for (const char *label = many->example->cut; *label; label++) {
        struct cut_op other = one;
        int d = cut_dimension(*label);
        if (!many->block[d] || 2 * many->block[d] > cut_dimensions[d].size)
            continue;
        other.block[d] *= 2;
        judge(many, &other, counts);
    }
}

// All orders in which the axes of what is summed may be summed over.
static void try_sums(struct cut_op *c, struct counts *counts) {
    static const char *const orders[][CUT_AXES] = {{"t", "u"}, {"u", "t"}, {"t*u"}, {"u*t"}};
    bool summed[CUT_AXES] = {false};
    for (int d = 0; d < CUT_DIMENSIONS; d++)
        for (int i = 0; i < CUT_AXES; i++)
            if (cut_op_sums(c, d) && c->cut_by[d][i] >= 0)
                summed[c->cut_by[d][i]] = true;
    c->sums[0] = summed[0] ? "t" : summed[1] ? "u" : NULL;
    c->sums[1] = NULL;
    if (!summed[0] || !summed[1]) {
        try_blocks(c, counts);
        return;
    }
    for (size_t i = 0; i < sizeof orders / sizeof *orders; i++) {
        memcpy(c->sums, orders[i], sizeof c->sums);
        try_blocks(c, counts);
    }
}

// Tries no blocks, four, or two, of every label that is cut.
static void choose_blocks(struct cut_op *c, const char *labels, struct counts *counts) {
    bool takes = strstr(op_rows[op_find(c->example->op)].attributes, "blocks");
    if (!*labels || !takes) {
        try_sums(c, counts);
        return;
    }
    int d = cut_dimension(*labels);
    for (int blocks = 0; blocks <= (*labels == 't' ? 0 : 4); blocks += 2) {
        c->block[d] = blocks ? cut_dimensions[d].size / blocks : 0;
        if (c->block[d] || !blocks)
            choose_blocks(c, labels + 1, counts);
    }
    c->block[d] = 0;
}

static void cut(struct cut_op *c, const int of[CUT_AXES], bool outer_last, struct counts *counts) {
    memset(c->cut_by, -1, sizeof c->cut_by);
    for (int i = 0; i < CUT_AXES; i++) {
        int axis = outer_last ? CUT_AXES - 1 - i : i;
        if (of[axis] < 0)
            continue;
        int *by = c->cut_by[cut_dimension(c->example->cut[of[axis]])];
        by[by[0] >= 0] = axis;
    }
    for (int d = 0; d < CUT_DIMENSIONS; d++)
        if (cut_op_parts(c, d) > cut_dimensions[d].size)
            return;
    choose_blocks(c, c->example->cut, counts);
}

// Each axis cuts one of the labels, or none.
static void try_example(const struct op_example *x, struct counts *counts) {
    int n = (int)strlen(x->cut);
    for (unsigned result = 0; result < MAX_RESULTS && x->results[result]; result++)
        for (int t = -1; t < n; t++)
            for (int u = -1; u < n; u++)
                for (int swapped = 0; swapped <= (t == u && t >= 0); swapped++) {
                    struct cut_op c = {.example = x, .result = result};
                    int of[CUT_AXES] = {t, u};
                    cut(&c, of, swapped, counts);
                }
}

static void accepted_is_what_has_the_bits_of_one_device(void **state) {
    unsigned n_wrong = 0;
    for (size_t i = 0; i < sizeof examples / sizeof *examples; i++) {
        struct counts counts = {0};
        try_example(&examples[i], &counts);
        printf("%s: %u accepted, %u refused\n", examples[i].op, counts.n_equal, counts.n_refused);
        assert_true(counts.n_equal > 0);
        n_wrong += counts.n_wrong;
    }
    assert_int_equal(n_wrong, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(accepted_is_what_has_the_bits_of_one_device)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
