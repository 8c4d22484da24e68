// The order of sums: a step that makes the same bits on every mesh, and edits of it after which it
// still computes what one device does, but not those. Each is refused where the order deviates.
// Without the rule that says so it would be accepted (tools/verifier_rules.py deletes each).
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/trial.h"

#define ROW "f32[hidden=6]"
#define SUM_OVER(axes, name)                                                                       \
    "start all_reduce over " axes " as sum." name "[0] { " name " -> " name " }\nwait sum." name   \
    "[0]\n"
#define CARRY(unit, name, number)                                                                  \
    "call " unit "(low = " name ".k[0], high = " name ".k[1], top = " name ".k[2], sum = " name    \
    ", j = microbatch[" number "])\n"
#define GRADIENT(first, more)                                                                      \
    "call " first "(x = tokens[m], t = table) -> (y = h)\n"                                        \
    "call " more "(x = tokens[m], t = table, sum = h)\n"                                           \
    "call shift(x = h) -> (y = g)\n"
#define BODY(more) GRADIENT("leaf", more) SUM_OVER("b", "g") CARRY("carry", "g", "m")
// The body for the microbatch that is `by` further.
#define SHIFTED(by)                                                                                \
    "call leaf(x = tokens[m+" by " mod 8], t = table) -> (y = h)\n"                                \
    "call more(x = tokens[m+" by " mod 8], t = table, sum = h)\n"                                  \
    "call shift(x = h) -> (y = g)\n" SUM_OVER("b", "g") CARRY("carry", "g", "m")
#define LOOP       "for m = 0 .. 8 {\n" BODY("more")
#define SQUARE(of) "call square_v(x = " of ") -> (y = s)\n"
#define SQUARE_U   "call square_u(x = u) -> (y = r)\n"
#define PLUS_V     "call plus_bins(x = s, sum = grad_norm)\n"
#define PLUS_U     "call plus_bins(x = r, sum = grad_norm)\n"
#define MIX                                                                                        \
    "call mix(n = u, z = line) -> (y = spare)\ncall three(x = w, y = u, sum = spare)\ncall "       \
    "bend(x = spare) -> (y = line)\n"
#define PLACES         "call places(t = table) -> (y = q)\n"
#define KEEP_PLACES    "call bend(x = q) -> (y = u)\n"
#define COUNT          "zero count\ncall count(x = tokens[m], sum = count)\n"
#define COUNTED(carry) COUNT SUM_OVER("b", "count") CARRY(carry, "count", "m")
#define LEAF_Q         "call leaf(x = tokens[m], t = table) -> (y = q)\n"
#define PARTS          "start reduce_scatter over a dim 0 as part[0] { q -> q.a }\nwait part[0]\n"
#define SCATTER        "start reduce_scatter over a as part[0] { q -> q.a }\nwait part[0]\n"
// In two halves, so that one may lack what the other has twice.
#define HALF  "call halve_scalar(x = count) -> (y = token_count)\n"
#define OTHER "call halve_scalar(x = count) -> (y = v)\ncall plus(x = v, sum = token_count)\n"
#define LAST  HALF OTHER

#define SQUARES "f64[flat=72]"
// `share`: what squares are summed of.
#define UNITS(batch, share)                                                                        \
    "unit main.leaf { phase forward parameter %x : i32[batch=" batch ", sequence=2]\n"             \
    "parameter %t : f32[vocab=3, hidden=6] result %y\n"                                            \
    "%r = iota() {dimension=vocab} : i32[vocab=3] inline\n"                                        \
    "%a = embedding(%x, %t, %r) : f32[batch=" batch ", sequence=2, hidden=6]\n"                    \
    "%y = sum_rows(%a) {keep=1} : " ROW " out }\n"                                                 \
    "unit main.more { phase forward parameter %x : i32[batch=" batch ", sequence=2]\n"             \
    "parameter %t : f32[vocab=3, hidden=6] parameter %sum : " ROW " result %y in %sum\n"           \
    "%r = iota() {dimension=vocab} : i32[vocab=3] inline\n"                                        \
    "%a = embedding(%x, %t, %r) : f32[batch=" batch ", sequence=2, hidden=6]\n"                    \
    "%b = mul(%a, %a) : f32[batch=" batch ", sequence=2, hidden=6]\n"                              \
    "%n = sum_rows(%b) {keep=1} : " ROW " inline\n"                                                \
    "%y = accumulate(%sum, %n) : " ROW " in %sum }\n"                                              \
    "unit main.shift { phase forward parameter %x : " ROW " result %y\n"                           \
    "%i = iota() {dimension=hidden} : i32[hidden=6] inline\n"                                      \
    "%y = move(%x, %i, %i) {shift=1, keep=0} : " ROW " out }\n"                                    \
    "unit main.halve { phase forward parameter %x : " ROW " result %y\n"                           \
    "%y = divide(%x) {divisor=2} : " ROW " out }\n"                                                \
    "unit main.bend { phase forward parameter %x : " ROW " result %y\n"                            \
    "%y = silu(%x) : " ROW " out }\n"                                                              \
    "unit main.count { phase forward parameter %x : i32[batch=" batch ", sequence=2]\n"            \
    "parameter %sum : f64[] result %y in %sum\n"                                                   \
    "%n = count_tokens(%x) : f64[]\n%y = accumulate(%sum, %n) : f64[] in %sum }\n"                 \
    "unit main.halve_scalar { phase forward parameter %x : f64[] result %y\n"                      \
    "%y = divide(%x) {divisor=2} : f64[] out }\n"                                                  \
    "unit main.square_v { phase forward parameter %x : f32[" share "] result %y\n"                 \
    "%b = iota() {dimension=flat} : i32[flat=72] inline\n"                                         \
    "%y = square_bins(%x, %b) : " SQUARES " out }\n"                                               \
    "unit main.square_u { phase forward parameter %x : f32[hidden=6] result %y\n"                  \
    "%b = iota() {dimension=flat} : i32[flat=72] inline\n"                                         \
    "%y = square_bins(%x, %b) : " SQUARES " out }\n"                                               \
    "unit main.mix { phase forward parameter %n : f32[hidden=6] parameter %z : " ROW "\n"          \
    "result %y\n%y = einsum(%n, %z) {labels=\"n,h->h\"} : " ROW " out }\n"                         \
    "unit main.norm { phase forward parameter %x : f32[hidden=6] parameter %sum : f64[]\n"         \
    "result %y in %sum\n%b = iota() {dimension=flat} : i32[flat=72] inline\n"                      \
    "%q = square_bins(%x, %b) : " SQUARES "\n%n = bin_sum(%q) : f64[]\n"                           \
    "%y = accumulate(%sum, %n) : f64[] in %sum }\n"                                                \
    "unit main.three { phase forward parameter %x : " ROW " parameter %y : " ROW "\n"              \
    "parameter %sum : " ROW " result %t in %sum\n"                                                 \
    "%z = mul(%y, %y) : " ROW "\n%s = add(%x, %y) : " ROW "\n%r = add(%s, %z) : " ROW "\n"         \
    "%d = mul(%x, %x) : " ROW "\n%v = accumulate(%sum, %d) : " ROW " in %sum\n"                    \
    "%t = mul(%v, %r) : " ROW " in %v }\n"                                                         \
    "unit main.places { phase forward parameter %t : f32[vocab=3, hidden=6] result %y\n"           \
    "%r = iota() {dimension=vocab} : i32[vocab=3] inline\n"                                        \
    "%p = iota() {dimension=sequence} : i32[sequence=2] inline\n"                                  \
    "%a = embedding(%p, %t, %r) : f32[sequence=2, hidden=6]\n"                                     \
    "%y = sum_rows(%a) {keep=1} : " ROW " out }\n"                                                 \
    "unit main.plus { phase forward parameter %x : f64[] parameter %sum : f64[]\n"                 \
    "result %y in %sum\n%y = accumulate(%sum, %x) : f64[] in %sum }\n"                             \
    "unit main.plus_bins { phase forward parameter %x : " SQUARES " parameter %sum : f64[]\n"      \
    "result %y in %sum\n%n = bin_sum(%x) : f64[]\n%y = accumulate(%sum, %n) : f64[] in %sum }\n"   \
    "unit main.join { phase forward parameter %x : " SQUARES " parameter %sum : " SQUARES "\n"     \
    "result %y in %sum\n%y = accumulate(%sum, %x) : " SQUARES " in %sum }\n"

