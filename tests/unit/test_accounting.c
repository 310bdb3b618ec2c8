/* Energy of nodes given to jobs: who gets what, by hand, and that nothing is lost or made, over random recordings. */
#include "adept_accounting.h"
#include "cmocka_test.h"

#define MOST 64
#define MOST_TIMES 64

/* A recording by hand: zeroed, then made of the calls below. */
typedef struct toy {
    adept_activity_log log;
    adept_process processes[MOST];
    adept_activity_interval intervals[MOST_TIMES];
    adept_activity activities[MOST_TIMES][MOST];
    adept_gpu_use uses[MOST_TIMES][MOST];
    adept_meter_log meters[8];
    adept_sample samples[8][MOST_TIMES + 1];
} toy;

/* n intervals of a length from 1000 s on; all processors are idle. */
static toy *toy_new(size_t n, double period_s, int n_cpus)
{
    toy *t = calloc(1, sizeof *t);
    assert_non_null(t);
    t->log = (adept_activity_log){.host = "n1",
                                  .period_s = period_s,
                                  .n_cpus = n_cpus,
                                  .processes = t->processes,
                                  .intervals = t->intervals,
                                  .n_intervals = n,
                                  .meters = t->meters};
    for (size_t k = 0; k < n; k++)
        t->intervals[k] = (adept_activity_interval){.begin_s = 1000 + (double)k * period_s,
                                                    .end_s = 1000 + (double)(k + 1) * period_s,
                                                    .activities = t->activities[k],
                                                    .gpu_uses = t->uses[k]};
    return t;
}

/* A meter of constant power. */
static uint32_t meter(toy *t, const char *name, adept_component component, double power_w)
{
    size_t m = t->log.n_meters++;
    t->meters[m] = (adept_meter_log){.name = name,
                                     .source = "",
                                     .component = component,
                                     .samples = t->samples[m],
                                     .n_samples = t->log.n_intervals + 1};
    for (size_t k = 0; k <= t->log.n_intervals; k++)
        t->samples[m][k] =
            (adept_sample){1000 + (double)k * t->log.period_s, power_w * (double)k * t->log.period_s, power_w};
    return (uint32_t)m;
}

static uint32_t process(toy *t, int64_t job)
{
    size_t p = t->log.n_processes++;
    t->processes[p] =
        (adept_process){.pid = 100 + (int32_t)p, .uid = 1000, .command = "work", .cgroup = "", .job = job};
    return (uint32_t)p;
}

static void works(toy *t, size_t interval, uint32_t p, double cpu_s, double memory_bytes)
{
    adept_activity_interval *i = &t->intervals[interval];
    adept_activity *a = &t->activities[interval][i->n_activities++];
    *a = (adept_activity){.process = p, .values = {(float)cpu_s, NAN, NAN, NAN, NAN, NAN, (float)memory_bytes}};
    i->machine_cpu_s += cpu_s;
}

static void holds(toy *t, size_t interval, uint32_t p, uint32_t gpu, double utilization, double memory_bytes)
{
    adept_activity_interval *i = &t->intervals[interval];
    t->uses[interval][i->n_gpu_uses++] = (adept_gpu_use){p, gpu, (float)utilization, (float)memory_bytes, 0, 0};
}

/* On a MIG instance, whose use is not known; slices 0: its size neither. */
static void holds_slices(toy *t, size_t interval, uint32_t p, uint32_t gpu, uint32_t instance, float slices)
{
    adept_activity_interval *i = &t->intervals[interval];
    t->uses[interval][i->n_gpu_uses++] = (adept_gpu_use){p, gpu, NAN, NAN, instance, slices};
}

static adept_accounting *accounted(const toy *t, const adept_batch_jobs *jobs, const adept_accounting_options *options)
{
    const adept_recorded_node node = {.log = &t->log};
    adept_accounting *a = NULL;
    assert_int_equal(adept_account(&a, &node, 1, jobs, options, NULL), ADEPT_OK);
    return a;
}

/* job -1: system, -2: idle, -3: what is hidden */
static const adept_share *share_of(const adept_accounting *a, size_t node, int64_t job)
{
    for (size_t i = 0; i < a->n_shares; i++) {
        const adept_share *s = &a->shares[i];
        if (s->node != node) continue;
        if (job == -1 ? s->holder == ADEPT_HOLDER_SYSTEM : job == -2 ? s->holder == ADEPT_HOLDER_IDLE
            : job == -3 ? s->holder == ADEPT_HOLDER_HIDDEN : s->job == job)
            return s;
    }
    fail_msg("no share of %d", (int)job);
    return NULL;
}

