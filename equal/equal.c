// The proof: both programs are read into values, the one device's first, and results are compared as their layouts say.
#include "equal/equal.h"

#include "equal/diagnosis/report.h"
#include "equal/fx/read.h"
#include "equal/hlo/read.h"
#include "equal/meaning/meaning.h"
#include "equal/residues/residues.h"
#include "equal/values/range.h"
#include "equal/values/together.h"
#include "equal/values/turns.h"
#include "ir/check.h"

enum {
    FEW_DEVICES = 16,
    FEW_TERMS = 100 * 1000,
    MOST_PRODUCTS = 2 * 1000 * 1000,
    MOST_PRODUCTS_A_WAY = 200 * 1000,
    MOST_PRODUCTS_OF_WAYS = 500 * 1000,
};

struct claims {
    struct claim *of;
    uint32_t n, cap;
};

struct proof {
    const struct graph *one, *many;
    const struct pairing *pairing;
    struct assumptions assumptions;
    struct calculus calculus;
    struct reading of_one, of_many;
    uint32_t n_known;      // terms that the program of one device has made
    struct unproved first; // of the results that are not proved
    bool each_device;      // results are compared on each device, too
    struct claims claims;  // of results that are evaluated
    struct arena *arena;
};

// ---- layouts as views -------------------------------------------------------------------------

// A device's first element of a dimension that is cut so, in units of its part.
static struct affine part_number(const struct device_mesh *mesh, const struct cut *cut) {
    struct affine index = affine_constant(0);
    int64_t coefficient = 1;
    for (uint32_t i = cut->n; i-- > 0;) {
        int64_t stride = mesh_stride(mesh, cut->axes[i]), size = mesh->axes[cut->axes[i]].size;
        affine_push(&index, (struct piece){coefficient, stride, size, 0, COORDINATE_DEVICE});
        coefficient *= size;
    }
    return index;
}

static int64_t part_size(const struct device_mesh *mesh, const struct segment *segment) {
    int64_t size = segment->size;
    for (uint32_t i = 0; i < segment->cut.n; i++)
        size /= mesh->axes[segment->cut.axes[i]].size;
    return size;
}

// One choice of a segment for each dimension of an array.
struct segment_choice {
    const struct segment *segments[MAX_GRAPH_RANK];
};

// The place in a segment: of the whole one, or of a device's part.
static struct affine place_in(const struct device_mesh *mesh, const struct segment *segment,
                              uint32_t k, bool is_part) {
    if (!is_part)
        return affine_coordinate(k, segment->size);
    int64_t size = part_size(mesh, segment);
    struct affine index = affine_constant(0), number = part_number(mesh, &segment->cut);
    affine_add(&index, &number, size);
    affine_push(&index, (struct piece){1, 1, size, 0, k});
    bool normal = affine_normal(&index);
    CHECK(normal);
    return index;
}

// ---- parameters -------------------------------------------------------------------------------

struct placing_input {
    struct proof *p;
    const struct array_layout *layout;
    bool is_part;
    uint32_t number; // of the next block's input
    struct coordinates all;
    struct segment_choice block;
};

// Where sums over devices are those of each, sums over what is cut are.
static void add_cut(const struct placing_input *i, uint32_t dimension,
                    const struct segment *segment) {
    int64_t part = part_size(&i->p->pairing->mesh, segment);
    struct digit cut = {part, segment->size / part};
    if (i->p->calculus.devices_apart && segment->cut.n > 0 && cut.count > 1)
        turns_add(i->p->calculus.turns, i->number, dimension, cut, segment->size);
}

static struct viewed input_block(struct placing_input *i) {
    struct space space = {.n = 0};
    struct view view;
    view.n = 0;
    for (uint32_t k = 0; k < i->layout->shape->rank; k++) {
        const struct segment *segment = i->block.segments[k];
        if (segment->size <= 1)
            continue;
        add_cut(i, space.n, segment);
        space.sizes[space.n++] = segment->size;
        view.of[view.n++] = place_in(&i->p->pairing->mesh, segment, k, i->is_part);
    }
    return value_input(&i->p->calculus, i->number++, &space, &view);
}

