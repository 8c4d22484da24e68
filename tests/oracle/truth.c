// See truth.h.
#include "tests/oracle/truth.h"

#include <math.h>
#include <string.h>

#include "ir/check.h"
#include "tests/oracle/gradients.h"
#include "tests/oracle/memory.h"
#include "tests/random.h"

// Sums in another order differ by some 1e-13, and by up to some 1e-5 where anything is rounded to fp32,
// which the program of one device is not; the smallest mistake worth the name by 1e-3 or more.
static const struct limits limits_of_doubles = {1e-9, 1e-6}, limits_of_singles = {5e-5, 5e-5};

const char *const outcome_names[N_OUTCOMES] = {"right", "wrong", "stuck", "unclear"};

struct expected {
    struct arena *arena;
    const struct program *reference;
    struct setup setup;
    struct limits limits;
    double **initial;           // by buffer of the reference: all items; NULL: not persistent
    double ***inputs, ***after; // by step and buffer; `after`: also gradients and outputs
    double **quiet;             // inputs of the evaluation, which draws nothing
    double **evaluated;         // by buffer, of the evaluation before the last step: outputs
};

// ---- data -------------------------------------------------------------------------------------

static double between(uint64_t *random, double low, double high) {
    return low + (high - low) * (random_real(random) + 1) / 2;
}

// Gains about one, other parameters about zero; second moments are not negative.
static void fill_state(uint64_t *random, const struct program *program, const struct buffer *buffer,
                       double *data, int64_t n) {
    const struct tensor *tensor = &program->job->tensors[buffer->tensor];
    bool gain = tensor->init == INIT_ONES;
    for (int64_t i = 0; i < n; i++)
        switch (buffer->class) {
        case CLASS_PARAMETERS:
            data[i] = gain ? between(random, 0.5, 1.5) : between(random, -0.4, 0.4);
            break;
        case CLASS_MOMENT2:
        case CLASS_MOMENT2_ROWS:
        case CLASS_MOMENT2_COLUMNS:
            data[i] = between(random, 0.001, 0.01);
            break;
        default:
            data[i] = between(random, -0.05, 0.05);
        }
}

// A sequence without repetition, as far as the vocabulary goes: the beginning of a permutation.
static void fill_tokens(uint64_t *random, int64_t vocab, double *sequence, int64_t n) {
    struct arena scratch = {0};
    int64_t *order = ARENA_ARRAY(&scratch, int64_t, vocab);
    for (int64_t i = 0; i < vocab; i++)
        order[i] = i;
    for (int64_t i = 0; i < n; i++) {
        int64_t from = i % vocab;
        int64_t other = from + (int64_t)(random_bits(random) % (uint64_t)(vocab - from));
        int64_t token = order[other];
        order[other] = order[from];
        order[from] = token;
        sequence[i] = (double)token;
    }
    arena_free(&scratch);
}

// How many targets each group masks: different numbers in no order, so that no few of them have the
// mean of another. Up to half of all are masked, where there are enough.
static int64_t *masked_of_groups(struct arena *arena, uint64_t *random, int64_t groups,
                                 int64_t targets) {
    int64_t room = targets / 2 > groups ? targets / 2 : groups;
    int64_t *counts = ARENA_ARRAY(arena, int64_t, room);
    for (int64_t i = 0; i < room; i++)
        counts[i] = i % targets;
    for (int64_t i = 0; i < groups; i++) {
        int64_t other = i + (int64_t)(random_bits(random) % (uint64_t)(room - i));
        int64_t moved = counts[other];
        counts[other] = counts[i];
        counts[i] = moved;
    }
    return counts;
}

static void mask_some(uint64_t *random, int64_t masked, double *sequence, int64_t n) {
    for (int64_t i = 0; i < masked; i++) {
        int64_t at = (int64_t)(random_bits(random) % (uint64_t)n);
        while (sequence[at] < 0)
            at = (at + 1) % n;
        sequence[at] = -1;
    }
}

