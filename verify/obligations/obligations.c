// The obligations: what the step must leave behind. Every state of the final program must be what
// the reference's is, in the form and with the equal bits that it began with, so that the next step
// finds what this one assumed.
//
//   O1 every parameter and moment holds the reference's next value    O2 in the form it began with
//   O3 operands of calls fit (step.c)                                 O4 reported scalars agree
//   O5 every transfer is waited for (step.c)                          O6 types are wide enough
//   O7 copies have equal bits
#include "verify/obligations/obligations.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "verify/diagnosis/diagnosis.h"
#include "verify/obligations/islands.h"

void check_add_fault(struct check *c, const struct fault *fault) {
    bool has = !fault;
    for (uint32_t i = 0; i < c->n_faults && !has; i++)
        has = c->faults[i] == fault;
    if (!has)
        ARENA_PUSH(c->final->world->arena, c->faults, c->n_faults, c->cap_faults, fault);
}

bool check_look_at(struct check *c, uint32_t i) {
    if (i == c->sides->n)
        return false;
    c->final = &c->sides->machines[i];
    abstract_machine_take_turn(c->final);
    return true;
}

// ---- pairs of buffers -------------------------------------------------------------------------

// What persists is about a tensor (job_check).
static bool is_state_buffer(const struct buffer *buffer) {
    return class_persistent[buffer->class] && buffer->window_of == NO_ID;
}

// `class` persists, or is of gradients. A window serves as well: it holds the layers that its whole
// holds.
static bool is_state(const struct program *in, const struct buffer *buffer, enum buffer_class class,
                     const char *tensor) {
    return buffer->class == class && strcmp(in->job->tensors[buffer->tensor].name, tensor) == 0;
}

static buffer_id find_state(const struct program *in, enum buffer_class class, const char *tensor,
                            int64_t layer) {
    for (buffer_id i = 0; i < in->n_buffers; i++)
        if (is_state(in, &in->buffers[i], class, tensor) &&
            buffer_item_of_layer(&in->buffers[i], layer) >= 0)
            return i;
    return NO_ID;
}

// What the reference has of a state of the final program's, in an item's layer: optimizers may differ
// between layers. A master copy is one of the parameters also where one device keeps no second copy of
// them; the other way round nothing stands in.
static buffer_id expected_state(const struct check *c, const struct buffer *buffer, int64_t item) {
    const char *tensor = c->final->program->job->tensors[buffer->tensor].name;
    int64_t layer = buffer_layer(buffer, item);
    buffer_id own = find_state(c->reference.program, buffer->class, tensor, layer);
    return own != NO_ID || buffer->class != CLASS_MASTER
               ? own
               : find_state(c->reference.program, CLASS_PARAMETERS, tensor, layer);
}

// The item of `theirs` that holds the layer of item `item` of `ours`; -1: it does not hold it.
static int64_t item_of_layer(const struct buffer *theirs, const struct buffer *ours, int64_t item) {
    return buffer_item_of_layer(theirs, buffer_layer(ours, item));
}

static const char *state_text(const struct abstract_machine *m, const struct buffer *buffer,
                              int64_t item) {
    const struct tensor *tensor = &m->program->job->tensors[buffer->tensor];
    const char *kind = buffer->class == CLASS_PARAMETERS ? "parameter" : class_names[buffer->class];
    if (tensor->layers == 0)
        return arena_format(m->world->arena, "%s `%s`", kind, tensor_model_name(tensor));
    return arena_format(m->world->arena, "%s `%s` of layer %" PRId64, kind,
                        tensor_model_name(tensor), buffer_layer(buffer, item));
}

static bool same_dims(const struct buffer *a, const struct buffer *b) {
    bool same = a->rank == b->rank;
    for (unsigned i = 0; same && i < a->rank; i++)
        same = a->dims[i].size == b->dims[i].size && a->dims[i].dimension == b->dims[i].dimension;
    return same;
}

