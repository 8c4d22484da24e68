// Matches the parameters of two programs: by their paths; where arguments have other names, by what stands behind
// these; and where no names agree, by order.
#include "equal/layout/match.h"

#include <ctype.h>
#include <string.h>

#include "ir/names.h"

const struct instruction *entry_parameter(const struct graph *graph, uint32_t number) {
    const struct computation *entry = &graph->computations[graph->entry];
    return &entry->instructions[entry->parameters[number]];
}

const char *entry_parameter_name(const struct instruction *parameter, struct arena *arena) {
    if (parameter->path)
        return parameter->path;
    size_t length = strlen(parameter->name);
    while (length && isdigit((unsigned char)parameter->name[length - 1]))
        length--;
    return length > 1 && parameter->name[length - 1] == '.'
               ? arena_string(arena, parameter->name, length - 1)
               : parameter->name;
}

const char *name_key(const char *name, struct arena *arena) {
    char *key = arena_alloc(arena, strlen(name) + 1), *to = key;
    for (; *name; name++)
        if (isalnum((unsigned char)*name))
            *to++ = *name;
        else if (to > key && to[-1] != '_')
            *to++ = '_';
    if (to > key && to[-1] == '_')
        to--;
    *to = 0;
    return key;
}

bool is_key_tail(const char *tail, const char *key) {
    size_t length = strlen(key), tail_length = strlen(tail);
    return tail_length && tail_length <= length && strcmp(key + length - tail_length, tail) == 0 &&
           (tail_length == length || key[length - tail_length - 1] == '_');
}

uint32_t find_by_name(const char *name, const char *const *keys, uint32_t n, uint32_t *found,
                      struct arena *arena) {
    const char *key = name_key(name, arena);
    uint32_t n_found = 0;
    for (uint32_t i = 0; i < n; i++)
        if (strcmp(keys[i], key) == 0)
            found[n_found++] = i;
    for (uint32_t i = 0, is_whole = n_found > 0; i < n && !is_whole; i++)
        if (is_key_tail(key, keys[i]))
            found[n_found++] = i;
    return n_found;
}

static bool is_word_byte(char c) {
    return isalnum((unsigned char)c) || c == '_';
}

// The last word of a path: attn_norm of layers[0]['attn_norm'].
static const char *last_word(const char *path, struct arena *arena) {
    size_t end = strlen(path);
    while (end && !is_word_byte(path[end - 1]))
        end--;
    size_t begin = end;
    while (begin && is_word_byte(path[begin - 1]))
        begin--;
    return arena_string(arena, path + begin, end - begin);
}

bool propose_names(struct diagnostic *d, struct span span, const char *given,
                   const char *const *names, uint32_t n, struct arena *arena) {
    struct names known = {.arena = arena};
    const char **candidates = ARENA_ARRAY(arena, const char *, 2 * (size_t)n);
    uint32_t n_candidates = 0;
    for (uint32_t i = 0; i < 2 * n; i++) {
        const char *name = i < n ? names[i] : last_word(names[i - n], arena);
        if (names_find(&known, name) != NOT_NAMED)
            continue;
        names_add(&known, name, n_candidates);
        candidates[n_candidates++] = name;
    }
    return diagnostic_meant(d, span, given, candidates, n_candidates);
}

// ---- keys -------------------------------------------------------------------------------------

struct keyed_parameters {
    const char **keys;
    uint32_t n;
};

// What stands behind the name of the argument; all of the path, if nothing does.
static const char *inside_argument(const char *path) {
    const char *inside = strpbrk(path, "[.");
    return inside && inside > path ? inside : path;
}

static struct keyed_parameters keyed(const struct graph *graph, bool without_argument,
                                     struct arena *arena) {
    struct keyed_parameters of = {.n = graph->computations[graph->entry].n_parameters};
    of.keys = ARENA_ARRAY(arena, const char *, of.n);
    for (uint32_t i = 0; i < of.n; i++) {
        const struct instruction *parameter = entry_parameter(graph, i);
        const char *name = entry_parameter_name(parameter, arena);
        bool is_shortened = without_argument && parameter->path;
        of.keys[i] = name_key(is_shortened ? inside_argument(name) : name, arena);
    }
    return of;
}

