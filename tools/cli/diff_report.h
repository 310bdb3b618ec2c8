/** @file diff_report.h  What `adept diff` prints. Calls: whatif. */
#ifndef ADEPT_DIFF_REPORT_H
#define ADEPT_DIFF_REPORT_H
#include "adept_diff.h"
#include "cli.h"
#include <stdio.h>

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
