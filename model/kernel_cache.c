/** @file kernel_cache.c  The last time of every kernel, and of products the tiles they were tried with; see
 * kernel_cache.h. */
#include "kernel_cache.h"
#include <stdlib.h>
#include <string.h>

adept_status adept_kernel_cache_new(adept_kernel_cache *out, const adept_kernel_set *set, adept_error *err)
{
    *out = (adept_kernel_cache){.n = set->n, .kernels = calloc(set->n + 1, sizeof *out->kernels)};
    return out->kernels ? ADEPT_OK : adept_error_set(err, ADEPT_E_NOMEM, "out of memory for %zu kernels", set->n);
}

void adept_kernel_cache_free(adept_kernel_cache *cache)
{
    for (size_t i = 0; i < cache->n && cache->kernels; i++) {
        free(cache->kernels[i].tries);
        free(cache->kernels[i].compute_s);
    }
    free(cache->kernels);
    *cache = (adept_kernel_cache){.n = 0};
}

void adept_kernel_cache_forget(adept_kernel_cache *cache)
{
    for (size_t i = 0; i < cache->n; i++)
        cache->kernels[i].known = cache->kernels[i].has_tries = false;
}

static adept_status find_tries(adept_cached_kernel *known, const adept_kernel_case *c, const double *theta,
                               const adept_tile_menu *menu, adept_error *err)
{
    adept_kernel_try tries[ADEPT_MAX_TRIES];
    size_t n = adept_kernel_tries(tries, c, theta, menu);
    free(known->tries);
    free(known->compute_s);
    known->tries = malloc(n * sizeof *tries);
    known->compute_s = malloc(n * sizeof *known->compute_s);
    if (!known->tries || !known->compute_s)
        return adept_error_set(err, ADEPT_E_NOMEM, "out of memory for %zu tiles", n);
    memcpy(known->tries, tries, n * sizeof *tries);
    known->n_tries = n;
    known->has_tries = true;
    known->flops_per_s = 0.0; /* compute_s is of no GPU yet */
    return ADEPT_OK;
}

/* What a product takes; its arithmetic only where the peak is another. */
static adept_status time_product(adept_cached_kernel *known, const adept_kernel_case *c, const double *theta,
                                 const adept_tile_menu *menu, adept_error *err)
{
    adept_status status = known->has_tries ? ADEPT_OK : find_tries(known, c, theta, menu, err);
    if (status != ADEPT_OK) return status;
    if (known->flops_per_s != c->flops_per_s || known->sm_count != c->sm_count) {
        for (size_t i = 0; i < known->n_tries; i++)
            known->compute_s[i] = adept_kernel_try_compute_s(&known->tries[i], c);
        known->flops_per_s = c->flops_per_s;
        known->sm_count = c->sm_count;
    }
    known->time = adept_kernel_law_of_tries(c, theta, known->tries, known->compute_s, known->n_tries);
    return ADEPT_OK;
}

adept_status adept_kernel_cache_time(adept_timed_kernel *out, adept_kernel_cache *cache, size_t index,
                                     const adept_operator_kernel *k, const double *theta, const adept_tile_menu *menus,
                                     adept_error *err)
{
    adept_cached_kernel *known = &cache->kernels[index];
    bool product = k->work.family < ADEPT_TILED_FAMILIES;
    adept_kernel_case c;
    memcpy(&c, &k->work, sizeof c); /* padding too */
    if (!product || !adept_kernel_l2_matters(&c)) c.l2_bytes = 0.0; /* the same without */
    if (known->at.family != c.family) known->known = known->has_tries = false; /* on matrix units, or no longer */
    if (!known->known || memcmp(&known->at, &c, sizeof c) != 0) {
        adept_status status = ADEPT_OK;
        known->known = false;
        if (product)
            status = time_product(known, &c, theta, &menus[c.family], err);
        else
            known->time = adept_kernel_law(&c, theta, menus, 1.0, NULL);
        if (status != ADEPT_OK) return status;
        memcpy(&known->at, &c, sizeof c);
        known->known = true;
    }
    *out = (adept_timed_kernel){k->unit,       known->time.time_s, known->time.core_s, k->simt_flops,
                                k->tensor_flops, c.bytes};
    return ADEPT_OK;
}
