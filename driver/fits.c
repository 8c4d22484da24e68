// What makes a program fit that takes too much memory (E701, W801): a search among edits, from
// those that disturb least to those that disturb most. A pipeline gets a method that has less in
// flight. What is kept after forward is freed, states are cut over the data axes as ZeRO's stages
// do, activations are recomputed, microbatches become smaller, and where there are several data
// axes, only some of them cut. Where nothing of that fits, states are kept on the host, and then on
// disk, with all of it, and at last what takes least is made to take less, tensor by tensor, as long
// as any change of it does. Each edit is compiled, so that its bytes are known, and what is proposed
// of them is proved. Told are the first that fits and the one that sends least; where none fits, the
// least that was found, and how many devices would do.
#include "driver/fits.h"

#include <inttypes.h>
#include <string.h>

#include "driver/fit_edit.h"
#include "driver/trying.h"

enum { MOST_HALVINGS = 20, MOST_DOUBLINGS = 12 };

struct outcome {
    struct edit edit;
    struct tried tried;
};

struct search {
    struct compilation *c;
    const struct options *options;
    struct editable file;
    int64_t limits[N_TIERS];
    bool may_keep_away;
    const char *method;                      // of the pipeline, with all edits; NULL: as it is
    size_t length;                           // of the programs that were derived
    int64_t microbatches[MOST_HALVINGS + 1]; // from what is said down
    unsigned n_microbatches;
    struct outcome first, lightest, least; // fits and disturbs least, sends least; takes least
    struct outcome least_here;             // takes least of those that keep all on the device
    bool fits, any;
};

// ---- trying -----------------------------------------------------------------------------------

// True if the edited file has a program, which is right as far as the stage says; what it takes and
// sends is in the outcome.
static bool compile_edit(const struct search *s, const struct options *options,
                         const struct edit *edit, enum stage stage, struct outcome *outcome) {
    struct diagnostic d = {.set = s->c->diagnostics};
    *outcome = (struct outcome){.edit = *edit};
    return write_edit(&s->file, edit, &d) && try_edits(s->c, options, &d, stage, &outcome->tried);
}

// How much of its limit the fullest arena takes; up to 1, all fit.
static double fullness(const struct search *s, const struct tried *tried) {
    double most = 0;
    for (int t = 0; t < N_TIERS; t++)
        if (s->limits[t] && (double)tried->peak[t] / (double)s->limits[t] > most)
            most = (double)tried->peak[t] / (double)s->limits[t];
    return most;
}

static bool is_proved(const struct search *s, const struct options *options,
                      const struct outcome *found) {
    struct outcome judged;
    return compile_edit(s, options, &found->edit, STAGE_JUDGED, &judged) &&
           fullness(s, &judged.tried) <= 1;
}

static int64_t moved(const struct outcome *outcome) {
    return size_plus(outcome->tried.sent, outcome->tried.copied);
}

static int64_t size_of_microbatch(const struct search *s, const struct edit *edit) {
    return edit->microbatch ? edit->microbatch : s->c->config.train.microbatch;
}

// Is less disturbed by this one?
static bool disturbs_less(const struct search *s, const struct edit *a, const struct edit *b) {
    if (!a->method != !b->method)
        return !a->method;
    if (!a->pieces != !b->pieces)
        return !a->pieces;
    if (a->inner != b->inner)
        return a->inner < b->inner;
    if (size_of_microbatch(s, a) != size_of_microbatch(s, b))
        return size_of_microbatch(s, a) > size_of_microbatch(s, b);
    if (a->recomputed != b->recomputed)
        return b->recomputed;
    return a->stage != b->stage ? a->stage < b->stage : b->freed && !a->freed;
}

// Returns whether it fits. What would take too long is not tried any more.
static bool try_edit(struct search *s, const struct edit *edit) {
    struct outcome now = {.edit = *edit};
    bool right =
        s->length <= LIMIT_SEARCHED && compile_edit(s, s->options, edit, STAGE_ACCOUNTED, &now);
    s->length += now.tried.length;
    if (!right)
        return false;
    if (!s->any || fullness(s, &now.tried) < fullness(s, &s->least.tried))
        s->least = now;
    s->any = true;
    if (fullness(s, &now.tried) > 1)
        return false;
    if (!s->fits || disturbs_less(s, &now.edit, &s->first.edit))
        s->first = now;
    if (!s->fits || moved(&now) < moved(&s->lightest) ||
        (moved(&now) == moved(&s->lightest) && disturbs_less(s, &now.edit, &s->lightest.edit)))
        s->lightest = now;
    s->fits = true;
    return true;
}

