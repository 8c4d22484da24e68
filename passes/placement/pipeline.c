// place, pipeline: which layers each stage of a pipeline has, and who does what of it when.
//
// A pipeline's axes cut the layers, so no other split and no mode may name them: each layer's states lie on the
// devices of its stage. Stages are whole layers, with the embedding in the first and the head in the last.
#include <inttypes.h>

#include "ir/check.h"
#include "ir/diagnostic.h"
#include "ir/limits.h"
#include "passes/pipeline/stages.h"
#include "passes/placement/pipeline.h"
#include "passes/placement/place.h"
#include "passes/placement/reports.h"

static const struct pipeline_config *said(const struct placing *p) {
    return &p->config->strategy.pipeline;
}

static uint32_t n_ranks(const struct placing *p) {
    return (uint32_t)mesh_group_size(&p->config->mesh, &p->placement->pipeline.axes);
}

// ---- statements about the axes ----------------------------------------------------------------

// E332. The first split, mode or relaxation that names an axis of the pipeline, and what it does there.
static void check_axes(struct placing *p) {
    const struct strategy_config *strategy = &p->config->strategy;
    const struct axis_list *axes = &p->placement->pipeline.axes;
    const struct origin *other = NULL;
    const struct axis_list *named = NULL;
    const char *does = "";
    for (uint32_t i = strategy->n_relaxations; i-- > 0;)
        if (axis_list_within(&strategy->relaxations[i].axes, axes).n) {
            other = &strategy->relaxations[i].origin;
            named = &strategy->relaxations[i].axes;
            does = "relaxes conditions";
        }
    for (uint32_t i = strategy->n_modes; i-- > 0;)
        if (axis_list_within(&strategy->modes[i].axes, axes).n) {
            other = &strategy->modes[i].origin;
            named = &strategy->modes[i].axes;
            does = arena_format(p->arena, "places `%s`", state_names[strategy->modes[i].state]);
        }
    for (uint32_t i = strategy->n_splits; i-- > 0;)
        if (axis_list_within(&strategy->splits[i].axes, axes).n) {
            other = &strategy->splits[i].origin;
            named = &strategy->splits[i].axes;
            does = arena_format(p->arena, "splits `%s`",
                                dimension_names[strategy->splits[i].dimensions[0]]);
        }
    if (!other)
        return;
    struct axis_list both = axis_list_within(named, axes);
    struct diagnostic *d =
        report(p->diagnostics, E332, origin_span(other),
               "`%s` is the pipeline's, and this %s over it", axis_name(p, both.axes[0]), does);
    diagnostic_say(d, "its devices have different layers");
    diagnostic_label(d, origin_span(&said(p)->origin), "layers are split over it here");
    diagnostic_origin(d, other);
    diagnostic_help(d, "name other axes here, or give the pipeline an axis of its own");
}

// ---- stages -----------------------------------------------------------------------------------

// FLOP of forward of the parts of the model; a layer's is that of the first.
static struct parts_work work_of_parts(const struct placing *p) {
    struct parts_work work = {0};
    const struct job *job = p->program->job;
    for (uint32_t u = 0; u < job->n_units; u++) {
        const struct unit *unit = &job->units[u];
        double flops = 0;
        for (uint32_t i = 0; i < unit->n_ops; i++)
            flops += op_flops(unit, &unit->ops[i]);
        if (unit->phase != PHASE_FORWARD)
            continue;
        if (!unit_has_role(unit, ROLE_LAYERS))
            *(unit_has_role(unit, ROLE_EMBEDDING) ? &work.embedding : &work.head) += flops;
        else if (work.layer == 0)
            work.layer = flops;
    }
    return work;
}

// The most stages that a device can have so that each of them has something to do; 0: not one.
static uint32_t most_chunks(const struct placing *p) {
    return (uint32_t)((p->program->job->sizes.layers + 2) / n_ranks(p));
}

