// Layouts of two programs: each source of them, how parameters are matched, what is refused; assumptions.
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "equal/hlo/read.h"
#include "equal/layout/assumptions.h"
#include "equal_layout_program.h"

// What is given; NULL: nothing.
struct given {
    const char *one, *many, *spec, *mesh;
};

static struct given given_of(const char *const *texts) {
    return (struct given){texts[0], texts[1], texts[2], texts[3]};
}

// The texts in their order, as many as there are.
#define GIVEN(...) given_of((const char *const[4]){__VA_ARGS__})

struct fixture {
    struct arena arena;
    struct source_files sources;
    struct diagnostics *diagnostics;
    const struct pairing *pairing;
};

static void pair(struct fixture *f, struct given given) {
    *f = (struct fixture){.pairing = NULL};
    f->diagnostics = diagnostics_new(&f->arena, &f->sources);
    uint32_t spec = given.spec
                        ? source_add(&f->sources, &f->arena, "spec", given.spec, strlen(given.spec))
                        : NO_SOURCE;
    struct layout_given said;
    struct pairing_question question = {
        .one = layout_program("one", given.one, &f->arena, f->diagnostics),
        .many = layout_program("many", given.many, &f->arena, f->diagnostics),
        .given = &said};
    if (layout_given_read(&said, spec, given.mesh, &f->arena, f->diagnostics))
        f->pairing = pair_programs(&question, &f->arena, f->diagnostics);
}

static void fail_with_diagnostics(const struct fixture *f) {
    diagnostics_print(f->diagnostics, stderr, false);
    fail_msg("the programs were not paired");
}

static void expect_text(const struct fixture *f, const char *expected) {
    char *text;
    size_t length;
    FILE *out = open_memstream(&text, &length);
    if (!f->pairing)
        fail_with_diagnostics(f);
    assert_int_equal(f->diagnostics->n_errors, 0);
    pairing_write_spec(f->pairing, out);
    fclose(out);
    assert_string_equal(text, expected);
    free(text);
}

// The pairing, as a spec; which, given as one, makes the same pairing.
static void expect(struct given given, enum matched_by matched_by, enum laid_out_by laid_out_by,
                   const char *expected) {
    struct fixture f;
    pair(&f, given);
    expect_text(&f, expected);
    assert_int_equal(f.pairing->matched_by, matched_by);
    assert_int_equal(f.pairing->laid_out_by, laid_out_by);
    arena_free(&f.arena);
    pair(&f, GIVEN(given.one, given.many, expected, NULL));
    expect_text(&f, expected);
    assert_int_equal(f.pairing->laid_out_by, LAID_OUT_BY_SPEC);
    arena_free(&f.arena);
}

// The first diagnostic: its code, what stands at its place, and words of its message and of its help.
static void expect_diagnostic(const struct fixture *f, enum diagnostic_code code, const char *place,
                              const char *message, const char *help) {
    assert_true(f->diagnostics->n_items > 0);
    const struct diagnostic *d = f->diagnostics->items[0];
    assert_string_equal(diagnostic_rows[d->code].text, diagnostic_rows[code].text);
    assert_non_null(strstr(d->message, message));
    const char *at = f->sources.items[d->span.source].text + d->span.begin;
    if (strncmp(at, place, strlen(place)) != 0)
        fail_msg("it stands at: %s", at);
    if (help) {
        assert_non_null(d->help);
        assert_non_null(strstr(d->help, help));
    }
}

static void expect_refused(struct given given, enum diagnostic_code code, const char *place,
                           const char *message, const char *help) {
    struct fixture f;
    pair(&f, given);
    if (f.pairing)
        fail_msg("these were paired: %s", given.many);
    expect_diagnostic(&f, code, place, message, help);
    arena_free(&f.arena);
}

#define ONE_LAYER                                                                                  \
    "parameter a[0]['w1'] f32[28,40]\nparameter a[0]['w2'] f32[40,28]\n"                           \
    "parameter a[1] f32[4,16,28]\nresult f32[4,16,28]\n"
#define MANY_LAYER                                                                                 \
    "devices 2\npartitioned\naxes tp=2\nparameter a[0]['w1'] f32[28,20]\n"                         \
    "parameter a[0]['w2'] f32[20,28]\nparameter a[1] f32[4,16,28]\nresult f32[4,16,28]\n"
#define SPEC_LAYER                                                                                 \
    "mesh tp=2\nparameter a[0]['w1'] [28,40] : -, tp\nparameter a[0]['w2'] [40,28] : tp, -\n"      \
    "parameter a[1] [4,16,28] : -, -, -\nresult 0 [4,16,28] : -, -, -\n"

// ---- where layouts come from ------------------------------------------------------------------

static void test_from_shapes(void **state) {
    (void)state;
    expect(GIVEN(ONE_LAYER, MANY_LAYER), MATCHED_BY_NAME, LAID_OUT_BY_SHAPE, SPEC_LAYER);
    // Axes of different sizes, one of them a product, are told apart by the quotients.
    expect(GIVEN("parameter x f32[12,6,7]\nresult f32[]\n",
                 "devices 6\naxes dp=2 tp=3\nparameter x f32[4,3,7]\nresult f32[]\n"),
           MATCHED_BY_NAME, LAID_OUT_BY_SHAPE,
           "mesh dp=2,tp=3\nparameter x [12,6,7] : tp, dp, -\nresult 0 [] :\n");
    expect(GIVEN("parameter x f32[12,6]\nresult f32[]\n",
                 "devices 6\naxes dp=2 tp=3\nparameter x f32[2,6]\nresult f32[]\n"),
           MATCHED_BY_NAME, LAID_OUT_BY_SHAPE,
           "mesh dp=2,tp=3\nparameter x [12,6] : dp*tp, -\nresult 0 [] :\n");
    // An axis of one device cuts nothing, and leaves nothing open.
    expect(GIVEN("parameter x f32[12]\nresult f32[]\n",
                 "devices 2\naxes dp=1 tp=2\nparameter x f32[6]\nresult f32[]\n"),
           MATCHED_BY_NAME, LAID_OUT_BY_SHAPE,
           "mesh dp=1,tp=2\nparameter x [12] : tp\nresult 0 [] :\n");
}

