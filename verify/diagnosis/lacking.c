// What is lacking in what an op reads. It is told
//
//   at what cleared too early what was there before; where that had no meaning, because something
//     was added to it before it was there, at that
//   where a part of a job needs what others hold of a sum, and none adds up what they have
//   at the loop that does not go over the layers that are lacking, of those that it names, or where
//     a part gives fewer of them than it has
//   where a summand was added to something else
//   where the sum first goes on without it: the first op, or the call of that, whose sum would be
//     one of the reference's with what is lacking; or the first transfer that brings it, where no
//     op goes on
//   where the sum goes on behind what a part adds to it, if another part makes what is lacking,
//     and behind the message that brought this
#include "verify/diagnosis/cause.h"

#include <inttypes.h>

// Whether an op added the node in a loop, of whatever layer.
static bool adds_in_loop(const struct proof *p, const struct making *making, uint32_t node) {
    for (uint32_t i = 0; is_sum(making) && making->loop && i < making->n_operands; i++) {
        uint32_t operand = making_operand(p->history, making, i);
        if (operand && making_at(p, operand)->value.of.node == node)
            return true;
    }
    return false;
}

// Whether one of those that led to the value did.
static bool was_added_in_loop(struct proof *p, uint32_t made, uint32_t node) {
    struct lineage way = lineage_of(p, made, false);
    for (uint32_t id; (id = lineage_next(&way));)
        if (adds_in_loop(p, making_at(p, id), node))
            return true;
    return false;
}

int64_t layers_of(const struct world *w, struct scaled value, uint32_t node) {
    int64_t n = 0;
    for (uint32_t i = 0; i < n_summands(w, value); i++) {
        struct summand summand = summand_of(w, value, i);
        n += summand.node == node ? summand.end - summand.at : 0;
    }
    return n;
}

const struct statement *empty_loop(const struct block *block) {
    for (uint32_t i = 0; i < block->n; i++) {
        const struct statement *statement = &block->statements[i];
        if (statement->kind != STATEMENT_LOOP)
            continue;
        if (statement->loop.begin >= statement->loop.end)
            return statement;
        const struct statement *inside = empty_loop(&statement->loop.body);
        if (inside)
            return inside;
    }
    return NULL;
}

static const struct statement *empty_loop_of_parts(const struct job *job) {
    const struct statement *loop = NULL;
    for (uint32_t i = 0; i < job->n_programs && !loop; i++)
        loop = empty_loop(&job->programs[i]->steps[STEP_TRAIN].body);
    return loop;
}

// The first summand of the whole of which the part has some layers only.
static bool find_layers(const struct world *w, struct scaled part, struct scaled whole,
                        struct summand *lacks) {
    for (uint32_t i = 0; i < w->terms->nodes[whole.of.node].n_parts; i++) {
        *lacks = sum_part(w->terms, whole, i);
        int64_t n = layers_of(w, part, lacks->node);
        if (n > 0 && n < layers_of(w, whole, lacks->node))
            return true;
    }
    return false;
}

// Whether what was made is a part of a sum only: some summands of one, or a single one of a gradient.
static bool is_part_only(struct proof *p, uint32_t made, struct scaled *part,
                         struct scaled *whole) {
    if (!made)
        return false;
    *part = making_at(p, made)->value;
    return (term_kind(p->world->terms, part->of) == NODE_SUM ||
            readings_gradient_of(p->readings, part->of.node)) &&
           history_whole(p, *part, whole);
}

static bool goes_over(const struct statement *loop, int64_t n) {
    return loop->loop.end - loop->loop.begin >= n;
}

// How many layers the program holds of the tensor's, in however many buffers.
static int64_t layers_of_tensor(const struct program *program, buffer_id of) {
    int64_t n = 0;
    for (buffer_id i = 0; i < program->n_buffers; i++) {
        const struct buffer *buffer = &program->buffers[i];
        const struct stack *layers = buffer_stack(buffer, STACK_LAYERS);
        if (layers && buffer->class == program->buffers[of].class &&
            buffer->tensor == program->buffers[of].tensor && buffer->window_of == NO_ID)
            n += layers->count;
    }
    return n;
}

