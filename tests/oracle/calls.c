// A call of a unit: op by op, on each device, in the places that the memory plan gives the values.
//
// An inline value has no place. An elementwise one is computed where it is used, from what its
// leaves hold by then; the result of a kernel is added to its sum when the kernel runs, where the
// sum is.
#include "tests/oracle/calls.h"

#include <string.h>

#include "ir/check.h"
#include "tests/oracle/collective.h"
#include "tests/oracle/memory.h"

struct flight {             // of a value that a collective makes
    const struct op *start; // NULL: it is not on its way
    struct array *held;     // IN_BETWEEN: what devices receive
};

struct activation { // of a unit
    struct devices *d;
    const struct statement *statement;
    const struct unit *unit;
    const int64_t *variables;
    int depth;
    struct arena arena, scratch; // of the call; of one op
    uint32_t *producer, *taker;  // ops: who makes a value, which adds it to a sum
    struct flight *flying;       // by value
    unsigned char **places;      // by timing, device and value; NULL: none
};

static unsigned char **places_of(const struct activation *a, int timing, int64_t device) {
    return a->places + (timing * a->d->n + device) * a->unit->n_values;
}

static const struct tensor_type *type_of(const struct activation *a, value_id value) {
    return &a->unit->values[value].type;
}

static bool is_inline(const struct activation *a, value_id value) {
    return a->unit->values[value].storage == STORAGE_INLINE;
}

bool devices_stuck(struct devices *d, struct span at, const char *why) {
    struct cluster *c = d->cluster;
    if (!c->stuck || c->stuck == why)
        ARENA_PUSH(c->arena, c->stuck_at, c->n_stuck_at, c->cap_stuck_at, at);
    c->stuck = c->stuck ? c->stuck : why;
    return false;
}

// ---- places -----------------------------------------------------------------------------------

static uint32_t *no_ops(struct activation *a) {
    uint32_t *ids = ARENA_ARRAY(&a->arena, uint32_t, a->unit->n_values + 1);
    memset(ids, 0xff, (a->unit->n_values + 1) * sizeof *ids);
    return ids;
}

// An inline term that no elementwise loop computes has been added by the kernel that made it.
static bool is_added_by_producer(const struct activation *a, const struct op *adds) {
    value_id term = adds->operands[1];
    return is_inline(a, term) && a->producer[term] != NO_ID &&
           op_rows[a->unit->ops[a->producer[term]].kind].kernel != KERNEL_ELEMENTWISE;
}

static void index_ops(struct activation *a) {
    a->producer = no_ops(a);
    a->taker = no_ops(a);
    for (uint32_t i = 0; i < a->unit->n_ops; i++) {
        const struct op *op = &a->unit->ops[i];
        for (unsigned k = 0; k < op->n_results; k++)
            a->producer[op->results[k]] = i;
        if (op_adds_term(op->kind) && is_added_by_producer(a, op))
            a->taker[op->operands[1]] = i;
    }
}

// A call that names what has an owner is the owner's alone.
static bool is_executed_by(const struct activation *a, int64_t device) {
    const struct mesh *mesh = &a->d->program->job->mesh;
    struct ownership owner = statement_ownership(a->d->program, a->statement);
    return mesh_part_of(mesh, device, &owner.axes) ==
           index_at(owner.item, a->variables) % mesh_group_size(mesh, &owner.axes);
}

static unsigned char *place_for(const struct activation *a, int timing, int64_t device,
                                struct reference reference) {
    return item_place(a->d, timing, device, reference.buffer,
                      reference_item(a->d->program, &reference, a->variables));
}

// What a call writes anew is undefined from its beginning, as its frame is.
static void bind_places_of(struct activation *a, int timing, int64_t device) {
    const struct unit *unit = a->unit;
    const struct call *call = &a->statement->call;
    unsigned char **places = places_of(a, timing, device), *frame = NULL;
    buffer_id buffer = program_frame(a->d->program, call->unit);
    if (buffer != NO_ID) {
        frame = item_place(a->d, timing, device, buffer, 0);
        if (is_executed_by(a, device))
            memory_spoil(frame, unit->frame_bytes);
    }
    for (uint32_t i = 0; i < unit->n_parameters; i++)
        places[i] = place_for(a, timing, device, call->operands[i]);
    for (uint32_t i = unit->n_parameters; i < unit->n_values; i++)
        if (unit->values[i].storage == STORAGE_FRAME)
            places[i] = frame + unit->values[i].offset_bytes;
    for (uint32_t i = 0; i < unit->n_results; i++) {
        if (unit->results[i].in_parameter != NO_ID)
            continue;
        unsigned char *place = place_for(a, timing, device, call->results[i]);
        const struct buffer *buffer = &a->d->program->buffers[call->results[i].buffer];
        if (is_executed_by(a, device))
            memory_spoil(place, buffer_item_bytes(a->d->program, buffer));
        places[value_root(unit, unit->results[i].value)] = place;
    }
    for (uint32_t i = unit->n_parameters; i < unit->n_values; i++)
        places[i] = is_inline(a, i) ? NULL : places[value_root(unit, i)];
}

