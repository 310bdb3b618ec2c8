/** @file sensor_redfish.c  Power of each chassis that a machine's service processor knows, by Redfish (DMTF DSP0266):
 * of EnvironmentMetrics, which replaces Power since 2020.4, or else of Power (both: DSP2046, schema guide). */
#include "adept_grow.h"
#include "adept_result.h"
#include "remote.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_CHASSIS 64

/* One of the service, and the one around it: a baseboard of GPUs in its machine, a GPU on it. */
typedef struct chassis {
    char path[256], around[256]; /* "": none, or not said */
    adept_sensor *sensor;        /* NULL: it states no power */
} chassis;

typedef struct service {
    adept_sensor_search *search;
    adept_fetch fetch;
    adept_meter meter; /* its URL: the service's root, "https://bmc", without '/' at its end */
    const char *name;
    size_t n_found;
    chassis list[MOST_CHASSIS];
    size_t n;
    const char *help; /* of the last failure */
    adept_error err;
} service;

static char *url_below(const service *s, const char *path)
{
    adept_buffer url = {0};

    adept_buffer_text(&url, s->meter.url);
    adept_buffer_text(&url, path);
    return adept_buffer_take(&url);
}

static adept_status get(service *s, const char *path, cJSON **out)
{
    char *url = url_below(s, path);
    adept_status status = url ? adept_fetch_json(&s->fetch, url, out, &s->err) : adept_no_memory(&s->err, "a URL");

    if (status != ADEPT_OK && s->fetch.help) s->help = s->fetch.help;
    free(url);
    return status;
}

/* Where a link leads on this service; NULL: nowhere. Credentials go with every request, so no other host is asked. */
static const char *link_of(const cJSON *parent)
{
    const char *path = adept_result_text(parent, "@odata.id");

    return path[0] == '/' ? path : NULL;
}

static bool add(service *s, const cJSON *link, const char *pointer, const char *device)
{
    const char *path = link_of(link);
    char name[sizeof((adept_sensor *)0)->name];
    adept_meter meter = s->meter;
    char *url = path ? url_below(s, path) : NULL;

    if (!url) return false;
    snprintf(name, sizeof name, "%s-%zu", s->name, s->n_found);
    meter.url = url;
    meter.pointer = pointer;
    meter.unit = "W";
    meter.name = name;
    adept_status status = adept_remote_add(s->search, &adept_sensor_kind_redfish, &meter, device, &s->help, &s->err);
    free(url);
    if (status != ADEPT_OK || s->search->failed) return status == ADEPT_OK;
    s->n_found++;
    s->list[s->n - 1].sensor = s->search->sensors[s->search->n_sensors - 1];
    s->list[s->n - 1].sensor->width = ADEPT_WIDTH_REDFISH;
    return true;
}

static void look_at_chassis(service *s, const char *path)
{
    cJSON *document = NULL;
    chassis *entry = &s->list[s->n++];
    char device[sizeof((adept_sensor *)0)->device];

    snprintf(entry->path, sizeof entry->path, "%s", path);
    if (get(s, path, &document) != ADEPT_OK) return;
    const cJSON *links = cJSON_GetObjectItemCaseSensitive(document, "Links");
    const char *around = link_of(cJSON_GetObjectItemCaseSensitive(links, "ContainedBy"));
    snprintf(entry->around, sizeof entry->around, "%s", around ? around : "");
    snprintf(device, sizeof device, "%s %s", adept_result_text(document, "Manufacturer"),
             adept_result_text(document, "Model"));
    (void)(add(s, cJSON_GetObjectItemCaseSensitive(document, "EnvironmentMetrics"), "/PowerWatts/Reading", device) ||
           add(s, cJSON_GetObjectItemCaseSensitive(document, "Power"), "/PowerControl/0/PowerConsumedWatts", device));
    cJSON_Delete(document);
}

static void find(adept_sensor_search *search)
{
    for (size_t i = 0; i < search->settings.n_meters; i++) {
        const adept_meter *meter = &search->settings.meters[i];
        if (strncmp(meter->url, ADEPT_REDFISH_PREFIX, strlen(ADEPT_REDFISH_PREFIX)) != 0) continue;
        char *root = strdup(meter->url + strlen(ADEPT_REDFISH_PREFIX));
        service s = {.search = search, .meter = *meter, .name = meter->name ? meter->name : "redfish", .help = ""};

        if (!root) {
            search->failed = ENOMEM;
            return;
        }
        for (size_t end = strlen(root); end > 0 && root[end - 1] == '/'; end--)
            root[end - 1] = '\0';
        s.meter.url = root;
        cJSON *list = NULL;
        adept_error_set(&s.err, ADEPT_E_INVALID, "no chassis of this service states its power");
        if (get(&s, "/redfish/v1/Chassis", &list) == ADEPT_OK) {
            const cJSON *member = NULL;
            cJSON_ArrayForEach(member, cJSON_GetObjectItemCaseSensitive(list, "Members"))
            {
                const char *path = link_of(member);
                if (path && s.n < MOST_CHASSIS) look_at_chassis(&s, path);
            }
        }
        cJSON_Delete(list);
        /* Each is inside of the next one around it that states its power. */
        for (size_t j = 0; j < s.n; j++) {
            const chassis *c = &s.list[j];
            for (size_t steps = 0; s.list[j].sensor && steps < s.n && *c->around; steps++) {
                size_t k = 0;
                while (k < s.n && strcmp(s.list[k].path, c->around) != 0)
                    k++;
                if (k == s.n || k == j) break; /* not on this list, or a circle */
                c = &s.list[k];
                if (!c->sensor) continue;
                snprintf(s.list[j].sensor->inside, sizeof c->sensor->inside, "%s", c->sensor->name);
                break;
            }
        }
        if (s.n_found == 0) adept_sensor_missing(s.search, s.name, s.help, "%s", s.err.message);
        adept_fetch_close(&s.fetch);
        free(root);
    }
}

const adept_sensor_kind adept_sensor_kind_redfish = {
    .name = "redfish",
    .what = "power of each chassis, as the machine's service processor tells over https",
    .find = find,
    .read = adept_remote_read,
    .patience_s = 6, /* remote.c gives a request 5 */
    .close = adept_remote_close,
};
