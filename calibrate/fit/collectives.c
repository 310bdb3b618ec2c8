/** @file collectives.c  Two numbers of a link that explain measured all-reduces; see adept_collectives.h. */
#include "adept_collectives.h"
#include "adept_operator_model.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MIN_ROWS 3

/* ---- the search ---- */

/* Which rows are fitted. */
typedef struct selection {
    const adept_collective_rows *rows;
    const adept_hwprofile *hw;
    const bool *left_out;
} selection;

/* NAN where the GPUs are no run. */
static double log_error(const adept_collective_row *row, const adept_hwprofile *hw, double bytes_per_s, double hop_s)
{
    return log(adept_allreduce_s(hw, row->gpus, row->bytes, hop_s, bytes_per_s) / row->time_s);
}

/* The sum of absolute errors: a row that a busy host held up counts no more than others. */
static double loss(const selection *s, double bytes_per_s, double hop_s)
{
    double sum = 0.0;
    for (size_t i = 0; i < s->rows->n; i++)
        if (!s->left_out[i]) sum += fabs(log_error(&s->rows->rows[i], s->hw, bytes_per_s, hop_s));
    return sum;
}

/* What both may be: bounds of the parameter, and of the number of the sheet that it becomes. */
static void bounds_of(double low[2], double high[2], const adept_hwprofile *hw)
{
    static const struct {
        adept_operator_parameter parameter;
        adept_spec spec;
    } both[2] = {{ADEPT_OP_bw_eff_bytes_per_s, ADEPT_SPEC_allreduce_link_share},
                 {ADEPT_OP_l_hop_s, ADEPT_SPEC_allreduce_hop_s}};
    for (int i = 0; i < 2; i++) {
        const adept_parameter_info *info = adept_operator_parameter_info(both[i].parameter);
        const double whole = i == 0 ? 0.5 * hw->specs.link_bytes_per_s : 1.0;
        double sheet[2];
        adept_spec_range(sheet, both[i].spec);
        low[i] = fmax(info->low, whole * sheet[0]); /* NAN, of a GPU without a link, counts for nothing */
        high[i] = fmin(info->high, whole * sheet[1]);
    }
}

/* A grid over the bounds of both, then finer ones around the best. */
static void search(double *bytes_per_s, double *hop_s, const selection *s)
{
    enum { HALF = 8, ROUNDS = 8 };
    double low[2], high[2];
    bounds_of(low, high, s->hw);
    double half[2] = {0.5 * log(high[0] / low[0]), 0.5 * log(high[1] / low[1])};
    double middle[2] = {log(low[0]) + half[0], log(low[1]) + half[1]}, best = INFINITY;
    for (int round = 0; round < ROUNDS; round++) {
        double found[2] = {middle[0], middle[1]};
        for (int i = -HALF; i <= HALF; i++) {
            for (int k = -HALF; k <= HALF; k++) {
                double at[2] = {middle[0] + half[0] * i / HALF, middle[1] + half[1] * k / HALF};
                double now = loss(s, exp(at[0]), exp(at[1]));
                if (!(now < best)) continue;
                best = now;
                memcpy(found, at, sizeof found);
            }
        }
        memcpy(middle, found, sizeof middle);
        half[0] /= 3.0;
        half[1] /= 3.0;
    }
    *bytes_per_s = fmin(high[0], fmax(low[0], exp(middle[0])));
    *hop_s = fmin(high[1], fmax(low[1], exp(middle[1])));
}

/* ---- errors ---- */

static void add(adept_collective_error *e, double log_error)
{
    e->n++;
    e->mape += 100.0 * fabs(expm1(log_error));
    e->bias += 100.0 * expm1(log_error);
}

static void divide(adept_collective_error *e)
{
    if (e->n == 0) return;
    e->mape /= (double)e->n;
    e->bias /= (double)e->n;
}

static void value_of(char value[64], const char *by, const adept_collective_row *row)
{
    if (strcmp(by, "gpus") == 0)
        snprintf(value, 64, "%lld", (long long)row->gpus);
    else if (strcmp(by, "size") == 0)
        snprintf(value, 64, "%s",
                 row->bytes < 1048576.0    ? "64 KiB to 1 MiB"
                 : row->bytes < 16777216.0 ? "1 to 16 MiB"
                                           : "16 MiB and more");
    else
        snprintf(value, 64, "%s", row->source);
}

static bool is_new(const adept_collective_fit *out, size_t first, const char *value)
{
    for (size_t g = first; g < out->n_groups; g++)
        if (strcmp(out->groups[g].value, value) == 0) return false;
    return true;
}

