/** @file groups_json.c  The rows of --by as JSON. */
#include "groups_json.h"

static void put_work(adept_json_writer *w, const adept_group *g, double passes)
{
    const adept_profile_totals *t = &g->totals;
    double forward = t->gemm_flops[ADEPT_FORWARD] + t->conv_flops[ADEPT_FORWARD] + t->alu_flops[ADEPT_FORWARD];

    adept_json_put_number(w, "macs_forward", passes * t->macs_forward);
    adept_json_put_number(w, "flops_forward", passes * forward);
    adept_json_put_number(w, "flops_backward", passes * (adept_group_flops(g) - forward));
    adept_json_put_number(w, "bytes_read", passes * (t->bytes_read[ADEPT_FORWARD] + t->bytes_read[ADEPT_BACKWARD]));
    adept_json_put_number(w, "bytes_written",
                          passes * (t->bytes_written[ADEPT_FORWARD] + t->bytes_written[ADEPT_BACKWARD]));
    adept_json_put_number(w, "kernels", passes * (t->kernels[ADEPT_FORWARD] + t->kernels[ADEPT_BACKWARD]));
    adept_json_put_number(w, "saved_bytes", g->saved_bytes);
}

static void put_row(adept_json_writer *w, const adept_group *g, bool by_layer, double passes, adept_row_times times)
{
    bool predicted = times == ADEPT_ROWS_PREDICTED;

    adept_json_begin_object(w, NULL);
    adept_json_put_string(w, "name", g->name);
    if (by_layer) adept_json_put_string(w, "module_class", g->module_class);
    adept_json_put_number(w, "count", (double)g->count);
    put_work(w, g, passes);
    if (times != ADEPT_ROWS_UNTIMED) {
        adept_json_put_number(w, predicted ? "time_s" : "roofline_s", g->time_s);
        if (predicted) adept_json_put_number(w, "energy_j", g->energy_j);
        adept_json_put_string(w, predicted ? "bound" : "roofline_side", adept_bound_name(adept_group_bound(g)));
    }
    adept_json_end_object(w);
}

void adept_groups_put_json(adept_json_writer *w, const adept_groups *groups, const adept_grouping *grouping,
                           double passes, adept_row_times times)
{
    adept_json_put_string(w, "by", adept_group_by_name(grouping->by));
    adept_json_begin_array(w, "groups");
    for (size_t i = 0; i < groups->n; i++)
        put_row(w, &groups->rows[i], grouping->by == ADEPT_BY_LAYER, passes, times);
    adept_json_end_array(w);
}
