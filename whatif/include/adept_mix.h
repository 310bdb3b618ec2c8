/** @file adept_mix.h  Queries that arrive as they come and are answered together: continuous batching as a steady
 * state, simulated request by request on predictions of prompts and tokens. docs/INFERENCE.md. Calls: sweep, model.
 *
 *  Queries arrive by Poisson's law and wait in the order in which they came. A GPU reads one prompt at a time, whenever
 * a query waits and there is room for it, and then writes a token of every answer that is under way in each pass. Room
 * is `most` queries at a time and the memory of their caches at full length. */
#ifndef ADEPT_MIX_H
#define ADEPT_MIX_H
#include "adept_sweep.h"

typedef struct adept_mix_row {
    double prompt, tokens, share; /* shares are relative to their sum */
} adept_mix_row;

/** What passes take: of a prompt alone, and of tokens by how many answers are under way and by the mean length of their
 * caches. Between its points it is linear; outside it is continued. Power is of one GPU with what its scope counts. */
typedef struct adept_pass_table {
    size_t n_prompts, n_batches, n_lengths;
    double *prompts, *prompt_s, *prompt_j;         /* n_prompts */
    double *batches, *lengths, *token_s, *token_j; /* n_batches; n_lengths; n_batches * n_lengths, lengths fastest */
    double idle_w;
    double room_tokens; /* of all caches together; INFINITY: not bounded */
} adept_pass_table;

/** @param out  adept_pass_table_free() it whatever the result
 *  @param most  queries at a time
 *  @return as adept_predict(); ADEPT_E_USAGE where not even one query fits the memory */
ADEPT_API adept_status adept_pass_table_make(adept_pass_table *out, const adept_mix_row *rows, size_t n_rows,
                                             int64_t most, adept_sweep_profile_of profile_of, void *context,
                                             const adept_hwprofile *hw, const adept_run *run, adept_error *err);
ADEPT_API void adept_pass_table_free(adept_pass_table *table); /* zeroed is fine */

typedef struct adept_percentiles {
    double mean, p50, p90, p99;
} adept_percentiles;

typedef struct adept_traffic {
    double rate_per_s; /* that queries arrive at, on one GPU */
    int64_t most;      /* at a time */
    int64_t queries;   /* that are counted; a tenth as many go before them */
    uint64_t seed;
} adept_traffic;

typedef struct adept_mix_result {
    bool steady;                 /* the GPU keeps up: else queues grow without end, and what queries wait is NAN */
    adept_percentiles ttft_s;    /* from arrival to the first token */
    adept_percentiles tpot_s;    /* of a query's further tokens */
    adept_percentiles latency_s; /* from arrival to the last token */
    double queries_per_s, tokens_per_s; /* of one GPU, while it has queries */
    double busy;                        /* share of time that it works */
    double mean_batch;                  /* answers under way in a pass that writes tokens */
    double power_avg_w, energy_per_query_j, energy_per_token_j;
} adept_mix_result;

/** The same seed gives the same bits. @return ADEPT_E_NOMEM; ADEPT_E_USAGE where a query does not fit the room */
ADEPT_API adept_status adept_mix_simulate(adept_mix_result *out, const adept_mix_row *rows, size_t n_rows,
                                          const adept_pass_table *table, const adept_traffic *traffic,
                                          adept_error *err);

/** Mean lengths, for a prediction that stands for all. */
ADEPT_API adept_mix_row adept_mix_mean(const adept_mix_row *rows, size_t n_rows);

#endif
