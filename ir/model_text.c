// What a model and its optimizers are, as text: what a checkpoint holds against the program that
// goes on from it. Fields have the names and values of a file, `heads 4; norm rmsnorm`, so that a
// difference can be told in its words. What changes neither the function nor the tensors that hold
// it (where they are placed) is left out.
#include "ir/config.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

const char *const family_words[N_FAMILIES] = {
    [FAMILY_GPT2] = "gpt2",
    [FAMILY_LLAMA] = "llama",
};
const char *const norm_words[N_NORMS] = {[NORM_LAYER] = "layernorm", [NORM_RMS] = "rmsnorm"};
const char *const activation_words[N_ACTIVATIONS] = {[ACTIVATION_GELU_TANH] = "gelu_tanh",
                                                     [ACTIVATION_GELU_ERF] = "gelu",
                                                     [ACTIVATION_SWIGLU] = "swiglu"};
const char *const position_words[N_POSITIONS] = {
    [POSITION_LEARNED] = "learned", [POSITION_ROPE] = "rope"};

const char *const biases_words[N_BIASES_WORDS] = {"false", "true", "qkv", "attention", "mlp"};
const enum biases biases_sets[N_BIASES_WORDS] = {BIASES_NONE, BIASES_ALL, BIASES_QKV,
                                                 BIASES_ATTENTION, BIASES_MLP};

// ---- fields -----------------------------------------------------------------------------------

struct text {
    struct arena *arena;
    const char *fields;
};

static void add_word(struct text *text, const char *name, const char *word) {
    text->fields =
        arena_format(text->arena, "%s%s%s %s", text->fields, *text->fields ? "; " : "", name, word);
}

static void add_size(struct text *text, const char *name, int64_t size) {
    add_word(text, name, arena_format(text->arena, "%" PRId64, size));
}

static const char *real(struct text *text, double value) {
    char digits[REAL_TEXT_BYTES];
    return arena_format(text->arena, "%s", real_text(value, digits));
}

static void add_real(struct text *text, const char *name, double value) {
    add_word(text, name, real(text, value));
}

static void add_flag(struct text *text, const char *name, bool flag) {
    add_word(text, name, flag ? "true" : "false");
}

static void add_biases(struct text *text, enum biases biases) {
    for (int i = 0; i < N_BIASES_WORDS; i++)
        if (biases_sets[i] == biases)
            add_word(text, "biases", biases_words[i]);
}

// ---- the model --------------------------------------------------------------------------------

static void add_positions(struct text *text, const struct model_config *model) {
    const struct rope_scaling *scaling = &model->rope_scaling;
    add_word(text, "position", position_words[model->position]);
    if (model->position == POSITION_LEARNED) {
        add_size(text, "sequence_limit", model->sequence_limit);
        return;
    }
    add_real(text, "rope_theta", model->rope_theta);
    if (scaling->factor == 0)
        return;
    add_real(text, "rope_scaling.factor", scaling->factor);
    add_real(text, "rope_scaling.low_freq_factor", scaling->low_frequency_factor);
    add_real(text, "rope_scaling.high_freq_factor", scaling->high_frequency_factor);
    add_size(text, "rope_scaling.original_max_position_embeddings", scaling->original_positions);
}

const char *model_text(struct arena *arena, const struct model_config *model) {
    struct text text = {arena, ""};
    add_word(&text, "family", family_words[model->family]);
    add_size(&text, "layers", model->layers);
    add_size(&text, "hidden", model->hidden);
    add_size(&text, "heads", model->heads);
    add_size(&text, "kv_heads", model->kv_heads);
    add_size(&text, "head_dim", model->head_dim);
    add_size(&text, "ffn", model->ffn);
    add_size(&text, "vocab", model->vocab);
    add_word(&text, "norm", norm_words[model->norm]);
    add_real(&text, "norm_eps", model->norm_eps);
    add_word(&text, "activation", activation_words[model->activation]);
    add_positions(&text, model);
    add_biases(&text, model->biases);
    if (model->qk_norm)
        add_flag(&text, "qk_norm", true);
    add_flag(&text, "tied", model->tied);
    add_flag(&text, "fused_qkv", model->fused_qkv);
    add_flag(&text, "fused_gate_up", model->fused_gate_up);
    return text.fields;
}

// ---- how it is trained ------------------------------------------------------------------------

