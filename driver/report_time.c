// The time of a step, if everything else were free. Every number is a lower bound (`best`: all of
// it at once; `worst`: one after the other), and none is a prediction.
#include "driver/report_time.h"

#include <math.h>
#include <string.h>

#include "driver/cheaper.h"
#include "driver/quantity.h"
#include "driver/report.h"

// ---- JSON -------------------------------------------------------------------------------------

// The time in nanoseconds; a negative one is not known.
static json_t *time_value(double seconds) {
    return seconds < 0 ? json_null() : json_integer((json_int_t)fmin(ceil(seconds * 1e9), 9e18));
}

json_t *time_json(struct compilation *c) {
    const struct step_time time = compilation_time(c);
    json_t *axes = json_object();
    for (uint32_t axis = 0; axis < c->final->job->mesh.n_axes; axis++)
        if (time.axes[axis].bytes > 0)
            json_object_set_new(axes, c->final->job->mesh.axes[axis].name,
                                time_value(time.axes[axis].seconds));
    bool waits = is_pipelined(c) && time.best_s >= 0;
    return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "compute", time_value(time.compute_s),
                     "axes", axes, "memory", time_value(time.memory_s), "host_link",
                     time_value(time.host_link_bytes > 0 ? time.host_link_s : -1), "idle",
                     time_value(waits ? time.idle_s : -1), "best", time_value(time.best_s), "worst",
                     time_value(time.worst_s));
}

// ---- text -------------------------------------------------------------------------------------

// What a step takes time for.
struct part {
    const char *name;
    double seconds;   // negative: the file does not say what it needs for it
    const char *at;   // at what speed, and what of it
    const char *most; // what takes most of it; NULL: nothing is told apart
};
enum { COMPUTE, MEMORY, HOST_LINK };
struct parts {
    struct part items[HOST_LINK + 1 + MAX_AXES];
    unsigned first_axis; // behind the link to the host, where anything is copied
    unsigned n;
};

static const char *compute_text(struct compilation *c, const struct step_work *work) {
    const char *speed = quantity_text(&c->arena, c->config.device.flops_per_s, FLOPS_A_SECOND);
    double again = 100 * work->again_flops / work->flops;
    return again < 0.5 ? speed : arena_format(&c->arena, "%s, %.0f %% recomputed", speed, again);
}

static const char *moved_text(struct compilation *c, double bytes_per_s, double bytes) {
    return arena_format(&c->arena, "%s, %s", quantity_text(&c->arena, bytes_per_s, BYTES_A_SECOND),
                        bytes_text(&c->arena, bytes));
}

static const char *slowest_text(struct compilation *c, const struct axis_time *axis) {
    const struct slowest_transfer *slowest = &axis->slowest;
    if (slowest->seconds <= 0)
        return NULL;
    const char *of = slowest->role != ROLE_NONE   ? role_names[slowest->role]
                     : slowest->state == N_STATES ? "scalars"
                                                  : state_names[slowest->state];
    return arena_format(&c->arena, "%s of %s %s", collective_names[slowest->kind], of,
                        quantity_text(&c->arena, slowest->seconds, SECONDS));
}

static struct parts parts_of(struct compilation *c, const struct step_time *time) {
    const struct device_config *device = &c->config.device;
    struct parts parts = {.n = HOST_LINK};
    parts.items[COMPUTE] =
        (struct part){"compute", time->compute_s, compute_text(c, &time->work), NULL};
    parts.items[MEMORY] =
        (struct part){"memory", time->memory_s,
                      moved_text(c, device->bandwidth_bytes_per_s, time->work.moved_bytes), NULL};
    if (time->host_link_bytes > 0)
        parts.items[parts.n++] = (struct part){
            "host_link", time->host_link_s,
            moved_text(c, device->host_link_bytes_per_s, time->host_link_bytes), NULL};
    parts.first_axis = parts.n;
    for (uint32_t i = 0; i < c->final->job->mesh.n_axes; i++) {
        const struct mesh_axis *axis = &c->final->job->mesh.axes[i];
        const struct axis_time *of = &time->axes[i];
        if (of->bytes > 0)
            parts.items[parts.n++] = (struct part){axis->name, of->seconds,
                                                   moved_text(c, axis->link_bytes_per_s, of->bytes),
                                                   slowest_text(c, of)};
    }
    return parts;
}

enum { BAR_COLUMNS = 18 };

static void print_bar(double share, FILE *to) {
    int filled = (int)ceil(share * BAR_COLUMNS);
    for (int i = 0; i < BAR_COLUMNS; i++)
        fputc(i < filled ? '#' : ' ', to);
}

static void print_part(struct compilation *c, const struct part *part, double step_s, FILE *to) {
    fprintf(to, "    %-9s %8s  ", part->name, quantity_text(&c->arena, part->seconds, SECONDS));
    print_bar(step_s > 0 ? part->seconds / step_s : 0, to);
    fprintf(to, "  %s\n", part->at);
    if (part->most)
        fprintf(to, "%*s%s\n", 26 + BAR_COLUMNS, "", part->most);
}

// How long a rank of a pipeline waits for others, beside what takes longest.
static void print_idle(struct compilation *c, const struct step_time *time, FILE *to) {
    double percent = time->best_s > 0 ? 100 * time->idle_s / time->best_s : 0;
    const struct part idle = {"idle", time->idle_s,
                              arena_format(&c->arena, "%.1f %% of the step", percent), NULL};
    print_part(c, &idle, time->best_s, to);
}

static bool lacks(const struct parts *parts, unsigned part) {
    return parts->items[part].seconds < 0;
}

