// What a checkpoint is held against: every field of a model that a file can set is in one of the
// two texts, but what only decides where training begins.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "ir/config.h"

static const char *texts(struct arena *arena, const struct config *config) {
    return arena_format(arena, "%s; %s", model_text(arena, &config->model),
                        training_text(arena, config));
}

// Its bits as those of the next number, word or truth value.
#define OTHER(member)                                                                              \
    _Generic((member), double : (member) + 1, bool : !(member), default : (member) + 1)

static void each_field_of_a_model_is_told(void **state) {
    static const struct {
        const char *name;
        enum position_kind position;
    } untold[] = {{"init_std", POSITION_LEARNED},   {"init_std", POSITION_ROPE},
                  {"window", POSITION_LEARNED}, // no model has one that changes it
                  {"window", POSITION_ROPE},        {"rope_theta", POSITION_LEARNED},
                  {"sequence_limit", POSITION_ROPE}};
    struct arena arena = {0};
    struct config config = {0}, other;
    for (int position = 0; position < N_POSITIONS; position++) {
        config.model.position = (enum position_kind)position;
        const char *before = texts(&arena, &config);
#define MODEL_FIELD(field, kind, gpt2, llama)                                                      \
    if (strcmp(#field, "position") != 0) {                                                         \
        bool told = true;                                                                          \
        for (size_t i = 0; i < sizeof untold / sizeof *untold; i++)                                \
            told &= strcmp(untold[i].name, #field) != 0 || (int)untold[i].position != position;    \
        other = config;                                                                            \
        other.model.field = OTHER(other.model.field);                                              \
        assert_int_equal(strcmp(before, texts(&arena, &other)) != 0, told);                        \
    }
#include "frontend/model_fields.def"
#undef MODEL_FIELD
    }
    arena_free(&arena);
}

static void all_of_an_optimizer_is_told(void **state) {
    struct arena arena = {0};
    struct optimizer_rule rules[2] = {{.optimizer = {.kind = OPTIMIZER_ADAMW}},
                                      {.optimizer.rate.base = 1}};
    struct config config = {.train = {.optimizers = rules, .n_optimizers = 2}};
    const char *before = texts(&arena, &config);
#define DIFFERS(member, value)                                                                     \
    do {                                                                                           \
        struct optimizer_rule kept = rules[0];                                                     \
        rules[0].member = value;                                                                   \
        assert_string_not_equal(before, texts(&arena, &config));                                   \
        rules[0] = kept;                                                                           \
    } while (0)
    DIFFERS(optimizer.kind, OPTIMIZER_NONE);
    DIFFERS(optimizer.rate.base, 0.1);
    DIFFERS(optimizer.rate.curve, RATE_COSINE);
    DIFFERS(optimizer.rate.warmup_steps, 3);
    rules[0].optimizer.rate = (struct learning_rate){RATE_LINEAR, 0.1, 0.01, 2, 10, 5};
    before = texts(&arena, &config);
    DIFFERS(optimizer.rate.curve, RATE_SQRT);
    DIFFERS(optimizer.rate.minimum, 0.02);
    DIFFERS(optimizer.rate.steps, 11);
    DIFFERS(optimizer.rate.decay_steps, 8);
    DIFFERS(optimizer.beta1, 0.1);
    DIFFERS(optimizer.beta2, 0.1);
    DIFFERS(optimizer.eps, 0.1);
    DIFFERS(optimizer.weight_decay, 0.1);
    DIFFERS(optimizer.decays_all, true);
    DIFFERS(selector.n_roles, 1);
    rules[1].optimizer.kind = OPTIMIZER_SGD;
    before = texts(&arena, &config);
    rules[1].optimizer.momentum = 0.5;
    assert_string_not_equal(before, texts(&arena, &config));
    arena_free(&arena);
}

static void many_optimizers_are_told_by_their_sum(void **state) {
    enum { MANY = 1000, MOST_BYTES = 4000 };
    struct arena arena = {0};
    struct optimizer_rule rules[MANY] = {{.optimizer = {.kind = OPTIMIZER_ADAMW}}};
    struct config config = {.train = {.optimizers = rules, .n_optimizers = MANY}};
    const char *before = training_text(&arena, &config);
    assert_true(strlen(before) < MOST_BYTES);
    rules[MANY - 1].optimizer.kind = OPTIMIZER_SGD;
    assert_string_not_equal(before, training_text(&arena, &config));
    arena_free(&arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_field_of_a_model_is_told),
        cmocka_unit_test(all_of_an_optimizer_is_told),
        cmocka_unit_test(many_optimizers_are_told_by_their_sum),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
