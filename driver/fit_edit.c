// See fit_edit.h.
#include "driver/fit_edit.h"

#include <inttypes.h>
#include <string.h>

#include "driver/trying.h"
#include "ir/placement.h"

enum { PARTS = 10, GATHERED = N_STATES }; // whose bits stand behind those of states

// ---- what the file says -----------------------------------------------------------------------

static struct axis_list data_axes(const struct strategy_config *strategy) {
    struct axis_list axes = {0};
    for (uint32_t i = 0; i < strategy->n_splits; i++) {
        const struct split_statement *split = &strategy->splits[i];
        bool tokens = false;
        for (uint32_t d = 0; d < split->n_dimensions && !split->scope_depth; d++)
            tokens |= split->dimensions[d] == DIM_BATCH || split->dimensions[d] == DIM_SEQUENCE;
        if (tokens)
            axis_list_add_all(&axes, &split->axes);
    }
    return axes;
}

struct axis_list without_outer(const struct axis_list *axes, unsigned n) {
    struct axis_list inner = {0};
    for (unsigned i = n; i < axes->n; i++)
        axis_list_add(&inner, axes->axes[i]);
    return inner;
}

static void take_later(struct span *end, struct span span) {
    if (end->source == NO_SOURCE || (end->source == span.source && end->end < span.end))
        *end = (struct span){span.source, span.end, span.end};
}

// The place behind the last split of the strategy's own text, of layers too, outside all scopes, or,
// where it has none, behind the last of its statements about the whole model; nowhere: it has none of
// these.
static struct span end_of_statements(const struct strategy_config *strategy) {
    struct span own = span_nowhere(), any = span_nowhere();
    const struct origin *layers = &strategy->pipeline.origin;
    if (has_pipeline(&strategy->pipeline))
        take_later(layers->kind == ORIGIN_STATEMENT ? &own : &any, layers->span);
    for (uint32_t s = 0; s < strategy->n_splits; s++) {
        const struct split_statement *split = &strategy->splits[s];
        if (split->scope_depth == 0)
            take_later(split->origin.kind == ORIGIN_STATEMENT ? &own : &any, split->origin.span);
    }
    for (uint32_t m = 0; m < strategy->n_modes; m++)
        if (!strategy->modes[m].selector.n_roles &&
            strategy->modes[m].statement_span.source != NO_SOURCE)
            take_later(&any, strategy->modes[m].statement_span);
    return own.source != NO_SOURCE ? own : any;
}

// The comment of a line stays with what stands in front of it: what is added has lines of its own.
static struct span behind_comment(const struct compilation *c, struct span end) {
    if (end.source == NO_SOURCE)
        return end;
    const char *rest = c->sources.items[end.source].text + end.end;
    if (strncmp(rest + strspn(rest, " \t"), "//", 2) == 0)
        end.begin = end.end += (uint32_t)strcspn(rest, "\r\n");
    return end;
}

bool says_where_activations_live(const struct strategy_config *strategy) {
    for (uint32_t m = 0; m < strategy->n_modes; m++)
        if (strategy->modes[m].state == STATE_ACTIVATIONS && strategy->modes[m].sets_residency)
            return true;
    return false;
}

int stage_said(const struct strategy_config *strategy, const struct axis_list *axes) {
    static const int stage_of_state[N_STATES] = {
        [STATE_PARAMETERS] = 3, [STATE_GRADIENTS] = 2, [STATE_OPTIMIZER] = 1};
    int stage = 0;
    for (uint32_t m = 0; m < strategy->n_modes; m++) {
        const struct mode_statement *mode = &strategy->modes[m];
        uint64_t lacking = axis_list_mask(axes) & ~axis_list_mask(&mode->axes);
        if (mode->sets_extent && mode->extent != EXTENT_REPLICATED && !mode->selector.n_roles &&
            !lacking && stage_of_state[mode->state] > stage)
            stage = stage_of_state[mode->state];
    }
    return stage;
}

static bool keeps_what_is_gathered(const struct mode_statement *mode) {
    return mode->state == STATE_PARAMETERS && mode->sets_extent &&
           mode->extent == EXTENT_GATHERED &&
           (mode->kept_after_forward || mode->kept_after_backward || mode->keeps_part);
}

