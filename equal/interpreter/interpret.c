// Executes computations: instruction by instruction, each on every device that executes it, so that collectives see
// all operands. What is called has a scope of its own, whose arrays end when it returns; the entry's are kept.
#include "equal/interpreter/interpret.h"

#include "equal/interpreter/operations.h"

// Devices that execute a computation. What is "by device" stands in their order.
struct devices {
    const uint32_t *of;
    uint32_t n;
};

// A computation that is executed.
struct frame {
    struct machine *machine;
    const struct computation *computation;
    struct scope *scope;
    struct devices devices;
    const struct array *const *const *arguments; // by device, then by parameter
    const struct array **values;                 // by device, then by instruction
};

static bool execute(struct frame *);

// What is called, by which instruction as which of those that it calls.
struct called {
    const struct instruction *by;
    uint32_t which;
};

static const struct array **value_at(const struct frame *frame, uint32_t device,
                                     const struct instruction *instruction) {
    ptrdiff_t number = instruction - frame->computation->instructions;
    return &frame->values[(size_t)device * frame->computation->n + (size_t)number];
}

static const struct array **operands_of(const struct frame *frame, uint32_t device,
                                        const struct instruction *instruction,
                                        struct arena *arena) {
    const struct array **in = ARENA_ARRAY(arena, const struct array *, instruction->n_operands);
    for (uint32_t i = 0; i < instruction->n_operands; i++)
        in[i] = *value_at(frame, device, graph_operand(frame->computation, instruction, i));
    return in;
}

// ---- calls ----

static struct scope scope_inside(const struct scope *outer, struct arena *arena) {
    return (struct scope){arena, outer->depth + 1, 0};
}

static bool execute_observed(struct frame *frame, struct called called) {
    struct observer *observer = frame->machine->observer;
    if (observer)
        observer->enter(observer, called.by, called.which, frame->devices.of, frame->devices.n);
    if (!execute(frame))
        return false;
    if (observer)
        observer->leave(observer);
    return true;
}

// The roots of a computation, by device; NULL: refused. They live in the scope, and nothing else does that is new.
static const struct array **call(struct machine *machine, struct called called, struct scope *scope,
                                 struct devices devices,
                                 const struct array *const *const *arguments) {
    uint32_t computation = called.by->attributes->called[called.which];
    const struct computation *of = &machine->graph->computations[computation];
    struct frame frame = {machine, of, scope, devices, arguments, NULL};
    frame.values = ARENA_ARRAY(scope->arena, const struct array *, (size_t)devices.n * of->n);
    if (!execute_observed(&frame, called))
        return NULL;
    const struct array **roots = ARENA_ARRAY(scope->arena, const struct array *, devices.n);
    for (uint32_t i = 0; i < devices.n; i++)
        roots[i] = *value_at(&frame, i, &of->instructions[of->root]);
    return roots;
}

// The value that a device of the frame gets from what it called.
static bool take(struct frame *frame, uint32_t device, const struct instruction *instruction,
                 const struct array *root) {
    const struct array *taken =
        array_leave(frame->machine, root, frame->scope->depth, frame->scope);
    *value_at(frame, device, instruction) = taken;
    return taken != NULL;
}

static bool execute_call(struct frame *frame, const struct instruction *instruction) {
    struct arena arena = {0};
    struct scope scope = scope_inside(frame->scope, &arena);
    uint32_t n = frame->devices.n;
    const struct array *const **arguments = ARENA_ARRAY(&arena, const struct array *const *, n);
    for (uint32_t i = 0; i < n; i++)
        arguments[i] = operands_of(frame, i, instruction, &arena);
    const struct array **roots =
        call(frame->machine, (struct called){instruction, 0}, &scope, frame->devices, arguments);
    for (uint32_t i = 0; roots && i < n; i++)
        if (!take(frame, i, instruction, roots[i]))
            break;
    scope_end(frame->machine, &scope);
    arena_free(&arena);
    return !frame->machine->why;
}

// Some of a frame's devices, and of each the one argument of what they call.
struct part {
    uint32_t *places; // among the frame's devices
    uint32_t *devices;
    const struct array **arguments;
    uint32_t n;
};

static struct part part_new(const struct frame *frame, struct arena *arena) {
    uint32_t n = frame->devices.n;
    return (struct part){ARENA_ARRAY(arena, uint32_t, n), ARENA_ARRAY(arena, uint32_t, n),
                         ARENA_ARRAY(arena, const struct array *, n), 0};
}

