// What places hold, interned; see contents.h.
#include "verify/machine/contents.h"

#include <string.h>

struct contents *contents_new(struct arena *arena) {
    struct contents *contents = ARENA_NEW(arena, struct contents);
    contents->arena = contents->keys.arena = contents->sets.arena = arena;
    struct content none = {0};
    ARENA_PUSH(arena, contents->list, contents->n, contents->cap, none);
    intern(&contents->keys, &none, 1, NULL); // so that numbers begin behind NO_CONTENT
    intern(&contents->sets, &none, 1, NULL);
    return contents;
}

// ---- sets of microbatches ---------------------------------------------------------------------

static uint32_t set_size(const struct contents *contents, uint32_t set) {
    if (set == NO_MICROBATCHES)
        return 0;
    return contents->sets.entries[set].size / (uint32_t)sizeof(struct microbatches);
}

static uint32_t set_intern(struct contents *contents, const struct microbatches *list, uint32_t n) {
    return intern(&contents->sets, list, n * (uint32_t)sizeof *list, NULL);
}

uint32_t contents_collect(struct contents *contents, uint32_t set, int32_t microbatch,
                          int32_t n_microbatches) {
    struct microbatches list[MAX_MICROBATCH_RANGES + 1];
    const struct microbatches *old = interned(&contents->sets, set);
    uint32_t n_old = set_size(contents, set), i = 0, n = 0;
    while (i < n_old && old[i].end < microbatch)
        list[n++] = old[i++];
    struct microbatches one = {microbatch, microbatch + 1};
    if (i < n_old && old[i].end == microbatch)
        one.begin = old[i++].begin;
    if (i < n_old && old[i].begin <= microbatch)
        return NO_MICROBATCHES;
    if (i < n_old && old[i].begin == microbatch + 1)
        one.end = old[i++].end;
    list[n++] = one;
    while (i < n_old)
        list[n++] = old[i++];
    bool all = one.begin == 0 && one.end == n_microbatches;
    return all || n > MAX_MICROBATCH_RANGES ? NO_MICROBATCHES : set_intern(contents, list, n);
}

void contents_widen(const struct contents *contents, struct token token,
                    struct microbatches *range) {
    const struct content *content = &contents->list[token.content];
    if (!content->of_time)
        return;
    int32_t begin = token.base + content->own.begin, end = token.base + content->own.end;
    range->begin = begin < range->begin ? begin : range->begin;
    range->end = end > range->end ? end : range->end;
}

int32_t contents_beyond(const struct contents *contents, uint32_t set, struct microbatches range) {
    const struct microbatches *list = interned(&contents->sets, set);
    int32_t n = 0;
    for (uint32_t i = 0; i < set_size(contents, set); i++) {
        int32_t begin = list[i].begin > range.begin ? list[i].begin : range.begin;
        int32_t end = list[i].end < range.end ? list[i].end : range.end;
        n += list[i].end - list[i].begin - (begin < end ? end - begin : 0);
    }
    return n;
}

// ---- keys -------------------------------------------------------------------------------------

struct key_reader { // of what a cell or a message has, into the key
    struct contents *contents;
    const struct world *world;
    struct token token;
    struct microbatches own; // counted from the token's base
    bool of_time, fits;
};

static void push(struct contents *contents, const void *words, size_t bytes) {
    uint32_t n = (uint32_t)(bytes / sizeof *contents->words);
    while (contents->n_words + n > contents->cap_words) {
        uint32_t cap = contents->cap_words ? 2 * contents->cap_words : 256;
        contents->words =
            arena_grow(contents->arena, contents->words,
                       contents->n_words * sizeof *contents->words, cap * sizeof *contents->words);
        contents->cap_words = cap;
    }
    memcpy(contents->words + contents->n_words, words, bytes);
    contents->n_words += n;
}

static struct key_reader reading_begin(struct contents *contents, const struct world *w) {
    contents->n_words = 0;
    return (struct key_reader){.contents = contents, .world = w, .fits = true};
}

// What is of this microbatch, and of so many more behind it.
static void read_time(struct key_reader *r, int32_t microbatch, int32_t further) {
    if (!r->of_time)
        r->token.base = microbatch;
    struct microbatches own = {microbatch - r->token.base,
                               microbatch - r->token.base + further + 1};
    if (!r->of_time || own.begin < r->own.begin)
        r->own.begin = own.begin;
    if (!r->of_time || own.end > r->own.end)
        r->own.end = own.end;
    r->of_time = true;
}

