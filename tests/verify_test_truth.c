// The verdict against the truth: programs that the compiler derived are spoilt at random, judged,
// and executed on a mesh of interpreters beside one device. A program that is accepted must do what
// one device does. Of those that are refused some do too (a difference that this data does not
// show, or that no rule knows): their share is printed, it is not an error.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ir/diagnostic.h"
#include "ir/interpreter/interpreter.h"
#include "passes/passes.h"
#include "tests/cluster.h"
#include "tests/mutations.h"
#include "tests/random.h"
#include "tests/tiny_strategies.h"
#include "verify/verify.h"

enum { STEPS = 2 };

struct trial {
    struct arena arena;
    struct config config;
    struct program *reference, *program;
    uint64_t random;
    const char *what; // the mutation, in words
};

static uint32_t pick(struct trial *t, uint32_t n) {
    return (uint32_t)(random_bits(&t->random) % n);
}

static struct program *compile(struct trial *t, enum pass last) {
    struct source_files sources = {0};
    struct pass_context context = {&t->config, diagnostics_new(&t->arena, &sources)};
    struct program *program = program_new(&t->arena, "main");
    assert_true(passes_run(program, &context, PASS_BUILD, last));
    program_number(program);
    return program;
}

// ---- execution --------------------------------------------------------------------------------

struct run {
    struct trial *trial;
    struct machine *machine;
    struct cluster *cluster;
};

static void set_buffer(struct run *r, const char *name, double low, double high, bool whole) {
    const struct program *reference = r->trial->reference;
    buffer_id id = program_find_buffer(reference, name);
    buffer_id on_mesh = program_find_buffer(r->trial->program, name);
    const struct buffer *buffer = &reference->buffers[id],
                        *target = &r->trial->program->buffers[on_mesh];
    int64_t n = machine_item_elements(r->machine, id) * buffer->count;
    double *data = machine_item(r->machine, id, 0);
    for (int64_t i = 0; i < n; i++) {
        data[i] = low + (high - low) * (random_real(&r->trial->random) + 1) / 2;
        if (whole)
            data[i] = floor(data[i]);
    }
    for (int64_t i = 0; i < target->count; i++)
        cluster_scatter(r->cluster, on_mesh, i,
                        machine_item(r->machine, id, target->stack == STACK_MICROBATCHES ? 0 : i));
}

static void begin(struct run *r) {
    const struct program *reference = r->trial->reference;
    r->machine = machine_new(&r->trial->arena, reference);
    r->cluster = cluster_new(&r->trial->arena, r->trial->program);
    for (buffer_id i = 0; i < reference->n_buffers; i++) {
        const struct buffer *buffer = &reference->buffers[i];
        bool parameters = buffer->class == CLASS_PARAMETERS;
        if (buffer_is_persistent(buffer))
            set_buffer(r, buffer->name, parameters ? -0.5 : 0.001, parameters ? 0.5 : 0.01, false);
    }
}

static void set_inputs(struct run *r, int step) {
    set_buffer(r, "tokens", 0, (double)r->trial->config.model.vocab, true);
    set_buffer(r, "targets", -2, (double)r->trial->config.model.vocab, true);
    double number = step + 3;
    *machine_item(r->machine, program_find_buffer(r->trial->reference, "step"), 0) = number;
    cluster_scatter(r->cluster, program_find_buffer(r->trial->program, "step"), 0, &number);
}

static bool same_buffer(struct run *r, buffer_id id) {
    const struct buffer *buffer = &r->trial->reference->buffers[id];
    buffer_id on_mesh = program_find_buffer(r->trial->program, buffer->name);
    int64_t n = machine_item_elements(r->machine, id);
    double *found = ARENA_ARRAY(&r->trial->arena, double, n);
    for (int64_t item = 0; item < buffer->count; item++) {
        const double *expected = machine_item(r->machine, id, item);
        cluster_gather(r->cluster, on_mesh, item, found);
        double largest = 0;
        for (int64_t i = 0; i < n; i++)
            largest = fmax(largest, fabs(expected[i]));
        for (int64_t i = 0; i < n; i++)
            if (!(fabs(found[i] - expected[i]) <= 1e-9 * largest))
                return false;
    }
    return true;
}

static bool does_what_one_device_does(struct trial *t) {
    struct run r = {.trial = t};
    begin(&r);
    for (int step = 0; step < STEPS; step++) {
        set_inputs(&r, step);
        machine_run(r.machine, STEP_TRAIN);
        cluster_run(r.cluster, STEP_TRAIN);
        for (buffer_id i = 0; i < t->reference->n_buffers; i++) {
            enum buffer_class class = t->reference->buffers[i].class;
            if ((class_persistent[class] || class == CLASS_OUTPUT) && !same_buffer(&r, i))
                return false;
        }
    }
    return true;
}

// In a process of its own: a spoilt program may stop the interpreter, which counts as different.
static bool is_equal(struct trial *t) {
    fflush(NULL);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        alarm(60);
        if (!freopen("/dev/null", "w", stderr))
            _exit(2);
        _exit(does_what_one_device_does(t) ? 0 : 1);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

// ---- the table --------------------------------------------------------------------------------

struct table {
    unsigned n[2][2]; // [accepted][equal]
    unsigned malformed;
};

static void judge(struct trial *t, uint64_t seed, struct table *table) {
    struct source_files sources = {0};
    struct diagnostics *diagnostics = diagnostics_new(&t->arena, &sources);
    program_number(t->program);
    struct verdict verdict = verify(t->reference, t->program, &t->arena, diagnostics);
    bool accepted = verdict.kind == VERDICT_ACCEPTED;
    // Executing is slow: of the refused ones a few are enough to know their share.
    if (!accepted && pick(t, 10) && !getenv("PLACE_FULL"))
        return;
    bool equal = is_equal(t);
    table->n[accepted][equal]++;
    if (getenv("PRINT") && accepted != equal) {
        diagnostics_print(diagnostics, stdout, false);
        program_print(t->program, stdout, NULL);
    }
    if (accepted && !equal)
        fail_msg("seed %d: %s, accepted but different", (int)seed, t->what);
    if (!accepted && equal)
        print_message("seed %d: %s, refused (%s: %s) but equal\n", (int)seed, t->what,
                      diagnostic_rows[diagnostics->items[0]->code].text,
                      diagnostics->items[0]->message);
}

static void accepted_programs_are_right(void **state) {
    struct table table = {0};
    uint64_t first = getenv("SEED") ? strtoull(getenv("SEED"), NULL, 10) : 0;
    uint64_t n = getenv("PLACE_FULL") ? 3000 : 400;
    for (uint64_t seed = first; seed < first + (getenv("SEED") ? 1 : n); seed++) {
        struct trial t = {.random = seed * 77 + 5};
        enum model_family family = pick(&t, 2) ? FAMILY_GPT2 : FAMILY_LLAMA;
        t.config =
            tiny_strategy_config(&t.arena, family, pick(&t, N_TINY_STRATEGIES), 1 + pick(&t, 4));
        t.config.model.layers = 3;
        t.reference = compile(&t, PASS_UPDATE);
        t.program = compile(&t, PASS_OVERLAP);
        t.what = mutate(t.program, &t.random);
        if (t.what && is_well_formed(t.program, &t.arena))
            judge(&t, seed, &table);
        else
            table.malformed++;
        arena_free(&t.arena);
    }
    print_message(
        "accepted: %u equal, %u different; refused: %u equal, %u different; %u malformed\n",
        table.n[1][1], table.n[1][0], table.n[0][1], table.n[0][0], table.malformed);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(accepted_programs_are_right)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