static void part_add(struct part *part, const struct frame *frame, uint32_t place,
                     const struct array *argument) {
    part->places[part->n] = place;
    part->devices[part->n] = frame->devices.of[place];
    part->arguments[part->n++] = argument;
}

static const struct array **call_on(struct machine *machine, struct called called,
                                    struct scope *scope, const struct part *part) {
    const struct array *const **arguments =
        ARENA_ARRAY(scope->arena, const struct array *const *, part->n);
    for (uint32_t i = 0; i < part->n; i++)
        arguments[i] = &part->arguments[i];
    struct devices devices = {part->devices, part->n};
    return call(machine, called, scope, devices, arguments);
}

// Which branch a device takes: of true and false in this order, or by number, where the last stands for all others.
static uint32_t branch_of(const struct array *index, uint32_t n_branches) {
    int64_t number = index->integers[0];
    if (index->shape->element == ELEMENT_TYPE_PRED)
        return number ? 0 : 1;
    return number < 0 || number >= n_branches ? n_branches - 1 : (uint32_t)number;
}

static bool execute_branch(struct frame *frame, const struct instruction *instruction,
                           uint32_t branch) {
    struct arena arena = {0};
    struct scope scope = scope_inside(frame->scope, &arena);
    struct part part = part_new(frame, &arena);
    for (uint32_t i = 0; i < frame->devices.n; i++) {
        const struct array **in = operands_of(frame, i, instruction, &arena);
        if (branch_of(in[0], instruction->attributes->n_called) == branch)
            part_add(&part, frame, i, in[1 + branch]);
    }
    const struct array **roots =
        part.n ? call_on(frame->machine, (struct called){instruction, branch}, &scope, &part)
               : NULL;
    for (uint32_t i = 0; roots && i < part.n; i++)
        if (!take(frame, part.places[i], instruction, roots[i]))
            break;
    scope_end(frame->machine, &scope);
    arena_free(&arena);
    return !frame->machine->why;
}

static bool execute_conditional(struct frame *frame, const struct instruction *instruction) {
    for (uint32_t branch = 0; branch < instruction->attributes->n_called; branch++)
        if (!execute_branch(frame, instruction, branch))
            return false;
    return true;
}

// ---- loops ----

// A loop. States live in two scopes in turn, as the iterations do that made them, unless they come from outside.
struct loop {
    struct frame *frame;
    const struct instruction *instruction;
    struct part going; // the devices that still execute it, and their states
    struct arena places, arenas[2], work_arena;
    struct scope states[2], work;
};

static void empty(struct machine *machine, struct scope *scope) {
    scope_end(machine, scope);
    arena_reuse(scope->arena);
}

// Devices whose condition is false have their value, and go no further.
static bool leave_loop(struct loop *loop) {
    struct frame *frame = loop->frame;
    const struct array **conditions =
        call_on(frame->machine, (struct called){loop->instruction, 0}, &loop->work, &loop->going);
    uint32_t n = conditions ? loop->going.n : 0;
    loop->going.n = 0;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t place = loop->going.places[i];
        const struct array *state = loop->going.arguments[i];
        if (conditions[i]->integers[0])
            part_add(&loop->going, frame, place, state);
        else if (!take(frame, place, loop->instruction, state))
            break;
    }
    empty(frame->machine, &loop->work);
    return !frame->machine->why;
}

static bool iterate(struct loop *loop, struct scope *states) {
    struct frame *frame = loop->frame;
    empty(frame->machine, states);
    const struct array **roots =
        call_on(frame->machine, (struct called){loop->instruction, 1}, &loop->work, &loop->going);
    for (uint32_t i = 0; roots && i < loop->going.n; i++)
        if (!(loop->going.arguments[i] =
                  array_leave(frame->machine, roots[i], frame->scope->depth, states)))
            break;
    empty(frame->machine, &loop->work);
    return !frame->machine->why;
}

static void execute_iterations(struct loop *loop) {
    for (int i = 0; leave_loop(loop) && loop->going.n; i++) {
        if (i == MAX_INTERPRETED_ITERATIONS)
            machine_refuse(loop->frame->machine, "too many iterations");
        if (!iterate(loop, &loop->states[i % 2]))
            return;
    }
}

