// W830: what the file says of how a step goes, where the step that is written out goes otherwise.
//
// How a step goes is the text's affair, and may be; but who says it in the file thinks that it
// holds. So the text is measured, and so is what would be derived in its place; what differs is
// told where the file says it. Defaults, and what `use` brings from a file that is imported, are
// there to be overruled.
#include "driver/edited_inside.h"

bool file_says(const struct compilation *c, const struct origin *origin, struct span *at) {
    while (origin->kind == ORIGIN_USE && origin->inner)
        origin = origin->inner;
    *at = origin->span;
    return origin->kind == ORIGIN_STATEMENT && at->source == c->file.source;
}

struct diagnostic *report_unheard(struct compilation *c, const struct origin *origin,
                                  struct span at, const char *what) {
    struct diagnostic *d = report(c->diagnostics, W830, at,
                                  "`%s` changes nothing here: the step is written out", what);
    if (origin->kind != ORIGIN_STATEMENT)
        diagnostic_origin(d, origin);
    return d;
}

void help_unheard(struct diagnostic *d, const char *what) {
    diagnostic_help(d, "leave `%s` out, or print the step anew without the written-out one", what);
}
