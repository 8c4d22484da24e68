// Writing into files that may be there: under another name, then renamed (runtime/host/file.h).
#include "driver/overwrite.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "driver/native.h"
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

static bool is_text_of_program(struct compilation *c, const struct stat *status) {
    const char *const *texts = native_texts(c);
    struct stat text;
    for (int i = 0; texts[i]; i++)
        if (stat(texts[i], &text) == 0 && text.st_dev == status->st_dev &&
            text.st_ino == status->st_ino)
            return true;
    return false;
}

// What is made takes its name by a rename, which would put a file in the place of a device, of what
// the program was read from (its own text, an import, a config.json), or of anybody's work.
bool can_take_name(struct compilation *c, const char *path, const struct output_kind *kind) {
    struct stat status;
    if (stat(path, &status) != 0)
        return true;
    const char *taken = S_ISDIR(status.st_mode)          ? "it is a folder"
                        : !S_ISREG(status.st_mode)       ? "it is not a regular file"
                        : is_text_of_program(c, &status) ? "it is part of the program that is built"
                        : status.st_size > 0 && !kind->is_like(path, kind->form)
                            ? arena_format(&c->arena, "it is there and is not %s", kind->name)
                            : NULL;
    if (taken)
        fprintf(stderr, "placec: cannot write `%s`: %s\n  give %s the name of a file of its own\n",
                path, taken, kind->option);
    return !taken;
}
