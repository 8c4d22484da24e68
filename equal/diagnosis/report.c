// What is said of a cause: the instruction with its place in the user's program, which axis or factor it is about, and
// numbers that show the difference, or else both terms to where they differ.
#include "equal/diagnosis/report.h"

#include <inttypes.h>
#include <math.h>

#include "equal/values/print.h"

enum { MOST_FRAMES = 6, SHOWN_LEVELS = 2 };

struct reporting {
    const struct finding *f;
    const struct pairing *pairing;
    const struct unproved *of;
    const struct cause *cause;
    const struct witness *witness;
    struct arena *arena;
};

static const char *axes_text(const struct reporting *r, uint64_t axes) {
    const char *text = "";
    for (uint32_t a = 0; a < r->f->terms->mesh->n_axes; a++)
        if (axes >> a & 1)
            text = arena_format(r->arena, "%s%s%s", text, *text ? " and " : "",
                                r->f->terms->mesh->axes[a].name);
    return text;
}

static const char *place_text(const struct reporting *r, const struct instruction *by) {
    const char *place = graph_place(r->f->many->graph, by, r->arena);
    return place ? place : arena_format(r->arena, "%%%s", by->name);
}

// Parameters have names.
static const char *name_of(const struct instruction *by) {
    return by->path ? by->path : by->name;
}

static const char *read_text(const struct reporting *r) {
    const struct instruction *found = r->cause->operand, *expected = r->cause->expected;
    if (found->primitive == PRIM_PARAMETER && expected && expected->primitive == PRIM_PARAMETER)
        return arena_format(r->arena, "`%s` is read where one device reads `%s`", name_of(found),
                            name_of(expected));
    return "another value is read than one device reads here";
}

// An instruction's word, as its text has it.
static const char *word_of(const struct instruction *by) {
    return by->primitive == PRIM_OPAQUE ? by->attributes->target
                                        : primitive_rows[by->primitive].word;
}

static const char *message(const struct reporting *r) {
    const struct cause *c = r->cause;
    switch (c->kind) {
    case CAUSE_SUMMAND:
        return c->operand == c->at
                   ? arena_format(r->arena, "is a summand over %s only", axes_text(r, c->axes))
                   : arena_format(r->arena, "a summand over %s is read as if it were the sum",
                                  axes_text(r, c->axes));
    case CAUSE_PART:
        return arena_format(r->arena, "the largest of a part is read as that of all over %s",
                            axes_text(r, c->axes));
    case CAUSE_FACTOR:
        if (c->denominator == 1)
            return arena_format(r->arena, "it is %" PRId64 " times what it should be",
                                c->numerator);
        return arena_format(r->arena, "it is %" PRId64 "/%" PRId64 " of what it should be",
                            c->numerator, c->denominator);
    case CAUSE_UNREAD:
        return arena_format(r->arena, "`%s` cannot be followed: %s", word_of(c->at), c->why);
    case CAUSE_MOVED:
        return "its elements are not those that one device has at their places";
    case CAUSE_READ:
        return read_text(r);
    case CAUSE_OTHER:
        return "this is no value of the program of one device, nor a part of one";
    default:
        return "it is another value of the program of one device";
    }
}

static void add_frames(const struct reporting *r, struct diagnostic *d) {
    const struct graph *graph = r->f->many->graph;
    const char *chain = "";
    uint32_t n = 0;
    for (uint32_t at = r->cause->at->frame; at && n < MOST_FRAMES; at = graph->frames[at].parent) {
        const struct source_frame *frame = &graph->frames[at];
        chain = arena_format(r->arena, "%s%s%s:%u%s%s", chain, n ? ", called at " : "", frame->file,
                             frame->line, frame->function ? " " : "",
                             frame->function ? frame->function : "");
        n++;
    }
    if (n)
        diagnostic_note(d, "in the user's program: %s", chain);
}

// What one device has there: a parameter by its name, else what makes it.
static void add_expected(const struct reporting *r, struct diagnostic *d) {
    const struct instruction *by = r->cause->expected;
    if (!by)
        return;
    const char *place = graph_place(r->f->numbers->one->graph, by, r->arena);
    if (by->primitive == PRIM_PARAMETER)
        diagnostic_note(d, "one device has `%s` there", name_of(by));
    else
        diagnostic_note(d, "one device has the %s of %s there", primitive_rows[by->primitive].word,
                        place ? place : by->name);
}

// What is no number is printed with a sign that says nothing.
static double without_sign(double number) {
    return isnan(number) ? fabs(number) : number;
}

static void add_contradiction(const struct reporting *r, struct diagnostic *d) {
    const struct difference *x = &r->witness->difference;
    if (!r->of->is_contradicted)
        return;
    if (r->witness->infinities || !isfinite(x->one) || !isfinite(x->many))
        diagnostic_note(d,
                        "the laws of real numbers make it equal: what is infinite, or no number, "
                        "has none, and one of the programs %s such",
                        r->witness->infinities ? "writes" : "makes");
    else
        diagnostic_note(d, "the laws of real numbers make it equal; that they do is a mistake of "
                           "placec, which its makers would like to know");
}

