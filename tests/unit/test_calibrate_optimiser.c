/* Differential evolution, polish and thread pool on functions whose minimum is known. */
#include "adept_calibrate.h"
#include "differential_evolution.h"
#include "polish.h"
#include "worker_pool.h"
#include "cmocka_test.h"
#include <stdatomic.h>

#define N 6
#define PI 3.14159265358979323846

/* ---- functions on the unit cube ---- */

static double scaled(double unit, double low, double high)
{
    return low + unit * (high - low);
}

/* Minimum 0 where all x are 1; bounds -2 .. 3. */
static double rosenbrock(const void *context, const double *unit, double *scratch)
{
    (void)context;
    double sum = 0.0;
    for (size_t i = 0; i < N; i++)
        scratch[i] = scaled(unit[i], -2.0, 3.0);
    for (size_t i = 0; i + 1 < N; i++) {
        double a = scratch[i + 1] - scratch[i] * scratch[i], b = 1.0 - scratch[i];
        sum += 100.0 * a * a + b * b;
    }
    return sum;
}

/* Minimum 0 at 0 among 11^6 local ones; bounds -4 .. 5.12, so that the cube's centre is not the minimum. */
static double rastrigin(const void *context, const double *unit, double *scratch)
{
    (void)context;
    (void)scratch;
    double sum = 10.0 * N;
    for (size_t i = 0; i < N; i++) {
        double x = scaled(unit[i], -4.0, 5.12);
        sum += x * x - 10.0 * cos(2.0 * PI * x);
    }
    return sum;
}

/* Sum of |x - t|: minimum 0 at a corner of the function; t[0] lies outside, so its gene ends on the bound. */
static const double targets[N] = {-0.2, 0.15, 0.5, 0.77, 0.9, 1.0};

static double absolute(const void *context, const double *unit, double *scratch)
{
    (void)context;
    (void)scratch;
    double sum = 0.0;
    for (size_t i = 0; i < N; i++)
        sum += fabs(unit[i] - targets[i]);
    return sum;
}

static double infinite_half(const void *context, const double *unit, double *scratch)
{
    return unit[0] < 0.5 ? NAN : absolute(context, unit, scratch);
}

/* ---- differential evolution ---- */

static adept_de_settings settings(void)
{
    return (adept_de_settings){.n_population = 15 * N,
                               .max_generations = 3000,
                               .mutation_low = 0.5,
                               .mutation_high = 1.5,
                               .crossover = 0.7,
                               .tol = 0.01,
                               .seed = 7};
}

/* What a run has come to after so many generations. */
typedef struct kept {
    int generations;
    adept_de_view view; /* with copies of */
    double *population, *losses;
} kept;

static bool keep(void *context, const adept_de_view *now)
{
    kept *k = context;
    k->view = *now;
    k->view.population = memcpy(k->population, now->population, now->n_population * now->n * sizeof *k->population);
    k->view.losses = memcpy(k->losses, now->losses, now->n_population * sizeof *k->losses);
    return now->generation < k->generations;
}

static kept run(adept_loss_fn *loss, const adept_de_settings *s, const double *start, int threads, int generations)
{
    adept_pool *pool = adept_pool_new(threads);
    kept k = {.generations = generations,
              .population = calloc(s->n_population, N * sizeof(double)),
              .losses = calloc(s->n_population, sizeof(double))};
    assert_true(k.population && k.losses);
    adept_de_problem problem = {
        .n = N, .loss = loss, .n_scratch = N, .start = start, .watch = keep, .watch_context = &k};
    adept_error err = {0};
    if (adept_de_run(&problem, s, pool, &err) != ADEPT_OK) fail_msg("%s", err.message);
    adept_pool_free(pool);
    return k;
}

static void forget(kept *k)
{
    free(k->population);
    free(k->losses);
}

