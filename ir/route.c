// Tables of routes.
#include "ir/route.h"

const struct hop_row hop_rows[N_HOPS] = {
#define HOP(NAME, ACTION, state, handle, words) {ACTION_##ACTION, STATE_##state, handle, words},
#include "ir/hops.def"
#undef HOP
};

const char *const event_words[N_EVENTS] = {
#define EVENT(NAME, words) words,
#include "ir/events.def"
#undef EVENT
};

const struct hop *route_hop(const struct route *route, enum hop_kind kind) {
    for (unsigned i = 0; i < route->n_hops; i++)
        if (route->hops[i].kind == kind)
            return &route->hops[i];
    return NULL;
}

bool route_stops_at(const struct route *route, int station) {
    bool stops = route->used == station || route->owned == station || route->updated == station ||
                 route->sum == station || route->residual == station;
    for (unsigned i = 0; i < route->n_hops; i++)
        stops |= route->hops[i].from == station || route->hops[i].to == station;
    for (unsigned i = 0; i < route->n_stations; i++)
        stops |= route->stations[i].window_of == station;
    return stops;
}

bool hop_sums(const struct hop *hop) {
    enum action action = hop_rows[hop->kind].action;
    return action == ACTION_SCATTER || action == ACTION_REDUCE || hop->kind == HOP_GATHER_CODES;
}
