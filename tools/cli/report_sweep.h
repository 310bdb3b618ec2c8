/** @file report_sweep.h  The answers of a sweep as text and as JSON. Calls: whatif. */
#ifndef ADEPT_REPORT_SWEEP_H
#define ADEPT_REPORT_SWEEP_H
#include "adept_json_writer.h"
#include "adept_sweep_answers.h"
#include "table.h"
#include <stdio.h>

/* Columns of a table of points: a label, the axes that vary (the first eight), numbers, and a remark. */
#define ADEPT_SWEEP_SHOWN_AXES 8
#define ADEPT_SWEEP_COLUMNS (ADEPT_SWEEP_SHOWN_AXES + 7)

#define ADEPT_SWEEP_COLUMNS_SIZE 800 /* of their titles; see column.h */
void adept_sweep_columns(char columns[ADEPT_SWEEP_COLUMNS_SIZE], const adept_sweep *sweep, const char *label);

/** What stands in them for a point. */
typedef struct adept_sweep_row {
    const char *cells[ADEPT_SWEEP_COLUMNS];
    char values[ADEPT_SWEEP_SHOWN_AXES][64];
    adept_text numbers[5];
} adept_sweep_row;
/** @param reason  NULL, or why it cannot run: it has no numbers then */
void adept_sweep_row_of(adept_sweep_row *out, const adept_sweep *sweep, const char *label,
                        const adept_sweep_found *found, const char *reason);

/** A table of them as text; the record must stay where it is. */
typedef struct adept_sweep_table {
    char columns[ADEPT_SWEEP_COLUMNS_SIZE];
    adept_table table;
} adept_sweep_table;
void adept_sweep_table_begin(adept_sweep_table *table, const adept_sweep *sweep);
void adept_sweep_table_add(adept_sweep_table *table, const adept_sweep *sweep, const char *label,
                           const adept_sweep_found *found, const char *reason);

/** @param points NULL, or a table of all points to print too, which is freed then */
adept_status adept_report_sweep(adept_cli *cli, FILE *out, const adept_sweep *sweep, const adept_sweep_answers *answers,
                                adept_aim objective, adept_sweep_table *points);

/** "least time (objective)", and the point that has it. */
typedef struct adept_sweep_answer {
    adept_text name;
    adept_sweep_found found;
} adept_sweep_answer;
#define ADEPT_SWEEP_BEST (ADEPT_SWEEP_OBJECTIVES + 1)
/** The best points, and the knee of the front. @return how many */
size_t adept_sweep_list_best(adept_sweep_answer out[ADEPT_SWEEP_BEST], const adept_sweep_answers *answers,
                             adept_aim objective);
/** Of `shown` points of the front, both ends and evenly what lies between: one of them. */
adept_sweep_found adept_sweep_of_front(const adept_sweep_answers *answers, size_t shown, size_t index);

/** "gpus=2, batch=64" */
char *adept_sweep_describe_point(char *text, size_t size, const adept_sweep *sweep, uint64_t index);
/** "index":N,"gpus":2,...: index and values of a point, into an open object. */
void adept_sweep_put_values(adept_json_writer *w, const adept_sweep *sweep, uint64_t index);

/** "answers", into an open object. */
void adept_sweep_put_answers(adept_json_writer *w, const adept_sweep *sweep, const adept_sweep_answers *answers,
                             adept_aim objective);

#endif
