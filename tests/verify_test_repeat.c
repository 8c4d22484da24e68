// Tasks of pipelines that did the same before are repeated; here that is held against executing each:
// of drawn pipelines, and of mistakes in them, the verdict is the same and so is the first thing that is
// told. And whatever stages have, few or many layers, each task after the first ones is repeated.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/oracle/compiled.h"
#include "tests/oracle/compose.h"
#include "tests/oracle/mutate.h"
#include "tests/random.h"
#include "tests/sample.h"

struct way { // to judge
    struct arena arena;
    struct diagnostics *diagnostics;
    struct verdict verdict;
};

static struct way judge(const struct compiled *base, const struct job *job, bool every_task) {
    struct way way = {0};
    way.diagnostics = diagnostics_new(&way.arena, (struct source_files *)&base->sources);
    way.verdict = (every_task ? verify_every_task : verify)(base->reference, job, &way.arena,
                                                            way.diagnostics);
    return way;
}

// What is refused is told at the same place, too.
static bool same(const struct way *a, const struct way *b) {
    const struct diagnostics *x = a->diagnostics, *y = b->diagnostics;
    if (a->verdict.kind != b->verdict.kind || x->n_items != y->n_items)
        return false;
    return x->n_items == 0 || (x->items[0]->code == y->items[0]->code &&
                               x->items[0]->span.begin == y->items[0]->span.begin);
}

struct counts {
    unsigned n_accepted, n_refused, n_failed;
};

static void compare(const struct compiled *base, const struct job *job, const char *what,
                    struct counts *counts) {
    struct way repeated = judge(base, job, false), executed = judge(base, job, true);
    if (!same(&repeated, &executed)) {
        counts->n_failed++;
        print_error("%s: where tasks are repeated\n", what);
        diagnostics_print(repeated.diagnostics, stderr, false);
        print_error("where each is executed\n");
        diagnostics_print(executed.diagnostics, stderr, false);
    }
    if (executed.verdict.kind == VERDICT_ACCEPTED) {
        counts->n_accepted++;
    } else {
        counts->n_refused++;
    }
    arena_free(&repeated.arena);
    arena_free(&executed.arena);
}

// ---- tasks written out ------------------------------------------------------------------------

static void fix_index(struct index *index, int depth, int64_t value) {
    if (index->variable > depth)
        index->variable--;
    else if (index->variable == depth && index->modulus)
        *index = index_constant((((index->offset + value) % index->modulus) + index->modulus) %
                                index->modulus);
    else if (index->variable == depth)
        *index = index_constant(index->offset + value);
}

// The variable of this depth has the value, and its loop is no more.
static void fix(const struct program *program, struct statement *statement, int depth,
                int64_t value) {
    struct block one = {statement, 1, 1};
    struct statement_walk walk = walk_statements(&one);
    while (walk_next(&walk)) {
        struct statement *at = walk.statement;
        struct access access;
        for (uint32_t i = 0; (access = statement_access(program, at, i)).at; i++)
            for (unsigned k = 0; k < MAX_STACKS; k++)
                fix_index(&access.at->indices[k], depth, value);
        message_join_ends(at);
        if (at->kind == STATEMENT_START)
            fix_index(&at->start.handle_index, depth, value);
        if (at->kind == STATEMENT_WAIT)
            fix_index(&at->wait.index, depth, value);
        if (at->kind == STATEMENT_TASK)
            fix_index(&at->task.microbatch, depth, value);
        if (at->kind == STATEMENT_LOOP && at->loop.stride && walk.depth == 0) {
            at->loop.begin += at->loop.stride * value;
            at->loop.end += at->loop.stride * value;
            at->loop.stride = 0;
        }
    }
}

static struct block write_out(struct arena *arena, const struct program *program,
                              const struct block *block, int depth) {
    struct block made = {0};
    for (uint32_t i = 0; i < block->n; i++) {
        const struct statement *s = &block->statements[i];
        if (s->kind != STATEMENT_LOOP || !loop_has_tasks(&s->loop)) {
            block_push(arena, &made, *s);
            continue;
        }
        for (int64_t n = 0; n < s->loop.end - s->loop.begin; n++) {
            struct statement own = statement_clone(arena, program, s);
            for (uint32_t k = 0; k < own.loop.body.n; k++)
                fix(program, &own.loop.body.statements[k], depth,
                    loop_variable(&s->loop, 0, n, NULL));
            struct block body = write_out(arena, program, &own.loop.body, depth);
            for (uint32_t k = 0; k < body.n; k++)
                block_push(arena, &made, body.statements[k]);
        }
    }
    return made;
}