bool keeps_anything(const struct strategy_config *strategy) {
    for (uint32_t m = 0; m < strategy->n_modes; m++)
        if (keeps_what_is_gathered(&strategy->modes[m]))
            return true;
    return false;
}

// ---- edits ------------------------------------------------------------------------------------

static const enum extent extents_of_stage[STAGES][STATE_ACTIVATIONS] = {
    [1] = {[STATE_OPTIMIZER] = EXTENT_SHARDED},
    [2] = {[STATE_OPTIMIZER] = EXTENT_SHARDED, [STATE_GRADIENTS] = EXTENT_SHARDED},
    [3] = {[STATE_PARAMETERS] = EXTENT_GATHERED,
           [STATE_OPTIMIZER] = EXTENT_SHARDED,
           [STATE_GRADIENTS] = EXTENT_SHARDED},
};
static const char *const tuple_of_stage[STAGES] = {"", "(R, S, R, R)", "(R, S, S, R)",
                                                   "(S*, S, S, R)"};

// Where states are kept that leave the device, from what copies least on. ZeRO-Offload's is the
// first: only gradients go out and parameters come in.
static const struct {
    enum tier of[N_STATES];
    bool updates_here; // also where the file says that the host updates
} kept_away[AWAY] = {
    [1] = {.of = {[STATE_OPTIMIZER] = TIER_HOST}},
    [2] = {.of = {[STATE_OPTIMIZER] = TIER_HOST, [STATE_PARAMETERS] = TIER_HOST}},
    [3] = {.of = {[STATE_OPTIMIZER] = TIER_HOST,
                  [STATE_PARAMETERS] = TIER_HOST,
                  [STATE_ACTIVATIONS] = TIER_HOST}},
    [4] = {.of = {[STATE_OPTIMIZER] = TIER_HOST,
                  [STATE_PARAMETERS] = TIER_HOST,
                  [STATE_ACTIVATIONS] = TIER_HOST,
                  [STATE_GRADIENTS] = TIER_HOST}},
    [5] = {.of = {[STATE_OPTIMIZER] = TIER_DISK}},
    [6] = {.of = {[STATE_OPTIMIZER] = TIER_DISK, [STATE_PARAMETERS] = TIER_DISK}},
    [7] = {.of = {[STATE_OPTIMIZER] = TIER_DISK,
                  [STATE_PARAMETERS] = TIER_DISK,
                  [STATE_ACTIVATIONS] = TIER_HOST,
                  [STATE_GRADIENTS] = TIER_HOST}},
    // Where the host has no room for what the file keeps there.
    [8] = {.of = {[STATE_GRADIENTS] = TIER_DISK}},
    [9] = {.of = {[STATE_ACTIVATIONS] = TIER_DISK}},
    [10] = {.of = {[STATE_OPTIMIZER] = TIER_DISK,
                   [STATE_PARAMETERS] = TIER_DISK,
                   [STATE_ACTIVATIONS] = TIER_DISK,
                   [STATE_GRADIENTS] = TIER_DISK}},
    // Where it has none for an update either.
    [11] = {.of = {[STATE_OPTIMIZER] = TIER_DISK}, .updates_here = true},
    [12] = {.of = {[STATE_OPTIMIZER] = TIER_DISK, [STATE_PARAMETERS] = TIER_DISK},
            .updates_here = true},
};

static bool is_edited(const struct diagnostic *d, struct span span) {
    for (uint32_t i = 0; i < d->n_edits; i++)
        if (span_equal(d->edits[i].span, span))
            return true;
    return false;
}

