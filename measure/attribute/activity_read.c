/** @file activity_read.c  Reading a recording: a stranger's file, which may still grow. */
#include "activity_log.h"
#include "adept_arena.h"
#include "adept_file.h"
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <zlib.h>

#define MOST 1e30 /* of joules, watts, seconds: what is made of two of them is a number still */

/* What adept_activity_log_read() makes; `shown` is what its caller has. */
typedef struct log_reader {
    adept_activity_log shown; /* first: adept_activity_log_free() gets its address */
    adept_arena *arena;       /* of texts and of what an interval holds */
    const char **sources;
    adept_process *processes;
    adept_activity_interval *intervals;
    adept_meter_log *meters;
    size_t *sample_capacities; /* of meters */
    size_t source_capacity, process_capacity, interval_capacity;
    const char *cgroup; /* of the last process */
} log_reader;

/* A payload that is being read. Sticky: after `wrong` is set, every read gives 0. */
typedef struct cursor {
    const unsigned char *at, *end;
    const char *wrong; /* what is wrong */
    bool no_memory;
    adept_arena *arena;
} cursor;

/* ---------------------------------------------------------------- numbers and texts ------------------------------- */

static void refuse(cursor *c, const char *what)
{
    if (!c->wrong) c->wrong = what;
    c->at = c->end;
}

static uint64_t get_fixed(cursor *c, size_t bytes)
{
    uint64_t bits = 0;

    if ((size_t)(c->end - c->at) < bytes) {
        refuse(c, "it ends too early");
        return 0;
    }
    for (size_t i = 0; i < bytes; i++)
        bits |= (uint64_t)*c->at++ << 8 * i;
    return bits;
}

static uint64_t get_varint(cursor *c)
{
    uint64_t value = 0;

    for (unsigned shift = 0; shift < 64; shift += 7) {
        uint64_t byte = get_fixed(c, 1);
        value |= (byte & 0x7f) << shift;
        if (!(byte & 0x80)) return value;
    }
    refuse(c, "a number is too long");
    return 0;
}

static uint64_t get_below(cursor *c, uint64_t limit, const char *what)
{
    uint64_t value = get_varint(c);

    if (value < limit) return value;
    refuse(c, what);
    return 0;
}

static double get_double(cursor *c)
{
    uint64_t bits = get_fixed(c, 8);
    double value;

    memcpy(&value, &bits, sizeof value);
    if (fabs(value) > MOST) refuse(c, "a number is infinite, or beyond 1e30");
    return value;
}

static const char *keep(cursor *c, const void *kept)
{
    if (kept) return kept;
    c->no_memory = true;
    refuse(c, "out of memory");
    return "";
}

/* @param length  of the text that follows */
static const char *get_bytes(cursor *c, uint64_t length)
{
    char text[ADEPT_LOG_MOST_TEXT + 1];

    if (length > ADEPT_LOG_MOST_TEXT || length > (size_t)(c->end - c->at)) {
        refuse(c, "a text is too long");
        return "";
    }
    memcpy(text, c->at, (size_t)length);
    text[length] = '\0';
    c->at += length;
    return keep(c, adept_arena_intern(c->arena, text));
}

static const char *get_text(cursor *c)
{
    return get_bytes(c, get_varint(c));
}

/* How many entries follow: each has at least so many bytes, so that a number alone cannot make us take memory. */
static size_t get_count(cursor *c, size_t least_bytes)
{
    uint64_t n = get_varint(c);

    if (n <= (size_t)(c->end - c->at) / least_bytes) return (size_t)n;
    refuse(c, "a list is longer than its block");
    return 0;
}

static void *grown(cursor *c, void *array, size_t *capacity, size_t wanted, size_t bytes)
{
    void *more = adept_grow(array, capacity, wanted, bytes);

    keep(c, more);
    return more ? more : array;
}

/* ---------------------------------------------------------------- what blocks hold -------------------------------- */

static void add_source(log_reader *r, cursor *c)
{
    size_t n = r->shown.n_sources;

    r->sources = grown(c, r->sources, &r->source_capacity, n + 1, sizeof *r->sources);
    const char *text = get_text(c);
    if (c->wrong) return;
    r->sources[n] = text;
    r->shown.n_sources = n + 1;
    r->shown.sources = r->sources;
}

