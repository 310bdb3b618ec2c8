/** @file kernel_cache.c  The last time of every kernel, and of products the tiles they were tried with; see
 * kernel_cache.h. */
#include "kernel_cache.h"
#include "operator_step.h"
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

adept_status adept_kernel_cache_new(adept_kernel_cache *out, const adept_kernel_set *set, adept_error *err)
{
    *out = (adept_kernel_cache){.n = 2 * set->n,
                                .kernels = calloc(2 * set->n + 1, sizeof *out->kernels),
                                .timed = malloc((set->n + 1) * sizeof *out->timed)};
    if (out->kernels && out->timed) return ADEPT_OK;
    return adept_error_set(err, ADEPT_E_NOMEM, "out of memory for %zu kernels", set->n);
}

void adept_kernel_cache_free(adept_kernel_cache *cache)
{
    free(cache->kernels);
    free(cache->timed);
    *cache = (adept_kernel_cache){.n = 0};
}

static void forget(adept_cached_kernel *known)
{
    known->known = false;
    known->n_tries = 0;
}

void adept_kernel_cache_forget(adept_kernel_cache *cache)
{
    cache->is_timed = false;
    for (size_t i = 0; i < cache->n && cache->is_used; i++)
        forget(&cache->kernels[i]);
    cache->is_used = false; /* its pages are not touched before */
}

void adept_kernel_cache_at(adept_kernel_cache *cache, const adept_specs *specs)
{
    const adept_specs *of = &cache->specs;
    cache->same_streams = cache->is_timed && of->mem_bytes_per_s == specs->mem_bytes_per_s;
    cache->same_products = cache->same_streams && of->l2_bytes == specs->l2_bytes &&
                           memcmp(of, specs, offsetof(adept_specs, mem_bytes)) == 0; /* peaks */
    cache->is_timed = false; /* yet */
    cache->specs = *specs;
}

/* What a product takes; its arithmetic only where the peak is another. */
static void time_product(adept_cached_kernel *known, const adept_kernel_case *c, const double *theta,
                         const adept_tile_menu *menu)
{
    bool same_peak = known->n_tries > 0 && known->flops_per_s == c->flops_per_s && known->sm_count == c->sm_count;
    if (known->n_tries == 0) {
        known->n_tries = adept_kernel_tries(known->tries, c, theta, menu);
        known->fastest = 0;
    }
    for (size_t i = 0; i < known->n_tries && !same_peak; i++)
        known->compute_s[i] = adept_kernel_try_compute_s(&known->tries[i], c);
    known->flops_per_s = c->flops_per_s;
    known->sm_count = c->sm_count;
    known->time =
        adept_kernel_law_of_tries(c, theta, known->tries, known->compute_s, known->n_tries, &known->fastest);
}

/* @param c  forgets its cache where the time is the same without */
static const adept_kernel_time *time_of(adept_cached_kernel *known, adept_kernel_case *c, const double *theta,
                                        const adept_tile_menu *menus)
{
    bool product = c->family < ADEPT_TILED_FAMILIES;
    if (!product || !adept_kernel_l2_matters(c)) c->l2_bytes = 0.0;
    if (known->at.family != c->family) forget(known); /* on matrix units, or no longer */
    if (!known->known || memcmp(&known->at, c, sizeof *c) != 0) {
        if (product)
            time_product(known, c, theta, &menus[c->family]);
        else
            known->time = adept_kernel_law(c, theta, menus, 1.0, NULL);
        memcpy(&known->at, c, sizeof *c);
        known->known = true;
    }
    return &known->time;
}

void adept_kernel_cache_time(adept_timed_kernel *out, adept_kernel_cache *cache, size_t index, adept_operator_kernel *k,
                             const double *theta, const adept_tile_menu *menus)
{
    adept_cached_kernel *known = &cache->kernels[2 * index];
    cache->is_used = true;
    const adept_kernel_time *t = time_of(known, &k->work, theta, menus);
    adept_operator_put_time(out, k, t, k->or_alus ? time_of(known + 1, &k->on_alus, theta, menus) : t, theta);
}
