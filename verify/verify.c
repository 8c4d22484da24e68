// The verdict. Both are executed on abstract stores over one table of terms, the reference first, and
// then the programs of the final job's parts side by side; then every state of theirs must be what the
// reference's is (obligations.c). What is not, is judged once more with what it takes to prove it all
// the same, or to say why not; then it is reported.
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
    c->sides->machines[0].proof->first_own_node = m->world->terms->n_nodes;
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
            c, fault_make(c->final->proof, E491, span, NULL,
                          "this step counts layers, microbatches, items or slots beyond %d",
                          MAX_NUMBER));
    return fit;
}

// ---- the final program ------------------------------------------------------------------------

// All parts have the same steps.
static void check_steps(struct check *c) {
    for (int s = 0; s < N_STEPS; s++) {
        const struct step *step = &c->final->program->steps[s];
        bool wanted = c->reference.program->steps[s].present;
        if (wanted && !step->present)
            check_add_fault(c, fault_make(c->final->proof, E514, span_nowhere(), NULL,
                                          "there is no step `%s`", step_names[s]));
        if (step->present && !wanted)
            check_add_fault(c, fault_make(c->final->proof, E514, step->span, NULL,
                                          "the training has no step `%s`", step_names[s]));
    }
}

static bool has_step(const struct check *c, enum step_kind kind) {
    return c->job->programs[0]->steps[kind].present;
}

static void run_final(struct check *c) {
    check_steps(c);
    host_check(c);
    types_check(c);
    units_check(c);
    for (uint32_t i = 0; check_look_at(c, i); i++)
        islands_check(c->final, c->job->programs[i]);
    if (has_step(c, STEP_TRAIN) && c->train.items && sides_execute(c->sides, STEP_TRAIN)) {
        states_check(c, &c->train);
        outputs_check(c, &c->train, STEP_TRAIN);
    }
    if (has_step(c, STEP_EVALUATE) && c->evaluate.items && sides_execute(c->sides, STEP_EVALUATE)) {
        states_check(c, NULL);
        outputs_check(c, &c->evaluate, STEP_EVALUATE);
    }
}

static int64_t n_executed(const struct check *c) {
    int64_t n = c->reference.cursor->n_statements;
    for (uint32_t i = 0; i < c->sides->n; i++)
        n += c->sides->machines[i].cursor->n_statements;
    return n;
}

// A machine for the reference, and for each part of the job beside one another: for what it does on
// one island, or on all of them at once.
static void make_machines(struct check *c, const struct program *reference, struct terms *terms,
                          struct arena *arena, struct diagnostics *diagnostics, bool ordered,
                          bool one_island) {
    uint32_t n = c->job->n_programs;
    struct abstract_machine *machines = ARENA_ARRAY(arena, struct abstract_machine, n);
    struct proof_kind kind = {.is_reference = true, .ordered = ordered};
    abstract_machine_init(&c->reference, reference, terms, arena, diagnostics, kind);
    kind.is_reference = false;
    for (uint32_t i = 0; i < n; i++) {
        const struct program *program = c->job->programs[i];
        program = one_island ? island_program(program, arena) : program;
        if (i)
            abstract_machine_init_beside(&machines[i], &machines[0], program);
        else
            abstract_machine_init(&machines[0], program, terms, arena, diagnostics, kind);
    }
    c->sides = sides_new(arena, machines, n);
    check_look_at(c, 0);
    c->final->proof->readings = c->reference.proof->readings;
}

static void add_insisted(struct check *c, const struct proof *p) {
    for (uint32_t i = 0; i < p->insisted.n; i++)
        check_add_fault(c, p->insisted.items[i]);
}

