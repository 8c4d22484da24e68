// What a `.place` file says, resolved: names looked up, units applied, `use` expanded, every number
// checked for its own range. Made by frontend/, read by build, update and place. It knows nothing
// of tensors yet: selectors are matched to tensors, and statements weighed against each other, by
// `place`.
//
// All strings and arrays live in the compilation's arena.
#ifndef PLACE_IR_CONFIG_H
#define PLACE_IR_CONFIG_H

#include <stdbool.h>
#include <stdint.h>

#include "ir/ir.h"
#include "ir/span.h"

// Where a fact comes from: a chain from the statement that says it outwards through the `use` that
// brought it. `span` of the first link in the user's file is where errors are shown.
enum origin_kind {
    ORIGIN_STATEMENT,    // said by the text at `span`
    ORIGIN_USE,          // brought by the `use` at `span`; `inner` is the library's statement
    ORIGIN_COMMAND_LINE, // -D, --ranks: `text` is the argument, printed as <command line>
    ORIGIN_SCHEDULE,     // follows from a pipeline schedule at `span`
    ORIGIN_DEFAULT,      // said nowhere: `text` says the rule; `span` is the strategy's name
};
struct origin {
    enum origin_kind kind;
    struct span span;
    const char *text;           // COMMAND_LINE, DEFAULT
    const struct origin *inner; // USE: what it brought; else NULL
};

// ---- model ------------------------------------------------------------------------------------

enum norm_kind { NORM_LAYER, NORM_RMS, N_NORMS };
enum activation_kind {
    ACTIVATION_GELU_TANH,
    ACTIVATION_GELU_ERF,
    ACTIVATION_SWIGLU,
    N_ACTIVATIONS
};
enum position_kind { POSITION_LEARNED, POSITION_ROPE, N_POSITIONS };
enum model_family { FAMILY_GPT2, FAMILY_LLAMA, N_FAMILIES };
// Which linear layers have biases; a file has a word for every set that occurs.
enum biases {
    BIASES_NONE = 0,
    BIASES_QKV = 1 << 0, // queries, keys and values
    BIASES_OUT = 1 << 1,
    BIASES_ATTENTION = BIASES_QKV | BIASES_OUT,
    BIASES_MLP = 1 << 2,
    BIASES_ALL = BIASES_ATTENTION | BIASES_MLP,
};
enum { N_BIASES_WORDS = 5 };

struct rope_scaling { // Llama 3.1's; factor 0: none
    double factor, low_frequency_factor, high_frequency_factor;
    int64_t original_positions;
};

struct model_config {
    const char *name;
    const char *kind;         // as a file calls it: "qwen2"
    const char *kept_json;    // what its config.json says to others, which goes on; NULL: nothing
    enum model_family family; // decides the names under which parameters are saved
    int64_t layers, hidden, heads, kv_heads, head_dim, ffn, vocab;
    int64_t sequence_limit; // rows of a learned position table
    int64_t window;         // positions that a query sees, itself included; 0: all before it
    enum norm_kind norm;
    enum activation_kind activation;
    enum position_kind position;
    enum biases biases;            // of linear layers
    bool qk_norm;                  // RMS norms of each head's queries and keys
    bool tied;                     // the head uses the embedding table
    bool fused_qkv, fused_gate_up; // are one parameter and one product
    double norm_eps, rope_theta, init_std;
    double dropout; // of what the embedding, attention and the feed-forward part give; 0: none
    struct rope_scaling rope_scaling;
    struct origin origin;
};

// ---- machine ----------------------------------------------------------------------------------

struct device_config {
    const char *name;                        // NULL: no device declared
    int64_t memory_bytes, host_memory_bytes; // 0: not said
    double flops_per_s, bandwidth_bytes_per_s, host_link_bytes_per_s;
    struct origin origin;
};
// The bytes that a tier may take for a device; 0: not said, or without a limit.
static inline int64_t tier_limit(const struct device_config *device, enum tier tier) {
    return tier == TIER_DEVICE ? device->memory_bytes
           : tier == TIER_HOST ? device->host_memory_bytes
                               : 0;
}

