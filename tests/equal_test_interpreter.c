// The interpreter of graphs, held against XLA and PyTorch: inputs/hlo/values has programs and what XLA's CPU made of them
// (tools/hlo_values.py), inputs/fx/values what PyTorch did (tools/fx_values.py), whose reader is held to it, too. What
// they cannot show stands here: casts that change nothing, what is refused, and comparisons.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <dirent.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "equal/fx/read.h"
#include "equal/hlo/read.h"
#include "equal/interpreter/compare.h"

// Elementary functions of doubles are computed to some units in the last place, and sums in any order.
static const double TOLERANCE = 1e-13;

struct bench {
    struct arena arena;
    struct source_files sources;
    struct diagnostics *diagnostics;
};

static void bench_begin(struct bench *bench) {
    *bench = (struct bench){0};
    bench->diagnostics = diagnostics_new(&bench->arena, &bench->sources);
}

static const struct graph *read_text(struct bench *bench, const char *name, const char *text) {
    uint32_t source = source_add(&bench->sources, &bench->arena, name, text, strlen(text));
    const struct graph *graph = fx_is_text(source, bench->diagnostics)
                                    ? fx_read(source, NULL, &bench->arena, bench->diagnostics)
                                    : hlo_read(source, &bench->arena, bench->diagnostics);
    if (!graph)
        diagnostics_print(bench->diagnostics, stderr, false);
    assert_non_null(graph);
    return graph;
}

static char *file_text(struct arena *arena, const char *path) {
    FILE *file = fopen(path, "rb");
    if (!file)
        fail_msg("%s cannot be opened", path);
    static char text[1 << 16];
    size_t n = fread(text, 1, sizeof text, file);
    assert_true(n < sizeof text);
    fclose(file);
    return arena_string(arena, text, n);
}

static const struct execution *execute(struct bench *bench, const struct graph *graph,
                                       const struct array *const *const *inputs) {
    const char *why;
    const struct instruction *at;
    const struct execution *execution = interpret(graph, inputs, NULL, &bench->arena, &why, &at);
    if (!execution)
        fail_msg("%s: %s", at ? at->name : "", why);
    return execution;
}

static const struct array *value_named(const struct graph *graph, const struct execution *execution,
                                       uint32_t device, const char *name) {
    const struct computation *entry = &graph->computations[graph->entry];
    for (uint32_t i = 0; i < entry->n; i++)
        if (!strcmp(entry->instructions[i].name, name))
            return execution->values[device * entry->n + i];
    fail_msg("no instruction %s", name);
    return NULL;
}

static const struct array *root_of(const struct graph *graph, const struct execution *execution,
                                   uint32_t device) {
    const struct computation *entry = &graph->computations[graph->entry];
    return execution->values[device * entry->n + entry->root];
}

// ---- the values of others ----

static bool is_like(double is, double should) {
    return is == should || (isnan(is) && isnan(should)) ||
           fabs(is - should) <= TOLERANCE * fmax(1, fabs(should));
}

// What is UNSIGNED and of 64 bits is written as what it is, and read as its pattern.
static bool integer_is_like(int64_t is, const char *should, char **end) {
    return *should == '-' ? is == strtoll(should, end, 10)
                          : is == (int64_t)strtoull(should, end, 10);
}

static void compare_array(const char *name, const struct array *array, char **values) {
    for (uint32_t i = 0; i < array->shape->n_members; i++)
        compare_array(name, array->members[i], values);
    for (int64_t i = 0; !array->shape->is_tuple && i < array->shape->n_elements; i++) {
        char *begin = *values + strspn(*values, " \n");
        bool is_same = array->reals ? is_like(array->reals[i], strtod(begin, values))
                                    : integer_is_like(array->integers[i], begin, values);
        if (!is_same)
            fail_msg("%s: element %ld is %.17g, not %.*s", name, (long)i,
                     array->reals ? array->reals[i] : (double)array->integers[i],
                     (int)(*values - begin), begin);
    }
}

