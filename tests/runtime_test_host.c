/* What the host computes without running a step: layouts, random numbers, order of data, the arena.
 */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>
#include <cmocka.h>

#include "runtime/disk.h"
#include "runtime/host/arena.h"
#include "runtime/host/data.h"
#include "runtime/host/entries.h"
#include "runtime/host/layout.h"
#include "runtime/host/log.h"
#include "runtime/host/parts.h"
#include "runtime/host/random.h"
#include "runtime/team.h"
#include "runtime/transport/collective.h"
#include "tests/elements.h"

/* A mesh a=7, b=3, c=2: over a, nothing below divides. */
static struct place_axis axes[] = {{"a", 7, 6}, {"b", 3, 2}, {"c", 2, 1}};
static const struct place_tensor tensors[] = {
    {.name = "w", .layers = 3, .init = PLACE_INIT_NORMAL, .init_std = 0.5}};
static struct place_part whole = {.end = 1};
static struct place_program program = {.n_parts = 1,
                                       .parts = &whole,
                                       .n_axes = 3,
                                       .axes = axes,
                                       .devices = 42,
                                       .vocab = 256,
                                       .n_tensors = 1,
                                       .tensors = tensors};

enum { D0 = 4, D1 = 5, D2 = 6, WHOLE = D0 * D1 * D2 };

/* [4, 5, 6] with dimensions 0 and 2 cut and the rest flat, as bits say. */
static struct place_buffer make_buffer(int form) {
    struct place_buffer buffer = {
        .item_step = 1,
        .name = "w",
        .class = PLACE_PARAMETERS,
        .dtype = PLACE_F64,
        .rank = 3,
        .dims = {{.name = "x", .size = D0}, {.name = "y", .size = D1}, {.name = "z", .size = D2}},
        .stacks = {{PLACE_STACK_LAYERS, 3}},
        .count = 3,
        .slots = 3,
        .window_of = -1};
    if (form < 8 && (form & 1))
        buffer.dims[0].cut = (struct place_axes){1, {2}};
    if (form & 2)
        buffer.dims[2].cut = (struct place_axes){1, {1}};
    if (form & 4)
        buffer.flat = (struct place_axes){1, {0}};
    if (form == 8)
        buffer.flat = (struct place_axes){2, {1, 0}};
    if (form == 9)
        buffer.dims[2].cut = (struct place_axes){2, {1, 2}};
    if (form == 11 || form == 12) { /* in zigzag, the last dimension and another */
        buffer.flat.n = 0;
        buffer.dims[2].cut = (struct place_axes){1, {1}};
        buffer.dims[2].chunks = 6;
        buffer.dims[2].chunk = 1;
    }
    if (form == 12) {
        buffer.dims[0].cut = (struct place_axes){1, {2}};
        buffer.dims[0].chunks = 4;
        buffer.dims[0].chunk = 1;
    }
    int64_t elements = 1, chunks = axes_parts(&program, &buffer.flat);
    for (int i = 0; i < 3; i++)
        elements *= buffer.dims[i].size / axes_parts(&program, &buffer.dims[i].cut);
    buffer.stride_bytes = (elements + chunks - 1) / chunks * 8;
    if (form ==
        10) { /* shards of 18 elements that b may cut again: the last begins behind the end */
        buffer.flat = (struct place_axes){1, {0}};
        buffer.stride_bytes = 21 * 8;
    }
    return buffer;
}
enum { FORMS = 13 };

static void first_copies_partition_the_tensor(void **state) {
    for (int form = 0; form < FORMS; form++) {
        struct place_buffer buffer = make_buffer(form);
        int seen[WHOLE] = {0};
        for (int32_t rank = 0; rank < 42; rank++) {
            if (!layout_is_first_copy(&program, &buffer, rank))
                continue;
            struct layout_walk walk = layout_walk_begin(&program, &buffer, rank);
            struct layout_run run;
            while (layout_walk_next(&walk, &run)) {
                assert_in_range(run.local + run.length, 1, layout_item_elements(&program, &buffer));
                for (int64_t i = 0; i < run.length; i++)
                    seen[run.global + i]++;
            }
        }
        for (int i = 0; i < WHOLE; i++)
            if (seen[i] != 1)
                fail_msg("form %d: element %d is held %d times", form, i, seen[i]);
    }
}

