// The schedule of a pipeline: `split layers over AXES schedule METHOD(chunks = v, stages = [...])`, or `schedule
// from "FILE"(stages = [...], microbatches = m)`. Whether stages and order fit the model and the mesh is for
// `place` to judge.
#include <string.h>

#include "frontend/expand.h"

// ---- the method -------------------------------------------------------------------------------

// `order.csv`, in quotes or not, where a method stands.
static void report_file(struct resolver *r, const char *text, struct span span) {
    size_t quotes = strspn(text, "\"");
    const char *file = arena_string(r->arena, text + quotes, strcspn(text + quotes, "\""));
    struct diagnostic *d = report(r->diagnostics, E103, span, "no schedule is called `%s`", text);
    diagnostic_help(d, "an order in a file stands behind `from`: `schedule from \"%s\"`", file);
    diagnostic_edit(d, span, "from \"%s\"", file);
}

// `1f1b` has been told as a number in no unit, which the help then is of.
static void report_method(struct resolver *r, const struct ast_value *value, struct ast_name name) {
    const struct source_file *file = &r->diagnostics->sources->items[name.span.source];
    const char *text =
        arena_string(r->arena, file->text + name.span.begin, name.span.end - name.span.begin);
    const char *ours = translated(text, method_names, N_METHODS);
    struct diagnostic *d = value->kind == AST_QUANTITY ? value->quantity.unknown : NULL;
    bool names_file = value->kind == AST_DOTTED || value->kind == AST_STRING;
    if (names_file && strchr(text, '.')) {
        report_file(r, text, name.span);
    } else if (!d) {
        report_unknown(r, E103, (struct ast_name){text, name.span}, "schedule", method_names,
                       N_METHODS);
    } else if (ours) {
        diagnostic_help(d, "as a schedule it is called `%s`", ours);
        diagnostic_edit(d, name.span, "%s", ours);
    }
}

// ---- stages -----------------------------------------------------------------------------------

// One summand of a stage: `embedding`, `head`, or a number of layers. False: reported.
static bool add_to_stage(struct resolver *r, const struct frame *frame,
                         const struct ast_value *said, struct stage_config *stage) {
    static const char *const parts[] = {"embedding", "head"};
    const struct ast_value *value = substitute(frame, said);
    if (value->kind != AST_NAME) {
        int64_t layers;
        if (!read_integer(r, value, "the layers of a stage", 0, LIMIT_LAYERS, &layers))
            return false;
        stage->layers = size_plus(stage->layers, layers);
        return true;
    }
    int part = table_find(parts, 2, value->name);
    if (part < 0) {
        report_unknown(r, E103, (struct ast_name){value->name, value->span}, "part of a stage",
                       parts, 2);
        return false;
    }
    bool *has = part == 0 ? &stage->embedding : &stage->head;
    if (*has)
        report(r->diagnostics, E330, value->span, "`%s` stands twice in one stage", value->name);
    bool good = !*has;
    *has = true;
    return good;
}

static bool read_stage(struct resolver *r, const struct frame *frame, const struct ast_value *value,
                       struct stage_config *stage) {
    *stage = (struct stage_config){.span = value->span};
    if (value->kind != AST_SUM)
        return add_to_stage(r, frame, value, stage);
    bool good = true;
    for (uint32_t i = 0; i < value->elements.n; i++)
        good &= add_to_stage(r, frame, value->elements.items[i], stage);
    return good;
}

// `14 of 8` is 14 stages of 8 layers.
static bool read_stages(struct resolver *r, const struct frame *frame,
                        const struct ast_value *value, struct pipeline_config *pipeline) {
    uint32_t cap = 0;
    pipeline->stages_span = value->span;
    if (value->kind == AST_NAME && strcmp(value->name, "auto") == 0)
        return true;
    if (value->kind != AST_SEQUENCE) {
        report_wrong_kind(r, value, "`stages`",
                          "`auto` or a list such as `[embedding + 7, 8 + head]`");
        return false;
    }
    bool good = true;
    for (uint32_t i = 0; i < value->elements.n; i++) {
        const struct ast_value *element = value->elements.items[i];
        bool repeats = element->kind == AST_REPEAT;
        int64_t times = repeats ? element->repeat.count.integer : 1;
        struct stage_config stage;
        good &= read_stage(r, frame, repeats ? element->repeat.each : element, &stage);
        if (times < 1 || times > LIMIT_LAYERS ||
            pipeline->n_stages + (uint64_t)times > LIMIT_LAYERS) {
            report(r->diagnostics, E107, element->span, "%s",
                   times < 1 ? "there must be at least 1 such stage"
                             : "more stages than a model can have layers");
            return false;
        }
        stage.span = element->span;
        for (int64_t k = 0; k < times; k++)
            ARENA_PUSH(r->arena, pipeline->stages, pipeline->n_stages, cap, stage);
    }
    return good;
}

// ---- the statement ----------------------------------------------------------------------------

static bool read_argument(struct resolver *r, const struct frame *frame,
                          const struct ast_argument *argument, struct pipeline_config *pipeline) {
    // A file says which stages a device has.
    const char *const names[] = {"stages", pipeline->file ? "microbatches" : "chunks"};
    if (argument->kind != ARGUMENT_VALUE || !argument->name.text) {
        struct diagnostic *d =
            report(r->diagnostics, E105, argument->span, "what a schedule is given has a name");
        diagnostic_help(d, "say `%s` or `stages = [...]`",
                        pipeline->file ? "microbatches = 8" : "chunks = 2");
        return false;
    }
    const struct ast_value *value = substitute(frame, argument->value);
    int argument_number = table_find(names, 2, argument->name.text);
    if (argument_number == 0)
        return read_stages(r, frame, value, pipeline);
    if (argument_number < 0) {
        report_unknown_of(r, E104, argument->name, value, "argument of a schedule", names, 2);
        return false;
    }
    if (!pipeline->file) {
        pipeline->chunks_span = value->span;
        return read_integer(r, value, "`chunks`", 1, LIMIT_LAYERS, &pipeline->chunks);
    }
    pipeline->microbatches_span = value->span;
    return read_integer(r, value, "`microbatches`", 1, LIMIT_MICROBATCHES, &pipeline->microbatches);
}

