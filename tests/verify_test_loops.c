// Loops of any shape: random steps on small tensors, with loops in one another, indices of all
// forms, slots, transfers and overlapping bytes, are executed by induction, one iteration after the
// other, and without a memo of calls. What every item holds afterwards is the same, and so is what
// was told.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ir/diagnostic.h"
#include "tests/random.h"
#include "tests/sample.h"
#include "verify/machine/machine.h"

enum { ITEMS = 24, MAX_LOOPS = 3 };

// ---- random steps -----------------------------------------------------------------------------

struct place_of_text {
    const char *name;
    int count, stride; // items, bytes
    bool scalar;
    int inner; // of what is stacked twice: so many items for each of count; else 0
};
static const struct place_of_text places[] = {
    {"w", ITEMS, 32, false, 0},       {"cell", 1, 32, false, 0},
    {"other", 1, 32, false, 0},       {"two", 2, 32, false, 0},
    {"three", 3, 96, false, 0},       {"stack", ITEMS, 32, false, 0},
    {"wide", 24, 64, false, 0},       {"sum", 1, 8, true, 0},
    {"sums", 2, 8, true, 0},          {"counts", ITEMS, 8, true, 0},
    {"rows", 2, 32, false, ITEMS},    {"columns", ITEMS, 32, false, 3},
    {"square", 12, 32, false, ITEMS},
};
enum { N_PLACES = sizeof places / sizeof *places };

struct loop_of_text {
    int begin, end;
};
struct writer {
    FILE *to;
    uint64_t random;
    struct loop_of_text loops[MAX_LOOPS];
    int depth, most_depth, n_left; // statements
};

static int pick(struct writer *w, int n) {
    return (int)(random_bits(&w->random) % (uint64_t)n);
}

static void write_offset(struct writer *w, int variable, int offset) {
    fprintf(w->to, "%c", 'i' + variable);
    if (offset)
        fprintf(w->to, "%+d", offset);
}

// A constant, a loop's variable with an offset that keeps it inside, or one modulo something.
static void write_index(struct writer *w, int count) {
    int variable = w->depth ? pick(w, w->depth) : 0;
    const struct loop_of_text *loop = &w->loops[variable];
    if (count == 1)
        return;
    if (w->depth == 0 || pick(w, 6) == 0) {
        fprintf(w->to, "[%d]", pick(w, count));
        return;
    }
    fputc('[', w->to);
    if (loop->end - loop->begin <= count && pick(w, 3)) {
        int low = -loop->begin, high = count - loop->end;
        int offset = pick(w, 3) - 1;
        write_offset(w, variable, offset < low ? low : offset > high ? high : offset);
    } else {
        write_offset(w, variable, pick(w, 4) - 1);
        fprintf(w->to, " mod %d", 2 + pick(w, count - 1));
    }
    fputc(']', w->to);
}

static void write_place(struct writer *w, bool scalar, bool write) {
    const struct place_of_text *place;
    do
        place = &places[pick(w, N_PLACES)];
    while (place->scalar != scalar || (write && place == places));
    fputs(place->name, w->to);
    write_index(w, place->count);
    if (place->inner)
        write_index(w, place->inner);
}

static void write_slot(struct writer *w) {
    fprintf(w->to, "%s", pick(w, 3) ? "go" : "come");
    if (w->depth == 0 || pick(w, 4) == 0) {
        fprintf(w->to, "[%d]", pick(w, 2));
        return;
    }
    fputc('[', w->to);
    write_offset(w, pick(w, w->depth), pick(w, 2));
    fprintf(w->to, " mod %d]", pick(w, 3) ? 2 : ITEMS + 2);
}

static void write_call(struct writer *w) {
    static const char *const names[] = {"copy", "copy", "copy", "bend", "times", "add", "add"};
    int which = pick(w, 7);
    bool scalar = pick(w, 4) == 0;
    fprintf(w->to, "call %s%s(x = ", names[which], scalar ? "_count" : "");
    write_place(w, scalar, false);
    if (which == 4) {
        fputs(", z = ", w->to);
        write_place(w, scalar, false);
    }
    fputs(which < 5 ? ") -> (y = " : ", sum = ", w->to);
    write_place(w, scalar, true);
    fputs(")\n", w->to);
}