static void get_head(log_reader *r, cursor *c)
{
    uint64_t version = get_varint(c);
    if (version < 1 || version > ADEPT_LOG_VERSION) refuse(c, "another version of adept wrote it");
    r->shown.host = get_text(c);
    r->shown.period_s = get_double(c);
    r->shown.n_cpus = (int)get_below(c, 1 << 20, "too many processors");
    uint64_t has = get_varint(c);
    for (size_t k = 0; k < ADEPT_ACTIVITIES; k++)
        r->shown.has[k] = has >> k & 1;
    for (size_t n = get_count(c, 1); n > 0 && !c->wrong; n--)
        add_source(r, c);
    size_t count = get_count(c, 3);
    r->meters = calloc(count + 1, sizeof *r->meters);
    r->sample_capacities = calloc(count + 1, sizeof *r->sample_capacities);
    keep(c, r->meters && r->sample_capacities ? r->meters : NULL);
    if (!c->wrong) {
        for (size_t i = 0; i < count; i++) {
            r->meters[i].name = get_text(c);
            r->meters[i].source = get_text(c);
            r->meters[i].component = (adept_component)get_below(c, ADEPT_COMPONENTS, "a meter's component is unknown");
        }
        r->shown.meters = r->meters;
        r->shown.n_meters = count;
    }
    size_t n = c->wrong || c->at == c->end ? 0 : get_count(c, 1);
    for (size_t i = 0; i < n && !c->wrong; i++) {
        const char *inside = get_text(c);
        if (i < r->shown.n_meters) r->meters[i].inside = inside;
    }
    if (!c->wrong && !(r->shown.period_s > 0 && isfinite(r->shown.period_s))) refuse(c, "its period is not a time");
}

static void get_process(log_reader *r, cursor *c)
{
    size_t n = r->shown.n_processes;
    size_t number = (size_t)get_below(c, n < UINT32_MAX ? n + 1 : n, "a process's number is not the next");
    adept_process p; /* one after the other: C orders no initialisers */
    p.pid = (int32_t)get_below(c, (uint64_t)INT32_MAX + 1, "a process's pid is none");
    p.uid = (uint32_t)get_below(c, (uint64_t)UINT32_MAX + 1, "a user's number is none");
    p.start_ticks = get_varint(c);
    p.job = (int64_t)get_below(c, INT64_MAX, "a job's number is none") - 1;
    p.command = get_text(c);
    uint64_t cgroup = get_varint(c);

    if (cgroup > 0) r->cgroup = get_bytes(c, cgroup - 1);
    p.cgroup = r->cgroup;
    r->processes = grown(c, r->processes, &r->process_capacity, n + 1, sizeof *r->processes);
    if (c->wrong) return;
    r->processes[number] = p;
    r->shown.processes = r->processes;
    r->shown.n_processes += number == n;
}

static float get_amount(cursor *c)
{
    uint32_t bits = (uint32_t)get_fixed(c, 4);
    float value;
    memcpy(&value, &bits, sizeof value);

    if (!isnan(value) && (value < 0 || isinf(value))) refuse(c, "an amount is below 0, or infinite");
    return value;
}

static void get_gpu_uses(log_reader *r, cursor *c, adept_activity_interval *interval)
{
    size_t n = get_count(c, 10);
    adept_gpu_use *uses = adept_arena_array(c->arena, n + 1, sizeof *uses);

    keep(c, uses);
    for (size_t i = 0; i < n && !c->wrong; i++) {
        uses[i].process = (uint32_t)get_below(c, r->shown.n_processes, "a GPU's use is of no process");
        uses[i].meter = (uint32_t)get_below(c, r->shown.n_meters, "a GPU's use is of no meter");
        uses[i].utilization = get_amount(c);
        uses[i].memory_bytes = get_amount(c);
        uses[i].instance = 0;
        uses[i].slices = 0;
    }
    interval->gpu_uses = uses;
    interval->n_gpu_uses = n;
}

