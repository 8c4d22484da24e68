// See readings.h.
#include "verify/proof/readings.h"

#include <string.h>

struct in_layers in_layers_around(const struct cursor *cursor, struct term of) {
    if (cursor->depth != 1) // around none, or one in another, of which each iteration is for itself
        return number_is_symbolic(of.at) ? ALL_LAYERS : (struct in_layers){of.at, of.at + 1};
    const struct loop *loop = &cursor->loops[0]->loop;
    int32_t distance = of.at - cursor->variables[0];
    if (number_is_symbolic(distance)) // it does not go with the loop
        return ALL_LAYERS;
    return (struct in_layers){(int32_t)loop->begin + distance, (int32_t)loop->end + distance};
}

void readings_init(struct readings *r, struct arena *arena) {
    *r = (struct readings){.arena = arena};
}

static struct noted *noted_at(struct readings *r, uint32_t node) {
    static const struct noted nothing = {0};
    while (r->n_noted <= node)
        ARENA_PUSH(r->arena, r->noted, r->n_noted, r->cap_noted, nothing);
    return &r->noted[node];
}

static const struct noted *noted_of(const struct readings *r, uint32_t node) {
    static const struct noted nothing = {0};
    return node < r->n_noted ? &r->noted[node] : &nothing;
}

static struct width narrower(struct width noted, struct width width) {
    return width_equal(noted, WIDTH_NONE) ? width : width_meet(noted, width);
}

static bool same_layers(struct in_layers a, struct in_layers b) {
    return memcmp(&a, &b, sizeof a) == 0;
}

static void add(struct readings *r, uint32_t *list, struct reading reading) {
    for (uint32_t i = *list; i; i = r->all[i - 1].next)
        if (r->all[i - 1].by == reading.by && same_layers(r->all[i - 1].layers, reading.layers)) {
            r->all[i - 1].width = width_join(r->all[i - 1].width, reading.width);
            return;
        }
    reading.next = *list;
    ARENA_PUSH(r->arena, r->all, r->n, r->cap, reading);
    *list = r->n;
}

static bool is_among(struct symbols *symbols, int32_t at, struct in_layers layers) {
    return !number_before(symbols, at, layers.begin) && number_before(symbols, at, layers.end);
}

#define ANY UINT32_MAX // node, or kind

static bool is_by(const struct reading *reading, uint32_t by) {
    return by == ANY || reading->by == by;
}

// What was found in this layer, or else in any.
static struct width find(const struct readings *r, struct builder *builder, uint32_t list,
                         uint32_t by, int32_t at) {
    struct width any = WIDTH_NONE, all = WIDTH_ALL, here = WIDTH_NONE;
    for (uint32_t i = list; i; i = r->all[i - 1].next) {
        if (!is_by(&r->all[i - 1], by))
            continue;
        any = width_join(any, r->all[i - 1].width);
        all = width_meet(all, r->all[i - 1].width);
    }
    // This saves time: most are alike in all layers.
    if (width_equal(any, WIDTH_NONE) || width_equal(any, all))
        return any;
    builder->fixed = true;
    for (uint32_t i = list; i; i = r->all[i - 1].next)
        if (is_by(&r->all[i - 1], by) &&
            is_among(&builder->terms->symbols, at, r->all[i - 1].layers))
            here = width_join(here, r->all[i - 1].width);
    return width_equal(here, WIDTH_NONE) ? any : here;
}

void readings_made(struct readings *r, uint32_t node, struct in_layers layers, struct width width) {
    add(r, &noted_at(r, node)->made, (struct reading){.layers = layers, .width = width});
}

void readings_own(struct readings *r, uint32_t node, struct width width) {
    struct noted *noted = noted_at(r, node);
    noted->own = width_join(noted->own, width);
}