// Loops over tasks are written out, so that a mistake may be in one of many alike.
static void write_out_tasks(struct arena *arena, struct job *job) {
    for (uint32_t i = 0; i < job->n_programs; i++)
        for (int s = 0; s < N_STEPS; s++) {
            struct step *step = &job->programs[i]->steps[s];
            step->body = write_out(arena, job->programs[i], &step->body, 0);
        }
    struct span at;
    job_number(job);
    const char *why = job_check(job, arena, &at);
    if (why)
        fail_msg("%s", why);
}

// ---- one task among many ----------------------------------------------------------------------

static bool has_rows(const struct buffer *buffer) {
    return buffer->stacks.n > 0 && buffer->stacks.list[0].count > 1 &&
           (buffer->stacks.list[0].kind == STACK_IN_FLIGHT ||
            buffer->stacks.list[0].kind == STACK_MICROBATCHES);
}

// One statement names another row than it should, the next or always the same; NULL: there is none that
// names any.
static const struct job *change_row(struct arena *arena, const struct job *job, uint64_t random) {
    struct job *made = job_clone(arena, job);
    struct program *program = made->programs[random_bits(&random) % made->n_programs];
    struct reference *chosen = NULL;
    uint64_t n = 0;
    struct statement_walk walk = walk_statements(&program->steps[STEP_TRAIN].body);
    while (walk_next(&walk)) {
        struct access access;
        for (uint32_t i = 0; (access = statement_access(program, walk.statement, i)).at; i++)
            if (walk.statement->kind != STATEMENT_START &&
                has_rows(&program->buffers[access.at->buffer]) && random_bits(&random) % ++n == 0)
                chosen = access.at;
    }
    if (!chosen)
        return NULL;
    int64_t count = program->buffers[chosen->buffer].stacks.list[0].count;
    struct index *row = &chosen->indices[0];
    if (row->variable < 0 || random_bits(&random) % 2)
        *row = index_constant((row->offset % count + count + 1) % count);
    else
        *row = index_variable(row->variable, row->offset + 1, count);
    return made;
}

// Gradients are begun anew behind a loop over tasks; NULL: there is no such loop.
static const struct job *begin_anew(struct arena *arena, const struct job *job, uint64_t random) {
    struct job *made = job_clone(arena, job);
    struct program *program = made->programs[random_bits(&random) % made->n_programs];
    struct block *body = &program->steps[STEP_TRAIN].body;
    const struct statement *zero = NULL;
    uint64_t n_zeros = 0, n_loops = 0;
    uint32_t at = 0;
    for (uint32_t i = 0; i < body->n; i++) {
        const struct statement *s = &body->statements[i];
        bool zeros =
            s->kind == STATEMENT_ZERO ||
            (s->kind == STATEMENT_LOOP && s->loop.body.statements[0].kind == STATEMENT_ZERO);
        if (zeros && random_bits(&random) % ++n_zeros == 0)
            zero = s;
        if (s->kind == STATEMENT_LOOP && loop_has_tasks(&s->loop) &&
            random_bits(&random) % ++n_loops == 0)
            at = i;
    }
    if (!zero || at == 0)
        return NULL;
    block_insert(arena, body, at + 1, statement_clone(arena, program, zero));
    job_number(made);
    return made;
}

// What a task first waits for is waited for in the one before, and so tasks are alike whether it was.
static void wait_before_labels(struct block *body) {
    for (uint32_t i = 1; i + 1 < body->n; i++) {
        struct statement label = body->statements[i];
        if (label.kind != STATEMENT_TASK || body->statements[i + 1].kind != STATEMENT_WAIT)
            continue;
        body->statements[i] = body->statements[i + 1];
        body->statements[i + 1] = label;
    }
}

static void take_out(struct block *body, uint32_t at) {
    memmove(&body->statements[at], &body->statements[at + 1],
            (body->n - at - 1) * sizeof *body->statements);
    body->n--;
}

// Nothing waits for a transfer; NULL: nothing is waited for outside of loops.
static const struct job *leave_out_wait(struct arena *arena, const struct job *job,
                                        uint64_t random) {
    struct job *made = job_clone(arena, job);
    struct program *program = made->programs[random_bits(&random) % made->n_programs];
    struct block *body = &program->steps[STEP_TRAIN].body;
    uint64_t n = 0;
    uint32_t at = 0;
    if (random_bits(&random) % 2)
        wait_before_labels(body);
    for (uint32_t i = 0; i < body->n; i++)
        if (body->statements[i].kind == STATEMENT_WAIT && random_bits(&random) % ++n == 0)
            at = i;
    if (n == 0)
        return NULL;
    take_out(body, at);
    job_number(made);
    return made;
}

