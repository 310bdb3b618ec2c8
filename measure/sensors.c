/** @file sensors.c  Looking for sensors, and what their files share: paths below a root, small files read at once. */
#include "adept_append.h"
#include "adept_file.h"
#include "adept_grow.h"
#include "adept_sensor.h"
#include "deadline.h"
#include "nearest.h"
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define WORD(name, word) word,
ADEPT_NAMES(adept_component_name, ADEPT_COMPONENT_LIST(WORD))

adept_component adept_component_called(const char *word)
{
    size_t c = 0;

    while (c < ADEPT_COMPONENTS && strcmp(adept_component_name(c), word) != 0)
        c++;
    return (adept_component)c;
}

/* ---------------------------------------------------------------- what a search finds ---------------------------- */

adept_sensor *adept_sensor_add(adept_sensor_search *search, const adept_sensor_kind *kind, const char *name_format, ...)
{
    adept_sensor **list = adept_grow(search->sensors, &search->sensor_capacity, search->n_sensors + 1, sizeof *list);
    adept_sensor *sensor = calloc(1, sizeof *sensor);
    va_list words;

    if (list) search->sensors = list;
    if (!list || !sensor) {
        free(sensor);
        search->failed = ENOMEM;
        return NULL;
    }
    sensor->kind = kind;
    sensor->driver = "";
    va_start(words, name_format);
    vsnprintf(sensor->name, sizeof sensor->name, name_format, words);
    va_end(words);
    return search->sensors[search->n_sensors++] = sensor;
}

void adept_sensor_missing(adept_sensor_search *search, const char *name, const char *help, const char *why_format, ...)
{
    adept_sensor_note *notes = adept_grow(search->notes, &search->note_capacity, search->n_notes + 1, sizeof *notes);
    va_list words;

    if (!notes) {
        search->failed = ENOMEM;
        return;
    }
    search->notes = notes;
    adept_sensor_note *note = &notes[search->n_notes++];
    snprintf(note->name, sizeof note->name, "%s", name);
    snprintf(note->help, sizeof note->help, "%s", help);
    va_start(words, why_format);
    vsnprintf(note->why, sizeof note->why, why_format, words);
    va_end(words);
}

void adept_search_lacks(adept_sensor_search *search, int why)
{
    if (why == ENOMEM || why == EMFILE || why == ENFILE) search->failed = why;
}

/* ---------------------------------------------------------------- what a number can be ---------------------------- */

double adept_sensor_most_w(const adept_sensor *sensor)
{
    static const double most_w[ADEPT_COMPONENTS] = {
        [ADEPT_COMPONENT_CPU] = 2e3, /* the largest package of 2025 is designed for 500 W */
        [ADEPT_COMPONENT_CORES] = 2e3,   [ADEPT_COMPONENT_UNCORE] = 2e3,
        [ADEPT_COMPONENT_DRAM] = 2e3,    [ADEPT_COMPONENT_GPU] = 4e3,  /* the largest board: 1400 W */
        [ADEPT_COMPONENT_PSYS] = 2e4,    [ADEPT_COMPONENT_NODE] = 2e5, /* a rack of 72 GPUs: 140 kW */
        [ADEPT_COMPONENT_BATTERY] = 500,                               /* of 99 Wh, as airlines allow */
    };

    return sensor->most_power_w > 0 ? sensor->most_power_w : most_w[sensor->component];
}

bool adept_says_nothing(double number)
{
    static const double ones[] = {0x7fff, 0xffff, 0x7fffffff, 0xffffffff, 0x1p63, 0x1p64};

    for (double unit = 1; unit <= 1e6; unit *= 1e3)
        for (size_t i = 0; i < sizeof ones / sizeof *ones; i++)
            if (fabs(number) == unit * ones[i]) return true;
    return false;
}

adept_status adept_sensor_failed(unsigned *failures, const char *why, adept_error *err)
{
    const unsigned most = 5;

    if (++*failures < most) return ADEPT_OK;
    return adept_error_set(err, ADEPT_E_IO, "%u requests in a row failed, the last one: %s", *failures, why);
}

static void close_sensor(const adept_sensor_search *search, adept_sensor *sensor)
{
    if (search->is_stuck) return;
    if (sensor->kind->close) sensor->kind->close(sensor);
    free(sensor);
}

