// The obligations: what the step must leave behind. Both programs are executed on
// abstract stores over one table of terms, the reference first; then every state of the final
// program must be what the reference's is, in the form and with the equal bits that it began with,
// so that the next step finds what this one assumed.
//
//   O1 every parameter and moment holds the reference's next value    O2 in the form it began with
//   O3 operands of calls fit (step.c)                                 O4 reported scalars agree
//   O5 every transfer is waited for (step.c)                          O6 types are wide enough
//   O7 copies have equal bits
#include "verify/verify.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "verify/engine.h"
#include "verify/islands.h"
#include "verify/rewrite.h"

enum { MAX_REPORTED = 5, MAX_TRIED = 30 };

struct check {
    struct engine reference, final;
    struct store train, evaluate; // of the reference, after its steps
    const struct fault **faults;  // what keeps the program from being accepted
    uint32_t n_faults, cap_faults;
    bool refuted;                      // a difference was computed
    struct witness *witness;           // what was computed to find one
    const struct program *all_islands; // of which the final engine's program is one
    uint32_t first_of_average;         // first own node of the step that averages; 0: not known yet
};

// One that has spoilt several values is added once.
static void add_fault(struct check *c, const struct fault *fault) {
    bool has = !fault;
    for (uint32_t i = 0; i < c->n_faults && !has; i++)
        has = c->faults[i] == fault;
    if (!has)
        ARENA_PUSH(c->final.arena, c->faults, c->n_faults, c->cap_faults, fault);
}

void engine_init(struct engine *e, const struct program *program, struct terms *terms,
                 struct arena *arena, struct diagnostics *diagnostics) {
    *e = (struct engine){.arena = arena,
                         .diagnostics = diagnostics,
                         .program = program,
                         .terms = terms,
                         .all_axes = (uint32_t)((UINT64_C(1) << program->mesh.n_axes) - 1)};
    digits_init(&e->digits, arena, &program->mesh);
    e->memo_keys.arena = e->coverages.arena = arena;
    initials_init(e);
    e->found = ARENA_ARRAY(arena, struct found, program->n_buffers + 1);
}

// ---- pairs of buffers -------------------------------------------------------------------------

// What persists is about a tensor (program_check).
static bool is_state_buffer(const struct buffer *buffer) {
    return class_persistent[buffer->class] && buffer->window_of == NO_ID;
}

// `class` persists, or is of gradients. A window serves as well: it holds the layers that its whole
// holds.
static bool is_state(const struct program *in, const struct buffer *buffer, enum buffer_class class,
                     const char *tensor) {
    return buffer->class == class && strcmp(in->tensors[buffer->tensor].name, tensor) == 0;
}

static buffer_id find_state(const struct program *in, enum buffer_class class, const char *tensor) {
    for (buffer_id i = 0; i < in->n_buffers; i++)
        if (is_state(in, &in->buffers[i], class, tensor))
            return i;
    return NO_ID;
}

// What the reference has of a state of the final program's. A master copy is one of the parameters
// also where one device keeps no second copy of them; the other way round nothing stands in.
static buffer_id expected_state(const struct check *c, const struct buffer *buffer) {
    const char *tensor = c->final.program->tensors[buffer->tensor].name;
    buffer_id own = find_state(c->reference.program, buffer->class, tensor);
    return own != NO_ID || buffer->class != CLASS_MASTER
               ? own
               : find_state(c->reference.program, CLASS_PARAMETERS, tensor);
}

// The item of `theirs` that holds the layer of item `item` of `ours`; -1: it does not hold it.
static int64_t item_of_layer(const struct buffer *theirs, const struct buffer *ours, int64_t item) {
    return buffer_item_of_layer(theirs, buffer_layer(ours, item));
}

static const char *state_text(const struct engine *e, const struct buffer *buffer, int64_t item) {
    const struct tensor *tensor = &e->program->tensors[buffer->tensor];
    const char *kind = buffer->class == CLASS_PARAMETERS ? "parameter" : class_names[buffer->class];
    if (tensor->layers == 0)
        return arena_format(e->arena, "%s `%s`", kind, tensor->name);
    return arena_format(e->arena, "%s `%s` of layer %" PRId64, kind, tensor->name,
                        buffer_layer(buffer, item));
}

