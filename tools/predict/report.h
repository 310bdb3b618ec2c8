/** @file report.h  Results as text for people. What programs read is the JSON. Calls: workload, model. */
#ifndef ADEPT_REPORT_H
#define ADEPT_REPORT_H
#include "adept_diff.h"
#include "predicted_step.h"
#include "table.h"
#include <stdio.h>

/** Model, what runs, and the input shapes: the head of both reports. */
void adept_report_workload(FILE *out, const adept_profile *profile);

/** 1 where none is given. */
int64_t adept_run_gpus(const adept_run *run);
/** Whose power a prediction has: "GPU board", "all GPU boards together", "the node at the wall", ... */
const char *adept_scope_text(const adept_run *run);

/** Of emissions: "12.3 kg CO2e". */
adept_text adept_units_grams(double mass_g);
/** "384 g CO2e/kWh, United States, average of 2024 (its source)", where an intensity is known; a price likewise. */
typedef struct adept_rate_text {
    char s[512];
} adept_rate_text;
adept_rate_text adept_grid_text(const adept_totals *t);
adept_rate_text adept_price_text(const adept_totals *t);

/** Of a step with inferences: "lifetime": {...}, into an object that is open. */
void adept_lifetime_put(adept_json_writer *w, const adept_predicted_step *s);
/** "queries of 512 + 256 tokens, 8 at a time": what runs for them. */
typedef struct adept_inference_text {
    char s[160];
} adept_inference_text;
adept_inference_text adept_lifetime_text(const adept_predicted_step *s);
/** What bounds a step in the words of explain and the page: "arithmetic", "memory", "host", "network". JSON has
 *  adept_bound_name()'s. */
const char *adept_bound_word(adept_bound bound);

/** The warnings of a profile, then those of its prediction; NULL past the end. */
const char *adept_warning_at(const adept_profile *profile, const adept_prediction *prediction, size_t index);

/** An energy label, what a job takes, is written in the format that the end of the file's name says. @return there is
 * one */
bool adept_label_has_format(const char *path);
/** Write through a temporary file: a label that is there is whole. @param step  with totals */
adept_status adept_label_write(adept_cli *cli, const char *path, const adept_predicted_step *step);

adept_status adept_report_prediction(adept_cli *cli, FILE *out, const adept_predicted_step *step);

/** @param roofline the rows carry their least time and side of a GPU's roofline */
adept_status adept_report_profile(adept_cli *cli, FILE *out, const adept_profile *profile, const adept_groups *groups,
                                  const adept_grouping *grouping, bool roofline);

/* ---- what `adept diff` prints ---- */

/* --fail-above and what it found. */
typedef struct adept_diff_check {
    double limit;                   /* share: 0.05; NAN: there is none */
    bool on[ADEPT_DIFF_QUANTITIES]; /* what is looked at */
    bool exceeded[ADEPT_DIFF_QUANTITIES];
} adept_diff_check;

typedef struct adept_diff_report {
    const adept_diff *diff;
    const adept_diff_side *old, *now;
    const adept_diff_check *check;
    adept_diff_amount sort; /* what the rows are sorted by */
    int64_t max_rows;       /* of the table; 0: all */
    bool markdown;          /* GitHub's, for a comment; else text for people */
} adept_diff_report;

adept_status adept_diff_print(adept_cli *cli, FILE *out, const adept_diff_report *report);
adept_status adept_diff_print_json(adept_cli *cli, const adept_diff_report *report);

#endif
