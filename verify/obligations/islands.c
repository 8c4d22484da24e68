// Islands; see islands.h.
#include "verify/obligations/islands.h"

static bool names_island(const struct program *program, const struct axis_list *axes) {
    return axis_list_mask(axes) & axis_list_mask(&program->job->policy.islands);
}

// ---- the program of one island ----------------------------------------------------------------

// The list without the axes between islands; `*size` becomes that of what they leave.
static struct axis_list without_islands(const struct program *program, const struct axis_list *axes,
                                        int64_t *size) {
    struct axis_list left = {0};
    for (unsigned i = 0; i < axes->n; i++) {
        unsigned axis = axes->axes[i];
        if (!axis_list_has(&program->job->policy.islands, axis))
            axis_list_add(&left, axis);
        else
            *size /= program->job->mesh.axes[axis].size;
    }
    return left;
}

static void leave_one_island(const struct program *all, struct buffer *buffer) {
    struct layout *layout = &buffer->layout;
    for (unsigned d = 0; d < buffer->rank; d++)
        layout->cuts[d] = without_islands(all, &layout->cuts[d], &buffer->dims[d].size);
}

const struct program *island_program(const struct program *all, struct arena *arena) {
    if (all->job->policy.islands.n == 0) // this saves time: nothing would be left out
        return all;
    struct program *one = ARENA_NEW(arena, struct program);
    *one = *all;
    one->buffers = arena_copy(arena, all->buffers, all->n_buffers * sizeof *all->buffers);
    for (buffer_id i = 0; i < one->n_buffers; i++)
        leave_one_island(all, &one->buffers[i]);
    return one;
}

// ---- islands are apart ------------------------------------------------------------------------

static void insist_apart(struct abstract_machine *m, struct span span, const char *what) {
    fault_insist(m->proof,
                 fault_make(m->proof, E515, span, NULL,
                            "%s over `%s`, but each of its devices takes steps of its own", what,
                            mesh_axes_text(&m->program->job->mesh, &m->program->job->policy.islands,
                                           m->world->arena)));
}

// A collective, or an op that counts by the device's place.
static void check_ops(struct abstract_machine *m, const struct program *program,
                      const struct unit *unit) {
    for (uint32_t i = 0; i < unit->n_ops; i++) {
        const struct op *op = &unit->ops[i];
        for (unsigned k = 0; k < op->n_attributes; k++)
            if (attribute_kinds[op->attributes[k].name] == KIND_AXES &&
                names_island(program, &op->attributes[k].axes))
                insist_apart(m, op->span,
                             arena_format(m->world->arena, "`%s` goes", op_rows[op->kind].text));
    }
}

static void check_step(struct abstract_machine *m, const struct program *program,
                       enum step_kind kind) {
    struct statement_walk walk = walk_statements(&program->steps[kind].body);
    bool *checked = ARENA_ARRAY(m->world->arena, bool, program->job->n_units + 1);
    while (walk_next(&walk)) {
        const struct statement *s = walk.statement;
        if (s->kind == STATEMENT_START && names_island(program, &s->start.exchange.axes))
            insist_apart(m, s->span,
                         arena_format(m->world->arena, "`%s` goes",
                                      collective_names[s->start.exchange.kind]));
        if (s->kind == STATEMENT_CALL && !checked[s->call.unit])
            check_ops(m, program, &program->job->units[s->call.unit]);
        if (s->kind == STATEMENT_CALL)
            checked[s->call.unit] = true;
    }
}

// How the host deals out the batch, which is the first dimension of what it does (host_roles.def), to the
// part that has tokens, and so to all parts.
static struct axis_list cuts_of_batch(const struct job *job) {
    for (uint32_t i = 0; i < job->n_programs; i++) {
        buffer_id tokens = program_host_buffer(job->programs[i], HOST_TOKENS);
        if (tokens != NO_ID)
            return job->programs[i]->buffers[tokens].layout.cuts[0];
    }
    return (struct axis_list){0};
}

// What the host deals out, or finds in parts, is cut among all islands, and all of it alike and in
// order; nothing else is. An island's program does not say which part of the batch it has.
static void check_layout(struct abstract_machine *m, const struct program *program,
                         const struct buffer *buffer, const struct axis_list *batch) {
    bool apart = !names_island(program, &buffer->layout.flat);
    uint64_t islands = axis_list_mask(&program->job->policy.islands);
    for (unsigned d = 0; d < buffer->rank; d++) {
        const struct axis_list *cuts = &buffer->layout.cuts[d];
        bool dealt = buffer->host != HOST_NONE && buffer->dims[d].dimension == DIM_BATCH;
        if (dealt)
            apart &= (axis_list_mask(cuts) & islands) == islands && axis_list_equal(cuts, batch) &&
                     !buffer->layout.zigzag[d];
        else
            apart &= !names_island(program, cuts) || buffer->dims[d].dimension == DIM_BATCH;
    }
    if (!apart)
        insist_apart(m, buffer->span,
                     arena_format(m->world->arena, "`%s` is not %s", buffer->name,
                                  buffer->host == HOST_NONE ? "whole" : "dealt out like the rest"));
}

void islands_check(struct abstract_machine *m, const struct program *program) {
    if (program->job->policy.islands.n == 0)
        return;
    check_step(m, program, STEP_TRAIN);
    check_step(m, program, STEP_EVALUATE);
    struct axis_list batch = cuts_of_batch(program->job);
    for (buffer_id i = 0; i < program->n_buffers; i++)
        check_layout(m, program, &program->buffers[i], &batch);
}

// ---- the average ------------------------------------------------------------------------------

// What no island steps by itself is one on all of them.
static bool is_each_islands(enum buffer_class class) {
    return class_persistent[class] && class != CLASS_ANCHOR && class != CLASS_OUTER_MOMENTUM;
}

void islands_begin_average(struct abstract_machine *m) {
    m->summands = (uint32_t)axis_list_mask(&m->program->job->policy.islands);
    for (buffer_id i = 0; i < m->program->n_buffers; i++)
        if (is_each_islands(m->program->buffers[i].class))
            m->initials[i].value.own = m->initials[i].value.partial |= m->summands;
}

const struct fault *islands_check_kept(struct abstract_machine *m, buffer_id id, int64_t item,
                                       const char *what) {
    struct judgement found = store_at_end(m, id, item, what);
    struct judgement expected = initial_judgement(m, id, item);
    if (found.fault)
        return found.fault;
    if (scaled_same(m->world->terms, found.value, expected.value) && found.form == expected.form &&
        found.partial == expected.partial && found.own == expected.own &&
        found.bits == expected.bits)
        return NULL;
    return fault_make(m->proof, E515, m->program->buffers[id].span, NULL,
                      "%s is each island's own, but is not left as it is by the step that averages",
                      what);
}
