// What every part of the text is printed of: words and lines, numbers, axes, dimensions and types; see
// print.h.
#include "ir/print.h"

#include <stdarg.h>
#include <stdlib.h>

enum { COLUMN_LIMIT = 100 };

void put(struct printer *p, const char *format, ...) {
    if (p->column == 0)
        p->column = fprintf(p->to, "%*s", p->indent * 2, "");
    va_list args;
    va_start(args, format);
    p->column += vfprintf(p->to, format, args);
    va_end(args);
}

void end_line(struct printer *p) {
    fputc('\n', p->to);
    p->column = 0;
}

void put_spanned_end(struct printer *p, struct span span) {
    if (p->options->sources && span.source != NO_SOURCE) {
        struct source_place place = source_place(p->options->sources, span);
        put(p, " @%u:%u", place.line, place.column);
    }
    end_line(p);
}

void break_before(struct printer *p, int width) {
    if (p->column + width <= COLUMN_LIMIT)
        return;
    end_line(p);
    put(p, "    ");
}

const char *real_text(double value, char text[REAL_TEXT_BYTES]) {
    for (int digits = 1; digits <= 17; digits++) {
        snprintf(text, REAL_TEXT_BYTES, "%.*g", digits, value);
        if (strtod(text, NULL) == value)
            break;
    }
    return text;
}

void put_real(struct printer *p, double value) {
    char text[REAL_TEXT_BYTES];
    put(p, "%s", real_text(value, text));
}

void put_axes(struct printer *p, const struct axis_list *axes) {
    for (unsigned i = 0; i < axes->n; i++)
        put(p, "%s%s", i ? "*" : "", p->job->mesh.axes[axes->axes[i]].name);
}

void put_dims(struct printer *p, const struct dim *dims, unsigned rank,
              const struct layout *layout) {
    put(p, "[");
    for (unsigned i = 0; i < rank; i++) {
        put(p, "%s%s=%" PRId64, i ? ", " : "", dimension_names[dims[i].dimension], dims[i].size);
        if (layout && layout->cuts[i].n) {
            put(p, "/");
            put_axes(p, &layout->cuts[i]);
            if (layout->zigzag[i])
                put(p, " zigzag %s", p->job->mesh.axes[layout->zigzag[i] - 1].name);
        }
    }
    put(p, "]");
}

void put_roles(struct printer *p, const uint8_t *roles, unsigned n) {
    if (n == 0)
        return;
    put(p, " role ");
    for (unsigned i = 0; i < n; i++)
        put(p, "%s%s", i ? "." : "", role_names[roles[i]]);
}

void put_type(struct printer *p, const struct tensor_type *type) {
    put(p, "%s", dtype_names[type->dtype]);
    put_dims(p, type->dims, type->rank, NULL);
}
