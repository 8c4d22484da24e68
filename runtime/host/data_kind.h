/* What a file of training data holds. A header says it (NumPy's, llm.c's), its name (.u16, .u32,
 * .npy), or --data-type; what none says is text, if its bytes can be text. A file that is something
 * else is refused, with what it looks like: whatever is read as bytes, trains. */
#pragma once
#include <stddef.h>
#include <stdint.h>

enum data_kind {
#define DATA_KIND(ID, word, ending, width, read, said) DATA_##ID,
#include "runtime/host/data_kinds.def"
#undef DATA_KIND
    N_DATA_KINDS
};

/* How tokens lie in a file. */
struct data_content {
    enum data_kind kind;
    int width;            /* bytes of a token */
    int64_t begin, bytes; /* of all tokens; what is before them is no token */
};

/* The kind in words, with the bytes of a token. */
char *data_kind_said(char *to, size_t bytes, enum data_kind kind, int width);

/* Finds what an open file of so many bytes holds, from its name, what `stated` says (null: nothing)
 * and how it begins. 0, or -1 with one line in `message`. */
int data_kind_find(const char *path, int descriptor, int64_t file_bytes, const char *stated,
                   int64_t vocab, struct data_content *content, char *message,
                   size_t message_bytes);
