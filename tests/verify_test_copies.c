// Copies between tiers in steps of a few statements: what they bring, and when; and that bytes of
// different tiers are not the same, whatever their offsets.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/verify_small_step.h"

#define ELSEWHERE                                                                                  \
    "buffer kept : transient f32[hidden=4] slots 4 on host at 0\n"                                 \
    "buffer beside : transient f32[hidden=4] on host at 512\n"                                     \
    "buffer far : transient f32[hidden=4] slots 4 on disk at 2048\n"                               \
    "train {\n"
#define OUT_AND_IN                                                                                 \
    ELSEWHERE "call bend(x = w[0]) -> (y = spare[0])\n"                                            \
              "start copy as out[0] { spare[0] -> kept[0] }\nwait out[0]\n"                        \
              "call copy(x = w[1]) -> (y = spare[0])\n"                                            \
              "start copy as in[0] { kept[0] -> spare[1] }\nwait in[0]\n"                          \
              "call times(x = spare[0], z = spare[1]) -> (y = w[1])\n"
#define BY_DISK                                                                                    \
    ELSEWHERE "start copy as out[0] { w[0] -> far[0], w[1] -> far[1] }\nwait out[0]\n"             \
              "start copy as up[0] { far[0] -> kept[0] }\nwait up[0]\n"                            \
              "start copy as in[0] { kept[0] -> spare[0], far[1] -> spare[1] }\nwait in[0]\n"      \
              "call times(x = spare[0], z = spare[1]) -> (y = w[0])\n"
#define IN_LOOP                                                                                    \
    ELSEWHERE "for i = 0 .. 4 { start copy as out[i mod 4] { w[i] -> kept[i] } }\n"                \
              "for i = 0 .. 4 { wait out[i mod 4] }\n"                                             \
              "for i = 0 .. 1 { start copy as in[i mod 2] { kept[i] -> spare[i mod 2] } }\n"       \
              "for i = 0 .. 3 {\n"                                                                 \
              "start copy as in[i+1 mod 2] { kept[i+1] -> spare[i+1 mod 2] }\n"                    \
              "wait in[i mod 2]\ncall bend(x = spare[i mod 2]) -> (y = w[i])\n}\n"                 \
              "wait in[1]\ncall bend(x = spare[1]) -> (y = w[3])\n"
#define ON_HOST                                                                                    \
    ELSEWHERE "start copy as out[0] { w[0] -> kept[0] }\nwait out[0]\n"                            \
              "call bend(x = kept[0]) -> (y = beside)\n"                                           \
              "start copy as in[0] { beside -> w[0] }\nwait in[0]\n"

#define ADDED_THERE                                                                                \
    ELSEWHERE "zero kept[0]\n"                                                                     \
              "call bend(x = w[0]) -> (y = spare[0])\n"                                            \
              "start copy as out[0] { spare[0] -> beside }\nwait out[0]\n"                         \
              "call add(x = beside, sum = kept[0])\n"                                              \
              "call copy(x = w[1]) -> (y = spare[1])\n"                                            \
              "start copy as out[1] { spare[1] -> beside }\nwait out[1]\n"                         \
              "call add(x = beside, sum = kept[0])\n"                                              \
              "start copy as in[0] { kept[0] -> w[0] }\nwait in[0]\n"