// The array from dimension k on, its segments one behind the other.
static struct viewed input_from(struct placing_input *i, uint32_t k) {
    if (k == i->layout->shape->rank)
        return input_block(i);
    const struct dimension_layout *dimension = &i->layout->dimensions[k];
    uint32_t n = dimension->n_segments;
    struct viewed *parts = ARENA_ARRAY(i->p->arena, struct viewed, n);
    int64_t *sizes = ARENA_ARRAY(i->p->arena, int64_t, n);
    int64_t all = i->all.sizes[k];
    for (uint32_t s = 0; s < n; s++) {
        const struct segment *segment = &dimension->segments[s];
        sizes[s] = i->is_part ? part_size(&i->p->pairing->mesh, segment) : segment->size;
        i->block.segments[k] = segment;
        i->all.sizes[k] = sizes[s];
        parts[s] = input_from(i, k + 1);
    }
    i->all.sizes[k] = all;
    return n == 1 ? parts[0] : value_together(&i->p->calculus, parts, sizes, n, k, &i->all);
}

static uint32_t n_blocks(const struct array_layout *layout) {
    uint32_t n = 1;
    for (uint32_t k = 0; k < layout->shape->rank; k++)
        n *= layout->dimensions[k].n_segments;
    return n;
}

static const struct meaning *read_parameters(struct proof *p, const struct graph *graph,
                                             bool is_part) {
    const struct computation *entry = &graph->computations[graph->entry];
    struct meaning *made = ARENA_ARRAY(p->arena, struct meaning, entry->n_parameters + 1);
    uint32_t number = 0;
    for (uint32_t i = 0; i < p->pairing->n_parameters; i++) {
        struct placing_input input = {
            .p = p, .layout = &p->pairing->parameters[i], .is_part = is_part, .number = number};
        uint32_t at = is_part ? p->pairing->many_parameters[i] : i;
        const struct array_shape *shape = entry->instructions[entry->parameters[at]].shape;
        for (uint32_t k = 0; k < shape->rank; k++)
            input.all.sizes[k] = shape->sizes[k];
        input.all.sizes[COORDINATE_DEVICE] = is_part ? graph->n_devices : 1;
        made[at].value = input_from(&input, 0);
        number += n_blocks(&p->pairing->parameters[i]);
    }
    return made;
}

// Bounds of few bits are those of the type; what is assumed says more.
static struct bounds bounds_of_input(const struct proof *p, uint32_t parameter) {
    enum element element = p->pairing->parameters[parameter].shape->element;
    struct bounds bounds = {0};
    if (element_rows[element].kind == NUMBER_UNSIGNED)
        bounds.below = true;
    if (element_rows[element].bits < COUNTING_BITS)
        bounds = value_bounds_of_type(element);
    for (uint32_t k = 0; k < p->assumptions.n; k++) {
        const struct assumption *of = &p->assumptions.of[k];
        if (of->parameter == parameter)
            bounds = (struct bounds){of->least > INT64_MIN || bounds.below,
                                     of->most < INT64_MAX || bounds.above,
                                     of->least > INT64_MIN ? of->least : bounds.least,
                                     of->most < INT64_MAX ? of->most : bounds.largest};
    }
    return bounds;
}

static void assume(struct proof *p) {
    uint32_t n = 0, number = 0;
    for (uint32_t i = 0; i < p->pairing->n_parameters; i++)
        n += n_blocks(&p->pairing->parameters[i]);
    struct bounds *bounds = ARENA_ARRAY(p->arena, struct bounds, n + 1);
    for (uint32_t i = 0; i < p->pairing->n_parameters; i++)
        for (uint32_t b = n_blocks(&p->pairing->parameters[i]); b > 0; b--, number++)
            bounds[number] = bounds_of_input(p, i);
    p->calculus.bounds = bounds;
}

// ---- results ----------------------------------------------------------------------------------

static struct viewed result_value(const struct reading *r, uint32_t i) {
    const struct computation *entry = &r->graph->computations[r->graph->entry];
    const struct meaning *root = &r->meanings[entry->root];
    return root->members ? root->members[i].value : root->value;
}

struct comparing {
    struct proof *p;
    const struct array_layout *layout;
    struct viewed one, many;
    struct affine of_one[MAX_GRAPH_RANK], of_many[MAX_GRAPH_RANK];
    int64_t sizes[MAX_GRAPH_RANK]; // of a device's block
    struct claim block;            // that was compared last
    bool can;                      // it can be said
    bool (*compare)(struct comparing *);
};

