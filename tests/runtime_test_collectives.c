/* What collectives of the local transport make of values, with equal bits on all ranks, and the
 * bytes that they count. */
#include <math.h>
#include "runtime_transport_fixture.h"

enum { ROOM = 65536 };

/* Values that a float sums differently in another order. */
static float element(int rank, int64_t index) {
    return 1.0f / (float)(1 + rank * 7 + index % 97) + (float)(rank == 1 ? 1e4 : 0);
}

/* What every body checks: `length` elements, in place or not, over a group. */
static int64_t length;
static int in_place, over;
static float results[RANKS][ROOM];

/* The largest power of two below n: so many summands make up the left half of a tree. */
static int left_half(int n) {
    int half = 1;
    while (2 * half < n)
        half *= 2;
    return half;
}

static float sum_of_members(const struct group *group, int first, int n, int64_t index) {
    if (n == 1)
        return element(group_member(&program, group, first), index);
    int half = left_half(n);
    return sum_of_members(group, first, half, index) +
           sum_of_members(group, first + half, n - half, index);
}

static float expected_sum(struct place_context *context, int64_t index) {
    struct group group = group_of(&program, context->rank, &groups[over].axes);
    return sum_of_members(&group, 0, group.size, index);
}

static int32_t body_all_reduce(struct place_context *context) {
    float *src = malloc(ROOM * sizeof *src), *dst = results[context->rank];
    for (int64_t i = 0; i < length; i++)
        (in_place ? dst : src)[i] = element(context->rank, i);
    dst[length] = 77;
    struct place_piece piece = {in_place ? dst : src, dst, 1, 0, length, 0};
    int32_t status = collective(context, PLACE_ALL_REDUCE, over, PLACE_F32, 1, &piece);
    for (int64_t i = 0; i < length && !status; i++)
        if (dst[i] != expected_sum(context, i))
            status = context_fail(context, 1, 99, "element %ld", (long)i);
    if (dst[length] != 77)
        status = context_fail(context, 1, 99, "written behind the end");
    free(src);
    return status;
}

static int64_t round_up(int64_t value, int64_t to) {
    return (value + to - 1) / to * to;
}

static int64_t group_size(void) {
    return (over != OVER_B ? axes[0].size : 1) * (over != OVER_A ? axes[1].size : 1);
}

static int64_t all_reduce_bytes(void) {
    int64_t n = group_size();
    if (length * 4 <= COLLECTIVE_SMALL_BYTES)
        return (n - 1) * length * 4;
    return 2 * (n - 1) * round_up(length, n) / n * 4;
}

static const int meshes[][2] = {{1, 2}, {3, 1}, {2, 2}, {2, 3}, {7, 1}};
enum { MESHES = sizeof meshes / sizeof *meshes };
static const int64_t lengths[] = {1, 5, 1024, 1025, 1531, 5000, 40001};
enum { LENGTHS = sizeof lengths / sizeof *lengths };

/* On every mesh, for every length, in place and not, over every group: the results of the ranks are
 * right and each has sent what a transport sends by the convention. */
static void try_all_shapes(int32_t (*body)(struct place_context *), int64_t (*bytes_sent)(void)) {
    for (size_t m = 0; m < MESHES; m++)
        for (size_t l = 0; l < LENGTHS; l++)
            for (int form = 0; form < 2 * N_GROUPS; form++) {
                set_mesh(meshes[m][0], meshes[m][1]);
                length = lengths[l];
                in_place = form & 1;
                over = form / 2;
                run_ranks(body);
                assert_all_ok();
                for (int i = 0; i < program.devices; i++)
                    assert_int_equal(ranks[i].sent[over], bytes_sent());
            }
}

static void all_reduce_sums_in_a_tree_over_ranks_and_counts(void **state) {
    try_all_shapes(body_all_reduce, all_reduce_bytes);
}

