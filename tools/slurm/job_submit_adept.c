/** @file job_submit_adept.c  Slurm's side: a job_submit plugin. slurmctld calls job_submit() for each submission, one
 * at a time. Calls: adept_slurm.h, Slurm.
 *
 *  A plugin that slurmctld loads must not print, block or crash, whatever a job brings: what decides lives in the files
 *  beside this one, which know bounds for everything and are tested without Slurm. */
#include "adept_slurm.h"
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <slurm/slurm.h>
#include <slurm/slurm_errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* What slurmctld exports to plugins but its installed headers do not declare. */
extern void slurm_info(const char *format, ...) __attribute__((format(printf, 1, 2)));
extern int slurm_error(const char *format, ...) __attribute__((format(printf, 1, 2)));
extern char *slurm_xstrdup(const char *text);
extern void slurm_xfree_ptr(void *memory);
extern char *slurm_get_extra_conf_path(char *name);

#define EXPORTED __attribute__((visibility("default")))

extern const char plugin_name[], plugin_type[];
extern const uint32_t plugin_version;
EXPORTED const char plugin_name[] = "places jobs by predicted time, power and energy (adept)";
EXPORTED const char plugin_type[] = "job_submit/adept";
EXPORTED const uint32_t plugin_version = SLURM_VERSION_NUMBER;

/* slurmctld has one lock around all job_submit plugins; ours is for whoever calls otherwise. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
    char *path; /* of adept.conf */
    struct stat seen;
    bool tried;                 /* `seen` is of a file that was looked at */
    adept_slurm_config *config; /* NULL: there was no good one yet */
    adept_slurm_profiles *profiles;
    adept_error bad; /* why there is none */
} site;

/* ---- adept.conf ---- */

static void load_config(int fd)
{
    size_t size = 0;
    adept_error err = {0};
    adept_slurm_config *config = NULL;
    char *text = adept_slurm_read(&size, fd, ADEPT_SLURM_CONFIG_BYTES_MAX + 1); /* a longer one is found out */
    adept_slurm_profiles *profiles = NULL;
    if (text && adept_slurm_config_read(&config, site.path, text, size, &err) == ADEPT_OK)
        profiles = adept_slurm_profiles_new(config);
    free(text);
    if (!profiles) {
        adept_slurm_config_free(config);
        if (err.status == ADEPT_OK) adept_error_set(&err, ADEPT_E_NOMEM, "out of memory");
        site.bad = err;
        slurm_error("job_submit/adept: %s%s", err.message, site.config ? "; what was read before stays" : "");
        return;
    }
    adept_slurm_profiles_free(site.profiles);
    adept_slurm_config_free(site.config);
    site.config = config;
    site.profiles = profiles;
    slurm_info("job_submit/adept: libadept %s, %zu kinds of GPUs from %s", adept_version_text(), config->n_places,
               site.path);
}

/* A new file counts from the next submission; a bad one changes nothing. */
static void refresh_config(void)
{
    struct stat st;
    int fd = site.path ? open(site.path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC) : -1;
    if (fd < 0 || fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)) {
        if (!site.config)
            adept_error_set(&site.bad, ADEPT_E_INVALID, "%s cannot be read", site.path ? site.path : "adept.conf");
        site.tried = false;
    } else if (!site.tried || !adept_slurm_is_same(&st, &site.seen)) {
        site.seen = st;
        site.tried = true;
        load_config(fd);
    }
    if (fd >= 0) close(fd);
}

/* ---- the job ---- */

static bool is_set(uint32_t number)
{
    return number != NO_VAL && number != 0;
}

static adept_status read_fixed(adept_slurm_fixed *fixed, const job_desc_msg_t *job, adept_error *err)
{
    fixed->partitions = job->partition;
    if (is_set(job->time_limit) && job->time_limit != INFINITE) fixed->time_limit_s = 60.0 * job->time_limit;
    if (is_set(job->min_nodes) && job->min_nodes > 1)
        return adept_error_set(err, ADEPT_E_USAGE, "the job asks for %u nodes; placements have one",
                               (unsigned)job->min_nodes);
    if (adept_slurm_gres_has_gpus(job->tres_per_task) || adept_slurm_gres_has_gpus(job->tres_per_socket))
        return adept_error_set(
            err, ADEPT_E_USAGE,
            "GPUs per task or socket cannot be placed; use --gres, --gpus or --gpus-per-node, or none");
    adept_status status = adept_slurm_gres_read(fixed, job->tres_per_node, err);
    return status == ADEPT_OK ? adept_slurm_gres_read(fixed, job->tres_per_job, err) : status;
}

