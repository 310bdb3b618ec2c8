/** @file controls.c  The kinds of settings, and setting all devices of one. */
#include "adept_control.h"
#include "adept_grow.h"
#include "adept_number.h"
#include "adept_sensor.h"
#include "control.h"
#include "deadline.h"
#include "units.h"
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What the kinds of settings share: devices that are wanted, ranges, files of /sys. */

adept_control *adept_controls_add(adept_controls *list, const adept_control_kind *kind, const char *name_format, ...)
{
    adept_control *items = adept_grow(list->items, &list->capacity, list->n + 1, sizeof *items);
    va_list words;

    if (!items) return NULL;
    list->items = items;
    adept_control *control = &items[list->n++];
    *control = (adept_control){.kind = kind};
    va_start(words, name_format);
    vsnprintf(control->name, sizeof control->name, name_format, words);
    va_end(words);
    return control;
}

bool adept_controls_want(const adept_controls *list, const adept_control_kind *kind, const char *name, const char *id)
{
    bool wanted = list->n_devices == 0;

    for (size_t i = 0; i < list->n_devices; i++)
        wanted = wanted || strcmp(list->devices[i], name) == 0 || strcmp(list->devices[i], kind->device) == 0 ||
                 (*id && strcasecmp(list->devices[i], id) == 0); /* whole: how it begins may name others as well */
    return wanted;
}

adept_status adept_control_in_range(const adept_control *control, double number, double low, double high,
                                    const char *unit, adept_error *err)
{
    if (number >= low && number <= high) return ADEPT_OK;
    return adept_error_set(err, ADEPT_E_USAGE, "%s: %s is outside the range of %s, %s to %s", control->kind->key,
                           adept_units_si(number, unit).s, control->name, adept_units_si(low, unit).s,
                           adept_units_si(high, unit).s);
}

const char *adept_control_help(void)
{
    return geteuid() != 0 ? "run adept as root, or"
                          : "root may not here, in a container perhaps, or firmware has locked it;";
}

/* ---------------------------------------------------------------- files of /sys ---------------------------------- */

/* One write() is one setting (Documentation/filesystems/sysfs.rst). O_TRUNC is for trees that stand in for /sys. */
static int write_text(const char *path, const char *text)
{
    int file = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC | O_NONBLOCK | O_NOCTTY), why = 0;
    char line[80];

    if (file < 0) return errno;
    int length = snprintf(line, sizeof line, "%s\n", text);
    if (length >= (int)sizeof line)
        why = EINVAL; /* no setting is so long */
    else if (write(file, line, (size_t)length) != length)
        why = errno;
    if (close(file) && why == 0) why = errno;
    return why;
}

adept_status adept_control_write(const adept_control *control, const char *path, const char *as_shell, const char *text,
                                 adept_error *err)
{
    int why = write_text(path, text);

    if (why == 0) return ADEPT_OK;
    if (why == EACCES || why == EPERM)
        return adept_error_set(err, ADEPT_E_IO, "%s: %s may not be set: %s; %s by hand: echo %s | sudo tee %s",
                               control->kind->key, control->name, strerror(why), adept_control_help(), text, as_shell);
    return adept_error_set(err, ADEPT_E_IO, "%s: %s cannot be set to %s: %s: %s", control->kind->key, control->name,
                           text, path, strerror(why));
}

extern const adept_control_kind adept_control_power_limit, adept_control_clock, adept_control_memory_clock,
    adept_control_governor, adept_control_cpu_power_limit, adept_control_cpu_clock_max, adept_control_cpu_clock_min;
#define MOST_RAW 64
static const adept_control_kind *const kinds[] = {
    &adept_control_power_limit,     &adept_control_clock,         &adept_control_memory_clock, &adept_control_governor,
    &adept_control_cpu_power_limit, &adept_control_cpu_clock_max, &adept_control_cpu_clock_min};

const adept_control_kind *adept_control_kind_of(const char *key)
{
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(kinds[i]->key, key) == 0) return kinds[i];
    return NULL;
}

/* ---------------------------------------------------------------- calls that may never return -------------------- */

/* What a kind is asked for, in a thread, with all that it looks at: a driver that does not answer keeps it for ever. */
typedef struct request {
    enum { FIND, EXPRESS, SET, CLOSE } what;
    const adept_control_kind *kind;
    adept_controls list;   /* of FIND and CLOSE */
    adept_control control; /* of the others */
    adept_setting value;
    char word[64], raw[MOST_RAW];
    adept_status status;
    adept_error err;
} request;

static void answer(void *data)
{
    request *q = data;

    switch (q->what) {
    case FIND:
        q->status = q->kind->find(&q->list, q->kind, &q->err);
        return;
    case EXPRESS:
        q->status = q->kind->express(q->raw, sizeof q->raw, &q->control, &q->value, &q->err);
        return;
    case SET:
        q->status = q->kind->set(&q->control, q->raw, &q->err);
        return;
    case CLOSE:
        for (size_t i = 0; i < q->list.n; i++)
            if (q->list.items[i].kind->close) q->list.items[i].kind->close(&q->list.items[i]);
        return;
    }
}

