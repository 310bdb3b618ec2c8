/** @file suspects.c  Rows that look wrong: units, the board's limits, repetitions that disagree, physics. They are
 * named, and dropped only on request: a row may be odd and right (a board that cannot follow its power limit). */
#include "dataset_private.h"
#include "adept_statistics.h"
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MISTAKEN_RATIO 100.0 /* of measured and predicted, either way: no GPU is so far from its sheet, a unit is */
#define OVER_LIMIT 1.05      /* boards regulate within a few percent */
#define UNDER_IDLE 0.5
#define LARGEST_RATIO 1e7 /* of measured and predicted, either way: beyond it no parameter of a GPU explains a number */
#define REPEAT_SPREAD 1.10      /* largest over smallest of one configuration */
#define REPEAT_OFF_MEDIAN 0.045 /* then these rows are named; of two such rows, both */
#define OUTLIER_LEAST 5         /* of so many rows a row is named if it is farther off than these scatter */
#define OUTLIER (3.5 * 1.4826)  /* median deviations: 3.5 of a normal distribution's standard deviations */
#define SHIFT_LEAST 3           /* of a file's rows */
#define SHIFT 0.05              /* of a file against the others, as rows of the same configurations have it */
#define SHIFT_SURE 3.0          /* standard errors */
#define MEDIAN_ERROR 1.2533     /* of a median, in standard errors of a mean */

/* Add a reason to those the row has. @return false when memory is out */
static bool suspect(adept_dataset *d, adept_dataset_row *m, const char *format, ...) ADEPT_PRINTF(3, 4);

static bool suspect(adept_dataset *d, adept_dataset_row *m, const char *format, ...)
{
    char text[384];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    m->suspect = adept_arena_printf(d->arena, "%.400s%s%s", m->suspect ? m->suspect : "", m->suspect ? "; " : "", text);
    return !adept_arena_failed(d->arena);
}

/* ---------------------------------------------------------------- one row ---------------------------------------- */

/* A unit, and how many of it are one of the column's. */
typedef struct unit {
    const char *name;
    double count;
} unit;

static const unit time_units[] = {
    {"milliseconds", 1e3}, {"microseconds", 1e6}, {"minutes", 1 / 60.0}, {"hours", 1 / 3600.0}, {0}};
static const unit power_units[] = {{"milliwatts", 1e3}, {"microwatts", 1e6}, {"kilowatts", 1e-3}, {0}};

/* Far from what the sheet lets one expect, a number is probably of another unit. `measured` and `predicted` may not be
 * known. */
static bool check_unit(adept_dataset *d, adept_dataset_row *m, const char *column, double measured, double predicted,
                       const unit *units)
{
    double ratio = measured / predicted;

    if (!(ratio > MISTAKEN_RATIO || ratio < 1 / MISTAKEN_RATIO)) return true;
    const unit *best = units;
    for (const unit *u = units; u->name; u++)
        if (fabs(log(ratio / u->count)) < fabs(log(ratio / best->count))) best = u;
    m->mistaken = best->name;
    if (ratio > LARGEST_RATIO || ratio < 1 / LARGEST_RATIO) {
        m->absurd = column;
        return suspect(d, m, "%s is %g, about %.1g is predicted: nothing can be fitted to that", column, measured,
                       predicted);
    }
    return suspect(d, m, "%s is %g %s: are these %s? About %.2g %s is predicted", column, measured,
                   units == time_units ? "s" : "W", m->mistaken, predicted, units == time_units ? "s" : "W");
}

static bool check_board(adept_dataset *d, adept_dataset_row *m)
{
    const adept_specs *specs = &m->hw->specs;
    double gpus = (double)m->run.gpus;
    bool limited = m->run.power_limit_w > 0;
    double limit_w = limited ? m->run.power_limit_w : specs->tdp_w;
    bool ok = true;

    if (isnan(m->power_avg_w) || m->run.power_scope != ADEPT_SCOPE_GPU) return true;
    if (m->power_avg_w > OVER_LIMIT * gpus * limit_w) /* false where the limit is not known */
        ok = suspect(d, m, "avg_power_w %g W is above the %s of %g W", m->power_avg_w,
                     limited ? "power limit" : "board's power", gpus * limit_w);
    if (ok && m->power_avg_w < UNDER_IDLE * gpus * specs->idle_w)
        ok = suspect(d, m, "avg_power_w %g W is below half of the idle power, %g W", m->power_avg_w,
                     gpus * specs->idle_w);
    return ok;
}

