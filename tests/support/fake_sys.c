#include "fake_sys.h"
#include "adept_clock.h"
#include <fcntl.h>
#include <ftw.h>
#include <grp.h>
#include <math.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MOST_DRIVES 64
#define WIDTH 20 /* digits of a driven number: rewritten in place, so that a reader sees all of one */

struct fake_drive {
    pthread_t thread;
    int file;
    double (*value)(double time_s);
    double start, range, begin_s;
    _Atomic double written;
    atomic_bool is_running;
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
        fake_drive_stop(sys->drives[i]);
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
    for (size_t i = 0; i < sys->n_drives; i++) { /* whoever drives the file must not write into it again */
        struct stat driven, named;
        check(fstat(sys->drives[i]->file, &driven) == 0 && stat(full, &named) == 0, full);
        if (driven.st_ino == named.st_ino) fake_drive_stop(sys->drives[i]);
    }
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

static void write_value(fake_drive *drive)
{
    char text[WIDTH + 2];
    double value = drive->value(fake_drive_s(drive)), number = drive->start + value;

    if (drive->range > 0) number = fmod(number, drive->range);
    snprintf(text, sizeof text, "%0*.0f\n", WIDTH, floor(number));
    check(pwrite(drive->file, text, WIDTH + 1, 0) == WIDTH + 1, "pwrite");
    drive->written = value;
}

static void *drive_file(void *context)
{
    fake_drive *drive = context;

    while (drive->is_running) {
        write_value(drive);
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
    return NULL;
}

fake_drive *fake_sys_drive(fake_sys *sys, const char *path, double (*value)(double time_s), double start, double range)
{
    char full[512];
    fake_drive *drive = calloc(1, sizeof *drive);

    check(drive && sys->n_drives < MOST_DRIVES, "too many drives");
    fake_sys_put(sys, path, "%s", "");
    full_path(full, sizeof full, sys, path);
    *drive =
        (fake_drive){.value = value, .start = start, .range = range, .begin_s = adept_clock_s(), .is_running = true};
    drive->file = open(full, O_WRONLY | O_CLOEXEC);
    check(drive->file >= 0, full);
    write_value(drive);
    check(pthread_create(&drive->thread, NULL, drive_file, drive) == 0, "pthread_create");
    return sys->drives[sys->n_drives++] = drive;
}

double fake_drive_s(const fake_drive *drive)
{
    return adept_clock_s() - drive->begin_s;
}

double fake_drive_value(const fake_drive *drive)
{
    return drive->written;
}

void fake_drive_stop(fake_drive *drive)
{
    if (atomic_exchange(&drive->is_running, false)) pthread_join(drive->thread, NULL);
}
