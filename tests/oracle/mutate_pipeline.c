// Mistakes in pipelines: tasks, messages, and collectives between parts.
//
// A task is a label and what stands behind it in its block, to the next label, or to the loop that
// has the next.
#include <string.h>

#include "tests/oracle/mutate_parts.h"

// ---- tasks ------------------------------------------------------------------------------------

struct task_site {
    struct program *program;
    struct block *block;
    uint32_t begin, end; // from the label to behind the last statement
    enum step_kind step;
    int depth;
};
struct task_sites {
    struct task_site *items;
    uint32_t n, capacity;
};

static bool begins_task(const struct statement *s) {
    return s->kind == STATEMENT_TASK || (s->kind == STATEMENT_LOOP && loop_has_tasks(&s->loop));
}

static void collect_tasks(struct mutant *m, struct task_sites *sites, struct program *program,
                          struct block *block, enum step_kind step, int depth) {
    for (uint32_t i = 0; i < block->n; i++) {
        struct statement *s = &block->statements[i];
        uint32_t end = i + 1;
        if (s->kind == STATEMENT_LOOP)
            collect_tasks(m, sites, program, &s->loop.body, step, depth + 1);
        if (s->kind != STATEMENT_TASK || s->task.kind == N_TASK_KINDS)
            continue;
        while (end < block->n && !begins_task(&block->statements[end]))
            end++;
        struct task_site site = {program, block, i, end, step, depth};
        if (end < block->n || depth > 0)
            ARENA_PUSH(m->job->arena, sites->items, sites->n, sites->capacity, site);
    }
}

// All of one part, mostly of training.
static struct task_sites find_tasks(struct mutant *m, struct program *program) {
    struct task_sites sites = {0};
    collect_tasks(m, &sites, program, &program->steps[STEP_TRAIN].body, STEP_TRAIN, 0);
    if (choose(m, 6) == 0)
        collect_tasks(m, &sites, program, &program->steps[STEP_EVALUATE].body, STEP_EVALUATE, 0);
    return sites;
}

static bool choose_task(struct mutant *m, struct task_site *site) {
    struct task_sites sites = find_tasks(m, m->program);
    if (sites.n == 0)
        return false;
    *site = sites.items[choose(m, sites.n)];
    return true;
}

// Notes all statements of a task.
static bool touched_task(struct mutant *m, const struct task_site *site, const char *what) {
    const struct block task = {&site->block->statements[site->begin], site->end - site->begin, 0};
    struct statement_walk walk = walk_statements(&task);
    while (walk_next(&walk))
        touched(m, walk.statement->span, what);
    return true;
}

static void move_range(struct mutant *m, struct block *block, uint32_t begin, uint32_t end,
                       uint32_t to) {
    size_t bytes = (end - begin) * sizeof *block->statements;
    struct statement *moved = arena_copy(m->job->arena, block->statements + begin, bytes);
    memmove(block->statements + begin, block->statements + end,
            (block->n - end) * sizeof *block->statements);
    to = to > begin ? to - (end - begin) : to;
    block->n -= end - begin;
    memmove(block->statements + to + (end - begin), block->statements + to,
            (block->n - to) * sizeof *block->statements);
    memcpy(block->statements + to, moved, bytes);
    block->n += end - begin;
}

bool swap_tasks(struct mutant *m) {
    struct task_site site;
    if (!choose_task(m, &site) || site.end >= site.block->n ||
        site.block->statements[site.end].kind != STATEMENT_TASK ||
        site.block->statements[site.end].task.kind == N_TASK_KINDS)
        return false;
    struct task_site other = site;
    other.begin = other.end++;
    while (other.end < other.block->n && !begins_task(&other.block->statements[other.end]))
        other.end++;
    if (other.end == other.block->n && site.depth == 0)
        return false;
    touched_task(m, &site, "two tasks swapped");
    touched_task(m, &other, m->what);
    move_range(m, site.block, site.begin, site.end, other.end);
    return true;
}

bool drop_task(struct mutant *m) {
    struct task_site site;
    if (!choose_task(m, &site))
        return false;
    touched_task(m, &site, "a task dropped");
    for (uint32_t i = site.begin; i < site.end; i++)
        remove_statement(site.block, site.begin);
    return true;
}

