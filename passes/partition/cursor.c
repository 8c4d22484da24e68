// Partition, the cursor: where the next statement goes.
#include "passes/partition/plan.h"

struct index moved_index(struct cursor at, struct index index) {
    if (at.in_microbatch && index.variable >= 0)
        index.variable++;
    return index;
}

struct cursor inside_loop(struct cursor at, struct statement *loop) {
    at.block = &loop->loop.body;
    at.before = at.behind = NULL;
    at.loops[at.depth++] = &loop->loop;
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
