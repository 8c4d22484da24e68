// Partition, the schedule: from a step of the reference program to the step of one device.
//
// Statements stay in their order. Runs of calls that touch the batch become, where there is more
// than one microbatch, the body of a loop over `m`; what they accumulate is zeroed before it and
// summed over the devices after it. Around calls and around that loop stand the hops of routes.
#include "ir/check.h"
#include "passes/layers/layer_groups.h"
#include "passes/partition/partition.h"

// ---- calls ------------------------------------------------------------------------------------

// Lowers the pieces of a call: states are moved around all of them as around a whole call.
static void lower_pieces(struct draft *draft, struct arena *scratch, struct cursor at,
                         const struct cut_call *cut) {
    before_call(draft, at, cut->of);
    for (uint32_t i = 0; i < cut->n_pieces; i++) {
        struct making_call c = begin_call(draft, scratch, at, &cut->pieces[i], cut->of);
        if (cut->rings[i])
            push_ring(draft, &c, cut->rings[i]);
        else
            push_call(draft, &c);
    }
}

static void lower_whole(struct draft *draft, struct arena *scratch, struct cursor at,
                        const struct statement *from) {
    struct making_call c = begin_call(draft, scratch, at, from, from);
    before_call(draft, at, from);
    push_call(draft, &c);
}

static void lower_call(struct draft *draft, struct cursor at, const struct statement *from) {
    const struct cut_call *cut = find_cut_call(draft->plan, from);
    struct arena scratch = {0};
    continue_uses(draft, at, from);
    if (cut)
        lower_pieces(draft, &scratch, at, cut);
    else
        lower_whole(draft, &scratch, at, from);
    arena_free(&scratch);
    behind_call(draft, at, from);
    if (draft->program->job->policy.reproducible)
        sum_squares(draft, at, from);
    behind_update(draft, at, from);
}

// ---- statements -------------------------------------------------------------------------------

static void lower_block(struct draft *draft, struct cursor at, const struct block *block);

// A loop over groups of layers: the outermost of those around a layer.
static bool begins_group(struct cursor at, const struct statement *from) {
    return !at.group && from->loop.body.statements[0].kind == STATEMENT_LOOP;
}

static int64_t first_layer(const struct block *loops) {
    int64_t first = INT64_MAX;
    for (uint32_t i = 0; i < loops->n; i++)
        if (loops->statements[i].loop.begin < first)
            first = loops->statements[i].loop.begin;
    return first;
}

// An iteration goes over one group of layers, unless fewer are gathered at once: then its loops are
// cut in units of these (layers/gather_units.c), and those of one unit that stand side by side are
// the group.
static void lower_groups(struct draft *draft, struct cursor at, const struct statement *from) {
    const struct block *loops = &from->loop.body;
    int64_t first = first_layer(loops);
    int64_t layers =
        layers_taken_at_once(draft->plan->reference, &draft->plan->placement, loops, first);
    bool cut = layers > 1 && layers < loops->statements[0].loop.stride;
    for (uint32_t begin = 0, end; begin < loops->n; begin = end) {
        const struct statement *s = loops->statements;
        for (end = begin + 1;
             end < loops->n && (!cut || (s[end].loop.begin - first) / layers ==
                                            (s[begin].loop.begin - first) / layers);)
            end++;
        struct block group = {&loops->statements[begin], end - begin, 0};
        at.group = &group;
        before_group(draft, at);
        lower_block(draft, at, &group);
    }
}

static void lower_loop(struct draft *draft, struct cursor at, const struct statement *from) {
    struct statement made = loop_like(from);
    struct cursor inside = inside_loop(at, &made);
    inside.layer = from->loop.begin;
    if (begins_group(at, from))
        lower_groups(draft, inside, from);
    else
        lower_block(draft, inside, &from->loop.body);
    if (made.loop.body.n)
        push_statement(draft, at, made);
}

// Zeroing waits until the types of what is added are known.
static void lower_zero(struct draft *draft, struct cursor at, const struct statement *from) {
    struct buffer_state *state = &draft->states[from->zero.buffer];
    CHECK(at.block == &at.step->body &&
          !is_tensor_state(reference_buffer(draft->plan, from->zero)));
    *state = (struct buffer_state){
        .buffer = NO_ID, .type = {.zero = true}, .zero_at = at.block->n, .zero_span = from->span};
}

static void lower_free(struct draft *draft, struct cursor at, const struct statement *from) {
    struct reference *items = ARENA_ARRAY(draft->arena, struct reference, from->free.n_items);
    uint32_t n = 0;
    for (uint32_t i = 0; i < from->free.n_items; i++) {
        struct reference freed = from->free.items[i];
        // Tensors' transients are freed where they were made.
        if (!is_tensor_state(reference_buffer(draft->plan, freed)) &&
            draft->states[freed.buffer].buffer != NO_ID)
            items[n++] = value_reference(draft, at, freed);
    }
    struct statement made = *from;
    made.free.items = items;
    made.free.n_items = n;
    if (n > 0)
        push_statement(draft, at, made);
}

