// Element types: a small training in several of them, the same on two devices with two microbatches
// each, and edits after which some value has fewer digits than one device's, or more. Each mistake is
// told at the statement that took the digits. Without the rule that says so it would be accepted
// (tools/verifier_rules.py deletes each).
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/verify_digits.h"

// The bits of `from`, rounded, in the place of those of `to`.
#define COPY_ROUNDED(from, to)                                                                     \
    "call pack(x = " from ") -> (y = w.copy)\ncall unpack(x = w.copy) -> (y = " to ")\n"
#define NOT_KEPT                                                                                   \
    REPLACE("buffer w : parameters bf16" W " of w at 2048",                                        \
            "buffer w : transient bf16" W " of w at 2048")
#define CALL_UPDATE "call update(p = w.master, m = w.m, v = w.v, g = w.grad, n = n) -> (c = w)\n"
// `w.sum` as another device has it, or this one, sent in bf16.
#define PERMUTED(shift)                                                                            \
    "call pack(x = w.sum) -> (y = w.copy)\n"                                                       \
    "start permute over a shift " shift " as on[0] { w.copy -> w.wire }\nwait on[0]\n"             \
    "call unpack(x = w.wire) -> (y = w.sum)\n"
#define KEEP                                                                                       \
    REPLACE("unit main.pack {", "unit main.keep { phase backward parameter %x : f32" W             \
                                " result %y\n%y = cast(%x) : f32" W " out }\nunit main.pack {")
#define HALVE_AND_DOUBLE                                                                           \
    REPLACE("unit main.pack {",                                                                    \
            "unit main.halve { phase backward parameter %x : bf16" W " result %y\n"                \
            "%z = cast(%x) : f32" W "\n%y = divide(%z) {divisor=2} : f32" W " out }\n"             \
            "unit main.double { phase backward parameter %x : f32" W " result %y\n"                \
            "%y = add(%x, %x) : f32" W " out }\nunit main.pack {")
// The sum of the gradient of `w`, through bf16 where all that have it are one.
#define TO_ITSELF(collective)                                                                      \
    AXIS_OF_ONE,                                                                                   \
        REPLACE(SENT,                                                                              \
                ALL_REDUCE_W("w.sum") "call pack(x = w.sum) -> (y = w.copy)\nstart " collective    \
                                      " as one[0] { w.copy -> w.wire }\nwait one[0]\n")
#define AXIS_OF_ONE REPLACE("axis a = 2\n", "axis a = 2\naxis b = 1\n")
#define OWNED(axis)                                                                                \
    AXIS_OF_ONE, REPLACE("buffer w.sum", "buffer w.own : transient bf16" W " owner/" axis          \
                                         " of w at 22528\nbuffer w.sum")
// What each microbatch gave, summed as parts, joined, and added up.
#define GATHERED_BY_EACH(type)                                                                     \
    REPLACE(SENT, ""), REPLACE("call unpack(x = w.wire) -> (y = w.grad)\n", ""),                   \
        REPLACE("zero w.sum\n", "zero w.grad\nzero w.sum\n"),                                      \
        REPLACE("buffer w.sum",                                                                    \
                "buffer part : transient f32[vocab=3, hidden=4] flat/a at 22528\n"                 \
                "buffer short : transient " type "[vocab=3, hidden=4] flat/a at 23552\n"           \
                "buffer all : transient " type W " at 24576\nbuffer w.sum"),                       \
        REPLACE("sum = w.sum, table_sum = table.sum)\n",                                           \
                "sum = w.sum, table_sum = table.sum)\n"                                            \
                "start reduce_scatter over a as each[0] { w.sum -> part }\nwait each[0]\n"         \
                "call shorten(x = part) -> (y = short)\n"                                          \
                "start all_gather over a as join[0] { short -> all }\nwait join[0]\n"              \
                "call more(sum = w.grad, x = all)\nzero w.sum\n"),                                 \
        REPLACE("unit main.pack {",                                                                \
                "unit main.shorten { phase backward parameter %x : f32[flat=6] result %y\n"        \
                "%y = cast(%x) : " type "[flat=6] out }\n"                                         \
                "unit main.more { phase backward parameter %sum : f32" W " parameter %x : " type W \
                " result %y in %sum\n%y = accumulate(%sum, %x) : f32" W                            \
                " in %sum }\nunit main.pack {")
#define CROSS_ENTROPY                                                                              \
    "%l, %lse = cross_entropy(%logits, %z, %i) : f64[], f32[batch=2, sequence=2]\n"
#define ADAMW_OF(p) "%q, %k, %o = adamw(" p ", "
#define ADAMW       ADAMW_OF("%p")
#define ROWS_OF_3   "[vocab=3, batch=2, sequence=2, hidden=4]"
// What the update of `slope` makes of it first, and what of that it reads.
#define SLOPE_UPDATE(rounded, p)                                                                   \
    REPLACE(UPDATE_SLOPE("[flat=2]", "", "%p"), UPDATE_SLOPE("[flat=2]", rounded, p))
#define GATHERED                                                                                   \
    "%short = cast(%p) : bf16[flat=2]\n%going = all_gather(%short) {axes=a} : bf16[hidden=4]\n"    \
    "%whole = wait(%going) : bf16[hidden=4]\n%mine = slice(%whole) {axes=a} : bf16[flat=2]\n"      \
    "%long = cast(%mine) : f32[flat=2]\n"
