/** @file virtual_clock.h  A monotonic clock that passes only while every thread waits: what is measured over time is
 * the same on a busy machine, and takes no time. For the test programs that tests/CMakeLists.txt links with --wrap. */
#ifndef VIRTUAL_CLOCK_H
#define VIRTUAL_CLOCK_H

/**
 * From here to virtual_clock_end() the monotonic clock is virtual, for this thread and all that are started since: a
 * reading takes a microsecond, sleeping and waiting go on at once when all threads do.
 * @param tell  is told each time as it comes; NULL: nobody
 */
void virtual_clock_begin(void (*tell)(double time_s));
void virtual_clock_end(void);
/** Sleep. */
void virtual_clock_sleep(double time_s);

#endif
