/** @file kernel_tiles.c  Which tiles a library uses, from the times of its kernels: greedy search over short menus.
 *
 *  With one tile missing, the law is off by tens of percent wherever the library would use it; with one too many, the
 *  law is too fast wherever the library does not. So tiles are added one at a time, the parameters fitted anew with
 *  each, and a tile must pay for itself. */
#include "kernel_fit.h"
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SEARCH_EVALUATIONS 40
#define CHOSEN_EVALUATIONS 200 /* else the next tile would be paid for with what this one's parameters still owe */
#define LEAST_GAIN 0.015       /* of the loss, relative */
#define MAX_MENU 4
#define MAX_CANDIDATES 64
#define MAX_THREADS 64

static const struct {
    double m, n;
} tile_sides[] = {{256, 128}, {128, 256}, {128, 128}, {256, 64}, {64, 256}, {128, 64}, {64, 128}, {64, 64}, {128, 32},
                  {32, 128},  {64, 32},   {32, 64},   {32, 32},  {16, 128}, {128, 16}, {16, 64},  {64, 16}};
#define N_SIDES (sizeof tile_sides / sizeof tile_sides[0])
static const int winograd_sides[] = {0, 2, 4};

typedef struct search {
    const adept_kernel_problem *problem;
    adept_tile_menu menu; /* so far */
    const double *x;      /* start */
    size_t n;
    adept_tile candidates[MAX_CANDIDATES];
    double loss[MAX_CANDIDATES];
    double found[MAX_CANDIDATES][ADEPT_KERNEL_MAX_FREE];
    atomic_size_t next;
    pthread_mutex_t lock; /* of status, err */
    adept_status status;
    adept_error *err;
} search;

static bool on_menu(const adept_tile_menu *menu, const adept_tile *tile)
{
    for (size_t i = 0; i < menu->n; i++)
        if (menu->tiles[i].winograd == tile->winograd && menu->tiles[i].m == tile->m && menu->tiles[i].n == tile->n)
            return true;
    return false;
}

static bool has_direct(const adept_tile_menu *menu)
{
    for (size_t i = 0; i < menu->n; i++)
        if (menu->tiles[i].winograd == 0) return true;
    return false;
}

/* Winograd's algorithm serves few shapes, so a menu of the family's first tile must be a plain one. */
static void list_candidates(search *s)
{
    s->n = 0;
    size_t algorithms = s->problem->family == ADEPT_FAMILY_CONV && has_direct(&s->menu) ? 3 : 1;
    for (size_t a = 0; a < algorithms; a++) {
        for (size_t i = 0; i < N_SIDES && s->n < MAX_CANDIDATES; i++) {
            adept_tile tile = {winograd_sides[a], tile_sides[i].m, tile_sides[i].n};
            if (!on_menu(&s->menu, &tile)) s->candidates[s->n++] = tile;
        }
    }
}

static void *try_candidates(void *data)
{
    search *s = data;
    for (size_t i = atomic_fetch_add(&s->next, 1); i < s->n; i = atomic_fetch_add(&s->next, 1)) {
        adept_tile_menu menu = s->menu;
        adept_error err = {0};
        menu.tiles[menu.n++] = s->candidates[i];
        memcpy(s->found[i], s->x, sizeof s->found[i]);
        adept_status status =
            adept_kernel_descend(s->problem, &menu, s->found[i], &s->loss[i], SEARCH_EVALUATIONS, &err);
        if (status == ADEPT_OK) continue;
        pthread_mutex_lock(&s->lock);
        if (s->status == ADEPT_OK) {
            s->status = status;
            if (s->err) *s->err = err;
        }
        pthread_mutex_unlock(&s->lock);
        break;
    }
    return NULL;
}

static adept_status try_all(search *s, int threads)
{
    pthread_t workers[MAX_THREADS];
    int started = 0;
    atomic_store(&s->next, 0);
    while (started + 1 < threads && started < MAX_THREADS &&
           pthread_create(&workers[started], NULL, try_candidates, s) == 0)
        started++;
    try_candidates(s); /* this thread too: at least one works even if none could be started */
    for (int i = 0; i < started; i++)
        pthread_join(workers[i], NULL);
    return s->status;
}

static size_t best_candidate(const search *s)
{
    size_t best = 0;
    for (size_t i = 1; i < s->n; i++)
        if (s->loss[i] < s->loss[best]) best = i;
    return best;
}

adept_status adept_kernel_choose_tiles(const adept_kernel_problem *p, adept_tile_menu *menu, double *x, int threads,
                                       adept_error *err)
{
    search *s = calloc(1, sizeof *s);
    double loss = INFINITY;
    if (!s) return adept_error_set(err, ADEPT_E_NOMEM, "out of memory for the search of tiles");
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    if (threads <= 0) threads = cores > 0 && cores < MAX_THREADS ? (int)cores : 1;
    s->problem = p;
    s->err = err;
    pthread_mutex_init(&s->lock, NULL);
    while (s->status == ADEPT_OK && s->menu.n < MAX_MENU) {
        double start[ADEPT_KERNEL_MAX_FREE];
        memcpy(start, x, sizeof start);
        s->x = start;
        list_candidates(s);
        if (try_all(s, threads) != ADEPT_OK) break;
        size_t best = best_candidate(s);
        if (!(s->loss[best] < loss * (1.0 - LEAST_GAIN))) break;
        s->menu.tiles[s->menu.n++] = s->candidates[best];
        memcpy(x, s->found[best], sizeof s->found[best]);
        s->status = adept_kernel_descend(p, &s->menu, x, &loss, CHOSEN_EVALUATIONS, err);
    }
    adept_status status = s->status;
    *menu = s->menu;
    pthread_mutex_destroy(&s->lock);
    free(s);
    return status;
}
