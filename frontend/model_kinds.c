// Kinds of models and the fields of all, as their tables have them (model_fields.def,
// model_kinds.def).
#include "frontend/resolve.h"

const struct field_row model_field_rows[] = {
#define MODEL_FIELD(name, kind, gpt2, llama)                                                       \
    {#name, FIELD_##kind, offsetof(struct model_config, name)},
#include "frontend/model_fields.def"
#undef MODEL_FIELD
};
_Static_assert(sizeof model_field_rows / sizeof *model_field_rows <= MODEL_FIELD_KINDS,
               "room in a draft");
const int n_model_field_rows = sizeof model_field_rows / sizeof *model_field_rows;

static const struct model_config kind_rows[N_MODEL_KINDS] = {
#define MODEL_KIND(ID, text, architecture, of, ...)                                                \
    [KIND_##ID] = {.kind = (text), .family = FAMILY_##of, __VA_ARGS__},
#define OTHER_KIND(...)
#include "frontend/model_kinds.def"
#undef OTHER_KIND
#undef MODEL_KIND
};
const char *const model_kind_words[N_MODEL_KINDS] = {
#define MODEL_KIND(ID, text, ...) [KIND_##ID] = (text),
#define OTHER_KIND(...)
#include "frontend/model_kinds.def"
#undef OTHER_KIND
#undef MODEL_KIND
};
const struct model_config *kind_defaults(enum model_kind kind) {
    return &kind_rows[kind];
}
