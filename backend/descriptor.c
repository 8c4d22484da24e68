// What the runtime must know of a job, as one struct place_program: made from the final programs,
// the same for all ranks. Everything is converted, nothing computed anew: sizes and
// strides are those of ir's own functions.
#include "backend/backend.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "ir/check.h"
#include "backend/effects.h"
#include "backend/handles.h"
#include "backend/installation.h"
#include "backend/pieces.h"
#include "backend/products.h"
#include "ir/config.h"
#include "ir/diagnostic.h"
#include "ir/limits.h"
#include "ir/source.h"

// The runtime numbers classes, stacks, initial values and collectives as the compiler does.
_Static_assert((int)PLACE_N_CLASSES == (int)N_CLASSES && (int)PLACE_OUTPUT == (int)CLASS_OUTPUT,
               "enum place_class follows ir/classes.def");
_Static_assert((int)PLACE_STACKS_LIMIT == (int)MAX_STACKS, "as many stacks");
_Static_assert((int)PLACE_STACK_IN_FLIGHT == (int)STACK_IN_FLIGHT,
               "enum place_stack_kind is stack_kind");
_Static_assert((int)PLACE_INIT_ZEROS == (int)INIT_ZEROS, "enum place_init is init_kind");
_Static_assert((int)PLACE_AXES_LIMIT >= (int)MAX_AXES && (int)PLACE_RANK_LIMIT >= (int)MAX_RANK,
               "limits of the runtime");

// ---- mesh -------------------------------------------------------------------------------------

static void describe_mesh(struct arena *arena, const struct mesh *mesh, struct place_program *out) {
    struct place_axis *axes = ARENA_ARRAY(arena, struct place_axis, mesh->n_axes);
    for (uint32_t i = 0; i < mesh->n_axes; i++)
        axes[i] = (struct place_axis){.name = mesh->axes[i].name,
                                      .size = mesh->axes[i].size,
                                      .stride = mesh_stride_of(mesh, i)};
    out->n_axes = (int32_t)mesh->n_axes;
    out->axes = axes;
    out->devices = mesh_devices(mesh);
}

// Lists keep their order: the outermost axis first, in both worlds.
static struct place_axes describe_axes(const struct axis_list *axes) {
    struct place_axes out = {.n = axes->n};
    memcpy(out.axes, axes->axes, axes->n);
    return out;
}

// ---- tensors ----------------------------------------------------------------------------------

static int64_t tensor_elements(const struct tensor *tensor) {
    int64_t elements = 1;
    for (unsigned i = 0; i < tensor->rank; i++)
        elements *= tensor->dims[i].size;
    return elements;
}

_Static_assert((int)MAX_TENSOR_PARTS == (int)PLACE_FUSED_LIMIT,
               "a tensor's parts fit the descriptor");

// Rows of the matrix that a tensor is when saved: weights have the hidden dimension first (inputs)
// or last (outputs, tables); a bias or gain is a vector whatever its rank.
static int64_t saved_rows(const struct tensor *tensor) {
    if (tensor->rank < 2)
        return 0;
    const struct dim *first = &tensor->dims[0], *last = &tensor->dims[tensor->rank - 1];
    if (last->dimension == DIM_HIDDEN)
        return tensor_elements(tensor) / last->size;
    return first->dimension == DIM_HIDDEN ? first->size : 0;
}

static void describe_fused(const struct tensor *tensor, struct place_tensor *out) {
    int64_t behind = 1, begin = 0; // elements behind the dimension `part`
    for (unsigned d = tensor->rank; d-- > 0 && tensor->dims[d].dimension != DIM_PART;)
        behind *= tensor->dims[d].size;
    for (unsigned i = 0; i < tensor->n_parts; i++) {
        int64_t elements = tensor->parts[i].size * behind;
        out->fused[i] = (struct place_fused){tensor->parts[i].name, begin, elements};
        begin += elements;
    }
    out->n_fused = tensor->n_parts;
    out->plane = begin;
}

