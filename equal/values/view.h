// Views: which elements of a term an array has. For each dimension of the term its index is an affine combination of
// pieces of coordinates:
//
//   index = base + sum of coefficient * ((coordinate / stride + shift) mod extent)
//
// Coordinates are the array's dimensions, the number of the device, and whatever else an expression ranges over. All
// moves of elements are views: a reshape or a transpose says pieces of other coordinates, a slice adds to the base, a
// part of a cut array has a piece of the device's number, a gathered one has none, what went round a ring has a shift.
//
// Views are in normal form, and interned, so that equal ones are one number: pieces of one coordinate that follow each
// other are one piece, and pieces stand by falling coefficients. A coordinate's number is below MAX_COORDINATES.
#ifndef PLACE_EQUAL_VALUES_VIEW_H
#define PLACE_EQUAL_VALUES_VIEW_H

#include <stdbool.h>
#include <stdint.h>

#include "verify/algebra/intern.h"

enum { MAX_PIECES = 10, MAX_DIMENSIONS = 24, MAX_COORDINATES = 64 };

struct piece { // keys have no padding
    int64_t coefficient, stride, extent, shift;
    int64_t coordinate;
};
struct affine {
    int64_t base;
    uint32_t n;
    struct piece pieces[MAX_PIECES];
};
struct view {
    uint32_t n; // dimensions of the term
    struct affine of[MAX_DIMENSIONS];
};

typedef uint32_t view_id;
enum { VIEW_SCALAR = 0 }; // of a term without dimensions

struct views {
    struct intern keys;
};

void views_init(struct views *, struct arena *);
// The number of a view whose affines are in normal form.
view_id view_intern(struct views *, const struct view *);
void view_get(const struct views *, view_id, struct view *);
// Copies what there is of a view, which is little of the struct.
void view_copy(struct view *, const struct view *from);

struct affine affine_constant(int64_t base);
// The whole coordinate; of one place it is zero.
struct affine affine_coordinate(uint32_t coordinate, int64_t extent);
// Appends a piece as it is. False: there are too many.
bool affine_push(struct affine *, struct piece);
// Adds `factor` times `other`. False: it cannot be said.
bool affine_add(struct affine *, const struct affine *other, int64_t factor);
// Brings it to normal form. False: pieces of one coordinate neither part nor meet.
bool affine_normal(struct affine *);
// (index / stride) mod extent, where the index counts `size` places. False: digits do not fall there.
bool affine_piece(const struct affine *, int64_t size, int64_t stride, int64_t extent,
                  struct affine *piece);
// index mod extent of a piece of so many places and a number: it is turned round. False: it is no such index.
bool affine_turned(const struct affine *, int64_t extent, struct affine *);
// The least and the largest index.
int64_t affine_least(const struct affine *);
int64_t affine_largest(const struct affine *);
bool affine_has(const struct affine *, uint32_t coordinate);
int64_t affine_at(const struct affine *, const int64_t *places); // of coordinates, by their number
// Adds what numbers[i * stride], where i is the place of the coordinate of so many, are more than the first: as digits of
// it, turned or not. False: they are none.
bool affine_add_numbers(struct affine *, const int64_t *numbers, int64_t stride, int64_t n,
                        uint32_t coordinate);

// What coordinates are in terms of others: by number, NULL where they stay; and how many places they count.
struct substitution {
    const struct affine *of[MAX_COORDINATES];
    int64_t sizes[MAX_COORDINATES];
};
// The index with coordinates replaced. False: pieces of them do not fall on digits of what replaces them.
bool affine_substitute(const struct affine *, const struct substitution *, struct affine *);
bool view_substitute(const struct view *, const struct substitution *, struct view *);

#endif