#define COUNTER(type)                                                                              \
    "parameter %low : " type " parameter %high : " type " parameter %top : " type "\n"             \
    "parameter %sum : " type " parameter %j : f64[]\n"                                             \
    "result %l in %low result %h in %high result %o in %top result %t in %sum\n"                   \
    "%l, %s = carry(%low, %sum, %j) {level=0} : " type " in %low, " type " in %sum\n"              \
    "%h, %v = carry(%high, %s, %j) {level=1} : " type " in %high, " type " in %s\n"                \
    "%o, %t = carry(%top, %v, %j) {level=2} : " type " in %top, " type " in %v }\n"

#define HEAD(axes, microbatches)                                                                   \
    "step main {\n" axes "sizes batch = 96 sequence = 2 microbatches = " microbatches              \
    " layers = 1 vocab = 3\n"                                                                      \
    "policy parameters = f32 master = none moments = f32 gradients = f32 compute = f32\n"          \
    "  accumulate = f32 gather = f32 reduce = f32 reproducible = 4 of batch microbatch = 3\n"      \
    "arena 100000\n"                                                                               \
    "tensor table [vocab=3, hidden=6] role embedding init ones saved \"t\"\n"                      \
    "tensor w [hidden=6] role norm init ones saved \"w\"\n"                                        \
    "tensor line [hidden=6] role norm init ones saved \"l\"\n"                                     \
    "tensor still [hidden=6] role norm init ones saved \"v\"\n"                                    \
    "tensor u [hidden=6] role norm init ones saved \"u\"\n"                                        \
    "buffer table : parameters f32[vocab=3, hidden=6] of table at 1024\n"                          \
    "buffer w : parameters f32[hidden=6] of w at 2048\n"                                           \
    "buffer g : transient f32[hidden=6] at 3072\n"                                                 \
    "buffer h : transient f32[hidden=6] at 4096\n"                                                 \
    "buffer n : input f64[] host step at 29696\n"                                                  \
    "buffer spare : transient f32[hidden=6] at 19456\n"                                            \
    "buffer count : transient f64[] at 5120\n"                                                     \
    "buffer s : transient " SQUARES " at 6144\n"                                                   \
    "buffer r : transient " SQUARES " at 7168\n"                                                   \
    "buffer v : transient f64[] at 7936\n"                                                         \
    "buffer token_count : output f64[] host token_count at 8192\n"                                 \
    "buffer grad_norm : output f64[] host grad_norm at 9216\n"

static const char reference[] =
    HEAD("", "1") "buffer tokens : input i32[batch=96, sequence=2] host tokens at 10240\n"
                  "buffer line : parameters f32[hidden=6] of line at 11264\n"
                  "buffer q : transient f32[hidden=6] at 12288\n"
                  "buffer still : parameters f32[hidden=6] of still at 14336\n"
                  "buffer u : parameters f32[hidden=6] of u at 13312\n"
                  "train {\n"
                  "call leaf(x = tokens, t = table) -> (y = h)\n"
                  "call more(x = tokens, t = table, sum = h)\n"
                  "call shift(x = h) -> (y = g)\n"
                  "zero count\ncall count(x = tokens, sum = count)\n" LAST
                  "call leaf(x = tokens, t = table) -> (y = q)\n" SQUARE(
                      "q") "zero grad_norm\n" PLUS_V "call norm(x = u, sum = grad_norm)\n" PLUS_V
                           "call halve(x = g) -> (y = q)\ncall bend(x = q) -> (y = w)\n" MIX PLACES
                               KEEP_PLACES "}\n}\n" UNITS("96", "hidden=6");

static const char final[] =
    HEAD("axis a = 2\naxis b = 2\n",
         "8") "buffer tokens : input i32[batch=96/a*b, sequence=2] host tokens microbatches 8 "
              "around b at "
              "10240\n"
              "buffer line : parameters f32[hidden=6] of line at 11264\n"
              "buffer q : transient f32[hidden=6] at 12288\n"
              "buffer q.a : transient f32[hidden=6] flat/a pad 4 at 20480\n"
              "buffer q.k : transient f32[hidden=6] slots 3 at 21504\n"
              "buffer u : parameters f32[hidden=6] of u at 13312\n"
              "buffer still : parameters f32[hidden=6] of still at 23552\n"
              "buffer microbatch : input f64[] host microbatch microbatches 8 at 14336\n"
              "buffer g.k : transient f32[hidden=6] slots 3 at 15360\n"
              "buffer count.k : transient f64[] slots 3 at 17408\n"
              "train {\n" LOOP COUNTED("carry_scalar") LEAF_Q SUM_OVER("b", "q")
                  CARRY("carry", "q", "m") "}\n" SUM_OVER("a", "g") SUM_OVER("a", "count")
                      LAST SCATTER SQUARE("q.a") SUM_OVER("a", "s") SQUARE_U
    "zero grad_norm\n" PLUS_V PLUS_U PLUS_V
    "call halve(x = g) -> (y = q)\ncall bend(x = q) -> (y = w)\n" MIX PLACES KEEP_PLACES
    "}\n}\n" UNITS("3", "flat=4") "unit main.carry { phase backward\n" COUNTER(
        ROW) "unit main.carry_scalar { phase backward\n" COUNTER("f64[]");

