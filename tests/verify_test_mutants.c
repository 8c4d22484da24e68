// Mistakes that people and compilers make, planted one at a time into programs that the compiler
// derived: each is refused with its code at the statement that is wrong or that is the first to
// meet the wrong value; and changes that change nothing are accepted.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/derive.h"
#include "tests/program_edit.h"
#include "tests/tiny_strategies.h"
#include "verify/verify.h"

struct mutant {
    const char *name;
    enum model_family family;
    enum tiny_strategy strategy;
    struct edit edits[7];
    const char *code; // NULL: accepted
    const char *at;   // what the text at the first diagnostic's span begins with
};

#define DELETE(what)                                                                               \
    { EDIT_DELETE, what, NULL, 0, 0 }
#define DOUBLE(what)                                                                               \
    { EDIT_DOUBLE, what, NULL, 0, 0 }
#define BEFORE(what, to)                                                                           \
    { EDIT_MOVE_BEFORE, what, to, 0, 0 }
#define BEHIND(what, to)                                                                           \
    { EDIT_MOVE_BEHIND, what, to, 0, 0 }
#define INSERT(to, what)                                                                           \
    { EDIT_INSERT_BEFORE, what, to, 0, 0 }
#define REPLACE(what, to)                                                                          \
    { EDIT_REPLACE, what, to, 0, 0 }
#define REPLACE_ALL(what, to)                                                                      \
    { EDIT_REPLACE_ALL, what, to, 0, 0 }

// ---- what must be refused ---------------------------------------------------------------------