static void walks_follow_the_cut_dimensions(void **state) {
    struct place_buffer buffer = make_buffer(3);
    /* Rank a=0 b=2 c=1: x in 2..3, z in 4..5. */
    struct layout_walk walk = layout_walk_begin(&program, &buffer, 5);
    struct layout_run run;
    for (int64_t x = 2; x < 4; x++)
        for (int64_t y = 0; y < D1; y++) {
            assert_true(layout_walk_next(&walk, &run));
            assert_int_equal(run.global, (x * D1 + y) * D2 + 4);
            assert_int_equal(run.length, 2);
        }
    assert_false(layout_walk_next(&walk, &run));
    buffer = make_buffer(12);
    /* Rank a=0 b=1 c=1: x in 1 and 2, z in 1 and 4. */
    walk = layout_walk_begin(&program, &buffer, 3);
    for (int64_t x = 1; x < 3; x++)
        for (int64_t y = 0; y < D1; y++)
            for (int64_t z = 1; z < 5; z += 3) {
                assert_true(layout_walk_next(&walk, &run));
                assert_int_equal(run.global, (x * D1 + y) * D2 + z);
            }
    assert_false(layout_walk_next(&walk, &run));
}

/* An arena with one buffer, on `rank`. */
static struct place_context arena_of(struct place_buffer *buffer, int32_t rank) {
    whole.n_buffers = 1;
    whole.buffers = buffer;
    whole.arena_bytes[PLACE_DEVICE] = buffer->count * buffer->stride_bytes;
    struct place_context context = {.program = &program};
    context_set_rank(&context, rank);
    context.team = team_create(1, 64);
    assert_int_equal(arena_map(&context), PLACE_OK);
    return context;
}

static void arena_end(struct place_context *context) {
    arena_unmap(context);
    team_destroy(context->team);
}

/* Huge pages begin at multiples of their size; what an arena has beyond whole ones is writable too.
 */
static void arenas_begin_where_huge_pages_do(void **state) {
    enum { HUGE_PAGE_BYTES = 2 << 20 };
    struct place_buffer buffer = make_buffer(0);
    for (int64_t bytes = 8; bytes < 3 * HUGE_PAGE_BYTES; bytes += HUGE_PAGE_BYTES / 3 * 2 + 8) {
        buffer.count = buffer.slots = 1;
        buffer.stride_bytes = bytes;
        struct place_context context = arena_of(&buffer, 0);
        assert_int_equal((uintptr_t)context.head.arenas[PLACE_DEVICE] % HUGE_PAGE_BYTES, 0);
        memset(context.head.arenas[PLACE_DEVICE], 0, (size_t)bytes);
        assert_int_equal(arena_touched_bytes(&context, PLACE_DEVICE), bytes);
        arena_end(&context);
    }
}

static void initial_values_do_not_depend_on_the_layout(void **state) {
    static double whole[3][WHOLE];
    struct place_buffer plain = make_buffer(0);
    struct place_context context = arena_of(&plain, 0);
    assert_int_equal(arena_initialize(&context, 7), PLACE_OK);
    memcpy(whole, context.head.arenas[PLACE_DEVICE], sizeof whole);
    arena_end(&context);
    for (int form = 1; form < FORMS; form++)
        for (int32_t rank = 0; rank < 42; rank += 5) {
            struct place_buffer buffer = make_buffer(form);
            context = arena_of(&buffer, rank);
            arena_initialize(&context, 7);
            for (int64_t layer = 0; layer < 3; layer++) {
                const double *item = layout_item(&context, &buffer, layer);
                struct layout_walk walk = layout_walk_begin(&program, &buffer, rank);
                struct layout_run run;
                int64_t filled = 0;
                while (layout_walk_next(&walk, &run)) {
                    assert_memory_equal(item + run.local, whole[layer] + run.global,
                                        (size_t)run.length * 8);
                    filled = run.local + run.length;
                }
                for (; filled < layout_item_elements(&program, &buffer); filled++)
                    assert_true(item[filled] == 0); /* padding */
            }
            arena_end(&context);
        }
    assert_true(whole[0][0] != whole[1][0]);
}

