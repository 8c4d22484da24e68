// Reads the text form of programs that print.c prints (docs/program.md), by recursive descent.
//
// The parts of a text stand in any order, while units may refer to buffers and schedules to units.
// So the parts are found first, by their braces alone, and then read in two rounds: of the step all
// but its schedules, then the units; then the schedules.
//
// The first error is kept and turns every later token into the end of the text, so that no function
// here or in parse_*.c need test for failure after each step: they wind down, and the caller looks
// once.
#include "ir/parse.h"

#include <string.h>

// Words inside are not looked at, only that braces close: the parts are read later.
static void skip_braces(struct parser *p) {
    int depth = 0;
    do {
        depth += text_at(p, '{');
        depth -= text_at(p, '}');
        if (p->token.kind == TOKEN_END) {
            FAIL(p, "a `}` is missing");
            return;
        }
        text_advance(p);
    } while (depth > 0 && !text_failed(p));
}

static int step_here(const struct parser *p) {
    return p->token.kind == TOKEN_WORD ? table_find(step_names, N_STEPS, p->token.text) : -1;
}

enum round { ROUND_HEADER, ROUND_SCHEDULE };

// Lines in any order; each round reads its own and passes over the other's.
static void parse_step_body(struct parser *p, enum round round) {
    text_expect(p, '{');
    while (!text_failed(p) && !text_at(p, '}')) {
        int kind = step_here(p);
        if (kind >= 0 && round == ROUND_SCHEDULE) {
            parse_step(p, kind);
        } else if (kind >= 0) {
            text_advance(p);
            skip_braces(p);
        } else if (round == ROUND_HEADER) {
            parse_header(p);
        } else {
            text_advance(p);
        }
    }
    text_expect(p, '}');
}

// Goes on reading at another place of the text, as if nothing stood before.
static void move_to(struct parser *p, uint32_t at) {
    if (text_failed(p))
        return;
    p->at = at;
    p->token = (struct token){.begin = at, .end = at, .text = ""};
    text_advance(p);
}

// By names and places; types are checked against the call's buffers, as of any unit.
static bool same_signature(const struct unit *a, const struct unit *b) {
    if (a->n_parameters != b->n_parameters || a->n_results != b->n_results)
        return false;
    for (uint32_t i = 0; i < a->n_parameters; i++)
        if (strcmp(a->values[i].name, b->values[i].name) != 0)
            return false;
    for (uint32_t i = 0; i < a->n_results; i++)
        if (a->results[i].in_parameter != b->results[i].in_parameter)
            return false;
    return true;
}

// A unit that replaces a derived one while the derived step, which calls it, stays.
static void check_signature_kept(struct parser *p, const struct unit *unit,
                                 const struct unit *derived, uint32_t at) {
    if (!text_failed(p) && !same_signature(unit, derived))
        text_fail_at(
            p, at, at + 1,
            "unit `%s` has other parameters or results than the derived step calls it with: "
            "give the step too",
            unit->name);
}

// The unit is replaced in its place in the program, so that ids in calls stay what they are.
static void parse_unit_at(struct parser *p, uint32_t at, const char *name, bool step_given) {
    move_to(p, at);
    uint32_t id = program_find_unit(p->program, name);
    struct unit old = id == NO_ID ? (struct unit){0} : p->program->job->units[id];
    if (id == NO_ID)
        id = program_add_unit(p->program, name, (struct span){p->source, at, at + 1});
    else
        p->program->job->units[id] = (struct unit){
            .name = name, .frame_bytes = -1, .frame = NO_ID, .span = {p->source, at, at + 1}};
    struct unit unit = p->program->job->units[id];
    parse_unit_body(p, &unit);
    if (old.name && !step_given)
        check_signature_kept(p, &unit, &old, at);
    p->program->job->units[id] = unit;
}

