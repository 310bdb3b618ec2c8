/** @file child.c  A command, its signals, and the processes that outlive it; a process of somebody else. */
#include "adept_child.h"
#include "adept_clock.h"
#include "adept_sensor.h"
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static sigset_t watched(void)
{
    static const int signals[] = {SIGCHLD, SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2};
    sigset_t set;

    sigemptyset(&set);
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
        sigaddset(&set, signals[i]);
    return set;
}

/* In the child: only what is allowed between fork and exec. What went wrong goes through the pipe. */
static void become(const char *const *argv, const sigset_t *mask, int report)
{
    sigprocmask(SIG_SETMASK, mask, NULL);
    signal(SIGPIPE, SIG_DFL); /* what adept ignores would stay ignored: `yes | head` would complain */
    signal(SIGXFSZ, SIG_DFL);
    execvp(argv[0], (char *const *)argv);
    int why = errno;
    ssize_t written = write(report, &why, sizeof why);
    (void)written; /* nothing is left to tell it to */
    _exit(why == ENOENT ? 127 : 126);
}

adept_status adept_child_start(adept_child *child, const char *const *argv, adept_error *err)
{
    sigset_t set = watched();
    int report[2], why = 0;

    *child = (adept_child){.pid = -1};
    if (pipe2(report, O_CLOEXEC))
        return adept_error_set(err, ADEPT_E_INTERNAL, "cannot start %s: %s", argv[0], strerror(errno));
    prctl(PR_SET_CHILD_SUBREAPER, 1); /* what the command leaves behind becomes ours to wait for */
    sigprocmask(SIG_BLOCK, &set, &child->mask);
    child->begin_s = adept_clock_s();
    child->pid = fork();
    if (child->pid == 0) become(argv, &child->mask, report[1]);
    int failed = errno;
    close(report[1]);
    ssize_t n;
    do
        n = child->pid < 0 ? 0 : read(report[0], &why, sizeof why);
    while (n < 0 && errno == EINTR);
    close(report[0]);
    if (child->pid > 0 && n != (ssize_t)sizeof why) return ADEPT_OK;
    sigprocmask(SIG_SETMASK, &child->mask, NULL);
    if (child->pid < 0) return adept_error_set(err, ADEPT_E_INTERNAL, "cannot start %s: %s", argv[0], strerror(failed));
    waitpid(child->pid, NULL, 0);
    child->exit_status = why == ENOENT ? 127 : 126;
    return adept_error_set(err, ADEPT_E_USAGE, "cannot run %s: %s", argv[0], strerror(why));
}

/* @return whether any process is left */
static bool reap(adept_child *child)
{
    int status;
    pid_t pid;

    while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
        if (pid == child->pid) {
            child->has_ended = true;
            child->exit_status = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
        }
    return pid == 0;
}

static int next_signal(siginfo_t *info, double wait_s)
{
    sigset_t set = watched();
    double whole_s = floor(wait_s);
    struct timespec wait = {.tv_sec = (time_t)whole_s, .tv_nsec = (long)(1e9 * (wait_s - whole_s))};

    return sigtimedwait(&set, info, &wait);
}

static bool ends(int signal)
{
    return signal == SIGINT || signal == SIGTERM || signal == SIGHUP || signal == SIGQUIT;
}

void adept_child_wait(adept_child *child, double tick_s, void (*tick)(void *data), void *data)
{
    double ticked_s = adept_clock_s();

    while (reap(child) && !child->was_left) {
        siginfo_t info;
        int signal = next_signal(&info, tick_s);
        double now_s = adept_clock_s();
        if (ends(signal)) child->signal = signal;
        if (signal > 0 && signal != SIGCHLD) {
            if (child->has_ended)
                child->was_left = signal == SIGINT || signal == SIGTERM;
            else if (info.si_code != SI_KERNEL)
                kill(child->pid, signal);
        }
        /* children that end fast are no reason to tick less */
        if (!tick || (now_s - ticked_s < tick_s && !ends(signal))) continue;
        tick(data);
        ticked_s = now_s;
    }
    child->end_s = adept_clock_s();
    sigprocmask(SIG_SETMASK, &child->mask, NULL);
}

/* ---------------------------------------------------------------- a process of others ----------------------------- */

/* Fields 3, 20 and 22 of /proc/PID/stat, behind a name that may hold anything. @return when it started; 0: it does not
 * run */
static unsigned long long started(pid_t pid)
{
    char path[64], text[1024], state = 'X';
    unsigned long long start = 0;
    long threads = 0;

    snprintf(path, sizeof path, "/proc/%ld/stat", (long)pid);
    const char *name_end = adept_sensor_text(text, sizeof text, path) ? strrchr(text, ')') : NULL;
    if (!name_end ||
        sscanf(name_end + 1, " %c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %ld %*s %llu", &state,
               &threads, &start) != 3)
        return 0;
    return state == 'X' || (state == 'Z' && threads < 2) ? 0 : start; /* a first thread may end before others do */
}

static bool still_runs(const adept_attached *process)
{
    struct pollfd ended = {.fd = process->fd, .events = POLLIN};

    return process->fd >= 0 ? poll(&ended, 1, 0) <= 0 : process->start > 0 && started(process->pid) == process->start;
}

bool adept_attached_open(adept_attached *process, pid_t pid)
{
    *process = (adept_attached){.pid = pid, .fd = (int)syscall(SYS_pidfd_open, pid, 0)};
    if (process->fd < 0) process->start = started(pid);
    if (still_runs(process)) return true;
    adept_attached_close(process);
    return false;
}

void adept_attached_close(adept_attached *process)
{
    if (process->pid > 0 && process->fd >= 0) close(process->fd);
    *process = (adept_attached){.pid = 0};
}

void adept_child_watch(adept_child *child, const adept_attached *process, double duration_s, double tick_s,
                       void (*tick)(void *data), void *data)
{
    const double look_s = 0.02; /* how often it is asked whether the process still runs */
    sigset_t set = watched();
    double ticked_s = adept_clock_s();
    bool goes_on = true;

    *child = (adept_child){.begin_s = ticked_s, .exit_status = -1};
    sigprocmask(SIG_BLOCK, &set, &child->mask);
    while (goes_on) {
        siginfo_t info;
        double now_s = adept_clock_s(), left_s = child->begin_s + duration_s - now_s;
        if (!(left_s > 0) || (process && !still_runs(process))) break;
        int signal = next_signal(&info, fmin(left_s, process ? look_s : tick_s));
        if (tick && now_s - ticked_s >= tick_s) {
            tick(data);
            ticked_s = now_s;
        }
        if (ends(signal)) child->signal = signal;
        goes_on = !child->signal;
    }
    child->end_s = adept_clock_s();
    sigprocmask(SIG_SETMASK, &child->mask, NULL);
}
