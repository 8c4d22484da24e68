// The abstract machine on steps of a few statements: what its store holds of bytes that are shared
// and of items that are alike, how a step goes on, and what it costs.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>

#include "tests/verify_builder.h"
#include "tests/verify_small_step.h"
#include "verify/machine/machine.h"
#include "verify/obligations/islands.h"
#include "verify/obligations/obligations.h"

static buffer_id move_to(struct trial *t, const char *name, int64_t offset) {
    buffer_id id = program_find_buffer(t->program, name);
    t->program->buffers[id].offset_bytes = offset;
    return id;
}

// Three stand in a row, of which only neighbours meet; what has no offset meets nobody.
static void bytes_meet_where_they_are_shared(void **state) {
    struct trial t;
    struct abstract_machine m;
    small_step_begin(&t, "");
    buffer_id first = move_to(&t, "spare", 0), second = move_to(&t, "whole", 56);
    buffer_id third = move_to(&t, "work", 68), none = move_to(&t, "moved", -1);
    struct terms *terms = ARENA_NEW(&t.arena, struct terms);
    terms_init(terms, &t.arena, 1);
    abstract_machine_init(&m, t.program, terms, &t.arena, t.diagnostics, (struct proof_kind){0});
    assert_true(buffers_meet(&m, first, second) && buffers_meet(&m, second, first));
    assert_true(buffers_meet(&m, second, third) && buffers_meet(&m, third, second));
    assert_false(buffers_meet(&m, first, third) || buffers_meet(&m, third, first));
    assert_false(buffers_meet(&m, first, none) || buffers_meet(&m, none, first));
    struct place low = {first, 0}, high = {first, 3}, at = {second, 0};
    assert_true(bytes_intersect(&m, high, at) && bytes_intersect(&m, at, high));
    assert_false(bytes_intersect(&m, low, at) || bytes_intersect(&m, at, low));
    arena_free(&t.arena);
}

// Neighbours of which one is told what the other is must be alike in all that a run says of both.
static void items_that_differ_in_anything_are_no_run(void **state) {
    struct trial t;
    struct abstract_machine m;
    small_step_begin_machine(&t, &m, "");
    struct judgement value = {.partial = 1}, fault, others[10];
    struct span elsewhere = t.program->steps[STEP_TRAIN].span;
    fault = judgement_fault(fault_make(m.proof, E611, span_nowhere(), NULL, "one"));
    for (size_t i = 0; i < 10; i++)
        others[i] = value;
    others[0].value.scale = value.value.scale + 1;
    others[1].form = value.form + 1;
    others[2].partial = 2;
    others[3].partial_max = 2;
    others[4].bits = 2;
    others[5].coverage = COVERAGE_UNKNOWN;
    others[6].dtype = value.dtype + 1;
    others[7].padding = value.padding + 1;
    others[8].own = 1;
    others[9].fault = fault.fault;
    assert_true(judgement_alike(&value, &value) && judgement_alike(&fault, &fault));
    for (size_t i = 0; i < 10; i++)
        assert_false(judgement_alike(&value, &others[i]) || judgement_alike(&others[i], &value));
    struct judgement other = judgement_fault(fault_make(m.proof, E611, elsewhere, NULL, "other"));
    assert_false(judgement_alike(&fault, &other));
    arena_free(&t.arena);
}

// A series into which two neighbours are put, and nothing behind them.
static struct series series_of(struct abstract_machine *m, struct run left, struct run right) {
    struct run rest = {.end = 8};
    struct series series = {
        .runs = arena_copy(m->world->arena, &rest, sizeof rest), .n = 1, .cap = 1};
    series_put(m->world, &series, left);
    series_put(m->world, &series, right);
    return series;
}

static uint32_t runs_of(struct abstract_machine *m, struct run left, struct run right) {
    return series_of(m, left, right).n - (right.end < 8);
}

