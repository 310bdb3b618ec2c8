/** @file control.c  What the kinds of settings share: devices that are wanted, ranges, files of /sys. */
#include "control.h"
#include "adept_grow.h"
#include "units.h"
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

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

bool adept_controls_want(const adept_controls *list, const adept_control_kind *kind, const char *name,
                         const char *id)
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
    else if (write(file, line, (size_t)length) != length) why = errno;
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
