/** @file config.c  adept.conf, in the manner of slurm.conf: KEY=VALUE, one line for each kind of GPU. Calls: words.c,
 * libadept. */
#include "adept_slurm.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static adept_status read_yes(bool *out, const char *key, const char *text, const char *yes, const char *no,
                             adept_error *err)
{
    if (strcasecmp(text, yes) != 0 && strcasecmp(text, no) != 0)
        return adept_error_set(err, ADEPT_E_INVALID, "%s: '%.40s' is neither %s nor %s", key, text, yes, no);
    *out = strcasecmp(text, yes) == 0;
    return ADEPT_OK;
}

static adept_status read_name(char out[ADEPT_SLURM_NAME_MAX + 1], const char *key, const char *text, adept_error *err)
{
    size_t length = strlen(text);
    if (length > ADEPT_SLURM_NAME_MAX || strpbrk(text, ",:="))
        return adept_error_set(err, ADEPT_E_INVALID, "%s: '%.40s' is not one name", key, text);
    memcpy(out, text, length + 1);
    return ADEPT_OK;
}

/* ---- lines of the whole ---- */

static adept_status read_margin(double *out, const char *key, const char *text, adept_error *err)
{
    adept_status status = adept_slurm_number(out, key, text, err);
    if (status == ADEPT_OK && (*out < 1 || *out > 100))
        return adept_error_set(err, ADEPT_E_INVALID, "%s: %s is not between 1 and 100", key, text);
    return status;
}

static adept_status read_directory(char **out, const char *key, const char *text, adept_error *err)
{
    if (text[0] != '/') return adept_error_set(err, ADEPT_E_INVALID, "%s: '%.40s' is not an absolute path", key, text);
    if (*out) return adept_error_set(err, ADEPT_E_INVALID, "%s is given twice", key);
    *out = strdup(text);
    return *out ? ADEPT_OK : adept_error_set(err, ADEPT_E_NOMEM, "out of memory");
}

static adept_status read_setting(adept_slurm_config *c, const char *key, const char *value, adept_error *err)
{
    if (strcasecmp(key, "ProfileDir") == 0) return read_directory(&c->profile_dir, key, value, err);
    if (strcasecmp(key, "OnError") == 0) return read_yes(&c->pass_bad, key, value, "pass", "reject", err);
    if (strcasecmp(key, "Tell") == 0) return read_yes(&c->tell, key, value, "yes", "no", err);
    if (strcasecmp(key, "Objective") == 0) return adept_slurm_objective(&c->objective, key, value, err);
    if (strcasecmp(key, "TimeMargin") == 0) return read_margin(&c->time_margin, key, value, err);
    if (strcasecmp(key, "TimeExtra") == 0)
        return adept_slurm_quantity(&c->time_extra_s, key, value, adept_slurm_seconds, "10min", err);
    return adept_error_set(
        err, ADEPT_E_INVALID,
        "'%.40s' is none of ProfileDir, OnError, Tell, Objective, TimeMargin, TimeExtra, PartitionName", key);
}

/* ---- a line PartitionName= ---- */

static adept_status read_limits(adept_slurm_place *p, const char *key, char *text, adept_error *err)
{
    p->n_limits = 0;
    for (char *save = NULL, *word = strtok_r(text, ",", &save); word; word = strtok_r(NULL, ",", &save)) {
        if (p->n_limits == ADEPT_SLURM_LIMITS_MAX)
            return adept_error_set(err, ADEPT_E_INVALID, "%s: more than %d limits", key, ADEPT_SLURM_LIMITS_MAX);
        adept_status status =
            adept_slurm_quantity(&p->limits_w[p->n_limits], key, word, adept_slurm_watts, "150W,200W", err);
        if (status != ADEPT_OK) return status;
        p->n_limits++;
    }
    return ADEPT_OK;
}

static adept_status open_gpu(adept_slurm_place *p, const char *name, adept_error *err)
{
    if (p->gpu) return adept_error_set(err, ADEPT_E_INVALID, "Gpu is given twice");
    return adept_gpu_open(&p->gpu, name, err);
}

static adept_status read_place_key(adept_slurm_place *p, const char *key, char *value, adept_error *err)
{
    if (strcasecmp(key, "PartitionName") == 0) return read_name(p->partition, key, value, err);
    if (strcasecmp(key, "GresType") == 0) return read_name(p->gres_type, key, value, err);
    if (strcasecmp(key, "Gpu") == 0) return open_gpu(p, value, err);
    if (strcasecmp(key, "Gpus") == 0) return adept_slurm_gpus(&p->gpus, key, value, err);
    if (strcasecmp(key, "PowerLimits") == 0) return read_limits(p, key, value, err);
    return adept_error_set(err, ADEPT_E_INVALID, "'%.40s' is none of PartitionName, GresType, Gpu, Gpus, PowerLimits",
                           key);
}

/* What the board cannot be set to would fail in every prediction: say it once, here. */
static adept_status check_place(const adept_slurm_place *p, adept_error *err)
{
    adept_gpu_info info;
    if (!p->gpu) return adept_error_set(err, ADEPT_E_INVALID, "partition %s: no Gpu", p->partition);
    adept_gpu_describe(&info, p->gpu);
    for (size_t i = 0; i < p->n_limits; i++)
        if (p->limits_w[i] < info.power_limit_min_w || p->limits_w[i] > info.power_limit_max_w)
            return adept_error_set(err, ADEPT_E_INVALID, "PowerLimits: %g W is outside the %g to %g W of %s",
                                   p->limits_w[i], info.power_limit_min_w, info.power_limit_max_w, info.name);
    return ADEPT_OK;
}

static adept_status read_place(adept_slurm_config *c, char *key, char *value, char *rest, adept_error *err)
{
    if (c->n_places == ADEPT_SLURM_PLACES_MAX)
        return adept_error_set(err, ADEPT_E_INVALID, "more than %d lines of PartitionName", ADEPT_SLURM_PLACES_MAX);
    adept_slurm_place *p = &c->places[c->n_places++]; /* counted first: adept_slurm_config_free() frees its GPU */
    p->gpus = 1;
    adept_status status = read_place_key(p, key, value, err);
    for (char *word; status == ADEPT_OK && (word = adept_slurm_word(&rest));) {
        char *word_value = adept_slurm_value(word);
        if (!word_value) return adept_error_set(err, ADEPT_E_INVALID, "'%.40s' is not KEY=VALUE", word);
        status = read_place_key(p, word, word_value, err);
    }
    return status == ADEPT_OK ? check_place(p, err) : status;
}

/* ---- all ---- */

static adept_status read_line(adept_slurm_config *c, char *line, adept_error *err)
{
    line[strcspn(line, "#")] = '\0';
    for (char *word; (word = adept_slurm_word(&line));) {
        char *value = adept_slurm_value(word);
        if (!value) return adept_error_set(err, ADEPT_E_INVALID, "'%.40s' is not KEY=VALUE", word);
        if (strcasecmp(word, "PartitionName") == 0) return read_place(c, word, value, line, err);
        adept_status status = read_setting(c, word, value, err);
        if (status != ADEPT_OK) return status;
    }
    return ADEPT_OK;
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
