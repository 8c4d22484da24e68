// The reader of HLO text: what it makes of each form, what it refuses, and where it says so.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "equal/hlo/read.h"

struct reading {
    struct arena arena;
    struct source_files sources;
    struct diagnostics *diagnostics;
    const struct graph *graph; // NULL: refused
};

static struct reading read_bytes(const char *text, size_t length) {
    struct reading r = {.graph = NULL};
    struct arena *arena = calloc(1, sizeof *arena); // does not move with the reading
    struct source_files *sources = calloc(1, sizeof *sources);
    assert_non_null(arena);
    assert_non_null(sources);
    r.diagnostics = diagnostics_new(arena, sources);
    uint32_t source = source_add(sources, arena, "input", text, length);
    r.graph = hlo_read(source, &r.arena, r.diagnostics);
    assert_int_equal(r.diagnostics->n_errors, r.graph ? 0 : 1);
    return r;
}

static void forget(struct reading *r) {
    struct arena *arena = r->diagnostics->arena;
    struct source_files *sources = r->diagnostics->sources;
    arena_free(&r->arena);
    arena_free(arena);
    free(arena);
    free(sources);
}

// What was said first; "": nothing.
static const char *said(const struct reading *r) {
    return r->diagnostics->n_items ? r->diagnostics->items[0]->message : "";
}

static struct reading read_right(const char *text) {
    struct reading r = read_bytes(text, strlen(text));
    if (!r.graph)
        fail_msg("%s\nrefused: %s", text, said(&r));
    return r;
}

static void assert_refused(const char *text, size_t length, enum diagnostic_code code,
                           const char *message) {
    struct reading r = read_bytes(text, length);
    if (r.graph)
        fail_msg("%.200s\nwas read, and not refused: %s", text, message);
    const struct diagnostic *d = r.diagnostics->items[0];
    if (d->code != code || !strstr(d->message, message))
        fail_msg("%.200s\n%s: %s, and not %s: %s", text, diagnostic_rows[d->code].text, d->message,
                 diagnostic_rows[code].text, message);
    assert_true(d->span.begin <= length && d->span.end <= length);
    forget(&r);
}

static const struct computation *entry_of(const struct reading *r) {
    return &r->graph->computations[r->graph->entry];
}

static const struct instruction *named(const struct reading *r, const char *name) {
    const struct computation *entry = entry_of(r);
    for (uint32_t i = 0; i < entry->n; i++)
        if (strcmp(entry->instructions[i].name, name) == 0)
            return &entry->instructions[i];
    fail_msg("no %s", name);
    return NULL;
}

// Computations and parameters that lines of the tests use.
#define STEPS                                                                                      \
    "body { t = (s32[], f32[4,6]) parameter(0) i = s32[] get-tuple-element(t), index=0"            \
    " x = f32[4,6] get-tuple-element(t), index=1"                                                  \
    " ROOT c = (s32[], f32[4,6]) tuple(i, x) }\n"                                                  \
    "more { t = (s32[], f32[4,6]) parameter(0) ROOT c = pred[] constant(true) }\n"                 \
    "half { x = f32[4,6] parameter(0) ROOT y = f32[2,6] slice(x), slice={[0:2], [0:6]} }\n"        \
    "rest { x = f32[4,6] parameter(0) ROOT y = f32[2,6] slice(x), slice={[2:4], [0:6]} }\n"        \
    "add { l = f32[] parameter(0) r = f32[] parameter(1) ROOT s = f32[] add(l, r) }\n"             \
    "less { l = f32[] parameter(0) r = f32[] parameter(1)"                                         \
    " ROOT s = pred[] compare(l, r), direction=LT }\n"
#define GIVEN                                                                                      \
    "a = f32[4,6] parameter(0)\n b = f32[6,8] parameter(1)\n i = s32[] parameter(2)\n"             \
    "p = pred[4,6] parameter(3)\n v = f32[6] parameter(4)\n ix = s32[5,1] parameter(5)\n"          \
    "u = f32[5,6] parameter(6)\n t = (s32[], f32[4,6]) parameter(7)\n n = s32[4,6] parameter(8)\n" \
    "z = f32[] constant(0)\n q = pred[] constant(true)\n"

static char *module_of(const char *line, int devices) {
    char *text = NULL;
    size_t length;
    FILE *to = open_memstream(&text, &length);
    assert_non_null(to);
    fprintf(to, "HloModule m, num_partitions=%d\n" STEPS "ENTRY main {\n" GIVEN "%s\n}\n", devices,
            line);
    fclose(to);
    return text;
}

static struct reading read_line(const char *line, int devices) {
    char *text = module_of(line, devices);
    struct reading r = read_right(text);
    free(text);
    return r;
}

static void assert_line_refused(const char *line, int devices, enum diagnostic_code code,
                                const char *message) {
    char *text = module_of(line, devices);
    assert_refused(text, strlen(text), code, message);
    free(text);
}

// ---- the module ---------------------------------------------------------------------------------
static void forms_of_older_and_newer_texts_are_one(void **state) {
    static const char *const texts[] = {
        "HloModule jit_f, entry_computation_layout={(f32[2]{0}, f32[2]{0})->f32[2]{0}}, "
        "num_partitions=2\n\n"
        "ENTRY %main.3 (a: f32[2], b: f32[2]) -> f32[2] {\n"
        "  %a = f32[2]{0} parameter(0), metadata={op_name=\"a\"}\n"
        "  %b = f32[2]{0} parameter(1)\n"
        "  ROOT %c = f32[2]{0} add(f32[2]{0} %a, /*index=1*/f32[2]{0} %b), "
        "frontend_attributes={x=\"}\"}\n"
        "}, execution_thread=\"main\"\n",
        "// a comment\nHloModule jit_f, num_partitions=2\n"
        "ENTRY main.3 { a = f32[2] parameter(0), metadata={op_name=\"a\"} b = f32[2] parameter(1)\n"
        "  ROOT c = f32[2] add(a, b), backend_config={\"a\":[{\"b\":\"]\\\"\"}]}\n}",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct reading r = read_right(texts[i]);
        const struct instruction *c = named(&r, "c");
        assert_string_equal(r.graph->name, "jit_f");
        assert_string_equal(entry_of(&r)->name, "main.3");
        assert_int_equal(r.graph->n_devices, 2);
        assert_true(r.graph->is_partitioned);
        assert_int_equal(entry_of(&r)->n, 3);
        assert_int_equal(entry_of(&r)->root, 2);
        assert_int_equal(entry_of(&r)->n_parameters, 2);
        assert_int_equal(c->primitive, PRIM_ADD);
        assert_int_equal(c->operands[0], 0);
        assert_int_equal(c->operands[1], 1);
        assert_string_equal(named(&r, "a")->path, "a");
        assert_null(c->path);
        assert_int_equal(c->span.end - c->span.begin, 1);
        forget(&r);
    }
}

static void root_is_what_says_so(void **state) {
    struct reading r = read_right("HloModule m\nENTRY e { p = f32[] parameter(0)\n"
                                  "ROOT a = f32[] negate(p)\n b = f32[] negate(a)\n}");
    assert_int_equal(entry_of(&r)->root, 1);
    forget(&r);
    r = read_right("HloModule m\nENTRY e { p = f32[] parameter(0)\n b = f32[] negate(p)\n}");
    assert_int_equal(entry_of(&r)->root, 1);
    forget(&r);
}

static void text_before_the_partitioner_is_told(void **state) {
    struct reading r =
        read_right("HloModule m, num_partitions=2\nENTRY main { p = f32[4] parameter(0), "
                   "sharding={devices=[2]<=[2]}\n ROOT b = f32[4] negate(p), "
                   "sharding={replicated}\n}");
    assert_false(r.graph->is_partitioned);
    assert_string_equal(named(&r, "p")->attributes->sharding, "{devices=[2]<=[2]}");
    assert_string_equal(named(&r, "b")->attributes->sharding, "{replicated}");
    forget(&r);
    r = read_right(
        "HloModule m, num_partitions=2\nENTRY main.1_spmd { ROOT p = f32[4] parameter(0), "
        "sharding={mesh['dp'=2], [{'dp'}]}\n}");
    assert_true(r.graph->is_partitioned);
    assert_string_equal(named(&r, "p")->attributes->sharding, "{mesh['dp'=2], [{'dp'}]}");
    forget(&r);
}