// Neighbours are one run if all is alike, and each number stays or grows by their distance; a
// layer's by a multiple of it.
static void neighbours_that_differ_are_two_runs(void **state) {
    struct trial t;
    struct abstract_machine m;
    small_step_begin_machine(&t, &m, "call copy(x = w[0]) -> (y = spare[0])\n");
    const struct statement *start = t.program->steps[STEP_TRAIN].body.statements;
    struct held held[2] = {{.value = {.partial = 1, .value.of = {3, 5}}}}, other = held[0];
    struct run left = {.end = 1, .state = ITEM_READY, .held = held, .n_held = 1};
    struct run right = {.begin = 1, .end = 2, .state = ITEM_READY, .held = &other, .n_held = 1};
    assert_int_equal(runs_of(&m, left, right), 1);
    other.value.value.of.at++;
    assert_int_equal(runs_of(&m, left, right), 1);
    other.value.value.of.at++;
    assert_int_equal(runs_of(&m, left, right), 1);
    other.value.value.of.at -= 3;
    assert_int_equal(runs_of(&m, left, right), 2);
    other = held[0];
    other.value.microbatch += 2;
    assert_int_equal(runs_of(&m, left, right), 2);
    other = held[0];
    struct run others[5] = {right, right, right, right, right};
    others[0].state = ITEM_WINDOW;
    others[1].start = start;
    others[2].state = ITEM_FREED;
    others[3].window = 1;
    others[4].held = held;
    others[4].n_held = 2;
    for (int i = 0; i < 5; i++)
        assert_int_equal(runs_of(&m, left, others[i]), 2);
    right.by = &start->span; // which matters of what is not ready
    assert_int_equal(runs_of(&m, left, right), 1);
    struct run freed = {.end = 1, .state = ITEM_FREED}, other_freed = freed;
    other_freed.begin++;
    other_freed.end++;
    assert_int_equal(runs_of(&m, freed, other_freed), 1);
    other_freed.by = &start->span;
    assert_int_equal(runs_of(&m, freed, other_freed), 2);
    other.value.value.of.node++;
    assert_int_equal(runs_of(&m, left, right), 2);
    other = held[0];
    other.value.partial = 2;
    assert_int_equal(runs_of(&m, left, right), 2);
    other = held[0];
    left.end = 2; // of two that are one value the third is another one, as far on as the item
    right = (struct run){2, 3, .state = ITEM_READY, .held = &other, .n_held = 1};
    other.value.value.of.at += 2;
    assert_int_equal(runs_of(&m, left, right), 2);
    left.end = 1; // and the other way round
    right.begin = 1;
    other.value.value.of.at = held[0].value.value.of.at + 1;
    assert_int_equal(runs_of(&m, left, right), 2);
    arena_free(&t.arena);
}

// Neighbours hold layers that are two apart in a buffer that has every second layer; so do items
// that are kept of groups. Two decide for the others how far.
static void items_of_layers_in_turns_are_one_run(void **state) {
    struct trial t;
    struct abstract_machine m;
    small_step_begin_machine(&t, &m,
                             "buffer odd : parameters f32[hidden=4] of w layers 2 from 1 by 2 at "
                             "65536\ntrain {\ncall copy(x = odd[1]) -> (y = spare[0])\n");
    buffer_id odd = program_find_buffer(t.program, "odd");
    step_execute(&m, STEP_TRAIN);
    assert_int_equal(m.store.items[odd].n, 1);
    for (int32_t item = 0; item < 2; item++) {
        struct judgement value;
        assert_true(store_holds(&m, odd, item, &value));
        assert_int_equal(value.value.of.at, 1 + 2 * item);
    }
    struct held held = {.value = {.partial = 1, .value.of = {3, 5}}}, other = held;
    struct run left = {.end = 1, .state = ITEM_READY, .held = &held, .n_held = 1};
    struct run right = {.begin = 1, .end = 2, .state = ITEM_READY, .held = &other, .n_held = 1};
    other.value.value.of.at = 6;
    assert_int_equal(run_held(m.world, &series_of(&m, left, right).runs[0], 0, 1).value.value.of.at,
                     6);
    other.value.value.of.at = 7;
    struct series series = series_of(&m, left, right);
    assert_int_equal(series.n, 2);
    struct held third = held;
    struct run more = {.begin = 2, .end = 3, .state = ITEM_READY, .held = &third, .n_held = 1};
    third.value.value.of.at = 8;
    struct series apart = series_of(&m, left, right);
    series_put(m.world, &apart, more);
    assert_int_equal(apart.n, 3);
    third.value.value.of.at = 9;
    series_put(m.world, &apart, more);
    assert_int_equal(apart.n, 2);
    other = held;
    struct run alike = {
        .begin = 1, .end = 3, .state = ITEM_READY, .held = &other, .n_held = 1, .skipped = 1};
    assert_int_equal(series_of(&m, left, alike).n, 2); // one layer, whatever others would skip
    assert_false(runs_move_alike(&apart.runs[0], &series_of(&m, left, more).runs[0]));
    assert_int_equal(run_held(m.world, &series.runs[0], 0, 1).value.value.of.at, 7);
    assert_int_equal(run_part(m.world, &series.runs[0], 1, 2).held->value.value.of.at, 7);
    arena_free(&t.arena);
}

// Three items, of a buffer of eight, that are put in this order.
static struct series series_of_three(struct abstract_machine *m, const struct run items[3],
                                     const int order[3]) {
    struct series series = series_of(m, items[order[0]], items[order[1]]);
    series_put(m->world, &series, items[order[2]]);
    return series;
}