static void test_from_table(void **state) {
    (void)state;
    expect(GIVEN("parameter x f32[8,8]\nparameter a.wqkv f32[48]\nresult f32[8]\n",
                 "devices 4\nparameter x f32[4,4]\nparameter a.wqkv f32[24]\n"
                 "result f32[2]\n",
                 "# two axes of one size\nmesh dp=2, tp=2\n\nparameter x [8,8] : tp, dp\n"
                 "parameter wqkv [48] : 32/tp 8/tp 8/tp\nresult 0 [8] : tp*dp\n"),
           MATCHED_BY_NAME, LAID_OUT_BY_SPEC,
           "mesh dp=2,tp=2\nparameter x [8,8] : tp, dp\n"
           "parameter a.wqkv [48] : 32/tp 8/tp 8/tp\nresult 0 [8] : tp*dp\n");
    // What a spec leaves out is found otherwise; the end of a path may be said of several, the end of a word of none.
    expect(GIVEN("parameter l.0.w f32[8]\nparameter l.1.w f32[8]\nparameter raw f32[6]\n"
                 "result f32[8]\n",
                 "devices 4\nparameter l.0.w f32[4]\nparameter l.1.w f32[4]\n"
                 "parameter raw f32[6]\nresult f32[8]\n",
                 "mesh dp=2,tp=2\nparameter w [8] : tp\n"),
           MATCHED_BY_NAME, LAID_OUT_BY_SHAPE,
           "mesh dp=2,tp=2\nparameter l.0.w [8] : tp\nparameter l.1.w [8] : tp\n"
           "parameter raw [6] : -\nresult 0 [8] : -\n");
    // What a spec says goes before a sharding, even one that would be refused.
    expect(GIVEN("parameter x f32[8]\nresult f32[]\n",
                 "devices 4\naxes dp=2 tp=2\nparameter x f32[4] {maximal device=0}\nresult f32[]\n",
                 "parameter x [8] : tp\n"),
           MATCHED_BY_NAME, LAID_OUT_BY_SHAPE,
           "mesh dp=2,tp=2\nparameter x [8] : tp\nresult 0 [] :\n");
}

// What tells people of the programs is passed over, whatever it is.
#define JSON_TOLD                                                                                  \
    "\"bug\": null, \"check_vma\": true, \"dist\": \"\", \"expected\": 1, \"hand_written\": [],"   \
    " \"jax\": {}, \"numeric\": {\"a\": [1.5]}, \"ops\": 0, \"single\": \"\", \"stage\": \"\","    \
    " \"written\": \"\", \"wrong\": {\"mesh\": 1}, \"notes\": [[]], "
#define JSON_LAYER                                                                                 \
    "{\"title\": \"{ [\\\"\", " JSON_TOLD "\"mesh\": {\"dp\": 2, \"tp\": 2}, \"parameters\": [\n"  \
    "{\"name\": \"['x']\", \"dtype\": \"int32\", \"shape\": [8, 8], \"notes\": 1,"                 \
    " \"sharding\": [[\"tp\"], [\"dp\"]]},\n"                                                      \
    "{\"name\": \"['w']\", \"dtype\": \"f32\", \"shape\": [48], \"sharding\": [["                  \
    "{\"size\": 32, \"axes\": [\"tp\"], \"notes\": null}, {\"size\": 16, \"axes\": []}]]}],\n"     \
    "\"results\": [{\"name\": \"loss\", \"shape\": [8], \"sharding\": [[\"tp\", \"dp\"]]}]}\n"
#define ONE_OF_JSON "parameter a['x'] s32[8,8]\nparameter a['w'] f32[48]\nresult f32[8]\n"
#define MANY_OF_JSON                                                                               \
    "devices 4\nparameter a['x'] s32[4,4]\nparameter a['w'] f32[32]\nresult f32[2]\n"

static void test_from_json(void **state) {
    (void)state;
    expect(GIVEN(ONE_OF_JSON, MANY_OF_JSON, JSON_LAYER), MATCHED_BY_NAME, LAID_OUT_BY_SPEC,
           "mesh dp=2,tp=2\nparameter a['x'] [8,8] : tp, dp\n"
           "parameter a['w'] [48] : 32/tp 16/-\nresult 0 [8] : tp*dp\n");
    struct fixture f;
    pair(&f, GIVEN(ONE_OF_JSON, MANY_OF_JSON, JSON_LAYER));
    assert_string_equal(f.pairing->results[0].name, "loss");
    arena_free(&f.arena);
    // What editors of other systems write in front is no part of it, in JSON and in a table.
    expect(GIVEN(ONE_OF_JSON, MANY_OF_JSON, "\xEF\xBB\xBF" JSON_LAYER), MATCHED_BY_NAME,
           LAID_OUT_BY_SPEC,
           "mesh dp=2,tp=2\nparameter a['x'] [8,8] : tp, dp\n"
           "parameter a['w'] [48] : 32/tp 16/-\nresult 0 [8] : tp*dp\n");
    expect(GIVEN(ONE_LAYER, MANY_LAYER, "\xEF\xBB\xBF" SPEC_LAYER), MATCHED_BY_NAME,
           LAID_OUT_BY_SPEC, SPEC_LAYER);
}

// A parameter [8,8] of which a device has `part`, under a sharding that stands in one of the programs.
static void expect_sharding(const char *sharding, uint32_t n_devices, const char *part,
                            const char *mesh, const char *dimensions) {
    char one[256], many[256], expected[256], many_sharded[512], one_sharded[512];
    snprintf(one, sizeof one, "parameter x f32[8,8]\nresult f32[]\n");
    snprintf(many, sizeof many, "devices %u\nparameter x f32%s\nresult f32[]\n", n_devices, part);
    snprintf(one_sharded, sizeof one_sharded, "devices %u\nparameter x f32[8,8] %s\nresult f32[]\n",
             n_devices, sharding);
    snprintf(many_sharded, sizeof many_sharded, "devices %u\nparameter x f32%s %s\nresult f32[]\n",
             n_devices, part, sharding);
    snprintf(expected, sizeof expected, "mesh %s\nparameter x [8,8] : %s\nresult 0 [] :\n", mesh,
             dimensions);
    expect(GIVEN(one, many_sharded), MATCHED_BY_NAME, LAID_OUT_BY_SHAPE, expected);
    expect(GIVEN(one_sharded, many), MATCHED_BY_NAME, LAID_OUT_BY_SHAPE, expected);
}

