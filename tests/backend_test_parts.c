// A job of two parts, which hold and do different things: every rank does what its part says, parts
// meet in collectives over the axes that part them, and files hold what either has.
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

// Ranks 0 and 1 are the first part, which reads tokens, 2 and 3 the last, which has targets and a
// loss. In a step the first doubles `w` and the last trebles `v`; to `both` is added what the
// devices of a column have of `mine`, which is twice and three times of it. Each device adds `both`
// to what it owes, a residual; the last part adds that to `seen`.
static const char text[] =
    "step main {\n"
    "  axis stage = 2\n"
    "  axis dp = 2\n"
    "  sizes batch = 4 sequence = 2 microbatches = 1 layers = 1 vocab = 256\n"
    "  policy parameters = f64 master = none moments = f64 gradients = f64\n"
    "       compute = f64 accumulate = f64 gather = f64 reduce = f64 reproducible = 0\n"
    "  tensor w [hidden=4] role norm init ones\n"
    "  tensor v [hidden=20] role norm init ones\n"
    "  tensor both [hidden=2] role norm init ones\n"
    "  tensor seen [hidden=2] role norm init zeros\n"
    "  part first over stage 0 .. 1 {\n"
    "    buffer tokens : input i32[batch=4/dp, sequence=2] host tokens\n"
    "    buffer step : input f64[] host step\n"
    "    buffer w : parameters f64[hidden=4/dp] of w\n"
    "    buffer both : parameters f64[hidden=2] of both\n"
    "    buffer owed : residual f64[hidden=2] of both\n"
    "    buffer mine : transient f64[hidden=2]\n"
    "    train {\n"
    "      zero mine\n"
    "      start all_reduce over dp as apart[0] { mine -> mine }\n"
    "      wait apart[0]\n"
    "      call double(x = w)\n"
    "      call times_two(x = both) -> (y = mine)\n"
    "      start all_reduce over stage as sum[0] { mine -> mine }\n"
    "      wait sum[0]\n"
    "      call add(s = both, t = mine)\n"
    "      call add(s = owed, t = both)\n"
    "    }\n"
    "  }\n"
    "  part last over stage 1 .. 2 {\n"
    "    buffer both : parameters f64[hidden=2] of both\n"
    "    buffer v : parameters f64[hidden=20] of v\n"
    "    buffer owed : residual f64[hidden=2] of both\n"
    "    buffer seen : parameters f64[hidden=2] of seen\n"
    "    buffer targets : input i32[batch=4/dp, sequence=2] host targets\n"
    "    buffer step : input f64[] host step\n"
    "    buffer loss : output f64[] host loss\n"
    "    buffer more : transient f64[hidden=20]\n"
    "    buffer mine : transient f64[hidden=2]\n"
    "    train {\n"
    "      zero loss\n"
    "      call treble(x = v) -> (y = more)\n"
    "      start all_reduce over dp as own[0] { more -> more }\n"
    "      wait own[0]\n"
    "      call times_three(x = both) -> (z = mine)\n"
    "      start all_reduce over stage as sum[0] { mine -> mine }\n"
    "      wait sum[0]\n"
    "      call add(s = both, t = mine)\n"
    "      call add(s = owed, t = both)\n"
    "      call add(s = seen, t = owed)\n"
    "    }\n"
    "  }\n"
    "}\n"
    "unit main.double {\n"
    "  phase update\n"
    "  parameter %x : f64[hidden=2]\n"
    "  result %y in %x\n"
    "  %y = add(%x, %x) : f64[hidden=2]\n"
    "}\n"
    "unit main.treble {\n"
    "  phase update\n"
    "  parameter %x : f64[hidden=20]\n"
    "  result %z in %x\n"
    "  result %y\n"
    "  %y = add(%x, %x) : f64[hidden=20]\n"
    "  %z = add(%x, %y) : f64[hidden=20]\n"
    "}\n"
    "unit main.times_two {\n"
    "  phase update\n"
    "  parameter %x : f64[hidden=2]\n"
    "  result %y\n"
    "  %y = add(%x, %x) : f64[hidden=2]\n"
    "}\n"
    "unit main.times_three {\n"
    "  phase update\n"
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

struct fixture {
    struct arena arena;
    struct job *job;
    struct backend_code *code;
    struct place_program *descriptor;
    char folder[64];
};

static const char *path_in(struct fixture *f, const char *name) {
    return arena_format(&f->arena, "%s/%s", f->folder, name);
}

static int open_job(void **state) {
    struct fixture *f = calloc(1, sizeof *f);
    struct text_error error = {0};
    struct pass_context context = {.diagnostics = diagnostics_new(&f->arena, NULL)};
    f->job = job_parse(&f->arena, text, strlen(text), 0, &error);
    if (!f->job)
        fail_msg("%s at %.60s", error.message, text + error.span.begin);
    assert_true(passes_run(f->job, &context, PASS_RELEASE, PASS_MEMORY));
    job_number(f->job);
    f->code = compile(&f->arena, f->job->programs[0]);
    f->descriptor = descriptor_make(&f->arena, f->job, &(struct descriptor_facts){0});
    backend_set_entries(harness_backend(), f->code, f->descriptor);
    strcpy(f->folder, "/tmp/place_parts_XXXXXX");
    assert_non_null(mkdtemp(f->folder));
    FILE *data = fopen(path_in(f, "data.txt"), "w");
    assert_non_null(data);
    for (int i = 0; i < 100; i++)
        fputs("some words to train on\n", data);
    fclose(data);
    *state = f;
    return 0;
}

