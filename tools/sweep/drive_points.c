/** @file drive_points.c  Setting values, measuring, putting back. */
#include "measure_job.h"
#include "progress.h"
#include "sweep_drive.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---------------------------------------------------------------- what can be set -------------------------------- */

static adept_setting setting_of(const adept_sweep_axis *axis, size_t value)
{
    if (axis->words) return (adept_setting){.word = axis->words[value]};
    return (adept_setting){.number = axis->numbers[value]};
}

/* All values, before anything is changed. */
static adept_status check_values(adept_drive *d, adept_error *err)
{
    adept_status status = ADEPT_OK;

    for (size_t i = 0; i < d->sweep.n_axes; i++) {
        const adept_sweep_axis *axis = &d->sweep.axes[i];
        const adept_control_kind *kind = adept_control_kind_of(axis->key);
        if (status == ADEPT_OK) status = adept_controls_find(&d->controls, kind, err);
        for (size_t v = 0; v < axis->n && status == ADEPT_OK; v++) {
            const adept_setting value = setting_of(axis, v);
            status = adept_controls_check(&d->controls, kind, &value, err);
        }
    }
    return status;
}

static adept_status set_point(adept_drive *d, uint64_t index, adept_error *err)
{
    size_t at[ADEPT_SWEEP_MAX_AXES];
    adept_status status = ADEPT_OK;

    adept_sweep_at(at, &d->sweep, index);
    d->is_set = true;
    for (size_t i = 0; i < d->sweep.n_axes && status == ADEPT_OK; i++) {
        const adept_sweep_axis *axis = &d->sweep.axes[i];
        bool varies = at[i] != ADEPT_SWEEP_UNVARIED;
        const adept_setting value = varies ? setting_of(axis, at[i]) : (adept_setting){.word = NULL};
        status = adept_controls_set(&d->controls, adept_control_kind_of(axis->key), varies ? &value : NULL, err);
    }
    return status;
}

static adept_status put_back(adept_drive *d, adept_error *err)
{
    if (!d->is_set) return d->put_back;
    d->is_set = false;
    return adept_restore_all(&d->restore, &d->controls, err);
}

/* The command may take its time to end, and the signal may be followed by one that nobody can catch. */
static void put_back_at_once(void *data)
{
    adept_drive *d = data;
    adept_error err = {0};

    d->interrupted = true;
    adept_interrupt_requested = d->job.signal;
    d->put_back = put_back(d, &err);
    if (d->put_back != ADEPT_OK) fprintf(stderr, "adept: %s\n", err.message);
}

adept_status adept_drive_leftovers(adept_cli *cli, adept_drive *d)
{
    size_t n;
    adept_status status = adept_restore_open(&d->restore, d->options->journal, &cli->err);

    if (status == ADEPT_OK) status = adept_restore_leftovers(&d->restore, d->options->measure.sysroot, &n, &cli->err);
    if (status == ADEPT_OK && (n > 0 || d->options->restore))
        fprintf(d->options->restore ? stdout : stderr, "%zu setting%s of a run that was killed %s put back\n", n,
                n == 1 ? "" : "s", n == 1 ? "is" : "are");
    return status;
}

/* ---------------------------------------------------------------- what was measured ------------------------------ */

/* Of a component, of the whole run and of a step. ADEPT_COMPONENTS: their sum. */
static adept_status take_component(adept_driven *p, const adept_measure_job *job, adept_component c, double *of_run,
                                   double *of_step, adept_error *err)
{
    adept_region_statistics steps, runs;
    adept_status status =
        adept_measured_region(&steps, job->recording, ADEPT_STEP_REGION, (size_t)job->options->skip, c, err);

    if (status == ADEPT_OK) status = adept_measured_region(&runs, job->recording, ADEPT_REPEAT_REGION, 0, c, err);
    if (status != ADEPT_OK) return status;
    *of_run = adept_measured_energy(job->recording, c, job->run.begin_s, job->run.end_s).energy_j;
    if (job->options->repeat > 1) *of_run = runs.energy_j.mean;
    *of_step = steps.energy_j.mean;
    p->steps = steps.time_s.n;
    p->step.time_s = steps.time_s.mean;
    return ADEPT_OK;
}

/* What each visit of a region took, or without a name the whole run. */
static adept_status take_each(adept_taken *taken, const adept_measure_job *job, const char *region, size_t skip,
                              adept_component compared, adept_error *err)
{
    size_t n, used = 0;
    const adept_region whole = {.name = "", .begin_s = job->run.begin_s, .end_s = job->run.end_s};
    const adept_region *regions = adept_recording_regions(job->recording, &n);
    if (!region) regions = &whole, n = 1;
    double *numbers = calloc(3 * (n + 1), sizeof *numbers);

    if (!numbers) return adept_no_memory(err, "the runs of a point");
    double *times_s = numbers, *energies_j = numbers + n + 1, *scratch = numbers + 2 * (n + 1);
    for (size_t i = 0; i < n; i++) {
        if (regions[i].is_cut || (region && strcmp(regions[i].name, region) != 0)) continue;
        if (skip > 0) {
            skip--;
            continue;
        }
        times_s[used] = regions[i].end_s - regions[i].begin_s;
        energies_j[used++] =
            adept_measured_energy(job->recording, compared, regions[i].begin_s, regions[i].end_s).energy_j;
    }
    *taken = adept_taken_of(times_s, energies_j, used, scratch);
    free(numbers);
    return ADEPT_OK;
}