// The loss as devices with parts of the vocabulary compute it, of whatever log-sum-exp.
#define LOSS_OF(lse)                                                                               \
    "%most = row_max(%logits) : f32[batch=2, sequence=2]\n"                                        \
    "%e.sum = sum_exp(%logits, %most) : f32[batch=2, sequence=2]\n"                                \
    "%lse = log_shift(%e.sum, %most) : f32[batch=2, sequence=2]\n"                                 \
    "%picked = pick(%logits, %z, %i) : f32[batch=2, sequence=2]\n" lse

static const struct rounding roundings[] = {
    {"as it is", {{EDIT_END, NULL, NULL, 0, 0}}, NULL, NULL, NULL},

    // What is sent.
    {"a gradient sent in bf16 where f32 is declared",
     {REPLACE("reduce = bf16", "reduce = f32")},
     "E415",
     "%y = cast(%x) : bf16" W,
     "declared"},
    {"a parameter gathered in bf16 where f32 is declared",
     {REPLACE("gather = bf16", "gather = f32")},
     "E415",
     "%y = cast(%x) : bf16[flat=2]",
     "declared"},
    {"a gradient sent in f16 where bf16 is declared",
     {REPLACE("buffer w.wire : transient bf16", "buffer w.wire : transient f16"),
      REPLACE("%y = cast(%x) : bf16" W, "%y = cast(%x) : f16" W),
      REPLACE("unit main.unpack { phase backward parameter %x : bf16",
              "unit main.unpack { phase backward parameter %x : f16")},
     "E415",
     "%y = cast(%x) : f16",
     "declared"},
    {"a gradient sent in bf16 with the digits of less",
     {REPLACE("%y = cast(%x) : bf16" W, "%f = cast(%x) : f16" W "\n%y = cast(%f) : bf16" W)},
     "E415",
     "%y = cast(%f)",
     "declared"},
    {"a gradient kept in bf16, and summed in it where f32 is declared",
     {REPLACE("gradients = f32", "gradients = bf16"), REPLACE("reduce = bf16", "reduce = f32")},
     "E415",
     "%y = cast(%x) : bf16" W,
     "declared"},
    {"gradients of two parameters sent as one sum",
     {REPLACE("call pack(x = table.sum) -> (y = w.wire)\n",
              "call sum(x = w.sum, y = table.sum) -> (z = w.wire)\n"),
      REPLACE("call norm(g = w.grad, k = table.grad)", "call norm(g = table.grad)"),
      REPLACE(" parameter %k : f32" W " result %y\n%both = add(%g, %k) : f32" W
              "\n%s = square_sum(%both)",
              " result %y\n%s = square_sum(%g)"),
      REPLACE("unit main.pack {", "unit main.sum { phase backward parameter %x : f32" W
                                  " parameter %y : f32" W " result %z\n%s = add(%x, %y) : f32" W
                                  "\n%z = cast(%s) : bf16" W " out }\nunit main.pack {")},
     "E415",
     "%z = cast(%s)",
     "read in f32"},
    {"a moment sent in bf16",
     {REPLACE(CALL_UPDATE, "call pack(x = w.m) -> (y = w.copy)\n"
                           "start permute over a shift 1 as moment[0] { w.copy -> w.wire }\n"
                           "wait moment[0]\ncall unpack(x = w.wire) -> (y = w.m)\n" CALL_UPDATE)},
     "E415",
     "%y = cast(%x) : bf16" W,
     "read in f32"},
    {"a gradient rounded when it has been sent",
     {REPLACE(SENT, ALL_REDUCE_W("w.sum") "call pack(x = w.sum) -> (y = w.wire)\n")},
     "E415",
     "%y = cast(%x) : bf16" W,
     "read in f32"},
    {"a gradient divided in bf16 when it has been sent",
     {REPLACE("unit main.unpack { phase backward parameter %x : bf16" W
              " result %y\n%y = cast(%x) : f32" W " out }",
              "unit main.unpack { phase backward parameter %x : bf16" W
              " result %y\n%z = divide(%x) {divisor=3} : bf16" W "\n%two = add(%z, %z) : f32" W
              "\n%y = add(%two, %z) : f32" W " out }")},
     "E415",
     "%z = divide(%x)",
     "read in f32"},
    {"a gradient tripled in bf16 when it has been sent, and divided again",
     {REPLACE("unit main.unpack { phase backward parameter %x : bf16" W
              " result %y\n%y = cast(%x) : f32" W " out }",
              "unit main.unpack { phase backward parameter %x : bf16" W
              " result %y\n%two = add(%x, %x) : f32" W "\n%three = add(%two, %x) : bf16" W
              "\n%y = divide(%three) {divisor=3} : f32" W " out }")},
     "E415",
     "%three = add(%two, %x)",
     "read in f32"},
    {"a gradient divided in f32 when it has been sent",
     {REPLACE("unit main.unpack { phase backward parameter %x : bf16" W
              " result %y\n%y = cast(%x) : f32" W " out }",
              "unit main.unpack { phase backward parameter %x : bf16" W
              " result %y\n%z = divide(%x) {divisor=3} : f32" W "\n%two = add(%z, %z) : f32" W
              "\n%y = add(%two, %z) : f32" W " out }")},
     NULL,
     NULL,
     NULL},
    {"what a product reads, divided in bf16 and multiplied",
     {REPLACE("%dt = einsum(%third, %e)",
              "%part = divide(%e) {divisor=3} : bf16" ROWS "\n%two = add(%part, %part) : f32" ROWS
              "\n%three = add(%two, %part) : bf16" ROWS "\n%dt = einsum(%third, %three)")},
     "E415",
     "%part = divide(%e)",
     "read in bf16"},
    {"what is divided in bf16 on one device, in f16",
     {REPLACE("%third = divide(%d) {divisor=3} : bf16[batch=2, sequence=2, vocab=3]",
              "%part = cast(%d) : f16[batch=2, sequence=2, vocab=3]\n"
              "%less = divide(%part) {divisor=3} : f16[batch=2, sequence=2, vocab=3]\n"
              "%third = cast(%less) : bf16[batch=2, sequence=2, vocab=3]")},
     "E415",
     NULL,
     "read in bf16"},
    {"zeros, which every type has, in the place of the sum",
     {REPLACE("zero table.sum\n", "zero table.sum\n" COPY_ROUNDED("w.sum", "w.sum"))},
     NULL,
     NULL,
     NULL},
    {"zeros that are read",
     {REPLACE("%g = accumulate(%sum, %dw)",
              "%at = iota() {dimension=vocab} : i32[vocab=3]\n"
              "%none = take(%dw, %at) {index=9, keep=1} : bf16[hidden=4]\n"
              "%more = add_bias(%dw, %none) : f32" W "\n%g = accumulate(%sum, %more)")},
     NULL,
     NULL,
     NULL},
    {"a gradient rounded and not sent",
     {REPLACE(CALL_UPDATE, COPY_ROUNDED("w.grad", "w.grad") CALL_UPDATE),
      REPLACE(SENT, ALL_REDUCE_W("w.sum")),
      REPLACE("call unpack(x = w.wire) -> (y = w.grad)", "call keep(x = w.sum) -> (y = w.grad)"),
      REPLACE("unit main.pack {", "unit main.keep { phase backward parameter %x : f32" W
                                  " result %y\n%y = cast(%x) : f32" W " out }\nunit main.pack {")},
     "E415",
     "%y = cast(%x) : bf16" W,
     "read in f32"},
    {"the sum of a gradient gathered in bf16 over an axis of one",
     {TO_ITSELF("all_gather over b dim 0")},
     "E415",
     "%y = cast(%x) : bf16" W,
     "read in f32"},
    {"the sum of a gradient given to others in bf16 over an axis of one",
     {OWNED("b"),
      REPLACE(SENT,
              ALL_REDUCE_W("w.sum") "call pack(x = w.sum) -> (y = w.own)\nstart broadcast over b "
                                    "as one[0] { w.own -> w.wire }\nwait one[0]\n")},
     "E415",
     "%y = cast(%x) : bf16" W,
     "read in f32"},
    {"what each microbatch gave gathered in bf16",
     {GATHERED_BY_EACH("bf16")},
     "E415",
     "%y = cast(%x) : bf16[flat=6]",
     "read in f32"},
    {"what each microbatch gave gathered in f32", {GATHERED_BY_EACH("f32")}, NULL, NULL, NULL},
    {"a summand of a gradient sent on in bf16 before it is summed",
     {REPLACE(SENT, PERMUTED("1") ALL_REDUCE_W("w.sum")),
      REPLACE("call unpack(x = w.wire) -> (y = w.grad)", "call keep(x = w.sum) -> (y = w.grad)"),
      KEEP},
     NULL,
     NULL,
     NULL},
    {"what microbatches gave so far sent on in bf16 by each",
     {REPLACE("sum = w.sum, table_sum = table.sum)\n",
              "sum = w.sum, table_sum = table.sum)\n" PERMUTED("1"))},
     "E415",
     "%y = cast(%x) : bf16" W,
     "read in f32"},
    {"what microbatches gave so far sent in bf16 to where it is by each",
     {REPLACE("sum = w.sum, table_sum = table.sum)\n",
              "sum = w.sum, table_sum = table.sum)\n" PERMUTED("0"))},
     "E415",
     "%y = cast(%x) : bf16" W,
     "read in f32"},
    {"the sum of a gradient sent on in bf16",
     {REPLACE(SENT, ALL_REDUCE_W("w.sum") PERMUTED("1")),
      REPLACE("call unpack(x = w.wire) -> (y = w.grad)", "call keep(x = w.sum) -> (y = w.grad)"),
      KEEP},
     "E415",
     "%y = cast(%x) : bf16" W,
     "read in f32"},
    {"the sum of a gradient sent in bf16 to where it is",
     {REPLACE(SENT, ALL_REDUCE_W("w.sum") PERMUTED("0")),
      REPLACE("call unpack(x = w.wire) -> (y = w.grad)", "call keep(x = w.sum) -> (y = w.grad)"),
      KEEP},
     "E415",
     "%y = cast(%x) : bf16" W,
     "read in f32"},
    {"the sum of a gradient summed over devices again, in bf16",
     {REPLACE(SENT, ALL_REDUCE_W("w.sum") "call pack(x = w.sum) -> (y = w.wire)\n" ALL_REDUCE_W(
                        "w.wire")),
      REPLACE("unit main.unpack { phase backward parameter %x : bf16" W
              " result %y\n%y = cast(%x) : f32" W " out }",
              "unit main.unpack { phase backward parameter %x : bf16" W
              " result %y\n%z = cast(%x) : f32" W "\n%y = divide(%z) {divisor=2} : f32" W " out }"),
      REPLACE("call unpack(x = w.wire) -> (y = table.grad)",
              "call double(x = w.wire) -> (y = table.grad)"),
      REPLACE("unit main.pack {", "unit main.double { phase backward parameter %x : bf16" W
                                  " result %y\n%y = cast(%x) : f32" W " out }\nunit main.pack {")},
     "E415",
     "%y = cast(%x) : bf16" W,
     "read in f32"},
    {"what microbatches gave so far summed over devices by each",
     {REPLACE(SENT, ""),
      REPLACE(
          "sum = w.sum, table_sum = table.sum)\n",
          "sum = w.sum, table_sum = table.sum)\n"
          "call pack(x = w.sum) -> (y = w.wire)\n" ALL_REDUCE_W("w.wire") "call halve(x = w.wire) "
                                                                          "-> (y = w.sum)\n"),
      REPLACE("call unpack(x = w.wire) -> (y = w.grad)", "call double(x = w.sum) -> (y = w.grad)"),
      HALVE_AND_DOUBLE},
     "E415",
     "%y = cast(%x) : bf16" W,
     "read in f32"},
    {"what each microbatch gave summed over devices in bf16, and all of it in f32",
     {REPLACE(SENT, ""),
      REPLACE("sum = w.sum, table_sum = table.sum)\n",
              "sum = w.sum, table_sum = table.sum)\n"
              "call pack(x = w.sum) -> (y = w.wire)\n" ALL_REDUCE_W(
                  "w.wire") "call double(x = w.grad, y = w.wire)\nzero w.sum\n"),
      REPLACE("zero w.sum\nzero table.sum", "zero w.sum\nzero w.grad\nzero table.sum"),
      REPLACE("call unpack(x = w.wire) -> (y = w.grad)\n", ""),
      REPLACE("unit main.pack {",
              "unit main.double { phase backward parameter %x : f32" W " parameter %y : bf16" W
              " result %z in %x\n%z = accumulate(%x, %y) : f32" W " in %x }\nunit main.pack {")},
     NULL,
     NULL,
     NULL},
    {"a gradient and a parameter sent in f32",
     {REPLACE_ALL("slope.n : transient bf16", "slope.n : transient f32"),
      REPLACE("slope.g : transient bf16", "slope.g : transient f32"),
      REPLACE("%y = cast(%x) : bf16[flat=2]", "%y = cast(%x) : f32[flat=2]"),
      REPLACE("parameter %slope : bf16", "parameter %slope : f32"),
      REPLACE("buffer w.wire : transient bf16", "buffer w.wire : transient f32"),
      REPLACE("%y = cast(%x) : bf16" W, "%y = cast(%x) : f32" W),
      REPLACE("unit main.unpack { phase backward parameter %x : bf16",
              "unit main.unpack { phase backward parameter %x : f32")},
     NULL,
     NULL,
     NULL},

    {"nothing sent, which one device has left in a gradient of no tensor",
     {REPLACE(CALL_UPDATE,
              CALL_UPDATE "zero w.copy\nstart all_reduce over a as nothing[0] { w.copy -> w.copy "
                          "}\nwait nothing[0]\n")},
     NULL,
     NULL,
     NULL},

    // Sums of gradients.
    {"an accumulator in bf16",
     {REPLACE("buffer w.sum : transient f32", "buffer w.sum : transient bf16"),
      REPLACE("parameter %sum : f32", "parameter %sum : bf16"),
      REPLACE("%g = accumulate(%sum, %dw) : f32", "%g = accumulate(%sum, %dw) : bf16"),
      REPLACE("buffer table.sum : transient f32", "buffer table.sum : transient bf16"),
      REPLACE("parameter %table_sum : f32", "parameter %table_sum : bf16"),
      REPLACE("%t.g = accumulate(%table_sum, %dt) : f32",
              "%t.g = accumulate(%table_sum, %dt) : bf16"),
      REPLACE("unit main.pack { phase backward parameter %x : f32",
              "unit main.pack { phase backward parameter %x : bf16")},
     "E415",
     "%g = accumulate",
     "read in f32"},
    {"what a microbatch gives in bf16",
     {REPLACE("%dw = einsum(%d, %h) {labels=\"bsv,bsh->vh\"} : f32",
              "%dw = einsum(%d, %h) {labels=\"bsv,bsh->vh\"} : bf16")},
     "E415",
     "%dw = einsum",
     "read in f32"},
    {"what a microbatch gives rounded before it is added",
     {ROUNDED("%dw", W, "%g = accumulate(%sum, %dw)", "%g = accumulate(%sum, %long)")},
     "E415",
     "%short = cast(%dw)",
     "read in f32"},
    {"the norm of gradients rounded anew",
     {REPLACE("%s = square_sum(%both)",
              "%short = cast(%both) : f16" W "\n%s = square_sum(%short)")},
     "E415",
     "%short = cast(%both)",
     "read in f32"},
    {"the norm of a gradient in the type in which it was sent",
     {ROUNDED("%g", W, "%both = add(%g, %k)", "%both = add(%long, %k)")},
     NULL,
     NULL,
     NULL},

    // States.
    {"a parameter that is not kept, but made of its master copy",
     {NOT_KEPT, INSERT("call pack(x = w.master) -> (y = w)", "call narrow_slope(")},
     NULL,
     NULL,
     NULL},
    {"the same, made with fewer digits",
     {NOT_KEPT, INSERT("call short(x = w.master) -> (y = w)", "call narrow_slope("),
      INSERT("unit main.short { phase forward parameter %x : f32" W " result %y\n%z = cast(%x) : "
             "f16" W "\n%y = cast(%z) : bf16" W " out }",
             "unit main.narrow_slope {")},
     "E415",
     "%y = cast(%z) : bf16",
     "read in bf16 on one device"},
    {"a master copy made of its parameter",
     {REPLACE(CALL_UPDATE, "call unpack(x = w) -> (y = w.master)\n" CALL_UPDATE)},
     "E415",
     "%q, %k, %o = adamw",
     "is given `p` in bf16, on one device in f32"},
    {"a master copy rounded before its update",
     {REPLACE(CALL_UPDATE, COPY_ROUNDED("w.master", "w.master") CALL_UPDATE)},
     "E415",
     "%y = cast(%x) : bf16" W,
     "read in f32"},
    {"a master copy given to others in bf16 before its update",
     {OWNED("a"),
      REPLACE(CALL_UPDATE, "call pack(x = w.master) -> (y = w.own)\n"
                           "start broadcast over a as given[0] { w.own -> w.copy }\nwait given[0]\n"
                           "call unpack(x = w.copy) -> (y = w.master)\n" CALL_UPDATE)},
     "E415",
     "%y = cast(%x) : bf16" W,
     "read in f32"},
    {"a master copy rounded behind its update",
     {REPLACE(CALL_UPDATE, CALL_UPDATE COPY_ROUNDED("w.master", "w.master"))},
     "E415",
     "%y = cast(%x) : bf16" W,
     "ends the step rounded to bf16"},
    {"a moment rounded behind its update",
     {REPLACE(CALL_UPDATE, CALL_UPDATE COPY_ROUNDED("w.m", "w.m"))},
     "E415",
     "%y = cast(%x) : bf16" W,
     "ends the step rounded to bf16"},
    {"a moment that is kept in bf16",
     {REPLACE("buffer w.m : moment1 f32", "buffer w.m : moment1 bf16"),
      REPLACE("moments = f32", "moments = bf16"),
      REPLACE("parameter %m : f32", "parameter %m : bf16"),
      REPLACE("in %p, f32" W " in %m", "in %p, bf16" W " in %m")},
     "E415",
     "w.m : moment1",
     "one device keeps"},
    {"a state that nothing holds, beside a master copy",
     {REPLACE("buffer w.idle : momentum f32" W " of w at 21504\n", "")},
     "E514",
     NULL,
     "nothing holds"},
    {"a master copy rounded, added to itself and halved",
     {REPLACE(ADAMW, "%short = cast(%p) : bf16" W "\n%twice = add(%short, %short) : f32" W
                     "\n%half = divide(%twice) {divisor=2} : f32" W "\n" ADAMW_OF("%half"))},
     "E415",
     "%short = cast(%p)",
     "read in f32"},
    {"a master copy rounded, as a part of two, and taken from these again",
     {REPLACE(ADAMW,
              "%short = cast(%p) : bf16" W "\n%at = iota() {dimension=vocab} : i32[vocab=3]\n"
              "%one = put(%short, %at) {index=0, keep=2} : bf16[vocab=3, vocab=3, hidden=4]\n"
              "%other = put(%p, %at) {index=1, keep=2} : f32[vocab=3, vocab=3, hidden=4]\n"
              "%third = put(%p, %at) {index=2, keep=2} : f32[vocab=3, vocab=3, hidden=4]\n"
              "%two = add(%one, %other) : f32[vocab=3, vocab=3, hidden=4]\n"
              "%both = add(%two, %third) : f32[vocab=3, vocab=3, hidden=4]\n"
              "%back = take(%both, %at) {index=0, keep=2} : f32" W "\n" ADAMW_OF("%back"))},
     "E415",
     "%short = cast(%p)",
     "read in f32"},
    {"a part that is no more than its place is put together with others",
     {REPLACE(ADAMW, "%at = iota() {dimension=vocab} : i32[vocab=3]\n"
                     "%one = put(%p, %at) {index=0, keep=2} : f32[vocab=3, vocab=3, hidden=4]\n"
                     "%other = put(%p, %at) {index=1, keep=2} : f32[vocab=3, vocab=3, hidden=4]\n"
                     "%both = add(%one, %other) : f32[vocab=3, vocab=3, hidden=4]\n"
                     "%back = take(%both, %at) {index=0, keep=2} : f32" W "\n" ADAMW_OF("%back"))},
     NULL,
     NULL,
     NULL},
    {"a parameter gathered in bf16 for its update",
     {SLOPE_UPDATE(GATHERED, "%long")},
     "E415",
     "%short = cast(%p) : bf16[flat=2]",
     "read in f32"},
    {"the same, in the sum of its next value alone",
     {SLOPE_UPDATE(GATHERED, "%p"), REPLACE("%a = add(%p, %b)", "%a = add(%long, %b)")},
     "E415",
     "%short = cast(%p) : bf16[flat=2]",
     "read in f32"},
    {"the same, where the sum is taken in another order",
     {SLOPE_UPDATE(GATHERED, "%p"), REPLACE("%a = add(%p, %b)", "%a = add(%long, %c)"),
      REPLACE("%q = add(%a, %c)", "%q = add(%a, %b)")},
     "E415",
     "%short = cast(%p) : bf16[flat=2]",
     "read in f32"},
    {"the same, added to itself and halved",
     {SLOPE_UPDATE(GATHERED "%two = add(%long, %long) : f32[flat=2]\n"
                            "%half = divide(%two) {divisor=2} : f32[flat=2]\n",
                   "%half")},
     "E415",
     "%short = cast(%p) : bf16[flat=2]",
     "read in f32"},
    {"a parameter that was gathered, as a part of three, and taken from these again",
     {REPLACE(BIAS, "%wide = cast(%slope) : f32[hidden=4]\n"
                    "%at = iota() {dimension=vocab} : i32[vocab=3]\n"
                    "%one = put(%wide, %at) {index=0, keep=1} : f32" W "\n"
                    "%other = put(%wide, %at) {index=1, keep=1} : f32" W "\n"
                    "%last = put(%wide, %at) {index=2, keep=1} : f32" W "\n"
                    "%two = add(%one, %other) : f32" W "\n%three = add(%two, %last) : f32" W "\n"
                    "%bias = take(%three, %at) {index=0, keep=1} : f32[hidden=4]\n")},
     NULL,
     NULL,
     NULL},
    {"a parameter that was gathered, as a part of four, in pairs, and taken from these again",
     {REPLACE(BIAS, "%wide = cast(%slope) : f32[hidden=4]\n"
                    "%at = iota() {dimension=vocab} : i32[vocab=3]\n"
                    "%one = put(%wide, %at) {index=0, keep=1} : f32" W "\n"
                    "%other = put(%wide, %at) {index=1, keep=1} : f32" W "\n"
                    "%last = put(%wide, %at) {index=2, keep=1} : f32" W "\n"
                    "%pair = add(%one, %other) : f32" W "\n%rest = add(%other, %last) : f32" W "\n"
                    "%all = add(%pair, %rest) : f32" W "\n"
                    "%bias = take(%all, %at) {index=0, keep=1} : f32[hidden=4]\n")},
     NULL,
     NULL,
     NULL},
    {"what a product reads rounded, put in its place among others and taken from there",
     {REPLACE("%logits = einsum(%h, %w)",
              "%placed = put(%h, %i) {index=1, keep=3} : bf16" ROWS_OF_3
              "\n%back = take(%placed, %i) {index=1, keep=3} : bf16" ROWS
              "\n%logits = einsum(%back, %w)")},
     NULL,
     NULL,
     NULL},
    {"a parameter rounded further than it is kept",
     {REPLACE("%c = cast(%q) : bf16", "%f = cast(%q) : f16" W "\n%c = cast(%f) : bf16")},
     "E415",
     "%c = cast(%f)",
     "ends the step rounded"},

    {"a factor of clipping that is rounded",
     {REPLACE("%clipped = scale(%g, %factor)",
              "%short = cast(%factor) : f32[]\n%long = cast(%short) : f64[]\n"
              "%clipped = scale(%g, %long)")},
     "E415",
     "%short = cast(%factor)",
     "read in f64"},

    // Statistics, the loss, the stream and products.
    {"a log-sum-exp rounded before the backward pass",
     {ROUNDED("%lse", "[batch=2, sequence=2]", "%d = cross_entropy_backward(%logits, %z, %lse,",
              "%d = cross_entropy_backward(%logits, %z, %long,")},
     "E415",
     "%short = cast(%lse)",
     "read in f32"},
    {"the loss put together of its parts",
     {REPLACE(CROSS_ENTROPY, LOSS_OF("%l = token_loss(%lse, %picked, %z) : f64[]\n"))},
     NULL,
     NULL,
     NULL},
    {"the loss of a rounded log-sum-exp",
     {REPLACE(CROSS_ENTROPY, LOSS_OF("%short = cast(%lse) : bf16[batch=2, sequence=2]\n"
                                     "%long = cast(%short) : f32[batch=2, sequence=2]\n"
                                     "%l = token_loss(%long, %picked, %z) : f64[]\n"))},
     "E415",
     "%short = cast(%lse)",
     "read in f32"},
    {"a sum of exponentials that is rounded",
     {REPLACE(CROSS_ENTROPY, LOSS_OF("%l = token_loss(%lse, %picked, %z) : f64[]\n")),
      ROUNDED("%e.sum", "[batch=2, sequence=2]", "%lse = log_shift(%e.sum,",
              "%lse = log_shift(%long,")},
     "E415",
     "%short = cast(%e.sum)",
     "read in f32"},
    {"a loss rounded for its sum",
     {REPLACE("%k = accumulate(%loss, %l)",
              "%short = cast(%l) : f32[]\n%long = cast(%short) : f64[]\n"
              "%k = accumulate(%loss, %long)")},
     "E415",
     "%short = cast(%l)",
     "read in f64"},
    {"a norm that is rounded for the host",
     {REPLACE("%y = square_root(%s) : f64[] out",
              "%root = square_root(%s) : f64[]\n%short = cast(%root) : f32[]\n"
              "%y = cast(%short) : f64[] out")},
     "E415",
     "%short = cast(%root)",
     "ends the step rounded to f32"},
    {"the stream in bf16",
     {REPLACE("%r = add(%e, %y) : f32", "%r = add(%e, %y) : bf16")},
     "E415",
     "%r = add(%e, %y)",
     "read in f32"},
    {"an addition to the stream in bf16",
     {REPLACE("%s = add_bias(%r, %bias) : f32", "%s = add_bias(%r, %bias) : bf16")},
     "E415",
     "%s = add_bias",
     "read in f32"},
    {"half the stream's rounding before its sum",
     {ROUNDED("%r", ROWS, "%s = add_bias(%r, %bias)", "%s = add_bias(%long, %bias)")},
     "E415",
     "%short = cast(%r)",
     "read in f32"},
    {"what is added to the stream in another order",
     {REPLACE("%r = add(%e, %y) : f32" ROWS, "%r = add_bias(%y, %bias) : f32" ROWS),
      REPLACE("%s = add_bias(%r, %bias)", "%s = add(%r, %e)"),
      REPLACE("%bias = cast(%slope) : f32[hidden=4]\n", ""),
      REPLACE("%r = add_bias(%y", "%bias = cast(%slope) : f32[hidden=4]\n%r = add_bias(%y")},
     NULL,
     NULL,
     NULL},
    {"the same in bf16",
     {REPLACE("%r = add(%e, %y) : f32" ROWS, "%r = add_bias(%y, %bias) : bf16" ROWS),
      REPLACE("%s = add_bias(%r, %bias)", "%s = add(%r, %e)"),
      REPLACE("%bias = cast(%slope) : f32[hidden=4]\n", ""),
      REPLACE("%r = add_bias(%y", "%bias = cast(%slope) : f32[hidden=4]\n%r = add_bias(%y")},
     "E415",
     "%r = add_bias",
     "read in f32"},
    {"made in the type in which it is read",
     {REPLACE("%u = silu(%s) : f32", "%u = silu(%s) : bf16")},
     NULL,
     NULL,
     NULL},
    {"products of more digits",
     {REPLACE("%h = cast(%u) : bf16", "%h = cast(%u) : f32"),
      REPLACE("%logits = einsum(%h, %w)",
              "%w.wide = cast(%w) : f32" W "\n%logits = einsum(%h, %w.wide)"),
      REPLACE("{labels=\"bsh,vh->bsv\"} : bf16", "{labels=\"bsh,vh->bsv\"} : f32"),
      REPLACE("%lse, %i, %n) : bf16", "%lse, %i, %n) : f32"),
      REPLACE("%third = divide(%d) {divisor=3} : bf16", "%third = divide(%d) {divisor=3} : f32"),
      REPLACE("%dt = einsum(%third, %e)",
              "%e.wide = cast(%e) : f32" ROWS "\n%dt = einsum(%third, %e.wide)")},
     NULL,
     NULL,
     NULL},
    {"what a product reads in f16",
     {REPLACE("%h = cast(%u) : bf16",
              "%h.short = cast(%u) : f16" ROWS "\n%h = cast(%h.short) : bf16")},
     "E415",
     "%h = cast(%h.short)",
     "read in bf16"},
    {"rounded where nobody reads it",
     {REPLACE("%u = silu(%s)", "%unread = cast(%s) : bf16" ROWS "\n%u = silu(%s)")},
     NULL,
     NULL,
     NULL},
};

