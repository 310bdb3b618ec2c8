/** @file adept_elasticity.h  What limits a step: percent of time, power, energy and energy-delay product for each
 * percent of a number of the hardware, the run or the fit, and beside it what ten percent more would do. Calls: model.
 */
#ifndef ADEPT_ELASTICITY_H
#define ADEPT_ELASTICITY_H
#include "adept_operator_model.h"
#include "adept_plan.h"

/* X(field of adept_run, meaning): numbers of the run that are levers. */
#define ADEPT_RUN_NUMBER_LIST(X)                                        \
    X(power_limit_w, "power limit that is set, per GPU")                \
    X(clock_hz, "core clock it is locked to")                           \
    X(internode_bytes_per_s, "bandwidth between nodes, of one of them") \
    X(internode_latency_s, "latency of one hop between nodes")
typedef enum adept_run_number {
#define X(name, text) ADEPT_RUN_##name,
    ADEPT_RUN_NUMBER_LIST(X)
#undef X
    ADEPT_RUN_NUMBERS
} adept_run_number;

/* Of one step: relative. `edp` is energy times time. Power, energy and edp are NAN where power is unknown. */
typedef struct adept_relative_change {
    double time, power, energy, edp;
} adept_relative_change;

typedef enum adept_lever_kind {
    ADEPT_LEVER_DESIGN,   /* several numbers that a chip's designer turns together */
    ADEPT_LEVER_SPEC,     /* one number of the sheet */
    ADEPT_LEVER_RUN,      /* one number of the run */
    ADEPT_LEVER_PARAMETER /* one parameter of the GPU */
} adept_lever_kind;
ADEPT_API const char *adept_lever_kind_name(size_t kind); /* "design", "spec", "run", "parameter"; NULL past the end */

typedef struct adept_elasticity {
    adept_lever_kind kind;
    const char *key;     /* "mem_bytes_per_s", "power_limit_w", "t_host_s", "core_clock" */
    const char *meaning; /* one line */
    double value;        /* NAN of several numbers */
    bool whole;          /* comes in whole numbers: time moves in steps that a derivative does not see */
    adept_relative_change exact; /* percent for one percent, of a change too small to reach a kink */
    adept_relative_change more;  /* change by ADEPT_ELASTICITY_STEP more, of a real prediction; NAN where that is
                                    impossible: a power  limit above the board's, a clock above the highest, 1.1 SMs */
} adept_elasticity;
#define ADEPT_ELASTICITY_STEP 0.1

/* What a step waits for: the shares of its time, exactly, as derivatives have it: how many percent of the time one
 * percent of each is worth. They sum to 1 (docs/MODEL.md says why). Under a power limit one may be negative: what
 * takes less time draws more power, and the clock falls for all. */
#define ADEPT_WAIT_LIST(X)                                                                             \
    X(arithmetic, "arithmetic at the peaks")                                                           \
    X(waves, "starting and ending waves of tiles, and rows of normalisations")                         \
    X(memory, "memory bandwidth")                                                                      \
    X(network, "the network between GPUs")                                                             \
    X(host, "the host: launches, the optimizer's tensors, samples, the constant time of a step")        \
    X(gaps, "gaps between kernels on the GPU, and the joining of split products")                              \
    X(power, "the power limit: what a limit higher by a percent, with all other powers, would be worth")
typedef enum adept_wait {
#define X(name, text) ADEPT_WAIT_##name,
    ADEPT_WAIT_LIST(X)
#undef X
        ADEPT_WAITS
} adept_wait;
ADEPT_API const char *adept_wait_name(size_t wait); /* "arithmetic"; NULL past the end */

/* 4: those of several numbers. */
#define ADEPT_MAX_ELASTICITIES (4 + ADEPT_SPECS + ADEPT_RUN_NUMBERS + ADEPT_MOST_PARAMETERS)

typedef struct adept_elasticities {
    double time_s, power_w; /* of the step, as adept_predict() has them */
    double wait[ADEPT_WAITS];
    size_t n;
    /* largest effect on time first, then on energy; those that change something */
    adept_elasticity rows[ADEPT_MAX_ELASTICITIES];
} adept_elasticities;

/**
 * @param out  written only on ADEPT_OK
 * @return as adept_predict(); ADEPT_E_NOMEM. Thread-safe, deterministic. Takes about 250 times what a prediction does.
 */
ADEPT_API adept_status adept_elasticities_of(adept_elasticities *out, const adept_profile *prof,
                                             const adept_hwprofile *hw, const adept_run *run, adept_error *err);

/** The row of that kind and key; NULL if it changes nothing. */
ADEPT_API const adept_elasticity *adept_elasticity_find(const adept_elasticities *e, adept_lever_kind kind,
                                                        const char *key);

#endif