// ---- states -----------------------------------------------------------------------------------

// The type that is declared of what the buffer keeps of its tensor; of none: what the policy says.
static enum dtype least_type(const struct job *job, const struct buffer *buffer) {
    static const struct tensor none = {0};
    const struct tensor *tensor = buffer->tensor == NO_ID ? &none : &job->tensors[buffer->tensor];
    switch (buffer->class) {
    case CLASS_PARAMETERS:
    case CLASS_ANCHOR:
        return tensor_parameters(job, tensor);
    case CLASS_MASTER:
        return tensor_master(job, tensor);
    case CLASS_MOMENT1:
    case CLASS_MOMENT2:
    case CLASS_MOMENT2_ROWS:
    case CLASS_MOMENT2_COLUMNS:
    case CLASS_MOMENTUM:
    case CLASS_OUTER_MOMENTUM:
        return tensor_moments(job, tensor);
    case CLASS_RESIDUAL:
    case CLASS_GRADIENTS:
        return tensor_gradients(job, tensor);
    default:
        return DTYPE_NONE;
    }
}

// Whole numbers have no digits behind the point.
static bool is_narrower(enum dtype dtype, enum dtype least) {
    return least != DTYPE_NONE && (dtype == DTYPE_I32 || !dtype_holds(dtype, least));
}

static const struct fault *narrow_fault(struct abstract_machine *m, const struct buffer *buffer,
                                        enum dtype least, const char *whose) {
    return is_narrower(buffer->dtype, least)
               ? fault_make(m->proof, E415, buffer->span, NULL,
                            "`%s` is kept in %s, narrower than %s, which %s", buffer->name,
                            dtype_names[buffer->dtype], dtype_names[least], whose)
               : NULL;
}

static void check_types(struct check *c) {
    struct abstract_machine *m = c->final;
    for (buffer_id i = 0; i < m->program->n_buffers; i++) {
        const struct buffer *buffer = &m->program->buffers[i];
        enum dtype least = least_type(m->program->job, buffer);
        const struct fault *fault = narrow_fault(m, buffer, least, "is declared");
        buffer_id other = is_state_buffer(buffer) ? expected_state(c, buffer, 0) : NO_ID;
        if (!fault && other != NO_ID)
            fault = narrow_fault(m, buffer, c->reference.program->buffers[other].dtype,
                                 "one device keeps");
        check_add_fault(c, fault);
    }
}

void types_check(struct check *c) {
    for (uint32_t i = 0; check_look_at(c, i); i++)
        check_types(c);
}

static const struct fault *check_bits(struct abstract_machine *m, const struct buffer *buffer,
                                      const struct judgement *found, const char *what) {
    if (found->bits == m->world->all_axes)
        return NULL;
    return fault_make(m->proof, E513, buffer->span, NULL,
                      "copies of %s over %s may differ in their last bits", what,
                      mask_text(m->world, m->world->all_axes & ~found->bits));
}

// The same value again in the same form, so that the next step finds what this one assumed.
static const struct fault *check_form(struct abstract_machine *m, const struct buffer *buffer,
                                      const struct judgement *found, const char *what) {
    form_id form = m->initials[buffer - m->program->buffers].value.form;
    if (found->form != form)
        return fault_make(m->proof, E510, buffer->span, NULL,
                          "%s begins the step as %s and ends it as %s", what,
                          form_text(&m->world->digits, m->world->arena, form),
                          form_text(&m->world->digits, m->world->arena, found->form));
    return check_bits(m, buffer, found, what);
}

// Reported where some sum needs zeros there (padding_check).
static void note_padding(struct abstract_machine *m, buffer_id id, const struct judgement *found,
                         const char *what) {
    const struct buffer *buffer = &m->program->buffers[id];
    const struct fault **spoilt = &m->proof->paddings->spoilt[buffer->tensor];
    if (!*spoilt && !padding_is_kept(m->initials[id].value.padding, found->padding))
        *spoilt = fault_make(m->proof, E510, buffer->span, NULL,
                             "%s may end the step with something else than zeros in its padding, "
                             "which a sum over it takes for zeros",
                             what);
}