static bool on_device(struct proof *p, struct viewed value, int64_t device, struct viewed *made) {
    struct affine number = affine_constant(device);
    struct substitution by = {0};
    by.of[COORDINATE_DEVICE] = &number;
    by.sizes[COORDINATE_DEVICE] = p->pairing->mesh.n_devices;
    return value_move(&p->calculus, value, &by, made);
}

// Whether they are, or their difference is zero: that is made part by part where one of them stands together.
static bool same_value(struct proof *p, struct viewed expected, struct viewed found,
                       const struct coordinates *all) {
    struct viewed both[] = {expected, value_scaled(&p->calculus, found, -1, 1)};
    return value_equal(expected, found) ||
           value_is_zero(&p->calculus, value_sum(&p->calculus, both, 2, all));
}

// Whether the values are equal on every device by itself, where what depends on its number is known.
static bool same_on_each(struct proof *p, struct viewed expected, struct viewed found,
                         const struct coordinates *all) {
    struct coordinates own = *all;
    own.sizes[COORDINATE_DEVICE] = 0;
    for (int64_t device = 0; device < p->pairing->mesh.n_devices; device++) {
        struct viewed one, many;
        if (!on_device(p, expected, device, &one) || !on_device(p, found, device, &many) ||
            !same_value(p, one, many, &own))
            return false;
    }
    return true;
}

// False: what stands there cannot be said.
static bool say_block(struct comparing *x) {
    struct substitution one = {0}, many = {0};
    x->block = (struct claim){.holds = false};
    for (uint32_t k = 0; k < x->layout->shape->rank; k++) {
        int64_t part = 0;
        for (uint32_t s = 0; s < x->layout->dimensions[k].n_segments; s++)
            part += part_size(&x->p->pairing->mesh, &x->layout->dimensions[k].segments[s]);
        one.of[k] = &x->of_one[k];
        one.sizes[k] = x->layout->shape->sizes[k];
        many.of[k] = &x->of_many[k];
        many.sizes[k] = part;
        x->block.all.sizes[k] = x->sizes[k];
    }
    x->block.all.sizes[COORDINATE_DEVICE] = x->p->pairing->mesh.n_devices;
    x->can = value_move(&x->p->calculus, x->one, &one, &x->block.expected) &&
             value_move(&x->p->calculus, x->many, &many, &x->block.found);
    return x->can;
}

static bool same_block(struct comparing *x) {
    const struct claim *block = &x->block;
    return same_value(x->p, block->expected, block->found, &block->all) ||
           (x->p->each_device && same_on_each(x->p, block->expected, block->found, &block->all));
}

static bool claim_block(struct comparing *x) {
    struct claims *to = &x->p->claims;
    ARENA_PUSH(x->p->arena, to->of, to->n, to->cap, x->block);
    return true;
}

// Whether all blocks from dimension k on compare well.
static bool blocks_from(struct comparing *x, uint32_t k) {
    if (k == x->layout->shape->rank)
        return say_block(x) && x->compare(x);
    const struct dimension_layout *dimension = &x->layout->dimensions[k];
    int64_t of_one = 0, of_many = 0;
    bool same = true;
    for (uint32_t s = 0; s < dimension->n_segments && same; s++) {
        const struct segment *segment = &dimension->segments[s];
        int64_t size = part_size(&x->p->pairing->mesh, segment);
        x->of_one[k] = place_in(&x->p->pairing->mesh, segment, k, true);
        x->of_one[k].base += of_one;
        x->sizes[k] = size;
        x->of_many[k] = affine_coordinate(k, size);
        x->of_many[k].base += of_many;
        same = blocks_from(x, k + 1);
        of_one += segment->size;
        of_many += size;
    }
    return same;
}

static void note_unproved(struct proof *p, const struct comparing *x, uint32_t i) {
    p->first.result = i;
    p->first.expected = x->can ? x->block.expected : x->one;
    p->first.found = x->can ? x->block.found : x->many;
    for (uint32_t k = 0; k < x->layout->shape->rank; k++)
        p->first.all.sizes[k] = x->layout->shape->sizes[k];
    p->first.all.sizes[COORDINATE_DEVICE] = p->pairing->mesh.n_devices;
}

