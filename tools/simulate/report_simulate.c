/** @file report_simulate.c  Simulated policies as text: policies are rows, metrics are columns. */
#include "report_simulate.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---------------------------------------------------------------- tables ----------------------------------------- */

static adept_text kwh(double energy_j)
{
    return adept_units_kwh(energy_j / 3.6e6);
}

typedef struct shown {
    const char *metric;
    adept_text (*print)(double value);
} shown;

#define MOST_SHOWN 8

/* A column behind the policy's for each metric, in this order. */
static const struct {
    const char *columns;
    shown metrics[MOST_SHOWN];
} tables[] = {
    [ADEPT_SIM_TABLE_JOBS] = {"policy|>jobs/h|>energy|>energy/job|>completion|>censored|>missed|>Jain",
                              {{"throughput_per_h", adept_units_digits},
                               {"energy_j", kwh},
                               {"energy_per_job_j", kwh},
                               {"mean_completion_s", adept_units_time},
                               {"censored_completion_s", adept_units_time},
                               {"miss_rate", adept_units_percent},
                               {"jain", adept_units_digits}}},
    [ADEPT_SIM_TABLE_CLUSTER] =
        {"policy|>wait|>GPUs used|>idle energy|>lost energy|>mean power|>peak power|>over the cap|>unfinished",
         {{"mean_wait_s", adept_units_time},
          {"utilisation", adept_units_percent},
          {"idle_energy_j", kwh},
          {"lost_energy_j", kwh},
          {"mean_power_w", adept_units_watt},
          {"peak_power_w", adept_units_watt},
          {"over_cap_s", adept_units_time},
          {"n_unfinished", adept_units_digits}}},
    [ADEPT_SIM_TABLE_GPUS] = {"policy|GPU|>used|>energy|>of jobs|>starts|>GPUs/job",
                              {{"utilisation", adept_units_percent},
                               {"energy_j", kwh},
                               {"jobs_energy_j", kwh},
                               {"n_starts", adept_units_digits},
                               {"gpus_per_job", adept_units_digits}}},
    [ADEPT_SIM_TABLE_PAIRS] = {"policy|>jobs/h|>energy|>energy/job|>completion|>censored|>missed",
                               {{"throughput_per_h", NULL},
                                {"energy_j", NULL},
                                {"energy_per_job_j", NULL},
                                {"mean_completion_s", NULL},
                                {"censored_completion_s", NULL},
                                {"miss_rate", NULL}}},
    [ADEPT_SIM_TABLE_AIMS] = {"aim|policy|why", {{NULL, NULL}}},
};

/* "57.0 kWh +-570 Wh"; what seeds agree on has no deviation */
static adept_text mean_text(adept_statistics s, const shown *column)
{
    if (isnan(s.mean)) return adept_cell("-");
    return !(s.sd > 1e-12 * fabs(s.mean)) ? column->print(s.mean)
                                          : adept_cell("%s +-%s", column->print(s.mean).s, column->print(s.sd).s);
}

static adept_status mean_cell(adept_text *out, const adept_comparison *c, size_t policy, const shown *column,
                              adept_error *err)
{
    adept_statistics s;
    adept_status status = adept_comparison_statistics(&s, c, policy, adept_sim_metric_by_name(column->metric), err);

    if (status == ADEPT_OK) *out = mean_text(s, column);
    return status;
}

static adept_status gpu_rows(adept_table *out, const adept_comparison *c, adept_error *err)
{
    double *values = malloc((c->n_seeds + 1) * sizeof *values);

    if (!values) return adept_no_memory(err, "metrics");
    for (size_t row = 0; row < c->n_policies * c->n_gpus; row++) {
        size_t policy = row / c->n_gpus, gpu = row % c->n_gpus;
        adept_text texts[MOST_SHOWN];
        const char *cells[MOST_SHOWN + 2] = {c->policies[policy], c->gpus[gpu]};
        for (size_t i = 0; adept_sim_type_metrics[i].name; i++) {
            adept_comparison_gpu_values(values, c, policy, gpu, &adept_sim_type_metrics[i]);
            texts[i] = mean_text(adept_statistics_of(values, c->n_seeds), &tables[ADEPT_SIM_TABLE_GPUS].metrics[i]);
            cells[i + 2] = texts[i].s;
        }
        adept_table_row(out, cells);
    }
    free(values);
    return ADEPT_OK;
}

adept_status adept_sim_put_columns(adept_row_writer *rows, const adept_comparison *c, size_t policy, adept_error *err)
{
    static const struct {
        const char *metric, *title;
        adept_text (*print)(double value);
    } seen[] = {{"throughput_per_h", ">jobs/h", adept_units_digits},
                {"energy_j", ">energy", kwh},
                {"energy_per_job_j", ">energy/job", kwh},
                {"mean_completion_s", ">completion", adept_units_time},
                {"censored_completion_s", ">censored", adept_units_time},
                {"jain", ">Jain", adept_units_digits},
                {"miss_rate", ">missed", adept_units_percent},
                {"peak_power_w", ">peak power", adept_units_watt}};
    adept_status status = ADEPT_OK;

    adept_column_text(rows, "policy", "policy", c->policies[policy]);
    for (const adept_sim_metric *m = adept_sim_metrics; m->name && status == ADEPT_OK; m++) {
        size_t i = 0;
        adept_statistics s;
        status = adept_comparison_statistics(&s, c, policy, m, err);
        while (i < sizeof seen / sizeof *seen && strcmp(seen[i].metric, m->name) != 0)
            i++;
        if (status == ADEPT_OK && i < sizeof seen / sizeof *seen)
            adept_column_number(rows, m->name, seen[i].title, seen[i].print, s.mean);
        else if (status == ADEPT_OK)
            adept_column_value(rows, m->name, s.mean);
    }
    return status;
}

