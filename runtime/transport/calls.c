/* The collective rows of runtime/calls.def: what generated code calls, handed to the rank's
 * transport. */
#include "runtime/calls.h"
#include "runtime/transport/transport.h"

int32_t place_collective_start(struct place_context *context, int32_t statement, int32_t handle,
                               int32_t kind, int32_t group, int32_t dtype, int32_t operation,
                               int32_t shift, int32_t n_pieces, const void *pieces) {
    struct collective collective = {
        .statement = statement,
        .kind = (enum place_collective)kind,
        .group = group,
        .dtype = (enum place_dtype)dtype,
        .operation = (enum place_operation)operation,
        .shift = shift,
        .n_pieces = n_pieces,
        .pieces = pieces,
    };
    const char *wrong = collective_check(context->program, &collective);
    if (wrong)
        return context_fail(context, statement, PLACE_ERROR_ARGUMENT, "%s: %s",
                            collective_name(collective.kind), wrong);
    return context->transport->start(context, handle, &collective);
}

int32_t place_collective_wait(struct place_context *context, int32_t statement, int32_t handle) {
    return context->transport->wait(context, statement, handle);
}
