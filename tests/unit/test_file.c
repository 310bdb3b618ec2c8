/* Files that are replaced whole: what a killed writer leaves, and that nobody loses what another one still writes. */
#include "adept_file.h"
#include "sha256.h"
#include "cmocka_test.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

/* The linker sends base's calls here (tests/CMakeLists.txt): some file systems have no files without a name. */
int __real_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...);
static bool needs_names;

int __wrap_open(const char *path, int flags, ...)
{
    va_list args;
    va_start(args, flags);
    unsigned mode = flags & O_CREAT || (flags & O_TMPFILE) == O_TMPFILE ? va_arg(args, unsigned) : 0;
    va_end(args);
    if (needs_names && (flags & O_TMPFILE) == O_TMPFILE) {
        errno = EOPNOTSUPP;
        return -1;
    }
    return __real_open(path, flags, mode);
}

static char folder[64], path[96];

static int set_up(void **state)
{
    (void)state;
    strcpy(folder, "/tmp/adept-file-XXXXXX");
    if (!mkdtemp(folder)) return -1;
    snprintf(path, sizeof path, "%s/out", folder);
    return 0;
}

static int is_visible(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

/* All names, with blanks between. */
static const char *names(void)
{
    static char text[512];
    struct dirent **entries;
    int n = scandir(folder, &entries, is_visible, alphasort);
    text[0] = '\0';
    for (int i = 0; i < n; i++) {
        strcat(strcat(text, i ? " " : ""), entries[i]->d_name);
        free(entries[i]);
    }
    free(entries);
    return text;
}

static int tear_down(void **state)
{
    (void)state;
    char command[128];
    snprintf(command, sizeof command, "rm -r %s", folder);
    return system(command);
}

static void make(const char *name)
{
    char file[160];
    snprintf(file, sizeof file, "%s/%s", folder, name);
    int fd = open(file, O_WRONLY | O_CREAT, 0600);
    assert_true(fd >= 0);
    close(fd);
}

/* A writer that has written, and waits to be killed. */
static pid_t writer(void)
{
    int ready[2];
    char byte;
    assert_int_equal(pipe(ready), 0);
    pid_t pid = fork();
    if (pid == 0) {
        adept_file_out out;
        if (adept_file_begin(&out, path, NULL) == ADEPT_OK && fputs("half", out.stream) >= 0 && fflush(out.stream) == 0)
            (void)!write(ready[1], "x", 1);
        pause();
        _exit(0);
    }
    assert_true(pid > 0 && read(ready[0], &byte, 1) == 1);
    close(ready[0]);
    close(ready[1]);
    return pid;
}

static void end(pid_t pid)
{
    kill(pid, SIGKILL);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static void write_text(const char *text)
{
    adept_error err = {0};
    if (adept_file_write(path, text, strlen(text), &err) != ADEPT_OK) fail_msg("%s", err.message);
}

static void has(const char *text)
{
    char *found = NULL;
    size_t size;
    assert_int_equal(adept_file_read(&found, &size, path, 1000, NULL), ADEPT_OK);
    assert_string_equal(found, text);
    free(found);
}

static void killed_writers_leave_nothing(void **state)
{
    (void)state;
    needs_names = false;
    int fd = open(folder, O_TMPFILE | O_WRONLY, 0600);
    if (fd < 0) skip();
    close(fd);
    write_text("old");
    pid_t pid = writer();
    assert_string_equal(names(), "out");
    end(pid);
    assert_string_equal(names(), "out");
    has("old");
}

static void the_next_writer_cleans_up(void **state)
{
    (void)state;
    char left[64];
    needs_names = true;
    write_text("old");
    make("out.tmp");
    make("out.1-2.tmp.txt");
    make("out.-2.tmpx");
    make("outer.1-2.tmp");
    pid_t dead = writer(), alive = writer();
    end(dead);
    make("out.4294967295-0.tmp");
    write_text("new");
    snprintf(left, sizeof left, "out out.%ld-0.tmp", (long)alive);
    assert_ptr_equal(strstr(names(), "out out."), names());
    assert_non_null(strstr(names(), left + 4));
    assert_null(strstr(names(), "4294967295"));
    snprintf(left, sizeof left, "out.%ld-", (long)dead);
    assert_null(strstr(names(), left));
    end(alive);
    write_text("newer");
    assert_string_equal(names(), "out out.-2.tmpx out.1-2.tmp.txt out.tmp outer.1-2.tmp");
    has("newer");
}

/* As many as want to, at a time: one of them is there, whole. */
static void writers_do_not_meet(void **state)
{
    (void)state;
    for (int with_names = 0; with_names < 2; with_names++) {
        needs_names = with_names;
        for (int i = 0; i < 8; i++) {
            if (fork() != 0) continue;
            char text[64];
            for (int j = 0; j < 50; j++) {
                snprintf(text, sizeof text, "%d%d", i, i);
                if (adept_file_write(path, text, 2, NULL) != ADEPT_OK) _exit(1);
            }
            _exit(0);
        }
        for (int i = 0, how; i < 8; i++) {
            assert_true(wait(&how) > 0);
            assert_int_equal(how, 0);
        }
        char *text = NULL;
        size_t size;
        assert_int_equal(adept_file_read(&text, &size, path, 1000, NULL), ADEPT_OK);
        assert_true(size == 2 && text[0] == text[1]);
        free(text);
        assert_string_equal(names(), "out");
    }
}

static void modes_and_links_stay(void **state)
{
    (void)state;
    char link[128];
    struct stat st;
    for (int with_names = 0; with_names < 2; with_names++) {
        needs_names = with_names;
        write_text("a");
        assert_int_equal(chmod(path, 0640), 0);
        write_text("b");
        assert_int_equal(stat(path, &st), 0);
        assert_int_equal(st.st_mode & 07777, 0640);
        snprintf(link, sizeof link, "%s/link%d", folder, with_names);
        assert_int_equal(symlink("out", link), 0);
        assert_int_equal(adept_file_write(link, "c", 1, NULL), ADEPT_OK);
        assert_int_equal(lstat(link, &st), 0);
        assert_true(S_ISLNK(st.st_mode));
        has("c");
    }
    assert_string_equal(names(), "link0 link1 out");
    adept_file_out out;
    assert_int_equal(adept_file_begin(&out, path, NULL), ADEPT_OK);
    assert_int_equal(adept_file_end(&out, ADEPT_E_INVALID, NULL), ADEPT_E_INVALID);
    assert_string_equal(names(), "link0 link1 out");
    has("c");
}

/* Nobody waits for a pipe's other end, and nothing is read of a device. */
static void only_regular_files_are_opened(void **state)
{
    char *text = NULL, *line = NULL, hex[ADEPT_SHA256_SIZE];
    size_t size = 0, capacity = 0;
    FILE *file = NULL;
    int fd = -1;
    adept_error err = {0};

    (void)state;
    assert_int_equal(mkfifo(path, 0600), 0);
    const struct {
        const char *name, *what;
    } none[] = {{path, "not a regular file"}, {"/dev/zero", "not a regular file"}, {folder, "is a directory"}};
    for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
        assert_int_equal(adept_file_descriptor(none[i].name, 0), -1);
        assert_int_equal(adept_file_open(&fd, none[i].name, 0, &err), ADEPT_E_INVALID);
        assert_non_null(strstr(err.message, none[i].what));
        assert_int_equal(adept_file_stream(&file, none[i].name, &err), ADEPT_E_INVALID);
        assert_int_equal(adept_file_read(&text, &size, none[i].name, 99, &err), ADEPT_E_INVALID);
        assert_non_null(strstr(err.message, none[i].what));
        assert_int_equal(adept_file_sha256(hex, none[i].name, &err), ADEPT_E_INVALID);
    }
    unlink(path);
    assert_int_equal(adept_file_write(path, "one\ntwo", 7, &err), ADEPT_OK);
    assert_int_equal(adept_file_stream(&file, path, &err), ADEPT_OK);
    assert_int_equal(adept_file_line(&line, &capacity, file), 4);
    assert_string_equal(line, "one\n");
    assert_int_equal(adept_file_line(&line, &capacity, file), 3);
    assert_int_equal(adept_file_line(&line, &capacity, file), -1);
    assert_true(feof(file));
    fclose(file);
    assert_int_equal(truncate(path, (off_t)1 << 32), 0); /* a sparse file: one line of 4 GiB */
    assert_int_equal(adept_file_stream(&file, path, &err), ADEPT_OK);
    assert_int_equal(adept_file_line(&line, &capacity, file), 4);
    assert_int_equal(adept_file_line(&line, &capacity, file), -1);
    assert_int_equal(errno, EFBIG);
    assert_false(feof(file));
    fclose(file);
    free(line);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(killed_writers_leave_nothing, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_next_writer_cleans_up, set_up, tear_down),
        cmocka_unit_test_setup_teardown(writers_do_not_meet, set_up, tear_down),
        cmocka_unit_test_setup_teardown(modes_and_links_stay, set_up, tear_down),
        cmocka_unit_test_setup_teardown(only_regular_files_are_opened, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