static void check_file(const char *folder, const char *name, size_t stem) {
    struct bench bench;
    bench_begin(&bench);
    struct arena *arena = &bench.arena;
    char *text = file_text(arena, arena_format(arena, "%s%s", folder, name));
    char *values = file_text(arena, arena_format(arena, "%s%.*s.values", folder, (int)stem, name));
    const struct graph *graph = read_text(&bench, name, text);
    const struct execution *execution = execute(&bench, graph, NULL);
    for (uint32_t device = 0; device < execution->n_devices; device++)
        compare_array(name, root_of(graph, execution, device), &values);
    assert_int_equal(values[strspn(values, " \n")], 0);
    arena_free(arena);
}

static int check_folder(const char *path, const char *suffix) {
    DIR *folder = opendir(path);
    assert_non_null(folder);
    int n = 0;
    for (const struct dirent *entry; (entry = readdir(folder));) {
        const char *end = strstr(entry->d_name, suffix);
        if (!end)
            continue;
        check_file(path, entry->d_name, (size_t)(end - entry->d_name));
        n++;
    }
    closedir(folder);
    return n;
}

static void values_are_those_of_xla(void **state) {
    assert_true(check_folder("inputs/hlo/values/", ".hlo") >= 19);
}

static void values_are_those_of_pytorch(void **state) {
    assert_true(check_folder("inputs/fx/values/", ".fx") >= 9);
}

// ---- what they cannot show ----

static void casts_between_reals_change_nothing(void **state) {
    struct bench bench;
    bench_begin(&bench);
    const struct graph *graph =
        read_text(&bench, "casts",
                  "HloModule casts\n\nENTRY %main {\n"
                  "  %x = f64[] constant(0.1)\n"
                  "  %narrow = bf16[] convert(%x)\n"
                  "  %cut = bf16[] reduce-precision(%narrow), exponent_bits=8, mantissa_bits=7\n"
                  "  %sum = bf16[] add(%cut, %cut)\n"
                  "  ROOT %wide = f64[] convert(%sum)\n"
                  "}\n");
    const struct execution *execution = execute(&bench, graph, NULL);
    assert_true(root_of(graph, execution, 0)->reals[0] == 0.1 + 0.1);
    arena_free(&bench.arena);
}

static void products_of_integers_may_be_real(void **state) {
    struct bench bench;
    bench_begin(&bench);
    const struct graph *graph =
        read_text(&bench, "products",
                  "HloModule products\n\nENTRY %main {\n"
                  "  %x = s8[2] constant({100, -3})\n"
                  "  ROOT %dot = f32[] dot(%x, %x), lhs_contracting_dims={0}, "
                  "rhs_contracting_dims={0}\n"
                  "}\n");
    assert_true(root_of(graph, execute(&bench, graph, NULL), 0)->reals[0] == 10009);
    arena_free(&bench.arena);
}

static void collectives_have_several_operands(void **state) {
    struct bench bench;
    bench_begin(&bench);
    const struct graph *graph = read_text(
        &bench, "several",
        "HloModule several, num_partitions=2\n\n"
        "%add {\n"
        "  %a = f64[] parameter(0)\n"
        "  %b = f64[] parameter(1)\n"
        "  ROOT %sum = f64[] add(%a, %b)\n"
        "}\n\nENTRY %main {\n"
        "  %id = u32[] partition-id()\n"
        "  %number = f64[] convert(%id)\n"
        "  %x = f64[2] broadcast(%number), dimensions={}\n"
        "  %iota = f64[3] iota(), iota_dimension=0\n"
        "  %numbers = f64[3] broadcast(%number), dimensions={}\n"
        "  %y = f64[3] add(%iota, %numbers)\n"
        "  %sums = (f64[2], f64[3]) all-reduce(%x, %y), channel_id=1, replica_groups={{0,1}}, "
        "use_global_device_ids=true, to_apply=%add\n"
        "  %gathers = (f64[4], f64[6]) all-gather(%x, %y), channel_id=2, "
        "replica_groups={{1,0}}, dimensions={0}, use_global_device_ids=true\n"
        "  ROOT %both = ((f64[2], f64[3]), (f64[4], f64[6])) tuple(%sums, %gathers)\n"
        "}\n");
    const struct execution *execution = execute(&bench, graph, NULL);
    for (uint32_t device = 0; device < 2; device++) {
        char *values = "1 1  1 3 5  1 1 0 0  1 2 3 0 1 2";
        compare_array("several", root_of(graph, execution, device), &values);
    }
    arena_free(&bench.arena);
}

