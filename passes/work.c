// See work.h. The rules are sorted by `place` in the order in which cuts of one dimension nest:
// splits from the outermost scope to the innermost, then what storage of activations cuts.
#include "passes/work.h"

#include <string.h>

#include "passes/select.h"

static const uint32_t no_label = UINT32_MAX;

static uint32_t label_of(const struct work_rule *rule, const struct work_label *labels,
                         unsigned n_labels) {
    for (uint32_t i = 0; i < n_labels; i++)
        if (labels[i].dimensions >> rule->dimension & 1 && !labels[i].whole)
            return i;
    return no_label;
}

// Splits before storage; of splits the innermost, which is the last.
static bool is_stronger(const struct work_rule *rule, const struct work_rule *than) {
    return !than || !rule->mode || than->mode;
}

void work_cuts(const struct placement *placement, const uint8_t *roles, unsigned n_roles,
               const struct work_label *labels, unsigned n_labels, struct axis_list *cuts,
               const struct work_rule *by[MAX_AXES]) {
    memset(by, 0, MAX_AXES * sizeof *by);
    for (uint32_t i = 0; i < placement->n_rules; i++) {
        const struct work_rule *rule = &placement->rules[i];
        if (label_of(rule, labels, n_labels) != no_label &&
            selector_matches(rule->scope, roles, n_roles) && is_stronger(rule, by[rule->axis]))
            by[rule->axis] = rule;
    }
    memset(cuts, 0, n_labels * sizeof *cuts);
    for (uint32_t i = 0; i < placement->n_rules; i++) {
        const struct work_rule *rule = &placement->rules[i];
        if (by[rule->axis] == rule)
            axis_list_add(&cuts[label_of(rule, labels, n_labels)], rule->axis);
    }
}

void work_cuts_of_dims(const struct placement *placement, const uint8_t *roles, unsigned n_roles,
                       const struct dim *dims, unsigned rank, struct axis_list cuts[MAX_RANK],
                       const struct work_rule *by[MAX_AXES]) {
    struct work_label labels[MAX_RANK] = {0};
    for (unsigned d = 0; d < rank; d++)
        labels[d].dimensions = UINT32_C(1) << dims[d].dimension;
    work_cuts(placement, roles, n_roles, labels, rank, cuts, by);
}