static uint32_t task_end(const struct block *body, uint32_t begin) {
    uint32_t end = begin + 1;
    while (end < body->n && body->statements[end].kind != STATEMENT_TASK &&
           !(body->statements[end].kind == STATEMENT_LOOP &&
             loop_has_tasks(&body->statements[end].loop)))
        end++;
    return end;
}

// Behind all tasks some gradients are begun anew, and some of the tasks that make them done again; NULL:
// there are none that stand alone.
static const struct job *do_again(struct arena *arena, const struct job *job, uint64_t random) {
    struct job *made = job_clone(arena, job);
    struct program *program = made->programs[random_bits(&random) % made->n_programs];
    struct block *body = &program->steps[STEP_TRAIN].body, all = {0}, again = {0};
    for (uint32_t i = 0; i < body->n; i++) {
        const struct statement *s = &body->statements[i];
        bool zeros =
            s->kind == STATEMENT_ZERO ||
            (s->kind == STATEMENT_LOOP && s->loop.body.statements[0].kind == STATEMENT_ZERO);
        if (zeros)
            block_push(arena, &again, statement_clone(arena, program, s));
        if (s->kind != STATEMENT_TASK || s->task.kind != TASK_WEIGHTS ||
            random_bits(&random) % 3 == 0)
            continue;
        for (uint32_t k = i; k < task_end(body, i); k++)
            block_push(arena, &again, statement_clone(arena, program, &body->statements[k]));
    }
    for (uint32_t i = 0; i < body->n; i++) {
        const struct statement *s = &body->statements[i];
        bool ends = s->kind == STATEMENT_TASK && s->task.kind == N_TASK_KINDS;
        for (uint32_t k = 0; k < again.n && ends; k++)
            block_push(arena, &all, again.statements[k]);
        block_push(arena, &all, *s);
    }
    *body = all;
    job_number(made);
    return again.n ? made : NULL;
}

// ---- comparing --------------------------------------------------------------------------------

// NULL: there is nothing to change so.
typedef const struct job *change(struct arena *, const struct job *, uint64_t random);
static const struct {
    const char *name;
    change *made;
} changes[] = {{"gradients begun anew", begin_anew},
               {"another row", change_row},
               {"tasks done again", do_again},
               {"a wait left out", leave_out_wait}};
enum { N_CHANGES = sizeof changes / sizeof *changes };

static void compare_mutants(const struct compiled *base, uint64_t seed, int n,
                            struct counts *counts) {
    for (int i = 0; i<n; i += sample_every()> 1 ? 5 : 1) {
        uint64_t random = seed * 131 + (uint64_t)i;
        struct arena arena = {0};
        const struct job *wrong = changes[i % N_CHANGES].made(&arena, base->final, random);
        if (wrong)
            compare(
                base, wrong,
                arena_format(&arena, "seed %d: %s (%d)", (int)seed, changes[i % N_CHANGES].name, i),
                counts);
        struct mutant mutant = {0};
        enum mutation kind = i < N_OF_PIPELINES ? (unsigned)(END_OF_ROUNDINGS + i)
                                                : (unsigned)(random_bits(&random) % N_MUTATIONS);
        if (mutate(&arena, base->final, kind, random, &mutant))
            compare(base, mutant.job, arena_format(&arena, "seed %d: %s", (int)seed, mutant.what),
                    counts);
        arena_free(&arena);
    }
}

static void repeats_what_would_be_executed(void **state) {
    uint64_t first = getenv("SEED") ? strtoull(getenv("SEED"), NULL, 10) : 1;
    uint64_t n = getenv("SEED") ? 1 : getenv("PLACE_TEST_FULL") ? 120 : 7;
    struct counts right = {0}, wrong = {0};
    // Every row of what is in flight is used several times.
    struct dims dims = small_pipeline_dims;
    dims.max_microbatches = 32;
    dims.max_batch = 6 * 32;
    for (uint64_t seed = first; seed < first + n; seed += (uint64_t)sample_every()) {
        struct compiled base = {0};
        struct arena text = {0};
        struct composition drawn = compose_pipeline(&text, 5 * seed, &dims);
        derive_text(&base, drawn.text);
        if (base.final && base.final->n_programs > 1) {
            const char *what = arena_format(&base.arena, "seed %d", (int)seed);
            if (seed % 3)
                write_out_tasks(&base.arena, base.final);
            compare(&base, base.final, what, &right);
            compare_mutants(&base, seed, N_OF_PIPELINES + 10, &wrong);
        }
        arena_free(&base.arena);
        arena_free(&text);
    }
    print_message("%u pipelines; of their mutants %u refused, %u accepted\n",
                  right.n_accepted + right.n_refused, wrong.n_refused, wrong.n_accepted);
    assert_int_equal(right.n_failed + wrong.n_failed, 0);
    assert_int_equal(right.n_refused, 0);
    assert_true(getenv("SEED") || sample_every() > 1 ||
                (right.n_accepted > 1 && wrong.n_refused > 60));
}

