/** @file report_sweep.h  The answers of a sweep as text and as JSON. Calls: whatif. */
#ifndef ADEPT_REPORT_SWEEP_H
#define ADEPT_REPORT_SWEEP_H
#include "adept_json_writer.h"
#include "adept_sweep_answers.h"
#include "table.h"
#include <stdio.h>

/** A table of points: a label, the axes that vary (the first eight), numbers, and a remark. The record must stay where
 *  it is. */
typedef struct adept_sweep_table {
    char columns[800]; /* see column.h */
    adept_table table;
} adept_sweep_table;
/** @param label  of the first column */
void adept_sweep_table_begin(adept_sweep_table *table, const adept_sweep *sweep, const char *label);
/** @param reason  NULL, or why it cannot run: it has no numbers then */
void adept_sweep_table_add(adept_sweep_table *table, const adept_sweep *sweep, const char *label,
                           const adept_sweep_found *found, const char *reason);
/** Begin one, of the best points and the knee of the front. */
void adept_sweep_table_best(adept_sweep_table *table, const adept_sweep *sweep, const adept_sweep_answers *answers,
                            adept_aim objective, const char *label);
/** Begin one, of the front: if it has more than `most` points, both ends and evenly what lies between. A first column
 *  with a label has their indices. */
void adept_sweep_table_front(adept_sweep_table *table, const adept_sweep *sweep, const adept_sweep_answers *answers,
                             size_t most, const char *label);

/** What there is to say of how sure the answers are. @return how many lines */
#define ADEPT_SWEEP_WARNINGS 3
typedef struct adept_sweep_warning {
    char text[512];
} adept_sweep_warning;
size_t adept_sweep_warnings(adept_sweep_warning lines[ADEPT_SWEEP_WARNINGS], const adept_sweep *sweep,
                            const adept_sweep_answers *answers, adept_aim objective);

/** @param points NULL, or a table of all points to print too, which is freed then */
adept_status adept_report_sweep(adept_cli *cli, FILE *out, const adept_sweep *sweep, const adept_sweep_answers *answers,
                                adept_aim objective, adept_sweep_table *points);

/** "gpus=2, batch=64" */
char *adept_sweep_describe_point(char *text, size_t size, const adept_sweep *sweep, uint64_t index);
/** "index":N,"gpus":2,...: index and values of a point, into an open object. */
void adept_sweep_put_values(adept_json_writer *w, const adept_sweep *sweep, uint64_t index);

/** "answers", into an open object. */
void adept_sweep_put_answers(adept_json_writer *w, const adept_sweep *sweep, const adept_sweep_answers *answers,
                             adept_aim objective);

#endif
