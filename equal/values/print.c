// Terms as text: sum(i: input3[i, j] * exp(...)[i]).
#include "equal/values/print.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct printing {
    const struct calculus *c;
    FILE *out;
    bool of_array; // coordinates are an array's, not a term's
};

static void print_scaled(const struct printing *, struct scaled, int levels);

static void print_coordinate(const struct printing *p, int64_t coordinate) {
    if (p->of_array && coordinate == COORDINATE_DEVICE)
        fprintf(p->out, "device");
    else if (p->of_array)
        fprintf(p->out, "d%d", (int)coordinate);
    else if (coordinate < 18)
        fprintf(p->out, "%c", 'i' + (char)coordinate);
    else
        fprintf(p->out, "i%d", (int)coordinate);
}

static void print_affine(const struct printing *p, const struct affine *index) {
    bool first = true;
    for (uint32_t i = 0; i < index->n; i++) {
        const struct piece *piece = &index->pieces[i];
        fprintf(p->out, "%s", first ? "" : " + ");
        if (piece->coefficient != 1)
            fprintf(p->out, "%lld ", (long long)piece->coefficient);
        print_coordinate(p, piece->coordinate);
        if (piece->stride != 1)
            fprintf(p->out, "/%lld", (long long)piece->stride);
        if (piece->shift)
            fprintf(p->out, "+%lld", (long long)piece->shift);
        fprintf(p->out, "%%%lld", (long long)piece->extent);
        first = false;
    }
    if (index->base || first)
        fprintf(p->out, first ? "%lld" : " + %lld", (long long)index->base);
}

static void print_view(const struct printing *p, const struct view *view) {
    for (uint32_t i = 0; i < view->n; i++) {
        fprintf(p->out, i ? ", " : "[");
        print_affine(p, &view->of[i]);
    }
    fprintf(p->out, view->n ? "]" : "");
}

static void print_scale(const struct printing *p, scale_id id, int levels) {
    const struct scale *scale = scale_get(&p->c->terms, id);
    if (scale->primes)
        fprintf(p->out, "%.6g ", scale_number_value(&p->c->terms, scale));
    else if (scale->denominator != 1)
        fprintf(p->out, "%lld/%lld ", (long long)scale->numerator, (long long)scale->denominator);
    else if (scale->numerator != 1)
        fprintf(p->out, "%lld ", (long long)scale->numerator);
    for (uint32_t i = 0; i < scale->n_factors; i++) {
        print_scaled(p, (struct scaled){scale->factors[i].of, SCALE_ONE}, levels - 1);
        if (scale->factors[i].power != 1)
            fprintf(p->out, "^%d", scale->factors[i].power);
        fputc(' ', p->out);
    }
    if (scale->serial)
        fprintf(p->out, "(too much) ");
}

static const char *kind_name(int kind) {
    switch (kind) {
    case NODE_SUM:
        return "plus";
    case KIND_PRODUCT:
        return "product";
    case KIND_LARGEST:
        return "largest";
    case KIND_LEAST:
        return "least";
    case KIND_ALL:
        return "all";
    case KIND_ANY:
        return "any";
    case KIND_JOINED:
        return "together";
    case KIND_FLAT:
        return "flat";
    case KIND_AT_LEAST:
        return "not_negative";
    case KIND_ABOVE:
        return "positive";
    case KIND_IS_ZERO:
        return "is_zero";
    case KIND_OPAQUE:
        return "opaque";
    case KIND_ARRAY:
        return "constants";
    case KIND_POWER:
        return "power";
    case KIND_POINTWISE + PRIM_OPAQUE:
        return "function";
    default:
        return kind >= KIND_POINTWISE ? primitive_rows[kind - KIND_POINTWISE].word : "?";
    }
}

static void print_leaf(const struct printing *p, struct term term) {
    uint32_t attributes = term_node(&p->c->terms, term)->key->attributes;
    double number;
    switch (term_kind(&p->c->terms, term)) {
    case NODE_ZERO:
        fprintf(p->out, "0");
        break;
    case NODE_ONE:
        fprintf(p->out, "1");
        break;
    case KIND_INPUT:
        fprintf(p->out, "input%u", attributes - 1);
        break;
    case KIND_UNKNOWN:
        fprintf(p->out, "unknown%u", attributes);
        break;
    case KIND_INDEX:
        fprintf(p->out, "index");
        break;
    case KIND_NUMBER:
        memcpy(&number, value_attributes(p->c, term), sizeof number);
        fprintf(p->out, "%g", number);
        break;
    default:
        fprintf(p->out, "%s", kind_name(term_kind(&p->c->terms, term)));
    }
}