adept_status adept_row_work(double *samples, double *ideal_s, const adept_dataset_row *m, adept_error *err)
{
    const adept_mesh_words words = adept_run_mesh(&m->run);
    adept_mesh mesh;
    adept_roofline peak;
    adept_status status = adept_mesh_of(&mesh, &words, m->profile, err);

    if (status == ADEPT_OK) status = adept_roofline_step(&peak, m->profile, m->hw, err);
    if (status != ADEPT_OK) return status;
    /* that the profile's step has */
    const double passes = (double)(m->profile->grad_accum > 0 ? m->profile->grad_accum : 1);
    *samples = (double)mesh.global_batch;
    *ideal_s = peak.matrix_s / passes * (double)mesh.micro_batches / (double)(mesh.tp * mesh.pp * mesh.cp);
    return ADEPT_OK;
}

static bool has_layout(const adept_dataset_row *m)
{
    const adept_mesh_words words = adept_run_mesh(&m->run);
    return adept_mesh_is_said(&words);
}

static adept_status check_row(adept_dataset *d, adept_dataset_row *m, adept_error *err)
{
    adept_prediction prediction;
    double samples, ideal_s = 0;
    adept_error why = {0};
    adept_status status = adept_row_check_layout(m, err);

    if (status != ADEPT_OK) return status;
    if (!d->listing && has_layout(m))
        return adept_row_error(m, ADEPT_E_INVALID,
                               "a layout (tp, pp, fsdp, activation_checkpoint, ...) is evaluated, but no parameter of "
                               "a GPU is fitted to it: "
                               "adept evaluate and calibrate --layouts take it",
                               err);
    adept_run run = m->run; /* of a node that nothing is known of, the boards must do */
    if (run.power_scope == ADEPT_SCOPE_NODE && !adept_node_known(m->hw, &run)) run.power_scope = ADEPT_SCOPE_GPU;
    status = adept_row_predict_usual(&prediction, m, &run, &why);
    if (status == ADEPT_OK) status = adept_row_work(&samples, &ideal_s, m, &why);
    if (status == ADEPT_E_NOMEM) return adept_row_error(m, status, why.message, err);
    if (status != ADEPT_OK) return adept_row_error(m, ADEPT_E_INVALID, why.message, err);
    bool ok = true;
    /* other arithmetic is left out, because what an activation function costs is a convention */
    if (m->step_time_s < ideal_s) {
        m->mistaken = "steps faster than the sheet's peak";
        ok =
            suspect(d, m,
                    "efficiency above 1: %g s is less than the %.3g s its matrix products and convolutions take at the "
                    "peak of %s in %s",
                    m->step_time_s, ideal_s, m->hw->name, adept_precision_name(m->precision));
    }
    ok = ok && check_unit(d, m, "step_time_s", m->step_time_s, prediction.step_time_s, time_units) &&
         check_unit(d, m, "avg_power_w", m->power_avg_w, prediction.power_avg_w, power_units) && check_board(d, m);
    return ok ? ADEPT_OK : adept_error_set(err, ADEPT_E_NOMEM, "out of memory");
}

/* ---------------------------------------------------------------- repetitions ------------------------------------ */

/* A measured quantity of rows: a field of theirs, and its column. */
typedef struct quantity {
    const char *column;
    size_t offset;
} quantity;

static double value(const adept_dataset_row *m, const quantity *q)
{
    return *(const double *)((const char *)m + q->offset);
}

/* The first row but number i that has the quantity; there is one. */
static const adept_dataset_row *another(adept_dataset_row *const *rows, size_t n, size_t i, const quantity *q)
{
    for (size_t k = 0; k < n; k++)
        if (k != i && !isnan(value(rows[k], q))) return rows[k];
    return rows[i];
}

/* Of sorted numbers, of which there is one. */
static double median_of(const double *sorted, size_t n)
{
    return (sorted[(n - 1) / 2] + sorted[n / 2]) / 2;
}

/* A row against the others of its configuration. */
typedef struct row_shift {
    size_t file;
    double shift, variance; /* of logarithms; in variances of a row */
} row_shift;

/* What is known of the rows of all configurations. */
typedef struct repeat_sums {
    double squares; /* of logarithms, about the mean of their configuration */
    size_t freedom;
    row_shift *shifts; /* as many as there are rows at most */
    size_t n_shifts;
} repeat_sums;

