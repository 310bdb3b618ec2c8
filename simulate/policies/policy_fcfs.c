/** @file policy_fcfs.c  In order of submission. */
#include "packer.h"

static bool decide(adept_view *view, const adept_policy_options *options)
{
    adept_room room;
    size_t option = 0;

    if (!adept_room_begin(&room, view)) return false;
    for (size_t i = 0; i < view->n_queued && adept_fastest(view, options, &room, NULL, i, &option); i++)
        adept_room_start(&room, view, i, option);
    adept_room_end(&room);
    return true;
}

const adept_policy adept_policy_fcfs = {
    .name = "fcfs",
    .what = "strictly in order of submission, in the fastest placement that fits; the first that does not fit holds up "
            "all others",
    .is_time_blind = true,
    .decide = decide,
};
