/* What every runtime call may need of its rank: where it stands on the mesh, and how it fails. */
#include <stdarg.h>
#include <stdio.h>
#include "runtime/context.h"
#include "runtime/mesh.h"
#include "runtime/transport/transport.h"

void context_describe_statement(const struct place_program *program, int32_t statement, char *text,
                                size_t bytes) {
    if (statement < 0) {
        snprintf(text, bytes, "the host's part");
        return;
    }
    if (!program || statement >= program->n_statements) {
        snprintf(text, bytes, "statement %d", statement);
        return;
    }
    const struct place_statement *row = &program->statements[statement];
    const char *what = row->text ? row->text : "?";
    if (row->line > 0)
        snprintf(text, bytes, "%s:%d:%d (%s, statement %d)", row->file ? row->file : "?", row->line,
                 row->column, what, statement);
    else
        snprintf(text, bytes, "%s, statement %d", what, statement);
}

/* The message is the first failure's, held or not. */
static void describe_failure(struct place_context *context, int32_t statement, const char *format,
                             va_list arguments) {
    char where[256] = "";
    if (statement >= 0)
        context_describe_statement(context->program, statement, where, sizeof where);
    char step[40] = "", task[TASK_TEXT_BYTES];
    if (atomic_load(&context->recorder.step) > 0)
        snprintf(step, sizeof step, ", step %lld", (long long)context->recorder.step);
    int used =
        snprintf(context->message, sizeof context->message, "rank %d%s%s%s%s: ", context->rank,
                 step, recorder_task(&context->recorder, task), *where ? ", " : "", where);
    vsnprintf(context->message + used, sizeof context->message - (size_t)used, format, arguments);
}

int32_t context_fail(struct place_context *context, int32_t statement, enum place_status status,
                     const char *format, ...) {
    if (context->status != PLACE_OK)
        return context->status;
    if (context->held == PLACE_OK) {
        va_list arguments;
        va_start(arguments, format);
        describe_failure(context, statement, format, arguments);
        va_end(arguments);
    }
    if (context->holds) {
        context->held = context->held ? context->held : status;
        return status;
    }
    context->status = status;
    if (context->transport)
        context->transport->abort(context);
    return status;
}

int32_t context_release(struct place_context *context) {
    context->holds = 0;
    if (context->held && !context->status) {
        context->status = context->held;
        if (context->transport)
            context->transport->abort(context);
    }
    return context->status;
}

void context_set_rank(struct place_context *context, int32_t rank) {
    context->rank = rank;
    context->part = part_of_rank(context->program, rank);
    for (int i = 0; i < context->program->n_axes; i++) {
        const struct place_axis *axis = &context->program->axes[i];
        context->head.coordinates[i] = rank / axis->stride % axis->size;
    }
}
