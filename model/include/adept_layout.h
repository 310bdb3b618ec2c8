/** @file adept_layout.h  Time, power, energy and memory of a step that is shared out over GPUs by a layout. Calls:
 * model.
 *
 *  Every stage of a pipeline is a workload of its own: the rank's kernels (adept_partition.h), predicted as any
 * other's, at the clock that the power limit leaves it. Around it stand what is sent (communication.h), the schedule's
 * bubble, recomputation, and what a GPU draws while it waits. docs/PARALLEL.md has the laws. */
#ifndef ADEPT_LAYOUT_PREDICTION_H
#define ADEPT_LAYOUT_PREDICTION_H
#include "adept_model.h"
#include "adept_partition.h"
#include "adept_shard.h"

#define ADEPT_MOST_STAGES 128

/* One GPU of a stage; times of one micro-batch but where a step is named. */
typedef struct adept_stage_prediction {
    double blocks;      /* of the model */
    double params;      /* that train, on one GPU */
    double forward_s, backward_s, again_s; /* kernels and launches; what is computed again */
    double tensor_s, context_s, expert_s;  /* what is sent meanwhile and waited for */
    double data_s;      /* of FSDP: what its gathers and reductions make the micro-batch longer */
    double micro_s;     /* all of it */
    double prompt_s;    /* of it, reading a prompt: of a generation */
    double optimizer_s, offload_s; /* of a step; copies to and from the host that are waited for, of all its passes */
    double in_flight;   /* micro-batches whose activations are kept */
    double busy_s, wait_s; /* of a step: kernels; the rest of it */
    double power_w, clock_ratio;
    adept_memory memory;
    size_t n_kept;      /* of a generation: what the GPU's part of all queries' caches takes */
    adept_kept_tokens kept[ADEPT_KEPT_WINDOWS];
    double host_bytes;                                   /* of its states, in the host's memory */
    double states_bytes, unsharded_bytes, buffers_bytes; /* of memory: weights, gradients and optimizer; inside other */
    double allocated_bytes; /* as PyTorch's allocator counts: without the context, communicators and fragments */
} adept_stage_prediction;

/* Clocks by stage at which those that wait for the slowest take as long as it does, and the step with them. */
typedef struct adept_layout_slack {
    adept_stage_list clocks_mhz; /* n 0: there is nothing to save */
    double step_time_s, energy_step_j;
} adept_layout_slack;

/* What a step takes, on its slowest stage. X(member, in tables, in sentences, in the rows of a plan: what it takes
 * longest for beside computing; NULL: nothing that can be waited for) */
#define ADEPT_LAYOUT_PARTS(X)                                                                                          \
    X(compute_s, "forward and backward", "computing", NULL)                                                            \
    X(again_s, "computed again", "what is computed again", "recomputation")                                            \
    X(tensor_s, "tensor parallel", "tensor parallel sends", "tensor parallel")                                         \
    X(context_s, "context parallel", "context parallel sends", "context parallel")                                     \
    X(expert_s, "expert parallel", "experts' sends", "experts")                                                        \
    X(data_s, "replicas, shards", "gradients and shards that are sent", "replicas")                                    \
    X(send_s, "sends of the pipeline", "sends of the pipeline", "pipeline's sends")                                    \
    X(bubble_s, "bubble", "the pipeline's bubble", "bubble")                                                           \
    X(optimizer_s, "optimizer", "the optimizer", "optimizer")                                                          \
    X(rest_s, "launches and the rest", "launches and the rest", NULL)                                                  \
    X(offload_s, "copies to and from hosts", "copies to and from hosts", "copies of states")

typedef struct adept_layout_prediction {
    adept_prediction prediction; /* of all GPUs; memory of the worst rank */
    adept_mesh mesh;
    adept_run run;               /* with GPUs, nodes and network, without words of a layout */
    const char *node;            /* the server that was taken, NULL: none was needed, or it was said in numbers */
    double node_gpus, nodes, server_gpus; /* of a node: that are used, that there are */
    double adapter_bytes_per_s;  /* of the network, for each GPU */
    size_t n_stages, worst, slowest; /* of memory; of time */
    adept_stage_prediction stages[ADEPT_MOST_STAGES];
    /* of a step, on the slowest stage: they sum to step_time_s */
    double compute_s, again_s, tensor_s, context_s, expert_s, data_s, send_s, bubble_s, optimizer_s, offload_s, rest_s;
    double data_hidden_s;        /* sent beside computing */
    double wait_w;               /* of one GPU that waits */
    double boards_power_w;       /* of all */
    double fragmentation_bytes;  /* by which the peak may be higher */
    size_t n_split, n_whole;     /* products of a pass: split by tensor parallel GPUs, whole on each */
    adept_layout_slack slack;    /* where adept_layout_find_slack() was asked */
} adept_layout_prediction;

