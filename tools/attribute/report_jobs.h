/** @file report_jobs.h  `adept attribute --slurm`: its options, what it works out, and how that is printed. Calls:
 * attribute, whatif. */
#ifndef ADEPT_REPORT_JOBS_H
#define ADEPT_REPORT_JOBS_H
#include "adept_account_groups.h"
#include "adept_job_note.h"
#include "adept_totals.h"
#include "cli.h"

typedef struct adept_jobs_options {
    adept_words recordings, listpids;
    const char *sacct, *jobcomp; /* "-": standard input */
    const char *idle, *rows;
    const char *models; /* where the profiles of jobs are */
    adept_group_key by;
    int idle_is_separate;
    bool json, csv;
    bool with_gap;
    adept_accounting_options how;
    adept_job_spec site; /* its carbon intensity, country and PUE */
} adept_jobs_options;

/** What is reported. */
typedef struct adept_jobs_report {
    const adept_jobs_options *options;
    const adept_accounting *accounting;
    const adept_account_groups *groups; /* as asked for */
    const adept_account_groups *jobs;   /* by job */
    const char *const *warnings;
    size_t n_warnings;
} adept_jobs_report;

/** A job that adept predicted. NAN: not known. */
typedef struct adept_job_check {
    adept_job_note note;
    double time_s, gpu_energy_j; /* measured; energy of GPUs, of a job that was recorded from begin to end */
} adept_job_check;
/** @return false: adept noted nothing of it */
bool adept_job_check_of(adept_job_check *out, const adept_account_group *job);

adept_status adept_jobs_print(adept_cli *cli, const adept_jobs_report *r);
adept_status adept_jobs_print_json(adept_cli *cli, const adept_jobs_report *r);
adept_status adept_jobs_print_csv(adept_cli *cli, const adept_jobs_report *r);

/**
 * Append a row for `adept calibrate` of each job that adept placed and that completed.
 * @param models     folder of NAME.profile.json: what ran (precision, mode, optimizer, ...) is the profile's
 * @param add, data  called with a sentence for each job that adept placed and that has no row, or none with power;
 * false: memory is out
 */
adept_status adept_jobs_append_rows(adept_cli *cli, const char *path, const char *models,
                                    const adept_account_groups *jobs,
                                    bool (*add)(void *data, const char *format, ...) ADEPT_PRINTF(2, 3), void *data);

#endif
