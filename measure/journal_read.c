/** @file journal_read.c  Reading a journal again, whole or as a killed run left it. */
#include "adept_file.h"
#include "adept_result.h"
#include "recorded.h"
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const adept_sensor_kind recorded = {.name = "recorded"};

static void read_sensor(adept_json_reader *in, adept_recording *r, const cJSON *row)
{
    adept_sensor *s = adept_sensor_add(&r->search, &recorded, "%s", adept_json_string(in, row, "name"));
    const char *word = adept_json_string(in, row, "component");

    if (!s) {
        adept_json_no_memory(in);
        return;
    }
    s->component = adept_component_called(word);
    if (s->component == ADEPT_COMPONENTS) adept_json_fail(in, "'%s' is not a component", word);
    snprintf(s->device, sizeof s->device, "%s", adept_result_text(row, "device"));
    snprintf(s->source, sizeof s->source, "%s", adept_result_text(row, "source"));
    s->is_estimated = strcmp(adept_json_string(in, row, "origin"), "estimated") == 0;
    s->refresh_s = adept_json_number(in, row, "refresh_s");
    s->resolution_j = adept_json_number(in, row, "resolution_j");
    s->mean_s = adept_json_number_or(in, row, "mean_s", 0); /* from here on, older files do not have all */
    s->range_j = adept_json_number_or(in, row, "range_j", 0);
    s->most_power_w = adept_json_number_or(in, row, "most_power_w", 0);
    snprintf(s->package, sizeof s->package, "%s", adept_result_text(row, "package"));
    snprintf(s->inside, sizeof s->inside, "%s", adept_result_text(row, "inside"));
    s->is_doubtful = cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(row, "is_doubtful"));
    const double width = adept_json_number_or(in, row, "width", 0);
    s->width = width > 0 && width <= ADEPT_WIDTH_METER ? (unsigned)width : 0;
    const cJSON *counted = cJSON_GetObjectItemCaseSensitive(row, "counted");
    double index = adept_result_number(counted, "index"), of = adept_result_number(counted, "of");
    if (index >= 0 && of > index && of <= UINT32_MAX)
        adept_sensor_number(s, strcmp(adept_result_text(counted, "driver"), "nvml") == 0 ? "nvml" : "rocm",
                            (unsigned)index, (unsigned)of);
    snprintf(s->ids, sizeof s->ids, "%s", adept_result_text(counted, "ids"));
    s->is_divided = cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(counted, "is_divided"));
}

static void read_head(adept_json_reader *in, adept_recording *r, const cJSON *head)
{
    const cJSON *row, *sensors = adept_json_array(in, head, "sensors");

    r->period_s = adept_json_number(in, head, "period_s");
    r->begin_s = r->end_s = adept_json_number(in, head, "begin_s");
    cJSON_ArrayForEach(row, sensors) if (in->status == ADEPT_OK) read_sensor(in, r, row);
    cJSON_ArrayForEach(row, cJSON_GetObjectItemCaseSensitive(head, "missing")) if (in->status == ADEPT_OK)
        adept_sensor_missing(&r->search, adept_json_string(in, row, "name"), adept_result_text(row, "help"), "%s",
                             adept_json_string(in, row, "why"));
    if (in->status != ADEPT_OK) return;
    r->tracks = calloc(r->search.n_sensors + 1, sizeof *r->tracks);
    if (!r->tracks || r->search.failed) {
        adept_json_no_memory(in);
        return;
    }
    size_t i = 0;
    cJSON_ArrayForEach(row, sensors)
    {
        adept_track_begin(&r->tracks[i], r->search.sensors[i]);
        r->tracks[i].shown.check_j = NAN;
        r->tracks[i].shown.counter_j = adept_result_number(row, "counter_j");
        r->tracks[i].last_says_power = cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(row, "says_power"));
        r->tracks[i++].shown.by_counter = adept_json_bool(in, row, "by_counter");
    }
}

