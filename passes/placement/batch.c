// place, batch: a batch must divide into microbatches of all devices (E201), and how it would.
#include <inttypes.h>

#include "ir/diagnostic.h"
#include "passes/placement/place.h"

// Batches of whole `unit`s of sequences, as many as all devices take at once: the one below the
// file's and the one above.
static void propose_batch_of(struct placing *p, struct diagnostic *d, int64_t unit) {
    const struct train_config *train = &p->config->train;
    int64_t fewer = train->batch / unit, more = fewer + 1;
    if (train->reproducible) {
        more = power_of_two_from(more);
        fewer = more / 2;
    }
    int64_t below = size_times(fewer, unit), above = size_times(more, unit);
    if (below > 0)
        diagnostic_help(d, "a batch of %" PRId64 " or %" PRId64 " would do", below, above);
    else
        diagnostic_help(d, "the smallest batch that would do is %" PRId64, above);
    if (train->batch_origin.kind == ORIGIN_STATEMENT)
        diagnostic_edit(d, train->batch_origin.span, "batch = %" PRId64, above);
}

// Whether a device's part of the batch can be taken so many sequences at a time.
static bool divides_part(const struct placing *p, int64_t part, int64_t microbatch) {
    return part % microbatch == 0 &&
           (!p->config->train.reproducible || is_power_of_two(part / microbatch));
}

// The nearest numbers of sequences that each device can take of its part at a time, both divisors
// of it: `fewer` at most the microbatch, else 0, `more` above it, else 0.
static void nearest_microbatches(const struct placing *p, int64_t part, int64_t *fewer,
                                 int64_t *more) {
    int64_t microbatch = p->config->train.microbatch;
    *fewer = *more = 0;
    for (int64_t i = 1; i <= part / i; i++)
        for (int side = 0; side < 2 && part % i == 0; side++) {
            int64_t divisor = side ? part / i : i;
            if (!divides_part(p, part, divisor))
                continue;
            if (divisor <= microbatch && divisor > *fewer)
                *fewer = divisor;
            if (divisor > microbatch && (*more == 0 || divisor < *more))
                *more = divisor;
        }
}

// False: there is none.
static bool propose_microbatch(struct placing *p, struct diagnostic *d, int64_t part) {
    const struct train_config *train = &p->config->train;
    int64_t fewer, more;
    nearest_microbatches(p, part, &fewer, &more);
    int64_t nearest = fewer ? fewer : more;
    if (nearest == 0)
        return false;
    const char *other = fewer && more ? arena_format(p->arena, " or %" PRId64, more) : "";
    diagnostic_help(
        d, "microbatches of %" PRId64 "%s would do: each device has %" PRId64 " sequence%s",
        nearest, other, part, plural_s(part));
    if (train->microbatch_origin.kind == ORIGIN_STATEMENT)
        diagnostic_edit(d, train->microbatch_origin.span, "microbatch = %" PRId64, nearest);
    return true;
}

void propose_microbatches(struct placing *p, struct diagnostic *d) {
    const struct train_config *train = &p->config->train;
    int64_t parts = mesh_group_size(&p->config->mesh, &p->placement->batch);
    bool divides = train->batch % parts == 0;
    if (!divides || !propose_microbatch(p, d, train->batch / parts))
        propose_batch_of(p, d, size_times(parts, train->microbatch));
}

// The most sequences that a device can take of its part at a time so that it does so often; 0: that cannot be.
static int64_t size_for(const struct placing *p, int64_t part, int64_t least, int64_t most) {
    int64_t size = 0;
    for (int64_t i = 1; i <= part / i; i++)
        for (int side = 0; side < 2 && part % i == 0; side++) {
            int64_t divisor = side ? part / i : i, n = part / divisor;
            if (divides_part(p, part, divisor) && n >= least && n <= most && divisor > size)
                size = divisor;
        }
    return size;
}

