// Objects that were compiled before, by a key: the hash of what they are made from, which is the
// module's text before optimisation, the machine, and the versions of LLVM and of what stands here.
// A directory of files, named by their keys.
//
// An object is code that will run, so one is believed only if nobody else can have put it there:
// directory and file belong to this user, no one else may write them, and no link leads to the
// file. Inside a file are its key, so that one object under another's name is as good as none, and
// the hash of all, so that a damaged one is. Whatever goes wrong here is silent: the object is
// compiled.
#include "backend/compile.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <llvm-c/blake3.h>

#include "backend/file.h"
#include "runtime/place.h"

enum {
    LIMIT_BYTES = 128 << 20, // of all objects; some hundred programs
    FORMAT = 2,              // of a file: part of the key, so that no version finds another's
    KEY_DIGITS = 2 * CACHE_KEY_BYTES,
    RANDOM_DIGITS = 16,
};
_Static_assert(CACHE_KEY_BYTES == LLVM_BLAKE3_OUT_LEN, "a key is a hash");

// What stands before the object in a file.
struct seal {
    unsigned char hash[LLVM_BLAKE3_OUT_LEN]; // of all behind it
    struct cache_key key;
};

// ---- keys -------------------------------------------------------------------------------------

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
struct cache_key cache_key_of(LLVMTargetMachineRef machine, struct effort effort,
                              LLVMModuleRef module) {
    unsigned version[] = {FORMAT, PLACE_ABI_VERSION, 0, 0, 0};
    struct cache_key key;
    llvm_blake3_hasher hasher;
    LLVMGetVersion(&version[2], &version[3], &version[4]);
    llvm_blake3_hasher_init(&hasher);
    llvm_blake3_hasher_update(&hasher, version, sizeof version);
    hash_string(&hasher, effort.passes);
    llvm_blake3_hasher_update(&hasher, &effort.code, sizeof effort.code);
    hash_message(&hasher, LLVMGetTargetMachineCPU(machine));
    hash_message(&hasher, LLVMGetTargetMachineFeatureString(machine));
    hash_message(&hasher, LLVMPrintModuleToString(module));
    llvm_blake3_hasher_finalize(&hasher, key.bytes, sizeof key.bytes);
    return key;
}

static const char suffix[] = ".o";
struct file_name {
    char text[KEY_DIGITS + sizeof suffix + 1 + RANDOM_DIGITS];
};

static struct file_name name_of(const struct cache_key *key) {
    struct file_name name;
    for (int i = 0; i < CACHE_KEY_BYTES; i++)
        snprintf(name.text + 2 * i, 3, "%02x", key->bytes[i]);
    strcpy(name.text + KEY_DIGITS, suffix);
    return name;
}

// Whether a file has the name of an object, or of one that was never finished: its directory may
// hold what is not ours.
static bool is_object(const char *name) {
    static const char digits[] = "0123456789abcdef";
    if (strspn(name, digits) != KEY_DIGITS || strncmp(name + KEY_DIGITS, suffix, strlen(suffix)))
        return false;
    const char *rest = name + KEY_DIGITS + strlen(suffix);
    return !*rest ||
           (*rest == '.' && strspn(rest + 1, digits) == RANDOM_DIGITS && !rest[1 + RANDOM_DIGITS]);
}

// ---- the directory ----------------------------------------------------------------------------

// Directories are made down from the last one that exists.
static void make_directory(const char *path) {
    char *copy = strdup(path);
    for (char *c = copy + 1; copy && *copy && *c; c++)
        if (*c == '/') {
            *c = 0;
            mkdir(copy, S_IRWXU);
            *c = '/';
        }
    mkdir(path, S_IRWXU);
    free(copy);
}

int cache_open(const char *path) {
    struct stat status;
    if (!path)
        return -1;
    make_directory(path);
    int directory = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (directory < 0 || (fstat(directory, &status) == 0 && is_only_ours(&status)))
        return directory;
    close(directory);
    return -1;
}

// ---- reading and writing ----------------------------------------------------------------------

static void hash_sealed(const struct seal *file, size_t size, unsigned char *hash) {
    llvm_blake3_hasher hasher;
    llvm_blake3_hasher_init(&hasher);
    llvm_blake3_hasher_update(&hasher, (const char *)file + sizeof file->hash,
                              size - sizeof file->hash);
    llvm_blake3_hasher_finalize(&hasher, hash, sizeof file->hash);
}

