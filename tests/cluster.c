// See cluster.h.
#include "tests/cluster.h"

#include <math.h>
#include <string.h>

#include "ir/check.h"
#include "ir/interpreter/interpreter.h"
#include "ir/limits.h"

enum { MAX_DEVICES = 32 };

// What a start has taken until its wait delivers it.
struct flight {
    const struct transfer *transfer;
    struct reference to[64];
    double *data[64]; // of every piece, the results of all devices one after the other
    int64_t n[64];
};

// ---- buffers ----------------------------------------------------------------------------------

static const struct buffer *storage_of(const struct cluster *c, buffer_id *id) {
    const struct buffer *buffer = &c->program->buffers[*id];
    if (buffer->window_of != NO_ID)
        *id = buffer->window_of;
    return &c->program->buffers[*id];
}

static int64_t item_elements(const struct cluster *c, buffer_id id) {
    struct tensor_type type = buffer_type(c->program, &c->program->buffers[id]);
    return type_elements(&type);
}

static int64_t item_stride(const struct cluster *c, buffer_id id) {
    const struct buffer *buffer = &c->program->buffers[id];
    return buffer_item_bytes(c->program, buffer) / dtype_bytes[buffer->dtype];
}

static int64_t coordinate(const struct cluster *c, int64_t device, unsigned axis) {
    return device / mesh_stride_of(&c->program->mesh, axis) % c->program->mesh.axes[axis].size;
}

// A device's number among the parts of a list of axes, the outermost most significant.
static int64_t part_of(const struct cluster *c, int64_t device, const struct axis_list *axes) {
    int64_t part = 0;
    for (unsigned i = 0; i < axes->n; i++)
        part =
            part * c->program->mesh.axes[axes->axes[i]].size + coordinate(c, device, axes->axes[i]);
    return part;
}

static double *item_data(const struct cluster *c, int64_t device, buffer_id id, int64_t item) {
    buffer_id whole = id;
    const struct buffer *buffer = &c->program->buffers[id], *storage = storage_of(c, &whole);
    CHECK(item >= 0 && item < storage->count);
    double *data = c->buffers[device][whole] + item * item_stride(c, whole);
    if (whole != id)
        data += part_of(c, device, &buffer->layout.flat) * item_elements(c, id);
    return data;
}

static double *at(const struct cluster *c, int64_t device, struct reference r,
                  const int64_t *variables) {
    return item_data(c, device, r.buffer, index_at(r.index, variables));
}

static void fill(double *data, int64_t n, double value) {
    for (int64_t i = 0; i < n; i++)
        data[i] = value;
}

struct cluster *cluster_new(struct arena *arena, const struct program *program) {
    struct cluster *c = ARENA_NEW(arena, struct cluster);
    *c = (struct cluster){
        .program = program, .arena = arena, .n_devices = mesh_devices(&program->mesh)};
    CHECK(c->n_devices <= MAX_DEVICES);
    c->buffers = ARENA_ARRAY(arena, double **, c->n_devices);
    for (int64_t d = 0; d < c->n_devices; d++) {
        c->buffers[d] = ARENA_ARRAY(arena, double *, program->n_buffers);
        for (buffer_id b = 0; b < program->n_buffers; b++) {
            const struct buffer *buffer = &program->buffers[b];
            int64_t n = item_stride(c, b) * buffer->count;
            c->buffers[d][b] = ARENA_ARRAY(arena, double, n);
            if (!buffer_is_persistent(buffer))
                fill(c->buffers[d][b], n, NAN);
        }
    }
    return c;
}

// ---- logical tensors --------------------------------------------------------------------------

// Calls `visit` for every element of a device's item: its place there and in the logical tensor.
typedef void (*element_visitor)(double *local, double *logical);