static const struct mutant wrong[] = {
    // Gradients: every contribution once, from every device and microbatch.
    {"a reduction deleted",
     FAMILY_LLAMA,
     TINY_DDP,
     {DELETE("start all_reduce over dp as reduce.head"), DELETE("wait reduce.head")},
     "E410",
     "%norm.gain.square = square_sum"},
    {"a reduction doubled",
     FAMILY_LLAMA,
     TINY_DDP,
     {BEHIND("wait reduce.head", "start all_reduce over dp as reduce.head"),
      DOUBLE("start all_reduce over dp as reduce.head"),
      {EDIT_INSERT_BEHIND, "start all_reduce over dp as reduce.head",
       "    wait reduce.head_backward[0]", 0, 0}},
     "E413",
     "%norm.gain.square = square_sum"},
    {"a reduce_scatter deleted",
     FAMILY_LLAMA,
     TINY_ZERO3,
     {DELETE("start reduce_scatter over dp as reduce.block"), DELETE("wait reduce.block")},
     "E412",
     "call accumulate_block_backward"},
    {"a reduce_scatter of zero1 deleted",
     FAMILY_LLAMA,
     TINY_ZERO1,
     {DELETE("start reduce_scatter over dp as reduce.head"), DELETE("wait reduce.head")},
     "E410",
     "call norm_head"},
    {"a reduce_scatter doubled",
     FAMILY_GPT2,
     TINY_ZERO1,
     {BEHIND("wait reduce.head", "start reduce_scatter over dp as reduce.head"),
      DOUBLE("start reduce_scatter over dp as reduce.head"),
      {EDIT_INSERT_BEHIND, "start reduce_scatter over dp as reduce.head",
       "    wait reduce.head_backward[0]", 0, 0}},
     "E511",
     "start reduce_scatter over dp as reduce.head"},
    {"the start of a reduce_scatter doubled",
     FAMILY_LLAMA,
     TINY_ZERO3,
     {DOUBLE("start reduce_scatter over dp as reduce.head")},
     "E612",
     "start reduce_scatter over dp as reduce.head"},
    {"a reduction before the last accumulation",
     FAMILY_LLAMA,
     TINY_ZERO1,
     {BEHIND("wait reduce.head", "call head_backward"),
      BEHIND("start reduce_scatter over dp as reduce.head", "call head_backward")},
     "E511",
     "call head_backward"},
    {"an all_reduce before the last accumulation",
     FAMILY_LLAMA,
     TINY_DDP,
     {BEHIND("wait reduce.head", "call head_backward"),
      BEHIND("start all_reduce over dp as reduce.head", "call head_backward")},
     "E412",
     "%norm.gain.square = square_sum"},
    {"tokens that nobody writes",
     FAMILY_LLAMA,
     TINY_DDP,
     {REPLACE("sequence=7] host tokens", "sequence=7]")},
     "E514",
     "tokens : input"},
    {"tokens and targets exchanged",
     FAMILY_LLAMA,
     TINY_DDP,
     {REPLACE("host tokens", "host between"), REPLACE("host targets", "host tokens"),
      REPLACE("host between", "host targets")},
     "E490",
     "%token_count = count_tokens"},
    {"a loss that nobody reads",
     FAMILY_LLAMA,
     TINY_DDP,
     {REPLACE("output f64[] host loss", "output f64[]")},
     "E514",
     "train {"},
    {"summands passed on in place",
     FAMILY_LLAMA,
     TINY_HSDP,
     {REPLACE(
         "start all_reduce over replica*shard as sum.loss_sum[0] { loss_sum -> loss_sum }",
         "start permute over shard shift 1 as sum.loss_sum[0] { loss_sum -> loss_sum }\n"
         "    wait sum.loss_sum[0]\n"
         "    start all_reduce over replica*shard as sum.loss_sum[0] { loss_sum -> loss_sum }")},
     "E610",
     "start permute over shard"},
    {"the largest of summands",
     FAMILY_LLAMA,
     TINY_DDP,
     {REPLACE("start all_reduce over dp as sum.loss_sum",
              "start all_reduce over dp operation max as sum.loss_sum")},
     "E410",
     "start all_reduce over dp operation max"},
    {"the axis of a reduction",
     FAMILY_LLAMA,
     TINY_HSDP,
     {REPLACE("start all_reduce over replica as", "start all_reduce over shard as")},
     "E411",
     "start all_reduce over shard"},
    {"a reduction over the outer axis deleted",
     FAMILY_LLAMA,
     TINY_HSDP,
     {DELETE("start all_reduce over replica as reduce.head"),
      DELETE("wait reduce.head_backward.2")},
     "E410",
     "%norm.gain.square = square_sum"},
    {"zero inside the loop",
     FAMILY_LLAMA,
     TINY_DDP,
     {BEFORE("zero head.weight.gradient", "call embedding_forward")},
     "E412",
     "%head.weight.square = square_sum"},
    {"accumulated twice",
     FAMILY_LLAMA,
     TINY_ZERO3,
     {DOUBLE("call accumulate_head_backward")},
     "E413",
     "%norm.gain.square = square_sum"},
    {"a zero deleted",
     FAMILY_LLAMA,
     TINY_ZERO3,
     {DELETE("zero norm.gain.gradient")},
     "E412",
     "call accumulate_head_backward"},
    {"the norm before the reduction",
     FAMILY_LLAMA,
     TINY_DDP,
     {BEFORE("zero norm2", "start all_reduce over dp as reduce.head"),
      BEFORE("call norm_head", "start all_reduce over dp as reduce.head")},
     "E410",
     "%norm.gain.square = square_sum"},
    {"the norm's sum deleted",
     FAMILY_LLAMA,
     TINY_ZERO1,
     {DELETE("start all_reduce over dp as sum.norm2"), DELETE("wait sum.norm2")},
     "E410",
     "%grad_norm = square_root"},
    {"the norm without one tensor",
     FAMILY_LLAMA,
     TINY_DDP,
     {REPLACE("accumulate(%sum, %head.weight.square)", "accumulate(%sum, %norm.gain.square)")},
     "E412",
     "%sum.2 = accumulate"},
    {"the loss's sum deleted",
     FAMILY_LLAMA,
     TINY_DDP,
     {DELETE("start all_reduce over dp as sum.loss_sum"), DELETE("wait sum.loss_sum")},
     "E410",
     "loss : output"},
    {"the count's sum deleted",
     FAMILY_LLAMA,
     TINY_DDP,
     {DELETE("start all_reduce over dp as sum.token_count"), DELETE("wait sum.token_count")},
     "E410",
     "%inverse_count = reciprocal"},
    {"scaled twice",
     FAMILY_LLAMA,
     TINY_ZERO3,
     {{EDIT_INSERT_BEHIND, "%norm.dx, %norm.dgain",
       "  %norm.dgain = scale(%once, %loss.loss.gradient) : f64[hidden=10] in %once", 0, 0},
      REPLACE("%norm.dx, %norm.dgain =", "%norm.dx, %once =")},
     "E413",
     "%norm.gain.square = square_sum"},

    // States: the right version, shard and layer.
    {"updated before the gather of its shards",
     FAMILY_LLAMA,
     TINY_ZERO1,
     {BEFORE("start all_gather over dp as gather.update_embedding", "call update_embedding"),
      BEFORE("wait gather.update_embedding", "call update_embedding")},
     "E511",
     "call update_embedding"},
    {"shards never gathered",
     FAMILY_LLAMA,
     TINY_ZERO1,
     {DELETE("start all_gather over dp as gather.update_block"),
      DELETE("wait gather.update_block")},
     "E511",
     "call update_block"},
    {"an update deleted",
     FAMILY_LLAMA,
     TINY_ZERO3,
     {DELETE("call update_head")},
     "E511",
     "norm.gain : parameters"},
    {"updated twice",
     FAMILY_LLAMA,
     TINY_ZERO3,
     {DOUBLE("call update_head")},
     "E490",
     "%norm.gain.updated.p"},
    {"the wrong layer is fetched",
     FAMILY_LLAMA,
     TINY_ZERO3,
     {REPLACE("block.attention.q.weight[l+1] ->", "block.attention.q.weight[l] ->")},
     "E512",
     "%attention.q = einsum"},
    {"the wrong layer's input is recalled",
     FAMILY_LLAMA,
     TINY_DDP,
     {REPLACE("call block_backward(x = hidden[l]", "call block_backward(x = hidden[l+1]"),
      REPLACE("free hidden[5], logits", "free logits"),
      REPLACE("free hidden[l], saved", "free saved")},
     "E512",
     "%attention.norm.dx"},
    {"one input for all layers",
     FAMILY_LLAMA,
     TINY_DDP,
     {REPLACE("call block_forward(x = hidden[l]", "call block_forward(x = hidden[0]")},
     "E490",
     "%attention.q = einsum"},
    {"the wrong layer's gradient is updated with",
     FAMILY_LLAMA,
     TINY_DDP,
     {{EDIT_REPLACE, "attention.q.weight.gradient = block.attention.q.weight.gradient[l]",
       "attention.q.weight.gradient = block.attention.q.weight.gradient[0]", 1, 0},
      REPLACE("free block.attention.norm.gain.gradient[l], block.attention.q.weight.gradient[l],",
              "free block.attention.norm.gain.gradient[l],")},
     "E512",
     "%attention.q.weight.updated"},
    {"two tensors of one size exchanged",
     FAMILY_LLAMA,
     TINY_DDP,
     {REPLACE("mlp.gate.weight = block.mlp.gate.weight[l]",
              "mlp.gate.weight = block.mlp.up.weight[l]")},
     "E490",
     "%mlp.silu = silu"},
    {"another microbatch's targets",
     FAMILY_LLAMA,
     TINY_DDP,
     {REPLACE("call head_forward(x = hidden[5], targets = targets[m]",
              "call head_forward(x = hidden[5], targets = targets[0]")},
     "E512",
     "%loss.loss"},

    // The schedule and the memory plan.
    {"a wait deleted",
     FAMILY_LLAMA,
     TINY_ZERO3,
     {DELETE("wait gather.block_forward[l mod 2]")},
     "E610",
     "call block_forward"},
    {"a wait deleted, of a reduction",
     FAMILY_LLAMA,
     TINY_DDP,
     {DELETE("wait reduce.head")},
     "E610",
     "call norm_head"},
    {"one gather slot too few",
     FAMILY_LLAMA,
     TINY_ZERO3,
     {REPLACE_ALL(".gathered.block_forward[l mod 2]", ".gathered.block_forward[l mod 1]"),
      REPLACE_ALL(".gathered.block_forward[l+1 mod 2]", ".gathered.block_forward[l+1 mod 1]")},
     "E610",
     "start all_gather over dp as gather.block_forward[l+1 mod 2]"},
    {"two pieces fill one slot",
     FAMILY_LLAMA,
     TINY_ZERO3,
     {REPLACE("block.mlp.gate.weight[l+1] -> block.mlp.gate.weight.gathered.block_forward[l+1 mod "
              "2],",
              "block.mlp.gate.weight[l+1] -> block.mlp.gate.weight.gathered.block_forward[l+1 mod "
              "2], block.mlp.up.weight[l+1] -> "
              "block.mlp.gate.weight.gathered.block_forward[l+1 mod 2],")},
     "E610",
     "start all_gather over dp as gather.block_forward[l+1 mod 2]"},
    {"one place for what is read and what is written",
     FAMILY_LLAMA,
     TINY_ZERO3,
     {REPLACE("norm.gain.moment2 = norm.gain.moment2", "norm.gain.moment2 = norm.gain.moment1")},
     "E611",
     "call update_head"},
    {"freed too early",
     FAMILY_LLAMA,
     TINY_ZERO3,
     {BEFORE("free norm.gain.gathered.head_forward", "call head_forward")},
     "E611",
     "call head_forward"},
    {"a consumed value read again",
     FAMILY_LLAMA,
     TINY_DDP,
     {DOUBLE("call head_backward")},
     "E611",
     "call head_backward"},
    {"a result where an operand is",
     FAMILY_LLAMA,
     TINY_DDP,
     {REPLACE_ALL("dhidden[l mod 2]", "dhidden[0]"),
      REPLACE_ALL("dhidden[l+1 mod 2]", "dhidden[0]"), REPLACE_ALL("dhidden[1]", "dhidden[0]"),
      REPLACE("saved.mlp.up[l],\n             dhidden[0]", "saved.mlp.up[l]")},
     "E611",
     "call block_backward"},
    {"the wrong slot is read",
     FAMILY_LLAMA,
     TINY_DDP,
     {REPLACE("y.gradient = dhidden[l+1 mod 2]", "y.gradient = dhidden[l mod 2]")},
     "E611",
     "call block_backward"},
    {"written in place of what is still read",
     FAMILY_LLAMA,
     TINY_DDP,
     {INSERT("  %other = cast(%attention.norm.y) : f64[batch=2, sequence=7, hidden=10] in %x",
             "%attention.y = add")},
     "E611",
     "%attention.y = add"},

    {"a value taken through integers",
     FAMILY_LLAMA,
     TINY_DDP,
     {INSERT("  %whole = cast(%attention.out) : i32[batch=2, sequence=7, hidden=10] inline\n"
             "  %rounded = cast(%whole) : f64[batch=2, sequence=7, hidden=10] inline",
             "%attention.y = add"),
      REPLACE("add(%x, %attention.out)", "add(%x, %rounded)")},
     "E415",
     "%whole = cast"},

    {"a master copy of what nothing holds",
     FAMILY_LLAMA,
     TINY_DDP,
     {REPLACE("buffer norm.gain : parameters", "buffer norm.gain : master")},
     "E514",
     "train {"},

    // Tensor parallelism.
    {"a block's sum deleted",
     FAMILY_LLAMA,
     TINY_ZERO3_TP,
     {DELETE("%attention.out.summed = wait"), DELETE("%attention.out.started = all_reduce"),
      REPLACE_ALL("%attention.out.summed", "%attention.out")},
     "E410",
     "%mlp.norm.y, %mlp.norm.rstd = rms_norm"},
    {"a wait inside a unit deleted",
     FAMILY_LLAMA,
     TINY_ZERO3_TP,
     {DELETE("%attention.out.summed = wait"),
      REPLACE_ALL("%attention.out.summed", "%attention.out.started")},
     "E610",
     "%attention.y = add"},
    {"a collective inside a unit that nobody waits for",
     FAMILY_LLAMA,
     TINY_ZERO3_TP,
     {{EDIT_INSERT_BEHIND, "%attention.out.summed = wait",
       "  %again = all_reduce(%attention.out.summed) {axes=tp} : f64[batch=2, sequence=7, "
       "hidden=10] inline",
       0, 0}},
     "E612",
     "%again = all_reduce"},
    {"a sum's source overwritten inside a unit",
     FAMILY_LLAMA,
     TINY_ZERO3_TP,
     {INSERT("  %other = cast(%x) : f64[batch=2, sequence=7, hidden=10] in %attention.out",
             "%attention.out.summed = wait")},
     "E610",
     "%other = cast"},
    {"the sum of a norm's gradients deleted",
     FAMILY_LLAMA,
     TINY_ZERO3_TP,
     {DELETE("%mlp.norm.y.gradient.3.summed = wait"),
      DELETE("%mlp.norm.y.gradient.3.started = all_reduce"),
      REPLACE_ALL("%mlp.norm.y.gradient.3.summed", "%mlp.norm.y.gradient.3")},
     "E410",
     NULL},
    {"a bias added on every device before the sum",
     FAMILY_GPT2,
     TINY_ZERO3_TP,
     {INSERT("  %biased = add_bias(%attention.out.product, %attention.out.bias) : "
             "f64[batch=2, sequence=7, hidden=10] in %attention.out.product",
             "%attention.out.product.started = all_reduce"),
      REPLACE("all_reduce(%attention.out.product)", "all_reduce(%biased)"),
      REPLACE("add_bias(%attention.out.product.summed, %attention.out.bias)",
              "cast(%attention.out.product.summed)")},
     "E412",
     NULL},
    {"the norm's gains counted on every device",
     FAMILY_LLAMA,
     TINY_ZERO3_TP,
     {REPLACE("start all_reduce over dp as sum.norm2[0]",
              "start all_reduce over dp*tp as sum.norm2[0]")},
     "E412",
     NULL},
    {"an update that the replicas never gather",
     FAMILY_LLAMA,
     TINY_HYBRID,
     {DELETE("start all_gather over replica as gather.update_head"),
      DELETE("wait gather.update_head")},
     "E511",
     NULL},
    {"shards that the replicas never sum",
     FAMILY_LLAMA,
     TINY_HYBRID,
     {DELETE("start reduce_scatter over replica as reduce.head"),
      DELETE("wait reduce.head_backward.2")},
     "E410",
     NULL},
    {"a buffer that says it holds another range of layers",
     FAMILY_LLAMA,
     TINY_LAYERWISE,
     {REPLACE("of block.mlp.norm.gain layers 2 from 3", "of block.mlp.norm.gain layers 2 from 2")},
     "E512",
     "%mlp.norm.y, %mlp.norm.rstd = rms_norm"},
    {"a range that reads another range's layer",
     FAMILY_LLAMA,
     TINY_LAYERWISE,
     {REPLACE("call block_forward(x = hidden[l], attention.norm.gain = "
              "block.attention.norm.gain.0_3[l]",
              "call block_forward(x = hidden[l], attention.norm.gain = "
              "block.attention.norm.gain.0_3[0]")},
     "E512",
     "%attention.norm.y, %attention.norm.rstd = rms_norm"},
    {"a range that begins a layer late",
     FAMILY_LLAMA,
     TINY_LAYERWISE,
     {REPLACE("for l = 0 .. 3 {", "for l = 1 .. 3 {")},
     "E611",
     NULL},
};

