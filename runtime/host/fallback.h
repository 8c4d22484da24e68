/* What to run where a checkpoint is damaged: the last of its folder that is whole to the last bit,
 * as options that go on from it at once. */
#pragma once
#include "runtime/host/resumable.h"

/* Adds it to the message of the damage. What is damaged stays where it is: so if it is the last of
 * its folder, what follows the whole one goes to another. */
void advise_fallback(const struct resumption *resumption, const struct place_program *program,
                     char *message, size_t message_bytes);
/* A name beside a folder's that nothing has. */
void name_beside(char name[FILE_PATH_BYTES], const char *folder);
