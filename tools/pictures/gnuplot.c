/** @file gnuplot.c  gnuplot gets its program through a pipe and writes the picture to another: neither a shell nor a
 * file name takes part, and texts that come from files are quoted and stripped of everything that could be a command.
 */
#include "gnuplot.h"
#include "adept_grow.h"
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

#define MAX_PICTURE_BYTES ((size_t)64 << 20)
#define READ_BYTES 65536
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

/* The program as an open file: gnuplot reads it at its own pace while we read the picture. */
static int script_file(const char *text)
{
    int fd = memfd_create("plot", MFD_CLOEXEC);
    size_t size = strlen(text);

    for (size_t at = 0; fd >= 0 && at < size;) {
        ssize_t n = write(fd, text + at, size - at);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) {
            close(fd);
            return -1;
        }
        at += (size_t)n;
    }
    if (fd >= 0 && lseek(fd, 0, SEEK_SET) != 0) {
        close(fd);
        return -1;
    }
    return fd;
}

static bool start_gnuplot(pid_t *pid, int in, int out)
{
    char *const arguments[] = {"gnuplot", "--default-settings", "-", NULL};
    posix_spawn_file_actions_t actions;
    bool ok = posix_spawn_file_actions_init(&actions) == 0;

    if (!ok) return false;
    ok = posix_spawn_file_actions_adddup2(&actions, in, 0) == 0 &&
         posix_spawn_file_actions_adddup2(&actions, out, 1) == 0 &&
         posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0) == 0 &&
         posix_spawnp(pid, "gnuplot", &actions, NULL, arguments, environ) == 0;
    posix_spawn_file_actions_destroy(&actions);
    return ok;
}

static char *read_picture(int fd, size_t *size)
{
    adept_buffer text = {.data = NULL};
    char *room;

    while (text.size <= MAX_PICTURE_BYTES && (room = adept_buffer_room(&text, READ_BYTES))) {
        ssize_t n = read(fd, room, text.capacity - text.size);
        if (n < 0 && errno == EINTR) continue;
        *size = text.size;
        if (n == 0) return adept_buffer_take(&text);
        if (n < 0) break;
        text.size += (size_t)n;
    }
    adept_buffer_free(&text);
    return NULL;
}

char *adept_gnuplot_draw(const char *script, size_t *size)
{
    int ends[2], in = script_file(script), how = 0;
    pid_t pid;
    char *picture = NULL;

    if (in < 0) return NULL;
    if (pipe2(ends, O_CLOEXEC) != 0) {
        close(in);
        return NULL;
    }
    bool started = start_gnuplot(&pid, in, ends[1]);
    close(in);
    close(ends[1]);
    if (started) {
        picture = read_picture(ends[0], size);
        close(ends[0]);
        while (waitpid(pid, &how, 0) < 0 && errno == EINTR)
            ;
    } else {
        close(ends[0]);
    }
    if (picture && WIFEXITED(how) && WEXITSTATUS(how) == 0 && *size > 0) return picture;
    free(picture);
    return NULL;
}
