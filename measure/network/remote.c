/** @file remote.c  A number in a JSON document at a URL, in watts or joules. */
#include "remote.h"
#include "adept_number.h"
#include "pointer.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct unit {
    const char *name;
    double scale;
    bool is_energy;
} unit;

static const unit units[] = {{"W", 1, false},   {"kW", 1e3, false}, {"mW", 1e-3, false}, {"J", 1, true},
                             {"kJ", 1e3, true}, {"Wh", 3600, true}, {"kWh", 3.6e6, true}};

typedef struct remote {
    adept_fetch fetch;
    char *url, *pointer;
    const unit *unit;
    unsigned failures; /* in a row */
} remote;

static void remote_free(remote *r)
{
    if (!r) return;
    adept_fetch_close(&r->fetch);
    free(r->url);
    free(r->pointer);
    free(r);
}

static adept_status find_unit(const unit **out, const char *name, adept_error *err)
{
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        if (!name || strcmp(units[i].name, name) != 0) continue;
        *out = &units[i];
        return ADEPT_OK;
    }
    return adept_error_set(err, ADEPT_E_INVALID, "the unit '%s' is none of W, kW, mW, J, kJ, Wh, kWh",
                           name ? name : "");
}

static adept_status number_at(const cJSON *document, const char *pointer, double *number, adept_error *err)
{
    char why[200]; /* a note has 256 bytes */
    const cJSON *value = adept_pointer_find(document, pointer, why, sizeof why);

    if (!value) return adept_error_set(err, ADEPT_E_INVALID, "%s", why);
    *number = cJSON_IsNumber(value) ? value->valuedouble : NAN;
    if (cJSON_IsString(value) && !adept_number_parse(number, value->valuestring)) *number = NAN;
    if (isfinite(*number)) return ADEPT_OK;
    return adept_error_set(err, ADEPT_E_INVALID, "the value at '%s' is not a number", pointer);
}

static adept_status ask(remote *r, double *value, adept_error *err)
{
    cJSON *document = NULL;
    adept_status status = adept_fetch_json(&r->fetch, r->url, &document, err);

    if (status == ADEPT_OK) status = number_at(document, r->pointer, value, err);
    cJSON_Delete(document);
    *value *= r->unit->scale;
    return status;
}

adept_status adept_remote_read(adept_sensor *sensor, adept_reading *reading, adept_error *err)
{
    remote *r = sensor->state;
    adept_error why;
    double value = NAN;

    if (ask(r, &value, &why) != ADEPT_OK) return adept_sensor_failed(&r->failures, why.message, err);
    r->failures = 0;
    *(r->unit->is_energy ? &reading->energy_j : &reading->power_w) = value;
    return ADEPT_OK;
}

void adept_remote_close(adept_sensor *sensor)
{
    remote_free(sensor->state);
}

static remote *remote_new(const adept_meter *meter)
{
    remote *r = calloc(1, sizeof *r);

    if (!r) return NULL;
    r->url = strdup(meter->url);
    r->pointer = strdup(meter->pointer ? meter->pointer : "");
    if (r->url && r->pointer) return r;
    remote_free(r);
    return NULL;
}

adept_status adept_remote_add(adept_sensor_search *search, const adept_sensor_kind *kind, const adept_meter *meter,
                              const char *device, const char **help, adept_error *err)
{
    remote *r = remote_new(meter);
    double value = NAN;

    *help = "";
    if (!r) return adept_no_memory(err, "a meter");
    adept_status status = find_unit(&r->unit, meter->unit, err);
    if (status == ADEPT_OK) status = ask(r, &value, err);
    adept_sensor *sensor = status == ADEPT_OK ? adept_sensor_add(search, kind, "%s", meter->name) : NULL;
    if (!sensor) {
        if (r->fetch.help) *help = r->fetch.help;
        remote_free(r);
        return status; /* out of memory is what the search keeps */
    }
    char shown[ADEPT_URL_SHOWN];
    adept_url_show(shown, r->url);
    sensor->state = r;
    sensor->component = meter->component;
    sensor->width = ADEPT_WIDTH_METER;
    sensor->is_slow = true;
    snprintf(sensor->device, sizeof sensor->device, "%s", device);
    snprintf(sensor->source, sizeof sensor->source, "%s %s", shown, r->pointer);
    return ADEPT_OK;
}