static void gets(const adept_accounting *a, int64_t job, adept_energy_part part, double energy_j)
{
    double got = share_of(a, 0, job)->energy_j[part];
    if (fabs(got - energy_j) > 1e-6 * fmax(1, fabs(energy_j)))
        fail_msg("job %d has %g J of %s instead of %g", (int)job, got, adept_energy_part_name(part), energy_j);
}

static adept_batch_jobs *jobs_of(const char *sacct)
{
    adept_batch_jobs *jobs = adept_batch_jobs_new();
    adept_error err = {0};
    assert_non_null(jobs);
    if (adept_batch_jobs_add_sacct(jobs, "sacct", strdup(sacct), strlen(sacct), &err) != ADEPT_OK)
        fail_msg("%s", err.message);
    return jobs;
}

static const adept_accounting_options paper = {.cpu_base = ADEPT_CPU_BUSY};

static void three_to_one(void **state)
{
    (void)state;
    toy *t = toy_new(2, 1, 4);
    meter(t, "cpu-0", ADEPT_COMPONENT_CPU, 60);
    meter(t, "cpu-1", ADEPT_COMPONENT_CPU, 40);
    uint32_t a = process(t, 1), b = process(t, 2), b2 = process(t, 2);
    for (size_t k = 0; k < 2; k++) {
        works(t, k, a, 1.5, NAN);
        works(t, k, b, 0.25, NAN);
        works(t, k, b2, 0.25, NAN);
    }
    adept_accounting *x = accounted(t, NULL, &paper);
    gets(x, 1, ADEPT_ENERGY_CPU, 150);
    gets(x, 2, ADEPT_ENERGY_CPU, 50);
    gets(x, -1, ADEPT_ENERGY_CPU, 0);
    gets(x, -2, ADEPT_ENERGY_CPU, 0);
    assert_true(fabs(share_of(x, 0, 1)->cpu_time_s - 3) < 1e-6);
    assert_false(x->nodes[0].has[ADEPT_ENERGY_DRAM] || x->nodes[0].has[ADEPT_ENERGY_GPU] ||
                 x->nodes[0].has[ADEPT_ENERGY_GAP]);
    adept_accounting_free(x);

    x = accounted(t, NULL,
                  &(adept_accounting_options){.cpu_base = ADEPT_CPU_CAPACITY}); /* 2 of 4 processors were busy */
    gets(x, 1, ADEPT_ENERGY_CPU, 75);
    gets(x, 2, ADEPT_ENERGY_CPU, 25);
    gets(x, -2, ADEPT_ENERGY_CPU, 100);
    adept_accounting_free(x);
    free(t);
}

/* Processes of no job, and what /proc/stat counts beyond all processes; nobody at all. */
static void the_system_and_idleness(void **state)
{
    (void)state;
    toy *t = toy_new(3, 1, 2);
    meter(t, "cpu-0", ADEPT_COMPONENT_CPU, 100);
    uint32_t a = process(t, 1), daemon = process(t, -1);
    works(t, 0, a, 0.5, NAN);
    works(t, 0, daemon, 0.25, NAN);
    t->intervals[0].machine_cpu_s = 1;
    works(t, 1, a, 0.5, NAN);
    t->intervals[1].machine_cpu_s = 0.49; /* a tick less than its processes */
    adept_accounting *x = accounted(t, NULL, &paper);
    gets(x, 1, ADEPT_ENERGY_CPU, 50 + 100);
    gets(x, -1, ADEPT_ENERGY_CPU, 50);
    gets(x, -2, ADEPT_ENERGY_CPU, 100);
    adept_accounting_free(x);
    free(t);
}

