/** @file report_jobs.c  Energy of jobs as text, as CSV and as JSON. */
#include "adept_csv_writer.h"
#include "jobs_report.h"
#include "report.h"
#include "table.h"
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

/* All parts of a node together. */
static double node_energy_j(const adept_node_account *a)
{
    double energy_j = 0;

    for (size_t p = 0; p < ADEPT_ENERGY_PARTS; p++)
        energy_j += a->energy_j[p];
    return energy_j;
}

/* ---------------------------------------------------------------- text -------------------------------------------- */

static adept_text date_text(double time_s)
{
    time_t t = (time_t)time_s;
    struct tm local;
    adept_text out = {""};

    if (isfinite(time_s) && localtime_r(&t, &local)) strftime(out.s, sizeof out.s, "%Y-%m-%d %H:%M:%S", &local);
    return out;
}

static adept_text part_cell(const adept_jobs_report *r, const adept_account_group *g, adept_energy_part part)
{
    return has_part(r, part) ? adept_units_joule(g->energy_j[part]) : adept_cell("%s", "");
}

/* Of its GPUs' energy, where it is not known how much it used of them. */
static adept_text range_cell(const adept_account_group *g)
{
    if (!(g->gpu_high_j - g->gpu_low_j > 1e-6 * fabs(g->energy_j[ADEPT_ENERGY_GPU]))) return adept_cell("%s", "");
    return adept_cell("%s to %s", adept_units_joule(g->gpu_low_j).s, adept_units_joule(g->gpu_high_j).s);
}

static adept_text share_cell(double part_j, double all_j)
{
    return all_j > 0 ? adept_units_percent(part_j / all_j) : adept_cell("%s", "");
}

static adept_text known_percent(double share)
{
    return isnan(share) ? adept_cell("%s", "") : adept_units_percent(share);
}

static void add_group(adept_table *table, const adept_jobs_report *r, const adept_account_group *g, const char *name)
{
    const adept_batch_job *job = g->job;
    double co2e_g = co2e_g_of(r, g->total_j);
    adept_text jobs =
        r->options->by != ADEPT_GROUP_JOB && g->n_jobs > 0 ? adept_cell("%zu", g->n_jobs) : adept_cell("%s", "");
    double elapsed_s = job ? adept_batch_job_elapsed_s(job) : NAN;

    adept_table_row(
        table,
        ADEPT_CELLS(name, job ? job->user : "", job ? job->partition : "", g->id >= 0 ? state_of(g) : "", jobs.s,
                    isnan(elapsed_s) ? "" : adept_units_time(elapsed_s).s,
                    g->cpu_time_s > 0 ? adept_units_time(g->cpu_time_s).s : "", part_cell(r, g, ADEPT_ENERGY_CPU).s,
                    part_cell(r, g, ADEPT_ENERGY_DRAM).s, part_cell(r, g, ADEPT_ENERGY_GPU).s, range_cell(g).s,
                    part_cell(r, g, ADEPT_ENERGY_GAP).s, adept_units_joule(g->total_j).s,
                    share_cell(g->total_j, r->groups->all.total_j).s, isnan(co2e_g) ? "" : adept_units_grams(co2e_g).s,
                    known_percent(adept_use_mean(&g->multiprocessors)).s, known_percent(adept_use_mean(&g->memory)).s));
}

#define HIDDEN "(not visible here)"

/* Did processes use GPUs that were not visible where they were recorded? */
static bool is_hidden(const adept_jobs_report *r)
{
    return r->groups->hidden.total_j != 0;
}

static const char *name_of(const adept_account_group *g)
{
    return g->job && *g->job->name ? g->job->name : g->name;
}

static adept_status print_groups(adept_cli *cli, const adept_jobs_report *r)
{
    static const char *const titles[ADEPT_GROUP_KEYS] = {"Job", "User", "Account", "Partition", "State", "Node"};
    char columns[256];

    snprintf(columns, sizeof columns,
             "%s|User|Partition|State|>Jobs|>Time|>CPU time|>CPU|>DRAM|>GPU|>GPU range|>Gap|>Energy|>Share|>CO2e|>GPU "
             "SM|>GPU memory",
             titles[r->options->by]);
    adept_table table = {.columns = columns};
    for (size_t i = 0; i < r->groups->n; i++)
        add_group(&table, r, &r->groups->list[i], name_of(&r->groups->list[i]));
    const struct {
        const adept_account_group *group;
        const char *name;
    } ends[] = {{&r->groups->system, "(system)"},
                {&r->groups->idle, "(idle)"},
                {&r->groups->hidden, HIDDEN},
                {&r->groups->all, "All"}};
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        if (ends[i].group != &r->groups->hidden || is_hidden(r)) add_group(&table, r, ends[i].group, ends[i].name);
    return adept_table_end(cli, &table, stdout);
}