void propose_number_of_microbatches(struct placing *p, struct diagnostic *d, int64_t least,
                                    int64_t most) {
    const struct train_config *train = &p->config->train;
    const struct origin *said = &train->microbatch_origin, *batch = &train->batch_origin;
    int64_t parts = mesh_group_size(&p->config->mesh, &p->placement->batch);
    int64_t part = train->batch / parts, size = size_for(p, part, least, most);
    if (size == 0) {
        int64_t n = train->reproducible ? power_of_two_from(least) : least;
        bool all = said->kind == ORIGIN_DEFAULT; // of its sequences a device takes at once
        const char *also = all ? "  microbatch = 1" : "";
        int64_t unit = size_times(parts, all ? 1 : train->microbatch);
        diagnostic_help(d, "say `batch = %" PRId64 "%s`, which makes %" PRId64 " microbatches",
                        size_times(unit, n), also, n);
        if (batch->kind == ORIGIN_STATEMENT)
            diagnostic_edit(d, batch->span, "batch = %" PRId64 "%s", size_times(unit, n), also);
        return;
    }
    diagnostic_help(d,
                    "say `microbatch = %" PRId64 "`: the %" PRId64
                    " sequences of a device are %" PRId64 " microbatch%s then",
                    size, part, part / size, part == size ? "" : "es");
    struct span behind = span_of(batch->span.source, batch->span.end, batch->span.end);
    if (said->kind == ORIGIN_STATEMENT)
        diagnostic_edit(d, said->span, "microbatch = %" PRId64, size);
    else if (said->kind == ORIGIN_DEFAULT && batch->kind == ORIGIN_STATEMENT)
        diagnostic_edit(d, behind, "  microbatch = %" PRId64, size);
}

// The sequences that all devices that share the batch take at once.
static int64_t sequences_at_once(const struct placing *p) {
    return size_times(mesh_group_size(&p->config->mesh, &p->placement->batch),
                      p->config->train.microbatch);
}

bool divides_batch(const struct placing *p) {
    return p->config->train.batch % sequences_at_once(p) == 0;
}

// m = batch / (microbatch * devices) must be whole: a remainder would weigh some sequences more.
void check_batch(struct placing *p) {
    if (divides_batch(p))
        return;
    const struct train_config *train = &p->config->train;
    const struct axis_list *axes = &p->placement->batch;
    int64_t parts = mesh_group_size(&p->config->mesh, axes);
    // Where nothing is said a device takes all of its part, and a batch of fewer sequences than
    // devices has none for some.
    bool said = train->microbatch_origin.kind != ORIGIN_DEFAULT;
    const char *into =
        said ? arena_format(p->arena, "into microbatches of %" PRId64 " sequence%s on",
                            train->microbatch, plural_s(train->microbatch))
             : "over";
    // What the command line says is what was changed last.
    const struct origin *batch = &train->batch_origin, *microbatch = &train->microbatch_origin;
    bool by_microbatch =
        microbatch->kind == ORIGIN_COMMAND_LINE && batch->kind != ORIGIN_COMMAND_LINE;
    const struct origin *first = by_microbatch ? microbatch : batch;
    const char *of_batch =
        arena_format(p->arena, "not a multiple of %" PRId64, sequences_at_once(p));
    const char *of_microbatch = "sequences on a device at once";
    struct diagnostic *d = report(p->diagnostics, E201, origin_span(first),
                                  "a batch of %" PRId64 " does not divide %s %" PRId64 " device%s",
                                  train->batch, into, parts, plural_s(parts));
    diagnostic_say(d, "%s", by_microbatch ? of_microbatch : of_batch);
    if (said)
        diagnostic_label(d, origin_span(by_microbatch ? batch : microbatch), "%s",
                         by_microbatch ? of_batch : of_microbatch);
    if (parts > 1)
        diagnostic_label(d, origin_span(&p->placement->split_by[axes->axes[0]]->origin),
                         "%" PRId64 " devices share the batch", parts);
    diagnostic_origin(d, first);
    propose_microbatches(p, d);
}
