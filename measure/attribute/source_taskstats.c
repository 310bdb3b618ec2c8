/** @file source_taskstats.c  Records of exits over netlink: what a process did in all, to the nanosecond, also of one
 * that lived for 1 ms. Source of the facts: Documentation/accounting/taskstats.rst, include/uapi/linux/taskstats.h and
 * kernel/taskstats.c of the kernel. */
#include "adept_clock.h"
#include "activity_source.h"
#include <errno.h>
#include <linux/genetlink.h>
#include <linux/taskstats.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#define RECEIVE_BYTES (32 << 20) /* of records that wait: 10,000 and more */
#define AGROUP_FLAG 0x20         /* AGROUP of linux/acct.h since version 12: the last thread of its process */
enum {
    TGID_AT = offsetof(struct taskstats, ac_btime64) + 24,
    VERSION_WITH_TGID = 12
}; /* ac_tgid; older headers do not have it */

typedef struct taskstats_source {
    int fd;
    uint16_t family, version; /* of netlink; of the records */
    uint64_t lost;
    double drained_s, before_s; /* CLOCK_BOOTTIME: the newest record was written between these two */
    unsigned blind_looks;       /* at whose end more is waited for than is recorded, since records were lost */
} taskstats_source;

/* A record, with what matters of it. */
typedef struct exit_record {
    struct taskstats thread;
    uint32_t tgid;
    bool has_group; /* the process had several threads, of which this is the last */
    double group_cpu_s, group_switches;
} exit_record;

/* ---------------------------------------------------------------- netlink ----------------------------------------- */

/* The attribute of that type among those from `at` to `end`; its bytes in `size`. NULL: there is none. */
static const char *attribute(const char *at, const char *end, uint16_t type, size_t *size)
{
    struct nlattr a;

    for (; (size_t)(end - at) >= sizeof a; at += NLA_ALIGN(a.nla_len)) {
        memcpy(&a, at, sizeof a);
        if (a.nla_len < NLA_HDRLEN || a.nla_len > end - at) return NULL;
        *size = (size_t)a.nla_len - NLA_HDRLEN;
        if ((a.nla_type & NLA_TYPE_MASK) == type) return at + NLA_HDRLEN;
        if ((size_t)NLA_ALIGN(a.nla_len) > (size_t)(end - at)) return NULL;
    }
    return NULL;
}

/* Wait for the answer to a request, and take what it has. @return 0, or errno */
static int answer(taskstats_source *s)
{
    char bytes[8192];

    for (;;) {
        ssize_t n = recv(s->fd, bytes, sizeof bytes, 0);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return errno;
        for (struct nlmsghdr *h = (struct nlmsghdr *)bytes; NLMSG_OK(h, (size_t)n); h = NLMSG_NEXT(h, n)) {
            const char *at = (char *)h + NLMSG_LENGTH(GENL_HDRLEN), *end = (char *)h + h->nlmsg_len;
            size_t size = 0;
            if (h->nlmsg_type == NLMSG_ERROR) return -((struct nlmsgerr *)NLMSG_DATA(h))->error; /* 0: that was all */
            bool is_control = h->nlmsg_type == GENL_ID_CTRL;
            const char *found = attribute(at, end, is_control ? CTRL_ATTR_FAMILY_ID : TASKSTATS_TYPE_AGGR_PID, &size);
            if (!is_control && found) found = attribute(found, found + size, TASKSTATS_TYPE_STATS, &size);
            if (found && size >= sizeof s->family)
                memcpy(is_control ? &s->family : &s->version, found, sizeof s->family);
        }
    }
}

static int register_all(taskstats_source *s)
{
    const struct timeval patience = {.tv_sec = 2};
    const uint32_t self = (uint32_t)getpid();
    char processors[32];
    int bytes = RECEIVE_BYTES;

    snprintf(processors, sizeof processors, "0-%ld", sysconf(_SC_NPROCESSORS_CONF) - 1);
    s->fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_GENERIC);
    if (s->fd < 0) return errno;
    setsockopt(s->fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    const struct {
        uint8_t command;
        uint16_t attribute;
        const void *value;
        size_t size;
    } requests[] = {{CTRL_CMD_GETFAMILY, CTRL_ATTR_FAMILY_NAME, TASKSTATS_GENL_NAME, sizeof TASKSTATS_GENL_NAME},
                    {TASKSTATS_CMD_GET, TASKSTATS_CMD_ATTR_PID, &self, sizeof self},
                    {TASKSTATS_CMD_GET, TASKSTATS_CMD_ATTR_REGISTER_CPUMASK, processors, strlen(processors) + 1}};
    for (size_t i = 0; i < sizeof requests / sizeof *requests; i++) {
        uint16_t family = i == 0 ? GENL_ID_CTRL : s->family;
        struct {
            struct nlmsghdr head;
            struct genlmsghdr generic;
            char bytes[256];
        } m = {.head = {.nlmsg_type = family, .nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK},
               .generic = {.cmd = requests[i].command, .version = 1}};
        struct nlattr a = {.nla_type = requests[i].attribute, .nla_len = (uint16_t)(NLA_HDRLEN + requests[i].size)};
        memcpy(m.bytes, &a, sizeof a);
        memcpy(m.bytes + NLA_HDRLEN, requests[i].value, requests[i].size);
        m.head.nlmsg_len = (uint32_t)(NLMSG_LENGTH(GENL_HDRLEN) + NLA_ALIGN(a.nla_len));
        if (send(s->fd, &m, m.head.nlmsg_len, 0) != (ssize_t)m.head.nlmsg_len) return errno;
        int failed = answer(s);
        if (failed) return failed;
    }
    if (setsockopt(s->fd, SOL_SOCKET, SO_RCVBUFFORCE, &bytes, sizeof bytes))
        setsockopt(s->fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof bytes);
    return 0;
}

