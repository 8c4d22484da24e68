/* The timeline of memory (see timeline.h). */
#include <errno.h>
#include <stdio.h>
#include "runtime/host/log.h"
#include "runtime/host/timeline.h"
#include "runtime/live.h"

enum { LINE_BYTES = 4096 };

/* A line for a statement: which, in which iteration of the loops around it, and what is alive. */
static size_t format_line(const struct place_program *program, int32_t statement,
                          const int64_t *variables, const struct live_bytes *alive, char *line) {
    const struct place_statement *row = &program->statements[statement];
    size_t used = (size_t)snprintf(
        line, LINE_BYTES, "{\"statement\": %d, \"line\": %d, \"text\": ", statement, row->line);
    used += quote_json(line + used, LINE_BYTES / 2, row->text ? row->text : "");
    used += (size_t)snprintf(line + used, LINE_BYTES - used, ", \"at\": [");
    for (int32_t i = 0; i < row->depth; i++)
        used += (size_t)snprintf(line + used, LINE_BYTES - used, "%s%lld", i ? ", " : "",
                                 (long long)variables[i]);
    used += (size_t)snprintf(line + used, LINE_BYTES - used, "]");
    for (int i = 0; i < LIVE_STATES; i++)
        used += (size_t)snprintf(line + used, LINE_BYTES - used, ", \"%s\": %lld",
                                 live_state_names[i], (long long)alive->states[i]);
    used += (size_t)snprintf(line + used, LINE_BYTES - used, ", \"sum\": %lld}\n",
                             (long long)alive->sum);
    return used;
}

static void write_statement(void *data, int32_t statement, const int64_t *variables,
                            const struct live_bytes *alive) {
    struct timeline *timeline = data;
    char line[LINE_BYTES];
    size_t bytes = format_line(timeline->program, statement, variables, alive, line);
    if (!timeline->failed && new_file_write(&timeline->file, line, bytes) != 0)
        timeline->failed = errno;
}

int timeline_begin(struct timeline *timeline, struct place_context *context, const char *path) {
    *timeline = (struct timeline){.program = context->program};
    live_observe(context->live, write_statement, timeline);
    return new_file_open(&timeline->file, path);
}

int timeline_end(struct timeline *timeline, struct place_context *context) {
    live_observe(context->live, NULL, NULL);
    int failed = timeline->failed;
    if (!failed && new_file_commit(&timeline->file) == 0)
        return 0;
    failed = failed ? failed : errno;
    new_file_discard(&timeline->file);
    errno = failed;
    return -1;
}
