/* Walks and samples for batches_build.c. */
#include "batches_walk.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define ALL_OF 64       /* a range of that many is walked in full */
#define FILL_SAMPLES 24 /* else ends, powers of two with their neighbours, and that many spread over the range, twice  \
                         */
#define MOST_POWERS 40  /* of two in a range */

adept_status adept_walk_nomem(adept_error *err)
{
    return adept_error_set(err, ADEPT_E_NOMEM, "out of memory for profiles of several batch sizes");
}

void adept_walked_free(adept_walked *one)
{
    if (!one) return;
    adept_numbers_free(&one->numbers);
    adept_profile_free(one->profile);
    free(one);
}

static adept_status note(adept_walker *w, adept_batch_point at)
{
    if (w->n == w->room) {
        size_t room = 2 * w->room + 64;
        adept_batch_point *larger = realloc(w->done, room * sizeof *larger);
        if (!larger) return adept_walk_nomem(w->err);
        w->done = larger;
        w->room = room;
    }
    w->done[w->n++] = at;
    return ADEPT_OK;
}

static adept_status failed(const adept_walker *w, adept_status status, adept_batch_point at, const char *why)
{
    char length[64] = "";
    if (at.length > 0) snprintf(length, sizeof length, " and a sequence length of %" PRId64, at.length);
    return adept_error_set(w->err, status, "at a batch of %" PRId64 "%s: %s", at.batch, length, why);
}

adept_status adept_walk_at(adept_walked **out, adept_walker *w, adept_batch_point at)
{
    adept_error detail = {0};
    adept_walked *one = calloc(1, sizeof *one);
    if (!one) return adept_walk_nomem(w->err);
    one->at = at;
    adept_status status = w->walk(&one->profile, at.batch, at.length, w->context, &detail);
    if (status != ADEPT_OK)
        status = failed(w, status, at, detail.message);
    else if (one->profile->batch_size != at.batch || (at.length > 0 && one->profile->seq_length != at.length))
        status = failed(w, ADEPT_E_INTERNAL, at, "the walk counted another one");
    else if (!adept_numbers_collect(&one->numbers, one->profile))
        status = adept_walk_nomem(w->err);
    if (status == ADEPT_OK) status = note(w, at);
    if (status == ADEPT_OK)
        *out = one;
    else
        adept_walked_free(one);
    return status;
}

/* ---- samples ---- */

typedef struct samples {
    const adept_size_range *range;
    int64_t *sizes;
    size_t n;
} samples;

static int by_value(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

size_t adept_sizes_sort(int64_t *sizes, size_t n)
{
    size_t kept = 0;
    qsort(sizes, n, sizeof *sizes, by_value);
    for (size_t i = 0; i < n; i++)
        if (kept == 0 || sizes[kept - 1] != sizes[i]) sizes[kept++] = sizes[i];
    return kept;
}

static void add(samples *s, int64_t size)
{
    if (size >= s->range->low && size <= s->range->high) s->sizes[s->n++] = size;
}

/* The spread ones are equidistant in the logarithm and on the line, made odd or even in turn. */
static void add_spread(samples *s)
{
    double low = (double)s->range->low, high = (double)s->range->high;
    for (int i = 1; i < FILL_SAMPLES; i++) {
        double share = (double)i / FILL_SAMPLES;
        add(s, (int64_t)(low * pow(high / low, share)) / 2 * 2 + i % 2);
        add(s, (int64_t)(low + (high - low) * share) / 2 * 2 + (i + 1) % 2);
    }
}

static void add_all(samples *s)
{
    const adept_size_range *r = s->range;
    for (size_t i = 0; i < r->n_points; i++)
        add(s, r->points[i]);
    add(s, r->base);
    if (r->high - r->low < ALL_OF) {
        for (int64_t b = r->low; b <= r->high; b++)
            add(s, b);
        return;
    }
    for (int64_t b = 0; b < 4; b++)
        add(s, r->low + b), add(s, r->high - b);
    for (int64_t b = 4; b <= ADEPT_MAX_BATCH; b *= 2)
        for (int64_t d = -1; d <= 1; d++)
            add(s, b + d);
    add_spread(s);
}

int64_t *adept_size_samples(const adept_size_range *range, const adept_numbers *numbers, size_t *n)
{
    samples s = {.range = range};
    size_t n_dims = numbers->n - numbers->n_plain,
           room = range->n_points + 3 * MOST_POWERS + 2 * FILL_SAMPLES + ALL_OF + 16;
    int64_t *dims = malloc((n_dims + 1) * sizeof *dims);
    if (!dims) return NULL;
    for (size_t i = 0; i < n_dims; i++)
        dims[i] = (int64_t)numbers->values[numbers->n_plain + i];
    n_dims = adept_sizes_sort(dims, n_dims);
    s.sizes = malloc((room + 3 * n_dims) * sizeof *s.sizes);
    if (s.sizes) add_all(&s);
    for (size_t i = 0; s.sizes && i < n_dims; i++)
        for (int64_t d = -1; d <= 1; d++)
            add(&s, dims[i] + d);
    free(dims);
    if (!s.sizes) return NULL;
    *n = adept_sizes_sort(s.sizes, s.n);
    return s.sizes;
}