// ---- shapes and names ---------------------------------------------------------------------------
static void shapes_are_interned(void **state) {
    struct reading r =
        read_line("c = f32[4,6]{1,0:T(8,128)S(1)} copy(a)\n"
                  "d = (f32[4,6]{0,1}, (s32[], f32[])) custom-call(c), "
                  "custom_call_target=\"f\"\n"
                  "e = ((), token[], f32[0,3]) custom-call(), custom_call_target=\"g\"",
                  1);
    const struct array_shape *d = named(&r, "d")->shape, *e = named(&r, "e")->shape;
    assert_ptr_equal(named(&r, "c")->shape, named(&r, "a")->shape);
    assert_ptr_equal(d->members[0], named(&r, "a")->shape);
    assert_ptr_equal(d->members[1]->members[1], named(&r, "z")->shape);
    assert_int_equal(d->members[0]->n_elements, 24);
    assert_true(e->members[0]->is_tuple);
    assert_int_equal(e->members[0]->n_members, 0);
    assert_int_equal(e->members[1]->element, ELEMENT_TYPE_TOKEN);
    assert_int_equal(e->members[2]->n_elements, 0);
    assert_string_equal(shape_text(d, &r.arena), "(f32[4,6], a tuple)");
    forget(&r);
}

static void elements_of_tuples_are_taken_once(void **state) {
    struct reading r = read_line("c = f32[4,6] add(%t#1, t#1)\n d = s32[] add(t#0, i)\n"
                                 "e = (f32[4,6], (s32[])) custom-call(), custom_call_target=\"f\"\n"
                                 "f = s32[] copy(%e#1#0)",
                                 1);
    const struct computation *entry = entry_of(&r);
    const struct instruction *c = named(&r, "c"), *taken = named(&r, "t#1");
    assert_int_equal(c->operands[0], c->operands[1]);
    assert_ptr_equal(graph_operand(entry, c, 0), taken);
    assert_int_equal(taken->primitive, PRIM_GET_TUPLE_ELEMENT);
    assert_int_equal(taken->attributes->index, 1);
    assert_ptr_equal(graph_operand(entry, named(&r, "f"), 0), named(&r, "e#1#0"));
    assert_ptr_equal(graph_operand(entry, named(&r, "e#1#0"), 0), named(&r, "e#1"));
    forget(&r);
    assert_line_refused("c = f32[4,6] copy(t#2)", 1, E905, "no element");
    assert_line_refused("c = f32[4,6] copy(a#0)", 1, E905, "no element");
    assert_line_refused("c = f32[4,6] copy(t#)", 1, E905, "no element");
    assert_line_refused("c = f32[4,6] copy(w#0)", 1, E904, "`w` is not defined");
}

// ---- literals -----------------------------------------------------------------------------------
static void reals_are_those_of_their_type(void **state) {
    struct reading r =
        read_line("c = f32[2,3] constant({ { 1, -0.5, inf }, /*i0=1*/{ -inf, nan, 0x1.8p1 } })\n"
                  "d = f32[] constant(0.1)\n e = bf16[] constant(0.1)\n f = f64[] constant(0.1)\n"
                  "g = f16[] constant(6e-08)\n h = f8e4m3fn[] constant(0.3)",
                  1);
    const double *c = named(&r, "c")->attributes->literal->reals;
    assert_int_equal(named(&r, "c")->attributes->literal->n, 6);
    assert_true(c[0] == 1 && c[1] == -0.5 && isinf(c[2]) && c[3] < 0 && isinf(c[3]));
    assert_true(isnan(c[4]) && c[5] == 3);
    assert_true(named(&r, "d")->attributes->literal->reals[0] == (double)0.1f);
    assert_true(named(&r, "e")->attributes->literal->reals[0] == 0.10009765625);
    assert_true(named(&r, "f")->attributes->literal->reals[0] == 0.1);
    assert_true(named(&r, "g")->attributes->literal->reals[0] == ldexp(1, -24));
    assert_true(named(&r, "h")->attributes->literal->reals[0] == 0.3125);
    forget(&r);
}

static void whole_numbers_have_their_range(void **state) {
    struct reading r = read_line("c = s32[3] constant({1, -2147483648, 3})\n"
                                 "d = u64[] constant(18446744073709551615)\n"
                                 "e = pred[2,2] constant({ { true, false }, { 1, 0 } })\n"
                                 "f = s8[4] constant({-128, -128, -128, -128})\n"
                                 "g = f32[0,2] constant({})\n h = u4[] constant(15)",
                                 1);
    const struct literal *c = named(&r, "c")->attributes->literal;
    assert_null(c->reals);
    assert_true(c->n == 3 && c->integers[1] == INT32_MIN);
    assert_true(named(&r, "d")->attributes->literal->integers[0] == -1);
    const int64_t *e = named(&r, "e")->attributes->literal->integers;
    assert_true(e[0] == 1 && e[1] == 0 && e[2] == 1 && e[3] == 0);
    assert_int_equal(named(&r, "f")->attributes->literal->n, 1);
    assert_int_equal(named(&r, "f")->attributes->literal->integers[0], -128);
    assert_int_equal(named(&r, "g")->attributes->literal->n, 0);
    forget(&r);
    assert_line_refused("c = s8[] constant(128)", 1, E902, "no number of type s8");
    assert_line_refused("c = u8[] constant(-1)", 1, E902, "no number of type u8");
    assert_line_refused("c = s64[] constant(9223372036854775808)", 1, E902, "no number");
    assert_line_refused("c = s32[] constant(1.5)", 1, E902, "expected `)`");
    assert_line_refused("c = pred[] constant(maybe)", 1, E902, "`true` or `false`");
    assert_line_refused("c = f32[] constant(x)", 1, E902, "expected a number");
    assert_line_refused("c = f32[2] constant({1})", 1, E902, "expected `,`");
    assert_line_refused("c = f32[2] constant({1, 2, 3})", 1, E905, "not as many numbers");
    assert_line_refused("c = f32[2] constant({...})", 1, E903, "leaves out");
    assert_line_refused("c = f32[2,2] constant({ {...}, {...} })", 1, E903, "leaves out");
}

static void constants_of_other_kinds_are_opaque(void **state) {
    struct reading r = read_line("c = c64[2] constant({(1, 2), (3, 4)})\n"
                                 "d = (f32[], s32[]) constant((1, 2))",
                                 1);
    assert_int_equal(named(&r, "c")->primitive, PRIM_OPAQUE);
    assert_string_equal(named(&r, "c")->attributes->target, "constant");
    assert_string_equal(named(&r, "c")->attributes->others, "({(1, 2), (3, 4)})");
    assert_int_equal(named(&r, "d")->primitive, PRIM_OPAQUE);
    forget(&r);
}

// ---- devices ------------------------------------------------------------------------------------
static char *groups_text(const struct device_groups *groups, struct arena *arena) {
    char *text = "";
    for (uint32_t i = 0; i < groups->n_groups * groups->size; i++)
        text = arena_format(arena, "%s%s%u", text,
                            i == 0             ? ""
                            : i % groups->size ? ","
                                               : " ",
                            groups->devices[i]);
    return text;
}

#define GROUPED(groups)                                                                            \
    "channel_id=1, replica_groups=" groups ", use_global_device_ids=true, to_apply=add"