static void idle_energy_first(void **state)
{
    (void)state;
    adept_idle_fit fit = {.host = "n1"};
    fit.lines[ADEPT_COMPONENT_CPU] = (adept_idle_line){.alpha_j = 4, .beta_w = 28, .n = 5};
    toy *t = toy_new(2, 1, 2);
    meter(t, "cpu-0", ADEPT_COMPONENT_CPU, 100);
    uint32_t a = process(t, 1), b = process(t, 2);
    works(t, 0, a, 0.3, NAN);
    works(t, 0, b, 0.1, NAN);
    works(t, 1, a, 0.01, NAN);
    const adept_recorded_node node = {.log = &t->log, .idle = &fit};
    adept_accounting *x;
    assert_int_equal(adept_account(&x, &node, 1, NULL, &paper, NULL), ADEPT_OK);
    gets(x, -2, ADEPT_ENERGY_CPU, 60); /* 4 + 28 x 2 */
    gets(x, 1, ADEPT_ENERGY_CPU, 70 * 0.75 + 70);
    gets(x, 2, ADEPT_ENERGY_CPU, 70 * 0.25);
    adept_accounting_free(x);
    free(t);
}

/* A job that begins and one that ends inside an interval: processors by their own time, the rest by when they were
 * there. */
static void jobs_begin_and_end_inside_an_interval(void **state)
{
    (void)state;
    adept_batch_jobs *jobs = jobs_of("JobID|Start|End\n1|990|1004\n2|1006|Unknown\n3|1000|1010\n");
    toy *t = toy_new(1, 10, 4);
    meter(t, "cpu-0", ADEPT_COMPONENT_CPU, 100);
    meter(t, "dram-0", ADEPT_COMPONENT_DRAM, 10);
    uint32_t g = meter(t, "gpu-0", ADEPT_COMPONENT_GPU, 200);
    uint32_t a = process(t, 1), b = process(t, 2), c = process(t, 3);
    works(t, 0, a, 6, 3e9);
    works(t, 0, b, 2, 1e9);
    works(t, 0, c, 2, 1e9);
    holds(t, 0, a, g, 0.5, 1e9);
    holds(t, 0, b, g, 0.9, 1e9);
    adept_accounting *x = accounted(t, jobs, &paper);
    gets(x, 1, ADEPT_ENERGY_CPU, 600);
    gets(x, 2, ADEPT_ENERGY_CPU, 200);
    gets(x, 1, ADEPT_ENERGY_DRAM, 40 * 0.75); /* 4 s beside job 3, then nobody for 2 s, then job 2 for 4 s */
    gets(x, 2, ADEPT_ENERGY_DRAM, 40 * 0.5);
    gets(x, 3, ADEPT_ENERGY_DRAM, 40 * 0.25 + 20 + 40 * 0.5);
    gets(x, 1, ADEPT_ENERGY_GPU, 800);
    gets(x, 2, ADEPT_ENERGY_GPU, 800);
    gets(x, -2, ADEPT_ENERGY_GPU, 400);
    assert_true(fabs(share_of(x, 0, 1)->gpu_time_s - 4) < 1e-9);
    adept_accounting_free(x);
    adept_batch_jobs_free(jobs);
    free(t);
}

/* A job across borders of intervals gets of each what it did there. */
static void a_job_across_intervals(void **state)
{
    (void)state;
    toy *t = toy_new(3, 1, 2);
    meter(t, "cpu-0", ADEPT_COMPONENT_CPU, 0);
    for (size_t k = 0; k < 4; k++) /* 10 W, 20 W, 30 W */
        t->samples[0][k].energy_j = (const double[]){0, 10, 30, 60}[k];
    uint32_t a = process(t, 1), b = process(t, 2);
    works(t, 0, a, 0.2, NAN);
    works(t, 0, b, 0.8, NAN);
    works(t, 1, a, 1, NAN);
    works(t, 2, a, 0.3, NAN);
    works(t, 2, b, 0.1, NAN);
    adept_accounting *x = accounted(t, NULL, &paper);
    gets(x, 1, ADEPT_ENERGY_CPU, 2 + 20 + 22.5);
    gets(x, 2, ADEPT_ENERGY_CPU, 8 + 7.5);
    adept_accounting_free(x);
    free(t);
}