// What saves most for states that are placed so is tried first: where that does not fit, nothing
// of it does.
static void try_activations(struct search *s, struct edit edit, bool may_recompute) {
    struct edit most = edit;
    most.recomputed = may_recompute;
    most.microbatch = s->n_microbatches > 1 ? s->microbatches[s->n_microbatches - 1] : 0;
    bool changes = most.recomputed || most.microbatch;
    if (changes && !try_edit(s, &most)) {
        if (!most.microbatch)
            return;
        most.microbatch = 0; // several microbatches accumulate gradients
        if (!try_edit(s, &most))
            return;
    }
    bool fits_recomputed = false;
    for (unsigned i = 0; i < s->n_microbatches; i++)
        for (int recomputed = 0; recomputed <= may_recompute; recomputed++) {
            edit.microbatch = i ? s->microbatches[i] : 0;
            edit.recomputed = recomputed;
            if ((recomputed && fits_recomputed) || !try_edit(s, &edit))
                continue;
            if (!recomputed)
                return; // smaller ones send no less
            fits_recomputed = true;
        }
}

static void try_stages(struct search *s, int away) {
    const struct strategy_config *strategy = &s->c->config.strategy;
    bool may_recompute = !says_where_activations_live(strategy), kept = keeps_anything(strategy);
    for (unsigned inner = 0; inner == 0 || inner < s->file.data.n; inner++) {
        struct axis_list over = without_outer(&s->file.data, inner);
        int said = over.n && !strategy->n_relaxations ? stage_said(strategy, &over) : STAGES;
        for (int stage = 0; stage < STAGES; stage++)
            for (int freed = 0; freed <= kept; freed++)
                if (stage ? stage > said : inner == 0)
                    try_activations(s,
                                    (struct edit){.method = s->method,
                                                  .inner = inner,
                                                  .stage = stage,
                                                  .freed = freed,
                                                  .away = away},
                                    may_recompute);
    }
}

// Tries the pipeline's other methods alone; where that is not enough, the one that takes least goes
// with all that is tried then.
static void try_methods(struct search *s) {
    enum pipeline_method methods[N_METHODS];
    const struct pipeline_config *said = &s->c->config.strategy.pipeline;
    unsigned n = is_pipelined(s->c) && !said->file
                     ? methods_that_hold_less(&s->c->placement, said,
                                              s->c->final->job->sizes.layers, methods)
                     : 0;
    for (unsigned i = 0; i < n; i++)
        if (try_edit(s, &(struct edit){.method = method_names[methods[i]]}))
            return;
    s->method = s->least.edit.method;
}

// Changes of the edit that takes least, one thing at a time, as long as one takes less. So the least
// that is told is not far from the least that there is.
static void try_pieces(struct search *s) {
    bool may_recompute = !says_where_activations_live(&s->c->config.strategy);
    double before;
    do {
        before = fullness(s, &s->least.tried);
        struct edit edit = s->least.edit;
        edit.pieces = ALL_PIECES;
        edit.freed = false; // nothing that is gathered is kept
        try_edit(s, &edit);
        edit.microbatch = s->n_microbatches > 1 ? s->microbatches[s->n_microbatches - 1] : 0;
        try_edit(s, &edit);
        for (int stage = 0; stage < STAGES && s->file.data.n; stage++) {
            edit = s->least.edit;
            edit.stage = stage;
            try_edit(s, &edit);
        }
        for (int away = 0; away < AWAY && s->may_keep_away; away++) {
            edit = s->least.edit;
            edit.away = away;
            try_edit(s, &edit);
        }
        edit = s->least.edit;
        edit.recomputed = !edit.recomputed && may_recompute;
        try_edit(s, &edit);
    } while (!s->fits && fullness(s, &s->least.tried) < before);
}

// Without what does not make it take less.
static void leave_out_pieces(struct search *s, struct outcome *found) {
    for (unsigned bit = 1; bit < 1U << PIECE_BITS && s->length <= LIMIT_SEARCHED; bit <<= 1) {
        struct edit edit = found->edit;
        struct outcome without;
        edit.pieces &= ~bit;
        if (edit.pieces == found->edit.pieces ||
            !compile_edit(s, s->options, &edit, STAGE_ACCOUNTED, &without))
            continue;
        s->length += without.tried.length;
        if (fullness(s, &without.tried) <= fullness(s, &found->tried))
            *found = without;
    }
}

