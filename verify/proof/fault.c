// Faults, and the words for axes, scales and terms in messages.
#include "verify/algebra/attributes.h"
#include "verify/algebra/facts.h"
#include "verify/algebra/given.h"
#include "verify/machine/engine.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

// "m = 0, l = 11". A fault in the first iteration of all loops is one of the loop as a whole.
const char *iteration_text(const struct engine *e) {
    const char *text = "", *between = "";
    int64_t values[LIMIT_LOOP_DEPTH];
    bool first = true;
    for (int i = 0; i < e->depth; i++) {
        const struct loop *loop = &e->loops[i]->loop;
        int64_t value = number_first(&e->terms->symbols, e->variables[i]);
        values[i] = value;
        first = first && value == loop_variable(loop, i, 0, values);
        text = arena_format(e->arena, "%s%s%s = %" PRId64, text, between, loop->name, value);
        between = ", ";
    }
    return first ? NULL : text;
}

enum { LAST = 1 << 30 };

uint32_t next_order(struct engine *e) {
    return ++e->n_faults;
}

void fault_last(struct fault *fault) {
    fault->order += LAST;
}

struct fault *fault_make(struct engine *e, enum diagnostic_code code, struct span span,
                         const char *said, const char *format, ...) {
    char message[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    struct fault *fault = ARENA_NEW(e->arena, struct fault);
    *fault = (struct fault){.code = code,
                            .span = span,
                            .message = arena_string(e->arena, message, strlen(message)),
                            .said = said,
                            .when = iteration_text(e),
                            .order = next_order(e),
                            .made = e->history ? e->history->open : 0};
    return fault;
}

void fault_also(struct fault *fault, struct span other, const char *said) {
    fault->other = other;
    fault->other_said = said;
}

struct fault *fault_caused_by(struct fault *fault, const struct span *start) {
    fault->by = start;
    return fault;
}

void fault_insist(struct engine *e, const struct fault *fault) {
    // Loops come by again: once per place and code is enough.
    for (uint32_t i = 0; i < e->n_insisted; i++)
        if (fault_same_cause(e->insisted[i], fault))
            return;
    ARENA_PUSH(e->arena, e->insisted, e->n_insisted, e->cap_insisted, fault);
}

static bool same_place(const struct fault *a, const struct fault *b) {
    return a->code == b->code && a->span.source == b->span.source && a->span.begin == b->span.begin;
}

bool fault_alike(const struct fault *a, const struct fault *b) {
    return same_place(a, b) && a->by == b->by;
}

bool fault_same_cause(const struct fault *a, const struct fault *b) {
    return same_place(a, b) || (a->by && a->by == b->by);
}

const struct fault *fault_first(const struct fault *a, const struct fault *b) {
    if (!a || !b)
        return a ? a : b;
    return a->order < b->order ? a : b;
}

struct diagnostic *fault_report(struct engine *e, const struct fault *fault) {
    struct diagnostic *d = report(e->diagnostics, fault->code, fault->span, "%s", fault->message);
    if (fault->said)
        diagnostic_say(d, "%s", fault->said);
    if (fault->other_said)
        diagnostic_note_at(d, fault->other, "%s", fault->other_said);
    if (fault->when)
        diagnostic_note(d, "first so in the iteration with %s", fault->when);
    if (fault->effect)
        diagnostic_note(d, "%s", fault->effect);
    if (fault->help)
        diagnostic_help(d, "%s", fault->help);
    return d;
}

// ---- words ------------------------------------------------------------------------------------

// A stream into the engine's arena.
struct words {
    FILE *to;
    char *text;
    size_t length;
};

static void words_begin(struct words *words) {
    words->to = memory_given(open_memstream(&words->text, &words->length));
}

static const char *words_end(struct words *words, struct arena *arena) {
    memory_written(words->to);
    const char *kept = arena_string(arena, words->text, words->length);
    free(words->text);
    return kept;
}

const char *mask_text(const struct engine *e, uint32_t mask) {
    struct words words;
    words_begin(&words);
    const char *between = "";
    for (unsigned i = 0; i < e->program->mesh.n_axes; i++)
        if (mask >> i & 1) {
            fprintf(words.to, "%s`%s`", between, e->program->mesh.axes[i].name);
            between = " and ";
        }
    return words_end(&words, e->arena);
}

// Of iterations that stand for many the first is told about, while their loop lasts: what was
// computed from them keeps its numbers longer.
static void print_number(const struct engine *e, FILE *to, int32_t number) {
    if (number_is_known(&e->terms->symbols, number))
        fprintf(to, "%" PRId64, number_first(&e->terms->symbols, number));
    else
        fputs("...", to);
}

static void print_term(const struct engine *e, FILE *to, struct scaled value, int depth);

static void print_scale(const struct engine *e, FILE *to, scale_id id) {
    const struct scale *scale = scale_get(e->terms, id);
    if (scale->serial) {
        fputs("a scale out of range", to);
        return;
    }
    fprintf(to, "%" PRId64, scale->numerator);
    if (scale->denominator != 1)
        fprintf(to, "/%" PRId64, scale->denominator);
    for (uint32_t i = 0; i < scale->n_factors; i++) {
        fputs(scale->factors[i].power < 0 ? "/" : "*", to);
        print_term(e, to, (struct scaled){scale->factors[i].of, SCALE_ONE}, 1);
        if (abs(scale->factors[i].power) != 1)
            fprintf(to, "^%d", abs(scale->factors[i].power));
    }
}

static void print_leaf(const struct engine *e, FILE *to, const struct node *node) {
    const struct intern *names = &e->terms->attributes;
    switch (node->key->kind) {
    case NODE_STATE: { // a byte for the kind of state, then the name
        const char *name = interned(names, node->key->attributes);
        fprintf(to, "%s", name + 1);
        if (name[0] != 'A' + CLASS_PARAMETERS)
            fprintf(to, ".%s", class_names[name[0] - 'A']);
        break;
    }
    case NODE_INPUT:
        fputs((const char *)interned(names, node->key->attributes) + 1, to);
        break;
    case NODE_RESULT:
        fputs((const char *)interned(names, node->key->attributes) + 2 * sizeof(uint32_t), to);
        break;
    case NODE_ONE:
        fputs("1", to);
        break;
    case NODE_ZERO:
        fputs("0", to);
        break;
    case NODE_MAXIMA:
        fputs("maxima added up", to);
        break;
    default:
        fputs("unknown", to);
    }
}

static void print_parts(const struct engine *e, FILE *to, struct term term, int depth) {
    const struct node *node = &e->terms->nodes[term.node];
    bool sum = node->key->kind == NODE_SUM;
    for (uint32_t i = 0; i < node->n_parts; i++) {
        const struct part *part = &node->key->parts[i];
        struct scaled value = term_part(e->terms, term, i);
        if (i)
            fputs(sum ? " + " : ", ", to);
        if (i == 6 && node->n_parts > 8) {
            fprintf(to, "%u more", node->n_parts - i);
            return;
        }
        print_term(e, to, value, depth - 1);
        if (sum && term_indexed(e->terms, value.of) && part->end != part->at + 1) {
            fputs("..", to);
            print_number(e, to, part->end + term.at - 1);
        }
        if (part->m_begin != ALL_MICROBATCHES) {
            fputs(" of microbatches ", to);
            print_number(e, to, part->m_begin);
            fputs("..", to);
            print_number(e, to, part->m_end - 1);
        }
    }
}

static void print_term(const struct engine *e, FILE *to, struct scaled value, int depth) {
    const struct node *node = &e->terms->nodes[value.of.node];
    int kind = node->key->kind;
    if (value.scale != SCALE_ONE) {
        print_scale(e, to, value.scale);
        fputs(" * ", to);
    }
    if (kind < N_OPS && node->n_parts > 0) {
        fputs(op_rows[kind].text, to);
        if (depth <= 0) {
            fputs("(...)", to);
            return;
        }
    }
    if (kind == NODE_ARRIVED)
        fputs("arrived", to);
    if (kind == NODE_SCALED || kind == NODE_BROADCAST) {
        print_parts(e, to, value.of, depth);
        return;
    }
    if (node->n_parts > 0 || kind == OP_IOTA) {
        fputs(kind == OP_IOTA ? "positions" : "(", to);
        print_parts(e, to, value.of, depth);
        if (kind != OP_IOTA)
            fputs(")", to);
        return;
    }
    print_leaf(e, to, node);
    if (node->key->indexed) {
        fputs("[", to);
        print_number(e, to, value.of.at);
        fputs("]", to);
    }
}

const char *scale_text(const struct engine *e, scale_id scale) {
    struct words words;
    words_begin(&words);
    print_scale(e, words.to, scale);
    return words_end(&words, e->arena);
}

const char *term_text(const struct engine *e, struct scaled value, int depth) {
    struct words words;
    words_begin(&words);
    print_term(e, words.to, value, depth);
    return words_end(&words, e->arena);
}

// "microbatches 0..2 (twice)"
const char *microbatches_text(const struct engine *e, struct term collected) {
    const struct node *node = &e->terms->nodes[collected.node];
    struct words words;
    words_begin(&words);
    const char *between = "";
    for (uint32_t i = 0; i < node->n_parts; i++) {
        const struct part *part = &node->key->parts[i];
        if (part->m_begin == ALL_MICROBATCHES)
            continue;
        fprintf(words.to, "%smicrobatch ", between);
        print_number(e, words.to, part->m_begin);
        if (part->m_end != part->m_begin + 1) {
            fputs(" to ", words.to);
            print_number(e, words.to, part->m_end - 1);
        }
        if (part->scale != SCALE_ONE)
            fprintf(words.to, " times %s", scale_text(e, part->scale));
        between = ", ";
    }
    return words_end(&words, e->arena);
}
