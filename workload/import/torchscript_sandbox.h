/** @file torchscript_sandbox.h  What the loader's child process may not do. Private to workload/. */
#ifndef ADEPT_TORCHSCRIPT_SANDBOX_H
#define ADEPT_TORCHSCRIPT_SANDBOX_H
#include <stdbool.h>
#include <stdint.h>

/** Limits of processor time and memory, no core dump, no file of any size. Irrevocable for this process.
 *  @param memory_bytes address space beyond what is mapped now */
bool adept_sandbox_limit(double cpu_s, uint64_t memory_bytes);

/** From now on, opening for writing, creating, renaming or removing files, sockets, other processes and new programs
 *  fail with EPERM, in all threads. @return false if this kernel or processor has no such filter */
bool adept_sandbox_confine(void);

#endif
