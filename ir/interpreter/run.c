// Units and one-device programs, op by op and statement by statement. Every call computes into
// fresh memory and copies its results out, so that what shares bytes with what does not matter
// here.
#include <string.h>

#include "ir/check.h"
#include "ir/interpreter/interpreter.h"
#include "ir/limits.h"

// Values of a unit are independent memory here, whatever plan it has: places cannot be wrong.
void interpret_unit(const struct unit *unit, struct array *values, struct arena *arena) {
    for (uint32_t i = unit->n_parameters; i < unit->n_values; i++)
        values[i] = array_new(arena, unit->values[i].type);
    for (uint32_t i = 0; i < unit->n_ops; i++) {
        const struct op *op = &unit->ops[i];
        struct array operands[MAX_OPERANDS], results[MAX_RESULTS];
        for (unsigned k = 0; k < op->n_operands; k++)
            operands[k] = values[op->operands[k]];
        for (unsigned k = 0; k < op->n_results; k++)
            results[k] = values[op->results[k]];
        interpret_op(op, operands, results);
    }
}

// ---- programs ---------------------------------------------------------------------------------

// Windows are a device's part of another buffer; one device has no parts.
struct machine *machine_new(struct arena *arena, const struct program *program) {
    struct machine *machine = ARENA_NEW(arena, struct machine);
    machine->program = program;
    machine->buffers = ARENA_ARRAY(arena, double *, program->n_buffers);
    for (buffer_id i = 0; i < program->n_buffers; i++) {
        CHECK(program->buffers[i].window_of == NO_ID);
        int64_t n = machine_item_elements(machine, i) * buffer_items(&program->buffers[i]);
        machine->buffers[i] = ARENA_ARRAY(arena, double, n);
    }
    return machine;
}

int64_t machine_item_elements(const struct machine *machine, buffer_id buffer) {
    struct tensor_type type = buffer_type(machine->program, &machine->program->buffers[buffer]);
    return type_elements(&type);
}

double *machine_item(const struct machine *machine, buffer_id buffer, int64_t item) {
    CHECK(item >= 0 && item < buffer_items(&machine->program->buffers[buffer]));
    return machine->buffers[buffer] + item * machine_item_elements(machine, buffer);
}

static double *item_named(const struct machine *machine, struct reference reference,
                          const int64_t *variables) {
    return machine_item(machine, reference.buffer,
                        reference_item(machine->program, &reference, variables));
}

// Operands are read where they lie; nothing is written before the whole unit has run, so a result
// in the place of a parameter needs no care.
static void run_call(struct machine *machine, const struct call *call, const int64_t *variables) {
    const struct unit *unit = &machine->program->job->units[call->unit];
    struct arena scratch = {0};
    struct array *values = ARENA_ARRAY(&scratch, struct array, unit->n_values);
    for (uint32_t i = 0; i < unit->n_parameters; i++)
        values[i] =
            (struct array){unit->values[i].type, item_named(machine, call->operands[i], variables)};
    interpret_unit(unit, values, &scratch);
    for (uint32_t i = 0; i < unit->n_results; i++) {
        const struct array *result = &values[unit->results[i].value];
        memcpy(item_named(machine, call->results[i], variables), result->data,
               (size_t)type_elements(&result->type) * sizeof(double));
    }
    arena_free(&scratch);
}

static void run_block(struct machine *machine, const struct block *block, int64_t *variables,
                      int depth);

static void run_loop(struct machine *machine, const struct loop *loop, int64_t *variables,
                     int depth) {
    CHECK(depth < LIMIT_LOOP_DEPTH);
    for (int64_t i = 0; i < loop->end - loop->begin; i++) {
        variables[depth] = loop_variable(loop, depth, i, variables);
        run_block(machine, &loop->body, variables, depth + 1);
    }
}

static void run_block(struct machine *machine, const struct block *block, int64_t *variables,
                      int depth) {
    for (uint32_t i = 0; i < block->n; i++) {
        const struct statement *statement = &block->statements[i];
        switch (statement->kind) {
        case STATEMENT_LOOP:
            run_loop(machine, &statement->loop, variables, depth);
            break;
        case STATEMENT_CALL:
            run_call(machine, &statement->call, variables);
            break;
        case STATEMENT_ZERO:
            memset(item_named(machine, statement->zero, variables), 0,
                   (size_t)machine_item_elements(machine, statement->zero.buffer) * sizeof(double));
            break;
        case STATEMENT_FREE:
        case STATEMENT_TASK:
            break;
        case STATEMENT_START:
        case STATEMENT_WAIT:
            CHECK(!"collectives have no meaning on one device");
        }
    }
}

void machine_run(struct machine *machine, enum step_kind step) {
    int64_t variables[LIMIT_LOOP_DEPTH] = {0};
    CHECK(machine->program->steps[step].present);
    run_block(machine, &machine->program->steps[step].body, variables, 0);
}
