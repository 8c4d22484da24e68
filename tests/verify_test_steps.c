// Steps of a few statements, each with one mistake: the step as it should be is accepted, and is
// the reference; the edited one is refused as what it is, at its place. Without the rule that says
// so it would be accepted, or refused as something else (tools/verifier_rules.py deletes each).
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/small_step.h"

#define GATHER_V                                                                                   \
    "start all_gather over b as gather[0] { v -> whole }\n"                                        \
    "wait gather[0]\ncall copy(x = whole) -> (y = w[0])\n"
#define COUNT                                                                                      \
    "zero token_count\n"                                                                           \
    "for m = 0 .. 8 { call count(x = targets[m], sum = token_count) }\n"                           \
    "start all_reduce over a as sum[0] { token_count -> token_count }\nwait sum[0]\n"
#define MOVE_SPARE "start permute over b shift 1 as away[0] { spare[0] -> other }\nwait away[0]\n"
#define NORM       "zero grad_norm\ncall norm(x = whole, sum = grad_norm)\n"
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
#define EVALUATE  "}\nevaluate {\ncall bend(x = w[0]) -> (y = spare[0])\n"
#define RING      "call ring(q = q, k = k) -> (o = next)\ncall copy_q(x = next) -> (y = q)\n"
#define RING_TYPES                                                                                 \
    "  f32[batch=1, sequence=2, heads=1, group=1, head_dim=2],\n"                                  \
    "  f32[batch=1, sequence=2, heads=1, group=1]\n"
#define WHOLE_QUERIES                                                                              \
    REPLACE_ALL("sequence=4/a, heads", "sequence=4, heads"),                                       \
        REPLACE_ALL("sequence=2, heads", "sequence=4, heads"),                                     \
        REPLACE("%p = iota() {dimension=sequence, axes=a} : i32[sequence=2]",                      \
                "%p = iota() {dimension=sequence} : i32[sequence=4]")

// A norm of what is made of a matrix, and of what each device has of it flat.
#define NORM_OF_FACE(unit)                                                                         \
    "buffer face.b : parameters f32[ffn=4, heads=4] flat/b of face window of face\ntrain {\n"      \
    "zero grad_norm\ncall " unit "(x = face, sum = grad_norm)\n"
#define FLAT_FACE(unit, op, type)                                                                  \
    REPLACE("x = face,", "x = face.b,"),                                                           \
        REPLACE("unit main." unit " { phase forward parameter %x : f32[ffn=4, heads=4]",           \
                "unit main." unit " { phase forward parameter %x : f32[flat=8]"),                  \
        REPLACE("%s = " op " : " type "\n%n = square_sum(%s) : f64[]",                             \
                "%s = " op " : f32[flat=8]\n%own = square_sum(%s) : f64[]\n"                       \
                "%all = all_reduce(%own) {axes=b} : f64[]\n%n = wait(%all) : f64[]")

// Layers in several buffers.
#define LAYERS_OF_W "buffer w : parameters f32[hidden=4] of w layers 4 at 1024"
#define IN_RANGES                                                                                  \
    REPLACE(LAYERS_OF_W, "buffer w.low : parameters f32[hidden=4] of w layers 2 at 1024\n"         \
                         "buffer w.high : parameters f32[hidden=4] of w layers 2 from 2 at 1056")
#define IN_TURNS                                                                                   \
    REPLACE(LAYERS_OF_W,                                                                           \
            "buffer w.even : parameters f32[hidden=4] of w layers 2 by 2 at 1024\n"                \
            "buffer w.odd : parameters f32[hidden=4] of w layers 2 from 1 by 2 at 1056")
#define THROUGH_SPARE(layers, to)                                                                  \
    "for i = 0 .. " #layers " { call copy(x = " to "[i]) -> (y = spare[i]) }\n"                    \
    "for i = 0 .. " #layers " { call copy(x = spare[i]) -> (y = " to "[i]) }\n"
#define BEND_LAST "call bend(x = w[3]) -> (y = other)\ncall copy(x = other) -> (y = w[3])\n"

#define DISTRIBUTED                                                                                \
    REPLACE("%y = einsum(%t, %s) {labels=\"h,h->h\"} : " ROW " out",                               \
            "%a = einsum(%x, %s) {labels=\"h,h->h\"} : " ROW "\n"                                  \
            "%b = einsum(%s, %s) {labels=\"h,h->h\"} : " ROW "\n%y = add(%a, %b) : " ROW " out")
// A sum over microbatches, or over some of them, of a whole or of two parts that make it.
#define SUM_ROWS(from, to, unit, place)                                                            \
    "for m = " #from " .. " #to " { call " unit                                                    \
    "(t = table, x = targets[m], z = w[1], sum = " place ") }\n"