static struct equal_answer *new_answer(const struct pairing *pairing, struct arena *arena) {
    struct equal_answer *answer = ARENA_NEW(arena, struct equal_answer);
    answer->n_results = pairing->n_results;
    answer->results = ARENA_ARRAY(arena, struct equal_result, answer->n_results + 1);
    for (uint32_t i = 0; i < answer->n_results; i++)
        answer->results[i].name = pairing->results[i].name;
    return answer;
}

static struct comparing comparing_result(struct proof *p, uint32_t i,
                                         bool (*compare)(struct comparing *)) {
    return (struct comparing){.p = p,
                              .layout = &p->pairing->results[i],
                              .one = result_value(&p->of_one, i),
                              .many = result_value(&p->of_many, i),
                              .compare = compare};
}

// Those that are not proved so far. What is proved in one way is proved.
static void compare_results(struct proof *p, struct equal_answer *answer) {
    p->first = (struct unproved){0};
    for (uint32_t i = 0; i < answer->n_results; i++) {
        struct comparing x = comparing_result(p, i, same_block);
        if (answer->results[i].is_proved)
            continue;
        answer->results[i].is_proved = x.layout->shape->n_elements == 0 || blocks_from(&x, 0);
        answer->n_proved += answer->results[i].is_proved;
        if (!answer->results[i].is_proved && p->first.n_unproved++ == 0)
            note_unproved(p, &x, i);
        arena_reuse(&p->calculus.scratch);
    }
    answer->verdict = answer->n_proved == answer->n_results ? EQUAL_PROVED : EQUAL_UNPROVED;
}

// What is equal as no normal form shows: claims of all results that are not proved, evaluated in fields (residues.h).
static void evaluate_results(struct proof *p, struct equal_answer *answer) {
    uint32_t *first = ARENA_ARRAY(p->arena, uint32_t, answer->n_results + 1);
    bool *can = ARENA_ARRAY(p->arena, bool, answer->n_results + 1);
    p->claims = (struct claims){.n = 0};
    for (uint32_t i = 0; i < answer->n_results; i++) {
        struct comparing x = comparing_result(p, i, claim_block);
        first[i] = p->claims.n;
        can[i] = !answer->results[i].is_proved && blocks_from(&x, 0);
        arena_reuse(&p->calculus.scratch);
    }
    first[answer->n_results] = p->claims.n;
    claims_evaluate(&p->calculus, p->claims.of, p->claims.n);
    for (uint32_t i = 0; i < answer->n_results; i++) {
        bool holds = can[i];
        for (uint32_t k = first[i]; k < first[i + 1]; k++)
            holds &= p->claims.of[k].holds;
        answer->results[i].is_evaluated = holds;
        answer->results[i].is_proved |= holds;
        answer->n_evaluated += holds;
        answer->n_proved += holds;
    }
    if (answer->n_proved == answer->n_results)
        answer->verdict = EQUAL_PROVED;
}

static void say_layouts(const struct proof *p, struct equal_answer *answer) {
    const struct device_mesh *mesh = &p->pairing->mesh;
    answer->by_order = p->pairing->matched_by == MATCHED_BY_ORDER;
    answer->by_shape = p->pairing->laid_out_by == LAID_OUT_BY_SHAPE;
    answer->n_axes = mesh->n_axes;
    answer->axes = ARENA_ARRAY(p->arena, struct equal_axis, mesh->n_axes + 1);
    for (uint32_t a = 0; a < mesh->n_axes; a++)
        answer->axes[a] = (struct equal_axis){mesh->axes[a].name, mesh->axes[a].size};
}

static void say_assumptions(const struct proof *p, struct equal_answer *answer) {
    answer->n_assumptions = p->assumptions.n;
    answer->assumptions = ARENA_ARRAY(p->arena, const char *, p->assumptions.n + 1);
    for (uint32_t i = 0; i < p->assumptions.n; i++)
        answer->assumptions[i] = assumption_text(&p->assumptions.of[i], p->arena);
}

// ---- all of it --------------------------------------------------------------------------------

