// See followed.h.
#include "passes/schedule/followed.h"

static bool is_executed(const struct statement *s) {
    return s->kind != STATEMENT_LOOP && s->kind != STATEMENT_FREE;
}

static uint32_t *number_places(const struct step *step, struct arena *arena) {
    uint32_t *numbers = NULL, n = 0, cap = 0, number = 0;
    struct statement_walk walk = walk_statements(&step->body);
    while (walk_next(&walk)) {
        ARENA_PUSH(arena, numbers, n, cap, number);
        number += is_executed(walk.statement);
    }
    return numbers;
}

uint32_t *numbered_ids(const struct step *step, struct arena *arena) {
    uint32_t *ids = NULL, n = 0, cap = 0;
    struct statement_walk walk = walk_statements(&step->body);
    while (walk_next(&walk))
        if (is_executed(walk.statement))
            ARENA_PUSH(arena, ids, n, cap, walk.statement->id);
    return ids;
}

static struct followed *follow(const struct program *program, enum step_kind kind, bool whole) {
    struct arena arena = {0};
    struct followed *followed = ARENA_NEW(&arena, struct followed);
    followed->shortened = whole ? not_shortened(program) : shorten(program, kind, &arena);
    followed->uses = uses_of(followed->shortened.program, kind, &arena);
    followed->numbers = number_places(&program->steps[kind], &arena);
    followed->arena = arena;
    return followed;
}

struct followed *follow_step(const struct program *program, enum step_kind kind) {
    return follow(program, kind, false);
}

struct followed *follow_whole_step(const struct program *program, enum step_kind kind) {
    return follow(program, kind, true);
}

void followed_free(struct followed *followed) {
    struct arena arena = {0};
    if (followed)
        arena = followed->arena;
    arena_free(&arena);
}