#define SUMMED                                                                                     \
    "start all_reduce over a as sum[0] { spare[0] -> spare[0] }\nwait sum[0]\n"                    \
    "call copy(x = spare[0]) -> (y = w[0])\n"
#define ALL_ROWS "zero spare[0]\n" SUM_ROWS(0, 8, "rows", "spare[0]")
#define PARTS    "zero spare[0]\nzero spare[1]\n"
#define JOINED   "call add(x = spare[1], sum = spare[0])\n"
// What codes lack is kept; whether anybody reads them does not matter.
#define SEND_Q                                                                                     \
    "buffer q.slope : gradients f32[batch=1, sequence=4/a, heads=1, group=1, head_dim=2]\n"        \
    "  of q at 27648\n"                                                                            \
    "buffer q.lost : residual f32[batch=1, sequence=4/a, heads=1, group=1, head_dim=2]\n"          \
    "  of q at 28672\n"                                                                            \
    "buffer q.code : transient i32[flat=2] at 29696\n"                                             \
    "train {\ncall ring(q = q, k = k) -> (o = next)\n"                                             \
    "call send_q(g = next, u = u, r = q.lost) -> (y = q.slope, code = q.code)\n"
#define SHORT_SUMMED                                                                               \
    "buffer short.whole : transient f32[vocab=3] at 27648\n"                                       \
    "buffer short.slope : transient f32[vocab=3] flat/a of short at 28672\n"                       \
    "train {\nzero token_count\n"                                                                  \
    "call slope(t = table, u = u) -> (y = short.whole)\n"                                          \
    "start all_reduce over b as slope[0] { short.whole -> short.whole }\nwait slope[0]\n"
#define WIDE_NORM                                                                                  \
    "buffer wide : transient f32[hidden=4] pad 8 at 27648\n"                                       \
    "buffer wide.b : transient f32[hidden=4] flat/b window of wide\n"                              \
    "buffer wide.ba : transient f32[hidden=4] flat/b*a window of wide\n"                           \
    "train {\ncall copy(x = w[0]) -> (y = wide)\nzero grad_norm\n"                                 \
    "call norm(x = wide, sum = grad_norm)\n"
#define NORM_IN_PARTS(size)                                                                        \
    REPLACE("call norm(x = wide, sum = grad_norm)",                                                \
            "start reduce_scatter over a as cut[0] { wide.b -> wide.ba }\nwait cut[0]\n"           \
            "call norm(x = wide.ba, sum = grad_norm)\n"                                            \
            "start all_reduce over b*a as sum[0] { grad_norm -> grad_norm }\nwait sum[0]"),        \
        REPLACE("unit main.norm { phase forward parameter %x : " ROW,                              \
                "unit main.norm { phase forward parameter %x : f32[flat=" size "]"),               \
        REPLACE("%n = square_sum(%x)",                                                             \
                "%h = divide(%x) {divisor=2} : f32[flat=" size "]\n%n = square_sum(%h)")
#define SEND_SHORT                                                                                 \
    "buffer short.whole : transient f32[vocab=3] at 27648\n"                                       \
    "buffer short.slope : gradients f32[vocab=3] flat/a of short at 28672\n"                       \
    "buffer short.lost : residual f32[vocab=3] flat/a of short at 29696\n"                         \
    "buffer short.code : transient i32[flat=2] at 30720\n"                                         \
    "train {\n"                                                                                    \
    "call slope(t = table, u = u) -> (y = short.whole)\n"                                          \
    "start reduce_scatter over a as cut[0] { short.whole -> short.slope }\nwait cut[0]\n"          \
    "call send(g = short.slope, r = short.lost) -> (code = short.code)\n"

