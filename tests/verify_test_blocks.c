// The order of sums where axes of the model cut what is computed: a step that makes the same bits
// as on one device, since what a device has are whole blocks, heads, rows or elements, and edits of
// it after which it does not. Beside the batch, which d cuts, t and u cut heads, columns of
// products and the vocabulary. Each deviation is refused where it is; without the rule that says so
// it would be accepted (tools/verifier_rules.py deletes each).
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/trial.h"

#define SUM_OVER(axes, name)                                                                       \
    "start all_reduce over " axes " as sum." name "[0] { " name " -> " name " }\nwait sum." name   \
    "[0]\n"
#define GREATEST_OVER(axes, name)                                                                  \
    "start all_reduce over " axes " operation max as top." name "[0] { " name " -> " name          \
    " }\nwait top." name "[0]\n"
#define CARRY(unit, name) "call " unit "(low = " name ".k, sum = " name ", j = microbatch[m])\n"

static const char header[] =
    "policy parameters = f32 master = none moments = f32 gradients = f32 compute = f32\n"
    "  accumulate = f32 gather = f32 reduce = f32 reproducible = 8 of batch, kv_heads, ffn, vocab "
    "microbatch = 2\n"
    "arena 100000\n"
    "tensor table [vocab=8, hidden=3] role embedding init ones saved \"t\"\n"
    "tensor wq [hidden=3, kv_heads=2, group=2, head_dim=2] role attention init ones saved "
    "\"q\"\n"
    "tensor wk [hidden=3, kv_heads=2, head_dim=2] role attention init ones saved \"k\"\n"
    "tensor wo [kv_heads=2, group=2, head_dim=2, hidden=3] role attention init ones saved "
    "\"o\"\n"
    "tensor up [hidden=3, ffn=8] role mlp init ones saved \"u\"\n"
    "tensor down [ffn=8, hidden=3] role mlp init ones saved \"d\"\n"
    "tensor places [sequence=2, hidden=3] role embedding init ones saved \"p\"\n"
    "tensor line [head_dim=2] role norm init ones saved \"l\"\n"
    "buffer table : parameters f32[vocab=8@V, hidden=3] of table at 1024\n"
    "buffer wq : parameters f32[hidden=3, kv_heads=2@G, group=2@R, head_dim=2] of wq at 2048\n"
    "buffer wk : parameters f32[hidden=3, kv_heads=2@G, head_dim=2] of wk at 3072\n"
    "buffer wo : parameters f32[kv_heads=2@G, group=2@R, head_dim=2, hidden=3] of wo at 4096\n"
    "buffer up : parameters f32[hidden=3, ffn=8@F] of up at 5120\n"
    "buffer down : parameters f32[ffn=8@F, hidden=3] of down at 6144\n"
    "buffer places : parameters f32[sequence=2, hidden=3] of places at 20480\n"
    "buffer line : parameters f32[head_dim=2] of line at 21504\n"
    "buffer loss : output f64[] host loss at 0\n"
    "buffer grad_norm : output f64[] host grad_norm at 256\n"
    "buffer n : input f64[] host step at 512\n"
    "buffer x : transient f32[batch=@b, sequence=2, hidden=3] at 7168\n"
    "buffer o : transient f32[batch=@b, sequence=2, hidden=3] at 8192\n"
    "buffer f : transient f32[batch=@b, sequence=2, ffn=@f] at 9216\n"
    "buffer y : transient f32[batch=@b, sequence=2, hidden=3] at 10240\n"
    "buffer r : transient f32[batch=@b, sequence=2, hidden=3] at 22528\n"
    "buffer l : transient f32[batch=@b, sequence=2, vocab=@v] at 11264\n"
    "buffer m : transient f32[batch=@b, sequence=2] at 12288\n"
    "buffer s : transient f32[batch=@b, sequence=2] at 13312\n"
    "buffer p : transient f32[batch=@b, sequence=2] at 14336\n"
    "buffer g : transient f32[hidden=3, ffn=@f] at 15360\n"
    "buffer e : transient f32[sequence=2, hidden=3] at 23552\n"
    "buffer z : transient f32[head_dim=2] at 24576\n"
    "buffer bins : transient f64[flat=72] at 16384\n";