static void finds_minimum(adept_loss_fn *loss, adept_de_settings s, double highest)
{
    kept k = run(loss, &s, NULL, 1, s.max_generations);
    adept_de_view v = k.view;
    if (!(v.losses[v.best] <= highest)) fail_msg("%g after %d generations", v.losses[v.best], v.generation);
    assert_true(v.evaluations == (double)v.n_population * (v.generation + 1));
    assert_true(v.converged);
    forget(&k);
}

static void evolution_finds_known_minima(void **state)
{
    (void)state;
    adept_de_settings s = settings();
    s.tol = 0.0;
    s.good_enough = 1e-6;
    finds_minimum(rosenbrock, s, 1e-6);
    finds_minimum(rastrigin, s, 1e-6);
    s.good_enough = 0.2 + 1e-6; /* of the gene whose target is outside */
    finds_minimum(absolute, s, 0.2 + 1e-6);
    s.strategy = ADEPT_DE_RAND1BIN;
    s.bounds = ADEPT_DE_CLIP;
    finds_minimum(absolute, s, 0.2 + 1e-6);
    s.good_enough = 1e-6;
    finds_minimum(rosenbrock, s, 1e-6);
}

static void losses_that_are_not_finite_lose(void **state)
{
    (void)state;
    adept_de_settings s = settings();
    kept first = run(infinite_half, &s, NULL, 1, 0);
    assert_true(isinf(first.view.std) && !first.view.converged);
    forget(&first);
    kept k = run(infinite_half, &s, NULL, 1, 1000);
    adept_de_view v = k.view;
    for (size_t i = 0; i < v.n_population; i++)
        assert_true(isfinite(v.losses[i]) && v.population[i * N] >= 0.5);
    assert_true(v.losses[v.best] < 0.7 + 0.05);
    forget(&k);
}

/* In each dimension, one individual in each of as many equal parts as there are individuals. */
static void the_first_population_is_a_latin_hypercube(void **state)
{
    (void)state;
    adept_de_settings s = settings();
    kept k = run(absolute, &s, NULL, 1, 0);
    adept_de_view v = k.view;
    for (size_t j = 0; j < N; j++) {
        bool seen[15 * N] = {false};
        for (size_t i = 0; i < v.n_population; i++) {
            size_t part = (size_t)(v.population[i * N + j] * (double)v.n_population);
            assert_true(part < v.n_population && !seen[part]);
            seen[part] = true;
        }
    }
    forget(&k);
}

static bool never_above(void *context, const adept_de_view *now)
{
    assert_true(now->losses[now->best] <= *(const double *)context);
    if (now->generation == 0) assert_true(now->losses[0] == *(const double *)context);
    return now->generation < 50;
}

static void the_start_is_an_individual_and_is_never_lost(void **state)
{
    (void)state;
    static const double optimum[N] = {0.0, 0.15, 0.5, 0.77, 0.9, 1.0};
    adept_pool *pool = adept_pool_new(1);
    adept_de_settings s = settings();
    kept first = run(absolute, &s, optimum, 1, 0);
    assert_memory_equal(first.population, optimum, sizeof optimum);
    forget(&first);
    double loss = absolute(NULL, optimum, NULL);
    adept_de_problem problem = {
        .n = N, .loss = absolute, .n_scratch = N, .start = optimum, .watch = never_above, .watch_context = &loss};
    assert_int_equal(adept_de_run(&problem, &s, pool, NULL), ADEPT_OK);
    adept_pool_free(pool);
}

/* Population after 40 generations, with this number of threads. */
static double *population_after(int threads, uint64_t seed)
{
    adept_de_settings s = settings();
    s.seed = seed;
    s.tol = 0.0;
    kept k = run(rastrigin, &s, NULL, threads, 40);
    assert_int_equal(k.view.generation, 40);
    free(k.losses);
    return k.population;
}

