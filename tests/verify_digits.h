// A small training in several element types, on one device, and the same on two with two microbatches each.
//
// Parameters are bf16 with a master copy in f32, products read bf16, the stream behind them and the
// gradient are f32. Over devices gradients are summed in bf16, and a parameter that is kept in f32
// is gathered in bf16, as the policy says.
#ifndef PLACE_TESTS_VERIFY_DIGITS_H
#define PLACE_TESTS_VERIFY_DIGITS_H

#include "tests/trial.h"

#define W    "[vocab=3, hidden=4]"
#define ROWS "[batch=2, sequence=2, hidden=4]"

#define POLICY                                                                                     \
    "policy parameters = bf16 master = f32 moments = f32 gradients = f32 compute = bf16\n"         \
    "  accumulate = f32 gather = bf16 reduce = bf16 reproducible = 0\narena 100000\n"
#define TENSORS                                                                                    \
    "tensor table " W " role embedding init ones saved \"t\"\n"                                    \
    "tensor w " W " role norm init ones saved \"w\"\n"                                             \
    "tensor gain [hidden=4] role norm init ones saved \"g\"\n"                                     \
    "tensor slope [hidden=4] role norm init ones saved \"s\"\n"
#define STATES                                                                                     \
    "buffer table : parameters bf16" W " of table at 1024\n"                                       \
    "buffer w : parameters bf16" W " of w at 2048\n"                                               \
    "buffer w.master : master f32" W " of w at 3072\n"                                             \
    "buffer w.m : moment1 f32" W " of w at 4096\n"                                                 \
    "buffer w.v : moment2 f32" W " of w at 5120\n"                                                 \
    "buffer w.grad : gradients f32" W " of w at 6144\n"                                            \
    "buffer table.grad : gradients f32" W " of table at 19456\n"                                   \
    "buffer w.idle : momentum f32" W " of w at 21504\n"                                            \
    "buffer gain : parameters bf16[hidden=4] of gain at 7168\n"                                    \
    "buffer n : input f64[] host step at 8192\n"                                                   \
    "buffer loss : output f64[] host loss at 9216\n"                                               \
    "buffer grad_norm : output f64[] host grad_norm at 10240\n"

// What the unit makes of `batch` sequences; `slope`: its bias in f32, of the parameter of that name.
#define WORK(batch, slope)                                                                         \
    "%i = iota() {dimension=vocab} : i32[vocab=3] inline\n"                                        \
    "%e = embedding(%x, %t, %i) : bf16[batch=" batch ", sequence=2, hidden=4]\n"                   \
    "%y, %rstd = rms_norm(%e, %gain) {eps=0.5} : bf16[batch=" batch ", sequence=2, hidden=4],"     \
    " f32[batch=" batch ", sequence=2]\n"                                                          \
    "%r = add(%e, %y) : f32[batch=" batch ", sequence=2, hidden=4]\n" slope                        \
    "%s = add_bias(%r, %bias) : f32[batch=" batch ", sequence=2, hidden=4]\n"                      \
    "%u = silu(%s) : f32[batch=" batch ", sequence=2, hidden=4]\n"                                 \
    "%h = cast(%u) : bf16[batch=" batch ", sequence=2, hidden=4]\n"                                \
    "%logits = einsum(%h, %w) {labels=\"bsh,vh->bsv\"} : bf16[batch=" batch                        \
    ", sequence=2, vocab=3]\n"                                                                     \
    "%l, %lse = cross_entropy(%logits, %z, %i) : f64[], f32[batch=" batch ", sequence=2]\n"        \
    "%d = cross_entropy_backward(%logits, %z, %lse, %i, %n) : bf16[batch=" batch                   \
    ", sequence=2, vocab=3]\n"                                                                     \
    "%third = divide(%d) {divisor=3} : bf16[batch=" batch ", sequence=2, vocab=3]\n"
#define PARAMETERS(batch)                                                                          \
    "parameter %x : i32[batch=" batch ", sequence=2] parameter %z : i32[batch=" batch              \
    ", sequence=2]\nparameter %t : bf16" W " parameter %w : bf16" W                                \
    " parameter %gain : bf16[hidden=4]\nparameter %n : f64[] "