// Whichever comes last joins those that are there, before it, behind it, or both.
static void items_join_in_any_order(void **state) {
    static const int orders[][3] = {{0, 1, 2}, {2, 1, 0}, {0, 2, 1}};
    struct trial t;
    struct abstract_machine m;
    small_step_begin_machine(&t, &m, "");
    struct held held[3] = {{.value = {.partial = 1, .value.of = {3, 0}}}, held[0], held[0]};
    struct run items[3];
    for (int32_t i = 0; i < 3; i++) {
        held[i].value.value.of.at = 2 * i;
        items[i] = (struct run){
            .begin = i, .end = i + 1, .state = ITEM_READY, .held = &held[i], .n_held = 1};
    }
    for (int k = 0; k < 3; k++) {
        struct series series = series_of_three(&m, items, orders[k]);
        assert_int_equal(series.n, 2);
        for (int32_t i = 0; i < 3; i++)
            assert_int_equal(run_held(m.world, &series.runs[0], 0, i).value.value.of.at, 2 * i);
    }
    arena_free(&t.arena);
}

// The first of faults that are alike is told, and the last of what was made, whichever item has it.
static void a_run_keeps_the_first_fault_and_the_last_making(void **state) {
    struct trial t;
    struct abstract_machine m;
    small_step_begin_machine(&t, &m, "");
    const struct fault *first = fault_make(m.proof, E611, span_nowhere(), NULL, "lost");
    const struct fault *second = fault_make(m.proof, E611, span_nowhere(), NULL, "lost");
    struct held faults[] = {{.value = judgement_fault(first)}, {.value = judgement_fault(second)}};
    struct held values[] = {{.value = {.partial = 1, .made = 1}},
                            {.value = {.partial = 1, .made = 2}}};
    struct run left = {.end = 1, .state = ITEM_READY, .n_held = 1};
    struct run right = {.begin = 1, .end = 2, .state = ITEM_READY, .n_held = 1};
    for (int i = 0; i < 2; i++) {
        left.held = &faults[i];
        right.held = &faults[1 - i];
        assert_ptr_equal(series_of(&m, left, right).runs[0].held->value.fault, first);
        left.held = &values[i];
        right.held = &values[1 - i];
        assert_int_equal(series_of(&m, left, right).runs[0].held->value.made, 2);
    }
    arena_free(&t.arena);
}

// Nothing is known to grow as far as a distance that has no multiple.
static void items_at_a_distance_without_multiple_are_no_run(void **state) {
    struct trial t;
    struct abstract_machine m;
    small_step_begin_machine(&t, &m, "");
    struct symbols *symbols = &m.world->terms->symbols;
    int32_t x = symbol_begin(symbols, 1, 1, 3), y = symbol_begin(symbols, 1, 1, 3);
    symbol_multiply(symbols, 2);
    struct held held = {.value = {.partial = 1, .value.of = {3, 0}}, .moves = 1 << HELD_LAYER},
                other = held;
    struct run left = {.end = x + y, .state = ITEM_READY, .held = &held, .n_held = 1, .skipped = 1};
    struct run right = {x + y, x + y + 1, .state = ITEM_READY, .held = &other, .n_held = 1};
    other.value.value.of.at = number_times(symbols, y, 2);
    assert_int_equal(series_of(&m, left, right).n, 3);
    left.end = right.begin = y;
    right.end = y + 1;
    assert_int_equal(series_of(&m, left, right).n, 2);
    arena_free(&t.arena);
}

static uint32_t n_near(const struct abstract_machine *m, const char *buffer) {
    return flights_near(m, program_find_buffer(m->program, buffer))->n;
}

// Only what is in flight near by is asked at each write; the lists of it go with the store.
static void handles_with_flights_are_listed(void **state) {
    struct trial t;
    struct abstract_machine m;
    small_step_begin_machine(&t, &m,
                             "start permute over b shift 1 as near[0] { w[0] -> other }\n"
                             "start permute over b shift 1 as away[0] { w[1] -> work }\n"
                             "wait near[0]\n"
                             "start permute over b shift 1 as near[0] { w[0] -> other }\n"
                             "wait away[0]\n");
    step_execute(&m, STEP_TRAIN);
    buffer_id other = program_find_buffer(t.program, "other");
    assert_int_equal(n_near(&m, "other"), 1);
    assert_int_equal(flights_near(&m, other)->handles[0], step_find_handle(m.cursor->step, "near"));
    assert_int_equal(n_near(&m, "w"), 1);
    assert_int_equal(n_near(&m, "work"), 0);
    struct snapshot before = snapshot_take(&m, m.world->arena), empty = before;
    struct run nothing = {.end = 1};
    empty.flights = ARENA_ARRAY(m.world->arena, struct series, m.store.n_handles);
    for (uint32_t h = 0; h < m.store.n_handles; h++)
        empty.flights[h] = (struct series){.runs = &nothing, .n = 1, .cap = 1};
    snapshot_put(&m, &empty);
    assert_int_equal(n_near(&m, "other"), 0);
    snapshot_put(&m, &before);
    assert_int_equal(n_near(&m, "other"), 1);
    arena_free(&t.arena);
}

