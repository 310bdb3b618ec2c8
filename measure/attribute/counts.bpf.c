/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
 * counts.bpf.c  Runs in the kernel (clang -target bpf): counts what each process does where it does it. Of the kernel's
 * types only the members that are used are declared; libbpf finds them in the running kernel (CO-RE). */
#include <linux/bpf.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include "counts.h"

#define KERNEL_TYPE __attribute__((preserve_access_index))

struct sched_entity {
    __u64 sum_exec_runtime;
} KERNEL_TYPE;
struct task_io_accounting {
    __u64 read_bytes, write_bytes;
} KERNEL_TYPE;
typedef struct {
    int counter;
} KERNEL_TYPE atomic_t;
typedef struct {
    __u32 val;
} KERNEL_TYPE kuid_t;
struct cred {
    kuid_t uid;
} KERNEL_TYPE;
struct signal_struct {
    atomic_t live; /* threads that have not begun to exit */
} KERNEL_TYPE;
struct task_struct {
    int pid, tgid;
    __u64 start_boottime;
    struct sched_entity se;
    struct task_struct *real_parent, *group_leader;
    const struct cred *cred;
    char comm[16];
    struct signal_struct *signal;
    struct task_io_accounting ioac;
} KERNEL_TYPE;

struct sock_common {
    unsigned short skc_family;
} KERNEL_TYPE;
struct sock {
    struct sock_common __sk_common;
} KERNEL_TYPE;

const volatile struct counts_setup setup = {0};

struct {
    __uint(type, BPF_MAP_TYPE_PERF_EVENT_ARRAY);
    __uint(max_entries, 1); /* the loader says how many */
    __type(key, __u32);
    __type(value, __u32);
} events SEC(".maps");

struct {
    __uint(type,
           BPF_MAP_TYPE_HASH); /* its entries are there beforehand: nothing may be allocated within the scheduler */
    __uint(max_entries, COUNTS_MOST_PROCESSES);
    __type(key, __u32);
    __type(value, struct counts);
} processes SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
    __uint(max_entries, 1);
    __type(key, __u32);
    __type(value, struct counts_run);
} runs SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_RINGBUF);
    __uint(max_entries, COUNTS_ENDED_BYTES);
} ended SEC(".maps");

__u64 lost; /* processes for which there was no room */

static void describe(struct counts *c, struct task_struct *task)
{
    struct task_struct *leader = task->group_leader;

    c->start_ns = leader->start_boottime;
    c->pid = (__u32)task->tgid;
    c->parent = (__u32)task->real_parent->tgid;
    c->uid = task->cred->uid.val;
    bpf_probe_read_kernel(c->command, sizeof c->command, leader->comm);
}

static struct counts *counts_of(struct task_struct *task)
{
    __u32 pid = (__u32)task->tgid;
    struct counts *known = bpf_map_lookup_elem(&processes, &pid);

    if (known && known->start_ns == task->group_leader->start_boottime) return known;
    if (known) bpf_map_delete_elem(&processes, &pid); /* its end was missed, and the pid is another's by now */
    struct counts fresh = {0};
    describe(&fresh, task);
    bpf_map_update_elem(&processes, &pid, &fresh, BPF_NOEXIST); /* another thread may be faster */
    known = bpf_map_lookup_elem(&processes, &pid);
    if (!known) __sync_fetch_and_add(&lost, 1);
    return known;
}

/* 0: the processor does not count it. */
static __u64 event(__u32 k)
{
    struct bpf_perf_event_value value = {0};

    if (bpf_perf_event_read_value(&events, k * setup.n_processors + bpf_get_smp_processor_id(), &value, sizeof value))
        return 0;
    return value.counter;
}