/* A buffer of [4, 5, 6] in each of three layers. */
static struct place_buffer buffer_of(enum place_class class, enum place_dtype dtype,
                                     int64_t offset_bytes) {
    struct place_buffer buffer = make_buffer(0);
    buffer.class = class;
    buffer.dtype = dtype;
    buffer.stride_bytes = WHOLE * dtype_size(dtype);
    buffer.offset_bytes = offset_bytes;
    return buffer;
}

static struct format format_of(enum place_dtype dtype) {
    return dtype == PLACE_BF16 ? format_bf16 : dtype == PLACE_F16 ? format_f16 : format_f32;
}

static double element_at(const void *at, enum place_dtype dtype, int64_t i) {
    if (dtype == PLACE_F64)
        return ((const double *)at)[i];
    return dtype_size(dtype) == 2 ? format_value(format_of(dtype), ((const uint16_t *)at)[i])
                                  : ((const float *)at)[i];
}

static double rounded_to(enum place_dtype dtype, double x) {
    return dtype == PLACE_F64 ? x : format_round(format_of(dtype), x);
}

/* Initializes parameters beside the copy that is updated; `held`: all of both, as doubles. */
static void initialize_beside(enum place_dtype dtype, enum place_dtype copy, double *held[2]) {
    struct place_buffer buffers[2] = {buffer_of(PLACE_PARAMETERS, dtype, 0),
                                      buffer_of(PLACE_MASTER, copy, 3 * WHOLE * dtype_size(dtype))};
    whole.n_buffers = 2;
    whole.buffers = buffers;
    whole.arena_bytes[PLACE_DEVICE] = 3 * WHOLE * (dtype_size(dtype) + dtype_size(copy));
    struct place_context context = {.program = &program};
    context_set_rank(&context, 0);
    context.team = team_create(1, 64);
    assert_int_equal(arena_map(&context), PLACE_OK);
    assert_int_equal(arena_initialize(&context, 7), PLACE_OK);
    for (int b = 0; b < 2; b++)
        for (int64_t i = 0; i < 3 * WHOLE; i++)
            held[b][i] =
                element_at((char *)context.head.arenas[PLACE_DEVICE] + buffers[b].offset_bytes,
                           buffers[b].dtype, i);
    arena_end(&context);
}

/* Values are drawn in double and rounded to the copy, and that is rounded to the parameters. */
static void parameters_begin_as_their_copies(void **state) {
    static const enum place_dtype types[] = {PLACE_F64, PLACE_F32, PLACE_BF16, PLACE_F16};
    static double drawn[2][3 * WHOLE], made[2][3 * WHOLE];
    initialize_beside(PLACE_F64, PLACE_F64, (double *[2]){drawn[0], drawn[1]});
    for (int t = 1; t < 4; t++)
        for (int copy = 0; copy <= t && copy < 2; copy++) {
            initialize_beside(types[t], types[copy], (double *[2]){made[0], made[1]});
            for (int64_t i = 0; i < 3 * WHOLE; i++) {
                double first = rounded_to(types[copy], drawn[0][i]);
                assert_true(made[1][i] == first);
                assert_true(made[0][i] == rounded_to(types[t], first));
            }
        }
}

/* ---- elements of files ------------------------------------------------------------------------
 */

static const struct {
    enum stored_type stored;
    enum place_dtype dtype;
} stored_types[] = {{STORED_F16, PLACE_F16},
                    {STORED_BF16, PLACE_BF16},
                    {STORED_F32, PLACE_F32},
                    {STORED_F64, PLACE_F64}};

static void put(char *at, enum place_dtype dtype, int64_t i, double value) {
    uint32_t bits = dtype == PLACE_F64 ? 0 : format_bits(format_of(dtype), value);
    const void *from = dtype == PLACE_F64 ? (void *)&value : (void *)&bits;
    memcpy(at + i * dtype_size(dtype), from, (size_t)dtype_size(dtype));
}

/* A tensor that is stored in one type is read to another: whether all values stay what they were is
 * known before, and else each is rounded once. */