static void values_of_the_entry_are_kept(void **state) {
    struct bench bench;
    bench_begin(&bench);
    const struct graph *graph = read_text(&bench, "kept",
                                          "HloModule kept, num_partitions=2\n\nENTRY %main {\n"
                                          "  %x = f32[2] parameter(0)\n"
                                          "  %twice = f32[2] add(%x, %x)\n"
                                          "  ROOT %negated = f32[2] negate(%twice)\n"
                                          "}\n");
    const struct array_shape *shape = graph->computations[graph->entry].instructions[0].shape;
    double numbers[2][2] = {{1, 2}, {3, 4}};
    const struct array arrays[2] = {{.shape = shape, .reals = numbers[0]},
                                    {.shape = shape, .reals = numbers[1]}};
    const struct array *const parameters[2][1] = {{&arrays[0]}, {&arrays[1]}};
    const struct array *const *const inputs[2] = {parameters[0], parameters[1]};
    const struct execution *execution = execute(&bench, graph, inputs);
    assert_int_equal(execution->n_devices, 2);
    assert_true(value_named(graph, execution, 0, "twice")->reals[1] == 4);
    assert_true(value_named(graph, execution, 1, "twice")->reals[0] == 6);
    assert_true(value_named(graph, execution, 1, "negated")->reals[1] == -8);
    arena_free(&bench.arena);
}

// Whole arrays are of one device, whatever the number of those that they are to be partitioned for.
static void whole_programs_are_of_one_device(void **state) {
    struct bench bench;
    bench_begin(&bench);
    const struct graph *graph =
        read_text(&bench, "whole",
                  "HloModule whole, num_partitions=4\n\nENTRY %main {\n"
                  "  %x = f32[4] iota(), iota_dimension=0\n"
                  "  %cut = f32[4] custom-call(%x), custom_call_target=\"Sharding\", "
                  "sharding={devices=[4]<=[4]}\n"
                  "  ROOT %sum = f32[4] add(%x, %cut)\n"
                  "}\n");
    const struct execution *execution = execute(&bench, graph, NULL);
    assert_int_equal(execution->n_devices, 1);
    assert_true(root_of(graph, execution, 0)->reals[3] == 6);
    arena_free(&bench.arena);
}

// ---- what is refused ----

static void check_refused(const char *text, const char *expected_why, const char *expected_at) {
    struct bench bench;
    bench_begin(&bench);
    const struct graph *graph = read_text(&bench, "refused", text);
    const char *why;
    const struct instruction *at;
    assert_null(interpret(graph, NULL, NULL, &bench.arena, &why, &at));
    assert_string_equal(why, expected_why);
    assert_string_equal(at->name, expected_at);
    arena_free(&bench.arena);
}

static void what_cannot_be_executed_is_refused(void **state) {
    check_refused("HloModule m\n\nENTRY %main {\n"
                  "  %a = f32[] constant(0)\n"
                  "  %b = f32[] constant(1)\n"
                  "  ROOT %r = f32[2] rng(%a, %b), distribution=rng_uniform\n}\n",
                  "rng", "r");
    check_refused("HloModule m\n\nENTRY %main {\n"
                  "  %a = f32[2] constant({1, 2})\n"
                  "  ROOT %r = f32[2] custom-call(%a), custom_call_target=\"TopK\"\n}\n",
                  "custom-call TopK", "r");
    check_refused("HloModule m\n\nENTRY %main {\n"
                  "  %a = f32[] constant(0)\n"
                  "  ROOT %r = f32[100000,100000] broadcast(%a), dimensions={}\n}\n",
                  "too many bytes", "r");
    check_refused("HloModule m\n\nENTRY %main {\n"
                  "  %a = f32[] constant(0)\n"
                  "  %x = f32[4000,4000] broadcast(%a), dimensions={}\n"
                  "  ROOT %r = f32[4000,4000] dot(%x, %x), lhs_contracting_dims={1}, "
                  "rhs_contracting_dims={0}\n}\n",
                  "too many operations", "r");
    check_refused("HloModule m\n\nENTRY %main {\n"
                  "  %a = s32[2] constant({1, 2})\n"
                  "  ROOT %r = s32[2] tanh(%a)\n}\n",
                  "tanh of s32", "r");
    check_refused("HloModule m\n\nENTRY %main {\n"
                  "  %a = f32[2] constant({1, 2})\n"
                  "  ROOT %r = f32[4] custom-call(%a), custom_call_target=\"Sharding\"\n}\n",
                  "custom-call Sharding", "r");
    check_refused("HloModule m\n\nENTRY %main {\n"
                  "  %a = u32[2] constant({1, 2})\n"
                  "  ROOT %r = s32[4] bitcast-convert(%a)\n}\n",
                  "bits of u32 read as s32", "r");
    check_refused("HloModule m\n\nENTRY %main {\n"
                  "  %a = f32[2] constant({1, 2})\n"
                  "  ROOT %r = (f32[3], s32[3]) topk(%a), k=3, largest=true\n}\n",
                  "the shape of topk", "r");
    check_refused(
        "HloModule m\n\n"
        "%add {\n"
        "  %a = f32[] parameter(0)\n"
        "  %b = f32[] parameter(1)\n"
        "  ROOT %sum = f32[] add(%a, %b)\n}\n\n"
        "ENTRY %main {\n"
        "  %a = f32[2] constant({1, 2})\n"
        "  %zero = f32[] constant(0)\n"
        "  ROOT %r = f32[2] reduce-window(%a, %zero), window={size=2}, to_apply=%add\n}\n",
        "the shape of reduce-window", "r");
}

