/** @file shared.c  Several GPUs and the base they share; see adept_shared.h. */
#include "adept_shared.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct adept_shared {
    size_t n;
    adept_hwprofile *gpus[ADEPT_KERNEL_MAX_GPUS]; /* owned */
    adept_hwprofile *base;                        /* owned; its donors are the following */
    const char *names[ADEPT_KERNEL_MAX_GPUS], *vendors[ADEPT_KERNEL_MAX_GPUS];
    adept_kernel_rows kernels;
    adept_dataset_row *steps;     /* of a copy for a fold: the rows on its own GPUs */
    adept_kernel_fit_options how; /* of the kernels' fit */
};

/* ---- life ---- */

/* Its texts stay those of the original, which must live longer. */
static adept_hwprofile *copy_of(const adept_hwprofile *hw)
{
    adept_arena *arena = adept_arena_new();
    adept_hwprofile *copy = arena ? adept_arena_alloc(arena, sizeof *copy) : NULL;
    if (!copy) {
        adept_arena_free(arena);
        return NULL;
    }
    *copy = *hw;
    copy->arena = arena;
    return copy;
}

adept_shared *adept_shared_new(void)
{
    adept_shared *s = calloc(1, sizeof *s);
    if (s) {
        adept_hwprofile base = {.name = "shared",
                                .vendor = "",
                                .architecture = "",
                                .path = "shared",
                                .transferred = true,
                                .granularity = ADEPT_GRANULARITY_OPERATOR};
        for (size_t i = 0; i < ADEPT_SPECS; i++)
            ((double *)&base.specs)[i] = NAN; /* it has no sheet */
        s->base = copy_of(&base);
    }
    if (s && s->base) {
        s->base->donors = s->names;
        s->base->donor_vendors = s->vendors;
        return s;
    }
    free(s);
    return NULL;
}

void adept_shared_free(adept_shared *s)
{
    if (!s) return;
    for (size_t i = 0; i < s->n; i++)
        adept_hwprofile_free(s->gpus[i]);
    adept_hwprofile_free(s->base);
    adept_kernel_rows_free(&s->kernels);
    free(s->steps);
    free(s);
}

adept_hwprofile *adept_shared_base(const adept_shared *s)
{
    return s->base;
}

/* ---- GPUs by name ---- */

/* Its index; s->n: not yet opened. */
static size_t index_of(const adept_shared *s, const char *name)
{
    size_t i = 0;
    while (i < s->n && strcmp(s->gpus[i]->name, name) != 0)
        i++;
    return i;
}

/* The GPU of that name, opened when it is first asked for. */
static adept_status find(void *context, const char *name, const adept_hwprofile **hw, size_t *index, adept_error *err)
{
    adept_shared *s = context;
    adept_hwprofile *opened = NULL;
    *index = index_of(s, name);
    if (*index == s->n) {
        adept_status status = adept_hwprofile_open(&opened, name, err);
        if (status != ADEPT_OK) return status;
        *index = index_of(s, opened->name); /* the name was an alias */
    }
    if (*index < s->n) {
        adept_hwprofile_free(opened);
        *hw = s->gpus[*index];
        return ADEPT_OK;
    }
    if (s->n == ADEPT_KERNEL_MAX_GPUS) {
        adept_hwprofile_free(opened);
        return adept_error_set(err, ADEPT_E_USAGE, "more than %d GPUs", ADEPT_KERNEL_MAX_GPUS);
    }
    adept_hwprofile_forget_fit(opened);
    opened->transferred = true;
    opened->granularity = ADEPT_GRANULARITY_OPERATOR;
    /* The record that goes with the fit: who taught it. */
    adept_hwprofile *base = s->base;
    size_t k = 0;
    while (k < base->n_donor_vendors && strcmp(s->vendors[k], opened->vendor) != 0)
        k++;
    if (k == base->n_donor_vendors) s->vendors[base->n_donor_vendors++] = opened->vendor;
    s->names[base->n_donors++] = opened->name;
    *hw = s->gpus[s->n++] = opened;
    return ADEPT_OK;
}

adept_status adept_dataset_select_each(adept_dataset *d, adept_shared *s, adept_error *err)
{
    for (size_t i = 0; i < d->n; i++) {
        adept_dataset_row *m = &d->rows[i];
        adept_error cause = {0};
        size_t index;
        if (*m->gpu == '\0') return adept_row_fail(m, "gpu", err, "empty; --gpu auto needs the GPU of every row");
        const adept_hwprofile *hw = NULL;
        adept_status status = find(s, m->gpu, &hw, &index, &cause);
        if (status != ADEPT_OK)
            return adept_error_set(err, status, "%s:%ld: column gpu: %s", m->file, m->line, cause.message);
        adept_row_set_text(m, "gpu", hw->name); /* aliases are one GPU */
        m->hw = hw;
    }
    return d->n > 0 ? ADEPT_OK : adept_error_set(err, ADEPT_E_INVALID, "there is no row to use");
}

