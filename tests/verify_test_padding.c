// A sum over a flat shard of a state adds its padding too: zeros, if the host began with zeros there and every
// step leaves them. Three elements lie in two parts of two.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/verify_small_step.h"

#define SUM                                                                                        \
    "start all_reduce over b as s[0] { squares -> squares }\nwait s[0]\n"                          \
    "call root(x = squares) -> (y = grad_norm)\n"
#define BUFFERS                                                                                    \
    "buffer fresh : transient f32[vocab=3] flat/b at 28672\n"                                      \
    "buffer gone : transient f32[vocab=3] pad 2 at 29696\n"                                        \
    "buffer gone.b : transient f32[vocab=3] flat/b window of gone\n"
// A state that lies in shards.
#define SHARDS                                                                                     \
    BUFFERS "buffer pad : parameters f32[vocab=3] flat/b of short at 27648\n"                      \
            "train {\nzero squares\n"                                                              \
            "start all_gather over b as g[0] { pad -> gone }\nwait g[0]\n"                         \
            "call norm_part(x = pad, sum = squares)\n"                                             \
            "call keep(x = pad) -> (y = fresh)\n"                                                  \
            "call keep(x = fresh) -> (y = pad)\n" SUM
// One of which nothing is summed.
#define UNSUMMED                                                                                   \
    BUFFERS "buffer pad : parameters f32[vocab=3] flat/b of short at 27648\n"                      \
            "train {\n"                                                                            \
            "start all_gather over b as g[0] { pad -> gone }\nwait g[0]\n"                         \
            "call keep(x = pad) -> (y = fresh)\n"                                                  \
            "call keep(x = fresh) -> (y = pad)\n"
// One that is whole, of which each device updates a shard.
#define WHOLE                                                                                      \
    BUFFERS "buffer all : parameters f32[vocab=3] of short pad 2 at 27648\n"                       \
            "buffer own : parameters f32[vocab=3] flat/b of short window of all\n"                 \
            "train {\nzero squares\n"                                                              \
            "start all_gather over b as g[0] { own -> gone }\nwait g[0]\n"                         \
            "call norm_part(x = own, sum = squares)\n"                                             \
            "call keep(x = own) -> (y = fresh)\n"                                                  \
            "call keep(x = fresh) -> (y = own)\n"                                                  \
            "start all_gather over b as h[0] { own -> all }\nwait h[0]\n" SUM

static const struct mistake mistakes[] = {
    {"the shard of a whole behind whose elements anything is",
     SHARDS,
     {REPLACE("call keep(x = pad) -> (y = fresh)", "call keep(x = gone.b) -> (y = fresh)")},
     "E510",
     "pad : parameters",
     "something else than zeros in its padding"},
    {"it is summed itself",
     SHARDS,
     {REPLACE("norm_part(x = pad", "norm_part(x = gone.b")},
     "E412",
     NULL,
     "not known to be zeros"},
    {"nothing is summed",
     UNSUMMED,
     {REPLACE("call keep(x = pad) -> (y = fresh)", "call keep(x = gone.b) -> (y = fresh)")},
     NULL,
     NULL,
     NULL},
    {"it is written to a part of a whole",
     WHOLE,
     {REPLACE("call keep(x = own) -> (y = fresh)", "call keep(x = gone.b) -> (y = fresh)")},
     "E510",
     "all : parameters",
     "something else than zeros in its padding"},
    {"a whole arrives from elsewhere, and parts are written to it",
     WHOLE,
     {REPLACE("call keep(x = fresh) -> (y = own)",
              "start permute over b shift 1 as q[0] { gone -> all }\nwait q[0]\n"
              "call keep(x = fresh) -> (y = own)")},
     "E510",
     "all : parameters",
     "something else than zeros in its padding"},
    {"a whole arrives from elsewhere",
     WHOLE,
     {REPLACE("{ own -> all }", "{ fresh -> all }")},
     "E510",
     "all : parameters",
     "something else than zeros in its padding"},
};

static void mistakes_are_found(void **state) {
    assert_true(small_steps_are_found(mistakes, sizeof mistakes / sizeof *mistakes));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mistakes_are_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
