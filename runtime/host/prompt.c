/* The prompt of --sample (see prompt.h). */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "runtime/host/progress.h"
#include "runtime/host/prompt.h"

static const char separators[] = " ,\t\n";

/* A byte of the text, or its next number; the text behind it. Null: it is neither. */
static const char *read_token(const char *text, bool is_text, int64_t *token) {
    char *end;
    if (is_text) {
        *token = (unsigned char)*text;
        return text + 1;
    }
    if (*text < '0' || *text > '9')
        return NULL;
    errno = 0;
    *token = strtoll(text, &end, 10);
    if (errno || (*end && !strchr(separators, *end)))
        return NULL;
    return end + strspn(end, separators);
}

static int refuse_token(const char *at, int64_t token, int64_t vocab, char *message,
                        size_t message_bytes) {
    if (token >= 0)
        snprintf(message, message_bytes,
                 "--prompt has token %lld, which is not below the vocabulary's %lld",
                 (long long)token, (long long)vocab);
    else
        snprintf(message, message_bytes,
                 "--prompt takes the numbers of tokens here, as in --prompt '5 6 7', for the model "
                 "does not read bytes; '%.*s' is none",
                 (int)strcspn(at, separators), at);
    return -1;
}

static int check_length(const struct prompt *prompt, int64_t sequence, char *message,
                        size_t message_bytes) {
    if (prompt->n > 0 && prompt->n <= sequence)
        return 0;
    if (prompt->n == 0)
        snprintf(message, message_bytes,
                 "--prompt is empty; give it a token at least, or leave it out");
    else
        snprintf(message, message_bytes,
                 "--prompt has %lld tokens, and the model sees %lld at once; give it the last of "
                 "them, or a longer train.sequence",
                 (long long)prompt->n, (long long)sequence);
    return -1;
}

int prompt_read(struct prompt *prompt, const char *text, bool is_text, int64_t vocab,
                int64_t sequence, char *message, size_t message_bytes) {
    *prompt = (struct prompt){.tokens = calloc(strlen(text) + 1, sizeof *prompt->tokens)};
    if (!prompt->tokens) {
        snprintf(message, message_bytes, "--prompt: no memory for it");
        return -1;
    }
    if (!is_text)
        text += strspn(text, separators);
    while (*text) {
        int64_t token = -1;
        const char *next = read_token(text, is_text, &token);
        if (!next || token >= vocab)
            return refuse_token(text, next ? token : -1, vocab, message, message_bytes);
        prompt->tokens[prompt->n++] = (int32_t)token;
        text = next;
    }
    return check_length(prompt, sequence, message, message_bytes);
}

void prompt_free(struct prompt *prompt) {
    free(prompt->tokens);
    *prompt = (struct prompt){0};
}
