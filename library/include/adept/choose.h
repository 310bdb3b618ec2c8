/** @file adept/choose.h  The best of given options under constraints. Part of <adept/adept.h>. */
#ifndef ADEPT_PUBLIC_CHOOSE_H
#define ADEPT_PUBLIC_CHOOSE_H
#include <adept/predict.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What is to be least, of the whole job: time T, energy E = P T, or energy times time P T^2 (thesis eq 5.1), or
 * energy times time squared. */
enum { ADEPT_LEAST_TIME, ADEPT_LEAST_ENERGY, ADEPT_LEAST_EDP, ADEPT_LEAST_ED2P };

/* Why an option is not taken; X(name, bit, what it is called in messages). */
#define ADEPT_CONSTRAINT_LIST(X)            \
    X(POWER, 1, "power budget")             \
    X(DEADLINE, 2, "deadline")              \
    X(ENERGY, 4, "energy budget")           \
    X(MEMORY, 8, "device memory")           \
    X(PREDICTABLE, 16, "what can be predicted")
enum {
#define X(name, bit, text) ADEPT_CONSTRAINT_##name = bit,
    ADEPT_CONSTRAINT_LIST(X)
#undef X
    ADEPT_CONSTRAINT_NONE = 0
};

/** The job and what it may take. Zero is the default everywhere: one step, least time, nothing but the memory is
 * constrained. */
typedef struct adept_goal {
    int32_t objective;      /* ADEPT_LEAST_... */
    int32_t ignore_memory;  /* not 0: an option that does not fit the GPU's memory may be chosen */
    /* the job's size, in samples: options of different batch do it in different numbers of steps */
    double samples;
    double steps;           /* or in steps, whatever the option's batch; 0 and 0: one step */
    double power_budget_w;  /* mean power of all GPUs of the option together; 0: no budget */
    double deadline_s;      /* of the job; 0: none */
    double energy_budget_j; /* of the job; 0: none */
    double reserved[4];     /* 0 */
} adept_goal;

/** One option, judged. */
typedef struct adept_verdict {
    double steps;      /* of the job: samples / samples of a step, rounded up */
    double time_s;     /* steps * step_time_s */
    double energy_j;   /* steps * energy_step_j */
    double edp_js;     /* energy_j * time_s = P T^2 */
    double power_w;
    uint32_t violated; /* ADEPT_CONSTRAINT_... bits; 0: the option is feasible */
    uint32_t reserved;
} adept_verdict;

typedef struct adept_choice {
    size_t best;       /* index of the option; n if none is feasible */
    size_t n_feasible;
    uint32_t binding;  /* if none is: the constraint to relax, ADEPT_CONSTRAINT_...; 0 if no single one would do */
    uint32_t reserved;
    double needed;     /* what the binding constraint would have to allow: W, s, J, bytes; else NAN */
    size_t nearest;    /* the option that this would allow; n if there is none */
    adept_verdict verdict; /* of `best`, else of `nearest`; of neither: NAN */
} adept_choice;

/**
 * The option of least time, energy or energy-delay product among those that meet the constraints (thesis, algorithm 6).
 * Equals are ordered by time, then energy, then power, then index: the result depends on nothing else. An option whose
 * power is not known does not meet a budget of power or energy, nor is it compared by energy.
 *
 * Where none is feasible, the binding constraint is the one that, relaxed alone by the smallest factor, admits an
 * option.
 *
 * @param out        written on ADEPT_OK and ADEPT_E_INFEASIBLE
 * @param estimates  n of them, as adept_predict_many() wrote them; those that failed are no options
 * @param verdicts   NULL, or an array of n to fill
 * @return ADEPT_E_INFEASIBLE with a message that names the binding constraint; ADEPT_E_USAGE for a wrong goal
 * Thread-safe, deterministic. Allocates nothing.
 */
ADEPT_API adept_status adept_choose(adept_choice *out, adept_verdict *verdicts, const adept_estimate *estimates,
                                    size_t n, const adept_goal *goal, adept_error *err);

#ifdef __cplusplus
}
#endif
#endif
