/** @file fake_view.c */
#include "fake_view.h"
#include "cmocka_test.h"

static fake_view *of(const adept_view *view)
{
    return view->self;
}

static adept_forecast forecast(const adept_view *view, size_t queued, size_t option)
{
    const adept_candidate *job = &view->queued[queued];
    return (adept_forecast){of(view)->work[job->job] * job->options[option].step_time_s, job->options[option].power_w};
}

static int most_idle(const adept_view *view, size_t type)
{
    return of(view)->idle[type];
}

static bool fits(const adept_view *view, const adept_job_option *option)
{
    return option->gpus <= of(view)->idle[option->type];
}

/* GPUs of a type once all, or some, running jobs have ended. */
static int gpus_at(const fake_view *f, size_t type, double time_s)
{
    int gpus = f->idle[type];

    for (size_t i = 0; i < f->view.n_running; i++)
        if (f->runs_as[i].type == type && f->running[i].expected_end_s <= time_s) gpus += f->runs_as[i].gpus;
    return gpus;
}

static bool ever_fits(const adept_view *view, const adept_job_option *option)
{
    return option->gpus <= gpus_at(of(view), option->type, INFINITY);
}

static double fits_at(const adept_view *view, const adept_job_option *option)
{
    double at_s = fits(view, option) ? view->now_s : INFINITY;

    for (size_t i = 0; i < view->n_running; i++)
        if (gpus_at(of(view), option->type, view->running[i].expected_end_s) >= option->gpus)
            at_s = fmin(at_s, view->running[i].expected_end_s);
    return at_s;
}

static bool fits_beside(const adept_view *view, const adept_job_option *option, double at_s,
                        const adept_job_option *started)
{
    int taken = started->type == option->type ? started->gpus : 0;
    return gpus_at(of(view), option->type, at_s) - taken >= option->gpus;
}

static double added_power_w(const adept_view *view, size_t queued, size_t option)
{
    const adept_job_option *o = &view->queued[queued].options[option];
    return o->power_w - o->gpus * of(view)->idle_w[o->type];
}

static void say(fake_view *f, const char *format, ...)
{
    size_t used = strlen(f->log);
    va_list args;

    va_start(args, format);
    vsnprintf(f->log + used, sizeof f->log - used, format, args);
    va_end(args);
}

static void add_run(fake_view *f, const adept_running *running, const adept_job_option *as)
{
    assert_true(f->view.n_running < FAKE_MOST && f->idle[as->type] >= as->gpus);
    f->runs_as[f->view.n_running] = *as;
    f->lost_gpu_s[f->view.n_running] = 0;
    f->running[f->view.n_running++] = *running;
    f->idle[as->type] -= as->gpus;
    f->view.power_w += as->power_w - as->gpus * f->idle_w[as->type];
}

static void start(adept_view *view, size_t queued, size_t option)
{
    fake_view *f = of(view);
    adept_candidate *job = &f->queue[queued];

    assert_true(queued < view->n_queued && option < job->n_options && fits(view, &job->options[option]));
    const adept_job_option *o = &job->options[option];
    const adept_running running = {.job = job->job,
                                   .user = job->user,
                                   .option = option,
                                   .is_urgent = job->is_urgent,
                                   .start_s = view->now_s,
                                   .expected_end_s = view->now_s + forecast(view, queued, option).time_s};
    add_run(f, &running, o);
    say(f, "%zu:%zux%d", job->job, o->type, o->gpus);
    say(f, o->limit_w > 0 ? "@%g " : " ", o->limit_w);
    job->n_options = 0;
    f->started[queued] = true;
}

static void preempt(adept_view *view, size_t i)
{
    fake_view *f = of(view);
    const adept_job_option o = f->runs_as[i];

    assert_true(i < view->n_running && !f->running[i].is_urgent);
    say(f, "-%zu ", f->running[i].job);
    f->idle[o.type] += o.gpus;
    view->power_w -= o.power_w - o.gpus * f->idle_w[o.type];
    view->n_running--;
    f->running[i] = f->running[view->n_running];
    f->runs_as[i] = f->runs_as[view->n_running];
    f->lost_gpu_s[i] = f->lost_gpu_s[view->n_running];
}

