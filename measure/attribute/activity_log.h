/** @file activity_log.h  The file of a recording, and writing it. Private to measure/attribute. Not thread-safe. Calls:
 * activity, grow.
 *
 * Numbers are little-endian; a varint is LEB128, 7 bits a byte, the lowest first; a text is a varint of its bytes, then
 * these.
 *
 *     file      "ADEPTACT", then blocks
 *     block     u32 bytes of the payload, u32 CRC-32 of the payload, u32 CRC-32 of these 8 bytes, payload
 *     payload   u8 kind, then what the kind says; a reader leaves kinds out that it does not know
 *     HEAD      the first block, and once: varint version, text host, f64 period_s, varint n_cpus, varint kinds counted
 *               (a bit each), varint n, texts of sources; varint n, for each meter: text name, text source, varint
 *               component; varint n, for each meter: text the meter around it (older files end without this list,
 *               and older readers do not look for it)
 *     NOTE      text, one more of the sources' lines
 *     INTERVAL  f64 begin_s, end_s, machine_cpu_s; then lists, each a varint n and so many of
 *       process   varint number, pid, uid, start_ticks, job + 1, text command, varint 0: cgroup as of the process
 *                 before it in the file, else bytes + 1 and the cgroup. The number is the next free one, or a known one
 *                 whose command changed
 *       activity  varint process, u8 kinds known, u8 kinds that follow (those known and not 0), f32 for each
 *       gpu use   varint process, varint meter, f32 utilization, f32 memory_bytes
 *       sample    varint meter, f64 time_s, f64 energy_j, f64 power_w
 *       instance  varint gpu use (its place in that list), varint MIG instance, f32 slices of it (0: not known). Older
 *                 files end without this list, and older readers do not look for it
 *
 * A block is appended by one write(2). What kill -9 or a full disk leaves of the last one is left out by a reader; so
 * are zeros at the end, which a file system may leave where the power failed. */
#ifndef ADEPT_ACTIVITY_LOG_H
#define ADEPT_ACTIVITY_LOG_H
#include "adept_activity.h"
#include "adept_grow.h"

#define ADEPT_LOG_MAGIC "ADEPTACT"
#define ADEPT_LOG_VERSION 2
#define ADEPT_LOG_KINDS_OF_1 7                  /* of activities: a file without others is of version 1 */
#define ADEPT_LOG_PREFIX 12                     /* bytes in front of a payload */
#define ADEPT_LOG_MOST_BYTES ((size_t)64 << 20) /* of a payload; a process of an interval takes about 60 */
#define ADEPT_LOG_MOST_TEXT 4096                /* bytes of a text: PATH_MAX, which cgroups keep to as well */
enum { ADEPT_LOG_HEAD = 1, ADEPT_LOG_NOTE, ADEPT_LOG_INTERVAL };

/** Entries of a list, as bytes. Zero-initialised: none. */
typedef struct adept_log_list {
    adept_buffer bytes;
    size_t n;
} adept_log_list;

/** An interval that is being put together. */
typedef struct adept_log_interval {
    double begin_s, end_s, machine_cpu_s;
    adept_log_list processes, activities, gpu_uses, samples, instances;
} adept_log_interval;

void adept_log_put_process(adept_log_interval *interval, uint32_t number, const adept_process *process,
                           bool same_cgroup);
void adept_log_put_activity(adept_log_interval *interval, const adept_activity *activity);
void adept_log_put_gpu_use(adept_log_interval *interval, const adept_gpu_use *use);
void adept_log_put_sample(adept_log_interval *interval, size_t meter, const adept_sample *sample);
void adept_log_interval_free(adept_log_interval *interval);

typedef struct adept_log_file {
    char *path;
    int fd;
    uint64_t size; /* of whole blocks */
} adept_log_file;

/** Create the file, with its head: what the log says but for processes, intervals and samples. One that exists is left
 * alone.
 *  @return ADEPT_E_IO, ADEPT_E_NOMEM */
adept_status adept_log_create(adept_log_file *file, const char *path, const adept_activity_log *head, adept_error *err);
/** Append the interval, whose lists are empty then. A block that does not fit on the disk leaves nothing. @return
 * ADEPT_E_IO, ADEPT_E_NOMEM */
adept_status adept_log_append(adept_log_file *file, adept_log_interval *interval, adept_error *err);
adept_status adept_log_note(adept_log_file *file, const char *text, adept_error *err);
/** @return ADEPT_E_IO: what was written did not reach the disk */
adept_status adept_log_close(adept_log_file *file, adept_error *err);

#endif
