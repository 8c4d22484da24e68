// What the spec and the texts of shardings say of places, and the layouts that follow.
#include <inttypes.h>
#include <string.h>

#include "equal/layout/places.h"
#include "ir/sizes.h"

// ---- what the spec is about -------------------------------------------------------------------

static bool take_entry(struct pairer *p, struct place *place, const struct spec_entry *entry) {
    if (place->entry) {
        struct diagnostic *d =
            report(p->diagnostics, E912, entry->span, "the spec says twice where %s lies",
                   place_words(place, p->arena));
        diagnostic_label(d, place->entry->span, "here too");
        return false;
    }
    place->entry = entry;
    return true;
}

// Whether the spec lists all parameters in order: then its names need not tell them apart.
static bool is_in_order(const struct pairer *p) {
    const struct spec_list *list = &p->spec->parameters;
    for (uint32_t i = 0; i < list->n && list->n == p->n_parameters; i++) {
        const char *key = name_key(list->of[i].name, p->arena);
        if (*key && !is_key_tail(key, name_key(p->places[i].layout->name, p->arena)))
            return false;
    }
    return list->n == p->n_parameters;
}

static void report_unknown(const struct pairer *p, const struct spec_entry *entry) {
    const char **names = ARENA_ARRAY(p->arena, const char *, p->n_parameters);
    for (uint32_t i = 0; i < p->n_parameters; i++)
        names[i] = p->places[i].layout->name;
    struct diagnostic *d = report(p->diagnostics, E912, entry->span,
                                  "the programs have no parameter `%s`", entry->name);
    if (!propose_names(d, entry->span, entry->name, names, p->n_parameters, p->arena))
        diagnostic_help(d, "a parameter's name is its path, as in `%s`, or the end of it",
                        p->n_parameters ? names[0] : "params['w']");
}

// The entry is said of the parameter of that name, or of all whose names end so.
static bool take_named(struct pairer *p, const struct spec_entry *entry, const char *const *keys) {
    uint32_t *found = ARENA_ARRAY(p->arena, uint32_t, p->n_parameters);
    uint32_t n = find_by_name(entry->name, keys, p->n_parameters, found, p->arena);
    for (uint32_t i = 0; i < n; i++)
        if (!take_entry(p, &p->places[found[i]], entry))
            return false;
    if (!n)
        report_unknown(p, entry);
    return n > 0;
}

// A spec of another model fits nowhere, and a few of its names show that.
enum { MAX_REFUSED_ENTRIES = 8 };

static bool take_parameters(struct pairer *p) {
    const struct spec_list *list = &p->spec->parameters;
    if (is_in_order(p)) {
        for (uint32_t i = 0; i < list->n; i++)
            p->places[i].entry = &list->of[i];
        return true;
    }
    const char **keys = ARENA_ARRAY(p->arena, const char *, p->n_parameters);
    uint32_t n_refused = 0;
    for (uint32_t i = 0; i < p->n_parameters; i++)
        keys[i] = name_key(p->places[i].layout->name, p->arena);
    for (uint32_t i = 0; i < list->n && n_refused < MAX_REFUSED_ENTRIES; i++)
        n_refused += !take_named(p, &list->of[i], keys);
    return n_refused == 0;
}

static bool take_results(struct pairer *p) {
    const struct spec_list *list = &p->spec->results;
    uint32_t n_results = p->n_places - p->n_parameters;
    if (p->spec->has_all_results && list->n && list->n != n_results) {
        report(p->diagnostics, E912, list->of[list->n - 1].span,
               "the spec has %u result%s, the programs have %u", list->n, plural_s(list->n),
               n_results);
        return false;
    }
    for (uint32_t i = 0; i < list->n; i++) {
        const struct spec_entry *entry = &list->of[i];
        if (entry->number >= n_results) {
            struct diagnostic *d =
                report(p->diagnostics, E912, entry->span, "the programs have no such result");
            diagnostic_help(d, "they have %u, with numbers from 0 on", n_results);
            return false;
        }
        struct place *place = &p->places[p->n_parameters + entry->number];
        if (!take_entry(p, place, entry))
            return false;
        if (entry->name[0])
            place->layout->name = entry->name;
    }
    return true;
}

// Which devices meet in a group was asked while the program was read; here what the spec says of others is refused.
static bool take_group(const struct pairer *p, uint32_t number) {
    const struct graph *many = p->question->many;
    const struct spec_group *group = &p->spec->groups[number];
    bool is_named = false;
    for (uint32_t i = 0; i < number; i++)
        if (strcmp(p->spec->groups[i].name, group->name) == 0) {
            struct diagnostic *d =
                report(p->diagnostics, E912, group->span,
                       "the spec says twice which devices meet in group `%s`", group->name);
            diagnostic_label(d, p->spec->groups[i].span, "here too");
            return false;
        }
    for (uint32_t i = 0; i < many->n_process_groups; i++)
        is_named |= strcmp(many->process_groups[i], group->name) == 0;
    if (is_named)
        return true;
    struct diagnostic *d =
        report(p->diagnostics, E912, group->span,
               "no collective of the many's program names group `%s`", group->name);
    if (!diagnostic_meant(d, group->span, group->name, many->process_groups,
                          many->n_process_groups))
        diagnostic_help(d,
                        many->n_process_groups ? "leave it out, or name one that is there, as `%s`"
                                               : "leave it out: HLO text lists the devices",
                        many->n_process_groups ? many->process_groups[0] : "");
    return false;
}