static void derive(struct compiled *c, struct arena *arena, const char *method, int layers,
                   int microbatches) {
    derive_text(
        c, arena_format(arena,
                        "model tiny : gpt2 { layers = %d  hidden = 8  heads = 2  ffn = 16"
                        "  vocab = 20  sequence_limit = 4 }\n"
                        "device core { memory = 1 GiB  compute = 1 TFLOP/s  bandwidth = 1 GB/s }\n"
                        "mesh ranks of core { pp = 4  link(1 GB/s, 1 us) }\n"
                        "train { batch = %d  sequence = 4  microbatch = 1"
                        "  optimizer = adamw(lr = 1e-3)  seed = 1 }\n"
                        "strategy main { split layers over pp schedule %s }\n",
                        layers, microbatches, method));
    if (!c->final)
        diagnostics_print(c->diagnostics, stderr, false);
    assert_non_null(c->final);
}

// ---- slots that are taken ---------------------------------------------------------------------

// What a task first waits for, and frees then, is left to the one before it: a task is the same whether that was done,
// and names nothing of the message.
static void finish_before_labels(struct block *body) {
    for (uint32_t i = 1; i + 1 < body->n; i++) {
        struct statement label = body->statements[i];
        uint32_t end = i + 1;
        if (label.kind != STATEMENT_TASK || body->statements[end].kind != STATEMENT_WAIT)
            continue;
        while (end + 1 < body->n && body->statements[end + 1].kind == STATEMENT_FREE)
            end++;
        memmove(&body->statements[i], &body->statements[i + 1],
                (end - i) * sizeof *body->statements);
        body->statements[i = end] = label;
    }
}

// Whether a statement waits for a message, in whose slot there is another one later.
static bool frees_slot(const struct block *body, uint32_t at) {
    const struct statement *wait = &body->statements[at];
    for (uint32_t i = at + 1; i < body->n && wait->kind == STATEMENT_WAIT; i++) {
        const struct statement *s = &body->statements[i];
        if (s->kind == STATEMENT_START && s->start.exchange.kind == COLLECTIVE_SEND &&
            s->start.handle == wait->wait.handle &&
            index_equal(s->start.handle_index, wait->wait.index))
            return true;
    }
    return false;
}

// Nobody waits for a message, which another task follows in its slot, of which all else is as ever.
static void tells_of_slots_that_are_taken(void **state) {
    struct compiled base = {0};
    struct arena text = {0};
    struct counts right = {0}, wrong = {0};
    uint32_t n_slots = 0, every = getenv("PLACE_TEST_FULL") ? 1 : sample_every() > 1 ? 17 : 5;
    derive(&base, &text, "one_f_one_b", 4, 12);
    write_out_tasks(&base.arena, base.final);
    for (uint32_t rank = 0; rank < base.final->n_programs; rank++)
        finish_before_labels(&base.final->programs[rank]->steps[STEP_TRAIN].body);
    job_number(base.final);
    compare(&base, base.final, "all waits", &right);
    for (uint32_t rank = 0; rank < base.final->n_programs; rank++) {
        const struct block *whole = &base.final->programs[rank]->steps[STEP_TRAIN].body;
        for (uint32_t i = 0; i < whole->n; i++) {
            if (!frees_slot(whole, i) || n_slots++ % every)
                continue;
            struct arena arena = {0};
            struct job *job = job_clone(&arena, base.final);
            struct block *body = &job->programs[rank]->steps[STEP_TRAIN].body;
            take_out(body, i);
            if (body->statements[i].kind == STATEMENT_FREE)
                take_out(body, i);
            job_number(job);
            compare(&base, job, arena_format(&arena, "rank %u without wait %u", rank, i), &wrong);
            arena_free(&arena);
        }
    }
    print_message("%u refused\n", wrong.n_refused);
    assert_int_equal(right.n_failed + wrong.n_failed, 0);
    assert_int_equal(right.n_refused + wrong.n_accepted, 0);
    assert_int_equal(wrong.n_refused, (n_slots + every - 1) / every);
    assert_true(n_slots > 30);
    arena_free(&base.arena);
    arena_free(&text);
}

