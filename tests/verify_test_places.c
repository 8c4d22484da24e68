// Places in steps of a few statements: windows, what transfers read and fill, and bytes that are
// shared. Each mistake is refused as what it is, at its place; what only looks like one is
// accepted.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/verify_small_step.h"

#define BENT_SUM      "%s = silu(%sum) : " ROW " out\n"
#define PRODUCT_ADDED "%n = einsum(%x, %z) {labels=\"h,h->h\"} : " ROW " inline\n"
#define FRAMED        "%s = silu(%x) : " ROW " at 0\n%y = silu(%s) : " ROW " out }"
#define PRODUCT_OF_X  "%n = einsum(%x, %x) {labels=\"h,h->h\"} : " ROW " inline\n"
#define ADD_PRODUCT   "call add_product(x = w[0], z = w[1], sum = w[2]) -> (s = w[3])\n"

// A part is written, and read as the parts that another axis cuts it in.
#define PART_OF_PART(buffers, of)                                                                  \
    buffers "buffer held : transient f32[hidden=4] flat/b*a at 28672\ntrain {\n"                   \
            "call copy(x = w[0]) -> (y = other)\ncall keep(x = other.b) -> (y = " of ".b)\n"       \
            "call keep_one(x = " of ".ba) -> (y = held)\n"                                         \
            "start all_gather over b*a as gather[0] { held -> loose }\nwait gather[0]\n"           \
            "call copy(x = loose) -> (y = w[0])\n"
#define WIDE                                                                                       \
    "buffer wide : transient f32[hidden=4] pad 8 at 27648\n"                                       \
    "buffer wide.b : transient f32[hidden=4] flat/b window of wide\n"                              \
    "buffer wide.ba : transient f32[hidden=4] flat/b*a window of wide\n"
#define KEEP_ONE(size)                                                                             \
    "unit main.keep_one { phase forward parameter %x : f32[flat=" size "] result %y\n"             \
    "%y = cast(%x) : f32[flat=" size "] out }"

// Two pieces that read one item, of which one is used.
#define TWO_PIECES_OF_ONE(used)                                                                    \
    "start permute over b shift 1 as away[0] { w[0] -> spare[0], w[0] -> spare[1] }\n"             \
    "wait away[0]\ncall bend(x = w[1]) -> (y = w[0])\ncall copy(x = " used ") -> (y = w[2])\n"

