// Reads the text form of programs that print.c prints (docs/program.md), by recursive descent.
//
// Step and units stand in any order, while units may refer to buffers and schedules to units. So
// they are found first, by their braces alone; then the step is read but for its schedules, then the
// units, then the schedules.
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

// One line or one schedule, of a step or of a part of one. A schedule is passed over, and read when
// all that it may name is known.
static void parse_line(struct parser *p, bool in_part) {
    int kind = step_here(p);
    if (kind < 0) {
        parse_header(p, in_part);
        return;
    }
    struct schedule_place schedule = {p->program, (enum step_kind)kind, p->token.begin, in_part};
    ARENA_PUSH(p->arena, p->schedules, p->n_schedules, p->cap_schedules, schedule);
    text_advance(p);
    skip_braces(p);
}

// The program of a part. The first part has the program that is there for steps without parts, of
// which nothing may have been said.
static struct program *program_of(struct parser *p, struct mesh_part part) {
    struct program *first = p->job->programs[0];
    if (!first->part.name) {
        if (first->n_buffers || first->arena_bytes[TIER_DEVICE] >= 0)
            text_fail_at(p, part.span.begin, part.span.end,
                         "arena, buffers and steps stand inside the parts, where there are parts");
        first->part = part;
        return first;
    }
    for (uint32_t i = 0; i < p->job->n_programs; i++)
        if (strcmp(p->job->programs[i]->part.name, part.name) == 0)
            text_fail_at(p, part.span.begin, part.span.end, "part `%s` is given twice", part.name);
    return job_add_program(p->job, part);
}

static void parse_part(struct parser *p) {
    struct mesh_part part = parse_part_head(p);
    if (text_failed(p))
        return;
    p->program = program_of(p, part);
    p->part_lines = 0;
    text_expect(p, '{');
    while (!text_failed(p) && !text_at(p, '}'))
        parse_line(p, true);
    text_expect(p, '}');
    p->program = p->job->programs[0];
}

