// `STATE.SELECTOR : MODE(AXES, options), ...` and tuples of letters, as mode statements: one for
// each state and mode. What the language cannot mean is refused here (an option of another state's,
// recomputed parameters); whether it fits the splits is judged by `place`.
//
// Modes, their options and the reader of each option are rows of modes.def. A mode statement that
// comes out has every option of its extent filled in, by what was said or by the language's
// default, so nobody behind this has to know which options a mode has. `reduce` alone keeps "not
// said": its default differs between whole gradients and cut ones. What is meant and not built is
// told in its own words (E199), and after everything that would be wrong in any compiler.
#include "frontend/expand.h"

#include <float.h>
#include <math.h>
#include <string.h>

enum mode {
#define MODE(name, text, axes) MODE_##name,
#define OPTION(mode, text, reader, states)
#define RELAXED_OPTION(mode, text, reader, states, condition)
#include "frontend/modes.def"
#undef MODE
    N_MODES
};
static const struct {
    const char *text;
    bool takes_axes;
} mode_rows[N_MODES] = {
#define MODE(name, text, axes) {text, axes},
#include "frontend/modes.def"
#undef MODE
#undef OPTION
#undef RELAXED_OPTION
};

// A mode while it is read.
struct mode_reader {
    struct resolver *r;
    const struct frame *frame;
    const struct scope *scope;
    enum mode mode;
    struct mode_statement *out;
    const struct ast_letter *letter; // of a tuple, which says it; NULL: words
};

// The axes of the mode on which nothing around it relaxes the condition. A mode without axes is
// said of all of them.
static struct axis_list unrelaxed_axes(const struct mode_reader *m, enum condition condition) {
    struct axis_list axes = m->out->axes;
    for (unsigned axis = 0; axis < m->r->config->mesh.n_axes && !m->out->axes.n; axis++)
        axis_list_add(&axes, axis);
    return axis_list_without(&axes, &m->scope->relaxed[condition]);
}

// Legal text in the wrong place: the result of training would change without the file saying so.
static bool check_relaxed(const struct mode_reader *m, struct span span, const char *what,
                          enum condition condition) {
    struct resolver *r = m->r;
    struct axis_list left = unrelaxed_axes(m, condition);
    if (left.n == 0)
        return true;
    const char *axes = mesh_axes_text(&r->config->mesh, &left, r->arena);
    struct diagnostic *d =
        report(r->diagnostics, E122, span, "`%s` changes the result of training", what);
    diagnostic_say(d, "`%s` is not relaxed over `%s` here", condition_names[condition], axes);
    diagnostic_help(d, "say so around it: `relax %s over %s { ... }`", condition_names[condition],
                    axes);
    struct span at = m->out->statement_span;
    if (at.source != NO_SOURCE) {
        diagnostic_edit(d, span_of(at.source, at.begin, at.begin), "relax %s over %s { ",
                        condition_names[condition], axes);
        diagnostic_edit(d, span_of(at.source, at.end, at.end), " }");
    }
    return false;
}

// ---- options ----------------------------------------------------------------------------------
// Each reads one value into the statement; what is wrong is reported.

// A number alone where a call takes it, `every(100)`.
static void report_no_call(const struct mode_reader *m, const struct ast_value *value,
                           const char *what, const char *wanted, const char *call) {
    struct diagnostic *d = report_wrong_kind(m->r, value, what, wanted);
    if (value->kind != AST_NUMBER)
        return;
    const char *number = ast_value_text(m->r->arena, value);
    diagnostic_help(d, "did you mean `%s(%s)`?", call, number);
    diagnostic_edit(d, value->span, "%s(%s)", call, number);
}

