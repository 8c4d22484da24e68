// What routes come to: every piece of every transfer of the training step is a hop of some route,
// which its buffers tell, both being stations of it. So the sums are those of the account.
#include "ir/check.h"
#include "passes/account/account.h"

// Where a buffer is a station; `route` NO_ID: nowhere.
struct place {
    uint32_t route;
    int station;
};

static void note_place(struct place *places, buffer_id buffer, uint32_t route, int station) {
    if (buffer != NO_ID)
        places[buffer] = (struct place){route, station};
}

static struct place *find_places(const struct program *program, const struct routes *routes,
                                 struct arena *arena) {
    struct place *places = ARENA_ARRAY(arena, struct place, program->n_buffers + 1);
    for (buffer_id i = 0; i < program->n_buffers; i++)
        places[i].route = NO_ID;
    for (uint32_t r = 0; r < routes->n; r++) {
        const struct routed *routed = &routes->items[r];
        for (unsigned s = 0; s < routed->route.n_stations; s++) {
            note_place(places, routed->buffers[s], r, (int)s);
            for (uint32_t i = 0; i < routed->of_units[s].n; i++)
                note_place(places, routed->of_units[s].items[i], r, (int)s);
        }
    }
    return places;
}

static enum action action_of(enum collective_kind kind) {
    return collective_gathers(kind)                                         ? ACTION_GATHER
           : kind == COLLECTIVE_REDUCE_SCATTER || kind == COLLECTIVE_REDUCE ? ACTION_SCATTER
           : kind == COLLECTIVE_COPY                                        ? ACTION_COPY
                                                                            : ACTION_REDUCE;
}

// Two hops may be between the same stations, over other axes, or one around the microbatches; NULL: it is
// none of the route's.
static const struct hop *hop_of(const struct route *route, const struct exchange *exchange,
                                int from, int to, bool in_microbatch) {
    const struct hop *found = NULL;
    for (unsigned i = 0; i < route->n_hops; i++) {
        const struct hop *hop = &route->hops[i];
        if (hop->from != from || hop->to != to ||
            hop_rows[hop->kind].action != action_of(exchange->kind) ||
            !axis_list_equal(&hop->axes, &exchange->axes))
            continue;
        bool around =
            hop->event == EVENT_BEFORE_MICROBATCHES || hop->event == EVENT_BEHIND_MICROBATCHES;
        if (!found || around != in_microbatch)
            found = hop;
    }
    return found;
}

struct hop_account *account_routes(const struct program *program, const struct routes *routes,
                                   struct arena *arena) {
    struct hop_account *accounts =
        ARENA_ARRAY(arena, struct hop_account, routes->n * MAX_ROUTE_HOPS + 1);
    const struct place *places = find_places(program, routes, arena);
    struct statement_walk walk = walk_statements(&program->steps[STEP_TRAIN].body);
    while (walk_next(&walk)) {
        const struct transfer *start = &walk.statement->start;
        if (walk.statement->kind != STATEMENT_START)
            continue;
        for (uint32_t i = 0; i < start->n_pieces; i++) {
            struct place from = places[start->pieces[i].from.buffer];
            struct place to = places[start->pieces[i].to.buffer];
            if (from.route == NO_ID || from.route != to.route)
                continue;
            const struct route *route = &routes->items[from.route].route;
            const struct loop *outermost = walk_loop(&walk, 0);
            bool in_microbatch = outermost && loop_counts_microbatches(program, outermost, 0);
            const struct hop *hop =
                hop_of(route, &start->exchange, from.station, to.station, in_microbatch);
            CHECK(hop);
            struct hop_account *account =
                &accounts[from.route * MAX_ROUTE_HOPS + (hop - route->hops)];
            account->times = size_plus(account->times, walk_trips(&walk));
            account->bytes =
                size_plus(account->bytes, size_times(account_trips(program, &walk),
                                                     account_piece(program, start, i)));
        }
    }
    return accounts;
}
