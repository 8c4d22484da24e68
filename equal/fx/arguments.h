// What ops are given: `torch.ops.aten.sum.dim_IntList(x, [0], True, dtype = torch.float32)`.
#ifndef PLACE_EQUAL_FX_ARGUMENTS_H
#define PLACE_EQUAL_FX_ARGUMENTS_H

#include "equal/fx/reader.h"

enum argument_kind {
    ARGUMENT_NONE,
    ARGUMENT_TRUTH,
    ARGUMENT_INTEGER,
    ARGUMENT_BY_RANK, // a whole number that each device has its own of
    ARGUMENT_REAL,
    ARGUMENT_STRING,
    ARGUMENT_WORD, // torch.float32, device(type='cpu')
    ARGUMENT_NAMED,
    ARGUMENT_LIST
};
struct argument {
    enum argument_kind kind;
    struct word at;      // as it is written; a string without its quotes
    struct word keyword; // empty: it is given by its place
    union {
        int64_t integer; // a truth's is 0 or 1
        double real;
        const int64_t *by_rank; // [devices]
        const struct named_value *named;
        struct {
            const struct argument *of;
            uint32_t n;
        } list;
    };
};

static inline bool fx_is_integer(const struct argument *a) {
    return a->kind == ARGUMENT_INTEGER || a->kind == ARGUMENT_TRUTH;
}
// What has a name, from here on; it is NAMED_NOTHING as long as nothing has it.
struct named_value *fx_named(struct reader *, struct word name);
// The value at the place. A name that nothing before it has is an error.
bool fx_read_argument(struct reader *, struct argument *);
// Values in parentheses or brackets, of which the first is behind us, up to the one that closes them.
bool fx_read_arguments(struct reader *, char close, struct argument *list);

#endif
