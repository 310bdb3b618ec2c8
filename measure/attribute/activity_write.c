/** @file activity_write.c  Blocks, and appending them. */
#include "activity_log.h"
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <unistd.h>
#include <zlib.h>

/* ---------------------------------------------------------------- numbers and texts ------------------------------- */

static void put_byte(adept_buffer *b, unsigned value)
{
    const unsigned char byte = (unsigned char)value;

    adept_buffer_add(b, &byte, 1);
}

static void put_fixed(adept_buffer *b, uint64_t bits, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        put_byte(b, (unsigned)(bits >> 8 * i));
}

static void put_varint(adept_buffer *b, uint64_t value)
{
    for (; value > 0x7f; value >>= 7)
        put_byte(b, (unsigned)value | 0x80);
    put_byte(b, (unsigned)value);
}

static void put_double(adept_buffer *b, double value)
{
    uint64_t bits;

    memcpy(&bits, &value, sizeof bits);
    put_fixed(b, bits, sizeof bits);
}

static void put_float(adept_buffer *b, float value)
{
    uint32_t bits;

    memcpy(&bits, &value, sizeof bits);
    put_fixed(b, bits, sizeof bits);
}

/* @param more  0, or 1 where a length of 0 means something else */
static void put_text(adept_buffer *b, const char *text, size_t more)
{
    size_t length = strnlen(text, ADEPT_LOG_MOST_TEXT);

    put_varint(b, length + more);
    adept_buffer_add(b, text, length);
}

/* ---------------------------------------------------------------- lists of an interval ---------------------------- */

void adept_log_put_process(adept_log_interval *interval, uint32_t number, const adept_process *p, bool same_cgroup)
{
    adept_buffer *b = &interval->processes.bytes;

    interval->processes.n++;
    put_varint(b, number);
    put_varint(b, (uint32_t)p->pid);
    put_varint(b, p->uid);
    put_varint(b, p->start_ticks);
    put_varint(b, (uint64_t)(p->job + 1));
    put_text(b, p->command, 0);
    if (same_cgroup)
        put_varint(b, 0);
    else
        put_text(b, p->cgroup, 1);
}

void adept_log_put_activity(adept_log_interval *interval, const adept_activity *a)
{
    adept_buffer *b = &interval->activities.bytes;
    unsigned known = 0, follow = 0;

    for (unsigned k = 0; k < ADEPT_ACTIVITIES; k++) {
        if (isnan(a->values[k])) continue;
        known |= 1u << k;
        if (a->values[k] != 0) follow |= 1u << k;
    }
    interval->activities.n++;
    put_varint(b, a->process);
    put_varint(b, known); /* a byte, as long as only the first seven are known */
    put_varint(b, follow);
    for (unsigned k = 0; k < ADEPT_ACTIVITIES; k++)
        if (follow & 1u << k) put_float(b, a->values[k]);
}

void adept_log_put_gpu_use(adept_log_interval *interval, const adept_gpu_use *use)
{
    adept_buffer *b = &interval->gpu_uses.bytes;

    interval->gpu_uses.n++;
    put_varint(b, use->process);
    put_varint(b, use->meter);
    put_float(b, use->utilization);
    put_float(b, use->memory_bytes);
    if (use->instance == 0) return;
    b = &interval->instances.bytes;
    interval->instances.n++;
    put_varint(b, interval->gpu_uses.n - 1);
    put_varint(b, use->instance - 1);
    put_float(b, use->slices);
}

void adept_log_put_sample(adept_log_interval *interval, size_t meter, const adept_sample *s)
{
    adept_buffer *b = &interval->samples.bytes;

    interval->samples.n++;
    put_varint(b, meter);
    put_double(b, s->time_s);
    put_double(b, s->energy_j);
    put_double(b, s->power_w);
}

void adept_log_interval_free(adept_log_interval *interval)
{
    adept_log_list *const lists[] = {&interval->processes, &interval->activities, &interval->gpu_uses,
                                     &interval->samples, &interval->instances};

    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        adept_buffer_free(&lists[i]->bytes);
        lists[i]->n = 0;
    }
}

/* ---------------------------------------------------------------- blocks ------------------------------------------ */

/* The prefix is filled in by append(). */
static adept_buffer begin_block(unsigned kind)
{
    adept_buffer b = {0};

    put_fixed(&b, 0, 4);
    put_fixed(&b, 0, 8);
    put_byte(&b, kind);
    return b;
}

static void set_u32(char *at, uint32_t value)
{
    for (size_t i = 0; i < 4; i++)
        at[i] = (char)(value >> 8 * i);
}

