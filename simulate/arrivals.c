/** @file arrivals.c  Poisson arrivals, and what is drawn for jobs: each thing from a stream of its own. Calls:
 * adept_random. */
#include "inputs.h"
#include "adept_grow.h"
#include "adept_random.h"
#include <stdio.h>
#include <stdlib.h>

size_t adept_draw_share(const double *shares, size_t n, double at)
{
    size_t last = 0;
    for (size_t i = 0; i < n; i++) {
        if (shares[i] <= 0) continue;
        last = i;
        if (at < shares[i]) break;
        at -= shares[i];
    }
    return last;
}

/* By the fastest placement that the job can have. */
static double least_time_s(const adept_template *t, const adept_stream_job *job)
{
    double least_s = INFINITY;
    for (size_t i = 0; i < t->n_options; i++) {
        if (!adept_option_suits(&t->options[i], job->gpus, job->batch)) continue;
        double time_s = adept_option_time_s(&t->options[i], job->samples);
        if (time_s < least_s) least_s = time_s;
    }
    return least_s;
}

void adept_jobs_deadline(const adept_jobs *jobs, adept_stream_job *job)
{
    job->is_urgent = true;
    job->deadline_s = job->submit_s + jobs->deadline_factor * least_time_s(&jobs->templates[job->template_index], job);
}

size_t adept_jobs_draw_user(const adept_jobs *jobs, uint64_t seed, uint64_t index)
{
    return adept_draw_share(jobs->user_shares, jobs->n_users, adept_random(seed, ADEPT_RANDOM_USERS, index));
}

void adept_jobs_draw_urgency(const adept_jobs *jobs, adept_stream_job *job, uint64_t seed, uint64_t index)
{
    job->deadline_s = INFINITY;
    if (adept_random(seed, ADEPT_RANDOM_URGENCY, index) < jobs->urgent_share) adept_jobs_deadline(jobs, job);
}

bool adept_jobs_users(const adept_jobs *jobs, adept_job_stream *stream)
{
    stream->users = calloc(jobs->n_users, sizeof *stream->users);
    stream->n_users = stream->users ? jobs->n_users : 0;
    for (size_t u = 0; u < stream->n_users; u++)
        snprintf(stream->users[u], sizeof *stream->users, "user%zu", u);
    return stream->users != NULL;
}

/* Weights of the templates, summing to 1; malloc'ed. */
static adept_status template_shares(double **out, const adept_jobs *jobs, adept_error *err)
{
    double sum = 0;
    for (size_t t = 0; t < jobs->n_templates; t++) {
        if (jobs->kinds[t].weight > 0 && isnan(jobs->kinds[t].samples))
            return adept_error_set(err, ADEPT_E_USAGE,
                                   "template %s has neither \"samples\" nor \"samples_for_s\", which arrivals need",
                                   jobs->templates[t].name);
        sum += jobs->kinds[t].weight;
    }
    if (!(sum > 0)) return adept_error_set(err, ADEPT_E_USAGE, "no template has a weight above 0");
    double *shares = calloc(jobs->n_templates, sizeof *shares);
    if (!shares) return adept_no_memory(err, "arrivals");
    for (size_t t = 0; t < jobs->n_templates; t++)
        shares[t] = jobs->kinds[t].weight / sum;
    *out = shares;
    return ADEPT_OK;
}

static adept_status draw_jobs(adept_job_stream *s, const adept_jobs *jobs, uint64_t seed, const double *shares,
                              adept_error *err)
{
    size_t capacity = 0;
    double now_s = 0;

    for (;; s->n_jobs++) {
        const uint64_t index = s->n_jobs;
        now_s += adept_random_exponential(seed, ADEPT_RANDOM_ARRIVALS, index, 1 / jobs->rate_per_s);
        if (now_s >= jobs->horizon_s) return ADEPT_OK;
        adept_stream_job *grown = adept_grow(s->jobs, &capacity, index + 1, sizeof *grown);
        if (!grown) return adept_no_memory(err, "arrivals");
        s->jobs = grown;
        adept_stream_job *job = &s->jobs[index];
        *job = (adept_stream_job){.id = (int64_t)index + 1, .submit_s = now_s};
        job->template_index =
            adept_draw_share(shares, jobs->n_templates, adept_random(seed, ADEPT_RANDOM_TEMPLATES, index));
        job->samples = jobs->kinds[job->template_index].samples;
        job->user = adept_jobs_draw_user(jobs, seed, index);
        adept_jobs_draw_urgency(jobs, job, seed, index);
    }
}

adept_status adept_jobs_arrivals(adept_job_stream *out, const adept_jobs *jobs, uint64_t seed, adept_error *err)
{
    adept_job_stream s = {.templates = jobs->templates, .n_templates = jobs->n_templates};
    double *shares = NULL;

    if (isnan(jobs->rate_per_s))
        return adept_error_set(err, ADEPT_E_USAGE, "the jobs file has no \"arrivals\", and no trace is given");
    adept_status status = template_shares(&shares, jobs, err);
    if (status == ADEPT_OK && !adept_jobs_users(jobs, &s)) status = adept_no_memory(err, "arrivals");
    if (status == ADEPT_OK) status = draw_jobs(&s, jobs, seed, shares, err);
    free(shares);
    if (status == ADEPT_OK)
        *out = s;
    else
        adept_job_stream_free(&s);
    return status;
}

void adept_job_stream_free(adept_job_stream *s)
{
    free(s->users);
    free(s->jobs);
    *s = (adept_job_stream){0};
}