// `layers(n)` is a call, all others are words.
static void read_unit(const struct mode_reader *m, const struct ast_value *value) {
    static const char *const units[] = {
#define UNIT_WORD(text) text,
#include "frontend/words.def"
    };
    struct resolver *r = m->r;
    if (value->kind == AST_CALL && strcmp(value->call.name.text, "layers") == 0) {
        const struct ast_arguments *arguments = &value->call.arguments;
        if (arguments->n != 1 || arguments->items[0].kind != ARGUMENT_VALUE) {
            report_wrong_kind(r, value, "`unit`", "`layers(n)` with one number");
            return;
        }
        if (!read_integer(r, arguments->items[0].value, "the number of layers", 1, LIMIT_SIZE,
                          &m->out->unit_layers))
            return;
        m->out->unit = UNIT_LAYERS;
    } else if (value->kind == AST_NUMBER) {
        report_no_call(m, value, "`unit`", "a word, or `layers(n)` with one number", "layers");
    } else {
        int unit;
        if (!read_choice(r, value, "`unit`", units, 5, &unit))
            return;
        if (unit == UNIT_LAYERS) {
            report_wrong_kind(r, value, "`unit`", "`layers(n)` with the number of layers");
            return;
        }
        if (unit == UNIT_TENSOR && m->mode == MODE_RECOMPUTED) {
            struct diagnostic *d =
                report(r->diagnostics, E121, value->span,
                       "values are recomputed from the input of a layer: no unit is smaller");
            diagnostic_help(d, "leave `unit` out, and select what is recomputed, as in "
                               "`activations.mlp : recomputed`");
            return;
        }
        m->out->unit = (enum gather_unit)unit;
    }
}

// How many units ahead of its use a gather starts: that many more are held at a time.
static void read_prefetch(const struct mode_reader *m, const struct ast_value *value) {
    read_integer(m->r, value, "`prefetch`", 0, LIMIT_PREFETCH, &m->out->prefetch);
}

// An axis or a product of them.
static bool read_product(const struct mode_reader *m, const struct ast_argument *argument,
                         const char *what, struct axis_list *out, struct span *span) {
    struct ast_name name;
    struct ast_names names = argument->axes;
    if (argument->kind == ARGUMENT_VALUE) {
        if (argument->value->kind != AST_NAME) {
            report_wrong_kind(m->r, argument->value, what, "an axis first");
            return false;
        }
        name = (struct ast_name){argument->value->name, argument->value->span};
        names = (struct ast_names){.items = &name, .n = 1, .span = name.span};
    }
    *span = product_span(m->frame, &names);
    return resolve_product(m->r, m->frame, &names, out);
}

static const char *const kept_words[] = {
#define KEPT_WORD(text) text,
#include "frontend/words.def"
};

// `sharded(AXES)` keeps a part: a gathered value that is cut anew.
static void read_after_forward(const struct mode_reader *m, const struct ast_value *value) {
    struct span span;
    int word;
    if (value->kind == AST_CALL && strcmp(value->call.name.text, "sharded") == 0) {
        const struct ast_arguments *arguments = &value->call.arguments;
        if (arguments->n != 1 || arguments->items[0].kind == ARGUMENT_BY ||
            arguments->items[0].name.text)
            report_wrong_kind(m->r, value, "`after_forward`", "`sharded(AXES)`");
        else if (read_product(m, &arguments->items[0], "`sharded`", &m->out->kept_axes, &span))
            m->out->keeps_part = true;
    } else if (read_choice(m->r, value, "`after_forward`", kept_words, 2, &word)) {
        m->out->kept_after_forward = word == 1;
    }
}

static void read_after_backward(const struct mode_reader *m, const struct ast_value *value) {
    int word;
    if (read_choice(m->r, value, "`after_backward`", kept_words, 2, &word))
        m->out->kept_after_backward = word == 1;
}

// What the language relaxes for all of the model only, or not yet for a part of it.
static bool check_everywhere(const struct mode_reader *m, struct span span) {
    bool everywhere = m->out->selector.n_roles == 0;
    if (!everywhere)
        report_unsupported(m->r, span, UNSUPPORTED_RELAXED_PART);
    return everywhere;
}

// A gradient that is never reduced is whole on every device: only `replicated` leaves it so.
static void read_never(const struct mode_reader *m, const struct ast_value *value) {
    if (m->mode == MODE_SHARDED)
        report(m->r->diagnostics, E121, value->span,
               "a shard of a gradient is a part of its sum over the devices: it is reduced");
    else if (check_relaxed(m, value->span, "reduce = never", CONDITION_GRADIENT_INTEGRITY) &&
             check_everywhere(m, value->span))
        m->out->reduce = REDUCE_NEVER;
}