// ---- training ---------------------------------------------------------------------------------

enum optimizer_kind {
#define OPTIMIZER(ID, name) OPTIMIZER_##ID,
#include "ir/optimizers.def"
#undef OPTIMIZER
    N_OPTIMIZERS
};
extern const char *const optimizer_names[N_OPTIMIZERS];
struct learning_rate {
    enum rate_curve curve;
    double base;    // constant value, or the peak after warm-up
    double minimum; // at `steps`; default 0
    int64_t warmup_steps, steps;
    int64_t decay_steps; // of all, the last
};
// By what Muon multiplies the learning rate of a matrix: PyTorch's `adjust_lr_fn`.
enum muon_rate { MUON_ORIGINAL, MUON_MATCH_RMS_ADAMW, MUON_SPECTRAL_UNCLAMPED, N_MUON_RATES };
extern const char *const muon_rate_names[N_MUON_RATES];
struct optimizer_config {
    enum optimizer_kind kind;
    struct learning_rate rate;
    double beta1, beta2,
        eps;         // adamw, adam; the first two, lion; eps, muon, adafactor (0: its type's)
    double momentum; // sgd, muon; 0: without
    bool nesterov;
    double ns_coefficients[3]; // muon: of its Newton-Schulz steps
    int64_t ns_steps;
    enum muon_rate muon_rate;
    // adafactor: of the moments' weight by the step's number; least scale of a parameter; greatest root
    // of the mean square of an update
    double beta2_decay, least_scale, threshold;
    double weight_decay;
    bool decays_all; // gains and biases too, as it was said of what a selector selects
};

bool learning_rate_equal(const struct learning_rate *, const struct learning_rate *);
// What two optimizers do differently, as a file calls it: "`lr`, `eps`"; empty: nothing.
const char *optimizer_differences(struct arena *, const struct optimizer_config *,
                                  const struct optimizer_config *);

// `layers[0:16].attention.norm`: role names from ir/roles.def, outermost first, with an optional
// slice on `layers`. No step: everything.
struct selector {
    uint8_t n_roles;
    uint8_t roles[6]; // enum role
    bool has_slice;
    int64_t slice_begin, slice_end,
        slice_step; // resolved against model.layers: 0 <= begin, end <= layers
    struct span span;
};

// Do the selector's roles stand in the path, in this order? Steps may be left out between them
// ("attention.up" meets layers.attention.qkv.up), so one role alone matches at every depth. The
// slice on `layers` is not looked at: it selects among a tensor's copies, not among tensors.
bool selector_matches(const struct selector *selector, const uint8_t *roles, unsigned n_roles);
// Whether two select the same, however they are spelt: `[0:4]` and `[:4]` of four layers are one.
bool selector_equal(const struct selector *a, const struct selector *b);
// Is a layer among those that the selector's slice selects?
bool selector_covers(const struct selector *, int64_t layer);
// The first layer behind this one, perhaps behind the model's last, that it covers and not the one before,
// or the other way round; INT64_MAX: none. The slice is not empty.
int64_t selector_next(const struct selector *, int64_t layer);

struct optimizer_rule { // the longest selector wins; rule 0 has the empty selector
    struct selector selector;
    struct optimizer_config optimizer;
    bool is_inherited; // another rule takes from it what it does not say itself
    struct origin origin;
};

enum precision_use {
#define PRECISION_FIELD(NAME, text) PRECISION_##NAME,
#define EXPERT_FIELD(text)
#include "ir/precision_fields.def"
#undef PRECISION_FIELD
#undef EXPERT_FIELD
    N_PRECISION_USES
};
extern const char *const precision_names[N_PRECISION_USES];

