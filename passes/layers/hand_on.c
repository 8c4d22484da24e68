// Hand on: what one unit of forward hands on to the next stays whole, although parts of it are kept
// for backward (partitioned checkpoints, `activations.layers : gathered(tp by sequence)`).
//
// Input: the reference program. Output: the same program, in which such a value has two places: a
// transient in which it is handed on, and what is kept for backward. A unit of its own copies from
// one to the other, in front of the call that reads the value.
//
//   for l = 0 .. 4 { call block_forward(x = hidden[l]) -> (y = hidden[l+1]) }
// becomes
//   for l = 0 .. 4 {
//     call keep_hidden(x = handed.hidden[l mod 2]) -> (y = hidden[l])
//     call block_forward(x = handed.hidden[l mod 2]) -> (y = handed.hidden[l+1 mod 2])
//   }
//
// Without that the next call would gather what the one before had whole. It costs no more memory
// than one item that is handed on: a call that gathers has it whole, too. Where backward follows
// forward at once (the head) it reads what was handed on. Layers that are recomputed several at
// once hand on in slots already (recompute_groups.c), of which nothing is kept.
#include <string.h>

#include "ir/check.h"
#include "passes/passes.h"
#include "passes/placement/work.h"
#include "passes/reference/emit.h"

// What the training step says of a buffer.
struct handed {
    // The writer in the innermost loop: the result of its unit, the loops around it, plus one (0:
    // there is none), and the first layer of the innermost.
    uint32_t unit, result;
    int depth;
    int64_t layer;
    bool forward;          // calls read it there
    bool by_layer;         // and in backward, in loops,
    bool by_itself;        // or outside of them; but for calls right behind one of forward
    int64_t read, written; // which item calls in loops of forward do, counted from the layer's own
    buffer_id slots;       // where it is handed on; NO_ID: where it is kept, if it is
    uint32_t keep_unit;
};

struct hander {
    struct program *program;
    struct placement placement;
    struct handed *handed; // by buffers
    bool trains;           // the step that is changed does
};

static bool is_call_of(const struct hander *h, const struct statement *s, enum phase phase) {
    return s->kind == STATEMENT_CALL && h->program->job->units[s->call.unit].phase == phase;
}

static bool reads(const struct hander *h, const struct statement *s, buffer_id buffer) {
    for (uint32_t i = 0; i < h->program->job->units[s->call.unit].n_parameters; i++)
        if (s->call.operands[i].buffer == buffer)
            return true;
    return false;
}

// Is statement `i` a call in backward right behind one in forward that reads the buffer as well?
static bool reads_at_once(const struct hander *h, const struct block *block, uint32_t i,
                          buffer_id buffer) {
    return i > 0 && is_call_of(h, &block->statements[i - 1], PHASE_FORWARD) &&
           reads(h, &block->statements[i - 1], buffer);
}

// ---- which buffers ----------------------------------------------------------------------------

static void note_writer(struct hander *h, const struct call *call, uint32_t result, int depth,
                        int64_t layer) {
    struct handed *handed = &h->handed[call->results[result].buffer];
    const struct unit *unit = &h->program->job->units[call->unit];
    if (unit->phase != PHASE_FORWARD || depth <= handed->depth)
        return;
    handed->unit = call->unit;
    handed->result = result;
    handed->depth = depth;
    handed->layer = layer;
    handed->written = call->results[result].indices[0].offset;
}

static void note_reader(struct hander *h, const struct block *block, uint32_t i, uint32_t operand) {
    const struct call *call = &block->statements[i].call;
    struct reference at = call->operands[operand];
    struct handed *handed = &h->handed[at.buffer];
    bool forward = h->program->job->units[call->unit].phase == PHASE_FORWARD;
    handed->forward |= forward;
    if (forward && at.indices[0].variable >= 0)
        handed->read = at.indices[0].offset;
    if (!forward && !reads_at_once(h, block, i, at.buffer))
        *(at.indices[0].variable >= 0 ? &handed->by_layer : &handed->by_itself) = true;
}

static void note_block(struct hander *h, const struct block *block, int depth, int64_t layer) {
    for (uint32_t i = 0; i < block->n; i++) {
        const struct statement *s = &block->statements[i];
        if (s->kind == STATEMENT_LOOP)
            note_block(h, &s->loop.body, depth + 1, s->loop.begin);
        if (s->kind != STATEMENT_CALL)
            continue;
        const struct unit *unit = &h->program->job->units[s->call.unit];
        for (uint32_t k = 0; k < unit->n_parameters; k++)
            note_reader(h, block, i, k);
        for (uint32_t k = 0; k < unit->n_results; k++)
            note_writer(h, &s->call, k, depth + 1, layer);
    }
}

static bool lies_otherwise(const struct hander *h, const struct handed *handed) {
    const struct unit *unit = &h->program->job->units[handed->unit];
    struct axis_list kept[MAX_RANK], whole[MAX_RANK];
    if (!work_cuts_of_result(&h->placement, unit, handed->result, handed->layer, true, kept) ||
        !work_cuts_of_result(&h->placement, unit, handed->result, handed->layer, false, whole))
        return false;
    for (unsigned d = 0; d < unit->values[unit->results[handed->result].value].type.rank; d++)
        if (!axis_list_equal(&kept[d], &whole[d]))
            return true;
    return false;
}

