// The table of verdicts of `placec equal` on pairs of HLO texts, against the truth by execution (equal_truth.h).
//
// usage: equal_table FOLDER ...
// A line for each folder whose verdict is not what it should be: a wrong program that is accepted, a right one that is
// refuted or not proved, a mistake whose line is not named. One that laws accept and execution refutes counts as accepted.
// Then the table. Status 1: a wrong one is accepted, a right
// one refuted, a text not understood, or one on which the verdict takes too much. Each pair has a process of its own.
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "equal/equal.h"
#include "equal_truth.h"

// What a pair may take of a process, of CPU time: more is a fault.
enum { MAX_SECONDS = 20 };
static const rlim_t MAX_BYTES = (rlim_t)2 << 30;

enum { NOT_UNDERSTOOD = EQUAL_UNPROVED + 1, N_ANSWERS };
static const char *const answer_words[N_ANSWERS] = {"proved", "refuted", "unproved",
                                                    "not understood"};

struct table {
    uint32_t counts[2][N_ANSWERS]; // by truth: equal, different
    uint32_t n_unknown, n_failed;  // that cannot be executed; on which the process ended
    // Wrong programs that are not accepted; of these, those for which the statement of the mistake is named, or that of
    // the first instruction that differs.
    uint32_t n_refused, n_named;
    double seconds; // of verdicts
};

struct asked {
    struct arena arena;
    struct source_files sources;
    struct diagnostics *diagnostics;
    struct pair_sources pair;
    int answer;
    bool is_contradicted; // by execution, which is no merit of the laws
};

