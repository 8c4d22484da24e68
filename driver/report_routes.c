// The routes of a strategy for people: for each state and role a short paragraph, which says where
// the state is at rest and what is done with it, when, how often, and with how many bytes. Tensors
// of a role of which all of this is the same are one paragraph.
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "driver/report.h"

// ---- what happens -----------------------------------------------------------------------------

struct happening {
    enum route_event event;
    const char *what;     // "all_gather over dp"
    int64_t times, bytes; // of one device in one step; of what sends nothing both 0
};

struct paragraph {
    enum state state;
    const char *role, *names; // "layers.mlp.down"; "weight, bias"
    const char *at_rest;
    const char *made;   // "units leave P over dp"; "": nothing is to be summed
    int64_t rest_bytes; // on one device
    int64_t layers;     // 0: it is not repeated by layer
    struct happening happenings[MAX_ROUTE_HOPS];
    unsigned n;
};
struct paragraphs {
    struct paragraph *items;
    uint32_t n, cap;
};

struct text {
    struct compilation *c;
    struct arena *arena;
    const struct program *program;
    const struct hop_account *accounts;
};

static const char *axes_text(const struct text *t, const struct axis_list *axes) {
    return mesh_axes_text(&t->program->job->mesh, axes, t->arena);
}

static const char *joined(struct arena *arena, const char *a, const char *between, const char *b) {
    return *a ? arena_format(arena, "%s%s%s", a, between, b) : b;
}

// "S(ffn) over tp, S(flat) over dp": the types of a buffer on axes.
static const char *type_text(const struct text *t, const struct buffer *buffer) {
    const char *text = "";
    for (unsigned d = 0; d < buffer->rank; d++)
        if (buffer->layout.cuts[d].n)
            text = joined(t->arena, text, ", ",
                          arena_format(t->arena, "S(%s) over %s",
                                       dimension_names[buffer->dims[d].dimension],
                                       axes_text(t, &buffer->layout.cuts[d])));
    if (buffer->layout.flat.n)
        text =
            joined(t->arena, text, ", ",
                   arena_format(t->arena, "S(flat) over %s", axes_text(t, &buffer->layout.flat)));
    if (buffer->layout.owners.n)
        text = joined(t->arena, text, ", ",
                      arena_format(t->arena, "whole at owners over %s",
                                   axes_text(t, &buffer->layout.owners)));
    return *text ? text : "whole";
}

// The axes over which the route sums what units leave.
static struct axis_list summed_axes(const struct route *route) {
    struct axis_list axes = {0};
    for (unsigned i = 0; i < route->n_hops; i++) {
        const struct hop *hop = &route->hops[i];
        enum action action = hop_rows[hop->kind].action;
        bool sums = action == ACTION_REDUCE || action == ACTION_SCATTER;
        for (unsigned k = 0; k < hop->axes.n && (sums || hop->kind == HOP_GATHER_CODES); k++)
            axis_list_add(&axes, hop->axes.axes[k]);
    }
    return axes;
}

static bool has_owners(const struct text *t, const struct routed *routed) {
    return t->c->placement.tensors[routed->range * t->c->placement.n_tensors + routed->tensor]
        .storage->by_tensor;
}

static const char *rest_text(const struct text *t, const struct routed *routed) {
    const struct route *route = &routed->route;
    const struct buffer *rest = &t->program->buffers[routed->buffers[0]];
    const char *type = type_text(t, rest);
    if (route->stations[0].is_master)
        return arena_format(t->arena, "made of the master copy, %s", type);
    const char *text = arena_format(t->arena, "%s at rest", type);
    if (rest->tier != TIER_DEVICE)
        text = arena_format(t->arena, "%s on %s", text, tier_names[rest->tier]);
    if (route->owned > 0)
        text = arena_format(t->arena, "%s, updated %s over %s", text,
                            has_owners(t, routed) ? "by owners" : "in parts",
                            axes_text(t, &route->stations[route->owned].flat));
    return text;
}

static const char *made_text(const struct text *t, const struct route *route) {
    struct axis_list summed = summed_axes(route);
    return route->state == STATE_GRADIENTS && summed.n
               ? arena_format(t->arena, "units leave P over %s", axes_text(t, &summed))
               : "";
}

static const char *hop_text(const struct text *t, const struct routed *routed,
                            const struct hop *hop) {
    enum action action = hop_rows[hop->kind].action;
    const char *words = hop_rows[hop->kind].words;
    if (has_owners(t, routed) && (action == ACTION_GATHER || action == ACTION_SCATTER))
        words = action == ACTION_GATHER ? "broadcast" : "reduce";
    return hop->axes.n ? arena_format(t->arena, "%s over %s", words, axes_text(t, &hop->axes))
                       : words;
}

// "128.00 KiB", which is not broken: its blank is printed when it is put.
enum { UNBROKEN = 1 };

static const char *size_text(const struct text *t, int64_t bytes) {
    char *text = arena_format(t->arena, "%s", bytes_text(t->arena, (double)bytes));
    for (char *at = text; (at = strchr(at, ' '));)
        *at = UNBROKEN;
    return text;
}