static void write_block(struct writer *w, int n);

static struct loop_of_text write_bounds(struct writer *w) {
    static const int most[MAX_LOOPS] = {18, 7, 3}; // trips: sums in them grow fast
    int begin = pick(w, 4), end = begin + 2 + pick(w, most[w->depth]);
    fprintf(w->to, "%d .. %d", begin, end);
    return (struct loop_of_text){begin, end};
}

// A group of iterations in each of the loop around.
static struct loop_of_text write_bounds_of_group(struct writer *w) {
    const struct loop_of_text *outer = &w->loops[w->depth - 1];
    int stride = 1 + pick(w, 3), begin = pick(w, 2), end = begin + 1 + pick(w, 3);
    char variable = (char)('i' + w->depth - 1);
    fprintf(w->to, "%d*%c+%d .. %d*%c+%d", stride, variable, begin, stride, variable, end);
    return (struct loop_of_text){stride * outer->begin + begin, stride * (outer->end - 1) + end};
}

static void write_loop(struct writer *w) {
    fprintf(w->to, "for %c = ", 'i' + w->depth);
    bool group = w->depth && pick(w, 3) == 0;
    struct loop_of_text loop = group ? write_bounds_of_group(w) : write_bounds(w);
    fprintf(w->to, "%s {\n", pick(w, 3) ? "" : " descending");
    w->loops[w->depth++] = loop;
    write_block(w, 1 + pick(w, 4));
    w->depth--;
    fputs("}\n", w->to);
}

static void write_statement(struct writer *w) {
    int kind = pick(w, 24);
    bool scalar = pick(w, 4) == 0;
    if (kind < 6 && w->depth < w->most_depth) {
        write_loop(w);
    } else if (kind == 6) {
        fputs("zero ", w->to);
        write_place(w, scalar, true);
        fputc('\n', w->to);
    } else if (kind == 7) {
        fputs("free ", w->to);
        write_place(w, scalar, true);
        fputc('\n', w->to);
    } else if (kind == 8) {
        bool more = pick(w, 2);
        fprintf(w->to, "call %s(x = targets", more ? "count_more" : "count");
        write_index(w, ITEMS);
        fputs(more ? ", sum = " : ") -> (y = ", w->to);
        write_place(w, true, true);
        fputs(")\n", w->to);
    } else if (kind <= 11) {
        fputs("start all_reduce over dp as ", w->to);
        write_slot(w);
        fputs(" { ", w->to);
        write_place(w, false, false);
        fputs(" -> ", w->to);
        write_place(w, false, true);
        fputs(" }\n", w->to);
    } else if (kind <= 14) {
        fputs("wait ", w->to);
        write_slot(w);
        fputc('\n', w->to);
    } else {
        write_call(w);
    }
}

static void write_block(struct writer *w, int n) {
    for (int i = 0; i < n && w->n_left-- > 0; i++)
        write_statement(w);
}

// Everything holds something of its own at first.
static void write_beginning(struct writer *w) {
    for (int i = 1; i < N_PLACES; i++) {
        const struct place_of_text *place = &places[i];
        const char *unit = place->scalar ? "count" : "copy",
                   *from = place->scalar ? "targets" : "w";
        if (place->inner)
            fprintf(
                w->to,
                "for i = 0 .. %d { for j = 0 .. %d { call %s(x = %s[%s]) -> (y = %s[i][j]) } }\n",
                place->count, place->inner, unit, from, place->count > place->inner ? "i" : "j",
                place->name);
        else if (place->count == 1)
            fprintf(w->to, "call %s(x = %s[%d]) -> (y = %s)\n", unit, from, i, place->name);
        else
            fprintf(w->to, "for i = 0 .. %d { call %s(x = %s[i]) -> (y = %s[i]) }\n", place->count,
                    unit, from, place->name);
    }
}

