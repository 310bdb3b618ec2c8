/* What the host costs a step by granularity "operator", worked out by hand, and the table of measured hosts. */
#include "hosts.h"
#include "operator_toy.h"

/* 206 launches of 0.1 ms each on the host, against 0.0194 s on the GPU. */
static void the_host_can_be_slower(void **state)
{
    (void)state;
    fixture f;
    fresh(&f, 200, 6);
    set(&f, "t_host_s", 1e-4);
    near(predict(&f).step_time_s, 206e-4 + 2e-3);
    assert_int_equal(predict(&f).bound, ADEPT_BOUND_LAUNCH); /* though the kernels' 19.4 ms are longer than the wait */
    near(predict(&f).kernel_launch_s, 206e-4 - 200 * PRODUCT_S - 6 * STREAM_S);
    near(predict(&f).pass_s, 200 * PRODUCT_S + 6 * STREAM_S);
    f.gpu.hw.specs.mem_bytes_per_s *= 2; /* a faster GPU does not help */
    near(predict(&f).step_time_s, 206e-4 + 2e-3);
}

/* A graph is launched once; what torch.compile writes launches in 0.4 of the time. A host that is named replaces the
 * profile's. */
static void the_host_depends_on_how_it_runs(void **state)
{
    (void)state;
    fixture f;
    fresh(&f, 200, 6);
    set(&f, "t_host_s", 1e-4);
    f.prof.execution = ADEPT_GRAPHS;
    near(predict(&f).step_time_s, 200 * PRODUCT_S + 6 * STREAM_S + 206e-6 + 2e-3);
    f.run.host_launch_s = 1.0;
    near(predict(&f).step_time_s, 200 * PRODUCT_S + 6 * STREAM_S + 206e-6 + 2e-3);
    f.prof.execution = ADEPT_COMPILE;
    f.run.host_launch_s = 0;
    near(predict(&f).step_time_s, 200 * PRODUCT_S + 6 * STREAM_S + 206e-6 + 2e-3); /* 206 * 40 us are hidden */
    f.run.host_launch_s = 3e-4;
    near(predict(&f).step_time_s, 206 * 0.4 * 3e-4 + 2e-3);
    f.run.host_step_s = 5e-3; /* in place of the profile's 2 ms */
    near(predict(&f).step_time_s, 206 * 0.4 * 3e-4 + 5e-3);
    near(predict(&f).fixed_s, 5e-3);
    f.run.host_step_s = 0;
    f.prof.execution = ADEPT_EAGER;
    near(predict(&f).step_time_s, 206 * 3e-4 + 2e-3);
    f.run.granularity = ADEPT_GRANULARITY_MODEL;
    adept_prediction p;
    adept_error err;
    assert_int_equal(adept_predict(&p, &f.prof, &f.gpu.hw, &f.run, &err), ADEPT_E_USAGE);
    assert_string_equal(err.message, "granularity \"model\" knows no host: its launches take t_kern_s each");
    f.run.granularity = ADEPT_GRANULARITY_OPERATOR;
    f.run.host_launch_s = -1;
    assert_int_equal(adept_predict(&p, &f.prof, &f.gpu.hw, &f.run, &err), ADEPT_E_USAGE);
    f.run.host_launch_s = 0, f.run.host_step_s = -1;
    refuse(&f, ADEPT_E_USAGE, "the host's time for a step must not be negative");
    f.run.host_step_s = 1e-3, f.run.granularity = ADEPT_GRANULARITY_MODEL;
    refuse(&f, ADEPT_E_USAGE, "granularity \"model\" knows no host");
}