static const struct mistake mistakes[] = {
    // What the next step finds.
    {"parts that are left with another device",
     "start permute over b shift 1 as away[0] { u -> moved }\nwait away[0]\n"
     "start permute over b shift 1 as back[0] { moved -> u }\nwait back[0]\n",
     {REPLACE("shift 1 as back", "shift 0 as back")},
     "E510",
     "u : parameters",
     "begins the step as"},
    {"the first layer's parameters in all layers",
     THROUGH_SPARE(4, "w"),
     {REPLACE("x = spare[i]", "x = spare[0]")},
     "E512",
     "w : parameters",
     "layer 1 ends the step as"},
    {"an update of the last layer that is left out",
     BEND_LAST,
     {DELETE("call copy(x = other)")},
     "E511",
     "w : parameters",
     "layer 3 ends the step as it began it"},
    {"a layer whose bytes another buffer has",
     "call copy(x = w[0]) -> (y = other)\n",
     {REPLACE("other : transient f32[hidden=4] at 14336",
              "other : transient f32[hidden=4] at 1056")},
     "E611",
     NULL,
     "`w` of layer 2 is lost"},
    {"parameters that are freed",
     "free other\n",
     {REPLACE("free other", "free w[0]")},
     "E611",
     "free w",
     NULL},
    {"layers in two ranges, of which each has a buffer",
     BEND_LAST,
     {IN_RANGES, REPLACE("x = w[3]", "x = w.high[1]"), REPLACE("y = w[3]", "y = w.high[1]")},
     NULL,
     NULL,
     NULL},
    {"an update of a range's last layer that is left out",
     BEND_LAST,
     {IN_RANGES, REPLACE("x = w[3]", "x = w.high[1]"), DELETE("call copy(x = other)")},
     "E511",
     "w.high : parameters",
     "layer 3 ends the step as it began it"},
    {"layers that take turns between two buffers",
     "",
     {IN_TURNS, REPLACE("train {", "train {\n" THROUGH_SPARE(2, "w.even"))},
     NULL,
     NULL,
     NULL},
    {"the parameters of one layer in the turn of the next",
     "",
     {IN_TURNS, REPLACE("train {", "train {\n" THROUGH_SPARE(2, "w.even")),
      INSERT("call copy(x = w.odd[0]) -> (y = spare[1])", "for i = 0 .. 2 { call copy(x = spare")},
     "E512",
     "w.even : parameters",
     "layer 2 ends the step as"},
    {"copies that are merged in another order on every device",
     RING,
     {WHOLE_QUERIES},
     "E513",
     "q : parameters",
     NULL},
    {"an attention to the keys of one device only",
     RING,
     {REPLACE("%o, %lse = attention_merge(",
              "%o = cast(%o.0) : f32[batch=1, sequence=2, heads=1, group=1, head_dim=2] out\n"
              "%all, %lse = attention_merge(")},
     "E412",
     "q : parameters",
     "lacks keys"},
    {"parts of an attention, weighed by the sums of another",
     RING,
     {REPLACE("%o.0, %lse.0 = attention(%q, %k, %k, %p, %at)",
              "%w.0, %lse.0 = attention(%q, %k, %k, %p, %at) {scale=0.25} :\n" RING_TYPES
              "%o.0, %m.0 = attention(%q, %k, %k, %p, %at)"),
      REPLACE("%o.1, %lse.1 = attention(%q, %k.1, %k.1, %p, %at.1)",
              "%w.1, %lse.1 = attention(%q, %k.1, %k.1, %p, %at.1) {scale=0.25} :\n" RING_TYPES
              "%o.1, %m.1 = attention(%q, %k.1, %k.1, %p, %at.1)")},
     "E490",
     "%w.0, %lse.0 = attention",
     "is given {scale=0.25}"},
    {"the greatest of every device's own part",
     "call greatest(x = cube) -> (y = face)\n",
     {REPLACE("%y = wait(%all)", "%rest = wait(%all) : f32[ffn=4, heads=4]\n%y = cast(%own)")},
     "E410",
     "face : parameters",
     "the greatest"},
    {"all microbatches but one",
     COUNT,
     {REPLACE("m = 0 .. 8", "m = 0 .. 7")},
     "E412",
     "for m = 0 .. 7 {",
     "each of the 8 microbatches"},
    {"the sum of every device's own microbatches",
     COUNT,
     {DELETE("start all_reduce over a"), DELETE("wait sum[0]")},
     "E410",
     "token_count : output",
     "still a summand"},
    {"an output that nothing holds",
     COUNT,
     {REPLACE("host token_count", "")},
     "E514",
     "train {",
     "nothing holds the output"},
    {"targets that nobody writes",
     COUNT,
     {REPLACE("host targets", "")},
     "E514",
     "targets : input",
     "nobody writes"},
    {"a parameter that nothing holds",
     "",
     {REPLACE("line : parameters", "line : transient")},
     "E514",
     "train {",
     "nothing holds"},
    {"a layer that nothing holds",
     "",
     {REPLACE("of w layers 4", "of w layers 3")},
     "E514",
     "train {",
     "nothing holds parameter `w` of layer 3"},
    {"a layer that nothing holds, between those of every other",
     "",
     {IN_TURNS, REPLACE("w layers 2 from 1 by 2", "w layers 1 from 3")},
     "E514",
     "train {",
     "nothing holds parameter `w` of layer 1"},
    {"a master copy beside parameters",
     "",
     {REPLACE("train {", "buffer line.master : master f32[hidden=4/b] of line at 27648\ntrain {")},
     NULL,
     NULL,
     NULL},
    {"no evaluation", EVALUATE, {REPLACE(EVALUATE, "")}, "E514", NULL, "there is no step"},
    {"an evaluation where there should be none",
     "",
     {REPLACE("train {", "train {" EVALUATE)},
     "E514",
     "evaluate {",
     "has no step"},
    {"an evaluation that trains",
     EVALUATE,
     {{EDIT_REPLACE, "x = w[0]) -> (y = spare[0])", "x = w[0]) -> (y = w[1])", 0, 0}},
     "E490",
     NULL,
     NULL},
    {"a moment that the training has not",
     "",
     {REPLACE("train {", "buffer m : moment1 f32[hidden=4] of w layers 4 at 15360\ntrain {")},
     "E514",
     "m : moment1",
     NULL},
    {"a larger model", "", {REPLACE_ALL("hidden=4", "hidden=8")}, "E514", "w : parameters", NULL},
    {"a state of other dimensions",
     "",
     {REPLACE("line : parameters f32[hidden=4/b]", "line : parameters f32[ffn=4/b]")},
     "E514",
     "line : parameters",
     "no state of the model's training"},
    {"a state of fewer dimensions",
     "",
     {REPLACE("line : parameters f32[hidden=4/b]", "line : parameters f32[]")},
     "E514",
     "line : parameters",
     "no state of the model's training"},
    {"a layer that the model has not",
     "",
     {REPLACE("norm layers 4", "norm layers 7"),
      REPLACE("train {", "buffer x : parameters f32[hidden=4] of w layers 1 from 6 at 15360\n"
                         "train {")},
     "E514",
     "x : parameters",
     NULL},
    {"more targets than there are",
     "",
     {REPLACE("i32[batch=16/a", "i32[batch=32/a")},
     "E514",
     "targets : input",
     NULL},
    {"an input that the training has not",
     "",
     {REPLACE("train {", "buffer key : input f64[] host step at 27648\ntrain {")},
     "E514",
     "key : input",
     "not what the training on one device reads"},
    {"an output that the training has not",
     "",
     {REPLACE("train {", "buffer rate : output f64[] host learning_rate at 27648\ntrain {\n"
                         "zero rate")},
     "E514",
     "rate : output",
     "not what the training on one device reports"},
    {"targets that are freed when nothing reads them any more",
     "free spare[0]\n",
     {REPLACE("free spare[0]", "free targets[0]")},
     NULL,
     NULL,
     NULL},

    // Types as declared.
    {"narrow parameters",
     "",
     {REPLACE("parameters = f32", "parameters = f64")},
     "E415",
     "w : parameters",
     NULL},
    {"parameters in whole numbers",
     "",
     {REPLACE("line : parameters f32", "line : parameters i32")},
     "E415",
     "line : parameters",
     "kept in i32"},
    {"a narrow product",
     "call times(x = w[0], z = w[1]) -> (y = w[2])\n",
     {REPLACE("compute = f32", "compute = f64")},
     "E415",
     "%y = einsum",
     NULL},
    {"a narrow sum",
     "call add(x = w[0], sum = w[1])\n",
     {REPLACE("accumulate = f32", "accumulate = f64")},
     "E415",
     "%y = accumulate",
     NULL},
    {"a narrow gather",
     GATHER_V,
     {REPLACE("gather = f32", "gather = f64")},
     "E415",
     "start all_gather",
     NULL},
    {"a narrow reduction",
     "start all_reduce over a as sum[0] { w[0] -> w[0] }\nwait sum[0]\n",
     {REPLACE("reduce = f32", "reduce = f64")},
     "E415",
     "start all_reduce",
     NULL},
    {"a cast to what is narrow everywhere",
     "call copy(x = w[0]) -> (y = w[1])\n",
     {REPLACE("compute = f32", "compute = f64"), REPLACE("gather = f32", "gather = f64")},
     "E415",
     "%y = cast",
     NULL},

    // Ops.
    {"a part of an attention passed on over several axes",
     RING,
     {WHOLE_QUERIES,
      REPLACE("%o, %lse = attention_merge(%o.0,",
              "%far.sent = permute(%o.0) {axes=a*b, shift=1} :\n"
              "  f32[batch=1, sequence=4, heads=1, group=1, head_dim=2]\n"
              "%far = wait(%far.sent) : f32[batch=1, sequence=4, heads=1, group=1, head_dim=2]\n"
              "%o, %lse = attention_merge(%far,")},
     "E412",
     "%far.sent = permute",
     "over several axes"},
    {"a product of rows with rows of the same part only",
     "call square(x = u) -> (y = moved)\ncall copy_u(x = moved) -> (y = u)\n",
     {REPLACE("mul(%x, %x) : f32[ffn", "einsum(%x, %x) {labels=\"fh,gh->gh\"} : f32[ffn")},
     "E510",
     "%y = einsum",
     "pairs parts"},
    {"a diagonal of blocks",
     "call flatten(x = cube) -> (y = line)\n",
     {REPLACE("[ffn=4, heads=4, hidden=4/b]", "[ffn=4/b, heads=4/b, hidden=4/b]"),
      REPLACE("[ffn=4, heads=4, hidden=2]", "[ffn=2, heads=2, hidden=2]")},
     "E510",
     "%y = sum_rows",
     "pairs parts"},
    {"a diagonal of blocks of two dimensions",
     "call flatten(x = cube) -> (y = line)\n",
     {REPLACE("[ffn=4, heads=4, hidden=4/b]", "[ffn=4/b, heads=4/b, hidden=4]"),
      REPLACE("[ffn=4, heads=4, hidden=2]", "[ffn=2, heads=2, hidden=4]"),
      REPLACE("%y = sum_rows(%x) {keep=1} : f32[hidden=2]",
              "%y = sum_rows(%x) {keep=1} : f32[hidden=4]"),
      REPLACE("f32[hidden=4/b] of line", "f32[hidden=4] of line")},
     "E510",
     "%y = sum_rows",
     "pairs parts"},
    {"what is no sum, of zeros",
     "call copy(x = w[0]) -> (y = spare[0])\ncall bend(x = spare[0]) -> (y = w[1])\n",
     {REPLACE("call copy(x = w[0]) -> (y = spare[0])", "zero spare[0]")},
     "E490",
     "%y = silu",
     "made of zeros"},
    {"a matrix whose rows lie in flat shards",
     "call weigh(x = v, z = w[0]) -> (y = part.b)\ncall keep(x = part.b) -> (y = v)\n",
     {REPLACE("%y = mul(%x, %x) : f32[flat=2] out",
              "%m = einsum(%x, %z) {labels=\"x,h->xh\"} : f32[flat=2, hidden=4]\n"
              "%y = einsum(%m, %z) {labels=\"xh,h->x\"} : f32[flat=2] out")},
     "E490",
     "%m = einsum",
     "flat shards"},
    {"sums over rows of flat shards, in which no rows are left",
     NORM_OF_FACE("columns"),
     {FLAT_FACE("columns", "sum_rows(%x) {keep=1}", "f32[heads=4]")},
     "E510",
     "%s = sum_rows",
     "needs the dimensions of `x`"},
    {"squares of flat shards, element by element",
     NORM_OF_FACE("squares"),
     {FLAT_FACE("squares", "mul(%x, %x)", "f32[ffn=4, heads=4]")},
     NULL,
     NULL,
     NULL},

    {"a product of two microbatches",
     "zero grad_norm\n"
     "for m = 0 .. 8 { call pair(t = table, x = targets[m], z = targets[m], sum = grad_norm) }\n"
     "start all_reduce over a as sum[0] { grad_norm -> grad_norm }\nwait sum[0]\n",
     {REPLACE("z = targets[m]", "z = targets[0]")},
     "E512",
     "call pair(",
     "different microbatches"},
    {"the root of a sum over some microbatches",
     COUNT "call root(x = token_count) -> (y = grad_norm)\n",
     {REPLACE("m = 0 .. 8", "m = 0 .. 7")},
     "E412",
     "for m = 0 .. 7 {",
     "each of the 8 microbatches"},
    {"through whole numbers",
     "call bend(x = w[0]) -> (y = w[1])\n",
     {REPLACE("%y = silu(%x)", "%i = cast(%x) : i32[hidden=4]\n%f = cast(%i) : " ROW "\n"
                               "%y = silu(%f)")},
     "E415",
     "%i = cast",
     NULL},
    {"read inside a unit before it is waited for",
     "call total(x = w[0]) -> (y = w[1])\n",
     {REPLACE("%y = wait(%s) : " ROW " out", "%y = cast(%s) : " ROW " out\n"
                                             "%t = wait(%s) : " ROW)},
     "E610",
     "%y = cast",
     NULL},
    {"never waited for inside a unit",
     "call total(x = w[0]) -> (y = w[1])\n",
     {REPLACE("%y = wait(%s)", "%y = cast(%x)")},
     "E612",
     "%s = all_reduce",
     NULL},

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

    // Positions.
    {"rows counted by a dimension of as many",
     ALL_ROWS SUMMED,
     {REPLACE_ALL("iota() {dimension=vocab} : i32[vocab=3]",
                  "iota() {dimension=ffn} : i32[ffn=3]")},
     NULL,
     NULL,
     NULL},
    {"rows counted on, from one device to the next",
     ALL_ROWS SUMMED,
     {REPLACE_ALL("iota() {dimension=vocab} : i32[vocab=3]",
                  "iota() {dimension=ffn, axes=a} : i32[ffn=3]")},
     "E510",
     NULL,
     NULL},
    {"rows that nobody has counted",
     ALL_ROWS SUMMED,
     {REPLACE("train {", "buffer none : transient i32[vocab=3] at 27648\ntrain {\nzero none"),
      REPLACE_ALL("z = w[1],", "z = w[1], at = none,"),
      REPLACE_ALL("parameter %z : " ROW " parameter %sum : " ROW,
                  "parameter %z : " ROW " parameter %at : i32[vocab=3] parameter %sum : " ROW),
      REPLACE_ALL("embedding(%x, %t, %r) : " ROWS "\n%b = mul",
                  "embedding(%x, %t, %at) : " ROWS "\n%b = mul")},
     "E512",
     "%a = embedding",
     "needs the positions of its rows"},

    // What combines otherwise than a sum.
    {"exponentials of padding",
     SHORT_SUMMED "call exps(x = short.whole, c = token_count) -> (y = grad_norm)\n",
     {REPLACE("call exps(x = short.whole, c = token_count) -> (y = grad_norm)",
              "start reduce_scatter over a as cut[0] { short.whole -> short.slope }\nwait cut[0]\n"
              "call exps(x = short.slope, c = token_count) -> (y = grad_norm)\n"
              "start all_reduce over a as sum[0] { grad_norm -> grad_norm }\nwait sum[0]"),
      REPLACE("%x : f32[vocab=3] parameter %c", "%x : f32[flat=2] parameter %c"),
      REPLACE("%w = cast(%x) : f64[vocab=3]",
              "%h = divide(%x) {divisor=2} : f32[flat=2]\n%w = cast(%h) : f64[flat=2]")},
     "E412",
     "%y = sum_exp",
     NULL},
    {"parts cut inside their own part", WIDE_NORM, {NORM_IN_PARTS("1")}, NULL, NULL, NULL},
    {"parts cut inside their own part, and put further on",
     WIDE_NORM,
     {NORM_IN_PARTS("2"), REPLACE("flat/b*a window of wide", "flat/b*a pad 2 window of wide")},
     "E610",
     "start reduce_scatter",
     "`wide` and `wide` share bytes"},
    {"the sum of every microbatch's greatest",
     "buffer all : input i32[batch=16, sequence=2] host tokens at 27648\ntrain {\n"
     "call most(t = table, x = all) -> (y = spare[0])\ncall copy(x = spare[0]) -> (y = w[0])\n",
     {REPLACE("host tokens at", "host tokens microbatches 8 at"),
      REPLACE("call most(t = table, x = all) -> (y = spare[0])",
              "zero spare[0]\n"
              "for m = 0 .. 8 { call most(t = table, x = all[m], sum = spare[0]) }"),
      REPLACE_ALL("batch=16, sequence=2] result %y",
                  "batch=2, sequence=2] parameter %sum : " ROW " result %y in %sum"),
      REPLACE_ALL("[hidden=4, batch=16]", "[hidden=4, batch=2]"),
      REPLACE("[batch=16, sequence=2, hidden=4]", "[batch=2, sequence=2, hidden=4]"),
      REPLACE("%y = row_max(%h) : " ROW " out",
              "%n = row_max(%h) : " ROW "\n%y = accumulate(%sum, %n) : " ROW " in %sum")},
     "E412",
     "%n = row_max",
     NULL},

    // Gradients that travel compressed.
    {"a residual of what has no gradient",
     "",
     {REPLACE("train {", "buffer x : residual f32[hidden=4] of line at 15360\ntrain {")},
     "E516",
     "x : residual",
     "of no gradient"},
    {"residuals that are merged in another order on every device",
     SEND_Q,
     {WHOLE_QUERIES},
     "E516",
     "q.lost : residual",
     NULL},
    {"signs of padding",
     SEND_SHORT,
     {REPLACE("topk kept = 1", "sign"), REPLACE_ALL("\"topk\", kept=1", "\"sign\"")},
     "E516",
     "short.lost : residual",
     NULL},

    // Written differently.
    {"a product of a sum as the sum of two products",
     "call joint(x = w[3]) -> (y = w[0])\n",
     {DISTRIBUTED},
     NULL,
     NULL,
     NULL},
    {"the same over microbatches",
     ALL_ROWS SUMMED,
     {REPLACE(ALL_ROWS, PARTS SUM_ROWS(0, 8, "rows.a", "spare[0]")
                            SUM_ROWS(0, 8, "rows.b", "spare[1]") JOINED)},
     NULL,
     NULL,
     NULL},
    {"of one product without the first microbatch",
     ALL_ROWS SUMMED,
     {REPLACE(ALL_ROWS, PARTS SUM_ROWS(0, 7, "rows.a", "spare[0]") SUM_ROWS(
                            1, 7, "rows.b", "spare[1]") JOINED SUM_ROWS(7, 8, "rows", "spare[0]"))},
     "E490",
     "%n = einsum(%a",
     NULL},
    {"of one product without the last microbatch",
     ALL_ROWS SUMMED,
     {REPLACE(ALL_ROWS, PARTS SUM_ROWS(1, 8, "rows.a", "spare[0]") SUM_ROWS(
                            1, 7, "rows.b", "spare[1]") JOINED SUM_ROWS(0, 1, "rows", "spare[0]"))},
     "E490",
     "%n = einsum(%a",
     NULL},

    // As what another call made.
    {"scaled by what is of the first layer only",
     "for l = 0 .. 2 { call gain(x = w[l], z = w[l]) -> (y = spare[l]) }\n"
     "call copy(x = spare[1]) -> (y = w[2])\n",
     {REPLACE("z = w[l]", "z = w[0]")},
     "E413",
     NULL,
     NULL},

    {"a bias for each of fewer rows",
     "call biased(t = table, f = face, x = w[1]) -> (y = w[0])\n",
     {REPLACE("%b = add_bias(%g, %x) : f32[ffn=4, hidden=4]",
              "%b = add_bias(%t, %x) : f32[vocab=3, hidden=4]"),
      REPLACE("%r = sum_rows(%t)", "%r = sum_rows(%g)")},
     "E490",
     NULL,
     NULL},
    {"fewer rows of zeros",
     "call level(t = table, f = face, x = w[1]) -> (y = w[0])\n",
     {REPLACE("%p = put(%g, %i) {index=0, keep=1} : f32[ffn=4, part=2, hidden=4]",
              "%p = put(%t, %i) {index=0, keep=1} : f32[vocab=3, part=2, hidden=4]"),
      REPLACE("%z = take(%p, %i) {index=1, keep=1} : f32[ffn=4, hidden=4]",
              "%z = take(%p, %i) {index=1, keep=1} : f32[vocab=3, hidden=4]"),
      REPLACE("{eps=0.5} : f32[ffn=4, hidden=4], f32[ffn=4], f32[ffn=4]",
              "{eps=0.5} : f32[vocab=3, hidden=4], f32[vocab=3], f32[vocab=3]")},
     "E490",
     NULL,
     NULL},
    // As what the reference has of one layer only.
    {"of another layer, in a loop",
     "call joint(x = w[3]) -> (y = w[0])\n",
     {DISTRIBUTED, REPLACE("call joint(x = w[3]) -> (y = w[0])",
                           "for i = 1 .. 4 descending { call joint(x = w[i]) -> (y = w[0]) }")},
     "E490",
     "%a = einsum",
     "w[3]"},
    {"of another layer, one after the other",
     "call joint(x = w[3]) -> (y = w[0])\n",
     {DISTRIBUTED,
      REPLACE("call joint(x = w[3]) -> (y = w[0])",
              "call joint(x = w[3]) -> (y = w[0]) call joint(x = w[2]) -> (y = w[0])")},
     "E490",
     "%a = einsum",
     "w[2]"},

    // Numbers.
    {"too many iterations to follow one by one",
     "for i = 0 .. 100 { call copy(x = w[0]) -> (y = many[i mod 67]) }\n",
     {REPLACE("i = 0 .. 100 ", "i = 0 .. 1000000 ")},
     "E491",
     "for i = 0",
     "no invariant"},
    {"a loop beyond what is counted",
     "for i = 0 .. 2 { call copy(x = w[0]) -> (y = spare[0]) }\n",
     {REPLACE("i = 0 .. 2", "i = 2000000 .. 2000002")},
     "E491",
     NULL,
     "beyond"},
};

