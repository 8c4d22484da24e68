// Pairs two programs: finds the mesh, and gives every parameter and result its layout, from the spec, from the text of
// its sharding, or from its shapes.
#include "equal/layout/layout.h"

#include <inttypes.h>
#include <string.h>

#include "equal/layout/places.h"
#include "equal/layout/shapes.h"

// ---- the mesh ---------------------------------------------------------------------------------

// Refuses a mesh of another number of devices than the program of the many has.
static bool check_devices(const struct pairer *p, struct span span) {
    uint32_t n_devices = p->question->many->n_devices;
    if (p->mesh.n_devices == n_devices)
        return true;
    struct diagnostic *d =
        report(p->diagnostics, E910, span, "the mesh %s has %u device%s, the program has %u",
               device_mesh_text(&p->mesh, p->arena), p->mesh.n_devices, plural_s(p->mesh.n_devices),
               n_devices);
    diagnostic_help(d, "sizes multiply to the `num_partitions` of the program of the many");
    return false;
}

// Takes the mesh if it has more axes than the one that is known and all devices.
static void prefer(struct device_mesh *mesh, const struct device_axis *axes, uint32_t n,
                   uint32_t n_devices) {
    struct device_mesh other = {.n_devices = 1};
    for (uint32_t i = 0; i < n; i++)
        if (device_mesh_add(&other, axes[i].name, axes[i].size))
            return;
    if (other.n_axes > mesh->n_axes && other.n_devices == n_devices)
        *mesh = other;
}

// The mesh whose axes the programs name; of no axes, where they name none.
static struct device_mesh named_mesh(const struct pairer *p) {
    struct device_mesh mesh = {.n_devices = 1};
    const struct graph *one = p->question->one, *many = p->question->many;
    prefer(&mesh, many->axes, many->n_axes, many->n_devices);
    prefer(&mesh, one->axes, one->n_axes, many->n_devices);
    for (uint32_t i = 0; i < p->n_places; i++)
        prefer(&mesh, p->places[i].sharding.axes, p->places[i].sharding.n_axes, many->n_devices);
    return mesh;
}

static void cut_where_axes_meet(struct stride_chain *chain, const struct device_mesh *mesh) {
    struct digit_list digits = {.n = 0};
    int64_t stride = mesh->n_devices;
    for (uint32_t i = 0; i < mesh->n_axes; i++) {
        stride /= mesh->axes[i].size;
        digits.of[digits.n++] = (struct device_digit){mesh->axes[i].size, stride};
    }
    stride_chain_cut(chain, &digits);
}

// Cuts where groups tell devices apart: at the digits of a device's place in its group, between which are the group's.
static void cut_at_groups(struct stride_chain *chain, const struct device_groups *groups) {
    struct digit_list inside, outside;
    if (digits_of_list(groups->devices, groups->n_groups * groups->size, &inside) &&
        digits_take(&inside, groups->n_groups, &outside))
        stride_chain_cut(chain, &inside);
}

enum { MAX_DEVICE_GROUPS = 64 }; // that are looked at

static void cut_at_all_groups(struct stride_chain *chain, const struct graph *graph) {
    const struct device_groups *seen[MAX_DEVICE_GROUPS];
    uint32_t n_seen = 0;
    for (uint32_t i = 0; i < graph->n_computations; i++)
        for (uint32_t j = 0; j < graph->computations[i].n; j++) {
            const struct instruction_attributes *with =
                graph->computations[i].instructions[j].attributes;
            bool is_new = with->groups && !with->counts_replicas && n_seen < MAX_DEVICE_GROUPS;
            for (uint32_t k = 0; is_new && k < n_seen; k++)
                is_new = seen[k] != with->groups;
            if (!is_new)
                continue;
            seen[n_seen++] = with->groups;
            cut_at_groups(chain, with->groups);
        }
}

// The mesh that the programs' texts give: one that they name, unless they tell devices apart that it does not.
static void find_mesh(struct pairer *p) {
    const struct graph *many = p->question->many;
    struct device_mesh named = named_mesh(p);
    struct stride_chain chain = stride_chain_of(many->n_devices);
    if (named.n_axes)
        cut_where_axes_meet(&chain, &named);
    else
        cut_at_all_groups(&chain, many);
    uint32_t n_named = chain.n;
    for (uint32_t i = 0; i < p->n_places; i++)
        for (uint32_t j = 0; j < p->places[i].sharding.rank; j++)
            stride_chain_cut(&chain, &p->places[i].sharding.dimensions[j]);
    p->mesh = named.n_axes && chain.n == n_named ? named : device_mesh_of_chain(&chain, p->arena);
}

