/** @file split.h  Energy of one interval, to who caused it. Calls: rows. */
#ifndef ADEPT_SPLIT_H
#define ADEPT_SPLIT_H
#include "rows.h"

typedef struct adept_split {
    double *activity_j;        /* of each activity: by what was learnt, and its share of the static energy */
    double *own_static_s;      /* of each: how many seconds of the static power are its */
    double *gpu_use_j;         /* of each use of a GPU */
    double static_j, static_s; /* nobody's */
    double idle_gpu_j;         /* of GPUs that nobody holds */
    double gpu_j;              /* of all GPUs whose energy goes by use */
    double predicted_j;        /* what the model says, before it is scaled to what was measured; without gpu_j */
    double measured_j;         /* of the same; NAN: not known */
    double cpu_s;              /* of all activities */
    size_t n_unknown;          /* numbers that the model needs and nobody counted */
} adept_split;

/** Room for the intervals of recordings. @return ADEPT_E_NOMEM; adept_split_free() in any case */
adept_status adept_split_make(adept_split *s, const adept_attribution_source *sources, size_t n_sources,
                              adept_error *err);
void adept_split_free(adept_split *s);
void adept_split_interval(adept_split *s, const adept_attribution_model *model, const adept_attribution_view *view,
                          const adept_activity_interval *interval, const adept_metering *meters);

#endif
