// The laws of log-sum-exp: a loss over parts of the vocabulary, written by hand into a derived
// program, is the one-device program's, and so is its backward half. Mistakes in it are refused at
// the op that is the first to need what is missing; what is harmless is accepted.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/tiny_strategies.h"
#include "tests/trial.h"

// The derived program holds the head whole on every device of tp; here each takes its rows of it.
static const struct edit by_parts[] = {
    REPLACE("  %logits = einsum(%norm.y, %head.weight) {labels=\"bsh,vh->bsv\"} :\n"
            "       f64[batch=2, sequence=7, vocab=18] out role head\n"
            "  %rows = iota() {dimension=vocab} : i32[vocab=18] inline role head\n"
            "  %loss.loss, %loss.lse = cross_entropy(%logits, %targets, %rows) : f64[] at 0,\n"
            "       f64[batch=2, sequence=7] out role head\n",
            "  %weight = slice(%head.weight) {axes=tp, dim=0} : f64[vocab=9, hidden=10]\n"
            "  %logits = einsum(%norm.y, %weight) {labels=\"bsh,vh->bsv\"} :\n"
            "       f64[batch=2, sequence=7, vocab=9] out role head\n"
            "  %rows = iota() {dimension=vocab, axes=tp} : i32[vocab=9] inline role head\n"
            "  %own = row_max(%logits) : f64[batch=2, sequence=7]\n"
            "  %all = all_reduce(%own) {axes=tp, operation=\"max\"} : f64[batch=2, sequence=7]\n"
            "  %shift = wait(%all) : f64[batch=2, sequence=7]\n"
            "  %sum = sum_exp(%logits, %shift) : f64[batch=2, sequence=7]\n"
            "  %sum.1 = all_reduce(%sum) {axes=tp} : f64[batch=2, sequence=7]\n"
            "  %sum.2 = wait(%sum.1) : f64[batch=2, sequence=7]\n"
            "  %loss.lse = log_shift(%sum.2, %shift) : f64[batch=2, sequence=7] out\n"
            "  %pick = pick(%logits, %targets, %rows) : f64[batch=2, sequence=7]\n"
            "  %pick.1 = all_reduce(%pick) {axes=tp} : f64[batch=2, sequence=7]\n"
            "  %pick.2 = wait(%pick.1) : f64[batch=2, sequence=7]\n"
            "  %loss.loss = token_loss(%loss.lse, %pick.2, %targets) : f64[] at 0\n"),
    REPLACE(
        "  %rows = iota() {dimension=vocab} : i32[vocab=18] inline role head\n"
        "  %logits.gradient = cross_entropy_backward(%logits, %targets, %loss.lse, %rows,\n"
        "       %loss.loss.gradient) : f64[batch=2, sequence=7, vocab=18] in %logits role head\n"
        "  %norm.y.gradient = einsum(%logits.gradient, %head.weight) {labels=\"bsv,vh->bsh\"} :\n"
        "       f64[batch=2, sequence=7, hidden=10] at 0 role head\n"
        "  %head.weight.gradient = einsum(%norm.y, %logits.gradient) {labels=\"bsh,bsv->vh\"} :\n"
        "       f64[vocab=18, hidden=10] out role head\n",
        "  %weight = slice(%head.weight) {axes=tp, dim=0} : f64[vocab=9, hidden=10]\n"
        "  %rows = iota() {dimension=vocab, axes=tp} : i32[vocab=9] inline role head\n"
        "  %logits.gradient = cross_entropy_backward(%logits, %targets, %loss.lse, %rows,\n"
        "       %loss.loss.gradient) : f64[batch=2, sequence=7, vocab=9] in %logits\n"
        "  %dy = einsum(%logits.gradient, %weight) {labels=\"bsv,vh->bsh\"} :\n"
        "       f64[batch=2, sequence=7, hidden=10]\n"
        "  %dy.1 = all_reduce(%dy) {axes=tp} : f64[batch=2, sequence=7, hidden=10]\n"
        "  %norm.y.gradient = wait(%dy.1) : f64[batch=2, sequence=7, hidden=10]\n"
        "  %dw = einsum(%norm.y, %logits.gradient) {labels=\"bsh,bsv->vh\"} :\n"
        "       f64[vocab=9, hidden=10]\n"
        "  %dw.1 = all_gather(%dw) {axes=tp, dim=0} : f64[vocab=18, hidden=10]\n"
        "  %head.weight.gradient = wait(%dw.1) : f64[vocab=18, hidden=10] out\n"),
    REPLACE("parameter consumed %logits : f64[batch=2, sequence=7, vocab=18]",
            "parameter consumed %logits : f64[batch=2, sequence=7, vocab=9]"),
    REPLACE("buffer logits : activations f64[batch=6/dp, sequence=7, vocab=18]",
            "buffer logits : activations f64[batch=6/dp, sequence=7, vocab=18/tp]"),
    {EDIT_END, NULL, NULL, 0, 0},
};