void padding_check(struct check *c) {
    const struct paddings *paddings = c->final->proof->paddings;
    for (uint32_t t = 0; t < paddings->n; t++)
        if (paddings->needed[t] && paddings->spoilt[t])
            check_add_fault(c, paddings->spoilt[t]);
}

// What was rounded further than one device does; what is sent narrower than it is kept is no state.
static const struct fault *check_digits(struct abstract_machine *m, const struct judgement *found,
                                        struct width has, struct width least, const char *what,
                                        struct span span) {
    if (m->proof->ordered || width_holds(has, least))
        return NULL;
    struct fault *fault =
        fault_make(m->proof, E415, found->narrowed ? *found->narrowed : span, NULL,
                   "%s ends the step rounded to %s, on one device it has %s", what, width_text(has),
                   width_text(least));
    fault->told = true;
    return fault;
}

// `*lost`: the step has lost the value, as others maybe by another cause.
static const struct fault *check_item(struct abstract_machine *m, buffer_id id, int64_t item,
                                      struct scaled expected, bool *lost) {
    const struct buffer *buffer = &m->program->buffers[id];
    struct expectation expectation = {
        .value = expected, .what = state_text(m, buffer, item), .span = buffer->span};
    struct judgement before = initial_judgement(m, id, item);
    struct judgement found = store_at_end(m, id, item, expectation.what);
    *lost = false;
    if (!found.fault)
        note_padding(m, id, &found, expectation.what);
    if (m->summands && scaled_same(m->world->terms, before.value, expected))
        return islands_check_kept(m, id, item, expectation.what);
    *lost = found.fault != NULL;
    const struct fault *fault = diagnose(m->proof, &expectation, &found);
    if (!fault)
        fault = check_form(m, buffer, &found, expectation.what);
    return fault
               ? fault
               : check_digits(m, &found, found.width, before.width, expectation.what, buffer->span);
}

// What the items from this one on must hold. The reference has a place for every layer, and the
// layer of `item` at `place`.
static struct run expected_run(struct check *c, const struct series *theirs, int32_t place,
                               int32_t item, int32_t skipped) {
    const struct run *whole = series_find(c->reference.world, theirs, place);
    struct run run = run_part(c->reference.world, whole, place, whole->end);
    run.begin = item;
    run.end = item + (whole->end - place + skipped) / (1 + skipped);
    run.skipped = skipped;
    return run;
}

// The same of what the step makes of a buffer that `whole` of the reference has too; without the
// reference's store, of what it began with.
static struct run expected_at(struct check *c, buffer_id id, int32_t item, buffer_id whole,
                              const struct store *reference) {
    const struct buffer *buffer = &c->final->program->buffers[id];
    const struct buffer *theirs = &c->reference.program->buffers[whole];
    int32_t place = (int32_t)item_of_layer(theirs, buffer, item);
    return reference ? expected_run(c, &reference->items[whole], place, item,
                                    (int32_t)buffer_layer_step(buffer) - 1)
                     : initial_run(c->final, id);
}

// The items end there that are to the expected ones as this one is.
static int32_t alike_until(struct abstract_machine *m, buffer_id id, int32_t item,
                           const struct run *expected) {
    const struct run *found = series_find(m->world, &m->store.items[id], item);
    int32_t end = found->end < expected->end ? found->end : expected->end;
    if (found->n_held && !runs_move_alike(found, expected))
        end = item + 1;
    return bytes_alike(m, id, item, end);
}