// The first run of a buffer that is planned beside others, and what it holds, to be changed.
struct first_run {
    struct series *series;
    struct run *run;
    struct held *held;
};

static struct first_run first_run(struct abstract_machine *m, const struct snapshot *state) {
    snapshot_put(m, state);
    struct series *series = &m->store.items[program_find_buffer(m->program, "spare")];
    struct run *run = series->runs;
    struct held *held = arena_copy(m->world->arena, run->held, run->n_held * sizeof *held);
    run->held = held;
    return (struct first_run){series, run, held};
}

// A store that has all there is: what is alike and what is not, a flight, bytes that are shared.
static struct snapshot begin_store(struct trial *t, struct abstract_machine *m) {
    small_step_begin_machine(t, m,
                             "buffer twin : transient f32[hidden=4] at 9216\ntrain {\n"
                             "for i = 0 .. 2 { call copy(x = w[i]) -> (y = spare[i]) }\n"
                             "call copy(x = w[0]) -> (y = whole)\n"
                             "start permute over b shift 1 as away[0] { w[0] -> other }\n");
    step_execute(m, STEP_TRAIN);
    return snapshot_take(m, m->world->arena);
}

// A change of the store as it was, behind which it is not what it should be.
#define DIFFERS(is_so, change)                                                                     \
    first = first_run(&m, &before);                                                                \
    change;                                                                                        \
    assert_false(is_so(&m, &before))

// What an iteration leaves is the invariant again only if it is so in everything.
static void stores_that_differ_in_anything_are_not_equal(void **state) {
    struct trial t;
    struct abstract_machine m;
    struct snapshot before = begin_store(&t, &m);
    struct first_run first = first_run(&m, &before);
    assert_true(store_equal(&m, &before) && !run_is_single(first.run));
    DIFFERS(store_equal, first.series->n--);
    DIFFERS(store_equal, first.run->begin--);
    DIFFERS(store_equal, first.run->end++);
    DIFFERS(store_equal, first.run->state = ITEM_WINDOW);
    DIFFERS(store_equal, first.run->window++);
    DIFFERS(store_equal, first.run->start = t.program->steps[STEP_TRAIN].body.statements);
    DIFFERS(store_equal, first.run->n_held = 0);
    DIFFERS(store_equal, first.held->moves = 0);
    DIFFERS(store_equal, first.held->from++);
    DIFFERS(store_equal, first.held->to++);
    DIFFERS(store_equal, first.held->value.microbatch++);
    DIFFERS(store_equal, first.held->value.partial = 1);
    DIFFERS(store_equal, first.held->value.value.of.at++);
    DIFFERS(store_equal, first.held->value.value.of.node++);
    DIFFERS(store_equal, m.store.flights[0].runs[0].state = ITEM_EMPTY);
    assert_int_equal(m.n_regions, 1);
    DIFFERS(store_equal, m.store.regions[0].n--);
    DIFFERS(store_equal, m.store.regions[0].stretches[0].buffer++);
    DIFFERS(store_equal, m.store.regions[0].stretches[0].item++);
    DIFFERS(store_equal, m.store.regions[0].stretches[0].owner++);
    first = first_run(&m, &before);
    first.run->end = 1; // then nothing moves
    before = snapshot_take(&m, m.world->arena);
    first = first_run(&m, &before);
    first.held->moves = 0;
    assert_true(store_equal(&m, &before));
    DIFFERS(store_equal, first.run->n_held = 0);
    arena_free(&t.arena);
}

// The state an iteration ago, and what goes along with it: it was 0 then.
static bool generalises(struct abstract_machine *m, const struct snapshot *before) {
    struct symbols *symbols = &m->world->terms->symbols;
    int32_t x = symbol_begin(symbols, 1, 1, 10);
    bool fits = store_generalise(m, before, 1, 1, x);
    symbol_end(symbols);
    return fits;
}

