// What a layer computes: attention and the MLP. Residual sums and biases are ops of their own here;
// fusing them is a later pass's concern.
#include <math.h>

#include "passes/reference/builder.h"
#include "passes/reference/tensors.h"

// Frequencies follow from the attributes, angles from the positions: nothing is stored.
static value_id add_rope(struct builder *b, const char *name, value_id x, value_id positions) {
    const struct rope_scaling *scaling = &b->model->rope_scaling;
    struct attribute attributes[] = {
        {.name = ATTRIBUTE_THETA, .real = b->model->rope_theta},
        {.name = ATTRIBUTE_ROPE_FACTOR, .real = scaling->factor},
        {.name = ATTRIBUTE_ROPE_LOW, .real = scaling->low_frequency_factor},
        {.name = ATTRIBUTE_ROPE_HIGH, .real = scaling->high_frequency_factor},
        {.name = ATTRIBUTE_ROPE_ORIGINAL, .integer = scaling->original_positions},
    };
    unsigned n = scaling->factor != 0 ? 5 : 1;
    return emit_with(&b->writer.emitter, OP_ROPE, name, OPERANDS(x, positions), attributes, n)
        ->results[0];
}

static value_id add_take(struct builder *b, const char *name, value_id x, value_id parts,
                         int64_t index) {
    struct attribute attributes[] = {{.name = ATTRIBUTE_INDEX, .integer = index},
                                     {.name = ATTRIBUTE_KEEP, .integer = 1}};
    return emit_with(&b->writer.emitter, OP_TAKE, name, OPERANDS(x, parts), attributes, 2)
        ->results[0];
}

struct qkv {
    value_id q, k, v;
};

// One product; then each group of query heads, its key and its value are parts of one dimension,
// which no axis cuts. A cut of heads so leaves every device all three of each of its groups.
static struct qkv build_fused_qkv(struct builder *b, value_id n) {
    struct emitter *e = &b->writer.emitter;
    int64_t group = dimension_size(b->config, DIM_GROUP);
    value_id all = add_linear(b, "attention.qkv", "bsh,hgpd->bsgpd", n, PARAMETER_QKV_WEIGHT,
                              PARAMETER_QKV_BIAS);
    struct attribute attributes[] = {{.name = ATTRIBUTE_SHIFT, .integer = 0},
                                     {.name = ATTRIBUTE_KEEP, .integer = 1}};
    struct qkv made;
    value_id parts = emit_iota(e, "attention.parts", DIM_PART, group + 2);
    emit_roles(e, ROLE_LAYERS, ROLE_ATTENTION, ROLE_QKV, ROLE_UP);
    value_id queries = emit_iota(e, "attention.queries", DIM_GROUP, group);
    made.q = emit_with(e, OP_MOVE, "attention.q", OPERANDS(all, parts, queries), attributes, 2)
                 ->results[0];
    emit_roles(e, ROLE_LAYERS, ROLE_ATTENTION, ROLE_QKV, ROLE_KV);
    made.k = add_take(b, "attention.k", all, parts, group);
    made.v = add_take(b, "attention.v", all, parts, group + 1);
    return made;
}

static struct qkv build_qkv(struct builder *b, value_id n) {
    if (b->model->fused_qkv)
        return build_fused_qkv(b, n);
    struct qkv made;
    made.q = add_linear(b, "attention.q", "bsh,hgrd->bsgrd", n, PARAMETER_QUERY_WEIGHT,
                        PARAMETER_QUERY_BIAS);
    made.k =
        add_linear(b, "attention.k", "bsh,hgd->bsgd", n, PARAMETER_KEY_WEIGHT, PARAMETER_KEY_BIAS);
    made.v = add_linear(b, "attention.v", "bsh,hgd->bsgd", n, PARAMETER_VALUE_WEIGHT,
                        PARAMETER_VALUE_BIAS);
    return made;
}

// Each head by itself, all with one gain.
static void norm_heads(struct builder *b, struct qkv *of) {
    if (!b->model->qk_norm)
        return;
    of->q = add_rms_norm(b, "attention.q.norm", of->q, PARAMETER_QUERY_NORM_GAIN);
    of->k = add_rms_norm(b, "attention.k.norm", of->k, PARAMETER_KEY_NORM_GAIN);
}

