// What `check` says of a pipeline: how long its ranks are idle, and a line for each of them.
#include <inttypes.h>
#include <string.h>

#include "driver/report_pipeline.h"

static const struct pipeline_config *said(const struct compilation *c) {
    return &c->config.strategy.pipeline;
}

const char *pipeline_order_name(const struct compilation *c) {
    return c->reordered ? "in an order of its own" : pipeline_schedule_name(said(c));
}

// Stages are told up to so many; of more the first and the last, since those of a method are at even distances.
enum { LAYERS_COLUMNS = 18, MOST_WORDS = 6, FIRST_WORDS = 3, LAST_WORDS = 2 };

// Words for what a rank has, "embedding", "0:2", "4:6", "head": slices of layers as they are written.
static uint32_t words_of_rank(struct compilation *c, uint32_t rank, const char **words) {
    const struct placed_pipeline *pipeline = &c->placement.pipeline;
    uint32_t n = 0;
    for (uint32_t i = 0; i < pipeline->n_stages; i++) {
        const struct placed_stage *stage = &pipeline->stages[i];
        if (pipeline->schedule->rank_of[i] != rank)
            continue;
        if (i == 0)
            words[n++] = "embedding";
        if (stage->end > stage->begin)
            words[n++] = arena_format(&c->arena, "%" PRId64 ":%" PRId64, stage->begin, stage->end);
        if (i + 1 == pipeline->n_stages)
            words[n++] = "head";
    }
    if (n <= MOST_WORDS)
        return n;
    words[FIRST_WORDS] = "...";
    memmove(words + FIRST_WORDS + 1, words + n - LAST_WORDS, LAST_WORDS * sizeof *words);
    return FIRST_WORDS + 1 + LAST_WORDS;
}

// The first of the words from `*at` on, as many as fit; behind them `*at` is.
static const char *next_line(struct compilation *c, const char *const *words, uint32_t n,
                             uint32_t *at) {
    const char *line = words[(*at)++];
    while (*at < n && strlen(line) + 1 + strlen(words[*at]) <= LAYERS_COLUMNS)
        line = arena_format(&c->arena, "%s %s", line, words[(*at)++]);
    return line;
}

static int64_t bytes_of_states(const struct account *account) {
    int64_t bytes = 0;
    for (int state = 0; state < STATE_ACTIVATIONS; state++)
        bytes += account->held[state];
    return bytes;
}

void report_pipeline(struct compilation *c, FILE *to) {
    if (!is_pipelined(c))
        return;
    const struct pipeline_account *pipeline = account_pipeline(&c->placement, &c->arena);
    fprintf(to, "\n  pipeline over %s, %s: idle %" PRId64 "/%" PRId64 " of the time",
            mesh_axes_text(&c->config.mesh, &c->placement.pipeline.axes, &c->arena),
            pipeline_order_name(c), pipeline->bubble[0], pipeline->bubble[1]);
    fprintf(to, ", %.1f %% by operations\n", 100 * pipeline->idle);
    fprintf(to, "    rank %-*s  work in flight      states        peak        sent\n",
            LAYERS_COLUMNS, "layers");
    const char **words = ARENA_ARRAY(&c->arena, const char *, c->placement.pipeline.n_stages + 2);
    for (uint32_t rank = 0; rank < pipeline->n_ranks; rank++) {
        const struct account *account = c->accounts[rank];
        uint32_t n = words_of_rank(c, rank, words), at = 0;
        const char *line = n ? next_line(c, words, n, &at) : "";
        fprintf(to, "    %4u %-*s %3.0f %% %9u %11s %11s %11s\n", rank, LAYERS_COLUMNS, line,
                100 * pipeline->ranks[rank].share, pipeline->ranks[rank].in_flight,
                bytes_text(&c->arena, (double)bytes_of_states(account)),
                bytes_text(&c->arena, (double)account->arenas[TIER_DEVICE].peak),
                bytes_text(&c->arena, (double)account->total_bytes));
        while (at < n)
            fprintf(to, "%9s%s\n", "", next_line(c, words, n, &at));
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

int pipeline_missing(struct compilation *c) {
    const struct mesh *mesh = &c->config.mesh;
    fprintf(stderr, "placec: %s: the strategy has no pipeline", c->path);
    if (has_pipeline(said(c)))
        fprintf(stderr, ": `%s` has 1 device\n  give it more, as with `-D %s=2`\n",
                mesh_axes_text(mesh, &said(c)->axes, &c->arena),
                mesh->axes[said(c)->axes.axes[0]].name);
    else
        fprintf(stderr, "\n  say which axis splits the layers: "
                        "`split layers over AXIS schedule one_f_one_b`\n");
    return STATUS_REFUSED;
}
