/** @file profiles.c  Profiles of one folder and their oracles, kept while their files stay as they are. Calls:
 * libadept. */
#include "adept_slurm.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define KEPT 128

/* One file at one batch size. A bad one is kept too, so that naming it again costs no reading. */
typedef struct entry {
    char name[ADEPT_SLURM_NAME_MAX + 1];
    bool own; /* the batch size is the profile's */
    struct stat seen;
    adept_workload *workload;
    adept_slurm_plan plan;
    adept_error bad; /* why there is no workload */
    uint64_t used;   /* 0: free */
} entry;

struct adept_slurm_profiles {
    const adept_slurm_config *config;
    uint64_t clock; /* of uses */
    entry entries[KEPT];
};

static void forget(entry *e)
{
    for (size_t i = 0; i < ADEPT_SLURM_PLACES_MAX; i++)
        adept_oracle_free((adept_oracle *)e->plan.oracles[i]);
    adept_workload_free(e->workload);
    memset(e, 0, sizeof *e);
}

adept_slurm_profiles *adept_slurm_profiles_new(const adept_slurm_config *config)
{
    adept_slurm_profiles *profiles = calloc(1, sizeof *profiles);
    if (profiles) profiles->config = config;
    return profiles;
}

void adept_slurm_profiles_free(adept_slurm_profiles *profiles)
{
    if (!profiles) return;
    for (size_t i = 0; i < KEPT; i++)
        forget(&profiles->entries[i]);
    free(profiles);
}

/* ---- files ---- */

/* The daemon may read more than the user: only regular files directly in the folder, no links, no pipes to wait for,
 * and no folder in which users can put either. */
static int open_file(struct stat *st, const char *directory, const char *name, adept_error *err)
{
    char file[ADEPT_SLURM_NAME_MAX + 16];
    size_t length = strlen(name);
    static const char ending[] = ".profile.json";
    bool whole = length >= sizeof ending && strcmp(name + length - (sizeof ending - 1), ending) == 0;
    snprintf(file, sizeof file, "%s%s", name, whole ? "" : ending);
    int folder = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0 || fstat(folder, st) != 0 || (st->st_mode & S_IWOTH)) {
        adept_error_set(err, ADEPT_E_INVALID, "the folder of profiles cannot be used: %s",
                        folder < 0 ? strerror(errno) : "anyone can write in it");
        if (folder >= 0) close(folder);
        return -1;
    }
    int fd = openat(folder, file, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    int reason = errno;
    close(folder);
    if (fd >= 0 && fstat(fd, st) == 0 && S_ISREG(st->st_mode) && st->st_size <= ADEPT_SLURM_PROFILE_BYTES_MAX)
        return fd;
    if (fd < 0 && reason == ENOENT)
        adept_error_set(err, ADEPT_E_USAGE, "there is no profile '%s'; ask your administrator to install it", name);
    else
        adept_error_set(err, ADEPT_E_INVALID, "profile '%s' cannot be used: %s", name,
                        fd < 0 ? strerror(reason) : "not a regular file, or larger than 8 MiB");
    if (fd >= 0) close(fd);
    return -1;
}

/* Saved profiles only: tracing a model takes longer than a daemon may wait. */
static adept_status read_workload(adept_workload **out, const char *name, int fd, size_t size, adept_error *err)
{
    adept_error inner = {0};
    size_t got = 0, blanks = 0;
    char *data = adept_slurm_read(&got, fd, size);
    if (!data || got < size) { /* shorter files than their size are being written */
        free(data);
        return adept_error_set(err, ADEPT_E_INVALID, "profile '%s' cannot be read", name);
    }
    while (blanks < size && strchr(" \t\r\n", data[blanks]) && data[blanks])
        blanks++;
    adept_status status = ADEPT_E_INVALID;
    if (blanks == size || data[blanks] != '{')
        adept_error_set(&inner, status, "not a profile that 'adept profile -o' wrote");
    else
        status = adept_workload_read(out, name, data, size, NULL, &inner);
    free(data);
    return status == ADEPT_OK ? status : adept_error_set(err, status, "profile '%s': %.800s", name, inner.message);
}

/* At the batch size that is asked for. */
static adept_status read_at(entry *e, int fd, int64_t batch, adept_error *err)
{
    adept_workload *own = NULL;
    adept_workload_info info;
    adept_error inner = {0};
    adept_status status = read_workload(&own, e->name, fd, (size_t)e->seen.st_size, err);
    if (status != ADEPT_OK) return status;
    adept_workload_describe(&info, own);
    e->own = batch == 0 || batch == info.batch_size;
    e->plan.batch = e->own ? info.batch_size : batch;
    if (e->own) {
        e->workload = own;
        return ADEPT_OK;
    }
    status = adept_workload_at(&e->workload, own, batch, 0, &inner);
    adept_workload_free(own);
    return status == ADEPT_OK ? status : adept_error_set(err, status, "profile '%s': %.800s", e->name, inner.message);
}

static void compile_oracles(entry *e, const adept_slurm_config *config)
{
    for (size_t i = 0; i < config->n_places; i++) {
        adept_error inner = {0};
        adept_oracle *oracle = NULL;
        if (adept_oracle_new(&oracle, e->workload, config->places[i].gpu, NULL, &inner) == ADEPT_OK)
            e->plan.oracles[i] = oracle;
        else if (e->plan.why.status == ADEPT_OK)
            e->plan.why = inner;
    }
}

/* ---- kept ones ---- */

static bool is_of(const entry *e, const char *name, int64_t batch)
{
    return e->used && strcmp(e->name, name) == 0 && (batch == 0 ? e->own : e->plan.batch == batch);
}

static entry *slot_for(adept_slurm_profiles *all, const char *name, int64_t batch)
{
    entry *oldest = &all->entries[0];
    for (entry *e = all->entries; e < all->entries + KEPT; e++) {
        if (is_of(e, name, batch)) return e;
        if (e->used < oldest->used) oldest = e;
    }
    return oldest;
}

adept_status adept_slurm_profiles_get(const adept_slurm_plan **out, adept_slurm_profiles *profiles, const char *name,
                                      int64_t batch, adept_error *err)
{
    struct stat st;
    adept_error inner = {0};
    int fd = open_file(&st, profiles->config->profile_dir, name, &inner);
    if (fd < 0) return adept_error_set(err, inner.status, "%s", inner.message);
    entry *e = slot_for(profiles, name, batch);
    if (!is_of(e, name, batch) || !adept_slurm_is_same(&e->seen, &st)) {
        forget(e);
        snprintf(e->name, sizeof e->name, "%s", name);
        e->seen = st;
        e->own = batch == 0;
        e->plan.batch = batch;
        if (read_at(e, fd, batch, &e->bad) == ADEPT_OK) compile_oracles(e, profiles->config);
    }
    close(fd);
    e->used = ++profiles->clock;
    *out = &e->plan;
    return e->workload ? ADEPT_OK : adept_error_set(err, e->bad.status, "%s", e->bad.message);
}
