// Stages, tasks: what each task of a step touches, and what goes from one task to another.
//
// Tasks are looked at in the order of the text, which is that of one device. What a task reads and an earlier one
// has made, on another rank, is a message from that one. Of a loop only the first and the last iterations are
// executed, of as many as there are slots that its items may be in: what goes from task to task is made in those,
// since layers hand on to the next one.
#include "ir/check.h"
#include "passes/stages/stages.h"

enum { LEAST_ITERATIONS = 8 }; // of a loop, at either end

// ---- sets of ranks ----------------------------------------------------------------------------

bool rank_set_has(const struct rank_set *set, uint32_t rank) {
    for (uint32_t i = 0; i < set->n; i++)
        if (set->ranks[i] == rank)
            return true;
    return set->all || set->any;
}

void rank_set_add(struct splitter *s, struct rank_set *set, uint32_t rank) {
    if (!rank_set_has(set, rank))
        ARENA_PUSH(s->scratch, set->ranks, set->n, set->cap, rank);
}

// ---- uses -------------------------------------------------------------------------------------

struct stage_use *find_use(const struct splitter *s, buffer_id buffer, uint32_t stage) {
    struct stage_use *use = s->buffers[buffer].uses;
    while (use && use->stage != stage)
        use = use->next;
    return use;
}

static struct stage_use *use_of(struct splitter *s, buffer_id buffer, uint32_t stage, int64_t layer,
                                int64_t slot) {
    struct stage_use *use = find_use(s, buffer, stage);
    if (use)
        return use;
    use = ARENA_NEW(s->scratch, struct stage_use);
    *use = (struct stage_use){.stage = stage,
                              .first = layer,
                              .last = layer,
                              .first_slot = slot,
                              .last_slot = slot,
                              .in_flight = 1,
                              .copy = NO_ID,
                              .told = NO_ID,
                              .next = s->buffers[buffer].uses};
    return s->buffers[buffer].uses = use;
}

// ---- messages ---------------------------------------------------------------------------------

// The last task, from 1 on, that has made each item of each buffer.
struct makers {
    struct splitter *s;
    struct task_loop *loop;
    uint32_t **by_item;
    uint32_t task; // that is executed
    int64_t most;  // iterations at either end of a loop
};

static bool has_item(const struct message *message, const struct reference *item) {
    for (uint32_t i = 0; i < message->n; i++)
        if (reference_equal(&message->items[i], item))
            return true;
    return false;
}

// Whether a task of the stage has it already.
static bool was_sent(const struct makers *m, uint32_t from, const struct reference *item) {
    const struct task_loop *loop = m->loop;
    uint32_t stage = loop->tasks[m->task].stage;
    for (uint32_t i = loop->tasks[from].first_sent; i > 0; i = loop->messages[i - 1].next_sent)
        if (loop->tasks[loop->messages[i - 1].to].stage == stage &&
            has_item(&loop->messages[i - 1], item))
            return true;
    return false;
}

// A message is of one type.
static bool is_of_type(const struct makers *m, const struct message *message, buffer_id buffer) {
    const struct buffer *buffers = m->s->whole->buffers;
    return buffers[message->items[0].buffer].dtype == buffers[buffer].dtype;
}

static void send_item(struct makers *m, uint32_t from, struct reference item) {
    struct task_loop *loop = m->loop;
    if (was_sent(m, from, &item))
        return;
    for (uint32_t i = loop->tasks[from].first_sent; i > 0; i = loop->messages[i - 1].next_sent) {
        struct message *message = &loop->messages[i - 1];
        if (message->to != m->task || !is_of_type(m, message, item.buffer))
            continue;
        ARENA_PUSH(m->s->scratch, message->items, message->n, message->cap, item);
        return;
    }
    struct message made = {.from = from, .to = m->task, .lag = 1};
    made.next_sent = loop->tasks[from].first_sent;
    made.next_received = loop->tasks[m->task].first_received;
    ARENA_PUSH(m->s->scratch, made.items, made.n, made.cap, item);
    ARENA_PUSH(m->s->scratch, loop->messages, loop->n_messages, loop->cap_messages, made);
    loop->tasks[from].first_sent = loop->tasks[m->task].first_received = loop->n_messages;
}

static void part_item(struct makers *m, uint32_t from, struct reference item) {
    struct task_loop *loop = m->loop;
    for (uint32_t i = 0; i < loop->n_aparts; i++)
        if (loop->aparts[i].adder == m->task && reference_equal(&loop->aparts[i].item, &item))
            return;
    struct apart made = {from, m->task, item};
    ARENA_PUSH(m->s->scratch, loop->aparts, loop->n_aparts, loop->cap_aparts, made);
}