/* Rows of data/hosts.csv: a name once, a range around the median, times that a host can have. */
static void the_table_of_hosts(void **state)
{
    (void)state;
    assert_string_equal(adept_host_at(0)->name, "profile");
    size_t n = 1;
    for (const adept_host *host; (host = adept_host_at(n)); n++) {
        bool has_times = host->launch_s > 0, has_watts = host->active_w > 0;
        assert_true(has_times || has_watts);
        assert_true(!has_times ||
                    (5e-6 < host->low_s && host->low_s <= host->launch_s && host->launch_s <= host->high_s));
        assert_true(host->high_s < 1e-4);
        assert_true(has_watts ? host->idle_w > 0 && host->idle_w <= host->active_w && host->gpus >= 1
                              : host->gpus == 0);
        for (size_t k = 0; k < n; k++)
            assert_string_not_equal(host->name, adept_host_name(k));
    }
    assert_true(n > 2 && !adept_host_name(n));
}

/* A host of the table launches as long as it says. Where the step waits for it, the interval reaches further than the
 * fit's: the steps at its low and at its high end, as squares of logarithms. */
static void hosts_of_the_table(void **state)
{
    (void)state;
    static const adept_intervals fitted = {
        .level = 0.8, .time_log = {-0.1, 0.2}, .power_log = {-0.05, 0.05}, .widen = 1};
    const double low_s = 27.0e-6, launch_s = 32.0e-6, high_s = 37.4e-6; /* data/hosts.csv */
    fixture f;
    fresh(&f, 2000, 1);
    f.gpu.hw.calibrated = true;
    f.gpu.hw.intervals = &fitted;
    f.kernels[0].m = 64; /* an eighth of the work, in as long: the GPU waits for nobody */
    adept_prediction ahead = predict(&f);
    size_t host = 0;
    while (adept_host_name(host) && strcmp(adept_host_name(host), "torch2") != 0)
        host++;
    f.run.host = (int)host;
    adept_prediction p = predict(&f);
    assert_true(p.step_time_s == ahead.step_time_s);
    for (int end = 0; end < 2; end++)
        near(p.interval_time_s[end], ahead.interval_time_s[end]);
    f.kernels[1].bytes_read = f.kernels[1].bytes_written = 0, f.kernels[0].k = 64,
    f.kernels[0].flops = 2.0 * 64 * 64 * 512;
    p = predict(&f);
    near(p.step_time_s, 2001 * launch_s + 2e-3);
    double low = log((2001 * low_s + 2e-3) / p.step_time_s), high = log((2001 * high_s + 2e-3) / p.step_time_s);
    near(p.interval_time_s[0], p.step_time_s * exp(-hypot(0.1, low)));
    near(p.interval_time_s[1], p.step_time_s * exp(hypot(0.2, high)));
    assert_true(p.interval_power_w[0] < p.power_avg_w * exp(-0.05) &&
                p.interval_power_w[1] > p.power_avg_w * exp(0.05));
    const adept_prediction named = p;
    f.run.host = 0;
    set(&f, "t_host_s", launch_s); /* a profile that has the table's time knows it no better */
    p = predict(&f);
    for (int end = 0; end < 2; end++)
        near(p.interval_time_s[end], named.interval_time_s[end]);
    f.run.host_launch_s = launch_s; /* somebody says so */
    p = predict(&f);
    near(p.interval_time_s[0], p.step_time_s * exp(-0.1));
    near(p.interval_time_s[1], p.step_time_s * exp(0.2));
    near(adept_operator_parameter_info(ADEPT_OP_t_host_s)->fallback, launch_s);
    f.run.host = (int)host, f.run.host_launch_s = 1e-5;
    refuse(&f, ADEPT_E_USAGE, "a launch takes what host \"torch2\" says, or a time: not both");
    f.run.host_launch_s = 0;
    f.run.granularity = ADEPT_GRANULARITY_MODEL;
    refuse(&f, ADEPT_E_USAGE, "granularity \"model\" knows no host");
    f.run.granularity = ADEPT_GRANULARITY_OPERATOR;
    while (strcmp(adept_host_name(host), "dosgroup-rtx5000") != 0)
        host++;
    f.run.host = (int)host; /* it has a time for each step, which a program's own replaces */
    near(predict(&f).step_time_s, 2001 * 28.3e-6 + 43.3e-3);
    f.run.host_step_s = 1e-3;
    near(predict(&f).step_time_s, 2001 * 28.3e-6 + 1e-3);
    f.run.host_step_s = 0;
    for (; adept_host_name(host); host++)
        if (adept_host_at(host)->launch_s > 0) f.run.host = (int)host;
    while (adept_host_name((size_t)f.run.host))
        f.run.host++;
    refuse(&f, ADEPT_E_USAGE, "there is no host of number");
    f.run.host = -1;
    refuse(&f, ADEPT_E_USAGE, "there is no host of number -1");
}