static double lost(const adept_view *view, size_t i)
{
    return of(view)->lost_gpu_s[i];
}

static bool frees_for(const adept_view *view, const size_t *running, size_t n, const adept_job_option *option)
{
    int gpus = of(view)->idle[option->type];

    for (size_t i = 0; i < n; i++)
        if (of(view)->runs_as[running[i]].type == option->type) gpus += of(view)->runs_as[running[i]].gpus;
    return gpus >= option->gpus;
}

static void wake_at(adept_view *view, double time_s)
{
    of(view)->wake_s = fmin(of(view)->wake_s, time_s);
}

void fake_view_begin(fake_view *f, double now_s)
{
    *f = (fake_view){.wake_s = INFINITY};
    f->view = (adept_view){.now_s = now_s,
                           .queued = f->queue,
                           .running = f->running,
                           .user_gpu_s = f->user_gpu_s,
                           .n_users = 2,
                           .self = f,
                           .forecast = forecast,
                           .most_idle = most_idle,
                           .fits = fits,
                           .ever_fits = ever_fits,
                           .fits_at = fits_at,
                           .fits_beside = fits_beside,
                           .added_power_w = added_power_w,
                           .start = start,
                           .preempt = preempt,
                           .lost_gpu_s = lost,
                           .frees_for = frees_for,
                           .wake_at = wake_at};
}

size_t fake_view_node(fake_view *f, int gpus, double idle_w)
{
    f->idle[f->view.n_types] = gpus;
    f->idle_w[f->view.n_types] = idle_w;
    f->view.power_w += gpus * idle_w;
    return f->view.n_types++;
}

void fake_view_option(fake_view *f, size_t type, int gpus, double speed, double exponent, double gpu_w)
{
    f->options[f->n_options++] = (adept_job_option){.type = type,
                                                .gpus = gpus,
                                                .batch = 1,
                                                .power_w = gpus * gpu_w,
                                                .step_time_s = 1 / (speed * pow(gpus, exponent))};
}

void fake_view_limit(fake_view *f, double limit_w, double slower, double power)
{
    adept_job_option o = f->options[f->n_options - 1];

    o.limit_w = limit_w;
    o.step_time_s *= slower;
    o.power_w *= power;
    f->options[f->n_options++] = o;
}

static size_t next_job(const fake_view *f)
{
    return f->view.n_queued + f->view.n_running;
}

adept_candidate *fake_view_job(fake_view *f, double work, double submit_s)
{
    adept_candidate *job = &f->queue[f->view.n_queued];

    *job = (adept_candidate){.job = next_job(f), .submit_s = submit_s, .deadline_s = INFINITY, .options = f->options};
    f->work[job->job] = work;
    f->view.n_queued++;
    return job;
}

adept_running *fake_view_run(fake_view *f, size_t type, int gpus, double gpu_w, double end_s, double lost_gpu_s)
{
    const adept_running running = {.job = next_job(f), .expected_end_s = end_s};
    const adept_job_option as = {.type = type, .gpus = gpus, .power_w = gpus * gpu_w};

    add_run(f, &running, &as);
    f->lost_gpu_s[f->view.n_running - 1] = lost_gpu_s;
    return &f->running[f->view.n_running - 1];
}

const char *fake_view_decide(fake_view *f, const char *policy, const adept_policy_options *options)
{
    const adept_policy_options own = adept_policy_options_default();
    const adept_policy *p = adept_policy_by_name(policy);

    assert_non_null(p);
    for (size_t i = 0; i < f->view.n_queued; i++)
        if (f->queue[i].n_options == 0 && !f->started[i]) f->queue[i].n_options = f->n_options;
    f->log[0] = 0;
    assert_true(adept_policy_decide(p, &f->view, options ? options : &own));
    return f->log;
}
