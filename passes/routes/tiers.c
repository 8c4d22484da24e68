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
//   the same of several microbatches
//     before the microbatches  zeroed on the host
//     behind the last write    summed, copied out, added on the host to those before
//     behind the microbatches  where they are summed over devices last: copied in, summed, copied back
//
// What is gathered behind the update is so on the device, since a step's collectives are between devices;
// what the update gathers inside itself (Muon) is so where it runs.
#include "passes/routes/maker.h"

static enum tier tier_of(const struct route_maker *m, int station) {
    return m->route->stations[station].tier;
}

// Layers that are copied at once to where they are updated, or their norm is taken, are there together.
static int add_copied(struct route_maker *m, const char *suffix, const struct axis_list *flat) {
    return add_transient(m, suffix, flat, m->storage->copied_layers[m->route->state]);
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
    return add_transient(m, ".made", &flat, layers_summed_at_once(m->storage));
}

// A microbatch's goes to the host and is added there, by a call or, where sums are ordered, by the
// counter, which needs no other place. No call reads a disk: from there the sum comes to the device.
struct kept_sum add_kept_sum(struct route_maker *m, int kept, int sum, int term) {
    struct kept_sum k = {sum, term, -1, -1};
    if (!m->away || !adds_up(m))
        return k;
    const struct axis_list flat = m->route->stations[sum].flat;
    bool host = tier_of(m, kept) == TIER_HOST;
    k.home = add_window(m, kept, ".total", &flat);
    if (host && m->placement->ordered)
        return k;
    k.beside =
        add_transient(m, host ? ".term" : ".added", &flat, layers_summed_at_once(m->storage));
    struct station *beside = &m->route->stations[k.beside];
    beside->tier = host ? TIER_HOST : TIER_DEVICE;
    beside->dtype = m->route->stations[host ? term : kept].dtype;
    return k;
}

static bool is_added_on_host(const struct route_maker *m, const struct kept_sum *k) {
    return k->beside < 0 || tier_of(m, k->beside) == TIER_HOST;
}

void zero_kept_sum(struct route_maker *m, const struct kept_sum *k) {
    const enum route_event before = EVENT_BEFORE_MICROBATCHES;
    int zeroed = is_added_on_host(m, k) ? k->home : k->beside;
    add_hop(m, HOP_ZERO, before, zeroed, zeroed, NULL);
    if (zeroed == k->home)
        return;
    add_copy(m, HOP_PUT_ZERO, before, zeroed, k->home);
    add_release(m, HOP_RELEASE_ZERO, before, zeroed);
}

void add_term_to_kept(struct route_maker *m, const struct kept_sum *k) {
    const enum route_event behind = EVENT_BEHIND_WRITE;
    if (k->beside < 0) {
        add_copy(m, HOP_PUT_TERM, behind, k->term, k->home);
        add_hop(m, HOP_CARRY, behind, k->home, k->home, NULL);
    } else if (is_added_on_host(m, k)) {
        add_copy(m, HOP_PUT_TERM, behind, k->term, k->beside);
        add_hop(m, HOP_ADD, behind, k->beside, k->home, NULL);
    } else {
        add_copy(m, HOP_FETCH_ADDED, behind, k->home, k->beside);
        add_hop(m, HOP_ADD, behind, k->term, k->beside, NULL);
        add_copy(m, HOP_PUT_ADDED, behind, k->beside, k->home);
    }
    add_release(m, HOP_RELEASE_TERM, behind, k->beside);
    if (k->term == k->sum)
        add_release(m, HOP_RELEASE_TERM, behind, m->made);
}

void fetch_kept_sum(struct route_maker *m, const struct kept_sum *k) {
    add_copy(m, HOP_FETCH_SUM, EVENT_BEHIND_MICROBATCHES, k->home, k->sum);
}

void put_sum(struct route_maker *m, enum route_event event, int owned, int home, int made) {
    add_copy(m, HOP_PUT_SUM, event, owned, home);
    if (m->route->stations[owned].window_of < 0 && owned != made)
        add_release(m, HOP_RELEASE_SUM, event, owned);
    add_release(m, HOP_RELEASE_SUM, event, made);
}

void add_to_norm(struct route_maker *m, int home, const struct axis_list *owners) {
    m->route->normed = home;
    if (tier_of(m, home) == m->storage->norm_tier)
        return;
    int normed = m->route->normed = add_copied(m, ".normed", owners);
    m->route->stations[normed].tier = m->storage->norm_tier;
    m->route->stations[normed].dtype = m->route->stations[home].dtype;
    add_copy(m, HOP_TO_NORM, EVENT_BEFORE_NORM, home, normed);
    add_release(m, HOP_RELEASE_NORMED, EVENT_BEHIND_NORM, normed);
}

