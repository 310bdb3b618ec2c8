/** @file visible.c  Which GPUs a process may use. Sources: CUDA's programming guide, "CUDA Environment Variables";
 * NVIDIA's container toolkit; ROCm's "GPU isolation techniques"; Slurm's gres guide. */
#include "adept_visible.h"
#include "adept_append.h"
#include "adept_file.h"
#include "adept_grow.h"
#include "adept_number.h"
#include "nearest.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define NAME(identifier, variable) variable,
ADEPT_NAMES(adept_visible_name, ADEPT_VISIBLE_LIST(NAME))
#undef NAME

/* ---------------------------------------------------------------- variables --------------------------------------- */

bool adept_visible_set(adept_visible_words *words, size_t variable, const char *value)
{
    char *copy = value ? strdup(value) : NULL;

    if (value && !copy) return false;
    free(words->values[variable]);
    words->values[variable] = copy;
    return true;
}

bool adept_visible_own(adept_visible_words *words)
{
    bool ok = true;

    for (size_t v = 0; ok && v < ADEPT_VISIBLE_VARIABLES; v++)
        ok = adept_visible_set(words, v, getenv(adept_visible_name(v)));
    return ok;
}

/* "NAME=VALUE" of a list of such texts, each with its end; NULL: there is none. */
static const char *value_in(const char *environment, size_t size, const char *name)
{
    size_t length = strlen(name);

    for (const char *at = environment; at < environment + size; at += strlen(at) + 1)
        if (strncmp(at, name, length) == 0 && at[length] == '=') return at + length + 1;
    return NULL;
}

bool adept_visible_of(adept_visible_words *words, int pid)
{
    const size_t most_bytes = (size_t)4 << 20;
    char path[64];
    adept_buffer all = {0};
    struct stat own, other;
    bool ok = true;

    snprintf(path, sizeof path, "/proc/%d/environ", pid);
    int file = adept_file_descriptor(path, 0);
    bool is_read = file >= 0 && adept_file_read_rest(&all, file, most_bytes);
    if (file >= 0) close(file);
    size_t size = all.size;
    char *environment = adept_buffer_take(&all);
    is_read = is_read && size > 0 && environment; /* of one that has ended there is nothing */
    for (size_t v = 0; is_read && ok && v < ADEPT_VISIBLE_VARIABLES; v++)
        ok = adept_visible_set(words, v, value_in(environment, size, adept_visible_name(v)));
    free(environment);
    if (!is_read) return false;
    snprintf(path, sizeof path, "/proc/%d/root", pid);
    words->in_container =
        stat("/", &own) == 0 && stat(path, &other) == 0 && (own.st_dev != other.st_dev || own.st_ino != other.st_ino);
    return ok;
}

void adept_visible_free(adept_visible_words *words)
{
    for (size_t v = 0; v < ADEPT_VISIBLE_VARIABLES; v++)
        free(words->values[v]);
    *words = (adept_visible_words){.in_container = false};
}

/* ---------------------------------------------------------------- lists of GPUs ----------------------------------- */

#define MOST 256 /* GPUs of a machine */
#define NOT_MEASURED SIZE_MAX

/* GPUs in an order: which sensor measures each. */
typedef struct gpu_list {
    size_t sensor[MOST];
    size_t n;
    bool is_slice, by_number, is_twice; /* a part of a GPU is among them, of MIG or a partition or a die; a number named
                                           one; a whole GPU came again */
} gpu_list;

/* Lists that schedulers and containers write have ranges and instances. */
static const bool reads_ranges[ADEPT_VISIBLE_VARIABLES] = {
    [ADEPT_VISIBLE_NVIDIA] = true, [ADEPT_VISIBLE_STEP] = true, [ADEPT_VISIBLE_JOB] = true};

/* @return false: it is there already */
static bool take(gpu_list *to, const gpu_list *from, size_t i)
{
    for (size_t k = 0; k < to->n; k++)
        if (to->sensor[k] == from->sensor[i] && from->sensor[i] != NOT_MEASURED) return false;
    if (to->n < MOST) to->sensor[to->n++] = from->sensor[i];
    return true;
}

/* The GPUs that a word names, "3", "0-3" of Slurm, "1:0" of a container's MIG, "GPU-8932f937", "MIG-..." or
 * "MIG-GPU-.../1/0". CUDA and ROCm read numbers by strtoul(): of "0-3" and "1gpu", 0 and 1. @return false: it names
 * none, and with CUDA the list ends */