// `step STRATEGY` or `unit STRATEGY.UNIT`, as a file reads them too: words, and one dot. A text is
// about one strategy.
static struct program_part parse_part_name(struct parser *p) {
    struct program_part part = {0};
    bool step = text_accept_word(p, "step");
    if (!step)
        text_expect_word(p, "unit");
    struct token at = p->token;
    const char *name = text_name(p, "a strategy");
    size_t length = strcspn(name, ".");
    const char *dot = name[length] ? name + length : NULL;
    if (step && dot)
        text_fail_at(p, at.begin, at.end, "a step has the name of a strategy, without a dot");
    else if (!step && (!dot || strchr(dot + 1, '.')))
        text_fail_at(p, at.begin, at.end, "expected `unit STRATEGY.UNIT {` here, with one dot");
    part.unit = dot ? dot + 1 : NULL;
    const char *strategy = arena_string(p->arena, name, length);
    if (!p->program->job->name[0])
        p->program->job->name = strategy;
    else if (strcmp(p->program->job->name, strategy) != 0)
        text_fail_at(p, at.begin, at.end, "this text is about strategy `%s`, not `%s`",
                     p->program->job->name, strategy);
    return part;
}

static bool same_part(const struct program_part *a, const struct program_part *b) {
    return a->unit && b->unit ? strcmp(a->unit, b->unit) == 0 : !a->unit && !b->unit;
}

// Splits a text into its parts: the name of the program, and where the braces of step and units
// are.
static void find_parts(struct parser *p, struct program_part **parts, uint32_t *n_parts) {
    uint32_t cap = 0;
    text_advance(p);
    while (!text_failed(p) && p->token.kind != TOKEN_END) {
        uint32_t begin = p->token.begin;
        struct program_part part = parse_part_name(p);
        for (uint32_t i = 0; i < *n_parts; i++)
            if (same_part(&(*parts)[i], &part))
                text_fail_at(p, begin, p->last_end,
                             part.unit ? "unit `%s` is given twice" : "a text holds one step",
                             part.unit);
        begin = p->token.begin;
        skip_braces(p);
        part.braces = text_span(p, begin);
        ARENA_PUSH(p->arena, *parts, *n_parts, cap, part);
    }
}

static bool has_step(const struct program_part *parts, uint32_t n_parts) {
    for (uint32_t i = 0; i < n_parts; i++)
        if (!parts[i].unit)
            return true;
    return false;
}

// Two rounds over the step with the units between them, whatever the order of the text.
static void parse_parts(struct parser *p, const struct program_part *parts, uint32_t n_parts) {
    bool step_given = has_step(parts, n_parts);
    for (int round = ROUND_HEADER; round <= ROUND_SCHEDULE; round++) {
        for (uint32_t i = 0; i < n_parts && !text_failed(p); i++) {
            if (parts[i].unit)
                continue;
            if (round == ROUND_HEADER) // what a derived program had is replaced as a whole
                p->program->job->n_tensors = p->program->n_buffers = 0;
            move_to(p, parts[i].braces.begin);
            if (round == ROUND_HEADER) {
                p->lines = 0;
                p->program->job->mesh = (struct mesh){.name = p->program->job->mesh.name};
                p->program->arena_bytes = -1;
            } else {
                memset(p->program->steps, 0, sizeof p->program->steps);
            }
            parse_step_body(p, round);
        }
        for (uint32_t i = 0; i < n_parts && round == ROUND_HEADER && !text_failed(p); i++)
            if (parts[i].unit)
                parse_unit_at(p, parts[i].braces.begin, parts[i].unit, step_given);
    }
}

// ---- units beside a written-out step ----------------------------------------------------------

static void renumber_calls(struct program *program, const uint32_t *numbers) {
    for (int s = 0; s < N_STEPS; s++) {
        struct statement_walk walk = walk_statements(&program->steps[s].body);
        while (walk_next(&walk))
            if (walk.statement->kind == STATEMENT_CALL)
                walk.statement->call.unit = numbers[walk.statement->call.unit];
    }
}