struct deviation {
    const char *name;
    struct edit edits[9];
    const char *code, *at, *says; // NULL: accepted; anything
};

#define SHARD_OF_SHARD "buffer q.ab : transient f32[hidden=6] flat/a*b window of q.a\n"
// What one microbatch gives, in a place of its own.
#define SQUARES_UNIT(name)                                                                         \
    "unit main." name " { phase forward parameter %x : i32[batch=3, sequence=2]\n"                 \
    "parameter %t : f32[vocab=3, hidden=6] result %y\n"                                            \
    "%r = iota() {dimension=vocab} : i32[vocab=3] inline\n"                                        \
    "%a = embedding(%x, %t, %r) : f32[batch=3, sequence=2, hidden=6]\n"                            \
    "%b = mul(%a, %a) : f32[batch=3, sequence=2, hidden=6]\n"                                      \
    "%y = sum_rows(%b) {keep=1} : " ROW " out }\n"
#define OWN_UNIT(text) REPLACE("unit main.carry {", text "unit main.carry {")

// The first level of the counter of g in a unit of its own, which needs no buffer to keep; the
// others, of `sum`, in another.
#define PAIR(number) "call pair(x = g, sum = p, j = microbatch[" number "])\n"
#define REST(sum)    "call rest(first = g.k[1], next = g.k[2], sum = " sum ", j = microbatch[m])\n"
#define PAIRS(sum)                                                                                 \
    REPLACE(SUM_OVER("a", "g"), SUM_OVER("a", sum)),                                               \
        REPLACE("halve(x = g)", "halve(x = " sum ")"),                                             \
        REPLACE("buffer u :", "buffer p : transient f32[hidden=6] at 28672\nbuffer u :"),          \
        OWN_UNIT("unit main.pair { phase backward parameter %x : " ROW " parameter %sum : " ROW    \
                 "\nparameter %j : f64[] result %y in %sum\n"                                      \
                 "%y = accumulate_pair(%sum, %x, %j) : " ROW " in %sum }\n"                        \
                 "unit main.rest { phase backward parameter %first : " ROW                         \
                 " parameter %next : " ROW "\nparameter %sum : " ROW " parameter %j : f64[]\n"     \
                 "result %k in %first result %l in %next result %t in %sum\n"                      \
                 "%k, %s = carry(%first, %sum, %j) {level=1} : " ROW " in %first, " ROW            \
                 " in %sum\n%l, %t = carry(%next, %s, %j) {level=2} : " ROW " in %next, " ROW      \
                 " in %s }\n")
#define PAIRED(pair) REPLACE(CARRY("carry", "g", "m"), pair REST("p")), PAIRS("p")
// The same, kept narrower.
#define NARROW_PAIRS                                                                               \
    PAIRED("call pair(x = g, sum = o, j = microbatch[m])\ncall widen(x = o) -> (y = p)\n"),        \
        REPLACE("buffer u :", "buffer o : transient bf16[hidden=6] at 30720\nbuffer u :"),         \
        REPLACE("unit main.pair { phase backward parameter %x : " ROW " parameter %sum : " ROW,    \
                "unit main.widen { phase backward parameter %x : bf16[hidden=6] result %y\n"       \
                "%y = cast(%x) : " ROW " out }\n"                                                  \
                "unit main.pair { phase backward parameter %x : " ROW                              \
                " parameter %sum : bf16[hidden=6]"),                                               \
        REPLACE("%y = accumulate_pair(%sum, %x, %j) : " ROW,                                       \
                "%y = accumulate_pair(%sum, %x, %j) : bf16[hidden=6]")

// What the member of an axis has that owns `w`: rows, counters of these, and squares.
#define OWN_BUFFERS(axis)                                                                          \
    REPLACE("buffer u :", "buffer q.own : transient f32[hidden=6] owner/" axis " of w at 40960\n"  \
                          "buffer q.0 : transient f32[hidden=6] owner/" axis " of w at 41984\n"    \
                          "buffer q.1 : transient f32[hidden=6] owner/" axis " of w at 43008\n"    \
                          "buffer q.2 : transient f32[hidden=6] owner/" axis " of w at 44032\n"    \
                          "buffer s.own : transient " SQUARES " owner/" axis " of w at 45056\n"    \
                          "buffer u :")
#define TO_OWNER(axis) "start reduce over " axis " as in[0] { q -> q.own }\nwait in[0]\n"
#define TO_ALL(axis, own, to)                                                                      \
    "start broadcast over " axis " as out[0] { " own " -> " to " }\nwait out[0]\n"
#define CARRY_OWN "call carry(low = q.0, high = q.1, top = q.2, sum = q.own, j = microbatch[m])\n"
// Squares of what the owner has, and the norm of them.
#define OWN_SQUARES(made)                                                                          \
    OWN_BUFFERS("a"), REPLACE(SCATTER SQUARE("q.a") SUM_OVER("a", "s"), TO_OWNER("a") made)

