/** @file adept_layout_plan.h  Which layout a training step or a generation should have: a model's graph walked at
 * several micro-batches, all layouts searched, the best predicted each on its own. docs/PARALLEL.md. Calls: model,
 * workload, handlers. */
#ifndef ADEPT_LAYOUT_PLAN_H
#define ADEPT_LAYOUT_PLAN_H
#include "adept_graph.h"
#include "adept_layout.h"
#include "adept_profile.h"
#include "adept_totals.h"

#define ADEPT_PLAN_BATCHES 11         /* of 1, 2, 4, ... queries */
#define ADEPT_PLAN_VARIANTS 64        /* precisions x weights x caches of a generation, at most */
#define ADEPT_PLAN_TRAINING_BATCHES 6 /* micro-batches likewise */
#define ADEPT_MOST_SHARDS 100000

/** What is asked. Texts and all else are borrowed. */
typedef struct adept_layout_question {
    const char *model;
    const adept_graph *graph;
    const adept_workload_config *config; /* of the graph's walks; its batch_size counts where `batch_size` is 0 */
    int64_t batch_size;                  /* of a pass, where it is said; 0: several are tried */
    const adept_hwprofile *hw;
    adept_run run;
    adept_layout_goal minimise;
    adept_layout_rates rates; /* zeroed: nothing is known of prices */
    unsigned precisions, weights, caches; /* of a generation, by bits: each layout is tried in all; 0: as config says */
    double within;            /* INFINITY: any */
    double ttft_limit_s, tpot_limit_s; /* of a generation; 0: any */
    int64_t top, n_limits;
    adept_shard shard;
    uint64_t end_ns;
} adept_layout_question;

/** Of a job's prices; a cost without any is in GPU hours. */
adept_layout_rates adept_layout_rates_of(const adept_job_spec *job, adept_layout_goal goal);

/** One that was predicted. */
typedef struct adept_planned_layout {
    adept_layout_prediction layout;
    size_t profile;       /* of the search's */
    int64_t number;       /* of the search's */
    double power_limit_w; /* that was chosen; 0: none was */
    double cost, value;   /* of a step; NAN: without rates */
} adept_planned_layout;

/** A generation's types: what was asked, or tried. */
typedef struct adept_plan_variant {
    adept_precision precision;
    adept_stored weights, kv_cache;
    char left_out[256]; /* why it is; "": it is not */
} adept_plan_variant;

typedef struct adept_layout_answer {
    adept_layout_search search;
    const adept_profile *profiles[ADEPT_PLAN_BATCHES * ADEPT_PLAN_VARIANTS]; /* search.profiles */
    adept_profile *made[ADEPT_PLAN_BATCHES * ADEPT_PLAN_VARIANTS];           /* the same, owned */
    const adept_plan_variant *variant_of[ADEPT_PLAN_BATCHES * ADEPT_PLAN_VARIANTS]; /* of each profile */
    adept_plan_variant variants[ADEPT_PLAN_VARIANTS];
    size_t n_variants; /* 1: none was asked for */
    adept_planned_layout *best; /* by the goal */
    size_t n_best;
    bool is_near;                     /* the first one fits only if little is lost to fragmentation */
    const adept_planned_layout *safe; /* then the best that fits whatever is lost; NULL: there is none */
} adept_layout_answer;

/**
 * @param out       adept_layout_answer_free() it whatever the result
 * @param parts     what searches of all shards printed as JSON, in place of a search here
 * @param names     of them, for messages
 * @return ADEPT_E_USAGE where words disagree or `end_ns` has passed, ADEPT_E_INVALID where a part is none of this
 * question
 */
adept_status adept_layout_plan(adept_layout_answer *out, const adept_layout_question *q, const char *const *parts,
                               const char *const *names, size_t n_parts, adept_error *err);
void adept_layout_answer_free(adept_layout_answer *answer); /* zeroed is fine */

/** What takes longest beside computing; "": nothing that is worth a word. */
const char *adept_layout_waits_for(const adept_layout_prediction *layout);
/** "none", "zero 1", "full", "hybrid:8" */
const char *adept_layout_shards_text(char text[48], const adept_mesh *m);

/** The whole document of CONTRACT; of a shard, what the shards together are read from. malloc'ed; NULL: no memory */
char *adept_layout_answer_json(const adept_layout_answer *answer, const adept_layout_question *q);

typedef enum adept_trainer_flags {
    ADEPT_FLAGS_MEGATRON,
    ADEPT_FLAGS_TORCHTITAN,
    ADEPT_FLAGS_ACCELERATE,
    ADEPT_FLAGS_VLLM /* of a generation; the others are of training */
} adept_trainer_flags;
/** The layout as the flags of a trainer. @param possible  false: the text says what the trainer has not. malloc'ed;
 * NULL: no memory */
char *adept_layout_flags(adept_trainer_flags of, const adept_layout_prediction *layout, bool *possible);
/** "megatron", "torchtitan", "accelerate", "vllm"; NULL past the end. */
const char *adept_trainer_flags_name(size_t of);

#endif
