// Words for axes, scales and terms in messages; see words.h.
#include "verify/algebra/words.h"

#include <inttypes.h>
#include <stdlib.h>

// A stream into an arena.
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

const char *mask_text(const struct world *w, uint32_t mask) {
    struct words words;
    words_begin(&words);
    const char *between = "";
    for (unsigned i = 0; i < w->mesh->n_axes; i++)
        if (mask >> i & 1) {
            fprintf(words.to, "%s`%s`", between, w->mesh->axes[i].name);
            between = " and ";
        }
    return words_end(&words, w->arena);
}

// The first of iterations that stand for many is told about, while their loop lasts: what was
// computed from them keeps its numbers longer.
static void print_number(const struct world *w, FILE *to, int32_t number) {
    if (number_is_known(&w->terms->symbols, number))
        fprintf(to, "%" PRId64, number_first(&w->terms->symbols, number));
    else
        fputs("...", to);
}

static void print_term(const struct world *w, FILE *to, struct scaled value, int depth);

static void print_scale(const struct world *w, FILE *to, scale_id id) {
    const struct scale *scale = scale_get(w->terms, id);
    if (scale->serial) {
        fputs("a scale out of range", to);
        return;
    }
    if (scale->primes)
        fprintf(to, "%.6g", scale_number_value(w->terms, scale));
    else
        fprintf(to, "%" PRId64, scale->numerator);
    if (scale->denominator != 1)
        fprintf(to, "/%" PRId64, scale->denominator);
    for (uint32_t i = 0; i < scale->n_factors; i++) {
        fputs(scale->factors[i].power < 0 ? "/" : "*", to);
        print_term(w, to, (struct scaled){scale->factors[i].of, SCALE_ONE}, 1);
        if (abs(scale->factors[i].power) != 1)
            fprintf(to, "^%d", abs(scale->factors[i].power));
    }
}

static void print_leaf(const struct world *w, FILE *to, const struct node *node) {
    const struct intern *names = &w->terms->attributes;
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

static void print_parts(const struct world *w, FILE *to, struct term term, int depth) {
    const struct node *node = &w->terms->nodes[term.node];
    bool sum = node->key->kind == NODE_SUM;
    for (uint32_t i = 0; i < node->n_parts; i++) {
        const struct part *part = &node->key->parts[i];
        struct scaled value = term_part(w->terms, term, i);
        if (i)
            fputs(sum ? " + " : ", ", to);
        if (i == 6 && node->n_parts > 8) {
            fprintf(to, "%u more", node->n_parts - i);
            return;
        }
        print_term(w, to, value, depth - 1);
        if (sum && term_indexed(w->terms, value.of) && part->end != part->at + 1) {
            fputs("..", to);
            print_number(w, to, part->end + term.at - 1);
        }
        if (part->m_begin != ALL_MICROBATCHES) {
            fputs(" of microbatches ", to);
            print_number(w, to, part->m_begin);
            fputs("..", to);
            print_number(w, to, part->m_end - 1);
        }
    }
}

static void print_term(const struct world *w, FILE *to, struct scaled value, int depth) {
    const struct node *node = &w->terms->nodes[value.of.node];
    int kind = node->key->kind;
    if (value.scale != SCALE_ONE) {
        print_scale(w, to, value.scale);
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
        print_parts(w, to, value.of, depth);
        return;
    }
    if (node->n_parts > 0 || kind == OP_IOTA) {
        fputs(kind == OP_IOTA ? "positions" : "(", to);
        print_parts(w, to, value.of, depth);
        if (kind != OP_IOTA)
            fputs(")", to);
        return;
    }
    print_leaf(w, to, node);
    if (node->key->indexed) {
        fputs("[", to);
        print_number(w, to, value.of.at);
        fputs("]", to);
    }
}

const char *scale_text(const struct world *w, scale_id scale) {
    struct words words;
    words_begin(&words);
    print_scale(w, words.to, scale);
    return words_end(&words, w->arena);
}

const char *term_text(const struct world *w, struct scaled value, int depth) {
    struct words words;
    words_begin(&words);
    print_term(w, words.to, value, depth);
    return words_end(&words, w->arena);
}

// "microbatches 0..2 (twice)"
const char *microbatches_text(const struct world *w, struct term collected) {
    const struct node *node = &w->terms->nodes[collected.node];
    struct words words;
    words_begin(&words);
    const char *between = "";
    for (uint32_t i = 0; i < node->n_parts; i++) {
        const struct part *part = &node->key->parts[i];
        if (part->m_begin == ALL_MICROBATCHES)
            continue;
        fprintf(words.to, "%smicrobatch ", between);
        print_number(w, words.to, part->m_begin);
        if (part->m_end != part->m_begin + 1) {
            fputs(" to ", words.to);
            print_number(w, words.to, part->m_end - 1);
        }
        if (part->scale != SCALE_ONE)
            fprintf(words.to, " times %s", scale_text(w, part->scale));
        between = ", ";
    }
    return words_end(&words, w->arena);
}
