// What is paired: the parameters and results of two programs, and what is known of where each lies.
//
//   places.c    makes them
//   said.c      what the spec and the texts of shardings say of them
//   layout.c    the mesh; layouts from what is said, or from shapes
#ifndef PLACE_EQUAL_LAYOUT_PLACES_H
#define PLACE_EQUAL_LAYOUT_PLACES_H

#include "equal/layout/match.h"
#include "equal/layout/sharding.h"
#include "equal/layout/spec.h"

struct place {
    bool is_result;
    uint32_t number; // of the parameter of one device's program, or of the result
    const struct array_shape *one, *many;
    const struct instruction *one_at, *many_at;
    const struct spec_entry *entry; // NULL: the spec says nothing of it
    bool has_sharding;
    struct sharding sharding;
    const struct instruction *sharding_at;
    struct array_layout *layout; // its dimensions are NULL until they are found
};

struct pairer {
    const struct pairing_question *question;
    struct arena *arena;
    struct diagnostics *diagnostics;
    const struct layout_spec *spec; // NULL: none
    struct device_mesh mesh;
    struct place *places; // parameters, then results
    struct array_layout *layouts;
    uint32_t n_places, n_parameters;
    enum laid_out_by laid_out_by;
    bool is_whole_reported; // that the many's arrays are whole: said once, it is true of all
};

// ---- places.c ---------------------------------------------------------------------------------
const struct instruction *entry_root(const struct graph *);
// Whether no parameter and no result is a tuple; else it has been reported (E915, E916).
bool has_arrays_only(const struct pairer *, const struct graph *);
bool has_equal_results(const struct pairer *); // as many; else it has been reported (E916)
void make_places(struct pairer *, const struct matching *);

const char *place_words(const struct place *, struct arena *); // "parameter `wq`", "result 3"
const char *sizes_text(struct arena *, const int64_t *sizes, uint32_t rank); // "[28,32]"
// The place's line of a spec, with these texts for its dimensions.
const char *place_line(const struct place *, const char *const *dimensions, struct arena *);

// ---- said.c -----------------------------------------------------------------------------------
// Gives each place its entry of the spec, or reads its sharding where it has none. False: reported (E912, E918).
bool take_spec(struct pairer *);
bool read_shardings(struct pairer *);
// Lays the array out as its entry, or its sharding, says. Reports where the two shapes, or the mesh, are not so.
void lay_out_by_spec(struct pairer *, struct place *);
void lay_out_by_sharding(struct pairer *, struct place *);

#endif
