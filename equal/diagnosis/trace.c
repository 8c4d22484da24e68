// Traces are made by who executes: an observer is told what is entered, made and left. What only hands on arrays
// (tuples, members, parameters of what is called) makes none of its own.
#include "equal/diagnosis/trace.h"

#include "ir/check.h"

enum {
    MOST_TURNS = 1000,     // of a loop that is followed by its terms
    MOST_READ = 30 * 1000, // instructions of what is called whose terms are looked at
};

struct trace_item {
    uint32_t array;                          // of the trace
    const struct trace_item *const *members; // of a tuple
    const struct meaning *meaning;           // NULL: not known
};

struct trace_frame {
    struct trace_frame *outer;
    const struct computation *of;
    const struct instruction *by; // what calls it; NULL: it is the entry
    uint32_t which;
    const uint32_t *devices; // that execute it
    uint32_t n_devices;
    const struct trace_item *const *parameters; // NULL: of the entry
    const struct trace_item **items;            // by instruction; of a loop its state
    const struct meaning *meanings;             // by instruction; NULL: not known
};

static struct trace *trace_of(struct observer *observer) {
    return (struct trace *)(void *)observer;
}

// ---- arrays -----------------------------------------------------------------------------------

// The array for as long as the trace lives. NULL: there are too many bytes.
static const struct array *keep(struct trace *t, const struct array *array) {
    if (!array || array->depth == 0)
        return array;
    int64_t bytes = array->shape->n_elements * (int64_t)sizeof(double);
    if (bytes > MAX_INTERPRETED_BYTES / 2 - t->bytes)
        return NULL;
    t->bytes += bytes;
    struct array *kept = ARENA_NEW(t->arena, struct array);
    kept->shape = array->shape;
    if (array->reals)
        kept->reals = arena_copy(t->arena, array->reals, (size_t)bytes);
    else
        kept->integers = arena_copy(t->arena, array->integers, (size_t)bytes);
    return kept;
}

static const struct array *const *keep_all(struct trace *t, const struct array *const *made) {
    const struct array **values =
        ARENA_ARRAY(t->arena, const struct array *, t->graph->n_devices + 1);
    for (uint32_t d = 0; made && d < t->graph->n_devices; d++) {
        values[d] = keep(t, made[d]);
        if (made[d] && !values[d])
            return NULL;
    }
    return made ? values : NULL;
}

static const struct trace_item *add_array(struct trace *t, struct traced traced) {
    struct trace_item *item = ARENA_NEW(t->arena, struct trace_item);
    *item = (struct trace_item){.array = t->n, .meaning = traced.meaning};
    ARENA_PUSH(t->arena, t->arrays, t->n, t->cap, traced);
    return item;
}

static const struct trace_item *make_tuple(struct trace *t, const struct trace_item *const *members,
                                           const struct meaning *meaning) {
    struct trace_item *item = ARENA_NEW(t->arena, struct trace_item);
    *item = (struct trace_item){0, members, meaning};
    return item;
}

struct operand_list {
    uint32_t *of;
    uint32_t n, cap;
};

static void add_operands(struct trace *t, struct operand_list *list,
                         const struct array_shape *shape, const struct trace_item *item) {
    for (uint32_t i = 0; shape->is_tuple && i < shape->n_members; i++)
        add_operands(t, list, shape->members[i], item->members[i]);
    if (!shape->is_tuple)
        ARENA_PUSH(t->arena, list->of, list->n, list->cap, item->array);
}

// What an instruction makes anew; of a tuple each member, which in a collective has one operand.
static const struct trace_item *make_item(struct trace *t, const struct traced *like,
                                          const struct array_shape *shape,
                                          const struct array *const *made) {
    if (!shape->is_tuple) {
        struct traced traced = *like;
        traced.values = keep_all(t, made);
        return add_array(t, traced);
    }
    const struct trace_item **members =
        ARENA_ARRAY(t->arena, const struct trace_item *, shape->n_members + 1);
    const struct array **of_member =
        ARENA_ARRAY(t->arena, const struct array *, t->graph->n_devices + 1);
    bool meets = primitive_rows[like->by->primitive].class == PRIMITIVE_COLLECTIVE &&
                 like->n_operands == shape->n_members;
    for (uint32_t i = 0; i < shape->n_members; i++) {
        struct traced member = *like;
        member.meaning =
            like->meaning && like->meaning->members ? &like->meaning->members[i] : NULL;
        if (meets) {
            member.operands = &like->operands[i];
            member.n_operands = 1;
        }
        for (uint32_t d = 0; made && d < t->graph->n_devices; d++)
            of_member[d] = made[d] ? made[d]->members[i] : NULL;
        members[i] = make_item(t, &member, shape->members[i], made ? of_member : NULL);
    }
    return make_tuple(t, members, like->meaning);
}