// The same of tensors of which it has most.
static int64_t layers_held(const struct program *program) {
    int64_t most = 0;
    for (buffer_id i = 0; i < program->n_buffers; i++) {
        int64_t n = class_persistent[program->buffers[i].class] ? layers_of_tensor(program, i) : 0;
        most = n > most ? n : most;
    }
    return most;
}

struct span behind_sum(const struct proof *p, const struct making *reader, uint32_t operand,
                       uint32_t brought) {
    struct span at = reader->span;
    for (uint32_t id = operand; id > brought;) {
        const struct making *making = making_at(p, id);
        if (is_sum(making) || making->recalled || making->n_operands == 0)
            break;
        at = making->span;
        id = making_operand(p->history, making, 0);
    }
    return at;
}

// Whether all parts have summed it.
static bool is_joined(const struct making *making) {
    return making->is_transfer && making->adds_up && making->n_operands > 1;
}

// The last collective that summed what has the node.
static const struct making *last_reduced(struct proof *p, uint32_t made, uint32_t node) {
    struct lineage way = lineage_of(p, made, false);
    for (uint32_t id; (id = lineage_next(&way));) {
        const struct making *making = making_at(p, id);
        if (making->is_transfer && making->adds_up && layers_of(p->world, making->value, node))
            return making;
    }
    return NULL;
}

// How many of the node's layers the part gave to what all parts have joined, on the way to the value;
// NULL: any of them.
static int64_t joined_layers(struct proof *p, uint32_t made, uint32_t node,
                             const struct program *part) {
    int64_t n = 0;
    struct lineage way = lineage_of(p, made, false);
    for (uint32_t id; (id = lineage_next(&way));) {
        const struct making *joined = making_at(p, id);
        for (uint32_t i = 0; is_joined(joined) && i < joined->n_operands; i++) {
            uint32_t given = making_operand(p->history, joined, i);
            if (given && (!part || making_at(p, given)->program == part))
                n += layers_of(p->world, making_at(p, given)->value, node);
        }
    }
    return n;
}

static bool is_given(const struct proof *p, uint32_t made) {
    for (uint32_t id = made + 1; id <= p->history->n; id++) {
        const struct making *joined = making_at(p, id);
        for (uint32_t i = 0; is_joined(joined) && i < joined->n_operands; i++)
            if (making_operand(p->history, joined, i) == made)
                return true;
    }
    return false;
}

// The last collective of the part that summed the node, and that other parts did not join.
static const struct making *summed_alone(const struct proof *p, const struct program *part,
                                         uint32_t node) {
    for (uint32_t id = p->history->n; id > 0; id--) {
        const struct making *making = making_at(p, id);
        if (making->program == part && making->is_transfer && making->adds_up &&
            !is_joined(making) && layers_of(p->world, making->value, node) && !is_given(p, id))
            return making;
    }
    return NULL;
}

// The op of a part is given a sum of all that this part has, which lacks what others have.
static struct fault *part_fault(struct proof *p, const struct making *reader) {
    const struct mesh_part *of = &reader->program->part;
    for (uint32_t i = 0; of->axes.n && i < reader->n_operands; i++) {
        uint32_t operand = making_operand(p->history, reader, i);
        struct scaled part, whole;
        struct summand lacks;
        if (!is_part_only(p, operand, &part, &whole) || !find_layers(p->world, part, whole, &lacks))
            continue;
        if (!was_added_in_loop(p, operand, lacks.node) ||
            layers_of(p->world, part, lacks.node) < layers_held(reader->program))
            continue;
        if (layers_of(p->world, part, lacks.node) <= joined_layers(p, operand, lacks.node, NULL))
            continue;
        const struct making *reduced = summed_alone(p, reader->program, lacks.node);
        struct fault *fault =
            fault_make(p, E412, reduced ? reduced->span : reader->call, NULL,
                       "`%s` is the sum of what part `%s` has of it: no all_reduce over %s adds "
                       "what others have before `%s` uses it",
                       making_at(p, operand)->name, of->name,
                       mask_text(p->world, (uint32_t)axis_list_mask(&of->axes)),
                       op_rows[reader->op->kind].text);
        fault_also(fault, reader->span, "here all of it is needed");
        return fault;
    }
    return NULL;
}