static void visit_item(const struct cluster *c, int64_t device, buffer_id id, int64_t item,
                       double *logical, element_visitor visit) {
    const struct buffer *buffer = &c->program->buffers[id];
    int64_t cut[MAX_RANK], begin[MAX_RANK], local_index[MAX_RANK] = {0}, elements = 1;
    for (unsigned d = 0; d < buffer->rank; d++) {
        int64_t size = buffer->dims[d].size;
        int64_t parts = mesh_group_size(&c->program->mesh, &buffer->layout.cuts[d]);
        begin[d] = size / parts * part_of(c, device, &buffer->layout.cuts[d]);
        cut[d] = size / parts;
        // Of a batch by microbatches, the item is a part of what the axes left.
        if (buffer->stack == STACK_MICROBATCHES && buffer->dims[d].dimension == DIM_BATCH) {
            cut[d] /= buffer->count;
            begin[d] += item * cut[d];
        }
        elements *= cut[d];
    }
    int64_t chunk = item_elements(c, id), first = 0;
    if (buffer->layout.flat.n)
        first = part_of(c, device, &buffer->layout.flat) * chunk;
    double *local = item_data(c, device, id, item);
    for (int64_t e = 0; e < elements; e++) {
        int64_t place = 0;
        for (unsigned d = 0; d < buffer->rank; d++)
            place = place * buffer->dims[d].size + begin[d] + local_index[d];
        if (e >= first && e < first + chunk)
            visit(&local[e - first], &logical[place]);
        for (unsigned d = buffer->rank; d-- > 0;) {
            if (++local_index[d] < cut[d])
                break;
            local_index[d] = 0;
        }
    }
}

static void put(double *local, double *logical) {
    *local = *logical;
}

// The first copy that is read decides; the others must have the same bits.
static void take(double *local, double *logical) {
    CHECK(!isnan(*local) && (isnan(*logical) || *logical == *local));
    *logical = *local;
}

void cluster_scatter(struct cluster *c, buffer_id buffer, int64_t item, const double *logical) {
    for (int64_t d = 0; d < c->n_devices; d++)
        visit_item(c, d, buffer, item, (double *)logical, put);
}

void cluster_gather(const struct cluster *c, buffer_id buffer, int64_t item, double *logical) {
    int64_t n = 1;
    for (unsigned d = 0; d < c->program->buffers[buffer].rank; d++)
        n *= c->program->buffers[buffer].dims[d].size;
    fill(logical, n, NAN);
    for (int64_t d = 0; d < c->n_devices; d++)
        visit_item(c, d, buffer, item, logical, take);
    for (int64_t i = 0; i < n; i++)
        CHECK(!isnan(logical[i])); // else no device holds it
}

double cluster_scalar(const struct cluster *c, buffer_id buffer) {
    double value;
    cluster_gather(c, buffer, 0, &value);
    return value;
}

// ---- collectives ------------------------------------------------------------------------------

// The members of a device's group over `axes`, by their number in it.
static int64_t group_members(const struct cluster *c, int64_t device, const struct axis_list *axes,
                             int64_t members[MAX_DEVICES]) {
    uint64_t mask = axis_list_mask(axes);
    int64_t n = 0;
    for (int64_t other = 0; other < c->n_devices; other++) {
        bool same = true;
        for (unsigned a = 0; a < c->program->mesh.n_axes; a++)
            if (!(mask >> a & 1))
                same &= coordinate(c, other, a) == coordinate(c, device, a);
        if (same) {
            members[part_of(c, other, axes)] = other;
            n++;
        }
    }
    return n;
}

static double sum_at(double *const *sources, int64_t n, int64_t element) {
    double sum = 0;
    for (int64_t i = 0; i < n; i++)
        sum += sources[i][element];
    return sum;
}

