/* Headers that say how the tokens of a file lie: NumPy's and llm.c's. Whatever stands in one is
 * looked at before it is believed. */
#pragma once
#include <stddef.h>
#include <stdint.h>

/* NumPy itself reads no longer dictionary without being told to. */
enum { DATA_HEADER_BYTES = 12 + 10000 };

struct data_header {
    int width;      /* bytes of a token */
    int64_t begin;  /* bytes before the first */
    int64_t tokens; /* as many as the header says; who opens the file holds it against its bytes */
};

/* What a reader makes of a header it does not take. */
struct data_header_refusal {
    char what[256];     /* "its numbers are '<i8'" */
    const char *remedy; /* with $F for the file's name */
};

/* Reads a header from the first `n` bytes of a file, all of them or at least DATA_HEADER_BYTES. 0,
 * or -1 with what is wrong. */
typedef int data_header_reader(const unsigned char *bytes, size_t n, struct data_header *header,
                               struct data_header_refusal *refusal);
data_header_reader npy_header_read, llmc_header_read;
