/* Eight threads load at the same time, and predict from shared handles: the same bits in each. Under ThreadSanitizer
 * (-DADEPT_SANITIZE=thread) also: no races. A program may fork meanwhile. */
#include "fake_sys.h"
#include "cmocka_test.h"
#include <adept/adept.h>
#include <adept/measure.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

#define MLP ADEPT_SOURCE_DIR "/tests/cli/data/mlp.profile.json"
#define THREADS 8
#define REQUESTS 256
#define ROUNDS 20
#define VARIANTS 4
#define CHILDREN 200
#ifdef ADEPT_SANITIZED /* whose own locks may be held at a fork */
#define MAY_FORK 0
#else
#define MAY_FORK 1
#endif

static const adept_model_options variants[VARIANTS] = {
    {0}, {.batch_size = 7}, {.mode = "infer", .precision = "fp16"}, {.precision = "pure-bf16", .batch_size = 999}};

typedef struct shared {
    const adept_workload *workload;
    const adept_gpu *gpu;
    adept_request requests[REQUESTS];
    adept_estimate expected[REQUESTS];
    char *walked[VARIANTS]; /* JSON of the workload under each of them */
} shared;

typedef struct worker {
    pthread_t thread;
    const shared *common;
    size_t n_wrong;
} worker;

static void *predict(void *argument)
{
    worker *w = argument;
    adept_estimate *out = calloc(REQUESTS, sizeof *out);
    if (!out) w->n_wrong++;
    for (int round = 0; out && round < ROUNDS; round++) {
        w->n_wrong += adept_predict_many(out, w->common->requests, REQUESTS, NULL) != ADEPT_OK;
        w->n_wrong += memcmp(out, w->common->expected, REQUESTS * sizeof *out) != 0;
        adept_choice choice;
        const adept_goal goal = {.objective = ADEPT_LEAST_EDP, .samples = 1e6};
        w->n_wrong += adept_choose(&choice, NULL, out, REQUESTS, &goal, NULL) != ADEPT_OK;
    }
    free(out);
    return NULL;
}

/* Everything but free() on shared handles, and handles of its own. */
static void *load(void *argument)
{
    worker *w = argument;
    for (int round = 0; round < ROUNDS; round++) {
        adept_workload *workload = NULL, *at = NULL;
        adept_gpu *gpu = NULL;
        adept_oracle *own = NULL, *common = NULL;
        adept_workload_info info;
        char *a = NULL, *b = NULL;
        adept_estimate e;
        w->n_wrong += adept_workload_open(&workload, MLP, NULL, NULL) != ADEPT_OK;
        w->n_wrong += adept_gpu_open(&gpu, "a100", NULL) != ADEPT_OK;
        if (w->n_wrong > 0) return NULL;
        w->n_wrong += adept_oracle_new(&own, workload, gpu, NULL, NULL) != ADEPT_OK;
        w->n_wrong += adept_oracle_new(&common, w->common->workload, w->common->gpu, "model", NULL) != ADEPT_OK;
        int k = round % VARIANTS; /* several threads walk the common graph at the same time */
        w->n_wrong += adept_workload_with(&at, w->common->workload, &variants[k], NULL) != ADEPT_OK;
        if (w->n_wrong > 0) return NULL;
        w->n_wrong += adept_workload_to_json(&a, at, NULL) != ADEPT_OK || strcmp(a, w->common->walked[k]) != 0;
        adept_text_free(a);
        a = NULL;
        adept_workload_describe(&info, w->common->workload);
        w->n_wrong += info.batch_size != 256;
        adept_request request = w->common->requests[1];
        request.oracle = own;
        w->n_wrong += adept_predict_one(&e, &request, NULL) != ADEPT_OK;
        w->n_wrong += memcmp(&e, &w->common->expected[1], sizeof e) != 0;
        w->n_wrong += adept_predict_json(&a, &request, NULL) != ADEPT_OK;
        w->n_wrong += adept_workload_to_json(&b, w->common->workload, NULL) != ADEPT_OK;
        w->n_wrong += adept_gpu_open(&gpu, "no such", NULL) != ADEPT_E_UNKNOWN_GPU;
        adept_text_free(a);
        adept_text_free(b);
        adept_oracle_free(own);
        adept_oracle_free(common);
        adept_gpu_free(gpu);
        adept_workload_free(at);
        adept_workload_free(workload);
    }
    return NULL;
}

