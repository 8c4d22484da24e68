/* How long somebody has waited in vain. A process that is stopped for a while (Ctrl-Z, a batch
 * system that suspends its job) hears nothing because it does not listen, so that time does not
 * count. Whoever waits looks many times a second: where it has not, it could not. */
#pragma once

#define PATIENCE_LONGEST_LOOK 1.0 /* seconds; what is longer counts as so much */

struct patience {
    double since, looked; /* seconds of a clock that never goes back */
};

static inline struct patience patience_from(double now) {
    return (struct patience){now, now};
}

/* Seconds of waiting. */
static inline double patience_look(struct patience *patience, double now) {
    double passed = now - patience->looked;
    if (passed > PATIENCE_LONGEST_LOOK)
        patience->since += passed - PATIENCE_LONGEST_LOOK;
    patience->looked = now;
    return now - patience->since;
}
