// Places of views as sums of what each dimension adds; see reader.h.
#include "equal/residues/reader.h"

static int64_t piece_index(const struct piece *piece, int64_t place) {
    return piece->coefficient * ((place / piece->stride + piece->shift) % piece->extent);
}

static void add_piece(struct reader *r, const struct walked *of, const struct piece *piece,
                      int64_t stride, struct arena *arena) {
    uint32_t d = 0;
    while (d < of->n && of->coordinates[d] != piece->coordinate)
        d++;
    if (d == of->n) { // of one place
        r->base += stride * piece_index(piece, 0);
        return;
    }
    if (!r->added[d])
        r->added[d] = ARENA_ARRAY(arena, int64_t, (size_t)of->sizes[d]);
    for (int64_t i = 0; i < of->sizes[d]; i++)
        r->added[d][i] += stride * piece_index(piece, i);
}

void reader_places(struct reader *r, const struct walked *of, const struct space *space,
                   const struct view *view, struct arena *arena) {
    int64_t stride = 1;
    for (uint32_t d = view->n; d-- > 0; stride *= space->sizes[d]) {
        r->base += stride * view->of[d].base;
        for (uint32_t i = 0; i < view->of[d].n; i++)
            add_piece(r, of, &view->of[d].pieces[i], stride, arena);
    }
}

// Places behind dimension d and those that follow it.
static void place_from(struct places_read *w, uint32_t d) {
    for (; d < w->of->n; d++) {
        const int64_t *before = &w->places[(size_t)d * w->n_readers];
        int64_t *behind = &w->places[(size_t)(d + 1) * w->n_readers];
        for (uint32_t i = 0; i < w->n_readers; i++) {
            const int64_t *added = w->readers[i].added[d];
            behind[i] = before[i] + (added ? added[w->at[d]] : 0);
        }
    }
}

void places_begin(struct places_read *w, const struct walked *of, const struct reader *readers,
                  uint32_t n_readers, struct arena *arena) {
    *w = (struct places_read){.of = of, .readers = readers, .n_readers = n_readers};
    w->places = ARENA_ARRAY(arena, int64_t, (size_t)(of->n + 1) * n_readers + 1);
    for (uint32_t i = 0; i < n_readers; i++)
        w->places[i] = readers[i].base;
    place_from(w, 0);
}

bool places_next(struct places_read *w) {
    for (uint32_t d = w->of->n; d-- > 0;) {
        if (++w->at[d] < w->of->sizes[d]) {
            place_from(w, d);
            return true;
        }
        w->at[d] = 0;
    }
    return false;
}

int64_t places_at(const struct places_read *w, uint32_t reader) {
    return w->places[(size_t)w->of->n * w->n_readers + reader];
}

uint64_t reader_value(const struct reader *r, const struct field *field, int64_t place) {
    if (r->scale == UNDEFINED || (r->values && (place < 0 || place >= r->n_values)))
        return UNDEFINED;
    uint64_t value = r->values ? r->values[place] : field_of_integer(field, place);
    if (value == UNDEFINED || (!is_element(value) && !r->sign))
        return UNDEFINED;
    if (!is_element(value))
        return (value == ABOVE_ALL) == (r->sign > 0) ? ABOVE_ALL : BELOW_ALL;
    return r->scale == 1 ? value : field_multiply(field, value, r->scale);
}

uint64_t places_value(const struct places_read *w, const struct field *field, uint32_t reader) {
    return reader_value(&w->readers[reader], field, places_at(w, reader));
}