/* What the thread took since it got the processor: the scheduler has brought its time up to date just before. */
static void charge(struct counts *c, struct task_struct *task, const struct counts_run *run)
{
    __u64 cpu_ns = task->se.sum_exec_runtime;

    if (run->thread != (__u32)task->pid) { /* a switch was missed, as happens: it took no more than what passed */
        __u64 passed_ns = bpf_ktime_get_ns() - (run->who_since >> COUNTS_PID_BITS << COUNTS_TIME_SHIFT);
        __sync_fetch_and_add(&c->cpu_ns, passed_ns < cpu_ns ? passed_ns : cpu_ns);
        return;
    }
    __sync_fetch_and_add(&c->cpu_ns, cpu_ns - run->cpu_ns);
    for (__u32 k = 0; k < COUNTS_EVENTS && setup.n_events; k++)
        __sync_fetch_and_add(&c->events[k], event(k) - run->events[k]);
    if (!bpf_core_field_exists(task->ioac.read_bytes)) return; /* CONFIG_TASK_IO_ACCOUNTING */
    __u64 read_bytes = task->ioac.read_bytes - run->read_bytes, write_bytes = task->ioac.write_bytes - run->write_bytes;
    if (read_bytes) __sync_fetch_and_add(&c->read_bytes, read_bytes);
    if (write_bytes) __sync_fetch_and_add(&c->write_bytes, write_bytes);
}

/* A thread gives its processor back. */
static void leave(struct task_struct *task, const struct counts_run *run)
{
    __u32 pid = (__u32)task->tgid;
    struct counts *c = counts_of(task);

    if (!c) return;
    charge(c, task, run);
    __sync_fetch_and_add(&c->switches, 1);
    if (task->signal->live.counter > 0) return;
    /* All threads exit. This may not be the last time that one of them runs: what comes then is another record of the
     * same process. */
    describe(c, task);
    if (bpf_ringbuf_output(&ended, c, sizeof *c, BPF_RB_NO_WAKEUP)) __sync_fetch_and_add(&lost, 1);
    bpf_map_delete_elem(&processes, &pid);
}

SEC("tp_btf/sched_switch") /* (bool preempt, struct task_struct *prev, struct task_struct *next) */
int on_switch(__u64 *ctx)
{
    struct task_struct *before = (struct task_struct *)ctx[1], *after = (struct task_struct *)ctx[2];
    __u32 zero = 0;
    struct counts_run *run = bpf_map_lookup_elem(&runs, &zero);

    if (!run) return 0;
    if (before->tgid != 0 && run->who_since != 0) leave(before, run); /* 0: the idle task; not yet known what it had */
    run->thread = (__u32)after->pid;
    run->cpu_ns = after->se.sum_exec_runtime;
    if (bpf_core_field_exists(after->ioac.read_bytes)) {
        run->read_bytes = after->ioac.read_bytes;
        run->write_bytes = after->ioac.write_bytes;
    }
    for (__u32 k = 0; k < COUNTS_EVENTS && setup.n_events; k++)
        run->events[k] = event(k);
    run->who_since = bpf_ktime_get_ns() >> COUNTS_TIME_SHIFT << COUNTS_PID_BITS | (__u32)after->tgid;
    return 0;
}

SEC("tp_btf/sys_enter") /* (struct pt_regs *, long) */
int on_syscall(__u64 *ctx)
{
    struct counts *c = counts_of(bpf_get_current_task_btf());

    (void)ctx;
    if (c) __sync_fetch_and_add(&c->syscalls, 1);
    return 0;
}

/* What went over a socket of the Internet, by who sends or receives it; a peek is no receipt. */
static void on_socket(struct sock *sk, int bytes, int flags)
{
    unsigned short family = sk->__sk_common.skc_family;

    if (bytes <= 0 || flags & 2 /* MSG_PEEK */ || (family != 2 && family != 10)) return; /* AF_INET, AF_INET6 */
    struct counts *c = counts_of(bpf_get_current_task_btf());
    if (c) __sync_fetch_and_add(&c->network_bytes, (__u64)bytes);
}

SEC("tp_btf/sock_send_length") /* (struct sock *, int, int); Linux 6.3 */
int on_send(__u64 *ctx)
{
    on_socket((struct sock *)ctx[0], (int)ctx[1], 0);
    return 0;
}

SEC("tp_btf/sock_recv_length")
int on_receive(__u64 *ctx)
{
    on_socket((struct sock *)ctx[0], (int)ctx[1], (int)ctx[2]);
    return 0;
}

char LICENSE[] SEC("license") = "GPL"; /* what the kernel asks for of a program that reads its memory */
