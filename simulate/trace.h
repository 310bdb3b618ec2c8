/** @file trace.h  Rows of traces: what a format says of a job. Private to simulate/. Calls: adept_csv. */
#ifndef ADEPT_TRACE_H
#define ADEPT_TRACE_H
#include "adept_csv.h"
#include "inputs.h"

/** Why a row is no job; a table in trace_formats.c has the words. */
typedef enum adept_trace_skip {
    ADEPT_ROW_IS_JOB,
    ADEPT_ROW_NO_GPU,
    ADEPT_ROW_NEVER_RAN,
    ADEPT_ROW_IS_STEP,
    ADEPT_ROW_SKIPS
} adept_trace_skip;

/** What a row says. Texts live until the next row. */
typedef struct adept_trace_row {
    int64_t id; /* 0: it has none, the row's number counts */
    double submit_s;
    const char *user;        /* NULL: none */
    const char *application; /* name of a template; NULL: none */
    double samples, gpu_s;   /* one of them; both NAN: what the template has */
    int gpus;
    double batch;       /* per GPU; 0: none */
    bool batch_is_near; /* the nearest batch of the template is meant */
    bool shares_gpu;    /* held a part of a GPU, which counts as a whole one */
    bool tells_urgency, is_urgent;
    double deadline_s; /* INFINITY: none */
} adept_trace_row;

typedef struct adept_trace_format {
    const char *name;
    const char *columns; /* those that make the format, as a sentence says them */
    bool is_calendar;    /* times are dates: the first job comes at 0 */
    /** Fills in what is not 0 by default; failures stay in the table. */
    adept_trace_skip (*take)(adept_csv_table *t, adept_trace_row *row);
} adept_trace_format;

/** Ends with a NULL name. */
extern const adept_trace_format adept_trace_formats[];
extern const char *const adept_trace_columns[];
extern const int adept_trace_n_columns;
extern const char *const adept_trace_skip_texts[ADEPT_ROW_SKIPS];
/** Has a header all columns of a format? */
bool adept_trace_has_columns(const adept_csv_table *t, const adept_trace_format *format);

#endif
