/* What --sample goes on from where --prompt says it: tokens of the model, read before time is
 * spent. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct prompt {
    int32_t *tokens; /* null: none was given */
    int64_t n;
};

/* Reads a prompt from text, a byte a token, or from the numbers of tokens with blanks or commas
 * between them. It has to fit into a sequence. 0, or -1 with one line in `message`; to be freed in
 * any case. */
int prompt_read(struct prompt *prompt, const char *text, bool is_text, int64_t vocab,
                int64_t sequence, char *message, size_t message_bytes);
void prompt_free(struct prompt *prompt);