/* A profile that has nobody's host in particular launches as its framework's hosts do; one that has a host of its own
 * keeps it. */
static void hosts_of_a_framework(void **state)
{
    (void)state;
    fixture f;
    fresh(&f, 2000, 1);
    f.kernels[1].bytes_read = f.kernels[1].bytes_written = 0, f.kernels[0].k = f.kernels[0].m = 64,
    f.kernels[0].flops = 2.0 * 64 * 64 * 512;
    const double torch1_s = 12.2e-6, torch2_s = 32.0e-6; /* data/hosts.csv */
    for (int framework = ADEPT_TORCH2; framework <= ADEPT_TORCH1; framework++) {
        f.prof.framework = (adept_framework)framework;
        set(&f, "t_host_s", torch2_s);
        near(predict(&f).step_time_s, 2001 * (framework == ADEPT_TORCH1 ? torch1_s : torch2_s) + 2e-3);
        f.run.host_launch_s = torch2_s;
        near(predict(&f).step_time_s, 2001 * torch2_s + 2e-3);
        f.run.host_launch_s = 0;
        set(&f, "t_host_s", 4e-5);
        near(predict(&f).step_time_s, 2001 * 4e-5 + 2e-3);
    }
}

/* Passes wait for the host (206 launches of 0.1 ms), the optimizer for memory. One after the other, though the GPU's
 * 145 ms in sum are longer than the host's. */
static void the_host_can_be_slower_in_one_part(void **state)
{
    (void)state;
    fixture f;
    fresh(&f, 200, 6);
    set(&f, "t_host_s", 1e-4);
    f.prof.mode = ADEPT_MODE_TRAIN;
    f.prof.optimizer = "adamw";
    double optimizer_s = ADAMW_S + ADAMW_KERNELS * 1e-6 + 16 * 64 * 1e-8;
    adept_prediction p = predict(&f);
    near(p.step_time_s, 206e-4 + optimizer_s + 2e-3);
    near(p.kernel_launch_s, p.step_time_s - 2e-3 - ADAMW_S - 200 * PRODUCT_S - 6 * STREAM_S);
    assert_int_equal(p.bound, ADEPT_BOUND_MEMORY); /* the optimizer's 125 of 148 ms */
}

/* Streams of 1 ms forward, 100 products of 67 us backward, each twice; 0.3 and 10 ms of launches. The host is ahead
 * after the forward passes, but the end is its own. */
static void the_host_is_waited_for_in_every_pass(void **state)
{
    (void)state;
    fixture f;
    fresh(&f, 100, 3);
    f.prof.grad_accum = 2;
    set(&f, "t_host_s", 1e-4);
    near(predict(&f).step_time_s, 2 * 103e-4 + 2e-3);
    /* 16 samples a pass that take the host 0.1 ms each more */
    set(&f, "t_sample_s", 1e-4);
    near(predict(&f).step_time_s, 2 * 103e-4 + 2e-3 + 2 * 16e-4);
    /* forward passes of 12 ms instead: the GPU catches up in none but the first */
    f.ops[1].count = 12;
    adept_profile_summarise(&f.prof);
    near(predict(&f).step_time_s, 2 * (12 * (STREAM_S + 1e-6) + 100 * (PRODUCT_S + 1e-6)) + 2e-3);
}

static bool warned(const adept_prediction *p, const char *of)
{
    for (size_t i = 0; i < p->n_warnings; i++)
        if (strstr(p->warnings[i], of)) return true;
    return false;
}

/* What a program loads for each sample is said by a fit of its host, or by the run. Else it is nothing, however many
 * there are, and a CUDA graph has only what the run says. */