/* ---------------------------------------------------------------- records ----------------------------------------- */

static bool parse(exit_record *r, const char *at, const char *end)
{
    size_t size = 0, inner = 0;
    const char *thread = attribute(at, end, TASKSTATS_TYPE_AGGR_PID, &size);
    const char *stats = thread ? attribute(thread, thread + size, TASKSTATS_TYPE_STATS, &inner) : NULL;

    *r = (exit_record){0};
    if (!stats || inner < TGID_AT + sizeof r->tgid) return false; /* an older version, which open() refuses */
    memcpy(&r->thread, stats, inner < sizeof r->thread ? inner : sizeof r->thread);
    memcpy(&r->tgid, stats + TGID_AT, sizeof r->tgid);
    const char *group = attribute(at, end, TASKSTATS_TYPE_AGGR_TGID, &size);
    stats = group ? attribute(group, group + size, TASKSTATS_TYPE_STATS, &inner) : NULL;
    if (stats) {
        struct taskstats whole = {0};
        memcpy(&whole, stats, inner < sizeof whole ? inner : sizeof whole);
        r->has_group = true;
        r->group_cpu_s = 1e-9 * (double)whole.cpu_run_virtual_total;
        r->group_switches = (double)whole.cpu_count;
    }
    return true;
}

/* All its children's records are to be known of it, from the first on. */
static adept_tracked *parent_of(adept_processes *p, const exit_record *r)
{
    adept_tracked *parent = adept_processes_get(p, r->thread.ac_ppid);

    return parent || r->thread.ac_ppid == 0 ? parent : adept_processes_discover(p, (int32_t)r->thread.ac_ppid);
}

/* The process that a record is of, which was seen in /proc or not. Its start is known to the time between two drains,
 * since the record does not say when it was written. */
static adept_tracked *find(const taskstats_source *s, adept_processes *p, const exit_record *r)
{
    const double step_s = 0.5; /* a thread may wait for a processor between the making of its record and its sending */
    adept_tracked *t = adept_processes_get(p, r->tgid);
    double lived_s = 1e-6 * (double)r->thread.ac_etime, latest_s = s->drained_s - lived_s,
           earliest_s = s->before_s - lived_s;
    double start_s = t ? (double)t->start_ticks / p->ticks_per_s : NAN;

    /* A thread began after its process: only the first thread tells when that was. */
    if (t && (r->thread.ac_pid != r->tgid || (start_s >= earliest_s - step_s && start_s <= latest_s + step_s)))
        return t;
    if (r->thread.ac_pid != r->tgid && !r->has_group)
        return NULL; /* a thread of a process that is not known: its last record has it all */
    t = adept_processes_add(p, r->tgid, (uint64_t)fmax(0, latest_s * p->ticks_per_s));
    if (!t) return NULL;
    parent_of(p, r);
    if (latest_s >= (double)p->begin_ticks / p->ticks_per_s) adept_tracked_from_zero(t);
    t->parent = (int32_t)r->thread.ac_ppid;
    t->uid = r->thread.ac_uid;
    adept_processes_identify(p, t, false);
    return t;
}

static double most(double a, double b)
{
    return fmax(a, b); /* of a NAN and a number, the number */
}

