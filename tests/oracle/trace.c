// See trace.h. A value is known by when it is made: the execution, the statement and the op, the
// variables of the loops around them, the device.
#include "tests/oracle/trace.h"

#include <math.h>
#include <string.h>

#include "tests/oracle/truth.h"

struct key { // fields of one width: keys have no padding
    uint32_t phase, statement, op, part, device;
    int32_t variables[LIMIT_LOOP_DEPTH];
};
struct entry {
    struct key key;
    int64_t at, n; // in the values; n 0: free
};
struct trace {
    struct arena *arena;
    double tolerance;
    struct entry *entries; // open addressing
    uint32_t n_entries, room;
    double *values;
    uint32_t n_values, cap_values;
    uint32_t phase;
    struct deviations deviations;
    const struct program *of[MAX_DEVIATIONS]; // in whose program each is
};

struct trace *trace_new(struct arena *arena, double tolerance) {
    struct trace *trace = ARENA_NEW(arena, struct trace);
    *trace = (struct trace){.arena = arena, .tolerance = tolerance, .room = 1 << 12};
    trace->entries = ARENA_ARRAY(arena, struct entry, trace->room);
    return trace;
}

void trace_begin(void *data, int phase) {
    ((struct trace *)data)->phase = (uint32_t)phase;
}

static struct key key_of(const struct trace *trace, const struct moment *moment, uint32_t part) {
    struct key key = {.phase = trace->phase,
                      .statement = moment->statement->span.begin,
                      .op = moment->op ? moment->op->span.begin : 0,
                      .part = part,
                      .device = (uint32_t)moment->device};
    for (int i = 0; i < moment->depth; i++)
        key.variables[i] = (int32_t)moment->variables[i] + 1;
    return key;
}

static uint64_t hash_of(const struct key *key) { // Fowler, Noll, Vo, by words
    const uint32_t *words = (const uint32_t *)key;
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (size_t i = 0; i < sizeof *key / sizeof *words; i++)
        hash = (hash ^ words[i]) * UINT64_C(0x100000001b3);
    return hash ^ hash >> 29;
}

// The entry of the key, or the free one where it belongs.
static struct entry *find(struct trace *trace, const struct key *key) {
    uint64_t at = hash_of(key);
    for (;; at++) {
        struct entry *entry = &trace->entries[at % trace->room];
        if (entry->n == 0 || memcmp(&entry->key, key, sizeof *key) == 0)
            return entry;
    }
}

static void grow(struct trace *trace) {
    struct entry *old = trace->entries;
    uint32_t room = trace->room;
    trace->room *= 4;
    trace->entries = ARENA_ARRAY(trace->arena, struct entry, trace->room);
    for (uint32_t i = 0; i < room; i++)
        if (old[i].n)
            *find(trace, &old[i].key) = old[i];
}

static void record(struct trace *trace, const struct moment *moment, uint32_t part,
                   const struct array *array) {
    if (moment->timing != AT_START) // a right program has the same at both
        return;
    if (2 * trace->n_entries > trace->room)
        grow(trace);
    struct key key = key_of(trace, moment, part);
    int64_t n = type_elements(&array->type);
    struct entry *entry = find(trace, &key);
    if (entry->n || n == 0)
        return;
    *entry = (struct entry){key, trace->n_values, n};
    trace->n_entries++;
    for (int64_t i = 0; i < n; i++)
        ARENA_PUSH(trace->arena, trace->values, trace->n_values, trace->cap_values, array->data[i]);
}

static bool deviates(struct trace *trace, const struct moment *moment, uint32_t part,
                     const struct array *array) {
    struct key key = key_of(trace, moment, part);
    const struct entry *entry = find(trace, &key);
    double largest = 0;
    if (entry->n != type_elements(&array->type)) // done where it was not before: what follows shows
        return false;
    const double *values = trace->values + entry->at;
    for (int64_t i = 0; i < entry->n; i++) // a row of which all is masked has an infinite statistic
        if (isfinite(values[i]))
            largest = fmax(largest, fabs(values[i]));
    for (int64_t i = 0; i < entry->n; i++) // padding was spoilt before, too
        if (!isnan(values[i]) && array->data[i] != values[i] &&
            !(fabs(array->data[i] - values[i]) <= trace->tolerance * largest))
            return true;
    return false;
}

// Whether nothing has deviated yet in the part, as far as that is noted.
static bool looks(const struct trace *trace, const struct moment *moment) {
    for (uint32_t i = 0; i < trace->deviations.n; i++)
        if (trace->of[i] == moment->program)
            return false;
    return trace->deviations.n < MAX_DEVIATIONS;
}

static void note(struct trace *trace, const struct moment *moment, struct span at, struct span also,
                 struct span too) {
    trace->of[trace->deviations.n] = moment->program;
    trace->deviations.list[trace->deviations.n++] =
        (struct deviation){(int)trace->phase, {at, also, too}};
}

static void record_op(void *data, const struct moment *moment, const struct array *operands,
                      const struct array *results) {
    for (uint32_t i = 0; i < moment->op->n_results; i++)
        record(data, moment, i, &results[i]);
}

// A piece is known by where it goes, among whatever others.
static uint32_t part_of(const struct moment *moment, uint32_t piece) {
    const struct reference *to = &moment->statement->start.pieces[piece].to;
    uint32_t part = to->buffer;
    for (unsigned i = 0; i < MAX_STACKS; i++)
        part = part << 8 | (uint32_t)(index_at(to->indices[i], moment->variables) & 0xff);
    return part;
}

static void record_arrival(void *data, const struct moment *moment, const struct statement *at,
                           uint32_t piece, const struct array *array) {
    record(data, moment, part_of(moment, piece), array);
}

static void follow_op(void *data, const struct moment *moment, const struct array *operands,
                      const struct array *results) {
    struct trace *trace = data;
    for (uint32_t i = 0; i < moment->op->n_results && looks(trace, moment); i++)
        if (deviates(trace, moment, i, &results[i]))
            note(trace, moment, moment->op->span, moment->statement->span, moment->user->span);
}

static void follow_arrival(void *data, const struct moment *moment, const struct statement *at,
                           uint32_t piece, const struct array *array) {
    struct trace *trace = data;
    if (looks(trace, moment) && deviates(trace, moment, part_of(moment, piece), array))
        note(trace, moment, moment->statement->span, at->span, at->span);
}

// Beside what arrives by the same statement.
static uint32_t given_part(const struct moment *moment, uint32_t piece) {
    return part_of(moment, piece) ^ 0x80000000;
}

static void record_departure(void *data, const struct moment *moment, uint32_t piece,
                             const struct array *array) {
    record(data, moment, given_part(moment, piece), array);
}

static void follow_departure(void *data, const struct moment *moment, uint32_t piece,
                             const struct array *array) {
    struct trace *trace = data;
    struct span at = moment->statement->span;
    if (looks(trace, moment) && deviates(trace, moment, given_part(moment, piece), array))
        note(trace, moment, at, at, at);
}

struct observer trace_recorder(struct trace *trace) {
    return (struct observer){trace, record_op, record_arrival, record_departure};
}

struct observer trace_follower(struct trace *trace) {
    return (struct observer){trace, follow_op, follow_arrival, follow_departure};
}

struct deviations trace_take_deviations(struct trace *trace) {
    struct deviations deviations = trace->deviations;
    trace->deviations.n = 0;
    return deviations;
}
