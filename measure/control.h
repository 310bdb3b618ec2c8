/** @file control.h  What the files of controls share. Private to measure/. Calls: adept_control. */
#ifndef ADEPT_CONTROL_PRIVATE_H
#define ADEPT_CONTROL_PRIVATE_H
#include "adept_control.h"

/** Is this device to be set? @param id  that no other device has, a GPU's UUID; "": none */
bool adept_controls_want(const adept_controls *list, const adept_control_kind *kind, const char *name,
                         const char *id);
/** One more, all zero but kind and name; NULL when memory is out. */
adept_control *adept_controls_add(adept_controls *list, const adept_control_kind *kind, const char *name_format, ...)
    ADEPT_PRINTF(3, 4);
/** Set a device. No driver is waited for longer than some seconds. @return as the kind's set(); ADEPT_E_IO also where
 * it does not answer */
adept_status adept_control_set(const adept_control *control, const char *raw, adept_error *err);
/** Is a number from `low` to `high`? The message says what they are, in `unit`. @return ADEPT_E_USAGE */
adept_status adept_control_in_range(const adept_control *control, double number, double low, double high,
                                    const char *unit, adept_error *err);
/** What to do without permission, in front of the command that does it. */
const char *adept_control_help(void);
/** Write a text to a file of /sys and look whether it took it.
 *  @param as_shell  what stands for the file in the command that would do it: a pattern of several files */
adept_status adept_control_write(const adept_control *control, const char *path, const char *as_shell, const char *text,
                                 adept_error *err);

#endif
