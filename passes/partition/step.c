// Partition, the schedule: from a step of the reference program to the step of one device.
//
// Statements stay in their order. Runs of calls that touch the batch become, where there is more
// than one microbatch, the body of a loop over `m`; what they accumulate is zeroed before it and
// summed over the devices after it. Around calls and around that loop stand the hops of routes.
#include "ir/check.h"
#include "passes/partition/partition.h"

// ---- calls ------------------------------------------------------------------------------------

// In pieces: states are moved around all of them as around a whole call.
static void lower_pieces(struct partitioner *p, struct arena *scratch, struct cursor at,
                         const struct cut_call *cut) {
    before_call(p, at, cut->of);
    for (uint32_t i = 0; i < cut->n_pieces; i++) {
        struct making_call c = begin_call(p, scratch, at, &cut->pieces[i], cut->of);
        if (cut->rings[i])
            push_ring(p, &c, cut->rings[i]);
        else
            push_call(p, &c);
    }
}

static void lower_whole(struct partitioner *p, struct arena *scratch, struct cursor at,
                        const struct statement *from) {
    struct making_call c = begin_call(p, scratch, at, from, from);
    before_call(p, at, from);
    push_call(p, &c);
}

static void lower_call(struct partitioner *p, struct cursor at, const struct statement *from) {
    const struct cut_call *cut = find_cut_call(p, from);
    struct arena scratch = {0};
    if (cut)
        lower_pieces(p, &scratch, at, cut);
    else
        lower_whole(p, &scratch, at, from);
    arena_free(&scratch);
    behind_call(p, at, from);
    if (p->program->job->policy.reproducible)
        sum_squares(p, at, from);
    behind_update(p, at, from);
}

// ---- statements -------------------------------------------------------------------------------

static void lower_block(struct partitioner *p, struct cursor at, const struct block *block);

// A loop over groups of layers: the outermost of those around a layer.
static bool begins_group(struct cursor at, const struct statement *from) {
    return !at.group && from->loop.body.statements[0].kind == STATEMENT_LOOP;
}

static void lower_loop(struct partitioner *p, struct cursor at, const struct statement *from) {
    struct statement made = loop_like(from);
    struct cursor inside = inside_loop(at, &made);
    inside.layer = from->loop.begin;
    if (begins_group(at, from)) {
        inside.group = from;
        before_group(p, inside);
    }
    lower_block(p, inside, &from->loop.body);
    if (made.loop.body.n)
        push_statement(p, at, made);
}

// Zeroing waits until the types of what is added are known.
static void lower_zero(struct partitioner *p, struct cursor at, const struct statement *from) {
    struct buffer_state *state = &p->states[from->zero.buffer];
    CHECK(at.block == &at.step->body && !is_tensor_state(reference_buffer(p, from->zero)));
    *state = (struct buffer_state){
        .buffer = NO_ID, .type = {.zero = true}, .zero_at = at.block->n, .zero_span = from->span};
}

static void lower_free(struct partitioner *p, struct cursor at, const struct statement *from) {
    struct reference *items = ARENA_ARRAY(p->arena, struct reference, from->free.n_items);
    uint32_t n = 0;
    for (uint32_t i = 0; i < from->free.n_items; i++) {
        struct reference freed = from->free.items[i];
        // Tensors' transients are freed where they were made.
        if (!is_tensor_state(reference_buffer(p, freed)) && p->states[freed.buffer].buffer != NO_ID)
            items[n++] = value_reference(p, at, freed);
    }
    struct statement made = *from;
    made.free.items = items;
    made.free.n_items = n;
    if (n > 0)
        push_statement(p, at, made);
}

static void lower_statement(struct partitioner *p, struct cursor at, const struct statement *from) {
    switch (from->kind) {
    case STATEMENT_LOOP:
        lower_loop(p, at, from);
        break;
    case STATEMENT_CALL:
        lower_call(p, at, from);
        break;
    case STATEMENT_ZERO:
        lower_zero(p, at, from);
        break;
    case STATEMENT_FREE:
        lower_free(p, at, from);
        break;
    default:
        CHECK(false); // the reference program has no collectives
    }
}

static void lower_block(struct partitioner *p, struct cursor at, const struct block *block) {
    for (uint32_t i = 0; i < block->n; i++)
        lower_statement(p, at_statement(at, block->statements, block->n, i), &block->statements[i]);
}

// ---- microbatches -----------------------------------------------------------------------------

// What was accumulated is whole once the loop has ended.
static void discharge_time(struct partitioner *p) {
    for (uint32_t i = 0; i < p->reference->n_buffers; i++)
        p->states[i].type.partial &= ~(UINT64_C(1) << p->time);
}

// The body is made first, because it shows what has to be zeroed and gathered before it.
static void lower_microbatches(struct partitioner *p, struct cursor at,
                               const struct statement *statements, uint32_t n) {
    struct span span = p->config->train.microbatch_origin.span;
    struct statement made = {.kind = STATEMENT_LOOP,
                             .span = span,
                             .loop = {.name = "m", .end = p->placement.microbatches}};
    struct cursor inside = inside_loop(at, &made);
    inside.in_microbatch = true;
    for (uint32_t i = 0; i < n; i++)
        lower_statement(p, at_statement(inside, statements, n, i), &statements[i]);
    if (levels_of_counter(p))
        carry_scalars(p, inside, span);
    push_zeroes(p, at, span);
    before_microbatches(p, at, statements, n);
    push_statement(p, at, made);
    discharge_time(p);
    behind_microbatches(p, at, statements, n);
}

// ---- the step ---------------------------------------------------------------------------------

// Results that the host reads are sums over all devices, even if no call has read them.
static void finish_outputs(struct partitioner *p, struct cursor at) {
    for (uint32_t i = 0; i < p->reference->n_buffers; i++)
        if (p->reference->buffers[i].class == CLASS_OUTPUT && p->states[i].type.partial)
            finish_sum(p, at, i);
}

void partition_step(struct partitioner *p, enum step_kind kind) {
    const struct step *from = &p->reference->steps[kind];
    struct step *step = &p->program->steps[kind];
    struct reach reach = find_reach(p, kind);
    struct cursor at = {
        .step = step, .kind = kind, .block = &step->body, .trips = 1, .reach = &reach};
    *step = (struct step){.present = true, .span = from->span};
    begin_routes(p, at);
    if (kind == STEP_AVERAGE)
        begin_average(p);
    const struct statement *statements = from->body.statements;
    for (uint32_t i = 0; i < from->body.n;) {
        uint32_t end = i;
        while (end < from->body.n && is_per_microbatch(p, &statements[end]))
            end++;
        bool many = end > i && p->placement.microbatches > 1;
        end = many ? end : i + 1;
        if (many)
            lower_microbatches(p, at, &statements[i], end - i);
        else
            lower_statement(p, at_statement(at, statements, from->body.n, i), &statements[i]);
        i = end;
    }
    finish_outputs(p, at);
}
