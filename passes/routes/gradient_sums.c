// The routes of gradients: the sums that are on them, over which axes, where and when.
//
//   whole                 units write or accumulate gradients; behind the last microbatch they are
//                         summed, by reduce_scatter into the window that the update reads where the
//                         optimizer is cut, by all_reduce otherwise
//   in parts, or with     units write one microbatch's gradient to a transient, which is reduced and
//   reduce = each         then added; where it has an owner, who adds what he has to it before it is
//                         reduced, in the other order: nobody needs room for two of one sum. Where
//                         sums are ordered he has the tree's counter, so it is reduced first
#include "passes/routes/maker.h"

// ---- over which axes --------------------------------------------------------------------------

struct axis_list placement_sum(const struct placement *placement, const struct mesh *mesh,
                               uint64_t mask) {
    struct axis_list sum = {0};
    for (unsigned i = 0; i < placement->batch.n; i++)
        if (mask >> placement->batch.axes[i] & 1)
            axis_list_add(&sum, placement->batch.axes[i]);
    for (unsigned axis = 0; axis < mesh->n_axes; axis++) {
        const struct split_statement *split = placement->split_by[axis];
        if (!(mask >> axis & 1))
            continue;
        for (unsigned i = 0; split && i < split->axes.n; i++)
            if (mask >> split->axes.axes[i] & 1)
                axis_list_add(&sum, split->axes.axes[i]);
        axis_list_add(&sum, axis);
    }
    return sum;
}

// Over which axes a tensor's gradient is summed, in this order: in every microbatch, to the owners
// of its parts and between what are copies then, and the same after the last. A scope may give a
// data axis to a dimension of the tensor; then each device has all tokens' part of what is its own.
//
// Where sums are ordered, these are data axes. Over axes of the model on which units leave it a
// summand (parts of sequences) it is summed before, in every microbatch; then devices of those
// among the owners' axes keep their parts: `keep_first` of what is summed over data axes,
// `keep_each` of a microbatch's sum, `keep_last` of the sum of all, and all others of what has been
// summed. Data axes whose parts lie inside those are `inner_each` and `inner_last`: summed over
// first, as where they stand beside the axes that are scattered over.
struct gradient_sums {
    struct axis_list keep_first, inner_each, scatter_each, reduce_each, keep_each;
    struct axis_list keep_last, inner_last, scatter_last, reduce_last;
};

// How many axes of a list, from `from` on, follow one another that are all among the others (`in`),
// or all not.
static unsigned run_of(const struct axis_list *axes, unsigned from, const struct axis_list *others,
                       bool in) {
    unsigned n = 0;
    while (from + n < axes->n && axis_list_has(others, axes->axes[from + n]) == in)
        n++;
    return n;
}

static struct axis_list part_of(const struct axis_list *axes, unsigned from, unsigned n) {
    struct axis_list part = {0};
    for (unsigned i = from; i < from + n; i++)
        axis_list_add(&part, axes->axes[i]);
    return part;
}

// Data axes are scattered over as far as they stand side by side among the owners' axes; of what is
// summed over the others, those of the model included, devices keep their parts. For example, where
// parameters are cut over `a`, gradients over a and tp, the optimizer over a, tp, m, b, n and c, and
// `tp`, `m` and `n` divide the model:
//
//   scatter_each a, keep_each tp, keep_last m, inner_last c, scatter_last b
static void order_sums(const struct placement *placement, const struct storage *storage,
                       struct gradient_sums *sums) {
    const struct axis_list *tokens = &placement->tokens;
    const struct axis_list *owners = &storage->shards[STATE_OPTIMIZER];
    struct axis_list each = axis_list_within(&sums->scatter_each, tokens);
    struct axis_list last = axis_list_within(&sums->scatter_last, tokens);
    unsigned first = run_of(owners, 0, tokens, false);
    unsigned at = first + run_of(owners, first, &each, true);
    unsigned held = storage->shards[STATE_GRADIENTS].n;
    sums->keep_first = part_of(owners, 0, first);
    sums->scatter_each = part_of(owners, first, at - first);
    if (held > at) {
        sums->keep_each = part_of(owners, at, held - at);
        at = held;
    }
    unsigned between = run_of(owners, at, &last, false);
    unsigned scattered = run_of(owners, at + between, &last, true);
    if (scattered)
        sums->keep_last = part_of(owners, at, between);
    sums->scatter_last = part_of(owners, at + between, scattered);
    sums->inner_each = axis_list_without(&each, &sums->scatter_each);
    sums->inner_last = axis_list_without(&last, &sums->scatter_last);
}

