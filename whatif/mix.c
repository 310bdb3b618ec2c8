/** @file mix.c  Continuous batching, request by request; see adept_mix.h. */
#include "adept_mix.h"
#include "adept_random.h"
#include "adept_statistics.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Points of a table: passes cost in proportion between them, but for prompts, whose attention grows with their square.
 */
#define PROMPTS 24
#define LENGTHS 4
#define WARM_UP 10 /* a share of the queries goes before those that are counted */

/* ---- the table ---- */

/* Where x lies: between points *at and *at + 1, so far. One point holds everywhere. */
static double place(size_t *at, const double *points, size_t n, double x)
{
    *at = 0;
    if (n < 2) return 0.0;
    while (*at + 2 < n && x > points[*at + 1])
        ++*at;
    return (x - points[*at]) / (points[*at + 1] - points[*at]);
}

static double between(double share, double low, double high)
{
    return low + share * (high - low);
}

static double of_prompt(const adept_pass_table *t, const double *values, double prompt)
{
    size_t at;
    const double share = place(&at, t->prompts, t->n_prompts, prompt);
    return t->n_prompts < 2 ? values[0] : between(share, values[at], values[at + 1]);
}

static double of_length(const adept_pass_table *t, const double *values, size_t at, double share)
{
    return t->n_lengths < 2 ? values[0] : between(share, values[at], values[at + 1]);
}

static double of_tokens(const adept_pass_table *t, const double *values, double batch, double length)
{
    size_t b, l;
    const double by_batch = place(&b, t->batches, t->n_batches, batch),
                 by_length = place(&l, t->lengths, t->n_lengths, length);
    const double low = of_length(t, values + b * t->n_lengths, l, by_length);
    return t->n_batches < 2 ? low : between(by_batch, low, of_length(t, values + (b + 1) * t->n_lengths, l, by_length));
}

void adept_pass_table_free(adept_pass_table *t)
{
    free(t->prompts);
    *t = (adept_pass_table){.prompts = NULL};
}

static bool allocate(adept_pass_table *t)
{
    const size_t n_tokens = t->n_batches * t->n_lengths;
    double *at = calloc(3 * t->n_prompts + t->n_batches + t->n_lengths + 2 * n_tokens, sizeof *at);
    if (!at) return false;
    t->prompts = at, at += t->n_prompts;
    t->prompt_s = at, at += t->n_prompts;
    t->prompt_j = at, at += t->n_prompts;
    t->batches = at, at += t->n_batches;
    t->lengths = at, at += t->n_lengths;
    t->token_s = at, at += n_tokens;
    t->token_j = at;
    return true;
}

/* A prompt of that length for so many queries, and one token more. Of one GPU. */
static adept_status predict(adept_prediction *out, double batch, double prompt, adept_sweep_profile_of profile_of,
                            void *context, const adept_hwprofile *hw, const adept_run *run, adept_error *err)
{
    const adept_profile *profile;
    const adept_workload_config given = {.batch_size = (int64_t)batch, .prompt = (int64_t)prompt, .tokens = 1};
    adept_run one = *run;
    one.gpus = 0;
    adept_status status = profile_of(&profile, &given, context, err);
    return status == ADEPT_OK ? adept_predict(out, profile, hw, &one, err) : status;
}

/* Whole numbers from low to high, evenly or by equal factors; fewer where they would repeat. */
static size_t spread(double *out, size_t n, double low, double high, bool by_factors)
{
    size_t made = 0;
    for (size_t i = 0; i < n; i++) {
        const double share = n > 1 ? (double)i / (double)(n - 1) : 0.0;
        const double x = nearbyint(by_factors ? low * pow(high / low, share) : between(share, low, high));
        if (made == 0 || x > out[made - 1]) out[made++] = x;
    }
    return made;
}

