// Steps: nested loops over stacked buffers with offsets and slots, windows, collectives of units
// and of steps on a mesh of ranks, slices, and iotas that differ by rank.
#include "backend_harness.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "passes/passes.h"
#include "runtime/transport/transport.h"
#include "tests/oracle/memory.h"

static struct program *parse(struct arena *arena, const char *text) {
    struct text_error error = {0};
    struct program *program = job_only(job_parse(arena, text, strlen(text), 0, &error));
    if (!program)
        fail_msg("%s at: %.60s", error.message, text + error.span.begin);
    const char *wrong = job_check(program->job, arena, NULL);
    if (wrong)
        fail_msg("%s", wrong);
    job_number(program->job);
    return program;
}

static double *numbers(struct ranks *ranks, int rank, const struct program *program,
                       const char *buffer, int64_t item) {
    const struct buffer *b = &program->buffers[program_find_buffer(program, buffer)];
    return (double *)((char *)ranks->contexts[rank].head.arenas[PLACE_DEVICE] + b->offset_bytes +
                      item * buffer_item_bytes(program, b));
}

// ---- one rank ---------------------------------------------------------------------------------

static const char loops[] =
    "step main {\n"
    "  sizes batch = 1 sequence = 1 microbatches = 2 layers = 5 vocab = 1\n"
    "  policy parameters = f64 master = none moments = f64 gradients = f64\n"
    "       compute = f64 accumulate = f64 gather = f64 reduce = f64 reproducible = 0\n"
    "  arena 4096\n"
    "  buffer x : activations f64[hidden=3] layers 6 at 0\n"
    "  buffer w : input f64[hidden=3] layers 5 at 256\n"
    "  buffer ring : transient f64[hidden=3] slots 3 at 512\n"
    "  buffer sum : gradients f64[hidden=3] microbatches 2 at 768\n"
    "  buffer rows : transient f64[hidden=3] slots 2, layers 5 at 1024\n"
    "  buffer columns : transient f64[hidden=3] layers 5, slots 3 at 1280\n"
    "  train {\n"
    "    for m = 0 .. 2 {\n"
    "      for l = 0 .. 5 {\n"
    "        call combine(a = x[l], b = w[l]) -> (c = x[l+1])\n"
    "        call combine(a = x[l+1], b = w[4]) -> (c = ring[l-1 mod 3])\n"
    "        call combine(a = rows[m-1 mod 2][l], b = w[l]) -> (c = columns[l][l+2 mod 3])\n"
    "        call add(s = rows[m mod 2][4], t = columns[l][m])\n"
    "      }\n"
    "      zero sum[m]\n"
    "      for l = 1 .. 4 descending {\n"
    "        call add(s = sum[m], t = ring[l+4 mod 3])\n"
    "        call combine(a = w[l], b = sum[m]) -> (c = x[l-1])\n"
    "      }\n"
    "      for g = 0 .. 2 descending {\n"
    "        for l = 2*g+1 .. 2*g+3 {\n"
    "          call combine(a = x[l], b = w[l]) -> (c = ring[l mod 3])\n"
    "          call add(s = sum[m], t = ring[l mod 3])\n"
    "        }\n"
    "      }\n"
    "    }\n"
    "  }\n"
    "}\n"
    "unit main.combine {\n"
    "  phase forward\n"
    "  parameter %a : f64[hidden=3]\n"
    "  parameter %b : f64[hidden=3]\n"
    "  result %c\n"
    "  %d = mul(%a, %b) : f64[hidden=3] inline\n"
    "  %c = add(%d, %a) : f64[hidden=3] out\n"
    "}\n"
    "unit main.add {\n"
    "  phase forward\n"
    "  parameter %s : f64[hidden=3]\n"
    "  parameter %t : f64[hidden=3]\n"
    "  result %u in %s\n"
    "  %u = accumulate(%s, %t) : f64[hidden=3] in %s\n"
    "}\n";

