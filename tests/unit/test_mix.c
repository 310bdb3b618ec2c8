/* Queries as they arrive: against queue theory where it has a closed form, against sums by hand where queries do not
 * meet, and what holds of any queue. */
#include "adept_mix.h"
#include "cmocka_test.h"

static void near(double a, double b, double within, const char *what)
{
    if (!(fabs(a - b) <= within * fabs(b))) fail_msg("%s: %.10g, not %.10g", what, a, b);
}

/* A prompt takes 0.1 s, a token 0.01 s, whatever is long and however many: 8 tokens make 0.18 s. */
static double prompts[] = {100}, none[] = {0}, prompt_s[] = {0.1}, prompt_j[] = {50}, batches[] = {1},
              lengths[] = {100}, token_s[] = {0.01}, token_j[] = {3};
static const adept_pass_table fixed = {.prompts = {1, 1, prompts, none, prompt_s, prompt_j},
                                       .tokens = {1, 1, batches, lengths, token_s, token_j},
                                       .idle_w = 40,
                                       .room_tokens = INFINITY};
static const adept_mix_row eight = {100, 8, 1, 0};
#define SERVICE_S 0.18

static adept_mix_result simulate(const adept_mix_row *rows, size_t n, const adept_pass_table *table, double rate,
                                 int64_t most, int64_t queries, uint64_t seed)
{
    adept_mix_result out;
    adept_error err = {0};
    const adept_traffic t = {.rate_per_s = rate, .most = most, .queries = queries, .seed = seed};
    if (adept_mix_simulate(&out, rows, n, table, &t, &err) != ADEPT_OK) fail_msg("%s", err.message);
    return out;
}

/* P(wait <= t) of M/D/1 (Erlang 1909): (1 - rho) sum over k <= t / S of (lambda (kS - t))^k / k! exp(lambda (t - kS)).
 */
static double waits_less(double t, double rate)
{
    double sum = 0;
    for (int k = 0; k * SERVICE_S <= t; k++) {
        double x = rate * (k * SERVICE_S - t), term = exp(-x);
        for (int i = 1; i <= k; i++)
            term *= x / i;
        sum += term;
    }
    return (1 - rate * SERVICE_S) * sum;
}

static void batches_of_one_are_m_d_1(void **state)
{
    (void)state;
    static const double loads[] = {0.2, 0.3, 0.5, 0.8};
    for (size_t i = 0; i < sizeof loads / sizeof *loads; i++) {
        double rate = loads[i] / SERVICE_S, mean_s = SERVICE_S + loads[i] * SERVICE_S / (2 * (1 - loads[i]));
        double low = 0, high = 20 * SERVICE_S; /* further on the terms cancel */
        while (high - low > 1e-9) {
            double middle = (low + high) / 2;
            *(waits_less(middle, rate) < 0.99 ? &low : &high) = middle;
        }
        const adept_mix_result r = simulate(&eight, 1, &fixed, rate, 1, 0, i + 1); /* as many as it takes */
        assert_true(r.steady && r.latency_s.p99_within <= ADEPT_MIX_WITHIN && r.queries >= ADEPT_MIX_LEAST);
        near(r.latency_s.mean, mean_s, 0.01, "mean");
        near(r.latency_s.p99, SERVICE_S + low, 0.03, "99 %");
        near(r.busy, loads[i], 0.01, "at work");
        /* 10,000 scatter more than that in the tail: as much as they say, and little in the mean of 25 such runs */
        double mean = 0, p99 = 0;
        int inside = 0;
        for (uint64_t seed = 1; seed <= 25; seed++) {
            const adept_mix_result few = simulate(&eight, 1, &fixed, rate, 1, 10000, seed);
            mean += few.latency_s.mean / 25, p99 += few.latency_s.p99 / 25;
            inside += fabs(few.latency_s.p99 / (SERVICE_S + low) - 1) <= few.latency_s.p99_within;
        }
        if (loads[i] < 0.7) near(mean, mean_s, 0.01, "mean of 10,000");
        if (loads[i] < 0.7) near(p99, SERVICE_S + low, 0.03, "99 % of 10,000");
        if (inside < 19) fail_msg("load %g: %d of 25 lie within what they say", loads[i], inside);
        near(r.tpot_s.p99, 0.01, 1e-9, "a token");
        assert_true(r.mean_batch == 1);
    }
}

