// How values were made; see history.h.
//
// A value is explained if the reference has it, scale included, or if it is a part of one that the
// reference has: some of the summands of a sum, with their scales, or of some microbatches only.
// How it lies on the devices does not matter here. What is not explained need not be wrong, for a
// program may come to the reference's values on a way of its own; but where a value is wrong, those
// that led to it are not explained from the first mistake on. So that one is found by going back
// from the value through others that are not explained.
#include "verify/proof/proof.h"

#include <stdlib.h>
#include <string.h>

#include "ir/check.h"
#include "verify/algebra/attributes.h"
#include "verify/algebra/facts.h"

struct history *history_new(struct arena *arena, const struct fault *const *before, uint32_t n) {
    struct history *history = ARENA_NEW(arena, struct history);
    *history = (struct history){.arena = arena,
                                .before = before,
                                .n_before = n,
                                .values.arena = arena,
                                .summands.arena = arena,
                                .sums.arena = arena};
    return history;
}

struct history *history_again(const struct history *other) {
    return history_new(other->arena, other->before, other->n_before);
}

bool history_unawaited(const struct proof *p, struct span start) {
    for (uint32_t i = 0; p->history && i < p->history->n_before; i++) {
        const struct fault *fault = p->history->before[i];
        if (fault->code == E612 && fault->by && fault->by->source == start.source &&
            fault->by->begin == start.begin)
            return true;
    }
    return false;
}

// ---- sums -------------------------------------------------------------------------------------

struct pair {
    uint32_t node;
    scale_id scale;
};

uint32_t n_summands(const struct world *w, struct scaled value) {
    const struct node *node = &w->terms->nodes[value.of.node];
    return node->key->kind == NODE_SUM ? node->n_parts : 1;
}

struct summand summand_of(const struct world *w, struct scaled value, uint32_t i) {
    if (w->terms->nodes[value.of.node].key->kind != NODE_SUM)
        return (struct summand){value.of.node, value.of.at,      value.of.at + 1,
                                value.scale,   ALL_MICROBATCHES, ALL_MICROBATCHES};
    struct summand summand = sum_part(w->terms, value, i);
    summand.scale = scale_multiply(w->terms, summand.scale, value.scale);
    return summand;
}

// ---- writing ----------------------------------------------------------------------------------

static void note_index(struct history *history, struct term of) {
    while (history->n_met <= of.node)
        ARENA_PUSH(history->arena, history->met, history->n_met, history->cap_met,
                   (struct met){.times = NEVER_MET});
    struct met *met = &history->met[of.node];
    bool other = met->times != NEVER_MET && met->at != of.at;
    if (met->times != MET_OFTEN)
        *met = (struct met){of.at, other || number_is_symbolic(of.at) ? MET_OFTEN : MET_ONCE};
}

bool history_only_index(const struct proof *p, uint32_t node, int32_t *at) {
    const struct history *history = p->history;
    if (node >= history->n_met || history->met[node].times != MET_ONCE)
        return false;
    *at = history->met[node].at;
    return true;
}

static void note_reference(struct proof *p, const struct judgement *made) {
    struct history *history = p->history;
    note_index(history, made->value.of);
    struct pair pair = {made->value.of.node, made->value.scale};
    int kind = term_kind(p->world->terms, made->value.of);
    bool added;
    if (kind < N_OPS)
        history->known[kind] = true;
    intern(&history->values, &pair, sizeof pair, &added);
    for (uint32_t i = 0; added && i < n_summands(p->world, made->value); i++) {
        struct summand summand = summand_of(p->world, made->value, i);
        struct pair part = {summand.node, summand.scale};
        intern(&history->summands, &part, sizeof part, NULL);
    }
}

// The nodes that are summed, of whatever layers, each once and in order.
struct nodes {
    const uint32_t *items;
    uint32_t n;
};

static int by_number(const void *left, const void *right) {
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    return a < b ? -1 : a > b;
}

static struct nodes nodes_of(struct proof *p, struct scaled value) {
    uint32_t n = n_summands(p->world, value), n_nodes = 0;
    uint32_t *items = ARENA_ARRAY(p->history->arena, uint32_t, n + 1);
    for (uint32_t i = 0; i < n; i++)
        items[i] = summand_of(p->world, value, i).node;
    qsort(items, n, sizeof *items, by_number);
    for (uint32_t i = 0; i < n; i++)
        if (i == 0 || items[i] != items[n_nodes - 1])
            items[n_nodes++] = items[i];
    return (struct nodes){items, n_nodes};
}

