/** @file mix.c  Continuous batching, request by request; see adept_mix.h. */
#include "adept_mix.h"
#include "adept_clock.h"
#include "adept_json_writer.h"
#include "adept_random.h"
#include "adept_statistics.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Points of a table: passes cost in proportion between them, but for prompts, whose attention grows with their square.
 */
#define PROMPTS 24
#define LENGTHS 4
#define CHUNKS 8
#define MOST_POINTS 64
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

static double grid_at(const adept_pass_grid *g, const double *values, double x, double y)
{
    size_t i, k;
    const double by_x = place(&i, g->x, g->n_x, x), by_y = place(&k, g->y, g->n_y, y);
    const double *low = values + i * g->n_y + k, *high = g->n_x < 2 ? low : low + g->n_y;
    const size_t next = g->n_y < 2 ? 0 : 1;
    return between(by_x, between(by_y, low[0], low[next]), between(by_y, high[0], high[next]));
}

static void free_grid(adept_pass_grid *g)
{
    free(g->x);
    *g = (adept_pass_grid){.n_x = 0};
}

void adept_pass_table_free(adept_pass_table *t)
{
    free_grid(&t->prompts);
    free_grid(&t->tokens);
    free_grid(&t->chunks);
}

static bool grid_new(adept_pass_grid *g, const double *x, size_t n_x, const double *y, size_t n_y)
{
    double *at = calloc(n_x + n_y + 2 * n_x * n_y, sizeof *at);
    if (!at) return false;
    *g = (adept_pass_grid){n_x, n_y, at, at + n_x, at + n_x + n_y, at + n_x + n_y + n_x * n_y};
    memcpy(g->x, x, n_x * sizeof *x);
    memcpy(g->y, y, n_y * sizeof *y);
    return true;
}

/* What predicts a pass. */
typedef struct predictor {
    adept_sweep_profile_of profile_of;
    void *context;
    const adept_hwprofile *hw;
    adept_run run;   /* of one replica, or of as many as share experts */
    double replicas;
    uint64_t end_ns;
    adept_error *err;
} predictor;

static bool is_late(uint64_t end_ns)
{
    return end_ns > 0 && adept_clock_ns() > end_ns;
}

static adept_status late(adept_error *err)
{
    return adept_error_set(err, ADEPT_E_USAGE, "mix: passes and queries take longer to predict than they may");
}

/* A prompt of that length for so many queries, of which the cache has so many tokens, and one token more. */
static adept_status predict(adept_prediction *out, const predictor *p, double batch, double prompt, double cached)
{
    const adept_profile *profile;
    const adept_workload_config given = {.batch_size = (int64_t)batch,
                                         .prompt = (int64_t)prompt,
                                         .tokens = 1,
                                         .cached_tokens = (int64_t)cached};
    if (is_late(p->end_ns)) return late(p->err);
    adept_status status = p->profile_of(&profile, &given, p->context, p->err);
    return status == ADEPT_OK ? adept_predict(out, profile, p->hw, &p->run, p->err) : status;
}

