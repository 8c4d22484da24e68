// Routes (routes.h), between the files that make them.
//
//   routes.c         routes of all states; those of parameters
//   gradient_sums.c  those of gradients: over which axes they are summed, where and when
//   tiers.c          what is kept in another tier than where it is used, or updated
//   maker.c          adds stations and hops to a route
#ifndef PLACE_PASSES_ROUTES_MAKER_H
#define PLACE_PASSES_ROUTES_MAKER_H

#include "passes/routes/routes.h"

struct route_maker {
    const struct placement *placement;
    const struct mesh *mesh;
    const struct storage *storage;
    const struct route_facts *facts;
    struct route *route;
    int made;  // of gradients: the station at which they are made and summed
    bool away; // of gradients: they are kept in another tier
};

// ---- stations and hops (maker.c) --------------------------------------------------------------
// A station is known by its number in the route.
int add_station(struct route_maker *, const char *suffix, enum buffer_class,
                const struct axis_list *flat);
int add_transient(struct route_maker *, const char *suffix, const struct axis_list *flat,
                  int64_t slots);
// This device's part of a station, cut by all of `flat`, where it is: no copy to update or to reduce
// into. The station itself, if it is cut so already. Parts along a dimension are rows of the whole that do
// not lie side by side, and which slot of a whole has a layer does not say who owns that, so such a part
// has bytes of its own, which somebody must write.
int add_window(struct route_maker *, int whole, const char *suffix, const struct axis_list *flat);
// The station from which this device's part is copied: a window, or, along a dimension, the whole.
int kept_from(struct route_maker *, int whole, const char *suffix, const struct axis_list *flat);
// Whence a part that is a station already has its elements: it is where they are, or, along a dimension,
// they are copied there.
int copied_from(const struct route_maker *, int whole, int part);
// Kinds stand in the order in which those of one event are made. Axes may be NULL.
struct hop *add_hop(struct route_maker *, enum hop_kind, enum route_event, int from, int to,
                    const struct axis_list *axes);
// No axes: nothing has to move.
void add_transfer(struct route_maker *, enum hop_kind, enum route_event, int from, int to,
                  const struct axis_list *axes);
// Releases a station; -1: there is none.
void add_release(struct route_maker *, enum hop_kind, enum route_event, int station);
// Whether gradients are added up behind what makes them: those of several microbatches, or, where a code is of their sum
// and none of them stays on the device, what both ends of a pipeline make of a table.
bool adds_up(const struct route_maker *);
// The event around the microbatches, or `inside`: with one microbatch nothing stands around it.
enum route_event event_around(const struct route_maker *, enum route_event around,
                              enum route_event inside);

// ---- tiers (tiers.c) --------------------------------------------------------------------------
// The station on the device from which units use what is kept at `rest`: itself, or a place of each
// unit's own to which it is copied at the event.
int add_fetched(struct route_maker *, int rest, enum route_event);
// The station on the device where gradients are made and summed that are kept at `rest`: itself, or a
// place that the next layers have, too.
int add_made(struct route_maker *, int rest);
// Gradients of several microbatches that are kept in another tier than they are made in, where `kept` is
// cut as `sum` is: where they are added up. Behind a microbatch its own is at `term`.
struct kept_sum {
    int sum, term;
    int home;   // where it is kept; -1: there, or there is one microbatch
    int beside; // of a microbatch's where sums are kept, or of a sum where they are made; -1: none
};
struct kept_sum add_kept_sum(struct route_maker *, int kept, int sum, int term);
void zero_kept_sum(struct route_maker *, const struct kept_sum *);    // before the microbatches
void add_term_to_kept(struct route_maker *, const struct kept_sum *); // behind each
void fetch_kept_sum(struct route_maker *, const struct kept_sum *);   // behind all, to be summed on
// This device's part of the sum goes from where it was made to where it is kept, `home`.
void put_sum(struct route_maker *, enum route_event, int owned, int home, int made);
// What is read for the norm comes to where that is taken, from where it is kept.
void add_to_norm(struct route_maker *, int home, const struct axis_list *owners);
// Where a device has what it updates of a state that is kept at `rest`: its part, where that is kept or was
// cut out, and that part where the update runs. Of parameters that are gathered behind it also the part on
// the device, and of what.
struct updating {
    int rest, home, updated, own, whole;
    int cut_from; // what the part is cut out of, by a copy; -1: it is where it is kept
};
// Makes the stations of a state that is kept at `rest`. The hops come behind all earlier ones: to the
// update, if it reads the state, from it, if it writes it, and what is gathered behind it.
struct updating add_updating(struct route_maker *, int rest, const struct axis_list *owners);
void add_to_update(struct route_maker *, const struct updating *);
void add_from_update(struct route_maker *, const struct updating *);
// What was averaged goes back to where an outer optimizer has it come from.
void add_from_average(struct route_maker *, const struct updating *);
void add_behind_update(struct route_maker *, const struct updating *);

// ---- gradients (gradient_sums.c) --------------------------------------------------------------
void make_gradients(struct route_maker *);

#endif
