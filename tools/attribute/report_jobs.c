/** @file report_jobs.c  Energy of jobs as text, as CSV and as JSON. */
#include "columns.h"
#include "report_jobs.h"
#include "report.h"
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static adept_totals rates_of(const adept_jobs_report *r)
{
    adept_totals t = {.steps = NAN};

    adept_totals_take_rates(&t, &r->options->site);
    return t;
}

/* NAN where no intensity was given. */
static double co2e_g_of(const adept_jobs_report *r, double energy_j)
{
    const adept_totals t = rates_of(r);

    return energy_j / 3.6e6 * t.carbon_g_per_kwh * (isnan(t.pue) ? 1 : t.pue);
}

bool adept_job_check_of(adept_job_check *out, const adept_account_group *job)
{
    if (!job->job || !adept_job_note_read(&out->note, job->job->note, job->job->comment)) return false;
    out->time_s = adept_batch_job_elapsed_s(job->job);
    out->gpu_energy_j = adept_account_is_whole(job) && job->gpu_time_s > 0 ? job->energy_j[ADEPT_ENERGY_GPU] : NAN;
    return true;
}

static const char *state_of(const adept_account_group *g)
{
    return adept_batch_state_name(g->job ? g->job->state : ADEPT_BATCH_UNKNOWN);
}

static bool has_part(const adept_jobs_report *r, adept_energy_part part)
{
    for (size_t i = 0; i < r->accounting->n_nodes; i++)
        if (r->accounting->nodes[i].has[part]) return true;
    return false;
}

static double part_j(const adept_jobs_report *r, const adept_account_group *g, adept_energy_part part)
{
    return has_part(r, part) ? g->energy_j[part] : NAN;
}

/* NAN: there is nothing to share. */
static double share_of(double part_j, double all_j)
{
    return all_j > 0 ? part_j / all_j : NAN;
}

/* All parts of a node together. */
static double node_energy_j(const adept_node_account *a)
{
    double energy_j = 0;

    for (size_t p = 0; p < ADEPT_ENERGY_PARTS; p++)
        energy_j += a->energy_j[p];
    return energy_j;
}

/* ---------------------------------------------------------------- rows, in each format ---------------------------- */

static adept_text date_text(double time_s)
{
    time_t t = (time_t)time_s;
    struct tm local;
    adept_text out = {""};

    if (isfinite(time_s) && localtime_r(&t, &local)) strftime(out.s, sizeof out.s, "%Y-%m-%d %H:%M:%S", &local);
    return out;
}

/* Of its GPUs' energy, where it is not known how much it used of them. */
static adept_text range_cell(const adept_account_group *g)
{
    if (!(g->gpu_high_j - g->gpu_low_j > 1e-6 * fabs(g->energy_j[ADEPT_ENERGY_GPU]))) return adept_cell("%s", "");
    return adept_cell("%s to %s", adept_units_joule(g->gpu_low_j).s, adept_units_joule(g->gpu_high_j).s);
}

/* "": none */
static adept_text count(double n)
{
    return n > 0 ? adept_cell("%.0f", n) : (adept_text){""};
}

static adept_text known_time(double time_s)
{
    return time_s > 0 ? adept_units_time(time_s) : (adept_text){""};
}

static void put_histogram(adept_json_writer *w, const char *key, const adept_use_histogram *h)
{
    if (!adept_json_begin_known(w, key, h->total_s > 0)) return;
    adept_json_put_number(w, "mean", adept_use_mean(h));
    adept_json_begin_array(w, "time_s");
    for (size_t i = 0; i < ADEPT_USE_BINS; i++)
        adept_json_put_number(w, NULL, h->time_s[i]);
    adept_json_end_array(w);
    adept_json_end_object(w);
}

static void put_energies(adept_json_writer *w, const adept_jobs_report *r, const adept_account_group *g)
{
    adept_json_put_number(w, "energy_j", g->total_j);
    for (size_t p = 0; p < ADEPT_ENERGY_PARTS; p++) {
        char key[32];
        snprintf(key, sizeof key, "%s_j", adept_energy_part_name(p));
        adept_json_put_number(w, key, part_j(r, g, (adept_energy_part)p));
    }
    adept_json_put_pair(w, "gpu_range_j", has_part(r, ADEPT_ENERGY_GPU) ? g->gpu_low_j : NAN, g->gpu_high_j);
    adept_json_put_members(w, "cpu_time_s %g gpu_time_s %g co2e_g %g", g->cpu_time_s, g->gpu_time_s,
                           co2e_g_of(r, g->total_j));
}

