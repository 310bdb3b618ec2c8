/** @file adept_mix.h  Queries that arrive as they come and are answered together: continuous batching as a steady
 * state, simulated request by request on predictions of prompts and tokens. docs/INFERENCE.md. Calls: sweep, model.
 *
 *  Queries arrive by Poisson's law, or as a trace says, and wait in the order in which they came. A GPU reads one
 * prompt at a time, whenever a query waits and there is room for it, and then writes a token of every answer that is
 * under way in each pass. Room is `most` queries at a time and the memory of their caches at full length.
 *
 *  With chunks a pass has so many tokens at most: one of every answer, and of prompts that wait as many as are left. It
 * takes what a chunk of as many tokens does, and what the answers take to read their caches.
 *
 *  In a pipeline several batches take turns, one pass of each on its way through the stages, behind the passes before
 * it. A query that waits goes to the first batch that may begin a pass and has room. */
#ifndef ADEPT_MIX_H
#define ADEPT_MIX_H
#include "adept_layout.h"
#include "adept_sweep.h"

typedef struct adept_mix_row {
    double prompt, tokens, share; /* shares are relative to their sum */
    double arrival_s;             /* of a trace: its rows are queries, in order */
} adept_mix_row;

/** Times and energies of passes at points: between them they are linear, outside they are continued. */
typedef struct adept_pass_grid {
    size_t n_x, n_y;
    double *x, *y, *time_s, *energy_j; /* n_x; n_y; n_x * n_y, y fastest: of each stage, and of all */
} adept_pass_grid;

/** What passes of a replica take: of a GPU, or of those that share the model. */
typedef struct adept_pass_table {
    adept_pass_grid prompts; /* by length */
    adept_pass_grid tokens;  /* by how many answers are under way, and the mean length of their caches */
    adept_pass_grid chunks;  /* by tokens, and by those in the cache before them */
    double chunk;            /* tokens of a pass at most; 0: prompts are read whole */
    double idle_w;
    size_t n_stages;         /* 0: one */
    double wait_w;           /* while a pass is on its way, beside the energy of passes: of a pipeline */
    double room_tokens;      /* of all caches together; INFINITY: not bounded */
} adept_pass_table;

/** @param out  adept_pass_table_free() it whatever the result
 *  @param most  queries at a time
 *  @param chunk  0: none
 *  @param end_ns  as adept_mix's
 *  @param run  of its words, those of a layout say what a replica is; how many there are does not matter
 *  @return as adept_predict(); ADEPT_E_USAGE where not even one query fits the memory */
ADEPT_API adept_status adept_pass_table_make(adept_pass_table *out, const adept_mix_row *rows, size_t n_rows,
                                             int64_t most, int64_t chunk, adept_sweep_profile_of profile_of,
                                             void *context, const adept_hwprofile *hw, const adept_run *run,
                                             uint64_t end_ns, adept_error *err);
ADEPT_API void adept_pass_table_free(adept_pass_table *table); /* zeroed is fine */

typedef struct adept_percentiles {
    double mean, p50, p90, p99;
    /* relative, 19 times of 20: by means of parts of the queries; NAN of fewer than 2,000 */
    double mean_within, p99_within;
} adept_percentiles;

/** Where nobody says how many queries are simulated: twice as many, until the means and 99th percentiles are known so
 * well, or another time would be more than so many queries or starts and ends of passes. */
#define ADEPT_MIX_MEAN_WITHIN 0.01
#define ADEPT_MIX_WITHIN 0.03
#define ADEPT_MIX_LEAST 20000
#define ADEPT_MIX_QUERIES 2000000
#define ADEPT_MIX_EVENTS 60000000

typedef struct adept_traffic {
    double rate_per_s; /* that queries arrive at, on one replica */
    int64_t most;      /* at a time, in each of: */
    int64_t turns;     /* batches; 0: one */
    int64_t queries;   /* that are counted; a tenth as many go before them; 0: as many as ADEPT_MIX_WITHIN takes */
    uint64_t seed;
    bool trace;        /* rows are the queries, all of which are counted, and these replicas have them in turn */
    int64_t replicas;
    uint64_t end_ns; /* as adept_mix's */
} adept_traffic;

typedef struct adept_mix_result {
    bool steady;                 /* it keeps up: else queues grow without end, and what queries wait is NAN */
    adept_percentiles ttft_s;    /* from arrival to the first token */
    adept_percentiles tpot_s;    /* of a query's further tokens */
    adept_percentiles latency_s; /* from arrival to the last token */
    double queries;                     /* that these are of */
    double queries_per_s, tokens_per_s; /* of one replica, while it has queries */
    double busy;                        /* share of time that it works */
    double mean_batch;                  /* answers under way in a pass that writes tokens */
    double power_avg_w, energy_per_query_j, energy_per_token_j;
} adept_mix_result;

/** The same seed gives the same bits. @return ADEPT_E_NOMEM; ADEPT_E_USAGE where a query does not fit the room */
ADEPT_API adept_status adept_mix_simulate(adept_mix_result *out, const adept_mix_row *rows, size_t n_rows,
                                          const adept_pass_table *table, const adept_traffic *traffic,
                                          adept_error *err);

/** A mix as it is asked for: of all replicas of a run together. */
typedef struct adept_mix {
    const adept_mix_row *rows;
    size_t n_rows;
    bool trace;            /* rows are queries with their arrivals: their rate is their own */
    double rate_per_s;
    int64_t queries, seed; /* 0: as many as needed, and 1 */
    uint64_t end_ns;       /* of adept_clock_ns(): when it gives up; 0: never */
} adept_mix;
#define ADEPT_MIX_MOST 65536 /* queries at a time */

typedef struct adept_mix_prediction {
    double replicas; /* GPUs, or groups of them that share the model */
    bool shared;
    adept_traffic traffic;
    adept_mix_result result; /* of a replica */
} adept_mix_prediction;

/** @param table  zeroed: it is made; else of a call in which only the rate was another. adept_pass_table_free() it
 *  @param profile  its batch is the most at a time on a replica, and its prefill_chunk what passes have
 *  @return as adept_pass_table_make() and adept_mix_simulate(); ADEPT_E_USAGE past its end */
ADEPT_API adept_status adept_mix_predict(adept_mix_prediction *out, adept_pass_table *table, const adept_mix *mix,
                                         const adept_profile *profile, adept_sweep_profile_of profile_of, void *context,
                                         const adept_hwprofile *hw, const adept_run *run, adept_error *err);
/** The result of all replicas as that of a step: a step is a query, its time is what 99 of 100 are answered within, and
 * so are ttft_s and tpot_s. Memory is what there is, for no more are let in. */
ADEPT_API void adept_mix_estimate(adept_estimate *out, const adept_mix_prediction *p);
/** "mix": {...} of all replicas */
struct adept_json_writer;
ADEPT_API void adept_mix_put_json(struct adept_json_writer *w, const adept_mix_prediction *p);

/** Mean lengths, for a prediction that stands for all. */
ADEPT_API adept_mix_row adept_mix_mean(const adept_mix_row *rows, size_t n_rows);

#endif
