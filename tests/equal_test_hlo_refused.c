// The reader of HLO text: what it refuses, and where it says so; and that nothing takes more memory or time than the text
// has bytes for.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/equal_hlo_reading.h"

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
        {"HloModule m, num_partitions=2\nENTRY e { p = f32[4] parameter(0)\n q = f32[2] "
         "custom-call(p), custom_call_target=\"SPMDFullToShardShape\" }",
         E908, "in front of the partitioner"},
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
    assert_repeated_refused("HloModule m\nENTRY e { p = f32[4294967296,4294967296] parameter(0) }",
                            "", 0, "", E907, "more bytes than can be counted");
    assert_repeated_refused(
        "HloModule m\nENTRY e { p = f32[0,4294967296,4294967296] parameter(0) }", "", 0, "", E907,
        "more bytes than can be counted");
    assert_repeated_refused("HloModule m\nENTRY e { t = (f32[]) parameter(0)\n c = f32[] copy(t#0",
                            "#0", MANY, ") }", E905, "no element");
    assert_repeated_refused("HloModule m\nENTRY e { p = f32[9999999999] constant({1}) }", "", 0, "",
                            E902, "expected `,`");
}

// Each calls the one before it twice, so that few lines are very many instructions.
static void what_calls_execute_is_bounded(void **state) {
    char *text = NULL;
    size_t length;
    FILE *to = open_memstream(&text, &length);
    assert_non_null(to);
    fprintf(to, "HloModule m\nc0 { ROOT p = f32[] parameter(0) }\n");
    for (int i = 1; i <= 40; i++)
        fprintf(to,
                "%sc%d { p = f32[] parameter(0)\n a = f32[] call(p), to_apply=c%d\n ROOT b = f32[] "
                "call(a), to_apply=c%d }\n",
                i == 40 ? "ENTRY " : "", i, i - 1, i - 1);
    fclose(to);
    assert_refused(text, length, E907, "which are 262141 instructions of 49");
    free(text);
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

// Pairs of replicas are resolved to those of all devices, once for all who have them.
static void pairs_of_all_devices_are_made_once(void **state) {
    char *text = NULL;
    size_t length;
    FILE *to = open_memstream(&text, &length);
    assert_non_null(to);
    fprintf(to, "HloModule m, num_partitions=65536\nENTRY e {\n a = f32[] parameter(0)\n");
    for (int i = 0; i < 1000; i++)
        fprintf(to, "c%d = f32[] collective-permute(a), source_target_pairs={{0,0}}\n", i);
    fprintf(to, "}\n");
    fclose(to);
    struct reading r = read_right(text);
    assert_int_equal(named(&r, "c999")->attributes->n_pairs, 65536);
    assert_true(arena_used_bytes(&r.arena) < (size_t)8 << 20);
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
        part[n] = '\0';
        struct reading r = read_bytes(part, n);
        assert_null(r.graph);
        const struct diagnostic *d = r.diagnostics->items[0];
        if (n > 20 && (!d->help || !strstr(d->help, "the text ends here")))
            fail_msg("%s\nends early, and this is said: %s", part, d->message);
        forget(&r);
        free(part);
    }
    free(text);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(other_files_are_told),
        cmocka_unit_test(texts_that_cannot_be_read),
        cmocka_unit_test(needed_attributes),
        cmocka_unit_test(hostile_sizes),
        cmocka_unit_test(calls_are_bounded),
        cmocka_unit_test(what_calls_execute_is_bounded),
        cmocka_unit_test(short_groups_of_many_devices_are_bounded),
        cmocka_unit_test(pairs_of_all_devices_are_made_once),
        cmocka_unit_test(every_beginning_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