static void check_read(int stored, int held) {
    enum place_dtype from = stored_types[stored].dtype, to = stored_types[held].dtype;
    struct place_buffer buffer = buffer_of(PLACE_PARAMETERS, to, 0);
    struct place_context context = arena_of(&buffer, 0);
    struct entries entries;
    assert_true(entries_list(&program, ENTRIES_PARAMETERS, &entries));
    char bytes[WHOLE * 8];
    for (int64_t i = 0; i < WHOLE; i++)
        put(bytes, from, i, rounded_to(from, pow(-1.7, (double)(i % 40) - 28)));
    FILE *file = tmpfile();
    assert_int_equal(fwrite(bytes, (size_t)dtype_size(from), WHOLE, file), WHOLE);
    fflush(file);
    struct place_in_file place = {fileno(file), 0, stored_types[stored].stored};
    struct panel *panel = panel_new();
    content_sum sum = 0;
    assert_int_equal(
        part_read(&context, panel, &entries.items[1], entries.items[1].components, &place, &sum),
        0);
    bool exact = true;
    for (int64_t i = 0; i < WHOLE; i++) {
        double was = element_at(bytes, from, i);
        double is = element_at(layout_item(&context, &buffer, 1), to, i);
        assert_true(is == rounded_to(to, was));
        exact &= is == was;
    }
    assert_int_equal(can_be_widened(stored_types[stored].stored, to), exact);
    fclose(file);
    panel_free(panel);
    entries_free(&entries);
    arena_end(&context);
}

static void elements_of_files_are_converted(void **state) {
    for (int stored = 0; stored < 4; stored++)
        for (int held = 0; held < 4; held++)
            check_read(stored, held);
}

/* A part that is kept on disk: what fails there is not told of the file, nor of the numbers. */
static void a_disk_that_fails_is_told_from_the_file(void **state) {
    struct place_buffer buffer = buffer_of(PLACE_PARAMETERS, PLACE_F32, 0);
    struct place_context context = arena_of(&buffer, 0);
    struct entries entries;
    assert_true(entries_list(&program, ENTRIES_PARAMETERS, &entries));
    const struct entry *entry = &entries.items[1];
    buffer.tier = PLACE_DISK;
    struct panel *panel = panel_new();
    FILE *file = tmpfile();
    assert_int_equal(ftruncate(fileno(file), WHOLE * 4), 0);
    struct place_in_file place = {fileno(file), 0, STORED_F32};
    content_sum sum = 0;
    bool finite = false;

    context.disk = disk_open("/var/tmp", 0); /* all of it is behind its end */
    errno = 0;
    assert_int_equal(part_is_finite(&context, entry, entry->components, &finite), -1);
    assert_int_equal(errno, EIO);
    assert_int_equal(part_read(&context, panel, entry, entry->components, &place, &sum),
                     PART_ITEM_FAILED);
    disk_close(context.disk);

    context.disk = disk_open("/var/tmp", 3 * WHOLE * 4);
    assert_int_equal(part_read(&context, panel, entry, entry->components, &place, &sum),
                     PART_IS_READ);
    assert_int_equal(part_is_finite(&context, entry, entry->components, &finite), 0);
    assert_true(finite);
    place.offset = WHOLE * 4;
    assert_int_equal(part_read(&context, panel, entry, entry->components, &place, &sum),
                     PART_FILE_FAILED);
    assert_int_equal(errno, 0);

    struct rlimit old, few = {16, 0};
    place.offset = 0;
    signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &old);
    few.rlim_max = old.rlim_max;
    setrlimit(RLIMIT_FSIZE, &few);
    assert_int_equal(part_read(&context, panel, entry, entry->components, &place, &sum),
                     PART_ITEM_FAILED);
    assert_int_equal(errno, EFBIG);
    setrlimit(RLIMIT_FSIZE, &old);
    disk_close(context.disk);
    context.disk = NULL;
    buffer.tier = PLACE_DEVICE;
    fclose(file);
    panel_free(panel);
    entries_free(&entries);
    arena_end(&context);
}

static void what_is_no_finite_number_is_found(void **state) {
    static const struct {
        enum place_dtype dtype;
        uint16_t largest;
    } types[] = {{PLACE_BF16, 0x7f7f}, {PLACE_F16, 0x7bff}};
    for (int t = 0; t < 2; t++)
        for (uint32_t bits = 0; bits <= 0xffff; bits++) {
            uint16_t elements[3] = {0, (uint16_t)bits, 0x8000};
            assert_int_equal(elements_are_finite(types[t].dtype, elements, 3),
                             (bits & 0x7fff) <= types[t].largest);
        }
}

