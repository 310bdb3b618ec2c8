/* Some 100,000 points of a saved profile, as `adept sweep --csv` works them out and writes them (to /dev/null): over
 * runs, and over numbers of the hardware, where every point is another GPU. Beside it one adept_predict() and printf
 * for each of some points. CPU time of one core. Usage: bench_sweep PROFILE... */
#include "adept_sweep_answers.h"
#include "saved_models.h"
#include "sweep_rows.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define N_PLAIN 500
#define MOST_AXES 3

static const struct {
    const char *name, *axes[MOST_AXES];
} grids[] = {
    {"runs: limits, GPUs", {"power_limit_w=100:250:0.012", "gpus=1:8:1"}},
    {"clocks, limits", {"clock_hz=6e8:1.4e9:8008000", "power_limit_w=100:250:0.15"}},
    {"bandwidth, L2, tensor peak",
     {"specs.tensor_tf32_flops_per_s=x0.51:x1.5:x0.022", "specs.mem_bytes_per_s=x0.51:x1.5:x0.022",
      "specs.l2_bytes=x0.51:x1.5:x0.022"}},
    {"ALU peak, link, L2",
     {"specs.vector_fp32_flops_per_s=x0.51:x1.5:x0.022", "specs.link_bytes_per_s=x0.51:x1.5:x0.022",
      "specs.l2_bytes=x0.51:x1.5:x0.022"}},
};

static double cpu_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void check(adept_status status, const adept_error *err)
{
    if (status == ADEPT_OK) return;
    fprintf(stderr, "%s\n", err->message);
    exit(1);
}

static adept_status profile_of(const adept_profile **out, const adept_workload_config *w, void *context,
                               adept_error *err)
{
    (void)w;
    (void)err;
    *out = context;
    return ADEPT_OK;
}

typedef struct output {
    adept_sweep_rows rows;
    adept_sweep_answers answers;
} output;

static bool take(const adept_sweep_point *point, void *context)
{
    output *o = context;
    adept_sweep_rows_add(&o->rows, point);
    adept_sweep_answers_add(&o->answers, point);
    return true;
}

/* A few points spread over the grid, each by itself. */
typedef struct plain {
    uint64_t every;
    FILE *out;
    double s;
    size_t n;
} plain;

static bool take_plain(const adept_sweep_point *point, void *context)
{
    plain *p = context;
    adept_prediction q;
    if (point->index % p->every != 0 || point->status != ADEPT_OK) return true;
    double start = cpu_s();
    if (adept_predict(&q, point->profile, point->hw, point->run, NULL) != ADEPT_OK) return true;
    fprintf(p->out, "%.17g,%.17g,%.17g,%.17g,%.17g,%.17g,%.17g,%.17g,%s\n", q.step_time_s, q.power_avg_w,
            q.energy_step_j, q.edp_js, q.samples_per_s, q.energy_per_sample_j, q.clock_hz, q.memory.peak_bytes,
            adept_bound_name(q.bound));
    p->s += cpu_s() - start;
    p->n++;
    return true;
}

static void one_grid(size_t g, adept_profile *profile, const adept_hwprofile *hw)
{
    adept_sweep_axis axes[MOST_AXES];
    adept_sweep sweep = {.axes = axes, .hw = hw, .profile_of = profile_of, .context = profile};
    adept_error err = {0};
    uint64_t size;
    output o;
    FILE *out = fopen("/dev/null", "w");
    if (!out) exit(1);
    for (size_t i = 0; i < MOST_AXES && grids[g].axes[i]; i++)
        check(adept_sweep_axis_parse(&axes[sweep.n_axes++], grids[g].axes[i], &err), &err);
    check(adept_sweep_size(&size, &sweep, &err), &err);
    adept_sweep_rows_begin(&o.rows, out, false, &sweep);
    check(adept_sweep_answers_new(&o.answers, false, &err), &err);
    double start = cpu_s();
    check(adept_sweep_run(&sweep, take, &o, &err), &err);
    double took_s = cpu_s() - start;
    plain p = {.every = size / N_PLAIN + 1, .out = out};
    check(adept_sweep_run(&sweep, take_plain, &p, &err), &err);
    double plain_s = p.n ? p.s / (double)p.n : 0.0, each_s = took_s / (double)size;
    printf("  %-28s %8llu points %6.2f s, %5.2f us each; alone %5.1f us: %.0f times\n", grids[g].name,
           (unsigned long long)size, took_s, 1e6 * each_s, 1e6 * plain_s, plain_s / each_s);
    adept_sweep_rows_free(&o.rows);
    adept_sweep_answers_free(&o.answers);
    for (size_t i = 0; i < sweep.n_axes; i++)
        adept_sweep_axis_free(&axes[i]);
    fclose(out);
}

int main(int argc, char **argv)
{
    adept_hwprofile *hw;
    adept_error err = {0};
    check(adept_hwprofile_open(&hw, "a100-pcie-40gb", &err), &err);
    for (int i = 1; i < argc; i++) {
        adept_profile *profile = saved_profile(argv[i], 0, 0);
        const char *name = strrchr(argv[i], '/');
        printf("%s on %s\n", name ? name + 1 : argv[i], hw->name);
        for (size_t g = 0; g < sizeof grids / sizeof *grids; g++)
            one_grid(g, profile, hw);
        adept_profile_free(profile);
    }
    adept_hwprofile_free(hw);
    return 0;
}
