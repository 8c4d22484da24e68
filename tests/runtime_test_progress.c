/* The line that keeps up with the steps of a run. */
#define _GNU_SOURCE /* pseudo terminals */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <cmocka.h>

#include "runtime/clock.h"
#include "runtime/host/progress.h"
#include "runtime/place.h"

enum { HOUR = 3600 };

/* The line of a step that ends `hours` after the run has begun, as it is printed. */
static void show(int64_t before, int64_t step, double hours, char *line, int bytes) {
    const struct place_program program = {.batch = 1, .sequence = 1};
    struct progress progress;
    FILE *written = tmpfile();
    int terminal = dup(STDOUT_FILENO);
    assert_non_null(written);
    fflush(stdout);
    dup2(fileno(written), STDOUT_FILENO);
    progress_begin(&progress, &program, 1000, before, false);
    progress.started = clock_seconds() - hours * HOUR;
    progress_step(&progress, &(struct step_record){.step = step, .tokens = 1, .seconds = 1});
    fflush(stdout);
    dup2(terminal, STDOUT_FILENO);
    close(terminal);
    rewind(written);
    char *read = fgets(line, bytes, written);
    fclose(written);
    assert_non_null(read);
}

/* Ten steps in ten hours: an hour a step, whatever steps another run has made before them. */
static void the_time_that_is_left_follows_from_own_steps(void **state) {
    static const struct {
        int64_t before, step;
        const char *left;
    } cases[] = {{0, 10, "  left 990h00m\n"}, {900, 910, "  left 90h00m\n"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char line[512];
        show(cases[i].before, cases[i].step, 10, line, sizeof line);
        if (!strstr(line, cases[i].left))
            fail_msg("behind step %lld: %s", (long long)cases[i].before, line);
    }
}

/* Steps that end ten hours apart, each on its line of a terminal of so many columns, as the bytes
 * that it gets. */
static void show_on_terminal(int columns, const double *losses, int n, char *bytes, size_t size) {
    const struct place_program program = {
        .batch = 1, .sequence = 1, .flops_per_token = 1, .n_groups = 0};
    const struct winsize window = {.ws_row = 24, .ws_col = (unsigned short)columns};
    int reader = posix_openpt(O_RDWR | O_NOCTTY);
    assert_true(reader >= 0 && grantpt(reader) == 0 && unlockpt(reader) == 0);
    int terminal = open(ptsname(reader), O_RDWR | O_NOCTTY), before = dup(STDOUT_FILENO);
    assert_true(terminal >= 0 && ioctl(terminal, TIOCSWINSZ, &window) == 0);
    struct progress progress;
    fflush(stdout);
    dup2(terminal, STDOUT_FILENO);
    progress_begin(&progress, &program, 1000, 0, false);
    progress.peak_flops = 1;
    for (int i = 0; i < n; i++) {
        progress.shown = 0; /* it is due */
        progress_step(&progress, &(struct step_record){.step = i + 1,
                                                       .loss = losses[i],
                                                       .grad_norm = 1,
                                                       .learning_rate = 1e-3,
                                                       .tokens = 13713,
                                                       .seconds = 1,
                                                       .peak_bytes = {14 << 20}});
    }
    putchar('#'); /* the end, which may arrive apart from the rest */
    fflush(stdout);
    dup2(before, STDOUT_FILENO);
    close(before);
    size_t length = 0;
    while (length == 0 || bytes[length - 1] != '#') {
        ssize_t more = read(reader, bytes + length, size - 1 - length);
        assert_true(more > 0);
        length += (size_t)more;
    }
    bytes[length - 1] = 0;
    close(terminal);
    close(reader);
}

static void a_line_fits_the_terminal(void **state) {
    static const double loss[] = {2.5};
    char whole[512], usual[512], narrow[512];
    show_on_terminal(200, loss, 1, whole, sizeof whole);
    assert_non_null(strstr(whole, "memory 14.0 MiB  sent 0 B  left"));
    show_on_terminal(80, loss, 1, usual, sizeof usual);
    assert_true(strlen(usual) <= strlen("\r") + 79);
    assert_non_null(strstr(usual, "step 1/1000  loss 2.5000  grad 1  lr 0.001  13713 tokens/s"));
    assert_non_null(strstr(usual, "  left "));
    assert_null(strstr(usual, "sent"));
    show_on_terminal(30, loss, 1, narrow, sizeof narrow);
    assert_string_equal(narrow, "\rstep 1/1000  loss 2.5000");
}

/* The second line is shorter than the first: blanks cover what would be left of it. */
static void a_shorter_line_leaves_no_rests(void **state) {
    static const double losses[] = {123456.5, 2.5};
    char bytes[1024];
    show_on_terminal(32, losses, 2, bytes, sizeof bytes);
    assert_string_equal(bytes, "\rstep 1/1000  loss 123456.5000\rstep 2/1000  loss 2.5000     ");
}

static void every_tenth_line_stays(void **state) {
    static const double losses[12] = {0};
    char bytes[2048];
    show_on_terminal(30, losses, 12, bytes, sizeof bytes);
    const char *end = strchr(bytes, '\n');
    assert_non_null(end);
    assert_null(strchr(end + 1, '\n'));
    assert_int_equal(strncmp(end + 1, "\rstep 11/1000", strlen("\rstep 11/1000")), 0);
    assert_non_null(strstr(bytes, "\rstep 10/1000  loss 0.0000"));
}

/* A lack of a few bytes is told to the byte, any other as sizes are read. */
static void what_is_lacking_reads_as_less(void **state) {
    char need[32], room[32];
    format_lack(need, room, 1092352, 1048576);
    assert_string_equal(need, "1092352 B");
    assert_string_equal(room, "1048576 B");
    format_lack(need, room, 3 << 20, 1 << 20);
    assert_string_equal(need, "3.0 MiB");
    assert_string_equal(room, "1.0 MiB");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_time_that_is_left_follows_from_own_steps),
        cmocka_unit_test(a_line_fits_the_terminal),
        cmocka_unit_test(a_shorter_line_leaves_no_rests),
        cmocka_unit_test(every_tenth_line_stays),
        cmocka_unit_test(what_is_lacking_reads_as_less),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
