/* Items as memory (see items.h). */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "runtime/disk.h"
#include "runtime/host/items.h"
#include "runtime/host/layout.h"
#include "runtime/transport/collective.h"

int item_open(struct place_context *context, const struct place_buffer *buffer, int64_t item,
              struct held_item *held) {
    int64_t elements = layout_item_elements(context->program, buffer);
    *held = (struct held_item){.context = context,
                               .length = elements * dtype_size(buffer->dtype),
                               .bytes = layout_item(context, buffer, item)};
    if (buffer->tier != PLACE_DISK)
        return 0;
    held->at = (int64_t)(uintptr_t)held->bytes;
    held->bytes = malloc((size_t)held->length + 1);
    held->copied = 1;
    if (!held->bytes)
        return -1;
    int reason = disk_read(context->disk, held->bytes, held->at, held->length);
    if (reason) {
        item_release(held);
        errno = reason;
    }
    return reason ? -1 : 0;
}

void item_release(struct held_item *held) {
    if (held->copied)
        free(held->bytes);
    held->bytes = NULL;
}

int item_keep(struct held_item *held) {
    int reason =
        held->copied ? disk_write(held->context->disk, held->bytes, held->at, held->length) : 0;
    item_release(held);
    errno = reason;
    return reason ? -1 : 0;
}

int32_t fail_item(struct place_context *context, const struct place_buffer *buffer) {
    return context_fail(context, -1, PLACE_ERROR_HOST,
                        "%s, which is kept on disk, cannot be read or written there: %s",
                        buffer->name, strerror(errno));
}