static enum place_dtype describe_dtype(enum dtype dtype) {
    switch (dtype) {
    case DTYPE_F32:
        return PLACE_F32;
    case DTYPE_F64:
        return PLACE_F64;
    case DTYPE_BF16:
        return PLACE_BF16;
    case DTYPE_F16:
        return PLACE_F16;
    default:
        CHECK(dtype == DTYPE_I32);
        return PLACE_I32;
    }
}

// Nothing is rounded to what no text says.
static enum place_dtype saved_dtype(const struct job *job, uint32_t tensor) {
    enum dtype dtype = tensor_parameters(job, &job->tensors[tensor]);
    return describe_dtype(dtype == DTYPE_NONE ? DTYPE_F64 : dtype);
}

static void describe_tensors(struct arena *arena, const struct job *job,
                             struct place_program *out) {
    struct place_tensor *tensors = ARENA_ARRAY(arena, struct place_tensor, job->n_tensors);
    for (uint32_t i = 0; i < job->n_tensors; i++) {
        const struct tensor *tensor = &job->tensors[i];
        tensors[i] = (struct place_tensor){
            .name = tensor_model_name(tensor),
            .layers = tensor->layers,
            .first_layer = tensor->first_layer,
            .init = (enum place_init)tensor->init,
            .init_std = tensor->init_std,
            .dtype = saved_dtype(job, i),
            .saved_name = tensor->saved_name,
            .saved_rows = saved_rows(tensor),
            .saved_columns_begin = tensor->saved_columns_begin,
            .saved_columns = tensor->saved_columns,
            .saved_transposed = tensor->saved_transposed,
        };
        describe_fused(tensor, &tensors[i]);
    }
    out->n_tensors = (int32_t)job->n_tensors;
    out->tensors = tensors;
}

_Static_assert((int)PLACE_DEVICE == (int)TIER_DEVICE && (int)PLACE_HOST == (int)TIER_HOST &&
                   (int)PLACE_DISK == (int)TIER_DISK && (int)PLACE_N_TIERS == (int)N_TIERS,
               "enum place_tier follows ir/tiers.def");

// ---- buffers ----------------------------------------------------------------------------------

static int32_t index_or_none(uint32_t id) {
    return id == NO_ID ? -1 : (int32_t)id;
}

// The runtime's dimensions are those of an item: one microbatch's share of the batch.
static int64_t item_size(const struct buffer *buffer, unsigned i) {
    bool shared = buffer->dims[i].dimension == DIM_BATCH;
    return buffer->dims[i].size / (shared ? buffer_microbatches(buffer) : 1);
}

static struct place_buffer describe_buffer(const struct program *program,
                                           const struct buffer *buffer) {
    struct place_buffer out = {
        .name = buffer->name,
        .tensor = index_or_none(buffer->tensor),
        .class = (enum place_class)buffer->class,
        .dtype = describe_dtype(buffer->dtype),
        .tier = (enum place_tier)buffer->tier,
        .rank = buffer->rank,
        .flat = describe_axes(&buffer->layout.flat),
        .owners = describe_axes(&buffer->layout.owners),
        .count = buffer_items(buffer),
        .slots = buffer_slots(&program->job->mesh, buffer),
        .inner = buffer->layout.n_inner,
        .first_item = buffer_first_layer(buffer),
        .item_step = buffer_layer_step(buffer),
        .stride_bytes = buffer_item_bytes(program, buffer),
        .offset_bytes = buffer->offset_bytes,
        .window_of = index_or_none(buffer->window_of),
    };
    for (unsigned i = 0; i < buffer->stacks.n; i++)
        out.stacks[i] = (struct place_stack){(enum place_stack_kind)buffer->stacks.list[i].kind,
                                             buffer->stacks.list[i].count};
    for (unsigned i = 0; i < buffer->rank; i++) {
        const struct axis_list *cuts = &buffer->layout.cuts[i];
        struct order order = order_of_cuts(&program->job->mesh, cuts, buffer->layout.zigzag[i] - 1);
        out.dims[i] = (struct place_dimension){.name = dimension_names[buffer->dims[i].dimension],
                                               .size = item_size(buffer, i),
                                               .cut = describe_axes(cuts),
                                               .chunks = order.chunks};
        if (order.chunks)
            out.dims[i].chunk = buffer->dims[i].size / (order.outer * order.chunks);
    }
    return out;
}