// ---- how much is repeated ---------------------------------------------------------------------

static int64_t n_statements(const char *method, int layers, int microbatches) {
    struct compiled c = {0};
    struct arena text = {0};
    derive(&c, &text, method, layers, microbatches);
    struct way way = judge(&c, c.final, false);
    diagnostics_print(way.diagnostics, stderr, false);
    assert_int_equal(way.verdict.kind, VERDICT_ACCEPTED);
    int64_t n = way.verdict.n_statements;
    arena_free(&way.arena);
    arena_free(&c.arena);
    arena_free(&text);
    return n;
}

// A task that was seen before is one statement, and its microbatch's iteration of a loop.
static void repeats_whatever_was_done_before(void **state) {
    static const struct {
        const char *method;
        int n_tasks; // of a microbatch, on all ranks; in evaluation, only F
    } methods[] = {
        {"gpipe", 4 * 3}, {"one_f_one_b", 4 * 3}, {"interleaved(chunks = 2)", 8 * 3},
        {"zb_h1", 4 * 4}, {"zbv", 8 * 4},
    };
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++) {
        int64_t grown =
            n_statements(methods[i].method, 8, 96) - n_statements(methods[i].method, 8, 48);
        print_message("%s: %.2f statements a task\n", methods[i].method,
                      (double)grown / (48.0 * methods[i].n_tasks));
        assert_true(grown <= 3 * 48 * methods[i].n_tasks / 2);
    }
}

// Frees are found in a step that was made short, where a stage has many layers; and rows have as many.
static void accepts_stages_of_any_depth(void **state) {
    static const char *const methods[] = {"one_f_one_b", "gpipe", "zb_h1"};
    int step = getenv("PLACE_TEST_FULL") ? 1 : 5 * sample_every();
    for (int layers = 8; layers < 160; layers += step)
        (void)n_statements(methods[layers % 3], layers, 3 + layers % 7);
}

// ---- what only looks alike --------------------------------------------------------------------

// Mistakes that are made for it: programs of which some tasks are other than those of their text were
// before in one thing alone.
struct forgery {
    struct arena *arena;
    struct job *job;
    struct program *program;
    struct block *body, made;
};

static struct forgery forge(struct arena *arena, const struct job *job, uint32_t rank) {
    struct job *made = job_clone(arena, job);
    struct program *program = made->programs[rank];
    job_drop_places(made);
    for (uint32_t i = 0; i < made->n_units; i++) // so that what it is given may be given it again
        memset(made->units[i].consumed, 0, made->units[i].n_parameters * sizeof(bool));
    return (struct forgery){arena, made, program, &program->steps[STEP_TRAIN].body, {0}};
}

static const struct job *forged(struct forgery *f) {
    *f->body = f->made;
    job_number(f->job);
    return f->job;
}

static void add(struct forgery *f, struct statement statement) {
    block_push(f->arena, &f->made, statement);
}

static void add_label(struct forgery *f, enum task_kind kind, uint32_t stage, int64_t microbatch) {
    add(f, (struct statement){.kind = STATEMENT_TASK,
                              .task = {kind, stage, index_constant(microbatch)}});
}

// Behind it comes what is of no task.
static void add_end(struct forgery *f) {
    add_label(f, N_TASK_KINDS, 0, 0);
}

// Statement i begins the task that makes gradients of weights of this microbatch.
static bool begins_weights(const struct forgery *f, uint32_t i, int64_t microbatch) {
    const struct statement *s = &f->body->statements[i];
    return s->kind == STATEMENT_TASK && s->task.kind == TASK_WEIGHTS &&
           s->task.microbatch.offset == microbatch;
}

// The sum that result i of the call adds to; NULL: it adds to none.
static const struct reference *sum_of(const struct forgery *f, const struct call *call,
                                      uint32_t i) {
    bool adds = f->job->units[call->unit].results[i].in_parameter != NO_ID;
    const struct reference *at = &call->results[i];
    return adds && f->program->buffers[at->buffer].class == CLASS_GRADIENTS ? at : NULL;
}

// The statements, which free nothing; `anew`: and begin each sum.
static struct block body_of(struct forgery *f, const struct statement *list, uint32_t n,
                            bool anew) {
    struct block made = {0};
    for (uint32_t i = 0; i < n; i++) {
        struct statement s = statement_clone(f->arena, f->program, &list[i]);
        if (s.kind == STATEMENT_FREE)
            continue;
        if (s.kind == STATEMENT_LOOP)
            s.loop.body = body_of(f, s.loop.body.statements, s.loop.body.n, anew);
        for (uint32_t k = 0;
             anew && s.kind == STATEMENT_CALL && k < f->job->units[s.call.unit].n_results; k++)
            if (sum_of(f, &s.call, k))
                block_push(
                    f->arena, &made,
                    (struct statement){.kind = STATEMENT_ZERO, .zero = *sum_of(f, &s.call, k)});
        block_push(f->arena, &made, s);
    }
    return made;
}