// The summands of what is collected, and from which microbatches: the same as in the rest.
static void read_collected(struct key_reader *r, struct term term) {
    const struct terms *terms = r->world->terms;
    struct microbatches from[MAX_MICROBATCH_RANGES];
    uint32_t n = sum_collected_from(terms, term, from);
    uint32_t set = n ? set_intern(r->contents, from, n) : NO_MICROBATCHES;
    r->fits = r->fits && n && (r->token.collected == NO_MICROBATCHES || r->token.collected == set);
    r->token.collected = set;
    push(r->contents, &term_node(terms, term)->n_parts, sizeof(uint32_t));
    for (uint32_t i = 0; r->fits && i < term_node(terms, term)->n_parts; i++) {
        struct summand part = sum_part(terms, (struct scaled){term, SCALE_ONE}, i);
        uint32_t words[] = {part.node, (uint32_t)part.at, (uint32_t)part.end, part.scale};
        if (sum_part_is_first(terms, term, i))
            push(r->contents, words, sizeof words);
    }
}

// What is held by a run of so many items more than one.
static void read_held(struct key_reader *r, const struct held *held, int32_t further) {
    const struct judgement *value = &held->value;
    struct term of = value->value.of;
    r->fits = r->fits && !value->fault && !number_is_symbolic(of.at) &&
              !number_is_symbolic(value->microbatch);
    if (!r->fits)
        return;
    bool of_time = judgement_of_time(r->world, value);
    bool collected = term_is_collected(r->world->terms, of);
    if (of_time)
        read_time(r, value->microbatch, held->moves >> HELD_MICROBATCH & 1 ? further : 0);
    struct judgement_key key = judgement_key(value);
    uint32_t words[] = {collected ? NO_ID : of.node, (uint32_t)of.at,
                        (uint32_t)(value->microbatch - (of_time ? r->token.base : 0)), held->behind,
                        held->moves};
    push(r->contents, &key, sizeof key);
    push(r->contents, words, sizeof words);
    if (collected)
        read_collected(r, of);
}

// ---- cells ------------------------------------------------------------------------------------

// Why an item holds nothing makes no difference but to what is told of who reads it.
static bool holds_nothing(enum item_state state) {
    return state != ITEM_READY && state != ITEM_WINDOW && state != ITEM_IN_FLIGHT;
}

// Runs of the items, the first from 0 on: what they hold is of the first item of each. Valid until the next call.
static struct series runs_of(struct contents *contents, struct abstract_machine *m,
                             const struct cell *cell, uint32_t i) {
    buffer_id id = cell->table->buffers[i];
    const struct series *all = &m->store.items[id];
    int32_t begin = cell_begin(m, cell, id), end = cell_end(m, cell, id);
    struct series *own = &contents->runs;
    const struct run *run = series_find(m->world, all, begin);
    own->n = 0;
    for (; run < all->runs + all->n && run->begin < end; run++) {
        int32_t from = run->begin > begin ? run->begin : begin;
        struct run part = run_part(m->world, run, from, run->end < end ? run->end : end);
        part.begin -= begin;
        part.end -= begin;
        if (holds_nothing(part.state))
            part.state = ITEM_EMPTY;
        if (part.state == ITEM_EMPTY && own->n && own->runs[own->n - 1].state == ITEM_EMPTY)
            own->runs[own->n - 1].end = part.end;
        else
            ARENA_PUSH(contents->arena, own->runs, own->n, own->cap, part);
    }
    return *own;
}

static void read_run(struct key_reader *r, const struct run *run) {
    bool moves = run->n_held && !run_is_single(run) && run->held->moves >> HELD_LAYER & 1;
    uint32_t words[] = {(uint32_t)run->begin, (uint32_t)run->end, run->state,
                        run->state == ITEM_WINDOW ? run->window : 0,
                        moves ? (uint32_t)run->skipped : 0};
    push(r->contents, words, sizeof words);
    r->fits = r->fits && run->state != ITEM_IN_FLIGHT && !number_is_symbolic(run->begin) &&
              !number_is_symbolic(run->end);
    if (run->n_held == 0 || !r->fits)
        return;
    struct held held = *run->held;
    held.moves = run_is_single(run) ? 0 : held.moves;
    read_held(r, &held, run->end - run->begin - 1);
}