static const struct mistake mistakes[] = {
    // Windows.
    {"gathered in place where another axis has its parts",
     "call copy(x = w[0]) -> (y = other)\ncall keep(x = other.b) -> (y = part.b)\n"
     "start all_gather over b as gather[0] { part.b -> whole }\nwait gather[0]\n"
     "call copy(x = whole) -> (y = w[0])\n",
     {REPLACE("x = other.b", "x = other.a"), REPLACE("over b as gather", "over a as gather")},
     "E610",
     "start all_gather over a",
     "share bytes"},
    {"gathered in place into another axis's part",
     "start all_gather over b as gather[0] { v -> other }\nwait gather[0]\n"
     "call keep_one(x = other.ba) -> (y = part.ba)\n"
     "start all_gather over a as again[0] { part.ba -> part.b }\nwait again[0]\n"
     "call keep(x = part.b) -> (y = v)\n",
     {REPLACE("part.ba -> part.b", "part.ba -> part.a"), REPLACE("x = part.b)", "x = part.a)")},
     "E610",
     "start all_gather over a",
     "share bytes"},
    {"a part of what nobody has written",
     "call copy(x = w[0]) -> (y = whole)\ncall keep(x = part.b) -> (y = v)\n",
     {DELETE("call copy(x = w[0]) -> (y = whole)")},
     "E611",
     "call keep",
     NULL},
    {"another axis's part than was written",
     "call copy(x = w[0]) -> (y = other)\ncall keep(x = other.a) -> (y = part.a)\n"
     "start all_gather over a as gather[0] { part.a -> loose }\nwait gather[0]\n"
     "call copy(x = loose) -> (y = w[1])\n",
     {REPLACE("{ part.a -> loose }", "{ part.b -> loose }")},
     "E511",
     "start all_gather over a",
     NULL},
    {"a part whose bytes have been overwritten",
     "buffer twin : transient f32[hidden=4] at 27648\ntrain {\n"
     "call keep(x = v) -> (y = part.b)\ncall copy(x = w[0]) -> (y = twin)\n"
     "call keep(x = part.b) -> (y = v)\n",
     {REPLACE("at 27648", "at 9216")},
     "E611",
     NULL,
     NULL},
    {"a part of a summand",
     "call sum(x = u) -> (y = whole)\n"
     "start all_reduce over b as sum[0] { whole -> whole }\nwait sum[0]\n"
     "call keep(x = part.b) -> (y = v)\n",
     {DELETE("start all_reduce over b"), DELETE("wait sum[0]")},
     "E410",
     "call keep",
     "is read as a part of"},
    {"a part of another axis's part than was written",
     PART_OF_PART("", "part"),
     {REPLACE("call keep(x = other.b) -> (y = part.b)", "call keep(x = other.a) -> (y = part.a)")},
     "E511",
     "call keep_one",
     "only this device's shard"},
    {"a part of a part, and then of the whole that it was the part of",
     PART_OF_PART("", "part"),
     {REPLACE("start all_gather", "call copy(x = whole) -> (y = w[1])\nstart all_gather")},
     "E511",
     "call copy(x = whole)",
     "only this device's shard"},
    {"a part of a part, put further on than the part begins",
     PART_OF_PART(WIDE, "wide"),
     {REPLACE("flat/b*a window of wide", "flat/b*a pad 2 window of wide"),
      REPLACE("held : transient f32[hidden=4] flat/b*a",
              "held : transient f32[hidden=4] flat/b*a pad 2"),
      REPLACE(KEEP_ONE("1"), KEEP_ONE("2")), REPLACE("over b*a as gather", "over b as gather")},
     "E511",
     "call keep_one",
     "only this device's shard"},
    {"a part of a part of a summand",
     "buffer part.ab : transient f32[hidden=4] flat/a*b window of whole\n"
     "buffer held : transient f32[hidden=4] flat/a*b at 28672\ntrain {\n"
     "call sum(x = u) -> (y = other)\n"
     "start all_reduce over b as sum[0] { other -> other }\nwait sum[0]\n"
     "call keep(x = other.a) -> (y = part.a)\ncall keep_one(x = part.ab) -> (y = held)\n"
     "start all_gather over a*b as gather[0] { held -> loose }\nwait gather[0]\n"
     "call copy(x = loose) -> (y = w[0])\n",
     {DELETE("start all_reduce over b"), DELETE("wait sum[0]")},
     "E410",
     "call keep_one",
     "is read as a part of"},

    // Transfers.
    {"never waited for, into what nothing reads",
     "start all_reduce over a as sum[0] { w[0] -> spare[0] }\nwait sum[0]\n",
     {DELETE("wait sum[0]")},
     "E612",
     "start all_reduce",
     "nothing waits"},
    {"gathered into less room than all parts take",
     "start all_gather over b as gather[0] { v -> loose }\nwait gather[0]\n"
     "call mix(n = loose, z = w[0]) -> (y = w[1])\n",
     {REPLACE("loose : transient f32[hidden=4]", "loose : transient f32[hidden=3] pad 4"),
      REPLACE("%n : f32[hidden=4]", "%n : f32[hidden=3]")},
     "E510",
     "start all_gather",
     "has no room"},
    {"the one source of several transfers, written while they read it",
     "for i = 0 .. 2 { start permute over b shift 1 as away[i mod 2] { w[0] -> spare[i] } }\n"
     "for i = 0 .. 2 { wait away[i mod 2] }\ncall bend(x = w[1]) -> (y = w[0])\n"
     "call copy(x = spare[1]) -> (y = w[2])\n",
     {BEFORE("call bend", "for i = 0 .. 2 { wait")},
     "E610",
     "start permute over b",
     "still reads"},
    {"the one source of two pieces, written while they are read, of which the first is used",
     TWO_PIECES_OF_ONE("spare[0]"),
     {BEFORE("call bend", "wait away")},
     "E610",
     "start permute over b",
     "still reads"},
    {"the one source of two pieces, written while they are read, of which the second is used",
     TWO_PIECES_OF_ONE("spare[1]"),
     {BEFORE("call bend", "wait away")},
     "E610",
     "start permute over b",
     "still reads"},
    {"a neighbour of the one source of several transfers, written while they read it",
     "for i = 0 .. 2 { start permute over b shift 1 as away[i mod 2] { w[0] -> spare[i] } }\n"
     "for i = 0 .. 2 { wait away[i mod 2] }\ncall bend(x = w[2]) -> (y = w[1])\n"
     "call copy(x = spare[1]) -> (y = w[2])\n",
     {BEFORE("call bend", "for i = 0 .. 2 { wait")},
     NULL,
     NULL,
     NULL},
    {"a neighbour of what several transfers read, written meanwhile",
     "for i = 0 .. 2 { call copy(x = w[i]) -> (y = spare[i]) }\n"
     "for i = 0 .. 2 { start permute over b shift 1 as away[i mod 2] { spare[i] -> many[i] } }\n"
     "for i = 0 .. 2 { wait away[i mod 2] }\ncall copy(x = w[2]) -> (y = spare[3])\n"
     "for i = 0 .. 2 { call copy(x = many[i]) -> (y = w[i]) }\n"
     "call bend(x = spare[3]) -> (y = w[3])\n",
     {BEFORE("call copy(x = w[2])", "for i = 0 .. 2 { wait")},
     NULL,
     NULL,
     NULL},
    {"two pieces of one transfer into one place, and a third elsewhere",
     "start permute over b shift 1 as away[0] { w[0] -> spare[2], w[1] -> spare[0], w[2] -> "
     "spare[1] }\nwait away[0]\ncall bend(x = spare[0]) -> (y = w[3])\n",
     {REPLACE("w[0] -> spare[2]", "w[0] -> spare[0]")},
     "E610",
     "start permute",
     "of which one is filled"},
    {"a piece that reads what another of the same transfer fills",
     "call copy(x = w[3]) -> (y = spare[0])\ncall copy(x = w[3]) -> (y = spare[2])\n"
     "start permute over b shift 1 as away[0] { w[0] -> spare[0], spare[2] -> spare[1] }\n"
     "wait away[0]\ncall bend(x = spare[1]) -> (y = w[1])\n",
     {REPLACE("spare[2] -> spare[1]", "spare[0] -> spare[1]")},
     "E610",
     "start permute",
     "of which one is filled"},
    {"waited for twice",
     "start all_reduce over a as sum[0] { w[0] -> w[0] }\nwait sum[0]\n",
     {DOUBLE("wait sum[0]")},
     "E612",
     "wait sum[0]",
     NULL},
    {"waited for twice inside a unit",
     "call total(x = w[0]) -> (y = w[1])\n",
     {REPLACE("%y = wait(%s)", "%t = wait(%s) : " ROW "\n%y = wait(%t)")},
     "E612",
     "%y = wait",
     NULL},

    // Bytes.
    {"two parameters in one place",
     "call copy(x = w[0]) -> (y = spare[0])\ncall copy(x = spare[0]) -> (y = w[1])\n",
     {REPLACE("of v at 2048", "of v at 1024")},
     "E611",
     "w : parameters",
     "filled before the step"},
    {"a parameter in the way of two",
     "call copy(x = w[0]) -> (y = spare[0])\ncall copy(x = spare[0]) -> (y = w[1])\n",
     {REPLACE("of v at 2048", "of v at 1092"), REPLACE("of u at 3072", "of u at 1080")},
     "E611",
     "u : parameters",
     "filled before the step"},
    {"one item for two things",
     "call add(x = w[0], sum = w[1])\n",
     {REPLACE("sum = w[1]", "sum = w[0]")},
     "E611",
     "call add",
     "the same bytes for two things"},
    {"one item for two results, and another for a third",
     "call twice(x = w[0]) -> (y = w[1])\n",
     {REPLACE("-> (y = w[1])", "-> (s = w[1], y = w[1], t = spare[0])"),
      REPLACE("result %y\n%s = silu(%x) : " ROW "\n%y = silu(%s)",
              "result %s result %y result %t\n%s = silu(%x) : " ROW " out\n"
              "%t = silu(%x) : " ROW " out\n%y = silu(%s)")},
     "E611",
     "call twice",
     "the same bytes for two things"},
    {"one item for what is consumed and a result, another for what else is consumed",
     "call copy(x = w[0]) -> (y = spare[0])\ncall copy(x = w[1]) -> (y = spare[1])\n"
     "call devour(x = spare[0], z = spare[1], u = w[1]) -> (y = spare[2])\n"
     "call copy(x = spare[2]) -> (y = w[2])\n",
     {REPLACE("(y = spare[2])", "(y = spare[0])"),
      REPLACE("copy(x = spare[2])", "copy(x = spare[0])")},
     "E611",
     "call devour",
     "the same bytes for two things"},
    {"two parameters of one collective in one place",
     "start all_reduce over a as sum[0] { line -> line, w[0] -> w[0] }\nwait sum[0]\n",
     {REPLACE("of line at 17408", "of line at 1024")},
     "E610",
     "w : parameters",
     "needs both at once"},
    {"one buffer in the way of two that a call needs",
     "call copy(x = w[0]) -> (y = whole)\ncall copy(x = w[1]) -> (y = work)\n"
     "call times(x = whole, z = work) -> (y = other)\ncall copy(x = other) -> (y = w[2])\n",
     {REPLACE("work : transient f32[hidden=4] at 10240", "work : transient f32[hidden=4] at 9232"),
      REPLACE("other : transient f32[hidden=4] at 14336",
              "other : transient f32[hidden=4] at 9224")},
     "E611",
     "other : transient",
     "share bytes"},
    {"one buffer in the way of two, written while they are needed",
     "call copy(x = w[0]) -> (y = whole)\ncall copy(x = w[1]) -> (y = work)\n"
     "call copy(x = w[2]) -> (y = other)\ncall times(x = whole, z = other) -> (y = spare[0])\n"
     "call times(x = work, z = spare[0]) -> (y = spare[1])\n"
     "call times(x = work, z = other) -> (y = spare[2])\n"
     "call copy(x = spare[1]) -> (y = w[3])\ncall copy(x = spare[2]) -> (y = w[0])\n",
     {REPLACE("work : transient f32[hidden=4] at 10240", "work : transient f32[hidden=4] at 9232"),
      REPLACE("other : transient f32[hidden=4] at 14336",
              "other : transient f32[hidden=4] at 9224")},
     "E611",
     "other : transient",
     "overwritten"},
    {"a buffer in the way of a parameter and of one that others share at other times",
     "call copy(x = w[0]) -> (y = whole)\ncall copy(x = whole) -> (y = spare[0])\n"
     "call copy(x = w[1]) -> (y = work)\ncall copy(x = work) -> (y = spare[1])\n"
     "call framed(x = spare[0]) -> (y = spare[3])\n"
     "call copy(x = w[2]) -> (y = loose)\ncall bend(x = w[2]) -> (y = other)\n"
     "call times(x = loose, z = other) -> (y = spare[2])\nfree whole, work, loose\n"
     "call times(x = spare[0], z = spare[1]) -> (y = w[0])\n"
     "call times(x = spare[2], z = w[3]) -> (y = w[1])\n",
     {REPLACE("w layers 4 at 1024", "w layers 4 at 9232"),
      REPLACE("whole : transient f32[hidden=4] at 9216", "whole : transient f32[hidden=4] at 9208"),
      REPLACE("work : transient f32[hidden=4] at 10240", "work : transient f32[hidden=4] at 9208"),
      REPLACE("loose : transient f32[hidden=4] at 18432",
              "loose : transient f32[hidden=4] at 9216"),
      REPLACE("other : transient f32[hidden=4] at 14336",
              "other : transient f32[hidden=4] at 9224")},
     "E611",
     "other : transient",
     "overwritten"},
    {"a transient buffer in the way of a transfer's and of a parameter",
     "start all_gather over b as gather[0] { v -> whole }\n"
     "call copy(x = w[0]) -> (y = loose)\nwait gather[0]\n"
     "call copy(x = whole) -> (y = w[1])\n",
     {REPLACE("whole : transient f32[hidden=4] at 9216", "whole : transient f32[hidden=4] at 1008"),
      REPLACE("loose : transient f32[hidden=4] at 18432",
              "loose : transient f32[hidden=4] at 1016")},
     "E610",
     "loose : transient",
     "still fills"},
    {"a transient buffer in the way of a transfer's and of a parameter used elsewhere",
     "call copy(x = w[0]) -> (y = spare[0])\n"
     "start all_gather over b as gather[0] { v -> whole }\n"
     "call copy(x = spare[0]) -> (y = loose)\nwait gather[0]\n"
     "call copy(x = whole) -> (y = w[1])\n",
     {REPLACE("whole : transient f32[hidden=4] at 9216", "whole : transient f32[hidden=4] at 1008"),
      REPLACE("loose : transient f32[hidden=4] at 18432",
              "loose : transient f32[hidden=4] at 1016")},
     "E610",
     "loose : transient",
     "still fills"},
    {"a parameter in the way of two transient buffers",
     "call copy(x = w[0]) -> (y = spare[0])\ncall bend(x = spare[0]) -> (y = whole)\n"
     "call bend(x = spare[0]) -> (y = other)\ncall times(x = whole, z = other) -> (y = spare[1])\n"
     "zero grad_norm\ncall norm(x = spare[1], sum = grad_norm)\ncall norm(x = w[1], sum = "
     "grad_norm)\n",
     {REPLACE("layers 4 at 1024", "layers 4 at 9200"),
      REPLACE("other : transient f32[hidden=4] at 14336",
              "other : transient f32[hidden=4] at 9240")},
     "E611",
     "w : parameters",
     NULL},
    {"a buffer in the way of one that nothing needs beside it, but which still holds something",
     "call copy(x = w[0]) -> (y = other)\ncall copy(x = w[1]) -> (y = whole)\n"
     "call bend(x = whole) -> (y = loose)\ncall copy(x = loose) -> (y = w[1])\n"
     "call copy(x = other) -> (y = w[2])\nfree whole, other, loose\n",
     {REPLACE("other : transient f32[hidden=4] at 14336",
              "other : transient f32[hidden=4] at 9232"),
      REPLACE("loose : transient f32[hidden=4] at 18432",
              "loose : transient f32[hidden=4] at 9224")},
     "E611",
     "loose : transient",
     "share bytes"},
    {"read after it was freed",
     "call copy(x = w[0]) -> (y = spare[0])\ncall bend(x = spare[0]) -> (y = w[1])\n",
     {INSERT("free spare[0]", "call bend(x = spare")},
     "E611",
     "call bend",
     "freed"},
    {"read after it was consumed",
     "call copy(x = w[0]) -> (y = spare[0])\ncall eat(x = spare[0]) -> (y = w[1])\n",
     {DOUBLE("call eat")},
     "E611",
     "call eat",
     "consumed"},
    {"a frame where a parameter is",
     "call framed(x = w[0]) -> (y = w[1])\n",
     {REPLACE("at 10240", "at 1056")}, // that of layer 2
     "E611",
     "call framed",
     "is lost"},
    {"the place of a parameter that the caller keeps",
     "call twice(x = w[0]) -> (y = w[1])\n",
     {REPLACE("%s = silu(%x) : " ROW, "%s = silu(%x) : " ROW " in %x")},
     "E611",
     NULL,
     "which its caller keeps"},
    {"a sum, read after a kernel has added to it",
     ADD_PRODUCT,
     {REPLACE(BENT_SUM, ""), REPLACE(PRODUCT_ADDED, PRODUCT_ADDED BENT_SUM)},
     "E611",
     "%s = silu(%sum)",
     "is read after"},
    {"a sum, read before what no kernel makes is added to it",
     ADD_PRODUCT,
     {REPLACE(BENT_SUM, ""),
      REPLACE(PRODUCT_ADDED, "%n = mul(%x, %z) : " ROW " inline\n" BENT_SUM)},
     NULL,
     NULL,
     NULL},
    {"the place of a sum to which a kernel has added",
     ADD_PRODUCT,
     {REPLACE(PRODUCT_ADDED, PRODUCT_ADDED "%t = silu(%x) : " ROW " in %sum\n")},
     "E611",
     "%y = accumulate(%sum, %n)",
     "took its place"},
    {"the place of a sum before a kernel adds to it",
     ADD_PRODUCT,
     {REPLACE(PRODUCT_ADDED, "%t = silu(%x) : " ROW " in %sum\n" PRODUCT_ADDED)},
     "E611",
     "%y = accumulate(%sum, %n)",
     "`sum` is read after `t` took its place"},
    {"a sum, multiplied by the kernel that adds to it",
     ADD_PRODUCT,
     {REPLACE("einsum(%x, %z) {labels=\"h,h->h\"} : " ROW " inline",
              "einsum(%x, %sum) {labels=\"h,h->h\"} : " ROW " inline")},
     "E611",
     "%y = accumulate(%sum, %n)",
     "`sum` is read after `n` took its place"},
    {"a sum to which a kernel has added, added to by another op",
     ADD_PRODUCT,
     {REPLACE(BENT_SUM, ""),
      REPLACE(PRODUCT_ADDED, PRODUCT_ADDED "%s = add(%sum, %n) : " ROW " out\n")},
     "E611",
     "%s = add(%sum, %n)",
     "`sum` is read after `n` took its place"},
    {"the place of a sum in which what is added to it was made",
     "call framed(x = w[0]) -> (y = w[1])\n",
     {REPLACE("%y = silu(%s) : " ROW " out }\nunit main.both",
              "%t = silu(%x) : " ROW " at 0\n%y = accumulate(%s, %t) : " ROW " out }\n"
              "unit main.both")},
     "E611",
     "%y = accumulate(%s, %t)",
     "`s` is read after `t` took its place"},
    {"a sum that is made behind the kernel which adds to it",
     "call framed(x = w[0]) -> (y = w[1])\n",
     {REPLACE(FRAMED, PRODUCT_OF_X "%s = silu(%x) : " ROW " at 0\n"
                                   "%y = accumulate(%s, %n) : " ROW " out }")},
     "E611",
     "%y = accumulate(%s, %n)",
     "`s` has no place yet"},
    {"a sum without a place, to which a kernel adds",
     "call framed(x = w[0]) -> (y = w[1])\n",
     {REPLACE(FRAMED, "%s = silu(%x) : " ROW " inline\n" PRODUCT_OF_X
                      "%y = accumulate(%s, %n) : " ROW " out }")},
     "E611",
     "%y = accumulate(%s, %n)",
     "`s` has no place yet"},
    {"a sum that is made before the kernel which adds to it",
     ADD_PRODUCT,
     {REPLACE(PRODUCT_ADDED "%y = accumulate(%sum, %n) : " ROW " in %sum",
              "%c = cast(%sum) : " ROW " in %sum\n" PRODUCT_ADDED "%y = accumulate(%c, %n) : " ROW
              " in %c")},
     NULL,
     NULL,
     NULL},
    {"a sum that has no place yet, read behind the one that takes its place",
     ADD_PRODUCT,
     {REPLACE(BENT_SUM, ""), REPLACE("%y = accumulate(%sum, %n) : " ROW " in %sum",
                                     "%y = accumulate(%sum, %n) : " ROW "\n" BENT_SUM)},
     NULL,
     NULL,
     NULL},
    {"items that are written while a transfer reads others, of buffers that have no place yet",
     "for i = 0 .. 4 { call copy(x = w[i]) -> (y = many[i+8]) }\n"
     "for i = 0 .. 4 { start permute over b shift 1 as away[i mod 4] { many[i+8] -> spare[i] } }\n"
     "call bend(x = w[0]) -> (y = many[2])\n"
     "for i = 0 .. 4 { wait away[i mod 4] call copy(x = spare[i]) -> (y = w[i]) }\n",
     {REPLACE("slots 67 at 20480", "slots 67"), REPLACE("slots 4 at 8192", "slots 4")},
     NULL,
     NULL,
     NULL},
    {"the place of what a collective still reads",
     "call total(x = w[0]) -> (y = w[1])\n",
     {REPLACE("%s = all_reduce(%x) {axes=a} : " ROW "\n",
              "%c = cast(%x) : " ROW "\n%s = all_reduce(%c) {axes=a} : " ROW "\n"
              "%t = silu(%x) : " ROW " in %c\n")},
     "E610",
     "%t = silu(%x)",
     "while a collective reads it"},
    {"the place of a parameter that is consumed, and its value once more",
     "call copy(x = w[0]) -> (y = spare[0])\ncall eat(x = spare[0]) -> (y = w[1])\n",
     {REPLACE("%y = silu(%x) : " ROW " out }\nunit main.devour",
              "%s = silu(%x) : " ROW " in %x\n%y = cast(%s) : " ROW " out }\nunit main.devour"),
      DOUBLE("call eat")},
     "E611",
     "call eat",
     "consumed"},
    {"the place of what a value without one is made of",
     "call both(x = w[0]) -> (y = w[1])\n",
     {REPLACE("%t = silu(%x) : " ROW, "%t = silu(%x) : " ROW " in %s")},
     "E611",
     "%y = add",
     NULL},
    {"one of two that are written side by side lies where a parameter is",
     "call copy(x = w[2]) -> (y = spare[0])\ncall bend(x = w[3]) -> (y = spare[1])\n",
     {REPLACE("slots 4 at 8192", "slots 4 at 1008")},
     "E611",
     "call bend",
     "is lost"},
};

static void each_mistake_is_found(void **state) {
    assert_true(small_steps_are_found(mistakes, sizeof mistakes / sizeof *mistakes));
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(each_mistake_is_found)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