static void gpus_by_holder_and_use(void **state)
{
    (void)state;
    adept_batch_jobs *jobs = jobs_of("JobID|AllocTRES\n1|cpu=4,gres/gpu=2,node=2\n2|gres/gpu:h100=2,node=1\n");
    toy *t = toy_new(6, 1, 2);
    uint32_t g0 = meter(t, "gpu-0", ADEPT_COMPONENT_GPU, 300), g1 = meter(t, "gpu-1", ADEPT_COMPONENT_GPU, 100);
    uint32_t a = process(t, 1), b = process(t, 3), b2 = process(t, 3), daemon = process(t, -1), c = process(t, 2);
    holds(t, 0, a, g0, 0.01, 8e9); /* alone; the daemon beside it does not count; gpu-1 is nobody's */
    holds(t, 0, daemon, g0, 0.5, NAN);
    holds(t, 1, a, g0, 0.30, 8e9);
    holds(t, 1, b, g0, 0.25, NAN);
    holds(t, 1, b2, g0, 0.35, NAN);
    holds(t, 2, a, g0, 0, 8e9); /* nobody uses it: alike */
    holds(t, 2, b, g0, NAN, 8e9);
    holds(t, 3, daemon, g1, 0.1, NAN);
    works(t, 3, b, 1, NAN);
    works(t, 4, c, 1, NAN); /* given both GPUs, and no process on them yet */
    holds(t, 5, c, g1, 0.999, 8e9);
    works(t, 5, a, 1, NAN);
    const adept_accounting_options options = {.gpu_memory_bytes = 80e9};
    adept_accounting *x = accounted(t, jobs, &options);
    gets(x, 1, ADEPT_ENERGY_GPU, 300 + 100 + 150);
    gets(x, 3, ADEPT_ENERGY_GPU, 200 + 150);
    gets(x, -1, ADEPT_ENERGY_GPU, 100);
    gets(x, 2, ADEPT_ENERGY_GPU, 400 + 100 + 300);
    gets(x, -2, ADEPT_ENERGY_GPU, 100 * 3 + 300);
    const adept_use_histogram *h = &share_of(x, 0, 1)->multiprocessors;
    assert_true(h->time_s[0] == 2 && h->time_s[6] + h->time_s[5] == 1 && h->total_s == 3);
    assert_true(fabs(adept_use_mean(h) - 0.31 / 3) < 1e-6);
    assert_true(share_of(x, 0, 2)->multiprocessors.time_s[19] == 1);
    assert_true(share_of(x, 0, 1)->memory.time_s[2] + share_of(x, 0, 1)->memory.time_s[1] == 3);
    assert_true(isnan(adept_use_mean(&share_of(x, 0, -1)->memory)));
    adept_accounting_free(x);
    adept_batch_jobs_free(jobs);
    free(t);
}

static void between(const adept_accounting *a, int64_t job, double low_j, double high_j)
{
    const adept_share *s = share_of(a, 0, job);
    if (fabs(s->gpu_low_j - low_j) > 1e-6 || fabs(s->gpu_high_j - high_j) > 1e-6)
        fail_msg("job %d has %g to %g J instead of %g to %g", (int)job, s->gpu_low_j, s->gpu_high_j, low_j, high_j);
}

/* Under MIG nothing tells what each uses: the size of slices gives it out, by the driver, by accounting, or not at all.
 */
static void slices_of_a_gpu(void **state)
{
    (void)state;
    adept_batch_jobs *jobs =
        jobs_of("JobID|AllocTRES\n1|gres/gpu:a100_3g.20gb=1,gres/gpu=1\n2|gres/gpu:a100_1g.5gb=1,gres/gpu=1\n"
                "4|gres/gpu:1g.5gb=7\n");
    toy *t = toy_new(5, 1, 2);
    uint32_t g0 = meter(t, "gpu-0", ADEPT_COMPONENT_GPU, 200);
    uint32_t a = process(t, 1), a2 = process(t, 1), b = process(t, 2), c = process(t, 3), d = process(t, 4);
    holds_slices(t, 0, a, g0, 2, 4); /* by the driver: 4 slices, which two processes share, and 1 */
    holds_slices(t, 0, a2, g0, 2, 4);
    holds_slices(t, 0, b, g0, 8, 1);
    holds_slices(t, 1, a, g0, 2, 0); /* by accounting: 3 and 1 */
    holds_slices(t, 1, b, g0, 8, 0);
    holds_slices(t, 2, b, g0, 8, 0); /* job 3 is of nobody's accounting */
    holds_slices(t, 2, c, g0, 9, 0);
    holds_slices(t, 3, b, g0, 8, 0); /* alone */
    works(t, 4, d, 1, NAN);          /* seven slices are the board */
    adept_accounting *x = accounted(t, jobs, &paper);
    gets(x, 1, ADEPT_ENERGY_GPU, 160 + 150);
    gets(x, 2, ADEPT_ENERGY_GPU, 40 + 50 + 100 + 200);
    gets(x, 3, ADEPT_ENERGY_GPU, 100);
    gets(x, 4, ADEPT_ENERGY_GPU, 200);
    between(x, 1, 0, 400);
    between(x, 2, 200, 800);
    between(x, 3, 0, 200);
    between(x, 4, 200, 200);
    assert_true(x->nodes[0].sliced_s == 2 && x->nodes[0].alike_s == 1);
    adept_accounting_free(x);
    adept_batch_jobs_free(jobs);
    free(t);
}