static void bind_places(struct activation *a) {
    a->places = ARENA_ARRAY(&a->arena, unsigned char *, N_TIMINGS * a->d->n * a->unit->n_values);
    for (int timing = 0; timing < N_TIMINGS; timing++)
        for (int64_t device = devices_next(a->d, -1); device < a->d->n;
             device = devices_next(a->d, device))
            bind_places_of(a, timing, device);
}

// On any device, as on all.
static bool has_place(const struct activation *a, value_id value) {
    return places_of(a, AT_START, devices_next(a->d, -1))[value];
}

static bool has_places(const struct activation *a, const struct op *op) {
    for (unsigned i = 0; i < op->n_operands; i++)
        if (!is_inline(a, op->operands[i]) && !has_place(a, op->operands[i]))
            return false;
    for (unsigned i = 0; i < op->n_results; i++)
        if (!is_inline(a, op->results[i]) && !has_place(a, op->results[i]))
            return false;
    return true;
}

// ---- values -----------------------------------------------------------------------------------

static void compute(struct activation *a, const struct op *op, int64_t device,
                    const struct array *operands, struct array *results);

static void observe_op(const struct activation *a, const struct op *op, const struct op *user,
                       int64_t device, int timing, const struct array *operands,
                       const struct array *results) {
    const struct observer *observer = &a->d->cluster->observer;
    struct moment moment = {a->d->program, a->statement, op,     user,
                            a->variables,  a->depth,     device, timing};
    if (observer->op)
        observer->op(observer->data, &moment, operands, results);
}

// What the user reads.
static struct array load(struct activation *a, int timing, int64_t device, const struct op *user,
                         value_id value) {
    struct array array = array_new(&a->scratch, *type_of(a, value));
    if (!is_inline(a, value)) {
        memory_load(places_of(a, timing, device)[value], array.type.dtype,
                    type_elements(&array.type), array.data);
        return array;
    }
    const struct op *op = &a->unit->ops[a->producer[value]];
    struct array operands[MAX_OPERANDS];
    for (unsigned i = 0; i < op->n_operands; i++)
        operands[i] = load(a, timing, device, user, op->operands[i]);
    compute(a, op, device, operands, &array);
    memory_round(array.type.dtype, type_elements(&array.type), array.data);
    observe_op(a, op, user, device, timing, operands, &array);
    return array;
}

// The kernel adds to what the sum is when it runs.
static void add_to_sum(struct activation *a, int timing, int64_t device, const struct op *adds,
                       const struct array *term) {
    struct array operands[MAX_OPERANDS];
    for (unsigned i = 0; i < adds->n_operands; i++)
        operands[i] = i == 1 ? *term : load(a, timing, device, adds, adds->operands[i]);
    struct array total = array_new(&a->scratch, operands[0].type);
    compute(a, adds, device, operands, &total);
    observe_op(a, adds, adds, device, timing, operands, &total);
    memory_store(places_of(a, timing, device)[adds->results[0]],
                 type_of(a, adds->results[0])->dtype, type_elements(&total.type), total.data);
}

static void store(struct activation *a, int timing, int64_t device, value_id value,
                  const struct array *array) {
    if (!is_inline(a, value))
        memory_store(places_of(a, timing, device)[value], array->type.dtype,
                     type_elements(&array->type), array->data);
    else if (a->taker[value] != NO_ID)
        add_to_sum(a, timing, device, &a->unit->ops[a->taker[value]], array);
}

// ---- ops --------------------------------------------------------------------------------------

// A device's part of a dimension's positions, in the order in which the axes cut it.
static void count_from(const struct mesh *mesh, const struct op *op, int64_t part,
                       struct array *positions) {
    struct axis_list axes = op_axes(op);
    struct order order = order_of_cuts(mesh, &axes, op_zigzag(op));
    int64_t n = type_elements(&positions->type), all = n * mesh_group_size(mesh, &axes);
    for (int64_t i = 0; i < n; i++)
        positions->data[i] = (double)order_element(order, all, part * n + i);
}

