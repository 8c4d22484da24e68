// The language's words, from its tables, in classes of one colour.
#include <string.h>

#include "driver/interface/interface.h"
#include "ir/config.h"
#include "ir/ir.h"

static const char *const items[] = {
#define KEYWORD_ITEM(text) text,
#define KEYWORD_RESERVED(text)
#define KEYWORD(token, text, where) KEYWORD_##where(text)
#include "frontend/keywords.def"
#undef KEYWORD_ITEM
#undef KEYWORD_RESERVED
};

static const char *const reserved[] = {
#define KEYWORD_ITEM(text)
#define KEYWORD_RESERVED(text) text,
#include "frontend/keywords.def"
#undef KEYWORD_ITEM
#undef KEYWORD_RESERVED
#undef KEYWORD
};

static const char *const modes[] = {
#define MODE(ID, text, takes_axes) text,
#define OPTION(mode, text, reader, states)
#define RELAXED_OPTION(mode, text, reader, states, condition)
#include "frontend/modes.def"
#undef MODE
#undef OPTION
#undef RELAXED_OPTION
};

// What stands in front of `=`.
static const char *const fields[] = {
#define MODEL_FIELD(name, ...) #name,
#include "frontend/model_fields.def"
#undef MODEL_FIELD
#define TRAIN_FIELD(name, kind) #name,
#define OTHER_FIELD(name)       #name,
#include "frontend/train_fields.def"
#undef TRAIN_FIELD
#undef OTHER_FIELD
#define DEVICE_FIELD(name, kind, member) #name,
#define HOST_FIELD(name, kind, member)   #name,
#include "frontend/device_fields.def"
#undef DEVICE_FIELD
#undef HOST_FIELD
#define PRECISION_FIELD(NAME, text) text,
#define EXPERT_FIELD(text)          text,
#include "ir/precision_fields.def"
#undef PRECISION_FIELD
#undef EXPERT_FIELD
#define ARGUMENT(of, name) name,
#include "frontend/optimizers.def"
#define MODE(ID, text, takes_axes)
#define OPTION(mode, text, reader, states)                    text,
#define RELAXED_OPTION(mode, text, reader, states, condition) text,
#include "frontend/modes.def"
#undef MODE
#undef OPTION
#undef RELAXED_OPTION
};

// What a value may be: kinds of models, optimizers, schedules, curves, ways of compressing, words.
static const char *const values[] = {
#define MODEL_KIND(ID, text, ...) text,
#define OTHER_KIND(text, why)
#include "frontend/model_kinds.def"
#undef MODEL_KIND
#undef OTHER_KIND
#define OPTIMIZER(ID, name) name,
#include "ir/optimizers.def"
#undef OPTIMIZER
#define OTHER_OPTIMIZER(name) name,
#define SCHEDULE(name, curve) name,
#include "frontend/optimizers.def"
#define METHOD(ID, name, map, chunks, order, lead, splits) name,
#include "ir/methods.def"
#undef METHOD
#define WAY(name, text, travels) text,
#include "ir/ways.def"
#undef WAY
#define RATE(name, text, what) text,
#include "ir/rates.def"
#undef RATE
#define FLAG_WORD(text)      text,
#define TYPE_WORD(text)      text,
#define PARAMETER_WORD(text) text,
#define UNIT_WORD(text)      text,
#define KEPT_WORD(text)      text,
#define REDUCE_WORD(text)    text,
#define OFFLOAD_WORD(text)   text,
#define UPDATE_WORD(text)    text,
#include "frontend/words.def"
};

static const char *const dimensions[] = {
#define DIMENSION_0(text)
#define DIMENSION_1(text)                text,
#define DIMENSION(name, text, may_split) DIMENSION_##may_split(text)
#include "ir/dimensions.def"
#undef DIMENSION_0
#undef DIMENSION_1
#undef DIMENSION
};

#define CLASS(name, group, scope, words)                                                           \
    { name, group, scope, words, sizeof words / sizeof *words }
const struct word_class word_classes[N_WORD_CLASSES] = {
    CLASS("Item", "Structure", "storage.type", items),
    CLASS("Reserved", "Statement", "keyword.control", reserved),
    {"State", "Identifier", "variable.language", state_names, N_STATES},
    CLASS("Mode", "Function", "support.function", modes),
    {"Condition", "Constant", "constant.language.condition", condition_names, N_CONDITIONS},
    {"Role", "Constant", "constant.language.role", role_names + 1, N_ROLES - 1},
    CLASS("Dimension", "Constant", "constant.language.dimension", dimensions),
    CLASS("Value", "Type", "support.type", values),
    {"Norm", "Type", "support.type.norm", norm_words, N_NORMS},
    {"Activation", "Type", "support.type.activation", activation_words, N_ACTIVATIONS},
    {"Position", "Type", "support.type.position", position_words, N_POSITIONS},
    CLASS("Field", "Identifier", "variable.parameter", fields),
};

const char *const unit_words[] = {
#define UNIT(name, text, measure, factor) text,
#include "frontend/units.def"
#undef UNIT
};
const int n_unit_words = sizeof unit_words / sizeof *unit_words;

bool is_first_of(const struct word_class *word_class, int index) {
    const char *word = word_class->words[index];
    for (const struct word_class *c = word_classes; c <= word_class; c++)
        for (int i = 0; i < (c == word_class ? index : c->n); i++)
            if (strcmp(c->words[i], word) == 0)
                return false;
    return true;
}
