/** @file adept_collectives.h  Bandwidth and latency of a GPU's links from measured all-reduces. Calls: measurements,
 * model. */
#ifndef ADEPT_COLLECTIVES_H
#define ADEPT_COLLECTIVES_H
#include "adept_collective_rows.h"
#include "adept_hwprofile.h"
#include "adept_json_writer.h"

/** Smaller ones measure the launch, and no step sends them. */
#define ADEPT_COLLECTIVE_MIN_BYTES 65536.0
#define ADEPT_COLLECTIVE_MAX_GROUPS 64

/** Error of rows that were fitted, or that a fit to the others predicts. Percent. */
typedef struct adept_collective_error {
    size_t n;
    double mape, bias;
} adept_collective_error;

typedef struct adept_collective_fit {
    double bytes_per_s, hop_s; /* the sheet's allreduce_link_share times its link, and allreduce_hop_s */
    bool bandwidth_is_free;    /* else it stands at a bound: the rows do not tell it */
    size_t n_rows, n_small;    /* fitted; left out as too small */
    adept_collective_error in_sample;
    size_t n_groups;
    struct {
        const char *by; /* "gpus", "size", "source" */
        char value[64]; /* "" for all groups of it together */
        adept_collective_error held_out;
    } groups[ADEPT_COLLECTIVE_MAX_GROUPS];
} adept_collective_fit;

/** @return ADEPT_E_INVALID if too few rows are large enough, or they have too many groups */
adept_status adept_collectives_fit(adept_collective_fit *out, const adept_collective_rows *rows,
                                   const adept_hwprofile *hw, adept_error *err);
/** Make it numbers of the GPU's sheet, with `file` and the error as their source. */
adept_status adept_collectives_apply(adept_hwprofile *hw, const adept_collective_fit *fit, const char *file,
                                     adept_error *err);
/** The GPU's file with these numbers; its fit is as it was. @param text  malloc'd */
adept_status adept_collective_fit_to_hwprofile(char **text, const adept_hwprofile *hw, adept_error *err);
/** @return NULL: no memory */
char *adept_collective_fit_to_json(const adept_hwprofile *hw, const adept_collective_fit *fit);

#endif
