// The verdict. Both programs are executed on abstract stores over one table of
// terms, the reference first; then every state of the final program must be what the reference's is
// (obligations.c). What is not, is judged once more with what it takes to prove it all the same, or
// to say why not; then it is reported.
#include "verify/verify.h"

#include <stdlib.h>

#include "verify/diagnosis/diagnosis.h"
#include "verify/obligations/islands.h"
#include "verify/obligations/obligations.h"
#include "verify/rewriting/expansion.h"

enum { MAX_REPORTED = 5, MAX_TRIED = 30 };

// ---- the reference ----------------------------------------------------------------------------

// What may be sent as a gradient, or as a summand of one: what the reference has left in the
// buffers of gradients.
static void note_gradient(struct proof *p, struct term gradient, const struct tensor *of) {
    const struct terms *terms = p->world->terms;
    bool sum = term_kind(terms, gradient) == NODE_SUM;
    readings_gradient(p->readings, gradient.node, of);
    for (uint32_t i = 0; sum && i < term_node(terms, gradient)->n_parts; i++)
        readings_gradient(p->readings, term_part(terms, gradient, i).of.node, of);
}

static void note_gradients(struct abstract_machine *m) {
    for (buffer_id id = 0; id < m->program->n_buffers; id++) {
        const struct series *items = &m->store.items[id];
        const struct buffer *buffer = &m->program->buffers[id];
        if (buffer->class != CLASS_GRADIENTS || buffer->tensor == NO_ID)
            continue;
        for (uint32_t i = 0; i < items->n; i++)
            if (items->runs[i].state == ITEM_READY && !items->runs[i].held[0].value.fault)
                note_gradient(m->proof, items->runs[i].held[0].value.value.of,
                              &m->program->job->tensors[buffer->tensor]);
    }
}

static void run_reference(struct check *c) {
    struct abstract_machine *m = &c->reference;
    if (m->program->steps[STEP_TRAIN].present) {
        step_execute(m, STEP_TRAIN);
        c->train = m->store;
        note_gradients(m);
    }
    if (m->program->steps[STEP_EVALUATE].present) {
        step_execute(m, STEP_EVALUATE);
        c->evaluate = m->store;
    }
    c->final.proof->first_own_node = m->world->terms->n_nodes;
}

// ---- numbers ----------------------------------------------------------------------------------

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

static bool items_fit_numbers(const struct buffer *buffer) {
    const struct stack *layers = buffer_stack(buffer, STACK_LAYERS);
    return fits_numbers(buffer_items(buffer)) &&
           (!layers ||
            fits_numbers(layers->first_layer + layers->count * buffer_layer_step(buffer)));
}