static struct gradient_sums sums_of(const struct placement *placement,
                                    const struct storage *storage) {
    const struct axis_list *owners = &storage->shards[STATE_OPTIMIZER];
    struct axis_list tokens = axis_list_of(&placement->tokens, ~storage->cut), each = {0};
    if (placement->microbatches > 1) // else each and last are the same
        each = storage->reduced_each;
    struct axis_list rest = axis_list_without(&tokens, owners);
    struct gradient_sums sums = {.scatter_each = storage->scattered_each,
                                 .scatter_last =
                                     axis_list_without(owners, &storage->scattered_each),
                                 .reduce_last = axis_list_without(&rest, &each)};
    sums.reduce_each = axis_list_without(&rest, &sums.reduce_last);
    if (placement->ordered)
        order_sums(placement, storage, &sums);
    return sums;
}

static uint64_t mask_of(const struct gradient_sums *sums) {
    return axis_list_mask(&sums->inner_each) | axis_list_mask(&sums->inner_last) |
           axis_list_mask(&sums->scatter_each) | axis_list_mask(&sums->scatter_last) |
           axis_list_mask(&sums->reduce_each) | axis_list_mask(&sums->reduce_last);
}

// ---- stations and hops ------------------------------------------------------------------------

// The stations of a gradient that travels as codes: what is compressed, the device's code, and those
// of all. The residual lies as what is compressed.
struct coded {
    int sent, code, codes; // -1: it does not travel so
};

static struct coded add_codes(struct route_maker *m, int sent) {
    static const struct axis_list none = {0};
    const struct axis_list *wire = &m->storage->wire;
    struct coded coded = {-1, -1, -1};
    if (wire->n == 0)
        return coded;
    coded.sent = sent;
    m->route->residual =
        add_station(m, ".residual", CLASS_RESIDUAL, &m->route->stations[sent].flat);
    coded.code = add_transient(m, ".code", wire, 1);
    coded.codes = add_transient(m, ".codes", &none, 1);
    m->route->stations[coded.code].coded = m->route->stations[coded.codes].coded = true;
    return coded;
}

// Whether sums over devices are of other elements than the gradient that is kept.
static bool sums_cast(const struct route_maker *m) {
    return m->storage->types.reduced != m->storage->types.gradients;
}

// A transient of what travels, in the type in which it does. Of an owner's, the number of the layer says
// whose it is.
static int add_travelling(struct route_maker *m, const char *suffix, const struct axis_list *flat,
                          int64_t slots) {
    int made = add_transient(m, suffix, flat, slots);
    m->route->stations[made].stacked = owner_axes(m->storage, flat).n > 0;
    m->route->stations[made].dtype = m->storage->types.reduced;
    return made;
}

// Whether each microbatch's gradient goes to its owner, who keeps the sum of all.
static bool goes_to_owner(const struct route_maker *m, const struct gradient_sums *sums) {
    return m->storage->by_tensor && sums->scatter_each.n;
}

// Whether he adds what he has so far to his summand, which is of the same elements and in the same tier then.
static bool owner_adds_first(const struct route_maker *m, const struct gradient_sums *sums) {
    return goes_to_owner(m, sums) && !m->placement->ordered && !sums_cast(m) && !m->away;
}

