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

/** What a job held that is less than a GPU and counts as a whole one; a table in trace_formats.c has the words. */
typedef enum adept_trace_share {
    ADEPT_SHARE_NONE,
    ADEPT_SHARE_OF_GPU,
    ADEPT_SHARE_SLICES,
    ADEPT_SHARE_SHARDS,
    ADEPT_TRACE_SHARES
} adept_trace_share;

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
    adept_trace_share share;
    bool tells_urgency, is_urgent;
    double deadline_s; /* INFINITY: none */
} adept_trace_row;

typedef struct adept_trace_format {
    const char *name;
    const char *columns; /* those that make the format: "A,B|C" is A, and B or C */
    bool is_calendar;    /* times are dates: the first job comes at 0 */
    /** Fills in what is not 0 by default; failures stay in the table. */
    adept_trace_skip (*take)(adept_csv_table *t, adept_trace_row *row);
} adept_trace_format;

/** Ends with a NULL name. */
extern const adept_trace_format adept_trace_formats[];
extern const char *const adept_trace_columns[];
extern const int adept_trace_n_columns;
extern const char *const adept_trace_skip_texts[ADEPT_ROW_SKIPS];
extern const char *const adept_trace_share_texts[ADEPT_TRACE_SHARES];
/** What the table's rows do not say though one would expect it; NULL: nothing. */
const char *adept_trace_lack(const adept_csv_table *t, const adept_trace_format *format);
/** "2017-10-09 07:01:55", or with a T, perhaps with a time zone, whose changes are not known; or seconds since 1970.
 *  @return since 1970; NAN: it is none of these */
double adept_trace_date_s(const char *text);
/**
 * Philly's own log, a JSON list of jobs with their attempts, as a table of the format philly.
 * @param text  malloc'ed; taken, and the table's text on ADEPT_OK
 * @return ADEPT_E_INVALID: it is other JSON; ADEPT_E_NOMEM
 */
adept_status adept_trace_philly_table(char **text, size_t *size, const char *name, adept_error *err);
/** Has a header all columns of a format? */
bool adept_trace_has_columns(const adept_csv_table *t, const adept_trace_format *format);

#endif
