/** @file kernel_tiles.c  Which tiles a library uses, from the times of its kernels: greedy search over short menus.
 *
 *  With one tile missing, the law is off by tens of percent wherever the library would use it; with one too many, the
 *  law is too fast wherever the library does not. So tiles are added one at a time, the parameters fitted anew with
 *  each, and a tile must pay for itself. */
#include "kernel_fit.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SEARCH_EVALUATIONS 40
#define CHOSEN_EVALUATIONS 200 /* else the next tile would be paid for with what this one's parameters still owe */
#define LEAST_GAIN 0.015       /* of the loss, relative */
#define MAX_MENU 4
#define MAX_CANDIDATES 64

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
    adept_status status[MAX_CANDIDATES];
    adept_error err[MAX_CANDIDATES];
} search;

static bool on_menu(const adept_tile_menu *menu, const adept_tile *tile)
{
    for (size_t i = 0; i < menu->n; i++)
        if (menu->tiles[i].winograd == tile->winograd && menu->tiles[i].m == tile->m && menu->tiles[i].n == tile->n)
            return true;
    return false;
}

/* Winograd's algorithm serves few shapes, so the first tile of a menu is a plain one. */
static void list_candidates(search *s)
{
    s->n = 0;
    size_t algorithms = s->problem->family == ADEPT_FAMILY_CONV && s->menu.n > 0 ? 3 : 1;
    for (size_t a = 0; a < algorithms; a++) {
        for (size_t i = 0; i < N_SIDES && s->n < MAX_CANDIDATES; i++) {
            adept_tile tile = {winograd_sides[a], tile_sides[i].m, tile_sides[i].n};
            if (!on_menu(&s->menu, &tile)) s->candidates[s->n++] = tile;
        }
    }
}

static void try_candidates(void *context, int worker, size_t begin, size_t end)
{
    search *s = context;
    (void)worker;
    for (size_t i = begin; i < end; i++) {
        adept_tile_menu menu = s->menu;
        menu.tiles[menu.n++] = s->candidates[i];
        memcpy(s->found[i], s->x, sizeof s->found[i]);
        s->status[i] =
            adept_kernel_descend(s->problem, &menu, s->found[i], &s->loss[i], SEARCH_EVALUATIONS, &s->err[i]);
    }
}

/* Of all candidates on top of the menu so far. */
static adept_status find_best(size_t *best, search *s, adept_pool *pool, adept_error *err)
{
    list_candidates(s);
    adept_pool_run(pool, try_candidates, s, s->n, 1);
    *best = 0;
    for (size_t i = 0; i < s->n; i++) {
        if (s->status[i] != ADEPT_OK) return adept_error_set(err, s->status[i], "%s", s->err[i].message);
        if (s->loss[i] < s->loss[*best]) *best = i;
    }
    return ADEPT_OK;
}

adept_status adept_kernel_choose_tiles(const adept_kernel_problem *p, adept_tile_menu *menu, double *x,
                                       adept_pool *pool, adept_error *err)
{
    search *s = calloc(1, sizeof *s);
    double loss = INFINITY, start[ADEPT_KERNEL_MAX_FREE];
    adept_status status = ADEPT_OK;
    if (!s) return adept_error_set(err, ADEPT_E_NOMEM, "out of memory for the search of tiles");
    s->problem = p;
    s->x = start;
    while (status == ADEPT_OK && s->menu.n < MAX_MENU) {
        size_t best;
        memcpy(start, x, sizeof start);
        status = find_best(&best, s, pool, err);
        if (status != ADEPT_OK || !(s->loss[best] < loss * (1.0 - LEAST_GAIN))) break;
        s->menu.tiles[s->menu.n++] = s->candidates[best];
        memcpy(x, s->found[best], sizeof s->found[best]);
        status = adept_kernel_descend(p, &s->menu, x, &loss, CHOSEN_EVALUATIONS, err);
    }
    *menu = s->menu;
    free(s);
    return status;
}
