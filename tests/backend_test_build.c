// What leaves the process: object, assembly, LLVM's text, the printed descriptor, the executable;
// and what is said when they cannot be made.
#include "backend_harness.h"

#include <dirent.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "ir/diagnostic.h"
#include "passes/passes.h"
#include "tests/tiny_models.h"
#include "tests/tiny_strategies.h"

struct fixture {
    struct arena arena;
    struct program *program;
    struct place_program *descriptor;
    char directory[64];
};

static int open_fixture(void **state) {
    struct fixture *f = calloc(1, sizeof *f);
    struct config config = tiny_config(&f->arena, FAMILY_GPT2);
    struct pass_context context = {.config = &config,
                                   .diagnostics = diagnostics_new(&f->arena, NULL)};
    f->program = program_new(&f->arena, "main");
    assert_true(passes_run(f->program->job, &context, PASS_BUILD, PASS_MEMORY));
    job_number(f->program->job);
    f->descriptor =
        descriptor_make(&f->arena, f->program->job, &(struct descriptor_facts){.config = &config});
    strcpy(f->directory, "/tmp/place_build_XXXXXX");
    assert_non_null(mkdtemp(f->directory));
    *state = f;
    return 0;
}

static int close_fixture(void **state) {
    struct fixture *f = *state;
    // Empty again: failures and successes leave nothing that was not asked for.
    assert_int_equal(rmdir(f->directory), 0);
    arena_free(&f->arena);
    free(f);
    return 0;
}

static char *generate(struct fixture *f, enum backend_output output, const char *level) {
    size_t size;
    const char *why = NULL;
    struct backend_options options = {.level = level};
    char *bytes = backend_generate(harness_backend(), &f->arena, f->program->job, &options, output,
                                   &size, &why);
    if (!bytes)
        fail_msg("%s", why);
    return bytes;
}

static void texts(void **state) {
    struct fixture *f = *state;
    assert_memory_equal(generate(f, BACKEND_OBJECT, NULL), "\177ELF", 4);
    assert_non_null(strstr(generate(f, BACKEND_ASSEMBLY, NULL), "place_train:"));
    assert_non_null(strstr(generate(f, BACKEND_LLVM, NULL), "@place_unit_block_forward("));
}

// The same program, the same text: an executable can be made again.
static void is_repeatable(void **state) {
    struct fixture *f = *state;
    assert_string_equal(generate(f, BACKEND_ASSEMBLY, NULL), generate(f, BACKEND_ASSEMBLY, NULL));
}

static void older_levels_have_no_wide_registers(void **state) {
    assert_null(strstr(generate(*state, BACKEND_ASSEMBLY, "v2"), "%ymm"));
    assert_non_null(strstr(generate(*state, BACKEND_ASSEMBLY, "v4"), "{%k1}"));
    assert_null(strstr(generate(*state, BACKEND_ASSEMBLY, "v3"), "%zmm"));
}

static int64_t axes_size(const struct place_program *p, const struct place_axes *axes) {
    int64_t size = 1;
    for (int32_t i = 0; i < axes->n; i++)
        size *= p->axes[axes->axes[i]].size;
    return size;
}

static void describes(void **state) {
    struct fixture *f = *state;
    const struct place_program *p = f->descriptor;
    assert_int_equal(p->parts->n_buffers, f->program->n_buffers);
    assert_string_equal(p->parts->buffers[p->parts->wellknown.tokens].name, "tokens");
    assert_string_equal(p->parts->buffers[p->parts->wellknown.loss].name, "loss");
    assert_string_equal(p->parts->buffers[p->parts->wellknown.logits].name,
                        "logits"); // for sampling
    assert_int_equal(p->n_statements, f->program->job->n_ids);
    for (int i = 0; i < p->n_statements; i++)
        assert_non_null(p->statements[i].text);
    for (int i = 0; i < p->n_tensors; i++) // [heads=2, group=3, head_dim=8, hidden=10]
        if (strcmp(p->tensors[i].name, "block.attention.out.weight") == 0)
            assert_int_equal(p->tensors[i].saved_rows, 2 * 3 * 8);
}

// The runtime finds its bytes from dimensions, cuts and strides: they must agree with the plan's.
static void describes_items(void **state) {
    static const int64_t bytes[] = {[PLACE_F32] = 4, [PLACE_F64] = 8, [PLACE_I32] = 4};
    for (int s = 0; s < N_TINY_STRATEGIES; s++) {
        struct arena arena = {0};
        struct config config = tiny_strategy_config(&arena, FAMILY_GPT2, (enum tiny_strategy)s, 2);
        struct pass_context context = {.config = &config,
                                       .diagnostics = diagnostics_new(&arena, NULL)};
        struct program *program = program_new(&arena, "main");
        assert_true(passes_run(program->job, &context, PASS_BUILD, PASS_MEMORY));
        job_number(program->job);
        const struct place_program *p =
            descriptor_make(&arena, program->job, &(struct descriptor_facts){.config = &config});
        for (int32_t b = 0; b < p->parts->n_buffers; b++) {
            const struct place_buffer *buffer = &p->parts->buffers[b];
            int64_t elements = 1, parts = axes_size(p, &buffer->flat);
            for (int32_t i = 0; i < buffer->rank; i++)
                elements *= buffer->dims[i].size / axes_size(p, &buffer->dims[i].cut);
            int64_t least = (elements + parts - 1) / parts * bytes[buffer->dtype];
            assert_true(buffer->stride_bytes >= least); // padding may be more
            if (buffer->class == PLACE_INPUT)
                assert_int_equal(buffer->stride_bytes, least);
        }
        arena_free(&arena);
    }
}