// One device has no residuals: it sends nothing. What they are of are its gradients.
static void check_residual(struct check *c, buffer_id id, const struct store *reference) {
    struct abstract_machine *m = c->final;
    const struct buffer *buffer = &m->program->buffers[id];
    const struct program *theirs = c->reference.program;
    buffer_id other =
        find_state(theirs, CLASS_GRADIENTS, m->program->job->tensors[buffer->tensor].name,
                   buffer_layer(buffer, 0));
    if (other == NO_ID) {
        check_add_fault(c, fault_make(m->proof, E516, buffer->span, NULL,
                                      "%s is of no gradient that travels compressed",
                                      state_text(m, buffer, 0)));
        return;
    }
    for (int32_t i = 0; i < buffer_items(buffer);) {
        struct run expected = expected_at(c, id, i, other, reference);
        struct scaled gradient = run_held(m->world, &expected, 0, i).value.value;
        const char *what = state_text(m, buffer, i);
        const struct fault *fault = reference ? codes_check_residual(m, id, i, gradient, what)
                                              : codes_check_kept(m, id, i, what);
        check_add_fault(c, fault);
        if (fault)
            return;
        i = alike_until(m, id, i, &expected);
    }
}

// The reference's buffer that has the state in the item's layer; NO_ID: reported.
static buffer_id check_expected(struct check *c, const struct buffer *buffer, int64_t item) {
    buffer_id other = expected_state(c, buffer, item);
    if (other != NO_ID && same_dims(buffer, &c->reference.program->buffers[other]))
        return other;
    check_add_fault(c, fault_make(c->final->proof, E514, buffer->span, NULL,
                                  "%s is no state of the model's training on one device",
                                  state_text(c->final, buffer, item)));
    return NO_ID;
}

static void check_rounding(struct check *c, const struct buffer *buffer,
                           const struct buffer *whole) {
    if (c->final->proof->ordered && buffer->dtype != whole->dtype)
        check_add_fault(c, fault_make(c->final->proof, E416, buffer->span, NULL,
                                      "`%s` is kept in %s, on one device in %s: what is computed "
                                      "of it is rounded otherwise",
                                      buffer->name, dtype_names[buffer->dtype],
                                      dtype_names[whole->dtype]));
}

// One difference per buffer is enough: the other layers' are alike.
static void check_state(struct check *c, buffer_id id, const struct store *reference) {
    struct abstract_machine *m = c->final;
    const struct buffer *buffer = &m->program->buffers[id];
    for (int32_t i = 0; i < buffer_items(buffer);) {
        buffer_id other = check_expected(c, buffer, i);
        if (other == NO_ID)
            return;
        if (i == 0)
            check_rounding(c, buffer, &c->reference.program->buffers[other]);
        struct run expected = expected_at(c, id, i, other, reference);
        struct scaled value = run_held(m->world, &expected, 0, i).value.value;
        bool lost;
        const struct fault *fault = check_item(m, id, i, value, &lost);
        check_add_fault(c, fault);
        if (fault && !lost)
            return;
        i = alike_until(m, id, i, &expected);
    }
}

struct holder {
    const struct buffer *buffer;
    int64_t first_layer;
};
struct holders {         // of one state, in all parts
    struct holder *list; // by their first layers
    uint32_t n, cap;
    uint32_t next; // the one that is asked first
};

static int by_first_layer(const void *left, const void *right) {
    int64_t a = ((const struct holder *)left)->first_layer;
    int64_t b = ((const struct holder *)right)->first_layer;
    return (a > b) - (a < b);
}

// A parameter of which one device has a master copy is that, rounded: so it is also held by who has the
// copy. What reads it must have as many digits as on one device, of whatever it is made (precision.c).
static struct holders find_holders(struct check *c, const struct buffer *theirs) {
    const char *tensor = c->reference.program->job->tensors[theirs->tensor].name;
    bool is_rounded =
        theirs->class == CLASS_PARAMETERS &&
        find_state(c->reference.program, CLASS_MASTER, tensor, buffer_layer(theirs, 0)) != NO_ID;
    struct holders holders = {0};
    for (uint32_t i = 0; check_look_at(c, i); i++) {
        const struct program *ours = c->final->program;
        for (buffer_id id = 0; id < ours->n_buffers; id++)
            if (is_state(ours, &ours->buffers[id], theirs->class, tensor) ||
                (is_rounded && is_state(ours, &ours->buffers[id], CLASS_MASTER, tensor)))
                ARENA_PUSH(
                    c->final->world->arena, holders.list, holders.n, holders.cap,
                    (struct holder){&ours->buffers[id], buffer_layer(&ours->buffers[id], 0)});
    }
    if (holders.n)
        qsort(holders.list, holders.n, sizeof *holders.list, by_first_layer);
    return holders;
}

