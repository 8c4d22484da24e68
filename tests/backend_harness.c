// Units by hand, ranks of a mesh, and the comparison with the interpreter (backend_harness.h).
#include "backend_harness.h"

#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "ir/check.h"
#include "runtime/kernels/kernels.h"
#include "runtime/product.h"
#include "runtime/team.h"
#include "runtime/transport/transport.h"
#include "runtime/workspace.h"
#include "tests/elements.h"
#include "tests/random.h"

struct backend *harness_backend(void) {
    static struct arena arena;
    static struct backend *backend;
    const char *why = NULL;
    if (!backend)
        backend = backend_load(&arena, &why);
    if (!backend)
        fail_msg("%s", why);
    return backend;
}

// ---- ranks ------------------------------------------------------------------------------------

void ranks_open(struct ranks *ranks, struct arena *arena, const struct program *program,
                int threads) {
    const char *message;
    size_t bytes = ((size_t)program->arena_bytes[TIER_DEVICE] + 4095) / 4096 * 4096 + 4096;
    memset(ranks, 0, sizeof *ranks);
    ranks->program = descriptor_make(arena, program->job, &(struct descriptor_facts){0});
    ranks->n = (int32_t)ranks->program->devices;
    ranks->world = local_world_new(ranks->program, 0, ranks->n, ranks->n);
    CHECK(product_load(&message) == PLACE_OK && ranks->n <= MAX_RANKS);
    for (int32_t i = 0; i < ranks->n; i++) {
        struct place_context *context = &ranks->contexts[i];
        context->head.arenas[PLACE_DEVICE] = aligned_alloc(4096, bytes);
        memset(context->head.arenas[PLACE_DEVICE], 0xff, bytes);
        context->program = ranks->program;
        context->kernels = kernels_select(&message);
        context->team = team_create(threads, PLACE_WORKSPACE_BYTES_PER_THREAD);
        context_set_rank(context, i);
        context->live = live_new(ranks->program, i);
        CHECK(context->kernels && context->team && context->live);
        local_join(ranks->world, context);
    }
}

void ranks_close(struct ranks *ranks) {
    for (int32_t i = 0; i < ranks->n; i++) {
        team_destroy(ranks->contexts[i].team);
        live_free(ranks->contexts[i].live);
        free(ranks->contexts[i].head.arenas[PLACE_DEVICE]);
    }
    local_world_free(ranks->world);
}

struct errand {
    struct place_context *context;
    place_entry *entry;
    struct live_report *live;
    pthread_t thread;
};

static void *run_errand(void *argument) {
    struct errand *errand = argument;
    live_begin_step(errand->context->live);
    errand->entry(errand->context);
    *errand->live = live_end_step(errand->context->live);
    return NULL;
}

void ranks_run(struct ranks *ranks, place_entry *entry) {
    struct errand errands[MAX_RANKS];
    for (int32_t i = 0; i < ranks->n; i++) {
        errands[i] = (struct errand){
            .context = &ranks->contexts[i], .entry = entry, .live = &ranks->live[i]};
        pthread_create(&errands[i].thread, NULL, run_errand, &errands[i]);
    }
    for (int32_t i = 0; i < ranks->n; i++)
        pthread_join(errands[i].thread, NULL);
    const struct place_context *failed = NULL; // what the others were told is a consequence
    for (int32_t i = 0; i < ranks->n; i++)
        if (ranks->contexts[i].status != PLACE_OK &&
            (!failed || failed->status == PLACE_ERROR_ABORTED))
            failed = &ranks->contexts[i];
    if (failed)
        fail_msg("%s", failed->message);
}

static struct backend_code *compile_for(struct arena *arena, const struct program *program,
                                        const char *level) {
    const char *why = backend_refusal(harness_backend(), arena, program->job);
    struct backend_options options = {.level = level};
    struct backend_code *code = NULL;
    if (!why)
        code = backend_jit(harness_backend(), arena, program->job, &options, &why);
    if (!code)
        fail_msg("%s", why);
    return code;
}

struct backend_code *compile(struct arena *arena, const struct program *program) {
    return compile_for(arena, program, NULL);
}

// ---- building ---------------------------------------------------------------------------------

void harness_open(struct harness *h, enum dtype dtype) {
    *h = (struct harness){.dtype = dtype, .random = 1};
    h->program = program_new(&h->arena, "test");
    uint32_t unit = job_add_unit(h->program->job, "test", span_nowhere());
    h->unit = &h->program->job->units[unit];
}

void harness_close(struct harness *h) {
    backend_code_free(harness_backend(), h->code);
    ranks_close(&h->ranks);
    arena_free(&h->arena);
}

value_id harness_input(struct harness *h, enum dtype dtype, const int64_t *sizes) {
    struct tensor_type type = {.dtype = dtype};
    for (; sizes[type.rank]; type.rank++)
        type.dims[type.rank] = (struct dim){DIM_HIDDEN, sizes[type.rank]};
    const char *name = arena_format(&h->arena, "in%u", h->unit->n_parameters);
    return unit_add_parameter(h->program->arena, h->unit, name, type, false);
}

