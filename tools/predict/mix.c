/** @file mix.c  Queries as they arrive; see mix.h. */
#include "mix.h"
#include "adept_csv.h"
#include "adept_grow.h"
#include "table.h"
#include "units.h"
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#define MAX_BYTES ((size_t)64 << 20)
#define MOST_ROWS 1000000
#define MOST_SECONDS 1e11
#define MOST_TOKENS 1e9

/* ---- options ---- */

#define AT(member) offsetof(adept_mix_options, member)

static const adept_suffix rates[] = {{"", 1}, {"/s", 1}, {"/min", 1.0 / 60}, {"/h", 1.0 / 3600}, {NULL, 0}};

static const adept_option_row rows[] = {
    {"mix", "FILE.csv", 3,
     "In mode generate, lengths of queries, with columns prompt, tokens and share, or a trace of them, with arrival_s, "
     "prompt and tokens: simulate them as they arrive, as many as --batch at a time on a GPU",
     ADEPT_OPT_TEXT, .at = AT(path), .expert = true},
    {"rate", "N/s", 3, "How many of them arrive, at all GPUs together: 3/s, 40/min", ADEPT_OPT_AMOUNT,
     .at = AT(rate_per_s), .units = rates, .expert = true},
    {"requests", "N", 3, "How many are simulated (default: until the 99th percentile is known within 3 %)",
     ADEPT_OPT_COUNT, .at = AT(queries), .low = 100, .high = 1e7, .expert = true},
    {"seed", "N", 3, "Of their arrivals and lengths (default 1)", ADEPT_OPT_COUNT, .at = AT(seed), .low = 1,
     .expert = true},
    {0},
};

static adept_status check(adept_cli *cli, void *record)
{
    const adept_mix_options *o = record;
    const char *alone = o->rate_per_s > 0 ? "--rate" : o->queries > 0 ? "--requests" : o->seed > 0 ? "--seed" : NULL;
    return !o->path && alone ? adept_cli_usage(cli, "%s needs --mix", alone) : ADEPT_OK;
}

const adept_options adept_mix_options_of = {.rows = rows, .check = check};

/* ---- the file ---- */

static adept_status read_rows(adept_cli *cli, adept_mix_answer *out, const char *path)
{
    enum { PROMPT, TOKENS, SHARE, ARRIVAL, COLUMNS };
    static const char *const names[COLUMNS] = {"prompt", "tokens", "share", "arrival_s"};
    double last_s = -MOST_SECONDS;
    adept_csv_table t;
    size_t capacity = 0;
    adept_status status = adept_csv_table_open(&t, path, MAX_BYTES, names, COLUMNS, &cli->err);
    out->trace = status == ADEPT_OK && t.present[ARRIVAL];
    for (int i = 0; i < SHARE; i++)
        adept_csv_table_need(&t, i);
    adept_csv_table_need(&t, out->trace ? ARRIVAL : SHARE);
    while (status == ADEPT_OK && adept_csv_table_next(&t)) {
        adept_mix_row *grown = adept_grow(out->rows, &capacity, out->n_rows + 1, sizeof *grown);
        if (!grown) {
            status = adept_cli_no_memory(cli);
            break;
        }
        out->rows = grown;
        const double share = out->trace ? 1 : adept_csv_table_number(&t, SHARE, 1e-12, 1e12, false),
                     at_s = out->trace ? adept_csv_table_number(&t, ARRIVAL, -MOST_SECONDS, MOST_SECONDS, false) : 0;
        out->rows[out->n_rows++] =
            (adept_mix_row){adept_csv_table_number(&t, PROMPT, 1, MOST_TOKENS, true),
                            adept_csv_table_number(&t, TOKENS, 1, MOST_TOKENS, true), share, at_s};
        if (t.status == ADEPT_OK && out->trace && at_s < last_s)
            status = adept_csv_fail(&t.csv, "arrival_s %g is before the query above it: a trace is in order", at_s);
        last_s = at_s;
        if (t.status == ADEPT_OK && out->n_rows > MOST_ROWS)
            status = adept_csv_fail(&t.csv, "more than %d rows", MOST_ROWS);
    }
    if (status == ADEPT_OK) status = t.status;
    adept_csv_table_close(&t);
    if (status == ADEPT_OK && out->n_rows == 0) return adept_error_set(&cli->err, ADEPT_E_INVALID, "%s: no rows", path);
    return status;
}

adept_status adept_mix_begin(adept_cli *cli, adept_mix_answer *out, adept_workload_config *c,
                             const adept_mix_options *o, bool rate_varies)
{
    if (c->mode != ADEPT_MODE_GENERATE) return adept_cli_usage(cli, "--mix needs --mode generate");
    if (c->prompt > 0 || c->tokens > 0 || c->cached_tokens > 0)
        return adept_cli_usage(cli, "--mix says the lengths of prompts and answers: --prompt, --tokens and "
                                    "--cached-tokens do not act");
    if (c->batch_size < 1)
        return adept_cli_usage(cli, "--mix needs --batch, the most queries at a time on a GPU");
    adept_status status = read_rows(cli, out, o->path);
    if (status != ADEPT_OK) return status;
    if (!out->trace && !(o->rate_per_s > 0) && !rate_varies)
        return adept_cli_usage(cli, "--mix needs --rate: how many queries arrive");
    if (out->trace && (o->rate_per_s > 0 || rate_varies || o->queries > 0 || o->seed > 0))
        return adept_cli_usage(cli, "--rate, --requests and --seed do not act with a trace: its queries arrive as "
                                    "arrival_s says, all of them");
    const adept_mix_row mean = adept_mix_mean(out->rows, out->n_rows);
    c->prompt = (int64_t)mean.prompt;
    c->tokens = (int64_t)mean.tokens;
    return ADEPT_OK;
}

