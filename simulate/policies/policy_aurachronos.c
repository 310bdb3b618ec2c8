/** @file policy_aurachronos.c  As zeus, but urgent jobs go first, and best-effort jobs are stopped where a deadline is
 * at risk. The thesis leaves its algorithm 7 out; this follows its prose. */
#include "packer.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const adept_packing row = {
    .placement = ADEPT_BY_EDP, .ordering = ADEPT_BY_EDP, .slowdown = INFINITY, .urgent_first = true};

/* An urgent job that cannot start in time as things are. */
typedef struct at_risk {
    size_t queued;
    double slack_s; /* on an empty cluster */
} at_risk;

static int by_slack(const void *a, const void *b)
{
    const at_risk *x = a, *y = b;
    return x->slack_s != y->slack_s ? (x->slack_s > y->slack_s) - (x->slack_s < y->slack_s)
                                    : (x->queued > y->queued) - (x->queued < y->queued);
}

/* Does a placement that fits keep the deadline, or can none? If not, and it is early yet, the policy asks to be woken.
 */
static bool is_at_risk(adept_view *view, const adept_policy_options *options, size_t queued, at_risk *out)
{
    const adept_candidate *job = &view->queued[queued];
    double least_s = INFINITY, risk = isnan(options->risk) ? 0.5 : options->risk;

    if (!job->is_urgent || job->n_options == 0) return false;
    for (size_t o = 0; o < job->n_options; o++) {
        if (!adept_may_run_as(options, job, o) || !view->ever_fits(view, &job->options[o])) continue;
        double time_s = view->forecast(view, queued, o).time_s;
        if (view->now_s + time_s <= job->deadline_s && view->fits(view, &job->options[o])) return false;
        least_s = fmin(least_s, time_s);
    }
    double risky_s = job->deadline_s - (1 + risk) * least_s;
    if (view->now_s + least_s > job->deadline_s) return false; /* hopeless */
    if (view->now_s < risky_s) {
        view->wake_at(view, risky_s);
        return false;
    }
    *out = (at_risk){queued, job->deadline_s - view->now_s - least_s};
    return true;
}

/* ---------------------------------------------------------------- whom to stop ------------------------------------ */

typedef struct victim {
    size_t running, job;
    double lost_gpu_s;
} victim;

static int by_loss(const void *a, const void *b)
{
    const victim *x = a, *y = b;
    return x->lost_gpu_s != y->lost_gpu_s ? (x->lost_gpu_s > y->lost_gpu_s) - (x->lost_gpu_s < y->lost_gpu_s)
                                          : (x->job > y->job) - (x->job < y->job);
}

/* Running jobs that may be stopped, the one that loses least first, and their indices alone. */
static size_t list_victims(const adept_view *view, const adept_policy_options *options, victim *victims, size_t *which)
{
    int most = options->most_preemptions > 0 ? options->most_preemptions : 3;
    size_t n = 0;

    for (size_t i = 0; i < view->n_running; i++)
        if (!view->running[i].is_urgent && view->running[i].preemptions < most)
            victims[n++] = (victim){i, view->running[i].job, view->lost_gpu_s(view, i)};
    qsort(victims, n, sizeof *victims, by_loss);
    for (size_t i = 0; i < n; i++)
        which[i] = victims[i].running;
    return n;
}

/* The placement that keeps the deadline and takes the fewest GPUs from others. */
static bool find_placement(const adept_view *view, const adept_policy_options *options, size_t queued,
                           const size_t *which, size_t n, size_t *option)
{
    const adept_candidate *job = &view->queued[queued];
    int fewest = 0;
    double least_s = INFINITY;

    for (size_t o = 0; o < job->n_options; o++) {
        const adept_job_option *as = &job->options[o];
        double time_s = view->forecast(view, queued, o).time_s;
        int to_free = as->gpus - view->most_idle(view, as->type);
        bool keeps = adept_may_run_as(options, job, o) && view->now_s + time_s <= job->deadline_s;
        bool better = least_s == INFINITY || to_free < fewest || (to_free == fewest && time_s < least_s);
        if (!keeps || !better || !view->frees_for(view, which, n, as)) continue;
        fewest = to_free;
        least_s = time_s;
        *option = o;
    }
    return least_s < INFINITY;
}

/* The first of them that suffice, less those that are not needed then. */
static size_t fewest_victims(const adept_view *view, const adept_job_option *as, size_t *which, size_t n)
{
    size_t low = 1;

    while (low < n) {
        size_t middle = low + (n - low) / 2;
        if (view->frees_for(view, which, middle, as))
            n = middle;
        else
            low = middle + 1;
    }
    for (size_t i = n; n > 1 && i-- > 0;) {
        size_t spared = which[i];
        memmove(&which[i], &which[i + 1], (n - i - 1) * sizeof *which);
        if (view->frees_for(view, which, n - 1, as)) {
            n--;
            continue;
        }
        memmove(&which[i + 1], &which[i], (n - i - 1) * sizeof *which);
        which[i] = spared;
    }
    return n;
}

static void stop(adept_view *view, size_t job)
{
    size_t i = 0;

    while (view->running[i].job != job)
        i++;
    view->preempt(view, i);
}

static void rescue(adept_view *view, const adept_policy_options *options, size_t queued, victim *victims, size_t *which)
{
    size_t option = 0, n = list_victims(view, options, victims, which);

    if (!find_placement(view, options, queued, which, n, &option)) return;
    n = fewest_victims(view, &view->queued[queued].options[option], which, n);
    for (size_t i = 0; i < n; i++) /* stopping one changes the indices of others */
        victims[i].job = view->running[which[i]].job;
    for (size_t i = 0; i < n; i++)
        stop(view, victims[i].job);
    view->start(view, queued, option);
}

/* ---------------------------------------------------------------- a decision -------------------------------------- */

static bool decide(adept_view *view, const adept_policy_options *options)
{
    size_t n = 0, capacity = view->n_running + view->n_queued + 1; /* who is started may run at once */
    at_risk *risks = malloc(capacity * sizeof *risks);
    victim *victims = malloc(capacity * sizeof *victims);
    size_t *which = malloc(capacity * sizeof *which);
    bool done = risks && victims && which;

    for (size_t i = 0; done && i < view->n_queued; i++)
        n += is_at_risk(view, options, i, &risks[n]);
    if (n > 0) qsort(risks, n, sizeof *risks, by_slack);
    for (size_t i = 0; i < n; i++)
        if (is_at_risk(view, options, risks[i].queued, &risks[i])) /* still, after what was done for others */
            rescue(view, options, risks[i].queued, victims, which);
    free(risks);
    free(victims);
    free(which);
    return done && adept_pack(view, options, &row);
}

const adept_policy adept_policy_aurachronos = {
    .name = "aurachronos",
    .what = "as zeus, but urgent jobs go first by slack; best-effort jobs are preempted where a deadline is at risk",
    .packing = &row,
    .is_time_blind = true,
    .decide = decide,
};
