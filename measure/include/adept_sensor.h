/** @file adept_sensor.h  What can be read for energy or power: a sensor is one number of one device. Each kind of
 * sensor is one file sensor_NAME.c that defines adept_sensor_kind_NAME. Calls: adept_error. */
#ifndef ADEPT_SENSOR_H
#define ADEPT_SENSOR_H
#include "adept_error.h"
#include <stdbool.h>
#include <stddef.h>

/* X(name, word) of what a sensor sees. Numbers are not published, words are. */
#define ADEPT_COMPONENT_LIST(X)                                                               \
    X(CPU, "cpu")         /* a package: cores, caches, memory controller */                   \
    X(CORES, "cores")     /* of a package, and so part of it */                               \
    X(UNCORE, "uncore")   /* likewise: the graphics unit of a client's package */             \
    X(DRAM, "dram")       /* the memory of a package, or of the machine */                    \
    X(GPU, "gpu")         /* a board */                                                       \
    X(PSYS, "psys")       /* the platform as a package sees it: itself, memory, chipset */    \
    X(NODE, "node")       /* the whole machine, from a meter or its controller */             \
    X(BATTERY, "battery") /* what a laptop draws while it is unplugged */

typedef enum adept_component {
#define X(name, word) ADEPT_COMPONENT_##name,
    ADEPT_COMPONENT_LIST(X)
#undef X
        ADEPT_COMPONENTS
} adept_component;

/** "cpu"; NULL behind the last. */
const char *adept_component_name(size_t component);
/** The component of exactly that name; ADEPT_COMPONENTS: there is none. */
adept_component adept_component_called(const char *word);

/** What else a sensor reads, for the record: "sm_clock_hz". Its mean, least and most are reported. */
typedef struct adept_gauge {
    const char *name; /* with its unit; constant. NULL: no more */
} adept_gauge;
#define ADEPT_MOST_GAUGES 8

/** One reading. NAN: this time the device did not say. A power that is 0, or more than such a device draws, is taken
 * for NAN. */
typedef struct adept_reading {
    /* when, by adept_clock_s(). The sampler sets it around read(); a sensor that knows better overwrites it */
    double time_s;
    double energy_j; /* a counter since some moment; only differences mean anything */
    double power_w;  /* now */
    double gauges[ADEPT_MOST_GAUGES];
    const char *why; /* constant: what the device said instead of a power; NULL: nothing */
} adept_reading;

typedef struct adept_sensor adept_sensor;
typedef struct adept_sensor_search adept_sensor_search;

/** A kind of sensors: a row of the table that CMake makes of the files sensor_*.c. */
typedef struct adept_sensor_kind {
    const char *name; /* "powercap" */
    const char *what; /* one line: what it reads and where it exists */
    /**
     * Look for devices: adept_sensor_add() for each that answers, adept_sensor_missing() for each that is there and
     * does not, or that people expect and is absent. No failure but of memory and files, which the search keeps.
     */
    void (*find)(adept_sensor_search *search);
    /**
     * Read once. Called by one thread at a time for one sensor, by several for several. `reading` has NAN everywhere
     * but in time_s.
     * @return ADEPT_OK, also where the device did not say this time; ADEPT_E_IO: the device is gone, and nothing is
     * read again
     */
    adept_status (*read)(adept_sensor *sensor, adept_reading *reading, adept_error *err);
    void (*close)(adept_sensor *sensor); /* frees `state`, also of a sensor that was never read; NULL: there is none */
    double patience_s; /* how long a reading may take, where the kind itself sees to it that it ends; 0: 3 s */
    /* it is asked after those of lower rank, and adds nothing where they found what it would stand in for */
    unsigned rank;
} adept_sensor_kind;

