/* What is handed to a rank's transport: the collective rows of runtime/calls.def, which generated
 * code calls, and what the host says between ranks. The flight recorder takes all of it down. */
#include "runtime/calls.h"
#include "runtime/transport/transport.h"

/* The bytes of the wholes, all pieces together. */
static int64_t whole_bytes(const struct collective *collective) {
    int64_t elements = 0;
    for (int32_t i = 0; i < collective->n_pieces; i++)
        elements += collective->pieces[i].valid;
    return elements * dtype_size(collective->dtype);
}

int32_t place_collective_start(struct place_context *context, int32_t statement, int32_t handle,
                               int32_t kind, int32_t group, int32_t dtype, int32_t operation,
                               int32_t shift, int32_t n_pieces, const void *pieces) {
    RECORD_CALL(collective_start);
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
    recorder_describe(&recording, recorded_transfer(handle, collective.kind, group),
                      whole_bytes(&collective));
    return context->transport->start(context, handle, &collective);
}

int32_t place_collective_wait(struct place_context *context, int32_t statement, int32_t handle) {
    RECORD_CALL(collective_wait);
    recorder_describe(&recording, handle, 0);
    return context->transport->wait(context, statement, handle);
}

int32_t place_message_start(struct place_context *context, int32_t statement, int32_t handle,
                            int32_t kind, int32_t group, int32_t dtype, int32_t peer,
                            int32_t n_pieces, const void *pieces) {
    RECORD_CALL(message_start);
    struct collective message = {
        .statement = statement,
        .kind = (enum place_collective)kind,
        .group = group,
        .dtype = (enum place_dtype)dtype,
        .shift = peer,
        .n_pieces = n_pieces,
        .pieces = pieces,
    };
    const char *wrong = message_check(context->program, context->rank, &message);
    if (wrong)
        return context_fail(context, statement, PLACE_ERROR_ARGUMENT, "%s: %s",
                            collective_name(message.kind), wrong);
    recorder_describe(&recording, recorded_transfer(handle, message.kind, group),
                      whole_bytes(&message));
    return context->transport->start(context, handle, &message);
}

int32_t place_message_wait(struct place_context *context, int32_t statement, int32_t handle) {
    RECORD_CALL(message_wait);
    recorder_describe(&recording, handle, 0);
    return context->transport->wait(context, statement, handle);
}

enum { statement = -1 }; /* of what follows: none */

int32_t host_share(struct place_context *context, const void *mine, void *all, size_t bytes) {
    RECORD_CALL(share);
    return context->transport->share(context, mine, all, bytes);
}

int32_t host_share_in_pace(struct place_context *context, const void *mine, void *all,
                           size_t bytes) {
    context->in_pace = 1;
    int32_t status = host_share(context, mine, all, bytes);
    context->in_pace = 0;
    return status;
}

int32_t host_send(struct place_context *context, int32_t to, const void *data, size_t bytes) {
    RECORD_CALL(send);
    recorder_describe(&recording, to, (int64_t)bytes);
    return context->transport->send(context, to, data, bytes);
}

int32_t host_receive(struct place_context *context, int32_t from, void *data, size_t bytes) {
    RECORD_CALL(receive);
    recorder_describe(&recording, from, (int64_t)bytes);
    return context->transport->receive(context, from, data, bytes);
}
