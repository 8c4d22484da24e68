// Computations. What one calls stands before it, so whoever calls itself, also through others, names what is not known
// yet.
#include "equal/hlo/computations.h"

#include "equal/hlo/instructions.h"

#include <string.h>

// Whether the text defines a computation of this name from here on: a line that begins with it and opens a brace.
static bool is_defined_later(const struct scanner *s, const char *at, struct word name) {
    while ((at = memchr(at, '\n', (size_t)(s->end - at)))) {
        at++;
        const char *begin = strncmp(at, "ENTRY ", 6) == 0 ? at + 6 : at;
        begin += *begin == '%';
        if ((size_t)(s->end - begin) > name.length && memcmp(begin, name.text, name.length) == 0 &&
            (begin[name.length] == ' ' || begin[name.length] == '('))
            return true;
    }
    return false;
}

uint32_t find_computation(struct reader *r, struct word name) {
    uint32_t number = words_find(&r->computation_names, name);
    if (number < r->n_computations)
        return number;
    bool is_itself =
        name.length == r->name.length && memcmp(name.text, r->name.text, name.length) == 0;
    bool is_later = is_defined_later(&r->s, r->s.at, name);
    struct diagnostic *d =
        scan_report(&r->s, E904, name,
                    is_itself  ? "`%.*s` calls itself"
                    : is_later ? "computation `%.*s` is called before it is defined"
                               : "no computation is named `%.*s`",
                    WORD(name));
    if (d && is_later)
        diagnostic_help(d,
                        "XLA prints what is called before its callers, and no calls in a circle");
    return UINT32_MAX;
}

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
    r->n = r->depth = 0;
    if (words_find(&r->computation_names, name) != UINT32_MAX)
        return scan_fail(s, E902, name, "a second computation `%.*s`", WORD(name));
    if (!skip_signature(s) || !scan_need(s, '{') || !read_body(r, &computation.root) ||
        !skip_behind(s) || !find_parameters(r, &computation))
        return false;
    if (r->depth > MAX_CALL_DEPTH)
        return scan_fail(s, E907, name, "calls inside of calls, more than %d deep", MAX_CALL_DEPTH);
    computation.name =
        words_string(&r->computation_names, words_number(&r->computation_names, name), s->arena);
    computation.instructions =
        arena_copy(s->arena, r->instructions, r->n * sizeof *r->instructions);
    computation.n = r->n;
    uint32_t n_depths = r->n_computations;
    ARENA_PUSH(s->scratch, r->depths, n_depths, r->depths_cap, r->depth);
    ARENA_PUSH(s->scratch, r->computations, r->n_computations, r->computations_cap, computation);
    return true;
}
