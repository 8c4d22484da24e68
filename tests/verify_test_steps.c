// Steps of a few statements, each with one mistake: the step as it should be is accepted, and is
// the reference; the edited one is refused as what it is, at its place. Without the rule that says
// so it would be accepted, or refused as something else (tools/verifier_rules.py deletes each).
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "tests/trial.h"
#include "verify/engine.h"

// ---- programs ---------------------------------------------------------------------------------

static const char head[] =
    "step main {\n"
    "axis a = 2\n"
    "axis b = 2\n"
    "sizes batch = 16 sequence = 2 microbatches = 8 layers = 4 vocab = 3\n"
    "policy parameters = f32 master = none moments = f32 gradients = f32 compute = f32\n"
    "  accumulate = f32 gather = f32 reduce = f32 reproducible = 0\n"
    "  wire over b way = topk kept = 1\n"
    "arena 100000\n"
    "tensor w [hidden=4] role norm layers 4 init ones saved \"w\"\n"
    "tensor v [hidden=4] role norm init ones saved \"v\"\n"
    "tensor u [ffn=4, hidden=4] role norm init ones saved \"u\"\n"
    "tensor q [batch=1, sequence=4, heads=1, group=1, head_dim=2] role norm init ones saved \"q\"\n"
    "tensor k [batch=1, sequence=4, kv_heads=1, head_dim=2] role norm init ones saved \"k\"\n"
    "tensor table [vocab=3, hidden=4] role embedding init ones saved \"t\"\n"
    "tensor cube [ffn=4, heads=4, hidden=4] role norm init ones saved \"c\"\n"
    "tensor line [hidden=4] role norm init ones saved \"l\"\n"
    "tensor face [ffn=4, heads=4] role norm init ones saved \"f\"\n"
    "tensor short [vocab=3] role norm init ones saved \"s\"\n"
    "buffer w : parameters f32[hidden=4] of w layers 4 at 1024\n"
    "buffer v : parameters f32[hidden=4] flat/b of v at 2048\n"
    "buffer u : parameters f32[ffn=4/b, hidden=4] of u at 3072\n"
    "buffer q : parameters f32[batch=1, sequence=4/a, heads=1, group=1, head_dim=2] of q at 4096\n"
    "buffer k : parameters f32[batch=1, sequence=4/a, kv_heads=1, head_dim=2] of k at 5120\n"
    "buffer table : parameters f32[vocab=3, hidden=4] of table at 6144\n"
    "buffer cube : parameters f32[ffn=4, heads=4, hidden=4/b] of cube at 16384\n"
    "buffer line : parameters f32[hidden=4/b] of line at 17408\n"
    "buffer face : parameters f32[ffn=4, heads=4] of face at 24576\n"
    "buffer token_count : output f64[] host token_count at 25600\n"
    "buffer grad_norm : output f64[] host grad_norm at 26624\n"
    "buffer targets : input i32[batch=16/a, sequence=2] host targets microbatches 8 at 7168\n"
    "buffer spare : transient f32[hidden=4] slots 4 at 8192\n"
    "buffer whole : transient f32[hidden=4] at 9216\n"
    "buffer part.a : transient f32[hidden=4] flat/a window of whole\n"
    "buffer part.b : transient f32[hidden=4] flat/b window of whole\n"
    "buffer part.ba : transient f32[hidden=4] flat/b*a window of whole\n"
    "buffer other : transient f32[hidden=4] at 14336\n"
    "buffer other.a : transient f32[hidden=4] flat/a window of other\n"
    "buffer other.b : transient f32[hidden=4] flat/b window of other\n"
    "buffer other.ba : transient f32[hidden=4] flat/b*a window of other\n"
    "buffer work : transient f32[hidden=4] at 10240\n"
    "buffer loose : transient f32[hidden=4] at 18432\n"
    "buffer many : transient f32[hidden=4] slots 67 at 20480\n"
    "buffer moved : transient f32[ffn=4/b, hidden=4] at 11264\n"
    "buffer next : transient f32[batch=1, sequence=4/a, heads=1, group=1, head_dim=2] at 12288\n"
    "buffer shard : transient f32[hidden=4] flat/b at 43008\n"
    "buffer squares : transient f64[] at 40960\n"
    "buffer norm2 : transient f64[] at 41984\n"
    "buffer rows : transient f32[batch=1, sequence=2, hidden=4] slots 8 at 13312\n";