// Parameters whose part lies along a dimension: its rows do not lie side by side, so the update has a copy
// of its own. That is cut out where all of it is, on the host if the update runs there too, or else on the
// device, where it is gathered behind the update.
static struct updating add_cut_out(struct route_maker *m, int rest,
                                   const struct axis_list *owners) {
    const struct axis_list flat = m->route->stations[rest].flat;
    const enum dtype dtype = m->route->stations[rest].dtype;
    enum tier runs_on = update_tier(m->storage);
    bool on_host = tier_of(m, rest) == TIER_HOST && runs_on == TIER_HOST;
    struct updating u = {.rest = rest, .whole = rest};
    if (tier_of(m, rest) != TIER_DEVICE) {
        u.whole = add_copied(m, ".whole", &flat);
        m->route->stations[u.whole].dtype = dtype;
    }
    u.own = u.updated = add_copied(m, runs_on == TIER_DEVICE ? ".updated" : ".own", owners);
    m->route->stations[u.own].dtype = dtype;
    if (runs_on != TIER_DEVICE) {
        u.updated = add_copied(m, ".updated", owners);
        m->route->stations[u.updated].dtype = dtype;
    }
    u.cut_from = on_host ? rest : u.whole;
    u.home = on_host ? u.updated : u.own;
    return u;
}

// Islands average on the device what is kept in another tier, in a place of its own: it comes there to be
// divided, or is rounded there from its master copy, and goes back.
static bool is_averaged_beside(const struct route_maker *m, int rest, int home) {
    return m->placement->islands.n && m->route->state == STATE_PARAMETERS && home == rest &&
           tier_of(m, rest) != TIER_DEVICE;
}

// A part that lies side by side is a window of what is kept.
static struct updating add_share(struct route_maker *m, int rest, const struct axis_list *owners) {
    enum tier runs_on = update_tier(m->storage);
    int home = add_window(m, rest, ".window", owners);
    struct updating u = {.rest = rest, .home = home, .own = home, .whole = rest, .cut_from = -1};
    bool gathered = m->route->state == STATE_PARAMETERS && home != rest;
    bool beside = is_averaged_beside(m, rest, home);
    int whole = rest;
    if (beside || (gathered && tier_of(m, rest) != TIER_DEVICE)) {
        const struct axis_list flat = m->route->stations[rest].flat;
        whole = add_copied(m, beside ? ".averaged" : ".whole", &flat);
        m->route->stations[whole].dtype = m->route->stations[rest].dtype;
    }
    if (whole != rest && (!beside || m->facts->step == STEP_AVERAGE)) {
        u.whole = whole;
        u.own = add_window(m, whole, ".own", owners);
    }
    u.updated = tier_of(m, home) == runs_on    ? home
                : tier_of(m, u.own) == runs_on ? u.own
                                               : add_copied(m, ".updated", owners);
    return u;
}

struct updating add_updating(struct route_maker *m, int rest, const struct axis_list *owners) {
    bool cut_out = m->route->state == STATE_PARAMETERS && m->storage->along &&
                   !axis_list_equal(&m->route->stations[rest].flat, owners);
    struct updating u = cut_out ? add_cut_out(m, rest, owners) : add_share(m, rest, owners);
    m->route->stations[u.updated].tier = update_tier(m->storage);
    m->route->owned = u.home;
    m->route->updated = u.updated;
    return u;
}

void add_to_update(struct route_maker *m, const struct updating *u) {
    const enum route_event before = EVENT_BEFORE_UPDATE;
    if (u->cut_from >= 0) {
        if (u->cut_from != u->rest)
            add_copy(m, HOP_WHOLE_TO_UPDATE, before, u->rest, u->whole);
        add_hop(m, HOP_KEEP_UPDATED, before, u->cut_from, u->home, NULL);
    }
    if (u->updated != u->home)
        add_copy(m, HOP_TO_UPDATE, before, u->home, u->updated);
}

void add_from_update(struct route_maker *m, const struct updating *u) {
    if (u->updated == u->own)
        return;
    if (m->facts->step == STEP_AVERAGE)
        add_copy(m, HOP_FROM_UPDATE, EVENT_BEHIND_EARLIER_UPDATE, u->updated, u->own);
    add_copy(m, HOP_FROM_UPDATE, EVENT_BEHIND_UPDATE, u->updated, u->own);
}

void add_from_average(struct route_maker *m, const struct updating *u) {
    if (u->own != u->home)
        add_copy(m, HOP_PUT_AVERAGED, EVENT_BEHIND_EARLIER_UPDATE, u->own, u->home);
}

// What has bytes of its own for as long as the update takes.
static void release_updated(struct route_maker *m, int station) {
    const struct station *of = &m->route->stations[station];
    if (of->class == CLASS_TRANSIENT && of->window_of < 0)
        add_release(m, HOP_RELEASE_UPDATED, EVENT_BEHIND_UPDATE, station);
}

void add_behind_update(struct route_maker *m, const struct updating *u) {
    const struct axis_list *owners = &m->route->stations[u->own].flat;
    struct axis_list beyond = axis_list_without(owners, &m->route->stations[u->whole].flat);
    add_transfer(m, HOP_GATHER_UPDATED, EVENT_BEHIND_UPDATE, u->own, u->whole, &beyond);
    if (u->whole != u->rest)
        add_copy(m, HOP_PUT_UPDATED, EVENT_BEHIND_UPDATE, u->whole, u->rest);
    release_updated(m, u->updated);
    if (u->own != u->updated)
        release_updated(m, u->own);
    if (u->whole != u->rest && u->whole != u->own)
        release_updated(m, u->whole);
}
