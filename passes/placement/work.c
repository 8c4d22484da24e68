// See work.h. The rules are sorted by `place`: splits from the outermost scope to the innermost,
// then what storage of activations says, shorter selectors first. That is the order in which cuts
// of one dimension nest, and of two rules of a kind the later one wins.
//
// Where keys travel round a ring, an op that has two labels of the sequence, queries' and keys', is
// cut along both by the ring's axis: at a time a device pairs its queries with one part of the
// keys.
#include "passes/placement/work.h"

#include <string.h>

#include "passes/reference/select.h"

bool op_works_on_shards(const struct op *op) {
    const char *at = op_rows[op->kind].signature;
    size_t n = strcspn(at, ",-");
    while (n <= 1 && at[n] == ',') {
        at += n + 1;
        n = strcspn(at, ",-");
    }
    return n <= 1;
}

unsigned work_labels(const struct unit *unit, const struct op *op, char letters[MAX_LABELS + 1],
                     struct work_label labels[MAX_LABELS]) {
    struct op_labels of;
    unsigned n = 0;
    letters[0] = 0;
    if (!op_labels_of(unit, op, &of))
        return 0;
    for (unsigned i = 0; i < op->n_operands; i++)
        for (unsigned d = 0; of.operands[i][d]; d++) {
            char letter = of.operands[i][d];
            const char *known = strchr(letters, letter);
            unsigned at = known ? (unsigned)(known - letters) : n++;
            if (!known) {
                bool whole = strchr(op_rows[op->kind].whole, letter) != NULL;
                labels[at] = (struct work_label){.whole = whole};
                letters[at] = letter;
                letters[n] = 0;
            }
            labels[at].dimensions |= UINT32_C(1)
                                     << unit->values[op->operands[i]].type.dims[d].dimension;
        }
    return n;
}

static const uint32_t no_label = UINT32_MAX;

static uint32_t label_of(const struct work_rule *rule, const struct work_label *labels,
                         unsigned n_labels) {
    for (uint32_t i = 0; i < n_labels; i++)
        if (labels[i].dimensions >> rule->dimension & 1 && !labels[i].whole)
            return i;
    return no_label;
}

// A rule without a dimension says that the axis cuts nothing there.
static bool applies(const struct work_rule *rule, struct part part, const struct work_label *labels,
                    unsigned n_labels) {
    return (rule->dimension == DIM_NONE || label_of(rule, labels, n_labels) != no_label) &&
           selector_matches(rule->scope, part.roles, part.n_roles) &&
           selector_covers(rule->scope, part.layer);
}

// Splits before storage; of two of a kind the later one.
static bool is_stronger(const struct work_rule *rule, const struct work_rule *than) {
    return !than || !rule->mode || than->mode;
}

// Whether a rule says something: that activations are whole on an axis does where parts of them are
// kept, and where they would be cut.
static bool says_something(const struct placement *placement, const struct work_rule *rule) {
    if (!rule->mode || rule->dimension != DIM_NONE || rule->mode->extent == EXTENT_GATHERED)
        return true;
    for (uint32_t i = 0; i < placement->n_rules; i++) {
        const struct work_rule *other = &placement->rules[i];
        if (other->mode && other->axis == rule->axis && other->dimension != DIM_NONE)
            return true;
    }
    return false;
}

const struct origin *rule_origin(const struct work_rule *rule) {
    return rule->split ? &rule->split->origin : rule->mode ? &rule->mode->origin : NULL;
}

bool work_is_alike(const struct placement *placement, int64_t a, int64_t b) {
    for (uint32_t i = 0; i < placement->n_rules; i++) {
        const struct work_rule *rule = &placement->rules[i];
        if (selector_covers(rule->scope, a) != selector_covers(rule->scope, b) &&
            says_something(placement, rule))
            return false;
    }
    return true;
}

struct part part_of_scope(const struct selector *scope) {
    return (struct part){scope->roles, scope->n_roles, scope->has_slice ? scope->slice_begin : 0};
}