// What the code tells the runtime: every statement but loops, with the variables around it.
struct told {
    const struct place_program *program;
    int64_t statements[128][1 + LIMIT_LOOP_DEPTH]; // id, the loops' variables
    int n;
};

static void take_down(void *data, int32_t statement, const int64_t *variables,
                      const struct live_bytes *alive) {
    struct told *told = data;
    assert_true(told->n < 128);
    int64_t *at = told->statements[told->n++];
    at[0] = statement;
    for (int i = 0; i < told->program->statements[statement].depth; i++)
        at[1 + i] = variables[i];
}

static void expect(const struct told *told, int *next, const struct block *block,
                   int64_t *variables, int depth) {
    for (uint32_t i = 0; i < block->n; i++) {
        const struct statement *s = &block->statements[i];
        if (s->kind != STATEMENT_LOOP) {
            const int64_t *at = told->statements[(*next)++];
            assert_int_equal(at[0], s->id);
            assert_memory_equal(at + 1, variables, (size_t)depth * sizeof *variables);
            continue;
        }
        for (int64_t k = 0; k < s->loop.end - s->loop.begin; k++) {
            assert_true(depth < LIMIT_LOOP_DEPTH);
            variables[depth] = loop_variable(&s->loop, depth, k, variables);
            expect(told, next, &s->loop.body, variables, depth + 1);
        }
    }
}

static void loops_and_slots(void **state) {
    struct arena arena = {0};
    struct program *program = parse(&arena, loops);
    struct machine *machine = machine_new(&arena, program);
    struct backend_code *code = compile(&arena, program);
    struct ranks ranks;
    ranks_open(&ranks, &arena, program, 1);
    for (buffer_id b = 0; b < program->n_buffers; b++)
        for (int64_t i = 0; i < 3 * buffer_items(&program->buffers[b]); i++)
            machine->buffers[b][i] = numbers(&ranks, 0, program, program->buffers[b].name, 0)[i] =
                0.125 * (double)(b + 1) + 0.0625 * (double)i;
    machine_run(machine, STEP_TRAIN);
    struct told told = {.program = ranks.program};
    live_observe(ranks.contexts[0].live, take_down, &told);
    ranks_run(&ranks, backend_entry(harness_backend(), code, 0, STEP_TRAIN));
    int next = 0;
    expect(&told, &next, &program->steps[STEP_TRAIN].body, (int64_t[LIMIT_LOOP_DEPTH]){0}, 0);
    assert_int_equal(next, told.n);
    for (buffer_id b = 0; b < program->n_buffers; b++)
        assert_memory_equal(machine->buffers[b],
                            numbers(&ranks, 0, program, program->buffers[b].name, 0),
                            (size_t)buffer_items(&program->buffers[b]) * 3 * sizeof(double));
    assert_null(backend_entry(harness_backend(), code, 0, STEP_EVALUATE));
    backend_code_free(harness_backend(), code);
    ranks_close(&ranks);
    arena_free(&arena);
}

// ---- four ranks -------------------------------------------------------------------------------

