/** @file config.c  adept.conf, in the manner of slurm.conf: KEY=VALUE, one line for each kind of GPU. Calls: words.c,
 * libadept. */
#include "adept_slurm.h"
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* The key's example is the word for yes. */
static adept_status read_yes(void *field, const adept_slurm_key *key, char *text, adept_error *err)
{
    bool yes = strcasecmp(text, key->such) == 0;
    const char *no = strcmp(key->such, "yes") == 0 ? "no" : "reject";
    if (!yes && strcasecmp(text, no) != 0)
        return adept_error_set(err, ADEPT_E_INVALID, "%s: '%.40s' is neither %s nor %s", key->name, text, key->such,
                               no);
    *(bool *)field = yes;
    return ADEPT_OK;
}

static adept_status read_name(void *field, const adept_slurm_key *key, char *text, adept_error *err)
{
    size_t length = strlen(text);
    if (length > ADEPT_SLURM_NAME_MAX || strpbrk(text, ",:="))
        return adept_error_set(err, ADEPT_E_INVALID, "%s: '%.40s' is not one name", key->name, text);
    memcpy(field, text, length + 1);
    return ADEPT_OK;
}

/* ---- a line PartitionName= ---- */

static adept_status read_limits(void *place, const adept_slurm_key *key, char *text, adept_error *err)
{
    adept_slurm_place *p = place;
    p->n_limits = 0;
    for (char *save = NULL, *word = strtok_r(text, ",", &save); word; word = strtok_r(NULL, ",", &save)) {
        if (p->n_limits == ADEPT_SLURM_LIMITS_MAX)
            return adept_error_set(err, ADEPT_E_INVALID, "%s: more than %d limits", key->name, ADEPT_SLURM_LIMITS_MAX);
        adept_status status = adept_slurm_quantity(&p->limits_w[p->n_limits], key, word, err);
        if (status != ADEPT_OK) return status;
        p->n_limits++;
    }
    return ADEPT_OK;
}

static adept_status open_gpu(void *field, const adept_slurm_key *key, char *name, adept_error *err)
{
    adept_gpu **gpu = field;
    if (*gpu) return adept_error_set(err, ADEPT_E_INVALID, "%s is given twice", key->name);
    return adept_gpu_open(gpu, name, err);
}

#define IN_PLACE(member) offsetof(adept_slurm_place, member)
static const adept_slurm_key place_keys[] = {
    {"PartitionName", read_name, IN_PLACE(partition), NULL, NULL},
    {"GresType", read_name, IN_PLACE(gres_type), NULL, NULL},
    {"Gpu", open_gpu, IN_PLACE(gpu), NULL, NULL},
    {"Gpus", adept_slurm_gpus, IN_PLACE(gpus), NULL, NULL},
    {"PowerLimits", read_limits, 0, "150W,200W", adept_slurm_watts},
    {"IdlePower", adept_slurm_quantity, IN_PLACE(idle_w), "43W", adept_slurm_watts},
    {0},
};

/* What the board cannot be set to would fail in every prediction: say it once, here. */
static adept_status end_place(adept_slurm_place *p, adept_error *err)
{
    adept_gpu_info info;
    if (!p->gpu) return adept_error_set(err, ADEPT_E_INVALID, "partition %s: no Gpu", p->partition);
    adept_gpu_describe(&info, p->gpu);
    if (isnan(p->idle_w)) p->idle_w = info.idle_w;
    for (size_t i = 0; i < p->n_limits; i++)
        if (p->limits_w[i] < info.power_limit_min_w || p->limits_w[i] > info.power_limit_max_w)
            return adept_error_set(err, ADEPT_E_INVALID, "PowerLimits: %g W is outside the %g to %g W of %s",
                                   p->limits_w[i], info.power_limit_min_w, info.power_limit_max_w, info.name);
    return ADEPT_OK;
}

static adept_status begin_place(void *config, const adept_slurm_key *key, char *text, adept_error *err)
{
    adept_slurm_config *c = config;
    if (c->n_places == ADEPT_SLURM_PLACES_MAX)
        return adept_error_set(err, ADEPT_E_INVALID, "more than %d lines of PartitionName", ADEPT_SLURM_PLACES_MAX);
    adept_slurm_place *p = &c->places[c->n_places++]; /* counted first: adept_slurm_config_free() frees its GPU */
    p->gpus = 1;
    p->idle_w = NAN;
    return read_name(p->partition, key, text, err);
}

/* ---- lines of the whole ---- */

static adept_status read_margin(void *field, const adept_slurm_key *key, char *text, adept_error *err)
{
    double *margin = field;
    adept_status status = adept_slurm_number(margin, key, text, err);
    if (status == ADEPT_OK && (*margin < 1 || *margin > 100))
        return adept_error_set(err, ADEPT_E_INVALID, "%s: %s is not between 1 and 100", key->name, text);
    return status;
}