static void groups_are_resolved(void **state) {
    static const char *const cases[][2] = {
        {"{{0,1},{2,3},{4,5},{6,7}}", "0,1 2,3 4,5 6,7"},
        {"{}", "0,1,2,3,4,5,6,7"},
        {"[2,4]<=[8]", "0,1,2,3 4,5,6,7"},
        {"[4,2]<=[2,4]T(1,0)", "0,4 1,5 2,6 3,7"},
        {"[4,2]<=[2,2,2]T(2,0,1)", "0,2 4,6 1,3 5,7"},
        {"mesh['dp'=2,'tp'=4] {'tp'}", "0,1,2,3 4,5,6,7"},
        {"mesh['dp'=2,'tp'=4] {'dp'}", "0,4 1,5 2,6 3,7"},
        {"mesh['dp'=2,'tp'=4] {'dp','tp'}", "0,1,2,3,4,5,6,7"},
        {"mesh['dp'=2,'tp'=4] {'tp','dp'}", "0,4,1,5,2,6,3,7"},
        {"mesh['dp'=2,'one'=1,'tp'=4] {'one','dp'}", "0,4 1,5 2,6 3,7"},
        {"mesh[dp=2,tp=4] {}", "0 1 2 3 4 5 6 7"},
        {"mesh['x'=8] {'x':(1)2}", "0,4 1,5 2,6 3,7"},
        {"mesh['x'=8] {'x':(2)2}", "0,2 1,3 4,6 5,7"},
        {"mesh['x'=8] {'x':(4)2,'x':(1)2}", "0,4,1,5 2,6,3,7"},
        {"mesh['x'=2,'y'=4], device_ids=(7,6,5,4,3,2,1,0) {'x'}", "7,3 6,2 5,1 4,0"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct reading r = {.graph = NULL};
        char line[400];
        snprintf(line, sizeof line,
                 "c = f32[4,6] all-reduce(a), channel_id=1, replica_groups=%s, "
                 "use_global_device_ids=true, to_apply=add\n"
                 "d = f32[4,6] all-reduce(c), replica_groups=%s, use_global_device_ids=true, "
                 "channel_id=2, to_apply=%%add, metadata={op_name=\"d\"}",
                 cases[i][0], cases[i][0]);
        r = read_line(line, 8);
        const struct instruction_attributes *c = named(&r, "c")->attributes;
        assert_string_equal(groups_text(c->groups, &r.arena), cases[i][1]);
        assert_ptr_equal(named(&r, "d")->attributes->groups, c->groups);
        assert_false(c->counts_replicas);
        assert_int_equal(c->n_called, 1);
        assert_string_equal(r.graph->computations[c->called[0]].name, "add");
        forget(&r);
    }
}

static void equal_groups_are_one_pointer(void **state) {
    struct reading r = read_line(
        "c = f32[4,6] all-reduce(a), " GROUPED(
            "{{0,2},{1,3}}") "\n"
                             "d = f32[4,6] all-reduce(a), " GROUPED(
                                 "[2,2]<=[2,2]T(1,0)") "\n"
                                                       "e = f32[4,6] all-reduce(a), " GROUPED(
                                                           "mesh['a'=2,'b'=2] {'a'}") "\n"
                                                                                      "f = "
                                                                                      "f32[4,6] "
                                                                                      "all-reduce("
                                                                                      "a),"
                                                                                      " " GROUPED(
                                                                                          "[4,1]<=["
                                                                                          "4]"),
        4);
    const struct device_groups *c = named(&r, "c")->attributes->groups;
    assert_ptr_equal(c, named(&r, "d")->attributes->groups);
    assert_ptr_equal(c, named(&r, "e")->attributes->groups);
    assert_ptr_not_equal(c, named(&r, "f")->attributes->groups);
    assert_int_equal(r.graph->n_axes, 2);
    assert_string_equal(r.graph->axes[1].name, "b");
    assert_int_equal(r.graph->axes[1].size, 2);
    forget(&r);
}

// What the numbers of groups are follows from other attributes; XLA's CollectiveOpGroupMode.
static void groups_of_replicas(void **state) {
    struct reading r = read_line(
        "c = f32[4,6] all-reduce(a), replica_groups={{0}}, to_apply=add\n"
        "d = f32[4,6] all-reduce(a), replica_groups={}, to_apply=add, channel_id=3\n"
        "e = f32[4,6] all-to-all(a), replica_groups={{0,1}}, channel_id=1, dimensions={0}\n"
        "f = f32[4,6] collective-permute(a), source_target_pairs={{0,0}}\n"
        "g = f32[4,6] collective-permute(a), source_target_pairs={{0,1},{1,0}}, channel_id=1",
        2);
    assert_string_equal(groups_text(named(&r, "c")->attributes->groups, &r.arena), "0 1");
    assert_true(named(&r, "c")->attributes->counts_replicas);
    assert_string_equal(groups_text(named(&r, "d")->attributes->groups, &r.arena), "0,1");
    assert_false(named(&r, "d")->attributes->counts_replicas);
    assert_string_equal(groups_text(named(&r, "e")->attributes->groups, &r.arena), "0,1");
    const struct instruction_attributes *f = named(&r, "f")->attributes;
    assert_true(f->n_pairs == 2 && f->pairs[1].from == 1 && f->pairs[1].to == 1);
    const struct instruction_attributes *g = named(&r, "g")->attributes;
    assert_true(g->n_pairs == 2 && g->pairs[1].from == 1 && g->pairs[1].to == 0);
    forget(&r);
    assert_line_refused("c = f32[4,6] all-reduce(a), replica_groups={{0,1}}, to_apply=add", 2, E906,
                        "of replicas");
    assert_line_refused("c = f32[4,6] collective-permute(a), source_target_pairs={{0,1}}", 2, E906,
                        "of replicas");
}

static void replicas_are_devices_where_there_are_no_partitions(void **state) {
    struct reading r = read_right(
        "HloModule m, replica_count=2\nadd { l = f32[] parameter(0)\n r = f32[] parameter(1)\n"
        "ROOT s = f32[] add(l, r) }\nENTRY e { a = f32[4] parameter(0)\n"
        "c = f32[4] all-reduce(a), replica_groups={{0,1}}, to_apply=add\n"
        "d = f32[4] all-reduce(a), replica_groups={}, to_apply=add\n"
        "r = u32[] replica-id() }");
    assert_int_equal(r.graph->n_devices, 2);
    assert_string_equal(groups_text(named(&r, "c")->attributes->groups, &r.arena), "0,1");
    assert_ptr_equal(named(&r, "c")->attributes->groups, named(&r, "d")->attributes->groups);
    assert_false(named(&r, "c")->attributes->counts_replicas);
    assert_int_equal(named(&r, "r")->primitive, PRIM_PARTITION_ID);
    forget(&r);
}

static void groups_that_are_not_the_devices(void **state) {
    static const struct {
        const char *groups;
        enum diagnostic_code code;
        const char *message;
    } cases[] = {
        {"{{0,1},{2,3}}", E906, "device 2 of a program of 2 devices"},
        {"{{0},{0}}", E906, "device 0 is named twice"},
        {"{{0}}", E906, "groups of 1 of 2 devices"},
        {"{{0},{1,2}}", E906, "different sizes"},
        {"{{0,99999999}}", E906, "devices have numbers below"},
        {"[2,2]<=[4]", E906, "device 2 of a program"},
        {"[1,2]<=[4]", E906, "4 numbers in two dimensions"},
        {"[2]<=[2]", E906, "two dimensions"},
        {"[1,2]<=[2,1]T(0,0)", E906, "no order"},
        {"[1,2]<=[2]T(1)", E906, "no order"},
        {"[0,2]<=[2]", E906, "sizes of groups"},
        {"[1,9999999999]<=[9999999999]", E906, "sizes of groups"},
        {"[65536,65536]<=[65536,65536]", E906, "sizes of groups"},
        {"mesh['x'=2] {'y'}", E906, "no axis"},
        {"mesh['x'=2] {'x','x'}", E906, "overlap"},
        {"mesh['x'=2,'x'=1] {'x'}", E906, "named twice"},
        {"mesh['x'=3] {'x':(1)2}", E906, "does not divide"},
        {"mesh['x'=4] {'x'}", E906, "device 2"},
        {"mesh['x'=2], device_ids=(0,5) {'x'}", E906, "does not have"},
        {"mesh['x'=2], device_ids=(0,0) {'x'}", E906, "named twice"},
        {"mesh['x'=2", E902, ""},
        {"{{0,1}", E902, ""},
        {"[1,2]<=", E902, "expected `[`"},
        {"word", E902, "expected groups"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char line[300];
        snprintf(line, sizeof line,
                 "c = f32[4,6] all-reduce(a), channel_id=1, use_global_device_ids=true, "
                 "to_apply=add, replica_groups=%s",
                 cases[i].groups);
        assert_line_refused(line, 2, cases[i].code, cases[i].message);
    }
    assert_line_refused("c = f32[4,6] collective-permute(a), source_target_pairs={{0,1},{0,0}}, "
                        "channel_id=1",
                        2, E905, "sends once");
    assert_line_refused("c = f32[4,6] collective-permute(a), source_target_pairs={{0,2}}, "
                        "channel_id=1",
                        2, E905, "of 2 devices");
}

// ---- forms that are others in a graph -----------------------------------------------------------
static void asynchronous_pairs_are_the_instruction_and_a_copy(void **state) {
    struct reading r = read_line(
        "c = f32[4,6] all-reduce-start(a), " GROUPED(
            "{{0,1}}") "\n"
                       "d = f32[4,6] all-reduce-done(c), channel_id=1\n"
                       "e = (f32[4,6], f32[8,6]) all-gather-start(d), channel_id=1, "
                       "replica_groups={{0,1}}, "
                       "dimensions={0}, use_global_device_ids=true\n"
                       "f = f32[8,6] all-gather-done((f32[4,6], f32[8,6]) e)\n"
                       "g = (f32[4,6], f32[4,6], u32[], u32[]) collective-permute-start(a), "
                       "source_target_pairs={{0,1}}, channel_id=1\n"
                       "h = f32[4,6] collective-permute-done(g)\n"
                       "j = (f32[4,6], f32[4,6], u32[]) copy-start(a)\n k = f32[4,6] copy-done(j)\n"
                       "l = ((f32[4,6]), f32[2,6], s32[]) async-start(a), calls=%half\n"
                       "m = ((f32[4,6]), f32[2,6], s32[]) async-update(l), calls=%half\n"
                       "n1 = f32[2,6] async-done(m), calls=%half\n"
                       "o = (f32[4,6], f32[6]) all-reduce-start(a, v), " GROUPED(
                           "{{0,1}}") "\n"
                                      "s = (f32[4,6], f32[6]) all-reduce-done(o)\n w = f32[6] "
                                      "copy(s#1)\n"
                                      "x = (f32[4,6], u32[], token[]) send(a, q), channel_id=4\n"
                                      "y = token[] send-done(x), channel_id=4",
        2);
    static const struct {
        const char *name;
        enum primitive primitive;
    } expected[] = {
        {"c", PRIM_ALL_REDUCE},
        {"d", PRIM_COPY},
        {"e", PRIM_ALL_GATHER},
        {"f", PRIM_COPY},
        {"g", PRIM_COLLECTIVE_PERMUTE},
        {"h", PRIM_COPY},
        {"j", PRIM_COPY},
        {"k", PRIM_COPY},
        {"l", PRIM_CALL},
        {"m", PRIM_COPY},
        {"n1", PRIM_COPY},
        {"o", PRIM_ALL_REDUCE},
        {"s", PRIM_OPTIMIZATION_BARRIER},
        {"x", PRIM_OPAQUE},
        {"y", PRIM_OPAQUE},
    };
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++)
        assert_int_equal(named(&r, expected[i].name)->primitive, expected[i].primitive);
    assert_ptr_equal(named(&r, "e")->shape, named(&r, "f")->shape);
    assert_ptr_equal(named(&r, "j")->shape, named(&r, "a")->shape);
    assert_ptr_equal(named(&r, "m")->shape, named(&r, "n1")->shape);
    assert_int_equal(named(&r, "n1")->attributes->n_called, 0);
    assert_int_equal(named(&r, "l")->attributes->n_called, 1);
    assert_string_equal(named(&r, "y")->attributes->target, "send-done");
    forget(&r);
    assert_line_refused("c = f32[4,6] all-reduce-done(a)", 1, E905, "not started");
    assert_line_refused("c = f32[4,6] copy-start(a)", 1, E905, "gives a tuple");
    assert_line_refused("c = (f32[4,6], f32[4,6]) copy-start(a)\n d = f32[6] copy-done(c)", 1, E905,
                        "not the shape");
}

static void fusions_are_calls(void **state) {
    struct reading r = read_line("c = f32[2,6] fusion(a), kind=kLoop, calls=%half\n"
                                 "d = f32[2,6] call(a), to_apply=half",
                                 1);
    assert_int_equal(named(&r, "c")->primitive, PRIM_CALL);
    assert_int_equal(named(&r, "c")->attributes->called[0], named(&r, "d")->attributes->called[0]);
    forget(&r);
}

static void calls_are_in_order(void **state) {
    struct reading r = read_line(
        "c = (s32[], f32[4,6]) while(t), body=%body, condition=%more\n"
        "d = f32[2,6] conditional(q, a, a), false_computation=rest, true_computation=half\n"
        "e = f32[2,6] conditional(i, a, a, a), branch_computations={%half, %rest, %half}\n"
        "f = f32[6] reduce(a, z), dimensions={0}, to_apply=add",
        1);
    const uint32_t *c = named(&r, "c")->attributes->called;
    const uint32_t *d = named(&r, "d")->attributes->called;
    const uint32_t *e = named(&r, "e")->attributes->called;
    const struct computation *all = r.graph->computations;
    assert_string_equal(all[c[0]].name, "more");
    assert_string_equal(all[c[1]].name, "body");
    assert_string_equal(all[d[0]].name, "half");
    assert_string_equal(all[d[1]].name, "rest");
    assert_true(e[0] == e[2] && strcmp(all[e[1]].name, "rest") == 0);
    forget(&r);
}

static void numbers_of_attributes(void **state) {
    struct reading r = read_line(
        "c = f32[2,3] slice(a), slice={[0:4:2], [1:4]}\n"
        "d = f32[5,5] pad(a, z), padding=0_1_0x-1_0\n"
        "e = f32[5,6] gather(a, ix), offset_dims={1}, collapsed_slice_dims={0}, "
        "start_index_map={0}, "
        "index_vector_dim=1, slice_sizes={1,6}, indices_are_sorted=true\n"
        "f = f32[4,6] scatter(a, ix, u), update_window_dims={1}, inserted_window_dims={0}, "
        "scatter_dims_to_operand_dims={0}, index_vector_dim=1, unique_indices=true, to_apply=add\n"
        "g = f32[4,8] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
        "h = f32[2,6] dynamic-slice(a, i, i), dynamic_slice_sizes={2,6}\n"
        "j = s32[3] iota(), iota_dimension=0\n k = pred[4,6] compare(a, a), direction=NE\n"
        "l = f32[4,6] reduce-precision(a), exponent_bits=8, mantissa_bits=7",
        1);
    const struct instruction_attributes *c = named(&r, "c")->attributes;
    assert_true(c->slices[0].stride == 2 && c->slices[1].start == 1 && c->slices[1].limit == 4);
    const struct instruction_attributes *d = named(&r, "d")->attributes;
    assert_true(d->padding[0].high == 1 && d->padding[1].low == -1 && d->padding[1].interior == 0);
    const struct index_numbers *e = named(&r, "e")->attributes->indices;
    assert_true(e->offset.n == 1 && e->offset.of[0] == 1 && e->collapsed.of[0] == 0);
    assert_true(e->map.n == 1 && e->index_vector == 1 && e->slice_sizes.of[1] == 6);
    assert_true(e->sorted && !e->unique && e->operand_batching.n == 0);
    const struct index_numbers *f = named(&r, "f")->attributes->indices;
    assert_true(f->offset.of[0] == 1 && f->collapsed.n == 1 && f->unique && !f->sorted);
    const struct instruction_attributes *g = named(&r, "g")->attributes;
    assert_true(g->left_contracting.of[0] == 1 && g->right_contracting.of[0] == 0);
    assert_int_equal(named(&r, "h")->attributes->slice_sizes.of[0], 2);
    assert_int_equal(named(&r, "j")->attributes->dimensions.n, 1);
    assert_int_equal(named(&r, "k")->attributes->direction, DIRECTION_NE);
    assert_int_equal(named(&r, "l")->attributes->mantissa_bits, 7);
    forget(&r);
}

// Two that differ only in what has no field must not look alike.
static void attributes_without_a_field_are_kept_as_text(void **state) {
    struct reading r = read_line(
        "c = f32[4,6] custom-call(a), custom_call_target=\"f\", backend_config={\"k\": \"}\"}, "
        "called_computations={%half}, metadata={op_name=\"c\"}\n"
        "d = f32[2,6] reduce-window(a, z), window={size=2x1 stride=2x1}, to_apply=%add\n"
        "e = f32[4,6] triangular-solve(a, a), lower=true, sharding={replicated}\n"
        "f = f32[4,6] negate(a), result_accuracy={tolerance={atol=0}}",
        1);
    const struct instruction_attributes *c = named(&r, "c")->attributes;
    assert_string_equal(c->target, "f");
    assert_string_equal(c->others, "custom_call_target=\"f\", backend_config={\"k\": \"}\"}");
    assert_int_equal(c->n_called, 1);
    const struct instruction_attributes *d = named(&r, "d")->attributes;
    assert_string_equal(d->others, "window={size=2x1 stride=2x1}");
    assert_int_equal(d->n_called, 1);
    const struct instruction_attributes *e = named(&r, "e")->attributes;
    assert_string_equal(e->target, "triangular-solve");
    assert_string_equal(e->others, "lower=true");
    assert_null(named(&r, "f")->attributes->others);
    forget(&r);
}

static void what_depends_on_memory_or_its_values_is_opaque(void **state) {
    struct reading r = read_line("c = f32[24] bitcast(a)\n d = f32[6,4]{0,1} bitcast(a)\n"
                                 "e = f32[<=4] custom-call(), custom_call_target=\"f\"\n"
                                 "f = f32[<=4] negate(e)",
                                 1);
    assert_int_equal(named(&r, "c")->primitive, PRIM_BITCAST);
    assert_int_equal(named(&r, "d")->primitive, PRIM_OPAQUE);
    assert_string_equal(named(&r, "d")->attributes->others, "f32[6,4]{0,1}, f32[4,6]");
    assert_int_equal(named(&r, "e")->primitive, PRIM_OPAQUE);
    assert_int_equal(named(&r, "f")->primitive, PRIM_OPAQUE);
    forget(&r);
}

// ---- places -------------------------------------------------------------------------------------
static void frames_lead_to_the_users_program(void **state) {
    struct reading r = read_right(
        "HloModule m\n\nFileNames\n1 \"/home/x/train.py\"\n2 "
        "\"/usr/lib/site-packages/jax/nn.py\"\n\n"
        "FunctionNames\n1 \"main\"\n2 \"block\"\n\nFileLocations\n"
        "1 {file_name_id=1 function_name_id=1 line=9 end_line=9 column=1 end_column=2}\n"
        "2 {file_name_id=1 function_name_id=2 line=73 end_line=73 column=1 end_column=2}\n"
        "3 {file_name_id=2 function_name_id=2 line=5 end_line=5 column=1 end_column=2}\n\n"
        "StackFrames\n1 {file_location_id=1 parent_frame_id=1}\n"
        "2 {file_location_id=2 parent_frame_id=2}\n3 {file_location_id=3 parent_frame_id=3}\n\n\n"
        "ENTRY e {\n p = f32[] parameter(0)\n"
        " a = f32[] negate(p), metadata={op_name=\"x\\\"}\" stack_frame_id=3}\n"
        " b = f32[] negate(a), metadata={op_type=\"neg\" source_file=\"old.py\" source_line=12 "
        "profile_type={1}}\n"
        " c = f32[] negate(b), metadata={source_file=\"old.py\" source_line=12}\n"
        " d = f32[] negate(c), metadata={stack_frame_id=99}\n}");
    assert_int_equal(r.graph->n_frames, 5);
    assert_int_equal(r.graph->frames[3].parent, 2);
    assert_int_equal(r.graph->frames[1].parent, 0);
    assert_string_equal(graph_place(r.graph, named(&r, "a"), &r.arena), "train.py:73 block");
    assert_string_equal(graph_place(r.graph, named(&r, "b"), &r.arena), "old.py:12");
    assert_int_equal(named(&r, "b")->frame, named(&r, "c")->frame);
    assert_int_equal(named(&r, "d")->frame, 0);
    assert_null(graph_place(r.graph, named(&r, "p"), &r.arena));
    forget(&r);
}

static void tables_name_what_there_is(void **state) {
    static const char *const files = "HloModule m\nFileNames\n1 \"a.py\"\nFunctionNames\n1 \"f\"\n"
                                     "FileLocations\n";
    static const char *const cases[][2] = {
        {"1 {file_name_id=2 function_name_id=1 line=1}\n", "no table before it"},
        {"1 {file_name_id=1 function_name_id=7 line=1}\n", "no table before it"},
        {"1 {file_name_id=1 line=1}\nStackFrames\n1 {file_location_id=2 parent_frame_id=1}\n",
         "no table before it"},
        {"1 {file_name_id=1 line=1}\nStackFrames\n1 {file_location_id=1 parent_frame_id=4}\n",
         "no table before it"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[500];
        int length = snprintf(text, sizeof text, "%s%s", files, cases[i][0]);
        assert_refused(text, (size_t)length, E904, cases[i][1]);
    }
    assert_refused("HloModule m\nFileNames\n2 \"a.py\"\n", 33, E902, "entry 1 of the table");
}

// ---- texts that are refused ---------------------------------------------------------------------
static void other_files_are_told(void **state) {
    static const char *const cases[][2] = {
        {"", "the file is empty"},
        {"  \n // only a comment\n", "the file is empty"},
        {"module @jit_f attributes {} {\n stablehlo.add", "StableHLO"},
        {"#loc = loc(unknown)\nmodule @jit_f {", "MLIR"},
        {"{ lambda ; a:f32[4]. let b = neg a in (b,) }", "jaxpr"},
        {"hlo_module {\n  name: \"f\"", "proto"},
        {"BufferAssignment:\n", "buffer assignment"},
        {"%PDF-1.4", "begins with `HloModule`"},
        {"HloModuleX", "begins with `HloModule`"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_refused(cases[i][0], strlen(cases[i][0]), E901, cases[i][1]);
    assert_refused("\x08\x01\0\x12jit_f", 9, E901, "this is no text");
}

static void texts_that_cannot_be_read(void **state) {
    static const struct {
        const char *text;
        enum diagnostic_code code;
        const char *message;
    } cases[] = {
        {"HloModule m", E902, "no computation is ENTRY"},
        {"HloModule m\ne { ROOT p = f32[] parameter(0) }", E902, "no computation is ENTRY"},
        {"HloModule m\nENTRY e { p = f32[] parameter(0)", E902, "ends inside of computation `e`"},
        {"HloModule m\nENTRY e { }", E902, "without instructions"},
        {"HloModule m\nENTRY e { p = f32[] parameter(0) }\nENTRY f { p = f32[] parameter(0) }",
         E902, "a second ENTRY"},
        {"HloModule m\ne { p = f32[] parameter(0) }\nENTRY e { p = f32[] parameter(0) }", E902,
         "a second computation"},
        {"HloModule m\nENTRY e { p = f32[] parameter(0) }\nHloModule n", E902, "a second module"},
        {"HloModule m\nENTRY e { ROOT p = f32[] parameter(0)\n ROOT q = f32[] negate(p) }", E902,
         "a second ROOT"},
        {"HloModule m\nENTRY e { p = f32[] parameter(0)\n p = f32[] negate(p) }", E902,
         "defined twice"},
        {"HloModule m\nENTRY e { p = f32[] parameter(1) }", E902, "numbered from 0"},
        {"HloModule m\nENTRY e { p = f32[] parameter(0)\n q = f32[] parameter(0) }", E902,
         "second parameter"},
        {"HloModule m\nENTRY e { p = f32 parameter(0) }", E902, "expected a shape"},
        {"HloModule m\nENTRY e { p = parameter(0) }", E902, "expected a shape"},
        {"HloModule m\nENTRY e { p = f33[] parameter(0) }", E902, "no element type"},
        {"HloModule m\nENTRY e { p = f32[-1] parameter(0) }", E902, "negative"},
        {"HloModule m\nENTRY e { p = f32[2 parameter(0) }", E902, "expected `,`"},
        {"HloModule m\nENTRY e { p = f32[] parameter(0), metadata={op_name=\"x }", E902, "quote"},
        {"HloModule m\nENTRY e { p = f32[] parameter(0), x={{ }", E902, "bracket"},
        {"HloModule m\nENTRY e { /* }", E902, "comment"},
        {"HloModule m, num_partitions=0\n", E907, "devices are read"},
        {"HloModule m, num_partitions=99999999999999999999\n", E907, "beyond 64 bits"},
        {"HloModule m, num_partitions=2, replica_count=2\n", E908, "both partitions and replicas"},
        {"HloModule m\nENTRY e { p = f32[<=4] parameter(0) }", E908, "known only when it runs"},
        {"HloModule m\nENTRY e { q = f32[] call(), to_apply=e }", E904, "calls itself"},
        {"HloModule m\nENTRY e { q = f32[] call(), to_apply=f }\nf { p = f32[] parameter(0) }",
         E904, "called before it is defined"},
        {"HloModule m\nENTRY e { q = f32[] call(), to_apply=f }", E904, "no computation is named"},
        {"HloModule m\ne { p = f32[] parameter(0) }\nENTRY f { q = f32[] negate(p) }", E904,
         "`p` is not defined before this"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_refused(cases[i].text, strlen(cases[i].text), cases[i].code, cases[i].message);
    assert_refused("HloModule m\nENTRY e { \0 }", 25, E902, "this is no text");
}

// Each line fits where the tests' computations and parameters stand before it; the second of a pair does not.
static void shapes_follow_from_operands(void **state) {
    static const struct {
        int devices;
        const char *right, *wrong;
    } cases[] = {
        {1, "c = f32[4,6] add(a, a)", "c = f32[4,6] add(a, v)"},
        {1, "c = f32[4,6] add(a, a)", "c = f32[4,6] add(a)"},
        {1, "c = f32[4,6] add(a, a)", "c = s32[4,6] add(a, a)"},
        {1, "c = bf16[4,6] negate(a)", "c = (f32[4,6]) negate(a)"},
        {1, "c = s32[4,6] convert(a)", "c = s32[6,4] convert(a)"},
        {1, "c = pred[4,6] compare(a, a), direction=LT",
         "c = f32[4,6] compare(a, a), direction=LT"},
        {1, "c = pred[4,6] compare(a, a), direction=LT",
         "c = pred[4,6] compare(a, n), direction=LT"},
        {1, "c = f32[4,6] select(p, a, a)", "c = f32[4,6] select(a, a, a)"},
        {1, "c = f32[4,6] select(q, a, a)", "c = f32[4,6] select(p, a, n)"},
        {1, "c = f32[4,6] clamp(z, a, z)", "c = f32[4,6] clamp(v, a, z)"},
        {1, "c = f32[4,6] clamp(a, a, a)", "c = f32[] clamp(z, a, z)"},
        {1, "c = pred[4,6] is-finite(a)", "c = pred[4,6] is-finite(n)"},
        {1, "c = f32[4,6] abs(a)", "c = s32[4,6] abs(a)"},
        {1, "c = f32[4,6] reduce-precision(a), exponent_bits=5, mantissa_bits=2",
         "c = f32[4,6] reduce-precision(a), exponent_bits=0, mantissa_bits=2"},
        {1, "c = f32[2,6,3] broadcast(v), dimensions={1}",
         "c = f32[2,6,3] broadcast(v), dimensions={0}"},
        {1, "c = f32[2,6,3] broadcast(z), dimensions={}",
         "c = f32[2,6,3] broadcast(v), dimensions={}"},
        {1, "c = f32[4,6,4] broadcast(a), dimensions={0,1}",
         "c = f32[4,6,4] broadcast(a), dimensions={3,1}"},
        {1, "c = f32[4,6,4] broadcast(a), dimensions={2,1}",
         "c = f32[6,6,4] broadcast(a), dimensions={1,1}"},
        {1, "c = f32[9,6] concatenate(a, u), dimensions={0}",
         "c = f32[8,6] concatenate(a, u), dimensions={0}"},
        {1, "c = f32[4,12] concatenate(a, a), dimensions={1}",
         "c = f32[9,6] concatenate(a, u), dimensions={1}"},
        {1, "c = f32[4,6] concatenate(a), dimensions={0}",
         "c = f32[4,6] concatenate(), dimensions={0}"},
        {1, "c = f32[2,6] dynamic-slice(a, i, i), dynamic_slice_sizes={2,6}",
         "c = f32[2,6] dynamic-slice(a, i), dynamic_slice_sizes={2,6}"},
        {1, "c = f32[4,1] dynamic-slice(a, i, i), dynamic_slice_sizes={4,1}",
         "c = f32[5,1] dynamic-slice(a, i, i), dynamic_slice_sizes={5,1}"},
        {1, "c = f32[4,1] dynamic-slice(a, i, i), dynamic_slice_sizes={4,1}",
         "c = f32[4,1] dynamic-slice(a, i, z), dynamic_slice_sizes={4,1}"},
        {1, "c = f32[4,6] dynamic-update-slice(a, a, i, i)",
         "c = f32[4,6] dynamic-update-slice(a, u, i, i)"},
        {1, "c = f32[4,6] dynamic-update-slice(a, a, i, i)",
         "c = f32[5,6] dynamic-update-slice(u, v, i, i)"},
        {1, "c = s32[] get-tuple-element(t), index=0", "c = s32[] get-tuple-element(t), index=1"},
        {1, "c = s32[] get-tuple-element(t), index=0", "c = s32[] get-tuple-element(t), index=2"},
        {1, "c = s32[] get-tuple-element(t), index=0", "c = s32[] get-tuple-element(i), index=0"},
        {1, "c = f32[6,5] pad(a, z), padding=1_1x0_-1", "c = f32[6,5] pad(a, z), padding=1_1"},
        {1, "c = f32[13,6] pad(a, z), padding=0_0_3x0_0",
         "c = f32[14,6] pad(a, z), padding=0_0_3x0_0"},
        {1, "c = f32[0,6] pad(a, z), padding=-4_0x0_0", "c = f32[0,6] pad(a, z), padding=-5_0x0_0"},
        {1, "c = f32[4,6] pad(a, z), padding=0_0x0_0", "c = f32[4,6] pad(a, v), padding=0_0x0_0"},
        {1, "c = f32[4,6] pad(a, z), padding=0_0x0_0",
         "c = f32[4,6] pad(a, z), padding=9223372036854775807_1x0_0"},
        {1, "c = f32[24] reshape(a)", "c = f32[25] reshape(a)"},
        {1, "c = f32[4,6] reverse(a), dimensions={0,1}",
         "c = f32[4,6] reverse(a), dimensions={1,1}"},
        {1, "c = f32[2,6] slice(a), slice={[1:4:2], [0:6]}",
         "c = f32[2,6] slice(a), slice={[1:5:2], [0:6]}"},
        {1, "c = f32[0,6] slice(a), slice={[4:4], [0:6]}",
         "c = f32[0,6] slice(a), slice={[4:3], [0:6]}"},
        {1, "c = f32[2,6] slice(a), slice={[0:2], [0:6]}", "c = f32[2,6] slice(a), slice={[0:2]}"},
        {1, "c = f32[1,6] slice(a), slice={[0:4:9223372036854775807], [0:6]}",
         "c = f32[1,6] slice(a), slice={[0:4:0], [0:6]}"},
        {1, "c = f32[6,4] transpose(a), dimensions={1,0}",
         "c = f32[6,4] transpose(a), dimensions={0,1}"},
        {1, "c = f32[6,4] transpose(a), dimensions={1,0}",
         "c = f32[6,4] transpose(a), dimensions={1}"},
        {1, "c = (f32[4,6], s32[]) tuple(a, i)", "c = (s32[], f32[4,6]) tuple(a, i)"},
        {1, "c = () tuple()", "c = (f32[4,6]) tuple()"},
        {1, "c = f32[4,8] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}",
         "c = f32[8,4] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}"},
        {1, "c = f32[4,8] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}",
         "c = f32[6,6] dot(a, b), lhs_contracting_dims={0}, rhs_contracting_dims={1}"},
        {1, "c = f32[4,6,6,8] dot(a, b)", "c = f32[4,6,6,8] dot(a, b), lhs_contracting_dims={0}"},
        {1, "c = f32[6,4,8] dot(a, b), lhs_batch_dims={1}, rhs_batch_dims={0}",
         "c = f32[6,4,8] dot(a, b), lhs_batch_dims={1}, rhs_batch_dims={0}, "
         "lhs_contracting_dims={1}, rhs_contracting_dims={0}"},
        {1, "c = f32[6] reduce(a, z), dimensions={0}, to_apply=add",
         "c = f32[4] reduce(a, z), dimensions={0}, to_apply=add"},
        {1, "c = f32[] reduce(a, z), dimensions={0,1}, to_apply=add",
         "c = f32[] reduce(a, z), dimensions={0,2}, to_apply=add"},
        {1, "c = f32[6] reduce(a, z), dimensions={0}, to_apply=add",
         "c = f32[6] reduce(a, i), dimensions={0}, to_apply=add"},
        {1, "c = f32[6] reduce(a, z), dimensions={0}, to_apply=add",
         "c = f32[6] reduce(a, z), dimensions={0}, to_apply=less"},
        {1, "c = f32[6] reduce(a, z), dimensions={0}, to_apply=add",
         "c = f32[6] reduce(a), dimensions={0}, to_apply=add"},
        {1, "c = f32[6] reduce(a, z), dimensions={0}, to_apply=add",
         "c = (f32[6], f32[6]) reduce(a, a, z, z), dimensions={0}, to_apply=add"},
        {1, "c = f32[4,6] sort(a), dimensions={1}, to_apply=less",
         "c = f32[4,6] sort(a), dimensions={2}, to_apply=less"},
        {1, "c = f32[4,6] sort(a), dimensions={1}, to_apply=less",
         "c = f32[4,6] sort(a), dimensions={1}, to_apply=add"},
        {1,
         "c = f32[5,6] gather(a, ix), offset_dims={1}, collapsed_slice_dims={0}, "
         "start_index_map={0}, "
         "index_vector_dim=1, slice_sizes={1,6}",
         "c = f32[5,6] gather(a, ix), offset_dims={1}, collapsed_slice_dims={0}, "
         "start_index_map={0}, "
         "index_vector_dim=1, slice_sizes={1,5}"},
        {1,
         "c = f32[5,1,6] gather(a, ix), offset_dims={1,2}, collapsed_slice_dims={}, "
         "start_index_map={0}, index_vector_dim=1, slice_sizes={1,6}",
         "c = f32[5,1,6] gather(a, ix), offset_dims={1,2}, collapsed_slice_dims={0}, "
         "start_index_map={0}, index_vector_dim=1, slice_sizes={1,6}"},
        {1,
         "c = f32[5,1,6] gather(a, ix), offset_dims={2}, collapsed_slice_dims={0}, "
         "start_index_map={0}, index_vector_dim=2, slice_sizes={1,6}",
         "c = f32[5,1,6] gather(a, ix), offset_dims={2}, collapsed_slice_dims={0}, "
         "start_index_map={0,1}, index_vector_dim=2, slice_sizes={1,6}"},
        {1,
         "c = f32[6,5] gather(a, ix), offset_dims={0}, collapsed_slice_dims={0}, "
         "start_index_map={1}, "
         "index_vector_dim=1, slice_sizes={1,6}",
         "c = f32[6,5] gather(a, ix), offset_dims={0}, collapsed_slice_dims={0}, "
         "start_index_map={2}, "
         "index_vector_dim=1, slice_sizes={1,6}"},
        {1,
         "c = f32[4,6] scatter(a, ix, u), update_window_dims={1}, inserted_window_dims={0}, "
         "scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=add",
         "c = f32[4,6] scatter(a, ix, a), update_window_dims={1}, inserted_window_dims={0}, "
         "scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=add"},
        {1,
         "c = f32[4,6] scatter(a, ix, u), update_window_dims={1}, inserted_window_dims={0}, "
         "scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=add",
         "c = f32[4,6] scatter(a, ix, u), update_window_dims={1}, inserted_window_dims={1}, "
         "scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=add"},
        {1, "c = s32[5] iota(), iota_dimension=0", "c = s32[5] iota(), iota_dimension=1"},
        {1, "c = u32[] partition-id()", "c = u32[2] partition-id()"},
        {1, "c = (s32[], f32[4,6]) opt-barrier(t)", "c = (f32[4,6], s32[]) opt-barrier(t)"},
        {1, "c = f32[2,6] call(a), to_apply=half", "c = f32[2,6] call(v), to_apply=half"},
        {1, "c = f32[2,6] call(a), to_apply=half", "c = f32[4,6] call(a), to_apply=half"},
        {1, "c = f32[2,6] call(a), to_apply=half", "c = f32[2,6] call(a, a), to_apply=half"},
        {1, "c = f32[2,6] call(a), to_apply=half", "c = f32[2,6] call(a)"},
        {1, "c = f32[4,6] map(a, a), dimensions={0,1}, to_apply=add",
         "c = f32[4,6] map(a), dimensions={0,1}, to_apply=add"},
        {1, "c = (s32[], f32[4,6]) while(t), condition=more, body=body",
         "c = (s32[], f32[4,6]) while(t), condition=body, body=more"},
        {1, "c = (s32[], f32[4,6]) while(t), condition=more, body=body",
         "c = (s32[], f32[4,6]) while(t), condition=more, body=more"},
        {1, "c = f32[2,6] conditional(i, a), branch_computations={half}",
         "c = f32[2,6] conditional(q, a), branch_computations={half}"},
        {1, "c = f32[2,6] conditional(i, a), branch_computations={half}",
         "c = f32[2,6] conditional(i, v), branch_computations={half}"},
        {1, "c = f32[2,6] conditional(i, a), branch_computations={half}",
         "c = f32[2,6] conditional(i, a, a), branch_computations={half}"},
        {2, "c = f32[4,6] all-reduce(a), " GROUPED("{{0,1}}"),
         "c = f32[4,3] all-reduce(a), " GROUPED("{{0,1}}")},
        {2, "c = (f32[4,6], f32[6]) all-reduce(a, v), " GROUPED("{{0,1}}"),
         "c = (f32[6], f32[4,6]) all-reduce(a, v), " GROUPED("{{0,1}}")},
        {2, "c = f32[8,6] all-gather(a), dimensions={0}, replica_groups={}, channel_id=1",
         "c = f32[4,6] all-gather(a), dimensions={0}, replica_groups={}, channel_id=1"},
        {2, "c = f32[4,12] all-gather(a), dimensions={1}, replica_groups={}, channel_id=1",
         "c = f32[4,12] all-gather(a), dimensions={2}, replica_groups={}, channel_id=1"},
        {2, "c = f32[2,6] reduce-scatter(a), dimensions={0}, " GROUPED("{{0,1}}"),
         "c = f32[8,6] reduce-scatter(a), dimensions={0}, " GROUPED("{{0,1}}")},
        {4, "c = f32[1,6] reduce-scatter(a), dimensions={0}, " GROUPED("{{0,1,2,3}}"),
         "c = f32[4,1] reduce-scatter(a), dimensions={1}, " GROUPED("{{0,1,2,3}}")},
        {4, "c = f32[4,6] all-to-all(a), dimensions={0}, channel_id=1, replica_groups={}",
         "c = f32[4,6] all-to-all(a), dimensions={1}, channel_id=1, replica_groups={}"},
        {2, "c = (f32[6], f32[6]) all-to-all(v, v), channel_id=1, replica_groups={}",
         "c = f32[6] all-to-all(v), channel_id=1, replica_groups={}"},
        {2, "c = f32[6] collective-permute(v), channel_id=1, source_target_pairs={{0,1}}",
         "c = f32[4] collective-permute(v), channel_id=1, source_target_pairs={{0,1}}"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct reading r = read_line(cases[i].right, cases[i].devices);
        forget(&r);
        assert_line_refused(cases[i].wrong, cases[i].devices, E905, "");
    }
}

static void needed_attributes(void **state) {
    assert_line_refused("c = f32[6,4] transpose(a)", 1, E902, "`transpose` without `dimensions=`");
    assert_line_refused("c = f32[6] reduce(a, z), dimensions={0}", 1, E902, "without `to_apply=`");
    assert_line_refused("c = f32[6,4] transpose(a), dimensions={1,0}, dimensions={1,0}", 1, E902,
                        "said twice");
}

// ---- hostile texts ------------------------------------------------------------------------------
static char *repeated(const char *before, const char *part, int n, const char *after) {
    size_t length = strlen(part);
    char *text = malloc(strlen(before) + length * (size_t)n + strlen(after) + 1);
    assert_non_null(text);
    char *to = text + sprintf(text, "%s", before);
    for (int i = 0; i < n; i++, to += length)
        memcpy(to, part, length);
    strcpy(to, after);
    return text;
}

static void assert_repeated_refused(const char *before, const char *part, int n, const char *after,
                                    enum diagnostic_code code, const char *message) {
    char *text = repeated(before, part, n, after);
    assert_refused(text, strlen(text), code, message);
    free(text);
}

static void hostile_sizes(void **state) {
    enum { MANY = 300000 };
    static const char *const begin = "HloModule m\nENTRY e { p = ";
    assert_repeated_refused(begin, "(", MANY, "", E907, "nested more than 64 deep");
    assert_repeated_refused(begin, "{", MANY, "", E902, "expected a shape");
    assert_repeated_refused("HloModule m, x=", "{", MANY, "", E902, "bracket");
    assert_repeated_refused("HloModule m\nENTRY e { p = f32[1", ",1", MANY, "] parameter(0) }",
                            E907, "more than 16 dimensions");
    assert_repeated_refused("HloModule m\nENTRY e { p = f32[1", "0", MANY, "] parameter(0) }", E907,
                            "beyond 64 bits");
    assert_repeated_refused("HloModule m\nENTRY e { p = f32[]", " ", MANY, "constant(1", E902,
                            "ends");
    assert_refused("HloModule m\nENTRY e { p = f32[4294967296,4294967296] parameter(0) }", 64, E907,
                   "more bytes than can be counted");
    assert_refused("HloModule m\nENTRY e { p = f32[0,4294967296,4294967296] parameter(0) }", 66,
                   E907, "more bytes than can be counted");
    assert_repeated_refused("HloModule m\nENTRY e { t = (f32[]) parameter(0)\n c = f32[] copy(t#0",
                            "#0", MANY, ") }", E905, "no element");
    assert_refused("HloModule m\nENTRY e { p = f32[9999999999] constant({1}) }", 54, E902,
                   "expected `,`");
}

static void calls_are_bounded(void **state) {
    char *text = NULL;
    size_t length;
    for (int depth = MAX_CALL_DEPTH; depth <= MAX_CALL_DEPTH + 1; depth++) {
        FILE *to = open_memstream(&text, &length);
        assert_non_null(to);
        fprintf(to, "HloModule m\nc0 { ROOT p = f32[] parameter(0) }\n");
        for (int i = 1; i <= depth; i++)
            fprintf(to, "%sc%d { p = f32[] parameter(0)\n ROOT c = f32[] call(p), to_apply=c%d }\n",
                    i == depth ? "ENTRY " : "", i, i - 1);
        fclose(to);
        if (depth > MAX_CALL_DEPTH) {
            assert_refused(text, length, E907, "calls inside of calls");
        } else {
            struct reading r = read_right(text);
            forget(&r);
        }
        free(text);
    }
}

// Groups of many devices in few bytes, each text another: what they make is bounded.
static void short_groups_of_many_devices_are_bounded(void **state) {
    char *text = NULL;
    size_t length;
    FILE *to = open_memstream(&text, &length);
    assert_non_null(to);
    fprintf(to,
            "HloModule m, num_partitions=65536\n" STEPS "ENTRY e {\n a = f32[4,6] parameter(0)\n");
    for (int i = 0; i < 1000; i++)
        fprintf(
            to,
            "c%d = f32[4,6] all-reduce(a), channel_id=1, use_global_device_ids=true, to_apply=add, "
            "replica_groups=mesh['a%d'=256,'b'=256] {'b','a%d'}\n",
            i, i, i);
    fprintf(to, "}\n");
    fclose(to);
    struct reading r = read_bytes(text, length);
    assert_null(r.graph);
    assert_int_equal(r.diagnostics->items[0]->code, E907);
    assert_true(arena_used_bytes(&r.arena) < (size_t)64 << 20);
    forget(&r);
    free(text);
}

// Whatever a text is cut off at is refused, and nothing is read behind it.
static void every_beginning_is_refused(void **state) {
    char *text = module_of("c = f32[4,6] all-reduce(a), " GROUPED(
                               "mesh['x'=2] {'x'}") ", metadata={op_name=\"x\" stack_frame_id=1}\n"
                                                    "d = (f32[4,6], s32[]) tuple(c, t#0), "
                                                    "sharding={{replicated}, {replicated}}\n"
                                                    "e = f32[2] constant({1.5, -inf})",
                           2);
    size_t length = strlen(text);
    while (length > 0 && text[length - 1] != '}')
        length--;
    for (size_t n = 0; n < length; n++) {
        char *part = malloc(n + 1);
        assert_non_null(part);
        memcpy(part, text, n);
        struct reading r = read_bytes(part, n);
        assert_null(r.graph);
        assert_int_equal(r.diagnostics->n_errors, 1);
        forget(&r);
        free(part);
    }
    free(text);
}

// ---- pages --------------------------------------------------------------------------------------
// The example behind a heading of a page; NULL: there is none.
static char *example_of(const char *page, const char *heading) {
    const char *begin = strstr(page, heading);
    begin = begin ? strstr(begin, "```hlo\n") : NULL;
    const char *end = begin ? strstr(begin + 7, "```\n") : NULL;
    return end ? strndup(begin + 7, (size_t)(end - begin - 7)) : NULL;
}

static void pages_have_examples(void **state) {
    for (enum diagnostic_code code = E901; code <= E908; code++) {
        const char *page = diagnostic_page(code);
        assert_non_null(page);
        char *wrong = example_of(page, "Wrong:"), *right = example_of(page, "Right:");
        assert_non_null(wrong);
        assert_non_null(right);
        assert_refused(wrong, strlen(wrong), code, "");
        struct reading r = read_right(right);
        forget(&r);
        free(wrong);
        free(right);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(forms_of_older_and_newer_texts_are_one),
        cmocka_unit_test(root_is_what_says_so),
        cmocka_unit_test(text_before_the_partitioner_is_told),
        cmocka_unit_test(shapes_are_interned),
        cmocka_unit_test(elements_of_tuples_are_taken_once),
        cmocka_unit_test(reals_are_those_of_their_type),
        cmocka_unit_test(whole_numbers_have_their_range),
        cmocka_unit_test(constants_of_other_kinds_are_opaque),
        cmocka_unit_test(groups_are_resolved),
        cmocka_unit_test(equal_groups_are_one_pointer),
        cmocka_unit_test(groups_of_replicas),
        cmocka_unit_test(replicas_are_devices_where_there_are_no_partitions),
        cmocka_unit_test(groups_that_are_not_the_devices),
        cmocka_unit_test(asynchronous_pairs_are_the_instruction_and_a_copy),
        cmocka_unit_test(fusions_are_calls),
        cmocka_unit_test(calls_are_in_order),
        cmocka_unit_test(numbers_of_attributes),
        cmocka_unit_test(attributes_without_a_field_are_kept_as_text),
        cmocka_unit_test(what_depends_on_memory_or_its_values_is_opaque),
        cmocka_unit_test(frames_lead_to_the_users_program),
        cmocka_unit_test(tables_name_what_there_is),
        cmocka_unit_test(other_files_are_told),
        cmocka_unit_test(texts_that_cannot_be_read),
        cmocka_unit_test(shapes_follow_from_operands),
        cmocka_unit_test(needed_attributes),
        cmocka_unit_test(hostile_sizes),
        cmocka_unit_test(calls_are_bounded),
        cmocka_unit_test(short_groups_of_many_devices_are_bounded),
        cmocka_unit_test(every_beginning_is_refused),
        cmocka_unit_test(pages_have_examples),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