void readings_read(struct readings *r, uint32_t maker, struct in_layers made, unsigned kind,
                   uint32_t node, struct in_layers read, struct width width) {
    add(r, &noted_at(r, maker)->of_operands,
        (struct reading){.by = node, .layers = made, .width = width});
    add(r, &noted_at(r, node)->by_kinds,
        (struct reading){.by = kind, .layers = read, .width = width});
}

static void copy(struct readings *r, uint32_t from, struct in_layers layers, uint32_t *to,
                 struct in_layers named) {
    for (uint32_t i = from; i; i = r->all[i - 1].next) {
        struct reading reading = r->all[i - 1];
        if (!same_layers(reading.layers, layers))
            continue;
        reading.layers = named;
        add(r, to, reading);
    }
}

void readings_named(struct readings *r, uint32_t node, struct in_layers layers, uint32_t leaf,
                    struct in_layers named) {
    noted_at(r, node > leaf ? node : leaf);
    const struct noted *from = &r->noted[node];
    struct noted *to = &r->noted[leaf];
    copy(r, from->made, layers, &to->made, named);
    copy(r, from->of_operands, layers, &to->of_operands, named);
    copy(r, from->by_kinds, layers, &to->by_kinds, named);
    if (!width_equal(from->scaled, WIDTH_NONE))
        to->scaled = narrower(to->scaled, from->scaled);
    if (!width_equal(from->rounded, WIDTH_NONE))
        to->rounded = narrower(to->rounded, from->rounded);
    to->of_update |= from->of_update;
}

void readings_gradient(struct readings *r, uint32_t node, const struct tensor *of) {
    noted_at(r, node)->gradient_of = of;
}

void readings_of_update(struct readings *r, uint32_t node) {
    noted_at(r, node)->of_update = true;
}

void readings_scaled(struct readings *r, uint32_t node, struct width width) {
    struct noted *noted = noted_at(r, node);
    noted->scaled = narrower(noted->scaled, width);
}

void readings_rounded(struct readings *r, uint32_t node, struct width width) {
    struct noted *noted = noted_at(r, node);
    noted->rounded = narrower(noted->rounded, width);
}

struct width readings_own_width(const struct readings *r, uint32_t node) {
    struct width own = noted_of(r, node)->own;
    return width_equal(own, WIDTH_NONE) ? WIDTH_ALL : own;
}

static struct width width_for(const struct readings *r, struct builder *builder, uint32_t kind,
                              struct term read) {
    const struct noted *noted = noted_of(r, read.node);
    struct width width = find(r, builder, noted->by_kinds, kind, read.at);
    return width_equal(width, WIDTH_NONE) ? find(r, builder, noted->made, ANY, read.at) : width;
}

struct width readings_least(const struct readings *r, struct builder *builder, struct term maker,
                            unsigned kind, struct term read) {
    struct width width =
        find(r, builder, noted_of(r, maker.node)->of_operands, read.node, maker.at);
    return width_equal(width, WIDTH_NONE) ? width_for(r, builder, kind, read) : width;
}

struct width readings_widest(const struct readings *r, struct builder *builder, struct term read) {
    return width_for(r, builder, ANY, read);
}

const struct tensor *readings_gradient_of(const struct readings *r, uint32_t node) {
    return noted_of(r, node)->gradient_of;
}

// A value that the reference reads and does not make, as what codes stand for, has the digits that it is read in.
bool readings_is_own(const struct readings *r, uint32_t node) {
    const struct noted *noted = noted_of(r, node);
    return !noted->made && !noted->by_kinds;
}

bool readings_is_of_update(const struct readings *r, uint32_t node) {
    return noted_of(r, node)->of_update;
}

static bool is_so_narrow(struct width noted, struct width width) {
    return !width_equal(noted, WIDTH_NONE) && width_holds(width, noted);
}

bool readings_is_scaled(const struct readings *r, uint32_t node, struct width width) {
    return is_so_narrow(noted_of(r, node)->scaled, width);
}

bool readings_is_rounded(const struct readings *r, uint32_t node, struct width width) {
    return is_so_narrow(noted_of(r, node)->rounded, width);
}