static bool same_dims(const struct buffer *a, const struct buffer *b) {
    bool same = a->rank == b->rank;
    for (unsigned i = 0; same && i < a->rank; i++)
        same = a->dims[i].size == b->dims[i].size && a->dims[i].dimension == b->dims[i].dimension;
    return same;
}

// ---- states -----------------------------------------------------------------------------------

static enum dtype least_type(const struct policy *policy, enum buffer_class class) {
    switch (class) {
    case CLASS_PARAMETERS:
        return policy->parameters;
    case CLASS_MASTER:
        return policy->master;
    case CLASS_MOMENT1:
    case CLASS_MOMENT2:
    case CLASS_MOMENTUM:
    case CLASS_OUTER_MOMENTUM:
        return policy->moments;
    case CLASS_ANCHOR:
        return policy->parameters;
    case CLASS_RESIDUAL:
    case CLASS_GRADIENTS:
        return policy->gradients;
    default:
        return DTYPE_NONE;
    }
}

static void check_types(struct check *c) {
    struct engine *e = &c->final;
    for (buffer_id i = 0; i < e->program->n_buffers; i++) {
        const struct buffer *buffer = &e->program->buffers[i];
        enum dtype least = least_type(&e->program->policy, buffer->class);
        if (buffer->dtype != DTYPE_I32 && dtype_bytes[buffer->dtype] < dtype_bytes[least])
            add_fault(c, fault_make(e, E415, buffer->span, NULL,
                                    "`%s` is kept in %s, narrower than %s, which is declared",
                                    buffer->name, dtype_names[buffer->dtype], dtype_names[least]));
    }
}

// The same value again in the same form, so that the next step finds what this one assumed.
static const struct fault *check_form(struct engine *e, const struct buffer *buffer,
                                      const struct judgement *found, const char *what) {
    form_id form = e->initials[buffer - e->program->buffers].value.form;
    if (found->form != form)
        return fault_make(e, E510, buffer->span, NULL, "%s begins the step as %s and ends it as %s",
                          what, form_text(&e->digits, e->arena, form),
                          form_text(&e->digits, e->arena, found->form));
    if (found->bits != e->all_axes)
        return fault_make(e, E513, buffer->span, NULL,
                          "copies of %s over %s may differ in their last bits", what,
                          mask_text(e, e->all_axes & ~found->bits));
    return NULL;
}

// `*lost`: the step has lost the value, as others maybe by another cause.
static const struct fault *check_item(struct engine *e, buffer_id id, int64_t item,
                                      struct scaled expected, bool *lost) {
    const struct buffer *buffer = &e->program->buffers[id];
    struct expectation expectation = {
        .value = expected, .what = state_text(e, buffer, item), .span = buffer->span};
    struct scaled before = initial_judgement(e, id, item).value;
    *lost = false;
    if (e->summands && scaled_same(e->terms, before, expected))
        return islands_check_kept(e, id, item, expectation.what);
    struct judgement found = store_at_end(e, id, item, expectation.what);
    *lost = found.fault != NULL;
    const struct fault *fault = diagnose(e, &expectation, &found);
    return fault ? fault : check_form(e, buffer, &found, expectation.what);
}

// What the items from this one on must hold, of which the reference's are `shift` further. Where
// they are of every n-th layer, this one alone.
static struct run expected_run(struct check *c, const struct series *theirs, int32_t item,
                               int32_t shift, bool alone) {
    struct run run = *series_find(&c->reference, theirs, item + shift);
    if (alone)
        run = run_part(&c->reference, &run, item + shift, item + shift + 1);
    run.begin -= shift;
    run.end -= shift;
    return run;
}

// The same of what the step makes of a buffer that `whole` of the reference has too; without the
// reference's store, of what it began with.
static struct run expected_at(struct check *c, buffer_id id, int32_t item, buffer_id whole,
                              const struct store *reference) {
    const struct buffer *buffer = &c->final.program->buffers[id];
    const struct buffer *theirs = &c->reference.program->buffers[whole];
    int32_t shift = (int32_t)item_of_layer(theirs, buffer, item) - item;
    return reference ? expected_run(c, &reference->items[whole], item, shift,
                                    buffer_layer_step(buffer) > 1)
                     : initial_run(&c->final, id, item);
}