static void print_flags(const struct printing *p, struct term term) {
    int kind = term_kind(&p->c->terms, term);
    if (kind < KIND_PRODUCT || kind > KIND_ANY)
        return;
    const int64_t *words = value_attributes(p->c, term);
    for (int64_t d = 0; d < words[0]; d++)
        if (words[1 + d]) {
            fprintf(p->out, " %c<%lld", 'i' + (char)d, (long long)words[1 + words[0] + d]);
        }
}

static void print_term(const struct printing *p, struct term term, int levels) {
    const struct terms *terms = &p->c->terms;
    struct printing inner = {p->c, p->out, false};
    uint32_t n = term_node(terms, term)->n_parts;
    if (term_kind(terms, term) == KIND_VIEW) {
        const int64_t *words = value_attributes(p->c, term);
        struct view view;
        view_get(&p->c->views, (view_id)words[1 + words[0]], &view);
        print_term(p, term_part(terms, term, 0).of, levels);
        print_view(&inner, &view);
        return;
    }
    print_leaf(p, term);
    if (n == 0)
        return;
    fprintf(p->out, "(");
    if (levels <= 0)
        fprintf(p->out, "#%u", term.node);
    for (uint32_t i = 0; i < n && levels > 0; i++) {
        fprintf(p->out, i ? ", " : "");
        print_scaled(p, term_part(terms, term, i), levels - 1);
    }
    print_flags(p, term);
    fprintf(p->out, ")");
}

static void print_scaled(const struct printing *p, struct scaled of, int levels) {
    print_scale(p, of.scale, levels);
    print_term(p, of.of, levels);
}

const char *term_words(const struct calculus *c, struct scaled of, int levels,
                       struct arena *arena) {
    return value_text(c, (struct viewed){of, VIEW_SCALAR}, levels, arena);
}

const char *value_text(const struct calculus *c, struct viewed value, int levels,
                       struct arena *arena) {
    char *bytes = NULL;
    size_t n = 0;
    struct printing p = {c, memory_given(open_memstream(&bytes, &n)), true};
    struct view view;
    print_scaled(&p, value.of, levels);
    view_get(&c->views, value.view, &view);
    print_view(&p, &view);
    memory_written(p.out);
    const char *text = arena_string(arena, bytes, n);
    free(bytes);
    return text;
}

// ---- differences ------------------------------------------------------------------------------

static struct scaled part_inside(const struct calculus *c, struct term term, uint32_t i) {
    struct scaled part = term_part(&c->terms, term, i);
    if (term_kind(&c->terms, part.of) == KIND_VIEW)
        part.of = term_part(&c->terms, part.of, 0).of;
    return part;
}

static bool has_part(const struct calculus *c, struct term term, struct scaled part, bool scales) {
    for (uint32_t i = 0; i < term_node(&c->terms, term)->n_parts; i++) {
        struct scaled own = part_inside(c, term, i);
        if (term_equal(own.of, part.of) && (!scales || own.scale == part.scale))
            return true;
    }
    return false;
}

// A part of each that the other does not have, made alike.
static bool find_pair(const struct calculus *c, struct term a, struct term b, struct scaled *x,
                      struct scaled *y) {
    for (uint32_t i = 0; i < term_node(&c->terms, a)->n_parts; i++) {
        *x = part_inside(c, a, i);
        if (has_part(c, b, *x, false))
            continue;
        for (uint32_t k = 0; k < term_node(&c->terms, b)->n_parts; k++) {
            *y = part_inside(c, b, k);
            if (!has_part(c, a, *y, false) &&
                term_kind(&c->terms, x->of) == term_kind(&c->terms, y->of) &&
                term_node(&c->terms, x->of)->n_parts == term_node(&c->terms, y->of)->n_parts &&
                term_node(&c->terms, x->of)->n_parts)
                return true;
        }
    }
    return false;
}

void term_difference(const struct calculus *c, struct scaled *a, struct scaled *b) {
    struct scaled x, y;
    while (find_pair(c, a->of, b->of, &x, &y)) {
        *a = x;
        *b = y;
    }
}
