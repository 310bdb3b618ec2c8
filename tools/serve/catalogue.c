/** @file catalogue.c  The workloads and GPUs that clients may name. */
#include "catalogue.h"
#include "adept_grow.h"
#include "adept_hwprofile.h"
#include "adept_hwprofile_json.h"
#include "nearest.h"
#include <dirent.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

struct adept_serve_catalogue {
    adept_serve_workload *workloads; /* sorted by name */
    size_t n_workloads, workloads_capacity;
    adept_serve_gpu *gpus;
    size_t n_gpus, gpus_capacity;
    char *gpus_json;
};

static adept_status no_memory(adept_error *err)
{
    return adept_error_set(err, ADEPT_E_NOMEM, "out of memory");
}

/* ---- GPUs ---- */

/* Its name, then its aliases; NULL past the end. */
static const char *name_at(const adept_serve_gpu *gpu, size_t index)
{
    if (index == 0) return gpu->hw->name;
    return index <= gpu->hw->n_aliases ? gpu->hw->aliases[index - 1] : NULL;
}

/* The first GPU to have a name keeps it: those of files come first. */
static const adept_serve_gpu *find_gpu(const adept_serve_catalogue *c, const char *name)
{
    const char *known;
    for (size_t g = 0; g < c->n_gpus; g++)
        for (size_t i = 0; (known = name_at(&c->gpus[g], i)); i++)
            if (strcasecmp(known, name) == 0) return &c->gpus[g];
    return NULL;
}

/* Takes `hw`. */
static adept_status add_gpu(adept_serve_catalogue *c, const char *name_or_path, adept_hwprofile *hw,
                            adept_json_writer *list, adept_error *err)
{
    adept_serve_gpu *gpus = adept_grow(c->gpus, &c->gpus_capacity, c->n_gpus + 1, sizeof *gpus);
    if (!gpus) {
        adept_hwprofile_free(hw);
        return no_memory(err);
    }
    c->gpus = gpus;
    adept_serve_gpu *gpu = &gpus[c->n_gpus++]; /* also a half-made one: it is freed with the others */
    *gpu = (adept_serve_gpu){.hw = hw};
    adept_status status = adept_gpu_open(&gpu->handle, name_or_path, err);
    if (status == ADEPT_OK) status = adept_gpu_text(&gpu->json, &gpu->json_size, hw, err);
    if (status == ADEPT_OK) adept_gpu_put_summary(list, hw);
    return status;
}

static adept_status load_gpu(adept_serve_catalogue *c, const char *name_or_path, bool is_file, adept_json_writer *list,
                             adept_error *err)
{
    adept_hwprofile *hw = NULL;
    adept_status status = adept_hwprofile_open(&hw, name_or_path, err);
    if (status != ADEPT_OK) return status;
    if (!find_gpu(c, hw->name)) return add_gpu(c, name_or_path, hw, list, err);
    if (is_file)
        status = adept_error_set(err, ADEPT_E_USAGE, "--gpu %s: '%s' is the name of another GPU that was given",
                                 name_or_path, hw->name);
    adept_hwprofile_free(hw);
    return status;
}

/* A name of the catalogue would be no addition; a file is one, also without a '/' in its path. */
typedef struct fleet {
    adept_serve_catalogue *c;
    adept_json_writer *list;
} fleet;

static adept_status load_of_fleet(const char *name, void *context, adept_error *err)
{
    const fleet *f = context;
    return load_gpu(f->c, name, true, f->list, err);
}

static adept_status load_gpu_file(adept_serve_catalogue *c, const char *path, adept_json_writer *list, adept_error *err)
{
    size_t length = strlen(path);
    fleet of = {c, list};
    if (adept_hwprofile_is_fleet(path)) return adept_hwprofile_each_of_fleet(path, load_of_fleet, &of, err);
    if (strchr(path, '/') || strstr(path, ".json#") || (length >= 5 && strcmp(path + length - 5, ".json") == 0))
        return load_gpu(c, path, true, list, err);
    return adept_error_set(err, ADEPT_E_USAGE,
                           "--gpu %s: not a file (a path with '/', or ending in .json); those of the catalogue are "
                           "served anyway",
                           path);
}

