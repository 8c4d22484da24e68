// See cases.h.
#include "tests/oracle/cases.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ir/check.h"
#include "tests/oracle/compose.h"
#include "tests/oracle/trace.h"
#include "tests/oracle/traits.h"

enum {
    STEPS = 3,
    FIRST_STEP = 3,
    MUTANTS_OF_EACH = 2 * N_MUTATIONS, // of one program
    ROUNDINGS_OF_EACH = 4 * N_ROUNDINGS,
    PIPELINE_MISTAKES_OF_EACH = 2 * N_OF_PIPELINES, // and all others once
    FIRST_BASE = 1000000, // the first family of compositions that are spoilt
    TRIED_OF_FAMILY = 4,
    MAX_READ = 400 * TRIED_OF_FAMILY,
};

const char *const part_names[N_PARTS] = {"tuples",  "compositions", "pipelines",
                                         "mutants", "precision",    "pipeline-mutants"};

uint32_t part_chunk(enum part part) {
    static const uint32_t chunks[N_PARTS] = {25,
                                             FAMILY_SIZE,
                                             FAMILY_SIZE,
                                             MUTANTS_OF_EACH,
                                             ROUNDINGS_OF_EACH,
                                             PIPELINE_MISTAKES_OF_EACH + N_MUTATIONS};
    return chunks[part];
}

// What one device does, for the compositions of one family, and a program that is spoilt.
struct cases {
    struct arena reference_arena;
    int64_t family; // of which `expected` is; -1: none
    struct compiled reference;
    struct expected *expected;

    struct arena base_arena;
    int64_t base;
    struct compiled compiled;
    struct job *job; // read back from text, so that every statement has a span of its own
    struct setup setup;
    struct expected *base_expected;
    struct trace *trace;
    uint32_t source;
    bool only_reads; // executes nothing
};

struct cases *cases_new(void) {
    struct cases *cases = calloc(1, sizeof *cases);
    CHECK(cases);
    cases->family = cases->base = -1;
    return cases;
}

static void forget_reference(struct cases *c) {
    arena_free(&c->reference_arena);
    arena_free(&c->reference.arena);
    c->reference_arena = c->reference.arena = (struct arena){0};
    c->family = -1;
}

static void forget_base(struct cases *c) {
    arena_free(&c->base_arena);
    arena_free(&c->compiled.arena);
    c->base_arena = c->compiled.arena = (struct arena){0};
    c->base = -1;
}

void cases_free(struct cases *c) {
    forget_reference(c);
    forget_base(c);
    free(c);
}

// One line of what is to be known.
static void say(struct result *result, const char *text) {
    snprintf(result->text, sizeof result->text, "%s", text ? text : "");
    for (char *at = result->text; *at; at++)
        if (*at == '\n')
            *at = ' ';
}

static const char *first_message(const struct diagnostics *diagnostics) {
    for (uint32_t i = 0; i < diagnostics->n_items; i++)
        if (diagnostics->items[i]->severity == SEVERITY_ERROR)
            return diagnostics->items[i]->message;
    return "";
}

static struct setup setup_of(const struct composition *composition) {
    return (struct setup){.seed = 7,
                          .steps = STEPS,
                          .first_step = FIRST_STEP,
                          .sequences_per_group = composition->microbatch};
}

// ---- placements -------------------------------------------------------------------------------

static struct composition tuple(struct arena *arena, uint32_t number) {
    static const char *const letters[] = {"R", "S", "S*", "M", "O"};
    const char *chosen[4];
    uint32_t rest = number % 625;
    for (int state = 0; state < 4; state++, rest /= 5)
        chosen[state] = letters[rest % 5];
    return compose_tuple(arena, chosen, number >= 625, &full_dims);
}

static struct composition placement(struct arena *arena, enum part part, uint32_t number) {
    return part == PART_TUPLES      ? tuple(arena, number)
           : part == PART_PIPELINES ? compose_pipeline(arena, number, &full_dims)
                                    : compose(arena, number, &full_dims);
}

