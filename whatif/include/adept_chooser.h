/** @file adept_chooser.h  The best of options under constraints (thesis eq 5.1, algorithm 6), one option after the
 * other: libadept's adept_choose() and the inverse queries of `adept sweep`. Calls: model. */
#ifndef ADEPT_CHOOSER_H
#define ADEPT_CHOOSER_H
#include "adept_model.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* X(id, name on the command line, what it is called, its number in a verdict): of the whole job */
#define ADEPT_AIM_LIST(X)                                                                                              \
    X(TIME, "time", "least time", time_s)                                                                              \
    X(ENERGY, "energy", "least energy", energy_j)                                                                      \
    X(EDP, "edp", "least energy times time", edp_js)                                                                   \
    X(ED2P, "ed2p", "least energy times time squared", ed2p_js2)                                                       \
    X(COST, "cost", "least cost", cost)                                                                                \
    X(TOKEN, "energy_per_token", "least energy of a token", energy_per_token_j) /* of a generation, not of the job */
typedef enum adept_aim {
#define X(id, name, text, field) ADEPT_AIM_##id,
    ADEPT_AIM_LIST(X)
#undef X
        ADEPT_AIMS
} adept_aim;
ADEPT_API const char *adept_aim_name(size_t aim); /* NULL past the end */
ADEPT_API const char *adept_aim_text(size_t aim);

/* X(id, what it is called in messages, unit): why an option is not taken. Bit 1 << id. */
#define ADEPT_WITHIN_LIST(X)                                                                                           \
    X(POWER, "power budget", "W")                                                                                      \
    X(DEADLINE, "deadline", "s")                                                                                       \
    X(ENERGY, "energy budget", "J")                                                                                    \
    X(MEMORY, "device memory", "bytes")                                                                                \
    X(PREDICTABLE, "what can be predicted", "")                                                                        \
    X(COST, "cost budget", "")                                                                                         \
    X(TTFT, "time to the first token", "s")                                                                            \
    X(TPOT, "time of a token", "s")
typedef enum adept_within {
#define X(id, text, unit) ADEPT_WITHIN_##id,
    ADEPT_WITHIN_LIST(X)
#undef X
        ADEPT_WITHINS
} adept_within;
ADEPT_API const char *adept_within_text(size_t within); /* NULL past the end */
ADEPT_API const char *adept_within_unit(size_t within);

/* The job and what it may take; 0: not asked for. */
typedef struct adept_job {
    adept_aim aim;
    bool ignore_memory;
    double samples, steps; /* of one of them; neither: one step */
    double power_budget_w, deadline_s, energy_budget_j, cost_budget;
    double ttft_limit_s, tpot_limit_s; /* of a generation, not of the job */
} adept_job;

/* One option. */
typedef struct adept_option {
    adept_estimate estimate;       /* of a status that is not ADEPT_OK: it cannot run */
    double cost_per_s, cost_per_j; /* of all GPUs, and of their energy; 0 and 0: nothing costs; NAN: not known */
    double energy_per_token_j;     /* of a generation */
} adept_option;

/* An option, judged for the job. */
typedef struct adept_judgement {
    double steps, time_s, energy_j, edp_js, ed2p_js2, power_w, cost, energy_per_token_j;
    uint32_t violated; /* bits; 0: it is feasible */
} adept_judgement;

/* An option that is remembered. */
typedef struct adept_chosen {
    uint64_t id;
    adept_judgement judged;
    adept_option option;
} adept_chosen;

typedef struct adept_chooser {
    adept_job job;
    uint64_t n, n_feasible, n_violating[ADEPT_WITHINS];
    adept_chosen best; /* if any is feasible */
    bool has_nearest;
    adept_within binding; /* relaxed alone by the smallest factor, it would admit `nearest` */
    adept_chosen nearest;
    double factor; /* needed / allowed */
    bool has_without[ADEPT_WITHINS];
    adept_chosen without[ADEPT_WITHINS]; /* the best of those that violate this one alone */
} adept_chooser;

/** @return ADEPT_E_USAGE for a job that is none: a number that is negative or not finite, samples and steps together */
ADEPT_API adept_status adept_chooser_init(adept_chooser *c, const adept_job *job, adept_error *err);
/** Judge an option, and remember it if it is one to remember. Equals are ordered by time, then energy, then power, then
 * the order in which they come. @param out NULL, or the verdict */
ADEPT_API void adept_chooser_add(adept_chooser *c, uint64_t id, const adept_option *option, adept_judgement *out);
/** What a constraint allows an option, and what it needs of it; NAN where it cannot be relaxed. */
ADEPT_API void adept_chooser_needs(double *allowed, double *needed, const adept_chooser *c, const adept_chosen *chosen,
                                   adept_within within);
/** The constraint that keeps the best from being better: relaxed alone, it would admit the option that the aim likes
 * best of all such.
 *  @return false: nothing better is kept out by a single one */
ADEPT_API bool adept_chooser_held_back(adept_within *out, const adept_chooser *c);
/** "12 miss deadline, 3 miss ..." */
ADEPT_API char *adept_chooser_describe(char *text, size_t size, const adept_chooser *c);

#endif
