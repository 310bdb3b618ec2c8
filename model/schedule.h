/** @file schedule.h  A step as tasks on lanes, run once in order: each starts when its lane is free and what it waits
 * for is done. Private to model/. Calls: nothing.
 *
 *  Adding a task runs it. The schedule keeps tasks only where it has room for them: a time alone needs the lanes' ends
 * and no more. From kept tasks one pass backward (adept_schedule_weigh()) says what the step's time owes to each: its
 * slope by the time of a task. So the derivative of a step by any parameter is the sum over tasks of weight times the
 * task's own derivative. */
#ifndef ADEPT_SCHEDULE_H
#define ADEPT_SCHEDULE_H
#include "communication.h"
#include "kernel_list.h"

typedef enum adept_lane {
    ADEPT_LANE_HOST,
    ADEPT_LANE_COMPUTE,
    ADEPT_LANE_LINK,    /* inside a node */
    ADEPT_LANE_BETWEEN, /* nodes */
    ADEPT_LANES
} adept_lane;

typedef enum adept_task_kind {
    ADEPT_TASK_PART, /* a share of forward, backward or optimizer: kernels and the gaps between them, or launches */
    ADEPT_TASK_SEND, /* an all-reduce, or what of it runs on the lane */
    ADEPT_TASK_COPY, /* of gradients, before and after a send */
    ADEPT_TASK_HOLD, /* the lane stands until gradients are summed */
    ADEPT_TASK_REST, /* what a step takes beside its parts */
} adept_task_kind;

/* Kernels at full clock, and how many launches they are. */
typedef struct adept_backward_span {
    adept_span kernels;
    double launches;
} adept_backward_span;

#define ADEPT_NO_TASK (-1)

typedef struct adept_task {
    adept_lane lane;
    adept_task_kind kind;
    adept_part part;
    double share; /* of the part's work in a step; of what is exposed of one all-reduce of all gradients */
    double time_s;
    /* of what is sent */
    double bytes;
    const adept_allreduce_law *law;
    size_t gradient;           /* the last in its bucket; as many as there are: at the end of the pass */
    adept_backward_span ready; /* what has run of the pass then */
    int until,
        since; /* it lasts from the end of one to the end of the other; ADEPT_NO_TASK: as long as its work takes */
    /* filled in */
    double start_s, weight;
    int from;    /* what it waited for last */
    bool within; /* some way into that, not to its end */
} adept_task;

/* When something is done: the end of a task, or some way into it. */
typedef struct adept_done {
    double at_s;
    int task;
    bool within;
    /* of parts, that it waited for one behind the other: by bits, in the order in which they were added */
    unsigned launches;
} adept_done;

typedef struct adept_schedule {
    adept_done lanes[ADEPT_LANES]; /* when each is free */
    adept_task *tasks;             /* borrowed; NULL: they are not kept */
    size_t n;
    bool keeps_sends; /* also those on the links */
    int n_launches;
} adept_schedule;

static inline void adept_schedule_begin(adept_schedule *s, adept_task *tasks, bool keeps_sends)
{
    for (int i = 0; i < ADEPT_LANES; i++)
        s->lanes[i] = (adept_done){.task = ADEPT_NO_TASK};
    s->tasks = tasks;
    s->n = 0;
    s->keeps_sends = keeps_sends;
    s->n_launches = 0;
}

/* A time that is not a number stays, whichever it is of. */
static inline adept_done adept_later(adept_done lane, adept_done other)
{
    return other.at_s > lane.at_s || other.at_s != other.at_s ? other : lane;
}

/** Run a task behind what is on its lane. @return its beginning; its end is when the lane is free */
static inline adept_done adept_schedule_add(adept_schedule *s, adept_task task, adept_done waits)
{
    const adept_done from = adept_later(s->lanes[task.lane], waits);
    int index = ADEPT_NO_TASK;
    if (s->tasks) {
        task.start_s = from.at_s;
        task.from = from.task;
        task.within = from.within;
        index = (int)s->n++;
        s->tasks[index] = task;
    }
    bool launches = task.kind == ADEPT_TASK_PART && task.lane == ADEPT_LANE_HOST;
    s->lanes[task.lane] = (adept_done){from.at_s + task.time_s, index, false,
                                       launches ? from.launches | 1u << s->n_launches++ : from.launches};
    return (adept_done){from.at_s, index, true, from.launches};
}

/** What the end of the last task owes to the time of each. */
void adept_schedule_weigh(adept_schedule *s);

#endif
