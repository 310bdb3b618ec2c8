/** @file policy_fcfs.c  In order of submission. */
#include "packer.h"

static bool decide(adept_view *view, const adept_policy_options *options)
{
    adept_room room;

    if (!adept_room_begin(&room, view)) return false;
    adept_start_in_order(view, options, &room);
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