// All tuples on one kind of axis are one family, as all compositions of a chunk.
static int64_t family_of(enum part part, uint32_t number) {
    return part == PART_TUPLES ? -2 - (int64_t)(number / 625)
                               : ((int64_t)part << 32) + number / FAMILY_SIZE;
}

// `compiled` is taken over if its reference is the one that serves.
static const struct expected *expect(struct cases *c, int64_t family, struct compiled *compiled,
                                     const struct composition *composition, bool *taken) {
    *taken = c->family != family;
    if (*taken) {
        forget_reference(c);
        struct setup setup = setup_of(composition);
        c->reference = *compiled;
        c->expected = truth_expect(&c->reference_arena, compiled->reference, &setup);
        c->family = family;
    }
    return c->expected;
}

static struct result placement_run(struct cases *c, enum part part, uint32_t number) {
    struct arena arena = {0};
    struct compiled compiled;
    bool taken = false;
    struct composition composition = placement(&arena, part, number);
    compile_text(&compiled, composition.text);
    struct result result = {.part = part, .number = number, .judgement = compiled.judgement};
    snprintf(result.code, sizeof result.code, "%s", first_code(compiled.diagnostics));
    say(&result, first_message(compiled.diagnostics));
    result.outcome = OUTCOME_NO_PROGRAM;
    if (compiled.final) {
        const struct expected *expected =
            expect(c, family_of(part, number), &compiled, &composition, &taken);
        struct finding finding = truth_judge(&arena, expected, compiled.final, NULL, NULL);
        result.outcome = (int)finding.outcome;
        result.traits = traits_of(&compiled.config);
        if (finding.what)
            say(&result, arena_format(&arena, "%s (%g)", finding.what, finding.difference));
    }
    if (!taken)
        arena_free(&compiled.arena);
    arena_free(&arena);
    return result;
}

// ---- mutants ----------------------------------------------------------------------------------

static void read_back(struct cases *c) {
    char *text = job_text(c->compiled.final, &c->base_arena);
    struct text_error error;
    c->source = source_add(&c->compiled.sources, &c->base_arena, "program", text, strlen(text));
    c->job = job_parse(&c->base_arena, text, strlen(text), c->source, &error);
    if (!c->job)
        fprintf(stderr, "%s at `%.60s`\n", error.message, text + error.span.begin);
    CHECK(c->job && !job_needs_plan(c->job));
    job_number(c->job);
}

// Strategies have some things seldom, since these go with little else: most programs that are spoilt have
// one of them. The rest of a strategy is drawn as ever.
static unsigned wanted_of(uint32_t base) {
    static const unsigned wanted[] = {1u << TRAIT_MADE_PARAMETERS,
                                      1u << TRAIT_BY_TENSOR,
                                      1u << TRAIT_OFFLOADED,
                                      1u << TRAIT_MADE_GRADIENTS,
                                      0,
                                      1u << TRAIT_BY_TENSOR,
                                      1u << TRAIT_MADE_OPTIMIZER,
                                      0};
    return wanted[base % (sizeof wanted / sizeof *wanted)];
}

// A composition that has what is wanted and a program which is accepted.
static bool read_base(struct cases *c, enum part part, uint64_t seed, unsigned wanted) {
    struct composition composition =
        part == PART_PIPELINE_MUTANTS ? compose_pipeline(&c->base_arena, seed, &small_pipeline_dims)
                                      : compose(&c->base_arena, seed, &small_dims);
    compile_text(&c->compiled, composition.text);
    if (c->compiled.judgement != JUDGED_ACCEPTED || wanted & ~traits_of(&c->compiled.config))
        return false;
    read_back(c);
    c->setup = setup_of(&composition);
    return true;
}

// Is it right, too?
static bool run_base(struct cases *c) {
    c->base_expected = truth_expect(&c->base_arena, c->compiled.reference, &c->setup);
    c->trace = trace_new(&c->base_arena, truth_limits(c->base_expected).rounding);
    struct observer recorder = trace_recorder(c->trace);
    return truth_judge(&c->base_arena, c->base_expected, c->job, &recorder, trace_begin).outcome ==
           OUTCOME_RIGHT;
}

