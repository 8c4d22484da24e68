// The reference program as text: build, differentiate, update of the tiny models against goldens.
// PLACE_UPDATE_GOLDENS in the environment writes them anew.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/derive.h"
#include "tests/tiny_models.h"

static void check_family(enum model_family family, const char *name) {
    struct arena arena = {0};
    struct config config = tiny_config(&arena, family);
    struct program *program = derive_program(&arena, &config, PASS_UPDATE, NULL);
    assert_non_null(program);
    check_golden(&arena, name, checked_text(&arena, program));
    arena_free(&arena);
}

static void test_gpt2(void **state) {
    check_family(FAMILY_GPT2, "reference_gpt2");
}

static void test_llama(void **state) {
    check_family(FAMILY_LLAMA, "reference_llama");
}

// ---- element types ----------------------------------------------------------------------------

static struct precision_rule rule(enum precision_use use, enum role role, enum dtype type) {
    return (struct precision_rule){.use = use,
                                   .selector = {.n_roles = 1, .roles = {(uint8_t)role}},
                                   .type = type,
                                   .origin.span = span_nowhere()};
}

// As in Megatron: parameters in bf16 with a master, gradients in fp32.
static void make_megatron(struct arena *arena, struct precision_config *precision) {
    precision->all = DTYPE_F32;
    precision->of_all[PRECISION_PARAMETERS] = precision->of_all[PRECISION_COMPUTE] = DTYPE_BF16;
    precision->of_all[PRECISION_MASTER] = DTYPE_F32;
}

// As in FSDP2: parameters in fp32, gathered and computed with in bf16.
static void make_fsdp2(struct arena *arena, struct precision_config *precision) {
    precision->all = DTYPE_F32;
    precision->of_all[PRECISION_COMPUTE] = DTYPE_BF16;
}

static void make_bf16(struct arena *arena, struct precision_config *precision) {
    precision->all = DTYPE_BF16;
}

static void make_selected(struct arena *arena, struct precision_config *precision) {
    const struct precision_rule rules[] = {
        rule(PRECISION_COMPUTE, ROLE_NORM, DTYPE_F32),
        rule(PRECISION_COMPUTE, ROLE_CORE, DTYPE_F32),
        rule(PRECISION_GRADIENTS, ROLE_EMBEDDING, DTYPE_F32),
        rule(PRECISION_PARAMETERS, ROLE_NORM, DTYPE_F32),
        rule(PRECISION_MOMENTS, ROLE_MLP, DTYPE_F32),
    };
    precision->all = DTYPE_BF16;
    precision->rules = arena_copy(arena, rules, sizeof rules);
    precision->n_rules = sizeof rules / sizeof *rules;
}

// As in Megatron, but that the first layer computes in fp32.
static void make_ranges(struct arena *arena, struct precision_config *precision) {
    struct precision_rule first = rule(PRECISION_COMPUTE, ROLE_LAYERS, DTYPE_F32);
    first.selector.has_slice = true;
    first.selector.slice_end = first.selector.slice_step = 1;
    make_megatron(arena, precision);
    precision->rules = arena_copy(arena, &first, sizeof first);
    precision->n_rules = 1;
}

// Parameters in fp16 with a master, and a loss scale that is found while training.
static void make_fp16(struct arena *arena, struct precision_config *precision) {
    precision->all = DTYPE_F16;
    precision->of_all[PRECISION_MASTER] = precision->of_all[PRECISION_MOMENTS] = DTYPE_F32;
}

static const struct {
    const char *name;
    void (*make)(struct arena *, struct precision_config *);
} precisions[] = {
    {"megatron", make_megatron}, {"fsdp2", make_fsdp2}, {"bf16", make_bf16},
    {"selected", make_selected}, {"fp16", make_fp16},   {"ranges", make_ranges},
};

static void check_precision(struct arena *arena, enum model_family family, const char *model,
                            size_t i) {
    struct config config = tiny_config(arena, family);
    precisions[i].make(arena, &config.train.precision);
    if (config.train.precision.all == DTYPE_F16)
        config.train.loss_scale = (struct loss_scale_config){
            .initial = 65536, .dynamic = true, .growth = 2, .backoff = 0.5, .interval = 2000};
    struct program *program = derive_program(arena, &config, PASS_UPDATE, NULL);
    assert_non_null(program);
    check_golden(arena, arena_format(arena, "reference_%s_%s", model, precisions[i].name),
                 checked_text(arena, program));
}

static void test_precisions(void **state) {
    struct arena arena = {0};
    for (size_t i = 0; i < sizeof precisions / sizeof *precisions; i++) {
        check_precision(&arena, FAMILY_GPT2, "gpt2", i);
        check_precision(&arena, FAMILY_LLAMA, "llama", i);
    }
    arena_free(&arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gpt2),
        cmocka_unit_test(test_llama),
        cmocka_unit_test(test_precisions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