static bool is_to_hand_on(const struct hander *h, buffer_id id) {
    const struct handed *handed = &h->handed[id];
    return h->program->buffers[id].class == CLASS_ACTIVATIONS && handed->depth > 0 &&
           handed->forward && handed->by_layer && !handed->by_itself && lies_otherwise(h, handed);
}

// ---- two places -------------------------------------------------------------------------------

// Adds the buffer in which a value is handed on. From one layer to the next it takes two slots, one
// to read while the other is written; and nobody keeps what the last layer hands on.
static void add_slots(struct hander *h, buffer_id id) {
    struct handed *handed = &h->handed[id];
    const struct unit *unit = &h->program->job->units[handed->unit];
    struct buffer slots = h->program->buffers[id];
    bool onwards = handed->written > handed->read;
    value_id value = unit->results[handed->result].value;
    handed->keep_unit =
        add_copying_unit(h->program, "keep", &slots, unit_producer(unit, value), PHASE_FORWARD);
    slots.name = arena_format(h->program->arena, "handed.%s", slots.name);
    slots.class = CLASS_TRANSIENT;
    slots.stacks = stacked_in_slots(onwards ? 2 : 1);
    handed->slots = program_add_buffer(h->program, slots);
    if (onwards)
        h->program->buffers[id].stacks.list[0].count--;
}

static void refer_to_slot(const struct hander *h, struct reference *at) {
    const struct buffer *slots = &h->program->buffers[h->handed[at->buffer].slots];
    at->buffer = h->handed[at->buffer].slots;
    at->indices[0] = index_in_slots(at->indices[0], buffer_items(slots));
}

// The copy for backward, in front of the first call of a block that reads it.
static void push_keep(struct hander *h, struct block *made, const struct statement *reader,
                      struct reference kept) {
    struct reference from = kept;
    uint32_t unit = h->handed[kept.buffer].keep_unit;
    for (uint32_t i = 0; i < made->n; i++)
        if (made->statements[i].kind == STATEMENT_CALL && made->statements[i].call.unit == unit)
            return;
    refer_to_slot(h, &from);
    struct call call = {.unit = unit,
                        .operands = arena_copy(h->program->arena, &from, sizeof from),
                        .results = arena_copy(h->program->arena, &kept, sizeof kept)};
    block_push(h->program->arena, made,
               (struct statement){.kind = STATEMENT_CALL, .span = reader->span, .call = call});
}

static bool is_handed_on(const struct hander *h, buffer_id id) {
    return h->handed[id].slots != NO_ID;
}

static void hand_on_in_call(struct hander *h, struct block *made, const struct block *block,
                            uint32_t i) {
    struct statement s = block->statements[i];
    const struct unit *unit = &h->program->job->units[s.call.unit];
    bool forward = unit->phase == PHASE_FORWARD;
    struct call from = s.call;
    s.call.operands =
        arena_copy(h->program->arena, from.operands, unit->n_parameters * sizeof *from.operands);
    s.call.results =
        arena_copy(h->program->arena, from.results, unit->n_results * sizeof *from.results);
    for (uint32_t k = 0; k < unit->n_parameters; k++) {
        struct reference at = from.operands[k];
        if (!is_handed_on(h, at.buffer) || !(forward || reads_at_once(h, block, i, at.buffer)))
            continue;
        if (forward && h->trains && at.indices[0].variable >= 0)
            push_keep(h, made, &s, at);
        refer_to_slot(h, &s.call.operands[k]);
    }
    for (uint32_t k = 0; k < unit->n_results && forward; k++)
        if (is_handed_on(h, from.results[k].buffer))
            refer_to_slot(h, &s.call.results[k]);
    block_push(h->program->arena, made, s);
}

static void hand_on_in_block(struct hander *h, struct block *block) {
    struct block made = {0};
    for (uint32_t i = 0; i < block->n; i++) {
        if (block->statements[i].kind == STATEMENT_CALL) {
            hand_on_in_call(h, &made, block, i);
            continue;
        }
        struct statement s = block->statements[i];
        if (s.kind == STATEMENT_LOOP)
            hand_on_in_block(h, &s.loop.body);
        block_push(h->program->arena, &made, s);
    }
    *block = made;
}

bool hand_on(struct job *job, const struct pass_context *context) {
    struct program *program = job_only(job);
    uint32_t n = program->n_buffers;
    bool any = false;
    struct hander h = {.program = program,
                       .handed = ARENA_ARRAY(program->arena, struct handed, n + 1)};
    if (!placement_for(program, context, &h.placement))
        return false;
    note_block(&h, &program->steps[STEP_TRAIN].body, 0, 0);
    for (buffer_id id = 0; id < n; id++) {
        h.handed[id].slots = NO_ID;
        if (!is_to_hand_on(&h, id))
            continue;
        add_slots(&h, id);
        any = true;
    }
    for (int kind = 0; kind < N_STEPS && any; kind++) {
        h.trains = kind == STEP_TRAIN;
        hand_on_in_block(&h, &program->steps[kind].body);
    }
    job_number(program->job);
    return true;
}
