/** @file goal.h  What a change has to reach, as a file says it, and whether it did. A is the reference, B what is
 * judged. Calls: compare, table. */
#ifndef ADEPT_GOAL_H
#define ADEPT_GOAL_H
#include "compare.h"
#include "table.h"

typedef struct adept_compare_goal {
    char metric[128]; /* a row of the comparison */
    bool is_higher;   /* it has to become higher; else lower */
    double threshold; /* by this share of A at least: 0.1; 0: it must not become worse */
    double tolerance; /* and may miss that by so many deviations of A */
    /* by adept_goals_judge(): */
    const adept_compare_row *row;
    double change;    /* share of A; NAN: not known */
    double low, high; /* 95 % of it; NAN: not known */
    double needed;    /* share of A: the change is to be at least or at most this; NAN: not known */
    bool passed;      /* what is not known passes nothing */
    const char
        *origin; /* of the weaker of both values: what was measured is stronger than what was predicted or simulated */
} adept_compare_goal;

typedef struct adept_goals {
    const char *path;
    char reference[64], candidate[64]; /* policies of A and B; "": the only one */
    adept_compare_goal *goals;
    size_t n, failed;
    bool is_validation; /* only what was measured before and after validates anything */
} adept_goals;

/** @param path  borrowed. @param out  adept_goals_free(), also after an error. @return ADEPT_E_INVALID, ADEPT_E_NOMEM
 */
adept_status adept_goals_read(adept_goals *out, const char *path, adept_error *err);
void adept_goals_free(adept_goals *goals);
/** @return ADEPT_E_INVALID: nothing that is compared is called so */
adept_status adept_goals_judge(adept_goals *goals, const adept_compare *c, adept_error *err);

/** @return ADEPT_E_NOMEM */
adept_status adept_goals_print(adept_cli *cli, const adept_goals *goals);
void adept_goals_put(adept_json_writer *w, const char *key, const adept_goals *goals);

#endif