/** What find() fills; all but name, component and kind may stay zero. */
struct adept_sensor {
    const adept_sensor_kind *kind;
    void *state;      /* the kind's own */
    char name[64];    /* "cpu-0": unique; what --devices selects, and a column's title */
    /* what it is, and where on the PCI bus: "NVIDIA A100-SXM4-40GB 00000000:07:00.0, driver 550.54" */
    char device[128];
    /* what is read: "/sys/class/powercap/intel-rapl:0/energy_uj", "nvmlDeviceGetTotalEnergyConsumption" */
    char source[192];
    adept_component component;
    /* whose counter it is, "-0": zones of one package may show one counter; "": of none, or not known */
    char package[16];
    bool is_estimated; /* computed by a model, not measured */
    bool is_slow;      /* one read may take more than a millisecond: it gets a thread of its own */
    /* What is in its number besides itself: a bit 1 << c for each component c. A cpu has its cores and uncore, a psys
     * these and dram, a node all; adept_sensors_find() fills in what a kind leaves 0. ADEPT_SOLITARY: nothing */
    unsigned contains;
    unsigned width;  /* of two that have each other's component in their numbers, the wider one is around the other */
    char inside[64]; /* the sensor around it, of which its number is a part; "": none, or not known */
    /* It may be that it has no number of its own (a second die), or none now (it sleeps, it charges): without any
     * reading it becomes a note, not a number that is not known */
    bool is_doubtful;
    double range_j;    /* the counter starts again at 0 when it reaches this; 0: never */
    double most_power_w; /* no such device draws more: a greater power is none, and a counter may have started again
                            twice. 0: the kind knows nothing better than adept_sensor_most_w() */
    double resolution_j; /* the counter's smallest step; 0: not known */
    double refresh_s;    /* how often the device makes a new number; 0: not known, or at once */
    double mean_s;       /* its power is the mean of so long before; 0: of now, or not known */
    double accuracy;     /* of its number, a share: 0.05; 0: nobody states it */
    adept_gauge gauges[ADEPT_MOST_GAUGES];
    /* Of a GPU: its number among those that its driver counts, of so many, as CUDA_VISIBLE_DEVICES names it; `of` 0: it
     * has none. Its other names are words "GPU-..." and "MIG-..." with blanks between them */
    const char *driver; /* "nvml", "rocm"; constant, "": none */
    unsigned index, of;
    bool is_named;   /* --devices names it, and not its kind or component alone */
    bool is_divided; /* its driver counts partitions or dies of it, which have no power of their own */
    char ids[640];
};
/** Is a word "GPU-..." or "MIG-..." one of its names, or how one begins? "MIG-GPU-.../1/0" is an instance of a GPU. */
bool adept_sensor_has_id(const adept_sensor *sensor, const char *word);
/** A GPU's number, and a name of it. @param driver  constant */
void adept_sensor_number(adept_sensor *sensor, const char *driver, unsigned index, unsigned of);
void adept_sensor_name(adept_sensor *sensor, const char *id);

/** A meter at a URL: node power, or whatever `component` says. */
typedef struct adept_meter {
    const char *url;     /* http, https, file */
    const char *pointer; /* RFC 6901, "/sensor_descr/0/power": where the number is */
    const char *unit;    /* W, kW, mW, J, kJ, Wh, kWh: of power or of an energy counter */
    const char *name;    /* of the sensor */
    adept_component component;
} adept_meter;

/** How the DRAM model reads its tables (docs/MEASURE.md). Zero: as the thesis prints it, with our choices where it is
 * silent. */
typedef struct adept_dram_options {
    /* tiers of EA2P's source instead of the thesis's, and its 10 W for a module of any other size */
    bool ea2p_tiers;
    /* memory of the process `pid` and those below it instead of the machine's; no `pid`: of this process */
    bool process_usage;
    bool all_slots;       /* empty slots draw like the first that is not, as EA2P's source has it */
    double ddr5_factor;   /* 0: 1 */
    const char *dimms;    /* "8x64GB DDR4, 8x32GB DDR4": instead of the machine's SMBIOS table; NULL: read that */
} adept_dram_options;

/** Are they such options? @return ADEPT_E_INVALID, saying what is not; ADEPT_E_NOMEM */
adept_status adept_dram_options_check(const adept_dram_options *options, adept_error *err);

/** Where and how to look. All texts are borrowed and outlive the sensors. */
typedef struct adept_sensor_settings {
    const char *sysroot; /* stands in front of every path below /sys, /proc and /dev; "" or NULL: nothing */
    const adept_meter *meters;
    size_t n_meters;
    adept_dram_options dram;
    int pid; /* of the command; 0: not known */
    bool (*is_stopped)(void); /* true: looking for sensors ends at once; NULL: nothing ends it */
} adept_sensor_settings;

/** Widths of meters of the machine, from those in it to those around it: of a part of it (below), of ACPI, of its
 * service processor by IPMI, of the same by Redfish, of a plug. */