// ---- what is called ---------------------------------------------------------------------------

static bool has_device(const struct trace_frame *frame, uint32_t device) {
    for (uint32_t i = 0; i < frame->n_devices; i++)
        if (frame->devices[i] == device)
            return true;
    return false;
}

static const struct trace_item *join_arrays(struct trace *t, const struct trace_frame *inner,
                                            const struct trace_item *old,
                                            const struct trace_item *new) {
    const struct traced *to = &t->arrays[new->array], *from = old ? &t->arrays[old->array] : NULL;
    const struct array **values =
        ARENA_ARRAY(t->arena, const struct array *, t->graph->n_devices + 1);
    bool known = to->values && (!from || from->values);
    for (uint32_t d = 0; known && d < t->graph->n_devices; d++)
        values[d] = has_device(inner, d) ? to->values[d] : from ? from->values[d] : NULL;
    uint32_t *operands = ARENA_ARRAY(t->arena, uint32_t, 2), n = 0;
    operands[n++] = new->array;
    if (old)
        operands[n++] = old->array;
    return add_array(t, (struct traced){inner->by, operands, n, known ? values : NULL, NULL});
}

// What a branch or a turn leaves, on the devices that have executed it; others have what was before.
static const struct trace_item *join(struct trace *t, const struct trace_frame *inner,
                                     const struct array_shape *shape, const struct trace_item *old,
                                     const struct trace_item *new) {
    if (inner->n_devices == inner->outer->n_devices)
        return new;
    if (!shape->is_tuple)
        return join_arrays(t, inner, old, new);
    const struct trace_item **members =
        ARENA_ARRAY(t->arena, const struct trace_item *, shape->n_members + 1);
    for (uint32_t i = 0; i < shape->n_members; i++)
        members[i] =
            join(t, inner, shape->members[i], old ? old->members[i] : NULL, new->members[i]);
    return make_tuple(t, members, NULL);
}

static const struct trace_item **item_of(const struct trace_frame *frame,
                                         const struct instruction *by) {
    return &frame->items[by - frame->of->instructions];
}

static const struct trace_item *const *arguments_of(struct trace *t,
                                                    const struct trace_frame *outer,
                                                    const struct instruction *by, uint32_t which) {
    const struct trace_item **arguments =
        ARENA_ARRAY(t->arena, const struct trace_item *, by->n_operands + 1);
    const struct trace_item **state = item_of(outer, by);
    for (uint32_t i = 0; i < by->n_operands; i++)
        arguments[i] = outer->items[by->operands[i]];
    if (by->primitive == PRIM_CONDITIONAL)
        arguments[0] = arguments[1 + which];
    if (by->primitive == PRIM_WHILE)
        arguments[0] = *state = *state ? *state : arguments[0];
    return arguments;
}

static const struct meaning *meanings_in(struct trace *t, const struct trace_frame *frame,
                                         uint32_t computation) {
    struct meaning *parameters = ARENA_ARRAY(t->arena, struct meaning, frame->of->n_parameters + 1);
    for (uint32_t i = 0; i < frame->of->n_parameters; i++) {
        if (!frame->parameters[i]->meaning)
            return NULL;
        parameters[i] = *frame->parameters[i]->meaning;
    }
    t->n_read += frame->of->n;
    return t->reading && t->n_read <= MOST_READ
               ? meanings_of_call(t->reading, computation, parameters)
               : NULL;
}

static void begin(struct trace *t) {
    t->n = 0;
    t->frame = NULL;
    t->bytes = 0;
    t->n_read = 0;
}

static void enter(struct observer *observer, const struct instruction *by, uint32_t which,
                  const uint32_t *devices, uint32_t n_devices) {
    struct trace *t = trace_of(observer);
    if (!by)
        begin(t);
    uint32_t computation = by ? by->attributes->called[which] : t->graph->entry;
    struct trace_frame *frame = ARENA_NEW(t->arena, struct trace_frame);
    *frame = (struct trace_frame){.outer = t->frame,
                                  .of = &t->graph->computations[computation],
                                  .by = by,
                                  .which = which,
                                  .devices = devices,
                                  .n_devices = n_devices};
    frame->items = ARENA_ARRAY(t->arena, const struct trace_item *, frame->of->n + 1);
    if (by) {
        frame->parameters = arguments_of(t, t->frame, by, which);
        frame->meanings = meanings_in(t, frame, computation);
    } else if (t->reading) {
        frame->meanings = t->reading->meanings;
    }
    t->frame = frame;
}