static int32_t body_scatter_gather(struct place_context *context) {
    struct group group = group_of(&program, context->rank, &groups[over].axes);
    int64_t n = group.size, chunk = (length + n - 1) / n;
    float *whole = results[context->rank], *part = malloc((size_t)chunk * sizeof *part);
    for (int64_t i = 0; i < n * chunk; i++)
        whole[i] = i < length ? element(context->rank, i) : 55;
    float *own = in_place ? whole + group.place * chunk : part;
    struct place_piece scatter = {whole, own, 1, chunk, length, 0};
    int32_t status = collective(context, PLACE_REDUCE_SCATTER, over, PLACE_F32, 1, &scatter);
    for (int64_t i = 0; i < chunk && !status; i++) {
        int64_t index = group.place * chunk + i;
        float wanted = index < length ? expected_sum(context, index) : 0;
        if (own[i] != wanted)
            status = context_fail(context, 0, 99, "scatter, element %ld", (long)index);
    }
    struct place_piece gather = {own, whole, 1, chunk, length, 0};
    if (!status)
        status = collective(context, PLACE_ALL_GATHER, over, PLACE_F32, 1, &gather);
    for (int64_t i = 0; i < length && !status; i++)
        if (whole[i] != expected_sum(context, i))
            status = context_fail(context, 0, 99, "gather, element %ld", (long)i);
    free(part);
    return status;
}

static int64_t scatter_gather_bytes(void) {
    int64_t n = group_size();
    return 2 * (n - 1) * round_up(length, n) / n * 4;
}

static void scatter_and_gather_are_inverse_and_count(void **state) {
    try_all_shapes(body_scatter_gather, scatter_gather_bytes);
}

static void teams_work_off_portions_together(void **state) {
    set_mesh(2, 2);
    over = OVER_AB;
    length = ROOM - 1;
    threads = 2;
    for (in_place = 0; in_place < 2; in_place++) {
        run_ranks(body_all_reduce);
        assert_all_ok();
        for (int i = 0; i < 4; i++)
            assert_int_equal(ranks[i].sent[over], all_reduce_bytes());
        run_ranks(body_scatter_gather);
        assert_all_ok();
    }
    threads = 1;
}

/* Two pieces side by side, one along dimension 1 of [3, 2N, 5], one flat, in f64. */
static int32_t body_pieces(struct place_context *context) {
    struct group group = group_of(&program, context->rank, &groups[OVER_AB].axes);
    int64_t n = group.size, inner = 2 * 5, whole_size = 3 * n * inner;
    double whole[3 * 2 * 8 * 5], part[3 * 2 * 5], flat[16], flat_part[2];
    for (int64_t i = 0; i < whole_size; i++)
        whole[i] = (double)(i * (context->rank + 1));
    for (int i = 0; i < 16; i++)
        flat[i] = i;
    int64_t ranks_sum = n * (n + 1) / 2, chunk = (11 + n - 1) / n;
    struct place_piece scatter[2] = {{whole, part, 3, inner, whole_size, 0},
                                     {flat, flat_part, 1, chunk, 11, 0}};
    int32_t status = collective(context, PLACE_REDUCE_SCATTER, OVER_AB, PLACE_F64, 2, scatter);
    for (int64_t o = 0; o < 3 && !status; o++)
        for (int64_t i = 0; i < inner; i++) {
            int64_t index = (o * n + group.place) * inner + i;
            if (part[o * inner + i] != (double)(index * ranks_sum))
                status = context_fail(context, 0, 99, "scatter %ld", (long)index);
        }
    memset(whole, 0, sizeof whole);
    struct place_piece gather[2] = {{part, whole, 3, inner, whole_size, 0},
                                    {flat_part, flat, 1, chunk, 11, 0}};
    if (!status)
        status = collective(context, PLACE_ALL_GATHER, OVER_AB, PLACE_F64, 2, gather);
    for (int64_t i = 0; i < whole_size && !status; i++)
        if (whole[i] != (double)(i * ranks_sum))
            status = context_fail(context, 0, 99, "gather %ld", (long)i);
    for (int64_t i = 0; i < 11 && !status; i++)
        if (flat[i] != (double)(i * n))
            status = context_fail(context, 0, 99, "flat gather %ld", (long)i);
    return status;
}

/* Rank r gives 1 and r of the smallest steps behind it, or half of one. Only the root is rounded:
 * 3 and three steps, of two numbers the even one; and three halves of a step. */
