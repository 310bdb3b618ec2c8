/** @file report_measure.c  What `adept measure` says to people. */
#include "measure_job.h"
#include "table.h"
#include <math.h>
#include <string.h>

void adept_report_missing(FILE *out, const adept_recording *r)
{
    size_t n;
    const adept_sensor_note *notes = adept_recording_notes(r, &n);

    if (n > 0) fputs("\nNot measured\n", out);
    for (size_t i = 0; i < n; i++) {
        adept_print_format(out, "  %s: %s\n", notes[i].name, notes[i].why);
        if (*notes[i].help) adept_print_format(out, "    %s\n", notes[i].help);
    }
}

/* "RAPL zone core, inside cpu-0" */
static const char *device_text(char *text, size_t size, const adept_sensor *s)
{
    snprintf(text, size, "%s%s%s%s", s->device, *s->device && *s->inside ? ", " : "", *s->inside ? "inside " : "",
             s->inside);
    return text;
}

#define MOST_DEVICE_TEXT 256

adept_status adept_report_sensors(adept_cli *cli, FILE *out, const adept_recording *r)
{
    adept_table table = {.columns = "SENSOR|COMPONENT|DEVICE|ORIGIN|SOURCE"};

    for (size_t i = 0; i < adept_recording_tracks(r); i++) {
        const adept_sensor *s = adept_recording_track(r, i)->sensor;
        char device[MOST_DEVICE_TEXT];
        adept_table_row(&table,
                        ADEPT_CELLS(s->name, adept_component_name(s->component), device_text(device, sizeof device, s),
                                    s->is_estimated ? "estimated" : "measured", s->source));
    }
    if (adept_recording_tracks(r) == 0) fputs("No sensor answers on this machine.\n", out);
    adept_status status = adept_table_end(cli, &table, adept_recording_tracks(r) > 0 ? out : NULL);
    adept_report_missing(out, r);
    return status;
}

static void add_energy(adept_table *table, const char *name, const char *device, const char *origin,
                       const adept_energy *e)
{
    adept_text range = {""};
    if (!isnan(e->energy_j))
        range = adept_cell("%s to %s", adept_units_digits(e->low_j).s, adept_units_joule(e->high_j).s);
    adept_table_row(table,
                    ADEPT_CELLS(name, adept_units_joule(e->energy_j).s, range.s, adept_units_watt(e->avg_power_w).s,
                                isnan(e->peak_power_w) ? "" : adept_units_watt(e->peak_power_w).s, origin, device));
}

static adept_status report_energies(adept_cli *cli, FILE *out, const adept_measure_job *job)
{
    const adept_recording *r = job->recording;
    adept_table table = {.columns = "SENSOR|>ENERGY|>RANGE|>MEAN|>PEAK|ORIGIN|DEVICE"};
    adept_energy total = adept_measured_energy(r, ADEPT_COMPONENTS, job->run.begin_s, job->run.end_s);

    for (size_t i = 0; i < adept_recording_tracks(r); i++) {
        const adept_track *track = adept_recording_track(r, i);
        adept_energy e = adept_track_energy(track, job->run.begin_s, job->run.end_s);
        char device[MOST_DEVICE_TEXT];
        add_energy(&table, track->sensor->name, device_text(device, sizeof device, track->sensor),
                   track->sensor->is_estimated ? "estimated" : "measured", &e);
    }
    if (adept_measured_sensors(r, ADEPT_COMPONENTS) > 1) add_energy(&table, "total", "cpu, dram and gpu", "", &total);
    if (adept_recording_tracks(r) == 0) fputs("  No sensor answered: only the time is known.\n", out);
    return adept_table_end(cli, &table, adept_recording_tracks(r) > 0 ? out : NULL);
}

static adept_text spread(const adept_statistics *s, adept_text (*print)(double))
{
    if (s->n < 2 || isnan(s->mean)) return print(s->mean);
    return adept_cell("%s (sd %s)", print(s->mean).s, print(s->sd).s);
}

static adept_text interval(const adept_statistics *s, adept_text (*print)(double))
{
    return s->n < 2 || isnan(s->mean) ? adept_cell("%s", "")
                                      : adept_cell("%s to %s", print(s->low).s, print(s->high).s);
}

