// Which stations a state has, and which hops: see ir/route.h.
//
//   parameters   are stored in shards that are gathered before uses, or whole. Where the optimizer is
//                cut further, a device updates its window of what is stored; the windows are gathered
//                in place. Or they are not stored, but cast from the optimizer's master copy, and
//                gathered where that is cut, before uses.
//   gradients    are summed on the way (gradient_sums.c).
//   optimizer    lies where the update works, or is copied there (tiers.c).
#include <string.h>

#include "ir/check.h"
#include "passes/routes/maker.h"

// ---- parameters -------------------------------------------------------------------------------

// From when to when the whole is there, as options and microbatches say.
struct stay {
    enum route_event before, behind;
};

static struct stay stay_of(const struct route_maker *m) {
    if (m->storage->kept_after_backward)
        return (struct stay){event_around(m, EVENT_BEFORE_MICROBATCHES, EVENT_BEFORE_FIRST_USE),
                             event_around(m, EVENT_BEHIND_MICROBATCHES, EVENT_BEHIND_LAST_USE)};
    if (m->storage->kept_after_forward)
        return (struct stay){EVENT_BEFORE_FIRST_USE, EVENT_BEHIND_LAST_USE};
    return (struct stay){EVENT_BEFORE_USE, EVENT_BEHIND_USE};
}

// What is used in another type than it lies in is cast; shards into their place in what is gathered:
// they need no memory of their own. That place, from which they are gathered, or where they lie.
static int place_of_cast(struct route_maker *m, int rest, int gathered) {
    const struct station *from = &m->route->stations[rest];
    if (!from->is_master && m->route->stations[gathered].dtype == from->dtype)
        return rest;
    return add_window(m, gathered, ".own", &m->storage->shards[STATE_PARAMETERS]);
}

static void cast_shards(struct route_maker *m, enum hop_kind kind, enum route_event event, int rest,
                        int own) {
    if (own != rest)
        add_hop(m, kind, event, rest, own, &m->storage->shards[STATE_PARAMETERS]);
}

// What is cast into a place of its own, from which it is gathered, is no longer needed then.
static void release_cast(struct route_maker *m, enum route_event event, int rest, int own) {
    if (own != rest && m->route->stations[own].window_of < 0)
        add_release(m, HOP_RELEASE_FETCHED, event, own);
}

static void release_fetched(struct route_maker *m, int fetched, enum route_event event) {
    if (m->route->stations[fetched].class == CLASS_TRANSIENT)
        add_release(m, HOP_RELEASE_FETCHED, event, fetched);
}

// A part of the whole is kept between its uses in a step. Where the shards are cut out of that part, the
// whole is gathered in two strides: the part before the first use, the whole out of the part before
// each. Else the whole is there at the first use, and the part is cut out of it:
//
//   stored over outer * inner, kept over inner
//   before the first use   all_gather over outer * inner     shards -> whole
//   behind the first use   a part kept over inner            window of whole -> part
//   before later uses      all_gather over inner             part -> whole
//
// `own`: in the whole, the place of what is cast.
static void gather_by_part(struct route_maker *m, int rest, int own, int part, int whole) {
    const struct axis_list *shards = &m->storage->shards[STATE_PARAMETERS];
    const struct axis_list *kept = &m->storage->kept_shards;
    if (axis_list_begins(shards, kept)) {
        struct axis_list outer = axis_list_without(shards, kept);
        own = place_of_cast(m, rest, part);
        cast_shards(m, HOP_CAST_PART, EVENT_BEFORE_FIRST_USE, rest, own);
        add_transfer(m, HOP_GATHER_PART, EVENT_BEFORE_FIRST_USE, own, part, &outer);
        add_transfer(m, HOP_GATHER, EVENT_BEFORE_USE, part, whole, kept);
        release_cast(m, EVENT_BEFORE_FIRST_USE, rest, own);
        release_fetched(m, rest, EVENT_BEFORE_FIRST_USE);
    } else {
        int window = kept_from(m, whole, ".part", kept);
        cast_shards(m, HOP_CAST, EVENT_BEFORE_FIRST_USE, rest, own);
        add_transfer(m, HOP_GATHER, EVENT_BEFORE_FIRST_USE, own, whole, shards);
        add_transfer(m, HOP_GATHER, EVENT_BEFORE_LATER_USE, part, whole, kept);
        release_cast(m, EVENT_BEFORE_FIRST_USE, rest, own);
        release_fetched(m, rest, EVENT_BEFORE_FIRST_USE);
        add_hop(m, HOP_KEEP_PART, EVENT_BEHIND_FIRST_USE, window, part, NULL);
    }
    add_release(m, HOP_RELEASE, EVENT_BEHIND_USE, whole);
    add_release(m, HOP_RELEASE_PART, EVENT_BEHIND_LAST_USE, part);
}

