/** @file measure_job.h  `adept measure`: its options, what it does, and its report. Calls: measure. */
#ifndef ADEPT_MEASURE_JOB_H
#define ADEPT_MEASURE_JOB_H
#include "adept_child.h"
#include "adept_clock.h"
#include "adept_measured.h"
#include "cli.h"
#include <cjson/cJSON.h>
#include <stdio.h>

#define ADEPT_MOST_METERS 8

typedef struct adept_measure_options {
    adept_words words; /* the command and its arguments, then NULL; or files of --merge */
    double period_s, duration_s;
    adept_words devices;
    int64_t repeat;
    int attach;
    bool list, json, raw;
    const char *output;  /* -o */
    const char *journal; /* --samples */
    const char *plot;
    const char *read;    /* a journal instead of a run */
    const char *sysroot;
    adept_meter meters[ADEPT_MOST_METERS];
    size_t n_meters;
    adept_dram_options dram;
} adept_measure_options;

extern const adept_options adept_measure_options_of;

/** A measurement, made or read. */
typedef struct adept_measure_job {
    const adept_measure_options *options;
    adept_recording *recording;
    adept_measured_run run;
    char host[256];
    adept_date started;
    cJSON *about;         /* of a journal that was read: owns its texts */
    const char **command; /* likewise */
} adept_measure_job;

/** The region that --repeat enters. */
#define ADEPT_REPEAT_REGION "run"

/** Run the command, attach, wait, or read. @return the first failure; what was measured until then is in the job */
adept_status adept_measure_make(adept_cli *cli, adept_measure_job *job);
void adept_measure_job_free(adept_measure_job *job);

/** What there is to be read, and what is missing, for --list. */
adept_status adept_report_sensors(adept_cli *cli, FILE *out, const adept_recording *recording);
adept_status adept_report_measured(adept_cli *cli, FILE *out, const adept_measure_job *job);

#endif