// Where it falls from the warm-up on, the steps of that are not told: they follow from the others.
static const char *rate_text(struct text *text, const struct learning_rate *rate) {
    const char *base = real(text, rate->base), *decay = "";
    if (rate->curve == RATE_CONSTANT && rate->warmup_steps == 0)
        return base;
    if (rate->curve == RATE_CONSTANT)
        return arena_format(text->arena, "constant(peak = %s, warmup = %" PRId64 ")", base,
                            rate->warmup_steps);
    if (rate->decay_steps != rate->steps - rate->warmup_steps)
        decay = arena_format(text->arena, ", decay = %" PRId64, rate->decay_steps);
    return arena_format(text->arena,
                        "%s(peak = %s, warmup = %" PRId64 ", steps = %" PRId64 "%s, minimum = %s)",
                        rate_names[rate->curve], base, rate->warmup_steps, rate->steps, decay,
                        real(text, rate->minimum));
}

static const char *muon_text(struct text *text, const struct optimizer_config *optimizer,
                             const char *rate, const char *decay) {
    const double *c = optimizer->ns_coefficients;
    return arena_format(text->arena,
                        "muon(lr = %s, %s, momentum = %s, nesterov = %s, ns_coefficients = (%s, "
                        "%s, %s), eps = %s, ns_steps = %" PRId64 ", adjust_lr_fn = %s)",
                        rate, decay, real(text, optimizer->momentum),
                        optimizer->nesterov ? "true" : "false", real(text, c[0]), real(text, c[1]),
                        real(text, c[2]), real(text, optimizer->eps), optimizer->ns_steps,
                        muon_rate_names[optimizer->muon_rate]);
}

static const char *adafactor_text(struct text *text, const struct optimizer_config *optimizer,
                                  const char *rate, const char *decay) {
    return arena_format(
        text->arena, "adafactor(lr = %s, beta2_decay = %s, eps = (%s, %s), d = %s, %s)", rate,
        real(text, optimizer->beta2_decay),
        optimizer->eps > 0 ? real(text, optimizer->eps) : "none",
        real(text, optimizer->least_scale), real(text, optimizer->threshold), decay);
}

static const char *optimizer_text(struct text *text, const struct optimizer_config *optimizer) {
    const char *rate = rate_text(text, &optimizer->rate);
    const char *decay =
        arena_format(text->arena, "weight_decay = %s%s", real(text, optimizer->weight_decay),
                     optimizer->decays_all ? " of all" : "");
    switch (optimizer->kind) {
    case OPTIMIZER_NONE:
    case N_OPTIMIZERS:
        return "none";
    case OPTIMIZER_ADAMW:
    case OPTIMIZER_ADAM:
        return arena_format(text->arena, "%s(lr = %s, betas = (%s, %s), eps = %s, %s)",
                            optimizer_names[optimizer->kind], rate, real(text, optimizer->beta1),
                            real(text, optimizer->beta2), real(text, optimizer->eps), decay);
    case OPTIMIZER_LION:
        return arena_format(text->arena, "lion(lr = %s, betas = (%s, %s), %s)", rate,
                            real(text, optimizer->beta1), real(text, optimizer->beta2), decay);
    case OPTIMIZER_MUON:
        return muon_text(text, optimizer, rate, decay);
    case OPTIMIZER_ADAFACTOR:
        return adafactor_text(text, optimizer, rate, decay);
    case OPTIMIZER_SGD:
        return arena_format(text->arena, "sgd(lr = %s, momentum = %s, %s, nesterov = %s)", rate,
                            real(text, optimizer->momentum), decay,
                            optimizer->nesterov ? "true" : "false");
    }
    return "";
}

static const char *selected(struct arena *arena, const char *name, const struct selector *selector,
                            bool says_step) {
    for (unsigned i = 0; i < selector->n_roles; i++) {
        name = arena_format(arena, "%s.%s", name, role_names[selector->roles[i]]);
        if (!selector->has_slice || selector->roles[i] != ROLE_LAYERS)
            continue;
        name = arena_format(arena, "%s[%" PRId64 ":%" PRId64, name, selector->slice_begin,
                            selector->slice_end);
        name = says_step ? arena_format(arena, "%s:%" PRId64 "]", name, selector->slice_step)
                         : arena_format(arena, "%s]", name);
    }
    return name;
}

const char *selected_text(struct arena *arena, const char *name, const struct selector *selector) {
    return selected(arena, name, selector, true);
}

const char *selected_words(struct arena *arena, const char *name, const struct selector *selector) {
    return selected(arena, name, selector, selector->slice_step != 1);
}

const char *precision_said(struct arena *arena, const struct precision_config *precision,
                           enum precision_use use, const uint8_t *roles, unsigned n_roles,
                           int64_t layer) {
    const struct precision_rule *rule = precision_rule_of(precision, use, roles, n_roles, layer);
    return rule ? selected_words(arena, precision_names[use], &rule->selector)
                : precision_names[use];
}