static void put_check(adept_json_writer *w, const adept_account_group *g)
{
    adept_job_check c;

    if (!adept_json_begin_known(w, "predicted", adept_job_check_of(&c, g))) return;
    adept_json_put_known(w, "profile", c.note.profile);
    adept_json_put_known(w, "gpu", c.note.gpu);
    adept_json_put_members(w, "gpus %g batch %g power_limit_w %g steps %g", c.note.gpus, c.note.batch, c.note.limit_w,
                           c.note.steps);
    bool whole = !isnan(c.note.steps);
    adept_json_put_object(w, "time_s", "predicted %g measured %g ratio %g", c.note.time_s, c.time_s,
                          whole ? c.time_s / c.note.time_s : NAN);
    adept_json_put_object(w, "gpu_energy_j", "predicted %g measured %g ratio %g", c.note.energy_j, c.gpu_energy_j,
                          whole ? c.gpu_energy_j / c.note.energy_j : NAN);
    adept_json_end_object(w);
}

static adept_text ratio(double value)
{
    return adept_cell("x %.3f", value);
}

/* NULL: not known. */
static const char *known(const char *text)
{
    return *text ? text : NULL;
}

static void put_group(adept_row_writer *w, const adept_jobs_report *r, const adept_account_group *g, const char *name)
{
    static const char *const titles[ADEPT_GROUP_KEYS] = {"Job", "User", "Account", "Partition", "State", "Node"};
    const adept_batch_job *job = g->job;
    const bool has_gpus = has_part(r, ADEPT_ENERGY_GPU);

    adept_row_begin(w);
    adept_column_text(w, adept_group_key_name(r->options->by), NULL, name);
    adept_column_text(w, NULL, titles[r->options->by], job && *job->name ? job->name : name);
    if (r->options->by == ADEPT_GROUP_JOB) {
        adept_column_text(w, "name", NULL, job ? known(job->name) : NULL);
        adept_column_text(w, "user", "User", job ? known(job->user) : NULL);
        adept_column_text(w, "account", NULL, job ? known(job->account) : NULL);
        adept_column_text(w, "partition", "Partition", job ? known(job->partition) : NULL);
        adept_column_text(w, "state", "State", g->id >= 0 ? state_of(g) : NULL);
        if (w->json)
            adept_json_put_members(w->json, "begin_s %g end_s %g", job ? job->begin_s : NAN, job ? job->end_s : NAN);
        adept_column_known(w, "elapsed_s", ">Time", adept_units_time, job ? adept_batch_job_elapsed_s(job) : NAN);
        if (w->json) adept_json_put_number(w->json, "recorded_s", g->covered_s);
    } else {
        adept_column_number(w, "jobs", ">Jobs", count, (double)g->n_jobs);
    }
    if (w->json) {
        put_energies(w->json, r, g);
        put_histogram(w->json, "gpu_sm", &g->multiprocessors);
        put_histogram(w->json, "gpu_memory", &g->memory);
        if (r->options->by == ADEPT_GROUP_JOB) put_check(w->json, g);
    } else {
        adept_column_number(w, "cpu_time_s", ">CPU time", known_time, g->cpu_time_s);
        adept_column_value(w, "gpu_time_s", g->gpu_time_s);
        adept_column_known(w, "cpu_j", ">CPU", adept_units_joule, part_j(r, g, ADEPT_ENERGY_CPU));
        adept_column_known(w, "dram_j", ">DRAM", adept_units_joule, part_j(r, g, ADEPT_ENERGY_DRAM));
        adept_column_known(w, "gpu_j", ">GPU", adept_units_joule, part_j(r, g, ADEPT_ENERGY_GPU));
        adept_column_text(w, NULL, ">GPU range", range_cell(g).s);
        adept_column_known(w, "gap_j", ">Gap", adept_units_joule, part_j(r, g, ADEPT_ENERGY_GAP));
        adept_column_number(w, "energy_j", ">Energy", adept_units_joule, g->total_j);
        adept_column_known(w, NULL, ">Share", adept_units_percent, share_of(g->total_j, r->groups->all.total_j));
        adept_column_known(w, "co2e_g", ">CO2e", adept_units_grams, co2e_g_of(r, g->total_j));
        adept_column_known(w, "gpu_sm_mean", ">GPU SM", adept_units_percent, adept_use_mean(&g->multiprocessors));
        adept_column_known(w, "gpu_memory_mean", ">GPU memory", adept_units_percent, adept_use_mean(&g->memory));
        adept_column_value(w, "gpu_low_j", has_gpus ? g->gpu_low_j : NAN);
        adept_column_value(w, "gpu_high_j", has_gpus ? g->gpu_high_j : NAN);
    }
    adept_row_end(w);
}

