// The routes of what is kept in another tier, on the host or on disk (ir/tiers.def), than where units
// use it, which is the device, or where the update runs, the device or the host: it is copied to a
// place there, which it has for as long as it is used, and back if it was written.
//
//   stored on the host, updated on the device
//     before the update    copied to the update     host -> device
//     behind the update    copied back              device -> host
//
//   gradients on the host
//     behind the last write  summed, then copied out    device -> host
//
// What is gathered behind the update is so on the device, since collectives are between devices.
#include "passes/routes/maker.h"

static enum tier tier_of(const struct route_maker *m, int station) {
    return m->route->stations[station].tier;
}

static void add_copy(struct route_maker *m, enum hop_kind kind, enum route_event event, int from,
                     int to) {
    struct hop *hop = add_hop(m, kind, event, from, to, NULL);
    if (copied_for(m->storage, m->route->state)->unit == UNIT_TENSOR)
        hop->bucket_bytes = 0;
}

int add_fetched(struct route_maker *m, int rest, enum route_event event) {
    if (tier_of(m, rest) == TIER_DEVICE)
        return rest;
    const struct axis_list flat = m->route->stations[rest].flat;
    int fetched = add_transient(m, ".fetched", &flat, 1);
    m->route->stations[fetched].of_each_unit = true;
    m->route->stations[fetched].dtype = m->route->stations[rest].dtype;
    add_copy(m, HOP_FETCH, event, rest, fetched);
    return fetched;
}

int add_made(struct route_maker *m, int rest) {
    enum tier tier = stored_tier(m->storage, STATE_GRADIENTS);
    if (tier == TIER_DEVICE)
        return rest;
    const struct axis_list flat = m->route->stations[rest].flat;
    m->route->stations[rest].tier = tier;
    return add_transient(m, ".made", &flat, m->storage->gather_layers);
}

void put_sum(struct route_maker *m, int owned, int home, int made) {
    add_copy(m, HOP_PUT_SUM, EVENT_BEHIND_WRITE, owned, home);
    add_release(m, HOP_RELEASE_SUM, EVENT_BEHIND_WRITE, made);
}

struct updating add_updating(struct route_maker *m, int rest, const struct axis_list *owners) {
    enum tier runs_on = update_tier(m->storage);
    int home = add_window(m, rest, ".window", owners);
    struct updating u = {.home = home, .own = home, .whole = rest};
    if (home != rest && tier_of(m, rest) != TIER_DEVICE) {
        const struct axis_list flat = m->route->stations[rest].flat;
        u.whole = add_transient(m, ".whole", &flat, 1);
        u.own = add_window(m, u.whole, ".own", owners);
    }
    u.updated = tier_of(m, home) == runs_on    ? home
                : tier_of(m, u.own) == runs_on ? u.own
                                               : add_transient(m, ".updated", owners, 1);
    m->route->stations[u.updated].tier = runs_on;
    m->route->owned = home;
    m->route->updated = u.updated;
    return u;
}

void add_to_update(struct route_maker *m, const struct updating *u) {
    if (u->updated != u->home)
        add_copy(m, HOP_TO_UPDATE, EVENT_BEFORE_UPDATE, u->home, u->updated);
}

void add_from_update(struct route_maker *m, const struct updating *u) {
    if (u->updated != u->own)
        add_copy(m, HOP_FROM_UPDATE, EVENT_BEHIND_UPDATE, u->updated, u->own);
}

void add_behind_update(struct route_maker *m, const struct updating *u, int rest) {
    const struct axis_list *owners = &m->route->stations[u->own].flat;
    struct axis_list beyond = axis_list_without(owners, &m->route->stations[rest].flat);
    add_transfer(m, HOP_GATHER_UPDATED, EVENT_BEHIND_UPDATE, u->own, u->whole, &beyond);
    if (u->whole != rest)
        add_copy(m, HOP_PUT_UPDATED, EVENT_BEHIND_UPDATE, u->whole, rest);
    if (u->updated != u->home && u->updated != u->own)
        add_release(m, HOP_RELEASE_UPDATED, EVENT_BEHIND_UPDATE, u->updated);
    if (u->whole != rest)
        add_release(m, HOP_RELEASE_UPDATED, EVENT_BEHIND_UPDATE, u->whole);
}
