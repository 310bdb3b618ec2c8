/** @file schedule.c  The critical path of a schedule, backward; see schedule.h. */
#include "schedule.h"

void adept_schedule_weigh(adept_schedule *s)
{
    for (size_t i = 0; i < s->n; i++)
        s->tasks[i].weight = 0.0;
    s->tasks[s->n - 1].weight = 1.0;
    for (size_t i = s->n; i-- > 0;) { /* all that a task can move stands behind it */
        const adept_task *t = &s->tasks[i];
        if (t->weight == 0.0) continue;
        if (t->until != ADEPT_NO_TASK) {
            s->tasks[t->until].weight += t->weight;
            s->tasks[t->since].weight -= t->weight;
        }
        /* From some way into a task: where that begins, and what has run of it, which the one who asks knows. */
        int from = t->from;
        for (bool within = t->within; from != ADEPT_NO_TASK && within; from = s->tasks[from].from)
            within = s->tasks[from].within;
        if (from != ADEPT_NO_TASK) s->tasks[from].weight += t->weight;
    }
}