static const struct narrow {
    enum place_dtype dtype;
    uint16_t one, half_step, sum, sum_of_halves;
} narrow_types[] = {{PLACE_BF16, 0x3f80, 0x3b80, 0x4042, 0x3c40},
                    {PLACE_F16, 0x3c00, 0x1000, 0x4202, 0x1600}};
static const struct narrow *narrow;

static int32_t body_narrow(struct place_context *context) {
    uint16_t *values = malloc((size_t)length * sizeof *values);
    for (int64_t i = 0; i < length; i++)
        values[i] = i % 2 ? (uint16_t)(narrow->one + context->rank) : narrow->half_step;
    struct place_piece piece = {values, values, 1, 0, length, 0};
    int32_t status = collective(context, PLACE_ALL_REDUCE, OVER_AB, narrow->dtype, 1, &piece);
    for (int64_t i = 0; i < length && !status; i++)
        if (values[i] != (i % 2 ? narrow->sum : narrow->sum_of_halves))
            status = context_fail(context, 0, 99, "element %ld is %x", (long)i, values[i]);
    free(values);
    return status;
}

static void sixteen_bits_are_summed_and_count_two_bytes(void **state) {
    static const int64_t sizes[] = {5, 2048, 5001}; /* small, just so, and not */
    for (size_t l = 0; l < 6; l++) {
        set_mesh(3, 1);
        length = sizes[l / 2];
        narrow = &narrow_types[l % 2];
        run_ranks(body_narrow);
        assert_all_ok();
        int64_t sent = length * 2 <= COLLECTIVE_SMALL_BYTES ? 2 * length * 2
                                                            : 2 * 2 * round_up(length, 3) / 3 * 2;
        for (int i = 0; i < 3; i++)
            assert_int_equal(ranks[i].sent[OVER_AB], sent);
    }
}

static void pieces_along_dimensions_travel_together(void **state) {
    set_mesh(3, 2);
    run_ranks(body_pieces);
    assert_all_ok();
    assert_int_equal(ranks[4].sent[OVER_AB], 2 * 5 * (30 + 2) * 8);
}

/* On a mesh of 2 x 3, over `b * a`: the coordinate along b is the more significant digit. */
static int32_t body_order(struct place_context *context) {
    static const float wanted[6] = {0, 3, 1, 4, 2, 5};
    float mine = (float)context->rank, all[6], part;
    struct place_piece gather = {&mine, all, 1, 1, 6, 0}, scatter = {all, &part, 1, 1, 6, 0};
    int32_t status = collective(context, PLACE_ALL_GATHER, OVER_BA, PLACE_F32, 1, &gather);
    for (int i = 0; i < 6 && !status; i++)
        if (all[i] != wanted[i])
            status = context_fail(context, 0, 99, "place %d is rank %g", i, all[i]);
    if (!status)
        status = collective(context, PLACE_REDUCE_SCATTER, OVER_BA, PLACE_F32, 1, &scatter);
    if (!status && part != 6 * mine)
        status = context_fail(context, 0, 99, "scattered %g", part);
    return status;
}

static void members_are_numbered_in_the_order_of_the_list(void **state) {
    set_mesh(2, 3);
    run_ranks(body_order);
    assert_all_ok();
    for (int i = 0; i < 6; i++) {
        assert_int_equal(ranks[i].sent[OVER_BA], 2 * 5 * 4);
        assert_int_equal(ranks[i].sent[OVER_AB], 0);
    }
}

/* ---- what moves values without reducing them ---- */

/* [2, 2N, 3, 5] cut along dimension 1 and joined along 2: [2, 2, 3N, 5]; and back. */
enum { BEFORE = 2, CUT = 2, JOINED = 3, INNER = 5, SWAPPED = BEFORE * CUT * JOINED * INNER };

static float original(int32_t rank, int64_t index) {
    return (float)(rank * 1000 + index);
}

