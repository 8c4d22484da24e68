// The parts of a job: that they leave no device out, have the same steps, hold tensors in the same
// types, and meet in collectives that all of them start.
#include <inttypes.h>

#include "ir/checker.h"

// The parts number the devices along the same axes, from the first to the last, and host and
// verifier may ask any of them which steps there are.
static const char *check_part(struct checker *c, uint32_t i) {
    const struct program *first = c->job->programs[0], *program = c->job->programs[i];
    const struct mesh_part *part = &program->part;
    int64_t devices = mesh_group_size(&c->job->mesh, &part->axes);
    bool is_last = i + 1 == c->job->n_programs;
    c->at = part->span;
    if (!axis_list_equal(&part->axes, &first->part.axes))
        return arena_format(c->arena, "part %s is not over the axes of part %s", part->name,
                            first->part.name);
    if (part->begin != (i ? c->job->programs[i - 1]->part.end : 0) || part->end <= part->begin ||
        (is_last ? part->end != devices : part->end >= devices))
        return arena_format(c->arena,
                            "part %s does not go on where the one before it ends, or the last does "
                            "not end at %" PRId64,
                            part->name, devices);
    for (int s = 0; s < N_STEPS; s++)
        if (program->steps[s].present != first->steps[s].present)
            return arena_format(c->arena, "of parts %s and %s only one has a step `%s`",
                                first->part.name, part->name, step_names[s]);
    return NULL;
}

// What parts hold of a tensor is one tensor of a file, of one type. `types`: by tensor and class.
static const char *check_types(struct checker *c, const struct program *program,
                               enum dtype *types) {
    for (uint32_t i = 0; i < program->n_buffers; i++) {
        const struct buffer *buffer = &program->buffers[i];
        if (!class_persistent[buffer->class] || buffer->tensor >= c->job->n_tensors)
            continue;
        enum dtype *type = &types[buffer->tensor * N_CLASSES + buffer->class];
        c->at = buffer->span;
        if (*type != DTYPE_NONE && *type != buffer->dtype)
            return arena_format(c->arena, "buffer %s is %s, and parts hold %s of %s as %s",
                                buffer->name, dtype_names[buffer->dtype],
                                class_names[buffer->class], c->job->tensors[buffer->tensor].name,
                                dtype_names[*type]);
        *type = buffer->dtype;
    }
    return NULL;
}

static const char *check_all_types(struct checker *c) {
    size_t n = (size_t)c->job->n_tensors * N_CLASSES;
    enum dtype *types = ARENA_ARRAY(c->arena, enum dtype, n + 1);
    const char *wrong = NULL;
    for (uint32_t i = 0; i < c->job->n_programs && !wrong; i++)
        wrong = check_types(c, c->job->programs[i], types);
    return wrong;
}

// Ranks find each other's part of a collective by its handle (backend/handles.c), so one over the
// axes of parts has the same in all of them.
static const char *check_meetings(struct checker *c, enum step_kind kind,
                                  const struct program *program, const struct program *other) {
    const struct step *step = &program->steps[kind];
    struct statement_walk walk = walk_statements(&step->body);
    while (walk_next(&walk)) {
        const struct transfer *start = &walk.statement->start;
        if (walk.statement->kind != STATEMENT_START || start->handle >= step->n_handles ||
            !(axis_list_mask(&start->exchange.axes) & axis_list_mask(&program->part.axes)))
            continue;
        const char *name = step->handles[start->handle].name;
        c->at = walk.statement->span;
        if (step_find_handle(&other->steps[kind], name) == NO_ID)
            return arena_format(c->arena, "parts meet here, and part %s starts nothing as `%s`",
                                other->part.name, name);
    }
    return NULL;
}

static const char *check_all_meetings(struct checker *c, uint32_t i) {
    const struct program *first = c->job->programs[0], *program = c->job->programs[i];
    const char *wrong = NULL;
    for (int s = 0; s < N_STEPS && !wrong; s++) {
        wrong = check_meetings(c, s, program, first);
        wrong = wrong ? wrong : check_meetings(c, s, first, program);
    }
    return wrong;
}

const char *check_parts(struct checker *c) {
    const struct job *job = c->job;
    const char *wrong = NULL;
    for (uint32_t i = 0; i < job->n_programs && !wrong; i++)
        wrong = check_part(c, i);
    if (job->n_programs > 1 && !wrong)
        wrong = check_all_types(c);
    for (uint32_t i = 1; i < job->n_programs && !wrong; i++)
        wrong = check_all_meetings(c, i);
    return wrong;
}