/* What is not visible where it was recorded has its energy, unless a job was given all GPUs; listpids may know it. */
static void hidden_processes(void **state)
{
    (void)state;
    adept_batch_jobs *jobs = jobs_of("JobID|AllocTRES\n2|gres/gpu=2\n");
    adept_batch_pids pids = {.n = 0};
    char text[] = "PID JOBID STEPID\n103 9 batch\n";
    toy *t = toy_new(4, 1, 2);
    uint32_t g0 = meter(t, "gpu-0", ADEPT_COMPONENT_GPU, 300), g1 = meter(t, "gpu-1", ADEPT_COMPONENT_GPU, 100);
    uint32_t a = process(t, 1), b = process(t, 2), hidden = process(t, -1), known = process(t, -1);
    t->processes[hidden].start_ticks = t->processes[known].start_ticks = ADEPT_NOT_VISIBLE_TICKS;
    holds(t, 0, hidden, g0, 0.6, NAN);
    holds(t, 1, hidden, g0, 0.6, NAN); /* beside a job that uses half as much */
    holds(t, 1, a, g0, 0.3, NAN);
    works(t, 2, b, 1, NAN); /* given both GPUs: they are its own */
    holds(t, 2, hidden, g1, 0.6, NAN);
    holds(t, 3, known, g0, NAN, NAN);
    assert_int_equal(adept_batch_pids_add(&pids, "pids", text, NULL), ADEPT_OK);
    const adept_recorded_node node = {.log = &t->log, .pids = &pids};
    adept_accounting *x = NULL;
    assert_int_equal(adept_account(&x, &node, 1, jobs, &paper, NULL), ADEPT_OK);
    gets(x, -3, ADEPT_ENERGY_GPU, 300 + 200);
    gets(x, 1, ADEPT_ENERGY_GPU, 100);
    gets(x, 2, ADEPT_ENERGY_GPU, 300 + 100);
    gets(x, 9, ADEPT_ENERGY_GPU, 300);
    gets(x, -2, ADEPT_ENERGY_GPU, 100 + 100 + 100);
    between(x, -3, 500, 500);
    adept_accounting_free(x);
    adept_batch_pids_free(&pids);
    adept_batch_jobs_free(jobs);
    free(t);
}

static void memory_by_what_is_resident(void **state)
{
    (void)state;
    toy *t = toy_new(4, 1, 2);
    meter(t, "dram-0", ADEPT_COMPONENT_DRAM, 8);
    uint32_t a = process(t, 1), b = process(t, 2);
    works(t, 0, a, 0.1, 1e9);
    works(t, 0, b, 0.1, 3e9);
    works(t, 1, b, 0.1, 3e9); /* job 1 does nothing, and stays */
    works(t, 2, a, 0.1, 1e9);
    works(t, 2, b, 0.1, NAN); /* ended within the interval */
    works(t, 3, b, 0.1, NAN);
    adept_accounting *x = accounted(t, NULL, &paper);
    gets(x, 1, ADEPT_ENERGY_DRAM, 2 + 2 + 8);
    gets(x, 2, ADEPT_ENERGY_DRAM, 6 + 6 + 8); /* the last: memory of nobody is known, so by processor time */
    adept_accounting_free(x);
    free(t);
}