// Rank r = 2 a + b of the mesh a=2, b=2. What a device holds of a buffer is its own number.
static const char exchange[] =
    "step main {\n"
    "  axis a = 2\n"
    "  axis b = 2\n"
    "  sizes batch = 1 sequence = 1 microbatches = 1 layers = 2 vocab = 1\n"
    "  policy parameters = f64 master = none moments = f64 gradients = f64\n"
    "       compute = f64 accumulate = f64 gather = f64 reduce = f64 reproducible = 0\n"
    "  arena 8192\n"
    "  buffer own : input f64[hidden=5] flat/a*b layers 2 at 0\n"
    "  buffer whole : transient f64[hidden=5] slots 2 pad 4 at 64\n"
    "  buffer window : transient f64[hidden=5] flat/a*b slots 2 window of whole\n"
    "  buffer sums : gradients f64[hidden=5] flat/a*b layers 2 at 256\n"
    "  buffer rows : activations f64[hidden=2, ffn=6] at 512\n"
    "  buffer out : output f64[hidden=2, ffn=6] at 640\n"
    "  buffer part : output f64[hidden=2, ffn=6/b] at 768\n"
    "  buffer again : output f64[hidden=2, ffn=6] at 896\n"
    "  buffer cut : output f64[hidden=2, ffn=6/a] at 1024\n"
    "  buffer frame : transient f64[flat=64] at 2048\n"
    "  buffer ids : output i32[sequence=8/a*b] at 4096\n"
    "  train {\n"
    "    for l = 0 .. 2 {\n"
    "      start all_gather over a*b as gather[l mod 2] { own[l] -> whole[l] }\n"
    "    }\n"
    "    for l = 0 .. 2 descending {\n"
    "      wait gather[l mod 2]\n"
    "      call twice(x = window[l])\n"
    "      start reduce_scatter over a*b as scatter[0] { whole[l] -> sums[l] }\n"
    "      wait scatter[0]\n"
    "    }\n"
    "    call unit(x = rows) -> (sum = out, part = part, whole = again, cut = cut, ids = ids)\n"
    "  }\n"
    "}\n"
    "unit main.twice {\n"
    "  phase forward\n"
    "  parameter %x : f64[flat=2]\n"
    "  result %y in %x\n"
    "  %y = add(%x, %x) : f64[flat=2] in %x\n"
    "}\n"
    "unit main.unit {\n"
    "  phase forward\n"
    "  parameter %x : f64[hidden=2, ffn=6]\n"
    "  result %sum\n"
    "  result %part\n"
    "  result %whole\n"
    "  result %cut\n"
    "  result %ids\n"
    "  frame 512 of frame\n"
    "  %s = all_reduce(%x) {axes=a} : f64[hidden=2, ffn=6] out\n"
    "  %p = reduce_scatter(%x) {axes=b, dim=1} : f64[hidden=2, ffn=3] out\n"
    "  %part = wait(%p) : f64[hidden=2, ffn=3] in %p\n"
    "  %w = all_gather(%part) {axes=b, dim=1} : f64[hidden=2, ffn=6] out\n"
    "  %sum = wait(%s) : f64[hidden=2, ffn=6] in %s\n"
    "  %whole = wait(%w) : f64[hidden=2, ffn=6] in %w\n"
    "  %cut = slice(%x) {axes=a, dim=1} : f64[hidden=2, ffn=3] out\n"
    "  %ids = iota() {dimension=sequence, axes=a*b} : i32[sequence=2] out\n"
    "}\n";

static void fill_exchange(struct ranks *ranks, const struct program *program) {
    for (int r = 0; r < 4; r++) {
        for (int i = 0; i < 4; i++) // two layers of a chunk of two; the last element is padding
            numbers(ranks, r, program, "own", 0)[i] = 10 * r + i;
        for (int i = 0; i < 12; i++)
            numbers(ranks, r, program, "rows", 0)[i] = 100 * r + i;
    }
}

// What rank r holds after the window's element has been doubled and the wholes summed.
static void check_flat(struct ranks *ranks, const struct program *program, int r) {
    for (int l = 0; l < 2; l++)
        for (int i = 0; i < 2; i++) {
            double element = 10 * r + 2 * l + i;
            double expected = 2 * r + i < 5 ? 3 * element + 2 * element : 0;
            // three ranks add the element as gathered, its owner adds it doubled
            assert_true(numbers(ranks, r, program, "sums", l)[i] == expected);
        }
}

