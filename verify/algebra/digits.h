// The parts of a logical dimension lie as a list of mixed-radix digits says, the most significant
// first, each local to a device, owned by an axis factor (the device's coordinate is the digit), or
// owned by time (the microbatch is). [dp 4][time 8][2] is a batch of 64: 4 devices, 8 microbatches,
// 2 sequences at once. Local digits lie in memory in the order of the list.
//
// A digit that an axis owns may be shifted: the device at coordinate i has the part of i - shift.
// And a dimension may be counted in another order than the tensor's own: in zigzag, where chunks of
// the sequence are taken from both ends in turn (0, n-1, 1, n-2, ...), so that every device of a
// causal attention gets as much work. Digits are of the position in that order.
//
// A form is the list of a tensor's dimensions. A tensor may also be *flat*: its local part
// flattened, padded, and cut by axes into chunks; that is a form of one dimension of a kind of its
// own, so that everything elementwise works on flat shards without knowing it.
#ifndef PLACE_VERIFY_ALGEBRA_DIGITS_H
#define PLACE_VERIFY_ALGEBRA_DIGITS_H

#include "ir/ir.h"
#include "verify/algebra/intern.h"

typedef uint32_t dim_id;
typedef uint32_t form_id;
#define FORM_ANY UINT32_MAX // of zeros, which are of every form
#define NO_DIM   UINT32_MAX

enum { OWNER_LOCAL = 0, OWNER_AXIS = 1, OWNER_TIME = 255 }; // axis a: OWNER_AXIS + a
// All axes, time, and what is local.
enum { MAX_DIGITS = MAX_AXES + 2, MAX_LEVELS = MAX_AXES };

struct digit { // keys have no padding
    int64_t size;
    int32_t owner;
    int32_t shift; // of an axis's digit: the device's coordinate minus this, counted round, is it
};
struct level { // of a flat cut: the axis, its shift, and the elements of one of its chunks
    int32_t axis, shift;
    int64_t chunk;
};
struct dim_key { // a flat one has levels, another digits
    uint32_t n_digits, n_levels;
    form_id whole;      // flat: the form that was flattened
    uint32_t of_batch;  // digits count microbatches (dim_of_batch)
    struct order order; // of what the digits count
    union {
        struct digit digits[MAX_DIGITS];
        struct level levels[MAX_LEVELS]; // outermost first
    };
};
struct dim_info {
    const struct dim_key *key;
    uint32_t owners; // axes that own a digit
    bool time, flat;
    bool padded; // flat: the chunks hold more than the whole has
    int64_t local, total;
};
struct form_key {
    uint32_t rank;
    dim_id dims[MAX_RANK];
    // Codes (codes.c), so many one behind the other, are each of a tensor of this form; 0: it is of
    // none.
    uint32_t codes;
    form_id of;
    uint32_t padding; // what that tensor's padding is (judgement.h)
};
struct form_info {
    const struct form_key *key;
    uint32_t owners;
    bool time, padded;
    int64_t elements; // local
};

struct digits {
    struct arena *arena;
    const struct mesh *mesh;
    struct intern dim_keys, form_keys;
    struct dim_info *dims;
    uint32_t n_dims, cap_dims;
    struct form_info *forms;
    uint32_t n_forms, cap_forms;
};

void digits_init(struct digits *digits, struct arena *arena, const struct mesh *mesh);
// Merges and drops digits.
dim_id dim_make(struct digits *, const struct digit *list, uint32_t n, struct order order);
form_id form_make(struct digits *, const dim_id *dims, uint32_t rank);
// A tensor of which every device has all.
form_id form_local(struct digits *, const struct dim *dims, uint32_t rank);
static inline const struct dim_info *dim_get(const struct digits *d, dim_id id) {
    return &d->dims[id];
}
static inline const struct form_info *form_get(const struct digits *d, form_id id) {
    return &d->forms[id];
}
// The form of so many codes, each of so many words, that hold tensors of this form. No other
// function here takes it for what is cut: codes are neither joined nor taken apart.
form_id form_of_codes(struct digits *, form_id of, int64_t words, int64_t codes, uint32_t padding);
bool form_is_code(const struct digits *, form_id form);
bool form_is_flat(const struct digits *, form_id form);
// Whether the local part has these sizes.
bool form_fits(const struct digits *, form_id form, const struct tensor_type *type);

// What an axis of size > 1 does to a form along a dimension, from 0. NULL: done, `*form` is the new
// one; else why not.
const char *form_cut(struct digits *, form_id *form, int dim, unsigned axis);
const char *form_join(struct digits *, form_id *form, int dim, unsigned axis);
// The same for a flat tensor and all the axes, outermost first; `chunk`: elements of the smaller
// side's local part.
const char *form_cut_flat(struct digits *, form_id *form, const struct axis_list *axes,
                          int64_t chunk);
const char *form_join_flat(struct digits *, form_id *form, const struct axis_list *axes,
                           int64_t chunk);
// Has the first device of the axis all elements of a flat tensor, and what every other one holds
// stands behind them? Then `*form` is the one that the axis does not cut. Of a form that it cuts.
bool form_leave_idle(struct digits *, form_id *form, unsigned axis);
// Every device has what the one `by` before it on the axis had, counted round.
void form_shift(struct digits *, form_id *form, unsigned axis, int64_t by);
// The digits of `axes` in front of `local` elements, as iota and buffers say them. `zigzag`: the
// axis whose devices have chunks of both ends; -1: none.
dim_id dim_cut(struct digits *, const struct axis_list *axes, int zigzag, int64_t time,
               int64_t local);
// The same with time's digit in front of the innermost `n_inner` of the axes.
dim_id dim_cut_around(struct digits *, const struct axis_list *axes, int zigzag, int64_t time,
                      unsigned n_inner, int64_t local);
// The dimension as one of the batch, however its digits are moved: an axis that cuts the batch may
// cut another dimension of what has none, which is the same to all microbatches. Told apart where
// sums have an order (ordered.c).
dim_id dim_of_batch(struct digits *, dim_id dim);
// The dimension with the axis's digit not shifted, and by how much it is.
dim_id dim_unshifted(struct digits *, dim_id dim, unsigned axis, int64_t *shift);
// The form of what is held at a time: without the digits that time owns.
form_id form_at_a_time(struct digits *, form_id form);
// For messages: "[dp 4][time 8][2] x [64], flat over dp".
const char *form_text(const struct digits *, struct arena *arena, form_id form);

#endif