// `stages = auto`, and how many a device has then, where nobody else says it.
static const char *auto_stages(const struct placing *p) {
    const struct pipeline_config *pipeline = said(p);
    uint32_t chunks = pipeline->n_stages ? (pipeline->n_stages - 1) / n_ranks(p) + 1 : 2;
    if (pipeline->file || pipeline->chunks || method_chunks(pipeline->method))
        return "auto";
    chunks = chunks > most_chunks(p) ? most_chunks(p) : chunks;
    return arena_format(p->arena, "auto, chunks = %u", chunks ? chunks : 1);
}

static void help_auto(const struct placing *p, struct diagnostic *d) {
    diagnostic_help(d, "let the compiler choose: `stages = %s`", auto_stages(p));
    diagnostic_edit(d, said(p)->stages_span, "%s", auto_stages(p));
}

// E330, with `auto` as a way out.
static struct diagnostic *report_stages(struct placing *p, struct span at, const char *message,
                                        const char *says) {
    struct diagnostic *d = report(p->diagnostics, E330, at, "%s", message);
    diagnostic_say(d, "%s", says);
    diagnostic_origin(d, &said(p)->origin);
    help_auto(p, d);
    return d;
}

// False, once reported: the list is not the model, once and in its order.
static bool check_list(struct placing *p) {
    const struct pipeline_config *pipeline = said(p);
    int64_t layers = 0, all = p->program->job->sizes.layers;
    uint32_t n = pipeline->n_stages;
    for (uint32_t i = 0; i < n; i++) {
        const struct stage_config *stage = &pipeline->stages[i];
        layers = size_plus(layers, stage->layers);
        const char *misplaced = stage->embedding && i > 0  ? "embedding"
                                : stage->head && i + 1 < n ? "head"
                                                           : NULL;
        if (misplaced) {
            report_stages(p, stage->span,
                          arena_format(p->arena, "`%s` in stage %u of %u", misplaced, i, n),
                          i > 0 && stage->embedding ? "it comes before all layers"
                                                    : "it comes behind all layers");
            return false;
        }
        if (stage->layers == 0 && !stage->embedding && !stage->head) {
            report_stages(p, stage->span, arena_format(p->arena, "stage %u has nothing to do", i),
                          "no layer, nor the embedding, nor the head");
            return false;
        }
    }
    if (!pipeline->stages[0].embedding || !pipeline->stages[n - 1].head) {
        bool first = !pipeline->stages[0].embedding;
        report_stages(p, pipeline->stages[first ? 0 : n - 1].span,
                      first ? "no stage has the embedding" : "no stage has the head",
                      first ? "the first one must" : "the last one must");
        return false;
    }
    if (layers != all) {
        report_stages(p, pipeline->stages_span,
                      arena_format(p->arena,
                                   "the stages have %" PRId64 " layer%s, the model has %" PRId64,
                                   layers, plural_s(layers), all),
                      "each layer is in one stage");
        return false;
    }
    return true;
}

// What to do where the model has too little for all stages.
static void help_fewer_stages(struct placing *p, struct diagnostic *d) {
    const struct pipeline_config *pipeline = said(p);
    uint32_t chunks = method_chunks(pipeline->method), most = most_chunks(p);
    const char *devices = arena_format(p->arena, "at most %" PRId64 " devices along `%s`",
                                       (p->program->job->sizes.layers + 2) / (chunks ? chunks : 1),
                                       axes_text(p, &p->placement->pipeline.axes));
    if (pipeline->file) {
        diagnostic_help(d, "take a file with fewer stages");
    } else if (most == 0) {
        diagnostic_help(d, "take %s", devices);
    } else if (chunks) {
        diagnostic_help(d, "take `%s`, or %s", method_names[METHOD_ONE_F_ONE_B], devices);
        diagnostic_edit(d, pipeline->method_span, "%s", method_names[METHOD_ONE_F_ONE_B]);
        if (pipeline->chunks)
            diagnostic_edit(d, pipeline->chunks_span, "1");
    } else {
        diagnostic_help(d, "say `chunks = %u`", most);
        diagnostic_edit(d, pipeline->chunks_span, "%u", most);
    }
}