static adept_status report_regions(adept_cli *cli, FILE *out, const adept_recording *r)
{
    size_t n;
    const adept_region *regions = adept_recording_regions(r, &n);
    adept_table table = {.columns = "REGION|>TIMES|>MEAN TIME|>95 %|>MEAN ENERGY|>95 %|>POWER"};
    adept_status status = ADEPT_OK;

    if (n > 0) fputc('\n', out);
    for (size_t i = 0; status == ADEPT_OK && i < n; i++) {
        adept_region_statistics s;
        if (!adept_region_is_first(r, i)) continue;
        status = adept_measured_region(&s, r, regions[i].name, 0, ADEPT_COMPONENTS, &cli->err);
        if (status == ADEPT_OK)
            adept_table_row(&table,
                            ADEPT_CELLS(regions[i].name, adept_cell("%zu", s.time_s.n).s,
                                        spread(&s.time_s, adept_units_time).s, interval(&s.time_s, adept_units_time).s,
                                        spread(&s.energy_j, adept_units_joule).s,
                                        interval(&s.energy_j, adept_units_joule).s,
                                        adept_units_watt(s.energy_j.total / s.time_s.total).s));
    }
    adept_status printed = adept_table_end(cli, &table, status == ADEPT_OK && n > 0 ? out : NULL);
    return status == ADEPT_OK ? printed : status;
}

static void report_node(FILE *out, const adept_measure_job *job)
{
    double begin_s = job->run.begin_s, end_s = job->run.end_s,
           over = adept_measured_node_over_parts(job->recording, begin_s, end_s);
    adept_energy node = adept_measured_energy(job->recording, ADEPT_COMPONENT_NODE, begin_s, end_s);

    if (isnan(over)) return;
    fprintf(out, "\nNode over parts  %.3f: %s (%s) of the node %s\n", over,
            adept_units_joule(fabs(node.energy_j * (1 - 1 / over))).s,
            adept_units_watt(fabs(node.avg_power_w * (1 - 1 / over))).s,
            over < 1 ? "are missing: its meter reads less than its parts" : "are in no part that was measured");
}

static void report_above_idle(FILE *out, const adept_measure_job *job)
{
    const char *comma = "\nAbove idle  ";

    for (size_t c = 0; job->run.idle && c <= ADEPT_COMPONENTS; c++) {
        double above_j = adept_measured_above_idle_j(job->recording, job->run.idle, (adept_component)c,
                                                     job->run.begin_s, job->run.end_s);
        if (isnan(above_j)) continue;
        fprintf(out, "%s%s %s", comma, c < ADEPT_COMPONENTS ? adept_component_name(c) : "total",
                adept_units_joule(above_j).s);
        comma = ", ";
    }
    if (*comma == ',') fputc('\n', out);
}

static void report_counts(FILE *out, const adept_counts *c)
{
    fprintf(out, "\nCounted   %s in %s%s", adept_units_si(c->values[ADEPT_COUNTER_INSTRUCTIONS], "instructions").s,
            adept_units_si(c->values[ADEPT_COUNTER_CYCLES], "cycles").s,
            c->is_user_only ? ", without the kernel's" : "");
    fprintf(out, ": %s a cycle; %s cache misses in 1000 instructions", adept_units_digits(c->ipc).s,
            adept_units_digits(c->misses_per_1000).s);
    fprintf(out, "; memory moves %s, by %s", adept_units_si(c->memory_bytes_per_s, "B/s").s,
            c->is_of_controllers ? "its controllers" : "64 B a miss");
    fprintf(out, "\n          bound by %s\n",
            c->bound ? strcmp(c->bound, "both") == 0 ? "compute and memory" : c->bound : "what is not counted here");
}

adept_status adept_report_measured(adept_cli *cli, FILE *out, const adept_measure_job *job)
{
    const adept_recording *r = job->recording;
    const adept_measured_run *run = &job->run;
    bool headed = false;

    fprintf(out, "Measured  %s", adept_units_time(run->end_s - run->begin_s).s);
    for (size_t i = 0; run->command && run->command[i]; i++)
        adept_print_format(out, "%s%s", i == 0 ? " of " : " ", run->command[i]);
    if (run->exit_status > 0) fprintf(out, ", which ended with %d", run->exit_status);
    fputc('\n', out);
    adept_status status = report_energies(cli, out, job);
    report_node(out, job);
    report_above_idle(out, job);
    if (run->counts) report_counts(out, run->counts);
    if (status == ADEPT_OK) status = report_regions(cli, out, r);
    for (size_t i = 0; i < adept_recording_tracks(r); i++) {
        char text[256];
        if (adept_track_warning(text, sizeof text, adept_recording_track(r, i)))
            adept_report_warning(out, &headed, text);
    }
    adept_report_missing(out, r);
    return status;
}