// An invariant says the same of every iteration but for numbers that go along with the loop; what
// changed in another way has none, whatever else went along.
static void what_changes_in_another_way_has_no_invariant(void **state) {
    struct trial t;
    struct abstract_machine m;
    struct snapshot before = begin_store(&t, &m);
    struct first_run first = first_run(&m, &before);
    struct fault *fault = fault_make(m.proof, E611, span_nowhere(), NULL, "lost");
    assert_true(generalises(&m, &before) && store_equal(&m, &before));
    first = first_run(&m, &before);
    first.run->end++;
    first.held->value.value.of.at++;
    assert_true(generalises(&m, &before));
    assert_true(number_is_symbolic(first.run->end) && !number_is_symbolic(first.run->begin));
    DIFFERS(generalises, first.series->n--);
    DIFFERS(generalises, first.run->end += 2);
    DIFFERS(generalises, (first.run->begin--, first.run->end++));
    DIFFERS(generalises, first.run->state = ITEM_WINDOW);
    DIFFERS(generalises, first.run->window++);
    DIFFERS(generalises, first.run->start = t.program->steps[STEP_TRAIN].body.statements);
    DIFFERS(generalises, first.run->n_held = 0);
    DIFFERS(generalises, first.held->from += 2);
    DIFFERS(generalises, first.held->value.microbatch--);
    DIFFERS(generalises, first.held->value.partial = 1);
    DIFFERS(generalises, first.held->value = judgement_fault(fault));
    DIFFERS(generalises, first.held->value.value.of.at += 2);
    DIFFERS(generalises, first.held->value.value.of.node++);
    DIFFERS(generalises, m.store.flights[0].runs[0].state = ITEM_EMPTY);
    DIFFERS(generalises, m.store.regions[0].n--);
    DIFFERS(generalises, m.store.regions[0].stretches[0].buffer++);
    DIFFERS(generalises, m.store.regions[0].stretches[0].item += 2);
    DIFFERS(generalises, m.store.regions[0].stretches[0].owner++);
    arena_free(&t.arena);
}

// A sum may collect one more; it is another one with other summands, or as much of each.
static void sums_of_other_summands_have_no_invariant(void **state) {
    struct trial t;
    struct abstract_machine m;
    small_step_begin_machine(&t, &m,
                             "for i = 0 .. 2 { call copy(x = w[i]) -> (y = spare[i]) }\n"
                             "call copy(x = w[0]) -> (y = whole)\n");
    step_execute(&m, STEP_TRAIN);
    uint32_t line = initial_judgement(&m, program_find_buffer(t.program, "line"), 0).value.of.node;
    uint32_t table =
        initial_judgement(&m, program_find_buffer(t.program, "table"), 0).value.of.node;
    scale_id twice = scale_rational(m.world->terms, 2, 1);
    const struct part old[2] = {{line, 0, 1, SCALE_ONE, 0, 2}, {table, 0, 1, SCALE_ONE, 0, 2}};
    struct part next[2] = {old[0], old[1]};
    next[0].m_end++;
    next[1].m_end++;
    struct change {
        struct part parts[2];
        uint32_t n;
        bool fits;
    } changes[7];
    for (int i = 0; i < 7; i++)
        changes[i] = (struct change){{next[0], next[1]}, 2, i == 0};
    changes[1].n = 1;
    changes[2].parts[0].node = table;
    changes[3].parts[0].scale = twice;
    changes[4].parts[0].m_end++;
    changes[5].parts[0].m_begin = changes[5].parts[0].m_end = ALL_MICROBATCHES;
    changes[6].parts[1].m_begin--;
    struct snapshot empty = snapshot_take(&m, m.world->arena);
    for (int i = 0; i < 7; i++) {
        struct part parts[2] = {old[0], old[1]};
        struct first_run first = first_run(&m, &empty);
        first.held->value.value.of = term_make(BUILDER(m.world->terms), NODE_SUM, 0, 0, parts, 2);
        struct snapshot before = snapshot_take(&m, m.world->arena);
        first = first_run(&m, &before);
        first.held->value.value.of =
            term_make(BUILDER(m.world->terms), NODE_SUM, 0, 0, changes[i].parts, changes[i].n);
        assert_int_equal(generalises(&m, &before), changes[i].fits);
    }
    arena_free(&t.arena);
}

// An item that goes along in twos is never the one between.
static void items_of_one_buffer_are_told_apart_by_number(void **state) {
    struct trial t;
    struct abstract_machine m;
    small_step_begin_machine(&t, &m, "");
    buffer_id id = program_find_buffer(t.program, "many");
    int32_t x = symbol_begin(&m.world->terms->symbols, 0, 2, 20);
    assert_false(bytes_intersect(&m, (struct place){id, x}, (struct place){id, 5}));
    assert_int_equal(m.world->terms->symbols.list[0].iterations, 20);
    assert_false(bytes_intersect(&m, (struct place){id, x}, (struct place){id, 6}));
    assert_int_equal(symbol_end(&m.world->terms->symbols).iterations, 3);
    arena_free(&t.arena);
}

typedef const struct fault *check(struct abstract_machine *, buffer_id, int64_t, const char *);

static bool is_kept(struct abstract_machine *m, check *check, buffer_id id, struct judgement end) {
    store_write(m, reference_to(id), end, span_nowhere());
    return !check(m, id, 0, "it");
}