// Whether sums over axes of the model come before others: where sums are ordered, and where owners have
// them, since devices that own nothing have nothing to add.
static bool sums_model_first(const struct route_maker *m, const struct gradient_sums *sums) {
    return m->placement->ordered || goes_to_owner(m, sums);
}

// Sums over axes of the model, before those over data axes. The devices of `keep_first` are
// left their parts of the sum over these, if they come last in it, else of a copy.
static void sum_first(struct route_maker *m, const struct gradient_sums *sums, int written,
                      int part, int kept) {
    const struct axis_list *parts = &sums->keep_first;
    struct axis_list summed = placement_sum(m->placement, m->mesh, m->facts->left);
    bool scatters = axis_list_begins(&summed, parts);
    int whole = copied_from(m, written, part);
    if (scatters)
        summed = axis_list_without(&summed, parts);
    add_transfer(m, HOP_SUM_FIRST, EVENT_BEHIND_WRITE, written, written, &summed);
    if (scatters)
        add_transfer(m, HOP_SCATTER_FIRST, EVENT_BEHIND_WRITE, written, kept, parts);
    else if (whole != kept)
        add_hop(m, HOP_KEEP_FIRST, EVENT_BEHIND_WRITE, whole, kept, NULL);
}

// Is it passed on the way to where gradients are summed?
static bool is_passed(const struct route_maker *m, int station) {
    const struct station *of = &m->route->stations[station];
    int whole = of->window_of >= 0 ? of->window_of : station;
    return of->class == CLASS_TRANSIENT && whole != m->made;
}

// Where the sums of microbatches are scattered last: what the update reads, or, where that is cut
// further, by axes of the model, a window around it, or by axes of the wire, whose codes bring the
// whole, a transient of which its part is kept. So is one of what travels in another type. Shards that
// the update's do not lie in take no scatter.
static int last_scattered(struct route_maker *m, struct gradient_sums *sums,
                          const struct axis_list *cuts, int part, bool cast) {
    const struct axis_list *owners = &m->storage->shards[STATE_OPTIMIZER];
    struct axis_list scattered = *cuts;
    axis_list_add_all(&scattered, &sums->scatter_last);
    if (!axis_list_begins(owners, &scattered)) {
        axis_list_add_all(&sums->reduce_last, &sums->scatter_last);
        sums->scatter_last = (struct axis_list){0};
        scattered = *cuts;
    }
    if (axis_list_equal(&scattered, owners) && !cast)
        return m->route->owned;
    if (axis_list_equal(&scattered, cuts))
        return part;
    return m->placement->ordered ? add_window(m, m->made, ".scattered", &scattered)
                                 : add_travelling(m, ".scattered", &scattered, 1);
}

// What is summed behind the last microbatch and scattered nowhere. What axes of the model have left a
// summand is, too, where nothing has done so.
static struct axis_list reduced_last(const struct route_maker *m,
                                     const struct gradient_sums *sums) {
    uint64_t left = sums_model_first(m, sums) ? 0 : m->facts->left;
    left &= ~axis_list_mask(&sums->scatter_each) & ~axis_list_mask(&sums->scatter_last);
    return placement_sum(m->placement, m->mesh, axis_list_mask(&sums->reduce_last) | left);
}

static bool any_summed_last(const struct route_maker *m, const struct gradient_sums *sums) {
    return sums->inner_last.n || sums->scatter_last.n || reduced_last(m, sums).n;
}

// When what all microbatches have given is summed. What both ends of a pipeline add to is coded behind all tasks.
static enum route_event event_of_sum(const struct route_maker *m) {
    bool waits = m->storage->of_both_ends && m->storage->wire.n;
    return waits ? EVENT_BEHIND_MICROBATCHES
                 : event_around(m, EVENT_BEHIND_MICROBATCHES, EVENT_BEHIND_WRITE);
}