// A tuple gives way to the strategy's own statements, and ranks with what `use` and other tuples
// say. So these go, as own statements of something else do; the tuple stands in place of the first,
// or is added.
static bool write_stage(const struct editable *file, int stage, const char *tuple,
                        struct diagnostic *d, const char **added) {
    const struct strategy_config *strategy = &file->c->config.strategy;
    for (uint32_t m = 0; m < strategy->n_modes; m++) {
        const struct mode_statement *mode = &strategy->modes[m];
        if (!mode->sets_extent || mode->selector.n_roles || mode->state == STATE_ACTIVATIONS ||
            !(axis_list_mask(&mode->axes) & axis_list_mask(&file->data)) ||
            (mode->own_text && mode->extent == extents_of_stage[stage][mode->state]))
            continue;
        if (!is_of_file(file->c, mode->statement_span))
            return false;
        if (is_edited(d, mode->statement_span))
            continue;
        diagnostic_edit(d, mode->statement_span, "%s", tuple);
        tuple = "";
    }
    if (*tuple)
        *added = arena_format(&file->c->arena, "%s\n  %s", *added, tuple);
    return true;
}

// Its own options, or against what `use` brings a statement of its own.
static bool free_what_is_kept(const struct editable *file, struct diagnostic *d,
                              const char **added) {
    const struct strategy_config *strategy = &file->c->config.strategy;
    for (uint32_t m = 0; m < strategy->n_modes; m++) {
        const struct mode_statement *mode = &strategy->modes[m];
        if (!keeps_what_is_gathered(mode))
            continue;
        if (!mode->own_text) {
            *added = arena_format(&file->c->arena, "%s\n  parameters : gathered(%s)", *added,
                                  mode_axes_text(&file->c->config.mesh, mode, &file->c->arena));
            continue;
        }
        for (uint32_t i = 0; i < mode->n_options; i++) {
            const char *name = mode->options[i].name;
            if (strcmp(name, "after_forward") != 0 && strcmp(name, "after_backward") != 0)
                continue;
            if (!is_of_file(file->c, mode->options[i].span))
                return false;
            diagnostic_edit(d, mode->options[i].span, "%s = freed", name);
        }
    }
    return true;
}

// "unit = tensor, prefetch = 0"; NULL: nothing is said of it.
static const char *pieces_text(const struct edit *edit, unsigned of) {
    static const char *const texts[] = {NULL, "unit = tensor", "prefetch = 0",
                                        "unit = tensor, prefetch = 0"};
    return texts[edit->pieces >> 2 * of & 3];
}

// Where an edit has a state, and whether its update runs there. What the file keeps away is at most
// moved further, and an update goes on where it is said to be.
struct away_form {
    enum tier to; // the device: it does not leave it
    bool update_there;
};

static struct away_form away_form(const struct edit *edit, enum state state,
                                  const struct mode_statement *said) {
    enum tier row = kept_away[edit->away].of[state];
    bool updates = said ? said->update_on == TIER_HOST : row == TIER_HOST;
    bool updates_here = row != TIER_DEVICE && kept_away[edit->away].updates_here;
    return (struct away_form){.to = said && said->to > row ? said->to : row,
                              .update_there = updates && state == STATE_OPTIMIZER && !updates_here};
}

// The statement of the file that keeps all of a state away; NULL: none.
static const struct mode_statement *said_away(const struct editable *file, enum state state) {
    const struct strategy_config *strategy = &file->c->config.strategy;
    const struct mode_statement *said = NULL;
    for (uint32_t m = 0; m < strategy->n_modes; m++) {
        const struct mode_statement *mode = &strategy->modes[m];
        if (mode->state == state && mode->residency == RESIDENCY_OFFLOADED &&
            mode->sets_residency && !mode->selector.n_roles)
            said = mode;
    }
    return said;
}

// "offloaded(to = disk, update = host)"
static const char *away_mode(const struct editable *file, const struct edit *edit, enum state state,
                             const struct away_form *form) {
    const char *const options[] = {form->to == TIER_DISK ? "to = disk" : NULL,
                                   form->update_there ? "update = host" : NULL,
                                   pieces_text(edit, state)};
    const char *text = "";
    for (size_t i = 0; i < sizeof options / sizeof *options; i++)
        if (options[i])
            text = arena_format(&file->c->arena, "%s%s%s", text, *text ? ", " : "", options[i]);
    return *text ? arena_format(&file->c->arena, "offloaded(%s)", text) : "offloaded";
}

