/** @file adept_layouts.h  What predictions of layouts are worth: one factor for each software stack, the order of
 * layouts among which one would be chosen, and memory. Calls: measurements, model.
 *
 *  A stack is the text in the column `stack`, else in `source`. All errors are in percent of the measured value.
 */
#ifndef ADEPT_LAYOUTS_H
#define ADEPT_LAYOUTS_H
#include "adept_fit_report.h"
#include "adept_json_writer.h"

/* ------------------------------------------------------------------ order -------------------------------------- */

/** Kendall's tau: of the pairs, those in the right order less those in the wrong one. */
typedef struct adept_order {
    size_t n_pairs;
    double tau; /* NAN: no pair. What is predicted equal is in no order and counts 0 */
} adept_order;

/** @param apart  only pairs count whose measured values differ by more than this share of the smaller one: 0.05
 *  @param same   NULL; or things that are one and the same where equal, whose pairs do not count */
adept_order adept_kendall(const double *measured, const double *predicted, const size_t *same, size_t n, double apart);

/** By how much the best measured of the `first` best predicted is above the best measured of all, in percent; NAN of
 * none. */
double adept_regret(const double *measured, const double *predicted, size_t n, size_t first);

/** Rows among which a choice could be made. */
typedef struct adept_layout_choice {
    const char *label; /* "llama_7b, 8 x a100-sxm-80gb, 2048 x 2048" */
    size_t n;
    adept_order over_5, over_10; /* pairs further apart than so many percent */
    double regret_1, regret_3;
} adept_layout_choice;

/** Choices of one kind, of two rows or more. */
typedef struct adept_choices {
    const char *by; /* "model": of one model on as many GPUs for the same work; "work": of whichever model; "source": in
                       GPU seconds a token. All of one source and board */
    size_t n;
    adept_layout_choice *choices;
    adept_order over_5, over_10; /* of all their pairs */
    double regret_1, regret_3;   /* means */
} adept_choices;
#define ADEPT_CHOICE_KINDS 3

/* ------------------------------------------------------------------ stacks -------------------------------------- */

/** Errors of predicted times of the same rows. */
typedef struct adept_layout_errors {
    adept_error_stats as_is;  /* without a factor; its bias */
    adept_error_stats factor; /* times the median factor of the stack's other rows */
    adept_error_stats
        source_left; /* times the factor of the stack's rows of other sources, else the median of other stacks' */
    /* one share of the peak in place of a prediction: what a stack reaches on that GPU in that precision, else all
     * stacks there, else all; of other rows, and of other sources */
    adept_error_stats floor, floor_source_left;
} adept_layout_errors;

typedef struct adept_layout_stack {
    const char *name;
    size_t n;
    double factor; /* median of measured over predicted time; NAN: no time was measured */
    double spread; /* of its logarithm: half of the width that 80 % of the rows lie in */
    adept_layout_errors errors;
} adept_layout_stack;

/* ------------------------------------------------------------------ memory -------------------------------------- */

/** Rows that ran out of memory or came near it. */
typedef struct adept_layout_room {
    size_t n, n_right;             /* rows that say either, and where it was told */
    size_t n_tight, n_tight_right; /* of them those that ran out, or came within 10 % of the board's */
} adept_layout_room;

typedef struct adept_layout_report {
    size_t n_stacks;
    adept_layout_stack *stacks;
    size_t n_sources;
    const char **sources; /* with errors of each */
    adept_layout_errors *by_source;
    adept_layout_errors overall;
    double factor, spread; /* of stacks that are not known: the median of those, and its spread */
    adept_choices choices[ADEPT_CHOICE_KINDS];
    adept_layout_room room;
} adept_layout_report;

/** @param out  in the arena */
adept_status adept_layout_report_new(adept_layout_report **out, adept_arena *arena, const adept_evaluation *e,
                                     adept_error *err);

/** "layouts": {...} of `evaluate --json`, and the whole of `calibrate --layouts`. */
void adept_layout_report_put(adept_json_writer *w, const adept_layout_report *r);

/** "repeats": how far rows of one configuration lie apart, in percent; null where nothing was repeated. */
void adept_repeats_put(adept_json_writer *w, const adept_repeats *repeats);

/** `evaluate --json` (CONTRACT). hw: the GPU the rows were predicted for; NULL: several. d: theirs. layouts: NULL: no
 * file is of layouts. malloc'ed; NULL when memory is out. */
char *adept_evaluation_to_json(const adept_evaluation *e, const adept_hwprofile *hw, const adept_dataset *d,
                               const adept_layout_report *layouts, const char *const *warnings, size_t n_warnings);

/* ------------------------------------------------------------------ factors ------------------------------------- */

/** Factors of stacks as `calibrate --layouts -o FILE` wrote them. */
typedef struct adept_stack_factors {
    size_t n;
    const char **names;
    double *factors, *spreads;
    double factor, spread; /* of others */
} adept_stack_factors;

/** @param out  in the arena @return ADEPT_E_INVALID naming the file */
adept_status adept_stack_factors_read(adept_stack_factors *out, adept_arena *arena, const char *path, adept_error *err);
/** Scale times and their intervals. */
void adept_stack_factors_apply(const adept_stack_factors *f, adept_scored *rows, size_t n);

#endif
