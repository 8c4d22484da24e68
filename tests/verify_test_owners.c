// What has owners, in steps of a few statements: who writes it, what others then have, and what an owner
// may leave to others.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/verify_small_step.h"

#define OWNERS                                                                                     \
    "buffer w.own : parameters f32[hidden=4] owner/b of w layers 4 window of w\n"                  \
    "buffer w.flat : parameters f32[hidden=4] flat/b of w layers 4 window of w\n"                  \
    "buffer mine : momentum f32[hidden=4] owner/b of w layers 4 at 60000\n"                        \
    "buffer fresh : transient f32[hidden=4] owner/b of w layers 4 at 61000\n"                      \
    "buffer half : transient f32[ffn=2, hidden=4] owner/b of w layers 4 at 62000\n"                \
    "train {\n"
// The owner updates, and adds to a norm.
#define UPDATE                                                                                     \
    OWNERS "zero squares\n"                                                                        \
           "for l = 0 .. 4 {\n"                                                                    \
           "call norm(x = mine[l], sum = squares)\n"                                               \
           "call times(x = w.own[l], z = mine[l]) -> (y = fresh[l])\n"                             \
           "call bend(x = fresh[l]) -> (y = w.own[l])\n"                                           \
           "start broadcast over b as out[0] { w.own[l] -> w[l] }\nwait out[0]\n"                  \
           "}\n"                                                                                   \
           "start all_reduce over b as s[0] { squares -> squares }\nwait s[0]\n"                   \
           "call root(x = squares) -> (y = grad_norm)\n"
// The sum is not the first that the owner's unit makes.
#define BEND_NORM                                                                                  \
    OWNERS "zero squares\n"                                                                        \
           "for l = 0 .. 4 {\n"                                                                    \
           "call bend_norm(x = mine[l], sum = squares) -> (y = w.own[l])\n"                        \
           "start broadcast over b as out[0] { w.own[l] -> w[l] }\nwait out[0]\n"                  \
           "}\n"                                                                                   \
           "start all_reduce over b as s[0] { squares -> squares }\nwait s[0]\n"                   \
           "call root(x = squares) -> (y = grad_norm)\n"
// A sum of all devices goes to the owner of layer 1.
#define REDUCE                                                                                     \
    OWNERS "call sum(x = u) -> (y = whole)\n"                                                      \
           "start reduce over b as in[0] { whole -> fresh[1] }\nwait in[0]\n"                      \
           "call times(x = fresh[1], z = mine[1]) -> (y = w.own[1])\n"                             \
           "start broadcast over b as out[0] { w.own[1] -> w[1] }\nwait out[0]\n"
// The owner adds what it has to its summand, before it is reduced.
#define ADD_FIRST                                                                                  \
    OWNERS "call sum(x = u) -> (y = whole)\n"                                                      \
           "call add(x = mine[1], sum = whole)\n"                                                  \
           "start reduce over b as in[0] { whole -> fresh[1] }\nwait in[0]\n"                      \
           "call times(x = fresh[1], z = mine[1]) -> (y = w.own[1])\n"                             \
           "start broadcast over b as out[0] { w.own[1] -> w[1] }\nwait out[0]\n"
// Each owner makes in a slot of its own what it gives to all.
#define GIVE                                                                                       \
    "buffer slot : transient f32[hidden=4] owner/b of w slots 2 at 63000\n" OWNERS                 \
    "for l = 0 .. 4 {\n"                                                                           \
    "call times(x = w.own[l], z = mine[l]) -> (y = slot[l mod 2])\n"                               \
    "start broadcast over b as out[0] { slot[l mod 2] -> whole }\nwait out[0]\n"                   \
    "call copy(x = whole) -> (y = w[l])\n"                                                         \
    "}\n"
// What an owner keeps on the host comes in for the update.
#define COPY_IN                                                                                    \
    "buffer kept : transient f32[hidden=4] owner/b of w layers 4 on host at 0\n"                   \
    "buffer slot : transient f32[hidden=4] owner/b of w slots 2 at 63000\n" OWNERS                 \
    "for l = 0 .. 4 { start copy as away[0] { mine[l] -> kept[l] }\nwait away[0]\n}\n"             \
    "for l = 0 .. 4 {\n"                                                                           \
    "start copy as in[0] { kept[l] -> slot[l mod 2] }\nwait in[0]\n"                               \
    "call times(x = w.own[l], z = slot[l mod 2]) -> (y = fresh[l])\n"                              \
    "call bend(x = fresh[l]) -> (y = w.own[l])\n"                                                  \
    "start broadcast over b as out[0] { w.own[l] -> w[l] }\nwait out[0]\n"                         \
    "}\n"