// The interpreter's ops, and those that ask where the device is.
static void compute(struct activation *a, const struct op *op, int64_t device,
                    const struct array *operands, struct array *results) {
    struct axis_list axes = op_axes(op);
    int64_t part = mesh_part_of(&a->d->program->job->mesh, device, &axes);
    if (op->kind == OP_SLICE) {
        slice_take(&operands[0], (int)op_integer(op, ATTRIBUTE_DIM, -1), part, &results[0]);
        return;
    }
    interpret_op(op, operands, results);
    if (op->kind == OP_IOTA)
        count_from(&a->d->program->job->mesh, op, part, &results[0]);
}

static bool same_numbers(const struct op *op, const struct array *a, const struct array *b) {
    for (unsigned i = 0; i < op->n_operands; i++)
        if (memcmp(a[i].data, b[i].data, (size_t)type_elements(&a[i].type) * sizeof(double)) != 0)
            return false;
    return true;
}

// In programs that are right all timings have the same operands: then one result serves all.
static void execute_local(struct activation *a, const struct op *op, int64_t device) {
    struct array operands[N_TIMINGS][MAX_OPERANDS], results[N_TIMINGS][MAX_RESULTS];
    for (int timing = 0; timing < N_TIMINGS; timing++) {
        for (unsigned i = 0; i < op->n_operands; i++)
            operands[timing][i] = load(a, timing, device, op, op->operands[i]);
        bool same = timing > 0 && same_numbers(op, operands[AT_START], operands[timing]);
        for (unsigned i = 0; i < op->n_results; i++)
            results[timing][i] =
                same ? results[AT_START][i] : array_new(&a->scratch, *type_of(a, op->results[i]));
        if (!same)
            compute(a, op, device, operands[timing], results[timing]);
    }
    for (int timing = 0; timing < N_TIMINGS; timing++) {
        observe_op(a, op, op, device, timing, operands[timing], results[timing]);
        for (unsigned i = 0; i < op->n_results; i++)
            store(a, timing, device, op->results[i], &results[timing][i]);
    }
}

// What all devices receive of what all hold now.
static void receive(struct activation *a, const struct op *op, const struct exchange *exchange,
                    int timing, struct arena *arena, struct array received[MAX_DEVICES]) {
    struct devices *d = a->d;
    struct array sources[MAX_DEVICES];
    for (int64_t device = devices_next(d, -1); device < d->n; device = devices_next(d, device))
        sources[device] = load(a, timing, device, op, op->operands[0]);
    for (int64_t device = devices_next(d, -1); device < d->n; device = devices_next(d, device)) {
        int64_t members[MAX_DEVICES];
        struct array given[MAX_DEVICES];
        int64_t n = group_members(&d->program->job->mesh, device, &exchange->axes, members);
        for (int64_t i = 0; i < n; i++)
            given[i] = sources[members[i]];
        received[device] = array_new(arena, *type_of(a, op->results[0]));
        exchange_receive(exchange, given, n,
                         mesh_part_of(&d->program->job->mesh, device, &exchange->axes),
                         &received[device]);
        observe_op(a, op, op, device, timing, &sources[device], &received[device]);
    }
}

static void deliver(struct activation *a, const struct op *op, int timing,
                    const struct array received[MAX_DEVICES]) {
    for (int64_t device = devices_next(a->d, -1); device < a->d->n;
         device = devices_next(a->d, device))
        if (is_executed_by(a, device))
            store(a, timing, device, op->results[0], &received[device]);
}

// What arrives later is nowhere yet, unless it takes its source's place.
static void spoil_target(struct activation *a, const struct op *op, int timing) {
    for (int64_t device = devices_next(a->d, -1); device < a->d->n;
         device = devices_next(a->d, device)) {
        unsigned char **places = places_of(a, timing, device);
        if (!is_executed_by(a, device))
            continue;
        if (timing == IN_BETWEEN || places[op->results[0]] != places[op->operands[0]])
            memory_spoil(places[op->results[0]], type_bytes(type_of(a, op->results[0])));
    }
}

static bool execute_start(struct activation *a, const struct op *op,
                          const struct exchange *exchange) {
    struct array received[MAX_DEVICES];
    struct flight *flight = &a->flying[op->results[0]];
    receive(a, op, exchange, AT_START, &a->scratch, received);
    deliver(a, op, AT_START, received);
    flight->held = ARENA_ARRAY(&a->arena, struct array, MAX_DEVICES);
    receive(a, op, exchange, IN_BETWEEN, &a->arena, flight->held);
    spoil_target(a, op, AT_WAIT);
    spoil_target(a, op, IN_BETWEEN);
    flight->start = op;
    return true;
}