static adept_status print_nodes(adept_cli *cli, const adept_jobs_report *r)
{
    adept_table table = {.columns = "Node|From|To|>Recorded|Processors by|>Energy|>Its own meter|>Over parts"};

    for (size_t i = 0; i < r->accounting->n_nodes; i++) {
        const adept_node_account *a = &r->accounting->nodes[i];
        double over = a->cpu_is_rest || !(a->beside_j > 0) ? NAN : a->external_j / a->beside_j;
        adept_table_row(&table, ADEPT_CELLS(a->host, date_text(a->begin_s).s, date_text(a->end_s).s,
                                            adept_units_time(a->recorded_s).s,
                                            a->cpu_is_rest             ? "the node's meter"
                                            : a->has[ADEPT_ENERGY_CPU] ? "their meters"
                                                                       : "nothing",
                                            adept_units_joule(node_energy_j(a)).s,
                                            isnan(a->external_j) ? "" : adept_units_joule(a->external_j).s,
                                            isnan(over) ? "" : adept_cell("x %.3f", over).s));
    }
    return adept_table_end(cli, &table, stdout);
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
    adept_status status = print_groups(cli, r);

    if (status == ADEPT_OK) print_lost(r);
    const adept_totals t = rates_of(r);
    if (!isnan(t.carbon_g_per_kwh)) printf("CO2e: %s\n", adept_grid_text(&t).s);
    if (status == ADEPT_OK) status = print_checks(cli, r);
    if (status != ADEPT_OK) return status;
    print_histogram("Multiprocessors of GPUs that jobs held", &r->groups->jobs.multiprocessors);
    print_histogram("Memory of GPUs that jobs held", &r->groups->jobs.memory);
    putchar('\n');
    status = print_nodes(cli, r);
    adept_report_warnings(stdout, &headed, r->warnings, r->n_warnings);
    return status;
}

/* ---------------------------------------------------------------- CSV --------------------------------------------- */

static void put_text_cell(adept_buffer *out, const char *text)
{
    adept_csv_put_text(out, text);
    adept_buffer_text(out, ",");
}

static void put_number_cell(adept_buffer *out, double value)
{
    adept_csv_put_number(out, value);
    adept_buffer_text(out, ",");
}

static void put_csv_row(adept_buffer *out, const adept_jobs_report *r, const adept_account_group *g, const char *name)
{
    const adept_batch_job *job = g->job;

    put_text_cell(out, name);
    if (r->options->by == ADEPT_GROUP_JOB) {
        put_text_cell(out, job ? job->name : "");
        put_text_cell(out, job ? job->user : "");
        put_text_cell(out, job ? job->account : "");
        put_text_cell(out, job ? job->partition : "");
        put_text_cell(out, g->id >= 0 ? state_of(g) : "");
        put_number_cell(out, job ? adept_batch_job_elapsed_s(job) : NAN);
    } else {
        put_number_cell(out, (double)g->n_jobs);
    }
    put_number_cell(out, g->cpu_time_s);
    put_number_cell(out, g->gpu_time_s);
    for (size_t p = 0; p < ADEPT_ENERGY_PARTS; p++)
        put_number_cell(out, has_part(r, (adept_energy_part)p) ? g->energy_j[p] : NAN);
    put_number_cell(out, g->total_j);
    put_number_cell(out, co2e_g_of(r, g->total_j));
    put_number_cell(out, adept_use_mean(&g->multiprocessors));
    put_number_cell(out, adept_use_mean(&g->memory));
    put_number_cell(out, has_part(r, ADEPT_ENERGY_GPU) ? g->gpu_low_j : NAN);
    adept_csv_put_number(out, has_part(r, ADEPT_ENERGY_GPU) ? g->gpu_high_j : NAN);
    adept_buffer_text(out, "\n");
}

adept_status adept_jobs_print_csv(adept_cli *cli, const adept_jobs_report *r)
{
    adept_buffer out = {0};

    adept_buffer_text(&out, adept_group_key_name(r->options->by));
    adept_buffer_text(&out,
                      r->options->by == ADEPT_GROUP_JOB ? ",name,user,account,partition,state,elapsed_s" : ",jobs");
    adept_buffer_text(&out, ",cpu_time_s,gpu_time_s,cpu_j,dram_j,gpu_j,gap_j,energy_j,co2e_g,gpu_sm_mean,gpu_memory_"
                            "mean,gpu_low_j,gpu_high_j\n");
    for (size_t i = 0; i < r->groups->n; i++)
        put_csv_row(&out, r, &r->groups->list[i], r->groups->list[i].name);
    put_csv_row(&out, r, &r->groups->system, "(system)");
    put_csv_row(&out, r, &r->groups->idle, "(idle)");
    if (is_hidden(r)) put_csv_row(&out, r, &r->groups->hidden, HIDDEN);
    char *text = adept_buffer_take(&out);
    if (!text) return adept_cli_no_memory(cli);
    fputs(text, stdout);
    free(text);
    return ADEPT_OK;
}