static void note_sum(struct proof *p, struct scaled value) {
    struct nodes nodes = nodes_of(p, value);
    intern(&p->history->sums, nodes.items, nodes.n * (uint32_t)sizeof *nodes.items, NULL);
}

static uint32_t push(struct proof *p, struct making making) {
    struct history *history = p->history;
    making.order = next_order(p);
    making.loop = p->cursor->depth ? p->cursor->loops[p->cursor->depth - 1] : NULL;
    for (int i = 0; i < p->cursor->depth; i++)
        making.time_loop = p->cursor->time_loop[i] ? p->cursor->loops[i] : making.time_loop;
    making.moment = p->moment;
    making.program = p->program;
    making.call = p->cursor->statement ? p->cursor->statement->span : making.span;
    making.when = iteration_text(p);
    ARENA_PUSH(history->arena, history->makings, history->n, history->cap, making);
    return history->n;
}

void history_begin(struct proof *p, const struct op *op, const struct exchange *exchange,
                   struct span span, const struct judgement *operands, uint32_t n) {
    struct history *history = p->history;
    if (!history)
        return;
    if (p->is_reference) {
        for (uint32_t i = 0; i < n; i++)
            if (!operands[i].fault)
                note_reference(p, &operands[i]);
        history->adds = op && op_is_sum(op->kind);
        return;
    }
    struct making making = {
        .op = op, .span = span, .operands = history->n_operands, .n_operands = n};
    making.is_transfer = exchange && !op;
    making.is_message = exchange && exchange_is_message(exchange);
    making.adds_up = exchange && collective_sums(exchange->kind);
    making.cuts_up = exchange && exchange->kind == COLLECTIVE_REDUCE_SCATTER;
    for (uint32_t i = 0; i < n; i++)
        ARENA_PUSH(history->arena, history->operands, history->n_operands, history->cap_operands,
                   operands[i].made);
    history->open = push(p, making);
}

// The value in the first of the iterations that are looked at, found without asking anything of
// their number.
static struct scaled first_value(struct world *w, struct scaled value) {
    struct terms *terms = w->terms;
    if (terms->symbols.n == 0)
        return value;
    struct symbols symbols = terms->symbols;
    struct builder builder = {.terms = terms};
    value = sum_first(&builder, value);
    terms->symbols = symbols;
    return value;
}

void history_made(struct proof *p, struct judgement *made, const char *name) {
    struct history *history = p->history;
    if (!history || made->fault)
        return;
    if (p->is_reference) {
        note_reference(p, made);
        if (history->adds)
            note_sum(p, made->value);
        return;
    }
    struct making making = *making_of(history, history->open);
    making.name = name;
    making.value = first_value(p->world, made->value);
    making.partial = made->partial;
    made->made = push(p, making);
}

void history_end(struct proof *p) {
    if (!p->history)
        return;
    p->history->open = 0;
    p->history->adds = false;
}

void history_recall(struct proof *p, struct judgement *made, const char *name) {
    struct history *history = p->history;
    if (!history || made->fault || p->is_reference)
        return;
    uint32_t like = made->made;
    history_made(p, made, name);
    history->makings[made->made - 1].recalled = like;
}

void history_place(struct proof *p, const struct judgement *made, struct placed as,
                   const struct judgement *old) {
    if (!p->history || !made->made)
        return;
    struct making *making = &p->history->makings[made->made - 1];
    making->is_kept = as.kept;
    making->is_misfit = as.misfit;
    making->hides = old && (old->fault || !old->made);
    making->hidden = old ? old->fault : NULL;
    if (!old || old->fault)
        return;
    making->replaces = old->made;
    making->is_unchanged = scaled_equal(made->value, old->value) && made->form == old->form &&
                           made->partial == old->partial;
}

// ---- what the reference explains --------------------------------------------------------------

// What a step begins with is the reference's too, and so are numbers of parts.
static bool is_given(const struct world *w, uint32_t node) {
    const struct node_key *key = w->terms->nodes[node].key;
    if (key->kind == OP_IOTA)
        return iota_dimension(w->terms, (struct term){node, 0}) == DIM_PART;
    return key->kind == NODE_ZERO || key->kind == NODE_ONE || key->kind == NODE_STATE ||
           key->kind == NODE_INPUT;
}

// How far apart two scales are, in scalars that only one of them has.
static unsigned distance(const struct world *w, scale_id a, scale_id b) {
    scale_id ratio = scale_multiply(w->terms, a, scale_invert(w->terms, b));
    const struct scale *scale = scale_get(w->terms, ratio);
    unsigned n = 0;
    for (uint32_t i = 0; i < scale->n_factors; i++)
        n += (unsigned)abs(scale->factors[i].power);
    return n;
}

