// Numbers as digits: the index that has given numbers at a coordinate's places.
#include "equal/values/view.h"

// Numbers along a coordinate, which are looked at from a digit of it on: those at every `at`-th place.
struct places {
    const int64_t *numbers;
    int64_t stride, n, at;
};

static int64_t number_at(const struct places *p, int64_t place) {
    return p->numbers[place * p->stride];
}

// What the number is more than the first one.
static int64_t rise(const struct places *p, int64_t digit) {
    return number_at(p, digit * p->at) - number_at(p, 0);
}

static int64_t piece_at(const struct piece *piece, int64_t place) {
    return piece->coefficient * ((place / piece->stride + piece->shift) % piece->extent);
}

static bool is_piece(const struct places *p, const struct piece *piece) {
    for (int64_t k = 0; k < piece->extent; k++)
        if (rise(p, k) != piece_at(piece, k * p->at) - piece_at(piece, 0))
            return false;
    return true;
}

// A digit of so many places that rises, and falls once where it is turned round. False: it is none.
static bool find_rising(const struct places *p, int64_t extent, struct piece *piece) {
    int64_t falls = 1;
    while (falls < extent && rise(p, falls) > rise(p, falls - 1))
        falls++;
    piece->extent = extent;
    piece->shift = extent - falls;
    if (falls > 1)
        piece->coefficient = rise(p, 1);
    else
        piece->coefficient = extent > 2 ? rise(p, 2) - rise(p, 1) : -rise(p, 1);
    return piece->coefficient > 0 && is_piece(p, piece);
}

static bool find_steady(const struct places *p, int64_t extent, struct piece *piece) {
    piece->extent = extent;
    piece->shift = 0;
    piece->coefficient = rise(p, 1);
    return is_piece(p, piece);
}

static bool find_piece(const struct places *p, struct piece *piece) {
    bool (*const ways[])(const struct places *, int64_t, struct piece *) = {find_rising,
                                                                            find_steady};
    int64_t most = p->n / p->at;
    for (int way = 0; way < 2; way++)
        for (int64_t extent = most; extent > 1; extent--)
            if (most % extent == 0 && ways[way](p, extent, piece))
                return true;
    return false;
}

bool affine_add_numbers(struct affine *index, const int64_t *numbers, int64_t stride, int64_t n,
                        uint32_t coordinate) {
    struct places p = {numbers, stride, n, 1};
    struct affine found = affine_constant(0);
    while (p.at < n) {
        struct piece piece = {.stride = p.at, .coordinate = coordinate};
        if (!find_piece(&p, &piece) || !affine_push(&found, piece))
            return false;
        found.base -= piece_at(&piece, 0);
        p.at *= piece.extent;
    }
    for (int64_t place = 0; place < n; place++) {
        int64_t sum = found.base;
        for (uint32_t i = 0; i < found.n; i++)
            sum += piece_at(&found.pieces[i], place);
        if (sum != number_at(&p, place) - number_at(&p, 0))
            return false;
    }
    return affine_add(index, &found, 1);
}

int64_t affine_at(const struct affine *index, const int64_t *places) {
    int64_t sum = index->base;
    for (uint32_t i = 0; i < index->n; i++)
        sum += piece_at(&index->pieces[i], places[index->pieces[i].coordinate]);
    return sum;
}