static int close_job(void **state) {
    struct fixture *f = *state;
    char *remove = arena_format(&f->arena, "rm -rf %s", f->folder);
    assert_int_equal(system(remove), 0);
    backend_code_free(harness_backend(), f->code);
    arena_free(&f->arena);
    free(f);
    return 0;
}

// What a file of tensors says of one.
static void expect_tensor(struct fixture *f, const char *file, const char *name, int n,
                          double value) {
    FILE *from = fopen(path_in(f, file), "rb");
    assert_non_null(from);
    char bytes[8192] = "";
    size_t length = fread(bytes, 1, sizeof bytes - 1, from);
    fclose(from);
    uint64_t header;
    memcpy(&header, bytes, sizeof header);
    assert_true(8 + header <= length);
    char *at = strstr(bytes + 8, arena_format(&f->arena, "\"%s\"", name));
    if (!at || !(at = strstr(at, "\"data_offsets\":")) || !(at = strchr(at, '[')))
        fail_msg("%s has no %s", file, name);
    long long begin = strtoll(at + 1, &at, 10), end = strtoll(at + 1, NULL, 10);
    assert_int_equal(end - begin, n * 8);
    for (int i = 0; i < n; i++) {
        double found;
        memcpy(&found, bytes + 8 + header + begin + 8 * i, sizeof found);
        if (found != value)
            fail_msg("%s[%d] of %s is %g, not %g", name, i, file, found, value);
    }
}

static void expect_logged(struct fixture *f, const char *words) {
    FILE *from = fopen(path_in(f, "log"), "rb");
    assert_non_null(from);
    char bytes[8192] = "";
    fread(bytes, 1, sizeof bytes - 1, from);
    fclose(from);
    if (!strstr(bytes, words))
        fail_msg("%s is not in %s", words, bytes);
}

static int run(struct fixture *f, int64_t steps, const char *resume, const char *save) {
    const char *data[] = {path_in(f, "data.txt")};
    struct place_run_options options = {.data = {data, 1},
                                        .steps = steps,
                                        .checkpoint = path_in(f, "checkpoints"),
                                        .save_every = 1,
                                        .resume = resume,
                                        .save = path_in(f, save),
                                        .log = path_in(f, "log"),
                                        .threads = 1,
                                        .quiet = 1};
    return place_run(f->descriptor, &options);
}

static void describes_parts(void **state) {
    struct fixture *f = *state;
    const struct place_program *p = f->descriptor;
    assert_int_equal(p->n_parts, 2);
    assert_string_equal(p->parts[1].name, "last");
    assert_int_equal(p->parts[0].arena_bytes[PLACE_DEVICE],
                     f->job->programs[0]->arena_bytes[TIER_DEVICE]);
    assert_int_equal(p->parts[1].arena_bytes[PLACE_DEVICE],
                     f->job->programs[1]->arena_bytes[TIER_DEVICE]);
    assert_int_not_equal(p->parts[0].arena_bytes[PLACE_DEVICE],
                         p->parts[1].arena_bytes[PLACE_DEVICE]);
    assert_ptr_not_equal(p->parts[0].train, p->parts[1].train);
    assert_int_equal(p->n_statements, f->job->n_ids);
    assert_int_equal(p->n_handles, 3); // in which both meet, and one of each
}

// Two steps, then a third from the checkpoint of the second.
static void parts_train_and_are_saved(void **state) {
    struct fixture *f = *state;
    assert_int_equal(run(f, 2, NULL, "two.safetensors"), 0);
    expect_tensor(f, "two.safetensors", "w", 4, 4);
    expect_tensor(f, "two.safetensors", "v", 20, 9);
    expect_tensor(f, "two.safetensors", "both", 2, 6 * 6);
    expect_tensor(f, "two.safetensors", "seen", 2, 6 + 6 + 36);
    assert_int_equal(run(f, 3, path_in(f, "checkpoints"), "three.safetensors"), 0);
    expect_tensor(f, "three.safetensors", "w", 4, 8);
    expect_tensor(f, "three.safetensors", "v", 20, 27);
    expect_tensor(f, "three.safetensors", "both", 2, 6 * 6 * 6);
    expect_tensor(f, "three.safetensors", "seen", 2, 48 + 6 + 36 + 216);
    expect_logged(f, "\"loss\": 0,");
    expect_logged(f, "\"tokens\": 8,");
    expect_logged(f, "\"parameters\": 192,"); // of the last part
}

// The descriptor as C, with a main, is compiled and linked with the object of both parts.
static void parts_are_built(void **state) {
    struct fixture *f = *state;
    const char *why = NULL, *program = path_in(f, "program");
    if (!backend_build(harness_backend(), &f->arena, f->job, f->descriptor,
                       &(struct backend_options){0}, program, &why))
        fail_msg("%s", why);
    char *command = arena_format(&f->arena, "%s --quiet --data %s --steps 2 --save %s", program,
                                 path_in(f, "data.txt"), path_in(f, "built.safetensors"));
    assert_int_equal(system(command), 0);
    expect_tensor(f, "built.safetensors", "w", 4, 4);
    expect_tensor(f, "built.safetensors", "v", 20, 9);
    expect_tensor(f, "built.safetensors", "both", 2, 6 * 6);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(describes_parts, open_job, close_job),
        cmocka_unit_test_setup_teardown(parts_train_and_are_saved, open_job, close_job),
        cmocka_unit_test_setup_teardown(parts_are_built, open_job, close_job),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
