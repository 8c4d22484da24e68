// The names of optimizers, and whether two do the same. Decay of nothing is alike whatever it is said
// of.
#include <string.h>

#include "ir/config.h"

const char *const optimizer_names[N_OPTIMIZERS] = {
#define OPTIMIZER(ID, name) name,
#include "ir/optimizers.def"
#undef OPTIMIZER
};

bool learning_rate_equal(const struct learning_rate *a, const struct learning_rate *b) {
    return a->curve == b->curve && a->base == b->base && a->minimum == b->minimum &&
           a->warmup_steps == b->warmup_steps && a->steps == b->steps &&
           a->decay_steps == b->decay_steps;
}

const char *const muon_rate_names[N_MUON_RATES] = {"original", "match_rms_adamw",
                                                   "spectral_unclamped"};

static bool decay_equal(const struct optimizer_config *a, const struct optimizer_config *b) {
    return a->weight_decay == b->weight_decay &&
           (a->decays_all == b->decays_all || a->weight_decay == 0);
}

const char *optimizer_differences(struct arena *arena, const struct optimizer_config *a,
                                  const struct optimizer_config *b) {
    const struct {
        const char *name;
        bool differs;
    } fields[] = {
        {"optimizer", a->kind != b->kind},
        {"lr", !learning_rate_equal(&a->rate, &b->rate)},
        {"betas", a->beta1 != b->beta1 || a->beta2 != b->beta2},
        {"eps", a->eps != b->eps || a->least_scale != b->least_scale},
        {"momentum", a->momentum != b->momentum},
        {"weight_decay", !decay_equal(a, b)},
        {"nesterov", a->nesterov != b->nesterov},
        {"ns_coefficients",
         memcmp(a->ns_coefficients, b->ns_coefficients, sizeof a->ns_coefficients) != 0},
        {"ns_steps", a->ns_steps != b->ns_steps},
        {"adjust_lr_fn", a->muon_rate != b->muon_rate},
        {"beta2_decay", a->beta2_decay != b->beta2_decay},
        {"d", a->threshold != b->threshold},
    };
    const char *text = "";
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
        if (fields[i].differs)
            text = arena_format(arena, "%s%s`%s`", text, *text ? ", " : "", fields[i].name);
    return text;
}
