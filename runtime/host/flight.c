/* Tables of flight recorders (see flight.h). */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "runtime/host/file.h"
#include "runtime/host/flight.h"
#include "runtime/host/kind.h"
#include "runtime/host/progress.h"
#include "runtime/transport/transport.h"

enum { SHORT_TABLE = 8 }; /* lines of a rank where people read first */

/* ---- which rank ----------------------------------------------------------------------------- */

static uint64_t calls_of(const struct place_context *context) {
    return atomic_load(&context->recorder.calls);
}

static bool is_waiting(struct place_context *context) {
    struct flight_call last;
    return recorder_read(&context->recorder, &last, 1) == 1 && last.inside &&
           is_waiting_call(last.call);
}

static bool has_failed_first(const struct place_context *context) {
    enum place_status status = atomic_load(&context->status);
    return status != PLACE_OK && status != PLACE_ERROR_ABORTED && status != PLACE_ERROR_DEADLOCK;
}

/* The only one that does not wait; -1: there are several, or none. */
static int find_only_one_at_work(const struct flight *flight) {
    int found = -1;
    for (int i = 0; i < flight->n; i++) {
        if (is_waiting(flight->contexts[i]))
            continue;
        if (found >= 0)
            return -1;
        found = i;
    }
    return flight->n > 1 ? found : -1;
}

/* The one that has made the fewest calls; of several, one that does not wait itself. -1: none
 * stands out. */
static int find_fewest_calls(const struct flight *flight) {
    int behind = 0;
    bool differ = false, any_waits = false;
    for (int i = 0; i < flight->n; i++) {
        struct place_context *context = flight->contexts[i], *least = flight->contexts[behind];
        uint64_t calls = calls_of(context), fewest = calls_of(least);
        bool waits = is_waiting(context);
        differ |= calls != fewest;
        any_waits |= waits;
        if (calls < fewest || (calls == fewest && is_waiting(least) && !waits))
            behind = i;
    }
    return differ || (any_waits && !is_waiting(flight->contexts[behind])) ? behind : -1;
}

/* All ranks of a part make the same calls in a step, so the one that has made the fewest is what
 * the others wait for. Where there are several parts, calls say nothing; where there are ranks in
 * other processes, it may be one of those. -1: none stands out. */
static int find_culprit(const struct flight *flight) {
    const struct place_program *program = flight->contexts[0]->program;
    for (int i = 0; i < flight->n; i++)
        if (has_failed_first(flight->contexts[i]))
            return i;
    if (flight->n < program->devices)
        return -1;
    return program->n_parts > 1 ? find_only_one_at_work(flight) : find_fewest_calls(flight);
}

static const char *mark_of(const struct place_context *context) {
    return has_failed_first(context) ? "   <-- failed first"
                                     : "   <-- behind: the others wait for it";
}

/* ---- one call ------------------------------------------------------------------------------- */

static size_t format_group(const struct place_program *program, int32_t group, char *text,
                           size_t bytes) {
    const char *name = group >= 0 && group < program->n_groups ? program->groups[group].name : "?";
    return (size_t)snprintf(text, bytes, "%s", name);
}

/* What a transfer carries: "all_gather over dp, 1.2 MiB". */
static void format_transfer(const struct place_program *program, const struct flight_call *call,
                            char *text, size_t bytes) {
    char size[32];
    size_t used =
        (size_t)snprintf(text, bytes, "%s over ", collective_name(recorded_kind(call->details[0])));
    used += format_group(program, recorded_group(call->details[0]), text + used, bytes - used);
    snprintf(text + used, bytes - used, ", %s", format_bytes(size, sizeof size, call->details[1]));
}

static int begins_transfer(enum recorded_call call) {
    return call == RECORDED_collective_start || call == RECORDED_message_start;
}

/* The start that a wait ends, if it is still recorded. */
static const struct flight_call *start_of(const struct flight_call *calls, int wait) {
    for (int i = wait; i-- > 0;)
        if (begins_transfer(calls[i].call) &&
            recorded_handle(calls[i].details[0]) == (int32_t)calls[wait].details[0])
            return &calls[i];
    return NULL;
}