static bool choose_mesh(struct pairer *p) {
    const struct layout_given *given = p->question->given;
    if (given->has_mesh) {
        p->mesh = given->mesh;
        return check_devices(p, given->mesh_span);
    }
    find_mesh(p);
    return true;
}

// ---- layouts from shapes ----------------------------------------------------------------------

static bool divides(const struct array_shape *part, const struct array_shape *whole) {
    bool does = part->rank == whole->rank;
    for (uint32_t i = 0; does && i < part->rank; i++)
        does = part->sizes[i] == whole->sizes[i] ||
               (part->sizes[i] > 0 && whole->sizes[i] % part->sizes[i] == 0);
    return does;
}

// A result whose shape fits here, and to whose place the one of here fits; NULL: none.
static const struct place *swapped_with(const struct pairer *p, const struct place *place) {
    for (uint32_t i = p->n_parameters; place->is_result && i < p->n_places; i++) {
        const struct place *other = &p->places[i];
        if (!divides(other->many, other->one) && divides(other->many, place->one) &&
            divides(place->many, other->one))
            return other;
    }
    return NULL;
}

static void report_shapes(const struct pairer *p, const struct place *place, const char *why) {
    struct diagnostic *d = report(p->diagnostics, E914, place->many_at->span, "%s is %s of %s: %s",
                                  place_words(place, p->arena), shape_text(place->many, p->arena),
                                  shape_text(place->one, p->arena), why);
    diagnostic_label(d, place->one_at->span, "of one device");
    const struct place *other = swapped_with(p, place);
    if (other)
        diagnostic_help(d, "%s would fit here, and this one there: were they swapped?",
                        place_words(other, p->arena));
    else if (divides(place->one, place->many))
        diagnostic_help(d, "the whole is smaller than its part: give the program of one device "
                           "first, then that of the many");
    else if (divides(place->many, place->one))
        diagnostic_help(d, "give the mesh with which the program was made, as in "
                           "`--mesh dp=2,tp=3`");
    else
        diagnostic_help(d, "both programs must be of one model and one batch; what does not "
                           "divide, XLA pads, which is not understood");
}

static struct dimension_layout uniform(const struct pairer *p, int64_t size, struct cut cut) {
    struct segment *segment = ARENA_NEW(p->arena, struct segment);
    *segment = (struct segment){size, cut};
    return (struct dimension_layout){segment, 1};
}

static enum fit lay_out_by_shape(struct pairer *p, struct place *place) {
    uint32_t rank = place->one->rank;
    int64_t quotients[MAX_GRAPH_RANK];
    struct cut cuts[MAX_GRAPH_RANK];
    if (!divides(place->many, place->one)) {
        report_shapes(p, place, "no part of it");
        return FITS_NOT;
    }
    for (uint32_t i = 0; i < rank; i++)
        quotients[i] = place->one->sizes[i] == place->many->sizes[i]
                           ? 1
                           : place->one->sizes[i] / place->many->sizes[i];
    enum fit fit = fit_cuts(&p->mesh, quotients, rank, cuts);
    if (fit == FITS_NOT)
        report_shapes(p, place,
                      arena_format(p->arena, "no axes of the mesh %s divide so",
                                   device_mesh_text(&p->mesh, p->arena)));
    if (fit != FITS_ONCE)
        return fit;
    struct dimension_layout *dimensions = ARENA_ARRAY(p->arena, struct dimension_layout, rank);
    for (uint32_t i = 0; i < rank; i++)
        dimensions[i] = uniform(p, place->one->sizes[i], cuts[i]);
    place->layout->dimensions = dimensions;
    return fit;
}

// ---- what shapes leave open -------------------------------------------------------------------

enum { SHOWN_LINES = 12 };

static const char *open_line(const struct pairer *p, const struct place *place) {
    const char *dimensions[MAX_GRAPH_RANK];
    for (uint32_t i = 0; i < place->one->rank; i++)
        dimensions[i] =
            place->one->sizes[i] == place->many->sizes[i]
                ? "-"
                : fitting_axes(&p->mesh, place->one->sizes[i] / place->many->sizes[i], p->arena);
    return place_line(place, dimensions, p->arena);
}