static void replace(char **text, const char *by)
{
    char *copy = slurm_xstrdup(by);
    slurm_xfree_ptr(*text);
    *text = copy;
}

static adept_status apply(job_desc_msg_t *job, const adept_slurm_decision *d, const char *profile, adept_error *err)
{
    char gres[1024], note[ADEPT_SLURM_TEXT_MAX];
    char **list = adept_slurm_gres_has_gpus(job->tres_per_job) ? &job->tres_per_job : &job->tres_per_node;
    adept_status status = adept_slurm_gres_write(gres, sizeof gres, *list, d->place->gres_type, d->gpus, err);
    if (status != ADEPT_OK) return status; /* before anything is changed */
    replace(list, gres);
    replace(&job->partition, d->place->partition);
    adept_slurm_note(note, d, profile);
    replace(&job->admin_comment, note);
    job->min_nodes = job->max_nodes = 1;
    uint32_t minutes = adept_slurm_time_limit_min(site.config, d);
    if (!is_set(job->time_limit) && minutes > 0) job->time_limit = minutes;
    return ADEPT_OK;
}

static adept_status place(job_desc_msg_t *job, adept_slurm_decision *decision, adept_error *err)
{
    adept_slurm_wish wish;
    adept_slurm_fixed fixed = {0};
    const adept_slurm_plan *plan = NULL;
    refresh_config();
    if (!site.config) return adept_error_set(err, site.bad.status, "not configured: %.900s", site.bad.message);
    adept_status status = adept_slurm_wish_read(&wish, job->comment, err);
    if (status == ADEPT_OK) status = read_fixed(&fixed, job, err);
    if (status == ADEPT_OK) status = adept_slurm_profiles_get(&plan, site.profiles, wish.profile, wish.batch, err);
    if (status == ADEPT_OK) status = adept_slurm_decide(decision, site.config, plan, &wish, &fixed, err);
    return status == ADEPT_OK ? apply(job, decision, wish.profile, err) : status;
}

/* ---- what slurmctld calls ---- */

extern int init(void);
extern int fini(void);
extern int job_submit(job_desc_msg_t *job, uint32_t submit_uid, char **message);
extern int job_modify(job_desc_msg_t *job, void *record, uint32_t submit_uid);

/* A bad adept.conf must not keep slurmctld from starting: then jobs for us get its message. */
EXPORTED int init(void)
{
    const char *given = getenv("ADEPT_SLURM_CONF");
    char *beside = given ? NULL : slurm_get_extra_conf_path("adept.conf");
    pthread_mutex_lock(&lock);
    free(site.path);
    site.path = given || beside ? strdup(given ? given : beside) : NULL;
    refresh_config();
    if (!site.config) slurm_error("job_submit/adept: not configured: %s", site.bad.message);
    pthread_mutex_unlock(&lock);
    slurm_xfree_ptr(beside);
    return SLURM_SUCCESS;
}

EXPORTED int fini(void)
{
    pthread_mutex_lock(&lock);
    adept_slurm_profiles_free(site.profiles);
    adept_slurm_config_free(site.config);
    free(site.path);
    memset(&site, 0, sizeof site);
    pthread_mutex_unlock(&lock);
    return SLURM_SUCCESS;
}

EXPORTED int job_submit(job_desc_msg_t *job, uint32_t submit_uid, char **message)
{
    char text[ADEPT_SLURM_TEXT_MAX] = "";
    adept_error err = {0};
    adept_slurm_decision decision;
    if (!adept_slurm_is_wish(job->comment)) return SLURM_SUCCESS;
    pthread_mutex_lock(&lock);
    adept_status status = place(job, &decision, &err);
    bool pass = status == ADEPT_OK || (site.config && site.config->pass_bad);
    if (status != ADEPT_OK)
        snprintf(text, sizeof text, "adept: %.*s", (int)sizeof text - 16, err.message);
    else if (site.config->tell)
        adept_slurm_tell(text, &decision);
    pthread_mutex_unlock(&lock);
    if (status != ADEPT_OK)
        slurm_info("job_submit/adept: user %u, %s: %s", (unsigned)submit_uid, pass ? "left alone" : "refused", text);
    if (text[0] && message) replace(message, text);
    return pass ? SLURM_SUCCESS : ESLURM_INVALID_GRES;
}

/* A placement belongs to the submission: what `scontrol update` changes later, the comment too, is the user's own
 * business. */
EXPORTED int job_modify(job_desc_msg_t *job, void *record, uint32_t submit_uid)
{
    (void)job;
    (void)record;
    (void)submit_uid;
    return SLURM_SUCCESS;
}