// ---- what must be accepted --------------------------------------------------------------------

static const struct mutant harmless[] = {
    {"a zero doubled", FAMILY_LLAMA, TINY_DDP, {DOUBLE("zero head.weight.gradient")}, NULL, NULL},
    {"zeros in another order",
     FAMILY_LLAMA,
     TINY_ZERO2,
     {BEFORE("zero head.weight.gradient", "zero norm.gain.gradient")},
     NULL,
     NULL},
    {"waits where they start",
     FAMILY_LLAMA,
     TINY_DDP,
     {BEHIND("wait reduce.head", "start all_reduce over dp as reduce.head")},
     NULL,
     NULL},
    {"the update of the head first",
     FAMILY_LLAMA,
     TINY_ZERO3,
     {BEFORE("call update_head", "call update_embedding")},
     NULL,
     NULL},
    {"norms in another order",
     FAMILY_LLAMA,
     TINY_ZERO3,
     {BEFORE("call norm_head", "call norm_embedding")},
     NULL,
     NULL},
    {"a gather not waited for until later",
     FAMILY_LLAMA,
     TINY_ZERO1,
     {BEHIND("wait gather.update_embedding", "wait gather.update_head")},
     NULL,
     NULL},
    {"operands of a product exchanged",
     FAMILY_LLAMA,
     TINY_DDP,
     {REPLACE("mul(%mlp.silu, %mlp.up)", "mul(%mlp.up, %mlp.silu)"),
      REPLACE("add(%x, %attention.out)", "add(%attention.out, %x)")},
     NULL,
     NULL},
    {"a product's labels renamed",
     FAMILY_LLAMA,
     TINY_DDP,
     {REPLACE("\"bsh,hf->bsf\"", "\"qwe,er->qwr\"")},
     NULL,
     NULL},
    {"what the host knows, by other names",
     FAMILY_LLAMA,
     TINY_DDP,
     {REPLACE("buffer tokens :", "buffer words :"),
      {EDIT_REPLACE_ALL, "= tokens", "= words", 0, 0},
      REPLACE("buffer targets :", "buffer tokens :"),
      {EDIT_REPLACE_ALL, "= targets", "= tokens", 0, 0},
      REPLACE("buffer loss :", "buffer step.loss :"),
      REPLACE("loss = loss,", "loss = step.loss,"),
      REPLACE("loss = loss)", "loss = step.loss)")},
     NULL,
     NULL},
    {"a dead write",
     FAMILY_LLAMA,
     TINY_DDP,
     {INSERT("    zero logits", "call head_forward")},
     NULL,
     NULL},
    {"a sum reduced over the axes in two steps",
     FAMILY_LLAMA,
     TINY_HSDP,
     {REPLACE("start all_reduce over replica*shard as sum.loss_sum[0] { loss_sum -> loss_sum }",
              "start all_reduce over shard as sum.loss_sum[0] { loss_sum -> loss_sum }\n"
              "    wait sum.loss_sum[0]\n"
              "    start all_reduce over replica as sum.loss_sum[0] { loss_sum -> loss_sum }")},
     NULL,
     NULL},
    {"summands passed on before they are summed, and the largest of equal sums",
     FAMILY_LLAMA,
     TINY_HSDP,
     {REPLACE(
         "start all_reduce over replica*shard as sum.loss_sum[0] { loss_sum -> loss_sum }",
         "start permute over shard*replica shift 4 as sum.loss_sum[0] { loss_sum -> grad_norm }\n"
         "    wait sum.loss_sum[0]\n"
         "    start all_reduce over replica*shard as sum.loss_sum[0] { grad_norm -> loss_sum }\n"
         "    wait sum.loss_sum[0]\n"
         "    start all_reduce over shard operation max as sum.loss_sum[0]"
         " { loss_sum -> loss_sum }")},
     NULL,
     NULL},
};