// False, once reported (E331): some of the stages would have nothing to do, whichever layers they had.
static bool has_work_for(struct placing *p, uint64_t n) {
    int64_t layers = p->program->job->sizes.layers;
    if (said(p)->n_stages || n <= (uint64_t)layers + 2)
        return true;
    struct diagnostic *d =
        report(p->diagnostics, E331, said(p)->method_span,
               "%" PRIu64 " stages, and the model has %" PRId64 " layer%s, an embedding and a head",
               n, layers, plural_s(layers));
    diagnostic_say(d, "some stages would have nothing to do");
    diagnostic_origin(d, &said(p)->origin);
    help_fewer_stages(p, d);
    return false;
}

// The stages where nobody says what they have.
static void choose_stages(struct placing *p, uint32_t n, struct placed_stage *stages) {
    int64_t all = p->program->job->sizes.layers;
    const struct parts_work work = work_of_parts(p);
    uint32_t *layers = ARENA_ARRAY(p->arena, uint32_t, n);
    stages_balance(&work, (uint32_t)all, n, layers);
    // A stage in the middle has at least one layer, which it takes from one that has most.
    for (uint32_t i = 1; i + 1 < n; i++)
        while (layers[i] == 0) {
            uint32_t most = 0;
            for (uint32_t k = 1; k < n; k++)
                most = layers[k] > layers[most] ? k : most;
            layers[most]--;
            layers[i]++;
        }
    int64_t begin = 0;
    for (uint32_t i = 0; i < n; begin = stages[i++].end)
        stages[i] = (struct placed_stage){.begin = begin, .end = begin + layers[i]};
}

// How many stages a device has, if that follows from the method or the list; 0: nobody says it.
static uint32_t chunks_of(const struct placing *p) {
    const struct pipeline_config *pipeline = said(p);
    if (pipeline->chunks)
        return (uint32_t)pipeline->chunks;
    if (pipeline->n_stages && pipeline->n_stages % n_ranks(p) == 0)
        return pipeline->n_stages / n_ranks(p);
    return method_chunks(pipeline->method);
}

// E109, E331: a method that needs to be told how many stages a device has is not, or by a list of which not every
// device has equally many.
static void report_no_chunks(struct placing *p) {
    const struct pipeline_config *pipeline = said(p);
    const char *name = method_names[pipeline->method];
    uint32_t n = n_ranks(p), chunks = most_chunks(p) < 2 ? 1 : 2;
    if (pipeline->n_stages) {
        struct diagnostic *d =
            report(p->diagnostics, E331, pipeline->stages_span,
                   "%u stage%s for %u devices, each of which has as many as the others",
                   pipeline->n_stages, plural_s(pipeline->n_stages), n);
        diagnostic_say(d, "there must be %u, or a multiple of it", n);
        diagnostic_origin(d, &pipeline->origin);
        help_auto(p, d);
        return;
    }
    struct diagnostic *d =
        report(p->diagnostics, E109, pipeline->method_span, "`%s` needs `chunks`", name);
    diagnostic_say(d, "how many stages each device has");
    diagnostic_origin(d, &pipeline->origin);
    diagnostic_help(d, "say it: `%s(chunks = %u)`", name, chunks);
    if (pipeline->stages_span.end)
        diagnostic_edit(d, pipeline->stages_span, "%s", auto_stages(p));
    else
        diagnostic_edit(d, pipeline->method_span, "%s(chunks = %u)", name, chunks);
}