// The entry computation is small, so it shows only when it runs.
static void called_computations_are_bounded(void **state) {
    check_refused("HloModule m\n\n"
                  "%large {\n"
                  "  %a = f32[] parameter(0)\n"
                  "  ROOT %many = f32[100000,100000] broadcast(%a), dimensions={}\n}\n\n"
                  "%part {\n"
                  "  %a = f32[] parameter(0)\n"
                  "  %many = f32[100000,100000] call(%a), to_apply=%large\n"
                  "  ROOT %one = f32[1,1] slice(%many), slice={[0:1], [0:1]}\n}\n\n"
                  "ENTRY %main {\n"
                  "  %a = f32[] constant(0)\n"
                  "  ROOT %r = f32[1,1] call(%a), to_apply=%part\n}\n",
                  "too many bytes", "many");
    check_refused("HloModule m\n\n"
                  "%long {\n"
                  "  %a = f32[] parameter(0)\n"
                  "  %x = f32[1500,1500] broadcast(%a), dimensions={}\n"
                  "  %product = f32[1500,1500] dot(%x, %x), lhs_contracting_dims={1}, "
                  "rhs_contracting_dims={0}\n"
                  "  ROOT %one = f32[1,1] slice(%product), slice={[0:1], [0:1]}\n}\n\n"
                  "ENTRY %main {\n"
                  "  %a = f32[] constant(0)\n"
                  "  ROOT %r = f32[1,1] call(%a), to_apply=%long\n}\n",
                  "too many operations", "product");
}

static void check_room(const char *text, bool has_room) {
    struct bench bench;
    bench_begin(&bench);
    const struct graph *graph = read_text(&bench, "room", text);
    const char *why;
    const struct instruction *at;
    assert_int_equal(interpreter_has_room(graph, &why, &at), has_room);
    arena_free(&bench.arena);
}

// 320 MB on each device, and on a device 2.7 giga-operations.
static void room_is_of_all_devices(void **state) {
    check_room("HloModule m, num_partitions=3\n\nENTRY %main {\n"
               "  %x = f32[40000000] parameter(0)\n"
               "  ROOT %r = f32[40000000] copy(%x)\n}\n",
               true);
    check_room("HloModule m, num_partitions=4\n\nENTRY %main {\n"
               "  %x = f32[40000000] parameter(0)\n"
               "  ROOT %r = f32[40000000] copy(%x)\n}\n",
               false);
    check_room("HloModule m\n\nENTRY %main {\n"
               "  %x = f32[1400,1400] parameter(0)\n"
               "  ROOT %r = f32[1400,1400] dot(%x, %x), lhs_contracting_dims={1}, "
               "rhs_contracting_dims={0}\n}\n",
               false);
}

static void endless_loops_are_refused(void **state) {
    check_refused("HloModule m\n\n"
                  "%true {\n"
                  "  %s = s32[] parameter(0)\n"
                  "  ROOT %t = pred[] constant(true)\n}\n\n"
                  "%same {\n"
                  "  ROOT %s = s32[] parameter(0)\n}\n\n"
                  "ENTRY %main {\n"
                  "  %a = s32[] constant(0)\n"
                  "  ROOT %r = s32[] while(%a), condition=%true, body=%same\n}\n",
                  "too many iterations", "r");
}