/* So rare that none meets another: times are those of one query, energy is what passes take and what is drawn between
 * them. */
static void alone(void **state)
{
    (void)state;
    static double two_prompts[] = {100, 200}, two_s[] = {0.1, 0.3}, two_j[] = {50, 150}, two_batches[] = {1, 2},
                  two_lengths[] = {100, 300}, four_s[] = {0.01, 0.03, 0.02, 0.04}, four_j[] = {3, 5, 4, 6};
    const adept_pass_table table = {.prompts = {2, 1, two_prompts, none, two_s, two_j},
                                    .tokens = {2, 2, two_batches, two_lengths, four_s, four_j},
                                    .idle_w = 40,
                                    .room_tokens = 1000};
    const adept_mix_row row = {150, 11, 3, 0}; /* caches of 150 to 160: 155 on average */
    const adept_mix_result r = simulate(&row, 1, &table, 1e-6, 2, 100, 7);
    double token = 0.01 + 0.02 * 55 / 200, query_j = 100 + 11 * (3 + 2.0 * 55 / 200);
    near(r.ttft_s.mean, 0.2, 1e-6, "first token");
    near(r.ttft_s.p99, 0.2, 1e-6, "first token");
    near(r.tpot_s.mean, token, 1e-6, "a token");
    near(r.latency_s.p50, 0.2 + 11 * token, 1e-6, "latency");
    near(r.power_avg_w, 40, 1e-4, "power");
    near((r.energy_per_query_j - 40 * (1 / r.queries_per_s - 0.2 - 11 * token)), query_j, 1e-3, "energy");
    near(r.energy_per_token_j * 11, r.energy_per_query_j, 1e-12, "of a token");
}

/* Chunks of 100 tokens: 1 ms a token, and 0.1 ms for each ten before it; a token of an answer reads its cache in 10 us
 * for each of its tokens, and takes 1 ms and as many as there are answers beside. */
static void in_chunks(void **state)
{
    (void)state;
    static double sizes[] = {1, 101}, pasts[] = {0, 100}, chunk_s[] = {0.001, 0.002, 0.101, 0.102},
                  chunk_j[] = {1, 2, 101, 102}, two_batches[] = {1, 2}, two_lengths[] = {0, 100},
                  four_s[] = {0.002, 0.003, 0.003, 0.005}, four_j[] = {2, 3, 3, 5};
    adept_pass_table table = {.chunks = {2, 2, sizes, pasts, chunk_s, chunk_j},
                              .tokens = {2, 2, two_batches, two_lengths, four_s, four_j},
                              .chunk = 100,
                              .idle_w = 0,
                              .room_tokens = INFINITY};
    const adept_mix_row row = {250, 10, 1, 0};
    /* passes of 100, 100 and 50 tokens behind 0, 100 and 200; ten tokens behind 254.5 on average */
    const double read_s = 0.1 + 0.101 + 0.052, token = 0.002 + 254.5e-5;
    const adept_mix_result one = simulate(&row, 1, &table, 1e-6, 2, 100, 7);
    near(one.ttft_s.mean, read_s, 1e-6, "first token");
    near(one.latency_s.p99, read_s + 10 * token, 1e-6, "latency");
    near(one.energy_per_query_j, 1000 * (read_s + 10 * token), 1e-6, "energy");
    /* whole prompts hold answers up by one at a time; passes of chunks, by no more than a pass is long */
    const adept_mix_row rows[] = {{250, 40, 1, 0}, {1000, 40, 1, 0}};
    const adept_mix_result parts = simulate(rows, 2, &table, 0.5, 16, 20000, 3);
    const double longest_s = 0.1 + 0.01 + 16 * (0.002 + 1040e-5);
    assert_true(parts.steady && parts.tpot_s.p99 < longest_s && parts.mean_batch > 1);
    near(parts.queries_per_s, 0.5, 0.01, "what goes out");
    table.chunk = 0, table.prompts = (adept_pass_grid){2, 1, sizes, none, (double[]){0.001, 0.101}, chunk_j};
    const adept_mix_result whole = simulate(rows, 2, &table, 0.5, 16, 20000, 3);
    assert_true(whole.tpot_s.p99 > 1.2 * parts.tpot_s.p99 && whole.ttft_s.mean < parts.ttft_s.mean);
    /* a chunk that has room for every prompt, one at a time: M/D/1 again */
    table = fixed;
    table.chunks = table.prompts, table.chunk = 1000;
    const adept_mix_result a = simulate(&eight, 1, &table, 3, 1, 20000, 5),
                           b = simulate(&eight, 1, &fixed, 3, 1, 20000, 5);
    near(a.latency_s.mean, b.latency_s.mean, 1e-9, "one at a time");
    near(a.latency_s.p99, b.latency_s.p99, 1e-9, "one at a time");
}

