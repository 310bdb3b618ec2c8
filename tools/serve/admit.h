/** @file admit.h  Whether a request may ask at all: which name it calls the server by, which page sent it, its token,
 * and whether all would agree where it ends. Calls: problem. */
#ifndef ADEPT_SERVE_ADMIT_H
#define ADEPT_SERVE_ADMIT_H
#include "problem.h"

typedef struct adept_serve_door {
    const char *const *names; /* hosts besides addresses and localhost */
    size_t n_names;
    const char *token; /* NULL: none is asked for */
} adept_serve_door;

/** Headers of a request; NULL: not sent. */
typedef struct adept_serve_headers {
    const char *host, *origin, *authorization, *content_length, *transfer_encoding;
    bool is_repeated; /* one of them came twice */
    bool is_local;    /* over the Unix socket, where no web page is */
    bool needs_host;  /* as HTTP/1.1 does */
    bool is_open;     /* what is asked for needs no token */
} adept_serve_headers;

/** @return NULL: it may; else why not, and what kind of problem that is */
const char *adept_serve_turn_away(adept_serve_problem_kind *kind, const adept_serve_door *door,
                                  const adept_serve_headers *h);

/** The token in a file: one line of 16 to 512 letters, digits and signs. @param token  malloc'ed
 *  @return ADEPT_E_INVALID, ADEPT_E_NOMEM */
adept_status adept_serve_token_read(char **token, const char *path, adept_error *err);

#endif