// Where the items end that are to the expected ones as this one is.
static int32_t alike_until(struct engine *e, buffer_id id, int32_t item,
                           const struct run *expected) {
    const struct run *found = series_find(e, &e->store.items[id], item);
    int32_t end = found->end < expected->end ? found->end : expected->end;
    if (found->n_held && end > item + 1 && found->held[0].moves != expected->held[0].moves)
        end = item + 1;
    return bytes_alike(e, id, item, end);
}

// One device has no residuals: it sends nothing. What they are of are its gradients.
static void check_residual(struct check *c, buffer_id id, const struct store *reference) {
    struct engine *e = &c->final;
    const struct buffer *buffer = &e->program->buffers[id];
    const struct program *theirs = c->reference.program;
    buffer_id other = find_state(theirs, CLASS_GRADIENTS, e->program->tensors[buffer->tensor].name);
    if (other == NO_ID) {
        add_fault(c, fault_make(e, E516, buffer->span, NULL,
                                "%s is of no gradient that travels compressed",
                                state_text(e, buffer, 0)));
        return;
    }
    for (int32_t i = 0; i < buffer->count;) {
        struct run expected = expected_at(c, id, i, other, reference);
        struct scaled gradient = run_held(&expected, 0, i).value.value;
        const char *what = state_text(e, buffer, i);
        const struct fault *fault = reference ? codes_check_residual(e, id, i, gradient, what)
                                              : codes_check_kept(e, id, i, what);
        add_fault(c, fault);
        if (fault)
            return;
        i = alike_until(e, id, i, &expected);
    }
}

// One difference per buffer is enough: the other layers' are alike.
static void check_state(struct check *c, buffer_id id, const struct store *reference) {
    struct engine *e = &c->final;
    const struct buffer *buffer = &e->program->buffers[id];
    const struct program *theirs = c->reference.program;
    buffer_id other = expected_state(c, buffer);
    const struct buffer *whole = other == NO_ID ? NULL : &theirs->buffers[other];
    if (!whole || !same_dims(buffer, whole) ||
        item_of_layer(whole, buffer, buffer->count - 1) < 0) { // the reference holds all before it
        add_fault(c, fault_make(e, E514, buffer->span, NULL,
                                "%s is no state of the model's training on one device",
                                state_text(e, buffer, 0)));
        return;
    }
    for (int32_t i = 0; i < buffer->count;) {
        struct run expected = expected_at(c, id, i, other, reference);
        struct scaled value = run_held(&expected, 0, i).value.value;
        bool lost;
        const struct fault *fault = check_item(e, id, i, value, &lost);
        add_fault(c, fault);
        if (fault && !lost)
            return;
        i = alike_until(e, id, i, &expected);
    }
}

struct holders { // of one state, in the final program
    const struct buffer **list;
    uint32_t n, cap;
};

static struct holders find_holders(struct check *c, const struct buffer *theirs) {
    const struct program *ours = c->final.program;
    const char *tensor = c->reference.program->tensors[theirs->tensor].name;
    struct holders holders = {NULL, 0, 0};
    for (buffer_id i = 0; i < ours->n_buffers; i++)
        if (is_state(ours, &ours->buffers[i], theirs->class, tensor))
            ARENA_PUSH(c->final.arena, holders.list, holders.n, holders.cap, &ours->buffers[i]);
    return holders;
}

// How many of the items from `item` on one of them holds.
static int64_t held_from(struct holders holders, const struct buffer *theirs, int64_t item) {
    for (uint32_t i = 0; i < holders.n; i++) {
        int64_t at = item_of_layer(holders.list[i], theirs, item);
        if (at >= 0)
            return buffer_layer_step(holders.list[i]) > 1 ? 1 : holders.list[i]->count - at;
    }
    return 0;
}

