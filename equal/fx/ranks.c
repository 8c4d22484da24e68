// What texts of ranks differ in. They are walked through together: a rank's number is in the part of an array that it
// takes, and in what is added to an index, and nowhere else.
#include "equal/fx/ranks.h"

#include <string.h>

struct walk {
    const char *at, *begin, *end;
};

// Where the next text begins: a line that begins with `class`.
static const char *next_text(const struct reader *r, const char *from) {
    static const char mark[] = "\nclass ";
    const char *found = strstr(from, mark);
    return found ? found + 1 : r->s.end;
}

// The whole number that begins here; false: none does, or it goes on as another one.
static bool number_at(const struct walk *w, const char **behind, int64_t *number) {
    const char *at = w->at;
    bool is_negative = *at == '-';
    if (w->at > w->begin && !strchr("([, =", w->at[-1]))
        return false;
    at += is_negative;
    *number = 0;
    const char *digits = at;
    for (; at < w->end && *at >= '0' && *at <= '9' && *number < INT64_C(1) << 58; at++)
        *number = 10 * *number + (*at - '0');
    *behind = at;
    *number = is_negative ? -*number : *number;
    return at > digits && (at == w->end || strchr(",)] ;\n", *at));
}

// The first of the numbers that is not before a place.
static uint32_t find_place(const struct reader *r, const char *at) {
    uint32_t low = 0, high = r->n_varying;
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        if (r->varying[middle].at < at)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void keep(struct reader *r, const char *at, int64_t of_first, uint32_t rank,
                 int64_t number) {
    uint32_t i = find_place(r, at);
    if (i == r->n_varying || r->varying[i].at != at) {
        struct varying_number new = {at, ARENA_ARRAY(r->s.scratch, int64_t, r->n_devices), false};
        for (uint32_t d = 0; d < r->n_devices; d++)
            new.of[d] = of_first;
        ARENA_PUSH(r->s.scratch, r->varying, r->n_varying, r->varying_cap, new);
        memmove(r->varying + i + 1, r->varying + i, (r->n_varying - 1 - i) * sizeof new);
        r->varying[i] = new;
    }
    r->varying[i].of[rank] = number;
}

static bool fail_difference(struct reader *r, const char *at, uint32_t rank) {
    struct diagnostic *d =
        scan_report(&r->s, E908, (struct word){at, at < r->s.end},
                    "the text of rank %u differs here in more than a number", rank);
    if (d)
        diagnostic_help(d, "trace all ranks of one program, and of arrays that divide by them");
    return false;
}

static bool is_blank(char c) {
    return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

// A comment says where the program was traced, which is no matter of ranks.
static void skip_line(struct walk *w) {
    while (w->at < w->end && *w->at != '\n')
        w->at++;
}

// Names that are others in the other text: of each the one of the first.
struct renamed {
    struct words names;
    struct word *of; // by the number of the other's name
    uint32_t n, cap;
};
// Values that lines define may be numbered otherwise, and process groups that are of one kind have numbers of their own.
struct other_names {
    struct renamed values, groups;
};

static bool is_of_name(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '.';
}

static struct word name_at(const struct walk *w) {
    struct word name = {w->at, 0};
    while (w->at + name.length < w->end && is_of_name(name.text[name.length]))
        name.length++;
    return name;
}

static bool begins_line(const struct walk *w) {
    const char *at = w->at;
    while (at > w->begin && at[-1] == ' ')
        at--;
    return at == w->begin || at[-1] == '\n';
}

static bool are_equal(struct word a, struct word b) {
    return a.length == b.length && memcmp(a.text, b.text, a.length) == 0;
}

static bool is_group(const struct walk *w, struct word name) {
    for (uint32_t i = 0; i < name.length; i++)
        if (name.text[i] < '0' || name.text[i] > '9')
            return false;
    return w->at > w->begin && w->at[-1] == '\'';
}

// Whether the other's name is the first's. What has no name yet gets it, unless another one has.
static bool rename_to(struct reader *r, struct renamed *renamed, struct word a, struct word b) {
    uint32_t number = words_find(&renamed->names, b);
    if (number != UINT32_MAX)
        return are_equal(renamed->of[number], a);
    words_number(&renamed->names, b);
    ARENA_PUSH(r->s.scratch, renamed->of, renamed->n, renamed->cap, a);
    return true;
}

// Two groups of one rank are two of the other.
static bool take_groups(struct reader *r, struct renamed *groups, struct word a, struct word b) {
    for (uint32_t i = 0; i < groups->n; i++)
        if (are_equal(groups->of[i], a) && words_find(&groups->names, b) != i)
            return false;
    return rename_to(r, groups, a, b);
}

// Whether two names are the same value's, or the same word.
static bool take_names(struct reader *r, struct other_names *names, struct walk *one,
                       struct walk *other) {
    struct word a = name_at(one), b = name_at(other);
    bool defines = begins_line(one) && begins_line(other);
    bool are_groups = is_group(one, a) && is_group(other, b);
    one->at += a.length;
    other->at += b.length;
    if (are_groups)
        return take_groups(r, &names->groups, a, b);
    if (words_find(&names->values.names, b) != UINT32_MAX ||
        (defines && !memchr(a.text, '.', a.length) && !memchr(b.text, '.', b.length)))
        return rename_to(r, &names->values, a, b);
    return are_equal(a, b);
}

// Whether a number says where an array lies, as in device(type='cuda', index=1), which is no matter of values.
static bool is_of_device(const struct walk *w) {
    static const char mark[] = "index=", device[] = "device(";
    size_t length = sizeof mark - 1, before = (size_t)(w->at - w->begin);
    if (before < length || memcmp(w->at - length, mark, length) != 0)
        return false;
    const char *open = w->at;
    while (open > w->begin && open[-1] != '(' && open[-1] != '\n')
        open--;
    return (size_t)(open - w->begin) >= sizeof device - 1 &&
           memcmp(open - (sizeof device - 1), device, sizeof device - 1) == 0;
}

static bool compare(struct reader *r, struct walk one, struct walk other, uint32_t rank) {
    struct other_names names = {{.names = {.arena = r->s.scratch}},
                                {.names = {.arena = r->s.scratch}}};
    while (one.at < one.end && other.at < other.end) {
        const char *behind_one, *behind_other;
        int64_t a, b;
        if (*one.at == '#' && *other.at == '#') {
            skip_line(&one);
            skip_line(&other);
        } else if (number_at(&one, &behind_one, &a) && number_at(&other, &behind_other, &b)) {
            if (a != b && !is_of_device(&one))
                keep(r, one.at, a, rank, b);
            one.at = behind_one;
            other.at = behind_other;
        } else if (is_of_name(*one.at) && is_of_name(*other.at)) {
            const char *at = one.at;
            if (!take_names(r, &names, &one, &other))
                return fail_difference(r, at, rank);
        } else if (*one.at++ != *other.at++) {
            return fail_difference(r, one.at - 1, rank);
        }
    }
    while (one.at < one.end && is_blank(*one.at))
        one.at++;
    while (other.at < other.end && is_blank(*other.at))
        other.at++;
    return (one.at == one.end && other.at == other.end) || fail_difference(r, one.at, rank);
}

bool fx_compare_ranks(struct reader *r) {
    const char *first = r->s.at, *begin = next_text(r, first), *first_end = begin;
    uint32_t n = 1;
    for (const char *at = begin; at < r->s.end; at = next_text(r, at))
        n++;
    if (n > 1 && n != r->n_devices) {
        struct diagnostic *d = scan_report(&r->s, E908, (struct word){begin, 5},
                                           "there are %u texts, of a program of %u device%s", n,
                                           r->n_devices, plural_s(r->n_devices));
        if (d)
            diagnostic_help(d, "give the text of one rank, or those of all, in the order of ranks");
        return false;
    }
    for (uint32_t rank = 1; rank < n; rank++) {
        const char *end = next_text(r, begin);
        struct walk one = {first, first, first_end}, other = {begin, begin, end};
        if (!compare(r, one, other, rank))
            return false;
        begin = end;
    }
    return true;
}

const int64_t *fx_numbers_of_ranks(struct reader *r, const char *at) {
    uint32_t i = find_place(r, at);
    if (i == r->n_varying || r->varying[i].at != at)
        return NULL;
    r->varying[i].is_heard = true;
    return r->varying[i].of;
}

bool fx_heard_ranks(struct reader *r) {
    for (uint32_t i = 0; i < r->n_varying; i++)
        if (!r->varying[i].is_heard)
            return scan_fail(&r->s, E908, (struct word){r->varying[i].at, 1},
                             "each rank has its own number here");
    return true;
}