static void take(const taskstats_source *s, adept_processes *p, const exit_record *r)
{
    adept_tracked *t = find(s, p, r);

    if (!t) return;
    t->ended_read_bytes += (double)r->thread.read_bytes;
    t->ended_write_bytes += (double)r->thread.write_bytes;
    if (!(r->thread.ac_flag & AGROUP_FLAG)) return;
    double cpu_s = r->has_group ? r->group_cpu_s : 1e-9 * (double)r->thread.cpu_run_virtual_total;
    double switches = r->has_group ? r->group_switches : (double)r->thread.cpu_count;
    t->now[ADEPT_ACTIVITY_CPU_TIME_S] = most(t->now[ADEPT_ACTIVITY_CPU_TIME_S], cpu_s);
    if (t->n_threads < 2) /* of several, /proc did not say so far: all at once would be too many */
        t->now[ADEPT_ACTIVITY_SWITCHES] = most(t->now[ADEPT_ACTIVITY_SWITCHES], switches);
    t->now[ADEPT_ACTIVITY_READ_BYTES] = most(t->now[ADEPT_ACTIVITY_READ_BYTES], t->ended_read_bytes);
    t->now[ADEPT_ACTIVITY_WRITE_BYTES] = most(t->now[ADEPT_ACTIVITY_WRITE_BYTES], t->ended_write_bytes);
    t->now[ADEPT_ACTIVITY_MEMORY_BYTES] = 0;
    if (r->thread.ac_pid == r->tgid || !*t->command) adept_tracked_rename(t, r->thread.ac_comm);
    adept_tracked *parent = parent_of(p, r);
    t->parent = (int32_t)r->thread.ac_ppid;
    if (parent) {
        parent->ended_s += t->now[ADEPT_ACTIVITY_CPU_TIME_S] + t->ended_s;
        parent->has_waited = true;
    }
    adept_processes_end(p, t);
}

static void drain(void *state, adept_processes *p)
{
    taskstats_source *s = state;
    char bytes[16384];

    for (;;) {
        double asked_s = adept_clock_of_s(CLOCK_BOOTTIME);
        ssize_t n = recv(s->fd, bytes, sizeof bytes, MSG_DONTWAIT);
        if (n < 0 && errno == ENOBUFS) { /* what came later is there */
            s->lost++;
            s->blind_looks = 2;
            for (size_t i = 0; i < p->n; i++)
                p->all[i]->has_waited = true; /* for what was lost: to be read anew */
        }
        if (n < 0 && errno != ENOBUFS && errno != EINTR) {
            s->before_s = asked_s; /* what was written until then has been read */
            return;
        }
        s->drained_s = adept_clock_of_s(CLOCK_BOOTTIME); /* not before: a record may come while others are read */
        for (struct nlmsghdr *h = (struct nlmsghdr *)bytes; n > 0 && NLMSG_OK(h, (size_t)n); h = NLMSG_NEXT(h, n)) {
            exit_record r;
            if (h->nlmsg_type == s->family &&
                parse(&r, (char *)h + NLMSG_LENGTH(GENL_HDRLEN), (char *)h + h->nlmsg_len))
                take(s, p, &r);
        }
    }
}

/* After /proc was looked at, which says what parents waited for. Of a child that ended since the last drain the parent
 * may have the time already and its record waits: it is read first, lest another child gets that time and it counts
 * twice. */
static void look(void *state, adept_processes *p)
{
    taskstats_source *s = state;

    drain(s, p);
    for (size_t i = 0; i < p->n && s->blind_looks > 0; i++)
        p->all[i]->ended_s = fmax(p->all[i]->ended_s, p->all[i]->waited_s); /* whose it was is lost */
    s->blind_looks -= s->blind_looks > 0;
    adept_processes_settle(p);
}

/* ---------------------------------------------------------------- the source -------------------------------------- */

static void close_taskstats(void *state)
{
    taskstats_source *s = state;

    if (s->fd >= 0) close(s->fd); /* the kernel forgets who listened */
    free(s);
}

static bool open_taskstats(void **state, adept_processes *p, bool has[ADEPT_ACTIVITIES], char *why, size_t size)
{
    taskstats_source *s = calloc(1, sizeof *s);
    int failed = s ? register_all(s) : ENOMEM;

    (void)p;
    (void)has; /* the same kinds as /proc's */
    if (!failed && s->version >= VERSION_WITH_TGID) {
        s->drained_s = s->before_s = adept_clock_of_s(CLOCK_BOOTTIME);
        *state = s;
        return true;
    }
    if (failed == EPERM || failed == EACCES)
        snprintf(why, size, "permission denied: it needs root, or CAP_NET_ADMIN");
    else if (failed)
        snprintf(why, size, "%s", failed == ENOENT ? "this kernel has none (CONFIG_TASKSTATS)" : strerror(failed));
    else
        snprintf(why, size, "records of version %u do not say which process a thread was of: Linux 5.19 is needed",
                 s->version);
    if (s) close_taskstats(s);
    return false;
}

static uint64_t lost(const void *state)
{
    return ((const taskstats_source *)state)->lost;
}

const adept_activity_source adept_activity_source_taskstats = {
    .name = "taskstats",
    .counts = "processes that ended, by the records of their exits",
    .open = open_taskstats,
    .drain = drain,
    .look = look,
    .lost = lost,
    .close = close_taskstats,
};