// Layers, microbatches, items and slots are counted in numbers of limited size (number.h).
static bool check_numbers(struct check *c, const struct program *program) {
    bool fit = fits_numbers(program->job->sizes.microbatches);
    struct span span = program->job->sizes_span;
    for (buffer_id i = 0; i < program->n_buffers; i++)
        if (!items_fit_numbers(&program->buffers[i])) {
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
        check_add_fault(
            c, fault_make(c->final.proof, E491, span, NULL,
                          "this step counts layers, microbatches, items or slots beyond %d",
                          MAX_NUMBER));
    return fit;
}

// ---- the final program ------------------------------------------------------------------------

static void run_final(struct check *c) {
    struct abstract_machine *m = &c->final;
    for (int s = 0; s < N_STEPS; s++) {
        const struct step *step = &m->program->steps[s];
        bool wanted = c->reference.program->steps[s].present;
        if (wanted && !step->present)
            check_add_fault(c, fault_make(m->proof, E514, span_nowhere(), NULL,
                                          "there is no step `%s`", step_names[s]));
        if (step->present && !wanted)
            check_add_fault(c, fault_make(m->proof, E514, step->span, NULL,
                                          "the training has no step `%s`", step_names[s]));
    }
    host_check(c);
    types_check(c);
    islands_check(m, c->all_islands);
    if (m->program->steps[STEP_TRAIN].present && c->train.items && step_execute(m, STEP_TRAIN)) {
        states_check(c, &c->train);
        outputs_check(c, &c->train, STEP_TRAIN);
    }
    if (m->program->steps[STEP_EVALUATE].present && c->evaluate.items &&
        step_execute(m, STEP_EVALUATE)) {
        states_check(c, NULL);
        outputs_check(c, &c->evaluate, STEP_EVALUATE);
    }
}

// The step that averages is of all islands at once, so it has machines of its own; their faults
// come behind the others.
static void check_average(struct check *c) {
    const struct program *all = c->all_islands;
    struct check average = {.all_islands = all};
    struct abstract_machine *mine[] = {&average.reference, &average.final};
    struct history *history =
        c->final.proof->history ? history_again(c->final.proof->history) : NULL;
    if (!all->steps[STEP_AVERAGE].present || !c->reference.program->steps[STEP_AVERAGE].present)
        return;
    for (int i = 0; i < 2; i++) {
        struct proof_kind kind = {.is_reference = i == 0, .ordered = c->final.proof->ordered};
        abstract_machine_init(mine[i], i ? all : c->reference.program, c->final.world->terms,
                              c->final.world->arena, c->final.proof->diagnostics, kind);
        mine[i]->one_by_one = c->final.one_by_one;
        mine[i]->proof->n_faults = c->final.proof->n_faults;
        mine[i]->proof->history = history;
    }
    average.final.proof->readings = average.reference.proof->readings;
    average.final.proof->paddings = c->final.proof->paddings;
    if (c->final.proof->sought)
        average.final.proof->sought = &average.reference.proof->outcomes;
    islands_begin_average(&average.final);
    bool expected = step_execute(&average.reference, STEP_AVERAGE);
    average.final.proof->first_own_node = c->final.world->terms->n_nodes;
    if (step_execute(&average.final, STEP_AVERAGE) && expected)
        states_check(&average, &average.reference.store);
    c->final.cursor->n_statements +=
        average.reference.cursor->n_statements + average.final.cursor->n_statements;
    for (buffer_id i = 0; i < all->n_buffers; i++)
        if (!c->final.found[i].seen)
            c->final.found[i] = average.final.found[i];
    for (int i = 0; i < 2; i++)
        for (uint32_t k = 0; k < mine[i]->proof->n_insisted; k++)
            check_add_fault(&average, mine[i]->proof->insisted[k]);
    for (uint32_t i = 0; i < average.n_faults; i++)
        check_add_fault(c, cause_tell(average.final.proof, average.faults[i]));
}

// ---- reports ----------------------------------------------------------------------------------

static int by_order(const void *left, const void *right) {
    const struct fault *a = *(const struct fault *const *)left;
    const struct fault *b = *(const struct fault *const *)right;
    return a->order < b->order ? -1 : a->order > b->order;
}

// A witness from any of the values that the same mistake spoils: some hardly show it.
static const char *find_witness(struct check *c, const struct fault *cause) {
    unsigned n_tried = 0;
    if (!c->witness)
        c->witness = witness_new(c->final.world, c->reference.program);
    for (uint32_t i = 0; i < c->n_faults && n_tried < MAX_TRIED; i++) {
        const struct fault *fault = c->faults[i];
        if (fault->reader && fault_same_cause(fault, cause))
            return witness_share(c->final.world, c->reference.program, fault);
        if (!fault->has_terms || !fault_same_cause(fault, cause))
            continue;
        n_tried++;
        const char *numbers = witness_difference(c->witness, fault->found, fault->expected);
        if (numbers)
            return arena_format(c->final.world->arena, "%s: %s", fault->what, numbers);
    }
    return NULL;
}

static void report_fault(struct check *c, const struct fault *fault) {
    struct diagnostic *d = fault_report(c->final.proof, fault);
    const char *witness = find_witness(c, fault);
    if (witness) {
        diagnostic_note(d, "%s", witness);
        c->refuted = true;
    } else if (fault->has_terms && c->final.proof->given_up) {
        diagnostic_note(d,
                        "%s may be equal all the same: the search for a proof by rewriting ended "
                        "after %d terms",
                        c->final.proof->given_up, MAX_REWRITTEN);
    }
}

// One report per place and code, first causes first; the rest is counted.
static void report_faults(struct check *c) {
    uint32_t n_reported = 0, n_left = 0;
    for (uint32_t i = 0; i < c->n_faults; i++)
        c->faults[i] = cause_tell(c->final.proof, c->faults[i]);
    if (c->n_faults)
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
    if (n_left && c->final.proof->diagnostics->n_items)
        diagnostic_note(
            c->final.proof->diagnostics->items[c->final.proof->diagnostics->n_items - 1],
            "%u more follow, maybe from the same cause", n_left);
}

// Those that summed nothing but copies, to the front.
static uint32_t keep_sums_of_copies(struct proof *p) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < p->n_sums; i++)
        if (!p->sums[i].summands)
            p->sums[n++] = p->sums[i];
    return n;
}