adept_mix_row adept_mix_mean(const adept_mix_row *rows, size_t n_rows)
{
    adept_mix_row mean = {0, 0, 0};
    for (size_t i = 0; i < n_rows; i++) {
        mean.prompt += rows[i].share * rows[i].prompt;
        mean.tokens += rows[i].share * rows[i].tokens;
        mean.share += rows[i].share;
    }
    return (adept_mix_row){fmax(1, nearbyint(mean.prompt / mean.share)), fmax(1, nearbyint(mean.tokens / mean.share)),
                           1};
}

adept_status adept_pass_table_make(adept_pass_table *out, const adept_mix_row *rows, size_t n_rows, int64_t most,
                                   adept_sweep_profile_of profile_of, void *context, const adept_hwprofile *hw,
                                   const adept_run *run, adept_error *err)
{
    double shortest = INFINITY, longest = 0, longest_prompt = 0, points[PROMPTS];
    adept_prediction p;
    adept_status status = ADEPT_OK;
    for (size_t i = 0; i < n_rows; i++) {
        shortest = fmin(shortest, rows[i].prompt);
        longest_prompt = fmax(longest_prompt, rows[i].prompt);
        longest = fmax(longest, rows[i].prompt + rows[i].tokens - 1);
    }
    *out = (adept_pass_table){.n_batches = 1, .n_lengths = spread(points, LENGTHS, shortest, longest, false)};
    for (int64_t batch = 1; batch < most; batch *= 2)
        out->n_batches++;
    out->n_prompts = spread(points, PROMPTS, shortest, longest_prompt, true);
    if (!allocate(out)) return adept_error_set(err, ADEPT_E_NOMEM, "out of memory");
    memcpy(out->prompts, points, out->n_prompts * sizeof *points);
    spread(out->lengths, LENGTHS, shortest, longest, false);
    for (size_t i = 0; i < out->n_prompts && status == ADEPT_OK; i++) {
        status = predict(&p, 1, out->prompts[i], profile_of, context, hw, run, err);
        if (status != ADEPT_OK) break;
        out->prompt_s[i] = p.ttft_s;
        out->prompt_j[i] = p.generation.prompt_j;
        out->idle_w = p.idle_w;
        out->room_tokens = p.generation.longest_context;
    }
    for (size_t b = 0; b < out->n_batches && status == ADEPT_OK; b++) {
        out->batches[b] = fmin((double)most, ldexp(1, (int)b));
        for (size_t l = 0; l < out->n_lengths && status == ADEPT_OK; l++) {
            const size_t at = b * out->n_lengths + l;
            status = predict(&p, out->batches[b], out->lengths[l], profile_of, context, hw, run, err);
            if (status != ADEPT_OK) break;
            out->token_s[at] = p.tpot_s;
            out->token_j[at] = p.generation.answer_j;
        }
    }
    if (status == ADEPT_OK && !(out->room_tokens >= longest + 1))
        return adept_error_set(
            err, ADEPT_E_USAGE,
            "a query of %.0f tokens does not fit the memory of %s beside the weights: there is room for %.0f",
            longest + 1, hw->name, fmax(0, out->room_tokens));
    return status;
}

/* ---- the simulation ---- */

typedef struct query {
    double arrival_s, first_s, end_s;
    double prompt, tokens;
} query;

/* An answer under way. */
typedef struct answer {
    size_t query;
    double left, length;
} answer;

typedef struct server {
    const adept_pass_table *table;
    double most;
    query *queries;
    size_t n, next; /* the first that waits, or will */
    answer *answers;
    size_t n_answers;
    double now_s, busy_s, energy_j;
    double held_tokens, length_sum;
    double passes, answers_in_passes;
} server;

/* Poisson arrivals, and lengths by their shares: every share of each distribution once, in an order of chance, so that
 * a mean of some thousand queries is the distribution's own. */
