// Words of other systems: what a person who comes from one of them writes is told as what it is
// here, wherever it stands.
#include <ctype.h>
#include <string.h>

#include "frontend/frontend.h"
#include "frontend/resolve.h"

enum {
    ANY = 0,
    DEEPSPEED = 1 << SYSTEM_DEEPSPEED,
    MEGATRON = 1 << SYSTEM_MEGATRON,
    FSDP = 1 << SYSTEM_FSDP,
    TORCHTITAN = 1 << SYSTEM_TORCHTITAN,
    MAXTEXT = 1 << SYSTEM_MAXTEXT,
    ACCELERATE = 1 << SYSTEM_ACCELERATE,
};

const char *const other_system_names[N_OTHER_SYSTEMS] = {
    [SYSTEM_DEEPSPEED] = "DeepSpeed", [SYSTEM_MEGATRON] = "Megatron-LM",
    [SYSTEM_FSDP] = "PyTorch FSDP",   [SYSTEM_TORCHTITAN] = "torchtitan",
    [SYSTEM_MAXTEXT] = "MaxText",     [SYSTEM_ACCELERATE] = "Accelerate",
};

static const char by_microbatch[] =
    "the microbatches of a step follow from `microbatch`, the sequences that a device takes at "
    "once: batch / ($ * devices that share the batch)";

const struct other_word other_words[] = {
#define CALLED(systems, theirs, ours) {systems, theirs, ours, true},
#define SAID(systems, theirs, ours)   {systems, theirs, ours, false},
#define MICROBATCHES(systems, theirs) {systems, theirs, by_microbatch, false},
#include "frontend/coming_from.def"
#undef MICROBATCHES
#undef SAID
#undef CALLED
};
const int n_other_words = sizeof other_words / sizeof *other_words;

// The fields of a config.json that say something of a model.
static const struct {
    const char *theirs, *ours;
} config_fields[] = {
#define NO_NAME(theirs, ours)
#define NAME(theirs, ours)  {theirs, ours},
#define NAME_OF_USED        NAME
#define NAME_OF_CHOSEN      NAME
#define NAME_OF_DROPOUT     NAME
#define NAME_OF_HARMLESS    NO_NAME
#define NAME_OF_KEPT        NO_NAME
#define NAME_OF_UNAPPLIED   NO_NAME
#define NAME_OF_MUST_BE     NO_NAME
#define NAME_OF_BIASES      NO_NAME
#define NAME_OF_FLAG        NO_NAME
#define NAME_OF_WINDOW      NAME
#define NAME_OF_SAME        NO_NAME
#define NAME_OF_LAYER_TYPES NO_NAME
#define NAME_OF_THETA       NAME
#define NAME_OF_SCALING     NO_NAME
#define NAME_OF_ROPE        NO_NAME
#define CONFIG_DEFAULT(...)
#define CONFIG_WRITTEN(...)
#define CONFIG_FIELD(kind, key, use, argument) NAME_OF_##use(key, argument)
#include "frontend/config_json.def"
#undef CONFIG_WRITTEN
#undef CONFIG_DEFAULT
#undef CONFIG_FIELD
};

// Whether two words are the same but for the case of letters and what joins them.
static bool same_word(const char *a, const char *b) {
    for (;; a++, b++) {
        a += strspn(a, "_-.");
        b += strspn(b, "_-.");
        if (tolower((unsigned char)*a) != tolower((unsigned char)*b))
            return false;
        if (!*a)
            return true;
    }
}

const char *translated(const char *word, const char *const *names, size_t n) {
    for (int i = 0; i < n_other_words; i++)
        if (other_words[i].is_name && same_word(word, other_words[i].theirs) &&
            table_find(names, (int)n, other_words[i].ours) >= 0)
            return other_words[i].ours;
    for (size_t i = 0; i < sizeof config_fields / sizeof *config_fields; i++)
        if (same_word(word, config_fields[i].theirs) &&
            table_find(names, (int)n, config_fields[i].ours) >= 0)
            return config_fields[i].ours;
    return NULL;
}

static const struct other_word *find_said(const char *word) {
    for (int i = 0; i < n_other_words; i++)
        if (!other_words[i].is_name && same_word(word, other_words[i].theirs))
            return &other_words[i];
    return NULL;
}

static bool is_number(const char *text) {
    return text && *text && strspn(text, "0123456789") == strlen(text);
}

const char *said_here(struct arena *arena, const char *word, const char *value) {
    const struct other_word *found = find_said(word);
    if (!found)
        return NULL;
    const char *text = "", *rest = found->ours;
    for (size_t n; *rest; rest += n + (rest[n] == '$')) {
        n = strcspn(rest, "$");
        text = arena_format(arena, "%s%.*s%s", text, (int)n, rest,
                            rest[n] != '$'     ? ""
                            : is_number(value) ? value
                                               : "N");
    }
    return text;
}

bool help_said_here(struct diagnostic *d, const char *word, const char *value) {
    const char *here = said_here(d->set->arena, word, value);
    if (here)
        diagnostic_help(d, "%s", here);
    return here != NULL;
}

// ---- microbatches -------------------------------------------------------------------------------

void note_microbatches(struct resolver *r, struct diagnostic *d, const struct ast_field *field) {
    const struct other_word *found = find_said(field->paths.items[0].items[0].name.text);
    if (!found || found->ours != by_microbatch || !field->value ||
        field->value->kind != AST_NUMBER || !field->value->number.is_integer)
        return;
    r->counts_microbatches = d;
    r->microbatches = field;
}
