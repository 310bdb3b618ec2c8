/** @file answer.h  Estimates, verdicts and descriptions as JSON. Calls: library, adept_json_writer. */
#ifndef ADEPT_SERVE_ANSWER_H
#define ADEPT_SERVE_ANSWER_H
#include "adept_json_writer.h"
#include "catalogue.h"

/** An estimate with status ADEPT_OK, keys as in `predict --json`, into an open object. */
void adept_serve_put_estimate(adept_json_writer *w, const adept_estimate *e);

/** {"steps":...,"violated":["deadline"]} */
void adept_serve_put_verdict(adept_json_writer *w, const char *key, const adept_verdict *v);

/** "best", "n_feasible", "verdict" and "binding" of a choice among n, into an open object. */
void adept_serve_put_choice(adept_json_writer *w, const adept_choice *c, size_t n);

/** What a client may know of a workload, into an open array. */
void adept_serve_put_workload(adept_json_writer *w, const adept_serve_workload *workload);

#endif
