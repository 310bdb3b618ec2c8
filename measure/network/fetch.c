/** @file fetch.c  Requests by libcurl. Nothing of a user's credentials goes into a message. */
#include "fetch.h"
#include "adept_file.h"
#include <curl/curl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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
    fetch->curl = curl = curl_easy_init();
    if (!curl) return NULL;
    curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L); /* threads read meters */
    curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, TIMEOUT_MS);
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, take);
    curl_easy_setopt(curl, CURLOPT_WRITEDATA, &fetch->reply);
    curl_easy_setopt(curl, CURLOPT_NETRC, (long)CURL_NETRC_OPTIONAL); /* what the URL says goes first */
    curl_easy_setopt(curl, CURLOPT_HTTPAUTH, (long)(CURLAUTH_BASIC | CURLAUTH_DIGEST));
    /* As the program curl has it: service processors bring certificates of their own. */
    if (getenv("CURL_CA_BUNDLE")) curl_easy_setopt(curl, CURLOPT_CAINFO, getenv("CURL_CA_BUNDLE"));
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
    curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, words);
    curl_easy_setopt(curl, CURLOPT_URL, url);
    CURLcode code = curl_easy_perform(curl);
    curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, NULL);
    curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &http);
    fetch->help = help_for(code, http);
    if (code == CURLE_WRITE_ERROR)
        return adept_error_set(err, ADEPT_E_IO, "%s: the reply is longer than %zu bytes", shown, MOST_BYTES);
    if (code != CURLE_OK)
        return adept_error_set(err, ADEPT_E_IO, "%s: %s", shown, words[0] ? words : curl_easy_strerror(code));
    if (http < 200 || http > 299)
        return adept_error_set(err, ADEPT_E_IO, "%s: the answer is HTTP %ld", shown, http);
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
    CURLU *parts = curl_url();
    char *scheme = NULL, *path = NULL;

    if (curl_url_set(parts, CURLUPART_URL, url, 0) == CURLUE_OK &&
        curl_url_get(parts, CURLUPART_SCHEME, &scheme, 0) == CURLUE_OK && strcmp(scheme, "file") == 0)
        curl_url_get(parts, CURLUPART_PATH, &path, CURLU_URLDECODE);
    curl_free(scheme);
    curl_url_cleanup(parts);
    return path;
}

adept_status adept_fetch_json(adept_fetch *fetch, const char *url, cJSON **out, adept_error *err)
{
    char shown[ADEPT_URL_SHOWN], *path = path_of(url);

    adept_url_show(shown, url);
    fetch->help = "";
    adept_status status = path ? read_file(fetch, path, err) : request(fetch, url, shown, err);
    curl_free(path);
    if (status != ADEPT_OK) return status;
    const char *text = fetch->reply.data ? fetch->reply.data : "";
    return adept_json_parse_within(out, shown, text, fetch->reply.size, MOST_VALUES, err);
}

void adept_fetch_close(adept_fetch *fetch)
{
    curl_easy_cleanup(fetch->curl);
    adept_buffer_free(&fetch->reply);
    *fetch = (adept_fetch){0};
}

void adept_url_show(char shown[ADEPT_URL_SHOWN], const char *url)
{
    CURLU *parts = curl_url();
    char *query = NULL, *rest = NULL;

    snprintf(shown, ADEPT_URL_SHOWN, "the meter's URL"); /* of one that is none, who knows what is secret */
    if (curl_url_set(parts, CURLUPART_URL, url, 0) == CURLUE_OK) {
        bool asks = curl_url_get(parts, CURLUPART_QUERY, &query, 0) == CURLUE_OK;
        curl_url_set(parts, CURLUPART_USER, NULL, 0);
        curl_url_set(parts, CURLUPART_PASSWORD, NULL, 0);
        curl_url_set(parts, CURLUPART_QUERY, NULL, 0);
        if (curl_url_get(parts, CURLUPART_URL, &rest, 0) == CURLUE_OK)
            snprintf(shown, ADEPT_URL_SHOWN, "%s%s", rest, asks ? "?..." : "");
    }
    curl_free(query);
    curl_free(rest);
    curl_url_cleanup(parts);
}
