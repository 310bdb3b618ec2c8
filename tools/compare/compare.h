/** @file compare.h  Two files of adept, predicted, measured or simulated, number by number. Calls: adept_result,
 * adept_sim_results. */
#ifndef ADEPT_COMPARE_H
#define ADEPT_COMPARE_H
#include "adept_json.h"
#include "adept_sim_results.h"
#include "units.h"

typedef enum adept_compare_quantity {
    ADEPT_COMPARE_TIME,
    ADEPT_COMPARE_POWER,
    ADEPT_COMPARE_ENERGY,
    ADEPT_COMPARE_OTHER, /* of simulations: jobs an hour, shares, counts */
    ADEPT_COMPARE_EDP,   /* this and the next only where they are asked for: they differ by what time and energy do */
    ADEPT_COMPARE_ED2P,
    ADEPT_COMPARE_QUANTITIES
} adept_compare_quantity;
/** "time"; NULL behind the last. */
const char *adept_compare_quantity_name(size_t quantity);

typedef struct adept_compare_value {
    double value;       /* NAN: not known */
    double low, high;   /* NAN: no interval */
    double sd;          /* of repeats or seeds; NAN: not known */
    char interval[32];  /* what kind of one: "80 % of measurements", "95 % of means", "readings" */
    const char *origin; /* "predicted", "measured", "estimated", "measured and estimated", "simulated"; NULL: the file
                           has no such number */
} adept_compare_value;

typedef struct adept_compare_row {
    char name[128]; /* "step time", "gpu energy", "region load: power", "throughput_per_h" */
    adept_compare_quantity quantity;
    const char *unit; /* "s", "W", "J", "1/h"; "" of a share or a count */
    adept_compare_value sides[2];
    double difference, share;     /* of the other side to the reference, and of that; NAN: not known */
    double low, high;             /* 95 % of the difference of two means; by pairs where policies met the same jobs;
                                     NAN: not known */
    double share_low, share_high; /* likewise of the share */
    int overlap;                  /* do the intervals, one of which may be a number alone? -1: neither has one */
} adept_compare_row;

typedef enum adept_compare_kind {
    ADEPT_COMPARE_PREDICTED,
    ADEPT_COMPARE_MEASURED,
    ADEPT_COMPARE_SIMULATED
} adept_compare_kind;
/** "predicted", "measured", "simulated". */
const char *adept_compare_kind_name(size_t kind);

typedef struct adept_compare_side {
    const char *path;
    cJSON *tree;
    adept_compare_kind kind;
    adept_comparison simulated; /* of a simulation, with the policy that is compared */
    size_t policy;
    char what[256]; /* one line: what ran, and where */
} adept_compare_side;

/** What of the files is compared. */
typedef struct adept_compare_choice {
    const char *region; /* what a step is called in a measurement that a prediction is compared with; NULL: "step" */
    const char *policies[2];     /* of A and of B, which have to be simulations; NULL: the only one */
    const char *if_simulated[2]; /* likewise, where `policies` say nothing; of another kind of file nothing is asked */
} adept_compare_choice;

typedef struct adept_compare {
    adept_compare_side sides[2];
    int reference; /* the measured one, if one is; else the first */
    adept_compare_row *rows;
    size_t n_rows, capacity;
    bool failed; /* memory was out */
} adept_compare;

/**
 * @param out  release by adept_compare_free(), also after an error
 * @return ADEPT_E_INVALID; ADEPT_E_USAGE: a choice that the files do not have; ADEPT_E_NOMEM
 */
adept_status adept_compare_files(adept_compare *out, const char *const paths[2], const adept_compare_choice *choice,
                                 adept_error *err);
void adept_compare_free(adept_compare *compare);

/** A value of a row for a person: "1.23 ms", "57.0 kWh", "10.9 1/h"; "-": not known. */
adept_text adept_compare_amount(const adept_compare_row *row, double value);

#endif
