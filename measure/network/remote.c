/** @file remote.c  A number in a JSON document at a URL, in watts or joules. */
#include "remote.h"
#include "adept_file.h"
#include "adept_grow.h"
#include "adept_json.h"
#include "adept_number.h"
#include "pointer.h"
#include <curl/curl.h>
#include <dlfcn.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What is at a URL, as JSON; all that knows libcurl. It is opened for the first URL: with the thirty libraries behind
 * it, a start of the program that links it takes three times as long. */
#undef curl_easy_setopt
#undef curl_easy_getinfo
#define CURL_LIST(X)                                                                                                   \
    X(curl_easy_init)                                                                                                  \
    X(curl_easy_setopt)                                                                                                \
    X(curl_easy_perform)                                                                                               \
    X(curl_easy_getinfo)                                                                                               \
    X(curl_easy_strerror)                                                                                              \
    X(curl_easy_cleanup)                                                                                               \
    X(curl_url)                                                                                                        \
    X(curl_url_set)                                                                                                    \
    X(curl_url_get)                                                                                                    \
    X(curl_url_cleanup)                                                                                                \
    X(curl_free)

static struct {
    char why[200]; /* it cannot be used; "": it can */
#define X(name) __typeof__(name) *name;
    CURL_LIST(X)
#undef X
} lib;

static void open_library(void)
{
    void *file = dlopen("libcurl.so.4", RTLD_NOW | RTLD_LOCAL);
    bool has_all = file;

#define X(name) has_all = has_all && (*(void **)&lib.name = dlsym(file, #name));
    CURL_LIST(X)
#undef X
    if (!has_all) snprintf(lib.why, sizeof lib.why, "%s", dlerror());
}

/* A service processor needs seconds for what it asks other controllers for. */
#define TIMEOUT_MS 5000L
#define MOST_BYTES ((size_t)1 << 20)
#define MOST_VALUES 100000

/* A reply that is too long ends the transfer. */
static size_t take(char *bytes, size_t size, size_t n, void *buffer)
{
    adept_buffer *reply = buffer;

    if (size * n > MOST_BYTES - reply->size) return 0;
    adept_buffer_add(reply, bytes, size * n);
    return reply->failed ? 0 : size * n;
}

static CURL *handle_of(adept_fetch *fetch)
{
    CURL *curl = fetch->curl;

    if (curl) return curl;
    fetch->curl = curl = lib.curl_easy_init();
    if (!curl) return NULL;
    lib.curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
    lib.curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L); /* threads read meters */
    lib.curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, TIMEOUT_MS);
    lib.curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, take);
    lib.curl_easy_setopt(curl, CURLOPT_WRITEDATA, &fetch->reply);
    lib.curl_easy_setopt(curl, CURLOPT_NETRC, (long)CURL_NETRC_OPTIONAL); /* what the URL says goes first */
    lib.curl_easy_setopt(curl, CURLOPT_HTTPAUTH, (long)(CURLAUTH_BASIC | CURLAUTH_DIGEST));
    /* As the program curl has it: service processors bring certificates of their own. */
    if (getenv("CURL_CA_BUNDLE")) lib.curl_easy_setopt(curl, CURLOPT_CAINFO, getenv("CURL_CA_BUNDLE"));
    return curl;
}

static const char *help_for(CURLcode code, long http)
{
    if (http == 401 || http == 403)
        return "give user and password in the URL, https://USER:PASSWORD@HOST/..., or in ~/.netrc";
    if (code == CURLE_PEER_FAILED_VERIFICATION)
        return "CURL_CA_BUNDLE=FILE names the certificate that a device's own is signed with";
    if (code == CURLE_OPERATION_TIMEDOUT) return "a meter has 5 s to answer";
    return "";
}

static adept_status request(adept_fetch *fetch, const char *url, const char *shown, adept_error *err)
{
    char words[CURL_ERROR_SIZE] = "";
    long http = 0;
    CURL *curl = handle_of(fetch);

    if (!curl) return adept_no_memory(err, "a request");
    adept_buffer_free(&fetch->reply);
    lib.curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, words);
    lib.curl_easy_setopt(curl, CURLOPT_URL, url);
    CURLcode code = lib.curl_easy_perform(curl);
    lib.curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, NULL);
    lib.curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &http);
    fetch->help = help_for(code, http);
    if (code == CURLE_WRITE_ERROR)
        return adept_error_set(err, ADEPT_E_IO, "%s: the reply is longer than %zu bytes", shown, MOST_BYTES);
    if (code != CURLE_OK)
        return adept_error_set(err, ADEPT_E_IO, "%s: %s", shown, words[0] ? words : lib.curl_easy_strerror(code));
    if (http < 200 || http > 299) return adept_error_set(err, ADEPT_E_IO, "%s: the answer is HTTP %ld", shown, http);
    return ADEPT_OK;
}