static adept_status read_count(void *field, const adept_slurm_key *key, char *text, adept_error *err)
{
    size_t length = strspn(text, "0123456789");
    if (length == 0 || length > 9 || text[length] != '\0')
        return adept_error_set(err, ADEPT_E_INVALID, "%s: '%.40s' is not a whole number of at most 9 digits", key->name,
                               text);
    *(double *)field = (double)strtoul(text, NULL, 10);
    return ADEPT_OK;
}

static adept_status read_directory(void *field, const adept_slurm_key *key, char *text, adept_error *err)
{
    char **out = field;
    if (text[0] != '/')
        return adept_error_set(err, ADEPT_E_INVALID, "%s: '%.40s' is not an absolute path", key->name, text);
    if (*out) return adept_error_set(err, ADEPT_E_INVALID, "%s is given twice", key->name);
    *out = strdup(text);
    return *out ? ADEPT_OK : adept_error_set(err, ADEPT_E_NOMEM, "out of memory");
}

#define AT(member) offsetof(adept_slurm_config, member)
static const adept_slurm_key settings[] = {
    {"ProfileDir", read_directory, AT(profile_dir), NULL, NULL},
    {"OnError", read_yes, AT(pass_bad), "pass", NULL},
    {"Tell", read_yes, AT(tell), "yes", NULL},
    {"Objective", adept_slurm_objective, AT(objective), NULL, NULL},
    {"TimeMargin", read_margin, AT(time_margin), NULL, NULL},
    {"TimeExtra", adept_slurm_quantity, AT(time_extra_s), "10min", adept_slurm_seconds},
    {"Waiting", read_count, AT(waiting), NULL, NULL},
    {"Running", read_count, AT(running), NULL, NULL},
    {"PartitionName", begin_place, 0, NULL, NULL},
    {0},
};

/* ---- all ---- */

/* What stands behind PartitionName= is of its place. */
static adept_status read_line(adept_slurm_config *c, char *line, adept_error *err)
{
    adept_status status = ADEPT_OK;
    size_t place = c->n_places;
    line[strcspn(line, "#")] = '\0';
    for (char *word; status == ADEPT_OK && (word = adept_slurm_word(&line));)
        status = c->n_places > place
                     ? adept_slurm_key_read(NULL, place_keys, strcasecmp, &c->places[place], word, err)
                     : adept_slurm_key_read(NULL, settings, strcasecmp, c, word, err);
    return status == ADEPT_OK && c->n_places > place ? end_place(&c->places[place], err) : status;
}

static adept_status read_lines(adept_slurm_config *c, const char *name, char *text, adept_error *err)
{
    int number = 0;
    for (char *line = text, *next; line; line = next) {
        adept_error inner = {0};
        number++;
        next = strchr(line, '\n');
        if (next) *next++ = '\0';
        adept_status status = read_line(c, line, &inner);
        if (status == ADEPT_OK) continue;
        status = adept_error_set(err, ADEPT_E_INVALID, "%.200s:%d: %.700s", name, number, inner.message);
        if (err) err->line = number;
        return status;
    }
    return ADEPT_OK;
}

static adept_status check(const adept_slurm_config *c, const char *name, adept_error *err)
{
    size_t options = 0;
    if (!c->profile_dir) return adept_error_set(err, ADEPT_E_INVALID, "%.200s: no ProfileDir", name);
    if (c->n_places == 0) return adept_error_set(err, ADEPT_E_INVALID, "%.200s: no PartitionName", name);
    for (size_t i = 0; i < c->n_places; i++)
        options += (size_t)__builtin_popcountll(c->places[i].gpus) * (1 + c->places[i].n_limits);
    if (options > ADEPT_SLURM_OPTIONS_MAX)
        return adept_error_set(err, ADEPT_E_INVALID, "%.200s: %zu placements, at most %d can be compared", name,
                               options, ADEPT_SLURM_OPTIONS_MAX);
    return ADEPT_OK;
}

adept_status adept_slurm_config_read(adept_slurm_config **out, const char *name, const char *text, size_t size,
                                     adept_error *err)
{
    if (size > ADEPT_SLURM_CONFIG_BYTES_MAX || memchr(text, '\0', size))
        return adept_error_set(err, ADEPT_E_INVALID, "%.200s: not a text of at most %d bytes", name,
                               ADEPT_SLURM_CONFIG_BYTES_MAX);
    adept_slurm_config *c = calloc(1, sizeof *c);
    char *copy = strndup(text, size);
    adept_status status = ADEPT_E_NOMEM;
    if (c && copy) {
        c->tell = true;
        status = read_lines(c, name, copy, err);
        if (status == ADEPT_OK) status = check(c, name, err);
    } else {
        adept_error_set(err, status, "out of memory");
    }
    free(copy);
    if (status == ADEPT_OK)
        *out = c;
    else
        adept_slurm_config_free(c);
    return status;
}

void adept_slurm_config_free(adept_slurm_config *config)
{
    if (!config) return;
    for (size_t i = 0; i < config->n_places; i++)
        adept_gpu_free(config->places[i].gpu);
    free(config->profile_dir);
    free(config);
}
