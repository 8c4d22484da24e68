// The reader of FX text: what it makes of each form, what it refuses, and where it says so.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "equal/fx/read.h"

struct reading {
    struct arena arena, said_in;
    struct source_files sources;
    struct diagnostics *diagnostics;
    const struct graph *graph; // NULL: refused
};

// `mesh`, `spec`: NULL: none. Without a mesh the text is of one device.
static void read_bytes(struct reading *r, const char *text, size_t length, const char *mesh,
                       const char *spec) {
    struct layout_given given;
    *r = (struct reading){.graph = NULL};
    r->diagnostics = diagnostics_new(&r->said_in, &r->sources);
    uint32_t source = source_add(&r->sources, &r->said_in, "input", text, length);
    uint32_t said = NO_SOURCE;
    if (spec)
        said = source_add(&r->sources, &r->said_in, "spec", spec, strlen(spec));
    assert_true(layout_given_read(&given, said, mesh, &r->said_in, r->diagnostics));
    r->graph = fx_read(source, mesh ? &given : NULL, &r->arena, r->diagnostics);
    assert_int_equal(r->diagnostics->n_errors, r->graph ? 0 : 1);
}

static void forget(struct reading *r) {
    arena_free(&r->arena);
    arena_free(&r->said_in);
}

#define HEAD "class M(torch.nn.Module):\n    def forward(self, "
#define GIVEN                                                                                      \
    HEAD "x: \"f32[4, 6]\", y: \"f32[6]\", i: \"i64[3]\", p: \"b8[4, 6]\", h: \"bf16[4, 6]\", "    \
         "z: \"f32[]\", d):\n"

static char *text_of(const char *lines) {
    char *text = NULL;
    size_t length;
    FILE *to = open_memstream(&text, &length);
    assert_non_null(to);
    fprintf(to, GIVEN "        %s\n        return (a,)\n", lines);
    fclose(to);
    return text;
}

static void read_lines(struct reading *r, const char *lines, const char *mesh, const char *spec) {
    char *text = text_of(lines);
    read_bytes(r, text, strlen(text), mesh, spec);
    if (!r->graph)
        fail_msg("%s\nrefused: %s", lines, r->diagnostics->items[0]->message);
    free(text); // what is looked at lies in the arena
}

static const struct computation *entry_of(const struct reading *r) {
    return &r->graph->computations[r->graph->entry];
}

// The last instruction of the name.
static const struct instruction *named(const struct reading *r, const char *name) {
    const struct computation *entry = entry_of(r);
    for (uint32_t i = entry->n; i-- > 0;)
        if (strcmp(entry->instructions[i].name, name) == 0)
            return &entry->instructions[i];
    fail_msg("no %s", name);
    return NULL;
}

static void assert_shape(const struct reading *r, const char *name, const char *shape) {
    struct arena arena = {0};
    assert_string_equal(shape_text(named(r, name)->shape, &arena), shape);
    arena_free(&arena);
}

// ---- forms --------------------------------------------------------------------------------------
static void what_is_given_has_three_forms(void **state) {
    static const char *const texts[] = {
        HEAD "x: \"f32[4]\", mesh, y: \"f32[4]\"):\n  add: \"f32[4]\" = "
             "torch.ops.aten.add.Tensor(x, y);  x = y = None\n  return (add,)\n",
        "class M(torch.nn.Module):\n  def forward(\n    self,\n    x: \"f32[4][1]cpu\",\n    "
        "mesh,\n    y: \"f32[4][1]cuda:0\",\n  ):\n"
        "    add: \"f32[4][1]cpu\" = torch.ops.aten.add.Tensor(x, y)\n    return [add]",
        HEAD "params, y):\n  x: \"f32[4]\"; y_1: \"f32[4]\";\n\n"
             "  x, mesh, y_1, = fx_pytree.tree_flatten_spec([params, y], self._in_spec)\n"
             "  add: \"f32[4]\" = torch.ops.aten.add.Tensor(x, y_1);  x = y_1 = None\n"
             "  return pytree.tree_unflatten([add, None, mesh], self._out_spec)\n",
        "ExportedProgram:\n  " HEAD "x: \"f32[4]\", y: \"f32[4]\"):\n    # a comment\n"
        "    add = torch.ops.aten.add.Tensor(x, other = y, alpha = 1)\n    return add\n\n"
        "Graph signature:\n    # inputs\n",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct reading r;
        read_bytes(&r, texts[i], strlen(texts[i]), NULL, NULL);
        if (!r.graph)
            fail_msg("%s\nrefused: %s", texts[i], r.diagnostics->items[0]->message);
        assert_int_equal(entry_of(&r)->n_parameters, 2);
        assert_int_equal(entry_of(&r)->n, 4);
        assert_int_equal(r.graph->n_devices, 1);
        assert_false(r.graph->has_numbered_parameters);
        assert_int_equal(named(&r, "add")->primitive, PRIM_ADD);
        assert_int_equal(entry_of(&r)->instructions[entry_of(&r)->root].shape->n_members, 1);
        forget(&r);
    }
}

