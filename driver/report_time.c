// How long a step takes at least: no device computes faster than its peak, moves its states in less
// than one pass through its memory, or sends faster than its links. `best` is where all of it
// happens at once, `worst` where one waits for the other. What really takes longer, by how much, a
// run says.
#include "driver/report_time.h"

#include <math.h>

// In nanoseconds; a negative time is not known.
static json_t *time_value(double seconds) {
    return seconds < 0 ? json_null() : json_integer((json_int_t)fmin(ceil(seconds * 1e9), 9e18));
}

static double time_of(double amount, double per_second) {
    return per_second > 0 ? amount / per_second : -1;
}

// The states are in memory from step to step, and each is read at least once.
static double memory_seconds(const struct compilation *c) {
    double bytes = 0;
    for (int state = 0; state < STATE_ACTIVATIONS; state++)
        bytes += (double)c->account->held[state];
    return time_of(bytes, c->config.device.bandwidth_bytes_per_s);
}

// All that a device sends over the same axes, on the fastest of their links; the last byte is under
// way for as long as the slowest takes.
static double link_seconds(const struct compilation *c, const struct axis_list *axes) {
    double bytes = 0, rate = 0, latency = 0;
    for (uint32_t i = 0; i < c->account->n_transfers; i++) {
        const struct account_transfer *t = &c->account->transfers[i];
        if (t->step == STEP_TRAIN && axis_list_equal(&t->axes, axes))
            bytes += (double)t->bytes;
    }
    for (unsigned i = 0; i < axes->n; i++) {
        const struct mesh_axis *axis = &c->final->mesh.axes[axes->axes[i]];
        if (axis->link_bytes_per_s <= 0)
            return -1;
        rate = fmax(rate, axis->link_bytes_per_s);
        latency = fmax(latency, axis->link_latency_s);
    }
    return time_of(bytes, rate) + latency;
}

static void add(double seconds, double *best, double *worst) {
    if (seconds < 0)
        return;
    *best = fmax(*best, seconds);
    *worst = fmax(*worst, 0) + seconds;
}

json_t *time_json(struct compilation *c) {
    double best = -1, worst = -1;
    double compute = time_of(c->account->flops, c->config.device.flops_per_s);
    double memory = memory_seconds(c);
    add(compute, &best, &worst);
    add(memory, &best, &worst);
    json_t *axes = json_object();
    for (uint32_t i = 0; i < c->account->n_transfers; i++) {
        const struct account_transfer *t = &c->account->transfers[i];
        const char *name = mesh_axes_text(&c->final->mesh, &t->axes, &c->arena);
        if (t->step != STEP_TRAIN || json_object_get(axes, name))
            continue;
        double seconds = link_seconds(c, &t->axes);
        add(seconds, &best, &worst);
        json_object_set_new(axes, name, time_value(seconds));
    }
    return json_pack("{s:o, s:o, s:o, s:o, s:o}", "compute", time_value(compute), "axes", axes,
                     "memory", time_value(memory), "best", time_value(best), "worst",
                     time_value(worst));
}