static const char head[] =
    "step main {\n"
    "axis dp = 2\n"
    "sizes batch = 48 sequence = 2 microbatches = 24 layers = 24 vocab = 3\n"
    "policy parameters = f64 master = none moments = f64 gradients = f64 compute = f64\n"
    "  accumulate = f64 gather = f64 reduce = f64 reproducible = 0\n"
    "arena 100000\n"
    "tensor w [hidden=4] role norm layers 24 init ones saved \"w\"\n"
    "tensor table [vocab=3, hidden=4] role embedding init ones saved \"t\"\n"
    "buffer table : parameters f64[vocab=3, hidden=4] of table at 80000\n"
    "buffer targets : input i32[batch=48/dp, sequence=2] host targets microbatches 24 at 90000\n";
static const char units[] =
    "unit main.copy { phase forward parameter %x : f64[hidden=4] result %y\n"
    "%y = cast(%x) : f64[hidden=4] out }\n"
    "unit main.bend { phase forward parameter %x : f64[hidden=4] result %y\n"
    "%y = silu(%x) : f64[hidden=4] out }\n"
    "unit main.times { phase forward parameter %x : f64[hidden=4] parameter %z : f64[hidden=4]\n"
    "result %y %y = mul(%x, %z) : f64[hidden=4] out }\n"
    "unit main.add { phase forward parameter %x : f64[hidden=4] parameter %sum : f64[hidden=4]\n"
    "result %y in %sum %y = accumulate(%sum, %x) : f64[hidden=4] in %sum }\n"
    "unit main.copy_count { phase forward parameter %x : f64[] result %y\n"
    "%y = cast(%x) : f64[] out }\n"
    "unit main.bend_count { phase forward parameter %x : f64[] result %y\n"
    "%y = silu(%x) : f64[] out }\n"
    "unit main.times_count { phase forward parameter %x : f64[] parameter %z : f64[]\n"
    "result %y %y = mul(%x, %z) : f64[] out }\n"
    "unit main.add_count { phase forward parameter %x : f64[] parameter %sum : f64[]\n"
    "result %y in %sum %y = accumulate(%sum, %x) : f64[] in %sum }\n"
    "unit main.count { phase forward parameter %x : i32[batch=1, sequence=2] result %y\n"
    "%y = count_tokens(%x) : f64[] out }\n"
    "unit main.count_more { phase forward parameter %x : i32[batch=1, sequence=2]\n"
    "parameter %sum : f64[] result %y in %sum\n"
    "%n = count_tokens(%x) : f64[] inline\n"
    "%y = accumulate(%sum, %n) : f64[] in %sum }\n"
    "unit main.pair { phase forward parameter %x : i32[batch=1, sequence=2]\n"
    "parameter %z : i32[batch=1, sequence=2] parameter %t : f64[vocab=3, hidden=4] result %y\n"
    "%r = iota() {dimension=vocab} : i32[vocab=3] inline\n"
    "%a = embedding(%x, %t, %r) : f64[batch=1, sequence=2, hidden=4] inline\n"
    "%b = embedding(%z, %t, %r) : f64[batch=1, sequence=2, hidden=4] inline\n"
    "%p = mul(%a, %b) : f64[batch=1, sequence=2, hidden=4] inline\n"
    "%y = square_sum(%p) : f64[] out }\n";
// Offsets for all: one behind the other, or some where others are.
static void choose_offsets(struct writer *w, bool overlapping, int offsets[N_PLACES]) {
    int end = 0;
    for (int i = 0; i < N_PLACES; i++) {
        bool shares = overlapping && i > 1 && pick(w, 3) == 0;
        offsets[i] = shares ? pick(w, end) / 8 * 8 : end;
        int rows = places[i].inner ? places[i].inner : 1;
        int own = offsets[i] + places[i].count * rows * places[i].stride;
        end = own > end ? own : end;
    }
}