static void threads_do_not_change_a_bit(void **state)
{
    (void)state;
    size_t size = 15 * N * N * sizeof(double);
    double *one = population_after(1, 7), *two = population_after(2, 7), *five = population_after(5, 7);
    double *other = population_after(1, 8);
    assert_memory_equal(one, two, size);
    assert_memory_equal(one, five, size);
    assert_memory_not_equal(one, other, size);
    free(one);
    free(two);
    free(five);
    free(other);
}

/* ---- trial vectors: what scipy's conventions say about them ---- */

typedef struct recorder {
    double seen[15 * N][N]; /* trial vectors of the first generation */
    atomic_size_t n;
    double first[15 * N * N]; /* the population they come from */
    size_t best;
} recorder;

static bool record_first(void *context, const adept_de_view *now)
{
    recorder *r = context;
    if (now->generation > 0) return false;
    memcpy(r->first, now->population, now->n_population * now->n * sizeof r->first[0]);
    r->best = now->best;
    atomic_store(&r->n, 0);
    return true;
}

static double record(const void *context, const double *unit, double *scratch)
{
    (void)scratch;
    recorder *r = *(recorder *const *)context;
    size_t i = atomic_fetch_add(&r->n, 1);
    if (i < 15 * N) memcpy(r->seen[i], unit, N * sizeof *unit);
    return absolute(NULL, unit, NULL);
}

/* Genes that the trial vectors of the first generation change, all together; each changes one at least. */
static int changed_genes(double crossover)
{
    recorder *r = calloc(1, sizeof *r);
    assert_non_null(r);
    adept_pool *pool = adept_pool_new(1);
    adept_de_settings s = settings();
    s.crossover = crossover;
    adept_de_problem problem = {
        .n = N, .loss = record, .context = &r, .n_scratch = N, .watch = record_first, .watch_context = r};
    int total = 0;
    assert_int_equal(adept_de_run(&problem, &s, pool, NULL), ADEPT_OK);
    assert_int_equal(atomic_load(&r->n), 15 * N);
    for (size_t i = 0; i < 15 * N; i++) {
        int changed = 0;
        for (size_t j = 0; j < N; j++) {
            changed += r->seen[i][j] != r->first[i * N + j];
            assert_true(r->seen[i][j] >= 0.0 && r->seen[i][j] <= 1.0);
        }
        assert_true(changed >= 1);
        total += changed;
    }
    adept_pool_free(pool);
    free(r);
    return total;
}

static void crossover_changes_a_share_of_the_genes_and_at_least_one(void **state)
{
    (void)state;
    int n = 15 * N;
    assert_int_equal(changed_genes(0.0), n); /* the forced ones */
    assert_int_equal(changed_genes(1.0), n * N);
    double mean = (double)changed_genes(0.7) / n; /* 1 + 0.7 * 5 = 4.5 expected, standard error 0.11 */
    if (fabs(mean - 4.5) > 0.4) fail_msg("%g", mean);
}

#define PAIRS 30 /* individuals of two genes */

static double record_pair(const void *context, const double *unit, double *scratch)
{
    (void)scratch;
    recorder *r = *(recorder *const *)context;
    size_t i = atomic_fetch_add(&r->n, 1);
    if (i < PAIRS) memcpy(r->seen[i], unit, 2 * sizeof *unit);
    return fabs(unit[0] - 0.4) + fabs(unit[1] - 0.6);
}

/* F of trial = base + F * (plus - minus), by trying all that plus and minus (and base) may be; 0 if nothing fits. */
static double mutation_of(const double old[PAIRS][2], const double *trial, size_t self, size_t best, bool from_best)
{
    for (size_t base = from_best ? best : 0; base < (from_best ? best + 1 : PAIRS); base++) {
        if (!from_best && base == self) continue;
        for (size_t plus = 0; plus < PAIRS; plus++) {
            for (size_t minus = 0; minus < PAIRS; minus++) {
                bool different = plus != minus && plus != self && minus != self;
                if (!different || (!from_best && (plus == base || minus == base))) continue;
                double f = (trial[0] - old[base][0]) / (old[plus][0] - old[minus][0]);
                if (f < 0.5 || f > 1.5) continue;
                if (fabs(old[base][1] + f * (old[plus][1] - old[minus][1]) - trial[1]) < 1e-13) return f;
            }
        }
    }
    return 0.0;
}

