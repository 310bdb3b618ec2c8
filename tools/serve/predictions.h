/** @file predictions.h  POST /v1/predict and /v1/choose. Calls: library. */
#ifndef ADEPT_SERVE_PREDICTIONS_H
#define ADEPT_SERVE_PREDICTIONS_H
#include "server.h"

bool adept_serve_predict(adept_server *s, adept_json_writer *out, const adept_serve_request *r, adept_serve_problem *p);
/** Where no option is feasible, `out` has the whole answer, error included. */
bool adept_serve_choose(adept_server *s, adept_json_writer *out, const adept_serve_request *r, adept_serve_problem *p);

/** How many oracles of a body's profile are kept while it is worked on: each may have a copy of it, at another batch size.
 * @param size  of the profile's text */
size_t adept_serve_profile_capacity(size_t size);

/** The problem that there is no such GPU; names the one that may have been meant. */
bool adept_serve_unknown_gpu(const adept_serve_catalogue *c, const char *name, adept_serve_problem *p);

#endif
