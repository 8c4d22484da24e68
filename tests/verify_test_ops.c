// Ops and calls in steps of a few statements, each with one mistake (see verify_test_steps.c): what
// they are of, what they make of parts, positions, codes and numbers, and what is as good as what
// the reference has.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/verify_small_step.h"

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

#define SCALED_BY(factor)                                                                          \
    REPLACE("call copy(x = whole)", "call gain(x = whole, z = whole)"),                            \
        REPLACE("%r = square_root(%n) : f64[]\n%y = scale", factor " : f64[]\n%y = scale")

static const struct mistake mistakes[] = {
    // Ops.
    {"a scale that has no limit is one",
     GATHER_V,
     {SCALED_BY("%r = clip_factor(%n)")},
     NULL,
     NULL,
     NULL},
    {"a scale that has a limit is none",
     GATHER_V,
     {SCALED_BY("%r = clip_factor(%n) {max_norm=0.5}")},
     "E413",
     "%y = scale(%x, %r)",
     "on one device it is scaled by 1"},
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
     "`cast` from f32 to i32 may change the value"},
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
     {REPLACE(ALL_ROWS, PARTS SUM_ROWS(0, 8, "rows_a", "spare[0]")
                            SUM_ROWS(0, 8, "rows_b", "spare[1]") JOINED)},
     NULL,
     NULL,
     NULL},
    {"of one product without the first microbatch",
     ALL_ROWS SUMMED,
     {REPLACE(ALL_ROWS, PARTS SUM_ROWS(0, 7, "rows_a", "spare[0]") SUM_ROWS(
                            1, 7, "rows_b", "spare[1]") JOINED SUM_ROWS(7, 8, "rows", "spare[0]"))},
     "E490",
     "%n = einsum(%a",
     NULL},
    {"of one product without the last microbatch",
     ALL_ROWS SUMMED,
     {REPLACE(ALL_ROWS, PARTS SUM_ROWS(1, 8, "rows_a", "spare[0]") SUM_ROWS(
                            1, 7, "rows_b", "spare[1]") JOINED SUM_ROWS(0, 1, "rows", "spare[0]"))},
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
    {"the number of a microbatch that goes with another layer",
     "buffer number : input f64[] host microbatch microbatches 8 at 27648\ntrain {\n"
     "call numbered(x = w[0], j = number[0]) -> (y = token_count)\n"
     "call numbered(x = w[1], j = number[1]) -> (y = grad_norm)\n",
     {REPLACE("j = number[1]", "j = number[0]")},
     "E512",
     "%y = sum_exp(%w, %j)",
     "microbatch[0]"},
    {"too many iterations to follow one by one",
     "for i = 0 .. 100 { call copy(x = w[0]) -> (y = many[i mod 67]) }\n",
     {REPLACE("i = 0 .. 100 ", "i = 0 .. 1000000 ")},
     "E491",
     "for i = 0",
     "no invariant"},
    {"layers beyond what is counted",
     "for i = 0 .. 2 { call copy(x = w[0]) -> (y = spare[0]) }\n",
     {REPLACE("buffer spare : transient f32[hidden=4] slots 4",
              "buffer spare : transient f32[hidden=4] layers 4 from 2000000")},
     "E491",
     NULL,
     "beyond"},
};

static void each_mistake_is_found(void **state) {
    assert_true(small_steps_are_found(mistakes, sizeof mistakes / sizeof *mistakes));
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(each_mistake_is_found)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
