/* What a file of training data holds. Its name says it (.u16, .u32), or --data-type; what neither
 * says is text, if its bytes can be text. A file that is something else is refused, with what it
 * looks like: whatever is read as bytes, trains. */
#pragma once
#include <stddef.h>
#include <stdint.h>

enum data_kind {
#define DATA_KIND(ID, word, width, said) DATA_##ID,
#include "runtime/host/data_kinds.def"
#undef DATA_KIND
    N_DATA_KINDS
};

/* Bytes of a token, and the kind in words. */
int data_kind_width(enum data_kind kind);
const char *data_kind_said(enum data_kind kind);

/* Of an open file, from its name, what `stated` says (null: nothing) and how it begins. 0, or -1
 * with one line in `message`. */
int data_kind_find(const char *path, int descriptor, const char *stated, int64_t vocab,
                   enum data_kind *kind, char *message, size_t message_bytes);