// The statements of the task that begins there, without its label.
static void add_body(struct forgery *f, uint32_t begin, bool anew) {
    uint32_t n = task_end(f->body, begin) - begin - 1;
    struct block own = body_of(f, &f->body->statements[begin + 1], n, anew);
    for (uint32_t i = 0; i < own.n; i++)
        add(f, own.statements[i]);
}

static void add_weights(struct forgery *f, uint32_t begin, int64_t microbatch, bool anew) {
    add_label(f, TASK_WEIGHTS, f->body->statements[begin].task.stage, microbatch);
    add_body(f, begin, anew);
}

// Behind each of the first two tasks come its sums once more, begun anew, as of the next microbatch:
// the first time that leaves them as they were.
static const struct job *begin_alike(struct arena *arena, const struct job *job) {
    struct forgery f = forge(arena, job, 1);
    for (uint32_t i = 0; i < f.body->n; i++) {
        int64_t microbatch = begins_weights(&f, i, 0) ? 0 : begins_weights(&f, i, 1) ? 1 : -1;
        if (microbatch < 0) {
            add(&f, f.body->statements[i]);
            continue;
        }
        add_weights(&f, i, microbatch, false);
        add_weights(&f, i, microbatch + 1, true);
        i = task_end(f.body, i) - 1;
    }
    return forged(&f);
}

// A second place for every sum, on the host.
struct kept {
    struct reference sums[64], places[64];
    uint32_t n;
    uint32_t handle;
};

static void keep_sum(struct forgery *f, struct kept *kept, buffer_id sum) {
    struct buffer place = f->program->buffers[sum];
    int64_t items = buffer_items(&place);
    for (uint32_t i = 0; i < kept->n; i++)
        if (kept->sums[i].buffer == sum)
            return;
    place.name =
        arena_format(f->arena, "kept.%u.%u", (unsigned)f->program->n_buffers, kept->handle);
    place.class = CLASS_TRANSIENT;
    place.tier = TIER_HOST;
    place.offset_bytes = -1;
    buffer_id id = program_add_buffer(f->program, place);
    for (int64_t i = 0; i < items; i++) {
        kept->sums[kept->n] = reference_at(sum, index_constant(i));
        kept->places[kept->n++] = reference_at(id, index_constant(i));
    }
}

static struct kept keep_sums(struct forgery *f, const char *name) {
    struct step *step = &f->program->steps[STEP_TRAIN];
    struct kept kept = {.handle = step_add_handle(f->arena, step, name, 1)};
    uint32_t begin = 0;
    while (!begins_weights(f, begin, 0))
        begin++;
    struct block own = {&f->body->statements[begin], task_end(f->body, begin) - begin, 0};
    struct statement_walk walk = walk_statements(&own);
    while (walk_next(&walk))
        for (uint32_t i = 0; walk.statement->kind == STATEMENT_CALL &&
                             i < f->job->units[walk.statement->call.unit].n_results;
             i++)
            if (sum_of(f, &walk.statement->call, i))
                keep_sum(f, &kept, sum_of(f, &walk.statement->call, i)->buffer);
    return kept;
}

// Copies each sum there, or back.
static void add_copy(struct forgery *f, const struct kept *kept, bool back) {
    struct transfer_piece *pieces = ARENA_ARRAY(f->arena, struct transfer_piece, kept->n);
    for (uint32_t i = 0; i < kept->n; i++)
        pieces[i] = back ? (struct transfer_piece){kept->places[i], kept->sums[i]}
                         : (struct transfer_piece){kept->sums[i], kept->places[i]};
    add(f, (struct statement){
               .kind = STATEMENT_START,
               .start = {
                   .exchange = {.kind = COLLECTIVE_COPY, .dim = -1, .concat_dim = -1, .peer = -1},
                   .handle = kept->handle,
                   .handle_index = index_constant(0),
                   .pieces = pieces,
                   .n_pieces = kept->n}});
    add(f, (struct statement){.kind = STATEMENT_WAIT, .wait = {kept->handle, index_constant(0)}});
}

static void add_free(struct forgery *f, const struct kept *kept) {
    add(f,
        (struct statement){
            .kind = STATEMENT_FREE,
            .free = {arena_copy(f->arena, kept->places, kept->n * sizeof *kept->places), kept->n}});
}