static void says_what_cannot_be_written(void **state) {
    struct fixture *f = *state;
    const char *why = NULL;
    assert_false(backend_write_file(&f->arena, "/nowhere/file", "x", 1, &why));
    assert_non_null(strstr(why, "/nowhere/file"));
    assert_non_null(strstr(why, "No such file"));
    const char *full = "/dev/full/file"; // not a directory
    assert_false(backend_write_file(&f->arena, full, "x", 1, &why));
}

static void writes_whole_files(void **state) {
    struct fixture *f = *state;
    const char *path = arena_format(&f->arena, "%s/file", f->directory), *why = NULL;
    for (int i = 0; i < 2; i++) // new, and over an old one
        assert_true(backend_write_file(&f->arena, path, "text", 4, &why));
    struct stat status;
    assert_int_equal(stat(path, &status), 0);
    assert_int_equal(status.st_size, 4);
    unlink(path);
}

static void says_that_cc_is_missing(void **state) {
    struct fixture *f = *state;
    char *path = strdup(getenv("PATH"));
    const char *to = arena_format(&f->arena, "%s/train", f->directory), *why = NULL;
    setenv("PATH", f->directory, 1);
    bool built = backend_build(harness_backend(), &f->arena, f->program->job, f->descriptor,
                               &(struct backend_options){0}, to, &why);
    setenv("PATH", path, 1);
    free(path);
    assert_false(built);
    assert_non_null(strstr(why, "cc"));
}

// As on a full disk: the first file that does not fit ends the build, and nothing is left of it.
static void says_that_the_disk_is_full(void **state) {
    struct fixture *f = *state;
    const char *to = arena_format(&f->arena, "%s/train", f->directory), *why = NULL;
    struct rlimit old, small;
    getrlimit(RLIMIT_FSIZE, &old);
    small = (struct rlimit){.rlim_cur = 1000, .rlim_max = old.rlim_max};
    signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &small);
    bool built = backend_build(harness_backend(), &f->arena, f->program->job, f->descriptor,
                               &(struct backend_options){0}, to, &why);
    setrlimit(RLIMIT_FSIZE, &old);
    assert_false(built);
    assert_non_null(strstr(why, "cannot write"));
}

static void builds_an_executable(void **state) {
    struct fixture *f = *state;
    const char *to = arena_format(&f->arena, "%s/train", f->directory), *why = NULL;
    if (!backend_build(harness_backend(), &f->arena, f->program->job, f->descriptor,
                       &(struct backend_options){0}, to, &why))
        fail_msg("%s", why);
    assert_int_equal(system(arena_format(&f->arena, "%s --help >/dev/null", to)), 0);
    unlink(to);
}

static int files_in(const char *directory) {
    int n = 0;
    DIR *files = opendir(directory);
    for (struct dirent *file; files && (file = readdir(files));)
        n += file->d_name[0] != '.';
    if (files)
        closedir(files);
    return n;
}

static void remove_files(struct fixture *f, const char *directory) {
    DIR *files = opendir(directory);
    for (struct dirent *file; (file = readdir(files));)
        unlink(arena_format(&f->arena, "%s/%s", directory, file->d_name));
    closedir(files);
    rmdir(directory);
}

static void jit_with_cache(struct fixture *f, const char *cache) {
    struct backend_options options = {.cache = cache};
    const char *why;
    struct backend_code *code =
        backend_jit(harness_backend(), &f->arena, f->program->job, &options, &why);
    assert_non_null(code);
    assert_non_null(backend_entry(harness_backend(), code, 0, STEP_TRAIN));
    backend_code_free(harness_backend(), code);
}

// One object per module; a second time nothing is made anew, a changed unit makes one object more,
// and a damaged object is replaced.
static void caches_objects(void **state) {
    struct fixture *f = *state;
    const char *cache = arena_format(&f->arena, "%s/a/b", f->directory);
    jit_with_cache(f, cache);
    int n = files_in(cache);
    assert_int_equal(n, f->program->job->n_units + 1);
    jit_with_cache(f, cache);
    assert_int_equal(files_in(cache), n);
    for (uint32_t u = 0; u < f->program->job->n_units; u++)
        for (uint32_t i = 0; i < f->program->job->units[u].n_ops; i++)
            if (f->program->job->units[u].ops[i].kind == OP_LEARNING_RATE)
                op_set_real(f->program->arena, &f->program->job->units[u].ops[i], ATTRIBUTE_BASE,
                            0.5);
    jit_with_cache(f, cache);
    assert_int_equal(files_in(cache), n + 1);
    system(arena_format(&f->arena, "for f in %s/*.o; do echo > $f; done", cache));
    jit_with_cache(f, cache);
    assert_int_equal(files_in(cache), n + 1);
    remove_files(f, cache);
    rmdir(arena_format(&f->arena, "%s/a", f->directory));
}

int main(void) {
    const struct CMUnitTest tests[] = {
#define FIXED(test) cmocka_unit_test_setup_teardown(test, open_fixture, close_fixture)
        FIXED(texts),
        FIXED(is_repeatable),
        FIXED(older_levels_have_no_wide_registers),
        FIXED(describes),
        FIXED(describes_items),
        FIXED(says_what_cannot_be_written),
        FIXED(writes_whole_files),
        FIXED(says_that_cc_is_missing),
        FIXED(says_that_the_disk_is_full),
        FIXED(builds_an_executable),
        FIXED(caches_objects),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
