// What `check` says of a pipeline: how long its ranks are idle, and a line for each of them.
#include <inttypes.h>
#include <string.h>

#include "driver/report_pipeline.h"

static const struct pipeline_config *said(const struct compilation *c) {
    return &c->config.strategy.pipeline;
}

// "embedding 0:2 4:6 head", as slices of layers are written.
static const char *stages_of_rank(struct compilation *c, uint32_t rank) {
    const struct placed_pipeline *pipeline = &c->placement.pipeline;
    const char *text = "";
    for (uint32_t i = 0; i < pipeline->n_stages; i++) {
        const struct placed_stage *stage = &pipeline->stages[i];
        if (pipeline->schedule->rank_of[i] != rank)
            continue;
        if (i == 0)
            text = "embedding";
        if (stage->end > stage->begin)
            text = arena_format(&c->arena, "%s%s%" PRId64 ":%" PRId64, text, *text ? " " : "",
                                stage->begin, stage->end);
        if (i + 1 == pipeline->n_stages)
            text = arena_format(&c->arena, "%s%shead", text, *text ? " " : "");
    }
    return text;
}

static int64_t bytes_of_states(const struct account *account) {
    int64_t bytes = 0;
    for (int state = 0; state < STATE_ACTIVATIONS; state++)
        bytes += account->held[state];
    return bytes;
}

enum { STAGES_COLUMNS = 18 };

void report_pipeline(struct compilation *c, FILE *to) {
    if (!is_pipelined(c))
        return;
    const struct pipeline_account *pipeline = account_pipeline(&c->placement, &c->arena);
    fprintf(to, "\n  pipeline over %s, %s: idle %" PRId64 "/%" PRId64 " of the time",
            mesh_axes_text(&c->config.mesh, &c->placement.pipeline.axes, &c->arena),
            pipeline_schedule_name(said(c)), pipeline->bubble[0], pipeline->bubble[1]);
    fprintf(to, ", %.1f %% by operations\n", 100 * pipeline->idle);
    fprintf(to, "    rank %-*s  work in flight      states        peak        sent\n",
            STAGES_COLUMNS, "layers");
    for (uint32_t rank = 0; rank < pipeline->n_ranks; rank++) {
        const struct account *account = c->accounts[rank];
        const char *stages = stages_of_rank(c, rank);
        if (strlen(stages) > STAGES_COLUMNS)
            stages = arena_format(&c->arena, "%.*s...", STAGES_COLUMNS - 3, stages);
        fprintf(to, "    %4u %-*s %3.0f %% %9u %11s %11s %11s\n", rank, STAGES_COLUMNS, stages,
                100 * pipeline->ranks[rank].share, pipeline->ranks[rank].in_flight,
                bytes_text(&c->arena, (double)bytes_of_states(account)),
                bytes_text(&c->arena, (double)account->arenas[TIER_DEVICE].peak),
                bytes_text(&c->arena, (double)account->total_bytes));
    }
}

static json_t *fraction_json(const int64_t fraction[2]) {
    return json_pack("[I, I]", (json_int_t)fraction[0], (json_int_t)fraction[1]);
}

json_t *pipeline_json(struct compilation *c) {
    if (!c->accounts || !is_pipelined(c))
        return json_null();
    const struct pipeline_account *pipeline = account_pipeline(&c->placement, &c->arena);
    json_t *in_flight = json_array(), *until_inputs = json_array(), *sends = json_array();
    for (uint32_t rank = 0; rank < pipeline->n_ranks; rank++) {
        json_array_append_new(in_flight, json_integer(pipeline->ranks[rank].in_flight));
        json_array_append_new(until_inputs, json_integer(pipeline->ranks[rank].until_inputs));
        json_array_append_new(sends, json_integer(pipeline->ranks[rank].sends));
    }
    json_t *stages = json_array();
    for (uint32_t i = 0; i < c->placement.pipeline.n_stages; i++)
        json_array_append_new(stages,
                              json_pack("{s:I, s:I, s:I}", "rank",
                                        (json_int_t)c->placement.pipeline.schedule->rank_of[i],
                                        "begin", (json_int_t)c->placement.pipeline.stages[i].begin,
                                        "end", (json_int_t)c->placement.pipeline.stages[i].end));
    return json_pack("{s:s, s:o, s:o, s:o, s:o, s:o, s:o}", "schedule",
                     pipeline_schedule_name(said(c)), "bubble", fraction_json(pipeline->bubble),
                     "span_bubble", fraction_json(pipeline->span_bubble), "in_flight", in_flight,
                     "until_inputs", until_inputs, "sends", sends, "stages", stages);
}

int pipeline_missing(const struct compilation *c) {
    fprintf(stderr,
            "placec: %s: the strategy has no pipeline\n  say which axis splits the layers: "
            "`split layers over AXIS schedule one_f_one_b`\n",
            c->path);
    return STATUS_REFUSED;
}