// Layers may lie in several buffers; the first that none of them has is told.
static void check_held(struct check *c, const struct buffer *theirs) {
    struct holders holders = find_holders(c, theirs);
    int64_t item = 0, held = 1;
    while (item < theirs->count && held > 0)
        item += held = held_from(holders, theirs, item);
    if (held == 0)
        add_fault(c, fault_make(&c->final, E514, c->final.program->steps[STEP_TRAIN].span, NULL,
                                "nothing holds %s", state_text(&c->reference, theirs, item)));
}

static void check_states(struct check *c, const struct store *reference) {
    const struct program *ours = c->final.program, *theirs = c->reference.program;
    for (buffer_id i = 0; i < ours->n_buffers; i++)
        if (is_state_buffer(&ours->buffers[i]) && ours->buffers[i].class == CLASS_RESIDUAL)
            check_residual(c, i, c->final.summands ? NULL : reference);
        else if (is_state_buffer(&ours->buffers[i]))
            check_state(c, i, reference);
    for (buffer_id i = 0; i < theirs->n_buffers; i++)
        if (is_state_buffer(&theirs->buffers[i]))
            check_held(c, &theirs->buffers[i]);
}

// ---- what is reported and what is read --------------------------------------------------------

// The host finds what it reads where the buffer's layout says, of the last microbatch.
static const struct fault *check_parts(struct engine *e, const struct buffer *buffer, form_id form,
                                       const char *what) {
    form_id declared = form_declared(&e->digits, e->program, buffer);
    if (form == FORM_ANY || form_at_a_time(&e->digits, form) == declared)
        return NULL;
    return fault_make(e, E510, buffer->span, NULL, "%s is %s, where the host looks for %s", what,
                      form_text(&e->digits, e->arena, form),
                      form_text(&e->digits, e->arena, declared));
}

static void check_output(struct check *c, buffer_id theirs, const struct judgement *expected,
                         enum step_kind kind) {
    struct engine *e = &c->final;
    const char *name = host_role_names[c->reference.program->buffers[theirs].host];
    buffer_id id = program_host_buffer(e->program, c->reference.program->buffers[theirs].host);
    if (id == NO_ID) {
        add_fault(c, fault_make(e, E514, e->program->steps[kind].span, NULL,
                                "nothing holds the output `%s`: no buffer is the `host %s`", name,
                                name));
        return;
    }
    const struct buffer *buffer = &e->program->buffers[id];
    struct expectation expectation = {.value = expected->value,
                                      .what = arena_format(e->arena, "output `%s`", name),
                                      .span = buffer->span};
    struct judgement found =
        store_read(e, (struct reference){.buffer = id, .index = index_constant(0)}, buffer->span);
    const struct fault *fault = diagnose(e, &expectation, &found);
    add_fault(c, fault ? fault : check_parts(e, buffer, found.form, expectation.what));
}

// Outputs, which are scalars and so have no parts, and what evaluation leaves behind, which the
// host finds in its parts.
static bool host_reads(const struct buffer *buffer, enum step_kind kind) {
    return buffer->host != HOST_NONE &&
           (buffer->class == CLASS_OUTPUT ||
            (buffer->class == CLASS_ACTIVATIONS && kind == STEP_EVALUATE));
}

static void check_outputs(struct check *c, const struct store *reference, enum step_kind kind) {
    const struct program *theirs = c->reference.program;
    for (buffer_id i = 0; i < theirs->n_buffers; i++) {
        const struct run *run = &reference->items[i].runs[0];
        if (host_reads(&theirs->buffers[i], kind) && run->state == ITEM_READY)
            check_output(c, i, &run->held[0].value, kind);
    }
}

// Inputs are the host's: they must be the ones that the reference reads.
static void check_inputs(struct check *c) {
    struct engine *e = &c->final;
    for (buffer_id i = 0; i < e->program->n_buffers; i++) {
        const struct buffer *buffer = &e->program->buffers[i];
        if (buffer->class != CLASS_INPUT || buffer->host == HOST_NONE)
            continue; // who reads what nobody writes is told there
        buffer_id other = program_host_buffer(c->reference.program, buffer->host);
        bool same = other != NO_ID && same_dims(buffer, &c->reference.program->buffers[other]) &&
                    (buffer->stack != STACK_MICROBATCHES ||
                     buffer->count == e->program->sizes.microbatches);
        if (!same)
            add_fault(c, fault_make(e, E514, buffer->span, NULL,
                                    "input `%s` is not what the training on one device reads",
                                    buffer->name));
    }
}