/**
 * @param run  says a layout or not: a plain one is predicted as adept_predict() does
 * @return as adept_predict(); ADEPT_E_USAGE where words disagree or a model cannot be split as asked
 */
ADEPT_API adept_status adept_predict_layout(adept_layout_prediction *out, const adept_profile *prof,
                                            const adept_hwprofile *hw, const adept_run *run, adept_error *err);

/**
 * What a pipeline's stages that wait could save at lower clocks (Perseus, arXiv 2312.06902; EnvPipe): some eight
 * predictions more. Nothing, where clocks are said or the pipeline has more than ADEPT_MOST_LISTED_STAGES stages.
 * @param layout  of the same run; its slack is filled in  @return as adept_predict_layout()
 */
ADEPT_API adept_status adept_layout_find_slack(adept_layout_prediction *layout, const adept_profile *prof,
                                               const adept_hwprofile *hw, const adept_run *run, adept_error *err);

/**
 * The same by operator: times of the GPU that has it, of a step, with what is computed again; joules of all GPUs. Their
 * clock is that of the whole model on one stage, and nothing that is sent is in them.
 * @param out array of prof->n_ops entries
 */
ADEPT_API adept_status adept_predict_layout_ops(adept_op_prediction *out, const adept_profile *prof,
                                                const adept_hwprofile *hw, const adept_run *run, adept_error *err);

/** The server that boards of that name stand in, if nobody says; NULL: none is usual. */
const char *adept_layout_usual_node(const adept_hwprofile *hw);
/** Does it fit only if little is lost to fragmentation? Its step fits, and its peak may be higher than the memory. */
bool adept_layout_is_near(const adept_layout_prediction *layout);

/* ---- many layouts ---- */

/* Of a step; of a generation, of one of all its tokens: ADEPT_LAYOUT_TOKEN is the same as ADEPT_LAYOUT_ENERGY there. */
typedef enum adept_layout_goal {
    ADEPT_LAYOUT_TIME,
    ADEPT_LAYOUT_ENERGY,
    ADEPT_LAYOUT_COST,
    ADEPT_LAYOUT_TOKEN
} adept_layout_goal;
ADEPT_API const char *adept_layout_goal_name(size_t goal); /* "time", "energy", ...; NULL past the end */

/* Rows as in adept_fields.h: what a search is asked beside the words of a run, where it is asked for by names. */
#define ADEPT_PLAN_FIELDS(X)                                                                                           \
    X(minimise, WORD, int, adept_layout_goal_name, "time", ADEPT_NO_UNIT, "minimise", "WHAT",                          \
      "What is looked for: time (default), energy or cost; of a generation, all of a token", ADEPT_USUAL)             \
    X(within_percent, AMOUNT, double, NULL, "", ADEPT_NO_UNIT, "within", "PERCENT",                                    \
      "Only layouts whose step is at most so much longer than the shortest one", ADEPT_USUAL)                          \
    X(within_ttft_s, AMOUNT, double, NULL, "", ADEPT_SECONDS, "within-ttft", "TIME",                                   \
      "Of a generation: time to the first token at most", ADEPT_USUAL)                                                 \
    X(within_tpot_s, AMOUNT, double, NULL, "", ADEPT_SECONDS, "within-tpot", "TIME",                                   \
      "Of a generation: mean time of each further token at most", ADEPT_USUAL)                                         \
    X(top, COUNT, int64_t, NULL, "10", ADEPT_NO_UNIT, "top", "N", "How many layouts are predicted (default 10)",       \
      ADEPT_USUAL)                                                                                                     \
    X(try_precision, SET, unsigned, adept_precision_name, "", ADEPT_NO_UNIT, "try-precision", "LIST",                  \
      "Of a generation: precisions that each layout is tried in, joined by commas: pure-bf16,fp8", ADEPT_USUAL)        \
    X(try_weights, SET, unsigned, adept_weights_name, "", ADEPT_NO_UNIT, "try-weights", "LIST",                        \
      "Of a generation: types of weights likewise: bf16,fp8,int4", ADEPT_USUAL)                                        \
    X(try_kv_cache, SET, unsigned, adept_kv_cache_name, "", ADEPT_NO_UNIT, "try-kv-cache", "LIST",                     \
      "Of a generation: types of the cache likewise: bf16,fp8", ADEPT_USUAL)                                           \
    X(limits, COUNT, int64_t, NULL, "1", ADEPT_NO_UNIT, "limits", "N",                                                 \
      "Power limits that each layout is tried at, from the board's own to its least (default 1)", ADEPT_USUAL)         \
    X(gpu_hour_price, AMOUNT, double, NULL, "", ADEPT_NO_UNIT, "gpu-hour-price", "P", "Price of an hour of one GPU",   \
      ADEPT_USUAL)                                                                                                     \
    X(price_per_kwh, AMOUNT, double, NULL, "", ADEPT_NO_UNIT, "price", "P", "Price of a kWh", ADEPT_USUAL)             \
    X(pue, AMOUNT, double, NULL, "", ADEPT_NO_UNIT, "pue", "X", "Power usage effectiveness of the site", ADEPT_USUAL)  \
    X(host_power_w, AMOUNT, double, NULL, "", ADEPT_WATTS, "host-power", "W", "Watts of one node beside its GPUs",     \
      ADEPT_USUAL)
