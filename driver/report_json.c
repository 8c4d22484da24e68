// The report of `check --json` (docs/json.md), also for files that are refused.
//
// Every key of the contract is always there, null where nothing is known: who reads it needs no
// test for presence. Where this compiler has nothing yet (stages, hosts) the key has the value that
// is true of it. tests/check_json.py checks the keys and their types.
#include <inttypes.h>
#include <jansson.h>

#include "driver/report_diagnostics.h"
#include "driver/report_pipeline.h"
#include "driver/report.h"
#include "driver/report_time.h"
#include "driver/trying.h"

// ---- mesh and placement -----------------------------------------------------------------------

// Atomic axes in the mesh's order, then the products, which have factors and no size of their own.
static json_t *mesh_json(const struct mesh *mesh) {
    json_t *array = json_array();
    for (uint32_t i = 0; i < mesh->n_axes; i++)
        json_array_append_new(array, json_pack("{s:s, s:I, s:n}", "axis", mesh->axes[i].name,
                                               "size", (json_int_t)mesh->axes[i].size, "factors"));
    for (uint32_t i = 0; i < mesh->n_products; i++) {
        const struct mesh_product *product = &mesh->products[i];
        json_t *factors = json_array();
        for (unsigned k = 0; k < product->axes.n; k++)
            json_array_append_new(factors, json_string(mesh->axes[product->axes.axes[k]].name));
        json_array_append_new(array, json_pack("{s:s, s:I, s:o}", "axis", product->name, "size",
                                               (json_int_t)mesh_group_size(mesh, &product->axes),
                                               "factors", factors));
    }
    return array;
}

static json_t *modes_json(const struct mesh *mesh, const struct placement_table *table) {
    json_t *modes = json_object();
    for (uint32_t axis = 0; axis < mesh->n_axes; axis++) {
        json_t *letters = json_array();
        for (int state = 0; state < N_STATES; state++)
            json_array_append_new(letters, json_string(table->most_bytes[state][axis]));
        json_object_set_new(modes, mesh->axes[axis].name, letters);
    }
    return modes;
}

// How a row is cut along an axis: by work (a dimension), by storage (flat), or not.
static json_t *row_axis_json(const struct placement_row *row, unsigned axis) {
    const struct buffer *buffer = row->buffer;
    const char *by = NULL, *work = "R";
    for (unsigned i = 0; i < buffer->rank; i++)
        if (axis_list_mask(&buffer->layout.cuts[i]) >> axis & 1) {
            by = dimension_names[buffer->dims[i].dimension];
            work = "S";
        }
    if (axis_list_mask(&buffer->layout.flat) >> axis & 1)
        by = "flat";
    return json_pack("{s:s, s:s, s:o}", "work", work, "storage", mode_letter(row, axis), "by",
                     text_or_null(by));
}

// One object for each row of the table, with how it is cut on each axis.
static json_t *placement_json(struct compilation *c, const struct placement_table *table) {
    const struct mesh *mesh = &c->final->job->mesh;
    json_t *array = json_array();
    for (uint32_t i = 0; i < table->n; i++) {
        const struct placement_row *row = &table->rows[i];
        json_t *axes = json_object();
        for (uint32_t axis = 0; axis < mesh->n_axes; axis++)
            json_object_set_new(axes, mesh->axes[axis].name, row_axis_json(row, axis));
        const struct layers *in = &row->layers;
        const char *layers =
            in->end ? arena_format(&c->arena, "%" PRId64 ":%" PRId64, in->begin, in->end) : NULL;
        if (in->step > 1)
            layers = arena_format(&c->arena, "%s:%" PRId64, layers, in->step);
        json_array_append_new(
            array,
            json_pack("{s:s, s:s, s:o, s:o, s:s, s:s, s:I}", "state", state_names[row->state],
                      "role", table->roles[row->role].path, "layers", text_or_null(layers), "axes",
                      axes, "residency", residency_names[row->residency], "dtype",
                      dtype_names[row->buffer->dtype], "bytes", (json_int_t)row->bytes));
    }
    return array;
}