static void leave(struct observer *observer) {
    struct trace *t = trace_of(observer);
    const struct trace_frame *inner = t->frame;
    const struct trace_item *root = inner->items[inner->of->root];
    t->frame = inner->outer;
    if (!inner->by) {
        t->root = root;
        return;
    }
    const struct trace_item **item = item_of(inner->outer, inner->by);
    if (inner->by->primitive != PRIM_WHILE || inner->which == 1)
        *item = join(t, inner, inner->by->shape, *item, root);
}

// ---- instructions -----------------------------------------------------------------------------

static const struct trace_item *compute(struct trace *t, const struct trace_frame *frame,
                                        uint32_t at, const struct array *const *values) {
    const struct instruction *by = &frame->of->instructions[at];
    struct operand_list operands = {0};
    for (uint32_t k = 0; k < by->n_operands; k++)
        add_operands(t, &operands, graph_operand(frame->of, by, k)->shape,
                     frame->items[by->operands[k]]);
    const struct array **made =
        ARENA_ARRAY(t->arena, const struct array *, t->graph->n_devices + 1);
    for (uint32_t i = 0; values && i < frame->n_devices; i++)
        made[frame->devices[i]] = values[(size_t)i * frame->of->n + at];
    struct traced like = {.by = by,
                          .operands = operands.of,
                          .n_operands = operands.n,
                          .meaning = frame->meanings ? &frame->meanings[at] : NULL};
    return make_item(t, &like, by->shape, values ? made : NULL);
}

static const struct trace_item *collect(struct trace *t, const struct trace_frame *frame,
                                        uint32_t at) {
    const struct instruction *by = &frame->of->instructions[at];
    const struct trace_item **members =
        ARENA_ARRAY(t->arena, const struct trace_item *, by->n_operands + 1);
    for (uint32_t k = 0; k < by->n_operands; k++)
        members[k] = frame->items[by->operands[k]];
    return make_tuple(t, members, frame->meanings ? &frame->meanings[at] : NULL);
}

static void made(struct observer *observer, const struct instruction *by,
                 const struct array *const *values) {
    struct trace *t = trace_of(observer);
    struct trace_frame *frame = t->frame;
    uint32_t at = (uint32_t)(by - frame->of->instructions);
    const struct trace_item **item = &frame->items[at];
    if (by->primitive == PRIM_PARAMETER && frame->parameters)
        *item = frame->parameters[by->attributes->index];
    else if (by->primitive == PRIM_TUPLE)
        *item = collect(t, frame, at);
    else if (by->primitive == PRIM_GET_TUPLE_ELEMENT)
        *item = frame->items[by->operands[0]]->members[by->attributes->index];
    else if (by->primitive == PRIM_OPTIMIZATION_BARRIER)
        *item = frame->items[by->operands[0]];
    else if (!*item) // of what was called there is one
        *item = compute(t, frame, at, values);
}

// ---- by terms alone ---------------------------------------------------------------------------

static const struct meaning *follow(struct trace *, const struct instruction *by, uint32_t which);

// False: it is not known how often it turns. Then its result is what it makes of its first state.
static bool follow_loop(struct trace *t, const struct instruction *by) {
    for (int turn = 0; turn < MOST_TURNS; turn++) {
        int64_t n, d;
        const struct meaning *goes_on = follow(t, by, 0);
        if (!goes_on || !value_number(t->reading->c, goes_on->value, &n, &d))
            break;
        if (n == 0)
            return true;
        follow(t, by, 1);
    }
    *item_of(t->frame, by) = NULL;
    return false;
}

static void follow_instruction(struct trace *t, const struct instruction *by) {
    if (by->primitive == PRIM_CALL)
        follow(t, by, 0);
    else if (by->primitive == PRIM_WHILE)
        follow_loop(t, by);
    made(&t->observer, by, NULL);
}

// What the root means, if that is known.
static const struct meaning *follow(struct trace *t, const struct instruction *by, uint32_t which) {
    enter(&t->observer, by, which, NULL, 0);
    const struct trace_frame *frame = t->frame;
    for (uint32_t i = 0; i < frame->of->n; i++)
        follow_instruction(t, &frame->of->instructions[i]);
    leave(&t->observer);
    return frame->meanings ? &frame->meanings[frame->of->root] : NULL;
}

void trace_read(struct trace *t) {
    follow(t, NULL, 0);
}

// ---- all of it --------------------------------------------------------------------------------

void trace_init(struct trace *t, const struct graph *graph, struct reading *reading,
                struct arena *arena) {
    *t = (struct trace){
        .observer = {enter, made, leave}, .graph = graph, .reading = reading, .arena = arena};
}

uint32_t trace_result(const struct trace *t, uint32_t result) {
    const struct trace_item *root = t->root;
    return root->members ? root->members[result]->array : root->array;
}
