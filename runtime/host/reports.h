/* What every rank tells the others after a step, and what all together then know. */
#pragma once
#include <stdbool.h>
#include "runtime/context.h"
#include "runtime/host/carried.h"
#include "runtime/host/islands.h"
#include "runtime/host/log.h"

/* `sent_bytes` has an entry for every group. */
struct report {
    struct rank_loss loss; /* the first member */
    double grad_norm, learning_rate;
    double scale, next_scale; /* of the loss; NAN: it has none, or always the same */
    int64_t skipped;          /* gradients were not finite, and nothing was updated */
    struct carried carried;
    int64_t peak_bytes[PLACE_N_TIERS];
    int64_t copied_bytes[PLACE_N_TIERS]; /* as sent_bytes */
    struct live_report live;
    int64_t interrupted;
    int64_t failed;     /* it has failed, and holds it */
    int64_t checkpoint; /* how far its last one is (checkpoint.h) */
    int64_t sent_bytes[];
};

/* A rank's records of the step, allocated once. */
struct reports {
    size_t bytes;        /* of one */
    struct report *mine; /* sent_bytes: since the rank was born until it is made a difference */
    char *all;
    int64_t *sent_before;
    int64_t copied_before[PLACE_N_TIERS];
    int64_t *sent_most; /* maximum over ranks */
};
/* False: no memory. To be freed in any case. */
bool reports_allocate(struct reports *reports, const struct place_program *program);
void reports_free(struct reports *reports);

/* What the step has left behind for the host, and for the next step in place of what it found; others
 * may not yet have ended it, but have read all they read from here. */
void report_results(struct place_context *context, struct reports *reports,
                    struct carried *carried);
/* What the step took. */
void report_measures(struct place_context *context, struct reports *reports);
/* What is sent and copied from now on is of the next step. */
void report_forget_sent(struct place_context *context, struct reports *reports);

/* What all ranks find alike. */
struct agreed {
    bool interrupted, failed;
    bool has_no_loss; /* it is not a number: neither are the states */
    bool is_lost;     /* the same in a step without an update: the states are what they were */
    bool stays_lost;  /* in so many steps, one after the other, that it will be so for ever */
    bool has_no_norm; /* of the gradients: the states may not be either, as the next loss would show
                       */
    bool has_no_scale;     /* it fell and fell, and gradients never became finite */
    bool checkpoint_waits; /* some rank's is on its way */
    int64_t checkpoint;    /* the least of all */
};
/* What the step has left for the next on every island, of reports that were shared. */
void reports_carried(const struct place_program *program, const struct reports *reports,
                     struct carried *of_islands);
/* Merges the reports of all ranks: maxima, the loss, and what is agreed. */
struct agreed reports_merge(const struct place_program *program, struct reports *reports,
                            struct step_record *record);