/* A file, which libcurl would wait for where it is a pipe. One of /sys does not say how long it is. */
static adept_status read_file(adept_fetch *fetch, const char *path, adept_error *err)
{
    adept_buffer *reply = &fetch->reply;
    int fd;

    adept_buffer_free(reply);
    adept_status status = adept_file_open(&fd, path, 0, err);
    if (status != ADEPT_OK) return status;
    if (!adept_file_read_rest(reply, fd, MOST_BYTES))
        status = reply->failed ? adept_no_memory(err, path)
                 : reply->size > MOST_BYTES
                     ? adept_error_set(err, ADEPT_E_IO, "%s: it is longer than %zu bytes", path, MOST_BYTES)
                     : adept_system_error(err, ADEPT_E_IO, path);
    close(fd);
    return status;
}

/* The path of a file:// URL, which curl_free() frees; NULL: it is another. */
static char *path_of(const char *url)
{
    CURLU *parts = lib.curl_url();
    char *scheme = NULL, *path = NULL;

    if (lib.curl_url_set(parts, CURLUPART_URL, url, 0) == CURLUE_OK &&
        lib.curl_url_get(parts, CURLUPART_SCHEME, &scheme, 0) == CURLUE_OK && strcmp(scheme, "file") == 0)
        lib.curl_url_get(parts, CURLUPART_PATH, &path, CURLU_URLDECODE);
    lib.curl_free(scheme);
    lib.curl_url_cleanup(parts);
    return path;
}

/* A URL without the secrets that may be in it: user, password, and what a query says. */
static void show_url(char shown[ADEPT_URL_SHOWN], const char *url)
{
    CURLU *parts = lib.curl_url();
    char *query = NULL, *rest = NULL;

    snprintf(shown, ADEPT_URL_SHOWN, "the meter's URL"); /* of one that is none, who knows what is secret */
    if (lib.curl_url_set(parts, CURLUPART_URL, url, 0) == CURLUE_OK) {
        bool asks = lib.curl_url_get(parts, CURLUPART_QUERY, &query, 0) == CURLUE_OK;
        lib.curl_url_set(parts, CURLUPART_USER, NULL, 0);
        lib.curl_url_set(parts, CURLUPART_PASSWORD, NULL, 0);
        lib.curl_url_set(parts, CURLUPART_QUERY, NULL, 0);
        if (lib.curl_url_get(parts, CURLUPART_URL, &rest, 0) == CURLUE_OK)
            snprintf(shown, ADEPT_URL_SHOWN, "%s%s", rest, asks ? "?..." : "");
    }
    lib.curl_free(query);
    lib.curl_free(rest);
    lib.curl_url_cleanup(parts);
}

adept_status adept_fetch_json(adept_fetch *fetch, const char *url, cJSON **out, adept_error *err)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    char shown[ADEPT_URL_SHOWN];

    pthread_once(&once, open_library);
    fetch->help = lib.why[0] ? "a meter at a URL needs libcurl: apt install libcurl4" : "";
    if (lib.why[0]) return adept_error_set(err, ADEPT_E_IO, "%s", lib.why);
    show_url(shown, url);
    char *path = path_of(url);
    adept_status status = path ? read_file(fetch, path, err) : request(fetch, url, shown, err);
    lib.curl_free(path);
    if (status != ADEPT_OK) return status;
    const char *text = fetch->reply.data ? fetch->reply.data : "";
    return adept_json_parse_within(out, shown, text, fetch->reply.size, MOST_VALUES, err);
}

void adept_fetch_close(adept_fetch *fetch)
{
    if (fetch->curl) lib.curl_easy_cleanup(fetch->curl);
    adept_buffer_free(&fetch->reply);
    *fetch = (adept_fetch){0};
}

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
    show_url(shown, r->url);
    sensor->state = r;
    sensor->component = meter->component;
    sensor->width = ADEPT_WIDTH_METER;
    sensor->is_slow = true;
    snprintf(sensor->device, sizeof sensor->device, "%s", device);
    snprintf(sensor->source, sizeof sensor->source, "%s %s", shown, r->pointer);
    return ADEPT_OK;
}