static void draw(query *queries, size_t n, const adept_mix_row *rows, size_t n_rows, const adept_traffic *t)
{
    double shares = 0, now_s = 0, below = 0;
    for (size_t i = 0; i < n_rows; i++)
        shares += rows[i].share;
    for (size_t i = 0, row = 0; i < n; i++) {
        const double at = ((double)i + adept_random(t->seed, ADEPT_RANDOM_ARRIVALS, i)) / (double)n;
        const double of_rows = shares * ((double)i + 0.5) / (double)n;
        while (row + 1 < n_rows && of_rows > below + rows[row].share)
            below += rows[row++].share;
        queries[i] =
            (query){.arrival_s = -log1p(-at) / t->rate_per_s, .prompt = rows[row].prompt, .tokens = rows[row].tokens};
    }
    for (size_t i = n; i-- > 1;) {
        const size_t gap = (size_t)(adept_random(t->seed, ADEPT_RANDOM_SIZES, i) * (double)(i + 1)),
                     length = (size_t)(adept_random(t->seed, ADEPT_RANDOM_TEMPLATES, i) * (double)(i + 1));
        const query a = queries[i], b = queries[length];
        queries[i].prompt = b.prompt, queries[i].tokens = b.tokens;
        queries[length].prompt = a.prompt, queries[length].tokens = a.tokens;
        const double gap_s = queries[i].arrival_s;
        queries[i].arrival_s = queries[gap].arrival_s;
        queries[gap].arrival_s = gap_s;
    }
    for (size_t i = 0; i < n; i++)
        now_s = queries[i].arrival_s += now_s;
}

static double needs_tokens(const query *q)
{
    return q->prompt + q->tokens;
}

static bool has_room(const server *s)
{
    return (double)s->n_answers < s->most &&
           s->held_tokens + needs_tokens(&s->queries[s->next]) <= s->table->room_tokens;
}

static void work(server *s, double time_s, double energy_j)
{
    s->now_s += time_s;
    s->busy_s += time_s;
    s->energy_j += energy_j;
}

/* Passes until an answer ends, or a query arrives for which there is room: lengths grow evenly meanwhile. */
static void write_tokens(server *s)
{
    const double batch = (double)s->n_answers, mean = s->length_sum / batch;
    double passes = INFINITY;
    for (size_t i = 0; i < s->n_answers; i++)
        passes = fmin(passes, s->answers[i].left);
    if (s->next < s->n && s->queries[s->next].arrival_s > s->now_s && has_room(s)) {
        const double one_s = of_tokens(s->table, s->table->token_s, batch, mean);
        passes = fmin(passes, fmax(1, ceil((s->queries[s->next].arrival_s - s->now_s) / one_s)));
    }
    const double middle = mean + 0.5 * (passes - 1);
    work(s, passes * of_tokens(s->table, s->table->token_s, batch, middle),
         passes * of_tokens(s->table, s->table->token_j, batch, middle));
    s->passes += passes;
    s->answers_in_passes += passes * batch;
    s->length_sum += passes * batch;
    for (size_t i = 0; i < s->n_answers;) {
        answer *a = &s->answers[i];
        a->left -= passes;
        a->length += passes;
        if (a->left > 0) {
            i++;
            continue;
        }
        s->queries[a->query].end_s = s->now_s;
        s->held_tokens -= needs_tokens(&s->queries[a->query]);
        s->length_sum -= a->length;
        *a = s->answers[--s->n_answers];
    }
}

static void serve(server *s)
{
    while (s->next < s->n || s->n_answers > 0) {
        const bool waits = s->next < s->n && s->queries[s->next].arrival_s <= s->now_s;
        if (waits && has_room(s)) {
            query *q = &s->queries[s->next];
            work(s, of_prompt(s->table, s->table->prompt_s, q->prompt),
                 of_prompt(s->table, s->table->prompt_j, q->prompt));
            q->first_s = s->now_s;
            s->held_tokens += needs_tokens(q);
            s->length_sum += q->prompt;
            s->answers[s->n_answers++] = (answer){s->next++, q->tokens, q->prompt};
        } else if (s->n_answers > 0) {
            write_tokens(s);
        } else {
            s->energy_j += s->table->idle_w * (s->queries[s->next].arrival_s - s->now_s);
            s->now_s = s->queries[s->next].arrival_s;
        }
    }
}