static void report_open(const struct pairer *p, const struct place *const *open, uint32_t n) {
    const char *words = place_words(open[0], p->arena);
    struct diagnostic *d = report(p->diagnostics, E913, open[0]->many_at->span,
                                  "shapes leave open over which axes of the mesh %s %s is cut%s",
                                  device_mesh_text(&p->mesh, p->arena), words,
                                  n == 1 ? "" : arena_format(p->arena, ", and %u more", n - 1));
    diagnostic_label(d, open[0]->one_at->span, "of one device");
    for (uint32_t i = 0; i < n && i < SHOWN_LINES; i++)
        diagnostic_note(d, "%s", open_line(p, open[i]));
    if (n > SHOWN_LINES)
        diagnostic_note(d, "and %u more", n - SHOWN_LINES);
    diagnostic_help(d, "write these lines into a file, choose where there is a `|`, and give it "
                       "as `--spec FILE`; or, as the first program, that of `jax.jit(step, "
                       "in_shardings=..., out_shardings=...)` in front of XLA's pass "
                       "`spmd-partitioning`, which says where arrays lie");
}

// ---- pairing ----------------------------------------------------------------------------------

// Casts between reals, and between widths, change nothing that is claimed; other kinds compute otherwise.
static bool check_element(const struct pairer *p, const struct place *place) {
    if (element_rows[place->one->element].kind == element_rows[place->many->element].kind)
        return true;
    struct diagnostic *d =
        report(p->diagnostics, E917, place->many_at->span,
               "%s is %s, in one device's program it is %s", place_words(place, p->arena),
               shape_text(place->many, p->arena), shape_text(place->one, p->arena));
    diagnostic_label(d, place->one_at->span, "of one device");
    const struct place *other = swapped_with(p, place);
    if (other)
        diagnostic_help(d, "%s would fit here, and this one there: were they swapped?",
                        place_words(other, p->arena));
    else
        diagnostic_help(d, "make both programs of arrays of the same types");
    return false;
}

static void use(struct pairer *p, enum laid_out_by by) {
    if (by > p->laid_out_by)
        p->laid_out_by = by;
}

static bool lay_out(struct pairer *p, struct place *place) {
    if (!check_element(p, place))
        return true;
    if (place->one->rank != place->many->rank) {
        report_shapes(p, place, "no part of it");
        return true;
    }
    if (place->entry) {
        lay_out_by_spec(p, place);
        return true;
    }
    if (place->has_sharding) {
        use(p, LAID_OUT_BY_SHARDING);
        lay_out_by_sharding(p, place);
        return true;
    }
    use(p, LAID_OUT_BY_SHAPE);
    return lay_out_by_shape(p, place) != FITS_OFTEN;
}

// Lays out all places. What is left open is said once for all.
static void lay_out_all(struct pairer *p) {
    const struct place **open = ARENA_ARRAY(p->arena, const struct place *, p->n_places);
    uint32_t n_open = 0;
    for (uint32_t i = 0; i < p->n_places; i++)
        if (!lay_out(p, &p->places[i]))
            open[n_open++] = &p->places[i];
    if (n_open)
        report_open(p, open, n_open);
}

// Refuses programs that were given in the wrong order.
static bool check_order(const struct pairer *p) {
    const struct graph *one = p->question->one, *many = p->question->many;
    bool is_part = one->is_partitioned && one->n_devices > 1;
    if (!is_part && many->n_devices >= one->n_devices)
        return true;
    struct diagnostic *d = report(p->diagnostics, E910, entry_root(one)->span,
                                  "the first program is of %u devices, the second of %u",
                                  one->n_devices, many->n_devices);
    if (many->n_devices == 1 || one->n_devices == many->n_devices)
        diagnostic_help(d, "give the program of one device first, then that of the many");
    else
        diagnostic_help(d, "compile both for the same mesh, or the first for one device");
    return false;
}

const struct pairing *pair_programs(const struct pairing_question *question, struct arena *arena,
                                    struct diagnostics *diagnostics) {
    struct pairer p = {.question = question,
                       .arena = arena,
                       .diagnostics = diagnostics,
                       .spec = question->given->spec};
    struct matching matching;
    uint32_t errors_before = diagnostics->n_errors;
    if (!check_order(&p) || !has_arrays_only(&p, question->one) ||
        !has_arrays_only(&p, question->many) || !has_equal_results(&p) ||
        !match_parameters(question->one, question->many, &matching, arena, diagnostics))
        return NULL;
    make_places(&p, &matching);
    if ((p.spec && !take_spec(&p)) || !read_shardings(&p) || !choose_mesh(&p))
        return NULL;
    lay_out_all(&p);
    if (diagnostics->n_errors > errors_before)
        return NULL;
    struct pairing *pairing = ARENA_NEW(arena, struct pairing);
    *pairing = (struct pairing){.mesh = p.mesh,
                                .parameters = p.layouts,
                                .many_parameters = matching.many,
                                .n_parameters = p.n_parameters,
                                .results = p.layouts + p.n_parameters,
                                .n_results = p.n_places - p.n_parameters,
                                .matched_by = matching.by,
                                .laid_out_by = p.laid_out_by};
    return pairing;
}
