// Parts that send each other messages: stages of a pipeline in the order 1F1B, between threads and
// between processes, and what is told where nobody can go on.
#include "backend_harness.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "ir/diagnostic.h"
#include "passes/passes.h"

enum { MICROBATCHES = 4, MAX_STAGES = 3 };

// ---- the text ---------------------------------------------------------------------------------

static const char header[] =
    "step main {\n"
    "  axis pp = %d\n"
    "  axis dp = 2\n"
    "  sizes batch = 8 sequence = 2 microbatches = 4 layers = 1 vocab = 256\n"
    "  policy parameters = f64 master = none moments = f64 gradients = f64\n"
    "       compute = f64 accumulate = f64 gather = f64 reduce = f64 reproducible = 0\n"
    "  tensor w [hidden=4] role norm init normal 1\n"
    "  tensor v [hidden=4] role norm init zeros\n";

static const char units[] = "}\n"
                            "unit main.double {\n"
                            "  phase forward\n"
                            "  parameter %x : f64[hidden=2]\n"
                            "  result %y in %x\n"
                            "  %y = add(%x, %x) : f64[hidden=2]\n"
                            "}\n"
                            "unit main.times_two {\n"
                            "  phase forward\n"
                            "  parameter %x : f64[hidden=2]\n"
                            "  result %y\n"
                            "  %y = add(%x, %x) : f64[hidden=2]\n"
                            "}\n"
                            "unit main.times_three {\n"
                            "  phase backward\n"
                            "  parameter %x : f64[hidden=2]\n"
                            "  result %z\n"
                            "  %y = add(%x, %x) : f64[hidden=2]\n"
                            "  %z = add(%x, %y) : f64[hidden=2]\n"
                            "}\n"
                            "unit main.add {\n"
                            "  phase update\n"
                            "  parameter %s : f64[hidden=2]\n"
                            "  parameter %t : f64[hidden=2]\n"
                            "  result %u in %s\n"
                            "  %u = add(%s, %t) : f64[hidden=2]\n"
                            "}\n";

// A job in the making. Values that live from one task to another have as many slots as stages.
struct writing {
    struct arena *arena;
    const char *text;
    int stages, stage;
};

#define SAY(writing, ...)                                                                          \
    ((writing)->text = arena_format((writing)->arena, "%s%s", (writing)->text,                     \
                                    arena_format((writing)->arena, __VA_ARGS__)))

static void buffers(struct writing *w) {
    bool is_first = w->stage == 0, is_last = w->stage == w->stages - 1;
    SAY(w, "    buffer step : input f64[] host step\n");
    if (is_first)
        SAY(w, "    buffer tokens : input i32[batch=8/dp, sequence=2] host tokens microbatches 4\n"
               "    buffer w : parameters f64[hidden=4/dp] of w\n"
               "    buffer count : transient f64[hidden=2]\n"
               "    buffer total : transient f64[hidden=2]\n");
    if (is_last)
        SAY(w,
            "    buffer targets : input i32[batch=8/dp, sequence=2] host targets microbatches 4\n"
            "    buffer loss : output f64[] host loss\n"
            "    buffer v : parameters f64[hidden=4/dp] of v\n");
    if (!is_last)
        SAY(w,
            "    buffer hidden : transient f64[hidden=2] slots %d\n"
            "    buffer gradient : transient f64[hidden=2] slots %d\n",
            w->stages, w->stages);
    if (!is_first)
        SAY(w,
            "    buffer incoming : transient f64[hidden=2] slots %d\n"
            "    buffer back : transient f64[hidden=2] slots %d\n",
            w->stages, w->stages);
}

// The first stage gives 2 (m + 1) w, and each behind it twice what it gets. The last makes v = 2 v +
// that, so microbatches out of order make another v.
static void forward(struct writing *w, int m) {
    int slot = m % w->stages;
    bool is_first = w->stage == 0, is_last = w->stage == w->stages - 1;
    SAY(w, "      task F %d %d\n", w->stage, m);
    if (!is_first)
        SAY(w,
            "      start receive over pp from %d as in[%d] { incoming[%d] }\n      wait in[%d]\n",
            w->stage - 1, slot, slot, slot);
    if (is_last) {
        SAY(w, "      call double(x = v)\n      call add(s = v, t = incoming[%d])\n", slot);
        return;
    }
    if (m >= w->stages)
        SAY(w, "      wait out[%d]\n", slot);
    if (is_first)
        SAY(w, "      call add(s = count, t = w)\n");
    SAY(w,
        is_first ? "      call times_two(x = count) -> (y = hidden[%d])\n"
                 : "      call times_two(x = incoming[%d]) -> (y = hidden[%d])\n",
        slot, slot);
    SAY(w, "      start send over pp to %d as out[%d] { hidden[%d] }\n", w->stage + 1, slot, slot);
}

