/** @file policy_easy.c  FCFS with EASY backfilling (Lifka 1995): later jobs go first where they do not delay the job
 * that waits longest. */
#include "packer.h"
#include <math.h>

/* What the first job that does not fit is promised: when, and on what. */
typedef struct reservation {
    double start_s, end_s;
    size_t type;
} reservation;

static reservation reserve(const adept_view *view, const adept_policy_options *options, size_t queued)
{
    const adept_candidate *job = &view->queued[queued];
    reservation best = {INFINITY, INFINITY, 0};

    for (size_t o = 0; o < job->n_options; o++) {
        if (!adept_may_run_as(options, job, o)) continue;
        double start_s = view->fits_at(view, &job->options[o]),
               end_s = start_s + view->forecast(view, queued, o).time_s;
        if (end_s < best.end_s) best = (reservation){start_s, end_s, job->options[o].type};
    }
    return best;
}

/* The fastest placement that fits now and is on other GPUs, or over in time. */
static bool find_gap(const adept_view *view, const adept_policy_options *options, const adept_room *room,
                     const reservation *head, size_t queued, size_t *option)
{
    const adept_candidate *job = &view->queued[queued];
    double least_s = INFINITY;

    for (size_t o = 0; o < job->n_options; o++) {
        if (!adept_room_fits(room, &job->options[o]) || !adept_may_run_as(options, job, o)) continue;
        double time_s = view->forecast(view, queued, o).time_s;
        bool delays = job->options[o].type == head->type && view->now_s + time_s > head->start_s;
        if (delays || time_s >= least_s) continue;
        least_s = time_s;
        *option = o;
    }
    return least_s < INFINITY;
}

static bool decide(adept_view *view, const adept_policy_options *options)
{
    adept_room room;
    size_t i = 0, option = 0;

    if (!adept_room_begin(&room, view)) return false;
    for (; i < view->n_queued && adept_fastest(view, options, &room, i, &option); i++)
        adept_room_start(&room, view, i, option);
    if (i < view->n_queued && !adept_room_is_none(&room)) {
        const reservation head = reserve(view, options, i);
        for (i++; i < view->n_queued && !adept_room_is_none(&room); i++)
            if (find_gap(view, options, &room, &head, i, &option)) adept_room_start(&room, view, i, option);
    }
    adept_room_end(&room);
    return true;
}

const adept_policy adept_policy_easy = {
    .name = "easy",
    .what = "as fcfs, but later jobs may go first where they do not delay the first that waits (EASY backfilling)",
    .decide = decide,
};