static const struct deviation deviations[] = {
    {"none", {{0}}, NULL, NULL, NULL},

    // ---- digits
    {"microbatches around nothing",
     {REPLACE(" around b", "")},
     "E416",
     "start all_reduce over b as sum.g",
     "next come the microbatches of a device"},
    {"an inner axis behind the microbatches",
     {REPLACE(SUM_OVER("b", "g"), ""), REPLACE(SUM_OVER("a", "g"), SUM_OVER("a*b", "g"))},
     "E416",
     "%l, %s = carry(%low, %sum, %j) {level=0} : f32",
     "halves"},
    {"an outer axis before them",
     {REPLACE(SUM_OVER("b", "g"), SUM_OVER("a*b", "g")), REPLACE(SUM_OVER("a", "g"), "")},
     "E416",
     "start all_reduce over a*b as sum.g",
     "next come the microbatches"},
    {"a batch that is cut in the other order",
     {REPLACE("/a*b, sequence=2] host tokens microbatches 8 around b",
              "/b*a, sequence=2] host tokens microbatches 8 around a")},
     "E416",
     "start all_reduce over b as sum.g",
     "next come the devices of `a`"},
    {"copies that are added",
     {REPLACE("call halve(x = g)", SUM_OVER("b", "g") "call halve(x = g) -> (y = spare)\n"
                                                      "call halve(x = spare)")},
     "E416",
     "start all_reduce over b as sum.g[0] { g -> g }",
     "no sum over microbatches"},
    {"summands that go round first",
     {REPLACE(SUM_OVER("b", "g"), "start permute over b shift 1 as away[0] { g -> spare }\n"
                                  "wait away[0]\n"
                                  "start all_reduce over b as sum.g[0] { spare -> g }\n"
                                  "wait sum.g[0]\n")},
     "E416",
     "start permute over b",
     "a permute"},
    {"a sum by hand",
     {REPLACE(SUM_OVER("b", "g"),
              "call round(x = g) -> (y = spare)\ncall copy(x = spare) -> (y = g)\n"),
      OWN_UNIT("unit main.round { phase forward parameter %x : " ROW " result %y\n"
               "%f = permute(%x) {axes=b, shift=1} : " ROW "\n%n = wait(%f) : " ROW "\n"
               "%y = add(%x, %n) : " ROW " out }\n"
               "unit main.copy { phase forward parameter %x : " ROW " result %y\n"
               "%y = cast(%x) : " ROW " out }\n")},
     "E416",
     "%f = permute",
     NULL},

    // ---- time
    {"levels in the other order",
     {REPLACE("{level=0} : f32", "{level=3} : f32"), REPLACE("{level=1} : f32", "{level=0} : f32"),
      REPLACE("{level=3} : f32", "{level=1} : f32")},
     "E412",
     NULL,
     NULL},
    {"the number of another microbatch",
     {REPLACE(CARRY("carry", "g", "m"), CARRY("carry", "g", "0"))},
     "E412",
     NULL,
     NULL},
    {"a number that is none",
     {REPLACE(CARRY("carry", "g", "m"),
              "call carry(low = g.k[0], high = g.k[1], top = g.k[2], sum = g, j = v)\n"),
      REPLACE("train {\n", "train {\nzero v\ncall norm(x = u, sum = v)\n")},
     "E490",
     "%l, %s = carry(%low, %sum, %j) {level=0} : f32",
     "the number of the microbatch"},
    {"the number of the step",
     {REPLACE(CARRY("carry", "g", "m"),
              "call carry(low = g.k[0], high = g.k[1], top = g.k[2], sum = g, j = n)\n")},
     "E490",
     "%l, %s = carry(%low, %sum, %j) {level=0} : f32",
     "the number of the microbatch"},
    {"the number of a microbatch, summed",
     {REPLACE(CARRY("carry", "g", "m"),
              "start all_reduce over b as number[0] { microbatch[m] -> v }\nwait number[0]\n"
              "call carry(low = g.k[0], high = g.k[1], top = g.k[2], sum = g, j = v)\n")},
     "E413",
     "start all_reduce over b as number",
     "2 times too large"},
    {"pairs that are added in front of the counter", {PAIRED(PAIR("m"))}, NULL, NULL, NULL},
    {"pairs that are kept narrower",
     {NARROW_PAIRS},
     "E415",
     "%y = accumulate_pair(%sum, %x, %j)",
     "read in f32"},
    {"pairs of which each is the first", {PAIRED(PAIR("0"))}, "E412", NULL, NULL},
    {"pairs in front of an inner axis",
     {REPLACE(SUM_OVER("b", "g") CARRY("carry", "g", "m"),
              PAIR("m") "start all_reduce over b as sum.p[0] { p -> spare }\nwait sum.p[0]\n" REST(
                  "spare")),
      PAIRS("spare")},
     "E416",
     "%y = accumulate_pair(%sum, %x, %j)",
     "`accumulate_pair` adds what are not the two halves"},
    {"pairs by a number that is none",
     {PAIRED("call pair(x = g, sum = p, j = v)\n"),
      REPLACE("train {\n", "train {\nzero v\ncall norm(x = u, sum = v)\n")},
     "E490",
     "%y = accumulate_pair(%sum, %x, %j)",
     "the number of the microbatch"},
    {"what only the last microbatch replaces",
     {REPLACE("call halve(x = g) -> (y = q)\ncall bend(x = q)",
              "call copy(x = g) -> (y = h)\ncall copy(x = u) -> (y = spare)\n"
              "for m = 0 .. 8 {\ncall late(kept = h, sum = spare, j = microbatch[m])\n}\n"
              "call bend(x = h)"),
      OWN_UNIT("unit main.copy { phase forward parameter %x : " ROW " result %y\n"
               "%y = cast(%x) : " ROW " out }\n"
               "unit main.late { phase forward parameter %kept : " ROW " parameter %sum : " ROW "\n"
               "parameter %j : f64[] result %k in %kept result %s in %sum\n"
               "%k, %s = carry(%kept, %sum, %j) {level=3} : " ROW " in %kept, " ROW
               " in %sum }\n")},
     "E490",
     "%y = silu(%x)",
     "silu(u)"},
    {"two that are exchanged",
     {REPLACE(LOOP COUNT,
              "for m = 0 .. 1 {\n" BODY("more") "}\nfor m = 1 .. 2 {\n" SHIFTED(
                  "1") "}\nfor m = 2 .. 3 {\n" SHIFTED("7") "}\nfor m = 3 .. 8 "
                                                            "{\n" BODY("more") "}\nfor "
                                                                               "m = 0 "
                                                                               ".. 8 "
                                                                               "{"
                                                                               "\n" COUNT)},
     "E416",
     "%l, %s = carry(%low, %sum, %j) {level=0} : f",
     "halves"},
    {"the other half first",
     {REPLACE(LOOP COUNT, "for m = 0 .. 1 {\n" SHIFTED("1") "}\nfor m = 1 .. 2 {\n" SHIFTED(
                              "7") "}\nfor m = 2 .. 8 {\n" BODY("more") "}\nfor m = 0 .. 8 "
                                                                        "{\n" COUNT)},
     NULL,
     NULL,
     NULL},
    {"the last microbatch first, by their own numbers",
     {REPLACE(LOOP COUNT,
              "for m = 0 .. 8 descending {\n" BODY("more") "}\nfor m = 0 .. 8 {\n" COUNT)},
     "E412",
     NULL,
     NULL},
    {"contributions of two microbatches",
     {REPLACE("call more(x = tokens[m], t", "call more(x = tokens[m+1 mod 8], t")},
     "E416",
     "%y = accumulate(%sum, %n)",
     "only what one microbatch gives is added"},
    {"what is no sum",
     {REPLACE(LOOP, LOOP "call copy(x = u) -> (y = h)\n"
                         "call carry(low = c.k[0], high = c.k[1], top = c.k[2], sum = h, j = "
                         "microbatch[m])\n"),
      REPLACE("call mix(n = u", "call eighth(x = h) -> (y = q)\ncall mix(n = q"),
      REPLACE("buffer u :", "buffer c.k : transient f32[hidden=6] slots 3 at 28672\nbuffer u :"),
      OWN_UNIT("unit main.copy { phase forward parameter %x : " ROW " result %y\n"
               "%y = cast(%x) : " ROW " out }\n"
               "unit main.eighth { phase forward parameter %x : " ROW " result %y\n"
               "%y = divide(%x) {divisor=8} : " ROW " out }\n")},
     "E416",
     "%l, %s = carry(%low, %sum, %j) {level=0} : f",
     "halves"},
    {"microbatches that are counted from the second",
     {REPLACE_ALL("tokens[m]", "tokens[m+1 mod 8]")},
     "E416",
     "%l, %s = carry(%low, %sum, %j) {level=0} : f",
     "halves"},
    {"halves that are computed in two ways",
     {REPLACE(LOOP "zero", "for m = 0 .. 2 {\n" BODY("more") "}\nfor m = 2 .. 8 {\n" BODY(
                               "separate") "}\nfor m = 0 .. 8 {\nzero"),
      OWN_UNIT("unit main.separate { phase forward parameter %x : i32[batch=3, sequence=2]\n"
               "parameter %t : f32[vocab=3, hidden=6] parameter %sum : " ROW " result %y in %sum\n"
               "%r = iota() {dimension=vocab} : i32[vocab=3] inline\n"
               "%a = embedding(%x, %t, %r) : f32[batch=3, sequence=2, hidden=6]\n"
               "%b = mul(%a, %a) : f32[batch=3, sequence=2, hidden=6]\n"
               "%n = sum_rows(%b) {keep=1} : " ROW "\n"
               "%y = accumulate(%sum, %n) : " ROW " in %sum }\n")},
     "E416",
     "%h, %v = carry(%high, %s, %j) {level=1} : f32",
     "halves"},
    {"halves that overlap, and others with a gap between them",
     {REPLACE(COUNTED("carry_scalar"), ""),
      REPLACE(SUM_OVER("a", "count") LAST,
              "for m = 0 .. 2 {\n" COUNTED("elsewhere") "}\nfor m = 1 .. 8 {\n" COUNTED(
                  "carry_scalar") "}\n" SUM_OVER("a", "count") HALF
              "for m = 0 .. 1 {\n" COUNTED("elsewhere") "}\nfor m = 2 .. 8 {\n" COUNTED(
                  "carry_scalar") "}\n" SUM_OVER("a", "count") OTHER),
      OWN_UNIT("unit main.elsewhere { phase backward\n"
               "parameter %low : f64[] parameter %high : f64[] parameter %top : f64[]\n"
               "parameter %sum : f64[] parameter %j : f64[]\n"
               "result %h in %high result %l in %low result %t in %sum\n"
               "%h, %s = carry(%high, %sum, %j) {level=0} : f64[] in %high, f64[] in %sum\n"
               "%l, %t = carry(%low, %s, %j) {level=1} : f64[] in %low, f64[] in %s }\n")},
     "E416",
     "%l, %s = carry(%low, %sum, %j) {level=0} : f64",
     "halves"},
    {"one after the other",
     {REPLACE("train {\n", "train {\nzero spare\n"),
      REPLACE(CARRY("carry", "g", "m"), "call add(x = g, sum = spare)\n"),
      REPLACE(SUM_OVER("a", "g"), SUM_OVER("a", "spare")),
      REPLACE("halve(x = g)", "halve(x = spare)"),
      OWN_UNIT("unit main.add { phase forward parameter %x : " ROW " parameter %sum : " ROW "\n"
               "result %y in %sum\n%y = accumulate(%sum, %x) : " ROW " in %sum }\n")},
     "E416",
     "%y = accumulate(%sum, %x)",
     "only what one microbatch gives is added"},

    // ---- what microbatches give
    {"onto zeros",
     {REPLACE("call leaf(x = tokens[m], t = table) -> (y = h)",
              "zero h\ncall onto(x = tokens[m], t = table, sum = h)"),
      OWN_UNIT("unit main.onto { phase forward parameter %x : i32[batch=3, sequence=2]\n"
               "parameter %t : f32[vocab=3, hidden=6] parameter %sum : " ROW " result %y in %sum\n"
               "%r = iota() {dimension=vocab} : i32[vocab=3] inline\n"
               "%a = embedding(%x, %t, %r) : f32[batch=3, sequence=2, hidden=6]\n"
               "%n = sum_rows(%a) {keep=1} : " ROW " inline\n"
               "%y = accumulate(%sum, %n) : " ROW " in %sum }\n")},
     "E416",
     "%y = accumulate(%sum, %n)",
     NULL},
    {"zeros onto it",
     {REPLACE("call shift(x = h) -> (y = g)", "zero spare\ncall add(x = spare, sum = h)\n"
                                              "call shift(x = h) -> (y = g)"),
      OWN_UNIT("unit main.add { phase forward parameter %x : " ROW " parameter %sum : " ROW "\n"
               "result %y in %sum\n%y = accumulate(%sum, %x) : " ROW " in %sum }\n")},
     "E416",
     "%y = accumulate(%sum, %x)",
     NULL},
    {"other brackets",
     {REPLACE("%s = add(%x, %y) : " ROW "\n%r = add(%s, %z)",
              "%s = add(%y, %z) : " ROW "\n%r = add(%x, %s)")},
     "E416",
     "%s = add(%y, %z)",
     "one device"},
    {"a kernel's result in a place of its own",
     {REPLACE(" inline\n%y = accumulate(%sum, %n) : " ROW, "\n%y = accumulate(%sum, %n) : " ROW)},
     "E416",
     "%y = accumulate(%sum, %n)",
     "this is add("},
    {"two contributions that are exchanged",
     {REPLACE(GRADIENT("leaf", "more"), GRADIENT("squares", "onto")),
      OWN_UNIT("unit main.onto { phase forward parameter %x : i32[batch=3, sequence=2]\n"
               "parameter %t : f32[vocab=3, hidden=6] parameter %sum : " ROW " result %y in %sum\n"
               "%r = iota() {dimension=vocab} : i32[vocab=3] inline\n"
               "%a = embedding(%x, %t, %r) : f32[batch=3, sequence=2, hidden=6]\n"
               "%n = sum_rows(%a) {keep=1} : " ROW " inline\n"
               "%y = accumulate(%sum, %n) : " ROW " in %sum }\n" SQUARES_UNIT("squares"))},
     "E416",
     "%y = accumulate(%sum, %n)",
     "one device"},
    {"elements that are moved behind the sum",
     {REPLACE("call shift(x = h) -> (y = g)\n", ""),
      REPLACE("leaf(x = tokens[m], t = table) -> (y = h)",
              "leaf(x = tokens[m], t = table) -> (y = g)"),
      REPLACE("more(x = tokens[m], t = table, sum = h)", "more(x = tokens[m], t = table, sum = g)"),
      REPLACE("call halve(x = g)", "call shift(x = g) -> (y = h)\ncall halve(x = h)")},
     "E416",
     "%y = move(%x, %i, %i)",
     "before any are summed"},
    {"a tensor that is halved before the sum",
     {REPLACE("call shift(x = h) -> (y = g)", "call halve(x = h) -> (y = spare)\n"
                                              "call shift(x = spare) -> (y = g)"),
      REPLACE("call halve(x = g) -> (y = q)\ncall bend(x = q)", "call bend(x = g)")},
     "E416",
     "%y = divide(%x) {divisor=2} : f32",
     "come first"},
    {"a tensor that is halved between two of its sums",
     {REPLACE(SUM_OVER("a", "g"), "call halve(x = g) -> (y = spare)\n" SUM_OVER("a", "spare")),
      REPLACE("call halve(x = g) -> (y = q)\ncall bend(x = q)", "call bend(x = spare)")},
     "E416",
     "%y = divide(%x) {divisor=2} : f32",
     "the devices of `a` come first"},
    {"a scalar that is halved before it",
     {REPLACE(COUNT SUM_OVER("b", "count"), COUNT
              "call halve_scalar(x = count) -> (y = token_count)\n" SUM_OVER("b", "token_count")),
      REPLACE("top = count.k[2], sum = count,", "top = count.k[2], sum = token_count,"),
      REPLACE(SUM_OVER("a", "count") LAST,
              SUM_OVER("a", "token_count") "zero v\ncall plus(x = token_count, sum = v)\n"
                                           "call plus(x = v, sum = token_count)\n")},
     "E416",
     "%y = divide(%x) {divisor=2} : f64",
     "come first"},
    {"two sums that are added when all are summed",
     {REPLACE("call more(x = tokens[m], t = table, sum = h)\n", ""),
      REPLACE("call halve(x = g)",
              "for m = 0 .. 8 {\ncall none(x = tokens[m], t = table) -> (y = h)\n"
              "call shift(x = h) -> (y = spare)\n" SUM_OVER(
                  "b",
                  "spare") "call carry(low = g.k[0], high = g.k[1], top = g.k[2], sum = spare, j = "
                           "microbatch[m])\n}\n" SUM_OVER("a", "spare") "call add(x = spare, sum "
                                                                        "= g)\ncall halve(x = g)"),
      OWN_UNIT("unit main.add { phase forward parameter %x : " ROW " parameter %sum : " ROW "\n"
               "result %y in %sum\n%y = accumulate(%sum, %x) : " ROW
               " in %sum }\n" SQUARES_UNIT("none"))},
     "E416",
     "%y = accumulate(%sum, %x)",
     "only what one microbatch gives is added"},
    {"a detour by a wider type",
     {REPLACE("%y = sum_rows(%a) {keep=1} : " ROW " out",
              "%c = sum_rows(%a) {keep=1} : " ROW "\n%d = cast(%c) : f64[hidden=6]\n"
              "%y = cast(%d) : " ROW " out")},
     NULL,
     NULL,
     NULL},
    {"sums of the wider type",
     {REPLACE("%y = sum_rows(%a) {keep=1} : " ROW " out",
              "%c = sum_rows(%a) {keep=1} : f64[hidden=6]\n%y = cast(%c) : " ROW " out")},
     "E416",
     "%y = cast(%c)",
     NULL},

    // ---- shapes
    {"a tensor that is cut along a dimension",
     {REPLACE("f32[hidden=6] of still", "f32[hidden=6/b] of still")},
     NULL,
     NULL,
     NULL},
    {"a batch in zigzag",
     {REPLACE("batch=96/a*b,", "batch=96/a*b zigzag b,")},
     "E416",
     "tokens : input",
     "in zigzag"},
    {"gradients that may travel as codes",
     {REPLACE("microbatch = 3\n", "microbatch = 3\n  wire over b way = topk kept = 1\n")},
     "E416",
     "parameters = f32 master",
     "as codes"},
    {"a wider tensor",
     {REPLACE("f32[hidden=6] of still", "f64[hidden=6] of still")},
     "E416",
     "still : parameters",
     "is kept in f64"},
    {"a batch of three parts",
     {REPLACE("axis a = 2", "axis a = 3"), REPLACE("microbatch = 3", "microbatch = 2"),
      REPLACE_ALL("batch=3,", "batch=2,"), REPLACE_ALL("flat=4", "flat=2"),
      REPLACE("pad 4 at", "at")},
     "E416",
     "tokens : input",
     "no power of two"},
    {"several microbatches at a time",
     {REPLACE("96/a*b, sequence=2] host tokens microbatches 8 around b",
              "96/a, sequence=2] host tokens microbatches 8"),
      REPLACE_ALL("batch=3,", "batch=6,"), REPLACE(SUM_OVER("b", "g"), ""),
      REPLACE(SUM_OVER("b", "q"), ""), REPLACE(SUM_OVER("b", "count"), "")},
     "E416",
     "tokens : input",
     "where a microbatch has 3"},
    {"a slice and a gather",
     {REPLACE("%a = embedding(%x, %t, %r)",
              "%p = slice(%t) {axes=b, dim=1} : f32[vocab=3, hidden=3]\n"
              "%f = all_gather(%p) {axes=b, dim=1} : f32[vocab=3, hidden=6]\n"
              "%q = wait(%f) : f32[vocab=3, hidden=6]\n%a = embedding(%x, %q, %r)")},
     NULL,
     NULL,
     NULL},
    {"positions of a part",
     {REPLACE(PLACES, PLACES SUM_OVER("b", "q")),
      REPLACE("%p = iota() {dimension=sequence} : i32[sequence=2]",
              "%p = iota() {dimension=sequence, axes=b} : i32[sequence=1]"),
      REPLACE("%t, %r) : f32[sequence=2, hidden=6]", "%t, %r) : f32[sequence=1, hidden=6]")},
     "E416",
     "%y = sum_rows(%a)",
     "a part of `a` along `sequence`, cut over `b`, which cuts the batch, too"},
    {"sequences of a microbatch, cut another way",
     {REPLACE(
         "%y = sum_rows(%a) {keep=1}",
         "%f = all_to_all(%a) {axes=b, dim=1, concat_dim=0} : f32[batch=6, sequence=1, hidden=6]\n"
         "%q = wait(%f) : f32[batch=6, sequence=1, hidden=6]\n%y = sum_rows(%q) {keep=1}")},
     "E416",
     "%y = sum_rows(%q)",
     "a part of `q` along `batch`, which is not one microbatch"},
    {"microbatches of devices, gathered",
     {REPLACE(LEAF_Q SUM_OVER("b", "q"), "call both(x = tokens[m], t = table) -> (y = q)\n"),
      OWN_UNIT("unit main.both { phase forward parameter %x : i32[batch=3, sequence=2]\n"
               "parameter %t : f32[vocab=3, hidden=6] result %y\n"
               "%r = iota() {dimension=vocab} : i32[vocab=3] inline\n"
               "%a = embedding(%x, %t, %r) : f32[batch=3, sequence=2, hidden=6]\n"
               "%f = all_gather(%a) {axes=b, dim=0} : f32[batch=6, sequence=2, hidden=6]\n"
               "%q = wait(%f) : f32[batch=6, sequence=2, hidden=6]\n"
               "%y = sum_rows(%q) {keep=1} : " ROW " out }\n")},
     "E416",
     "%y = sum_rows(%q)",
     "a part of `q` along `batch`, which is not one microbatch"},

    // ---- owners
    {"carried where the owner keeps it",
     {OWN_BUFFERS("b"), REPLACE(SUM_OVER("b", "q") CARRY("carry", "q", "m") "}\n",
                                TO_OWNER("b") CARRY_OWN "}\n" TO_ALL("b", "q.own", "q"))},
     NULL,
     NULL,
     NULL},
    {"added to what the owner has, and then summed over devices",
     {OWN_BUFFERS("b"), REPLACE("for m = 0 .. 8 {\n", "zero q.own\nfor m = 0 .. 8 {\n"),
      REPLACE(SUM_OVER("b", "q") CARRY("carry", "q", "m") "}\n",
              "call add_row(x = q.own, sum = q)\n" TO_OWNER("b") "}\n" TO_ALL("b", "q.own", "q")),
      OWN_UNIT("unit main.add_row { phase backward parameter %x : " ROW " parameter %sum : " ROW
               "\nresult %y in %sum\n%y = accumulate(%sum, %x) : " ROW " in %sum }\n")},
     "E416",
     "%y = accumulate(%sum, %x) : " ROW,
     "only what one microbatch gives is added before microbatches are summed"},
    {"carried by the owner before others' summands have come",
     {OWN_BUFFERS("b"),
      REPLACE(SUM_OVER("b", "q") CARRY("carry", "q", "m") "}\n",
              CARRY("carry", "q", "m") "}\n" TO_OWNER("b") TO_ALL("b", "q.own", "q"))},
     "E416",
     "%l, %s = carry(",
     NULL},

    // ---- squares
    {"in shards that are not padded",
     {REPLACE("pad 4 at", "at"), REPLACE("f32[flat=4]", "f32[flat=3]")},
     NULL,
     NULL,
     NULL},
    {"in shards of shards",
     {REPLACE("f32[flat=4]", "f32[flat=2]"), REPLACE("buffer u :", SHARD_OF_SHARD "buffer u :"),
      REPLACE("x = q.a", "x = q.ab"), REPLACE(SUM_OVER("a", "s"), SUM_OVER("a*b", "s"))},
     NULL,
     NULL,
     NULL},
    {"in the other order",
     {REPLACE("f32[flat=4]", "f32[flat=2]"), REPLACE("buffer u :", SHARD_OF_SHARD "buffer u :"),
      REPLACE("x = q.a", "x = q.ab"), REPLACE(SUM_OVER("a", "s"), SUM_OVER("b*a", "s"))},
     NULL,
     NULL,
     NULL},
    {"one axis after the other",
     {REPLACE("f32[flat=4]", "f32[flat=2]"), REPLACE("buffer u :", SHARD_OF_SHARD "buffer u :"),
      REPLACE("x = q.a", "x = q.ab"),
      REPLACE(SUM_OVER("a", "s"), SUM_OVER("a", "s") SUM_OVER("b", "s"))},
     NULL,
     NULL,
     NULL},
    {"taken out of the bins before their collective",
     {REPLACE(SUM_OVER("a", "s") SQUARE_U "zero grad_norm\n" PLUS_V PLUS_U PLUS_V,
              SQUARE_U "zero grad_norm\n" PLUS_V PLUS_V SUM_OVER("a", "grad_norm") PLUS_U)},
     "E416",
     "%n = bin_sum(%x)",
     "the devices of `a` come first"},
    {"added to others before their collective",
     {REPLACE(SUM_OVER("a", "s") SQUARE_U "zero grad_norm\n" PLUS_V PLUS_U PLUS_V,
              "call square_v(x = q.a) -> (y = r)\ncall join(x = r, sum = s)\n" SUM_OVER("a", "s")
                  SQUARE_U "zero grad_norm\n" PLUS_V PLUS_U)},
     "E416",
     "%y = accumulate(%sum, %x) : f64[flat",
     "which is a device's part of a sum here: the devices of `a` come first"},
    {"added in an order of the same bits",
     {REPLACE(PLUS_V PLUS_U, PLUS_U PLUS_V)},
     NULL,
     NULL,
     NULL},
    {"added in another order",
     {REPLACE(PLUS_V PLUS_U PLUS_V, PLUS_V PLUS_V PLUS_U)},
     "E416",
     "%y = accumulate(%sum, %n) : f64",
     "one device"},
    {"of parts along a dimension",
     {REPLACE(SCATTER, PARTS), REPLACE_ALL("f32[hidden=6] flat/a pad 4", "f32[hidden=6/a]"),
      REPLACE_ALL("f32[flat=4]", "f32[hidden=3]")},
     NULL,
     NULL,
     NULL},
    {"made by an owner",
     {OWN_SQUARES("call square_u(x = q.own) -> (y = s.own)\n" TO_ALL("a", "s.own", "s"))},
     NULL,
     NULL,
     NULL},
    {"made by an owner, to which others add nothing",
     {OWN_SQUARES("call square_u(x = q.own) -> (y = s.own)\n"
                  "zero s\ncall join(x = s.own, sum = s)\n" SUM_OVER("a", "s"))},
     "E416",
     "start all_reduce over a as sum.s",
     "adds what is no sum over microbatches"},
    {"added to a norm by an owner",
     {OWN_SQUARES(""),
      REPLACE("zero grad_norm\n" PLUS_V PLUS_U PLUS_V,
              "zero grad_norm\ncall norm(x = q.own, sum = grad_norm)\n" SUM_OVER("a", "grad_norm")
                  PLUS_U "call square_u(x = q.own) -> (y = s.own)\n" TO_ALL("a", "s.own", "s")
                      PLUS_V)},
     "E416",
     "start all_reduce over a as sum.grad_norm",
     "adds what is no sum over microbatches"},
    {"of another sum than of squares",
     {REPLACE("%n : f32[hidden=6] parameter %z", "%n : f32[flat=3] parameter %z"),
      REPLACE("n = u, z", "n = u.a, z"),
      REPLACE("buffer still", "buffer u.a : parameters f32[hidden=6] flat/a of u window of u\n"
                              "buffer still"),
      REPLACE("z = line) -> (y = spare)\n", "z = line) -> (y = spare)\n" SUM_OVER("a", "spare"))},
     "E416",
     "%y = einsum(%n, %z)",
     "parts of a tensor"},
};