static void lower_statement(struct draft *draft, struct cursor at, const struct statement *from) {
    switch (from->kind) {
    case STATEMENT_LOOP:
        lower_loop(draft, at, from);
        break;
    case STATEMENT_CALL:
        lower_call(draft, at, from);
        break;
    case STATEMENT_ZERO:
        lower_zero(draft, at, from);
        break;
    case STATEMENT_FREE:
        lower_free(draft, at, from);
        break;
    default:
        CHECK(false); // the reference program has no collectives
    }
}

static void lower_block(struct draft *draft, struct cursor at, const struct block *block) {
    for (uint32_t i = 0; i < block->n; i++)
        lower_statement(draft, at_statement(at, block->statements, block->n, i),
                        &block->statements[i]);
}

// ---- tasks of a pipeline ----------------------------------------------------------------------

// A layer of the reference's statement; -1: it is of none.
static int64_t layer_of(const struct plan *plan, const struct statement *from) {
    if (from->kind == STATEMENT_LOOP) {
        int64_t layer = from->loop.begin;
        for (const struct block *body = &from->loop.body;
             body->statements[0].kind == STATEMENT_LOOP; body = &body->statements[0].loop.body)
            layer = body->statements[0].loop.begin + layer * body->statements[0].loop.stride;
        return layer;
    }
    struct access access;
    for (uint32_t i = 0; (access = statement_access(plan->reference, from, i)).at; i++) {
        const struct buffer *buffer = reference_buffer(plan, *access.at);
        int64_t item = access.at->indices[0].offset;
        if (has_way(buffer) && buffer_stack(buffer, STACK_LAYERS))
            return buffer_layer(buffer, item);
    }
    return -1;
}

// The stage that a statement of the reference is of; what is of no part of the model is of the one
// before it.
static uint32_t stage_of(const struct plan *plan, const struct statement *from, uint32_t before) {
    const struct placed_pipeline *pipeline = &plan->placement.pipeline;
    int64_t layer = layer_of(plan, from);
    for (uint32_t i = 0; i < pipeline->n_stages && layer >= 0; i++)
        if (layer >= pipeline->stages[i].begin && layer < pipeline->stages[i].end)
            return i;
    if (from->kind != STATEMENT_CALL)
        return before;
    const struct unit *unit = &plan->reference->job->units[from->call.unit];
    if (unit_has_role(unit, ROLE_EMBEDDING))
        return 0;
    return unit_has_role(unit, ROLE_HEAD) || unit_has_role(unit, ROLE_NORM) ? pipeline->n_stages - 1
                                                                            : before;
}

static bool is_backward(const struct plan *plan, const struct statement *from) {
    return statement_calls(plan->reference->job, from, PHASE_BACKWARD);
}

// Whether all that a statement makes is gradients of parameters, but for what updates make of them there.
static bool makes_weights(const struct plan *plan, const struct statement *from) {
    const struct block one = {(struct statement *)from, 1, 1};
    struct statement_walk walk = walk_statements(&one);
    while (walk_next(&walk)) {
        const struct statement *s = walk.statement;
        bool updates = s->kind == STATEMENT_CALL &&
                       plan->reference->job->units[s->call.unit].phase == PHASE_UPDATE;
        struct access access;
        for (uint32_t i = 0; !updates && (access = statement_access(plan->reference, s, i)).at; i++)
            if (access.written && reference_buffer(plan, *access.at)->class != CLASS_GRADIENTS)
                return false;
    }
    return true;
}

static enum task_kind kind_of(const struct plan *plan, const struct statement *from,
                              enum task_kind before) {
    if (!is_backward(plan, from))
        return before;
    if (!plan->placement.pipeline.schedule->splits_backward)
        return TASK_BACKWARD;
    return makes_weights(plan, from) ? TASK_WEIGHTS : TASK_INPUTS;
}

// Writes in front of what a statement becomes whose task it is, where that is another than the one
// before it. `passes/stages` makes the programs of the pipeline's ranks of it.
static void push_label(struct draft *draft, struct cursor at, const struct statement *from,
                       struct task_label *task) {
    const struct task_label before = *task;
    task->stage = stage_of(draft->plan, from, before.stage);
    task->kind = kind_of(draft->plan, from, before.kind);
    if (at.block->n && task->stage == before.stage && task->kind == before.kind)
        return;
    push_statement(draft, at,
                   (struct statement){.kind = STATEMENT_TASK, .span = from->span, .task = *task});
}