// ---- the verdict ------------------------------------------------------------------------------

static void run_reference(struct check *c) {
    struct engine *e = &c->reference;
    e->is_reference = true;
    if (e->program->steps[STEP_TRAIN].present) {
        step_execute(e, STEP_TRAIN);
        c->train = e->store;
    }
    if (e->program->steps[STEP_EVALUATE].present) {
        step_execute(e, STEP_EVALUATE);
        c->evaluate = e->store;
    }
    c->final.first_own_node = e->terms->n_nodes;
}

_Static_assert((int64_t)LIMIT_MICROBATCHES <= MAX_NUMBER && (int64_t)LIMIT_LAYERS < MAX_NUMBER &&
                   (int64_t)LIMIT_SLOTS <= MAX_NUMBER,
               "number.h counts all that limits.def lets through");

static bool fits_numbers(int64_t size) {
    return -MAX_NUMBER <= size && size <= MAX_NUMBER;
}

// `outer`: the greatest value of the variable of the loop around.
static bool loops_fit_numbers(const struct block *block, int64_t outer) {
    for (uint32_t i = 0; i < block->n; i++) {
        const struct loop *loop = &block->statements[i].loop;
        if (block->statements[i].kind == STATEMENT_LOOP &&
            (!fits_numbers(loop->begin) || !fits_numbers(loop->end) ||
             !fits_numbers(loop->stride) || !fits_numbers(loop->stride * outer + loop->end) ||
             !loops_fit_numbers(&loop->body, loop->stride * outer + loop->end)))
            return false;
    }
    return true;
}

// Layers, microbatches, items and slots are counted in numbers of limited size (number.h).
static bool check_numbers(struct check *c, const struct program *program) {
    bool fit = fits_numbers(program->sizes.microbatches);
    struct span span = program->sizes_span;
    for (buffer_id i = 0; i < program->n_buffers; i++)
        if (!fits_numbers(buffer_layer(&program->buffers[i], program->buffers[i].count))) {
            fit = false;
            span = program->buffers[i].span;
        }
    for (int s = 0; s < N_STEPS; s++) {
        const struct step *step = &program->steps[s];
        fit = fit && loops_fit_numbers(&step->body, 0);
        for (uint32_t i = 0; i < step->n_handles; i++)
            fit = fit && fits_numbers(step->handles[i].slots);
    }
    if (!fit)
        add_fault(c, fault_make(&c->final, E491, span, NULL,
                                "this step counts layers, microbatches, items or slots beyond %d",
                                MAX_NUMBER));
    return fit;
}

static void run_final(struct check *c) {
    struct engine *e = &c->final;
    for (int s = 0; s < N_STEPS; s++)
        if (c->reference.program->steps[s].present && !e->program->steps[s].present)
            add_fault(c, fault_make(e, E514, span_nowhere(), NULL, "there is no step `%s`",
                                    step_names[s]));
    if (c->all_islands->policy.islands.n && !c->reference.program->steps[STEP_AVERAGE].present)
        add_fault(c, fault_make(e, E515, c->all_islands->policy_span, NULL,
                                "this program is of several islands, the training of one"));
    check_inputs(c);
    check_types(c);
    islands_check(e, c->all_islands);
    if (e->program->steps[STEP_TRAIN].present && c->train.items && step_execute(e, STEP_TRAIN)) {
        check_states(c, &c->train);
        check_outputs(c, &c->train, STEP_TRAIN);
    }
    if (e->program->steps[STEP_EVALUATE].present && c->evaluate.items &&
        step_execute(e, STEP_EVALUATE)) {
        check_states(c, NULL);
        check_outputs(c, &c->evaluate, STEP_EVALUATE);
    }
}