static bool take_groups(const struct pairer *p) {
    for (uint32_t i = 0; i < p->spec->n_groups; i++)
        if (!take_group(p, i))
            return false;
    return true;
}

bool take_spec(struct pairer *p) {
    return take_groups(p) && take_parameters(p) && take_results(p);
}

// ---- shardings --------------------------------------------------------------------------------

// The place's line with what is to be filled in.
static const char *open_line(const struct pairer *p, const struct place *place) {
    const char *dimensions[MAX_GRAPH_RANK];
    for (uint32_t i = 0; i < place->one->rank; i++)
        dimensions[i] = "AXES";
    return place_line(place, dimensions, p->arena);
}

// Reads the sharding of the place in one of the programs, where that says anything of it.
static bool read_sharding(struct pairer *p, struct place *place, const struct instruction *at) {
    const char *text = at->attributes->sharding;
    if (!text)
        return true;
    const char *why = sharding_read(&place->sharding, text, place->is_result ? place->number : 0,
                                    p->question->many->n_devices, p->arena);
    if (why) {
        struct diagnostic *d = report(p->diagnostics, E918, at->span, "the sharding of %s %s",
                                      place_words(place, p->arena), why);
        diagnostic_help(d, "say in a spec where it lies: `%s`", open_line(p, place));
        return false;
    }
    place->has_sharding = !place->sharding.is_silent;
    place->sharding_at = at;
    return true;
}

bool read_shardings(struct pairer *p) {
    const struct graph *one = p->question->one, *many = p->question->many;
    bool is_read = true;
    for (uint32_t i = 0; i < p->n_places; i++) {
        struct place *place = &p->places[i];
        if (place->entry)
            continue;
        is_read &= read_sharding(p, place, place->is_result ? entry_root(many) : place->many_at);
        if (is_read && !place->has_sharding)
            is_read &= read_sharding(p, place, place->is_result ? entry_root(one) : place->one_at);
    }
    return is_read;
}

// ---- layouts ----------------------------------------------------------------------------------

static const char *mesh_words(const struct pairer *p) {
    return arena_format(p->arena, "the mesh %s", device_mesh_text(&p->mesh, p->arena));
}

static bool read_cut(const struct pairer *p, const struct place *place,
                     const struct spec_segment *from, struct cut *cut, uint32_t *used) {
    for (uint32_t i = 0; i < from->n_axes; i++) {
        const struct spec_axis *said = &from->axes[i];
        int axis = device_mesh_find(&p->mesh, said->name);
        if (axis < 0) {
            const char *names[MAX_MESH_AXES];
            for (uint32_t j = 0; j < p->mesh.n_axes; j++)
                names[j] = p->mesh.axes[j].name;
            struct diagnostic *d = report(p->diagnostics, E912, said->span, "%s has no axis `%s`",
                                          mesh_words(p), said->name);
            diagnostic_meant(d, said->span, said->name, names, p->mesh.n_axes);
            return false;
        }
        if (*used >> axis & 1) {
            report(p->diagnostics, E912, said->span, "`%s` cuts %s twice", said->name,
                   place_words(place, p->arena));
            return false;
        }
        *used |= 1u << axis;
        cut->axes[cut->n++] = (uint8_t)axis;
    }
    return true;
}

// The segments of a dimension. One axis may cut each of them, but none twice, nor two dimensions.
static bool read_dimension(const struct pairer *p, const struct place *place,
                           const struct spec_dimension *from, int64_t size,
                           struct dimension_layout *into, uint32_t *used) {
    struct segment *segments = ARENA_ARRAY(p->arena, struct segment, from->n_segments);
    uint32_t used_before = *used;
    int64_t total = 0;
    for (uint32_t i = 0; i < from->n_segments; i++) {
        uint32_t used_here = used_before;
        segments[i].size = from->segments[i].size ? from->segments[i].size : size;
        total = size_plus(total, segments[i].size);
        if (!read_cut(p, place, &from->segments[i], &segments[i].cut, &used_here))
            return false;
        *used |= used_here;
    }
    *into = (struct dimension_layout){segments, from->n_segments};
    if (total != size)
        report(p->diagnostics, E912, place->entry->span,
               "segments of %s add up to %" PRId64 ", not to %" PRId64,
               place_words(place, p->arena), total, size);
    return total == size;
}

