#include "fake_sys.h"
#include <fcntl.h>
#include <ftw.h>
#include <grp.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define MOST_DRIVES 64
#define WIDTH 20 /* digits of a driven number: rewritten in place, so that a reader sees all of one */

struct fake_drive {
    int file;
    double (*value)(double time_s);
    double start, range;
};

struct fake_sys {
    char root[64];
    fake_drive *drives[MOST_DRIVES];
    size_t n_drives;
};

static void check(bool is_fine, const char *what)
{
    if (is_fine) return;
    perror(what);
    abort();
}

fake_sys *fake_sys_new(void)
{
    fake_sys *sys = calloc(1, sizeof *sys);

    check(sys, "calloc");
    snprintf(sys->root, sizeof sys->root, "/tmp/adept-sys-XXXXXX");
    check(mkdtemp(sys->root) && chmod(sys->root, 0755) == 0, sys->root);
    return sys;
}

static int remove_entry(const char *path, const struct stat *what, int kind, struct FTW *where)
{
    (void)what, (void)kind, (void)where;
    return remove(path);
}

void fake_sys_free(fake_sys *sys)
{
    if (!sys) return;
    for (size_t i = 0; i < sys->n_drives; i++) {
        close(sys->drives[i]->file);
        free(sys->drives[i]);
    }
    check(nftw(sys->root, remove_entry, 16, FTW_DEPTH | FTW_PHYS) == 0, sys->root);
    free(sys);
}

const char *fake_sys_root(const fake_sys *sys)
{
    return sys->root;
}

static void full_path(char *full, size_t size, const fake_sys *sys, const char *path)
{
    check(snprintf(full, size, "%s%s", sys->root, path) < (int)size, path);
}

/* The folders above a file. */
static void make_folders(char *full)
{
    for (char *at = strchr(full + 1, '/'); at; at = strchr(at + 1, '/')) {
        *at = '\0';
        if (access(full, F_OK) != 0) check(mkdir(full, 0755) == 0, full);
        *at = '/';
    }
}

static FILE *new_file(fake_sys *sys, const char *path)
{
    char full[512];

    full_path(full, sizeof full, sys, path);
    make_folders(full);
    FILE *file = fopen(full, "w");
    check(file, full);
    return file;
}

void fake_sys_put(fake_sys *sys, const char *path, const char *format, ...)
{
    FILE *file = new_file(sys, path);
    va_list words;

    va_start(words, format);
    vfprintf(file, format, words);
    va_end(words);
    fputc('\n', file);
    check(fclose(file) == 0, path);
}

void fake_sys_put_bytes(fake_sys *sys, const char *path, const void *bytes, size_t size)
{
    FILE *file = new_file(sys, path);

    check(fwrite(bytes, 1, size, file) == size && fclose(file) == 0, path);
}

void fake_sys_link(fake_sys *sys, const char *path, const char *target)
{
    char full[512];

    full_path(full, sizeof full, sys, path);
    make_folders(full);
    check(symlink(target, full) == 0, full);
}

void fake_sys_remove(fake_sys *sys, const char *path)
{
    char full[512];

    full_path(full, sizeof full, sys, path);
    check(truncate(full, 0) == 0 && unlink(full) == 0, full);
}

static void set_mode(fake_sys *sys, const char *path, mode_t mode)
{
    char full[512];

    full_path(full, sizeof full, sys, path);
    check(chmod(full, mode) == 0, full);
}

void fake_sys_deny(fake_sys *sys, const char *path)
{
    set_mode(sys, path, 0);
}

void fake_sys_protect(fake_sys *sys, const char *path)
{
    set_mode(sys, path, 0444);
}

bool fake_sys_as_nobody(bool (*try)(void *context), void *context)
{
    const unsigned nobody = 65534;
    int status = 0;

    if (geteuid() != 0) return try(context);
    pid_t child = fork();
    check(child >= 0, "fork");
    if (child == 0) {
        check(setgroups(0, NULL) == 0 && setgid(nobody) == 0 && setuid(nobody) == 0, "setuid");
        _exit(try(context) ? 0 : 1);
    }
    check(waitpid(child, &status, 0) == child, "waitpid");
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/* ---------------------------------------------------------------- numbers that change ---------------------------- */

void fake_drive_to(fake_drive *drive, double time_s)
{
    char text[WIDTH + 2];
    double number = drive->start + drive->value(time_s);

    if (drive->range > 0) number = fmod(number, drive->range);
    snprintf(text, sizeof text, "%0*.0f\n", WIDTH, floor(number));
    check(pwrite(drive->file, text, WIDTH + 1, 0) == WIDTH + 1, "pwrite");
}

fake_drive *fake_sys_drive(fake_sys *sys, const char *path, double (*value)(double time_s), double start, double range)
{
    char full[512];
    fake_drive *drive = calloc(1, sizeof *drive);

    check(drive && sys->n_drives < MOST_DRIVES, "too many drives");
    fake_sys_put(sys, path, "%s", "");
    full_path(full, sizeof full, sys, path);
    *drive = (fake_drive){.value = value, .start = start, .range = range, .file = open(full, O_WRONLY | O_CLOEXEC)};
    check(drive->file >= 0, full);
    fake_drive_to(drive, 0);
    return sys->drives[sys->n_drives++] = drive;
}
