/** @file adept_control.h  What can be set on this machine: power limits, clocks, governors; and how all is put back,
 * also by another run after this one was killed. Not thread-safe. Calls: adept_error. */
#ifndef ADEPT_CONTROL_H
#define ADEPT_CONTROL_H
#include "adept_error.h"
#include <stdbool.h>
#include <stddef.h>

typedef struct adept_control adept_control;
typedef struct adept_control_kind adept_control_kind;
typedef struct adept_controls adept_controls;

/** A value of --vary: the word of a governor, else the number. */
typedef struct adept_setting {
    double number;
    const char *word;
} adept_setting;

/** Something that can be set, on all devices that have it. */
struct adept_control_kind {
    const char *key;    /* of --vary, with its unit: "power_limit_w" */
    const char *device; /* what has it, and how its devices' names begin: "gpu" */
    /** Append each device that is wanted. @return ADEPT_E_IO: there is none, or it cannot be asked; ADEPT_E_NOMEM */
    adept_status (*find)(adept_controls *list, const adept_control_kind *kind, adept_error *err);
    /** A value as set() takes it. @return ADEPT_E_USAGE: the device cannot be set to it */
    adept_status (*express)(char *raw, size_t size, const adept_control *control, const adept_setting *value,
                            adept_error *err);
    /** @return ADEPT_E_IO, also without permission; the message then names the command that does it */
    adept_status (*set)(const adept_control *control, const char *raw, adept_error *err);
    void (*close)(adept_control *control); /* frees `state`; NULL: there is none */
    double unit;       /* of the whole number that set() takes: 1e-6 of microwatts; 0: it takes a word */
    bool may_be_unset; /* set() takes nothing as well, "", for what nobody can ask */
};

/** One setting of one device. */
struct adept_control {
    const adept_control_kind *kind;
    void *state;   /* the kind's own */
    char name[32]; /* "gpu-0" */
    char id[96];   /* the same after a restart, where a name may not be: a GPU's UUID */
    char was[64];  /* what it was set to when it was found, as set() takes it */
    bool is_set;   /* it may not be as it was */
};

/** Set the first three; the rest is zero. */
struct adept_controls {
    const char *sysroot;        /* stands in front of /sys; NULL: nothing */
    const char *const *devices; /* only those whose name, UUID or kind of device is among these words; NULL: all */
    size_t n_devices;
    adept_control *items;
    size_t n, capacity;
};

/** The kind of a key; NULL: there is none. */
const adept_control_kind *adept_control_kind_of(const char *key);

/** Look for the devices of a kind and append them. @return ADEPT_E_IO: there is none, or it does not answer;
 * ADEPT_E_USAGE: the words leave none; ADEPT_E_NOMEM */
adept_status adept_controls_find(adept_controls *list, const adept_control_kind *kind, adept_error *err);
/** Close and free all. */
void adept_controls_close(adept_controls *list);

/** May all devices of a kind be set to a value? @return ADEPT_E_USAGE */
adept_status adept_controls_check(const adept_controls *list, const adept_control_kind *kind,
                                  const adept_setting *value, adept_error *err);
/** May a device be set to what a file says that it was set to, which anybody may have written? It is held to what
 * --vary is.
 *  @return ADEPT_E_USAGE, ADEPT_E_IO */
adept_status adept_control_admit(const adept_control *control, const char *was, adept_error *err);
/** Set them. @param value  NULL: to what they were set to before */
adept_status adept_controls_set(adept_controls *list, const adept_control_kind *kind, const adept_setting *value,
                                adept_error *err);

/* ---- the file that says what to put back ---- */

/** Held by one program at a time; one that is killed lets go of it. */
typedef struct adept_restore {
    char *path;
    int lock; /* a file beside it; -1: not held */
} adept_restore;

/**
 * @param restore  adept_restore_close() it, also after a failure
 * @param path     NULL: adept/restore-HOST.json in $XDG_STATE_HOME or ~/.local/state
 * @return ADEPT_E_IO: nothing can be written there, or another program holds it; ADEPT_E_NOMEM
 */
adept_status adept_restore_open(adept_restore *restore, const char *path, adept_error *err);
/**
 * Put back what the file lists, which a killed program left, and remove it.
 * @param n  how many settings it lists; 0: there is no such file
 * @return ADEPT_E_INVALID: it is something else, somebody else's, of another --sysroot, or lists what --vary would
 * refuse: nothing was put back; ADEPT_E_IO: not all could be put back, and it stays
 */
adept_status adept_restore_leftovers(const adept_restore *restore, const char *sysroot, size_t *n, adept_error *err);
/** List these, and let it reach the disk. To be called before anything is set. @return ADEPT_E_IO, ADEPT_E_NOMEM */
adept_status adept_restore_write(const adept_restore *restore, const adept_controls *list, adept_error *err);
/** Put back what was set of the list, and remove the file where that worked. @return the first failure */
adept_status adept_restore_all(const adept_restore *restore, const adept_controls *list, adept_error *err);
void adept_restore_close(adept_restore *restore);

#endif