static void the_touched_extent_is_exact(void **state) {
    struct place_buffer buffer = make_buffer(0);
    struct place_context context = arena_of(&buffer, 0);
    char *bytes = context.head.arenas[PLACE_DEVICE];
    static const int64_t ends[] = {1, 7, 8, 9, 1000, 2879, 2880};
    assert_int_equal(arena_touched_bytes(&context, PLACE_DEVICE), 0);
    assert_true(isnan(*(double *)bytes) && isnan(*(float *)bytes));
    for (int64_t i = 0; i < 4; i++)
        assert_true(isnan(element_at(bytes, PLACE_BF16, i)) &&
                    isnan(element_at(bytes, PLACE_F16, i)));
    for (int i = 0; i < 7; i++) {
        bytes[ends[i] - 1] = 3;
        assert_int_equal(arena_touched_bytes(&context, PLACE_DEVICE), ends[i]);
    }
    arena_end(&context);
}

/* ---- random numbers ---------------------------------------------------------------------------
 */

/* Known answers of Random123's distribution (kat_vectors), philox4x32-10. */
static void philox_gives_the_published_words(void **state) {
    uint32_t zero[4] = {0}, ones[4] = {~0u, ~0u, ~0u, ~0u}, words[4];
    philox(zero, 0, words);
    static const uint32_t of_zero[4] = {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8};
    assert_memory_equal(words, of_zero, sizeof words);
    philox(ones, UINT64_MAX, words);
    static const uint32_t of_ones[4] = {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd};
    assert_memory_equal(words, of_ones, sizeof words);
}

static void normal_numbers_have_their_moments(void **state) {
    enum { N = 40000 };
    static double values[N];
    random_normal(random_key(3, "x"), 0, 0, 2, values, N);
    double sum = 0, squares = 0, fourth = 0;
    for (int i = 0; i < N; i++) {
        sum += values[i];
        squares += values[i] * values[i];
        fourth += pow(values[i], 4);
    }
    assert_true(fabs(sum / N) < 0.05);
    assert_true(fabs(squares / N - 4) < 0.15);
    assert_true(fabs(fourth / N / 48 - 1) < 0.1);
    double alone;
    random_normal(random_key(3, "x"), 0, 777, 2, &alone, 1); /* an odd place, asked for by itself */
    assert_true(alone == values[777]);
}

static void permutations_are_bijective(void **state) {
    static const uint64_t sizes[] = {1, 2, 3, 17, 256, 1000};
    for (int s = 0; s < 6; s++) {
        char seen[1000] = {0};
        int moved = 0;
        for (uint64_t i = 0; i < sizes[s]; i++) {
            uint64_t to = random_permute(99, i, sizes[s]);
            assert_true(to < sizes[s] && !seen[to]);
            seen[to] = 1;
            moved += to != i;
        }
        assert_true(sizes[s] < 17 || moved > (int)sizes[s] / 2);
    }
}

/* ---- data -------------------------------------------------------------------------------------
 */

static const char *write_file(const char *suffix, const void *data, size_t bytes) {
    static char path[64];
    snprintf(path, sizeof path, "/tmp/place_host_%ld%s", (long)getpid(), suffix);
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    fwrite(data, 1, bytes, file);
    fclose(file);
    return path;
}

/* What a run of the program with such sequences is asked to read; null type: by name and content.
 * 0, or -1 with the message, and nothing is open. */
static char message[512];
static int open_data(struct dataset *set, const char *path, const char *targets, const char *type,
                     int64_t sequence) {
    const struct data_request request = {
        {&path, 1}, {&targets, targets != NULL}, type, "--data", "--targets"};
    program.sequence = sequence;
    int status = dataset_open(set, &request, &program, message, sizeof message);
    if (status != 0)
        dataset_close(set);
    return status;
}