// One object for each condition that a statement gives up.
static json_t *relaxed_json(struct compilation *c) {
    const struct strategy_config *strategy = &c->config.strategy;
    json_t *array = json_array();
    for (uint32_t i = 0; i < strategy->n_relaxations && c->resolved; i++) {
        const struct relax_statement *relax = &strategy->relaxations[i];
        struct source_place place = source_place(&c->sources, origin_span(&relax->origin));
        for (int condition = 0; condition < N_CONDITIONS; condition++) {
            json_t *axes = json_array();
            for (unsigned k = 0; k < relax->axes.n; k++)
                json_array_append_new(axes,
                                      json_string(c->config.mesh.axes[relax->axes.axes[k]].name));
            if (relax->conditions[condition])
                json_array_append_new(array, json_pack("{s:s, s:o, s:I}", "condition",
                                                       condition_names[condition], "axes", axes,
                                                       "line", (json_int_t)place.line));
            else
                json_decref(axes);
        }
    }
    return array;
}

// ---- memory and communication -----------------------------------------------------------------

// What is alive at once when that is most, item by item; beyond the contract.
static json_t *live_json(struct compilation *c, const struct account *account) {
    const struct account_live *a = &account->live[TIER_DEVICE];
    struct source_place place = source_place(&c->sources, a->span);
    json_t *live = json_object();
    json_object_set_new(live, "peak", json_integer(a->sum));
    for (int state = 0; state < N_STATES; state++)
        json_object_set_new(live, state_names[state], json_integer(a->states[state]));
    json_object_set_new(live, "transient", json_integer(a->transient));
    for (int i = TIER_DEVICE + 1; i < N_TIERS; i++)
        json_object_set_new(live, tier_names[i], json_integer(account->live[i].sum));
    json_object_set_new(live, "statement", json_integer(a->statement));
    json_object_set_new(live, "line", place.file ? json_integer(place.line) : json_null());
    return live;
}

// What a plan for each step alone would take; beyond the contract.
static json_t *alone_json(const struct account *account) {
    json_t *alone = json_object();
    for (int step = 0; step < N_STEPS; step++)
        json_object_set_new(alone, step_names[step],
                            account->alone[step] ? json_integer(account->alone[step])
                                                 : json_null());
    return alone;
}

// What is held at the fullest moment, and which statement that is. The states and what is neither
// sum to the peak.
static json_t *memory_values(struct compilation *c, uint32_t stage) {
    const struct account *a = c->accounts[stage];
    const struct account_arena *device = &a->arenas[TIER_DEVICE];
    json_t *memory = json_object();
    json_object_set_new(memory, "peak", json_integer(device->peak));
    for (int state = 0; state < N_STATES; state++)
        json_object_set_new(memory, state_names[state], json_integer(device->states[state]));
    json_object_set_new(memory, "transient", json_integer(device->transient));
    json_t *held = json_object(); // beyond the contract: from step to step, at any moment
    for (int state = 0; state < N_STATES; state++)
        json_object_set_new(held, state_names[state], json_integer(a->held[state]));
    json_object_set_new(memory, "held", held);
    json_object_set_new(memory, "live", live_json(c, a));
    json_object_set_new(memory, "alone", alone_json(a));
    for (int i = TIER_DEVICE + 1; i < N_TIERS; i++)
        json_object_set_new(memory, tier_names[i], json_integer(a->arenas[i].peak));
    int64_t limit = c->config.device.memory_bytes;
    json_object_set_new(memory, "limit", limit ? json_integer(limit) : json_null());
    struct source_place place = source_place(&c->sources, a->peak_span);
    json_t *at = json_object();
    json_object_set_new(at, "stage", json_integer(stage));
    json_object_set_new(at, "statement", json_integer(a->peak_statement));
    json_object_set_new(at, "line", place.file ? json_integer(place.line) : json_null());
    json_object_set_new(memory, "at", at);
    return memory;
}

static json_t *memory_json(struct compilation *c) {
    uint32_t fullest = 0;
    while (c->accounts[fullest] != c->account)
        fullest++;
    json_t *memory = memory_values(c, fullest), *stages = json_array();
    for (uint32_t i = 0; i < c->final->job->n_programs; i++)
        json_array_append_new(stages, memory_values(c, i));
    json_object_set_new(memory, "stages", stages);
    return memory;
}