// What one stage of a rank hands to another lies where both find it.
static void share_copies(struct makers *m, buffer_id buffer, uint32_t one, uint32_t other) {
    struct stage_use *first = home_of(find_use(m->s, buffer, one));
    struct stage_use *second = home_of(find_use(m->s, buffer, other));
    if (first != second)
        second->home = first;
}

// Whether their rank does one of two tasks before the other, of each microbatch.
static bool comes_first(const struct makers *m, const struct task_block *one,
                        const struct task_block *other) {
    const struct rank_tasks *list =
        &m->s->pipeline->schedule->ranks[rank_of_stage(m->s, one->stage)];
    bool *done = ARENA_ARRAY(m->s->scratch, bool, (size_t)m->s->microbatches);
    for (uint32_t i = 0; i < list->n; i++) {
        const struct task *task = &list->tasks[i];
        if (task->stage == one->stage && task_does(task->kind, one->kind))
            done[task->microbatch] = true;
        else if (task->stage == other->stage && task_does(task->kind, other->kind) &&
                 !done[task->microbatch])
            return false;
    }
    return true;
}

static void read_item(struct makers *m, struct reference item, int64_t number) {
    uint32_t *makers = m->by_item[item.buffer];
    uint32_t from = makers ? makers[number] : 0;
    if (from == 0)
        return;
    const struct task_block *tasks = m->loop->tasks;
    bool of_tensor = m->s->whole->buffers[item.buffer].tensor != NO_ID;
    uint32_t maker = rank_of_stage(m->s, tasks[from - 1].stage);
    bool on_one = maker == rank_of_stage(m->s, tasks[m->task].stage);
    bool in_order = m->s->whole->job->policy.reproducible;
    if (on_one ? of_tensor && !comes_first(m, &tasks[from - 1], &tasks[m->task])
               : of_tensor && !in_order)
        part_item(m, from - 1, item);
    else if (on_one)
        share_copies(m, item.buffer, tasks[from - 1].stage, tasks[m->task].stage);
    else
        send_item(m, from - 1, item);
}

// The place in a stack of the kind; 0: it has none.
static int64_t place_in(const struct buffer *buffer, enum stack_kind kind, const int64_t *places) {
    int stack = buffer_find_stack(buffer, kind);
    return stack < 0 ? 0 : places[stack];
}

static void touch(struct makers *m, const struct access *access, const int64_t *variables) {
    struct splitter *s = m->s;
    const struct task_block *task = &m->loop->tasks[m->task];
    const struct buffer *buffer = &s->whole->buffers[access->at->buffer];
    struct split_buffer *split = &s->buffers[access->at->buffer];
    struct reference item = *access->at;
    int64_t places[MAX_STACKS] = {0};
    for (unsigned i = 0; i < buffer->stacks.n; i++) {
        places[i] = index_at(item.indices[i], variables);
        item.indices[i] = index_constant(places[i]);
    }
    int64_t layer = place_in(buffer, STACK_LAYERS, places);
    int64_t slot = place_in(buffer, STACK_SLOTS, places), number = buffer_item_at(buffer, places);
    if (!split->uses)
        split->is_made =
            access->written && buffer->class != CLASS_INPUT && !class_persistent[buffer->class];
    struct stage_use *use = use_of(s, item.buffer, task->stage, layer, slot);
    if (buffer->window_of != NO_ID)
        s->buffers[buffer_whole(s->whole, item.buffer)].has_windows = true;
    use->kinds |= 1u << task->kind;
    use->written |= access->written;
    use->first = layer < use->first ? layer : use->first;
    use->last = layer > use->last ? layer : use->last;
    use->first_slot = slot < use->first_slot ? slot : use->first_slot;
    use->last_slot = slot > use->last_slot ? slot : use->last_slot;
    if (!split->is_made)
        return;
    if (!access->written) {
        read_item(m, item, number);
        return;
    }
    if (!m->by_item[item.buffer])
        m->by_item[item.buffer] = ARENA_ARRAY(s->scratch, uint32_t, (size_t)buffer_items(buffer));
    m->by_item[item.buffer][number] = m->task + 1;
}

static void execute(struct makers *m, const struct statement *statement, int64_t *variables,
                    int depth) {
    struct access access;
    for (uint32_t i = 0; statement->kind != STATEMENT_FREE &&
                         (access = statement_access(m->s->whole, statement, i)).at;
         i++) {
        touch(m, &access, variables);
    }
    if (statement->kind != STATEMENT_LOOP)
        return;
    const struct loop *loop = &statement->loop;
    int64_t trips = loop->end - loop->begin;
    for (int64_t i = 0; i < trips; i++) {
        if (i == m->most && trips > 2 * m->most)
            i = trips - m->most;
        variables[depth] = loop_variable(loop, depth, i, variables);
        for (uint32_t k = 0; k < loop->body.n; k++)
            execute(m, &loop->body.statements[k], variables, depth + 1);
    }
}