// The step that averages is of all islands at once, so it has engines of its own; their faults come
// behind the others.
static void check_average(struct check *c) {
    const struct program *all = c->all_islands;
    struct check average = {.all_islands = all};
    struct engine *mine[] = {&average.reference, &average.final};
    struct history *history = c->final.history ? history_again(c->final.history) : NULL;
    if (all->policy.islands.n == 0 || !all->steps[STEP_AVERAGE].present ||
        !c->reference.program->steps[STEP_AVERAGE].present)
        return;
    for (int i = 0; i < 2; i++) {
        engine_init(mine[i], i ? all : c->reference.program, c->final.terms, c->final.arena,
                    c->final.diagnostics);
        mine[i]->one_by_one = c->final.one_by_one;
        mine[i]->reference = mine[0];
        mine[i]->n_faults = c->final.n_faults;
        mine[i]->history = history;
    }
    average.reference.is_reference = true;
    average.final.rewrites = c->final.rewrites;
    islands_begin_average(&average.final);
    bool expected = step_execute(&average.reference, STEP_AVERAGE);
    if (c->first_of_average == 0)
        c->first_of_average = c->final.terms->n_nodes;
    average.final.first_own_node = c->first_of_average;
    if (step_execute(&average.final, STEP_AVERAGE) && expected)
        check_states(&average, &average.reference.store);
    c->final.n_statements += average.reference.n_statements + average.final.n_statements;
    for (buffer_id i = 0; i < all->n_buffers; i++)
        if (!c->final.found[i].seen)
            c->final.found[i] = average.final.found[i];
    for (int i = 0; i < 2; i++)
        for (uint32_t k = 0; k < mine[i]->n_insisted; k++)
            add_fault(&average, mine[i]->insisted[k]);
    for (uint32_t i = 0; i < average.n_faults; i++)
        add_fault(c, cause_tell(&average.final, average.faults[i]));
}

static int by_order(const void *left, const void *right) {
    const struct fault *a = *(const struct fault *const *)left;
    const struct fault *b = *(const struct fault *const *)right;
    return a->order < b->order ? -1 : a->order > b->order;
}

// A witness from any of the values that the same mistake spoils: some hardly show it.
static const char *find_witness(struct check *c, const struct fault *cause) {
    unsigned n_tried = 0;
    if (!c->witness)
        c->witness = witness_new(&c->final, c->reference.program);
    for (uint32_t i = 0; i < c->n_faults && n_tried < MAX_TRIED; i++) {
        const struct fault *fault = c->faults[i];
        if (fault->reader && fault_same_cause(fault, cause))
            return witness_share(&c->final, c->reference.program, fault);
        if (!fault->has_terms || !fault_same_cause(fault, cause))
            continue;
        n_tried++;
        const char *numbers = witness_difference(c->witness, fault->found, fault->expected);
        if (numbers)
            return arena_format(c->final.arena, "%s: %s", fault->what, numbers);
    }
    return NULL;
}

static void report_fault(struct check *c, const struct fault *fault) {
    struct diagnostic *d = fault_report(&c->final, fault);
    const char *witness = find_witness(c, fault);
    if (witness) {
        diagnostic_note(d, "%s", witness);
        c->refuted = true;
    } else if (fault->has_terms && c->final.given_up) {
        diagnostic_note(d,
                        "%s may be equal all the same: the search for a proof by rewriting ended "
                        "after %d terms",
                        c->final.given_up, MAX_REWRITTEN);
    }
}

// One report per place and code, first causes first; the rest is counted.
static void report_faults(struct check *c) {
    uint32_t n_reported = 0, n_left = 0;
    for (uint32_t i = 0; i < c->n_faults; i++)
        c->faults[i] = cause_tell(&c->final, c->faults[i]);
    qsort(c->faults, c->n_faults, sizeof *c->faults, by_order);
    for (uint32_t i = 0; i < c->n_faults; i++) {
        bool seen = false;
        for (uint32_t k = 0; k < i && !seen; k++)
            seen = fault_same_cause(c->faults[i], c->faults[k]);
        if (seen)
            continue;
        if (n_reported++ < MAX_REPORTED)
            report_fault(c, c->faults[i]);
        else
            n_left++;
    }
    if (n_left && c->final.diagnostics->n_items)
        diagnostic_note(c->final.diagnostics->items[c->final.diagnostics->n_items - 1],
                        "%u more follow, maybe from the same cause", n_left);
}

