/** @file process_files.c  What files below /proc/PID say, by Documentation/filesystems/proc.rst of the kernel. */
#include "processes.h"
#include "adept_file.h"
#include "adept_number.h"
#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define PF_EXITING 0x4 /* include/linux/sched.h; field 9 has it */

static int open_file(const adept_processes *p, int32_t pid, const char *name)
{
    char path[4096];

    if (snprintf(path, sizeof path, "%s/%d/%s", p->proc, (int)pid, name) >= (int)sizeof path) {
        errno = ENAMETOOLONG;
        return -1;
    }
    return adept_file_descriptor(path, 0);
}

/* Ends with two zeros, so that a list of texts that end with one has an end. */
static bool read_file(char *text, size_t size, int fd)
{
    ssize_t n = pread(fd, text, size - 2, 0);

    if (n < 0) return false;
    text[n] = text[n + 1] = '\0';
    return true;
}

bool adept_proc_text(char *text, size_t size, const adept_processes *p, int32_t pid, const char *name)
{
    int fd = open_file(p, pid, name);
    bool is_read = fd >= 0 && read_file(text, size, fd);
    int why = errno;

    if (fd >= 0) close(fd);
    errno = why;
    return is_read;
}

bool adept_tracked_text(char *text, size_t size, adept_processes *p, adept_tracked *t, int file)
{
    static const char *const names[ADEPT_PROCESS_FILES] = {"stat", "io", "schedstat"};

    if (t->files[file] >= 0) return read_file(text, size, t->files[file]);
    if (p->files_left == 0) return adept_proc_text(text, size, p, t->pid, names[file]);
    t->files[file] = open_file(p, t->pid, names[file]);
    if (t->files[file] < 0) return false;
    p->files_left--;
    return read_file(text, size, t->files[file]);
}

/* A field of digits, perhaps behind a '-', and the blank in front of it. @return what follows; NULL: it is none */
static const char *next_field(double *value, const char *at)
{
    uint64_t whole = 0;

    if (*at++ != ' ') return NULL;
    bool is_negative = *at == '-';
    at += is_negative;
    const char *digits = at;
    for (; *at >= '0' && *at <= '9'; at++)
        whole =
            whole * 10 + (uint64_t)(*at - '0'); /* the kernel's have 64 bits; a text that is none of its wraps around */
    *value = is_negative ? -(double)whole : (double)whole;
    return at > digits ? at : NULL;
}

/* "PID (NAME) STATE PPID ...": NAME may hold anything, brackets and blanks too, but for a last ')'. */
bool adept_proc_stat_parse(adept_proc_stat *out, const char *text)
{
    enum {
        PARENT = 4,
        FLAGS = 9,
        UTIME = 14,
        STIME,
        CUTIME,
        CSTIME,
        THREADS = 20,
        START = 22,
        RSS = 24
    }; /* as proc(5) counts */
    const char *name = strchr(text, '('), *end = strrchr(text, ')');
    double fields[RSS + 1] = {0};

    if (!name || !end || end < name || end[1] != ' ' || !end[2]) return false;
    const char *at = end + 3;
    for (size_t i = PARENT; at && i <= RSS; i++)
        at = next_field(&fields[i], at);
    if (!at ||
        !(fields[PARENT] >= 0 && fields[PARENT] <= INT32_MAX && fields[THREADS] >= 0 && fields[THREADS] <= INT32_MAX))
        return false;
    size_t length = (size_t)(end - name) - 1;
    bool is_ending = end[2] == 'Z' || end[2] == 'X' || (uint64_t)fmax(fields[FLAGS], 0) & PF_EXITING;
    *out = (adept_proc_stat){
        .is_ending = is_ending && fields[THREADS] < 2, /* a first thread may end before others do */
        .parent = (int32_t)fields[PARENT],
        .cpu_ticks = fields[UTIME] + fields[STIME],
        .waited_ticks = fields[CUTIME] + fields[CSTIME],
        .n_threads = (long)fields[THREADS],
        .start_ticks = (uint64_t)fmax(fields[START], 0), /* below 2^53 for a long time */
        .rss_pages = fmax(fields[RSS], 0),
    };
    memcpy(out->command, name + 1, length < sizeof out->command ? length : sizeof out->command - 1);
    return true;
}