static void describe_buffers(struct arena *arena, const struct program *program,
                             struct place_part *out) {
    struct place_buffer *buffers = ARENA_ARRAY(arena, struct place_buffer, program->n_buffers);
    for (uint32_t i = 0; i < program->n_buffers; i++)
        buffers[i] = describe_buffer(program, &program->buffers[i]);
    out->n_buffers = (int32_t)program->n_buffers;
    out->buffers = buffers;
}

static int32_t host_buffer(const struct program *program, enum host_role role) {
    return index_or_none(program_host_buffer(program, role));
}

static const struct {
    enum host_role found, left;
} carried_roles[PLACE_N_CARRIED] = {
    [PLACE_LOSS_SCALE] = {HOST_LOSS_SCALE, HOST_NEXT_LOSS_SCALE},
    [PLACE_GOOD_STEPS] = {HOST_GOOD_STEPS, HOST_NEXT_GOOD_STEPS},
    [PLACE_UPDATES] = {HOST_UPDATES, HOST_NEXT_UPDATES},
};

static void find_wellknown(const struct program *program, struct place_wellknown *out) {
    out->tokens = host_buffer(program, HOST_TOKENS);
    out->targets = host_buffer(program, HOST_TARGETS);
    out->step = host_buffer(program, HOST_STEP);
    out->loss = host_buffer(program, HOST_LOSS);
    out->grad_norm = host_buffer(program, HOST_GRAD_NORM);
    out->learning_rate = host_buffer(program, HOST_LEARNING_RATE);
    // An activation in training; evaluation leaves it behind for the host
    // (passes/schedule/lifetimes.c).
    out->logits = host_buffer(program, HOST_LOGITS);
    out->samples = host_buffer(program, HOST_SAMPLES);
    out->microbatch = host_buffer(program, HOST_MICROBATCH);
    out->layer = host_buffer(program, HOST_LAYER);
    out->draw_key = host_buffer(program, HOST_DRAW_KEY);
    out->scale = host_buffer(program, HOST_SCALE);
    for (int i = 0; i < PLACE_N_CARRIED; i++) {
        out->found[i] = host_buffer(program, carried_roles[i].found);
        out->left[i] = host_buffer(program, carried_roles[i].left);
    }
}

// ---- statements -------------------------------------------------------------------------------

struct describer {
    struct arena *arena;
    const struct job *job;
    const struct source_files *sources;
    struct place_statement *statements;
};

// Statements that a pass made carry the span of their cause; some have none, and line 0.
static void describe_statement(struct describer *d, uint32_t id, struct span span, const char *text,
                               int depth) {
    struct source_place at = source_place(d->sources, span);
    d->statements[id] = (struct place_statement){.file = at.file ? at.file : "",
                                                 .line = (int32_t)at.line,
                                                 .column = (int32_t)at.column,
                                                 .text = text,
                                                 .depth = depth};
}

// An op's text names its unit: a failing call inside it says which one.
static void describe_ops(struct describer *d, const struct unit *unit) {
    for (uint32_t i = 0; i < unit->n_ops; i++) {
        const struct op *op = &unit->ops[i];
        const char *text = op_rows[op->kind].text;
        struct exchange exchange;
        if (op_exchange(op, &exchange)) {
            text = arena_format(d->arena, "%s %s", text,
                                mesh_axes_text(&d->job->mesh, &exchange.axes, d->arena));
        }
        describe_statement(d, op->id, op->span,
                           arena_format(d->arena, "%s in %s", text, unit->name), 0);
    }
}