// ---- paragraphs -------------------------------------------------------------------------------

static const char *last_word(const char *name) {
    const char *dot = strrchr(name, '.');
    return dot ? dot + 1 : name;
}

static bool same_happenings(const struct paragraph *a, const struct paragraph *b) {
    bool same = a->n == b->n;
    for (unsigned i = 0; same && i < a->n; i++) {
        const struct happening *x = &a->happenings[i], *y = &b->happenings[i];
        same = x->event == y->event && x->times == y->times && strcmp(x->what, y->what) == 0;
    }
    return same;
}

static bool is_like(const struct paragraph *a, const struct paragraph *b) {
    return a->state == b->state && a->layers == b->layers && strcmp(a->role, b->role) == 0 &&
           strcmp(a->at_rest, b->at_rest) == 0 && strcmp(a->made, b->made) == 0 &&
           same_happenings(a, b);
}

static void add_names(struct arena *arena, struct paragraph *to, const char *names) {
    if (!strstr(to->names, names))
        to->names = joined(arena, to->names, ", ", names);
}

static void add_paragraph(struct text *t, struct paragraphs *all, const struct paragraph *made) {
    for (uint32_t i = 0; i < all->n; i++) {
        struct paragraph *old = &all->items[i];
        if (!is_like(old, made))
            continue;
        add_names(t->arena, old, made->names);
        old->rest_bytes += made->rest_bytes;
        for (unsigned h = 0; h < made->n; h++)
            old->happenings[h].bytes += made->happenings[h].bytes;
        return;
    }
    ARENA_PUSH(t->arena, all->items, all->n, all->cap, *made);
}

// "layers[0:16].mlp" of some layers only.
static const char *role_text(const struct text *t, const struct tensor *tensor,
                             const struct layer_range *range) {
    const char *path = role_path(t->arena, tensor->roles, tensor->n_roles);
    bool all = range_layers(range) == t->program->job->sizes.layers;
    return tensor->layers && !all ? sliced_role(t->c, path, *range) : path;
}

static struct paragraph begin_paragraph(const struct text *t, const struct buffer *buffer,
                                        uint32_t range) {
    const struct tensor *tensor = &t->program->job->tensors[buffer->tensor];
    const struct layer_range *layers = &t->c->placement.ranges[range];
    return (struct paragraph){.state = class_states[buffer->class],
                              .role = role_text(t, tensor, layers),
                              .names = last_word(tensor_model_name(tensor)),
                              .made = "",
                              .rest_bytes = buffer_bytes(t->program, buffer),
                              .layers = tensor->layers ? buffer_items(buffer) : 0};
}

static void add_route(struct text *t, struct paragraphs *all, uint32_t at) {
    const struct routed *routed = &t->c->routes.items[at];
    struct paragraph made =
        begin_paragraph(t, &t->program->buffers[routed->buffers[0]], routed->range);
    made.state = routed->route.state;
    if (routed->route.stations[0].is_master)
        made.rest_bytes = 0; // they are the optimizer's
    made.at_rest = rest_text(t, routed);
    made.made = made_text(t, &routed->route);
    for (unsigned i = 0; i < routed->route.n_hops; i++) {
        const struct hop *hop = &routed->route.hops[i];
        const struct hop_account *account = &t->accounts[at * MAX_ROUTE_HOPS + i];
        made.happenings[made.n++] = (struct happening){hop->event, hop_text(t, routed, hop),
                                                       account->times, account->bytes};
    }
    add_paragraph(t, all, &made);
}

static bool has_route(const struct text *t, buffer_id buffer) {
    for (uint32_t i = 0; i < t->c->routes.n; i++)
        if (t->c->routes.items[i].buffers[0] == buffer)
            return true;
    return false;
}

// What the average's optimizer has goes nowhere.
static void add_optimizer(struct text *t, struct paragraphs *all, uint32_t tensor) {
    for (uint32_t i = 0; i < t->program->n_buffers; i++) {
        const struct buffer *buffer = &t->program->buffers[i];
        if (class_states[buffer->class] != STATE_OPTIMIZER || buffer->tensor != tensor ||
            has_route(t, i))
            continue;
        uint32_t range = placement_range(&t->c->placement, buffer_first_layer(buffer));
        struct paragraph made = begin_paragraph(t, buffer, range);
        made.at_rest = arena_format(t->arena, "%s at rest", type_text(t, buffer));
        add_paragraph(t, all, &made);
    }
}

// What units hand on, by its name: that is the work's to say, not a route's.
static void add_activations(struct text *t, struct paragraphs *all) {
    for (uint32_t i = 0; i < t->program->n_buffers; i++) {
        const struct buffer *buffer = &t->program->buffers[i];
        if (buffer->class != CLASS_ACTIVATIONS || program_is_frame(t->program, i))
            continue;
        const struct stack *layers = buffer_stack(buffer, STACK_LAYERS);
        struct paragraph made = {.state = STATE_ACTIVATIONS,
                                 .role = buffer->name,
                                 .names = "",
                                 .made = "",
                                 .at_rest = type_text(t, buffer),
                                 .rest_bytes = buffer_bytes(t->program, buffer),
                                 .layers = layers ? layers->count : 0};
        ARENA_PUSH(t->arena, all->items, all->n, all->cap, made);
    }
}