static double seconds_now(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static void ask(struct asked *asked, struct table *table) {
    const struct pair_sources *pair = &asked->pair;
    struct equal_question question = {.one = pair->one,
                                      .many = pair->many,
                                      .spec = pair->spec,
                                      .assumptions = pair->assumed,
                                      .n_assumptions = pair->n_assumed};
    double begin = seconds_now();
    const struct equal_answer *answer = equal_judge(&question, &asked->arena, asked->diagnostics);
    table->seconds += seconds_now() - begin;
    asked->answer = answer ? (int)answer->verdict : NOT_UNDERSTOOD;
    asked->is_contradicted = answer && answer->is_contradicted;
}

// What a verdict says, as text. To be freed.
static char *said_of(const struct asked *asked) {
    char *text;
    size_t length;
    FILE *stream = open_memstream(&text, &length);
    diagnostics_print(asked->diagnostics, stream, false);
    memory_written(stream);
    return text;
}

// A place such as `layers.py:73` that meta.json has behind a key; "" where it has none.
static const char *place_behind(struct asked *asked, const char *key) {
    const char *text = asked->sources.items[asked->pair.spec].text;
    const char *begin = strstr(text, key), *quote = begin ? strchr(begin + strlen(key), '"') : NULL;
    if (!quote)
        return "";
    return arena_format(&asked->arena, "%.*s", (int)strcspn(quote + 1, " \""), quote + 1);
}

static bool names_line(const char *said, const char *line) {
    size_t length = strlen(line);
    for (const char *at = length ? strstr(said, line) : NULL; at; at = strstr(at + 1, line))
        if (at[length] < '0' || at[length] > '9')
            return true;
    return false;
}

static void print_row(const char *folder, const char *what, const char *said) {
    printf("%s: %s: %.*s\n", folder, what, (int)strcspn(said, "\n"), said);
}

static void enter(struct table *table, const char *folder, struct asked *asked, enum truth truth) {
    char *said = said_of(asked);
    if (asked->is_contradicted && truth == TRUTH_DIFFERENT)
        asked->answer = EQUAL_PROVED;
    table->counts[truth][asked->answer]++;
    if (truth == TRUTH_EQUAL && asked->answer != EQUAL_PROVED)
        print_row(folder, answer_words[asked->answer], said);
    if (truth == TRUTH_DIFFERENT && asked->answer == EQUAL_PROVED)
        print_row(folder, "ACCEPTED", "a wrong program");
    if (truth == TRUTH_DIFFERENT && asked->answer != EQUAL_PROVED) {
        const char *line = place_behind(asked, "\"mutated\":");
        const char *first = place_behind(asked, "\"frames\":");
        bool is_named = names_line(said, line) || names_line(said, first);
        table->n_refused++;
        table->n_named += is_named;
        if (!is_named)
            print_row(folder, line, said);
    }
    free(said);
}

static void judge(struct table *table, const char *folder) {
    struct asked asked = {0};
    struct arena arena = {0};
    asked.diagnostics = diagnostics_new(&asked.arena, &asked.sources);
    asked.pair = pair_sources_read(folder, &asked.sources, &asked.arena);
    struct diagnostics *unheard = diagnostics_new(&arena, &asked.sources);
    struct executed_pair executed = pair_execute(&asked.pair, &arena, unheard);
    if (executed.truth == TRUTH_UNKNOWN) {
        print_row(folder, "cannot be executed", executed.why);
        table->n_unknown++;
    } else {
        ask(&asked, table);
        enter(table, folder, &asked, executed.truth);
    }
    arena_free(&arena);
    arena_free(&asked.arena);
}

static void add(struct table *table, const struct table *of_pair) {
    for (int truth = 0; truth < 2; truth++)
        for (int answer = 0; answer < N_ANSWERS; answer++)
            table->counts[truth][answer] += of_pair->counts[truth][answer];
    table->n_unknown += of_pair->n_unknown;
    table->n_refused += of_pair->n_refused;
    table->n_named += of_pair->n_named;
    table->seconds += of_pair->seconds;
}

// The child's part: judges the pair and writes its table to the parent.
static void judge_limited(const char *folder, int to) {
    setrlimit(RLIMIT_AS, &(struct rlimit){MAX_BYTES, MAX_BYTES});
    setrlimit(RLIMIT_CPU, &(struct rlimit){MAX_SECONDS, MAX_SECONDS + 1});
    struct table table = {0};
    judge(&table, folder);
    fflush(stdout);
    _exit(write(to, &table, sizeof table) != sizeof table);
}

static const char *why_failed(int status) {
    if (!WIFSIGNALED(status))
        return "too much memory";
    return WTERMSIG(status) == SIGXCPU ? "too much time" : strsignal(WTERMSIG(status));
}

static void judge_apart(struct table *table, const char *folder) {
    int ends[2], status = 0;
    fflush(stdout);
    if (pipe(ends))
        exit(2);
    pid_t child = fork();
    if (child < 0)
        exit(2);
    if (child == 0)
        judge_limited(folder, ends[1]);
    close(ends[1]);
    struct table of_pair;
    bool is_told = read(ends[0], &of_pair, sizeof of_pair) == sizeof of_pair;
    close(ends[0]);
    waitpid(child, &status, 0);
    if (is_told) {
        add(table, &of_pair);
    } else {
        print_row(folder, "FAILED", why_failed(status));
        table->n_failed++;
    }
}

int main(int n_arguments, char **arguments) {
    struct table table = {0};
    for (int i = 1; i < n_arguments; i++)
        judge_apart(&table, arguments[i]);
    static const char *const truths[] = {"equal", "different"};
    for (int truth = 0; truth < 2; truth++) {
        printf("%s:", truths[truth]);
        for (int answer = 0; answer < N_ANSWERS; answer++)
            printf(" %" PRIu32 " %s%s", table.counts[truth][answer], answer_words[answer],
                   answer + 1 < N_ANSWERS ? "," : "\n");
    }
    printf("line named: %" PRIu32 " of %" PRIu32 "; cannot be executed: %" PRIu32
           "; failed: %" PRIu32 "; %.2f s\n",
           table.n_named, table.n_refused, table.n_unknown, table.n_failed, table.seconds);
    return table.counts[TRUTH_DIFFERENT][EQUAL_PROVED] + table.counts[TRUTH_EQUAL][EQUAL_REFUTED] +
               table.counts[TRUTH_EQUAL][NOT_UNDERSTOOD] + table.n_unknown + table.n_failed >
           0;
}