static bool is_judged_right(const char *one_device, const struct deviation *d) {
    struct trial t = {0};
    t.diagnostics = diagnostics_new(&t.arena, &t.sources);
    trial_read(&t, one_device);
    t.reference = t.program;
    trial_read(&t, program_edit(&t.arena, final, d->edits));
    trial_judge(&t);
    struct expected_verdict expected = {d->code, d->at, d->says};
    return trial_end(&t, trial_is_as_expected(&t, expected), d->name, expected);
}

static void another_order_is_refused(void **state) {
    unsigned n_failed = 0;
    for (size_t i = 0; i < sizeof deviations / sizeof *deviations; i++)
        n_failed += !is_judged_right(reference, &deviations[i]);
    assert_int_equal(n_failed, 0);
}

// ---- rounding ---------------------------------------------------------------------------------

#define BEND            "%y = silu(%x) : " ROW " out"
#define BEND_BY(ops)    REPLACE(BEND, ops "%y = silu(%c) : " ROW " out")
#define BEND_ROUNDED    BEND_BY("%n = cast(%x) : bf16[hidden=6]\n%c = cast(%n) : " ROW "\n")
#define BENT(type)      "%s = silu(%x) : " type "[hidden=6]\n"
#define BEND_TWICE(ops) BEND_BY(ops "%n = cast(%s) : bf16[hidden=6]\n%c = cast(%n) : " ROW "\n")
#define LEAF            "%y = sum_rows(%a) {keep=1} : " ROW " out"
#define LEAF_OF(type, rounded)                                                                     \
    REPLACE(LEAF, "%s = sum_rows(%a) {keep=1} : " type "[hidden=6]\n" rounded                      \
                  "%y = cast(%n) : " ROW " out")
