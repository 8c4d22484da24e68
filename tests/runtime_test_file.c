/* Files that are written under another name and renamed: what they replace is as if it had been
 * written itself. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "runtime/host/file.h"

/* Each test is in a folder of its own, which anybody may write to. */
static char folder[] = "/tmp/place_file_XXXXXX";

static int enter_folder(void **state) {
    umask(027);
    strcpy(strrchr(folder, '_'), "_XXXXXX");
    return mkdtemp(folder) && chmod(folder, 0777) == 0 ? chdir(folder) : -1;
}

static int leave_folder(void **state) {
    char command[64];
    snprintf(command, sizeof command, "rm -r %s", folder);
    return chdir("/") || system(command);
}

static void make_file(const char *path, const char *text, mode_t mode) {
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
    assert_int_equal(chmod(path, mode), 0);
}

static void assert_holds(const char *path, const char *text) {
    char found[16] = "";
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    assert_true(fread(found, 1, sizeof found - 1, file) > 0);
    fclose(file);
    assert_string_equal(found, text);
}

static struct stat status_of(const char *path) {
    struct stat status;
    assert_int_equal(lstat(path, &status), 0);
    return status;
}

static int write_new(const char *path) {
    struct new_file file;
    if (new_file_open(&file, path) != 0)
        return -1;
    assert_int_equal(new_file_write(&file, "new", 3), 0);
    return new_file_commit(&file);
}

static void a_new_file_has_what_the_umask_leaves(void **state) {
    assert_int_equal(write_new("file"), 0);
    assert_int_equal(status_of("file").st_mode, S_IFREG | 0640);
    assert_holds("file", "new");
}

static void permissions_are_kept(void **state) {
    static const mode_t modes[] = {0600, 0644, 0666, 0755};
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
        make_file("file", "old", modes[i]);
        assert_int_equal(write_new("file"), 0);
        assert_int_equal(status_of("file").st_mode, S_IFREG | modes[i]);
        assert_holds("file", "new");
    }
}

static void what_a_link_leads_to_keeps_them(void **state) {
    make_file("file", "old", 0604);
    assert_int_equal(symlink("file", "link"), 0);
    assert_int_equal(write_new("link"), 0);
    assert_true(S_ISLNK(status_of("link").st_mode));
    assert_int_equal(status_of("file").st_mode, S_IFREG | 0604);
    assert_holds("file", "new");
}

/* Only root may give files away. */
static void owners_are_kept(void **state) {
    enum { OWNER = 4711, GROUP = 4712 };
    make_file("file", "old", 0640);
    if (chown("file", OWNER, GROUP) != 0)
        skip();
    assert_int_equal(write_new("file"), 0);
    assert_int_equal(status_of("file").st_uid, OWNER);
    assert_int_equal(status_of("file").st_gid, GROUP);
    assert_int_equal(status_of("file").st_mode, S_IFREG | 0640);
}

/* From whom may not write it; root may write everything. */
static void a_protected_file_is_refused(void **state) {
    enum { NOBODY = 65534 };
    uid_t user = geteuid();
    make_file("file", "old", 0444);
    if (user == 0)
        assert_int_equal(seteuid(NOBODY), 0);
    errno = 0;
    int status = write_new("file"), reason = errno;
    assert_int_equal(seteuid(user), 0);
    assert_int_equal(status, -1);
    assert_int_equal(reason, EACCES);
    assert_holds("file", "old");
}

static void what_is_no_file_is_refused(void **state) {
    assert_int_equal(mkfifo("pipe", 0666), 0);
    assert_int_equal(write_new("pipe"), -1);
    assert_int_equal(errno, ENOTSUP);
    assert_int_equal(write_new("."), -1);
    assert_int_equal(errno, EISDIR);
}

static void what_is_discarded_leaves_the_old(void **state) {
    struct new_file file;
    make_file("file", "old", 0600);
    assert_int_equal(new_file_open(&file, "file"), 0);
    assert_int_equal(new_file_write(&file, "new", 3), 0);
    assert_int_equal(status_of(file.temporary).st_mode, S_IFREG | 0600);
    new_file_discard(&file);
    assert_int_equal(access(file.temporary, F_OK), -1);
    assert_int_equal(status_of("file").st_mode, S_IFREG | 0600);
    assert_holds("file", "old");
}

/* ---- part files ---- */

/* A file that is being written by a process of its own, which `end` ends: as it likes, or at once.
 */
struct writer {
    pid_t process;
    int ending;
    char temporary[FILE_PATH_BYTES];
};

static struct writer start_writer(const char *path) {
    struct writer writer = {0};
    struct new_file file;
    int told[2], ending[2];
    assert_int_equal(pipe(told) | pipe(ending), 0);
    writer.process = fork();
    if (writer.process == 0) {
        char end;
        close(ending[1]);
        if (new_file_open(&file, path) != 0 || new_file_write(&file, "new", 3) != 0 ||
            write(told[1], file.temporary, sizeof file.temporary) < 0 ||
            read(ending[0], &end, 1) != 0)
            _exit(1);
        _exit(new_file_commit(&file) != 0);
    }
    close(told[1]);
    close(ending[0]);
    assert_int_equal(read(told[0], writer.temporary, sizeof writer.temporary), FILE_PATH_BYTES);
    close(told[0]);
    writer.ending = ending[1];
    return writer;
}