// Where the cell has these bytes.
static struct bytes_shared shared_of(const struct abstract_machine *m, const struct cell *cell,
                                     uint32_t i) {
    struct bytes_shared bytes = cell->table->shared[i];
    bytes.from.item += cell_begin(m, cell, bytes.from.buffer);
    bytes.to.item += cell_begin(m, cell, bytes.to.buffer);
    return bytes;
}

static bool is_empty(const struct contents *contents, const struct cell *cell, buffer_id id) {
    for (uint32_t i = 0; i < cell->table->n_buffers; i++)
        if (cell->table->buffers[i] == id)
            return contents->empty[i];
    return false;
}

// Whose bytes they are matters to who still holds something there: that of a whole buffer nothing is left, as of
// a unit's frame behind its call, is the same as that nobody has written them.
static void add_stretch(struct contents *contents, const struct cell *cell,
                        struct stretch stretch) {
    if (cell->table->whole && is_empty(contents, cell, stretch.owner))
        stretch.owner = NO_ID;
    if (contents->n_stretches &&
        contents->stretches[contents->n_stretches - 1].owner == stretch.owner)
        return;
    ARENA_PUSH(contents->arena, contents->stretches, contents->n_stretches, contents->cap_stretches,
               stretch);
}

// What is said of all of the row's own items is said of row 0; of what is whole, borders may be of whatever
// buffer. Valid until the next call.
static struct stretches stretches_of(struct contents *contents, struct abstract_machine *m,
                                     const struct cell *cell, uint32_t i) {
    struct bytes_shared bytes = shared_of(m, cell, i);
    const struct stretch *found = NULL;
    uint32_t n = bytes_stretches(m, bytes.from, bytes.to, &found);
    contents->n_stretches = 0;
    for (uint32_t k = 0; k < n; k++) {
        struct stretch stretch = found[k];
        if (k == 0) {
            stretch.buffer = bytes.from.buffer;
            stretch.item = bytes.from.item;
        }
        if (stretch.buffer == bytes.from.buffer)
            stretch.item -= cell_begin(m, cell, stretch.buffer);
        add_stretch(contents, cell, stretch);
    }
    return (struct stretches){contents->stretches, contents->n_stretches};
}

static void read_stretches(struct key_reader *r, const struct cell *cell, uint32_t i,
                           struct stretches stretches) {
    buffer_id own = cell->table->shared[i].from.buffer;
    push(r->contents, &stretches.n, sizeof stretches.n);
    for (uint32_t k = 0; k < stretches.n; k++) {
        const struct stretch *stretch = &stretches.list[k];
        uint32_t words[] = {stretch->buffer, (uint32_t)stretch->item, stretch->owner};
        r->fits = r->fits && (stretch->buffer == own || cell->table->whole);
        push(r->contents, words, sizeof words);
    }
}

// What is kept of a content does not change any more, and is of microbatch 0.
static struct held *keep_held(struct contents *contents, const struct world *w,
                              const struct held *held, uint32_t n, int32_t base) {
    struct held *kept = arena_copy(contents->arena, held, n * sizeof *held);
    for (uint32_t i = 0; i < n; i++)
        if (judgement_of_time(w, &kept[i].value))
            kept[i].value.microbatch -= base;
    return kept;
}

static struct series keep_runs(const struct key_reader *r, const struct series *runs) {
    struct arena *arena = r->contents->arena;
    struct series kept = {arena_copy(arena, runs->runs, runs->n * sizeof *runs->runs), runs->n,
                          runs->n};
    for (uint32_t i = 0; i < kept.n; i++) {
        struct run *run = &kept.runs[i];
        run->held = run->n_held
                        ? keep_held(r->contents, r->world, run->held, run->n_held, r->token.base)
                        : NULL;
    }
    return kept;
}

// The content that has the key that was read; *added: it is new.
static struct token reading_end(struct key_reader *r, bool *added) {
    struct contents *contents = r->contents;
    if (!r->fits)
        return (struct token){NO_CONTENT, 0, NO_MICROBATCHES};
    r->token.content = intern(&contents->keys, contents->words,
                              contents->n_words * (uint32_t)sizeof *contents->words, added);
    if (*added) {
        struct content made = {.of_time = r->of_time, .own = r->own};
        ARENA_PUSH(contents->arena, contents->list, contents->n, contents->cap, made);
    }
    return r->token;
}