// How many of the items from `item` on one of them holds. Behind it the next one mostly goes on.
static int64_t held_from(struct holders *holders, const struct buffer *theirs, int64_t item) {
    for (uint32_t i = 0; i < holders->n; i++) {
        uint32_t asked = (uint32_t)(((uint64_t)holders->next + i) % holders->n);
        const struct buffer *holder = holders->list[asked].buffer;
        int64_t at = item_of_layer(holder, theirs, item);
        if (at < 0)
            continue;
        holders->next = asked + 1;
        return buffer_layer_step(holder) > 1 ? 1 : buffer_items(holder) - at;
    }
    return 0;
}

// Layers may lie in several buffers; the first that none of them has is told.
static void check_held(struct check *c, const struct buffer *theirs) {
    struct holders holders = find_holders(c, theirs);
    int64_t item = 0, held = 1;
    while (item < buffer_items(theirs) && held > 0)
        item += held = held_from(&holders, theirs, item);
    if (held == 0)
        check_add_fault(c, fault_make(c->final->proof, E514,
                                      c->final->program->steps[STEP_TRAIN].span, NULL,
                                      "nothing holds %s", state_text(&c->reference, theirs, item)));
}

static void check_states(struct check *c, const struct store *reference) {
    const struct program *ours = c->final->program;
    for (buffer_id i = 0; i < ours->n_buffers; i++)
        if (is_state_buffer(&ours->buffers[i]) && ours->buffers[i].class == CLASS_RESIDUAL)
            check_residual(c, i, c->final->summands ? NULL : reference);
        else if (is_state_buffer(&ours->buffers[i]))
            check_state(c, i, reference);
}

// What several parts hold, each of them updates as one device would, and so all alike.
void states_check(struct check *c, const struct store *reference) {
    const struct program *theirs = c->reference.program;
    for (uint32_t i = 0; check_look_at(c, i); i++)
        check_states(c, reference);
    for (buffer_id i = 0; i < theirs->n_buffers; i++)
        if (is_state_buffer(&theirs->buffers[i]))
            check_held(c, &theirs->buffers[i]);
}

// ---- what is reported and what is read --------------------------------------------------------

// The host finds what it reads where the buffer's layout says, of the last microbatch.
static const struct fault *check_parts(struct abstract_machine *m, const struct buffer *buffer,
                                       form_id form, const char *what) {
    form_id declared = form_declared(m, buffer);
    if (form == FORM_ANY || form_at_a_time(&m->world->digits, form) == declared)
        return NULL;
    return fault_make(m->proof, E510, buffer->span, NULL, "%s is %s, where the host looks for %s",
                      what, form_text(&m->world->digits, m->world->arena, form),
                      form_text(&m->world->digits, m->world->arena, declared));
}

// Whether the host looks for outputs in this part: it does in the first that has a loss.
static bool is_read(const struct check *c) {
    uint32_t i = 0;
    while (i < c->sides->n &&
           program_host_buffer(c->sides->machines[i].program, HOST_LOSS) == NO_ID)
        i++;
    return c->final->side == (i < c->sides->n ? i : 0);
}