// A group's are spread evenly over its sequences (Hermite's identity).
static void mask_targets(uint64_t *random, int64_t per_group, double *targets, int64_t sequences,
                         int64_t n) {
    struct arena scratch = {0};
    int64_t *counts = masked_of_groups(&scratch, random, sequences / per_group, per_group * n);
    for (int64_t i = 0; i < sequences; i++)
        mask_some(random, (counts[i / per_group] + i % per_group) / per_group, targets + i * n, n);
    arena_free(&scratch);
}

static bool rounds_to_singles(const struct program *reference) {
    for (uint32_t u = 0; u < reference->job->n_units; u++)
        for (value_id v = 0; v < reference->job->units[u].n_values; v++)
            if (reference->job->units[u].values[v].type.dtype == DTYPE_F32)
                return true;
    return false;
}

// Gradients by which it is multiplied are numbers in fp64, and their squares are not: the step is
// skipped.
static const double overflowing_scale = 1e200;
enum { SKIPPED_STEP = 1 };

static void fill_input(const struct expected *x, const struct buffer *buffer, int step,
                       double *data) {
    const struct program *program = x->reference;
    uint64_t random = x->setup.seed * 1000003 + (uint64_t)step * 101 + (uint8_t)buffer->name[1];
    if (buffer->host == HOST_SAMPLES || buffer->host == HOST_LAYER) {
        int64_t n = buffer->rank ? buffer->dims[0].size : buffer_items(buffer);
        for (int64_t i = 0; i < n; i++)
            data[i] = (double)i;
        return;
    }
    if (buffer->dtype != DTYPE_I32) {
        *data = (double)(x->setup.first_step + step); // different in every step, as a key must be
        if (buffer->host == HOST_LOSS_SCALE && step == SKIPPED_STEP && !rounds_to_singles(program))
            *data = overflowing_scale;
        return;
    }
    CHECK(buffer->rank == 2 && buffer->dims[0].dimension == DIM_BATCH);
    int64_t n = buffer->dims[1].size;
    for (int64_t i = 0; i < buffer->dims[0].size; i++)
        fill_tokens(&random, program->job->sizes.vocab, data + i * n, n);
    if (buffer->host == HOST_TARGETS)
        mask_targets(&random, x->setup.sequences_per_group, data, buffer->dims[0].size, n);
}

// ---- one device -------------------------------------------------------------------------------

static bool is_state(const struct buffer *buffer) {
    return buffer_is_persistent(buffer) && buffer->window_of == NO_ID;
}

static bool is_compared(const struct buffer *buffer) {
    return is_state(buffer) || buffer->class == CLASS_GRADIENTS || buffer->class == CLASS_OUTPUT;
}

static int64_t all_elements(const struct machine *m, buffer_id id) {
    return machine_item_elements(m, id) * buffer_items(&m->program->buffers[id]);
}

// Copies of all items of the buffers that the test selects.
static double **copy_buffers(struct expected *x, const struct machine *m,
                             bool (*selects)(const struct buffer *)) {
    double **copies = ARENA_ARRAY(x->arena, double *, x->reference->n_buffers + 1);
    for (buffer_id i = 0; i < x->reference->n_buffers; i++)
        if (selects(&x->reference->buffers[i]))
            copies[i] =
                arena_copy(x->arena, m->buffers[i], (size_t)all_elements(m, i) * sizeof(double));
    return copies;
}

static bool is_input(const struct buffer *buffer) {
    return buffer->class == CLASS_INPUT;
}

static bool is_output(const struct buffer *buffer) {
    return buffer->class == CLASS_OUTPUT;
}

// Outputs that a step does not write stay NaN, and are not compared.
static void forget_outputs(struct machine *m) {
    for (buffer_id i = 0; i < m->program->n_buffers; i++)
        for (int64_t k = 0; is_output(&m->program->buffers[i]) && k < all_elements(m, i); k++)
            m->buffers[i][k] = NAN;
}

// A master copy begins as the parameter that is made of it.
static void fill_master(const struct program *program, struct machine *m, buffer_id master) {
    for (buffer_id i = 0; i < program->n_buffers; i++)
        if (program->buffers[i].class == CLASS_PARAMETERS &&
            program->buffers[i].tensor == program->buffers[master].tensor)
            memcpy(m->buffers[master], m->buffers[i], (size_t)all_elements(m, i) * sizeof(double));
}