// Sums behind the last microbatch: scatters first, so that what is left to sum is a shard's bytes. `cast`:
// what is summed, where that is of other elements than `part`; else -1. Where an owner's is no window of a
// whole, in which all devices could sum theirs in place, other axes come first.
static void sum_last(struct route_maker *m, const struct gradient_sums *sums, int part, int cast,
                     int last, int own, const struct coded *coded) {
    enum route_event event = event_of_sum(m);
    struct axis_list summed = reduced_last(m, sums), inner = sums->inner_last;
    int owned = m->route->owned, place = coded->sent >= 0 || own >= 0 ? last : owned;
    int whole = copied_from(m, m->route->sum, part);
    if (whole != part)
        add_hop(m, HOP_KEEP_SUM, event, whole, part, NULL);
    if (cast >= 0 && (sums->scatter_last.n || summed.n)) {
        add_hop(m, HOP_CAST_LAST, event, part, cast, NULL);
        part = cast;
    } else if (cast >= 0) {
        return;
    }
    if (m->storage->by_tensor && (cast >= 0 || m->route->stations[place].window_of < 0)) {
        axis_list_add_all(&inner, &summed);
        summed.n = 0;
    }
    add_transfer(m, HOP_SUM_INNER_LAST, event, part, part, &inner);
    add_transfer(m, HOP_SCATTER_LAST, event, part, last, &sums->scatter_last);
    add_transfer(m, HOP_SUM_LAST, event, place, place, &summed);
    if (coded->sent >= 0) {
        struct axis_list wire =
            placement_sum(m->placement, m->mesh, axis_list_mask(&m->storage->wire));
        add_hop(m, HOP_ENCODE, event, coded->sent, coded->code, NULL);
        if (coded->sent != owned) // the update reads padding with its part of the whole
            add_hop(m, HOP_CLEAR, event, coded->sent, coded->sent, NULL);
        add_transfer(m, HOP_GATHER_CODES, event, coded->code, coded->codes, &wire);
        add_hop(m, HOP_DECODE, event, coded->codes, coded->sent, NULL);
        add_release(m, HOP_RELEASE_CODES, event, coded->code);
        add_release(m, HOP_RELEASE_CODES, event, coded->codes);
    }
    if (own >= 0) {
        add_hop(m, HOP_KEEP_LAST, event, own, owned, NULL);
        add_release(m, HOP_RELEASE_LAST, event, last);
        if (part != last && is_passed(m, part))
            add_release(m, HOP_RELEASE_LAST, event, part);
    }
}

// Where one microbatch's gradient comes by before it is added: what units write, this device's part of
// it, what of it data axes sum, and that sum; all the place of the sums where there is no transient.
struct term {
    int written, travels;    // the same, in the type in which it is summed
    int part, kept, reduced; // reduced -1: what is summed is there already
    int summed;              // the last of what is not the place of the sums
    int own;                 // of what is reduced, this device's part; -1: all of it
};

// Whether what both ends of a pipeline give to a microbatch's gradient is added before microbatches are.
static bool adds_ends(const struct route_maker *m) {
    return m->storage->of_both_ends && m->placement->ordered;
}

