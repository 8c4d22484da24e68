/* Data as a whole, before the first step: hashes that do not depend on who reads which part, the
 * first place that is wrong whoever finds it, masks that nothing is predicted from. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>
#include "runtime/host/content_hash.h"
#include "runtime/host/interrupts.h"
#include "runtime/host/scan.h"

enum { THREADS = 4, MASK = 65535 };
static char message[512];
static uint64_t hash_of_all, hash_of_tokens; /* of the data that were scanned last */

/* Data, whose kind the name says, or the file of their targets. */
static const char *write_file(const char *name, const void *data, size_t bytes) {
    static char paths[2][64];
    char *path = paths[strcmp(name, ".targets") == 0];
    snprintf(path, sizeof paths[0], "/tmp/place_scan_%ld%s", (long)getpid(), name);
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(data, 1, bytes, file), bytes);
    fclose(file);
    return path;
}

static int open_data(struct dataset *set, const char *path, const char *targets, int64_t sequence) {
    const struct place_program program = {.vocab = 1000, .sequence = sequence};
    const struct data_request request = {
        {&path, 1}, {&targets, targets != NULL}, NULL, "--data", "--targets"};
    return dataset_open(set, &request, &program, message, sizeof message);
}

static enum scan_end scan_file(struct dataset *set, const char *path, const char *targets,
                               int64_t sequence, int threads) {
    assert_int_equal(open_data(set, path, targets, sequence), 0);
    message[0] = 0;
    enum scan_end end = dataset_scan(set, 1000, threads, message, sizeof message);
    hash_of_all = dataset_hash(set);
    hash_of_tokens = dataset_tokens_hash(set);
    dataset_close(set);
    return end;
}

/* ---- hashes --------------------------------------------------------------------------------- */

static void parts_make_the_whole_in_any_order(void **state) {
    enum { BYTES = 1003 };
    unsigned char bytes[BYTES];
    for (int i = 0; i < BYTES; i++)
        bytes[i] = (unsigned char)(i * 37 + i / 7);
    uint64_t whole = content_hash_part(bytes, 0, BYTES);
    for (int cut = 0; cut < BYTES; cut += CONTENT_HASH_BYTES)
        assert_int_equal(content_hash_part(bytes + cut, cut, BYTES - cut) +
                             content_hash_part(bytes, 0, cut),
                         whole);
}

/* Every bit counts, and where it stands; so does a zero at the end. */
static void files_that_differ_have_other_hashes(void **state) {
    enum { BYTES = 100 };
    unsigned char bytes[BYTES + 1] = {0};
    uint64_t seen[BYTES * 8 + BYTES * (BYTES - 1) / 2 + 2];
    int n = 0;
    seen[n++] = content_hash_whole(content_hash_part(bytes, 0, BYTES), BYTES);
    seen[n++] = content_hash_whole(content_hash_part(bytes, 0, BYTES + 1), BYTES + 1);
    for (int bit = 0; bit < BYTES * 8; bit++) {
        bytes[bit / 8] ^= (unsigned char)(1 << bit % 8);
        seen[n++] = content_hash_whole(content_hash_part(bytes, 0, BYTES), BYTES);
        bytes[bit / 8] = 0;
    }
    for (int i = 0; i < BYTES; i++)
        for (int j = 0; j < i; j++) {
            bytes[i] = bytes[j] = 0x80;
            seen[n++] = content_hash_whole(content_hash_part(bytes, 0, BYTES), BYTES);
            bytes[i] = bytes[j] = 0;
        }
    for (int i = 0; i < n; i++)
        for (int j = 0; j < i; j++)
            assert_true(seen[i] != seen[j]);
}

/* ---- what is wrong -------------------------------------------------------------------------- */