static adept_percentiles percentiles(double *values, size_t n)
{
    const adept_statistics all = adept_statistics_of(values, n);
    qsort(values, n, sizeof *values, adept_by_size);
    return (adept_percentiles){all.mean, adept_quantile(values, n, 0.5), adept_quantile(values, n, 0.9),
                               adept_quantile(values, n, 0.99)};
}

/* Queries of the last tenth wait much longer than those of the first half, and no pass is idle: they come faster than
 * they go. */
static bool keeps_up(const server *s)
{
    double early_s = 0, late_s = 0;
    const size_t half = s->n / 2, tenth = s->n / 10;
    for (size_t i = 0; i < half; i++)
        early_s += (s->queries[i].first_s - s->queries[i].arrival_s) / (double)half;
    for (size_t i = s->n - tenth; i < s->n; i++)
        late_s += (s->queries[i].first_s - s->queries[i].arrival_s) / (double)tenth;
    return s->busy_s < 0.99 * s->now_s || late_s < 1.5 * early_s;
}

adept_status adept_mix_simulate(adept_mix_result *out, const adept_mix_row *rows, size_t n_rows,
                                const adept_pass_table *table, const adept_traffic *t, adept_error *err)
{
    const size_t before = (size_t)t->queries / WARM_UP, n = before + (size_t)t->queries;
    server s = {.table = table, .most = (double)t->most, .n = n};
    const adept_percentiles none = {NAN, NAN, NAN, NAN};
    for (size_t i = 0; i < n_rows; i++)
        if (rows[i].prompt + rows[i].tokens > table->room_tokens)
            return adept_error_set(err, ADEPT_E_USAGE, "a query of %.0f tokens does not fit: there is room for %.0f",
                                   rows[i].prompt + rows[i].tokens, table->room_tokens);
    s.queries = calloc(n, sizeof *s.queries);
    s.answers = calloc((size_t)t->most, sizeof *s.answers);
    double *values = calloc((size_t)t->queries, sizeof *values), tokens = 0;
    if (!s.queries || !s.answers || !values) {
        free(s.queries), free(s.answers), free(values);
        return adept_error_set(err, ADEPT_E_NOMEM, "out of memory for %lld queries", (long long)t->queries);
    }
    draw(s.queries, n, rows, n_rows, t);
    serve(&s);
    for (size_t i = 0; i < n; i++)
        tokens += s.queries[i].tokens;
    *out = (adept_mix_result){.steady = keeps_up(&s),
                              .ttft_s = none,
                              .tpot_s = none,
                              .latency_s = none,
                              .queries_per_s = (double)n / s.now_s,
                              .tokens_per_s = tokens / s.now_s,
                              .busy = s.busy_s / s.now_s,
                              .mean_batch = s.answers_in_passes / s.passes,
                              .power_avg_w = s.energy_j / s.now_s,
                              .energy_per_query_j = s.energy_j / (double)n,
                              .energy_per_token_j = s.energy_j / tokens};
    const query *counted = s.queries + before;
    adept_percentiles *const of[] = {&out->ttft_s, &out->tpot_s, &out->latency_s};
    for (size_t k = 0; k < sizeof of / sizeof *of; k++) {
        for (size_t i = 0; i < (size_t)t->queries; i++) {
            const query *q = &counted[i];
            values[i] = k == 0   ? q->first_s - q->arrival_s
                        : k == 1 ? (q->end_s - q->first_s) / q->tokens
                                 : q->end_s - q->arrival_s;
        }
        if (out->steady || k == 1) *of[k] = percentiles(values, (size_t)t->queries);
    }
    free(s.queries), free(s.answers), free(values);
    return ADEPT_OK;
}
