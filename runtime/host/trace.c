/* The trace of a run (see trace.h). The first rank fetches what the others kept, one row at a time.
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "runtime/host/file.h"
#include "runtime/host/log.h"
#include "runtime/host/trace.h"
#include "runtime/profile.h"
#include "runtime/transport/transport.h"

enum { EVENT_BYTES = 1024 };

struct trace {
    const struct place_program *program;
    struct new_file file;
    double ticks_per_microsecond;
    uint64_t zero; /* ticks of the first span of all, on the first rank's clock */
    int failed;    /* errno of the first write that failed */
    bool any;
};

/* What every rank tells of itself. */
struct traced_rank {
    int64_t threads;
    uint64_t met, first; /* ticks: when all had met, and of its first span */
};

static void write_event(struct trace *trace, const char *text, size_t bytes) {
    const char *comma = trace->any ? ",\n" : "\n";
    trace->any = true;
    if (!trace->failed && (new_file_write(&trace->file, comma, strlen(comma)) != 0 ||
                           new_file_write(&trace->file, text, bytes) != 0))
        trace->failed = errno;
}

/* A rank by its number and its place on every axis: "rank 5: dp 2, tp 1". Ranks are in their order,
 * which viewers do not keep by themselves. */
static void name_rank(struct trace *trace, int32_t rank) {
    const struct place_program *program = trace->program;
    char text[EVENT_BYTES];
    int n =
        snprintf(text, sizeof text,
                 "{\"ph\": \"M\", \"name\": \"process_name\", \"pid\": %d, \"args\": {\"name\": "
                 "\"rank %d",
                 rank, rank);
    int64_t inner = program->devices;
    for (int32_t i = 0; i < program->n_axes && n < EVENT_BYTES / 2; i++) {
        const struct place_axis *axis = &program->axes[i];
        inner /= axis->size;
        n += snprintf(text + n, sizeof text - (size_t)n, "%s %.64s %lld", i ? "," : ":", axis->name,
                      (long long)(rank / inner % axis->size));
    }
    n += snprintf(text + n, sizeof text - (size_t)n, "\"}}");
    write_event(trace, text, (size_t)n);
    n = snprintf(text, sizeof text,
                 "{\"ph\": \"M\", \"name\": \"process_sort_index\", \"pid\": %d, \"args\": "
                 "{\"sort_index\": %d}}",
                 rank, rank);
    write_event(trace, text, (size_t)n);
}

static void name_thread(struct trace *trace, int32_t rank, int64_t thread) {
    char text[256];
    int n = snprintf(text, sizeof text,
                     "{\"ph\": \"M\", \"name\": \"thread_name\", \"pid\": %d, \"tid\": %lld, "
                     "\"args\": {\"name\": \"thread %lld\"}}",
                     rank, (long long)thread, (long long)thread);
    write_event(trace, text, (size_t)n);
}

static const char *text_of(const struct place_program *program, int32_t statement) {
    const char *text = statement >= 0 ? program->statements[statement].text : NULL;
    return text ? text : "?";
}

static void write_span(struct trace *trace, int32_t rank, int64_t thread,
                       const struct profile_span *span, uint64_t behind) {
    char text[EVENT_BYTES];
    double scale = 1 / trace->ticks_per_microsecond;
    double begin = (double)(int64_t)(span->begin - behind - trace->zero) * scale;
    size_t used = (size_t)snprintf(text, sizeof text, "{\"ph\": \"X\", \"name\": ");
    used += quote_json(text + used, EVENT_BYTES / 2, text_of(trace->program, span->statement));
    used += (size_t)snprintf(
        text + used, sizeof text - used,
        ", \"cat\": \"%s\", \"pid\": %d, \"tid\": %lld, \"ts\": %.3f, \"dur\": %.3f, \"args\": "
        "{\"call\": \"%s\", \"statement\": %d, \"line\": %d}}",
        work_names[work_of_call(span->call)], rank, (long long)thread, begin,
        (double)(span->end - span->begin) * scale, recorded_names[span->call], span->statement,
        span->statement >= 0 ? trace->program->statements[span->statement].line : 0);
    write_event(trace, text, used);
}

static void write_row(struct trace *trace, int32_t rank, int64_t thread,
                      const struct profile_row *row, uint64_t behind) {
    name_thread(trace, rank, thread);
    for (int64_t i = 0; i < row->n; i++)
        write_span(trace, rank, thread, &row->spans[i], behind);
}

