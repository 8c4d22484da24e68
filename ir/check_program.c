// The structure that every program has, after every pass and when it was read from text: ids in
// range, values defined once and before use, types that fit, indices inside their buffers. What a
// program *means* is the verifier's matter. Returns the first thing that is wrong as a sentence.
#include <inttypes.h>

#include "ir/checker.h"

// The parts of a fused tensor fill its dimension `part`.
static const char *check_tensor(struct checker *c, const struct tensor *tensor) {
    int64_t parts = 0, size = 0;
    unsigned n = 0;
    for (unsigned d = 0; d < tensor->rank; d++)
        if (tensor->dims[d].dimension == DIM_PART) {
            size = tensor->dims[d].size;
            n++;
        }
    bool fits = n == (tensor->n_parts > 0);
    for (unsigned i = 0; i < tensor->n_parts; i++) {
        fits = fits && tensor->parts[i].size > 0 && tensor->parts[i].size <= size - parts;
        parts += fits ? tensor->parts[i].size : 0;
    }
    return fits && parts == size ? NULL
                                 : arena_format(c->arena,
                                                "tensor %s: its parts do not fill one dimension "
                                                "`part`",
                                                tensor->name);
}

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

static const char *check_program(struct checker *c, uint32_t i) {
    const struct program *program = c->program = c->job->programs[i];
    const char *wrong = check_part(c, i);
    for (uint32_t k = 0; k < program->n_buffers && !wrong; k++) {
        c->at = program->buffers[k].span;
        wrong = check_buffer(c, &program->buffers[k]);
    }
    return wrong;
}

// What is shared by others comes before them: tensors before buffers, units before calls.
static const char *check_job(struct checker *c) {
    const struct job *job = c->job;
    struct too_large too_large = job_too_large(job, c->arena);
    c->at = too_large.at;
    if (too_large.what)
        return too_large.what;
    c->at = job->policy_span;
    const char *wrong = job_check_policy(job, c->arena);
    for (uint32_t i = 0; i < job->n_tensors && !wrong; i++) {
        c->at = job->tensors[i].span;
        wrong = check_tensor(c, &job->tensors[i]);
    }
    for (uint32_t i = 0; i < job->n_programs && !wrong; i++)
        wrong = check_program(c, i);
    for (uint32_t i = 0; i < job->n_units && !wrong; i++)
        wrong = check_unit(c, &job->units[i]);
    for (uint32_t i = 0; i < job->n_programs && !wrong; i++) {
        c->program = job->programs[i];
        wrong = check_steps(c);
    }
    return wrong;
}

const char *job_check(const struct job *job, struct arena *arena, struct span *at) {
    struct checker checker = {.job = job, .arena = arena, .at = span_nowhere()};
    const char *wrong = check_job(&checker);
    if (wrong && at)
        *at = checker.at;
    return wrong;
}