static adept_status load_gpus(adept_serve_catalogue *c, const char *const *files, size_t n, adept_error *err)
{
    adept_json_writer w = {.pretty = true};
    adept_status status = ADEPT_OK;
    const char *name;
    adept_json_begin_object(&w, NULL);
    adept_json_put_integer(&w, "schema_version", 1);
    adept_json_begin_array(&w, "gpus");
    for (size_t i = 0; status == ADEPT_OK && i < n; i++)
        status = load_gpu_file(c, files[i], &w, err);
    for (size_t i = 0; status == ADEPT_OK && (name = adept_gpu_name(i)); i++)
        status = load_gpu(c, name, false, &w, err);
    adept_json_end_array(&w);
    adept_json_end_object(&w);
    c->gpus_json = adept_json_finish(&w);
    if (status == ADEPT_OK && !c->gpus_json) status = no_memory(err);
    return status;
}

adept_status adept_serve_catalogue_new(adept_serve_catalogue **out, const char *const *gpu_files, size_t n_gpu_files,
                                       adept_error *err)
{
    adept_serve_catalogue *c = calloc(1, sizeof *c);
    if (!c) return no_memory(err);
    adept_status status = load_gpus(c, gpu_files, n_gpu_files, err);
    if (status == ADEPT_OK)
        *out = c;
    else
        adept_serve_catalogue_free(c);
    return status;
}

void adept_serve_catalogue_free(adept_serve_catalogue *c)
{
    if (!c) return;
    for (size_t i = 0; i < c->n_workloads; i++) {
        adept_workload_free(c->workloads[i].handle);
        free(c->workloads[i].name);
    }
    for (size_t i = 0; i < c->n_gpus; i++) {
        adept_gpu_free(c->gpus[i].handle);
        adept_hwprofile_free(c->gpus[i].hw);
        free(c->gpus[i].json);
    }
    free(c->workloads);
    free(c->gpus);
    free(c->gpus_json);
    free(c);
}

/* "_" and " " stand for "-", as on the command line. */
const adept_serve_gpu *adept_serve_gpu_find(const adept_serve_catalogue *c, const char *name)
{
    char wanted[ADEPT_SERVE_NAME_SIZE];
    size_t n = 0;
    for (; name[n] && n + 1 < sizeof wanted; n++)
        wanted[n] = name[n] == '_' || name[n] == ' ' ? '-' : name[n];
    if (name[n]) return NULL;
    wanted[n] = '\0';
    return find_gpu(c, wanted);
}

const char *adept_serve_gpus_json(const adept_serve_catalogue *c)
{
    return c->gpus_json;
}

/* ---- workloads ---- */

static int by_workload_name(const void *a, const void *b)
{
    return strcmp(((const adept_serve_workload *)a)->name, ((const adept_serve_workload *)b)->name);
}

static size_t length_without(const char *name, const char *const *endings)
{
    size_t length = strlen(name);
    for (; *endings; endings++) {
        size_t n = strlen(*endings);
        if (length > n && strcmp(name + length - n, *endings) == 0) return length - n;
    }
    return length;
}

/* Of a file without its ending, of a config.json the folder it lies in. malloc'ed; NULL when memory is out */
static char *name_of(const char *path)
{
    static const char *const endings[] = {".profile.json", ".json", ".pt2", NULL};
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path, *end = slash;
    if (!slash || strcmp(name, "config.json") != 0) return strndup(name, length_without(name, endings));
    while (slash > path && slash[-1] != '/')
        slash--;
    return strndup(slash, (size_t)(end - slash));
}

