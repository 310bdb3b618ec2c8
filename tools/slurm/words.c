/** @file words.c  Words, numbers and quantities of comments and configurations. Calls: base. */
#include "adept_append.h"
#include "adept_number.h"
#include "adept_slurm.h"
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const adept_slurm_unit adept_slurm_seconds[] = {{"s", 1}, {"min", 60}, {"h", 3600}, {"d", 86400}, {NULL, 0}};
const adept_slurm_unit adept_slurm_watts[] = {{"W", 1}, {"kW", 1e3}, {"MW", 1e6}, {NULL, 0}};
const adept_slurm_unit adept_slurm_joules[] = {{"J", 1},       {"kJ", 1e3},    {"MJ", 1e6}, {"Wh", 3600},
                                               {"kWh", 3.6e6}, {"MWh", 3.6e9}, {NULL, 0}};
static const char *const objectives[] = {[ADEPT_LEAST_TIME] = "time",
                                         [ADEPT_LEAST_ENERGY] = "energy",
                                         [ADEPT_LEAST_EDP] = "edp",
                                         [ADEPT_LEAST_ED2P] = "ed2p",
                                         [ADEPT_SLURM_THRIFT] = "thrift"};

char *adept_slurm_read(size_t *size, int fd, size_t most)
{
    char *data = malloc(most + 1);
    *size = 0;
    while (data && *size < most) {
        ssize_t n = read(fd, data + *size, most - *size);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) break;
        *size += (size_t)n;
    }
    return data;
}

bool adept_slurm_is_same(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size &&
           a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec &&
           a->st_ctim.tv_sec == b->st_ctim.tv_sec && a->st_ctim.tv_nsec == b->st_ctim.tv_nsec;
}

char *adept_slurm_word(char **rest)
{
    char *word = *rest + strspn(*rest, " \t\r");
    if (*word == '\0') return NULL;
    char *end = word + strcspn(word, " \t\r");
    *rest = *end ? end + 1 : end;
    *end = '\0';
    return word;
}

adept_status adept_slurm_key_read(const adept_slurm_key **row, const adept_slurm_key *keys,
                                  int (*compare)(const char *, const char *), void *record, char *word,
                                  adept_error *err)
{
    char *sign = strchr(word, '=');
    const adept_slurm_key *key = keys;
    if (!sign || sign == word || sign[1] == '\0')
        return adept_error_set(err, ADEPT_E_USAGE, "'%.40s' is not KEY=VALUE", word);
    *sign = '\0';
    while (key->name && compare(key->name, word) != 0)
        key++;
    if (!key->name) {
        char list[256] = "";
        for (key = keys; key->name; key++)
            adept_append(list, sizeof list, "%s%s", *list ? ", " : "", key->name);
        return adept_error_set(err, ADEPT_E_USAGE, "'%.40s' is none of %s", word, list);
    }
    if (row) *row = key;
    return key->read((char *)record + key->at, key, sign + 1, err);
}

adept_status adept_slurm_number(void *field, const adept_slurm_key *key, char *text, adept_error *err)
{
    double value;
    if (!adept_number_parse(&value, text) || !(value > 0))
        return adept_error_set(err, ADEPT_E_USAGE, "%s: '%.40s' is not a number above 0", key->name, text);
    *(double *)field = value;
    return ADEPT_OK;
}

adept_status adept_slurm_quantity(void *field, const adept_slurm_key *key, char *text, adept_error *err)
{
    size_t length = adept_number_length(text);
    double value = NAN;
    for (const adept_slurm_unit *u = key->units; u->name; u++)
        if (length > 0 && strcmp(u->name, text + length) == 0) value = adept_number_value(text) * u->scale;
    if (!(value > 0) || !isfinite(value))
        return adept_error_set(err, ADEPT_E_USAGE, "%s: '%.40s' is not a number above 0 with a unit, such as %s",
                               key->name, text, key->such);
    *(double *)field = value;
    return ADEPT_OK;
}

/* 1 to ADEPT_SLURM_GPUS_MAX, and where it ends; 0: it is not. */
static unsigned gpu_number(const char **text)
{
    size_t length = strspn(*text, "0123456789");
    if (length == 0 || length > 3) return 0;
    unsigned long n = strtoul(*text, NULL, 10);
    *text += length;
    return n <= ADEPT_SLURM_GPUS_MAX ? (unsigned)n : 0;
}

adept_status adept_slurm_gpus(void *field, const adept_slurm_key *key, char *text, adept_error *err)
{
    uint64_t bits = 0;
    for (const char *at = text;; at++) {
        unsigned low = gpu_number(&at), high = low;
        if (low > 0 && *at == '-') {
            at++;
            high = gpu_number(&at);
        }
        if (low == 0 || high < low || (*at != ',' && *at != '\0'))
            return adept_error_set(err, ADEPT_E_USAGE,
                                   "%s: '%.40s' is not a list of numbers from 1 to %d, such as 1,2,4-8", key->name,
                                   text, ADEPT_SLURM_GPUS_MAX);
        for (unsigned n = low; n <= high; n++)
            bits |= UINT64_C(1) << (n - 1);
        if (*at == '\0') break;
    }
    *(uint64_t *)field = bits;
    return ADEPT_OK;
}

adept_status adept_slurm_objective(void *field, const adept_slurm_key *key, char *text, adept_error *err)
{
    for (size_t i = 0; i < sizeof objectives / sizeof *objectives; i++)
        if (strcmp(objectives[i], text) == 0) {
            *(int32_t *)field = (int32_t)i;
            return ADEPT_OK;
        }
    return adept_error_set(err, ADEPT_E_USAGE, "%s: '%.40s' is none of time, energy, edp, ed2p, thrift", key->name,
                           text);
}

const char *adept_slurm_objective_name(int32_t objective)
{
    return objectives[objective];
}
