// E620: what a text was printed for is what it is compiled for. It repeats the mesh, the sizes, the
// types and the tensors that it was printed for; where the file, or -D, says something else now,
// the text is out of date, and training by it would silently be another training.
#include "driver/edited_inside.h"

#include <inttypes.h>
#include <string.h>

struct comparison {
    struct compilation *c;
    const struct program *text, *file; // as it was written, as it is derived
};

// The functions below report the first thing that differs and return true: a text that is out of
// date in one place is so in others, and is best printed anew.
static void advise(struct diagnostic *d) {
    diagnostic_help(d, "take the written-out program out of the file and print it anew with "
                       "`placec emit --as=step`");
}

static void point_at(struct diagnostic *d, const struct origin *origin) {
    if (origin->kind == ORIGIN_STATEMENT && origin->span.source != NO_SOURCE)
        diagnostic_label(d, origin->span, "the file says it here");
    else
        diagnostic_origin(d, origin);
}

static bool same_text(const char *a, const char *b) {
    return a == b || (a && b && strcmp(a, b) == 0);
}

// Compares the words that a person would compare, so that numbers and names go one way.
static bool differ(const struct comparison *w, struct span span, const char *what, const char *text,
                   const char *file, const struct origin *origin) {
    if (strcmp(text, file) == 0)
        return false;
    struct diagnostic *d = report(w->c->diagnostics, E620, span,
                                  "this step is written for %s = %s; the strategy is compiled for "
                                  "%s = %s",
                                  what, text, what, file);
    point_at(d, origin);
    advise(d);
    return true;
}

