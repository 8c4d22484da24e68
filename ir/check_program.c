// The structure that every job has, after every pass and when it was read from text: ids in range,
// values defined once and before use, types that fit, indices inside their buffers. What it *means*
// is the verifier's matter. Returns the first thing that is wrong as a sentence.
#include <string.h>

#include "ir/checker.h"

// The parts of a fused tensor fill its dimension `part`.
static const char *check_tensor_parts(struct checker *c, const struct tensor *tensor) {
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

static const char *check_tensor(struct checker *c, const struct tensor *tensor) {
    const enum dtype types[] = {tensor->parameters, tensor->master, tensor->moments,
                                tensor->gradients,  tensor->gather, tensor->reduce};
    for (unsigned i = 0; i < sizeof types / sizeof *types; i++)
        if (types[i] != DTYPE_NONE && !dtype_is_floating(types[i]))
            return arena_format(c->arena, "tensor %s is kept or travels as integers", tensor->name);
    return check_tensor_parts(c, tensor);
}

// Tensors that are one in the model share its name in files, which has each layer once.
static const char *check_layers(struct checker *c, uint32_t of) {
    const struct tensor *tensors = c->job->tensors, *tensor = &tensors[of];
    for (uint32_t i = 0; i < of; i++)
        if ((tensor_has_layer(tensor, tensors[i].first_layer) ||
             tensor_has_layer(&tensors[i], tensor->first_layer)) &&
            (tensor->model_name || tensors[i].model_name) &&
            strcmp(tensor_model_name(tensor), tensor_model_name(&tensors[i])) == 0)
            return arena_format(c->arena, "tensors %s and %s have the same layers of %s",
                                tensors[i].name, tensor->name, tensor_model_name(tensor));
    return NULL;
}

static const char *check_buffers(struct checker *c, const struct program *program) {
    const char *wrong = NULL;
    c->program = program;
    for (uint32_t i = 0; i < program->n_buffers && !wrong; i++) {
        c->at = program->buffers[i].span;
        wrong = check_buffer(c, &program->buffers[i]);
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
    wrong = wrong ? wrong : check_parts(c);
    for (uint32_t i = 0; i < job->n_tensors && !wrong; i++) {
        c->at = job->tensors[i].span;
        wrong = check_tensor(c, &job->tensors[i]);
        wrong = wrong ? wrong : check_layers(c, i);
    }
    for (uint32_t i = 0; i < job->n_programs && !wrong; i++)
        wrong = check_buffers(c, job->programs[i]);
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