// ---- trying them ------------------------------------------------------------------------------

struct trial {
    struct arena arena;
    struct source_files sources;
    struct diagnostics *diagnostics;
    struct program *reference;
    char *text;
    struct verdict verdict;
};

// Begins a trial; the program that is to be spoilt.
static struct program *derive(struct trial *t, enum model_family family,
                              enum tiny_strategy strategy) {
    *t = (struct trial){0};
    t->diagnostics = diagnostics_new(&t->arena, &t->sources);
    struct config config = tiny_strategy_config(&t->arena, family, strategy, 3);
    for (uint32_t i = 0; i < config.strategy.n_modes; i++)
        config.strategy.modes[i].prefetch = 1;
    t->reference = derive_program(&t->arena, &config, PASS_UPDATE, t->diagnostics);
    return derive_program(&t->arena, &config, N_PASSES - 1, t->diagnostics);
}

static void try_mutant(struct trial *t, const struct mutant *mutant) {
    const struct program *derived = derive(t, mutant->family, mutant->strategy);
    char *text = program_text(derived, &t->arena);
    t->text = program_edit(&t->arena, text, mutant->edits);
    if (strcmp(t->text, text) == 0)
        fail_msg("%s: the edit changes nothing", mutant->name);
    uint32_t source = source_add(&t->sources, &t->arena, "edited.place", t->text, strlen(t->text));
    struct text_error error;
    struct program *program = program_parse(&t->arena, t->text, strlen(t->text), source, &error);
    if (!program)
        fail_msg("%s: %s at `%.60s`", mutant->name, error.message, t->text + error.span.begin);
    program_number(program);
    t->verdict = verify(t->reference, program, &t->arena, t->diagnostics);
}