static bool read_all(int file, char *bytes, size_t size) {
    while (size > 0) {
        ssize_t n = read(file, bytes, size);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        bytes += n;
        size -= (size_t)n;
    }
    return true;
}

// The whole file, if it may be believed; to be freed.
static struct seal *read_trusted(int file, size_t *size) {
    struct stat status;
    if (fstat(file, &status) != 0 || !S_ISREG(status.st_mode) || !is_only_ours(&status) ||
        status.st_size <= (off_t)sizeof(struct seal) || status.st_size > LIMIT_BYTES)
        return NULL;
    *size = (size_t)status.st_size;
    struct seal *bytes = malloc(*size);
    if (bytes && read_all(file, (char *)bytes, *size))
        return bytes;
    free(bytes);
    return NULL;
}

static bool seal_holds(const struct seal *file, size_t size, const struct cache_key *key) {
    unsigned char hash[sizeof file->hash];
    hash_sealed(file, size, hash);
    return memcmp(hash, file->hash, sizeof hash) == 0 && memcmp(key, &file->key, sizeof *key) == 0;
}

LLVMMemoryBufferRef cache_find(int directory, const struct cache_key *key) {
    struct file_name name = name_of(key);
    LLVMMemoryBufferRef object = NULL;
    size_t size;
    int file = openat(directory, name.text, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    struct seal *bytes = file >= 0 ? read_trusted(file, &size) : NULL;
    if (bytes && seal_holds(bytes, size, key))
        object = LLVMCreateMemoryBufferWithMemoryRangeCopy((const char *)(bytes + 1),
                                                           size - sizeof *bytes, name.text);
    if (object)
        futimens(file, NULL); // used: the last to be thrown away
    free(bytes);
    if (file >= 0)
        close(file);
    return object;
}

// Under a new name, then renamed.
static void write_object(int directory, const char *name, const void *bytes, size_t size) {
    struct file_name temporary;
    uint64_t random;
    if (getrandom(&random, sizeof random, 0) != sizeof random)
        return;
    snprintf(temporary.text, sizeof temporary.text, "%.*s.%016" PRIx64,
             KEY_DIGITS + (int)sizeof suffix - 1, name, random);
    int file = openat(directory, temporary.text,
                      O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, S_IRUSR | S_IWUSR);
    if (file < 0)
        return;
    if (!fill_file(file, bytes, size) || renameat(directory, temporary.text, directory, name) != 0)
        unlinkat(directory, temporary.text, 0);
}

// Two processes that store the same object both write it whole; the last one stays.
void cache_store(struct arena *arena, int directory, const struct cache_key *key,
                 LLVMMemoryBufferRef object) {
    size_t size = sizeof(struct seal) + LLVMGetBufferSize(object);
    struct seal *bytes = arena_alloc(arena, size);
    bytes->key = *key;
    memcpy(bytes + 1, LLVMGetBufferStart(object), LLVMGetBufferSize(object));
    hash_sealed(bytes, size, bytes->hash);
    sigset_t before;
    signals_hold(&before);
    write_object(directory, name_of(key).text, bytes, size);
    signals_release(&before);
}

// ---- keeping it small -------------------------------------------------------------------------

struct entry {
    const char *name;
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

// When the limit is passed, the objects that were not used for longest go, down to half of it. The
// directory is one that the user may have named, so nothing else goes.
void cache_trim(struct arena *arena, int directory) {
    int own = openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC); // closedir closes it
    DIR *files = own < 0 ? NULL : fdopendir(own);
    struct entry *entries = NULL;
    size_t n = 0, capacity = 0;
    int64_t bytes = 0;
    for (struct dirent *file; files && (file = readdir(files));) {
        struct stat status;
        if (!is_object(file->d_name) ||
            fstatat(directory, file->d_name, &status, AT_SYMLINK_NOFOLLOW) != 0 ||
            !S_ISREG(status.st_mode))
            continue;
        bytes += status.st_size;
        const char *name = arena_format(arena, "%s", file->d_name);
        ARENA_PUSH(arena, entries, n, capacity,
                   (struct entry){name, status.st_mtim, status.st_size});
    }
    if (files)
        closedir(files);
    if (bytes <= LIMIT_BYTES)
        return;
    qsort(entries, n, sizeof *entries, by_age);
    for (size_t i = 0; i < n && bytes > LIMIT_BYTES / 2; i++)
        if (unlinkat(directory, entries[i].name, 0) == 0)
            bytes -= entries[i].bytes;
}
