/** @file pareto.c  The front of time and energy in bounded memory; see adept_pareto.h. */
#include "adept_pareto.h"
#include <math.h>
#include <stdlib.h>

adept_status adept_pareto_new(adept_pareto *out, adept_error *err)
{
    *out = (adept_pareto){.front = malloc((ADEPT_PARETO_MOST + ADEPT_PARETO_BUFFER) * sizeof *out->front),
                          .waiting = malloc(ADEPT_PARETO_BUFFER * sizeof *out->waiting)};
    if (out->front && out->waiting) return ADEPT_OK;
    adept_pareto_free(out);
    return adept_error_set(err, ADEPT_E_NOMEM, "out of memory for the front of time and energy");
}

void adept_pareto_free(adept_pareto *p)
{
    free(p->front);
    free(p->waiting);
    *p = (adept_pareto){.n = 0};
}

/* By time, then energy, then number: what comes first may beat what comes later, never the other way round. */
static int compare(const void *a, const void *b)
{
    const adept_pareto_point *x = a, *y = b;
    if (x->time != y->time) return x->time < y->time ? -1 : 1;
    if (x->energy != y->energy) return x->energy < y->energy ? -1 : 1;
    return (x->id > y->id) - (x->id < y->id);
}

void adept_pareto_finish(adept_pareto *p)
{
    if (p->n_waiting == 0) return;
    qsort(p->waiting, p->n_waiting, sizeof *p->waiting, compare);
    /* Both lists are in order. From the end, so that the result can lie where the front lies. */
    size_t i = p->n, j = p->n_waiting, to = i + j;
    while (j > 0) {
        bool of_front = i > 0 && compare(&p->front[i - 1], &p->waiting[j - 1]) > 0;
        p->front[--to] = of_front ? p->front[--i] : p->waiting[--j];
    }
    p->n += p->n_waiting;
    p->n_waiting = 0;
    size_t kept = 0;
    for (size_t k = 0; k < p->n; k++)
        if (kept == 0 || p->front[k].energy < p->front[kept - 1].energy) p->front[kept++] = p->front[k];
    p->n = kept;
    if (p->n <= ADEPT_PARETO_MOST) return;
    kept = 1; /* every second one, and both ends */
    for (size_t k = 2; k + 1 < p->n; k += 2)
        p->front[kept++] = p->front[k];
    p->front[kept++] = p->front[p->n - 1];
    p->n = kept;
    p->thinned = true;
}

/* Most points are beaten by the one before them on the front: they need not wait. */
static bool is_beaten(const adept_pareto *p, const adept_pareto_point *point)
{
    size_t low = 0, high = p->n; /* points of the front up to the same time */
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (p->front[middle].time <= point->time)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == 0) return false;
    const adept_pareto_point *before = &p->front[low - 1];
    if (before->time == point->time && before->energy == point->energy) return before->id <= point->id;
    return before->energy <= point->energy;
}

void adept_pareto_add(adept_pareto *p, const adept_pareto_point *point)
{
    if (!isfinite(point->time) || !isfinite(point->energy) || is_beaten(p, point)) return;
    p->waiting[p->n_waiting++] = *point;
    if (p->n_waiting == ADEPT_PARETO_BUFFER) adept_pareto_finish(p);
}

size_t adept_pareto_knee(const adept_pareto *p)
{
    size_t knee = p->n;
    double farthest = 1e-9; /* a straight front has none */
    if (p->n < 3) return p->n;
    const adept_pareto_point *first = &p->front[0], *last = &p->front[p->n - 1];
    if (!(first->time > 0.0 && last->energy > 0.0)) return p->n;
    double times = log(last->time / first->time), energies = log(first->energy / last->energy);
    for (size_t i = 1; i + 1 < p->n; i++) {
        double below =
            1.0 - log(p->front[i].time / first->time) / times - log(p->front[i].energy / last->energy) / energies;
        if (!(below > farthest)) continue;
        farthest = below;
        knee = i;
    }
    return knee;
}