static void an_epoch_takes_every_window_once(void **state) {
    char text[101];
    memset(text, 'x', sizeof text);
    struct dataset set;
    const char *path = write_file("", text, sizeof text);
    assert_int_equal(open_data(&set, path, NULL, NULL, 10), 0);
    assert_int_equal(set.windows, 10);
    int64_t first[10];
    for (int epoch = 0; epoch < 3; epoch++) {
        int seen = 0, same = 0;
        for (int i = 0; i < 10; i++) {
            int64_t window = dataset_window(&set, 5, epoch * 10 + i);
            seen |= 1 << window;
            first[i] = epoch == 0 ? window : first[i];
            same += first[i] == window;
        }
        assert_int_equal(seen, 1023);
        assert_true(epoch == 0 || same < 10);
    }
    dataset_close(&set);
    unlink(path);
}

static void tokens_have_their_width_and_mask(void **state) {
    static const unsigned char bytes[] = {1, 0, 2, 1, 255, 255, 4, 0};
    struct dataset set;
    const char *path = write_file(".u16", bytes, sizeof bytes);
    assert_int_equal(open_data(&set, path, NULL, NULL, 3), 0);
    struct place_context context = {.program = &program};
    int32_t tokens[4];
    int64_t count = 4;
    program.vocab = 259;
    assert_int_equal(dataset_begin(&context, &set, &count, tokens), PLACE_OK);
    assert_int_equal(count, 2); /* nobody goes on from a mask */
    assert_int_equal(tokens[1], 258);
    program.vocab = 258;
    assert_int_equal(dataset_begin(&context, &set, &count, tokens), PLACE_ERROR_HOST);
    assert_non_null(strstr(context.message, "token 258 at position 1 (byte 2)"));
    context.status = PLACE_OK;
    program.vocab = 259;
    assert_int_equal(truncate(path, 4), 0);
    count = 3;
    assert_int_equal(dataset_begin(&context, &set, &count, tokens), PLACE_ERROR_HOST);
    assert_non_null(strstr(context.message, "token 2 is gone"));
    dataset_close(&set);
    path = write_file(".u16", bytes + 4, 4);
    assert_int_equal(open_data(&set, path, NULL, NULL, 1), 0);
    context.status = PLACE_OK;
    assert_int_equal(dataset_begin(&context, &set, &count, tokens), PLACE_ERROR_HOST);
    assert_non_null(strstr(context.message, "it begins with the mask"));
    dataset_close(&set);
    program.vocab = 256;
    path = write_file(".u16", bytes, sizeof bytes);
    assert_int_equal(open_data(&set, path, NULL, NULL, 4), -1);
    assert_non_null(strstr(message, "fewer than one sequence of 4"));
    unlink(path);
    path = write_file(".u32", bytes, sizeof bytes - 1);
    assert_int_equal(open_data(&set, path, NULL, NULL, 1), -1);
    assert_non_null(strstr(message, "not a whole number of 4-byte tokens"));
    unlink(path);
    assert_int_equal(open_data(&set, "/tmp", NULL, NULL, 1), -1);
    assert_non_null(strstr(message, "not a regular file"));
    assert_int_equal(open_data(&set, path, NULL, NULL, 1), -1);
    assert_non_null(strstr(message, "No such file"));
}

/* Every sample is on exactly one place: batch cut by a and c, sequence by b, two microbatches,
 * which stand around the innermost `inner` of a and c. */