// Queries and keys get their positions as an operand. With the sequence cut, a device's slice of
// iota still says where its rows stand, for the rotation and for the causal mask alike.
value_id add_attention(struct builder *b, value_id x) {
    struct emitter *e = &b->writer.emitter;
    value_id n = add_norm(b, "attention.norm", x, PARAMETER_ATTENTION_NORM_GAIN,
                          PARAMETER_ATTENTION_NORM_BIAS);
    struct qkv of = build_qkv(b, n);
    norm_heads(b, &of);
    emit_roles(e, ROLE_LAYERS, ROLE_ATTENTION, ROLE_CORE, ROLE_NONE);
    value_id positions = emit_iota(e, "positions", DIM_SEQUENCE, b->config->train.sequence);
    of.q = value_as(b, of.q, work_type(b));
    of.k = value_as(b, of.k, work_type(b));
    of.v = value_as(b, of.v, work_type(b));
    if (b->model->position == POSITION_ROPE) {
        of.q = add_rope(b, "attention.q.rotated", of.q, positions);
        of.k = add_rope(b, "attention.k.rotated", of.k, positions);
    }
    struct attribute scale = {.name = ATTRIBUTE_SCALE,
                              .real = 1 / sqrt((double)b->model->head_dim)};
    value_id o = emit_with(e, OP_ATTENTION, "attention.core",
                           OPERANDS(of.q, of.k, of.v, positions, positions), &scale, 1)
                     ->results[0];
    value_id out = add_linear(b, "attention.out", "bsgrd,grdh->bsh", o, PARAMETER_OUT_WEIGHT,
                              PARAMETER_OUT_BIAS);
    emit_roles(e, ROLE_LAYERS, ROLE_ATTENTION, ROLE_NONE, ROLE_NONE);
    out = add_dropout(b, "attention.kept", out, SITE_ATTENTION, unrounded_type(b));
    return emit(e, OP_ADD, "attention.y", OPERANDS(x, out));
}

// The gate opens what goes up; both are projections of the same, and may be one product.
static value_id add_gated(struct builder *b, value_id n) {
    struct emitter *e = &b->writer.emitter;
    value_id gate, up;
    if (b->model->fused_gate_up) {
        value_id both = add_linear(b, "mlp.gate_up", "bsh,hpf->bspf", n, PARAMETER_GATE_UP_WEIGHT,
                                   PARAMETER_GATE_UP_BIAS);
        value_id parts = emit_iota(e, "mlp.parts", DIM_PART, 2);
        gate = add_take(b, "mlp.gate", both, parts, 0);
        up = add_take(b, "mlp.up", both, parts, 1);
    } else {
        gate =
            add_linear(b, "mlp.gate", "bsh,hf->bsf", n, PARAMETER_GATE_WEIGHT, PARAMETER_GATE_BIAS);
        up = add_linear(b, "mlp.up", "bsh,hf->bsf", n, PARAMETER_UP_WEIGHT, PARAMETER_UP_BIAS);
    }
    emit_roles(e, ROLE_LAYERS, ROLE_MLP, ROLE_ACTIVATION, ROLE_NONE);
    value_id opened = emit_as(e, unrounded_type(b), OP_SILU, "mlp.silu", OPERANDS(gate));
    return emit_as(e, work_type(b), OP_MUL, "mlp.activation", OPERANDS(opened, up));
}

static value_id add_activation(struct builder *b, value_id n) {
    struct emitter *e = &b->writer.emitter;
    if (b->model->activation == ACTIVATION_SWIGLU)
        return add_gated(b, n);
    value_id up = add_linear(b, "mlp.up", "bsh,hf->bsf", n, PARAMETER_UP_WEIGHT, PARAMETER_UP_BIAS);
    emit_roles(e, ROLE_LAYERS, ROLE_MLP, ROLE_ACTIVATION, ROLE_NONE);
    struct attribute approximate = {.name = ATTRIBUTE_APPROXIMATE,
                                    .word = b->model->activation == ACTIVATION_GELU_TANH ? "tanh"
                                                                                         : "erf"};
    enum dtype type = work_type(b);
    return emit_typed(e, OP_GELU, "mlp.activation", OPERANDS(up), &approximate, 1, &type)
        ->results[0];
}

value_id add_mlp(struct builder *b, value_id x) {
    value_id n = add_norm(b, "mlp.norm", x, PARAMETER_MLP_NORM_GAIN, PARAMETER_MLP_NORM_BIAS);
    value_id activation = add_activation(b, n);
    value_id down = add_linear(b, "mlp.down", "bsf,fh->bsh", activation, PARAMETER_DOWN_WEIGHT,
                               PARAMETER_DOWN_BIAS);
    emit_roles(&b->writer.emitter, ROLE_LAYERS, ROLE_MLP, ROLE_NONE, ROLE_NONE);
    down = add_dropout(b, "mlp.kept", down, SITE_MLP, unrounded_type(b));
    return emit(&b->writer.emitter, OP_ADD, "y", OPERANDS(x, down));
}
