/** @file report_workload.c  The head of the reports. */
#include "report.h"
#include "table.h"
#include "units.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static void print_params(FILE *out, const adept_profile *profile)
{
    fprintf(out, "%s parameters", adept_units_si((double)profile->params, "").s);
    if (profile->trainable_params != profile->params)
        fprintf(out, ", %s of them frozen",
                adept_units_si((double)(profile->params - profile->trainable_params), "").s);
}

static void print_inputs(FILE *out, const adept_profile *profile)
{
    fputs("Input    ", out);
    for (size_t i = 0; i < profile->n_inputs; i++)
        adept_print_format(out, "%s%s %s", i > 0 ? ", " : "", profile->inputs[i].name, profile->inputs[i].shape);
    fputc('\n', out);
}

void adept_report_workload(FILE *out, const adept_profile *profile)
{
    adept_print_format(out, "Model    %s: ", profile->model_path);
    print_params(out, profile);
    fprintf(out, "\nRun      %s, %s, batch %" PRId64, adept_mode_name(profile->mode),
            adept_precision_name(profile->precision), profile->batch_size);
    if (profile->seq_length > 0) fprintf(out, ", sequence length %" PRId64, profile->seq_length);
    if (profile->grad_accum > 1) fprintf(out, " x %" PRId64 " accumulation passes", profile->grad_accum);
    if (profile->mode == ADEPT_MODE_TRAIN) adept_print_format(out, ", %s", profile->optimizer);
    fprintf(out, ", attention %s\n", adept_attention_name(profile->attention));
    print_inputs(out, profile);
}