// Whether layers are computed there.
static bool is_of_layers(const struct statement *statements, uint32_t n) {
    for (uint32_t i = 0; i < n; i++)
        if (statements[i].kind == STATEMENT_LOOP)
            return true;
    return false;
}

// Scalars that a loop over microbatches adds up the devices of one stage alone have.
static void leave_to_stages(struct draft *draft, const struct statement *statements, uint32_t n) {
    const struct plan *plan = draft->plan;
    const struct block block = {(struct statement *)statements, n, n};
    struct statement_walk walk = walk_statements(&block);
    while (walk_next(&walk)) {
        struct access access;
        for (uint32_t i = 0; (access = statement_access(plan->reference, walk.statement, i)).at;
             i++) {
            const struct buffer *buffer = reference_buffer(plan, *access.at);
            if (access.written && buffer->rank == 0)
                draft->states[access.at->buffer].type.partial |= plan->pipeline_axes;
        }
    }
}

// ---- microbatches -----------------------------------------------------------------------------

// What was accumulated is whole once the loop has ended.
static void discharge_time(struct draft *draft) {
    for (uint32_t i = 0; i < draft->plan->reference->n_buffers; i++)
        draft->states[i].type.partial &= ~(UINT64_C(1) << draft->plan->time);
}

// The body is made first, because it shows what has to be zeroed and gathered before it.
static void lower_microbatches(struct draft *draft, struct cursor at,
                               const struct statement *statements, uint32_t n) {
    const struct plan *plan = draft->plan;
    struct span span = plan->config->train.microbatch_origin.span;
    struct statement made = {.kind = STATEMENT_LOOP,
                             .span = span,
                             .loop = {.name = "m", .end = plan->placement.microbatches}};
    struct cursor inside = inside_loop(at, &made);
    inside.in_microbatch = true;
    bool labels = plan->pipeline_axes && is_of_layers(statements, n);
    struct task_label task = {.kind = TASK_FORWARD, .microbatch = index_variable(0, 0, 0)};
    bool carries = levels_of_counter(plan) > 0;
    for (uint32_t i = 0; i < n; i++) {
        // What forward adds up is carried in its last task.
        if (labels && carries && is_backward(plan, &statements[i])) {
            carry_scalars(draft, inside, span);
            carries = false;
        }
        if (labels)
            push_label(draft, inside, &statements[i], &task);
        lower_statement(draft, at_statement(inside, statements, n, i), &statements[i]);
    }
    if (carries)
        carry_scalars(draft, inside, span);
    push_zeroes(draft, at, span);
    before_microbatches(draft, at, statements, n);
    push_statement(draft, at, made);
    discharge_time(draft);
    leave_to_stages(draft, statements, n);
    behind_microbatches(draft, at, statements, n);
}

// ---- the step ---------------------------------------------------------------------------------

// Results that the host reads are sums over all devices, even if no call has read them.
static void finish_outputs(struct draft *draft, struct cursor at) {
    for (uint32_t i = 0; i < draft->plan->reference->n_buffers; i++)
        if (draft->plan->reference->buffers[i].class == CLASS_OUTPUT &&
            draft->states[i].type.partial)
            finish_sum(draft, at, i);
}

// Behind the statements of a microbatch that begin there. What an update takes between those of one that is the only
// one belongs to them, too, where stages do them.
static uint32_t end_of_microbatch(const struct plan *plan, const struct block *body, uint32_t i) {
    uint32_t end = i;
    while (end < body->n && is_per_microbatch(plan, &body->statements[end]))
        end++;
    bool of_stages = plan->pipeline_axes && is_of_layers(&body->statements[i], end - i);
    for (uint32_t k = end; k < body->n && of_stages; k++)
        if (is_per_microbatch(plan, &body->statements[k]))
            end = k + 1;
    return end;
}

void partition_step(struct draft *draft, enum step_kind kind) {
    const struct plan *plan = draft->plan;
    const struct step *from = &plan->reference->steps[kind];
    struct step *step = &draft->program->steps[kind];
    struct reach reach = find_reach(plan, kind);
    struct cursor at = {
        .step = step, .kind = kind, .block = &step->body, .trips = 1, .reach = &reach};
    *step = (struct step){.present = true, .span = from->span};
    begin_routes(draft, at);
    if (kind == STEP_AVERAGE)
        begin_average(draft);
    const struct statement *statements = from->body.statements;
    for (uint32_t i = 0; i < from->body.n;) {
        uint32_t end = end_of_microbatch(plan, &from->body, i);
        bool many = end > i && (plan->placement.microbatches > 1 || plan->pipeline_axes);
        end = many ? end : i + 1;
        if (many)
            lower_microbatches(draft, at, &statements[i], end - i);
        else
            lower_statement(draft, at_statement(at, statements, from->body.n, i), &statements[i]);
        i = end;
    }
    finish_outputs(draft, at);
}
