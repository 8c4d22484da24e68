// See fit_edit.h.
#include "driver/fit_edit.h"

#include <inttypes.h>
#include <string.h>

#include "driver/trying.h"
#include "ir/placement.h"

enum { PARTS = 9 };

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

// How a row of `kept_away` has a state, which the file keeps nearer, or not away: an update goes on
// where it is said to be.
static const char *away_mode(int away, enum state state, const struct mode_statement *said) {
    bool updates = said ? said->update_on == TIER_HOST : kept_away[away].of[state] == TIER_HOST;
    bool update_there = updates && state == STATE_OPTIMIZER && !kept_away[away].updates_here;
    if (kept_away[away].of[state] == TIER_DISK)
        return update_there ? "offloaded(to = disk, update = host)" : "offloaded(to = disk)";
    return update_there ? "offloaded(update = host)" : "offloaded";
}

// The statement that a row of `kept_away` takes of a state; NULL: none, or it is there already.
static const char *away_statement(const struct editable *file, int away, enum state state,
                                  const struct mode_statement **said) {
    const struct strategy_config *strategy = &file->c->config.strategy;
    enum tier to = kept_away[away].of[state];
    *said = NULL;
    for (uint32_t m = 0; m < strategy->n_modes; m++) {
        const struct mode_statement *mode = &strategy->modes[m];
        if (mode->state == state && mode->residency == RESIDENCY_OFFLOADED &&
            mode->sets_residency && !mode->selector.n_roles)
            *said = mode;
    }
    bool updates = state == STATE_OPTIMIZER && *said && (*said)->update_on == TIER_HOST;
    bool updates_here = updates && kept_away[away].updates_here;
    if (to == TIER_DEVICE || (*said && (*said)->to >= to && !updates_here))
        return NULL;
    return arena_format(&file->c->arena, "%s : %s", state_names[state],
                        away_mode(away, state, *said));
}

// Whether the row keeps on disk all states of which one statement says that they are on the host.
static bool moves_all(const struct editable *file, int away, const struct mode_statement *said) {
    const struct strategy_config *strategy = &file->c->config.strategy;
    for (uint32_t m = 0; m < strategy->n_modes; m++)
        if (span_equal(strategy->modes[m].origin.span, said->origin.span) &&
            kept_away[away].of[strategy->modes[m].state] != TIER_DISK)
            return false;
    return said->origin.kind == ORIGIN_STATEMENT;
}

// Whether a statement says it of the optimizer, too.
static bool is_of_optimizer(const struct editable *file, const struct mode_statement *said) {
    const struct strategy_config *strategy = &file->c->config.strategy;
    for (uint32_t m = 0; m < strategy->n_modes; m++)
        if (span_equal(strategy->modes[m].origin.span, said->origin.span) &&
            strategy->modes[m].state == STATE_OPTIMIZER)
            return true;
    return false;
}

// The same of an edit. What is recomputed leaves nothing to be moved in a pipeline but what layers hand
// on, which stays.
static const char *statement_of_edit(const struct editable *file, const struct edit *edit,
                                     enum state state, const struct mode_statement **said) {
    bool stays = state == STATE_ACTIVATIONS && edit->recomputed &&
                 has_pipeline(&file->c->config.strategy.pipeline);
    return stays ? NULL : away_statement(file, edit->away, state, said);
}

// A statement of the same that keeps it nearer gives way.
static bool keep_away(const struct editable *file, const struct edit *edit, struct diagnostic *d,
                      const char **added) {
    int away = edit->away;
    for (int state = 0; state < N_STATES; state++) {
        const struct mode_statement *said;
        const char *statement = statement_of_edit(file, edit, state, &said);
        if (!statement)
            continue;
        if (!said || !said->own_text)
            *added = arena_format(&file->c->arena, "%s\n  %s", *added, statement);
        else if (is_of_file(file->c, said->statement_span) && !is_edited(d, said->statement_span))
            diagnostic_edit(d, said->statement_span, "%s", statement);
        else if (!is_of_file(file->c, said->origin.span) || !moves_all(file, away, said))
            return false;
        else if (!is_edited(d, said->origin.span))
            diagnostic_edit(
                d, said->origin.span, "%s",
                away_mode(away, is_of_optimizer(file, said) ? STATE_OPTIMIZER : state, said));
    }
    return true;
}

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
    if (edit->away && !keep_away(file, edit, d, &added))
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
    for (int state = 0; state < N_STATES; state++) {
        const struct mode_statement *said;
        const char *statement = statement_of_edit(file, edit, state, &said);
        if (statement)
            parts.items[parts.n++] = arena_format(arena, "`%s`", statement);
    }
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
    const struct mode_statement *said;
    for (int state = 0; state < N_STATES; state++)
        if (away_statement(file, away, state, &said))
            return true;
    return false;
}

struct editable editable(struct compilation *c) {
    const struct strategy_config *strategy = &c->config.strategy;
    return (struct editable){c, data_axes(strategy),
                             behind_comment(c, end_of_statements(strategy))};
}