static void write_buffers(struct writer *w, const int offsets[N_PLACES]) {
    for (int i = 0; i < N_PLACES; i++) {
        const struct place_of_text *place = &places[i];
        fprintf(w->to, "buffer %s : %s f64[%s] ", place->name, i ? "transient" : "parameters",
                place->scalar ? "" : "hidden=4");
        if (i == 0)
            fputs("of w layers 24 ", w->to);
        else if (place->inner)
            fprintf(w->to, "%s %d, %s %d ", place->count > place->inner ? "layers" : "slots",
                    place->count, place->count > place->inner ? "slots" : "layers", place->inner);
        else if (place->count > 1)
            fprintf(w->to, "slots %d ", place->count);
        if (place->stride > 32)
            fprintf(w->to, "pad %d ", place->stride / 8);
        fprintf(w->to, "at %d\n", offsets[i]);
    }
}

static char *finish(struct writer *w, struct arena *arena, char **text, size_t *length) {
    fprintf(w->to, "}\n}\n%s", units);
    fclose(w->to);
    char *kept = arena_string(arena, *text, *length);
    free(*text);
    return kept;
}

// The reference has no loops in one another.
static char *random_step(struct arena *arena, uint64_t seed, bool is_reference) {
    char *text;
    size_t length;
    int offsets[N_PLACES];
    struct writer w = {.to = open_memstream(&text, &length), .random = seed * 37 + 11};
    fputs(head, w.to);
    choose_offsets(&w, pick(&w, 2), offsets);
    write_buffers(&w, offsets);
    fputs("train {\n", w.to);
    write_beginning(&w);
    w.n_left = 16;
    w.most_depth = is_reference ? 1 : MAX_LOOPS;
    write_block(&w, 16);
    return finish(&w, arena, &text, &length);
}

static int find_place(const char *name) {
    for (int i = 0; i < N_PLACES; i++)
        if (strcmp(places[i].name, name) == 0)
            return i;
    fail_msg("no place `%s`", name);
    return 0;
}

// A step of these statements. `moved` (NULL: nothing) is put `bytes` behind the beginning of `to`.
static char *known_step(struct arena *arena, const char *statements, const char *moved,
                        const char *to, int bytes) {
    char *text;
    size_t length;
    int offsets[N_PLACES];
    struct writer w = {.to = open_memstream(&text, &length)};
    fputs(head, w.to);
    choose_offsets(&w, false, offsets);
    if (moved)
        offsets[find_place(moved)] = offsets[find_place(to)] + bytes;
    write_buffers(&w, offsets);
    fprintf(w.to, "train {\n%s", statements);
    return finish(&w, arena, &text, &length);
}

// ---- executing them ---------------------------------------------------------------------------

struct trial {
    struct arena arena;
    struct source_files sources;
    struct diagnostics *diagnostics;
    const struct program *program;
    const char *text;
};

static bool begin(struct trial *t, char *text) {
    *t = (struct trial){0};
    t->text = text;
    t->diagnostics = diagnostics_new(&t->arena, &t->sources);
    uint32_t source = source_add(&t->sources, &t->arena, "step.place", text, strlen(text));
    struct text_error error;
    struct program *program = job_only(job_parse(&t->arena, text, strlen(text), source, &error));
    if (!program)
        fail_msg("%s at `%.60s`", error.message, text + error.span.begin);
    job_number(program->job);
    t->program = program;
    return job_check(program->job, &t->arena, NULL) == NULL;
}

enum way { BY_INDUCTION, ONE_BY_ONE, WITHOUT_MEMO, N_WAYS }; // each without what the one before has
static const char *const ways[] = {"by induction", "one by one", "without memo"};

// False: it would take more than a check may.
static bool execute(struct trial *t, struct abstract_machine *m, enum way way, bool is_reference) {
    struct terms *terms = ARENA_NEW(&t->arena, struct terms);
    terms_init(terms, &t->arena, (int32_t)t->program->job->sizes.microbatches);
    abstract_machine_init(m, t->program, terms, &t->arena, t->diagnostics,
                          (struct proof_kind){.is_reference = is_reference});
    m->one_by_one = way != BY_INDUCTION;
    m->without_memo = way == WITHOUT_MEMO;
    return step_execute(m, STEP_TRAIN);
}

