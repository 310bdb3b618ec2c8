/** @file handles.h  What the public handles hold, and the checks that their functions share. Private to library/.
 * Calls: model. */
#ifndef ADEPT_LIBRARY_HANDLES_H
#define ADEPT_LIBRARY_HANDLES_H
#include <adept/adept.h>
#include "adept_batches.h"
#include "adept_model.h"

struct adept_workload {
    adept_profile *profile;       /* owned */
    const adept_batches *batches; /* other batch sizes; NULL: none */
    adept_batches *owned;         /* the same, or NULL: those of the workload it was made from */
};

struct adept_gpu {
    adept_hwprofile *hw; /* owned */
};

/** An argument that must not be NULL is. */
adept_status adept_library_missing(const char *function, const char *argument, adept_error *err);

#endif