// The step that averages is of all islands at once, so it has machines of its own; their faults
// come behind the others.
static void check_average(struct check *c) {
    struct proof *proof = c->final->proof;
    struct check average = {.job = c->job};
    struct history *history = proof->history ? history_again(proof->history) : NULL;
    if (!has_step(c, STEP_AVERAGE) || !c->reference.program->steps[STEP_AVERAGE].present)
        return;
    make_machines(&average, c->reference.program, proof->world->terms, proof->world->arena,
                  proof->diagnostics, proof->ordered, false);
    struct proof *mine[] = {average.reference.proof, average.final->proof};
    for (int i = 0; i < 2; i++) {
        mine[i]->n_faults = proof->n_faults;
        mine[i]->history = history;
    }
    mine[1]->paddings = proof->paddings;
    if (proof->sought)
        mine[1]->sought = &mine[0]->outcomes;
    average.reference.one_by_one = c->reference.one_by_one;
    for (uint32_t i = 0; check_look_at(&average, i); i++) {
        average.final->one_by_one = c->sides->machines[i].one_by_one;
        islands_begin_average(average.final);
    }
    bool expected = step_execute(&average.reference, STEP_AVERAGE);
    mine[1]->first_own_node = proof->world->terms->n_nodes;
    if (sides_execute(average.sides, STEP_AVERAGE) && expected)
        states_check(&average, &average.reference.store);
    sides_free(average.sides);
    c->reference.cursor->n_statements += n_executed(&average);
    for (uint32_t i = 0; i < c->sides->n; i++) {
        struct found *found = c->sides->machines[i].found;
        for (buffer_id id = 0; id < c->job->programs[i]->n_buffers; id++)
            if (!found[id].seen)
                found[id] = average.sides->machines[i].found[id];
    }
    for (int i = 0; i < 2; i++)
        add_insisted(&average, mine[i]);
    for (uint32_t i = 0; i < average.n_faults; i++)
        check_add_fault(c, cause_tell(mine[1], average.faults[i]));
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
        c->witness = witness_new(c->final->world, c->reference.program);
    for (uint32_t i = 0; i < c->n_faults && n_tried < MAX_TRIED; i++) {
        const struct fault *fault = c->faults[i];
        if (fault->reader && fault_same_cause(fault, cause))
            return witness_share(c->final->world, c->reference.program, fault);
        if (!fault->has_terms || !fault_same_cause(fault, cause))
            continue;
        n_tried++;
        const char *numbers = witness_difference(c->witness, fault->found, fault->expected);
        if (numbers)
            return arena_format(c->final->world->arena, "%s: %s", fault->what, numbers);
    }
    return NULL;
}

// Parts call the same units: an op does not say which part's it is.
static void tell_part(const struct check *c, const struct fault *fault, struct diagnostic *d) {
    const struct history *history = c->final->proof->history;
    const struct making *making = history && fault->made ? making_of(history, fault->made) : NULL;
    if (c->sides->n > 1 && making && making->op && making->call.begin != fault->span.begin)
        diagnostic_note_at(d, making->call, "by this call of part `%s`",
                           making->program->part.name);
}

static void report_fault(struct check *c, const struct fault *fault) {
    struct diagnostic *d = fault_report(c->final->proof, fault);
    tell_part(c, fault, d);
    const char *witness = find_witness(c, fault);
    if (witness) {
        diagnostic_note(d, "%s", witness);
        c->refuted = true;
    } else if (fault->has_terms && c->final->proof->given_up) {
        diagnostic_note(d,
                        "%s may be equal all the same: the search for a proof by rewriting ended "
                        "after %d terms",
                        c->final->proof->given_up, MAX_REWRITTEN);
    }
}