// 100 times 16 MB, of which a GiB would be 64.
static void what_a_call_made_is_forgotten(void **state) {
    struct bench bench;
    bench_begin(&bench);
    const struct graph *graph =
        read_text(&bench, "forgotten",
                  "HloModule m\n\n"
                  "%going {\n"
                  "  %i = s32[] parameter(0)\n"
                  "  %end = s32[] constant(100)\n"
                  "  ROOT %lt = pred[] compare(%i, %end), direction=LT\n}\n\n"
                  "%step {\n"
                  "  %i = s32[] parameter(0)\n"
                  "  %many = s32[2000000] broadcast(%i), dimensions={}\n"
                  "  %one = s32[1] slice(%many), slice={[7:8]}\n"
                  "  %same = s32[] reshape(%one)\n"
                  "  %by = s32[] constant(1)\n"
                  "  ROOT %next = s32[] add(%same, %by)\n}\n\n"
                  "ENTRY %main {\n"
                  "  %a = s32[] constant(0)\n"
                  "  ROOT %r = s32[] while(%a), condition=%going, body=%step\n}\n");
    const struct execution *execution = execute(&bench, graph, NULL);
    assert_int_equal(root_of(graph, execution, 0)->integers[0], 100);
    arena_free(&bench.arena);
}

static void devices_that_part_cannot_meet(void **state) {
    check_refused("HloModule m, num_partitions=2\n\n"
                  "%add {\n"
                  "  %a = f32[] parameter(0)\n"
                  "  %b = f32[] parameter(1)\n"
                  "  ROOT %sum = f32[] add(%a, %b)\n}\n\n"
                  "%meet {\n"
                  "  %x = f32[] parameter(0)\n"
                  "  ROOT %all = f32[] all-reduce(%x), channel_id=1, replica_groups={{0,1}}, "
                  "use_global_device_ids=true, to_apply=%add\n}\n\n"
                  "%alone {\n"
                  "  ROOT %x = f32[] parameter(0)\n}\n\n"
                  "ENTRY %main {\n"
                  "  %id = u32[] partition-id()\n"
                  "  %zero = u32[] constant(0)\n"
                  "  %first = pred[] compare(%id, %zero), direction=EQ\n"
                  "  %x = f32[] convert(%id)\n"
                  "  ROOT %r = f32[] conditional(%first, %x, %x), true_computation=%meet, "
                  "false_computation=%alone\n}\n",
                  "devices that do not meet", "all");
    check_refused("HloModule m, num_partitions=3\n\n"
                  "%send {\n"
                  "  %x = f32[] parameter(0)\n"
                  "  ROOT %got = f32[] collective-permute(%x), channel_id=1, "
                  "source_target_pairs={{1,2}}\n}\n\n"
                  "%alone {\n"
                  "  ROOT %x = f32[] parameter(0)\n}\n\n"
                  "ENTRY %main {\n"
                  "  %id = u32[] partition-id()\n"
                  "  %two = u32[] constant(2)\n"
                  "  %last = pred[] compare(%id, %two), direction=EQ\n"
                  "  %x = f32[] convert(%id)\n"
                  "  ROOT %r = f32[] conditional(%last, %x, %x), true_computation=%send, "
                  "false_computation=%alone\n}\n",
                  "devices that do not meet", "got");
}

// ---- comparisons ----

// The rows of x are cut over dp and tp, each half of the columns of w over tp.
static const char ONE[] = "HloModule one\n\nENTRY %main {\n"
                          "  %x = f32[4,2] parameter(0)\n"
                          "  %w = f32[2,8] parameter(1)\n"
                          "  %y = f32[4,8] dot(%x, %w), lhs_contracting_dims={1}, "
                          "rhs_contracting_dims={0}\n"
                          "  ROOT %r = (f32[4,8], f32[2,8]) tuple(%y, %w)\n}\n";
