/* Names and patterns of files (see data_files.h). Patterns are for shards, as llm.c takes them; a
 * shell expands them to words of which an option takes the first. */
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "runtime/host/data_files.h"

static int add(struct data_files *files, const char *path, char *message, size_t message_bytes) {
    char **paths = realloc(files->paths, (size_t)(files->n + 1) * sizeof *paths);
    char *copy = strdup(path);
    if (paths)
        files->paths = paths;
    if (paths && copy) {
        paths[files->n++] = copy;
        return 0;
    }
    free(copy);
    snprintf(message, message_bytes, "%s: no memory for its name", path);
    return -1;
}

static int add_fitting(struct data_files *files, const char *pattern, char *message,
                       size_t message_bytes) {
    glob_t found = {0};
    int status = glob(pattern, 0, NULL, &found);
    if (status != 0)
        snprintf(message, message_bytes, "%s: %s; name files of text or tokens", pattern,
                 status == GLOB_NOMATCH ? "no file fits this pattern" : "cannot be looked for");
    for (size_t i = 0; i < found.gl_pathc && status == 0; i++)
        status = add(files, found.gl_pathv[i], message, message_bytes);
    globfree(&found);
    return status == 0 ? 0 : -1;
}

int data_files_find(struct data_files *files, const struct place_list *names, const char *option,
                    char *message, size_t message_bytes) {
    *files = (struct data_files){0};
    for (int32_t i = 0; i < names->n; i++) {
        const char *name = names->items[i];
        if (!*name) {
            snprintf(message, message_bytes, "%s names no file; give it a name, or leave it out",
                     option);
            return -1;
        }
        int is_pattern = strpbrk(name, "*?[") && access(name, F_OK) != 0;
        if ((is_pattern ? add_fitting : add)(files, name, message, message_bytes) != 0)
            return -1;
    }
    return 0;
}

void data_files_free(struct data_files *files) {
    for (int32_t i = 0; i < files->n; i++)
        free(files->paths[i]);
    free(files->paths);
    *files = (struct data_files){0};
}