/* The F of the first generation, which all its trial vectors share. Later ones have clipped genes in their population,
 * which more than one F explains. */
static double mutation_of_generation(adept_de_strategy strategy, uint64_t seed, adept_pool *pool)
{
    recorder *r = calloc(1, sizeof *r);
    assert_non_null(r);
    adept_de_settings s = settings();
    s.strategy = strategy;
    s.crossover = 1.0; /* every gene is of the mutant */
    s.n_population = PAIRS;
    s.bounds = ADEPT_DE_CLIP;
    s.seed = seed;
    adept_de_problem problem = {
        .n = 2, .loss = record_pair, .context = &r, .n_scratch = 1, .watch = record_first, .watch_context = r};
    double old[PAIRS][2], found = 0.0;
    int n_found = 0;
    assert_int_equal(adept_de_run(&problem, &s, pool, NULL), ADEPT_OK);
    memcpy(old, r->first, sizeof old);
    for (size_t i = 0; i < PAIRS; i++) {
        const double *trial = r->seen[i];
        if (trial[0] <= 0.0 || trial[0] >= 1.0 || trial[1] <= 0.0 || trial[1] >= 1.0) continue; /* clipped */
        double f = mutation_of(old, trial, i, r->best, strategy == ADEPT_DE_BEST1BIN);
        if (f == 0.0) fail_msg("individual %zu: no such mutant", i);
        if (n_found++ > 0 && fabs(f - found) > 1e-9) fail_msg("F = %g and %g in one generation", f, found);
        found = f;
    }
    assert_true(n_found > 3);
    free(r);
    return found;
}

static void one_dithered_mutation_a_generation(void **state)
{
    (void)state;
    adept_pool *pool = adept_pool_new(1);
    double lowest = 2.0, highest = 0.0;
    for (uint64_t seed = 1; seed <= 10; seed++) {
        double best = mutation_of_generation(ADEPT_DE_BEST1BIN, seed, pool);
        double rand = mutation_of_generation(ADEPT_DE_RAND1BIN, seed, pool);
        lowest = fmin(lowest, fmin(best, rand));
        highest = fmax(highest, fmax(best, rand));
    }
    assert_true(lowest < 0.8 && highest > 1.2); /* of 0.5 to 1.5 */
    adept_pool_free(pool);
}

/* ---- polish ---- */

static double smooth_absolute(void *context, const double *unit, double smoothing, double *gradient, double *exact)
{
    (void)context;
    double sum = 0.0;
    *exact = absolute(NULL, unit, NULL);
    for (size_t i = 0; i < N; i++) {
        double d = unit[i] - targets[i], root = sqrt(d * d + smoothing * smoothing);
        sum += root - smoothing;
        if (gradient) gradient[i] = root > 0.0 ? d / root : 0.0;
    }
    return sum;
}

static double smooth_rosenbrock(void *context, const double *unit, double smoothing, double *gradient, double *exact)
{
    (void)smoothing;
    double scratch[N], *x = scratch;
    *exact = rosenbrock(context, unit, scratch);
    for (size_t i = 0; gradient && i < N; i++) {
        double g = 0.0;
        if (i + 1 < N) g += -400.0 * x[i] * (x[i + 1] - x[i] * x[i]) - 2.0 * (1.0 - x[i]);
        if (i > 0) g += 200.0 * (x[i] - x[i - 1] * x[i - 1]);
        gradient[i] = 5.0 * g; /* width of the bounds */
    }
    return *exact;
}

