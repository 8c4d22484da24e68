/* Small all_reduces in rounds of pairs (runtime/transport/doubling.h): who meets whom, that the
 * bits are those of the sum in one place, and the bytes that are counted. */
#include <math.h>
#include "runtime/transport/doubling.h"
#include "runtime_transport_fixture.h"

enum { MOST_MEMBERS = 300, MOST_THREADS = 33 };

/* ---- the rounds ---- */

/* Leaves from `begin` to before `end` that a seat has the sum of; none: empty. */
struct span {
    int32_t begin, end;
};
static struct span had[MOST_MEMBERS][DOUBLING_SEATS], has[MOST_MEMBERS][DOUBLING_SEATS];
static bool have_met[MOST_MEMBERS][MOST_MEMBERS];
static int32_t given[MOST_MEMBERS]; /* partials to others */

static bool is_empty(struct span span) {
    return span.begin == span.end;
}

/* A node has 2^round leaves, or ends with the last member. */
static void assert_is_node(struct span span, int32_t members, int32_t round) {
    int32_t width = 1 << round;
    int32_t end = span.begin + width < members ? span.begin + width : members;
    if (!is_empty(span) && (span.begin % width || span.end != end))
        fail_msg("%d members: %d to %d before round %d", members, span.begin, span.end, round);
}

static struct span joined(struct span left, struct span right) {
    if (is_empty(left) || is_empty(right))
        return is_empty(left) ? right : left;
    assert_int_equal(left.end, right.begin);
    return (struct span){left.begin, right.end};
}

static void take_turn(int32_t members, int32_t place, int32_t seat, int32_t round) {
    struct doubling_turn turn = doubling_turn_of(members, place, seat, round);
    assert_in_range(turn.partner, 0, members - 1);
    assert_in_range(turn.seat, 0, doubling_seats(members, turn.partner) - 1);
    struct doubling_turn other = doubling_turn_of(members, turn.partner, turn.seat, round);
    assert_true(other.partner == place && other.seat == seat);
    assert_true(other.gives == turn.gets && other.is_left != turn.is_left);
    struct span mine = had[place][seat], its = had[turn.partner][turn.seat];
    assert_true(turn.gives == !is_empty(mine) && turn.gets == !is_empty(its));
    has[place][seat] = turn.is_left ? joined(mine, its) : joined(its, mine);
    assert_is_node(has[place][seat], members, round + 1);
    if (turn.partner == place || !turn.gives)
        return;
    given[place]++;
    have_met[place][turn.partner] = true;
}

/* A member that enters a round may have messages of an earlier one on the way, so no two members
 * meet in two rounds. Both of a pair's seats may meet in one. */
static void make_round(int32_t members, int32_t round) {
    static bool met_before[MOST_MEMBERS][MOST_MEMBERS];
    memcpy(met_before, have_met, sizeof met_before);
    for (int32_t place = 0; place < members; place++)
        for (int32_t seat = 0; seat < doubling_seats(members, place); seat++) {
            struct doubling_turn turn = doubling_turn_of(members, place, seat, round);
            assert_true(turn.partner == place || !met_before[place][turn.partner]);
            take_turn(members, place, seat, round);
        }
    memcpy(had, has, sizeof had);
}

static void climb(int32_t members) {
    memset(had, 0, sizeof had);
    memset(given, 0, sizeof given);
    memset(have_met, 0, sizeof have_met);
    for (int32_t place = 0; place < members; place++)
        had[place][0] = (struct span){place, place + 1};
    for (int32_t round = 0; round < doubling_rounds(members); round++)
        make_round(members, round);
}

static void all_climb_the_tree_to_its_root(void **state) {
    for (int32_t members = 1; members <= MOST_MEMBERS; members++) {
        int32_t rounds = doubling_rounds(members);
        assert_true(1 << rounds >= members && (members == 1 || 1 << (rounds - 1) < members));
        climb(members);
        for (int32_t place = 0; place < members; place++) {
            assert_true(had[place][0].begin == 0 && had[place][0].end == members);
            if (members == 1 << rounds)
                assert_int_equal(given[place], rounds);
        }
    }
}

/* ---- values ---- */

/* What one rank gives: pieces of odd lengths, whose sum depends on the order, with zeros of either
 * sign, and with several values that are not numbers. Of maxima the order says which one of these
 * stays; of sums compilers do, so there they are all the same. */
