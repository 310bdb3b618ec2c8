/** @file sandbox.h  What the loader's process may have and do. Every step is irrevocable, for this process only.
 *  Calls: Linux. */
#ifndef ADEPT_SANDBOX_H
#define ADEPT_SANDBOX_H
#include <stdbool.h>
#include <stdint.h>

/** Before anything else: a session of its own, so many seconds of processor time, no files of any size, no core dump.
 */
bool adept_sandbox_begin(double cpu_s);
/** With libtorch in place: so much address space more, no capabilities, no path and no network (Landlock, where the
 *  kernel has it). Of the calling thread and those it starts. */
bool adept_sandbox_confine(uint64_t memory_bytes);
/** From now on, in all threads: only the system calls that computing and writing to open files take. All others fail
 * with ENOSYS, EPERM or EACCES; those of another processor's or of the x32 numbers kill the process.
 *  @return false if this kernel or processor has no such filter */
bool adept_sandbox_filter(void);

#endif