static int32_t body_all_to_all(struct place_context *context) {
    struct group group = group_of(&program, context->rank, &groups[over].axes);
    int64_t n = group.size, count = n * SWAPPED;
    float src[8 * SWAPPED], dst[8 * SWAPPED];
    for (int64_t i = 0; i < count; i++)
        src[i] = original(context->rank, i);
    int64_t inner = JOINED * INNER;
    struct place_piece there = {src, dst, BEFORE, CUT * inner, count, BEFORE * CUT};
    int32_t status = collective(context, PLACE_ALL_TO_ALL, over, PLACE_F32, 1, &there);
    for (int64_t at = 0; at < count && !status; at++) {
        int64_t i = at % INNER, j = at / INNER % (JOINED * n), k = at / INNER / JOINED / n;
        int64_t row = k / CUT * CUT * n + group.place * CUT + k % CUT;
        int32_t from = group_member(&program, &group, (int32_t)(j / JOINED));
        if (dst[at] != original(from, row * inner + j % JOINED * INNER + i))
            status = context_fail(context, 0, 99, "element %ld is %g", (long)at, dst[at]);
    }
    struct place_piece back = {dst, src, BEFORE * CUT, inner, count, BEFORE};
    if (!status)
        status = collective(context, PLACE_ALL_TO_ALL, over, PLACE_F32, 1, &back);
    for (int64_t at = 0; at < count && !status; at++)
        if (src[at] != original(context->rank, at))
            status = context_fail(context, 0, 99, "back at %ld is %g", (long)at, src[at]);
    return status;
}

static void all_to_all_moves_a_cut_and_counts(void **state) {
    for (size_t m = 0; m < 4; m++)
        for (over = 0; over < N_GROUPS; over++) {
            set_mesh(meshes[m][0], meshes[m][1]);
            run_ranks(body_all_to_all);
            assert_all_ok();
            for (int i = 0; i < program.devices; i++)
                assert_int_equal(ranks[i].sent[over], 2 * (group_size() - 1) * SWAPPED * 4);
        }
}

static int shift;

static int32_t body_permute(struct place_context *context) {
    struct group group = group_of(&program, context->rank, &groups[over].axes);
    double src[2] = {context->rank, -context->rank}, dst[2];
    int32_t whole_src[3] = {context->rank, 5, 6}, whole_dst[3];
    struct place_piece pieces[2] = {{&src[0], &dst[0], 1, 0, 1, 0}, {&src[1], &dst[1], 1, 0, 1, 0}};
    struct place_piece integers = {whole_src, whole_dst, 1, 0, 3, 0};
    int32_t status = place_collective_start(context, 0, 5, PLACE_PERMUTE, over, PLACE_F64,
                                            PLACE_SUM, shift, 2, pieces);
    if (!status)
        status = place_collective_start(context, 0, 6, PLACE_PERMUTE, over, PLACE_I32, PLACE_SUM,
                                        shift, 1, &integers);
    if (!status)
        status = place_collective_wait(context, 1, 6);
    if (!status)
        status = place_collective_wait(context, 1, 5);
    int32_t before = (group.place - shift % group.size + group.size) % group.size;
    int32_t from = group_member(&program, &group, before);
    if (!status && (dst[0] != from || dst[1] != -from || whole_dst[0] != from || whole_dst[2] != 6))
        status = context_fail(context, 0, 99, "%g came, not of rank %d", dst[0], from);
    return status;
}

static void permute_shifts_and_counts(void **state) {
    for (size_t m = 0; m < 4; m++)
        for (over = 0; over < N_GROUPS; over++)
            for (shift = 0; shift < 8; shift++) {
                set_mesh(meshes[m][0], meshes[m][1]);
                run_ranks(body_permute);
                assert_all_ok();
                for (int i = 0; i < program.devices; i++)
                    assert_int_equal(ranks[i].sent[over], shift % group_size() ? 28 : 0);
            }
}

/* Every rank has the maximum somewhere, and one of them what is not a number. */
static int32_t body_maximum(struct place_context *context) {
    struct group group = group_of(&program, context->rank, &groups[over].axes);
    double *values = malloc((size_t)length * sizeof *values);
    for (int64_t i = 0; i < length; i++)
        values[i] = i % group.size == group.place ? (double)-i : -1e9 - context->rank;
    if (group.place == group.size - 1)
        values[3] = NAN;
    struct place_piece piece = {values, values, 1, 0, length, 0};
    int32_t status = place_collective_start(context, 0, 5, PLACE_ALL_REDUCE, over, PLACE_F64,
                                            PLACE_MAX, 0, 1, &piece);
    if (!status)
        status = place_collective_wait(context, 1, 5);
    for (int64_t i = 0; i < length && !status; i++)
        if (i == 3 ? !isnan(values[i]) : values[i] != (double)-i)
            status = context_fail(context, 0, 99, "element %ld is %g", (long)i, values[i]);
    free(values);
    return status;
}