// E331: a device has another number of stages than the method lets it.
static void report_chunks(struct placing *p, uint32_t chunks, const char *unfit) {
    const struct pipeline_config *pipeline = said(p);
    enum pipeline_method other = method_of_chunks(pipeline->method);
    bool listed = pipeline->chunks == 0;
    struct span at = listed ? pipeline->stages_span : pipeline->chunks_span;
    uint32_t right = method_chunks(pipeline->method);
    struct diagnostic *d = report(p->diagnostics, E331, at, "%s", unfit);
    if (listed)
        diagnostic_say(d, "%u stages for %u devices", pipeline->n_stages, n_ranks(p));
    diagnostic_origin(d, &pipeline->origin);
    if (other != pipeline->method && chunks <= most_chunks(p)) {
        diagnostic_help(d, "`%s` is the schedule for several, else say `%s`", method_names[other],
                        listed ? "stages = auto" : "chunks = 1");
        diagnostic_edit(d, pipeline->method_span, "%s", method_names[other]);
    } else if (listed) {
        help_auto(p, d);
    } else {
        diagnostic_help(d, "say `chunks = %u`, or leave it out", right);
        diagnostic_edit(d, at, "%u", right);
    }
}

// How many stages there are, and how many a device has at most; by a method, each as many. False: reported.
static bool count_by_method(struct placing *p) {
    const struct pipeline_config *pipeline = said(p);
    struct placed_pipeline *placed = &p->placement->pipeline;
    uint32_t chunks = chunks_of(p);
    if (chunks == 0) {
        if (has_work_for(p, n_ranks(p)))
            report_no_chunks(p);
        return false;
    }
    uint64_t n = (uint64_t)chunks * n_ranks(p);
    if (pipeline->n_stages && pipeline->n_stages != n) {
        struct diagnostic *d =
            report(p->diagnostics, E331, pipeline->stages_span,
                   "%u stage%s for %u devices with %u stage%s each", pipeline->n_stages,
                   plural_s(pipeline->n_stages), n_ranks(p), chunks, plural_s(chunks));
        diagnostic_say(d, "there must be %" PRIu64, n);
        diagnostic_origin(d, &pipeline->origin);
        help_auto(p, d);
        return false;
    }
    const char *unfit = chunks_unfit(p->arena, pipeline->method, chunks);
    if (unfit) {
        report_chunks(p, chunks, unfit);
        return false;
    }
    placed->n_stages = (uint32_t)n;
    placed->n_chunks = chunks;
    return has_work_for(p, n);
}

static bool count_by_file(struct placing *p) {
    const struct schedule *schedule = said(p)->file->schedule;
    struct placed_pipeline *placed = &p->placement->pipeline;
    if (!check_said_stages(p))
        return false;
    uint32_t *chunks = ARENA_ARRAY(p->arena, uint32_t, schedule->n_ranks);
    for (uint32_t i = 0; i < schedule->n_stages; i++)
        if (++chunks[schedule->rank_of[i]] > placed->n_chunks)
            placed->n_chunks = chunks[schedule->rank_of[i]];
    placed->n_stages = schedule->n_stages;
    return has_work_for(p, schedule->n_stages);
}

static bool find_stages(struct placing *p) {
    const struct pipeline_config *pipeline = said(p);
    struct placed_pipeline *placed = &p->placement->pipeline;
    if (!(pipeline->file ? count_by_file(p) : count_by_method(p)))
        return false;
    uint32_t n = placed->n_stages;
    placed->stages = ARENA_ARRAY(p->arena, struct placed_stage, n);
    if (!pipeline->n_stages) {
        choose_stages(p, n, placed->stages);
        return true;
    }
    if (!check_list(p))
        return false;
    int64_t begin = 0;
    for (uint32_t i = 0; i < n; begin = placed->stages[i++].end)
        placed->stages[i] =
            (struct placed_stage){.begin = begin, .end = begin + pipeline->stages[i].layers};
    return true;
}

