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

enum { EVENT_BYTES = 1024, TASK_BYTES = 96 };

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

static void name_row(struct trace *trace, int32_t rank, int64_t row, const char *name) {
    char text[256];
    int n = snprintf(text, sizeof text,
                     "{\"ph\": \"M\", \"name\": \"thread_name\", \"pid\": %d, \"tid\": %lld, "
                     "\"args\": {\"name\": \"%s\"}}",
                     rank, (long long)row, name);
    write_event(trace, text, (size_t)n);
}

static const char *text_of(const struct place_program *program, int32_t statement) {
    const char *text = statement >= 0 ? program->statements[statement].text : NULL;
    return text ? text : "?";
}

/* What task it is, behind other arguments; nothing where it is none. */
static const char *task_arguments(uint64_t task, char text[TASK_BYTES]) {
    text[0] = 0;
    if (task)
        snprintf(text, TASK_BYTES, ", \"task\": \"%c\", \"stage\": %d, \"microbatch\": %d",
                 task_letter(task), task_stage(task), task_microbatch(task));
    return text;
}

static double microseconds_of(const struct trace *trace, uint64_t ticks, uint64_t behind) {
    return (double)(int64_t)(ticks - behind - trace->zero) / trace->ticks_per_microsecond;
}

static void write_span(struct trace *trace, int32_t rank, int64_t thread,
                       const struct profile_span *span, uint64_t behind) {
    char text[EVENT_BYTES], task[TASK_BYTES];
    double begin = microseconds_of(trace, span->begin, behind);
    size_t used = (size_t)snprintf(text, sizeof text, "{\"ph\": \"X\", \"name\": ");
    used += quote_json(text + used, EVENT_BYTES / 2, text_of(trace->program, span->statement));
    used += (size_t)snprintf(
        text + used, sizeof text - used,
        ", \"cat\": \"%s\", \"pid\": %d, \"tid\": %lld, \"ts\": %.3f, \"dur\": %.3f, \"args\": "
        "{\"call\": \"%s\", \"statement\": %d, \"line\": %d%s}}",
        work_names[work_of_call(span->call)], rank, (long long)thread, begin,
        microseconds_of(trace, span->end, behind) - begin, recorded_names[span->call],
        span->statement,
        span->statement >= 0 ? trace->program->statements[span->statement].line : 0,
        task_arguments(span->task, task));
    write_event(trace, text, used);
}

/* Work on a task, as a schedule's file names it, between times in which something was waited for. */
static void write_task(struct trace *trace, int32_t rank, int64_t row, uint64_t task,
                       uint64_t begin, uint64_t end, uint64_t behind) {
    char text[EVENT_BYTES], arguments[TASK_BYTES];
    double first = microseconds_of(trace, begin, behind);
    int n = snprintf(text, sizeof text,
                     "{\"ph\": \"X\", \"name\": \"%d%c%d\", \"cat\": \"task\", \"pid\": %d, "
                     "\"tid\": %lld, \"ts\": %.3f, \"dur\": %.3f, \"args\": {%s}}",
                     task_stage(task), task_letter(task), task_microbatch(task), rank,
                     (long long)row, first, microseconds_of(trace, end, behind) - first,
                     task_arguments(task, arguments) + strlen(", "));
    write_event(trace, text, (size_t)n);
}

static bool is_waiting(const struct profile_span *span) {
    return span->call == RECORDED_collective_waiting || span->call == RECORDED_message_waiting;
}

/* A row of what a rank's own thread did on tasks, behind those of its threads: gaps are bubbles. Where messages are
 * all that there was between two waits, that is none. */
static void write_tasks(struct trace *trace, int32_t rank, int64_t threads,
                        const struct profile_row *own, uint64_t behind) {
    int64_t end;
    bool named = false;
    for (int64_t begin = 0; begin < own->n; begin = end) {
        uint64_t task = own->spans[begin].task;
        bool works = false;
        for (end = begin;
             end < own->n && own->spans[end].task == task && !is_waiting(&own->spans[end]); end++)
            works |= work_of_call(own->spans[end].call) != WORK_MESSAGE;
        if (task && works && !named)
            name_row(trace, rank, threads, "tasks");
        named |= task && works;
        if (task && works)
            write_task(trace, rank, threads, task, own->spans[begin].begin, own->spans[end - 1].end,
                       behind);
        end += end == begin;
    }
}

static void write_row(struct trace *trace, int32_t rank, int64_t thread,
                      const struct profile_row *row, uint64_t behind) {
    char name[32];
    snprintf(name, sizeof name, "thread %lld", (long long)thread);
    name_row(trace, rank, thread, name);
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
            const struct profile_row *row = rank == context->rank ? &profile->rows[i] : &received;
            if (!status)
                write_row(trace, rank, i, row, behind);
            if (!status && i == 0)
                write_tasks(trace, rank, ranks[rank].threads, row, behind);
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