static void each_mistake_is_found(void **state) {
    unsigned n_failed = 0;
    for (size_t i = 0; i < sizeof mistakes / sizeof *mistakes; i++)
        n_failed += !small_step_is_found(&mistakes[i]);
    assert_int_equal(n_failed, 0);
}

// What no text can say, but a program that is made in another way.
static void expect_refused(struct trial *t, enum diagnostic_code code) {
    struct program *made = t->program;
    trial_read(t, t->text);
    t->reference = t->program;
    t->program = made;
    trial_judge(t);
    assert_int_not_equal(t->verdict.kind, VERDICT_ACCEPTED);
    assert_int_equal(t->diagnostics->items[0]->code, code);
    arena_free(&t->arena);
}

static void loops_below_what_is_counted_are_refused(void **state) {
    struct trial t;
    small_step_begin(&t, "for i = 0 .. 2 { call copy(x = w[0]) -> (y = spare[0]) }\n" MOVE_SPARE);
    struct loop *loop = &t.program->steps[STEP_TRAIN].body.statements[0].loop;
    loop->begin = -(1 << 21);
    loop->end = loop->begin + 2;
    expect_refused(&t, E491);
}

static void handles_of_more_slots_than_are_counted_are_refused(void **state) {
    struct trial t;
    small_step_begin(&t, "call copy(x = w[0]) -> (y = spare[0])\n" MOVE_SPARE);
    t.program->steps[STEP_TRAIN].handles[0].slots = 1 << 21;
    expect_refused(&t, E491);
}

