/** @file controls.c  The kinds of settings, and setting all devices of one. */
#include "adept_control.h"
#include "adept_number.h"
#include <stdlib.h>
#include <string.h>

extern const adept_control_kind adept_control_power_limit, adept_control_clock, adept_control_memory_clock,
    adept_control_governor, adept_control_cpu_power_limit;
static const adept_control_kind *const kinds[] = {&adept_control_power_limit, &adept_control_clock,
                                                  &adept_control_memory_clock, &adept_control_governor,
                                                  &adept_control_cpu_power_limit};

const adept_control_kind *adept_control_kind_of(const char *key)
{
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(kinds[i]->key, key) == 0) return kinds[i];
    return NULL;
}

/* ---------------------------------------------------------------- devices ---------------------------------------- */

adept_status adept_controls_find(adept_controls *list, const adept_control_kind *kind, adept_error *err)
{
    size_t before = list->n;
    adept_status status = kind->find(list, kind, err);

    if (status != ADEPT_OK || list->n > before) return status;
    return adept_error_set(err, ADEPT_E_USAGE, "%s: --devices leaves no %s", kind->key, kind->device);
}

void adept_controls_close(adept_controls *list)
{
    for (size_t i = 0; i < list->n; i++)
        if (list->items[i].kind->close) list->items[i].kind->close(&list->items[i]);
    free(list->items);
    list->items = NULL;
    list->n = list->capacity = 0;
}

/* ---------------------------------------------------------------- values ----------------------------------------- */

#define MOST_RAW 64

adept_status adept_controls_check(const adept_controls *list, const adept_control_kind *kind,
                                  const adept_setting *value, adept_error *err)
{
    adept_status status = ADEPT_OK;
    char raw[MOST_RAW];

    for (size_t i = 0; i < list->n && status == ADEPT_OK; i++)
        if (list->items[i].kind == kind) status = kind->express(raw, sizeof raw, &list->items[i], value, err);
    return status;
}

adept_status adept_control_admit(const adept_control *control, const char *was, adept_error *err)
{
    adept_setting value = {.word = was};
    int64_t number = 0;
    char raw[MOST_RAW];

    if (!*was && control->kind->may_be_unset) return ADEPT_OK;
    if (control->kind->unit > 0 && !adept_integer_parse(&number, was, NULL, 1, INT64_MAX))
        return adept_error_set(err, ADEPT_E_USAGE, "%s: '%.40s' is nothing that %s can be set to", control->kind->key, was,
                               control->name);
    value.number = control->kind->unit * (double)number;
    return control->kind->express(raw, sizeof raw, control, &value, err);
}

adept_status adept_controls_set(adept_controls *list, const adept_control_kind *kind, const adept_setting *value,
                                adept_error *err)
{
    adept_status status = ADEPT_OK;

    for (size_t i = 0; i < list->n && status == ADEPT_OK; i++) {
        adept_control *c = &list->items[i];
        char raw[MOST_RAW];
        if (c->kind != kind || (!value && !c->is_set)) continue;
        if (value) status = kind->express(raw, sizeof raw, c, value, err);
        if (status == ADEPT_OK) status = kind->set(c, value ? raw : c->was, err);
        if (status == ADEPT_OK) c->is_set = value != NULL;
    }
    return status;
}
