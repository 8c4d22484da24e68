// Overlap, transfers: what moving them has to know, and copies of what they stand in; see
// overlap.h.
#include "passes/schedule/overlap.h"

// A window and its whole are one, by their bytes.
static bool is_among_pieces(const struct overlapper *o, buffer_id buffer,
                            const struct transfer *transfer) {
    buffer_id id = buffer_whole(o->program, buffer);
    for (uint32_t i = 0; i < transfer->n_pieces; i++)
        if (buffer_whole(o->program, transfer->pieces[i].from.buffer) == id ||
            buffer_whole(o->program, transfer->pieces[i].to.buffer) == id)
            return true;
    return false;
}

bool touches(const struct overlapper *o, const struct statement *s,
             const struct transfer *transfer) {
    if (s->kind == STATEMENT_LOOP) {
        for (uint32_t i = 0; i < s->loop.body.n; i++)
            if (touches(o, &s->loop.body.statements[i], transfer))
                return true;
        return false;
    }
    struct access access;
    for (uint32_t i = 0; (access = statement_access(o->program, s, i)).at; i++)
        if (is_among_pieces(o, access.at->buffer, transfer))
            return true;
    return false;
}

bool prepares_gather(const struct overlapper *o, const struct statement *s) {
    if (s->kind != STATEMENT_CALL)
        return false;
    const struct unit *unit = &o->program->job->units[s->call.unit];
    bool casts = true;
    for (uint32_t i = 0; i < unit->n_ops; i++)
        casts &= unit->ops[i].kind == OP_CAST;
    for (uint32_t i = 0; i < unit->n_parameters; i++) {
        const struct buffer *from = &o->program->buffers[s->call.operands[i].buffer];
        casts &= buffer_is_persistent(from) || from->class == CLASS_TRANSIENT;
    }
    for (uint32_t i = 0; i < unit->n_results; i++) {
        const struct buffer *result = &o->program->buffers[s->call.results[i].buffer];
        casts &= result->class == CLASS_TRANSIENT &&
                 (result->window_of != NO_ID || result->layout.owners.n);
    }
    return casts;
}

bool are_pair(const struct statement *start, const struct statement *wait) {
    return start->kind == STATEMENT_START && wait->kind == STATEMENT_WAIT &&
           start->start.handle == wait->wait.handle;
}

bool is_pair(const struct block *block, uint32_t i) {
    return i + 1 < block->n && are_pair(&block->statements[i], &block->statements[i + 1]);
}

bool brings_ahead(const struct transfer *transfer) {
    return collective_gathers(transfer->exchange.kind) || is_copy(transfer);
}

// A layer's gradient that is taken at once is made right before it is copied. One buffer serves the
// layers of a range, and does not say which range it is.
static bool is_taken_at_once(const struct overlapper *o, const struct buffer *from) {
    return from->class == CLASS_GRADIENTS && o->program->job->tensors[from->tensor].layers > 0 &&
           !buffer_stack(from, STACK_LAYERS);
}

int64_t wanted_prefetch(const struct overlapper *o, const struct transfer *transfer) {
    int64_t wanted = INT64_MAX;
    for (uint32_t i = 0; i < transfer->n_pieces; i++) {
        const struct buffer *from = &o->program->buffers[transfer->pieces[i].from.buffer];
        enum state state = class_states[from->class];
        int64_t prefetch = state == STATE_ACTIVATIONS ? o->placement.activations_prefetch
                           : !is_copy(transfer)       ? storage_of(&o->placement, from)->prefetch
                           : state == N_STATES || is_taken_at_once(o, from)
                               ? 0
                               : copied_for(storage_of(&o->placement, from), state)->prefetch;
        wanted = prefetch < wanted ? prefetch : wanted;
    }
    return wanted;
}

void push_copies(struct overlapper *o, struct block *to, const struct statement *from, uint32_t n) {
    for (uint32_t i = 0; i < n; i++)
        block_push(o->program->arena, to, statement_clone(o->program->arena, o->program, &from[i]));
}

struct transfer_walk walk_transfers(const struct block *block) {
    return (struct transfer_walk){.statements = walk_statements(block)};
}

bool next_transfer(struct transfer_walk *walk) {
    while (walk_next(&walk->statements))
        if (walk->statements.statement->kind == STATEMENT_START) {
            walk->transfer = &walk->statements.statement->start;
            return true;
        }
    return false;
}
