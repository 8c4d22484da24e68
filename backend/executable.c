// `build`: the object, the descriptor as a C file and the runtime's static library, linked by the
// system's cc. Everything is made in a new directory beside the target, so that the last step is a
// rename within one file system and a failure leaves nothing behind.
#define _GNU_SOURCE // memfd_create
#include "backend/backend.h"
#include "backend/file.h"
#include "backend/installation.h"
#include "runtime/host/file.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

// Where the files of one build are until the executable is moved out.
struct workshop {
    char directory[FILE_PATH_BYTES];
    int lock;                    // held while the directory is in use
    const char *target;          // where the user wants the executable
    char place[FILE_PATH_BYTES]; // and where that is, through links
    bool replaces;               // what `old` says
    struct stat old;
    const char *object, *descriptor, *executable;
    int messages; // what cc says, in memory: a full disk is one of the things it tells of
};

// Writes the file inside the workshop, so that the name is free.
static bool write_new(struct arena *arena, const struct workshop *w, const char *path,
                      const void *bytes, size_t size, const char **why) {
    int file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fill_file(file, bytes, size))
        return true;
    *why = system_error(arena, w->target);
    return false;
}

// ---- linking ----------------------------------------------------------------------------------

static bool workshop_open(struct arena *arena, struct workshop *w, const char *path,
                          const char **why) {
    w->lock = -1;
    if (new_file_place(path, w->place, &w->replaces, &w->old) == 0) {
        // cc would take a name that begins with `-` for an option.
        const char *beside = arena_format(arena, "%s%s", *w->place == '-' ? "./" : "", w->place);
        w->lock = part_open(beside, PART_FOLDER, 0700, w->directory);
    }
    if (w->lock < 0) {
        *why = system_error(arena, path);
        return false;
    }
    w->object = arena_format(arena, "%s/program.o", w->directory);
    w->descriptor = arena_format(arena, "%s/descriptor.c", w->directory);
    w->executable = arena_format(arena, "%s/executable", w->directory);
    w->target = path;
    w->messages = memfd_create("messages", MFD_CLOEXEC);
    return true;
}

static void workshop_close(struct workshop *w) {
    part_folder_remove(AT_FDCWD, w->directory);
    close(w->lock);
    close(w->messages);
}

static bool sets(const char *variable, const char *name) {
    size_t length = strlen(name);
    return strncmp(variable, name, length) == 0 && variable[length] == '=';
}

// The environment, with messages in the language in which `link_failure` reads them, and with cc's
// own files in the workshop: they go with it, and a disk that is full is the one that is named.
static char **environment_of_cc(struct arena *arena, const struct workshop *w) {
    size_t n = 0, kept = 0;
    while (environ[n])
        n++;
    char **all = arena_alloc(arena, (n + 3) * sizeof *all);
    for (size_t i = 0; i < n; i++)
        if (!sets(environ[i], "LC_ALL") && !sets(environ[i], "TMPDIR"))
            all[kept++] = environ[i];
    all[kept++] = "LC_ALL=C";
    all[kept++] = arena_format(arena, "TMPDIR=%s", w->directory);
    all[kept] = NULL;
    return all;
}

// Runs a command with its messages going to an open file; Ctrl-C ends it even where we hold it off.
// Its exit status; -1 with errno: not run.
static int run(struct arena *arena, char *const *command, const struct workshop *w,
               const sigset_t *mask) {
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, w->messages, 1);
    posix_spawn_file_actions_adddup2(&actions, w->messages, 2);
    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
    posix_spawnattr_setsigmask(&attributes, mask);
    pid_t child;
    int status, error = posix_spawnp(&child, command[0], &actions, &attributes, command,
                                     environment_of_cc(arena, w));
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    if (error) {
        errno = error;
        return -1;
    }
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR)
            return -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

// The first lines of what cc said.
static const char *first_lines(struct arena *arena, int messages) {
    enum { BYTES = 600 };
    char *text = arena_alloc(arena, BYTES + 1);
    ssize_t length = pread(messages, text, BYTES, 0);
    while (length > 0 && text[length - 1] == '\n')
        length--;
    text[length > 0 ? length : 0] = 0;
    return text;
}

