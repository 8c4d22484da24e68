// Fuzzes the text form of programs: any bytes are refused with a message inside the text, or read
// to a job that keeps its structural invariants and prints to a text that reads back the same.
#include <stdio.h>

#include "ir/ir.h"
#include "tests/fuzz.h"

// The printed text, owned by the caller; NULL if it was refused.
static char *canonical(const char *text, size_t length) {
    struct arena arena = {0};
    struct text_error error = {0};
    struct job *job = job_parse(&arena, text, length, 0, &error);
    char *printed = NULL;
    if (job) {
        CHECK(!job_check(job, &arena, NULL));
        size_t printed_length;
        FILE *out = open_memstream(&printed, &printed_length);
        job_print(job, out, NULL);
        fclose(out);
    } else {
        // One byte wide at least, so a caret behind the last byte is inside.
        CHECK(error.message && error.span.begin < error.span.end && error.span.end <= length + 1);
    }
    arena_free(&arena);
    return printed;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    return hold_canonical(canonical, data, size);
}