static struct term add_term(struct route_maker *m, const struct gradient_sums *sums) {
    static const struct axis_list none = {0};
    const struct storage *storage = m->storage;
    bool several = adds_up(m), ordered = m->placement->ordered;
    struct term term = {-1, -1, m->route->sum, m->route->sum, -1, -1, -1};
    if (!adds_ends(m) && !sums->scatter_each.n && !storage->shards[STATE_GRADIENTS].n &&
        ((m->away && !sums_cast(m)) || (several && ordered) || !sums->reduce_each.n))
        return term;
    // Layers whose parameters are gathered together are reduced together.
    term.travels = add_travelling(m, ".unreduced", &none, layers_summed_at_once(storage));
    term.written = term.travels;
    if (storage->types.written != storage->types.reduced) {
        term.written = add_transient(m, ".terms", &none, layers_summed_at_once(storage));
        m->route->stations[term.written].dtype = storage->types.written;
    }
    term.part = add_window(m, term.travels, ".part", &sums->keep_first);
    if (sums->scatter_each.n || sums->keep_first.n == 0)
        term.kept = term.part;
    struct axis_list reduced = sums->keep_first;
    axis_list_add_all(&reduced, &sums->scatter_each);
    bool added = several && !ordered && !owner_adds_first(m, sums);
    if (sums->keep_each.n || (sums->scatter_each.n && (added || sums_cast(m))))
        term.reduced = add_travelling(m, ".reduced", &reduced, layers_summed_at_once(storage));
    term.summed = term.reduced >= 0 ? term.reduced : term.travels;
    if (sums->keep_each.n)
        term.own = kept_from(m, term.reduced, ".own", &m->route->stations[m->route->sum].flat);
    return term;
}

// Whether the sum of one microbatch's gradient is in a transient, and is added from there.
static bool is_added(const struct route_maker *m, const struct gradient_sums *sums,
                     const struct term *term) {
    return adds_up(m) && !m->placement->ordered && term->written >= 0 && !owner_adds_first(m, sums);
}

// Sums behind each microbatch, then adds to those of the microbatches before.
static void sum_each(struct route_maker *m, const struct gradient_sums *sums,
                     const struct term *term, const struct kept_sum *kept) {
    const enum route_event behind = EVENT_BEHIND_WRITE;
    bool several = adds_up(m);
    int sum = m->route->sum, shard = term->reduced >= 0 ? term->reduced : sum;
    int whole = sums->scatter_each.n ? shard : term->kept;
    if (term->travels != term->written)
        add_hop(m, HOP_CAST_EACH, behind, term->written, term->travels, NULL);
    if (sums_model_first(m, sums))
        sum_first(m, sums, term->travels >= 0 ? term->travels : m->route->used, term->part,
                  term->kept);
    if (several && owner_adds_first(m, sums))
        add_hop(m, HOP_ADD_FIRST, behind, sum, term->travels, NULL);
    add_transfer(m, HOP_SUM_INNER_EACH, behind, term->kept, term->kept, &sums->inner_each);
    add_transfer(m, HOP_SCATTER_EACH, behind, term->kept, shard, &sums->scatter_each);
    add_transfer(m, HOP_SUM_EACH, behind, whole, whole, &sums->reduce_each);
    bool added = is_added(m, sums, term);
    bool stays = adds_ends(m) && !sums->scatter_each.n && term->kept == term->travels;
    if (term->own >= 0)
        add_hop(m, HOP_KEEP_EACH, behind, term->own, sum, NULL);
    else if ((sums_cast(m) || stays) && term->written >= 0 && !added)
        add_hop(m, HOP_KEEP_EACH, behind, term->summed, sum, NULL);
    if (kept->home >= 0)
        add_term_to_kept(m, kept);
    else if (several && m->placement->ordered)
        add_hop(m, HOP_CARRY, behind, sum, sum, NULL);
    else if (added)
        add_hop(m, HOP_ADD, behind, term->summed, sum, NULL);
    add_release(m, HOP_RELEASE_TERM, behind, term->written);
    if (term->travels != term->written)
        add_release(m, HOP_RELEASE_TERM, behind, term->travels);
    if (m->storage->along && term->kept != sum && term->kept != term->travels)
        add_release(m, HOP_RELEASE_TERM, behind, term->kept);
    add_release(m, HOP_RELEASE_TERM, behind, term->reduced);
}

// Codes of shards bring the whole, of which each device keeps its part. There is one microbatch, so
// what would be summed in each is summed behind the last, out of what units write.
static bool sheds_whole(const struct storage *storage) {
    return axis_list_within(&storage->shards[STATE_GRADIENTS], &storage->wire).n > 0;
}