/* Does a word name this sensor alone? */
static bool is_named(const adept_sensor *sensor, const char *word)
{
    return strcmp(sensor->name, word) == 0 ||
           (strchr(word, ':') &&
            strcasestr(sensor->device, word)) || /* NVML has eight digits of the domain, CUDA four */
           adept_sensor_has_id(sensor, word);
}

static bool is_called(const adept_sensor *sensor, const char *word)
{
    size_t length = strlen(word);

    return is_named(sensor, word) || strcmp(sensor->kind->name, word) == 0 ||
           strcmp(adept_component_name(sensor->component), word) == 0 ||
           (strncmp(sensor->name, word, length) == 0 && sensor->name[length] == '-');
}

bool adept_sensor_has_id(const adept_sensor *sensor, const char *word)
{
    const char *gpu = strncmp(word, "MIG-GPU-", 8) == 0 ? word + 4 : word;
    size_t length = strcspn(gpu, gpu == word ? "" : "/");

    if (strncmp(gpu, "GPU-", 4) != 0 && strncmp(gpu, "MIG-", 4) != 0) return false;
    for (const char *at = sensor->ids; (at = strcasestr(at, gpu == word ? gpu : "GPU-")); at++) {
        bool begins = at == sensor->ids || at[-1] == ' ';
        if (begins && strncasecmp(at, gpu, length) == 0 && (gpu == word || strchr(" ", at[length]))) return true;
    }
    return false;
}

void adept_sensor_number(adept_sensor *sensor, const char *driver, unsigned index, unsigned of)
{
    sensor->driver = driver;
    sensor->index = index;
    sensor->of = of;
}

void adept_sensor_name(adept_sensor *sensor, const char *id)
{
    if (strlen(sensor->ids) + 1 + strlen(id) < sizeof sensor->ids) /* a name that is cut names another */
        adept_append(sensor->ids, sizeof sensor->ids, "%s%s", *sensor->ids ? " " : "", id);
}

/* May a word be one that this machine has nothing of: a component, a kind, something that has a note, a processor's
 * core, which `adept sweep --drive` sets, or an address on the bus where no GPU answers, though CUDA may know it? */
static bool may_be_missing(const adept_sensor_search *search, const adept_sensor_kind *const *kinds, const char *word)
{
    bool is_known = adept_component_called(word) != ADEPT_COMPONENTS || search->is_stuck, has_gpu = false;

    for (; *kinds; kinds++)
        is_known = is_known || strcmp((*kinds)->name, word) == 0;
    for (size_t i = 0; i < search->n_notes; i++)
        is_known = is_known || strcmp(search->notes[i].name, word) == 0;
    for (size_t i = 0; i < search->n_sensors; i++)
        has_gpu = has_gpu || search->sensors[i]->component == ADEPT_COMPONENT_GPU;
    return is_known ||
           (strncmp(word, "cpu", 3) == 0 && word[3] && strspn(word + 3, "0123456789") == strlen(word + 3)) ||
           (strchr(word, ':') && !has_gpu);
}

/* Is every word of --devices known, and each name of one GPU only? */
static adept_status check_devices(const adept_sensor_search *search, const adept_sensor_kind *const *kinds,
                                  const char *const *devices, size_t n_devices, adept_error *err)
{
    for (size_t w = 0; w < n_devices; w++) {
        char list[400] = "";
        size_t found = 0, named = 0;
        for (size_t i = 0; i < search->n_sensors; i++) {
            const adept_sensor *s = search->sensors[i];
            bool is_it = is_called(s, devices[w]);
            found += is_it;
            named += is_it && adept_sensor_has_id(s, devices[w]);
            adept_append(list, sizeof list, "%s%s%s%.44s", *list ? ", " : "", s->name, *s->ids ? " " : "", s->ids);
        }
        if (named > 1)
            return adept_error_set(err, ADEPT_E_USAGE, "devices: %.60s begins the names of %zu GPUs; there are: %s",
                                   devices[w], named, list);
        if (found == 0 && !may_be_missing(search, kinds, devices[w]))
            return adept_error_set(err, ADEPT_E_USAGE, "devices: no sensor is called %.60s; there are: %s", devices[w],
                                   *list ? list : "none");
    }
    return ADEPT_OK;
}

