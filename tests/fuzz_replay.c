// The main function of a fuzz target that is built without libFuzzer: gives it every file of the
// folders and files named on the command line, once. What fuzzing found is so tested by any
// compiler, in every build.
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int replay_file(const char *path) {
    FILE *file = fopen(path, "rb");
    if (!file) {
        perror(path);
        return 1;
    }
    size_t size = 0, capacity = 1 << 16;
    uint8_t *data = malloc(capacity);
    for (size_t got; data && (got = fread(data + size, 1, capacity - size, file)) > 0;) {
        size += got;
        if (size == capacity)
            data = realloc(data, capacity *= 2);
    }
    fclose(file);
    if (!data)
        return 1;
    LLVMFuzzerTestOneInput(data, size);
    free(data);
    return 0;
}

static int replay(const char *path) {
    struct stat status;
    if (stat(path, &status) != 0) {
        perror(path);
        return 1;
    }
    if (!S_ISDIR(status.st_mode))
        return replay_file(path);
    DIR *folder = opendir(path);
    if (!folder) {
        perror(path);
        return 1;
    }
    int failed = 0;
    for (struct dirent *entry; (entry = readdir(folder));) {
        if (entry->d_name[0] == '.')
            continue;
        char inner[4096];
        snprintf(inner, sizeof inner, "%s/%s", path, entry->d_name);
        failed |= replay(inner);
    }
    closedir(folder);
    return failed;
}

int main(int argc, char **argv) {
    int failed = 0;
    for (int i = 1; i < argc; i++)
        failed |= replay(argv[i]);
    return failed;
}