// Both programs have these units. Behind a @ stands what differs: b, v, g, r and f is what a device
// has of the batch, the vocabulary, key heads, query heads of each and columns; V, G, R, F and cut,
// over which axes they are cut.
static const char units[] =
    "unit main.embed { phase forward parameter %ids : i32[batch=@b, sequence=2]\n"
    "parameter %table : f32[vocab=@v, hidden=3] result %y\n"
    "%rows = iota() {dimension=vocab@cut} : i32[vocab=@v] inline\n"
    "%y = embedding(%ids, %table, %rows) : f32[batch=@b, sequence=2, hidden=3] out }\n"
    "unit main.attend { phase forward parameter %x : f32[batch=@b, sequence=2, hidden=3]\n"
    "parameter %wq : f32[hidden=3, kv_heads=@g, group=@r, head_dim=2]\n"
    "parameter %wk : f32[hidden=3, kv_heads=@g, head_dim=2]\n"
    "parameter %wo : f32[kv_heads=@g, group=@r, head_dim=2, hidden=3] result %y result %z\n"
    "%q = einsum(%x, %wq) {labels=\"bsh,hgrd->bsgrd\", blocks=\"kv_heads=1 group=1\"} : "
    "f32[batch=@b, "
    "sequence=2, kv_heads=@g, group=@r, head_dim=2]\n"
    "%k = einsum(%x, %wk) {labels=\"bsh,hgd->bsgd\", blocks=\"kv_heads=1\"} : f32[batch=@b, "
    "sequence=2, kv_heads=@g, head_dim=2]\n"
    "%p = iota() {dimension=sequence} : i32[sequence=2] inline\n"
    "%o, %lse = attention(%q, %k, %k, %p, %p) {scale=1} : f32[batch=@b, sequence=2, "
    "kv_heads=@g, group=@r, head_dim=2], f32[batch=@b, sequence=2, kv_heads=@g, group=@r]\n"
    "%y = einsum(%o, %wo) {labels=\"bsgrd,grdh->bsh\", blocks=\"kv_heads=1 group=1\"} : "
    "f32[batch=@b, "
    "sequence=2, hidden=3] out\n"
    "%z = einsum(%q, %o) {labels=\"bsgrd,bsgrd->d\", blocks=\"kv_heads=1 group=1\"} : "
    "f32[head_dim=2] out "
    "}\n"
    "unit main.up { phase forward parameter %x : f32[batch=@b, sequence=2, hidden=3]\n"
    "parameter %w : f32[hidden=3, ffn=@f] result %y\n"
    "%a = einsum(%x, %w) {labels=\"bsh,hf->bsf\", blocks=\"ffn=2\"} : f32[batch=@b, sequence=2, "
    "ffn=@f]\n"
    "%y = silu(%a) : f32[batch=@b, sequence=2, ffn=@f] out }\n"
    "unit main.down { phase forward parameter %x : f32[batch=@b, sequence=2, ffn=@f]\n"
    "parameter %w : f32[ffn=@f, hidden=3] result %y\n"
    "%y = einsum(%x, %w) {labels=\"bsf,fh->bsh\", blocks=\"ffn=2\"} : f32[batch=@b, sequence=2, "
    "hidden=3] out }\n"
    "unit main.plus { phase forward parameter %x : f32[batch=@b, sequence=2, hidden=3]\n"
    "parameter %y : f32[batch=@b, sequence=2, hidden=3] result %r\n"
    "%r = add(%x, %y) : f32[batch=@b, sequence=2, hidden=3] out }\n"
    "unit main.halve { phase forward parameter %x : f32[batch=@b, sequence=2, hidden=3] result "
    "%y in %x\n"
    "%y = divide(%x) {divisor=3} : f32[batch=@b, sequence=2, hidden=3] in %x }\n"
    "unit main.head { phase forward parameter %x : f32[batch=@b, sequence=2, hidden=3]\n"
    "parameter %table : f32[vocab=@v, hidden=3] result %y\n"
    "%y = einsum(%x, %table) {labels=\"bsh,vh->bsv\", blocks=\"vocab=2\"} : f32[batch=@b, "
    "sequence=2, vocab=@v] out }\n"
    "unit main.greatest { phase forward parameter %l : f32[batch=@b, sequence=2, vocab=@v] "
    "result %y\n"
    "%y = row_max(%l) : f32[batch=@b, sequence=2] out }\n"
    "unit main.exponentials { phase forward parameter %l : f32[batch=@b, sequence=2, "
    "vocab=@v]\n"
    "parameter %m : f32[batch=@b, sequence=2] result %y\n"
    "%y = sum_exp(%l, %m) {blocks=\"vocab=2\"} : f32[batch=@b, sequence=2] out }\n"
    "unit main.choose { phase forward parameter %l : f32[batch=@b, sequence=2, vocab=@v]\n"
    "parameter %ids : i32[batch=@b, sequence=2] result %y\n"
    "%rows = iota() {dimension=vocab@cut} : i32[vocab=@v] inline\n"
    "%y = pick(%l, %ids, %rows) : f32[batch=@b, sequence=2] out }\n"
    "unit main.lose { phase forward parameter %s : f32[batch=@b, sequence=2]\n"
    "parameter %m : f32[batch=@b, sequence=2] parameter %p : f32[batch=@b, sequence=2]\n"
    "parameter %ids : i32[batch=@b, sequence=2] result %y\n"
    "%lse = log_shift(%s, %m) : f32[batch=@b, sequence=2]\n"
    "%y = token_loss(%lse, %p, %ids) : f64[] out }\n"
    "unit main.slope { phase backward parameter %x : f32[batch=@b, sequence=2, hidden=3]\n"
    "parameter %dy : f32[batch=@b, sequence=2, ffn=@f] result %y\n"
    "%y = einsum(%x, %dy) {labels=\"bsh,bsf->hf\", blocks=\"ffn=2\"} : f32[hidden=3, ffn=@f] out "
    "}\n"
    "unit main.rows { phase backward parameter %ids : i32[batch=@b, sequence=2]\n"
    "parameter %dy : f32[batch=@b, sequence=2, hidden=3] result %y\n"
    "%rows = iota() {dimension=vocab@cut} : i32[vocab=@v] inline\n"
    "%t = embedding_backward(%ids, %dy, %rows) : f32[vocab=@v, hidden=3]\n"
    "%p = iota() {dimension=sequence} : i32[sequence=2] inline\n"
    "%y = embedding(%p, %t, %rows) : f32[sequence=2, hidden=3] out }\n"
    "unit main.square { phase update parameter %x : f32[hidden=3, ffn=@f] result %y\n"
    "%b = iota() {dimension=flat} : i32[flat=72] inline\n"
    "%y = square_bins(%x, %b) : f64[flat=72] out }\n"
    "unit main.norm { phase update parameter %x : f64[flat=72] result %y\n"
    "%y = bin_sum(%x) : f64[] out }\n"
    "unit main.bend { phase update parameter %x : f32[hidden=3, ffn=@f] result %y\n"
    "%y = silu(%x) : f32[hidden=3, ffn=@f] out }\n"
    "unit main.bend_places { phase update parameter %x : f32[sequence=2, hidden=3] result %y\n"
    "%y = silu(%x) : f32[sequence=2, hidden=3] out }\n"
    "unit main.bend_line { phase update parameter %x : f32[head_dim=2] result %y\n"
    "%y = silu(%x) : f32[head_dim=2] out }\n";