// `value`: of a unit with one operand and one result.
static void expect_size_refused(value_id value) {
    struct trial t;
    small_step_begin(&t, "call copy(x = w[0]) -> (y = w[1])\n");
    t.program->units[program_find_unit(t.program, "copy")].values[value].type.dims[0].size = 3;
    expect_refused(&t, E510);
}

static void values_of_other_sizes_are_refused(void **state) {
    expect_size_refused(0);
    expect_size_refused(1);
}

static void results_bound_elsewhere_than_they_are_made_are_refused(void **state) {
    struct trial t;
    small_step_begin(&t, "call add(x = w[0], sum = w[1])\n");
    struct reference *result = &t.program->steps[STEP_TRAIN].body.statements[0].call.results[0];
    result->index = index_constant(2);
    expect_refused(&t, E611);
    small_step_begin(&t, "call add(x = w[0], sum = w[1])\n");
    result = &t.program->steps[STEP_TRAIN].body.statements[0].call.results[0];
    result->buffer = program_find_buffer(t.program, "spare");
    expect_refused(&t, E611);
}

static uint32_t axes_gathered(const char *statements) {
    struct trial t;
    small_step_begin(&t, statements);
    trial_judge(&t);
    assert_int_equal(t.verdict.kind, VERDICT_ACCEPTED);
    uint32_t axes = t.verdict.buffers[program_find_buffer(t.program, "v")].gathered;
    arena_free(&t.arena);
    return axes;
}