static const char *item_text(struct trial *t, struct abstract_machine *m, buffer_id id,
                             int64_t item) {
    struct judgement found = store_at_end(m, id, item, "");
    const struct fault *fault = found.fault;
    if (fault)
        return arena_format(&t->arena, "%s at %u", diagnostic_rows[fault->code].text,
                            fault->span.begin);
    return arena_format(&t->arena, "%s as %s, partial %u, equal %u, microbatch %d",
                        term_text(m->world, found.value, 4),
                        form_text(&m->world->digits, &t->arena, found.form), found.partial,
                        found.bits, found.microbatch);
}

static bool both_faults(struct abstract_machine *a, struct abstract_machine *b, buffer_id id,
                        int64_t item) {
    return store_at_end(a, id, item, "").fault && store_at_end(b, id, item, "").fault;
}

// Whether all items are the same. Where two faults meet the older one is told, and a memo makes all
// of one call as old as the first of them; so only their being there is compared, unless
// `same_faults`.
static bool same_items(struct trial *t, struct abstract_machine *a, struct abstract_machine *b,
                       bool same_faults) {
    for (buffer_id id = 0; id < t->program->n_buffers; id++)
        for (int64_t i = 0; i < buffer_items(&t->program->buffers[id]); i++) {
            const char *x = item_text(t, a, id, i), *y = item_text(t, b, id, i);
            if (strcmp(x, y) == 0 || (!same_faults && both_faults(a, b, id, i)))
                continue;
            print_error("%s[%d]: %s, and in the plainer way %s\n", t->program->buffers[id].name,
                        (int)i, x, y);
            return false;
        }
    return true;
}

// What is wrong whatever becomes of it.
static bool all_insisted(struct abstract_machine *in, struct abstract_machine *of) {
    for (uint32_t i = 0; i < of->proof->insisted.n; i++) {
        bool found = false;
        for (uint32_t k = 0; k < in->proof->insisted.n && !found; k++)
            found = fault_same_cause(of->proof->insisted.items[i], in->proof->insisted.items[k]);
        if (!found) {
            print_error("not in both: %s\n", of->proof->insisted.items[i]->message);
            return false;
        }
    }
    return true;
}

static void random_steps_end_alike(void **state) {
    uint64_t first = getenv("SEED") ? strtoull(getenv("SEED"), NULL, 10) : 0;
    uint64_t n = getenv("SEED") ? 1 : getenv("PLACE_TEST_FULL") ? 50000 : 1000;
    uint64_t every = (uint64_t)sample_every() | 1; // odd: what a seed makes depends on its parity
    unsigned n_failed = 0, n_executed = 0, n_shorter = 0, n_too_long = 0;
    for (uint64_t seed = first; seed < first + n; seed += every) {
        struct trial t;
        struct arena texts = {0};
        if (begin(&t, random_step(&texts, seed, seed % 2))) {
            struct abstract_machine machines[N_WAYS];
            bool is_followed = true;
            for (enum way way = 0; way < N_WAYS; way++)
                is_followed = execute(&t, &machines[way], way, seed % 2) && is_followed;
            n_too_long += !is_followed;
            bool same = !is_followed ||
                        (same_items(&t, &machines[BY_INDUCTION], &machines[ONE_BY_ONE], true) &&
                         same_items(&t, &machines[ONE_BY_ONE], &machines[WITHOUT_MEMO], false) &&
                         all_insisted(&machines[BY_INDUCTION], &machines[WITHOUT_MEMO]) &&
                         all_insisted(&machines[WITHOUT_MEMO], &machines[BY_INDUCTION]));
            if (!same)
                fprintf(stderr, "seed %d\n%s\n", (int)seed, getenv("PRINT") ? t.text : "");
            n_executed++;
            n_failed += !same;
            n_shorter += machines[BY_INDUCTION].cursor->n_statements <
                         machines[ONE_BY_ONE].cursor->n_statements;
        }
        arena_free(&t.arena);
        arena_free(&texts);
    }
    print_message("%u steps, %u shorter by induction, %u too long to follow, %u differ\n",
                  n_executed, n_shorter, n_too_long, n_failed);
    assert_int_equal(n_failed, 0);
    assert_true(getenv("SEED") || n_too_long * 1000 <= n_executed);
    assert_true(getenv("SEED") || n_shorter * 2 > n_executed);
}