// What is computed of a microbatch, and of the sums over all.
#define EMBED(ids)  "call embed(ids = " ids ", table = table) -> (y = x)\n"
#define ATTEND      "call attend(x = x, wq = wq, wk = wk, wo = wo) -> (y = o, z = z)\n"
#define UP          "call up(x = o, w = up) -> (y = f)\n"
#define DOWN        "call down(x = f, w = down) -> (y = y)\n"
#define PLUS        "call plus(x = o, y = y) -> (r = r)\n"
#define DOUBLED     "call plus(x = y, y = y) -> (r = r)\n"
#define HALVE(x)    "call halve(x = " x ")\n"
#define HEAD        "call head(x = r, table = table) -> (y = l)\n"
#define GREATEST    "call greatest(l = l) -> (y = m)\n"
#define EXP         "call exponentials(l = l, m = m) -> (y = s)\n"
#define CHOOSE(ids) "call choose(l = l, ids = " ids ") -> (y = p)\n"
#define LOSE(ids)   "call lose(s = s, m = m, p = p, ids = " ids ") -> (y = loss)\n"
#define SLOPE       "call slope(x = o, dy = f) -> (y = g)\n"
#define ROWS(ids)   "call rows(ids = " ids ", dy = r) -> (y = e)\n"
#define SQUARE      "call square(x = g) -> (y = bins)\n"
#define UPDATE                                                                                     \
    "call norm(x = bins) -> (y = grad_norm)\ncall bend(x = g) -> (y = up)\n"                       \
    "call bend_places(x = e) -> (y = places)\ncall bend_line(x = z) -> (y = line)\n"
#define CARRIED(name, type)                                                                        \
    "unit main.carry_" name " { phase backward\nparameter %low : " type " parameter %sum : " type  \
    " parameter %j : f64[]\nresult %l in %low result %t in %sum\n"                                 \
    "%l, %t = carry(%low, %sum, %j) {level=0} : " type " in %low, " type " in %sum }\n"
#define SIZES(microbatches)                                                                        \
    "sizes batch = 8 sequence = 2 microbatches = " microbatches " layers = 1 vocab = 8\n"

static const char on_one[] =
    "buffer tokens : input i32[batch=8, sequence=2] host tokens at 768\n"
    "train {\n" EMBED("tokens") ATTEND UP DOWN PLUS HALVE("r") HEAD GREATEST EXP CHOOSE("tokens")
        LOSE("tokens") SLOPE ROWS("tokens") SQUARE UPDATE "}\n}\n";

static const char on_many[] =
    "buffer tokens : input i32[batch=8/d, sequence=2] host tokens microbatches 2 at 768\n"
    "buffer microbatch : input f64[] host microbatch microbatches 2 at 17408\n"
    "buffer g.k : transient f32[hidden=3, ffn=@f] at 18432\n"
    "buffer e.k : transient f32[sequence=2, hidden=3] at 19456\n"
    "buffer z.k : transient f32[head_dim=2] at 25600\n"
    "buffer loss.k : transient f64[] at 26624\n"
    "train {\nfor m = 0 .. 2 {\n" EMBED("tokens[m]") SUM_OVER("t*u", "x")
        ATTEND SUM_OVER("t*u", "o") SUM_OVER("t*u", "z") UP DOWN SUM_OVER("t*u", "y")
            PLUS HALVE("r") HEAD GREATEST GREATEST_OVER("t*u", "m") EXP SUM_OVER("t*u", "s")
                CHOOSE("tokens[m]") SUM_OVER("t*u", "p") LOSE("tokens[m]") SLOPE ROWS("tokens[m]")
                    SUM_OVER("t*u", "e") CARRY("carry_loss", "loss") CARRY("carry_g", "g")
                        CARRY("carry_e", "e") CARRY("carry_z", "z") "}\n" SUM_OVER("d", "loss")
                            SUM_OVER("d", "g") SUM_OVER("d", "e") SUM_OVER("d", "z")
                                SQUARE SUM_OVER("t*u", "bins") UPDATE
    "}\n}\n" CARRIED("g", "f32[hidden=3, ffn=@f]") CARRIED("e", "f32[sequence=2, hidden=3]")
        CARRIED("z", "f32[head_dim=2]") CARRIED("loss", "f64[]");

static const struct edit sizes_on_one[] = {REPLACE_ALL("@b", "8"),
                                           REPLACE_ALL("@v", "8"),
                                           REPLACE_ALL("@g", "2"),
                                           REPLACE_ALL("@r", "2"),
                                           REPLACE_ALL("@f", "8"),
                                           REPLACE_ALL("@V", ""),
                                           REPLACE_ALL("@G", ""),
                                           REPLACE_ALL("@R", ""),
                                           REPLACE_ALL("@F", ""),
                                           REPLACE_ALL("@cut", ""),
                                           {0}};
static const struct edit sizes_on_many[] = {REPLACE_ALL("@b", "2"),
                                            REPLACE_ALL("@v", "2"),
                                            REPLACE_ALL("@g", "1"),
                                            REPLACE_ALL("@r", "1"),
                                            REPLACE_ALL("@f", "2"),
                                            REPLACE_ALL("@V", "/t*u"),
                                            REPLACE_ALL("@G", "/t"),
                                            REPLACE_ALL("@R", "/u"),
                                            REPLACE_ALL("@F", "/t*u"),
                                            REPLACE_ALL("@cut", ", axes=t*u"),
                                            {0}};

struct deviation {
    const char *name;
    struct edit edits[9];
    const char *code, *at, *says; // NULL: accepted; anything
    struct edit both[6];          // of the reference, too
};

#define ROW_TYPE(type)    " : " type "[batch=@b, sequence=2, hidden=3]"
#define EMBEDDED(storage) "%y = embedding(%ids, %table, %rows)" ROW_TYPE("f32") storage
#define ROW_BY(type, ops)                                                                          \
    "%c = cast(%table) : " type                                                                    \
    "[vocab=@v, hidden=3]\n%a = embedding(%ids, %c, %rows)" ROW_TYPE(type) "\n" ops
