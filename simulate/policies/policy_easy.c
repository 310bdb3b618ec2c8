/** @file policy_easy.c  FCFS with EASY backfilling (Lifka 1995): later jobs go first where they do not delay the job
 * that waits longest. */
#include "packer.h"
#include <math.h>
#include <string.h>

/* Where the first job that does not fit would end first. No option: nowhere. */
static adept_reservation reserve(const adept_view *view, const adept_policy_options *options, size_t queued)
{
    const adept_candidate *job = &view->queued[queued];
    adept_reservation best = {.start_s = INFINITY};
    double least_s = INFINITY;

    for (size_t o = 0; o < job->n_options; o++) {
        if (!adept_may_run_as(options, job, o)) continue;
        double start_s = view->fits_at(view, &job->options[o]),
               end_s = start_s + view->forecast(view, queued, o).time_s;
        if (end_s >= least_s) continue;
        least_s = end_s;
        best = (adept_reservation){.option = &job->options[o], .start_s = start_s};
    }
    return best;
}

/* Later jobs that do not delay it. */
static void fill_gaps(adept_view *view, const adept_policy_options *options, adept_room *room, size_t first)
{
    adept_reservation head = reserve(view, options, first);
    size_t option = 0;

    for (size_t i = first + 1; i < view->n_queued && !adept_room_is_none(room); i++) {
        if (!adept_fastest(view, options, room, head.option ? &head : NULL, i, &option)) continue;
        adept_room_start(room, view, i, option);
        memset(head.asked, 0, sizeof head.asked);
    }
}

static bool decide(adept_view *view, const adept_policy_options *options)
{
    adept_room room;

    if (!adept_room_begin(&room, view)) return false;
    size_t i = adept_start_in_order(view, options, &room);
    if (i < view->n_queued && !adept_room_is_none(&room)) {
        fill_gaps(view, options, &room, i);
        /* What is promised stays so until a job should have ended: then time alone may change it. */
        double next_s = INFINITY;
        for (size_t k = 0; k < view->n_running; k++)
            next_s = fmin(next_s, fmax(view->now_s, view->running[k].expected_end_s));
        view->wake_at(view, next_s);
    }
    adept_room_end(&room);
    return true;
}

const adept_policy adept_policy_easy = {
    .name = "easy",
    .what = "as fcfs, but later jobs may go first where they do not delay the first that waits (EASY backfilling)",
    .is_time_blind = true,
    .decide = decide,
};