static uint32_t n_instructions(const struct graph *graph) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < graph->n_computations; i++)
        n += graph->computations[i].n;
    return n;
}

static void read_both(struct proof *p) {
    p->of_one = (struct reading){.c = &p->calculus, .graph = p->one};
    p->of_many = (struct reading){.c = &p->calculus, .graph = p->many};
    p->of_one.parameters = read_parameters(p, p->one, false);
    meanings_read(&p->of_one);
    p->n_known = p->calculus.terms.n_nodes;
    p->of_many.parameters = read_parameters(p, p->many, true);
    meanings_read(&p->of_many);
}

static void begin_proof(struct proof *p, struct arena *arena) {
    calculus_init(&p->calculus, arena);
    p->arena = arena;
    p->calculus.products_left = MOST_PRODUCTS;
}

static void prove(struct proof *p, struct equal_answer *answer) {
    assume(p);
    read_both(p);
    compare_results(p, answer);
}

// Says results that are not proved on each device, so that what is read of inputs there is known.
static void read_each_device(struct proof *p, const struct equal_answer *answer) {
    for (uint32_t i = 0; i < answer->n_results; i++)
        for (int64_t device = 0; device < p->pairing->mesh.n_devices; device++) {
            struct viewed made;
            if (!answer->results[i].is_proved)
                on_device(p, result_value(&p->of_many, i), device, &made);
            arena_reuse(&p->calculus.scratch);
        }
}

// A way in which what is not proved is looked at once more: where inputs are read in turns, in both programs in the turns
// of either. No normal form is the right one for all.
//
//   each_device  and in those in which devices read them by themselves; results are compared on each
//   outside      factors that lack what is summed over in turns stay outside of the sum, else they stand in each summand
//   distributes  a product is one of each summand of the sum among its factors
//   apart        sums over devices are those of each
static const struct way {
    bool each_device, outside, distributes, apart;
} ways[] = {
    {.each_device = false},
    {.outside = true},
    {.distributes = true},
    {.each_device = true},
    {.each_device = true, .outside = true},
    {.each_device = true, .distributes = true},
    {.each_device = true, .apart = true},
    {.each_device = true, .apart = true, .distributes = true},
};

// Takes what it needs from the products that may be made in all ways together.
static void prove_in_turns(const struct proof *p, const struct way *way, int64_t *products,
                           struct equal_answer *answer) {
    int64_t most = *products < MOST_PRODUCTS_A_WAY ? *products : MOST_PRODUCTS_A_WAY;
    struct arena arena = {0};
    struct proof again = *p;
    struct turn_list *turns = ARENA_NEW(&arena, struct turn_list);
    turns_find(&p->calculus, turns);
    if (turns->n > 0 || way->each_device) {
        begin_proof(&again, &arena);
        again.calculus.turns = turns;
        again.calculus.outside_of_turns = way->outside;
        again.calculus.distributes = way->distributes;
        again.calculus.devices_apart = way->apart;
        again.calculus.products_left = most;
        again.each_device = way->each_device;
        prove(&again, answer);
        *products -= most - again.calculus.products_left;
        calculus_free(&again.calculus);
    }
    arena_free(&arena);
}

static void prove_otherwise(struct proof *p, struct equal_answer *answer) {
    bool few = p->pairing->mesh.n_devices <= FEW_DEVICES && p->calculus.terms.n_nodes <= FEW_TERMS;
    bool has_read = false;
    int64_t products = MOST_PRODUCTS_OF_WAYS;
    for (size_t i = 0; i < sizeof ways / sizeof *ways && answer->verdict != EQUAL_PROVED; i++) {
        if (ways[i].each_device && !few)
            continue;
        if (ways[i].each_device && !has_read)
            read_each_device(p, answer);
        has_read |= ways[i].each_device;
        prove_in_turns(p, &ways[i], &products, answer);
    }
    if (answer->verdict != EQUAL_PROVED)
        compare_results(p, answer); // finds the first of those that are left
}

// Laws are those of the reals, and a program may write what is none. So what is proved is executed, too, where that takes
// little, and what differs then is not equal.
static bool is_checked(const struct proof *p) {
    return interpreter_is_cheap(p->one) && interpreter_is_cheap(p->many);
}