#define BLOCKS(labels, length)    labels "\", blocks=\"" length "\""
#define NO_BLOCKS(labels, length) REPLACE(BLOCKS(labels, length), labels "\"")
// Attention to keys that no product makes.
#define LOOK_TENSORS                                                                               \
    "tensor queries [experts=1, sequence=2, heads=2, group=2, head_dim=2] role attention init "    \
    "ones "                                                                                        \
    "saved \"w\"\ntensor keys [experts=1, positions=2, heads=2, head_dim=2] role attention init "  \
    "ones saved \"x\"\ntensor seen [experts=1, sequence=2, heads=2, group=2, head_dim=2] role "    \
    "attention init ones saved \"y\"\n"
#define LOOK_BUFFERS                                                                               \
    "buffer queries : parameters f32[experts=1, sequence=2, heads=2, group=2, head_dim=2] of "     \
    "queries at 30000\n"                                                                           \
    "buffer keys : parameters f32[experts=1, positions=2, heads=2, head_dim=2] of keys at 31000\n" \
    "buffer seen : parameters f32[experts=1, sequence=2, heads=2, group=2, head_dim=2] of seen "   \
    "at "                                                                                          \
    "32000\n"
#define LOOK "call look(q = queries, k = keys) -> (o = seen)\n"
#define LOOK_UNIT                                                                                  \
    "unit main.look { phase forward\n"                                                             \
    "parameter %q : f32[experts=1, sequence=2, heads=2, group=2, head_dim=2]\n"                    \
    "parameter %k : f32[experts=1, positions=2, heads=2, head_dim=2] result %o\n"                  \
    "%p = iota() {dimension=sequence} : i32[sequence=2] inline\n"                                  \
    "%t = iota() {dimension=positions} : i32[positions=2] inline\n"                                \
    "%o, %lse = attention(%q, %k, %k, %p, %t) {scale=1} : f32[experts=1, sequence=2, heads=2, "    \
    "group=2, head_dim=2] out, f32[experts=1, sequence=2, heads=2, group=2] }\n"
// A sum over positions.
#define FAR_TENSOR "tensor far [hidden=3] role norm init ones saved \"f\"\n"
#define FAR_BUFFER "buffer far : parameters f32[hidden=3] of far at 29696\n"
#define FAR        "call far(t = places) -> (y = far)\n"
#define FAR_UNIT                                                                                   \
    "unit main.far { phase forward parameter %t : f32[sequence=2, hidden=3] result %y\n"           \
    "%p = iota() {dimension=positions} : i32[positions=8] inline\n"                                \
    "%r = iota() {dimension=sequence} : i32[sequence=2] inline\n"                                  \
    "%a = embedding(%p, %t, %r) : f32[positions=8, hidden=3]\n"                                    \
    "%y = einsum(%a, %a) {labels=\"ph,ph->h\", blocks=\"positions=1\"} : f32[hidden=3] out }\n"
#define GATHERED(axes, vocab)                                                                      \
    "%w = all_gather(%l) {axes=" axes ", dim=2} : f32[batch=2, sequence=2, vocab=" vocab "]\n"     \
    "%v = wait(%w) : f32[batch=2, sequence=2, vocab=" vocab "]\n"
// Two sums over heads that are added.
#define OF_HEADS(operands)                                                                         \
    "einsum(" operands ") {labels=\"bsgrd,bsgrd->d\", blocks=\"kv_heads=1 group=1\"} : "           \
    "f32[head_dim=2]"
#define REDUCED(of, name)                                                                          \
    name ".s = all_reduce(" of ") {axes=t*u} : f32[head_dim=2]\n" name " = wait(" name             \
         ".s) : f32[head_dim=2]\n"
#define TWO_SUMS "%a = " OF_HEADS("%q, %q") "\n%b = " OF_HEADS("%q, %o") " inline\n"
#define ADDED    "%z = accumulate(%a, %b) : f32[head_dim=2] out }\n"
#define PART     "buffer y.t : transient f32[batch=2, sequence=1, hidden=3] at 33792\n"
#define PARTS                                                                                      \
    "start reduce_scatter over t dim 1 as part[0] { y -> y.t }\nwait part[0]\n"                    \
    "start all_gather over t dim 1 as whole[0] { y.t -> y }\nwait whole[0]\n"
// A parameter that no unit reads, unless an edit lets one.
#define WITH_STILL                                                                                 \
    REPLACE("tensor line", "tensor still [ffn=8] role norm init ones saved \"s\"\ntensor line"),   \
        REPLACE("buffer line",                                                                     \
                "buffer still : parameters f32[ffn=8] of still at 27648\nbuffer line")
#define BEND_STILL                                                                                 \
    REPLACE("call norm", "call bend_still(x = still)\ncall norm"),                                 \
        REPLACE("unit main.norm",                                                                  \
                "unit main.bend_still { phase update parameter %x : f32[ffn=8] result %y in %x\n"  \
                "%y = silu(%x) : f32[ffn=8] in %x }\nunit main.norm")
// A sum over it, of this type, and the number that is made of that.
#define MOST(type) REPLACE("buffer x :", "buffer most : transient " type " at 29696\nbuffer x :")
#define SUM_STILL  "call sum_still(x = still, l = line) -> (y = most)\n"
#define OF_STILL(type, sum, number)                                                                \
    REPLACE("call bend(x = g)", SUM_STILL "call add_still(x = most, s = grad_norm)\n"              \
                                          "call bend(x = g)"),                                     \
        REPLACE("unit main.norm",                                                                  \
                "unit main.sum_still { phase update parameter %x : f32[ffn=8]\n"                   \
                "parameter %l : f32[head_dim=2] result %y\n" sum " : " type " out }\n"             \
                "unit main.add_still { phase update parameter %x : " type                          \
                " parameter %s : f64[] result %y in %s\n" number "\n"                              \
                "%y = accumulate(%s, %n) : f64[] in %s }\nunit main.norm")