static void take_base(struct cases *c, enum part part, uint32_t base) {
    int64_t name = ((int64_t)part << 32) + base;
    bool read = c->base == name;
    unsigned wanted = part == PART_PIPELINE_MUTANTS ? 0 : wanted_of(base);
    for (uint64_t i = 0; i < MAX_READ && !read; i++) { // some families have no program
        uint64_t family = FIRST_BASE * (1 + i / TRIED_OF_FAMILY) + base;
        forget_base(c);
        read = read_base(c, part, family * FAMILY_SIZE + i % TRIED_OF_FAMILY, wanted) &&
               (c->only_reads || run_base(c));
    }
    CHECK(read);
    c->base = name;
}

static bool same_span(struct span a, struct span b) {
    return a.source == b.source && a.begin == b.begin && a.end == b.end;
}

// At what was changed, at the first statement whose value is another, or, where all statements that
// remain compute what they did, at a buffer that ends the step with something else.
static bool is_located(struct span at, const struct mutant *mutant, const struct finding *finding,
                       const struct deviations *deviations) {
    for (unsigned i = 0; i < mutant->n_touched; i++)
        if (same_span(at, mutant->touched[i]))
            return true;
    for (uint32_t i = 0; i < deviations->n * 3; i++)
        if (same_span(at, deviations->list[i / 3].places[i % 3]))
            return true;
    for (uint32_t i = 0; i < finding->n_at; i++)
        if (same_span(at, finding->at[i]))
            return true;
    for (uint32_t part = 0; part < mutant->job->n_programs; part++)
        for (buffer_id i = 0; i < mutant->job->programs[part]->n_buffers; i++)
            if (finding->differ[part][i] &&
                same_span(at, mutant->job->programs[part]->buffers[i].span))
                return true;
    return false;
}

static const char *line_at(struct cases *c, struct arena *arena, struct span span) {
    if (span.source != c->source)
        return "nowhere";
    const char *text = c->compiled.sources.items[span.source].text + span.begin;
    return arena_format(arena, "%.*s", (int)(strcspn(text, "\n") < 60 ? strcspn(text, "\n") : 60),
                        text);
}

// The same with other numbers.
static const struct expected *expect_otherwise(struct cases *c, struct arena *arena) {
    struct setup setup = c->setup;
    setup.seed++;
    return truth_expect(arena, c->compiled.reference, &setup);
}

static void judge_mutant(struct cases *c, struct arena *arena, const struct mutant *mutant,
                         struct result *result) {
    struct diagnostics *diagnostics = diagnostics_new(arena, &c->compiled.sources);
    struct observer follower = trace_follower(c->trace);
    struct finding finding =
        truth_judge(arena, c->base_expected, mutant->job, &follower, trace_begin);
    struct deviations deviations = trace_take_deviations(c->trace);
    if (finding.outcome == OUTCOME_UNCLEAR) // a loss may come out near the other's by chance, once
        finding = truth_judge(arena, expect_otherwise(c, arena), mutant->job, NULL, NULL);
    if (finding.outcome == OUTCOME_UNCLEAR && result->part == PART_PRECISION)
        finding.outcome = OUTCOME_WRONG; // no order of sums makes as much
    result->judgement = judge_job(c->compiled.reference, mutant->job, arena, diagnostics);
    result->outcome = (int)finding.outcome;
    result->traits = traits_of(&c->compiled.config);
    snprintf(result->code, sizeof result->code, "%s", first_code(diagnostics));
    say(result,
        arena_format(arena, "%s: %s (%g); %s", mutant->what, finding.what ? finding.what : "",
                     finding.difference, first_message(diagnostics)));
    if (result->judgement == JUDGED_ACCEPTED || finding.outcome == OUTCOME_RIGHT)
        return;
    const struct diagnostic *d = diagnostics->items[0];
    const struct deviation *first = &deviations.list[0];
    bool found = is_located(d->span, mutant, &finding, &deviations), named = false;
    for (uint32_t i = 0; i < d->n_notes; i++)
        named |= is_located(d->notes[i].span, mutant, &finding, &deviations);
    result->place = found ? PLACE_FOUND : named ? PLACE_NAMED : PLACE_MISSED;
    if (!found)
        say(result, arena_format(arena, "%s at `%s`; deviates in %d at `%s`; said at `%s`: %s",
                                 mutant->what, line_at(c, arena, mutant->touched[0]),
                                 deviations.n ? first->phase : -1,
                                 deviations.n ? line_at(c, arena, first->places[0]) : "",
                                 line_at(c, arena, d->span), first_message(diagnostics)));
}

