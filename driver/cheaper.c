// See cheaper.h. Parameters that are gathered anew in every microbatch are sent less often where a
// microbatch is larger, or where they are kept until the step ends; both take memory, and how much
// is found by compiling the edited file.
#include "driver/cheaper.h"

#include <inttypes.h>

#include "ir/placement.h"

// Twice as large: it is the nearest that divides the batch where this one does.
struct cheaper with_larger_microbatches(struct compilation *c, const struct options *options) {
    struct diagnostic d = {.set = c->diagnostics};
    struct cheaper cheaper = {0};
    int64_t twice = size_times(2, c->config.train.microbatch);
    if (c->final->job->sizes.microbatches > 1 && !c->edited && edit_microbatch(c, twice, &d) &&
        try_edits(c, options, &d, STAGE_JUDGED, &cheaper.tried))
        cheaper.words = arena_format(&c->arena, "`train.microbatch = %" PRId64 "`", twice);
    return cheaper;
}

static const struct diagnostic *find_warning(const struct compilation *c,
                                             enum diagnostic_code code) {
    for (uint32_t i = 0; i < c->diagnostics->n_items; i++)
        if (c->diagnostics->items[i]->code == code)
            return c->diagnostics->items[i];
    return NULL;
}

// What says that parameters are gathered, where the warning stands.
static const struct mode_statement *gathering_mode(const struct compilation *c, struct span span) {
    const struct strategy_config *strategy = &c->config.strategy;
    for (uint32_t m = 0; m < strategy->n_modes; m++) {
        const struct mode_statement *mode = &strategy->modes[m];
        if (mode->state == STATE_PARAMETERS && mode->sets_extent &&
            mode->extent == EXTENT_GATHERED && span_equal(origin_span(&mode->origin), span))
            return mode;
    }
    return NULL;
}

// "parameters", or the part that the strategy's own mode selects, as it says it.
static const char *selected(const struct compilation *c, const struct mode_statement *mode,
                            struct arena *arena) {
    struct span span = mode->selector_span;
    return mode->own_text && mode->selector.n_roles
               ? arena_format(arena, "%.*s", (int)(span.end - span.begin),
                              c->sources.items[span.source].text + span.begin)
               : "parameters";
}

// The mode up to its bracket, with the options that its own text has: they are tried, too.
static const char *said_of_gathering(const struct compilation *c, const struct mode_statement *mode,
                                     struct arena *arena) {
    const char *text =
        arena_format(arena, "gathered(%s", mode_axes_text(&c->config.mesh, mode, arena));
    for (uint32_t i = 0; mode->own_text && i < mode->n_options; i++) {
        struct span span = mode->options[i].span;
        text = arena_format(arena, "%s, %.*s", text, (int)(span.end - span.begin),
                            c->sources.items[span.source].text + span.begin);
    }
    return text;
}

// Tries to keep parameters between their uses. The words go inside the brackets of the strategy's
// own mode, or, against what `use` or a tuple brings, behind it.
struct cheaper with_kept_parameters(struct compilation *c, const struct options *options) {
    static const char kept[] = "after_forward = kept, after_backward = kept";
    const struct diagnostic *warning = find_warning(c, W811);
    const struct mode_statement *mode = warning ? gathering_mode(c, warning->span) : NULL;
    struct diagnostic d = {.set = c->diagnostics};
    struct cheaper cheaper = {0};
    if (!mode || c->edited || !is_of_file(c, warning->span))
        return cheaper;
    const char *words = arena_format(&c->arena, "%s : %s, %s)", selected(c, mode, &c->arena),
                                     said_of_gathering(c, mode, &c->arena), kept);
    struct span end = mode->own_text ? warning->span : mode->statement_span;
    if (mode->own_text)
        end.end--; // in front of the bracket
    end.begin = end.end;
    if (mode->own_text)
        diagnostic_edit(&d, end, ", %s", kept);
    else
        diagnostic_edit(&d, end, "  %s", words);
    if (try_edits(c, options, &d, STAGE_JUDGED, &cheaper.tried))
        cheaper.words = arena_format(&c->arena, "`%s`", words);
    return cheaper;
}

static const char *bytes(struct compilation *c, int64_t n) {
    return bytes_text(&c->arena, (double)n);
}

static const char *price(struct compilation *c, const struct cheaper *cheaper) {
    return arena_format(&c->arena, "with %s a step sends %s and needs %s", cheaper->words,
                        bytes(c, cheaper->tried.sent), bytes(c, cheaper->tried.peak[TIER_DEVICE]));
}

void propose_cheaper(struct compilation *c, const struct options *options, struct diagnostic *d) {
    struct cheaper all[] = {with_kept_parameters(c, options), with_larger_microbatches(c, options)};
    const char *help = NULL;
    for (int i = 0; i < 2; i++) {
        bool helps = all[i].words && all[i].tried.sent < c->accounts[sends_most(c)]->total_bytes;
        if (helps && fits_memory(&c->config.device, &all[i].tried))
            help = help ? arena_format(&c->arena, "%s; %s", help, price(c, &all[i]))
                        : price(c, &all[i]);
        else if (helps)
            diagnostic_note(d, "%s, %s", price(c, &all[i]),
                            all[i].tried.peak[TIER_DEVICE] > c->config.device.memory_bytes
                                ? "which the device has not"
                                : "and of its host more than there is");
    }
    if (help)
        diagnostic_help(d, "%s", help);
    else if (!all[0].words && !all[1].words)
        diagnostic_help(d, "keep what is gathered until the step ends, or take a larger "
                           "train.microbatch");
}