void adept_shared_weigh(const adept_shared *s, adept_dataset *d)
{
    double sums[ADEPT_KERNEL_MAX_GPUS] = {0}, total = 0.0;
    size_t with_weight = 0;
    for (size_t i = 0; i < d->n; i++) {
        sums[index_of(s, d->rows[i].hw->name)] += d->rows[i].weight;
        total += d->rows[i].weight;
    }
    for (size_t g = 0; g < s->n; g++)
        with_weight += sums[g] > 0.0;
    for (size_t i = 0; i < d->n; i++) {
        double sum = sums[index_of(s, d->rows[i].hw->name)];
        if (sum > 0.0) d->rows[i].weight *= total / ((double)with_weight * sum);
    }
}

/* ---- kernels ---- */

adept_status adept_shared_read_kernels(adept_shared *s, const char *path, const char *gpu, adept_error *err)
{
    const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path, *dot = strrchr(base, '.');
    char *of_file = dot && dot > base ? strndup(base, (size_t)(dot - base)) : strdup(base);
    if (!of_file) return adept_no_memory(err, "several GPUs");
    const adept_kernel_gpus gpus = {.find = find, .context = s, .unnamed = gpu ? gpu : of_file};
    adept_status status = adept_kernel_rows_read(&s->kernels, path, &gpus, err);
    free(of_file);
    return status;
}

/* As the fit of one GPU, but it stays shared by all. */
static adept_status apply_to(adept_hwprofile *hw, const adept_shared *s, const adept_kernel_fit *fit, adept_error *err)
{
    size_t n_donors = hw->n_donors, n_vendors = hw->n_donor_vendors;
    hw->n_parameters = 0; /* of the kernels that a fold leaves out */
    hw->tiles = NULL;
    adept_status status = adept_kernel_fit_apply(hw, fit, s->kernels.files, s->kernels.n_files, s->how.seed, err);
    hw->calibrated = false;
    hw->transferred = true;
    hw->n_donors = n_donors;
    hw->n_donor_vendors = n_vendors;
    return status;
}

static adept_status apply(adept_shared *s, const adept_kernel_fit *fit, adept_error *err)
{
    adept_status status = apply_to(s->base, s, fit, err);
    for (size_t i = 0; i < s->n && status == ADEPT_OK; i++)
        status = apply_to(s->gpus[i], s, fit, err);
    return status;
}

adept_status adept_shared_fit_kernels(adept_shared *s, adept_kernel_fit *out, const adept_kernel_fit_options *how,
                                      adept_error *err)
{
    s->how = *how;
    adept_status status = adept_kernel_fit_run(out, &s->kernels, how, err);
    return status == ADEPT_OK ? apply(s, out, err) : status;
}

/* ---- folds ---- */

/* Everything of `s` but its kernels and the record of them, and the rows on the copied GPUs. */
static adept_shared *copy(const adept_shared *s, const adept_dataset_row *rows, size_t n)
{
    adept_shared *c = calloc(1, sizeof *c);
    if (!c) return NULL;
    c->how = s->how;
    c->base = copy_of(s->base);
    c->steps = calloc(n + 1, sizeof *c->steps);
    c->kernels.rows = calloc(s->kernels.n + 1, sizeof *c->kernels.rows);
    bool ok = c->base && c->steps && c->kernels.rows;
    for (; c->n < s->n && ok; c->n += ok)
        ok = (c->gpus[c->n] = copy_of(s->gpus[c->n])) != NULL;
    for (size_t i = 0; i < n && ok; i++) {
        c->steps[i] = rows[i];
        for (size_t g = 0; g < s->n; g++)
            if (rows[i].hw == s->gpus[g]) c->steps[i].hw = c->gpus[g];
    }
    if (ok) return c;
    adept_shared_free(c);
    return NULL;
}

adept_status adept_shared_without(adept_shared **out, const adept_shared *s, const adept_dataset_row *rows, size_t n,
                                  const bool *use, const volatile sig_atomic_t *stop, adept_error *err)
{
    bool kept[ADEPT_KERNEL_MAX_GPUS];
    adept_kernel_fit fit;
    /* GPUs of which the fold has rows, and those that have kernels only. */
    for (size_t g = 0; g < s->n; g++) {
        size_t n_rows = 0, n_used = 0;
        for (size_t i = 0; i < n; i++) {
            n_rows += rows[i].hw == s->gpus[g];
            n_used += rows[i].hw == s->gpus[g] && use[i];
        }
        kept[g] = n_used > 0 || n_rows == 0;
    }
    adept_shared *c = copy(s, rows, n);
    if (!c) return adept_no_memory(err, "several GPUs");
    for (size_t i = 0; i < s->kernels.n; i++)
        if (kept[s->kernels.rows[i].gpu]) c->kernels.rows[c->kernels.n++] = s->kernels.rows[i];
    bool lost = c->kernels.n < s->kernels.n;
    c->how.threads = 1;
    c->how.stop = stop;
    adept_status status = lost ? adept_kernel_fit_run(&fit, &c->kernels, &c->how, err) : ADEPT_OK;
    if (status == ADEPT_OK && lost) status = apply(c, &fit, err);
    if (status == ADEPT_OK)
        *out = c;
    else
        adept_shared_free(c);
    return status;
}

const adept_dataset_row *adept_shared_rows(const adept_shared *s)
{
    return s->steps;
}
