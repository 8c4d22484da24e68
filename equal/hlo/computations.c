// Computations: the line that names one, its instructions, and which of them are its parameters.
#include "equal/hlo/computations.h"

#include "equal/hlo/instructions.h"

#include <inttypes.h>
#include <string.h>

// `(a: f32[], b: f32[]) -> f32[]`: the instructions say it again.
static bool skip_signature(struct scanner *s) {
    if (scan_peek(s) != '(')
        return true;
    if (!scan_balanced(s))
        return false;
    if (!scan_take(s, '-'))
        return true;
    return scan_need(s, '>') && skip_shape(s);
}

static bool read_body(struct reader *r, uint32_t *root) {
    struct scanner *s = &r->s;
    *root = UINT32_MAX;
    while (!scan_take(s, '}')) {
        bool is_root;
        scan_blanks(s);
        struct word line = {s->at, 1};
        if (s->at == s->end)
            return scan_fail(s, E902, (struct word){s->end, 0},
                             "the text ends inside of computation `%.*s`", WORD(r->name));
        if (!read_instruction(r, &is_root))
            return false;
        if (is_root && *root != UINT32_MAX)
            return scan_fail(s, E902, line, "a second ROOT in one computation");
        if (is_root)
            *root = r->n - 1;
    }
    if (r->n == 0)
        return scan_fail(s, E902, r->name, "a computation without instructions");
    if (*root == UINT32_MAX)
        *root = r->n - 1;
    return true;
}

// Parameters by their number, each of which there must be once.
static bool find_parameters(struct reader *r, struct computation *computation) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < r->n; i++)
        n += r->instructions[i].primitive == PRIM_PARAMETER;
    uint32_t *parameters = ARENA_ARRAY(r->s.arena, uint32_t, n);
    memset(parameters, 0xff, n * sizeof *parameters);
    for (uint32_t i = 0; i < r->n; i++) {
        const struct instruction *p = &r->instructions[i];
        if (p->primitive != PRIM_PARAMETER)
            continue;
        int64_t number = p->attributes->index;
        struct word at = {r->s.begin + p->span.begin, p->span.end - p->span.begin};
        if (number < 0 || number >= n)
            return scan_fail(&r->s, E902, at, "parameters are numbered from 0 on without gaps");
        if (parameters[number] != UINT32_MAX)
            return scan_fail(&r->s, E902, at, "a second parameter of this number");
        parameters[number] = i;
    }
    computation->parameters = parameters;
    computation->n_parameters = n;
    return true;
}

// `, execution_thread="main"`, behind the closing brace.
static bool skip_behind(struct scanner *s) {
    while (scan_take(s, ','))
        if (!scan_word(s).length || !scan_need(s, '=') || !scan_value(s))
            return scan_expected(s, "an attribute");
    return true;
}

bool read_computation(struct reader *r, struct word name) {
    struct scanner *s = &r->s;
    struct computation computation = {.n = 0};
    r->name = name;
    r->n = 0;
    r->size = (struct called_size){0};
    if (words_find(&r->computation_names, name) != UINT32_MAX)
        return scan_fail(s, E902, name, "a second computation `%.*s`", WORD(name));
    if (!skip_signature(s) || !scan_need(s, '{') || !read_body(r, &computation.root) ||
        !skip_behind(s) || !find_parameters(r, &computation))
        return false;
    r->size.n_executed += r->n;
    r->n_read += r->n;
    if (r->size.depth > MAX_CALL_DEPTH)
        return scan_fail(s, E907, name, "calls inside of calls, more than %d deep", MAX_CALL_DEPTH);
    if (r->size.n_executed > MAX_CALLED + MAX_CALLED_TIMES * r->n_read)
        return scan_fail(s, E907, name,
                         "calls inside of calls, which are %" PRIu64 " instructions of %" PRIu64,
                         r->size.n_executed, r->n_read);
    computation.name =
        words_string(&r->computation_names, words_number(&r->computation_names, name), s->arena);
    computation.instructions =
        arena_copy(s->arena, r->instructions, r->n * sizeof *r->instructions);
    computation.n = r->n;
    uint32_t n_sizes = r->n_computations;
    ARENA_PUSH(s->scratch, r->sizes, n_sizes, r->sizes_cap, r->size);
    ARENA_PUSH(s->scratch, r->computations, r->n_computations, r->computations_cap, computation);
    return true;
}