/* The values of `q` in rows of one configuration, in `scratch`. @return how many; sorted */
static size_t sorted_values(double *scratch, adept_dataset_row *const *rows, size_t n, const quantity *q)
{
    size_t measured = 0;

    for (size_t i = 0; i < n; i++)
        if (!isnan(value(rows[i], q))) scratch[measured++] = value(rows[i], q);
    qsort(scratch, measured, sizeof *scratch, adept_by_size);
    return measured;
}

/* Name those that are off. `rows` are of one configuration. `scratch` has room for 2 n numbers. */
static bool check_repeats(adept_dataset *d, adept_dataset_row *const *rows, size_t n, double *scratch,
                          const quantity *q)
{
    size_t measured = sorted_values(scratch, rows, n, q);

    if (measured < 2 || scratch[measured - 1] <= REPEAT_SPREAD * scratch[0]) return true;
    double median = median_of(scratch, measured), off = REPEAT_OFF_MEDIAN, *deviations = scratch + measured;
    for (size_t i = 0; i < measured; i++)
        deviations[i] = fabs(scratch[i] / median - 1);
    qsort(deviations, measured, sizeof *deviations, adept_by_size);
    if (measured >= OUTLIER_LEAST) off = fmax(off, OUTLIER * median_of(deviations, measured));
    for (size_t i = 0; i < n; i++) {
        double x = value(rows[i], q);
        if (isnan(x) || fabs(x / median - 1) <= off) continue;
        const adept_dataset_row *other = another(rows, n, i, q);
        if (!suspect(d, rows[i], "%s %g disagrees with %zu other row%s of the same configuration (%s:%ld has %g)",
                     q->column, x, measured - 1, measured == 2 ? "" : "s", other->file, other->line, value(other, q)))
            return false;
    }
    return true;
}

static size_t file_of(const adept_dataset *d, const adept_dataset_row *m)
{
    size_t i = 0;

    while (i + 1 < d->n_files && d->files[i].path != m->file)
        i++;
    return i;
}

/* Of rows of one configuration: how they scatter, but for those that were named, and how each file's lie to the
 * others'.
 * @return how many rows say something of others */
static size_t add_repeats(repeat_sums *sums, const adept_dataset *d, adept_dataset_row *const *rows, size_t n,
                          double *scratch, const quantity *q)
{
    size_t measured = sorted_values(scratch, rows, n, q), used = 0;
    double mean = 0, squares = 0, middle = measured > 0 ? log(median_of(scratch, measured)) : 0;
    const adept_dataset_row *first = NULL;

    for (size_t i = 0; i < n && measured == 2 && !first; i++) /* of two files nobody knows which is right */
        if (!isnan(value(rows[i], q))) first = rows[i], middle = log(value(first, q));
    for (size_t i = 0; i < n && measured > 1; i++) {
        const double x = log(value(rows[i], q));
        const size_t file = file_of(d, rows[i]);
        if (isnan(x)) continue;
        if (rows[i] != first)
            sums->shifts[sums->n_shifts++] = (row_shift){file, x - middle, 1 + 1 / (double)(measured - 1)};
        if (rows[i]->suspect) continue;
        used++;
        squares += (x - mean) * (x - mean) * (double)(used - 1) / (double)used;
        mean += (x - mean) / (double)used;
    }
    sums->squares += squares;
    sums->freedom += used > 0 ? used - 1 : 0;
    return measured > 1 ? measured : 0;
}

/* A file of which most rows took longer, or drew more, than the same took in the others: another state of the machine.
 * The median: a row that is off alone says nothing of its file. `scratch` has room for all shifts. */
static bool say_shifts(adept_dataset *d, const repeat_sums *sums, double *scratch, const quantity *q)
{
    const double sd = sums->freedom > 0 ? sqrt(sums->squares / (double)sums->freedom) : 0;
    bool ok = true;

    for (size_t i = 0; i < d->n_files && ok; i++) {
        double variance = 0;
        size_t n = 0;
        for (size_t k = 0; k < sums->n_shifts; k++) {
            if (sums->shifts[k].file != i) continue;
            scratch[n++] = sums->shifts[k].shift;
            variance += sums->shifts[k].variance;
        }
        if (n < SHIFT_LEAST) continue;
        qsort(scratch, n, sizeof *scratch, adept_by_size);
        const double shift = median_of(scratch, n), error = MEDIAN_ERROR * sd * sqrt(variance) / (double)n;
        if (fabs(shift) < SHIFT || fabs(shift) < SHIFT_SURE * error) continue;
        ok =
            adept_dataset_warn(d,
                               "%.300s: its %s is %+.1f %% off that of the same configurations in the other files (%zu "
                               "rows): another driver, clock or board, or a machine that was busy?",
                               d->files[i].path, q->column, 100 * expm1(shift), n);
    }
    return ok;
}