// The size of a device's part; -1: the axes do not divide it.
static int64_t part_size(const struct pairer *p, const struct dimension_layout *dimension) {
    int64_t size = 0;
    for (uint32_t i = 0; i < dimension->n_segments; i++) {
        const struct segment *segment = &dimension->segments[i];
        int64_t n = cut_size(&p->mesh, &segment->cut);
        if (segment->size % n)
            return -1;
        size += segment->size / n;
    }
    return size;
}

// Reports that the many's shape is not that of a device's part.
static void report_part(struct pairer *p, const struct place *place, const int64_t *part,
                        enum diagnostic_code code, struct span span) {
    const int64_t *whole = place->one->sizes, *many = place->many->sizes;
    uint32_t rank = place->one->rank;
    bool is_whole = memcmp(whole, many, rank * sizeof *whole) == 0;
    if (is_whole && p->is_whole_reported)
        return;
    p->is_whole_reported |= is_whole;
    struct diagnostic *d = report(p->diagnostics, code, span,
                                  "a device would have %s of %s, the program of the many has %s",
                                  sizes_text(p->arena, part, rank), place_words(place, p->arena),
                                  sizes_text(p->arena, many, rank));
    if (!span_equal(span, place->many_at->span))
        diagnostic_label(d, place->many_at->span, "the part of each device");
    if (is_whole)
        diagnostic_help(d, "it is whole there: take the text behind XLA's pass "
                           "`spmd-partitioning`, in which shapes are of a device's part");
}

// Whether the many's shape is the part that the layout leaves of one's; else it is reported at `span`.
static bool check_part(struct pairer *p, const struct place *place,
                       const struct dimension_layout *dimensions, enum diagnostic_code code,
                       struct span span) {
    int64_t part[MAX_GRAPH_RANK];
    bool fits = true;
    for (uint32_t i = 0; i < place->one->rank; i++) {
        part[i] = part_size(p, &dimensions[i]);
        if (part[i] < 0) {
            report(p->diagnostics, code, span,
                   "dimension %u of %s is %" PRId64 ", which does not divide so", i,
                   place_words(place, p->arena), place->one->sizes[i]);
            return false;
        }
        fits &= part[i] == place->many->sizes[i];
    }
    if (!fits)
        report_part(p, place, part, code, span);
    return fits;
}

static bool is_of_shape(const struct pairer *p, const struct place *place) {
    const struct spec_entry *entry = place->entry;
    bool is_equal = entry->rank == place->one->rank;
    for (uint32_t i = 0; is_equal && i < entry->rank; i++)
        is_equal = entry->sizes[i] == place->one->sizes[i];
    bool is_kind = !entry->has_kind || entry->kind == element_rows[place->one->element].kind;
    if (is_equal && is_kind)
        return true;
    struct diagnostic *d =
        report(p->diagnostics, E912, entry->span, "%s is %s, %s", place_words(place, p->arena),
               shape_text(place->one, p->arena),
               is_equal ? "of another type than in the spec"
                        : arena_format(p->arena, "in the spec it is %s",
                                       sizes_text(p->arena, entry->sizes, entry->rank)));
    diagnostic_label(d, place->one_at->span, "the whole array");
    return false;
}

void lay_out_by_spec(struct pairer *p, struct place *place) {
    uint32_t used = 0;
    if (!is_of_shape(p, place))
        return;
    struct dimension_layout *dimensions =
        ARENA_ARRAY(p->arena, struct dimension_layout, place->one->rank);
    for (uint32_t i = 0; i < place->one->rank; i++)
        if (!read_dimension(p, place, &place->entry->dimensions[i], place->one->sizes[i],
                            &dimensions[i], &used))
            return;
    if (check_part(p, place, dimensions, E912, place->entry->span))
        place->layout->dimensions = dimensions;
}

void lay_out_by_sharding(struct pairer *p, struct place *place) {
    const struct sharding *sharding = &place->sharding;
    uint32_t rank = place->one->rank;
    struct dimension_layout *dimensions = ARENA_ARRAY(p->arena, struct dimension_layout, rank);
    bool fits = sharding->rank <= rank;
    for (uint32_t i = 0; i < rank; i++) {
        struct segment *segment = ARENA_NEW(p->arena, struct segment);
        segment->size = place->one->sizes[i];
        dimensions[i] = (struct dimension_layout){segment, 1};
        if (i < sharding->rank)
            fits &= device_mesh_axes_of(&p->mesh, &sharding->dimensions[i], &segment->cut);
    }
    if (!fits) {
        struct diagnostic *d = report(
            p->diagnostics, E918, place->sharding_at->span, "the sharding of %s does not fit %s",
            place_words(place, p->arena), sharding->rank <= rank ? mesh_words(p) : "its shape");
        diagnostic_help(d, "give the mesh with which the program was made, as in "
                           "`--mesh dp=2,tp=3`");
        return;
    }
    if (check_part(p, place, dimensions, E918, place->sharding_at->span))
        place->layout->dimensions = dimensions;
}