static bool lacks_any(const struct parts *parts) {
    for (unsigned i = 0; i < parts->n; i++)
        if (lacks(parts, i))
            return true;
    return false;
}

// Prints in one line what the file would have to say for the rest.
static void print_lacking(struct compilation *c, const struct parts *parts, const char *begin,
                          FILE *to) {
    const char *links = "";
    unsigned n = 0;
    for (unsigned i = parts->first_axis; i < parts->n; i++)
        if (lacks(parts, i))
            links = arena_format(&c->arena, "%s%s%s", links, n++ ? ", " : "", parts->items[i].name);
    if (n && n == parts->n - parts->first_axis)
        links = "links";
    else if (n)
        links = arena_format(&c->arena, "a link of %s", links);
    const char *words[] = {
        lacks(parts, COMPUTE) ? "`compute`" : "", lacks(parts, MEMORY) ? "`bandwidth`" : "",
        parts->first_axis > HOST_LINK && lacks(parts, HOST_LINK) ? "`host_link`" : "", links};
    const char *all = "";
    for (unsigned i = 0; i < sizeof words / sizeof *words; i++)
        if (*words[i])
            all = arena_format(&c->arena, "%s%s%s", all, *all ? ", " : "", words[i]);
    if (*all)
        fprintf(to, "%s%s\n", begin, all);
}

// The share, in percent, of what all devices could compute meanwhile that one device would have to
// for the same step: neither what is computed again counts nor what several devices compute alike.
static double share_of_peak(const struct compilation *c, double seconds) {
    const struct mesh *mesh = &c->final->job->mesh;
    int64_t islands = mesh_group_size(mesh, &c->final->job->policy.islands);
    double devices = (double)mesh_devices(mesh) / (double)islands;
    double could = devices * seconds * c->config.device.flops_per_s;
    return 100 * account_work(c->reference).flops / could;
}

// Where something is not said the sum is of no step.
static void print_step(struct compilation *c, const struct step_time *time,
                       const struct parts *parts, FILE *to) {
    bool all = !lacks_any(parts);
    fprintf(to, "    step      %8s at best", quantity_text(&c->arena, time->best_s, SECONDS));
    if (all)
        fprintf(to, ", %s if nothing overlaps: %.0f to %.0f %% of peak",
                quantity_text(&c->arena, time->worst_s, SECONDS), share_of_peak(c, time->worst_s),
                share_of_peak(c, time->best_s));
    else if (time->compute_s > 0)
        fprintf(to, ": at most %.0f %% of peak", share_of_peak(c, time->best_s));
    fprintf(to, "\n");
}

// What takes longest, and what comes next.
struct deciding {
    const struct part *first, *second;
};

static struct deciding find_deciding(const struct parts *parts) {
    struct deciding found = {NULL, NULL};
    for (unsigned i = 0; i < parts->n; i++) {
        const struct part *part = &parts->items[i];
        if (!found.first || part->seconds > found.first->seconds) {
            found.second = found.first;
            found.first = part;
        } else if (!found.second || part->seconds > found.second->seconds) {
            found.second = part;
        }
    }
    return found;
}

// Where a link decides: the nearest change that makes a step a twentieth shorter at best, and fits.
static void print_change(struct compilation *c, const struct options *options, double best_s,
                         FILE *to) {
    struct cheaper (*const changes[])(struct compilation *, const struct options *) = {
        with_larger_microbatches, with_kept_parameters};
    for (unsigned i = 0; i < sizeof changes / sizeof *changes; i++) {
        struct cheaper change = changes[i](c, options);
        if (!change.words || !fits_memory(&c->config.device, &change.tried) ||
            change.tried.time.best_s > 0.95 * best_s)
            continue;
        const char *then =
            arena_format(&c->arena, "%s at best, peak %s",
                         quantity_text(&c->arena, change.tried.time.best_s, SECONDS),
                         bytes_text(&c->arena, (double)change.tried.peak[TIER_DEVICE]));
        bool one_line = strlen("  with : ") + strlen(change.words) + strlen(then) <= REPORT_COLUMNS;
        fprintf(to, "  with %s:%s%s\n", change.words, one_line ? " " : "\n    ", then);
        return;
    }
}

static void print_decides(struct compilation *c, const struct options *options,
                          const struct parts *parts, double best_s, FILE *to) {
    struct deciding found = find_deciding(parts);
    if (!found.second || found.second->seconds <= 0)
        return;
    double times = found.first->seconds / found.second->seconds;
    if (lacks_any(parts))
        fprintf(to, "  of what is said %s takes longest: %.1f times as long as %s, the next\n",
                found.first->name, times, found.second->name);
    else
        fprintf(to, "  %s decides: it takes %.1f times as long as %s, the next\n",
                found.first->name, times, found.second->name);
    if (found.first - parts->items >= parts->first_axis)
        print_change(c, options, best_s, to);
}

void report_time(struct compilation *c, const struct options *options, FILE *to) {
    const struct step_time time = compilation_time(c);
    struct parts parts = parts_of(c, &time);
    if (time.best_s < 0) {
        print_lacking(c, &parts, "\n  time of a step: not known, the file says no ", to);
        return;
    }
    fprintf(to, "\n  time of a step, if everything else were free%s\n",
            is_pipelined(c) ? ", a mean of ranks" : "");
    for (unsigned i = 0; i < parts.n; i++)
        if (parts.items[i].seconds >= 0)
            print_part(c, &parts.items[i], time.best_s, to);
    if (is_pipelined(c))
        print_idle(c, &time, to);
    print_lacking(c, &parts, "    not said    ", to);
    print_step(c, &time, &parts, to);
    print_decides(c, options, &parts, time.best_s, to);
}