static void check_samples(int inner) {
    static unsigned char text[6 * 40 + 1];
    for (size_t i = 0; i < sizeof text; i++)
        text[i] = (unsigned char)i;
    struct dataset set;
    const char *path = write_file("", text, sizeof text);
    assert_int_equal(open_data(&set, path, NULL, "text", 6), 0);
    struct place_buffer buffers[2];
    for (int i = 0; i < 2; i++) {
        buffers[i] =
            (struct place_buffer){.name = "tokens",
                                  .tensor = -1,
                                  .class = PLACE_INPUT,
                                  .dtype = PLACE_I32,
                                  .rank = 2,
                                  .dims = {{.name = "batch", .size = 8, .cut = {2, {0, 2}}},
                                           {.name = "sequence", .size = 6, .cut = {1, {1}}}},
                                  .stacks = {{PLACE_STACK_MICROBATCHES, 2}},
                                  .count = 2,
                                  .slots = 2,
                                  .inner = inner,
                                  .window_of = -1,
                                  .stride_bytes = 2 * 2 * 4,
                                  .offset_bytes = i * 32};
    }
    axes[0].size = 2;
    program.devices = 12;
    whole.n_buffers = 2;
    whole.buffers = buffers;
    whole.arena_bytes[PLACE_DEVICE] = 64;
    whole.wellknown = (struct place_wellknown){0,  1,  -1, -1, -1, -1,           -1,
                                               -1, -1, -1, -1, -1, {-1, -1, -1}, {-1, -1, -1}};
    char seen[256] = {0};
    for (int32_t rank = 0; rank < 12; rank++) {
        _Alignas(16) int32_t arena[16];
        struct place_context context = {.program = &program, .head.arenas[PLACE_DEVICE] = arena};
        context_set_rank(&context, rank);
        assert_int_equal(dataset_fill(&context, &set, DATA_SEQUENTIAL, 0, 0), PLACE_OK);
        for (int i = 0; i < 8; i++) {
            assert_int_equal(arena[8 + i], arena[i] + 1); /* the successor */
            seen[arena[i]]++;
        }
        /* Outermost to innermost: a and c, the microbatch, the row; or a, the microbatch, c, the
         * row; or the microbatch first. */
        int64_t a = rank / 6, b = rank / 2 % 3, c = rank % 2;
        for (int64_t m = 0; m < 2; m++)
            for (int row = 0; row < 2; row++) {
                int64_t first[] = {8 * a + 4 * c + 2 * m, 8 * a + 4 * m + 2 * c,
                                   8 * m + 4 * a + 2 * c};
                assert_int_equal(arena[m * 4 + row * 2], (first[inner] + row) * 6 + 2 * b);
            }
    }
    for (int i = 0; i < 16 * 6; i++)
        assert_int_equal(seen[i], 1);
    dataset_close(&set);
    unlink(path);
}

/* Files of 2, 1 and 3 windows: none crosses a border, and what is left behind a file's last window
 * is nobody's. */
static void windows_of_several_files_follow_each_other(void **state) {
    static unsigned char text[3][4 * 3 + 3];
    static const int n_windows[] = {2, 1, 3};
    const char *paths[3];
    char names[3][64];
    for (int file = 0; file < 3; file++) {
        for (size_t i = 0; i < sizeof text[file]; i++)
            text[file][i] = (unsigned char)(100 * file / 2 + (int)i + 1);
        snprintf(names[file], sizeof names[file], ".%d", file);
        snprintf(names[file], sizeof names[file], "%s",
                 write_file(names[file], text[file], (size_t)n_windows[file] * 4 + 3));
        paths[file] = names[file];
    }
    struct dataset set;
    const struct data_request request = {{paths, 3}, {NULL, 0}, "text", "--data", "--targets"};
    struct place_buffer buffers[2];
    program.sequence = 4;
    for (int i = 0; i < 2; i++)
        buffers[i] = (struct place_buffer){.tensor = -1,
                                           .class = PLACE_INPUT,
                                           .dtype = PLACE_I32,
                                           .rank = 2,
                                           .dims = {{.size = 7}, {.size = 4}},
                                           .count = 1,
                                           .slots = 1,
                                           .window_of = -1,
                                           .stride_bytes = 7 * 4 * 4,
                                           .offset_bytes = i * 7 * 4 * 4};
    whole.buffers = buffers;
    whole.wellknown = (struct place_wellknown){0,  1,  -1, -1, -1, -1,           -1,
                                               -1, -1, -1, -1, -1, {-1, -1, -1}, {-1, -1, -1}};
    assert_int_equal(dataset_open(&set, &request, &program, message, sizeof message), 0);
    assert_int_equal(set.windows, 6);
    assert_int_equal(set.tokens, 11 + 7 + 15);
    int32_t arena[2][7][4];
    struct place_context context = {.program = &program, .head.arenas[PLACE_DEVICE] = arena};
    context_set_rank(&context, 0);
    assert_int_equal(dataset_fill(&context, &set, DATA_SEQUENTIAL, 0, 0), PLACE_OK);
    for (int file = 0, row = 0; file < 3; file++)
        for (int window = 0; window < n_windows[file]; window++, row++)
            for (int i = 0; i < 4; i++) {
                assert_int_equal(arena[0][row][i], text[file][window * 4 + i]);
                assert_int_equal(arena[1][row][i], text[file][window * 4 + i + 1]);
            }
    assert_int_equal(arena[1][6][0], -1); /* there is no seventh */
    dataset_close(&set);
    for (int file = 0; file < 3; file++)
        unlink(names[file]);
}