static void insert_task(struct mutant *m, struct block *block, uint32_t at, struct program *program,
                        const struct task_site *site) {
    const struct block from = *site->block; // `block` may be the same
    for (uint32_t i = 0; i < site->end - site->begin; i++)
        block_insert(m->job->arena, block, at + i,
                     statement_clone(m->job->arena, program, &from.statements[site->begin + i]));
}

bool double_task(struct mutant *m) {
    struct task_site site;
    if (!choose_task(m, &site))
        return false;
    touched_task(m, &site, "a task doubled");
    struct block task = {arena_copy(m->job->arena, site.block->statements + site.begin,
                                    (site.end - site.begin) * sizeof *task.statements),
                         site.end - site.begin, site.end - site.begin};
    struct task_site copied = {site.program, &task, 0, task.n, site.step, site.depth};
    insert_task(m, site.block, coin(m) ? site.begin : site.end, site.program, &copied);
    return true;
}

// ---- on another rank --------------------------------------------------------------------------

// The buffer of that name, or a new one, behind all others.
static buffer_id buffer_there(struct program *program, const struct program *from, buffer_id id) {
    const struct buffer *buffer = &from->buffers[id];
    buffer_id found = program_find_buffer(program, buffer->name);
    if (found != NO_ID)
        return found;
    struct buffer own = *buffer;
    int64_t *arena_bytes = &program->arena_bytes[own.tier];
    if (own.window_of != NO_ID)
        own.window_of = buffer_there(program, from, own.window_of);
    else
        own.offset_bytes = (*arena_bytes + 63) / 64 * 64;
    found = program_add_buffer(program, own);
    if (own.window_of == NO_ID)
        *arena_bytes = own.offset_bytes + buffer_bytes(program, &program->buffers[found]);
    return found;
}

static uint32_t handle_there(struct arena *arena, struct step *to, const struct step *from,
                             uint32_t handle) {
    uint32_t found = step_find_handle(to, from->handles[handle].name);
    if (found == NO_ID)
        return step_add_handle(arena, to, from->handles[handle].name, from->handles[handle].slots);
    if (to->handles[found].slots < from->handles[handle].slots)
        to->handles[found].slots = from->handles[handle].slots;
    return found;
}

// What the statement names there. False: both have a buffer of that name, and they are not alike.
static bool rename_for(struct mutant *m, struct program *program, const struct task_site *site,
                       struct statement *s) {
    struct access access;
    struct arena *arena = m->job->arena;
    for (uint32_t i = 0; (access = statement_access(site->program, s, i)).at; i++) {
        buffer_id there = buffer_there(program, site->program, access.at->buffer);
        if (!stacks_equal(&program->buffers[there].stacks,
                          &site->program->buffers[access.at->buffer].stacks))
            return false;
        access.at->buffer = there;
    }
    message_join_ends(s);
    struct step *to = &program->steps[site->step];
    const struct step *from = &site->program->steps[site->step];
    if (s->kind == STATEMENT_START)
        s->start.handle = handle_there(arena, to, from, s->start.handle);
    if (s->kind == STATEMENT_WAIT)
        s->wait.handle = handle_there(arena, to, from, s->wait.handle);
    if (s->kind == STATEMENT_CALL && program_frame(program, s->call.unit) == NO_ID &&
        program_frame(site->program, s->call.unit) != NO_ID)
        program_set_frame(
            program, s->call.unit,
            buffer_there(program, site->program, program_frame(site->program, s->call.unit)));
    bool fits = true;
    for (uint32_t i = 0; s->kind == STATEMENT_LOOP && i < s->loop.body.n && fits; i++)
        fits = rename_for(m, program, site, &s->loop.body.statements[i]);
    return fits;
}

// The other rank's memory has room for what it needs, and begins with the same parameters.
bool move_task(struct mutant *m) {
    struct task_site site, to;
    if (!choose_task(m, &site))
        return false;
    struct program *own = m->program, *other = m->job->programs[choose(m, m->job->n_programs)];
    m->program = other;
    bool chosen =
        other != own && choose_task(m, &to) && to.step == site.step && to.depth == site.depth;
    if (!chosen)
        return false;
    touched_task(m, &site, "a task moved to another rank");
    touched(m, to.block->statements[to.begin].span, m->what);
    for (uint32_t i = site.begin; i < site.end; i++) {
        struct statement moved =
            statement_clone(m->job->arena, own, &site.block->statements[site.begin]);
        if (!rename_for(m, other, &site, &moved))
            return false;
        block_insert(m->job->arena, to.block, to.begin + i - site.begin, moved);
        remove_statement(site.block, site.begin);
    }
    return true;
}

