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

#define PROFILES 32
#define PLANS 8 /* batch sizes of one profile */

typedef struct plan {
    adept_slurm_plan shown;
    adept_workload *own; /* of another batch than the profile's; freed before the profile's */
    uint64_t used;       /* 0: free */
} plan;

/* One file. A bad one is kept too, so that naming it again costs no reading. */
typedef struct profile {
    char name[ADEPT_SLURM_NAME_MAX + 1];
    struct stat seen;
    adept_workload *workload; /* NULL: bad */
    adept_error bad;
    plan plans[PLANS];
    uint64_t used; /* 0: free */
} profile;

struct adept_slurm_profiles {
    const adept_slurm_config *config;
    uint64_t clock; /* of uses */
    profile profiles[PROFILES];
};

static void forget_plan(plan *p)
{
    for (size_t i = 0; i < ADEPT_SLURM_PLACES_MAX; i++)
        adept_oracle_free((adept_oracle *)p->shown.oracles[i]);
    adept_workload_free(p->own);
    memset(p, 0, sizeof *p);
}

static void forget(profile *p)
{
    for (size_t i = 0; i < PLANS; i++)
        if (p->plans[i].used) forget_plan(&p->plans[i]);
    adept_workload_free(p->workload);
    memset(p, 0, sizeof *p);
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
    for (size_t i = 0; i < PROFILES; i++)
        if (profiles->profiles[i].used) forget(&profiles->profiles[i]);
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

/* ---- kept ones ---- */

static profile *slot_for(adept_slurm_profiles *all, const char *name)
{
    profile *oldest = &all->profiles[0];
    for (size_t i = 0; i < PROFILES; i++) {
        profile *p = &all->profiles[i];
        if (p->used && strcmp(p->name, name) == 0) return p;
        if (p->used < oldest->used) oldest = p;
    }
    return oldest;
}

static adept_status find_profile(profile **out, adept_slurm_profiles *all, const char *name, adept_error *err)
{
    struct stat st;
    adept_error inner = {0};
    int fd = open_file(&st, all->config->profile_dir, name, &inner);
    if (fd < 0) return adept_error_set(err, inner.status, "%s", inner.message);
    profile *p = slot_for(all, name);
    if (!p->used || strcmp(p->name, name) != 0 || !adept_slurm_is_same(&p->seen, &st)) {
        if (p->used) forget(p);
        snprintf(p->name, sizeof p->name, "%s", name);
        p->seen = st;
        if (read_workload(&p->workload, name, fd, (size_t)st.st_size, &p->bad) != ADEPT_OK) p->workload = NULL;
    }
    close(fd);
    p->used = ++all->clock;
    *out = p;
    return p->workload ? ADEPT_OK : adept_error_set(err, p->bad.status, "%s", p->bad.message);
}

static adept_status make_plan(plan *p, const profile *of, const adept_slurm_config *config, int64_t batch,
                              adept_error *err)
{
    adept_workload_info info;
    adept_workload_describe(&info, of->workload);
    if (batch != info.batch_size) {
        adept_error inner = {0};
        adept_status status = adept_workload_at(&p->own, of->workload, batch, 0, &inner);
        if (status != ADEPT_OK) return adept_error_set(err, status, "profile '%s': %.800s", of->name, inner.message);
    }
    p->shown.batch = batch;
    for (size_t i = 0; i < config->n_places; i++) {
        adept_error inner = {0};
        adept_oracle *oracle = NULL;
        if (adept_oracle_new(&oracle, p->own ? p->own : of->workload, config->places[i].gpu, NULL, &inner) !=
            ADEPT_OK) {
            oracle = NULL;
            if (p->shown.why.status == ADEPT_OK) p->shown.why = inner;
        }
        p->shown.oracles[i] = oracle;
    }
    return ADEPT_OK;
}

adept_status adept_slurm_profiles_get(const adept_slurm_plan **out, adept_slurm_profiles *profiles, const char *name,
                                      int64_t batch, adept_error *err)
{
    profile *p = NULL;
    adept_workload_info info;
    adept_status status = find_profile(&p, profiles, name, err);
    if (status != ADEPT_OK) return status;
    adept_workload_describe(&info, p->workload);
    if (batch == 0) batch = info.batch_size;
    plan *slot = &p->plans[0];
    for (size_t i = 0; i < PLANS; i++) {
        if (p->plans[i].used && p->plans[i].shown.batch == batch) {
            slot = &p->plans[i];
            break;
        }
        if (p->plans[i].used < slot->used) slot = &p->plans[i];
    }
    if (!slot->used || slot->shown.batch != batch) {
        if (slot->used) forget_plan(slot);
        status = make_plan(slot, p, profiles->config, batch, err);
        if (status != ADEPT_OK) return status;
    }
    slot->used = ++profiles->clock;
    *out = &slot->shown;
    return ADEPT_OK;
}