// Each stage but the first gives back three times what it has; that one makes total = 2 total + that.
static void backward(struct writing *w, int m) {
    int slot = m % w->stages;
    bool is_first = w->stage == 0, is_last = w->stage == w->stages - 1;
    SAY(w, "      task B %d %d\n", w->stage, m);
    if (!is_last)
        SAY(w,
            "      start receive over pp from %d as down[%d] { gradient[%d] }\n"
            "      wait down[%d]\n",
            w->stage + 1, slot, slot, slot);
    if (is_first) {
        SAY(w, "      call double(x = total)\n      call add(s = total, t = gradient[%d])\n", slot);
        return;
    }
    if (m >= w->stages)
        SAY(w, "      wait up[%d]\n", slot);
    SAY(w, "      call times_three(x = %s[%d]) -> (z = back[%d])\n",
        is_last ? "incoming" : "gradient", slot, slot);
    SAY(w, "      start send over pp to %d as up[%d] { back[%d] }\n", w->stage - 1, slot, slot);
}

static void part(struct writing *w) {
    bool is_first = w->stage == 0, is_last = w->stage == w->stages - 1;
    int ahead = w->stages - 1 - w->stage;
    SAY(w, "  part stage%d over pp %d .. %d {\n", w->stage, w->stage, w->stage + 1);
    buffers(w);
    SAY(w, "    train {\n%s%s", is_first ? "      zero count\n      zero total\n" : "",
        is_last ? "      zero loss\n" : "");
    for (int m = 0; m < MICROBATCHES + ahead; m++) {
        if (m < MICROBATCHES)
            forward(w, m);
        if (m >= ahead)
            backward(w, m - ahead);
    }
    for (int m = MICROBATCHES - w->stages; m < MICROBATCHES; m++) {
        if (!is_last)
            SAY(w, "      wait out[%d]\n", m % w->stages);
        if (!is_first)
            SAY(w, "      wait up[%d]\n", m % w->stages);
    }
    SAY(w, "%s    }\n  }\n", is_first ? "      call add(s = w, t = total)\n" : "");
}

static char *job_of(struct arena *arena, int stages) {
    struct writing w = {arena, arena_format(arena, header, stages), stages, 0};
    for (; w.stage < stages; w.stage++)
        part(&w);
    SAY(&w, "%s", units);
    return (char *)w.text;
}

// The first `from` behind `behind` becomes `to`.
static char *edited(struct arena *arena, const char *text, const char *behind, const char *from,
                    const char *to) {
    const char *at = strstr(text, behind);
    assert_non_null(at);
    at = strstr(at, from);
    assert_non_null(at);
    return arena_format(arena, "%.*s%s%s", (int)(at - text), text, to, at + strlen(from));
}

// ---- runs -------------------------------------------------------------------------------------

struct fixture {
    struct arena arena;
    struct job *job; // of the last run
    char folder[64];
};

static const char *path_in(struct fixture *f, const char *name) {
    return arena_format(&f->arena, "%s/%s", f->folder, name);
}

static int open_folder(void **state) {
    struct fixture *f = calloc(1, sizeof *f);
    strcpy(f->folder, "/tmp/place_messages_XXXXXX");
    assert_non_null(mkdtemp(f->folder));
    FILE *data = fopen(path_in(f, "data.txt"), "w");
    assert_non_null(data);
    for (int i = 0; i < 100; i++)
        fputs("some words to train on\n", data);
    fclose(data);
    *state = f;
    return 0;
}

static int close_folder(void **state) {
    struct fixture *f = *state;
    assert_int_equal(system(arena_format(&f->arena, "rm -rf %s", f->folder)), 0);
    arena_free(&f->arena);
    free(f);
    return 0;
}

