/** @file peaks.h  Which peak of the specification sheet an arithmetic runs at. Private to model/. Calls: nothing. */
#ifndef ADEPT_PEAKS_H
#define ADEPT_PEAKS_H
#include "adept_model.h"
#include "adept_profile.h"

/**
 * Dense peak in FLOP/s of one unit on one element type, on this GPU.
 * @return ADEPT_E_USAGE, naming the GPU and the type, if it has no unit for it.
 */
adept_status adept_peak_flops_per_s(double *out, const adept_hwprofile *hw, adept_precision precision, adept_unit unit,
                                    adept_dtype dtype, adept_error *err);

/** Can the GPU run this precision at all? TF32 runs everywhere: without such units PyTorch's flag has no effect. */
adept_status adept_peak_check_precision(const adept_hwprofile *hw, adept_precision precision, adept_error *err);

/** "FP8" or "FP16", whose peak stands in for that of 8-bit integers; NULL: the sheet has theirs. */
const char *adept_peak_instead_of_int8(const adept_specs *specs);

/** TF32 was asked for and the GPU has no TF32 units. */
bool adept_peak_tf32_ignored(const adept_hwprofile *hw, adept_precision precision);

#endif
