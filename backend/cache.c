// Objects that were compiled before, by the hash of what they are made from: the module's text
// before optimisation, the machine, and LLVM's version. A directory of files; a file is the hash of
// its content, then the content, so that a damaged one is as good as none. Whatever goes wrong here
// is silent: the object is compiled.
#include "backend/compile.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <llvm-c/blake3.h>

#include "runtime/place.h"

enum {
    HASH_BYTES = LLVM_BLAKE3_OUT_LEN,
    LIMIT_BYTES = 128 << 20, // of all objects; some hundred programs
};

// With its terminator, so that two strings are not one.
static void hash_string(llvm_blake3_hasher *hasher, const char *text) {
    llvm_blake3_hasher_update(hasher, text, strlen(text) + 1);
}

static void hash_message(llvm_blake3_hasher *hasher, char *message) {
    hash_string(hasher, message);
    LLVMDisposeMessage(message);
}

// The text before optimisation: making it is cheap, and passes are a function of it and the
// machine.
const char *cache_path(struct arena *arena, const char *directory, LLVMTargetMachineRef machine,
                       struct effort effort, LLVMModuleRef module) {
    unsigned version[4] = {PLACE_ABI_VERSION};
    unsigned char hash[HASH_BYTES];
    char name[2 * HASH_BYTES + 1];
    llvm_blake3_hasher hasher;
    LLVMGetVersion(&version[1], &version[2], &version[3]);
    llvm_blake3_hasher_init(&hasher);
    llvm_blake3_hasher_update(&hasher, version, sizeof version);
    hash_string(&hasher, effort.passes);
    llvm_blake3_hasher_update(&hasher, &effort.code, sizeof effort.code);
    hash_message(&hasher, LLVMGetTargetMachineCPU(machine));
    hash_message(&hasher, LLVMGetTargetMachineFeatureString(machine));
    hash_message(&hasher, LLVMPrintModuleToString(module));
    llvm_blake3_hasher_finalize(&hasher, hash, HASH_BYTES);
    for (int i = 0; i < HASH_BYTES; i++)
        snprintf(name + 2 * i, 3, "%02x", hash[i]);
    return arena_format(arena, "%s/%s.o", directory, name);
}

// ---- reading and writing ----------------------------------------------------------------------

static void hash_content(const char *bytes, size_t size, unsigned char hash[HASH_BYTES]) {
    llvm_blake3_hasher hasher;
    llvm_blake3_hasher_init(&hasher);
    llvm_blake3_hasher_update(&hasher, bytes, size);
    llvm_blake3_hasher_finalize(&hasher, hash, HASH_BYTES);
}

LLVMMemoryBufferRef cache_find(const char *path) {
    LLVMMemoryBufferRef file, object = NULL;
    char *message = NULL;
    if (LLVMCreateMemoryBufferWithContentsOfFile(path, &file, &message)) {
        LLVMDisposeMessage(message);
        return NULL;
    }
    const char *bytes = LLVMGetBufferStart(file);
    size_t size = LLVMGetBufferSize(file);
    unsigned char hash[HASH_BYTES];
    if (size > HASH_BYTES) {
        hash_content(bytes + HASH_BYTES, size - HASH_BYTES, hash);
        if (memcmp(hash, bytes, HASH_BYTES) == 0)
            object = LLVMCreateMemoryBufferWithMemoryRangeCopy(bytes + HASH_BYTES,
                                                               size - HASH_BYTES, path);
    }
    LLVMDisposeMemoryBuffer(file);
    if (object)
        utimensat(AT_FDCWD, path, NULL, 0); // used: the last to be thrown away
    return object;
}

// Directories are made down from the last one that exists.
static void make_directory(const char *path) {
    char *copy = strdup(path);
    for (char *c = copy + 1; copy && *c; c++)
        if (*c == '/') {
            *c = 0;
            mkdir(copy, 0777);
            *c = '/';
        }
    mkdir(path, 0777);
    free(copy);
}

// Two processes that store the same object both write it whole; the last one stays.
void cache_store(struct arena *arena, const char *directory, const char *path,
                 LLVMMemoryBufferRef object) {
    size_t size = LLVMGetBufferSize(object);
    const char *why;
    char *bytes = arena_alloc(arena, size + HASH_BYTES);
    memcpy(bytes + HASH_BYTES, LLVMGetBufferStart(object), size);
    hash_content(bytes + HASH_BYTES, size, (unsigned char *)bytes);
    make_directory(directory);
    backend_write_file(arena, path, bytes, size + HASH_BYTES, &why);
}

// ---- keeping it small -------------------------------------------------------------------------

struct entry {
    const char *path;
    struct timespec used;
    int64_t bytes;
};

static int by_age(const void *a, const void *b) {
    const struct timespec *x = &((const struct entry *)a)->used;
    const struct timespec *y = &((const struct entry *)b)->used;
    if (x->tv_sec != y->tv_sec)
        return x->tv_sec < y->tv_sec ? -1 : 1;
    return (x->tv_nsec > y->tv_nsec) - (x->tv_nsec < y->tv_nsec);
}

// When the limit is passed, the objects that were not used for longest go, down to half of it.
void cache_trim(struct arena *arena, const char *directory) {
    DIR *files = opendir(directory);
    struct entry *entries = NULL;
    size_t n = 0, capacity = 0;
    int64_t bytes = 0;
    for (struct dirent *file; files && (file = readdir(files));) {
        struct stat status;
        const char *path = arena_format(arena, "%s/%s", directory, file->d_name);
        if (stat(path, &status) != 0 || !S_ISREG(status.st_mode))
            continue;
        bytes += status.st_size;
        ARENA_PUSH(arena, entries, n, capacity,
                   (struct entry){path, status.st_mtim, status.st_size});
    }
    if (files)
        closedir(files);
    if (bytes <= LIMIT_BYTES)
        return;
    qsort(entries, n, sizeof *entries, by_age);
    for (size_t i = 0; i < n && bytes > LIMIT_BYTES / 2; i++)
        if (unlink(entries[i].path) == 0)
            bytes -= entries[i].bytes;
}