// Which does nothing.
bool relabel_task(struct mutant *m) {
    struct task_site site;
    if (!choose_task(m, &site))
        return false;
    struct task_label *label = &site.block->statements[site.begin].task;
    if (coin(m))
        label->kind = label->kind == TASK_FORWARD ? TASK_BACKWARD : TASK_FORWARD;
    else
        label->stage++;
    return touched(m, site.block->statements[site.begin].span, "a task with another label");
}

// ---- messages ---------------------------------------------------------------------------------

static bool is_message(const struct statement *s) {
    return s->kind == STATEMENT_START && exchange_is_message(&s->start.exchange);
}

static bool choose_message(struct mutant *m, struct site *site) {
    struct sites sites = find_sites(m, STARTS);
    uint32_t n = 0;
    for (uint32_t i = 0; i < sites.n; i++)
        if (is_message(statement_at(&sites.items[i])) && choose(m, ++n) == 0)
            *site = sites.items[i];
    return n > 0;
}

// The next wait for it in the block; NO_ID: it is elsewhere.
static uint32_t wait_behind(const struct site *site) {
    const struct statement *start = statement_at(site);
    for (uint32_t i = site->at + 1; i < site->block->n; i++) {
        const struct statement *s = &site->block->statements[i];
        if (s->kind == STATEMENT_WAIT && s->wait.handle == start->start.handle)
            return i;
    }
    return NO_ID;
}

// One end of a message alone, with its wait or without.
bool lone_end(struct mutant *m) {
    struct site site;
    if (!choose_message(m, &site))
        return false;
    uint32_t wait = wait_behind(&site);
    touched(m, statement_at(&site)->span, "an end of a message dropped");
    if (wait != NO_ID) {
        touched(m, site.block->statements[wait].span, m->what);
        remove_statement(site.block, wait);
    } else if (choose(m, 4)) {
        return false;
    }
    remove_statement(site.block, site.at);
    return true;
}

bool other_rank(struct mutant *m) {
    struct site site;
    if (!choose_message(m, &site))
        return false;
    struct exchange *exchange = &statement_at(&site)->start.exchange;
    int64_t n = mesh_group_size(&m->job->mesh, &exchange->axes), old = exchange->peer;
    exchange->peer = choose(m, (uint32_t)n);
    return exchange->peer != old &&
           touched(m, statement_at(&site)->span, "a message to or from another rank");
}

// Another microbatch's item, or another stage's.
bool other_message(struct mutant *m) {
    struct site site;
    if (!choose_message(m, &site))
        return false;
    struct transfer *start = &statement_at(&site)->start;
    struct transfer_piece *piece = &start->pieces[choose(m, start->n_pieces)];
    struct reference *at = start->exchange.kind == COLLECTIVE_RECEIVE ? &piece->to : &piece->from;
    const struct stacks *stacks = &m->program->buffers[at->buffer].stacks;
    buffer_id other = choose(m, 3) ? NO_ID : other_buffer(m, at->buffer, false);
    if (other != NO_ID) {
        at->buffer = other;
        for (unsigned i = 0; i < MAX_STACKS; i++)
            at->indices[i] = index_constant(0);
    } else if (stacks->n > 0) {
        struct index *index = &at->indices[choose(m, stacks->n)];
        index->offset += coin(m) ? 1 : -1;
    } else {
        return false;
    }
    message_join_ends(statement_at(&site));
    return touched(m, statement_at(&site)->span, "a message of something else");
}

// Two messages of a part under each other's start: the order in which they are matched.
bool swap_messages(struct mutant *m) {
    struct site one, two;
    if (!choose_message(m, &one) || !choose_message(m, &two) || one.step != two.step)
        return false;
    struct statement *a = statement_at(&one), *b = statement_at(&two), moved = *a;
    if (a == b || one.depth != two.depth)
        return false;
    touched(m, a->span, "two messages exchanged");
    touched(m, b->span, m->what);
    *a = *b;
    *b = moved;
    return true;
}

