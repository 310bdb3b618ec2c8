/** @file adept_totals.h  A whole job of many steps: hours, energy, emissions, cost. Calls: model. */
#ifndef ADEPT_TOTALS_H
#define ADEPT_TOTALS_H
#include "adept_model.h"

/* Uptime Institute, Global Data Center Survey 2024: average annual PUE of the respondents' largest site. */
#define ADEPT_PUE_AVERAGE 1.56
#define ADEPT_PUE_AVERAGE_SOURCE                                                                                       \
    "unsourced: entered from memory of the Uptime Institute's Global Data Center Survey 2024"

/** Average grid intensity of a country in a year; a row of data/grid_intensity.csv. */
typedef struct adept_grid_intensity {
    const char *code, *name, *others; /* "GB", "United Kingdom", "|GBR|UK|Great Britain" */
    double g_per_kwh;
    int year;
    const char *source;
} adept_grid_intensity;

/** NULL past the end. */
const adept_grid_intensity *adept_grid_intensity_at(size_t index);
/** By code or one of its names, whatever the case; NULL if there is none. */
const adept_grid_intensity *adept_grid_intensity_find(const char *name);

/** What businesses of a country paid for electricity in a year; a row of data/electricity_price.csv. */
typedef struct adept_electricity_price {
    const char *code; /* as of adept_grid_intensity */
    double usd_per_kwh;
    int year;
    const char *source;
} adept_electricity_price;

/** NULL past the end. */
const adept_electricity_price *adept_electricity_price_at(size_t index);

/** A job, as it is asked for. Exactly one of steps, samples and epochs is given. NAN, or 0 for counts: not given. */
typedef struct adept_job_spec {
    int64_t steps, samples, epochs;
    int64_t dataset_size;    /* samples of an epoch */
    int64_t inferences;      /* of the model over its life, beside its training; 0: not asked */
    int64_t inference_batch; /* 0: the training's */
    double carbon_g_per_kwh; /* counts more than the country's */
    const adept_grid_intensity *country;
    bool country_by_carbon;               /* it is the zone of --carbon-intensity: --country says none */
    double price_per_kwh, gpu_hour_price; /* in one currency: USD with an average price */
    bool price_is_average;                /* `average_price` counts: NULL until it is looked up */
    const adept_electricity_price *average_price;
    double pue;                           /* at least 1: site energy / energy of the machines */
    bool pue_is_average;                  /* it is ADEPT_PUE_AVERAGE */
    double host_power_w;                  /* of one node, beside its GPUs */
    double embodied_kg, lifetime_years;   /* CO2e of making a board, and how long it is used; both or neither */
} adept_job_spec;

/** What the totals are multiplied by, and where that comes from: into these members alone. */
void adept_totals_take_rates(adept_totals *t, const adept_job_spec *job);

/**
 * Multiply one step to a job. Samples are rounded up to whole steps, every epoch by itself.
 * @param p    of exactly this profile and run
 * @param run  not NULL
 */
adept_totals adept_totals_of(const adept_job_spec *job, const adept_prediction *p, const adept_profile *prof,
                             const adept_run *run);

/** The life of a model.
 *  @param training    its totals
 *  @param p, prof     a step of its inferences, of which `job` says how many */
adept_lifetime adept_lifetime_of(const adept_job_spec *job, const adept_totals *training, const adept_prediction *p,
                                 const adept_profile *prof, const adept_run *run);

#endif