// One device's result of a flat collective over its group; `n` is the source's elements.
static void collect(enum collective_kind kind, double *const *sources, int64_t group, int64_t self,
                    int64_t source_n, double *result, int64_t result_n) {
    for (int64_t i = 0; i < result_n; i++) {
        int64_t whole = kind == COLLECTIVE_REDUCE_SCATTER ? self * result_n + i : i;
        if (kind == COLLECTIVE_ALL_GATHER)
            result[i] = sources[i / source_n][i % source_n];
        else // padding behind the source is sent as zeros
            result[i] = whole < source_n ? sum_at(sources, group, whole) : 0;
    }
}

static void start_piece(struct cluster *c, struct flight *flight, uint32_t piece,
                        const int64_t *variables) {
    const struct transfer *t = flight->transfer;
    struct reference from = t->pieces[piece].from, to = t->pieces[piece].to;
    int64_t source_n = item_elements(c, from.buffer), result_n = item_elements(c, to.buffer);
    CHECK(t->dim < 0);
    flight->to[piece] = to;
    flight->to[piece].index = index_constant(index_at(to.index, variables));
    flight->n[piece] = result_n;
    flight->data[piece] = ARENA_ARRAY(c->arena, double, c->n_devices *result_n);
    for (int64_t d = 0; d < c->n_devices; d++) {
        int64_t members[MAX_DEVICES];
        int64_t group = group_members(c, d, &t->axes, members);
        double *sources[MAX_DEVICES];
        for (int64_t i = 0; i < group; i++)
            sources[i] = at(c, members[i], from, variables);
        collect(t->kind, sources, group, part_of(c, d, &t->axes), source_n,
                flight->data[piece] + d * result_n, result_n);
    }
    double whole = (double)(t->kind == COLLECTIVE_ALL_GATHER ? result_n : source_n);
    double parts = (double)mesh_group_size(&c->program->mesh, &t->axes);
    c->bytes_sent += (parts - 1) / parts * whole * (t->kind == COLLECTIVE_ALL_REDUCE ? 2 : 1);
}

static void start(struct cluster *c, const struct transfer *t, const int64_t *variables) {
    struct flight *flight =
        &c->flights[t->handle * MAX_DEVICES + index_at(t->handle_index, variables)];
    CHECK(!flight->transfer && t->n_pieces <= 64);
    flight->transfer = t;
    for (uint32_t i = 0; i < t->n_pieces; i++)
        start_piece(c, flight, i, variables);
    // Until the wait nobody may read the results, nor the sources where results take their place.
    for (uint32_t i = 0; i < t->n_pieces; i++)
        for (int64_t d = 0; d < c->n_devices; d++)
            fill(at(c, d, t->pieces[i].to, variables), flight->n[i], NAN);
}

static void wait(struct cluster *c, struct flight *flight) {
    static const int64_t none[LIMIT_LOOP_DEPTH] = {0};
    CHECK(flight->transfer);
    for (uint32_t i = 0; i < flight->transfer->n_pieces; i++)
        for (int64_t d = 0; d < c->n_devices; d++)
            memcpy(at(c, d, flight->to[i], none), flight->data[i] + d * flight->n[i],
                   (size_t)flight->n[i] * sizeof(double));
    flight->transfer = NULL;
}

// ---- units ------------------------------------------------------------------------------------

static void op_collective(struct cluster *c, const struct op *op, struct array *const *values) {
    struct axis_list axes = op_axes(op);
    for (int64_t d = 0; d < c->n_devices; d++) {
        const struct array *from = &values[d][op->operands[0]];
        struct array *to = &values[d][op->results[0]];
        int64_t n = type_elements(&to->type);
        if (op->kind == OP_WAIT) {
            memcpy(to->data, from->data, (size_t)n * sizeof(double));
            continue;
        }
        CHECK(op->kind == OP_ALL_REDUCE);
        int64_t members[MAX_DEVICES];
        int64_t group = group_members(c, d, &axes, members);
        double *sources[MAX_DEVICES];
        for (int64_t i = 0; i < group; i++)
            sources[i] = values[members[i]][op->operands[0]].data;
        collect(COLLECTIVE_ALL_REDUCE, sources, group, 0, n, to->data, n);
    }
}