// What was read, kept.
static void keep_cell(const struct key_reader *r, struct content *content,
                      struct abstract_machine *m, const struct cell *cell) {
    struct contents *contents = r->contents;
    struct arena *arena = contents->arena;
    const struct table *table = cell->table;
    content->items = ARENA_ARRAY(arena, struct series, table->n_buffers);
    content->stretches = ARENA_ARRAY(arena, struct stretches, table->n_shared);
    for (uint32_t i = 0; i < table->n_buffers; i++) {
        struct series runs = runs_of(contents, m, cell, i);
        content->items[i] = keep_runs(r, &runs);
    }
    for (uint32_t i = 0; i < table->n_shared; i++) {
        struct stretches found = stretches_of(contents, m, cell, i);
        content->stretches[i] = (struct stretches){
            arena_copy(arena, found.list, found.n * sizeof *found.list), found.n};
    }
}

struct token contents_of_cell(struct contents *contents, struct abstract_machine *m,
                              const struct cell *cell) {
    struct key_reader r = reading_begin(contents, m->world);
    const struct table *table = cell->table;
    uint32_t shape[] = {table->n_buffers, table->n_shared};
    push(contents, shape, sizeof shape);
    contents->n_empty = 0;
    for (uint32_t i = 0; i < table->n_buffers; i++) {
        struct series runs = runs_of(contents, m, cell, i);
        bool empty = runs.n == 1 && runs.runs[0].state == ITEM_EMPTY;
        ARENA_PUSH(contents->arena, contents->empty, contents->n_empty, contents->cap_empty, empty);
        push(contents, &runs.n, sizeof runs.n);
        for (uint32_t k = 0; k < runs.n; k++)
            read_run(&r, &runs.runs[k]);
    }
    for (uint32_t i = 0; i < table->n_shared; i++)
        read_stretches(&r, cell, i, stretches_of(contents, m, cell, i));
    bool added = false;
    struct token token = reading_end(&r, &added);
    if (added) // this saves room: most cells hold what others have held
        keep_cell(&r, &contents->list[token.content], m, cell);
    return token;
}

// The value that was held, of the microbatches of the token.
static struct judgement value_of(const struct contents *contents, const struct world *w,
                                 struct token token, const struct held *held) {
    struct judgement value = held->value;
    if (judgement_of_time(w, &value))
        value.microbatch += token.base;
    if (term_is_collected(w->terms, value.value.of)) {
        struct builder builder = {.terms = w->terms};
        struct scaled again =
            sum_collect(&builder, value.value.of, interned(&contents->sets, token.collected),
                        set_size(contents, token.collected));
        value.value.of = again.of;
    }
    return value;
}

void contents_put(const struct contents *contents, struct abstract_machine *m,
                  const struct cell *cell, struct token token) {
    const struct content *content = &contents->list[token.content];
    const struct table *table = cell->table;
    for (uint32_t i = 0; i < table->n_buffers; i++) {
        int32_t begin = cell_begin(m, cell, table->buffers[i]);
        for (uint32_t k = 0; k < content->items[i].n; k++) {
            struct run run = content->items[i].runs[k];
            struct held held = {0};
            run.begin += begin;
            run.end += begin;
            if (run.n_held) {
                held = *run.held;
                held.value = value_of(contents, m->world, token, &held);
                run.held = &held;
            }
            series_put(m->world, &m->store.items[table->buffers[i]], run);
        }
    }
    for (uint32_t i = 0; i < table->n_shared; i++) {
        const struct stretches *kept = &content->stretches[i];
        struct bytes_shared bytes = shared_of(m, cell, i);
        struct stretch *list = arena_copy(m->world->states, kept->list, kept->n * sizeof *list);
        for (uint32_t k = 0; k < kept->n; k++)
            list[k].item += cell_begin(m, cell, list[k].buffer);
        bytes_put(m, list, kept->n, bytes.to);
    }
}

// ---- messages ---------------------------------------------------------------------------------

struct token contents_of_values(struct contents *contents, const struct world *w,
                                const struct judgement *values, uint32_t n) {
    struct key_reader r = reading_begin(contents, w);
    struct held *held = ARENA_ARRAY(w->states, struct held, n);
    uint32_t shape[] = {0, n};
    push(contents, shape, sizeof shape);
    for (uint32_t i = 0; i < n; i++) {
        held[i].value = values[i];
        read_held(&r, &held[i], 0);
    }
    bool added = false;
    struct token token = reading_end(&r, &added);
    if (added)
        contents->list[token.content].values = keep_held(contents, w, held, n, token.base);
    return token;
}

struct judgement contents_value(const struct contents *contents, const struct world *w,
                                struct token token, uint32_t i) {
    return value_of(contents, w, token, &contents->list[token.content].values[i]);
}