static void test_from_sharding(void **state) {
    (void)state;
    expect_sharding("{replicated}", 2, "[8,8]", "devices=2", "-, -");
    expect_sharding("{devices=[2,1]0,1}", 2, "[4,8]", "devices=2", "devices, -");
    expect_sharding("{devices=[2,2]<=[4]}", 4, "[4,4]", "axis_0=2,axis_1=2", "axis_0, axis_1");
    expect_sharding("{devices=[2,2]<=[2,2]T(1,0)}", 4, "[4,4]", "axis_0=2,axis_1=2",
                    "axis_1, axis_0");
    expect_sharding("{devices=[2,2]0,2,1,3}", 4, "[4,4]", "axis_0=2,axis_1=2", "axis_1, axis_0");
    expect_sharding("{devices=[2,1,2]<=[4] last_tile_dim_replicate}", 4, "[4,8]",
                    "axis_0=2,axis_1=2", "axis_0, -");
    expect_sharding("{devices=[1,2,2]<=[2,2]T(1,0) last_tile_dim_replicate}", 4, "[8,4]",
                    "axis_0=2,axis_1=2", "-, axis_1");
    expect_sharding("{devices=[1,4,2]<=[2,4]T(1,0) last_tile_dims={replicated}}", 8, "[8,2]",
                    "axis_0=2,axis_1=4", "-, axis_1");
    // The tile of a dimension takes the inner and then the outer axis: its order is theirs.
    expect_sharding("{devices=[8,1]<=[2,4]T(1,0)}", 8, "[1,8]", "axis_0=2,axis_1=4",
                    "axis_1*axis_0, -");
    expect_sharding("{mesh['dp'=2,'tp'=4], [{'tp'}, {'dp', ?}]}", 8, "[2,4]", "dp=2,tp=4",
                    "tp, dp");
    expect_sharding("{mesh[dp=2,tp=4], [{}, {tp:(1)2}], replicated={dp}}", 8, "[8,4]",
                    "axis_0=2,axis_1=2,axis_2=2", "-, axis_1");
    expect_sharding("{mesh['dp'=2], replicated}", 2, "[8,8]", "dp=2", "-, -");
    // These leave open where the array lies, so its shapes tell.
    expect_sharding("{manual}", 2, "[8,4]", "devices=2", "-, devices");
    expect_sharding("{unknown}", 2, "[8,4]", "devices=2", "-, devices");
}

static void test_root_sharding(void **state) {
    (void)state;
    expect(GIVEN("parameter x f32[] {replicated}\nresult f32[8,8]\nresult f32[8,8]\n",
                 "devices 2\nparameter x f32[] {replicated}\nresult f32[4,8]\n"
                 "result f32[8,8] {{devices=[2,1]<=[2]}, /*index=1*/{replicated}}\n"),
           MATCHED_BY_NAME, LAID_OUT_BY_SHARDING,
           "mesh devices=2\nparameter x [] :\nresult 0 [8,8] : devices, -\n"
           "result 1 [8,8] : -, -\n");
    // The least certain of the ways is told.
    expect(GIVEN("parameter x f32[4]\nresult f32[8]\n",
                 "devices 2\nparameter x f32[2]\nresult f32[4] {devices=[2]<=[2]}\n"),
           MATCHED_BY_NAME, LAID_OUT_BY_SHAPE,
           "mesh devices=2\nparameter x [4] : devices\nresult 0 [8] : devices\n");
    // One that is no tuple is said of every result; a tuple of one result is that result.
    expect(GIVEN("result f32[8]\nresult f32[6]\n",
                 "devices 2\nresult f32[4]\nresult f32[3] {devices=[2]0,1}\n"),
           MATCHED_BY_NAME, LAID_OUT_BY_SHARDING,
           "mesh devices=2\nresult 0 [8] : devices\nresult 1 [6] : devices\n");
    expect(GIVEN("result f32[8]\ntuple\n", "devices 2\nresult f32[4] {devices=[2]0,1}\n"),
           MATCHED_BY_NAME, LAID_OUT_BY_SHARDING, "mesh devices=2\nresult 0 [8] : devices\n");
}

// Texts as XLA's partitioner leaves them, in front of it and behind it.
static const char before_partitioning[] =
    "HloModule f, num_partitions=4\n\n"
    "ENTRY %main (p: f32[16,32], x: f32[8,16]) -> (f32[8,32], f32[16,32]) {\n"
    "  %x.0 = f32[8,16]{1,0} parameter(1), sharding={devices=[2,1,2]<=[4] "
    "last_tile_dim_replicate}, metadata={op_name=\"x\"}\n"
    "  %p.0 = f32[16,32]{1,0} parameter(0), sharding={devices=[1,2,2]<=[2,2]T(1,0) "
    "last_tile_dim_replicate}, metadata={op_name=\"params[\\'w\\']\"}\n"
    "  %dot.0 = f32[8,32]{1,0} dot(%x.0, %p.0), lhs_contracting_dims={1}, "
    "rhs_contracting_dims={0}, sharding={devices=[2,2]<=[4]}\n"
    "  ROOT %tuple.0 = (f32[8,32]{1,0}, f32[16,32]{1,0}) tuple(%dot.0, %p.0), "
    "sharding={{devices=[2,2]<=[4]}, {devices=[1,4]<=[2,2]T(1,0)}}\n}\n";
static const char behind_partitioning[] =
    "HloModule f, num_partitions=4\n\n"
    "ENTRY %main_spmd (param.1: f32[16,16], param: f32[4,16]) -> (f32[4,16], f32[16,8]) {\n"
    "  %param = f32[4,16]{1,0} parameter(1), metadata={op_name=\"x\"}\n"
    "  %param.1 = f32[16,16]{1,0} parameter(0), metadata={op_name=\"params[\\'w\\']\"}\n"
    "  %dot = f32[4,16]{1,0} dot(%param, %param.1), lhs_contracting_dims={1}, "
    "rhs_contracting_dims={0}\n"
    "  %slice = f32[16,8]{1,0} slice(%param.1), slice={[0:16], [0:8]}\n"
    "  ROOT %tuple = (f32[4,16]{1,0}, f32[16,8]{1,0}) tuple(%dot, %slice)\n}\n";

static uint32_t add_text(struct fixture *f, const char *name, const char *text) {
    return source_add(&f->sources, &f->arena, name, text, strlen(text));
}

