/* The line that keeps up with the steps of a run. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
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

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_time_that_is_left_follows_from_own_steps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