static bool execute_while(struct frame *frame, const struct instruction *instruction) {
    struct loop loop = {.frame = frame, .instruction = instruction};
    for (int i = 0; i < 2; i++)
        loop.states[i] = scope_inside(frame->scope, &loop.arenas[i]);
    loop.work = scope_inside(&loop.states[0], &loop.work_arena);
    loop.going = part_new(frame, &loop.places);
    for (uint32_t i = 0; i < frame->devices.n; i++)
        part_add(&loop.going, frame, i, operands_of(frame, i, instruction, &loop.places)[0]);
    execute_iterations(&loop);
    for (int i = 0; i < 2; i++) {
        scope_end(frame->machine, &loop.states[i]);
        arena_free(&loop.arenas[i]);
    }
    scope_end(frame->machine, &loop.work);
    arena_free(&loop.work_arena);
    arena_free(&loop.places);
    return !frame->machine->why;
}

// ---- instructions ----

static bool execute_meeting(struct frame *frame, const struct instruction *instruction) {
    struct machine *machine = frame->machine;
    uint32_t n = frame->devices.n;
    const struct array *const **in = ARENA_ARRAY(&machine->scratch, const struct array *const *, n);
    struct array **out = ARENA_ARRAY(&machine->scratch, struct array *, n);
    for (uint32_t i = 0; i < n; i++) {
        in[i] = operands_of(frame, i, instruction, &machine->scratch);
        if (!machine_spend(machine, instruction->shape->n_elements) ||
            !(out[i] = array_zeros(machine, frame->scope, instruction->shape)))
            return false;
        *value_at(frame, i, instruction) = out[i];
    }
    execute_collective(&(struct meeting){machine, instruction, frame->devices.of, n, in, out});
    return !machine->why;
}

static bool execute_on_each(struct frame *frame, const struct instruction *instruction) {
    struct arena *scratch = &frame->machine->scratch;
    for (uint32_t i = 0; i < frame->devices.n; i++) {
        const struct array **in = operands_of(frame, i, instruction, scratch);
        const struct array *value = instruction->primitive == PRIM_PARAMETER
                                        ? frame->arguments[i][instruction->attributes->index]
                                        : execute_alone(frame->machine, frame->scope,
                                                        frame->devices.of[i], instruction, in);
        *value_at(frame, i, instruction) = value;
        arena_reuse(scratch);
        if (!value)
            return false;
    }
    return true;
}

static bool execute_instruction(struct frame *frame, const struct instruction *instruction) {
    switch (instruction->primitive) {
    case PRIM_CALL:
        return execute_call(frame, instruction);
    case PRIM_CONDITIONAL:
        return execute_conditional(frame, instruction);
    case PRIM_WHILE:
        return execute_while(frame, instruction);
    default:
        return primitive_rows[instruction->primitive].class == PRIMITIVE_COLLECTIVE
                   ? execute_meeting(frame, instruction)
                   : execute_on_each(frame, instruction);
    }
}

static bool execute(struct frame *frame) {
    const struct computation *computation = frame->computation;
    struct observer *observer = frame->machine->observer;
    for (uint32_t i = 0; i < computation->n; i++) {
        const struct instruction *instruction = &computation->instructions[i];
        bool is_done = execute_instruction(frame, instruction);
        arena_reuse(&frame->machine->scratch);
        if (!is_done) {
            if (!frame->machine->at)
                frame->machine->at = instruction;
            return false;
        }
        if (observer)
            observer->made(observer, instruction, frame->values);
    }
    return true;
}

struct execution *interpret(const struct graph *graph, const struct array *const *const *inputs,
                            struct observer *observer, struct arena *arena, const char **why,
                            const struct instruction **at) {
    if (!interpreter_has_room(graph, why, at))
        return NULL;
    struct machine machine = {.graph = graph, .observer = observer, .answers = arena};
    struct scope scope = {.arena = arena};
    const struct computation *entry = &graph->computations[graph->entry];
    struct execution *execution = ARENA_NEW(arena, struct execution);
    uint32_t n = interpreted_devices(graph), *devices = ARENA_ARRAY(arena, uint32_t, n);
    for (uint32_t i = 0; i < n; i++)
        devices[i] = i;
    execution->n_devices = n;
    execution->values = ARENA_ARRAY(arena, const struct array *, (size_t)n * entry->n);
    struct frame frame = {&machine, entry, &scope, {devices, n}, inputs, execution->values};
    bool is_done = execute_observed(&frame, (struct called){NULL, 0});
    arena_free(&machine.scratch);
    *why = machine.why;
    *at = machine.at;
    return is_done ? execution : NULL;
}
