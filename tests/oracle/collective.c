// See collective.h. A tensor that is cut along a dimension is seen as rows: everything before the
// dimension, with all behind it in one run of which every member has an equal part. A flat one is
// one row, and its last parts may be short or empty: what is missing is padding, zeros on the wire.
#include "tests/oracle/collective.h"

#include <math.h>

#include "ir/check.h"

int64_t group_members(const struct mesh *mesh, int64_t device, const struct axis_list *axes,
                      int64_t members[MAX_DEVICES]) {
    uint64_t mask = axis_list_mask(axes);
    int64_t n = 0;
    for (int64_t other = 0; other < mesh_devices(mesh); other++) {
        bool same = true;
        for (unsigned a = 0; a < mesh->n_axes; a++) {
            int64_t stride = mesh_stride_of(mesh, a), size = mesh->axes[a].size;
            same &= (mask >> a & 1) || other / stride % size == device / stride % size;
        }
        if (same) {
            members[mesh_part_of(mesh, other, axes)] = other;
            n++;
        }
    }
    return n;
}

static int64_t rows_before(const struct tensor_type *type, int dim) {
    int64_t rows = 1;
    for (int i = 0; i < dim; i++)
        rows *= type->dims[i].size;
    return rows;
}

// Element `at` of the concatenation of the members' parts: whose it is, and where there.
struct place {
    int64_t member, at;
};
static struct place place_in_parts(int64_t at, int64_t rows, int64_t part, int64_t n) {
    int64_t run = part / rows, row = at / (run * n), inside = at % (run * n);
    return (struct place){inside / run, row * run + inside % run};
}

static double larger(double a, double b) {
    return isnan(a) || isnan(b) ? NAN : a < b ? b : a;
}

static double reduced_at(enum operation operation, const struct array *sources, int64_t n,
                         int64_t at) {
    double value = sources[0].data[at];
    for (int64_t i = 1; i < n; i++)
        value = operation == OPERATION_SUM ? value + sources[i].data[at]
                                           : larger(value, sources[i].data[at]);
    return value;
}

// Element `at` of an all_to_all's result: it came from the member whose turn its place along
// concat_dim is, which had it at the receiver's turn along dim.
static struct place place_before_swap(const struct exchange *exchange,
                                      const struct tensor_type *from, const struct tensor_type *to,
                                      int64_t self, int64_t at) {
    int64_t index[MAX_RANK], place = 0;
    for (unsigned d = to->rank; d-- > 0; at /= to->dims[d].size)
        index[d] = at % to->dims[d].size;
    int64_t part = from->dims[exchange->concat_dim].size;
    int64_t member = index[exchange->concat_dim] / part;
    index[exchange->concat_dim] %= part;
    index[exchange->dim] += self * to->dims[exchange->dim].size;
    for (unsigned d = 0; d < from->rank; d++)
        place = place * from->dims[d].size + index[d];
    return (struct place){member, place};
}

void exchange_receive(const struct exchange *exchange, const struct array *sources, int64_t n,
                      int64_t self, struct array *result) {
    int64_t size = type_elements(&result->type), source = type_elements(&sources[0].type);
    int64_t rows = rows_before(&result->type, exchange->dim);
    for (int64_t i = 0; i < size; i++) {
        struct place place;
        int64_t at;
        switch (exchange->kind) {
        case COLLECTIVE_ALL_REDUCE:
            result->data[i] = reduced_at(exchange->operation, sources, n, i);
            break;
        case COLLECTIVE_REDUCE_SCATTER:
            at = i / (size / rows) * (size / rows) * n + self * (size / rows) + i % (size / rows);
            result->data[i] = at < source ? reduced_at(OPERATION_SUM, sources, n, at) : 0;
            break;
        case COLLECTIVE_ALL_GATHER:
            place = place_in_parts(i, rows, source, n);
            result->data[i] = sources[place.member].data[place.at];
            break;
        case COLLECTIVE_ALL_TO_ALL:
            place = place_before_swap(exchange, &sources[0].type, &result->type, self, i);
            result->data[i] = sources[place.member].data[place.at];
            break;
        case COLLECTIVE_COPY: // of a device with itself
            result->data[i] = sources[self].data[i];
            break;
        case COLLECTIVE_REDUCE: // to the owner; of what others receive nothing is delivered
            result->data[i] = reduced_at(OPERATION_SUM, sources, n, i);
            break;
        case COLLECTIVE_BROADCAST:
            result->data[i] = sources[exchange->shift].data[i];
            break;
        case COLLECTIVE_PERMUTE:
            at = ((self - exchange->shift) % n + n) % n;
            result->data[i] = sources[at].data[i];
            break;
        default:
            CHECK(!"a collective that is written out here");
        }
    }
}

void slice_take(const struct array *whole, int dim, int64_t self, struct array *part) {
    int64_t size = type_elements(&part->type), all = type_elements(&whole->type);
    int64_t rows = rows_before(&part->type, dim), run = size / rows;
    for (int64_t i = 0; i < size; i++) {
        int64_t at = i / run * (all / rows) + self * run + i % run;
        part->data[i] = at < all ? whole->data[at] : 0;
    }
}