/* ---------------------------------------------------------------- which is inside of which ----------------------- */

#define BIT(name) (1u << ADEPT_COMPONENT_##name)
#define PARTS (BIT(CORES) | BIT(UNCORE))

static unsigned contents_of(adept_component component)
{
    switch (component) {
    case ADEPT_COMPONENT_CPU:
        return PARTS;
    case ADEPT_COMPONENT_PSYS:
        return PARTS | BIT(CPU) | BIT(DRAM);
    case ADEPT_COMPONENT_NODE:
        return PARTS | BIT(CPU) | BIT(DRAM) | BIT(GPU) | BIT(PSYS) | BIT(NODE);
    default: /* a battery feeds the machine at times only: nothing is a part of its number */
        return ADEPT_SOLITARY;
    }
}

/* A kind that reads a processor numbers its parts alike: cores-0-die-1 is of cpu-0-die-1. */
static bool is_of_package(const adept_sensor *whole, const adept_sensor *part)
{
    const char *number = strchr(whole->name, '-'), *other = strchr(part->name, '-');

    if (whole->component == ADEPT_COMPONENT_CPU && whole->kind == part->kind && number && other)
        return strcmp(number, other) == 0;
    return !*whole->package || !*part->package || strcmp(whole->package, part->package) == 0;
}

static bool is_around(const adept_sensor *whole, const adept_sensor *part)
{
    return whole != part && whole->contains >> part->component & 1 && is_of_package(whole, part) &&
           ((whole->component != part->component && !(part->contains >> whole->component & 1)) ||
            whole->width > part->width);
}

/* Is one around it and no other of the same sort? Of several, nobody knows of which it is a part. */
static bool is_only_around(const adept_sensor_search *search, const adept_sensor *whole, const adept_sensor *part)
{
    bool is_only = is_around(whole, part);

    for (size_t i = 0; is_only && i < search->n_sensors; i++) {
        const adept_sensor *other = search->sensors[i];
        is_only = other == whole || !is_around(other, part) || other->component != whole->component ||
                  other->width != whole->width;
    }
    return is_only;
}

/* What a kind's find() works on, in a thread: lists of its own, which it may keep. */
typedef struct scouting {
    const adept_sensor_kind *kind;
    adept_sensor_search search;
} scouting;

static void scout(void *data)
{
    scouting *s = data;

    s->kind->find(&s->search);
}

static void *copy_of(const void *list, size_t n, size_t element_bytes)
{
    void *copy = malloc((n + 1) * element_bytes);

    if (copy && n > 0) memcpy(copy, list, n * element_bytes);
    return copy;
}

#define REQUESTS 10 /* that a kind makes of a device over a network, to find what it has */

static void find_kind(adept_sensor_search *search, const adept_sensor_kind *kind)
{
    if (search->settings.is_stopped && search->settings.is_stopped()) {
        adept_sensor_missing(search, kind->name, "", "a signal came before its devices were looked for");
        return;
    }
    scouting *s = malloc(sizeof *s);
    int failed = s ? 0 : ENOMEM;

    if (s) {
        *s = (scouting){.kind = kind, .search = *search};
        s->search.sensors = copy_of(search->sensors, search->n_sensors, sizeof *search->sensors);
        s->search.notes = copy_of(search->notes, search->n_notes, sizeof *search->notes);
        s->search.sensor_capacity = search->n_sensors + 1;
        s->search.note_capacity = search->n_notes + 1;
        failed = s->search.sensors && s->search.notes
                     ? adept_deadline_until(scout, s, fmax(ADEPT_FIND_S, REQUESTS * kind->patience_s),
                                            search->settings.is_stopped)
                     : ENOMEM;
    }
    search->is_stuck = search->is_stuck || failed == ETIMEDOUT || failed == ECANCELED;
    if (failed == ETIMEDOUT)
        adept_sensor_missing(search, kind->name, "", "does not answer: looking for its devices takes more than %g s",
                             ADEPT_FIND_S);
    if (failed == ECANCELED) adept_sensor_missing(search, kind->name, "", "a signal ended looking for its devices");
    if (failed == ETIMEDOUT || failed == ECANCELED) return;
    if (failed) search->failed = failed;
    if (!s) return;
    adept_sensor_search old = failed ? s->search : *search;
    if (!failed) *search = s->search;
    free(old.sensors);
    free(old.notes);
    free(s);
}

