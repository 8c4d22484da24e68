/* What a rank takes down of every statement of a step before it is executed. */
#include "runtime/calls.h"
#include "runtime/context.h"
#include "runtime/live.h"

int32_t place_begin_statement(struct place_context *context, int32_t statement,
                              const void *variables) {
    RECORD_CALL(begin_statement);
    if (variables) {
        const int64_t *values = variables;
        recorder_describe(&recording, values[0], values[1]);
    }
    if (context->live)
        live_begin_statement(context->live, statement, variables);
    return PLACE_OK;
}

int32_t place_begin_task(struct place_context *context, int32_t statement, int32_t letter,
                         int32_t stage, int64_t microbatch) {
    RECORD_CALL(begin_task);
    uint64_t task = task_word(letter, stage, microbatch);
    recorder_describe(&recording, (int64_t)task, 0);
    recorder_begin_task(&context->recorder, task);
    return PLACE_OK;
}
