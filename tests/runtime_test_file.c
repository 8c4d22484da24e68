/* Files that are written under another name and renamed: what they replace is as if it had been
 * written itself. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
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

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, enter_folder, leave_folder)

int main(void) {
    const struct CMUnitTest tests[] = {
        IN_FOLDER(a_new_file_has_what_the_umask_leaves), IN_FOLDER(permissions_are_kept),
        IN_FOLDER(what_a_link_leads_to_keeps_them),      IN_FOLDER(owners_are_kept),
        IN_FOLDER(a_protected_file_is_refused),          IN_FOLDER(what_is_no_file_is_refused),
        IN_FOLDER(what_is_discarded_leaves_the_old),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
