// See readings.h.
#include "verify/proof/readings.h"

void readings_init(struct readings *r, struct arena *arena) {
    *r = (struct readings){.arena = arena};
}

static struct noted *noted_at(struct readings *r, uint32_t node) {
    static const struct noted nothing = {0};
    while (r->n_noted <= node)
        ARENA_PUSH(r->arena, r->noted, r->n_noted, r->cap_noted, nothing);
    return &r->noted[node];
}

static struct width narrower(struct width noted, struct width width) {
    return width_equal(noted, WIDTH_NONE) ? width : width_meet(noted, width);
}

static void add(struct readings *r, uint32_t *list, uint32_t by, struct width width) {
    for (uint32_t i = *list; i; i = r->all[i - 1].next)
        if (r->all[i - 1].by == by) {
            r->all[i - 1].width = narrower(r->all[i - 1].width, width);
            return;
        }
    struct reading reading = {by, *list, width};
    ARENA_PUSH(r->arena, r->all, r->n, r->cap, reading);
    *list = r->n;
}

static struct width find(const struct readings *r, uint32_t list, uint32_t by) {
    for (uint32_t i = list; i; i = r->all[i - 1].next)
        if (r->all[i - 1].by == by)
            return r->all[i - 1].width;
    return WIDTH_NONE;
}

void readings_made(struct readings *r, uint32_t node, struct width width) {
    struct noted *noted = noted_at(r, node);
    noted->made = narrower(noted->made, width);
}

void readings_read(struct readings *r, uint32_t maker, unsigned kind, uint32_t node,
                   struct width width) {
    add(r, &noted_at(r, maker)->of_operands, node, width);
    add(r, &noted_at(r, node)->by_kinds, kind, width);
}

void readings_named(struct readings *r, uint32_t node, uint32_t leaf) {
    noted_at(r, node > leaf ? node : leaf);
    r->noted[leaf] = r->noted[node];
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

struct width readings_width(const struct readings *r, uint32_t node) {
    return node < r->n_noted ? r->noted[node].made : WIDTH_NONE;
}

struct width readings_least(const struct readings *r, uint32_t maker, unsigned kind,
                            uint32_t node) {
    struct width width = WIDTH_NONE;
    if (maker < r->n_noted)
        width = find(r, r->noted[maker].of_operands, node);
    if (width_equal(width, WIDTH_NONE) && node < r->n_noted)
        width = find(r, r->noted[node].by_kinds, kind);
    return width_equal(width, WIDTH_NONE) ? readings_width(r, node) : width;
}

const struct tensor *readings_gradient_of(const struct readings *r, uint32_t node) {
    return node < r->n_noted ? r->noted[node].gradient_of : NULL;
}

bool readings_is_of_update(const struct readings *r, uint32_t node) {
    return node < r->n_noted && r->noted[node].of_update;
}

bool readings_is_scaled(const struct readings *r, uint32_t node, struct width width) {
    return node < r->n_noted && !width_equal(r->noted[node].scaled, WIDTH_NONE) &&
           width_holds(width, r->noted[node].scaled);
}