struct variant {
    const char *name;
    struct edit edits[4]; // beside those above
    const char *code;     // NULL: accepted
    const char *at;       // what the text at the first diagnostic begins with
};

static const struct variant variants[] = {
    {"as it should be", {{0}}, NULL, NULL},
    // What is no maximum may be so far from the logits that nothing is left of their exponentials.
    {"no maximum but the sum of two", {REPLACE(", operation=\"max\"", "")}, "W820", "%all"},
    {"the maximum of the targets' logits",
     {REPLACE("row_max(%logits)", "pick(%logits, %targets, %rows)"),
      REPLACE(", operation=\"max\"", "")},
     "E490",
     "%loss.lse = log_shift"},
    {"another shift behind than before",
     {REPLACE("log_shift(%sum.2, %shift)", "log_shift(%sum.2, %sum.2)")},
     "E490",
     "%loss.lse = log_shift"},
    {"every device its own maximum",
     {REPLACE("sum_exp(%logits, %shift)", "sum_exp(%logits, %own)")},
     "E410",
     "%sum = sum_exp"},
    {"every device its own sum",
     {REPLACE("log_shift(%sum.2, ", "log_shift(%sum, ")},
     "E410",
     "%loss.lse = log_shift"},
    {"every device its own pick",
     {REPLACE("token_loss(%loss.lse, %pick.2", "token_loss(%loss.lse, %pick")},
     "E410",
     "%loss.loss = token_loss"},
    {"the greatest sum", // the second all_reduce
     {REPLACE("all_reduce(%sum) {axes=tp}", "all_reduce(%sum) {axes=tp, operation=\"max\"}")},
     "E410",
     "%sum.1 = all_reduce"},
    {"a sum over the wrong axis",
     {REPLACE("all_reduce(%sum) {axes=tp}", "all_reduce(%sum) {axes=dp}")},
     "E411",
     "%sum.1 = all_reduce"},
    {"the sum added up twice",
     {REPLACE("  %loss.lse = log_shift(%sum.2,",
              "  %sum.3 = all_reduce(%sum.2) {axes=tp} : f64[batch=2, sequence=7]\n"
              "  %sum.4 = wait(%sum.3) : f64[batch=2, sequence=7]\n"
              "  %loss.lse = log_shift(%sum.4,")},
     "E490",
     "%loss.lse = log_shift"},
    {"rows counted from 0 on every device",
     {REPLACE("iota() {dimension=vocab, axes=tp} : i32[vocab=9]",
              "iota() {dimension=vocab} : i32[vocab=9]")},
     "E510",
     "%rows = iota"},
    {"backward rows counted from 0",
     {{EDIT_REPLACE, "iota() {dimension=vocab, axes=tp} : i32[vocab=9]",
       "iota() {dimension=vocab} : i32[vocab=9]", 1, 0}},
     "E510",
     "%rows = iota"},
    {"backward without its sum",
     {REPLACE("%norm.y.gradient)", "%dy)")},
     "E410",
     "%mlp.activation.gradient = einsum"},
};

static void try_variant(struct trial *t, const struct variant *variant) {
    *t = (struct trial){0};
    t->config = tiny_strategy_config(&t->arena, FAMILY_LLAMA, TINY_ZERO3_TP, 3);
    assert_true(trial_derive(t, N_PASSES - 1));
    const char *text = program_edit(&t->arena, job_text(t->program->job, &t->arena), by_parts);
    trial_read(t, program_edit(&t->arena, text, variant->edits));
    trial_judge(t);
}

static void losses_by_parts_are_judged(void **state) {
    unsigned n_failed = 0;
    for (size_t i = 0; i < sizeof variants / sizeof *variants; i++) {
        struct trial t;
        try_variant(&t, &variants[i]);
        struct expected_verdict expected = {variants[i].code, variants[i].at, NULL};
        n_failed += !trial_end(&t, trial_is_as_expected(&t, expected), variants[i].name, expected);
    }
    assert_int_equal(n_failed, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(losses_by_parts_are_judged)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