adept_mix adept_mix_asked(const adept_mix_answer *answer, const adept_mix_options *o)
{
    return (adept_mix){.rows = answer->rows,
                       .n_rows = answer->n_rows,
                       .trace = answer->trace,
                       .rate_per_s = o->rate_per_s,
                       .queries = o->queries,
                       .seed = o->seed};
}

adept_status adept_mix_answer_make(adept_cli *cli, adept_mix_answer *out, adept_predicted_step *s,
                                   const adept_mix_options *o)
{
    const adept_mix mix = adept_mix_asked(out, o);
    adept_pass_table passes = {.chunk = 0};
    adept_status status = adept_mix_predict(&out->of, &passes, &mix, s->profile, adept_sweep_source_profile, &s->source,
                                            s->hw, s->run, &cli->err);
    adept_pass_table_free(&passes);
    const size_t most = sizeof s->prediction.warnings / sizeof s->prediction.warnings[0];
    if (status == ADEPT_OK && !out->of.result.steady && s->prediction.n_warnings < most)
        snprintf(s->prediction.warnings[s->prediction.n_warnings++], sizeof s->prediction.warnings[0],
                 "mix: more queries arrive than are answered, so that the wait has no mean: %.4g/s at each %s, "
                 "of which %.4g are",
                 out->of.traffic.rate_per_s, out->of.shared ? "replica" : "GPU", out->of.result.queries_per_s);
    return status;
}

void adept_mix_answer_free(adept_mix_answer *answer)
{
    free(answer->rows);
    *answer = (adept_mix_answer){.n_rows = 0};
}

/* ---- the answer ---- */

static void print_row(adept_table *table, const char *name, const adept_percentiles *p)
{
    const adept_text cells[] = {adept_units_time(p->mean), adept_units_time(p->p50), adept_units_time(p->p90),
                                adept_units_time(p->p99)};
    adept_table_row(table, ADEPT_CELLS(name, cells[0].s, cells[1].s, cells[2].s, cells[3].s));
}

double adept_mix_cost(const adept_mix_answer *answer, const adept_predicted_step *s)
{
    const adept_mix_prediction *a = &answer->of;
    const adept_totals *t = &s->totals;
    const bool paid = isfinite(t->price_per_kwh), hired = isfinite(t->gpu_hour_price);
    if (t->steps == 0 || (!paid && !hired)) return NAN;
    const double gpus = s->run->gpus > 1 ? (double)s->run->gpus : 1;
    const double time_s = 1 / (a->replicas * a->result.queries_per_s);
    const bool has_host = s->run->power_scope == ADEPT_SCOPE_NODE || isnan(t->host_power_w);
    const double host_j = has_host ? 0.0 : t->host_power_w * t->nodes * time_s;
    const double site_kwh = (a->result.energy_per_query_j + host_j) * (isnan(t->pue) ? 1 : t->pue) / 3.6e6;
    return (paid ? site_kwh * t->price_per_kwh : 0) + (hired ? gpus * time_s / 3600 * t->gpu_hour_price : 0);
}

adept_status adept_mix_print(adept_cli *cli, FILE *out, const adept_mix_answer *answer, const adept_predicted_step *s)
{
    const adept_mix_prediction *a = &answer->of;
    const adept_mix_result *r = &a->result;
    adept_table table = {.columns = "of a query|>mean|>half below|>90 % below|>99 % below"};

    fprintf(out, "\nAs they arrive: %.4g queries/s", a->replicas * a->traffic.rate_per_s);
    if (a->replicas > 1) fprintf(out, ", %.4g at each %s", a->traffic.rate_per_s, a->shared ? "replica" : "GPU");
    fprintf(out, ", up to %" PRId64 " at a time", a->traffic.most * a->traffic.turns);
    if (a->traffic.turns > 1) fprintf(out, " in %" PRId64 " turns", a->traffic.turns);
    fprintf(out, " (%.0f %s)\n", r->queries, a->traffic.trace ? "of a trace" : "simulated");
    const bool shown = r->steady || a->traffic.trace;
    if (shown) print_row(&table, "first token after", &r->ttft_s);
    print_row(&table, "each token", &r->tpot_s);
    if (shown) print_row(&table, "answered after", &r->latency_s);
    adept_status status = adept_table_end(cli, &table, out);
    if (shown && isfinite(r->latency_s.p99_within))
        fprintf(out, "  these %.0f queries know the mean answer within %s, 99 %% within %s (19 times of 20)\n",
                r->queries, adept_units_percent(r->latency_s.mean_within).s,
                adept_units_percent(r->latency_s.p99_within).s);
    if (!r->steady)
        fprintf(out, "  MORE ARRIVE than are answered: queues grow without end. Answered are %.4g queries/s\n",
                a->replicas * r->queries_per_s);
    fprintf(out, "  %s tokens/s, %.3g answers at a time, %s of the time at work\n",
            adept_units_digits(a->replicas * r->tokens_per_s).s, r->mean_batch, adept_units_percent(r->busy).s);
    fprintf(out, "  %s on average, %s per query, %s per token\n", adept_units_si(a->replicas * r->power_avg_w, "W").s,
            adept_units_si(r->energy_per_query_j / 3600, "Wh").s, adept_units_si(r->energy_per_token_j, "J").s);
    const double cost = adept_mix_cost(answer, s);
    if (isfinite(cost))
        fprintf(out, "  cost %s%s%s for 1000 queries at this rate\n", adept_units_digits(1000 * cost).s,
                s->totals.currency ? " " : "", s->totals.currency ? s->totals.currency : "");
    return status;
}
