/* The config.json beside weights that somebody else wrote, held against the model that starts from
 * them: of what shapes do not show, no other check would find it. */
#pragma once
#include <stddef.h>
#include "runtime/place.h"

/* Checks the config.json of a folder; one without such a file says nothing. 0, or -1 with one line
 * in `message`. */
int weights_config_check(const struct place_program *program, const char *folder, char *message,
                         size_t message_bytes);
