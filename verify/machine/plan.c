// Which of two buffers that share bytes is where it should not be. Both are needed at once, or one
// still is when the other is written; neither shows which is wrong, but a buffer that was put
// somewhere else is in the way of others there, and those only of it.
#include "verify/machine/machine.h"

// A life goes from where a statement first names a buffer to where the last one does before it is
// freed or consumed, in the order of the text.
struct life {
    buffer_id of;
    uint32_t begin, end;
};
struct lives {
    const struct abstract_machine *m;
    struct life *open;   // of every buffer; begin 0: none
    struct life *closed; // all others
    uint32_t n, cap;
    uint32_t now; // statements and loops' ends, from 1
};

static void close_life(struct lives *lives, buffer_id id) {
    struct life *life = &lives->open[owner_of(lives->m->program, id)];
    if (life->begin)
        ARENA_PUSH(lives->m->world->arena, lives->closed, lives->n, lives->cap, *life);
    life->begin = 0;
}

static void name_buffer(struct lives *lives, buffer_id id) {
    struct life *life = &lives->open[owner_of(lives->m->program, id)];
    if (!life->begin)
        *life = (struct life){.of = owner_of(lives->m->program, id), .begin = lives->now};
    life->end = lives->now;
}

static bool is_kept(const struct unit *unit, uint32_t parameter) {
    for (uint32_t i = 0; i < unit->n_results; i++)
        if (unit->results[i].in_parameter == parameter)
            return true;
    return !unit->consumed[parameter];
}

static void look_at_call(struct lives *lives, const struct call *call) {
    const struct unit *unit = &lives->m->program->job->units[call->unit];
    for (uint32_t i = 0; i < unit->n_parameters; i++)
        if (!is_kept(unit, i))
            close_life(lives, call->operands[i].buffer);
    buffer_id frame = program_frame(lives->m->program, call->unit);
    if (frame != NO_ID && unit->frame_bytes > 0) {
        name_buffer(lives, frame);
        close_life(lives, frame);
    }
}

// What lived before a loop and is named in it is needed in its next iteration, too.
static void end_loop(struct lives *lives, uint32_t begin) {
    lives->now++;
    for (buffer_id i = 0; i < lives->m->program->n_buffers; i++)
        if (lives->open[i].begin && lives->open[i].begin < begin && lives->open[i].end > begin)
            lives->open[i].end = lives->now;
}

static void look_at_block(struct lives *lives, const struct block *block) {
    for (uint32_t i = 0; i < block->n; i++) {
        const struct statement *statement = &block->statements[i];
        uint32_t begin = ++lives->now;
        struct access access;
        if (statement->kind == STATEMENT_LOOP) {
            look_at_block(lives, &statement->loop.body);
            end_loop(lives, begin);
        }
        for (uint32_t k = 0; (access = statement_access(lives->m->program, statement, k)).at; k++)
            if (statement->kind == STATEMENT_FREE)
                close_life(lives, access.at->buffer);
            else
                name_buffer(lives, access.at->buffer);
        if (statement->kind == STATEMENT_CALL)
            look_at_call(lives, &statement->call);
    }
}

// What the host writes lives from the beginning, and what it reads to the end.
static void look_at_step(struct lives *lives, const struct step *step) {
    const struct buffer *buffers = lives->m->program->buffers;
    uint32_t n = lives->m->program->n_buffers;
    lives->now++;
    for (buffer_id i = 0; i < n; i++)
        if (buffers[i].class == CLASS_INPUT)
            name_buffer(lives, i);
    look_at_block(lives, &step->body);
    lives->now++;
    for (buffer_id i = 0; i < n; i++) {
        if (lives->open[i].begin && buffers[i].class != CLASS_INPUT && buffers[i].host != HOST_NONE)
            name_buffer(lives, i);
        close_life(lives, i);
    }
}

static struct lives find_lives(const struct abstract_machine *m) {
    struct lives lives = {.m = m,
                          .open = ARENA_ARRAY(m->world->arena, struct life, m->program->n_buffers)};
    for (int s = 0; s < N_STEPS; s++)
        look_at_step(&lives, &m->program->steps[s]);
    return lives;
}

// Whether both are needed at once, or one of them in every step.
static bool live_at_once(const struct lives *lives, buffer_id a, buffer_id b) {
    const struct buffer *buffers = lives->m->program->buffers;
    bool found = class_persistent[buffers[a].class] || class_persistent[buffers[b].class];
    for (uint32_t i = 0; i < lives->n && !found; i++)
        for (uint32_t k = 0; lives->closed[i].of == a && k < lives->n && !found; k++)
            found = lives->closed[k].of == b && lives->closed[k].begin <= lives->closed[i].end &&
                    lives->closed[i].begin <= lives->closed[k].end;
    return found;
}

// How many others live at once with the buffer and share bytes with it.
static uint32_t in_the_way(const struct lives *lives, buffer_id id) {
    uint32_t n = 0;
    for (buffer_id i = 0; i < lives->m->program->n_buffers; i++)
        n += i != id && owner_of(lives->m->program, i) == i && buffers_meet(lives->m, i, id) &&
             live_at_once(lives, i, id);
    return n;
}

buffer_id plan_misplaced(const struct abstract_machine *m, buffer_id a, buffer_id b) {
    if (!m->proof->history)
        return NO_ID;
    struct lives lives = find_lives(m);
    uint32_t ours = in_the_way(&lives, a), theirs = in_the_way(&lives, b);
    return ours == theirs ? NO_ID : ours > theirs ? a : b;
}