// What the slowest takes, as a multiple of the mean.
static double weigh_stages(const struct placing *p, struct placed_stage *stages, uint32_t n) {
    const struct parts_work work = work_of_parts(p);
    double most = 0, all = 0;
    for (uint32_t i = 0; i < n; i++) {
        stages[i].work = (double)(stages[i].end - stages[i].begin) * work.layer +
                         (i == 0 ? work.embedding : 0) + (i + 1 == n ? work.head : 0);
        most = stages[i].work > most ? stages[i].work : most;
        all += stages[i].work;
    }
    return all > 0 ? most * n / all : 1;
}

void find_pipeline(struct placing *p) {
    p->placement->pipeline.axes = effective_axes(p, &said(p)->axes);
    if (p->placement->pipeline.axes.n == 0) // one device has all stages, in whatever order
        return;
    if (said(p)->file && !check_said_ranks(p, n_ranks(p)))
        return;
    check_axes(p);
    struct placed_pipeline *placed = &p->placement->pipeline;
    if (!find_stages(p))
        return;
    placed->evenest = weigh_stages(p, placed->stages, placed->n_stages);
    if (!said(p)->n_stages || placed->n_stages > p->program->job->sizes.layers + 2)
        return;
    struct placed_stage *even = ARENA_ARRAY(p->arena, struct placed_stage, placed->n_stages);
    choose_stages(p, placed->n_stages, even);
    placed->evenest = weigh_stages(p, even, placed->n_stages);
}

bool begins_stage(const struct placement *placement, int64_t layer) {
    for (uint32_t i = 0; i < placement->pipeline.n_stages; i++)
        if (placement->pipeline.stages[i].begin == layer)
            return true;
    return false;
}

int64_t next_stage(const struct placement *placement, int64_t layer) {
    for (uint32_t i = 0; i < placement->pipeline.n_stages; i++)
        if (placement->pipeline.stages[i].begin > layer)
            return placement->pipeline.stages[i].begin;
    return INT64_MAX;
}

// ---- the schedule -----------------------------------------------------------------------------

// E331: too few microbatches for the method.
static void report_unfit(struct placing *p, const char *unfit) {
    struct diagnostic *d = report(p->diagnostics, E331, said(p)->method_span, "%s", unfit);
    diagnostic_say(d, "as it stands it has no order of tasks");
    diagnostic_origin(d, &said(p)->origin);
    propose_number_of_microbatches(p, d, least_microbatches(said(p)->method, n_ranks(p)),
                                   INT64_MAX);
}

// NULL: reported.
static const struct schedule *schedule_by_method(struct placing *p) {
    const struct pipeline_shape shape = {said(p)->method, n_ranks(p),
                                         p->placement->pipeline.n_chunks,
                                         (uint32_t)p->placement->microbatches};
    const char *unfit = shape_unfit(p->arena, &shape);
    if (unfit) {
        report_unfit(p, unfit);
        return NULL;
    }
    struct schedule *schedule = schedule_of_shape(p->arena, &shape);
    schedule->sums_ends = sums_ends(p, schedule);
    CHECK(!schedule_is_wrong(p->arena, schedule, NULL));
    return schedule;
}

void check_pipeline(struct placing *p) {
    struct placed_pipeline *placed = &p->placement->pipeline;
    if (placed->axes.n == 0 || !divides_batch(p))
        return; // of microbatches that are not whole there is no order
    uint32_t microbatches = (uint32_t)p->placement->microbatches;
    uint64_t tasks = 3 * (uint64_t)placed->n_stages * microbatches;
    if (tasks > LIMIT_TASKS) {
        struct diagnostic *d =
            report(p->diagnostics, E107, origin_span(&said(p)->origin),
                   "%u stages of %u microbatches; at most %d tasks are put in order",
                   placed->n_stages, microbatches, (int)LIMIT_TASKS);
        diagnostic_help(d, "raise `microbatch`, or take fewer chunks");
        return;
    }
    placed->schedule = said(p)->file ? check_said_schedule(p) : schedule_by_method(p);
}