/* 16 MB in many pieces; many threads and one say the same. */
static void the_first_wrong_token_is_told(void **state) {
    enum { TOKENS = 8000001 };
    uint16_t *tokens = calloc(TOKENS, sizeof *tokens);
    for (int i = 0; i < TOKENS; i++)
        tokens[i] = (uint16_t)(i % 1000);
    struct dataset set;
    const char *path = write_file(".u16", tokens, TOKENS * sizeof *tokens);
    assert_int_equal(scan_file(&set, path, NULL, 100, 1), SCAN_DONE);
    uint64_t hash = hash_of_all;
    assert_int_equal(scan_file(&set, path, NULL, 100, THREADS), SCAN_DONE);
    assert_int_equal(hash_of_all, hash);
    for (int i = 0; i < 1 << 17; i++) { /* two pieces change places */
        uint16_t token = tokens[i];
        tokens[i] = tokens[i + (1 << 17)];
        tokens[i + (1 << 17)] = token;
    }
    path = write_file(".u16", tokens, TOKENS * sizeof *tokens);
    assert_int_equal(scan_file(&set, path, NULL, 100, THREADS), SCAN_DONE);
    assert_true(hash_of_all != hash);
    tokens[5000000] = 1000;
    tokens[5000001] = 1001;
    tokens[5200000] = 2000;
    tokens[TOKENS - 1] = 60000;
    path = write_file(".u16", tokens, TOKENS * sizeof *tokens);
    for (int i = 0; i < 20; i++) {
        assert_int_equal(scan_file(&set, path, NULL, 100, 1 + i % THREADS), SCAN_REFUSED);
        assert_non_null(strstr(message, ".u16: token 1000 at position 5000000 (byte 10000000, "
                                        "window 50000) is not below the vocabulary's 1000;"));
    }
    assert_int_equal(truncate(path, 400), 0); /* of another length, of other content */
    assert_int_equal(scan_file(&set, path, NULL, 100, 1), SCAN_DONE);
    assert_true(hash_of_all != hash);
    unlink(path);
    free(tokens);
}

static void what_is_behind_the_last_window_counts(void **state) {
    static const uint32_t tokens[] = {1, 2, 3, 4, 5, 1000};
    struct dataset set;
    const char *path = write_file(".u32", tokens, sizeof tokens);
    assert_int_equal(scan_file(&set, path, NULL, 3, 1), SCAN_REFUSED);
    assert_non_null(strstr(message, "token 1000 at position 5 (byte 20, behind the last window)"));
    unlink(path);
    path = write_file(".u32", tokens + 2, sizeof tokens - 2 * sizeof *tokens); /* its last target */
    assert_int_equal(scan_file(&set, path, NULL, 3, 1), SCAN_REFUSED);
    assert_non_null(strstr(message, "token 1000 at position 3 (byte 12, window 0)"));
    unlink(path);
}

/* Text looks like text at its beginning. */
static void a_zero_far_behind_is_no_text(void **state) {
    enum { BYTES = 1 << 20 };
    char *text = malloc(BYTES);
    memset(text, 'x', BYTES);
    text[BYTES - 2] = 0;
    struct dataset set;
    const char *path = write_file("", text, BYTES);
    assert_int_equal(scan_file(&set, path, NULL, 100, THREADS), SCAN_REFUSED);
    assert_non_null(
        strstr(message, "byte 1048574, behind the last window, is 0, which text has not"));
    unlink(path);
    free(text);
}

static void a_file_that_is_cut_short_is_told(void **state) {
    uint16_t tokens[1000] = {0};
    struct dataset set;
    const char *path = write_file(".u16", tokens, sizeof tokens);
    assert_int_equal(open_data(&set, path, NULL, 10), 0);
    assert_int_equal(truncate(path, 300), 0);
    assert_int_equal(dataset_scan(&set, 1000, 1, message, sizeof message), SCAN_REFUSED);
    assert_non_null(strstr(message, "token 150 is gone: the file was cut short"));
    dataset_close(&set);
    unlink(path);
}