// ---- tasks ------------------------------------------------------------------------------------

const struct task_block *find_block(const struct splitter *s, const struct task_loop *loop,
                                    enum task_kind kind, uint32_t stage) {
    uint32_t block = loop->block_of[(size_t)kind * s->pipeline->n_stages + stage];
    return block ? &loop->tasks[block - 1] : NULL;
}

static const struct statement *find_loop(const struct step *step) {
    for (uint32_t i = 0; i < step->body.n; i++) {
        const struct statement *s = &step->body.statements[i];
        if (s->kind == STATEMENT_LOOP && s->loop.body.n &&
            s->loop.body.statements[0].kind == STATEMENT_TASK)
            return s;
    }
    return NULL;
}

static void cut_at_labels(struct splitter *s, struct task_loop *loop) {
    const struct block *body = &loop->loop->loop.body;
    loop->tasks = ARENA_ARRAY(s->scratch, struct task_block, body->n);
    for (uint32_t i = 0; i < body->n; i++) {
        const struct statement *from = &body->statements[i];
        if (from->kind == STATEMENT_TASK)
            loop->tasks[loop->n++] = (struct task_block){.kind = from->task.kind,
                                                         .stage = from->task.stage,
                                                         .statements = from + 1,
                                                         .span = from->span};
        else
            loop->tasks[loop->n - 1].n++;
    }
    loop->block_of =
        ARENA_ARRAY(s->scratch, uint32_t, (size_t)N_TASK_KINDS * s->pipeline->n_stages);
    for (uint32_t i = 0; i < loop->n; i++) {
        size_t of = (size_t)loop->tasks[i].kind * s->pipeline->n_stages + loop->tasks[i].stage;
        CHECK(!loop->block_of[of]);
        loop->block_of[of] = i + 1;
    }
}

static void execute_tasks(struct splitter *s, struct task_loop *loop) {
    struct makers m = {.s = s, .loop = loop, .most = LEAST_ITERATIONS};
    m.by_item = ARENA_ARRAY(s->scratch, uint32_t *, s->whole->n_buffers + 1);
    for (buffer_id i = 0; i < s->whole->n_buffers; i++) {
        const struct stack *slots = buffer_stack(&s->whole->buffers[i], STACK_SLOTS);
        m.most = slots && slots->count > m.most ? slots->count : m.most;
    }
    for (m.task = 0; m.task < loop->n; m.task++) {
        const struct task_block *task = &loop->tasks[m.task];
        int64_t variables[LIMIT_LOOP_DEPTH + 1] = {0};
        for (uint32_t i = 0; i < task->n; i++)
            execute(&m, &task->statements[i], variables, 1);
    }
}

// What stands behind the tasks and reads of a buffer first is given what they made. What writes all of it first, or
// stands in front of tasks that do, has it for something else.
static void note_access(struct splitter *s, const struct access *access, bool behind, bool *anew) {
    buffer_id buffer = access->at->buffer, whole = buffer_whole(s->whole, buffer);
    anew[whole] |= access->written && buffer == whole && !s->buffers[whole].is_whole;
    if (s->buffers[whole].is_made && (!behind || anew[whole])) {
        s->buffers[whole].is_again = s->buffers[buffer].is_again = true;
        return;
    }
    s->buffers[buffer].is_outside = s->buffers[whole].is_whole = true;
}

static void note_outside(struct splitter *s, const struct step *step,
                         const struct statement *tasks) {
    bool *anew = ARENA_ARRAY(s->scratch, bool, s->whole->n_buffers + 1), behind = false;
    for (uint32_t i = 0; i < step->body.n; i++) {
        behind |= &step->body.statements[i] == tasks;
        if (&step->body.statements[i] == tasks)
            continue;
        const struct block one = {&step->body.statements[i], 1, 1};
        struct statement_walk walk = walk_statements(&one);
        while (walk_next(&walk)) {
            struct access access;
            for (uint32_t k = 0; walk.statement->kind != STATEMENT_FREE &&
                                 (access = statement_access(s->whole, walk.statement, k)).at;
                 k++)
                note_access(s, &access, behind, anew);
        }
    }
}

// A tensor that is not repeated by layer is of the stages whose tasks touch it; one that none touches, of the
// first.
static void find_ranks_of_tensors(struct splitter *s) {
    s->of_tensors = ARENA_ARRAY(s->scratch, struct rank_set, s->whole->job->n_tensors + 1);
    for (buffer_id i = 0; i < s->whole->n_buffers; i++) {
        uint32_t tensor = s->whole->buffers[i].tensor;
        for (const struct stage_use *use = s->buffers[i].uses; use && tensor != NO_ID;
             use = use->next)
            rank_set_add(s, &s->of_tensors[tensor], rank_of_stage(s, use->stage));
    }
    for (uint32_t t = 0; t < s->whole->job->n_tensors; t++)
        if (s->of_tensors[t].n == 0)
            rank_set_add(s, &s->of_tensors[t], rank_of_stage(s, 0));
}