// Makes an executable of the text, and returns the status with which it ends; what it says is in
// `said`.
static int run(struct fixture *f, const char *text, const char *launcher) {
    struct text_error error = {0};
    struct pass_context context = {.diagnostics = diagnostics_new(&f->arena, NULL)};
    struct job *job = job_parse(&f->arena, text, strlen(text), 0, &error);
    const char *why = NULL, *program = path_in(f, "program");
    if (!job)
        fail_msg("%s at %.60s", error.message, text + error.span.begin);
    assert_true(passes_run(job, &context, PASS_RELEASE, PASS_MEMORY));
    job_number(job);
    f->job = job;
    struct place_program *descriptor =
        descriptor_make(&f->arena, job, &(struct descriptor_facts){0});
    if (!backend_build(harness_backend(), &f->arena, job, descriptor, &(struct backend_options){0},
                       program, &why))
        fail_msg("%s", why);
    return system(arena_format(
        &f->arena, "%s %s --quiet --data %s --steps 1 --threads 1 --save %s --log %s >%s 2>&1",
        launcher, program, path_in(f, "data.txt"), path_in(f, "saved.safetensors"),
        path_in(f, "log"), path_in(f, "said")));
}

static const char *read_file(struct fixture *f, const char *name) {
    char *bytes = ARENA_ARRAY(&f->arena, char, 1 << 16);
    FILE *from = fopen(path_in(f, name), "rb");
    assert_non_null(from);
    size_t length = fread(bytes, 1, (1 << 16) - 1, from);
    bytes[length] = 0;
    fclose(from);
    return bytes;
}

static void expect_said(struct fixture *f, const char *file, const char *words) {
    const char *bytes = read_file(f, file);
    if (!strstr(bytes, words))
        fail_msg("%s is not in %s", words, bytes);
}

static void read_tensor(struct fixture *f, const char *name, double values[4]) {
    const char *bytes = read_file(f, "saved.safetensors");
    uint64_t length;
    memcpy(&length, bytes, sizeof length);
    char *at = strstr(bytes + 8, arena_format(&f->arena, "\"%s\"", name));
    if (!at || !(at = strstr(at, "\"data_offsets\":")) || !(at = strchr(at, '[')))
        fail_msg("no %s was saved", name);
    memcpy(values, bytes + 8 + length + strtoll(at + 1, NULL, 10), 4 * sizeof *values);
}

static double power(double of, int n) {
    return n ? of * power(of, n - 1) : 1;
}

// v is 26 times what passing down makes of w, and w at the end itself and 26 times what passing down and
// up makes of it. So each column of dp has had its own.
static double worst_error(struct fixture *f, int stages) {
    double w[4], v[4], worst = 0, of = 26 * power(2, stages - 1);
    double at_end = 1 + 26 * power(6, stages - 1);
    read_tensor(f, "w", w);
    read_tensor(f, "v", v);
    for (int i = 0; i < 4; i++) {
        double error = w[i] * of / at_end - v[i];
        error = error < 0 ? -error : error;
        worst = error > worst || v[i] == 0 ? error + (v[i] == 0) : worst;
    }
    return worst;
}

// What is logged is of the rank that has most.
static void expect_accounted(struct fixture *f) {
    int64_t sent = 0, alive = 0, peak = 0;
    for (uint32_t i = 0; i < f->job->n_programs; i++) {
        const struct account *accounted = account(f->job->programs[i], &f->arena);
        sent = accounted->total_bytes > sent ? accounted->total_bytes : sent;
        alive = accounted->live[TIER_DEVICE].sum > alive ? accounted->live[TIER_DEVICE].sum : alive;
        peak =
            accounted->arenas[TIER_DEVICE].peak > peak ? accounted->arenas[TIER_DEVICE].peak : peak;
    }
    expect_said(f, "log", arena_format(&f->arena, "\"bytes_sent\": {\"pp\": %d", (int)sent));
    expect_said(f, "log", arena_format(&f->arena, "\"live_bytes\": {\"peak\": %d", (int)alive));
    expect_said(f, "log", arena_format(&f->arena, "\"peak_bytes\": %d", (int)peak));
}

static void expect_trained(struct fixture *f, int stages, const char *launcher) {
    if (run(f, job_of(&f->arena, stages), launcher) != 0)
        fail_msg("%s", read_file(f, "said"));
    double error = worst_error(f, stages);
    if (error > 1e-9)
        fail_msg("of %d stages values differ by %g", stages, error);
    expect_accounted(f);
    // By the rank that sends most: each message is of 16 bytes.
    expect_said(f, "log",
                arena_format(&f->arena, "\"bytes_sent\": {\"pp\": %d",
                             16 * MICROBATCHES * (stages > 2 ? 2 : 1)));
    expect_said(f, "log", "\"overlapping\": 0");
    expect_said(f, "log", "\"unfreed\": 0");
}

