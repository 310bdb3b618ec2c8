/** @file kernel_cache.h  Times of the kernels of a set on a GPU whose numbers change bit by bit: what did not change is
 * not worked out again. Private to model/. Calls: nothing. */
#ifndef ADEPT_KERNEL_CACHE_H
#define ADEPT_KERNEL_CACHE_H
#include "kernel_list.h"
#include "kernel_set.h"
#include "kernel_tries.h"

typedef struct adept_cached_kernel {
    bool known;
    adept_kernel_family family; /* where its time is known: on matrix units, or not */
    adept_kernel_gpu at;
    adept_kernel_time time;
    size_t n_tries /* 0: not known */, fastest;
    adept_kernel_try tries[ADEPT_MAX_TRIES];
    double compute_s[ADEPT_MAX_TRIES]; /* of each try, at the peak and the SMs of `at` */
} adept_cached_kernel;

typedef struct adept_kernel_cache {
    size_t n; /* two for each kernel: on its unit, and on ALUs */
    adept_cached_kernel *kernels;
    adept_timed_kernel *timed;                 /* by kernel */
    bool is_used;                              /* something may be known of kernels */
    bool is_timed, same_streams, same_products; /* by these, and the same here as there: */
    adept_specs specs;
} adept_kernel_cache;

/** @return ADEPT_E_NOMEM */
adept_status adept_kernel_cache_new(adept_kernel_cache *out, const adept_kernel_set *set, adept_error *err);
void adept_kernel_cache_free(adept_kernel_cache *cache); /* zeroed is fine */
/** Parameters or menus are others from now on. */
void adept_kernel_cache_forget(adept_kernel_cache *cache);

/** From now on the GPU has these numbers, of which bandwidth, caches and matrix units may be others than before. */
void adept_kernel_cache_at(adept_kernel_cache *cache, const adept_specs *specs);
/** adept_kernel_law() without derivatives of one kernel, whose case is always the same on its family. */
adept_kernel_time adept_kernel_cache_time(adept_cached_kernel *known, const adept_kernel_case *c,
                                          const adept_kernel_gpu *gpu, const double *theta,
                                          const adept_tile_menu *menus);

#endif