static void begin(struct expected *x, struct machine *m) {
    uint64_t random = x->setup.seed * 7919 + 1;
    for (buffer_id i = 0; i < x->reference->n_buffers; i++)
        if (is_state(&x->reference->buffers[i]))
            fill_state(&random, x->reference, &x->reference->buffers[i], m->buffers[i],
                       all_elements(m, i));
    for (buffer_id i = 0; i < x->reference->n_buffers; i++)
        if (x->reference->buffers[i].class == CLASS_MASTER)
            fill_master(x->reference, m, i);
    x->initial = copy_buffers(x, m, is_state);
}

static void set_inputs(struct expected *x, struct machine *m, int step) {
    for (buffer_id i = 0; i < x->reference->n_buffers; i++)
        if (is_input(&x->reference->buffers[i]))
            fill_input(x, &x->reference->buffers[i], step, m->buffers[i]);
    x->inputs[step] = copy_buffers(x, m, is_input);
}

static void run_evaluation_of_one(struct expected *x, struct machine *m, int step) {
    buffer_id key = program_host_buffer(x->reference, HOST_DRAW_KEY);
    if (key != NO_ID)
        *machine_item(m, key, 0) = 0;
    x->quiet = copy_buffers(x, m, is_input);
    machine_run(m, STEP_EVALUATE);
    x->evaluated = copy_buffers(x, m, is_output);
    set_inputs(x, m, step);
    forget_outputs(m);
}

struct expected *truth_expect(struct arena *arena, const struct program *reference,
                              const struct setup *setup) {
    struct expected *x = ARENA_NEW(arena, struct expected);
    *x = (struct expected){.arena = arena,
                           .reference = reference,
                           .setup = *setup,
                           .limits = rounds_to_singles(reference) ? limits_of_singles
                                                                  : limits_of_doubles};
    x->inputs = ARENA_ARRAY(arena, double **, setup->steps);
    x->after = ARENA_ARRAY(arena, double **, setup->steps);
    struct arena scratch = {0};
    struct machine *m = machine_new(&scratch, reference);
    begin(x, m);
    for (int step = 0; step < setup->steps; step++) {
        set_inputs(x, m, step);
        forget_outputs(m);
        if (step == setup->steps - 1 && reference->steps[STEP_EVALUATE].present)
            run_evaluation_of_one(x, m, step);
        machine_run(m, STEP_TRAIN);
        x->after[step] = copy_buffers(x, m, is_compared);
    }
    arena_free(&scratch);
    return x;
}

struct limits truth_limits(const struct expected *x) {
    return x->limits;
}

const double *truth_input(const struct expected *x, const char *buffer, int step) {
    buffer_id id = program_find_buffer(x->reference, buffer);
    CHECK(id != NO_ID && step < x->setup.steps && x->inputs[step][id]);
    return x->inputs[step][id];
}

// ---- comparing --------------------------------------------------------------------------------

struct comparison {
    struct arena *arena;
    const struct expected *x;
    const struct job *final;
    struct cluster *cluster;
    struct gradients **gradients; // by part
    const struct observer *observer;
    void (*begin)(void *data, int phase);
    int phase;
    bool relaxed; // gradients are codes: equal, and numbers, is all that can be asked
    struct finding finding;
};

static void find(struct comparison *c, double difference, const char *what) {
    struct finding *f = &c->finding;
    bool worse = !(difference <= f->difference); // NaN is the worst
    if (f->outcome == OUTCOME_WRONG || !worse)
        return;
    f->difference = difference;
    f->what = what;
    f->outcome = difference <= c->x->limits.rounding  ? OUTCOME_RIGHT
                 : difference <= c->x->limits.mistake ? OUTCOME_UNCLEAR
                                                      : OUTCOME_WRONG;
}

static double largest(const double *values, int64_t n) {
    double most = 0;
    for (int64_t i = 0; i < n; i++)
        most = fmax(most, fabs(values[i]));
    return most;
}

// The largest difference, relative to `scale`; NaN if anything found is.
static double distance(const double *found, const double *expected, int64_t n, double scale) {
    double most = 0;
    for (int64_t i = 0; i < n; i++) {
        double difference = found[i] == expected[i] ? 0 : fabs(found[i] - expected[i]);
        if (!(difference <= most))
            most = difference;
        if (isnan(difference))
            return NAN;
    }
    return most == 0 ? 0 : most / scale;
}

