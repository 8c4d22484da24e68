// W830, parameters and gradients: how often each travels, how much at a time, how far ahead of its
// use. What an option decides is a quantity of the account; it is told of the first tensor in which
// the text and what would be derived differ.
#include "driver/edited_inside.h"

#include <inttypes.h>
#include <string.h>

// ---- quantities -------------------------------------------------------------------------------

enum quantity { TIMES, TOGETHER, IN_A_ROW, AHEAD_IN_FORWARD, AHEAD_IN_BACKWARD, FOR_BACKWARD };

// What is kept to the end of the step is kept after forward, so that is asked first.
static const struct decided {
    enum state state;
    const char *option;
    enum quantity quantity;
    const char *needed_by; // an option above that may not be said without this one
} decided[] = {
    {STATE_PARAMETERS, "prefetch", AHEAD_IN_FORWARD, NULL},
    {STATE_PARAMETERS, "prefetch", AHEAD_IN_BACKWARD, NULL},
    {STATE_PARAMETERS, "unit", TOGETHER, NULL},
    {STATE_PARAMETERS, "unit", IN_A_ROW, NULL},
    {STATE_PARAMETERS, "after_backward", TIMES, NULL},
    {STATE_PARAMETERS, "after_forward", FOR_BACKWARD, "after_backward"},
    {STATE_GRADIENTS, "reduce", TIMES, NULL},
    {STATE_GRADIENTS, "bucket", TOGETHER, NULL},
};
enum { N_DECIDED = sizeof decided / sizeof *decided };

struct measured {
    bool known;
    int64_t amount;
    struct span span; // nowhere: nothing travels
};

static const struct ahead *ahead_of(const struct traffic *traffic, enum quantity quantity) {
    return &traffic->ahead[quantity == AHEAD_IN_FORWARD ? PHASE_FORWARD : PHASE_BACKWARD];
}

static struct measured measure(const struct traffic *traffic, enum quantity quantity) {
    const struct ahead *ahead = ahead_of(traffic, quantity);
    struct span span = traffic->times ? traffic->span : span_nowhere();
    switch (quantity) {
    case TIMES:
        return (struct measured){true, traffic->times, span};
    case TOGETHER:
        return (struct measured){true, traffic->together, span};
    case IN_A_ROW:
        return (struct measured){true, traffic->in_a_row, span};
    case AHEAD_IN_FORWARD:
    case AHEAD_IN_BACKWARD:
        return (struct measured){ahead->known, ahead->layers, ahead->span};
    case FOR_BACKWARD:
        return (struct measured){true, ahead->known, ahead->known ? ahead->span : span};
    }
    return (struct measured){0};
}

static const char *amount_text(struct arena *arena, enum quantity quantity, int64_t amount) {
    const char *s = plural_s(amount);
    switch (quantity) {
    case TIMES:
        return arena_format(arena, "%" PRId64 " time%s a step", amount, s);
    case TOGETHER:
        return arena_format(arena, "%s at a time", bytes_text(arena, (double)amount));
    case IN_A_ROW:
        return arena_format(arena, "%" PRId64 " layer%s at once", amount, s);
    case AHEAD_IN_FORWARD:
        return arena_format(arena, "%" PRId64 " layer%s ahead in forward", amount, s);
    case AHEAD_IN_BACKWARD:
        return arena_format(arena, "%" PRId64 " layer%s ahead in backward", amount, s);
    case FOR_BACKWARD:
        return amount ? "for backward again" : "for forward alone";
    }
    return "";
}

// ---- comparison -------------------------------------------------------------------------------

static struct span span_or_step(const struct compilation *c, struct span span) {
    return span.source == NO_SOURCE ? c->final->steps[STEP_TRAIN].span : span;
}

struct hearing {
    struct compilation *c;
    const struct placement *placement;
    struct traffic *text[N_STATES], *file[N_STATES]; // as it is written, as it would be derived
};

static void measure_traffic(struct hearing *h, enum state state) {
    if (h->text[state])
        return;
    h->text[state] = account_traffic(h->c->final, h->placement, state, &h->c->arena);
    h->file[state] = account_traffic(h->c->derived, h->placement, state, &h->c->arena);
}

// True: it was told.
static bool tell_option(struct hearing *h, const struct mode_statement *mode,
                        const struct said_option *option, const struct decided *what,
                        uint32_t tensor, unsigned axis) {
    uint32_t at = tensor * h->c->final->job->mesh.n_axes + axis;
    struct measured text = measure(&h->text[mode->state][at], what->quantity);
    struct measured file = measure(&h->file[mode->state][at], what->quantity);
    if (!text.known || !file.known || text.amount == file.amount)
        return false;
    bool gathers = mode->state == STATE_PARAMETERS;
    struct arena *arena = &h->c->arena;
    struct diagnostic *d = report_unheard(h->c, &mode->origin, option->span, option->name);
    diagnostic_say(d, "by it `%s` would be %s %s",
                   tensor_model_name(&h->c->final->job->tensors[tensor % h->placement->n_tensors]),
                   gathers ? "gathered" : "summed",
                   amount_text(arena, what->quantity, file.amount));
    diagnostic_label(d, span_or_step(h->c, text.span), "this %s it %s",
                     gathers ? "gathers" : "sums", amount_text(arena, what->quantity, text.amount));
    help_unheard(d, option->name);
    return true;
}

// Tells the first tensor, of those that a statement is about, that travels otherwise than its
// option says. True: it was told.
static bool check_option(struct hearing *h, const struct mode_statement *mode,
                         const struct said_option *option, const struct decided *what) {
    const struct placement *placement = h->placement;
    measure_traffic(h, mode->state);
    for (uint32_t t = 0; t < placement->n_ranges * placement->n_tensors; t++)
        for (unsigned axis = 0; axis < h->c->final->job->mesh.n_axes; axis++)
            if (placement->tensors[t].storage->modes[mode->state][axis] == mode &&
                tell_option(h, mode, option, what, t, axis))
                return true;
    return false;
}

static const struct said_option *find_said(const struct compilation *c,
                                           const struct mode_statement *mode, const char *name) {
    for (uint32_t i = 0; i < mode->n_options; i++)
        if (strcmp(mode->options[i].name, name) == 0 &&
            mode->options[i].span.source == c->file.source)
            return &mode->options[i];
    return NULL;
}

// An option that others need is told when these have been taken out.
static bool was_told(const bool *told, const char *option) {
    for (int i = 0; i < N_DECIDED; i++)
        if (told[i] && option && strcmp(decided[i].option, option) == 0)
            return true;
    return false;
}

static void check_travel(struct hearing *h, const struct mode_statement *mode) {
    bool told[N_DECIDED] = {false};
    for (int i = 0; i < N_DECIDED; i++) {
        const struct decided *what = &decided[i];
        const struct said_option *option =
            what->state == mode->state ? find_said(h->c, mode, what->option) : NULL;
        if (option && !was_told(told, what->option) && !was_told(told, what->needed_by))
            told[i] = check_option(h, mode, option, what);
    }
}

void edited_check_travel(struct compilation *c, const struct placement *placement) {
    const struct strategy_config *strategy = &c->config.strategy;
    struct hearing hearing = {.c = c, .placement = placement};
    for (uint32_t m = 0; m < strategy->n_modes; m++)
        check_travel(&hearing, &strategy->modes[m]);
}