// A disk that is full is the user's to mend, whoever found it so.
static const char *link_failure(struct arena *arena, const struct workshop *w, const char *said) {
    if (!strstr(said, strerror(ENOSPC)))
        return arena_format(arena, "`cc` could not link the executable: %s", said);
    errno = ENOSPC;
    return system_error(arena, w->target);
}

// No flag says which libraries the runtime loads later (products, MPI): it finds them when it runs.
static bool link_executable(struct arena *arena, const struct workshop *w, const sigset_t *mask,
                            const char **why) {
    const char *library = library_directory(arena);
    char *command[] = {"cc",
                       "-O1",
                       "-fPIE",
                       "-fstack-protector-strong",
                       "-pie",
                       "-Wl,-z,relro,-z,now",
                       "-I",
                       arena_format(arena, "%s/../include", library),
                       "-o",
                       (char *)w->executable,
                       (char *)w->descriptor,
                       (char *)w->object,
                       arena_format(arena, "%s/libplace_runtime.a", library),
                       "-lpthread",
                       "-ldl",
                       "-lm",
#ifdef PLACE_INSTRUMENTED // the runtime was built with a sanitizer, which must be linked too
                       PLACE_INSTRUMENTED,
#endif
                       NULL};
    int status = run(arena, command, w, mask);
    if (status < 0 && errno == ENOENT)
        *why = "`cc` is not installed, which links executables; install gcc or clang, or take the "
               "object with --emit=obj";
    else if (status != 0)
        *why =
            link_failure(arena, w, status < 0 ? strerror(errno) : first_lines(arena, w->messages));
    return status == 0;
}

// The two things that are particular to a program, made before there is a file.
struct parts {
    char *object, *descriptor;
    size_t object_bytes, descriptor_bytes;
};

static bool make_parts(struct arena *arena, const struct backend *backend, const struct job *job,
                       const struct place_program *descriptor,
                       const struct backend_options *options, struct parts *parts,
                       const char **why) {
    parts->object =
        backend_generate(backend, arena, job, options, BACKEND_OBJECT, &parts->object_bytes, why);
    if (!parts->object)
        return false;
    char *text;
    FILE *to = memory_given(open_memstream(&text, &parts->descriptor_bytes));
    descriptor_print(descriptor, job, backend_level(options, why), to);
    memory_written(to);
    parts->descriptor = arena_string(arena, text, parts->descriptor_bytes);
    free(text);
    return true;
}

// Like what it replaces, but that whoever may read it may execute it.
static bool give_name(const struct workshop *w) {
    struct stat old = w->old;
    int file = w->replaces ? open(w->executable, O_RDONLY | O_CLOEXEC) : -1;
    old.st_mode |= (old.st_mode & (S_IRUSR | S_IRGRP | S_IROTH)) >> 2;
    if (file >= 0) {
        file_take_after(file, &old);
        close(file);
    }
    return rename(w->executable, w->place) == 0;
}

static bool assemble(struct arena *arena, const struct parts *parts, const struct workshop *w,
                     const sigset_t *mask, const char **why) {
    if (!write_new(arena, w, w->object, parts->object, parts->object_bytes, why) ||
        !write_new(arena, w, w->descriptor, parts->descriptor, parts->descriptor_bytes, why) ||
        !link_executable(arena, w, mask, why))
        return false;
    if (give_name(w))
        return true;
    *why = system_error(arena, w->target);
    return false;
}

bool backend_build(const struct backend *backend, struct arena *arena, const struct job *job,
                   const struct place_program *descriptor, const struct backend_options *options,
                   const char *path, const char **why) {
    struct parts parts;
    struct workshop w;
    sigset_t before;
    if (!make_parts(arena, backend, job, descriptor, options, &parts, why))
        return false;
    signals_hold(&before);
    bool good = workshop_open(arena, &w, path, why);
    if (good) {
        good = assemble(arena, &parts, &w, &before, why);
        workshop_close(&w);
    }
    signals_release(&before);
    return good;
}
