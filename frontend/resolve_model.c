// Models: fields of the file over those of a config.json over the kind's own, then what must hold
// between them.
//
// A draft remembers who said each field, so that a contradiction can point at both sides, be they a
// line of the file, of a config.json or an option. Sizes that nobody said follow from others, and
// only then are bounds checked: a bound holds of a size wherever it came from.
#include "frontend/resolve.h"

#include <string.h>

enum {
#define MODEL_FIELD(name, kind, gpt2, llama) MODEL_##name,
#include "frontend/model_fields.def"
#undef MODEL_FIELD
    N_MODEL_FIELDS
};

static const bool required_by[][N_MODEL_FIELDS] = {
    [FAMILY_GPT2] =
        {
#define MODEL_FIELD(name, kind, gpt2, llama) gpt2,
#include "frontend/model_fields.def"
#undef MODEL_FIELD
        },
    [FAMILY_LLAMA] =
        {
#define MODEL_FIELD(name, kind, gpt2, llama) llama,
#include "frontend/model_fields.def"
#undef MODEL_FIELD
        },
};

// ---- reading ----------------------------------------------------------------------------------

// Understood as fields, so that the message is about experts and not about a misspelt name.
static bool is_expert_field(const struct ast_field *field) {
    const char *name = field->paths.items[0].items[0].name.text;
    return strcmp(name, "experts") == 0 || strcmp(name, "experts_per_token") == 0 ||
           strcmp(name, "router") == 0 || strcmp(name, "balance_over") == 0;
}

// Fields in the order of the text; what a later layer says again wins (fields.c).
static void take_block(struct resolver *r, const struct ast_block *block,
                       struct model_draft *draft) {
    struct origin origin = origin_statement(block->span);
    for (uint32_t i = 0; i < block->n; i++) {
        if (is_expert_field(&block->items[i]))
            report_unsupported(r, block->items[i].span, UNSUPPORTED_EXPERT_MODEL);
        else
            take_field(r, model_field_rows, N_MODEL_FIELDS, "field of a model", &block->items[i],
                       &origin, draft->config, draft->said);
    }
}

// After the block: what the command line says wins.
static void take_settings(struct resolver *r, struct model_draft *draft) {
    struct ast_field field;
    struct origin origin;
    for (uint32_t at = 0; next_setting(r, "model", &at, &field, &origin);)
        take_field(r, model_field_rows, N_MODEL_FIELDS, "field of a model", &field, &origin,
                   draft->config, draft->said);
}

// Starts the draft as a model of the kind, or from a config.json.
static bool begin_model(struct resolver *r, const struct found_item *found,
                        struct model_draft *draft) {
    const struct ast_item *item = found->item;
    struct ast_name source = item->model.source;
    if (item->kind == ITEM_MODEL_FAMILY) {
        int kind = table_find(model_kind_words, N_MODEL_KINDS, source.text);
        if (kind < 0)
            report_unknown(r, E103, source, "kind of model", model_kind_words, N_MODEL_KINDS);
        else
            *draft->config = *kind_defaults((enum model_kind)kind);
        return kind >= 0;
    }
    if (!names_file(r, source.text, source.span))
        return false;
    const char *path = path_beside(r->arena, r->files[found->file].path, source.text);
    return read_config_json(r, path, source.span, draft);
}

// ---- what must hold ---------------------------------------------------------------------------

// All that is missing in one message, at the model's name.
static bool check_required(struct resolver *r, const struct found_item *found,
                           const struct model_draft *draft) {
    const char *missing = "";
    for (int i = 0; i < N_MODEL_FIELDS; i++)
        if (required_by[draft->config->family][i] && !draft->said[i].said)
            missing = arena_format(r->arena, "%s%s`%s`", missing, *missing ? ", " : "",
                                   model_field_rows[i].name);
    if (*missing)
        report(r->diagnostics, E109, found->item->name.span, "model `%s` does not say %s",
               found->item->name.text, missing);
    return !*missing;
}

// A contradiction between two fields: at the second, with the first labelled.
static struct diagnostic *report_contradiction(struct resolver *r, const struct model_draft *draft,
                                               int at, int other, const char *message,
                                               const char *remedy) {
    const struct field_said *said = &draft->said[at], *with = &draft->said[other];
    struct span span = said->said ? origin_span(&said->origin) : draft->config->origin.span;
    struct diagnostic *d = report(r->diagnostics, E114, span, "%s", message);
    if (said->said)
        diagnostic_origin(d, &said->origin);
    if (with->said && said->said)
        diagnostic_label(d, origin_span(&with->origin), "and this");
    diagnostic_help(d, "%s", remedy);
    return d;
}

// What the kinds leave to be computed: as many key heads as query heads, a head's share of the
// hidden size, gpt2's inner width.
void derive_sizes(struct resolver *r, const struct model_draft *draft) {
    struct model_config *model = draft->config;
    if (!model->kv_heads)
        model->kv_heads = model->heads;
    if (!model->ffn)
        model->ffn = 4 * model->hidden;
    if (!model->head_dim && model->hidden % model->heads == 0)
        model->head_dim = model->hidden / model->heads;
    if (!model->head_dim)
        report_contradiction(r, draft, MODEL_heads, MODEL_hidden,
                             arena_format(r->arena, "hidden size %lld is no multiple of %lld heads",
                                          (long long)model->hidden, (long long)model->heads),
                             "take a number of heads that divides it, or say `head_dim`");
}