// ---- ranges of layers -------------------------------------------------------------------------

// Eight layers whose rows of ops are in f32 and eight in which they are in bf16. What the first of these
// makes of what comes in is what all of the others but the first make of theirs.
#define ROW "[hidden=4]"
#define IN_LAYERS(from, to, unit)                                                                  \
    "for l = " from " .. " to " {\ncall " unit "(x = x[l], w = w[l], u = u) -> (y = x[l+1], s = "  \
    "s[l])\n}\n"
#define LAYER(name, cast, of, type, of_u)                                                          \
    "unit main." name " { phase forward parameter %x : f32" ROW " parameter %w : f32" ROW "\n"     \
    "parameter %u : f32" ROW " result %y result %s\n" cast "%g = gelu(" of                         \
    ") {approximate=\"tanh\"} : " type ROW "\n%s = silu(" of ") : " type ROW                       \
    "\n%gs = mul(%g, %s) : f32" ROW "\n%v = gelu(" of_u ") {approximate=\"tanh\"} : f32" ROW       \
    "\n%wv = mul(%w, %v) : f32" ROW "\n%y = mul(%gs, %wv) : f32" ROW " out }\n"
#define COPY                            "unit main.copy { phase forward parameter %x : f32" ROW " result %y\n"
#define LAYERS_OF(loops, rounded, of_u) LAYERS_BEHIND("", "%u", loops, rounded, of_u)
#define LAYERS_BEHIND(first, first_u, loops, rounded, of_u)                                        \
    "step main {\nsizes batch = 1 sequence = 1 microbatches = 1 layers = 16 vocab = 3\n" POLICY    \
    "tensor w " ROW " role norm layers 16 init ones saved \"w%d\"\n"                               \
    "tensor u " ROW " role norm init ones saved \"u\"\n"                                           \
    "buffer u : parameters f32" ROW " of u at 20480\n"                                             \
    "buffer w : parameters f32" ROW " of w layers 16 at 1024\n"                                    \
    "buffer x : activations f32" ROW " layers 17 at 4096\n"                                        \
    "buffer s : activations f32" ROW " layers 16 at 8192\n"                                        \
    "buffer many : activations f32" ROW " layers 16 at 24576\n"                                    \
    "buffer grad_norm : output f64[] host grad_norm at 16384\n"                                    \
    "train {\ncall begin(w = w[0], u = u) -> (y = x[0])\n" loops                                   \
    "call norm(x = x[16], s = s[15]) -> (y = grad_norm)\n}\n}\n"                                   \
    "unit main.begin { phase forward parameter %w : f32" ROW " parameter %u : f32" ROW             \
    " result %y\n" first "%v = gelu(" first_u ") {approximate=\"tanh\"} : f32" ROW                 \
    "\n%s = silu(%w) : f32" ROW "\n%y = mul(%s, %v) : f32" ROW " out }\n" COPY                     \
    "%y = cast(%x) : f32" ROW " out }\n"                                                           \
    "unit main.norm { phase update parameter %x : f32" ROW " parameter %s : f32" ROW               \
    " result %y\n%both = add(%x, %s) : f32" ROW "\n%sum = square_sum(%both) : f64[]\n"             \
    "%y = square_root(%sum) : f64[] out }\n" LAYER("wide", "", "%x", "f32", "%u")                  \
        LAYER("narrow", "%n = cast(%x) : bf16" ROW "\n" rounded, "%n", "f32", of_u)