static void get_interval(log_reader *r, cursor *c)
{
    adept_activity_interval interval = {0};
    size_t n = r->shown.n_intervals;
    double last_s = n > 0 ? r->intervals[n - 1].end_s : -INFINITY;

    interval.begin_s = get_double(c);
    interval.end_s = get_double(c);
    interval.machine_cpu_s = get_double(c);
    if (!c->wrong && !(isfinite(interval.end_s) && interval.begin_s >= last_s && interval.end_s > interval.begin_s))
        refuse(c, "intervals are not in order of time");
    for (size_t left = get_count(c, 7); left > 0 && !c->wrong; left--)
        get_process(r, c);
    size_t count = get_count(c, 3);
    adept_activity *activities = adept_arena_array(c->arena, count + 1, sizeof *activities);
    keep(c, activities);
    for (size_t i = 0; i < count && !c->wrong; i++) {
        activities[i].process = (uint32_t)get_below(c, r->shown.n_processes, "an activity is of no process");
        unsigned known = (unsigned)get_varint(c), follow = (unsigned)get_varint(c);
        for (unsigned k = 0; k < ADEPT_ACTIVITIES; k++)
            activities[i].values[k] = !(known >> k & 1) ? NAN : follow >> k & 1 ? get_amount(c) : 0;
    }
    interval.activities = activities;
    interval.n_activities = count;
    get_gpu_uses(r, c, &interval);
    for (size_t left = get_count(c, 25); left > 0 && !c->wrong; left--) {
        size_t meter = (size_t)get_below(c, r->shown.n_meters, "a sample is of no meter");
        adept_sample s;
        s.time_s = get_double(c);
        s.energy_j = get_double(c);
        s.power_w = get_double(c);
        if (c->wrong) continue;
        adept_meter_log *m = &r->meters[meter];
        if (!isfinite(s.time_s) || (m->n_samples > 0 && !(s.time_s > m->samples[m->n_samples - 1].time_s)))
            refuse(c, "samples of a meter are not in order of time");
        adept_sample *samples =
            grown(c, (void *)m->samples, &r->sample_capacities[meter], m->n_samples + 1, sizeof *samples);
        m->samples = samples;
        if (!c->wrong) samples[m->n_samples++] = s;
    }
    for (size_t left = c->wrong || c->at == c->end ? 0 : get_count(c, 6); left > 0 && !c->wrong; left--) {
        uint64_t use = get_below(c, interval.n_gpu_uses, "a MIG instance is of no GPU's use");
        uint64_t instance = get_below(c, UINT32_MAX, "the number of a MIG instance is none");
        float slices = get_amount(c);
        if (c->wrong) continue;
        ((adept_gpu_use *)interval.gpu_uses)[use].instance = (uint32_t)instance + 1;
        ((adept_gpu_use *)interval.gpu_uses)[use].slices = isnan(slices) ? 0 : slices;
    }
    r->intervals = grown(c, r->intervals, &r->interval_capacity, n + 1, sizeof *r->intervals);
    if (c->wrong) return;
    r->intervals[n] = interval;
    r->shown.intervals = r->intervals;
    r->shown.n_intervals = n + 1;
}

/* ---------------------------------------------------------------- blocks ------------------------------------------ */

typedef enum block_state { BLOCK_WHOLE, BLOCK_TORN, BLOCK_NONE, BLOCK_BAD } block_state;