/* The row of another rank, into memory that grows. */
static int32_t receive_row(struct place_context *context, int32_t rank, struct profile_row *row) {
    int64_t n = 0;
    int32_t status = host_receive(context, rank, &n, sizeof n);
    if (status || n == 0) {
        row->n = 0;
        return status;
    }
    struct profile_span *spans = realloc(row->spans, (size_t)n * sizeof *spans);
    if (!spans)
        return context_fail(context, -1, PLACE_ERROR_HOST, "no memory for a trace");
    *row = (struct profile_row){spans, n};
    return host_receive(context, rank, spans, (size_t)n * sizeof *spans);
}

static int32_t send_rows(struct place_context *context) {
    const struct profile *profile = context->recorder.profile;
    int32_t status = PLACE_OK;
    for (int32_t i = 0; i < profile->threads && !status; i++) {
        const struct profile_row *row = &profile->rows[i];
        status = host_send(context, 0, &row->n, sizeof row->n);
        if (!status && row->n)
            status = host_send(context, 0, row->spans, (size_t)row->n * sizeof *row->spans);
    }
    return status;
}

/* Hosts do not agree on the clock's zero; threads of one host do, far better than they meet. */
static uint64_t clock_behind(const struct traced_rank *first, const struct traced_rank *rank,
                             double ticks_per_microsecond) {
    int64_t apart = (int64_t)(rank->met - first->met);
    return fabs((double)apart) > 1e6 * ticks_per_microsecond ? (uint64_t)apart : 0;
}

/* The first time, on the first rank's clock. Which rank begins is chance, and no time is before the
 * beginning. */
static uint64_t first_of_all(const struct traced_rank *ranks, int64_t n,
                             double ticks_per_microsecond) {
    uint64_t first = ranks[0].first;
    for (int64_t i = 1; i < n; i++) {
        uint64_t behind = clock_behind(&ranks[0], &ranks[i], ticks_per_microsecond);
        uint64_t begun = ranks[i].first - behind;
        first = begun < first ? begun : first;
    }
    return first;
}

static int32_t write_rows(struct trace *trace, struct place_context *context,
                          const struct traced_rank *ranks) {
    const struct profile *profile = context->recorder.profile;
    struct profile_row received = {0};
    int32_t status = PLACE_OK;
    for (int32_t rank = 0; rank < trace->program->devices && !status; rank++) {
        uint64_t behind = clock_behind(&ranks[0], &ranks[rank], trace->ticks_per_microsecond);
        name_rank(trace, rank);
        for (int64_t i = 0; i < ranks[rank].threads && !status; i++) {
            if (rank != context->rank)
                status = receive_row(context, rank, &received);
            if (!status)
                write_row(trace, rank, i, rank == context->rank ? &profile->rows[i] : &received,
                          behind);
        }
    }
    free(received.spans);
    return status;
}

static int32_t write_file(struct trace *trace, struct place_context *context, const char *path,
                          const struct traced_rank *ranks) {
    static const char head[] = "{\"displayTimeUnit\": \"ms\", \"traceEvents\": [",
                      tail[] = "\n]}\n";
    if (new_file_open(&trace->file, path) != 0 ||
        new_file_write(&trace->file, head, sizeof head - 1) != 0)
        trace->failed = errno;
    int32_t status = write_rows(trace, context, ranks);
    if (!trace->failed && !status &&
        (new_file_write(&trace->file, tail, sizeof tail - 1) != 0 ||
         new_file_commit(&trace->file) != 0))
        trace->failed = errno;
    if (trace->failed || status)
        new_file_discard(&trace->file);
    if (trace->failed && !status)
        status = context_fail(context, -1, PLACE_ERROR_HOST, "%s: cannot be written: %s", path,
                              strerror(trace->failed));
    return status;
}

int32_t trace_write(struct place_context *context, const char *path, double ticks_per_microsecond) {
    const struct profile *profile = context->recorder.profile;
    const struct profile_row *own = &profile->rows[0];
    int64_t n = context->program->devices;
    struct traced_rank mine = {.threads = profile->threads,
                               .met = profile_clock(),
                               .first = own->n ? own->spans[0].begin : profile_clock()};
    struct traced_rank *ranks = calloc((size_t)n, sizeof *ranks);
    int32_t status = ranks ? host_share(context, &mine, ranks, sizeof mine)
                           : context_fail(context, -1, PLACE_ERROR_HOST, "no memory for a trace");
    if (!status && context->rank != 0)
        status = send_rows(context);
    if (!status && context->rank == 0) {
        struct trace trace = {.program = context->program,
                              .file = {.descriptor = -1},
                              .ticks_per_microsecond = ticks_per_microsecond,
                              .zero = first_of_all(ranks, n, ticks_per_microsecond)};
        status = write_file(&trace, context, path, ranks);
    }
    free(ranks);
    return status;
}
