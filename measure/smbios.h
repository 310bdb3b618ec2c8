/** @file smbios.h  The memory modules of a machine as its firmware's SMBIOS table lists them (DMTF DSP0134). The bytes
 * are hostile. Calls: adept_grow, adept_error. */
#ifndef ADEPT_SMBIOS_H
#define ADEPT_SMBIOS_H
#include "adept_error.h"
#include <stddef.h>

/* Memory types of DSP0134, table "Memory Device: Type". */
enum {
    ADEPT_DIMM_UNKNOWN = 0x02,
    ADEPT_DIMM_DDR3 = 0x18,
    ADEPT_DIMM_DDR4 = 0x1A,
    ADEPT_DIMM_LPDDR4 = 0x1E,
    ADEPT_DIMM_DDR5 = 0x22,
    ADEPT_DIMM_LPDDR5 = 0x23
};

typedef struct adept_dimm {
    double size_gib;
    unsigned char type;
} adept_dimm;

/** Zero-initialised: none. */
typedef struct adept_dimms {
    adept_dimm *list; /* malloc'ed; of known size, above 0 */
    size_t n, capacity;
    size_t n_empty;   /* slots with nothing in them */
    size_t n_unknown; /* modules whose size the firmware does not know */
} adept_dimms;

/** @return ADEPT_E_NOMEM */
adept_status adept_dimms_add(adept_dimms *dimms, adept_dimm dimm, adept_error *err);
void adept_dimms_free(adept_dimms *dimms);

/**
 * Read the modules of a table. Flash, ROM and non-volatile modules are no DRAM and none of them.
 * @param out   filled only on ADEPT_OK; n may be 0
 * @param entry bytes of /sys/firmware/dmi/tables/smbios_entry_point
 * @param table of /sys/firmware/dmi/tables/DMI
 * @return ADEPT_E_INVALID: torn, or not such a table; ADEPT_E_NOMEM
 */
adept_status adept_smbios_read(adept_dimms *out, const void *entry, size_t entry_bytes, const void *table,
                               size_t table_bytes, adept_error *err);

#endif
