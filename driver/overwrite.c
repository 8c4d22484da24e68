// Writing into the user's file: under another name, then renamed (runtime/host/file.h).
#include "driver/overwrite.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "driver/options.h"
#include "runtime/host/file.h"

int overwrite(const char *path, const char *text, size_t length) {
    struct new_file file;
    bool open = new_file_open(&file, path) == 0;
    if (open && new_file_write(&file, text, length) == 0 && new_file_commit(&file) == 0)
        return STATUS_OK;
    fprintf(stderr, "placec: %s cannot be written: %s\n  it is as it was\n", path, strerror(errno));
    if (open)
        new_file_discard(&file);
    return STATUS_REFUSED;
}