// What is summed after the last microbatch has been whole until then, so no shard is kept of it.
static void report_last_of_shards(const struct mode_reader *m) {
    struct resolver *r = m->r;
    const char *axes = mesh_axes_text(&r->config->mesh, &m->out->axes, r->arena);
    struct diagnostic *d =
        report(r->diagnostics, E121, origin_span(&m->out->origin),
               "shards of gradients are reduced in each microbatch, not after the last");
    diagnostic_say(d, "until then each device would have to keep them whole");
    diagnostic_origin(d, &m->out->origin);
    diagnostic_help(d,
                    "keep them whole: `optimizer : sharded(%s)  gradients : replicated(%s, reduce "
                    "= last)`",
                    axes, axes);
    struct span mode = m->out->origin.span;
    bool alone = m->out->statement_span.source != NO_SOURCE; // else the edit is about others, too
    if (m->out->origin.kind == ORIGIN_STATEMENT && alone)
        diagnostic_edit(d,
                        span_of(mode.source, mode.begin, mode.begin + (uint32_t)strlen("sharded")),
                        "replicated");
}

// Outside `relax` nobody is told of `never`: it would only tempt.
static void read_reduce(const struct mode_reader *m, const struct ast_value *value) {
    static const char *const words[] = {
#define REDUCE_WORD(text) text,
#include "frontend/words.def"
    };
    int word;
    if (value->kind == AST_NAME && strcmp(value->name, "never") == 0)
        read_never(m, value);
    else if (!read_choice(m->r, value, "`reduce`", words, 2, &word))
        return;
    else if (word == 0 && m->mode == MODE_SHARDED)
        report_last_of_shards(m);
    else
        m->out->reduce = word == 0 ? REDUCE_LAST : REDUCE_EACH;
}

// Bytes of one reduction; without it the bucket is LIMIT_BUCKET_BYTES.
static void read_bucket(const struct mode_reader *m, const struct ast_value *value) {
    read_bytes_quantity(m->r, value, "`bucket`", &m->out->bucket_bytes);
}

static const char *const offload_words[] = {
#define OFFLOAD_WORD(text) text,
#include "frontend/words.def"
};
enum { N_OFFLOAD_WORDS = sizeof offload_words / sizeof *offload_words };

static void read_offload_target(const struct mode_reader *m, const struct ast_value *value) {
    int word;
    if (read_choice(m->r, value, "`to`", offload_words, N_OFFLOAD_WORDS, &word))
        m->out->to = word == 0 ? TIER_HOST : TIER_DISK;
}

static void read_offload_update(const struct mode_reader *m, const struct ast_value *value) {
    static const char *const words[] = {
#define UPDATE_WORD(text) text,
#include "frontend/words.def"
    };
    int word;
    if (read_choice(m->r, value, "`update`", words, 2, &word))
        m->out->update_on = word == 0 ? TIER_DEVICE : TIER_HOST;
}

// `every(n)`: after each n-th step.
static void read_average(const struct mode_reader *m, const struct ast_value *value) {
    const struct ast_arguments *arguments = &value->call.arguments;
    int64_t every;
    if (value->kind != AST_CALL || strcmp(value->call.name.text, "every") != 0 ||
        arguments->n != 1 || arguments->items[0].kind != ARGUMENT_VALUE ||
        arguments->items[0].name.text)
        report_no_call(m, value, "`average`", "`every(n)` with a number of steps", "every");
    else if (m->out->state == STATE_OPTIMIZER)
        report_unsupported(m->r, value->span, UNSUPPORTED_AVERAGED_OPTIMIZER);
    else if (read_integer(m->r, substitute(m->frame, arguments->items[0].value), "`every`", 1,
                          LIMIT_SIZE, &every) &&
             check_everywhere(m, value->span))
        m->out->average_every = every;
}

static void read_outer(const struct mode_reader *m, const struct ast_value *value) {
    if (check_everywhere(m, value->span))
        read_outer_optimizer(m->r, value, &m->out->outer);
}

// `topk(share)`: of each block, at least one element.
static bool read_kept(const struct mode_reader *m, const struct ast_value *value, int64_t *kept) {
    const struct ast_arguments *arguments = &value->call.arguments;
    double share;
    if (value->kind != AST_CALL || arguments->n != 1 || arguments->items[0].name.text ||
        arguments->items[0].kind != ARGUMENT_VALUE) {
        report_wrong_kind(m->r, value, "`topk`", "the share of elements that travel: `topk(0.01)`");
        return false;
    }
    if (!read_real(m->r, substitute(m->frame, arguments->items[0].value), "the share of `topk`",
                   DBL_MIN, 1, &share))
        return false;
    *kept = (int64_t)ceil(share * WIRE_BLOCK);
    return true;
}