static void test_texts(void **state) {
    (void)state;
    struct fixture f = {.pairing = NULL};
    f.diagnostics = diagnostics_new(&f.arena, &f.sources);
    uint32_t one = add_text(&f, "one", before_partitioning);
    uint32_t many = add_text(&f, "many", behind_partitioning);
    static const struct layout_given nothing;
    struct pairing_question question = {.one = hlo_read(one, &f.arena, f.diagnostics),
                                        .many = hlo_read(many, &f.arena, f.diagnostics),
                                        .given = &nothing};
    assert_non_null(question.one);
    assert_non_null(question.many);
    f.pairing = pair_programs(&question, &f.arena, f.diagnostics);
    expect_text(&f, "mesh axis_0=2,axis_1=2\nparameter params['w'] [16,32] : -, axis_1\n"
                    "parameter x [8,16] : axis_0, -\nresult 0 [8,32] : axis_0, axis_1\n"
                    "result 1 [16,32] : -, axis_1*axis_0\n");
    arena_free(&f.arena);
}

static void test_mesh(void **state) {
    (void)state;
    const char *one = "parameter x f32[12]\nresult f32[]\n";
    // The option is heard before the spec, the spec before names, names before groups without names.
    struct given given = GIVEN(one, "devices 6\naxes n=2 m=3\nparameter x f32[6]\nresult f32[]\n",
                               "mesh s=2,t=3\n", "o=2,p=3");
    struct fixture f;
    pair(&f, given);
    expect_text(&f, "mesh o=2,p=3\nparameter x [12] : o\nresult 0 [] :\n");
    arena_free(&f.arena);
    given.mesh = NULL;
    expect(given, MATCHED_BY_NAME, LAID_OUT_BY_SHAPE,
           "mesh s=2,t=3\nparameter x [12] : s\nresult 0 [] :\n");
    given.spec = NULL;
    expect(given, MATCHED_BY_NAME, LAID_OUT_BY_SHAPE,
           "mesh n=2,m=3\nparameter x [12] : n\nresult 0 [] :\n");
    given.many = "devices 6\naxes n=2 m=3\nparameter x f32[6] {mesh['d'=6], [{'d':(1)2}]}\n"
                 "result f32[]\n";
    expect(given, MATCHED_BY_NAME, LAID_OUT_BY_SHAPE,
           "mesh n=2,m=3\nparameter x [12] : n\nresult 0 [] :\n");
    given.many = "devices 6\ngroups 2 0 3 1 4 2 5\nparameter x f32[6]\nresult f32[]\n";
    expect(given, MATCHED_BY_NAME, LAID_OUT_BY_SHAPE,
           "mesh axis_0=2,axis_1=3\nparameter x [12] : axis_0\nresult 0 [] :\n");
    given.many = "devices 6\ngroups 3 0 1 2 3 4 5\nparameter x f32[6]\nresult f32[]\n";
    expect(given, MATCHED_BY_NAME, LAID_OUT_BY_SHAPE,
           "mesh axis_0=2,axis_1=3\nparameter x [12] : axis_0\nresult 0 [] :\n");
    given.many = "devices 6\ngroups 6 0 1 2 3 4 5\nparameter x f32[2]\nresult f32[]\n";
    expect(given, MATCHED_BY_NAME, LAID_OUT_BY_SHAPE,
           "mesh devices=6\nparameter x [12] : devices\nresult 0 [] :\n");
}

// ---- which parameter is which -----------------------------------------------------------------

// The parameters of the many, by those of one.
static void expect_matched(const char *one, const char *many, enum matched_by by, uint32_t first,
                           uint32_t second) {
    struct fixture f;
    pair(&f, GIVEN(one, many));
    if (!f.pairing)
        fail_with_diagnostics(&f);
    assert_int_equal(f.pairing->matched_by, by);
    assert_int_equal(f.pairing->many_parameters[0], first);
    assert_int_equal(f.pairing->many_parameters[1], second);
    arena_free(&f.arena);
}

static void test_matching(void **state) {
    (void)state;
    const char *one = "parameter p['w'] f32[4]\nparameter p['b'] f32[4]\nresult f32[]\n";
    expect_matched(one, "devices 2\nparameter p['b'] f32[4]\nparameter p['w'] f32[4]\nresult f32[]",
                   MATCHED_BY_NAME, 1, 0);
    // The argument has another name, the path in it is the same.
    expect_matched(one, "devices 2\nparameter q['b'] f32[4]\nparameter q['w'] f32[4]\nresult f32[]",
                   MATCHED_BY_NAME, 1, 0);
    // Paths are written in other ways.
    expect_matched(one, "devices 2\nparameter p.b f32[4]\nparameter p.w f32[4]\nresult f32[]",
                   MATCHED_BY_NAME, 1, 0);
    // No names on one side, or none in common: order.
    expect_matched(one, "devices 2\nparameter - f32[4]\nparameter - f32[4]\nresult f32[]",
                   MATCHED_BY_ORDER, 0, 1);
    expect_matched(one, "devices 2\nparameter x f32[4]\nparameter y f32[4]\nresult f32[]",
                   MATCHED_BY_ORDER, 0, 1);
    // What is left by those with names has none: order.
    expect_matched(one, "devices 2\nparameter - f32[4]\nparameter p['w'] f32[4]\nresult f32[]",
                   MATCHED_BY_ORDER, 1, 0);
    // One name for both, in both: order.
    expect_matched("parameter d f32[4]\nparameter d f32[4]\nresult f32[]",
                   "devices 2\nparameter d f32[4]\nparameter d f32[4]\nresult f32[]",
                   MATCHED_BY_ORDER, 0, 1);
}

static void test_parameters_refused(void **state) {
    (void)state;
    const char *one = "parameter w f32[4]\nparameter bias f32[4]\nresult f32[]\n";
    expect_refused(GIVEN(one, "devices 2\nparameter w f32[4]\nresult f32[]\n"), E915,
                   "parameter bias", "the program of the many has no parameter `bias`",
                   "keep_unused=True");
    expect_refused(GIVEN(one, "devices 2\nparameter w f32[4]\nparameter bais f32[4]\n"
                              "result f32[]\n"),
                   E915, "parameter bias", "has no parameter `bias`", "`bais` is there");
    expect_refused(GIVEN(one, "devices 2\nparameter w f32[4]\nparameter bias f32[4]\n"
                              "parameter w f32[4]\nresult f32[]\n"),
                   E915, "parameter w", "the program of one device has no parameter `w`", NULL);
    expect_refused(GIVEN(one, "devices 2\nparameter x f32[4]\nresult f32[]\n"), E915,
                   "parameter bias", "2 parameters, that of the many has 1", "keep_unused=True");
}

