// Programs that a file writes out, in place of the derived ones.
//
// The verifier judges them as it judges any program, and reads no declaration. So two things are
// left to compare here. Before: the text repeats the mesh, the sizes, the types and the tensors
// that it was printed for; where the file, or -D, says something else now, the text is out of date,
// and training by it would silently be another training. After: the storage that the verifier
// found, with the modes that the strategy declares.
#include "driver/edited.h"

#include <inttypes.h>
#include <string.h>

#include "driver/report.h"

// ---- parts ------------------------------------------------------------------------------------

// The file's `step S` and `unit S.U` for the strategy that is compiled.
struct written {
    const struct ast_item **items;
    struct program_part *parts; // of each item
    uint32_t n, n_parts, items_capacity, parts_capacity;
};

// Parts of other strategies stay where they are: a file may hold several.
static struct written find_written(struct compilation *c) {
    struct written written = {0};
    for (uint32_t i = 0; i < c->file.n; i++) {
        const struct ast_item *item = &c->file.items[i];
        if ((item->kind != ITEM_STEP && item->kind != ITEM_UNIT) ||
            strcmp(item->name.text, c->config.strategy.name) != 0)
            continue;
        bool unit = item->kind == ITEM_UNIT;
        struct program_part part = {.unit = unit ? item->program.unit.text : NULL,
                                    .braces = item->program.program.span};
        ARENA_PUSH(&c->arena, written.items, written.n, written.items_capacity, item);
        ARENA_PUSH(&c->arena, written.parts, written.n_parts, written.parts_capacity, part);
    }
    return written;
}

static bool block_calls(const struct block *block, uint32_t unit) {
    struct statement_walk walk = walk_statements(block);
    while (walk_next(&walk))
        if (walk.statement->kind == STATEMENT_CALL && walk.statement->call.unit == unit)
            return true;
    return false;
}

// A unit that nothing calls would be an edit without effect: its name is most likely misspelt.
static bool check_called(struct compilation *c, const struct program *edited,
                         const struct ast_item *item) {
    const char *name = item->program.unit.text;
    uint32_t unit = program_find_unit(edited, name);
    for (int s = 0; s < N_STEPS; s++)
        if (block_calls(&edited->steps[s].body, unit))
            return true;
    struct diagnostic *d = report(c->diagnostics, E620, item->program.unit.span,
                                  "no statement of the step calls unit `%s`", name);
    const char **names = ARENA_ARRAY(&c->arena, const char *, edited->n_units);
    size_t n = 0;
    for (uint32_t i = 0; i < edited->n_units; i++)
        if (i != unit)
            names[n++] = edited->units[i].name;
    diagnostic_meant(d, item->program.unit.span, name, names, n);
    return false;
}

// All are asked, so that every misspelt unit is told in one run.
static bool all_called(struct compilation *c, const struct program *edited,
                       const struct written *written) {
    bool all = true;
    for (uint32_t i = 0; i < written->n; i++)
        if (written->items[i]->kind == ITEM_UNIT)
            all = check_called(c, edited, written->items[i]) && all;
    return all;
}

// ---- agreement with the file ------------------------------------------------------------------

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

// By the words that a person would compare, so that numbers and names go one way.
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
    const struct sizes *text = &w->text->sizes, *file = &w->file->sizes;
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
        if (differ(w, w->text->sizes_span, rows[i].what,
                   arena_format(&w->c->arena, "%" PRId64, rows[i].text),
                   arena_format(&w->c->arena, "%" PRId64, rows[i].file), rows[i].origin))
            return true;
    return false;
}

static const char *relaxation_text(struct arena *arena, const struct program *program) {
    const struct policy *policy = &program->policy;
    if (policy->islands.n == 0)
        return "nothing";
    return arena_format(arena, "%s, every = %" PRId64,
                        mesh_axes_text(&program->mesh, &policy->islands, arena),
                        policy->average_every);
}