// Those that summed nothing but copies, to the front.
static uint32_t keep_sums_of_copies(struct engine *e) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < e->n_sums; i++)
        if (!e->sums[i].summands)
            e->sums[n++] = e->sums[i];
    return n;
}

// Judges the final program from the beginning, forgetting what was found before.
static void judge_final(struct check *c, const struct program *island, bool rewrites) {
    struct engine *e = &c->final;
    uint32_t first_own_node = e->first_own_node;
    int64_t n_statements = e->n_statements;
    engine_init(e, island, e->terms, e->arena, e->diagnostics);
    e->one_by_one = e->without_memo = c->reference.one_by_one;
    e->history = c->reference.history;
    e->reference = &c->reference;
    e->rewrites = rewrites;
    e->first_own_node = first_own_node;
    e->n_statements = n_statements;
    c->n_faults = 0;
    run_final(c);
    check_average(c);
}

// A program that is not accepted is looked at once more with rewriting, which costs much more than
// terms in normal form and is needed only for units that somebody wrote differently.
static void judge_both(struct check *c) {
    const struct program *island = c->final.program;
    judge_final(c, island, false);
    if (c->n_faults + c->final.n_insisted > 0)
        judge_final(c, island, true);
}

// `history`: how values are made is kept, to tell what is wrong; or NULL.
static struct check *examine(const struct program *reference, const struct program *final,
                             struct arena *arena, struct diagnostics *diagnostics, bool one_by_one,
                             struct history *history) {
    struct terms *terms = ARENA_NEW(arena, struct terms);
    struct check *c = ARENA_NEW(arena, struct check);
    terms_init(terms, arena, (int32_t) final->sizes.microbatches);
    engine_init(&c->reference, reference, terms, arena, diagnostics);
    engine_init(&c->final, island_program(final, arena), terms, arena, diagnostics);
    c->all_islands = final;
    c->reference.one_by_one = c->reference.without_memo = one_by_one;
    c->reference.history = history;
    c->reference.sends = final;
    if (check_numbers(c, reference) && check_numbers(c, final)) {
        run_reference(c);
        if (history)
            judge_final(c, c->final.program, true);
        else
            judge_both(c);
    }
    for (uint32_t i = 0; i < c->reference.n_insisted; i++)
        add_fault(c, c->reference.insisted[i]);
    for (uint32_t i = 0; i < c->final.n_insisted; i++)
        add_fault(c, c->final.insisted[i]);
    return c;
}

// What is refused is examined again for the reasons, so that what is accepted costs no more.
static struct verdict judge(const struct program *reference, const struct program *final,
                            struct arena *arena, struct diagnostics *diagnostics, bool one_by_one) {
    struct check *c = examine(reference, final, arena, diagnostics, one_by_one, NULL);
    if (c->n_faults) {
        c = examine(reference, final, arena, diagnostics, one_by_one,
                    history_new(arena, c->faults, c->n_faults));
        CHECK(c->n_faults);
        report_faults(c);
    }
    enum verdict_kind refused = c->refuted ? VERDICT_REFUTED : VERDICT_UNPROVED;
    return (struct verdict){.kind = c->n_faults == 0 ? VERDICT_ACCEPTED : refused,
                            .buffers = c->final.found,
                            .copies = c->final.sums,
                            .n_copies = keep_sums_of_copies(&c->final),
                            .n_terms = c->final.terms->n_nodes,
                            .n_statements = c->reference.n_statements + c->final.n_statements};
}

struct verdict verify(const struct program *reference, const struct program *final,
                      struct arena *arena, struct diagnostics *diagnostics) {
    return judge(reference, final, arena, diagnostics, false);
}

struct verdict verify_one_by_one(const struct program *reference, const struct program *final,
                                 struct arena *arena, struct diagnostics *diagnostics) {
    return judge(reference, final, arena, diagnostics, true);
}