static void check_unit(struct ranks *ranks, const struct program *program, int r) {
    int a = r / 2, b = r % 2;
    for (int i = 0; i < 12; i++) {
        assert_true(numbers(ranks, r, program, "out", 0)[i] == 2 * i + 100 * (2 * b + 2));
        assert_true(numbers(ranks, r, program, "again", 0)[i] == 2 * i + 100 * (4 * a + 1));
    }
    for (int row = 0; row < 2; row++)
        for (int k = 0; k < 3; k++) {
            int from_b = 6 * row + 3 * b + k, from_a = 6 * row + 3 * a + k, at = 3 * row + k;
            assert_true(numbers(ranks, r, program, "part", 0)[at] ==
                        2 * from_b + 100 * (4 * a + 1));
            assert_true(numbers(ranks, r, program, "cut", 0)[at] == 100 * r + from_a);
        }
    const int32_t *ids = (const int32_t *)numbers(ranks, r, program, "ids", 0);
    assert_true(ids[0] == 2 * r && ids[1] == 2 * r + 1);
}

static void collectives(void **state) {
    struct arena arena = {0};
    struct program *program = parse(&arena, exchange);
    struct backend_code *code = compile(&arena, program);
    struct ranks ranks;
    ranks_open(&ranks, &arena, program, 1);
    fill_exchange(&ranks, program);
    ranks_run(&ranks, backend_entry(harness_backend(), code, 0, STEP_TRAIN));
    for (int r = 0; r < 4; r++) {
        check_flat(&ranks, program, r);
        check_unit(&ranks, program, r);
    }
    backend_code_free(harness_backend(), code);
    ranks_close(&ranks);
    arena_free(&arena);
}

// ---- six ranks --------------------------------------------------------------------------------

// Every collective in units and in steps, over products in both orders, that moves a cut from one
// dimension to another, shifts, or takes the largest.
static const char moves[] =
    "step main {\n"
    "  axis a = 2\n"
    "  axis b = 3\n"
    "  sizes batch = 1 sequence = 1 microbatches = 1 layers = 1 vocab = 1\n"
    "  policy parameters = f64 master = none moments = f64 gradients = f64\n"
    "       compute = f64 accumulate = f64 gather = f64 reduce = f64 reproducible = 0\n"
    "  arena 65536\n"
    "  buffer x : input f64[batch=2, sequence=12, heads=6, head_dim=5] at 0\n"
    "  buffer swapped : output f64[batch=2, sequence=72, heads=1, head_dim=5] at 8192\n"
    "  buffer back : output f64[batch=2, sequence=12, heads=6, head_dim=5] at 16384\n"
    "  buffer behind : output f64[batch=2, sequence=12, heads=6, head_dim=5] at 24576\n"
    "  buffer most : output f64[batch=2, sequence=12, heads=6, head_dim=5] at 32768\n"
    "  buffer outer : output f64[batch=6, sequence=12, heads=2, head_dim=5] at 40960\n"
    "  buffer before : output f64[batch=2, sequence=12, heads=6, head_dim=5] at 49152\n"
    "  buffer frame : transient f64[flat=720] at 57344\n"
    "  train {\n"
    "    start all_to_all over b*a dim 2 concat_dim 1 as swap[0] { x -> swapped }\n"
    "    start permute over b*a shift 4 as turn[0] { x -> behind }\n"
    "    wait swap[0]\n"
    "    start all_to_all over b*a dim 1 concat_dim 2 as swap[0] { swapped -> back }\n"
    "    start all_reduce over a*b operation max as largest[0] { x -> most }\n"
    "    wait turn[0]\n"
    "    wait largest[0]\n"
    "    wait swap[0]\n"
    "    call unit(x = x) -> (outer = outer, before = before)\n"
    "  }\n"
    "}\n"
    "unit main.unit {\n"
    "  phase forward\n"
    "  parameter %x : f64[batch=2, sequence=12, heads=6, head_dim=5]\n"
    "  result %outer\n"
    "  result %before\n"
    "  frame 5760 of frame\n"
    "  %o = all_to_all(%x) {axes=b, dim=2, concat_dim=0} : f64[batch=6, sequence=12, heads=2, "
    "head_dim=5] out\n"
    "  %l = all_reduce(%x) {axes=a, operation=\"max\"} : f64[batch=2, sequence=12, heads=6, "
    "head_dim=5] at 0\n"
    "  %outer = wait(%o) : f64[batch=6, sequence=12, heads=2, head_dim=5] in %o\n"
    "  %most = wait(%l) : f64[batch=2, sequence=12, heads=6, head_dim=5] in %l\n"
    "  %p = permute(%most) {axes=b, shift=-1} : f64[batch=2, sequence=12, heads=6, head_dim=5] "
    "out\n"
    "  %before = wait(%p) : f64[batch=2, sequence=12, heads=6, head_dim=5] in %p\n"
    "}\n";