// The role of what the host gives to the next step where this one has left a state in all but name.
static enum host_role given_next(enum host_role role) {
    switch (role) {
    case HOST_NEXT_LOSS_SCALE:
        return HOST_LOSS_SCALE;
    case HOST_NEXT_GOOD_STEPS:
        return HOST_GOOD_STEPS;
    case HOST_NEXT_UPDATES:
        return HOST_UPDATES;
    default:
        return HOST_NONE;
    }
}

// Whether the host looks for it in this part, or finds there what it gives to the part again. That a
// job leaves anything for the next step it asks the first.
static bool is_needed(const struct check *c, enum host_role role) {
    enum host_role next = given_next(role);
    if (next == HOST_NONE)
        return is_read(c);
    return c->final->side == 0 || program_host_buffer(c->final->program, next) != NO_ID;
}

static void check_output(struct check *c, buffer_id theirs, const struct judgement *expected,
                         enum step_kind kind) {
    struct abstract_machine *m = c->final;
    enum host_role role = c->reference.program->buffers[theirs].host;
    const char *name = host_role_names[role];
    buffer_id id = program_host_buffer(m->program, role);
    if (id == NO_ID && !is_needed(c, role))
        return;
    if (id == NO_ID) {
        check_add_fault(c, fault_make(m->proof, E514, m->program->steps[kind].span, NULL,
                                      "nothing holds the output `%s`: no buffer is the `host %s`",
                                      name, name));
        return;
    }
    const struct buffer *buffer = &m->program->buffers[id];
    struct expectation expectation = {.value = expected->value,
                                      .what = arena_format(m->world->arena, "output `%s`", name),
                                      .span = buffer->span};
    struct judgement found = store_read(m, reference_to(id), buffer->span);
    const struct fault *fault = diagnose(m->proof, &expectation, &found);
    if (!fault)
        fault = check_parts(m, buffer, found.form, expectation.what);
    if (!fault && given_next(role) != HOST_NONE)
        fault = check_bits(m, buffer, &found, expectation.what);
    if (!fault)
        fault = check_digits(m, &found, found.sent ? found.before : found.width, expected->width,
                             expectation.what, buffer->span);
    check_add_fault(c, fault);
}

// Outputs, which are scalars and so have no parts, and what evaluation leaves behind, which the
// host finds in its parts.
static bool host_reads(const struct buffer *buffer, enum step_kind kind) {
    return buffer->host != HOST_NONE &&
           (buffer->class == CLASS_OUTPUT ||
            (buffer->class == CLASS_ACTIVATIONS && kind == STEP_EVALUATE));
}

void outputs_check(struct check *c, const struct store *reference, enum step_kind kind) {
    const struct program *theirs = c->reference.program;
    for (uint32_t part = 0; check_look_at(c, part); part++)
        for (buffer_id i = 0; i < theirs->n_buffers; i++) {
            const struct run *run = &reference->items[i].runs[0];
            if (host_reads(&theirs->buffers[i], kind) && run->state == ITEM_READY)
                check_output(c, i, &run->held[0].value, kind);
        }
}

// The host writes what the reference reads, and reports what the reference does.
static void check_host(struct check *c) {
    struct abstract_machine *m = c->final;
    for (buffer_id i = 0; i < m->program->n_buffers; i++) {
        const struct buffer *buffer = &m->program->buffers[i];
        // Who reads what nobody writes is told there; one device has no microbatches to count.
        if (buffer->host == HOST_NONE || buffer->host == HOST_MICROBATCH)
            continue;
        buffer_id other = program_host_buffer(c->reference.program, buffer->host);
        bool input = buffer->class == CLASS_INPUT;
        if (other == NO_ID || (input && !same_dims(buffer, &c->reference.program->buffers[other])))
            check_add_fault(c, fault_make(m->proof, E514, buffer->span, NULL,
                                          "%s `%s` is not what the training on one device %s",
                                          input ? "input" : "output", buffer->name,
                                          input ? "reads" : "reports"));
    }
}

void host_check(struct check *c) {
    for (uint32_t i = 0; check_look_at(c, i); i++)
        check_host(c);
}