// Each with where the file, its default or the command line says it.
static bool sizes_differ(const struct comparison *w) {
    const struct sizes *text = &w->text->job->sizes, *file = &w->file->job->sizes;
    const struct train_config *train = &w->c->config.train;
    const struct origin *model = &w->c->config.model.origin;
    const struct {
        const char *what;
        int64_t text, file;
        const struct origin *origin;
    } rows[] = {
        {"batch", text->batch, file->batch, &train->batch_origin},
        {"sequence", text->sequence, file->sequence, &train->sequence_origin},
        {"microbatches", text->microbatches, file->microbatches, &train->microbatch_origin},
        {"layers", text->layers, file->layers, model},
        {"vocab", text->vocab, file->vocab, model},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (differ(w, w->text->job->sizes_span, rows[i].what,
                   arena_format(&w->c->arena, "%" PRId64, rows[i].text),
                   arena_format(&w->c->arena, "%" PRId64, rows[i].file), rows[i].origin))
            return true;
    return false;
}

static const char *relaxation_text(struct arena *arena, const struct program *program) {
    const struct policy *policy = &program->job->policy;
    if (policy->islands.n == 0)
        return "nothing";
    return arena_format(arena, "%s, every = %" PRId64,
                        mesh_axes_text(&program->job->mesh, &policy->islands, arena),
                        policy->average_every);
}

static const char *compression_text(struct arena *arena, const struct program *program) {
    const struct policy *policy = &program->job->policy;
    if (policy->wire_axes.n == 0)
        return "nothing";
    return arena_format(arena, "%s, way = %s",
                        mesh_axes_text(&program->job->mesh, &policy->wire_axes, arena),
                        wire_text(policy->wire, arena));
}

static bool is_relaxed(const struct policy *policy) {
    return policy->islands.n > 0 || policy->wire_axes.n > 0;
}

// Which sequences of the step a device has, as a text says it of what the host deals out.
static const char *dealing_text(struct arena *arena, const struct program *program,
                                const struct buffer *tokens) {
    struct axis_list inner = tokens ? buffer_inner_axes(tokens) : (struct axis_list){0};
    if (!tokens || tokens->layout.cuts[0].n == 0)
        return "nothing";
    const char *axes = mesh_axes_text(&program->job->mesh, &tokens->layout.cuts[0], arena);
    return inner.n == 0 ? axes
                        : arena_format(arena, "%s around %s", axes,
                                       mesh_axes_text(&program->job->mesh, &inner, arena));
}

static const struct buffer *tokens_of(const struct program *program) {
    buffer_id id = program_host_buffer(program, HOST_TOKENS);
    return id == NO_ID ? NULL : &program->buffers[id];
}

static const struct origin *batch_origin(const struct strategy_config *strategy,
                                         const struct origin *otherwise) {
    for (uint32_t s = 0; s < strategy->n_splits; s++)
        for (uint32_t d = 0; d < strategy->splits[s].n_dimensions; d++)
            if (strategy->splits[s].dimensions[d] == DIM_BATCH)
                return &strategy->splits[s].origin;
    return otherwise;
}

// An island's steps, and a device's codes, are made of the sequences that it has. Where nothing is
// relaxed, any dealing trains alike, as the verifier finds.
static bool dealing_differs(const struct comparison *w, const struct origin *said) {
    const struct buffer *text = tokens_of(w->text), *file = tokens_of(w->file);
    struct arena *arena = &w->c->arena;
    return is_relaxed(&w->file->job->policy) &&
           differ(w, text ? text->span : w->text->job->policy_span, "batch over",
                  dealing_text(arena, w->text, text), dealing_text(arena, w->file, file),
                  batch_origin(&w->c->config.strategy, said));
}

// What keeps what the codes of a tensor's layer lack; NULL: nothing, it travels as it is.
static const struct buffer *residual_of(const struct program *program, const char *tensor,
                                        int64_t layer) {
    for (buffer_id id = 0; id < program->n_buffers; id++) {
        const struct buffer *buffer = &program->buffers[id];
        if (buffer->class == CLASS_RESIDUAL && buffer->tensor != NO_ID &&
            strcmp(program->job->tensors[buffer->tensor].name, tensor) == 0 &&
            buffer_item_of_layer(buffer, layer) >= 0)
            return buffer;
    }
    return NULL;
}

static int64_t pad_of(const struct buffer *buffer) { // of what is not padded 0 or 1
    return buffer->pad_elements > 1 ? buffer->pad_elements : 1;
}

// Padding moves the ends of flat shards.
static bool lie_alike(const struct buffer *a, const struct buffer *b) {
    bool alike = a->rank == b->rank && axis_list_equal(&a->layout.flat, &b->layout.flat) &&
                 (a->layout.flat.n == 0 || pad_of(a) == pad_of(b));
    for (unsigned i = 0; alike && i < a->rank; i++)
        alike = a->dims[i].size == b->dims[i].size &&
                axis_list_equal(&a->layout.cuts[i], &b->layout.cuts[i]);
    return alike;
}

// The first buffer of a program that keeps what codes lack where the other program keeps nothing,
// or of which it codes other parts: elements share a code with those beside them. NULL: none.
static const struct buffer *other_residual(const struct program *of, const struct program *other) {
    for (buffer_id id = 0; id < of->n_buffers; id++) {
        const struct buffer *buffer = &of->buffers[id];
        bool coded = buffer->class == CLASS_RESIDUAL && buffer->tensor != NO_ID;
        for (int64_t item = 0; coded && item < buffer_items(buffer); item++) {
            const struct buffer *like = residual_of(other, of->job->tensors[buffer->tensor].name,
                                                    buffer_layer(buffer, item));
            if (!like || !lie_alike(buffer, like))
                return buffer;
        }
    }
    return NULL;
}

static bool codes_differ(const struct comparison *w, const struct origin *said) {
    if (w->file->job->policy.wire_axes.n == 0)
        return false;
    const struct buffer *text = other_residual(w->text, w->file);
    const struct buffer *file = text ? NULL : other_residual(w->file, w->text);
    if (!text && !file)
        return false;
    const char *tensor =
        text ? w->text->job->tensors[text->tensor].name : w->file->job->tensors[file->tensor].name;
    struct diagnostic *d =
        report(w->c->diagnostics, E620, text ? text->span : w->text->job->policy_span,
               text ? "this step does not code the gradient of `%s` as the strategy does, or codes "
                      "other parts of it"
                    : "this step does not code the gradient of `%s`; the strategy does",
               tensor);
    point_at(d, said);
    advise(d);
    return true;
}

// Whether the text relaxes otherwise than the file. Less is proved between islands, and of
// gradients that are compressed: where is for the file to say, and so is whatever values depend on
// that are not compared there.
static bool relaxation_differs(const struct comparison *w) {
    const struct strategy_config *strategy = &w->c->config.strategy;
    const struct origin here = {.kind = ORIGIN_STATEMENT, .span = strategy->name_span};
    const struct origin *said = strategy->n_relaxations ? &strategy->relaxations[0].origin : &here;
    struct arena *arena = &w->c->arena;
    return differ(w, w->text->job->policy_span, "relax over", relaxation_text(arena, w->text),
                  relaxation_text(arena, w->file), said) ||
           differ(w, w->text->job->policy_span, "wire over", compression_text(arena, w->text),
                  compression_text(arena, w->file), said) ||
           dealing_differs(w, said) || codes_differ(w, said);
}

static const char *reproducible_text(struct arena *arena, const struct policy *policy) {
    return policy->reproducible ? arena_format(arena, "%" PRId64 " of %s", policy->reproducible,
                                               dimensions_text(policy->reproducible_of, arena))
                                : "0";
}

static bool order_differs(const struct comparison *w) {
    const struct policy *text = &w->text->job->policy, *file = &w->file->job->policy;
    const struct train_config *train = &w->c->config.train;
    return differ(w, w->text->job->policy_span, "reproducible",
                  reproducible_text(&w->c->arena, text), reproducible_text(&w->c->arena, file),
                  train->reproducible ? &train->reproducible_origin : &train->origin) ||
           differ(w, w->text->job->policy_span, "microbatch",
                  arena_format(&w->c->arena, "%" PRId64, text->microbatch),
                  arena_format(&w->c->arena, "%" PRId64, file->microbatch),
                  &train->microbatch_origin);
}

// The text's own policy is what the verifier holds its statements to: a laxer one than the file's
// would let a lossy step pass.
static const char *parts_text(const struct comparison *w, const char *types) {
    return types ? arena_format(&w->c->arena, "precision { %s }", types) : "one type in all parts";
}

static bool types_differ(const struct comparison *w) {
    const char *text = w->text->job->policy.types, *file = w->file->job->policy.types;
    if (same_text(text, file))
        return false;
    struct diagnostic *d = report(w->c->diagnostics, E620, w->text->job->policy_span,
                                  "this step is written for %s; the strategy is compiled for %s",
                                  parts_text(w, text), parts_text(w, file));
    point_at(d, &w->c->config.train.precision.origin);
    advise(d);
    return true;
}

static bool policy_differs(const struct comparison *w) {
    const struct policy *text = &w->text->job->policy, *file = &w->file->job->policy;
    const struct {
        const char *what;
        enum dtype text, file;
    } rows[] = {
        {"parameters", text->parameters, file->parameters},
        {"master", text->master, file->master},
        {"moments", text->moments, file->moments},
        {"gradients", text->gradients, file->gradients},
        {"compute", text->compute, file->compute},
        {"accumulate", text->accumulate, file->accumulate},
        {"gather", text->gather, file->gather},
        {"reduce", text->reduce, file->reduce},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (differ(w, w->text->job->policy_span, rows[i].what, dtype_word(rows[i].text),
                   dtype_word(rows[i].file), &w->c->config.train.precision.origin))
            return true;
    return types_differ(w) || order_differs(w) || relaxation_differs(w);
}

static const char *mesh_text(struct arena *arena, const struct mesh *mesh) {
    const char *text = "";
    for (uint32_t i = 0; i < mesh->n_axes; i++)
        text = arena_format(arena, "%s%s%s = %" PRId64, text, i ? ", " : "", mesh->axes[i].name,
                            mesh->axes[i].size);
    return mesh->n_axes ? text : "one device";
}

// Names and sizes in order. Links and products may differ: they change no result.
static bool mesh_differs(const struct comparison *w) {
    const struct mesh *text = &w->text->job->mesh, *file = &w->file->job->mesh;
    const char *ours = mesh_text(&w->c->arena, text), *theirs = mesh_text(&w->c->arena, file);
    if (strcmp(ours, theirs) == 0)
        return false;
    struct span span = text->n_axes ? text->axes[0].span : w->text->steps[STEP_TRAIN].span;
    struct diagnostic *d = report(w->c->diagnostics, E620, span,
                                  "this step is written for a mesh of %s; the strategy is compiled "
                                  "for %s",
                                  ours, theirs);
    if (file->n_axes)
        diagnostic_label(d, file->axes[0].span,
                         "the file's mesh (sizes may be set by the command line)");
    advise(d);
    return true;
}

// What of a tensor is not as the model has it; NULL: it is the same.
static const char *tensor_difference(const struct tensor *text, const struct tensor *file) {
    bool same = text->rank == file->rank && text->layers == file->layers &&
                text->first_layer == file->first_layer;
    for (unsigned i = 0; same && i < text->rank; i++)
        same = text->dims[i].dimension == file->dims[i].dimension &&
               text->dims[i].size == file->dims[i].size;
    if (!same)
        return "its sizes differ";
    bool same_parts = text->n_parts == file->n_parts;
    for (unsigned i = 0; same_parts && i < text->n_parts; i++)
        same_parts = same_text(text->parts[i].name, file->parts[i].name) &&
                     text->parts[i].size == file->parts[i].size;
    if (text->init != file->init || text->init_std != file->init_std || !same_parts ||
        strcmp(tensor_model_name(text), tensor_model_name(file)) != 0)
        return "its initial values differ";
    if (text->trainable != file->trainable)
        return "one of them is frozen";
    if (text->n_roles != file->n_roles || memcmp(text->roles, file->roles, text->n_roles) != 0)
        return "its role differs";
    if (!same_text(text->saved_name, file->saved_name) ||
        text->saved_columns_begin != file->saved_columns_begin ||
        text->saved_columns != file->saved_columns ||
        text->saved_transposed != file->saved_transposed)
        return "its place in a saved file differs";
    return NULL;
}

// The model's tensors in the model's order: initial values are counted by it.
static bool tensors_differ(const struct comparison *w) {
    const struct program *text = w->text, *file = w->file;
    struct diagnostic *d = NULL;
    for (uint32_t i = 0; i < text->job->n_tensors && i < file->job->n_tensors && !d; i++) {
        const struct tensor *ours = &text->job->tensors[i], *theirs = &file->job->tensors[i];
        const char *difference = tensor_difference(ours, theirs);
        if (strcmp(ours->name, theirs->name) != 0)
            d = report(w->c->diagnostics, E620, ours->span,
                       "tensor `%s` stands where the model has `%s`", ours->name, theirs->name);
        else if (difference)
            d = report(w->c->diagnostics, E620, ours->span, "tensor `%s` is not the model's: %s",
                       ours->name, difference);
    }
    if (!d && text->job->n_tensors != file->job->n_tensors)
        d = report(w->c->diagnostics, E620, text->steps[STEP_TRAIN].span,
                   "this step has %" PRIu32 " tensors, the model %" PRIu32, text->job->n_tensors,
                   file->job->n_tensors);
    if (!d)
        return false;
    const struct origin *model = &w->c->config.model.origin;
    if (model->kind == ORIGIN_STATEMENT)
        diagnostic_label(d, model->span, "the model (fields may be set by the command line)");
    advise(d);
    return true;
}

// A step replaces the derived one as a whole; without `evaluate` there would be no loss on other
// data.
static bool parts_are_missing(const struct comparison *w) {
    for (int s = 0; s < N_STEPS; s++)
        if (w->file->steps[s].present && !w->text->steps[s].present) {
            report(w->c->diagnostics, E620, w->text->job->policy_span,
                   "this step has no `%s { ... }`", step_names[s]);
            return true;
        }
    return false;
}

// Without a step the header is derived, and agrees.
bool edited_agrees(struct compilation *c, const struct program *edited) {
    const struct comparison comparison = {c, edited, c->final};
    return !mesh_differs(&comparison) && !sizes_differ(&comparison) &&
           !policy_differs(&comparison) && !tensors_differ(&comparison) &&
           !parts_are_missing(&comparison);
}
