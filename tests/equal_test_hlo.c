// The reader of HLO text: what it makes of each form.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tests/equal_hlo_reading.h"

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
    r = read_right(
        "HloModule m, num_partitions=2\nENTRY main { ROOT p = f32[4] parameter(0), "
        "frontend_attributes={xla.sdy.sharding=\"#sdy.sharding<@mesh, [{\\\"dp\\\"}]>\"}\n}");
    assert_false(r.graph->is_partitioned);
    forget(&r);
    r = read_right(
        "HloModule m, frontend_attributes={xla.sdy.meshes={mesh = #sdy.mesh<[\"dp\"=2]>}}, "
        "num_partitions=2\nENTRY main { ROOT p = f32[4] parameter(0) }");
    assert_false(r.graph->is_partitioned);
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
    assert_line_refused("c = f32[] constant({...})", 1, E903, "leaves out");
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
        {"mesh['x'=4,'y'=2], device_ids=([2,4]T(1,0)) {'x'}", "0,1,2,3 4,5,6,7"},
        {"mesh['x'=4,'y'=2], device_ids=([2,4]T(1,0)) {'y'}", "0,4 1,5 2,6 3,7"},
        {"mesh['x'=8], device_ids=([8]) {'x':(1)2}", "0,4 1,5 2,6 3,7"},
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
        "d = f32[4,6] all-reduce(a), replica_groups={{0}}, to_apply=add, channel_id=3\n"
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
        {"mesh['x'=2], device_ids=([4]) {'x'}", E906, "of which the mesh has 2"},
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
    assert_line_refused(
        "c = f32[4,6] all-reduce-start(a), " GROUPED(
            "{}") "\n"
                  "d = f32[4,6] all-reduce-done(c)\n e = f32[4,6] all-reduce-done(d)",
        2, E905, "not started");
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
        "e = f32[4,6] triangular-inverse(a, a), lower=true, sharding={replicated}\n"
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
    assert_string_equal(e->target, "triangular-inverse");
    assert_string_equal(e->others, "lower=true");
    assert_null(named(&r, "f")->attributes->others);
    forget(&r);
}

static void what_depends_on_memory_or_its_values_is_opaque(void **state) {
    struct reading r = read_line("c = f32[24] bitcast(a)\n d = f32[6,4]{0,1} bitcast(a)\n"
                                 "g = s32[4,6] bitcast(a)\n h = f32[24] bitcast(t#1)\n"
                                 "j = (f32[4,6]{0,1}, f32[6]{0}) custom-call(), "
                                 "custom_call_target=\"f\"\n k = f32[24] bitcast(j#0)\n"
                                 "e = f32[<=4] custom-call(), custom_call_target=\"f\"\n"
                                 "f = f32[<=4] negate(e)",
                                 1);
    assert_int_equal(named(&r, "c")->primitive, PRIM_BITCAST);
    assert_int_equal(named(&r, "d")->primitive, PRIM_OPAQUE);
    assert_string_equal(named(&r, "d")->attributes->others, "f32[6,4]{0,1}, f32[4,6]");
    assert_int_equal(named(&r, "g")->primitive, PRIM_BITCAST_CONVERT);
    assert_int_equal(named(&r, "h")->primitive, PRIM_BITCAST);
    assert_int_equal(named(&r, "k")->primitive, PRIM_OPAQUE);
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
    static const char *const second = "HloModule m\nFileNames\n2 \"a.py\"\n";
    assert_refused(second, strlen(second), E902, "entry 1 of the table");
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
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