/* Every group of rows predicted by a fit to all others; where there is but one group, or too few others, none. */
static adept_status leave_out(adept_collective_fit *out, const char *by, const selection *all, bool *left_out,
                              adept_error *err)
{
    const adept_collective_rows *rows = all->rows;
    size_t first = out->n_groups;
    char value[64];
    for (size_t i = 0; i < rows->n; i++) {
        value_of(value, by, &rows->rows[i]);
        if (all->left_out[i] || !is_new(out, first, value)) continue;
        if (out->n_groups + 1 >= ADEPT_COLLECTIVE_MAX_GROUPS) /* one is for all together */
            return adept_error_set(err, ADEPT_E_INVALID, "all-reduces have more than %d sources or numbers of GPUs",
                                   ADEPT_COLLECTIVE_MAX_GROUPS);
        out->groups[out->n_groups].by = by;
        snprintf(out->groups[out->n_groups++].value, sizeof value, "%s", value);
    }
    adept_collective_error together = {0};
    for (size_t g = first; g < out->n_groups; g++) {
        adept_collective_error *e = &out->groups[g].held_out;
        double bytes_per_s, hop_s;
        size_t others = 0;
        for (size_t i = 0; i < rows->n; i++) {
            value_of(value, by, &rows->rows[i]);
            left_out[i] = all->left_out[i] || strcmp(value, out->groups[g].value) == 0;
            others += !left_out[i];
        }
        if (others < MIN_ROWS) continue;
        search(&bytes_per_s, &hop_s, &(selection){rows, all->hw, left_out});
        for (size_t i = 0; i < rows->n; i++) {
            if (all->left_out[i] || !left_out[i]) continue;
            double error = log_error(&rows->rows[i], all->hw, bytes_per_s, hop_s);
            add(e, error);
            add(&together, error);
        }
        divide(e);
    }
    divide(&together);
    out->groups[out->n_groups].by = by;
    out->groups[out->n_groups++].held_out = together;
    return ADEPT_OK;
}

static adept_status fit(adept_collective_fit *out, const selection *all, bool *left_out, adept_error *err)
{
    static const char *const schemes[] = {"gpus", "size", "source"};
    adept_status status = ADEPT_OK;
    double low[2], high[2];
    search(&out->bytes_per_s, &out->hop_s, all);
    bounds_of(low, high, all->hw);
    out->bandwidth_is_free = out->bytes_per_s < 0.999 * high[0] && out->bytes_per_s > 1.001 * low[0];
    for (size_t i = 0; i < all->rows->n; i++)
        if (!all->left_out[i])
            add(&out->in_sample, log_error(&all->rows->rows[i], all->hw, out->bytes_per_s, out->hop_s));
    divide(&out->in_sample);
    for (size_t i = 0; i < sizeof schemes / sizeof *schemes && status == ADEPT_OK; i++)
        status = leave_out(out, schemes[i], all, left_out, err);
    return status;
}

adept_status adept_collectives_fit(adept_collective_fit *out, const adept_collective_rows *rows,
                                   const adept_hwprofile *hw, adept_error *err)
{
    *out = (adept_collective_fit){0};
    bool *small = calloc(2 * (rows->n + 1), sizeof *small);
    if (!small) return adept_no_memory(err, "all-reduces");
    for (size_t i = 0; i < rows->n; i++)
        out->n_small += small[i] = rows->rows[i].bytes < ADEPT_COLLECTIVE_MIN_BYTES;
    out->n_rows = rows->n - out->n_small;
    adept_status status =
        out->n_rows < MIN_ROWS
            ? adept_error_set(err, ADEPT_E_INVALID, "%s: %zu all-reduces of at least 64 KiB, of %d needed", rows->file,
                              out->n_rows, MIN_ROWS)
            : fit(out, &(selection){rows, hw, small}, small + rows->n, err);
    free(small);
    return status;
}

/* ---- what becomes of it ---- */

adept_status adept_collectives_apply(adept_hwprofile *hw, const adept_collective_fit *fit, const char *file,
                                     adept_error *err)
{
    const char **sources = adept_arena_array(hw->arena, ADEPT_SPECS, sizeof *sources);
    const char *source = adept_arena_printf(hw->arena, "adept calibrate: %zu all-reduces of %s, error %.1f %%",
                                            fit->n_rows, file, fit->in_sample.mape);
    if (!sources || !source) return adept_no_memory(err, "the fit of all-reduces");
    for (size_t i = 0; i < ADEPT_SPECS; i++)
        sources[i] = hw->sources ? hw->sources[i] : "";
    sources[ADEPT_SPEC_allreduce_link_share] = sources[ADEPT_SPEC_allreduce_hop_s] = source;
    hw->sources = sources;
    hw->specs.allreduce_link_share = fit->bytes_per_s / (0.5 * hw->specs.link_bytes_per_s);
    hw->specs.allreduce_hop_s = fit->hop_s;
    return ADEPT_OK;
}

static void put_error(adept_json_writer *w, const adept_collective_error *e)
{
    adept_json_put_members(w, "n %jd mape %g bias %g", (intmax_t)e->n, e->n > 0 ? e->mape : NAN,
                           e->n > 0 ? e->bias : NAN);
}

char *adept_collective_fit_to_json(const adept_hwprofile *hw, const adept_collective_fit *fit)
{
    adept_json_writer w = {0};
    adept_json_begin_object(&w, NULL);
    adept_json_put_members(&w,
                           "schema_version %jd gpu %s allreduce_bytes_per_s %g allreduce_link_share %g "
                           "allreduce_hop_s %g small %jd unit %s",
                           (intmax_t)1, hw->name, fit->bytes_per_s, hw->specs.allreduce_link_share, fit->hop_s,
                           (intmax_t)fit->n_small, "percent");
    adept_json_begin_object(&w, "in_sample");
    put_error(&w, &fit->in_sample);
    adept_json_end_object(&w);
    adept_json_begin_array(&w, "held_out");
    for (size_t i = 0; i < fit->n_groups; i++) {
        adept_json_begin_object(&w, NULL);
        adept_json_put_members(&w, "by %s value %s", fit->groups[i].by, fit->groups[i].value);
        put_error(&w, &fit->groups[i].held_out);
        adept_json_end_object(&w);
    }
    adept_json_end_array(&w);
    adept_json_end_object(&w);
    return adept_json_finish(&w);
}