// ---- what is refused --------------------------------------------------------------------------

static void test_mesh_refused(void **state) {
    (void)state;
    struct given given = GIVEN(ONE_LAYER, MANY_LAYER);
    given.mesh = "tp=3";
    expect_refused(given, E910, "tp=3", "has 3 devices, the program has 2", "num_partitions");
    given.mesh = "tp=2,";
    expect_refused(given, E910, "tp=2,", "this is no mesh", "dp=2,tp=3");
    given.mesh = "tp";
    expect_refused(given, E910, "tp", "this is no mesh", "dp=2,tp=3");
    given.mesh = "tp=2 x";
    expect_refused(given, E910, "tp=2 x", "this is no mesh", "dp=2,tp=3");
    given.mesh = "tp=1,tp=2";
    expect_refused(given, E910, "tp=2", "`tp` is an axis already", NULL);
    given.mesh = "tp=2,dp=0";
    expect_refused(given, E910, "dp=0", "`dp` has no devices", NULL);
    given.mesh = "a=65536,b=65536";
    expect_refused(given, E910, "b=65536", "more devices than can be numbered", NULL);
    given.mesh = "a=1,b=1,c=1,d=1,e=1,f=1,g=1,h=1,i=1,j=1,k=1,l=1,m=1,n=1,o=1,p=1,q=2";
    expect_refused(given, E910, "q=2", "one axis more than there may be", NULL);
    given.mesh = NULL;
    given.spec = "mesh tp=4\n";
    expect_refused(given, E910, "tp=4", "has 4 devices, the program has 2", NULL);
    given.spec = "{\"mesh\": {\"tp\": 2, \"dp\": \"x\"}}";
    expect_refused(given, E910, "dp\"", "`dp` has no size", NULL);
    given.spec = "{\"mesh\": {\"d p\": 2}}";
    expect_refused(given, E910, "d p\"", "`d p` is no name of an axis", NULL);
    expect_refused(GIVEN(MANY_LAYER, ONE_LAYER), E910, "result", "of 2 devices",
                   "the program of one device first");
    expect_refused(GIVEN(MANY_LAYER, "devices 2\n" ONE_LAYER), E910, "result", "of 2 devices",
                   "the program of one device first");
}

static void expect_table_refused(const char *spec, const char *place, const char *message) {
    expect_refused(GIVEN(ONE_LAYER, MANY_LAYER, spec), E911, place, message,
                   "a line is `parameter NAME [SHAPE] : AXES, ...`");
}

static void test_spec_refused(void **state) {
    (void)state;
    expect_table_refused("param w1 [28,40] : -, tp\n", "param w1", "no line of a spec");
    expect_table_refused("mesh\n", "mesh", "no line of a spec");
    expect_table_refused("mesh tp=2\nmesh tp=2\n", "mesh", "has a mesh already");
    expect_table_refused("parameter w1 [28,40] -, tp\n", "parameter w1", "no line of a spec");
    expect_table_refused("parameter w1 : -, tp\n", "parameter w1", "no line of a spec");
    expect_table_refused("parameter [28,40] : -, tp\n", "parameter [", "names no array");
    expect_table_refused("parameter w1 [28,x] : -, tp\n", "x]", "a shape is a list of sizes");
    expect_table_refused("parameter w1 [28,40] : -\n", "parameter w1", "more dimensions");
    expect_table_refused("parameter w1 [28,40] : -, tp, -\n", "-\n", "more than the shape");
    expect_table_refused("parameter w1 [28,40] : -, tp*\n", "parameter w1", "has no name");
    expect_table_refused("parameter w1 [28,40] : -, 20/tp x/tp\n", "x/tp", "a segment is");
    expect_table_refused("parameter w1 [28,40] : -, 20/tp 20\n", "20\n", "a segment is");
    expect_table_refused("result x [4,16,28] : -, -, -\n", "x [", "named by its number");
    expect_table_refused("", "", "has no line");
    expect_table_refused("# parameter w1 [28,40] : -, tp\n \n", "#", "has no line");
}

static void expect_json_refused(const char *spec, const char *place, const char *message,
                                const char *help) {
    expect_refused(GIVEN(ONE_OF_JSON, MANY_OF_JSON, spec), E911, place, message, help);
}

static void expect_array_refused(const char *array, const char *place, const char *message) {
    char spec[256];
    snprintf(spec, sizeof spec, "{\"parameters\": [{%s}]}", array);
    expect_json_refused(spec, place, message, "placec explain E911");
    snprintf(spec, sizeof spec, "{\"results\": [{%s}]}", array);
    expect_json_refused(spec, place, message, "placec explain E911");
}

static void test_json_refused(void **state) {
    (void)state;
    expect_json_refused("{\"mesh\": ", " ", "this is not JSON", "no comma behind the last");
    expect_json_refused("{\"mesh\": {\"tp\": 2}, \"mesh\": {}}", "\": {}}", "a key stands twice",
                        "leave one of the two out");
    expect_json_refused("{\"mesh\": {\"tp\": 2, \"tp\": 2}}", "\": 2}}", "a key stands twice",
                        "leave one of the two out");
    expect_json_refused("{}", "{", "neither `mesh` nor", "placec explain E911");
    expect_json_refused("[{\"mesh\": {\"tp\": 2}}]", "[", "neither `mesh` nor", NULL);
    expect_json_refused("{\"title\": \"x\"}", "{", "neither `mesh` nor", "or give no spec");
    expect_json_refused("{\"meshes\": 1}", "meshes", "is no key of a spec", "did you mean `mesh`?");
    expect_json_refused("{\"mesh\": {\"tp\": 2}, \"layouts\": []}", "layouts",
                        "`layouts` is no key of a spec", "what is for people stands in `notes`");
    expect_json_refused("{\"mesh\": 1}", "1", "no table of axes", "placec explain E911");
    expect_json_refused("{\"mesh\": {}}", "{}", "no table of axes", "placec explain E911");
    expect_json_refused("{\"mesh\": null}", "null", "no table of axes", "placec explain E911");
    expect_json_refused("{\"groups\": []}", "[", "no table of groups", "placec explain E911");
    expect_json_refused("{\"groups\": {\"5\": \"tp\"}}", "tp", "a list of axes", "`[\"tp\"]`");
    expect_json_refused("{\"groups\": {\"5\": [[0], 1]}}", "1]", "not of equal length", "[[0, 1]");
    expect_json_refused("{\"groups\": {\"5\": [[\"0\"]]}}", "0\"", "is no number", "[[0, 1]");
    expect_json_refused("{\"parameters\": {}}", "{}", "`parameters` is no list", "`\"parameters\"");
    expect_json_refused("{\"results\": \"none\"}", "none", "`results` is no list", "`\"results\"");
    expect_json_refused("{\"parameters\": [[]]}", "[]", "an array is a table", "\"sharding\":");
}