static uint32_t u32_at(const unsigned char *at)
{
    return (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

/* Only zeros until the end: what a file system may leave of an append when the power fails. */
static bool zeros_follow(FILE *file)
{
    int c;

    while ((c = getc(file)) == 0)
        ;
    return c == EOF;
}

static block_state next_block(adept_buffer *payload, FILE *file, const char **wrong)
{
    unsigned char prefix[ADEPT_LOG_PREFIX];
    size_t n = fread(prefix, 1, sizeof prefix, file), size = u32_at(prefix);

    if (n < sizeof prefix) return n > 0 ? BLOCK_TORN : BLOCK_NONE;
    if (u32_at(prefix + 8) != (uint32_t)crc32(0, prefix, 8) || size == 0 || size > ADEPT_LOG_MOST_BYTES) {
        bool is_zero = prefix[0] == 0 && memcmp(prefix, prefix + 1, sizeof prefix - 1) == 0;
        *wrong = "the length of a block is damaged";
        return is_zero && zeros_follow(file) ? BLOCK_TORN : BLOCK_BAD;
    }
    /* As much as the file has: the length alone makes us take no memory. */
    enum { PIECE = 1 << 16 };
    payload->size = 0;
    while (payload->size < size && !payload->failed) {
        size_t more = size - payload->size < PIECE ? size - payload->size : PIECE;
        char *room = adept_buffer_room(payload, more);
        size_t count = room ? fread(room, 1, more, file) : 0;
        payload->size += count;
        if (count < more) break;
    }
    if (payload->size < size) return BLOCK_TORN;
    if (u32_at(prefix + 4) == (uint32_t)crc32(0, (const Bytef *)payload->data, (uInt)size)) return BLOCK_WHOLE;
    *wrong = "a block does not have its checksum";
    int c = getc(file);
    if (c != EOF) ungetc(c, file);
    return c == EOF ? BLOCK_TORN : BLOCK_BAD;
}

static adept_status damaged(const char *path, uint64_t at, const char *wrong, adept_error *err)
{
    return adept_error_set(err, ADEPT_E_INVALID, "%s: byte %llu: %s", path, (unsigned long long)at, wrong);
}

static adept_status unreadable(const char *path, adept_error *err)
{
    if (errno == ENOMEM) return adept_no_memory(err, path);
    return adept_error_set(err, ADEPT_E_INVALID, "cannot read %s: %s", path, strerror(errno));
}

static adept_status read_blocks(log_reader *r, FILE *file, const char *path, adept_error *err)
{
    char magic[sizeof ADEPT_LOG_MAGIC - 1];
    adept_buffer payload = {0};
    adept_status status = ADEPT_OK;
    block_state state = BLOCK_WHOLE;
    const char *wrong = "";
    bool is_first = true;

    if (fread(magic, 1, sizeof magic, file) < sizeof magic && ferror(file)) return unreadable(path, err);
    if (feof(file) || memcmp(magic, ADEPT_LOG_MAGIC, sizeof magic) != 0)
        return adept_error_set(err, ADEPT_E_INVALID, "%s: not a recording of adept attribute record", path);
    for (uint64_t at = sizeof magic; status == ADEPT_OK; at += ADEPT_LOG_PREFIX + payload.size) {
        state = next_block(&payload, file, &wrong);
        if (payload.failed)
            status = adept_no_memory(err, path);
        else if (ferror(file))
            status = unreadable(path, err);
        else if (state == BLOCK_BAD)
            status = damaged(path, at, wrong, err);
        if (status != ADEPT_OK || state != BLOCK_WHOLE) break;
        cursor c = {.at = (const unsigned char *)payload.data,
                    .end = (const unsigned char *)payload.data + payload.size,
                    .arena = r->arena};
        uint64_t kind = get_fixed(&c, 1);
        if (is_first != (kind == ADEPT_LOG_HEAD))
            refuse(&c, is_first ? "it has no head" : "a second head");
        else if (kind == ADEPT_LOG_HEAD)
            get_head(r, &c);
        else if (kind == ADEPT_LOG_NOTE)
            add_source(r, &c);
        else if (kind == ADEPT_LOG_INTERVAL)
            get_interval(r, &c);
        is_first = false;
        if (c.no_memory || adept_arena_failed(r->arena))
            status = adept_no_memory(err, path);
        else if (c.wrong)
            status = damaged(path, at, c.wrong, err);
    }
    adept_buffer_free(&payload);
    r->shown.is_cut = state == BLOCK_TORN;
    if (status == ADEPT_OK && is_first) status = damaged(path, sizeof magic, "it ends before its head does", err);
    return status;
}

adept_status adept_activity_log_read(adept_activity_log **out, const char *path, adept_error *err)
{
    log_reader *r = calloc(1, sizeof *r);

    if (r) r->arena = adept_arena_new();
    if (!r || !r->arena) {
        free(r);
        return adept_no_memory(err, path);
    }
    r->cgroup = "";
    FILE *file = NULL;
    adept_status status = adept_file_stream(&file, path, err);
    if (status == ADEPT_OK) status = read_blocks(r, file, path, err);
    if (file) fclose(file);
    if (status == ADEPT_OK)
        *out = &r->shown;
    else
        adept_activity_log_free(&r->shown);
    return status;
}

void adept_activity_log_free(adept_activity_log *log)
{
    log_reader *r = (log_reader *)log;

    if (!r) return;
    for (size_t i = 0; i < r->shown.n_meters; i++)
        free((void *)r->meters[i].samples);
    free(r->sources);
    free(r->processes);
    free(r->intervals);
    free(r->meters);
    free(r->sample_capacities);
    adept_arena_free(r->arena);
    free(r);
}