// Sums over d before those over microbatches, with these of the rows that ids select.
#define DEVICES_FIRST(rows)                                                                        \
    REPLACE("tokens microbatches 2", "tokens microbatches 2 around d"),                            \
        REPLACE(SUM_OVER("t*u", "e"), rows),                                                       \
        REPLACE(SUM_OVER("d", "loss") SUM_OVER("d", "g") SUM_OVER("d", "e") SUM_OVER("d", "z"),    \
                ""),                                                                               \
        REPLACE(CARRY("carry_loss", "loss"), SUM_OVER("d", "loss") SUM_OVER("d", "g")              \
                                                 SUM_OVER("d", "z") CARRY("carry_loss", "loss"))

static const struct deviation deviations[] = {
    {"none", {{0}}, NULL, NULL, NULL, {{0}}},

    // ---- digits of blocks
    {"axes in the other order",
     {REPLACE(SUM_OVER("t*u", "y"), SUM_OVER("u*t", "y"))},
     "E416",
     "start all_reduce over u*t as sum.y",
     "a device's part of a sum, and next come the devices of `u`",
     {{0}}},
    {"one axis after the other",
     {REPLACE(SUM_OVER("t*u", "y"), SUM_OVER("u", "y") SUM_OVER("t", "y"))},
     NULL,
     NULL,
     NULL,
     {{0}}},
    {"the outer one first",
     {REPLACE(SUM_OVER("t*u", "y"), SUM_OVER("t", "y") SUM_OVER("u", "y"))},
     "E416",
     "start all_reduce over t as sum.y",
     "next come the devices of `u`",
     {{0}}},
    {"columns that are cut in the other order",
     {REPLACE_ALL("ffn=8/t*u", "ffn=8/u*t")},
     "E416",
     "start all_reduce over t*u as sum.y",
     "next come the devices of `t`",
     {{0}}},
    {"and summed in it",
     {REPLACE_ALL("ffn=8/t*u", "ffn=8/u*t"), REPLACE(SUM_OVER("t*u", "y"), SUM_OVER("u*t", "y"))},
     NULL,
     NULL,
     NULL,
     {{0}}},
    {"columns that one axis cuts",
     {REPLACE_ALL("ffn=8/t*u", "ffn=8/u"), REPLACE_ALL("ffn=2]", "ffn=4]"),
      REPLACE_ALL("ffn=2,", "ffn=4,"), REPLACE(SUM_OVER("t*u", "y"), SUM_OVER("u", "y")),
      REPLACE(SUM_OVER("t*u", "bins"), SUM_OVER("u", "bins"))},
     NULL,
     NULL,
     NULL,
     {{0}}},
    {"summands that are added before they are summed",
     {REPLACE(SUM_OVER("t*u", "y"), ""), REPLACE(DOUBLED, DOUBLED SUM_OVER("t*u", "r"))},
     "E416",
     "%r = add(%x, %y)",
     "which is a device's part of a sum here: the devices of `u` come first",
     {REPLACE(PLUS, DOUBLED)}},
    {"a summand that is divided",
     {{0}},
     "E416",
     "%y = divide(%x)",
     "the devices of `u` come first",
     {REPLACE(DOWN, DOWN HALVE("y"))}},
    {"blocks behind microbatches",
     {REPLACE(SUM_OVER("t*u", "z"), ""),
      REPLACE(SUM_OVER("d", "z"), SUM_OVER("d", "z") SUM_OVER("t*u", "z"))},
     "E416",
     "%l, %t = carry(%low, %sum, %j) {level=0} : f32[head_dim=2]",
     "microbatches of a device's part of a sum",
     {{0}}},
    {"blocks inside a sum over microbatches",
     {REPLACE(SUM_OVER("t*u", "z"), ""), REPLACE(SUM_OVER("d", "z"), SUM_OVER("t*u*d", "z"))},
     "E416",
     "%l, %t = carry(%low, %sum, %j) {level=0} : f32[head_dim=2]",
     "microbatches of a device's part of a sum",
     {{0}}},

    {"two sums of blocks, of which a kernel adds one to the other",
     {REPLACE(TWO_SUMS ADDED, "%c = " OF_HEADS("%q, %q") "\n%d = " OF_HEADS("%q, %o") "\n" REDUCED(
                                  "%c", "%a") REDUCED("%d", "%b") ADDED),
      REPLACE(SUM_OVER("t*u", "z"), "")},
     NULL,
     NULL,
     NULL,
     {REPLACE("%z = " OF_HEADS("%q, %o") " out }\n", TWO_SUMS ADDED)}},
    {"the same before they are summed",
     {{0}},
     "E416",
     "%z = accumulate(%a, %b)",
     "which is a device's part of a sum here",
     {REPLACE("%z = " OF_HEADS("%q, %o") " out }\n", TWO_SUMS ADDED)}},

    // ---- exact sums
    {"exact sums, over axes in any order",
     {REPLACE(SUM_OVER("t*u", "x"), SUM_OVER("u*t", "x")),
      REPLACE(SUM_OVER("t*u", "p"), SUM_OVER("t", "p") SUM_OVER("u", "p")),
      REPLACE(SUM_OVER("t*u", "bins"), SUM_OVER("u*t", "bins")),
      REPLACE(GREATEST_OVER("t*u", "m"), GREATEST_OVER("t", "m") GREATEST_OVER("u", "m"))},
     NULL,
     NULL,
     NULL,
     {{0}}},
    {"the rows that ids select, behind microbatches",
     {REPLACE(SUM_OVER("t*u", "e"), ""),
      REPLACE(SUM_OVER("d", "e"), SUM_OVER("t*u", "e") SUM_OVER("d", "e"))},
     "E416",
     "%l, %t = carry(%low, %sum, %j) {level=0} : f32[sequence=2, hidden=3]",
     "microbatches of a device's part of a sum",
     {{0}}},
    {"the same, behind those of other devices",
     {DEVICES_FIRST(SUM_OVER("d", "e") SUM_OVER("t*u", "e"))},
     "E416",
     "start all_reduce over d as sum.e",
     "a device's part of a sum, and next come the devices of ",
     {{0}}},
    {"the same in order",
     {DEVICES_FIRST(SUM_OVER("t*u", "e") SUM_OVER("d", "e"))},
     NULL,
     NULL,
     NULL,
     {{0}}},
    {"a row that is divided before it is known",
     {{0}},
     "E416",
     "%y = divide(%x)",
     "the devices of ",
     {REPLACE("-> (y = x)\n", "-> (y = x)\n" HALVE("x"))}},

    // ---- blocks
    {"a sum of the device's own",
     {{0}},
     "E416",
     "%y = einsum(%x, %w) {labels=\"bsf,fh->bsh\"}",
     "a part of `x` along `ffn`, not in blocks",
     {NO_BLOCKS("bsf,fh->bsh", "ffn=2")}},
    {"exponentials without blocks",
     {{0}},
     "E416",
     "%y = sum_exp(%l, %m)",
     "along `vocab`, not in blocks",
     {REPLACE(" {blocks=\"vocab=2\"}", "")}},
    {"columns in one product",
     {{0}},
     "E416",
     "%a = einsum(%x, %w) {labels=\"bsh,hf->bsf\"}",
     "a part of `w` along `ffn`, not in blocks",
     {NO_BLOCKS("bsh,hf->bsf", "ffn=2")}},
    {"squares in an order",
     {REPLACE(SUM_OVER("t*u", "bins"), SUM_OVER("t*u", "grad_norm"))},
     "E416",
     "%y = square_sum(%x)",
     "along `ffn`, not in blocks",
     {REPLACE("%y = square_bins(%x, %b) : f64[flat=72] out }", "%y = square_sum(%x) : f64[] out }"),
      REPLACE("(x = g) -> (y = bins)", "(x = g) -> (y = grad_norm)"),
      REPLACE("call norm(x = bins) -> (y = grad_norm)\n", "")}},
    {"blocks of another length",
     {REPLACE(BLOCKS("bsf,fh->bsh", "ffn=2"), BLOCKS("bsf,fh->bsh", "ffn=1"))},
     "E416",
     "%y = einsum(%x, %w)",
     "one device has",
     {{0}}},
    {"exponentials in blocks of another length",
     {REPLACE("{blocks=\"vocab=2\"}", "{blocks=\"vocab=1\"}")},
     "E416",
     "%y = sum_exp(%l, %m)",
     "one device has",
     {REPLACE("log_shift(%s, %m)", "mul(%s, %m)")}},
    {"positions of a part, and sums over them",
     {REPLACE("{dimension=positions} : i32[positions=8]",
              "{dimension=positions, axes=t} : i32[positions=4]"),
      REPLACE("f32[positions=8", "f32[positions=4"), REPLACE(FAR, FAR SUM_OVER("t", "far"))},
     NULL,
     NULL,
     NULL,
     {REPLACE("tensor line", FAR_TENSOR "tensor line"),
      REPLACE("buffer line", FAR_BUFFER "buffer line"), REPLACE("call norm", FAR "call norm"),
      REPLACE("unit main.norm", FAR_UNIT "unit main.norm")}},
    {"the same in zigzag",
     {REPLACE("{dimension=positions} : i32[positions=8]",
              "{dimension=positions, axes=t, zigzag=t} : i32[positions=4]"),
      REPLACE("f32[positions=8", "f32[positions=4"), REPLACE(FAR, FAR SUM_OVER("t", "far"))},
     "E416",
     "%p = iota()",
     "in zigzag",
     {REPLACE("tensor line", FAR_TENSOR "tensor line"),
      REPLACE("buffer line", FAR_BUFFER "buffer line"), REPLACE("call norm", FAR "call norm"),
      REPLACE("unit main.norm", FAR_UNIT "unit main.norm")}},
    {"query heads inside several key heads",
     {REPLACE_ALL("kv_heads=1,", "kv_heads=2,"), REPLACE_ALL("kv_heads=2/t", "kv_heads=2"),
      REPLACE(SUM_OVER("t*u", "o"), SUM_OVER("u", "o")),
      REPLACE(SUM_OVER("t*u", "z"), SUM_OVER("u", "z"))},
     "E416",
     "%y = einsum(%o, %wo)",
     "along `group`, of which other devices' blocks come before",
     {{0}}},
    {"several query heads of a key head",
     {REPLACE_ALL("group=1,", "group=2,"), REPLACE_ALL("group=1]", "group=2]"),
      REPLACE_ALL("group=2/u", "group=2"), REPLACE(SUM_OVER("t*u", "o"), SUM_OVER("t", "o")),
      REPLACE(SUM_OVER("t*u", "z"), SUM_OVER("t", "z"))},
     NULL,
     NULL,
     NULL,
     {{0}}},
    {"queries of a part of the sequence",
     {REPLACE_ALL("f32[experts=1, sequence=2, heads=2, group=2, head_dim=2] of",
                  "f32[experts=1, sequence=2/t, heads=2, group=2, head_dim=2] of"),
      REPLACE_ALL("experts=1, sequence=2, heads=2, group=2, head_dim=2]\n",
                  "experts=1, sequence=1, heads=2, group=2, head_dim=2]\n"),
      REPLACE("{dimension=sequence} : i32[sequence=2] inline\n%t",
              "{dimension=sequence, axes=t} : i32[sequence=1] inline\n%t"),
      REPLACE("{scale=1} : f32[experts=1, sequence=2,", "{scale=1} : f32[experts=1, sequence=1,"),
      REPLACE("out, f32[experts=1, sequence=2,", "out, f32[experts=1, sequence=1,")},
     "E416",
     "%o, %lse = attention(%q, %k, %k, %p, %t)",
     "a part of `q` along `sequence`, not in blocks",
     {REPLACE("tensor line", LOOK_TENSORS "tensor line"),
      REPLACE("buffer line", LOOK_BUFFERS "buffer line"), REPLACE("call norm", LOOK "call norm"),
      REPLACE("unit main.norm", LOOK_UNIT "unit main.norm")}},
    {"heads of an attention",
     {REPLACE_ALL("heads=2, group=2, head_dim=2] of", "heads=2/t, group=2/u, head_dim=2] of"),
      REPLACE_ALL("heads=2, head_dim=2] of keys", "heads=2/t, head_dim=2] of keys"),
      REPLACE_ALL(" heads=2, group=2, head_dim=2]\n", " heads=1, group=1, head_dim=2]\n"),
      REPLACE_ALL(" heads=2, head_dim=2] result", " heads=1, head_dim=2] result"),
      REPLACE(" heads=2, group=2, head_dim=2] out", " heads=1, group=1, head_dim=2] out"),
      REPLACE("sequence=2, heads=2, group=2] }", "sequence=2, heads=1, group=1] }")},
     NULL,
     NULL,
     NULL,
     {REPLACE("tensor line", LOOK_TENSORS "tensor line"),
      REPLACE("buffer line", LOOK_BUFFERS "buffer line"), REPLACE("call norm", LOOK "call norm"),
      REPLACE("unit main.norm", LOOK_UNIT "unit main.norm")}},

    // ---- along dimensions
    {"a table that is cut where it is read",
     {REPLACE("table : parameters f32[vocab=8/t*u,", "table : parameters f32[vocab=8,"),
      REPLACE("%table : f32[vocab=2, hidden=3] result %y\n%rows = iota() {dimension=vocab, "
              "axes=t*u} : i32[vocab=2]",
              "%table : f32[vocab=8, hidden=3] result %y\n%rows = iota() {dimension=vocab} : "
              "i32[vocab=8]"),
      REPLACE(SUM_OVER("t*u", "x"), ""),
      REPLACE("%table : f32[vocab=2, hidden=3] result %y\n%y = einsum(%x, %table)",
              "%table : f32[vocab=8, hidden=3] result %y\n"
              "%part = slice(%table) {axes=t*u, dim=0} : f32[vocab=2, hidden=3]\n"
              "%y = einsum(%x, %part)")},
     NULL,
     NULL,
     NULL,
     {{0}}},
    {"logits that are gathered",
     {REPLACE("%y = sum_exp(%l, %m)", GATHERED("t*u", "8") "%y = sum_exp(%v, %m)"),
      REPLACE(SUM_OVER("t*u", "s"), "")},
     NULL,
     NULL,
     NULL,
     {{0}}},
    {"over the inner axis",
     {REPLACE("%y = sum_exp(%l, %m)", GATHERED("u", "4") "%y = sum_exp(%v, %m)"),
      REPLACE(SUM_OVER("t*u", "s"), SUM_OVER("t", "s"))},
     NULL,
     NULL,
     NULL,
     {{0}}},
    {"over the outer one, so that parts lie apart",
     {REPLACE("%y = sum_exp(%l, %m)", GATHERED("t", "4") "%y = sum_exp(%v, %m)"),
      REPLACE(SUM_OVER("t*u", "s"), SUM_OVER("u", "s"))},
     "E416",
     "%y = sum_exp(%v, %m)",
     "along `vocab`, which is no single run of the whole",
     {{0}}},
    {"sums of which a device gets a part",
     {REPLACE(SUM_OVER("t*u", "y"), SUM_OVER("u", "y") PARTS),
      REPLACE("buffer x :", PART "buffer x :")},
     NULL,
     NULL,
     NULL,
     {{0}}},
    {"the same, the outer axis first",
     {REPLACE(SUM_OVER("t*u", "y"), PARTS SUM_OVER("u", "y")),
      REPLACE("buffer x :", PART "buffer x :")},
     "E416",
     "start reduce_scatter over t dim 1 as part[0]",
     "next come the devices of `u`",
     {{0}}},
    {"squares of a microbatch",
     {REPLACE(SUM_OVER("t*u", "e"), "")},
     NULL,
     NULL,
     NULL,
     {REPLACE("%y = embedding(%p, %t, %rows)", "%y = einsum(%dy, %dy) {labels=\"bsh,bsh->sh\"}")}},
    {"of a part of it",
     {REPLACE(SUM_OVER("t*u", "e"), SUM_OVER("t", "e")),
      REPLACE("%y = einsum(%dy, %dy)",
              "%c = slice(%dy) {axes=t, dim=0} : f32[batch=1, sequence=2, hidden=3]\n"
              "%y = einsum(%c, %c)")},
     "E416",
     "%y = einsum(%c, %c)",
     "along `batch`, which is not one microbatch",
     {REPLACE("%y = embedding(%p, %t, %rows)", "%y = einsum(%dy, %dy) {labels=\"bsh,bsh->sh\"}")}},
    {"of one that has gone to other devices",
     {REPLACE(SUM_OVER("t*u", "e"), ""), REPLACE(SUM_OVER("d", "e"), SUM_OVER("t", "e")),
      REPLACE("%y = einsum(%dy, %dy)",
              "%f = all_gather(%dy) {axes=d, dim=0} : f32[batch=4, sequence=2, hidden=3]\n"
              "%w = wait(%f) : f32[batch=4, sequence=2, hidden=3]\n"
              "%c = slice(%w) {axes=t, dim=0} : f32[batch=2, sequence=2, hidden=3]\n"
              "%y = einsum(%c, %c)")},
     "E416",
     "%y = einsum(%c, %c)",
     "along `batch`, which is not one microbatch",
     {REPLACE("%y = embedding(%p, %t, %rows)", "%y = einsum(%dy, %dy) {labels=\"bsh,bsh->sh\"}")}},

    // ---- rounding
    {"one of rows that devices have, rounded",
     {{0}},
     NULL,
     NULL,
     NULL,
     {REPLACE(EMBEDDED(" out"), ROW_BY("bf16", "%y = cast(%a)" ROW_TYPE("f32") " out"))}},
    {"rounded twice",
     {{0}},
     NULL,
     NULL,
     NULL,
     {REPLACE(EMBEDDED(" out"),
              ROW_BY("bf16", "%w = cast(%a)" ROW_TYPE("f32") "\n%n = cast(%w)" ROW_TYPE(
                                 "f16") "\n%y = cast(%n)" ROW_TYPE("f32") " out"))}},
    {"a part of a product, rounded",
     {{0}},
     "E416",
     "%n = cast(%a)",
     "rounds to bf16 what is a device's part of a sum here",
     {REPLACE(
         "%y = einsum(%x, %w) {labels=\"bsf,fh->bsh\", blocks=\"ffn=2\"}" ROW_TYPE("f32") " out",
         "%a = einsum(%x, %w) {labels=\"bsf,fh->bsh\", blocks=\"ffn=2\"}" ROW_TYPE(
             "f32") "\n%n = cast(%a)" ROW_TYPE("bf16") "\n%y = cast(%n)" ROW_TYPE("f32") " out")}},
    {"a part of an exact sum, rounded",
     {{0}},
     "E416",
     "%n = cast(%a)",
     "rounds to bf16 what is a device's part of a sum here",
     {REPLACE("%y = square_bins(%x, %b) : f64[flat=72] out",
              "%a = square_bins(%x, %b) : f64[flat=72]\n%n = cast(%a) : bf16[flat=72]\n"
              "%y = cast(%n) : f64[flat=72] out")}},
    {"one of rows of which each is still to be summed, rounded",
     {{0}},
     "E416",
     "%n = cast(%a)",
     "rounds to bf16 what is a device's part of a sum here",
     {REPLACE(
         "%y = embedding(%p, %t, %rows) : f32[sequence=2, hidden=3] out",
         "%a = embedding(%p, %t, %rows) : f32[sequence=2, hidden=3]\n"
         "%n = cast(%a) : bf16[sequence=2, hidden=3]\n%k = cast(%n) : f32[sequence=2, hidden=3]\n"
         "%d = mul(%dy, %dy) : f32[batch=@b, sequence=2, hidden=3]\n"
         "%s = embedding_backward(%ids, %d, %rows) : f32[vocab=@v, hidden=3]\n"
         "%q = embedding(%p, %s, %rows) : f32[sequence=2, hidden=3]\n"
         "%y = add(%k, %q) : f32[sequence=2, hidden=3] out")}},

    // ---- axes of the batch
    {"a tensor that the batch's axis cuts",
     {REPLACE("[ffn=8] of still", "[ffn=8/d] of still")},
     NULL,
     NULL,
     NULL,
     {WITH_STILL}},
    {"shards of it",
     {REPLACE("[ffn=8] of still", "[ffn=8/d] flat/t of still")},
     NULL,
     NULL,
     NULL,
     {WITH_STILL}},
    {"what is computed of its elements",
     {REPLACE("[ffn=8] of still", "[ffn=8/d] of still"), REPLACE_ALL("f32[ffn=8]", "f32[ffn=4]")},
     NULL,
     NULL,
     NULL,
     {WITH_STILL, BEND_STILL}},
    {"an exact sum over it",
     {REPLACE("[ffn=8] of still", "[ffn=8/d] of still"), REPLACE_ALL("f32[ffn=8]", "f32[ffn=4]"),
      REPLACE(SUM_STILL, SUM_STILL SUM_OVER("d", "most"))},
     NULL,
     NULL,
     NULL,
     {WITH_STILL, MOST("f64[flat=72]"),
      OF_STILL("f64[flat=72]",
               "%b = iota() {dimension=flat} : i32[flat=72] inline\n%y = square_bins(%x, %b)",
               "%n = bin_sum(%x) : f64[]")}},
    {"another one in blocks",
     {REPLACE("[ffn=8] of still", "[ffn=8/d] of still"), REPLACE_ALL("f32[ffn=8]", "f32[ffn=4]"),
      REPLACE(SUM_STILL, SUM_STILL SUM_OVER("d", "most"))},
     "E416",
     "%y = einsum(%x, %l)",
     "along `ffn`, cut over `d`, which cuts the batch, too: the sum is not exact",
     {WITH_STILL, MOST("f32[head_dim=2]"),
      OF_STILL("f32[head_dim=2]", "%y = einsum(%x, %l) {labels=\"f,d->d\", blocks=\"ffn=2\"}",
               "%n = square_sum(%x) : f64[]")}},
    {"a tensor in shards of parts",
     {REPLACE("[ffn=8] of still", "[ffn=8/t] flat/d of still"),
      REPLACE_ALL("f32[ffn=8]", "f32[flat=2]")},
     NULL,
     NULL,
     NULL,
     {WITH_STILL, BEND_STILL}},
};