static void comments_say_where_lines_come_from(void **state) {
    struct reading r;
    struct arena arena = {0};
    read_lines(&r,
               "# File: /home/me/a b:c.py:12 in forward, code: x // y # no\n"
               "b = torch.ops.aten.neg.default(x)\n"
               "# Backward of forward node: File: /p/site-packages/torch/x.py:3 in f, code: g\n"
               "e = torch.ops.aten.neg.default(b)\n"
               "# recompute: MUST_SAVE File: c.py:7\n"
               "g = torch.ops.aten.neg.default(e)\n"
               "# No stacktrace found for following nodes\n"
               "a = torch.ops.aten.neg.default(g)",
               NULL, NULL);
    assert_string_equal(graph_place(r.graph, named(&r, "b"), &arena), "a b:c.py:12 forward");
    assert_string_equal(graph_place(r.graph, named(&r, "e"), &arena), "x.py:3 f");
    assert_string_equal(graph_place(r.graph, named(&r, "g"), &arena), "c.py:7");
    assert_null(graph_place(r.graph, named(&r, "a"), &arena));
    arena_free(&arena);
    forget(&r);
}

static void shapes_follow_from_ops(void **state) {
    static const char *const cases[][2] = {
        {"a = torch.ops.aten.add.Tensor(x, y)", "f32[4,6]"},
        {"a = torch.ops.aten.add.Tensor(x, h)", "f32[4,6]"},
        {"a = torch.ops.aten.mul.Tensor(i, 2)", "s64[3]"},
        {"a = torch.ops.aten.mul.Tensor(i, 2.5)", "f32[3]"},
        {"a = torch.ops.aten.mul.Tensor(h, z)", "bf16[4,6]"},
        {"a = torch.ops.aten.div.Tensor(i, 2)", "f32[3]"},
        {"a = torch.ops.aten.gt.Scalar(x, 0)", "pred[4,6]"},
        {"a = torch.ops.aten.sum.dim_IntList(p, [-1], True)", "s64[4,1]"},
        {"a = torch.ops.aten.sum.default(x)", "f32[]"},
        {"a = torch.ops.aten.view.default(x, [2, -1])", "f32[2,12]"},
        {"a = torch.ops.aten.slice.Tensor(x, 1, -4, 9223372036854775807, 2)", "f32[4,2]"},
        {"a = torch.ops.aten.index.Tensor(x, [None, i])", "f32[4,3]"},
        {"s = torch.ops.aten.split.Tensor(x, 4, 1);  x = None\na = s[1];  s = None", "f32[4,2]"},
        {"s = torch.ops.aten.unbind.int(x)\na = s[3]", "f32[6]"},
        {"a = torch.ops.aten._to_copy.default(x, dtype = torch.bfloat16, device = "
         "device(type='cpu'))",
         "bf16[4,6]"},
        {"a = torch.ops.aten.full.default([2, 3], -inf, dtype = torch.float32, pin_memory = "
         "False)",
         "f32[2,3]"},
        {"a: \"bf16[4, 6]\" = torch.ops.aten.alias.default(x)", "bf16[4,6]"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct reading r;
        read_lines(&r, cases[i][0], NULL, NULL);
        const struct computation *entry = entry_of(&r);
        struct arena arena = {0};
        const struct array_shape *shape = entry->instructions[entry->root].shape->members[0];
        assert_string_equal(shape_text(shape, &arena), cases[i][1]);
        arena_free(&arena);
        forget(&r);
    }
}

static void what_has_no_row_is_opaque(void **state) {
    struct reading r;
    read_lines(&r,
               "t = torch.ops.aten.topk.default(x, 2)\nb: \"f32[4, 2]\" = t[0]\n"
               "e: \"f32[4, 6]\" = torch.ops.aten.erfinv.default(x)\n"
               "g: \"f32[4, 6]\" = torch.ops.aten.div.Tensor_mode(x, y, rounding_mode = 'floor')\n"
               "a = torch.ops.aten.add.Tensor(e, g)",
               NULL, NULL);
    assert_int_equal(named(&r, "b")->primitive, PRIM_OPAQUE);
    assert_string_equal(named(&r, "b")->attributes->target, "torch.ops.aten.topk.default");
    assert_shape(&r, "b", "f32[4,2]");
    assert_int_equal(named(&r, "e")->n_operands, 1);
    assert_int_equal(named(&r, "g")->primitive, PRIM_OPAQUE);
    forget(&r);
}

static void numbers_are_no_names(void **state) {
    static const char *const numbered[] = {"primals_3", "tangents_1", "arg0_1", "arg12_1"};
    static const char *const names[] = {"primals_w", "p_arg0_1", "argument", "x_1", "arg_1"};
    for (size_t i = 0; i < 9; i++) {
        struct reading r;
        const char *name = i < 4 ? numbered[i] : names[i - 4];
        char *text = NULL;
        size_t length;
        FILE *to = open_memstream(&text, &length);
        fprintf(to, HEAD "%s: \"f32[4]\"):\n return (%s,)", name, name);
        fclose(to);
        read_bytes(&r, text, length, NULL, NULL);
        assert_non_null(r.graph);
        assert_int_equal(r.graph->has_numbered_parameters, i < 4);
        forget(&r);
        free(text);
    }
}

// ---- devices ------------------------------------------------------------------------------------
#define REDUCE(group) "a = torch.ops._c10d_functional.all_reduce.default(x, 'sum', '" group "')"
#define GATHER(n, group)                                                                           \
    "b = torch.ops._c10d_functional.all_gather_into_tensor.default(x, " n ", '" group "')\n"

static void groups_are_found(void **state) {
    static const struct {
        const char *lines, *mesh, *spec;
        uint32_t size;
        uint32_t devices[6];
    } cases[] = {
        {REDUCE("0"), "dp=6", NULL, 6, {0, 1, 2, 3, 4, 5}},
        {REDUCE("tp"), "dp=2,tp=3", NULL, 3, {0, 1, 2, 3, 4, 5}},
        {REDUCE("dp"), "dp=2,tp=3", NULL, 2, {0, 3, 1, 4, 2, 5}},
        {GATHER("2", "5") REDUCE("5"), "dp=2,tp=3", NULL, 2, {0, 3, 1, 4, 2, 5}},
        {GATHER("6", "5") REDUCE("5"), "dp=2,tp=3", NULL, 6, {0, 1, 2, 3, 4, 5}},
        {REDUCE("5"), "dp=2,tp=3", "group 5 : tp\n", 3, {0, 1, 2, 3, 4, 5}},
        {REDUCE("5"), "dp=2,tp=3", "group 5 : tp*dp", 6, {0, 3, 1, 4, 2, 5}},
        {REDUCE("5"), "dp=2,tp=3", "group 5 : {0,5} {1,4} {2,3}", 2, {0, 5, 1, 4, 2, 3}},
        {REDUCE("5"), "dp=2,tp=3", "{\"groups\": {\"5\": [\"tp\"]}}", 3, {0, 1, 2, 3, 4, 5}},
        {REDUCE("5"),
         "dp=2,tp=3",
         "{\"groups\": {\"5\": [[5, 4, 3], [2, 1, 0]]}}",
         3,
         {5, 4, 3, 2, 1, 0}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct reading r;
        read_lines(&r, cases[i].lines, cases[i].mesh, cases[i].spec);
        const struct device_groups *groups = named(&r, "a")->attributes->groups;
        assert_int_equal(r.graph->n_devices, 6);
        assert_true(r.graph->is_partitioned);
        assert_int_equal(groups->size, cases[i].size);
        assert_memory_equal(groups->devices, cases[i].devices, sizeof cases[i].devices);
        forget(&r);
    }
}

static void equal_groups_are_one(void **state) {
    struct reading r;
    read_lines(&r,
               REDUCE("5") "\nb = torch.ops._c10d_functional.all_reduce.default(x, 'max', 'tp')",
               "dp=2,tp=3", "group 5 : tp");
    assert_ptr_equal(named(&r, "a")->attributes->groups, named(&r, "b")->attributes->groups);
    forget(&r);
}

static void means_divide_by_how_many_meet(void **state) {
    struct reading r;
    read_lines(&r, "a = torch.ops._c10d_functional.all_reduce.default(x, 'avg', 'dp')", "dp=2,tp=3",
               NULL);
    const struct instruction *mean = named(&r, "a");
    assert_int_equal(mean->primitive, PRIM_DIVIDE);
    const struct instruction *spread = graph_operand(entry_of(&r), mean, 1);
    const struct instruction *n =
        graph_operand(entry_of(&r), graph_operand(entry_of(&r), spread, 0), 0);
    assert_int_equal(n->primitive, PRIM_CONSTANT);
    assert_true(n->attributes->literal->reals[0] == 2);
    forget(&r);
}

#define RANK(number, part, name, group)                                                            \
    "class M(torch.nn.Module):\n    def forward(self, x: \"f32[4, 6]\"):\n"                        \
    "        # File: rank" number ".py:3 in forward, code: f(x)\n"                                 \
    "        sub: \"f32[4, 6]\" = torch.ops.aten.sub.Tensor(x, " number ")\n"                      \
    "        split = torch.ops.aten.split.Tensor(sub, 2)\n"                                        \
    "        " name ": \"f32[2, 6]\" = split[" part "];  split = None\n"                           \
    "        a = torch.ops._c10d_functional.all_reduce.default(" name ", 'sum', '" group "')\n"    \
    "        return (a,)\n"

static void ranks_have_numbers_of_their_own(void **state) {
    static const char text[] = RANK("0", "0", "getitem", "0") RANK("6", "1", "getitem_1", "7");
    static const char by_table[] =
        RANK("5", "1", "b", "0") RANK("3", "1", "b", "0") RANK("4", "0", "b", "0");
    struct reading r;
    read_bytes(&r, text, sizeof text - 1, "tp=2", NULL);
    if (!r.graph)
        fail_msg("refused: %s", r.diagnostics->items[0]->message);
    const struct instruction *part = named(&r, "getitem");
    assert_int_equal(part->primitive, PRIM_DYNAMIC_SLICE);
    const struct instruction *start = graph_operand(entry_of(&r), part, 1);
    assert_int_equal(start->primitive, PRIM_MULTIPLY);
    assert_int_equal(graph_operand(entry_of(&r), start, 0)->primitive, PRIM_PARTITION_ID);
    forget(&r);
    read_bytes(&r, by_table, sizeof by_table - 1, "tp=3", NULL);
    if (!r.graph)
        fail_msg("refused: %s", r.diagnostics->items[0]->message);
    forget(&r);
}

// ---- what is refused ----------------------------------------------------------------------------
static void assert_refused(const char *text, size_t length, const char *mesh, const char *spec,
                           enum diagnostic_code code, const char *message) {
    struct reading r;
    read_bytes(&r, text, length, mesh, spec);
    if (r.graph)
        fail_msg("%.300s\nwas read, and not refused: %s", text, message);
    const struct diagnostic *d = r.diagnostics->items[0];
    if (d->code != code || !strstr(d->message, message))
        fail_msg("%.300s\n%s: %s, and not %s: %s", text, diagnostic_rows[d->code].text, d->message,
                 diagnostic_rows[code].text, message);
    forget(&r);
}

static void texts_that_cannot_be_read(void **state) {
    static const struct {
        const char *text;
        enum diagnostic_code code;
        const char *message;
    } cases[] = {
        {"", E902, "expected `class"},
        {"class", E902, "`(torch.nn.Module)`"},
        {"class M(torch.nn.Module", E902, "bracket"},
        {"class M(torch.nn.Module):\n  def backward(self):", E902, "`def forward(self, ...):`"},
        {HEAD "x: \"f32[4]\"):\n", E902, "ends before the graph returns"},
        {HEAD "x: \"f32[4]\"):\n  # only a comment", E902, "ends before the graph returns"},
        {HEAD "x: \"f32[4]\"):\n  return (None,)", E902, "no array is returned"},
        {HEAD "x: \"f32[4]\", x: \"f32[4]\"):\n  return (x,)", E902, "defined twice"},
        {HEAD "x, x):\n  return (x,)", E902, "given twice"},
        {HEAD "x: \"f33[4]\"):\n  return (x,)", E902, "is no shape"},
        {HEAD "x: \"f32[4\"):\n  return (x,)", E902, "is no shape"},
        {HEAD "x: \"f32\"):\n  return (x,)", E902, "is no shape"},
        {HEAD "x: \"f32[s0, 4]\"):\n  return (x,)", E908, "known only when it runs"},
        {HEAD "x: \"Sym(s0)\"):\n  return (x,)", E908, "known only when it runs"},
        {HEAD "x: \"f32[4611686018427387904]\"):\n  return (x,)", E908, "known only"},
        {HEAD "x: \"f32[461168601842738790, 9]\"):\n  return (x,)", E907, "can be counted"},
        {HEAD "x: \"f32[1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1]\"):\n", E907,
         "more than 16 dimensions"},
        {HEAD "x: \"f32[4]):\n  return (x,)", E902, "quote"},
        {HEAD "x):\n  x_1: \"f32[4]\";\n  x_1, = other(x)\n", E902, "fx_pytree.tree_flatten_spec"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_refused(cases[i].text, strlen(cases[i].text), NULL, NULL, cases[i].code,
                       cases[i].message);
    static const char with_nul[] = HEAD "x: \"f32[4]\"):\n  a\0b = x";
    assert_refused(with_nul, sizeof with_nul - 1, NULL, NULL, E902, "NUL");
}

static void lines_that_cannot_be_read(void **state) {
    static const struct {
        const char *line;
        enum diagnostic_code code;
        const char *message;
    } cases[] = {
        {"a = torch.ops.aten.neg.default(w)", E904, "`w` is not defined"},
        {"a = torch.ops.aten.neg.default(a)", E904, "`a` is not defined"},
        {"x = torch.ops.aten.neg.default(x)", E902, "defined twice"},
        {"a = w[0]", E904, "`w` is not defined"},
        {"a = x[0]", E905, "no such part"},
        {"a = x + y", E902, "is no call of an op"},
        {"a = self._tensor_constant0", E903, "does not have the numbers"},
        {"a = torch.ops.aten.add_.Tensor(x, y)", E908, "writes into"},
        {"a = torch.ops.aten.copy_.default(x, x)", E908, "writes into"},
        {"a = torch.ops.aten.neg.default()", E905, "operand `self` lacks"},
        {"a = torch.ops.aten.neg.default(x, y)", E905, "is given 2 operands"},
        {"a = torch.ops.aten.neg.default(x, out = y)", E905, "is given 2 operands"},
        {"a = torch.ops.aten.neg.default(d)", E905, "what is no array"},
        {"a = torch.ops.aten.neg.default(3)", E905, "what is no array"},
        {"a = torch.ops.aten.mm.default(x, y)", E905, "a factor of 1 dimensions"},
        {"a = torch.ops.aten.mm.default(x, x)", E905, "6 elements are summed with 4"},
        {"a = torch.ops.aten.add.Tensor(x, i)", E905, "3 elements meet 6"},
        {"a = torch.ops.aten.view.default(x, [5, -1])", E905, "24 elements do not become"},
        {"a = torch.ops.aten.view.default(x, [-1, -1])", E905, "24 elements do not become"},
        {"a = torch.ops.aten.view.default(x, ['b'])", E905, "what are no numbers"},
        {"a = torch.ops.aten.permute.default(x, [0, 0])", E905, "named twice"},
        {"a = torch.ops.aten.permute.default(x, [0])", E905, "an order of 2 dimensions"},
        {"a = torch.ops.aten.sum.dim_IntList(x, [2])", E905, "no dimension 2 of 2"},
        {"a = torch.ops.aten.expand.default(x, [4, 7])", E905, "6 elements do not become 7"},
        {"a = torch.ops.aten.cat.default([])", E905, "a list of arrays"},
        {"a = torch.ops.aten.cat.default([x, y])", E905, "does not fit beside the first"},
        {"a: \"f32[6, 4]\" = torch.ops.aten.neg.default(x)", E905,
         "the result is f32[4,6], and the text says f32[6,4]"},
        {"a: \"i64[4, 6]\" = torch.ops.aten.neg.default(x)", E905, "the text says s64[4,6]"},
        {"s = torch.ops.aten.split.Tensor(x, 2)\na = s[2]", E905, "no part 2 of 2"},
        {"s = torch.ops.aten.split.Tensor(x, 2)\na = torch.ops.aten.neg.default(s)", E905,
         "what is no array"},
        {"a = torch.ops.aten.erfinv.default(x)", E905, "returned, and is no array"},
        {"s = torch.ops.aten.erfinv.default(x)\na = torch.ops.aten.neg.default(s)", E905,
         "has no shape"},
        {"a = torch.ops.aten.full.default([-1], 0)", E905, "negative"},
        {"a = torch.ops.aten.arange.default(-3)", E905, "it makes no numbers"},
        {"a = torch.ops.aten.neg.default(x", E902, "expected `,`"},
        {"a = torch.ops.aten.neg.default(x));  x = None", E902, "expected"},
        {REDUCE("0") "\nb = torch.ops._c10d_functional.reduce_scatter_tensor.default(y, 'sum', 4, "
                     "'0')",
         E905, "6 rows for 4 devices"},
        {GATHER("2", "0") REDUCE("0"), E906, "2 devices meet in group `0`, which has 1"},
        {GATHER("2", "0") "a = torch.ops._c10d_functional.all_gather_into_tensor.default(x, 3, "
                          "'0')",
         E906, "group `0` has 3 devices here, 2 before"},
        {GATHER("0", "0") "a = torch.ops.aten.neg.default(x)", E905, "a group of 0 devices"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *text = text_of(cases[i].line);
        assert_refused(text, strlen(text), NULL, NULL, cases[i].code, cases[i].message);
        free(text);
    }
}

static void groups_that_nothing_says(void **state) {
    static const struct {
        const char *lines, *mesh, *spec;
        enum diagnostic_code code;
        const char *message;
    } cases[] = {
        {REDUCE("5"), "dp=2,tp=3", NULL, E909, "nothing says which devices"},
        {GATHER("2", "5") REDUCE("5"), "dp=2,tp=2", NULL, E909, "nothing says which devices"},
        {GATHER("4", "5") REDUCE("5"), "pp=2,dp=2,tp=4", NULL, E909, "nothing says which devices"},
        {GATHER("4", "5") REDUCE("5"), "dp=2,tp=3", NULL, E909, "nothing says which devices"},
        {GATHER("4", "tp") REDUCE("5"), "tp=6", NULL, E906, "4 devices meet in group `tp`"},
        {REDUCE("5"), "dp=2,tp=3", "group 5 : pp", E909, "`pp` is no axis"},
        {REDUCE("5"), "dp=2,tp=3", "group 5 : tp*tp", E909, "named twice"},
        {REDUCE("5"), "dp=2,tp=3", "group 5 : {0,1} {2,3}", E909, "it lists 4 devices of 6"},
        {REDUCE("5"), "dp=2,tp=3", "group 5 : {0,1,2} {2,3,4}", E909, "device 2 is listed twice"},
        {REDUCE("5"), "dp=2,tp=3", "group 5 : {0,1,2} {3,4,6}", E909, "device 6"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *text = text_of(cases[i].lines);
        assert_refused(text, strlen(text), cases[i].mesh, cases[i].spec, cases[i].code,
                       cases[i].message);
        free(text);
    }
    assert_refused(GIVEN, strlen(GIVEN), "dp=65537", NULL, E907, "1 to 65536 devices");
}

static void ranks_that_differ_otherwise(void **state) {
    static const struct {
        const char *text, *mesh;
        enum diagnostic_code code;
        const char *message;
    } cases[] = {
        {RANK("0", "0", "b", "0") RANK("0", "0", "b", "0"), "tp=3", E908, "there are 2 texts"},
        {RANK("0", "0", "b", "0") RANK("0", "0", "b", "0"), NULL, E908, "there are 2 texts"},
        {RANK("0", "0", "b", "0") RANK("0", "0.5", "b", "0"), "tp=2", E908, "rank 1 differs here"},
        {RANK("0", "0", "b", "0") RANK("0", "2", "b", "0"), "tp=2", E905, "no part 2 of 2"},
        {RANK("0", "0", "b", "0") RANK("0", "0", "b", "0") "more", "tp=2", E908, "rank 1 differs"},
        {HEAD "x: \"f32[4]\"):\n  return (x,)\n" HEAD "x: \"f32[5]\"):\n  return (x,)\n", "tp=2",
         E908, "each rank has its own number"},
        {HEAD "x: \"f32[4]\"):\n  a = torch.ops.aten.sum.dim_IntList(x, [0])\n  return (a,)\n" HEAD
              "x: \"f32[4]\"):\n  a = torch.ops.aten.sum.dim_IntList(x, [1])\n  return (a,)\n",
         "tp=2", E905, "a list of what are no numbers"},
        {HEAD "x: \"f32[4]\"):\n  a = torch.ops.aten.mul.Tensor(x, x)\n  return (a,)\n" HEAD
              "x: \"f32[4]\"):\n  a = torch.ops.aten.add.Tensor(x, x)\n  return (a,)\n",
         "tp=2", E908, "rank 1 differs here"},
        {HEAD "x: \"f32[4]\", y: \"f32[4]\"):\n  return (x,)\n" HEAD
              "x: \"f32[4]\", y: \"f32[4]\"):\n  return (y,)\n",
         "tp=2", E908, "rank 1 differs here"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_refused(cases[i].text, strlen(cases[i].text), cases[i].mesh, NULL, cases[i].code,
                       cases[i].message);
}

static void lists_are_bounded(void **state) {
    char *text = NULL;
    size_t length;
    FILE *to = open_memstream(&text, &length);
    fprintf(to, GIVEN "  a = torch.ops.aten.cat.default(");
    for (int i = 0; i < 100000; i++)
        fputc('[', to);
    fclose(to);
    assert_refused(text, length, NULL, NULL, E907, "nested more than");
    free(text);
}

// A part of many is made when it is asked for.
static void parts_take_no_memory(void **state) {
    static const char text[] =
        HEAD "x: \"f32[1000000000]\"):\n  s = torch.ops.aten.split.Tensor(x, 1)\n"
             "  t = torch.ops.aten.unbind.int(x)\n  a = s[999999999]\n  return (a,)\n";
    struct reading r;
    read_bytes(&r, text, sizeof text - 1, NULL, NULL);
    assert_non_null(r.graph);
    assert_true(arena_used_bytes(&r.arena) < 1 << 20);
    forget(&r);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_given_has_three_forms),
        cmocka_unit_test(comments_say_where_lines_come_from),
        cmocka_unit_test(shapes_follow_from_ops),
        cmocka_unit_test(what_has_no_row_is_opaque),
        cmocka_unit_test(numbers_are_no_names),
        cmocka_unit_test(groups_are_found),
        cmocka_unit_test(equal_groups_are_one),
        cmocka_unit_test(means_divide_by_how_many_meet),
        cmocka_unit_test(texts_that_cannot_be_read),
        cmocka_unit_test(lines_that_cannot_be_read),
        cmocka_unit_test(groups_that_nothing_says),
        cmocka_unit_test(ranks_have_numbers_of_their_own),
        cmocka_unit_test(ranks_that_differ_otherwise),
        cmocka_unit_test(lists_are_bounded),
        cmocka_unit_test(parts_take_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
