// Ops: their row, what they are given by its names, and what comes of them.
#include "equal/fx/operations.h"

#include <string.h>

#include "equal/fx/attention.h"
#include "equal/fx/collectives.h"
#include "equal/fx/folds.h"
#include "equal/fx/given.h"
#include "equal/fx/indexed.h"
#include "equal/fx/losses.h"
#include "equal/fx/moves.h"
#include "equal/fx/norms.h"
#include "equal/fx/pointwise.h"

struct operation {
    const char *word, *operands;
    fx_build *build;
    int which;
};
static const struct operation rows[] = {
#define OPERATION(word, operands, build, which) {word, operands, fx_build_##build, which},
#include "equal/fx/operations.def"
#undef OPERATION
};
enum { N_OPERATIONS = sizeof rows / sizeof *rows };

struct words fx_operation_words(struct arena *scratch) {
    struct words words = {.arena = scratch};
    for (uint32_t i = 0; i < N_OPERATIONS; i++)
        words_number(&words, (struct word){rows[i].word, (uint32_t)strlen(rows[i].word)});
    return words;
}

static const struct operation *find_row(const struct reader *r, struct word word) {
    static const char prefix[] = "torch.ops.";
    uint32_t length = sizeof prefix - 1;
    if (word.length > length && memcmp(word.text, prefix, length) == 0) {
        word.text += length;
        word.length -= length;
    }
    uint32_t number = words_find(&r->operations, word);
    return number == UINT32_MAX ? NULL : &rows[number];
}

// ---- what it is given -------------------------------------------------------------------------

// A name of a row.
struct operand_name {
    const char *text;
    uint32_t length;
    bool may_lack, changes_nothing;
};

// The next one; false: there is none.
static bool next_name(const char **at, struct operand_name *name) {
    while (**at == ' ' || **at == '|')
        name->changes_nothing |= *(*at)++ == '|';
    name->text = *at;
    name->length = (uint32_t)strcspn(*at, "? ");
    *at += name->length;
    name->may_lack = **at == '?' || name->changes_nothing;
    *at += **at == '?';
    return name->length > 0;
}

// The argument that is given by this place, or by its name. `given` counts those that were found.
static const struct argument *find_argument(const struct argument *list, uint32_t place,
                                            const struct operand_name *name, uint32_t *given) {
    for (uint32_t i = 0; i < list->list.n; i++) {
        const struct argument *a = &list->list.of[i];
        bool is_it = a->keyword.length ? a->keyword.length == name->length &&
                                             memcmp(a->keyword.text, name->text, name->length) == 0
                                       : i == place;
        if (is_it) {
            ++*given;
            return a;
        }
    }
    return NULL;
}

// Gives each name of the row its argument. False: one lacks, or there are others, which has been reported.
static bool bind(struct call *c, const struct operation *row, const struct argument *list) {
    struct operand_name name = {.length = 0};
    uint32_t place = 0, given = 0;
    for (const char *at = row->operands; next_name(&at, &name); place++) {
        const struct argument *a = find_argument(list, place, &name, &given);
        if (a && a->kind == ARGUMENT_NONE)
            a = NULL;
        if (!a && !name.may_lack) {
            fx_fail(c, "its operand `%.*s` lacks", (int)name.length, name.text);
            return false;
        }
        c->of[place] = name.changes_nothing ? NULL : a;
    }
    if (given < list->list.n)
        fx_fail(c, "it is given %u operands, of which it has %u", list->list.n, given);
    return given == list->list.n;
}

// ---- what comes of it -------------------------------------------------------------------------

bool fx_hold_shape(struct call *c, uint32_t *array) {
    const struct array_shape *said = c->said, *made = fx_shape(c, *array);
    if (!said || said == made)
        return true;
    bool same = !made->is_tuple && made->rank == said->rank &&
                memcmp(made->sizes, said->sizes, made->rank * sizeof *made->sizes) == 0 &&
                fx_kind(made->element) == fx_kind(said->element);
    if (!same) {
        fx_fail(c, "the result is %s, and the text says %s", shape_text(made, c->r->s.arena),
                shape_text(said, c->r->s.arena));
        return false;
    }
    *array = fx_convert(c, *array, said->element);
    return *array != NOT_BUILT;
}