static void put_groups(adept_row_writer *w, const adept_jobs_report *r)
{
    const adept_account_groups *g = r->groups;

    for (size_t i = 0; i < g->n; i++)
        put_group(w, r, &g->list[i], g->list[i].name);
    if (w->json) return; /* which has the others elsewhere */
    put_group(w, r, &g->system, "(system)");
    put_group(w, r, &g->idle, "(idle)");
    if (g->hidden.total_j != 0)
        put_group(w, r, &g->hidden, "(not visible here)"); /* GPUs that were not where it was recorded */
    if (!w->is_csv) put_group(w, r, &g->all, "All");
}

static void put_nodes(adept_row_writer *w, const adept_jobs_report *r)
{
    for (size_t i = 0; i < r->accounting->n_nodes; i++) {
        const adept_node_account *a = &r->accounting->nodes[i];
        const bool has_cpu = a->has[ADEPT_ENERGY_CPU];
        adept_row_begin(w);
        adept_column_text(w, "host", "Node", a->host);
        adept_column_number(w, "begin_s", "From", date_text, a->begin_s);
        adept_column_number(w, "end_s", "To", date_text, a->end_s);
        adept_column_number(w, "recorded_s", ">Recorded", adept_units_time, a->recorded_s);
        adept_column_text(w, "cpu_by", NULL, a->cpu_is_rest ? "node" : has_cpu ? "cpu" : NULL);
        adept_column_text(w, NULL, "Processors by",
                          a->cpu_is_rest ? "the node's meter"
                          : has_cpu      ? "their meters"
                                         : "nothing");
        adept_column_number(w, "energy_j", ">Energy", adept_units_joule, node_energy_j(a));
        adept_column_known(w, "node_meter_j", ">Its own meter", adept_units_joule, a->external_j);
        adept_column_value(w, "beside_j", a->beside_j);
        adept_column_known(w, NULL, ">Over parts", ratio, a->cpu_is_rest ? NAN : share_of(a->external_j, a->beside_j));
        if (w->json) {
            adept_json_begin_object(w->json, "unknown_s");
            for (size_t p = 0; p < ADEPT_ENERGY_PARTS; p++)
                adept_json_put_number(w->json, adept_energy_part_name(p), a->has[p] ? a->unknown_s[p] : NAN);
            adept_json_end_object(w->json);
        }
        adept_row_end(w);
    }
}

/* ---------------------------------------------------------------- text -------------------------------------------- */

static const char *name_of(const adept_account_group *g)
{
    return g->job && *g->job->name ? g->job->name : g->name;
}

static void print_lost(const adept_jobs_report *r)
{
    const adept_account_groups *g = r->groups;

    printf("\n%zu of %zu jobs did not complete: %s, %s of all jobs' energy\n", g->lost.n_jobs, g->jobs.n_jobs,
           adept_units_joule(g->lost.total_j).s,
           g->jobs.total_j > 0 ? adept_units_percent(g->lost.total_j / g->jobs.total_j).s : "0 %");
    if (g->open.n_jobs > 0)
        printf("%zu had not ended, or their state is not known: %s\n", g->open.n_jobs,
               adept_units_joule(g->open.total_j).s);
}

static adept_text change_cell(double measured, double predicted)
{
    return isfinite(measured / predicted) ? adept_units_change(measured / predicted - 1) : adept_cell("%s", "");
}

static adept_status print_checks(adept_cli *cli, const adept_jobs_report *r)
{
    adept_table table = {.columns =
                             "Job|Profile|GPU|>Time predicted|>Measured|>Off|>GPU energy predicted|>Measured|>Off"};
    adept_job_check c;
    size_t n = 0;

    for (size_t i = 0; i < r->jobs->n; i++) {
        if (!adept_job_check_of(&c, &r->jobs->list[i]) || isnan(c.note.steps)) continue;
        n++;
        adept_table_row(
            &table, ADEPT_CELLS(name_of(&r->jobs->list[i]), c.note.profile,
                                isnan(c.note.gpus) ? c.note.gpu : adept_cell("%g x %.40s", c.note.gpus, c.note.gpu).s,
                                adept_units_time(c.note.time_s).s, adept_units_time(c.time_s).s,
                                change_cell(c.time_s, c.note.time_s).s, adept_units_joule(c.note.energy_j).s,
                                adept_units_joule(c.gpu_energy_j).s, change_cell(c.gpu_energy_j, c.note.energy_j).s));
    }
    if (n > 0) puts("\nAs adept predicted when it placed them, and as it was");
    return adept_table_end(cli, &table, n > 0 ? stdout : NULL);
}

