/** @file dataset.c  The memory of a dataset, and what does not depend on files. */
#include "dataset_private.h"
#include "adept_grow.h"
#include "adept_json.h"
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_LISTED_GPUS 5
#define LEAST_ROOM 16 /* a power of two */

adept_dataset *adept_dataset_new(void)
{
    adept_arena *arena = adept_arena_new();
    adept_dataset *d = arena ? adept_arena_alloc(arena, sizeof *d) : NULL;
    if (d) d->private_ = adept_arena_alloc(arena, sizeof *d->private_);
    if (!d || !d->private_) {
        adept_arena_free(arena);
        return NULL;
    }
    d->arena = arena;
    return d;
}

void adept_dataset_free(adept_dataset *d)
{
    if (!d) return;
    struct adept_dataset_private *p = d->private_;
    for (size_t i = 0; i < p->n_profiles; i++)
        adept_profile_free(p->profiles[i]);
    for (size_t i = 0; i < p->n_models; i++)
        adept_graph_free(p->models[i].graph);
    for (size_t i = 0; i < p->n_gpus; i++)
        adept_hwprofile_free(p->gpus[i]);
    free(p->profiles);
    adept_arena_free(d->arena);
}

bool adept_dataset_grow(adept_arena *arena, void **items, size_t n, size_t item_bytes)
{
    if (n > 0 && (n < LEAST_ROOM || (n & (n - 1)) != 0)) return true; /* room is doubled when it is used up */
    if (n > SIZE_MAX / 4) return false;
    void *grown = adept_arena_array(arena, n > 0 ? 2 * n : LEAST_ROOM, item_bytes);
    if (!grown) return false;
    if (n > 0) memcpy(grown, *items, n * item_bytes);
    *items = grown;
    return true;
}

bool adept_dataset_warn(adept_dataset *d, const char *format, ...)
{
    char text[512];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    char *copy = adept_arena_strdup(d->arena, text);
    if (!copy || !adept_dataset_grow(d->arena, (void **)&d->warnings, d->n_warnings, sizeof *d->warnings))
        return false;
    d->warnings[d->n_warnings++] = copy;
    return true;
}

bool adept_dataset_own_profile(adept_dataset *d, adept_profile *profile)
{
    struct adept_dataset_private *p = d->private_;

    adept_profile **grown = adept_grow(p->profiles, &p->profile_capacity, p->n_profiles + 1, sizeof *grown);
    if (!grown) {
        adept_profile_free(profile);
        return false;
    }
    p->profiles = grown;
    p->profiles[p->n_profiles++] = profile;
    return true;
}

adept_status adept_row_error(const adept_dataset_row *m, adept_status status, const char *why, adept_error *err)
{
    adept_error_set(err, status, "%s:%ld: %s", m->file, m->line, why);
    if (err) err->line = (int)m->line;
    return status;
}

adept_status adept_row_fail(const adept_dataset_row *m, const char *column, adept_error *err, const char *format, ...)
{
    char text[1024];
    va_list args;
    size_t used = (size_t)snprintf(text, sizeof text, "column %.200s: ", column);

    va_start(args, format);
    vsnprintf(text + used, sizeof text - used, format, args);
    va_end(args);
    return adept_row_error(m, ADEPT_E_INVALID, text, err);
}

const adept_unsupported *adept_dataset_unsupported(const adept_dataset *d, size_t *n)
{
    *n = d->private_->n_unsupported;
    return d->private_->unsupported;
}

/* ---------------------------------------------------------------- rows that cannot be used ----------------------- */

const char *adept_unsaid_text(size_t bit)
{
    static const char *const texts[] = {
#define X(NAME, text) text,
        ADEPT_UNSAID_LIST(X)
#undef X
            NULL};

    return bit < ADEPT_N_UNSAID ? texts[bit] : NULL;
}

bool adept_dataset_list_unused(adept_dataset *d, const char *file, long line, bool layouts, adept_error *err)
{
    char place[64];
    const size_t n = strlen(file);

    if (!d->listing || !layouts || !err) return false;
    const char *why = err->message;
    snprintf(place, sizeof place, ":%ld: ", line);
    if (strncmp(why, file, n) == 0 && strncmp(why + n, place, strlen(place)) == 0) why += n + strlen(place);
    const char *copy = adept_arena_strdup(d->arena, why);
    if (!copy || !adept_dataset_grow(d->arena, (void **)&d->unused, d->n_unused, sizeof *d->unused)) {
        adept_no_memory(err, "the measurements");
        return false;
    }
    d->unused[d->n_unused++] = (adept_unused_row){file, line, copy};
    return true;
}

bool adept_row_list_unused(adept_dataset *d, const adept_dataset_row *m, adept_error *err)
{
    return err->status != ADEPT_E_NOMEM && adept_dataset_list_unused(d, m->file, m->line, m->layouts, err);
}

/* Files in the order in which they were read. */
static int compare_unused(const void *a, const void *b, void *context)
{
    const adept_unused_row *x = a, *y = b;
    const adept_dataset *d = context;
    size_t i = 0, k = 0;

    while (i < d->n_files && d->files[i].path != x->file)
        i++;
    while (k < d->n_files && d->files[k].path != y->file)
        k++;
    return i != k ? (i > k) - (i < k) : (x->line > y->line) - (x->line < y->line);
}