/* Brings the rows of the first one's software to the front, in their order. @return how many they are */
static size_t gather_stack(adept_dataset_row **rows, size_t n)
{
    size_t same = 1;

    for (size_t i = 1; i < n; i++) {
        adept_dataset_row *row = rows[i];
        if (strcmp(row->stack, rows[0]->stack) != 0) continue;
        memmove(rows + same + 1, rows + same, (i - same) * sizeof *rows);
        rows[same++] = row;
    }
    return same;
}

/* What one trainer's step takes says nothing of another's: a configuration is also of one `stack`. */
static bool check_all_repeats(adept_dataset *d)
{
    static const quantity quantities[] = {{"step_time_s", offsetof(adept_dataset_row, step_time_s)},
                                          {"avg_power_w", offsetof(adept_dataset_row, power_avg_w)}};
    double *const deviations[] = {&d->repeats.time_sd, &d->repeats.power_sd};
    adept_row_groups groups = {.n = 0};
    adept_dataset_row **rows = adept_arena_array(d->arena, d->n + 1, sizeof *rows);
    adept_dataset_row **alike = adept_arena_array(d->arena, d->n + 1, sizeof *alike);
    double *scratch = adept_arena_array(d->arena, 2 * d->n + 1, sizeof *scratch);
    repeat_sums sums[2] = {{0}};
    bool ok = rows && alike && scratch;
    size_t n = 0;

    for (size_t k = 0; k < 2 && ok; k++)
        ok = (sums[k].shifts = adept_arena_array(d->arena, d->n + 1, sizeof *sums[k].shifts)) != NULL;
    for (size_t i = 0; i < d->n && ok; i++)
        if (!d->rows[i].suspect) rows[n++] = &d->rows[i]; /* a row that is wrong by itself says nothing of the others */
    ok =
        ok && adept_rows_group(&groups, d->arena, (const adept_dataset_row *const *)rows, n, NULL, 0, NULL) == ADEPT_OK;
    for (size_t i = 0; i < n && ok; i++)
        alike[i] = rows[groups.rows[i]];
    d->repeats = (adept_repeats){.time_sd = NAN, .power_sd = NAN};
    for (size_t g = 0, begin = 0, size; g < groups.n && ok; begin += size, g += begin == groups.begin[g + 1]) {
        size_t repeated = 0;
        size = gather_stack(alike + begin, groups.begin[g + 1] - begin);
        for (size_t k = 0; k < 2 && ok; k++)
            ok = check_repeats(d, alike + begin, size, scratch, &quantities[k]);
        for (size_t k = 0; k < 2 && ok; k++) {
            size_t of = add_repeats(&sums[k], d, alike + begin, size, scratch, &quantities[k]);
            repeated = of > repeated ? of : repeated;
        }
        d->repeats.n_configurations += repeated > 0;
        d->repeats.n_rows += repeated;
    }
    for (size_t k = 0; k < 2 && ok; k++) {
        if (sums[k].freedom > 0) *deviations[k] = sqrt(sums[k].squares / (double)sums[k].freedom);
        ok = say_shifts(d, &sums[k], scratch, &quantities[k]);
    }
    return ok;
}

#define LINES_NAMED 8

/* The lines of one file that have such a power are one warning. */
static bool drop_in_file(adept_dataset *d, const char *file)
{
    char lines[LINES_NAMED * 24] = "";
    size_t n = 0, used = 0;

    for (size_t i = 0; i < d->n; i++) {
        adept_dataset_row *m = &d->rows[i];
        if (strcmp(m->file, file) != 0 || m->run.power_scope != ADEPT_SCOPE_NODE || adept_node_known(m->hw, &m->run))
            continue;
        m->run.power_scope = ADEPT_SCOPE_GPU;
        if (isnan(m->power_avg_w)) continue;
        m->power_avg_w = NAN;
        if (n++ < LINES_NAMED)
            used += (size_t)snprintf(lines + used, sizeof lines - used, "%s%ld", n > 1 ? ", " : "", m->line);
    }
    return n == 0 ||
           adept_dataset_warn(
               d,
               "%.300s:%s%s: %zu power%s of whole nodes %s not judged: what the host draws is not known; say it by "
               "host_active_w, node or host, or fit it",
               file, lines, n > LINES_NAMED ? ", ..." : "", n, n == 1 ? "" : "s", n == 1 ? "is" : "are");
}

