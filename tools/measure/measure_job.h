/** @file measure_job.h  `adept measure`: its options, what it does, and its report. Calls: measure. */
#ifndef ADEPT_MEASURE_JOB_H
#define ADEPT_MEASURE_JOB_H
#include "adept_child.h"
#include "adept_clock.h"
#include "adept_measured.h"
#include "adept_merge.h"
#include "adept_visible.h"
#include "cli.h"
#include <cjson/cJSON.h>
#include <stdio.h>

#define ADEPT_MOST_METERS 8

typedef struct adept_measure_cli_options {
    adept_words words; /* the command and its arguments, then NULL; or files of --merge */
    double period_s, duration_s;
    adept_words devices, row;
    int64_t repeat, skip;
    int attach;
    bool list, merge, json, raw, counters, by_period;
    enum { ADEPT_CSV_OF_ADEPT, ADEPT_CSV_OF_EA2P } ea2p; /* --format */
    enum { ADEPT_DRAM_OF_SYSTEM, ADEPT_DRAM_OF_PROCESS } dram_usage;
    enum { ADEPT_TIERS_OF_THESIS, ADEPT_TIERS_OF_EA2P } dram_tiers;
    const char *csv, *steps, *idle, *idle_fit;
    const char *output;  /* -o */
    const char *journal; /* --samples */
    const char *plot;
    const char *read;    /* a journal instead of a run */
    const char *sysroot;
    adept_meter meters[ADEPT_MOST_METERS];
    size_t n_meters;
    adept_dram_options dram;
} adept_measure_cli_options;

extern const adept_options adept_measure_cli_options_of;
/** Those of them that say which sensors are read. */
extern const adept_options adept_sensor_options_of;
/** These, and how they are read. */
extern const adept_options adept_reading_options_of;
/** And those that say which rows are made of steps. */
extern const adept_options adept_steps_options_of;

/** A measurement, made or read. */
typedef struct adept_measure_job {
    const adept_measure_cli_options *options;
    adept_recording *recording;
    adept_measured_run run;
    char host[256];
    adept_date started;
    adept_idle_fit idle;
    adept_counters counters;
    adept_counts counts;
    cJSON *about;         /* of a journal that was read: owns its texts */
    const char **command; /* likewise */
    adept_attached attached;
    adept_visible_words visible; /* what says which GPUs the command may use */
    int signal;           /* that came to end adept and went to the command; 0: none */
    void (*on_signal)(void *data); /* called when it comes, though the command may run on; NULL: nothing is */
    void *data;                    /* for it */
} adept_measure_job;

/** The region that --repeat enters. */
#define ADEPT_REPEAT_REGION "run"

#define ADEPT_MOST_KINDS 32

/** What a recording by these options reads. @param kinds  filled with those of the machine and of the network; ends
 * with NULL */
adept_recording_options adept_measure_sensors(const adept_measure_cli_options *o,
                                              const adept_sensor_kind *kinds[ADEPT_MOST_KINDS]);
/** Start the job's recording, of the machine's sensors and the network's. @param journal  NULL: none */
adept_status adept_measure_start(adept_cli *cli, adept_measure_job *job, FILE *journal);
/** Measure the idle machine, and write what it draws to --idle-fit's file. */
adept_status adept_measure_idle(adept_cli *cli, adept_measure_job *job);
/** Run the command, attach, wait, or read. @return the first failure; what was measured until then is in the job */
adept_status adept_measure_make(adept_cli *cli, adept_measure_job *job);
void adept_measure_job_free(adept_measure_job *job);

/** By how much energies are off where samples are left out. */
adept_status adept_measure_periods(adept_cli *cli, const adept_measure_job *job);

/** What is missing. */
void adept_report_missing(FILE *out, const adept_recording *recording);
/** What there is to be read, and what is missing, for --list. */
adept_status adept_report_sensors(adept_cli *cli, FILE *out, const adept_recording *recording);
adept_status adept_report_measured(adept_cli *cli, FILE *out, const adept_measure_job *job);

/** The region of a command that marks its steps. */
#define ADEPT_STEP_REGION "step"

/** --csv: rows of each run. */
adept_status adept_measure_put_csv(adept_cli *cli, const adept_measure_job *job);
/** --steps-from-marks: one row of measurements. @return ADEPT_E_INVALID: nothing was marked, too */
adept_status adept_measure_put_steps(adept_cli *cli, const adept_measure_job *job);
/** The same with more columns, words "KEY=VALUE" in their order, behind those of --row; NULL: none. What is doubtful of
 * the row's GPUs and power goes to standard error. */
adept_status adept_measure_append_steps(adept_cli *cli, const adept_measure_job *job, const adept_words *more);

/* The table of --merge, on stdout. @return ADEPT_E_NOMEM */
adept_status adept_merge_print(adept_cli *cli, const adept_merge *merge);
adept_status adept_merge_print_json(adept_cli *cli, const adept_merge *merge);

#endif
