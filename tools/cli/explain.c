/** @file explain.c  The facts of an explanation; see explain.h. */
#include "explain.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- levers ---- */

static const struct {
    adept_lever_kind kind;
    const char *key, *name;
} levers[] = {
    {ADEPT_LEVER_DESIGN, "peaks", "peak FLOP/s"},
    {ADEPT_LEVER_SPEC, "mem_bytes_per_s", "memory bandwidth"},
    {ADEPT_LEVER_SPEC, "l2_bytes", "L2 cache"},
    {ADEPT_LEVER_DESIGN, "sms", "SMs like these"},
    {ADEPT_LEVER_PARAMETER, "bw_eff_bytes_per_s", "bandwidth between GPUs"},
    {ADEPT_LEVER_RUN, "internode_bytes_per_s", "bandwidth between nodes"},
    {ADEPT_LEVER_RUN, "power_limit_w", "power limit"},
};

const char *adept_explain_lever_name(const adept_elasticity *row)
{
    for (size_t i = 0; i < sizeof levers / sizeof *levers; i++)
        if (levers[i].kind == row->kind && strcmp(levers[i].key, row->key) == 0) return levers[i].name;
    return NULL;
}

double adept_explain_saving(const adept_elasticity *row)
{
    return row->more.time < 0.0 ? -row->more.time : 0.0; /* NAN: no */
}

size_t adept_explain_levers(const adept_elasticity *rows[], size_t most, const adept_elasticities *e)
{
    size_t n = 0;
    for (size_t i = 0; i < e->n; i++) {
        const adept_elasticity *row = &e->rows[i];
        double saving = adept_explain_saving(row);
        if (!adept_explain_lever_name(row) || !(saving > 0.0)) continue;
        size_t at = n;
        while (at > 0 && saving > adept_explain_saving(rows[at - 1]))
            at--;
        if (at == most) continue;
        if (n < most) n++;
        memmove(&rows[at + 1], &rows[at], (n - at - 1) * sizeof *rows);
        rows[at] = row;
    }
    return n;
}

/* ---- facts ---- */

static adept_status group(adept_cli *cli, adept_explanation *x)
{
    static const adept_grouping by_layer = {.by = ADEPT_BY_LAYER}, by_kind = {.by = ADEPT_BY_KIND};
    adept_op_prediction *ops = calloc(x->profile->n_ops + 1, sizeof *ops);
    if (!ops) return adept_error_set(&cli->err, ADEPT_E_NOMEM, "out of memory");
    adept_status status = adept_predict_ops(ops, x->profile, x->hw, x->run, &cli->err);
    if (status == ADEPT_OK) status = adept_groups_make(cli, &x->layers, x->profile, ops, &by_layer);
    if (status == ADEPT_OK) status = adept_groups_make(cli, &x->kinds, x->profile, ops, &by_kind);
    adept_groups_sort(&x->layers);
    adept_groups_sort(&x->kinds);
    free(ops);
    return status;
}

adept_status adept_explain(adept_cli *cli, adept_explanation *x, adept_sweep_source *source, const adept_hwprofile *hw,
                           const adept_run *run)
{
    *x = (adept_explanation){.profile = source->base, .hw = hw, .run = run};
    adept_status status = adept_predict(&x->p, x->profile, hw, run, &cli->err);
    if (status == ADEPT_OK) status = adept_predict_power_limits(&x->limits, x->profile, hw, run, &cli->err);
    if (status == ADEPT_OK) status = adept_elasticities_of(&x->elasticities, x->profile, hw, run, &cli->err);
    if (status == ADEPT_OK) status = group(cli, x);
    for (int i = 0; i < ADEPT_WAITS && status == ADEPT_OK; i++)
        if (x->elasticities.wait[i] > x->elasticities.wait[x->waits_for]) x->waits_for = (adept_wait)i;
    if (status == ADEPT_OK) status = adept_explain_changes(cli, x, source);
    return status == ADEPT_OK ? adept_explain_sentences(cli, x) : status;
}

void adept_explanation_free(adept_explanation *x)
{
    adept_groups_free(&x->layers);
    adept_groups_free(&x->kinds);
    for (size_t i = 0; i < x->n_sentences; i++)
        free(x->sentences[i].text);
    *x = (adept_explanation){0};
}