static enum mutation mutation_of(enum part part, uint32_t number) {
    uint32_t at = number % part_chunk(part);
    if (part == PART_PRECISION)
        return (enum mutation)(N_MUTATIONS + at % N_ROUNDINGS);
    if (part == PART_MUTANTS)
        return (enum mutation)(at % N_MUTATIONS);
    return (enum mutation)(at < PIPELINE_MISTAKES_OF_EACH ? END_OF_ROUNDINGS + at % N_OF_PIPELINES
                                                          : at - PIPELINE_MISTAKES_OF_EACH);
}

static bool spoil(struct cases *c, struct arena *arena, enum part part, uint32_t number,
                  struct mutant *mutant) {
    take_base(c, part, number / part_chunk(part));
    return c->job && mutate(arena, c->job, mutation_of(part, number),
                            number * UINT64_C(2654435761) + 1, mutant);
}

static struct result mutant_run(struct cases *c, enum part part, uint32_t number) {
    struct arena arena = {0};
    struct mutant mutant;
    struct result result = {.part = part,
                            .number = number,
                            .outcome = OUTCOME_NO_PROGRAM,
                            .mutation = (int)mutation_of(part, number)};
    if (spoil(c, &arena, part, number, &mutant))
        judge_mutant(c, &arena, &mutant, &result);
    else
        result.judgement = JUDGED_RULES;
    arena_free(&arena);
    return result;
}

struct result case_run(struct cases *c, enum part part, uint32_t number) {
    return part_is_spoilt(part) ? mutant_run(c, part, number) : placement_run(c, part, number);
}

// ---- counting ---------------------------------------------------------------------------------

static unsigned traits_of_placement(enum part part, uint32_t number) {
    struct arena arena = {0};
    struct compiled compiled;
    struct composition composition = placement(&arena, part, number);
    derive_text(&compiled, composition.text);
    unsigned traits = compiled.final ? traits_of(&compiled.config) : 0;
    arena_free(&compiled.arena);
    arena_free(&arena);
    return traits;
}

unsigned case_traits(struct cases *c, enum part part, uint32_t number) {
    struct arena arena = {0};
    struct mutant mutant;
    if (!part_is_spoilt(part))
        return traits_of_placement(part, number);
    c->only_reads = true;
    unsigned traits = spoil(c, &arena, part, number, &mutant) ? traits_of(&c->compiled.config) : 0;
    arena_free(&arena);
    return traits;
}

// ---- looking at one ---------------------------------------------------------------------------

static void print_mutant(enum part part, uint32_t number) {
    struct cases *c = cases_new();
    struct arena arena = {0};
    struct mutant mutant;
    if (spoil(c, &arena, part, number, &mutant)) {
        struct diagnostics *diagnostics = diagnostics_new(&arena, &c->compiled.sources);
        job_print(c->job, stdout, NULL);
        printf("\n// ---- spoilt: %s\n", mutant.what);
        job_print(mutant.job, stdout, NULL);
        judge_job(c->compiled.reference, mutant.job, &arena, diagnostics);
        diagnostics_print(diagnostics, stdout, false);
    }
    arena_free(&arena);
    cases_free(c);
}

void case_print(enum part part, uint32_t number) {
    struct arena arena = {0};
    if (part_is_spoilt(part))
        print_mutant(part, number);
    else
        printf("%s", placement(&arena, part, number).text);
    arena_free(&arena);
}
