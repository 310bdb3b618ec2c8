/** @file adept_result.h  What `adept measure --json` wrote, read again, and rows of it appended to CSV files. Calls:
 * adept_json. */
#ifndef ADEPT_RESULT_H
#define ADEPT_RESULT_H
#include "adept_json.h"

/**
 * A JSON file of adept, of whatever command.
 * @param out  the caller's, cJSON_Delete(); set only on ADEPT_OK
 * @return ADEPT_E_INVALID also if its schema_version is not 1
 */
adept_status adept_result_read(cJSON **out, const char *path, adept_error *err);
/** Is it a measurement? */
bool adept_result_is_measured(const cJSON *result);
/** NAN: null, missing, or no number. */
double adept_result_number(const cJSON *object, const char *key);
/** "": missing or no text. */
const char *adept_result_text(const cJSON *object, const char *key);
/** Seconds since 1970 of "2026-11-23T04:25:24.125Z"; NAN: it is no such text. */
double adept_result_time_s(const char *text);

/**
 * Append a row for each sensor of a measurement; one without any has one row. Rows arrive whole or not at all, also of
 * many processes at once.
 * @param path  made with a title line if it is new
 * @param run   which of several repeats, from 1
 * @return ADEPT_E_INVALID: it has other columns; ADEPT_E_IO; ADEPT_E_NOMEM
 */
adept_status adept_result_append_csv(const char *path, const cJSON *result, int run, adept_error *err);

/** What EA2P lets a user say of a run; "" what is not said. */
typedef struct adept_ea2p_labels {
    const char *project, *package, *algorithm, *parameters;
} adept_ea2p_labels;

/** Append one row with the columns that EA2P writes: one for each sensor, in J, rounded to 5 decimals. As above. */
adept_status adept_result_append_ea2p(const char *path, const cJSON *result, const adept_ea2p_labels *labels,
                                      adept_error *err);

#endif
