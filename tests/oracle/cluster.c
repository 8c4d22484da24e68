// See devices.h: the statements of a step, of all parts side by side.
//
// A part goes on until it has to wait for another, then the next one does. Waits that read what
// other parts hold come last, when nobody can do anything else: then whatever may be written over
// what is read has been.
#include <string.h>

#include "ir/check.h"
#include "ir/limits.h"
#include "tests/oracle/flights.h"

struct entered {
    const struct block *block;
    uint32_t next;
    const struct loop *loop; // of which it is the body; NULL: the step's
    int64_t iteration;
};
struct position {
    struct entered open[LIMIT_LOOP_DEPTH + 1];
    int n_open;
    int64_t variables[LIMIT_LOOP_DEPTH];
};

static void open_part(struct cluster *c, uint32_t side) {
    const struct program *program = c->job->programs[side];
    struct devices *d = &c->parts[side];
    *d = (struct devices){.program = program,
                          .cluster = c,
                          .arena = c->arena,
                          .side = side,
                          .n = mesh_devices(&c->job->mesh)};
    for (int64_t device = 0; device < d->n; device++) {
        int64_t number = mesh_part_of(&c->job->mesh, device, &program->part.axes);
        for (int timing = 0; timing < N_TIMINGS; timing++) {
            int64_t bytes = arena_begin(program, N_TIERS);
            if (number < program->part.begin || number >= program->part.end)
                continue;
            d->memory[timing][device] = arena_alloc(c->arena, (size_t)bytes + 1);
            memory_spoil(d->memory[timing][device], bytes);
        }
    }
}

struct cluster *cluster_new(struct arena *arena, const struct job *job) {
    struct cluster *c = ARENA_NEW(arena, struct cluster);
    *c = (struct cluster){.job = job, .arena = arena, .n_parts = job->n_programs};
    CHECK(mesh_devices(&job->mesh) <= MAX_DEVICES && !job_needs_plan(job));
    c->parts = ARENA_ARRAY(arena, struct devices, c->n_parts);
    for (uint32_t i = 0; i < c->n_parts; i++)
        open_part(c, i);
    return c;
}

static void forget(const struct program *program, unsigned char *memory) {
    struct arena scratch = {0};
    int64_t bytes = arena_begin(program, N_TIERS);
    unsigned char *before = arena_copy(&scratch, memory, (size_t)bytes);
    memory_spoil(memory, bytes);
    for (buffer_id i = 0; i < program->n_buffers; i++) {
        const struct buffer *buffer = &program->buffers[i];
        int64_t at = arena_begin(program, buffer->tier) + buffer->offset_bytes;
        if (buffer_is_persistent(buffer) && buffer->window_of == NO_ID)
            memcpy(memory + at, before + at, (size_t)buffer_bytes(program, buffer));
    }
    arena_free(&scratch);
}

void cluster_forget(struct cluster *c) {
    for (uint32_t i = 0; i < c->n_parts; i++)
        for (int timing = 0; timing < N_TIMINGS; timing++) {
            struct devices *d = &c->parts[i];
            for (int64_t device = devices_next(d, -1); device < d->n;
                 device = devices_next(d, device))
                forget(d->program, d->memory[timing][device]);
        }
}

// ---- statements -------------------------------------------------------------------------------

// With the padding: what is gathered or reduced with it must be zero.
static void zero(struct devices *d, struct reference r) {
    int64_t bytes = buffer_item_bytes(d->program, &d->program->buffers[r.buffer]);
    for (int timing = 0; timing < N_TIMINGS; timing++)
        for (int64_t device = devices_next(d, -1); device < d->n; device = devices_next(d, device))
            if (flight_has_item(d, device, r))
                memset(flight_place(d, timing, device, r), 0, (size_t)bytes);
}

static bool run_statement(struct devices *d, const struct statement *s) {
    int64_t *variables = d->position->variables;
    int depth = d->position->n_open - 1;
    switch (s->kind) {
    case STATEMENT_CALL:
        return call_execute(d, s, variables, depth);
    case STATEMENT_START:
        return transfer_start(d, s, variables, depth);
    case STATEMENT_WAIT:
        return transfer_wait(d, s, variables);
    case STATEMENT_ZERO:
        zero(d, reference_fixed(s->zero, variables));
        return true;
    case STATEMENT_FREE:
        for (int timing = 0; timing < N_TIMINGS; timing++)
            for (uint32_t i = 0; i < s->free.n_items; i++)
                item_spoil(d, timing, reference_fixed(s->free.items[i], variables));
        return true;
    case STATEMENT_TASK:
        return true;
    default:
        CHECK(!"a statement that is no loop");
        return false;
    }
}

// ---- where a part stands ----------------------------------------------------------------------

