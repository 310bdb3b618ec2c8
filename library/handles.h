/** @file handles.h  What the public handles hold, and the checks that their functions share. Private to library/.
 * Calls: model. */
#ifndef ADEPT_LIBRARY_HANDLES_H
#define ADEPT_LIBRARY_HANDLES_H
#include <adept/adept.h>
#include "adept_model.h"
#include <fenv.h>

struct adept_workload {
    adept_profile *profile;       /* owned */
    adept_workload_config config; /* it was walked with; its texts are the profile's */
    const adept_graph *graph;     /* only read, so that threads may walk it at the same time */
    adept_graph *owned;           /* the same, or NULL: that of the workload it was made from */
};

struct adept_gpu {
    adept_hwprofile *hw; /* owned */
};

static inline void adept_library_leave(const fenv_t *callers)
{
    fesetenv(callers);
}

/** The first line of public functions that calculate: what is unknown is NAN in here, and comparing it raises
 * FE_INVALID. Until they return, nothing traps; then the caller's environment is as it was, with its flags. */
#define ADEPT_LIBRARY_ENTER                                                                                            \
    fenv_t callers __attribute__((cleanup(adept_library_leave)));                                                      \
    feholdexcept(&callers)

/** Put "KEY=VALUE" into a record by the rows of its words. @param field  which it was */
adept_status adept_library_set_word(const adept_field **field, void *record, const adept_field *(*field_at)(size_t),
                                    const char *word, adept_error *err);

/** An argument that must not be NULL is. */
adept_status adept_library_missing(const char *function, const char *argument, adept_error *err);

#endif