static void a_signal_ends_it(void **state) {
    uint16_t tokens[1000] = {0};
    struct dataset set;
    const char *path = write_file(".u16", tokens, sizeof tokens);
    interrupts_begin("");
    raise(SIGINT);
    assert_int_equal(scan_file(&set, path, NULL, 10, THREADS), SCAN_INTERRUPTED);
    interrupts_end();
    unlink(path);
}

/* ---- masks and targets ---------------------------------------------------------------------- */

/* Two windows of four tokens and the last one's target. */
enum { SEQUENCE = 4, PLACES = 2 * SEQUENCE + 1 };
static const struct mask_case {
    uint16_t tokens[PLACES];
    const char *flags; /* null: none; a '1' or '0' for each */
    const char *wrong; /* null: nothing */
    int idle_windows;
} mask_cases[] = {
    {{1, 2, 3, 4, 5, 6, 7, 8, 9}, NULL, NULL, 0},
    {{1, 2, MASK, MASK, 5, 6, 7, MASK, MASK}, NULL, NULL, 0},       /* padded behind */
    {{1, 2, 3, MASK, MASK, MASK, MASK, MASK, MASK}, NULL, NULL, 1}, /* and altogether */
    {{1, 2, MASK, 4, MASK, 6, MASK, MASK, 9}, NULL, NULL, 1},       /* nothing follows a token */
    {{1, 2, 3, MASK, 5, 6, 7, 8, 9}, NULL, NULL, 0},                /* the next window's */
    {{1, MASK, 3, 4, 5, 6, 7, 8, 9},
     NULL,
     "position 1 (byte 2, window 0) is masked, but the target at position 3",
     0},
    {{MASK, 2, 3, 4, 5, 6, 7, 8, 9},
     NULL,
     "position 0 (byte 0, window 0) is masked, but the target at position 2",
     0},
    {{1, 2, 3, 4, 5, 6, MASK, 8, 9},
     NULL,
     "position 6 (byte 12, window 1) is masked, but the target at position 8",
     0},
    {{1, 2, 3, 4, 5, 6, 7, 8, 9}, "000000011", NULL, 1},
    {{1, 2, 3, 4, 5, 6, 7, 8, 9}, "100000000", NULL, 2}, /* nothing predicts the first */
    {{1, 2, 3, 4, 5, MASK, MASK, MASK, MASK}, "001000000", NULL, 1},
    {{1, MASK, 3, 4, 5, 6, 7, 8, 9}, "000000000", NULL, 2}, /* nothing learns from it */
    {{1, MASK, 3, 4, 5, 6, 7, 8, 9},
     "000100000",
     "position 1 (byte 2, window 0) is masked, but the target at position 3",
     0},
    {{1, 2, 3, 4, 5, 6, MASK, 8, 9},
     "000000100",
     "byte 6 says that a token counts as a target which is masked",
     0},
    {{1, 2, 3, 4, 5, 6, 7, 8, 9},
     "000000002",
     "byte 8 is 2; a token that counts as a target has the byte 1 here",
     0},
};

static void nothing_is_predicted_from_a_mask(void **state) {
    char flags[PLACES];
    for (size_t i = 0; i < sizeof mask_cases / sizeof *mask_cases; i++) {
        const struct mask_case *c = &mask_cases[i];
        struct dataset set;
        for (int k = 0; c->flags && k < PLACES; k++)
            flags[k] = (char)(c->flags[k] - '0');
        const char *path = write_file(".u16", c->tokens, sizeof c->tokens);
        const char *targets = c->flags ? write_file(".targets", flags, sizeof flags) : NULL;
        enum scan_end end = scan_file(&set, path, targets, SEQUENCE, 1);
        if (!!c->wrong != (end == SCAN_REFUSED) || (c->wrong && !strstr(message, c->wrong)))
            fail_msg("case %zu: %s", i, message);
        if (!c->wrong && set.idle_windows != c->idle_windows)
            fail_msg("case %zu: %lld idle windows", i, (long long)set.idle_windows);
        unlink(path);
        if (targets)
            unlink(targets);
    }
}