// What a member at this place sends in one transfer: where devices differ, the account says what
// the one sends that sends most.
static int64_t share_of(const struct account_transfer *transfer, int64_t place) {
    int64_t partials = exchange_partials_sent(transfer->group, place);
    return transfer->bytes - transfer->doubling_bytes +
           transfer->doubling_bytes / exchange_most_partials(transfer->group) * partials;
}

// Expects of each rank its share to the byte, and what is accounted of the one that sends most.
static void expect_sent(struct ranks *ranks, const struct program *program, struct arena *arena) {
    const struct account *accounted = account(program, arena);
    uint32_t n;
    const struct axis_list *groups = job_groups(program->job, arena, &n);
    for (uint32_t g = 0; g < n; g++) {
        int64_t all = 0, most = 0;
        for (int r = 0; r < ranks->n; r++) {
            struct place_context *context = &ranks->contexts[r];
            int64_t place = mesh_part_of(&program->job->mesh, r, &groups[g]), expected = 0;
            int64_t sent = context->transport->sent_bytes(context, (int32_t)g);
            all = 0;
            for (uint32_t i = 0; i < accounted->n_transfers; i++)
                if (axis_list_equal(&accounted->transfers[i].axes, &groups[g])) {
                    expected += share_of(&accounted->transfers[i], place);
                    all += accounted->transfers[i].bytes;
                }
            assert_int_equal(sent, expected);
            most = sent > most ? sent : most;
        }
        assert_int_equal(most, all);
    }
}

static void collectives_that_move(void **state) {
    struct arena arena = {0};
    struct program *program = parse(&arena, moves);
    struct backend_code *code = compile(&arena, program);
    struct cluster *cluster = cluster_new(&arena, program->job);
    struct devices *oracle = cluster->parts;
    struct ranks ranks;
    ranks_open(&ranks, &arena, program, 1);
    for (int r = 0; r < 6; r++)
        for (int i = 0; i < 720; i++) {
            double *x = numbers(&ranks, r, program, "x", 0);
            x[i] = (i * 37 + r * 101) % 719;
            for (int timing = 0; timing < N_TIMINGS; timing++)
                memory_store(oracle->memory[timing][r] + i * 8, DTYPE_F64, 1, &x[i]);
        }
    ranks_run(&ranks, backend_entry(harness_backend(), code, 0, STEP_TRAIN));
    assert_true(cluster_run(cluster, STEP_TRAIN));
    for (int r = 0; r < 6; r++)
        for (buffer_id b = 0; b + 1 < program->n_buffers; b++) // all but the frame
            assert_memory_equal(oracle->memory[AT_WAIT][r] + program->buffers[b].offset_bytes,
                                numbers(&ranks, r, program, program->buffers[b].name, 0), 5760);
    for (int i = 0; i < 720; i++) // there and back again
        assert_true(numbers(&ranks, 4, program, "back", 0)[i] ==
                    numbers(&ranks, 4, program, "x", 0)[i]);
    expect_sent(&ranks, program, &arena);
    backend_code_free(harness_backend(), code);
    ranks_close(&ranks);
    arena_free(&arena);
}

// ---- 33 ranks ---------------------------------------------------------------------------------