static adept_status fill_grid(adept_pass_grid *g, adept_pass_table *t, const predictor *p)
{
    adept_status status = ADEPT_OK;
    for (size_t i = 0; i < g->n_x * g->n_y && status == ADEPT_OK; i++) {
        const double x = g->x[i / g->n_y], y = g->y[i % g->n_y];
        adept_prediction q;
        status = g == &t->tokens ? predict(&q, p, x, y, 0) : predict(&q, p, 1, x + y, y);
        if (status != ADEPT_OK) break;
        g->time_s[i] = g == &t->tokens ? q.tpot_s : q.ttft_s;
        g->energy_j[i] = (g == &t->tokens ? q.generation.answer_j : q.generation.prompt_j) / p->replicas;
        if (g == &t->tokens) continue;
        t->idle_w = q.idle_w / p->replicas;
        t->room_tokens = q.generation.longest_context;
    }
    return status;
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
                                   int64_t chunk, adept_sweep_profile_of profile_of, void *context,
                                   const adept_hwprofile *hw, const adept_run *run, uint64_t end_ns, adept_error *err)
{
    double shortest = INFINITY, longest = 0, longest_prompt = 0, x[MOST_POINTS], y[LENGTHS];
    predictor p = {profile_of, context, hw, *run, run->ep > 1 ? (double)run->ep : 1, end_ns, err};
    size_t n = 0;
    for (size_t i = 0; i < n_rows; i++) {
        shortest = fmin(shortest, rows[i].prompt);
        longest_prompt = fmax(longest_prompt, rows[i].prompt);
        longest = fmax(longest, rows[i].prompt + rows[i].tokens - 1);
    }
    *out = (adept_pass_table){.chunk = (double)chunk};
    if (run->pp > 1 || run->global_batch > 0)
        return adept_error_set(err, ADEPT_E_USAGE,
                               "mix: queries that arrive are not simulated on a pipeline, whose batches take turns: "
                               "pp and global_batch do not act");
    if (chunk > 0 && chunk <= most)
        return adept_error_set(err, ADEPT_E_USAGE,
                               "mix: passes of prefill_chunk %lld tokens have no room for prompts beside those of %lld "
                               "answers at a time (batch)",
                               (long long)chunk, (long long)most);
    p.run.gpus = p.run.nodes = 0;
    p.run.dp = run->ep > 1 ? run->ep : 0;
    for (int64_t batch = 1; n == 0 || x[n - 1] < (double)most; batch *= 2)
        x[n++] = fmin((double)most, (double)batch);
    bool ok = grid_new(&out->tokens, x, n, y, spread(y, LENGTHS, shortest, longest, false));
    if (chunk > 0) {
        const double widest = fmin((double)chunk, longest + 1); /* no more in all than a query has */
        n = spread(x, CHUNKS, 1, widest, true);
        ok = ok && grid_new(&out->chunks, x, n, y, spread(y, LENGTHS, 0, longest + 1 - widest, false));
    } else {
        y[0] = 0;
        n = spread(x, PROMPTS, shortest, longest_prompt, true);
        ok = ok && grid_new(&out->prompts, x, n, y, 1);
    }
    if (!ok) return adept_error_set(err, ADEPT_E_NOMEM, "out of memory");
    adept_status status = fill_grid(chunk > 0 ? &out->chunks : &out->prompts, out, &p);
    if (status == ADEPT_OK) status = fill_grid(&out->tokens, out, &p);
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
    double read; /* of the next query's prompt */
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

/* So many tokens more of every answer. */
static void advance(server *s, double passes)
{
    s->length_sum += passes * (double)s->n_answers;
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

/* Its answer is under way, once so many of its tokens are there. */
static void admit(server *s, double tokens)
{
    const query *q = &s->queries[s->next];
    s->held_tokens += needs_tokens(q);
    s->length_sum += q->prompt + tokens;
    s->answers[s->n_answers++] = (answer){s->next++, q->tokens - tokens, q->prompt + tokens};
}

static bool reads(const server *s)
{
    return s->next < s->n && s->queries[s->next].arrival_s <= s->now_s && has_room(s);
}

static void read_prompt(server *s)
{
    const adept_pass_grid *g = &s->table->prompts;
    query *q = &s->queries[s->next];
    work(s, grid_at(g, g->time_s, q->prompt, 0), grid_at(g, g->energy_j, q->prompt, 0));
    q->first_s = s->now_s;
    admit(s, 0);
}

/* A pass of prompts' tokens beside those of answers. Whose prompt ends here has its first token with it: as if one had
 * been there before. */
static void read_chunk(server *s)
{
    const adept_pass_grid *g = &s->table->chunks, *t = &s->table->tokens;
    const size_t before = s->n_answers;
    const double batch = (double)before, mean = before > 0 ? s->length_sum / batch : 0.0;
    double left = s->table->chunk - batch, tokens = 0, met = 0;
    while (left > 0 && reads(s)) {
        const double prompt = s->queries[s->next].prompt, n = fmin(left, prompt - s->read);
        met += n * s->read;
        tokens += n;
        left -= n;
        s->read += n;
        if (s->read < prompt) break;
        s->read = 0;
        admit(s, -1);
    }
    double time_s = grid_at(g, g->time_s, tokens + batch, met / tokens),
           energy_j = grid_at(g, g->energy_j, tokens + batch, met / tokens);
    if (before > 0) {
        time_s += grid_at(t, t->time_s, batch, mean) - grid_at(t, t->time_s, batch, 0);
        energy_j += grid_at(t, t->energy_j, batch, mean) - grid_at(t, t->energy_j, batch, 0);
        s->passes += 1;
        s->answers_in_passes += batch;
    }
    work(s, time_s, energy_j);
    for (size_t i = before; i < s->n_answers; i++)
        s->queries[s->answers[i].query].first_s = s->now_s;
    advance(s, 1);
}

/* Passes until an answer ends, or a query arrives for which there is room: lengths grow evenly meanwhile. */
static void write_tokens(server *s)
{
    const adept_pass_grid *g = &s->table->tokens;
    const double batch = (double)s->n_answers, mean = s->length_sum / batch;
    double passes = INFINITY;
    for (size_t i = 0; i < s->n_answers; i++)
        passes = fmin(passes, s->answers[i].left);
    if (s->next < s->n && s->queries[s->next].arrival_s > s->now_s && has_room(s)) {
        const double one_s = grid_at(g, g->time_s, batch, mean);
        passes = fmin(passes, fmax(1, ceil((s->queries[s->next].arrival_s - s->now_s) / one_s)));
    }
    const double middle = mean + 0.5 * (passes - 1);
    work(s, passes * grid_at(g, g->time_s, batch, middle), passes * grid_at(g, g->energy_j, batch, middle));
    s->passes += passes;
    s->answers_in_passes += passes * batch;
    advance(s, passes);
}

/* @return false: it takes too long */
static bool serve(server *s, uint64_t end_ns)
{
    for (uint64_t turn = 1; s->next < s->n || s->n_answers > 0; turn++) {
        if (turn % 1024 == 0 && is_late(end_ns)) return false;
        if (reads(s)) {
            (s->table->chunk > 0 ? read_chunk : read_prompt)(s);
        } else if (s->n_answers > 0) {
            write_tokens(s);
        } else {
            s->energy_j += s->table->idle_w * (s->queries[s->next].arrival_s - s->now_s);
            s->now_s = s->queries[s->next].arrival_s;
        }
    }
    return true;
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
    if (!serve(&s, t->end_ns)) {
        free(s.queries), free(s.answers), free(values);
        return late(err);
    }
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

/* ---- all of it ---- */

/* That are simulated where nobody says: the 99th percentile of 10,000 scatters by 2 to 13 %, at loads of 20 to 80 %. */
#define QUERIES 500000

adept_status adept_mix_predict(adept_mix_prediction *out, adept_pass_table *table, const adept_mix *mix,
                               const adept_profile *profile, adept_sweep_profile_of profile_of, void *context,
                               const adept_hwprofile *hw, const adept_run *run, adept_error *err)
{
    const adept_mesh_words words = adept_run_mesh(run);
    adept_mesh mesh;
    adept_status status = adept_mesh_of(&mesh, &words, profile, err);
    if (status == ADEPT_OK && profile->batch_size > ADEPT_MIX_MOST)
        status = adept_error_set(err, ADEPT_E_USAGE, "mix: a batch of 1 to %d is the most at a time", ADEPT_MIX_MOST);
    if (status != ADEPT_OK) return status;
    *out = (adept_mix_prediction){.replicas = (double)mesh.dp, .shared = !mesh.plain};
    out->traffic = (adept_traffic){.rate_per_s = mix->rate_per_s / out->replicas,
                                   .most = profile->batch_size,
                                   .queries = mix->queries > 0 ? mix->queries : QUERIES,
                                   .seed = mix->seed > 0 ? (uint64_t)mix->seed : 1,
                                   .end_ns = mix->end_ns};
    if (!table->tokens.x)
        status = adept_pass_table_make(table, mix->rows, mix->n_rows, profile->batch_size, profile->prefill_chunk,
                                       profile_of, context, hw, run, mix->end_ns, err);
    if (status == ADEPT_OK)
        return adept_mix_simulate(&out->result, mix->rows, mix->n_rows, table, &out->traffic, err);
    adept_pass_table_free(table);
    return status;
}

void adept_mix_estimate(adept_estimate *out, const adept_mix_prediction *p)
{
    const adept_mix_result *r = &p->result;
    out->notes &= ~(unsigned)ADEPT_NOTE_NO_ROOM;
    out->step_time_s = r->latency_s.p99;
    out->power_avg_w = p->replicas * r->power_avg_w;
    out->energy_step_j = out->energy_per_sample_j = r->energy_per_query_j;
    out->edp_js = out->energy_step_j * out->step_time_s;
    out->samples = 1.0;
    out->samples_per_s = p->replicas * r->queries_per_s;
    out->ttft_s = r->ttft_s.p99;
    out->tpot_s = r->tpot_s.p99;
    out->peak_bytes = fmin(out->peak_bytes, out->capacity_bytes);
    out->interval_level = NAN; /* nobody has measured a mix */
    for (size_t i = 0; i < 2; i++)
        out->interval_time_s[i] = out->interval_power_w[i] = NAN;
}

static void put_percentiles(adept_json_writer *w, const char *key, const adept_percentiles *p)
{
    adept_json_put_object(w, key, "mean %g p50 %g p90 %g p99 %g", p->mean, p->p50, p->p90, p->p99);
}

void adept_mix_put_json(struct adept_json_writer *w, const adept_mix_prediction *p)
{
    const adept_mix_result *r = &p->result;
    const double n = p->replicas;
    adept_json_begin_object(w, "mix");
    adept_json_put_members(w, "rate_per_s %g replicas %g most_at_a_time %jd requests %jd seed %jd steady %d",
                           n * p->traffic.rate_per_s, n, (intmax_t)p->traffic.most, (intmax_t)p->traffic.queries,
                           (intmax_t)p->traffic.seed, r->steady);
    put_percentiles(w, "ttft_s", &r->ttft_s);
    put_percentiles(w, "tpot_s", &r->tpot_s);
    put_percentiles(w, "latency_s", &r->latency_s);
    adept_json_put_members(
        w,
        "queries_per_s %g tokens_per_s %g busy %g mean_batch %g power_avg_w %g energy_per_query_j %g "
        "wh_per_query %g energy_per_token_j %g",
        n * r->queries_per_s, n * r->tokens_per_s, r->busy, r->mean_batch, n * r->power_avg_w, r->energy_per_query_j,
        r->energy_per_query_j / 3600, r->energy_per_token_j);
    adept_json_end_object(w);
}
