// Attributes, each by the form that its row gives, into the field that its row names.
#define _GNU_SOURCE // memmem
#include "equal/hlo/attributes.h"

#include <stddef.h>
#include <string.h>

enum form {
    FORM_NUMBERS,
    FORM_ONE,
    FORM_NUMBER,
    FORM_TRUTH,
    FORM_QUOTED,
    FORM_CALLED,
    FORM_GROUPS,
    FORM_DIRECTION,
    FORM_SLICES,
    FORM_PADDING,
    FORM_PAIRS,
    FORM_METADATA,
    FORM_SHARDING,
    FORM_FRONTEND,
    FORM_NOTHING,
};

static const struct attribute_row {
    const char *text;
    enum form form;
    size_t field;
} attribute_rows[N_ATTRIBUTES] = {
#define ATTRIBUTE(name, text, form, field) {text, FORM_##form, offsetof(struct draft, field)},
#include "equal/hlo/attributes.def"
};
_Static_assert(N_ATTRIBUTES <= 64, "attributes that were seen are bits of 64");

enum need { NOT_TAKEN, TAKEN, NEEDED };
static const unsigned char takes[N_PRIMITIVES][N_ATTRIBUTES] = {
#define TAKES(primitive, attribute, needed)                                                        \
    [PRIM_##primitive][ATTRIBUTE_##attribute] = needed ? NEEDED : TAKEN,
#include "equal/hlo/attributes.def"
};

struct words attribute_words(struct arena *scratch) {
    struct words words = {.arena = scratch};
    for (int i = 0; i < N_ATTRIBUTES; i++)
        words_number(&words, (struct word){attribute_rows[i].text,
                                           (uint32_t)strlen(attribute_rows[i].text)});
    return words;
}

static bool read_numbers(struct scanner *s, struct number_list *list) {
    int64_t *numbers = NULL, number;
    uint32_t n = 0, cap = 0;
    if (!scan_need(s, '{'))
        return false;
    while (!scan_take(s, '}')) {
        if ((n && !scan_need(s, ',')) || !scan_number(s, &number))
            return false;
        ARENA_PUSH(s->scratch, numbers, n, cap, number);
    }
    *list = (struct number_list){arena_copy(s->arena, numbers, n * sizeof *numbers), n};
    return true;
}

static bool read_one(struct scanner *s, struct number_list *list) {
    int64_t number;
    if (!scan_number(s, &number))
        return false;
    *list = (struct number_list){arena_copy(s->arena, &number, sizeof number), 1};
    return true;
}

static bool read_direction(struct scanner *s, enum direction *direction) {
    static const char *const words[] = {
        [DIRECTION_EQ] = "EQ", [DIRECTION_NE] = "NE", [DIRECTION_GE] = "GE",
        [DIRECTION_GT] = "GT", [DIRECTION_LE] = "LE", [DIRECTION_LT] = "LT"};
    struct word word = scan_word(s);
    for (int i = DIRECTION_EQ; i <= DIRECTION_LT; i++)
        if (word_is(word, words[i])) {
            *direction = (enum direction)i;
            return true;
        }
    s->at = s->failed ? s->end : word.text;
    return scan_expected(s, "EQ, NE, GE, GT, LE or LT");
}

// "{[0:8], [1:7:2]}"
static bool read_slices(struct scanner *s, struct draft *draft) {
    struct slice_range *slices = NULL;
    uint32_t n = 0, cap = 0;
    if (!scan_need(s, '{'))
        return false;
    while (!scan_take(s, '}')) {
        struct slice_range range = {.stride = 1};
        if ((n && !scan_need(s, ',')) || !scan_need(s, '[') || !scan_number(s, &range.start) ||
            !scan_need(s, ':') || !scan_number(s, &range.limit) ||
            (scan_take(s, ':') && !scan_number(s, &range.stride)) || !scan_need(s, ']'))
            return false;
        ARENA_PUSH(s->scratch, slices, n, cap, range);
    }
    draft->to.slices = arena_copy(s->arena, slices, n * sizeof *slices);
    draft->n_slices = n;
    return true;
}

// "0_1x2_3_1": below and above each dimension, and between its elements. Empty where there are no dimensions.
static bool read_padding(struct scanner *s, struct draft *draft) {
    struct padding_range *padding = NULL;
    uint32_t n = 0, cap = 0;
    char c = scan_peek(s);
    if (c == '-' || (c >= '0' && c <= '9'))
        do {
            struct padding_range range = {0};
            if (!scan_number(s, &range.low) || !scan_need(s, '_') || !scan_number(s, &range.high) ||
                (scan_take(s, '_') && !scan_number(s, &range.interior)))
                return false;
            ARENA_PUSH(s->scratch, padding, n, cap, range);
        } while (scan_take(s, 'x'));
    draft->to.padding = arena_copy(s->arena, padding, n * sizeof *padding);
    draft->n_padding = n;
    return true;
}

static bool read_called_one(struct reader *r, enum attribute attribute,
                            struct called_list *called) {
    struct scanner *s = &r->s;
    scan_take(s, '%');
    struct word name = scan_word(s);
    if (!name.length)
        return scan_expected(s, "a computation's name");
    uint32_t computation = find_computation(r, name);
    if (computation == UINT32_MAX)
        return false;
    ARENA_PUSH(s->scratch, called->of, called->n, called->cap,
               (struct called_by){attribute, computation});
    return true;
}

static bool read_called(struct reader *r, enum attribute attribute, struct called_list *called) {
    if (!scan_take(&r->s, '{'))
        return read_called_one(r, attribute, called);
    for (uint32_t before = called->n; !scan_take(&r->s, '}');)
        if ((called->n > before && !scan_need(&r->s, ',')) ||
            !read_called_one(r, attribute, called))
            return false;
    return true;
}

// `{op_name="jit(f)/mul" source_file="train.py" source_line=73 stack_frame_id=12}`, of which nothing must be there.
static bool read_metadata(struct reader *r, struct draft *draft) {
    struct scanner *s = &r->s;
    struct word file = {0};
    int64_t line = 0, frame = 0;
    if (!scan_need(s, '{'))
        return false;
    while (!scan_take(s, '}')) {
        struct word name = scan_word(s);
        if (!name.length)
            return scan_expected(s, "`}`");
        if (!scan_need(s, '='))
            return false;
        bool good = word_is(name, "op_name")          ? scan_quoted(s, &draft->path)
                    : word_is(name, "source_file")    ? scan_quoted(s, &file)
                    : word_is(name, "source_line")    ? scan_number(s, &line)
                    : word_is(name, "stack_frame_id") ? scan_number(s, &frame)
                    : scan_peek(s) == '"'             ? scan_quoted(s, &name)
                    : *s->at == '{' || *s->at == '['  ? scan_balanced(s)
                                                      : scan_word(s).length > 0;
        if (!good)
            return scan_expected(s, "a value");
    }
    draft->frame = frame_of_table(&r->frames, frame);
    if (!draft->frame && file.length)
        draft->frame = frame_of_line(s, &r->frames, file, line);
    return true;
}

static bool read_raw(struct scanner *s, struct word *word) {
    scan_blanks(s);
    const char *begin = s->at;
    if (!scan_value(s))
        return false;
    *word = scan_from(s, begin);
    return true;
}

bool mentions_partitioner(struct word value) {
    static const char shardy[] = "xla.sdy.";
    return memmem(value.text, value.length, shardy, sizeof shardy - 1);
}

static bool read_form(struct reader *r, enum attribute attribute, struct draft *draft) {
    struct scanner *s = &r->s;
    void *field = (char *)draft + attribute_rows[attribute].field;
    switch (attribute_rows[attribute].form) {
    case FORM_NUMBERS:
        return read_numbers(s, field);
    case FORM_ONE:
        return read_one(s, field);
    case FORM_NUMBER:
        return scan_number(s, field);
    case FORM_TRUTH:
        return scan_truth(s, field);
    case FORM_QUOTED:
        return scan_quoted(s, field);
    case FORM_CALLED:
        return read_called(r, attribute, field);
    case FORM_GROUPS:
        return skip_groups(s, field);
    case FORM_DIRECTION:
        return read_direction(s, field);
    case FORM_SLICES:
        return read_slices(s, draft);
    case FORM_PADDING:
        return read_padding(s, draft);
    case FORM_PAIRS: {
        struct device_pair *pairs = NULL;
        bool good = read_pairs(s, &pairs, &draft->to.n_pairs);
        draft->to.pairs = pairs;
        return good;
    }
    case FORM_METADATA:
        return read_metadata(r, draft);
    case FORM_SHARDING:
        return read_raw(s, field);
    case FORM_FRONTEND: {
        struct word value = {0};
        bool good = read_raw(s, &value);
        *(bool *)field = good && mentions_partitioner(value);
        return good;
    }
    case FORM_NOTHING:
        return scan_value(s);
    }
    return false;
}

static bool is_of_anything(enum form form) {
    return form == FORM_METADATA || form == FORM_SHARDING || form == FORM_FRONTEND ||
           form == FORM_NOTHING;
}

// An attribute goes into its field, or is kept as text, or both, or is passed over. What is called is known by its
// number: a name says nothing outside of its text.
static bool read_one_attribute(struct reader *r, enum primitive primitive, struct draft *draft) {
    struct scanner *s = &r->s;
    struct word name = scan_word(s), value;
    if (!name.length)
        return scan_expected(s, "an attribute");
    if (!scan_need(s, '='))
        return false;
    uint32_t attribute = words_find(&r->attributes, name);
    bool is_known = attribute != UINT32_MAX;
    bool of_anything = is_known && is_of_anything(attribute_rows[attribute].form);
    bool is_called = is_known && attribute_rows[attribute].form == FORM_CALLED;
    bool is_taken = is_known && (of_anything || takes[primitive][attribute] ||
                                 (is_called && draft->keeps_others));
    if (is_taken && has_attribute(draft, attribute))
        return scan_fail(s, E902, name, "`%.*s` is said twice", WORD(name));
    if (is_taken)
        draft->seen |= UINT64_C(1) << attribute;
    bool good = is_taken                                ? read_form(r, attribute, draft)
                : attribute == ATTRIBUTE_REPLICA_GROUPS ? skip_groups(s, &value)
                                                        : scan_value(s);
    if (good && draft->keeps_others && !of_anything && !is_called)
        ARENA_PUSH(s->scratch, draft->others, draft->n_others, draft->others_cap,
                   scan_from(s, name.text));
    return good;
}

bool read_attributes(struct reader *r, enum primitive primitive, struct draft *draft) {
    while (scan_take(&r->s, ','))
        if (!read_one_attribute(r, primitive, draft))
            return false;
    return !r->s.failed;
}

bool need_attributes(struct reader *r, enum primitive primitive, const struct draft *draft,
                     struct word name) {
    for (int i = 0; i < N_ATTRIBUTES; i++)
        if (takes[primitive][i] == NEEDED && !has_attribute(draft, i))
            return scan_fail(&r->s, E902, name, "`%s` without `%s=`",
                             primitive_rows[primitive].word, attribute_rows[i].text);
    return true;
}