static double number_at(const cJSON *line, int i)
{
    const cJSON *item = cJSON_GetArrayItem(line, i);

    return cJSON_IsNumber(item) ? item->valuedouble : NAN;
}

static void read_sample(adept_json_reader *in, adept_recording *r, const cJSON *line)
{
    double sensor = number_at(line, 0);
    adept_sample sample = {number_at(line, 1), number_at(line, 2), number_at(line, 3)};

    if (!(sensor >= 0 && sensor < (double)r->search.n_sensors) || !isfinite(sample.time_s) ||
        !isfinite(sample.energy_j)) {
        adept_json_fail(in, "no sample of a sensor");
        return;
    }
    adept_track_state *track = &r->tracks[(size_t)sensor];
    if (track->shown.n_samples > 0 && !(sample.time_s > track->samples[track->shown.n_samples - 1].time_s))
        adept_json_fail(in, "a sample that is not later than the one before");
    else if (!adept_track_put(track, sample, track->last_says_power))
        adept_json_no_memory(in);
    r->end_s = fmax(r->end_s, sample.time_s);
}

adept_status adept_recording_read(adept_recording **out, const char *path, adept_error *err)
{
    adept_error own = {0};
    adept_json_reader in = {.name = path, .err = err ? err : &own};
    FILE *file;

    adept_status opened = adept_file_stream(&file, path, err);
    if (opened != ADEPT_OK) return opened;
    adept_recording *r = adept_recording_empty();
    if (r) {
        r->is_stopping = true;
        /* One line after the other, until the last whole one or a failure. */
        char *name = NULL, *text = NULL;
        size_t capacity = 0;
        ssize_t length;
        for (size_t n = 1; in.status == ADEPT_OK && (length = adept_file_line(&text, &capacity, file)) > 0 &&
                           text[length - 1] == '\n';
             n++) {
            cJSON *line = NULL;
            free(name);
            if (asprintf(&name, "%s:%zu", path, n) < 0) {
                name = NULL;
                in.status = adept_no_memory(in.err, path);
                break;
            }
            in.name = name;
            in.status = adept_json_parse(&line, name, text, (size_t)length, in.err);
            /* it has but one line */
            if (in.status == ADEPT_E_INVALID) adept_error_set(in.err, ADEPT_E_INVALID, "%s: not valid JSON", name);
            if (in.status == ADEPT_OK) {
                if (!r->tracks) {
                    if (cJSON_GetObjectItemCaseSensitive(line, "sensors")) read_head(&in, r, line);
                } else if (cJSON_IsArray(line)) {
                    read_sample(&in, r, line);
                } else if (cJSON_GetObjectItemCaseSensitive(line, "region")) {
                    adept_recording_add_region(r, adept_json_string(&in, line, "region"),
                                               adept_json_number(&in, line, "begin_s"),
                                               adept_json_number(&in, line, "end_s"));
                } else if (cJSON_GetObjectItemCaseSensitive(line, "lost")) {
                    int64_t sensor = adept_json_count(&in, line, "lost");
                    if (in.status == ADEPT_OK && (uint64_t)sensor < r->search.n_sensors)
                        adept_track_lose(&r->tracks[sensor], "%s", adept_json_string(&in, line, "why"));
                } else if (cJSON_GetObjectItemCaseSensitive(line, "end_s")) {
                    r->end_s = adept_json_number(&in, line, "end_s");
                }
            }
            cJSON_Delete(line);
        }
        in.name = path;
        /* or no memory for a line */
        if (in.status == ADEPT_OK && !feof(file)) in.status = adept_system_error(in.err, ADEPT_E_INVALID, path);
        if (in.status == ADEPT_OK && !r->tracks) adept_json_fail(&in, "it holds no recording");
        free(name);
        free(text);
    } else {
        in.status = adept_no_memory(err, "a recording");
    }
    fclose(file);
    if (in.status == ADEPT_OK) {
        adept_recording_finish(r);
        *out = r;
    } else {
        adept_recording_free(r);
    }
    return in.status;
}
