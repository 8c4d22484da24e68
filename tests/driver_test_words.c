// Words of a pasted step, each replaced by every other word of its table: what comes out is
// accepted or refused, and never ends the command. Whether what is accepted trains alike is for the
// judge of tests/oracle.
//
// Each text is tried by a process of its own, which goes on until an edit ends it; that edit is
// told, and another process goes on behind it. Of edits that do the same to the same kind of
// statement one is tried: of these a sample, with PLACE_TEST_FULL a larger one. Code is generated of
// what is accepted, which takes most of the time: in a sample of every few of those only.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ir/check.h"
#include "tests/driver_check.h"
#include "tests/sample.h"
#include "tests/step_words.h"

enum { SECONDS_OF_AN_EDIT = 60, ONE_OF = 97, FULL_ONE_OF = 8, ONE_GENERATED_OF = 4 };

static const char *const examples[] = {"zero3_tp",    "ring_tp_sp", "compressed", "diloco",
                                       "gather_once", "turns",      "dropout",    "reproducible"};

struct edit {
    struct step_word word;
    const char *by;
};
struct edits {
    struct edit *items;
    size_t n, capacity;
};

static char *read_example(struct arena *arena, const char *name) {
    char *path = arena_format(arena, "../examples/%s.place", name), buffer[1 << 14];
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    size_t n = fread(buffer, 1, sizeof buffer, file);
    assert_true(n < sizeof buffer);
    fclose(file);
    return arena_string(arena, buffer, n);
}

// ---- which edits ------------------------------------------------------------------------------

static uint64_t add_hash(uint64_t hash, const char *text, size_t n) { // Fowler, Noll, Vo
    for (size_t i = 0; i < n; i++)
        hash = (hash ^ (unsigned char)text[i]) * UINT64_C(0x100000001b3);
    return hash;
}

// The hash of an edit and of the line in which its word stands: the line's first word, or the op
// behind `=`.
static uint64_t kind_of_edit(const char *text, const struct edit *edit) {
    size_t line = edit->word.begin;
    while (line > 0 && text[line - 1] != '\n')
        line--;
    line += strspn(text + line, " ");
    if (text[line] == '%')
        line += strcspn(text + line, "=\n");
    uint64_t hash = add_hash(UINT64_C(0xcbf29ce484222325), text + line,
                             strcspn(text + line, text[line] == '=' ? "(\n" : " \n"));
    hash = add_hash(hash, text + edit->word.begin, edit->word.end - edit->word.begin);
    hash = add_hash(hash, edit->word.table->name, strlen(edit->word.table->name));
    return add_hash(hash, edit->by, strlen(edit->by));
}

struct seen {
    uint64_t *hashes; // 0: free
    size_t n;         // a power of two
};

static bool is_new(struct seen *seen, uint64_t hash) {
    size_t at = hash & (seen->n - 1);
    for (; seen->hashes[at]; at = (at + 1) & (seen->n - 1))
        if (seen->hashes[at] == hash)
            return false;
    seen->hashes[at] = hash;
    return true;
}

static struct edits choose_edits(struct arena *arena, const char *text, size_t written,
                                 struct seen *seen) {
    struct step_words words = step_words_of(arena, text, written, strlen(text));
    struct edits edits = {0};
    unsigned one_of = getenv("PLACE_TEST_FULL") ? FULL_ONE_OF : ONE_OF * (unsigned)sample_every();
    for (size_t i = 0; i < words.n; i++)
        for (size_t k = 0; k < words.items[i].table->n; k++) {
            struct edit edit = {words.items[i], words.items[i].table->words[k]};
            if (k == words.items[i].number)
                continue;
            uint64_t kind = kind_of_edit(text, &edit);
            bool chosen = kind / 64 % one_of == 0;
            if (chosen && is_new(seen, kind))
                ARENA_PUSH(arena, edits.items, edits.n, edits.capacity, edit);
        }
    return edits;
}

// ---- trying them ------------------------------------------------------------------------------

struct progress { // what processes share
    _Atomic size_t next, accepted;
};

static void try_edits(const char *text, const struct edits *edits, struct progress *progress) {
    size_t every = getenv("PLACE_TEST_FULL") ? 1 : ONE_GENERATED_OF;
    while (progress->next < edits->n) {
        struct arena arena = {0};
        const struct edit *edit = &edits->items[progress->next];
        char *edited = text_replaced(&arena, text, edit->word.begin, edit->word.end, edit->by);
        alarm(SECONDS_OF_AN_EDIT);
        progress->accepted += driver_check(edited, strlen(edited), progress->accepted % every == 0);
        progress->next++;
        arena_free(&arena);
    }
}

static void tell(const char *example, const char *text, const struct edit *edit, int status) {
    size_t line = edit->word.begin;
    while (line > 0 && text[line - 1] != '\n')
        line--;
    fprintf(stderr, "%s: status %#x for `%.*s` as %s `%s` in\n%.*s\n", example, (unsigned)status,
            (int)(edit->word.end - edit->word.begin), text + edit->word.begin,
            edit->word.table->name, edit->by, (int)strcspn(text + line, "\n"), text + line);
}

// How many edits of all examples were tried, how many were accepted, and how many ended the process
// that tried them.
struct tried {
    size_t edits, accepted, bad;
};

static void try_example(const char *example, struct seen *seen, struct progress *progress,
                        struct tried *tried) {
    struct arena arena = {0};
    size_t written;
    char *text = driver_paste(&arena, read_example(&arena, example), &written);
    assert_non_null(text);
    assert_true(driver_check(text, strlen(text), true));
    struct edits edits = choose_edits(&arena, text, written, seen);
    *progress = (struct progress){0};
    while (progress->next < edits.n) {
        int status;
        fflush(NULL);
        pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) {
            try_edits(text, &edits, progress);
            _exit(0);
        }
        assert_int_equal(waitpid(child, &status, 0), child);
        if (progress->next == edits.n)
            break;
        tell(example, text, &edits.items[progress->next], status);
        progress->next++;
        tried->bad++;
    }
    print_message("%s: %zu edits, %zu accepted\n", example, edits.n, (size_t)progress->accepted);
    assert_true(edits.n > 0 || sample_every() > 1);
    tried->edits += edits.n;
    tried->accepted += (size_t)progress->accepted;
    arena_free(&arena);
}

static void words_are_taken_or_refused(void **state) {
    struct seen seen = {.n = 1 << 20};
    struct progress *progress =
        mmap(NULL, sizeof *progress, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    struct tried tried = {0};
    assert_true(progress != MAP_FAILED);
    seen.hashes = calloc(seen.n, sizeof *seen.hashes);
    for (size_t i = 0; i < sizeof examples / sizeof *examples; i++)
        try_example(examples[i], &seen, progress, &tried);
    free(seen.hashes);
    munmap(progress, sizeof *progress);
    assert_int_equal(tried.bad, 0);
    assert_true(tried.accepted < tried.edits);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(words_are_taken_or_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