// Whether an edit says where a state is kept, and the file does not say so already. What is recomputed
// leaves nothing to be moved in a pipeline but what layers hand on, which stays.
static bool moves(const struct editable *file, const struct edit *edit, enum state state) {
    const struct mode_statement *said = said_away(file, state);
    struct away_form form = away_form(edit, state, said);
    if (form.to == TIER_DEVICE || (state == STATE_ACTIVATIONS && edit->recomputed &&
                                   has_pipeline(&file->c->config.strategy.pipeline)))
        return false;
    bool updates = said && said->update_on == TIER_HOST && state == STATE_OPTIMIZER;
    return !said || said->to != form.to || updates != form.update_there || pieces_text(edit, state);
}

static const char *away_statement(const struct editable *file, const struct edit *edit,
                                  enum state state) {
    struct away_form form = away_form(edit, state, said_away(file, state));
    return arena_format(&file->c->arena, "%s : %s", state_names[state],
                        away_mode(file, edit, state, &form));
}

// The one mode that all states have of which the statement says that they are away; false: the edit
// moves them differently.
static bool form_of_all(const struct editable *file, const struct edit *edit,
                        const struct mode_statement *said, struct away_form *form) {
    const struct strategy_config *strategy = &file->c->config.strategy;
    *form = away_form(edit, said->state, said);
    for (uint32_t m = 0; m < strategy->n_modes; m++) {
        const struct mode_statement *mode = &strategy->modes[m];
        if (!span_equal(mode->origin.span, said->origin.span))
            continue;
        struct away_form of_state = away_form(edit, mode->state, mode);
        if (of_state.to != form->to || !moves(file, edit, mode->state) ||
            pieces_text(edit, mode->state) != pieces_text(edit, said->state))
            return false;
        form->update_there |= of_state.update_there;
    }
    return said->origin.kind == ORIGIN_STATEMENT;
}

// A statement of the same that keeps it nearer gives way.
static bool keep_away(const struct editable *file, const struct edit *edit, struct diagnostic *d,
                      const char **added) {
    for (int state = 0; state < N_STATES; state++) {
        const struct mode_statement *said = said_away(file, state);
        struct away_form form;
        if (!moves(file, edit, state))
            continue;
        if (!said || !said->own_text)
            *added = arena_format(&file->c->arena, "%s\n  %s", *added,
                                  away_statement(file, edit, state));
        else if (is_of_file(file->c, said->statement_span) && !is_edited(d, said->statement_span))
            diagnostic_edit(d, said->statement_span, "%s", away_statement(file, edit, state));
        else if (!is_of_file(file->c, said->origin.span) || !form_of_all(file, edit, said, &form))
            return false;
        else if (!is_edited(d, said->origin.span))
            diagnostic_edit(d, said->origin.span, "%s", away_mode(file, edit, state, &form));
    }
    return true;
}

// ---- pieces -----------------------------------------------------------------------------------

// The statement of the file that has all parameters gathered; NULL: none.
static const struct mode_statement *said_gathered(const struct editable *file) {
    const struct strategy_config *strategy = &file->c->config.strategy;
    const struct mode_statement *said = NULL;
    for (uint32_t m = 0; m < strategy->n_modes; m++) {
        const struct mode_statement *mode = &strategy->modes[m];
        if (mode->state == STATE_PARAMETERS && mode->sets_extent &&
            mode->extent == EXTENT_GATHERED && !mode->selector.n_roles)
            said = mode;
    }
    return said;
}

// "gathered(dp, unit = tensor, prefetch = 0)"; NULL: nothing is gathered.
static const char *gathered_mode(const struct editable *file, const struct edit *edit) {
    struct arena *arena = &file->c->arena;
    const struct mesh *mesh = &file->c->config.mesh;
    const struct mode_statement *said = said_gathered(file);
    struct axis_list over = without_outer(&file->data, edit->inner);
    if (!pieces_text(edit, GATHERED) ||
        (edit->stage && extents_of_stage[edit->stage][STATE_PARAMETERS] != EXTENT_GATHERED))
        return NULL;
    const char *axes = said && (said->own_text || !edit->stage) ? mode_axes_text(mesh, said, arena)
                       : edit->stage                            ? mesh_axes_text(mesh, &over, arena)
                                                                : NULL;
    return axes ? arena_format(arena, "gathered(%s, %s)", axes, pieces_text(edit, GATHERED)) : NULL;
}