// `compute.norm = fp32`: of a part of the model. The longest selector that matches holds.
struct precision_rule {
    enum precision_use use;
    struct selector selector;
    enum dtype type; // NONE: no master
    struct origin origin;
    struct span type_span; // the type's own word; nowhere: it is not of this alone
};
struct precision_config {
    enum dtype all; // where nothing is said of parameters, moments, gradients, compute
    enum dtype of_all[N_PRECISION_USES];     // said without a selector; NONE: nothing, or no master
    struct origin origins[N_PRECISION_USES]; // of these
    struct span type_spans[N_PRECISION_USES];
    struct precision_rule *rules;
    uint32_t n_rules;
    struct origin origin;
};

// By what the loss is multiplied, so that gradients of 16 bits do not vanish. Dynamic: after `interval`
// steps of finite gradients it grows, and where they are not finite the step is skipped and it shrinks.
struct loss_scale_config {
    double initial; // 0: none
    bool dynamic;
    double growth, backoff;
    int64_t interval;
    struct origin origin;
};

struct train_config {
    int64_t batch, sequence, microbatch; // sequences, tokens, sequences
    struct optimizer_rule *optimizers;
    uint32_t n_optimizers;
    double clip; // 0: none
    struct precision_config precision;
    struct loss_scale_config loss_scale;
    uint64_t seed;
    int64_t reproducible;          // W, or 0
    uint32_t reproducible_of;      // with it: dimensions that may be divided, bits 1 << dimension
    struct span reproducible_span; // of W alone
    struct origin origin, batch_origin, sequence_origin, microbatch_origin, reproducible_origin,
        seed_origin, clip_origin;
};

// ---- strategy ---------------------------------------------------------------------------------

enum extent { EXTENT_REPLICATED, EXTENT_SHARDED, EXTENT_GATHERED };
enum residency { RESIDENCY_STORED, RESIDENCY_MATERIALIZED, RESIDENCY_OFFLOADED, N_RESIDENCIES };
enum gather_unit { UNIT_TENSOR, UNIT_LAYER, UNIT_LAYERS, UNIT_STAGE, UNIT_MODEL };
enum cut_by { CUT_FLAT, CUT_TENSOR, CUT_DIMENSION };
enum reduce_when { REDUCE_LAST, REDUCE_EACH, REDUCE_DEFAULT, REDUCE_NEVER };

struct relax_statement { // relax CONDITIONS over AXES { ... }
    bool conditions[N_CONDITIONS];
    struct axis_list axes;
    struct origin origin; // of its head
};

struct split_statement { // split DIMS over AXES (in SELECTOR)
    enum dimension *dimensions;
    struct span *dimension_spans; // of each, where the text names it
    uint32_t n_dimensions;
    struct axis_list axes;   // atomic axes, outermost first
    struct axis_list copies; // inside them: axes over which devices hold copies
    struct axis_list
        said; // of a part of a statement: all axes of its text (passes/placement/factor.c)
    struct selector scope; // empty: everywhere
    uint32_t scope_depth;  // 0 outside every `in`
    struct origin origin;
};

struct said_option { // `prefetch = 2`, as a text says it
    const char *name;
    struct span span;
};