static void op_local(const struct op *op, struct array *values) {
    struct array operands[MAX_OPERANDS], results[MAX_RESULTS];
    for (unsigned k = 0; k < op->n_operands; k++)
        operands[k] = values[op->operands[k]];
    for (unsigned k = 0; k < op->n_results; k++)
        results[k] = values[op->results[k]];
    interpret_op(op, operands, results);
}

static void call(struct cluster *c, const struct call *call, const int64_t *variables) {
    const struct unit *unit = &c->program->units[call->unit];
    struct arena scratch = {0};
    struct array *values[MAX_DEVICES];
    for (int64_t d = 0; d < c->n_devices; d++) {
        values[d] = ARENA_ARRAY(&scratch, struct array, unit->n_values);
        for (uint32_t i = 0; i < unit->n_values; i++)
            values[d][i] = array_new(&scratch, unit->values[i].type);
        for (uint32_t i = 0; i < unit->n_parameters; i++)
            memcpy(values[d][i].data, at(c, d, call->operands[i], variables),
                   (size_t)type_elements(&unit->values[i].type) * sizeof(double));
    }
    for (uint32_t i = 0; i < unit->n_ops; i++) {
        if (op_rows[unit->ops[i].kind].kernel == KERNEL_COLLECTIVE)
            op_collective(c, &unit->ops[i], values);
        else
            for (int64_t d = 0; d < c->n_devices; d++)
                op_local(&unit->ops[i], values[d]);
    }
    for (int64_t d = 0; d < c->n_devices; d++)
        for (uint32_t i = 0; i < unit->n_results; i++) {
            const struct array *result = &values[d][unit->results[i].value];
            memcpy(at(c, d, call->results[i], variables), result->data,
                   (size_t)type_elements(&result->type) * sizeof(double));
        }
    arena_free(&scratch);
}

// ---- steps ------------------------------------------------------------------------------------

static void fill_item(struct cluster *c, struct reference r, const int64_t *variables,
                      double value) {
    for (int64_t d = 0; d < c->n_devices; d++)
        fill(at(c, d, r, variables), item_elements(c, r.buffer), value);
}

static void run_block(struct cluster *c, const struct step *step, const struct block *block,
                      int64_t *variables, int depth) {
    CHECK(depth < LIMIT_LOOP_DEPTH);
    for (uint32_t i = 0; i < block->n; i++) {
        const struct statement *s = &block->statements[i];
        switch (s->kind) {
        case STATEMENT_LOOP:
            for (int64_t k = 0; k < s->loop.end - s->loop.begin; k++) {
                variables[depth] = s->loop.descending ? s->loop.end - 1 - k : s->loop.begin + k;
                run_block(c, step, &s->loop.body, variables, depth + 1);
            }
            break;
        case STATEMENT_CALL:
            call(c, &s->call, variables);
            break;
        case STATEMENT_START:
            start(c, &s->start, variables);
            break;
        case STATEMENT_WAIT:
            wait(c, &c->flights[s->wait.handle * MAX_DEVICES + index_at(s->wait.index, variables)]);
            break;
        case STATEMENT_ZERO:
            fill_item(c, s->zero, variables, 0);
            break;
        case STATEMENT_FREE:
            fill_item(c, s->free, variables, NAN);
            break;
        }
    }
}

void cluster_run(struct cluster *c, enum step_kind kind) {
    const struct step *step = &c->program->steps[kind];
    int64_t variables[LIMIT_LOOP_DEPTH] = {0};
    CHECK(step->present);
    c->flights = ARENA_ARRAY(c->arena, struct flight, step->n_handles * MAX_DEVICES + 1);
    c->bytes_sent = 0;
    run_block(c, step, &step->body, variables, 0);
    for (uint32_t i = 0; i < step->n_handles * MAX_DEVICES; i++)
        CHECK(!c->flights[i].transfer); // every start has its wait
}