/* All jobs' GPUs, a bar a bin. */
static void print_histogram(const char *title, const adept_use_histogram *h)
{
    if (!(h->total_s > 0)) return;
    printf("\n%s: mean %s\n", title, adept_units_percent(adept_use_mean(h)).s);
    for (size_t i = 0; i < ADEPT_USE_BINS; i++)
        printf("  %3zu to %3zu %%  %6s  %s\n", 100 * i / ADEPT_USE_BINS, 100 * (i + 1) / ADEPT_USE_BINS,
               adept_units_percent(h->time_s[i] / h->total_s).s, adept_units_bar(h->time_s[i] / h->total_s, 40).s);
}

adept_status adept_jobs_print(adept_cli *cli, const adept_jobs_report *r)
{
    bool headed = false;
    adept_row_writer groups = {0}, nodes = {0};

    put_groups(&groups, r);
    adept_status status = adept_rows_end(cli, &groups, stdout);
    if (status == ADEPT_OK) print_lost(r);
    const adept_totals t = rates_of(r);
    if (!isnan(t.carbon_g_per_kwh)) printf("CO2e: %s\n", adept_grid_text(&t).s);
    if (status == ADEPT_OK) status = print_checks(cli, r);
    if (status != ADEPT_OK) return status;
    print_histogram("Multiprocessors of GPUs that jobs held", &r->groups->jobs.multiprocessors);
    print_histogram("Memory of GPUs that jobs held", &r->groups->jobs.memory);
    putchar('\n');
    put_nodes(&nodes, r);
    status = adept_rows_end(cli, &nodes, stdout);
    adept_report_warnings(stdout, &headed, r->warnings, r->n_warnings);
    return status;
}

adept_status adept_jobs_print_csv(adept_cli *cli, const adept_jobs_report *r)
{
    adept_row_writer rows = {.is_csv = true};

    put_groups(&rows, r);
    return adept_rows_end(cli, &rows, stdout);
}

/* ---------------------------------------------------------------- JSON -------------------------------------------- */

static void put_sum(adept_json_writer *w, const adept_jobs_report *r, const char *key, const adept_account_group *g)
{
    adept_json_begin_object(w, key);
    adept_json_put_integer(w, "jobs", (int64_t)g->n_jobs);
    put_energies(w, r, g);
    adept_json_end_object(w);
}

adept_status adept_jobs_print_json(adept_cli *cli, const adept_jobs_report *r)
{
    const adept_account_groups *g = r->groups;
    adept_json_writer w = {.pretty = true};
    adept_row_writer rows = {.json = &w};

    adept_json_begin_object(&w, NULL);
    adept_json_put_members(&w, "schema_version %jd kind %s by %s", (intmax_t)1, "jobs",
                           adept_group_key_name(r->options->by));
    adept_json_put_members(&w, "cpu_base %s cpu_idle %s",
                           r->options->how.cpu_base == ADEPT_CPU_CAPACITY ? "capacity" : "busy",
                           r->options->idle ? "separate" : "included");
    const adept_totals t = rates_of(r);
    adept_json_begin_object(&w, "carbon_intensity");
    adept_json_put_number(&w, "g_per_kwh", t.carbon_g_per_kwh);
    adept_json_put_known(&w, "place", t.place);
    adept_json_put_number(&w, "year", t.carbon_year > 0 ? t.carbon_year : NAN);
    adept_json_put_known(&w, "source", t.carbon_source);
    adept_json_end_object(&w);
    adept_json_begin_array(&w, "nodes");
    put_nodes(&rows, r);
    adept_json_end_array(&w);
    adept_json_begin_array(&w, "rows");
    put_groups(&rows, r);
    adept_json_end_array(&w);
    put_sum(&w, r, "jobs", &g->jobs);
    put_sum(&w, r, "system", &g->system);
    put_sum(&w, r, "idle", &g->idle);
    put_sum(&w, r, "not_visible", &g->hidden);
    put_sum(&w, r, "all", &g->all);
    put_sum(&w, r, "not_completed", &g->lost);
    put_sum(&w, r, "not_ended", &g->open);
    adept_json_put_number(&w, "not_completed_share", share_of(g->lost.total_j, g->jobs.total_j));
    put_histogram(&w, "gpu_sm", &g->jobs.multiprocessors);
    put_histogram(&w, "gpu_memory", &g->jobs.memory);
    adept_json_put_strings(&w, "warnings", r->warnings, r->n_warnings);
    adept_json_end_object(&w);
    return adept_json_emit(cli, &w);
}