static void samples_are_dealt_out_once(void **state) {
    for (int inner = 0; inner <= 2; inner++)
        check_samples(inner);
}

/* Two tensors stand side by side in one of the file's for each layer, which is found by its name,
 * however many there are: a list that looked through itself for each would take minutes. */
static void tensors_of_files_are_found_by_name(void **state) {
    enum { LAYERS = 100000 };
    const struct place_tensor tensors[] = {{.name = "q",
                                            .layers = LAYERS,
                                            .saved_name = "h.%d.qk",
                                            .saved_rows = 1,
                                            .saved_columns = 2},
                                           {.name = "k",
                                            .layers = LAYERS,
                                            .saved_name = "h.%d.qk",
                                            .saved_rows = 1,
                                            .saved_columns_begin = 2,
                                            .saved_columns = 2}};
    struct place_buffer buffers[4] = {{.class = PLACE_PARAMETERS}, {.class = PLACE_PARAMETERS}};
    buffers[2].class = buffers[3].class = PLACE_MOMENT1;
    for (int i = 0; i < 4; i++) {
        buffers[i].tensor = i % 2;
        buffers[i].dtype = PLACE_F32;
        buffers[i].rank = 1;
        buffers[i].dims[0].size = 2;
        buffers[i].stacks[0] = (struct place_stack){PLACE_STACK_LAYERS, LAYERS};
        buffers[i].count = buffers[i].slots = LAYERS;
        buffers[i].item_step = 1;
        buffers[i].window_of = -1;
    }
    const struct place_part part = {.end = 1, .buffers = buffers, .n_buffers = 4};
    const struct place_program program = {
        .devices = 1, .tensors = tensors, .n_tensors = 2, .parts = &part, .n_parts = 1};
    struct entries entries;
    assert_true(entries_list(&program, ENTRIES_RESUMABLE, &entries));
    assert_int_equal(entries.n, 2 * LAYERS);
    assert_int_equal(entries.parameters, LAYERS);
    assert_int_equal(entries_find(&entries, "h.99999.qk"), LAYERS - 1);
    assert_int_equal(entries_find(&entries, "moment1/h.0.qk"), LAYERS);
    assert_int_equal(entries_find(&entries, "h.100000.qk"), -1);
    assert_int_equal(entries.items[7].columns, 4);
    entries_free(&entries);
    assert_int_equal(entries_find(&entries, "h.0.qk"), -1);
}

static void strings_of_json_are_escaped(void **state) {
    char text[64];
    quote_json(text, sizeof text, "a\"b\\c\n");
    assert_string_equal(text, "\"a\\\"b\\\\c\\u000a\"");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(first_copies_partition_the_tensor),
        cmocka_unit_test(walks_follow_the_cut_dimensions),
        cmocka_unit_test(arenas_begin_where_huge_pages_do),
        cmocka_unit_test(initial_values_do_not_depend_on_the_layout),
        cmocka_unit_test(parameters_begin_as_their_copies),
        cmocka_unit_test(elements_of_files_are_converted),
        cmocka_unit_test(a_disk_that_fails_is_told_from_the_file),
        cmocka_unit_test(what_is_no_finite_number_is_found),
        cmocka_unit_test(the_touched_extent_is_exact),
        cmocka_unit_test(philox_gives_the_published_words),
        cmocka_unit_test(normal_numbers_have_their_moments),
        cmocka_unit_test(permutations_are_bijective),
        cmocka_unit_test(an_epoch_takes_every_window_once),
        cmocka_unit_test(tokens_have_their_width_and_mask),
        cmocka_unit_test(samples_are_dealt_out_once),
        cmocka_unit_test(windows_of_several_files_follow_each_other),
        cmocka_unit_test(tensors_of_files_are_found_by_name),
        cmocka_unit_test(strings_of_json_are_escaped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
