// The judge: verdicts against outcomes, over mode tuples, random compositions and mutants.
//
//     judge [--full] [--folder DIR] [--processes N]   all cases, or a sample; prints the table
//     judge PART NUMBER                               one case, and what came out
//     judge PART NUMBER text                          what the case is about
//
// In a folder every result is a line of a file as soon as it is known, so that a run which was cut
// goes on from there; the name holds the checksum of this program, so that no result outlives what
// it is about. A sample always begins anew. A case that ends its process counts as stuck.
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "ir/check.h"
#include "tests/oracle/cases.h"
#include "tests/oracle/table.h"

enum { SECONDS_OF_A_CASE = 300, MAX_PROCESSES = 16 };

struct range { // of the chunks of a part that are done: every `stride`-th
    uint32_t end, stride, chunk_size;
};
struct job {
    bool full;
    const char *folder;
    unsigned processes;
    struct range ranges[N_PARTS];
};

// How much of each part: all tuples, 3,000 compositions, programs enough for 5,000 mutants; of the
// sample some of each chunk only.
static void choose_ranges(struct job *job) {
    static const struct range full[N_PARTS] = {[PART_TUPLES] = {50, 1, 25},
                                               [PART_COMPOSITIONS] = {252, 1, 12},
                                               [PART_MUTANTS] = {200, 1, 34}};
    static const struct range sample[N_PARTS] = {[PART_TUPLES] = {50, 5, 2},
                                                 [PART_COMPOSITIONS] = {252, 25, 2},
                                                 [PART_MUTANTS] = {12, 1, 34}};
    memcpy(job->ranges, job->full ? full : sample, sizeof job->ranges);
}

// ---- results ----------------------------------------------------------------------------------

static uint64_t own_checksum(void) { // Fowler, Noll, Vo
    uint64_t sum = UINT64_C(0xcbf29ce484222325);
    FILE *file = fopen("/proc/self/exe", "rb");
    CHECK(file);
    for (int byte; (byte = getc(file)) != EOF;)
        sum = (sum ^ (unsigned)byte) * UINT64_C(0x100000001b3);
    fclose(file);
    return sum;
}

static const char *file_of(struct arena *arena, const struct job *job, unsigned process) {
    return arena_format(arena, "%s/judge-%016llx-%c%u.txt", job->folder,
                        (unsigned long long)own_checksum(), job->full ? 'f' : 's', process);
}

static void write_result(FILE *to, const struct result *r, double seconds) {
    fprintf(to, "done %d %u %d %d %d %d %.3f %s|%s\n", (int)r->part, r->number, (int)r->judgement,
            r->outcome, r->mutation, (int)r->place, seconds, *r->code ? r->code : "-", r->text);
    fflush(to);
}

static bool read_result(const char *line, struct result *r, double *seconds) {
    int part, judgement, place, at = 0;
    *r = (struct result){0};
    if (sscanf(line, "done %d %u %d %d %d %d %lf %7[^|]|%n", &part, &r->number, &judgement,
               &r->outcome, &r->mutation, &place, seconds, r->code, &at) < 8 ||
        at == 0 || !strchr(line, '\n'))
        return false;
    r->part = (enum part)part;
    r->judgement = (enum judgement_kind)judgement;
    r->place = (enum place)place;
    snprintf(r->text, sizeof r->text, "%.*s", (int)strcspn(line + at, "\n"), line + at);
    return true;
}

// Tells of every result in a process's file, and of the case that was begun last and not done.
struct begun {
    int part;
    unsigned number;
    bool open;
};
static struct begun read_file(const char *path, void (*tell)(void *, const struct result *, double),
                              void *data) {
    struct begun begun = {.open = false};
    char line[1024];
    FILE *file = fopen(path, "r");
    while (file && fgets(line, sizeof line, file)) {
        struct result result;
        double seconds;
        if (sscanf(line, "begin %d %u", &begun.part, &begun.number) == 2 && strchr(line, '\n'))
            begun.open = true;
        else if (read_result(line, &result, &seconds)) {
            tell(data, &result, seconds);
            begun.open = false;
        }
    }
    if (file)
        fclose(file);
    return begun;
}

// ---- one process ------------------------------------------------------------------------------

struct progress {
    bool *done[N_PARTS];
    uint32_t room[N_PARTS];
};

static void mark_done(void *data, const struct result *result, double seconds) {
    struct progress *progress = data;
    if (result->number < progress->room[result->part])
        progress->done[result->part][result->number] = true;
}

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static void work_on(struct cases *cases, struct progress *progress, FILE *to, enum part part,
                    uint32_t number) {
    if (progress->done[part][number])
        return;
    fprintf(to, "begin %d %u\n", (int)part, number);
    fflush(to);
    double start = now();
    alarm(SECONDS_OF_A_CASE);
    struct result result = case_run(cases, part, number);
    alarm(0);
    write_result(to, &result, now() - start);
}