struct mode_statement { // STATE.SELECTOR : MODE(AXES, options), one mode each
    enum state state;
    struct selector selector;
    unsigned scope_roles;       // of its roles, those that an `in` around it says
    struct span selector_span;  // or what brought it: where a user can change it
    struct axis_list axes;      // empty for pure residencies
    struct span axes_span;      // the product, or what a parameter was given for it
    struct span statement_span; // without which it is not said: the statement, or the `use`;
                                // nowhere, where others of one line would go with it
    struct span whole_span;     // that, with the others: what another statement can stand behind
    bool sets_extent, sets_residency;
    enum extent extent;
    enum residency residency;
    bool own_text; // of the strategy itself, not brought by `use` nor by a `states` tuple
    uint32_t said; // the same of one mode for several selectors (`a, b : MODE`); 0: for one alone
    // options of the extent, defaults of docs/language.md filled in
    enum gather_unit unit;
    int64_t unit_layers; // UNIT_LAYERS
    int64_t prefetch;
    bool kept_after_forward, kept_after_backward;
    bool keeps_part; // after forward: what `kept_axes` leave of the gathered whole
    struct axis_list kept_axes;
    enum cut_by by;
    enum dimension by_dimension;
    struct span by_span; // nowhere: not said, so that it is as other states of the tensor are
    enum reduce_when reduce;
    int64_t bucket_bytes;
    enum tier to, update_on; // of what is offloaded: where it is kept, and where the update runs
    struct wire wire;        // how gradients are compressed on the way
    int64_t average_every;   // steps; 0: parameters are not averaged
    struct optimizer_config outer; // takes the average for a step of its own; NONE: it is taken
    struct said_option *options;   // those that its text says
    uint32_t n_options, cap_options;
    struct origin origin;
};
// Two residencies of activations compose: they are made again, of what is kept elsewhere.
static inline bool residencies_compose(const struct mode_statement *a,
                                       const struct mode_statement *b) {
    return a->state == STATE_ACTIVATIONS && a->residency != b->residency &&
           a->residency != RESIDENCY_STORED && b->residency != RESIDENCY_STORED;
}

struct stage_config { // `embedding + 7`
    bool embedding, head;
    int64_t layers;
    struct span span;
};

// The schedule that a file says, with where it says what. Which of it is right, and whether it fits the mesh and
// the batch, is for `place` to judge: so far every task has a kind, and every stage stands in one row.
struct schedule_file {
    const char *name; // as the strategy says it
    const struct schedule *schedule;
    struct span **tasks; // by rank and place in its list
    struct span *ranks;  // of each one's row
};

// split layers over AXES schedule METHOD(chunks = v, stages = [...])
// split layers over AXES schedule from "FILE"(stages = [...], microbatches = m)
struct pipeline_config {
    struct axis_list axes;            // none: there is no pipeline
    const struct schedule_file *file; // NULL: the method's schedule
    enum pipeline_method method;
    int64_t chunks;              // stages of a device; 0: not said
    int64_t microbatches;        // that the file is said to have; 0: not said
    struct stage_config *stages; // in the order of the model
    uint32_t n_stages;           // 0: not said, they are made as even as they can be
    struct span method_span;     // or of the file's name
    struct span stages_span, chunks_span, microbatches_span;
    struct origin origin; // of the statement
};

static inline bool has_pipeline(const struct pipeline_config *pipeline) {
    return pipeline->axes.n > 0;
}

// What the schedule is called in a report.
static inline const char *pipeline_schedule_name(const struct pipeline_config *pipeline) {
    return pipeline->file ? pipeline->file->name : method_names[pipeline->method];
}

struct strategy_config {
    const char *name;
    struct pipeline_config pipeline;
    struct split_statement *splits;
    uint32_t n_splits;
    struct mode_statement *modes;
    uint32_t n_modes;
    struct relax_statement *relaxations;
    uint32_t n_relaxations;
    struct span name_span;
};

struct config {
    struct model_config model;
    struct mesh mesh; // ir/ir.h
    struct device_config device;
    struct train_config train;
    struct strategy_config strategy;
    uint64_t total_devices;
};

// ---- element types (ir/precision.c) ------------------------------------------------------------

// The one of two that has no value that the other lacks; of two of which neither is, the second.
enum dtype dtype_narrower(enum dtype, enum dtype);
enum dtype dtype_wider(enum dtype,
                       enum dtype); // the one that has all values of the other, likewise
// What an op adds up in, and keeps statistics in, whose operands and results have the type.
enum dtype dtype_added_up_in(enum dtype);
// The type that holds for what has these roles (none: for all that no selector names) in a layer (0 of
// what is in none). MASTER: NONE where parameters serve.
enum dtype precision_type(const struct precision_config *, enum precision_use, const uint8_t *roles,
                          unsigned n_roles, int64_t layer);
// In which type a table is gathered that the head reads, too: the embedding's roles.
enum dtype precision_of_tied(const struct precision_config *, const uint8_t *roles,
                             unsigned n_roles);
