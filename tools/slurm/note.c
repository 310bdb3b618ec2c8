/** @file note.c  A decision as text. Calls: libadept. */
#include "adept_slurm.h"
#include <math.h>
#include <stdarg.h>
#include <stdio.h>

typedef struct text {
    char *at;
    size_t used;
} text;

/* Never past the end, where a text is cut. */
static void append(text *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void append(text *t, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int n = vsnprintf(t->at + t->used, ADEPT_SLURM_TEXT_MAX - t->used, format, args);
    va_end(args);
    if (n > 0) t->used += (size_t)n;
    if (t->used >= ADEPT_SLURM_TEXT_MAX) t->used = ADEPT_SLURM_TEXT_MAX - 1;
}

static void append_number(text *t, const char *key, double value)
{
    if (isfinite(value))
        append(t, " %s=%.6g", key, value);
    else
        append(t, " %s=unknown", key);
}

void adept_slurm_note(char out[ADEPT_SLURM_TEXT_MAX], const adept_slurm_decision *d, const char *profile)
{
    text t = {out, 0};
    adept_gpu_info gpu;
    adept_gpu_describe(&gpu, d->place->gpu);
    append(&t, "adept: partition=%s gpu=%s gpus=%d batch=%lld", d->place->partition, gpu.name, (int)d->gpus,
           (long long)d->batch);
    if (d->limit_w > 0) append(&t, " limit_w=%g", d->limit_w);
    append_number(&t, "steps", d->verdict.steps);
    append_number(&t, "time_s", d->verdict.time_s);
    append_number(&t, "power_w", d->verdict.power_w);
    append_number(&t, "energy_j", d->verdict.energy_j);
    append(&t, " objective=%s parameters=%s profile=%s", adept_slurm_objective_name(d->objective),
           d->estimate.notes & ADEPT_NOTE_UNCALIBRATED  ? "uncalibrated"
           : d->estimate.notes & ADEPT_NOTE_TRANSFERRED ? "transferred"
                                                        : "calibrated",
           profile);
}

void adept_slurm_time_text(char out[32], double time_s)
{
    static const struct {
        double scale;
        const char *unit;
    } units[] = {{86400, "d"}, {3600, "h"}, {60, "min"}, {1, "s"}, {1e-3, "ms"}};
    size_t i = 0;
    while (i < 4 && time_s < (units[i].scale == 86400 ? 2 : 1) * units[i].scale)
        i++;
    snprintf(out, 32, "%.3g %s", time_s / units[i].scale, units[i].unit);
}

void adept_slurm_tell(char out[ADEPT_SLURM_TEXT_MAX], const adept_slurm_decision *d)
{
    text t = {out, 0};
    adept_gpu_info gpu;
    char time[32];
    adept_gpu_describe(&gpu, d->place->gpu);
    adept_slurm_time_text(time, d->verdict.time_s);
    append(&t, "adept: %d x %s in partition %s", (int)d->gpus, gpu.name, d->place->partition);
    if (d->limit_w > 0) append(&t, " at most %g W each", d->limit_w);
    append(&t, ": %s%s", d->whole_job ? "" : "a step takes ", time);
    if (isfinite(d->verdict.power_w)) append(&t, ", %.4g W", d->verdict.power_w);
    if (isfinite(d->verdict.energy_j) && d->whole_job) append(&t, ", %.4g kWh", d->verdict.energy_j / 3.6e6);
    if (isfinite(d->verdict.energy_j) && !d->whole_job) append(&t, ", %.4g J", d->verdict.energy_j);
    append(&t, "; %s %s of %zu placements", d->objective == ADEPT_SLURM_THRIFT ? "by" : "least",
           adept_slurm_objective_name(d->objective), d->n_options);
    if (d->estimate.notes & ADEPT_NOTE_UNCALIBRATED) append(&t, "; this GPU is not calibrated");
    if (d->estimate.notes & ADEPT_NOTE_TRANSFERRED) append(&t, "; parameters fitted to other GPUs");
}