static void add_kept(struct forgery *f, const struct kept *kept, int64_t microbatch) {
    add_end(f);
    add_free(f, kept);
    add_label(f, TASK_FORWARD, 0, microbatch);
    add_copy(f, kept, false);
    add_end(f);
}

// The sum of microbatch 0 is kept, as of that; then that of microbatch 1, as of 0 again, in whose place it
// comes.
static const struct job *keep_alike(struct arena *arena, const struct job *job) {
    struct forgery f = forge(arena, job, 1);
    struct kept kept = keep_sums(&f, "kept");
    for (uint32_t i = 0; i < f.body->n; i++) {
        int64_t microbatch = begins_weights(&f, i, 0) ? 0 : begins_weights(&f, i, 1) ? 1 : -1;
        if (microbatch < 0) {
            add(&f, f.body->statements[i]);
            continue;
        }
        add_weights(&f, i, microbatch, microbatch == 1);
        add_kept(&f, &kept, 0);
        if (microbatch == 1) {
            add_copy(&f, &kept, true);
            add_weights(&f, i, 1, false);
        }
        i = task_end(f.body, i) - 1;
    }
    return forged(&f);
}

// A task adds the last microbatch, keeps that sum, and puts back what it was before. What it keeps is the
// whole; then the same is done with a sum of which less was collected.
static const struct job *keep_whole(struct arena *arena, const struct job *job) {
    struct forgery f = forge(arena, job, 1);
    struct kept before = keep_sums(&f, "before"), whole = keep_sums(&f, "whole");
    uint32_t second = 0;
    for (uint32_t i = 0; i < f.body->n; i++) {
        if (begins_weights(&f, i, 1)) {
            second = i;
            add_weights(&f, i, 1, false);
            i = task_end(f.body, i) - 1;
            continue;
        }
        if (!begins_weights(&f, i, 2)) {
            add(&f, f.body->statements[i]);
            continue;
        }
        for (int k = 0; k < 2; k++) {
            add_end(&f);
            add_free(&f, &before);
            add_free(&f, &whole);
            if (k == 1)
                add_body(&f, second, true);
            add_label(&f, TASK_FORWARD, 0, 2);
            add_copy(&f, &before, false);
            add_body(&f, i, false);
            add_copy(&f, &whole, false);
            add_copy(&f, &before, true);
            add_free(&f, &before);
        }
        add_end(&f);
        add_copy(&f, &whole, true);
        i = task_end(f.body, i) - 1;
    }
    return forged(&f);
}

// The loop over layers goes with one that is put around the task, round and round.
static void turn_layers(struct forgery *f, struct statement *loop) {
    loop->loop.stride = 1;
    struct statement_walk walk = walk_statements(&loop->loop.body);
    while (walk_next(&walk)) {
        struct access access;
        for (uint32_t i = 0; (access = statement_access(f->program, walk.statement, i)).at; i++)
            for (unsigned k = 0; k < f->program->buffers[access.at->buffer].stacks.n; k++) {
                int64_t count = f->program->buffers[access.at->buffer].stacks.list[k].count;
                struct index *index = &access.at->indices[k];
                if (index->variable == 0)
                    *index = index_variable(1, index->offset, count);
            }
    }
}

// From microbatch 4 on a task has the same layers, but another one first.
static const struct job *turn_later(struct arena *arena, const struct job *job) {
    struct forgery f = forge(arena, job, 1);
    for (uint32_t i = 0; i < f.body->n; i++) {
        const struct statement *label = &f.body->statements[i];
        if (label->kind != STATEMENT_TASK || label->task.kind != TASK_FORWARD) {
            add(&f, *label);
            continue;
        }
        int64_t turn = label->task.microbatch.offset >= 4;
        struct loop around = {.name = "turn", .begin = turn, .end = turn + 1};
        for (uint32_t end = task_end(f.body, i); i < end; i++) {
            struct statement s = statement_clone(arena, f.program, &f.body->statements[i]);
            if (s.kind == STATEMENT_LOOP)
                turn_layers(&f, &s);
            block_push(arena, &around.body, s);
        }
        add(&f, (struct statement){.kind = STATEMENT_LOOP, .loop = around});
        i--;
    }
    return forged(&f);
}

