// The judge: verdicts against outcomes, over mode tuples, random compositions and mutants.
//
//     judge [--full] [--only PART] [--folder DIR] [--processes N]
//                                 all cases, or a sample; prints the table
//     judge --count [--full] [--only PART]
//                                 what these have, without executing anything
//     judge PART NUMBER           one case, and what came out
//     judge PART NUMBER text      what the case is about
//
// In a folder every result is a line of a file as soon as it is known, so that a run which was cut
// goes on from there, with as many processes as are given then; the name holds the checksum of this
// program, so that no result outlives what it is about. A sample always begins anew. A case that
// ends its process counts as stuck.
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "ir/check.h"
#include "tests/oracle/cases.h"
#include "tests/oracle/table.h"
#include "tests/oracle/traits.h"

enum { SECONDS_OF_A_CASE = 300, MAX_PROCESSES = 16 };

struct case_name {
    enum part part;
    uint32_t number;
};

// What processes share: by the numbers that cases have in the judging.
struct progress {
    _Atomic uint32_t open[MAX_PROCESSES]; // what each works on, counted from 1; 0: nothing
    atomic_bool taken[];                  // what is done, or worked on
};

struct judging {
    bool full;
    const char *folder, *results; // a file in it
    unsigned processes;
    struct case_name *cases; // in the order of parts, then numbers
    uint32_t n_cases, room;
    struct progress *progress;
};

// How much of each part: all tuples, 3,000 compositions, 1,500 pipelines, 150 programs, each spoilt
// in every way twice, and in its precision in every way four times, and pipelines, each spoilt in
// every way of pipelines twice and in all others once; of the sample some of each chunk only.
struct range { // of chunks every `stride`-th
    uint32_t end, stride, chunk_size;
};
static const struct range full[N_PARTS] = {
    [PART_TUPLES] = {50, 1, 25},
    [PART_COMPOSITIONS] = {252, 1, 12},
    [PART_MUTANTS] = {150, 1, 2 * N_MUTATIONS},
    [PART_PIPELINES] = {125, 1, 12},
    [PART_PRECISION] = {150, 1, 4 * N_ROUNDINGS},
    [PART_PIPELINE_MUTANTS] = {45, 1, 2 * N_OF_PIPELINES + N_MUTATIONS}};
static const struct range sample[N_PARTS] = {[PART_TUPLES] = {50, 5, 2},
                                             [PART_COMPOSITIONS] = {252, 36, 2},
                                             [PART_MUTANTS] = {5, 1, 2 * N_MUTATIONS},
                                             [PART_PIPELINES] = {125, 25, 2},
                                             [PART_PRECISION] = {5, 1, 2 * N_ROUNDINGS},
                                             [PART_PIPELINE_MUTANTS] = {2, 1, 2 * N_OF_PIPELINES}};

static void add_cases(struct arena *arena, struct judging *judging, enum part part) {
    const struct range *range = judging->full ? &full[part] : &sample[part];
    for (uint32_t chunk = 0; chunk < range->end; chunk += range->stride)
        for (uint32_t i = 0; i < range->chunk_size; i++)
            ARENA_PUSH(arena, judging->cases, judging->n_cases, judging->room,
                       (struct case_name){part, chunk * part_chunk(part) + i});
}