// All but its schedules; lines in any order.
static void parse_step_body(struct parser *p) {
    text_expect(p, '{');
    while (!text_failed(p) && !text_at(p, '}'))
        if (text_at_word(p, "part"))
            parse_part(p);
        else
            parse_line(p, false);
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

// Whether two units have the same names and places of parameters and results; types are checked
// against the call's buffers, as of any unit.
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

// The unit is replaced in its place in the job, so that ids in calls stay what they are.
static void parse_unit_at(struct parser *p, uint32_t at, const char *name, bool step_given) {
    move_to(p, at);
    uint32_t id = job_find_unit(p->job, name);
    struct unit old = id == NO_ID ? (struct unit){0} : p->job->units[id];
    struct span span = {p->source, at, at + 1};
    if (id == NO_ID)
        id = job_add_unit(p->job, name, span);
    else
        p->job->units[id] = (struct unit){.name = name, .frame_bytes = -1, .span = span};
    for (uint32_t i = 0; i < p->job->n_programs; i++)
        program_set_frame(p->job->programs[i], id, NO_ID);
    struct unit unit = p->job->units[id];
    parse_unit_body(p, &unit, id);
    if (old.name && !step_given)
        check_signature_kept(p, &unit, &old, at);
    p->job->units[id] = unit;
}

// `step STRATEGY` or `unit STRATEGY.UNIT`, as a file reads them too: words, and one dot. A text is
// about one strategy.
static struct written_text parse_written_name(struct parser *p) {
    struct written_text written = {0};
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
    written.unit = dot ? dot + 1 : NULL;
    const char *strategy = arena_string(p->arena, name, length);
    if (!p->job->name[0])
        p->job->name = strategy;
    else if (strcmp(p->job->name, strategy) != 0)
        text_fail_at(p, at.begin, at.end, "this text is about strategy `%s`, not `%s`",
                     p->job->name, strategy);
    return written;
}

static bool same_written(const struct written_text *a, const struct written_text *b) {
    return a->unit && b->unit ? strcmp(a->unit, b->unit) == 0 : !a->unit && !b->unit;
}

// Finds what is written in a text: the name of the job, and where the braces of step and units are.
static void find_written(struct parser *p, struct written_text **written, uint32_t *n_written) {
    uint32_t cap = 0;
    text_advance(p);
    while (!text_failed(p) && p->token.kind != TOKEN_END) {
        uint32_t begin = p->token.begin;
        struct written_text found = parse_written_name(p);
        for (uint32_t i = 0; i < *n_written; i++)
            if (same_written(&(*written)[i], &found))
                text_fail_at(p, begin, p->last_end,
                             found.unit ? "unit `%s` is given twice" : "a text holds one step",
                             found.unit);
        begin = p->token.begin;
        skip_braces(p);
        found.braces = text_span(p, begin);
        ARENA_PUSH(p->arena, *written, *n_written, cap, found);
    }
}

static bool has_step(const struct written_text *written, uint32_t n_written) {
    for (uint32_t i = 0; i < n_written; i++)
        if (!written[i].unit)
            return true;
    return false;
}

// What a derived step says is replaced as a whole.
static void forget_step(struct parser *p) {
    p->lines = 0;
    p->job->n_tensors = 0;
    p->job->mesh = (struct mesh){.name = p->job->mesh.name};
    p->job->n_programs = 0;
    p->program = job_add_program(p->job, mesh_whole());
}

static void parse_schedule(struct parser *p, const struct schedule_place *schedule) {
    p->program = schedule->program;
    move_to(p, schedule->begin);
    if (!schedule->in_part && schedule->program->part.name)
        FAIL(p, "`%s` stands inside a part, where there are parts", step_names[schedule->kind]);
    parse_step(p, schedule->kind);
}

// The step but for its schedules, the units, then the schedules, whatever the order of the text.
static void parse_written(struct parser *p, const struct written_text *written,
                          uint32_t n_written) {
    bool step_given = has_step(written, n_written);
    for (uint32_t i = 0; i < n_written && !text_failed(p); i++)
        if (!written[i].unit) {
            forget_step(p);
            move_to(p, written[i].braces.begin);
            parse_step_body(p);
        }
    for (uint32_t i = 0; i < n_written && !text_failed(p); i++)
        if (written[i].unit)
            parse_unit_at(p, written[i].braces.begin, written[i].unit, step_given);
    for (uint32_t i = 0; i < p->n_schedules && !text_failed(p); i++)
        parse_schedule(p, &p->schedules[i]);
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

// NULL: no program has one.
static const char *name_of_frame(const struct job *derived, uint32_t unit) {
    for (uint32_t i = 0; i < derived->n_programs; i++) {
        buffer_id frame = program_frame(derived->programs[i], unit);
        if (frame != NO_ID)
            return derived->programs[i]->buffers[frame].name;
    }
    return NULL;
}

// The derived frame's buffer by its name, in every program that calls the unit. False: one has none.
static bool adopt_frame(struct parser *p, const struct job *derived, bool *const *called,
                        uint32_t unit) {
    const char *name = name_of_frame(derived, unit);
    bool found = true;
    for (uint32_t i = 0; i < p->job->n_programs && name; i++) {
        struct program *program = p->job->programs[i];
        buffer_id own = called[i][unit] ? text_find_buffer(p, program, name) : NO_ID;
        program_set_frame(program, unit, own);
        found &= own != NO_ID || !called[i][unit];
    }
    return found;
}

// A step that is given brings buffers of its own, so units that are derived find their frames by
// name; and those that it does not call are no part of the job.
static void adopt_units(struct parser *p, const struct job *derived,
                        const struct written_text *written, uint32_t n_written) {
    struct job *job = p->job;
    const bool *called = job_called_units(job, p->arena);
    bool **called_by = ARENA_ARRAY(p->arena, bool *, job->n_programs);
    for (uint32_t i = 0; i < job->n_programs; i++)
        called_by[i] = program_called_units(job->programs[i], p->arena);
    struct names given = {.arena = p->arena};
    uint32_t *numbers = ARENA_ARRAY(p->arena, uint32_t, job->n_units + 1), n = 0;
    for (uint32_t i = 0; i < n_written; i++)
        if (written[i].unit && names_find(&given, written[i].unit) == NOT_NAMED)
            names_add(&given, written[i].unit, i);
    for (uint32_t i = 0; i < job->n_units; i++) {
        bool is_given = names_find(&given, job->units[i].name) != NOT_NAMED;
        if (!is_given && !called[i])
            continue;
        if (!is_given && !adopt_frame(p, derived, called_by, i))
            job->units[i].frame_bytes = -1;
        for (uint32_t k = 0; k < job->n_programs; k++)
            program_set_frame(job->programs[k], n, program_frame(job->programs[k], i));
        numbers[i] = n;
        job->units[n++] = job->units[i];
    }
    job->n_units = n;
    for (uint32_t k = 0; k < job->n_programs; k++) {
        renumber_calls(job->programs[k], numbers);
        if (job->programs[k]->n_frames > n)
            job->programs[k]->n_frames = n;
    }
}

// ---- the whole --------------------------------------------------------------------------------

// What is wrong with the structure is shown where it stands; at the first part where a statement
// that was derived does not fit what was written.
static struct job *finish(struct parser *p, const struct written_text *written,
                          uint32_t n_written) {
    if (text_failed(p))
        return NULL;
    job_number(p->job);
    struct span at;
    const char *wrong = job_check(p->job, p->arena, &at);
    if (!wrong)
        return p->job;
    for (uint32_t i = 0; i < n_written; i++)
        if (at.source == p->source && at.begin >= written[i].braces.begin &&
            at.end <= written[i].braces.end)
            text_fail_at(p, at.begin, at.end, "%s", wrong);
    text_fail_at(p, written[0].braces.begin, written[0].braces.begin + 1, "%s", wrong);
    return NULL;
}

struct job *job_parse(struct arena *arena, const char *text, size_t length, uint32_t source,
                      struct text_error *error) {
    *error = (struct text_error){0};
    struct program *program = program_new(arena, "");
    struct parser p = {.arena = arena,
                       .text = text,
                       .length = (uint32_t)length,
                       .source = source,
                       .job = program->job,
                       .program = program,
                       .error = error};
    if (length > UINT32_MAX / 2) {
        text_fail_at(&p, 0, 1, "this text is too large");
        return NULL;
    }
    struct written_text *written = NULL;
    uint32_t n_written = 0;
    find_written(&p, &written, &n_written);
    if (!text_failed(&p) && !has_step(written, n_written))
        text_fail_at(&p, 0, 1, "there is no `step NAME { ... }` in this text");
    parse_written(&p, written, n_written);
    return finish(&p, written, n_written);
}

struct job *job_parse_written(struct arena *arena, const struct job *derived, const char *text,
                              const struct written_text *written, uint32_t n_written,
                              struct text_error *error) {
    *error = (struct text_error){0};
    struct job *job = job_clone(arena, derived);
    struct parser p = {.arena = arena,
                       .text = text,
                       .source = n_written ? written[0].braces.source : 0,
                       .job = job,
                       .program = job->programs[0],
                       .error = error};
    for (uint32_t i = 0; i < n_written; i++)
        if (written[i].braces.end > p.length)
            p.length = written[i].braces.end;
    parse_written(&p, written, n_written);
    if (!text_failed(&p) && has_step(written, n_written))
        adopt_units(&p, derived, written, n_written);
    return finish(&p, written, n_written);
}