// `rest`: where it is stored, in whatever tier.
static void make_whole(struct route_maker *m, int rest) {
    static const struct axis_list none = {0};
    const struct storage *storage = m->storage;
    int part = -1;
    if (storage->kept_shards.n) {
        part = add_station(m, ".kept", CLASS_TRANSIENT, &storage->kept_shards);
        m->route->stations[part].dtype = storage->types.gathered;
    }
    bool gathers = storage->shards[STATE_PARAMETERS].n > 0;
    int whole = m->route->used = add_transient(m, gathers ? ".gathered" : ".cast", &none, 1);
    struct station *station = &m->route->stations[whole];
    station->dtype = gathers ? storage->types.gathered : storage->types.parameters;
    station->stacked = storage->kept_after_forward;
    station->of_each_unit = !storage->kept_after_forward;
    int own = place_of_cast(m, rest, whole); // whatever is known: stations do not depend on it
    struct stay stay = stay_of(m);
    bool by_part = part >= 0 && !m->facts->read_once;
    int fetched = add_fetched(m, rest, by_part ? EVENT_BEFORE_FIRST_USE : stay.before);
    if (own == rest)
        own = fetched;
    if (by_part) {
        gather_by_part(m, fetched, own, part, whole);
        return;
    }
    cast_shards(m, HOP_CAST, stay.before, fetched, own);
    add_transfer(m, HOP_GATHER, stay.before, own, whole, &storage->shards[STATE_PARAMETERS]);
    release_cast(m, stay.before, fetched, own);
    release_fetched(m, fetched, stay.before);
    add_release(m, HOP_RELEASE, stay.behind, whole);
}

static void use_whole(struct route_maker *m, int rest) {
    m->route->used = add_fetched(m, rest, EVENT_BEFORE_USE);
    if (m->route->used != rest)
        add_release(m, HOP_RELEASE, EVENT_BEHIND_USE, m->route->used);
}

// The master copy, where it is not stored in place of parameters.
static int add_master(struct route_maker *m) {
    int master = add_station(m, "", CLASS_MASTER, &m->storage->shards[STATE_OPTIMIZER]);
    m->route->stations[master].dtype = m->storage->types.master;
    m->route->stations[master].is_master = true;
    return master;
}

// What islands have becomes the sum of all, of what is updated; a parameter that is kept beside that is
// rounded from what comes of the sum, and only then goes where it is kept.
static void average(struct route_maker *m, const struct updating *updating, bool made) {
    const struct placement *placement = m->placement;
    if (!m->storage->trained || placement->islands.n == 0)
        return;
    bool beside = !made && m->storage->types.master != DTYPE_NONE;
    int own =
        updating->own; // a device's part of the parameter, or of the master that it is made of
    int summed = beside ? add_master(m) : own;
    if (m->facts->step != STEP_AVERAGE)
        return;
    struct axis_list islands =
        placement_sum(placement, m->mesh, axis_list_mask(&placement->islands));
    add_transfer(m, HOP_AVERAGE, EVENT_BEHIND_FIRST_UPDATE, summed, summed, &islands);
    if (beside)
        add_hop(m, HOP_ROUND, EVENT_BEHIND_UPDATE, summed, own, NULL);
    else
        add_from_average(m, updating);
}

static void make_parameters(struct route_maker *m) {
    const struct axis_list *shards = &m->storage->shards[STATE_PARAMETERS];
    const struct axis_list *owners = &m->storage->shards[STATE_OPTIMIZER];
    const bool made = makes_parameters(m->storage), updated = m->storage->trained && !made;
    int rest = add_station(m, "", made ? CLASS_MASTER : CLASS_PARAMETERS, shards);
    m->route->stations[rest].dtype = made ? m->storage->types.master : m->storage->types.parameters;
    m->route->stations[rest].is_master = made;
    m->route->stations[rest].tier =
        stored_tier(m->storage, made ? STATE_OPTIMIZER : STATE_PARAMETERS);
    m->route->used = m->route->owned = m->route->updated = rest;
    struct updating updating = {rest, rest, rest, rest, rest, -1};
    if (updated)
        updating = add_updating(m, rest, owners);
    if (shards->n || made)
        make_whole(m, rest);
    else
        use_whole(m, rest);
    if (m->storage->types.master == DTYPE_NONE) // else the update makes it, and reads none
        add_to_update(m, &updating);
    add_from_update(m, &updating);
    average(m, &updating, made);
    add_behind_update(m, &updating);
}

// ---- the optimizer ----------------------------------------------------------------------------

static void make_optimizer(struct route_maker *m) {
    const struct axis_list *shards = &m->storage->shards[STATE_OPTIMIZER];
    int rest = add_station(m, "", CLASS_MOMENT1, shards);
    m->route->stations[rest].tier = stored_tier(m->storage, STATE_OPTIMIZER);
    struct updating updating = add_updating(m, rest, shards);
    add_to_update(m, &updating);
    add_from_update(m, &updating);
    add_behind_update(m, &updating);
}

// ---- the whole --------------------------------------------------------------------------------

struct route route_of(const struct placement *placement, const struct mesh *mesh,
                      const struct storage *storage, enum state state,
                      const struct route_facts *facts) {
    struct route route = {.state = state, .used = -1, .sum = -1, .normed = -1, .residual = -1};
    struct route_maker m = {
        .placement = placement, .mesh = mesh, .storage = storage, .facts = facts, .route = &route};
    switch (state) {
    case STATE_PARAMETERS:
        make_parameters(&m);
        break;
    case STATE_GRADIENTS:
        make_gradients(&m);
        break;
    case STATE_OPTIMIZER: // moments, a master copy: all that the optimizer has lies alike
        make_optimizer(&m);
        break;
    default:
        CHECK(false); // activations lie as the work of units is divided
    }
    return route;
}

enum collective_kind owners_collective(const struct storage *storage, enum collective_kind cut) {
    if (!storage->by_tensor)
        return cut;
    return cut == COLLECTIVE_ALL_GATHER       ? COLLECTIVE_BROADCAST
           : cut == COLLECTIVE_REDUCE_SCATTER ? COLLECTIVE_REDUCE
                                              : cut;
}

bool is_gathered_alone(const struct storage *storage) {
    return storage->gather_unit == UNIT_TENSOR && storage->shards[STATE_PARAMETERS].n > 0 &&
           !storage->kept_after_forward;
}