static void test_arrays_refused(void **state) {
    (void)state;
    expect_array_refused("\"name\": \"x\"", "{\"name", "an array has `shape`");
    expect_array_refused("\"shape\": [8]", "{\"shape", "an array has `sharding`");
    expect_array_refused("\"shape\": {}, \"sharding\": []", "{}", "an array has `shape`");
    expect_array_refused("\"shape\": [8], \"sharding\": null", "null", "an array has `sharding`");
    expect_array_refused("\"shape\": [8], \"sharding\": []", "[]}", "not as many lists");
    expect_array_refused("\"shape\": [\"8\"], \"sharding\": [[]]", "8\"", "no list of sizes");
    expect_array_refused("\"shape\": [4, -8], \"sharding\": [[], []]", "-8", "no list of sizes");
    expect_array_refused("\"shape\": [8.0], \"sharding\": [[]]", "8.0", "no list of sizes");
    expect_array_refused("\"name\": 1, \"shape\": [8], \"sharding\": [[]]", "1,", "no text");
    expect_array_refused("\"dtype\": 1, \"shape\": [8], \"sharding\": [[]]", "1,", "no type");
    expect_array_refused("\"dtype\": \"floating\", \"shape\": [8], \"sharding\": [[]]", "floating",
                         "no type that is known");
    expect_array_refused("\"shape\": [8], \"sharding\": [\"tp\"]", "tp", "is no list");
    expect_array_refused("\"shape\": [8], \"sharding\": [[1]]", "1]", "an axis is no name");
    expect_array_refused("\"shape\": [8], \"sharding\": [[\"tp\", {}]]", "{}]",
                         "an axis is no name");
    expect_array_refused("\"shape\": [8], \"sharding\": [[{\"axes\": []}]]", "{\"axes",
                         "has no size");
    expect_array_refused("\"shape\": [8], \"sharding\": [[{\"size\": 8}]]", "{\"size",
                         "has no list of axes");
    expect_array_refused("\"shape\": [8], \"sharding\": [[{\"size\": 8, \"axes\": \"tp\"}]]", "tp",
                         "has no list of axes");
    expect_array_refused("\"shape\": [8], \"sharding\": [[{\"size\": 8, \"axes\": []}, \"tp\"]]",
                         "tp", "segments only");
    expect_json_refused("{\"parameters\": [{\"shape\": [], \"shardings\": []}]}", "shardings",
                        "`shardings` is no key of an array", "did you mean `sharding`?");
    expect_json_refused("{\"parameters\": [{\"shape\": [8], \"sharding\": [[{\"size\": 8, "
                        "\"axes\": [], \"order\": 1}]]}]}",
                        "order", "`order` is no key of a segment", "its keys are `size`, `axes`");
}

static void expect_unfit(const char *spec, const char *place, const char *message,
                         const char *help) {
    expect_refused(GIVEN(ONE_LAYER, MANY_LAYER, spec), E912, place, message, help);
}

static void test_spec_unfit(void **state) {
    (void)state;
    expect_unfit("parameter a[0]['w3'] [28,40] : -, tp\n", "a[0]['w3']",
                 "have no parameter `a[0]['w3']`", "did you mean `a[0]['w1']` or `a[0]['w2']`?");
    expect_unfit("parameter w11 [28,40] : -, tp\n", "w11", "have no parameter `w11`",
                 "did you mean `w1`?");
    expect_unfit("parameter head [28,40] : -, tp\n", "head", "have no parameter `head`",
                 "its path, as in `a[0]['w1']`");
    expect_unfit("parameter w1 [28,40] : -, tpp\n", "tpp", "the mesh tp=2 has no axis `tpp`",
                 "did you mean `tp`?");
    expect_unfit("parameter w1 [28,40] : tp, tp\n", "tp\n",
                 "`tp` cuts parameter `a[0]['w1']` twice", NULL);
    expect_unfit("parameter w1 [40,28] : -, tp\n", "w1",
                 "parameter `a[0]['w1']` is f32[28,40], in the spec it is [40,28]", NULL);
    expect_unfit("parameter w1 [28,40] : tp, -\n", "w1",
                 "a device would have [14,40] of parameter `a[0]['w1']`, the program of the many "
                 "has [28,20]",
                 NULL);
    expect_unfit("parameter w1 [28,40] : -, 20/tp 10/tp\n", "w1", "add up to 30, not to 40", NULL);
    expect_unfit("parameter w1 [28,40] : -, 39/tp 1/tp\n", "w1", "dimension 1 of", NULL);
    expect_unfit("parameter a[1] [4,16,28] : -, tp, -\n", "a[1]", "has [4,16,28]",
                 "behind XLA's pass `spmd-partitioning`");
    expect_unfit("parameter w1 [28,40] : -, tp\nparameter a[0]['w1'] [28,40] : -, tp\n",
                 "a[0]['w1']", "says twice", NULL);
    expect_unfit("result 1 [4,16,28] : -, -, -\n", "1 [", "no such result", "they have 1");
    expect_unfit("{\"results\": [{\"shape\": [], \"sharding\": []},"
                 " {\"shape\": [], \"sharding\": []}]}",
                 "{\"shape\"", "the spec has 2 results, the programs have 1", NULL);
    expect_unfit("{\"parameters\": [{\"name\": \"a[1]\", \"dtype\": \"int32\","
                 " \"shape\": [4,16,28], \"sharding\": [[],[],[]]}]}",
                 "a[1]", "of another type than in the spec", NULL);
    expect_unfit(
        "{\"notes\": {\"parameters\": [{\"name\": \"tail\"}]}, \"parameters\": ["
        "{\"notes\": {\"name\": \"tail\"}, \"shape\": [], \"sharding\": [], \"name\": \"head\"}]}",
        "head", "have no parameter `head`", NULL);
    expect_unfit("group 5 : tp\n", "5 :", "no collective of the many's program names group `5`",
                 "HLO text lists the devices");
    expect_unfit("group 5 : tpp\ngroup 5 : tp\n", "5 : tpp", "names group `5`", NULL);
}