/* ---------------------------------------------------------------- JSON -------------------------------------------- */

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
        adept_json_put_number(w, key, has_part(r, (adept_energy_part)p) ? g->energy_j[p] : NAN);
    }
    if (has_part(r, ADEPT_ENERGY_GPU)) {
        adept_json_begin_array(w, "gpu_range_j");
        adept_json_put_number(w, NULL, g->gpu_low_j);
        adept_json_put_number(w, NULL, g->gpu_high_j);
        adept_json_end_array(w);
    } else {
        adept_json_put_number(w, "gpu_range_j", NAN);
    }
    adept_json_put_members(w, "cpu_time_s %g gpu_time_s %g co2e_g %g", g->cpu_time_s, g->gpu_time_s,
                           co2e_g_of(r, g->total_j));
}

static void put_sum(adept_json_writer *w, const adept_jobs_report *r, const char *key, const adept_account_group *g)
{
    adept_json_begin_object(w, key);
    adept_json_put_integer(w, "jobs", (int64_t)g->n_jobs);
    put_energies(w, r, g);
    adept_json_end_object(w);
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

static void put_group(adept_json_writer *w, const adept_jobs_report *r, const adept_account_group *g)
{
    const adept_batch_job *job = g->job;

    adept_json_begin_object(w, NULL);
    adept_json_put_string(w, adept_group_key_name(r->options->by), g->name);
    if (r->options->by == ADEPT_GROUP_JOB) {
        adept_json_put_known(w, "name", job ? job->name : "");
        adept_json_put_known(w, "user", job ? job->user : "");
        adept_json_put_known(w, "account", job ? job->account : "");
        adept_json_put_known(w, "partition", job ? job->partition : "");
        adept_json_put_string(w, "state", state_of(g));
        adept_json_put_members(w, "begin_s %g end_s %g elapsed_s %g recorded_s %g", job ? job->begin_s : NAN,
                               job ? job->end_s : NAN, job ? adept_batch_job_elapsed_s(job) : NAN, g->covered_s);
    } else {
        adept_json_put_integer(w, "jobs", (int64_t)g->n_jobs);
    }
    put_energies(w, r, g);
    put_histogram(w, "gpu_sm", &g->multiprocessors);
    put_histogram(w, "gpu_memory", &g->memory);
    if (r->options->by == ADEPT_GROUP_JOB) put_check(w, g);
    adept_json_end_object(w);
}

static void put_nodes(adept_json_writer *w, const adept_jobs_report *r)
{
    adept_json_begin_array(w, "nodes");
    for (size_t i = 0; i < r->accounting->n_nodes; i++) {
        const adept_node_account *a = &r->accounting->nodes[i];
        adept_json_begin_object(w, NULL);
        adept_json_put_members(w, "host %s begin_s %g end_s %g recorded_s %g", a->host, a->begin_s, a->end_s,
                               a->recorded_s);
        adept_json_put_string(w, "cpu_by", a->cpu_is_rest ? "node" : a->has[ADEPT_ENERGY_CPU] ? "cpu" : NULL);
        adept_json_put_members(w, "energy_j %g node_meter_j %g beside_j %g", node_energy_j(a), a->external_j, a->beside_j);
        adept_json_begin_object(w, "unknown_s");
        for (size_t p = 0; p < ADEPT_ENERGY_PARTS; p++)
            adept_json_put_number(w, adept_energy_part_name(p), a->has[p] ? a->unknown_s[p] : NAN);
        adept_json_end_object(w);
        adept_json_end_object(w);
    }
    adept_json_end_array(w);
}

adept_status adept_jobs_print_json(adept_cli *cli, const adept_jobs_report *r)
{
    const adept_account_groups *g = r->groups;
    adept_json_writer w = {.pretty = true};

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
    put_nodes(&w, r);
    adept_json_begin_array(&w, "rows");
    for (size_t i = 0; i < g->n; i++)
        put_group(&w, r, &g->list[i]);
    adept_json_end_array(&w);
    put_sum(&w, r, "jobs", &g->jobs);
    put_sum(&w, r, "system", &g->system);
    put_sum(&w, r, "idle", &g->idle);
    put_sum(&w, r, "not_visible", &g->hidden);
    put_sum(&w, r, "all", &g->all);
    put_sum(&w, r, "not_completed", &g->lost);
    put_sum(&w, r, "not_ended", &g->open);
    adept_json_put_number(&w, "not_completed_share", g->jobs.total_j > 0 ? g->lost.total_j / g->jobs.total_j : NAN);
    put_histogram(&w, "gpu_sm", &g->jobs.multiprocessors);
    put_histogram(&w, "gpu_memory", &g->jobs.memory);
    adept_json_put_strings(&w, "warnings", r->warnings, r->n_warnings);
    adept_json_end_object(&w);
    return adept_json_emit(cli, &w);
}