static const char *statement_text(struct describer *d, const struct program *program,
                                  const struct step *step, const struct statement *s) {
    switch (s->kind) {
    case STATEMENT_LOOP:
        return arena_format(d->arena, "for %s", s->loop.name);
    case STATEMENT_CALL:
        return arena_format(d->arena, "call %s", program->job->units[s->call.unit].name);
    case STATEMENT_START:
        if (is_copy(&s->start))
            return arena_format(d->arena, "copy %s", step->handles[s->start.handle].name);
        return arena_format(d->arena, "%s %s", collective_names[s->start.exchange.kind],
                            mesh_axes_text(&d->job->mesh, &s->start.exchange.axes, d->arena));
    case STATEMENT_WAIT:
        return arena_format(d->arena, "wait %s", step->handles[s->wait.handle].name);
    case STATEMENT_ZERO:
        return arena_format(d->arena, "zero %s", program->buffers[s->zero.buffer].name);
    case STATEMENT_TASK:
        if (s->task.kind == N_TASK_KINDS)
            return "task end";
        return arena_format(d->arena, "task %c %" PRIu32, task_letters[s->task.kind],
                            s->task.stage);
    default:
        return arena_format(d->arena, s->free.n_items > 1 ? "free %s, ..." : "free %s",
                            program->buffers[s->free.items[0].buffer].name);
    }
}

static void describe_steps(struct describer *d, const struct program *program) {
    for (int s = 0; s < N_STEPS; s++) {
        const struct step *step = &program->steps[s];
        struct statement_walk walk = walk_statements(&step->body);
        while (walk_next(&walk))
            describe_statement(d, walk.statement->id, walk.statement->span,
                               statement_text(d, program, step, walk.statement), walk.depth);
    }
}

// As many as labels of tasks tell apart.
static int32_t stages_of(const struct job *job) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < job->n_programs; i++)
        for (int kind = 0; kind < N_STEPS; kind++) {
            struct statement_walk walk = walk_statements(&job->programs[i]->steps[kind].body);
            while (walk_next(&walk)) {
                const struct statement *s = walk.statement;
                if (s->kind == STATEMENT_TASK && s->task.kind != N_TASK_KINDS && s->task.stage >= n)
                    n = s->task.stage + 1;
            }
        }
    return (int32_t)n;
}

static void describe_statements(struct arena *arena, const struct job *job,
                                const struct source_files *sources, struct place_program *out) {
    struct describer d = {arena, job, sources,
                          ARENA_ARRAY(arena, struct place_statement, job->n_ids)};
    for (uint32_t u = 0; u < job->n_units; u++)
        describe_ops(&d, &job->units[u]);
    for (uint32_t i = 0; i < job->n_programs; i++)
        describe_steps(&d, job->programs[i]);
    out->n_statements = (int32_t)job->n_ids;
    out->statements = d.statements;
}

// ---- groups -----------------------------------------------------------------------------------

static void describe_groups(struct arena *arena, const struct job *job, const int64_t *bytes,
                            struct place_program *out) {
    uint32_t n;
    const struct axis_list *lists = job_groups(job, arena, &n);
    struct place_group *groups = ARENA_ARRAY(arena, struct place_group, n + 1);
    for (uint32_t i = 0; i < n; i++)
        groups[i] = (struct place_group){.axes = describe_axes(&lists[i]),
                                         .name = mesh_axes_text(&job->mesh, &lists[i], arena),
                                         .train_bytes = bytes ? bytes[i] : 0};
    out->n_groups = (int32_t)n;
    out->groups = groups;
}

// ---- what is relaxed --------------------------------------------------------------------------

// One for each condition that a statement gives up.
static void describe_relaxed(struct arena *arena, const struct descriptor_facts *facts,
                             struct place_program *out) {
    const struct strategy_config *strategy = &facts->config->strategy;
    struct place_relaxed *relaxed =
        ARENA_ARRAY(arena, struct place_relaxed, strategy->n_relaxations * N_CONDITIONS + 1);
    for (uint32_t i = 0; i < strategy->n_relaxations; i++) {
        const struct relax_statement *relax = &strategy->relaxations[i];
        for (int condition = 0; condition < N_CONDITIONS; condition++)
            if (relax->conditions[condition])
                relaxed[out->n_relaxed++] = (struct place_relaxed){
                    .condition = condition_names[condition],
                    .axes = describe_axes(&relax->axes),
                    .line =
                        (int32_t)source_place(facts->sources, origin_span(&relax->origin)).line};
    }
    out->relaxed = relaxed;
}

// ---- the whole --------------------------------------------------------------------------------

