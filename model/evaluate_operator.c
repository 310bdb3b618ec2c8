/** @file evaluate_operator.c  Rows of granularity "operator"; see evaluate_operator.h. */
#include "evaluate_operator.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* One pass of one workload on one GPU: what all rows of it share. */
typedef struct pass {
    const adept_profile *profile; /* only compared while rows are added, never read later */
    const adept_hwprofile *hw;
    size_t n;
    adept_operator_kernel *kernels; /* distinct ones */
    adept_tile_menu menus[ADEPT_TILED_FAMILIES];
} pass;

typedef struct row {
    size_t pass;
    adept_operator_numbers numbers;
} row;

struct adept_operator_rows {
    size_t n_rows, n_passes;
    row *rows;
    pass *passes;
};

/* ---- compiling ---- */

static void add_kernel(pass *p, const adept_operator_kernel *k)
{
    for (size_t i = 0; i < p->n; i++) {
        adept_operator_kernel *known = &p->kernels[i];
        if (known->tensor != k->tensor || memcmp(&known->work, &k->work, sizeof k->work) != 0) continue;
        known->count += k->count;
        return;
    }
    p->kernels[p->n++] = *k;
}

static adept_status compile_pass(pass *p, const adept_placement *at, adept_error *err)
{
    const adept_profile *prof = at->profile;
    size_t most = 0;
    for (size_t i = 0; i < prof->n_ops; i++)
        most += prof->ops[i].n_kernels;
    *p = (pass){.profile = prof, .hw = at->hw, .kernels = calloc(most ? most : 1, sizeof *p->kernels)};
    if (!p->kernels) return adept_error_set(err, ADEPT_E_NOMEM, "out of memory for %zu kernels", most);
    memcpy(p->menus, at->hw->tiles ? at->hw->tiles : adept_tile_menu_default, sizeof p->menus);
    for (size_t i = 0; i < prof->n_ops; i++) {
        for (size_t j = 0; j < prof->ops[i].n_kernels; j++) {
            adept_operator_kernel k;
            adept_status status =
                adept_operator_kernel_of(&k, &prof->ops[i], &prof->ops[i].kernels[j], prof, at->hw, err);
            if (status != ADEPT_OK) return status;
            add_kernel(p, &k);
        }
    }
    return ADEPT_OK;
}

static adept_status add_row(adept_operator_rows *rows, size_t index, const adept_placement *at, adept_error *err)
{
    row *r = &rows->rows[index];
    adept_step step;
    adept_status status = adept_step_compile(&step, NULL, at, NULL, 0, err);
    if (status != ADEPT_OK) return status;
    r->numbers = adept_operator_numbers_of(&step, &at->hw->specs);
    if (!(r->numbers.launches > 0.0))
        return adept_error_set(err, ADEPT_E_INVALID, "profile: nothing to run, or a count out of range");
    for (r->pass = 0; r->pass < rows->n_passes; r->pass++)
        if (rows->passes[r->pass].profile == at->profile && rows->passes[r->pass].hw == at->hw) return ADEPT_OK;
    rows->n_passes++;
    return compile_pass(&rows->passes[r->pass], at, err);
}

adept_status adept_operator_rows_new(adept_operator_rows **out, const adept_placement *rows, size_t n_rows, size_t *at,
                                     adept_error *err)
{
    adept_operator_rows *r = calloc(1, sizeof *r);
    adept_status status = ADEPT_OK;
    *at = 0;
    if (r) {
        r->rows = calloc(n_rows, sizeof *r->rows);
        r->passes = calloc(n_rows, sizeof *r->passes);
        r->n_rows = n_rows;
    }
    if (!r || !r->rows || !r->passes)
        status = adept_error_set(err, ADEPT_E_NOMEM, "out of memory for %zu rows", n_rows);
    for (size_t i = 0; i < n_rows && status == ADEPT_OK; i++) {
        *at = i;
        status = add_row(r, i, &rows[i], err);
    }
    if (status == ADEPT_OK)
        *out = r;
    else
        adept_operator_rows_free(r);
    return status;
}

void adept_operator_rows_free(adept_operator_rows *r)
{
    if (!r) return;
    for (size_t i = 0; r->passes && i < r->n_passes; i++)
        free(r->passes[i].kernels);
    free(r->passes);
    free(r->rows);
    free(r);
}