#define MANY(GROUPS)                                                                               \
    "HloModule many, num_partitions=4\n\nENTRY %main {\n"                                          \
    "  %w = f32[2,4] parameter(0)\n"                                                               \
    "  %x = f32[1,2] parameter(1)\n"                                                               \
    "  %rows = f32[2,2] all-gather(%x), channel_id=1, replica_groups=" GROUPS                      \
    ", dimensions={0}, use_global_device_ids=true\n"                                               \
    "  %y = f32[2,4] dot(%rows, %w), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"         \
    "  ROOT %r = (f32[2,4], f32[2,4]) tuple(%y, %w)\n}\n"

static const struct cut WHOLE = {.n = 0}, OVER_DP = {{0}, 1}, OVER_TP = {{1}, 1},
                        OVER_BOTH = {{0, 1}, 2};

static void check_compared(const char *many_text, struct difference expected) {
    struct bench bench;
    bench_begin(&bench);
    const struct graph *one = read_text(&bench, "one", ONE);
    const struct graph *many = read_text(&bench, "many", many_text);
    const struct segment rows[] = {{4, OVER_BOTH}}, dp[] = {{4, OVER_DP}}, inner[] = {{2, WHOLE}},
                         halves[] = {{4, OVER_TP}, {4, OVER_TP}};
    const struct dimension_layout x[] = {{rows, 1}, {inner, 1}}, w[] = {{inner, 1}, {halves, 2}},
                                  y[] = {{dp, 1}, {halves, 2}};
    const struct array_layout parameters[] = {{.name = "x", .dimensions = x},
                                              {.name = "w", .dimensions = w}},
                              results[] = {{.name = "y", .dimensions = y},
                                           {.name = "w", .dimensions = w}};
    const uint32_t many_parameters[] = {1, 0};
    const struct pairing pairing = {
        .mesh = {.axes = {{"dp", 2}, {"tp", 2}}, .n_axes = 2, .n_devices = 4},
        .parameters = parameters,
        .many_parameters = many_parameters,
        .n_parameters = 2,
        .results = results,
        .n_results = 2};
    double x_numbers[8], w_numbers[16];
    for (int i = 0; i < 8; i++)
        x_numbers[i] = i;
    for (int i = 0; i < 16; i++)
        w_numbers[i] = i + 1;
    const struct computation *entry = &one->computations[one->entry];
    const struct array whole_x = {.shape = entry->instructions[entry->parameters[0]].shape,
                                  .reals = x_numbers},
                       whole_w = {.shape = entry->instructions[entry->parameters[1]].shape,
                                  .reals = w_numbers};
    const struct array *const wholes[] = {&whole_x, &whole_w};
    struct comparison comparison;
    assert_true(compare_programs(&pairing, one, many, wholes, NULL, &bench.arena, &comparison));
    struct difference is = comparison.greatest;
    assert_true(is_like(is.relative, expected.relative));
    assert_int_equal(is.index != NULL, expected.index != NULL);
    for (int d = 0; expected.index && d < 2; d++)
        assert_int_equal(is.index[d], expected.index[d]);
    assert_int_equal(is.result, expected.result);
    assert_int_equal(is.device, expected.device);
    assert_true(is.one == expected.one && is.many == expected.many);
    arena_free(&bench.arena);
}

static void programs_are_compared_by_parts(void **state) {
    check_compared(MANY("{{0,1},{2,3}}"), (struct difference){0});
    // Device 1 has in place of y's rows 0 and 1 the rows 1 and 3. At the end of row 1 it should have 2 * 8 + 3 * 16.
    const int64_t index[] = {1, 7};
    check_compared(MANY("{{0,2},{1,3}}"), (struct difference){0.6, 0, 1, index, 64, 160});
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_are_those_of_xla),
        cmocka_unit_test(values_are_those_of_pytorch),
        cmocka_unit_test(casts_between_reals_change_nothing),
        cmocka_unit_test(products_of_integers_may_be_real),
        cmocka_unit_test(collectives_have_several_operands),
        cmocka_unit_test(values_of_the_entry_are_kept),
        cmocka_unit_test(whole_programs_are_of_one_device),
        cmocka_unit_test(what_cannot_be_executed_is_refused),
        cmocka_unit_test(called_computations_are_bounded),
        cmocka_unit_test(room_is_of_all_devices),
        cmocka_unit_test(endless_loops_are_refused),
        cmocka_unit_test(what_a_call_made_is_forgotten),
        cmocka_unit_test(devices_that_part_cannot_meet),
        cmocka_unit_test(programs_are_compared_by_parts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