// What the part has of the item.
static double *compare_item(struct comparison *c, struct arena *arena, struct devices *d,
                            enum timing timing, buffer_id id, int64_t item, const double *expected,
                            const char *name) {
    int64_t n = layout_logical_elements(&d->program->buffers[id]);
    double *found = ARENA_ARRAY(arena, double, n);
    const char *wrong = devices_get(d, timing, id, item, found);
    double difference = wrong        ? NAN
                        : c->relaxed ? distance(found, found, n, 1)
                                     : distance(found, expected, n, largest(expected, n));
    if (!(difference <= c->x->limits.rounding)) {
        c->finding.differ[d->side][id] = true;
        find(c, difference,
             arena_format(c->arena, "%s[%d]: %s", name, (int)item, wrong ? wrong : "differs"));
    }
    return found;
}

static bool same_state(const struct program *a, const struct buffer *x, const struct program *b,
                       const struct buffer *y) {
    return x->class == y->class &&
           strcmp(a->job->tensors[x->tensor].name, b->job->tensors[y->tensor].name) == 0;
}

// The item of `buffer` that holds what item `item` of `other` does: the same layer; -1: none.
static int64_t same_item(const struct buffer *buffer, const struct buffer *other, int64_t item) {
    return buffer_item_of_layer(buffer, buffer_layer(other, item));
}

static buffer_id state_of(const struct comparison *c, const struct program *final,
                          enum buffer_class class, const struct buffer *theirs, int64_t item) {
    const char *name = c->x->reference->job->tensors[theirs->tensor].name;
    for (buffer_id i = 0; i < final->n_buffers; i++) {
        const struct buffer *buffer = &final->buffers[i];
        if (is_state(buffer) && buffer->class == class &&
            strcmp(c->final->tensors[buffer->tensor].name, name) == 0 &&
            same_item(buffer, theirs, item) >= 0)
            return i;
    }
    return NO_ID;
}

// The part whose outputs the host reads: the first that has a loss.
static bool has_outputs(const struct comparison *c, uint32_t side) {
    uint32_t first = 0;
    while (first + 1 < c->final->n_programs &&
           program_host_buffer(c->final->programs[first], HOST_LOSS) == NO_ID)
        first++;
    return side == first;
}

// The buffer of a part that holds the same as an item of one of the reference: of a parameter that
// is not kept the copy that it is made of.
static buffer_id counterpart(const struct comparison *c, uint32_t side, buffer_id theirs,
                             int64_t item) {
    const struct buffer *buffer = &c->x->reference->buffers[theirs];
    const struct program *final = c->final->programs[side];
    if (!is_state(buffer))
        return has_outputs(c, side) ? program_host_buffer(final, buffer->host) : NO_ID;
    buffer_id kept = state_of(c, final, buffer->class, buffer, item);
    return kept == NO_ID && buffer->class == CLASS_PARAMETERS
               ? state_of(c, final, CLASS_MASTER, buffer, item)
               : kept;
}

// In every part that holds it, with the same bits.
static void compare_everywhere(struct comparison *c, buffer_id theirs, int64_t item,
                               const double *expected) {
    const struct buffer *buffer = &c->x->reference->buffers[theirs];
    int64_t n = layout_logical_elements(buffer);
    struct arena scratch = {0};
    double *first[N_TIMINGS] = {NULL};
    for (uint32_t side = 0; side < c->final->n_programs; side++) {
        buffer_id mine = counterpart(c, side, theirs, item);
        for (int timing = 0; timing < N_TIMINGS && mine != NO_ID; timing++) {
            struct devices *d = &c->cluster->parts[side];
            int64_t at = same_item(&d->program->buffers[mine], buffer, item);
            double *found = compare_item(c, &scratch, d, timing, mine, at, expected, buffer->name);
            if (first[timing] && memcmp(first[timing], found, (size_t)n * sizeof *found) != 0) {
                c->finding.differ[side][mine] = true;
                find(c, NAN,
                     arena_format(c->arena, "%s[%d]: copies of parts differ", buffer->name,
                                  (int)item));
            }
            first[timing] = first[timing] ? first[timing] : found;
        }
    }
    if (!first[0])
        find(c, NAN, arena_format(c->arena, "nothing holds %s[%d]", buffer->name, (int)item));
    arena_free(&scratch);
}