/* ---- evaluating ---- */

static void sum_pass(adept_operator_sums *sums, adept_operator_sums_gradient *gradient, const pass *p,
                     const double *theta)
{
    memset(sums, 0, sizeof *sums);
    if (gradient) memset(gradient, 0, sizeof *gradient);
    for (size_t i = 0; i < p->n; i++)
        adept_operator_sums_add(sums, gradient, &p->kernels[i], theta, p->menus);
}

void adept_operator_rows_evaluate(const adept_operator_rows *rows, const double *theta, double *time_s, double *power_w,
                                  double *dtime_s, double *dpower_w)
{
    double dtime[ADEPT_OPERATOR_PARAMETERS], dpower[ADEPT_OPERATOR_PARAMETERS];
    adept_operator_sums_gradient by_theta;
    bool gradient = dtime_s || dpower_w;
    for (size_t p = 0; p < rows->n_passes; p++) {
        adept_operator_sums sums;
        sum_pass(&sums, gradient ? &by_theta : NULL, &rows->passes[p], theta);
        for (size_t i = 0; i < rows->n_rows; i++) {
            const adept_operator_numbers *n = &rows->rows[i].numbers;
            if (rows->rows[i].pass != p) continue;
            adept_operator_state s = adept_operator_solve(n, &sums, theta);
            if (time_s) time_s[i] = s.step_s;
            if (power_w) power_w[i] = n->gpus * s.power_w;
            if (!gradient) continue;
            adept_operator_gradient(dtime, dpower, n, &sums, &by_theta, &s, theta);
            for (size_t k = 0; k < ADEPT_OPERATOR_PARAMETERS; k++) {
                if (dtime_s) dtime_s[i * ADEPT_OPERATOR_PARAMETERS + k] = dtime[k];
                if (dpower_w) dpower_w[i * ADEPT_OPERATOR_PARAMETERS + k] = n->gpus * dpower[k];
            }
        }
    }
}

/* ---- influence ---- */

static void note_influence(adept_influence *out, const adept_operator_rows *rows, const double *theta, size_t index)
{
    double dtime[ADEPT_OPERATOR_PARAMETERS], dpower[ADEPT_OPERATOR_PARAMETERS];
    adept_operator_sums_gradient by_theta;
    for (size_t p = 0; p < rows->n_passes; p++) {
        adept_operator_sums sums;
        sum_pass(&sums, &by_theta, &rows->passes[p], theta);
        for (size_t i = 0; i < rows->n_rows; i++) {
            if (rows->rows[i].pass != p) continue;
            adept_operator_state s = adept_operator_solve(&rows->rows[i].numbers, &sums, theta);
            adept_operator_gradient(dtime, dpower, &rows->rows[i].numbers, &sums, &by_theta, &s, theta);
            out->time = out->time || dtime[index] != 0.0;
            out->power = out->power || (isfinite(dpower[index]) && dpower[index] != 0.0);
        }
    }
}

adept_influence adept_operator_rows_influence(const adept_operator_rows *rows, const double *defaults, size_t index)
{
    adept_influence out = {0};
    double theta[ADEPT_OPERATOR_PARAMETERS];
    memcpy(theta, defaults, sizeof theta);
    note_influence(&out, rows, theta, index);
    bool without_limit = out.time;
    theta[ADEPT_OP_t_host_s] = adept_operator_parameter_info(ADEPT_OP_t_host_s)->high;
    note_influence(&out, rows, theta, index);
    without_limit = out.time;
    memcpy(theta, defaults, sizeof theta);
    for (int i = ADEPT_OP_e_simt_j; i <= ADEPT_OP_e_mem_j; i++)
        theta[i] = adept_operator_parameter_info((size_t)i)->high;
    theta[ADEPT_OP_t_host_s] = adept_operator_parameter_info(ADEPT_OP_t_host_s)->low;
    note_influence(&out, rows, theta, index);
    bool power_law = index >= ADEPT_OP_p_static_w && index < ADEPT_OPERATOR_PARAMETERS;
    out.time_by_limit_only = out.time && (power_law || !without_limit);
    return out;
}