static void contradict(struct proof *p, const struct witness *witness,
                       struct equal_answer *answer) {
    uint32_t result = witness->difference.result;
    p->first = (struct unproved){.result = result,
                                 .expected = result_value(&p->of_one, result),
                                 .found = result_value(&p->of_many, result)};
    answer->is_contradicted = true;
    answer->n_proved = 0;
    for (uint32_t i = 0; i < answer->n_results; i++) {
        answer->results[i].is_proved = witness->relative[i] <= LEAST_DIFFERENCE;
        answer->n_proved += answer->results[i].is_proved;
    }
    p->first.n_unproved = answer->n_results - answer->n_proved;
    p->first.is_contradicted = true;
}

// Executes both programs. What is not proved and differs needs no other way, and what does not is looked at in others. The
// many are followed as they are executed; if they cannot be, by their terms.
static void judge_executed(struct proof *p, struct equal_answer *answer,
                           struct diagnostics *diagnostics) {
    struct arena arena = {0};
    struct trace one, many;
    trace_init(&one, p->one, NULL, &arena);
    trace_init(&many, p->many, &p->of_many, &arena);
    struct observer *observers[] = {&one.observer, &many.observer};
    struct witness witness =
        find_witness(p->pairing, p->one, p->many, &p->assumptions, observers, &arena);
    if (witness.kind == WITNESS_DIFFERENT && answer->verdict == EQUAL_PROVED)
        contradict(p, &witness, answer);
    if (witness.kind != WITNESS_DIFFERENT && answer->verdict != EQUAL_PROVED) {
        evaluate_results(p, answer);
        prove_otherwise(p, answer);
    }
    if (answer->verdict == EQUAL_PROVED && !answer->is_contradicted) {
        arena_free(&arena);
        return;
    }
    struct terms_known terms = {&p->calculus, &p->pairing->mesh, p->n_known};
    struct finding finding = {&terms, NULL, &many};
    struct numbers numbers;
    if (!witness.relative)
        trace_read(&many);
    else if (witness.kind != WITNESS_SAME &&
             numbers_init(&numbers, &one, &many, &p->pairing->mesh, &arena))
        finding.numbers = &numbers;
    if (witness.kind == WITNESS_DIFFERENT)
        answer->verdict = EQUAL_REFUTED;
    struct cause cause =
        find_cause(&finding, &p->first, witness.relative, p->pairing->n_results, &arena);
    report_unproved(&finding, p->pairing, &p->first, &cause, &witness, diagnostics);
    arena_free(&arena);
}

// The graph of a text, by whichever reader is for it. Of the many it may need what is given of the mesh.
static const struct graph *read_text(uint32_t source, const struct layout_given *given,
                                     struct arena *arena, struct diagnostics *diagnostics) {
    return fx_is_text(source, diagnostics) ? fx_read(source, given, arena, diagnostics)
                                           : hlo_read(source, arena, diagnostics);
}

const struct equal_answer *equal_judge(const struct equal_question *question, struct arena *arena,
                                       struct diagnostics *diagnostics) {
    struct proof *p = ARENA_NEW(arena, struct proof);
    p->arena = arena;
    struct layout_given given;
    if (!layout_given_read(&given, question->spec, question->mesh_text, arena, diagnostics))
        return NULL;
    p->one = read_text(question->one, NULL, arena, diagnostics);
    p->many = read_text(question->many, &given, arena, diagnostics);
    if (!p->one || !p->many)
        return NULL;
    struct pairing_question how = {p->one, p->many, &given};
    p->pairing = pair_programs(&how, arena, diagnostics);
    if (!p->pairing)
        return NULL;
    for (uint32_t i = 0; i < question->n_assumptions; i++)
        if (!assumptions_add(&p->assumptions, question->assumptions[i], p->pairing, arena,
                             diagnostics))
            return NULL;
    struct equal_answer *answer = new_answer(p->pairing, arena);
    begin_proof(p, arena);
    prove(p, answer);
    answer->n_one = n_instructions(p->one);
    answer->n_many = n_instructions(p->many);
    say_layouts(p, answer);
    say_assumptions(p, answer);
    if (answer->verdict != EQUAL_PROVED || is_checked(p))
        judge_executed(p, answer, diagnostics);
    calculus_free(&p->calculus);
    return answer;
}