#define LAYERS(loops) LAYERS_OF(loops, "", "%u")

#define FIRST_WIDE   IN_LAYERS("0", "8", "wide") IN_LAYERS("8", "16", "narrow")
#define FIRST_NARROW IN_LAYERS("0", "8", "narrow") IN_LAYERS("8", "16", "wide")

// A layer that reads what comes in in two types, by ops of one kind.
#define READ_TWICE                                                                                 \
    "unit main.twice { phase forward parameter %x : f32" ROW " parameter %w : f32" ROW             \
    " parameter %u : f32" ROW "\nresult %y result %s\n%n = cast(%x) : bf16" ROW                    \
    "\n%s = mul(%n, %w) : f32" ROW "\n%q = mul(%x, %u) : f32" ROW "\n%y = mul(%q, %s) : f32" ROW   \
    " out }\n"

#define SHORT_U   "%un = cast(%u) : bf16" ROW "\n"
#define WIDE_ONLY IN_LAYERS("0", "16", "wide")

// Layers that read `u`, but for the first two.
#define WIDE_FROM_THE_THIRD                                                                        \
    "for l = 0 .. 2 {\ncall copy(x = w[l]) -> (y = many[l])\n}\n"                                  \
    "for l = 2 .. 16 {\ncall copy(x = u) -> (y = many[l])\n}\n"                                    \
    "for l = 0 .. 16 {\ncall wide(x = x[l], w = w[l], u = many[l]) -> (y = x[l+1], s = s[l])\n}\n"

