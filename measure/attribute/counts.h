/* counts.h  What the program in the kernel (counts.bpf.c) and source_bpf.c share. Compiled for both. */
#ifndef ADEPT_COUNTS_H
#define ADEPT_COUNTS_H
#include <linux/types.h>

#define COUNTS_EVENTS 3 /* of the processor: instructions, cycles, cache misses */

/* What the loader says before the program is loaded. */
struct counts_setup {
    __u32 n_events; /* 0, or COUNTS_EVENTS: event k of a processor stands at k * n_processors + its number */
    __u32 n_processors;
};

/* A process, since the program was loaded or since it began. */
struct counts {
    __u64 start_ns; /* since boot */
    __u64 cpu_ns;
    __u64 switches; /* how often a thread of it gave a processor back */
    __u64 syscalls;
    __u64 read_bytes; /* block devices */
    __u64 write_bytes;
    __u64 network_bytes;
    __u64 events[COUNTS_EVENTS];
    __u32 pid, parent, uid, unused;
    char command[16];
};

/* Of a processor: who runs on it, and since when. One number, so that it is read as a whole: the pid (PID_MAX_LIMIT is
 * 2^22), and the time since boot, without sleep, in units of 2^16 ns. */
#define COUNTS_PID_BITS 22
#define COUNTS_TIME_SHIFT 16

/* Of a processor: what the thread that runs on it had when it got it. */
struct counts_run {
    __u64 who_since;
    __u64 thread;
    __u64 cpu_ns, read_bytes, write_bytes;
    __u64 events[COUNTS_EVENTS];
};

#define COUNTS_MOST_PROCESSES (1 << 16)
#define COUNTS_ENDED_BYTES (4 << 20) /* of processes that ended and were not read yet: 40,000 */

#endif