static void try_all(struct search *s) {
    try_edit(s, &(struct edit){0}); // what the file says may take less than all edits of it
    try_methods(s);
    if (s->fits)
        return;
    try_stages(s, 0);
    s->least_here = s->least;
    for (int away = 1; away < AWAY && !s->fits && s->may_keep_away; away++)
        if (keeps_nearer(&s->file, away))
            try_stages(s, away);
    if (s->any && !s->fits) {
        try_pieces(s);
        leave_out_pieces(s, &s->least);
        if (s->fits) {
            leave_out_pieces(s, &s->first);
            leave_out_pieces(s, &s->lightest);
        }
    }
    struct edit without = s->first.edit;
    without.method = NULL;
    if (s->fits && s->method)
        try_edit(s, &without);
}

// Each a divisor of the one before, so that the batch stays the same.
static void find_microbatches(struct search *s) {
    int64_t size = s->c->config.train.microbatch;
    s->microbatches[s->n_microbatches++] = size;
    while (size > 1 && s->n_microbatches <= MOST_HALVINGS) {
        int64_t parts = 2;
        while (parts <= size / parts && size % parts != 0)
            parts++;
        if (size % parts != 0)
            parts = size; // a prime
        s->microbatches[s->n_microbatches++] = size /= parts;
    }
}

// ---- more devices -----------------------------------------------------------------------------

// The options as if --ranks and -D train.batch had been given.
static struct options with_devices(const struct search *s, int64_t devices, int64_t batch) {
    struct arena *arena = &s->c->arena;
    struct options more = *s->options;
    struct option_list *defined = &more.lists[OPTION_DEFINE];
    const char **items = ARENA_ARRAY(arena, const char *, defined->n + 1);
    uint32_t n = 0;
    for (uint32_t i = 0; i < defined->n; i++)
        if (strncmp(defined->items[i], "train.batch=", strlen("train.batch=")) != 0)
            items[n++] = defined->items[i];
    items[n++] = arena_format(arena, "train.batch=%" PRId64, batch);
    defined->items = items;
    defined->n = n;
    more.values[OPTION_RANKS] = arena_format(arena, "%" PRId64, devices);
    return more;
}

struct many_devices {
    int64_t n;
    struct options options;
    struct outcome outcome;
};

// Tries 2^doublings times as many devices with what takes least. The batch grows with them.
static bool compile_on_more(const struct search *s, int doublings, struct many_devices *more) {
    int64_t times = INT64_C(1) << doublings;
    more->n = size_times(mesh_devices(&s->c->config.mesh), times);
    more->options = with_devices(s, more->n, size_times(s->c->config.train.batch, times));
    return more->n <= LIMIT_DEVICES &&
           compile_edit(s, &more->options, &s->least_here.edit, STAGE_ACCOUNTED, &more->outcome);
}

