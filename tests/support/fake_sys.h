/** @file fake_sys.h  A folder that stands in for a machine's /sys and /proc: files written, driven, removed. Failures
 * of the file system end the test program. */
#ifndef FAKE_SYS_H
#define FAKE_SYS_H
#include <stdbool.h>
#include <stddef.h>

typedef struct fake_sys fake_sys;
typedef struct fake_drive fake_drive;

/** An empty folder below /tmp, which anyone may read. */
fake_sys *fake_sys_new(void);
/** Remove it. */
void fake_sys_free(fake_sys *sys);
/** Its path: what settings.sysroot is. */
const char *fake_sys_root(const fake_sys *sys);

/** Write a file, with the folders above it: "/sys/class/powercap/intel-rapl:0/name". A newline is added. What is open
 * sees it. */
void fake_sys_put(fake_sys *sys, const char *path, const char *format, ...) __attribute__((format(printf, 3, 4)));
/** The same of bytes, and nothing added. */
void fake_sys_put_bytes(fake_sys *sys, const char *path, const void *bytes, size_t size);
/** A symbolic link at `path` that says `target`. */
void fake_sys_link(fake_sys *sys, const char *path, const char *target);
/** Take a file away. As the kernel has it, one who holds it open reads nothing more of it. */
void fake_sys_remove(fake_sys *sys, const char *path);
/** Let nobody read a file; root still can: fake_sys_as_nobody(). */
void fake_sys_deny(fake_sys *sys, const char *path);
/** Let nobody write it, likewise. */
void fake_sys_protect(fake_sys *sys, const char *path);
/** Run a check as a user who owns nothing: in a child process where this one is root. @return what it returns */
bool fake_sys_as_nobody(bool (*check)(void *context), void *context);

/**
 * A file that holds value(0), as a whole number of fixed width, and that of other times by fake_drive_to().
 * @param value  never falls, where `range` is given: microjoules of a counter
 * @param range  the number starts again at 0 there, as counters do; 0: never
 * @param start  of the number: it is start + value(t), modulo the range
 */
fake_drive *fake_sys_drive(fake_sys *sys, const char *path, double (*value)(double time_s), double start, double range);
void fake_drive_to(fake_drive *drive, double time_s);

#endif