static bool take_word(gpu_list *to, const gpu_list *from, const char *word, const adept_sensor *const *sensors,
                      size_t variable)
{
    const bool by_runtime = !reads_ranges[variable];
    const char *end;
    int64_t first, last;
    size_t found = 0, measured = 0, which = 0;

    if (adept_integer_parse(&first, word + (by_runtime && *word == '+'), &end, 0, MOST - 1)) {
        last = first;
        if (by_runtime) end = "";
        if (*end == '-' && !adept_integer_parse(&last, end + 1, &end, first, MOST - 1)) return false;
        to->is_slice = to->is_slice || *end == ':';
        if (*end && *end != ':') return false;
        for (int64_t i = first; i <= last && i < (int64_t)from->n; i++)
            to->is_twice = !take(to, from, (size_t)i) || to->is_twice;
        to->by_number = true;
        return last < (int64_t)from->n;
    }
    if (strncmp(word, "GPU-", 4) != 0 && strncmp(word, "MIG-", 4) != 0) return false;
    for (size_t i = 0; i < from->n; i++) {
        measured += from->sensor[i] != NOT_MEASURED;
        if (from->sensor[i] == NOT_MEASURED || !adept_sensor_has_id(sensors[from->sensor[i]], word)) continue;
        found++;
        which = i;
    }
    if (found == 1) to->is_twice = !take(to, from, which) || to->is_twice; /* what several GPUs begin with names none */
    if (found == 0 && measured < from->n && to->n < MOST)
        to->sensor[to->n++] = NOT_MEASURED, found++; /* one of the others, perhaps */
    to->is_slice = to->is_slice || (found == 1 && word[0] == 'M');
    return found == 1;
}

/* Reduce a list to what a variable names of it. Words that name none end it, as CUDA and ROCm have it: "-1",
 * "NoDevFiles". With CUDA, a list that names a GPU twice names none. PyTorch's torch/cuda/__init__.py has both rules.
 */
static void reduce(gpu_list *list, char *const *values, size_t variable, const adept_sensor *const *sensors)
{
    const char *value = values[variable];
    gpu_list left = {.n = 0, .is_slice = list->is_slice, .by_number = list->by_number};
    bool names = true;

    while (names && *value) {
        char word[128];
        size_t blanks = strspn(value, " \t"), length = strcspn(value + blanks, ",");
        snprintf(word, sizeof word, "%.*s", (int)(length < sizeof word ? length : sizeof word - 1), value + blanks);
        word[strcspn(word, " \t")] = '\0';
        names = take_word(&left, list, word, sensors, variable);
        value += blanks + length;
        value += *value == ',';
    }
    if (variable == ADEPT_VISIBLE_CUDA && left.is_twice && !left.is_slice) left.n = 0;
    *list = left;
}

static size_t count_words(const char *value)
{
    size_t n = *value != '\0';

    for (; *value; value++)
        n += *value == ',' && value[1];
    return n;
}

/* Does a scheduler's or container's list leave fewer than are counted here? Else what counts GPUs sees its choice
 * already, under numbers of its own. */
static bool restricts(const gpu_list *list, char *const *values, size_t variable, const adept_sensor *const *sensors)
{
    const char *value = values[variable];
    gpu_list left = *list;

    if (!value || strcmp(value, "all") == 0) return false;
    reduce(&left, values, variable, sensors);
    return left.n > 0 && left.n < list->n && count_words(value) != list->n;
}

/* Are all that one variable names of a list among those that another one names? */
static bool is_within(const gpu_list *list, char *const *values, size_t inner, size_t outer,
                      const adept_sensor *const *sensors)
{
    gpu_list of_inner = *list, of_outer = *list;
    bool is = true;

    reduce(&of_inner, values, inner, sensors);
    reduce(&of_outer, values, outer, sensors);
    for (size_t i = 0; i < of_inner.n; i++) {
        size_t k = 0;
        while (k < of_outer.n && of_outer.sensor[k] != of_inner.sensor[i])
            k++;
        is = is && k < of_outer.n;
    }
    return is;
}

/* ---------------------------------------------------------------- which decide ------------------------------------ */