static void the_largest_of_all_counts_as_a_sum(void **state) {
    static const int64_t sizes[] = {5, 512, 4001}; /* small, just so, and not */
    for (size_t l = 0; l < 3; l++)
        for (over = 0; over < N_GROUPS; over++) {
            set_mesh(2, 3);
            length = sizes[l];
            run_ranks(body_maximum);
            assert_all_ok();
            int64_t n = group_size();
            int64_t sent = length * 8 <= COLLECTIVE_SMALL_BYTES
                               ? (n - 1) * length * 8
                               : 2 * (n - 1) * round_up(length, n) / n * 8;
            for (int i = 0; i < program.devices; i++)
                assert_int_equal(ranks[i].sent[over], sent);
        }
}

/* Descriptions differ in one thing after the other, some of which do not matter. */
static void a_digest_tells_what_differs(void **state) {
    enum { FIELDS = 13 };
    for (int kind = PLACE_ALL_REDUCE; kind <= PLACE_PERMUTE; kind++)
        for (int field = 0; field < FIELDS; field++) {
            struct place_piece a[2] = {{NULL, NULL, 2, 8, 16, 4}, {NULL, NULL, 1, 3, 3, 1}};
            struct place_piece b[2] = {a[0], a[1]};
            struct collective x = {.kind = (enum place_collective)kind,
                                   .dtype = PLACE_F32,
                                   .n_pieces = 2,
                                   .pieces = a},
                              y = x;
            y.pieces = b;
            y.statement += field == 0;
            y.kind += field == 1 && kind < PLACE_PERMUTE;
            y.group += field == 2;
            y.dtype += field == 3;
            y.operation += field == 4;
            y.shift += field == 5;
            y.n_pieces -= field == 6;
            b[1].outer += field == 7;
            b[1].valid += field == 8;
            b[1].chunk += field == 9;
            b[1].dst_outer += field == 10;
            b[1].dst = field == 11 ? &b : NULL;
            if (field == 12) { /* the same bytes, cut elsewhere */
                b[0].valid--;
                b[1].valid++;
            }
            if ((collective_difference(&x, &y) == NULL) !=
                (collective_digest(&x) == collective_digest(&y)))
                fail_msg("%s: field %d", collective_name(x.kind), field);
        }
}

/* ---- loops ---- */

static void copies_are_the_same_past_the_caches(void **state) {
    static _Alignas(64) char from[600], to[600];
    for (size_t i = 0; i < sizeof from; i++)
        from[i] = (char)(i * 7);
    for (int64_t row = 1; row < 140; row += 1 + row % 17)
        for (int64_t begin = 0; begin < 3; begin++) {
            memset(to, 1, sizeof to);
            struct chunk_copy copy = {
                to, from, chunk_range_of(1, 2 * row, 1, 0), chunk_range_of(2, row, 2, 1), 1, true};
            copy.to.begin = 5;
            chunk_copy_part(&copy, begin, 2 * row);
            for (int64_t i = begin; i < 2 * row; i++)
                assert_int_equal(to[5 + i], from[row + i / row * 2 * row + i % row]);
            assert_int_equal(to[4 + begin], 1);
            assert_int_equal(to[5 + 2 * row], 1);
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(copies_are_the_same_past_the_caches),
        cmocka_unit_test(all_reduce_sums_in_a_tree_over_ranks_and_counts),
        cmocka_unit_test(scatter_and_gather_are_inverse_and_count),
        cmocka_unit_test(teams_work_off_portions_together),
        cmocka_unit_test(sixteen_bits_are_summed_and_count_two_bytes),
        cmocka_unit_test(pieces_along_dimensions_travel_together),
        cmocka_unit_test(members_are_numbered_in_the_order_of_the_list),
        cmocka_unit_test(all_to_all_moves_a_cut_and_counts),
        cmocka_unit_test(permute_shifts_and_counts),
        cmocka_unit_test(the_largest_of_all_counts_as_a_sum),
        cmocka_unit_test(a_digest_tells_what_differs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
