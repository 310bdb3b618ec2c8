/** @file answer.h  Estimates, verdicts and descriptions as JSON. Calls: library. */
#ifndef ADEPT_SERVE_ANSWER_H
#define ADEPT_SERVE_ANSWER_H
#include "catalogue.h"
#include "text.h"

/** An estimate with status ADEPT_OK, keys as in `predict --json`; `first` goes in front of them:
 * "\"schema_version\":1,". */
void adept_serve_print_estimate(adept_serve_text *out, const char *first, const adept_estimate *e);

/** {"steps":...,"violated":["deadline"]} */
void adept_serve_print_verdict(adept_serve_text *out, const adept_verdict *v);

/** "best", "n_feasible", "binding" and "verdict" of a choice among n, without braces. */
void adept_serve_print_choice(adept_serve_text *out, const adept_choice *c, size_t n);

/** What a client may know of a workload. */
void adept_serve_print_workload(adept_serve_text *out, const adept_serve_workload *w);

#endif