static const char *compression_text(struct arena *arena, const struct program *program) {
    const struct policy *policy = &program->policy;
    if (policy->wire_axes.n == 0)
        return "nothing";
    return arena_format(arena, "%s, way = %s",
                        mesh_axes_text(&program->mesh, &policy->wire_axes, arena),
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
    const char *axes = mesh_axes_text(&program->mesh, &tokens->layout.cuts[0], arena);
    return inner.n == 0 ? axes
                        : arena_format(arena, "%s around %s", axes,
                                       mesh_axes_text(&program->mesh, &inner, arena));
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
    return is_relaxed(&w->file->policy) &&
           differ(w, text ? text->span : w->text->policy_span, "batch over",
                  dealing_text(arena, w->text, text), dealing_text(arena, w->file, file),
                  batch_origin(&w->c->config.strategy, said));
}

// What keeps what the codes of a tensor's layer lack; NULL: nothing, it travels as it is.
static const struct buffer *residual_of(const struct program *program, const char *tensor,
                                        int64_t layer) {
    for (buffer_id id = 0; id < program->n_buffers; id++) {
        const struct buffer *buffer = &program->buffers[id];
        if (buffer->class == CLASS_RESIDUAL && buffer->tensor != NO_ID &&
            strcmp(program->tensors[buffer->tensor].name, tensor) == 0 &&
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
        for (int64_t item = 0; coded && item < buffer->count; item++) {
            const struct buffer *like =
                residual_of(other, of->tensors[buffer->tensor].name, buffer_layer(buffer, item));
            if (!like || !lie_alike(buffer, like))
                return buffer;
        }
    }
    return NULL;
}

static bool codes_differ(const struct comparison *w, const struct origin *said) {
    if (w->file->policy.wire_axes.n == 0)
        return false;
    const struct buffer *text = other_residual(w->text, w->file);
    const struct buffer *file = text ? NULL : other_residual(w->file, w->text);
    if (!text && !file)
        return false;
    const char *tensor =
        text ? w->text->tensors[text->tensor].name : w->file->tensors[file->tensor].name;
    struct diagnostic *d =
        report(w->c->diagnostics, E620, text ? text->span : w->text->policy_span,
               text ? "this step does not code the gradient of `%s` as the strategy does, or codes "
                      "other parts of it"
                    : "this step does not code the gradient of `%s`; the strategy does",
               tensor);
    point_at(d, said);
    advise(d);
    return true;
}

// Between islands less is proved, and less of gradients that are compressed: where is for the file
// to say, and so is whatever values depend on that are not compared there.
static bool relaxation_differs(const struct comparison *w) {
    const struct strategy_config *strategy = &w->c->config.strategy;
    const struct origin here = {.kind = ORIGIN_STATEMENT, .span = strategy->name_span};
    const struct origin *said = strategy->n_relaxations ? &strategy->relaxations[0].origin : &here;
    struct arena *arena = &w->c->arena;
    return differ(w, w->text->policy_span, "relax over", relaxation_text(arena, w->text),
                  relaxation_text(arena, w->file), said) ||
           differ(w, w->text->policy_span, "wire over", compression_text(arena, w->text),
                  compression_text(arena, w->file), said) ||
           dealing_differs(w, said) || codes_differ(w, said);
}

static const char *reproducible_text(struct arena *arena, const struct policy *policy) {
    return policy->reproducible ? arena_format(arena, "%" PRId64 " of %s", policy->reproducible,
                                               dimensions_text(policy->reproducible_of, arena))
                                : "0";
}

static bool order_differs(const struct comparison *w) {
    const struct policy *text = &w->text->policy, *file = &w->file->policy;
    const struct train_config *train = &w->c->config.train;
    return differ(w, w->text->policy_span, "reproducible", reproducible_text(&w->c->arena, text),
                  reproducible_text(&w->c->arena, file),
                  train->reproducible ? &train->reproducible_origin : &train->origin) ||
           differ(w, w->text->policy_span, "microbatch",
                  arena_format(&w->c->arena, "%" PRId64, text->microbatch),
                  arena_format(&w->c->arena, "%" PRId64, file->microbatch),
                  &train->microbatch_origin);
}

// The text's own policy is what the verifier holds its statements to: a laxer one than the file's
// would let a lossy step pass.
static bool policy_differs(const struct comparison *w) {
    const struct policy *text = &w->text->policy, *file = &w->file->policy;
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
        if (differ(w, w->text->policy_span, rows[i].what, dtype_names[rows[i].text],
                   dtype_names[rows[i].file], &w->c->config.train.precision.origin))
            return true;
    return order_differs(w) || relaxation_differs(w);
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
    const struct mesh *text = &w->text->mesh, *file = &w->file->mesh;
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

static bool same_text(const char *a, const char *b) {
    return a == b || (a && b && strcmp(a, b) == 0);
}

// What of a tensor is not as the model has it; NULL: it is the same.
static const char *tensor_difference(const struct tensor *text, const struct tensor *file) {
    bool same = text->rank == file->rank && text->layers == file->layers;
    for (unsigned i = 0; same && i < text->rank; i++)
        same = text->dims[i].dimension == file->dims[i].dimension &&
               text->dims[i].size == file->dims[i].size;
    if (!same)
        return "its sizes differ";
    bool same_parts = text->n_parts == file->n_parts;
    for (unsigned i = 0; same_parts && i < text->n_parts; i++)
        same_parts = same_text(text->parts[i].name, file->parts[i].name) &&
                     text->parts[i].size == file->parts[i].size;
    if (text->init != file->init || text->init_std != file->init_std || !same_parts)
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
    for (uint32_t i = 0; i < text->n_tensors && i < file->n_tensors && !d; i++) {
        const struct tensor *ours = &text->tensors[i], *theirs = &file->tensors[i];
        const char *difference = tensor_difference(ours, theirs);
        if (strcmp(ours->name, theirs->name) != 0)
            d = report(w->c->diagnostics, E620, ours->span,
                       "tensor `%s` stands where the model has `%s`", ours->name, theirs->name);
        else if (difference)
            d = report(w->c->diagnostics, E620, ours->span, "tensor `%s` is not the model's: %s",
                       ours->name, difference);
    }
    if (!d && text->n_tensors != file->n_tensors)
        d = report(w->c->diagnostics, E620, text->steps[STEP_TRAIN].span,
                   "this step has %" PRIu32 " tensors, the model %" PRIu32, text->n_tensors,
                   file->n_tensors);
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
            report(w->c->diagnostics, E620, w->text->policy_span, "this step has no `%s { ... }`",
                   step_names[s]);
            return true;
        }
    return false;
}

// What the text was printed for is what it is compiled for. Without a step the header is derived.
static bool agrees(struct compilation *c, const struct program *edited) {
    const struct comparison comparison = {c, edited, c->final};
    return !mesh_differs(&comparison) && !sizes_differ(&comparison) &&
           !policy_differs(&comparison) && !tensors_differ(&comparison) &&
           !parts_are_missing(&comparison);
}

// ---- places in memory -------------------------------------------------------------------------

// An unlike value of two programs that are one but for their plans: inline in only one of them.
// NULL: none.
static const struct op *find_unlike(const struct program *a, const struct program *b,
                                    const struct value **value) {
    for (uint32_t u = 0; u < a->n_units; u++)
        for (uint32_t i = 0; i < a->units[u].n_ops; i++) {
            const struct op *op = &a->units[u].ops[i];
            for (unsigned k = 0; k < op->n_results; k++) {
                *value = &a->units[u].values[op->results[k]];
                const struct value *other = &b->units[u].values[op->results[k]];
                if (((*value)->storage == STORAGE_INLINE) != (other->storage == STORAGE_INLINE))
                    return op;
            }
        }
    return NULL;
}

// Which values are computed inside others follows from the ops, and generated code relies on it.
static bool inline_as_fused(struct compilation *c, const struct program *edited) {
    const struct pass_context context = {.config = &c->config, .diagnostics = c->diagnostics};
    struct program *fused = program_clone(&c->arena, edited);
    program_drop_plan(fused);
    passes_run(fused, &context, PASS_FUSE, PASS_FUSE);
    const struct value *value;
    const struct op *op = find_unlike(edited, fused, &value);
    if (!op)
        return true;
    struct diagnostic *d =
        report(c->diagnostics, E600, op->span,
               value->storage == STORAGE_INLINE
                   ? "`%%%s` cannot be `inline`: no op can compute it where it is used"
                   : "`%%%s` must be `inline`: the op that uses it computes it",
               value->name);
    diagnostic_help(d, "leave out where this value is, and all memory is planned anew");
    return false;
}

// A plan that is written out is kept if code can be generated from it; what is missing of one is
// missing of all.
static bool settle_plan(struct compilation *c, struct program *edited) {
    const struct pass_context context = {.config = &c->config, .diagnostics = c->diagnostics};
    if (program_needs_plan(edited)) {
        program_drop_plan(edited);
        return passes_run(edited, &context, PASS_FUSE, PASS_MEMORY);
    }
    struct span at;
    const char *wrong = program_check_plan(edited, &c->arena, &at);
    if (wrong)
        report(c->diagnostics, E600, at, "%s", wrong);
    return !wrong && inline_as_fused(c, edited);
}

// ---- what the file says of it still -----------------------------------------------------------

// The buffer with the most slots into which a tensor is gathered; NULL: none has several.
static const struct buffer *slots_of(const struct program *program, uint32_t tensor) {
    const struct buffer *most = NULL;
    for (buffer_id id = 0; id < program->n_buffers; id++) {
        const struct buffer *buffer = &program->buffers[id];
        if (buffer->tensor == tensor && buffer->stack == STACK_SLOTS &&
            (!most || buffer->count > most->count))
            most = buffer;
    }
    return most;
}

// How far ahead layers are gathered is the text's, and may be; but who says it in the file thinks
// that it holds. False: it was not told.
static bool warn_prefetch(struct compilation *c, const struct program *edited, uint32_t tensor,
                          const struct mode_statement *mode) {
    const struct buffer *text = slots_of(edited, tensor), *file = slots_of(c->final, tensor);
    int64_t slots = text ? text->count : 1;
    if (slots == (file ? file->count : 1))
        return false;
    struct diagnostic *d = report(c->diagnostics, W830, origin_span(&mode->origin),
                                  "`prefetch` changes nothing here: the step is written out");
    diagnostic_label(d, text ? text->span : edited->steps[STEP_TRAIN].span,
                     "this gathers `%s` into %" PRId64 " slot%s", c->final->tensors[tensor].name,
                     slots, plural_s(slots));
    diagnostic_origin(d, &mode->origin);
    diagnostic_help(d, "leave `prefetch` out, or print the step anew without the written-out one");
    return true;
}

// A default is said by nobody. Once for each statement.
static void check_prefetch(struct compilation *c, const struct program *edited) {
    struct placement placement;
    const struct strategy_config *strategy = &c->config.strategy;
    struct diagnostics *told_before = diagnostics_new(&c->arena, &c->sources);
    if (!placement_derive(&c->config, c->reference, &c->arena, told_before, &placement))
        return;
    for (uint32_t m = 0; m < strategy->n_modes; m++) {
        const struct mode_statement *mode = &strategy->modes[m];
        bool told = mode->state != STATE_PARAMETERS || mode->prefetch == 1;
        for (uint32_t at = 0; at < placement.n_ranges * placement.n_tensors && !told; at++)
            for (unsigned axis = 0; axis < c->final->mesh.n_axes && !told; axis++)
                told = placement.tensors[at].extents[STATE_PARAMETERS][axis].mode == mode &&
                       warn_prefetch(c, edited, at % placement.n_tensors, mode);
    }
}

// ---- replacement ------------------------------------------------------------------------------

void report_text_error(struct diagnostics *diagnostics, const struct text_error *error) {
    struct diagnostic *d = report(diagnostics, E600, error->span, "%s", error->message);
    if (error->meant) {
        diagnostic_help(d, "did you mean `%s`?", error->meant);
        diagnostic_edit(d, error->span, "%s", error->meant);
    }
}

// Read, compared with what is derived, its plan settled; only then is it the program.
bool edited_replace(struct compilation *c) {
    struct written written = find_written(c);
    if (written.n == 0)
        return true;
    struct text_error error;
    const char *text = c->sources.items[c->file.source].text;
    struct program *edited =
        program_parse_parts(&c->arena, c->final, text, written.parts, written.n_parts, &error);
    if (!edited) {
        report_text_error(c->diagnostics, &error);
        return false;
    }
    if (!agrees(c, edited) || !all_called(c, edited, &written))
        return false;
    // Speeds of links and names of products are the file's: they change no result.
    edited->mesh = c->final->mesh;
    if (!settle_plan(c, edited))
        return false;
    check_prefetch(c, edited);
    c->final = edited;
    c->edited = true;
    return true;
}

// ---- storage ----------------------------------------------------------------------------------

// The letter that the strategy declares for a state of a tensor, and what says it (NULL: nothing,
// storage follows work).
static const char *declared_letter(const struct placed_tensor *placed, enum state state,
                                   unsigned axis, const struct origin **origin) {
    static const char *const letters[] = {
        [EXTENT_REPLICATED] = "R", [EXTENT_SHARDED] = "S", [EXTENT_GATHERED] = "S*"};
    *origin = placed_origin(placed, state, axis);
    if (!placed->cut_by[axis])
        return letters[placed->extents[state][axis].extent];
    *origin = &placed->cut_by[axis]->origin;
    return "S";
}

static const char *letter_words(const char *letter) {
    if (strcmp(letter, "R") == 0)
        return "whole on every device (R)";
    return strcmp(letter, "S") == 0 ? "as shards (S)" : "as shards that are gathered (S*)";
}

// At the buffer of the text that lies otherwise, with the statement that declares it.
static void report_storage(struct compilation *c, const struct placement_row *row, unsigned axis,
                           const char *found, const char *declared, const struct origin *origin) {
    const char *name = c->final->mesh.axes[axis].name;
    const char *tensor = c->final->tensors[row->buffer->tensor].name;
    struct diagnostic *d = report(
        c->diagnostics, E621, row->buffer->span, "this program keeps the %s of `%s` %s over `%s`",
        row->state == STATE_OPTIMIZER ? "optimizer's state" : state_names[row->state], tensor,
        letter_words(found), name);
    struct span at = origin ? origin_span(origin) : c->config.strategy.name_span;
    diagnostic_label(d, at, origin ? "declared here: %s" : "nothing is declared: %s",
                     letter_words(declared));
    if (origin && origin->kind != ORIGIN_STATEMENT)
        diagnostic_origin(d, origin);
    diagnostic_help(d, "declare what the program does, or keep the state as it is declared");
}

// Is all that a buffer holds, of whatever layers, declared as it was found? If not, that is
// reported.
static bool check_buffer_storage(struct compilation *c, const struct placement *placement,
                                 const struct placement_row *row, unsigned axis) {
    const struct buffer *buffer = row->buffer;
    const char *found = mode_letter(row, axis);
    int64_t layers = buffer->stack == STACK_LAYERS ? buffer->count : 1;
    for (int64_t item = 0; item < layers; item++) {
        uint32_t range = placement_range(placement, buffer_layer(buffer, item));
        const struct placed_tensor *placed =
            &placement->tensors[range * placement->n_tensors + buffer->tensor];
        const struct origin *origin;
        const char *declared = declared_letter(placed, row->state, axis, &origin);
        if (strcmp(found, declared) == 0)
            continue;
        report_storage(c, row, axis, found, declared, origin);
        return false;
    }
    return true;
}

// One report for a state and axis: the tensors of a unit are mostly kept alike.
static void check_state_storage(struct compilation *c, const struct placement *placement,
                                enum state state, unsigned axis) {
    for (buffer_id id = 0; id < c->final->n_buffers; id++) {
        const struct buffer *buffer = &c->final->buffers[id];
        if (class_states[buffer->class] != state || buffer->tensor == NO_ID ||
            buffer->window_of != NO_ID || !c->verdict.buffers[id].seen ||
            buffer->class == CLASS_RESIDUAL) // nobody declares it: it lies as what is compressed
            continue;
        struct placement_row row = {
            .state = state, .buffer = buffer, .found = &c->verdict.buffers[id]};
        if (!check_buffer_storage(c, placement, &row, axis))
            return;
    }
}

void edited_check_storage(struct compilation *c) {
    struct placement placement;
    if (!c->edited ||
        !placement_derive(&c->config, c->reference, &c->arena, c->diagnostics, &placement))
        return;
    for (int state = 0; state < STATE_ACTIVATIONS; state++)
        for (unsigned axis = 0; axis < c->final->mesh.n_axes; axis++)
            if (c->final->mesh.axes[axis].size > 1)
                check_state_storage(c, &placement, (enum state)state, axis);
}