static void threads_agree(void **state)
{
    (void)state;
    static shared common;
    worker workers[THREADS];
    adept_workload *workload = NULL;
    adept_gpu *gpu = NULL;
    adept_oracle *oracles[2] = {NULL, NULL};
    assert_int_equal(adept_workload_open(&workload, MLP, NULL, NULL), ADEPT_OK);
    for (int i = 0; i < VARIANTS; i++) {
        adept_workload *at = NULL;
        assert_int_equal(adept_workload_with(&at, workload, &variants[i], NULL), ADEPT_OK);
        assert_int_equal(adept_workload_to_json(&common.walked[i], at, NULL), ADEPT_OK);
        adept_workload_free(at);
    }
    assert_int_equal(adept_gpu_open(&gpu, "a100", NULL), ADEPT_OK);
    assert_int_equal(adept_oracle_new(&oracles[0], workload, gpu, "model", NULL), ADEPT_OK);
    assert_int_equal(adept_oracle_new(&oracles[1], workload, gpu, NULL, NULL), ADEPT_OK);
    common.workload = workload;
    common.gpu = gpu;
    for (int i = 0; i < REQUESTS; i++)
        common.requests[i] =
            (adept_request){.oracle = oracles[i % 2], .gpus = 1 + i % 9, .power_limit_w = 150 + i % 200};
    assert_int_equal(adept_predict_many(common.expected, common.requests, REQUESTS, NULL), ADEPT_OK);
    for (int i = 0; i < THREADS; i++) {
        workers[i] = (worker){.common = &common};
        assert_int_equal(pthread_create(&workers[i].thread, NULL, i % 2 ? load : predict, &workers[i]), 0);
    }
    size_t n_wrong = 0;
    for (int i = 0; i < THREADS; i++) {
        pthread_join(workers[i].thread, NULL);
        n_wrong += workers[i].n_wrong;
    }
    assert_int_equal(n_wrong, 0);
    for (int i = 0; i < VARIANTS; i++)
        adept_text_free(common.walked[i]);
    adept_oracle_free(oracles[0]);
    adept_oracle_free(oracles[1]);
    adept_gpu_free(gpu);
    adept_workload_free(workload);
}

static void *read_until(void *stop)
{
    while (!atomic_load((atomic_bool *)stop)) {
        adept_workload *workload = NULL;
        if (adept_workload_open(&workload, MLP, NULL, NULL) != ADEPT_OK) return stop;
        adept_workload_free(workload);
    }
    return NULL;
}

/* A lock that a thread held while its program forked is never released in the child. */
static void children_read_too(void **state)
{
    (void)state;
    if (!MAY_FORK) skip();
    static atomic_bool stop;
    pthread_t threads[2];
    int n_bad = 0;
    for (int i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, read_until, &stop), 0);
    for (int i = 0; i < CHILDREN && n_bad == 0; i++) {
        pid_t child = fork();
        if (child == 0) {
            adept_workload *workload = NULL;
            adept_gpu *gpu = NULL;
            alarm(60);
            _exit(adept_workload_open(&workload, MLP, NULL, NULL) != ADEPT_OK ||
                  adept_gpu_open(&gpu, "a100", NULL) != ADEPT_OK);
        }
        int status = 0;
        n_bad += child < 0 || waitpid(child, &status, 0) != child || status != 0;
    }
    atomic_store(&stop, true);
    for (int i = 0; i < 2; i++) {
        void *failed = NULL;
        pthread_join(threads[i], &failed);
        assert_null(failed);
    }
    assert_int_equal(n_bad, 0);
}

/* A measurement's threads do not live in a child, nor is anybody there to release what they held. */
static void children_leave_measurements_alone(void **state)
{
    (void)state;
    if (!MAY_FORK) skip();
    fake_sys *sys = fake_sys_new();
    fake_sys_put(sys, "/sys/class/powercap/intel-rapl:0/name", "package-0");
    fake_sys_put(sys, "/sys/class/powercap/intel-rapl:0/max_energy_range_uj", "262143328850");
    fake_sys_put(sys, "/sys/class/powercap/intel-rapl:0/energy_uj", "1000");
    const adept_measure_options options = {.period_s = 0.001, .sysroot = fake_sys_root(sys)};
    for (int i = 0; i < CHILDREN; i++) {
        adept_measurement *m = NULL;
        assert_int_equal(adept_measure_start(&m, &options, NULL), ADEPT_OK);
        usleep(2000);
        pid_t child = fork();
        if (child == 0) {
            adept_measured measured;
            adept_error err = {0};
            alarm(60);
            adept_measure_leave(m, adept_measure_enter(m, "step"));
            adept_measure_stop(m);
            adept_status status = adept_measure_read(&measured, m, NULL, NULL, &err);
            adept_measure_free(m);
            _exit(status != ADEPT_E_USAGE || !strstr(err.message, "before fork()"));
        }
        int status = 0;
        assert_true(child > 0 && waitpid(child, &status, 0) == child);
        assert_int_equal(status, 0);
        adept_measure_stop(m);
        adept_measured measured;
        assert_int_equal(adept_measure_read(&measured, m, NULL, NULL, NULL), ADEPT_OK);
        assert_int_equal(adept_measure_read(&measured, m, NULL, "step", NULL), ADEPT_E_USAGE); /* the child's */
        adept_measure_free(m);
    }
    fake_sys_free(sys);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(threads_agree), cmocka_unit_test(children_read_too),
                                       cmocka_unit_test(children_leave_measurements_alone)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