static void add_loss_scale(struct text *text, const struct loss_scale_config *scale) {
    if (scale->initial == 0)
        return;
    const char *initial = real(text, scale->initial);
    add_word(text, "loss_scale",
             !scale->dynamic
                 ? initial
                 : arena_format(
                       text->arena,
                       "dynamic(initial = %s, growth = %s, backoff = %s, interval = %" PRId64 ")",
                       initial, real(text, scale->growth), real(text, scale->backoff),
                       scale->interval));
}

static const char *type_text(enum dtype type) {
    return type == DTYPE_NONE ? "none" : dtype_word(type);
}

// Whether a rule says what holds without it: no other says anything else of its use.
static bool is_idle(const struct precision_config *precision, const struct precision_rule *rule) {
    for (uint32_t i = 0; i < precision->n_rules; i++)
        if (precision->rules[i].use == rule->use && precision->rules[i].type != rule->type)
            return false;
    return rule->type == precision_type(precision, rule->use, NULL, 0, 0);
}

static int compare_texts(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

const char *precision_parts_text(struct arena *arena, const struct precision_config *precision) {
    const char **said = ARENA_ARRAY(arena, const char *, precision->n_rules + 1), *text = NULL;
    enum dtype activations = precision_type(precision, PRECISION_ACTIVATIONS, NULL, 0, 0);
    size_t n = 0;
    if (activations != precision_type(precision, PRECISION_COMPUTE, NULL, 0, 0))
        said[n++] = arena_format(arena, "activations = %s", dtype_word(activations));
    for (uint32_t i = 0; i < precision->n_rules; i++) {
        const struct precision_rule *rule = &precision->rules[i];
        if (!is_idle(precision, rule))
            said[n++] = arena_format(
                arena, "%s = %s", selected_text(arena, precision_names[rule->use], &rule->selector),
                type_text(rule->type));
    }
    if (n)
        qsort(said, n, sizeof *said, compare_texts);
    for (size_t i = 0; i < n; i++)
        text = i ? arena_format(arena, "%s  %s", text, said[i]) : said[i];
    return text;
}

// Beyond so many bytes only a sum of the optimizers is told, and of the types.
enum { MOST_OPTIMIZER_BYTES = 2048, MOST_TYPES_BYTES = 1024 };

// In which type each use is, where nothing is selected, and where something is.
static const char *types_text(struct arena *arena, const struct precision_config *precision) {
    struct text text = {arena, ""};
    for (enum precision_use use = 0; use < N_PRECISION_USES; use++) {
        enum dtype type = precision_type(precision, use, NULL, 0, 0);
        add_word(&text, precision_names[use], type_text(type));
    }
    for (uint32_t i = 0; i < precision->n_rules; i++) {
        const struct precision_rule *rule = &precision->rules[i];
        add_word(&text, selected_text(arena, precision_names[rule->use], &rule->selector),
                 type_text(rule->type));
    }
    if (strlen(text.fields) <= MOST_TYPES_BYTES)
        return text.fields;
    return arena_format(arena, "precision of sum %s", text_sum(arena, text.fields));
}

const char *training_text(struct arena *arena, const struct config *config) {
    struct text text = {arena, ""};
    size_t bytes = 0;
    add_real(&text, "dropout", config->model.dropout);
    add_real(&text, "clip", config->train.clip);
    add_loss_scale(&text, &config->train.loss_scale);
    text.fields =
        arena_format(arena, "%s; %s", text.fields, types_text(arena, &config->train.precision));
    const char *shared = text.fields, *sum = ""; // of this rule and those before it
    for (uint32_t i = 0; i < config->train.n_optimizers; i++) {
        const struct optimizer_rule *rule = &config->train.optimizers[i];
        const char *name = selected_text(arena, "optimizer", &rule->selector);
        const char *value = optimizer_text(&text, &rule->optimizer);
        bytes += strlen(name) + strlen(value);
        sum = text_sum(arena, arena_format(arena, "%s; %s %s", sum, name, value));
        if (bytes <= MOST_OPTIMIZER_BYTES)
            add_word(&text, name, value);
    }
    if (bytes > MOST_OPTIMIZER_BYTES) {
        text.fields = shared;
        add_word(&text, "optimizers", arena_format(arena, "of sum %s", sum));
    }
    return text.fields;
}

// ---- modes ------------------------------------------------------------------------------------

const char *mode_by_text(const struct mode_statement *mode) {
    return mode->by == CUT_DIMENSION ? dimension_names[mode->by_dimension]
           : mode->by == CUT_TENSOR  ? "tensor"
                                     : "flat";
}

const char *mode_axes_text(const struct mesh *mesh, const struct mode_statement *mode,
                           struct arena *arena) {
    const char *axes = mesh_axes_text(mesh, &mode->axes, arena);
    return mode->by == CUT_FLAT ? axes : arena_format(arena, "%s by %s", axes, mode_by_text(mode));
}