static void threads_pass_messages(void **state) {
    for (int stages = 2; stages <= MAX_STAGES; stages++)
        expect_trained(*state, stages, "");
}

static const char *mpirun(struct fixture *f, int processes) {
    const char *launcher = getenv("PLACE_TEST_MPIRUN");
    return launcher && *launcher ? arena_format(&f->arena, "%s %d", launcher, processes) : NULL;
}

// One rank in each process, and two: then the columns of a stage share one, or a whole column does.
static void processes_pass_messages(void **state) {
    struct fixture *f = *state;
    if (!mpirun(f, 2))
        skip();
    expect_trained(f, 2, mpirun(f, 4));
    expect_trained(f, 2, mpirun(f, 2));
    expect_trained(f, 3, mpirun(f, 6));
    expect_trained(f, 3, mpirun(f, 3));
}

// ---- mistakes ---------------------------------------------------------------------------------

static void other_slots_are_other_values(void **state) {
    struct fixture *f = *state;
    char *text = job_of(&f->arena, 2);
    text = edited(&f->arena, text, "task F 1 1", "t = incoming[1]", "t = incoming[0]");
    assert_int_equal(run(f, text, ""), 0);
    assert_true(worst_error(f, 2) > 1e-9);
}

// The last stage asks for more than it is sent before it gives anything back.
static char *waits_for_each_other(struct fixture *f) {
    return edited(
        &f->arena, job_of(&f->arena, 2), "part stage1", "      task F 1 0\n",
        "      start receive over pp from 0 as in[1] { incoming[1] }\n      wait in[1]\n"
        "      start receive over pp from 0 as in[0] { incoming[0] }\n      wait in[0]\n"
        "      start receive over pp from 0 as in[1] { incoming[1] }\n      wait in[1]\n");
}

static void deadlocks_name_statements(void **state) {
    struct fixture *f = *state;
    char *text = job_of(&f->arena, 2);
    text =
        edited(&f->arena, text, "part stage1", "      task F 1 0\n",
               "      start receive over pp from 0 as in[1] { incoming[1] }\n      wait in[1]\n"
               "      start receive over pp from 0 as in[0] { incoming[0] }\n      wait in[0]\n"
               "      start receive over pp from 0 as in[1] { incoming[1] }\n      wait in[1]\n");
    assert_int_not_equal(run(f, text, ""), 0);
    expect_said(f, "said", "deadlock: every rank waits for another");
    expect_said(f, "said", "rank 0 waits for rank 2 to send a message");
    expect_said(f, "said", "rank 2 waits for rank 0 to send a message");
    expect_said(f, "said", "wait in");
    expect_said(f, "said", "wait down");
}

// Processes cannot see that nobody goes on; who hears nothing says of whom.
static void silence_is_told(void **state) {
    struct fixture *f = *state;
    if (!mpirun(f, 2))
        skip();
    char *text = waits_for_each_other(f);
    assert_int_not_equal(run(f, text, arena_format(&f->arena, "PLACE_TIMEOUT=1 %s", mpirun(f, 4))),
                         0);
    expect_said(f, "said", "no answer from rank");
    expect_said(f, "said", "wait in");
}

static void sizes_must_agree(void **state) {
    struct fixture *f = *state;
    char *text = job_of(&f->arena, 2);
    text =
        edited(&f->arena, text, "part stage1", "{ incoming[0] }", "{ incoming[0], incoming[1] }");
    assert_int_not_equal(run(f, text, ""), 0);
    expect_said(f, "said", "this receive meets another message: rank ");
    expect_said(f, "said", "number of pieces");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(threads_pass_messages, open_folder, close_folder),
        cmocka_unit_test_setup_teardown(processes_pass_messages, open_folder, close_folder),
        cmocka_unit_test_setup_teardown(other_slots_are_other_values, open_folder, close_folder),
        cmocka_unit_test_setup_teardown(deadlocks_name_statements, open_folder, close_folder),
        cmocka_unit_test_setup_teardown(silence_is_told, open_folder, close_folder),
        cmocka_unit_test_setup_teardown(sizes_must_agree, open_folder, close_folder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