bool adept_proc_stat_read(adept_proc_stat *out, const adept_processes *p, int32_t pid)
{
    char text[2048];

    return adept_proc_text(text, sizeof text, p, pid, "stat") && adept_proc_stat_parse(out, text);
}

bool adept_tracked_stat(adept_proc_stat *out, adept_processes *p, adept_tracked *t)
{
    char text[2048];

    return adept_tracked_text(text, sizeof text, p, t, ADEPT_FILE_STAT) && adept_proc_stat_parse(out, text);
}

double adept_proc_field(const char *text, const char *name)
{
    size_t length = strlen(name);

    for (const char *line = text; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (strncmp(line, name, length) != 0 || line[length] != ':') continue;
        const char *digits = line + length + 1 + strspn(line + length + 1, " \t");
        return *digits >= '0' && *digits <= '9' ? strtod(digits, NULL) : NAN;
    }
    return NAN;
}

int32_t adept_proc_inner_pid(const char *status)
{
    const char *at = strstr(status, "\nNSpid:");
    int64_t pid = 0, count = 0;

    for (at = at ? at + strlen("\nNSpid:") : ""; count < 64; count++) { /* namespaces nest 32 times at most */
        at += strspn(at, " \t");
        if (!adept_integer_parse(&pid, at, &at, 1, INT32_MAX)) break;
    }
    return count > 1 ? (int32_t)pid : 0;
}

/* "/NAME_N" at the beginning. @return what follows; NULL: it is not there */
static const char *numbered(int64_t *number, const char *at, const char *name)
{
    size_t length = strlen(name);
    const char *end;

    if (strncmp(at, name, length) != 0) return NULL;
    return adept_integer_parse(number, at + length, &end, 0, INT64_MAX - 2) && (*end == '\0' || *end == '/') ? end
                                                                                                             : NULL;
}

/* What stands behind slices of systemd from the root on, "/system.slice/"; Slurm's CgroupSlice names another. Those of
 * users have what they make. NULL: there is none. */
static const char *behind_slices(const char *path)
{
    static const char slice[] = ".slice";
    const size_t length = sizeof slice - 1;
    const char *at = path;

    if (strncmp(path, "/user.slice/", strlen("/user.slice/")) == 0) return NULL;
    for (const char *end; *at == '/'; at = end) {
        end = strchrnul(at + 1, '/');
        if ((size_t)(end - at) <= length + 1 || strncmp(end - length, slice, length) != 0) break;
    }
    return at > path && *at == '/' ? at + 1 : NULL;
}

/* Is the word among those between commas? */
static bool has_word(const char *list, const char *word)
{
    size_t length = strlen(word);

    for (const char *at = list; (at = strstr(at, word)); at += length)
        if ((at == list || at[-1] == ',') && (at[length] == ',' || at[length] == '\0')) return true;
    return false;
}

const char *adept_proc_cgroup(char *text, int64_t *job)
{
    const char *found = "", *unified = "";

    *job = -1;
    for (char *line; (line = strsep(&text, "\n"));) { /* "2:cpu,cpuacct:/path" */
        char *controllers = strchr(line, ':'), *path = controllers ? strchr(controllers + 1, ':') : NULL;
        if (!path) continue;
        *path++ = '\0';
        controllers++;
        if (*job < 0) {
            /* Slurm's layouts from the root, where nobody but root makes folders: /slurm[_NODE]/uid_U/job_J/... (v1),
             * /system.slice/[NODE_]slurmstepd.scope/job_J/... (v2). Below a user's own folder anybody may call one so.
             */
            static const char scope[] = "slurmstepd.scope";
            const size_t length = sizeof scope - 1;
            const char *at = NULL, *first = behind_slices(path);
            int64_t number = 0;
            if (first) {
                const char *end = strchrnul(first, '/'), *name = end - length;
                bool is_scope = end - first >= (ptrdiff_t)length && strncmp(name, scope, length) == 0;
                if (is_scope && (name == first || name[-1] == '_')) at = end;
            } else if (strncmp(path, "/slurm", 6) == 0 && strchr("/_", path[6])) {
                at = numbered(&number, strchrnul(path + 6, '/'), "/uid_");
            }
            at = at ? numbered(&number, at, "/job_") : NULL;
            *job = at && number > 0 ? number : -1;
        }
        if (has_word(controllers, "cpuacct")) found = path;
        if (*controllers == '\0') unified = path;
    }
    return *found ? found : unified;
}
