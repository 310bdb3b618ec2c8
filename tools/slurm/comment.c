/** @file comment.c  The job's comment: adept:PROFILE [KEY=VALUE]... Written by users, so hostile. Calls: words.c. */
#include "adept_slurm.h"
#include <math.h>
#include <stddef.h>
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

static adept_status read_batch(void *field, const adept_slurm_key *key, char *text, adept_error *err)
{
    double value = 0;
    if (adept_slurm_number(&value, key, text, NULL) != ADEPT_OK || value > 1e9 || value != floor(value))
        return adept_error_set(err, ADEPT_E_USAGE, "batch: '%.40s' is not a whole number from 1 to 1e9", text);
    *(int64_t *)field = (int64_t)value;
    return ADEPT_OK;
}

#define AT(member) offsetof(adept_slurm_wish, member)
static const adept_slurm_key keys[] = {
    {"batch", read_batch, AT(batch), NULL, NULL},
    {"objective", adept_slurm_objective, AT(objective), NULL, NULL},
    {"samples", adept_slurm_number, AT(samples), NULL, NULL},
    {"steps", adept_slurm_number, AT(steps), NULL, NULL},
    {"deadline", adept_slurm_quantity, AT(deadline_s), "90min, 2h or 1.5d", adept_slurm_seconds},
    {"power", adept_slurm_quantity, AT(power_budget_w), "900W or 1.2kW", adept_slurm_watts},
    {"energy", adept_slurm_quantity, AT(energy_budget_j), "2kWh or 5MJ", adept_slurm_joules},
    {"gpus", adept_slurm_gpus, AT(gpus), NULL, NULL},
    {0},
};

static adept_status read_keys(adept_slurm_wish *w, char *rest, adept_error *err)
{
    unsigned seen = 0;
    for (char *word; (word = adept_slurm_word(&rest));) {
        const adept_slurm_key *key;
        adept_status status = adept_slurm_key_read(&key, keys, strcmp, w, word, err);
        if (status != ADEPT_OK) return status;
        if (seen & 1u << (key - keys)) return adept_error_set(err, ADEPT_E_USAGE, "%s is given twice", key->name);
        seen |= 1u << (key - keys);
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
