/** @file adept_slurm.h  What the Slurm plugin reads and decides, without a line of Slurm. Calls: libadept's public
 * headers, adept_policy, base.
 *
 *      adept.conf --config.c--> places ---------------+
 *      --comment --comment.c--> wish ---profiles.c----+--decide.c--> decision --note.c--> texts
 *      --gres, --partition ... --gres.c--> fixed -----+
 *
 *  Comments and requests come from users and are hostile; the configuration is the administrator's. Nothing prints or
 * exits. */
#ifndef ADEPT_SLURM_H
#define ADEPT_SLURM_H
#include "adept_error.h"
#include "adept_policy.h"
#include <adept/adept.h>
#include <stdbool.h>
#include <sys/stat.h>

#define ADEPT_SLURM_NAME_MAX 64      /* a profile's, partition's or GRES type's name */
#define ADEPT_SLURM_GPUS_MAX 64      /* of one node: bits of a mask */
#define ADEPT_SLURM_LIMITS_MAX 16    /* power limits of one line */
#define ADEPT_SLURM_PLACES_MAX 64    /* lines PartitionName= */
#define ADEPT_SLURM_OPTIONS_MAX 4096 /* a submission predicts them all while slurmctld waits */
#define ADEPT_SLURM_COMMENT_MAX 1024
#define ADEPT_SLURM_CONFIG_BYTES_MAX 65536
#define ADEPT_SLURM_PROFILE_BYTES_MAX (8 << 20)
#define ADEPT_SLURM_TEXT_MAX 512 /* notes */

/* ---- words.c: what comments and configurations are made of ---- */

/** At most so many bytes of a file, malloc'ed; NULL when memory is out. */
char *adept_slurm_read(size_t *size, int fd, size_t most);
/** The same file, not written since? */
bool adept_slurm_is_same(const struct stat *a, const struct stat *b);

/** A unit and what one of it is in SI units; lists end with a name of NULL. */
typedef struct adept_slurm_unit {
    const char *name;
    double scale;
} adept_slurm_unit;

extern const adept_slurm_unit adept_slurm_seconds[], adept_slurm_watts[], adept_slurm_joules[];

/** A key, and how its value is read into a field of a record; lists end with a name of NULL. */
typedef struct adept_slurm_key {
    const char *name;
    adept_status (*read)(void *field, const struct adept_slurm_key *key, char *text, adept_error *err);
    size_t at;        /* of the field, behind the record's begin */
    const char *such; /* for its reader: an example for the message, or a word */
    const adept_slurm_unit *units;
} adept_slurm_key;

/** The next word of *rest, ended by a zero that overwrites the blank behind it; NULL if there is none. */
char *adept_slurm_word(char **rest);
/** Read a word KEY=VALUE into the field that its row names. @param compare  strcmp, strcasecmp
 *  @param row  set if the key is known; NULL allowed */
adept_status adept_slurm_key_read(const adept_slurm_key **row, const adept_slurm_key *keys,
                                  int (*compare)(const char *, const char *), void *record, char *word,
                                  adept_error *err);

/* Readers. */
/** double: a number above 0. */
adept_status adept_slurm_number(void *field, const adept_slurm_key *key, char *text, adept_error *err);
/** double: a number above 0 with one of the key's units, which is not optional. */
adept_status adept_slurm_quantity(void *field, const adept_slurm_key *key, char *text, adept_error *err);
/** uint64_t: "1,2,4-8": bit n - 1 for n. */
adept_status adept_slurm_gpus(void *field, const adept_slurm_key *key, char *text, adept_error *err);
/** An objective beside ADEPT_LEAST_...: the policy of that name chooses. */
#define ADEPT_SLURM_THRIFT (ADEPT_LEAST_ED2P + 1)
/** int32_t: "time", "energy", "edp", "ed2p": ADEPT_LEAST_..., or "thrift". */
adept_status adept_slurm_objective(void *field, const adept_slurm_key *key, char *text, adept_error *err);
const char *adept_slurm_objective_name(int32_t objective);

/* ---- comment.c: what the user asks for ---- */

typedef struct adept_slurm_wish {
    char profile[ADEPT_SLURM_NAME_MAX + 1];             /* letters, digits, "._+-", not starting with '.' */
    int64_t batch;                                      /* per GPU; 0: the profile's */
    int32_t objective;                                  /* as adept_slurm_objective() has it; -1: the configuration's */
    double samples, steps;                              /* of the job, one of them; 0 and 0: one step */
    double deadline_s, power_budget_w, energy_budget_j; /* 0: none */
    uint64_t gpus;                                      /* mask; 0: any number */
} adept_slurm_wish;

/** Whether the comment is for us: it starts with "adept:". NULL allowed. */
bool adept_slurm_is_wish(const char *comment);
/**
 * Read "adept:PROFILE [KEY=VALUE]...".
 * @param out  written on ADEPT_OK
 * @return ADEPT_E_USAGE with a message for the user
 */
adept_status adept_slurm_wish_read(adept_slurm_wish *out, const char *comment, adept_error *err);

/* ---- config.c: what the administrator offers ---- */

/** GPUs of one kind in one partition. */
typedef struct adept_slurm_place {
    char partition[ADEPT_SLURM_NAME_MAX + 1];
    char gres_type[ADEPT_SLURM_NAME_MAX + 1]; /* "": the partition's GPUs have no type */
    adept_gpu *gpu;                           /* owned */
    uint64_t gpus;                            /* mask of the numbers that a job may get on one node */
    double limits_w[ADEPT_SLURM_LIMITS_MAX];  /* of each GPU, beside none at all */
    size_t n_limits;
    double idle_w; /* of a GPU that does nothing; NAN: not known */
} adept_slurm_place;