static void read_program(struct trial *t, const char *text, const struct deviation *d,
                         const struct edit *edits, const struct edit *sizes) {
    text = program_edit(&t->arena, text, d->both);
    text = program_edit(&t->arena, text, sizes);
    trial_read(t, program_edit(&t->arena, text, edits));
}

static bool is_judged_right(const struct deviation *d) {
    static const struct edit none[1];
    struct trial t = {0};
    t.diagnostics = diagnostics_new(&t.arena, &t.sources);
    const char *one =
        arena_format(&t.arena, "step main {\n" SIZES("1") "%s%s%s", header, on_one, units);
    const char *many = arena_format(
        &t.arena, "step main {\naxis d = 2\naxis t = 2\naxis u = 2\n" SIZES("2") "%s%s%s", header,
        on_many, units);
    read_program(&t, one, d, none, sizes_on_one);
    t.reference = t.program;
    read_program(&t, many, d, d->edits, sizes_on_many);
    trial_judge(&t);
    struct expected_verdict expected = {d->code, d->at, d->says};
    return trial_end(&t, trial_is_as_expected(&t, expected), d->name, expected);
}

static void another_order_is_refused(void **state) {
    unsigned n_failed = 0;
    for (size_t i = 0; i < sizeof deviations / sizeof *deviations; i++)
        n_failed += !is_judged_right(&deviations[i]);
    assert_int_equal(n_failed, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(another_order_is_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
