/* What a rank works on where it is a pipeline's: a stage's forward pass or a part of its backward pass, of one
 * microbatch. One word, so that others may read it while the rank goes on; 0: on no task. */
#pragma once
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum { N_TASK_LETTERS = 4, TASK_TEXT_BYTES = 64 };
#define TASK_LETTERS "FBIW" /* forward, backward, backward of inputs and of weights alone */

static inline uint64_t task_word(int32_t letter, int32_t stage, int64_t microbatch) {
    return (uint64_t)letter << 56 | (uint64_t)(stage & 0xffffff) << 32 | (uint32_t)microbatch;
}
static inline char task_letter(uint64_t task) {
    return (char)(task >> 56);
}
static inline int32_t task_stage(uint64_t task) {
    return (int32_t)(task >> 32 & 0xffffff);
}
static inline int32_t task_microbatch(uint64_t task) {
    return (int32_t)task;
}

/* ", in F of stage 3, microbatch 7", or nothing. Returns `text`. */
static inline const char *task_describe(uint64_t task, char text[TASK_TEXT_BYTES]) {
    text[0] = 0;
    if (task)
        snprintf(text, TASK_TEXT_BYTES, ", in %c of stage %d, microbatch %d", task_letter(task),
                 task_stage(task), task_microbatch(task));
    return text;
}
