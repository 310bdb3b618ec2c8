/** @file gnuplot.c  gnuplot gets its program and writes its picture through open files: neither a shell nor a file name
 * takes part, and texts that come from files are quoted and stripped of everything that could be a command.
 */
#include "gnuplot.h"
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define MAX_PICTURE_BYTES ((off_t)64 << 20)
#define MAX_TEXT_BYTES 80

/* Quotes, back quotes and backslashes would end a text or run something, the rest is what SVG would have to escape. */
void adept_gnuplot_text(FILE *out, const char *text)
{
    fputc('"', out);
    for (const char *p = text; *p && p - text < MAX_TEXT_BYTES; p++)
        fputc(isalnum((unsigned char)*p) || strchr("_.+-,:(){}/%=", *p) ? *p : ' ', out);
    fputc('"', out);
}

adept_status adept_gnuplot_check(const char *what, adept_error *err)
{
    const char *path = getenv("PATH");

    for (const char *at = path ? path : "/usr/bin:/bin"; *at;) {
        char program[4096];
        size_t n = strcspn(at, ":");
        snprintf(program, sizeof program, "%.*s/gnuplot", (int)n, at);
        if (n > 0 && n < sizeof program - 16 && access(program, X_OK) == 0) return ADEPT_OK;
        at += n + (at[n] == ':');
    }
    return adept_error_set(err, ADEPT_E_INTERNAL, "%s needs gnuplot, which cannot be started (Debian: gnuplot-nox)",
                           what);
}

/* @return 0, or what errno would be */
static int start_gnuplot(pid_t *pid, int in, int out)
{
    char *const arguments[] = {"gnuplot", "--default-settings", "-", NULL};
    posix_spawn_file_actions_t actions;

    int failed = posix_spawn_file_actions_init(&actions);
    if (failed) return failed;
    failed = posix_spawn_file_actions_adddup2(&actions, in, 0);
    if (!failed) failed = posix_spawn_file_actions_adddup2(&actions, out, 1);
    if (!failed) failed = posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
    if (!failed) failed = posix_spawnp(pid, "gnuplot", &actions, NULL, arguments, environ);
    posix_spawn_file_actions_destroy(&actions);
    return failed;
}

static bool run_gnuplot(int in, int out)
{
    pid_t pid;
    int how = -1;

    int failed = errno = start_gnuplot(&pid, in, out);
    if (failed) return false;
    while (waitpid(pid, &how, 0) < 0 && errno == EINTR)
        ;
    return WIFEXITED(how) && WEXITSTATUS(how) == 0;
}

static char *read_picture(int fd, size_t *size)
{
    struct stat st;

    if (fstat(fd, &st) != 0 || st.st_size <= 0 || st.st_size > MAX_PICTURE_BYTES) return NULL;
    *size = (size_t)st.st_size;
    char *picture = malloc(*size + 1);
    if (!picture) return NULL;
    picture[*size] = '\0';
    for (size_t at = 0; at < *size;) {
        ssize_t n = pread(fd, picture + at, *size - at, (off_t)at);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) {
            free(picture);
            return NULL;
        }
        at += (size_t)n;
    }
    return picture;
}

/* Pixels are 1/96 of an inch, and 3/4 of the points that a PDF's texts are in. */
static const char *terminal_of(const char *name)
{
    const char *end = strrchr(name, '.');

    if (end && strcasecmp(end, ".pdf") == 0)
        return "\"set terminal pdfcairo size %.4fin,%.4fin noenhanced font 'sans-serif,%.2f' fontscale 1 background "
               "rgb 'white'\", w / 96.0, h / 96.0, 0.75 * f";
    if (end && strcasecmp(end, ".png") == 0)
        return "\"set terminal pngcairo size %.0f,%.0f noenhanced font 'sans-serif,%.2f' fontscale 1 background rgb "
               "'white'\", w, h, 0.75 * f";
    return "\"set terminal svg size %.0f,%.0f noenhanced font 'sans-serif,%.0f' background rgb 'white'\", w, h, f";
}

/* Both are files in memory: nobody waits for the other. */
char *adept_gnuplot_draw(const char *script, const char *name, size_t *size)
{
    char *picture = NULL;

    errno = 0;
    int in = memfd_create("program", MFD_CLOEXEC), out = memfd_create("picture", MFD_CLOEXEC);
    if (in >= 0 && out >= 0 &&
        dprintf(in, "adept_terminal(w, h, f) = sprintf(%s)\n%s", terminal_of(name), script) >= 0 &&
        lseek(in, 0, SEEK_SET) == 0 && run_gnuplot(in, out))
        picture = read_picture(out, size);
    int why = errno;
    if (in >= 0) close(in);
    if (out >= 0) close(out);
    errno = why;
    return picture;
}

adept_status adept_gnuplot_picture(char **picture, size_t *size, char *script, const char *name, adept_error *err)
{
    if (!script) return adept_error_set(err, ADEPT_E_NOMEM, "out of memory while drawing");
    *picture = adept_gnuplot_draw(script, name, size);
    int why = errno;
    free(script);
    if (!*picture && why == ENOMEM) return adept_error_set(err, ADEPT_E_NOMEM, "out of memory while drawing");
    if (!*picture && why != 0)
        return adept_error_set(err, ADEPT_E_INTERNAL, "%s: cannot start gnuplot: %s", name, strerror(why));
    return *picture ? ADEPT_OK : adept_error_set(err, ADEPT_E_INTERNAL, "%s: gnuplot cannot draw it", name);
}