static void samples_cost_the_host_what_is_said(void **state)
{
    (void)state;
    fixture f;
    fresh(&f, 200, 6);
    near(adept_operator_parameter_info(ADEPT_OP_t_sample_s)->fallback, 0.0);
    set(&f, "t_host_s", 1e-4);
    f.prof.batch_size = 1048576;
    adept_prediction p = predict(&f);
    near(p.step_time_s, 206e-4 + 2e-3);
    assert_true(p.host_samples_s == 0.0 && !warned(&p, "to load samples"));
    set(&f, "t_sample_s", 1e-6); /* of a fit */
    p = predict(&f);
    near(p.step_time_s, 206e-4 + 2e-3 + 1.048576);
    near(p.host_samples_s, 1.048576);
    assert_true(warned(&p, "the host takes 1.05 s of the step to load samples"));
    f.prof.execution = ADEPT_GRAPHS;
    p = predict(&f);
    near(p.step_time_s, 200 * PRODUCT_S + 6 * STREAM_S + 206e-6 + 2e-3);
    assert_true(p.host_samples_s == 0.0 && !warned(&p, "to load samples"));
    f.run.host_sample_s = 2e-6; /* in place of it, and also beside a graph */
    near(predict(&f).step_time_s, 2.097152 + 200 * (PRODUCT_S + 1e-6) + 2e-3); /* the backward pass waits for no host */
    f.prof.execution = ADEPT_EAGER;
    p = predict(&f);
    near(p.step_time_s, 206e-4 + 2e-3 + 2.097152);
    near(p.host_samples_s, 2.097152);
    assert_false(warned(&p, "to load samples"));
    f.run.host_sample_s = 1e-12; /* hidden behind the GPU */
    set(&f, "t_host_s", 1e-7);
    assert_true(predict(&f).host_samples_s == 0.0);
    f.run.host_sample_s = -1;
    refuse(&f, ADEPT_E_USAGE, "the host's time for a sample must not be negative");
    f.run.host_sample_s = 1e-6, f.run.granularity = ADEPT_GRANULARITY_MODEL;
    refuse(&f, ADEPT_E_USAGE, "granularity \"model\" knows no host");
}

/* 100 launches a pass, of 0.1 ms on average: 2.1/3.1 of their 20 ms are the forward pass's, whose kernels take no time.
 * Then the GPU's 6.8 ms take longer than the host's 6.5. Inference has the mean alone, and torch.compile 0.4 of it. */
static void the_host_is_slower_in_the_forward_pass(void **state)
{
    (void)state;
    fixture f;
    fresh(&f, 100, 100);
    f.kernels[1].bytes_read = f.kernels[1].bytes_written = 0;
    set(&f, "t_host_s", 1e-4);
    const double backward_s = 100 * (PRODUCT_S + 1e-6);
    near(predict(&f).step_time_s, 2.1 / 3.1 * 20e-3 + backward_s + 2e-3);
    f.prof.execution = ADEPT_COMPILE;
    near(predict(&f).step_time_s, 4e-3 + backward_s + 2e-3);
    f.prof.execution = ADEPT_EAGER;
    f.prof.mode = ADEPT_MODE_INFER;
    f.kernels[0].pass = ADEPT_FORWARD;
    f.kernels[0].flops = 2.0 * 64 * 64 * 64, f.kernels[0].m = f.kernels[0].n = f.kernels[0].k = 64;
    adept_profile_summarise(&f.prof);
    near(predict(&f).step_time_s, 20e-3 + 2e-3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_host_can_be_slower),
        cmocka_unit_test(the_host_depends_on_how_it_runs),
        cmocka_unit_test(the_table_of_hosts),
        cmocka_unit_test(hosts_of_the_table),
        cmocka_unit_test(hosts_of_a_framework),
        cmocka_unit_test(the_host_can_be_slower_in_one_part),
        cmocka_unit_test(the_host_is_waited_for_in_every_pass),
        cmocka_unit_test(samples_cost_the_host_what_is_said),
        cmocka_unit_test(the_host_is_slower_in_the_forward_pass),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
