/* What a rank takes down of every statement of a step before it is executed. */
#include "runtime/calls.h"
#include "runtime/context.h"
#include "runtime/live.h"

int32_t place_begin_statement(struct place_context *context, int32_t statement,
                              const void *variables) {
    if (context->live)
        live_begin_statement(context->live, statement, variables);
    return PLACE_OK;
}
