/** @file report_profile.c  What one pass of a model computes and moves. */
#include "report.h"
#include "table.h"
#include "units.h"
#include <inttypes.h>
#include <stdio.h>

void adept_report_workload(FILE *out, const adept_profile *profile)
{
    adept_print_format(out, "Model    %s: ", profile->model_path);
    fprintf(out, "%s parameters", adept_units_si((double)profile->params, "").s);
    if (profile->trainable_params != profile->params)
        fprintf(out, ", %s of them frozen",
                adept_units_si((double)(profile->params - profile->trainable_params), "").s);
    fprintf(out, "\nRun      %s, %s, batch %" PRId64, adept_mode_name(profile->mode),
            adept_precision_name(profile->precision), profile->batch_size);
    if (profile->seq_length > 0) fprintf(out, ", sequence length %" PRId64, profile->seq_length);
    if (profile->grad_accum > 1) fprintf(out, " x %" PRId64 " accumulation passes", profile->grad_accum);
    if (profile->mode == ADEPT_MODE_TRAIN)
        adept_print_format(out, ", %s (%s)", profile->optimizer, adept_optimizer_impl_name(profile->optimizer_impl));
    fprintf(out, ", attention %s\n", adept_attention_name(profile->attention));
    fputs("Input    ", out);
    for (size_t i = 0; i < profile->n_inputs; i++)
        adept_print_format(out, "%s%s %s", i > 0 ? ", " : "", profile->inputs[i].name, profile->inputs[i].shape);
    fputc('\n', out);
}

static void add_total(adept_table *table, const char *name, double forward, double backward, const char *unit)
{
    if (forward + backward == 0) return;
    adept_table_row(table, ADEPT_CELLS(name, adept_units_si(forward, unit).s, adept_units_si(backward, unit).s,
                                       adept_units_si(forward + backward, unit).s));
}

static adept_status print_totals(adept_cli *cli, FILE *out, const adept_profile *profile)
{
    adept_table table = {.columns = profile->n_legs > 0 ? "all passes on one GPU|>forward|>backward|>both"
                                                        : "one pass on one GPU|>forward|>backward|>both"};
    const adept_profile_totals *t = &profile->totals;

    add_total(&table, "matrix products", t->gemm_flops[0], t->gemm_flops[1], "FLOP");
    add_total(&table, "convolutions", t->conv_flops[0], t->conv_flops[1], "FLOP");
    add_total(&table, "other arithmetic", t->alu_flops[0], t->alu_flops[1], "FLOP");
    add_total(&table, "all arithmetic", adept_pass_flops(t, ADEPT_FORWARD), adept_pass_flops(t, ADEPT_BACKWARD),
              "FLOP");
    add_total(&table, "read", t->bytes_read[0], t->bytes_read[1], "B");
    add_total(&table, "written", t->bytes_written[0], t->bytes_written[1], "B");
    add_total(&table, "kernels", t->kernels[0], t->kernels[1], "");
    fputc('\n', out);
    adept_status status = adept_table_end(cli, &table, out);
    fprintf(out, "forward multiply-adds (MACs) of matrix products and convolutions: %s\n",
            adept_units_si(t->macs_forward, "").s);
    return status;
}

/* A model without matrix products has no mean dimensions: the line is left out rather than printed as zeros. */
static void print_features(FILE *out, const adept_profile *profile)
{
    const adept_profile_features *f = &profile->features;

    fputs("\nStructure (FLOP-weighted means)\n", out);
    if (f->gemm_m > 0)
        fprintf(out, "  matrix products  M %s, N %s, K %s, batch %s\n", adept_units_digits(f->gemm_m).s,
                adept_units_digits(f->gemm_n).s, adept_units_digits(f->gemm_k).s, adept_units_digits(f->gemm_batch).s);
    if (f->conv_pixels > 0)
        fprintf(out, "  convolutions     channel blocks (Cin/8*Cout/8) %s, output pixels %s\n",
                adept_units_digits(f->conv_channel_blocks).s, adept_units_digits(f->conv_pixels).s);
    fprintf(out, "  other            %s elements in generic kernels, working set %s\n",
            adept_units_si(f->elements, "").s, adept_units_bytes(f->working_set_bytes).s);
}

adept_status adept_report_profile(adept_cli *cli, FILE *out, const adept_profile *profile, const adept_groups *groups,
                                  const adept_grouping *grouping, bool roofline)
{
    bool headed = false;

    adept_report_workload(out, profile);
    adept_status status = print_totals(cli, out, profile);
    fprintf(out, "\nMemory: weights and buffers %s, activations %s, largest temporary %s",
            adept_units_bytes(profile->weights_bytes).s, adept_units_bytes(profile->activations_bytes).s,
            adept_units_bytes(profile->temporary_bytes).s);
    if (profile->autocast_copy_bytes > 0)
        fprintf(out, ", autocast copies of weights %s", adept_units_bytes(profile->autocast_copy_bytes).s);
    fputc('\n', out);
    print_features(out, profile);
    if (status == ADEPT_OK && grouping->given) {
        const adept_profile_totals *t = &profile->totals;
        const adept_group_view view = {grouping->by, roofline ? ADEPT_ROWS_ROOFLINE : ADEPT_ROWS_UNTIMED, .passes = 1,
                                       .flops =
                                           adept_pass_flops(t, ADEPT_FORWARD) + adept_pass_flops(t, ADEPT_BACKWARD)};
        fprintf(out, "\nBy %s (one pass on one GPU)\n", adept_group_by_name(grouping->by));
        status = adept_groups_print(cli, out, groups, groups->n, &view);
    }
    for (size_t i = 0; i < profile->n_warnings; i++)
        adept_report_warning(out, &headed, profile->warnings[i]);
    return status;
}