// ---- known ones -------------------------------------------------------------------------------

#define EVERYWHERE "for i = 0 .. 24 { call copy(x = w[i]) -> (y = stack[i]) }\n"
#define ALL_GO                                                                                     \
    "for i = 0 .. 24 { start all_reduce over dp as go[i mod 26] { stack[i] -> stack[i] } }\n"
#define ALL_COME "for i = 0 .. 24 { wait go[i mod 26] }\n"

#define ALL_ALIKE                                                                                  \
    "for i = 0 .. 24 { for j = 0 .. 3 { call copy(x = w[3]) -> (y = columns[i][j]) } }\n"          \
    "for i = 0 .. 12 { for j = 0 .. 24 { call copy(x = w[3]) -> (y = square[i][j]) } }\n"

static const struct known {
    const char *name, *statements;
    const char *moved, *to; // into whose bytes
    int bytes;
    struct {
        const char *place;
        int item;
        const char *holds; // what its text begins with
    } expected[3];
} knowns[] = {
    {"what was there an iteration before, which is the same twice at first",
     "call copy(x = w[0]) -> (y = cell)\n"
     "call copy(x = w[0]) -> (y = other)\n"
     "for i = 1 .. 20 { call copy(x = cell) -> (y = other) call copy(x = w[i]) -> (y = cell) }\n",
     NULL,
     NULL,
     0,
     {{"other", 0, "w[18]"}, {"cell", 0, "w[19]"}}},
    {"one of many transfers is disturbed",
     EVERYWHERE ALL_GO "zero stack[3]\n" ALL_COME,
     NULL,
     NULL,
     0,
     {{"stack", 2, "2 * w[2]"}, {"stack", 3, "E610"}, {"stack", 4, "2 * w[4]"}}},
    {"some of many transfers are disturbed by who shares their bytes",
     EVERYWHERE ALL_GO "zero wide[2]\n" ALL_COME,
     "wide",
     "stack",
     16, // wide[2] has bytes 144 .. 208 of the stack: its items 4, 5, 6
     {{"stack", 3, "2 * w[3]"}, {"stack", 4, "E610"}, {"stack", 7, "2 * w[7]"}}},
    {"the same in a loop over them",
     EVERYWHERE ALL_GO "for i = 2 .. 5 { zero wide[i] }\n" ALL_COME,
     "wide",
     "stack",
     16,
     {{"stack", 3, "2 * w[3]"}, {"stack", 10, "E610"}, {"stack", 11, "2 * w[11]"}}},
    {"bytes are written while a transfer fills them",
     "start all_reduce over dp as go[0] { w[0] -> cell }\n"
     "call copy(x = w[1]) -> (y = other)\n"
     "wait go[0]\n",
     "other",
     "cell",
     0,
     {{"cell", 0, "E610"}, {"other", 0, "E611"}}},
    {"bytes are written and read while a transfer fills them",
     "start all_reduce over dp as go[0] { w[0] -> cell }\n"
     "call copy(x = w[1]) -> (y = other)\n"
     "call copy(x = other) -> (y = two[0])\n"
     "wait go[0]\n",
     "other",
     "cell",
     0,
     {{"two", 0, "E610"}}},
    {"bytes are freed while a transfer fills them",
     "start all_reduce over dp as go[0] { w[0] -> cell }\n"
     "free other\n"
     "wait go[0]\n",
     "other",
     "cell",
     0,
     {{"cell", 0, "E610"}}},
    {"two transfers fill the same bytes",
     "start all_reduce over dp as go[0] { w[0] -> cell }\n"
     "start all_reduce over dp as go[1] { w[1] -> other }\n"
     "wait go[0]\n"
     "wait go[1]\n",
     "other",
     "cell",
     16,
     {{"other", 0, "E610"}, {"cell", 0, "E611"}}},
    {"a mistake in all iterations but one, first where that one is not",
     "for i = 0 .. 6 { call pair(x = targets[i], z = targets[9], t = table) -> (y = counts[i]) }\n"
     "for i = 0 .. 20 { call pair(x = targets[i], z = targets[9], t = table) -> (y = counts[i]) "
     "}\n",
     NULL,
     NULL,
     0,
     {{"counts", 8, "E512"}, {"counts", 9, "(square_sum"}, {"counts", 10, "E512"}}},
    {"a sum of two, which are one where an invariant is looked for first",
     "for i = 2 .. 12 { call copy(x = w[3]) -> (y = cell) call add(x = w[i], sum = cell) }\n",
     NULL,
     NULL,
     0,
     {{"cell", 0, "(w[3] + w[11])"}}},
    {"all microbatches but the last, and all",
     "zero sum\n"
     "for i = 0 .. 23 { call count(x = targets[i]) -> (y = sums[0]) call add_count(x = sums[0], "
     "sum = sum) }\n"
     "call copy_count(x = sum) -> (y = sums[1])\n"
     "call count(x = targets[23]) -> (y = counts[0])\n"
     "call add_count(x = counts[0], sum = sum)\n",
     NULL,
     NULL,
     0,
     {{"sums", 1, "(count_tokens(targets) of microbatches 0..22)"},
      {"sum", 0, "count_tokens(targets)"}}},
    {"what was collected keeps its microbatches in another one's call",
     "zero sum\n"
     "call count_more(x = targets[2], sum = sum)\n"
     "call copy_count(x = sum) -> (y = sums[0])\n"
     "call copy_count(x = sum) -> (y = sums[1])\n"
     "call count_more(x = targets[1], sum = sums[0])\n"
     "call count_more(x = targets[0], sum = sums[1])\n"
     "call count_more(x = targets[3], sum = sum)\n",
     NULL,
     NULL,
     0,
     {{"sums", 0, "(count_tokens(targets) of microbatches 1..2)"},
      {"sums", 1,
       "(count_tokens(targets) of microbatches 0..0 + count_tokens(targets) of "
       "microbatches 2..2)"},
      {"sum", 0, "(count_tokens(targets) of microbatches 2..3)"}}},
    {"a stack is written over another of smaller items, from which it is read",
     EVERYWHERE "for i = 0 .. 12 { call copy(x = stack[i]) -> (y = wide[i]) }\n",
     "wide",
     "stack",
     256, // wide[i] begins where stack[8 + 2 i] does
     {{"wide", 7, "w[7]"}, {"wide", 8, "E611"}, {"wide", 11, "E611"}}},
    {"some rows are not as those before",
     ALL_ALIKE "for i = 18 .. 24 { call copy(x = w[4]) -> (y = columns[i][1]) }\n"
               "for i = 0 .. 23 { call copy(x = columns[i][1]) -> (y = cell) }\n"
               "for i = 0 .. 24 { call copy(x = columns[i][i mod 3]) -> (y = other) }\n",
     NULL,
     NULL,
     0,
     {{"cell", 0, "w[4]"}, {"other", 0, "w[3]"}, {"columns", 18 * 3 + 1, "w[4]"}}},
    {"a row is lost, and a place in each",
     ALL_ALIKE
     "free columns[20][2]\n"
     "for i = 0 .. 21 { call copy(x = columns[i][2]) -> (y = cell) }\n"
     "for i = 0 .. 12 { free square[i][23] }\n"
     "for i = 0 .. 12 { for j = 0 .. 24 { call copy(x = square[i][j]) -> (y = other) } }\n",
     NULL,
     NULL,
     0,
     {{"cell", 0, "E611"}, {"other", 0, "E611"}}},
    {"the last of a square",
     ALL_ALIKE
     "call copy(x = w[5]) -> (y = square[11][23])\n"
     "for i = 0 .. 12 { for j = 0 .. 24 { call copy(x = square[i][j]) -> (y = cell) } }\n"
     "for i = 0 .. 24 { for j = 0 .. 12 { call copy(x = square[j][i]) -> (y = other) } }\n",
     NULL,
     NULL,
     0,
     {{"cell", 0, "w[5]"}, {"other", 0, "w[5]"}}},
    {"rows as long as groups, of which some are not as those before",
     ALL_ALIKE "for i = 15 .. 24 { call copy(x = w[4]) -> (y = columns[i][1]) }\n"
               "for i = 0 .. 20 {\n"
               "for j = 3*i .. 3*i+3 { call copy(x = w[j mod 24]) -> (y = cell) }\n"
               "call copy(x = columns[i][1]) -> (y = other)\n"
               "call copy(x = w[i]) -> (y = columns[i][2])\n"
               "}\n",
     NULL,
     NULL,
     0,
     {{"other", 0, "w[4]"}, {"columns", 19 * 3 + 2, "w[19]"}, {"columns", 20 * 3 + 2, "w[3]"}}},
    {"rows that are used in turn",
     "for i = 0 .. 24 {\n"
     "for j = 0 .. 24 { call copy(x = w[i]) -> (y = rows[i mod 2][j]) }\n"
     "for j = 0 .. 24 { call copy(x = rows[i mod 2][j]) -> (y = square[i mod 12][j]) }\n"
     "}\n",
     NULL,
     NULL,
     0,
     {{"rows", 47, "w[23]"}, {"rows", 0, "w[22]"}, {"square", 11 * 24, "w[23]"}}},
};