static void test_open(void **state) {
    (void)state;
    struct fixture f;
    pair(&f, GIVEN("parameter w f32[8,8]\nparameter b f32[6]\nresult f32[8]\n",
                   "devices 4\naxes dp=2 tp=2\nparameter w f32[8,4]\nparameter b f32[6]\n"
                   "result f32[2]\n"));
    assert_null(f.pairing);
    expect_diagnostic(
        &f, E913, "parameter w",
        "shapes leave open over which axes of the mesh dp=2,tp=2 parameter `w` is cut",
        "choose where there is a `|`");
    assert_int_equal(f.diagnostics->n_errors, 1);
    assert_int_equal(f.diagnostics->items[0]->n_notes, 1);
    assert_string_equal(f.diagnostics->items[0]->notes[0].text, "parameter w [8,8] : -, dp|tp");
    arena_free(&f.arena);
    // All axes are used, and still there are two ways.
    pair(&f, GIVEN("parameter w f32[8,8]\nresult f32[8,6]\n",
                   "devices 4\naxes dp=2 tp=2\nparameter w f32[4,4]\nresult f32[4,6]\n"));
    assert_null(f.pairing);
    expect_diagnostic(&f, E913, "parameter w", "parameter `w` is cut, and 1 more", NULL);
    assert_string_equal(f.diagnostics->items[0]->notes[0].text, "parameter w [8,8] : dp|tp, dp|tp");
    assert_string_equal(f.diagnostics->items[0]->notes[1].text, "result 0 [8,6] : dp|tp, -");
    arena_free(&f.arena);
}

static void test_shapes_refused(void **state) {
    (void)state;
    expect_refused(GIVEN("parameter x f32[8]\nresult f32[]\n",
                         "devices 2\nparameter x f32[3]\nresult f32[]\n"),
                   E914, "parameter x f32[3]", "f32[3] of f32[8]: no part of it", "XLA pads");
    expect_refused(GIVEN("parameter x f32[8]\nresult f32[]\n",
                         "devices 2\nparameter x f32[1,4]\nresult f32[]\n"),
                   E914, "parameter x f32[1,4]", "f32[1,4] of f32[8]: no part of it", "one model");
    expect_refused(GIVEN("parameter x f32[8]\nresult f32[]\n",
                         "devices 4\nparameter x f32[4]\nresult f32[]\n"),
                   E914, "parameter x f32[4]", "no axes of the mesh devices=4 divide so",
                   "--mesh dp=2,tp=3");
    expect_refused(GIVEN("devices 2\nparameter x f32[4]\nresult f32[]\n",
                         "devices 2\nparameter x f32[8]\nresult f32[]\n"),
                   E914, "parameter x f32[8]", "no part of it", "the program of one device first");
    expect_refused(GIVEN("parameter x s32[8]\nresult f32[]\n",
                         "devices 2\nparameter x f32[8]\nresult f32[]\n"),
                   E917, "parameter x f32[8]", "is f32[8], in one device's program it is s32[8]",
                   "the same types");
    // Casts between reals are no difference.
    expect(GIVEN("parameter x f32[8]\nresult f32[]\n",
                 "devices 2\nparameter x bf16[4]\nresult bf16[]\n"),
           MATCHED_BY_NAME, LAID_OUT_BY_SHAPE,
           "mesh devices=2\nparameter x [8] : devices\nresult 0 [] :\n");
}

static void test_results_refused(void **state) {
    (void)state;
    expect_refused(GIVEN("parameter x f32[]\nresult f32[]\nresult f32[]\n",
                         "devices 2\nparameter x f32[]\nresult f32[]\n"),
                   E916, "result f32[]",
                   "the program of the many has 1 result, that of one device 2",
                   "the same from both");
    expect_refused(GIVEN("parameter x f32[]\nresult f32[6]\nresult f32[5]\n",
                         "devices 2\nparameter x f32[]\nresult f32[5]\nresult f32[3]\n"),
                   E914, "result f32[5]", "result 0 is f32[5] of f32[6]",
                   "result 1 would fit here, and this one there: were they swapped?");
    // The other would fit here, and this one not there.
    expect_refused(
        GIVEN("result f32[8]\nresult f32[7]\n", "devices 2\nresult f32[5]\nresult f32[4]\n"), E914,
        "result f32[5]", "result 0 is f32[5] of f32[8]", "XLA pads");
}

static void expect_no_sharding(const char *sharding, const char *message) {
    char many[512];
    snprintf(many, sizeof many, "devices 4\nparameter x f32[4,4] %s\nresult f32[]\n", sharding);
    expect_refused(GIVEN("parameter x f32[8,8]\nresult f32[]\n", many), E918, "parameter x",
                   message, NULL);
}

