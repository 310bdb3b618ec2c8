/** @file comment.c  The job's comment: adept:PROFILE [KEY=VALUE]... Written by users, so hostile. Calls: words.c. */
#include "adept_slurm.h"
#include <math.h>
#include <string.h>

static const char prefix[] = "adept:";

bool adept_slurm_is_wish(const char *comment)
{
    return comment && strncmp(comment, prefix, sizeof prefix - 1) == 0;
}

/* A name, never a path: it is looked up in one folder, where nothing starts with a dot. */
static adept_status read_profile(adept_slurm_wish *out, const char *name, adept_error *err)
{
    size_t length = name ? strlen(name) : 0;
    if (length == 0)
        return adept_error_set(err, ADEPT_E_USAGE, "the comment names no profile: adept:PROFILE [KEY=VALUE]...");
    if (length > ADEPT_SLURM_NAME_MAX)
        return adept_error_set(err, ADEPT_E_USAGE, "'%.40s...' is too long for a profile's name", name);
    if (name[0] == '.' || strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._+-") != length)
        return adept_error_set(
            err, ADEPT_E_USAGE,
            "'%s' is not a profile's name, which has letters, digits and ._+- only, and no dot first", name);
    memcpy(out->profile, name, length + 1);
    return ADEPT_OK;
}

static adept_status read_batch(int64_t *out, const char *text, adept_error *err)
{
    double value = 0;
    if (adept_slurm_number(&value, "batch", text, NULL) != ADEPT_OK || value > 1e9 || value != floor(value))
        return adept_error_set(err, ADEPT_E_USAGE, "batch: '%.40s' is not a whole number from 1 to 1e9", text);
    *out = (int64_t)value;
    return ADEPT_OK;
}

enum { BATCH, OBJECTIVE, SAMPLES, STEPS, DEADLINE, POWER, ENERGY, GPUS, N_KEYS };
static const char *const keys[N_KEYS] = {
    [BATCH] = "batch",       [OBJECTIVE] = "objective", [SAMPLES] = "samples", [STEPS] = "steps",
    [DEADLINE] = "deadline", [POWER] = "power",         [ENERGY] = "energy",   [GPUS] = "gpus",
};

static int find_key(const char *name)
{
    int key = 0;
    while (key < N_KEYS && strcmp(keys[key], name) != 0)
        key++;
    return key;
}

static adept_status read_key(adept_slurm_wish *w, int key, const char *name, const char *value, adept_error *err)
{
    switch (key) {
    case BATCH:
        return read_batch(&w->batch, value, err);
    case OBJECTIVE:
        return adept_slurm_objective(&w->objective, name, value, err);
    case SAMPLES:
        return adept_slurm_number(&w->samples, name, value, err);
    case STEPS:
        return adept_slurm_number(&w->steps, name, value, err);
    case DEADLINE:
        return adept_slurm_quantity(&w->deadline_s, name, value, adept_slurm_seconds, "90min, 2h or 1.5d", err);
    case POWER:
        return adept_slurm_quantity(&w->power_budget_w, name, value, adept_slurm_watts, "900W or 1.2kW", err);
    case ENERGY:
        return adept_slurm_quantity(&w->energy_budget_j, name, value, adept_slurm_joules, "2kWh or 5MJ", err);
    case GPUS:
        return adept_slurm_gpus(&w->gpus, name, value, err);
    default:
        return adept_error_set(err, ADEPT_E_USAGE,
                               "'%.40s' is none of batch, objective, samples, steps, deadline, power, energy, gpus",
                               name);
    }
}

static adept_status read_keys(adept_slurm_wish *w, char *rest, adept_error *err)
{
    unsigned seen = 0;
    for (char *word; (word = adept_slurm_word(&rest));) {
        char *value = adept_slurm_value(word);
        if (!value) return adept_error_set(err, ADEPT_E_USAGE, "'%.40s' is not KEY=VALUE", word);
        int key = find_key(word);
        adept_status status = read_key(w, key, word, value, err);
        if (status != ADEPT_OK) return status;
        if (seen & 1u << key) return adept_error_set(err, ADEPT_E_USAGE, "%s is given twice", word);
        seen |= 1u << key;
    }
    if (w->samples > 0 && w->steps > 0)
        return adept_error_set(err, ADEPT_E_USAGE, "samples and steps exclude each other");
    if ((w->deadline_s > 0 || w->energy_budget_j > 0) && !(w->samples > 0) && !(w->steps > 0))
        return adept_error_set(err, ADEPT_E_USAGE, "%s needs the job's size: samples or steps",
                               w->deadline_s > 0 ? "deadline" : "energy");
    return ADEPT_OK;
}

adept_status adept_slurm_wish_read(adept_slurm_wish *out, const char *comment, adept_error *err)
{
    char text[ADEPT_SLURM_COMMENT_MAX + 1];
    adept_slurm_wish wish = {.objective = -1};
    if (!adept_slurm_is_wish(comment))
        return adept_error_set(err, ADEPT_E_USAGE, "the comment does not start with %s", prefix);
    size_t length = strnlen(comment, sizeof text);
    if (length > ADEPT_SLURM_COMMENT_MAX)
        return adept_error_set(err, ADEPT_E_USAGE, "the comment is longer than %d characters", ADEPT_SLURM_COMMENT_MAX);
    for (size_t i = 0; i < length; i++) /* it will be shown in terminals */
        if (comment[i] < ' ' || comment[i] > '~')
            return adept_error_set(err, ADEPT_E_USAGE, "character %zu of the comment is not printable ASCII", i + 1);
    memcpy(text, comment, length + 1);
    char *rest = text + sizeof prefix - 1;
    adept_status status = read_profile(&wish, *rest == ' ' ? NULL : adept_slurm_word(&rest), err);
    if (status == ADEPT_OK) status = read_keys(&wish, rest, err);
    if (status == ADEPT_OK) *out = wish;
    return status;
}
