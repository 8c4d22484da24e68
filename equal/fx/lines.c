// Lines:
//
//     mm: "f32[4, 8]" = torch.ops.aten.mm.default(x, t);  x = t = None
//     getitem: "f32[4, 2]" = split[0]
//     x_1: "f32[4, 8]"; y_1: "f32[4]";                    what is given, before it is taken out of what holds it:
//     x_1, y_1, = fx_pytree.tree_flatten_spec([x, y], self._in_spec)
//     return pytree.tree_unflatten([add, None], self._out_spec)
#include "equal/fx/lines.h"

#include <string.h>

#include "equal/fx/annotations.h"
#include "equal/fx/frames.h"
#include "equal/fx/moves.h"
#include "equal/fx/operations.h"
#include "equal/fx/ranks.h"

static bool define(struct reader *r, struct word name, struct named_value value) {
    struct named_value *named = fx_named(r, name);
    if (named->kind != NAMED_NOTHING && named->kind != NAMED_DECLARED)
        return scan_fail(&r->s, E902, name, "`%.*s` is defined twice", WORD(name));
    *named = value;
    return true;
}

bool fx_add_parameter(struct reader *r, struct word name, const struct array_shape *shape) {
    struct call c = {.r = r, .name = name, .op = name};
    struct instruction_attributes *with = fx_attributes(&c);
    with->index = r->n_parameters++;
    uint32_t made = fx_emit(&c, PRIM_PARAMETER, shape, NULL, 0, with);
    return made != NOT_BUILT &&
           define(r, name, (struct named_value){.kind = NAMED_ARRAY, .instruction = made});
}

// ---- what is given ----------------------------------------------------------------------------

// `a, b, = fx_pytree.tree_flatten_spec([...], self._in_spec)`: what was declared is an array, others are none.
static bool read_flattened(struct reader *r, struct word name) {
    struct scanner *s = &r->s;
    do {
        struct named_value *named = fx_named(r, name);
        bool good = named->kind == NAMED_DECLARED
                        ? fx_add_parameter(r, name, named->shape)
                        : define(r, name, (struct named_value){.kind = NAMED_OTHER});
        if (!good)
            return false;
        if (!scan_take(s, ','))
            break;
        name = scan_word(s);
    } while (name.length);
    if (!scan_need(s, '='))
        return false;
    struct word from = scan_word(s);
    if (!word_is(from, "fx_pytree.tree_flatten_spec"))
        return scan_fail(s, E902, from, "expected `fx_pytree.tree_flatten_spec`");
    return scan_peek(s) == '(' ? scan_balanced(s) : scan_expected(s, "`(`");
}

// ---- what is made -----------------------------------------------------------------------------

// Part `i` of what has several.
static bool read_element(struct reader *r, const struct result *result, struct named_value *made) {
    struct call c = {.r = r, .name = result->name, .op = result->word, .said = result->said};
    struct named_value of = *fx_named(r, result->word);
    int64_t i;
    if (!scan_need(&r->s, '['))
        return false;
    const int64_t *by_rank = fx_numbers_of_ranks(r, r->s.at);
    if (!scan_number(&r->s, &i) || !scan_need(&r->s, ']'))
        return false;
    uint32_t array = NOT_BUILT;
    const struct array_shape *tuple =
        of.kind == NAMED_ARRAY ? r->instructions[of.instruction].shape : NULL;
    if (by_rank && of.kind == NAMED_PARTS) {
        array = fx_part_by_rank(&c, &of.parts, by_rank);
    } else if (by_rank) {
        return scan_fail(&r->s, E908, result->word, "each rank takes another one of these");
    } else if (of.kind == NAMED_PARTS) {
        array = fx_part(&c, &of.parts, i);
    } else if (tuple && tuple->is_tuple && i >= 0 && i < tuple->n_members) {
        struct instruction_attributes *with = fx_attributes(&c);
        with->index = i;
        array = fx_emit(&c, PRIM_GET_TUPLE_ELEMENT, tuple->members[i], &of.instruction, 1, with);
    } else if (of.kind == NAMED_UNTOLD && result->said) {
        struct instruction_attributes *with = fx_attributes(&c);
        with->target = of.op;
        array = fx_emit(&c, PRIM_OPAQUE, result->said, NULL, 0, with);
    } else if (of.kind == NAMED_UNTOLD) {
        *made = of;
        return true;
    } else {
        return scan_fail(&r->s, of.kind == NAMED_NOTHING ? E904 : E905, result->word,
                         of.kind == NAMED_NOTHING ? "`%.*s` is not defined before this"
                                                  : "`%.*s` has no such part",
                         WORD(result->word));
    }
    if (array == NOT_BUILT)
        return scan_fail(&r->s, E908, result->word, "each rank takes a part of another size");
    if (!fx_hold_shape(&c, &array))
        return false;
    *made = (struct named_value){.kind = NAMED_ARRAY, .instruction = array};
    return true;
}