static void add_witness(const struct reporting *r, struct diagnostic *d) {
    const struct difference *x = &r->witness->difference;
    const struct array_layout *layout = &r->pairing->results[x->result];
    const char *index = "";
    if (r->witness->kind == WITNESS_DIFFERENT) {
        for (uint32_t k = 0; k < layout->shape->rank; k++)
            index = arena_format(r->arena, "%s%s%" PRId64, index, k ? "," : "", x->index[k]);
        diagnostic_note(d,
                        "executed on inputs drawn at random, device %u has %.6g at [%s] of result "
                        "`%s`, one device %.6g",
                        x->device, without_sign(x->many), index, layout->name,
                        without_sign(x->one));
        add_contradiction(r, d);
        return;
    }
    if (r->witness->kind == WITNESS_SAME)
        diagnostic_note(d, "executed on inputs drawn at random, both give the same");
    else
        diagnostic_note(d, "they were not executed: %s",
                        r->witness->why ? r->witness->why : "they cannot be");
    struct scaled a = r->of->expected.of, b = r->of->found.of;
    term_difference(r->f->terms->c, &a, &b);
    diagnostic_note(d, "one device: %s", term_words(r->f->terms->c, a, SHOWN_LEVELS, r->arena));
    diagnostic_note(d, "each device: %s", term_words(r->f->terms->c, b, SHOWN_LEVELS, r->arena));
}

// The parameter that has this block of inputs.
static const struct array_layout *parameter_of(const struct pairing *pairing, int64_t block) {
    for (uint32_t i = 0; i < pairing->n_parameters; i++) {
        int64_t n_blocks = 1;
        for (uint32_t k = 0; k < pairing->parameters[i].shape->rank; k++)
            n_blocks *= pairing->parameters[i].dimensions[k].n_segments;
        if (block < n_blocks)
            return &pairing->parameters[i];
        block -= n_blocks;
    }
    return NULL;
}

// A parameter of integers on which what is not proved depends, and of which no bounds are assumed. NULL: there is none.
static const struct array_layout *find_unbounded(const struct reporting *r) {
    const struct calculus *c = r->f->terms->c;
    bool *reached = ARENA_ARRAY(r->arena, bool, c->terms.n_nodes);
    reached[r->of->expected.of.of.node] = reached[r->of->found.of.of.node] = true;
    for (uint32_t n = c->terms.n_nodes; n-- > 0;) { // parts are older than what is made of them
        const struct node *node = &c->terms.nodes[n];
        for (uint32_t i = 0; reached[n] && i < node->n_parts; i++)
            reached[node->key->parts[i].node] = true;
        if (!reached[n] || node->key->kind != KIND_INPUT)
            continue;
        int64_t block = (int64_t)node->key->attributes - 1;
        const struct array_layout *input = parameter_of(r->pairing, block);
        if (!input)
            continue;
        enum number_kind kind = element_rows[input->shape->element].kind;
        const struct bounds *bounds = &c->bounds[block];
        if ((kind == NUMBER_INTEGER && !(bounds->below && bounds->above)) ||
            (kind == NUMBER_UNSIGNED && !bounds->above))
            return input;
    }
    return NULL;
}

// Guards and clamps are decided by bounds, which no text has.
static void add_bounds(const struct reporting *r, struct diagnostic *d) {
    const struct array_layout *input = find_unbounded(r);
    if (input)
        diagnostic_help(d, "if `%s` has only so many values, N, say so: `--assume '0<=%s<N'`",
                        input->name, input->name);
}

static void add_help(const struct reporting *r, struct diagnostic *d) {
    const struct cause *c = r->cause;
    if (c->kind == CAUSE_SUMMAND)
        diagnostic_help(d, "sum it over %s first (all_reduce, or psum in JAX)",
                        axes_text(r, c->axes));
    else if (c->kind == CAUSE_PART)
        diagnostic_help(d, "take the largest over %s first (pmax in JAX)", axes_text(r, c->axes));
    else if (r->witness->kind != WITNESS_DIFFERENT && c->kind != CAUSE_UNREAD)
        add_bounds(r, d);
}

void report_unproved(const struct finding *f, const struct pairing *pairing,
                     const struct unproved *of, const struct cause *cause,
                     const struct witness *witness, struct diagnostics *diagnostics) {
    struct reporting r = {f, pairing, of, cause, witness, diagnostics->arena};
    enum diagnostic_code code = witness->kind == WITNESS_DIFFERENT ? E920 : E921;
    struct diagnostic *d =
        report(diagnostics, code, cause->at->span, "%s: result `%s`: %s", place_text(&r, cause->at),
               pairing->results[cause->result].name, message(&r));
    if (cause->operand && cause->operand != cause->at)
        diagnostic_label(d, cause->operand->span,
                         cause->kind == CAUSE_READ ? "it is made here, at %s"
                                                   : "a device's summand is made here, at %s",
                         place_text(&r, cause->operand));
    if (of->n_unproved > 1)
        diagnostic_note(d, "it is the first of %u results that are not proved", of->n_unproved);
    add_frames(&r, d);
    add_expected(&r, d);
    add_witness(&r, d);
    add_help(&r, d);
}