enum { UNMATCHED = UINT32_MAX };

// Each parameter of one takes the first of the many that has its key and is not taken: where several have one key,
// they are in order. Returns how many were matched.
static uint32_t match_keys(const struct keyed_parameters *one, const struct keyed_parameters *many,
                           uint32_t *many_of, bool *has_equal_keys, struct arena *arena) {
    struct names names = {.arena = arena};
    uint32_t *first = ARENA_ARRAY(arena, uint32_t, many->n);
    uint32_t *next = ARENA_ARRAY(arena, uint32_t, many->n);
    uint32_t n_matched = 0;
    *has_equal_keys = false;
    for (uint32_t i = many->n; i-- > 0;) { // from the end, so that the first comes to the front
        uint32_t group = names_find(&names, many->keys[i]);
        next[i] = UNMATCHED;
        if (group == NOT_NAMED) {
            names_add(&names, many->keys[i], i);
            first[i] = i;
        } else {
            next[i] = first[group];
            first[group] = i;
            *has_equal_keys = true;
        }
    }
    for (uint32_t i = 0; i < one->n; i++) {
        uint32_t group = names_find(&names, one->keys[i]);
        many_of[i] = group == NOT_NAMED ? UNMATCHED : first[group];
        if (many_of[i] == UNMATCHED)
            continue;
        first[group] = next[many_of[i]];
        n_matched++;
    }
    return n_matched;
}

// ---- what is left -----------------------------------------------------------------------------

struct left_over { // parameters without a counterpart
    uint32_t *of;
    uint32_t n;
    bool has_path; // one of them has
};

static void leave(struct left_over *left, const struct graph *graph, uint32_t number) {
    left->of[left->n++] = number;
    left->has_path |= entry_parameter(graph, number)->path != NULL;
}

static void find_left(const struct graph *one, const struct graph *many,
                      const struct matching *matching, struct left_over *of_one,
                      struct left_over *of_many, struct arena *arena) {
    uint32_t n_one = one->computations[one->entry].n_parameters;
    uint32_t n_many = many->computations[many->entry].n_parameters;
    bool *taken = ARENA_ARRAY(arena, bool, n_many);
    *of_one = (struct left_over){.of = ARENA_ARRAY(arena, uint32_t, n_one)};
    *of_many = (struct left_over){.of = ARENA_ARRAY(arena, uint32_t, n_many)};
    for (uint32_t i = 0; i < n_one; i++)
        if (matching->many[i] == UNMATCHED)
            leave(of_one, one, i);
        else
            taken[matching->many[i]] = true;
    for (uint32_t i = 0; i < n_many; i++)
        if (!taken[i])
            leave(of_many, many, i);
}

enum { SHOWN_PARAMETERS = 8 };

// Reports the parameters of `graph` that the other program lacks, with a name there that may be meant.
static void report_left(const struct graph *graph, const struct left_over *left,
                        const struct graph *other, const struct left_over *other_left,
                        const char *lacks, struct arena *arena, struct diagnostics *diagnostics) {
    const char **names = ARENA_ARRAY(arena, const char *, other_left->n);
    for (uint32_t i = 0; i < other_left->n; i++)
        names[i] = entry_parameter_name(entry_parameter(other, other_left->of[i]), arena);
    for (uint32_t i = 0; i < left->n && i < SHOWN_PARAMETERS; i++) {
        const struct instruction *parameter = entry_parameter(graph, left->of[i]);
        const char *name = entry_parameter_name(parameter, arena);
        struct diagnostic *d =
            report(diagnostics, E915, parameter->span, "%s has no parameter `%s`", lacks, name);
        const char *near = nearest_name(name, names, other_left->n);
        if (near)
            diagnostic_help(d,
                            "`%s` is there and not here: give both one name, or, if it is "
                            "another one, both programs the same parameters",
                            near);
        else
            diagnostic_help(d, "make both programs of the same arguments; JAX drops those that a "
                               "function does not use, unless `jit` is given `keep_unused=True`");
        if (i + 1 == SHOWN_PARAMETERS && left->n > SHOWN_PARAMETERS)
            diagnostic_note(d, "and %u more like it", left->n - SHOWN_PARAMETERS);
    }
}