adept_status adept_dataset_sort_unused(adept_dataset *d, adept_error *err)
{
    if (d->n_unused > 0) qsort_r(d->unused, d->n_unused, sizeof *d->unused, compare_unused, d);
    if (d->n > 0 || d->n_unused == 0) return ADEPT_OK;
    return adept_error_set(err, ADEPT_E_INVALID, "%s:%ld: %s%s", d->unused[0].file, d->unused[0].line, d->unused[0].why,
                           d->n_unused > 1 ? "; no other row can be used either" : "");
}

/* ---------------------------------------------------------------- the GPU --------------------------------------- */

/* "runs/mine.json" is called mine. */
static bool is_file_of(const char *given, const char *text)
{
    char name[256];
    const char *slash = strrchr(given, '/');
    snprintf(name, sizeof name, "%s.json", text);
    return adept_hwprofile_same_name(name, slash ? slash + 1 : given);
}

static bool is_this_gpu(const adept_hwprofile *hw, const char *given, const char *text)
{
    bool is = *text == '\0' || adept_hwprofile_same_name(text, hw->name);
    for (size_t i = 0; i < hw->n_aliases; i++)
        is = is || adept_hwprofile_same_name(text, hw->aliases[i]);
    return is || (given && (adept_hwprofile_same_name(text, given) || is_file_of(given, text)));
}

bool adept_dataset_drop(adept_dataset *d, const bool *drop)
{
    adept_dataset_row *moved = adept_arena_array(d->arena, d->n + 1, sizeof *moved);
    size_t kept = 0, n_moved = 0;

    if (!moved) return false;
    for (size_t i = 0; i < d->n; i++) {
        if (drop[i])
            moved[n_moved++] = d->rows[i];
        else
            d->rows[kept++] = d->rows[i];
    }
    memcpy(d->rows + kept, moved, n_moved * sizeof *moved);
    d->n = kept;
    return true;
}

/* "a40 (120 rows), t4 (6 rows)" of these rows; of more than a few GPUs the first. NULL: memory is out */
static const char *list_gpus(adept_dataset *d, const adept_dataset_row *rows, size_t n)
{
    static const char *const column[] = {"gpu"};
    const adept_dataset_row **pointers = adept_arena_array(d->arena, n + 1, sizeof *pointers);
    adept_row_groups gpus = {.n = 0};
    const char *text = "";
    size_t listed = 0;

    for (size_t i = 0; i < n && pointers; i++)
        pointers[i] = &rows[i];
    if (!pointers || adept_rows_group(&gpus, d->arena, pointers, n, column, 1, NULL) != ADEPT_OK) return NULL;
    for (size_t g = 0; g < gpus.n && g < MAX_LISTED_GPUS; g++) {
        size_t count = gpus.begin[g + 1] - gpus.begin[g];
        text = adept_arena_printf(d->arena, "%s%s%.40s (%zu row%s)", text, g ? ", " : "",
                                  rows[gpus.rows[gpus.begin[g]]].gpu, count, count == 1 ? "" : "s");
        listed += count;
    }
    if (listed < n) text = adept_arena_printf(d->arena, "%s, others (%zu)", text, n - listed);
    return text;
}

/* A profile of its own for the dataset, or the one that it has of that board. */
static adept_status keep_gpu(const adept_hwprofile **out, adept_dataset *d, adept_hwprofile *hw, adept_error *err)
{
    struct adept_dataset_private *p = d->private_;

    for (size_t i = 0; i < p->n_gpus; i++)
        if (strcmp(p->gpus[i]->name, hw->name) == 0 && strcmp(p->gpus[i]->path, hw->path) == 0) {
            *out = p->gpus[i];
            adept_hwprofile_free(hw);
            return ADEPT_OK;
        }
    if (!adept_dataset_grow(d->arena, (void **)&p->gpus, p->n_gpus, sizeof(adept_hwprofile *))) {
        adept_hwprofile_free(hw);
        return adept_no_memory(err, "the measurements");
    }
    *out = p->gpus[p->n_gpus++] = hw;
    return ADEPT_OK;
}

/* What a text of the column gpu was found to name. NULL: it was not looked up yet */
static const adept_gpu_name *find_name(const adept_dataset *d, const char *text)
{
    const struct adept_dataset_private *p = d->private_;

    for (size_t i = 0; i < p->n_gpu_names; i++)
        if (strcmp(p->gpu_names[i].text, text) == 0) return &p->gpu_names[i];
    return NULL;
}

/* The GPU of that name, looked up when it is first asked for: what is taken for it is said once.
 * @param only  nothing is said of other boards than this; NULL: of all */
