/** @file report_sweep.h  The answers of a sweep as text and as JSON. Calls: whatif. */
#ifndef ADEPT_REPORT_SWEEP_H
#define ADEPT_REPORT_SWEEP_H
#include "adept_json_writer.h"
#include "adept_sweep_answers.h"
#include "cli.h"
#include "table.h"
#include <stdio.h>

/** A table of points: a label, the axes that vary (the first eight), and numbers. NULL when memory is out. */
adept_table *adept_sweep_table_new(const adept_sweep *sweep, const char *label);
/** @param reason NULL, or why it cannot run. @return false when memory is out */
bool adept_sweep_table_add(adept_table *table, const adept_sweep *sweep, const char *label,
                           const adept_sweep_found *found, const char *reason);

/** @param points NULL, or a table of all points to print too */
adept_status adept_report_sweep(adept_cli *cli, FILE *out, const adept_sweep *sweep, const adept_sweep_answers *answers,
                                adept_aim objective, const adept_table *points);

/** "gpus=2, batch=64" */
char *adept_sweep_describe_point(char *text, size_t size, const adept_sweep *sweep, uint64_t index);
/** "index":N,"gpus":2,...: index and values of a point, into an open object. */
void adept_sweep_put_values(adept_json_writer *w, const adept_sweep *sweep, uint64_t index);

/** "answers", into an open object. */
void adept_sweep_put_answers(adept_json_writer *w, const adept_sweep *sweep, const adept_sweep_answers *answers,
                             adept_aim objective);

#endif
