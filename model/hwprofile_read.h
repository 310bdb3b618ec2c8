/** @file hwprofile_read.h  What reading a fit gives to reading the whole file, and the files of hwprofiles/ as the
 * build embedded them. Private to model/. Calls: adept_json, adept_arena. */
#ifndef ADEPT_HWPROFILE_READ_H
#define ADEPT_HWPROFILE_READ_H
#include "adept_hwprofile.h"
#include "adept_json.h"

/** Read the "fit" object of a file (missing or null: not calibrated) into hw. */
void adept_hwprofile_read_fit(adept_json_reader *r, adept_hwprofile *hw, const cJSON *root);

/** Whether a "fit" object is a set of parameters shared by GPUs. */
bool adept_hwprofile_is_transferred(adept_json_reader *r, const cJSON *fit);

typedef struct adept_embedded {
    const char *name;    /* file name without .json */
    const char *aliases; /* each ends with a zero; after the last an empty one: found without reading the text */
    const char *text;    /* zero-terminated */
    size_t size;
} adept_embedded;

extern const adept_embedded adept_embedded_hwprofiles[]; /* sorted by name, ends with name == NULL */
extern const adept_embedded adept_embedded_shared;       /* parameters for GPUs without a fit; text NULL: none */

#endif
