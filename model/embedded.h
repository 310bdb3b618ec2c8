/** @file embedded.h  The files of hwprofiles/ as the build embedded them. Private to model/. */
#ifndef ADEPT_EMBEDDED_H
#define ADEPT_EMBEDDED_H
#include <stddef.h>

typedef struct adept_embedded {
    const char *name; /* file name without .json */
    const char *text; /* zero-terminated */
    size_t size;
} adept_embedded;

extern const adept_embedded adept_embedded_hwprofiles[]; /* sorted by name, ends with name == NULL */
extern const adept_embedded adept_embedded_shared;       /* parameters for GPUs without a fit; text NULL: none */

#endif
