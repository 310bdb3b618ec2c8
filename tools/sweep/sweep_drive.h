/** @file sweep_drive.h  `adept sweep --drive`: power limits, clocks and governors of this machine are set, and a
 * command is measured at every point. docs/MEASURE.md. Calls: measure, whatif. */
#ifndef ADEPT_SWEEP_DRIVE_H
#define ADEPT_SWEEP_DRIVE_H
#include "adept_control.h"
#include "adept_gain.h"
#include "measure_job.h"
#include "report_sweep.h"
#include "step_options.h"

/** The variant of `adept sweep`. */
extern const adept_command adept_sweep_drive;

typedef struct adept_drive_options {
    adept_measure_cli_options measure; /* the command, and how sensors are read */
    adept_vary_options vary, baseline; /* baseline: a value of each key */
    bool drive, restore, synthesis, one_at_a_time, csv, json;
    adept_aim objective; /* what is best, and what gains are of */
    const char *output, *plot;
    const char *journal; /* what is to be put back; NULL: where adept_restore_open() has it */
} adept_drive_options;

/** NAN: not known. */
typedef struct adept_spent {
    double time_s;
    double energy_j; /* that points are compared by: of cpu, dram and gpu, without these of the node */
    double energies_j[ADEPT_COMPONENTS];
    adept_taken taken; /* by each of the runs, or steps */
} adept_spent;

/** A point that was measured. */
typedef struct adept_driven {
    adept_spent run, step; /* the whole command; the mean of the steps that it marked */
    size_t steps;
    int exit_status;
    char *measured; /* the JSON of `adept measure`, owned */
} adept_driven;

/** A run of `adept sweep --drive`. */
typedef struct adept_drive {
    const adept_drive_options *options;
    adept_sweep sweep;
    uint64_t size;
    uint64_t baseline; /* what the others are held against; UINT64_MAX: none */
    adept_driven *points; /* in the order of the grid; `done` of them were measured */
    uint64_t done;
    adept_controls controls;
    adept_restore restore;
    bool is_set;           /* something may not be as it was */
    bool interrupted;      /* by a signal */
    adept_status put_back; /* what became of putting all back at the signal */
    adept_measure_job job; /* the last run */
} adept_drive;

/** Put back what a killed run left, and say so. */
adept_status adept_drive_leftovers(adept_cli *cli, adept_drive *drive);
/** Measure every point. Whatever happens, all is put back at the end. @return the first failure; what was measured
 * until then is there */
adept_status adept_drive_points(adept_cli *cli, adept_drive *drive);

/** What gains are of, as titles have it: "EDP". */
const char *adept_drive_gain_name(adept_aim objective);

/** What the programs of several files gained. */
adept_status adept_drive_synthesis(adept_cli *cli, const adept_drive_options *options);

/** Table, CSV or JSON, and the picture. */
adept_status adept_drive_report(adept_cli *cli, const adept_drive *drive);

#endif
