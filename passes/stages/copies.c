// Stages, copies: buffers and statements of the whole program as they are in a rank's.
#include <string.h>

#include "ir/check.h"
#include "passes/stages/stages.h"

// ---- buffers ----------------------------------------------------------------------------------

static buffer_id add_copy(struct making_part *m, struct buffer copy) {
    if (copy.window_of != NO_ID)
        copy.window_of = copy_on_rank(m, copy.window_of);
    return program_add_buffer(m->part, copy);
}

// The host reads what a step says of all in one part, that of the last stage, which has the logits, too; what it
// gives to the next step again each part has.
static struct buffer told_by_last(const struct making_part *m, struct buffer buffer) {
    bool given_again = buffer.host == HOST_NEXT_LOSS_SCALE || buffer.host == HOST_NEXT_GOOD_STEPS ||
                       buffer.host == HOST_NEXT_UPDATES;
    bool is_last = m->rank == rank_of_stage(m->s, m->s->pipeline->n_stages - 1);
    if (buffer.class == CLASS_OUTPUT && !given_again && !is_last) {
        buffer.class = CLASS_TRANSIENT;
        buffer.host = HOST_NONE;
    }
    return buffer;
}

// One of several sums of a level that wait, or else the only copy.
static buffer_id copy_in_slot(struct making_part *m, buffer_id of, unsigned slot) {
    struct split_buffer *buffer = &m->s->buffers[of];
    for (const struct rank_copy *copy = buffer->copies; copy; copy = copy->next)
        if (copy->rank == m->rank && copy->slot == slot)
            return copy->copy;
    struct buffer copy = told_by_last(m, m->s->whole->buffers[of]);
    if (slot > 0)
        copy.name = arena_format(m->s->arena, "%s.%u", copy.name, slot);
    const struct rank_copy made = {m->rank, slot, add_copy(m, copy), buffer->copies};
    buffer->copies = arena_copy(m->s->scratch, &made, sizeof made);
    return made.copy;
}

buffer_id copy_on_rank(struct making_part *m, buffer_id of) {
    return copy_in_slot(m, of, 0);
}

// Whether another stage of the rank has one, too.
static bool is_one_of_several(const struct making_part *m, buffer_id of, uint32_t stage) {
    for (const struct stage_use *use = m->s->buffers[of].uses; use; use = use->next)
        if (!use->home && use->stage != stage && rank_of_stage(m->s, use->stage) == m->rank)
            return true;
    return false;
}

// What the host reads of an evaluation, of which training has several in flight, are two buffers.
static bool is_told(const struct making_part *m, buffer_id of, const struct stage_use *use) {
    return use->in_flight > 1 && m->s->whole->buffers[of].host != HOST_NONE &&
           m->kind == STEP_EVALUATE;
}

// Whether the stage has a use for one slot alone, as of what it hands on to the next. The slot of what has an owner says
// whose it is.
static bool has_one_slot(const struct making_part *m, buffer_id of, const struct stage_use *use) {
    return use->first_slot == use->last_slot && m->s->whole->buffers[of].layout.owners.n == 0 &&
           !m->s->buffers[buffer_whole(m->s->whole, of)].has_windows;
}

static buffer_id copy_of_stage(struct making_part *m, buffer_id of, struct stage_use *use) {
    struct buffer copy = m->s->whole->buffers[of];
    if (is_told(m, of, use))
        return use->told = use->told != NO_ID ? use->told : add_copy(m, copy);
    if (use->copy != NO_ID)
        return use->copy;
    if (use->in_flight > 1 && copy.host != HOST_NONE) {
        copy.name = name_with(m->s->arena, copy.name, ".kept");
        copy.host = HOST_NONE;
    }
    int layers = buffer_find_stack(&copy, STACK_LAYERS);
    int slots = buffer_find_stack(&copy, STACK_SLOTS);
    if (is_one_of_several(m, of, use->stage) || m->s->buffers[of].is_again)
        copy.name = arena_format(m->s->arena, "%s.%u", copy.name, use->stage);
    if (layers >= 0) {
        struct stack *stack = &copy.stacks.list[layers];
        stack->first_layer = buffer_layer(&copy, use->first);
        stack->count = use->last - use->first + 1;
    }
    if (slots >= 0 && has_one_slot(m, of, use))
        copy.stacks.list[slots].count = 1;
    if (use->in_flight > 1) {
        CHECK(copy.stacks.n < MAX_STACKS);
        memmove(copy.stacks.list + 1, copy.stacks.list, copy.stacks.n * sizeof *copy.stacks.list);
        copy.stacks.list[0] = (struct stack){.kind = STACK_IN_FLIGHT, .count = use->in_flight};
        copy.stacks.n++;
    }
    return use->copy = add_copy(m, copy);
}

// A window lies in what the stage has of its whole.
static buffer_id window_of_stage(struct making_part *m, buffer_id of, struct stage_use *use) {
    const struct buffer *window = &m->s->whole->buffers[of];
    struct buffer copy = *window;
    copy.window_of = copy_of_stage(m, window->window_of, use);
    copy.stacks = m->part->buffers[copy.window_of].stacks;
    if (is_one_of_several(m, window->window_of, use->stage) ||
        m->s->buffers[window->window_of].is_again)
        copy.name = arena_format(m->s->arena, "%s.%u", copy.name, use->stage);
    buffer_id made = program_find_buffer(m->part, copy.name);
    return made != NO_ID ? made : program_add_buffer(m->part, copy);
}