// ---- printing ---------------------------------------------------------------------------------

// "4 layers x 2", "3 times", "once"
static const char *times_text(const struct text *t, const struct paragraph *p, int64_t times) {
    if (p->layers > 0 && times % p->layers == 0)
        return times == p->layers
                   ? arena_format(t->arena, "%" PRId64 " layer%s", p->layers,
                                  p->layers > 1 ? "s" : "")
                   : arena_format(t->arena, "%" PRId64 " layer%s x %" PRId64, p->layers,
                                  p->layers > 1 ? "s" : "", times / p->layers);
    return times == 1 ? "once" : arena_format(t->arena, "%" PRId64 " times", times);
}

// What happens at one event, from happening `i` on: "before each use: all_gather over dp, 4 layers x
// 2, 2.27 MiB", "freed behind it". Sets `i` to what happens at another.
static const char *event_text(const struct text *t, const struct paragraph *p, unsigned *i) {
    enum route_event event = p->happenings[*i].event;
    const char *text = "";
    bool numbers = false;
    for (const char *last = ""; *i < p->n && p->happenings[*i].event == event; ++*i) {
        const struct happening *h = &p->happenings[*i];
        if (strcmp(h->what, last) == 0 && !h->times) // several transients are freed as one
            continue;
        last = h->what;
        text = joined(t->arena, text, ", ", h->what);
        if (h->times)
            text = arena_format(t->arena, "%s, %s, %s", text, times_text(t, p, h->times),
                                size_text(t, h->bytes));
        numbers |= h->times > 0;
    }
    return !numbers && !strchr(text, ',')
               ? arena_format(t->arena, "%s %s", text, event_words[event])
               : arena_format(t->arena, "%s: %s", event_words[event], text);
}

// A paragraph that is printed clause by clause: one that does not fit behind the one before begins a
// line, and what is longer than a line is broken between words.
struct filling {
    FILE *to;
    int column;
};
enum { INDENT = 4 };

static void put_word(struct filling *f, const char *word, int length) {
    bool breaks = f->column > INDENT && f->column + 1 + length > REPORT_COLUMNS;
    if (breaks)
        f->column = fprintf(f->to, "\n%*s", INDENT, "") - 1;
    f->column += length + fprintf(f->to, "%s", f->column > 0 && !breaks ? " " : "");
    for (int i = 0; i < length; i++)
        fputc(word[i] == UNBROKEN ? ' ' : word[i], f->to);
}

static void put_clause(struct filling *f, const char *clause) {
    int length = (int)strlen(clause);
    if (f->column > 0) {
        bool fits = f->column + 3 + length <= REPORT_COLUMNS;
        f->column = fits ? f->column + fprintf(f->to, " |") : fprintf(f->to, "\n   |") - 1;
    }
    while (*clause) {
        int word = (int)strcspn(clause, " ");
        put_word(f, clause, word);
        clause += word;
        clause += strspn(clause, " ");
    }
}

static void print_paragraph(const struct text *t, const struct paragraph *p, bool several,
                            FILE *to) {
    struct filling f = {.to = to};
    const char *names = several ? arena_format(t->arena, " (%s)", p->names) : "";
    put_clause(&f, arena_format(t->arena, "%s %s%s: %s, %s", state_names[p->state], p->role, names,
                                p->at_rest, size_text(t, p->rest_bytes)));
    if (*p->made)
        put_clause(&f, p->made);
    for (unsigned i = 0; i < p->n;)
        put_clause(&f, event_text(t, p, &i));
    fprintf(to, "\n");
}

// Has the role several paragraphs of the state?
static bool has_several(const struct paragraphs *all, const struct paragraph *p) {
    unsigned n = 0;
    for (uint32_t i = 0; i < all->n; i++)
        n += all->items[i].state == p->state && strcmp(all->items[i].role, p->role) == 0;
    return n > 1;
}

void report_routes(struct compilation *c, FILE *to) {
    const struct program *program = c->derived && !c->whole ? c->derived : whole_program(c);
    struct text t = {c, &c->arena, program, account_routes(program, &c->routes, &c->arena)};
    struct paragraphs all = {0};
    for (uint32_t tensor = 0; tensor < program->job->n_tensors; tensor++) {
        for (uint32_t i = 0; i < c->routes.n; i++)
            if (c->routes.items[i].tensor == tensor)
                add_route(&t, &all, i);
        add_optimizer(&t, &all, tensor);
    }
    add_activations(&t, &all);
    for (enum state state = 0; state < N_STATES; state++)
        for (uint32_t i = 0; i < all.n; i++)
            if (all.items[i].state == state)
                print_paragraph(&t, &all.items[i],
                                state != STATE_ACTIVATIONS && has_several(&all, &all.items[i]), to);
}