static void work(const struct job *job, unsigned process, const char *path) {
    struct progress progress = {.room = {0}};
    struct cases *cases = cases_new();
    for (int part = 0; part < N_PARTS; part++) {
        progress.room[part] = job->ranges[part].end * part_chunk(part);
        progress.done[part] = calloc(progress.room[part] + 1, 1);
        CHECK(progress.done[part]);
    }
    read_file(path, mark_done, &progress);
    FILE *to = fopen(path, "a");
    CHECK(to);
    for (int part = 0; part < N_PARTS; part++) {
        const struct range *range = &job->ranges[part];
        for (uint32_t chunk = 0, turn = 0; chunk < range->end; chunk += range->stride, turn++)
            for (uint32_t i = 0; turn % job->processes == process && i < range->chunk_size; i++)
                work_on(cases, &progress, to, part, chunk * part_chunk(part) + i);
    }
    fclose(to);
    for (int part = 0; part < N_PARTS; part++)
        free(progress.done[part]);
    cases_free(cases);
}

static void tell_nobody(void *data, const struct result *result, double seconds) {
}

// A process that a case has ended: the case is stuck, and the next process goes on behind it.
static bool note_end(const char *path, int status) {
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return true;
    struct begun begun = read_file(path, tell_nobody, NULL);
    if (!begun.open)
        return true;
    struct result result = {.part = (enum part)begun.part,
                            .number = begun.number,
                            .judgement = JUDGED_ACCEPTED, // so that it is looked at
                            .outcome = OUTCOME_STUCK};
    snprintf(result.text, sizeof result.text, "the case ended its process, status %#x", status);
    FILE *to = fopen(path, "a");
    CHECK(to);
    write_result(to, &result, 0);
    fclose(to);
    return false;
}

static void supervise(const struct job *job, unsigned process) {
    struct arena arena = {0};
    const char *path = file_of(&arena, job, process);
    if (!job->full)
        remove(path);
    for (bool finished = false; !finished;) {
        fflush(NULL);
        pid_t child = fork();
        CHECK(child >= 0);
        if (child == 0) {
            work(job, process, path);
            _exit(0);
        }
        int status;
        CHECK(waitpid(child, &status, 0) == child);
        finished = note_end(path, status);
    }
    arena_free(&arena);
}

// ---- all of them ------------------------------------------------------------------------------

struct summary {
    struct table *table;
    double seconds;
    unsigned n;
};

static void add_result(void *data, const struct result *result, double seconds) {
    struct summary *summary = data;
    table_add(summary->table, result);
    summary->seconds += seconds;
    summary->n++;
}

static bool print_table(const struct job *job, double wall) {
    struct arena arena = {0};
    struct summary summary = {.table = table_new()};
    for (unsigned process = 0; process < job->processes; process++)
        read_file(file_of(&arena, job, process), add_result, &summary);
    bool good = table_print(summary.table, stdout);
    printf("\n%u cases, %.0f s of work in %u processes; this run took %.0f s\n", summary.n,
           summary.seconds, job->processes, wall);
    table_free(summary.table);
    arena_free(&arena);
    return good;
}

static bool run_job(const struct job *job) {
    pid_t children[MAX_PROCESSES];
    double start = now();
    CHECK(mkdir(job->folder, 0777) == 0 || errno == EEXIST);
    for (unsigned process = 0; process < job->processes; process++) {
        fflush(NULL);
        children[process] = fork();
        CHECK(children[process] >= 0);
        if (children[process] == 0) {
            supervise(job, process);
            _exit(0);
        }
    }
    for (unsigned process = 0; process < job->processes; process++)
        CHECK(waitpid(children[process], NULL, 0) == children[process]);
    return print_table(job, now() - start);
}

// ---- the command ------------------------------------------------------------------------------

static int usage(void) {
    fprintf(stderr, "usage: judge [--full] [--only PART] [--folder DIR] [--processes N]\n"
                    "       judge tuples|compositions|mutants NUMBER [text]\n");
    return 2;
}

static int part_named(const char *name) {
    for (int part = 0; part < N_PARTS; part++)
        if (strcmp(part_names[part], name) == 0)
            return part;
    return -1;
}

static int run_one(enum part part, uint32_t number, bool text) {
    if (text) {
        case_print(part, number);
        return 0;
    }
    struct cases *cases = cases_new();
    struct result result = case_run(cases, part, number);
    write_result(stdout, &result, 0);
    cases_free(cases);
    return 0;
}

int main(int n, char **arguments) {
    struct job job = {.folder = "judge", .processes = 1};
    int only = N_PARTS;
    if (n >= 3 && part_named(arguments[1]) >= 0)
        return run_one((enum part)part_named(arguments[1]),
                       (uint32_t)strtoul(arguments[2], NULL, 10), n > 3);
    for (int i = 1; i < n; i++) {
        if (strcmp(arguments[i], "--full") == 0)
            job.full = true;
        else if (strcmp(arguments[i], "--only") == 0 && i + 1 < n)
            only = part_named(arguments[++i]);
        else if (strcmp(arguments[i], "--folder") == 0 && i + 1 < n)
            job.folder = arguments[++i];
        else if (strcmp(arguments[i], "--processes") == 0 && i + 1 < n)
            job.processes = (unsigned)strtoul(arguments[++i], NULL, 10);
        else
            return usage();
    }
    if (job.processes < 1 || job.processes > MAX_PROCESSES || only < 0)
        return usage();
    choose_ranges(&job);
    for (int part = 0; part < N_PARTS; part++)
        if (only != N_PARTS && part != only)
            job.ranges[part].end = 0;
    return run_job(&job) ? 0 : 1;
}