enum { PIECES = 3, ELEMENTS = 5 + 17 + 1 };
static const int64_t lengths[PIECES] = {5, 17, 1};

static const struct type {
    enum place_dtype dtype;
    int64_t partial_bytes; /* of an element */
} types[] = {{PLACE_F32, 4}, {PLACE_F64, 8}, {PLACE_BF16, 4}, {PLACE_F16, 4}};
static struct type type;
static enum place_operation operation;

static double value(int32_t rank, int64_t i) {
    if (i % 7 == 3)
        return rank % 2 ? -0.0 : 0.0;
    return 1.0 / (double)(1 + rank * 7 + i) + (rank == 1 ? 1e4 : 0);
}

static void fill(int32_t rank, char *values) {
    for (int64_t i = 0; i < ELEMENTS; i++) {
        bool is_nan = i % 11 == 4 && rank % 3 == 1;
        double wide = value(rank, i);
        float narrow = (float)wide;
        uint32_t which = operation == PLACE_MAX ? (uint32_t)rank : 0;
        uint64_t wide_nan = UINT64_C(0x7ff8000000000001) + which;
        uint32_t narrow_nan = UINT32_C(0x7fc10000) + (which << 16);
        if (is_nan) {
            memcpy(&wide, &wide_nan, sizeof wide);
            memcpy(&narrow, &narrow_nan, sizeof narrow);
        }
        uint16_t half;
        round_elements(type.dtype, &half, &narrow, 1);
        const void *from = type.dtype == PLACE_F64   ? (void *)&wide
                           : type.dtype == PLACE_F32 ? (void *)&narrow
                                                     : (void *)&half;
        memcpy(values + i * dtype_size(type.dtype), from, (size_t)dtype_size(type.dtype));
    }
}

static char results[RANKS][ELEMENTS * 8];

static int32_t body_reduce(struct place_context *context) {
    char source[ELEMENTS * 8], *from = source, *to = results[context->rank];
    struct place_piece pieces[PIECES];
    fill(context->rank, source);
    for (int i = 0; i < PIECES; i++) {
        pieces[i] = (struct place_piece){from, i == 1 ? from : to, 1, 0, lengths[i], 0};
        from += lengths[i] * dtype_size(type.dtype);
        to += lengths[i] * dtype_size(type.dtype);
    }
    int32_t status = place_collective_start(context, 0, 5, PLACE_ALL_REDUCE, OVER_AB, type.dtype,
                                            operation, 0, PIECES, pieces);
    status = status ? status : place_collective_wait(context, 1, 5);
    int64_t before = lengths[0] * dtype_size(type.dtype);
    memcpy(results[context->rank] + before, source + before,
           (size_t)(lengths[1] * dtype_size(type.dtype)));
    return status;
}

/* The tree of collective_reduce over what all give. */
static void want(char *wanted) {
    static char values[RANKS][ELEMENTS * 8];
    const void *sources[RANKS];
    struct collective sum = {.kind = PLACE_ALL_REDUCE, .dtype = type.dtype, .operation = operation};
    for (int32_t i = 0; i < program.devices; i++) {
        fill(i, values[i]);
        sources[i] = values[i];
    }
    collective_reduce(&sum, wanted, sources, program.devices, 0, ELEMENTS, false);
}

static void run_and_compare(int32_t direct_members) {
    static char wanted[ELEMENTS * 8];
    size_t bytes = ELEMENTS * (size_t)dtype_size(type.dtype);
    program.direct_members = direct_members;
    memset(results, 0, sizeof results);
    run_ranks(body_reduce);
    assert_all_ok();
    want(wanted);
    int32_t members = (int32_t)program.devices;
    bool direct = members <= direct_members;
    climb(members);
    for (int32_t i = 0; i < members; i++) {
        assert_memory_equal(results[i], wanted, bytes);
        assert_int_equal(ranks[i].sent[OVER_AB], direct ? (members - 1) * (int64_t)bytes
                                                        : given[i] * ELEMENTS * type.partial_bytes);
    }
}

/* At the limit, and one member beyond it. */
static void the_bits_are_those_of_one_place(void **state) {
    for (size_t t = 0; t < sizeof types / sizeof *types; t++)
        for (int o = PLACE_SUM; o <= PLACE_MAX; o++)
            for (int members = 1; members <= MOST_THREADS; members++) {
                type = types[t];
                operation = (enum place_operation)o;
                set_mesh(1, members);
                run_and_compare(members);
                run_and_compare(members - 1);
            }
}

