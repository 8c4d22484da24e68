// Where something stands in a source: a range of bytes. Line and column are computed when printing.
#ifndef PLACE_IR_SPAN_H
#define PLACE_IR_SPAN_H

#include <stdbool.h>
#include <stdint.h>

#define NO_SOURCE UINT32_MAX

struct span {
    uint32_t source;     // index into the compilation's source files; NO_SOURCE: nowhere
    uint32_t begin, end; // bytes; `end` is exclusive
};

static inline bool span_equal(struct span a, struct span b) {
    return a.source == b.source && a.begin == b.begin && a.end == b.end;
}

// The sources themselves: ir/source.h.

#endif