void make_gradients(struct route_maker *m) {
    const struct storage *storage = m->storage;
    const struct axis_list *owners = &storage->shards[STATE_OPTIMIZER];
    bool sheds = sheds_whole(storage);
    struct gradient_sums sums = sums_of(m->placement, storage);
    m->route->summand = mask_of(&sums) | axis_list_mask(&storage->wire);
    if (sheds) {
        sums.scatter_each = (struct axis_list){0};
        sums.scatter_last = *owners;
    }
    // Codes are summed over their axes, to the whole that all of these have.
    sums.scatter_last = axis_list_without(&sums.scatter_last, &storage->wire);
    sums.reduce_last = axis_list_without(&sums.reduce_last, &storage->wire);

    const int kept = add_station(m, "", CLASS_GRADIENTS, &storage->shards[STATE_GRADIENTS]);
    const int rest = m->made = add_made(m, kept);
    m->away = kept != rest;
    // There are one layer's, or those of layers that are reduced together.
    if (consumes_gradients(storage) && !storage->taken_later) {
        m->route->stations[rest].stacked = false;
        m->route->stations[rest].slots = layers_summed_at_once(storage);
    }
    int owned = m->route->owned = add_window(m, rest, rest == kept ? ".window" : ".share", owners);
    struct axis_list cuts = sums.keep_first;
    axis_list_add_all(&cuts, &sums.scatter_each);
    axis_list_add_all(&cuts, &sums.keep_each);
    int sum = m->route->sum =
        sheds || axis_list_equal(&cuts, owners) ? owned : add_window(m, rest, ".sum", &cuts);
    struct term term = add_term(m, &sums);
    m->route->used = term.written >= 0 ? term.written : rest;
    axis_list_add_all(&cuts, &sums.keep_last);
    int part = sheds ? term.travels : sums.keep_last.n ? add_window(m, rest, ".part", &cuts) : sum;
    int cast = -1;
    if (sums_cast(m))
        cast = add_travelling(m, ".cast", &m->route->stations[part].flat, 1);
    int last = last_scattered(m, &sums, &cuts, cast >= 0 ? cast : part, cast >= 0);
    int own = last != owned && (is_passed(m, last) || storage->along)
                  ? kept_from(m, last, ".own", owners)
                  : -1;
    struct coded coded = add_codes(m, last);
    if (sheds)
        term.written = term.travels = -1; // released behind the codes

    struct kept_sum added =
        add_kept_sum(m, kept, sum, is_added(m, &sums, &term) ? term.summed : sum);
    // It comes in behind the microbatches.
    bool again = added.home >= 0 && (any_summed_last(m, &sums) || coded.sent >= 0);

    if (adds_up(m) && !m->placement->ordered && added.home >= 0)
        zero_kept_sum(m, &added);
    else if (adds_up(m) && !m->placement->ordered)
        add_hop(m, HOP_ZERO, EVENT_BEFORE_MICROBATCHES, sum, sum, NULL);
    sum_each(m, &sums, &term, &added);
    if (again)
        fetch_kept_sum(m, &added);
    sum_last(m, &sums, part, cast, last, own, &coded);
    // The part that is updated with may have been added up where it is kept.
    bool is_added = m->storage->along && added.home >= 0 &&
                    axis_list_equal(&m->route->stations[added.home].flat, owners);
    int at = is_added ? added.home : m->away ? kept : owned;
    struct updating updating = add_updating(m, at, owners);
    if (added.home < 0 ? m->away : again)
        put_sum(m, event_of_sum(m), owned, updating.home, rest);
    if (added.home >= 0)
        m->route->sum = added.home;
    add_to_norm(m, updating.home, owners);
    add_to_update(m, &updating);
    if (updating.updated != updating.home)
        add_release(m, HOP_RELEASE_UPDATED, EVENT_BEHIND_UPDATE, updating.updated);
}