#define UPDATE                                                                                     \
    "unit main.update { phase update parameter %p : f32" W " parameter %m : f32" W                 \
    " parameter %v : f32" W "\nparameter %g : f32" W " parameter %n : f64[]\n"                     \
    "result %q in %p result %k in %m result %o in %v result %c\n"                                  \
    "%factor = clip_factor(%n) {max_norm=0.5} : f64[]\n%clipped = scale(%g, %factor) : f32" W "\n" \
    "%q, %k, %o = adamw(%p, %m, %v, %clipped, %n, %n, %n) {beta1=0.9, beta2=0.99, eps=0.5, "       \
    "weight_decay=0.5}\n  : f32" W " in %p, f32" W " in %m, f32" W " in %v\n"                      \
    "%c = cast(%q) : bf16" W " out }\n"                                                            \
    "unit main.norm { phase update parameter %g : f32" W " parameter %k : f32" W " result %y\n"    \
    "%both = add(%g, %k) : f32" W "\n%s = square_sum(%both) : f64[]\n"                             \
    "%y = square_root(%s) : f64[] out }\n"
// What the next value of `slope` is: `p` of the update, in a sum of three.
#define UPDATE_SLOPE(shape, rounded, p)                                                            \
    "unit main.update_slope { phase update parameter %p : f32" shape " result %q in %p\n" rounded  \
    "%b = weighted_sum(" p ", " p ") {weight_a=0.5, weight_b=0.5} : f32" shape "\n"                \
    "%c = mul(" p ", " p ") : f32" shape "\n%a = add(" p ", %b) : f32" shape "\n"                  \
    "%q = add(%a, %c) : f32" shape " in %p }\n"
#define END                                                                                        \
    "call norm(g = w.grad, k = table.grad) -> (y = grad_norm)\n"                                   \
    "call update(p = w.master, m = w.m, v = w.v, g = w.grad, n = n) -> (c = w)\n"                  \
    "call update_slope(p = slope)\n}\n}\n"

// The gradients of `w` and of `table`, which reads no ids: of a product with what was embedded.
#define GRADIENTS(w, table)                                                                        \
    w " = einsum(%d, %h) {labels=\"bsv,bsh->vh\"} : f32" W "\n" table                              \
      " = einsum(%third, %e) {labels=\"bsv,bsh->vh\"} : f32" W
#define BIAS "%bias = cast(%slope) : f32[hidden=4]\n"

// `scratch` is a gradient of no tensor: nobody is told that it may be sent narrower.
static const char reference[] =
    "step main {\nsizes batch = 8 sequence = 2 microbatches = 1 layers = 1 vocab = 3\n" POLICY
        TENSORS STATES "buffer slope : parameters f32[hidden=4] of slope at 11264\n"
    "buffer scratch : gradients f32[hidden=4] at 14336\n"
    "buffer tokens : input i32[batch=8, sequence=2] host tokens at 12288\n"
    "buffer targets : input i32[batch=8, sequence=2] host targets at 13312\n"
    "train {\nzero scratch\ncall work(x = tokens, z = targets, t = table, w = w, gain = gain, "
    "n = n, slope = slope) -> (l = loss, g = w.grad, k = table.grad)\n" END
    "unit main.work { phase forward " PARAMETERS(
        "8") "parameter %slope : f32[hidden=4] result %l result %g result %k\n" WORK("8", BIAS)
        GRADIENTS("%g", "%k") " out }\n" UPDATE UPDATE_SLOPE("[hidden=4]", "", "%p");

#define ADD_UP                                                                                     \
    "%k = accumulate(%loss, %l) : f64[] in %loss\n" GRADIENTS(                                     \
        "%dw", "%dt") "\n"                                                                         \
                      "%g = accumulate(%sum, %dw) : f32" W " in %sum\n"                            \
                      "%t.g = accumulate(%table_sum, %dt) : f32" W " in %table_sum }\n"