static const char *op_string(struct reader *r, struct word word) {
    return words_string(&r->strings, words_number(&r->strings, word), r->s.arena);
}

static bool ends_in(struct word word, const char *end) {
    size_t n = strlen(end);
    return word.length >= n && memcmp(word.text + word.length - n, end, n) == 0;
}

// What stands behind the last dot, and takes it off; all of it where there is none.
static struct word cut_last(struct word *word) {
    uint32_t at = word->length;
    while (at > 0 && word->text[at - 1] != '.')
        at--;
    struct word last = {word->text + at, word->length - at};
    word->length = at > 0 ? at - 1 : 0;
    return last;
}

// Whether an op writes into what it is given, by NAME.OVERLOAD: the name ends in one underscore, one of both in `out`, or it
// keeps statistics while a model is trained.
static bool writes(struct word word) {
    static const char *const trained[] = {"batch_norm", "batch_norm_legit",
                                          "batch_norm_with_update", "rrelu_with_noise"};
    struct word overload = cut_last(&word), name = cut_last(&word);
    bool keeps = false;
    for (size_t i = 0; i < sizeof trained / sizeof *trained; i++)
        keeps |= ends_in(name, trained[i]) && !ends_in(overload, "no_stats");
    return keeps || (ends_in(name, "_") && !ends_in(name, "__")) || ends_in(name, "_out") ||
           ends_in(overload, "_out") || (overload.length == 3 && ends_in(overload, "out"));
}

static void add_arrays(struct reader *r, const struct argument *a, uint32_t **arrays, uint32_t *n,
                       uint32_t *cap) {
    if (a->kind == ARGUMENT_NAMED && a->named->kind == NAMED_ARRAY)
        ARENA_PUSH(r->s.scratch, *arrays, *n, *cap, a->named->instruction);
    for (uint32_t i = 0; a->kind == ARGUMENT_LIST && i < a->list.n; i++)
        add_arrays(r, &a->list.of[i], arrays, n, cap);
}

// What is not followed depends on all arrays that it is given.
static bool make_opaque(struct call *c, const struct argument *list, struct named_value *made) {
    struct reader *r = c->r;
    uint32_t *arrays = NULL, n = 0, cap = 0;
    if (writes(c->op)) {
        struct diagnostic *d =
            scan_report(&r->s, E908, c->name, "`%.*s` writes into what it is given", WORD(c->op));
        if (d)
            diagnostic_help(d, "take the graph of aot_autograd, or of `ep.run_decompositions()`, "
                               "in which nothing is written into");
        return false;
    }
    if (!c->said) {
        *made = (struct named_value){.kind = NAMED_UNTOLD, .op = op_string(r, c->op)};
        return true;
    }
    add_arrays(r, list, &arrays, &n, &cap);
    struct instruction_attributes *with = fx_attributes(c);
    with->target = op_string(r, c->op);
    uint32_t opaque = fx_emit(c, PRIM_OPAQUE, c->said, arrays, n, with);
    *made = (struct named_value){.kind = NAMED_ARRAY, .instruction = opaque};
    return opaque != NOT_BUILT;
}

bool fx_operate(struct reader *r, const struct result *result, const struct argument *list,
                struct named_value *made) {
    struct call c = {.r = r, .name = result->name, .op = result->word, .said = result->said};
    const struct operation *row = find_row(r, result->word);
    if (!row)
        return make_opaque(&c, list, made);
    c.which = row->which;
    if (!bind(&c, row, list))
        return false;
    uint32_t array = row->build(&c);
    if (r->s.failed)
        return false;
    if (array == NOT_BUILT)
        return make_opaque(&c, list, made);
    if (c.parts.n > 0) {
        *made = (struct named_value){.kind = NAMED_PARTS, .parts = c.parts};
        return true;
    }
    if (!fx_hold_shape(&c, &array))
        return false;
    *made = (struct named_value){.kind = NAMED_ARRAY, .instruction = array};
    return true;
}