static const struct {
    const char *one_device;
    struct rounding of;
} ranges[] = {
    {LAYERS_BEHIND(SHORT_U, "%un", WIDE_FROM_THE_THIRD, "", "%u"),
     {"what is of no layer, rounded for the third and all others in the place of what is before "
      "them",
      {REPLACE(SHORT_U "%v = gelu(%un)", "%v = gelu(%u)"),
       REPLACE(COPY, COPY "%n = cast(%x) : bf16" ROW "\n"),
       REPLACE("%y = cast(%x) : f32" ROW, "%y = cast(%n) : f32" ROW)},
      "E415",
      "%n = cast(%x)",
      "read in f32"}},
    {LAYERS_BEHIND(SHORT_U, "%un", WIDE_ONLY, "", "%u"),
     {"what is of no layer, rounded for all layers in the place of what is before them",
      {REPLACE(SHORT_U "%v = gelu(%un)", "%v = gelu(%u)"),
       REPLACE("%v = gelu(%u) {approximate=\"tanh\"} : f32" ROW "\n%wv = mul(",
               SHORT_U "%v = gelu(%un) {approximate=\"tanh\"} : f32" ROW "\n%wv = mul(")},
      "E415",
      "%un = cast(%u)",
      "read in f32"}},
    {LAYERS_OF(FIRST_WIDE, "%un = cast(%u) : bf16" ROW "\n", "%un"),
     {"what is of no layer, rounded for some of them on one device, too",
      {{EDIT_END, NULL, NULL, 0, 0}},
      "E415",
      "%un = cast(%u)",
      "read in f32"}},
    {LAYERS(FIRST_WIDE),
     {"layers as on one device", {{EDIT_END, NULL, NULL, 0, 0}}, NULL, NULL, NULL}},
    {LAYERS(FIRST_WIDE),
     {"all layers in the wider type",
      {REPLACE(FIRST_WIDE, IN_LAYERS("0", "16", "wide"))},
      NULL,
      NULL,
      NULL}},
    {LAYERS(FIRST_WIDE),
     {"one layer in the type of its neighbours",
      {REPLACE(FIRST_WIDE, IN_LAYERS("0", "7", "wide") IN_LAYERS("7", "16", "narrow"))},
      "E415",
      "%n = cast(%x)",
      "read in f32"}},
    {LAYERS(FIRST_WIDE),
     {"all layers but the first in a narrower type",
      {REPLACE(FIRST_WIDE, IN_LAYERS("0", "1", "wide") IN_LAYERS("1", "16", "narrow"))},
      "E415",
      "%n = cast(%x)",
      "read in f32"}},
    {LAYERS(FIRST_WIDE),
     {"the first layer in a narrower type",
      {REPLACE(FIRST_WIDE, IN_LAYERS("0", "1", "narrow") IN_LAYERS("1", "8", "wide")
                               IN_LAYERS("8", "16", "narrow"))},
      "E415",
      "%n = cast(%x)",
      "read in f32"}},
    {LAYERS(IN_LAYERS("0", "16", "twice")) READ_TWICE,
     {"what comes in read in two types", {{EDIT_END, NULL, NULL, 0, 0}}, NULL, NULL, NULL}},
    {LAYERS(IN_LAYERS("0", "16", "twice")) READ_TWICE,
     {"what comes in read in the narrower of two types",
      {REPLACE("%q = mul(%x, %u)", "%q = mul(%n, %u)")},
      "E415",
      "%n = cast(%x)",
      "read in f32"}},
    {LAYERS(FIRST_NARROW),
     {"the narrower layers first", {{EDIT_END, NULL, NULL, 0, 0}}, NULL, NULL, NULL}},
    {LAYERS(FIRST_NARROW),
     {"one layer more in the narrower type",
      {REPLACE(FIRST_NARROW, IN_LAYERS("0", "9", "narrow") IN_LAYERS("9", "16", "wide"))},
      "E415",
      "%n = cast(%x)",
      "read in f32"}},
};

static void each_rounding_is_judged(void **state) {
    unsigned n_failed = 0;
    for (size_t i = 0; i < sizeof roundings / sizeof *roundings; i++)
        n_failed += !is_judged_right(reference, final, &roundings[i]);
    assert_int_equal(n_failed, 0);
}

static void each_range_of_layers_has_its_types(void **state) {
    unsigned n_failed = 0;
    for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++)
        n_failed += !is_judged_right(ranges[i].one_device, ranges[i].one_device, &ranges[i].of);
    assert_int_equal(n_failed, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(each_rounding_is_judged),
                                       cmocka_unit_test(each_range_of_layers_has_its_types)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