static adept_status write_all(adept_log_file *f, const char *bytes, size_t size, adept_error *err)
{
    for (size_t done = 0; done < size;) {
        ssize_t n = write(f->fd, bytes + done, size - done);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) {
            int why = errno;
            int cut = ftruncate(f->fd, (off_t)f->size); /* so that another block may follow */
            (void)cut;                                  /* of a pipe, it cannot */
            return adept_error_set(err, ADEPT_E_IO, "cannot write %s: %s", f->path, strerror(why));
        }
        done += (size_t)n;
    }
    f->size += size;
    return ADEPT_OK;
}

/* Frees the block. */
static adept_status append(adept_log_file *f, adept_buffer *block, adept_error *err)
{
    adept_status status = block->failed ? adept_no_memory(err, "a block of the recording") : ADEPT_OK;
    size_t size = block->size - ADEPT_LOG_PREFIX;

    if (status == ADEPT_OK && size > ADEPT_LOG_MOST_BYTES)
        status =
            adept_error_set(err, ADEPT_E_IO, "cannot write %s: an interval of %zu bytes is too long", f->path, size);
    if (status == ADEPT_OK) {
        set_u32(block->data, (uint32_t)size);
        set_u32(block->data + 4, (uint32_t)crc32(0, (const Bytef *)block->data + ADEPT_LOG_PREFIX, (uInt)size));
        set_u32(block->data + 8, (uint32_t)crc32(0, (const Bytef *)block->data, 8));
        status = write_all(f, block->data, block->size, err);
    }
    adept_buffer_free(block);
    return status;
}

static void put_list(adept_buffer *b, const adept_log_list *list)
{
    put_varint(b, list->n);
    if (list->bytes.size > 0) adept_buffer_add(b, list->bytes.data, list->bytes.size); /* of none there is no address */
    b->failed = b->failed || list->bytes.failed;
}

adept_status adept_log_append(adept_log_file *f, adept_log_interval *interval, adept_error *err)
{
    adept_buffer b = begin_block(ADEPT_LOG_INTERVAL);

    put_double(&b, interval->begin_s);
    put_double(&b, interval->end_s);
    put_double(&b, interval->machine_cpu_s);
    put_list(&b, &interval->processes);
    put_list(&b, &interval->activities);
    put_list(&b, &interval->gpu_uses);
    put_list(&b, &interval->samples);
    if (interval->instances.n > 0) put_list(&b, &interval->instances);
    adept_log_interval_free(interval);
    return append(f, &b, err);
}

adept_status adept_log_note(adept_log_file *f, const char *text, adept_error *err)
{
    adept_buffer b = begin_block(ADEPT_LOG_NOTE);

    put_text(&b, text, 0);
    return append(f, &b, err);
}

adept_status adept_log_create(adept_log_file *f, const char *path, const adept_activity_log *head, adept_error *err)
{
    *f = (adept_log_file){.path = strdup(path), .fd = -1};
    if (!f->path) return adept_no_memory(err, "the name of a recording");
    f->fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0644);
    adept_status status = f->fd < 0 ? adept_error_set(err, ADEPT_E_IO, "cannot create %s: %s", path, strerror(errno))
                                    : write_all(f, ADEPT_LOG_MAGIC, strlen(ADEPT_LOG_MAGIC), err);
    if (status == ADEPT_OK) {
        adept_buffer b = begin_block(ADEPT_LOG_HEAD);
        unsigned has = 0;
        for (unsigned k = 0; k < ADEPT_ACTIVITIES; k++)
            has |= head->has[k] ? 1u << k : 0;
        put_varint(&b, has < 1u << ADEPT_LOG_KINDS_OF_1 ? 1 : ADEPT_LOG_VERSION);
        put_text(&b, head->host, 0);
        put_double(&b, head->period_s);
        put_varint(&b, (unsigned)head->n_cpus);
        put_varint(&b, has);
        put_varint(&b, head->n_sources);
        for (size_t i = 0; i < head->n_sources; i++)
            put_text(&b, head->sources[i], 0);
        put_varint(&b, head->n_meters);
        for (size_t i = 0; i < head->n_meters; i++) {
            put_text(&b, head->meters[i].name, 0);
            put_text(&b, head->meters[i].source, 0);
            put_varint(&b, head->meters[i].component);
        }
        put_varint(&b, head->n_meters);
        for (size_t i = 0; i < head->n_meters; i++)
            put_text(&b, head->meters[i].inside ? head->meters[i].inside : "", 0);
        status = append(f, &b, err);
    }
    if (status != ADEPT_OK) adept_log_close(f, NULL);
    return status;
}

adept_status adept_log_close(adept_log_file *f, adept_error *err)
{
    adept_status status = ADEPT_OK;

    if (f->path && f->fd >= 0 && close(f->fd)) /* NFS says here that the disk is full */
        status = adept_error_set(err, ADEPT_E_IO, "cannot write %s: %s", f->path, strerror(errno));
    free(f->path);
    *f = (adept_log_file){.fd = -1};
    return status;
}