// The type of a gradient's sums over microbatches and devices, and on the way to these. Where they are
// to have an order it is what the type is added up in, and the whole is rounded once.
enum dtype precision_of_sums(const struct train_config *, const uint8_t *roles, unsigned n_roles,
                             int64_t layer);
enum dtype precision_of_reduction(const struct train_config *, const uint8_t *roles,
                                  unsigned n_roles, int64_t layer);
bool precision_says(const struct precision_config *, enum precision_use, const uint8_t *roles,
                    unsigned n_roles, int64_t layer);
// Whether all is of one type that everything computes in by itself, fp32 or fp64.
bool precision_is_uniform(const struct precision_config *);
const char *dtype_word(enum dtype); // as a file calls it: "fp32"
// What an op with these roles works on, or a tensor is used in: norms in `activations` or as
// `compute` says of norms, all else in `compute`.
enum dtype precision_of_work(const struct precision_config *, const uint8_t *roles,
                             unsigned n_roles, int64_t layer);
// Which of the two says it.
enum precision_use precision_work_use(const struct precision_config *, const uint8_t *roles,
                                      unsigned n_roles, int64_t layer);
bool precision_rule_selects(const struct precision_rule *, const uint8_t *roles, unsigned n_roles,
                            int64_t layer);
// The rule with a selector that holds; NULL: none does.
const struct precision_rule *precision_rule_of(const struct precision_config *, enum precision_use,
                                               const uint8_t *roles, unsigned n_roles,
                                               int64_t layer);
// Where the type comes from; of what is not said, what the block or the lack of it does.
const struct origin *precision_origin(const struct precision_config *, enum precision_use,
                                      const uint8_t *roles, unsigned n_roles, int64_t layer);
// Where a file says the type; nowhere if that is not there, or is of more than this.
struct span precision_type_span(const struct precision_config *, enum precision_use,
                                const uint8_t *roles, unsigned n_roles, int64_t layer);
// The first layer behind this one of which something else may be said, whether the model has it or not.
int64_t precision_next(const struct precision_config *, int64_t layer);
// Whether the same is said of two layers.
bool precision_alike(const struct precision_config *, int64_t a, int64_t b);

// ---- as text (ir/model_text.c) ----------------------------------------------------------------

// `NAME.layers[0:2:1].norm`
const char *selected_text(struct arena *, const char *name, const struct selector *);
// The same as a person writes it, `NAME.layers[0:2].norm`.
const char *selected_words(struct arena *, const char *name, const struct selector *);
// What says a type, as a file does: `gather`, `gather.layers[0:2].mlp`.
const char *precision_said(struct arena *, const struct precision_config *, enum precision_use,
                           const uint8_t *roles, unsigned n_roles, int64_t layer);
// What is said of activations, where they have another type than what computes, and of parts of the model:
// `activations = fp32  compute.norm = fp32`, in an order that is not the file's. NULL: nothing.
const char *precision_parts_text(struct arena *, const struct precision_config *);

// The words of a file for what the enums number.
extern const char *const family_words[N_FAMILIES];
extern const char *const norm_words[N_NORMS];
extern const char *const activation_words[N_ACTIVATIONS];
extern const char *const position_words[N_POSITIONS];
extern const char *const biases_words[N_BIASES_WORDS];
extern const enum biases biases_sets[N_BIASES_WORDS]; // what the words say

// "flat", "tensor" or a dimension: how a statement cuts.
const char *mode_by_text(const struct mode_statement *);
// "a * b", or "a * b by hidden": over what it cuts, and along what, if not flat.
const char *mode_axes_text(const struct mesh *, const struct mode_statement *, struct arena *);

// What has to be the same to go on from a checkpoint, and what is told where it is not. Neither is
// longer than a checkpoint can hold (runtime/host/manifest.h).
const char *model_text(struct arena *, const struct model_config *);
const char *training_text(struct arena *, const struct config *);

#endif