bool history_scale(const struct proof *p, struct scaled found, scale_id *scale) {
    const struct history *history = p->history;
    bool has = is_given(p->world, found.of.node);
    *scale = SCALE_ONE;
    for (uint32_t i = 0; i < history->values.n; i++) {
        const struct pair *pair = interned(&history->values, i);
        if (pair->node != found.of.node ||
            (has && distance(p->world, found.scale, *scale) <
                        distance(p->world, found.scale, pair->scale)))
            continue;
        *scale = pair->scale;
        has = true;
    }
    return has;
}

// Whether `small` is a part of the reference's `large`, which is a layer's: *shift further.
static bool is_part(const struct world *w, const struct summand *small, const struct summand *large,
                    bool first, int32_t *shift) {
    if (small->node != large->node || small->scale != large->scale)
        return false;
    bool many = large->end != large->at + 1 || number_is_symbolic(large->at);
    if (!w->terms->nodes[small->node].key->indexed || many)
        return true;
    if (first)
        *shift = small->at - large->at;
    return small->at - large->at == *shift;
}

static bool is_part_of_sum(const struct world *w, struct scaled value, struct scaled sum) {
    int32_t shift = 0;
    for (uint32_t i = 0; i < n_summands(w, value); i++) {
        struct summand small = summand_of(w, value, i);
        bool found = false;
        for (uint32_t k = 0; k < n_summands(w, sum) && !found; k++) {
            struct summand large = summand_of(w, sum, k);
            found = is_part(w, &small, &large, i == 0, &shift);
        }
        if (!found)
            return false;
    }
    return true;
}

static bool is_explained(struct proof *p, struct scaled value) {
    const struct history *history = p->history;
    struct pair pair = {value.of.node, value.scale};
    if ((is_given(p->world, value.of.node) && value.scale == SCALE_ONE) ||
        intern_has(&history->values, &pair, sizeof pair) ||
        intern_has(&history->summands, &pair, sizeof pair))
        return true;
    if (term_kind(p->world->terms, value.of) != NODE_SUM)
        return false;
    for (uint32_t i = 0; i < history->values.n; i++) {
        const struct pair *theirs = interned(&history->values, i);
        if (is_part_of_sum(p->world, value, (struct scaled){{theirs->node, 0}, theirs->scale}))
            return true;
    }
    return false;
}

// How many terms are summed, of all layers.
static int64_t length_of(const struct world *w, struct scaled value) {
    int64_t length = 0;
    for (uint32_t i = 0; i < n_summands(w, value); i++) {
        struct summand summand = summand_of(w, value, i);
        if (number_is_symbolic(summand.at) || number_is_symbolic(summand.end))
            return 0;
        length += summand.end - summand.at;
    }
    return length;
}

bool history_whole(struct proof *p, struct scaled part, struct scaled *whole) {
    int64_t longest = length_of(p->world, part);
    bool found = false;
    for (uint32_t i = 0; i < p->history->values.n; i++) {
        const struct pair *pair = interned(&p->history->values, i);
        struct scaled theirs = {{pair->node, 0}, pair->scale};
        int64_t length = length_of(p->world, theirs);
        if (length <= longest || !is_part_of_sum(p->world, part, theirs))
            continue;
        longest = length;
        *whole = theirs;
        found = true;
    }
    return found;
}

bool history_has_sum(struct proof *p, struct scaled sum) {
    struct nodes nodes = nodes_of(p, sum);
    return intern_has(&p->history->sums, nodes.items, nodes.n * (uint32_t)sizeof *nodes.items);
}

static bool has_node(struct nodes nodes, uint32_t node) {
    return bsearch(&node, nodes.items, nodes.n, sizeof node, by_number) != NULL;
}

bool history_has_more(struct proof *p, struct scaled sum, struct scaled part, struct scaled whole) {
    struct nodes mine = nodes_of(p, sum), has = nodes_of(p, part), all = nodes_of(p, whole);
    for (uint32_t i = 0; i < p->history->sums.n; i++) {
        const struct intern_entry *entry = &p->history->sums.entries[i];
        struct nodes theirs = {entry->bytes, entry->size / (uint32_t)sizeof(uint32_t)};
        bool more = theirs.n > mine.n;
        for (uint32_t k = 0; more && k < mine.n; k++)
            more = has_node(theirs, mine.items[k]);
        for (uint32_t k = 0; more && k < theirs.n; k++)
            more = has_node(mine, theirs.items[k]) ||
                   (has_node(all, theirs.items[k]) && !has_node(has, theirs.items[k]));
        if (more)
            return true;
    }
    return false;
}

