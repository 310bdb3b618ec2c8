/** @file kernel_cache.c  The last time of every kernel, and of products the tiles they were tried with; see
 * kernel_cache.h. */
#include "kernel_cache.h"
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
    if (!cache->is_used) return; /* its pages are not touched before */
    for (size_t i = 0; i < cache->n; i++)
        forget(&cache->kernels[i]);
    cache->is_used = false;
}

void adept_kernel_cache_at(adept_kernel_cache *cache, const adept_specs *specs)
{
    const adept_specs *of = &cache->specs;
    cache->same_streams = cache->is_timed && of->mem_bytes_per_s == specs->mem_bytes_per_s;
    cache->same_products = cache->same_streams && of->l2_bytes == specs->l2_bytes &&
                           memcmp(of, specs, offsetof(adept_specs, mem_bytes)) == 0; /* peaks */
    cache->is_timed = false; /* yet */
    cache->is_used = true;
    cache->specs = *specs;
}

adept_kernel_time adept_kernel_cache_time(adept_cached_kernel *known, const adept_kernel_case *c,
                                          const adept_kernel_gpu *gpu, const double *theta,
                                          const adept_tile_menu *menus)
{
    const bool product = c->family < ADEPT_TILED_FAMILIES;
    adept_kernel_gpu at = *gpu; /* but what its time does not depend on */
    if (!product || !adept_kernel_l2_matters(gpu)) at.l2_bytes = 0.0;
    if (c->family != ADEPT_FAMILY_ATTENTION && c->family != ADEPT_FAMILY_BATCH_NORM) at.clock_hz = 0.0;
    if (known->family != c->family) forget(known); /* on matrix units, or no longer */
    if (known->known && memcmp(&known->at, &at, sizeof at) == 0) return known->time;
    if (product) { /* its arithmetic only where the peak is another */
        const bool same_peak = known->n_tries > 0 && known->at.flops_per_s == at.flops_per_s &&
                               known->at.sm_count == at.sm_count;
        if (known->n_tries == 0) {
            known->n_tries = adept_kernel_tries(known->tries, c, &at, theta, &menus[c->family]);
            known->fastest = 0;
        }
        for (size_t i = 0; i < known->n_tries && !same_peak; i++)
            known->compute_s[i] = adept_kernel_try_compute_s(&known->tries[i], &at);
        known->time = adept_kernel_law_of_tries(c, &at, theta, known->tries, known->compute_s, known->n_tries,
                                                &known->fastest);
    } else {
        known->time = adept_kernel_law(c, &at, theta, menus, 1.0, NULL);
    }
    known->family = c->family;
    known->at = at;
    known->known = true;
    return known->time;
}