// What a step leaves alone it leaves as it found it in everything that the next step assumes.
static void what_is_kept_lies_as_before(void **state) {
    struct trial t;
    struct abstract_machine m;
    small_step_begin_machine(
        &t, &m,
        "buffer lost : residual f32[hidden=4] flat/b of line at 27648\ntrain {\n"
        "call copy(x = w[0]) -> (y = spare[0])\n");
    step_execute(&m, STEP_TRAIN);
    buffer_id id = program_find_buffer(t.program, "lost");
    check *checks[] = {codes_check_kept, islands_check_kept};
    for (int i = 0; i < 2; i++) {
        struct judgement r = initial_judgement(&m, id, 0), others[6] = {r, r, r, r, r, r};
        assert_true(is_kept(&m, checks[i], id, r));
        others[0].value = initial_judgement(&m, program_find_buffer(t.program, "w"), 0).value;
        others[1].form = initial_judgement(&m, program_find_buffer(t.program, "w"), 0).form;
        others[2].partial = 0;
        others[3].own = 0;
        others[4].bits = 0;
        others[5] = judgement_fault(fault_make(m.proof, E611, span_nowhere(), NULL, "lost"));
        for (int k = 0; k < 6; k++)
            assert_false(is_kept(&m, checks[i], id, others[k]));
        assert_ptr_equal(checks[i](&m, id, 0, "it"), others[5].fault);
    }
    arena_free(&t.arena);
}

// ---- the cursor -------------------------------------------------------------------------------

// Two machines that take turns, statement by statement, inside loops and iterations that stand for
// many, end where one does that is not interrupted.
static void steps_stop_and_go_on(void **state) {
    struct trial t;
    struct abstract_machine machines[3];
    small_step_begin_machine(
        &t, &machines[0],
        "for i = 0 .. 3 { call copy(x = w[0]) -> (y = spare[i])\n"
        "for k = 0 .. 60 { call bend(x = spare[i]) -> (y = many[k]) } }\n"
        "for m = 0 .. 8 { call look(t = table, x = targets[m]) -> (y = rows[m]) }\n");
    for (int i = 1; i < 3; i++) {
        small_step_machine(&t, &machines[i]);
        step_begin(&machines[i], STEP_TRAIN);
    }
    assert_true(step_execute(&machines[0], STEP_TRAIN));
    int64_t n_turns = 0;
    while (step_advance(&machines[1]) && step_advance(&machines[2]))
        n_turns++;
    assert_false(step_advance(&machines[2]));
    assert_int_equal(n_turns, machines[0].cursor->n_statements);
    for (int i = 1; i < 3; i++) {
        struct snapshot end = snapshot_take(&machines[i], &t.arena);
        assert_true(store_equal(&machines[0], &end));
        assert_int_equal(machines[i].world->n_attempts, machines[0].world->n_attempts);
        assert_true(machines[i].cursor->n_statements == n_turns && machines[i].cursor->depth == 0);
    }
    assert_true(machines[0].world->n_attempts > 0);
    arena_free(&t.arena);
}

// ---- cost -------------------------------------------------------------------------------------

// What is told where no more than so many statements are followed; units are remembered.
static void check_overrun(const char *statements, int64_t budget, const char *help) {
    struct trial t;
    struct abstract_machine m;
    small_step_begin_machine(&t, &m, statements);
    assert_true(step_execute(&m, STEP_TRAIN));
    m.budget = budget;
    step_enter(&m, &m.cursor->step->body);
    while (step_advance(&m))
        continue;
    assert_true(m.overrun && m.proof->insisted.n == 1);
    assert_string_equal(m.proof->insisted.items[0]->help, help);
    arena_free(&t.arena);
}

static void what_is_left_to_follow_is_bounded(void **state) {
    static const char alike[] = "let each iteration do with its layer or microbatch what the one "
                                "before did with its own, or lower the loop's bound";
    static const char groups[] =
        "loops over groups and turns of layers may have to be followed one by one: write `unit = "
        "layer` for `layers(2)`, and ranges as `layers[0:8]` for `layers[::2]`, or make the model "
        "less deep";
    static const char of_groups[] = "for g = 0 .. 2 { for l = 2*g .. 2*g+2 {\n"
                                    "call copy(x = w[l]) -> (y = spare[l]) } }\n"
                                    "for l = 0 .. 2 { call copy(x = w[l]) -> (y = spare[l]) }\n";
    check_overrun("call copy(x = w[0]) -> (y = spare[0])\n"
                  "call copy(x = w[1]) -> (y = spare[1])\n",
                  1, alike);
    check_overrun(of_groups, 0, groups); // the loop over groups
    check_overrun(of_groups, 1, groups); // the one in it
    check_overrun(of_groups, 2, groups);
    check_overrun(of_groups, 8, alike); // behind it
}

