/* Items of buffers as memory, wherever they are, for who fills or reads them between steps. */
#pragma once
#include <stdint.h>
#include "runtime/context.h"

struct held_item {
    struct place_context *context;
    int64_t length; /* bytes */
    int64_t at;     /* of one on disk: its offset in the file */
    int copied;     /* the bytes are a copy of what is on disk */
    char *bytes;
};

/* Where the item is; of one on disk a copy of it, in memory that is taken until it is released. 0, or
 * -1 with errno set. */
int item_open(struct place_context *context, const struct place_buffer *buffer, int64_t item,
              struct held_item *held);
void item_release(struct held_item *held);
/* Releases it behind writing back what was changed: 0, or -1 with errno set. */
int item_keep(struct held_item *held);

/* Fails the context, by errno: an item of the buffer cannot be opened or kept. */
int32_t fail_item(struct place_context *context, const struct place_buffer *buffer);