static int end_writer(struct writer *writer, int signal_number) {
    int status;
    if (signal_number)
        kill(writer->process, signal_number);
    close(writer->ending);
    assert_int_equal(waitpid(writer->process, &status, 0), writer->process);
    return status;
}

static void what_the_dead_left_is_removed(void **state) {
    struct writer dead = start_writer("file"), other = start_writer("another");
    end_writer(&dead, SIGKILL);
    end_writer(&other, SIGKILL);
    assert_int_equal(access(dead.temporary, F_OK), 0);
    assert_int_equal(write_new("file"), 0);
    assert_int_equal(access(dead.temporary, F_OK), -1);
    assert_int_equal(access(other.temporary, F_OK), 0); /* of a file that was not written again */
}

static void what_is_being_written_stays(void **state) {
    struct writer writer = start_writer("file");
    assert_int_equal(write_new("file"), 0);
    assert_int_equal(access(writer.temporary, F_OK), 0);
    assert_int_equal(end_writer(&writer, 0), 0);
    assert_holds("file", "new");
}

static void only_parts_are_removed(void **state) {
    static const char *const others[] = {"file.part",
                                         "file.0123456789abcdef",
                                         "file.0123456789abcdef.part.old",
                                         "file.0123456789abcde.part",
                                         "file.0123456789ABCDEF.part",
                                         "files.0123456789abcdef.part"};
    enum { OTHERS = sizeof others / sizeof *others };
    for (int i = 0; i < OTHERS; i++)
        make_file(others[i], "other", 0644);
    assert_int_equal(mkfifo("file.00000000000000ff.part", 0666), 0);
    assert_int_equal(symlink("file.part", "file.0000000000000000.part"), 0);
    assert_int_equal(write_new("file"), 0);
    for (int i = 0; i < OTHERS; i++)
        assert_holds(others[i], "other");
    assert_true(S_ISFIFO(status_of("file.00000000000000ff.part").st_mode));
    assert_true(S_ISLNK(status_of("file.0000000000000000.part").st_mode));
}

/* Two names that the same process would give, as with the process's number in them. */
static void every_part_has_a_name_of_its_own(void **state) {
    struct new_file first, second;
    assert_int_equal(new_file_open(&first, "file"), 0);
    assert_int_equal(new_file_open(&second, "file"), 0);
    assert_string_not_equal(first.temporary, second.temporary);
    new_file_abandon();
    assert_int_equal(access(first.temporary, F_OK), -1);
    assert_int_equal(access(second.temporary, F_OK), -1);
    new_file_discard(&first);
    new_file_discard(&second);
}

/* A second Ctrl-C may come when the writer's memory is another's already. */
static void the_names_to_remove_are_nobody_elses(void **state) {
    struct new_file file;
    char temporary[FILE_PATH_BYTES];
    make_file("other", "other", 0644);
    assert_int_equal(new_file_open(&file, "file"), 0);
    strcpy(temporary, file.temporary);
    strcpy(file.temporary, "other");
    new_file_abandon();
    assert_holds("other", "other");
    assert_int_equal(access(temporary, F_OK), -1);
    close(file.descriptor);
}

/* What another user puts into a folder like /tmp; only root can be another. */
static void what_was_planted_is_refused(void **state) {
    enum { SOMEBODY = 4711 };
    make_file("mine", "old", 0644);
    assert_int_equal(symlink("mine", "link"), 0);
    make_file("file", "old", 0666);
    assert_int_equal(chmod(folder, 01777), 0);
    if (lchown("link", SOMEBODY, SOMEBODY) != 0 || chown("file", SOMEBODY, SOMEBODY) != 0)
        skip();
    assert_int_equal(write_new("link"), -1);
    assert_int_equal(errno, EACCES);
    assert_int_equal(write_new("file"), -1);
    assert_int_equal(errno, EACCES);
    assert_holds("mine", "old");
    assert_int_equal(chmod(folder, 0755), 0); /* where only we may put anything */
    assert_int_equal(write_new("link"), 0);
    assert_holds("mine", "new");
}

static void a_stream_writes_it(void **state) {
    struct new_file file;
    assert_int_equal(new_file_open(&file, "file"), 0);
    FILE *stream = new_file_stream(&file);
    assert_non_null(stream);
    fputs("new", stream);
    assert_int_equal(fclose(stream), 0);
    assert_int_equal(access("file", F_OK), -1);
    assert_int_equal(new_file_commit(&file), 0);
    assert_holds("file", "new");
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, enter_folder, leave_folder)

int main(void) {
    const struct CMUnitTest tests[] = {
        IN_FOLDER(a_new_file_has_what_the_umask_leaves),
        IN_FOLDER(permissions_are_kept),
        IN_FOLDER(what_a_link_leads_to_keeps_them),
        IN_FOLDER(owners_are_kept),
        IN_FOLDER(a_protected_file_is_refused),
        IN_FOLDER(what_is_no_file_is_refused),
        IN_FOLDER(what_is_discarded_leaves_the_old),
        IN_FOLDER(what_the_dead_left_is_removed),
        IN_FOLDER(what_is_being_written_stays),
        IN_FOLDER(only_parts_are_removed),
        IN_FOLDER(every_part_has_a_name_of_its_own),
        IN_FOLDER(the_names_to_remove_are_nobody_elses),
        IN_FOLDER(what_was_planted_is_refused),
        IN_FOLDER(a_stream_writes_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
