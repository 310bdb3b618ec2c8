/** @file sysfs.h  What sensors of /sys share: folders listed, files that are read again and again. Calls: sensor. */
#ifndef ADEPT_SYSFS_H
#define ADEPT_SYSFS_H
#include "adept_sensor.h"

/* Nothing is counted twice: of a CPU, perf gives way to powercap, and hwmon to both; of an AMD GPU, hwmon to rocm. */
extern const adept_sensor_kind adept_sensor_kind_powercap, adept_sensor_kind_perf, adept_sensor_kind_rocm,
    adept_sensor_kind_hwmon, adept_sensor_kind_battery;
/** The sensor of a board at a place on the PCI bus, "0000:05:00": domain, bus and device. A board counts once, through
 * whatever functions and partitions it is seen. NULL: none was found there, or the place is not known ("") */
const adept_sensor *adept_sensor_at(const adept_sensor_search *search, const char *place);
/** Are the processors AMD's, or Hygon's? */
bool adept_sysfs_is_amd(adept_sensor_search *search);
/** What a chip of hwmon states as its limit (microwatts): the greatest of its files of limits, in watts; 0: it states
 * none. */
double adept_sysfs_limit_w(adept_sensor_search *search, const char *folder);
/** Sensors of that kind and component that the search has found. */
size_t adept_sensors_found(const adept_sensor_search *search, const adept_sensor_kind *kind, adept_component component);

/**
 * Call `each` for the entries of a folder whose names begin with `prefix`, hwmon2 before hwmon10.
 * @param folder  below the search's root, as for adept_sensor_path(); `entry` is likewise
 * @return how many there are; 0, and errno, where the folder cannot be listed
 */
size_t adept_sysfs_each(adept_sensor_search *search, const char *folder, const char *prefix,
                        void (*each)(adept_sensor_search *search, const char *entry, void *context), void *context);
/** The first line of FOLDER/FILE. @return false, and errno, and an empty text, if it cannot be read */
bool adept_sysfs_text(char *text, size_t size, adept_sensor_search *search, const char *folder, const char *file);
/** Its number; NAN: it cannot be read, or holds none. */
double adept_sysfs_number(adept_sensor_search *search, const char *folder, const char *file);

/** The files of one sensor, all of one device. Zero-initialised: none. */
typedef struct adept_sysfs {
    size_t n;
    struct {
        char *path;
        int file;    /* stays open: a reading is one pread() */
        double unit; /* of the number: 1e-6 of microwatts */
        size_t into; /* offsetof(adept_reading, power_w) */
    } files[6];
} adept_sysfs;

/** One more file. @return false, and errno: it cannot be opened, or holds no number (ENODATA) */
bool adept_sysfs_watch(adept_sensor_search *search, adept_sysfs *files, const char *folder, const char *file,
                       double unit, size_t into);
/** A note that FOLDER/FILE cannot be read, by errno. */
void adept_sysfs_missing(adept_sensor_search *search, const char *name, const char *folder, const char *file);
/**
 * Read the files into what each is for. What says nothing this time (an error, no number) stays as it is.
 * @return ADEPT_E_IO: the device is gone
 */
adept_status adept_sysfs_get(const adept_sysfs *files, adept_reading *reading, adept_error *err);
void adept_sysfs_end(adept_sysfs *files);

/** A sensor whose state is `files`, which it takes; its source is the first of them. NULL: memory is out. */
adept_sensor *adept_sysfs_add(adept_sensor_search *search, const adept_sensor_kind *kind, adept_sysfs *files,
                              adept_component component, const char *name);
/* read() and close() of such a sensor. */
adept_status adept_sysfs_read(adept_sensor *sensor, adept_reading *reading, adept_error *err);
void adept_sysfs_close(adept_sensor *sensor);

#endif