#define ROW  "f32[hidden=4]"
#define ROWS "f32[batch=1, sequence=2, hidden=4]"
// Of one microbatch, added to a sum.
#define ADD_ROWS(name, of)                                                                         \
    "unit main." name " { phase forward parameter %t : f32[vocab=3, hidden=4]\n"                   \
    "parameter %x : i32[batch=1, sequence=2] parameter %z : " ROW " parameter %sum : " ROW "\n"    \
    "result %y in %sum\n"                                                                          \
    "%r = iota() {dimension=vocab} : i32[vocab=3] inline\n"                                        \
    "%a = embedding(%x, %t, %r) : " ROWS "\n%b = mul(%a, %a) : " ROWS "\n" of                      \
    "%y = accumulate(%sum, %n) : " ROW " in %sum }\n"
static const char units[] =
    "}\n}\n"
    "unit main.copy { phase forward parameter %x : " ROW " result %y\n"
    "%y = cast(%x) : " ROW " out }\n"
    "unit main.bend { phase forward parameter %x : " ROW " result %y\n"
    "%y = silu(%x) : " ROW " out }\n"
    "unit main.times { phase forward parameter %x : " ROW " parameter %z : " ROW " result %y\n"
    "%y = einsum(%x, %z) {labels=\"h,h->h\"} : " ROW " out }\n"
    "unit main.add { phase forward parameter %x : " ROW " parameter %sum : " ROW "\n"
    "result %y in %sum\n%y = accumulate(%sum, %x) : " ROW " in %sum }\n"
    "unit main.sum { phase forward parameter %x : f32[ffn=2, hidden=4] result %y\n"
    "%y = sum_rows(%x) {keep=1} : " ROW " out }\n"
    "unit main.square { phase forward parameter %x : f32[ffn=2, hidden=4] result %y\n"
    "%y = mul(%x, %x) : f32[ffn=2, hidden=4] out }\n"
    "unit main.copy_u { phase forward parameter %x : f32[ffn=2, hidden=4] result %y\n"
    "%y = cast(%x) : f32[ffn=2, hidden=4] out }\n"
    "unit main.flatten { phase forward parameter %x : f32[ffn=4, heads=4, hidden=2] result %y\n"
    "%y = sum_rows(%x) {keep=1} : f32[hidden=2] out }\n"
    "unit main.weigh { phase forward parameter %x : f32[flat=2] parameter %z : " ROW " result %y\n"
    "%y = mul(%x, %x) : f32[flat=2] out }\n"
    "unit main.mix { phase forward parameter %n : f32[hidden=4] parameter %z : " ROW " result %y\n"
    "%y = einsum(%n, %z) {labels=\"n,h->h\"} : " ROW " out }\n"
    "unit main.greatest { phase forward parameter %x : f32[ffn=4, heads=4, hidden=2] result %y\n"
    "%own = row_max(%x) : f32[ffn=4, heads=4]\n"
    "%all = all_reduce(%own) {axes=b, operation=\"max\"} : f32[ffn=4, heads=4]\n"
    "%y = wait(%all) : f32[ffn=4, heads=4] out }\n"
    "unit main.count { phase forward parameter %x : i32[batch=1, sequence=2]\n"
    "parameter %sum : f64[] result %y in %sum\n"
    "%n = count_tokens(%x) : f64[]\n"
    "%y = accumulate(%sum, %n) : f64[] in %sum }\n"
    "unit main.norm { phase forward parameter %x : " ROW " parameter %sum : f64[]\n"
    "result %y in %sum\n"
    "%n = square_sum(%x) : f64[]\n"
    "%y = accumulate(%sum, %n) : f64[] in %sum }\n"
    "unit main.length { phase forward parameter %x : " ROW " parameter %z : " ROW "\n"
    "parameter %u : " ROW " parameter %r : " ROW " result %y\n"
    "%a = square_sum(%x) : f64[]\n"
    "%b = square_sum(%z) : f64[]\n"
    "%s.1 = add(%a, %b) : f64[]\n"
    "%c = square_sum(%u) : f64[]\n"
    "%s.2 = add(%s.1, %c) : f64[]\n"
    "%d = square_sum(%r) : f64[]\n"
    "%s.3 = add(%s.2, %d) : f64[]\n"
    "%y = square_root(%s.3) : f64[] out }\n"
    "unit main.gated { phase forward parameter %x : " ROW " parameter %z : " ROW "\n"
    "parameter %u : " ROW " result %y\n"
    "%gate = einsum(%x, %z) {labels=\"h,h->h\"} : " ROW "\n"
    "%up = einsum(%x, %u) {labels=\"h,h->h\"} : " ROW "\n"
    "%bent = silu(%gate) : " ROW "\n"
    "%y = mul(%bent, %up) : " ROW " out }\n"
    "unit main.root { phase forward parameter %x : f64[] result %y\n"
    "%y = square_root(%x) : f64[] out }\n"
    "unit main.pair { phase forward parameter %t : f32[vocab=3, hidden=4]\n"
    "parameter %x : i32[batch=1, sequence=2] parameter %z : i32[batch=1, sequence=2]\n"
    "parameter %sum : f64[] result %y in %sum\n"
    "%r = iota() {dimension=vocab} : i32[vocab=3] inline\n"
    "%a = embedding(%x, %t, %r) : f32[batch=1, sequence=2, hidden=4]\n"
    "%b = embedding(%z, %t, %r) : f32[batch=1, sequence=2, hidden=4]\n"
    "%p = mul(%a, %b) : f32[batch=1, sequence=2, hidden=4]\n"
    "%n = square_sum(%p) : f64[]\n"
    "%y = accumulate(%sum, %n) : f64[] in %sum }\n"
    "unit main.eat { phase forward parameter consumed %x : " ROW " result %y\n"
    "%y = silu(%x) : " ROW " out }\n"
    "unit main.keep { phase forward parameter %x : f32[flat=2] result %y\n"
    "%y = cast(%x) : f32[flat=2] out }\n"
    "unit main.plus { phase forward parameter %x : f32[flat=2] parameter %z : f32[flat=2] result "
    "%y\n"
    "%y = add(%x, %z) : f32[flat=2] out }\n"
    "unit main.keep_one { phase forward parameter %x : f32[flat=1] result %y\n"
    "%y = cast(%x) : f32[flat=1] out }\n"
    "unit main.twice { phase forward parameter %x : " ROW " result %y\n"
    "%s = silu(%x) : " ROW "\n"
    "%y = silu(%s) : " ROW " out }\n"
    "unit main.framed { phase forward frame 16 of work parameter %x : " ROW " result %y\n"
    "%s = silu(%x) : " ROW " at 0\n"
    "%y = silu(%s) : " ROW " out }\n"
    "unit main.both { phase forward parameter %x : " ROW " result %y\n"
    "%s = silu(%x) : " ROW "\n"
    "%i = cast(%s) : " ROW " inline\n"
    "%t = silu(%x) : " ROW "\n"
    "%y = add(%i, %t) : " ROW " out }\n"
    "unit main.joint { phase forward parameter %x : " ROW " result %y\n"
    "%s = silu(%x) : " ROW "\n"
    "%t = add(%x, %s) : " ROW "\n"
    "%y = einsum(%t, %s) {labels=\"h,h->h\"} : " ROW " out }\n"
    "unit main.total { phase forward parameter %x : " ROW " result %y\n"
    "%s = all_reduce(%x) {axes=a} : " ROW "\n"
    "%y = wait(%s) : " ROW " out }\n"
    "unit main.look { phase forward parameter %t : f32[vocab=3, hidden=4]\n"
    "parameter %x : i32[batch=1, sequence=2] result %y\n"
    "%r = iota() {dimension=vocab} : i32[vocab=3] inline\n"
    "%y = embedding(%x, %t, %r) : f32[batch=1, sequence=2, hidden=4] out }\n"
    "unit main.copy_q { phase forward\n"
    "parameter %x : f32[batch=1, sequence=2, heads=1, group=1, head_dim=2] result %y\n"
    "%y = cast(%x) : f32[batch=1, sequence=2, heads=1, group=1, head_dim=2] out }\n"
    "unit main.ring { phase forward\n"
    "parameter %q : f32[batch=1, sequence=2, heads=1, group=1, head_dim=2]\n"
    "parameter %k : f32[batch=1, sequence=2, kv_heads=1, head_dim=2] result %o\n"
    "%p = iota() {dimension=sequence, axes=a} : i32[sequence=2]\n"
    "%at = iota() {dimension=sequence, axes=a} : i32[sequence=2]\n"
    "%o.0, %lse.0 = attention(%q, %k, %k, %p, %at) {scale=0.5} :\n"
    "  f32[batch=1, sequence=2, heads=1, group=1, head_dim=2],\n"
    "  f32[batch=1, sequence=2, heads=1, group=1]\n"
    "%k.sent = permute(%k) {axes=a, shift=1} : f32[batch=1, sequence=2, kv_heads=1, head_dim=2]\n"
    "%k.1 = wait(%k.sent) : f32[batch=1, sequence=2, kv_heads=1, head_dim=2]\n"
    "%at.sent = permute(%at) {axes=a, shift=1} : i32[sequence=2]\n"
    "%at.1 = wait(%at.sent) : i32[sequence=2]\n"
    "%o.1, %lse.1 = attention(%q, %k.1, %k.1, %p, %at.1) {scale=0.5} :\n"
    "  f32[batch=1, sequence=2, heads=1, group=1, head_dim=2],\n"
    "  f32[batch=1, sequence=2, heads=1, group=1]\n"
    "%o, %lse = attention_merge(%o.0, %lse.0, %o.1, %lse.1) :\n"
    "  f32[batch=1, sequence=2, heads=1, group=1, head_dim=2] out,\n"
    "  f32[batch=1, sequence=2, heads=1, group=1] }\n"
    "unit main.send_q { phase forward\n"
    "parameter %g : f32[batch=1, sequence=2, heads=1, group=1, head_dim=2]\n"
    "parameter %u : f32[ffn=2, hidden=4]\n"
    "parameter %r : f32[batch=1, sequence=2, heads=1, group=1, head_dim=2]\n"
    "result %y result %code result %rest in %r\n"
    "%y = einsum(%g, %u) {labels=\"bsgrd,fh->bsgrd\"} :\n"
    "  f32[batch=1, sequence=2, heads=1, group=1, head_dim=2] out\n"
    "%code, %rest = compress(%y, %r) {way=\"topk\", kept=1} : i32[flat=2] out,\n"
    "  f32[batch=1, sequence=2, heads=1, group=1, head_dim=2] in %r }\n"
    "unit main.slope { phase forward parameter %t : f32[vocab=3, hidden=4]\n"
    "parameter %u : f32[ffn=2, hidden=4] result %y\n"
    "%twice = einsum(%t, %u) {labels=\"vh,fh->v\"} : f32[vocab=3]\n"
    "%y = divide(%twice) {divisor=2} : f32[vocab=3] out }\n"
    "unit main.send { phase forward parameter %g : f32[flat=2] parameter %r : f32[flat=2]\n"
    "result %code result %rest in %r\n"
    "%code, %rest = compress(%g, %r) {way=\"topk\", kept=1} : i32[flat=2] out, f32[flat=2] in %r "
    "}\n"
    "unit main.score { phase forward parameter %t : f32[vocab=3, hidden=4]\n"
    "parameter %x : i32[batch=8, sequence=2] result %y\n"
    "%r = iota() {dimension=vocab} : i32[vocab=3] inline\n"
    "%e = embedding(%x, %t, %r) : f32[batch=8, sequence=2, hidden=4]\n"
    "%y = einsum(%e, %t) {labels=\"bsh,vh->bsv\"} : f32[batch=8, sequence=2, vocab=3] out }\n"
    "unit main.exps { phase forward parameter %x : f32[vocab=3] parameter %c : f64[] result %y\n"
    "%w = cast(%x) : f64[vocab=3]\n%y = sum_exp(%w, %c) : f64[] out }\n"
    "unit main.most { phase forward parameter %t : f32[vocab=3, hidden=4]\n"
    "parameter %x : i32[batch=16, sequence=2] result %y\n"
    "%r = iota() {dimension=vocab} : i32[vocab=3] inline\n"
    "%e = embedding(%x, %t, %r) : f32[batch=16, sequence=2, hidden=4]\n"
    "%h = einsum(%e, %t) {labels=\"bsh,vh->hb\"} : f32[hidden=4, batch=16]\n"
    "%y = row_max(%h) : " ROW
    " out }\n" ADD_ROWS("rows", "%s = add(%a, %b) : " ROWS "\n"
                                "%n = einsum(%s, %z) {labels=\"bsh,h->h\"} : " ROW "\n")
        ADD_ROWS("rows.a", "%n = einsum(%a, %z) {labels=\"bsh,h->h\"} : " ROW "\n")
            ADD_ROWS("rows.b", "%n = einsum(%b, %z) {labels=\"bsh,h->h\"} : " ROW "\n");