// The second label that could be cut along the sequence, as the first one is by the ring's axis.
static void cut_keys(const struct placement *placement, const struct work_label *labels,
                     unsigned n_labels, struct axis_list *cuts) {
    const struct axis_list *queries = NULL;
    for (unsigned i = 0; i < n_labels && placement->ring.n; i++) {
        if (!(labels[i].dimensions >> DIM_SEQUENCE & 1) || labels[i].whole)
            continue;
        if (queries && axis_list_has(queries, placement->ring.axes[0]))
            axis_list_add(&cuts[i], placement->ring.axes[0]);
        queries = &cuts[i];
    }
}

uint64_t paired_axes(const struct axis_list *cuts, unsigned n_labels) {
    uint64_t once = 0, twice = 0;
    for (unsigned i = 0; i < n_labels; i++) {
        uint64_t mask = axis_list_mask(&cuts[i]);
        twice |= once & mask;
        once |= mask;
    }
    return twice;
}

void work_cuts(const struct placement *placement, struct part part, const struct work_label *labels,
               unsigned n_labels, struct axis_list *cuts, const struct work_rule *by[MAX_AXES]) {
    memset(by, 0, MAX_AXES * sizeof *by);
    for (uint32_t i = 0; i < placement->n_rules; i++) {
        const struct work_rule *rule = &placement->rules[i];
        if (applies(rule, part, labels, n_labels) && is_stronger(rule, by[rule->axis]))
            by[rule->axis] = rule;
    }
    memset(cuts, 0, n_labels * sizeof *cuts);
    for (uint32_t i = 0; i < placement->n_rules; i++) {
        const struct work_rule *rule = &placement->rules[i];
        if (by[rule->axis] == rule && rule->dimension != DIM_NONE && !rule->copies)
            axis_list_add(&cuts[label_of(rule, labels, n_labels)], rule->axis);
    }
    cut_keys(placement, labels, n_labels, cuts);
}

void work_cuts_of_dims(const struct placement *placement, struct part part, const struct dim *dims,
                       unsigned rank, struct axis_list cuts[MAX_RANK],
                       const struct work_rule *by[MAX_AXES]) {
    struct work_label labels[MAX_RANK] = {0};
    for (unsigned d = 0; d < rank; d++)
        labels[d].dimensions = UINT32_C(1) << dims[d].dimension;
    work_cuts(placement, part, labels, rank, cuts, by);
}

void work_cuts_of_kept(const struct placement *placement, struct part part, const struct dim *dims,
                       unsigned rank, struct axis_list cuts[MAX_RANK]) {
    const struct work_rule *by[MAX_AXES];
    work_cuts_of_dims(placement, part, dims, rank, cuts, by);
    for (uint32_t i = 0; i < placement->n_rules; i++) {
        const struct work_rule *rule = &placement->rules[i];
        if (by[rule->axis] != rule || !rule->mode || rule->mode->extent != EXTENT_GATHERED)
            continue;
        for (unsigned d = 0; d < rank; d++)
            if (dims[d].dimension == rule->mode->by_dimension)
                axis_list_add(&cuts[d], rule->axis);
    }
}

bool work_cuts_of_result(const struct placement *placement, const struct unit *unit, uint32_t i,
                         int64_t layer, bool kept, struct axis_list cuts[MAX_RANK]) {
    value_id value = unit->results[i].value;
    const struct op *op = unit_producer(unit, value);
    const struct tensor_type *type = &unit->values[value].type;
    const struct work_rule *by[MAX_AXES];
    if (!op)
        return false;
    struct part part = {op->roles, op->n_roles, layer};
    if (kept && unit->phase == PHASE_FORWARD)
        work_cuts_of_kept(placement, part, type->dims, type->rank, cuts);
    else
        work_cuts_of_dims(placement, part, type->dims, type->rank, cuts, by);
    return true;
}

struct axis_list work_cuts_in_scope(const struct placement *placement, const struct selector *scope,
                                    enum dimension dimension) {
    struct work_label label = {.dimensions = UINT32_C(1) << dimension};
    const struct work_rule *by[MAX_AXES];
    struct axis_list cuts;
    work_cuts(placement, part_of_scope(scope), &label, 1, &cuts, by);
    return cuts;
}

struct axis_list work_cuts_of_kept_in_scope(const struct placement *placement,
                                            const struct selector *scope,
                                            enum dimension dimension) {
    struct dim dim = {.dimension = dimension};
    struct axis_list cuts[MAX_RANK];
    work_cuts_of_kept(placement, part_of_scope(scope), &dim, 1, cuts);
    return cuts[0];
}