// An end that is started, or waited for, earlier or later in its block.
bool move_message(struct mutant *m) {
    struct site site;
    if (!choose_message(m, &site))
        return false;
    uint32_t wait = wait_behind(&site), at = wait != NO_ID && coin(m) ? wait : site.at;
    uint32_t to = choose(m, site.block->n);
    touched(m, site.block->statements[at].span, "an end of a message moved");
    touched(m, statement_at(&site)->span, m->what);
    struct statement moved = site.block->statements[at];
    remove_statement(site.block, at);
    block_insert(m->job->arena, site.block, to, moved);
    return to != at;
}

// Who waits for a send as soon as it is started waits until the other has received.
static uint32_t wait_at_once(struct mutant *m, struct block *block, bool all) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < block->n; i++) {
        struct statement *s = &block->statements[i];
        if (s->kind == STATEMENT_LOOP)
            n += wait_at_once(m, &s->loop.body, all);
        if (!is_message(s) || s->start.exchange.kind != COLLECTIVE_SEND || (!all && coin(m)))
            continue;
        struct site site = {block, i, 0, STEP_TRAIN};
        uint32_t wait = wait_behind(&site);
        if (wait == NO_ID || wait == i + 1)
            continue;
        touched(m, s->span, "sends that are waited for at once");
        touched(m, block->statements[wait].span, m->what);
        move_range(m, block, wait, wait + 1, i + 1);
        n++;
    }
    return n;
}

// In one part, or in all.
bool send_first(struct mutant *m) {
    bool everywhere = coin(m), all = coin(m);
    uint32_t n = 0;
    for (uint32_t i = 0; i < m->job->n_programs; i++)
        if (everywhere || m->job->programs[i] == m->program)
            n += wait_at_once(m, &m->job->programs[i]->steps[STEP_TRAIN].body, all);
    return n > 0;
}

// The stage before a rank receives from waits for what it sends, and the other way round: the first
// receive of the step comes behind the first send's wait.
bool receive_last(struct mutant *m) {
    struct site site;
    if (!choose_message(m, &site) || statement_at(&site)->start.exchange.kind != COLLECTIVE_RECEIVE)
        return false;
    uint32_t wait = wait_behind(&site), to = site.block->n;
    for (uint32_t i = wait == NO_ID ? site.block->n : wait + 1; i < to; i++)
        if (is_message(&site.block->statements[i]))
            to = i + 1;
    if (wait == NO_ID || to == site.block->n)
        return false;
    touched(m, statement_at(&site)->span, "a receive behind the next message");
    touched(m, site.block->statements[wait].span, m->what);
    touched(m, site.block->statements[to - 1].span, m->what);
    move_range(m, site.block, wait, wait + 1, to);
    move_range(m, site.block, site.at, site.at + 1, to - 1);
    return true;
}

// ---- items in flight --------------------------------------------------------------------------

static void shorten(struct index *index, int64_t modulus) {
    if (index->modulus)
        index->modulus = (int32_t)modulus;
    else if (index->variable < 0)
        index->offset %= (int32_t)modulus;
}

static bool is_in_flight(const struct buffer *buffer, unsigned *stack) {
    for (*stack = 0; *stack < buffer->stacks.n; ++*stack) {
        enum stack_kind kind = buffer->stacks.list[*stack].kind;
        if ((kind == STACK_IN_FLIGHT || kind == STACK_SLOTS) &&
            buffer->stacks.list[*stack].count > 1)
            return true;
    }
    return false;
}

// A stage has one place fewer than microbatches at once.
bool flight_short(struct mutant *m) {
    buffer_id id = choose(m, m->program->n_buffers);
    unsigned stack = 0;
    while (id < m->program->n_buffers && !is_in_flight(&m->program->buffers[id], &stack))
        id++;
    if (id == m->program->n_buffers)
        return false;
    int64_t modulus = m->program->buffers[id].stacks.list[stack].count - 1;
    touched(m, m->program->buffers[id].span, "one place fewer in flight");
    for (int step = 0; step < N_STEPS; step++) {
        struct statement_walk walk = walk_statements(&m->program->steps[step].body);
        while (walk_next(&walk)) {
            struct access access;
            for (uint32_t i = 0; (access = statement_access(m->program, walk.statement, i)).at; i++)
                if (access.at->buffer == id) {
                    shorten(&access.at->indices[stack], modulus);
                    touched(m, walk.statement->span, m->what);
                }
            message_join_ends(walk.statement);
        }
    }
    return true;
}

