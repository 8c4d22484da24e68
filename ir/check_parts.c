// The parts of a job: that they leave no device out, have the same steps, hold tensors in the same
// types, meet in collectives that all of them start, and send messages to each other.
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

// Does it begin a collective by this handle?
static bool step_meets_in(const struct step *step, const char *name) {
    uint32_t handle = step_find_handle(step, name);
    struct statement_walk walk = walk_statements(&step->body);
    while (handle != NO_ID && walk_next(&walk))
        if (walk.statement->kind == STATEMENT_START && walk.statement->start.handle == handle &&
            !exchange_is_message(&walk.statement->start.exchange))
            return true;
    return false;
}

// Ranks find each other's part of a collective by its handle (backend/handles.c), so one over the
// axes of parts has the same in all of them. A message has two ends, each with a handle of its own.
static const char *check_meetings(struct checker *c, enum step_kind kind,
                                  const struct program *program, const struct program *other) {
    const struct step *step = &program->steps[kind];
    struct statement_walk walk = walk_statements(&step->body);
    while (walk_next(&walk)) {
        const struct transfer *start = &walk.statement->start;
        if (walk.statement->kind != STATEMENT_START || start->handle >= step->n_handles ||
            exchange_is_message(&start->exchange) ||
            !(axis_list_mask(&start->exchange.axes) & axis_list_mask(&program->part.axes)))
            continue;
        const char *name = step->handles[start->handle].name;
        c->at = walk.statement->span;
        if (!step_meets_in(&other->steps[kind], name))
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

// The two ends are in different parts, and only along the axis of parts are these told apart.
static const char *check_message(struct checker *c, const struct program *program,
                                 const struct exchange *message) {
    const struct mesh_part *part = &program->part;
    const char *name = collective_names[message->kind];
    if (c->job->n_programs == 1)
        return arena_format(c->arena, "a %s is between parts, and this step has none", name);
    if (!axis_list_equal(&message->axes, &part->axes))
        return arena_format(c->arena,
                            "a %s is between parts: it is over the axes that these are over", name);
    int64_t devices = mesh_group_size(&c->job->mesh, &message->axes);
    if (message->peer < 0 || message->peer >= devices)
        return arena_format(c->arena, "there is no device %" PRId64 " of %" PRId64 " to %s",
                            message->peer, devices,
                            message->kind == COLLECTIVE_SEND ? "send to" : "receive from");
    if (message->peer >= part->begin && message->peer < part->end)
        return arena_format(c->arena,
                            "device %" PRId64 " is of part %s itself: a %s is between parts",
                            message->peer, part->name, name);
    return NULL;
}

static const char *check_messages(struct checker *c, const struct program *program) {
    const char *wrong = NULL;
    for (int s = 0; s < N_STEPS; s++) {
        struct statement_walk walk = walk_statements(&program->steps[s].body);
        while (!wrong && walk_next(&walk)) {
            const struct exchange *exchange = &walk.statement->start.exchange;
            if (walk.statement->kind != STATEMENT_START || !exchange_is_message(exchange))
                continue;
            c->at = walk.statement->span;
            wrong = check_message(c, program, exchange);
        }
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
    for (uint32_t i = 0; i < job->n_programs && !wrong; i++)
        wrong = check_messages(c, job->programs[i]);
    return wrong;
}