struct op *harness_op(struct harness *h, enum op_kind kind, const value_id *operands, unsigned n) {
    return unit_add_op(h->program->arena, h->unit, kind, "v", operands, n, span_nowhere());
}

value_id harness_infer(struct harness *h, struct op *op) {
    const char *why;
    if (!op_infer_types(h->program->arena, h->unit, op, &why))
        fail_msg("%s", why);
    return op->results[0];
}

value_id harness_iota(struct harness *h, int64_t size) {
    struct op *op = OP(h, IOTA);
    op_set(h->program->arena, op,
           (struct attribute){.name = ATTRIBUTE_DIMENSION, .integer = DIM_SEQUENCE});
    h->unit->values[op->results[0]].type =
        (struct tensor_type){.dtype = DTYPE_I32, .rank = 1, .dims = {{DIM_SEQUENCE, size}}};
    h->unit->values[op->results[0]].storage = STORAGE_INLINE;
    return op->results[0];
}

void harness_output(struct harness *h, value_id value) {
    h->unit->values[value].storage = STORAGE_RESULT;
    unit_add_result(h->program->arena, h->unit, value, NO_ID);
}

void harness_update(struct harness *h, value_id result, value_id parameter) {
    h->unit->values[result].storage = STORAGE_IN_PLACE;
    h->unit->values[result].base = parameter;
    unit_add_result(h->program->arena, h->unit, result, parameter);
}

void harness_inline(struct harness *h, value_id value) {
    h->unit->values[value].storage = STORAGE_INLINE;
}

// ---- planning ---------------------------------------------------------------------------------

static int64_t reserve(struct program *program, int64_t bytes) {
    int64_t at = program->arena_bytes[TIER_DEVICE];
    program->arena_bytes[TIER_DEVICE] += (bytes + 63) / 64 * 64;
    return at;
}

static buffer_id buffer_for(struct harness *h, value_id id) {
    struct value *value = &h->unit->values[id];
    struct buffer buffer = {.name = value->name,
                            .class = CLASS_ACTIVATIONS,
                            .tensor = NO_ID,
                            .dtype = value->type.dtype,
                            .rank = value->type.rank,
                            .window_of = NO_ID};
    memcpy(buffer.dims, value->type.dims, sizeof buffer.dims);
    buffer.offset_bytes = h->offsets[id] = reserve(h->program, type_bytes(&value->type));
    return program_add_buffer(h->program, buffer);
}

static void plan_frame(struct harness *h) {
    int64_t bytes = 0;
    for (uint32_t i = 0; i < h->unit->n_values; i++)
        if (h->unit->values[i].storage == STORAGE_UNPLANNED) {
            h->unit->values[i].storage = STORAGE_FRAME;
            h->unit->values[i].offset_bytes = bytes;
            h->offsets[i] = bytes;
            bytes += (type_bytes(&h->unit->values[i].type) + 63) / 64 * 64;
        }
    struct buffer frame = {.name = "frame",
                           .class = CLASS_TRANSIENT,
                           .tensor = NO_ID,
                           .dtype = DTYPE_I32,
                           .rank = 1,
                           .dims = {{DIM_FLAT, bytes / 4 + 1}},
                           .window_of = NO_ID,
                           .offset_bytes = reserve(h->program, bytes + 4)};
    program_set_frame(h->program, (uint32_t)(h->unit - h->program->job->units),
                      program_add_buffer(h->program, frame));
    h->unit->frame_bytes = bytes;
    for (uint32_t i = 0; i < h->unit->n_values; i++)
        if (h->unit->values[i].storage == STORAGE_FRAME)
            h->offsets[i] += frame.offset_bytes;
}

static void plan(struct harness *h) {
    struct program *program = h->program;
    struct unit *unit = h->unit;
    h->offsets = ARENA_ARRAY(&h->arena, int64_t, unit->n_values);
    program->arena_bytes[TIER_DEVICE] = 0;
    struct statement call = {.kind = STATEMENT_CALL, .span = span_nowhere()};
    call.call.operands = ARENA_ARRAY(&h->arena, struct reference, unit->n_parameters + 1);
    call.call.results = ARENA_ARRAY(&h->arena, struct reference, unit->n_results + 1);
    for (uint32_t i = 0; i < unit->n_parameters; i++)
        call.call.operands[i] = reference_to(buffer_for(h, i));
    for (uint32_t i = 0; i < unit->n_results; i++) {
        const struct unit_result *result = &unit->results[i];
        if (result->in_parameter == NO_ID) {
            call.call.results[i] = reference_to(buffer_for(h, result->value));
        } else {
            call.call.results[i] = call.call.operands[result->in_parameter];
            h->offsets[result->value] = h->offsets[result->in_parameter];
        }
    }
    plan_frame(h);
    program->steps[STEP_TRAIN].present = true;
    block_push(program->arena, &program->steps[STEP_TRAIN].body, call);
    job_number(program->job);
}

// ---- running ----------------------------------------------------------------------------------