enum { ADEPT_WIDTH_ACPI = 8, ADEPT_WIDTH_IPMI, ADEPT_WIDTH_REDFISH, ADEPT_WIDTH_METER };

#define ADEPT_SOLITARY (1u << ADEPT_COMPONENTS)
/** A board's stated power limit holds on average: many times it no board draws, not even for a moment. */
#define ADEPT_PEAK 3.0
/** No such device draws more: by what its kind knows of it, else by what the largest machines of 2026 draw. */
double adept_sensor_most_w(const adept_sensor *sensor);
/** Is it how firmware and drivers say that there is no number: all bits set of 16, 32 or 64, with a sign or without, in
 * units, or in thousands or millions of those of /sys? */
bool adept_says_nothing(double number);
#define ADEPT_NO_NUMBER "it tells a number with all bits set, which is none"

/** Something that was looked for and is no sensor. */
typedef struct adept_sensor_note {
    char name[64];  /* "powercap", "gpu-1" */
    char why[256];  /* "permission denied: /sys/class/powercap/intel-rapl:0/energy_uj" */
    char help[256]; /* what would help: "run as root, or: chmod a+r ..."; "": nothing known */
} adept_sensor_note;

struct adept_sensor_search {
    adept_sensor_settings settings;
    adept_sensor **sensors; /* each malloc'ed, so that its address stays */
    size_t n_sensors, sensor_capacity;
    adept_sensor_note *notes;
    size_t n_notes, note_capacity;
    bool is_stuck; /* a kind's find() does not return: what it may still look at is never freed */
    int failed; /* errno, where the search itself could not go on: no memory, no more files; 0: it did */
};

/** One more sensor, all zero but kind and name; NULL when memory is out, and the search has `failed`. */
adept_sensor *adept_sensor_add(adept_sensor_search *search, const adept_sensor_kind *kind, const char *name_format, ...)
    ADEPT_PRINTF(3, 4);
/** Something could not be looked at, by errno: where memory or files are short the search fails, for what is there
 * would be left out as if it were not. */
void adept_search_lacks(adept_sensor_search *search, int why);
/** One more note. */
void adept_sensor_missing(adept_sensor_search *search, const char *name, const char *help, const char *why_format, ...)
    ADEPT_PRINTF(4, 5);

/**
 * A request to a device failed. Once is a busy device, five times in a row are one that is gone.
 * @param failures  in a row until now; the caller sets it to 0 when one succeeds
 * @return ADEPT_OK: it is to be asked again; ADEPT_E_IO
 */
adept_status adept_sensor_failed(unsigned *failures, const char *why, adept_error *err);

/** A path below the search's root, malloc'ed; NULL when memory is out. "/sys/..." */
char *adept_sensor_path(const adept_sensor_settings *settings, const char *format, ...) ADEPT_PRINTF(2, 3);
/** Read a small text file (of /sys, /proc) at once, without its last newline. @return false, and errno, if it cannot */
bool adept_sensor_text(char *text, size_t size, const char *path);

/** The kinds, in the order of their names; ends with NULL. Network sensors are those of adept_sensor_kinds_network().
 */
const adept_sensor_kind *const *adept_sensor_kinds(void);

/**
 * Look for everything that some kinds know.
 * @param kinds    ends with NULL
 * @param devices  only sensors whose name, kind or component is among these words, or whose name begins with one and
 *                 '-', or whose device has one with a ':', an address on the PCI bus, or of whose names one begins with
 * such a word "GPU-..." or "MIG-..."; NULL: all. A kind or component of which there is none is a note
 * @return ADEPT_E_USAGE: a word that names nothing known, or one of several GPUs; ADEPT_E_NOMEM; ADEPT_E_IO: no more
 * files can be opened; ADEPT_E_INTERNAL: no thread can be started
 */
adept_status adept_sensors_find(adept_sensor_search *search, const adept_sensor_kind *const *kinds,
                                const char *const *devices, size_t n_devices, adept_error *err);
/** Close the sensors and free what the search holds. */
void adept_sensors_close(adept_sensor_search *search);
/** Does a call of some driver not return, in a thread that was left alone with it? Then the program is to end by
 * _exit(): what libraries do at its end may wait for that call. */
bool adept_sensors_are_stuck(void);

#endif