typedef struct adept_plan_words {
    ADEPT_PLAN_FIELDS(ADEPT_FIELD_MEMBER)
} adept_plan_words;
ADEPT_API const adept_field *adept_plan_field(size_t index); /* NULL past the end */

/** What is paid for a second of a GPU, for one of a node beside its GPUs, and for a joule of the boards; zeroed:
 * nothing. GPUs of several nodes are paid by whole nodes. */
typedef struct adept_layout_rates {
    double gpu_second, node_second, joule;
} adept_layout_rates;

/** Of a step that takes so long at so many joules; 0 without rates. */
double adept_layout_cost(const adept_layout_rates *rates, const adept_layout_prediction *layout, double step_time_s,
                         double energy_step_j);
/** What is to be least. */
double adept_layout_value(const adept_layout_prediction *layout, adept_layout_goal goal,
                          const adept_layout_rates *rates);

/* One that was found: which of the profiles, and the run with the words of its layout. */
typedef struct adept_found_layout {
    size_t profile;
    adept_run run;
    double step_time_s, energy_step_j; /* of a generation: of each further token of a query, and of one of all tokens */
    double peak_bytes;
    double value;   /* by the goal: what is least is best */
    int64_t number; /* of all layouts, in the order in which they are tried: of equals the first is kept */
} adept_found_layout;

#define ADEPT_MOST_FOUND 64
#define ADEPT_MOST_LIMITS 32

typedef struct adept_layout_search {
    /* asked */
    const adept_profile *const *profiles; /* the model, by micro-batch */
    size_t n_profiles;
    const adept_hwprofile *hw;
    adept_run run;                 /* GPUs, global batch, trainer, network, limit: what all layouts share */
    adept_layout_goal goal;
    adept_layout_rates rates;      /* of ADEPT_LAYOUT_COST */
    double within;                 /* of the shortest time, at most so much longer: 0.1; INFINITY: any */
    double ttft_limit_s, tpot_limit_s; /* of a generation; 0: any */
    bool recomputes;               /* may it compute again? */
    int64_t n_limits;              /* power limits that each layout is tried at, from the board's least to its own;
                                      up to 1: the run's */
    adept_shard shard;             /* only this part of the layouts */
    uint64_t end_ns;               /* of adept_clock_ns(): it gives up then; 0: never */
    /* found */
    size_t n_best, n_safe, n_front; /* by the goal: that fit, that fit whatever is lost to fragmentation; none of them
                                       better in time and joules */
    adept_found_layout best[ADEPT_MOST_FOUND], safe[ADEPT_MOST_FOUND], front[ADEPT_MOST_FOUND];
    double searched, illegal, too_large, too_slow;
    adept_found_layout unbounded;  /* of a generation, the best of those that fit; its value 0: there is none */
} adept_layout_search;

/**
 * All legal layouts of a model on so many GPUs, each by closed forms of blocks that are worked out once for each way to
 * split them: a few microseconds a layout. Their clock is that of the whole model on one stage. Predict the best ones
 * again to know them exactly.
 * @return ADEPT_E_USAGE where nothing can be asked so, and past `end_ns`; that none fits is no error
 */
ADEPT_API adept_status adept_layouts_search(adept_layout_search *search, adept_error *err);
typedef enum adept_layout_list { ADEPT_LAYOUTS_BEST, ADEPT_LAYOUTS_SAFE, ADEPT_LAYOUTS_FRONT } adept_layout_list;
/** Keep one of another search among those of this one, as if it had been tried here. */
void adept_layouts_keep(adept_layout_search *search, const adept_found_layout *found, adept_layout_list list);

/** "layout": {...} of CONTRACT, behind other members. */
struct adept_json_writer;
void adept_layout_put_json(struct adept_json_writer *w, const adept_layout_prediction *layout);

#endif