bool adept_dataset_drop_unknown_nodes(adept_dataset *d)
{
    bool ok = true;

    for (size_t i = 0; i < d->n_files && ok; i++)
        ok = drop_in_file(d, d->files[i].path);
    return ok;
}

bool adept_row_fit_counts_foreach(const adept_dataset_row *m)
{
    return m->hw && !m->hw->transferred && adept_calibrated_for(m->hw, &m->run);
}

bool adept_dataset_settle_unknown(adept_dataset *d)
{
    size_t n = 0;
    bool ok = adept_dataset_drop_unknown_nodes(d);

    for (size_t i = 0; i < d->n; i++) {
        const adept_dataset_row *m = &d->rows[i];
        n += m->profile && m->profile->could_be_fused && !adept_row_fit_counts_foreach(m);
    }
    return ok && (n == 0 || adept_dataset_warn(
                                d,
                                "%zu row%s optimizer_impl: predicted is the geometric mean of foreach and fused, in an "
                                "interval that has both",
                                n, n == 1 ? " does not say" : "s do not say"));
}

adept_status adept_dataset_check(adept_dataset *d, adept_error *err)
{
    bool *drop = adept_arena_array(d->arena, d->n + 1, sizeof *drop), ok = drop != NULL;
    size_t n_layouts = 0;

    if (!drop) return adept_no_memory(err, "the measurements");
    for (size_t i = 0; i < d->n && !d->listing; i++) {
        adept_status status = adept_row_check_layout(&d->rows[i], err); /* a layout of copies is none from then on */
        if (status != ADEPT_OK) return status;
        n_layouts += has_layout(&d->rows[i]);
    }
    if (n_layouts == d->n) n_layouts = 0; /* the first of them is an error */
    if (n_layouts > 0)
        ok = adept_dataset_warn(d,
                                "%zu row%s of a layout (tp, pp, fsdp, ...) and left out: no parameter of a GPU is "
                                "fitted to such, but adept evaluate and calibrate --layouts take them",
                                n_layouts, n_layouts == 1 ? " is" : "s are");
    for (size_t i = 0; i < d->n && ok; i++) {
        adept_dataset_row *m = &d->rows[i];
        m->suspect = m->absurd = m->mistaken = NULL;
        drop[i] = n_layouts > 0 && has_layout(m);
        adept_status status = drop[i] ? ADEPT_OK : check_row(d, m, err);
        if (status == ADEPT_OK && m->absurd && d->listing) status = adept_row_fail(m, m->absurd, err, "%s", m->suspect);
        if (status == ADEPT_OK) continue;
        drop[i] = adept_row_list_unused(d, m, err);
        if (!drop[i] && !(status == ADEPT_E_INVALID && m->absurd)) return status;
    }
    if (!ok || !adept_dataset_drop(d, drop)) return adept_no_memory(err, "the measurements");
    return check_all_repeats(d) ? ADEPT_OK : adept_error_set(err, ADEPT_E_NOMEM, "out of memory");
}

adept_status adept_dataset_refuse_absurd(const adept_dataset *d, adept_error *err)
{
    for (size_t i = 0; i < d->n; i++)
        if (d->rows[i].absurd) return adept_row_fail(&d->rows[i], d->rows[i].absurd, err, "%s", d->rows[i].suspect);
    return ADEPT_OK;
}

adept_status adept_dataset_refuse_mistaken(const adept_dataset *d, adept_error *err)
{
    const adept_dataset_row *first = d->rows;
    size_t alike = 0;

    for (size_t i = 0; i < d->n; i++) {
        if (!d->rows[i].mistaken) return ADEPT_OK;
        alike += strcmp(d->rows[i].mistaken, first->mistaken) == 0;
    }
    if (d->n == 0) return ADEPT_OK;
    return adept_error_set(
        err, ADEPT_E_FIT,
        "%.300s:%ld: every row is suspect, and nothing is fitted to mistakes: %zu of %zu look like %s; "
        "the first: %.400s",
        first->file, first->line, alike, d->n, first->mistaken, first->suspect);
}

bool adept_dataset_exclude_suspect(adept_dataset *d)
{
    size_t before = d->n;
    bool *drop = adept_arena_array(d->arena, before + 1, sizeof *drop);

    for (size_t i = 0; i < before && drop; i++)
        drop[i] = d->rows[i].suspect != NULL;
    if (!drop || !adept_dataset_drop(d, drop)) return false;
    d->n_excluded += before - d->n;
    return true;
}