static void compare_buffers(struct comparison *c, double **expected,
                            bool (*selects)(const struct buffer *)) {
    const struct program *reference = c->x->reference;
    for (buffer_id i = 0; i < reference->n_buffers; i++) {
        const struct buffer *buffer = &reference->buffers[i];
        int64_t n = layout_logical_elements(buffer);
        if (!selects(buffer) || isnan(expected[i][0]))
            continue;
        for (int64_t item = 0; item < buffer_items(buffer); item++)
            compare_everywhere(c, i, item, expected[i] + item * n);
    }
}

// A gradient may be zero in truth, as a key's bias; rounding is as large as its neighbours make it.
static double gradient_scale(const struct comparison *c, double **expected,
                             const struct tensor *tensor, int64_t layer) {
    const struct program *reference = c->x->reference;
    double scale = 0;
    for (buffer_id i = 0; i < reference->n_buffers; i++) {
        const struct buffer *buffer = &reference->buffers[i];
        if (buffer->class != CLASS_GRADIENTS || buffer->tensor == NO_ID ||
            reference->job->tensors[buffer->tensor].roles[0] != tensor->roles[0])
            continue;
        int64_t n = layout_logical_elements(buffer);
        scale =
            fmax(scale, largest(expected[i] + (layer < buffer_items(buffer) ? layer : 0) * n, n));
    }
    return scale;
}

// Along axes that neither cut a residual nor are the wire's, devices have copies of it.
static bool is_first_copy(const struct comparison *c, const struct devices *d,
                          const struct buffer *buffer, int64_t device) {
    const struct mesh *mesh = &c->final->mesh;
    uint64_t own = axis_list_mask(&c->final->policy.wire_axes);
    own |= axis_list_mask(&d->program->part.axes);
    own |= axis_list_mask(&buffer->layout.flat);
    for (unsigned d = 0; d < buffer->rank; d++)
        own |= axis_list_mask(&buffer->layout.cuts[d]);
    for (unsigned a = 0; a < mesh->n_axes; a++)
        if (!(own >> a & 1) && device / mesh_stride_of(mesh, a) % mesh->axes[a].size)
            return false;
    return true;
}

// What codes lack of an item of a gradient, of all devices that have a part of it, added to what
// they hold.
static void add_residuals(const struct comparison *c, const struct devices *d, enum timing timing,
                          uint32_t tensor, int64_t layer, double *sum) {
    const struct program *final = d->program;
    for (buffer_id i = 0; i < final->n_buffers; i++) {
        const struct buffer *buffer = &final->buffers[i];
        int64_t item = buffer->tensor == tensor ? buffer_item_of_layer(buffer, layer) : -1;
        if (buffer->class != CLASS_RESIDUAL || item < 0)
            continue;
        struct arena scratch = {0};
        struct tensor_type type = buffer_type(final, buffer);
        int64_t n = type_elements(&type);
        int64_t *places = ARENA_ARRAY(&scratch, int64_t, n);
        double *part = ARENA_ARRAY(&scratch, double, n);
        for (int64_t device = devices_next(d, -1); device < d->n;
             device = devices_next(d, device)) {
            if (!is_first_copy(c, d, buffer, device))
                continue;
            layout_places(final, i, item, device, places);
            memory_load(item_place(d, timing, device, i, item), buffer->dtype, n, part);
            for (int64_t k = 0; k < n; k++)
                if (places[k] >= 0)
                    sum[places[k]] += part[k];
        }
        arena_free(&scratch);
    }
}

static bool has_read_any(const double *gradient, int64_t n) {
    bool any = false;
    for (int64_t i = 0; i < n && !any; i++)
        any = !isnan(gradient[i]);
    return any;
}