/* Little's law, and what comes in goes out; more at a time answer more; caches without room wait. */
static void any_queue(void **state)
{
    (void)state;
    const adept_mix_row rows[] = {{100, 8, 3, 0}, {100, 40, 1, 0}};
    const adept_mix_result r = simulate(rows, 2, &fixed, 4, 16, 20000, 3),
                           again = simulate(rows, 2, &fixed, 4, 16, 20000, 3),
                           other = simulate(rows, 2, &fixed, 4, 16, 20000, 4);
    assert_memory_equal(&r, &again, sizeof r);
    assert_true(r.latency_s.mean != other.latency_s.mean);
    near(other.latency_s.mean, r.latency_s.mean, 0.03, "another seed");
    near(r.queries_per_s, 4, 0.01, "what goes out");
    near(r.tokens_per_s, 4 * 16, 0.01, "their tokens"); /* 8 of three quarters, 40 of one */
    assert_true(r.steady && r.ttft_s.p50 >= 0.1 && r.ttft_s.p99 <= r.latency_s.p99 && r.tpot_s.mean > 0.01);
    assert_true(!simulate(rows, 2, &fixed, 20, 16, 2000, 3).steady); /* prompts alone take 0.1 s each */
    assert_true(isnan(simulate(rows, 2, &fixed, 20, 16, 2000, 3).latency_s.mean));
    adept_pass_table narrow = fixed;
    narrow.room_tokens = 141; /* one at a time */
    assert_true(simulate(rows, 2, &narrow, 2, 16, 2000, 3).mean_batch == 1);
    narrow.room_tokens = 139;
    adept_mix_result out;
    adept_error err = {0};
    const adept_traffic t = {.rate_per_s = 1, .most = 4, .queries = 100, .seed = 1};
    assert_int_equal(adept_mix_simulate(&out, rows, 2, &narrow, &t, &err), ADEPT_E_USAGE);
    assert_non_null(strstr(err.message, "a query of 140 tokens does not fit"));
}

static adept_mix_result follow(const adept_mix_row *rows, size_t n, const adept_pass_table *table, int64_t most,
                               int64_t turns, int64_t replicas)
{
    adept_mix_result out;
    adept_error err = {0};
    const adept_traffic t = {.most = most, .turns = turns, .replicas = replicas, .trace = true};
    if (adept_mix_simulate(&out, rows, n, table, &t, &err) != ADEPT_OK) fail_msg("%s", err.message);
    return out;
}

/* Queries that come when a trace says so; the clock of the trace begins anywhere. */
static void of_a_trace(void **state)
{
    (void)state;
    const adept_mix_row rows[] = {{100, 8, 1, 50}, {100, 8, 1, 50.1}, {100, 18, 1, 51}};
    const adept_mix_result one = follow(rows, 3, &fixed, 1, 1, 1);
    near(one.latency_s.mean, (0.18 + 0.26 + 0.28) / 3, 1e-12, "one at a time");
    near(one.ttft_s.mean, (0.1 + 0.18 + 0.1) / 3, 1e-12, "first tokens");
    near(one.energy_per_query_j, (3 * 50 + 34 * 3 + 40 * (1.28 - 0.64)) / 3, 1e-12, "energy");
    near(one.busy, 0.64 / 1.28, 1e-12, "at work");
    assert_true(one.queries == 3 && isnan(one.latency_s.p99_within));
    /* two replicas take turns, and each waits until the other has answered */
    const adept_mix_result two = follow(rows, 3, &fixed, 1, 1, 2);
    near(two.latency_s.mean, (0.18 + 0.18 + 0.28) / 3, 1e-12, "two replicas");
    near(two.energy_per_query_j, (3 * 50 + 34 * 3 + 40 * (2 * 1.28 - 0.64)) / 3, 1e-12, "energy of both");
}