static void targets_belong_to_the_tokens(void **state) {
    static const uint16_t tokens[PLACES] = {1, 2, 3, 4, 5, 6, 7, 8, 9};
    char flags[PLACES + 1] = {0, 1};
    struct dataset set;
    const char *path = write_file(".u16", tokens, sizeof tokens);
    const char *targets = write_file(".targets", flags, PLACES + 1);
    assert_int_equal(open_data(&set, path, targets, SEQUENCE), -1);
    assert_non_null(strstr(message, ".targets: it has 10 bytes, but"));
    assert_non_null(strstr(message, ".u16 has 9 tokens; --targets takes a byte for each token"));
    dataset_close(&set);
    assert_int_equal(truncate(targets, PLACES), 0);
    assert_int_equal(scan_file(&set, path, targets, SEQUENCE, 1), SCAN_DONE);
    uint64_t hash = hash_of_all, tokens_hash = hash_of_tokens;
    flags[2] = 1;
    targets = write_file(".targets", flags, PLACES);
    assert_int_equal(scan_file(&set, path, targets, SEQUENCE, 1), SCAN_DONE);
    assert_true(hash_of_all != hash && hash_of_tokens == tokens_hash);
    unlink(path);
    unlink(targets);
}

/* Whatever is wrong is told of the file that it is in; the order of files makes other data. */
static void each_of_several_files_is_looked_through(void **state) {
    uint16_t tokens[2][6] = {{1, 2, 3, 4, 5, MASK}, {6, 7, 8, 9, 10, 11}};
    char paths[2][64];
    uint64_t hashes[3];
    for (int i = 0; i < 2; i++)
        snprintf(paths[i], sizeof paths[i], "%s",
                 write_file(i ? ".1.u16" : ".0.u16", tokens[i], sizeof tokens[i]));
    const struct place_program program = {.vocab = 1000, .sequence = 2};
    struct dataset set;
    for (int i = 0; i < 3; i++) {
        const char *names[] = {paths[i != 0], paths[i == 0]};
        const struct data_request request = {{names, i < 2 ? 2 : 1}, {0}, NULL, "--data", ""};
        assert_int_equal(dataset_open(&set, &request, &program, message, sizeof message), 0);
        assert_int_equal(dataset_scan(&set, 1000, 1, message, sizeof message), SCAN_DONE);
        hashes[i] = dataset_hash(&set);
        assert_int_equal(set.targets_that_count, i < 2 ? 8 : 4);
        dataset_close(&set);
    }
    assert_true(hashes[0] != hashes[1] && hashes[1] != hashes[2] && hashes[0] != hashes[2]);
    tokens[1][3] = 2000;
    write_file(".1.u16", tokens[1], sizeof tokens[1]);
    const char *names[] = {paths[0], paths[1]};
    const struct data_request request = {{names, 2}, {0}, NULL, "--data", ""};
    assert_int_equal(dataset_open(&set, &request, &program, message, sizeof message), 0);
    assert_int_equal(dataset_scan(&set, 1000, 1, message, sizeof message), SCAN_REFUSED);
    assert_non_null(strstr(message, ".1.u16: token 2000 at position 3 (byte 6, window 1)"));
    dataset_close(&set);
    unlink(paths[0]);
    unlink(paths[1]);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts_make_the_whole_in_any_order),
        cmocka_unit_test(files_that_differ_have_other_hashes),
        cmocka_unit_test(the_first_wrong_token_is_told),
        cmocka_unit_test(what_is_behind_the_last_window_counts),
        cmocka_unit_test(a_zero_far_behind_is_no_text),
        cmocka_unit_test(a_file_that_is_cut_short_is_told),
        cmocka_unit_test(nothing_is_predicted_from_a_mask),
        cmocka_unit_test(targets_belong_to_the_tokens),
        cmocka_unit_test(each_of_several_files_is_looked_through),
        cmocka_unit_test(a_signal_ends_it), /* last: it stays seen */
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
