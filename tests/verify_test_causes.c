// Steps of a few statements, each with one mistake (see verify_test_steps.c) that shows elsewhere
// than it was made: where what is wrong comes from, and where what is lacking or in the way is.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/verify_small_step.h"

#define NORM "zero grad_norm\ncall norm(x = whole, sum = grad_norm)\n"
#define FOUR                                                                                       \
    "call copy(x = w[0]) -> (y = spare[0])\ncall bend(x = w[0]) -> (y = spare[1])\n"               \
    "call times(x = w[0], z = w[1]) -> (y = spare[2])\ncall bend(x = spare[1]) -> (y = "           \
    "spare[3])\n"
#define SQUARES                                                                                    \
    FOUR "zero squares\ncall norm(x = spare[0], sum = squares)\ncall norm(x = spare[1], sum = "    \
         "squares)\n"                                                                              \
         "call norm(x = spare[2], sum = squares)\ncall norm(x = spare[3], sum = squares)\n"        \
         "start permute over a shift 1 as sum[0] { squares -> norm2 }\nwait sum[0]\n"              \
         "call root(x = norm2) -> (y = grad_norm)\n"
#define LENGTH                                                                                     \
    FOUR "call length(x = spare[0], z = spare[1], u = spare[2], r = spare[3]) -> (y = "            \
         "grad_norm)\n"
#define NORM_OF(loops)                                                                             \
    FOUR "zero squares\ncall norm(x = spare[1], sum = squares)\n" loops                            \
         "call norm(x = spare[3], sum = squares)\ncall root(x = squares) -> (y = grad_norm)\n"
#define ADD_LAYER "call norm(x = w[l], sum = squares)"