// Waits for sends of tasks stand between these, and of one there is none.
static const struct job *take_slot(struct arena *arena, const struct job *job) {
    struct forgery f = forge(arena, job, 0);
    for (uint32_t i = 0, n = 0; i < f.body->n; i++) {
        const struct statement *label = &f.body->statements[i];
        bool waits =
            label->kind == STATEMENT_TASK && i + 1 < f.body->n && label[1].kind == STATEMENT_WAIT;
        if (waits && n++ != 3) {
            add_end(&f);
            add(&f, label[1]);
        }
        add(&f, *label);
        i += waits;
        while (label->kind == STATEMENT_TASK && f.body->statements[i + 1].kind == STATEMENT_FREE)
            i++; // which names what is still sent
    }
    return forged(&f);
}

// Tasks wait twice for what was sent once.
static const struct job *wait_twice(struct arena *arena, const struct job *job) {
    struct forgery f = forge(arena, job, 0);
    for (uint32_t i = 0; i < f.body->n; i++) {
        add(&f, f.body->statements[i]);
        if (f.body->statements[i].kind == STATEMENT_WAIT && i > 0 &&
            f.body->statements[i - 1].kind == STATEMENT_TASK)
            add(&f, f.body->statements[i]);
    }
    return forged(&f);
}

// A task of its own, in a loop, waits for the messages of two tasks before it, in the loop's slot and in 1.
static struct statement wait_for_two(struct arena *arena, uint32_t handle, int64_t slot,
                                     int64_t microbatch) {
    struct loop loop = {.name = "slot", .begin = slot, .end = slot + 1};
    struct index slots[] = {index_variable(0, 0, 0), index_constant(1)};
    block_push(arena, &loop.body,
               (struct statement){.kind = STATEMENT_TASK,
                                  .task = {TASK_FORWARD, 0, index_constant(microbatch)}});
    for (int i = 0; i < 2; i++)
        block_push(arena, &loop.body,
                   (struct statement){.kind = STATEMENT_WAIT, .wait = {handle, slots[i]}});
    return (struct statement){.kind = STATEMENT_LOOP, .loop = loop};
}

// One of the last two messages is waited for twice, and the other never.
static const struct job *wait_for_one(struct arena *arena, const struct job *job) {
    struct forgery f = forge(arena, job, 0);
    uint32_t handle = NO_ID;
    int64_t microbatch = 0;
    for (uint32_t i = 0; i < f.body->n; i++) {
        struct statement s = f.body->statements[i];
        if (s.kind == STATEMENT_TASK)
            microbatch = s.task.microbatch.offset;
        if (s.kind == STATEMENT_START && s.start.exchange.kind == COLLECTIVE_SEND &&
            handle == NO_ID)
            handle = s.start.handle;
        if (handle != NO_ID &&
            (s.kind == STATEMENT_FREE || (s.kind == STATEMENT_WAIT && s.wait.handle == handle)))
            continue;
        bool sends = s.kind == STATEMENT_START && s.start.handle == handle;
        if (sends)
            s.start.handle_index = index_constant(microbatch % 2);
        add(&f, s);
        if (sends && microbatch % 2)
            add(&f, wait_for_two(arena, handle, microbatch == 7, microbatch));
    }
    f.program->steps[STEP_TRAIN].handles[handle].slots = 2;
    return forged(&f);
}

static void executes_what_only_looks_alike(void **state) {
    static const struct {
        const char *name, *method;
        int microbatches;
        bool written_out;
        const struct job *(*change)(struct arena *, const struct job *);
    } all[] = {
        {"begin_alike", "zb_h1", 8, true, begin_alike},
        {"keep_alike", "zb_h1", 3, true, keep_alike},
        {"keep_whole", "zb_h1", 3, true, keep_whole},
        {"turn_later", "gpipe", 8, true, turn_later},
        {"take_slot", "gpipe", 8, true, take_slot},
        {"wait_twice", "gpipe", 8, true, wait_twice},
        {"wait_for_one", "gpipe", 8, true, wait_for_one},
    };
    struct counts counts = {0};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        struct compiled base = {0};
        struct arena arena = {0};
        derive(&base, &arena, all[i].method, 8, all[i].microbatches);
        if (all[i].written_out)
            write_out_tasks(&base.arena, base.final);
        const struct job *wrong = all[i].change(&arena, base.final);
        struct span at;
        assert_null(job_check(wrong, &arena, &at));
        compare(&base, wrong, all[i].name, &counts);
        arena_free(&arena);
        arena_free(&base.arena);
    }
    assert_int_equal(counts.n_failed, 0);
    assert_int_equal(counts.n_refused, sizeof all / sizeof *all);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(repeats_what_would_be_executed),
                                       cmocka_unit_test(tells_of_slots_that_are_taken),
                                       cmocka_unit_test(repeats_whatever_was_done_before),
                                       cmocka_unit_test(accepts_stages_of_any_depth),
                                       cmocka_unit_test(executes_what_only_looks_alike)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