static void the_gap(void **state)
{
    (void)state;
    toy *t = toy_new(1, 1, 2);
    meter(t, "cpu-0", ADEPT_COMPONENT_CPU, 100);
    uint32_t a = process(t, 1);
    works(t, 0, a, 0.6, NAN);
    t->intervals[0].machine_cpu_s = 0.8;
    adept_accounting *x =
        accounted(t, NULL, &(adept_accounting_options){.gap = ADEPT_GAP_PROPORTIONAL, .gap_factor = 1.19});
    gets(x, 1, ADEPT_ENERGY_GAP, 0.75 * 19);
    gets(x, -1, ADEPT_ENERGY_GAP, 0.25 * 19);
    assert_true(isnan(x->nodes[0].external_j));
    adept_accounting_free(x);
    x = accounted(t, NULL, &(adept_accounting_options){.gap = ADEPT_GAP_PROPORTIONAL});
    assert_true(x->nodes[0].unknown_s[ADEPT_ENERGY_GAP] == 1);
    adept_accounting_free(x);
    x = accounted(t, NULL, &(adept_accounting_options){.gap = ADEPT_GAP_CONSTANT, .gap_w = 8});
    gets(x, 1, ADEPT_ENERGY_GAP, 6);
    adept_accounting_free(x);

    meter(t, "node", ADEPT_COMPONENT_NODE, 120);
    meter(t, "ipmi", ADEPT_COMPONENT_NODE, 999); /* the same machine once more */
    x = accounted(t, NULL, &(adept_accounting_options){.gap = ADEPT_GAP_PROPORTIONAL, .gap_factor = 7});
    gets(x, 1, ADEPT_ENERGY_GAP, 15);
    assert_true(x->nodes[0].external_j == 120 && x->nodes[0].beside_j == 100);
    adept_accounting_free(x);
    t->meters[1].inside = "ipmi"; /* which is around it */
    t->meters[2].inside = "";
    x = accounted(t, NULL, &(adept_accounting_options){.gap = ADEPT_GAP_PROPORTIONAL, .gap_factor = 7});
    assert_true(x->nodes[0].external_j == 999);
    adept_accounting_free(x);
    t->meters[1].inside = ""; /* beside it: two modules of a node */
    x = accounted(t, NULL, &(adept_accounting_options){.gap = ADEPT_GAP_PROPORTIONAL, .gap_factor = 7});
    assert_true(x->nodes[0].external_j == 1119);
    adept_accounting_free(x);
    t->meters[1].inside = "ipmi"; /* around it, and said nothing */
    t->meters[2].n_samples = 0;
    x = accounted(t, NULL, &(adept_accounting_options){.gap = ADEPT_GAP_PROPORTIONAL, .gap_factor = 7});
    assert_true(x->nodes[0].external_j == 120);
    adept_accounting_free(x);
    x = accounted(t, NULL, &paper);
    gets(x, 1, ADEPT_ENERGY_GAP, 0);
    adept_accounting_free(x);
    free(t);
}

/* Where nothing reads the processors, the node's meter less what is read is theirs. */
static void only_a_meter_of_the_node(void **state)
{
    (void)state;
    toy *t = toy_new(2, 1, 2);
    meter(t, "node", ADEPT_COMPONENT_NODE, 150);
    uint32_t g = meter(t, "gpu-0", ADEPT_COMPONENT_GPU, 50);
    uint32_t a = process(t, 1), b = process(t, 2);
    works(t, 0, a, 0.3, NAN);
    works(t, 0, b, 0.1, NAN);
    holds(t, 0, b, g, 1, NAN);
    t->meters[0].n_samples = 2; /* it does not say the second interval */
    works(t, 1, a, 0.3, NAN);
    adept_accounting *x =
        accounted(t, NULL, &(adept_accounting_options){.gap = ADEPT_GAP_PROPORTIONAL, .gap_factor = 1.19});
    gets(x, 1, ADEPT_ENERGY_CPU, 75);
    gets(x, 2, ADEPT_ENERGY_CPU, 25);
    gets(x, 2, ADEPT_ENERGY_GPU, 50);
    gets(x, 1, ADEPT_ENERGY_GAP, 0);
    assert_true(x->nodes[0].cpu_is_rest && x->nodes[0].unknown_s[ADEPT_ENERGY_CPU] == 1 &&
                x->nodes[0].external_j == 150);
    adept_accounting_free(x);
    free(t);
}

