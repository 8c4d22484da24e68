// A route in the making; see maker.h.
#include "passes/routes/maker.h"

#include "ir/check.h"

int add_station(struct route_maker *m, const char *suffix, enum buffer_class class,
                const struct axis_list *flat) {
    CHECK(m->route->n_stations < MAX_STATIONS);
    m->route->stations[m->route->n_stations] = (struct station){
        .suffix = suffix, .class = class, .flat = *flat, .window_of = -1, .stacked = true};
    return (int)m->route->n_stations++;
}

int add_transient(struct route_maker *m, const char *suffix, const struct axis_list *flat,
                  int64_t slots) {
    int made = add_station(m, suffix, CLASS_TRANSIENT, flat);
    m->route->stations[made].stacked = false;
    m->route->stations[made].slots = slots;
    return made;
}

// Whether a part of it is a piece of its bytes. A part along a dimension is none; nor is an owner's of
// what has slots, or what a pipeline has of several microbatches, since which of these has a layer does
// not say whose it is.
static bool has_windows(const struct route_maker *m, const struct station *whole) {
    bool several = m->placement->pipeline.axes.n && whole->class == CLASS_TRANSIENT;
    return !m->storage->along && (!m->storage->by_tensor || (whole->stacked && !several));
}

// Whether an owner's part of it that is none of its bytes is needed until it is all there: then it has room for what is
// gathered at once.
static bool takes_turns(const struct route_maker *m, const struct station *whole) {
    return m->storage->by_tensor && whole->stacked && !has_windows(m, whole);
}

int add_window(struct route_maker *m, int whole, const char *suffix, const struct axis_list *flat) {
    const struct station *of = &m->route->stations[whole];
    if (axis_list_equal(&of->flat, flat))
        return whole;
    CHECK(of->window_of < 0);
    int made = add_station(m, suffix, of->class, flat);
    m->route->stations[made].window_of = has_windows(m, of) ? (signed char)whole : -1;
    m->route->stations[made].dtype = of->dtype;
    m->route->stations[made].tier = of->tier;
    m->route->stations[made].of_each_unit = of->of_each_unit;
    m->route->stations[made].stacked = of->stacked && !takes_turns(m, of);
    m->route->stations[made].slots = takes_turns(m, of) ? m->storage->gather_layers : of->slots;
    return made;
}

int kept_from(struct route_maker *m, int whole, const char *suffix, const struct axis_list *flat) {
    return m->storage->along ? whole : add_window(m, whole, suffix, flat);
}

int copied_from(const struct route_maker *m, int whole, int part) {
    return m->storage->along ? whole : part;
}

struct hop *add_hop(struct route_maker *m, enum hop_kind kind, enum route_event event, int from,
                    int to, const struct axis_list *axes) {
    struct route *route = m->route;
    CHECK(route->n_hops < MAX_ROUTE_HOPS);
    CHECK(route->n_hops == 0 || route->hops[route->n_hops - 1].kind <= kind);
    route->hops[route->n_hops] = (struct hop){
        .kind = kind, .event = event, .from = from, .to = to, .bucket_bytes = NO_BUCKET};
    if (axes)
        route->hops[route->n_hops].axes = *axes;
    return &route->hops[route->n_hops++];
}

void add_transfer(struct route_maker *m, enum hop_kind kind, enum route_event event, int from,
                  int to, const struct axis_list *axes) {
    if (axes->n == 0)
        return;
    struct hop *hop = add_hop(m, kind, event, from, to, axes);
    if (hop_rows[kind].action == ACTION_REDUCE)
        hop->bucket_bytes = m->storage->bucket_bytes;
    else if (kind == HOP_GATHER_PART || kind == HOP_GATHER)
        hop->bucket_bytes = m->storage->gather_unit == UNIT_TENSOR ? 0 : NO_BUCKET;
}

void add_release(struct route_maker *m, enum hop_kind kind, enum route_event event, int station) {
    if (station >= 0)
        add_hop(m, kind, event, station, station, NULL);
}

bool adds_up(const struct route_maker *m) {
    const struct storage *storage = m->storage;
    return m->placement->microbatches > 1 || (m->away && storage->of_both_ends && storage->wire.n);
}

enum route_event event_around(const struct route_maker *m, enum route_event around,
                              enum route_event inside) {
    return m->placement->microbatches > 1 ? around : inside;
}
