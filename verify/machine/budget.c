// How much of a step is followed one by one, and what is said where that is not enough.
#include "verify/machine/machine.h"

// By one in it: over groups, or over turns, of layers.
static bool loop_is_gone_with(const struct loop *loop) {
    for (uint32_t i = 0; i < loop->body.n; i++)
        if (loop_has_stride(&loop->body.statements[i]))
            return true;
    return false;
}

// Whether it is, or is in, a loop over groups or turns, as the strategy asked for.
static bool is_of_groups(const struct cursor *cursor, const struct statement *statement) {
    bool found = statement->kind == STATEMENT_LOOP && loop_is_gone_with(&statement->loop);
    for (int i = 0; i < cursor->depth; i++)
        found = found || loop_is_gone_with(&cursor->loops[i]->loop);
    return found;
}

struct fault *step_overrun(struct abstract_machine *m, const struct statement *statement,
                           const char *why) {
    struct fault *fault = fault_make(m->proof, E491, statement->span, NULL, "%s", why);
    fault->help = is_of_groups(m->cursor, statement)
                      ? "loops over groups and turns of layers may have to be followed one by one: "
                        "write `unit = layer` for `layers(2)`, and ranges as `layers[0:8]` for "
                        "`layers[::2]`, or make the model less deep"
                      : "let each iteration do with its layer or microbatch what the one before "
                        "did with its own, or lower the loop's bound";
    m->overrun = true;
    fault_insist(m->proof, fault);
    return fault;
}

bool has_memory(const struct arena *arena) {
    return arena_used_bytes(arena) <= (size_t)LIMIT_CHECK_BYTES;
}