static void share_progress(struct judging *judging) {
    size_t bytes =
        sizeof *judging->progress + judging->n_cases * sizeof judging->progress->taken[0];
    judging->progress =
        mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(judging->progress != MAP_FAILED);
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

static void name_results(struct arena *arena, struct judging *judging) {
    judging->results =
        arena_format(arena, "%s/judge-%016llx-%s.txt", judging->folder,
                     (unsigned long long)own_checksum(), judging->full ? "full" : "sample");
}

// In one write, so that the lines of several processes stand behind one another.
static void write_result(FILE *to, const struct result *r, double seconds) {
    fprintf(to, "done %d %u %d %d %d %d %u %.3f %s|%s\n", (int)r->part, r->number,
            (int)r->judgement, r->outcome, r->mutation, (int)r->place, r->traits, seconds,
            *r->code ? r->code : "-", r->text);
    fflush(to);
}

static bool read_result(const char *line, struct result *r, double *seconds) {
    int part, judgement, place, at = 0;
    *r = (struct result){0};
    if (sscanf(line, "done %d %u %d %d %d %d %u %lf %7[^|]|%n", &part, &r->number, &judgement,
               &r->outcome, &r->mutation, &place, &r->traits, seconds, r->code, &at) < 9 ||
        at == 0 || !strchr(line, '\n'))
        return false;
    r->part = (enum part)part;
    r->judgement = (enum judgement_kind)judgement;
    r->place = (enum place)place;
    snprintf(r->text, sizeof r->text, "%.*s", (int)strcspn(line + at, "\n"), line + at);
    return true;
}

static int by_name(const void *left, const void *right) {
    const struct case_name *a = left, *b = right;
    return a->part != b->part ? (int)a->part - (int)b->part
                              : (a->number > b->number) - (a->number < b->number);
}

// Tells of every result that belongs to one of the cases that are judged.
static void read_results(const struct judging *judging,
                         void (*tell)(void *, const struct case_name *, const struct result *,
                                      double),
                         void *data) {
    char line[1024];
    FILE *file = fopen(judging->results, "r");
    while (file && fgets(line, sizeof line, file)) {
        struct result result;
        double seconds;
        if (!read_result(line, &result, &seconds))
            continue;
        struct case_name name = {result.part, result.number};
        const struct case_name *found =
            bsearch(&name, judging->cases, judging->n_cases, sizeof name, by_name);
        if (found)
            tell(data, found, &result, seconds);
    }
    if (file)
        fclose(file);
}

static void mark_done(void *data, const struct case_name *name, const struct result *result,
                      double seconds) {
    const struct judging *judging = data;
    judging->progress->taken[name - judging->cases] = true;
}

// ---- one process ------------------------------------------------------------------------------

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static void work_on(struct cases *cases, FILE *to, struct case_name name) {
    double start = now();
    alarm(SECONDS_OF_A_CASE);
    struct result result = case_run(cases, name.part, name.number);
    alarm(0);
    write_result(to, &result, now() - start);
}

// Neighbours share work, so each process begins elsewhere; who is done with its own goes on with
// what the next one has not begun.
static void work(const struct judging *judging, unsigned process) {
    struct cases *cases = cases_new();
    FILE *to = fopen(judging->results, "a");
    CHECK(to);
    uint32_t first = (uint32_t)((uint64_t)judging->n_cases * process / judging->processes);
    for (uint32_t i = 0; i < judging->n_cases; i++) {
        uint32_t number = (first + i) % judging->n_cases;
        if (atomic_exchange(&judging->progress->taken[number], true))
            continue;
        judging->progress->open[process] = number + 1;
        work_on(cases, to, judging->cases[number]);
        judging->progress->open[process] = 0;
    }
    fclose(to);
    cases_free(cases);
}

// A process that a case has ended: the case is stuck, and the next process goes on behind it.
static bool note_end(const struct judging *judging, unsigned process, int status) {
    uint32_t open = judging->progress->open[process];
    if (!open)
        return true;
    struct result result = {.part = judging->cases[open - 1].part,
                            .number = judging->cases[open - 1].number,
                            .judgement = JUDGED_ACCEPTED, // so that it is looked at
                            .outcome = OUTCOME_STUCK};
    snprintf(result.text, sizeof result.text, "the case ended its process, status %#x", status);
    FILE *to = fopen(judging->results, "a");
    CHECK(to);
    write_result(to, &result, 0);
    fclose(to);
    judging->progress->open[process] = 0;
    return false;
}

static void supervise(const struct judging *judging, unsigned process) {
    for (bool finished = false; !finished;) {
        fflush(NULL);
        pid_t child = fork();
        CHECK(child >= 0);
        if (child == 0) {
            work(judging, process);
            _exit(0);
        }
        int status;
        CHECK(waitpid(child, &status, 0) == child);
        finished = note_end(judging, process, status);
    }
}

// ---- all of them ------------------------------------------------------------------------------

struct summary {
    struct table *table;
    double seconds;
    unsigned n;
};

static void add_result(void *data, const struct case_name *name, const struct result *result,
                       double seconds) {
    struct summary *summary = data;
    table_add(summary->table, result);
    summary->seconds += seconds;
    summary->n++;
}

static bool print_table(const struct judging *judging, double wall) {
    struct summary summary = {.table = table_new()};
    read_results(judging, add_result, &summary);
    bool good = table_print(summary.table, stdout);
    printf("\n%u cases, %.0f s of work in %u processes; this run took %.0f s\n", summary.n,
           summary.seconds, judging->processes, wall);
    if (summary.n < judging->n_cases)
        printf("%u cases have no result: %s cannot be written\n", judging->n_cases - summary.n,
               judging->results);
    table_free(summary.table);
    return good && summary.n >= judging->n_cases;
}

static bool judge_all(struct judging *judging) {
    pid_t children[MAX_PROCESSES];
    double start = now();
    CHECK(mkdir(judging->folder, 0777) == 0 || errno == EEXIST);
    share_progress(judging);
    if (!judging->full)
        remove(judging->results);
    read_results(judging, mark_done, judging);
    for (unsigned process = 0; process < judging->processes; process++) {
        fflush(NULL);
        children[process] = fork();
        CHECK(children[process] >= 0);
        if (children[process] == 0) {
            supervise(judging, process);
            _exit(0);
        }
    }
    for (unsigned process = 0; process < judging->processes; process++)
        CHECK(waitpid(children[process], NULL, 0) == children[process]);
    return print_table(judging, now() - start);
}

// ---- counting ---------------------------------------------------------------------------------

static void count_all(const struct judging *judging) {
    unsigned counts[N_TRAITS][N_PARTS] = {{0}};
    struct cases *cases = cases_new();
    for (uint32_t i = 0; i < judging->n_cases; i++) {
        struct case_name name = judging->cases[i];
        unsigned traits = case_traits(cases, name.part, name.number);
        for (int trait = 0; trait < N_TRAITS; trait++)
            counts[trait][name.part] += traits >> trait & 1;
    }
    cases_free(cases);
    printf("%-24s", "");
    for (int part = 0; part < N_PARTS; part++)
        printf("%14s", part_names[part]);
    printf("%14s\n", "all");
    for (int trait = 0; trait < N_TRAITS; trait++) {
        unsigned all = 0;
        printf("%-24s", trait_names[trait]);
        for (int part = 0; part < N_PARTS; all += counts[trait][part++])
            printf("%14u", counts[trait][part]);
        printf("%14u\n", all);
    }
}

// ---- the command ------------------------------------------------------------------------------

static int usage(void) {
    fprintf(stderr, "usage: judge [--full] [--only PART] [--folder DIR] [--processes N]\n"
                    "       judge --count [--full] [--only PART]\n"
                    "       judge PART NUMBER [text]\n"
                    "parts: tuples compositions pipelines mutants precision pipeline-mutants\n");
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
    struct judging judging = {.folder = "judge", .processes = 1};
    int only = N_PARTS;
    bool counts = false;
    if (n >= 3 && part_named(arguments[1]) >= 0)
        return run_one((enum part)part_named(arguments[1]),
                       (uint32_t)strtoul(arguments[2], NULL, 10), n > 3);
    for (int i = 1; i < n; i++) {
        if (strcmp(arguments[i], "--full") == 0)
            judging.full = true;
        else if (strcmp(arguments[i], "--count") == 0)
            counts = true;
        else if (strcmp(arguments[i], "--only") == 0 && i + 1 < n)
            only = part_named(arguments[++i]);
        else if (strcmp(arguments[i], "--folder") == 0 && i + 1 < n)
            judging.folder = arguments[++i];
        else if (strcmp(arguments[i], "--processes") == 0 && i + 1 < n)
            judging.processes = (unsigned)strtoul(arguments[++i], NULL, 10);
        else
            return usage();
    }
    if (judging.processes < 1 || judging.processes > MAX_PROCESSES || only < 0)
        return usage();
    struct arena arena = {0};
    for (int part = 0; part < N_PARTS; part++)
        if (only == N_PARTS || part == only)
            add_cases(&arena, &judging, (enum part)part);
    bool good = true;
    if (counts) {
        count_all(&judging);
    } else {
        name_results(&arena, &judging);
        good = judge_all(&judging);
    }
    arena_free(&arena);
    return good ? 0 : 1;
}