// A unit of `n` values that are each made of the one before, and as many of which one is made of
// all of those by `op`: what is left of the budget behind its call.
static int64_t left_of(int64_t budget, uint32_t n, const char *op, const char **told) {
    struct trial t;
    struct abstract_machine m;
    small_step_begin(&t, "call bend(x = w[0]) -> (y = spare[0])\n");
    char *ops =
        arena_format(&t.arena, "%%v.0 = silu(%%x) : " ROW "\n%%s.0 = silu(%%x) : " ROW "\n");
    for (uint32_t i = 1; i < n; i++)
        ops = arena_format(
            &t.arena, "%s%%v.%u = silu(%%v.%u) : " ROW "\n%%s.%u = %s(%%s.%u, %%v.%u) : " ROW "\n",
            ops, i, i - 1, i, op, i - 1, i);
    const struct edit edits[] = {
        REPLACE("%y = silu(%x) : " ROW " out }\n",
                arena_format(&t.arena, "%s%%y = silu(%%s.%u) : " ROW " out }\n", ops, n - 1)),
        {EDIT_END, NULL, NULL, 0, 0}};
    trial_read(&t, program_edit(&t.arena, t.text, edits));
    small_step_machine(&t, &m);
    step_begin(&m, STEP_TRAIN);
    m.budget = budget;
    while (step_advance(&m))
        continue;
    assert_int_equal(m.overrun, m.budget < 0);
    assert_int_equal(m.proof->insisted.n, m.overrun);
    *told = m.overrun ? m.proof->insisted.items[0]->help : ""; // not in the arena
    arena_free(&t.arena);
    return m.budget;
}

// One unit may be as long as many statements, and long sums take as much time as many ops.
static void what_a_unit_compares_is_bounded(void **state) {
    enum { BUDGET = 1000 * 1000, N = 300 };
    const char *told;
    int64_t sums = BUDGET - left_of(BUDGET, N, "add", &told);
    int64_t products = BUDGET - left_of(BUDGET, N, "mul", &told);
    assert_string_equal(told, "");
    assert_true(products >= 2 * 2 * N);           // ops, and their values
    assert_true(sums >= products + N * N / 1000); // every sum, with the summand that it gets
    assert_true(left_of(sums - 1, N, "add", &told) < 0);
    assert_string_equal(told, "make two units of it, or let it add up less in one value");
}

// What is refused is judged once more, with all laws and for the reasons at once.
static void reasons_cost_one_judgement(void **state) {
    static const struct edit edits[] = {REPLACE("x = w[0]", "x = w[2]"),
                                        {EDIT_END, NULL, NULL, 0, 0}};
    struct trial t;
    small_step_begin(&t, "call copy(x = w[0]) -> (y = w[1])\n");
    trial_judge(&t);
    assert_int_equal(t.verdict.kind, VERDICT_ACCEPTED);
    int64_t n = t.verdict.n_statements;
    trial_read(&t, program_edit(&t.arena, t.text, edits));
    trial_judge(&t);
    assert_int_not_equal(t.verdict.kind, VERDICT_ACCEPTED);
    assert_int_equal(t.verdict.n_statements, 2 * n);
    arena_free(&t.arena);
}

// How often an invariant is looked for in a loop that has none.
static uint32_t attempts(int n_iterations) {
    struct trial t;
    struct abstract_machine m;
    char statements[256];
    snprintf(statements, sizeof statements,
             "call copy(x = w[0]) -> (y = spare[0])\ncall copy(x = w[0]) -> (y = spare[1])\n"
             "for i = 0 .. %d {\n"
             "call bend(x = spare[i mod 1]) -> (y = spare[1])\n"
             "call bend(x = spare[1]) -> (y = spare[0])\n}\n",
             n_iterations);
    small_step_begin_machine(&t, &m, statements);
    assert_true(step_execute(&m, STEP_TRAIN));
    uint32_t n = m.world->n_attempts;
    arena_free(&t.arena);
    return n;
}

static void invariants_are_looked_for_where_that_may_pay(void **state) {
    assert_int_equal(attempts(5), 1); // then fewer iterations are left than a proof costs
    assert_true(attempts(200) < 16);  // at distances that grow
}

static int64_t n_statements_in(const char *statements, bool one_by_one) {
    struct trial t;
    struct abstract_machine m;
    small_step_begin_machine(&t, &m, statements);
    m.one_by_one = one_by_one;
    assert_true(step_execute(&m, STEP_TRAIN));
    int64_t n = m.cursor->n_statements;
    arena_free(&t.arena);
    return n;
}

static int64_t n_statements(const char *statements) {
    return n_statements_in(statements, false);
}