/* @param q  what is asked; filled with the answer. Where there is none it stays: the thread has a copy of its own
 * @return the answer's status; ADEPT_E_IO: there is none; ADEPT_E_NOMEM, ADEPT_E_INTERNAL */
static adept_status ask(request *q, double limit_s, adept_error *err)
{
    request *own = malloc(sizeof *own);
    const char *name = q->what == FIND ? q->kind->device : q->control.name, *key = q->kind ? q->kind->key : "";

    if (!own) return adept_no_memory(err, key);
    *own = *q;
    if (q->value.word) own->value.word = own->word;
    int failed = adept_deadline_call(answer, own, limit_s);
    if (failed == ETIMEDOUT)
        return adept_error_set(err, ADEPT_E_IO, "%s: %s does not answer: its driver takes more than %g s", key, name,
                               limit_s);
    *q = *own;
    free(own);
    if (failed) return adept_deadline_error(failed, key, err);
    if (q->status != ADEPT_OK && err) *err = q->err;
    return q->status;
}

static adept_status express(char raw[MOST_RAW], const adept_control *control, const adept_setting *value,
                            adept_error *err)
{
    request q = {.what = EXPRESS, .kind = control->kind, .control = *control, .value = *value};

    snprintf(q.word, sizeof q.word, "%s", value->word ? value->word : "");
    adept_status status = ask(&q, ADEPT_ANSWER_S, err);
    memcpy(raw, q.raw, MOST_RAW);
    return status;
}

adept_status adept_control_set(const adept_control *control, const char *raw, adept_error *err)
{
    request q = {.what = SET, .kind = control->kind, .control = *control};

    snprintf(q.raw, sizeof q.raw, "%s", raw);
    return ask(&q, ADEPT_ANSWER_S, err);
}

/* ---------------------------------------------------------------- devices ---------------------------------------- */

adept_status adept_controls_find(adept_controls *list, const adept_control_kind *kind, adept_error *err)
{
    size_t before = list->n;
    request q = {.what = FIND,
                 .kind = kind,
                 .list = {.sysroot = list->sysroot, .devices = list->devices, .n_devices = list->n_devices}};
    adept_status status = ask(&q, ADEPT_FIND_S, err);
    for (size_t i = 0; i < q.list.n; i++) {
        adept_control *items = adept_grow(list->items, &list->capacity, list->n + 1, sizeof *items);
        if (!items && status == ADEPT_OK) status = adept_no_memory(err, kind->key);
        if (items) {
            list->items = items;
            items[list->n++] = q.list.items[i];
        } else if (kind->close) {
            kind->close(&q.list.items[i]);
        }
    }
    free(q.list.items);
    if (status != ADEPT_OK || list->n > before) return status;
    return adept_error_set(err, ADEPT_E_USAGE, "%s: --devices leaves no %s", kind->key, kind->device);
}

void adept_controls_close(adept_controls *list)
{
    request q = {.what = CLOSE, .list = *list};

    /* A driver that does not answer to its end keeps the list. */
    if (list->n > 0 && !adept_sensors_are_stuck()) (void)ask(&q, ADEPT_ANSWER_S, NULL);
    if (!adept_sensors_are_stuck()) free(list->items);
    list->items = NULL;
    list->n = list->capacity = 0;
}

/* ---------------------------------------------------------------- values ----------------------------------------- */

adept_status adept_controls_check(const adept_controls *list, const adept_control_kind *kind,
                                  const adept_setting *value, adept_error *err)
{
    adept_status status = ADEPT_OK;
    char raw[MOST_RAW];

    for (size_t i = 0; i < list->n && status == ADEPT_OK; i++)
        if (list->items[i].kind == kind) status = express(raw, &list->items[i], value, err);
    return status;
}

adept_status adept_control_admit(const adept_control *control, const char *was, adept_error *err)
{
    adept_setting value = {.word = was};
    int64_t number = 0;
    char raw[MOST_RAW];

    if (!*was && control->kind->may_be_unset) return ADEPT_OK;
    if (control->kind->unit > 0 && !adept_integer_parse(&number, was, NULL, 1, INT64_MAX))
        return adept_error_set(err, ADEPT_E_USAGE, "%s: '%.40s' is nothing that %s can be set to", control->kind->key,
                               was, control->name);
    value.number = control->kind->unit * (double)number;
    return express(raw, control, &value, err);
}

adept_status adept_controls_set(adept_controls *list, const adept_control_kind *kind, const adept_setting *value,
                                adept_error *err)
{
    adept_status status = ADEPT_OK;

    for (size_t i = 0; i < list->n && status == ADEPT_OK; i++) {
        adept_control *c = &list->items[i];
        char raw[MOST_RAW];
        if (c->kind != kind || (!value && !c->is_set)) continue;
        if (value) status = express(raw, c, value, err);
        if (status == ADEPT_OK) status = adept_control_set(c, value ? raw : c->was, err);
        if (status == ADEPT_OK) c->is_set = value != NULL;
    }
    return status;
}
