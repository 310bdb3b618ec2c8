/** @file compare.h  Two files of adept, predicted or measured, number by number. Calls: adept_result. */
#ifndef ADEPT_COMPARE_H
#define ADEPT_COMPARE_H
#include "adept_json.h"

typedef enum adept_compare_quantity {
    ADEPT_COMPARE_TIME,
    ADEPT_COMPARE_POWER,
    ADEPT_COMPARE_ENERGY
} adept_compare_quantity;
/** "time"; NULL behind the last. */
const char *adept_compare_quantity_name(size_t quantity);

typedef struct adept_compare_value {
    double value;      /* NAN: not known */
    double low, high;  /* NAN: no interval */
    char interval[32]; /* what kind of one: "80 % of measurements", "95 % of means", "readings" */
    const char
        *origin; /* "predicted", "measured", "estimated", "measured and estimated"; NULL: the file has no such number */
} adept_compare_value;

typedef struct adept_compare_row {
    char name[128]; /* "step time", "gpu energy", "region load: power" */
    adept_compare_quantity quantity;
    adept_compare_value sides[2];
    double difference, share; /* of the other side to the reference, and of that; NAN: not known */
    int overlap;              /* do the intervals, one of which may be a number alone? -1: neither has one */
} adept_compare_row;

typedef struct adept_compare_side {
    const char *path;
    cJSON *tree;
    bool is_measured;
    char what[256]; /* one line: what ran, and where */
} adept_compare_side;

typedef struct adept_compare {
    adept_compare_side sides[2];
    int reference; /* the measured one, if one is; else the first */
    adept_compare_row *rows;
    size_t n_rows, capacity;
    bool failed; /* memory was out */
} adept_compare;

/**
 * @param region  what a step is called in a measurement that a prediction is compared with; NULL: "step"
 * @param out     release by adept_compare_free(), also after an error
 * @return ADEPT_E_INVALID; ADEPT_E_USAGE: a region where both are of a kind; ADEPT_E_NOMEM
 */
adept_status adept_compare_files(adept_compare *out, const char *const paths[2], const char *region, adept_error *err);
void adept_compare_free(adept_compare *compare);

#endif