// Loops inside that go with one multiple of the variable are proved for all its iterations; by
// several multiples, they are followed, and what is tried meanwhile costs little.
static void loops_go_with_one_multiple(void **state) {
    static const char one[] = "for i = 0 .. 22 {\n"
                              "for j = 1*i .. 1*i+2 { call copy(x = w[0]) -> (y = many[j]) }\n"
                              "for j = 3*i .. 3*i+3 { call copy(x = w[0]) -> (y = many[j]) } }\n";
    static const char two[] = "for i = 0 .. 22 {\n"
                              "for j = 2*i .. 2*i+2 { call copy(x = w[0]) -> (y = many[j]) }\n"
                              "for j = 3*i .. 3*i+3 { call copy(x = w[0]) -> (y = many[j]) } }\n";
    int64_t followed = n_statements_in(two, true);
    assert_int_equal(n_statements_in(one, true), followed);
    assert_true(n_statements(one) < followed / 3);
    assert_true(n_statements(two) < 2 * followed);
}

// A round is of the slots that come round in this loop; others are constants in it, or items.
static void rounds_are_no_longer_than_slots_come_round(void **state) {
    int64_t plain = n_statements("for i = 0 .. 3 { call copy(x = w[0]) -> (y = spare[i])\n"
                                 "for k = 0 .. 60 { call copy(x = w[0]) -> (y = many[k]) } }\n");
    assert_int_equal(n_statements("for i = 0 .. 3 { call copy(x = w[0]) -> (y = spare[i])\n"
                                  "for k = 0 .. 60 { call copy(x = spare[i mod 3]) -> (y = many[k])"
                                  " } }\n"),
                     plain);
    assert_int_equal(n_statements("for i = 0 .. 3 { call copy(x = w[0]) -> (y = spare[i])\n"
                                  "for k = 0 .. 60 { call copy(x = w[0]) -> (y = many[k mod 67])"
                                  " } }\n"),
                     plain);
    assert_true(plain < 3 * 20);
}

// A call that reads a whole parameter beside one microbatch's tokens is evaluated once for all.
static void calls_are_remembered_for_all_microbatches(void **state) {
    struct trial t;
    struct abstract_machine m;
    small_step_begin_machine(
        &t, &m, "for m = 0 .. 8 { call look(t = table, x = targets[m]) -> (y = rows[m]) }\n");
    m.one_by_one = true;
    assert_true(step_execute(&m, STEP_TRAIN));
    assert_int_equal(m.memo.n, 1);
    arena_free(&t.arena);
}

// What is lost is the same in all layers, whatever else a call is given of one.
static void calls_are_remembered_whatever_is_lost(void **state) {
    struct trial t;
    struct abstract_machine m;
    small_step_begin_machine(&t, &m,
                             "call bend(x = loose) -> (y = other)\nfor l = 0 .. 4 {\n"
                             "call times(x = other, z = w[l]) -> (y = spare[l])\n"
                             "call gated(x = spare[l], z = w[0], u = w[0]) -> (y = whole)\n}\n");
    m.one_by_one = true;
    assert_true(step_execute(&m, STEP_TRAIN));
    assert_int_equal(m.memo.n, 3);
    arena_free(&t.arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_meet_where_they_are_shared),
        cmocka_unit_test(items_that_differ_in_anything_are_no_run),
        cmocka_unit_test(items_of_layers_in_turns_are_one_run),
        cmocka_unit_test(items_join_in_any_order),
        cmocka_unit_test(a_run_keeps_the_first_fault_and_the_last_making),
        cmocka_unit_test(items_at_a_distance_without_multiple_are_no_run),
        cmocka_unit_test(handles_with_flights_are_listed),
        cmocka_unit_test(neighbours_that_differ_are_two_runs),
        cmocka_unit_test(stores_that_differ_in_anything_are_not_equal),
        cmocka_unit_test(what_changes_in_another_way_has_no_invariant),
        cmocka_unit_test(sums_of_other_summands_have_no_invariant),
        cmocka_unit_test(items_of_one_buffer_are_told_apart_by_number),
        cmocka_unit_test(what_is_kept_lies_as_before),
        cmocka_unit_test(steps_stop_and_go_on),
        cmocka_unit_test(what_is_left_to_follow_is_bounded),
        cmocka_unit_test(what_a_unit_compares_is_bounded),
        cmocka_unit_test(reasons_cost_one_judgement),
        cmocka_unit_test(invariants_are_looked_for_where_that_may_pay),
        cmocka_unit_test(loops_go_with_one_multiple),
        cmocka_unit_test(rounds_are_no_longer_than_slots_come_round),
        cmocka_unit_test(calls_are_remembered_for_all_microbatches),
        cmocka_unit_test(calls_are_remembered_whatever_is_lost),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