static void a_job_that_moves_and_numbers_of_listpids(void **state)
{
    (void)state;
    toy *t = toy_new(1, 1, 2), *u = toy_new(1, 1, 2);
    adept_batch_pids pids = {.n = 0};
    char text[] = "PID      JOBID    STEPID   LOCALID GLOBALID\n100      7        0        0       0\n-        8       "
                  " 0        0       0\n";
    assert_int_equal(adept_batch_pids_add(&pids, "pids", text, NULL), ADEPT_OK);
    meter(t, "cpu-0", ADEPT_COMPONENT_CPU, 10);
    meter(u, "cpu-0", ADEPT_COMPONENT_CPU, 20);
    works(t, 0, process(t, 7), 0.5, NAN);
    works(u, 0, process(u, -1), 0.5, NAN); /* process 100 */
    works(u, 0, process(u, -1), 0.5, NAN);
    const adept_recorded_node nodes[] = {{.log = &t->log}, {.log = &u->log, .pids = &pids}};
    adept_accounting *x;
    assert_int_equal(adept_account(&x, nodes, 2, NULL, &paper, NULL), ADEPT_OK);
    assert_true(fabs(share_of(x, 0, 7)->energy_j[ADEPT_ENERGY_CPU] - 10) < 1e-9);
    assert_true(fabs(share_of(x, 1, 7)->energy_j[ADEPT_ENERGY_CPU] - 10) < 1e-9);
    assert_true(fabs(share_of(x, 1, -1)->energy_j[ADEPT_ENERGY_CPU] - 10) < 1e-9);
    adept_accounting_free(x);
    adept_batch_pids_free(&pids);
    free(t);
    free(u);
}

/* ---------------------------------------------------------------- nothing is lost --------------------------------- */

static uint64_t seed;
static double draw(void)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (double)(seed >> 11) / 9007199254740992.0;
}
static bool chance(double p)
{
    return draw() < p;
}

static void fill(toy *t)
{
    static const adept_component components[] = {ADEPT_COMPONENT_CPU, ADEPT_COMPONENT_DRAM, ADEPT_COMPONENT_GPU,
                                                 ADEPT_COMPONENT_NODE, ADEPT_COMPONENT_CORES};
    for (size_t m = 1 + (size_t)(draw() * 7); m > 0; m--)
        meter(t, "m", components[(size_t)(draw() * 5)], 500 * draw());
    for (size_t m = 0; m < t->log.n_meters; m++)
        for (size_t k = 0; k <= t->log.n_intervals; k++)
            t->samples[m][k].energy_j =
                chance(0.02) ? NAN
                             : (k > 0 && !isnan(t->samples[m][k - 1].energy_j) ? t->samples[m][k - 1].energy_j : 0) +
                                   1e3 * draw();
    for (size_t p = 1 + (size_t)(draw() * (MOST - 1)); p > 0; p--)
        process(t, chance(0.2) ? -1 : (int64_t)(draw() * 9));
    for (size_t k = 0; k < t->log.n_intervals; k++) {
        for (uint32_t p = 0; p < t->log.n_processes; p++) {
            if (chance(0.5)) works(t, k, p, chance(0.1) ? NAN : draw(), chance(0.1) ? NAN : 1e9 * draw());
            uint32_t m = (uint32_t)(draw() * (double)t->log.n_meters);
            if (chance(0.2) && t->meters[m].component == ADEPT_COMPONENT_GPU)
                holds(t, k, p, m, chance(0.1) ? NAN : draw(), 1e10 * draw());
        }
        t->intervals[k].machine_cpu_s = chance(0.05) ? NAN : 10 * draw();
    }
}

/* The same energy, straight from the meters. */
static double node_energy_j(const toy *t, const adept_accounting_options *o)
{
    double total_j = 0;
    for (size_t k = 0; k < t->log.n_intervals; k++) {
        double j[ADEPT_COMPONENTS] = {0}, known_j[ADEPT_COMPONENTS] = {0}, node_j = NAN, parts_j = 0;
        bool has[ADEPT_COMPONENTS] = {false};
        for (size_t m = 0; m < t->log.n_meters; m++) {
            adept_component c = t->meters[m].component;
            double e = adept_meter_energy_j(&t->meters[m], t->intervals[k].begin_s, t->intervals[k].end_s);
            if (c == ADEPT_COMPONENT_NODE && !has[c]) node_j = e;
            has[c] = true;
            j[c] += e;
            if (!isnan(e)) known_j[c] += e;
        }
        bool rest = !has[ADEPT_COMPONENT_CPU] && has[ADEPT_COMPONENT_NODE];
        double cpu_j = rest ? node_j - j[ADEPT_COMPONENT_DRAM] - j[ADEPT_COMPONENT_GPU] : j[ADEPT_COMPONENT_CPU];
        if (!isnan(cpu_j)) parts_j += cpu_j;
        if (!isnan(j[ADEPT_COMPONENT_DRAM])) parts_j += j[ADEPT_COMPONENT_DRAM];
        parts_j += known_j[ADEPT_COMPONENT_GPU];
        total_j += parts_j;
        if (o->gap == ADEPT_GAP_CONSTANT) total_j += o->gap_w * t->log.period_s;
        if (o->gap != ADEPT_GAP_PROPORTIONAL || rest) continue;
        if (!has[ADEPT_COMPONENT_NODE]) total_j += o->gap_factor > 0 ? (o->gap_factor - 1) * parts_j : 0;
        if (has[ADEPT_COMPONENT_NODE] && !isnan(node_j)) total_j += node_j - parts_j;
    }
    return total_j;
}