static void known_steps_end_as_expected(void **state) {
    for (size_t i = 0; i < sizeof knowns / sizeof *knowns; i++)
        for (enum way way = 0; way < N_WAYS; way++) {
            const struct known *known = &knowns[i];
            struct trial t;
            struct arena texts = {0};
            struct abstract_machine m;
            assert_true(begin(
                &t, known_step(&texts, known->statements, known->moved, known->to, known->bytes)));
            assert_true(execute(&t, &m, way, false));
            for (int k = 0; k < 3 && known->expected[k].place; k++) {
                buffer_id id = program_find_buffer(t.program, known->expected[k].place);
                const char *found = item_text(&t, &m, id, known->expected[k].item);
                if (strncmp(found, known->expected[k].holds, strlen(known->expected[k].holds)))
                    fail_msg("%s, %s: %s[%d] holds %s", known->name, ways[way],
                             known->expected[k].place, known->expected[k].item, found);
            }
            arena_free(&t.arena);
            arena_free(&texts);
        }
}

// ---- the verdict about what loops leave behind ------------------------------------------------

// How many things are told; 0: it is accepted.
static uint32_t judge_step(const char *statements) {
    struct trial reference, final;
    struct arena texts = {0};
    assert_true(begin(&reference, known_step(&texts, "", NULL, NULL, 0)));
    assert_true(begin(&final, known_step(&texts, statements, NULL, NULL, 0)));
    enum verdict_kind kind =
        verify(reference.program, final.program->job, &final.arena, final.diagnostics).kind;
    uint32_t n_told = final.diagnostics->n_items;
    assert_int_equal(kind == VERDICT_ACCEPTED, n_told == 0);
    arena_free(&reference.arena);
    arena_free(&final.arena);
    arena_free(&texts);
    return n_told;
}

// The reference changes no parameter. What some layers have lost does not hide what is wrong with
// others; of those one is told.
static void every_layer_is_compared(void **state) {
    assert_int_equal(judge_step("for i = 0 .. 24 {\n call copy(x = w[i]) -> (y = cell)\n"
                                "call copy(x = cell) -> (y = w[i])\n}\n"),
                     0);
    assert_int_equal(judge_step("for i = 0 .. 24 {\n call copy(x = w[0]) -> (y = cell)\n"
                                "call copy(x = cell) -> (y = w[i])\n}\n"),
                     1);
    assert_int_equal(judge_step("for i = 0 .. 23 {\n call copy(x = w[i]) -> (y = cell)\n"
                                "call copy(x = cell) -> (y = w[i+1])\n}\n"),
                     1);
    assert_int_equal(judge_step("free w[23]\n"), 1);
    assert_int_equal(judge_step("zero w[12]\n"), 1);
    assert_int_equal(judge_step("zero w[12]\nzero w[13]\n"), 1);
    assert_int_equal(judge_step("free w[0]\nfree w[1]\nzero w[12]\n"), 3);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(known_steps_end_as_expected),
                                       cmocka_unit_test(every_layer_is_compared),
                                       cmocka_unit_test(random_steps_end_alike)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