// How many layers the buffers have that are named in the loop; of several the most.
static int64_t layers_named(const struct program *program, const struct statement *loop) {
    int64_t most = 0;
    struct statement_walk walk = walk_statements(&loop->loop.body);
    while (walk_next(&walk)) {
        struct access access;
        for (uint32_t i = 0; (access = statement_access(program, walk.statement, i)).at; i++) {
            const struct stack *layers =
                buffer_stack(&program->buffers[access.at->buffer], STACK_LAYERS);
            most = layers && layers->count > most ? layers->count : most;
        }
    }
    return most;
}

// The last op on the way to the value that added the node in a loop which goes over some of the layers
// only that are there.
static const struct making *added_short(struct proof *p, uint32_t made, uint32_t node,
                                        int64_t all) {
    struct lineage way = lineage_of(p, made, false);
    for (uint32_t id; (id = lineage_next(&way));) {
        const struct making *making = making_at(p, id);
        if (!adds_in_loop(p, making, node))
            continue;
        int64_t named = layers_named(making->program, making->loop);
        if (!goes_over(making->loop, named < all ? named : all))
            return making;
    }
    return NULL;
}

// Where a part gave fewer layers than it has to a sum that all have joined: where it summed alone, or
// where it gave last.
static const struct making *given_short(struct proof *p, uint32_t made, uint32_t node) {
    const struct making *joined = last_reduced(p, made, node), *given = NULL;
    for (uint32_t i = 0; joined && is_joined(joined) && i < joined->n_operands; i++) {
        uint32_t operand = making_operand(p->history, joined, i);
        const struct making *one = operand ? making_at(p, operand) : NULL;
        if (!one || joined_layers(p, made, node, one->program) >= layers_held(one->program))
            continue;
        const struct making *alone = summed_alone(p, one->program, node);
        if (alone)
            return alone;
        given = given ? given : one;
    }
    return given;
}

// The op is given a sum that lacks layers: those that a loop does not go over, or a part does not give.
static struct fault *layers_fault(struct proof *p, const struct making *reader) {
    for (uint32_t i = 0; i < reader->n_operands; i++) {
        uint32_t operand = making_operand(p->history, reader, i);
        struct scaled part, whole;
        struct summand lacks;
        if (!is_part_only(p, operand, &part, &whole) || !find_layers(p->world, part, whole, &lacks))
            continue;
        int64_t all = layers_of(p->world, whole, lacks.node);
        const struct statement *loop = empty_loop_of_parts(reader->program->job);
        const struct making *added = added_short(p, operand, lacks.node, all);
        const struct making *given = given_short(p, operand, lacks.node);
        if (!loop && !added && !given)
            continue;
        struct fault *fault =
            fault_make(p, E412,
                       loop    ? loop->span
                       : added ? added->loop->span
                               : given->span,
                       loop || added ? "it goes over some only" : "this part gives some only",
                       "`%s` has %" PRId64 " of the %" PRId64 " layers' `%s` when `%s` uses it",
                       making_at(p, operand)->name, layers_of(p->world, part, lacks.node), all,
                       term_text(p->world, (struct scaled){{lacks.node, lacks.at}, SCALE_ONE}, 1),
                       op_rows[reader->op->kind].text);
        fault_also(fault, reader->span, "here all are needed");
        return fault;
    }
    return NULL;
}