static void enter(struct position *at, const struct block *block, const struct loop *loop) {
    CHECK(at->n_open <= LIMIT_LOOP_DEPTH);
    if (loop)
        at->variables[at->n_open - 1] = loop_variable(loop, at->n_open - 1, 0, at->variables);
    at->open[at->n_open++] = (struct entered){.block = block, .loop = loop};
}

// Begins the next iteration of the innermost loop, or leaves it.
static void end_iteration(struct position *at) {
    struct entered *open = &at->open[at->n_open - 1];
    const struct loop *loop = open->loop;
    if (loop && ++open->iteration < loop->end - loop->begin) {
        open->next = 0;
        at->variables[at->n_open - 2] =
            loop_variable(loop, at->n_open - 2, open->iteration, at->variables);
    } else {
        at->n_open--;
    }
}

// What a part executes next; NULL: its step has ended.
static const struct statement *next_statement(struct position *at) {
    while (at->n_open > 0) {
        struct entered *open = &at->open[at->n_open - 1];
        if (open->next == open->block->n) {
            end_iteration(at);
            continue;
        }
        const struct statement *s = &open->block->statements[open->next];
        if (s->kind != STATEMENT_LOOP)
            return s;
        open->next++;
        if (s->loop.end > s->loop.begin)
            enter(at, &s->loop.body, &s->loop);
    }
    return NULL;
}

enum standing { GOES_ON, TAKES, WAITS, HAS_ENDED };

static struct flight *awaited(struct devices *d, const struct statement *s) {
    if (s->kind != STATEMENT_WAIT)
        return NULL;
    struct flight *flight = flight_in(d, s->wait.handle, s->wait.index, d->position->variables);
    return flight->start && flight->of ? flight : NULL;
}

static enum standing standing_of(struct devices *d) {
    const struct statement *s = next_statement(d->position);
    bool takes = false;
    if (!s)
        return HAS_ENDED;
    struct flight *flight = awaited(d, s);
    return !flight ? GOES_ON : !between_is_ready(flight, &takes) ? WAITS : takes ? TAKES : GOES_ON;
}

// ---- steps ------------------------------------------------------------------------------------

static void begin(struct devices *d, struct arena *arena, enum step_kind kind) {
    int64_t slots = 0;
    d->step = &d->program->steps[kind];
    CHECK(d->step->present);
    for (uint32_t i = 0; i < d->step->n_handles; i++)
        slots += d->step->handles[i].slots;
    d->flights = ARENA_ARRAY(arena, struct flight, slots + 1);
    d->position = ARENA_NEW(arena, struct position);
    *d->position = (struct position){.n_open = 0};
    enter(d->position, &d->step->body, NULL);
}

static bool execute_next(struct devices *d) {
    const struct statement *s = next_statement(d->position);
    d->position->open[d->position->n_open - 1].next++;
    return run_statement(d, s);
}

// Whether any part did anything. False, too: they are stuck.
static bool go_on(struct cluster *c) {
    bool went = false;
    for (uint32_t i = 0; i < c->n_parts && !c->stuck; i++)
        while (!c->stuck && standing_of(&c->parts[i]) == GOES_ON)
            went |= execute_next(&c->parts[i]);
    for (uint32_t i = 0; i < c->n_parts && !c->stuck && !went; i++)
        if (standing_of(&c->parts[i]) == TAKES)
            went = execute_next(&c->parts[i]);
    return went && !c->stuck;
}

// All that still wait do so for ever.
static void check_ended(struct cluster *c) {
    for (uint32_t i = 0; i < c->n_parts; i++) {
        struct devices *d = &c->parts[i];
        if (standing_of(d) != WAITS)
            continue;
        const struct statement *wait = next_statement(d->position);
        devices_stuck(d, wait->span, "all that have not ended wait for each other");
        devices_stuck(d, awaited(d, wait)->start->span, c->stuck);
    }
}

static void end(struct devices *d) {
    int64_t slots = 0;
    for (uint32_t i = 0; i < d->step->n_handles; i++)
        slots += d->step->handles[i].slots;
    for (int64_t i = 0; i < slots; i++) {
        if (d->flights[i].start && !d->cluster->stuck)
            devices_stuck(d, d->flights[i].start->span, "nothing waits for this transfer");
        if (d->flights[i].start)
            arena_free(&d->flights[i].arena);
    }
}

bool cluster_run(struct cluster *c, enum step_kind kind) {
    struct arena arena = {0};
    CHECK(!c->stuck);
    c->between = between_new(&arena, c);
    for (uint32_t i = 0; i < c->n_parts; i++)
        begin(&c->parts[i], &arena, kind);
    while (go_on(c))
        ;
    if (!c->stuck)
        check_ended(c);
    for (uint32_t i = 0; i < c->n_parts; i++)
        end(&c->parts[i]);
    if (!c->stuck)
        between_is_over(c);
    arena_free(&arena);
    return !c->stuck;
}