static uint32_t stage_of_layer(const struct splitter *s, int64_t layer) {
    uint32_t stage = 0;
    while (stage + 1 < s->pipeline->n_stages && layer >= s->pipeline->stages[stage].end)
        stage++;
    return stage;
}

const struct rank_set *ranks_of_buffer(struct splitter *s, buffer_id id) {
    const struct buffer *buffer = &s->whole->buffers[id];
    bool by_layer = buffer->tensor != NO_ID && s->whole->job->tensors[buffer->tensor].layers > 0;
    struct rank_set *set = ARENA_NEW(s->scratch, struct rank_set);
    *set = (struct rank_set){0};
    if (s->of_values && s->of_values[id])
        return s->of_values[id];
    if (buffer->tensor != NO_ID && !by_layer)
        return &s->of_tensors[buffer->tensor];
    if (by_layer && buffer_stack(buffer, STACK_LAYERS))
        rank_set_add(s, set, rank_of_stage(s, stage_of_layer(s, buffer_first_layer(buffer))));
    else if (by_layer)
        set->any = true; // of a layer at a time
    else if (buffer->rank > 0 && (buffer->class == CLASS_INPUT || s->buffers[id].is_made))
        for (const struct stage_use *use = s->buffers[id].uses; use; use = use->next)
            rank_set_add(s, set, rank_of_stage(s, use->stage));
    else
        set->all = true;
    return set;
}

// The ranks that have all that a call names of parts of the model; NULL: it names nothing of any.
static const struct rank_set *ranks_of_call(struct splitter *s, const struct statement *call) {
    const struct rank_set *ranks = NULL;
    struct access access;
    for (uint32_t i = 0; (access = statement_access(s->whole, call, i)).at; i++) {
        const struct rank_set *of = ranks_of_buffer(s, access.at->buffer);
        if (of->n && (!ranks || of->n < ranks->n))
            ranks = of;
    }
    return ranks;
}

static bool is_value(const struct splitter *s, buffer_id id) {
    const struct buffer *buffer = &s->whole->buffers[id];
    return buffer->class == CLASS_TRANSIENT && buffer->tensor == NO_ID && !s->buffers[id].uses;
}

// What a call makes anew, as squares of gradients, is where that is of which it makes it; in loops over the layers of
// several ranks, with each of them.
static void find_ranks_of_values(struct splitter *s) {
    static const struct rank_set any = {.any = true};
    const struct rank_set **found =
        ARENA_ARRAY(s->scratch, const struct rank_set *, s->whole->n_buffers + 1);
    struct statement_walk walk = walk_statements(&s->whole->steps[STEP_TRAIN].body);
    while (walk_next(&walk)) {
        if (walk.statement->kind != STATEMENT_CALL)
            continue;
        const struct call *call = &walk.statement->call;
        const struct unit *unit = &s->whole->job->units[call->unit];
        const struct rank_set *ranks = ranks_of_call(s, walk.statement);
        for (uint32_t i = 0; i < unit->n_results && ranks; i++) {
            buffer_id id = call->results[i].buffer;
            if (unit->results[i].in_parameter == NO_ID && is_value(s, id))
                found[id] = found[id] ? &any : ranks;
        }
    }
    s->of_values = found;
}

static void widen_homes(struct splitter *s) {
    for (buffer_id i = 0; i < s->whole->n_buffers; i++)
        for (struct stage_use *use = s->buffers[i].uses; use; use = use->next) {
            struct stage_use *home = home_of(use);
            home->first = use->first < home->first ? use->first : home->first;
            home->last = use->last > home->last ? use->last : home->last;
            home->first_slot =
                use->first_slot < home->first_slot ? use->first_slot : home->first_slot;
            home->last_slot = use->last_slot > home->last_slot ? use->last_slot : home->last_slot;
        }
}

void find_tasks(struct splitter *s) {
    s->buffers = ARENA_ARRAY(s->scratch, struct split_buffer, s->whole->n_buffers + 1);
    for (int kind = 0; kind < N_STEPS; kind++) {
        const struct step *step = &s->whole->steps[kind];
        struct task_loop *loop = &s->loops[kind];
        loop->loop = find_loop(step);
        if (loop->loop) {
            cut_at_labels(s, loop);
            execute_tasks(s, loop);
        }
        note_outside(s, step, loop->loop);
    }
    widen_homes(s);
    find_ranks_of_tensors(s);
    find_ranks_of_values(s);
}
