// Sizes and counts against arithmetic of 128 bits: whatever numbers a text or a file may say, a
// size is what it is, or is known to be beyond counting. None wraps to a number like others.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "ir/ir.h"
#include "tests/random.h"

enum { N_TRIALS = 20000 };

__extension__ typedef __int128 wide;

// A size whose length in bits is any, all alike, so that products are on both sides of 2^63.
static int64_t random_size(uint64_t *state, unsigned most_bits) {
    unsigned bits = (unsigned)(random_bits(state) % most_bits);
    return (int64_t)(random_bits(state) & ((UINT64_C(1) << bits) - 1)) + (INT64_C(1) << bits);
}

static wide clamp(wide size) {
    return size > INT64_MAX ? INT64_MAX : size;
}

static wide wide_round_up(wide size, wide multiple) {
    return multiple > 1 ? (size + multiple - 1) / multiple * multiple : size;
}

static void products_and_sums(void **unused) {
    uint64_t state = 1;
    for (int i = 0; i < N_TRIALS; i++) {
        int64_t a = random_size(&state, 62), b = random_size(&state, 62);
        assert_true(size_times(a, b) == clamp((wide)a * b));
        assert_true(size_plus(size_times(a, 2), size_times(b, 2)) ==
                    clamp((wide)a * 2 + (wide)b * 2));
        assert_true(round_up(a, b) == clamp(wide_round_up(a, b)));
    }
}

static void what_is_beyond_stays_beyond(void **unused) {
    uint64_t state = 2;
    for (int i = 0; i < N_TRIALS; i++) {
        int64_t a = random_size(&state, 62);
        assert_true(size_times(SIZE_BEYOND, a) == SIZE_BEYOND);
        assert_true(size_times(a, SIZE_BEYOND) == SIZE_BEYOND);
        assert_true(size_plus(SIZE_BEYOND, a) == SIZE_BEYOND);
        assert_true(round_up(SIZE_BEYOND, a) == SIZE_BEYOND);
    }
}

// ---- buffers ----------------------------------------------------------------------------------

struct trial {
    struct program *program; // on a mesh of two axes
    struct buffer buffer;
    wide items;
    wide whole_bytes, item_bytes, bytes; // of all devices, of an item, of all items on one device
};

// Dimensions that one axis may cut, a flat cut by another, padding, one stack or two.
static struct trial random_buffer(uint64_t *state, struct arena *arena) {
    struct trial t = {.program = program_new(arena, "trial")};
    t.program->job->mesh = (struct mesh){.axes = {{.name = "a"}, {.name = "b"}}, .n_axes = 2};
    struct buffer *buffer = &t.buffer;
    for (int i = 0; i < 2; i++)
        t.program->job->mesh.axes[i].size = random_size(state, 15);
    *buffer = (struct buffer){.name = "it",
                              .tensor = NO_ID,
                              .window_of = NO_ID,
                              .dtype = random_bits(state) % 2 ? DTYPE_F32 : DTYPE_F64,
                              .rank = (uint8_t)(1 + random_bits(state) % 4),
                              .stacks = {.n = (uint8_t)(1 + random_bits(state) % 2),
                                         .list = {{STACK_SLOTS, random_size(state, 20), 0, 0},
                                                  {STACK_LAYERS, random_size(state, 62), 0, 0}}},
                              .pad_elements = random_size(state, 20)};
    const struct stack *stacks = buffer->stacks.list;
    t.items = buffer->stacks.n > 1 ? clamp((wide)stacks[0].count * stacks[1].count) : stacks->count;
    wide local = 1, whole = dtype_bytes[buffer->dtype];
    for (unsigned i = 0; i < buffer->rank; i++) {
        int64_t part = random_size(state, 30);
        bool cut = i == 0 && random_bits(state) % 2;
        buffer->dims[i] =
            (struct dim){DIM_HIDDEN, cut ? part * t.program->job->mesh.axes[0].size : part};
        if (cut)
            axis_list_add(&buffer->layout.cuts[i], 0);
        local *= part;
        whole = clamp(whole * buffer->dims[i].size);
    }
    bool flat = random_bits(state) % 2;
    wide parts = flat ? t.program->job->mesh.axes[1].size : 1;
    if (flat)
        axis_list_add(&buffer->layout.flat, 1);
    wide padded = wide_round_up((local + parts - 1) / parts, buffer->pad_elements);
    t.whole_bytes = whole;
    t.item_bytes = padded * dtype_bytes[buffer->dtype];
    t.bytes = clamp(t.item_bytes) * t.items;
    if (parts * t.item_bytes > t.whole_bytes)
        t.whole_bytes = parts * t.item_bytes;
    return t;
}

static void buffers_are_counted_or_refused(void **unused) {
    uint64_t state = 3;
    int n_counted = 0;
    for (int i = 0; i < N_TRIALS; i++) {
        struct arena arena = {0};
        struct trial t = random_buffer(&state, &arena);
        program_add_buffer(t.program, t.buffer);
        bool counted = t.whole_bytes <= (wide)LIMIT_DEVICE_BYTES &&
                       t.bytes <= (wide)LIMIT_DEVICE_BYTES && t.items <= LIMIT_COUNTED;
        assert_int_equal(job_too_large(t.program->job, &arena).what == NULL, counted);
        if (counted) {
            assert_true(buffer_item_bytes(t.program, &t.buffer) == t.item_bytes);
            assert_true(buffer_bytes(t.program, &t.buffer) == t.bytes);
        }
        n_counted += counted;
        arena_free(&arena);
    }
    assert_in_range(n_counted, N_TRIALS / 10, N_TRIALS * 9 / 10); // both are tried
}

// No buffer is too large alone.
static void all_buffers_together(void **unused) {
    struct arena arena = {0};
    struct program *program = program_new(&arena, "quarters");
    struct buffer buffer = {.name = "quarter",
                            .tensor = NO_ID,
                            .window_of = NO_ID,
                            .dtype = DTYPE_F64,
                            .rank = 1,
                            .dims = {{DIM_FLAT, LIMIT_DEVICE_BYTES / 8 / 4}}};
    for (int i = 0; i < 4; i++)
        program_add_buffer(program, buffer);
    assert_null(job_too_large(program->job, &arena).what);
    program_add_buffer(program, buffer);
    assert_non_null(job_too_large(program->job, &arena).what);
    arena_free(&arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products_and_sums),
        cmocka_unit_test(what_is_beyond_stays_beyond),
        cmocka_unit_test(buffers_are_counted_or_refused),
        cmocka_unit_test(all_buffers_together),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