// `bytes` and `count` are of one step and one device, all executions together.
static json_t *transfer_json(struct compilation *c, uint32_t stage,
                             const struct account_transfer *t) {
    struct source_place place = source_place(&c->sources, t->span);
    json_t *object = json_object();
    json_object_set_new(object, "axis",
                        json_string(mesh_axes_text(&c->final->job->mesh, &t->axes, &c->arena)));
    json_object_set_new(object, "op", json_string(collective_names[t->kind]));
    json_object_set_new(object, "state",
                        text_or_null(t->state == N_STATES ? NULL : state_names[t->state]));
    json_object_set_new(object, "role",
                        text_or_null(t->role == ROLE_NONE ? NULL : role_names[t->role]));
    json_object_set_new(object, "phase", json_string(phase_names[t->phase]));
    json_object_set_new(object, "dtype", json_string(dtype_names[t->dtype]));
    json_object_set_new(object, "group", json_integer(t->group));
    json_object_set_new(object, "stage", json_integer(stage));
    json_object_set_new(object, "count", json_integer(t->count));
    json_object_set_new(object, "bytes", json_integer(t->bytes));
    int64_t every = t->step == STEP_AVERAGE ? c->final->job->policy.average_every : 1;
    json_object_set_new(object, "every", json_integer(every)); // beyond the contract: steps
    json_object_set_new(object, "line", place.file ? json_integer(place.line) : json_null());
    return object;
}

static json_t *communication_json(struct compilation *c) {
    json_t *array = json_array();
    for (uint32_t stage = 0; stage < c->final->job->n_programs; stage++)
        for (uint32_t i = 0; i < c->accounts[stage]->n_transfers; i++)
            json_array_append_new(array,
                                  transfer_json(c, stage, &c->accounts[stage]->transfers[i]));
    return array;
}

// Bytes that one device copies to and from what is further away.
static json_t *copied_json(const struct compilation *c, enum step_kind step) {
    json_t *copied = json_object();
    for (int i = TIER_DEVICE + 1; i < N_TIERS; i++)
        json_object_set_new(copied, tier_names[i], json_integer(most_copied(c, step, i)));
    return copied;
}

// What only a program that is right has, be it too large for the device; of any other these keys
// are null.
static void set_program(struct compilation *c, json_t *root) {
    struct placement_table table = placement_rows(c);
    json_object_set_new(root, "modes", modes_json(&c->final->job->mesh, &table));
    json_object_set_new(root, "placement", placement_json(c, &table));
    json_object_set_new(root, "memory", memory_json(c));
    json_object_set_new(root, "communication", communication_json(c));
    json_object_set_new(root, "communication_total",
                        json_integer(c->accounts[sends_most(c)]->total_bytes));
    json_object_set_new(root, "copied", copied_json(c, STEP_TRAIN));
    json_object_set_new(root, "copied_to_average", copied_json(c, STEP_AVERAGE));
    json_object_set_new(root, "time", time_json(c));
    json_object_set_new(root, "pipeline", pipeline_json(c));
}

void report_json(struct compilation *c, FILE *to) {
    json_t *root = report_new(VERB_CHECK);
    bool accepted = c->diagnostics->n_errors == 0, resolved = c->resolved && !c->library;
    enum reason reason = compilation_reason(c);
    json_object_set_new(root, "file", text_json(c->path));
    json_object_set_new(root, "strategy", text_or_null(resolved ? c->config.strategy.name : NULL));
    json_object_set_new(root, "verdict", json_string(accepted ? "accepted" : "rejected"));
    json_object_set_new(root, "reason", text_or_null(reason_names[reason]));
    json_object_set_new(root, "devices",
                        resolved ? json_integer(mesh_devices(&c->config.mesh)) : json_null());
    json_object_set_new(root, "mesh", resolved ? mesh_json(&c->config.mesh) : json_null());
    json_object_set_new(root, "microbatches",
                        c->final ? json_integer(c->final->job->sizes.microbatches) : json_null());
    json_object_set_new(root, "parameters",
                        c->final ? json_integer(model_parameters(c)) : json_null());
    json_object_set_new(root, "relaxed", relaxed_json(c));
    json_object_set_new(root, "diagnostics", diagnostics_json(c->diagnostics));
    if (is_right_but_for_memory(c))
        set_program(c, root);
    print_report(root, to);
    json_decref(root);
}