// A step that is given brings buffers of its own, so units that are derived find their frames by
// name; and those that it does not call are no part of the program.
static void adopt_units(struct parser *p, const struct program *derived,
                        const struct program_part *parts, uint32_t n_parts) {
    struct program *program = p->program;
    const bool *called = program_called_units(program, p->arena);
    struct names given = {.arena = p->arena}, buffers = {.arena = p->arena};
    uint32_t *numbers = ARENA_ARRAY(p->arena, uint32_t, program->job->n_units + 1), n = 0;
    for (uint32_t i = 0; i < n_parts; i++)
        if (parts[i].unit && names_find(&given, parts[i].unit) == NOT_NAMED)
            names_add(&given, parts[i].unit, i);
    for (buffer_id i = 0; i < program->n_buffers; i++)
        if (names_find(&buffers, program->buffers[i].name) == NOT_NAMED)
            names_add(&buffers, program->buffers[i].name, i);
    for (uint32_t i = 0; i < program->job->n_units; i++) {
        struct unit unit = program->job->units[i];
        bool is_given = names_find(&given, unit.name) != NOT_NAMED;
        if (!is_given && !called[i])
            continue;
        if (!is_given && unit.frame != NO_ID) {
            unit.frame = names_find(&buffers, derived->buffers[unit.frame].name);
            unit.frame_bytes = unit.frame == NO_ID ? -1 : unit.frame_bytes;
        }
        numbers[i] = n;
        program->job->units[n++] = unit;
    }
    program->job->n_units = n;
    renumber_calls(program, numbers);
}

// ---- the whole --------------------------------------------------------------------------------

// What is wrong with the structure is shown where it stands; at the first part where a statement
// that was derived does not fit what was written.
static struct program *finish(struct parser *p, const struct program_part *parts,
                              uint32_t n_parts) {
    if (text_failed(p))
        return NULL;
    program_number(p->program);
    struct span at;
    const char *wrong = program_check(p->program, p->arena, &at);
    if (!wrong)
        return p->program;
    for (uint32_t i = 0; i < n_parts; i++)
        if (at.source == p->source && at.begin >= parts[i].braces.begin &&
            at.end <= parts[i].braces.end)
            text_fail_at(p, at.begin, at.end, "%s", wrong);
    text_fail_at(p, parts[0].braces.begin, parts[0].braces.begin + 1, "%s", wrong);
    return NULL;
}

struct program *program_parse(struct arena *arena, const char *text, size_t length, uint32_t source,
                              struct text_error *error) {
    *error = (struct text_error){0};
    struct parser p = {.arena = arena,
                       .text = text,
                       .length = (uint32_t)length,
                       .source = source,
                       .program = program_new(arena, ""),
                       .error = error};
    if (length > UINT32_MAX / 2) {
        text_fail_at(&p, 0, 1, "this text is too large");
        return NULL;
    }
    struct program_part *parts = NULL;
    uint32_t n_parts = 0;
    find_parts(&p, &parts, &n_parts);
    if (!text_failed(&p) && !has_step(parts, n_parts))
        text_fail_at(&p, 0, 1, "there is no `step NAME { ... }` in this text");
    parse_parts(&p, parts, n_parts);
    return finish(&p, parts, n_parts);
}

struct program *program_parse_parts(struct arena *arena, const struct program *derived,
                                    const char *text, const struct program_part *parts,
                                    uint32_t n_parts, struct text_error *error) {
    *error = (struct text_error){0};
    struct parser p = {.arena = arena,
                       .text = text,
                       .source = n_parts ? parts[0].braces.source : 0,
                       .program = program_clone(arena, derived),
                       .error = error};
    for (uint32_t i = 0; i < n_parts; i++)
        if (parts[i].braces.end > p.length)
            p.length = parts[i].braces.end;
    parse_parts(&p, parts, n_parts);
    if (!text_failed(&p) && has_step(parts, n_parts))
        adopt_units(&p, derived, parts, n_parts);
    return finish(&p, parts, n_parts);
}