static adept_status own_gpu(const adept_hwprofile **out, adept_dataset *d, const char *name, const char *only,
                            adept_error *err)
{
    struct adept_dataset_private *p = d->private_;
    const adept_gpu_name *known = find_name(d, name);
    adept_hwprofile *hw = NULL;

    *out = known ? known->hw : NULL;
    if (*out) return ADEPT_OK;
    adept_status status = adept_hwprofile_open(&hw, name, err); /* of a name that means none, for its message */
    if (status != ADEPT_OK && (known || status != ADEPT_E_UNKNOWN_GPU)) return status;
    if (hw) {
        const bool others = only && strcmp(hw->name, only) != 0;
        const bool said = !hw->taken || others || adept_dataset_warn(d, "column gpu: %s", hw->taken);
        const adept_status kept = keep_gpu(out, d, hw, err);
        if (kept != ADEPT_OK) return kept;
        if (!said) return adept_no_memory(err, "the measurements");
    }
    if (!adept_dataset_grow(d->arena, (void **)&p->gpu_names, p->n_gpu_names, sizeof *p->gpu_names))
        return adept_no_memory(err, "the measurements");
    p->gpu_names[p->n_gpu_names++] = (adept_gpu_name){name, *out};
    return status;
}

/* Does a row's text mean the built-in board of that name? */
static bool names_board(adept_dataset *d, const char *text, const char *name)
{
    const adept_gpu_name *known = find_name(d, text);
    const adept_hwprofile *hw = known ? known->hw : NULL;

    if (!known && own_gpu(&hw, d, text, name, NULL) != ADEPT_OK) return false;
    return hw && strcmp(hw->name, name) == 0;
}

adept_status adept_dataset_select_gpu(adept_dataset *d, const adept_hwprofile *hw, const char *given, adept_error *err)
{
    size_t before = d->n;
    bool *drop = adept_arena_array(d->arena, before + 1, sizeof *drop);

    if (before == 0 && d->n_unused > 0) return ADEPT_OK; /* which adept_dataset_sort_unused() will say */
    if (before == 0) return adept_error_set(err, ADEPT_E_INVALID, "there is no row to use");
    for (size_t i = 0; i < before && drop; i++)
        drop[i] = !is_this_gpu(hw, given, d->rows[i].gpu) && !names_board(d, d->rows[i].gpu, hw->name);
    bool ok = drop && adept_dataset_drop(d, drop);
    const char *list = ok ? list_gpus(d, d->rows + d->n, before - d->n) : NULL;
    if (list && d->n == 0)
        return adept_error_set(
            err, ADEPT_E_INVALID,
            "%s: column gpu: no row is of %s; there are %s. The column must name the GPU, or be empty",
            d->rows[0].file, hw->name, list);
    for (size_t i = 0; i < d->n; i++) {
        adept_dataset_row *m = &d->rows[i];
        if (*m->gpu == '\0') adept_row_set_text(m, "gpu", hw->name);
        m->hw = hw;
        adept_row_settle_board(m);
    }
    if (list && *list) ok = adept_dataset_warn(d, "rows of other GPUs than %s are left out: %s", hw->name, list);
    d->n_other_gpu += before - d->n;
    return ok && !adept_arena_failed(d->arena) ? ADEPT_OK : adept_error_set(err, ADEPT_E_NOMEM, "out of memory");
}

adept_status adept_dataset_select_own(adept_dataset *d, adept_error *err)
{
    bool *drop = adept_arena_array(d->arena, d->n + 1, sizeof *drop);

    if (!drop) return adept_no_memory(err, "the measurements");
    for (size_t i = 0; i < d->n; i++) {
        adept_dataset_row *m = &d->rows[i];
        adept_error cause = {0};
        adept_status status =
            *m->gpu ? own_gpu(&m->hw, d, m->gpu, NULL, &cause)
                    : adept_error_set(&cause, ADEPT_E_USAGE, "is empty, and --gpu is missing");
        if (status == ADEPT_OK) {
            adept_row_set_text(m, "gpu", m->hw->name); /* aliases are one GPU */
            adept_row_settle_board(m);
            continue;
        }
        adept_error_set(err, status, "%s:%ld: column gpu: %s", m->file, m->line, cause.message);
        drop[i] = adept_row_list_unused(d, m, err);
        if (!drop[i]) return err->status;
    }
    return adept_dataset_drop(d, drop) ? ADEPT_OK : adept_no_memory(err, "the measurements");
}

adept_status adept_dataset_find_in_sample(adept_dataset *d, const adept_hwprofile *hw, adept_error *err)
{
    cJSON *fit = NULL;
    const cJSON *file;

    if (!hw->fit_json) return ADEPT_OK;
    adept_status status = adept_json_parse(&fit, hw->name, hw->fit_json, strlen(hw->fit_json), err);
    if (status != ADEPT_OK) return status;
    const cJSON *dataset = cJSON_GetObjectItemCaseSensitive(fit, "dataset");
    cJSON_ArrayForEach(file, cJSON_GetObjectItemCaseSensitive(dataset, "files"))
    {
        const char *sha256 = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(file, "sha256"));
        for (size_t i = 0; i < d->n_files && sha256; i++)
            if (strcmp(d->files[i].sha256, sha256) == 0) d->files[i].in_sample = true;
    }
    cJSON_Delete(fit);
    return ADEPT_OK;
}