// ---- work of a stage --------------------------------------------------------------------------

static bool calls_phase(const struct mutant *m, struct statement *s, unsigned phases) {
    const struct block one = {s, 1, 1};
    struct statement_walk walk = walk_statements(&one);
    struct call *call;
    while ((call = walk_next_call(&walk)))
        if (phases >> m->job->units[call->unit].phase & 1)
            return true;
    return false;
}

// One layer too few or too many, of a loop over a stage's layers.
bool stage_bounds(struct mutant *m) {
    struct sites sites = find_sites(m, LOOPS);
    struct site site = {0};
    uint32_t n = 0;
    for (uint32_t i = 0; i < sites.n; i++) {
        struct statement *s = statement_at(&sites.items[i]);
        if (!loop_has_tasks(&s->loop) &&
            calls_phase(m, s, 1 << PHASE_FORWARD | 1 << PHASE_BACKWARD) && choose(m, ++n) == 0)
            site = sites.items[i];
    }
    if (n == 0)
        return false;
    struct loop *loop = &statement_at(&site)->loop;
    *(coin(m) ? &loop->begin : &loop->end) += coin(m) ? 1 : -1;
    return touched(m, statement_at(&site)->span, "a stage of other layers");
}

// The last work of backward comes behind updates, or updates before it.
bool late_backward(struct mutant *m) {
    struct block *body = &m->program->steps[STEP_TRAIN].body;
    uint32_t last = NO_ID, update = NO_ID;
    for (uint32_t i = 0; i < body->n; i++) {
        if (calls_phase(m, &body->statements[i], 1 << PHASE_BACKWARD) && update == NO_ID)
            last = i;
        if (calls_phase(m, &body->statements[i], 1 << PHASE_UPDATE) && (update == NO_ID || coin(m)))
            update = i;
    }
    if (last == NO_ID || update == NO_ID)
        return false;
    bool moves_update = coin(m);
    uint32_t from = moves_update ? update : last, to = moves_update ? last : update + 1;
    const struct block one = {&body->statements[from], 1, 1};
    struct statement_walk walk = walk_statements(&one);
    while (walk_next(&walk))
        touched(m, walk.statement->span, "the last backward behind an update");
    move_range(m, body, from, from + 1, to);
    return true;
}

// ---- tables at both ends ----------------------------------------------------------------------

// The call that adds what the other end gave, of a part; NO_ID: it has none.
static uint32_t find_tie(const struct mutant *m, const struct program *program) {
    const struct block *body = &program->steps[STEP_TRAIN].body;
    for (uint32_t i = 0; i < body->n; i++)
        if (body->statements[i].kind == STATEMENT_CALL &&
            strncmp(m->job->units[body->statements[i].call.unit].name, "tie", 3) == 0)
            return i;
    return NO_ID;
}

// The sum is left out at one end or at both, or comes behind what is done with the gradient.
bool untie(struct mutant *m) {
    int64_t way = choose(m, 3);
    uint32_t n = 0;
    for (uint32_t i = 0; i < m->job->n_programs; i++) {
        struct program *program = m->job->programs[i];
        struct block *body = &program->steps[STEP_TRAIN].body;
        uint32_t at = find_tie(m, program);
        if (at == NO_ID || (way != 1 && n > 0))
            continue;
        touched(m, body->statements[at].span,
                way == 0   ? "a table's gradient not added at one end"
                : way == 1 ? "a table's gradient added at neither end"
                           : "a table's gradient added later");
        if (way == 2)
            move_range(m, body, at, at + 1, at + 2 + choose(m, body->n - at - 1));
        else
            remove_statement(body, at);
        n++;
    }
    return n > 0;
}

// The whole exchange between the two, at one end or at both.
bool drop_tie(struct mutant *m) {
    bool both = coin(m);
    uint32_t n = 0;
    for (uint32_t i = 0; i < m->job->n_programs; i++) {
        struct program *program = m->job->programs[i];
        struct block *body = &program->steps[STEP_TRAIN].body;
        uint32_t at = find_tie(m, program);
        if (at == NO_ID || (!both && n > 0))
            continue;
        uint32_t begin = at;
        while (begin > 0 && (is_message(&body->statements[begin - 1]) ||
                             body->statements[begin - 1].kind == STATEMENT_WAIT))
            begin--;
        for (; at + 1 > begin; at--) {
            touched(m, body->statements[at].span, "a table's gradient not exchanged");
            if (at == begin || is_message(&body->statements[at]) ||
                body->statements[at].kind == STATEMENT_CALL ||
                body->statements[at].kind == STATEMENT_WAIT)
                remove_statement(body, at);
            if (at == 0)
                break;
        }
        n++;
    }
    return n > 0;
}