// `layer` is counted from the tensor's first. Another part may have it.
static void compare_gradient_of(struct comparison *c, uint32_t side, enum timing timing,
                                double **expected, buffer_id id, int64_t layer) {
    const struct program *reference = c->x->reference;
    const struct tensor *tensor = &reference->job->tensors[reference->buffers[id].tensor];
    uint32_t mine = job_find_tensor(c->final, tensor->name);
    int64_t n = tensor_elements(tensor);
    const double *found = mine == NO_ID ? NULL : c->gradients[side]->logical[timing][mine];
    if (!found || (c->final->n_programs > 1 && !has_read_any(found + layer * n, n)))
        return; // no part: its update is missing, or it has none: the parameter shows
    double *whole = arena_copy(c->arena, found + layer * n, (size_t)n * sizeof *found);
    if (c->relaxed)
        add_residuals(c, &c->cluster->parts[side], timing, mine, tensor->first_layer + layer,
                      whole);
    double difference =
        distance(whole, expected[id] + layer * n, n, gradient_scale(c, expected, tensor, layer));
    if (!(difference <= c->x->limits.rounding))
        find(c, difference, arena_format(c->arena, "gradient of %s[%d]", tensor->name, (int)layer));
}

static void compare_gradient(struct comparison *c, double **expected, buffer_id id, int64_t layer) {
    for (int timing = 0; timing < N_TIMINGS; timing++)
        for (uint32_t side = 0; side < c->final->n_programs; side++)
            compare_gradient_of(c, side, timing, expected, id, layer);
}

static void compare_gradients(struct comparison *c, double **expected) {
    const struct program *reference = c->x->reference;
    for (buffer_id i = 0; i < reference->n_buffers; i++)
        if (reference->buffers[i].class == CLASS_GRADIENTS && reference->buffers[i].tensor != NO_ID)
            for (int64_t layer = 0; layer < buffer_items(&reference->buffers[i]); layer++)
                compare_gradient(c, expected, i, layer);
}

// ---- the mesh ---------------------------------------------------------------------------------

// Items of microbatches are parts of one whole; other items have one each.
static void put_buffer(struct devices *d, buffer_id mine, const struct buffer *theirs,
                       const double *data) {
    const struct buffer *buffer = &d->program->buffers[mine];
    int64_t n = layout_logical_elements(theirs);
    for (int64_t item = 0; item < buffer_items(buffer); item++) {
        bool whole = buffer_stack(buffer, STACK_MICROBATCHES);
        int64_t at = whole ? 0 : same_item(theirs, buffer, item);
        if (at >= 0)
            devices_put(d, mine, item, data + at * n);
    }
}

static void put_buffers_of(struct comparison *c, struct devices *d, double **data,
                           bool (*selects)(const struct buffer *)) {
    const struct program *reference = c->x->reference, *final = d->program;
    for (buffer_id i = 0; i < reference->n_buffers; i++)
        for (buffer_id mine = 0; selects(&reference->buffers[i]) && mine < final->n_buffers;
             mine++) {
            const struct buffer *theirs = &reference->buffers[i], *buffer = &final->buffers[mine];
            if (is_state(theirs) ? is_state(buffer) && same_state(reference, theirs, final, buffer)
                                 : strcmp(theirs->name, buffer->name) == 0)
                put_buffer(d, mine, theirs, data[i]);
        }
}

static void put_buffers(struct comparison *c, double **data,
                        bool (*selects)(const struct buffer *)) {
    for (uint32_t side = 0; side < c->final->n_programs; side++)
        put_buffers_of(c, &c->cluster->parts[side], data, selects);
}

// Only the program of the mesh has microbatches.
static void number_microbatches(struct devices *d) {
    buffer_id id = program_host_buffer(d->program, HOST_MICROBATCH);
    for (int64_t item = 0; id != NO_ID && item < buffer_items(&d->program->buffers[id]); item++)
        devices_put(d, id, item, &(double){(double)item});
}

static void see_op(void *data, const struct moment *moment, const struct array *operands,
                   const struct array *results) {
    struct comparison *c = data;
    for (uint32_t side = 0; side < c->final->n_programs; side++)
        if (c->final->programs[side] == moment->program)
            gradients_see(c->gradients[side], moment, operands);
    if (c->observer && c->observer->op)
        c->observer->op(c->observer->data, moment, operands, results);
}