static void format_details(const struct place_program *program, const struct flight_call *calls,
                           int i, char *text, size_t bytes) {
    const struct flight_call *call = &calls[i], *start;
    char size[32];
    text[0] = 0;
    bool waits = call->call == RECORDED_collective_wait || call->call == RECORDED_message_wait;
    if (begins_transfer(call->call) && call->details[1]) {
        format_transfer(program, call, text, bytes);
    } else if (waits && (start = start_of(calls, i))) {
        format_transfer(program, start, text, bytes);
    } else if (call->call == RECORDED_send || call->call == RECORDED_receive) {
        snprintf(text, bytes, "rank %lld, %s", (long long)call->details[0],
                 format_bytes(size, sizeof size, call->details[1]));
    } else if (call->call == RECORDED_begin_task && call->details[0]) {
        char task[TASK_TEXT_BYTES];
        snprintf(text, bytes, "%s",
                 task_describe((uint64_t)call->details[0], task) + strlen(", in "));
    } else if (call->call == RECORDED_begin_statement) {
        int32_t depth = call->statement >= 0 && call->statement < program->n_statements
                            ? program->statements[call->statement].depth
                            : 0;
        if (depth > 0)
            snprintf(text, bytes, depth > 1 ? "iteration %lld, %lld" : "iteration %lld",
                     (long long)call->details[0], (long long)call->details[1]);
    }
}

static void print_call(const struct place_program *program, const struct flight_call *calls, int i,
                       double ago, FILE *to) {
    const struct flight_call *call = &calls[i];
    char where[256], details[160];
    context_describe_statement(program, call->statement, where, sizeof where);
    format_details(program, calls, i, details, sizeof details);
    fprintf(to, "  %10.6f s ago  %-6s  %-20s  %s%s%s\n", ago, call->inside ? "inside" : "left",
            recorded_names[call->call], where, *details ? ": " : "", details);
}

/* ---- tables --------------------------------------------------------------------------------- */

static void print_rank(struct place_context *context, const char *mark, int lines, double rate,
                       FILE *to) {
    struct flight_call calls[RECORDER_LENGTH];
    int n = recorder_read(&context->recorder, calls, RECORDER_LENGTH);
    uint64_t now = __builtin_ia32_rdtsc();
    fprintf(to, "rank %d", context->rank);
    int64_t step = atomic_load(&context->recorder.step);
    if (step > 0)
        fprintf(to, ", step %lld", (long long)step);
    char task[TASK_TEXT_BYTES];
    fprintf(to, "%s, %llu call%s%s\n", recorder_task(&context->recorder, task),
            (unsigned long long)calls_of(context), plural_s((int64_t)calls_of(context)), mark);
    for (int i = n > lines ? n - lines : 0; i < n; i++)
        print_call(context->program, calls, i, (double)(int64_t)(now - calls[i].ticks) / rate, to);
}

void flight_print(const struct flight *flight, FILE *to, int lines) {
    double rate = clock_ticks_per_second();
    int culprit = find_culprit(flight);
    fprintf(to, "flight recorder: the last runtime calls of every rank, the newest at the end\n");
    if (culprit >= 0)
        print_rank(flight->contexts[culprit], mark_of(flight->contexts[culprit]), lines, rate, to);
    for (int i = 0; i < flight->n; i++)
        if (i != culprit)
            print_rank(flight->contexts[i], "", lines, rate, to);
    fflush(to);
}

/* All that is recorded, into a file of its own: 0, or -1 with errno set. */
static int write_file(const struct flight *flight, const char *path) {
    struct new_file file;
    if (new_file_open(&file, path) != 0)
        return -1;
    FILE *to = new_file_stream(&file);
    if (to)
        flight_print(flight, to, RECORDER_LENGTH);
    bool whole = to && !ferror(to);
    if (to && fclose(to) == 0 && whole)
        return new_file_commit(&file);
    int reason = errno;
    new_file_discard(&file);
    errno = reason;
    return -1;
}

void flight_report(const struct flight *flight, const char *path, int processes, FILE *to) {
    char name[4200];
    flight_print(flight, to, SHORT_TABLE);
    if (!path)
        return;
    if (processes > 1)
        snprintf(name, sizeof name, "%s.flight.%d", path, flight->contexts[0]->rank);
    else
        snprintf(name, sizeof name, "%s.flight", path);
    const char *missed = kind_missed(FILE_FLIGHT, name);
    if (missed)
        fprintf(to, "%s: it is there and is not %s, so it is not written over\n", name, missed);
    else if (write_file(flight, name) == 0)
        fprintf(to, "all that is recorded is in %s\n", name);
    else
        fprintf(to, "%s: the flight recorder cannot be written: %s\n", name, strerror(errno));
}

void flight_describe_last(struct place_context *context, char *text, size_t bytes) {
    struct flight_call last;
    char where[256];
    if (recorder_read(&context->recorder, &last, 1) != 1) {
        snprintf(text, bytes, "before its first call");
        return;
    }
    context_describe_statement(context->program, last.statement, where, sizeof where);
    char task[TASK_TEXT_BYTES];
    snprintf(text, bytes, "%s %s at %s%s", last.inside ? "inside" : "behind",
             recorded_names[last.call], where, recorder_task(&context->recorder, task));
}