// A bound of the compiler's or the kernels', where a size may come from another: at the field that
// says it, else at the one it follows from.
static void check_most(struct resolver *r, const struct model_draft *draft, int field, int source,
                       int64_t size, int64_t most, const char *remedy) {
    const struct field_said *said = &draft->said[draft->said[field].said ? field : source];
    if (size <= most)
        return;
    struct diagnostic *d = report(
        r->diagnostics, E107, said->said ? origin_span(&said->origin) : draft->config->origin.span,
        "`%s` must be at most %lld, not %lld", model_field_rows[field].name, (long long)most,
        (long long)size);
    if (said->said)
        diagnostic_origin(d, &said->origin);
    diagnostic_help(d, "%s", remedy);
}

// Said by another file than what makes it idle: a block of fields stands over its config.json.
static bool is_overruled(const struct model_draft *draft, int idle, int by) {
    const struct origin *said = &draft->said[idle].origin;
    return said->kind == ORIGIN_STATEMENT && draft->said[by].said &&
           said->span.source != draft->said[by].origin.span.source;
}

// What the kernels and the passes rely on; they CHECK it.
static void check_sizes(struct resolver *r, const struct model_draft *draft) {
    const struct model_config *model = draft->config;
    if (model->heads % model->kv_heads != 0)
        report_contradiction(
            r, draft, MODEL_kv_heads, MODEL_heads,
            arena_format(r->arena, "%lld query head%s cannot share %lld key heads",
                         (long long)model->heads, plural_s(model->heads),
                         (long long)model->kv_heads),
            "as many query heads belong to each: make `kv_heads` a divisor of `heads`");
    check_most(r, draft, MODEL_head_dim, MODEL_heads, model->head_dim, LIMIT_HEAD_DIM,
               HEAD_DIM_REMEDY);
    check_most(r, draft, MODEL_layers, MODEL_layers, model->layers, LIMIT_LAYERS, LAYERS_REMEDY);
    if (model->position == POSITION_ROPE && model->head_dim % 2)
        report_contradiction(
            r, draft, draft->said[MODEL_head_dim].said ? MODEL_head_dim : MODEL_heads,
            MODEL_position,
            arena_format(r->arena, "rotary positions need an even head size, not %lld",
                         (long long)model->head_dim),
            "they turn pairs of elements: change `head_dim` or the number of heads, or take "
            "`position = learned`");
    if (model->fused_gate_up && model->activation != ACTIVATION_SWIGLU)
        report_contradiction(r, draft, MODEL_fused_gate_up, MODEL_activation,
                             "there is no gate to be fused with: the activation is not swiglu",
                             "leave out `fused_gate_up`, or take `activation = swiglu`");
    if (model->position == POSITION_LEARNED && draft->said[MODEL_rope_theta].said &&
        !is_overruled(draft, MODEL_rope_theta, MODEL_position))
        report_contradiction(r, draft, MODEL_rope_theta, MODEL_position,
                             "nothing is rotated: the model's positions are learned",
                             "leave out `rope_theta`, or take `position = rope`");
    if (model->position == POSITION_LEARNED && !model->sequence_limit)
        report(r->diagnostics, E109, model->origin.span, "learned positions need `sequence_limit`");
}

// Everything that is computed from sizes later (elements, bytes, operations of one tensor or of
// all) stays below 2^62 if the parameters do below LIMIT_PARAMETERS.
static void check_total(struct resolver *r, const struct model_config *model) {
    double width = (double)model->head_dim * (double)(model->heads + model->kv_heads) * 2;
    double layer = (double)model->hidden * (width + 3 * (double)model->ffn + 16);
    double total =
        layer * (double)model->layers +
        (double)model->hidden * (2 * (double)model->vocab + (double)model->sequence_limit);
    if (total > (double)LIMIT_PARAMETERS)
        report(r->diagnostics, E107, model->origin.span,
               "model `%s` has about %.2g parameters; at most 2^50 can be compiled", model->name,
               total);
}

// Kind or config.json first, the block over it, the command line over both; then what follows.
void resolve_model(struct resolver *r, const struct found_item *found) {
    uint32_t errors_before = r->diagnostics->n_errors;
    struct model_draft draft = {.config = &r->config->model};
    if (!begin_model(r, found, &draft))
        return;
    draft.config->name = found->item->name.text;
    draft.config->origin = origin_statement(found->item->name.span);
    take_block(r, &found->item->model.block, &draft);
    take_settings(r, &draft);
    // After other errors a field may be missing only because it could not be read.
    if (r->diagnostics->n_errors != errors_before || r->has_syntax_errors ||
        !check_required(r, found, &draft))
        return;
    derive_sizes(r, &draft);
    if (draft.config->head_dim)
        check_sizes(r, &draft);
    check_total(r, draft.config);
}