adept_status adept_sensors_find(adept_sensor_search *search, const adept_sensor_kind *const *kinds,
                                const char *const *devices, size_t n_devices, adept_error *err)
{
    const unsigned last_rank = 3;

    for (unsigned rank = 0; rank <= last_rank; rank++)
        for (const adept_sensor_kind *const *kind = kinds; *kind; kind++)
            if ((*kind)->rank == rank) find_kind(search, *kind);
    adept_status status = search->failed ? ADEPT_OK : check_devices(search, kinds, devices, n_devices, err);
    if (status != ADEPT_OK) {
        adept_sensors_close(search);
        return status;
    }
    /* Keep the sensors that some word selects; note words that select none. */
    size_t kept = 0;
    for (size_t w = 0; w < n_devices; w++) {
        bool found = false;
        for (size_t i = 0; i < search->n_sensors; i++)
            found = found || is_called(search->sensors[i], devices[w]);
        if (!found)
            adept_sensor_missing(search, devices[w], "`adept measure --list` shows what there is",
                                 "no sensor is called so");
    }
    for (size_t i = 0; i < search->n_sensors; i++) {
        bool wanted = n_devices == 0;
        for (size_t w = 0; w < n_devices; w++) {
            wanted = wanted || is_called(search->sensors[i], devices[w]);
            search->sensors[i]->is_named = search->sensors[i]->is_named || is_named(search->sensors[i], devices[w]);
        }
        if (wanted)
            search->sensors[kept++] = search->sensors[i];
        else
            close_sensor(search, search->sensors[i]);
    }
    search->n_sensors = kept;
    /* Each is inside of the innermost of those that are around it. */
    for (size_t i = 0; i < search->n_sensors; i++) {
        adept_sensor *s = search->sensors[i];
        if (!s->contains) s->contains = contents_of(s->component);
    }
    for (size_t i = 0; i < search->n_sensors; i++) {
        adept_sensor *part = search->sensors[i];
        const adept_sensor *direct = NULL;
        for (size_t k = 0; k < search->n_sensors && !*part->inside; k++) {
            const adept_sensor *whole = search->sensors[k];
            if (is_only_around(search, whole, part) && (!direct || is_around(direct, whole))) direct = whole;
        }
        if (direct) snprintf(part->inside, sizeof part->inside, "%s", direct->name);
    }
    int why = search->failed;
    if (why == 0) return ADEPT_OK;
    adept_sensors_close(search);
    if (why == EMFILE || why == ENFILE)
        return adept_error_set(err, ADEPT_E_IO, "sensors cannot be opened: %s", strerror(why));
    return adept_deadline_error(why, "sensors", err);
}

void adept_sensors_close(adept_sensor_search *search)
{
    for (size_t i = 0; i < search->n_sensors; i++)
        close_sensor(search, search->sensors[i]);
    free(search->sensors);
    free(search->notes);
    *search = (adept_sensor_search){.settings = search->settings};
}

/* ---------------------------------------------------------------- small files ------------------------------------ */

char *adept_sensor_path(const adept_sensor_settings *settings, const char *format, ...)
{
    adept_buffer path = {0};
    char *below = NULL;
    va_list words;

    va_start(words, format);
    int length = vasprintf(&below, format, words);
    va_end(words);
    if (length < 0) return NULL;
    if (settings->sysroot) adept_buffer_text(&path, settings->sysroot);
    adept_buffer_text(&path, below);
    free(below);
    return adept_buffer_take(&path);
}

bool adept_sensor_text(char *text, size_t size, const char *path)
{
    int file = adept_file_descriptor(path, 0);
    ssize_t n;

    if (file < 0) return false;
    do
        n = read(file, text, size - 1);
    while (n < 0 && errno == EINTR);
    int saved = errno;
    close(file);
    errno = saved;
    if (n < 0) return false;
    text[n] = '\0';
    text[strcspn(text, "\n")] = '\0';
    return true;
}