static void name(adept_visible_gpus *out, const adept_visible_words *words, size_t variable)
{
    adept_append(out->by, sizeof out->by, "%s%s=%.60s", *out->by ? ", " : "", adept_visible_name(variable),
                 words->values[variable]);
}

/* Are boards of several makes there? Then CUDA's order is its own, the fastest first. */
static bool are_alike(const gpu_list *all, const adept_sensor *const *sensors)
{
    const char *first = NULL;

    for (size_t i = 0; i < all->n; i++) {
        if (all->sensor[i] == NOT_MEASURED) continue; /* --devices says which are meant */
        const char *device = sensors[all->sensor[i]]->device, *address = strchr(device, ':');
        while (address && address > device && address[-1] != ' ')
            address--;
        size_t length = address ? (size_t)(address - device) : strlen(device);
        if (first && (strncmp(first, device, length) != 0)) return false;
        first = device;
    }
    return true;
}

static gpu_list cuda_list(adept_visible_gpus *out, const adept_visible_words *words, const gpu_list *all,
                          const adept_sensor *const *sensors)
{
    char *const *v = words->values;
    gpu_list list = *all;
    bool by_container = words->in_container && restricts(&list, v, ADEPT_VISIBLE_NVIDIA, sensors);
    size_t scheduler = v[ADEPT_VISIBLE_STEP] && *v[ADEPT_VISIBLE_STEP] ? ADEPT_VISIBLE_STEP : ADEPT_VISIBLE_JOB;

    if (by_container ||
        (!v[ADEPT_VISIBLE_CUDA] && !v[scheduler] && restricts(&list, v, ADEPT_VISIBLE_NVIDIA, sensors))) {
        reduce(&list, v, ADEPT_VISIBLE_NVIDIA, sensors);
        list.by_number = false; /* in the order of the bus, as here */
        name(out, words, ADEPT_VISIBLE_NVIDIA);
    }
    if (v[ADEPT_VISIBLE_CUDA] && restricts(&list, v, scheduler, sensors) &&
        !is_within(&list, v, ADEPT_VISIBLE_CUDA, scheduler, sensors)) {
        reduce(&list, v, scheduler, sensors); /* its job sees these alone, and counts them from 0 */
        name(out, words, scheduler);
    }
    if (v[ADEPT_VISIBLE_CUDA]) {
        reduce(&list, v, ADEPT_VISIBLE_CUDA, sensors);
        name(out, words, ADEPT_VISIBLE_CUDA);
        const char *order = v[ADEPT_VISIBLE_CUDA_ORDER];
        bool is_choice = list.n > 0 && list.n < all->n && list.by_number;
        if (is_choice && (!order || strcmp(order, "PCI_BUS_ID") != 0) && !are_alike(all, sensors))
            out->doubt = "its numbers count the fastest GPU first, where CUDA_DEVICE_ORDER=PCI_BUS_ID is not set: of "
                         "GPUs that are not alike "
                         "it is not known which they are";
    } else if (restricts(&list, v, scheduler, sensors)) {
        reduce(&list, v, scheduler, sensors);
        name(out, words, scheduler);
    }
    return list;
}

static gpu_list rocm_list(adept_visible_gpus *out, const adept_visible_words *words, const gpu_list *all,
                          const adept_sensor *const *sensors)
{
    char *const *v = words->values;
    gpu_list list = *all;
    size_t inner = v[ADEPT_VISIBLE_HIP]    ? ADEPT_VISIBLE_HIP
                   : v[ADEPT_VISIBLE_CUDA] ? ADEPT_VISIBLE_CUDA
                                           : ADEPT_VISIBLE_ORDINAL;
    bool has_inner =
        v[inner] && (inner != ADEPT_VISIBLE_ORDINAL || !v[ADEPT_VISIBLE_ROCR]); /* Slurm sets both, of the same GPUs */

    if (v[ADEPT_VISIBLE_ROCR]) reduce(&list, v, ADEPT_VISIBLE_ROCR, sensors);
    if (v[ADEPT_VISIBLE_ROCR]) name(out, words, ADEPT_VISIBLE_ROCR);
    if (has_inner) reduce(&list, v, inner, sensors); /* numbers of what ROCR leaves */
    if (has_inner) name(out, words, inner);
    for (size_t i = 0; list.n < all->n && i < list.n; i++)
        list.is_slice = list.is_slice || (list.sensor[i] != NOT_MEASURED && sensors[list.sensor[i]]->is_divided);
    return list;
}

