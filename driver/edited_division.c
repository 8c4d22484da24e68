// W830, work and activations: what splits divide, into what parts activations are cut that are kept
// for backward, whether some travel round an axis, and how much is kept.
#include "driver/edited_inside.h"

struct division {
    struct axis_list cuts[N_DIMENSIONS]; // of some buffer
    struct axis_list parts;              // that cut sequences of activations
    struct axis_list rings;              // round which activations travel
    int64_t bytes;                       // of activations
};

static void add_buffer(struct division *division, const struct program *program,
                       const struct buffer *buffer) {
    bool kept = buffer->class == CLASS_ACTIVATIONS;
    for (unsigned i = 0; i < buffer->rank; i++) {
        enum dimension dimension = buffer->dims[i].dimension;
        axis_list_add_all(&division->cuts[dimension], &buffer->layout.cuts[i]);
        if (kept && dimension == DIM_SEQUENCE)
            axis_list_add_all(&division->parts, &buffer->layout.cuts[i]);
    }
    if (kept)
        division->bytes = size_plus(division->bytes, buffer_bytes(program, buffer));
}

static struct division measure(const struct program *program) {
    struct division division = {0};
    for (buffer_id id = 0; id < program->n_buffers; id++)
        add_buffer(&division, program, &program->buffers[id]);
    struct statement_walk walk = walk_statements(&program->steps[STEP_TRAIN].body);
    while (walk_next(&walk)) {
        const struct transfer *start = &walk.statement->start;
        if (walk.statement->kind == STATEMENT_START && start->exchange.kind == COLLECTIVE_PERMUTE &&
            start->n_pieces > 0 && program->buffers[start->pieces[0].from.buffer].tensor == NO_ID)
            axis_list_add_all(&division.rings, &start->exchange.axes);
    }
    return division;
}

struct divisions {
    struct compilation *c;
    struct division text, file; // as it is written, as it would be derived
};

static struct span step_span(const struct divisions *d) {
    return d->c->final->steps[STEP_TRAIN].span;
}

// ---- splits -----------------------------------------------------------------------------------

// A split that divides nothing in the text, of all that it would divide. What it leaves out may be
// an axis that no other split uses, so that is not proposed.
static void check_split(const struct divisions *all, const struct split_statement *split) {
    struct span at;
    if (!file_says(all->c, &split->origin, &at))
        return;
    for (uint32_t i = 0; i < split->n_dimensions; i++)
        for (unsigned k = 0; k < split->axes.n; k++) {
            enum dimension dimension = split->dimensions[i];
            unsigned axis = split->axes.axes[k];
            if (!axis_list_has(&all->file.cuts[dimension], axis) ||
                axis_list_has(&all->text.cuts[dimension], axis))
                continue;
            struct diagnostic *d = report_unheard(all->c, &split->origin, at, "split");
            diagnostic_label(d, step_span(all), "this divides no `%s` over `%s`",
                             dimension_names[dimension], all->c->final->job->mesh.axes[axis].name);
            diagnostic_help(d, "print the step anew without the written-out one");
            return;
        }
}

// ---- activations ------------------------------------------------------------------------------

static const char *extent_text(const struct mode_statement *mode) {
    return mode->extent == EXTENT_GATHERED  ? "gathered"
           : mode->extent == EXTENT_SHARDED ? "sharded"
                                            : "replicated";
}

// How activations are over an axis.
static const char *axis_text(struct arena *arena, const struct division *division, unsigned axis,
                             const char *name) {
    if (axis_list_has(&division->rings, axis))
        return arena_format(arena, "travel round `%s`", name);
    return arena_format(
        arena, "%s over `%s`",
        axis_list_has(&division->parts, axis) ? "are kept in parts" : "are kept whole", name);
}

// What nobody wrote as a statement of its own, as the letters of a tuple, says of most axes that
// nothing is cut there.
static bool says_extent(const struct mode_statement *mode) {
    return mode->state == STATE_ACTIVATIONS && mode->sets_extent &&
           (mode->own_text || mode->extent != EXTENT_REPLICATED);
}

// True: it was told.
static bool check_extent(const struct divisions *all, const struct mode_statement *mode) {
    struct span at;
    if (!says_extent(mode) || !file_says(all->c, &mode->origin, &at))
        return false;
    for (unsigned i = 0; i < mode->axes.n; i++) {
        unsigned axis = mode->axes.axes[i];
        bool rings = axis_list_has(&all->text.rings, axis) == axis_list_has(&all->file.rings, axis);
        bool parts = axis_list_has(&all->text.parts, axis) == axis_list_has(&all->file.parts, axis);
        if (rings && parts)
            continue;
        struct arena *arena = &all->c->arena;
        const char *name = all->c->final->job->mesh.axes[axis].name, *what = extent_text(mode);
        struct diagnostic *d = report_unheard(all->c, &mode->origin, at, what);
        diagnostic_say(d, "by it activations %s", axis_text(arena, &all->file, axis, name));
        diagnostic_label(d, step_span(all), "in this they %s",
                         axis_text(arena, &all->text, axis, name));
        help_unheard(d, what);
        return true;
    }
    return false;
}

// What keeps more than the file says stores what is said to be recomputed, and the other way round.
static void check_residency(const struct divisions *all, const struct mode_statement *mode) {
    struct span at;
    bool stored = mode->residency == RESIDENCY_STORED;
    bool follows = stored ? all->text.bytes >= all->file.bytes : all->text.bytes <= all->file.bytes;
    if (mode->state != STATE_ACTIVATIONS || !mode->sets_residency || follows ||
        !file_says(all->c, &mode->origin, &at))
        return;
    struct arena *arena = &all->c->arena;
    const char *what = stored ? "stored" : "recomputed";
    struct diagnostic *d = report_unheard(all->c, &mode->origin, at, what);
    diagnostic_say(d, "by it activations need %s", bytes_text(arena, (double)all->file.bytes));
    diagnostic_label(d, step_span(all), "in this they need %s",
                     bytes_text(arena, (double)all->text.bytes));
    help_unheard(d, what);
}

// Other parts have other bytes, whatever is recomputed: so residencies are asked for only where the
// parts are those that are said.
void edited_check_division(struct compilation *c) {
    const struct strategy_config *strategy = &c->config.strategy;
    const struct divisions all = {c, measure(c->final), measure(c->derived)};
    bool other_parts = false;
    for (uint32_t s = 0; s < strategy->n_splits; s++)
        check_split(&all, &strategy->splits[s]);
    for (uint32_t m = 0; m < strategy->n_modes; m++)
        other_parts |= check_extent(&all, &strategy->modes[m]);
    for (uint32_t m = 0; m < strategy->n_modes && !other_parts; m++)
        check_residency(&all, &strategy->modes[m]);
}