#define PARTS OWNERS "call square(x = u) -> (y = moved)\ncall copy_u(x = moved) -> (y = u)\n"

static const struct mistake mistakes[] = {
    {"what the owner has is given to nobody",
     UPDATE,
     {DELETE("start broadcast over b as out[0] { w.own[l] -> w[l] }"), DELETE("wait out[0]")},
     "E511",
     NULL,
     "is new in this device's shard only"},
    {"another layer's of the same owner",
     UPDATE,
     {REPLACE("{ w.own[l] -> w[l] }\nwait out[0]",
              "{ w.own[l] -> spare[l] }\nwait out[0]\ncall copy(x = spare[0]) -> (y = w[l])")},
     "E512",
     NULL,
     "layer 0's"},
    {"a layer that nobody updates",
     UPDATE,
     {REPLACE("for l = 0 .. 4", "for l = 0 .. 3")},
     "E412",
     "for l",
     "has 3 of the 4 layers"},
    {"a layer that is updated twice",
     UPDATE,
     {REPLACE("-> (y = w.own[l])", "-> (y = w.own[l])\ncall copy(x = w.own[l]) -> (y = fresh[l])\n"
                                   "call bend(x = fresh[l]) -> (y = w.own[l])")},
     "E490",
     NULL,
     NULL},
    {"the whole is read while the owner's alone is new",
     UPDATE,
     {INSERT("call copy(x = w[l]) -> (y = spare[0])\ncall copy(x = spare[0]) -> (y = w[l])",
             "start broadcast")},
     "E511",
     "call copy",
     "only this device's shard of it is new"},
    {"a shard is read while the owner's alone is new",
     UPDATE,
     {INSERT("call weigh(x = w.flat[l], z = spare[0]) -> (y = shard)\n"
             "start all_gather over b as g[0] { shard -> whole }\nwait g[0]\n"
             "call copy(x = whole) -> (y = w[l])",
             "start broadcast")},
     "E511",
     "call weigh",
     "only this device's shard of it is new"},
    {"a result that only the owner has",
     UPDATE,
     {REPLACE("-> (y = fresh[l])", "-> (y = spare[l])"),
      REPLACE("call bend(x = fresh[l]) -> (y = w.own[l])", "call bend(x = spare[l]) -> (y = w[l])"),
      DELETE("start broadcast over b as out[0] { w.own[l] -> w[l] }"), DELETE("wait out[0]")},
     "E511",
     "call times",
     "nothing brings it to the others"},
    {"a norm of which every device has what it owns",
     UPDATE,
     {DELETE("start all_reduce over b as s[0] { squares -> squares }"), DELETE("wait s[0]")},
     "E410",
     NULL,
     NULL},
    {"a sum that all devices have, to which the owner adds",
     UPDATE,
     {REPLACE("zero squares", "zero squares\ncall norm(x = whole, sum = squares)"),
      REPLACE("zero squares", "zero whole\nzero squares\ncall copy(x = w[0]) -> (y = whole)")},
     "E511",
     "call norm",
     "nothing brings it to the others"},
    {"a norm that the owner's unit adds to beside what it makes, of which nothing is summed",
     BEND_NORM,
     {DELETE("start all_reduce over b as s[0] { squares -> squares }"), DELETE("wait s[0]")},
     "E410",
     NULL,
     NULL},
    {"a sum that the owner reads behind what it adds",
     BEND_NORM,
     {REPLACE("call bend_norm(", "call norm_scale(")},
     "E511",
     "call norm_scale",
     "nothing brings it to the others"},
    {"a sum that the owner writes, of another",
     UPDATE,
     {REPLACE("zero squares", "zero squares\nzero token_count"),
      REPLACE("call norm(x = mine[l], sum = squares)",
              "call norm_over(x = mine[l], r = token_count, sum = squares)")},
     "E511",
     "call norm_over",
     "nothing brings it to the others"},
    {"a sum of which the owner makes something else",
     UPDATE,
     {REPLACE("call norm(x = mine[l], sum = squares)",
              "call norm_root(sum = squares, x = mine[l])")},
     "E511",
     "call norm_root",
     "nothing brings it to the others"},
    {"a summand of which the owner takes what it owns",
     UPDATE,
     {INSERT("call sum(x = u) -> (y = w[l])", "call times(x = w.own[l]")},
     "E410",
     "call times",
     "is read as a part of `w`"},
    {"a summand that the owner keeps for a sum",
     REDUCE,
     {REPLACE("start reduce over b as in[0] { whole -> fresh[1] }\nwait in[0]",
              "call times(x = whole, z = mine[1]) -> (y = fresh[1])")},
     "E410",
     NULL,
     "a summand"},
    {"a sum of which the others think that it came to them",
     REDUCE,
     {REPLACE("call times(x = fresh[1], z = mine[1])", "call times(x = whole, z = mine[1])")},
     "E410",
     NULL,
     NULL},
    {"a sum that the owner reads before it has come",
     REDUCE,
     {DELETE("wait in[0]"), INSERT("wait in[0]", "start broadcast")},
     "E610",
     "call times",
     "still on its way"},
    {"a sum that goes to another owner's layer",
     REDUCE,
     {REPLACE("whole -> fresh[1]", "whole -> fresh[0]")},
     "E412",
     "call times",
     "nothing was written there"},
    {"a sum that the owner's unit reads, too",
     REDUCE,
     {REPLACE("wait in[0]",
              "wait in[0]\nzero other\n"
              "call add_product(x = fresh[1], z = mine[1], sum = other) -> (s = spare[1])\n"
              "start all_reduce over b as t[0] { other -> other }\nwait t[0]\n"
              "call copy(x = other) -> (y = w[0])")},
     "E511",
     "call add_product",
     "nothing brings it to the others"},
    {"what the owner has, added by another owner, of another layer",
     ADD_FIRST,
     {REPLACE("call add(x = mine[1]", "call add(x = mine[0]")},
     "E512",
     NULL,
     "values of different layers meet"},
    {"what the owner has, added again when the sum has come",
     ADD_FIRST,
     {INSERT("call add(x = mine[1], sum = fresh[1])", "call times")},
     "E412",
     NULL,
     "1/2 times"},
    {"what the owner has, added when the summands are on their way",
     ADD_FIRST,
     {DELETE("call add(x = mine[1], sum = whole)"),
      INSERT("call add(x = mine[1], sum = whole)", "wait in[0]")},
     "E610",
     NULL,
     NULL},
    {"a sum of all that one device adds to what it keeps",
     ADD_FIRST,
     {REPLACE("start reduce over b as in[0] { whole -> fresh[1] }\nwait in[0]",
              "zero fresh[1]\ncall add(x = whole, sum = fresh[1])")},
     "E410",
     NULL,
     NULL},
    {"what an owner has, given to all as it lies there",
     GIVE,
     {REPLACE("{ slot[l mod 2] -> whole }", "{ w.own[l] -> whole }")},
     "E511",
     NULL,
     NULL},
    {"what lies in the slot of another owner",
     GIVE,
     {REPLACE("{ slot[l mod 2] -> whole }", "{ slot[l+1 mod 2] -> whole }")},
     "E412",
     NULL,
     "nothing was written there"},
    {"what the owner made of the layer before",
     GIVE,
     {DELETE("call times(x = w.own[l], z = mine[l]) -> (y = slot[l mod 2])"),
      INSERT("call times(x = w.own[l], z = mine[l]) -> (y = slot[l mod 2])", "call copy")},
     "E412",
     NULL,
     NULL},
    {"what the owner copies in and does not wait for",
     COPY_IN,
     {DELETE("wait in[0]"), INSERT("wait in[0]", "call bend")},
     "E610",
     "call times",
     "still on its way"},
    {"what the owner copies in behind its use",
     COPY_IN,
     {DELETE("start copy as in[0] { kept[l] -> slot[l mod 2] }"), DELETE("wait in[0]"),
      INSERT("start copy as in[0] { kept[l] -> slot[l mod 2] }\nwait in[0]", "call bend")},
     "E412",
     "call times",
     NULL},
    {"a layer that no owner copies out",
     COPY_IN,
     {REPLACE("for l = 0 .. 4 { start copy as away", "for l = 0 .. 3 { start copy as away")},
     "E412",
     NULL,
     "nothing was written there"},
    {"a part that the owner keeps for all parts",
     PARTS,
     {REPLACE("-> (y = moved)", "-> (y = half[0])"),
      REPLACE("call copy_u",
              "start broadcast over b as out[0] { half[0] -> moved }\nwait out[0]\ncall copy_u")},
     "E510",
     "call square",
     "a part of every device"},
};

static void each_mistake_is_found(void **state) {
    assert_true(small_steps_are_found(mistakes, sizeof mistakes / sizeof *mistakes));
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(each_mistake_is_found)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