// What the stage's tasks have of it, or, of a window, of its whole; NULL: there is one on the rank.
static struct stage_use *use_in_task(const struct making_part *m, buffer_id of, uint32_t stage) {
    buffer_id whole = buffer_whole(m->s->whole, of);
    if (passes_on(&m->s->buffers[whole]))
        return home_of(find_use(m->s, whole, stage));
    return passes_on(&m->s->buffers[of]) ? home_of(find_use(m->s, of, stage)) : NULL;
}

static buffer_id copy_in_task(struct making_part *m, buffer_id of, struct stage_use *use) {
    buffer_id whole = buffer_whole(m->s->whole, of);
    if (!use)
        return copy_on_rank(m, of);
    return whole != of && passes_on(&m->s->buffers[whole]) ? window_of_stage(m, of, use)
                                                           : copy_of_stage(m, of, use);
}

// ---- references -------------------------------------------------------------------------------

static struct index index_in_task(const struct moment *at, struct index index) {
    if (index.variable == 0)
        return microbatch_at(at, index.offset, index.modulus);
    if (index.variable > 0)
        index.variable += at->depth - 1;
    return index;
}

// A number alone needs no modulus.
static struct index settled(struct index index) {
    if (index.variable < 0 && index.modulus)
        return index_constant(index.offset % index.modulus);
    return index;
}

struct reference reference_in_task(struct making_part *m, uint32_t stage, const struct moment *at,
                                   struct reference r) {
    const struct buffer *of = &m->s->whole->buffers[r.buffer];
    const struct split_buffer *split = &m->s->buffers[r.buffer];
    struct reference made = {.buffer = NO_ID};
    unsigned n = 0;
    struct stage_use *use = use_in_task(m, r.buffer, stage);
    for (unsigned i = 0; i < MAX_STACKS; i++)
        made.indices[i] = index_constant(0);
    made.buffer = split->waits ? copy_in_slot(m, r.buffer, at->joins->slots[split->level])
                               : copy_in_task(m, r.buffer, use);
    if (use && use->in_flight > 1 && !is_told(m, r.buffer, use))
        made.indices[n++] = settled(microbatch_at(at, 0, use->in_flight));
    for (unsigned i = 0; i < of->stacks.n; i++) {
        struct index index = index_in_task(at, r.indices[i]);
        if (of->host == HOST_MICROBATCH && at->joins->number)
            index = index_constant(at->joins->number - 1);
        if (use && of->stacks.list[i].kind == STACK_LAYERS)
            index = index_moved(index, -use->first);
        if (use && of->stacks.list[i].kind == STACK_SLOTS && has_one_slot(m, r.buffer, use))
            index = index_constant(0);
        made.indices[n++] = settled(index);
    }
    return made;
}

// ---- statements -------------------------------------------------------------------------------

uint32_t handle_in_part(struct making_part *m, const char *name, int64_t slots) {
    uint32_t handle = step_find_handle(m->step, name);
    return handle != NO_ID ? handle : step_add_handle(m->s->arena, m->step, name, slots);
}

static uint32_t handle_like(struct making_part *m, uint32_t of) {
    const struct handle *handle = &m->s->whole->steps[m->kind].handles[of];
    return handle_in_part(m, handle->name, handle->slots);
}

// Refers in a copy of a statement, and in what stands in it, to what the part has. `at`: of a task; NULL: outside.
static void refer(struct making_part *m, uint32_t stage, const struct moment *at,
                  struct statement *copy) {
    struct access access;
    for (uint32_t i = 0; (access = statement_access(m->s->whole, copy, i)).at; i++) {
        if (copy->kind == STATEMENT_CALL && access.written) {
            const struct unit *unit = &m->s->whole->job->units[copy->call.unit];
            uint32_t in = unit->results[i - unit->n_parameters].in_parameter;
            if (in != NO_ID) {
                *access.at = copy->call.operands[in];
                continue;
            }
        }
        if (at)
            *access.at = reference_in_task(m, stage, at, *access.at);
        else
            access.at->buffer = copy_on_rank(m, access.at->buffer);
    }
    if (copy->kind == STATEMENT_START) {
        copy->start.handle = handle_like(m, copy->start.handle);
        if (at)
            copy->start.handle_index = settled(index_in_task(at, copy->start.handle_index));
    }
    if (copy->kind == STATEMENT_WAIT) {
        copy->wait.handle = handle_like(m, copy->wait.handle);
        if (at)
            copy->wait.index = settled(index_in_task(at, copy->wait.index));
    }
    for (uint32_t i = 0; copy->kind == STATEMENT_LOOP && i < copy->loop.body.n; i++)
        refer(m, stage, at, &copy->loop.body.statements[i]);
}

struct statement statement_in_task(struct making_part *m, uint32_t stage, const struct moment *at,
                                   const struct statement *from) {
    struct statement copy = statement_clone(m->s->arena, m->s->whole, from);
    refer(m, stage, at, &copy);
    return copy;
}

struct statement statement_outside(struct making_part *m, const struct statement *from) {
    struct statement copy = statement_clone(m->s->arena, m->s->whole, from);
    refer(m, 0, NULL, &copy);
    return copy;
}