static bool begins_with(const char *text, const char *prefix) {
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

// Where two terms differ, the numbers that they stand for do too.
static bool has_witness(const struct trial *t) {
    enum diagnostic_code code = t->diagnostics->items[0]->code;
    // In the text of a unit, that is, where an op reads what is not whole.
    bool part = code == E410 && t->text[t->diagnostics->items[0]->span.begin] == '%';
    bool terms = code == E413 || code == E490 || part;
    return !terms || t->verdict.kind == VERDICT_REFUTED;
}

static bool is_refused_as(const struct trial *t, const struct mutant *mutant) {
    if (t->verdict.kind == VERDICT_ACCEPTED || t->diagnostics->n_items == 0)
        return false;
    const struct diagnostic *first = t->diagnostics->items[0];
    return strcmp(diagnostic_rows[first->code].text, mutant->code) == 0 && has_witness(t) &&
           (!mutant->at || begins_with(t->text + first->span.begin, mutant->at));
}

static void mistakes_are_refused_where_they_are(void **state) {
    unsigned n_failed = 0;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct trial t;
        try_mutant(&t, &wrong[i]);
        if (!is_refused_as(&t, &wrong[i])) {
            print_error("%s: expected %s at `%s`\n", wrong[i].name, wrong[i].code, wrong[i].at);
            diagnostics_print(t.diagnostics, stderr, false);
            n_failed++;
        }
        if (getenv("PRINT"))
            diagnostics_print(t.diagnostics, stdout, false);
        arena_free(&t.arena);
    }
    assert_int_equal(n_failed, 0);
}

