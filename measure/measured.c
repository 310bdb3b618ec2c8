/** @file measured.c  Sums over sensors, and the JSON of a recording. */
#include "adept_measured.h"
#include "recorded.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---------------------------------------------------------------- sums -------------------------------------------- */

static bool is_of(const adept_recording *r, size_t i, adept_component component)
{
    const adept_track *track = adept_recording_track(r, i);

    if (component == ADEPT_COMPONENTS) return adept_track_is_summed(r, i);
    return track->sensor->component == component && !track->mirrors && !adept_track_is_inside(r, i, 1u << component);
}

size_t adept_measured_sensors(const adept_recording *r, adept_component component)
{
    size_t n = 0;

    for (size_t i = 0; i < adept_recording_tracks(r); i++)
        n += is_of(r, i, component);
    return n;
}

static void add(double *sum, double more)
{
    *sum = isnan(*sum) ? more : *sum + more;
}

/* @param marked  only those; NULL: all */
static adept_energy energy_of(const adept_recording *r, adept_component component, const bool *marked, double begin_s,
                              double end_s)
{
    adept_energy sum = {.energy_j = NAN,
                        .low_j = NAN,
                        .high_j = NAN,
                        .avg_power_w = NAN,
                        .peak_power_w = NAN,
                        .check_j = NAN,
                        .at_least_j = NAN};
    bool is_known = true;

    for (size_t i = 0; i < adept_recording_tracks(r); i++) {
        if (!is_of(r, i, component) || (marked && !marked[i])) continue;
        adept_energy e = adept_track_energy(adept_recording_track(r, i), begin_s, end_s);
        is_known = is_known && !isnan(e.energy_j);
        add(&sum.energy_j, e.energy_j);
        add(&sum.low_j, e.low_j);
        add(&sum.high_j, e.high_j);
    }
    if (!is_known) sum.energy_j = sum.low_j = sum.high_j = NAN;
    if (end_s > begin_s) sum.avg_power_w = sum.energy_j / (end_s - begin_s);
    return sum;
}

adept_energy adept_measured_energy(const adept_recording *r, adept_component component, double begin_s, double end_s)
{
    return energy_of(r, component, NULL, begin_s, end_s);
}

double adept_measured_node_over_parts(const adept_recording *r, double begin_s, double end_s)
{
    double parts_j = adept_measured_energy(r, ADEPT_COMPONENTS, begin_s, end_s).energy_j;

    return parts_j > 0 ? adept_measured_energy(r, ADEPT_COMPONENT_NODE, begin_s, end_s).energy_j / parts_j : NAN;
}

double adept_measured_above_idle_j(const adept_recording *r, const adept_idle_fit *idle, adept_component component,
                                   double begin_s, double end_s)
{
    double above_j = adept_measured_energy(r, component, begin_s, end_s).energy_j;

    for (int c = 0; c < ADEPT_COMPONENTS; c++) {
        bool counts = false;
        for (size_t i = 0; i < adept_recording_tracks(r); i++)
            counts = counts || (is_of(r, i, component) && is_of(r, i, (adept_component)c));
        if (counts) above_j -= adept_idle_energy_j(&idle->lines[c], end_s - begin_s);
    }
    return above_j;
}

bool adept_region_is_first(const adept_recording *r, size_t i)
{
    size_t n;
    const adept_region *regions = adept_recording_regions(r, &n);

    for (size_t k = 0; k < i; k++)
        if (strcmp(regions[k].name, regions[i].name) == 0) return false;
    return true;
}

adept_status adept_measured_region(adept_region_statistics *out, const adept_recording *r, const char *region,
                                   size_t skip, adept_component component, adept_error *err)
{
    return adept_measured_region_of(out, r, region, skip, component, NULL, err);
}

adept_status adept_measured_region_of(adept_region_statistics *out, const adept_recording *r, const char *region,
                                      size_t skip, adept_component component, const bool *marked, adept_error *err)
{
    size_t n, visits = 0;
    const adept_region *regions = adept_recording_regions(r, &n);
    if (adept_recording_has_lost_regions(r)) return adept_no_memory(err, "regions");
    double *times_s = calloc(n + 1, sizeof *times_s), *energies_j = calloc(n + 1, sizeof *energies_j);

    bool has_whole = false;
    for (size_t i = 0; i < n; i++)
        has_whole = has_whole || (strcmp(regions[i].name, region) == 0 && !regions[i].is_cut);
    for (size_t i = 0; times_s && energies_j && i < n; i++) {
        if (strcmp(regions[i].name, region) != 0 || (has_whole && regions[i].is_cut)) continue;
        if (skip > 0) {
            skip--;
            continue;
        }
        times_s[visits] = regions[i].end_s - regions[i].begin_s;
        energies_j[visits++] = energy_of(r, component, marked, regions[i].begin_s, regions[i].end_s).energy_j;
    }
    if (times_s && energies_j)
        *out = (adept_region_statistics){adept_statistics_of(times_s, visits), adept_statistics_of(energies_j, visits),
                                         .is_cut = !has_whole};
    adept_status status = times_s && energies_j ? ADEPT_OK : adept_no_memory(err, "regions");
    free(times_s);
    free(energies_j);
    return status;
}

