/** @file groups_json.c  The library's JSON is extended as text: parsing and printing it again would change its numbers.
 */
#include "groups_json.h"
#include "json_out.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool add_work(cJSON *row, const adept_group *g, double passes)
{
    const adept_profile_totals *t = &g->totals;
    double forward = t->gemm_flops[ADEPT_FORWARD] + t->conv_flops[ADEPT_FORWARD] + t->alu_flops[ADEPT_FORWARD];
    double read = t->bytes_read[ADEPT_FORWARD] + t->bytes_read[ADEPT_BACKWARD];
    double written = t->bytes_written[ADEPT_FORWARD] + t->bytes_written[ADEPT_BACKWARD];
    double kernels = t->kernels[ADEPT_FORWARD] + t->kernels[ADEPT_BACKWARD];

    return adept_json_add_number(row, "macs_forward", passes * t->macs_forward) &&
           adept_json_add_number(row, "flops_forward", passes * forward) &&
           adept_json_add_number(row, "flops_backward", passes * (adept_group_flops(g) - forward)) &&
           adept_json_add_number(row, "bytes_read", passes * read) &&
           adept_json_add_number(row, "bytes_written", passes * written) &&
           adept_json_add_number(row, "kernels", passes * kernels) &&
           adept_json_add_number(row, "saved_bytes", g->saved_bytes);
}

static bool add_row(cJSON *rows, const adept_group *g, bool by_layer, double passes, adept_row_times times)
{
    cJSON *row = cJSON_CreateObject();

    if (!cJSON_AddItemToArray(rows, row)) return false;
    bool ok = cJSON_AddStringToObject(row, "name", g->name) &&
              (!by_layer || cJSON_AddStringToObject(row, "module_class", g->module_class)) &&
              adept_json_add_number(row, "count", (double)g->count) && add_work(row, g, passes);
    if (!ok || times == ADEPT_ROWS_UNTIMED) return ok;
    if (times == ADEPT_ROWS_ROOFLINE)
        return adept_json_add_number(row, "roofline_s", g->time_s) &&
               cJSON_AddStringToObject(row, "roofline_side", adept_bound_name(adept_group_bound(g)));
    return adept_json_add_number(row, "time_s", g->time_s) && adept_json_add_number(row, "energy_j", g->energy_j) &&
           cJSON_AddStringToObject(row, "bound", adept_bound_name(adept_group_bound(g)));
}

static char *print_rows(const adept_groups *groups, bool by_layer, double passes, adept_row_times times)
{
    cJSON *rows = cJSON_CreateArray();
    bool ok = rows != NULL;

    for (size_t i = 0; ok && i < groups->n; i++)
        ok = add_row(rows, &groups->rows[i], by_layer, passes, times);
    char *text = ok ? cJSON_Print(rows) : NULL;
    cJSON_Delete(rows);
    return text;
}

adept_status adept_groups_append_json(adept_cli *cli, char **text, const adept_groups *groups,
                                      const adept_grouping *grouping, double passes, adept_row_times times)
{
    char *rows = print_rows(groups, grouping->by == ADEPT_BY_LAYER, passes, times);
    const char *end = strrchr(*text, '}');
    char *extended = NULL;

    while (end && end > *text && strchr(" \t\n", end[-1]))
        end--;
    if (rows && end &&
        asprintf(&extended, "%.*s,\n\t\"by\":\t\"%s\",\n\t\"groups\":\t%s\n}", (int)(end - *text), *text,
                 adept_group_by_name(grouping->by), rows) < 0)
        extended = NULL;
    cJSON_free(rows);
    if (!extended) return adept_error_set(&cli->err, ADEPT_E_NOMEM, "out of memory while printing JSON");
    free(*text);
    *text = extended;
    return ADEPT_OK;
}