static const struct mistake mistakes[] = {
    // Where what is wrong comes from, which is not where it shows.
    {"a transfer that is started again where nothing waited for it",
     GATHER_V "call copy(x = w[1]) -> (y = whole)\n" NORM
              "start all_gather over b as gather[0] { v -> other }\nwait gather[0]\n"
              "call copy(x = other) -> (y = w[3])\n",
     {DELETE("wait gather[0]"), DELETE("call copy(x = whole) -> (y = w[0])")},
     "E612",
     "start all_gather over b as gather[0] { v -> other }",
     "started again"},
    {"zeros that a transfer brings",
     "call copy(x = w[0]) -> (y = spare[0])\n" MOVE_SPARE
     "zero grad_norm\ncall norm(x = other, sum = grad_norm)\n",
     {REPLACE("call copy(x = w[0]) -> (y = spare[0])", "zero spare[0]")},
     "E490",
     "start permute",
     "is given 0"},
    {"zeros that a transfer brings to what is no sum",
     "call copy(x = w[0]) -> (y = spare[0])\n" MOVE_SPARE "call bend(x = other) -> (y = w[1])\n",
     {REPLACE("call copy(x = w[0]) -> (y = spare[0])", "zero spare[0]")},
     "E490",
     "start permute",
     "made of zeros"},
    {"a parameter that is cleared, and read by way of a product",
     "call times(x = w[1], z = w[2]) -> (y = spare[0])\ncall bend(x = spare[0]) -> (y = w[0])\n",
     {INSERT("zero w[2]", "call times")},
     "E490",
     "zero w[2]",
     "made of zeros"},
    {"what is cleared unread, several times",
     "zero whole\ncall add(x = w[0], sum = whole)\n"
     "for i = 0 .. 3 { call copy(x = w[1]) -> (y = spare[i]) }\n" NORM,
     {REPLACE("for i = 0 .. 3 { ", "for i = 0 .. 3 { zero whole\n")},
     "E412",
     "zero whole\ncall copy",
     "cleared before"},

    {"what the host gives, computed anew",
     "buffer key : input f64[] host step at 27648\ntrain {\n"
     "call root(x = key) -> (y = grad_norm)\n",
     {REPLACE("%y = square_root(%x)",
              "%third = divide(%x) {divisor=3} : f64[]\n%two = add(%third, %third) : f64[]\n"
              "%all = add(%two, %third) : f64[]\n%y = square_root(%all)")},
     "E415",
     "%third = divide",
     "may round"},
    {"logits in other parts than the host reads",
     "buffer all : input i32[batch=16/a, sequence=2] host tokens at 27648\n"
     "buffer logits : activations f32[batch=16/a, sequence=2, vocab=3] host logits at 28672\n"
     "train {\n}\nevaluate {\ncall score(t = table, x = all) -> (y = logits)\n",
     {REPLACE("activations f32[batch=16/a", "activations f32[batch=16/b")},
     "E510",
     "logits : activations",
     "where the host looks"},

    // Where what is lacking or in the way is.
    {"a sum that goes on without a summand",
     SQUARES,
     {DELETE("call norm(x = spare[1]")},
     "E412",
     "call norm(x = spare[2]",
     "lacks `square_sum(silu(...))`"},
    {"a sum that goes on without a summand, where another was cleared that had been read",
     "zero squares\ncall norm(x = w[0], sum = squares)\n"
     "call root(x = squares) -> (y = token_count)\n" SQUARES,
     {DELETE("call norm(x = spare[1]")},
     "E412",
     "call norm(x = spare[2]",
     "lacks"},
    {"a sum that is brought without its last summand",
     SQUARES,
     {DELETE("call norm(x = spare[3]")},
     "E412",
     "start permute over a",
     "lacks"},
    {"a sum over layers that leaves out the last",
     NORM_OF("for l = 0 .. 4 { " ADD_LAYER " }\n"),
     {REPLACE("l = 0 .. 4", "l = 0 .. 3")},
     "E412",
     "for l = 0 .. 3",
     "has 3 of the 4 layers'"},
    {"a sum over layers that leaves out the last, and goes on in another loop",
     NORM_OF("for l = 0 .. 4 { " ADD_LAYER " }\n"
             "for i = 2 .. 3 { call norm(x = spare[i], sum = squares) }\n"),
     {REPLACE("l = 0 .. 4", "l = 0 .. 3")},
     "E412",
     "for l = 0 .. 3",
     "has 3 of the 4 layers'"},
    {"a sum over layers that leaves out one, in no loop",
     NORM_OF("call norm(x = w[0], sum = squares)\ncall norm(x = w[1], sum = squares)\n"
             "call norm(x = w[2], sum = squares)\n"),
     {DELETE("call norm(x = w[1]")},
     "E490",
     "%y = square_root",
     "is given"},
    {"a sum without a summand that no layer has, behind a loop over no layers",
     NORM_OF("for l = 0 .. 0 { " ADD_LAYER " }\n"
             "for l = 0 .. 4 { " ADD_LAYER " }\n"),
     {DELETE("call norm(x = spare[1]")},
     "E412",
     "call norm(x = w[l]",
     "lacks"},
    {"a sum over layers in two loops, of which the first goes over nothing",
     NORM_OF("for l = 0 .. 2 { " ADD_LAYER " }\nfor l = 2 .. 4 { " ADD_LAYER " }\n"),
     {REPLACE("l = 0 .. 2", "l = 0 .. 0")},
     "E412",
     "for l = 0 .. 0",
     "has 2 of the 4 layers'"},
    {"a sum over layers in groups of which one goes over nothing",
     NORM_OF("for g = 0 .. 1 { for l = 2*g .. 2*g+2 { " ADD_LAYER " } }\n"
             "for g = 1 .. 2 { for l = 2*g .. 2*g+2 { " ADD_LAYER " } }\n"),
     {REPLACE("l = 2*g .. 2*g+2", "l = 2*g .. 2*g")},
     "E412",
     "for l = 2*g .. 2*g {",
     "has 2 of the 4 layers'"},
    {"a sum over layers that is cleared for each",
     NORM_OF("for l = 0 .. 4 { " ADD_LAYER " }\n"),
     {DELETE("zero squares"), REPLACE("call norm(x = w[l]", "zero squares\ncall norm(x = w[l]")},
     "E412",
     "zero squares",
     "cleared before anything reads"},
    {"a sum over a group of all layers that is cleared for each",
     NORM_OF("for g = 0 .. 1 { for l = 4*g .. 4*g+4 { " ADD_LAYER " } }\n"),
     {DELETE("zero squares"), REPLACE("call norm(x = w[l]", "zero squares\ncall norm(x = w[l]")},
     "E412",
     "zero squares",
     "cleared before anything reads"},
    {"a sum that goes on in another order, without a summand",
     SQUARES,
     {DELETE("call norm(x = spare[1]"), BEFORE("call norm(x = spare[2]", "call norm(x = spare[0]")},
     "E412",
     "call norm(x = spare[0]",
     "lacks"},
    {"a sum without a summand, beside one that has nothing to do with it",
     SQUARES,
     {REPLACE("call norm(x = spare[1], sum = squares)", "call joint(x = w[1]) -> (y = other)")},
     "E412",
     "call norm(x = spare[2]",
     "lacks"},
    {"a sum without a summand of which another op makes something",
     "call bend(x = w[0]) -> (y = spare[1])\nzero token_count\n"
     "call norm(x = spare[1], sum = token_count)\ncall root(x = token_count) -> (y = "
     "norm2)\n" SQUARES,
     {DELETE("call norm(x = spare[1], sum = squares)")},
     "E412",
     "call norm(x = spare[2]",
     "lacks"},
    {"a sum that is brought before its last summand",
     SQUARES,
     {BEFORE("start permute over a", "call norm(x = spare[3]"),
      BEFORE("wait sum[0]", "call norm(x = spare[3]")},
     "E490",
     "start permute over a",
     "is given"},
    {"a summand that is added to something else",
     FOUR "zero token_count\ncall norm(x = spare[3], sum = token_count)\n" SQUARES,
     {REPLACE("call norm(x = spare[1], sum = squares)",
              "call norm(x = spare[1], sum = token_count)")},
     "E412",
     "call norm(x = spare[1]",
     "lacks"},
    {"a sum that is forgotten inside a unit",
     LENGTH,
     {REPLACE("%s.3 = add(%s.2, %d)", "%s.3 = add(%c, %d)")},
     "E412",
     "%s.3 = add",
     "lacks"},
    {"a square of something else, which is added in its own place too",
     LENGTH,
     {REPLACE("%b = square_sum(%z)", "%b = square_sum(%r)")},
     "E412",
     "%b = square_sum",
     "2 times"},
    {"what another op makes later",
     "call gated(x = w[0], z = w[1], u = w[2]) -> (y = w[3])\n",
     {REPLACE("%gate = einsum(%x, %z)", "%gate = einsum(%x, %u)")},
     "E490",
     "%gate = einsum",
     NULL},
    {"another scalar in the place of the only one that has a root",
     COUNT SQUARES,
     {REPLACE("{ squares -> norm2 }", "{ token_count -> norm2 }")},
     "E490",
     "start permute over a",
     "is given"},

    {"a shard that arrives where another axis's is expected",
     "call copy(x = w[0]) -> (y = whole)\n"
     "start reduce_scatter over b as cut[0] { whole -> shard }\nwait cut[0]\n"
     "call plus(x = shard, z = v) -> (y = part.b)\ncall keep(x = part.b) -> (y = v)\n",
     {REPLACE("start reduce_scatter over b", "start reduce_scatter over a")},
     "E510",
     "start reduce_scatter over a",
     "cut differently"},
};

static void each_mistake_is_found(void **state) {
    assert_true(small_steps_are_found(mistakes, sizeof mistakes / sizeof *mistakes));
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(each_mistake_is_found)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