/* ---------------------------------------------------------------- JSON -------------------------------------------- */

static void put_energy(adept_json_writer *w, const adept_energy *e)
{
    adept_json_put_number(w, "energy_j", e->energy_j);
    adept_json_put_pair(w, "interval_j", e->low_j, e->high_j);
    adept_json_put_number(w, "avg_power_w", e->avg_power_w);
}

static void put_above_idle(adept_json_writer *w, const adept_recording *r, const adept_measured_run *run,
                           adept_component component)
{
    if (run->idle)
        adept_json_put_number(w, "above_idle_j",
                              adept_measured_above_idle_j(r, run->idle, component, run->begin_s, run->end_s));
}

static void put_sums(adept_json_writer *w, const adept_recording *r, const adept_measured_run *run)
{
    adept_energy total = adept_measured_energy(r, ADEPT_COMPONENTS, run->begin_s, run->end_s);

    adept_json_begin_object(w, "total");
    put_energy(w, &total);
    put_above_idle(w, r, run, ADEPT_COMPONENTS);
    adept_json_put_number(w, "node_over_parts", adept_measured_node_over_parts(r, run->begin_s, run->end_s));
    adept_json_begin_array(w, "covers");
    for (size_t i = 0; i < adept_recording_tracks(r); i++)
        if (adept_track_is_summed(r, i)) adept_json_put_string(w, NULL, adept_recording_track(r, i)->sensor->name);
    adept_json_end_array(w);
    adept_json_end_object(w);
    adept_json_begin_object(w, "by_component");
    for (int c = 0; c < ADEPT_COMPONENTS; c++) {
        if (adept_measured_sensors(r, (adept_component)c) == 0) continue;
        adept_energy e = adept_measured_energy(r, (adept_component)c, run->begin_s, run->end_s);
        adept_json_begin_object(w, adept_component_name((size_t)c));
        put_energy(w, &e);
        put_above_idle(w, r, run, (adept_component)c);
        adept_json_end_object(w);
    }
    adept_json_end_object(w);
}

static void put_statistics(adept_json_writer *w, const char *key, const adept_statistics *s)
{
    adept_json_begin_object(w, key);
    adept_json_put_members(w, "mean %g sd %g least %g most %g total %g", s->mean, s->sd, s->least, s->most, s->total);
    adept_json_put_pair(w, "interval95", s->low, s->high);
    adept_json_end_object(w);
}

static adept_status put_region(adept_json_writer *w, const char *key, const adept_recording *r, const char *name,
                               adept_error *err)
{
    adept_region_statistics total, gpu;
    adept_status status = adept_measured_region(&total, r, name, 0, ADEPT_COMPONENTS, err);

    if (status == ADEPT_OK) status = adept_measured_region(&gpu, r, name, 0, ADEPT_COMPONENT_GPU, err);
    if (status != ADEPT_OK) return status;
    adept_json_begin_object(w, key);
    adept_json_put_members(w, "name %s count %jd", name, (intmax_t)total.time_s.n);
    put_statistics(w, "time_s", &total.time_s);
    put_statistics(w, "energy_j", &total.energy_j);
    adept_json_put_number(w, "avg_power_w", total.energy_j.total / total.time_s.total);
    adept_json_begin_object(w, "gpu");
    put_statistics(w, "energy_j", &gpu.energy_j);
    adept_json_put_number(w, "avg_power_w", gpu.energy_j.total / gpu.time_s.total);
    adept_json_end_object(w);
    adept_json_end_object(w);
    return ADEPT_OK;
}

static adept_status put_regions(adept_json_writer *w, const adept_recording *r, const adept_measured_run *run,
                                adept_error *err)
{
    size_t n;
    const adept_region *regions = adept_recording_regions(r, &n);
    adept_status status = adept_recording_has_lost_regions(r) ? adept_no_memory(err, "regions") : ADEPT_OK;

    adept_json_begin_array(w, "regions");
    for (size_t i = 0; status == ADEPT_OK && i < n; i++)
        if (adept_region_is_first(r, i) && (!run->repeated || strcmp(regions[i].name, run->repeated) != 0))
            status = put_region(w, NULL, r, regions[i].name, err);
    adept_json_end_array(w);
    if (run->repeated && status == ADEPT_OK)
        status = put_region(w, "repeats", r, run->repeated, err);
    else
        adept_json_put_null(w, "repeats");
    return status;
}