// ---- the verdict ------------------------------------------------------------------------------

struct examination {
    // Values are rewritten, which costs much more than terms in normal form and is needed only for
    // units that somebody wrote differently, and how they are made is kept, to tell what is wrong;
    // or NULL.
    struct history *history;
    bool one_by_one;
    bool ordered; // sums do not commute
};

static struct check *examine(const struct program *reference, const struct program *final,
                             struct arena *arena, struct diagnostics *diagnostics,
                             struct examination how) {
    struct terms *terms = ARENA_NEW(arena, struct terms);
    struct check *c = ARENA_NEW(arena, struct check);
    terms_init(terms, arena, (int32_t) final->job->sizes.microbatches);
    for (int i = 0; i < 2; i++) {
        struct proof_kind kind = {.is_reference = i == 0, .ordered = how.ordered};
        abstract_machine_init(i ? &c->final : &c->reference,
                              i ? island_program(final, arena) : reference, terms, arena,
                              diagnostics, kind);
    }
    c->all_islands = final;
    c->final.proof->readings = c->reference.proof->readings;
    c->reference.sends = final;
    if (how.history)
        c->final.proof->sought = &c->reference.proof->outcomes;
    for (int i = 0; i < 2; i++) {
        struct abstract_machine *m = i ? &c->final : &c->reference;
        m->one_by_one = m->without_memo = how.one_by_one;
        m->proof->history = how.history;
    }
    if (how.ordered && final->job->policy.wire_axes.n)
        check_add_fault(c, fault_make(c->final.proof, E416, final->job->policy_span, NULL,
                                      "gradients that travel as codes are added in another order"));
    if (check_numbers(c, reference) && check_numbers(c, final) && c->n_faults == 0) {
        run_reference(c);
        run_final(c);
        check_average(c);
        padding_check(c);
    }
    for (uint32_t i = 0; i < c->reference.proof->n_insisted; i++)
        check_add_fault(c, c->reference.proof->insisted[i]);
    for (uint32_t i = 0; i < c->final.proof->n_insisted; i++)
        check_add_fault(c, c->final.proof->insisted[i]);
    return c;
}

static int64_t n_executed(const struct check *c) {
    return c->reference.cursor->n_statements + c->final.cursor->n_statements;
}

// What is not accepted is examined once more, with laws that may yet prove it and for the reasons
// if they do not, so that what is accepted as it stands costs no more. Not what took all memory:
// again it would come less far.
static struct verdict judge(const struct program *reference, const struct program *final,
                            struct arena *arena, struct diagnostics *diagnostics, bool one_by_one) {
    struct examination how = {.one_by_one = one_by_one};
    struct check *c = examine(reference, final, arena, diagnostics, how), *last = c;
    int64_t n_statements = n_executed(c);
    if (c->n_faults && has_memory(arena)) {
        how.history = history_new(arena, c->faults, c->n_faults);
        last = c = examine(reference, final, arena, diagnostics, how);
        n_statements += n_executed(c);
    }
    if (c->n_faults == 0 && reference->job->policy.reproducible) {
        how = (struct examination){.one_by_one = one_by_one, .ordered = true};
        last = examine(reference, final, arena, diagnostics, how);
        n_statements += n_executed(last);
    }
    report_faults(last);
    enum verdict_kind refused = c->refuted ? VERDICT_REFUTED : VERDICT_UNPROVED;
    return (struct verdict){.kind = last->n_faults == 0 ? VERDICT_ACCEPTED : refused,
                            .buffers = c->final.found,
                            .copies = c->final.proof->sums,
                            .n_copies = keep_sums_of_copies(c->final.proof),
                            .n_terms = c->final.world->terms->n_nodes,
                            .n_statements = n_statements};
}

struct verdict verify(const struct program *reference, const struct program *final,
                      struct arena *arena, struct diagnostics *diagnostics) {
    return judge(reference, final, arena, diagnostics, false);
}

struct verdict verify_one_by_one(const struct program *reference, const struct program *final,
                                 struct arena *arena, struct diagnostics *diagnostics) {
    return judge(reference, final, arena, diagnostics, true);
}