typedef struct adept_slurm_config {
    char *profile_dir;
    bool pass_bad; /* OnError=pass: a job that cannot be placed is left to Slurm */
    bool tell;     /* Tell=yes: users see the decision when they submit */
    int32_t objective;
    double time_margin; /* 0: time limits are left alone */
    double time_extra_s;
    double waiting, running; /* jobs of the cluster: they say how scarce GPUs are, for thrift */
    adept_slurm_place places[ADEPT_SLURM_PLACES_MAX];
    size_t n_places;
} adept_slurm_config;

/**
 * Read a configuration; opens its GPUs.
 * @param out   set on ADEPT_OK; adept_slurm_config_free()
 * @param name  of the file, for messages, which also give the line
 */
adept_status adept_slurm_config_read(adept_slurm_config **out, const char *name, const char *text, size_t size,
                                     adept_error *err);
/** NULL allowed. */
void adept_slurm_config_free(adept_slurm_config *config);

/* ---- profiles.c: profiles and their oracles, kept ---- */

/** Profiles of the configuration's folder that were used last. Not for several threads at once. */
typedef struct adept_slurm_profiles adept_slurm_profiles;

/** Borrows `config`. NULL: out of memory. */
adept_slurm_profiles *adept_slurm_profiles_new(const adept_slurm_config *config);
/** NULL allowed. */
void adept_slurm_profiles_free(adept_slurm_profiles *profiles);

/** One profile at one batch size on every place. */
typedef struct adept_slurm_plan {
    int64_t batch;
    const adept_oracle *oracles[ADEPT_SLURM_PLACES_MAX]; /* NULL: cannot run there */
    adept_error why;                                     /* of the first that cannot; status ADEPT_OK if all can */
} adept_slurm_plan;

/**
 * Find a profile; read it only if it is new or its file has changed.
 * @param out    borrowed, until the next call
 * @param batch  0: the profile's
 * @return ADEPT_E_USAGE for a profile that is not there or a batch that it does not hold; ADEPT_E_INVALID for a bad
 * file or folder
 */
adept_status adept_slurm_profiles_get(const adept_slurm_plan **out, adept_slurm_profiles *profiles, const char *name,
                                      int64_t batch, adept_error *err);

/* ---- gres.c: what the user's options leave open ---- */

/** What the job's own options fix. */
typedef struct adept_slurm_fixed {
    const char *partitions;                   /* "a,b"; NULL: any */
    char gres_type[ADEPT_SLURM_NAME_MAX + 1]; /* "": any */
    int64_t gpus;                             /* 0: any number */
    double time_limit_s;                      /* 0: none */
} adept_slurm_fixed;

/**
 * Find the GPUs in a list as of --gres or --gpus, "gres:gpu:v100:2,gres:nic:1", and enter type and number.
 * @param list  NULL allowed
 * @return ADEPT_E_USAGE if there is more than one entry of GPUs, here or already in `fixed`, or an unreadable number
 */
adept_status adept_slurm_gres_read(adept_slurm_fixed *fixed, const char *list, adept_error *err);
/** Whether a list asks for GPUs; NULL allowed. */
bool adept_slurm_gres_has_gpus(const char *list);
/**
 * The list with its GPUs replaced by `gpus` of `type`; what else it has stays.
 * @param out  of `size` bytes; ADEPT_E_USAGE if they do not suffice
 */
adept_status adept_slurm_gres_write(char *out, size_t size, const char *list, const char *type, int64_t gpus,
                                    adept_error *err);

/* ---- thrift.c: one job before the policy of that name ---- */

/**
 * What thrift (docs/SIMULATE.md) starts a job as, on GPUs that are all idle.
 * @param out        an index of options
 * @param options    n of them, at least one; their types are indices of config->places
 * @param forecasts  what each makes of the job
 * @return ADEPT_E_USAGE: nobody knows what a GPU of theirs draws while it does nothing; ADEPT_E_NOMEM
 */
adept_status adept_slurm_thrift(size_t *out, const adept_slurm_config *config, const adept_job_option *options,
                                const adept_forecast *forecasts, size_t n, adept_error *err);

/* ---- decide.c ---- */

typedef struct adept_slurm_decision {
    const adept_slurm_place *place;
    int64_t gpus, batch;
    double limit_w; /* of each GPU; 0: none */
    int32_t objective;
    bool whole_job; /* the job's size is known: verdict is the job's, not one step's */
    adept_estimate estimate;
    adept_verdict verdict;
    size_t n_options, n_feasible;
} adept_slurm_decision;

/**
 * The best place, number of GPUs and power limit that the constraints and the job's own options allow.
 * @return ADEPT_E_INFEASIBLE with a message that names what binds; ADEPT_E_NOMEM
 */
adept_status adept_slurm_decide(adept_slurm_decision *out, const adept_slurm_config *config,
                                const adept_slurm_plan *plan, const adept_slurm_wish *wish,
                                const adept_slurm_fixed *fixed, adept_error *err);
/** Minutes for Slurm's time limit: the upper end of the interval with margin. 0: leave it alone. */
uint32_t adept_slurm_time_limit_min(const adept_slurm_config *config, const adept_slurm_decision *decision);

/* ---- note.c ---- */

/** "adept: partition=... gpus=2 ...": KEY=VALUE in SI units, for AdminComment and whoever reads it. */
void adept_slurm_note(char out[ADEPT_SLURM_TEXT_MAX], const adept_slurm_decision *decision, const char *profile);
/** One sentence for the user. */
void adept_slurm_tell(char out[ADEPT_SLURM_TEXT_MAX], const adept_slurm_decision *decision);
/** "2.6 h", "14.2 min", "0.35 s". */
void adept_slurm_time_text(char out[32], double time_s);

#endif