static bool read_arguments(struct resolver *r, const struct frame *frame,
                           const struct ast_arguments *arguments,
                           struct pipeline_config *pipeline) {
    bool good = true;
    for (uint32_t i = 0; i < arguments->n; i++) {
        const struct ast_name *name = &arguments->items[i].name;
        for (uint32_t k = 0; k < i && name->text; k++)
            if (arguments->items[k].name.text &&
                strcmp(arguments->items[k].name.text, name->text) == 0)
                report_twice(r, name->span, arguments->items[k].name.span,
                             arena_format(r->arena, "`%s`", name->text));
        good &= read_argument(r, frame, &arguments->items[i], pipeline);
    }
    return good;
}

// A file lies beside the one that names it.
static bool read_file(struct resolver *r, const struct frame *frame,
                      const struct ast_schedule *schedule, struct pipeline_config *pipeline) {
    struct span from = schedule->value->span;
    const char *name = schedule->value->string;
    if (!names_file(r, name, from))
        return false;
    const char *path =
        path_beside(r->arena, r->diagnostics->sources->items[from.source].name, name);
    pipeline->method_span = from;
    pipeline->file = read_schedule_file(r, path, name, from);
    return pipeline->file && read_arguments(r, frame, &schedule->arguments, pipeline);
}

// A method that is misspelt is told as that, even where the rest is not well.
static bool read_method(struct resolver *r, const struct frame *frame,
                        const struct ast_schedule *schedule, struct pipeline_config *pipeline) {
    const struct ast_value *value = substitute(frame, schedule->value);
    struct ast_name name =
        value->kind == AST_CALL
            ? value->call.name
            : (struct ast_name){value->kind == AST_NAME ? value->name : "", value->span};
    int method = table_find(method_names, N_METHODS, name.text);
    if (method < 0) {
        report_method(r, value, name);
        return false;
    }
    pipeline->method = (enum pipeline_method)method;
    pipeline->method_span = name.span;
    return value->kind != AST_CALL || read_arguments(r, frame, &value->call.arguments, pipeline);
}

static bool read_schedule(struct resolver *r, const struct frame *frame,
                          const struct ast_schedule *schedule, struct pipeline_config *pipeline) {
    return schedule->kind == SCHEDULE_FILE ? read_file(r, frame, schedule, pipeline)
                                           : read_method(r, frame, schedule, pipeline);
}

static bool splits_layers(const struct split_statement *split) {
    for (uint32_t i = 0; i < split->n_dimensions; i++)
        if (split->dimensions[i] == DIM_LAYERS)
            return true;
    return false;
}

// What a split of layers may not be. False: reported.
static bool check_alone(struct expansion *e, const struct ast_statement *statement,
                        const struct split_statement *split) {
    struct diagnostics *diagnostics = e->r->diagnostics;
    const struct pipeline_config *before = &e->strategy->pipeline;
    struct diagnostic *d = NULL;
    if (split->scope_depth > 0) {
        d = report(diagnostics, E332, statement->span, "layers are split inside of `in`");
        diagnostic_say(d, "a pipeline is of all layers");
        diagnostic_help(d, "split them outside of every `in`, and say in `stages` how many each "
                           "stage has");
    } else if (split->n_dimensions > 1) {
        d = report(diagnostics, E332, statement->split.dimensions.span,
                   "`layers` and others are split by one statement");
        diagnostic_help(d, "split layers over an axis of their own, by a statement of their own");
    } else if (has_pipeline(before)) {
        d = report(diagnostics, E332, statement->span, "layers are split by two statements");
        diagnostic_label(d, origin_span(&before->origin), "the other one");
        diagnostic_help(d, "leave out one of them; a pipeline may be over a product of axes");
        diagnostic_delete(d, statement->span);
    } else if (statement->split.schedule.kind == SCHEDULE_NONE) {
        d = report(diagnostics, E109, statement->span, "a split of layers needs a schedule");
        diagnostic_help(d, "say in which order microbatches go through the stages: `schedule "
                           "one_f_one_b`");
        diagnostic_edit(d,
                        span_of(statement->span.source, statement->span.end, statement->span.end),
                        " schedule one_f_one_b");
    }
    return !d;
}

bool expand_pipeline(struct expansion *e, const struct frame *frame,
                     const struct ast_statement *statement, const struct split_statement *split,
                     bool good) {
    struct resolver *r = e->r;
    struct pipeline_config pipeline = {.origin = split->origin, .axes = split->axes};
    const struct ast_schedule *schedule = &statement->split.schedule;
    bool layers = splits_layers(split);
    if (!layers && schedule->kind == SCHEDULE_NONE)
        return false;
    if (schedule->kind != SCHEDULE_NONE)
        good &= read_schedule(r, frame, schedule, &pipeline);
    if (!layers && good) {
        struct diagnostic *d = report(r->diagnostics, E332, schedule->span,
                                      "a schedule is of stages, and no layers are split here");
        diagnostic_help(d, "leave it out, or split layers: `split layers over AXIS schedule ...`");
        diagnostic_delete(d, schedule->span);
        return true;
    }
    if (layers && check_alone(e, statement, split) && good)
        e->strategy->pipeline = pipeline;
    return true;
}