#define SQUARES_ROUNDED(share)                                                                     \
    REPLACE("%y = square_bins(%x, %b)",                                                            \
            "%n = cast(%x) : bf16[" share "]\n%c = cast(%n) : f32[" share                          \
            "]\n%y = square_bins(%c, %b)")

// A parameter in bf16 with a master copy, and a state that is made of it.
#define MASTER(turned)                                                                             \
    REPLACE("parameters = f32 master = none", "parameters = bf16 master = f32"),                   \
        REPLACE("tensor u", "tensor x [hidden=6] role norm init ones saved \"x\"\n"                \
                            "tensor z [hidden=6] role norm init ones saved \"z\"\ntensor u"),      \
        REPLACE("buffer n :", "buffer x : parameters bf16[hidden=6] of x at 30720\n"               \
                              "buffer x.master : master f32[hidden=6] of x at 31744\n"             \
                              "buffer x.made : transient bf16[hidden=6] at 32768\n"                \
                              "buffer z : parameters f32[hidden=6] of z at 33792\nbuffer n :"),    \
        REPLACE("call halve(x = g)",                                                               \
                turned "call turn(p = x.master) -> (c = x)\ncall halve(x = g)"),                   \
        REPLACE("unit main.bend {",                                                                \
                "unit main.turn { phase update parameter %p : " ROW " result %q in %p result %c\n" \
                "%q = mul(%p, %p) : " ROW " in %p\n%c = cast(%q) : bf16[hidden=6] out }\n"         \
                "unit main.make { phase update parameter %p : " ROW " result %c\n"                 \
                "%c = cast(%p) : bf16[hidden=6] out }\n"                                           \
                "unit main.read { phase update parameter %x : bf16[hidden=6] result %y\n"          \
                "%y = silu(%x) : " ROW " out }\nunit main.bend {")
