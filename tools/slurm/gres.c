/** @file gres.c  Lists of generic resources as slurmctld gets them: "gres:gpu:v100:2,gres:nic:1". Calls: words.c. */
#include "adept_slurm.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One entry of a list; `name` is what follows "gres:" or "gres/". */
typedef struct entry {
    const char *text, *name;
    size_t length, name_length;
} entry;

static bool next_entry(entry *e, const char **list)
{
    if (!*list || **list == '\0') return false;
    e->text = e->name = *list;
    e->length = e->name_length = strcspn(*list, ",");
    *list += e->length;
    if (**list == ',') ++*list;
    if (e->length >= 5 && (strncmp(e->text, "gres:", 5) == 0 || strncmp(e->text, "gres/", 5) == 0)) {
        e->name += 5;
        e->name_length -= 5;
    }
    return true;
}

static bool is_gpu(const entry *e)
{
    return e->name_length >= 3 && strncmp(e->name, "gpu", 3) == 0 &&
           (e->name_length == 3 || e->name[3] == ':' || e->name[3] == '=');
}

static bool is_number(const char *text)
{
    return *text != '\0' && text[strspn(text, "0123456789")] == '\0';
}

static adept_status read_count(adept_slurm_fixed *fixed, const char *text, adept_error *err)
{
    long n = is_number(text) && strlen(text) <= 4 ? strtol(text, NULL, 10) : 0;
    if (n < 1 || n > ADEPT_SLURM_GPUS_MAX)
        return adept_error_set(err, ADEPT_E_USAGE, "the job asks for '%.40s' GPUs, a node has 1 to %d", text,
                               ADEPT_SLURM_GPUS_MAX);
    if (fixed->gpus > 0) return adept_error_set(err, ADEPT_E_USAGE, "the job asks for GPUs in more than one way");
    fixed->gpus = n;
    return ADEPT_OK;
}

/* What follows "gpu": "", ":2", ":v100", ":v100:2". A type alone fixes no number, unlike elsewhere in Slurm. */
static adept_status read_gpu(adept_slurm_fixed *fixed, const entry *e, adept_error *err)
{
    char text[2 * ADEPT_SLURM_NAME_MAX];
    size_t length = e->name_length > 4 ? e->name_length - 4 : 0;
    if (length == 0) return ADEPT_OK;
    if (length >= sizeof text) return adept_error_set(err, ADEPT_E_USAGE, "the job's GPU type is too long");
    memcpy(text, e->name + 4, length);
    text[length] = '\0';
    if (is_number(text)) return read_count(fixed, text, err);
    char *count = text + strcspn(text, ":=");
    if (*count) *count++ = '\0';
    if (strlen(text) > ADEPT_SLURM_NAME_MAX || *text == '\0' || strcmp(text, "none") == 0)
        return adept_error_set(err, ADEPT_E_USAGE, "'%.40s' is no type of GPU", text);
    memcpy(fixed->gres_type, text, strlen(text) + 1);
    return *count ? read_count(fixed, count, err) : ADEPT_OK;
}

adept_status adept_slurm_gres_read(adept_slurm_fixed *fixed, const char *list, adept_error *err)
{
    unsigned n = fixed->gpus > 0 || fixed->gres_type[0];
    for (entry e; next_entry(&e, &list);) {
        if (!is_gpu(&e)) continue;
        if (n++ > 0) return adept_error_set(err, ADEPT_E_USAGE, "the job asks for GPUs in more than one way");
        adept_status status = read_gpu(fixed, &e, err);
        if (status != ADEPT_OK) return status;
    }
    return ADEPT_OK;
}

bool adept_slurm_gres_has_gpus(const char *list)
{
    for (entry e; next_entry(&e, &list);)
        if (is_gpu(&e)) return true;
    return false;
}

adept_status adept_slurm_gres_write(char *out, size_t size, const char *list, const char *type, int64_t gpus,
                                    adept_error *err)
{
    int n = snprintf(out, size, "gres:gpu%s%s:%d", *type ? ":" : "", type, (int)gpus);
    for (entry e; n > 0 && (size_t)n < size && next_entry(&e, &list);) {
        if (is_gpu(&e) || e.length == 0) continue;
        if (e.length + 1 >= size - (size_t)n)
            return adept_error_set(err, ADEPT_E_USAGE, "the job's --gres is too long");
        n += snprintf(out + n, size - (size_t)n, ",%.*s", (int)e.length, e.text);
    }
    if (n <= 0 || (size_t)n >= size) return adept_error_set(err, ADEPT_E_USAGE, "the job's --gres is too long");
    return ADEPT_OK;
}