static bool execute_wait(struct activation *a, const struct op *op) {
    struct flight *flight = &a->flying[op->operands[0]];
    struct array received[MAX_DEVICES];
    struct exchange exchange;
    if (!flight->start)
        return devices_stuck(a->d, op->span, "a wait for what was not started");
    op_exchange(flight->start, &exchange);
    receive(a, flight->start, &exchange, AT_WAIT, &a->scratch, received);
    deliver(a, flight->start, AT_WAIT, received);
    deliver(a, flight->start, IN_BETWEEN, flight->held);
    flight->start = NULL;
    return true;
}

// An op whose loop is its user's, or whose kernel has done its work already, does nothing itself.
static bool is_done_elsewhere(const struct activation *a, const struct op *op) {
    enum op_kernel kernel = op_rows[op->kind].kernel;
    if (op_adds_term(op->kind) && is_added_by_producer(a, op))
        return true;
    if (kernel == KERNEL_NONE) // an iota that has no place is only ever an index
        return !has_place(a, op->results[0]);
    return kernel == KERNEL_ELEMENTWISE && is_inline(a, op->results[0]);
}

static bool execute_op(struct activation *a, const struct op *op) {
    struct exchange exchange;
    if (is_done_elsewhere(a, op))
        return true;
    if (!has_places(a, op))
        return devices_stuck(a->d, op->span, "a value that has no place");
    if (op->kind == OP_WAIT)
        return execute_wait(a, op);
    if (op_exchange(op, &exchange))
        return devices_meet_others(a->d, &exchange)
                   ? devices_stuck(a->d, op->span, "a unit's collective goes to other parts")
                   : execute_start(a, op, &exchange);
    for (int64_t device = devices_next(a->d, -1); device < a->d->n;
         device = devices_next(a->d, device))
        if (is_executed_by(a, device))
            execute_local(a, op, device);
    return true;
}

// ---- the call ---------------------------------------------------------------------------------

static bool takes_place(const struct unit *unit, uint32_t parameter) {
    for (uint32_t i = 0; i < unit->n_results; i++)
        if (unit->results[i].in_parameter == parameter)
            return true;
    return false;
}

// What the unit consumed, and its frame, are over when it returns.
static void spoil_what_is_over(struct activation *a, int timing, int64_t device) {
    const struct unit *unit = a->unit;
    for (uint32_t i = 0; i < unit->n_parameters; i++)
        if (unit->consumed[i] && !takes_place(unit, i))
            memory_spoil(places_of(a, timing, device)[i], type_bytes(type_of(a, i)));
    buffer_id frame = program_frame(a->d->program, a->statement->call.unit);
    if (frame != NO_ID)
        memory_spoil(item_place(a->d, timing, device, frame, 0), unit->frame_bytes);
}

static void end(struct activation *a) {
    for (int timing = 0; timing < N_TIMINGS; timing++)
        for (int64_t device = devices_next(a->d, -1); device < a->d->n;
             device = devices_next(a->d, device))
            if (is_executed_by(a, device))
                spoil_what_is_over(a, timing, device);
}

static bool all_have_arrived(struct activation *a) {
    for (uint32_t i = 0; i < a->unit->n_values; i++)
        if (a->flying[i].start)
            return devices_stuck(a->d, a->flying[i].start->span, "nothing waits for this transfer");
    return true;
}

bool call_execute(struct devices *d, const struct statement *statement, const int64_t *variables,
                  int depth) {
    struct activation a = {.d = d,
                           .statement = statement,
                           .unit = &d->program->job->units[statement->call.unit],
                           .variables = variables,
                           .depth = depth};
    index_ops(&a);
    bind_places(&a);
    a.flying = ARENA_ARRAY(&a.arena, struct flight, a.unit->n_values + 1);
    bool goes_on = true;
    for (uint32_t i = 0; i < a.unit->n_ops && goes_on; i++) {
        goes_on = execute_op(&a, &a.unit->ops[i]);
        arena_free(&a.scratch);
        a.scratch = (struct arena){0};
    }
    if (goes_on)
        end(&a);
    goes_on = goes_on && all_have_arrived(&a);
    arena_free(&a.arena);
    return goes_on;
}