// One report per place and code, first causes first; the rest is counted.
static void report_faults(struct check *c) {
    uint32_t n_reported = 0, n_left = 0;
    for (uint32_t i = 0; i < c->n_faults; i++)
        c->faults[i] = cause_tell(c->final->proof, c->faults[i]);
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
    if (n_left && c->final->proof->diagnostics->n_items)
        diagnostic_note(
            c->final->proof->diagnostics->items[c->final->proof->diagnostics->n_items - 1],
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
    bool one_by_one; // without induction, memo and repetition
    bool every_task; // without repetition alone
    bool ordered;    // sums do not commute
};

// What is refused for microbatches that are not those that belong there, or for parts that do not come
// to each other, is told where a task is first given what is not its own.
static void check_odd(struct check *c) {
    struct proof *p = c->final->proof;
    bool astray = false;
    for (uint32_t i = 0; i < p->insisted.n; i++)
        astray = astray || p->insisted.items[i]->code == E517 || p->insisted.items[i]->code == E518;
    for (uint32_t i = 0; i < c->n_faults; i++)
        astray = astray || c->faults[i]->code == E512;
    if (astray && p->odd)
        check_add_fault(c, p->odd);
}

// What a task adds to several sums is lacking in all of them if the task is missing, and the first sum that
// is read need not be the first that goes on without: where one of them is told, all are.
static void check_unfinished(struct check *c) {
    const struct fault_list *all = &c->final->proof->unfinished;
    bool told = false;
    for (uint32_t i = 0; i < c->n_faults; i++)
        for (uint32_t k = 0; k < all->n; k++)
            told = told || c->faults[i] == all->items[k];
    for (uint32_t k = 0; told && k < all->n; k++)
        check_add_fault(c, all->items[k]);
}

// Whether it keeps what codes of any gradient lack.
static bool keeps_residuals(const struct job *job) {
    for (uint32_t k = 0; k < job->n_programs; k++)
        for (buffer_id i = 0; i < job->programs[k]->n_buffers; i++)
            if (job->programs[k]->buffers[i].class == CLASS_RESIDUAL)
                return true;
    return false;
}

static struct check *examine(const struct program *reference, const struct job *final,
                             struct arena *arena, struct diagnostics *diagnostics,
                             struct examination how) {
    struct terms *terms = ARENA_NEW(arena, struct terms);
    struct check *c = ARENA_NEW(arena, struct check);
    c->job = final;
    terms_init(terms, arena, (int32_t) final->sizes.microbatches);
    make_machines(c, reference, terms, arena, diagnostics, how.ordered, true);
    c->reference.sends = keeps_residuals(final) ? final : NULL;
    if (how.history)
        c->final->proof->sought = &c->reference.proof->outcomes;
    c->reference.one_by_one = c->reference.without_memo = how.one_by_one;
    c->reference.proof->history = c->final->proof->history = how.history;
    for (uint32_t i = 0; i < c->sides->n; i++) {
        struct abstract_machine *m = &c->sides->machines[i];
        m->one_by_one = m->without_memo = how.one_by_one;
        m->every_task = how.one_by_one || how.every_task;
    }
    if (how.ordered && final->policy.wire_axes.n)
        check_add_fault(c, fault_make(c->final->proof, E416, final->policy_span, NULL,
                                      "gradients that travel as codes are added in another order"));
    bool fit = check_numbers(c, reference);
    for (uint32_t i = 0; i < final->n_programs; i++)
        fit = check_numbers(c, final->programs[i]) && fit;
    if (fit && c->n_faults == 0) {
        run_reference(c);
        run_final(c);
        check_average(c);
        padding_check(c);
    }
    sides_free(c->sides);
    check_odd(c);
    check_unfinished(c);
    add_insisted(c, c->reference.proof);
    add_insisted(c, c->final->proof);
    return c;
}

static struct found **found_of_parts(const struct check *c, struct arena *arena) {
    struct found **found = ARENA_ARRAY(arena, struct found *, c->sides->n);
    for (uint32_t i = 0; i < c->sides->n; i++)
        found[i] = c->sides->machines[i].found;
    return found;
}

// A history may take more memory than there is, and then tells less than what was found without.
static bool gave_up(const struct check *c) {
    bool up = false;
    for (uint32_t i = 0; i < c->n_faults; i++)
        up = up || c->faults[i]->code == E491;
    return up;
}

// What is not accepted is examined once more, with laws that may yet prove it and for the reasons
// if they do not, so that what is accepted as it stands costs no more. Not what took all memory:
// again it would come less far.
static struct verdict judge(const struct program *reference, const struct job *final,
                            struct arena *arena, struct diagnostics *diagnostics,
                            struct examination how) {
    struct check *c = examine(reference, final, arena, diagnostics, how), *last = c;
    int64_t n_statements = n_executed(c);
    if (c->n_faults && has_memory(arena)) {
        how.history = history_new(arena, c->faults, c->n_faults);
        last = examine(reference, final, arena, diagnostics, how);
        n_statements += n_executed(last);
        last = c = !gave_up(last) || gave_up(c) ? last : c;
    }
    if (c->n_faults == 0 && reference->job->policy.reproducible) {
        how.history = NULL;
        how.ordered = true;
        last = examine(reference, final, arena, diagnostics, how);
        n_statements += n_executed(last);
    }
    report_faults(last);
    enum verdict_kind refused = c->refuted ? VERDICT_REFUTED : VERDICT_UNPROVED;
    return (struct verdict){.kind = last->n_faults == 0 ? VERDICT_ACCEPTED : refused,
                            .buffers = found_of_parts(c, arena),
                            .copies = c->final->proof->sums,
                            .n_copies = keep_sums_of_copies(c->final->proof),
                            .n_terms = c->final->world->terms->n_nodes,
                            .n_statements = n_statements};
}

struct verdict verify(const struct program *reference, const struct job *final, struct arena *arena,
                      struct diagnostics *diagnostics) {
    return judge(reference, final, arena, diagnostics, (struct examination){0});
}

struct verdict verify_one_by_one(const struct program *reference, const struct job *final,
                                 struct arena *arena, struct diagnostics *diagnostics) {
    return judge(reference, final, arena, diagnostics, (struct examination){.one_by_one = true});
}

struct verdict verify_every_task(const struct program *reference, const struct job *final,
                                 struct arena *arena, struct diagnostics *diagnostics) {
    return judge(reference, final, arena, diagnostics, (struct examination){.every_task = true});
}