static bool is_read(const struct proof *p, uint32_t made) {
    for (uint32_t id = made + 1; id <= p->history->n; id++) {
        const struct making *making = making_at(p, id);
        for (uint32_t i = 0; i < making->n_operands; i++)
            if (making_operand(p->history, making, i) == made)
                return true;
    }
    return false;
}

static bool is_clear(const struct making *making) {
    return !making->op && making->n_operands == 0;
}

// What is cleared again and again was cleared by the first of them.
const struct making *clears_unread(const struct proof *p, const struct making *making) {
    if (!is_clear(making))
        return NULL;
    while (making->replaces && making->is_unchanged && is_clear(making_at(p, making->replaces)))
        making = making_at(p, making->replaces);
    bool unread = making->replaces && !making->is_unchanged && !is_read(p, making->replaces);
    return making->hides || unread ? making : NULL;
}

const struct making *clearing(struct proof *p, uint32_t made, bool in_time) {
    struct lineage way = lineage_of(p, made, true);
    for (uint32_t id; (id = lineage_next(&way));) {
        const struct making *making = making_at(p, id), *first = clears_unread(p, making);
        if (in_time ? is_clear(making) && making->time_loop : first != NULL)
            return in_time ? making : first;
    }
    return NULL;
}

// Whether the statement clears, elsewhere or another time, what has a meaning.
static bool clears_values(const struct proof *p, const struct making *cleared) {
    for (uint32_t id = 1; id <= p->history->n; id++) {
        const struct making *making = making_at(p, id);
        if (is_clear(making) && making->span.begin == cleared->span.begin &&
            making->span.source == cleared->span.source && making->replaces &&
            !making->is_unchanged)
            return true;
    }
    return false;
}

// What led to the value and cleared what nobody had read.
static struct fault *clearing_fault(struct proof *p, const struct making *reader) {
    for (uint32_t i = 0; i < reader->n_operands; i++) {
        const struct making *cleared = clearing(p, making_operand(p->history, reader, i), false);
        if (!cleared)
            continue;
        if (cleared->hidden && !clears_values(p, cleared)) {
            struct fault *fault = arena_copy(p->world->arena, cleared->hidden, sizeof *fault);
            fault_beside(p, fault, cleared->span,
                         "and cleared here, before anything else reads it");
            return fault;
        }
        struct fault *fault =
            fault_make(p, E412, cleared->span, NULL,
                       "`%s` is cleared before anything reads what it held", cleared->name);
        fault_also(fault, reader->span, "it is read here");
        return fault;
    }
    return NULL;
}

// ---- what was added elsewhere -----------------------------------------------------------------

// A sum of the node that did not lead to what was made, and that is none of the reference's.
static const struct making *added_astray(struct proof *p, uint32_t made, uint32_t node) {
    struct lineage way = lineage_of(p, made, false);
    while (lineage_next(&way))
        continue;
    for (uint32_t id = 1; id <= p->history->n; id++) {
        const struct making *making = making_at(p, id);
        if (!making->name || !is_sum(making) || lineage_has(&way, id) ||
            history_has_sum(p, making->value))
            continue;
        for (uint32_t i = 0; i < making->n_operands; i++) {
            uint32_t operand = making_operand(p->history, making, i);
            if (operand && making_at(p, operand)->value.of.node == node)
                return making;
        }
    }
    return NULL;
}

// ---- what was not added at all ----------------------------------------------------------------

// The first of the sums on the way to the part that would be one of the reference's with what is
// lacking, and is none without.
static const struct making *first_without(struct proof *p, uint32_t made, struct scaled part,
                                          struct scaled whole) {
    const struct making *first = NULL;
    struct lineage way = lineage_of(p, made, false);
    for (uint32_t id; (id = lineage_next(&way));) {
        const struct making *making = making_at(p, id);
        if (making->name && is_sum(making) && !history_has_sum(p, making->value) &&
            history_has_more(p, making->value, part, whole))
            first = making;
    }
    return first;
}