/* "-10.5 % (-12.1 % to -9.0 %)" of what the first policy has; nothing where a seed is missing, as one in which no job
 * ended */
static adept_status pair_cell(adept_text *out, const adept_comparison *c, size_t policy, const shown *column,
                              adept_error *err)
{
    adept_paired p;
    adept_status status =
        adept_comparison_paired(&p, c, 0, policy, adept_sim_metric_by_name(column->metric), NULL, err);

    if (status != ADEPT_OK) return status;
    if (isnan(p.share) || p.n < c->n_seeds)
        *out = adept_cell("-");
    else
        *out = isnan(p.share_low) ? adept_units_change(p.share)
                                  : adept_cell("%s (%s to %s)", adept_units_change(p.share).s,
                                               adept_units_change(p.share_low).s, adept_units_change(p.share_high).s);
    return ADEPT_OK;
}

static adept_status recommendations(adept_table *out, const adept_comparison *c, adept_error *err)
{
    for (size_t aim = 0; aim < ADEPT_SIM_AIMS; aim++) {
        adept_recommendation r;
        adept_status status = adept_recommend(&r, c, (adept_sim_aim)aim, &adept_sim_aim_usual, err);
        if (status != ADEPT_OK) return status;
        adept_table_row(
            out, ADEPT_CELLS(adept_sim_aim_name(aim), r.policy < c->n_policies ? c->policies[r.policy] : "-", r.why));
    }
    return ADEPT_OK;
}

adept_status adept_sim_table_of(adept_table *out, const adept_comparison *c, adept_sim_table which, adept_error *err)
{
    adept_status status = ADEPT_OK;
    bool pairs = which == ADEPT_SIM_TABLE_PAIRS;

    *out = (adept_table){.columns = tables[which].columns};
    if (which == ADEPT_SIM_TABLE_AIMS) return recommendations(out, c, err);
    if (which == ADEPT_SIM_TABLE_GPUS) return gpu_rows(out, c, err);
    for (size_t p = pairs; status == ADEPT_OK && p < c->n_policies; p++) {
        adept_text texts[MOST_SHOWN];
        const char *cells[MOST_SHOWN + 1] = {c->policies[p]};
        for (size_t i = 0; status == ADEPT_OK && i + 1 < adept_columns_count(out->columns); i++) {
            status = (pairs ? pair_cell : mean_cell)(&texts[i], c, p, &tables[which].metrics[i], err);
            cells[i + 1] = texts[i].s;
        }
        if (status == ADEPT_OK) adept_table_row(out, cells);
    }
    return status;
}

adept_text adept_sim_table_caption(const adept_comparison *c, adept_sim_table which)
{
    if (which == ADEPT_SIM_TABLE_JOBS && c->n_seeds == 1) return adept_cell("One seed");
    if (which == ADEPT_SIM_TABLE_JOBS)
        return adept_cell("Mean of %zu %ss, +- one deviation", c->n_seeds, adept_comparison_repeat(c));
    if (which == ADEPT_SIM_TABLE_CLUSTER) return adept_cell("The cluster");
    if (which == ADEPT_SIM_TABLE_GPUS) return adept_cell("By type of GPU");
    if (which == ADEPT_SIM_TABLE_AIMS) return adept_cell("By what came out");
    return c->n_seeds == 1 ? adept_cell("Change from %.24s", c->policies[0])
                           : adept_cell("Change from %.24s over %zu %ss (95 %%)", c->policies[0], c->n_seeds,
                                        adept_comparison_repeat(c));
}

/* ---------------------------------------------------------------- the report ------------------------------------- */

static adept_status print_table(adept_cli *cli, FILE *out, const adept_comparison *c, adept_sim_table which)
{
    adept_table table;
    adept_status status = adept_sim_table_of(&table, c, which, &cli->err);

    if (which != ADEPT_SIM_TABLE_JOBS) fputc('\n', out);
    if (status == ADEPT_OK) adept_print_format(out, "%s\n", adept_sim_table_caption(c, which).s);
    if (status == ADEPT_OK && which == ADEPT_SIM_TABLE_AIMS) fputc('\n', out);
    adept_status printed = adept_table_end(cli, &table, status == ADEPT_OK ? out : NULL);
    return status == ADEPT_OK ? printed : status;
}

adept_status adept_report_simulation(adept_cli *cli, FILE *out, const adept_comparison *c, bool recommends)
{
    bool headed = false;
    adept_status status = print_table(cli, out, c, ADEPT_SIM_TABLE_JOBS);

    if (status == ADEPT_OK) status = print_table(cli, out, c, ADEPT_SIM_TABLE_CLUSTER);
    if (status == ADEPT_OK && c->n_gpus > 1) status = print_table(cli, out, c, ADEPT_SIM_TABLE_GPUS);
    if (status == ADEPT_OK && c->n_policies > 1) status = print_table(cli, out, c, ADEPT_SIM_TABLE_PAIRS);
    if (status == ADEPT_OK) fputs("\nCompletion is of finished jobs; censored counts the others until the end.\n", out);
    if (status == ADEPT_OK && recommends) status = print_table(cli, out, c, ADEPT_SIM_TABLE_AIMS);
    adept_report_warnings(out, &headed, (const char *const *)c->warnings, c->n_warnings);
    return status;
}
