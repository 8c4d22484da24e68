// Mistakes of precision on one device alone, or in some iterations of a loop alone, of microbatches or of layers.
#include "tests/oracle/mutate_parts.h"

// ---- in some iterations -----------------------------------------------------------------------

static struct call *choose_call(struct mutant *m, const struct block *block) {
    struct statement_walk walk = walk_statements(block);
    struct call *call, *found = NULL;
    uint32_t n = 0;
    while ((call = walk_next_call(&walk)))
        if (choose(m, ++n) == 0)
            found = call;
    return found;
}

static bool round_in_unit(struct mutant *m, struct unit *unit) {
    struct op_site site = {unit, 0}, at = {unit, 0};
    uint32_t n = 0;
    for (; at.at < unit->n_ops; at.at++)
        if (makes_tensors(unit, op_at(&at)) && choose(m, ++n) == 0)
            site = at;
    return n > 0 && round_result(m, &site);
}

// One half of a loop calls a unit of its own, in which a value is rounded.
bool round_in_half(struct mutant *m) {
    struct job *job = m->program->job;
    struct statement *half;
    struct span span;
    if (!cut_loop(m, &half, &span))
        return false;
    struct call *call = choose_call(m, &half->loop.body);
    if (!call)
        return false;
    uint32_t own =
        job_clone_unit(job, call->unit, name_with(job->arena, job->units[call->unit].name, "_own"));
    program_set_frame(m->program, own, program_frame(m->program, call->unit));
    call->unit = own;
    if (!round_in_unit(m, &job->units[own]))
        return false;
    return touched(m, span, "a value rounded in one half of a loop");
}

// ---- on one device ----------------------------------------------------------------------------

// What the owner has of a buffer's item, in less: behind all else.
static buffer_id add_owned(struct mutant *m, const struct buffer *of) {
    struct program *program = m->program;
    struct buffer own = *of;
    int64_t *arena_bytes = &program->arena_bytes[own.tier];
    own.name = name_with(program->arena, of->name, ".own");
    own.class = CLASS_TRANSIENT;
    own.host = HOST_NONE;
    own.dtype = narrow_type(m);
    own.layout = (struct layout){0};
    own.layout.owners.axes[own.layout.owners.n++] = (uint8_t)choose(m, program->job->mesh.n_axes);
    own.stacks = (struct stacks){0};
    own.window_of = NO_ID;
    own.offset_bytes = (*arena_bytes + 63) / 64 * 64;
    buffer_id id = program_add_buffer(program, own);
    *arena_bytes = own.offset_bytes + buffer_item_bytes(program, &program->buffers[id]);
    return id;
}

static void insert_cast_call(struct mutant *m, const struct site *site, const char *name,
                             struct reference from, struct reference to) {
    struct program *program = m->program;
    struct arena *arena = program->arena;
    struct span span = statement_at(site)->span;
    uint32_t id = job_add_unit(program->job, name, span);
    struct unit *unit = &program->job->units[id];
    struct value result = {.name = "y",
                           .type = buffer_type(program, &program->buffers[to.buffer]),
                           .storage = STORAGE_RESULT,
                           .offset_bytes = -1};
    value_id x = unit_add_parameter(arena, unit, "x",
                                    buffer_type(program, &program->buffers[from.buffer]), false);
    value_id y = unit_add_value(arena, unit, result);
    unit_add_result(arena, unit, y, NO_ID);
    unit->frame_bytes = 0;
    insert_op(m, unit, 0, cast_op(x, y, span));
    program_set_frame(program, id, NO_ID);
    struct statement call = {.kind = STATEMENT_CALL, .span = span};
    call.call = (struct call){.unit = id,
                              .operands = arena_copy(arena, &from, sizeof from),
                              .results = arena_copy(arena, &to, sizeof to)};
    block_insert(arena, site->block, site->at + 1, call);
}

// What a call makes goes through a narrow type at one device, its owner, and stays as it is at all others.
bool round_at_owner(struct mutant *m) {
    struct site site;
    if (!choose_site(m, CALLS, &site) || m->program->job->mesh.n_axes == 0)
        return false;
    const struct call *call = &statement_at(&site)->call;
    const struct unit *unit = &m->program->job->units[call->unit];
    if (unit->n_results == 0)
        return false;
    struct reference made = call->results[choose(m, unit->n_results)];
    const struct buffer *buffer = &m->program->buffers[made.buffer];
    struct tensor_type type = buffer_type(m->program, buffer);
    if (type.rank == 0 || !dtype_is_floating(type.dtype) || dtype_is_narrow(type.dtype) ||
        buffer->tensor == NO_ID || buffer->layout.owners.n)
        return false;
    struct reference own = {.buffer = add_owned(m, buffer)};
    for (unsigned i = 0; i < MAX_STACKS; i++)
        own.indices[i].variable = -1;
    struct tensor_type owned = buffer_type(m->program, &m->program->buffers[own.buffer]);
    if (type_elements(&owned) != type_elements(&type) || owned.rank != type.rank)
        return false; // a part of the tensor
    touched(m, statement_at(&site)->span, "what a call makes rounded on one device");
    insert_cast_call(m, &site, "from_owner", own, made);
    insert_cast_call(m, &site, "to_owner", made, own);
    return true;
}