// 6 per parameter and token, forward and backward: the figure that rates of training are given in.
static double flops_per_token(const struct job *job) {
    double parameters = 0;
    for (uint32_t i = 0; i < job->n_tensors; i++) {
        const struct tensor *tensor = &job->tensors[i];
        double copies = tensor->layers ? (double)tensor->layers : 1;
        parameters += copies * (double)tensor_elements(tensor);
    }
    return 6 * parameters;
}

// The first step at which a schedule that ends at 0 has ended; 0: none does.
static int64_t rate_ends(const struct job *job) {
    int64_t first = 0;
    for (uint32_t u = 0; u < job->n_units; u++)
        for (uint32_t i = 0; i < job->units[u].n_ops; i++) {
            const struct op *op = &job->units[u].ops[i];
            if (op->kind != OP_LEARNING_RATE || op_rate(op) == RATE_CONSTANT ||
                op_real(op, ATTRIBUTE_MINIMUM, 0) > 0)
                continue;
            int64_t steps = op_integer(op, ATTRIBUTE_STEPS, 0);
            first = !first || steps < first ? steps : first;
        }
    return first;
}

static bool has_product(const struct job *job,
                        bool (*is_such)(const struct job *, const struct unit *,
                                        const struct op *)) {
    for (uint32_t u = 0; u < job->n_units; u++)
        for (uint32_t i = 0; i < job->units[u].n_ops; i++)
            if (is_such(job, &job->units[u], &job->units[u].ops[i]))
                return true;
    return false;
}

static struct place_part describe_part(struct arena *arena, const struct program *program,
                                       const struct place_memory *memory) {
    struct place_part out = {.name = program->part.name,
                             .axes = describe_axes(&program->part.axes),
                             .begin = program->part.begin,
                             .end = program->part.end,
                             .memory = memory ? *memory : (struct place_memory){0}};
    memcpy(out.arena_bytes, program->arena_bytes, sizeof out.arena_bytes);
    describe_buffers(arena, program, &out);
    describe_effects(arena, program, &out);
    find_wellknown(program, &out.wellknown);
    return out;
}

struct place_program *descriptor_make(struct arena *arena, const struct job *job,
                                      const struct descriptor_facts *facts) {
    struct place_program *out = ARENA_NEW(arena, struct place_program);
    struct place_part *parts = ARENA_ARRAY(arena, struct place_part, job->n_programs);
    for (uint32_t i = 0; i < job->n_programs; i++)
        parts[i] = describe_part(arena, job->programs[i], facts->memory ? &facts->memory[i] : NULL);
    *out = (struct place_program){
        .abi_version = PLACE_ABI_VERSION,
        .name = job->name,
        .plan_hash = facts->plan_hash ? facts->plan_hash : text_sum(arena, job_text(job, arena)),
        .model = facts->config ? model_text(arena, &facts->config->model) : NULL,
        .training = facts->config ? training_text(arena, facts->config) : NULL,
        .config_json = facts->config_json,
        .config_unseen = facts->config_unseen,
        .config_lacks = facts->config_lacks,
        .n_handles = (int32_t)handle_count(job),
        .direct_members = LIMIT_DIRECT_MEMBERS,
        .message_bytes = message_room(arena, job),
        .n_stages = stages_of(job),
        .n_parts = (int32_t)job->n_programs,
        .parts = parts,
        .batch = job->sizes.batch,
        .sequence = job->sizes.sequence,
        .microbatches = job->sizes.microbatches,
        .vocab = job->sizes.vocab,
        .islands = describe_axes(&job->policy.islands),
        .average_every = job->policy.average_every,
        .seed = facts->config ? facts->config->train.seed : 0,
        .flops_per_token = flops_per_token(job),
        .rate_ends = rate_ends(job),
        .library_products = has_product(job, is_library_product),
        .bf16_products = has_product(job, is_bf16_product),
        .library_directory = library_directory(arena),
    };
    describe_mesh(arena, &job->mesh, out);
    describe_groups(arena, job, facts->group_bytes, out);
    describe_tensors(arena, job, out);
    describe_statements(arena, job, facts->sources, out);
    if (facts->config)
        describe_relaxed(arena, facts, out);
    return out;
}