void harness_ready(struct harness *h) {
    plan(h);
    h->code = compile_for(&h->arena, h->program, h->level);
    ranks_open(&h->ranks, &h->arena, h->program, 2);
    for (value_id v = 0; v < h->unit->n_parameters; v++)
        for (int64_t i = 0; i < count(h, v); i++)
            set(h, v, i, random_real(&h->random));
}

void harness_run(struct harness *h) {
    ranks_run(&h->ranks, backend_entry(harness_backend(), h->code, 0, STEP_TRAIN));
}

static char *value_bytes(const struct harness *h, value_id value) {
    return (char *)h->ranks.contexts[0].head.arenas[PLACE_DEVICE] + h->offsets[value];
}

int64_t count(const struct harness *h, value_id value) {
    return type_elements(&h->unit->values[value].type);
}

static struct format format_of(enum dtype dtype) {
    return dtype == DTYPE_BF16 ? format_bf16 : format_f16;
}

double element_get(const void *elements, enum dtype dtype, int64_t index) {
    switch (dtype) {
    case DTYPE_BF16:
    case DTYPE_F16:
        return format_value(format_of(dtype), ((const uint16_t *)elements)[index]);
    case DTYPE_F32:
        return ((const float *)elements)[index];
    case DTYPE_F64:
        return ((const double *)elements)[index];
    default:
        return ((const int32_t *)elements)[index];
    }
}

void element_set(void *elements, enum dtype dtype, int64_t index, double x) {
    struct format format = format_of(dtype);
    switch (dtype) {
    case DTYPE_BF16:
    case DTYPE_F16:
        ((uint16_t *)elements)[index] = (uint16_t)format_bits(format, format_round(format, x));
        break;
    case DTYPE_F32:
        ((float *)elements)[index] = (float)x;
        break;
    case DTYPE_F64:
        ((double *)elements)[index] = x;
        break;
    default:
        ((int32_t *)elements)[index] = (int32_t)x;
    }
}

double get(const struct harness *h, value_id value, int64_t index) {
    return element_get(value_bytes(h, value), h->unit->values[value].type.dtype, index);
}

void set(struct harness *h, value_id value, int64_t index, double x) {
    element_set(value_bytes(h, value), h->unit->values[value].type.dtype, index, x);
}

// What rounding a number to its type may change, where it was wrong by `error` before.
static double rounding_error(enum dtype dtype, double x, double error) {
    if (!dtype_is_narrow(dtype) || !isfinite(x))
        return 0;
    return format_unit(format_of(dtype), fabs(x) + error) / 2;
}

static void compare_value(const struct harness *h, value_id value, const double *reference,
                          double scale) {
    enum dtype dtype = h->unit->values[value].type.dtype;
    double unit = h->dtype == DTYPE_F64 && dtype == DTYPE_F64 ? 1e-14 : 1e-6;
    for (int64_t i = 0; i < count(h, value); i++) {
        double difference = fabs(get(h, value, i) - reference[i]);
        double error = unit * scale * (1 + fabs(reference[i]));
        if (!(difference <= error + rounding_error(dtype, reference[i], error)))
            fail_msg("%s[%ld] is %.17g, not %.17g", h->unit->values[value].name, (long)i,
                     get(h, value, i), reference[i]);
    }
}

static bool is_result(const struct unit *unit, value_id value) {
    for (uint32_t i = 0; i < unit->n_results; i++)
        if (unit->results[i].value == value)
            return true;
    return false;
}

// An op on numbers that are exact; what it gives is compared. Ops behind it are given what is in
// memory, where that is known to be all of the value: what was rounded is no error of theirs.
static void compare_op(struct harness *h, const struct op *op, struct array *values, double scale) {
    struct array operands[MAX_OPERANDS], results[MAX_RESULTS];
    for (unsigned i = 0; i < op->n_operands; i++)
        operands[i] = values[op->operands[i]];
    for (unsigned i = 0; i < op->n_results; i++)
        results[i] = array_new(&h->arena, h->unit->values[op->results[i]].type);
    interpret_op(op, operands, results);
    for (unsigned i = 0; i < op->n_results; i++) {
        value_id value = op->results[i];
        enum dtype dtype = h->unit->values[value].type.dtype;
        if (is_result(h->unit, value))
            compare_value(h, value, results[i].data, scale);
        for (int64_t k = 0; k < count(h, value) && dtype_is_narrow(dtype); k++)
            results[i].data[k] = is_result(h->unit, value)
                                     ? get(h, value, k)
                                     : format_round(format_of(dtype), results[i].data[k]);
        values[value] = results[i];
    }
}

double harness_attention_scale(enum dtype dtype) {
    return dtype == DTYPE_BF16 ? 0x1p-8 * 1e6 : 50;
}

void harness_compare(struct harness *h, double scale) {
    struct array *values = ARENA_ARRAY(&h->arena, struct array, h->unit->n_values);
    for (value_id v = 0; v < h->unit->n_parameters; v++) {
        values[v] = array_new(&h->arena, h->unit->values[v].type);
        for (int64_t i = 0; i < count(h, v); i++)
            values[v].data[i] = get(h, v, i);
    }
    harness_run(h);
    for (uint32_t i = 0; i < h->unit->n_ops; i++)
        compare_op(h, &h->unit->ops[i], values, scale);
}