// ---- collectives of all parts -----------------------------------------------------------------

static bool is_meeting(const struct program *program, const struct statement *s) {
    return s->kind == STATEMENT_START && !exchange_is_message(&s->start.exchange) &&
           axis_list_mask(&s->start.exchange.axes) & axis_list_mask(&program->part.axes);
}

static bool choose_meeting(struct mutant *m, struct site *site) {
    struct sites sites = find_sites(m, STARTS);
    uint32_t n = 0;
    for (uint32_t i = 0; i < sites.n; i++)
        if (is_meeting(m->program, statement_at(&sites.items[i])) && choose(m, ++n) == 0)
            *site = sites.items[i];
    return n > 0;
}

// In a part: the axes without those of parts; where none is left, the collective is dropped.
static void narrow(struct mutant *m, struct program *program, struct block *body, uint32_t at) {
    struct statement *start = &body->statements[at];
    struct axis_list axes = axis_list_without(&start->start.exchange.axes, &program->part.axes);
    struct site site = {body, at, 0, STEP_TRAIN};
    touched(m, start->span, "a sum over too few axes");
    start->start.exchange.axes = axes;
    if (axes.n > 0)
        return;
    uint32_t wait = wait_behind(&site);
    if (wait != NO_ID) {
        touched(m, body->statements[wait].span, m->what);
        remove_statement(body, wait);
    }
    remove_statement(body, at);
}

// Losses, counts and norms are summed over all ranks: without the pipeline's axes, in all parts or one.
bool narrow_sum(struct mutant *m) {
    struct site site;
    bool all = choose(m, 3);
    if (!choose_meeting(m, &site))
        return false;
    const char *name = m->program->steps[site.step].handles[statement_at(&site)->start.handle].name;
    for (uint32_t i = 0; i < m->job->n_programs; i++) {
        struct program *program = m->job->programs[i];
        struct step *step = &program->steps[site.step];
        uint32_t handle = step_find_handle(step, name);
        for (uint32_t k = step->body.n; (all || program == m->program) && k-- > 0;)
            if (is_meeting(program, &step->body.statements[k]) &&
                step->body.statements[k].start.handle == handle)
                narrow(m, program, &step->body, k);
    }
    return true;
}

// Parts come to collectives in different orders.
bool swap_sums(struct mutant *m) {
    struct site one, two;
    if (!choose_meeting(m, &one) || !choose_meeting(m, &two) || one.block != two.block ||
        one.at == two.at)
        return false;
    struct statement *a = statement_at(&one), *b = statement_at(&two), moved = *a;
    touched(m, a->span, "two sums of all parts exchanged in one");
    touched(m, b->span, m->what);
    *a = *b;
    *b = moved;
    return true;
}

// One part gives something else, or is told it somewhere else.
bool other_summand(struct mutant *m) {
    struct site site;
    if (!choose_meeting(m, &site))
        return false;
    struct transfer *start = &statement_at(&site)->start;
    struct transfer_piece *piece = &start->pieces[choose(m, start->n_pieces)];
    struct reference *at = coin(m) ? &piece->from : &piece->to;
    buffer_id other = other_buffer(m, at->buffer, false);
    if (other == NO_ID || m->program->buffers[other].stacks.n > 0)
        return false;
    at->buffer = other;
    if (coin(m))
        piece->from = piece->to = *at;
    return touched(m, statement_at(&site)->span, "another summand of a part");
}

// What a part gives to a sum twice, or leaves in it.
bool moved_sum(struct mutant *m) {
    struct site site;
    if (!choose_meeting(m, &site))
        return false;
    uint32_t wait = wait_behind(&site), at = wait != NO_ID && coin(m) ? wait : site.at;
    uint32_t to = choose(m, site.block->n + 1);
    touched(m, site.block->statements[at].span, "a sum of all parts moved in one");
    touched(m, statement_at(&site)->span, m->what);
    if (to == at || to == at + 1)
        return false;
    move_range(m, site.block, at, at + 1, to);
    return true;
}