static void test_sharding_refused(void **state) {
    (void)state;
    expect_no_sharding("{maximal device=0}", "puts the whole array on one device");
    expect_no_sharding("{scattered}", "is of no form that is known");
    expect_no_sharding("{devices=[2,2]<=[8]}", "is of another number of devices");
    expect_no_sharding("{devices=[2,4]<=[4]}", "is of another number of devices");
    expect_no_sharding("{devices=[2,2]0,1,2}", "is of another number of devices");
    expect_no_sharding("{devices=[2,2]0,1,2,4}", "is of another number of devices");
    expect_no_sharding("{devices=[2,2]0,3,1,2}", "has its devices in no regular order");
    expect_no_sharding("{devices=[2,2]0,1,1,2}", "has its devices in no regular order");
    expect_no_sharding("{devices=[2,2]<=[2,2]T(1,1)}", "is of no form that is known");
    expect_no_sharding("{devices=[2,2]<=[2,2]T(0,2)}", "is of no form that is known");
    expect_no_sharding("{devices=[2,1,2]<=[4] last_tile_dims={manual}}", "is partly manual");
    expect_no_sharding("{mesh['dp'=2,'tp'=2], device_ids=(3,2,1,0), [{'tp'}, {}]}",
                       "an order of their own");
    expect_no_sharding("{mesh['dp'=2,'tp'=2], [{'tp'}, {}], unreduced={'dp'}}",
                       "no part of a whole");
    expect_no_sharding("{mesh['dp'=2,'dp'=2], replicated}", "is an axis already");
    expect_no_sharding("{mesh['dp'=2,'tp'=2], [{'pp'}, {}]}", "is of no form that is known");
    expect_no_sharding("{{replicated}", "a device would have [8,8]");
    expect_no_sharding("{devices=[1,1,4]<=[4]}", "does not fit its shape");
    expect_no_sharding("{devices=[4,1]<=[4]}", "a device would have [2,8]");
    // Where the program of the many is not partitioned at all, it is said once.
    struct fixture f;
    pair(&f, GIVEN("parameter x f32[8]\nparameter y f32[8]\nresult f32[]\n",
                   "devices 2\nparameter x f32[8] {devices=[2]<=[2]}\n"
                   "parameter y f32[8] {devices=[2]<=[2]}\nresult f32[]\n"));
    assert_null(f.pairing);
    assert_int_equal(f.diagnostics->n_errors, 1);
    expect_diagnostic(&f, E918, "parameter x", "a device would have [4]",
                      "behind XLA's pass `spmd-partitioning`");
    arena_free(&f.arena);
    expect_refused(GIVEN("parameter x f32[8,8]\nresult f32[]\n",
                         "devices 6\nparameter x f32[4,8] "
                         "{devices=[2,1,3]<=[6] last_tile_dim_replicate}\nresult f32[]\n",
                         NULL, "a=3,b=2"),
                   E918, "parameter x", "does not fit the mesh a=3,b=2", "--mesh");
    expect_refused(GIVEN("parameter x f32[8,8]\nresult f32[]\n",
                         "devices 8\nparameter x f32[1,8] {devices=[8,1]0,1,4,5,2,3,7,6}\n"
                         "result f32[]\n"),
                   E918, "parameter x", "has its devices in no regular order", "AXES, AXES");
    // Shardings of which each is of another mesh than the other.
    expect_refused(GIVEN("parameter x f32[6,6]\nparameter y f32[6,6]\nresult f32[]\n",
                         "devices 6\nparameter x f32[2,3] {devices=[3,2]<=[6]}\n"
                         "parameter y f32[3,2] {devices=[2,3]<=[6]}\nresult f32[]\n"),
                   E918, "parameter y", "does not fit the mesh axis_0=3,axis_1=2", "--mesh");
    expect_refused(GIVEN("result f32[]\nresult f32[]\n",
                         "devices 2\nresult f32[]\nresult f32[] {{replicated}}\n"),
                   E918, "devices", "the sharding of result 1 is of fewer arrays",
                   "`result 1 [] :`");
}

// ---- assumptions ------------------------------------------------------------------------------

#define ONE_TOKENS "parameter a['w'] f32[4]\nparameter a['tokens'] s32[4]\nresult f32[]\n"

static void assume(struct fixture *f, const char *const *texts, size_t n, struct assumptions *all) {
    pair(f, GIVEN(ONE_TOKENS, "devices 2\n" ONE_TOKENS));
    *all = (struct assumptions){.n = 0};
    for (size_t i = 0; i < n; i++)
        if (!assumptions_add(all, texts[i], f->pairing, &f->arena, f->diagnostics))
            return;
}

static void expect_assumed(const char *first, const char *second, const char *expected) {
    struct fixture f;
    struct assumptions all;
    assume(&f, (const char *const[]){first, second}, second ? 2 : 1, &all);
    assert_int_equal(f.diagnostics->n_errors, 0);
    assert_int_equal(all.n, 1);
    assert_int_equal(all.of[0].parameter, 1);
    assert_string_equal(assumption_text(&all.of[0], &f.arena), expected);
    arena_free(&f.arena);
}

static void test_assumptions(void **state) {
    (void)state;
    expect_assumed("0<=tokens<66", NULL, "0 <= a['tokens'] < 66");
    expect_assumed(" 66 > a['tokens'] >= 0", NULL, "0 <= a['tokens'] < 66");
    expect_assumed("tokens<66", NULL, "a['tokens'] < 66");
    expect_assumed("tokens <= 65", NULL, "a['tokens'] < 66");
    expect_assumed("-1<tokens", NULL, "0 <= a['tokens']");
    expect_assumed("parameter 1<66", "0<=tokens", "0 <= a['tokens'] < 66");
    expect_assumed("0<=tokens<66", "2<tokens<100", "3 <= a['tokens'] < 66");
}

static void expect_not_assumed(const char *text, const char *place, const char *message,
                               const char *help) {
    struct fixture f;
    struct assumptions all;
    assume(&f, &text, 1, &all);
    assert_int_equal(f.diagnostics->n_errors, 1);
    expect_diagnostic(&f, E919, place, message, help);
    arena_free(&f.arena);
}

static void test_assumptions_refused(void **state) {
    (void)state;
    expect_not_assumed("tokens=3", "tokens=3", "this bounds nothing", "0<=tokens<66");
    expect_not_assumed("0<1<tokens<3", "0<1", "this bounds nothing", "0<=tokens<66");
    expect_not_assumed("tokens<vocab", "vocab", "a bound is a whole number", "0<=tokens<66");
    expect_not_assumed("tokens<", "tokens<", "a bound is a whole number", "0<=tokens<66");
    expect_not_assumed("tokens<99999999999999999999", "9999", "a bound is a whole number", NULL);
    expect_not_assumed("0<=token<66", "token<", "no parameter `token`", "mean `tokens`?");
    expect_not_assumed("0<=x<66", "x<", "no parameter `x`", "path or the end of it");
    expect_not_assumed("parameter 2<66", "parameter 2", "no parameter `parameter 2`", NULL);
    expect_not_assumed("w<66", "w<66", "`a['w']` is f32, not of integers", NULL);
    expect_not_assumed("5<tokens<3", "5<tokens", "no number is so", NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_from_shapes),
        cmocka_unit_test(test_from_table),
        cmocka_unit_test(test_from_json),
        cmocka_unit_test(test_from_sharding),
        cmocka_unit_test(test_root_sharding),
        cmocka_unit_test(test_texts),
        cmocka_unit_test(test_mesh),
        cmocka_unit_test(test_matching),
        cmocka_unit_test(test_parameters_refused),
        cmocka_unit_test(test_mesh_refused),
        cmocka_unit_test(test_spec_refused),
        cmocka_unit_test(test_json_refused),
        cmocka_unit_test(test_arrays_refused),
        cmocka_unit_test(test_spec_unfit),
        cmocka_unit_test(test_open),
        cmocka_unit_test(test_shapes_refused),
        cmocka_unit_test(test_results_refused),
        cmocka_unit_test(test_sharding_refused),
        cmocka_unit_test(test_assumptions),
        cmocka_unit_test(test_assumptions_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
