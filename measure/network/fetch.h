/** @file fetch.h  What is at a URL, as JSON; all that knows libcurl. Calls: adept_json. */
#ifndef ADEPT_FETCH_H
#define ADEPT_FETCH_H
#include "adept_grow.h"
#include "adept_json.h"

/** Zero-initialised: no connection yet. It is kept from one request to the next. */
typedef struct adept_fetch {
    void *curl;
    adept_buffer reply;
    const char *help; /* what may help after a failure, constant; "": nothing known */
} adept_fetch;

/**
 * GET a document; http, https and file. It must arrive within some seconds, and be 1 MB at most.
 * @param out  the caller's, cJSON_Delete(); set only on ADEPT_OK
 * @return ADEPT_E_IO: no answer, or one that is no success; ADEPT_E_INVALID: it is no JSON; ADEPT_E_NOMEM
 */
adept_status adept_fetch_json(adept_fetch *fetch, const char *url, cJSON **out, adept_error *err);
void adept_fetch_close(adept_fetch *fetch);

#define ADEPT_URL_SHOWN 128
/** A URL without the secrets that may be in it: user, password, and what a query says. */
void adept_url_show(char shown[ADEPT_URL_SHOWN], const char *url);

#endif