// Sums of few bytes among more members than send to each other at once, in units and in steps, over
// products in both orders; over one axis they are fewer.
static const char sums[] =
    "step main {\n"
    "  axis a = 11\n"
    "  axis b = 3\n"
    "  sizes batch = 1 sequence = 1 microbatches = 1 layers = 1 vocab = 1\n"
    "  policy parameters = f64 master = none moments = f64 gradients = f64\n"
    "       compute = f64 accumulate = f64 gather = f64 reduce = f64 reproducible = 0\n"
    "  arena 512\n"
    "  buffer x : input f64[hidden=6] at 0\n"
    "  buffer both : output f64[hidden=6] at 64\n"
    "  buffer most : output f64[hidden=6] at 128\n"
    "  buffer over_b : output f64[hidden=6] at 192\n"
    "  buffer unit : output f64[hidden=6] at 256\n"
    "  buffer rough : input bf16[hidden=6] at 320\n"
    "  buffer rough_sum : output bf16[hidden=6] at 384\n"
    "  buffer frame : transient f64[flat=6] at 448\n"
    "  train {\n"
    "    start all_reduce over a*b as sum[0] { x -> both }\n"
    "    start all_reduce over b*a operation max as largest[0] { x -> most }\n"
    "    start all_reduce over a*b as rough[0] { rough -> rough_sum }\n"
    "    start all_reduce over b as few[0] { x -> over_b }\n"
    "    wait rough[0]\n"
    "    wait few[0]\n"
    "    wait sum[0]\n"
    "    wait largest[0]\n"
    "    call unit(x = x) -> (sum = unit)\n"
    "  }\n"
    "}\n"
    "unit main.unit {\n"
    "  phase forward\n"
    "  parameter %x : f64[hidden=6]\n"
    "  result %sum\n"
    "  frame 48 of frame\n"
    "  %s = all_reduce(%x) {axes=b*a} : f64[hidden=6] out\n"
    "  %sum = wait(%s) : f64[hidden=6] in %s\n"
    "}\n";

static void fill_sums(struct ranks *ranks, const struct program *program) {
    for (int r = 0; r < ranks->n; r++)
        for (int i = 0; i < 6; i++) {
            numbers(ranks, r, program, "x", 0)[i] = r * r % 19 + i;
            ((uint16_t *)numbers(ranks, r, program, "rough", 0))[i] = 0x3f80; // 1
        }
}

static void check_sums(struct ranks *ranks, const struct program *program, int r, int i) {
    double all = 0, of_b = 0, most = 0;
    for (int k = 0; k < ranks->n; k++) {
        double x = k * k % 19 + i;
        all += x;
        of_b += k / 3 == r / 3 ? x : 0;
        most = x > most ? x : most;
    }
    assert_true(numbers(ranks, r, program, "both", 0)[i] == all);
    assert_true(numbers(ranks, r, program, "unit", 0)[i] == all);
    assert_true(numbers(ranks, r, program, "over_b", 0)[i] == of_b);
    assert_true(numbers(ranks, r, program, "most", 0)[i] == most);
    assert_int_equal(((uint16_t *)numbers(ranks, r, program, "rough_sum", 0))[i], 0x4204); // 33
}

static void sums_of_few_bytes_among_many(void **state) {
    struct arena arena = {0};
    struct program *program = parse(&arena, sums);
    struct backend_code *code = compile(&arena, program);
    struct ranks ranks;
    ranks_open(&ranks, &arena, program, 1);
    fill_sums(&ranks, program);
    ranks_run(&ranks, backend_entry(harness_backend(), code, 0, STEP_TRAIN));
    for (int r = 0; r < ranks.n; r++)
        for (int i = 0; i < 6; i++)
            check_sums(&ranks, program, r, i);
    expect_sent(&ranks, program, &arena);
    backend_code_free(harness_backend(), code);
    ranks_close(&ranks);
    arena_free(&arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(loops_and_slots),
        cmocka_unit_test(collectives),
        cmocka_unit_test(collectives_that_move),
        cmocka_unit_test(sums_of_few_bytes_among_many),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