/* "NVIDIA", "AMD", "Intel": whose board a GPU's sensor is of, so long. */
static const char *make_of(const adept_sensor *sensor, size_t *length)
{
    const char *make = strcmp(sensor->driver, "nvml") == 0   ? "NVIDIA"
                       : strcmp(sensor->driver, "rocm") == 0 ? "AMD"
                                                             : sensor->device;

    *length = strcspn(make, " ");
    return make;
}

/* Are the GPUs that are used of several makes? */
static bool are_of_several(const bool *is_used, const adept_sensor *const *sensors, size_t n)
{
    const char *first = NULL;
    size_t length = 0, other;

    for (size_t i = 0; i < n; i++) {
        if (!is_used[i] || sensors[i]->component != ADEPT_COMPONENT_GPU) continue;
        const char *make = make_of(sensors[i], &other);
        if (first && (other != length || strncmp(first, make, length) != 0)) return true;
        first = make;
        length = other;
    }
    return false;
}

/* Boards that /sys alone shows have no numbers: of several, a variable that chooses GPUs says nothing that is known. */
static bool may_choose(const adept_visible_words *words)
{
    static const int choices[] = {ADEPT_VISIBLE_ROCR, ADEPT_VISIBLE_HIP, ADEPT_VISIBLE_CUDA, ADEPT_VISIBLE_ORDINAL,
                                  ADEPT_VISIBLE_STEP, ADEPT_VISIBLE_JOB, ADEPT_VISIBLE_LEVEL_ZERO};
    bool may = false;

    for (size_t i = 0; i < sizeof choices / sizeof *choices; i++)
        may = may || words->values[choices[i]];
    return may;
}

void adept_visible_resolve(adept_visible_gpus *out, bool *is_used, const adept_visible_words *words,
                           const adept_sensor *const *sensors, size_t n)
{
    static const struct {
        const char *driver;
        gpu_list (*list)(adept_visible_gpus *, const adept_visible_words *, const gpu_list *,
                         const adept_sensor *const *);
    } makes[] = {{"nvml", cuda_list}, {"rocm", rocm_list}};

    *out = (adept_visible_gpus){.doubt = NULL};
    bool are_named = true;
    for (size_t i = 0; i < n; i++) {
        const bool is_board = sensors[i]->of == 0 && sensors[i]->component == ADEPT_COMPONENT_GPU;
        is_used[i] = sensors[i]->of == 0;
        out->n += is_board;
        are_named = are_named && (!is_board || sensors[i]->is_named);
    }
    out->n_measured = out->n;
    if (out->n > 1 && !are_named && may_choose(words))
        out->doubt = "these GPUs have no numbers here, so it is not known which of them the environment leaves: "
                     "--devices with their names says it";
    for (size_t m = 0; m < sizeof makes / sizeof *makes; m++) {
        const char *kind = makes[m].driver;
        gpu_list all = {.n = 0};
        for (size_t i = 0; i < n; i++) {
            if (strcmp(sensors[i]->driver, kind) != 0) continue;
            for (; all.n < sensors[i]->of && all.n < MOST; all.n++)
                all.sensor[all.n] = NOT_MEASURED;
            if (sensors[i]->index < all.n) all.sensor[sensors[i]->index] = i;
        }
        if (all.n == 0) continue;
        gpu_list list = makes[m].list(out, words, &all, sensors);
        bool is_chosen = list.n < all.n || *out->by; /* else all that are measured are meant, as --devices has it */
        for (size_t i = 0; i < list.n; i++) {
            out->n += is_chosen || list.sensor[i] != NOT_MEASURED;
            if (list.sensor[i] == NOT_MEASURED) continue;
            out->n_measured++;
            is_used[list.sensor[i]] = true;
        }
        if (list.is_slice)
            out->doubt = "a MIG instance has no power of its own, nor a partition or a die: that of its whole GPU is "
                         "no measurement of it";
    }
    if (!out->doubt && are_of_several(is_used, sensors, n))
        out->doubt = "GPUs of several makes are measured, and a program uses one of them: --devices with the names of "
                     "its GPUs says which";
    if (!out->doubt && out->n_measured < out->n) out->doubt = "not all of these GPUs are measured";
}