// The plan is proved too: a buffer, or a value of a frame, that is put where another still is.
static void plans_that_overlap_are_refused(void **state) {
    static const char *const pairs[][2] = {{"hidden", "logits"},
                                           {"dhidden", "hidden"},
                                           {"loss_sum", "inverse_count"},
                                           {"targets", "tokens"},
                                           {"frame.head_backward", "dhidden"},
                                           {"saved.attention.v", "block.mlp.up.weight"}};
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        struct trial t;
        struct program *program = derive(&t, FAMILY_LLAMA, TINY_DDP);
        buffer_id moved = program_find_buffer(program, pairs[i][0]);
        buffer_id to = program_find_buffer(program, pairs[i][1]);
        program->buffers[moved].offset_bytes = program->buffers[to].offset_bytes;
        t.verdict = verify(t.reference, program, &t.arena, t.diagnostics);
        if (t.verdict.kind == VERDICT_ACCEPTED || t.diagnostics->items[0]->code != E611)
            fail_msg("%s where %s is", pairs[i][0], pairs[i][1]);
        arena_free(&t.arena);
    }
}

static void frames_that_overlap_are_refused(void **state) {
    struct trial t;
    struct program *program = derive(&t, FAMILY_LLAMA, TINY_DDP);
    struct unit *unit = &program->units[program_find_unit(program, "block_forward")];
    struct value *q = &unit->values[unit_find_value(unit, "attention.q")];
    struct value *k = &unit->values[unit_find_value(unit, "attention.k")];
    k->offset_bytes = q->offset_bytes + type_bytes(&q->type) - 8;
    t.verdict = verify(t.reference, program, &t.arena, t.diagnostics);
    assert_int_not_equal(t.verdict.kind, VERDICT_ACCEPTED);
    assert_int_equal(t.diagnostics->items[0]->code, E611);
    arena_free(&t.arena);
}