// The fewest devices on which it fits, twice as many as there are, or four times, ...; false: it fits
// on none of them. The more there are the less each has, so most are tried first.
static bool devices_that_do(const struct search *s, struct many_devices *fewest) {
    struct many_devices more;
    int high = MOST_DOUBLINGS, low = 1;
    while (high > 0 && !compile_on_more(s, high, fewest))
        high--;
    if (high == 0 || fullness(s, &fewest->outcome.tried) > 1)
        return false;
    while (low < high) {
        int middle = low + (high - low) / 2;
        if (compile_on_more(s, middle, &more) && fullness(s, &more.outcome.tried) <= 1) {
            *fewest = more;
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    return is_proved(s, &fewest->options, &fewest->outcome);
}

// ---- what is told -----------------------------------------------------------------------------

static const char *bytes(const struct search *s, int64_t n) {
    return bytes_text(&s->c->arena, (double)n);
}

// "3 GiB", "3 GiB (on host 12 GiB, on disk 40 GiB)"
static const char *needs_text(const struct search *s, const struct tried *tried) {
    const char *beyond = "";
    for (int t = TIER_DEVICE + 1; t < N_TIERS; t++)
        if (tried->peak[t])
            beyond = arena_format(&s->c->arena, "%s%son %s %s", beyond, *beyond ? ", " : "",
                                  tier_names[t], bytes(s, tried->peak[t]));
    const char *here = bytes(s, tried->peak[TIER_DEVICE]);
    return *beyond ? arena_format(&s->c->arena, "%s (%s)", here, beyond) : here;
}

// "sends 5 GiB", "sends 5 GiB (copies 3 GiB)"
static const char *sends_text(const struct search *s, const struct tried *tried) {
    const char *text = arena_format(&s->c->arena, "sends %s", bytes(s, tried->sent));
    return tried->copied
               ? arena_format(&s->c->arena, "%s (copies %s)", text, bytes(s, tried->copied))
               : text;
}

// Where states would leave the device, on how many more they need not.
static void tell_devices(const struct search *s, struct diagnostic *d) {
    struct many_devices devices;
    if (devices_that_do(s, &devices))
        diagnostic_note(d,
                        "on %" PRId64
                        " devices, where each has as much of the batch, all fits: with "
                        "%s it needs %s",
                        devices.n, edit_words(&s->file, &s->least_here.edit),
                        needs_text(s, &devices.outcome.tried));
}

static void tell_fits(const struct search *s, struct diagnostic *d) {
    const struct outcome *first = &s->first, *lightest = &s->lightest;
    if (moved(lightest) < moved(first) && is_proved(s, s->options, lightest))
        diagnostic_note(d, "least is sent with %s: it %s a step, and needs %s",
                        edit_words(&s->file, &lightest->edit), sends_text(s, &lightest->tried),
                        needs_text(s, &lightest->tried));
    if (first->edit.away)
        tell_devices(s, d);
    diagnostic_help(d, "with %s it needs %s and %s a step", edit_words(&s->file, &first->edit),
                    needs_text(s, &first->tried), sends_text(s, &first->tried));
    if (d->severity == SEVERITY_WARNING)
        return; // it fits as it is
    write_edit(&s->file, &first->edit, d);
    d->help_checked = true;
}

static bool splits(const struct strategy_config *strategy, enum dimension dimension) {
    for (uint32_t i = 0; i < strategy->n_splits; i++)
        for (uint32_t d = 0; d < strategy->splits[i].n_dimensions; d++)
            if (strategy->splits[i].dimensions[d] == dimension)
                return true;
    return false;
}

// What no edit does that is tried: what only the command line can change, and an axis more.
static const char *what_is_left(const struct search *s) {
    const struct train_config *train = &s->c->config.train;
    const struct strategy_config *strategy = &s->c->config.strategy;
    if (train->microbatch > 1 && train->microbatch_origin.kind == ORIGIN_COMMAND_LINE)
        return "set a smaller train.microbatch";
    if (!splits(strategy, DIM_HEADS))
        return "divide the model, as with `split heads, kv_heads, ffn over` an axis of its own";
    return splits(strategy, DIM_SEQUENCE)
               ? "divide the model or sequences over more devices"
               : "divide sequences, with `split sequence over` an axis of its own";
}

static void tell_least(const struct search *s, struct diagnostic *d) {
    struct many_devices devices;
    diagnostic_note(d, "the least that was found is %s, with %s", needs_text(s, &s->least.tried),
                    edit_words(&s->file, &s->least.edit));
    if (devices_that_do(s, &devices))
        diagnostic_help(d,
                        "train on %" PRId64 " devices: with that it needs %s there, where each has "
                        "as much of the batch",
                        devices.n, needs_text(s, &devices.outcome.tried));
    else
        diagnostic_help(d, "%s", what_is_left(s));
}

// A program that the file writes out is not derived anew, and what is wrong otherwise comes first.
static bool may_search(const struct compilation *c) {
    return !c->edited && is_right_but_for_memory(c);
}

void propose_fits(struct compilation *c, const struct options *options, struct diagnostic *d) {
    struct search s = {
        .c = c, .options = options, .file = editable(c), .may_keep_away = d->code == E701};
    for (int t = 0; t < N_TIERS; t++) {
        int64_t limit = tier_limit(&c->config.device, t);
        s.limits[t] = d->code == E701 ? limit : limit / 10 * 8;
    }
    if (may_search(c)) {
        find_microbatches(&s);
        try_all(&s);
    }
    if (s.fits && is_proved(&s, options, &s.first))
        tell_fits(&s, d);
    else if (s.any && !s.fits)
        tell_least(&s, d);
    else
        diagnostic_help(d, "hold less of each state, or use more devices");
}