// A word, or the call `topk(share)`.
static void read_wire(const struct mode_reader *m, const struct ast_value *value) {
    const char *const *names = wire_way_names + 1;
    struct ast_name name = {value->kind == AST_CALL   ? value->call.name.text
                            : value->kind == AST_NAME ? value->name
                                                      : "",
                            value->span};
    int way = table_find(names, N_WIRE_WAYS - 1, name.text);
    struct wire wire = {.way = (enum wire_way)(way + 1)};
    if (way < 0)
        report_unknown(m->r, E103, name, "way to compress", names, N_WIRE_WAYS - 1);
    else if (wire.way != WIRE_TOPK && value->kind == AST_CALL)
        report_wrong_kind(m->r, value, "`wire`", "`sign`, `int8` or `topk(share)`");
    else if (wire.way != WIRE_TOPK || read_kept(m, value, &wire.kept))
        m->out->wire = wire;
}

static const struct option_row {
    enum mode mode;
    const char *text;
    void (*read)(const struct mode_reader *, const struct ast_value *);
    const char *states;       // letters of state_letters
    enum condition condition; // that it breaks; N_CONDITIONS: none
} option_rows[] = {
#define MODE(name, text, axes)
#define OPTION(mode, text, reader, states) {MODE_##mode, text, reader, states, N_CONDITIONS},
#define RELAXED_OPTION(mode, text, reader, states, condition)                                      \
    {MODE_##mode, text, reader, states, CONDITION_##condition},
#include "frontend/modes.def"
#undef MODE
#undef OPTION
#undef RELAXED_OPTION
};
enum { N_OPTION_ROWS = sizeof option_rows / sizeof *option_rows };
static const char state_letters[N_STATES] = {'P', 'O', 'G', 'A'};

// Lists what this mode takes for the state, relaxed options left out: they would only tempt.
static void report_unknown_option(const struct mode_reader *m, struct ast_name name) {
    const char *names[N_OPTION_ROWS];
    size_t n = 0;
    for (int i = 0; i < N_OPTION_ROWS; i++)
        if (option_rows[i].mode == m->mode && option_rows[i].condition == N_CONDITIONS &&
            strchr(option_rows[i].states, state_letters[m->out->state]))
            names[n++] = option_rows[i].text;
    report_unknown(m->r, E104, name,
                   arena_format(m->r->arena, "option of `%s`", mode_rows[m->mode].text), names, n);
}

// An option that the mode has of other states: those are named, of options that need no `relax`.
static void report_other_states_option(const struct mode_reader *m,
                                       const struct ast_argument *argument,
                                       const struct option_row *row) {
    struct diagnostic *d = report(m->r->diagnostics, E121, argument->span,
                                  "`%s` is no option of %s", row->text, state_names[m->out->state]);
    const char *states = "";
    for (int state = 0; state < N_STATES; state++)
        if (strchr(row->states, state_letters[state]))
            states = arena_format(m->r->arena, "%s%s`%s`", states, *states ? ", " : "",
                                  state_names[state]);
    if (row->condition == N_CONDITIONS)
        diagnostic_help(d, "leave it out here, or say it of %s", states);
}

// Known to the mode, then known to the state, then permitted here: the first that fails is said.
static void read_option(const struct mode_reader *m, const struct ast_argument *argument) {
    const struct option_row *row = NULL;
    for (int i = 0; i < N_OPTION_ROWS && !row; i++)
        if (option_rows[i].mode == m->mode && strcmp(option_rows[i].text, argument->name.text) == 0)
            row = &option_rows[i];
    if (!row) {
        report_unknown_option(m, argument->name);
    } else if (!strchr(row->states, state_letters[m->out->state])) {
        report_other_states_option(m, argument, row);
    } else if (row->condition == N_CONDITIONS ||
               check_relaxed(m, argument->span, row->text, row->condition)) {
        row->read(m, substitute(m->frame, argument->value));
        ARENA_PUSH(m->r->arena, m->out->options, m->out->n_options, m->out->cap_options,
                   (struct said_option){row->text, argument->span});
    }
}

// ---- axes -------------------------------------------------------------------------------------

// Lists the ways to cut this state: activations along the sequence alone.
static void report_unknown_cut(const struct mode_reader *m, struct ast_name by) {
    const char *ways[N_DIMENSIONS + 1];
    size_t n = 0;
    bool activations = m->out->state == STATE_ACTIVATIONS;
    if (!activations)
        ways[n++] = "tensor";
    for (int dimension = activations ? DIM_SEQUENCE : DIM_HEADS;
         dimension <= (activations ? DIM_SEQUENCE : DIM_FLAT); dimension++)
        ways[n++] = dimension_names[dimension];
    report_unknown(m->r, E103, by, "way to cut a state", ways, n);
}

// How shards are cut; `flat` is the default.
static void read_by(const struct mode_reader *m, struct ast_name by) {
    int dimension = table_find(dimension_names, N_DIMENSIONS, by.text);
    m->out->by_span = by.span;
    if (strcmp(by.text, "flat") == 0)
        return;
    if (strcmp(by.text, "tensor") == 0 && m->out->state != STATE_ACTIVATIONS) {
        m->out->by = CUT_TENSOR;
    } else if (dimension > DIM_NONE && dimension < DIM_FLAT) {
        m->out->by = CUT_DIMENSION;
        m->out->by_dimension = (enum dimension)dimension;
    } else {
        report_unknown_cut(m, by);
    }
}

// The first argument of an extent. False: reported.
static bool read_axes(const struct mode_reader *m, const struct ast_argument *argument) {
    if (argument->kind == ARGUMENT_BY && m->mode == MODE_REPLICATED) {
        struct diagnostic *d = report(m->r->diagnostics, E121, argument->span,
                                      "only what is `sharded` or `gathered` is cut `by` something");
        diagnostic_help(d, "leave `by %s` out, or write `sharded`", argument->by.text);
        return false;
    }
    if (argument->kind == ARGUMENT_BY)
        read_by(m, argument->by);
    return read_product(m, argument, arena_format(m->r->arena, "`%s`", mode_rows[m->mode].text),
                        &m->out->axes, &m->out->axes_span);
}

// ---- one mode ---------------------------------------------------------------------------------

// Everything that the language leaves to defaults, in one place.
static void set_mode(enum mode mode, struct mode_statement *out) {
    out->sets_extent = mode_rows[mode].takes_axes;
    out->sets_residency = !out->sets_extent;
    out->extent = mode == MODE_SHARDED    ? EXTENT_SHARDED
                  : mode == MODE_GATHERED ? EXTENT_GATHERED
                                          : EXTENT_REPLICATED;
    out->residency = mode == MODE_OFFLOADED                                 ? RESIDENCY_OFFLOADED
                     : mode == MODE_MATERIALIZED || mode == MODE_RECOMPUTED ? RESIDENCY_MATERIALIZED
                                                                            : RESIDENCY_STORED;
    out->to = TIER_HOST;
    out->update_on = TIER_DEVICE;
    out->unit = UNIT_LAYER;
    out->prefetch = 1;
    out->by = CUT_FLAT;
    out->by_span = span_nowhere();
    out->reduce = REDUCE_DEFAULT;
}

// What keeps less of a state that is not computed from another: of the optimizer's most cannot be made
// anew, so they are kept elsewhere.
static void help_made_anew(struct diagnostic *d, struct span span, enum state state) {
    bool kept = state == STATE_OPTIMIZER;
    diagnostic_help(d, kept ? "the next step goes on with them: keep them elsewhere, `offloaded`"
                       : state == STATE_PARAMETERS
                           ? "write `materialized`: made of a master copy for each use"
                           : "write `materialized`: taken by the update as soon as they are made");
    diagnostic_edit(d, span, kept ? "offloaded" : "materialized");
}

// Whether the mode means anything for the state.
static bool check_meaning(const struct mode_reader *m, struct span span) {
    enum state state = m->out->state;
    struct diagnostic *d = NULL;
    if (m->mode == MODE_RECOMPUTED && state != STATE_ACTIVATIONS) {
        d = report(m->r->diagnostics, E121, span, "only activations are recomputed, not %s",
                   state_names[state]);
        help_made_anew(d, span, state);
    } else if (m->mode == MODE_MATERIALIZED && state == STATE_ACTIVATIONS) {
        d = report(m->r->diagnostics, E121, span, "activations are not `materialized`");
        diagnostic_help(d, "write `recomputed`");
        diagnostic_edit(d, span, "recomputed");
    } else if (m->mode == MODE_GATHERED && state == STATE_GRADIENTS) {
        d = report(m->r->diagnostics, E121, span,
                   "gradients are reduced once and used once; nothing gathers them");
        const char *right = m->letter ? "S" : "sharded";
        for (int i = 0; m->letter && i < MOST_RESIDENCIES && m->letter->residencies[i].text; i++)
            right = arena_format(m->r->arena, "%s+%s", right, m->letter->residencies[i].text);
        diagnostic_help(d, "write `%s`", right);
        diagnostic_edit(d, span, "%s", right);
    }
    return !d;
}

static bool is_offered(enum mode mode, enum state state) {
    bool for_other_states = (mode == MODE_RECOMPUTED && state != STATE_ACTIVATIONS) ||
                            (mode == MODE_MATERIALIZED && state == STATE_ACTIVATIONS) ||
                            (mode == MODE_GATHERED && state == STATE_GRADIENTS);
    return !for_other_states;
}

// False: reported, with the mode that was probably meant, or those that can be meant.
static bool find_mode(struct resolver *r, struct ast_name name, enum state state, enum mode *out) {
    const char *offered[N_MODES];
    size_t n = 0;
    for (int i = 0; i < N_MODES; i++) {
        if (strcmp(mode_rows[i].text, name.text) == 0) {
            *out = (enum mode)i;
            return true;
        }
        if (is_offered((enum mode)i, state))
            offered[n++] = mode_rows[i].text;
    }
    report_unknown(r, E103, name, "mode", offered, n);
    return false;
}

static bool takes_options(enum mode mode) {
    for (int i = 0; i < N_OPTION_ROWS; i++)
        if (option_rows[i].mode == mode)
            return true;
    return false;
}

// What is neither an option nor the axes of an extent.
static void report_unnamed_argument(const struct mode_reader *m, const struct ast_mode *ast,
                                    const struct ast_argument *argument) {
    bool takes_axes = mode_rows[m->mode].takes_axes, options = takes_options(m->mode);
    struct diagnostic *d = report(m->r->diagnostics, E105, argument->span,
                                  takes_axes ? "`%s` takes one product of axes; join axes with `*`"
                                  : options  ? "`%s` takes no axis, only options by name"
                                             : "`%s` takes no argument",
                                  ast->name.text);
    const struct ast_value *value = argument->value;
    bool is_place = m->mode == MODE_OFFLOADED && value && value->kind == AST_NAME &&
                    table_find(offload_words, N_OFFLOAD_WORDS, value->name) >= 0;
    if (is_place) {
        diagnostic_help(d, "say `to = %s`", value->name);
        diagnostic_edit(d, argument->span, "to = %s", value->name);
    }
    if (options || ast->arguments.n > 1)
        return;
    diagnostic_help(d, "over which axes a state is cut another mode of it says");
    diagnostic_edit(d, ast->span, "%s", ast->name.text);
}

// The first argument of an extent is its axes; all others are options by name.
static void read_arguments(const struct mode_reader *m, const struct ast_mode *ast) {
    const struct ast_arguments *arguments = &ast->arguments;
    bool takes_axes = mode_rows[m->mode].takes_axes;
    bool has_axes = takes_axes && arguments->n && !arguments->items[0].name.text;
    // Only `replicated` has a meaning without: on every axis.
    if (takes_axes && !has_axes && m->mode != MODE_REPLICATED) {
        struct diagnostic *d = report(m->r->diagnostics, E109, ast->span,
                                      "`%s` does not say over which axis", ast->name.text);
        diagnostic_help(d, "name the axis first: `%s(dp)`", ast->name.text);
        return;
    }
    for (uint32_t i = 0; i < arguments->n; i++) {
        const struct ast_argument *argument = &arguments->items[i];
        if (i == 0 && has_axes) {
            read_axes(m, argument);
        } else if (!argument->name.text) {
            report_unnamed_argument(m, ast, argument);
        } else {
            read_option(m, argument);
            for (uint32_t k = 0; k < i; k++)
                if (arguments->items[k].name.text &&
                    strcmp(arguments->items[k].name.text, argument->name.text) == 0)
                    report_twice(m->r, argument->span, arguments->items[k].span,
                                 arena_format(m->r->arena, "`%s`", argument->name.text));
        }
    }
}

// Kept to the end of the step means kept from its first use on.
static void check_kept(const struct mode_reader *m, const struct ast_mode *ast) {
    struct span end = {ast->span.source, ast->span.end - 1, ast->span.end - 1};
    if (!m->out->kept_after_backward || m->out->kept_after_forward)
        return;
    struct diagnostic *d =
        report(m->r->diagnostics, E121, ast->span,
               "parameters are kept after backward, but freed after forward before it");
    diagnostic_help(d, "keep them after forward too");
    diagnostic_edit(d, end, ", after_forward = kept");
}

// Only what is well is handed on; what was refused has left a message.
static void push(struct expansion *e, const struct mode_statement *statement) {
    ARENA_PUSH(e->r->arena, e->strategy->modes, e->strategy->n_modes, e->modes_capacity,
               *statement);
}

// ---- statements -------------------------------------------------------------------------------

// The first step of the path is the state; what follows selects.
static bool resolve_state(struct resolver *r, const struct ast_path *path, enum state *out) {
    const struct ast_step *step = &path->items[0];
    int state = table_find(state_names, N_STATES, step->name.text);
    if (state < 0)
        report_unknown(r, E103, step->name, "state", state_names, N_STATES);
    else if (step->has_slice)
        report(r->diagnostics, E105, step->slice.span, "only `layers` takes a slice");
    else
        *out = (enum state)state;
    return state >= 0 && !step->has_slice;
}

static void report_two_modes(struct expansion *e, const struct mode_statement *first,
                             const struct mode_statement *second, bool extents) {
    struct diagnostic *d =
        report(e->r->diagnostics, E121, origin_span(&second->origin),
               extents ? "this gives %s two extents on one axis" : "this gives %s two residencies",
               state_names[second->state]);
    diagnostic_label(d, origin_span(&first->origin), "this is one");
    diagnostic_origin(d, &second->origin);
    diagnostic_help(d, "keep one of them");
}

// A statement has one extent per axis and one residency; `sharded(dp), gathered(dp)` contradicts.
static void check_modes_agree(struct expansion *e, uint32_t first) {
    const struct strategy_config *strategy = e->strategy;
    for (uint32_t i = first; i < strategy->n_modes; i++)
        for (uint32_t k = first; k < i; k++) {
            const struct mode_statement *a = &strategy->modes[k], *b = &strategy->modes[i];
            bool extents = a->sets_extent && b->sets_extent &&
                           axis_list_mask(&a->axes) & axis_list_mask(&b->axes);
            if (!extents && (!a->sets_residency || !b->sets_residency || residencies_compose(a, b)))
                continue;
            report_two_modes(e, a, b, extents);
        }
}

// One statement for each mode, so that `place` never takes a list apart.
static void expand_path(struct expansion *e, const struct frame *frame, const struct scope *scope,
                        const struct ast_statement *statement, const struct ast_path *path,
                        uint32_t said) {
    struct resolver *r = e->r;
    struct mode_statement base = {.own_text = !frame->outer,
                                  .scope_roles =
                                      frame->outer ? frame->scope_roles : scope->selector.n_roles};
    if (!resolve_state(r, path, &base.state) ||
        !resolve_selector(r, path, 1, &scope->selector, &base.selector))
        return;
    uint32_t first = e->strategy->n_modes;
    for (uint32_t i = 0; i < statement->mode.modes.n; i++) {
        const struct ast_mode *ast = &statement->mode.modes.items[i];
        struct mode_statement out = base;
        out.said = statement->mode.states.n > 1 ? said + i : 0;
        out.origin = origin_in_frame(r->arena, frame, ast->span);
        out.selector_span = frame->outer ? out.origin.span : path->span;
        out.whole_span = frame->outer ? out.origin.span : statement->span;
        bool alone = statement->mode.states.n == 1 && statement->mode.modes.n == 1;
        out.statement_span = frame->outer || alone ? out.whole_span : span_nowhere();
        struct mode_reader m = {.r = r, .frame = frame, .scope = scope, .out = &out};
        if (!find_mode(r, ast->name, base.state, &m.mode))
            continue;
        set_mode(m.mode, &out);
        bool good = check_meaning(&m, ast->name.span);
        read_arguments(&m, ast);
        check_kept(&m, ast);
        if (good)
            push(e, &out);
    }
    check_modes_agree(e, first);
}

// `parameters, optimizer : sharded(dp)` is a statement for each state.
void expand_mode(struct expansion *e, const struct frame *frame, const struct scope *scope,
                 const struct ast_statement *statement) {
    uint32_t said = e->strategy->n_modes + 1; // each mode becomes one statement at least
    for (uint32_t i = 0; i < statement->mode.states.n; i++)
        expand_path(e, frame, scope, statement, &statement->mode.states.items[i], said);
}

// ---- tuples -----------------------------------------------------------------------------------

enum { MOST_OF_A_LETTER = 2 + MOST_RESIDENCIES }; // an extent, and the residency that the letter is

// M and O; MODE_STORED: another letter.
static enum mode residency_of(enum state state, const char *letter) {
    if (strcmp(letter, "M") == 0)
        return state == STATE_ACTIVATIONS ? MODE_RECOMPUTED : MODE_MATERIALIZED;
    return strcmp(letter, "O") == 0 ? MODE_OFFLOADED : MODE_STORED;
}

// R, S, S*, M, O; residencies may follow another letter. How many modes it says, first the extent; 0: reported.
static int read_letter(const struct mode_reader *m, const struct ast_letter *letter,
                       enum mode modes[MOST_OF_A_LETTER]) {
    enum state state = m->out->state;
    enum mode own = residency_of(state, letter->extent.text);
    bool is_sharded = strcmp(letter->extent.text, "S") == 0;
    bool known = strcmp(letter->extent.text, "R") == 0 || is_sharded || own != MODE_STORED;
    int n = 0;
    modes[n++] = letter->starred ? MODE_GATHERED : is_sharded ? MODE_SHARDED : MODE_REPLICATED;
    if (own != MODE_STORED)
        modes[n++] = own;
    for (int i = 0; i < MOST_RESIDENCIES && letter->residencies[i].text; i++) {
        modes[n] = residency_of(state, letter->residencies[i].text);
        known = known && modes[n++] != MODE_STORED;
    }
    if (known && (is_sharded || !letter->starred))
        return n;
    struct diagnostic *d =
        report(m->r->diagnostics, E105, letter->span, "this is not the letter of a mode");
    diagnostic_help(d, "letters are R, S, S*, M and O; O and M may follow another, as in `S+O`");
    return 0;
}

// A letter is an extent on the tuple's axes and perhaps residencies, which are on no axis.
static void expand_letter(struct expansion *e, const struct frame *frame, const struct scope *scope,
                          const struct ast_statement *statement, const struct axis_list *axes,
                          enum state state) {
    const struct ast_letter *letter = &statement->states.letters.items[state];
    struct mode_statement out = {
        .state = state,
        .selector = scope->selector,
        .scope_roles = frame->outer ? frame->scope_roles : scope->selector.n_roles,
        .axes_span = product_span(frame, &statement->states.axes),
        .origin = origin_in_frame(e->r->arena, frame, letter->span),
    };
    out.selector_span = out.origin.span;
    out.statement_span = frame->outer ? out.origin.span : statement->span;
    out.whole_span = out.statement_span;
    struct mode_reader m = {
        .r = e->r, .frame = frame, .scope = scope, .out = &out, .letter = letter};
    enum mode modes[MOST_OF_A_LETTER];
    int n = read_letter(&m, letter, modes);
    uint32_t first = e->strategy->n_modes;
    for (int i = 0; i < n; i++) {
        m.mode = modes[i];
        set_mode(m.mode, &out);
        out.axes = i == 0 ? *axes : (struct axis_list){0};
        if (check_meaning(&m, letter->span))
            push(e, &out);
    }
    check_modes_agree(e, first);
}

// A tuple is weighed like what `use` brings: own statements on a state and axis win over it, and so
// it is not `own_text`.
void expand_states(struct expansion *e, const struct frame *frame, const struct scope *scope,
                   const struct ast_statement *statement) {
    const struct ast_letters *letters = &statement->states.letters;
    struct axis_list axes;
    if (letters->n != N_STATES) {
        struct diagnostic *d = report(e->r->diagnostics, E105, letters->span,
                                      "a tuple has four letters, not %u", letters->n);
        diagnostic_help(d, "they are for parameters, optimizer, gradients and activations");
        return;
    }
    if (!resolve_product(e->r, frame, &statement->states.axes, &axes))
        return;
    for (int state = 0; state < N_STATES; state++)
        expand_letter(e, frame, scope, statement, &axes, (enum state)state);
}