static const char final[] =
    "step main {\naxis a = 2\nsizes batch = 8 sequence = 2 microbatches = "
    "2 layers = 1 vocab = "
    "3\n" POLICY TENSORS STATES "buffer slope : parameters f32[hidden=4] flat/a of slope at 11264\n"
    "buffer slope.n : transient bf16[hidden=4] flat/a at 14336\n"
    "buffer slope.g : transient bf16[hidden=4] at 15360\n"
    "buffer w.sum : transient f32" W " at 16384\n"
    "buffer w.wire : transient bf16" W " at 17408\n"
    "buffer w.copy : transient bf16" W " at 18432\n"
    "buffer table.sum : transient f32" W " at 20480\n"
    "buffer tokens : input i32[batch=8/a, sequence=2] host tokens "
    "microbatches 2 at 12288\n"
    "buffer targets : input i32[batch=8/a, sequence=2] host targets "
    "microbatches 2 at 13312\n"
    "train {\ncall narrow_slope(x = slope) -> (y = slope.n)\n"
    "start all_gather over a as gather[0] { slope.n -> slope.g }\nwait "
    "gather[0]\n"
    "zero w.sum\nzero table.sum\nzero loss\nfor m = 0 .. 2 {\ncall work(x "
    "= tokens[m], "
    "z = targets[m], t = table, w = w, gain = gain, n = n, slope = "
    "slope.g, loss = loss, "
    "sum = w.sum, table_sum = table.sum)\n}\n"
    "call pack(x = w.sum) -> (y = w.wire)\n"
    "start all_reduce over a as sum[0] { w.wire -> w.wire }\nwait sum[0]\n"
    "start all_reduce over a as sums[0] { loss -> loss }\nwait sums[0]\n"
    "call unpack(x = w.wire) -> (y = w.grad)\n"
    "call pack(x = table.sum) -> (y = w.wire)\n"
    "start all_reduce over a as rest[0] { w.wire -> w.wire }\nwait "
    "rest[0]\n"
    "call unpack(x = w.wire) -> (y = table.grad)\n" END
    "unit main.narrow_slope { phase forward parameter %x : f32[flat=2] "
    "result %y\n"
    "%y = cast(%x) : bf16[flat=2] out }\n"
    "unit main.pack { phase backward parameter %x : f32" W " result %y\n"
    "%y = cast(%x) : bf16" W " out }\n"
    "unit main.unpack { phase backward parameter %x : bf16" W " result %y\n"
    "%y = cast(%x) : f32" W " out }\n"
    "unit main.work { phase forward " PARAMETERS(
        "2") "parameter %slope : bf16[hidden=4] parameter %loss : f64[] "
             "parameter %sum : f32" W " parameter %table_sum : f32" W "\n"
             "result %k in %loss result %g in %sum result %t.g in "
             "%table_sum\n" WORK("2", BIAS) ADD_UP UPDATE UPDATE_SLOPE("[flat=2]", "", "%p");

struct rounding {
    const char *name;
    struct edit edits[8];
    const char *code, *at, *says; // NULL: accepted; anything
};

// The value through bf16 and back, before what reads it.
#define ROUNDED(of, shape, reader, read)                                                           \
    REPLACE(reader,                                                                                \
            "%short = cast(" of ") : bf16" shape "\n%long = cast(%short) : f32" shape "\n" read)
#define ALL_REDUCE_W(what)                                                                         \
    "start all_reduce over a as sum[0] { " what " -> " what " }\nwait sum[0]\n"
#define SENT "call pack(x = w.sum) -> (y = w.wire)\n" ALL_REDUCE_W("w.wire")

static inline bool is_judged_right(const char *one_device, const char *before_edits,
                                   const struct rounding *r) {
    struct trial t = {0};
    t.diagnostics = diagnostics_new(&t.arena, &t.sources);
    trial_read(&t, one_device);
    t.reference = t.program;
    trial_read(&t, program_edit(&t.arena, before_edits, r->edits));
    trial_judge(&t);
    struct expected_verdict expected = {r->code, r->at, r->says};
    return trial_end(&t, trial_is_as_expected(&t, expected), r->name, expected);
}

#endif