static adept_status check_name(const adept_serve_catalogue *c, const char *path, const char *name, adept_error *err)
{
    size_t length = strlen(name);
    bool wrong = length == 0 || length >= ADEPT_SERVE_NAME_SIZE;
    for (const char *at = name; *at; at++)
        wrong = wrong || (unsigned char)*at < 0x20 || *at == 0x7f;
    if (wrong)
        return adept_error_set(err, ADEPT_E_USAGE, "%s: the file's name cannot be a workload's (1 to %d characters)",
                               path, ADEPT_SERVE_NAME_SIZE - 1);
    if (adept_serve_workload_find(c, name))
        return adept_error_set(err, ADEPT_E_USAGE, "%s: there is a workload '%s' already", path, name);
    return ADEPT_OK;
}

adept_status adept_serve_catalogue_add(adept_serve_catalogue *c, const char *path, adept_error *err)
{
    adept_workload *handle = NULL;
    char *name = name_of(path);
    if (!name) return no_memory(err);
    adept_status status = check_name(c, path, name, err);
    if (status == ADEPT_OK) status = adept_workload_open(&handle, path, NULL, err);
    adept_serve_workload *all = NULL;
    if (status == ADEPT_OK) {
        all = adept_grow(c->workloads, &c->workloads_capacity, c->n_workloads + 1, sizeof *all);
        if (!all) status = no_memory(err);
    }
    if (status != ADEPT_OK) {
        adept_workload_free(handle);
        free(name);
        return status;
    }
    c->workloads = all;
    all[c->n_workloads++] = (adept_serve_workload){name, handle};
    qsort(all, c->n_workloads, sizeof *all, by_workload_name);
    return ADEPT_OK;
}

static int is_workload_file(const struct dirent *entry)
{
    static const char *const endings[] = {".profile.json", ".pt2", NULL};
    return entry->d_name[length_without(entry->d_name, endings)] != '\0';
}

adept_status adept_serve_catalogue_add_folder(adept_serve_catalogue *c, const char *path, adept_error *err)
{
    struct dirent **entries = NULL;
    int n = scandir(path, &entries, is_workload_file, alphasort);
    if (n < 0) return adept_error_set(err, ADEPT_E_INVALID, "%s: cannot read the folder: %s", path, strerror(errno));
    adept_status status = ADEPT_OK;
    if (n == 0)
        status = adept_error_set(err, ADEPT_E_INVALID,
                                 "%s: no NAME.profile.json or NAME.pt2 in it; adept profile MODEL -o NAME.profile.json "
                                 "writes one",
                                 path);
    for (int i = 0; i < n; i++) {
        char *file = NULL;
        if (status == ADEPT_OK && asprintf(&file, "%s/%s", path, entries[i]->d_name) < 0) file = NULL;
        if (status == ADEPT_OK) status = file ? adept_serve_catalogue_add(c, file, err) : no_memory(err);
        free(file);
        free(entries[i]);
    }
    free(entries);
    return status;
}

const adept_serve_workload *adept_serve_workload_find(const adept_serve_catalogue *c, const char *name)
{
    const adept_serve_workload key = {(char *)name, NULL};
    return c->n_workloads ? bsearch(&key, c->workloads, c->n_workloads, sizeof key, by_workload_name) : NULL;
}

size_t adept_serve_workload_count(const adept_serve_catalogue *c)
{
    return c->n_workloads;
}

const adept_serve_workload *adept_serve_workload_at(const adept_serve_catalogue *c, size_t index)
{
    return &c->workloads[index];
}

/* ---- what may have been meant ---- */

const char *adept_serve_gpu_near(const adept_serve_catalogue *c, const char *name)
{
    const char *best = NULL, *known;
    size_t best_distance = SIZE_MAX;
    for (const adept_serve_gpu *gpu = c->gpus; gpu < c->gpus + c->n_gpus; gpu++)
        for (size_t i = 0; (known = name_at(gpu, i)); i++)
            if (adept_is_nearer(&best_distance, name, known)) best = known;
    return best;
}

const char *adept_serve_workload_near(const adept_serve_catalogue *c, const char *name)
{
    const char *best = NULL;
    size_t best_distance = SIZE_MAX;
    for (size_t i = 0; i < c->n_workloads; i++)
        if (adept_is_nearer(&best_distance, name, c->workloads[i].name)) best = c->workloads[i].name;
    return best;
}