// Statements may begin with buffers of their own.
static void begin(struct trial *t, const char *statements) {
    const char *train = strstr(statements, "train {") ? "" : "train {\n";
    *t = (struct trial){0};
    t->diagnostics = diagnostics_new(&t->arena, &t->sources);
    trial_read(t, arena_format(&t->arena, "%s%s%s%s", head, train, statements, units));
    t->reference = t->program;
}

// ---- one mistake each -------------------------------------------------------------------------

struct mistake {
    const char *name, *statements;
    struct edit edits[7];
    const char *code;      // NULL: it is none
    const char *at, *says; // NULL: anything
};

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
#define EVALUATE "}\nevaluate {\ncall bend(x = w[0]) -> (y = spare[0])\n"
#define RING     "call ring(q = q, k = k) -> (o = next)\ncall copy_q(x = next) -> (y = q)\n"
#define WHOLE_QUERIES                                                                              \
    REPLACE_ALL("sequence=4/a, heads", "sequence=4, heads"),                                       \
        REPLACE_ALL("sequence=2, heads", "sequence=4, heads"),                                     \
        REPLACE("%p = iota() {dimension=sequence, axes=a} : i32[sequence=2]",                      \
                "%p = iota() {dimension=sequence} : i32[sequence=4]")

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
    {"no evaluation", EVALUATE, {REPLACE(EVALUATE, "")}, "E514", NULL, "there is no step"},
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
    {"a part of a summand",
     "call sum(x = u) -> (y = whole)\n"
     "start all_reduce over b as sum[0] { whole -> whole }\nwait sum[0]\n"
     "call keep(x = part.b) -> (y = v)\n",
     {DELETE("start all_reduce over b"), DELETE("wait sum[0]")},
     "E410",
     "call keep",
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

    // Ops.
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
     "lacks"},
    {"a sum that is brought without its last summand",
     SQUARES,
     {DELETE("call norm(x = spare[3]")},
     "E412",
     "start permute over a",
     "lacks"},
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

    // Bytes.
    {"two parameters in one place",
     "call copy(x = w[0]) -> (y = spare[0])\ncall copy(x = spare[0]) -> (y = w[1])\n",
     {REPLACE("of v at 2048", "of v at 1024")},
     "E611",
     "w : parameters",
     "filled before the step"},
    {"one item for two things",
     "call add(x = w[0], sum = w[1])\n",
     {REPLACE("sum = w[1]", "sum = w[0]")},
     "E611",
     "call add",
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

// Judges the program, and what the edits make of it.
static bool is_found(const struct mistake *mistake) {
    struct trial t;
    begin(&t, mistake->statements);
    trial_judge(&t);
    struct expected_verdict expected = {mistake->code, mistake->at, mistake->says};
    bool right = t.verdict.kind == VERDICT_ACCEPTED;
    if (right) {
        trial_read(&t, program_edit(&t.arena, t.text, mistake->edits));
        trial_judge(&t);
        right = trial_is_as_expected(&t, expected);
    }
    return trial_end(&t, right, mistake->name, expected);
}

static void each_mistake_is_found(void **state) {
    unsigned n_failed = 0;
    for (size_t i = 0; i < sizeof mistakes / sizeof *mistakes; i++)
        n_failed += !is_found(&mistakes[i]);
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
    begin(&t, "for i = 0 .. 2 { call copy(x = w[0]) -> (y = spare[0]) }\n");
    struct loop *loop = &t.program->steps[STEP_TRAIN].body.statements[0].loop;
    loop->begin = -(1 << 21);
    loop->end = loop->begin + 2;
    expect_refused(&t, E491);
}

// `value`: of a unit with one operand and one result.
static void expect_size_refused(value_id value) {
    struct trial t;
    begin(&t, "call copy(x = w[0]) -> (y = w[1])\n");
    t.program->units[program_find_unit(t.program, "copy")].values[value].type.dims[0].size = 3;
    expect_refused(&t, E510);
}

static void values_of_other_sizes_are_refused(void **state) {
    expect_size_refused(0);
    expect_size_refused(1);
}

static void results_bound_elsewhere_than_they_are_made_are_refused(void **state) {
    struct trial t;
    begin(&t, "call add(x = w[0], sum = w[1])\n");
    t.program->steps[STEP_TRAIN].body.statements[0].call.results[0].index = index_constant(2);
    expect_refused(&t, E611);
}

// ---- the store --------------------------------------------------------------------------------

static void begin_engine(struct trial *t, struct engine *e, const char *statements) {
    begin(t, statements);
    struct terms *terms = ARENA_NEW(&t->arena, struct terms);
    terms_init(terms, &t->arena, (int32_t)t->program->sizes.microbatches);
    engine_init(e, t->program, terms, &t->arena, t->diagnostics);
}

static buffer_id move_to(struct trial *t, const char *name, int64_t offset) {
    buffer_id id = program_find_buffer(t->program, name);
    t->program->buffers[id].offset_bytes = offset;
    return id;
}

// Of three in a row only neighbours meet; what has no offset meets nobody.
static void bytes_meet_where_they_are_shared(void **state) {
    struct trial t;
    struct engine e;
    begin(&t, "");
    buffer_id first = move_to(&t, "spare", 0), second = move_to(&t, "whole", 56);
    buffer_id third = move_to(&t, "work", 68), none = move_to(&t, "moved", -1);
    struct terms *terms = ARENA_NEW(&t.arena, struct terms);
    terms_init(terms, &t.arena, 1);
    engine_init(&e, t.program, terms, &t.arena, t.diagnostics);
    assert_true(buffers_meet(&e, first, second) && buffers_meet(&e, second, first));
    assert_true(buffers_meet(&e, second, third) && buffers_meet(&e, third, second));
    assert_false(buffers_meet(&e, first, third) || buffers_meet(&e, third, first));
    assert_false(buffers_meet(&e, first, none) || buffers_meet(&e, none, first));
    struct place low = {first, 0}, high = {first, 3}, at = {second, 0};
    assert_true(bytes_intersect(&e, high, at) && bytes_intersect(&e, at, high));
    assert_false(bytes_intersect(&e, low, at) || bytes_intersect(&e, at, low));
    arena_free(&t.arena);
}

// Neighbours of which one is told what the other is must be alike in all that a run says of both.
static void items_that_differ_in_anything_are_no_run(void **state) {
    struct trial t;
    struct engine e;
    begin_engine(&t, &e, "");
    struct judgement value = {.partial = 1}, fault, others[9];
    struct span elsewhere = t.program->steps[STEP_TRAIN].span;
    fault = judgement_fault(fault_make(&e, E611, span_nowhere(), NULL, "one"));
    for (size_t i = 0; i < 9; i++)
        others[i] = value;
    others[0].value.scale = value.value.scale + 1;
    others[1].form = value.form + 1;
    others[2].partial = 2;
    others[3].partial_max = 2;
    others[4].bits = 2;
    others[5].coverage = COVERAGE_UNKNOWN;
    others[6].dtype = value.dtype + 1;
    others[7].clean = !value.clean;
    others[8] = fault;
    assert_true(judgement_alike(&value, &value) && judgement_alike(&fault, &fault));
    for (size_t i = 0; i < 9; i++)
        assert_false(judgement_alike(&value, &others[i]) || judgement_alike(&others[i], &value));
    struct judgement other = judgement_fault(fault_make(&e, E611, elsewhere, NULL, "other"));
    assert_false(judgement_alike(&fault, &other));
    arena_free(&t.arena);
}

// Two parts of one contraction over axis b; of another one too, where one is a summand over a.
static void parts_that_are_joined_are_summands_alike(void **state) {
    struct trial t;
    struct engine e;
    begin_engine(&t, &e, "");
    const struct unit *unit = &t.program->units[program_find_unit(t.program, "both")];
    const struct op *add = &unit->ops[unit->n_ops - 1];
    form_id rows = initial_judgement(&e, program_find_buffer(t.program, "u"), 0).form;
    struct judgement parts[2], sum;
    parts[0] = parts[1] = initial_judgement(&e, program_find_buffer(t.program, "w"), 0);
    parts[0].coverage =
        coverage_of(&e, MONOID_SUM, 1, 'x', form_get(&e.digits, rows)->key->dims[0]);
    parts[1].coverage = coverage_shift(&e, parts[0].coverage, 1, 1);
    rule_apply(&e, unit, add, parts, &sum);
    assert_true(!sum.fault && sum.coverage == COVERAGE_COMPLETE);
    parts[1].partial = 1;
    rule_apply(&e, unit, add, parts, &sum);
    assert_true(sum.fault && sum.fault->code == E412);
    arena_free(&t.arena);
}

// ---- cost -------------------------------------------------------------------------------------

static void what_is_left_to_follow_is_bounded(void **state) {
    struct trial t;
    struct engine e;
    begin_engine(&t, &e,
                 "call copy(x = w[0]) -> (y = spare[0])\ncall copy(x = w[1]) -> (y = spare[1])\n");
    assert_true(step_execute(&e, STEP_TRAIN));
    e.budget = 1; // the first statement; its unit is remembered
    block_execute(&e, &e.step->body);
    assert_true(e.overrun);
    arena_free(&t.arena);
}

// How often an invariant is looked for in a loop that has none.
static uint32_t attempts(int n_iterations) {
    struct trial t;
    struct engine e;
    char statements[256];
    snprintf(statements, sizeof statements,
             "call copy(x = w[0]) -> (y = spare[0])\ncall copy(x = w[0]) -> (y = spare[1])\n"
             "for i = 0 .. %d {\n"
             "call bend(x = spare[i mod 1]) -> (y = spare[1])\n"
             "call bend(x = spare[1]) -> (y = spare[0])\n}\n",
             n_iterations);
    begin_engine(&t, &e, statements);
    assert_true(step_execute(&e, STEP_TRAIN));
    arena_free(&t.arena);
    return e.n_attempts;
}

static void invariants_are_looked_for_where_that_may_pay(void **state) {
    assert_int_equal(attempts(5), 1); // then fewer iterations are left than a proof costs
    assert_true(attempts(200) < 16);  // at distances that grow
}

// A call that reads a whole parameter beside one microbatch's tokens is evaluated once for all.
static void calls_are_remembered_for_all_microbatches(void **state) {
    struct trial t;
    struct engine e;
    begin_engine(&t, &e,
                 "for m = 0 .. 8 { call look(t = table, x = targets[m]) -> (y = rows[m]) }\n");
    e.one_by_one = true;
    assert_true(step_execute(&e, STEP_TRAIN));
    assert_int_equal(e.n_memos, 1);
    arena_free(&t.arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_mistake_is_found),
        cmocka_unit_test(loops_below_what_is_counted_are_refused),
        cmocka_unit_test(values_of_other_sizes_are_refused),
        cmocka_unit_test(results_bound_elsewhere_than_they_are_made_are_refused),
        cmocka_unit_test(bytes_meet_where_they_are_shared),
        cmocka_unit_test(items_that_differ_in_anything_are_no_run),
        cmocka_unit_test(parts_that_are_joined_are_summands_alike),
        cmocka_unit_test(what_is_left_to_follow_is_bounded),
        cmocka_unit_test(invariants_are_looked_for_where_that_may_pay),
        cmocka_unit_test(calls_are_remembered_for_all_microbatches),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