static adept_status take_run(adept_driven *p, const adept_measure_job *job, adept_error *err)
{
    const adept_recording *r = job->recording;
    adept_component compared =
        adept_measured_sensors(r, ADEPT_COMPONENTS) > 0 ? ADEPT_COMPONENTS : ADEPT_COMPONENT_NODE;

    p->exit_status = job->run.exit_status;
    bool repeats = job->options->repeat > 1;
    adept_status status = take_each(&p->run.taken, job, repeats ? ADEPT_REPEAT_REGION : NULL, 0, compared, err);
    if (status == ADEPT_OK)
        status = take_each(&p->step.taken, job, ADEPT_STEP_REGION, (size_t)job->options->skip, compared, err);
    p->run.time_s = p->run.taken.time_s.mean;
    if (status == ADEPT_OK) status = take_component(p, job, compared, &p->run.energy_j, &p->step.energy_j, err);
    for (int c = 0; c < ADEPT_COMPONENTS && status == ADEPT_OK; c++)
        status = take_component(p, job, (adept_component)c, &p->run.energies_j[c], &p->step.energies_j[c], err);
    return status == ADEPT_OK ? adept_measured_json(&p->measured, r, &job->run, false, err) : status;
}

/* A row for calibrate: at once, so that no kill loses it. */
static adept_status put_steps(adept_cli *cli, const adept_drive *d, uint64_t index)
{
    char words[ADEPT_SWEEP_MAX_AXES][160], value[64];
    const char *list[ADEPT_SWEEP_MAX_AXES];
    size_t at[ADEPT_SWEEP_MAX_AXES];
    const adept_words set = {.words = list, .n = d->sweep.n_axes};

    adept_sweep_at(at, &d->sweep, index);
    for (size_t i = 0; i < set.n; i++) {
        value[0] = '\0';
        if (at[i] != ADEPT_SWEEP_UNVARIED) adept_sweep_print_value(value, sizeof value, &d->sweep.axes[i], at[i]);
        snprintf(words[i], sizeof words[i], "%s=%s", d->sweep.axes[i].key, value);
        list[i] = words[i];
    }
    return adept_measure_append_steps(cli, &d->job, &set);
}

static adept_status measure_point(adept_cli *cli, adept_drive *d, uint64_t index)
{
    adept_driven *p = &d->points[index];

    adept_measure_job_free(&d->job);
    d->job = (adept_measure_job){.options = &d->options->measure, .on_signal = put_back_at_once, .data = d};
    adept_status status = adept_measure_make(cli, &d->job);
    if (status != ADEPT_OK) return status;
    cli->exit_code = 0; /* the command's: the point has it */
    status = take_run(p, &d->job, &cli->err);
    if (status != ADEPT_OK || !d->options->measure.steps || p->exit_status != 0 || d->interrupted) return status;
    return put_steps(cli, d, index);
}

static adept_status interrupted(adept_cli *cli, adept_drive *d)
{
    d->interrupted = true;
    return adept_error_set(&cli->err, ADEPT_E_INTERNAL, "interrupted after %" PRIu64 " of %" PRIu64 " points", d->done,
                           d->size);
}

static adept_status run_points(adept_cli *cli, adept_drive *d)
{
    adept_status status = ADEPT_OK;
    uint64_t failed = 0;

    for (uint64_t i = 0; i < d->size && status == ADEPT_OK; i++) {
        if (adept_interrupt_requested) return interrupted(cli, d);
        status = set_point(d, i, &cli->err);
        if (status == ADEPT_OK) status = measure_point(cli, d, i);
        if (d->interrupted) return interrupted(cli, d);
        if (status != ADEPT_OK) return status;
        failed += d->points[i].exit_status != 0;
        d->done++;
    }
    if (failed == 0) return ADEPT_OK;
    return adept_error_set(&cli->err, ADEPT_E_INTERNAL, "the command failed at %" PRIu64 " of %" PRIu64 " points",
                           failed, d->size);
}

adept_status adept_drive_points(adept_cli *cli, adept_drive *d)
{
    const adept_measure_cli_options *m = &d->options->measure;
    adept_error other = {0};

    d->controls = (adept_controls){.sysroot = m->sysroot, .devices = m->devices.words, .n_devices = m->devices.n};
    d->points = calloc(d->size, sizeof *d->points);
    if (!d->points) return adept_cli_no_memory(cli);
    adept_status status = check_values(d, &cli->err);
    if (status == ADEPT_OK) status = adept_restore_write(&d->restore, &d->controls, &cli->err);
    if (status != ADEPT_OK) return status;
    adept_interrupt_catch();
    status = run_points(cli, d);
    adept_status restored = put_back(d, status == ADEPT_OK ? &cli->err : &other);
    if (restored != ADEPT_OK && status != ADEPT_OK) fprintf(stderr, "adept: %s\n", other.message);
    return status == ADEPT_OK ? restored : status;
}