#define READ(of) "call read(x = " of ") -> (y = z)\n"

// One device rounds, too.
static const struct {
    struct edit one_device[6];
    struct deviation of;
} roundings[] = {
    {{BEND_ROUNDED}, {"what is whole, rounded", {BEND_ROUNDED}, NULL, NULL, NULL}},
    {{BEND_ROUNDED},
     {"more digits than one device has",
      {REPLACE(BEND, BEND)},
      "E416",
      "%y = silu(%x)",
      "which one device does not compute"}},
    {{BEND_TWICE(BENT("bf16"))},
     {"rounded once, when it is made or behind", {BEND_TWICE(BENT("f32"))}, NULL, NULL, NULL}},
    {{BEND_TWICE(BENT("f32"))},
     {"computed in more digits",
      {BEND_TWICE("%w = cast(%x) : f64[hidden=6]\n%s = silu(%w) : f64[hidden=6]\n")},
      "E416",
      "%s = silu(%w)",
      NULL}},
    {{MASTER(READ("x"))},
     {"a parameter made of its master copy",
      {MASTER("call make(p = x.master) -> (c = x.made)\n" READ("x.made"))},
      NULL,
      NULL,
      NULL}},
    {{SQUARES_ROUNDED("hidden=6")},
     {"part by part", {SQUARES_ROUNDED("flat=4")}, NULL, NULL, NULL}},
    {{LEAF_OF("f32", "%n = cast(%s) : bf16[hidden=6]\n")},
     {"what is to be summed, rounded",
      {LEAF_OF("f32", "%n = cast(%s) : bf16[hidden=6]\n")},
      "E416",
      "%n = cast(%s)",
      "rounds to bf16 what is"}},
    {{LEAF_OF("bf16", "%n = cast(%s) : " ROW "\n"),
      REPLACE("%n = sum_rows(%b) {keep=1} : " ROW, "%n = sum_rows(%b) {keep=1} : bf16[hidden=6]"),
      REPLACE("%y = move(%x, %i, %i) {shift=1, keep=0} : " ROW,
              "%m = move(%x, %i, %i) {shift=1, keep=0} : bf16[hidden=6]\n%y = cast(%m) : " ROW)},
     {"what is to be summed, rounded by who passes it on",
      {NARROW_PAIRS},
      "E416",
      "%y = accumulate_pair(%sum, %x, %j)",
      "rounds to bf16 what is"}},
    {{LEAF_OF("bf16", "%n = cast(%s) : " ROW "\n")},
     {"what is to be summed, rounded when it is made",
      {LEAF_OF("bf16", "%n = cast(%s) : " ROW "\n")},
      "E416",
      "%s = sum_rows(%a)",
      "rounds to bf16 what is"}},
};

static void rounding_is_an_op(void **state) {
    unsigned n_failed = 0;
    struct arena arena = {0};
    for (size_t i = 0; i < sizeof roundings / sizeof *roundings; i++)
        n_failed += !is_judged_right(program_edit(&arena, reference, roundings[i].one_device),
                                     &roundings[i].of);
    arena_free(&arena);
    assert_int_equal(n_failed, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(another_order_is_refused),
                                       cmocka_unit_test(rounding_is_an_op)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