// A value on the program's own way, a multiple of one, or a sum of such.
static bool is_detour(const struct proof *p, struct term term) {
    const struct node *node = &p->world->terms->nodes[term.node];
    int kind = node->key->kind;
    if (kind == NODE_SCALED || kind == NODE_SUM) {
        bool all = true;
        for (uint32_t i = 0; i < node->n_parts; i++)
            all = all && is_detour(p, (struct term){node->key->parts[i].node, 0});
        return all;
    }
    return kind == NODE_UNKNOWN || kind == NODE_MAXIMA ||
           (kind < N_OPS && !p->history->known[kind]);
}

// ---- looking back -----------------------------------------------------------------------------

// Makings may be added between two looks.
static void make_room(struct history *history) {
    if (history->n < history->room)
        return;
    uint32_t room = 2 * history->n + 1;
    unsigned char *answers = ARENA_ARRAY(history->arena, unsigned char, room);
    if (history->room)
        memcpy(answers, history->answers, history->room);
    history->answers = answers;
    history->reached = ARENA_ARRAY(history->arena, uint32_t, room);
    history->room = room;
}

struct lineage lineage_of(struct proof *p, uint32_t made, bool sums) {
    struct history *history = p->history;
    make_room(history);
    history->reached[made] = ++history->way;
    return (struct lineage){
        .history = history, .sums = sums, .number = history->way, .id = made + 1};
}

// Reaches what transfers have brought to the call's operands, into the buffer that is looked for.
static bool reach_brought(const struct lineage *way, const struct making *call) {
    bool any = false;
    for (uint32_t i = 0; way->brought && i < call->n_operands; i++) {
        uint32_t id = making_operand(way->history, call, i);
        const struct making *operand = id ? making_of(way->history, id) : NULL;
        if (!operand || !operand->is_transfer || strcmp(operand->name, way->brought) != 0)
            continue;
        way->history->reached[id] = way->number;
        any = true;
    }
    return any;
}

// Whether the op makes of the operand the same in another type, or with another scale.
static bool hands_on(const struct history *history, const struct making *making, uint32_t operand) {
    return !making->recalled && term_equal(making->value.of, making_of(history, operand)->value.of);
}

// Only an evaluation says of which of a call's operands its result is a sum: what it is like, which
// is another call's.
static void reach_operands(const struct lineage *way, const struct making *making) {
    uint32_t *reached = way->history->reached;
    if (making->recalled && !reach_brought(way, making))
        reached[making->recalled] = way->number;
    bool adds = !making->recalled && (!making->op || op_is_sum(making->op->kind));
    for (uint32_t i = 0; i < making->n_operands; i++) {
        uint32_t operand = making_operand(way->history, making, i);
        bool passes = !way->sums || adds || (operand && hands_on(way->history, making, operand));
        if (passes)
            reached[operand] = way->number;
    }
}

// Values are younger than what they are made of.
uint32_t lineage_next(struct lineage *way) {
    CHECK(way->number == way->history->way);
    while (way->id > 1)
        if (way->history->reached[--way->id] == way->number) {
            reach_operands(way, making_of(way->history, way->id));
            return way->id;
        }
    return 0;
}

static bool explained(struct proof *p, uint32_t id) {
    enum { UNASKED, YES, NO };
    unsigned char *answer = &p->history->answers[id];
    if (*answer == UNASKED)
        *answer = is_explained(p, making_of(p->history, id)->value) ? YES : NO;
    return *answer == YES;
}

// The first on the way by what is not explained.
static uint32_t first_of(struct proof *p, uint32_t from, bool *detour) {
    struct history *history = p->history;
    uint32_t first[2] = {0, 0}, way = ++history->way;
    history->reached[from] = way;
    for (uint32_t id = from; id > 0; id--) {
        const struct making *making = making_of(history, id);
        if (history->reached[id] != way)
            continue;
        bool deepest = true;
        for (uint32_t i = 0; i < making->n_operands; i++) {
            uint32_t operand = making_operand(history, making, i);
            if (!operand || explained(p, operand))
                continue;
            history->reached[operand] = way;
            deepest = deepest && is_detour(p, making_of(history, operand)->value.of);
        }
        if (deepest)
            first[is_detour(p, making->value.of)] = id;
    }
    *detour = first[0] == 0;
    return first[*detour];
}

uint32_t history_first_guilty(struct proof *p, uint32_t made, bool *detour) {
    make_room(p->history);
    *detour = false;
    if (!made || explained(p, made))
        return 0;
    uint32_t first = first_of(p, made, detour);
    while (making_of(p->history, first)->recalled)
        first = first_of(p, making_of(p->history, first)->recalled, detour);
    return first;
}