// The top-level loop over layers of the train step that calls the unit.
static uint32_t find_loop(const struct program *program, const char *unit) {
    const struct block *body = &program->steps[STEP_TRAIN].body;
    for (uint32_t i = 0; i < body->n; i++) {
        const struct statement *loop = &body->statements[i];
        if (loop->kind != STATEMENT_LOOP || loop->loop.body.n != 1 ||
            loop->loop.body.statements[0].kind != STATEMENT_CALL)
            continue;
        uint32_t called = loop->loop.body.statements[0].call.unit;
        if (strcmp(program->units[called].name, unit) == 0)
            return i;
    }
    fail_msg("no loop calls %s", unit);
    return NO_ID;
}

// The norm is begun twice, the second time with layer 3 where 2 was the first time: what is
// remembered of the call on (layers 0 and 1) and layer 2 must not serve for the one on (layers 0
// and 1) and 3.
static void sums_over_layers_are_not_mixed_up(void **state) {
    struct trial t;
    struct program *program = derive(&t, FAMILY_LLAMA, TINY_DDP);
    struct block *body = &program->steps[STEP_TRAIN].body;
    static const int64_t ranges[][2] = {{0, 3}, {0, 2}, {3, 4}, {3, 5}};
    uint32_t at = find_loop(program, "norm_block");
    struct statement loop = body->statements[at];
    struct statement zero = {
        .kind = STATEMENT_ZERO,
        .span = span_nowhere(),
        .zero = {.buffer = program_find_buffer(program, "norm2"), .index = index_constant(0)}};
    struct statement head = {0}; // norm_embedding, which the second sum has to begin with again
    for (uint32_t i = 0; i < at; i++)
        if (body->statements[i].kind == STATEMENT_CALL &&
            strcmp(program->units[body->statements[i].call.unit].name, "norm_embedding") == 0)
            head = body->statements[i];
    for (int i = 3; i >= 0; i--) {
        struct statement part = loop;
        part.loop.begin = ranges[i][0];
        part.loop.end = ranges[i][1];
        if (i == 3)
            body->statements[at] = part;
        else
            block_insert(program, body, at, part);
        if (i == 1) {
            block_insert(program, body, at, head);
            block_insert(program, body, at, zero);
        }
    }
    program_number(program);
    t.verdict = verify(t.reference, program, &t.arena, t.diagnostics);
    assert_int_equal(t.verdict.kind, VERDICT_REFUTED);
    assert_int_equal(t.diagnostics->items[0]->code, E412);
    arena_free(&t.arena);
}

static void harmless_changes_are_accepted(void **state) {
    unsigned n_failed = 0;
    for (size_t i = 0; i < sizeof harmless / sizeof *harmless; i++) {
        struct trial t;
        try_mutant(&t, &harmless[i]);
        if (t.verdict.kind != VERDICT_ACCEPTED) {
            print_error("%s is refused\n", harmless[i].name);
            diagnostics_print(t.diagnostics, stderr, false);
            n_failed++;
        }
        arena_free(&t.arena);
    }
    assert_int_equal(n_failed, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mistakes_are_refused_where_they_are),
        cmocka_unit_test(plans_that_overlap_are_refused),
        cmocka_unit_test(frames_that_overlap_are_refused),
        cmocka_unit_test(sums_over_layers_are_not_mixed_up),
        cmocka_unit_test(harmless_changes_are_accepted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