/* Members in another order than that of ranks, in groups side by side. */
static int32_t body_product(struct place_context *context) {
    struct group group = group_of(&program, context->rank, &groups[OVER_BA].axes);
    float mine = (float)value(context->rank, 0), all, values[RANKS], wanted;
    const void *sources[RANKS];
    for (int32_t i = 0; i < group.size; i++) {
        values[i] = (float)value(group_member(&program, &group, i), 0);
        sources[i] = &values[i];
    }
    struct collective sum = {.kind = PLACE_ALL_REDUCE, .dtype = PLACE_F32};
    collective_reduce(&sum, &wanted, sources, group.size, 0, 1, false);
    struct place_piece piece = {&mine, &all, 1, 0, 1, 0};
    int32_t status = collective(context, PLACE_ALL_REDUCE, OVER_BA, PLACE_F32, 1, &piece);
    if (!status && all != wanted)
        status = context_fail(context, 1, 99, "%g, not %g", all, wanted);
    return status;
}

static void places_are_those_of_the_group(void **state) {
    program.direct_members = 0;
    for (int outer = 1; outer <= 5; outer++)
        for (int inner = 1; inner <= 5; inner++) {
            set_mesh(outer, inner);
            run_ranks(body_product);
            assert_all_ok();
        }
}

/* As large as a small one may be, in bf16, whose partials are twice as long; and one more. */
static int32_t body_largest(struct place_context *context) {
    enum { MOST = COLLECTIVE_SMALL_BYTES / 2 };
    static uint16_t all[RANKS][MOST + 1];
    uint16_t *values = all[context->rank];
    int32_t status = PLACE_OK;
    for (int64_t more = 0; more < 2 && !status; more++) {
        for (int i = 0; i < MOST + 1; i++)
            values[i] = 0x3f80; /* 1 */
        struct place_piece piece = {values, values, 1, 0, MOST + more, 0};
        status = collective(context, PLACE_ALL_REDUCE, OVER_AB, PLACE_BF16, 1, &piece);
        for (int i = 0; i < MOST + more && !status; i++)
            if (values[i] != 0x40a0) /* 5 */
                status = context_fail(context, 1, 99, "element %d is %x", i, values[i]);
    }
    return status;
}

static void the_largest_fits(void **state) {
    program.direct_members = 4;
    set_mesh(5, 1);
    run_ranks(body_largest);
    assert_all_ok();
}

/* One after the other without a pause, several in flight, waited for in another order: a seat's
 * memory is used again and again. */
static int32_t body_many(struct place_context *context) {
    enum { IN_FLIGHT = 3 };
    float n = (float)program.devices;
    int32_t status = PLACE_OK;
    for (int round = 0; round < 100 && !status; round++) {
        float values[IN_FLIGHT];
        for (int i = 0; i < IN_FLIGHT && !status; i++) {
            values[i] = (float)(round * IN_FLIGHT + i + context->rank);
            struct place_piece piece = {&values[i], &values[i], 1, 0, 1, 0};
            status = place_collective_start(context, 0, i, PLACE_ALL_REDUCE, OVER_AB, PLACE_F32,
                                            PLACE_SUM, 0, 1, &piece);
        }
        for (int i = IN_FLIGHT; i-- > 0 && !status;) {
            status = place_collective_wait(context, 1, i);
            if (!status && values[i] != n * (float)(round * IN_FLIGHT + i) + n * (n - 1) / 2)
                status = context_fail(context, 1, 99, "round %d, number %d", round, i);
        }
    }
    return status;
}

static void one_follows_the_other(void **state) {
    static const int members[] = {2, 3, 5, 8, 11, 17};
    program.direct_members = 0;
    for (size_t i = 0; i < sizeof members / sizeof *members; i++) {
        set_mesh(members[i], 1);
        run_ranks(body_many);
        assert_all_ok();
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_climb_the_tree_to_its_root),
        cmocka_unit_test(the_bits_are_those_of_one_place),
        cmocka_unit_test(places_are_those_of_the_group),
        cmocka_unit_test(the_largest_fits),
        cmocka_unit_test(one_follows_the_other),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