static const struct mistake mistakes[] = {
    {"a copy that is dropped",
     OUT_AND_IN,
     {DELETE("start copy as in[0] { kept[0] -> spare[1] }"), DELETE("wait in[0]")},
     "E611",
     "call times",
     "nothing was written there"},
    {"a copy that nothing waits for",
     OUT_AND_IN,
     {DELETE("wait in[0]")},
     "E610",
     "call times",
     "still on its way"},
    {"a wait for what is not copied",
     OUT_AND_IN,
     {DELETE("start copy as in[0] { kept[0] -> spare[1] }")},
     "E612",
     "wait in[0]",
     "nothing is on its way"},
    {"a copy that is done twice at once",
     OUT_AND_IN,
     {DOUBLE("start copy as in[0] { kept[0] -> spare[1] }")},
     "E612",
     NULL,
     "started again"},
    {"a copy from the wrong slot",
     OUT_AND_IN,
     {REPLACE("{ kept[0] -> spare[1] }", "{ kept[1] -> spare[1] }")},
     "E611",
     "start copy as in",
     "nothing was written there"},
    {"a copy in the other direction",
     OUT_AND_IN,
     {REPLACE("{ kept[0] -> spare[1] }", "{ spare[0] -> kept[0] }")},
     "E611",
     "call times",
     "nothing was written there"},
    {"a copy out before its source is made",
     OUT_AND_IN,
     {DELETE("call bend(x = w[0]) -> (y = spare[0])"),
      INSERT("call bend(x = w[0]) -> (y = spare[0])", "call copy(x = w[1])")},
     "E611",
     "start copy as out",
     "nothing was written there"},
    {"a source that is overwritten while it is copied",
     OUT_AND_IN,
     {DELETE("wait out[0]"), INSERT("wait out[0]", "start copy as in")},
     "E610",
     NULL,
     "still reads"},
    {"a target that is read while it is filled",
     BY_DISK,
     {DELETE("wait up[0]"), INSERT("wait up[0]", "call times")},
     "E610",
     NULL,
     NULL},
    {"another layer's by way of the disk",
     BY_DISK,
     {REPLACE("far[1] -> spare[1]", "far[0] -> spare[1]")},
     "E512",
     "start copy as in",
     "different layers"},
    {"a piece that reads what another of the same copy fills",
     BY_DISK,
     {REPLACE("w[1] -> far[1]", "w[1] -> far[0]")},
     "E610",
     "start copy as out",
     "of which one is filled"},
    {"another layer's ahead of its use",
     IN_LOOP,
     {REPLACE("{ kept[i+1] -> spare[i+1 mod 2] }", "{ kept[i] -> spare[i+1 mod 2] }")},
     "E512",
     NULL,
     NULL},
    {"too few slots for what comes ahead",
     IN_LOOP,
     {REPLACE("{ kept[i+1] -> spare[i+1 mod 2] }", "{ kept[i+1] -> spare[i mod 2] }")},
     "E610",
     NULL,
     NULL},
    {"a unit on the host that reads what has not come",
     ON_HOST,
     {DELETE("wait out[0]"), INSERT("wait out[0]", "start copy as in")},
     "E610",
     NULL,
     NULL},
    {"a unit on the host that writes what goes",
     ON_HOST,
     {REPLACE("beside -> w[0] }\nwait in[0]",
              "beside -> w[0] }\ncall copy(x = kept[0]) -> (y = beside)\nwait in[0]")},
     "E610",
     NULL,
     "still reads"},

    // What is added where it is kept.
    {"what is added twice",
     ADDED_THERE,
     {DOUBLE("call add(x = beside, sum = kept[0])")},
     "E413",
     NULL,
     "2 times too large"},
    {"what is never added",
     ADDED_THERE,
     {DELETE("call add(x = beside, sum = kept[0])")},
     "E511",
     NULL,
     NULL},
    {"what is added before it has come",
     ADDED_THERE,
     {DELETE("wait out[0]"), INSERT("wait out[0]", "call copy(x = w[1])")},
     "E610",
     "call add",
     "still on its way"},
    {"the next in a place that has not been added",
     ADDED_THERE,
     {DELETE("call add(x = beside, sum = kept[0])"),
      INSERT("call add(x = beside, sum = kept[0])", "start copy as in")},
     "E413",
     NULL,
     NULL},
    {"a sum that goes before the last is added",
     ADDED_THERE,
     {DELETE("start copy as in[0] { kept[0] -> w[0] }"),
      INSERT("start copy as in[0] { kept[0] -> w[0] }", "call copy(x = w[1])")},
     "E610",
     NULL,
     NULL},
    {"a sum that does not begin as zero",
     ADDED_THERE,
     {DELETE("zero kept[0]")},
     "E611",
     "call add",
     "nothing was written there"},

    // Bytes.
    {"one offset in every tier",
     OUT_AND_IN,
     {REPLACE("slots 4 on host at 0", "slots 4 on host at 1024"),
      REPLACE("slots 4 on disk at 2048", "slots 4 on disk at 1024")},
     NULL,
     NULL,
     NULL},
    {"two buffers of the host in one place",
     ELSEWHERE "start copy as out[0] { w[0] -> kept[0] }\nwait out[0]\n"
               "start copy as out[0] { w[1] -> beside }\nwait out[0]\n"
               "start copy as in[0] { kept[0] -> spare[0], beside -> spare[1] }\nwait in[0]\n"
               "call times(x = spare[0], z = spare[1]) -> (y = w[0])\n",
     {REPLACE("on host at 512", "on host at 0")},
     "E611",
     NULL,
     NULL},
};

static void each_mistake_is_found(void **state) {
    assert_true(small_steps_are_found(mistakes, sizeof mistakes / sizeof *mistakes));
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(each_mistake_is_found)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