// Whether the op adds to what its call was given.
static bool goes_on(const struct proof *p, const struct making *sum) {
    for (uint32_t i = 0; i < sum->n_operands; i++) {
        uint32_t operand = making_operand(p->history, sum, i);
        if (operand && making_at(p, operand)->moment != sum->moment)
            return true;
    }
    return false;
}

static struct span place_without(struct proof *p, uint32_t made, struct scaled part,
                                 struct scaled whole, struct span otherwise) {
    const struct making *first = first_without(p, made, part, whole), *brought = NULL;
    if (first)
        return goes_on(p, first) ? first->call : first->span;
    struct lineage way = lineage_of(p, made, true);
    for (uint32_t id; (id = lineage_next(&way));)
        if (making_at(p, id)->is_transfer)
            brought = making_at(p, id);
    return brought ? brought->span : otherwise;
}

static bool is_made_before(const struct proof *p, struct scaled value,
                           const struct making *reader) {
    for (const struct making *making = p->history->makings; making < reader; making++)
        if (making->name && scaled_equal(making->value, value))
            return true;
    return false;
}

// Whether calls of other parts make it, and none of the reader's.
static bool is_made_elsewhere(const struct proof *p, uint32_t node, const struct making *reader) {
    bool here = false, there = false;
    for (uint32_t id = 1; id <= p->history->n; id++) {
        const struct making *making = making_at(p, id);
        if (making->is_transfer || making->value.of.node != node)
            continue;
        here |= making->program == reader->program;
        there |= making->program != reader->program;
    }
    return there && !here;
}

// The last message that brought the node to the reader's part; 0: none did.
static uint32_t brought_to(const struct proof *p, uint32_t node, const struct making *reader) {
    uint32_t id = p->history->n;
    while (id > 0 && !(making_at(p, id)->is_message && making_at(p, id)->name &&
                       making_at(p, id)->program == reader->program &&
                       layers_of(p->world, making_at(p, id)->value, node)))
        id--;
    return id;
}

// The op is given a sum that lacks a summand. Where the whole sum was made too it should have been
// given that.
static struct fault *summand_fault(struct proof *p, const struct making *reader) {
    for (uint32_t i = 0; i < reader->n_operands; i++) {
        uint32_t operand = making_operand(p->history, reader, i);
        struct scaled part, whole;
        if (!is_part_only(p, operand, &part, &whole) || is_made_before(p, whole, reader))
            continue;
        for (uint32_t k = 0; k < p->world->terms->nodes[whole.of.node].n_parts; k++) {
            struct summand lacks = sum_part(p->world->terms, whole, k);
            if (layers_of(p->world, part, lacks.node))
                continue;
            const struct making *astray = added_astray(p, operand, lacks.node);
            struct span at = astray ? astray->call
                             : is_made_elsewhere(p, lacks.node, reader)
                                 ? behind_sum(p, reader, operand, brought_to(p, lacks.node, reader))
                                 : place_without(p, operand, part, whole, reader->span);
            struct fault *fault = fault_make(
                p, E412, at,
                astray ? "it is added to something else" : "it is not added before this",
                "`%s` lacks `%s` when `%s` uses it", making_at(p, operand)->name,
                term_text(p->world, (struct scaled){{lacks.node, lacks.at}, SCALE_ONE}, 1),
                op_rows[reader->op->kind].text);
            fault_also(fault, reader->span, "here it is missing");
            return fault;
        }
    }
    return NULL;
}

// What the reference's op reads too lacks nothing.
struct fault *lacking_fault(struct proof *p, const struct making *reader) {
    bool uses = reader->op && !is_sum(reader) && !differs_in_attributes(p, reader->value.of);
    struct fault *fault = clearing_fault(p, reader);
    if (uses && !fault)
        fault = part_fault(p, reader);
    if (uses && !fault)
        fault = layers_fault(p, reader);
    return fault || !uses ? fault : summand_fault(p, reader);
}