static double polished(adept_smooth_fn *smooth, const volatile sig_atomic_t *stop, double *unit, double *evaluations)
{
    adept_polish_problem problem = {.n = N, .smooth = smooth, .stop = stop};
    double loss;
    adept_error err = {0};
    smooth(NULL, unit, 0.0, NULL, &loss);
    if (adept_polish(&problem, unit, &loss, evaluations, &err) != ADEPT_OK) fail_msg("%s", err.message);
    double check;
    smooth(NULL, unit, 0.0, NULL, &check);
    assert_true(check == loss);
    return loss;
}

static void the_polish_reaches_the_corner(void **state)
{
    (void)state;
    double unit[N] = {0.5, 0.5, 0.1, 0.5, 0.5, 0.5}, evaluations = 0.0;
    double loss = polished(smooth_absolute, NULL, unit, &evaluations);
    if (fabs(loss - 0.2) > 1e-6) fail_msg("%.9g", loss);
    assert_true(evaluations > 0.0);
    assert_true(unit[0] == 0.0);
}

static void the_polish_follows_the_valley(void **state)
{
    (void)state;
    double unit[N] = {0.4, 0.5, 0.5, 0.5, 0.5, 0.5}, evaluations = 0.0; /* 0, 0.5, 0.5 ... */
    double loss = polished(smooth_rosenbrock, NULL, unit, &evaluations);
    if (loss > 1e-10) fail_msg("%g", loss);
}

static void the_polish_never_loses_its_start(void **state)
{
    (void)state;
    double optimum[N] = {0.0, 0.15, 0.5, 0.77, 0.9, 1.0}, unit[N], evaluations = 0.0;
    memcpy(unit, optimum, sizeof unit);
    assert_true(polished(smooth_absolute, NULL, unit, &evaluations) <= 0.2);
    volatile sig_atomic_t stop = 1;
    double far[N] = {0.5, 0.5, 0.5, 0.5, 0.5, 0.5}, before = absolute(NULL, far, NULL);
    assert_true(polished(smooth_absolute, &stop, far, &evaluations) <= before);
}

/* ---- thread pool ---- */

typedef struct counter {
    atomic_int visits[1000];
    size_t n;
} counter;

static void visit(void *context, int worker, size_t begin, size_t end)
{
    counter *c = context;
    assert_true(worker >= 0 && worker < 4 && begin < end && end <= c->n);
    for (size_t i = begin; i < end; i++)
        atomic_fetch_add(&c->visits[i], 1);
}

static void the_pool_visits_every_item_once(void **state)
{
    (void)state;
    static counter c;
    static const size_t sizes[] = {0, 1, 7, 8, 9, 1000};
    adept_pool *pool = adept_pool_new(4);
    assert_int_equal(adept_pool_threads(pool), 4);
    for (int repeat = 0; repeat < 200; repeat++) {
        memset(&c, 0, sizeof c);
        c.n = sizes[repeat % 6];
        adept_pool_run(pool, visit, &c, c.n, 1 + repeat % 9);
        for (size_t i = 0; i < 1000; i++)
            assert_int_equal(atomic_load(&c.visits[i]), i < c.n);
    }
    adept_pool_free(pool);
    adept_pool_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(evolution_finds_known_minima),
        cmocka_unit_test(losses_that_are_not_finite_lose),
        cmocka_unit_test(the_first_population_is_a_latin_hypercube),
        cmocka_unit_test(the_start_is_an_individual_and_is_never_lost),
        cmocka_unit_test(threads_do_not_change_a_bit),
        cmocka_unit_test(crossover_changes_a_share_of_the_genes_and_at_least_one),
        cmocka_unit_test(one_dithered_mutation_a_generation),
        cmocka_unit_test(the_polish_reaches_the_corner),
        cmocka_unit_test(the_polish_follows_the_valley),
        cmocka_unit_test(the_polish_never_loses_its_start),
        cmocka_unit_test(the_pool_visits_every_item_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
