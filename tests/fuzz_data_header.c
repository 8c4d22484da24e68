/* Fuzzes the headers of files of tokens: any bytes are refused with what is wrong and what to do,
 * or say how tokens lie that a file of so many bytes could have. */
#include <stdlib.h>
#include <string.h>
#include "runtime/host/data_header.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(int holds) {
    if (!holds)
        abort();
}

static void read_with(data_header_reader *read, const uint8_t *data, size_t size) {
    struct data_header header;
    struct data_header_refusal refusal = {"", NULL};
    if (read(data, size, &header, &refusal) != 0) {
        check(*refusal.what && refusal.remedy);
        for (const char *at = refusal.what; *at; at++) /* nothing that a terminal obeys */
            check(*at >= ' ' && *at <= '~');
        return;
    }
    check(header.begin > 0 && (size_t)header.begin <= size && header.tokens >= 0);
    check(header.width == 1 || header.width == 2 || header.width == 4 || header.width == 8);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    uint8_t *copy = malloc(size + !size); /* so that a byte behind it is found */
    check(copy != NULL);
    memcpy(copy, data, size);
    read_with(npy_header_read, copy, size);
    read_with(llmc_header_read, copy, size);
    free(copy);
    return 0;
}