static bool gather_in_pieces(const struct editable *file, const struct edit *edit,
                             struct diagnostic *d, const char **added) {
    const struct mode_statement *said = said_gathered(file);
    const char *mode = gathered_mode(file, edit);
    if (!mode)
        return true;
    if (!said || !said->own_text)
        *added = arena_format(&file->c->arena, "%s\n  parameters : %s", *added, mode);
    else if (is_of_file(file->c, said->origin.span) && said->origin.kind == ORIGIN_STATEMENT)
        diagnostic_edit(d, said->origin.span, "%s", mode);
    else
        return false;
    return true;
}

// ---- the whole --------------------------------------------------------------------------------

bool write_edit(const struct editable *file, const struct edit *edit, struct diagnostic *d) {
    struct arena *arena = &file->c->arena;
    const char *added = "";
    struct span method = file->c->config.strategy.pipeline.method_span;
    if (edit->method && !is_of_file(file->c, method))
        return false;
    if (edit->method)
        diagnostic_edit(d, method, "%s", edit->method);
    if (edit->freed && !free_what_is_kept(file, d, &added))
        return false;
    struct axis_list over = without_outer(&file->data, edit->inner);
    const char *tuple = arena_format(arena, "states : %s on %s", tuple_of_stage[edit->stage],
                                     mesh_axes_text(&file->c->config.mesh, &over, arena));
    if (edit->stage && !write_stage(file, edit->stage, tuple, d, &added))
        return false;
    if (!gather_in_pieces(file, edit, d, &added))
        return false;
    if (!keep_away(file, edit, d, &added))
        return false;
    if (edit->recomputed)
        added = arena_format(arena, "%s\n  activations : recomputed", added);
    if (*added && !is_of_file(file->c, file->end))
        return false;
    if (*added)
        diagnostic_edit(d, file->end, "%s", added);
    return !edit->microbatch || edit_microbatch(file->c, edit->microbatch, d);
}

struct parts_of_edit {
    const char *items[PARTS];
    unsigned n;
};

const char *edit_words(const struct editable *file, const struct edit *edit) {
    struct arena *arena = &file->c->arena;
    struct axis_list over = without_outer(&file->data, edit->inner);
    struct parts_of_edit parts = {.n = 0};
    if (edit->method)
        parts.items[parts.n++] = arena_format(arena, "`schedule %s`", edit->method);
    if (edit->freed)
        parts.items[parts.n++] = "`after_forward = freed`";
    if (edit->stage)
        parts.items[parts.n++] =
            arena_format(arena, "`states : %s on %s`", tuple_of_stage[edit->stage],
                         mesh_axes_text(&file->c->config.mesh, &over, arena));
    if (gathered_mode(file, edit))
        parts.items[parts.n++] =
            arena_format(arena, "`parameters : %s`", gathered_mode(file, edit));
    for (int state = 0; state < N_STATES; state++)
        if (moves(file, edit, state))
            parts.items[parts.n++] = arena_format(arena, "`%s`", away_statement(file, edit, state));
    if (edit->recomputed)
        parts.items[parts.n++] = "`activations : recomputed`";
    if (edit->microbatch)
        parts.items[parts.n++] =
            arena_format(arena, "`microbatch = %" PRId64 "`", edit->microbatch);
    const char *words = parts.n ? parts.items[0] : "what the file says";
    for (unsigned i = 1; i < parts.n; i++)
        words =
            arena_format(arena, "%s%s%s", words, i + 1 < parts.n ? ", " : " and ", parts.items[i]);
    return words;
}

bool keeps_nearer(const struct editable *file, int away) {
    for (int state = 0; state < N_STATES; state++)
        if (moves(file, &(struct edit){.away = away}, state))
            return true;
    return false;
}

struct editable editable(struct compilation *c) {
    const struct strategy_config *strategy = &c->config.strategy;
    return (struct editable){c, data_axes(strategy),
                             behind_comment(c, end_of_statements(strategy))};
}
