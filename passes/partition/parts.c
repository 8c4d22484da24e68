// Partition, parts: ops that need a dimension whole, in a form that does not: losses, where the
// vocabulary is cut. The unit is rewritten before its types are known, on logical values: which
// collectives the parts need follows from their signatures, as for every other op.
#include <string.h>

#include "passes/partition/unit.h"
#include "passes/placement/work.h"
#include "passes/reference/loss_parts.h"

struct chooser {
    const struct plan *plan;
    int64_t layer;
};

// Is the label of ops.def by which the loss is taken over the vocabulary cut here?
static bool cuts_vocabulary(const void *chooser, const struct unit *unit, const struct op *op) {
    const struct chooser *c = chooser;
    struct work_label labels[MAX_LABELS];
    struct axis_list cuts[MAX_LABELS];
    char letters[MAX_LABELS + 1];
    const struct work_rule *by[MAX_AXES];
    unsigned n = work_labels(unit, op, letters, labels), v = (unsigned)strcspn(letters, "v");
    labels[v].whole = false;
    work_cuts(&c->plan->placement, (struct part){op->roles, op->n_roles, c->layer}, labels, n, cuts,
              by);
    return cuts[v].n > 0;
}

const struct unit *unit_by_parts(struct draft *draft, const struct unit *from, int64_t layer) {
    struct chooser chooser = {draft->plan, layer};
    return unit_by_loss_parts(draft->program, from, cuts_vocabulary, &chooser);
}
