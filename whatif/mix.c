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
#define PARTS 20   /* of the queries, by which numbers scatter */
#define LEAST_OF_PART 100

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

/* What a pass takes: of each stage, and joules. */
typedef struct pass {
    double energy_j, stage_s[ADEPT_MOST_STAGES];
} pass;

static size_t stages_of(const adept_pass_table *t)
{
    return t->n_stages > 0 ? t->n_stages : 1;
}

static void add_pass(pass *out, const adept_pass_table *t, const adept_pass_grid *g, double x, double y, double times)
{
    size_t i, k;
    const double by_x = place(&i, g->x, g->n_x, x), by_y = place(&k, g->y, g->n_y, y);
    const size_t low = i * g->n_y + k, high = g->n_x < 2 ? low : low + g->n_y, next = g->n_y < 2 ? 0 : 1;
    for (size_t stage = 0; stage <= stages_of(t); stage++) {
        const bool last = stage == stages_of(t);
        const double *v = last ? g->energy_j : g->time_s + stage * g->n_x * g->n_y;
        *(last ? &out->energy_j : &out->stage_s[stage]) +=
            times * between(by_x, between(by_y, v[low], v[low + next]), between(by_y, v[high], v[high + next]));
    }
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

static bool grid_new(adept_pass_grid *g, size_t n_stages, const double *x, size_t n_x, const double *y, size_t n_y)
{
    double *at = calloc(n_x + n_y + (n_stages + 1) * n_x * n_y, sizeof *at);
    if (!at) return false;
    *g = (adept_pass_grid){n_x, n_y, at, at + n_x, at + n_x + n_y, at + n_x + n_y + n_stages * n_x * n_y};
    memcpy(g->x, x, n_x * sizeof *x);
    memcpy(g->y, y, n_y * sizeof *y);
    return true;
}

/* What predicts a pass. */
typedef struct predictor {
    adept_sweep_profile_of profile_of;
    void *context;
    const adept_hwprofile *hw;
    adept_run run; /* of one replica, or of as many as share experts */
    double replicas;
    adept_layout_prediction *layout; /* of the pass; owned */
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
static adept_status predict(const predictor *p, double batch, double prompt, double cached)
{
    const adept_profile *profile;
    const adept_workload_config given = {
        .batch_size = (int64_t)batch, .prompt = (int64_t)prompt, .tokens = 1, .cached_tokens = (int64_t)cached};
    if (is_late(p->end_ns)) return late(p->err);
    adept_status status = p->profile_of(&profile, &given, p->context, p->err);
    return status == ADEPT_OK ? adept_predict_layout(p->layout, profile, p->hw, &p->run, p->err) : status;
}

/* Into a point of a grid: what each stage takes, with what it sends on. Watts of boards that wait are told apart, for
 * they are drawn once, however many passes are on their way. */
static void fill_point(adept_pass_grid *g, size_t at, const adept_pass_table *t, const predictor *p, bool token)
{
    const adept_prediction *q = &p->layout->prediction;
    const size_t n = stages_of(t), points = g->n_x * g->n_y;
    const double pass_s = token ? q->tpot_s : q->ttft_s;
    double sum_s = 0;
    for (size_t i = 0; i < n && n > 1; i++) {
        const adept_stage_prediction *s = &p->layout->stages[i];
        sum_s += g->time_s[i * points + at] = token ? s->micro_s - s->prompt_s : s->prompt_s;
    }
    for (size_t i = 0; i + 1 < n; i++)
        g->time_s[i * points + at] += (pass_s - sum_s) / (double)(n - 1);
    if (n == 1) g->time_s[at] = pass_s;
    g->energy_j[at] = (token ? q->generation.answer_j : q->generation.prompt_j) / p->replicas - t->wait_w * pass_s;
}

static adept_status fill_grid(adept_pass_grid *g, adept_pass_table *t, const predictor *p)
{
    adept_status status = ADEPT_OK;
    const bool tokens = g == &t->tokens;
    for (size_t i = 0; i < g->n_x * g->n_y && status == ADEPT_OK; i++) {
        const double x = g->x[i / g->n_y], y = g->y[i % g->n_y];
        status = tokens ? predict(p, x, y, 0) : predict(p, 1, x + y, y);
        if (status != ADEPT_OK) break;
        fill_point(g, i, t, p, tokens);
        if (tokens) continue;
        t->idle_w = p->layout->prediction.idle_w / p->replicas;
        t->room_tokens = p->layout->prediction.generation.cache_tokens;
    }
    return status;
}

/* What a replica draws while all its stages wait: one batch alone and several in turns have the same passes, and wait
 * so much longer or shorter. */
static adept_status find_wait(adept_pass_table *t, predictor *p, double length)
{
    const double turns = 2 * (double)t->n_stages;
    const adept_prediction *q = &p->layout->prediction;
    adept_status status = predict(p, 1, length, 0);
    if (status != ADEPT_OK) return status;
    const double one_j = q->generation.answer_j, one_s = q->tpot_s;
    p->run.global_batch = (int64_t)(turns * p->replicas);
    status = predict(p, 1, length, 0);
    p->run.global_batch = 0;
    if (status == ADEPT_OK)
        t->wait_w = (turns * one_j - q->generation.answer_j) / (turns * one_s - q->tpot_s) / p->replicas;
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
    adept_mix_row mean = {0, 0, 0, 0};
    for (size_t i = 0; i < n_rows; i++) {
        mean.prompt += rows[i].share * rows[i].prompt;
        mean.tokens += rows[i].share * rows[i].tokens;
        mean.share += rows[i].share;
    }
    return (adept_mix_row){.prompt = fmax(1, nearbyint(mean.prompt / mean.share)),
                           .tokens = fmax(1, nearbyint(mean.tokens / mean.share)),
                           .share = 1};
}

adept_status adept_pass_table_make(adept_pass_table *out, const adept_mix_row *rows, size_t n_rows, int64_t most,
                                   int64_t chunk, adept_sweep_profile_of profile_of, void *context,
                                   const adept_hwprofile *hw, const adept_run *run, uint64_t end_ns, adept_error *err)
{
    double shortest = INFINITY, longest = 0, longest_prompt = 0, x[MOST_POINTS], y[LENGTHS];
    predictor p = {profile_of, context, hw, *run, run->ep > 1 ? (double)run->ep : 1, NULL, end_ns, err};
    size_t n = 0;
    for (size_t i = 0; i < n_rows; i++) {
        shortest = fmin(shortest, rows[i].prompt);
        longest_prompt = fmax(longest_prompt, rows[i].prompt);
        longest = fmax(longest, rows[i].prompt + rows[i].tokens - 1);
    }
    *out = (adept_pass_table){.chunk = (double)chunk, .n_stages = run->pp > 1 ? (size_t)run->pp : 1};
    if (chunk > 0 && chunk <= most)
        return adept_error_set(err, ADEPT_E_USAGE,
                               "mix: passes of prefill_chunk %lld tokens have no room for prompts beside those of %lld "
                               "answers at a time (batch)",
                               (long long)chunk, (long long)most);
    p.run.gpus = p.run.nodes = p.run.global_batch = 0;
    p.run.dp = run->ep > 1 ? run->ep : 0;
    for (int64_t batch = 1; n == 0 || x[n - 1] < (double)most; batch *= 2)
        x[n++] = fmin((double)most, (double)batch);
    bool ok = grid_new(&out->tokens, out->n_stages, x, n, y, spread(y, LENGTHS, shortest, longest, false));
    if (chunk > 0) {
        const double widest = fmin((double)chunk, longest + 1); /* no more in all than a query has */
        n = spread(x, CHUNKS, 1, widest, true);
        ok = ok && grid_new(&out->chunks, out->n_stages, x, n, y, spread(y, LENGTHS, 0, longest + 1 - widest, false));
    } else {
        y[0] = 0;
        n = spread(x, PROMPTS, shortest, longest_prompt, true);
        ok = ok && grid_new(&out->prompts, out->n_stages, x, n, y, 1);
    }
    p.layout = ok ? calloc(1, sizeof *p.layout) : NULL;
    if (!p.layout) return adept_error_set(err, ADEPT_E_NOMEM, "out of memory");
    adept_status status = out->n_stages > 1 ? find_wait(out, &p, shortest) : ADEPT_OK;
    if (status == ADEPT_OK) status = fill_grid(chunk > 0 ? &out->chunks : &out->prompts, out, &p);
    if (status == ADEPT_OK) status = fill_grid(&out->tokens, out, &p);
    free(p.layout);
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

/* A batch: of a pipeline several take turns, each with one pass on its way. */
typedef struct turn {
    answer *answers;
    size_t n, old; /* answers; of them, those that had a token before the pass that is on its way */
    double length_sum;
    bool reads_on; /* a prompt is read in part: */
    size_t reading;
    double read;
    bool flies;
    double passes, ready_s; /* tokens that the pass on its way writes of each answer; when it is, or was, back */
} turn;

typedef struct server {
    const adept_pass_table *table;
    double most; /* of a turn */
    query *queries;
    size_t n, next, open; /* next: the first that waits, or will; open: that are read or answered */
    turn *turns;
    size_t n_turns;
    double *free_s; /* of each stage: when it may begin another pass */
    double now_s, busy_s, energy_j;
    double held_tokens, passes, answers_in_passes;
    uint64_t events;
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

static bool waits(const server *s)
{
    return s->next < s->n && s->queries[s->next].arrival_s <= s->now_s;
}

static bool has_room(const server *s, const turn *t)
{
    return (double)t->n + (t->reads_on ? 1 : 0) < s->most &&
           s->held_tokens + needs_tokens(&s->queries[s->next]) <= s->table->room_tokens;
}

/* So many tokens more of every answer. */
static void advance(server *s, turn *t, double passes)
{
    t->length_sum += passes * (double)t->n;
    for (size_t i = 0; i < t->n;) {
        answer *a = &t->answers[i];
        a->left -= passes;
        a->length += passes;
        if (a->left > 0) {
            i++;
            continue;
        }
        s->queries[a->query].end_s = s->now_s;
        s->held_tokens -= needs_tokens(&s->queries[a->query]);
        s->open--;
        t->length_sum -= a->length;
        *a = t->answers[--t->n];
    }
}

/* The next query is this turn's: its cache has its place from now on. */
static size_t take(server *s)
{
    s->held_tokens += needs_tokens(&s->queries[s->next]);
    s->open++;
    return s->next++;
}

/* Its answer is under way, once so many of its tokens are there. */
static void admit(const server *s, turn *t, size_t at, double tokens)
{
    const query *q = &s->queries[at];
    t->length_sum += q->prompt + tokens;
    t->answers[t->n++] = (answer){at, q->tokens - tokens, q->prompt + tokens};
}

static void read_prompt(server *s, turn *t, pass *p)
{
    const size_t at = take(s);
    add_pass(p, s->table, &s->table->prompts, s->queries[at].prompt, 0, 1);
    admit(s, t, at, 0);
    t->passes = 0;
}

static void count(server *s, double passes)
{
    size_t answers = 0;
    for (size_t i = 0; i < s->n_turns; i++)
        answers += s->turns[i].old;
    s->passes += passes;
    s->answers_in_passes += passes * (double)answers;
}

/* A pass of prompts' tokens beside those of answers. Whose prompt ends here has its first token with it: as if one had
 * been there before. */
static void read_chunk(server *s, turn *t, pass *p)
{
    const adept_pass_grid *tokens_of = &s->table->tokens;
    const double batch = (double)t->n, mean = t->n > 0 ? t->length_sum / batch : 0.0;
    double left = s->table->chunk - batch, tokens = 0, met = 0;
    while (left > 0 && (t->reads_on || (waits(s) && has_room(s, t)))) {
        if (!t->reads_on) t->reading = take(s), t->read = 0;
        const double prompt = s->queries[t->reading].prompt, n = fmin(left, prompt - t->read);
        met += n * t->read;
        tokens += n;
        left -= n;
        t->read += n;
        t->reads_on = t->read < prompt;
        if (!t->reads_on) admit(s, t, t->reading, -1);
    }
    add_pass(p, s->table, &s->table->chunks, tokens + batch, met / tokens, 1);
    if (t->old > 0) {
        add_pass(p, s->table, tokens_of, batch, mean, 1);
        add_pass(p, s->table, tokens_of, batch, 0, -1);
        count(s, 1);
    }
    t->passes = 1;
}

static bool alone(const server *s, const turn *t)
{
    for (size_t i = 0; i < s->n_turns; i++)
        if (&s->turns[i] != t && (s->turns[i].flies || s->turns[i].n > 0 || s->turns[i].reads_on)) return false;
    return true;
}

/* Passes until an answer ends, or a query arrives for which there is room: lengths grow evenly meanwhile. Where other
 * turns have answers too, one pass. */
static void write_tokens(server *s, turn *t, pass *p)
{
    const adept_pass_grid *g = &s->table->tokens;
    const double batch = (double)t->n, mean = t->length_sum / batch;
    double passes = alone(s, t) ? INFINITY : 1;
    for (size_t i = 0; i < t->n && passes > 1; i++)
        passes = fmin(passes, t->answers[i].left);
    if (passes > 1 && s->next < s->n && !waits(s) && (s->n_turns > 1 || has_room(s, t))) {
        pass one = {0};
        double through_s = 0;
        add_pass(&one, s->table, g, batch, mean, 1);
        for (size_t i = 0; i < stages_of(s->table); i++)
            through_s += one.stage_s[i];
        const double until = (s->queries[s->next].arrival_s - s->now_s) / through_s;
        passes = fmin(passes, fmax(1, s->n_turns > 1 ? floor(until) : ceil(until))); /* another turn may take it */
    }
    add_pass(p, s->table, g, batch, mean + 0.5 * (passes - 1), passes);
    count(s, passes);
    t->passes = passes;
}

/* A pass follows those before it through all stages. */
static void start(server *s, turn *t)
{
    pass p = {0};
    const bool reads = t->reads_on || (waits(s) && has_room(s, t));
    t->old = t->n;
    (!reads ? write_tokens : s->table->chunk > 0 ? read_chunk : read_prompt)(s, t, &p);
    s->energy_j += p.energy_j;
    t->ready_s = s->now_s;
    for (size_t i = 0; i < stages_of(s->table); i++)
        s->free_s[i] = t->ready_s = fmax(t->ready_s, s->free_s[i]) + p.stage_s[i];
    t->flies = true;
}

static void end(server *s, turn *t)
{
    t->flies = false;
    for (size_t i = t->old; i < t->n; i++)
        s->queries[t->answers[i].query].first_s = s->now_s;
    advance(s, t, t->passes);
    t->old = t->n;
}

/* @return false: it takes too long */
static bool serve(server *s, uint64_t end_ns)
{
    while (s->next < s->n || s->open > 0) {
        turn *first = NULL, *back = NULL; /* that may begin a pass, the longest back; whose pass is back next */
        bool idles = false;
        if (++s->events % 1024 == 0 && is_late(end_ns)) return false;
        for (size_t i = 0; i < s->n_turns; i++) {
            turn *t = &s->turns[i];
            if (t->flies) {
                if (!back || t->ready_s < back->ready_s) back = t;
                continue;
            }
            idles = true;
            const bool can = t->n > 0 || t->reads_on || (waits(s) && has_room(s, t));
            if (can && (!first || t->ready_s < first->ready_s)) first = t;
        }
        if (back && back->ready_s <= s->now_s) {
            end(s, back);
        } else if (first && s->free_s[0] <= s->now_s) {
            start(s, first);
        } else { /* until something happens */
            double until_s = first ? s->free_s[0] : INFINITY;
            if (back) until_s = fmin(until_s, back->ready_s);
            if (idles && s->next < s->n && !waits(s)) until_s = fmin(until_s, s->queries[s->next].arrival_s);
            const double time_s = until_s - s->now_s;
            s->busy_s += back ? time_s : 0;
            s->energy_j += time_s * (back ? s->table->wait_w : s->table->idle_w);
            s->now_s = until_s;
        }
    }
    return true;
}

/* How far a number of the whole lies from that of many times as many queries, 19 times of 20: by what it is in each of
 * some parts, one behind the other. */
static double within(const double *of_parts, double whole)
{
    const adept_statistics all = adept_statistics_of(of_parts, PARTS);
    return 0.5 * (all.high - all.low) / whole;
}

/* @param values  in the order of arrival; sorted afterwards */
static adept_percentiles percentiles(double *values, size_t n)
{
    double means[PARTS], last[PARTS];
    const size_t part = n / PARTS;
    const adept_statistics all = adept_statistics_of(values, n);
    adept_percentiles out = {.mean = all.mean, .mean_within = NAN, .p99_within = NAN};
    for (size_t i = 0; i < PARTS && part >= LEAST_OF_PART; i++) {
        means[i] = adept_statistics_of(values + i * part, part).mean;
        qsort(values + i * part, part, sizeof *values, adept_by_size);
        last[i] = adept_quantile(values + i * part, part, 0.99);
    }
    if (part >= LEAST_OF_PART) out.mean_within = within(means, out.mean);
    qsort(values, n, sizeof *values, adept_by_size);
    out.p50 = adept_quantile(values, n, 0.5);
    out.p90 = adept_quantile(values, n, 0.9);
    out.p99 = adept_quantile(values, n, 0.99);
    if (part >= LEAST_OF_PART) out.p99_within = within(last, out.p99);
    return out;
}

/* Queries of the last tenth wait much longer than those of the first half, and no pass is idle: they come faster than
 * they go. */
static bool keeps_up(const query *queries, size_t n, double busy)
{
    double early_s = 0, late_s = 0;
    const size_t half = n / 2, tenth = n / 10;
    for (size_t i = 0; i < half; i++)
        early_s += (queries[i].first_s - queries[i].arrival_s) / (double)half;
    for (size_t i = n - tenth; i < n; i++)
        late_s += (queries[i].first_s - queries[i].arrival_s) / (double)tenth;
    return busy < 0.99 || late_s < 1.5 * early_s;
}

/* What servers have done, one replica after the other. */
typedef struct totals {
    double end_s, worked_s, busy_s, energy_j, passes, answers_in_passes;
    uint64_t events;
} totals;

static adept_status serve_all(totals *sum, query *queries, size_t n, const adept_pass_table *table,
                              const adept_traffic *t, adept_error *err)
{
    const size_t most = (size_t)t->most, n_turns = t->turns > 0 ? (size_t)t->turns : 1;
    server s = {.table = table, .most = (double)most, .queries = queries, .n = n, .n_turns = n_turns};
    answer *answers = calloc(n_turns * most, sizeof *answers);
    s.turns = calloc(n_turns, sizeof *s.turns);
    s.free_s = calloc(stages_of(table), sizeof *s.free_s);
    adept_status status = answers && s.turns && s.free_s ? ADEPT_OK : adept_no_memory(err, "turns");
    for (size_t i = 0; status == ADEPT_OK && i < n_turns; i++)
        s.turns[i].answers = answers + i * most;
    if (status == ADEPT_OK && !serve(&s, t->end_ns)) status = late(err);
    sum->worked_s += s.now_s;
    sum->end_s = fmax(sum->end_s, s.now_s);
    sum->busy_s += s.busy_s;
    sum->energy_j += s.energy_j;
    sum->passes += s.passes;
    sum->answers_in_passes += s.answers_in_passes;
    sum->events += s.events;
    free(answers), free(s.turns), free(s.free_s);
    return status;
}

static adept_status simulate(adept_mix_result *out, uint64_t *events, const adept_mix_row *rows, size_t n_rows,
                             const adept_pass_table *table, const adept_traffic *t, adept_error *err)
{
    const size_t counts = t->trace ? n_rows : (size_t)t->queries, before = t->trace ? 0 : counts / WARM_UP,
                 n = before + counts, replicas = t->trace && t->replicas > 1 ? (size_t)t->replicas : 1;
    const adept_percentiles none = {NAN, NAN, NAN, NAN, NAN, NAN};
    totals sum = {0};
    query *queries = calloc(n, sizeof *queries);
    double *values = calloc(counts, sizeof *values), tokens = 0;
    adept_status status = queries && values ? ADEPT_OK : adept_no_memory(err, "queries");
    if (status == ADEPT_OK && !t->trace) draw(queries, n, rows, n_rows, t);
    for (size_t r = 0, at = 0; r < replicas && status == ADEPT_OK; r++) {
        const size_t own = (n - r + replicas - 1) / replicas;
        for (size_t i = 0; t->trace && i < own; i++) { /* as they are listed: each replica takes its turn */
            const adept_mix_row *row = &rows[r + i * replicas];
            queries[at + i] =
                (query){.arrival_s = row->arrival_s - rows[0].arrival_s, .prompt = row->prompt, .tokens = row->tokens};
        }
        if (own > 0) status = serve_all(&sum, queries + at, own, table, t, err);
        at += own;
    }
    if (status != ADEPT_OK) {
        free(queries), free(values);
        return status;
    }
    for (size_t i = 0; i < n; i++)
        tokens += queries[i].tokens;
    const double all_s = (double)replicas * sum.end_s; /* of all replicas, until the last has answered */
    sum.energy_j += table->idle_w * (all_s - sum.worked_s);
    *out = (adept_mix_result){.steady = keeps_up(queries, n, sum.busy_s / all_s),
                              .ttft_s = none,
                              .tpot_s = none,
                              .latency_s = none,
                              .queries = (double)counts,
                              .queries_per_s = (double)n / all_s,
                              .tokens_per_s = tokens / all_s,
                              .busy = sum.busy_s / all_s,
                              .mean_batch = sum.answers_in_passes / sum.passes,
                              .power_avg_w = sum.energy_j / all_s,
                              .energy_per_query_j = sum.energy_j / (double)n,
                              .energy_per_token_j = sum.energy_j / tokens};
    adept_percentiles *const of[] = {&out->ttft_s, &out->tpot_s, &out->latency_s};
    for (size_t k = 0; k < sizeof of / sizeof *of; k++) {
        for (size_t i = 0; i < counts; i++) {
            const query *q = &queries[before + i];
            values[i] = k == 0   ? q->first_s - q->arrival_s
                        : k == 1 ? (q->end_s - q->first_s) / q->tokens
                                 : q->end_s - q->arrival_s;
        }
        if (out->steady || t->trace || k == 1) *of[k] = percentiles(values, counts);
    }
    *events = sum.events;
    free(queries), free(values);
    return ADEPT_OK;
}

static bool is_known(const adept_percentiles *p)
{
    return p->mean_within <= ADEPT_MIX_MEAN_WITHIN && p->p99_within <= ADEPT_MIX_WITHIN;
}

adept_status adept_mix_simulate(adept_mix_result *out, const adept_mix_row *rows, size_t n_rows,
                                const adept_pass_table *table, const adept_traffic *asked, adept_error *err)
{
    adept_traffic t = *asked;
    uint64_t events = 0;
    for (size_t i = 0; i < n_rows; i++)
        if (rows[i].prompt + rows[i].tokens > table->room_tokens)
            return adept_error_set(err, ADEPT_E_USAGE, "a query of %.0f tokens does not fit: there is room for %.0f",
                                   rows[i].prompt + rows[i].tokens, table->room_tokens);
    if (asked->queries > 0 || t.trace) return simulate(out, &events, rows, n_rows, table, &t, err);
    adept_status status;
    for (t.queries = ADEPT_MIX_LEAST;; t.queries *= 2) {
        status = simulate(out, &events, rows, n_rows, table, &t, err);
        const bool settled = is_known(&out->ttft_s) && is_known(&out->tpot_s) && is_known(&out->latency_s);
        if (status != ADEPT_OK || !out->steady || settled || 2 * t.queries > ADEPT_MIX_QUERIES ||
            2 * events > ADEPT_MIX_EVENTS)
            return status;
    }
}

/* ---- all of it ---- */

adept_status adept_mix_predict(adept_mix_prediction *out, adept_pass_table *table, const adept_mix *mix,
                               const adept_profile *profile, adept_sweep_profile_of profile_of, void *context,
                               const adept_hwprofile *hw, const adept_run *run, adept_error *err)
{
    const adept_mesh_words words = adept_run_mesh(run);
    adept_mesh mesh;
    adept_status status = adept_mesh_of(&mesh, &words, profile, err);
    if (status == ADEPT_OK && profile->batch_size > ADEPT_MIX_MOST)
        status = adept_error_set(err, ADEPT_E_USAGE, "mix: a batch of 1 to %d is the most at a time", ADEPT_MIX_MOST);
    if (status == ADEPT_OK && mesh.pp < 2 && mesh.micro_batches > 1)
        status = adept_error_set(err, ADEPT_E_USAGE,
                                 "mix: global_batch says how many batches take turns in a pipeline, and there is none");
    if (status != ADEPT_OK) return status;
    *out = (adept_mix_prediction){.replicas = (double)mesh.dp, .shared = !mesh.plain};
    const double span_s =
        mix->trace && mix->n_rows > 0 ? mix->rows[mix->n_rows - 1].arrival_s - mix->rows[0].arrival_s : NAN;
    const double rate_per_s = mix->trace ? (double)mix->n_rows / span_s : mix->rate_per_s;
    out->traffic = (adept_traffic){.rate_per_s = rate_per_s / out->replicas,
                                   .most = profile->batch_size,
                                   .turns = run->global_batch > 0 ? mesh.micro_batches : mesh.pp,
                                   .queries = mix->queries,
                                   .seed = mix->seed > 0 ? (uint64_t)mix->seed : 1,
                                   .trace = mix->trace,
                                   .replicas = mesh.dp,
                                   .end_ns = mix->end_ns};
    if (!table->tokens.x)
        status = adept_pass_table_make(table, mix->rows, mix->n_rows, profile->batch_size, profile->prefill_chunk,
                                       profile_of, context, hw, run, mix->end_ns, err);
    if (status == ADEPT_OK) return adept_mix_simulate(&out->result, mix->rows, mix->n_rows, table, &out->traffic, err);
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
    adept_json_put_object(w, key, "mean %g p50 %g p90 %g p99 %g mean_within %g p99_within %g", p->mean, p->p50, p->p90,
                          p->p99, p->mean_within, p->p99_within);
}

void adept_mix_put_json(struct adept_json_writer *w, const adept_mix_prediction *p)
{
    const adept_mix_result *r = &p->result;
    const double n = p->replicas;
    adept_json_begin_object(w, "mix");
    adept_json_put_members(w,
                           "rate_per_s %g replicas %g most_at_a_time %jd turns %jd requests %jd seed %jd trace %d "
                           "steady %d",
                           isfinite(p->traffic.rate_per_s) ? n * p->traffic.rate_per_s : NAN, n,
                           (intmax_t)(p->traffic.most * p->traffic.turns), (intmax_t)p->traffic.turns,
                           (intmax_t)r->queries, (intmax_t)p->traffic.seed, p->traffic.trace, r->steady);
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