/* Two stages of 60 and 40 % of a pass. Two queries at once, each in its turn: prompts leave the stages after 0.1 and
 * 0.16 s. A's first token waits for B's prompt in both, until 0.164 s, B's comes at 0.17 s; from 0.16 s on the first
 * stage has a token every 6 ms, so that A's k-th is there at 0.176 + 0.012 (k - 2), B's 6 ms later. */
static void in_a_pipeline(void **state)
{
    (void)state;
    static double two_prompt_s[] = {0.06, 0.04}, two_token_s[] = {0.006, 0.004};
    adept_pass_table table = fixed;
    table.n_stages = 2, table.wait_w = 10;
    table.prompts.time_s = two_prompt_s, table.tokens.time_s = two_token_s;
    const adept_mix_row rows[] = {{100, 8, 1, 0}, {100, 8, 1, 0}};
    const double a_s = 0.176 + 6 * 0.012, b_s = a_s + 0.006;
    const adept_mix_result r = follow(rows, 2, &table, 1, 2, 1);
    near(r.ttft_s.mean, (0.1 + 0.16) / 2, 1e-12, "first tokens");
    near(r.latency_s.mean, (a_s + b_s) / 2, 1e-12, "answers");
    near(r.energy_per_query_j, (2 * 50 + 16 * 3 + 10 * b_s) / 2, 1e-12, "energy");
    /* a batch alone goes through all stages for each token: as if there were one */
    const adept_mix_result turn = simulate(&eight, 1, &table, 3, 4, 20000, 5),
                           whole = simulate(&eight, 1, &fixed, 3, 4, 20000, 5);
    near(turn.latency_s.mean, whole.latency_s.mean, 1e-9, "one turn");
    near(turn.latency_s.p99, whole.latency_s.p99, 1e-9, "one turn");
    /* two turns answer more than one, and as much as the slowest stage lets through */
    adept_mix_result out;
    adept_error err = {0};
    adept_traffic t = {.rate_per_s = 100, .most = 1, .turns = 2, .queries = 20000, .seed = 1};
    assert_int_equal(adept_mix_simulate(&out, rows, 1, &table, &t, &err), ADEPT_OK);
    assert_false(out.steady);
    assert_true(out.queries_per_s > 1 / 0.18 && out.queries_per_s <= 1 / (0.06 + 8 * 0.006));
    t.turns = 16; /* tokens wait behind prompts in the second stage, so that three leave the first one idle */
    assert_int_equal(adept_mix_simulate(&out, rows, 1, &table, &t, &err), ADEPT_OK);
    near(out.queries_per_s, 1 / (0.06 + 8 * 0.006), 0.02, "the slowest stage");
    /* chunks that have room for every prompt: the same again */
    t.rate_per_s = 5, t.turns = 2;
    assert_int_equal(adept_mix_simulate(&out, rows, 1, &table, &t, &err), ADEPT_OK);
    const adept_mix_result prompts_whole = out;
    table.chunks = table.prompts, table.chunk = 1000;
    assert_int_equal(adept_mix_simulate(&out, rows, 1, &table, &t, &err), ADEPT_OK);
    near(out.latency_s.mean, prompts_whole.latency_s.mean, 0.01, "chunks");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(batches_of_one_are_m_d_1),
        cmocka_unit_test(alone),
        cmocka_unit_test(in_chunks),
        cmocka_unit_test(any_queue),
        cmocka_unit_test(of_a_trace),
        cmocka_unit_test(in_a_pipeline),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
