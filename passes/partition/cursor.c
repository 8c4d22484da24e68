// Partition, the cursor: statements and units that are added to the program that is made.
#include "passes/partition/partition.h"

struct index moved_index(struct cursor at, struct index index) {
    if (at.in_microbatch && index.variable >= 0)
        index.variable++;
    return index;
}

void push_statement(struct partitioner *p, struct cursor at, struct statement statement) {
    block_push(p->program, at.block, statement);
}

void push_unit_call(struct partitioner *p, struct cursor at, struct span span, uint32_t unit,
                    struct reference *operands, struct reference *results) {
    push_statement(
        p, at,
        (struct statement){.kind = STATEMENT_CALL,
                           .span = span,
                           .call = {.unit = unit, .operands = operands, .results = results}});
}

struct cursor inside_loop(struct cursor at, struct statement *loop) {
    at.block = &loop->loop.body;
    at.before = at.behind = NULL;
    at.depth++;
    at.trips = size_times(at.trips, loop->loop.end - loop->loop.begin);
    return at;
}

static bool takes_time(const struct statement *s) {
    return s->kind == STATEMENT_CALL || s->kind == STATEMENT_LOOP;
}

struct cursor at_statement(struct cursor at, const struct statement *statements, uint32_t n,
                           uint32_t i) {
    at.before = at.behind = NULL;
    for (uint32_t k = i; k-- > 0 && !at.before;)
        at.before = takes_time(&statements[k]) ? &statements[k] : NULL;
    for (uint32_t k = i + 1; k < n && !at.behind; k++)
        at.behind = takes_time(&statements[k]) ? &statements[k] : NULL;
    return at;
}

struct statement loop_like(const struct statement *from) {
    struct statement made = *from;
    made.loop.body = (struct block){0};
    return made;
}

uint32_t add_local_unit(struct partitioner *p, const char *name, struct span span) {
    name = names_fresh(&p->unit_names, name, '_');
    uint32_t id = job_add_unit(p->program->job, name, span);
    names_add(&p->unit_names, name, id);
    return id;
}

// ---- units that move states -------------------------------------------------------------------

static bool has_types(const struct partitioner *p, const struct unit *unit,
                      const struct reference *operands, uint32_t n) {
    bool equal = unit->n_parameters == n;
    for (uint32_t i = 0; equal && i < n; i++) {
        struct tensor_type type = buffer_type(p->program, &p->program->buffers[operands[i].buffer]);
        equal = type_equal(&type, &unit->values[i].type);
    }
    return equal;
}

// Those for no unit stand behind those for all.
static struct moving_unit **moving_units_for(const struct partitioner *p, uint32_t of) {
    return &p->moving_units[of == NO_ID ? p->reference->job->n_units : of];
}

uint32_t find_moving_unit(const struct partitioner *p, uint32_t of, enum action action, int level,
                          const struct reference *operands, uint32_t n) {
    for (const struct moving_unit *made = *moving_units_for(p, of); made; made = made->before)
        if (made->action == action && made->level == level &&
            has_types(p, &p->program->job->units[made->unit], operands, n))
            return made->unit;
    return NO_ID;
}

void note_moving_unit(struct partitioner *p, uint32_t of, enum action action, int level,
                      uint32_t unit) {
    struct moving_unit **last = moving_units_for(p, of);
    const struct moving_unit made = {unit, action, level, *last};
    *last = arena_copy(p->arena, &made, sizeof made);
}