static void what_is_given_is_what_was_read(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 400; i++) {
        seed = 77 + i;
        toy *t = toy_new(1 + (size_t)(draw() * (MOST_TIMES - 1)), 0.1 + 10 * draw(), 1 + (int)(draw() * 64));
        char text[2048] = "JobID|Start|End|AllocTRES\n";
        for (int j = 0; j < 9; j++) {
            int begin = 990 + (int)(draw() * 300);
            if (chance(0.8))
                snprintf(text + strlen(text), sizeof text - strlen(text), "%d|%d|%d|gres/gpu=%d,node=1\n", j, begin,
                         begin + (int)(draw() * 100), (int)(draw() * 3));
        }
        adept_batch_jobs *jobs = jobs_of(text);
        adept_idle_fit fit = {.host = "n1"};
        for (size_t c = 0; c < ADEPT_COMPONENTS; c++)
            if (chance(0.7)) fit.lines[c] = (adept_idle_line){.alpha_j = 10 * draw(), .beta_w = 50 * draw(), .n = 5};
        fill(t);
        const adept_accounting_options o = {.cpu_base = chance(0.5) ? ADEPT_CPU_CAPACITY : ADEPT_CPU_BUSY,
                                            .gap = (adept_gap_rule)(draw() * 3),
                                            .gap_w = 30 * draw(),
                                            .gap_factor = chance(0.5) ? 1.19 : 0};
        const adept_recorded_node node = {.log = &t->log, .idle = chance(0.5) ? &fit : NULL};
        adept_accounting *x;
        double given_j = 0, part_j[ADEPT_ENERGY_PARTS] = {0}, size_j = 0;
        assert_int_equal(adept_account(&x, &node, 1, jobs, &o, NULL), ADEPT_OK);
        for (size_t s = 0; s < x->n_shares; s++)
            for (size_t p = 0; p < ADEPT_ENERGY_PARTS; p++) {
                given_j += x->shares[s].energy_j[p];
                part_j[p] += x->shares[s].energy_j[p];
                size_j += fabs(x->shares[s].energy_j[p]);
            }
        if (!(fabs(given_j - node_energy_j(t, &o)) <= 1e-9 * fmax(size_j, 1)))
            fail_msg("recording %u: %.17g J given of %.17g", i, given_j, node_energy_j(t, &o));
        for (size_t p = 0; p < ADEPT_ENERGY_PARTS; p++)
            assert_true(fabs(part_j[p] - x->nodes[0].energy_j[p]) <= 1e-9 * fmax(size_j, 1));
        adept_accounting_free(x);
        adept_batch_jobs_free(jobs);
        free(t);
    }
}

static void an_empty_recording(void **state)
{
    (void)state;
    toy *t = toy_new(0, 1, 1);
    adept_accounting *x = accounted(t, NULL, &paper);
    assert_int_equal(x->n_shares, 3);
    assert_true(isnan(x->nodes[0].begin_s) && x->nodes[0].recorded_s == 0);
    adept_accounting_free(x);
    adept_accounting_free(NULL);
    free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(three_to_one),
        cmocka_unit_test(the_system_and_idleness),
        cmocka_unit_test(idle_energy_first),
        cmocka_unit_test(jobs_begin_and_end_inside_an_interval),
        cmocka_unit_test(a_job_across_intervals),
        cmocka_unit_test(gpus_by_holder_and_use),
        cmocka_unit_test(slices_of_a_gpu),
        cmocka_unit_test(hidden_processes),
        cmocka_unit_test(memory_by_what_is_resident),
        cmocka_unit_test(the_gap),
        cmocka_unit_test(only_a_meter_of_the_node),
        cmocka_unit_test(a_job_that_moves_and_numbers_of_listpids),
        cmocka_unit_test(what_is_given_is_what_was_read),
        cmocka_unit_test(an_empty_recording),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