// What a module holds is not in its text.
static bool fail_attribute(struct reader *r, struct word word) {
    struct diagnostic *d =
        scan_report(&r->s, E903, word, "the text does not have the numbers of `%.*s`", WORD(word));
    if (d)
        diagnostic_help(d, "make it an argument or a buffer of the model, or make it by an op, as "
                           "torch.full or torch.arange");
    return false;
}

static bool fail_expression(struct reader *r, struct word word) {
    struct diagnostic *d =
        scan_report(&r->s, E902, word,
                    "`%.*s` is no call of an op, as `torch.ops.aten.mm.default(...)`", WORD(word));
    if (d)
        diagnostic_help(d, "this may be a graph before aot_autograd: take the one behind it, or "
                           "that of torch.export");
    return false;
}

// What stands behind `=`.
static bool read_value(struct reader *r, struct result *result, struct named_value *made) {
    struct scanner *s = &r->s;
    result->word = scan_word(s);
    if (!result->word.length)
        return scan_expected(s, "a call of an op");
    if (result->word.length > 5 && memcmp(result->word.text, "self.", 5) == 0)
        return fail_attribute(r, result->word);
    if (*s->at == '[')
        return read_element(r, result, made);
    struct argument list;
    if (*s->at != '(')
        return fail_expression(r, result->word);
    s->at++;
    return fx_read_arguments(r, ')', &list) && fx_operate(r, result, &list, made);
}

// `;  x = t = None`: names that nothing needs from here on.
static bool skip_deleted(struct reader *r) {
    struct scanner *s = &r->s;
    while (scan_take(s, ';')) {
        const char *begin = s->at;
        struct word word = scan_word(s), last = word;
        bool is_deleted = false;
        while (word.length && scan_peek(s) == '=' && s->at[1] != '=') {
            s->at++;
            last = word = scan_word(s);
            is_deleted = true;
        }
        if (!is_deleted || !word_is(last, "None")) { // the next line's beginning
            s->at = s->failed ? s->end : begin;
            return !s->failed;
        }
    }
    return !s->failed;
}

static bool read_assignment(struct reader *r, struct word name) {
    struct scanner *s = &r->s;
    struct result result = {.name = name};
    struct named_value made = {.kind = NAMED_NOTHING};
    bool is_said = scan_take(s, ':');
    if (is_said && !fx_read_annotation(r, &result.said))
        return false;
    if (is_said && scan_peek(s) != '=') {
        scan_take(s, ';');
        return define(r, name, (struct named_value){.kind = NAMED_DECLARED, .shape = result.said});
    }
    if (!is_said && scan_peek(s) == ',')
        return read_flattened(r, name);
    if (!scan_need(s, '=') || !read_value(r, &result, &made))
        return false;
    return define(r, name, made) && skip_deleted(r);
}

// ---- what is returned -------------------------------------------------------------------------

struct returned {
    uint32_t *of;
    uint32_t n, cap;
};

// Arrays, in the order of the list; what is none of them is passed over.
static bool add_returned(struct reader *r, const struct argument *a, struct returned *to) {
    if (a->kind == ARGUMENT_LIST) {
        for (uint32_t i = 0; i < a->list.n; i++)
            if (!add_returned(r, &a->list.of[i], to))
                return false;
        return true;
    }
    if (a->kind != ARGUMENT_NAMED || a->named->kind == NAMED_OTHER)
        return true;
    bool is_array =
        a->named->kind == NAMED_ARRAY && !r->instructions[a->named->instruction].shape->is_tuple;
    if (!is_array)
        return scan_fail(&r->s, E905, a->at, "`%.*s` is returned, and is no array of known shape",
                         WORD(a->at));
    ARENA_PUSH(r->s.scratch, to->of, to->n, to->cap, a->named->instruction);
    return true;
}

static bool read_return(struct reader *r, struct word name) {
    struct scanner *s = &r->s;
    struct argument value;
    struct returned returned = {.n = 0};
    struct call c = {.r = r, .name = name, .op = name};
    scan_blanks(s);
    const char *begin = s->at;
    struct word word = scan_word(s);
    if (word_is(word, "pytree.tree_unflatten"))
        scan_need(s, '(');
    else
        s->at = s->failed ? s->end : begin;
    if (!fx_read_argument(r, &value) || !add_returned(r, &value, &returned))
        return false;
    if (returned.n == 0)
        return scan_fail(s, E902, name, "no array is returned");
    r->root = fx_tuple(&c, returned.of, returned.n);
    return r->root != NOT_BUILT;
}

bool fx_read_line(struct reader *r, bool *is_last) {
    struct scanner *s = &r->s;
    *is_last = false;
    fx_read_comments(r);
    struct word name = scan_word(s);
    if (!name.length)
        return scan_expected(s, "a line of the graph, or `return`");
    *is_last = word_is(name, "return");
    return *is_last ? read_return(r, name) : read_assignment(r, name);
}