static void put_warnings(adept_json_writer *w, const adept_recording *r)
{
    adept_json_begin_array(w, "warnings");
    for (size_t i = 0; i < adept_recording_tracks(r); i++) {
        char text[256];
        if (adept_track_warning(text, sizeof text, adept_recording_track(r, i))) adept_json_put_string(w, NULL, text);
    }
    adept_json_end_array(w);
}

static void put_counts(adept_json_writer *w, const adept_counts *c)
{
    adept_json_begin_object(w, "counters");
    for (size_t i = 0; i < ADEPT_COUNTERS; i++)
        adept_json_put_number(w, adept_counter_name(i), c->values[i]);
    adept_json_put_members(
        w,
        "ipc %g misses_per_1000_instructions %g memory_bytes_per_s %g memory_source %s user_only %d counted_share %g",
        c->ipc, c->misses_per_1000, c->memory_bytes_per_s,
        c->is_of_controllers ? "memory controllers" : "64 bytes for each cache miss", c->is_user_only, c->counted);
    adept_json_put_string(w, "bound", c->bound);
    adept_json_end_object(w);
}

adept_status adept_measured_json(char **text, const adept_recording *r, const adept_measured_run *run, bool pretty,
                                 adept_error *err)
{
    adept_json_writer w = {.pretty = pretty};
    size_t n = 0;
    adept_json_begin_object(&w, NULL);
    adept_json_put_members(&w, "schema_version %jd kind %s host %s started %s", (intmax_t)1, "measured", run->host,
                           run->started);
    if (run->command) {
        while (run->command[n])
            n++;
        adept_json_put_strings(&w, "command", run->command, n);
    } else {
        adept_json_put_null(&w, "command");
    }
    adept_json_put_number(&w, "exit_status", run->exit_status < 0 ? NAN : run->exit_status);
    adept_json_put_number(&w, "rank", run->rank < 0 ? NAN : run->rank);
    adept_json_put_members(&w, "begin_s %g time_s %g period_s %g sampler_cpu_s %g", run->begin_s,
                           run->end_s - run->begin_s, adept_recording_period_s(r), adept_recording_cpu_s(r));
    adept_json_begin_array(&w, "sensors");
    for (size_t i = 0; i < adept_recording_tracks(r); i++) {
        const adept_track *track = adept_recording_track(r, i);
        adept_energy e = adept_track_energy(track, run->begin_s, run->end_s);
        adept_json_begin_object(&w, NULL);
        adept_sensor_put(&w, track->sensor);
        put_energy(&w, &e);
        adept_json_put_members(
            &w, "peak_power_w %g check_j %g at_least_j %g lost %s mirrors %s summed %d by_counter %d", e.peak_power_w,
            e.check_j, e.at_least_j, track->lost, track->mirrors, adept_track_is_summed(r, i), track->by_counter);
        adept_json_put_members(&w, "readings %jd silent %jd", (intmax_t)track->n_readings, (intmax_t)track->n_silent);
        adept_json_begin_object(&w, "gauges");
        for (size_t k = 0; k < ADEPT_MOST_GAUGES && track->sensor->gauges[k].name; k++)
            if (adept_json_begin_known(&w, track->sensor->gauges[k].name, !isnan(track->gauges[k].mean))) {
                adept_json_put_members(&w, "mean %g least %g most %g", track->gauges[k].mean, track->gauges[k].least,
                                       track->gauges[k].most);
                adept_json_end_object(&w);
            }
        adept_json_end_object(&w);
        if (run->with_samples) {
            adept_json_begin_array(&w, "samples");
            for (size_t j = 0; j < track->n_samples; j++) {
                const adept_sample *s = &track->samples[j];
                adept_json_begin_array(&w, NULL);
                adept_json_put_number(&w, NULL, s->time_s);
                adept_json_put_number(&w, NULL, s->energy_j);
                adept_json_put_number(&w, NULL, s->power_w);
                adept_json_end_array(&w);
            }
            adept_json_end_array(&w);
        }
        adept_json_end_object(&w);
    }
    adept_json_end_array(&w);
    put_sums(&w, r, run);
    adept_status status = put_regions(&w, r, run, err);
    const adept_sensor_note *notes = adept_recording_notes(r, &n);
    if (run->counts) put_counts(&w, run->counts);
    adept_sensor_put_notes(&w, "missing", notes, n);
    put_warnings(&w, r);
    adept_json_end_object(&w);
    char *json = adept_json_finish(&w);

    if (status == ADEPT_OK && !json) status = adept_no_memory(err, "a measurement");
    if (status == ADEPT_OK)
        *text = json;
    else
        free(json);
    return status;
}