static void report_number(const struct graph *one, const struct graph *many,
                          struct diagnostics *diagnostics) {
    const struct computation *of_one = &one->computations[one->entry];
    const struct computation *of_many = &many->computations[many->entry];
    const struct computation *longer =
        of_one->n_parameters > of_many->n_parameters ? of_one : of_many;
    uint32_t last = longer->parameters[longer->n_parameters - 1];
    struct diagnostic *d =
        report(diagnostics, E915, longer->instructions[last].span,
               "one device's program has %u parameter%s, that of the many has %u",
               of_one->n_parameters, plural_s(of_one->n_parameters), of_many->n_parameters);
    diagnostic_note(d, "no name is in both, so that they would be matched by order");
    diagnostic_help(d, "make both programs of the same arguments; JAX drops those that a function "
                       "does not use, unless `jit` is given `keep_unused=True`");
}

// ---- matching ---------------------------------------------------------------------------------

static bool match_by_order(const struct graph *one, const struct graph *many,
                           struct matching *matching, struct diagnostics *diagnostics) {
    uint32_t n = one->computations[one->entry].n_parameters;
    matching->by = n ? MATCHED_BY_ORDER : MATCHED_BY_NAME;
    if (n != many->computations[many->entry].n_parameters) {
        report_number(one, many, diagnostics);
        return false;
    }
    for (uint32_t i = 0; i < n; i++)
        matching->many[i] = i;
    return true;
}

// Matches the parameters without names, which are as many, by order. False: some have names, or are more.
static bool match_left(const struct left_over *one, const struct left_over *many,
                       struct matching *matching) {
    if (one->n != many->n || (one->has_path && many->has_path))
        return false;
    for (uint32_t i = 0; i < one->n; i++) {
        matching->many[one->of[i]] = many->of[i];
        matching->by = MATCHED_BY_ORDER;
    }
    return true;
}

static uint32_t match_level(const struct graph *one, const struct graph *many,
                            bool without_argument, struct matching *matching, struct arena *arena) {
    struct keyed_parameters of_one = keyed(one, without_argument, arena);
    struct keyed_parameters of_many = keyed(many, without_argument, arena);
    bool has_equal_keys;
    matching->many = ARENA_ARRAY(arena, uint32_t, of_one.n);
    uint32_t n = match_keys(&of_one, &of_many, matching->many, &has_equal_keys, arena);
    matching->by = has_equal_keys ? MATCHED_BY_ORDER : MATCHED_BY_NAME;
    return n;
}

bool match_parameters(const struct graph *one, const struct graph *many, struct matching *matching,
                      struct arena *arena, struct diagnostics *diagnostics) {
    struct matching inside;
    if (one->has_numbered_parameters || many->has_numbered_parameters) {
        matching->many = ARENA_ARRAY(arena, uint32_t, one->computations[one->entry].n_parameters);
        return match_by_order(one, many, matching, diagnostics);
    }
    uint32_t n = match_level(one, many, false, matching, arena);
    uint32_t n_inside = match_level(one, many, true, &inside, arena);
    if (n_inside > n)
        *matching = inside;
    if (!n && !n_inside)
        return match_by_order(one, many, matching, diagnostics);
    struct left_over of_one, of_many;
    find_left(one, many, matching, &of_one, &of_many, arena);
    if (match_left(&of_one, &of_many, matching))
        return true;
    report_left(one, &of_one, many, &of_many, "the program of the many", arena, diagnostics);
    report_left(many, &of_many, one, &of_one, "the program of one device", arena, diagnostics);
    return false;
}