static void see_arrival(void *data, const struct moment *moment, const struct statement *at,
                        uint32_t piece, const struct array *array) {
    struct comparison *c = data;
    if (c->observer && c->observer->arrival)
        c->observer->arrival(c->observer->data, moment, at, piece, array);
}

static void see_departure(void *data, const struct moment *moment, uint32_t piece,
                          const struct array *array) {
    struct comparison *c = data;
    if (c->observer && c->observer->departure)
        c->observer->departure(c->observer->data, moment, piece, array);
}

static bool run(struct comparison *c, int step, enum step_kind kind) {
    cluster_forget(c->cluster);
    put_buffers(c, kind == STEP_EVALUATE ? c->x->quiet : c->x->inputs[step], is_input);
    for (uint32_t side = 0; side < c->final->n_programs; side++) {
        number_microbatches(&c->cluster->parts[side]);
        gradients_clear(c->gradients[side]);
    }
    if (c->begin)
        c->begin(c->observer->data, c->phase++);
    if (cluster_run(c->cluster, kind))
        return true;
    c->finding.outcome = OUTCOME_STUCK;
    c->finding.what = c->cluster->stuck;
    c->finding.at = c->cluster->stuck_at;
    c->finding.n_at = c->cluster->n_stuck_at;
    return false;
}

static bool run_evaluation(struct comparison *c) {
    if (!c->x->evaluated)
        return true;
    if (!c->final->programs[0]->steps[STEP_EVALUATE].present) {
        find(c, NAN, "no evaluation");
        return true;
    }
    if (!run(c, c->x->setup.steps - 1, STEP_EVALUATE))
        return false;
    compare_buffers(c, c->x->evaluated, is_output);
    return true;
}

static bool run_training(struct comparison *c, int step) {
    if (!run(c, step, STEP_TRAIN))
        return false;
    if (!c->relaxed || step == 0) // later ones are of other parameters
        compare_gradients(c, c->x->after[step]);
    compare_buffers(c, c->x->after[step], is_output);
    compare_buffers(c, c->x->after[step], is_state);
    return true;
}

// Before the first step states have zeros behind their elements: updates add up what is there, too. Nothing
// was left to be sent.
static void clear_states(struct devices *d) {
    const struct program *final = d->program;
    for (buffer_id i = 0; i < final->n_buffers; i++)
        for (int timing = 0; timing < N_TIMINGS && is_state(&final->buffers[i]); timing++)
            for (int64_t device = devices_next(d, -1); device < d->n;
                 device = devices_next(d, device))
                memset(item_place(d, timing, device, i, 0), 0,
                       (size_t)buffer_bytes(final, &final->buffers[i]));
}

static void look_at_parts(struct comparison *c) {
    uint32_t n = c->final->n_programs;
    c->finding.differ = ARENA_ARRAY(c->arena, bool *, n);
    c->gradients = ARENA_ARRAY(c->arena, struct gradients *, n);
    for (uint32_t side = 0; side < n; side++) {
        const struct program *program = c->final->programs[side];
        c->finding.differ[side] = ARENA_ARRAY(c->arena, bool, program->n_buffers + 1);
        c->gradients[side] = gradients_new(c->arena, program);
        clear_states(&c->cluster->parts[side]);
    }
}

struct finding truth_judge(struct arena *arena, const struct expected *x, const struct job *final,
                           const struct observer *observer, void (*begin)(void *data, int phase)) {
    struct comparison c = {
        .arena = arena, .x = x, .final = final, .observer = observer, .begin = begin};
    c.finding = (struct finding){.outcome = OUTCOME_RIGHT};
    c.cluster = cluster_new(arena, final);
    c.cluster->observer = (struct observer){&c, see_op, see_arrival, see_departure};
    look_at_parts(&c);
    put_buffers(&c, x->initial, is_state);
    c.relaxed = final->policy.wire_axes.n > 0;
    for (int step = 0; step < x->setup.steps && c.finding.outcome == OUTCOME_RIGHT; step++) {
        bool last = step == x->setup.steps - 1;
        if ((last && !run_evaluation(&c)) || !run_training(&c, step))
            break;
    }
    return c.finding;
}