// The letters of a strategy are of what training does.
static void an_evaluation_says_nothing_of_how_training_stores(void **state) {
    assert_int_equal(axes_gathered(GATHER_V), 2);
    assert_int_equal(
        axes_gathered("}\nevaluate {\nstart all_gather over b as gather[0] { v -> whole }\n"
                      "wait gather[0]\ncall bend(x = whole) -> (y = spare[0])\n"),
        0);
}

static void whatever_persists_is_as_wide_as_declared(void **state) {
    for (enum buffer_class class = 0; class < N_CLASSES; class ++) {
        struct trial t;
        if (!class_persistent[class] && class != CLASS_GRADIENTS)
            continue;
        small_step_begin(&t, "");
        const struct edit edits[] = {
            REPLACE("train {", arena_format(&t.arena,
                                            "buffer line.kept : %s bf16[hidden=4/b] of line at "
                                            "27648\ntrain {",
                                            class_names[class])),
            REPLACE("master = none", "master = f32"),
            {EDIT_END, NULL, NULL, 0, 0}};
        trial_read(&t, program_edit(&t.arena, t.text, edits));
        trial_judge(&t);
        struct expected_verdict expected = {"E415", "line.kept :", "narrower than f32"};
        assert_true(
            trial_end(&t, trial_is_as_expected(&t, expected), class_names[class], expected));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_mistake_is_found),
        cmocka_unit_test(whatever_persists_is_as_wide_as_declared),
        cmocka_unit_test(loops_below_what_is_counted_are_refused),
        cmocka_unit_test(handles_of_more_slots_than_are_counted_are_refused),
        cmocka_unit_test(values_of_other_sizes_are_refused),
        cmocka_unit_test(results_bound_elsewhere_than_they_are_made_are_refused),
        cmocka_unit_test(an_evaluation_says_nothing_of_how_training_stores),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
